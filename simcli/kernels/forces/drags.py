"""Drag of a medium on points of bodies, and on their turning.

    F = -(c + q |u|) u,  u = v - wind       M = -(d + r |w|) w

What is lost is -F.u - M.w; the wind does the work F.wind.

Source: Rayleigh (1876), drag that grows with the square of the speed; Stokes (1851), viscous drag. No deviation.
"""

import numpy as np

from simcli.kernels.algebra.values import Vec3
from simcli.kernels.articulation.points import world_point
from simcli.kernels.language import ti
from simcli.kernels.laws.coordinate import drag_law
from simcli.kernels.memory.arena import local
from simcli.kernels.memory.tables import Tables
from simcli.kernels.rows.forms import length_along
from simcli.model.joints.tree_kinematics import link_points, links_of
from simcli.model.tables.model import Model


@ti.func
def act_of_drag(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What drag k does to its link; see external.py.

    Reads: u columns, s.{R, o, v, origin}
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    link = u.link_b.at(k)
    x, _, v = world_point(t, s, w, link, u.point.load(w, k))
    force, torque, dissipated, supplied = act_of_medium(u, w, k, v, s.v.load(w, link).angular)
    return force, torque, none, x, dissipated, supplied, zero


def act_of_medium(u, w, k, v, spin):
    """What drag k does at both velocities, of its point and of turning, and what it takes and gives [W] (inside kernels)."""
    (force, _law, _along, _across), (torque, *_turning) = drags_of(u, w, k, v, spin)
    supplied = force.dot(Vec3(*(u.arena.zero() + x for x in u.wind.load(w, k).parts)))
    return force, torque, local(supplied - force.dot(v) - torque.dot(spin)), supplied


def drags_of(u, w, k, v, spin):
    """`drag_along` of the point of drag k at a velocity, and of its turning (inside kernels)."""
    none = u.arena.zero()
    against = v - Vec3(*(none + x for x in u.wind.load(w, k).parts))
    point = drag_along(against, none + u.damping.load(w, k), none + u.quadratic.load(w, k))
    return point, drag_along(spin, none + u.angular_damping.load(w, k), none + u.angular_quadratic.load(w, k))


def drag_along(v: Vec3, viscous, quadratic):
    """Drag against a velocity: force, response to the speed, its direction, and what times v is -F."""
    speed, _, along = length_along(v, v)
    across = local(viscous + quadratic * speed)
    return -(v * across), drag_law(viscous, quadratic, speed), along, across


@ti.func
def drag_of_row(u: ti.template(), w: ti.i32, n: ti.i32, v: ti.template()):
    """Force and response of part n of the drags, of the point of drag n / 2 or of its turning, at its velocity.

    Reads: u columns
    """
    k = n // 2
    zero = v.parts[0] * 0.0
    viscous = zero + u.damping.load(w, k)
    quadratic = zero + u.quadratic.load(w, k)
    against = v - u.wind.load(w, k)
    if n % 2 == 1:
        viscous = zero + u.angular_damping.load(w, k)
        quadratic = zero + u.angular_quadratic.load(w, k)
        against = Vec3(v.parts[0], v.parts[1], v.parts[2])
    force, law, _along, _across = drag_along(against, viscous, quadratic)
    return force, law


class DragColumns:
    """Device columns of drags.

    Attributes:
        n: drags.  link_a: -1, the world.  link_b: the link that each acts on.  point: where, in it.
        damping, quadratic, angular_damping, angular_quadratic, wind: see `model.forces.tables.Drags`.
        by_rows: True where rows, or energies of affine bodies, have them instead.
    """

    _data_oriented = True
    act = staticmethod(act_of_drag)
    stores, need_poses, damps = False, True, True

    def __init__(self, model: Model, tables: Tables):
        drags, self.n, self.by_rows = model.drags, len(model.drags.name), False
        self.arena = tables.arena
        if not self.n:  # nothing reads the columns then
            return
        items = tables.arena.records(self.n)
        self.link_a, self.link_b = items.ints(np.full(self.n, -1)), items.ints(links_of(model, drags.body))
        self.point = items.column(link_points(model, drags.body, drags.point), Vec3)
        self.wind = items.column(drags.wind, Vec3)
        for name in ("damping", "quadratic", "angular_damping", "angular_quadratic"):
            setattr(self, name, items.column(getattr(drags, name)))
