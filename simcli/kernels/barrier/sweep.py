"""Where the vertices are and go, which features may come near on the way, and how far all may go before anything touches."""

from simcli.kernels.barrier.closest import EDGE_EDGE, POINT_PLANE, blend, corners, direction, thickness, ways, weigh
from simcli.kernels.barrier.surfaces import BOX, EDGE, FACE, INFINITE_GAP, NOTHING, VERTEX, append
from simcli.kernels.collision.collider import acting_combination, first_of, radius_in
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import by_world, one, put, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.values import Vec3
from simcli.model.bodies.surfaces import HALF_SPACE


def _place_of(x, w, body, y: Vec3) -> Vec3:
    """A point y of an affine body, x = p + y_1 a_1 + y_2 a_2 + y_3 a_3."""
    parts = [x.load(w, 12 * body + k) for k in range(12)]
    sums = [parts[3 + m] * y.parts[0] + parts[6 + m] * y.parts[1] + parts[9 + m] * y.parts[2] for m in range(3)]
    return Vec3(*(parts[m] + sums[m] for m in range(3)))


@ti.func
def place_vertices(c: ti.template(), w: ti.i32, x: ti.template()):
    """Places of all vertices.

    Args:
        x: (12 B) coordinates p, a_1, a_2, a_3 of the bodies.

    Writes: c.at
    """
    zero = c.arena.zero()
    for v in range(c.n_vertices):
        body = c.vertex_body.at(v)
        y = c.vertex.load(w, v)
        if body < c.n_bodies:
            c.at.store(w, v, _place_of(x, w, body, y))
        else:
            c.at.store(w, v, y + Vec3(zero, zero, zero))


@ti.func
def move_vertices(c: ti.template(), w: ti.i32, dx: ti.template(), part: ti.template()):
    """Ways of all vertices.

    Args:
        dx: (12 B) changes of the coordinates.
        part: how much of it.

    Writes: c.move
    """
    zero = c.arena.zero()
    for v in range(c.n_vertices):
        body = c.vertex_body.at(v)
        way = Vec3(zero, zero, zero)
        if body < c.n_bodies:
            way = _place_of(dx, w, body, c.vertex.load(w, v)) * part
        c.move.store(w, v, way)


def lower(a: Vec3, b: Vec3) -> Vec3:
    """Lower bounds of both."""
    return Vec3(*(ti.min(x, y) for x, y in zip(a.parts, b.parts, strict=True)))


def upper(a: Vec3, b: Vec3) -> Vec3:
    """Upper bounds of both."""
    return Vec3(*(ti.max(x, y) for x, y in zip(a.parts, b.parts, strict=True)))


def apart(low_a: Vec3, high_a: Vec3, low_b: Vec3, high_b: Vec3):
    """[m], largest gap of two boxes along an axis; negative where they overlap."""
    gaps = [
        ti.max(lb - ha, la - hb) for la, ha, lb, hb in zip(low_a.parts, high_a.parts, low_b.parts, high_b.parts, strict=True)
    ]
    return local(ti.max(ti.max(gaps[0], gaps[1]), gaps[2]))


@ti.func
def bound_shapes(c: ti.template(), w: ti.i32):
    """Swept boxes of all shapes.

    Reads:  c.{at, move}
    Writes: c.{low, high}
    """
    for s in range(c.n_shapes):
        first = c.vertex_start.at(s)
        last = c.vertex_start.at(s + 1)
        if first < last:
            begin = c.at.load(w, first)
            end = begin + c.move.load(w, first)
            low, high = lower(begin, end), upper(begin, end)
            for v in range(first + 1, last):
                begin = c.at.load(w, v)
                end = begin + c.move.load(w, v)
                low = lower(low, lower(begin, end))
                high = upper(high, upper(begin, end))
            c.low.store(w, s, low)
            c.high.store(w, s, high)


