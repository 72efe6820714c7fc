"""The lists of stages that move a tree of joints, and free bodies that rows join: one for each integrator.

A frame is its steps, and what it shows of their end; the frame of the start has no step, and shows an evaluation.

    semi_implicit   q'+ = q' + h q''(q, q', and q'+ in damping and drives);   q+ = q (+) h q'+.   What it shows of forces
                    are those of its last step
    rk4             four nodes, the classical weights
    implicit        two nodes, L-stable in damping and drives

Rows hold where a step of semi_implicit ends, by corrections along their directions at its start, or by impulses where
something can touch; the others project positions and velocities after their nodes, and take the step of a world again, as
one of first order, where a law stops a coordinate in it (repeat.py).

Sources and formulas: integrators.py, rows/memory.py, impulses/memory.py, each with its deviations.
"""

from simcli.kernels.memory.programs import only, only_blocks, repeat, set_registers
from simcli.solvers.impulses.memory import finish_impulses, look_ahead, look_back, move_by_impulses
from simcli.solvers.impulses.stages import correcting, solving
from simcli.solvers.rows.corrections import ask_for_correction, correct
from simcli.solvers.rows.repeat import go_back
from simcli.solvers.rows.stages import (
    account,
    advance_again,
    advance_constrained,
    assemble_system,
    choose,
    chooses,
    count_correction,
    fill_system,
    find_bias,
    finish_solutions,
    follow_prescribed,
    harden_rows,
    jumps,
    keep_account,
    keep_solution,
    lacks,
    measure_rows,
    settle,
    solve_system,
)
from simcli.solvers.shared.frames import frame, is_last_step
from simcli.solvers.shared.measures import look
from simcli.solvers.shared.motions import lead_rows, lead_rows_to_end
from simcli.solvers.tree.integrators import (
    combine_slopes,
    keep_slopes,
    keep_start,
    move_to_end,
    move_to_node,
    move_with_both,
)
from simcli.solvers.tree.stages import (
    advance_by_impulses,
    advance_smooth,
    begin_evaluation,
    follow,
    has_end,
    lacks_impulses,
    load_forces,
    place,
    show_reactions,
    solve_tree,
)

# Of each node: what uses its evaluation.
MOVES = {"rk4": (*3 * ((keep_slopes, move_to_node),), (keep_slopes, combine_slopes)),
         "implicit": ((move_to_end,), (move_with_both,))}  # fmt: skip


def frame_of_tree(c) -> tuple:
    """The list of a frame.

    Args:
        c: core of the run.
    """
    shows = (show_reactions,) if c.reports["wrenches"] else ()
    start = (set_registers(node=0, instant=1), *evaluation(c), *shows)
    if c.stages > 1:
        end = start
    elif c.looks_back:
        measured = measurement(c, lead_rows)
        end = (look_back, *measured, show_reactions, look_ahead, *measured)
    else:
        end = measurement(c, lead_rows)
    if c.stages == 1 and not c.constrained:
        start = (*start, place)
    kind = step_of_nodes if c.stages > 1 else step_by_impulses if c.by_impulses else step_of_first_order
    return *frame(c, kind(c), start, end), *looks(c)


def looks(c) -> tuple:
    """The stage that looks at a step, where looks are stages."""
    return (look,) if c.gauges.within else ()


def at_last_step(c) -> tuple:
    """Reactions of the last step of a frame, where no later evaluation shows them."""
    shows = c.reports["wrenches"] and not c.looks_back
    return (only_blocks(is_last_step, show_reactions),) if shows else ()


def step_of_first_order(c) -> tuple:
    """A step of semi_implicit."""
    if not c.constrained:
        return set_registers(node=0), *evaluation(c, starts=True), *at_last_step(c), advance_smooth
    steps = (set_registers(node=0), *evaluation(c, starts=True), *at_last_step(c), advance_constrained)
    if not c.bound.system.n_rows:
        return steps
    correction = (*measurement(c, lead_rows_to_end), ask_for_correction, solve_system, correct)
    return *steps, set_registers(rates=0, correction=0), repeat(*correction, at_most=c.bound.max_corrections, wanted=lacks)


def step_by_impulses(c) -> tuple:
    """A step of semi_implicit in which something can touch, or whose directions turn."""
    correction = (*measurement(c, lead_rows_to_end), *correcting(c), move_by_impulses)
    corrections = repeat(*correction, at_most=c.bound.max_corrections, where=has_end, wanted=lacks_impulses)
    begin = (set_registers(node=0), *evaluation(c, starts=True), *at_last_step(c))
    return *begin, advance_by_impulses, corrections, finish_impulses, settle


def step_of_nodes(c) -> tuple:
    """A step of rk4 or implicit."""
    nodes = []
    repeats = c.constrained and c.bound.repeats
    for node, move in enumerate(MOVES[c.integrator]):
        keeps = (keep_account,) if repeats and node == 0 else ()
        nodes += [set_registers(node=node), evaluation(c, keep_start if node == 0 else None, node == 0), move, keeps]
    if not c.constrained:
        return tuple(nodes)
    taken_again = (go_back, set_registers(node=c.stages), *evaluation(c), advance_again, follow_prescribed)
    correction = (ask_for_correction, solve_system, correct)
    positions, velocities = (set_registers(rates=0), *correction), (set_registers(rates=1), *correction)
    both = (*measurement(c, lead_rows), positions, velocities, count_correction)
    projections = repeat(*both, at_most=c.bound.max_corrections, wanted=lacks)
    return (*nodes, settle, *((only(jumps, *taken_again),) if repeats else ()),
            *((set_registers(correction=0), projections) if c.bound.system.n_rows else ()))  # fmt: skip


def evaluation(c, first=None, starts: bool = False) -> tuple:
    """Accelerations at the present coordinates, for the node and the times that the registers say.

    Args:
        c: core of the run.
        first: a stage before all others, if there is one.
        starts: whether it is the first of a step.
    """
    begins = (place, *(looks(c) if starts else ()), *((follow,) if c.signals.n else ()), begin_evaluation, load_forces)
    begins = (first, *begins) if first else begins
    if not c.constrained:
        return *begins, solve_tree
    rows = (measure_rows,) if c.bound.system.n_rows else ()
    leads = (lead_rows_to_end if starts and c.stages == 1 else lead_rows,) if c.bound.system.n_leads else ()
    answer = solving(c) if c.by_impulses else choices(c)
    return *begins, find_bias, *rows, fill_system, *leads, *answer, account


def choices(c) -> tuple:
    """Solutions for the pieces of all laws, until none changes."""
    y = c.bound.system
    tries = [assemble_system, solve_system, keep_solution]
    for k in range(1, y.solutions):
        last = k == y.solutions - 1
        tries += [set_registers(solution=k), harden_rows, solve_system, finish_solutions if last else keep_solution]
    most = c.bound.max_choices if y.laws.n else 1
    tries = only(chooses, set_registers(solution=0), *tries)
    return set_registers(choice=0), repeat(choose, tries, at_most=most, wanted=chooses)


def measurement(c, leading) -> tuple:
    """Poses, and how rows stand there.

    Args:
        c: core of the run.
        leading: the stage for rows of prescribed motions.
    """
    rows = (measure_rows,) if c.constrained and c.bound.system.n_rows else ()
    return place, *rows, *((leading,) if rows and c.bound.system.n_leads else ())
