"""The lists of stages that solve the one problem of a step with contact (impulses/memory.py).

    solving       the problem of an evaluation, and the velocities that move the coordinates
    correcting    what it lacks at the poses that were reached

Both search until no bound that was thought to be far has been passed, and where contacts have rolling or torsional friction
as often as its bounds, by the normal impulses of the search before, need it.

Source: Jean (1999) for the step, Rockafellar (1976) for the rounds. Deviation: the direction is chosen for a scene, not for
a step.
"""

from simcli.kernels.complementarity.solve import READY, SEARCH
from simcli.kernels.device.stage_lists import only, repeat, when, within
from simcli.solvers.impulses.contact_rhs import bound_spins, find_approach, may_bounce
from simcli.solvers.impulses.law_rows import bound_balls
from simcli.solvers.impulses.rows import begin_again, state_residual
from simcli.solvers.impulses.sleeping import has_woken, rest_sleepers, wake_touched
from simcli.solvers.impulses.solution import scale_shared, share_load, unpack_solution
from simcli.solvers.impulses.stages import (
    begin_correcting,
    begin_solving,
    contact_rhs_of_all,
    count_iterations,
    detect_all,
    is_awake,
    is_first_search,
    note_missed,
    note_residual,
    note_search,
    searches_again,
    state,
    state_rows,
    turn_again,
    turn_first,
    turn_held,
    wake,
    warm_start_all,
    watch_places,
)


def problem_of(c):
    """What the search works on."""
    return c.bound.impulses.problem


def watch_contacts(c) -> tuple:
    """Stages that find the contacts of a step.

    Args:
        c: core of the run.
    """
    finds = (repeat(detect_all, wake_touched, wanted=has_woken),) if c.sleeps else (detect_all,)
    return watch_places, *finds, warm_start_all


def solving(c) -> tuple:
    """Stages that state the problem of an evaluation and solve it.

    Args:
        c: core of the run.
    """
    turn = (turn_first,) if c.turns else ()
    return (begin_solving, state, *turn, *searching(c), note_residual, *sharing(c), unpack_solution)


def correcting(c) -> tuple:
    """Stages that solve what the present solution lacks at the poses reached.

    Args:
        c: core of the run.
    """
    turn = (begin_again, turn_again) if c.turns else ()
    turn = (*turn, *when(c.gyroscopes.n_held, turn_held))
    return (
        begin_correcting,
        *turn,
        *searching(c, rest=(state_residual,)),
        note_residual,
        note_missed,
        *sharing(c),
        unpack_solution,
    )


def sharing(c) -> tuple:
    """The stage that says how redundant rows share the load."""
    return when(c.bound.impulses.n_shared, share_load)


def flight(c) -> tuple:
    """The stage that finds how what bounces would fly, where that is not the free velocity of the problem."""
    return when(c.bound.impulses.contacts.resists_flight, only(may_bounce, find_approach))


def searching(c, rest: tuple = ()) -> tuple:
    """Searches, the first of them with all rows stated where worlds are awake.

    Args:
        c: core of the run.
        rest: stages before the first search.
    """
    rhs = (*flight(c), contact_rhs_of_all) if c.touches else ()
    scales = when(c.bound.impulses.n_shared, scale_shared)
    spins = (bound_spins,) if c.bound.impulses.has_spins else ()
    balls = (bound_balls,) if c.bound.system.laws.has_shared_limit else ()
    wakes = (wake,) if c.bound.system.laws.n else ()
    rests = when(c.sleeps, rest_sleepers)
    restates = only(is_awake, state_rows, *rests, within(problem_of, *READY), *scales, *(rhs if not rest else ()))
    search = (within(problem_of, *SEARCH), count_iterations, note_search, *wakes)
    first = only(is_first_search, *rest) if rest else ()
    return (repeat(restates, *(first,), *spins, *balls, *search, wanted=searches_again),)
