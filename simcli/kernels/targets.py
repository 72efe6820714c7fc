"""Targets of bodies: how far points and axes are from where they shall be, and the normal equations of these distances.

    E = 1/2 sum |W (x - x_t)|^2 + 1/2 sum v^2 |phi|^2 + 1/2 sum u^2 (q - q_p)^2 + 1/2 rho sum c^2

x is a point of a body, phi = log(R R_t^T) the turn that a body lacks, q_p a preferred coordinate, c by how much a row of the
mechanism is open (see `row_gap`). The columns of the tree give the gradient and the matrix of Gauss and Newton, and with the
gaps the curvature that this matrix leaves out: for a dof b on the way to the dof a

    d^2 x / dq_b dq_a = w_b x v_a,      d w_a / dq_b = w_b x w_a

Notation: k, a, b unknowns, numbered from the root outwards; S motion columns; v, w the linear and angular part of a column.
"""

import numpy as np

from simcli.kernels.articulation.kinematics import body_position, point_velocity, quaternion_at, vector_at
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import rotation_log, select
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.values import Motion, Vec3
from simcli.model.tables.model import LinkKind, Model

GOAL = 14  # numbers of a target: point of the body, place, weights along x y z; quaternion, weight of the turn
_PLACE, _PULL, _TURN, _TURN_PULL = 3, 6, 9, 13
_SINGLE, BALL, SHIFT = 0, 1, 2  # unknowns: scalar joints; turns of balls and free bodies; displacements of free bodies


class Targets:
    """Which bodies have targets, which dofs move them, and what is found of both.

    Args:
        model: tables of the tree.
        tables: the same on the device.
        arena: of both.
        body: (T,), body of each target.
        dofs: (n,) index into joint_qd of each unknown, from the root outwards.

    Attributes:
        body_link: link of the body of each target.  path, path_start: unknowns that move it, by target.
        dof, coordinate: of each unknown, indices into joint_qd and joint_q (-1: quaternions).  form: _SINGLE, BALL, SHIFT.
        owner: link of each unknown.  slot: unknown of each dof, -1 if it is none.
        goal: GOAL numbers of each target.
        gap: W^2 (x - x_t).  turn: phi.  arm: x about O.  factor: of `rotation_log`.
        column: of each unknown at the point of one target.
        gradient, matrix: of E; lower triangle, row by row.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena, body: np.ndarray, dofs: np.ndarray):
        links = model.links
        self.n, self.n_unknowns = len(body), len(dofs)
        slot = np.full(model.n_qd, -1)
        slot[dofs] = np.arange(len(dofs))
        paths = [path_to_link(model, int(links.tip[b]), slot) for b in body]
        items, unknowns = arena.records(self.n), arena.records(self.n_unknowns)
        self.unknowns = unknowns
        self.body_link = items.ints(links.tip[body])
        self.path_start = arena.ints(np.cumsum([0, *map(len, paths)]))
        self.path = arena.ints(np.concatenate([np.zeros(0, int), *paths]))
        self.dof, self.slot = unknowns.ints(dofs), arena.ints(slot)
        self.coordinate = unknowns.ints(tables.q_of_dof[dofs])
        owner, form = forms_of_dofs(model)
        self.owner, self.form = unknowns.ints(owner[dofs]), unknowns.ints(form[dofs])
        self.goal = arena.array(GOAL * self.n)
        self.gap, self.turn, self.arm = items.arrays(3, Vec3)
        self.factor = items.array()
        self.column, self.gradient = unknowns.array(Motion), unknowns.array()
        self.matrix = arena.array(self.n_unknowns * (self.n_unknowns + 1) // 2)


def path_to_link(model: Model, link: int, slot: np.ndarray) -> list[int]:
    """Unknowns that move a link, from the root outwards."""
    links = model.links
    found: list[int] = []
    while link >= 0:
        own = range(links.qd_start[link], links.qd_start[link] + links.n_qd[link])
        found = [int(slot[d]) for d in own if slot[d] >= 0] + found
        link = int(links.parent[link])
    return found


def forms_of_dofs(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Link and form of each dof, (NV,) each; those of joints outside the tree have none, -1."""
    owner, form, links = np.full(model.n_qd, -1), np.full(model.n_qd, _SINGLE), model.links
    for i, (d, n, kind) in enumerate(zip(links.qd_start, links.n_qd, links.kind, strict=True)):
        owner[d : d + n] = i
        if kind in (LinkKind.BALL, LinkKind.FREE):
            form[d : d + n] = BALL
        if kind == LinkKind.FREE:
            form[d : d + 3] = SHIFT
    return owner, form


def componentwise(a: Vec3, b: Vec3) -> Vec3:
    """Products of components."""
    return Vec3(*(x * y for x, y in zip(a.parts, b.parts, strict=True)))


def seen_axes(pull: Vec3) -> Vec3:
    """1 along axes that have a weight, else 0."""
    return Vec3(*(select(part > 0.0, part * 0.0 + 1.0, part * 0.0) for part in pull.parts))


