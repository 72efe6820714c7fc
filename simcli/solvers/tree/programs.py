"""The lists of stages that move a tree of joints, and free bodies that rows join: one for each integrator.

A frame is its steps, and what it shows of their end; the frame of the start has no step, and shows an evaluation.

    semi_implicit   q'+ = q' + h q''(q, q', and q'+ in damping and drives);   q+ = q (+) h q'+.   What it shows of forces
                    are those of its last step
    rk4             four nodes, the classical weights
    implicit        two nodes, L-stable in damping and drives

Rows hold where a step of semi_implicit ends, by corrections along their directions at its start, or by impulses where
something can touch; the others project positions and velocities after their nodes. Where a law stops a coordinate in a step
(rows/repeat.py), or shapes have met where it ends (stages.py), they take the step of that world again, as one of first
order: impacts are of first order, and what is smooth between them is of the integrator's.

Sources and formulas: base/integrators.py, rows/memory.py, impulses/memory.py, each with its deviations.
"""

from simcli.kernels.device.stage_lists import only, only_blocks, repeat, set_registers, when
from simcli.solvers.base.integrators import (
    advance_smooth,
    combine_slopes,
    keep_slopes,
    keep_start,
    move_to_end,
    move_to_node,
    move_with_both,
)
from simcli.solvers.base.midpoint import (
    MORE_ROUNDS,
    find_fast,
    is_fast,
    is_faster,
    keep_fast,
    move_again,
    move_back,
    move_to_middle,
    return_to_middle,
)
from simcli.solvers.impulses.ends import finishing, look_ahead, look_back
from simcli.solvers.impulses.memory import move_by_impulses, needs_end
from simcli.solvers.impulses.programs import correcting, solving, watch_contacts
from simcli.solvers.impulses.sleeping import fall_asleep, is_all_asleep, is_somebody_awake, skip_step
from simcli.solvers.output.energy_balance import load_external, work_of_jumps
from simcli.solvers.output.frame_stages import frame, go_on_from_aside, is_last_step, is_later, sampling, set_aside
from simcli.solvers.output.probes import probe_step
from simcli.solvers.rows.corrections import correct, correction_rhs, forget_rates, have_rates, leave_rates
from simcli.solvers.rows.islands import (
    drop_contacts,
    keep_account_of_steps,
    keep_ends,
    keep_steps,
    return_ends,
    return_shown,
    show_instants,
)
from simcli.solvers.rows.memory import advance_constrained
from simcli.solvers.rows.motions import follow_motions, prescribe_rows, prescribe_rows_to_end
from simcli.solvers.rows.repeat import (
    advance_again,
    give_rates_back,
    go_back,
    go_back_in_account,
    keep_account,
    start_with_end,
)
from simcli.solvers.rows.report import reactions
from simcli.solvers.rows.stages import (
    account,
    assemble_system,
    begin_system,
    count_correction,
    fill_system,
    filter_correction,
    filter_forces,
    filter_rates,
    find_active_set,
    find_bias,
    finish_prescribed,
    finish_solutions,
    has_velocity_jump,
    keep_solution,
    measure_rows,
    not_converged,
    set_changes,
    shift_multipliers,
    solve_system,
)
from simcli.solvers.tree.momenta import adding, end_turns, forget_carriers, noting, turn_base, turn_carriers
from simcli.solvers.tree.stages import (
    ADVANCE_BY_IMPULSES,
    begin_evaluation,
    book_step,
    efforts_apart,
    follow,
    foresee_torques,
    forget_contacts,
    impulses_not_converged,
    is_smooth_step,
    move_smooth,
    place_links,
    select_impulse_worlds,
    solve_tree,
)

# Of each node: what uses its evaluation.
MOVES = {
    "rk4": (*3 * ((keep_slopes, move_to_node),), (keep_slopes, combine_slopes)),
    "implicit": ((move_to_end,), (move_with_both,)),
}
_TURNS = 3  # solutions for the torques of those before, of bodies that laws hold: each better by the turn in a step


def frame_of_tree(c) -> tuple:
    """The list of a frame.

    Args:
        c: core of the run.
    """
    shows = reactions(c)
    start = (set_registers(node=0, instant=1), *_evaluation(c, samples=True), *shows)
    measured = _measurement(c, prescribe_rows)
    if c.stages > 1 and c.constrained and c.bound.repeats:
        shown = (have_rates, *shows, leave_rates) if c.notes_rates else shows
        instant = set_registers(node=0, instant=1)
        smooth = (instant, *_evaluation(c, by_impulses=False, samples=not c.touches), *shown)
        springs = when(c.forces.has_external and not c.keeps_account, load_external)  # what they store there
        feedback_probes = when(not c.touches, instant, *sampling(c), *when(c.signals.n, follow))
        shown = shows if c.touches else shown  # such steps are corrected by impulses
        last = (look_back, *measured, *shown, *noting(c), look_ahead, *measured, *adding(c), *feedback_probes, *springs)
        end = (only(has_velocity_jump, *last), only(is_smooth_step, *smooth))
        if c.bound.islands.are_many:
            last = (look_back, *measured, *shown, *noting(c), look_ahead, *measured, *adding(c), keep_steps)
            end = (show_instants, only(has_velocity_jump, *last), *smooth, return_shown, keep_account_of_steps)
    elif c.stages > 1:
        end = start
    elif c.looks_back:
        end = (look_back, *measured, *reactions_of_step(c), look_ahead, *measured, *adding(c))
    elif c.looks_at_end:
        end = (*measured, *shows)
    else:
        end = (*measured, *adding(c))
    if c.stages == 1 and not c.constrained:
        start = (*start, place_links)
    kind = step_of_nodes if c.stages > 1 else step_by_impulses if c.by_impulses else step_of_first_order
    back = when(c.aside, only_blocks(is_later, go_on_from_aside))
    begins = when(c.aside, set_aside)
    return *back, *frame(c, kind(c), (*start, *begins), (*begins, *end)), *probe_stages(c)


