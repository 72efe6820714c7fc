"""Ctrl-C and SIGTERM: the first asks the run to stop at the next block, the second ends the process at once."""

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

from simcli.errors import Exit

CODES = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.STOPPED}


@dataclass
class Interrupt:
    """What has been asked for so far.

    Attributes:
        code: exit code that belongs to the signal, None if there was none.
    """

    code: int | None = None


@contextlib.contextmanager
def caught() -> Iterator[Interrupt]:
    """Catch SIGINT and SIGTERM for the length of the block; give the note that says whether one came."""
    note = Interrupt()

    def on_signal(number, _frame) -> None:
        code = CODES[signal.Signals(number)]
        if note.code is not None:
            # Whatever is committed stays readable: the file is in SWMR mode. Nothing else may be waited for.
            os._exit(int(code))
        note.code = int(code)
        # Not print: the signal may have come in the middle of one, and a stream cannot be entered twice.
        os.write(2, b"\nstopping after this block; once more to quit at once\n")

    before = {number: signal.signal(number, on_signal) for number in CODES}
    try:
        yield note
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
