"""A half space against any convex shape."""

from simcli.kernels.algebra.values import Vec3
from simcli.kernels.collision.convex.features import feature, ring_at
from simcli.kernels.collision.convex.support import support
from simcli.kernels.collision.lanes import one, way_between
from simcli.kernels.collision.points import add_candidate, tolerance
from simcli.kernels.collision.tables import RING
from simcli.kernels.language import ti

LOWEST = 1 << 20  # feature of the lowest point, where it is no corner


@ti.func
def height_above(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32):
    """[m], distance of the lowest point of the core of b from the plane a."""
    n = one(c.rotation, w, lane, a).column(2)
    x = way_between(c, w, lane, a, b)
    return n.dot(x + support(c, w, lane, b, n * -1.0))


@ti.func
def plane_pair(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, reach: ti.template()):
    """The corners of the feature of b that faces the plane a, and the lowest point if no corner is as low.

    Args:
        reach: [m], largest gap of the core of b.

    Writes: c.notes
    """
    n = one(c.rotation, w, lane, a).column(2)
    x = way_between(c, w, lane, a, b)
    tie = tolerance(c, w, lane, a, b)
    if n.dot(x) - one(c.bound, w, lane, b) <= reach:
        p = x + support(c, w, lane, b, n * -1.0)
        gap = n.dot(p)
        if gap <= reach:
            count, number, _normal = feature(c, w, lane, b, n * -1.0, 0, x)
            least = gap + 2.0 * tie
            for k in range(count):
                q = c.notes.value(w, ring_at(c, 0) + k * RING, Vec3)
                high = n.dot(q)
                if high <= reach:
                    least = ti.min(least, high)
                    add_candidate(c, w, q - n * high, n, high, number * 64 + k)
            if gap < least - tie:
                add_candidate(c, w, p - n * gap, n, gap, LOWEST + number)
