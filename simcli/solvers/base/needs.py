"""What device functions are for. A run that has none of it leaves their calls out, so that steps and reports read as lists:

    @needs.laws
    @ti.func
    def state_laws(c, w): ...

Each condition stands here once. It is one of all phases of a run, so that their kernels are the same. What a list of stages
leaves out, it does itself (kernels/device/programs.py:when).
"""

import functools
from collections.abc import Callable

from simcli.model.tables.force_tables import Drags
from simcli.model.tables.model import Model


def _something(has: Callable) -> Callable:
    """A mark for device functions without a result: where a run lacks what they need, calls of them do nothing.

    Args:
        has: whether a core, which is their first argument, has it.
    """

    def mark(function: Callable) -> Callable:
        @functools.wraps(function)
        def taken(c, *given):
            if has(c):
                function(c, *given)

        return taken

    return mark


touching = _something(lambda c: c.touches)  # shapes may touch
summary = _something(lambda c: c.summarises)  # frames say what steps have left unsolved
constraints = _something(lambda c: c.constrained)
natural = _something(lambda c: c.is_natural)
frames_aside = _something(lambda c: c.aside is not None)  # frames overwrite what steps go on from (output/frame_stages.py)
gyroscopes = _something(lambda c: c.gyroscopes.n > 0)  # bodies that turn freely, in steps of first order
lone_gyroscopes = _something(lambda c: c.gyroscopes.n_alone > 0)  # that keep their angular momentum
held_gyroscopes = _something(lambda c: c.gyroscopes.n_held > 0)  # that others hold
gyroscope_arms = _something(lambda c: c.gyroscopes.has_arms)  # that have others welded on
one_node = _something(lambda c: c.stages == 1)  # steps have one evaluation
many_nodes = _something(lambda c: c.stages > 1)
noted_rates = _something(lambda c: c.notes_rates)  # frames show what corrections of velocities give
slopes = _something(lambda c: c.integrator == "rk4")  # steps add them up
repeats = _something(lambda c: c.bound.repeats)  # steps may be taken again
islands = _something(lambda c: c.bound.islands.are_many)  # some may jump while others do not (rows/repeat.py)
laws_that_jump = _something(lambda c: c.bound.notes_jumps)  # steps in which one stops a coordinate are of impulses
no_laws_that_jump = _something(lambda c: not c.bound.notes_jumps)
turns = _something(lambda c: c.turns)  # directions of rows turn in the passes of a step
fixed_directions = _something(lambda c: not c.turns)

some_rows = _something(lambda c: c.bound.system.n_rows > 0)
laws = _something(lambda c: c.bound.system.laws.n > 0)
# Laws that are rows of the matrix of corrections: not of a natural step with contact, which takes that of the projection.
corrected_laws = _something(lambda c: c.bound.system.laws.n > 0 and not (c.is_natural and c.by_impulses))
shared_limits = _something(lambda c: c.bound.system.laws.has_shared_limit)  # efforts of balls are limited
drag_rows = _something(lambda c: c.bound.system.n_drags > 0)
spring_rows = _something(lambda c: c.bound.system.n_springs > 0)
shared_gears = _something(lambda c: c.bound.system.rows.has_shared)  # that act on links
sleepers = _something(lambda c: getattr(c, "sleeps", False))  # bodies at rest do; those of the affine solver never
rolling = _something(lambda c: c.bound.impulses.has_spins)  # contacts roll or bore with friction
excess = _something(lambda c: c.has_excess)  # weights are more than the inertia of some bodies (natural/saddle.py)

locking = _something(lambda c: c.bound.system.steps_lock)  # steps may lock dofs
locks = _something(lambda c: c.motions.n_locks > 0)  # motions lock dofs
watched_motions = _something(lambda c: c.bound.watches_motions)  # whose rates may jump, which takes a step again
locked_balls = _something(lambda c: c.motions.locks_balls)
late_rates = _something(lambda c: c.stages > 1 or c.is_natural)  # a step does not end with the velocity that moved it
moved_apart = _something(lambda c: c.stages > 1 and c.motions.n_locks > 0)  # late rates of prescribed dofs
motions = _something(lambda c: c.motions.n_locks + c.bound.system.n_prescribed_rows > 0)  # or prescribe rows
late_holds = _something(lambda c: c.by_impulses and not c.is_natural and c.motions.n_locks > 0)  # locks in corrected steps
prescribed_rows = _something(lambda c: c.bound.system.n_prescribed_rows > 0)
prescribed_balls = _something(lambda c: c.bound.system.prescribes_balls)
kinematic_bodies = _something(lambda c: c.kinematic.n > 0)

armature = _something(lambda c: c.forces.has_armature)
work = _something(lambda c: c.forces.has_work)  # efforts of joints do some
cables = _something(lambda c: c.forces.bushings.n_cables > 0)
joint_wrenches = _something(lambda c: c.forces.joint_wrenches.n > 0)
account = _something(lambda c: c.keeps_account)  # of work, by the trapezoidal rule

soft_springs = _something(lambda c: c.pushes.has_springs)  # of polynomial steps (natural/forces.py)
cable_parts = _something(lambda c: c.pushes.has_cables)
soft_laws = _something(lambda c: c.pushes.has_laws)
rotors = _something(lambda c: c.pushes.has_laws and c.forces.has_armature)
pushes = _something(lambda c: c.pushes.n_pushes > 0)
frame_pairs = _something(lambda c: c.pushes.has_frames)  # bushings, cables or drags act
bushings = _something(lambda c: c.forces.bushings.n > 0)
drags_of_links = _something(lambda c: c.forces.drags.n > 0)
power = _something(lambda c: c.pushes.has_power)
yielding = _something(lambda c: c.pushes.n_yielding > 0)
moved_residuals = _something(lambda c: c.pushes.n_yielding + c.bound.system.n_prescribed_rows > 0)  # not those of rows
stresses = _something(lambda c: c.steps.rows.bends)
prescribed_coordinates = _something(lambda c: c.steps.rows.has_prescribed)

drags = _something(lambda c: c.drags.n > 0)
holds = _something(lambda c: c.holds.n > 0)
thin_pushes = _something(lambda c: c.pushes_thin)  # forces along coordinates without mass
resting_contacts = _something(lambda c: c.touches and c.barrier.can_rest)

accumulators = _something(lambda c: c.accumulators.n > 0)
late_probes = _something(lambda c: not c.accumulators.within)  # frames are probed, and no stage of the next step does it
loop_bounds = _something(lambda c: c.loop_turns.are_bounded)  # of the driver (run/loop_bounds.py)

short_accounts = _something(lambda c: c.closes_every_step)

guarded_loops = _something(lambda c: c.guard.n > 0)  # signals that follow the motion drive it
energy_balance = _something(lambda c: c.reports["energy"])
extremes = _something(lambda c: c.keeps_extremes)  # of energies that no frame shows
single_contacts = _something(lambda c: c.reports["contacts"])


def springs_are_rows(model: Model, options) -> bool:
    """Whether steps take springs as rows: those in natural coordinates, and those that are implicit in springs."""
    is_natural = model.columns is not None and model.affine is None
    return bool(model.springs.name) and (is_natural or options.integrator == "implicit")


def drags_are_rows(drags: Drags, options) -> bool:
    """Whether steps take drags as rows: those of trees that are implicit."""
    return bool(drags.name) and options.integrator == "implicit"
