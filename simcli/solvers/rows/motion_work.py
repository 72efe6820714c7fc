"""Forces that hold what motions prescribe, and their work for the energy balance: the forces, times the ways of it.

    power        force times velocity, where a step ends or an instant is shown
    step         force times way; of kinematic bodies in a smooth step of natural coordinates, whose forces act by the
                 gradients of both its ends: kinetic energy gained, less what all other forces did
    projection   impulse times mean velocity

Stages and what they call; rows/memory.py says what `c` holds. Steps of generalized_alpha: `solvers/natural/alpha_work.py`;
affine bodies: `solvers/affine/kinematic_bodies.py:follow_kinematic`.
"""

from simcli.kernels.articulation.kinematics import vector_at
from simcli.kernels.forces.account import SUPPLIED
from simcli.kernels.forces.kinematic_bodies import add_efforts_of_kinematic, add_wrench_of_kinematic
from simcli.kernels.forces.prescribed_target import turn_between
from simcli.kernels.language import ti
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.constrained_system import hold
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.rows.islands import jump_of
from simcli.solvers.rows.motions import target_of_ball_row, target_of_row
from simcli.solvers.rows.repeat import meets_end


@needs.motions
def motion_power(c, w, b):
    """Power of prescribed motions over a step of length b that ends with qd + b qdd; b = 0: now (inside kernels).

    Reads:  c.bound, c.state, c.motions
    Writes: adds to c.forces.account.power; of implicit steps to its work
    """
    power = c.tables.arena.zero()
    if c.integrator != "zhong06" or c.by_impulses:  # whose smooth steps take the work of both their ends
        power = _power_of_locks(c, w, b, power)
    _keep_hold(c, w, power)
    if not c.is_natural:
        power = _power_of_prescribed(c, w, b, power)
    if c.integrator == "implicit":
        power = _book_nodes(c, w, power)
    c.forces.account.add_power(w, c.tables.arena.zero(), power)


@needs.late_holds
def _keep_hold(c, w, power):
    c.bound.held_power.store(w, 0, power)


@needs.late_holds
@ti.func
def add_late_holds(c: ti.template(), w: ti.i32):
    """What locked dofs gave in the corrections of a step of impulses, which come after its account.

    Corrections move contacts to where the step ends, and are of the order of its forces where nothing foresaw that.

    Reads:  c.bound.{held_power, system.{effort, acceleration}}, c.state.qd of the start
    Writes: c.forces.account.work
    """
    h = c.constants.load(w, H)
    found = _power_of_locks(c, w, h, c.tables.arena.zero())
    c.forces.account.supply(w, (found - c.bound.held_power.load(w, 0)) * h)


@ti.func
def _book_nodes(c: ti.template(), w: ti.i32, power: ti.template()):
    """Book half a step of the power of each node of implicit steps; returns what is left: that of a step taken again.

    What holds a motion at a node is not that of the instant there, but both nodes together give the impulse of the step.

    Reads:  c.now, c.bound.first_power
    Writes: c.bound.first_power, c.forces.account.work
    """
    left = power * 0.0
    if c.now.load(w, "instant") == 0:
        if c.now.load(w, "node") == 0:
            c.bound.first_power.store(w, 0, power)
        elif c.now.load(w, "node") == 1:
            both = c.bound.first_power.load(w, 0) + power
            c.forces.account.supply(w, both * (c.constants.load(w, H) * 0.5))
        else:
            left = power
    return left


@ti.func
def _power_of_locks(c: ti.template(), w: ti.i32, b: ti.template(), before: ti.template()):
    """[W] of dofs that are locked, and before them."""
    supplied = before
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
        i = c.tables.unknown.at(d)
        share = share_of_impulses(c, w, i)
        mid = c.state.qd.load(w, d) + c.bound.system.acceleration.load(w, i) * (b * 0.5)
        supplied = supplied + c.bound.system.effort.load(w, i) * mid * share
    return supplied


def share_of_impulses(c, w, i):
    """1 where the step of unknown i is of impulses, or of an integrator that has no smooth ones; else 0 (inside kernels)."""
    return jump_of(c, w, i) if c.integrator == "zhong06" else c.tables.arena.zero() + 1.0


