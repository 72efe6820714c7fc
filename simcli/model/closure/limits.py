"""Coordinates that begin outside their hard limits."""

from dataclasses import dataclass

import numpy as np

from simcli.model.closure.close import Mechanism
from simcli.model.lawful import has_hard_limit
from simcli.model.tables import JointKind, Model

OUTSIDE = 1e-9  # [m, rad] beyond a bound that is rounding of what the scene writes


@dataclass(frozen=True)
class Outside:
    """A coordinate outside its limits.

    Attributes:
        world: entry along the world axis.
        joint: joint index.
        label: of the coordinate, as `pin` or `ball:0`.
        value, lower, upper: [m, rad].
        size: [m, rad], how far beyond.
        is_length: whether it is a length.
    """

    world: int
    joint: int
    label: str
    value: float
    lower: float
    upper: float
    size: float
    is_length: bool


def has_bounds(model: Model) -> bool:
    """True if a coordinate has a hard limit, or a distance has two lengths."""
    return bool(has_hard_limit(model).any() or (model.joints.kind == JointKind.DISTANCE).any())


def outside(mechanism: Mechanism) -> list[Outside]:
    """Every coordinate beyond a bound, world by world.

    Args:
        mechanism: at its coordinates.
    """
    model, laws, rows = mechanism.model, mechanism.constraints.laws, mechanism.constraints.rows
    bounded = np.isfinite(laws.lower).any(axis=0) | np.isfinite(laws.upper).any(axis=0)
    residual = mechanism.measure()[1].residual if (bounded & (laws.row >= 0)).any() else None
    found = []
    for k in np.flatnonzero(bounded):
        d, r = int(laws.dof[k]), int(laws.row[k])
        j = int(rows.joint[r]) if d < 0 else int(model.dofs.joint[d])
        if not model.joints.enabled[j] or _is_cubic(model, d):
            continue
        value = mechanism.q[:, mechanism.meter.q_of_dof[d]] if r < 0 else residual[:, r]
        value, lower, upper = np.broadcast_arrays(value, laws.lower[:, k], laws.upper[:, k])
        beyond = np.maximum(lower - value, value - upper)
        label = model.joints.name[j] if d < 0 else model.dofs.label[d]
        is_length = d < 0 or d - model.joints.qd_start[j] < model.joints.dof_dim[j, 0]
        for world in np.flatnonzero(beyond > OUTSIDE).tolist():
            numbers = (float(a[world]) for a in (value, lower, upper, beyond))
            found.append(Outside(world, j, label, *numbers, is_length))
    return found


def _is_cubic(model: Model, dof: int) -> bool:
    """True for a limit of an affine scene that is a cubic energy, and so no hard one."""
    return dof >= 0 and model.affine is not None and bool(model.affine.limit_strength[:, dof].any())
