"""Ropes: springs over points, around cylinders and spheres, with and without friction, and paid out by coordinates.

The straight parts i of a rope, from a to b, run between stops; where it touches a cylinder or a sphere two of them end
there, at the points of contact. With l_i their rates of growth, the points of contact held in their body, and x paid out
at a:

    L' = sum l_i,   T = k (L - rest - x) + c (L' - x') + pull        each part pulls on its two links with T_i along it
    slip over stop s:   u_s = (sum of l_i after it - sum of l_i before it + x') / 2
    T_after / T_before = exp(mu phi tanh(u_s / v)),   (T_first + T_last) / 2 = T

T_i are those of Euler and Eytelwein at full slip; phi is the angle of contact. By these means the power of all parts is that
of T along L - x, and of (T_after - T_before) along u_s, which friction takes: never negative. What pays out bears T_first
along its coordinate. Where nothing rubs every T_i is T, and the forces are -T times the gradient of L - x.

A muscle of activation a and optimum length o pulls by F (a FL(l) FV(v) + FP(l)) besides, l = (L - x - shortest) / o + least,
v = (L' - x') / (o vmax). With a share s of the way from 1 to the ends of l, and u = 2 (l - 1) / (lmax - 1):

    FL = 1 - 2 s^2 up to s = 1/2, 2 (1 - s)^2 up to s = 1, 0 from there on        FV = (1 + v)^2, 0 from v = -1 down
    FP = p u^2 / 2 up to u = 1, p (u - 1/2) from there on, 0 below 0              FV = m - (m - 1 - v)^2 / (m - 1) from 0 up

Source: Euler (1769), Eytelwein (1793); the way is that of model/forces/ropes.py; Hill (1938), curves as MuJoCo states them
(Todorov 2014, actuator model of muscles). Deviation: friction depends on the slip smoothly, so that a rope that sticks
creeps: u is below v where the ratio of tensions stays below the bound. All work of muscles is supplied, that of FP too.
"""

import numpy as np

from simcli.kernels.articulation.points import world_point, world_turn
from simcli.kernels.device.arena import local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.springs import spring_law
from simcli.kernels.forces.wrapping import about_origin, lay_around, lay_part
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import exponential, select
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.coordinate_laws import law_lines
from simcli.kernels.rows.forms import angle_near, component_along
from simcli.model.constraints.rope_parts import paid_rows, parts_of_ropes
from simcli.model.joints.tree_kinematics import body_rotations, link_points, links_of
from simcli.model.tables.force_tables import StopKind
from simcli.model.tables.model import Model


