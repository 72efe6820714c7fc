"""What the recorder was handed and has not committed yet: when a commit is due, and what is in it."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from simcli.model.snapshot import ContactRows, Event, joined_blocks, no_contacts
from simcli.records.writing.ring import Ring


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
