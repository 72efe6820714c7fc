"""Worlds that end because an event enables a joint whose frames are apart, or away from its prescribed position."""

import numpy as np

from simcli.model.signals.prescribed import prescribed
from simcli.model.snapshot import Event, Status
from simcli.model.tables import Model

CLOSED = {"float64": 1e-6, "float32": 1e-4}  # [m, rad, 1] of a row that is closed: the drift of loops, and rounding


def end_open(solver, before: Model, model: Model) -> list[Event]:
    """End the worlds in which an event enables a joint that is open.

    Args:
        solver: a stepper, in whose tables the phase has begun.
        before: model of the phase before.
        model: of the phase.

    Returns:
        An event each, of the joint that is open most.
    """
    begins = np.flatnonzero(model.joints.enabled & ~before.joints.enabled)
    if not len(begins):
        return []
    aims = prescribed(model, solver.n_steps * solver.plan.dt)[..., 0]
    gaps = np.stack([solver.core.gap_of_joint(model, int(j), aims) for j in begins], axis=1)
    found = []
    for world in np.flatnonzero(gaps.max(axis=1) > CLOSED[solver.core.precision]).tolist():
        if not solver.status[world]:
            k = int(gaps[world].argmax())
            found.append(_told(solver, world, int(begins[k]), float(gaps[world, k])))
    solver.end({event.world: Status.UNASSEMBLED for event in found})
    return found


def _told(solver, world: int, joint: int, gap: float) -> Event:
    """The event of a world that ends."""
    joints, time = solver.model.joints, solver.n_steps * solver.plan.dt
    text = f"an event enables joint `{joints.name[joint]}` while its frames are {gap:.3g} m or rad apart"
    return Event(solver.n_steps, time, world, "SC619", 2, int(joints.child[joint]), joint, gap, text)
