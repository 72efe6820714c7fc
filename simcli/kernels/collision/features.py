"""The feature of a shape that faces a direction: a polygon, an edge or a point."""

from math import sqrt

from simcli.kernels.collision.collider import BOX, CAPSULE, CELL, CONE, CYLINDER, MESH, MOST_RING, RING
from simcli.kernels.device.arena import local
from simcli.kernels.device.lanes import farthest_along, one, sign, unit_or, vector
from simcli.kernels.language import ti
from simcli.kernels.language.values import Vec3

FACES = 2048  # numbers of pairs of faces; further ones share them
RIM_CORNERS = 8  # of the polygon that stands for a disc
EIGHTH = sqrt(0.5)  # sine and cosine of an eighth of a turn
_AROUND = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))  # corners of a square, in turn


def ring_at(c, polygon):
    """Index of a polygon's first note."""
    return c.polygons + polygon * (MOST_RING * RING)


@ti.func
def put_corner(c: ti.template(), w: ti.i32, polygon: ti.i32, k: ti.i32, p: ti.template()):
    """Corner k of a polygon; the edge that leaves it has its number.

    Writes: c.notes
    """
    at = ring_at(c, polygon) + k * RING
    c.notes.store(w, at, p)
    c.notes.store(w, at + 3, ti.cast(k, c.arena.device.real))


@ti.func
def feature(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, d: ti.template(), polygon: ti.i32, shift: ti.template()):
    """Note the feature of the core of shape i that faces d, as a polygon of world vectors from the shape's origin.

    A face comes with its normal, an edge or a point with zero. Of a disc eight corners of its rim are noted.

    Args:
        d: unit, world.
        polygon: number of the notes it goes to.
        shift: [m], added to all corners.

    Returns:
        Number of corners, a number of the feature in the shape, outward normal in world axes.

    Writes: c.notes
    """
    R = one(c.rotation, w, lane, i)
    half = one(c.half, w, lane, i)
    y = R.transposed_times(d)
    kind = c.kind.at(i)
    count = 1
    number = 0
    normal = vector()
    put_corner(c, w, polygon, 0, vector())
    if ti.static(c.has[BOX]):
        if kind == BOX:
            count = 4
            number, normal = _put_box_face(c, w, half, y, polygon)
    if ti.static(c.has[CAPSULE]):
        if kind == CAPSULE:
            count = 2
            put_corner(c, w, polygon, 0, Vec3(0.0, 0.0, half.parts[0] - half.parts[2]))
            put_corner(c, w, polygon, 1, Vec3(0.0, 0.0, half.parts[2] - half.parts[0]))
    if ti.static(c.has[CYLINDER] or c.has[CONE]):
        if kind == CYLINDER or kind == CONE:
            count, number, normal = barrel_feature(c, w, half, y, polygon, kind)
    if ti.static(c.has[MESH]):
        if kind == MESH:
            count, number, normal = hull_face(c, w, i, y, polygon)
    if ti.static(c.has[CELL]):
        if kind == CELL:
            count = 3
            a = c.notes.value(w, c.cell, Vec3)
            b = c.notes.value(w, c.cell + 3, Vec3)
            e = c.notes.value(w, c.cell + 6, Vec3)
            put_corner(c, w, polygon, 0, a)
            put_corner(c, w, polygon, 1, b)
            put_corner(c, w, polygon, 2, e)
            normal = unit_or((b - a).cross(e - a), vector(0.0, 0.0, 1.0))
    for k in range(count):
        at = ring_at(c, polygon) + k * RING
        c.notes.store(w, at, R * c.notes.value(w, at, Vec3) + shift)
    return count, number, R * normal


def _put_box_face(c, w, half, y, polygon):
    """Note the corners of the face of a box.

    Writes: c.notes
    """
    number, normal, corners = box_face(half, y)
    for k, corner in enumerate(corners):
        put_corner(c, w, polygon, k, corner)
    return ti.cast(number, ti.i32), normal


