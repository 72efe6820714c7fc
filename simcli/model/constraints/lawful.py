"""Which coordinates need a law: something acts on them that a smooth force of the tree cannot state."""

from collections.abc import Sequence

import numpy as np

from simcli.model.constraints.constraint_tables import Laws
from simcli.model.joints.catalogue import BALLS, KINDS_ALONG_ROWS, POSES
from simcli.model.joints.tree_kinematics import dof_inertia
from simcli.model.tables.model import Array, DriveMode, Model
from simcli.model.tables.signal_tables import Driven, Lawful
from simcli.model.tables.table_base import kept


@kept
def has_hard_limit(model: Model) -> Array:
    """(NV,) True for dofs with a hard bound in any world."""
    dofs = model.dofs
    bounded = np.isfinite(dofs.limit_lower) | np.isfinite(dofs.limit_upper)
    return np.any(bounded & (dofs.limit_stiffness == 0), axis=0)


@kept
def has_limit(model: Model) -> Array:
    """(NV,) True for dofs with a bound, hard or soft, in any world."""
    return np.any(np.isfinite(model.dofs.limit_lower) | np.isfinite(model.dofs.limit_upper), axis=0)


def has_applied_effort(model: Model) -> Array:
    """(NV,) True for dofs with an applied effort, a number or a signal, in any world."""
    driven = model.inputs.item[model.inputs.column == Driven.JOINT_F]
    return np.any(model.joint_f != 0, axis=0) | np.isin(np.arange(model.n_qd), driven)


def joints_with_wrench(models: Sequence[Model]) -> Array:
    """Joints whose applied efforts are a wrench between their bodies: poses outside the tree, which no row measures.

    Args:
        models: of one structure, of all phases of a run.

    Returns:
        Indices of the joints on which an effort is applied in any of them.
    """
    joints, dofs = models[0].joints, models[0].dofs
    applied = np.any([has_applied_effort(one) for one in models], axis=0)
    acted = np.isin(np.arange(len(joints.kind)), dofs.joint[np.flatnonzero(applied)])
    return np.flatnonzero(acted & ~joints.is_tree & np.isin(joints.kind, POSES))


@kept
def needs_law(model: Model, limits: bool = True) -> Array:
    """(NV,) True for dofs with hard limits, dry friction, a velocity limit or a drive with an effort limit.

    Every effort on the coordinate of a loop joint is a law too, for the tree knows nothing of that coordinate.

    Args:
        model: the tables.
        limits: False to leave all limits aside.
    """
    dofs, joints = model.dofs, model.joints
    driven = dofs.drive_mode != DriveMode.NONE
    law = np.any(dofs.friction > 0, axis=0) | np.any(np.isfinite(dofs.velocity_limit), axis=0)
    law |= driven & np.any(np.isfinite(dofs.effort_limit), axis=0)
    if limits:
        law |= has_hard_limit(model)
    on_loop = ~joints.is_tree[dofs.joint]
    smooth = driven | np.any(dofs.damping > 0, axis=0) | has_applied_effort(model)
    smooth |= np.any(dofs.spring_stiffness > 0, axis=0) | np.any(dofs.armature > 0, axis=0)
    if limits:
        smooth |= has_limit(model)
        law |= has_limit(model) & np.isin(joints.kind[dofs.joint], BALLS)
    bounded = np.isin(joints.kind[dofs.joint], KINDS_ALONG_ROWS)
    return (law | (on_loop & smooth)) & bounded


def lawful_of(models: Sequence[Model]) -> Lawful:
    """What the laws of any of some models act on, all of one structure."""
    found = [(needs_law(one), has_limit(one), needs_law(one, limits=False)) for one in models]
    return Lawful(*(np.any(columns, axis=0) for columns in zip(*found, strict=True)))


@kept
def limit_damping(model: Model) -> Array:
    """Damping of soft limits; where a scene leaves it open critical for the inertia at the start, c = 2 sqrt(k D).

    Args:
        model: in tree form, or in another one with the dampings of its tree form.

    Returns:
        [N s/m, N m s/rad], (W|1, NV); D of joints outside the tree, which the tree does not tell, counts as 1.
    """
    dofs = model.dofs
    is_open = (dofs.limit_stiffness > 0) & np.isnan(dofs.limit_damping)
    if not is_open.any():
        return dofs.limit_damping
    D, _ = dof_inertia(model, np.nan_to_num(model.joint_q))
    inertia = np.ones((max(map(len, D)), model.n_qd))
    for k, (first, n) in enumerate(zip(model.links.qd_start, model.links.n_qd, strict=True)):
        inertia[:, first : first + n] = np.diagonal(D[k], axis1=1, axis2=2)
    return np.where(is_open, 2.0 * np.sqrt(dofs.limit_stiffness * inertia), dofs.limit_damping)


def drives_by_law(model: Model, laws: Laws, phases: tuple[Model, ...] = ()) -> Array:
    """(NV,) True for dofs of tree joints whose drive a law clamps, in any of the phases."""
    out = np.zeros(model.n_qd, bool)
    own = laws.dof[laws.row < 0]
    limits = [np.any(np.isfinite(one.dofs.effort_limit), axis=0) for one in (model, *phases)]
    out[own] = (np.any(limits, axis=0) & (model.dofs.drive_mode != DriveMode.NONE))[own]
    return out


def is_smooth(model: Model, laws: Laws) -> bool:
    """True if all laws are smooth efforts on coordinates that are rows: nothing bounds, sticks or switches."""
    if np.any(laws.row < 0) or np.any(laws.dof < 0):
        return False
    dofs, chosen = model.dofs, laws.dof
    clamped = np.isfinite(dofs.effort_limit) & (dofs.drive_mode != DriveMode.NONE)
    bounded = np.isfinite(dofs.limit_lower) | np.isfinite(dofs.limit_upper) | np.isfinite(dofs.velocity_limit)
    return not np.any((clamped | bounded | (dofs.friction > 0))[:, chosen])
