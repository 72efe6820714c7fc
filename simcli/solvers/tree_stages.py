"""Stages of steps in joint coordinates, and of free bodies that rows join: functions of the core c and a block w.

What differs between integrators is another stage (integrators.py, repeat.py, impulse_stages.py) or a number in memory:

    node        evaluation of the step, from 0; as many as a step has for one that is taken again
    instant     1 for an evaluation that a frame shows, which ends no step
    b, g        [s], times over which efforts are implicit, and over which accelerations act on the velocity that moves
    choice      number of the choice of pieces;   solution: of a try;   correction: of a step
    rates       1 for corrections of velocities
    search      number of the search of impulses;   searches: at most
    statement   of the rows of impulses: 0 for the first one of an evaluation, which far bounds are not in

The lists are in tree_programs.py.
"""

import taichi as ti

from simcli.kernels.dynamics import accelerate, collect, demand, eliminate
from simcli.kernels.efforts import efforts
from simcli.kernels.external_forces import load_links
from simcli.kernels.loops import follow_turns
from simcli.kernels.rows import measure
from simcli.kernels.sparse import substitute
from simcli.kernels.system import assemble, enter, extrapolate, fill, keep, leave
from simcli.kernels.tree import place_all
from simcli.kernels.work import accumulate_work, effort_power
from simcli.solvers.choices import choose_pieces
from simcli.solvers.clock import follow_signals, time_of
from simcli.solvers.constrained import settle_speeds, use_constrained
from simcli.solvers.constrained_phase import account_laws, finish_try, turn_ahead
from simcli.solvers.constrained_report import report_constrained_reactions, report_reactions
from simcli.solvers.contact_report import report_contacts
from simcli.solvers.corrections import CORRECT, EVALUATE, PLACE, PROJECT, demand_correction, harden, use_correction
from simcli.solvers.equations import state_equations
from simcli.solvers.impulses import finish_impulses, look_ahead, look_back, move_by_impulses, needs_end
from simcli.solvers.integrators import H, copy, correct_efforts, use_semi_implicit
from simcli.solvers.motions import follow_motions, lead_rows
from simcli.solvers.repeat import keep_work, use_again
from simcli.solvers.watch import watch


@ti.func
def place(c: ti.template(), w: ti.i32):
    """Poses, velocities and motion axes of links, from the coordinates."""
    place_all(c.tables, c.state, w)


@ti.func
def follow(c: ti.template(), w: ti.i32):
    """What signals drive, at the time of the evaluation."""
    t, side = time_of(c, w)
    account = c.now.load(w, "node")
    if account == c.stages or c.now.load(w, "steps") == 0:
        account = -1
    follow_signals(c, w, t, side, account)


@ti.func
def begin_evaluation(c: ti.template(), w: ti.i32):
    """Times over which the evaluation is implicit.

    Writes: c.{b, g}
    """
    node = c.now.load(w, "node")
    if c.now.load(w, "instant") != 0:
        node = c.stages + 1
    h = c.constants.load(w, H)
    c.b.store(w, 0, c.tables.arena.zero() + h * c.parts.load(w, node))
    c.g.store(w, 0, c.tables.arena.zero() + h)


@ti.func
def load_forces(c: ti.template(), w: ti.i32):
    """External forces of links, and efforts of joints.

    Writes: c.state.{external, tau, diagonal, stiffness}, c.forces.power
    """
    if ti.static(c.forces.has_external):
        load_links(c.tables, c.forces, c.state, w)
    elif ti.static(c.forces.has_work):
        c.forces.power.store(w, 0, c.tables.arena.zero())
        c.forces.power.store(w, 1, c.tables.arena.zero())
    if ti.static(c.constrained or c.forces.has_efforts or c.forces.has_diagonal):
        b = c.b.load(w, 0)
        efforts(c.tables, c.forces, c.state, w, b)
        if ti.static(c.integrator == "implicit"):
            if c.now.load(w, "node") == 1:
                correct_efforts(c, w, b)


@ti.func
def solve_tree(c: ti.template(), w: ti.i32):
    """Accelerations by the articulated-body algorithm."""
    eliminate(c.tables, c.state, w)
    accelerate(c.tables, c.state, w)


