"""Points of contact of one pair: candidates are collected, the best are chosen, and go into the c.contacts."""

from simcli.kernels.collision.collider import CANDIDATE, MOST_CANDIDATES, TERRAIN
from simcli.kernels.collision.table_rows import next_point
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import one, put, vector
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.values import Vec3

EQUAL = {"float64": 1e-9, "float32": 1e-5}  # [1] of the size of the shapes: lengths that differ by less are ties
_LEVEL = {"float64": 1e-6, "float32": 1e-5}  # [1] of it: depths that differ by less are one depth, so noise chooses none
_DEEPER = {"float64": 1e-8, "float32": 1e-5}  # [1] of it: above what rounding and the tolerance of steps do to depths
_PLACE = 16.0  # [1] of the square of ties: what is clipped from both sides of a line is two ties apart
_CUT = 256.0  # [1] of it: what two planes cut, of which one is aslant
SPAN = 4  # points that span a face
TIE = 1.0 + 1e-6  # [1], a farther point is farther than this times
_EDGE = 1e-6  # [1], how far outside of a triangle its edge reaches; cosine from one, of normals that are one
FAR = {"float64": 1e300, "float32": 1e30}
FEATURES = 1 << 24  # float32 holds integers up to here
_NORMAL, GAP, FEATURE, _AWAY = 3, 6, 7, 8  # places in a candidate
CHOSEN = -1.0
SAME_SIDE = 1e-9  # [1], part of the distance of the third point from the line that is no distance on the other side


def tolerance(c, w, lane, a, b):
    """[m], lengths of a pair that differ by less are ties."""
    size = ti.min(one(c.bound, w, lane, a), one(c.bound, w, lane, b))
    return local(EQUAL[precision_of()] * size)


@ti.func
def add_candidate(c: ti.template(), w: ti.i32, p: ti.template(), n: ti.template(), gap: ti.template(), feature: ti.i32):
    """Note a point of contact.

    Args:
        p: [m], on the core of A, from the origin of A, world axes.
        n: normal, from A to B.
        gap: [m], from the core of A to that of B along n.
        feature: any number that is not negative.

    Writes: c.notes
    """
    k = ti.cast(c.notes.load(w, c.n_candidates), ti.i32)
    if k < MOST_CANDIDATES:
        at = c.candidates + k * CANDIDATE
        c.notes.store(w, at, p)
        c.notes.store(w, at + _NORMAL, n)
        c.notes.store(w, at + GAP, gap)
        c.notes.store(w, at + FEATURE, ti.cast(feature % FEATURES, c.arena.device.real))
        c.notes.store(w, c.n_candidates, ti.cast(k + 1, c.arena.device.real))


@ti.func
def choose(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, most: ti.i32):
    """Choose the candidates that span the most, among them the deepest.

    One of the deepest first; the farthest from it; the farthest from the line through both; the farthest on the other side
    of that line; from then on, or if there is no such, the farthest from all that are chosen. Candidates in one place count
    once. The start is any of those that are deep but for noise, so that the lowest point of a rim, which noise moves about,
    does not choose the others. Where there is room for more than four, the deepest is the last, if it is left out and is
    deeper than all that are chosen by more than noise.

    Reads, writes: c.notes
    """
    n = ti.cast(c.notes.load(w, c.n_candidates), ti.i32)
    tie = tolerance(c, w, lane, a, b)
    has_more = most > SPAN
    deeper = ti.static(_DEEPER[precision_of()] / EQUAL[precision_of()]) * tie
    level = ti.select(has_more, ti.static(_LEVEL[precision_of()] / EQUAL[precision_of()]) * tie, deeper)
    is_ground = c.kind.at(a) == TERRAIN
    deepest = lowest_candidate(c, w, n)
    low = c.notes.load(w, c.candidates + deepest * CANDIDATE + GAP)
    best = first_candidate(c, w, n, low + level, is_ground)
    first, line, side = vector(), vector(), vector()
    start, second = best, best
    for m in range(ti.select(has_more, most - 1, most)):
        if best >= 0 and n > 0:
            chosen = c.notes.value(w, c.candidates + best * CANDIDATE, Vec3)
            c.notes.store(w, c.candidates + best * CANDIDATE + _AWAY, CHOSEN)
            if m == 0:
                first = chosen
            elif m == 1:
                line = chosen - first
                second = best
            elif m == 2:
                side = (chosen - first).cross(line)
            if is_ground and m > 0 and m < SPAN:
                drop_spanned(c, w, n, start, second, best, level)
            best = next_candidate(c, w, n, m, chosen, first, line, side, tie)
    if has_more:
        add_deepest(c, w, n, deepest, low + deeper, tie)
    lower_beside(c, w, n, deepest, low, tie)


