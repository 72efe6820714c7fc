"""Coordinates outside their hard limits."""

from dataclasses import dataclass

import numpy as np

from simcli.model.closure.close import LoopProblem
from simcli.model.constraints.build import constraints_of
from simcli.model.joints.lawful import has_hard_limit
from simcli.model.table_base import kept
from simcli.model.tables import Array, JointKind, Model

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


@dataclass(frozen=True)
class Bound:
    """A coordinate with a hard limit.

    Attributes:
        law: index of its law.
        joint, label, is_length: as of `Outside`.
        lower, upper: [m, rad], (W|1,).
    """

    law: int
    joint: int
    label: str
    is_length: bool
    lower: Array
    upper: Array

    def excess(self, value: Array) -> Array:
        """[m, rad], (W,), how far values, (W|1,), are beyond; negative within."""
        return np.maximum(self.lower - value, value - self.upper)

    def passed(self, value: Array, most: Array | float) -> list[Outside]:
        """The worlds whose value, (W|1,), is beyond by more than `most` [m, rad], (W|1,)."""
        numbers = np.stack(np.broadcast_arrays(value, self.lower, self.upper, self.excess(value)))
        return [Outside(world, self.joint, self.label, *numbers[:, world].tolist(), self.is_length)
                for world in np.flatnonzero(numbers[-1] > most).tolist()]  # fmt: skip


@kept
def has_bounds(model: Model) -> bool:
    """True if a coordinate has a hard limit, or a distance has two lengths."""
    return bool(has_hard_limit(model).any() or (model.joints.kind == JointKind.DISTANCE).any())


def bounds_of(model: Model) -> list[Bound]:
    """The hard limits of a model that act."""
    laws, rows, found = constraints_of(model).laws, constraints_of(model).rows, []
    bounded = np.isfinite(laws.lower).any(axis=0) | np.isfinite(laws.upper).any(axis=0)
    for k in np.flatnonzero(bounded).tolist():
        d = int(laws.dof[k])
        j = int(rows.joint[laws.row[k]]) if d < 0 else int(model.dofs.joint[d])
        if not model.joints.enabled[j] or _is_cubic(model, d):
            continue
        label = model.joints.name[j] if d < 0 else model.dofs.label[d]
        is_length = d < 0 or bool(d - model.joints.qd_start[j] < model.joints.dof_dim[j, 0])
        found.append(Bound(k, j, label, is_length, laws.lower[:, k], laws.upper[:, k]))
    return found


def outside(mechanism: LoopProblem) -> list[Outside]:
    """Every coordinate beyond a bound, world by world.

    Args:
        mechanism: at its coordinates.
    """
    model, laws = mechanism.model, mechanism.constraints.laws
    bounds = bounds_of(model)
    residual = mechanism.measure()[1].residual if any(laws.row[one.law] >= 0 for one in bounds) else None
    found = []
    for one in bounds:
        d, r = int(laws.dof[one.law]), int(laws.row[one.law])
        value = mechanism.q[:, mechanism.meter.q_of_dof[d]] if r < 0 else residual[:, r]
        found += one.passed(value, OUTSIDE)
    return found


def tightens(before: Model, model: Model) -> bool:
    """True if a hard limit of a model may leave less room than that of the model before it."""
    (lower, upper), (new_lower, new_upper) = hard_bounds(before), hard_bounds(model)
    begins = model.joints.enabled & ~before.joints.enabled
    return bool(begins.any() or np.any(new_lower > lower) or np.any(new_upper < upper))


def hard_bounds(model: Model) -> tuple[Array, Array]:
    """[m, rad], two of (W|1, NV), infinite where a limit is soft."""
    dofs = model.dofs
    soft = dofs.limit_stiffness > 0.0
    if model.affine is not None:
        cubic = model.affine.limit_strength > 0.0
        soft = soft | np.pad(cubic, ((0, 0), (0, soft.shape[1] - cubic.shape[1])))
    return np.where(soft, -np.inf, dofs.limit_lower), np.where(soft, np.inf, dofs.limit_upper)


def _is_cubic(model: Model, dof: int) -> bool:
    """True for a limit of an affine scene that is a cubic energy, and so no hard one."""
    return dof >= 0 and model.affine is not None and bool(model.affine.limit_strength[:, dof].any())
