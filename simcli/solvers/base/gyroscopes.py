"""The gyroscopic torque of bodies on free and ball joints with the world, in steps of first order.

A body that stands alone, on a free joint with nothing that is stated for its velocity, keeps its angular momentum: what
moves it in a step is not the velocity that it ends with (kernels/articulation/retraction.py). Contacts act on what moves it,
and the momentum takes their impulses, so that L is exact whatever touches.

    L+ = L + h T + I (W - W*)     W what moved it, W* what would have without contacts;   w+ = I(q+)^-1 L+

A body that others are welded to turns with them as one body: its dofs are the velocity v of its own centre of mass, at -d
from that of all of them, and its angular velocity, so that v* = V_c + h f / m - W* x d, and v+ = V_c+ - w+ x d+.

All others end with the velocity that moved them: free bodies that rows, laws or motions hold, those on ball joints, and
carriers, on which others hang, as far as their own inertia goes. Corrections of a step take their torques again, at the mean
of the angular velocities that the step begins and ends with.

Their stages are in gyroscopic_torques.py and tree/momenta.py; all is told in axes of the joint's anchor in the world.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.columns import laws_of
from simcli.kernels.language.values import Sym3, Vec3
from simcli.model.constraints.constraint_tables import Constraints
from simcli.model.tables.model import WORLD, LinkKind, Model

_ROUND = 1e-9  # [1] of its trace by which the inertia of a ball or a cube may differ from that of one
_GAINS = ("stiffness", "ball_stiffness", "rate_gain", "torsion", "soft_stiffness")  # of laws of coordinates
_SINGULAR = 1e-12  # [1] of the largest moment of inertia: less is none


class Gyroscopes:
    """Bodies whose gyroscopic torque is that of a whole step.

    Args:
        model, tables, arena: of the run.
        phases: constraints of each phase.
        is_first: whether steps are of first order.
        is_single: whether bodies are free that nothing hangs on, and no others: a tree whose steps move single bodies.

    Attributes:
        n, link: how many, and which links they are.  is_alone: 1 for those that keep their momentum, n_alone of them.
        apart: links that are no carriers, on the host.
        carries: 1 for carriers, n_carriers of them.  n_held: how many are neither.
        first_q, first_qd: of each, where its quaternion and its angular velocity begin.
        inertia: [kg m^2], (n), about what it turns about, with all that is welded to it, in axes of its link.
        inverse: that of it.
        has_arms, is_off: whether some centre of mass is elsewhere with what is welded on; 1 for those.
        is_resisted, has_laws: whether gains or armature resist some that are not alone; whether laws act on such.
        mass, arm: [kg], [m], (n), of all of it, and d in axes of the link.
        spins: (n) 1 in the worlds where it is not that of a ball.
        begun: [kg m^2], (n), inertia where the step begins.  rest: [kg m^2/s], (n), L + h T - I W*; of those that are held
            [N m], the gyroscopic torque of the step.
        start: [rad/s], (n), angular velocity where the step begins.
    """

    _data_oriented = True

    def __init__(
        self,
        model: Model,
        tables: Tables,
        arena: Arena,
        phases: Sequence[Constraints],
        is_first: bool,
        is_single: bool = False,
    ):
        links, children = model.links, _children(model.links)
        found, alone = _free_links(model, tables, phases, children) if is_first else ([], [])
        if is_single:
            found = alone = [i for i in alone if not children[i]]
        self.n, items = len(found), arena.records(len(found))
        bodies = [_rigid(model, children, i) for i in found]
        carries = [len(_below(children, i)) > len(_welded(links, children, i)) for i in found]
        self.apart = [i for i, carrier in zip(found, carries, strict=True) if not carrier]
        self.link, self.is_alone, self.carries = items.ints(found), items.ints(np.isin(found, alone)), items.ints(carries)
        self.n_alone, self.n_carriers = len(alone), int(sum(carries))
        self.n_held = self.n - self.n_alone - self.n_carriers
        is_ball = links.kind[found] == LinkKind.BALL
        self.first_q = items.ints(links.q_start[found] + np.where(is_ball, 0, 3))
        self.first_qd = items.ints(links.qd_start[found] + np.where(is_ball, 0, 3))
        shape = (len(links.com), len(found))
        inertia = np.stack([body.inertia for body in bodies], axis=1) if found else np.zeros((*shape, 3, 3))
        arm = np.stack([body.arm for body in bodies], axis=1) if found else np.zeros((*shape, 3))
        mass = np.stack([body.mass for body in bodies], axis=1) if found else np.zeros(shape)
        off = np.isin(found, alone) & tables.ever(lambda m: _arms(m, children, found) != 0.0).any(axis=-1)
        self.has_arms, self.is_off = bool(off.any()), items.ints(off)
        self.mass, self.arm = items.column(mass), items.column(arm, Vec3)
        held = [d for i in found if i not in alone for d in range(links.qd_start[i], links.qd_start[i] + links.n_qd[i])]
        self.is_resisted = bool(tables.ever(_resists)[held].any())
        self.has_laws = any(np.isin(one.laws.dof, held).any() for one in phases)
        self.spins = items.column(1.0 * _is_no_ball(np.linalg.eigvalsh(inertia)))
        self.inertia, self.inverse = items.column(_six(inertia), Sym3), items.column(_six(_inverse(inertia)), Sym3)
        self.begun, self.rest, self.start = items.array(Sym3), items.array(Vec3), items.array(Vec3)
        self.begun_arm = items.array(Vec3)


class _Rigid(NamedTuple):
    """A link with all that is welded to it.

    Attributes:
        mass: [kg], (W|1).
        arm: [m], (W|1, 3), from the link's own centre of mass to that of all, link axes.
        inertia: [kg m^2], (W|1, 3, 3), about that, on a ball joint about its origin; link axes.
    """

    mass: np.ndarray
    arm: np.ndarray
    inertia: np.ndarray


def _children(links) -> list[list[int]]:
    """Links that hang on each link directly."""
    found: list[list[int]] = [[] for _ in links.parent]
    for k in np.flatnonzero(links.parent != WORLD).tolist():
        found[links.parent[k]].append(k)
    return found


def _below(children: list[list[int]], i: int) -> list[int]:
    """Links that hang on link i."""
    found = [*children[i]]
    for k in found:  # which grows
        found += children[k]
    return sorted(found)


def _welded(links, children: list[list[int]], i: int) -> list[int]:
    """Links that are welded to link i, directly or by others."""
    found = [i]
    for k in _below(children, i):
        if links.kind[k] == LinkKind.WELD and links.parent[k] in found:
            found.append(k)
    return found[1:]


def _rigid(model: Model, children: list[list[int]], i: int) -> _Rigid:
    """Link i of a model with all that is welded to it."""
    links = model.links
    turn, at = {i: np.eye(3)[None]}, {i: np.zeros((1, 3))}
    for k in _welded(links, children, i):
        p = links.parent[k]
        turn[k], at[k] = turn[p] @ links.rotation[:, k], at[p] + np.einsum("wij,wj->wi", turn[p], links.offset[:, k])
    masses = {k: links.mass[:, k] for k in turn}
    places = {k: at[k] + np.einsum("wij,wj->wi", turn[k], links.com[:, k]) for k in turn}
    mass = sum(masses.values())
    centre = sum(masses[k][:, None] * places[k] for k in turn) / np.where(mass > 0.0, mass, 1.0)[:, None]
    pivot = np.zeros_like(centre) if links.kind[i] == LinkKind.BALL else centre
    inertia = sum(
        turn[k] @ _matrix(links.inertia[:, k]) @ np.swapaxes(turn[k], -1, -2)
        + masses[k][:, None, None] * _square(places[k] - pivot)
        for k in turn
    )
    return _Rigid(mass, centre - places[i], inertia)


def _matrix(six: np.ndarray) -> np.ndarray:
    """(..., 3, 3) of (..., 6)."""
    return six[..., [[0, 3, 4], [3, 1, 5], [4, 5, 2]]]


def _square(r: np.ndarray) -> np.ndarray:
    """|r|^2 E - r r^T."""
    return (r**2).sum(axis=-1)[..., None, None] * np.eye(3) - r[..., :, None] * r[..., None, :]


def _arms(model: Model, children: list[list[int]], found: list[int]) -> np.ndarray:
    """[m], (W|1, n, 3), arms of some links."""
    return np.stack([_rigid(model, children, i).arm for i in found], axis=1) if found else np.zeros((1, 0, 3))


def _inverse(inertia: np.ndarray) -> np.ndarray:
    """The inverse of symmetric matrices, of their own size."""
    if not inertia.shape[1]:
        return inertia
    size = np.trace(inertia, axis1=-2, axis2=-1)[..., None, None]
    return np.linalg.inv(inertia / size) / size


def _six(matrix: np.ndarray) -> np.ndarray:
    return matrix[..., [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def _free_links(
    model: Model, tables: Tables, phases: Sequence[Constraints], children: list[list[int]]
) -> tuple[list[int], list[int]]:
    """Links on free and ball joints with the world that have inertia and are no balls; those that are alone."""
    links = model.links
    free = np.isin(links.kind, (LinkKind.FREE, LinkKind.BALL)) & (links.parent == WORLD)
    found = [i for i in np.flatnonzero(free).tolist() if _may_spin(tables, children, i)]
    is_busy = tables.ever(lambda m: (m.motions.kind[None] != 0) | _resists(m))
    for stated in (of_phase for one in phases for of_phase in (one.laws.dof, one.rows.term_dof)):
        is_busy[stated[stated >= 0]] = True
    anchored = {k for one in phases for pairs in (one.anchor_pairs.link_a, one.anchor_pairs.link_b) for k in pairs.tolist()}
    return found, [i for i in found if _stands_alone(links, children, is_busy, anchored, i)]


def _may_spin(tables: Tables, children: list[list[int]], i: int) -> bool:
    """Whether link i has inertia about all axes in all worlds and phases, and in some not that of a ball."""
    values = [np.linalg.eigvalsh(_rigid(phase, children, i).inertia) for phase in tables.phases]
    return all((v[:, 0] > _SINGULAR * v[:, 2]).all() for v in values) and any(_is_no_ball(v).any() for v in values)


def _is_no_ball(values: np.ndarray) -> np.ndarray:
    """Whether moments of inertia differ."""
    return values[..., 2] - values[..., 0] > _ROUND * values.sum(axis=-1)


def _resists(model: Model) -> np.ndarray:
    """(W|1, NV) whether efforts of a dof, or its armature, take something of its acceleration in a step."""
    laws = laws_of(model)
    gains = (laws[name] != 0.0 for name in _GAINS)
    return sum(gains, start=(model.dofs.damping != 0.0) | (model.dofs.armature != 0.0))


def _stands_alone(links, children: list[list[int]], is_busy: np.ndarray, anchored: set[int], i: int) -> bool:
    """Whether link i is free, nothing moves on it, nothing resists, and no row, law or motion is stated for its velocity.

    Args:
        is_busy: (NV) whether something of these is of a dof alone.  anchored: links that rows hold.
    """
    parts = [i, *_welded(links, children, i)]
    if links.kind[i] == LinkKind.BALL or len(_below(children, i)) >= len(parts):
        return False
    first = links.qd_start[i]
    return not is_busy[first : first + links.n_qd[i]].any() and anchored.isdisjoint(parts)
