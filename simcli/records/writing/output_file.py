"""OutputFile: the HDF5 file of a run while it grows, commit by commit."""

import os
import time
from pathlib import Path

import numpy as np

from simcli.errors import OutputError
from simcli.model.snapshot import ContactRows, no_contacts
from simcli.records.contents.model_columns import world_tables_of
from simcli.records.drafts import draft_of
from simcli.records.writing.backlog import CommitBatch
from simcli.records.writing.create import create_file
from simcli.records.writing.growing import Growing, GrowingFile
from simcli.records.writing.messages import Order
from simcli.records.writing.ragged import contact_rows, event_rows, kept_shapes


class OutputFile:
    """The file of an order. It is made under another name and renamed by `publish`: at its own name it is always readable.

    Attributes:
        n_committed: frames that are safe on disk.

    Raises:
        OSError, RuntimeError: it cannot be made. HDF5 crashes at interpreter exit once a write has failed (h5py issue
            914), so the process is to be left by `os._exit` then, and after a commit that failed.
    """

    def __init__(self, order: Order):
        growing = order.growing
        self._axes, self._grain = growing.axes, growing.grain
        self._wall, self._started = order.wall, time.monotonic() - order.wall
        self._shapes = kept_shapes(order.model, growing.axes)
        self._has_contacts = any(row.path == "contacts/offset" for row in growing.rows)
        self._n_events, self._n_contacts = 0, 0
        self._path, self._draft = order.path, draft_of(order.path)
        try:
            tables = world_tables_of(order.model, growing.axes)
            file = create_file(str(self._draft), tables, growing, order.provenance, order.title, order.uuid, order.measures)
            self._file = GrowingFile(file, growing)
            if order.kept_frames:
                self._take_over(order)
        except (OSError, RuntimeError):
            self.discard()
            raise

    @property
    def n_committed(self) -> int:
        """Frames that are safe on disk."""
        return self._file.n_committed

    def publish(self) -> None:
        """Let the file stand at its own name."""
        try:
            os.replace(self._draft, self._path)
        except OSError:
            self.discard()
            raise
        self._place = _place_of(self._path)
        self._started = time.monotonic() - self._wall

    def _check_place(self) -> None:
        """Refuse to go on with a file that nobody will find.

        Raises:
            OutputError: what stands at its name is no longer this file.
        """
        found = _place_of(self._path)
        if found != self._place:
            what = "removed" if found is None else "replaced"
            raise OutputError(f"{self._path}: was {what} by another program while this run wrote it, and what it has "
                              "written is lost; run it again, and leave the file alone until the end")  # fmt: skip

    def discard(self) -> None:
        """Remove the file that has no name of its own yet."""
        self._draft.unlink(missing_ok=True)

    def commit(self, batch: CommitBatch) -> None:
        """Write frames, so that a reader may trust them."""
        self._check_place()
        contacts = self._contacts(batch)
        for growing in self._file.growing:
            rows = batch.columns[growing.path] if growing.row.by_frame else self._ragged(growing, batch, contacts)
            self._file.append(growing, rows)
        self._n_events += len(batch.events)
        self._n_contacts += contacts.n
        self._file.flush()
        self._file.count(self.n_committed + batch.n_frames, self._n_events, self._n_contacts, self._wall_now)

    def close(self, status: str, measured: tuple | None = None) -> None:
        """Mark the file `done`, `stopped` or `failed`, and close it.

        Args:
            status: which.
            measured: as of `Close`.
        """
        self._file.close(status, self._wall_now, measured)
        self._check_place()

    @property
    def _wall_now(self) -> float:
        return time.monotonic() - self._started

    def _take_over(self, order: Order) -> None:
        """Copy the frames that stay, as one commit."""
        from simcli.records.reading.reader import open_trajectory
        from simcli.records.reading.tiles import committed_length, portions

        if order.kept_frames % self._grain:
            raise OSError(f"its {order.kept_frames} frames are no multiple of {self._grain}")
        with open_trajectory(order.path) as old:
            self._n_contacts = old.contacts_until(order.kept_frames)
            counters = {"events": order.kept_events, "contacts": self._n_contacts, "digest": True}
            for growing in self._file.growing:
                dataset = old._file[growing.path]
                n = committed_length(growing.row, order.kept_frames, self._axes.n_worlds, counters)
                for first, last in portions(dataset, n):
                    self._file.append(growing, np.ascontiguousarray(dataset[first:last]))
        self._n_events = order.kept_events
        self._file.flush()
        self._file.count(order.kept_frames, self._n_events, self._n_contacts, self._wall_now)

    def _contacts(self, batch: CommitBatch) -> ContactRows:
        """Contacts of a commit: those of the bodies that the file keeps, none if it holds no contacts."""
        if not self._has_contacts:
            return no_contacts(batch.n_frames, self._axes.n_worlds)
        if self._shapes is None:
            return batch.contacts
        a, b = (batch.contacts.columns[name].astype(np.int64) for name in ("shape_a", "shape_b"))
        return batch.contacts.where(self._shapes[a] | self._shapes[b])

    def _ragged(self, growing: Growing, batch: CommitBatch, contacts: ContactRows) -> np.ndarray:
        """Rows of a table that does not go by frames."""
        group, _, column = growing.path.partition("/")
        if group == "events":
            return event_rows(column, growing.dtype, batch.events)
        return contact_rows(column, growing.dtype, contacts, self._n_contacts, is_first=growing.n == 0)


def _place_of(path: Path) -> tuple[int, int] | None:
    """Device and inode of what stands at a path, None if nothing does."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