def probe_stages(c) -> tuple:
    """The stage that probes a step, where probes are stages."""
    return (probe_step,) if c.accumulators.within else ()


def at_last_step(c) -> tuple:
    """Reactions of the last step of a frame, where no later evaluation shows them."""
    shows = () if c.looks_back or c.looks_at_end else reactions_of_step(c)
    return (only_blocks(is_last_step, *shows),) if shows else ()


def reactions_of_step(c) -> tuple:
    """Reactions of a step, where it begins; of trees that turn far with velocities of its middle, whose forces it took."""
    shows = reactions(c)
    if shows and c.constrained and c.midpoint.n:
        back = (only(is_fast, move_back, place_links),)
        return only(is_fast, return_to_middle, place_links), *shows, *noting(c, back)
    return *shows, *noting(c, when(c.midpoint.n and c.sums_momenta, place_links))


def step_of_first_order(c) -> tuple:
    """A step of semi_implicit."""
    if not c.constrained:
        turns = when(c.gyroscopes.n, foresee_torques)
        advance = (book_step, move_smooth) if c.arena.crew else (advance_smooth,)
        return set_registers(node=0), *_evaluation(c, starts=True), *turns, *at_last_step(c), *advance, *ends_of(c)
    steps = (set_registers(node=0), *_evaluation(c, starts=True), *at_last_step(c), advance_constrained)
    if not c.bound.system.n_rows:
        return *steps, *ends_of(c)
    filtered = when(c.looks_back, filter_correction, solve_system, filter_forces)  # which frames show
    correction = (*_measurement(c, prescribe_rows_to_end), correction_rhs, solve_system, correct, *filtered)
    correction = (*correction, *when(c.gyroscopes.n_held, count_correction))
    corrections = repeat(*correction, at_most=c.bound.max_corrections, wanted=not_converged)
    return *steps, set_registers(rates=0, correction=0), corrections, *ends_of(c)


def ends_of(c) -> tuple:
    """Angular velocities of bodies that stand alone, where a step of first order ends."""
    return when(c.gyroscopes.n_alone, end_turns)


def step_by_impulses(c) -> tuple:
    """A step of semi_implicit in which something can touch, or whose directions turn; worlds that sleep leave it out."""
    step = (*_evaluation(c, starts=True), *at_last_step(c), *move_and_correct(c))
    if c.sleeps:
        probes = when(c.accumulators.within, place_links, *probe_stages(c))
        step = (only(is_all_asleep, skip_step, *probes), only(is_somebody_awake, *step, fall_asleep))
    return set_registers(node=0), *step


def move_and_correct(c) -> tuple:
    """From the start of a step to its end, along the velocities that impulses give there."""
    correction = (*_measurement(c, prescribe_rows_to_end), *correcting(c), move_by_impulses)
    corrections = repeat(*correction, at_most=c.bound.max_corrections, where=needs_end, wanted=impulses_not_converged)
    return *ADVANCE_BY_IMPULSES, corrections, *finishing(c), finish_prescribed, *ends_of(c)


def step_of_nodes(c) -> tuple:
    """A step of rk4 or implicit."""
    nodes = []
    repeats = c.constrained and c.bound.repeats
    for node, move in enumerate(MOVES[c.integrator]):
        keeps = (keep_account,) if repeats and node == 0 else ()
        finds = watch_contacts(c) if c.touches and node == 0 else ()
        found = _evaluation(c, keep_start if node == 0 else None, node == 0, by_impulses=False)
        nodes += [set_registers(node=node), found, finds, move, keeps]
    if not c.constrained:
        return tuple(nodes)
    correction = (correction_rhs, solve_system, correct)
    filtered = when(c.notes_rates, filter_correction, solve_system, filter_rates)  # which frames show
    positions, velocities = (set_registers(rates=0), *correction), (set_registers(rates=1), *correction, *filtered)
    both = (*_measurement(c, prescribe_rows), positions, velocities, count_correction)
    projections = repeat(*both, at_most=c.bound.max_corrections, wanted=not_converged)
    projected = (set_registers(correction=0), projections) if c.bound.system.n_rows else ()
    projected = (*when(c.notes_rates, forget_rates), *projected)
    keeps, returns = (when(c.bound.islands.are_many, stage) for stage in (keep_ends, return_ends))
    again = (*keeps, go_back, set_registers(node=c.stages))
    returns = (*work_of_jumps(c, place_links), *returns)
    if c.touches:
        again = (*again, *_evaluation(c, to_end=True), go_back_in_account, *move_and_correct(c))
        return (
            *nodes,
            finish_prescribed,
            *projected,
            place_links,
            select_impulse_worlds,
            only(has_velocity_jump, *again, *returns),
            only(is_smooth_step, forget_contacts),
        )
    first = (*_evaluation(c), advance_again)
    if not c.bound.system.laws.n + c.bound.system.n_prescribed_rows:  # which look at the rates where the step begins
        first = (*first, start_with_end, *_evaluation(c, after_places=give_rates_back), advance_again)
    again = only(has_velocity_jump, *again, *first, *when(c.motions.n_locks, follow_motions), *returns)
    return *nodes, finish_prescribed, *((again,) if repeats else ()), *projected


