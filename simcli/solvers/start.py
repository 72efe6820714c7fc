"""The state in which a run begins, for solvers that take the bodies one by one: that of the tree, loops closed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from simcli.kernels.runtime import Device
from simcli.model.constraints import constraints_of
from simcli.model.loosen import Start
from simcli.model.snapshot import Event
from simcli.model.state import State
from simcli.model.tables import Model
from simcli.solvers.generalized import GeneralizedSolver
from simcli.solvers.plan import RunPlan

if TYPE_CHECKING:
    from simcli.model.phases import Phase

AS_BEFORE = 1.0  # [s], a step that no coordinate sees


@dataclass
class Assembly:
    """The state in which a run begins.

    Attributes:
        start: of all worlds.
        events: of worlds whose loops cannot be closed.
        ended: status by world, of these.
    """

    start: Start
    events: list[Event] = field(default_factory=list)
    ended: dict[int, int] = field(default_factory=dict)


def start_of(model: Model, device: Device, phases: "Sequence[Phase]" = ()) -> Assembly:
    """The assembled state of a model, by the generalized solver where loops are to be closed."""
    hard = constraints_of(model, tuple(phase.model for phase in phases)).rows.is_hard
    if not hard.any():
        state = State.of(model)
        return Assembly(Start(state.joint_q, state.joint_qd, state.body_q, state.body_qd))
    options = SimpleNamespace(integrator="semi_implicit", max_velocity=1e150)
    alone = replace(model, contacts=None)  # what touches has no say in how loops close
    solver = GeneralizedSolver(alone, options, RunPlan(AS_BEFORE, 1, 1, frozenset(("state",)), stands=True), device)
    block = solver.initial()
    arrays = (block.columns[f"frames/{name}"][0] for name in ("joint_q", "joint_qd", "body_q", "body_qd"))
    ended = {world: int(status) for world, status in enumerate(solver.status) if status}
    solver.arena.destroy()
    return Assembly(Start(*(np.nan_to_num(array).astype(float) for array in arrays)), block.events, ended)
