"""What a simulation leaves: frames in a file, as a run writes them, and states that were saved, in memory or in a file.

A file of a state is that of a checkpoint (records/checkpoint.py): arrays without pickles, and facts that must be the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simcli.analysis.worlds.measure_layouts import layouts_of, recorded_columns
from simcli.errors import FileError, OutputError, UsageError
from simcli.job import Failure, Job
from simcli.model.snapshot import Event, FrameBlock
from simcli.model.tables.model import Model
from simcli.pipeline.execution import provenance_of
from simcli.records import checkpoint
from simcli.records.checkpoint import Checkpoint, read_checkpoint, write
from simcli.records.contents.provenance import sha256
from simcli.records.contents.select import selection
from simcli.records.drafts import output_path
from simcli.records.writing import continuation
from simcli.records.writing.writer import Recorder
from simcli.release import code_digest
from simcli.solvers.run.host_copy import SavedState

if TYPE_CHECKING:
    from simcli.kernels.device.runtime import Device

_MOST_TOLD = 1000  # changes of controls that are told one by one
TOLD = "SC618"


class OpenRecording:
    """A file that grows while a simulation goes on; closing it, as a context does, ends it.

    Args:
        job: of the simulation.
        device: of it.
        solver: of it.
        path: of the file.
        force: whether an existing file is replaced.

    Raises:
        OutputError: the file exists, or cannot be written.
    """

    def __init__(self, job: Job, device: "Device", solver, path: Path, force: bool):
        path = output_path(path)
        if not force and path.is_file() and continuation.holds_something(path):
            raise OutputError(f"record: {path} exists; give force=True to replace it, or the name of another file")
        continuation.claim_output(path, force)
        spec = job.spec
        columns = recorded_columns(job.measures, job.recorded, job.model.joints, job.model.sensors)
        self.path, self._job, self._solver = path, job, solver
        self._recorder = Recorder(
            path,
            job.model,
            provenance_of(job, device),
            job.channels,
            job.schedule.n_frames + 1,
            dtype=spec.output.dtype,
            title=spec.name,
            axes=selection(job.model, spec.output.select, solver.row_label, columns),
            row_label=solver.row_label,
            measures=layouts_of(spec.measure, job.measures, job.model.joints, job.model.sensors),
        )
        checkpoint.clear_checkpoints(path)
        self._pending: list[Event] = []
        self._n_told, self._closed = 0, False
        self._none: FrameBlock | None = None

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return self._closed

    def __enter__(self) -> "OpenRecording":
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close("done" if kind is None else "failed")

    @property
    def frames_wanted(self) -> int:
        """Frames that the next block holds at most."""
        return self._recorder.frames_wanted

    def places(self, n_frames: int) -> Mapping[str, np.ndarray]:
        """Where columns of the next frames are made."""
        return self._recorder.places(n_frames)

    def put(self, block: FrameBlock) -> None:
        """Take frames; what has happened since the ones before comes first."""
        self._recorder.put(replace(block, events=[*self._pending, *block.events]))
        self._pending, self._none = [], _without_frames(block)

    def note(self, events: list[Event]) -> None:
        """Take what happens between frames."""
        self._pending += events

    def note_control(self, event: Event) -> None:
        """Take a change of controls, of which only so many are told."""
        self._n_told += 1
        if self._n_told <= _MOST_TOLD:
            self._pending.append(event)

    def close(self, status: str = "done") -> None:
        """End the file.

        Args:
            status: done, stopped or failed.
        """
        if self._closed:
            return
        self._closed = True
        if self._n_told > _MOST_TOLD:
            step = self._solver.n_steps
            text = f"controls have changed {self._n_told} times; only the first {_MOST_TOLD} changes are recorded"
            self._pending.append(Event(step, step * self._job.schedule.dt, -1, TOLD, 0, -1, -1, float(self._n_told), text))
        if self._pending and self._none is not None:
            self._recorder.put(replace(self._none, events=self._pending))
        measured = (dict(zip(self._job.measures.names, self._job.measures.rows, strict=True)), *self._solver.measured())
        self._recorder.close(status, measured)


def _without_frames(block: FrameBlock) -> FrameBlock:
    """None of its frames."""
    columns = {path: column[:0] for path, column in block.columns.items()}
    contacts = block.contacts and block.contacts.of_frames(0, 0)
    return FrameBlock(block.step[:0], block.time[:0], columns, [], contacts, block.unsolved)


_STATE = ("packs", "status", "began", "episode", "entered")
_PARAMETER, _CONSTANTS = "parameter:", "constants:"
_WORDS = {"code": "the code of simcli", "scene": "the scene, or an option,"}


@dataclass(frozen=True)
class Snapshot:
    """A state of a simulation, for `Simulation.restore`.

    Attributes:
        owner: the simulation; no later one has this token.
        state: what steps to come depend on.
        controls: (W, K), values of signals.
        parameters: by path.
        model: with them; of a file, which has none, that of the simulation at hand.
        failures: so far.
    """

    owner: str
    state: SavedState
    controls: np.ndarray
    parameters: dict[str, np.ndarray]
    model: Model
    failures: tuple[Failure, ...]


def facts_of_job(job: Job, device, names: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same for a snapshot to go on to the same bits.

    Args:
        job: of the simulation.
        device: of it.
        names: what it was opened with, by name.
    """
    own = {
        "scene": sha256(job.resolved),
        "worlds": [int(number) for number in job.numbers],
        "device": device.arch,
        "lanes": device.lanes,
        "precision": device.precision,
        "code": code_digest(),
    }
    return own | {name: list(value) for name, value in names.items()}


