"""GrowingFile: a file of `create_file` whose datasets grow, with its digest and counters; rows of events and contacts.

A commit is: rows of every dataset, flush; digest of what is now committed, flush; which count that digest belongs to,
flush; the counter, flush. Whatever kills the process in between, `n_committed` frames are whole and one of the two
digests is theirs.
"""

from collections.abc import Sequence

import h5py
import numpy as np

from simcli.model.snapshot import ContactRows, Event
from simcli.model.tables.body_tables import Shapes
from simcli.model.tables.model import WORLD
from simcli.records.contents.digest import Digest, close_counters
from simcli.records.contents.layout import BARE_SCALES, CODE_BYTES, TEXT_BYTES, Axes, Dataset
from simcli.records.contents.measures import write_measures
from simcli.records.contents.select import GrowingRows
from simcli.records.writing.create import DIGEST_SLOTS


def event_rows(column: str, dtype: np.dtype, events: Sequence[Event]) -> np.ndarray:
    """One column of the event table; texts are cut to their fixed length at a character boundary."""
    values = [getattr(event, column) for event in events]
    if dtype.kind == "S":
        limit = TEXT_BYTES if column == "text" else CODE_BYTES
        values = [value.encode()[:limit].decode(errors="ignore").encode() for value in values]
    return np.array(values, dtype)


def contact_rows(column: str, dtype: np.dtype, contacts: ContactRows, before: int, is_first: bool) -> np.ndarray:
    """One column of the contact table, or its offsets.

    Args:
        column: name in CONTACT_WIDTHS, or "offset".
        dtype: of the file.
        contacts: of the frames at hand.
        before: contacts of all frames before.
        is_first: True if no offset was written yet: then the 0 that begins them comes first.
    """
    if column != "offset":
        return np.ascontiguousarray(contacts.columns[column], dtype)
    ends = before + np.cumsum(contacts.count.reshape(-1), dtype=dtype)
    return np.concatenate([np.zeros(int(is_first), dtype), ends])


def kept_shapes(shapes: Shapes, axes: Axes) -> np.ndarray | None:
    """Shapes of the bodies that a file keeps, (S,) bool; None for all. A contact is kept if one of its shapes is."""
    if "B" not in axes.index:
        return None
    body = np.asarray(shapes.body)
    return (body != WORLD) & np.isin(body, axes.index["B"])


class Growing:
    """One dataset of the open file that grows.

    Attributes:
        row: what it is.
        path: of it.
        dtype: of its values.
        n: rows so far.
    """

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


class GrowingFile:
    """An open file of `create_file`.

    Attributes:
        growing: its datasets that grow.
        n_committed: frames that are safe on disk.
    """

    def __init__(self, file: h5py.File, growing: GrowingRows):
        self._file, self._digest = file, Digest(row.path for row in growing.rows)
        self.growing = [Growing(file, row, growing.axes, growing.float_type) for row in growing.rows]
        self.n_committed, self._slot = 0, 0

    def append(self, growing: Growing, rows: np.ndarray) -> None:
        """Write rows after the last one of a dataset: C-contiguous, in its type, and as they are until `count`."""
        self._digest.add(growing.path, rows)
        growing.append(rows)

    def flush(self) -> None:
        """Bring what was written so far to the disk, where it does not count yet."""
        self._extend_scales()
        self._file.flush()

    def count(self, n_committed: int, n_events: int, n_contacts: int, wall: float) -> None:
        """Let what was flushed count.

        Args:
            n_committed: frames in all.
            n_events: events up to the last of them.
            n_contacts: contacts.
            wall: [s], wall time of the run.
        """
        run, slot = self._file["run"], self._slot
        run["digest"][slot] = np.frombuffer(self._digest.value(), np.uint8)
        run["digest_events"][slot] = n_events
        run["digest_contacts"][slot] = n_contacts
        run["wall_s"][()] = wall
        self._file.flush()
        run["digest_frames"][slot] = n_committed
        self._file.flush()
        run["n_committed"][()] = n_committed
        self._file.flush()
        self.n_committed = n_committed
        self._slot = (slot + 1) % DIGEST_SLOTS

    def close(self, status: str, wall: float, measured: tuple | None = None) -> None:
        """Mark the file, and close it.

        Args:
            status: `done`, `stopped` or `failed`.
            wall: [s], wall time of the run.
            measured: as of `Close`.
        """
        if measured:
            write_measures(self._file, *measured)
            self._file.flush()
        self._file["run/wall_s"][()] = wall
        self._file["run/status"][()] = np.bytes_(status.encode())
        self._file.flush()
        close_counters(self._file["run"])
        self._file.flush()
        self._file.close()

    def _extend_scales(self) -> None:
        sizes = {growing.row.axes[0]: (growing.path.split("/")[0], growing.n) for growing in self.growing}
        for axis, name in BARE_SCALES.items():
            if axis in sizes:
                group, n = sizes[axis]
                self._file[group][name].id.set_extent((n,))