@ti.func
def advance_smooth(c: ti.template(), w: ti.i32):
    """A first-order step of what nothing constrains."""
    use_semi_implicit(c, w, c.constants.load(w, H))


@ti.func
def show_reactions(c: ti.template(), w: ti.i32):
    """Joint wrenches of the evaluation that was just made."""
    if ti.static(c.constrained):
        report_constrained_reactions(c, w)
    else:
        report_reactions(c, w)


@ti.func
def find_bias(c: ti.template(), w: ti.i32):
    """What the coordinates' forces have to be where nothing accelerates.

    Writes: c.state.{qdd, u}
    """
    for n in range(c.tables.n_tree_dofs):
        c.state.qdd.store(w, c.tables.tree_dof.at(n), c.tables.arena.zero())
    demand(c.tables, c.state, w)
    collect(c.tables, c.state, c.state.u, w)


@ti.func
def measure_rows(c: ti.template(), w: ti.i32):
    """Residuals, rates, biases and directions of rows."""
    measure(c.tables, c.state, c.bound.system.rows, w)


@ti.func
def fill_system(c: ti.template(), w: ti.i32):
    """Mass matrix and Jacobian; where rows begin; forces without rows and laws.

    Writes: c.bound.{system.entry, start, base}
    """
    y = c.bound.system
    fill(y, c.tables, c.state, w)
    if ti.static(y.n_rows > 0):
        for r in range(y.n_rows):
            c.bound.start.store(w, r, y.rows.residual.load(w, r))
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        c.bound.base.store(w, n, c.state.tau.load(w, d) - c.state.u.load(w, d))
    if ti.static(c.is_loose):
        turn_ahead(c, w, c.constants.load(w, H))


@ti.func
def lead(c: ti.template(), w: ti.i32):
    """Rows of prescribed motions, in an evaluation."""
    lead_rows(c, w, EVALUATE, c.constants.load(w, H), c.now.load(w, "instant"))


@ti.func
def lead_end(c: ti.template(), w: ti.i32):
    """Rows of prescribed motions, where a step ends."""
    lead_rows(c, w, CORRECT, c.constants.load(w, H), 0)


@ti.func
def lead_frame(c: ti.template(), w: ti.i32):
    """Rows of prescribed motions, in a frame."""
    lead_rows(c, w, PLACE, c.constants.load(w, H), 1)


@ti.func
def choose(c: ti.template(), w: ti.i32):
    """The pieces of all laws, by what the last try found.

    Writes: c.bound.{system.laws, tries, choosing}
    """
    k = c.now.load(w, "choice")
    choose_pieces(c, w, k, c.now.load(w, "node"), c.b.load(w, 0), c.constants.load(w, H), c.g.load(w, 0),
                  c.now.load(w, "instant"))  # fmt: skip
    chosen = c.tables.arena.zero() + 1.0
    if ti.static(c.bound.system.laws.n > 0):
        if k > 0:
            chosen = c.bound.system.laws.changed.load(w, 0)
    c.bound.choosing.store(w, 0, chosen)
    c.now.store(w, "choice", k + 1)


def chooses(c, w):
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
    keep(c.bound.system, w, c.now.load(w, "solution"))


@ti.func
def harden_rows(c: ti.template(), w: ti.i32):
    """Centre rigid rows at the multipliers that the last solution found."""
    for r in range(c.bound.system.n_rows):
        harden(c.bound.system, w, r)


@ti.func
def finish_solutions(c: ti.template(), w: ti.i32):
    """What the solutions of a try extrapolate to: accelerations, multipliers, efforts of laws."""
    extrapolate(c.bound.system, w)
    finish_try(c, w, c.now.load(w, "node"))


@ti.func
def account(c: ti.template(), w: ti.i32):
    """Powers of laws, and the jumps that they make."""
    account_laws(c, w, c.now.load(w, "node"), c.constants.load(w, H), c.g.load(w, 0), c.now.load(w, "instant"))


@ti.func
def advance_constrained(c: ti.template(), w: ti.i32):
    """A first-order step under constraints."""
    use_constrained(c, w, c.constants.load(w, H))


@ti.func
def settle(c: ti.template(), w: ti.i32):
    """Locked and prescribed coordinates, as they are where a step ends."""
    settle_speeds(c, w)
    follow_prescribed(c, w)