def write_snapshot(path: Path, snapshot: Snapshot, facts: Mapping[str, Any], force: bool) -> None:
    """Write a snapshot to a file.

    Args:
        path: of it.
        snapshot: what is written.
        facts: see `facts_of_job`.
        force: whether an existing file is replaced.

    Raises:
        OutputError: the file exists, or cannot be written.
    """
    path = output_path(path)
    if path.exists() and not force:
        raise OutputError(f"save: {path} exists; give force=True to replace it, or the name of another file")
    state = snapshot.state
    arrays = {name: getattr(state, name) for name in _STATE} | {"controls": snapshot.controls}
    arrays |= {f"{_CONSTANTS}{what}": values for what, values in state.constants.items()}
    arrays |= {f"{_PARAMETER}{name}": values for name, values in snapshot.parameters.items()}
    own = {**facts, "n_phases": len(state.phases), "failures": [asdict(one) for one in snapshot.failures]}
    try:
        write(path, Checkpoint(1, state.n_steps, 0, arrays, own))
    except OSError as error:
        raise OutputError(f"save: {path}: {error.strerror or error}") from None


def read_snapshot(path: Path, facts: Mapping[str, Any], owner: str, model: Model, phases_left: Callable) -> Snapshot:
    """A snapshot of a file; its state has no `present`.

    Args:
        path: of it.
        facts: see `facts_of_job`, of the simulation at hand.
        owner: that simulation.
        model: of it.
        phases_left: gives those that are to come, from how many these are, and from the steps before worlds began.

    Raises:
        UsageError: it is of another scene, or of other circumstances.
        FileError: there is no such file, or it is damaged.
    """
    found = read_checkpoint(path) if path.is_file() else None
    if found is None or "n_phases" not in found.facts:
        raise FileError(f"restore: {path}: " + ("is no whole snapshot" if path.exists() else "there is no such file"))
    for name, value in facts.items():
        if found.facts.get(name) != value:
            shown = "" if name in _WORDS else f": {found.facts.get(name)} then, {value} now"
            raise UsageError(f"restore: {path}: cannot go on to the same bits, {_WORDS.get(name, name)} is different{shown}")
    arrays = found.arrays
    named = lambda lead: {name.removeprefix(lead): values for name, values in arrays.items() if name.startswith(lead)}  # noqa: E731
    packs, status, began, episode, entered = (arrays[name] for name in _STATE)
    left = phases_left(int(found.facts["n_phases"]), int(began[0]))
    state = SavedState(packs, named(_CONSTANTS), status, found.n_steps, began, episode, entered, left, None)
    failures = tuple(Failure(**one) for one in found.facts["failures"])
    return Snapshot(owner, state, arrays["controls"], named(_PARAMETER), model, failures)
