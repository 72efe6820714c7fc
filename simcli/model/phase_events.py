"""Events by condition: what they set, as columns that their latches switch in each world; refused jumps of motions.

A value that such an event sets is the one of the start plus the difference, times the latch of the event, as that of a
signal (signals/controllers.py). So an event may set what signals may drive; the rest is of the structure of all worlds.
An event at which a prescribed position would jump is refused: each solver would make another motion of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from simcli.errors import Fault, SceneError
from simcli.model.signals.controllers import latch_of
from simcli.model.signals.inputs import SAME_START, prescribed
from simcli.model.tables.model import Model
from simcli.model.tables.signal_tables import Driven, Inputs, MotionKind, SignalKind, Signals
from simcli.model.tables.table_base import Array
from simcli.spec.base.nodes import locate
from simcli.spec.document.scene_file import Document
from simcli.spec.schema.scene import SceneSpec

# Columns that latches switch, by table, and what signals call them; items in the order of the column.
_SWITCHED = {
    ("dofs", "drive_target"): Driven.DRIVE_TARGET,
    ("dofs", "drive_target_velocity"): Driven.DRIVE_TARGET_VELOCITY,
    ("", "joint_f"): Driven.JOINT_F,
    ("wrenches", "force"): Driven.WRENCH_FORCE,
    ("wrenches", "torque"): Driven.WRENCH_TORQUE,
    ("ropes", "tension"): Driven.ROPE_TENSION,
    ("ropes", "muscle_activation"): Driven.MUSCLE,
    ("affine", "driving_aim"): Driven.AIM,
    ("affine", "hold_rate"): Driven.HOLD_RATE,
    ("affine", "hold_shift"): Driven.HOLD_SHIFT,
}
_COMBINED = {
    ("combinations", "drive_target"): Driven.DRIVE_TARGET,
    ("combinations", "drive_target_velocity"): Driven.DRIVE_TARGET_VELOCITY,
}
_IN_LAWS = ("feedback", "constant")
_HINT = (
    "by condition, events set targets of drives, forces, torques and constants of signals, which may be gains in an "
    "expression (`simcli docs signals`); or use `at`"
)

_Row = tuple[Driven, int, Array]  # what is driven, its item, and the difference (W|1,)
# Index of an event, a path that it sets, the model with that alone, and the columns in which that differs from the start.
Switched = tuple[int, str, Model, list[tuple[str, str]]]


class _RefusedError(ValueError):
    """Why a value cannot be switched, in words."""


def with_crossings(document: Document, spec: SceneSpec, models: Sequence[Model], changes: Sequence[Switched]) -> list[Model]:
    """Models with the inputs of all events by condition.

    Args:
        document: the scene as written.
        spec: it resolved.
        models: of all phases.
        changes: what the events set.

    Raises:
        SceneError: an event sets what no latch can switch, with the line of each value.
    """
    if not changes:
        return list(models)
    first, found, owners, faults = models[0], [], {}, []
    for index, path, other, changed in changes:
        # Laws that see a constant know the latch that switches it (signals/controllers.py).
        columns = [one for one in changed if one != _IN_LAWS or not path.startswith("signals.")]
        where = locate(document.expanded, ["events", index, "set", path], on_key=True)
        try:
            latch = latch_of(spec, index, path)
            for kind, item, gain in _rows(first, other, columns):
                _refuse_shared(owners.setdefault((kind, item), {}), index, latch.others)
                found.append((kind, item, first.signals.name.index(latch.name), gain))
            _refuse_later(models, columns)
        except _RefusedError as refusal:
            faults.append(Fault("SC316", f"an event by condition cannot set `{path}`: {refusal}", where, _HINT))
    if faults:
        raise SceneError(faults, document)
    return [replace(model, inputs=_joined(model.inputs, found)) for model in models]


def _rows(first: Model, other: Model, columns: list[tuple[str, str]]) -> Iterator[_Row]:
    """What changes between two models."""
    for table, name in columns:
        before, after = (getattr(getattr(one, table) if table else one, name) for one in (first, other))
        if (table, name) == ("signals", "parameter"):
            yield from _of_constants(first.signals, first.inputs, after - before)
            continue
        kind = (_SWITCHED | _COMBINED).get((table, name))
        if kind is None:
            raise _RefusedError(f"that changes `{'.'.join(filter(None, (table, name)))}`, which is the same in all worlds")
        gain = (after - before).reshape(max(len(after), len(before)), -1)
        shift = first.n_qd if (table, name) in _COMBINED else 0
        for item in np.flatnonzero(gain.any(axis=0)).tolist():
            yield kind, item + shift, gain[:, item]


def _of_constants(signals: Signals, inputs: Inputs, change: Array) -> Iterator[_Row]:
    """What changes with constants of signals, where these drive something; laws that see them know their latches."""
    for k in np.flatnonzero(change.any(axis=(0, 2))).tolist():
        name = signals.name[k]
        if signals.kind[k] != SignalKind.CONSTANT:
            raise _RefusedError(f"the signal `{name}` is no constant")
        for n in np.flatnonzero(inputs.signal == k).tolist():
            kind = Driven(inputs.column[n])
            if kind == Driven.MOTION:
                raise _RefusedError(f"the signal `{name}` prescribes a motion, which would jump")
            yield kind, int(inputs.item[n]), inputs.gain[:, n] * change[:, k, 0]


def _refuse_shared(owners: dict[int, tuple[int, ...]], index: int, others: tuple[int, ...]) -> None:
    """Refuse a number that two events set by different paths, of which neither gives way."""
    for event in owners:
        if event not in others and event != index:
            raise _RefusedError(f"events[{event}] sets a part of the same by another path; write both by one path")
    owners[index] = others


def _refuse_later(models: Sequence[Model], columns: list[tuple[str, str]]) -> None:
    """Refuse columns that events at a time change, too."""
    for table, name in columns:
        first, *rest = (getattr(getattr(one, table) if table else one, name) for one in models)
        if any(not np.array_equal(*np.broadcast_arrays(first, one), equal_nan=True) for one in rest):
            raise _RefusedError("an event at a time changes it, too")


def _joined(inputs: Inputs, found: list[tuple[Driven, int, int, Array]]) -> Inputs:
    """Inputs with further rows."""
    if not found:
        return inputs
    kind, item, signal, gains = zip(*found, strict=True)
    n_worlds = max(len(inputs.gain), *(len(gain) for gain in gains))
    wide = [np.broadcast_to(gain, n_worlds) for gain in gains]
    old = np.broadcast_to(inputs.gain, (n_worlds, inputs.gain.shape[1]))
    more = lambda column, values: np.concatenate([column, np.array(values, np.int32)])  # noqa: E731
    return Inputs(
        more(inputs.column, kind),
        more(inputs.item, item),
        more(inputs.signal, signal),
        np.concatenate([old, np.stack(wide, axis=1)], axis=1),
    )


HINT = "let it move in a finite time: by a `ramp`, or a `table` with `interpolate: cubic`"


def refuse_jump(document: Document, index: int, t: float, before: Model, after: Model) -> None:
    """Refuse an event that moves what a motion prescribes.

    Args:
        document: the scene as written.
        index: of the event.
        t: [s], of the event.
        before: the model before it.
        after: the model from it on.

    Raises:
        SceneError: SC478.
    """
    text = jump_between(t, before, after)
    if text:
        where = locate(document.expanded, ["events", index, "set"], on_key=True)
        raise SceneError([Fault("SC478", text, where, HINT)], document)


def jump_between(t: float, before: Model, after: Model) -> str:
    """The prescribed position that differs most between two models at a time [s], in words; "" if none does."""
    by_position = after.motions.kind == MotionKind.POSITION
    if not by_position.any():
        return ""
    old, new = np.broadcast_arrays(*(prescribed(model, t)[..., 0] for model in (before, after)))
    gap = np.where(by_position, np.abs(new - old), 0.0)
    if gap.max() <= SAME_START:
        return ""
    world, d = np.unravel_index(gap.argmax(), gap.shape)
    name = after.joints.name[after.dofs.joint[d]]
    ends = f"from {old[world, d]:.6g} to {new[world, d]:.6g} at {t:g} s"
    return f"the prescribed position of joint `{name}` jumps {ends}" + (f" (world {world})" if after.n_worlds > 1 else "")
