"""Worlds that end because an event enables a joint whose frames are apart, or away from its prescribed position."""

import numpy as np

from simcli.model.signals.prescribed import prescribed
from simcli.model.snapshot import Event, Status
from simcli.model.tables import Model

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
            found.append(_told(solver, world, int(joints[k]), float(gaps[world, k]), verb))
    solver.end({event.world: Status.UNASSEMBLED for event in found})
    return found


def _told(solver, world: int, joint: int, gap: float, verb: str) -> Event:
    """The event of a world that ends."""
    joints, time = solver.model.joints, solver.n_steps * solver.plan.dt
    text = f"an event {verb} joint `{joints.name[joint]}` while its frames are {gap:.3g} m or rad apart"
    return Event(solver.n_steps, time, world, "SC619", 2, int(joints.child[joint]), joint, gap, text)
