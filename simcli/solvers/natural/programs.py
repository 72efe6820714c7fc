"""The lists of stages that move bodies in natural coordinates: one for each integrator, and one for polynomial rows.

    smooth    v_m = v + h/2 a,  q+ = q + h v_m,  v+ = v + h/2 (a + M^-1 (F + A+^T lambda)):   order 2, symplectic
    impulse   v_m = v + h a,    q+ = q + h v_m,  v+ = v_m:                                    order 1, for impacts

with M a = F + A^T lambda, the forces at the middle of the step, A and A+ the gradients of the rows at its ends. Both zhong06
and moreau take the smooth step; islands in which a law stops a coordinate, or with moreau something touches, take the other
one, whose impacts are plastic; the smooth one would reflect. They differ by contacts, which moreau alone takes.

Velocities of impulse steps are those half a step before their positions. Forces of springs at x + h^2/4 x'', without a part
of v, are then those of the middle, (x- + 2 x + x+) / 4: such steps neither damp nor drive, however stiff the spring.

Source: Zhong and Gao (2006), Integration of constrained dynamical system via analytical structural mechanics. Deviations:
lambda is a force; velocities are projected before each step, which takes from them what the next multipliers would carry,
and changes no position. That of generalized_alpha is in alpha_steps.py.
"""

from simcli.kernels.device.stage_lists import only, only_blocks, repeat, repeat_blocks, set_registers, when
from simcli.solvers.base.clock import prescribe_end, prescribe_frame, prescribe_start
from simcli.solvers.impulses.ends import keep_impulses, look_ahead, look_back
from simcli.solvers.impulses.programs import solving, watch_contacts
from simcli.solvers.natural.alpha_balance import balance_rhs, is_off_balance
from simcli.solvers.natural.alpha_forces import evaluate_forces, stiffen_rows
from simcli.solvers.natural.alpha_steps import (
    begin_alpha,
    begin_projection,
    begin_recurrences,
    end_alpha,
    excess_rhs,
    move_alpha,
    move_alpha_to_place,
    needs_matrix,
    take_balance,
    take_jump,
)
from simcli.solvers.natural.alpha_work import begin_holds, end_holds
from simcli.solvers.natural.forces import add_work
from simcli.solvers.natural.impulse_steps import (
    keep_instants,
    note_smooth,
    part_contacts,
    restore_solution,
    save_solution,
    select_contact_worlds,
    shows_step,
)
from simcli.solvers.natural.kinematic_bodies import begin_kinematic, move_kinematic_bodies
from simcli.solvers.natural.memory import MAX_PLACEMENTS
from simcli.solvers.natural.projection import (
    end_projection,
    go_to_end,
    join_forces,
    note_projection,
    split_forces,
    state_projection,
    store_rotor_rates,
    take_projection,
)
from simcli.solvers.natural.quadratic import (
    acceleration_rhs,
    begin_midpoint,
    end_midpoint,
    enter_steps,
    move_to_place,
    position_rhs,
    row_rhs,
    rows_not_converged,
    take_accelerations,
)
from simcli.solvers.natural.saddle import (
    add_excess,
    factorize_rows,
    filter_solution,
    keep_excess,
    missed_excess,
    solve_saddle,
    velocity_excess_rhs,
)
from simcli.solvers.natural.stages import (
    advance_midpoint,
    begin_evaluation,
    end_row_forces,
    end_velocities,
    fill_matrix,
    is_taken_again,
    load_midpoint,
    load_second_half,
    push_midpoint,
    regularize_step,
    shift_instant_multipliers,
    state_system,
)
from simcli.solvers.output.energy_balance import work_of_jumps
from simcli.solvers.output.frame_stages import frame, go_on_from_aside, is_later, sampling, set_aside
from simcli.solvers.rows.corrections import correct, correction_rhs
from simcli.solvers.rows.islands import return_shown
from simcli.solvers.rows.memory import REFINEMENTS
from simcli.solvers.rows.motion_work import leave_kinematic, work_of_step
from simcli.solvers.rows.motions import follow_motions, prescribe_rows, prescribe_rows_to_end
from simcli.solvers.rows.report import later_reactions, reactions
from simcli.solvers.rows.stages import (
    account,
    assemble_system,
    begin_system,
    fill_system,
    filter_correction,
    find_active_set,
    find_bias,
    finish_solutions,
    keep_solution,
    measure_rows,
    not_converged,
    set_changes,
    shift_multipliers,
    solve_system,
)
from simcli.solvers.tree.stages import follow, load_forces, place_links

FILTERED = (solve_saddle, filter_solution)  # a solution that has nothing of redundant rows


