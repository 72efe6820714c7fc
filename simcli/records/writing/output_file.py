"""OutputFile: the HDF5 file of a run while it grows, commit by commit.

`Backlog` holds what the recorder was handed and has not committed yet: when a commit is due, and what is in it.
"""

import os
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simcli.errors import OutputError
from simcli.model.snapshot import ContactRows, Event, joined_blocks, no_contacts
from simcli.records.contents.model_columns import world_tables_of
from simcli.records.drafts import draft_of
from simcli.records.writing.create import create_file
from simcli.records.writing.growing import Growing, GrowingFile, contact_rows, event_rows, kept_shapes
from simcli.records.writing.messages import Order, Ring


@dataclass(frozen=True)
class CommitBatch:
    """Frames that are written in one commit.

    Attributes:
        columns: path to rows (F, ...) of every dataset that goes by frames, in the type of the file.
        n_frames: F.
        events: events of these frames.
        contacts: of these frames.
    """

    columns: dict[str, np.ndarray]
    n_frames: int
    events: list[Event]
    contacts: ContactRows


class Backlog:
    """Frames in the ring, with their contacts and events.

    Args:
        ring: where the frames are.
        grain: frames of the smallest commit.
        portion: frames of the largest commit, a multiple of the grain. So many are written at once.
        patience: [s], how long a whole grain may wait for more.
        n_worlds: W.
        now: [s], the clock.
    """

    def __init__(self, ring: Ring, grain: int, portion: int, patience: float, n_worlds: int, now: float):
        self._ring, self._grain, self._portion, self._patience = ring, grain, portion, patience
        self._n_worlds = n_worlds
        self._events: list[Event] = []
        self._contacts: deque[tuple[ContactRows | None, int]] = deque()
        self._done = 0
        self.n_frames = 0
        self._last = now

    def add(self, n_frames: int, events: list[Event], contacts: ContactRows | None) -> None:
        """Take note of the next frames in the ring."""
        self.n_frames += n_frames
        self._events += events
        if n_frames:
            self._contacts.append((contacts, n_frames))

    def seconds_to_commit(self, now: float) -> float | None:
        """[s], until a commit is due if nothing more comes; 0 if it is, None if there is no whole grain."""
        if self.n_frames >= self._portion:
            return 0.0
        return max(self._last + self._patience - now, 0.0) if self.n_frames >= self._grain else None

    def take(self, now: float, is_last: bool = False) -> CommitBatch:
        """The frames of the next commit.

        Args:
            now: [s], the clock.
            is_last: nothing more will come: also what is less than a grain.
        """
        n = min(self.n_frames, self._portion, self._ring.left(self._done))
        n -= 0 if is_last else n % self._grain
        columns = {path: self._ring.frames(path, self._done, n) for path in self._ring}
        self._done, self.n_frames, self._last = self._done + n, self.n_frames - n, now
        last_step = int(columns["frames/step"][-1]) if n else -1
        events = self._events_until(last_step, everything=is_last and not self.n_frames)
        return CommitBatch(columns, n, events, self._contacts_of(n))

    def _contacts_of(self, n: int) -> ContactRows:
        """Contacts of the next n frames; a block without a list of them has none."""
        parts = []
        while n > 0:
            contacts, held = self._contacts.popleft()
            taken = min(n, held)
            parts.append(contacts.of_frames(0, taken) if contacts else no_contacts(taken, self._n_worlds))
            if taken < held:
                self._contacts.appendleft((contacts.of_frames(taken, held) if contacts else None, held - taken))
            n -= taken
        return joined_blocks(parts) if parts else no_contacts(0, self._n_worlds)

    def _events_until(self, step: int, everything: bool) -> list[Event]:
        """Events up to a step, or all of them, by their rank.

        Blocks are as long as the clock makes them, and hold their events in any order; the file must not show that. What
        happens to all worlds at a step (world -1) comes with the block after that step, or with a later commit. What sums
        up the run names an earlier step, and waits for the last commit, of whatever size.
        """
        ready, later = [], []
        for event in self._events:
            is_due = everything or (event.step <= step and not event.is_summary)
            (ready if is_due else later).append(event)
        self._events = later
        return sorted(ready, key=lambda event: event.rank)


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
        self._shapes = kept_shapes(order.model.shapes, growing.axes)
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
            raise OutputError(
                f"{self._path}: was {what} by another program while this run wrote it, and what it has "
                "written is lost; run it again, and leave the file alone until the end"
            )

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
