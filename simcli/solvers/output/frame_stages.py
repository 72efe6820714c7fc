"""Stages of frames: the list of a frame, of which each solver gives the steps, and what frames show of bodies and joints.

What steps go on from, and frames overwrite, is set aside before a frame is worked out, and put back before the next step.
Where frames evaluate their instant they show velocities that are projected, and forces and signals of that instant. Steps
go on from none of it: the motion and its ledger would depend, in their last digits, on how often they are shown.

Samples of the signals that follow the motion see where a step begins, before anything follows them: the state that a step
begins with, as a frame of that time shows it. The first sample is taken for the frame of the start, so that the first step
finds it.
"""

from simcli.kernels.articulation.kinematics import place_all
from simcli.kernels.articulation.loops import follow_natural_turns, follow_turns, report_rods, unwrap_turns
from simcli.kernels.articulation.projected_accelerations import project_accelerations
from simcli.kernels.articulation.projection import project_joints
from simcli.kernels.articulation.report import report_bodies, report_points
from simcli.kernels.contact_queries import find_clearances
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.device.stage_lists import only_blocks, repeat_blocks, take_all, when
from simcli.kernels.forces.signals import sample
from simcli.kernels.forces.wrenches import report_applied_efforts
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.rows.quadratic import give_state
from simcli.model.measures import Source
from simcli.solvers.base import needs
from simcli.solvers.base.clock import LEAN, steps_before
from simcli.solvers.base.integrators import H
from simcli.solvers.base.world_ends import watch
from simcli.solvers.output.contact_report import report_contacts
from simcli.solvers.output.loop_guard import probe_loops
from simcli.solvers.output.probes import place_quantities, quantity_now, sensing
from simcli.solvers.rows.islands import Shown
from simcli.spec.base.sensor_types import ON_JOINT, SENSOR_TYPES


class Aside:
    """Copies of arrays.

    Args:
        c: core of a run whose frames evaluate their instant.
        arena: of the same worlds.

    Attributes:
        arrays: that frames write and steps read, of plain numbers.  copies: of them.
        shown: of islands, some of which show their step.
        n_driven, driven: numbers that signals drive, where a step closes the account of what they did (ledger.py).
    """

    _data_oriented = True

    def __init__(self, c, arena: Arena):
        self.arrays = list(c.forces.account.arrays)
        if c.constrained:
            self.arrays += [c.bound.system.laws.effort, c.bound.system.laws.lock]
        if c.is_natural:
            self.arrays += [c.state.qd, c.bound.impulse, c.bound.owes, c.bound.system.force]
        self.shown = Shown(c, arena) if c.constrained and c.bound.islands.are_many else None
        self.copies = [arena.array(array.n_items) for array in self.arrays]
        self.n_driven = c.signals.n_routes if c.closes_every_step else 0
        self.driven = arena.array(self.n_driven)


@needs.frames_aside
@ti.func
def set_aside(c: ti.template(), w: ti.i32):
    """Keep what the next step goes on from, where a frame begins.

    Writes: c.aside
    """
    for k in ti.static(range(len(c.aside.arrays))):
        copy(c.aside.copies[k], c.aside.arrays[k], c.aside.arrays[k].n_items, w)
    for n in range(c.aside.n_driven):
        c.aside.driven.store(w, n, c.signals.rows.load(w, c.signals.row.at(n)))


@needs.frames_aside
@ti.func
def go_on_from_aside(c: ti.template(), w: ti.i32):
    """Go on from it, whatever frames have shown.

    Reads:  c.aside
    Writes: what was set aside
    """
    for k in ti.static(range(len(c.aside.arrays))):
        copy(c.aside.arrays[k], c.aside.copies[k], c.aside.arrays[k].n_items, w)
    for n in range(c.aside.n_driven):
        c.signals.rows.store(w, c.signals.row.at(n), c.aside.driven.load(w, n))


def frame(c, step: tuple, start: tuple, end: tuple) -> tuple:
    """The list of a frame.

    Args:
        c: core of the run.
        step: stages of each step.
        start, end: of the frame of the start, which has no step; after the last step of any other.
    """
    turning = _follow_natural_loops if c.is_natural and c.is_quadratic else _follow_loops
    turns = (turning,) if c.constrained and c.loops.n_turns else ()
    shows = (report_contacts,) if c.touches else ()
    last = (only_blocks(is_last_step, *shows),) if shows else ()
    steps = repeat_blocks(*step, *turns, *last, end_step, where=has_steps, wanted=has_steps)
    return steps, only_blocks(is_start, *start, *shows), only_blocks(is_later, *end)


