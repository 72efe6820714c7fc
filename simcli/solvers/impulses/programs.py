"""The lists of stages that solve the one problem of a step with contact (impulses/memory.py).

    solving       the problem of an evaluation, and the velocities that move the coordinates
    correcting    what it lacks at the poses that were reached

Both search until no bound that was thought to be far has been passed, and where contacts have rolling or torsional friction
as often as its bounds, by the normal impulses of the search before, need it.

Source: Jean (1999) for the step, Rockafellar (1976) for the rounds. Deviation: the direction is chosen for a scene, not for
a step.
"""

from functools import cache

from simcli.kernels.collision.collider import GROUND
from simcli.kernels.complementarity.graph import part_islands
from simcli.kernels.complementarity.preparation import READY_LARGE, begin_island
from simcli.kernels.complementarity.solve import FIND
from simcli.kernels.complementarity.start import (
    BEGINNING,
    LOOK_AT_ALL,
    READY,
    give_first_kappa,
    give_kappa,
    has_own_kappa,
    judge_island,
    keep_given,
    may_change,
    regularize_problem,
)
from simcli.kernels.device.stage_lists import as_function, only, repeat, repeat_together, when, within
from simcli.kernels.language import ti
from simcli.solvers.impulses.contact_rhs import bound_spins, find_approach, may_bounce
from simcli.solvers.impulses.law_rows import bound_balls
from simcli.solvers.impulses.rows import begin_again, state_residual
from simcli.solvers.impulses.searches import (
    begin_correcting,
    begin_islands,
    begin_searches,
    begin_solving,
    count_iterations,
    end_searches,
    has_found,
    is_awake,
    is_first_search,
    is_queue_left,
    is_searching,
    leave_island,
    leave_queued,
    next_island,
    next_queued,
    note_missed,
    note_residual,
    note_search,
    queue_island,
)
from simcli.solvers.impulses.sleeping import has_woken, rest_sleepers, wake_touched
from simcli.solvers.impulses.solution import scale_shared, share_load, unpack_solution
from simcli.solvers.impulses.stages import (
    DETECT,
    WARM_START,
    contact_rhs_of_all,
    detect_all,
    find_gaps_reached,
    order_shapes_by_islands,
    state,
    state_rows,
    take_directions_of_start,
    take_directions_reached,
    turn_again,
    turn_first,
    turn_held,
    warm_start_all,
    watch_places,
)


def problem_of(c):
    """What the search works on."""
    return c.bound.impulses.problem


def all_of(c):
    """What a search works on, whatever its islands are."""
    return c.bound.impulses.problem.at_once


def watch_contacts(c) -> tuple:
    """Stages that find the contacts of a step.

    Args:
        c: core of the run.
    """
    k = c.bound.impulses.contacts.collider
    finds = DETECT if k.has_many and not k.serves[GROUND] else (detect_all,)  # cells of terrain stand in one place
    finds = (repeat(*finds, wake_touched, wanted=has_woken),) if c.sleeps else finds
    return watch_places, *finds, *(WARM_START if c.is_large else (warm_start_all,)), *dividing(c)


def dividing(c) -> tuple:
    """Stages that find the islands of a large world."""
    orders = when(c.is_large and c.bound.impulses.contacts.collider.has_many, order_shapes_by_islands)
    return (*when(c.is_large, within(problem_of, part_islands)), *orders)


def solving(c) -> tuple:
    """Stages that state the problem of an evaluation and solve it.

    Args:
        c: core of the run.
    """
    starts, turn = ((take_directions_of_start,), (turn_first,)) if c.turns else ((), ())
    return (*starts, state, *turn, *searching(c, begin_solving, note_residual), unpack_solution)


def correcting(c) -> tuple:
    """Stages that solve what the present solution lacks at the poses reached.

    Args:
        c: core of the run.
    """
    turn = (take_directions_reached, begin_again, turn_again) if c.turns else ()
    turn = (*turn, *when(c.gyroscopes.n_held, turn_held), *when(c.touches, find_gaps_reached))
    search = searching(c, begin_correcting, note_residual, note_missed, rest=(state_residual,))
    return (*turn, *search, unpack_solution)