@ti.func
def feature_box(c: ti.template(), w: ti.i32, lane: ti.i32, f: ti.i32):
    """Swept box of a feature: lower and upper bounds."""
    v = c.feature_corner.at(3 * f)
    begin = one(c.at, w, lane, v)
    end = begin + one(c.move, w, lane, v)
    low, high = lower(begin, end), upper(begin, end)
    for k in range(1, c.feature_sort.at(f) + 1):
        v = c.feature_corner.at(3 * f + k)
        begin = one(c.at, w, lane, v)
        end = begin + one(c.move, w, lane, v)
        low = lower(low, lower(begin, end))
        high = upper(high, upper(begin, end))
    return low, high


@ti.func
def search(c: ti.template(), w: ti.i32):
    """Find the candidates of the worlds of a block, one pair of shapes after another.

    Reads:  c.{at, move}
    Writes: c.candidates, c.{low, high, crowded}, c.notes
    """
    bound_shapes(c, w)
    search_worlds(c, w)


@by_world
@ti.func
def search_worlds(c: ti.template(), w: ti.i32, lane: ti.i32):
    """`search` in a world.

    Writes: c.candidates, c.{crowded, notes}
    """
    put(c.candidates.count, w, lane, 0, 0.0)
    put(c.candidates.needed, w, lane, 0, 0.0)
    for k in range(c.rule.n_touching):
        for m in range(c.rule.start.at(k), c.rule.end.at(k)):
            search_shapes(c, w, lane, c.rule.order.at(k), c.rule.order.at(m))
    if one(c.candidates.needed, w, lane, 0) > c.candidates.capacity:
        put(c.crowded, w, lane, 0, one(c.candidates.needed, w, lane, 0))


@ti.func
def search_shapes(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, j: ti.i32):
    """Candidates of two shapes, of which j has the higher index. Boxes are compared first, because most are far apart.

    Writes: c.candidates, c.notes
    """
    a = first_of(c.rule, i, j)
    b = i + j - a
    thickest = one(c.thickest, w, lane, a) + one(c.thickest, w, lane, b)
    gap = -INFINITE_GAP + 0.0 * thickest
    if c.core.at(a) != HALF_SPACE:
        gap = apart(one(c.low, w, lane, a), one(c.high, w, lane, a), one(c.low, w, lane, b), one(c.high, w, lane, b))
    if gap <= one(c.widest, w, lane, 0) + thickest:
        combination = acting_combination(c, w, lane, i, j)
        if combination >= 0:
            xi = radius_in(c, w, lane, a, combination) + radius_in(c, w, lane, b, combination)
            reach = one(c.near, w, lane, combination) + xi
            if c.core.at(a) == HALF_SPACE:
                search_plane(c, w, lane, combination, a, b, reach)
            elif gap <= reach:
                for turn in range(2):
                    search_pair(c, w, lane, combination, ti.select(turn == 0, a, b), ti.select(turn == 0, b, a), turn, reach)


@ti.func
def search_plane(c: ti.template(), w: ti.i32, lane: ti.i32, combination: ti.i32, a: ti.i32, b: ti.i32, reach: ti.template()):
    """Vertices of shape b that come near the half space a.

    Writes: c.candidates
    """
    n = one(c.normal, w, lane, a)
    plane = c.vertex_start.at(a)
    origin = one(c.at, w, lane, plane)
    for v in range(c.vertex_start.at(b), c.vertex_start.at(b + 1)):
        height = n.dot(one(c.at, w, lane, v) - origin)
        if height + ti.min(n.dot(one(c.move, w, lane, v)), 0.0) <= reach:
            append(c, w, lane, POINT_PLANE, combination, -1, v, plane, plane, plane)


