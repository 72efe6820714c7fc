"""Frames of a simulation to a file, as a run writes them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.worlds.measure_layouts import layouts_of, recorded_columns
from simcli.errors import OutputError
from simcli.job import Job
from simcli.model.snapshot import Event, FrameBlock
from simcli.pipeline.execution import provenance_of
from simcli.records import checkpoint
from simcli.records.contents.select import selection
from simcli.records.drafts import output_path
from simcli.records.writing import continuation
from simcli.records.writing.writer import Recorder

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
        columns = recorded_columns(job.measures, job.recorded, job.model)
        self.path, self._job, self._solver = path, job, solver
        self._recorder = Recorder(
            path, job.model, provenance_of(job, device), job.channels, job.schedule.n_frames + 1, dtype=spec.output.dtype,
            title=spec.name, axes=selection(job.model, spec.output.select, solver.row_label, columns),
            row_label=solver.row_label, measures=layouts_of(spec.measure, job.measures, job.model),
        )  # fmt: skip
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
            step = self._solver.stepper.n_steps
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
