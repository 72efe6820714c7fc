"""Stages of steps of first order for the gyroscopic torques of bodies that turn freely, see gyroscopes.py.

Source: kernels/articulation/retraction.py. Deviation: none.
"""

from simcli.kernels.articulation.kinematics import com_about_origin, quaternion_at, store_vector, vector_at
from simcli.kernels.articulation.report import effort_now
from simcli.kernels.articulation.retraction import mean_spin, turning_rate
from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.values import Force, Sym3, Vec3
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.base.midpoint import is_fast_tree


@needs.gyroscopes
@ti.func
def foresee_turns(c: ti.template(), w: ti.i32, base: ti.template(), by_force: ti.template()):
    """Gyroscopic torques of the whole step in the place of those where it begins.

    Args:
        base: what each dof has without rows: the force along it, by its unknown; else its acceleration, of no carriers.
        by_force: whether it is the force.

    Reads:  c.state.{q, qd}
    Writes: base, c.gyroscopes.{begun, rest, start}
    """
    o = c.gyroscopes
    for n in range(o.n):
        at = o.first_qd.at(n)
        if ti.static(by_force):
            at = c.tables.unknown.at(at)
        given = vector_at(base, w, at)
        found = given * 1.0
        spins = c.tables.arena.zero() + o.spins.load(w, n) != 0.0
        if o.carries.at(n) != 0:
            if ti.static(by_force):
                found = given + gyroscopic_change(c, w, n) * share_of_carrier(c, w, n)
        else:
            inertia, spin, torque = inertia_and_spin(c, w, n)
            if ti.static(by_force):
                about = torque + _about_centre(c, w, base, n, at, given)
                turned = _resisting(c, w, n, inertia) * _foresee(c, w, n, inertia, spin, about)
                found = turned + _push_arm(c, w, base, n, at, spins)
            else:
                found = _foresee(c, w, n, inertia, spin, torque + _resisting(c, w, n, inertia) * given)
                _shift_arm(c, w, base, n, at, given, found, spins)
        store_vector(base, w, at, select_parts(spins, found, given))


def share_of_carrier(c, w, n):
    """1, or 0 where what velocities need is that of the middle of the step (inside kernels)."""
    return 1.0 - is_fast_tree(c, w, c.gyroscopes.link.at(n)) if c.midpoint.n else 1.0


def arm_of_centre(c, w, n):
    """[m], d of a body where the step begins (inside kernels). Reads: c.state.q"""
    return quaternion_at(c.state.q, w, c.gyroscopes.first_q.at(n)).matrix() * c.gyroscopes.arm.load(w, n)


def _about_centre(c, w, base, n, at, torque):
    """Torque about the centre of all that is welded on (inside kernels)."""
    return _moved_torque(c, w, base, n, at, torque) if c.gyroscopes.has_arms else torque


@ti.func
def _moved_torque(c: ti.template(), w: ti.i32, base: ti.template(), n: ti.i32, at: ti.i32, torque: ti.template()):
    found = torque * 1.0
    if c.gyroscopes.is_off.at(n) != 0:
        found = torque - arm_of_centre(c, w, n).cross(vector_at(base, w, at - 3))
    return found


def _push_arm(c, w, base, n, at, spins):
    """Torque about the body's own centre of the force f + m w x (w x d), which is written (inside kernels).

    Writes: base, c.gyroscopes.begun_arm
    """
    zero = c.tables.arena.zero()
    return _pushed_arm(c, w, base, n, at, spins) if c.gyroscopes.has_arms else Vec3(zero, zero, zero)


@ti.func
def _pushed_arm(c: ti.template(), w: ti.i32, base: ti.template(), n: ti.i32, at: ti.i32, spins: ti.template()):
    o = c.gyroscopes
    zero = c.tables.arena.zero()
    torque = Vec3(zero, zero, zero)
    if o.is_off.at(n) != 0:
        arm = arm_of_centre(c, w, n)
        o.begun_arm.store(w, n, arm)
        spin = vector_at(c.state.qd, w, o.first_qd.at(n))
        given = vector_at(base, w, at - 3)
        force = given + spin.cross(spin.cross(arm)) * o.mass.load(w, n)
        store_vector(base, w, at - 3, select_parts(spins, force, given))
        torque = arm.cross(force)
    return torque


