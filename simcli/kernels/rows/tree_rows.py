"""Constraint rows between links of trees: residuals, rates, biases, and the pull of a unit multiplier on two links.

    residual phi,  rate J qd,  bias: what phi'' is at qdd = 0,  pull: the force on B and its opposite on A per unit lambda

Rows see natural coordinates as the rigid motion that they make: rows of rigidity, which are met, make up the difference.
Every row but a gear acts between two links by a force F through a point of both and a couple T, so that action equals
reaction exactly. Notation: x about the tree's O; p in the world; a, b the sides of parent and child.
"""

import numpy as np

from simcli.kernels.articulation.kinematics import point_velocity, vector_at
from simcli.kernels.articulation.points import world_point, world_turn
from simcli.kernels.articulation.rnea import gravity_motion
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.values import Force, Mat3, Vec3
from simcli.kernels.rows.forms import (
    Powers,
    angle_near,
    component_along,
    component_of_log,
    length_of,
    meet,
    product_of_directions,
    stay_apart,
    successive_angle,
    turn_about,
    value_and_slopes,
)
from simcli.kernels.rows.wheels import Wheels, with_wheels
from simcli.model.constraints.constraint_tables import Constraints, Form, anchor_pair_of_row, rows_of_terms, start_angles
from simcli.model.tables.model import LinkKind

_MEET, _APART, _ALONG, _DOT, PITCH, _TURN, _LENGTH, SPIN, GEAR, _RIGID, CARDAN, EULER, ROLL, *_ = sorted(map(int, Form))


class Rows:
    """Device columns of pairs of anchors and rows, and what `measure_tree_rows` leaves.

    Attributes:
        residual, rate, bias: per row.
        jacobian_a, jacobian_b: Force per row on the links of A and B, each about its own tree's O.
        angle: of rows that are or have an angle, over full turns.
        n_geared: gears between coordinates of joints, which come before those that are lengths of cables.
        term_start: (gears + 1).  term_q, term_dof: of terms of gears, as in `constraints.tables.Rows`; term_row: the row
            that is the coordinate of a joint outside the tree, else -1.
        powers: of the coordinates of terms.  slope: of terms, p'(q).
    """

    _data_oriented = True

    def __init__(self, constraints: Constraints, tables: Tables, arena: Arena):
        anchor_pairs, rows = constraints.anchor_pairs, constraints.rows
        self.n, self.n_anchor_pairs = rows.n, len(anchor_pairs.joint)
        items, pairs = arena.records(rows.n), arena.records(self.n_anchor_pairs)
        self.items = items
        self.link_a, self.link_b = pairs.ints(anchor_pairs.link_a), pairs.ints(anchor_pairs.link_b)
        self.point_a, self.point_b = pairs.column(anchor_pairs.point_a, Vec3), pairs.column(anchor_pairs.point_b, Vec3)
        self.frame_a, self.frame_b = pairs.column(anchor_pairs.frame_a, Mat3), pairs.column(anchor_pairs.frame_b, Mat3)
        self.row_start, self.joint = arena.ints(anchor_pairs.row_start), pairs.ints(anchor_pairs.joint)
        self.anchor_pair = items.ints(anchor_pair_of_row(constraints))
        self.is_swapped, self.has_swapped = pairs.ints(anchor_pairs.is_swapped), bool(anchor_pairs.is_swapped.any())
        self.form = items.ints(rows.form)
        forms = set(rows.form.tolist())
        self.has_meet, self.has_apart, self.has_dot = _MEET in forms, _APART in forms, _DOT in forms
        self.has_length, self.has_spin = _LENGTH in forms, SPIN in forms
        self.wheels = Wheels(rows, items)
        self.has_cardan, self.has_euler, self.has_roll = CARDAN in forms, EULER in forms, ROLL in forms
        self.has_along, self.has_turn = bool({_ALONG, PITCH} & forms), bool({_TURN, PITCH} & forms)
        self.on_a, self.across_a = items.column(rows.on_a, Vec3), items.column(rows.across_a, Vec3)
        self.on_b, self.constant = items.column(rows.on_b, Vec3), items.column(rows.constant)
        self.residual, self.rate, self.bias = items.array(), items.array(), items.array()
        self.angle, self.angle_start = items.array(), start_angles(constraints, tables.model)
        self.jacobian_a, self.jacobian_b = items.array(Force), items.array(Force)
        for array in (self.residual, self.rate, self.bias, self.jacobian_a, self.jacobian_b):
            array.scratch()
        gears = np.flatnonzero(rows.form == GEAR)
        rigid = np.flatnonzero(rows.form == _RIGID)
        self.n_rigid, self.first_rigid = len(rigid), rows.n - len(rigid)
        self.n_gears, self.first_gear = len(gears), rows.n - len(rigid) - len(gears)
        self.n_geared = int((rows.spring[gears] < 0).sum())
        vectors = np.stack((rows.vector_a[rigid], rows.vector_b[rigid]), axis=-1)
        self.vector_q, self.vector_d = arena.ints(first_numbers(tables)[vectors]), arena.ints(vectors)
        terms = arena.records(len(rows.term_dof))
        term_row = rows_of_terms(rows, tables.n_qd)
        starts = rows.term_start[self.first_gear : self.first_gear + self.n_gears + 1]
        self.term_start, self.powers = arena.ints(starts), Powers(rows.power_start, rows.coefficient, arena)
        self.slope = terms.array().scratch()
        self.term_dof, self.term_q = terms.ints(rows.term_dof), terms.ints(np.append(tables.q_of_dof, 0)[rows.term_dof])
        self.term_row, self.has_shared = terms.ints(term_row), bool(np.any(term_row >= 0))

    def clear(self):
        """Begin with the turns that the initial coordinates count."""
        self.angle.write(self.angle_start[..., None])


