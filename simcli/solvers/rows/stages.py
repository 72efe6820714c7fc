"""Stages of steps that rows and laws constrain: equations, the active set, corrections and their filters.

Filters are second solutions of corrections, which take out of the first ones what rows contradict: stages of steps whose
frames show the forces of corrections, and of those in natural coordinates. See tree/stages.py.
"""

from simcli.kernels.articulation.rnea import rnea_backward, rnea_link_forces
from simcli.kernels.device.arena import local
from simcli.kernels.device.crew import in_parts
from simcli.kernels.device.model_tables import links_of_part
from simcli.kernels.device.sparse_factors import get_unknown, substitute
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.numbers import number
from simcli.kernels.rows.bounded_laws import FREE
from simcli.kernels.rows.constrained_system import assemble, enter, extrapolate, fill, hold, keep_try, leave
from simcli.kernels.rows.tree_rows import measure_tree_rows
from simcli.solvers.base import needs
from simcli.solvers.base.gyroscopic_torques import foresee_turns
from simcli.solvers.base.integrators import H
from simcli.solvers.rows.active_set import law_power, update_active_set
from simcli.solvers.rows.corrections import correct_laws, is_rigid, shift_multiplier
from simcli.solvers.rows.equations import state_equations
from simcli.solvers.rows.motions import follow_motions, keep_turns
from simcli.solvers.rows.repeat import chooses, note_jumps, note_motions, set_locked_speeds


@in_parts
@ti.func
def find_bias(c: ti.template(), w: ti.i32):
    """What the coordinates' forces have to be where nothing accelerates.

    Writes: c.state.{qdd, u}
    """
    begin, end = links_of_part(c.tables, w)
    for i in range(begin, end):
        for d in range(c.tables.link_qd.at(i), c.tables.link_qd.at(i) + c.tables.link_n_qd.at(i)):
            c.state.qdd.store(w, d, c.tables.arena.zero())
    rnea_link_forces(c.tables, c.state, w)
    rnea_backward(c.tables, c.state, c.state.u, w)


@ti.func
def measure_rows(c: ti.template(), w: ti.i32):
    """Residuals, rates, biases and directions of rows."""
    measure_tree_rows(c.tables, c.state, c.bound.system.rows, w)


@in_parts
@ti.func
def fill_system(c: ti.template(), w: ti.i32):
    """Mass matrix and Jacobian.

    Writes: c.bound.system.entry
    """
    fill(c.bound.system, c.tables, c.state, w)


@ti.func
def begin_system(c: ti.template(), w: ti.i32):
    """Where rows begin; forces without rows and laws.

    Writes: c.bound.{start, base}
    """
    _keep_start(c, w)
    keep_turns(c, w)
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        c.bound.base.store(w, n, c.state.tau.load(w, d) - c.state.u.load(w, d))
    if ti.static(c.gyroscopes.n > 0):
        if c.now.load(w, "instant") == 0:
            foresee_turns(c, w, c.bound.base, True)


@needs.some_rows
@ti.func
def _keep_start(c: ti.template(), w: ti.i32):
    y = c.bound.system
    for r in range(y.n_rows):
        c.bound.start.store(w, r, y.rows.residual.load(w, r))


@ti.func
def find_active_set(c: ti.template(), w: ti.i32):
    """The pieces of all laws, by what the last try found.

    Writes: c.bound.{system.laws, tries, choosing}
    """
    k = c.now.load(w, "choice")
    update_active_set(
        c, w, k, c.now.load(w, "node"), c.b.load(w, 0), c.constants.load(w, H), c.g.load(w, 0), c.now.load(w, "instant")
    )
    chosen = c.tables.arena.zero() + 1.0
    if k > 0:
        chosen = _changed(c, w)
    c.bound.choosing.store(w, 0, chosen)
    _refine(c, w, k)
    c.now.store(w, "choice", k + 1)


def _changed(c, w):
    return c.bound.system.laws.changed.load(w, 0) if c.bound.system.laws.n > 0 else c.tables.arena.zero()


@needs.excess
@ti.func
def _refine(c: ti.template(), w: ti.i32, k: ti.i32):
    """Let a frame try again: that refines the accelerations of flat bodies."""
    if c.now.load(w, "instant") != 0 and k < c.bound.refinements:
        c.bound.choosing.store(w, 0, c.tables.arena.zero() + 1.0)


def set_changes(c, w):
    """The worlds in which a piece was chosen anew."""
    return c.bound.choosing.load(w, 0) != 0.0


@ti.func
def assemble_system(c: ti.template(), w: ti.i32):
    """Equations for the pieces that are chosen, and the factor of their matrix."""
    state_equations(
        c, w, c.now.load(w, "node"), c.b.load(w, 0), c.constants.load(w, H), c.g.load(w, 0), c.now.load(w, "instant")
    )
    assemble(c.bound.system, w)


@ti.func
def solve_system(c: ti.template(), w: ti.i32):
    """The solution of the present right-hand side.

    Reads:  c.bound.system
    Writes: c.bound.system.factor.x
    """
    enter(c.bound.system, w)
    substitute(c.bound.system.factor, w)


@ti.func
def keep_solution(c: ti.template(), w: ti.i32):
    """Take a solution of a try out of the factor, and into the weighted sum of all."""
    leave(c.bound.system, w)
    keep_try(c.bound.system, w, c.now.load(w, "solution"))


@ti.func
def shift_multipliers(c: ti.template(), w: ti.i32):
    """Centre rigid rows at the multipliers that the last solution found."""
    for r in range(c.bound.system.n_rows):
        shift_multiplier(c.bound.system, w, r)


