"""A ray against a shape in the frame of the shape: the stretch of it that is inside, for lines of sight that are measured.

Notation: o, d origin and direction of the ray, points o + t d. All shapes are convex, so that the inside of each is one
stretch from `enter` to `leave`; enter > leave if the ray misses it. Pictures have a way of their own (kernels/rays), in
single precision, with normals and colours.
"""

import numpy as np

from simcli import rotations as rot
from simcli.kernels.articulation.kinematics import quaternion_at, upright, vector_at
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.lanes import unit_or
from simcli.kernels.language import ti
from simcli.kernels.language.values import Mat3, Vec3
from simcli.model.bodies.colliders import colliders
from simcli.model.tables.body_tables import Shapes
from simcli.model.tables.model import Model, ShapeKind

_PLANE, _SPHERE, _BOX, _CAPSULE, _CYLINDER, _CONE, _ELLIPSOID, _MESH = (
    int(ShapeKind[name]) for name in ("PLANE", "SPHERE", "BOX", "CAPSULE", "CYLINDER", "CONE", "ELLIPSOID", "MESH")
)
_LEAST = 1e-30  # of a component by which is divided
MISSED = (1.0, -1.0)  # a stretch that is empty


class RayTargets:
    """Shapes that rays can meet: those that can touch something.

    Args:
        model: host tables.
        arena: receives the columns.

    Attributes:
        n: shapes.  index: in the model.  kind, body: of each.  size: [m].  place, turn: [m], [1], of its frame in its body.
        face_start: (n + 1), where the faces of each hull begin.  face_normal, face_height: [1], [m], in its frame.
    """

    _data_oriented = True

    def __init__(self, model: Model, arena: Arena):
        shapes = model.shapes
        chosen = np.flatnonzero(shapes.collide & (shapes.kind != ShapeKind.HEIGHTFIELD))
        hulls = colliders(model, chosen)
        self.n, self.index, items = len(chosen), chosen, arena.records(len(chosen))
        self.kind, self.body = items.ints(shapes.kind[chosen]), items.ints(shapes.body[chosen])
        pose = shapes.pose[:, chosen]
        turn = rot.quat_to_matrix(pose[..., 3:])
        middle = [_middle_of(model.shapes, s) for s in chosen]
        self.size, self.turn = items.column(shapes.size[:, chosen], Vec3), items.column(turn, Mat3)
        place = pose[..., :3] + np.einsum("wsij,sj->wsi", turn, np.array(middle).reshape(-1, 3))
        self.place = items.column(place, Vec3)
        spans = [range(*hulls.face_start[s : s + 2]) for s in chosen]
        faces = np.array([f for span in spans for f in span], int)
        owner = np.array([s for s, span in zip(chosen, spans, strict=True) for _ in span], int)
        normal = hulls.face_normal[faces]
        corner = hulls.corner[hulls.corner_start[owner] + hulls.ring[hulls.ring_start[faces]]]
        self.face_start = arena.ints(np.cumsum([0, *map(len, spans)]))
        rows = arena.records(len(faces))
        self.face_normal, self.face_height = rows.shared(normal, Vec3), rows.shared((normal * corner).sum(axis=-1))
        self.bodies = set(shapes.body[chosen][shapes.body[chosen] >= 0].tolist())


def _middle_of(shapes: Shapes, s: int) -> np.ndarray:
    """[m], (3,), where the hull of a mesh has its frame, in that of the shape; 0 of others."""
    if shapes.kind[s] != ShapeKind.MESH:
        return np.zeros(3)
    used = shapes.vertices[s][np.unique(shapes.faces[s])]
    return (used.min(axis=0) + used.max(axis=0)) / 2


@ti.func
def slab(o, d, half):
    """The stretch where |o + t d| <= half, of numbers."""
    step = d if ti.abs(d) > _LEAST else d * 0.0 + _LEAST
    one, other = (-half - o) / step, (half - o) / step
    return ti.min(one, other), ti.max(one, other)


@ti.func
def within_ball(o: ti.template(), d: ti.template()):
    """The stretch within the unit ball."""
    a, b, c = d.dot(d), o.dot(d), o.dot(o) - 1.0
    root = b * b - a * c
    enter, leave = a * 0.0 + MISSED[0], a * 0.0 + MISSED[1]
    if root >= 0.0:
        enter, leave = (-b - ti.sqrt(root)) / a, (-b + ti.sqrt(root)) / a
    return enter, leave


