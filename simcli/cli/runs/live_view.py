"""`simcli run --view`: a page that grows with the run."""

from pathlib import Path
from typing import TYPE_CHECKING

from simcli.cli import console
from simcli.errors import OutputError

if TYPE_CHECKING:
    from simcli.view.page.live_process import LiveProcess


class LiveView:
    """Shows a run from its first frames on, if that is wanted.

    Args:
        wanted: whether it is.
    """

    def __init__(self, wanted: bool):
        self._wanted = wanted
        self._process: LiveProcess | None = None

    def __enter__(self) -> "LiveView":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.close()

    def end(self, outcome) -> None:
        """Say where to look if there was no page: a run in parts has its file when all of them are done."""
        if self._wanted and outcome.parts:
            console.say(f"view: a run in parts has no page before its end: simcli view {outcome.output}")

    def see(self, tick, output: Path) -> None:
        """Begin as soon as the file of this run stands at its name, where an older one may be; in parts to the end."""
        if self._wanted and not self._process and tick.steps and not tick.in_sub_batches and output.exists():
            from simcli.view.page.live_process import LiveProcess

            try:
                self._process = LiveProcess(output)
            except OutputError as error:  # the run goes on all the same
                self._wanted = False
                console.warn(str(error))
            else:
                console.say(f"view: {self._process.address}")
