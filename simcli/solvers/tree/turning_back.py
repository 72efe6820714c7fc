"""The gyroscopic torques of steps of first order that states tell, for inverse dynamics: the way back of turning.py.

Source: kernels/articulation/gyroscope.py. Deviation: none.
"""

from simcli.kernels.algebra.elementary import select_parts
from simcli.kernels.algebra.values import Vec3
from simcli.kernels.articulation.gyroscope import mean_spin, turning_rate
from simcli.kernels.articulation.kinematics import quaternion_at, store_vector, vector_at
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local
from simcli.solvers.shared import needs
from simcli.solvers.tree.integrators import H
from simcli.solvers.tree.turning import (
    arm_of_centre,
    change_of_torque,
    gyroscopic_change,
    held_torque,
    inertia_and_spin,
    share_of_carrier,
)


@needs.gyroscopes
@ti.func
def take_turns_away(c: ti.template(), w: ti.i32):
    """From efforts that a state asks for to those of its step, whose gyroscopic torques are not those where it begins.

    Reads:  c.state.{q, qd}, c.{qdd, ends, constants}
    Writes: c.effort
    """
    o = c.gyroscopes
    zero = c.tables.arena.zero()
    h = c.constants.load(w, H)
    for n in range(o.n):
        d = o.first_qd.at(n)
        acts = (zero + o.spins.load(w, n) != 0.0) & (h > 0.0)
        given = vector_at(c.effort, w, d)
        inertia, spin, torque = inertia_and_spin(c, w, n)
        ends = spin + vector_at(c.qdd, w, d) * h
        found = given + held_torque(inertia, spin, ends) - torque
        if o.carries.at(n) != 0:
            found = given - gyroscopic_change(c, w, n) * share_of_carrier(c, w, n)
        if o.is_alone.at(n) != 0:
            found = given + _gain_of_step(c, w, n, inertia, spin, ends) - torque + _push_of_arm(c, w, n, spin, ends, acts)
        store_vector(c.effort, w, d, select_parts(acts, found, given))


@ti.func
def _gain_of_step(c: ti.template(), w: ti.i32, n: ti.i32, inertia: ti.template(), spin: ti.template(),
                  ends: ti.template()):
    """[N m], what the momentum of a body that stands alone gains in a step, without what its acceleration takes.

    Reads: c.ends
    """
    o = c.gyroscopes
    h = c.constants.load(w, H)
    after = o.inertia.load(w, n).turned(quaternion_at(c.ends, w, o.first_q.at(n)).matrix())
    return (after * ends - inertia * ends) * local(1.0 / h)


def _push_of_arm(c, w, n, spin, ends, acts):
    """The same of what is welded on: torque about the body's own centre, whose force is written (inside kernels).

    Writes: c.effort
    """
    zero = c.tables.arena.zero()
    return _pushed_off(c, w, n, spin, ends, acts) if c.gyroscopes.has_arms else Vec3(zero, zero, zero)


@ti.func
def _pushed_off(c: ti.template(), w: ti.i32, n: ti.i32, spin: ti.template(), ends: ti.template(), acts: ti.template()):
    o = c.gyroscopes
    zero = c.tables.arena.zero()
    torque = Vec3(zero, zero, zero)
    if o.is_off.at(n) != 0:
        d = o.first_qd.at(n)
        arm = arm_of_centre(c, w, n)
        after = quaternion_at(c.ends, w, o.first_q.at(n)).matrix() * o.arm.load(w, n)
        gained = (ends.cross(after) - spin.cross(arm)) * local(1.0 / c.constants.load(w, H))
        force = (gained - vector_at(c.qdd, w, d).cross(arm) - spin.cross(spin.cross(arm))) * o.mass.load(w, n)
        given = vector_at(c.effort, w, d - 3)
        store_vector(c.effort, w, d - 3, select_parts(acts, given + force, given))
        torque = arm.cross(force)
    return torque


@needs.lone_gyroscopes
@ti.func
def return_turns(c: ti.template(), w: ti.i32):
    """The velocities that brought bodies that stand alone to where a step ends, from what its start is taken for.

    Reads:  c.state.{q, qd}, c.{ends, qdd, constants}
    Writes: c.moved
    """
    o = c.gyroscopes
    h = c.constants.load(w, H)
    for n in range(o.n):
        if o.is_alone.at(n) != 0:
            d = o.first_qd.at(n)
            ends = vector_at(c.state.qd, w, d)
            start = ends - vector_at(c.qdd, w, d) * h
            before = quaternion_at(c.state.q, w, o.first_q.at(n)).matrix()
            after = quaternion_at(c.ends, w, o.first_q.at(n)).matrix()
            aim = o.inertia.load(w, n).turned(after) * ends
            mean = mean_spin(o.inertia.load(w, n).turned(before), aim, start, h, 0.0 * h + 1.0)
            moved = turning_rate(mean, h)
            spins = c.tables.arena.zero() + o.spins.load(w, n) != 0.0
            store_vector(c.moved, w, d, select_parts(spins, moved, ends))
            _return_arm(c, w, n, moved, ends, before, after, spins)