@ti.func
def _power_of_prescribed(c: ti.template(), w: ti.i32, b: ti.template(), before: ti.template()):
    """[W] of rows of prescribed motions, and before them."""
    y = c.bound.system
    supplied = before
    for m in range(y.n_prescribed_rows):
        r = y.prescribed_row.at(m)
        mid = y.rows.rate.load(w, r)
        if meets_end(c, w) == 0:  # that is what the rate lacks
            mid = mid + c.motions.motion_qd.load(w, y.prescribed_dof.at(m))
        for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
            a = y.acceleration.load(w, c.tables.unknown.at(y.j_dof.at(e)))
            mid = mid + y.entry.load(w, y.n_mass + e) * a * (b * 0.5)
        supplied = supplied + y.force.load(w, r) * mid
    return supplied


@ti.func
def work_of_step(c: ti.template(), w: ti.i32):
    """Work of rows of prescribed motions and of kinematic bodies in a step of natural coordinates, where it ends.

        smooth:   half of h lambda with the gradients of either end, F of the middle, along the way
        contacts: that of the bodies has been taken by `motion_power`, with the chord of the way as the velocity at its end

    Reads:  c.bound.{base, q_start, move, start, system}, c.motions, c.state.qd
    Writes: adds to c.forces.account.work
    """
    y = c.bound.system
    done = c.forces.account.work.load(w, SUPPLIED)
    for m in range(y.n_prescribed_rows):
        r = y.prescribed_row.at(m)
        way = target_of_row(c, w, m) - c.bound.start.load(w, r)
        done = done + y.force.load(w, r) * _way_of_ball(c, w, m, way)
    c.forces.account.work.store(w, SUPPLIED, done)
    add_kinematic_work(c, w)


def _way_of_ball(c, w, m, way):
    """[rad] of row m if it prescribes a ball, else as it is (inside kernels)."""
    return _turn_of_ball(c, w, m, way) if c.bound.system.prescribes_balls else way


@ti.func
def _turn_of_ball(c: ti.template(), w: ti.i32, m: ti.i32, way: ti.template()):
    component = c.bound.system.prescribed_component.at(m)
    found = way
    if component >= 0:
        found = turn_between(target_of_ball_row(c, w, m), c.bound.turned.load(w, m), component)
    return found


@needs.kinematic_bodies
@ti.func
def add_kinematic_work(c: ti.template(), w: ti.i32):
    """The part of kinematic bodies.

    A smooth step ends with the velocity that its way and its start give, as that of other bodies; from there to the one
    prescribed it is a matter of the next projection, wherever in the step a rate has jumped.

    Writes: adds to c.forces.account.work; c.bound.move: velocities of these where the step ends, for `leave_kinematic`
    """
    y = c.bound.system
    t = c.tables
    h = c.constants.load(w, H)
    done = c.forces.account.work.load(w, SUPPLIED)
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
        share = share_of_smooth(c, w, t.unknown.at(d))
        chord = (c.motions.motion_q.load(w, d) - c.bound.q_start.load(w, c.motions.lock_q.at(m))) / h
        start = c.state.qd.load(w, d)
        v = c.motions.motion_qd.load(w, d)
        v = v + (chord * 2.0 - start - v) * share
        before = chord + (start - chord) * share
        given = c.bound.base.load(w, t.unknown.at(d)) * 2.0 + c.bound.move.load(w, d) - _change_of_half(c, w, d)
        done = done - given * chord * (h * 0.5) * share
        done = done + (v * v - before * before) * 0.5 * t.weight.load(w, d)
        c.bound.move.store(w, d, v)
    for r in range(y.n_rows):
        way = t.arena.zero()
        for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
            d = y.j_dof.at(e)
            m = c.motions.lock_of.at(d)
            if m >= 0:
                end = c.motions.motion_q.load(w, d) - c.bound.q_start.load(w, c.motions.lock_q.at(m))
                way = way + y.entry.load(w, y.n_mass + e) * end
        done = done - y.force.load(w, r) * way * 0.5 * share_of_smooth(c, w, y.n_dofs + r)
    c.forces.account.work.store(w, SUPPLIED, done)