@ti.func
def within_frustum(o: ti.template(), d: ti.template(), middle, slope, half):
    """The stretch within x^2 + y^2 <= (middle + slope z)^2, |z| <= half, where the radius is not negative.

    With a < 0 the ray leaves one nappe and enters the other: of these two stretches one at most has |z| <= half.
    """
    x, y, z = o.parts
    u, v, w = d.parts
    r = middle + slope * z
    a, b, c = u * u + v * v - slope * slope * w * w, x * u + y * v - slope * w * r, x * x + y * y - r * r
    low, high = slab(z, w, half)
    enter, leave = low, high
    root = b * b - a * c
    if ti.abs(a) <= _LEAST:  # along the surface: a straight line in t
        turn = -c / (2.0 * b if ti.abs(b) > _LEAST else b * 0.0 + _LEAST)
        if b > 0.0:
            leave = ti.min(leave, turn)
        elif b < 0.0:
            enter = ti.max(enter, turn)
        elif c > 0.0:
            leave = enter - 1.0
    elif root < 0.0:
        if a > 0.0:
            leave = enter - 1.0
    else:
        q = -(b + ti.sqrt(root)) if b > 0.0 else ti.sqrt(root) - b  # the larger root; the other is c / q
        one, other = q / a, c / (q if ti.abs(q) > _LEAST else q * 0.0 + _LEAST)
        first, second = ti.min(one, other), ti.max(one, other)
        if a > 0.0:
            enter, leave = ti.max(low, first), ti.min(high, second)
        elif ti.min(high, first) - low > high - ti.max(low, second):
            leave = ti.min(high, first)
        else:
            enter = ti.max(low, second)
    return enter, leave


@ti.func
def within_capsule(o: ti.template(), d: ti.template(), radius, half):
    """The stretch within a bar along z with half balls on its ends."""
    enter, leave = within_frustum(o, d, radius, radius * 0.0, half)
    is_met = enter <= leave
    for side in ti.static((-1.0, 1.0)):
        shift = side * half
        first, last = within_ball(Vec3(o.parts[0], o.parts[1], o.parts[2] - shift) * (1.0 / radius), d * (1.0 / radius))
        if first <= last:
            enter = ti.min(enter, first) if is_met else first
            leave = ti.max(leave, last) if is_met else last
            is_met = True
    return enter, leave


@ti.func
def within_hull(m: ti.template(), s: ti.i32, o: ti.template(), d: ti.template()):
    """The stretch within the hull of shape s: behind all of its faces.

    Reads: m.{face_start, face_normal, face_height}
    """
    enter, leave = -ti.math.inf + o.parts[0] * 0.0, ti.math.inf + o.parts[0] * 0.0
    for f in range(m.face_start.at(s), m.face_start.at(s + 1)):
        n = m.face_normal.load(0, f)
        rise, depth = n.dot(d), m.face_height.load(0, f) - n.dot(o)
        at = depth / (rise if ti.abs(rise) > _LEAST else rise * 0.0 + _LEAST)
        if rise < 0.0:
            enter = ti.max(enter, at)
        elif rise > 0.0:
            leave = ti.min(leave, at)
        elif depth < 0.0:
            leave = -ti.math.inf + depth * 0.0
    return enter, leave


@ti.func
def stretch_within(m: ti.template(), s: ti.i32, size: ti.template(), o: ti.template(), d: ti.template()):
    """The stretch of a ray within shape s of a table of targets.

    Args:
        size: [m], as of `Shapes.size`.

    Reads: m.kind and the faces of its hull
    """
    kind = m.kind.at(s)
    a, b, c = size.parts
    zero = o.parts[0] * 0.0
    enter, leave = zero + MISSED[0], zero + MISSED[1]
    if kind == _PLANE:
        enter, leave = -ti.math.inf + zero, ti.math.inf + zero
        at = -o.parts[2] / (d.parts[2] if ti.abs(d.parts[2]) > _LEAST else zero + _LEAST)
        if d.parts[2] < 0.0:
            enter = at
        elif d.parts[2] > 0.0:
            leave = at
        elif o.parts[2] > 0.0:
            leave = -ti.math.inf + zero
    elif kind == _SPHERE or kind == _ELLIPSOID:
        y, z = (a if kind == _SPHERE else b), (a if kind == _SPHERE else c)
        enter, leave = within_ball(
            Vec3(o.parts[0] / a, o.parts[1] / y, o.parts[2] / z), Vec3(d.parts[0] / a, d.parts[1] / y, d.parts[2] / z)
        )
    elif kind == _BOX:
        enter, leave = -ti.math.inf + zero, ti.math.inf + zero
        for k in ti.static(range(3)):
            first, last = slab(o.parts[k], d.parts[k], size.parts[k] * 0.5)
            enter, leave = ti.max(enter, first), ti.min(leave, last)
    elif kind == _CAPSULE:
        enter, leave = within_capsule(o, d, a, b * 0.5)
    elif kind == _CYLINDER:
        enter, leave = within_frustum(o, d, a, zero, b * 0.5)
    elif kind == _CONE:
        enter, leave = within_frustum(o, d, a * 0.5, -a / b, b * 0.5)
    elif kind == _MESH:
        enter, leave = within_hull(m, s, o, d)
    return enter, leave