@needs.gyroscope_arms
@ti.func
def _return_arm(c: ti.template(), w: ti.i32, n: ti.i32, moved: ti.template(), ends: ti.template(), before: ti.template(),
                after: ti.template(), spins: ti.template()):
    """Undo `_end_arm`.

    Writes: c.moved
    """
    o = c.gyroscopes
    if o.is_off.at(n) != 0:
        d = o.first_qd.at(n) - 3
        v = vector_at(c.state.qd, w, d)
        arm = o.arm.load(w, n)
        found = v - moved.cross(before * arm) + ends.cross(after * arm)
        store_vector(c.moved, w, d, select_parts(spins, found, v))


@needs.lone_gyroscopes
@ti.func
def end_turns(c: ti.template(), w: ti.i32):
    """Angular velocities and accelerations of bodies that stand alone, of their momentum where the step ends.

    Reads:  c.state.q, c.gyroscopes
    Writes: c.state.{qd, qdd}
    """
    o = c.gyroscopes
    h = c.constants.load(w, H)
    for n in range(o.n):
        if o.is_alone.at(n) != 0:
            d = o.first_qd.at(n)
            moved = vector_at(c.state.qd, w, d)
            R = quaternion_at(c.state.q, w, o.first_q.at(n)).matrix()
            carried = R * (o.inertia.load(w, n) * R.transposed_times(moved))  # its rounding is that of the next step
            gained = o.rest.load(w, n) + o.begun.load(w, n) * moved - carried
            ends = moved + R * (o.inverse.load(w, n) * R.transposed_times(gained))
            spins = o.spins.load(w, n) + c.tables.arena.zero() != 0.0
            store_vector(c.state.qd, w, d, select_parts(spins, ends, moved))
            _end_arm(c, w, n, moved, ends, R, spins)
            change = (ends - o.start.load(w, n)) * local(1.0 / h)
            store_vector(c.state.qdd, w, d, select_parts(spins, change, vector_at(c.state.qdd, w, d)))


@needs.gyroscope_arms
@ti.func
def _end_arm(c: ti.template(), w: ti.i32, n: ti.i32, moved: ti.template(), ends: ti.template(), R: ti.template(),
             spins: ti.template()):
    """Velocity of a body's own centre of mass, where that of all of it is what moved it, and its mean acceleration.

    Writes: c.state.{qd, qdd}
    """
    o = c.gyroscopes
    if o.is_off.at(n) != 0:
        d = o.first_qd.at(n) - 3
        v = vector_at(c.state.qd, w, d)
        change = moved.cross(o.begun_arm.load(w, n)) - ends.cross(R * o.arm.load(w, n))
        store_vector(c.state.qd, w, d, select_parts(spins, v + change, v))
        given = vector_at(c.state.qdd, w, d)
        found = given + change * local(1.0 / c.constants.load(w, H))
        store_vector(c.state.qdd, w, d, select_parts(spins, found, given))


@ti.func
def turn_base(c: ti.template(), w: ti.i32):
    """Give bodies that are held the torques of the accelerations found, of which laws have their part.

    Reads:  c.state.qdd
    Writes: c.bound.base, c.gyroscopes.rest
    """
    o = c.gyroscopes
    h = c.constants.load(w, H)
    for n in range(o.n):
        if o.carries.at(n) + o.is_alone.at(n) == 0:
            d = o.first_qd.at(n)
            at = c.tables.unknown.at(d)
            ends = o.start.load(w, n) + vector_at(c.state.qdd, w, d) * h
            change = change_of_torque(c, w, n, ends, h > 0.0)
            store_vector(c.bound.base, w, at, vector_at(c.bound.base, w, at) + change)


@ti.func
def turn_carriers(c: ti.template(), w: ti.i32):
    """Add what the gyroscopic torques of carriers change in a step to the efforts of their joints.

    Writes: c.state.tau
    """
    _push_carriers(c, w, 1.0)


@ti.func
def forget_carriers(c: ti.template(), w: ti.i32):
    """Take them away again: no joint gives them.

    Writes: c.state.tau
    """
    _push_carriers(c, w, -1.0)


@ti.func
def _push_carriers(c: ti.template(), w: ti.i32, sign: ti.template()):
    o = c.gyroscopes
    for n in range(o.n):
        if o.carries.at(n) != 0:
            d = o.first_qd.at(n)
            tau = vector_at(c.state.tau, w, d)
            changed = tau + gyroscopic_change(c, w, n) * (share_of_carrier(c, w, n) * sign)
            spins = c.tables.arena.zero() + o.spins.load(w, n) != 0.0
            store_vector(c.state.tau, w, d, select_parts(spins, changed, tau))