def first_numbers(tables: Tables) -> np.ndarray:
    """Index into joint_q of each velocity of natural coordinates, (NV,); -1 for others."""
    index, links = np.full(tables.n_qd + 1, -1), tables.model.links
    for q, d, n, kind in zip(links.q_start, links.qd_start, links.n_qd, links.kind, strict=True):
        if kind == LinkKind.AFFINE:
            index[d : d + n] = q + np.arange(n)
    return index


@ti.func
def anchor(t: ti.template(), s: ti.template(), w: ti.i32, link: ti.i32, point: ti.template()):
    """A point of a link: x about O, position and velocity in the world, acceleration at qdd = 0 (gravity as in s.a).

    The world's own points accelerate like everything else when gravity is an acceleration of the world.

    Reads: s.{R, o, v, a, origin}
    """
    x, p, velocity = world_point(t, s, w, link, point)
    acceleration = gravity_motion(t, w).linear
    if link >= 0:
        acceleration = point_velocity(s.a.load(w, link), x) + s.v.load(w, link).angular.cross(velocity)
    return x, p, velocity, acceleration


@ti.func
def turn_of_anchor_pair(t: ti.template(), s: ti.template(), r: ti.template(), w: ti.i32, k: ti.i32):
    """Rotation of the anchor frame of B against that of A, of pair k.

    Reads: s.R
    """
    R_a, _spin_a, _alpha_a = turning(t, s, w, r.link_a.at(k))
    R_b, _spin_b, _alpha_b = turning(t, s, w, r.link_b.at(k))
    return (R_a * r.frame_a.load(w, k)).T * (R_b * r.frame_b.load(w, k))


@ti.func
def turning(t: ti.template(), s: ti.template(), w: ti.i32, link: ti.i32):
    """Rotation, angular velocity and angular acceleration at qdd = 0 of a link; the world's are at rest.

    Reads: s.{R, v, a}
    """
    zero = t.arena.zero()
    R, spin = world_turn(t, s, w, link)
    alpha = Vec3(zero, zero, zero)
    if link >= 0:
        alpha = s.a.load(w, link).angular
    return R, spin, alpha


