"""What the commands solve, fit and optimize share: their options, who watches them, a scene written at the end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simcli.cli import console, interrupts, progress
from simcli.cli.options import output_option
from simcli.cli.runs.run_options import measure_override

if TYPE_CHECKING:
    from simcli.job import Tick
    from simcli.search.intervals import Interval

MAX_REASONS = 4

Vary = Annotated[
    list[str],
    typer.Option(
        "--vary",
        metavar="KEY=LOW..HIGH",
        show_default=False,
        help="Number to search and its interval, as forces.spring.stiffness=100..10000, or KEY=log(1..2). Log-spaced "
        "where both ends are above 0 and at least a factor of ten apart, else linear.",
    ),
]
MeasureTexts = Annotated[
    list[str],
    typer.Option(
        "--measure",
        metavar="NAME=REDUCTION:QUANTITY",
        help="A measure beside those of the scene, as peak=max_abs:joint.pin.q. Repeatable.",
    ),
]
SceneOut = Annotated[
    Path | None,
    output_option("Write the scene with the numbers found.", metavar="SCENE", show_default=False),
]
ForceScene = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
SearchThreads = Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="CPU threads. Default: all.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


@dataclass
class Watching:
    """Who watches a search.

    Attributes:
        show: shows a Tick.
        interrupt: knows of signals.
        what: goes on, for the bar.
        has_begun: whether a batch has stepped.
        when_stopped: what to say after "stopped".
    """

    show: Any
    interrupt: interrupts.Interrupt
    what: str = ""
    has_begun: bool = False
    when_stopped: str = "nothing was written"

    def __call__(self, tick: "Tick") -> bool:
        """See a Tick; False stops."""
        if tick.steps:
            self.show(replace(tick, stage=self.what or tick.stage))
        elif not self.has_begun:  # later batches have their kernels
            self.show(tick)
        self.has_begun |= tick.steps > 0
        if not (self.has_begun and tick.stage == interrupts.COMPILING):  # only the first batch compiles for long
            self.interrupt.enter(tick.stage)
        return self.goes_on()

    def goes_on(self) -> bool:
        """False once a signal has come."""
        return self.interrupt.code is None


@contextmanager
def watched(quiet: bool) -> Iterator[Watching]:
    """Show the batches of a search, and let it stop at a signal, with the exit code of that.

    Raises:
        SearchStoppedError: a signal came.
    """
    from simcli.search.batches import SearchStoppedError

    with console.stdout_kept_clean(), interrupts.caught() as interrupt, progress.shown(quiet) as show:
        watching = Watching(show, interrupt)
        try:
            yield watching
        except SearchStoppedError:
            error = SearchStoppedError(f"stopped: {watching.when_stopped}")
            error.exit_code = interrupt.code or error.exit_code
            raise error from None


def all_sets(sets: Sequence[str], measures: Sequence[str]) -> tuple:
    """Overrides of `--measure` and `--set`."""
    return *(measure_override(text) for text in measures), *sets


def headed(name: str, unit: str) -> str:
    """A name with its unit, over a column."""
    return f"{name} [{unit}]" if unit else name


def interval_data(interval: "Interval") -> dict[str, Any]:
    """An interval as JSON."""
    return {
        "path": interval.path,
        "low": interval.low,
        "high": interval.high,
        "scale": interval.words,
        "unit": interval.unit,
    }


def say_without(without) -> None:
    """Why points had no value."""
    reasons = [(reason, count) for reason, count in without.most_common() if count]
    for reason, count in reasons[:MAX_REASONS]:
        console.note(f"{console.plural(count, 'point')} {reason}")


def write_found(scene: Path, sets: Sequence, output: Path | None, force: bool) -> None:
    """Write the scene with what was found, if that is wanted."""
    from simcli.search.batches import write_scene

    if output is not None:
        write_scene(scene, sets, output, force)
        console.say(f"wrote {output}")
