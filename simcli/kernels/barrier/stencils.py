"""The corners of candidates, in the world and in their bodies."""

from simcli.kernels.algebra.values import Vec3
from simcli.kernels.barrier.closest import EDGE_EDGE, POINT_PLANE
from simcli.kernels.collision.lanes import one, vector, whole_of
from simcli.kernels.collision.rule import first_of, radius_in
from simcli.kernels.language import ti
from simcli.kernels.language.vectors import get_lane
from simcli.kernels.memory.arena import local


def at_corners(column, c, w, lane, k, weights=(1.0, 1.0, 1.0, 1.0)):
    """What a column of vertices holds for the corners of a candidate, by the weights of these (inside kernels)."""
    return tuple(one(column, w, lane, whole_of(c.candidates.corner, w, lane, 4 * k + m)) * weights[m] for m in range(4))


@ti.func
def corners(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """Kind, combination and corners of a candidate; of a half space all others are the foot of the first.

    Returns:
        Kind; row of the numbers of both shapes; [m], four places.
    """
    kind = whole_of(c.candidates.kind, w, lane, k)
    combination = whole_of(c.candidates.combination, w, lane, k)
    a, b, d, e = at_corners(c.at, c, w, lane, k)
    if kind == POINT_PLANE:
        n = one(c.normal, w, lane, shape_of(c, w, lane, k, 1))
        b = a - n * n.dot(a - b)
        d = b
        e = b
    return kind, combination, a, b, d, e


@ti.func
def ways(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, kind: ti.i32):
    """[m], how the corners of a candidate move in the step at hand."""
    a, b, d, e = at_corners(c.move, c, w, lane, k)
    if kind == POINT_PLANE:
        n = one(c.normal, w, lane, shape_of(c, w, lane, k, 1))
        b = a - n * n.dot(a)
        d = b
        e = b
    return a, b, d, e


@ti.func
def bodies_of(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """Bodies of the first and of the second feature of a candidate; n_bodies is the world."""
    first = c.vertex_body.at(whole_of(c.candidates.corner, w, lane, 4 * k))
    second = c.vertex_body.at(whole_of(c.candidates.corner, w, lane, 4 * k + 2))
    return first, second


@ti.func
def places(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, kind: ti.i32, weights: ti.template()):
    """Sums of the weighted corners of each feature, in the links: for weights that sum to 1, a point of the body.

    Returns:
        [m], of the first feature and of the second.
    """
    y_0, y_1, y_2, y_3 = at_corners(c.vertex, c, w, lane, k, weights.parts)
    first = y_0
    second = y_1 + y_2 + y_3
    if kind == EDGE_EDGE:
        first = y_0 + y_1
        second = y_2 + y_3
    return first, second


@ti.func
def thickness(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """[m], radii of the shapes of a candidate about their cores."""
    return radius_at(c, w, lane, k, 0) + radius_at(c, w, lane, k, 2)


@ti.func
def radius_at(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, corner: ti.i32):
    """[m], radius about its core of the shape of a corner of a candidate."""
    return radius_in(c, w, lane, shape_of(c, w, lane, k, corner), whole_of(c.candidates.combination, w, lane, k))


@ti.func
def shape_of(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, corner: ti.i32):
    """Shape of a corner of a candidate."""
    return c.vertex_shape.at(whole_of(c.candidates.corner, w, lane, 4 * k + corner))


@ti.func
def shapes_of(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """Shapes a and b of a candidate, whichever of them has its first feature."""
    one_shape, other = shape_of(c, w, lane, k, 0), shape_of(c, w, lane, k, 2)
    a = first_of(c.rule, ti.min(one_shape, other), ti.max(one_shape, other))
    return a, one_shape + other - a


def _part_of(x, w, lane, body, k):
    """Number k of the twelve of a body in one world."""
    return local(get_lane(x.part(w, 12 * body + k, 0), lane))


def _column_of(x, w, lane, body, k) -> Vec3:
    """Vector a_k of a body in one world."""
    return Vec3(*(_part_of(x, w, lane, body, 3 + 3 * k + m) for m in range(3)))


@ti.func
def turned_back(c: ti.template(), w: ti.i32, lane: ti.i32, x: ti.template(), body: ti.i32, n: ti.template()):
    """A unit vector of the world in the axes of a body's link.

    Args:
        x: (12 B) coordinates; the vectors of a body are nearly orthonormal.
    """
    y = vector(n.parts[0], n.parts[1], n.parts[2])
    if body < c.n_bodies:
        for k in ti.static(range(3)):
            y.parts[k] = _column_of(x, w, lane, body, k).dot(n)
    return y


@ti.func
def turned_out(c: ti.template(), w: ti.i32, lane: ti.i32, x: ti.template(), body: ti.i32, y: ti.template()):
    """A vector along the axes of a body's link, in the world; x as of `turned_back`."""
    v = vector(y.parts[0], y.parts[1], y.parts[2])
    if body < c.n_bodies:
        v = v * 0.0
        for k in ti.static(range(3)):
            v = v + _column_of(x, w, lane, body, k) * y.parts[k]
    return v


@ti.func
def arm(c: ti.template(), w: ti.i32, lane: ti.i32, body: ti.i32, y: ti.template(), sign: ti.template(), x: ti.template()):
    """[m], sign p + y_1 a_1 + y_2 a_2 + y_3 a_3 of a body; y itself of the world."""
    total = vector(y.parts[0], y.parts[1], y.parts[2])
    if body < c.n_bodies:
        for m in ti.static(range(3)):
            total.parts[m] = (sign * _part_of(x, w, lane, body, m) + y.parts[0] * _part_of(x, w, lane, body, 3 + m)
                              + y.parts[1] * _part_of(x, w, lane, body, 6 + m)
                              + y.parts[2] * _part_of(x, w, lane, body, 9 + m))  # fmt: skip
    return total
