"""The parts of a rope between its stops, and its way around cylinders and spheres, in kernels.

model/forces/ropes.py has the geometry and its symbols; ropes.py, what the parts do.
"""

from math import pi

from simcli.kernels.articulation.kinematics import point_velocity
from simcli.kernels.articulation.points import world_point, world_turn
from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import atan2, select, select_parts, sincos
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.forms import length_along
from simcli.model.forces.ropes import BENDS
from simcli.model.tables.force_tables import StopKind

_SPHERE = int(StopKind.SPHERE)
COLLINEAR_SQUARED = 1e-18  # of the sine between two points of a sphere below which they tell no plane


def way_around(p: Vec3, q: Vec3, radius, axis: Vec3, side: Vec3, is_sided):
    """The way from p to q (inside kernels).

    Args:
        p, q: [m], about the centre.
        radius: [m], positive.
        axis: unit normal of the plane in which it turns: of a cylinder its axis, of a sphere `sphere_normal`.
        side: [m], a point on the side on which it passes, about the centre.
        is_sided: mask of whether there is one.

    Returns:
        Points of first and last contact [m], about the centre; half way where it touches nothing.
        Angle of contact [rad], of the normal curvature of the way along it; 0 where it touches nothing.
        Length of the arc [m]; and the mask of where it touches.
    """
    height, rise = p.dot(axis), local(q.dot(axis) - p.dot(axis))
    flat_p, flat_q = p - axis * height, q - axis * q.dot(axis)
    a, b = local(ti.sqrt(flat_p.dot(flat_p))), local(ti.sqrt(flat_q.dot(flat_q)))
    outside = local((a > radius) & (b > radius))
    a, b = select(outside, a, radius * 2.0), select(outside, b, radius * 2.0)
    x = flat_p * (1.0 / a)
    reach_p, reach_q = local(ti.sqrt(a * a - radius * radius)), local(ti.sqrt(b * b - radius * radius))
    taken = local(atan2(reach_p, radius) + atan2(reach_q, radius))
    turn = atan2(flat_q.dot(axis.cross(x)), flat_q.dot(x))
    turn = select(turn < 0.0, turn + 2.0 * pi, turn)
    left, right = local(turn - taken), local(2.0 * pi - turn - taken)
    long = local(outside & is_sided & crosses_back(flat_p, flat_q, side, axis))
    touches = local(outside & (long | (ti.min(left, right) > 0.0)))
    is_left = local((long & (left > right)) | (~long & (left <= right)))
    zero = local(a * 0.0)
    arc, sign = select(touches, select(is_left, left, right), zero), select(is_left, zero + 1.0, zero - 1.0)
    plane = local(reach_p + radius * arc + reach_q)
    first = x * (radius / a) + axis.cross(x) * (sign * reach_p / a)
    back = flat_q * (1.0 / b)
    last = back * (radius / b) - axis.cross(back) * (sign * reach_q / b)
    first = first * radius + axis * (height + rise * reach_p / plane)
    last = last * radius + axis * (height + rise * (1.0 - reach_q / plane))
    middle = (p + q) * 0.5
    slant = local(ti.sqrt(plane * plane + rise * rise) / plane)
    ends = select_parts(touches, first, middle), select_parts(touches, last, middle)
    return (*ends, local(arc / slant), local(radius * arc * slant), touches)


@ti.func
def bend_through(p: ti.template(), q: ti.template(), radius: ti.template(), axis: ti.template()):
    """The point at which the way from p to q bends within a ring, about its centre; and the mask of where it does.

    Arguments as of `way_around`.
    """
    height = p.dot(axis)
    rise = q.dot(axis) - height
    flat_p = p - axis * height
    flat_q = q - axis * q.dot(axis)
    size_a = ti.sqrt(flat_p.dot(flat_p))
    size_b = ti.sqrt(flat_q.dot(flat_q))
    outside = (size_a > radius) & (size_b > radius)
    a = select(outside, size_a, radius * 2.0)
    b = select(outside, size_b, radius * 2.0)
    x = flat_p * (1.0 / a)
    y = axis.cross(x)
    turn = atan2(flat_q.dot(y), flat_q.dot(x))
    most = atan2(ti.sqrt(a * a - radius * radius), radius) + atan2(ti.sqrt(b * b - radius * radius), radius)
    touches = outside & (ti.abs(turn) < most)
    theta = select(touches, ti.abs(turn), most)
    z = theta * 0.0 + 0.5 * pi
    for _ in range(BENDS):
        at_p, slope_p = bend_angle(z, radius / a)
        at_q, slope_q = bend_angle(z, radius / b)
        z = z - (at_p + at_q - theta) / (slope_p + slope_q)
    at, _slope = bend_angle(z, radius / a)
    reach_p = ti.sqrt((a - radius) ** 2 + a * radius * chord_squared(at))
    reach_q = ti.sqrt((b - radius) ** 2 + b * radius * chord_squared(theta - at))
    sine, cosine = sincos(at)
    sine = select(turn < 0.0, -sine, sine)
    place = x * (cosine * radius) + y * (sine * radius) + axis * (height + rise * reach_p / (reach_p + reach_q))
    return select_parts(touches, place, (p + q) * 0.5), touches


def bend_angle(z, part):
    """Angle about the centre from a place to a bend of half the angle z, and its slope; part: radius over distance."""
    sine, cosine = sincos(z)
    far = local(part * sine)
    rest = local(ti.sqrt(1.0 - far * far))
    return local(z - atan2(far, rest)), local(1.0 - part * cosine / rest)


