"""Two boxes in all worlds of a block at once: the axis that separates them most, or along which they overlap least, and the
faces that look at each other along it.
"""

from simcli.kernels.collision.collider import BOXES
from simcli.kernels.collision.features import box_face
from simcli.kernels.collision.manifold import clipping_face
from simcli.kernels.collision.points import tolerance
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import length, one, sign, way_between, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.values import Vec3

_SMALL = 1e-6  # sine of the angle of two edges that name no axis
_ALONG = 0.999  # cosine of two normals that are one
_OF_B, _EDGES, _OF_SECOND, _OF_THIRD = 3.0, 6.0, 9.0, 12.0  # numbers of axes from which on they are such


@ti.func
def compare_pair(c: ti.template(), w: ti.i32, kind: ti.i32, a: ti.i32, b: ti.i32):
    """Compare two shapes if they are boxes.

    Args:
        kind: the routine of the pair.

    Writes: c.boxes
    """
    if ti.static(c.serves[BOXES]):
        if kind == BOXES:
            compare_boxes(c, w, a, b)


@ti.func
def compare_boxes(c: ti.template(), w: ti.i32, a: ti.i32, b: ti.i32):
    """Largest gap of two boxes over the normals of their faces and the products of their edges, and their faces along it.

        gap(l) = |l . x| - h_a(l) - h_b(l)

    A face is preferred to edges that are no better.

    Writes: c.boxes

    Source: separating axes of oriented boxes (Gottschalk 1996). Deviation: lengths of products of edges are worked out.
    """
    found = c.boxes
    zero = c.arena.zero()
    x = way_between(c, w, None, a, b)
    R_a = one(c.rotation, w, None, a)
    R_b = one(c.rotation, w, None, b)
    half_a = one(c.half, w, None, a) * (zero + 1.0)
    half_b = one(c.half, w, None, b) * (zero + 1.0)
    C = R_a.T * R_b
    tie = tolerance(c, w, None, a, b) + zero
    gap, away, best, faces = widest_gap(C, R_a.transposed_times(x), R_b.transposed_times(x), half_a, half_b, tie)
    others = equal_faces(best, faces, gap - tie if ti.static(c.halves_ties) else gap + tie * 1e9, C)
    n, p, gap, has_point = axis_and_point(best, away, gap, others, R_a, R_b, x, half_a, half_b)
    found.gap.store(w, 0, gap)
    found.normal.store(w, 0, n)
    found.point.store(w, 0, p)
    found.edges.store(w, 0, select(has_point, zero + 1.0, zero))
    out_a = note_face(found, w, 0, R_a, half_a, n, Vec3(zero, zero, zero))
    out_b = note_face(found, w, 1, R_b, half_b, n * -1.0, x)
    found.clips.store(w, 0, clipping_face(out_a.dot(n), out_b.dot(n) * -1.0))


@ti.func
def axis_and_point(
    best: ti.template(),
    away: ti.template(),
    gap: ti.template(),
    others: ti.template(),
    R_a: ti.template(),
    R_b: ti.template(),
    x: ti.template(),
    half_a: ti.template(),
    half_b: ti.template(),
):
    """Normal, point of edges or of a corner that is known, gap, and whether it is known, by the best axis."""
    of_edges = best >= _EDGES
    i, j = axes_of_widest(best)
    u = column_at(R_a, i)
    v = column_at(R_b, j)
    n = select_parts(best >= _OF_B, v, u)
    if any_lane(of_edges):
        across = u.cross(v)
        n = select_parts(of_edges, across * (1.0 / length(across)), n)
    n = n * sign(away)
    p = x * 0.0
    is_between = of_edges & (best < 0.0)
    if any_lane(local(sum(others[1:], others[0]) > 0.0)):
        n, gap, is_between = middle_normal(n, gap, others, R_a, R_b, x, half_a, half_b)
        p = R_a * outermost(half_a, R_a.transposed_times(n))
    if any_lane(of_edges):
        p = select_parts(of_edges, edge_point(R_a, half_a, R_b, half_b, x, n, i, j), p)
    return n, p, gap, of_edges | is_between


def widest_gap(turn, x_a: Vec3, x_b: Vec3, half_a: Vec3, half_b: Vec3, tie) -> tuple:
    """Largest gap over 15 axes: 3 k of a, 3 k of b, then 9 products a_i x b_j, number 6 + 3 j + i.

    Args:
        turn: components of the axes of b, in columns, along those of a.
        x_a, x_b: [m], from a to b, along the axes of each.

    Returns:
        [m], gap; a number with the sign of l . x; number of the axis l; [m], gaps along the first six.
    """
    gap, away, best = local(0.0 * tie - 1e30), local(0.0 * tie + 1.0), local(0.0 * tie)
    faces = []
    for k in range(15):
        found, at, size = gap_along(k, turn, x_a, x_b, half_a, half_b)
        if k < _EDGES:
            faces.append(found)
        better = found > gap + tie if k else found > gap
        if k >= _EDGES:
            better = better & (size > _SMALL)
        better = local(better)
        gap, away = select(better, found, gap), select(better, at, away)
        best = select(better, 0.0 * tie + float(k), best)
    return gap, away, best, faces


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
    reach = ti.abs(C[v][j]) * a[u] + ti.abs(C[u][j]) * a[v] + ti.abs(C[i][n]) * b[m] + ti.abs(C[i][m]) * b[n]
    size = local(ti.sqrt(C[u][j] * C[u][j] + C[v][j] * C[v][j]))
    return local((ti.abs(at) - reach) / ti.max(size, _SMALL)), at, size