@needs.gyroscope_arms
@ti.func
def _shift_arm(
    c: ti.template(),
    w: ti.i32,
    base: ti.template(),
    n: ti.i32,
    at: ti.i32,
    before: ti.template(),
    after: ti.template(),
    spins: ti.template(),
):
    """The acceleration of a body's own centre of mass, as its angular acceleration changes while that of all of it stays.

    Writes: base, c.gyroscopes.begun_arm
    """
    o = c.gyroscopes
    if o.is_off.at(n) != 0:
        arm = arm_of_centre(c, w, n)
        o.begun_arm.store(w, n, arm)
        spin = vector_at(c.state.qd, w, o.first_qd.at(n))
        given = vector_at(base, w, at - 3)
        found = given + (before - after).cross(arm) + spin.cross(spin.cross(arm))
        store_vector(base, w, at - 3, select_parts(spins, found, given))


@ti.func
def inertia_and_spin(c: ti.template(), w: ti.i32, n: ti.i32):
    """Inertia, angular velocity and its gyroscopic torque w x I w, where the step begins.

    Reads: c.state.{q, qd}
    """
    o = c.gyroscopes
    spin = vector_at(c.state.qd, w, o.first_qd.at(n))
    inertia = o.inertia.load(w, n).turned(quaternion_at(c.state.q, w, o.first_q.at(n)).matrix())
    return inertia, spin, spin.cross(inertia * spin)


def _resisting(c, w, n, inertia):
    """Inertia, with what efforts and armature take of accelerations (inside kernels). Reads: c.state.diagonal"""
    if not c.gyroscopes.is_resisted:
        return inertia
    d, zero = c.gyroscopes.first_qd.at(n), c.tables.arena.zero()
    return inertia + Sym3(*(c.state.diagonal.load(w, d + k) for k in range(3)), zero, zero, zero)


@ti.func
def _foresee(c: ti.template(), w: ti.i32, n: ti.i32, inertia: ti.template(), spin: ti.template(), torque: ti.template()):
    """[rad/s^2], what brings a body to the velocity that moves it in a step without contacts.

    Args:
        torque: [N m], all others than the gyroscopic one.

    Writes: c.gyroscopes.{begun, rest, start}
    """
    o = c.gyroscopes
    h = c.constants.load(w, H)
    alone = 0.0 * h
    if o.is_alone.at(n) != 0:
        alone = alone + 1.0
    resisting = _resisting(c, w, n, inertia)
    aim = resisting * spin + torque * (h * 0.5 * (1.0 + alone))
    mean = mean_spin(inertia, aim, spin, h, alone, resisting)
    moved = mean * 2.0 - spin
    if o.is_alone.at(n) != 0:
        moved = turning_rate(mean, h)
    rest = mean.cross(inertia * mean)
    if o.is_alone.at(n) != 0:
        rest = aim - inertia * moved
    o.begun.store(w, n, inertia)
    o.rest.store(w, n, rest)
    o.start.store(w, n, spin)
    return (moved - spin) * local(1.0 / h)


@ti.func
def gyroscopic_change(c: ti.template(), w: ti.i32, n: ti.i32):
    """[N m], of the gyroscopic torque of a whole step from that where it begins, of a body that nothing else turns.

    Reads: c.state.{q, qd}
    """
    h = c.constants.load(w, H)
    inertia, spin, torque = inertia_and_spin(c, w, n)
    mean = mean_spin(inertia, inertia * spin, spin, h, 0.0)
    return inertia * ((mean - spin) * local(2.0 / h)) + torque


@ti.func
def held_torque(inertia: ti.template(), start: ti.template(), ends: ti.template()):
    """[N m], the gyroscopic torque of a step of a body that is held: that of the mean of two angular velocities."""
    mean = (start + ends) * 0.5
    return mean.cross(inertia * mean)