def frame_of_natural(c) -> tuple:
    """The list of a frame: velocities, then accelerations, of its instant; with contact what the last step has found.

    Args:
        c: core of the run.
    """
    shows = reactions(c)
    prescribes = (prescribe_frame,) if c.prescribed.n else rows_of_motions(c, *signals(c))  # before the projection
    projected = (*prescribes, *when(c.kinematic.n, begin_kinematic), *projection(c))
    evaluated = (
        place_links,
        *sampling(c),
        *signals(c),
        *contacts(c, select_contact_worlds),
        *_evaluation(c, is_frame=True),
        *shows,
    )
    recurrences = when(c.integrator == "generalized_alpha", begin_recurrences)
    instant = (set_registers(node=0, instant=1), *projected)
    start, end = (*instant, *evaluated, *recurrences, set_aside), (set_aside, *instant, *evaluated)
    if c.looks_back:
        end = (
            set_aside,
            set_registers(node=c.stages, instant=1),
            save_solution,
            *projected,
            note_projection,
            *last_step(c),
        )
    elif c.looks_at_jumps:
        keeps, returns = (when(c.bound.islands.are_many, stage) for stage in (keep_instants, return_shown))
        shown = (*keeps, set_registers(node=c.stages), *last_step(c), *returns)
        last = only(shows_step, *shown, set_registers(node=0), *signals(c))
        end = (set_aside, save_solution, *instant, note_projection, *evaluated, last)
    if not c.is_quadratic:
        return only_blocks(is_later, go_on_from_aside), *frame(c, step_of_poses(c), start, end)
    step = step_of_alpha(c) if c.integrator == "generalized_alpha" else step_of_polynomials(c)
    return set_registers(node=0), only_blocks(is_later, go_on_from_aside, enter_steps), *frame(c, step, start, end)


def last_step(c) -> tuple:
    """Reactions of the step that ends at a frame, whose projection has been noted: half of it at either end where smooth."""
    shows = reactions(c)
    measured = (place_links, *_measurement(c), *rows_of_motions(c, prescribe_rows))
    begun = (look_back, *signals(c), *measured, split_forces, *shows, look_ahead)
    return restore_solution, *begun, *measured, go_to_end, *later_reactions(c), join_forces


def step_of_polynomials(c) -> tuple:
    """A step of zhong06 whose rows are polynomials and whose forces are smooth."""
    mixed = (factorize_rows,) if c.pushes.is_mixed else ()
    correction = (row_rhs, *FILTERED, take_accelerations)
    corrections = repeat(*correction, at_most=c.steps.corrections, where=rows_not_converged, wanted=rows_not_converged)
    return (
        *signals(c),
        begin_midpoint,
        factorize_rows,
        solve_saddle,
        acceleration_rhs,
        *mixed,
        *FILTERED,
        take_accelerations,
        corrections,
        placements(move_to_place),
        end_midpoint,
    )


def step_of_alpha(c) -> tuple:
    """A step of generalized_alpha."""
    bodies, works = when(c.kinematic.n, move_kinematic_bodies), (add_work,) if c.pushes.has_power else ()
    begun, ended = ((begin_holds,), (end_holds,)) if c.alpha.n_holds else ((), ())
    jump = ()
    if c.alpha.jumps or c.pushes.has_power:
        jump = (
            set_registers(node=1),
            *signals(c),
            set_registers(instant=1),
            *bodies,
            evaluate_forces,
            stiffen_rows,
            balance_rhs,
            only(is_off_balance, factorize_rows, *FILTERED, take_jump),
            *works,
            *begun,
            set_registers(node=0, instant=0),
        )
    matrix = only_blocks(needs_matrix, stiffen_rows, factorize_rows)
    better = only(is_off_balance, matrix, *FILTERED, take_balance)
    rounds = repeat(evaluate_forces, balance_rhs, better, at_most=c.steps.corrections, wanted=is_off_balance)
    refined = repeat_blocks(excess_rhs, *FILTERED, at_most=REFINEMENTS) if c.has_excess else ()
    projected = (begin_projection, factorize_rows, *FILTERED, refined, end_alpha)
    begins = (*sampling(c), begin_alpha, *when(c.kinematic.n, begin_kinematic))
    return (
        *begins,
        *jump,
        *signals(c),
        *bodies,
        move_alpha,
        rounds,
        placements(move_alpha_to_place),
        *works,
        *ended,
        *projected,
    )


def placements(move) -> tuple:
    """Stages that place the coordinates where corrections have not brought them, by a matrix each."""
    placement = (position_rhs, factorize_rows, *FILTERED, move)
    return (repeat(*placement, at_most=MAX_PLACEMENTS, where=rows_not_converged, wanted=rows_not_converged),)


