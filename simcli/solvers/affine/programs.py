"""The lists of stages that move affine bodies: one for each integrator. A step is the minimum of an incremental potential.

    alpha^2/2 (x - y)^T M (x - y) + V(x) -> min,    v+ = alpha (x - x_h),    y = x_h + v_h / alpha + a / alpha^2

    bdf1   alpha = 1/h        x_h = x_n                      v_h = v_n
    bdf2   alpha = 3/(2h)     x_h = x_n + (x_n - x_(n-1))/3  v_h likewise;   its first step is one of bdf1, and so are
                              those in which contacts or limits begin or end, and the two after each of these

a: accelerations by gravity and wrenches, the latter at the end of a free flight, x_h + v_h / alpha.

The joints of the initial state are closed, so that their energies give no force. The accelerations and reactions of frame 0
are those of a step that is tried from there,

    x = x_0 + h v_0 + h^2 a / 2,   M a = - V'(x):    alpha = sqrt(2)/h,  x_h = x_0 + (h - 1/alpha) v_0

because the acceleration of bdf1 lacks half of what turns a velocity. First the springs' lengths are measured, then the step
is tried, then the state is evaluated where it was.

The minimum is found by Newton's method (direction.py) with a line search (newton.py). Every repetition has a mask of worlds,
so that one that has converged keeps its numbers to the bit while others go on: arcs that contact cuts, within halvings of a
direction, within iterations, within a step that is taken again (bdf_restart.py).

Source: Li et al. 2020 (IPC), the incremental potential; Lan et al. 2022 (ABD), its bodies. Deviation: energies are physical
(J), external forces act in both formulas, and bdf2 starts by a step of bdf1 rather than by a copy of the state.
"""

from simcli.kernels.articulation.loops import follow_turns
from simcli.kernels.device.stage_lists import Repeat, only, only_blocks, repeat, repeat_blocks, when
from simcli.kernels.language import ti
from simcli.kernels.potentials.polar import place_affine
from simcli.solvers.affine import direction, newton, stages
from simcli.solvers.affine.bdf_restart import begin_anew, find_restarts, go_back, keep_regimes, returns
from simcli.solvers.affine.drags import drag_velocities
from simcli.solvers.affine.holds import find_targets
from simcli.solvers.affine.kinematic_bodies import (
    arrive,
    go_straight,
    let_arrive,
    prescribe_bodies,
    stay,
    store_hold_forces,
    take_kinematic,
)
from simcli.solvers.base.integrators import H
from simcli.solvers.output.frame_stages import end_step, has_steps, is_start, sampling

MOST_ARCS = 3  # ways that are tried where contact cuts them; of the last one, the free part is taken


def frame_of_affine(c) -> tuple:
    """The list of a frame.

    Args:
        c: core of the run.
    """
    steps = repeat_blocks(STEPS[c.integrator](c), where=has_steps, wanted=has_steps)
    return steps, only_blocks(is_start, start(c))


def bdf1(c) -> tuple:
    """A step of order 1."""
    return (
        stages.count_anew,
        stages.open_step,
        *sampling(c),
        stages.choose_bdf,
        minimum(c),
        stages.find_motion,
        end(c),
    )


def bdf2(c) -> tuple:
    """A step of order 2, taken again by bdf1 in worlds and by bodies where something else acts than at its start."""
    again = find_restarts, only(returns, go_back, stages.choose_bdf, minimum(c))
    opened = stages.count_anew, stages.open_step, *sampling(c), stages.extend_bdf_history
    return (
        *opened,
        stages.choose_bdf,
        minimum(c),
        when(c.restarts, *again),
        stages.find_motion,
        stages.count_steps,
        when(c.restarts, begin_anew, keep_regimes),
        end(c),
    )


STEPS = {"bdf1": bdf1, "bdf2": bdf2}