@ti.func
def distance_along(enter, leave):
    """The least t >= 0 at which a ray meets the surface about a stretch, where it enters or leaves; infinite without."""
    t = ti.select(enter >= 0.0, enter, leave)
    return ti.select((enter <= leave) & (t >= 0.0), t, ti.math.inf)


@ti.func
def seen_from_shape(t: ti.template(), rows: ti.template(), w: ti.i32, s: ti.i32, x: ti.template(), direction: ti.template()):
    """Axes of shape s of targets t in the world; where a ray begins, and its direction, in them.

    Reads: rows.body_q
    """
    b = t.body.at(s)
    zero = rows.body_q.arena.zero()
    R = upright(zero)
    x_b = Vec3(zero, zero, zero)
    if b >= 0:
        R = quaternion_at(rows.body_q, w, 7 * b + 3).matrix()
        x_b = vector_at(rows.body_q, w, 7 * b)
    axes = R * t.turn.load(w, s)
    return axes, axes.transposed_times(x - x_b - R * t.place.load(w, s)), axes.transposed_times(direction)


@ti.func
def normal_of_box(size: ti.template(), p: ti.template()):
    """`normal_at` for a box."""
    zero = p.parts[0] * 0.0
    n = Vec3(zero, zero, zero + 1.0)
    least = zero + ti.math.inf
    for k in ti.static(range(3)):
        depth = size.parts[k] * 0.5 - ti.abs(p.parts[k])
        if depth < least:
            least = depth
            side = ti.select(p.parts[k] < 0.0, zero - 1.0, zero + 1.0)
            n = Vec3(*[side if i == k else zero for i in range(3)])
    return n


@ti.func
def normal_of_barrel(kind: ti.i32, radius, length, p: ti.template()):
    """`normal_at` for a cylinder or a cone, not of unit length."""
    x, y, z = p.parts
    zero = x * 0.0
    slope = ti.select(kind == _CONE, radius / length, zero)
    middle = ti.select(kind == _CONE, radius * 0.5, radius)
    inside = (middle - slope * z - ti.sqrt(x * x + y * y)) / ti.sqrt(1.0 + slope * slope)
    n = unit_or(Vec3(x, y, zero), Vec3(zero, zero, zero + 1.0)) + Vec3(zero, zero, slope)
    if inside > 0.5 * length + z:
        n = Vec3(zero, zero, zero - 1.0)
    elif kind == _CYLINDER and inside > 0.5 * length - z:
        n = Vec3(zero, zero, zero + 1.0)
    return n


@ti.func
def normal_at(m: ti.template(), s: ti.i32, size: ti.template(), p: ti.template()):
    """The outward unit normal of shape s of a table of targets at a point p of its surface, in its frame.

    On an edge it is that of the surface of which the point is least inside.

    Args:
        size: [m], as of `Shapes.size`.

    Reads: m.kind and the faces of its hull
    """
    kind = m.kind.at(s)
    a, b, c = size.parts
    x, y, z = p.parts
    zero = x * 0.0
    n = Vec3(zero, zero, zero + 1.0)
    if kind == _SPHERE or kind == _ELLIPSOID:
        n = p * 1.0
        if kind == _ELLIPSOID:
            n = Vec3(x / (a * a), y / (b * b), z / (c * c))
    elif kind == _BOX:
        n = normal_of_box(size, p)
    elif kind == _CAPSULE:
        n = Vec3(x, y, z - ti.min(ti.max(z, -0.5 * b), 0.5 * b))
    elif kind == _CYLINDER or kind == _CONE:
        n = normal_of_barrel(kind, a, b, p)
    elif kind == _MESH:
        highest = zero - ti.math.inf
        for f in range(m.face_start.at(s), m.face_start.at(s + 1)):
            normal = m.face_normal.load(0, f)
            height = normal.dot(p) - m.face_height.load(0, f)
            if height > highest:
                highest = height
                n = normal * (zero + 1.0)
    return unit_or(n, Vec3(zero, zero, zero + 1.0))
