"""Lines along which two shapes touch: edges, sides of cylinders and cones, axes of capsules."""

from simcli.kernels.collision.collider import BOX, CAPSULE, CELL, CONE, CYLINDER, MESH, RING
from simcli.kernels.collision.features import barrel_feature, put_corner, ring_at
from simcli.kernels.collision.gjk import TOUCH, difference
from simcli.kernels.device.lanes import farthest_along, length, one, sign, unit_or, vector, way_between
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.values import Vec3

_PARALLEL = 0.05  # sine of the angle below which two lines touch in two points
_SAME = {"float64": 1e-6, "float32": 1e-4}  # [1], sine of the angle below which the lines have no other common normal
_APART = {"float64": 1e5, "float32": 1e3}  # [1] of ties: distance of two lines from which on it has a direction
# [1], square of the sine of the angle between the plane of a cone's side and the normal that iteration has found: of cores
# that are apart, of others, which are nearer or prisms of terrain, much larger than what touches them.
_CLOSE, _CLOSE_WITHIN = {"float64": 1e-11, "float32": 1e-6}, 1e-4
_FAR = 1e4  # [1] of what counts as touching
_BLUR = 10.0  # [1] of ties, of gaps along a normal
STEEPEST = 1e3  # [1], slope of a wall beside an edge


@ti.func
def line_pair(
    c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, n: ti.template(), gap: ti.template(), tie: ti.template()
):
    """Make polygons 0 and 1 the lines of a and b that face each other, if these are parallel.

    Where shapes are curved the normal is good to the square root of what bounds its iteration: that of two parallel lines is
    made of the directions of their axes, which are known.

    Returns:
        1 if they are parallel; the normal n; normal of the plane that clips; numbers of both lines; how fast the shapes
        part beside the line of a.

    Writes: c.notes
    """
    shift = way_between(c, w, lane, a, b)
    is_apart = gap > ti.static(_FAR * TOUCH[precision_of()]) * (one(c.bound, w, lane, a) + one(c.bound, w, lane, b))
    close = ti.select(is_apart and c.kind.at(a) != CELL, ti.static(_CLOSE[precision_of()]), _CLOSE_WITHIN)
    normal = n * 1.0
    inward = vector()
    outward = vector()
    found, k, m = 0, 0, 0
    slope = 0.0 * gap
    for turn in range(ti.select(c.kind.at(a) == CONE or c.kind.at(b) == CONE, 2, 1)):
        if ti.static(c.has[CONE]):
            if turn == 1 and found == 2:
                normal = _in_plane_of_cone(c, w, lane, a, b, n, shift, close)
        found = 0
        for side in range(2):
            d = normal * ti.select(side == 0, 1.0, -1.0)
            is_one, number, way, rise = put_line_of(c, w, lane, ti.select(side == 0, a, b), d, side, shift * side)
            found += is_one
            if side == 0:
                inward, k, slope = way, number, rise
            else:
                outward, m, slope = way, number, ti.min(slope, rise)
    is_line = 0
    N = normal * 1.0
    if found == 2:
        is_line, normal, N = _common_normal(c, w, lane, a, b, n, normal, inward, outward, gap, tie)
    return is_line, normal, N, k, m, slope


@ti.func
def _common_normal(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    a: ti.i32,
    b: ti.i32,
    n: ti.template(),
    near: ti.template(),
    inward: ti.template(),
    outward: ti.template(),
    gap: ti.template(),
    tie: ti.template(),
):
    """The normal of the lines of a and b, if they are parallel.

    That of their axes is taken if all of a and of b lies beyond the lines along it: then the distance of cores that are
    apart is that of the lines. What was found for those is the distance of two points, which may be too large.

    Args:
        n, near: as iteration has found it; and what the lines face.
        inward, outward: [m], from the lines to the axes of what is round.

    Returns:
        As of `line_pair`.

    Writes: c.notes
    """
    p, u = _line(c, w, 0)
    q, v = _line(c, w, 1)
    turn = u.cross(v)
    is_line = 0
    normal = n * 1.0
    N = n * 1.0
    are_lines = u.dot(u) > 0.0 and v.dot(v) > 0.0
    if are_lines and turn.dot(turn) <= _PARALLEL * _PARALLEL and ti.abs(u.dot(near)) <= _PARALLEL:
        is_line = 1
        N = unit_or(near - u * u.dot(near), near)
        way = q + outward - p - inward
        way = way - u * u.dot(way)
        size = length(way)
        is_apart = size > ti.static(_APART[precision_of()]) * tie and way.dot(N) > 0.0
        if is_apart and turn.dot(turn) <= ti.static(_SAME[precision_of()]) ** 2:
            best = way * (1.0 / size)
            high = size - length(inward) - length(outward)
            blur = _BLUR * tie + length(turn) * one(c.bound, w, lane, b)  # and what their ends differ by
            if (gap > 0.0 or high >= gap - blur) and _separates(c, w, lane, a, b, best, high - blur):
                N = best * 1.0
                normal = best * 1.0
                _roll(c, w, 0, inward + N * length(inward))
                _roll(c, w, 1, outward - N * length(outward))
    return is_line, normal, N


