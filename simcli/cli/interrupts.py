"""Ctrl-C, SIGTERM and SIGUSR1, which schedulers send, by the stage of a run; and what asks a sweep to end.

In a run: before there is a file, a signal ends the process. Then the first one asks the run to stop at the next block, and
the second ends the process at once. While kernels compile, Taichi holds Python's lock, so that no handler of ours runs, for
minutes perhaps. So signals have their default action there: nothing has been written that could be lost.
"""

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from simcli.errors import Exit

_CODES = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.STOPPED}
if hasattr(signal, "SIGUSR1"):
    _CODES[signal.SIGUSR1] = Exit.STOPPED
_Note = TypeVar("_Note", "Interrupt", "AskedToEnd")
PREPARING, COMPILING, _STEPPING = "preparing", "compiling", "stepping"  # stages; the latter two are those of a Tick


class StoppedEarly(BaseException):
    """A signal came before there was a file; as KeyboardInterrupt, it passes all who catch errors.

    Attributes:
        code: exit code that belongs to the signal.
    """

    def __init__(self, code: int):
        super().__init__(code)
        self.code = code


@dataclass
class Interrupt:
    """What has been asked for so far.

    Attributes:
        code: exit code that belongs to the signal, None if there was none.
        stage: of the run.
    """

    code: int | None = None
    stage: str = PREPARING

    def enter(self, stage: str) -> None:
        """Take signals as a stage of the run wants them."""
        if stage != self.stage:
            self.stage = stage
            for number in _CODES:
                signal.signal(number, signal.SIG_DFL if stage == COMPILING else self.on_signal)

    def on_signal(self, number: int, _frame) -> None:
        """Note a signal, or end."""
        code = int(_CODES[signal.Signals(number)])
        if self.stage == PREPARING:
            raise StoppedEarly(code)
        if self.code is not None:
            # Whatever is committed stays readable: the file is in SWMR mode. Nothing else may be waited for.
            os._exit(code)
        self.code = code
        # Not print: the signal may have come in the middle of one, and a stream cannot be entered twice.
        os.write(2, b"\nstopping after this block; once more to quit at once\n")


@dataclass
class AskedToEnd:
    """Whether a sweep was asked to end.

    Attributes:
        code: exit code of the signal that did, None if there was none.
    """

    code: int | None = None

    def on_signal(self, number: int, _frame) -> None:
        """Note a signal. A second Ctrl-C ends the process at once; schedulers send several signals that all mean "soon"."""
        code = int(_CODES[signal.Signals(number)])
        if code == self.code == Exit.INTERRUPTED:
            os._exit(code)  # workers end with this process, and the ledger holds what is done
        if self.code is None:
            os.write(2, b"\nstopping: what ends within 20 s is kept, and the same command goes on with the rest\n")
        self.code = code


@contextlib.contextmanager
def _noted(note: _Note, numbers: Iterable[int]) -> Iterator[_Note]:
    before = {number: signal.signal(number, note.on_signal) for number in numbers}
    try:
        yield note
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def caught() -> contextlib.AbstractContextManager[Interrupt]:
    """Catch these signals for the length of the block; give the note that says whether one came."""
    return _noted(Interrupt(), _CODES)


def asked_to_end() -> contextlib.AbstractContextManager[AskedToEnd]:
    """Likewise for a sweep."""
    return _noted(AskedToEnd(), _CODES)
