"""Events of worlds: what was done to begin them, events by condition, and why they end.

A world cannot begin whose loops stay open or that is outside a limit. One ends by what its steps are watched for
(base/world_ends.py), by an event that leaves a coordinate outside a hard limit, or by one that enables a joint whose frames
are apart, or away from its prescribed position. Events by condition are those of the last call, by what worlds keep of them.
"""

import math
from dataclasses import replace

import numpy as np

from simcli.kernels.forces.feedback import FeedbackLaws
from simcli.model.closure.begin import move_text
from simcli.model.closure.limits import OUTSIDE, Outside, bounds_of, tightens
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.gimbals import turns_about_axes
from simcli.model.phases import EARLY
from simcli.model.signals.inputs import prescribed
from simcli.model.snapshot import Event, Status
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Joints
from simcli.model.tables.model import Model
from simcli.model.tables.start_tables import Beginning
from simcli.solvers.base.run_plan import RunPlan
from simcli.solvers.base.world_ends import FARTHEST_TURN
from simcli.solvers.output.contact_report import overflow_text, unsolved_events, worst_event, worst_step
from simcli.spec.base.channel_names import split_name

ENDS = {"SC477": Status.OUTSIDE_LIMIT}  # of a world that cannot begin; else its loops are open
INFO, _WARNING, _ERROR = range(3)  # severities


def failed_starts(start: Beginning) -> dict[int, Status]:
    """Status by world, of worlds that cannot begin."""
    return {fault.world: ENDS.get(fault.code, Status.UNASSEMBLED) for fault in start.faults}


def start_events(model: Model) -> list[Event]:
    """What closing the loops has moved, and the worst of what each world lacks that cannot begin."""
    child = model.joints.child
    events = [
        Event(
            0,
            0.0,
            one.world,
            "SC616",
            _WARNING if one.is_written else INFO,
            int(child[one.joint]),
            one.joint,
            one.size,
            move_text(model.n_worlds, model.joints, one),
        )
        for one in model.start.moves
    ]
    events += [
        Event(0, 0.0, one.world, "SC621", _WARNING, int(child[one.joint]), one.joint, 0.0, one.text)
        for one in model.start.forks
    ]
    worst = {fault.world: fault for fault in sorted(model.start.faults, key=lambda fault: fault.size)}
    return events + [
        Event(0, 0.0, world, fault.code, _ERROR, int(child[fault.joint]), fault.joint, fault.size, fault.text)
        for world, fault in sorted(worst.items())
    ]


def start_failures(solver, model: Model, worlds: np.ndarray) -> tuple[list[Event], dict[int, int]]:
    """Events of where worlds were put, and status of those that cannot begin there, by world.

    Args:
        solver: a stepper.
        model: of these worlds alone.
        worlds: (W,) bool.
    """
    chosen = np.flatnonzero(worlds)
    events = [event if event.world < 0 else replace(event, world=int(chosen[event.world])) for event in start_events(model)]
    ended = {int(chosen[world]): status for world, status in failed_starts(model.start).items()}
    if solver.engine.end:
        found, more = solver.engine.end(solver, worlds)
        events, ended = events + found, ended | more
    return events, ended


class CrossingEvents:
    """What was told of events by condition so far.

    Args:
        model: whose events they are.

    Attributes:
        repeat: whether some may take place more than once, so that each frame is looked at.
        told: (W, E), how often each was told in each world.  began: (W,), steps before each world began.
    """

    def __init__(self, model: Model):
        self.texts, self.states = model.feedback.told, model.feedback.told_state
        self.repeat = bool(model.feedback.told_again.any())
        self.told = np.zeros((model.n_worlds, len(self.texts)))
        self.began = np.zeros(model.n_worlds, np.int64)

    def new(self, feedback: FeedbackLaws, dt: float) -> list[Event]:
        """Events since the last time, by their times.

        Args:
            feedback: on the device.
            dt: [s], step.
        """
        if not self.texts or not feedback.n:
            return []
        kept = feedback.states.read()[:, self.states, 0]
        time, count = kept[..., 0], np.nan_to_num(kept[..., 1])
        events = []
        for world, event in np.argwhere(count > self.told).tolist():
            often, when = int(count[world, event] - self.told[world, event]), float(time[world, event])
            more = f" ({often} times since the last frame; this is the last)" if often > 1 else ""
            text = self.texts[event] + more
            before = int(self.began[world])
            step = before + math.ceil(when / dt - EARLY)
            events.append(Event(step, before * dt + when, world, "SC606", 0, -1, -1, 0.0, text))
        self.told = np.maximum(count, self.told)
        return sorted(events, key=lambda event: (event.time, event.world))


