"""Which candidates count: of a point and the triangles of one flat face, the triangle that is nearest to the point.

The distance to a face is the least of those to its triangles. Where all triangles had an energy, a point above an inner edge
would be pushed by two of them, and along the face towards where there is one. With the least distance alone a flat face has
one energy, whatever its triangles are, which changes as smoothly as the distance to a convex polygon does: once continuously
differentiable. Edges within a flat face are no features (model/bodies/surfaces.py); so edges, segments and half spaces
count as they are.

Where a flat face has a notch, points beyond it have two nearest points along a line, and the energy has a crease there.
"""

from simcli.kernels.barrier.closest import blend, corners, direction, thickness, weigh
from simcli.kernels.barrier.pieces import near_gap
from simcli.kernels.barrier.surfaces import INFINITE_GAP
from simcli.kernels.device.lanes import one, put, whole_of
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
