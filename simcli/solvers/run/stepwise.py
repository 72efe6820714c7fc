"""A run that a program steps by hand: steps without frames, frames of where the worlds stand, and worlds that begin anew.

Calls of the kernel end where frames of the scene's rhythm do, and nowhere else but at the end of what was asked for: so the
bytes do not depend on how fast a machine is.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from simcli.kernels.language import ti
from simcli.model.phases import Phase
from simcli.model.snapshot import Event, FrameBlock
from simcli.model.tables.model import Model
from simcli.solvers.run.beginnings import Beginnings, ReadyCalls
from simcli.solvers.run.frame_buffers import BUFFERS, NOWHERE
from simcli.solvers.run.host_copy import (
    PATHS_OF_JOINTS,
    FrameSink,
    HostCopy,
    SavedState,
    coordinates_of,
    last_of,
    later_phase,
)
from simcli.solvers.run.loop_bounds import TURNS, refusals
from simcli.solvers.run.own_phases import OwnPhases, change_columns, columns_with, has_own_columns
from simcli.solvers.run.rollout import rollout
from simcli.solvers.run.solver import CALL_SECONDS
from simcli.solvers.run.world_events import ended_worlds, start_failures, unsolved_steps

_MOST_FRAMES = 4096  # of a call


class Stepwise:
    """Steps a solver by hand.

    Args:
        solver: that has not begun.
        guard: makes a context for each call and what is noted of it.
        own_phases: whether worlds enter phases one by one, if they can.

    Attributes:
        first_of_rhythm: step from which frames are counted.
        began: (W,), steps before each world began.  episode: (W,), how often it has begun anew.
        phases: all that were to come.
        own: of worlds that enter them one by one; None where all do so together.
    """

    def __init__(self, solver, guard: Callable = nullcontext, own_phases: bool = False):
        self.stepper, self._guard = solver, guard
        self._host_copy = HostCopy(solver)
        self._calls = ReadyCalls(self.stepper)
        self._beginnings, self._at_start, self._by_world = Beginnings(self.stepper, self._calls), ([], {}), None
        self.phases = tuple(self.stepper.phases)
        is_own = own_phases and bool(self.phases) and has_own_columns(self.stepper)
        self.own = OwnPhases(self.stepper, self._beginnings, self._calls) if is_own else None
        self.first_of_rhythm, self._block, self._joints, self._seconds = 0, None, None, None
        self.began, self.episode = self.stepper.crossings.began, np.zeros(self.stepper.model.n_worlds, np.int64)
        device = self.stepper.device
        self._nothing = [device.buffer((1,)) if device.is_gpu else np.empty(1, device.dtype) for _ in BUFFERS]

    @property
    def n_steps(self) -> int:
        """Steps so far."""
        return self.stepper.n_steps

    def initial(self) -> FrameBlock:
        """Frame 0; worlds that cannot begin end here."""
        self._block = self.stepper.initial()
        status = self.stepper.status
        self._at_start = list(self._block.events), {int(world): int(status[world]) for world in np.flatnonzero(status)}
        return self._block

    def step(self, n: int, recording: "FrameSink | None" = None) -> list[Event]:
        """Take n steps of all worlds; signals wait until a call and what is noted of it are through.

        Args:
            n: how many.
            recording: takes each block of frames of the rhythm; without it no frame is made.

        Returns:
            What happened, in order.
        """
        told = []
        while n > 0:
            with self._guard():
                taken, events = self._stretch(n, recording)
            n -= taken
            told += events
        return told

    def _stretch(self, n: int, recording: "FrameSink | None") -> tuple[int, list[Event]]:
        """Some of n steps, by one call of the kernel: how many, and what happened."""
        s = self.stepper
        events = s.switch() + (self.own.enter(self.began) if self.own else [])
        rhythm, room = s.plan.steps_per_frame, min(n, s.steps_to_switch())
        room = min(room, self.own.to_come(self.began)) if self.own else room
        left = rhythm - (s.n_steps - self.first_of_rhythm) % rhythm
        steps = min(room, left)
        n_frames = self._frames(room // rhythm) if steps == rhythm else 1
        if recording is not None and steps == left:
            n_frames = min(n_frames, recording.frames_wanted)
            block = s.run(n_frames, steps, recording.places(n_frames))
            block.events[:0] = events
            block = self.stepper.shown(block)
            recording.put(block)
            self._forget()
            self._block, events = last_of(block), block.events
        else:
            events = [self.stepper.named(event) for event in (*events, *self._go(n_frames, steps))]
        return n_frames * steps, events

    def _forget(self, is_told: bool = False) -> None:
        """Forget frames of where the worlds stood, and, but where the device has told of what has changed, what it told."""
        self._block, self._joints, self._host_copy.is_whole = None, None, is_told

    def _frames(self, most: int) -> int:
        """Frames of a call that stays short."""
        if self._seconds is None or most <= 1:
            return 1
        return max(1, min(most, _MOST_FRAMES, int(CALL_SECONDS / self._seconds)))

    def _go(self, n_frames: int, steps: int) -> list[Event]:
        """Take steps and show nothing, where no measure needs it.

        Raises:
            DeviceError: the device cannot do it.
        """
        s, start = self.stepper, time.perf_counter()
        self._forget()
        if s.probes_late:
            block = s.run(n_frames, steps)
            self._block = self.stepper.shown(last_of(block))
            events = block.events
        else:
            before = s.n_steps
            self._launch(n_frames, steps, s.n_steps, self._nothing, True, False)
            s.n_steps += n_frames * steps
            health = self._host_copy.of("health")
            events = ended_worlds(s, health, before) if (health[:, 0] != s.status).any() else []
            events += s.crossings.new(s.core.signals.feedback, s.plan.dt)
            if s.core.summarises:
                events += unsolved_steps(s, self._host_copy.of("summary"), before)
        self._seconds = max((time.perf_counter() - start) / n_frames, 1e-9)
        return events

    def _launch(
        self, n_frames: int, steps: int, first: int, arrays: list, moves: bool, shows: bool, blocks=None, starts: tuple = ()
    ) -> None:
        """Call the kernel of a run.

        Args:
            n_frames, steps, moves, shows: as of the kernel.
            first: number of the first step; a GPU counts by itself.
            arrays: buffers of frames.
            blocks: those that take part; None for all.
            starts: what worlds begin with there, of a CPU.
        """
        s = self.stepper
        if not s.device.is_gpu:
            (real, whole), way = s.nothing, (moves, shows, blocks is not None)
            starts = starts or (whole, real, whole, real, real)
            given = (whole if blocks is None else blocks, *starts, *self._host_copy.given)
            numbers = n_frames, 1, steps, first, *map(int, way[:2]), TURNS, int(way[2])
            self._calls.call(rollout, *numbers, *given, *arrays, way=way)
            self._host_copy.is_whole |= blocks is None
            return
        with refusals(s.device):
            s.take_frames(n_frames, steps, arrays, moves, shows, blocks)
            ti.sync()
            s.core.loop_turns.refuse_few()

    def show(self) -> FrameBlock:
        """The frame of where the worlds stand; its arrays stay as they are."""
        if self._block is None:
            s = self.stepper
            buffers = s.buffers.take(1, NOWHERE)
            arrays = [buffer for buffer, _ in buffers.values()]
            self._launch(1, 1, s.n_steps - 1, arrays, False, True)
            block = s.block_of(s.buffers.fetched(buffers, 1), np.array([s.n_steps], np.int64), [])
            self._block = self.stepper.shown(block)
        return self._block

    def show_on_device(self) -> dict:
        """The same frame in the memory of the device: buffers with their numbers of columns, until the next one is shown."""
        self._block = None
        self.show()
        return self.stepper.buffers.take(1, NOWHERE)

    def columns(self, path: str) -> Mapping[str, np.ndarray]:
        """Columns of the frame of where the worlds stand, which stay as they are; that of a path is among them."""
        if self._block is None and path in PATHS_OF_JOINTS and self._joints is None:
            self._joints = self._host_copy.joints()
        joints = self._joints if self._block is None else None
        return joints if joints is not None and path in joints else self.show().columns

    def coordinates(self, worlds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of joints of some worlds, (n, NQ) and (n, NV), as a frame shows them; a copy.

        Args:
            worlds: (W,) bool.
        """
        s, model = self.stepper, self.stepper.scene_model
        if self._block is not None or (self._host_copy.shows_joints and self._host_copy.is_whole):
            return tuple(self.columns(path)[path][0, worlds] for path in PATHS_OF_JOINTS)
        blocks = self._beginnings.chosen(worlds)
        self._launch(1, 1, s.n_steps - 1, self._nothing, False, True, blocks)
        return coordinates_of(s, np.flatnonzero(worlds), model.n_q, model.n_qd)

    @property
    def shows_joints(self) -> bool:
        """Whether frames hold the coordinates of joints."""
        return bool(self.stepper.core.leaving["joints"])

    def begin_anew(self, worlds: np.ndarray, model: Model | None = None) -> list[Event]:
        """Let some worlds begin anew; to the others nothing happens.

        Args:
            worlds: (W,) bool.
            model: of these worlds alone, in the form of the scene, with a start: where they begin; its tables are not
                looked at. None for where the scene begins.

        Returns:
            Events of the start, as of frame 0.
        """
        s, chosen = self.stepper, np.flatnonzero(worlds)
        self.began[worlds] = s.n_steps
        self._beginnings.set_ages(worlds, self.began, self.episode)
        s.crossings.told[worlds] = 0
        with self._beginnings.put(worlds, model and self.stepper.formed(model)) as (blocks, starts):
            self._launch(1, 0, s.n_steps, self._nothing, True, True, blocks, starts)
        events, ended = self._known_start_failures(chosen) if model is None else start_failures(s, model, worlds)
        s.status = np.where(worlds, 0, s.status)
        self._end({world: status for world, status in ended.items() if worlds[world]})
        self._forget(self._host_copy.is_whole)
        if worlds.all() and model is not None:
            events += s.engine.notes(self.stepper.formed(model), s.options, s.plan)
        when = {"step": s.n_steps, "time": s.n_steps * s.plan.dt}
        return [
            replace(self.stepper.named(event), **when)
            for event in events
            if (worlds[event.world] if event.world >= 0 else len(chosen) == len(worlds))
        ]

    def _end(self, ended: dict[int, int]) -> None:
        """End worlds that cannot begin: status by world."""
        if ended:
            self.stepper.end(ended)
            self.stepper.core.accumulators.forget(list(ended))

    def _known_start_failures(self, worlds: np.ndarray) -> tuple[list[Event], dict[int, int]]:
        """As `start_failures`, of worlds by their numbers that begin where the scene does."""
        events, ended = self._at_start
        if len(worlds) == len(self.began):
            return events, ended
        if self._by_world is None:
            self._by_world = {}
            for event in events:
                self._by_world.setdefault(event.world, []).append(event)
        some = self._by_world and [event for world in worlds.tolist() for event in self._by_world.get(world, ())]
        return some or [], ended

    def rewind(self) -> None:
        """Set the clock to zero; all worlds are to begin then."""
        self.stepper.n_steps, self.stepper.unsolved, self.first_of_rhythm = 0, None, 0

    def takes(self, model: Model) -> bool:
        """Whether there is room for the tables of a model of the scene."""
        return self.stepper.takes(self.stepper.formed(model))

    def take_tables(self, model: Model, worlds: np.ndarray, text: str) -> list[Event]:
        """Let the numbers of a model hold from here on, as an event of the scene would.

        Args:
            model: of the scene, of the same layout.
            worlds: numbers of those in which they differ from those before.
            text: what was set.
        """
        s = self.stepper
        self._beginnings.mark(np.isin(np.arange(len(self.began)), worlds))
        s.phases.insert(0, Phase(s.n_steps, self.stepper.formed(model), (text,)))
        self._forget()
        return [self.stepper.named(event) for event in s.switch()]

    def columns_of_device(self, model: Model) -> tuple[np.ndarray, np.ndarray] | None:
        """As `columns_with`, of a model of the scene."""
        return columns_with(self.stepper, self.stepper.formed(model))

    def write_columns(self, rows: np.ndarray, values: np.ndarray, worlds: np.ndarray, text: str) -> list[Event]:
        """Let other numbers hold in some worlds, as an event of the scene would.

        Args:
            rows: (n,), packs of columns.
            values: (worlds, n), what is in them then.
            worlds: their numbers.
            text: what was set.
        """
        s = self.stepper
        change_columns(s, self._beginnings, self._calls, np.isin(np.arange(len(self.began)), worlds), rows, values)
        self._forget()
        return [Event(s.n_steps, s.n_steps * s.plan.dt, -1, "SC606", 0, -1, -1, 0.0, text)]

    def save(self) -> SavedState:
        """All that steps to come depend on; a copy."""
        return SavedState.of(self.stepper, self.began, self.episode, self._entered)

    def restore(self, saved: SavedState) -> None:
        """Go on from there, bit by bit."""
        s = self.stepper
        for what, values in saved.constants.items():
            s.arena.constants[what][...] = values
        s.arena.storage.send()
        s.arena.write(saved.packs)
        self._beginnings.read_marks()
        s.status, s.n_steps = saved.status.copy(), saved.n_steps
        self.began[:], self.episode[:], self._entered[:] = saved.began, saved.episode, saved.entered
        s.crossings.new(s.core.signals.feedback, s.plan.dt)  # those before are told
        s.phases, s.present = list(saved.phases), saved.present or self._present(len(saved.phases))
        self._forget()

    def begin_tables(self, saved: SavedState) -> None:
        """Take the tables of a start, and let phases come after now; the clock goes on, and all worlds are to begin.

        Args:
            saved: of the start.
        """
        now, episode = self.n_steps, self.episode.copy()
        self.restore(saved)
        self.stepper.n_steps, self.episode[:] = now, episode
        self.stepper.phases = list(self.phases_left(len(saved.phases), now))

    def phases_left(self, n: int, began: int) -> tuple:
        """The last n phases, of worlds that began after so many steps."""
        return tuple(later_phase(phase, began) for phase in self.phases[len(self.phases) - n :])

    @property
    def _entered(self) -> np.ndarray:
        """(W,), how many phases each world has entered by itself."""
        return self.own.entered if self.own else np.zeros(len(self.began), int)

    def _present(self, n_left: int) -> Model:
        """The model of the phase at hand where so many are still to come."""
        before = len(self.phases) - n_left
        return self.stepper.stated(self.phases[before - 1].model) if before > 0 else self.stepper.model
