"""Start the process that writes a file, and talk to it. It starts while the run imports Taichi and compiles."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simcli.engines import refuse_system
from simcli.records.writing.messages import Inbox, nameless_file, send

# They reach a whole group of processes. The recorder waits for what the run makes of them.
_POSIX = "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1"
KEPT_FROM_IT = {getattr(signal, name) for name in _POSIX} if os.name == "posix" else set()
# Its matrices are small, and OpenBLAS would let every core spin for 0.1 s as it starts.
QUIETLY = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class RecorderEndedError(Exception):
    """The recorder has ended without a word: it was killed."""


class Correspondent:
    """Who will write one file, as the run sees it.

    Attributes:
        memory: descriptor of the memory that both see.
        pid: process id of the one that writes.
    """

    _orders: io.RawIOBase
    _inbox: Inbox

    def __enter__(self) -> "Correspondent":
        return self

    def __exit__(self, *_) -> None:
        self.dismiss()

    def send(self, message: Any) -> None:
        """Send a message. If that is interrupted, nothing can follow: the pipe is closed.

        Raises:
            RecorderEndedError: nobody is there. What it said last can still be received.
        """
        try:
            send(self._orders.fileno(), message)
        except (BrokenPipeError, ValueError) as error:  # ValueError: the pipe was closed
            raise RecorderEndedError from error
        except BaseException:
            self._orders.close()
            raise

    def receive(self, wait: bool) -> Any:
        """The next answer; None if there is none and nobody waits for it.

        Raises:
            RecorderEndedError: none will come.
        """
        if not wait and not self._inbox.waits(0.0):
            return None
        try:
            return self._inbox.take()
        except EOFError as error:
            raise RecorderEndedError from error

    def dismiss(self) -> int:
        """Nothing more will be sent: wait until it has ended. Returns its exit status, as of `subprocess`."""
        raise NotImplementedError


class RecorderProcess(Correspondent):
    """A process that will write one file, once it is told which.

    It ends with its file; or, if it was given none, when it is `dismissed` or this process ends.

    Args:
        n_bytes: [B], that the file may take; the system gives the memory for its frames while nobody waits for it.

    Raises:
        DeviceError: the system has no such processes.
    """

    def __init__(self, n_bytes: int = 0):
        refuse_system()
        self.memory = nameless_file()
        command, environment = own_process("simcli.records.writing.recorder_process", str(self.memory), str(n_bytes))
        with signals_kept_from_children():
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(self.memory,), bufsize=0, env=environment
            )
        self.pid, self._orders = self._process.pid, self._process.stdin
        self._inbox = Inbox(self._process.stdout.fileno())

    def dismiss(self) -> int:
        """Nothing more will be sent: wait until it has ended. Returns its exit status, as of `subprocess`."""
        if self._process.returncode is None:
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
            os.close(self.memory)
        return self._process.returncode


def own_process(module: str, *words: str) -> tuple[list[str], dict[str, str]]:
    """Command and environment of a module of ours as a process beside this one.

    It finds what this process finds (-S: without looking for it again), and no file of the user's folder stands in for a
    library (-P).
    """
    house = str(Path(__file__).parents[3])
    path = os.pathsep.join([house, *(part for part in sys.path if part)])
    return [sys.executable, "-S", "-P", "-m", module, *words], {**os.environ, **QUIETLY, "PYTHONPATH": path}


@contextlib.contextmanager
def signals_kept_from_children() -> Iterator[None]:
    """Processes that are started in the block never see the signals; here they come after the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, KEPT_FROM_IT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