def chord_squared(angle):
    """Square of the chord of an angle on a circle of radius 1."""
    half = sincos(local(angle * 0.5))[0]
    return local(half * half * 4.0)


def crosses_back(p: Vec3, q: Vec3, side: Vec3, n: Vec3):
    """Whether the line from p to q crosses the ray from the centre away from the side, in the plane with normal n."""
    left = n.cross(side)
    y_p, y_q = p.dot(left), q.dot(left)
    return local((y_p * y_q < 0.0) & ((y_p * q.dot(side) - y_q * p.dot(side)) * (y_p - y_q) < 0.0))


def sphere_normal(p: Vec3, q: Vec3, side: Vec3):
    """The unit normal of the plane of two points and the centre; where these are on one line, beside the side."""
    n, size = p.cross(q), local(p.dot(p) * q.dot(q))
    zero = local(size * 0.0)
    for other in (side, Vec3(zero + 1.0, zero, zero), Vec3(zero, zero + 1.0, zero)):
        tells = local(n.dot(n) > COLLINEAR_SQUARED * size)
        n = select_parts(tells, n, p.cross(other))
        size = select(tells, size, p.dot(p) * other.dot(other))
    square = n.dot(n)
    return n * (1.0 / local(ti.sqrt(select(square > 0.0, square, zero + 1.0))))


@ti.func
def lay_part(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, m: ti.i32):
    """A straight part between two points; its length.

    Reads:  u columns, s.{R, o, v, origin}
    Writes: u.{along, from_, to, rate, arc} of part m
    """
    _x, a, _v = world_point(t, s, w, u.link_a.at(m), u.point_a.load(w, m))
    _y, b, _u = world_point(t, s, w, u.link_b.at(m), u.point_b.load(w, m))
    length, along = length_and_way(b - a)
    lay(t, u, s, w, m, a, b, along)
    u.arc.store(w, m, t.arena.zero())
    return length


@ti.func
def lay_around(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, m: ti.i32):
    """Two straight parts, m and the next one, to and from what lies between them; their length and that of the arc.

    Reads:  u columns, s.{R, o, v, origin}
    Writes: u.{along, from_, to, rate, arc} of both parts
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    link = u.link_b.at(m)
    i = u.wraps.at(m) - 1
    _x, a, _v = world_point(t, s, w, u.link_a.at(m), u.point_a.load(w, m))
    _y, b, _u = world_point(t, s, w, u.link_b.at(m + 1), u.point_b.load(w, m + 1))
    _z, centre, _s = world_point(t, s, w, link, u.point_b.load(w, m))
    R, _spin = world_turn(t, s, w, link)
    _r, side_place, _q = world_point(t, s, w, u.side_link.at(i), u.side.load(w, i))
    side = side_place - centre
    axis = R * (none + u.axis.load(w, i))
    p = a - centre
    q = b - centre
    if u.kind.at(i) == _SPHERE:
        axis = sphere_normal(p, q, side)
    is_sided = zero + u.is_sided.load(w, i) > 0.0
    start, end, angle, arc, touches = way_around(p, q, zero + u.radius.load(w, i), axis, side, is_sided)
    if ti.static(u.bends):
        if u.is_inside.at(i) != 0:
            place, bent = bend_through(p, q, zero + u.radius.load(w, i), axis)
            start, end, angle, arc, touches = place, place * 1.0, zero * 1.0, zero * 1.0, bent
    _whole, beside = length_and_way(b - a)
    size_a, along_a = length_and_way(start - p)
    size_b, along_b = length_and_way(q - end)
    lay(t, u, s, w, m, a, centre + start, select_parts(touches, along_a, beside))
    lay(t, u, s, w, m + 1, centre + end, b, select_parts(touches, along_b, beside))
    u.arc.store(w, m, angle)
    u.arc.store(w, m + 1, zero)
    return size_a + arc + size_b


def length_and_way(way):
    """Length of a vector, and its direction: none where it has no length (inside kernels)."""
    length, _, along = length_along(way, way)
    return length, along


@ti.func
def lay(
    t: ti.template(),
    u: ti.template(),
    s: ti.template(),
    w: ti.i32,
    m: ti.i32,
    a: ti.template(),
    b: ti.template(),
    along: ti.template(),
):
    """Note part m from a to b, places in the world that its links carry.

    Reads:  s.{v, origin}
    Writes: u.{along, from_, to, rate} of part m
    """
    gap = velocity_at(t, s, w, u.link_b.at(m), b) - velocity_at(t, s, w, u.link_a.at(m), a)
    u.rate.store(w, m, along.dot(gap))
    u.along.store(w, m, -along)
    u.from_.store(w, m, a)
    u.to.store(w, m, b)


@ti.func
def about_origin(t: ti.template(), s: ti.template(), w: ti.i32, link: ti.i32, place: ti.template()):
    """A place in the world about the O of a link's tree.

    Reads: s.origin
    """
    x = place * 1.0
    if link >= 0:
        x = place - s.origin.load(w, t.root.at(link))
    return x


@ti.func
def velocity_at(t: ti.template(), s: ti.template(), w: ti.i32, link: ti.i32, place: ti.template()):
    """Velocity of the point of a link that is at a place in the world.

    Reads: s.{v, origin}
    """
    zero = t.arena.zero()
    rate = Vec3(zero, zero, zero)
    if link >= 0:
        rate = point_velocity(s.v.load(w, link), place - s.origin.load(w, t.root.at(link)))
    return rate