_OF_RATES = (Status.NOT_FINITE, Status.TOO_FAST, Status.SINGULAR)  # what ends a joint two of whose axes fall together
_OF_LOCK = "; at gimbal lock? then take a ball joint, or the maximal solver"
_NOTHING = -1  # body or joint of an event that names none
RULE_CODES = {
    Status.NOT_FINITE: "SC601",
    Status.TOO_FAST: "SC602",
    Status.SINGULAR: "SC603",
    Status.STOPPED: "SC604",
    Status.TURNS_FAR: "SC608",
    Status.NOT_CONVERGED: "SC610",
    Status.CROWDED: "SC660",
    Status.LOOP_LOST: "SC625",
}


def unsolved_steps(solver, summary: np.ndarray, before: int) -> list[Event]:
    """Events of the steps of a call that were not solved; updates `unsolved` of the solver.

    Args:
        solver: a `Stepper`.
        summary: (W, len(SUMMARY)), at the last frame.
        before: steps before the call.
    """
    dt, is_last = solver.plan.dt, solver.n_steps == solver.plan.n_steps
    what = "contacts" if solver.core.touches else "constraints"
    events = unsolved_events(summary, before, dt, is_last, solver.n_steps, what)
    solver.unsolved = worst_step(summary, dt)
    return [*events, worst_event(solver.unsolved)] if solver.unsolved and is_last else events


def ended_worlds(solver, health: np.ndarray, before: int) -> list[Event]:
    """Events of the worlds that ended in the last call; updates `status` of the solver.

    Args:
        solver: a `Stepper`.
        health: (W, 3), HEALTH columns at the last frame.
        before: steps before the call.
    """
    code, model = health[:, 0].astype(int), solver.model
    room = solver.core.contacts.capacity if solver.core.touches else 0
    ended = np.flatnonzero(code != solver.status)
    solver.status = code
    return [
        ending(model, solver.plan, int(w), Status(code[w]), before + int(health[w, 1]), int(health[w, 2]), room)
        for w in ended
    ]


def ending(model: Model, plan: RunPlan, world: int, status: Status, step: int, cause: int, room: int) -> Event:
    """The event of one world that ended.

    Args:
        model: host tables.
        plan: of the run.
        world: that ended.
        status: why.
        step: steps since the start of the run.
        cause: the dof that is the cause; the number of contacts where there are too many.
        room: contacts that there is room for.
    """
    if status == Status.CROWDED:
        body, joint, value, text = _NOTHING, _NOTHING, float(cause), overflow_text(cause, room)
    elif status == Status.STOPPED:
        body, joint = subject_of(model.bodies, model.joints, plan.measures.stop)
        value, text = float(status), f"run.stop_when was met by {plan.measures.stop}"
    else:
        joint = int(model.dofs.joint[cause])
        body = int(model.joints.child[joint])
        value, text = float(status), reason(status, model.bodies.name[body], model.dofs.label[cause])
        if status in _OF_RATES and turns_about_axes(model)[joint] and cause != model.joints.qd_start[joint + 1] - 2:
            text += _OF_LOCK
    severity = 2 if status.is_failure else 0
    return Event(step, step * plan.dt, world, RULE_CODES[status], severity, body, joint, value, text)


def subject_of(bodies: Bodies, joints: Joints, quantity: str) -> tuple[int, int]:
    """Body and joint that a quantity belongs to; NOTHING where there is none."""
    group, subject, _ = split_name(quantity)
    if group == "body":
        return bodies.name.index(subject), _NOTHING
    if group != "joint":
        return _NOTHING, _NOTHING
    joint = joints.name.index(subject)
    return int(joints.child[joint]), joint


def reason(status: Status, body: str, dof: str) -> str:
    """Why a world failed.

    Args:
        status: of a failure of one dof.
        body, dof: names of what is the cause.
    """
    texts = {
        Status.NOT_FINITE: f"a velocity of joint `{dof}` is not finite (body `{body}`)",
        Status.TOO_FAST: f"joint `{dof}` is faster than solver.max_velocity (body `{body}`)",
        Status.TURNS_FAR: f"body `{body}` turns by more than {FARTHEST_TURN} rad in a step: make dt smaller",
        Status.LOOP_LOST: f"unstable feedback loop: at every sample it makes body `{body}` faster; make "
        "gains, steps or delays smaller",
        Status.NOT_CONVERGED: f"a step did not converge in solver.max_iterations iterations; body `{body}` still moved most",
    }
    return texts.get(status, f"the articulated inertia at joint `{dof}` is not positive (body `{body}`)")