@ti.func
def _follow_loops(c: ti.template(), w: ti.i32):
    """Full turns of joints that close loops."""
    follow_turns(c.loops, c.state, w, c.constants.load(w, H))


@ti.func
def _follow_natural_loops(c: ti.template(), w: ti.i32):
    """The same, in steps that need no poses."""
    follow_natural_turns(c.loops, c.tables, c.state, w, c.constants.load(w, H))


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


def show_bodies(c, w):
    """Poses and velocities of bodies (inside kernels)."""
    report_bodies(c.tables, c.state, c.rows, w)


def show_points(c, w):
    """Points of bodies (inside kernels)."""
    report_points(c.tables, c.state, c.rows, w)


def show_joints(c, w):
    """Coordinates of joints, as the poses of bodies show them (inside kernels)."""
    project_joints(c.loops.anchors, c.rows, c.state.q, c.state.qd, w)
    unwrap_turns(c.loops, c.state.q, w)


def show_joint_accelerations(c, w):
    """Accelerations of joints, likewise (inside kernels)."""
    project_accelerations(c.loops.anchors, c.rows, c.state.q, c.state.qd, c.state.qdd, w)


def show_rods(c, w):
    """Rods that close loops (inside kernels)."""
    report_rods(c.loops, c.rows, w)
    _report_applied(c, w)


@needs.joint_wrenches
def _report_applied(c, w):
    report_applied_efforts(c.loops, c.forces.joint_wrenches, c.rows, w)


def sampling(c) -> tuple:
    """The stage that takes samples, if signals follow the motion."""
    return when(c.signals.feedback.n, take_sample)


def distances(c) -> tuple:
    """What finds the distances that signals see."""
    return when(c.probed.has.get("clearances"), _find_distances)


def sensors_of(c) -> tuple:
    """What finds what sensors show to signals."""
    return when(c.probed.has.get("sensors"), _find_sensed_by_signals)


def _find_sensed_by_signals(c, w):
    take_all(sensing(c.probed), c.probed, c, w)


def needs_joints(m) -> bool:
    """Whether signals see coordinates of joints, by themselves or by sensors."""
    on_joint = any(SENSOR_TYPES[one.type].of == ON_JOINT for one in m.measures.sensed)
    return on_joint or bool({Source.Q, Source.QD} & set(m.measures.source))


@ti.func
def take_sample(c: ti.template(), w: ti.i32):
    """A stage: samples where a step begins, and for the frame of the start.

    Reads:  c.{state, now}
    Writes: c.{signals, probed, rows, guard}
    """
    step = c.now.load(w, "step")
    steps = c.now.load(w, "steps")
    number = steps_before(c, w) + step
    is_start = ti.cast(steps == 0, ti.i32)
    begun = c.ages.have_begun(w, number + is_start)  # the frame of the start has taken the first one
    if step < steps + is_start and any_lane(begun):
        c.ages.take(begun, _sample_now, c, w, number)


@ti.func
def _sample_now(c: ti.template(), w: ti.i32, number: ti.i64):
    """Take samples where step `number` begins."""
    take_all(c.finding, c, w)
    probe_loops(c, w, number)
    h = c.constants.load(w, H)
    sample(c.signals, w, number, h * c.ages.pack(w, number), h * LEAN[c.precision])


def finding(c) -> tuple:
    """What finds the quantities that signals see.

    Args:
        c: core of the run, whose links stand where the step begins, but in steps of polynomials.
    """
    m = c.probed
    projects = c.projects and needs_joints(m)
    if not m.n:
        return ()
    return (
        *when(c.is_natural and c.is_quadratic, _place_polynomials),
        *when(projects, show_bodies, show_joints),
        place_probed,
        *distances(c),
        *sensors_of(c),
        see,
    )


@ti.func
def _place_polynomials(c: ti.template(), w: ti.i32):
    """Links of a step that needs no poses; those of the frame of the start are placed."""
    if c.now.load(w, "steps") != 0:
        give_state(c.steps.rows, c.state, w)
        place_all(c.tables, c.state, w)


@ti.func
def see(c: ti.template(), w: ti.i32):
    """The quantities that were found.

    Writes: c.signals.feedback.seen
    """
    for n in range(c.probed.n):
        c.signals.feedback.seen.store(w, n, quantity_now(c.probed, c, w, n))


def place_probed(c, w):
    """Places and velocities of what signals see (inside kernels)."""
    place_quantities(c.probed, c, w)


def _find_distances(c, w):
    find_clearances(c.probed.clearances, c.tables, c.state, w)
