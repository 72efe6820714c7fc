"""Where steps of first order end: gyroscopic torques there, and wrenches of joints that sum to the momentum of a step.

Gyroscopic torques where a step begins are in base/gyroscopic_torques.py; here is what they are where it ends, and the way
back, as states tell them, for inverse dynamics.

An evaluation shows the forces that the accelerations of its instant need, with the axes where the step begins. The step ends
with other axes: its velocities differ from v + h a by h^2. What this is of the momentum of each body is added to the forces
of its joint, and of the joints below it. Torques at the anchors stay those of the instant, and so do forces along what a
joint lets slide: these are its efforts.

Source: derived; kernels/articulation/retraction.py. Deviation: none.
"""

from simcli.kernels.articulation.kinematics import com_about_origin, point_velocity, quaternion_at, store_vector, vector_at
from simcli.kernels.articulation.report import put
from simcli.kernels.articulation.retraction import mean_spin, turning_rate
from simcli.kernels.device.arena import local
from simcli.kernels.device.stage_lists import when
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.values import Vec3
from simcli.solvers.base import needs
from simcli.solvers.base.gyroscopic_torques import (
    arm_of_centre,
    change_of_torque,
    gyroscopic_change,
    held_torque,
    inertia_and_spin,
    share_of_carrier,
)
from simcli.solvers.base.integrators import H


def noting(c, places: tuple = ()) -> tuple:
    """Stages after those that show reactions.

    Args:
        c: core of the run.
        places: stages that place links where the step begins, where they are not.
    """
    return *when(c.sums_momenta, note_changes), *places, *when(c.sums_momenta, note_starts)


def adding(c) -> tuple:
    """The stage after links have been placed where the step ends."""
    return when(c.sums_momenta, add_momenta)


@ti.func
def note_changes(c: ti.template(), w: ti.i32):
    """By what the forces just shown change the velocities of centres of mass in the step.

    Reads:  c.state of `place_all` and `rnea_link_forces`
    Writes: c.momenta
    """
    t, s = c.tables, c.state
    for i in range(t.n_links):
        x, v = com_about_origin(t, s, w, i), s.v.load(w, i)
        a = point_velocity(s.a.load(w, i), x) + v.angular.cross(point_velocity(v, x)) + t.gravity.load(w, 0)
        c.momenta.store(w, i, a * c.constants.load(w, H))


@ti.func
def note_starts(c: ti.template(), w: ti.i32):
    """Add the velocities where the step begins.

    Reads:  c.state of `place_all`
    Writes: c.momenta
    """
    t, s = c.tables, c.state
    for i in range(t.n_links):
        c.momenta.store(w, i, c.momenta.load(w, i) + point_velocity(s.v.load(w, i), com_about_origin(t, s, w, i)))


@ti.func
def add_momenta(c: ti.template(), w: ti.i32):
    """Add what the momenta where the step ends have besides, tips first.

    Reads:  c.state of `place_all`
    Writes: c.{momenta, rows.joint_wrench}
    """
    t, s = c.tables, c.state
    for i in range(t.n_links):
        ends = point_velocity(s.v.load(w, i), com_about_origin(t, s, w, i))
        share = t.mass.load(w, i) / c.constants.load(w, H)
        c.momenta.store(w, i, (ends - c.momenta.load(w, i)) * share)
    for k in range(t.n_links):
        i = t.n_links - 1 - k
        p = t.parent.at(i)
        force = c.momenta.load(w, i)
        first = t.link_qd.at(i)
        for d in range(first, first + t.link_n_qd.at(i)):
            force = force - _slid(s.S.load(w, d), force)
        c.momenta.store(w, i, force)
        if p >= 0:
            c.momenta.store(w, p, c.momenta.load(w, p) + force)
    for j in range(t.n_joints):
        link = t.joint_link.at(j)
        if link >= 0:
            force = c.momenta.load(w, link) * ti.cast(t.joint_sign.at(j), t.arena.device.real)
            put(c.rows.joint_wrench, w, 6 * j, vector_at(c.rows.joint_wrench, w, 6 * j) + force)


def _slid(S, force):
    """The part of a force along a dof that turns nothing (inside kernels)."""
    along, size = S.linear, S.linear.dot(S.linear)
    slides = (S.angular.dot(S.angular) == 0.0) & (size > 0.0)
    part = along * (along.dot(force) / select(slides, size, size * 0.0 + 1.0))
    return Vec3(*(select(slides, x, x * 0.0) for x in part.parts))


@needs.gyroscopes
@ti.func
def take_turns_away(c: ti.template(), w: ti.i32):
    """From efforts that a state asks for to those of its step, whose gyroscopic torques are not those where it begins.

    Reads:  c.state.{q, qd}, c.{qdd, ends, constants}
    Writes: c.effort
    """
    o = c.gyroscopes
    h = c.constants.load(w, H)
    for n in range(o.n):
        d = o.first_qd.at(n)
        acts = (c.tables.arena.zero() + o.spins.load(w, n) != 0.0) & (h > 0.0)
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
def _gain_of_step(c: ti.template(), w: ti.i32, n: ti.i32, inertia: ti.template(), spin: ti.template(), ends: ti.template()):
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
def _return_arm(
    c: ti.template(),
    w: ti.i32,
    n: ti.i32,
    moved: ti.template(),
    ends: ti.template(),
    before: ti.template(),
    after: ti.template(),
    spins: ti.template(),
):
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
def _end_arm(
    c: ti.template(), w: ti.i32, n: ti.i32, moved: ti.template(), ends: ti.template(), R: ti.template(), spins: ti.template()
):
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
