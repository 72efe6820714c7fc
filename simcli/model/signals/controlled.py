"""Drives whose targets a program sets while a simulation runs: each gets a constant signal, with a number per world."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from simcli.model.joints.mechanism import reads
from simcli.model.tables.joint_tables import Dofs, Joints
from simcli.model.tables.model import DriveMode, Model
from simcli.model.tables.signal_tables import Driven, Inputs, SignalKind
from simcli.model.tables.table_base import Array

CONTROL_OF = "control of "  # begins the names of the signals that are made here, which no scene can have


def controlled_dofs(joints: Joints, dofs: Dofs, joint: str) -> list[int]:
    """Dofs of a joint that have a drive.

    Args:
        joints: of a scene.
        dofs: of these.
        joint: its name.
    """
    j = joints.name.index(joint)
    first, end = joints.qd_start[j : j + 2]
    return [int(dof) for dof in range(first, end) if dofs.drive_mode[dof] != DriveMode.NONE]


def target_of(dofs: Dofs, dof: int) -> Driven:
    """What a drive follows: its target position or effort; in velocity mode its target velocity."""
    return Driven.DRIVE_TARGET if reads(dofs.drive_mode[dof], "target") else Driven.DRIVE_TARGET_VELOCITY


def signal_of(model: Model, dof: int) -> int | None:
    """The signal that drives the target of a drive, None if none does."""
    inputs = model.inputs
    found = np.flatnonzero((inputs.column == target_of(model.dofs, dof)) & (inputs.item == dof))
    return int(inputs.signal[found[0]]) if found.size else None


def with_controls(model: Model, joints: Sequence[str]) -> Model:
    """The model with a signal for each target of these joints that none drives, and with numbers of signals per world.

    Args:
        model: of a scene.
        joints: names.

    Returns:
        The same motion, as the signals are the targets that were written.
    """
    dofs = [
        dof for joint in joints for dof in controlled_dofs(model.joints, model.dofs, joint) if signal_of(model, dof) is None
    ]
    names, columns, parameters, targets = [], [], [], {"drive_target": [], "drive_target_velocity": []}
    for dof in dofs:
        column = target_of(model.dofs, dof)
        name = column.name.lower()
        value = getattr(model.dofs, name)[:, dof]
        names.append(f"{CONTROL_OF}{model.dofs.label[dof]}")
        columns.append(int(column))
        parameters.append(np.pad(value[:, None], ((0, 0), (0, 3))))
        targets[name].append(dof)
    return _joined(_untargeted(model, targets), names, columns, dofs, parameters)


def _untargeted(model: Model, targets: dict[str, list[int]]) -> Model:
    """The model whose drives have no targets of their own, where signals give them."""
    update = {}
    for name, dofs in targets.items():
        update[name] = getattr(model.dofs, name).copy()
        update[name][:, dofs] = 0.0
    return replace(model, dofs=replace(model.dofs, **update))


def _joined(model: Model, names: list[str], columns: list[int], dofs: list[int], parameters: list[Array]) -> Model:
    """The model with further signals, each of which drives one number."""
    signals, inputs, n = model.signals, model.inputs, len(model.signals.name)
    wide = [np.broadcast_to(one[:, None], (model.n_worlds, 1, 4)) for one in parameters]
    own = np.broadcast_to(signals.parameter, (model.n_worlds, *signals.parameter.shape[1:]))
    end = signals.piece_start[-1:]
    signals = replace(
        signals,
        name=(*signals.name, *names),
        kind=_longer(signals.kind, [int(SignalKind.CONSTANT)] * len(names)),
        parameter=np.concatenate([own, *wide], axis=1),
        piece_start=_longer(signals.piece_start, [int(end[0])] * len(names)),
    )
    gain = np.ones((len(inputs.gain), len(names)))
    inputs = Inputs(
        _longer(inputs.column, columns),
        _longer(inputs.item, dofs),
        _longer(inputs.signal, list(range(n, n + len(names)))),
        np.concatenate([inputs.gain, gain], axis=1),
    )
    return replace(model, signals=signals, inputs=inputs)


def _longer(column: Array, more: list[int]) -> Array:
    return np.concatenate([column, np.array(more, column.dtype)])
