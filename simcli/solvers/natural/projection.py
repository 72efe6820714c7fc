"""Projection of velocities on the rows before a step in natural coordinates, with the least kinetic energy, and armature.

Armature is a rotor on each coordinate x = x(q), whose momentum A x' acts along J.

    first half of a step:   M (v_m - v) = h/2 (F + J^T lambda),    lambda = -A (x_m' - x') 2/h,    x_m' = x' + h/2 (J a + B)
    second half:            M (v+ - v_m) = h/2 F + J+^T A (x_m' - J+ v+)

with B what x'' is at a = 0: the discrete Lagrangian of Zhong's step with A x_m'^2 / 2 added. The second half is implicit in
v+ and is made together with the projection of velocities, whose metric has the rotors: a soft row, e = 1/A, each.

Source: theory-natural.md, section zhong06; of rotors derived, discrete mechanics as in Marsden and West (2001), section 1.
"""

from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.constrained_system import assemble, leave
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.rows.active_set import acceleration_of_law
from simcli.solvers.rows.islands import island_of, jump_of, jumps_of
from simcli.solvers.rows.motion_work import work_of_projection


@needs.laws
@needs.armature
@ti.func
def weigh_rotors(c: ti.template(), w: ti.i32):
    """Give the projection of velocities the rotors, and what the last step owes them.

    Reads:  c.bound.{pace, owes}, c.forces.armature
    Writes: c.bound.system.{free, soft, load}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    for n in range(y.laws.n):
        if y.laws.is_loop.at(n) != 0:
            r = y.laws.row.at(n)
            armature = c.forces.armature.load(w, y.laws.dof.at(n)) * (zero + y.enabled.load(w, r))
            turns = armature > 0.0
            owes = c.bound.owes.load(w, island_of(c, y.n_dofs + r))
            owed = (c.bound.pace.load(w, n) - y.rows.rate.load(w, r)) * owes
            y.free.store(w, y.n_dofs + r, select(turns, zero + 1.0, zero))
            y.soft.store(w, r, select(turns, 1.0 / select(turns, armature, zero + 1.0), zero + 1.0))
            y.load.store(w, y.n_dofs + r, select(turns, owed, zero))


@ti.func
def store_rotor_rates(c: ti.template(), w: ti.i32):
    """At the end of a step: x_m', and the forces of laws without armature, for the second half of the step.

    Reads:  c.bound.system.{acceleration, laws}, c.state.qd of the start
    Writes: c.bound.{pace, owes, system.force}, c.forces.account.work
    """
    y = c.bound.system
    g = c.constants.load(w, H) * 0.5
    zero = c.tables.arena.zero()
    for n in range(y.laws.n):
        if y.laws.is_loop.at(n) != 0:
            r = y.laws.row.at(n)
            smooth = _is_smooth(c, w, island_of(c, y.n_dofs + r))
            change = acceleration_of_law(c, w, n) + y.laws.shift.load(w, n)
            given = change * c.forces.armature.load(w, y.laws.dof.at(n)) * (zero + y.enabled.load(w, r))
            c.bound.pace.store(w, n, y.laws.rate.load(w, n) + change * g)
            given = select(smooth, given, zero)
            y.force.store(w, r, y.force.load(w, r) + given)
            _supply_by_kinematic(c, w, n, r, given * g)
    for k in range(c.bound.islands.n):
        c.bound.owes.store(w, k, select(_is_smooth(c, w, k), zero + 1.0, zero))


@needs.kinematic_bodies
@ti.func
def _supply_by_kinematic(c: ti.template(), w: ti.i32, n: ti.i32, r: ti.i32, impulse: ti.template()):
    """Work that kinematic bodies do on a rotor in the first half of a step, by the mean of their velocities of that half.

    The second half is one of the projection, which takes the mean of the velocities where the step ends and those that are
    prescribed there. For a rotor it begins in the middle of the step: `add_rotor_work` takes the difference.

    Args:
        n: law of row r.
        impulse: what row r gives the rotor.

    Reads:  c.bound.system, c.state.qd
    Writes: c.forces.account.work, c.bound.prescribed_gain
    """
    y = c.bound.system
    rate = c.tables.arena.zero()
    gain = rate
    for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
        d = y.j_dof.at(e)
        if c.motions.lock_of.at(d) >= 0:
            rate = rate + y.entry.load(w, y.n_mass + e) * c.state.qd.load(w, d)
            gain = gain + y.entry.load(w, y.n_mass + e) * y.acceleration.load(w, c.tables.unknown.at(d))
    gain = gain * (c.constants.load(w, H) * 0.5)
    c.bound.prescribed_gain.store(w, n, gain)
    c.forces.account.supply(w, impulse * (rate + gain * 0.5))


@needs.laws
@needs.armature
@needs.kinematic_bodies
@ti.func
def add_rotor_work(c: ti.template(), w: ti.i32):
    """What kinematic bodies do less on rotors in a projection than its mean velocities say, see `_supply_by_kinematic`.

    A smooth step ends as far beyond the velocity of its middle as that is beyond the one of its start.

    Reads:  c.bound.{prescribed_gain, owes, system.force}
    Writes: c.forces.account.work
    """
    y = c.bound.system
    done = c.tables.arena.zero()
    for n in range(y.laws.n):
        if y.laws.is_loop.at(n) != 0:
            r = y.laws.row.at(n)
            turns = c.forces.armature.load(w, y.laws.dof.at(n)) * y.enabled.load(w, r) > done * 0.0
            given = y.force.load(w, r) * c.bound.prescribed_gain.load(w, n) * 0.5
            done = done + select(turns, given, given * 0.0) * _owed_by(c, w, y.n_dofs + r)
    c.forces.account.supply(w, done * _owed_by_all(c, w))


def _owed_by(c, w, i):
    """`c.bound.owes` of the island of unknown i, where there are several (inside kernels)."""
    return c.bound.owes.load(w, island_of(c, i)) if c.bound.islands.are_many else 1.0


def _owed_by_all(c, w):
    """The same of a world that is one island (inside kernels)."""
    return 1.0 if c.bound.islands.are_many else c.bound.owes.load(w, 0)


def _is_smooth(c, w, k):
    """Mask of the worlds in which island k has taken a smooth step (inside kernels)."""
    return jumps_of(c).load(w, k) == 0.0 if c.bound.switches else c.tables.arena.zero() == 0.0


@ti.func
def state_projection(c: ti.template(), w: ti.i32):
    """The system and right-hand side of the projection of velocities: A dv = -A v with the least kinetic energy.

    Reads:  c.bound.system
    Writes: c.bound.system.{free, gain, soft, load, goal, centre, factor}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    for n in range(y.n_dofs):
        y.free.store(w, n, zero + 1.0)
        y.gain.store(w, n, zero)
        y.load.store(w, n, zero + c.bound.impulse.load(w, n))
        y.goal.store(w, n, zero)
    for m in range(c.motions.n_locks):
        y.free.store(w, c.tables.unknown.at(c.motions.lock_dof.at(m)), zero)
    for r in range(y.n_rows):
        i = y.n_dofs + r
        acts = (zero + y.enabled.load(w, r) != 0.0) & (zero + y.compliance.load(w, r) == 0.0)
        acts = acts & (zero + ti.cast(y.is_hard.at(r), c.tables.arena.device.real) != 0.0)
        y.free.store(w, i, select(acts, zero + 1.0, zero))
        y.soft.store(w, r, select(acts, y.softness.load(w, r) * y.scale.load(w, r), zero + 1.0))
        y.load.store(w, i, select(acts, -y.rows.rate.load(w, r), zero))
        y.goal.store(w, i, zero)
        y.centre.store(w, r, zero)
    weigh_rotors(c, w)
    assemble(y, w)