def _evaluation(
    c,
    first=None,
    starts: bool = False,
    by_impulses: bool | None = None,
    samples: bool = False,
    to_end: bool = False,
    after_places=None,
) -> tuple:
    """Accelerations at the present coordinates, for the node and the times that the registers say.

    Args:
        c: core of the run.
        first: a stage before all others, if there is one.
        starts: whether it is the first of a step.
        by_impulses: whether contacts and impacts are solved for; None: where the run does so.
        samples: whether signals that follow the motion look there; they do at the first one of a step.
        to_end: whether rows are met where the step ends; so they are by the only evaluation of a step.
        after_places: a stage between the poses and the forces, if there is one.
    """
    by_impulses = c.by_impulses if by_impulses is None else by_impulses
    probing = (*when(starts, *probe_stages(c)), *when(starts or samples, *sampling(c)))
    places = (place_links, after_places) if after_places else (place_links,)
    begins = (*places, *probing, *when(c.signals.n, follow), begin_evaluation, *efforts_apart(c))
    begins = (first, *begins) if first else begins
    is_middle = starts and c.midpoint.n > 0
    if not c.constrained:
        return *begins, *_with_tree(c, starts)
    rows = (measure_rows,) if c.bound.system.n_rows else ()
    prescribe = prescribe_rows_to_end if to_end or (starts and c.stages == 1) else prescribe_rows
    prescribes = (prescribe,) if c.bound.system.n_prescribed_rows else ()
    parts = when(to_end and c.bound.islands.are_many, drop_contacts)
    answer = (*(watch_contacts(c) if c.touches else ()), *parts, *solving(c)) if by_impulses else _with_active_set(c)
    if starts and not by_impulses and c.gyroscopes.has_laws and not c.bound.system.n_rows:  # else corrections do it
        answer = (*answer, *_TURNS * (turn_base, *_with_active_set(c)))
    bias = _bias_of_middle() if is_middle else (find_bias,)
    return *begins, *bias, *rows, fill_system, begin_system, *prescribes, *answer, account


def _with_tree(c, starts: bool) -> tuple:
    """Accelerations of what nothing constrains, where a step begins with what velocities need in its middle."""
    if not starts:
        return (solve_tree,)
    solve = (turn_carriers, solve_tree, forget_carriers) if c.gyroscopes.n_carriers else (solve_tree,)
    if not c.midpoint.n:
        return solve
    again = repeat(move_again, place_links, *solve, at_most=MORE_ROUNDS, where=is_faster, wanted=is_faster)
    middle = (move_to_middle, place_links, *solve, again, move_back)
    if c.gyroscopes.n_carriers:  # whose torques depend on whether their trees turn far
        return only(find_fast, keep_fast), *solve, only(is_fast, *middle)
    return *solve, only(find_fast, keep_fast, *middle)


def _bias_of_middle() -> tuple:
    """What velocities need, those of the middle in worlds in which they matter, by what nothing constrains there."""
    again = repeat(solve_tree, move_again, place_links, at_most=MORE_ROUNDS, where=is_faster, wanted=is_faster)
    first = only(find_fast, keep_fast, solve_tree, move_to_middle, place_links, again)
    return first, find_bias, only(is_fast, move_back, place_links)


def _with_active_set(c) -> tuple:
    """Solutions for the pieces of all laws, until none changes."""
    y = c.bound.system
    tries = [assemble_system, solve_system, keep_solution]
    for k in range(1, y.solutions):
        last = k == y.solutions - 1
        tries += [set_registers(solution=k), shift_multipliers, solve_system, finish_solutions if last else keep_solution]
    most = c.bound.max_choices if y.laws.n else 1
    tries = only(set_changes, set_registers(solution=0), *tries)
    return set_registers(choice=0), repeat(find_active_set, tries, at_most=most, wanted=set_changes)


def _measurement(c, prescribing) -> tuple:
    """Poses, and how rows stand there.

    Args:
        c: core of the run.
        prescribing: the stage for rows of prescribed motions.
    """
    rows = (measure_rows,) if c.constrained and c.bound.system.n_rows else ()
    return place_links, *rows, *((prescribing,) if rows and c.bound.system.n_prescribed_rows else ())
