"""Recorder: the file that a run writes, by a thread of its own.

A commit is: rows of every dataset, flush; digest of what is now committed, flush; which count that digest belongs to,
flush; the counter, flush. Whatever kills the process in between, `n_committed` frames are whole and one of the two
digests is theirs.
"""

import atexit
import os
import re
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import h5py
import numpy as np

from simcli.errors import Exit, OutputError
from simcli.model.snapshot import ContactRows, FrameBlock, no_contacts
from simcli.model.tables import Model
from simcli.records.chunks import fill_rows, frame_bytes, frames_per_commit
from simcli.records.continuation import Continuation
from simcli.records.create import BARE_SCALES, DIGEST_SLOTS, create_file
from simcli.records.digest import Digest
from simcli.records.handover import Batch, HandOver
from simcli.records.integrity import committed_length, portions
from simcli.records.layout import CATALOGUE, STATUSES, Axes, Dataset, axes_of, selected
from simcli.records.lock import WriterLock
from simcli.records.provenance import Provenance
from simcli.records.ragged import contact_rows, event_rows, kept_shapes, misfit
from simcli.records.reader import open_trajectory

COMMIT_BYTES = 32 * 1024 * 1024  # a kernel holds the interpreter for ~10 ms per call that the writer makes
BACKLOG_BYTES = 256 * 1024 * 1024  # of blocks that wait
PATIENCE_S = 2.0  # a slow run commits this often, once a whole grain is there
SWITCH_INTERVAL_S = 5e-4  # how soon a thread that computes lets the writer in

_broken = threading.Event()


def abandon_on_io_error() -> None:
    """Leave the process with exit code 6 if a write failed in it; else return.

    HDF5 crashes at interpreter exit once a write has failed (h5py issue 914), so nothing may be torn down. Print the
    message first. A process that ends without calling this does the same at exit.
    """
    if _broken.is_set():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                continue
        os._exit(int(Exit.OUTPUT))


def _mark_broken() -> None:
    if not _broken.is_set():
        _broken.set()
        atexit.register(abandon_on_io_error)


