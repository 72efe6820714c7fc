"""Projection of velocities on the rows before a step in natural coordinates, with the least kinetic energy.

Source: theory-natural.md, section zhong06.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.linear.system import assemble, leave
from simcli.solvers.natural.rotors import add_rotor_work, weigh_rotors
from simcli.solvers.shared import needs
from simcli.solvers.shared.motion_work import work_of_projection
from simcli.solvers.tree.integrators import H


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
        y.soft.store(w, r, select(acts, y.softness.load(w, 0) * y.scale.load(w, r), zero + 1.0))
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
    Writes: c.state.qd, c.bound.{impulse, owes, projected}, c.forces.account.work
    """
    y = c.bound.system
    _note_projection(c, w)
    work_of_projection(c, w)
    add_rotor_work(c, w)
    for n in range(y.n_dofs):
        d = c.tables.tree_dof.at(n)
        c.state.qd.store(w, d, c.state.qd.load(w, d) + y.acceleration.load(w, n))
        c.bound.impulse.store(w, n, c.tables.arena.zero())
    c.bound.owes.store(w, 0, c.tables.arena.zero())


@needs.touching
@ti.func
def _note_projection(c: ti.template(), w: ti.i32):
    y = c.bound.system
    for r in range(y.n_rows):
        given = select(y.free.load(w, y.n_dofs + r) == 0.0, c.tables.arena.zero(), y.multiplier.load(w, r))
        c.bound.projected.store(w, r, c.bound.projected.load(w, r) - given)


@ti.func
def show_projection(c: ti.template(), w: ti.i32):
    """Add to the forces of a step of impulses what the projection before it has given.

    Velocities of such steps are those half a step before their positions: the projection takes half of what turns them.

    Reads:  c.bound.{jumps, projected}
    Writes: c.bound.{projected, system.force}
    """
    y = c.bound.system
    h = c.constants.load(w, H)
    jumps = c.bound.jumps.load(w, 0) > 0.0
    for r in range(y.n_rows):
        given = c.bound.projected.load(w, r) / h
        y.force.store(w, r, y.force.load(w, r) + select(jumps, given, given * 0.0))
        c.bound.projected.store(w, r, given * 0.0)