@ti.func
def _meet(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    combination: ti.i32,
    a: ti.i32,
    b: ti.i32,
    turn: ti.i32,
    reach: ti.template(),
    f: ti.i32,
    place: ti.i32,
    low: ti.template(),
    high: ti.template(),
):
    """A candidate, if feature f of shape a and that of b at a place of the list come near each other.

    Args:
        low, high: [m], of the box of f.  Others: see `search_pair`.

    Writes: c.candidates
    """
    g = ti.cast(c.notes.load(w, place), ti.i32)
    kind = c.kind(c.core.at(a), c.core.at(b), c.feature_sort.at(f), c.feature_sort.at(g))
    if kind != NOTHING and c.feature_sort.at(f) + turn <= c.feature_sort.at(g):
        if apart(low, high, c.notes.value(w, place + 1, Vec3), c.notes.value(w, place + 4, Vec3)) <= reach:
            _join(c, w, lane, kind, combination, f, g)


@ti.func
def search_pair(
    c: ti.template(), w: ti.i32, lane: ti.i32, combination: ti.i32, a: ti.i32, b: ti.i32, turn: ti.i32, reach: ti.template()
):
    """Features of two shapes that come near each other: those of b near a are listed, those of a meet the list.

    Those of a have as many corners, or fewer, so that a point meets the triangles of a flat face one after another.

    Args:
        turn: 0, then 1 with the shapes exchanged, when features of as many corners have met.

    Writes: c.candidates, c.notes
    """
    low, high = one(c.low, w, lane, a), one(c.high, w, lane, a)
    count = 0
    for f in range(c.feature_start.at(b), c.feature_start.at(b + 1)):
        low_f, high_f = feature_box(c, w, lane, f)
        if apart(low, high, low_f, high_f) <= reach:
            place = c.near_list + count * (1 + BOX)
            c.notes.store(w, place, 1.0 * f)
            c.notes.store(w, place + 1, low_f)
            c.notes.store(w, place + 4, high_f)
            count += 1
    low, high = one(c.low, w, lane, b), one(c.high, w, lane, b)
    for f in range(c.feature_start.at(a), c.feature_start.at(a + 1)):
        low_f, high_f = feature_box(c, w, lane, f)
        if apart(low, high, low_f, high_f) <= reach:
            for k in range(count):
                _meet(c, w, lane, combination, a, b, turn, reach, f, c.near_list + k * (1 + BOX), low_f, high_f)


@ti.func
def _join(c: ti.template(), w: ti.i32, lane: ti.i32, kind: ti.i32, combination: ti.i32, f: ti.i32, g: ti.i32):
    """Append the stencil of two features, the one with fewer corners first.

    Writes: c.candidates
    """
    i = c.feature_corner.at(3 * f)
    j = c.feature_corner.at(3 * g)
    k = c.feature_corner.at(3 * g + 1)
    l = c.feature_corner.at(3 * g + 2)  # noqa: E741
    if kind == EDGE_EDGE:
        append(c, w, lane, kind, combination, -1, i, c.feature_corner.at(3 * f + 1), j, k)
    else:
        append(c, w, lane, kind, combination, c.feature_flat.at(g), i, j, k, l)


assert VERTEX < EDGE < FACE  # a feature has one corner more than its sort says


KEPT_GAP = 0.1  # of the gap at the start, which is left at least
_ENOUGH = 2.0 * KEPT_GAP  # of it, from which on nothing more is tried
MOST_ADVANCES = 64


