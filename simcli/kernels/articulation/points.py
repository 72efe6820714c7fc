"""Points of links in the world, and forces that act there."""

from simcli.kernels.articulation.kinematics import point_velocity, upright
from simcli.kernels.language import ti
from simcli.kernels.language.values import Force, Vec3


@ti.func
def world_point(t: ti.template(), s: ti.template(), w: ti.i32, link: ti.i32, point: ti.template()):
    """Position about the tree's O [m], position in the world [m], velocity [m/s] of a point of a link.

    Reads: s.{R, o, v, origin}. A link of -1 is the world: O is its origin.
    """
    zero = t.arena.zero()
    x = Vec3(zero, zero, zero) + point
    world = Vec3(zero, zero, zero) + point
    rate = Vec3(zero, zero, zero)
    if link >= 0:
        x = s.o.load(w, link) + s.R.load(w, link) * point
        world = x + s.origin.load(w, t.root.at(link))
        rate = point_velocity(s.v.load(w, link), x)
    return x, world, rate


@ti.func
def world_turn(t: ti.template(), s: ti.template(), w: ti.i32, link: ti.i32):
    """Rotation of a link, and its angular velocity [rad/s]; those of the world, a link of -1, rest.

    Reads: s.{R, v}
    """
    zero = t.arena.zero()
    R = upright(zero)
    spin = Vec3(zero, zero, zero)
    if link >= 0:
        R = s.R.load(w, link)
        spin = s.v.load(w, link).angular
    return R, spin


@ti.func
def add_force(s: ti.template(), w: ti.i32, link: ti.i32, x: ti.template(), force: ti.template(), torque: ti.template()):
    """Add a force at the point x about O, and a torque, to a link; nothing if the link is the world.

    Writes: s.external
    """
    if link >= 0:
        s.external.store(w, link, s.external.load(w, link) + Force.of(force, torque + x.cross(force)))