@ti.func
def lower_beside(c: ti.template(), w: ti.i32, n: ti.i32, deepest: ti.i32, low: ti.template(), tie: ti.template()):
    """Give the gap of the deepest candidate to those that are chosen beside it: what a face cuts lies beside it by ties.

    Reads, writes: c.notes
    """
    p = c.notes.value(w, c.candidates + deepest * CANDIDATE, Vec3)
    for k in range(n):
        at = c.candidates + k * CANDIDATE
        if c.notes.load(w, at + _AWAY) == CHOSEN:
            off = c.notes.value(w, at, Vec3) - p
            if off.dot(off) <= tie * tie * _CUT:
                c.notes.store(w, at + GAP, low)


@ti.func
def add_deepest(c: ti.template(), w: ti.i32, n: ti.i32, deepest: ti.i32, limit: ti.template(), tie: ti.template()):
    """Choose the deepest candidate too, if it is in no other's place and all that are chosen have gaps above a limit.

    Reads, writes: c.notes
    """
    at = c.candidates + deepest * CANDIDATE + _AWAY
    is_deeper = c.notes.load(w, at) > tie * tie * _PLACE
    for k in range(n):
        if c.notes.load(w, c.candidates + k * CANDIDATE + _AWAY) == CHOSEN:
            if c.notes.load(w, c.candidates + k * CANDIDATE + GAP) <= limit:
                is_deeper = False
    if is_deeper:
        c.notes.store(w, at, CHOSEN)


@ti.func
def drop_spanned(c: ti.template(), w: ti.i32, n: ti.i32, i: ti.i32, j: ti.i32, k: ti.i32, level: ti.template()):
    """Mark as in the place of others what lies in the triangle of three candidates, as where cells of level terrain meet.

    It has their normal, and is no deeper than the plane through them.

    Args:
        i, j, k: the three, of which two may be one.
        level: [m], of lengths that count as none.

    Writes: c.notes
    """
    p = c.notes.value(w, c.candidates + i * CANDIDATE, Vec3)
    u = c.notes.value(w, c.candidates + j * CANDIDATE, Vec3) - p
    v = c.notes.value(w, c.candidates + k * CANDIDATE, Vec3) - p
    low = c.notes.load(w, c.candidates + i * CANDIDATE + GAP)
    rise_u = c.notes.load(w, c.candidates + j * CANDIDATE + GAP) - low
    rise_v = c.notes.load(w, c.candidates + k * CANDIDATE + GAP) - low
    normal = c.notes.value(w, c.candidates + i * CANDIDATE + _NORMAL, Vec3)
    uu, uv, vv = u.dot(u), u.dot(v), v.dot(v)
    area = u.cross(v).dot(u.cross(v))
    is_line = area <= level * level * ti.max(uu, vv)
    for m in range(n):
        at = c.candidates + m * CANDIDATE
        if c.notes.load(w, at + _AWAY) >= 0.0:
            q = c.notes.value(w, at, Vec3) - p
            s = (vv * u.dot(q) - uv * v.dot(q)) / ti.max(area, level**4)
            t = (uu * v.dot(q) - uv * u.dot(q)) / ti.max(area, level**4)
            if is_line:
                s = u.dot(q) / ti.max(uu, level * level)
                t = 0.0 * s
            off = q - u * s - v * t
            is_inside = s >= -_EDGE and t >= -_EDGE and s + t <= 1.0 + _EDGE and off.dot(off) <= level * level
            is_alike = c.notes.value(w, at + _NORMAL, Vec3).dot(normal) > 1.0 - _EDGE
            if is_inside and is_alike and c.notes.load(w, at + GAP) >= low + rise_u * s + rise_v * t - level:
                c.notes.store(w, at + _AWAY, 0.0 * level)


@ti.func
def are_few(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, most: ti.i32):
    """Whether `choose` would take all candidates: there is room for them, and no two are in one place.

    Reads: c.notes
    """
    n = ti.cast(c.notes.load(w, c.n_candidates), ti.i32)
    tie = tolerance(c, w, lane, a, b)
    found = n <= ti.select(most > SPAN, most - 1, most)
    if found:
        for k in range(1, n):
            p = c.notes.value(w, c.candidates + k * CANDIDATE, Vec3)
            for m in range(k):
                off = p - c.notes.value(w, c.candidates + m * CANDIDATE, Vec3)
                if off.dot(off) <= tie * tie * _PLACE:
                    found = False
    return found


@ti.func
def next_candidate(
    c: ti.template(),
    w: ti.i32,
    n: ti.i32,
    m: ti.i32,
    chosen: ti.template(),
    first: ti.template(),
    line: ti.template(),
    side: ti.template(),
    tie: ti.template(),
):
    """The candidate to choose after the m-th; -1 if there is none that is not in the place of one that is chosen.

    Reads, writes: c.notes
    """
    lonely = -1
    farthest = tie * tie * _PLACE
    spanning = -1
    most = tie * tie * line.dot(line)
    if m == 2:
        most = SAME_SIDE * side.dot(side)
    for k in range(n):
        at = c.candidates + k * CANDIDATE
        before = c.notes.load(w, at + _AWAY)
        if before >= 0.0:
            q = c.notes.value(w, at, Vec3)
            away = ti.min(before, (q - chosen).dot(q - chosen))
            c.notes.store(w, at + _AWAY, away)
            if away > farthest * TIE:
                farthest = away
                lonely = k
            turn = (q - first).cross(line)
            span = ti.select(m == 1, turn.dot(turn), -turn.dot(side))
            if (m == 1 or m == 2) and span > most * TIE and away > tie * tie * _PLACE:
                most = span
                spanning = k
    return ti.select(spanning >= 0, spanning, lonely)


