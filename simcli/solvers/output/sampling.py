"""Samples of the signals that follow the motion: what they see where a step begins, before anything follows them.

What is seen is the state that a step begins with, as a frame of that time shows it. The first sample is taken for the frame
of the start, so that the first step finds it.
"""

from simcli.kernels.articulation.kinematics import place_all
from simcli.kernels.collision.queries import find_clearances
from simcli.kernels.device.stage_lists import take_all, when
from simcli.kernels.forces.signals import sample
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.rows.quadratic import give_state
from simcli.model.measures import Source
from simcli.solvers.base.clock import LEAN, steps_before
from simcli.solvers.base.integrators import H
from simcli.solvers.output.frame_stages import show_bodies, show_joints
from simcli.solvers.output.loop_guard import probe_loops
from simcli.solvers.output.probes import place_quantities, quantity_now, sensing
from simcli.spec.base.sensor_types import ON_JOINT, SENSOR_TYPES


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