@ti.func
def measure_targets(g: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32):
    """E of all targets, their largest distance [m] and their largest turn [rad], weights of 0 left out.

    Reads:  g.goal, s.{R, o, origin}
    Writes: g.{gap, turn, arm, factor}
    """
    zero = t.arena.zero()
    cost = zero
    far = zero
    turned = zero
    for m in range(g.n):
        at = GOAL * m
        link = g.body_link.at(m)
        R = s.R.load(w, link) * t.body_rotation.load(w, link)
        x = body_position(t, s, w, link) + R * vector_at(g.goal, w, at)
        pull = vector_at(g.goal, w, at + _PULL)
        gap = x - vector_at(g.goal, w, at + _PLACE)
        pulled = componentwise(gap, pull)
        seen = componentwise(gap, seen_axes(pull))
        phi, factor = rotation_log(R * quaternion_at(g.goal, w, at + _TURN).matrix().T)
        weight = g.goal.load(w, at + _TURN_PULL)
        square = phi.dot(phi)
        cost = cost + (pulled.dot(pulled) + weight * weight * square) * 0.5
        far = ti.max(far, ti.sqrt(seen.dot(seen)))
        turned = ti.max(turned, select(weight > 0.0, ti.sqrt(square), zero))
        g.gap.store(w, m, componentwise(pulled, pull))
        g.turn.store(w, m, phi)
        g.factor.store(w, m, factor)
        g.arm.store(w, m, x - s.origin.load(w, t.root.at(link)))
    return cost, far, turned


def entry(a, b):
    """Place of a pair of unknowns a >= b in the lower triangle."""
    return a * (a + 1) // 2 + b


@ti.func
def linearize_targets(g: ti.template(), s: ti.template(), w: ti.i32, curved: ti.template()):
    """Gradient and matrix of all targets; where `curved` is 1 with their curvature.

    Reads:  g, s.S
    Writes: g.{gradient, matrix, column}
    """
    zero = g.factor.arena.zero()
    for k in range(g.n_unknowns):
        g.gradient.store(w, k, zero)
        for b in range(k + 1):
            g.matrix.store(w, entry(k, b), zero)
    some_curved = any_lane(curved > 0.0)
    for m in range(g.n):
        first = g.path_start.at(m)
        last = g.path_start.at(m + 1)
        pull = vector_at(g.goal, w, GOAL * m + _PULL)
        squares = componentwise(pull, pull)
        weight = g.goal.load(w, GOAL * m + _TURN_PULL)
        square = weight * weight
        gap = g.gap.load(w, m)
        turn = g.turn.load(w, m)
        arm = g.arm.load(w, m)
        for e in range(first, last):
            a = g.path.at(e)
            S = s.S.load(w, g.dof.at(a))
            v = point_velocity(S, arm)
            spin = S.angular
            g.column.store(w, a, Motion.of(v, spin))
            slope = gap.dot(v) + turn.dot(spin) * square
            g.gradient.store(w, a, g.gradient.load(w, a) + slope)
            force = componentwise(v, squares)
            couple = spin * square
            for f in range(first, e + 1):
                b = g.path.at(f)
                other = g.column.load(w, b)
                value = force.dot(other.linear) + couple.dot(other.angular)
                g.matrix.store(w, entry(a, b), g.matrix.load(w, entry(a, b)) + value)
        if some_curved:
            add_curvature(g, w, m, square * curved, curved)


@ti.func
def add_curvature(g: ti.template(), w: ti.i32, m: ti.i32, square: ti.template(), curved: ti.template()):
    """Add what the gaps of a target times the second derivatives of its place and turn give.

        W^2 (x - x_t) . (w_b x v_a) + v^2 (f (phi x (phi x w_a)) . w_b + 1/2 phi . (w_b x w_a))

    Of one joint the turns of a ball come together, so that their order is of no account; a shift before a turn has none.

    Reads:  g
    Writes: g.matrix
    """
    gap = g.gap.load(w, m) * curved
    phi = g.turn.load(w, m)
    factor = g.factor.load(w, m)
    first = g.path_start.at(m)
    for e in range(first, g.path_start.at(m + 1)):
        a = g.path.at(e)
        mine = g.column.load(w, a)
        bent = phi.cross(phi.cross(mine.angular)) * factor
        for f in range(first, e + 1):
            b = g.path.at(f)
            other = g.column.load(w, b)
            bend = gap.dot(other.angular.cross(mine.linear))
            order = 0.5 * phi.dot(other.angular.cross(mine.angular))
            if g.form.at(a) != _SINGLE and g.owner.at(a) == g.owner.at(b):
                order = order * 0.0
                if g.form.at(b) == SHIFT:
                    bend = bend * 0.0
                else:
                    bend = 0.5 * (bend + gap.dot(mine.angular.cross(other.linear)))
            value = bend + (bent.dot(other.angular) + order) * square
            g.matrix.store(w, entry(a, b), g.matrix.load(w, entry(a, b)) + value)


def put(array, w, mask, value, item=0):
    """Replace a number of the search where a mask is 1."""
    array.store(w, item, select(mask > 0.0, value, array.load(w, item)))