@ti.func
def take_projection(c: ti.template(), w: ti.i32):
    """Take a solution of the projection out of the factor."""
    leave(c.bound.system, w)


@ti.func
def end_projection(c: ti.template(), w: ti.i32):
    """Take the projected velocities. Rates and biases of the rows are measured anew: near singular positions they count.

    Reads:  c.bound.system
    Writes: c.state.qd, c.bound.{impulse, owes}, c.forces.account.work
    """
    y = c.bound.system
    work_of_projection(c, w)
    add_rotor_work(c, w)
    for n in range(y.n_dofs):
        d = c.tables.tree_dof.at(n)
        c.state.qd.store(w, d, c.state.qd.load(w, d) + y.acceleration.load(w, n))
        c.bound.impulse.store(w, n, c.tables.arena.zero())
    for k in range(c.bound.islands.n):
        c.bound.owes.store(w, k, c.tables.arena.zero())


@ti.func
def note_projection(c: ti.template(), w: ti.i32):
    """Note the forces that the projection of a frame adds to the step that it ends: its impulses, over the step.

    Velocities of steps of impulses are those half a step before their positions: projections take half of what turns them.

    Reads:  c.bound.system.{multiplier, effort, free}
    Writes: c.bound.projected
    """
    y = c.bound.system
    h = c.constants.load(w, H)
    for r in range(y.n_rows):
        given = select(y.free.load(w, y.n_dofs + r) == 0.0, c.tables.arena.zero(), y.multiplier.load(w, r))
        c.bound.projected.store(w, r, -given / h)
    _note_holds(c, w, h)