@ti.func
def free_part(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32):
    """Part of the ways that a candidate leaves free, in [0, 1].

    The normal n of the nearest points separates the features. As long as all corners of one stay beyond those of the
    other along this n they cannot touch; along straight ways that time is exact for each pair of corners:

        n . (x_i - x_j) + t n . (v_i - v_j) >= xi + KEPT_GAP g_0

    There the next normal is taken. A way along the surfaces needs one normal, however long it is.

    Returns:
        [1]. At that part the gap is at least KEPT_GAP of that at the start.

    Source: conservative advancement (Mirtich 1996) with the bound of straight ways; Li et al. 2021 (additive CCD) for
    what is kept. Deviation from the latter: the bound is along the normal, not by the longest way.
    """
    kind, _combination, a, b, d, e = corners(c, w, lane, k)
    v_a, v_b, v_d, v_e = ways(c, w, lane, k, kind)
    xi = thickness(c, w, lane, k)
    part = 1.0 + 0.0 * xi
    if not_beyond(kind, a, b, d, e, v_a, v_b, v_d, v_e) <= xi:
        goal = -1.0 + 0.0 * xi
        part = 0.0 * xi
        is_open = True
        for _turn in range(MOST_ADVANCES):
            if is_open:
                p, q, r, s = a + v_a * part, b + v_b * part, d + v_d * part, e + v_e * part
                size, n = direction(blend(weigh(kind, p, q, r, s), (p, q, r, s)))
                gap = size - xi
                if goal < 0.0:
                    goal = KEPT_GAP * gap
                    is_open = gap > 0.0
                elif gap <= _ENOUGH / KEPT_GAP * goal:
                    is_open = False
                if is_open:
                    free = until(kind, n, xi + goal, p, q, r, s, v_a, v_b, v_d, v_e)
                    is_open = part + free < 1.0 and free > 0.0
                    part = ti.min(part + free, 1.0)
    return part


@ti.func
def not_beyond(
    kind: ti.i32,
    a: ti.template(),
    b: ti.template(),
    d: ti.template(),
    e: ti.template(),
    v_a: ti.template(),
    v_b: ti.template(),
    v_d: ti.template(),
    v_e: ti.template(),
):
    """[m], gap of the swept boxes of the two features."""
    low, high = lower(a, a + v_a), upper(a, a + v_a)
    low_b, high_b = lower(e, e + v_e), upper(e, e + v_e)
    low_b, high_b = lower(low_b, lower(d, d + v_d)), upper(high_b, upper(d, d + v_d))
    if kind == EDGE_EDGE:
        low, high = lower(low, lower(b, b + v_b)), upper(high, upper(b, b + v_b))
    else:
        low_b, high_b = lower(low_b, lower(b, b + v_b)), upper(high_b, upper(b, b + v_b))
    return apart(low, high, low_b, high_b)


@ti.func
def until(
    kind: ti.i32,
    n: ti.template(),
    least: ti.template(),
    a: ti.template(),
    b: ti.template(),
    d: ti.template(),
    e: ti.template(),
    v_a: ti.template(),
    v_b: ti.template(),
    v_d: ti.template(),
    v_e: ti.template(),
):
    """Time until two corners are as near as `least` along n; more than 1 if they never are."""
    free = crossing(n, least, a - d, v_a - v_d)
    free = ti.min(free, crossing(n, least, a - e, v_a - v_e))
    if kind == EDGE_EDGE:
        free = ti.min(free, crossing(n, least, b - d, v_b - v_d))
        free = ti.min(free, crossing(n, least, b - e, v_b - v_e))
    else:
        free = ti.min(free, crossing(n, least, a - b, v_a - v_b))
    return free


def crossing(n, least, x, v):
    """Time until n . x along the way v is as small as `least`; 2 if it never is."""
    speed = -n.dot(v)
    is_closing = speed > 0.0
    return ti.select(is_closing, ti.max(n.dot(x) - least, 0.0) / ti.select(is_closing, speed, 1.0), 2.0)


@by_world
@ti.func
def cap(c: ti.template(), w: ti.i32, lane: ti.i32, most: ti.template()):
    """Lower the part [1] of the displacements of a step that a world may take, so that no candidates come too near.

    Reads:  c.{at, move, candidates}
    Writes: most (1)
    """
    least = one(most, w, lane, 0)
    for k in range(whole_of(c.candidates.count, w, lane, 0)):
        least = ti.min(least, free_part(c, w, lane, k))
    put(most, w, lane, 0, least)
