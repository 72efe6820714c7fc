"""The point of a triangle that is nearest to the origin."""

from simcli.kernels.algebra.elementary import precision_of
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.collision.lanes import TINY
from simcli.kernels.language import ti


@ti.func
def nearest_weights(a: ti.template(), b: ti.template(), c: ti.template()):
    """Weights of the corners in the point of triangle abc that is nearest to the origin; b = c makes it a segment.

    The best of the nearest points of the edges, and of the foot in the plane if it lies inside: each of them is a point of
    the triangle whatever rounding does, so that slivers, which curved shapes make, cost accuracy but no sense.

    Returns:
        Three weights, not negative, of sum 1; exactly 0 where a corner has no part.
    """
    tiny = ti.static(TINY[precision_of()])
    weights = Vec3(1.0, 0.0, 0.0)
    least = a.dot(a)
    for k in ti.static(range(3)):
        p, u = edge((a, b, c), k)
        t = ti.min(ti.max(-u.dot(p) / ti.max(u.dot(u), tiny), 0.0), 1.0)
        x = p + u * t
        if x.dot(x) < least:
            least = x.dot(x)
            weights = cyclic(k, 1.0 - t, t)
    n = (b - a).cross(c - a)
    size = n.dot(n)
    if size > tiny:
        foot = n * (n.dot(a) / size)
        x = a - foot
        y = b - foot
        z = c - foot
        part_b = n.dot(z.cross(x)) / size
        part_c = n.dot(x.cross(y)) / size
        part_a = 1.0 - part_b - part_c
        if part_a > 0.0 and part_b > 0.0 and part_c > 0.0:
            x = a * part_a + b * part_b + c * part_c
            if x.dot(x) < least:
                weights = Vec3(part_a, part_b, part_c)
    return weights


def edge(corners: tuple[Vec3, ...], k: int) -> tuple[Vec3, Vec3]:
    """Where an edge begins, and the vector along it."""
    return corners[k], corners[(k + 1) % 3] - corners[k]


def cyclic(k: int, s, t) -> Vec3:
    """Weights s of corner k and t of the next."""
    parts = [0.0, 0.0, 0.0]
    parts[k], parts[(k + 1) % 3] = s, t
    return Vec3(*parts)
