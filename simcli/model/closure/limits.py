"""Coordinates outside their hard limits, and gears and held sums that no coordinates within these can keep."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcli.model.closure.loop_problem import LoopProblem
from simcli.model.constraints.build import constraints_of, has_hard_limit
from simcli.model.tables.form_tables import Affine
from simcli.model.tables.model import Array, JointKind, Model
from simcli.model.tables.start_tables import StartFault
from simcli.model.tables.table_base import kept

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
        return [
            Outside(world, self.joint, self.label, *numbers[:, world].tolist(), self.is_length)
            for world in np.flatnonzero(numbers[-1] > most).tolist()
        ]


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
        if not model.joints.enabled[j] or _is_cubic(model.affine, d):
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


def _is_cubic(affine: Affine | None, dof: int) -> bool:
    """True for a limit of an affine scene that is a cubic energy, and so no hard one."""
    return dof >= 0 and affine is not None and bool(affine.limit_strength[:, dof].any())


_REAL = 1e-9  # imaginary part of a root, relative, that is rounding


@dataclass(frozen=True)
class OutOfReach:
    """A gear or a held sum of a world.

    Attributes:
        joints: indices of its joints, one at least.
        size: [m, rad], from what can be reached to what is held.
        path: dotted path of it.
        text: one line for the user.
        hint: what to do.
    """

    joints: tuple[int, ...]
    size: float
    path: str
    text: str
    hint: str


def beyond_reach(model: Model, world: int) -> list[OutOfReach]:
    """All of a world.

    Args:
        model: the tables.
        world: entry along the world axis.
    """
    bounds = tuple(_of_world(column, world) for column in hard_bounds(model))
    return [*_held(model, world, bounds), *_following(model, world, bounds)]


def _held(model: Model, world: int, bounds: tuple[Array, Array]) -> Iterator[OutOfReach]:
    holds = model.holds
    for k, name in enumerate(holds.name):
        terms = range(*holds.term_start[k : k + 2])
        dofs, value = [int(holds.term_dof[t]) for t in terms], float(_of_world(holds.value, world)[k])
        polynomials = _of_world(holds.term_polynomial, world)
        low, high = np.sum([_range_of(polynomials[t], bounds, d) for t, d in zip(terms, dofs, strict=True)], axis=0)
        size = max(low - value, value - high)
        if size > OUTSIDE:
            text = f"coupling `{name}` holds {value:.6g}, but within the limits of its joints its sum is {_words(low, high)}"
            hint = f"hold what can be reached, or {_widen(model, dofs)}"
            yield OutOfReach(_joints(model, dofs), size, f"forces.{name}.hold", text, hint)


def _following(model: Model, world: int, bounds: tuple[Array, Array]) -> Iterator[OutOfReach]:
    mimics = model.mimics
    for k, label in enumerate(mimics.name):
        dofs = [int(mimics.leader[k]), int(mimics.follower[k])]
        low, high = _range_of(_of_world(mimics.polynomial, world)[k], bounds, dofs[0])
        lower, upper = (float(bound[dofs[1]]) for bound in bounds)
        size = max(lower - high, low - upper)
        if size > OUTSIDE:
            leader, joints = model.dofs.label[dofs[0]], _joints(model, dofs)
            text = (
                f"joint `{label}` follows `{leader}`, whose limits leave it {_words(low, high)}, outside its own limit "
                f"[{lower:.6g}, {upper:.6g}]"
            )
            path = f"joints.{model.joints.name[model.dofs.joint[dofs[1]]]}.mimic"
            yield OutOfReach(joints[::-1], size, path, text, f"change its ratio or offset, or {_widen(model, dofs)}")


def _of_world(column: Array, world: int) -> Array:
    """A column that may have one row for all worlds."""
    return column[min(world, len(column) - 1)]


def _range_of(coefficients: Array, bounds: tuple[Array, Array], dof: int) -> tuple[float, float]:
    """Least and largest value of a polynomial between the bounds of a dof, from the coefficient of q^0 on."""
    lower, upper = (float(bound[dof]) for bound in bounds)
    polynomial = np.polynomial.Polynomial(np.trim_zeros(coefficients, "b") if coefficients.any() else [0.0])
    roots = polynomial.deriv().roots()
    turns = roots[np.abs(roots.imag) <= _REAL * (1.0 + np.abs(roots))].real
    values = [_value_at(polynomial, q) for q in (lower, upper, *turns[(turns > lower) & (turns < upper)].tolist())]
    return min(values), max(values)


def _value_at(polynomial: np.polynomial.Polynomial, q: float) -> float:
    degree = polynomial.degree()
    if np.isfinite(q) or degree == 0:
        return float(polynomial(q if degree else 0.0))
    return float(np.sign(polynomial.coef[-1]) * q**degree)


def _joints(model: Model, dofs: list[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(model.dofs.joint[d]) for d in dofs))


def _widen(model: Model, dofs: list[int]) -> str:
    names = [f"`{model.joints.name[j]}`" for j in _joints(model, dofs)]
    return f"widen the limit of {names[0]}" if len(names) == 1 else f"widen the limits of {', '.join(names)}"


def _words(low: float, high: float) -> str:
    """A range, of which one end may be open."""
    if not np.isfinite(high):
        return f"at least {low:.6g}"
    return f"at most {high:.6g}" if not np.isfinite(low) else f"between {low:.6g} and {high:.6g}"


def outside_limits(mechanism: LoopProblem, before: list[StartFault]) -> list[StartFault]:
    """Coordinates outside their hard limits, of worlds whose loops are closed.

    Args:
        mechanism: at the coordinates that close it.
        before: faults of other worlds.
    """
    model, known, found = mechanism.model, {fault.world for fault in before}, []
    causes: dict[int, list[OutOfReach]] = {}  # of worlds in which nothing else than what holds the joints can be changed
    for one in outside(mechanism):
        if one.world not in causes:
            causes[one.world] = beyond_reach(model, one.world)
            found += [
                StartFault("SC477", world, cause.joints[0], cause.size, cause.path, cause.text, cause.hint)
                for cause in causes[one.world]
                for world in mechanism.worlds_of(one.world)
                if world not in known
            ]
        if any(one.joint in cause.joints for cause in causes[one.world]):
            continue
        found += [_outside_limit(model, one, world) for world in mechanism.worlds_of(one.world) if world not in known]
    return found


def _outside_limit(model: Model, one: Outside, world: int) -> StartFault:
    """A joint that begins outside its limit; of one that follows another, the other is to begin elsewhere."""
    name, unit = model.joints.name[one.joint], "m" if one.is_length else "rad"
    text = (
        f"joint `{one.label}` begins at {one.value:.6g} {unit}, outside its limit [{one.lower:.6g}, {one.upper:.6g}] {unit}"
    )
    gears = np.flatnonzero(model.mimics.follower == model.joints.qd_start[one.joint])
    hint = f"begin within it, as by `initial: {{joint_q: {{{name}: center}}}}`, or give the limit a stiffness"
    if len(gears):
        label = model.joints.name[model.dofs.joint[model.mimics.leader[gears[0]]]]
        hint = f"it follows `{label}`: change the initial value of that joint, by `initial: {{joint_q: {{{label}: ...}}}}`"
    return StartFault("SC477", world, one.joint, one.size, f"joints.{name}.limit", text, hint)
