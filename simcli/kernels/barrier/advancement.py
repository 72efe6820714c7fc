"""Conservative advancement: which candidates count, and how far all may go along their ways before anything touches.

The distance to a face is the least of those to its triangles. Where all triangles had an energy, a point above an inner edge
would be pushed by two of them, and along the face towards where there is one. With the least distance alone a flat face has
one energy, whatever its triangles are, which changes as smoothly as the distance to a convex polygon does: once continuously
differentiable. Edges within a flat face are no features (model/bodies/surfaces.py); so edges, segments and half spaces
count as they are.

Where a flat face has a notch, points beyond it have two nearest points along a line, and the energy has a crease there.
"""

from simcli.kernels.barrier.closest import EDGE_EDGE, blend, corners, direction, thickness, ways, weigh
from simcli.kernels.barrier.pieces import near_gap
from simcli.kernels.barrier.surfaces import INFINITE_GAP
from simcli.kernels.barrier.sweep import apart, lower, upper
from simcli.kernels.device.lanes import by_world, one, put, whole_of
from simcli.kernels.language import ti


@ti.func
def count_nearest(c: ti.template(), w: ti.i32, lane: ti.i32):
    """Distances of all candidates of a world, and which of them count.

    Reads:  c.at, c.candidates
    Writes: c.candidates.{size, counts}
    """
    n = whole_of(c.candidates.count, w, lane, 0)
    for k in range(n):
        kind, combination, a, b, d, e = corners(c, w, lane, k)
        size = INFINITE_GAP + 0.0 * thickness(c, w, lane, k)
        if near_gap(kind, thickness(c, w, lane, k) + one(c.near, w, lane, combination), a, b, d, e):
            size, _n = direction(blend(weigh(kind, a, b, d, e), (a, b, d, e)))
        put(c.candidates.size, w, lane, k, size)
    begin = 0
    for k in range(n):
        if begin <= k:
            begin = count_one_of(c, w, lane, k, n)


@ti.func
def _is_of_same(c: ti.template(), w: ti.i32, lane: ti.i32, k: ti.i32, m: ti.i32):
    """1 if two candidates are of the same point and flat face."""
    is_same = one(c.candidates.flat, w, lane, m) == one(c.candidates.flat, w, lane, k)
    if is_same:
        is_same = one(c.candidates.corner, w, lane, 4 * m) == one(c.candidates.corner, w, lane, 4 * k)
    return ti.select(is_same, 1, 0)


@ti.func
def count_one_of(c: ti.template(), w: ti.i32, lane: ti.i32, begin: ti.i32, n: ti.i32):
    """Let one candidate count of those from `begin` on that are of the same point and flat face, the first of equals.

    Returns:
        Where the next ones begin.

    Reads:  c.candidates.{size, flat, corner}
    Writes: c.candidates.counts
    """
    nearest = begin
    end = begin + 1
    put(c.candidates.counts, w, lane, begin, 1.0)
    if one(c.candidates.flat, w, lane, begin) >= 0.0:
        goes_on = 1
        for k in range(begin + 1, n):
            if goes_on == 1:
                goes_on = _is_of_same(c, w, lane, begin, k)
            if goes_on == 1:
                put(c.candidates.counts, w, lane, k, 0.0)
                if one(c.candidates.size, w, lane, k) < one(c.candidates.size, w, lane, nearest):
                    nearest = k
                end = k + 1
        put(c.candidates.counts, w, lane, begin, 0.0)
        put(c.candidates.counts, w, lane, nearest, 1.0)
    return end


def counts(c, w, lane, k):
    """True for a candidate that counts (inside kernels)."""
    return one(c.candidates.counts, w, lane, k) != 0.0


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
