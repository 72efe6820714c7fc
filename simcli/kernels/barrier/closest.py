"""Nearest points of two features, as weights of their corners, and the ways in which these points can slide.

A stencil is up to four corners x_0 .. x_3: those of the first feature, then those of the second. Its difference is

    delta = sum_k c_k x_k = d n,   the c_k of the first feature sum to 1, those of the second to -1

The corners of candidates are taken in the world and in their bodies.

Source: Li et al. 2020 (IPC) for the kinds of stencils. Deviation: degenerate kinds are weights that are zero.
"""

from simcli.kernels.collision.collider import first_of, radius_in
from simcli.kernels.collision.gjk import nearest_weights
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import TINY, across, length, one, vector, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.expressions import get_lane
from simcli.kernels.language.values import Value, Vec3

POINT_PLANE, POINT_POINT, POINT_EDGE, POINT_TRIANGLE, EDGE_EDGE = range(5)  # kinds of stencils
PARALLEL_SINE = {"float64": 1e-14, "float32": 1e-6}  # square of the sine of edges whose nearest points are not unique


class Four(Value):
    """One number per corner of a stencil."""

    width = 4


def blend(weights: Four, corners: tuple) -> Vec3:
    """The sum of weighted corners."""
    total = corners[0] * weights.parts[0]
    for weight, corner in zip(weights.parts[1:], corners[1:], strict=True):
        total = total + corner * weight
    return total


@ti.func
def weigh(kind: ti.i32, a: ti.template(), b: ti.template(), d: ti.template(), e: ti.template()):
    """Weights of the corners in the difference of the nearest points; exactly 0 where a corner has no part.

    Args:
        kind: of the stencil; of a half space b is the foot of a.
        a, b, d, e: [m], corners.
    """
    c = Four(1.0, -1.0, 0.0, 0.0)
    if kind == EDGE_EDGE:
        c = weigh_edges(a, b, d, e)
    elif kind >= POINT_EDGE:
        part = nearest_weights(b - a, d - a, e - a)
        if kind == POINT_EDGE:
            c = Four(1.0, -part.parts[0], -part.parts[1] - part.parts[2], 0.0)
        else:
            c = Four(1.0, -part.parts[0], -part.parts[1], -part.parts[2])
    return c


@ti.func
def weigh_edges(a: ti.template(), b: ti.template(), d: ti.template(), e: ti.template()):
    """Weights of the ends of two segments ab and de.

    Source: Ericson 2005, section 5.1.9. No deviation.
    """
    u, v, r = b - a, e - d, a - d
    uu, vv, uv, ur, vr = u.dot(u), v.dot(v), u.dot(v), u.dot(r), v.dot(r)
    area = uu * vv - uv * uv
    s = 0.0 * uu
    if area > ti.static(PARALLEL_SINE[precision_of()]) * uu * vv:
        s = ti.min(ti.max((uv * vr - ur * vv) / area, 0.0), 1.0)
    t = (uv * s + vr) / vv
    if t <= 0.0:
        t = 0.0 * t
        s = ti.min(ti.max(-ur / uu, 0.0), 1.0)
    elif t >= 1.0:
        t = 0.0 * t + 1.0
        s = ti.min(ti.max((uv - ur) / uu, 0.0), 1.0)
    return Four(1.0 - s, s, t - 1.0, -t)


@ti.func
def _freedom(kind: ti.i32, c: ti.template()):
    """How the weights change as the nearest points slide: up to two independent ways.

    Returns:
        Number of ways; changes of the weights along the first and the second.
    """
    first = Four(0.0, 0.0, 0.0, 0.0)
    second = Four(0.0, 0.0, 0.0, 0.0)
    count = 0
    if kind == EDGE_EDGE:
        if c.parts[0] != 0.0 and c.parts[1] != 0.0:
            count = 1
            first = Four(-1.0, 1.0, 0.0, 0.0)
        if c.parts[2] != 0.0 and c.parts[3] != 0.0:
            if count == 0:
                first = Four(0.0, 0.0, 1.0, -1.0)
            else:
                second = Four(0.0, 0.0, 1.0, -1.0)
            count += 1
    elif c.parts[1] == 0.0:
        if c.parts[2] != 0.0 and c.parts[3] != 0.0:
            count = 1
            first = Four(0.0, 0.0, 1.0, -1.0)
    elif c.parts[2] != 0.0:
        count = 1
        first = Four(0.0, 1.0, -1.0, 0.0)
        if c.parts[3] != 0.0:
            count = 2
            second = Four(0.0, 1.0, 0.0, -1.0)
    elif c.parts[3] != 0.0:
        count = 1
        first = Four(0.0, 1.0, 0.0, -1.0)
    return count, first, second


@ti.func
def slide(
    kind: ti.i32, c: ti.template(), n: ti.template(), a: ti.template(), b: ti.template(), d: ti.template(), e: ti.template()
):
    """Two directions across the normal, and the change of the weights as the nearest points slide along them by unit length.

    Returns:
        Number of ways; unit vectors t_1, t_2 across n; changes of the weights [1/m], 0 where the points are held.
    """
    count, first, second = _freedom(kind, c)
    s = across(n)
    if count > 0:
        along = blend(first, (a, b, d, e))
        size = length(along)
        s = along * (1.0 / size)
        first = first * (1.0 / size)
    t = n.cross(s)
    if count > 1:
        along = blend(second, (a, b, d, e))
        part = along.dot(s)
        along = along - s * part
        size = length(along)
        if size * size > ti.static(PARALLEL_SINE[precision_of()]) * (size * size + part * part):
            t = along * (1.0 / size)
            second = (second - first * part) * (1.0 / size)
        else:
            count = 1
            second = second * 0.0
    return count, s, t, first, second


@ti.func
def direction(delta: ti.template()):
    """Length of a difference and the unit vector along it; x of one that is zero."""
    d = length(delta)
    return d, delta * (1.0 / ti.max(d, ti.static(TINY[precision_of()])))


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
            total.parts[m] = (
                sign * _part_of(x, w, lane, body, m)
                + y.parts[0] * _part_of(x, w, lane, body, 3 + m)
                + y.parts[1] * _part_of(x, w, lane, body, 6 + m)
                + y.parts[2] * _part_of(x, w, lane, body, 9 + m)
            )
    return total
