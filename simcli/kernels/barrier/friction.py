"""Friction of a step: contacts as they were when it began, each with a potential of its slip since then.

    F = sum_g mu lambda_g f_0(|u_g|),  u_g = (t_1, t_2) . (delta_g(q) - delta_g(q_n))

with points of the bodies that the contact had then: on the surfaces, so that what is round rolls. Load and tangents do
not change within the step, so that F is a potential, convex and smooth at rest: whatever holds still creeps.

Source: reference/affine-bodies.md B.8 (lagged once per step). Deviation: the radius of a shape carries the points.
"""

import taichi as ti

from simcli.kernels.barrier.closest import EDGE_EDGE, blend, direction, slide, weigh
from simcli.kernels.barrier.law import barrier, mollifier, smooth_step
from simcli.kernels.barrier.nearest import count_nearest, counts
from simcli.kernels.barrier.pieces import edge_scale, near_gap, new_piece, put_half
from simcli.kernels.barrier.stencils import bodies_of, corners, places, shape_of, thickness
from simcli.kernels.collision.lanes import one, put, vector, whole_of
from simcli.kernels.memory import get_lane, local
from simcli.kernels.values import Vec3


def part_of(x, w, lane, body, k):
    """Number k of the twelve of a body in one world."""
    return local(get_lane(x.part(w, 12 * body + k, 0), lane))


def column_of(x, w, lane, body, k) -> Vec3:
    """Vector a_k of a body in one world."""
    return Vec3(*(part_of(x, w, lane, body, 3 + 3 * k + m) for m in range(3)))


@ti.func
def turned_back(c: ti.template(), w: ti.i32, lane: ti.i32, x: ti.template(), body: ti.i32, n: ti.template()):
    """A unit vector of the world in the axes of a body's link.

    Args:
        x: (12 B) coordinates; the vectors of a body are nearly orthonormal.
    """
    y = vector(n.parts[0], n.parts[1], n.parts[2])
    if body < c.n_bodies:
        for k in ti.static(range(3)):
            y.parts[k] = column_of(x, w, lane, body, k).dot(n)
    return y


@ti.func
def grip(c: ti.template(), w: ti.i32, x: ti.template(), who: ti.template()):
    """Keep the contacts with friction for the step that begins, in worlds that ask.

    Reads:  c.{at, candidates}
    Writes: c.grips, c.candidates.counts
    """
    for lane in range(c.lanes):
        if one(who, w, lane, 0) != 0.0:
            put(c.grips.count, w, lane, 0, 0.0)
            count_nearest(c, w, lane)
            for k in range(ti.cast(one(c.candidates.count, w, lane, 0), ti.i32)):
                if counts(c, w, lane, k) and one(c.friction, w, lane, whole_of(c.candidates.pair, w, lane, k)) > 0.0:
                    grip_one(c, w, lane, k, x)


@ti.func
def grip_one(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, x: ti.template()):
    """Keep a candidate if there is a force in it.

    Writes: c.grips
    """
    kind, pair, a, b, d, e = corners(c, w, lane, k)
    xi, near = thickness(c, w, lane, pair), one(c.near, w, lane, pair)
    if near_gap(kind, xi + near, a, b, d, e):
        weights = weigh(kind, a, b, d, e)
        size, n = direction(blend(weights, (a, b, d, e)))
        _energy, slope, _curvature = barrier(size - xi, near, one(c.stiffness, w, lane, pair))
        if kind == EDGE_EDGE:
            area = (b - a).cross(e - d)
            weight, _first, _second = mollifier(area.dot(area), edge_scale(c, w, lane, k))
            slope = slope * weight
        if slope < 0.0:
            at = ti.cast(one(c.grips.count, w, lane, 0), ti.i32)
            if at < c.grips.capacity:
                _count, s, t, _ds, _dt = slide(kind, weights, n, a, b, d, e)
                put(c.grips.count, w, lane, 0, at + 1.0)
                put(c.grips.load, w, lane, at, -slope * one(c.friction, w, lane, pair))
                put(c.grips.along, w, lane, at, s)
                put(c.grips.across, w, lane, at, t)
                place_grip(c, w, lane, k, kind, weights, n, at, x)
            else:
                put(c.crowded, w, lane, 0, one(c.candidates.count, w, lane, 0))