@ti.func
def follow_prescribed(c: ti.template(), w: ti.i32):
    """Prescribed coordinates, as they are where a step ends."""
    if ti.static(c.bound.n_motions > 0):
        follow_motions(c, w)


@ti.func
def keep_account(c: ti.template(), w: ti.i32):
    """The work done before this step."""
    keep_work(c, w, c.constants.load(w, H))


def jumps(c, w):
    """The worlds in which a law stops a coordinate in this step."""
    return c.bound.jumps.load(w, 0) > 0.0


@ti.func
def advance_again(c: ti.template(), w: ti.i32):
    """The step that is taken again, of first order."""
    use_again(c, w, c.constants.load(w, H))


def kind_of_correction(c) -> int:
    """First-order steps are corrected where they end; the others project positions, then velocities."""
    return CORRECT if c.stages == 1 else PROJECT


@ti.func
def ask_for_correction(c: ti.template(), w: ti.i32):
    """Right-hand side of a correction: of positions, or with `rates` set, of velocities."""
    demand_correction(c, w, kind_of_correction(c), c.now.load(w, "rates"), c.now.load(w, "correction"),
                      c.constants.load(w, H), c.g.load(w, 0))  # fmt: skip


@ti.func
def correct(c: ti.template(), w: ti.i32):
    """Move along the correction that was found."""
    use_correction(c, w, kind_of_correction(c), c.now.load(w, "rates"), c.now.load(w, "correction"), c.constants.load(w, H),
                   c.g.load(w, 0))  # fmt: skip


@ti.func
def count_correction(c: ti.template(), w: ti.i32):
    """One correction more was made in this step.

    Writes: c.now
    """
    c.now.store(w, "correction", c.now.load(w, "correction") + 1)


def lacks(c, w):
    """The worlds whose rows were not where they shall be before the last correction."""
    return c.bound.worst.load(w, 0) > c.bound.tight


def lacks_impulses(c, w):
    """The worlds whose last solution began with too large a lack."""
    return c.bound.worst.load(w, 0) > 0.0


def has_end(c, w):
    """The worlds in which a contact or a rigid row asks for where the step ends."""
    return needs_end(c, w) != 0.0


@ti.func
def advance_by_impulses(c: ti.template(), w: ti.i32):
    """The first move of a step along the velocities that impulses give."""
    if ti.static(c.forces.has_work):
        effort_power(c.tables, c.forces, c.state, w, c.constants.load(w, H))
        accumulate_work(c.forces, w, c.constants.load(w, H))
    copy(c.bound.q_start, c.state.q, c.tables.n_q, w)
    move_by_impulses(c, w)


@ti.func
def end_impulses(c: ti.template(), w: ti.i32):
    """Velocities at the end of a step of impulses, and what it leaves for the next one."""
    finish_impulses(c, w, c.constants.load(w, H))


@ti.func
def go_back_for_a_look(c: ti.template(), w: ti.i32):
    """Where the last step began, for the reactions that a frame shows."""
    look_back(c, w)


@ti.func
def return_from_look(c: ti.template(), w: ti.i32):
    """Where the last step has ended."""
    look_ahead(c, w)


@ti.func
def show_contacts(c: ti.template(), w: ti.i32):
    """Contacts of the step that ends at a frame."""
    report_contacts(c, w)


@ti.func
def follow_loops(c: ti.template(), w: ti.i32):
    """Full turns of joints that close loops."""
    follow_turns(c.loops, c.state, w, c.constants.load(w, H))


@ti.func
def end_step(c: ti.template(), w: ti.i32):
    """Worlds that end with this step, and its number."""
    watch(c, w)
    c.now.store(w, "step", c.now.load(w, "step") + 1)


def has_steps(c, w):
    """Whether the frame has steps that are still to be taken (of a block)."""
    return c.now.load(w, "step") < c.now.load(w, "steps")


def is_last_step(c, w):
    """Whether this step ends at the frame (of a block)."""
    return c.now.load(w, "step") + 1 == c.now.load(w, "steps")


def is_start(c, w):
    """Whether the frame shows the start of the run (of a block)."""
    return c.now.load(w, "steps") == 0


def is_later(c, w):
    """Whether the frame ends steps (of a block)."""
    return c.now.load(w, "steps") != 0