@needs.kinematic_bodies
@ti.func
def _note_holds(c: ti.template(), w: ti.i32, h: ti.template()):
    y = c.bound.system
    for n in range(y.n_dofs):
        c.bound.projected.store(w, y.n_rows + n, y.effort.load(w, n) / h)


@ti.func
def split_forces(c: ti.template(), w: ti.i32):
    """Leave of the forces of a step those that act along the directions where it begins.

    A smooth step has half of them there, and half where it ends, as has the projection.

    Reads:  c.bound.velocity_jump
    Writes: c.bound.{projected, system.force}
    """
    y = c.bound.system
    for r in range(y.n_rows):
        force = y.force.load(w, r)
        later = select(jump_of(c, w, y.n_dofs + r) == 0.0, force * 0.5, force * 0.0)
        y.force.store(w, r, force - later)
        c.bound.projected.store(w, r, c.bound.projected.load(w, r) + later)
    _turn_rotors(c, w)


@needs.laws
@needs.armature
@ti.func
def _turn_rotors(c: ti.template(), w: ti.i32):
    """Take what turned rotors in the first half of a smooth step off the forces: `store_rotor_rates` has none of it."""
    y = c.bound.system
    h = c.constants.load(w, H)
    for n in range(y.laws.n):
        if y.laws.is_loop.at(n) != 0:
            r = y.laws.row.at(n)
            turned = (c.bound.pace.load(w, n) - y.laws.rate.load(w, n)) * c.forces.armature.load(w, y.laws.dof.at(n)) / h
            turned = turned * (c.tables.arena.zero() + y.enabled.load(w, r))
            smooth = jump_of(c, w, y.n_dofs + r) == 0.0
            y.force.store(w, r, y.force.load(w, r) - select(smooth, turned, turned * 0.0))


@ti.func
def go_to_end(c: ti.template(), w: ti.i32):
    """Have the forces that act along the directions where the step ends; the others are kept.

    Writes: c.bound.{projected, system.{force, effort}}
    """
    y = c.bound.system
    for r in range(y.n_rows):
        before = y.force.load(w, r)
        y.force.store(w, r, c.bound.projected.load(w, r))
        c.bound.projected.store(w, r, before)
    _exchange_holds(c, w)


@needs.kinematic_bodies
@ti.func
def _exchange_holds(c: ti.template(), w: ti.i32):
    y = c.bound.system
    for n in range(y.n_dofs):
        before = y.effort.load(w, n)
        y.effort.store(w, n, c.bound.projected.load(w, y.n_rows + n))
        c.bound.projected.store(w, y.n_rows + n, before)


@ti.func
def join_forces(c: ti.template(), w: ti.i32):
    """The forces of a whole step.

    Writes: c.bound.system.{force, effort}
    """
    y = c.bound.system
    for r in range(y.n_rows):
        y.force.store(w, r, y.force.load(w, r) + c.bound.projected.load(w, r))
    _join_holds(c, w)


@needs.kinematic_bodies
@ti.func
def _join_holds(c: ti.template(), w: ti.i32):
    y = c.bound.system
    for n in range(y.n_dofs):
        y.effort.store(w, n, y.effort.load(w, n) + c.bound.projected.load(w, y.n_rows + n))