@ti.func
def measure_tree_rows(t: ti.template(), s: ti.template(), r: ti.template(), w: ti.i32):
    """Residuals, rates, biases and pulls of all rows at the present poses.

    Reads:  r columns, s.{R, o, v, a, origin, q, qd}; s.a of `rnea_link_forces` at qdd = 0
    Writes: r.{residual, rate, bias, jacobian_a, jacobian_b, angle}
    """
    for k in range(r.n_anchor_pairs):
        link_a = r.link_a.at(k)
        link_b = r.link_b.at(k)
        x_a, p_a, v_a, a_a = anchor(t, s, w, link_a, r.point_a.load(w, k))
        x_b, p_b, v_b, a_b = anchor(t, s, w, link_b, r.point_b.load(w, k))
        a = turning(t, s, w, link_a)
        b = turning(t, s, w, link_b)
        gap = (p_b - p_a, v_b - v_a, a_b - a_a)
        arm = x_a + gap[0]  # the point B about the O of A
        for n in range(r.row_start.at(k), r.row_start.at(k + 1)):
            moved = measure_gap(r, w, n, gap, a)
            turned = measure_turn(r, w, k, n, a, b, moved)
            found = with_wheels(r, w, n, gap, a, b, (turned[0], turned[1], turned[2], moved[3], turned[3]))
            force = found[3]
            couple = found[4]
            r.residual.store(w, n, found[0])
            r.rate.store(w, n, found[1])
            r.bias.store(w, n, found[2])
            r.jacobian_b.store(w, n, Force.of(force, x_b.cross(force) + couple))
            r.jacobian_a.store(w, n, -Force.of(force, arm.cross(force) + couple))
    for g in range(r.n_gears):
        measure_gear(s, r, w, g)
    for g in range(r.n_rigid):
        measure_rigidity(s, r, w, g)


@ti.func
def measure_gap(r: ti.template(), w: ti.i32, n: ti.i32, gap: ti.template(), a: ti.template()):
    """Residual, rate, bias and force of a row that sees the gap between the two points; zeros of others.

    Args:
        gap: from A to B, with its first and second derivative at qdd = 0.
        a: as `turning` gives it.

    Reads: r columns
    """
    zero = r.items.arena.zero()
    none = Vec3(zero, zero, zero)
    residual = zero
    rate = zero
    bias = zero
    force = Vec3(zero, zero, zero)
    form = r.form.at(n)
    constant = zero + r.constant.load(w, n)
    if ti.static(r.has_meet):
        if form == _MEET:
            residual, rate, bias, force = meet(none + r.on_a.load(w, n), gap, constant)
    if ti.static(r.has_apart):
        if form == _APART:
            residual, rate, bias, force = stay_apart(gap, constant)
    if ti.static(r.has_length):
        if form == _LENGTH:
            residual, rate, bias, force = length_of(gap)
    if ti.static(r.has_along):
        if form == _ALONG or form == PITCH:
            residual, rate, bias, force = component_along(a[0] * r.on_a.load(w, n), a, gap, constant)
    return residual, rate, bias, force


@ti.func
def measure_turn(
    r: ti.template(), w: ti.i32, k: ti.i32, n: ti.i32, a: ti.template(), b: ti.template(), moved: ti.template()
):
    """Residual, rate, bias and couple of a row that sees how B is turned from A; else those of the gap, and none.

    Args:
        a, b: as `turning` gives them.
        moved: as `measure_gap` gives it.

    Reads:  r columns
    Writes: r.angle of row n
    """
    zero = r.items.arena.zero()
    none = Vec3(zero, zero, zero)
    residual = moved[0]
    rate = moved[1]
    bias = moved[2]
    couple = Vec3(zero, zero, zero)
    form = r.form.at(n)
    constant = zero + r.constant.load(w, n)
    if ti.static(r.has_dot):
        if form == _DOT:
            residual, rate, bias, couple = product_of_directions(
                a[0] * r.on_a.load(w, n), a, b[0] * r.on_b.load(w, n), b, constant
            )
    if ti.static(r.has_turn):
        if form == _TURN or form == PITCH:
            residual, rate, bias, couple = add_angle(r, w, n, a, b, residual, rate, bias)
    if ti.static(r.has_spin):
        if form == SPIN:
            residual, rate, bias, couple = component_of_log(
                a[0] * r.frame_a.load(w, k), b[0] * r.frame_b.load(w, k), a, b, none + r.on_a.load(w, n)
            )
    if ti.static(r.has_roll):
        if form == ROLL:
            couple = a[0] * (r.frame_a.load(w, k) * r.on_a.load(w, n))
            rate, bias = turn_about(couple, a, b)
    for count in ti.static((2, 3)):
        if ti.static(r.has_cardan if count == 2 else r.has_euler):
            if form == CARDAN + count - 2:
                residual, rate, bias, couple = successive_angle(r, w, k, n, a, b, count)
    return residual, rate, bias, couple


