"""Kinematic bodies in natural coordinates: their coordinates are prescribed, from the motions of their joints.

    R+ = exp(sum W_i D_i) R,   D_i = h m_i' of the middle of the step (with contact: of its end), or m_i+ - m_i by position
    p' = v,  a' = w x a;   p'' = v' ..,  a'' = w' x a + w x (w x a)

The steps lock these coordinates like any prescribed dof (motions.py). What holds them is a force along each: F of p, and
the couple sum a x F_a, from which effort and wrench of the joint follow.

Stages and what they call; rows/memory.py says what `c` holds.
"""

from simcli.kernels.algebra.values import Vec3
from simcli.kernels.chart.tree import store_vector, vector_at
from simcli.kernels.forces.prescribed import effort_of_led, lever_of, rates_of_led, way_of_led
from simcli.kernels.language import ti
from simcli.kernels.linear.system import hold
from simcli.solvers.rows.repeat import foreseen
from simcli.solvers.tree.integrators import H


@ti.func
def begin_led(c: ti.template(), w: ti.i32):
    """At the start of a step: coordinates reached; velocities in case that they jump there, with the work of that.

    Reads:  c.motions, c.state.q
    Writes: c.led.begun, c.state.qd, c.bound.move: velocities before, c.forces.work
    """
    t = c.tables
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
        c.bound.move.store(w, d, c.state.qd.load(w, d))
    for i in range(c.led.n_dofs):
        c.led.begun.store(w, i, c.led.reached.load(w, i))
    for k in range(c.led.n):
        if ti.static(c.integrator == "zhong06"):
            rate, spin, _pull, _twist = rates_of_led(c.led, c.motions, w, k, c.led.begun)
            link = c.led.body.at(k)
            q = t.link_q.at(link)
            d = t.link_qd.at(link)
            for n in range(1 + t.n_vectors.at(link)):
                v = spin.cross(vector_at(c.state.q, w, q + 3 * n))
                if n == 0:
                    v = rate + spin.cross(lever_of(c.led, w, k, vector_at(c.state.q, w, q), c.led.begun))
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
    move_led(c, w)
    for k in range(c.led.n):
        rate, spin, pull, twist = rates_of_led(c.led, c.motions, w, k, c.led.reached)
        shift, R = way_of_led(c.led, w, k)
        link = c.led.body.at(k)
        q = t.link_q.at(link)
        d = t.link_qd.at(link)
        for n in range(1 + t.n_vectors.at(link)):
            x = vector_at(c.state.q, w, q + 3 * n)
            arm = R * x
            end = arm * 1.0
            if n == 0:
                lever = lever_of(c.led, w, k, x, c.led.begun)
                end = x + (R * lever - lever) + shift
                arm = lever_of(c.led, w, k, end, c.led.reached)
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
def move_led(c: ti.template(), w: ti.i32):
    """How far the coordinates of led bodies go in a step, in an instant nowhere.

    Reads:  c.motions of the joints, c.led.begun, c.now
    Writes: c.led.{moving, reached}
    """
    h = c.constants.load(w, H)
    for i in range(c.led.n_dofs):
        d = c.led.dof.at(i)
        speed = c.tables.arena.zero() + c.motions.motion_qd.load(w, d)
        change = c.tables.arena.zero() + c.motions.motion_qdd.load(w, d)
        way = speed * h - change * (h * h * 0.5) * foreseen(c, w)  # the velocity of the middle, to second order
        if c.led.by_position.at(i) != 0:
            way = c.motions.motion_q.load(w, d) - c.led.begun.load(w, i)
        way = way * ti.cast(c.now.load(w, "instant") == 0, c.tables.arena.device.real)
        c.led.moving.store(w, i, way)
        c.led.reached.store(w, i, c.led.begun.load(w, i) + way)


@ti.func
def projection_work(c: ti.template(), w: ti.i32):
    """Work of kinematic bodies in a projection of velocities: the impulses that hold them times their mean velocities.

    Reads:  c.bound.{system, move}, c.state.qd
    Writes: adds to c.forces.work
    """
    y = c.bound.system
    hold(y, w)
    done = c.forces.work.load(w, 1)
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
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
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
        v = c.motions.motion_qd.load(w, d)
        chord = (c.motions.motion_q.load(w, d) - c.bound.q_start.load(w, c.motions.lock_q.at(m))) / h
        before = chord + (c.state.qd.load(w, d) - chord) * share
        given = c.bound.base.load(w, t.unknown.at(d)) * 2.0 + c.bound.move.load(w, d)
        done = done - given * chord * (h * 0.5) * share
        done = done + (v * v - before * before) * 0.5 * t.weight.load(w, d)
    for r in range(y.n_rows):
        way = t.arena.zero()
        for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
            d = y.j_dof.at(e)
            m = c.motions.lock_of.at(d)
            if m >= 0:
                end = c.motions.motion_q.load(w, d) - c.bound.q_start.load(w, c.motions.lock_q.at(m))
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
def hold_led(c: ti.template(), w: ti.i32, k: ti.i32):
    """Force and couple about its centre of mass that hold led body k, after an evaluation.

    Reads: c.bound.system.effort, c.state.q
    """
    t = c.tables
    link = c.led.body.at(k)
    force = held(c, w, t.link_qd.at(link))
    couple = force * 0.0
    for n in range(1, 1 + t.n_vectors.at(link)):
        couple = couple + vector_at(c.state.q, w, t.link_q.at(link) + 3 * n).cross(held(c, w, t.link_qd.at(link) + 3 * n))
    return force, couple


@ti.func
def add_led_wrenches(c: ti.template(), w: ti.i32):
    """Add what holds kinematic bodies to the wrenches of their joints, at the child's anchors.

    Reads:  c.bound.system.effort, c.state.{q, R, o, origin}
    Writes: c.rows.joint_wrench
    """
    t = c.tables
    s = c.state
    for k in range(c.led.n):
        force, couple = hold_led(c, w, k)
        j = c.led.joint.at(k)
        link = c.led.body.at(k)
        lever = s.R.load(w, link) * t.anchor.load(w, j)  # the origin of the link is its centre of mass
        couple = couple - lever.cross(force)
        for m in ti.static(range(3)):
            c.rows.joint_wrench.store(w, 6 * j + m, c.rows.joint_wrench.load(w, 6 * j + m) + force.parts[m])
            c.rows.joint_wrench.store(w, 6 * j + 3 + m, c.rows.joint_wrench.load(w, 6 * j + 3 + m) + couple.parts[m])


@ti.func
def add_led_efforts(c: ti.template(), w: ti.i32):
    """Add what holds kinematic bodies to the efforts along the dofs of their joints.

    Reads:  c.bound.system.effort, c.state.q
    Writes: c.rows.effort
    """
    for k in range(c.led.n):
        force, couple = hold_led(c, w, k)
        p = vector_at(c.state.q, w, c.tables.link_q.at(c.led.body.at(k)))
        couple = couple + lever_of(c.led, w, k, p, c.led.reached).cross(force)
        for i in range(c.led.dof_start.at(k), c.led.dof_start.at(k + 1)):
            d = c.led.dof.at(i)
            effort = effort_of_led(c.led, w, k, i, force, couple)
            c.rows.effort.store(w, d, c.rows.effort.load(w, d) + effort)
