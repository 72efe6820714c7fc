"""Which frame of one file is compared with which of another: those of one time, or those of one number of steps."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.expectations import TIME_TOLERANCE
from simcli.errors import FileError, UsageError

if TYPE_CHECKING:
    from simcli.records.reader import Trajectory


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
        time: [s], of the frames of the one file.
        only_a: frames of the one file without a partner.
        only_b: frames of the other one without a partner.
    """

    align: Align
    a: np.ndarray
    b: np.ndarray
    time: np.ndarray
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
    mine, theirs = _of_one_time(a, b) if align == Align.TIME else _of_one_step(a, b)
    if not len(mine):
        other = Align.STEP if align == Align.TIME else Align.TIME
        raise UsageError(f"no frame of {a.path} ({_span(a, align)}) has the {align} of a frame of {b.path} "
                         f"({_span(b, align)}): try --align {other}, or the same `output.every`")  # fmt: skip
    return FramePairs(align, mine, theirs, _rising(a, "time")[mine], a.n_frames - len(mine), b.n_frames - len(mine))


def _rising(run: "Trajectory", name: str) -> np.ndarray:
    """Times or steps of all frames. Not kept by the run: of a million frames they are large.

    Raises:
        FileError: they do not rise.
    """
    values = run.read(f"frames/{name}")
    if not (np.diff(values) > 0).all():
        raise FileError(f"{run.path}: is damaged: /frames/{name} does not rise; `simcli check` lists the damage")
    return values


def _of_one_step(a: "Trajectory", b: "Trajectory") -> tuple[np.ndarray, np.ndarray]:
    return np.intersect1d(_rising(a, "step"), _rising(b, "step"), assume_unique=True, return_indices=True)[1:]


def _of_one_time(a: "Trajectory", b: "Trajectory") -> tuple[np.ndarray, np.ndarray]:
    step = min(_step_length(a), _step_length(b))
    allowed = TIME_TOLERANCE * step if np.isfinite(step) else 0.0
    mine, theirs = _rising(a, "time"), _rising(b, "time")
    nearest = np.searchsorted(theirs, mine)
    np.minimum(nearest, len(theirs) - 1, out=nearest)
    before = np.maximum(nearest - 1, 0)
    nearest = np.where(np.abs(theirs[before] - mine) <= np.abs(theirs[nearest] - mine), before, nearest)
    paired = np.flatnonzero(np.abs(theirs[nearest] - mine) <= allowed)
    return paired, nearest[paired]


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