@ti.func
def change_of_torque(c: ti.template(), w: ti.i32, n: ti.i32, ends: ti.template(), moves: ti.template()):
    """[N m], what the torque of a body that is held gains, as the step ends with another angular velocity than before.

    Args:
        ends: [rad/s], that.
        moves: mask of the worlds in which it may change.

    Writes: c.gyroscopes.rest
    """
    o = c.gyroscopes
    zero = c.tables.arena.zero()
    before = o.rest.load(w, n)
    after = held_torque(o.begun.load(w, n), o.start.load(w, n), ends)
    acts = moves & (zero + o.spins.load(w, n) != 0.0)
    o.rest.store(w, n, select_parts(acts, after, before))
    return select_parts(acts, before - after, Vec3(zero, zero, zero))


@ti.func
def gains_spin(c: ti.template(), w: ti.i32, n: ti.i32, ends: ti.template(), h: ti.template()):
    """[rad/s], by how much the change of its torque turns a body that is held faster in a step, if nothing else held it.

    Args:
        ends: as of `change_of_torque`.
    """
    o = c.gyroscopes
    inertia = o.begun.load(w, n)
    change = o.rest.load(w, n) - held_torque(inertia, o.start.load(w, n), ends)
    xx, yy, zz = inertia.parts[:3]
    return local(ti.sqrt(change.dot(change)) * h / (xx + yy + zz))


@needs.held_gyroscopes
@ti.func
def load_turns(c: ti.template(), w: ti.i32, moves: ti.template()):
    """Ask a correction for what gyroscopic torques change by.

    Args:
        moves: mask of the worlds that it moves.

    Writes: c.bound.system.load
    """
    o = c.gyroscopes
    for n in range(o.n):
        if o.carries.at(n) + o.is_alone.at(n) == 0:
            d = o.first_qd.at(n)
            change = change_of_torque(c, w, n, vector_at(c.state.qd, w, d), moves)
            store_vector(c.bound.system.load, w, c.tables.unknown.at(d), change)


@needs.held_gyroscopes
@ti.func
def find_worst_turn(c: ti.template(), w: ti.i32):
    """The largest lack of a step also of what held bodies turn by the change of their torques, which a correction takes in.

    What keeps its rows without one, as a ball that rolls on a level plane, would have the torques of where the step begins,
    or those of its middle where something else in the world asks for corrections. After the first one rows alone ask,
    which turn what they hold; wheels do not stand in the way of turns about the normal.

    Writes: c.bound.worst
    """
    h = c.constants.load(w, H)
    o = c.gyroscopes
    zero = c.tables.arena.zero()
    asks = zero + ti.cast(c.now.load(w, "correction") == 0, c.tables.arena.device.real) + _rolls(c)
    worst = c.bound.worst.load(w, 0)
    for n in range(o.n):
        if o.carries.at(n) + o.is_alone.at(n) == 0:
            turn = gains_spin(c, w, n, vector_at(c.state.qd, w, o.first_qd.at(n)), h) * h
            acts = (asks > 0.0) & (zero + o.spins.load(w, n) != 0.0)
            worst = ti.max(worst, select(acts, turn, zero))
    c.bound.worst.store(w, 0, worst)


def _rolls(c):
    """1 where some rows hold velocities alone, else 0 (inside kernels)."""
    return 1.0 if c.bound.system.rows.wheels.has_slips else 0.0


def _efforts_from(t, s, w, d):
    """[N m], efforts of three dofs (inside kernels)."""
    return Vec3(*(effort_now(t, s, w, d + k) for k in range(3)))


@needs.lone_gyroscopes
@ti.func
def hold_turns(c: ti.template(), w: ti.i32):
    """What turns bodies that stand alone is nothing but the efforts of their joints: the acceleration is one of momentum.

    Reads:  c.state.{tau, diagonal, qdd} and what `rnea_link_forces` reads
    Writes: c.state.f
    """
    o = c.gyroscopes
    t = c.tables
    s = c.state
    for n in range(o.n):
        if o.is_alone.at(n) != 0:
            i = o.link.at(n)
            d = o.first_qd.at(n)
            effort = _efforts_from(t, s, w, d)
            f = s.f.load(w, i)
            moment = com_about_origin(t, s, w, i).cross(f.force) + t.rotation.load(w, i) * effort
            s.f.store(w, i, Force.of(f.force, select_parts(t.arena.zero() + o.spins.load(w, n) != 0.0, moment, f.moment)))
