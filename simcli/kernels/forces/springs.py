"""Springs and dampers between two points, straight or over pulleys; slack ones are ropes. Drag on points of bodies.

A spring over pulleys is a chain of straight segments, of which each pulls on its two links with the tension of all of it:

    L = sum |d_i|,   T = k (L - rest) + c L'      d_i: the way of segment i

so that a pulley takes T (e_i+1 - e_i), and no torque about its own point.

Drag of a medium acts on points of bodies, and on their turning:

    F = -(c + q |u|) u,  u = v - wind       M = -(d + r |w|) w

What is lost is -F.u - M.w; the wind does the work F.wind.

Source: Rayleigh (1876), drag that grows with the square of the speed; Stokes (1851), viscous drag. No deviation.
"""

import numpy as np

from simcli.kernels.articulation.points import world_point
from simcli.kernels.device.arena import local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.coordinate_laws import Response, drag_law, law_lines, value_on_line
from simcli.kernels.rows.forms import length_along
from simcli.model.forces.spring import segments_of
from simcli.model.joints.tree_kinematics import link_points, links_of
from simcli.model.tables.model import Model


@ti.func
def act_of_spring(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What spring k does to its links, along the line of its ends; see wrenches.py.

    Reads: u columns, s.{R, o, v, origin}
    """
    zero = t.arena.zero()
    x_a, p_a, v_a = world_point(t, s, w, u.link_a.at(k), u.point_a.load(w, k))
    x_b, p_b, v_b = world_point(t, s, w, u.link_b.at(k), u.point_b.load(w, k))
    length, rate, along = length_along(p_b - p_a, v_b - v_a)
    law, dissipated, acts = spring_law(u, w, k, length, rate)
    return along * select(acts, law.force, zero), Vec3(zero, zero, zero), x_a, x_b, dissipated, zero, law.energy


@ti.func
def act_of_segment(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, m: ti.i32):
    """What segment m of the springs does to its links; see wrenches.py. The first one of a spring measures all of it.

    Reads:  u columns, s.{R, o, v, origin}
    Writes: u.force of the spring
    """
    zero = t.arena.zero()
    dissipated = zero
    potential = zero
    k = u.spring.at(m)
    if m == u.first.at(k):
        length = zero
        rate = zero
        for n in range(u.first.at(k), u.first.at(k + 1)):
            part, part_rate, _along, _x_a, _x_b = measure_segment(t, u, s, w, n)
            length = length + part
            rate = rate + part_rate
        law, power, acts = spring_law(u, w, k, length, rate)
        u.force.store(w, k, select(acts, law.force, zero))
        dissipated = power
        potential = law.energy
    _length, _rate, along, x_a, x_b = measure_segment(t, u, s, w, m)
    return along * u.force.load(w, k), Vec3(zero, zero, zero), x_a, x_b, dissipated, zero, potential


@ti.func
def measure_segment(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, m: ti.i32):
    """Length, rate and direction of segment m, and its ends about the O of each.

    Reads: u columns, s.{R, o, v, origin}
    """
    x_a, p_a, v_a = world_point(t, s, w, u.link_a.at(m), u.point_a.load(w, m))
    x_b, p_b, v_b = world_point(t, s, w, u.link_b.at(m), u.point_b.load(w, m))
    length, rate, along = length_along(p_b - p_a, v_b - v_a)
    return length, rate, along, x_a, x_b


class Springs:
    """Device columns of springs; a point in the world keeps its coordinates, a point of a body becomes one of its link.

    Attributes:
        n: segments, as many as springs where none runs over a pulley.  n_pulleys: of all springs.
        link_a, link_b: links that carry the ends of the segments, -1 for the world.  point_a, point_b: there.
        first: first segment of each spring, and their number behind them.  spring: of each segment.
        force: [N] of each spring along its segments, where there are pulleys.
        stiffness, damping, rest_length, slack: see `model.forces.tables.Springs`.
        line, damper: tensions by tables, of elongation and rate; None where no spring has one.
        by_rows: True where rows of the constrained system carry their tension.
    """

    _data_oriented = True
    act = staticmethod(act_of_spring)
    stores, damps, need_poses = True, False, False  # where steps load the middle, rows have them

    def __init__(self, model: Model, tables: Tables, _forces):
        springs, segments, self.by_rows = model.springs, segments_of(model.springs), False
        self.n, self.n_pulleys = len(segments.spring), len(springs.pulley_spring)
        self.arena, items = tables.arena, tables.arena.records(len(springs.name))
        parts = tables.arena.records(self.n) if self.n_pulleys else items
        self.link_a, self.link_b = (parts.ints(links_of(model.links, body)) for body in segments.body.T)
        self.point_a, self.point_b = (
            parts.column(link_points(model.links, segments.body[:, k], segments.point[:, :, k]), Vec3) for k in range(2)
        )
        if self.n_pulleys:
            self.act = act_of_segment
            self.first, self.spring = tables.arena.ints(segments.first), parts.ints(segments.spring)
            self.force = items.array()
        self.stiffness, self.damping = items.column(springs.stiffness), items.column(springs.damping)
        self.line, self.damper = law_lines(springs, "spring", tables.arena)
        self.rest_length, self.slack = items.column(springs.rest_length), items.ints(springs.slack)

    def is_slack(self, k):
        """Mask of all lanes, whether spring k is a rope (inside kernels)."""
        return local(self.arena.zero() + ti.cast(self.slack.at(k), self.arena.device.real) > 0.0)


def spring_law(u: Springs, w, k, length, rate):
    """Spring k, along its length; a slack one never pushes.

        T = k (length - rest) + c rate,   F = -T     as if it acted; with tables f(length - rest), g(rate) besides

    Returns:
        The response as if it acted, but for V; what the damper takes [W]; and a mask of where it acts. A slack spring that
        is stretched gives nothing while its damper would push: the damper takes what the spring gives.
    """
    none = u.arena.zero()
    stiffness, damping = local(none + u.stiffness.load(w, k)), local(none + u.damping.load(w, k))
    stretch, is_slack = local(length - u.rest_length.load(w, k)), u.is_slack(k)
    tension = local(stretch * stiffness + rate * damping)
    elastic = local(select(is_slack & (stretch <= 0.0), none, stretch * stiffness))
    energy, loss, against = stretch * elastic * 0.5, rate * rate * damping * 0.5, damping * rate
    if u.line is not None:
        force, slope, stored = value_on_line(u.line, w, k, stretch)
        tension, stiffness = local(tension + force), local(stiffness + slope)
        hangs = local(is_slack & (stretch <= 0.0))
        elastic, energy = local(elastic + select(hangs, none, force)), local(energy + select(hangs, none, stored))
    if u.damper is not None:
        force, slope, lost = value_on_line(u.damper, w, k, rate)
        tension, damping, against, loss = local(tension + force), local(damping + slope), against + force, loss + lost
    acts = local(~is_slack | ((stretch > 0.0) & (tension > 0.0)))
    dissipated = local(select(acts, against, -elastic) * rate)
    return Response(-tension, stiffness, damping, energy, loss), dissipated, acts


@ti.func
def act_of_drag(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What drag k does to its link; see wrenches.py.

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

    def __init__(self, model: Model, tables: Tables, _forces):
        drags, self.n, self.by_rows = model.drags, len(model.drags.name), False
        self.arena = tables.arena
        if not self.n:  # nothing reads the columns then
            return
        items = tables.arena.records(self.n)
        self.link_a, self.link_b = items.ints(np.full(self.n, -1)), items.ints(links_of(model.links, drags.body))
        self.point = items.column(link_points(model.links, drags.body, drags.point), Vec3)
        self.wind = items.column(drags.wind, Vec3)
        for name in ("damping", "quadratic", "angular_damping", "angular_quadratic"):
            setattr(self, name, items.column(getattr(drags, name)))
