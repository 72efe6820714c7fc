"""Where contacts are at the present poses: their surfaces, their normals and their gaps.

As all that depends on which links touch it goes lane by lane on scalars, or for all worlds at once, where they are alike.
"""

from simcli.kernels.collision.collider import CAPSULE, PLANE, SPHERE, TERRAIN, radius_in
from simcli.kernels.collision.table_rows import contacts_of, most_contacts
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.device.arena import local
from simcli.kernels.device.crew import items_of_part
from simcli.kernels.device.lanes import one, put, whole_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts, share
from simcli.kernels.language.values import Vec3


@ti.func
def base_of(k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), i: ti.i32):
    """[m], what places on shape i are counted from: the reference point of its tree, or in the world the shape's place."""
    x = one(k.base, w, lane, i) * 1.0
    link = k.link.at(i)
    if link >= 0:
        x = one(s.origin, w, lane, t.root.at(link)) * 1.0
    return x


@ti.func
def way_between_bases(k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32):
    """[m], from the base of A to that of B at the present poses: see `way_between`."""
    base_a = base_of(k, t, s, w, lane, whole_of(k.contacts.shape_a, w, lane, c))
    return base_of(k, t, s, w, lane, whole_of(k.contacts.shape_b, w, lane, c)) - base_a


@ti.func
def core_place(s: ti.template(), w: ti.i32, lane: ti.template(), link: ti.i32, core: ti.template()):
    """[m], where a point of a link, or of a shape of the world, is at the present poses, from its base."""
    x = core * 1.0
    if link >= 0:
        x = one(s.o, w, lane, link) + one(s.R, w, lane, link) * core
    return x


@ti.func
def core_places(k: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32):
    """[m], where contact c has the core points of A and of B at the present poses, each from its base."""
    x_a = core_place(s, w, lane, k.link.at(whole_of(k.contacts.shape_a, w, lane, c)), one(k.contacts.core_a, w, lane, c))
    x_b = core_place(s, w, lane, k.link.at(whole_of(k.contacts.shape_b, w, lane, c)), one(k.contacts.core_b, w, lane, c))
    return x_a, x_b


@ti.func
def surface_points(k: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32, n: ti.template()):
    """[m], where contact c has the surfaces of A and of B at the present poses: core point + radius along a normal.

    Each is counted from its base.
    """
    x_a, x_b = core_places(k, s, w, lane, c)
    return x_a + n * one(k.contacts.radius_a, w, lane, c), x_b - n * one(k.contacts.radius_b, w, lane, c)


@ti.func
def pushed_points(k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32):
    """[m], where contact c pushes A and B, from their bases: each at its surface point; in an overlap both in its middle.

    Surface points across an open gap meet when the bodies touch. A point that both share, in the middle of the gap, would be
    off each of them by half the gap, and would turn the friction of an impact into too much spin. In an overlap, which may
    last, one point keeps the angular momentum of two bodies.
    """
    n = one(k.contacts.normal, w, lane, c)
    point_a, point_b = surface_points(k, s, w, lane, c, n)
    apart = n.dot(way_between_bases(k, t, s, w, lane, c) + (point_b - point_a))
    overlap = ti.min(apart, apart * 0.0)
    return point_a + n * (0.5 * overlap), point_b - n * (0.5 * overlap)


@ti.func
def _inflation(k: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32, i: ti.i32):
    """[m], what margins add to the radius of contact c about shape i; 0 of spheres and capsules, which are larger ones."""
    r = radius_in(k, w, lane, i, whole_of(k.contacts.combination, w, lane, c))
    kind = k.kind.at(i)
    if kind == SPHERE or kind == CAPSULE:
        r = 0.0 * r
    return r


