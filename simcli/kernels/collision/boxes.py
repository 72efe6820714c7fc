"""Two boxes: the axis that separates them most, or along which they overlap least."""

from simcli.kernels.algebra.values import Vec3
from simcli.kernels.collision.lanes import length, one, sign, vector
from simcli.kernels.collision.points import tolerance
from simcli.kernels.language import ti

_SMALL = 1e-6  # sine of the angle of two edges that name no axis


@ti.func
def reach_of(R: ti.template(), half: ti.template(), axis: ti.template()):
    """[m], half extent of a box along a unit axis."""
    y = R.transposed_times(axis)
    return (ti.abs(y.parts[0]) * half.parts[0] + ti.abs(y.parts[1]) * half.parts[1] + ti.abs(y.parts[2]) * half.parts[2])


def _column_of(R, k) -> Vec3:
    """Column k, computed on the device, of a matrix."""
    return Vec3(*(ti.select(k == 0, x, ti.select(k == 1, y, z)) for x, y, z in (R.parts[0:3], R.parts[3:6], R.parts[6:9])))


@ti.func
def separate_boxes(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32):
    """Largest gap of two boxes over the normals of their faces and the products of their edges.

        gap(l) = |l . x| - h_a(l) - h_b(l)

    A face is preferred to edges that are no better.

    Returns:
        [m], gap; normal from a to b; [m], the point on a from its origin where two edges are nearest to each other;
        1 if there is such a point.

    Source: separating axes of oriented boxes (Gottschalk 1996). No deviation.
    """
    x = one(c.position, w, lane, b) - one(c.position, w, lane, a)
    R_a = one(c.rotation, w, lane, a)
    R_b = one(c.rotation, w, lane, b)
    half_a = one(c.half, w, lane, a)
    half_b = one(c.half, w, lane, b)
    tie = tolerance(c, w, lane, a, b)
    gap = -1e30 + 0.0 * tie
    n = vector(0.0, 0.0, 1.0)
    best = 0
    for k in range(15):
        axis = _column_of(R_a, k % 3)
        if k >= 3 and k < 6:
            axis = _column_of(R_b, k - 3)
        elif k >= 6:
            axis = axis.cross(_column_of(R_b, (k - 6) // 3))
        size = length(axis)
        if size > _SMALL:
            axis = axis * (1.0 / size)
            away = axis.dot(x)
            found = ti.abs(away) - reach_of(R_a, half_a, axis) - reach_of(R_b, half_b, axis)
            if found > gap + ti.select(k == 0, 0.0, tie):
                gap = found
                n = axis * sign(away)
                best = k
    p = vector()
    if best >= 6:
        p = edge_point(R_a, half_a, R_b, half_b, x, n, best % 3, (best - 6) // 3)
    return gap, n, p, ti.select(best >= 6, 1, 0)


@ti.func
def edge_point(R_a: ti.template(), half_a: ti.template(), R_b: ti.template(), half_b: ti.template(), x: ti.template(),
               n: ti.template(), i: ti.i32, j: ti.i32):
    """[m], point of the edge of a along its axis i, outermost along n, that is nearest to the edge of b along j."""
    u = _column_of(R_a, i)
    v = _column_of(R_b, j)
    p = edge_middle(R_a, half_a, n, i)
    q = x + edge_middle(R_b, half_b, n * -1.0, j)
    uv = u.dot(v)
    s = (u.dot(q - p) - uv * v.dot(q - p)) / (1.0 - uv * uv)
    limit = ti.select(i == 0, half_a.parts[0], ti.select(i == 1, half_a.parts[1], half_a.parts[2]))
    return p + u * ti.min(ti.max(s, -limit), limit)


@ti.func
def edge_middle(R: ti.template(), half: ti.template(), n: ti.template(), i: ti.i32):
    """[m], middle of the edge along axis i that is outermost along n."""
    y = R.transposed_times(n)
    p = vector()
    for k in ti.static(range(3)):
        p.parts[k] = ti.select(i == k, 0.0, sign(y.parts[k]) * half.parts[k])
    return R * p