@ti.func
def finish_solutions(c: ti.template(), w: ti.i32):
    """What the solutions of a try extrapolate to: accelerations, multipliers, efforts of laws."""
    extrapolate(c.bound.system, w)
    finish_try(c, w, c.now.load(w, "node"))


@ti.func
def account(c: ti.template(), w: ti.i32):
    """Powers of laws, and the jumps that they and prescribed motions make."""
    account_laws(c, w, c.now.load(w, "node"), c.constants.load(w, H), c.g.load(w, 0), c.now.load(w, "instant"))
    note_motions(c, w)


@ti.func
def finish_prescribed(c: ti.template(), w: ti.i32):
    """Locked and prescribed coordinates, as they are where a step ends."""
    set_locked_speeds(c, w)
    follow_motions(c, w)


def has_velocity_jump(c, w):
    """The worlds in which a law stops a coordinate in this step."""
    return c.bound.velocity_jump.load(w, 0) > 0.0


@ti.func
def count_correction(c: ti.template(), w: ti.i32):
    """One correction more was made in this step.

    Writes: c.now
    """
    c.now.store(w, "correction", c.now.load(w, "correction") + 1)


def not_converged(c, w):
    """The worlds whose rows were not where they shall be before the last correction."""
    return c.bound.worst.load(w, 0) > c.bound.tight


@ti.func
def account_laws(c: ti.template(), w: ti.i32, stage: ti.i32, h: ti.template(), g: ti.template(), instant: ti.i32):
    """Powers of laws, and the jumps that they make.

    Reads:  c
    Writes: c.forces.account.power, c.bound.{velocity_jump, system.laws}
    """
    law_power(c, w, _span_of_power(c, stage, h), g)
    note_jumps(c, w, stage, h, instant)


def _span_of_power(c, stage, h):
    """[s], of the mean powers: the step where it is of first order, else this instant (inside kernels)."""
    if c.stages == 1:
        return h
    return h * ti.cast(stage == number(c, "stages"), c.tables.arena.device.real) if c.bound.repeats else 0.0


@ti.func
def finish_try(c: ti.template(), w: ti.i32, stage: ti.i32):
    """Accelerations to the state, and the efforts that laws gave.

    Reads:  c.bound.system
    Writes: c.state.qdd, c.bound.system.{effort, laws.effort}
    """
    y = c.bound.system
    hold_locked(c, w)
    for n in range(c.tables.n_tree_dofs):
        c.state.qdd.store(w, c.tables.tree_dof.at(n), y.acceleration.load(w, n))
    _take_efforts(c, w, stage)


@needs.locking
def hold_locked(c, w):
    """What holds locked dofs (inside kernels).

    Writes: c.bound.system.effort
    """
    hold(c.bound.system, w)


@needs.laws
@ti.func
def _take_efforts(c: ti.template(), w: ti.i32, stage: ti.i32):
    """The efforts that laws gave."""
    y = c.bound.system
    for k in range(y.laws.n):
        i = y.laws.unknown.at(k)
        locked = y.laws.lock.load(w, k) != FREE
        found = c.tables.arena.zero()
        if i < y.n_dofs:
            line = y.laws.push.load(w, k) - y.laws.gain.load(w, k) * y.acceleration.load(w, i)
            found = select(locked, y.effort.load(w, i), line)
        else:
            found = y.force.load(w, i - y.n_dofs)
        y.laws.effort.store(w, k, _where_chosen(c, w, stage, i, found, y.laws.effort.load(w, k)))


def _where_chosen(c, w, stage, i, found, before):
    return select(chooses(c, w, stage, i), found, before) if c.bound.repeats else found


@ti.func
def filter_correction(c: ti.template(), w: ti.i32):
    """Ask for the second solution x2 of a correction, centred at the first: 2 x1 - x2 has nothing of what rows contradict.

    With a an eigenvalue of J M^-1 J^T its part of a residual is a / (a + e)^2, which is 0 where rows are redundant. There
    the first solution has residual / e: no motion, but a force that the gradients of the step's end would turn into one.

    Reads:  c.bound.system
    Writes: c.bound.{first, system.load}
    """
    y = c.bound.system
    for i in range(y.n):
        c.bound.first.store(w, i, get_unknown(y.factor, w, i))
    for r in range(y.n_rows):
        i = y.n_dofs + r
        acts = y.free.load(w, i) != 0.0
        moved = y.load.load(w, i) - y.soft.load(w, r) * c.bound.first.load(w, i)
        y.load.store(w, i, select(acts & is_rigid(y, w, r), moved, y.load.load(w, i)))


@ti.func
def filter_forces(c: ti.template(), w: ti.i32):
    """Make the forces of a correction those of both its solutions: what rows contradict moves nothing, and is no force.

    Reads:  c.bound.{first, system.factor}
    Writes: c.bound.system.{force, laws.effort}
    """
    y = c.bound.system
    for r in range(y.n_rows):
        y.force.store(w, r, y.force.load(w, r) - _contradicted(c, w, r))
    correct_laws(c, w)


@ti.func
def filter_rates(c: ti.template(), w: ti.i32):
    """The same for the forces of a correction of velocities.

    Reads:  c.bound.{first, system.factor}
    Writes: c.bound.projected
    """
    h = c.constants.load(w, H)
    for r in range(c.bound.system.n_rows):
        c.bound.projected.store(w, r, c.bound.projected.load(w, r) - _contradicted(c, w, r) / h)


def _contradicted(c, w, r):
    """By how much the second solution of a correction differs from the first at a row that acts (inside kernels)."""
    y = c.bound.system
    i = y.n_dofs + r
    change = local(c.bound.first.load(w, i) - get_unknown(y.factor, w, i))
    return select(y.free.load(w, i) == 0.0, change * 0.0, change)
