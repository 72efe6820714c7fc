"""The numbers that a fit may change: where they begin, and between which bounds; the offset of two clocks is one more.

Time of the run = time of the log + offset. Rows of the log that some offset of the interval puts outside of the run are left
out, so that all trials have the same data.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli.errors import FileError, UsageError
from simcli.search.batches import Batches
from simcli.search.fit_data import Log
from simcli.search.intervals import FREE, QUIET, Interval, said_of
from simcli.spec.base.nodes import parse_path
from simcli.spec.document.overrides import VARY, Override
from simcli.spec.values.units import UnitError, to_si

if TYPE_CHECKING:
    from simcli.model.tables.model import Model
    from simcli.spec import Document, SceneSpec

_BEYOND = 1e-9  # of a number: how far beyond 0 it is looked whether scenes are valid
BOUND = np.inf


@dataclass(frozen=True)
class FreeNumber:
    """A number that is fitted.

    Attributes:
        path: in the scene.
        start: in SI.
        low, high: bounds.
        unit: SI.
        is_natural: whether a bound is where scenes end to be valid, as a mass above 0.
    """

    path: str
    start: float
    low: float
    high: float
    unit: str
    is_natural: bool = False

    @property
    def size(self) -> float:
        """Over which values may change by their own size: the start; else the width of its bounds, else 1."""
        if self.start:
            return abs(self.start)
        return self.high - self.low if np.isfinite(self.high - self.low) else 1.0


def free_numbers(
    scene: Path,
    sets: Sequence,
    document: "Document",
    spec: "SceneSpec",
    model: "Model",
    paths: Sequence[str],
    bounds: Sequence[Interval],
) -> list[FreeNumber]:
    """The numbers that a fit may change, which begin as the scene has them.

    A coordinate without bounds of its own has the hard limits of its joint, if it begins between them.

    Args:
        scene: file.
        sets: overrides of it.
        document: the scene with them as written.
        spec: the same, resolved.
        model: of it.
        paths: of the numbers.
        bounds: of some of them.

    Raises:
        UsageError: a path is no single number, stands there twice, begins outside of its bounds, or has bounds alone.
        SceneError: a path leads nowhere, or cannot vary.
    """
    from simcli.model.params import param_unit
    from simcli.pipeline.scenes import read_scene, refuse_unread
    from simcli.spec.base.fault_list import did_you_mean

    twice = [path for path, count in Counter(paths).items() if count > 1]
    if twice:
        raise UsageError(f"--free {twice[0]}: stands there twice")
    limits = {one.path: one for one in bounds}
    for path in limits:
        if path not in paths:
            raise UsageError(f"--bounds {path}: is not among the free numbers: {did_you_mean(path, paths, 'free are')}")
    found: list[FreeNumber] = []
    for path in paths:
        with said_of(FREE, paths, len(found)):
            start, limit = _start_of(scene, sets, spec, path), limits.get(path)
        low, high = (limit.low, limit.high) if limit else _limits_of(model, path, start)
        if not low <= start <= high:
            raise UsageError(
                f"--bounds {path}={low:g}..{high:g}: the scene has {start:g}, outside of them; begin within: "
                f"--set {path}={0.5 * (low + high):g}"
            )
        found.append(FreeNumber(path, start, low, high, param_unit(document, spec, path)))
    with said_of(FREE, paths):
        varied = (Override(VARY, f"{one.path}={one.start!r}") for one in found)
        refuse_unread(*read_scene(scene, (*sets, *QUIET, *varied)))
    return [_bounded(Batches(scene, sets, [one.path]), one) for one in found]


def _limits_of(model: "Model", path: str, start: float) -> tuple[float, float]:
    """Hard limits of the coordinate that a path is; none where it is none, or begins outside of them."""
    steps = parse_path(path) or ()
    names = [step for step in steps if isinstance(step, str)]
    part = steps[-1] if steps and isinstance(steps[-1], int) else 0
    is_own, is_of_state = names[::2] == ["joints", "q"], names[-2:-1] == ["joint_q"]
    joint = names[1 if is_own else -1] if is_own or is_of_state else ""
    if joint not in model.joints.name:
        return -BOUND, BOUND
    j, joints = model.joints.name.index(joint), model.joints
    n_q, first, end = np.diff(joints.q_start)[j], int(joints.qd_start[j]), int(joints.qd_start[j + 1])
    if n_q != end - first or part >= n_q or model.dofs.limit_stiffness[0, first + part] != 0.0:
        return -BOUND, BOUND
    low, high = (float(one[0, first + part]) for one in (model.dofs.limit_lower, model.dofs.limit_upper))
    return (low, high) if low <= start <= high else (-BOUND, BOUND)


def _start_of(scene: Path, sets: Sequence, spec: "SceneSpec", path: str) -> float:
    """The number that a scene has at a path."""
    from simcli.pipeline import read_scene
    from simcli.spec.lookup.scene_values import value_at

    start = value_at(spec, parse_path(path) or ())
    start = start[0] if isinstance(start, list | tuple) and len(start) == 1 else start
    if isinstance(start, int | float) and not isinstance(start, bool):
        return float(start)
    if start is None:  # what is wrong with the path itself is said first, with suggestions
        read_scene(scene, (*sets, *QUIET, Override(VARY, f"{path}=0.5, 0.6")))
    what = "is not written in the scene" if start is None else "is no single number"
    is_vector = isinstance(start, list | tuple)
    hint = f"name one of its numbers, as `{path}[0]`" if is_vector else f"begin with --set {path}=..."
    raise UsageError(f"--free {path}: {what}: {hint}")


def _bounded(batches: Batches, one: FreeNumber) -> FreeNumber:
    """A number with the bound that its sign has, if scenes are invalid beyond 0: masses, stiffnesses, dampings, lengths."""
    for sign, end in ((1.0, "low"), (-1.0, "high")):
        beyond = -sign * _BEYOND * one.size
        is_open = not np.isfinite(getattr(one, end)) and sign * one.start >= 0.0
        if is_open and not batches.is_valid(np.array([beyond])) and batches.is_valid(np.array([one.start])):
            bound = 0.0 if batches.is_valid(np.array([0.0])) else min(-beyond, one.start, key=abs)
            low, high = (bound, one.high) if end == "low" else (one.low, bound)
            return replace(one, low=low, high=high, is_natural=True)
    return one


ON_STEP = 1e-6  # of a step that a time may be off: what is left of a time that was printed
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
        raise FileError(
            f"{log.path}: no time of it, {log.time.min():g} to {log.time.max():g} s, lies in the run of 0 to "
            f"{duration:g} s at every offset from {offset.low:g} to {offset.high:g} s; narrow {_OPTION}"
        )
    return replace(
        log,
        time=log.time[kept],
        line=log.line[kept],
        values=log.values[kept],
        sigma=log.sigma[kept],
        n_outside=int((~kept).sum()),
    )