def _line(c, w, side):
    """First corner of the line of a polygon [m], and the unit vector along it; zero of a point."""
    p, q = (c.notes.value(w, ring_at(c, side) + k * RING, Vec3) for k in range(2))
    return p, unit_or(q - p, vector())


@ti.func
def _separates(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, n: ti.template(), least: ti.template()):
    """Whether the cores of a and b are apart by a least gap along n."""
    far, _point = difference(c, w, lane, a, b, n)
    return -n.dot(far) >= least


@ti.func
def _in_plane_of_cone(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    a: ti.i32,
    b: ti.i32,
    n: ti.template(),
    shift: ti.template(),
    close: ti.template(),
):
    """The normal n in the plane of a cone's axis and of what lies along its side, if it is that but for its iteration.

    A cone's line turns with the normal: an error of this would be one of the line's direction.

    Reads: c.notes
    """
    i = ti.select(c.kind.at(a) == CONE, a, b)
    j = a + b - i
    axis = one(c.rotation, w, lane, i).column(2)
    side = ti.select(i == a, 1, 0)
    along = c.notes.value(w, ring_at(c, side) + RING, Vec3) - c.notes.value(w, ring_at(c, side), Vec3)
    if c.kind.at(j) == CONE:
        along = one(c.rotation, w, lane, j).column(2)
        if length(axis.cross(along)) < _PARALLEL:
            along = shift * 1.0
    across = unit_or(axis.cross(along), vector())
    found = n * 1.0
    if across.dot(n) ** 2 < close:
        found = unit_or(n - across * across.dot(n), n)
    return found


@ti.func
def _roll(c: ti.template(), w: ti.i32, side: ti.i32, way: ti.template()):
    """Move the line of a polygon.

    Writes: c.notes
    """
    for k in range(2):
        at = ring_at(c, side) + k * RING
        c.notes.store(w, at, c.notes.value(w, at, Vec3) + way)


@ti.func
def put_line_of(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, d: ti.template(), side: ti.i32, shift: ti.template()):
    """Make a polygon, which has the feature of shape i that faces d, the line of it: that, or the edge that faces d.

    Returns:
        1 if there is one; its number in the shape; [m], from it to the axis about which the shape is round, world axes;
        slope beside it from the plane across d: how fast what touches it comes clear of the shape.

    Writes: c.notes
    """
    R = one(c.rotation, w, lane, i)
    is_edge, number, inward, cosine = _put_local_line(c, w, lane, i, R.transposed_times(d), side)
    found = ti.select(c.kind.at(i) == CAPSULE, 1, is_edge)
    if is_edge == 1:
        c.notes.store(w, c.counts + side, ti.cast(2.0, c.arena.device.real))
        for k in range(2):
            at = ring_at(c, side) + k * RING
            c.notes.store(w, at, R * c.notes.value(w, at, Vec3) + shift)
    slope = ti.min(ti.sqrt(ti.max(1.0 - cosine * cosine, 0.0)) / ti.max(cosine, 1.0 / STEEPEST), STEEPEST)
    return found, number, R * inward, slope


@ti.func
def _put_local_line(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, y: ti.template(), side: ti.i32):
    """As `put_line_of`, in shape axes, of what is no capsule: whether, number, way to the axis, cosine of faces to y.

    Writes: c.notes
    """
    kind = c.kind.at(i)
    is_edge = 0
    number = 0
    inward = vector()
    cosine = 1.0 + 0.0 * y.parts[0]
    if ti.static(c.has[CYLINDER] or c.has[CONE]):
        if kind == CYLINDER or kind == CONE:
            count, number, _normal = barrel_feature(c, w, one(c.half, w, lane, i), y, side, kind)
            is_edge = ti.select(count == 2, 1, 0)
            inward = _to_axis(one(c.half, w, lane, i), y, ti.select(kind == CONE, 1, 0))
    if ti.static(c.has[BOX]):
        if kind == BOX:
            is_edge = 1
            number, cosine = _put_box_edge(c, w, one(c.half, w, lane, i), y, side)
    if ti.static(c.has[MESH]):
        if kind == MESH:
            is_edge = 1
            number, cosine = _put_hull_edge(c, w, i, y, side)
    if ti.static(c.has[CELL]):
        if kind == CELL:
            is_edge = 1
            number, cosine = _put_cell_edge(c, w, y, side)
    return is_edge, number, inward, cosine