@ti.func
def place_grip(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, kind: ti.i32, weights: ti.template(), n: ti.template(),
               at: ti.i32, x: ti.template()):
    """Bodies of a grip, its points on their surfaces, and where these are.

    Writes: c.grips
    """
    first, second = places(c, w, lane, k, kind, weights)
    one_body, other = bodies_of(c, w, lane, k)
    r_a = one(c.radius, w, lane, shape_of(c, w, lane, k, 0))
    r_b = one(c.radius, w, lane, shape_of(c, w, lane, k, 2))
    put(c.grips.kind, w, lane, at, 1.0 * kind)
    put(c.grips.flat, w, lane, at, one(c.candidates.flat, w, lane, k))
    for m in range(4):
        put(c.grips.corner, w, lane, 4 * at + m, one(c.candidates.corner, w, lane, 4 * k + m))
    put(c.grips.first, w, lane, at, 1.0 * one_body)
    put(c.grips.second, w, lane, at, 1.0 * other)
    put(c.grips.place_a, w, lane, at, first - turned_back(c, w, lane, x, one_body, n) * r_a)
    put(c.grips.place_b, w, lane, at, second - turned_back(c, w, lane, x, other, n) * r_b)
    delta = grip_difference(c, w, lane, at, x)
    put(c.grips.slip, w, lane, 2 * at, one(c.grips.along, w, lane, at).dot(delta))
    put(c.grips.slip, w, lane, 2 * at + 1, one(c.grips.across, w, lane, at).dot(delta))


@ti.func
def grip_difference(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, x: ti.template()):
    """[m], difference of the two points of a grip at coordinates x."""
    one_body, other = whole_of(c.grips.first, w, lane, g), whole_of(c.grips.second, w, lane, g)
    delta = arm(c, w, lane, one_body, one(c.grips.place_a, w, lane, g), 1.0, x)
    return delta + arm(c, w, lane, other, one(c.grips.place_b, w, lane, g), -1.0, x)


@ti.func
def arm(c: ti.template(), w: ti.i32, lane: ti.i32, body: ti.i32, y: ti.template(), sign: ti.template(), x: ti.template()):
    """[m], sign p + y_1 a_1 + y_2 a_2 + y_3 a_3 of a body; y itself of the world."""
    total = vector(y.parts[0], y.parts[1], y.parts[2])
    if body < c.n_bodies:
        for m in ti.static(range(3)):
            total.parts[m] = (sign * part_of(x, w, lane, body, m) + y.parts[0] * part_of(x, w, lane, body, 3 + m)
                              + y.parts[1] * part_of(x, w, lane, body, 6 + m)
                              + y.parts[2] * part_of(x, w, lane, body, 9 + m))  # fmt: skip
    return total


@ti.func
def slip_of(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, x: ti.template()):
    """[m], slips along both tangents since the step began."""
    delta = grip_difference(c, w, lane, g, x)
    along = one(c.grips.along, w, lane, g).dot(delta) - one(c.grips.slip, w, lane, 2 * g)
    across = one(c.grips.across, w, lane, g).dot(delta) - one(c.grips.slip, w, lane, 2 * g + 1)
    return along, across


@ti.func
def grip_energy(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, x: ti.template()):
    """[J], potential of a grip, and the energy that its friction has taken, force times slip."""
    along, across = slip_of(c, w, lane, g, x)
    slip = ti.sqrt(along * along + across * across)
    potential, over, _slope = smooth_step(slip, c.creep)
    load = one(c.grips.load, w, lane, g)
    return load * potential, load * over * slip * slip


@ti.func
def grip_pieces(c: ti.template(), w: ti.i32, lane: ti.i32, g: ti.i32, x: ti.template()):
    """Gradient and squares of a grip, along the slip and across it.

    Writes: c.notes
    """
    along, across = slip_of(c, w, lane, g, x)
    slip = ti.sqrt(along * along + across * across)
    _potential, over, slope = smooth_step(slip, c.creep)
    load = one(c.grips.load, w, lane, g)
    c.notes.store(w, c.n_pieces, 0.0 * load)
    is_still = slip <= 0.0
    scale = 1.0 / ti.select(is_still, 1.0, slip)
    x_u, y_u = ti.select(is_still, 1.0, along * scale), ti.select(is_still, 0.0, across * scale)
    s, t = one(c.grips.along, w, lane, g), one(c.grips.across, w, lane, g)
    u = s * x_u + t * y_u
    put_grip(c, w, lane, c.gradient, g, u * (load * over * slip))
    put_grip(c, w, lane, new_piece(c, w, load * slope), g, u)
    put_grip(c, w, lane, new_piece(c, w, load * over), g, t * x_u - s * y_u)


@ti.func
def put_grip(c: ti.template(), w: ti.i32, lane: ti.i32, at: ti.i32, g: ti.i32, f: ti.template()):
    """The numbers of both bodies of a force f on the first.

    Writes: c.notes
    """
    none = vector(0.0, 0.0, 0.0)
    put_half(c, w, at, f, one(c.grips.place_a, w, lane, g), f, none, none)
    put_half(c, w, at + 12, f * -1.0, one(c.grips.place_b, w, lane, g), f, none, none)