@ti.func
def lowest_candidate(c: ti.template(), w: ti.i32, n: ti.i32):
    """The candidate of the least gap, the first of equals; marks all as not chosen.

    Reads, writes: c.notes
    """
    best = 0
    for k in range(n):
        at = c.candidates + k * CANDIDATE
        c.notes.store(w, at + _AWAY, ti.static(FAR[precision_of()]))
        if c.notes.load(w, at + GAP) < c.notes.load(w, c.candidates + best * CANDIDATE + GAP):
            best = k
    return best


@ti.func
def first_candidate(c: ti.template(), w: ti.i32, n: ti.i32, limit: ti.template(), is_ground: ti.i32):
    """The first candidate with a gap up to a limit; on terrain, where it need not be a corner, the farthest from the middle.

    Reads: c.notes
    """
    middle = vector()
    for k in range(n):
        middle = middle + c.notes.value(w, c.candidates + k * CANDIDATE, Vec3) * (1.0 / n)
    best = -1
    farthest = 0.0 * limit
    for k in range(n):
        at = c.candidates + k * CANDIDATE
        arm = c.notes.value(w, at, Vec3) - middle
        if c.notes.load(w, at + GAP) <= limit and (best < 0 or (is_ground and arm.dot(arm) > farthest * TIE)):
            farthest = arm.dot(arm)
            best = k
    return best


@ti.func
def keep_chosen(c: ti.template(), w: ti.i32):
    """Drop all candidates but the chosen ones, which keep their order, to make room for others.

    Reads, writes: c.notes
    """
    kept = 0
    for k in range(ti.cast(c.notes.load(w, c.n_candidates), ti.i32)):
        if c.notes.load(w, c.candidates + k * CANDIDATE + _AWAY) == CHOSEN:
            for part in range(CANDIDATE):
                c.notes.store(
                    w, c.candidates + kept * CANDIDATE + part, c.notes.load(w, c.candidates + k * CANDIDATE + part)
                )
            kept += 1
    c.notes.store(w, c.n_candidates, ti.cast(kept, c.arena.device.real))


@ti.func
def report(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, combination: ti.i32):
    """Put the candidates of a pair into the table of the world, in their order; what does not fit is counted only.

    `complete_rows` does the rest: till then `core_a` is the point, from the origin of A, and `gap` that of the cores.

    Reads:  c.notes
    Writes: c.contacts
    """
    needed = one(c.contacts.needed, w, lane, 0)
    for k in range(ti.cast(c.notes.load(w, c.n_candidates), ti.i32)):
        row = ti.cast(needed, ti.i32)
        if row < c.contacts.capacity:
            put(c.contacts.shape_a, w, lane, row, ti.cast(a, c.arena.device.real))
            put(c.contacts.shape_b, w, lane, row, ti.cast(b, c.arena.device.real))
            put(c.contacts.combination, w, lane, row, ti.cast(combination, c.arena.device.real))
            at = c.candidates + k * CANDIDATE
            put(c.contacts.core_a, w, lane, row, c.notes.value(w, at, Vec3))
            put(c.contacts.normal, w, lane, row, c.notes.value(w, at + _NORMAL, Vec3))
            put(c.contacts.gap, w, lane, row, c.notes.load(w, at + GAP))
            put(c.contacts.feature, w, lane, row, c.notes.load(w, at + FEATURE))
        needed += 1.0
    put(c.contacts.needed, w, lane, 0, needed)
    put(c.contacts.count, w, lane, 0, ti.min(needed, ti.cast(c.contacts.capacity, c.arena.device.real)))


@ti.func
def keep_points(c: ti.template(), w: ti.i32, a: ti.i32, b: ti.i32, combination: ti.i32):
    """As `report`, in a world with many shapes, whose threads find points.

    Reads:  c.notes
    Writes: c.box_tree
    """
    h = c.box_tree
    for k in range(ti.cast(c.notes.load(w, c.n_candidates), ti.i32)):
        place = next_point(h, w)
        if place >= 0:
            for m, of_pair in ti.static(list(enumerate((a, b, combination)))):
                h.points.store(w, place + m, ti.cast(of_pair, c.arena.device.real))
            for m in ti.static(range(_AWAY)):
                h.points.store(w, place + 3 + m, c.notes.load(w, c.candidates + k * CANDIDATE + m))


@ti.func
def clear(c: ti.template(), w: ti.i32):
    """Forget the candidates."""
    c.notes.store(w, c.n_candidates, vector().parts[0])