@ti.func
def act_of_rope(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, m: ti.i32):
    """What part m of the ropes does to its links, or what pays out; see wrenches.py. The first one of a rope measures it.

    Reads:  u columns, s.{R, o, v, origin, q, qd}
    Writes: u columns of what is measured
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    k = u.rope.at(m)
    dissipated = zero
    supplied = zero
    potential = zero
    if m == u.first.at(k):
        dissipated, supplied, potential = measure_rope(t, u, s, w, k)
    force = none + u.along.load(w, m)
    couple = Vec3(zero, zero, zero)
    if u.turns.at(m) != 0:
        couple = none + u.along.load(w, m)
        force = Vec3(zero, zero, zero)
    tension = u.tension.load(w, m)
    x_a = about_origin(t, s, w, u.link_a.at(m), u.from_.load(w, m))
    x_b = about_origin(t, s, w, u.link_b.at(m), u.to.load(w, m))
    return force * tension, couple * tension, x_a, x_b, dissipated, supplied, potential


@ti.func
def measure_rope(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """Parts and tensions of rope k; what is dissipated and supplied [W], and what it stores [J].

    Reads:  u columns, s.{R, o, v, origin, q, qd}
    Writes: u.{along, from_, to, rate, arc, tension} of its parts
    """
    zero = t.arena.zero()
    length = zero
    first = u.first.at(k)
    paid = u.first_paid.at(k)
    last = u.first.at(k + 1)
    for m in range(first, paid):
        if u.wraps.at(m) == 0:
            length = length + lay_part(t, u, s, w, m)
        elif u.wraps.at(m) > 0:
            length = length + lay_around(t, u, s, w, m)
    rate = zero
    for m in range(first, paid):
        rate = rate + u.rate.load(w, m)
    out = zero
    out_rate = zero
    for m in range(paid, last):
        x, v = lay_paid(t, u, s, w, m)
        out = out + x
        out_rate = out_rate + v
    law, dissipated, acts = spring_law(u, w, k, length - out, rate - out_rate)
    pull = zero + u.pull.load(w, k)
    if ti.static(u.has_muscles):
        if u.muscle.at(k) >= 0:
            pull = pull + muscle_tension(u, w, u.muscle.at(k), length - out, rate - out_rate)
    tension = select(acts, -law.force, zero) + pull
    rubbed = share_tension(u, w, k, tension, rate, out_rate)
    return dissipated + rubbed, pull * (out_rate - rate), law.energy


@ti.func
def muscle_tension(u: ti.template(), w: ti.i32, m: ti.i32, length: ti.template(), rate: ti.template()):
    """[N], of muscle m at a length and its rate; see the top.

    Reads: u columns
    """
    zero = length * 0.0
    optimum = zero + u.optimum.load(w, m)
    x = (length - u.shortest.load(w, m)) / optimum + u.least.load(w, m)
    v = rate / (optimum * u.max_velocity.load(w, m))
    low = x - 1.0 < 0.0
    reach = select(low, 1.0 - (zero + u.min_length.load(w, m)), zero + u.max_length.load(w, m) - 1.0)
    share = ti.abs(x - 1.0) / reach
    rest = ti.max(1.0 - share, zero)
    active = select(share < 0.5, 1.0 - share * share * 2.0, rest * rest * 2.0)
    most = zero + u.lengthening.load(w, m)
    slow = ti.max(v + 1.0, zero)
    gap = ti.max(most - 1.0 - v, zero)
    fast = most - gap * gap / select(most > 1.0, most - 1.0, zero + 1.0)
    stretch = select(low, zero, share * 2.0)
    passive = select(stretch < 1.0, stretch * stretch * 0.5, stretch - 0.5) * u.passive.load(w, m)
    activation = ti.min(ti.max(zero + u.muscle_activation.load(w, m), zero), zero + 1.0)
    return (activation * active * select(v < 0.0, slow * slow, fast) + passive) * u.muscle_force.load(w, m)


@ti.func
def lay_paid(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, m: ti.i32):
    """What coordinate m pays out [m], and how fast; how it acts on its joint.

    Reads:  u columns, s.{R, o, v, origin, q, qd}
    Writes: u.{along, from_, to, angle} of m
    """
    zero = t.arena.zero()
    i = u.wraps.at(m)
    _y, a, v_a = world_point(t, s, w, u.link_a.at(m), u.point_a.load(w, m))
    _x, b, v_b = world_point(t, s, w, u.link_b.at(m), u.point_b.load(w, m))
    R_a, spin_a = world_turn(t, s, w, u.link_a.at(m))
    R_b, spin_b = world_turn(t, s, w, u.link_b.at(m))
    d = R_a * u.joint_axis.load(w, i)
    factor = zero + u.factor.load(w, i)
    x = zero
    rate = zero
    if u.turns.at(m) != 0:
        angle = angle_near(d, R_a * u.across_a.load(w, i), R_b * u.across_b.load(w, i), u.angle.load(w, i))
        u.angle.store(w, i, angle)
        x = angle
        rate = d.dot(spin_b - spin_a)
    else:
        none = Vec3(zero, zero, zero)
        side = (R_a, spin_a, Vec3(zero, zero, zero))
        found, speed, _bias, _d = component_along(d, side, (b - a, v_b - v_a, none), zero)
        x = found
        rate = speed
    if u.coordinate.at(i) >= 0:
        x = s.q.load(w, u.coordinate.at(i)) + zero
    u.along.store(w, m, d * factor)
    u.from_.store(w, m, b)
    u.to.store(w, m, b)
    return x * factor, rate * factor


@ti.func
def share_tension(
    u: ti.template(), w: ti.i32, k: ti.i32, tension: ti.template(), rate: ti.template(), out_rate: ti.template()
):
    """Tensions of the parts of rope k, whose mean at both ends is known; what friction takes [W].

    Reads:  u.{rate, arc, friction, slip_speed}
    Writes: u.tension of its parts and of what pays out
    """
    zero = tension * 0.0
    first = u.first.at(k)
    paid = u.first_paid.at(k)
    weight = zero + 1.0
    for m in range(first, paid):
        u.tension.store(w, m, weight)
        i = u.wraps.at(m) - 1
        if ti.static(u.rubs):
            if i >= 0:
                weight = weight * grown(u, w, m, i, slip_at(u, w, m, first, rate, out_rate))
    scale = select(tension > 0.0, tension * 2.0 / (weight + 1.0), tension)
    lost = zero
    for m in range(first, paid):
        here = select(tension > 0.0, u.tension.load(w, m), zero + 1.0) * scale
        if ti.static(u.rubs):
            i = u.wraps.at(m) - 1
            if i >= 0:
                after = select(tension > 0.0, u.tension.load(w, m + 1), zero + 1.0) * scale
                lost = lost + (after - here) * slip_at(u, w, m, first, rate, out_rate)
        u.tension.store(w, m, here)
    for m in range(paid, u.first.at(k + 1)):
        u.tension.store(w, m, u.tension.load(w, first))
    return lost


@ti.func
def slip_at(u: ti.template(), w: ti.i32, m: ti.i32, first: ti.i32, rate: ti.template(), out_rate: ti.template()):
    """[m/s], of the rope over what lies behind part m, towards b.

    Reads: u.rate
    """
    before = rate * 0.0
    for n in range(first, m + 1):
        before = before + u.rate.load(w, n)
    return (rate + out_rate) * 0.5 - before


def grown(u, w, m, i, slip):
    """By what the tension grows over the stop behind part m, at a slip (inside kernels)."""
    zero = u.arena.zero()
    speed = local(slip / (zero + u.slip_speed.load(w, i)))
    fade = exponential(-2.0 * ti.abs(speed))
    ratio = local((1.0 - fade) / (1.0 + fade))
    ratio = select(speed < 0.0, -ratio, ratio)
    return exponential(ratio * u.arc.load(w, m) * u.friction.load(w, i))


class RopeColumns:
    """Device columns of ropes: of their parts, then of what pays out, rope by rope.

    Attributes:
        n: parts and coordinates that pay out, of all ropes.  rope: of each.
        first: the first one of each rope, and their number behind them.  first_paid: the first that pays out.
        link_a, link_b: of the ends; of what pays out those of the joint.  point_a, point_b: there, or the centre.
        wraps: of a part that ends at a cylinder or a sphere its number and one, -1 of the part after it, else 0; of what
            pays out its number.
        turns: whether it pays out by a turn.
        kind, radius, axis, side, side_link, is_sided, is_inside, friction, slip_speed: of cylinders and spheres; the side
            is a point of its link.  bends: whether ropes run through some of them.
        joint_axis, across_a, across_b, factor, coordinate, angle: of what pays out; the coordinate is an index into joint_q,
            or -1 where the poses tell it.
        along: direction of the force on B for a unit tension.  from_, to: [m], where it acts, world.
        rate: [m/s], of growth.  arc: [rad], of contact behind a part.  tension: [N].
        pull: [N], of ropes, which signals may drive.
        muscle: of each rope its muscle, or -1.
        muscle_activation, which signals may drive, muscle_force, shortest, least, optimum, min_length, max_length,
            max_velocity, passive, lengthening: of muscles, see the top.
        stiffness, damping, rest_length, slack, line, damper: of ropes, as of `kernels.forces.springs.Springs`.
    """

    _data_oriented = True
    act = staticmethod(act_of_rope)
    stores, by_rows, need_poses = True, False, True

    def __init__(self, model: Model, tables: Tables, forces):
        self.arena, ropes = tables.arena, model.ropes
        self.damps, self.rubs, self.pull, self.muscle_activation = False, False, None, None
        parts = parts_of_ropes(ropes)
        self.n = len(parts.rope)
        if not self.n:  # nothing reads the columns then
            return
        self.rubs = bool(tables.ever(lambda m: m.ropes.stop_friction > 0).any())
        items, whole = tables.arena.records(self.n), tables.arena.records(len(ropes.name))
        self.line, self.damper = law_lines(ropes, "rope", tables.arena)
        self.has_muscles = bool(len(ropes.muscle_rope))
        self.damps = self.rubs or self.has_muscles or self.damper is not None
        self.damps = self.damps or bool(tables.ever(lambda m: m.ropes.damping > 0).any())
        self.stiffness, self.damping = whole.column(ropes.stiffness), whole.column(ropes.damping)
        self.pull = whole.column(ropes.tension, driven="rope_tension" in forces.driven)
        self.rest_length, self.slack = whole.column(ropes.rest_length), whole.ints(ropes.slack)
        self._lay_muscles(model, tables, "muscle_activation" in forces.driven)
        self.first, self.first_paid = tables.arena.ints(parts.first), whole.ints(parts.first_paid)
        self.rope, self.wraps = items.ints(parts.rope), items.ints(parts.wraps)
        self._lay_joints(model, tables)
        body, point = parts.ends(ropes, self.paid)
        self.link_a, self.link_b = (items.ints(links_of(model.links, one)) for one in body.T)
        self.point_a, self.point_b = (
            items.column(link_points(model.links, body[:, k], point[:, :, k]), Vec3) for k in range(2)
        )
        self.turns = items.ints(parts.spread(self.paid.turns))
        self._lay_sizes(model, tables)
        self.along, self.from_, self.to = items.arrays(3, Vec3)
        self.rate, self.arc, self.tension = items.arrays(3)
        for array in (self.along, self.from_, self.to, self.rate, self.arc, self.tension):
            array.scratch()

    def _lay_joints(self, model: Model, tables: Tables):
        """Columns of what pays out."""
        self.paid = rows = paid_rows(model)
        records = tables.arena.records(len(rows.parent))
        turn_a, turn_b = body_rotations(model.links, rows.parent), body_rotations(model.links, rows.child)
        self.joint_axis = records.column(_turned(turn_a, rows.axis), Vec3)
        self.across_a = records.column(_turned(turn_a, rows.across_a), Vec3)
        self.across_b = records.column(_turned(turn_b, rows.across_b), Vec3)
        self.factor = records.column(model.ropes.paid_factor)
        coordinate = np.where(rows.on_tree, np.append(tables.q_of_dof, 0)[model.ropes.paid_dof], -1)
        self.coordinate, self.angle, self.angle_start = records.ints(coordinate), records.array(), rows.start

    def _lay_muscles(self, model: Model, tables: Tables, is_driven: bool):
        """Columns of muscles."""
        ropes = model.ropes
        records = tables.arena.records(len(ropes.muscle_rope))
        muscle = np.full(len(ropes.name), -1)
        muscle[ropes.muscle_rope] = np.arange(len(ropes.muscle_rope))
        self.muscle = tables.arena.records(len(ropes.name)).ints(muscle)
        self.muscle_activation = records.column(ropes.muscle_activation, driven=is_driven)
        self.muscle_force = records.column(ropes.muscle_force)
        self.shortest, self.least = records.column(ropes.muscle_length[..., 0]), records.column(ropes.muscle_range[..., 0])
        self.optimum = records.column(np.diff(ropes.muscle_length)[..., 0] / np.diff(ropes.muscle_range)[..., 0])
        self.min_length, self.max_length, self.max_velocity, self.passive, self.lengthening = (
            records.column(one) for one in np.moveaxis(ropes.muscle_curve, -1, 0)
        )

    def _lay_sizes(self, model: Model, tables: Tables):
        """Columns of cylinders and spheres."""
        ropes = model.ropes
        chosen = np.flatnonzero(ropes.stop_kind != StopKind.POINT)
        records, body = tables.arena.records(len(chosen)), ropes.stop_body[chosen]
        turn = body_rotations(model.links, body)
        self.kind = records.ints(ropes.stop_kind[chosen])
        self.radius = records.column(ropes.stop_radius[:, chosen])
        self.axis = records.column(_turned(turn, ropes.stop_axis[:, chosen]), Vec3)
        beside = ropes.stop_side_body[chosen]
        self.side_link = records.ints(links_of(model.links, beside))
        self.side = records.column(link_points(model.links, beside, ropes.stop_side[:, chosen]), Vec3)
        self.is_inside, self.bends = records.ints(ropes.stop_inside[chosen]), bool(ropes.stop_inside.any())
        self.is_sided = records.column(ropes.stop_sided[None, chosen].astype(float))
        self.friction = records.column(ropes.stop_friction[:, chosen])
        self.slip_speed = records.column(ropes.stop_slip_speed[:, chosen])

    def clear(self):
        """Begin with the turns that the initial coordinates count."""
        if self.n and len(self.paid.parent):
            self.angle.write(self.angle_start[..., None])

    def is_slack(self, k):
        """Mask of all lanes, whether rope k gives nothing when shorter (inside kernels)."""
        return local(self.arena.zero() + ti.cast(self.slack.at(k), self.arena.device.real) > 0.0)


def _turned(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors (W|1, K, 3) turned by matrices (W|1, K, 3, 3)."""
    return np.einsum("wkij,wkj->wki", turn, vector)
