"""Recorder: the file that a run writes, by a process of its own.

A kernel of Taichi holds Python's lock for as long as it runs, so that a thread could not write beside it. The frames go
through memory that both processes see (`Ring`), what there is to say about them through pipes (`messages`).
"""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from simcli.errors import OutputError, WriterKilledError
from simcli.model.snapshot import CONTACT_WIDTHS, FrameBlock
from simcli.model.tables.model import Model
from simcli.records.contents.layout import DATASETS, STATUSES, Axes, recordable
from simcli.records.contents.select import GrowingRows, axes_of, fill_chunk, frame_bytes, frames_per_commit
from simcli.records.writing.messages import (
    Assignment,
    Close,
    Closed,
    Committed,
    Defect,
    Failed,
    Frames,
    Order,
    Publish,
    Ring,
    most_bytes,
)
from simcli.records.writing.spawn import Correspondent, RecorderEndedError, RecorderProcess

if TYPE_CHECKING:
    from simcli.records.contents.measures import MeasureLayout
    from simcli.records.contents.provenance import Provenance
    from simcli.records.writing.continuation import Continuation

PORTION_BYTES = 8 * 1024 * 1024  # of a commit and of a block: long enough for their fixed cost, short enough for the caches
PATIENCE_S = 2.0  # a slow run commits this often, once a whole grain is there


