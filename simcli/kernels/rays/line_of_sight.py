"""A ray against a shape in the frame of the shape: the stretch of it that is inside, for lines of sight that are measured.

Notation: o, d origin and direction of the ray, points o + t d. All shapes are convex, so that the inside of each is one
stretch from `enter` to `leave`; enter > leave if the ray misses it. Pictures have a way of their own (kernels/rays), in
single precision, with normals and colours.
"""

from simcli.kernels.language import ti
from simcli.kernels.language.values import Vec3
from simcli.model.tables.model import ShapeKind

_PLANE, _SPHERE, _BOX, _CAPSULE, _CYLINDER, _CONE, _ELLIPSOID, _MESH = (
    int(ShapeKind[name]) for name in ("PLANE", "SPHERE", "BOX", "CAPSULE", "CYLINDER", "CONE", "ELLIPSOID", "MESH")
)
_LEAST = 1e-30  # of a component by which is divided
MISSED = (1.0, -1.0)  # a stretch that is empty


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