@ti.func
def add_angle(
    r: ti.template(),
    w: ti.i32,
    n: ti.i32,
    a: ti.template(),
    b: ti.template(),
    residual: ti.template(),
    rate: ti.template(),
    bias: ti.template(),
):
    """A row with the angle from A to B about a direction of A: weight 1, or of a screw -p.

    Returns:
        Residual, rate and bias with it, and the couple.

    Reads:  r columns
    Writes: r.angle of row n
    """
    d = a[0] * r.on_a.load(w, n)
    angle = angle_near(d, a[0] * r.across_a.load(w, n), b[0] * r.on_b.load(w, n), r.angle.load(w, n))
    r.angle.store(w, n, angle)
    turn_rate, turn_bias = turn_about(d, a, b)
    weight = r.items.arena.zero() + 1.0
    before = residual
    if r.form.at(n) == PITCH:
        weight = -r.constant.load(w, n)
        before = residual + r.constant.load(w, n)  # which the gap took away
    return before + angle * weight, rate + turn_rate * weight, bias + turn_bias * weight, d * weight


@ti.func
def measure_gear(s: ti.template(), r: ti.template(), w: ti.i32, g: ti.i32):
    """The row of gear g: the sum of polynomials of coordinates, less the constant.

        phi = sum p(q) - c,    phi' = sum p'(q) q',    phi'' = sum p'(q) q'' + p''(q) q'^2

    Reads:  r columns, r.{residual, rate, bias} of coordinates, s.{q, qd}
    Writes: r.{residual, rate, bias} of the gear, r.slope of its terms
    """
    zero = r.items.arena.zero()
    total, rate, bias = zero, zero, zero
    for k in range(r.term_start.at(g), r.term_start.at(g + 1)):
        x, v, change = coordinate(s, r, w, r.term_row.at(k), r.term_q.at(k), r.term_dof.at(k))
        value, slope, bend = value_and_slopes(r.powers, w, k, x)
        r.slope.store(w, k, slope)
        total = total + value
        rate = rate + v * slope
        bias = bias + change * slope + v * v * bend
    n = r.first_gear + g
    r.residual.store(w, n, total - r.constant.load(w, n))
    r.rate.store(w, n, rate)
    r.bias.store(w, n, bias)


@ti.func
def measure_rigidity(s: ti.template(), r: ti.template(), w: ti.i32, g: ti.i32):
    """The g-th row of rigidity: two vectors of a natural body keep their scalar product.

    Reads:  r columns, s.{q, qd}
    Writes: r.{residual, rate, bias} of the row
    """
    n = r.first_rigid + g
    a = vector_at(s.q, w, r.vector_q.at(2 * g))
    b = vector_at(s.q, w, r.vector_q.at(2 * g + 1))
    a_rate = vector_at(s.qd, w, r.vector_d.at(2 * g))
    b_rate = vector_at(s.qd, w, r.vector_d.at(2 * g + 1))
    r.residual.store(w, n, a.dot(b) - r.constant.load(w, n))
    r.rate.store(w, n, a_rate.dot(b) + a.dot(b_rate))
    r.bias.store(w, n, a_rate.dot(b_rate) * 2.0)


@ti.func
def coordinate(s: ti.template(), r: ti.template(), w: ti.i32, row: ti.i32, q: ti.i32, d: ti.i32):
    """Coordinate of a joint, its rate, and its acceleration at qdd = 0: of a row, or if that is -1 of a dof of the tree.

    Reads: r.{residual, rate, bias}, s.{q, qd}
    """
    x = r.angle.arena.zero()
    v = r.angle.arena.zero()
    a = r.angle.arena.zero()
    if row >= 0:
        x = r.residual.load(w, row)
        v = r.rate.load(w, row)
        a = r.bias.load(w, row)
    else:
        x = s.q.load(w, q)
        v = s.qd.load(w, d)
    return x, v, a
