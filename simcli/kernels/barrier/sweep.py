"""Where the vertices are and go, and which features may come near on the way."""

from simcli.kernels.barrier.closest import EDGE_EDGE, POINT_PLANE
from simcli.kernels.barrier.surfaces import BOX, EDGE, FACE, INFINITE_GAP, NOTHING, VERTEX, append
from simcli.kernels.collision.collider import acting_combination, first_of, radius_in
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import by_world, one, put
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
