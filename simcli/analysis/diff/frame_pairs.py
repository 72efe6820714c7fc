"""Which frame of one file is compared with which of another: those of one time, or those of one number of steps.

Both files are read in blocks and the pairs kept in little memory, so that millions of frames need no more than some.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.diff.rising_numbers import RisingNumbers
from simcli.analysis.expectations import TIME_TOLERANCE
from simcli.errors import FileError, UsageError

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

TIMES_AT_ONCE = 65536  # whose times or steps are read


class Align(StrEnum):
    """What the frames of a pair have in common."""

    TIME = "time"
    STEP = "step"


@dataclass(frozen=True)
class FramePairs:
    """Pairs of frames, in order.

    Attributes:
        align: what the frames of a pair have in common.
        a: frames of the one file, rising.
        b: frames of the other one, as many.
        only_a: frames of the one file without a partner.
        only_b: frames of the other one without a partner.
    """

    align: Align
    a: RisingNumbers
    b: RisingNumbers
    only_a: int
    only_b: int


def pair_frames(a: "Trajectory", b: "Trajectory", align: Align = Align.TIME) -> FramePairs:
    """Find the frames of one time, within a thousandth of the smaller step, or of one number of steps since t = 0.

    Raises:
        FileError: times or steps of a file do not rise.
        UsageError: there is no pair.
    """
    for run in (a, b):
        if not run.n_frames:
            raise UsageError(f"{run.path}: holds no frame yet, so there is nothing to compare")
    mine, theirs = RisingNumbers(), RisingNumbers()
    for in_a, in_b in _matched(a, b, align):
        mine.append(in_a)
        theirs.append(in_b)
    if not len(mine):
        other = Align.STEP if align == Align.TIME else Align.TIME
        raise UsageError(f"no frame of {a.path} ({_span(a, align)}) has the {align} of a frame of {b.path} "
                         f"({_span(b, align)}): try --align {other}, or the same `output.every`")  # fmt: skip
    return FramePairs(align, mine, theirs, a.n_frames - len(mine), b.n_frames - len(mine))


def _matched(a: "Trajectory", b: "Trajectory", align: Align) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Frames of the pairs, some at a time."""
    step = min(_step_length(a), _step_length(b))
    allowed = TIME_TOLERANCE * step if align == Align.TIME and np.isfinite(step) else 0
    coming = _rising(b, align)
    theirs, ahead, is_last = next(coming), 0, False
    done = 0
    for mine in _rising(a, align):
        while len(mine):
            n = len(mine) if is_last else int(np.searchsorted(mine, theirs[-1], "right"))
            in_a, in_b = _nearest(mine[:n], theirs, allowed)
            yield done + in_a, ahead + in_b
            mine, done = mine[n:], done + n
            if len(mine):
                block = next(coming, theirs[:0])
                is_last = not len(block)
                theirs, ahead = np.concatenate([theirs[-1:], block]), ahead + len(theirs) - 1
    for _ in coming:  # is checked to its end
        pass


def _nearest(mine: np.ndarray, theirs: np.ndarray, allowed: float) -> tuple[np.ndarray, np.ndarray]:
    """Places of values that have one of the others near enough, and of the nearest of these, the earlier one of two."""
    nearest = np.searchsorted(theirs, mine)
    np.minimum(nearest, len(theirs) - 1, out=nearest)
    before = np.maximum(nearest - 1, 0)
    nearest = np.where(np.abs(theirs[before] - mine) <= np.abs(theirs[nearest] - mine), before, nearest)
    paired = np.flatnonzero(np.abs(theirs[nearest] - mine) <= allowed)
    return paired, nearest[paired]


def _rising(run: "Trajectory", align: Align) -> Iterator[np.ndarray]:
    """Times or steps of all frames, block by block.

    Raises:
        FileError: they do not rise.
    """
    column, before = run.column(f"frames/{align}"), np.zeros(0)
    for first in range(0, run.n_frames, TIMES_AT_ONCE):
        values = column[first : first + TIMES_AT_ONCE]
        if not ((values[1:] > values[:-1]).all() and (before < values[:1]).all()):
            raise FileError(f"{run.path}: is damaged: /frames/{align} does not increase; `simcli check` lists the damage")
        before = values[-1:]
        yield values


def _step_length(run: "Trajectory") -> float:
    """[s], the step of a run on average; infinite if it has one frame only."""
    (first, begun), (last, ended) = ((run.column("frames/step")[k], run.column("frames/time")[k]) for k in (0, -1))
    return float(ended - begun) / int(last - first) if last > first else np.inf


def longest_step(a: "Trajectory", b: "Trajectory") -> float:
    """[s], the longer step of two runs, of those that have one; 0 if none has."""
    return max((step for step in map(_step_length, (a, b)) if np.isfinite(step)), default=0.0)


def _span(run: "Trajectory", align: Align) -> str:
    first, last = (run.column(f"frames/{align}")[k] for k in (0, -1))
    words = f"{first:g} to {last:g} s" if align == Align.TIME else f"{first} to {last}"
    return f"{run.n_frames} from {words}"