def _change_of_half(c, w, d):
    """What the second half of a step has more of forces that damp, which is in `base` of both (inside kernels)."""
    damped = c.is_midpoint and c.forces.damps_links
    return c.bound.push.load(w, d) if damped else c.tables.arena.zero()


@needs.kinematic_bodies
@ti.func
def leave_kinematic(c: ti.template(), w: ti.i32):
    """Velocities of kinematic bodies where a step ends, see `add_kinematic_work`.

    Reads:  c.bound.move
    Writes: c.state.qd
    """
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
        c.state.qd.store(w, d, c.bound.move.load(w, d))


def share_of_smooth(c, w, i):
    """0 where the step of zhong06 of unknown i is of impulses with contact, else 1 (inside kernels)."""
    return 1.0 - jump_of(c, w, i) if c.by_impulses else c.tables.arena.zero() + 1.0


@needs.motions
@ti.func
def work_of_projection(c: ti.template(), w: ti.i32):
    """Work of prescribed motions in a projection of velocities in natural coordinates: impulses times mean velocities.

    Reads:  c.bound.{system, move}, c.motions, c.state.qd
    Writes: adds to c.forces.account.work
    """
    y = c.bound.system
    done = c.forces.account.work.load(w, SUPPLIED)
    for m in range(y.n_prescribed_rows):
        r = y.prescribed_row.at(m)
        mean = c.motions.motion_qd.load(w, y.prescribed_dof.at(m)) + y.rows.rate.load(w, r) * 0.5
        done = done + y.force.load(w, r) * mean
    _hold_kinematic(c, w)
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
        mean = (c.bound.move.load(w, d) + c.state.qd.load(w, d)) * 0.5
        done = done + y.effort.load(w, c.tables.unknown.at(d)) * mean
    c.forces.account.work.store(w, SUPPLIED, done)


@needs.kinematic_bodies
def _hold_kinematic(c, w):
    hold(c.bound.system, w)


def _held(c, w, d):
    """What holds three coordinates; nothing does where one leaves the plane of a planar scene."""
    numbers = [c.tables.unknown.at(d + m) for m in range(3)]
    efforts = [c.bound.system.effort.load(w, ti.max(i, 0)) for i in numbers]
    return Vec3(*(x * ti.cast(i >= 0, c.tables.arena.device.real) for x, i in zip(efforts, numbers, strict=True)))


@ti.func
def hold_kinematic(c: ti.template(), w: ti.i32, k: ti.i32):
    """Force and couple about its centre of mass that hold kinematic body k, after an evaluation.

    Reads: c.bound.system.effort, c.state.q
    """
    t = c.tables
    link = c.kinematic.body.at(k)
    force = _held(c, w, t.link_qd.at(link))
    couple = force * 0.0
    for n in range(1, 1 + t.n_vectors.at(link)):
        couple = couple + vector_at(c.state.q, w, t.link_q.at(link) + 3 * n).cross(_held(c, w, t.link_qd.at(link) + 3 * n))
    return force, couple


@needs.kinematic_bodies
@ti.func
def add_kinematic_wrenches(c: ti.template(), w: ti.i32):
    """Add what holds kinematic bodies to the wrenches of their joints.

    Reads:  c.bound.system.effort, c.state.{q, R}
    Writes: c.rows.joint_wrench
    """
    for k in range(c.kinematic.n):
        force, couple = hold_kinematic(c, w, k)
        arm = c.state.R.load(w, c.kinematic.body.at(k)) * c.tables.anchor.load(w, c.kinematic.joint.at(k))
        add_wrench_of_kinematic(c.kinematic, c.rows.joint_wrench, w, k, force, couple, arm)


@ti.func
def add_kinematic_efforts(c: ti.template(), w: ti.i32):
    """Add what holds kinematic bodies to the efforts along the dofs of their joints.

    Reads:  c.bound.system.effort, c.state.q
    Writes: c.rows.effort
    """
    for k in range(c.kinematic.n):
        force, couple = hold_kinematic(c, w, k)
        x = vector_at(c.state.q, w, c.tables.link_q.at(c.kinematic.body.at(k)))
        add_efforts_of_kinematic(c.kinematic, c.rows.effort, w, k, force, couple, x)
