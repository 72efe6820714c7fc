"""Nearest points of two features, as weights of their corners, and the ways in which these points can slide.

A stencil is up to four corners x_0 .. x_3: those of the first feature, then those of the second. Its difference is

    delta = sum_k c_k x_k = d n,   the c_k of the first feature sum to 1, those of the second to -1

Source: Li et al. 2020 (IPC) for the kinds of stencils. Deviation: degenerate kinds are weights that are zero.
"""

from simcli.kernels.algebra.elementary import precision_of
from simcli.kernels.algebra.values import Value, Vec3
from simcli.kernels.collision.convex.simplex import nearest_weights
from simcli.kernels.collision.lanes import TINY, across, length
from simcli.kernels.language import ti

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
def slide(kind: ti.i32, c: ti.template(), n: ti.template(), a: ti.template(), b: ti.template(), d: ti.template(),
          e: ti.template()):
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
