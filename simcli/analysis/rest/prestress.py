"""Prestress of nets of springs and cables on rigid parts: states of self-stress, mechanisms, and tensions that balance.

    A t + g = 0      A_ik = -d length_k / d y_i,  t tensions, g the loads of everything else over the directions y

The directions are those that joints leave, so that struts may be bodies and their forces multipliers. States of self-stress
are tensions with A t = 0; infinitesimal mechanisms are directions in which no spring changes its length, A^T y = 0.

Source: Pellegrino and Calladine (1986), matrix analysis of statically and kinematically indeterminate frameworks; Schek
(1974), the force density method. Deviation: rigid parts are eliminated with their rows, as in statics.py.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from simcli import rotations as rot
from simcli.analysis.rest.postures import NoEquilibriumError, Posture, spring_tensions
from simcli.analysis.rest.spectrum import RANK, least_of, nearest, null_space, split_by_inertia
from simcli.analysis.rest.statics import Statics
from simcli.errors import UsageError
from simcli.model.forces.spring import elastic_tension, ends_of_segments, segments_of
from simcli.model.tables.force_tables import Springs
from simcli.model.tables.model import Array, Model
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.base.patterns import matching

_SHORT = 1e-12  # [m], a spring without length pulls nowhere
_GROUP = "forces"


class Preference(StrEnum):
    """Which tensions are taken of those that balance a state."""

    nearest = "nearest"
    squares = "squares"
    sum = "sum"
    largest = "largest"


class _Quantity(StrEnum):
    """What may be unknown of a spring; the other number of its law is kept."""

    rest_length = "rest_length"  # follows from the tension and the stiffness
    stiffness = "stiffness"  # follows from the tension and the stretch
    tension = "tension"  # as rest_length
    force_density = "force_density"  # likewise: tension per length


_UNITS = {_Quantity.rest_length: "m", _Quantity.stiffness: "N/m", _Quantity.tension: "N", _Quantity.force_density: "N/m"}


@dataclass(frozen=True)
class Prestress:
    """How springs hold a structure.

    Attributes:
        length, tension: [m], [N], (K,) of each spring.
        self_stress: [1], (s, K), states of self-stress, the largest tension of each 1.
        mechanisms: number of infinitesimal mechanisms, rigid motions among them.
        rigid_motions: number of motions of everything as one rigid body.
        redundant_rows: number of rows of joints that others imply: states of self-stress of the joints alone.
        equations: number of directions in which tensions must balance, those with inertia or without.
    """

    length: Array
    tension: Array
    self_stress: Array
    mechanisms: int
    rigid_motions: int
    redundant_rows: int
    equations: int

    @property
    def rank(self) -> int:
        """Of the equilibrium matrix: loads in so many directions can be balanced."""
        return len(self.length) - len(self.self_stress)

    @property
    def density(self) -> Array:
        """[N/m], (K,), tension per length; 0 of what has no length."""
        return self.tension / np.where(self.length > _SHORT, self.length, np.inf)


@dataclass(frozen=True)
class SolvedPrestress:
    """Springs that hold the initial state.

    Attributes:
        model: with their numbers.
        values: path, as `forces.cord.rest_length`, to the number found.
        units: of them.
        settings: path of the scene to the number that gives them and its unit; a tension is given by a rest length.
    """

    model: Model
    values: dict[str, float]
    units: dict[str, str]
    settings: dict[str, tuple[float, str]]


def prestress_of(statics: Statics, posture: Posture) -> Prestress:
    """The states of self-stress and the mechanisms of a posture.

    Args:
        statics: of the mechanism.
        posture: where.
    """
    A, length = equilibrium_matrix(statics, posture)
    T, _ = split_by_inertia(statics.mass(posture))
    loose = T @ null_space(A.T @ T)[1]
    states = null_space(A)[1].T
    leads = states[np.arange(len(states)), np.abs(states).argmax(axis=1)] if states.size else np.ones(len(states))
    free = int(statics.is_free.sum()) - posture.U.shape[1]
    return Prestress(
        length,
        spring_tensions(statics.model.springs, posture.found.pose[0]),
        states / leads[:, None],
        loose.shape[1],
        rigid_motions(statics, posture, loose),
        int(statics.balance.holds.sum()) - free,
        len(A),
    )


def equilibrium_matrix(statics: Statics, posture: Posture) -> tuple[Array, Array]:
    """A over the directions of a posture, [m], (m, K), and the lengths of the springs, [m], (K,)."""
    model, pose = statics.model, posture.found.pose[0]
    segments, m = segments_of(model.springs), posture.U.shape[1]
    twist = np.concatenate((twists(statics, posture, posture.U), np.zeros((m, 1, 6))), axis=1)  # WORLD is the last entry
    places = np.concatenate((pose, [rot.IDENTITY_POSE]))
    com = np.concatenate((model.bodies.com[0], np.zeros((1, 3))))
    ends, rates = ends_of_segments(segments, pose), []
    for x, body in zip(ends, segments.body.T, strict=True):
        lever = x - rot.pose_apply(places[body], com[body])
        rates.append(twist[:, body, :3] + np.cross(twist[:, body, 3:], lever))
    gap = ends[1] - ends[0]
    length = np.linalg.norm(gap, axis=-1)
    along = gap / np.maximum(length, _SHORT)[:, None]
    return -segments.sum(np.einsum("mgc,gc->mg", rates[1] - rates[0], along)), segments.sum(length)


def rigid_motions(statics: Statics, posture: Posture, loose: Array) -> int:
    """Number of directions (m, n) that move everything as one rigid body; what has no inertia is not looked at."""
    x = rot.pose_apply(posture.found.pose[0], statics.model.bodies.com[0])
    axes = np.broadcast_to(np.eye(3)[:, None], (3, len(x), 3))
    shifts, turns = (axes, np.zeros_like(axes)), (np.cross(axes, x - x.mean(axis=0)), axes)
    rigid = np.concatenate([np.concatenate(field, axis=2) for field in (shifts, turns)])
    twist = twists(statics, posture, posture.U @ loose)
    weight = inertia_roots(statics.model, posture.found.pose[0])
    both = np.concatenate([np.einsum("bij,nbj->nbi", weight, field) for field in (rigid, twist)]).reshape(6 + len(twist), -1)
    size = np.linalg.norm(both, axis=1, keepdims=True)
    both /= np.where(size > 0.0, size, 1.0)
    return len(twist) + rank_of(both[:6]) - rank_of(both)


def twists(statics: Statics, posture: Posture, moves: Array) -> Array:
    """[m/s, rad/s], (m, B, 6), of the bodies in motions (n, m) of a posture."""
    if not moves.shape[1]:
        return np.zeros((0, statics.model.n_bodies, 6))
    return statics.balance(posture.q, rate=moves.T, angle=posture.angle).twist


def inertia_roots(model: Model, pose: Array) -> Array:
    """Square roots of the inertias of bodies, (B, 6, 6), over linear and angular velocity, world."""
    bodies = model.bodies
    out = np.zeros((len(pose), 6, 6))
    R = rot.quat_to_matrix(pose[:, 3:])
    values, axes = np.linalg.eigh(bodies.inertia[0])
    out[:, range(3), range(3)] = np.sqrt(np.maximum(bodies.mass[0], 0.0))[:, None]
    out[:, 3:, 3:] = np.sqrt(np.maximum(values, 0.0))[:, :, None] * np.swapaxes(R @ axes, 1, 2)
    return out


def rank_of(matrix: Array) -> int:
    """Number of singular values that are no rounding."""
    return matrix.shape[0] - null_space(matrix.T)[1].shape[1]


def without(model: Model, chosen: Collection[int]) -> Model:
    """The model without the forces of some springs."""
    stiffness = np.array(model.springs.stiffness)
    stiffness[:, list(chosen)] = 0.0
    return replace(model, springs=replace(model.springs, stiffness=stiffness))


def solve_prestress(
    model: Model, bare: Statics, chosen: Mapping[int, _Quantity], least: float, prefer: Preference = Preference.nearest
) -> SolvedPrestress:
    """Numbers of springs with which the initial state is an equilibrium.

    Of many answers the tensions are those nearest to the scene's own, or smallest in another sense. Slack springs do not
    push, no stiffness is negative.

    Args:
        model: of one world.
        bare: of `without` the chosen springs.
        chosen: from `chosen_springs`.
        least: [N], of the tensions of slack springs.
        prefer: which of many answers.

    Raises:
        UsageError: nothing depends on a number that is chosen; a sum of tensions is asked for of springs that can push.
        NoEquilibriumError: no such numbers balance the rest, or they are none that a spring can have.
    """
    posture, at, springs = bare.start(), np.array(sorted(chosen)), model.springs
    A, length = equilibrium_matrix(bare, posture)
    stretch = length[at] - springs.rest_length[0, at]
    by_scale = np.array([chosen[k] == _Quantity.stiffness for k in at])
    refuse_impossible(model.springs, at, by_scale, length[at], stretch)
    sign = np.where(by_scale & (stretch < 0.0), -1.0, 1.0)
    lower = np.where(springs.slack[at], least, np.where(by_scale, 0.0, -np.inf))
    before = elastic_tension(springs, length)[at]
    if prefer == Preference.sum and not np.isfinite(lower).all():
        name = springs.name[at[int(np.argmin(np.isfinite(lower)))]]
        raise UsageError(f"--prefer sum: spring `{name}` can push, and a sum has no least one then: give it `slack: true`")
    if prefer in (Preference.sum, Preference.largest):
        tension = least_of(A[:, at] * sign, -posture.load, lower, prefer == Preference.sum)
    else:
        start = sign * before if prefer == Preference.nearest else 0.0 * before
        tension = nearest(A[:, at] * sign, -posture.load, start, lower)
    if tension is None:
        raise NoEquilibriumError(
            "nothing balances the initial state so that every slack spring pulls with at least "
            f"{least:g} N and no stiffness is negative"
        )
    return with_tensions(model, chosen, at, sign * tension, length[at])


def chosen_springs(springs: Springs, unknowns: Sequence[str]) -> dict[int, _Quantity]:
    """Springs with an unknown number, and which.

    Raises:
        UsageError: a pattern is none, fits nothing, or two of them ask for two numbers of one spring.
    """
    found: dict[int, _Quantity] = {}
    for word in unknowns:
        path, _, key = word.rpartition(".")
        group, _, pattern = path.partition(".")
        if group != _GROUP or not pattern or key not in _Quantity.__members__:
            fields = ", ".join(_Quantity)
            raise UsageError(f"--unknown {word}: write forces.NAME.QUANTITY, the quantity one of {fields}")
        places = matching(springs.name, pattern)
        if not places:
            raise UsageError(f"--unknown {word}: no spring matches; {did_you_mean(pattern, springs.name, 'springs')}")
        for k in places:
            if k in springs.law_spring:
                raise UsageError(f"--unknown {word}: the tension of `{springs.name[k]}` is that of its table")
            if found.setdefault(k, _Quantity(key)) != key:
                raise UsageError(f"--unknown {word}: `{springs.name[k]}` has its {found[k]} unknown already")
    return found


def refuse_impossible(springs: Springs, at: Array, by_scale: Array, length: Array, stretch: Array) -> None:
    """Refuse unknowns on which nothing depends.

    Args:
        springs: the scene.
        at: (m,), numbers of the springs whose numbers are unknown.
        by_scale: (m,) True where the stiffness is the unknown, False where a length or a tension is.
        length: [m], (m,), of these springs in the posture.
        stretch: [m], (m,), length less rest length.

    Raises:
        UsageError: with the spring.
    """
    names = [springs.name[k] for k in at]
    for mask, words in (
        (length <= _SHORT, "has no length, so that its force has no direction"),
        (~by_scale & (springs.stiffness[0, at] == 0.0), "has no stiffness, so that its rest length has no effect"),
        (by_scale & (np.abs(stretch) <= RANK * length), "has its rest length, so that its stiffness has no effect"),
        (by_scale & (stretch < 0.0) & springs.slack[at], "is slack there, so that its stiffness has no effect"),
    ):
        if mask.any():
            raise UsageError(f"--unknown: spring `{names[int(mask.argmax())]}` {words}")


def with_tensions(
    model: Model, chosen: Mapping[int, _Quantity], at: Array, tension: Array, length: Array
) -> SolvedPrestress:
    """The model whose springs have these tensions, and the numbers that were asked for.

    Args:
        model: the scene, of one world.
        chosen: number of a spring to the quantity of it that is unknown.
        at: (m,), numbers of these springs.
        tension: [N], (m,), of these.
        length: [m], (m,), of these in the posture.

    Raises:
        NoEquilibriumError: a rest length would be negative.
    """
    stiffness, rest = np.array(model.springs.stiffness), np.array(model.springs.rest_length)
    values, units, settings = {}, {}, {}
    for k, t, L in zip(at.tolist(), tension.tolist(), length.tolist(), strict=True):
        name, quantity = model.springs.name[k], chosen[k]
        if quantity == _Quantity.stiffness:
            stiffness[0, k] = t / (L - rest[0, k])
        else:
            rest[0, k] = L - t / stiffness[0, k]
        if rest[0, k] < 0.0:
            raise NoEquilibriumError(
                f"spring `{name}` would have to pull with {t:.6g} N, more than at a rest length of 0: make it stiffer"
            )
        found = {
            _Quantity.rest_length: rest[0, k],
            _Quantity.stiffness: stiffness[0, k],
            _Quantity.tension: t,
            _Quantity.force_density: t / L,
        }[quantity]
        values[f"{_GROUP}.{name}.{quantity}"] = float(found)
        units[f"{_GROUP}.{name}.{quantity}"] = _UNITS[quantity]
        kept = _Quantity.stiffness if quantity == _Quantity.stiffness else _Quantity.rest_length
        settings[f"{_GROUP}.{name}.{kept}"] = float((stiffness if kept == _Quantity.stiffness else rest)[0, k]), _UNITS[kept]
    return SolvedPrestress(
        replace(model, springs=replace(model.springs, stiffness=stiffness, rest_length=rest)), values, units, settings
    )
