"""Solvers that take the bodies one by one, every joint a set of rows: maximal and natural coordinates.

Another form of the model (model/forms/maximal_form.py, model/forms/natural_form.py) goes under the constrained steps of
solvers/rows/memory.py: the mass matrix is that of single bodies, and limits, drives and friction act on coordinates that
are rows. What closes a loop makes no difference.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from simcli.kernels.device.runtime import Device
from simcli.model.forms.maximal_form import combined, maximal_form
from simcli.model.forms.natural_coordinates import natural_q
from simcli.model.forms.natural_form import natural_form
from simcli.model.joints.state import State
from simcli.model.phases import representatives
from simcli.model.snapshot import FrameBlock
from simcli.model.tables.model import Model
from simcli.solvers.base.run_plan import RunPlan
from simcli.solvers.run.core import TREE
from simcli.solvers.run.engine import Engine
from simcli.solvers.run.frame_buffers import NOWHERE
from simcli.solvers.run.solver import Stepper

if TYPE_CHECKING:
    from simcli.model.phases import Phase

_COORDINATES = {
    "frames/joint_q": "n_q",
    "frames/joint_qd": "n_qd",
    "frames/joint_qdd": "n_qd",
    "frames/joint_effort": "n_qd",
    "frames/joint_wrench": "n_joints",
}


@dataclass(frozen=True)
class FormedPhase:
    """A phase whose model takes its other form when it is asked for: there may be thousands.

    Attributes:
        phase: in the form of the scene.
        form, start: see `SingleBodySolver`.
    """

    phase: "Phase"
    form: Callable[[Model, State], Model]
    start: State

    @property
    def step(self) -> int:
        """Number of the first step that it is for."""
        return self.phase.step

    @property
    def texts(self) -> tuple[str, ...]:
        """What changed, a line per event."""
        return self.phase.texts

    @property
    def model(self) -> Model:
        """Its tables."""
        return self.form(combined(self.phase.model), self.start)


class SingleBodySolver(Stepper):
    """Steps all worlds of a model in another form; what it shows is in that of the scene.

    Args:
        form: makes it from a model and where everything is.
        model, options, plan, device, phases, engine: as of `Stepper`.
    """

    has_form = True

    def __init__(
        self,
        form: Callable[[Model, State], Model],
        model: Model,
        options,
        plan: RunPlan,
        device: Device,
        phases: "Sequence[Phase]" = (),
        engine: Engine = TREE,
    ):
        self.form, whole = form, combined(model)
        start = State.of(whole)
        standing = [form(combined(phase.model), start) for phase in representatives(model, phases)]
        later = [FormedPhase(phase, form, start) for phase in phases]
        super().__init__(form(whole, start), options, plan, device, later, engine, standing)
        self.scene_model = model

    def initial(self) -> FrameBlock:
        """As of `Stepper`."""
        return self.shown(super().initial())

    def advance(self, n_frames: int, places: Mapping[str, np.ndarray] = NOWHERE) -> FrameBlock:
        """As of `Stepper`."""
        return self.shown(super().advance(n_frames, places))

    def formed(self, model: Model) -> Model:
        """A model of the scene in the form of the steps, at its own initial state."""
        whole = combined(model)
        return self.form(whole, State.of(whole))

    def shown(self, block: FrameBlock) -> FrameBlock:
        """A block without the columns of added joints, and with the natural coordinates that the scene chooses."""
        for name, count in _COORDINATES.items():
            if name in block.columns:
                block.columns[name] = np.ascontiguousarray(block.columns[name][:, :, : getattr(self.scene_model, count)])
        if self.scene_model.naturals is not None and "frames/body_q" in block.columns:
            block.columns["frames/natural_q"] = natural_q(self.scene_model, block.columns["frames/body_q"])
        block.events[:] = [self.named(event) for event in block.events]
        return block


def generalized_solver(model: Model, *args, **named) -> Stepper:
    """A solver in joint coordinates; combinations are coordinates of their own, which frames do not show.

    Args:
        model: of the scene.
        *args, **named: as of `Stepper`.
    """
    if model.combinations.name:
        return SingleBodySolver(_as_it_is, model, *args, **named)
    return Stepper(model, *args, **named)


def _as_it_is(model: Model, _start: State) -> Model:
    return model


MaximalSolver = partial(SingleBodySolver, maximal_form)
NaturalSolver = partial(SingleBodySolver, natural_form)
