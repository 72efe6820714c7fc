"""The point of a triangle that is nearest to the origin."""

import taichi as ti

from simcli.kernels.collision.lanes import TINY
from simcli.kernels.elementary import precision_of
from simcli.kernels.values import Vec3


@ti.func
def nearest_weights(a: ti.template(), b: ti.template(), c: ti.template()):
    """Weights of the corners in the point of triangle abc that is nearest to the origin; b = c makes it a segment.

    Returns:
        Three weights, not negative, of sum 1; exactly 0 where a corner has no part.

    Source: regions of a triangle (Ericson 2005, 5.1.5).
    """
    u = b - a
    v = c - a
    ua = -u.dot(a)
    va = -v.dot(a)
    ub = -u.dot(b)
    vb = -v.dot(b)
    uc = -u.dot(c)
    vc = -v.dot(c)
    area_c = ua * vb - ub * va
    area_b = uc * va - ua * vc
    area_a = ub * vc - uc * vb
    tiny = ti.static(TINY[precision_of()])
    weights = Vec3(1.0, 0.0, 0.0)
    if ua <= 0.0 and va <= 0.0:
        weights = Vec3(1.0, 0.0, 0.0)
    elif ub >= 0.0 and vb <= ub:
        weights = Vec3(0.0, 1.0, 0.0)
    elif area_c <= 0.0 and ua >= 0.0 and ub <= 0.0:
        t = ua / ti.max(ua - ub, tiny)
        weights = Vec3(1.0 - t, t, 0.0)
    elif vc >= 0.0 and uc <= vc:
        weights = Vec3(0.0, 0.0, 1.0)
    elif area_b <= 0.0 and va >= 0.0 and vc <= 0.0:
        t = va / ti.max(va - vc, tiny)
        weights = Vec3(1.0 - t, 0.0, t)
    elif area_a <= 0.0 and vb - ub >= 0.0 and uc - vc >= 0.0:
        t = (vb - ub) / ti.max((vb - ub) + (uc - vc), tiny)
        weights = Vec3(0.0, 1.0 - t, t)
    else:
        part = 1.0 / ti.max(area_a + area_b + area_c, tiny)
        weights = Vec3(1.0 - (area_b + area_c) * part, area_b * part, area_c * part)
    return weights
