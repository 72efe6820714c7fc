"""Kinematic bodies in natural coordinates: their coordinates are prescribed, from the motions of their joints.

    R+ = exp(sum W_i D_i) R,   D_i = h m_i' of the middle of the step (with contact: of its end), or m_i+ - m_i by position
    p' = v,  a' = w x a;   p'' = v' ..,  a'' = w' x a + w x (w x a)

The steps lock these coordinates like any prescribed dof (motions.py). What holds them is a force along each: F of p, and
the couple sum a x F_a, from which effort and wrench of the joint follow.

Stages and what they call; rows/memory.py says what `c` holds.
"""

from simcli.kernels.algebra.elementary import exp_rotation
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.chart.tree import store_vector, vector_at
from simcli.kernels.language import ti
from simcli.kernels.linear.system import hold
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.model.natural.led import led_of
from simcli.model.tables import Model
from simcli.solvers.rows.repeat import foreseen
from simcli.solvers.tree.integrators import H


class LedBodies:
    """Device columns of the motions, see model/natural/led.py.

    Attributes:
        n: kinematic bodies.  link, joint: of each.  start: offsets of their dofs.
        reached: coordinates of dofs at the end of the last evaluation, of those prescribed by position.  begun: at the
            start of the step.
        force, couple: on each body, about its centre of mass, world.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena):
        led = led_of(model, model.columns.led) if model.columns is not None else None
        self.n, n_dofs = (len(led.bodies), len(led.dof)) if led else (0, 0)
        self.reached, self.begun = arena.records(n_dofs).slots(2)
        if not self.n:
            return
        self.link, self.joint = arena.ints(led.bodies), arena.ints(led.joint[led.bodies])
        self.start, self.dof, self.by_position = (arena.ints(x) for x in (led.dof_start, led.dof, led.by_position))
        self.linear, self.angular = tables.column(led.linear, Vec3), tables.column(led.angular, Vec3)
        self.anchor, self.is_anchored = tables.column(led.anchor, Vec3), arena.ints(led.is_anchored)
        self.coordinates = led.start
        self.force, self.couple = arena.slot(self.n, Vec3), arena.slot(self.n, Vec3)

    def clear(self):
        """Begin where the motions do."""
        if self.n:
            self.reached.write(self.coordinates[..., None])


@ti.func
def lever_of(c: ti.template(), w: ti.i32, k: ti.i32, p: ti.template()):
    """[m], from the point whose velocity the motions give to the centre of mass p of led body k."""
    lever = p * 0.0
    if c.led.is_anchored.at(k) != 0:
        lever = p - c.led.anchor.load(w, k)
    return lever


@ti.func
def begin_led(c: ti.template(), w: ti.i32):
    """At the start of a step: coordinates reached; velocities in case that they jump there, with the work of that.

    Reads:  c.motions, c.state.q
    Writes: c.led.begun, c.state.qd, c.bound.move: velocities before, c.forces.work
    """
    t = c.tables
    for m in range(c.bound.n_motions):
        d = c.bound.motion_dof.at(m)
        c.bound.move.store(w, d, c.state.qd.load(w, d))
    for k in range(c.led.n):
        zero = t.arena.zero()
        rate = Vec3(zero, zero, zero)
        spin = Vec3(zero, zero, zero)
        for i in range(c.led.start.at(k), c.led.start.at(k + 1)):
            c.led.begun.store(w, i, c.led.reached.load(w, i))
            speed = zero + c.motions.motion_qd.load(w, c.led.dof.at(i))
            rate = rate + c.led.linear.load(w, i) * speed
            spin = spin + c.led.angular.load(w, i) * speed
        if ti.static(c.integrator == "zhong06"):
            link = c.led.link.at(k)
            q = t.link_q.at(link)
            d = t.link_qd.at(link)
            for n in range(1 + t.n_vectors.at(link)):
                v = spin.cross(vector_at(c.state.q, w, q + 3 * n))
                if n == 0:
                    v = rate + spin.cross(lever_of(c, w, k, vector_at(c.state.q, w, q)))
                before = vector_at(c.state.qd, w, d + 3 * n)
                gained = (v.dot(v) - before.dot(before)) * 0.5 * t.weight.load(w, d + 3 * n)
                c.forces.work.store(w, 1, c.forces.work.load(w, 1) + gained)
                store_vector(c.state.qd, w, d + 3 * n, v)


@ti.func
def lead_bodies(c: ti.template(), w: ti.i32):
    """Where the coordinates of kinematic bodies are at the end of the step; at an instant what they do there.

    Reads:  c.motions of the joints, c.state.q, c.led.begun, c.{g, now}
    Writes: c.motions.{motion_q, motion_qd, motion_qdd} of the coordinates, c.led.reached
    """
    t = c.tables
    h = c.constants.load(w, H)
    for k in range(c.led.n):
        rate, spin, pull, twist, shift, turn = sum_motions(c, w, k)
        R = exp_rotation(turn).matrix()
        link = c.led.link.at(k)
        q = t.link_q.at(link)
        d = t.link_qd.at(link)
        for n in range(1 + t.n_vectors.at(link)):
            x = vector_at(c.state.q, w, q + 3 * n)
            arm = R * x
            end = arm * 1.0
            if n == 0:
                lever = lever_of(c, w, k, x)
                end = x - lever + R * lever + shift
                arm = lever_of(c, w, k, end)
            v = spin.cross(arm)
            a = twist.cross(arm) + spin.cross(v)
            if n == 0:
                v = v + rate
                a = a + pull
            if c.now.load(w, "instant") != 0:
                end = x + (vector_at(c.state.qd, w, d + 3 * n) + a * c.g.load(w, 0)) * h
            store_vector(c.motions.motion_q, w, d + 3 * n, end)
            store_vector(c.motions.motion_qd, w, d + 3 * n, v)
            store_vector(c.motions.motion_qdd, w, d + 3 * n, a)


@ti.func
def sum_motions(c: ti.template(), w: ti.i32, k: ti.i32):
    """Velocity and spin of led body k, their rates, and how far both bring it in a step, in an instant nowhere.

    Reads:  c.motions of the joints, c.led.begun, c.now
    Writes: c.led.reached
    """
    h = c.constants.load(w, H)
    zero = c.tables.arena.zero()
    rate = Vec3(zero, zero, zero)
    spin = Vec3(zero, zero, zero)
    pull = Vec3(zero, zero, zero)
    twist = Vec3(zero, zero, zero)
    shift = Vec3(zero, zero, zero)
    turn = Vec3(zero, zero, zero)
    for i in range(c.led.start.at(k), c.led.start.at(k + 1)):
        d = c.led.dof.at(i)
        speed = zero + c.motions.motion_qd.load(w, d)
        change = zero + c.motions.motion_qdd.load(w, d)
        way = speed * h - change * (h * h * 0.5) * foreseen(c, w)  # the velocity of the middle, to second order
        if c.led.by_position.at(i) != 0:
            way = c.motions.motion_q.load(w, d) - c.led.begun.load(w, i)
        way = way * ti.cast(c.now.load(w, "instant") == 0, c.tables.arena.device.real)
        c.led.reached.store(w, i, c.led.begun.load(w, i) + way)
        linear = c.led.linear.load(w, i)
        angular = c.led.angular.load(w, i)
        rate = rate + linear * speed
        spin = spin + angular * speed
        pull = pull + linear * change
        twist = twist + angular * change
        shift = shift + linear * way
        turn = turn + angular * way
    return rate, spin, pull, twist, shift, turn


@ti.func
def projection_work(c: ti.template(), w: ti.i32):
    """Work of kinematic bodies in a projection of velocities: the impulses that hold them times their mean velocities.

    Reads:  c.bound.{system, move}, c.state.qd
    Writes: adds to c.forces.work
    """
    y = c.bound.system
    hold(y, w)
    done = c.forces.work.load(w, 1)
    for m in range(c.bound.n_motions):
        d = c.bound.motion_dof.at(m)
        mean = (c.bound.move.load(w, d) + c.state.qd.load(w, d)) * 0.5
        done = done + y.effort.load(w, c.tables.unknown.at(d)) * mean
    c.forces.work.store(w, 1, done)


@ti.func
def led_work(c: ti.template(), w: ti.i32):
    """Work of kinematic bodies in a step, where it ends: kinetic energy gained, less what other forces did on them.

        smooth:   half of h lambda with the gradients of either end, F of the middle, along the way
        contacts: has been taken by `motion_power`, with the chord of the way as the velocity at its end

    Reads:  c.bound.{base, q_start, move, system}, c.motions, c.state.qd
    Writes: adds to c.forces.work
    """
    y = c.bound.system
    t = c.tables
    h = c.constants.load(w, H)
    done = c.forces.work.load(w, 1)
    share = done * 0.0 + 1.0
    if ti.static(c.by_impulses):
        share = 1.0 - c.bound.jumps.load(w, 0)
    for m in range(c.bound.n_motions):
        d = c.bound.motion_dof.at(m)
        v = c.motions.motion_qd.load(w, d)
        chord = (c.motions.motion_q.load(w, d) - c.bound.q_start.load(w, c.bound.motion_q.at(m))) / h
        before = chord + (c.state.qd.load(w, d) - chord) * share
        given = c.bound.base.load(w, t.unknown.at(d)) * 2.0 + c.bound.move.load(w, d)
        done = done - given * chord * (h * 0.5) * share
        done = done + (v * v - before * before) * 0.5 * t.weight.load(w, d)
    for r in range(y.n_rows):
        way = t.arena.zero()
        for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
            d = y.j_dof.at(e)
            m = c.bound.motion_of.at(d)
            if m >= 0:
                end = c.motions.motion_q.load(w, d) - c.bound.q_start.load(w, c.bound.motion_q.at(m))
                way = way + y.entry.load(w, y.n_mass + e) * end
        done = done - y.force.load(w, r) * way * 0.5 * share
    c.forces.work.store(w, 1, done)


@ti.func
def led_power(c: ti.template(), w: ti.i32):
    """[W] of what holds kinematic bodies, in steps of generalized_alpha.

    Reads: c.steps, c.alpha.next_a, c.pushes.pull
    """
    f = c.steps.rows
    t = c.tables
    power = t.arena.zero()
    for i in range(f.n):
        if f.moves.at(i) == 0:
            inertia = c.alpha.next_a.load(w, i) * t.weight.load(w, f.qd_at.at(i))
            power = power + (inertia - c.pushes.pull.load(w, i)) * f.v.load(w, i)
    for r in range(f.n_rows):
        power = power - c.steps.force.load(w, r) * led_rate(c, w, r)
    return power


@ti.func
def led_rate(c: ti.template(), w: ti.i32, r: ti.i32):
    """What kinematic bodies give to the rate of row r, in steps of generalized_alpha.

    Reads: c.steps.rows
    """
    f = c.steps.rows
    rate = c.tables.arena.zero()
    for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
        if f.moves.at(f.entry_at.at(e)) == 0:
            rate = rate + f.gradient.load(w, e) * f.v.load(w, f.entry_at.at(e))
    return rate


@ti.func
def led_impulse(c: ti.template(), w: ti.i32):
    """Work of kinematic bodies in the projection that ends a step of generalized_alpha, as in `projection_work`.

    Reads:  c.steps
    Writes: adds to c.forces.work
    """
    f = c.steps.rows
    done = c.forces.work.load(w, 1)
    for r in range(f.n_rows):
        done = done + c.steps.solution.load(w, f.n + r) * led_rate(c, w, r)
    c.forces.work.store(w, 1, done)


def held(c, w, d):
    """What holds three coordinates; nothing does where one leaves the plane of a planar scene."""
    numbers = [c.tables.unknown.at(d + m) for m in range(3)]
    efforts = [c.bound.system.effort.load(w, ti.max(i, 0)) for i in numbers]
    return Vec3(*(x * ti.cast(i >= 0, c.tables.arena.device.real) for x, i in zip(efforts, numbers, strict=True)))


@ti.func
def hold_led(c: ti.template(), w: ti.i32):
    """Force and couple that hold each kinematic body, after an evaluation.

    Reads:  c.bound.system.effort, c.state.q
    Writes: c.led.{force, couple}
    """
    t = c.tables
    for k in range(c.led.n):
        zero = t.arena.zero()
        force = Vec3(zero, zero, zero)
        couple = Vec3(zero, zero, zero)
        link = c.led.link.at(k)
        for n in range(1 + t.n_vectors.at(link)):
            along = held(c, w, t.link_qd.at(link) + 3 * n)
            if n == 0:
                force = along
            else:
                couple = couple + vector_at(c.state.q, w, t.link_q.at(link) + 3 * n).cross(along)
        c.led.force.store(w, k, force)
        c.led.couple.store(w, k, couple)


@ti.func
def add_led_wrenches(c: ti.template(), w: ti.i32):
    """Add what holds kinematic bodies to the wrenches of their joints, at the child's anchors.

    Reads:  c.bound.system.effort, c.state.{q, R, o, origin}
    Writes: c.led.{force, couple}, c.rows.joint_wrench
    """
    t = c.tables
    s = c.state
    hold_led(c, w)
    for k in range(c.led.n):
        j = c.led.joint.at(k)
        link = c.led.link.at(k)
        force = c.led.force.load(w, k)
        lever = s.R.load(w, link) * t.anchor.load(w, j)  # the origin of the link is its centre of mass
        couple = c.led.couple.load(w, k) - lever.cross(force)
        for m in ti.static(range(3)):
            c.rows.joint_wrench.store(w, 6 * j + m, c.rows.joint_wrench.load(w, 6 * j + m) + force.parts[m])
            c.rows.joint_wrench.store(w, 6 * j + 3 + m, c.rows.joint_wrench.load(w, 6 * j + 3 + m) + couple.parts[m])


@ti.func
def add_led_efforts(c: ti.template(), w: ti.i32):
    """Add what holds kinematic bodies to the efforts along the dofs of their joints.

    Reads:  c.bound.system.effort, c.state.q
    Writes: c.led.{force, couple}, c.rows.effort
    """
    hold_led(c, w)
    for k in range(c.led.n):
        force = c.led.force.load(w, k)
        p = vector_at(c.state.q, w, c.tables.link_q.at(c.led.link.at(k)))
        couple = c.led.couple.load(w, k) + lever_of(c, w, k, p).cross(force)
        for i in range(c.led.start.at(k), c.led.start.at(k + 1)):
            d = c.led.dof.at(i)
            effort = c.led.linear.load(w, i).dot(force) + c.led.angular.load(w, i).dot(couple)
            c.rows.effort.store(w, d, c.rows.effort.load(w, d) + effort)