class _Growing:
    """One dataset of the open file that grows."""

    def __init__(self, file: h5py.File, row: Dataset, axes: Axes, float_type: str):
        self.row, self.path = row, row.path
        self.dtype = row.dtype(float_type)
        self._axes, self._float_type = axes, float_type
        self._id = file[row.path].id
        self._type = self._id.get_type()  # numpy strings say ASCII, the file says UTF-8: same bytes
        self._tail = axes.tail(row)
        self.n = 0
        self._cuts = [(k, axes.index[axis]) for k, axis in enumerate(row.axes) if axis in axes.index]

    def gather(self, batch: Batch) -> np.ndarray:
        """This dataset's rows of a batch of frames."""
        missing = self.row.optional and any(self.path not in block.columns for block, _, _ in batch.pieces)
        if missing or not batch.n_frames:
            return fill_rows(self.row, self._axes, self._float_type, batch.n_frames)
        rows = batch.gather(self.path, self.dtype)
        for k, index in self._cuts:
            rows = np.take(rows, index, axis=k)
        return np.ascontiguousarray(rows)

    def append(self, rows: np.ndarray) -> None:
        """Write rows after the last one."""
        if not len(rows):
            return
        first, self.n = self.n, self.n + len(rows)
        self._id.set_extent((self.n, *self._tail))
        space = self._id.get_space()
        space.select_hyperslab((first, *(0 for _ in self._tail)), rows.shape)
        self._id.write(h5py.h5s.create_simple(rows.shape), space, rows, self._type)


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

    Attributes:
        uuid: name of the file.

    Raises:
        OutputError: the file cannot be made, or another process writes it.
    """

    def __init__(
        self, path: str | os.PathLike, model: Model, provenance: Provenance, channels: Iterable[str], n_frames: int,
        dtype: str = "float64", title: str = "", axes: Axes | None = None, row_label: Iterable[str] = (),
        continues: Continuation | None = None,
    ):  # fmt: skip
        self.path = Path(path)
        self.axes = axes or axes_of(model, tuple(row_label))
        self._source = axes_of(model, tuple(row_label))
        rows = selected(self.axes, channels)
        self._layout = {row.path: row for row in rows}
        self.frames_per_commit = frames_per_commit(rows, self.axes, dtype, n_frames)
        self._frame_bytes = frame_bytes(rows, self.axes, dtype)
        self._bare_bytes = frame_bytes(rows, replace(self.axes, capacity=0), dtype)
        self._put = continues.n_frames if continues else 0
        self._started = time.monotonic() - (continues.wall if continues else 0.0)
        self._status = "running"
        self._closed = False
        self._digest = Digest(row.path for row in rows)
        self._shapes = kept_shapes(model, self.axes)
        self._n_committed, self._n_events, self._n_contacts, self._slot = 0, 0, 0, 0
        self._lock = self._locked()
        self.uuid = continues.uuid if continues else str(uuid4())
        self._file = self._created(model, rows, dtype, provenance, title, continues)
        self._handover = HandOver(
            self.frames_per_commit, COMMIT_BYTES, max(BACKLOG_BYTES, 4 * self.frames_per_commit * self._frame_bytes),
            PATIENCE_S,
        )  # fmt: skip
        self._switch_interval = sys.getswitchinterval()
        sys.setswitchinterval(min(SWITCH_INTERVAL_S, self._switch_interval))
        self._thread = threading.Thread(target=self._write_all, name="simcli-recorder", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        self.close("done" if kind is None else "failed")

    @property
    def n_committed(self) -> int:
        """Frames that are safe on disk."""
        return self._n_committed

    @property
    def frames_wanted(self) -> int:
        """Frames that the next block should hold so that it is written without being copied: about 32 MiB."""
        grain = self.frames_per_commit
        whole = max(COMMIT_BYTES // max(self._frame_bytes * grain, 1), 1) * grain
        return whole - self._put % grain

    def put(self, block: FrameBlock) -> None:
        """Hand over the next frames. The arrays belong to the recorder from here on; do not write to them.

        Waits while more than 256 MiB wait to be written.

        Raises:
            OutputError: an earlier block could not be written.
            ValueError: the block does not fit the layout.
        """
        if self._closed:
            raise ValueError(f"{self.path} is closed")
        self._check(block)
        self._put += len(block.step)
        contacts = block.contacts.nbytes if block.contacts else 0
        self._handover.put(block, max(self._bare_bytes * len(block.step) + contacts, 1))

    def close(self, status: str) -> None:
        """Write everything that was put, mark the file `done`, `stopped` or `failed`, and close it.

        Raises:
            OutputError: it cannot be written. The caller prints it and calls `abandon_on_io_error`.
        """
        if status not in STATUSES[1:]:
            raise ValueError(f"status {status!r} is none of {STATUSES[1:]}")
        if self._closed:
            return
        self._closed = True
        self._status = status
        self._handover.close()
        self._thread.join()
        sys.setswitchinterval(self._switch_interval)
        self._lock.release()
        if self._handover.failure is not None:
            raise self._handover.failure

    def _locked(self) -> WriterLock:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot make its folder: {error.strerror}") from error
        if self.path.is_dir():
            raise OutputError(f"{self.path}: is a folder; name a file")
        return WriterLock(self.path)

    def _created(
        self, model: Model, rows: list[Dataset], dtype: str, provenance: Provenance, title: str,
        continues: Continuation | None,
    ) -> h5py.File:  # fmt: skip
        """Make the file under another name and rename it: at its own name it is always readable."""
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        try:
            self._file = create_file(str(draft), model, self.axes, rows, dtype, self.frames_per_commit, provenance, title,
                                     self.uuid)  # fmt: skip
            self._growing = [_Growing(self._file, row, self.axes, dtype) for row in rows]
            if continues:
                self._take_over(continues)
            os.replace(draft, self.path)
            return self._file
        except (OSError, RuntimeError) as error:
            _mark_broken()
            draft.unlink(missing_ok=True)
            self._lock.release()
            raise OutputError(f"{self.path}: cannot be made: {_reason(error)}") from error

    def _take_over(self, continues: Continuation) -> None:
        """Copy the frames that stay, as one commit."""
        if continues.n_frames % self.frames_per_commit:
            raise OSError(f"its {continues.n_frames} frames are no multiple of {self.frames_per_commit}")
        with open_trajectory(continues.path) as old:
            self._n_contacts = old.contacts_until(continues.n_frames)
            counters = {"events": len(continues.events), "contacts": self._n_contacts, "digest": True}
            for growing in self._growing:
                dataset = old._file[growing.path]
                n = committed_length(growing.row, continues.n_frames, self.axes.n_worlds, counters)
                for first, last in portions(dataset, n):
                    rows = np.ascontiguousarray(dataset[first:last])
                    growing.append(rows)
                    self._digest.add(growing.path, rows)
        self._n_events = len(continues.events)
        self._extend_scales()
        self._file.flush()
        self._count(continues.n_frames)

    def _check(self, block: FrameBlock) -> None:
        known = {row.path for row in CATALOGUE} | self._layout.keys()
        unknown = [path for path in block.columns if path not in known and not path.startswith("frames/point/")]
        if unknown or len(block.time) != len(block.step):
            raise ValueError(f"block with unknown columns {unknown}, {len(block.time)} times, {len(block.step)} steps")
        for path, row in self._layout.items():
            column = block.columns.get(path)
            if not row.by_frame or path in ("frames/time", "frames/step"):
                if column is not None:
                    raise ValueError(f"{path} is no column by frame and world: it has a field of its own")
            elif column is None and not row.optional:
                raise ValueError(f"the block lacks {path}")
            elif column is not None and column.shape != (len(block.step), *self._source.tail(row)):
                raise ValueError(f"{path} has shape {column.shape}, not {(len(block.step), *self._source.tail(row))}")
        if wrong := misfit(block, self.axes.n_worlds):
            raise ValueError(wrong)

    def _write_all(self) -> None:
        """The thread."""
        try:
            is_last = False
            while not is_last:
                batch = self._handover.take()
                self._commit(batch)
                is_last = batch.is_last
            self._finish()
        except (OSError, RuntimeError, MemoryError) as error:
            _mark_broken()
            kept = f"{self._n_committed} frames are safe in the file"
            failure = OutputError(f"{self.path}: cannot write: {_reason(error)}; {kept}")
            failure.__cause__ = error
            self._handover.fail(failure)
        except BaseException as error:
            self._handover.fail(error)

    def _commit(self, batch: Batch) -> None:
        if not batch.n_frames and not batch.events and self._n_committed:
            return
        contacts = self._contacts(batch)
        for growing in self._growing:
            rows = growing.gather(batch) if growing.row.by_frame else self._ragged(growing, batch, contacts)
            growing.append(rows)
            self._digest.add(growing.path, rows)
        self._n_events += len(batch.events)
        self._n_contacts += contacts.n
        self._extend_scales()
        self._file.flush()
        self._count(self._n_committed + batch.n_frames)

    def _contacts(self, batch: Batch) -> ContactRows:
        """Contacts of a commit: those of the bodies that the file keeps, none if it holds no contacts."""
        if "contacts/offset" not in self._layout:
            return no_contacts(batch.n_frames, self.axes.n_worlds)
        contacts = batch.contacts(self.axes.n_worlds)
        if self._shapes is None:
            return contacts
        a, b = (contacts.columns[name].astype(np.int64) for name in ("shape_a", "shape_b"))
        return contacts.where(self._shapes[a] | self._shapes[b])

    def _ragged(self, growing: _Growing, batch: Batch, contacts: ContactRows) -> np.ndarray:
        """Rows of a table that does not go by frames."""
        group, _, column = growing.path.partition("/")
        if group == "events":
            return event_rows(column, growing.dtype, batch.events)
        return contact_rows(column, growing.dtype, contacts, self._n_contacts, is_first=growing.n == 0)

    def _extend_scales(self) -> None:
        sizes = {growing.row.axes[0]: (growing.path.split("/")[0], growing.n) for growing in self._growing}
        for axis, name in BARE_SCALES.items():
            if axis in sizes:
                group, n = sizes[axis]
                self._file[group][name].id.set_extent((n,))

    def _count(self, n_committed: int) -> None:
        run = self._file["run"]
        slot = self._slot
        run["digest"][slot] = np.frombuffer(self._digest.value(), np.uint8)
        run["digest_events"][slot] = self._n_events
        run["digest_contacts"][slot] = self._n_contacts
        run["wall_s"][()] = time.monotonic() - self._started
        self._file.flush()
        run["digest_frames"][slot] = n_committed
        self._file.flush()
        run["n_committed"][()] = n_committed
        self._file.flush()
        self._n_committed = n_committed
        self._slot = (slot + 1) % DIGEST_SLOTS

    def _finish(self) -> None:
        run = self._file["run"]
        run["wall_s"][()] = time.monotonic() - self._started
        run["status"][()] = np.bytes_(self._status.encode())
        self._file.flush()
        self._file.close()


def _reason(error: BaseException) -> str:
    """What the operating system said, out of HDF5's long message."""
    found = re.search(r"error message = '([^']*)'", str(error))
    if found:
        return found.group(1)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
