"""OutputFile: the HDF5 file of a run while it grows.

A commit is: rows of every dataset, flush; digest of what is now committed, flush; which count that digest belongs to,
flush; the counter, flush. Whatever kills the process in between, `n_committed` frames are whole and one of the two
digests is theirs.
"""

import os
import time

import h5py
import numpy as np

from simcli.model.snapshot import ContactRows, no_contacts
from simcli.records.backlog import Batch
from simcli.records.create import BARE_SCALES, DIGEST_SLOTS, create_file
from simcli.records.digest import Digest
from simcli.records.layout import Axes, Dataset
from simcli.records.measures import write_measures
from simcli.records.messages import Order
from simcli.records.ragged import contact_rows, event_rows, kept_shapes


class _Growing:
    """One dataset of the open file that grows."""

    def __init__(self, file: h5py.File, row: Dataset, axes: Axes, float_type: str):
        self.row, self.path = row, row.path
        self.dtype = row.dtype(float_type)
        self._id = file[row.path].id
        self._type = self._id.get_type()  # numpy strings say ASCII, the file says UTF-8: same bytes
        self._tail = axes.tail(row)
        self.n = 0

    def append(self, rows: np.ndarray) -> None:
        """Write rows after the last one."""
        if not len(rows):
            return
        first, self.n = self.n, self.n + len(rows)
        self._id.set_extent((self.n, *self._tail))
        space = self._id.get_space()
        space.select_hyperslab((first, *(0 for _ in self._tail)), rows.shape)
        self._id.write(h5py.h5s.create_simple(rows.shape), space, rows, self._type)


class OutputFile:
    """The file of an order. It is made under another name and renamed by `publish`: at its own name it is always readable.

    Attributes:
        n_committed: frames that are safe on disk.

    Raises:
        OSError, RuntimeError: it cannot be made. HDF5 crashes at interpreter exit once a write has failed (h5py issue
            914), so the process is to be left by `os._exit` then, and after a commit that failed.
    """

    def __init__(self, order: Order):
        self._axes, self._grain = order.axes, order.grain
        self._wall, self._started = order.wall, time.monotonic() - order.wall
        self._digest = Digest(row.path for row in order.rows)
        self._shapes = kept_shapes(order.model, order.axes)
        self._has_contacts = any(row.path == "contacts/offset" for row in order.rows)
        self.n_committed, self._n_events, self._n_contacts, self._slot = 0, 0, 0, 0
        self._path, self._draft = order.path, order.path.with_name(f".{order.path.name}.{os.getpid()}.part")
        try:
            self._file = create_file(str(self._draft), order.model, order.axes, order.rows, order.dtype, order.grain,
                                     order.provenance, order.title, order.uuid, order.measures)  # fmt: skip
            self._growing = [_Growing(self._file, row, order.axes, order.dtype) for row in order.rows]
            if order.kept_frames:
                self._take_over(order)
        except (OSError, RuntimeError):
            self.discard()
            raise

    def publish(self) -> None:
        """Let the file stand at its own name."""
        try:
            os.replace(self._draft, self._path)
        except OSError:
            self.discard()
            raise
        self._started = time.monotonic() - self._wall

    def discard(self) -> None:
        """Remove the file that has no name of its own yet."""
        self._draft.unlink(missing_ok=True)

    def commit(self, batch: Batch) -> None:
        """Write frames, so that a reader may trust them."""
        contacts = self._contacts(batch)
        for growing in self._growing:
            rows = batch.columns[growing.path] if growing.row.by_frame else self._ragged(growing, batch, contacts)
            growing.append(rows)
            self._digest.add(growing.path, rows)
        self._n_events += len(batch.events)
        self._n_contacts += contacts.n
        self._extend_scales()
        self._file.flush()
        self._count(self.n_committed + batch.n_frames)

    def close(self, status: str, measured: tuple | None = None) -> None:
        """Mark the file `done`, `stopped` or `failed`, and close it.

        Args:
            status: which.
            measured: as of `Close`.
        """
        if measured:
            write_measures(self._file, *measured)
            self._file.flush()
        run = self._file["run"]
        run["wall_s"][()] = time.monotonic() - self._started
        run["status"][()] = np.bytes_(status.encode())
        self._file.flush()
        self._file.close()

    def _take_over(self, order: Order) -> None:
        """Copy the frames that stay, as one commit."""
        from simcli.records.integrity import committed_length, portions
        from simcli.records.reader import open_trajectory

        if order.kept_frames % self._grain:
            raise OSError(f"its {order.kept_frames} frames are no multiple of {self._grain}")
        with open_trajectory(order.path) as old:
            self._n_contacts = old.contacts_until(order.kept_frames)
            counters = {"events": order.kept_events, "contacts": self._n_contacts, "digest": True}
            for growing in self._growing:
                dataset = old._file[growing.path]
                n = committed_length(growing.row, order.kept_frames, self._axes.n_worlds, counters)
                for first, last in portions(dataset, n):
                    rows = np.ascontiguousarray(dataset[first:last])
                    growing.append(rows)
                    self._digest.add(growing.path, rows)
        self._n_events = order.kept_events
        self._extend_scales()
        self._file.flush()
        self._count(order.kept_frames)

    def _contacts(self, batch: Batch) -> ContactRows:
        """Contacts of a commit: those of the bodies that the file keeps, none if it holds no contacts."""
        if not self._has_contacts:
            return no_contacts(batch.n_frames, self._axes.n_worlds)
        if self._shapes is None:
            return batch.contacts
        a, b = (batch.contacts.columns[name].astype(np.int64) for name in ("shape_a", "shape_b"))
        return batch.contacts.where(self._shapes[a] | self._shapes[b])

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
        self.n_committed = n_committed
        self._slot = (slot + 1) % DIGEST_SLOTS
