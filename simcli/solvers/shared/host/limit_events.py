"""Worlds that end because an event leaves a coordinate outside a hard limit."""

import numpy as np

from simcli.model.closure.limits import OUTSIDE, Outside, bounds_of, tightens
from simcli.model.constraints.build import constraints_of
from simcli.model.snapshot import Event, Status
from simcli.model.tables import Model

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
    return [_told(solver, one, bool(before.joints.enabled[one.joint])) for _, one in sorted(worst.items())]


def _told(solver, one: Outside, is_set: bool) -> Event:
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
