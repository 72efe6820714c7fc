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
        for name, values in (("time", run.time), ("step", run.step)):
            if not (np.diff(values) > 0).all():
                raise FileError(f"{run.path}: is damaged: /frames/{name} does not rise; `simcli check` lists the damage")
        if not run.n_frames:
            raise UsageError(f"{run.path}: holds no frame yet, so there is nothing to compare")
    if align == Align.TIME:
        mine, theirs = _of_one_time(a, b)
    else:
        _, mine, theirs = np.intersect1d(a.step, b.step, assume_unique=True, return_indices=True)
    if not len(mine):
        other = Align.STEP if align == Align.TIME else Align.TIME
        raise UsageError(f"no frame of {a.path} ({_span(a, align)}) has the {align} of a frame of {b.path} "
                         f"({_span(b, align)}): try --align {other}, or the same `output.every`")  # fmt: skip
    return FramePairs(align, mine, theirs, a.time[mine], a.n_frames - len(mine), b.n_frames - len(mine))


def _of_one_time(a: "Trajectory", b: "Trajectory") -> tuple[np.ndarray, np.ndarray]:
    allowed = TIME_TOLERANCE * min(_step_length(a), _step_length(b))
    place = np.searchsorted(b.time, a.time)
    below, above = np.maximum(place - 1, 0), np.minimum(place, b.n_frames - 1)
    nearest = np.where(np.abs(b.time[below] - a.time) <= np.abs(b.time[above] - a.time), below, above)
    mine = np.flatnonzero(np.abs(b.time[nearest] - a.time) <= allowed)
    return mine, nearest[mine]


def _step_length(run: "Trajectory") -> float:
    """[s], the step of a run on average; infinite if it has one frame only."""
    steps = int(run.step[-1] - run.step[0])
    return float(run.time[-1] - run.time[0]) / steps if steps else np.inf


def _span(run: "Trajectory", align: Align) -> str:
    if align == Align.TIME:
        return f"{run.n_frames} from {run.time[0]:g} to {run.time[-1]:g} s"
    return f"{run.n_frames} from step {run.step[0]} to {run.step[-1]}"
