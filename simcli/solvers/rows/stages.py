"""Stages of steps that rows and laws constrain: equations, the active set, corrections. See tree/stages.py."""

from simcli.kernels.articulation.rnea import rnea_backward, rnea_link_forces
from simcli.kernels.language import ti
from simcli.kernels.linear.sparse import substitute
from simcli.kernels.linear.system import assemble, enter, extrapolate, fill, keep_try, leave
from simcli.kernels.rows.tree_rows import measure_tree_rows
from simcli.solvers.rows.active_set import update_active_set
from simcli.solvers.rows.corrections import shift_multiplier
from simcli.solvers.rows.equations import state_equations
from simcli.solvers.rows.laws import account_laws, finish_try
from simcli.solvers.rows.memory import settle_speeds, use_constrained
from simcli.solvers.rows.repeat import note_motions, use_again
from simcli.solvers.shared import needs
from simcli.solvers.shared.motions import follow_motions, keep_turns
from simcli.solvers.tree.integrators import H
from simcli.solvers.tree.turning import foresee_turns


@ti.func
def find_bias(c: ti.template(), w: ti.i32):
    """What the coordinates' forces have to be where nothing accelerates.

    Writes: c.state.{qdd, u}
    """
    for n in range(c.tables.n_tree_dofs):
        c.state.qdd.store(w, c.tables.tree_dof.at(n), c.tables.arena.zero())
    rnea_link_forces(c.tables, c.state, w)
    rnea_backward(c.tables, c.state, c.state.u, w)


@ti.func
def measure_rows(c: ti.template(), w: ti.i32):
    """Residuals, rates, biases and directions of rows."""
    measure_tree_rows(c.tables, c.state, c.bound.system.rows, w)


@ti.func
def fill_system(c: ti.template(), w: ti.i32):
    """Mass matrix and Jacobian, and `begin_system`.

    Writes: c.bound.{system.entry, start, base}
    """
    fill(c.bound.system, c.tables, c.state, w)
    begin_system(c, w)


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
    update_active_set(c, w, k, c.now.load(w, "node"), c.b.load(w, 0), c.constants.load(w, H), c.g.load(w, 0),
                  c.now.load(w, "instant"))  # fmt: skip
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
    state_equations(c, w, c.now.load(w, "node"), c.b.load(w, 0), c.constants.load(w, H), c.g.load(w, 0),
                    c.now.load(w, "instant"))  # fmt: skip
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
def advance_constrained(c: ti.template(), w: ti.i32):
    """A first-order step under constraints."""
    use_constrained(c, w, c.constants.load(w, H))


@ti.func
def finish_prescribed(c: ti.template(), w: ti.i32):
    """Locked and prescribed coordinates, as they are where a step ends."""
    settle_speeds(c, w)
    follow_motions(c, w)


def has_velocity_jump(c, w):
    """The worlds in which a law stops a coordinate in this step."""
    return c.bound.velocity_jump.load(w, 0) > 0.0


@ti.func
def advance_again(c: ti.template(), w: ti.i32):
    """The step that is taken again, of first order."""
    use_again(c, w, c.constants.load(w, H))


@ti.func
def count_correction(c: ti.template(), w: ti.i32):
    """One correction more was made in this step.

    Writes: c.now
    """
    c.now.store(w, "correction", c.now.load(w, "correction") + 1)


def not_converged(c, w):
    """The worlds whose rows were not where they shall be before the last correction."""
    return c.bound.worst.load(w, 0) > c.bound.tight