ALLOWED = {"float64": OUTSIDE, "float32": 2e-6}  # [m, rad] beyond a bound that counts as none: rounding of coordinates


def end_outside(solver, before: Model, model: Model) -> list[Event]:
    """End the worlds in which a coordinate is farther beyond its hard limit than it was before an event.

    A limit is met to a tolerance: what is beyond a limit before the event may be as far beyond the new one.

    Args:
        solver: a stepper, in whose tables the phase has begun.
        before: model of the phase before.
        model: of the phase.

    Returns:
        An event each, of the coordinate that is farthest beyond.
    """
    if not tightens(before, model):
        return []
    core = solver.core
    known, bounds = {one.law: one for one in bounds_of(before)}, bounds_of(model)
    if not bounds:
        return []
    values, found = core.coordinates(constraints_of(model).laws), []
    for one in bounds:
        value = values[:, one.law]
        passed = known[one.law].excess(value) if one.law in known else -np.inf
        found += one.passed(value, np.maximum(passed, 0.0) + ALLOWED[core.precision])
    worst = {one.world: one for one in sorted(found, key=lambda one: one.size) if not solver.status[one.world]}
    solver.end(dict.fromkeys(worst, Status.OUTSIDE_LIMIT))
    return [_event_of_limit(solver, one, bool(before.joints.enabled[one.joint])) for _, one in sorted(worst.items())]


def _event_of_limit(solver, one: Outside, is_set: bool) -> Event:
    """The event of a world that ends.

    Args:
        solver: a stepper.
        one: its coordinate.
        is_set: whether the event sets the limit; if not, it enables the joint.
    """
    unit = "m" if one.is_length else "rad"
    bounds = f"[{one.lower:.6g}, {one.upper:.6g}] {unit}"
    what = f"sets its limit to {bounds}" if is_set else f"enables it with its limit {bounds}"
    text = f"joint `{one.label}` is at {one.value:.6g} {unit} when an event {what}"
    body, time = int(solver.model.joints.child[one.joint]), solver.n_steps * solver.plan.dt
    return Event(solver.n_steps, time, one.world, "SC617", 2, body, one.joint, one.size, text)


CLOSED = {"float64": 1e-6, "float32": 1e-4}  # [m, rad, 1] of a row that is closed: the drift of loops, and rounding


def end_open(solver, before: Model, model: Model) -> list[Event]:
    """End the worlds in which an event enables a joint that is open, or takes its compliance while it gives way.

    Args:
        solver: a stepper, in whose tables the phase has begun.
        before: model of the phase before.
        model: of the phase.

    Returns:
        An event each, of the joint that is open most.
    """
    enabled = model.joints.enabled & ~before.joints.enabled
    begins = enabled | (model.joints.enabled & (before.joints.compliance > 0.0) & (model.joints.compliance == 0.0))
    joints = np.flatnonzero(begins.any(axis=0))
    if not len(joints):
        return []
    aims = prescribed(model, solver.n_steps * solver.plan.dt)[..., 0]
    gaps = np.stack([solver.core.gap_of_joint(model, int(j), aims) for j in joints], axis=1) * begins[:, joints]
    found = []
    for world in np.flatnonzero(gaps.max(axis=1) > CLOSED[solver.core.precision]).tolist():
        if not solver.status[world]:
            k = int(gaps[world].argmax())
            verb = "enables" if enabled[joints[k]] else "takes the compliance of"
            found.append(_event_of_open_joint(solver, world, int(joints[k]), float(gaps[world, k]), verb))
    solver.end({event.world: Status.UNASSEMBLED for event in found})
    return found


def _event_of_open_joint(solver, world: int, joint: int, gap: float, verb: str) -> Event:
    """The event of a world that ends."""
    joints, time = solver.model.joints, solver.n_steps * solver.plan.dt
    text = f"an event {verb} joint `{joints.name[joint]}` while its frames are {gap:.3g} m or rad apart"
    return Event(solver.n_steps, time, world, "SC619", 2, int(joints.child[joint]), joint, gap, text)