@ti.func
def _part_of_other(k: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32):
    """[1], with which part of the way of B a contact moves along its shapes, the rest being that of A's."""
    a = whole_of(k.contacts.shape_a, w, lane, c)
    b = whole_of(k.contacts.shape_b, w, lane, c)
    r_a = one(k.contacts.radius_a, w, lane, c) - _inflation(k, w, lane, c, a)
    r_b = one(k.contacts.radius_b, w, lane, c) - _inflation(k, w, lane, c, b)
    part = 0.5 + 0.0 * r_a
    if is_ground(k, a):
        part = 1.0 + 0.0 * r_a
    else:
        both = r_a + r_b
        part = select(both > 0.0, r_a / select(both > 0.0, both, both * 0.0 + 1.0), part)
        part = select((both > 0.0) & (r_a == 0.0), 1.0 + 0.0 * r_a, part)
        part = select((both > 0.0) & (r_a > 0.0) & (r_b == 0.0), 0.0 * r_a, part)
    return part


@ti.func
def place_of_contact(k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, lane: ti.i32, c: ti.i32):
    """[m], the middle of the gap of contact c at the present poses.

    What slides along a plane or a face takes the contact with it, while the point of the face stays behind. Of two rounded
    surfaces the larger radius leaves more of the way to the other one, in the ratio of the radii; two features of
    polyhedra share it. Margins make no flat feature a rounded one here.

    Reads:  k, s.{R, o, origin}
    """
    n = one(k.contacts.normal, w, lane, c)
    point_a, point_b = surface_points(k, s, w, lane, c, n)
    part = _part_of_other(k, w, lane, c)
    apart = way_between_bases(k, t, s, w, lane, c) + (point_b - point_a)
    gap = n.dot(apart)
    base = base_of(k, t, s, w, lane, whole_of(k.contacts.shape_a, w, lane, c))
    return base + (point_a + n * (0.5 * gap) + (apart - n * gap) * part)


@ti.func
def _motion_of_core(t: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), link: ti.i32, core: ti.template()):
    """Velocity [m/s] of a core point of a link, or the world, acceleration [m/s^2] where no velocity changes, and spin.

    Reads:  s.{R, o, origin, v}, in joint coordinates s.a, of `rnea_link_forces`
    """
    v = core * 0.0
    a = core * 0.0
    spin = core * 0.0
    if link >= 0:
        x = one(s.o, w, lane, link) + one(s.R, w, lane, link) * core
        twist = one(s.v, w, lane, link)
        spin = twist.angular
        v = twist.linear + spin.cross(x)
        if ti.static(t.is_natural):
            a = spin.cross(spin.cross(one(s.R, w, lane, link) * (core - one(t.com, w, lane, link))))
        else:
            given = one(s.a, w, lane, link)
            a = given.linear + one(t.gravity, w, lane, 0) + given.angular.cross(x) + spin.cross(v)
    return v, a, spin


@ti.func
def bend_of_contact(k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32):
    """[m/s^2], the rate of the velocity that a contact sees, B's less A's, while no velocity changes and it moves along.

    Of each side the acceleration of its core point, and w x (how fast the contact moves along it), which goes with the
    rounded shape, or with a corner.

    Reads:  k, s of `_motion_of_core`
    """
    link_a = k.link.at(whole_of(k.contacts.shape_a, w, lane, c))
    link_b = k.link.at(whole_of(k.contacts.shape_b, w, lane, c))
    v_a, bend_a, spin_a = _motion_of_core(t, s, w, lane, link_a, one(k.contacts.core_a, w, lane, c))
    v_b, bend_b, spin_b = _motion_of_core(t, s, w, lane, link_b, one(k.contacts.core_b, w, lane, c))
    apart = v_b - v_a
    part = _part_of_other(k, w, lane, c)
    bend_a = bend_a + spin_a.cross(apart * part)
    bend_b = bend_b - spin_b.cross(apart * (1.0 - part))
    return bend_b - bend_a