def sharing(c) -> tuple:
    """The stage that says how redundant rows share the load."""
    return when(c.bound.impulses.n_shared, share_load)


def flight(c, each=None) -> tuple:
    """The stage that finds how what bounces would fly, where that is not the free velocity of the problem.

    Args:
        c: core of the run.
        each: what takes stages for each island, if they are not taken for one.
    """
    finds = only(may_bounce, find_approach)
    if each:
        finds = each(within(problem_of, begin_island), finds)
    return when(c.bound.impulses.contacts.resists_flight, finds)


def looks(c, starts: tuple, rest: tuple, each=None) -> tuple:
    """Stages that state what is not stated yet, and measure the impulses that are given.

    Args:
        c: core of the run.
        starts: the measure.  rest: stages of the first search.  each: see `flight`.
    """
    rhs = (*flight(c, each), contact_rhs_of_all) if c.touches and not rest else ()
    scales = when(c.bound.impulses.n_shared, scale_shared)
    rests = when(c.sleeps, rest_sleepers)
    of = all_of if each else problem_of
    restates = only(is_awake, state_rows, *rests, within(of, *(READY_LARGE if c.is_large else READY)), *scales, *rhs)
    first = (only(is_first_search, *rest),) if rest else ()
    spins = (bound_spins,) if c.bound.impulses.has_spins else ()
    balls = (bound_balls,) if c.bound.system.laws.has_shared_limit else ()
    return (restates, *first, *spins, *balls, within(of, *starts))


def searching(c, begin, *ends, rest: tuple = ()) -> tuple:
    """Searches, the first of them with all rows stated where worlds are awake.

    Args:
        c: core of the run.
        begin: stage before the first search.  ends: stages after the last one.
        rest: stages of the first search.
    """
    finds, ends = (within(problem_of, *FIND), count_iterations), (*ends, *sharing(c))
    look = looks(c, BEGINNING, rest)
    if not c.is_large:
        return begin, repeat(*look, *finds, note_search, end_searches, wanted=is_searching), *ends
    ended = for_islands(only(is_searching, note_search, only(has_found, *ends))), end_searches
    begun, begins = (begin_searches, within(all_of, give_first_kappa)), (begin,)
    if rest:
        begun, begins = (begin_searches, for_islands(begin, within(problem_of, give_kappa))), ()
    regularizes = when(begins, only(has_own_kappa, regularize_problem))
    first = (
        *begun,
        *looks(c, LOOK_AT_ALL, rest, for_islands),
        for_islands(
            *begins,
            only(is_awake, within(problem_of, begin_island)),
            within(problem_of, judge_island, only(may_change, keep_given, *regularizes, queue_island)),
        ),
        from_queue(*finds, together=True),
        *ended,
    )
    again = for_islands(only(is_searching, within(problem_of, queue_island))), from_queue(*look, *finds), *ended
    return (*first, repeat(*again, where=is_searching, wanted=is_searching))


def from_queue(*body, together: bool = False):
    """Stages that islands of the queue take, one island after another.

    Args:
        together: whether threads of a world take the islands, each the next one.
    """
    begin, leave = within(problem_of, next_queued), within(problem_of, leave_queued)
    return (repeat_together if together else repeat)(begin, *body, leave, where=has_queue, wanted=has_queue)


def has_queue(c, w):
    """The worlds of which some island is to be solved."""
    return is_queue_left(problem_of(c), w)


@cache
def for_islands(*body):
    """A stage that takes a list without repetitions for each island of a large world."""
    taken = as_function(body)

    @ti.func
    def take(c: ti.template(), w: ti.i32):
        p = problem_of(c)
        begin_islands(p, w)
        for _island in range(p.large.islands.notes.load(w, p.large.islands.count)):
            next_island(p, w)
            taken(c, w)
            leave_island(p, w)

    return take
