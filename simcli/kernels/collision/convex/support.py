"""The farthest point of a shape's core along a direction."""

from simcli.kernels.algebra.elementary import precision_of
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.collision.lanes import TINY, one, sign, vector
from simcli.kernels.collision.tables import BOX, CAPSULE, CELL, CELL_CORNERS, CONE, CYLINDER, ELLIPSOID, MESH
from simcli.kernels.language import ti


@ti.func
def support(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, d: ti.template()):
    """[m], farthest point of the core of shape i along d, from the shape's origin, world axes.

    The core of a sphere is its centre, that of a capsule its axis.

    Args:
        d: any length but zero, world axes.
    """
    R = one(c.rotation, w, lane, i)
    return R * local_support(c, w, lane, i, R.transposed_times(d))


@ti.func
def local_support(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, d: ti.template()):
    """[m], farthest point of the core along d, both in shape axes."""
    p = vector()
    kind = c.kind.at(i)
    half = one(c.half, w, lane, i)
    hx = half.parts[0]
    hy = half.parts[1]
    hz = half.parts[2]
    x = d.parts[0]
    y = d.parts[1]
    z = d.parts[2]
    if ti.static(c.has[BOX]):
        if kind == BOX:
            p = Vec3(sign(x) * hx, sign(y) * hy, sign(z) * hz)
    if ti.static(c.has[CAPSULE]):
        if kind == CAPSULE:
            p = Vec3(0.0, 0.0, sign(z) * (hz - hx))
    if ti.static(c.has[CYLINDER] or c.has[CONE]):
        if kind == CYLINDER or kind == CONE:
            across = ti.sqrt(x * x + y * y)
            part = hx / ti.max(across, ti.static(TINY[precision_of()]))
            top = sign(z) * hz
            if kind == CONE:
                apex = 2.0 * hz * z > hx * across
                top = ti.select(apex, hz, -hz)
                part = ti.select(apex, 0.0, part)
            p = Vec3(x * part, y * part, top)
    if ti.static(c.has[ELLIPSOID]):
        if kind == ELLIPSOID:
            u = Vec3(x * hx, y * hy, z * hz)
            part = 1.0 / ti.max(ti.sqrt(u.dot(u)), ti.static(TINY[precision_of()]))
            p = Vec3(u.parts[0] * hx, u.parts[1] * hy, u.parts[2] * hz) * part
    if ti.static(c.has[MESH]):
        if kind == MESH:
            p = farthest_corner(c, w, i, d)
    if ti.static(c.has[CELL]):
        if kind == CELL:
            p = farthest_of_cell(c, w, d)
    return p


@ti.func
def farthest_corner(c: ti.template(), w: ti.i32, i: ti.i32, d: ti.template()):
    """[m], corner of a hull that is farthest along d, the first of equals."""
    best = c.corner_start.at(i)
    p = c.corner.load(w, best)
    most = p.dot(d)
    for k in range(best + 1, c.corner_start.at(i + 1)):
        reach = c.corner.load(w, k).dot(d)
        if reach > most:
            most = reach
            best = k
    p = c.corner.load(w, best)
    return p


@ti.func
def farthest_of_cell(c: ti.template(), w: ti.i32, d: ti.template()):
    """[m], corner of the cell at hand that is farthest along d."""
    p = c.notes.value(w, c.cell, Vec3)
    most = p.dot(d)
    for k in range(1, CELL_CORNERS):
        q = c.notes.value(w, c.cell + 3 * k, Vec3)
        reach = q.dot(d)
        if reach > most:
            most = reach
            p = q
    return p