def axes_of_widest(best) -> tuple:
    """Axis of a and axis of b that make an axis of `widest_gap`; of a normal of a face that of its box counts."""
    one = local(best * 0.0 + 1.0)
    row = local(select(best >= _OF_SECOND, one, one * 0.0) + select(best >= _OF_THIRD, one, one * 0.0))
    of_edges = local(best >= _EDGES)
    return select(of_edges, best - _EDGES - row * 3.0, best), select(of_edges, row, best - _OF_B)


def column_at(R, k) -> Vec3:
    """Column k, worked out on the device, of a matrix."""
    rows = (R.parts[0:3], R.parts[3:6], R.parts[6:9])
    return Vec3(*(ti.select(k == 0.0, x, ti.select(k == 1.0, y, z)) for x, y, z in rows))


def equal_faces(best, faces: list, least, turn) -> list:
    """1 for each normal of a face that separates two boxes as far as the best axis, a face's; of parallel ones for one.

    Args:
        best: number of the best axis.
        faces, turn: as of `widest_gap`.
        least: [m], gap that is as far.
    """
    one = local(best * 0.0 + 1.0)
    others = []
    for k in range(6):
        along = one * 0.0
        for j in range(3):  # axis j of the other box
            cosine = turn.parts[3 * k + j] if k < 3 else turn.parts[3 * j + k - 3]
            is_counted = best == float(j + 3 if k < 3 else j)
            if k >= 3:
                is_counted = is_counted | (others[j] > 0.0)
            along = ti.max(along, ti.select(is_counted, ti.abs(cosine), along))
        along = local(ti.select(best == float(k), one, along))
        is_one = (faces[k] >= least) & (best < _EDGES) & (along < _ALONG)
        others.append(local(ti.select(is_one, one, one * 0.0)))
    return others


@ti.func
def middle_normal(
    n: ti.template(),
    gap: ti.template(),
    others: ti.template(),
    R_a: ti.template(),
    R_b: ti.template(),
    x: ti.template(),
    half_a: ti.template(),
    half_b: ti.template(),
):
    """Normal in the middle of those of faces that separate equally, as where two edges meet, the gap along it, and where so.

    Which of them rounding prefers would decide where the boxes go.
    """
    zero = gap * 0.0
    middle = n * 1.0
    for k in ti.static(range(6)):
        axis = R_a.column(k) if ti.static(k < 3) else R_b.column(k - 3)
        middle = middle + axis * (others[k] * sign(axis.dot(x)))
    size = length(middle)
    is_tied = size > 1.0 + _SMALL
    middle = middle * (1.0 / ti.max(size, _SMALL))
    reach = zero
    for k in ti.static(range(3)):
        reach += ti.abs(R_a.column(k).dot(middle)) * half_a.parts[k] + ti.abs(R_b.column(k).dot(middle)) * half_b.parts[k]
    return select_parts(is_tied, middle, n), select(is_tied, ti.abs(middle.dot(x)) - reach, gap), is_tied


def outermost(half: Vec3, y: Vec3) -> Vec3:
    """[m], corner of a box that is outermost along y, in its axes."""
    return Vec3(*(sign(y.parts[k]) * half.parts[k] for k in range(3)))


@ti.func
def edge_point(
    R_a: ti.template(),
    half_a: ti.template(),
    R_b: ti.template(),
    half_b: ti.template(),
    x: ti.template(),
    n: ti.template(),
    i: ti.template(),
    j: ti.template(),
):
    """[m], point of the edge of a along its axis i, outermost along n, that is nearest to the edge of b along j."""
    u = column_at(R_a, i)
    v = column_at(R_b, j)
    p = edge_middle(R_a, half_a, n, i)
    q = x + edge_middle(R_b, half_b, n * -1.0, j)
    turn = u.cross(v)
    s = (q - p).cross(v).dot(turn) / ti.max(turn.dot(turn), _SMALL * _SMALL)
    limit = ti.select(i == 0.0, half_a.parts[0], ti.select(i == 1.0, half_a.parts[1], half_a.parts[2]))
    return p + u * ti.min(ti.max(s, -limit), limit)


def edge_middle(R, half: Vec3, n: Vec3, i) -> Vec3:
    """[m], middle of the edge along axis i that is outermost along n."""
    y = R.transposed_times(n)
    return R * Vec3(*(ti.select(i == float(k), 0.0 * half.parts[k], sign(y.parts[k]) * half.parts[k]) for k in range(3)))


def note_face(found, w, side: int, R, half: Vec3, d: Vec3, shift: Vec3) -> Vec3:
    """Note the face of a box that faces d; gives its normal.

    Args:
        side: 0 of a, 1 of b.
        shift: [m], added to all corners.

    Writes: c.boxes.{number, outward, corner}
    """
    number, normal, corners = box_face(half, R.transposed_times(d))
    for k, corner in enumerate(corners):
        found.corner.store(w, 4 * side + k, R * corner + shift)
    outward = R * normal
    found.outward.store(w, side, outward)
    found.number.store(w, side, number)
    return outward


def separation_of_boxes(c, w, lane):
    """Of the boxes at hand in one world: gap, normal, the point of an edge, and whether that counts."""
    found = c.boxes
    return (
        one(found.gap, w, lane, 0),
        one(found.normal, w, lane, 0),
        one(found.point, w, lane, 0),
        whole_of(found.edges, w, lane, 0),
    )
