"""The lists of stages that move affine bodies: one for each integrator. A step is the minimum of an incremental potential.

    alpha^2/2 (x - y)^T M (x - y) + V(x) -> min,    v+ = alpha (x - x_h),    y = x_h + v_h / alpha + a / alpha^2

    bdf1   alpha = 1/h        x_h = x_n                      v_h = v_n
    bdf2   alpha = 3/(2h)     x_h = x_n + (x_n - x_(n-1))/3  v_h likewise;   its first step is one of bdf1, and so are
                              those in which contacts or limits begin or end, and the first after each of these

a: accelerations by gravity and wrenches, the latter at the end of a free flight, x_h + v_h / alpha.

The joints of the initial state are closed, so that their energies give no force. The accelerations and reactions of frame 0
are those of a step that is tried from there,

    x = x_0 + h v_0 + h^2 a / 2,   M a = - V'(x):    alpha = sqrt(2)/h,  x_h = x_0 + (h - 1/alpha) v_0

because the acceleration of bdf1 lacks half of what turns a velocity. First the springs' lengths are measured, then the step
is tried, then the state is evaluated where it was.

The minimum is found by Newton's method with a line search (newton.py). Every repetition has a mask of worlds, so that one
that has converged keeps its numbers to the bit while others go on: arcs that contact cuts, within halvings of a direction,
within iterations, within a step that is taken again (breaks.py).

Source: Li et al. 2020 (IPC), the incremental potential; Lan et al. 2022 (ABD), its bodies. Deviation: energies are physical
(J), external forces act in both formulas, and bdf2 starts by a step of bdf1 rather than by a copy of the state.
"""

from simcli.kernels.programs import only, only_blocks, repeat, repeat_blocks
from simcli.solvers.affine.breaks import begin_anew, find_breaks, go_back, keep_regimes, returns
from simcli.solvers.affine.given import arrive, go_straight, lead, stay, take_given
from simcli.solvers.affine.holds import find_aims
from simcli.solvers.affine.newton import (
    add_contact_energy,
    add_contacts,
    add_energies,
    begin_search,
    count_iteration,
    cut_at_limits,
    cut_way,
    end_search,
    factorize,
    find_energies,
    find_way,
    grip_contacts,
    has_arrived,
    is_cut,
    is_running,
    is_unfit,
    lacks_curvature,
    let_arrive,
    linearise,
    measure_direction,
    raise_forces,
    search_contacts,
    settle,
    shorten,
    solve,
    stop_crowded,
    take_way,
)
from simcli.solvers.affine.stages import (
    account,
    aim,
    begin,
    choose_pace,
    choose_trial,
    close_step,
    count_anew,
    count_steps,
    fall,
    find_motion,
    find_multipliers,
    fly,
    follow_end,
    follow_loops,
    follow_start,
    load_wrenches,
    measure_lengths,
    open_step,
    remember_contacts,
    stand_still,
    weigh_past,
)
from simcli.solvers.tree.stages import end_step, has_steps, is_start

MOST_ARCS = 3  # ways that are tried where contact cuts them; of the last one, the free part is taken


def frame_of_affine(c) -> tuple:
    """The list of a frame.

    Args:
        c: core of the run.
    """
    steps = repeat_blocks(*STEPS[c.integrator](c), where=has_steps, wanted=has_steps)
    return steps, only_blocks(is_start, *start(c))


def bdf1(c) -> tuple:
    """A step of order 1."""
    return count_anew, open_step, choose_pace, *minimum(c), find_motion, *end(c)


def bdf2(c) -> tuple:
    """A step of order 2, taken again by bdf1 in worlds and by bodies where something else acts than at its start."""
    first = (count_anew, open_step, weigh_past, choose_pace, *minimum(c))
    if not c.restarts:
        return *first, find_motion, count_steps, *end(c)
    again = (find_breaks, only(returns, go_back, choose_pace, *minimum(c)))
    return *first, *again, find_motion, count_steps, begin_anew, keep_regimes, *end(c)


STEPS = {"bdf1": bdf1, "bdf2": bdf2}


def start(c) -> tuple:
    """The start of a run, which a frame shows: see above."""
    still = (stand_still, *((follow_start,) if c.signals.n else ()), aim, *((stay,) if c.given.n else ()))
    evaluated = (begin_search, *trial(c, begins=True))
    tried = (open_step, measure_lengths, choose_trial, *minimum(c), find_motion, find_multipliers)
    kept = (keep_regimes,) if c.restarts else ()
    return count_anew, begin, *still, *evaluated, *tried, *still, *evaluated, count_anew, *kept


def end(c) -> tuple:
    """What a step leaves."""
    return (account, *((remember_contacts,) if c.has_friction else ()), close_step,
            *((follow_loops,) if c.loops.n_turns else ()), end_step)  # fmt: skip


def minimum(c) -> tuple:
    """Targets, then Newton's method. The first trial is where the bodies are, and where prescribed ones shall be."""
    aims = (*((find_aims,) if c.holds.n else ()), *((lead,) if c.given.n else ()))
    targets = (fly, *((follow_end,) if c.signals.n else ()), *((load_wrenches,) if c.forces.n_wrenches else ()), fall, aim)
    first = only(is_running, *trial(c, begins=True), *halvings(c), *settlement(c))
    iterations = repeat(*direction(c), *trial(c), *halvings(c), *settlement(c), where=is_running, wanted=is_running)
    return *targets, *aims, begin_search, first, iterations, end_search


def direction(c) -> tuple:
    """Newton's direction. Where the Hessian of a world is indefinite, it is built again without curvature of rows."""
    contacts, given = (add_contacts,) if c.touches else (), (take_given,) if c.given.n else ()
    hessian = repeat_blocks(add_energies, *contacts, *given, factorize, at_most=2, wanted=lacks_curvature)
    return linearise, hessian, solve, measure_direction, *((cut_at_limits,) if c.potential.laws.n else ())


def trial(c, begins: bool = False) -> tuple:
    """The energy at the end of a part of the direction, or of as much of it as contact leaves free: one part for all bodies
    of a world, so that no two of them meet. Where it is cut, a shorter arc ends elsewhere, and is tried in turn.

    Args:
        c: core of the run.
        begins: whether it is the first one of a step.
    """
    straight, arrival = ((go_straight,), (arrive,)) if c.given.n else ((), ())
    if not c.touches:
        return find_way, *straight, take_way, *arrival, find_energies
    way = repeat(find_way, *straight, search_contacts, cut_way, take_way, *arrival, at_most=MOST_ARCS, wanted=is_cut)
    held = (grip_contacts,) if begins and c.has_friction else ()
    return way, *held, stop_crowded, find_energies, add_contact_energy


def halvings(c) -> tuple:
    """The line search: half of the direction, as long as the energy grows by it."""
    return (repeat(shorten, *trial(c), where=is_unfit, wanted=is_unfit),)


def settlement(c) -> tuple:
    """Take the point. Where hard limits still give, their forces are raised, and the search goes on."""
    raises = (only(has_arrived, raise_forces),) if c.potential.laws.n else ()
    return settle, *raises, *((let_arrive,) if c.given.n else ()), count_iteration
