"""Two boxes: the axis that separates them most, or along which they overlap least."""

from simcli.kernels.algebra.values import Vec3
from simcli.kernels.collision.lanes import length, one, sign, vector
from simcli.kernels.collision.points import tolerance
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local

_SMALL = 1e-6  # sine of the angle of two edges that name no axis


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

    Source: separating axes of oriented boxes (Gottschalk 1996). Deviation: lengths of products of edges are worked out.
    """
    x = one(c.position, w, lane, b) - one(c.position, w, lane, a)
    R_a = one(c.rotation, w, lane, a)
    R_b = one(c.rotation, w, lane, b)
    half_a = one(c.half, w, lane, a)
    half_b = one(c.half, w, lane, b)
    tie = tolerance(c, w, lane, a, b)
    gap, away, best = widest_gap(R_a.T * R_b, R_a.transposed_times(x), R_b.transposed_times(x), half_a, half_b, tie)
    n = _column_of(R_a, best % 3)
    p = vector()
    if best >= 3 and best < 6:
        n = _column_of(R_b, best - 3)
    elif best >= 6:
        n = n.cross(_column_of(R_b, (best - 6) // 3))
        n = n * (1.0 / length(n))
    n = n * sign(away)
    if best >= 6:
        p = edge_point(R_a, half_a, R_b, half_b, x, n, best % 3, (best - 6) // 3)
    return gap, n, p, ti.select(best >= 6, 1, 0)


@ti.func
def widest_gap(turn: ti.template(), x_a: ti.template(), x_b: ti.template(), half_a: ti.template(), half_b: ti.template(),
               tie: ti.template()):
    """Largest gap over 15 axes: 3 k of a, 3 k of b, then 9 products a_i x b_j, number 6 + 3 j + i.

    Args:
        turn: components of the axes of b, in columns, along those of a.
        x_a, x_b: [m], from a to b, along the axes of each.

    Returns:
        [m], gap; a number with the sign of l . x; number of the axis l.
    """
    gap = -1e30 + 0.0 * tie
    away = 1.0 + 0.0 * tie
    best = 0
    for k in ti.static(range(15)):
        found, at, size = gap_along(k, turn, x_a, x_b, half_a, half_b)
        if size > _SMALL and found > gap + (0.0 if k == 0 else tie):
            gap = found
            away = at
            best = k
    return gap, away, best


def gap_along(k: int, turn, x_a: Vec3, x_b: Vec3, half_a: Vec3, half_b: Vec3) -> tuple:
    """Gap along axis k of `widest_gap`, where l . x is, and the length of what makes the axis a unit vector.

    Of a_i x b_j the components are -C_(i+2)j and C_(i+1)j along axes of a, C_i(j+2) and -C_i(j+1) along those of b.
    """
    C, a, b = [turn.parts[m : m + 3] for m in (0, 3, 6)], half_a.parts, half_b.parts
    if k < 3:
        reach = a[k] + ti.abs(C[k][0]) * b[0] + ti.abs(C[k][1]) * b[1] + ti.abs(C[k][2]) * b[2]
        return local(ti.abs(x_a.parts[k]) - reach), x_a.parts[k], 1.0
    if k < 6:
        j = k - 3
        reach = b[j] + ti.abs(C[0][j]) * a[0] + ti.abs(C[1][j]) * a[1] + ti.abs(C[2][j]) * a[2]
        return local(ti.abs(x_b.parts[j]) - reach), x_b.parts[j], 1.0
    i, j = k % 3, (k - 6) // 3
    u, v, m, n = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
    at = local(C[u][j] * x_a.parts[v] - C[v][j] * x_a.parts[u])
    reach = (ti.abs(C[v][j]) * a[u] + ti.abs(C[u][j]) * a[v] + ti.abs(C[i][n]) * b[m] + ti.abs(C[i][m]) * b[n])
    size = local(ti.sqrt(C[u][j] * C[u][j] + C[v][j] * C[v][j]))
    return local((ti.abs(at) - reach) / ti.max(size, _SMALL)), at, size


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