def box_face(half: Vec3, y: Vec3) -> tuple:
    """The face of a box that faces y most: its number, normal and corners, in turn, in shape axes; of packs, too."""
    sizes = [local(ti.abs(part)) for part in y.parts]
    most = local(ti.max(sizes[0], sizes[1]))
    is_z = local(sizes[2] > most)
    is_y = local((sizes[1] > sizes[0]) & (sizes[2] <= most))
    is_x = local((sizes[1] <= sizes[0]) & (sizes[2] <= most))
    along = (is_x, is_y, is_z)
    s = sign(ti.select(is_x, y.parts[0], ti.select(is_y, y.parts[1], y.parts[2])))
    number = local(ti.select(is_z, 4.0, ti.select(is_y, 2.0, 0.0)) + ti.select(s > 0.0, 1.0, 0.0))
    corners = [around_axis(along, half, s, t, u) for t, u in _AROUND]
    return number, around_axis(along, vector(1.0, 1.0, 1.0), s, 0.0, 0.0), corners


def around_axis(along, v: Vec3, s, t, u) -> Vec3:
    """A vector's components times s along an axis, t along the next one, u along the one after.

    Args:
        along: of each axis, whether it is the first of these.
    """
    return Vec3(*(v.parts[k] * ti.select(along[k], s, ti.select(along[k - 1], t, u)) for k in range(3)))


@ti.func
def barrel_feature(c: ti.template(), w: ti.i32, half: ti.template(), y: ti.template(), polygon: ti.i32, kind: ti.i32):
    """The cap or base of a cylinder or cone, or the line of its side, that faces y: corners, number, normal."""
    r = half.parts[0]
    h = half.parts[2]
    steep = ti.sqrt(y.parts[0] ** 2 + y.parts[1] ** 2)
    count = 2
    number = 2
    normal = vector()
    is_cap = ti.abs(y.parts[2]) > steep
    if kind == CONE:
        # Half way between the normals of the base, (0, -1), and of the side, (2 h, r) / s.
        s = ti.sqrt(4.0 * h * h + r * r)
        is_cap = 2.0 * h * steep + (r + s) * y.parts[2] < 0.0
    if is_cap:
        side = sign(y.parts[2])
        count = RIM_CORNERS
        number = ti.select(side > 0.0, 1, 0)
        normal = Vec3(0.0, 0.0, side)
        p = Vec3(r, 0.0, side * h)
        for k in range(RIM_CORNERS):
            put_corner(c, w, polygon, k, p)
            p = Vec3((p.parts[0] - p.parts[1]) * EIGHTH, (p.parts[0] + p.parts[1]) * EIGHTH, side * h)
    else:
        out = unit_or(Vec3(y.parts[0], y.parts[1], 0.0), vector(1.0, 0.0, 0.0)) * r
        put_corner(c, w, polygon, 0, out - vector(0.0, 0.0, 1.0) * h)
        if kind == CONE:
            out = vector()
        put_corner(c, w, polygon, 1, out + vector(0.0, 0.0, 1.0) * h)
    return count, number, normal


@ti.func
def hull_face(c: ti.template(), w: ti.i32, i: ti.i32, y: ti.template(), polygon: ti.i32):
    """The face of a hull that faces y most, the first of equals: corners, number, normal."""
    first = c.face_start.at(i)
    best = farthest_along(c.face_normal, w, first, c.face_start.at(i + 1), y)
    start = c.ring_start.at(best)
    count = c.ring_start.at(best + 1) - start
    for k in range(count):
        put_corner(c, w, polygon, k, c.corner.load(w, c.corner_start.at(i) + c.ring.at(start + k)))
    return count, best - first, c.face_normal.load(w, best) * 1.0


def further_face(faces, k):
    """Number of some faces and of one more, k of its shape."""
    return local((faces * 61 + k) % FACES)


def number_of_faces(faces, reference):
    """Number of two faces, of which one clips."""
    return local((faces * 2 + ti.max(reference, 0)) % FACES)