@ti.func
def _to_axis(half: ti.template(), y: ti.template(), is_cone: ti.i32):
    """[m], from the line of the side of a cylinder or cone that faces y to its axis, or to the parallel through the middle
    of the cone's base, shape axes.
    """
    r = half.parts[0]
    out = unit_or(Vec3(y.parts[0], y.parts[1], 0.0), vector(1.0, 0.0, 0.0))
    inward = out * -r
    if is_cone == 1:
        rise = 2.0 * half.parts[2]
        size = r * r + rise * rise
        inward = (out * rise + vector(0.0, 0.0, 1.0) * r) * (-r * rise / size)
    return inward


@ti.func
def _put_box_edge(c: ti.template(), w: ti.i32, half: ti.template(), y: ti.template(), side: ti.i32):
    """Note the edge of a box that faces y, along the axis that is most across y: its number, cosine of its faces to y."""
    sizes = Vec3(ti.abs(y.parts[0]), ti.abs(y.parts[1]), ti.abs(y.parts[2]))
    k = 0
    least = sizes.parts[0] * 1.0
    most = sizes.parts[0] * 1.0
    for m in ti.static(range(1, 3)):
        most = ti.max(most, sizes.parts[m])
        if sizes.parts[m] < least:
            least = sizes.parts[m]
            k = m
    number = 4 * k
    p = vector()
    q = vector()
    for m in ti.static(range(3)):
        high = sign(y.parts[m]) * half.parts[m]
        number += ti.select(m != k and high > 0.0, ti.select(m == (k + 1) % 3, 1, 2), 0)
        p.parts[m] = ti.select(m == k, -half.parts[m], high)
        q.parts[m] = ti.select(m == k, half.parts[m], high)
    put_corner(c, w, side, 0, p)
    put_corner(c, w, side, 1, q)
    return number, most


@ti.func
def _put_hull_edge(c: ti.template(), w: ti.i32, i: ti.i32, y: ti.template(), side: ti.i32):
    """Note the edge of a hull that faces y: of those that meet in its farthest corner the one that is most across y."""
    first = c.corner_start.at(i)
    best = farthest_along(c.corner, w, first, c.corner_start.at(i + 1), y) - first
    p = c.corner.load(w, first + best) * 1.0
    q = p * 1.0
    number = 0
    fall = -2.0 + 0.0 * p.dot(y)
    cosine = -1.0 + 0.0 * p.dot(y)
    for f in range(c.face_start.at(i), c.face_start.at(i + 1)):
        start = c.ring_start.at(f)
        end = c.ring_start.at(f + 1)
        for k in range(start, end):
            if c.ring.at(k) == best:
                cosine = ti.max(cosine, c.face_normal.load(w, f).dot(y))
                r = c.corner.load(w, first + c.ring.at(ti.select(k + 1 < end, k + 1, start)))
                along = unit_or(r - p, vector()).dot(y)
                if along > fall:
                    fall = along
                    q = r * 1.0
                    number = k - c.ring_start.at(c.face_start.at(i))
    put_corner(c, w, side, 0, p)
    put_corner(c, w, side, 1, q)
    return number, ti.max(cosine, 0.0)


@ti.func
def _put_cell_edge(c: ti.template(), w: ti.i32, y: ti.template(), side: ti.i32):
    """Note the edge of the triangle at hand that is farthest along y: the one beside its lowest corner."""
    low = 0
    least = c.notes.value(w, c.cell, Vec3).dot(y)
    for k in range(1, 3):
        reach = c.notes.value(w, c.cell + 3 * k, Vec3).dot(y)
        if reach < least:
            least = reach
            low = k
    a = c.notes.value(w, c.cell + 3 * low, Vec3)
    p = c.notes.value(w, c.cell + 3 * ((low + 1) % 3), Vec3)
    q = c.notes.value(w, c.cell + 3 * ((low + 2) % 3), Vec3)
    put_corner(c, w, side, 0, p)
    put_corner(c, w, side, 1, q)
    return low, ti.max(unit_or((p - a).cross(q - a), vector(0.0, 0.0, 1.0)).dot(y), 0.0)
