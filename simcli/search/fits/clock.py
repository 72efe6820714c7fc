"""The offset of two clocks, as one more number of a fit: time of the run = time of the log + offset.

Rows of the log that some offset of the interval puts outside of the run are left out, so that all trials have the same data.
"""

from dataclasses import replace

import numpy as np

from simcli.errors import FileError, UsageError
from simcli.search.fits.data import Log
from simcli.search.fits.free_numbers import FreeNumber
from simcli.search.fits.series import ON_STEP
from simcli.spec.values.units import UnitError, to_si

TIME_OFFSET = "time_offset"
_OPTION = "--time-offset"


def read_offset(text: str) -> FreeNumber:
    """The offset as a free number; it begins at 0, or in the middle of an interval without 0.

    Args:
        text: LOW..HIGH, as `-50 ms..0.1`.

    Raises:
        UsageError: it is no interval of times.
    """
    low, dots, high = (part.strip() for part in text.partition(".."))
    if not (low and dots and high):
        raise UsageError(f"{_OPTION} {text}: write LOW..HIGH, as '-50 ms..50 ms'")
    ends = [_seconds(text, end) for end in (low, high)]
    if not ends[0] < ends[1]:
        raise UsageError(f"{_OPTION} {text}: the first end is the lower one")
    start = 0.0 if ends[0] <= 0.0 <= ends[1] else 0.5 * (ends[0] + ends[1])
    return FreeNumber(TIME_OFFSET, start, ends[0], ends[1], "s")


def _seconds(text: str, end: str) -> float:
    try:
        found = float(end) if end[-1:].isdigit() or end.endswith(".") else to_si(end, "s")
    except (UnitError, ValueError) as error:
        raise UsageError(f"{_OPTION} {text}: {error}; write LOW..HIGH, as '-50 ms..50 ms'") from None
    if not np.isfinite(found):
        raise UsageError(f"{_OPTION} {text}: `{end}` is not finite")
    return found


def within_run(log: Log, offset: FreeNumber, dt: float, duration: float) -> Log:
    """The rows of a log that lie in a run at every offset.

    Args:
        log: all of it.
        offset: its bounds.
        dt: [s], step of the run.
        duration: [s], of the run.

    Raises:
        FileError: there are none.
    """
    edge = ON_STEP * dt
    kept = (log.time + offset.low >= -edge) & (log.time + offset.high <= duration + edge)
    if not kept.any():
        raise FileError(f"{log.path}: no time of it, {log.time.min():g} to {log.time.max():g} s, lies in the run of 0 to "
                        f"{duration:g} s at every offset from {offset.low:g} to {offset.high:g} s; narrow {_OPTION}"
                        )  # fmt: skip
    return replace(log, time=log.time[kept], line=log.line[kept], values=log.values[kept], sigma=log.sigma[kept],
                   n_outside=int((~kept).sum()))  # fmt: skip
