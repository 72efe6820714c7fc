"""The stepper of all solvers, on the host: a model in, frames and events out.

The device's side is rollout.py, which takes the steps, and engine.py, which shows them.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.runtime import Device, compile_thoroughly
from simcli.kernels.language import ti
from simcli.model.constraints.build import stated_alike
from simcli.model.phases import representatives
from simcli.model.snapshot import Event, FrameBlock, Status
from simcli.model.tables.model import Model
from simcli.solvers.base.needs import drags_are_rows, springs_are_rows
from simcli.solvers.base.run_plan import RunPlan
from simcli.solvers.impulses.memory import is_large
from simcli.solvers.output.accumulators import OF_JOINTS
from simcli.solvers.output.contact_report import gather
from simcli.solvers.output.probes import further, seeing
from simcli.solvers.run.core import TREE, Core
from simcli.solvers.run.engine import Engine
from simcli.solvers.run.frame_buffers import NOWHERE, FrameBuffers, blank_worlds
from simcli.solvers.run.kernels_by_stage import take_frames_by_stages
from simcli.solvers.run.loop_bounds import TURNS, Turns, move_account, refusals
from simcli.solvers.run.rollout import enter_phase, leave_phase, rollout
from simcli.solvers.run.world_events import (
    CrossingEvents,
    end_open,
    end_outside,
    ended_worlds,
    failed_starts,
    start_events,
    unsolved_steps,
)

if TYPE_CHECKING:
    from simcli.model.phases import Phase

CALL_SECONDS = 0.25  # aim of one kernel call: signals wait for its end, and each block of worlds comes anew into the cache
_BLOCK_BYTES = 16 << 20  # aim of one FrameBlock
THOROUGH_WORK = 1e7  # world-steps that make up for the compilation of a kernel for one scene
MANY_STEPS = 1 << 62  # more than any run has
_ALL_WORLDS = -1  # world of an event that all worlds share


class Stepper:
    """Steps all worlds of a model, in the form of the scene if `has_form` is False.

    Args:
        model: host tables, of a mechanism that has begun (model/closure).
        options: the `solver` section of a scene: integrator, max_velocity.
        plan: steps, frames, channels.
        device: from `start_device`.
        phases: what events change during the run, by rising step.
        engine: the device's side.
        standing: models that stand for those of the phases in all that the layout depends on; found if left out.

    Attributes:
        scene_model: in the form of the scene.  present: of the phase that runs, in that of the steps.
        placeholders: columns of joints by path: which of their numbers stand for nothing.
        buffers: what a call of the kernel fills.
        nothing: of real and of whole numbers, for kernels that are given nothing.
        status: (W,), Status of each world.
        unsolved: steps so far that were not solved, None if there are none.
        row_label: names of the constraint rows.
        compile_seconds: [s], wall time of the call that compiled.
    """

    has_form = False

    def __init__(
        self,
        model: Model,
        options,
        plan: RunPlan,
        device: Device,
        phases: "Sequence[Phase]" = (),
        engine: Engine = TREE,
        standing: Sequence[Model] | None = None,
    ):
        self.engine, self.plan, self.options, self.scene_model = engine, plan, options, model
        self.phases = list(phases)
        if standing is None:
            standing = [phase.model for phase in representatives(model, phases)]
        self.models = stated_alike(
            (model, *standing), springs_are_rows(model, options), drags_are_rows(model.drags, options)
        )
        self.model = self.present = model = self.models[0]
        self.device = device.for_worlds(1 if is_large(self.models, options) else model.n_worlds)
        self.arena = Arena(self.device, model.n_worlds)
        self.core = self.lay_out(model, self.arena)
        self.row_label = self.core.row_label
        self.arena.build()
        self.core.tables.arena.upload()
        self.core.state.q.write(np.nan_to_num(model.joint_q)[..., None])
        self.core.state.qd.write(np.nan_to_num(model.joint_qd)[..., None])
        self.core.clear()
        self.n_steps = 0
        slots = {name: np.isnan(getattr(model, name)).any(axis=0) for name in ("joint_q", "joint_qd")}
        self.placeholders = {**slots, "joint_qdd": slots["joint_qd"], "joint_effort": slots["joint_qd"]}
        self.buffers = FrameBuffers(self.core, model, plan, self.device, self.arena, self.placeholders)
        self.nothing = self.device.given(np.zeros(1, self.device.dtype)), self.device.given(np.zeros(1, np.int32))
        self.status, self.unsolved = np.zeros(model.n_worlds, int), None
        self.crossings = CrossingEvents(model)
        self.compile_seconds = self.frame_seconds = None

    def shown(self, block: FrameBlock) -> FrameBlock:
        """A block as files hold it: as it is."""
        return block

    def named(self, event: Event) -> Event:
        """An event that names a joint of the scene, or none."""
        return event if event.joint < self.scene_model.n_joints else replace(event, joint=-1)

    def formed(self, model: Model) -> Model:
        """A model of the scene as steps take it, at its own initial state: as it is."""
        return model

    def stated(self, model: Model) -> Model:
        """The model of a phase with the rows that all phases have."""
        return replace(model, lawful=self.model.lawful, spring_rows=self.model.spring_rows, drag_rows=self.model.drag_rows)

    def lay_out(self, model: Model, arena: Arena) -> Core:
        """The tables of a phase in an arena, and the room for the state; `model` from `stated`."""
        core = self.engine.core(model, self.options, self.plan, arena, self.models)
        core.engine, core.loop_turns = self.engine, Turns(self.device, arena)
        core.accumulators.find(core)
        core.probed.find(core)
        core.seeing, core.further, core.finding = seeing(core), further(core), self.engine.finding(core)
        return core

    def takes(self, model: Model) -> bool:
        """Whether there is room for the tables of a model, as of a phase: whether they are laid out as those at hand."""
        arena = Arena(self.device, self.model.n_worlds)
        self.lay_out(self.stated(model), arena)
        return arena.layout == self.arena.layout

    def suggest_frames(self) -> int:
        """Frames per `advance` call that keep a call short and a block of frames in memory; one before any was timed."""
        if self.frame_seconds is None or self.crossings.repeat:
            return 1
        frames = min(_BLOCK_BYTES // max(1, self.buffers.frame_bytes), int(CALL_SECONDS / self.frame_seconds))
        return max(1, min(frames, 4096))

    def initial(self) -> FrameBlock:
        """Frame 0: the assembled state with its accelerations, efforts and reactions; worlds that fail in it end here."""
        block = self.run(1, 0)
        self.end_at_start(block, failed_starts(self.model.start))
        block.events += start_events(self.model)
        if self.engine.end:
            events, ended = self.engine.end(self)
            block.events += events
            self.end_at_start(block, ended)
        block.events += self.engine.notes(self.model, self.options, self.plan)
        return block

    def end_at_start(self, block: FrameBlock, ended: dict[int, Status]) -> None:
        """End worlds in frame 0, status by world: NaN in the block, frozen on the device."""
        if not ended:
            return
        self.end(ended)
        self.core.accumulators.forget(list(ended))
        blank_worlds(block, ended, self.model.n_worlds)

    def end(self, ended: dict[int, int]) -> None:
        """End worlds before they begin: status by world."""
        if ended:
            health = self.core.health.read()
            for world, status in ended.items():
                health[world, 0, 0] = self.status[world] = status
            self.core.health.write(health)

    def advance(self, n_frames: int, places: Mapping[str, np.ndarray] = NOWHERE) -> FrameBlock:
        """The next frames: n_frames of them, or fewer if an event comes before.

        Args:
            n_frames: how many.
            places: where columns are made, if they fit there: HDF5 path to (n_frames, W, ...), C-contiguous.
        """
        steps, left = self.plan.steps_per_frame, self.plan.n_steps - self.n_steps
        if 0 < left < steps:
            n_frames, steps = 1, left  # the run ends between two frames of its rhythm, with one more
        elif left > 0:
            n_frames = min(n_frames, left // steps)
        asked, events = steps, self.switch()
        while (part := self.steps_to_switch()) < steps:  # in the midst of the next frame
            events += self.call(1, part, places)[1] + self.switch()
            steps -= part
        whole = steps == asked and not self.device.most_turns
        n_frames = min(n_frames, self.steps_to_switch() // steps) if whole else 1
        block = self.run(self.buffers.held(n_frames, not self.n_steps) if self.device.is_gpu else n_frames, steps, places)
        block.events[:0] = events
        return block

    def steps_to_switch(self) -> int:
        """Steps until the next event, more than a run has if there is none."""
        return self.phases[0].step - self.n_steps if self.phases else MANY_STEPS

    def switch(self) -> list[Event]:
        """Take the tables of the phases that begin now."""
        events = []
        while self.phases and self.phases[0].step <= self.n_steps:
            phase = self.phases.pop(0)
            arena = Arena(self.device, self.model.n_worlds)
            before, self.present = self.present, self.stated(phase.model)
            core = self.lay_out(self.present, arena)
            move_account(self, leave_phase)
            self.arena.refill(arena)
            core.tables.arena.upload(self.arena)
            move_account(self, enter_phase)
            when = self.n_steps * self.plan.dt
            events += [Event(self.n_steps, when, _ALL_WORLDS, "SC606", 0, -1, -1, 0.0, text) for text in phase.texts]
            events += end_outside(self, before, self.present)
            events += end_open(self, before, self.present)
            if self.engine.enter:
                events += self.engine.enter(self, self.present)
        return events

    def measured(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of all rows of measures up to now, and the times of them [s], (W, N); NaN where there is nothing yet."""
        measures = self.plan.measures
        if not measures.n:
            return np.zeros((self.model.n_worlds, 0)), np.zeros((self.model.n_worlds, 0))
        value, time = self.core.accumulators.found(self.plan.dt)
        blank = [
            source in OF_JOINTS and bool(self.placeholders[OF_JOINTS[source]][first + max(part, 0)])
            for source, first, part in zip(measures.source, measures.first, measures.part, strict=True)
        ]
        value[:, blank] = time[:, blank] = np.nan
        return value, time

    def energies(self) -> np.ndarray:
        """[J], (EXTREMES, W), of the ledgers so far, where no frame shows them."""
        return self.core.extremes.read()[: self.model.n_worlds, :, 0].T.astype(float)

    def state_arrays(self) -> dict[str, np.ndarray]:
        """All that the frames to come depend on, besides the model and the number of steps."""
        return {"arena": self.arena.read(), "status": self.status}

    def restore(self, arrays: dict[str, np.ndarray], n_steps: int) -> None:
        """Go on from `state_arrays` of another run, which had made n_steps steps.

        Raises:
            KeyError, ValueError: they are those of another mechanism.
        """
        self.n_steps = n_steps - 1
        while len(self.phases) > 1 and self.phases[1].step <= self.n_steps:
            self.phases.pop(0)  # the tables of the next one take their place
        self.switch()  # what begins at n_steps is still to come
        self.arena.write(arrays["arena"])
        self.status = np.asarray(arrays["status"], int).reshape(self.model.n_worlds)
        self.crossings.new(self.core.signals.feedback, self.plan.dt)  # those of the other run are told
        self.n_steps = n_steps

    def run(self, n_frames: int, steps: int, places: Mapping[str, np.ndarray] = NOWHERE) -> FrameBlock:
        """Frames of so many steps; `places` as of `advance`."""
        before = self.n_steps
        arrays, events = self.call(n_frames, steps, places)
        return self.block_of(arrays, before + steps * np.arange(1, n_frames + 1, dtype=np.int64), events)

    def block_of(self, arrays: dict, step_count: np.ndarray, events: list[Event]) -> FrameBlock:
        """Frames after so many steps, (F,), from the columns of `call`."""
        contacts = None
        if self.core.leaving["contacts"]:
            contacts = gather(arrays["touch"], arrays["contacts"], arrays["health"][..., 0])
        columns = self.buffers.columns(arrays, len(step_count))
        return FrameBlock(step_count, step_count * self.plan.dt, columns, events, contacts, self.unsolved)

    def call(self, n_frames: int, steps: int, places: Mapping[str, np.ndarray]) -> tuple[dict, list[Event]]:
        """Advance by frames: their columns, and events of what failed; `places` as of `advance`.

        Raises:
            DeviceError: the device cannot do it.
        """
        if not self.device.is_gpu:
            return self.call_once(n_frames, steps, places)
        with refusals(self.device):
            return self.call_once(n_frames, steps)

    def call_once(self, n_frames: int, steps: int, places: Mapping[str, np.ndarray] = NOWHERE) -> tuple[dict, list[Event]]:
        """Call the kernel, gather its buffers, and turn new failures into events; `places` as of `advance`.

        Raises:
            LoopsCutError: the state is spoilt.
        """
        buffers = self.buffers.take(n_frames, places, not self.n_steps)
        start = time.perf_counter()
        if self.compile_seconds is None:
            self.arena.is_own = self.model.n_worlds * self.plan.n_steps > THOROUGH_WORK
            compile_thoroughly(self.arena.is_own and not self.core.touches)  # contact would take minutes
        arrays = (buffer for buffer, _ in buffers.values())
        self.take_frames(n_frames, steps, list(arrays))
        ti.sync()
        seconds = time.perf_counter() - start
        if self.compile_seconds is None:
            self.compile_seconds = seconds
        else:
            self.frame_seconds = seconds / n_frames
        self.core.loop_turns.refuse_few()
        arrays = self.buffers.fetched(buffers, n_frames)
        before, self.n_steps = self.n_steps, self.n_steps + n_frames * steps
        events = ended_worlds(self, arrays["health"][-1], before)
        events += self.crossings.new(self.core.signals.feedback, self.plan.dt)
        if self.core.summarises:
            events += unsolved_steps(self, arrays["touch"][-1], before)
        return arrays, events

    def take_frames(
        self, n_frames: int, steps: int, arrays: list, moves: bool = True, shows: bool = True, blocks=None
    ) -> None:
        """Call the kernel, or the kernels of its stages.

        Args:
            n_frames, steps: as of `call_once`.
            arrays: its buffers.
            moves, shows: as of the kernel.
            blocks: numbers of those that take part, as kernels take them; None for all.
        """
        probes, steps = (steps, 1) if self.probes_late and steps else (1, steps)
        if self.device.by_spirv:
            take_frames_by_stages(self, n_frames, probes, steps, arrays, moves, shows, blocks is not None)
            return
        first = self.n_steps if moves else self.n_steps - steps
        real, whole = self.nothing
        of_blocks = (whole if blocks is None else blocks, whole, real, whole, real, real, whole, real)
        self.arena.launch(
            rollout,
            self.core,
            n_frames,
            probes,
            steps,
            first,
            int(moves),
            int(shows),
            TURNS,
            int(blocks is not None),
            *of_blocks,
            *arrays,
        )

    @property
    def probes_late(self) -> bool:
        """Whether measures need all that frames show of each step."""
        return self.plan.measures.needs_every_step and not self.core.accumulators.within