@ti.func
def find_gaps(k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32):
    """Gaps of the contacts at the present poses, along their normals.

    Reads:  k, s.{R, o, origin}
    Writes: k.contacts.reach
    """
    first, end = items_of_part(k.arena, w, most_contacts(k, w))
    for c in range(first, end):
        if whole(k.contacts.alike, w, c) != 0:
            if ti.static(k.lanes > 1):
                _find_gap(k, t, s, w, None, c)
        else:
            for lane in range(k.lanes):
                if c < contacts_of(k, w, lane):
                    _find_gap(k, t, s, w, lane, c)


@ti.func
def _find_gap(k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32):
    n = turned_normal(k, t, s, w, lane, c)
    point_a, point_b = surface_points(k, s, w, lane, c, n)
    put(k.contacts.reach, w, lane, c, n.dot(way_between_bases(k, t, s, w, lane, c) + (point_b - point_a)))


@ti.func
def turned_normal(k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32):
    """The normal of contact c at the present poses: so the gap of what turns together stays, whatever else it does.

    With a normal that stood still a ball of radius r, in a frame that turns by an angle a, would sink r a^2 / 2 into it in
    each step, and where joints hold the ball, the impulse against that would grow and grow.

    Returns:
        That of the flat one of two shapes; of two balls the line of their centres; else what both turn it by.
    """
    n = one(k.contacts.normal, w, lane, c)
    a = whole_of(k.contacts.shape_a, w, lane, c)
    b = whole_of(k.contacts.shape_b, w, lane, c)
    found = n * 1.0
    if k.link.at(a) >= 0 or (k.link.at(b) >= 0 and not is_ground(k, a)):
        with_a = _turned_with(s, w, lane, k.link.at(a), one(k.contacts.normal_a, w, lane, c))
        if is_ground(k, a):
            found = with_a
        elif k.kind.at(a) == SPHERE and k.kind.at(b) == SPHERE:
            found = _line_of_centres(k, t, s, w, lane, c, n)
        else:
            with_b = _turned_with(s, w, lane, k.link.at(b), one(k.contacts.normal_b, w, lane, c))
            r_a = one(k.contacts.radius_a, w, lane, c) - _inflation(k, w, lane, c, a)
            r_b = one(k.contacts.radius_b, w, lane, c) - _inflation(k, w, lane, c, b)
            shared = common_turn(n, with_a, with_b)
            found = select_parts((r_b == 0.0) & (r_a > 0.0), with_b, shared)
            found = select_parts((r_a == 0.0) & (r_b > 0.0), with_a, found)
    return found


def is_ground(k, i):
    """Whether shape i has surfaces that are flat and nothing else (inside kernels)."""
    kind = k.kind.at(i)
    return (kind == PLANE) | (kind == TERRAIN)


@ti.func
def _turned_with(s: ti.template(), w: ti.i32, lane: ti.template(), link: ti.i32, normal: ti.template()):
    """A normal of a link, or of the world, in the world."""
    found = normal * 1.0
    if link >= 0:
        found = one(s.R, w, lane, link) * normal
    return found


@ti.func
def _line_of_centres(
    k: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32, n: ti.template()
):
    """The unit vector from core to core, unless it is far from a normal."""
    x_a, x_b = core_places(k, s, w, lane, c)
    line = way_between_bases(k, t, s, w, lane, c) + (x_b - x_a)
    square = line.dot(line)
    along = n.dot(line)
    near = (along > 0.0) & (along * along > 0.5 * square)
    return select_parts(near, line * (1.0 / ti.sqrt(select(near, square, square * 0.0 + 1.0))), n)


def common_turn(n: Vec3, one_turned: Vec3, other: Vec3) -> Vec3:
    """What two links turn a normal by in common: by the part of the larger turn that is that of the other one, too."""
    a, b = one_turned - n, other - n
    square_a, square_b = local(a.dot(a)), local(b.dot(b))
    larger, most = select_parts(square_a > square_b, a, b), ti.max(square_a, square_b)
    part = ti.max(ti.min(share(a.dot(b), most), 1.0), 0.0)
    turned = n + larger * local(part)
    return turned * (1.5 - 0.5 * turned.dot(turned))  # of unit length, to fourth order