def start(c) -> tuple:
    """The start of a run, which a frame shows: see above."""
    still = stages.stand_still, when(c.signals.n, stages.follow_start), stages.aim, when(c.kinematic.n, stay)
    evaluated = newton.begin_search, trial(c, begins=True)
    opened = stages.count_anew, stages.begin, *sampling(c), still, evaluated, stages.open_step, stages.measure_lengths
    tried = stages.choose_trial, minimum(c), stages.find_motion, stages.find_multipliers
    return *opened, *tried, still, evaluated, stages.count_anew, when(c.restarts, keep_regimes)


def end(c) -> tuple:
    """What a step leaves."""
    return (
        stages.account,
        when(c.has_friction, newton.remember_contacts),
        stages.close_step,
        when(c.loops.n_turns, follow_loops),
        end_step,
    )


def minimum(c) -> tuple:
    """Targets, then Newton's method. The first trial is where the bodies are, and where prescribed ones shall be."""
    loads = when(c.forces.wrenches.n, stages.load_wrenches)
    quiet = when(c.step.has_quasi_static, stages.come_to_rest)
    drags = when(c.drags.n, drag_velocities)
    flight = quiet, stages.fly_free, when(c.signals.n, stages.follow_end), loads, drags, stages.fall
    aims = stages.aim, when(c.holds.n, find_targets), when(c.kinematic.n, prescribe_bodies)
    running = newton.is_running
    first = only(running, trial(c, begins=True), halvings(c), acceptance(c))
    iterations = repeat(_direction(c), trial(c), halvings(c), acceptance(c), where=running, wanted=running)
    held = when(c.kinematic.n, direction.linearise, _derivatives(c), store_hold_forces)
    return flight, aims, newton.begin_search, first, iterations, newton.end_search, held


def _derivatives(c) -> tuple:
    """Gradient and Hessian of everything, at the present point."""
    return direction.add_energies, when(c.touches, direction.add_contacts)


def _direction(c) -> tuple:
    """Newton's direction. Where the Hessian of a world is indefinite, it is built again without curvature of rows."""
    hessian = _derivatives(c), when(c.kinematic.n, take_kinematic), direction.factorize
    return (
        direction.linearise,
        repeat(hessian, at_most=2, wanted=direction.lacks_curvature),
        direction.solve,
        direction.measure_direction,
        when(c.potential.laws.n, direction.cut_at_limits),
    )


def trial(c, begins: bool = False) -> tuple:
    """The energy at the end of a part of the direction, or of as much of it as contact leaves free: one part for all bodies
    of a world, so that no two of them meet. Where it is cut, a shorter arc ends elsewhere, and is tried in turn.

    Args:
        c: core of the run.
        begins: whether it is the first one of a step.
    """
    way, there = (newton.find_way, when(c.kinematic.n, go_straight)), (newton.take_way, when(c.kinematic.n, arrive))
    if not c.touches:
        return way, there, newton.find_energies
    arcs = repeat(way, newton.search_contacts, newton.cut_way, there, at_most=MOST_ARCS, wanted=newton.is_cut)
    held = when(begins and c.has_friction, newton.stick_contacts)
    return arcs, held, newton.stop_overflowing, newton.find_energies, newton.add_contact_energy


def halvings(c) -> Repeat:
    """The line search: half of the direction, as long as the energy grows by it."""
    return repeat(newton.shorten, trial(c), where=newton.is_unfit, wanted=newton.is_unfit)


def acceptance(c) -> tuple:
    """Take the point. Where hard limits still give, their forces are raised, and the search goes on."""
    raised = when(c.potential.laws.n, only(newton.has_arrived, newton.raise_forces))
    return newton.accept_step, raised, when(c.kinematic.n, let_arrive), newton.count_iteration


@ti.func
def follow_loops(c: ti.template(), w: ti.i32):
    """Full turns of joints that close loops."""
    place_affine(c, w, c.potential.rows.x, c.potential.rows.v)
    follow_turns(c.loops, c.state, w, c.constants.load(w, H))
