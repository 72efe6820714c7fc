"""Armature in natural coordinates: a rotor on each coordinate x = x(q), whose momentum A x' acts along J.

    first half of a step:   M (v_m - v) = h/2 (F + J^T lambda),    lambda = -A (x_m' - x') 2/h,    x_m' = x' + h/2 (J a + B)
    second half:            M (v+ - v_m) = h/2 F + J+^T A (x_m' - J+ v+)

with B what x'' is at a = 0: the discrete Lagrangian of Zhong's step with A x_m'^2 / 2 added. The second half is implicit in
v+ and is made together with the projection of velocities, whose metric has the rotors: a soft row, e = 1/A, each.

Source: derived; discrete mechanics as in Marsden and West (2001), section 1.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.solvers.rows.active_set import acceleration_of_law
from simcli.solvers.shared import needs
from simcli.solvers.tree.integrators import H


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
            owed = (c.bound.pace.load(w, n) - y.rows.rate.load(w, r)) * c.bound.owes.load(w, 0)
            y.free.store(w, y.n_dofs + r, select(turns, zero + 1.0, zero))
            y.soft.store(w, r, select(turns, 1.0 / select(turns, armature, zero + 1.0), zero + 1.0))
            y.load.store(w, y.n_dofs + r, select(turns, owed, zero))


@ti.func
def note_paces(c: ti.template(), w: ti.i32):
    """At the end of a step: x_m', and the forces of laws without armature, for the second half of the step.

    Reads:  c.bound.system.{acceleration, laws}, c.state.qd of the start
    Writes: c.bound.{pace, owes, system.force}, c.forces.account.work
    """
    y = c.bound.system
    g = c.constants.load(w, H) * 0.5
    zero = c.tables.arena.zero()
    smooth = _is_smooth(c, w)
    for n in range(y.laws.n):
        if y.laws.is_loop.at(n) != 0:
            r = y.laws.row.at(n)
            change = acceleration_of_law(c, w, n) + y.laws.shift.load(w, n)
            given = change * c.forces.armature.load(w, y.laws.dof.at(n)) * (zero + y.enabled.load(w, r))
            c.bound.pace.store(w, n, y.laws.rate.load(w, n) + change * g)
            given = select(smooth, given, zero)
            y.force.store(w, r, y.force.load(w, r) + given)
            _supply_by_kinematic(c, w, n, r, given * g)
    c.bound.owes.store(w, 0, select(smooth, zero + 1.0, zero))


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
            done = done + select(turns, given, given * 0.0)
    c.forces.account.supply(w, done * c.bound.owes.load(w, 0))


def _is_smooth(c, w):
    return c.bound.velocity_jump.load(w, 0) == 0.0 if c.bound.switches else c.tables.arena.zero() == 0.0
