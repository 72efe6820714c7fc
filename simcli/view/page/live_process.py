"""Start the process that shows a run while it goes on (`live`), and end it."""

import contextlib
import subprocess
from pathlib import Path

from simcli.errors import OutputError
from simcli.records.writing.spawn import own_process, signals_kept_from_children

_PATIENCE = 20.0  # [s] for its end


class LiveProcess:
    """The page of a growing file.

    Args:
        path: of the file; it is there.

    Attributes:
        address: of the page.

    Raises:
        OutputError: it cannot be served.
    """

    def __init__(self, path: Path):
        command, environment = own_process("simcli.view.page.live", str(path))
        with signals_kept_from_children():
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.address = self._process.stdout.readline().decode().strip()
        if not self.address:
            self.close()
            raise OutputError("the run cannot be viewed while it goes on: no address on 127.0.0.1 was free")

    def close(self) -> None:
        """The run has ended: wait until its page knows, or nobody looks at it."""
        self._process.stdin.close()
        self._process.stdout.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
