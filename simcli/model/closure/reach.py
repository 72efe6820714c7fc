"""Gears and sums that are held which no coordinates within the hard limits of their joints can keep."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simcli.model.closure.limits import OUTSIDE, hard_bounds
from simcli.model.tables import Array, Model

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
            text = f"joint `{label}` follows `{leader}`, whose limits leave it {_words(low, high)}, outside its own limit " \
                   f"[{lower:.6g}, {upper:.6g}]"  # fmt: skip
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