class Recorder:
    """The output file of one run.

    Args:
        path: of the file. A file that stands there is replaced: whether it may be is the caller's decision.
        model: what is simulated.
        provenance: where the file comes from.
        channels: `output.channels` of the scene.
        n_frames: frames that the run is expected to write, for the size of a commit.
        dtype: "float64" or "float32", of the file.
        title: of the file.
        axes: what `output.select` leaves (`select.selection`); default all.
        row_label: names of the constraint rows.
        continues: an unfinished run in the file, whose first frames stay; they are copied before it is replaced.
        process: the process that writes, started before; default a new one.
        waits: the file is made, but stands at its name only when `publish` is called.
        measures: that `close` is given.

    Attributes:
        uuid: name of the file.
        frames_per_commit: frames of the smallest commit.

    Raises:
        OutputError: the file cannot be made, or another process writes it.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        model: Model,
        provenance: "Provenance",
        channels: Iterable[str],
        n_frames: int,
        dtype: str = "float64",
        title: str = "",
        axes: Axes | None = None,
        row_label: Iterable[str] = (),
        continues: "Continuation | None" = None,
        process: Correspondent | None = None,
        waits: bool = False,
        measures: "tuple[MeasureLayout, ...]" = (),
    ):
        self.path = Path(path)
        self.axes = axes or axes_of(model, tuple(row_label))
        quantities = tuple(zip(self.axes.label["Y"], self.axes.quantity_unit, strict=True))
        self._source = axes_of(model, tuple(row_label), quantities)
        rows = recordable(self.axes, channels)
        self._rows = {row.path: row for row in rows}
        self._dtype = dtype
        self._cuts = {
            row.path: [(k, self.axes.index[axis]) for k, axis in enumerate(row.axes) if axis in self.axes.index]
            for row in rows
        }
        self._whole = [row.path for row in rows if row.axes[:2] == ("F", "W") and not self._cuts[row.path]]
        self.frames_per_commit = frames_per_commit(rows, self.axes, dtype, n_frames)
        self._n_kept = continues.n_frames if continues else 0
        self._n_put = self._n_committed = self._n_kept
        self._closed, self._failure = False, None
        self.uuid = continues.uuid if continues else str(uuid4())
        before = (len(continues.events), continues.wall) if continues else (0, 0.0)
        growing = GrowingRows(tuple(rows), self.axes, dtype, self.frames_per_commit)
        order = Order(self.path, self.uuid, title, model, provenance, growing, self._n_kept, *before, measures)
        self._make_folder()
        self._process = process or RecorderProcess()
        try:
            self._begin(order, n_frames)
            if not waits:
                self.publish()
        except BaseException:
            self._process.dismiss()
            raise

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        self.close("done" if kind is None else "failed")

    def publish(self) -> None:
        """Let the file stand at its name, and wait until it does.

        Raises:
            OutputError: it cannot be made, or another process writes it.
        """
        self._send(Publish())
        self._hear(wait=True)

    @property
    def n_committed(self) -> int:
        """Frames that are safe on disk."""
        if not self._closed:
            self._listen()
        return self._n_committed

    @property
    def frames_wanted(self) -> int:
        """Frames that the next block should hold: no more than are written at once, and lie in one piece."""
        return min(self._portion - self._n_put % self._portion, self._ring.left(self._n_put - self._n_kept))

    def places(self, n_frames: int) -> dict[str, np.ndarray]:
        """Where the columns of the next frames may be made: those that `put` finds there it need not copy.

        Args:
            n_frames: no more than `frames_wanted`.

        Returns:
            Path to (n_frames, W, ...), C-contiguous, of the type of the file, without the columns that the file has in part.
            They hold until that many frames are put. Nothing while the memory between the processes is full.
        """
        self._listen()
        if self._free < n_frames:
            return {}
        return {path: self._ring.frames(path, self._n_put - self._n_kept, n_frames) for path in self._whole}

    def put(self, block: FrameBlock) -> None:
        """Hand over the next frames. They are copied, but for columns made at their `places`: the arrays may be used again.

        Waits while the memory between the processes is full.

        Raises:
            OutputError: an earlier block could not be written.
            ValueError: the block does not fit the layout.
        """
        if self._closed:
            raise ValueError(f"{self.path} is closed")
        self._check(block)
        first, n, events = 0, len(block.step), block.events
        while first < n or events:
            last = min(n, first + self._room())
            self._copy(block, first, last)
            contacts = block.contacts.of_frames(first, last) if block.contacts and last > first else None
            self._send(Frames(last - first, events, contacts))
            self._n_put += last - first
            first, events = last, []

    def close(self, status: str, measured: tuple | None = None) -> None:
        """Write everything that was put, mark the file `done`, `stopped` or `failed`, and close it.

        Args:
            status: which.
            measured: rows by measure, values and times of all rows (W, N); None leaves NaN.

        Raises:
            OutputError: it cannot be written.
        """
        if status not in STATUSES[1:]:
            raise ValueError(f"status {status!r} is none of {STATUSES[1:]}")
        if self._closed:
            return
        self._closed = True
        try:
            self._send(Close(status, measured))
            while not isinstance(self._hear(wait=True), Closed):
                pass
        finally:
            self._process.dismiss()

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot make its folder: {error.strerror}") from error
        if self.path.is_dir():
            raise OutputError(f"{self.path}: is a folder; name a file")

    def _begin(self, order: Order, n_frames: int) -> None:
        """Share the memory and give the order."""
        grain = self.frames_per_commit
        bare = max(frame_bytes(order.growing.rows, replace(self.axes, capacity=0), self._dtype), 1)
        self._portion = grain * max(PORTION_BYTES // (grain * bare), 1)
        self._portion = min(self._portion, grain * max(n_frames // (2 * grain), 1))
        enough = -(-max(n_frames - self._n_kept, 1) // self._portion)
        length = self._portion * min(max(most_bytes() // (self._portion * bare), 2), enough)
        try:
            self._ring = Ring(self._process.memory, order.growing, length)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be made: {error.strerror}") from error
        self._send(Assignment(order, os.getcwd(), os.getpid(), length, self._portion, PATIENCE_S))

    @property
    def _free(self) -> int:
        """Frames that the ring has room for."""
        return self._n_committed + self._ring.length - self._n_put

    def _room(self) -> int:
        """Frames that can be copied now, at most to the end of a portion; waits until there is at least one."""
        self._listen()
        while self._free <= 0:
            self._hear(wait=True)
        return min(self._free, self.frames_wanted)

    def _copy(self, block: FrameBlock, first: int, last: int) -> None:
        """Copy frames of a block to their places in the ring, unless they were made there."""
        special = {"frames/time": block.time, "frames/step": block.step}
        for path in self._ring:
            column = special[path] if path in special else block.columns.get(path)
            place = self._ring.frames(path, self._n_put - self._n_kept, last - first)
            if column is None:
                place[...] = fill_chunk(self._rows[path], self.axes, self._dtype, last - first)
                continue
            rows = column[first:last]
            for k, index in self._cuts[path]:
                rows = np.take(rows, index, axis=k)
            if _address(rows) != _address(place):
                np.copyto(place, rows, casting="same_kind")

    def _send(self, message: Any) -> None:
        self._listen()
        try:
            self._process.send(message)
        except RecorderEndedError:
            while True:  # it may have said why
                self._hear(wait=True)

    def _listen(self) -> None:
        """Take in what the recorder has said so far."""
        while self._hear(wait=False) is not None:
            pass

    def _hear(self, wait: bool) -> Any:
        """Take in the recorder's next answer.

        Raises:
            OutputError: it failed.
            WriterKilledError: it was killed.
            RuntimeError: its program has a mistake.
        """
        if self._failure is not None:
            raise self._failure
        try:
            answer = self._process.receive(wait)
        except RecorderEndedError as error:
            status = self._process.dismiss()
            self._failure = WriterKilledError(
                f"{self.path}: the process that writes it was ended from outside (status "
                f"{status}); {self._safe()}, and --resume goes on"
            )
            raise self._failure from error
        if isinstance(answer, Failed):
            words = f"{self.path}: {answer.what}: {answer.reason}" if answer.what else answer.reason
            self._failure = OutputError(f"{words}; {self._safe()}" if answer.what == "cannot write" else words)
        elif isinstance(answer, Defect):
            self._failure = RuntimeError(f"the recorder of {self.path} failed:\n{answer.traceback}")
        elif isinstance(answer, Committed | Closed):
            self._n_committed = answer.n
        if self._failure is not None:
            raise self._failure
        return answer

    def _safe(self) -> str:
        return f"{self._n_committed} frames are safe in the file"

    def _check(self, block: FrameBlock) -> None:
        known = {row.path for row in DATASETS} | self._rows.keys()
        unknown = [path for path in block.columns if path not in known and not path.startswith("frames/point/")]
        if unknown or len(block.time) != len(block.step):
            raise ValueError(f"block with unknown columns {unknown}, {len(block.time)} times, {len(block.step)} steps")
        for path, row in self._rows.items():
            column = block.columns.get(path)
            if not row.by_frame or path in ("frames/time", "frames/step"):
                if column is not None:
                    raise ValueError(f"{path} is no column by frame and world: it has a field of its own")
            elif column is None and not row.optional:
                raise ValueError(f"the block lacks {path}")
            elif column is not None and column.shape != (len(block.step), *self._source.tail(row)):
                raise ValueError(f"{path} has shape {column.shape}, not {(len(block.step), *self._source.tail(row))}")
        if wrong := _misfit(block, self.axes.n_worlds):
            raise ValueError(wrong)


def _address(array: np.ndarray) -> int:
    """Where the first entry of an array is in memory."""
    return array.__array_interface__["data"][0]


def _misfit(block: FrameBlock, n_worlds: int) -> str:
    """What is wrong with the contacts of a block, "" if nothing is."""
    contacts = block.contacts
    if contacts is None:
        return ""
    if contacts.count.shape != (len(block.step), n_worlds):
        return f"contacts/count has shape {contacts.count.shape}, not {(len(block.step), n_worlds)}"
    n = contacts.n
    for name, width in CONTACT_WIDTHS.items():
        shape = (n, 3) if width == 3 else (n,)
        if contacts.columns[name].shape != shape:
            return f"contacts/{name} has shape {contacts.columns[name].shape}, not {shape}"
    return ""