def step_of_poses(c) -> tuple:
    """A step of zhong06 or moreau, whatever acts."""
    start, end = ((prescribe_start,), (prescribe_end,)) if c.prescribed.n else ((), ())
    found = (
        set_registers(node=0),
        *start,
        *when(c.kinematic.n, begin_kinematic),
        *projection(c),
        *end,
        place_links,
        *sampling(c),
        *signals(c),
        *contacts(c, select_contact_worlds),
        *_evaluation(c),
    )
    again = (set_registers(node=c.stages), *contacts(c, part_contacts), *_evaluation(c))
    correction = (solve_system, filter_correction, solve_system, correct)
    measured = (place_links, *_measurement(c), *rows_of_motions(c, prescribe_rows_to_end), correction_rhs)
    corrections = repeat(*measured, only(not_converged, *correction), at_most=c.bound.max_corrections, wanted=not_converged)
    moves = (advance_midpoint, set_registers(rates=0), corrections, *when(c.by_impulses, keep_impulses))
    locks = (follow_motions, *when(c.kinematic.n, leave_kinematic)) if c.motions.n_locks else ()
    rotors = (store_rotor_rates,) if c.forces.has_armature and c.bound.system.laws.n else ()
    damped = (load_second_half,) if c.is_midpoint and c.forces.damps_links else ()
    return (
        *found,
        *((only(is_taken_again, *again),) if c.bound.switches else ()),
        *damped,
        *moves,
        *work_of_jumps(c, place_links),
        *rotors,
        end_row_forces,
        *((work_of_step,) if c.bound.system.n_prescribed_rows + c.kinematic.n else ()),
        end_velocities,
        *locks,
    )


def projection(c) -> tuple:
    """Velocities projected on the rows, with the least kinetic energy; the matrix serves accelerations, too."""
    soft = (*_measurement(c), regularize_step) if c.bound.system.n_rows else ()
    excess = (velocity_excess_rhs,) if c.has_excess else ()
    further = repeat_blocks(shift_multipliers, *excess, solve_system, take_projection, at_most=c.bound.projections - 1)
    return (
        place_links,
        find_bias,
        *soft,
        fill_matrix,
        *rows_of_motions(c, prescribe_rows),
        state_projection,
        solve_system,
        take_projection,
        further,
        end_projection,
    )


def _evaluation(c, is_frame: bool = False) -> tuple:
    """Accelerations at the present coordinates, and the multipliers of rows.

    Args:
        c: core of the run.
        is_frame: whether a frame shows them, else a step takes them.
    """
    late = c.is_midpoint and not is_frame
    motions = rows_of_motions(c, prescribe_rows if is_frame else prescribe_rows_to_end)
    answer = (*solving(c), note_smooth) if c.by_impulses else _with_active_set(c, is_frame)
    return (
        begin_evaluation,
        *when(c.kinematic.n, move_kinematic_bodies),
        load_midpoint if late else load_forces,
        find_bias,
        *_measurement(c),
        *when(is_frame and c.bound.system.n_rows, shift_instant_multipliers),
        *when(not c.bound.is_plain, fill_system),
        begin_system,
        *((push_midpoint,) if late else ()),
        *motions,
        *answer,
        account,
    )


def _with_active_set(c, is_frame: bool) -> tuple:
    """Solutions for the pieces of all laws, until none changes; for a frame also until bodies without inertia are right."""
    y = c.bound.system
    kept, added, missed = ((keep_excess,), (add_excess,), (missed_excess,)) if c.has_excess else ((), (), ())
    tries = [state_system if c.bound.is_plain and not is_frame else assemble_system, *kept, solve_system, keep_solution]
    for k in range(1, y.solutions):
        keep = finish_solutions if k == y.solutions - 1 else keep_solution
        tries += [set_registers(solution=k), shift_multipliers, *added, solve_system, keep]
    tries = (set_registers(solution=0), *tries, *missed)
    if not y.laws.n and not (c.has_excess and is_frame):
        return set_registers(choice=0), find_active_set, *tries
    tries = only(set_changes, *tries)
    search = repeat(find_active_set, tries, at_most=c.bound.max_choices, wanted=set_changes)
    return set_registers(choice=0), search


def _measurement(c) -> tuple:
    """The stage that measures rows, if there are some."""
    return (measure_rows,) if c.bound.system.n_rows else ()


def rows_of_motions(c, *stages) -> tuple:
    """Stages for rows of prescribed motions, if there are some."""
    return stages if c.bound.system.n_prescribed_rows else ()


def signals(c) -> tuple:
    """The stage that lets forces follow signals, if there are some."""
    return (follow,) if c.signals.n else ()


def contacts(c, stage) -> tuple:
    """The stage that finds contacts, and what follows, where something can touch."""
    return (*watch_contacts(c), stage) if c.touches else ()
