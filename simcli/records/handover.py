"""The hand-over between the stepping and the writing: a queue of blocks, bounded in bytes."""

import threading
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from simcli.model.snapshot import ContactRows, Event, FrameBlock, joined, no_contacts


@dataclass
class Batch:
    """Frames that are written in one commit.

    Attributes:
        pieces: (block, first, last): frames first to last - 1 of each block.
        n_frames: number of frames, all pieces together.
        events: events of these frames.
        is_last: True if nothing follows.
    """

    pieces: list[tuple[FrameBlock, int, int]]
    n_frames: int
    events: list[Event]
    is_last: bool

    def gather(self, path: str, dtype: np.dtype) -> np.ndarray:
        """One column of all frames, C-contiguous, in the type of the file. A single block is not copied."""
        parts = []
        for block, first, last in self.pieces:
            column = {"frames/time": block.time, "frames/step": block.step}.get(path)
            parts.append((block.columns[path] if column is None else column)[first:last])
        if len(parts) == 1:
            return np.ascontiguousarray(parts[0], dtype)
        return np.concatenate(parts, dtype=dtype, casting="same_kind")

    def contacts(self, n_worlds: int) -> ContactRows:
        """Contacts of all frames; a block without a list of them has none."""
        parts = [block.contacts.of_frames(first, last) if block.contacts else no_contacts(last - first, n_worlds)
                 for block, first, last in self.pieces]  # fmt: skip
        return joined(parts) if parts else no_contacts(0, n_worlds)


class HandOver:
    """Blocks on their way to the writer.

    Args:
        grain: frames of a commit, or a multiple.
        target_bytes: a commit waits for this much, so that the writer makes few and large calls: each may have to
            wait for a running kernel.
        limit_bytes: `put` waits while more than this lies here.
        patience_s: a commit waits no longer than this for its bytes, once a whole grain is there.
    """

    def __init__(self, grain: int, target_bytes: int, limit_bytes: int, patience_s: float):
        self._grain, self._target, self._limit, self._patience = grain, target_bytes, limit_bytes, patience_s
        self._changed = threading.Condition()
        self._blocks: deque[tuple[FrameBlock, int, int]] = deque()  # with its size, and the frames already taken
        self._events: list[Event] = []
        self._frames = 0
        self._bytes = 0
        self._producer_waits = False
        self._closed = False
        self._failure: BaseException | None = None
        self._last_commit = time.monotonic()

    def put(self, block: FrameBlock, n_bytes: int) -> None:
        """Hand a block over; waits while the writer is behind.

        Raises:
            BaseException: what the writer died of.
        """
        with self._changed:
            while self._bytes + n_bytes > self._limit and self._blocks and self._failure is None:
                self._producer_waits = True
                self._changed.notify_all()
                self._changed.wait()
            self._producer_waits = False
            if self._failure is not None:
                raise self._failure
            self._blocks.append((block, n_bytes, 0))
            self._events += block.events
            grain_complete = self._frames < self._grain <= self._frames + len(block.step)
            self._frames += len(block.step)
            self._bytes += n_bytes
            if grain_complete or self._is_due(time.monotonic()):
                self._changed.notify_all()

    def close(self) -> None:
        """No block follows."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def fail(self, failure: BaseException) -> None:
        """The writer is dead: wake the producer and drop what waits."""
        with self._changed:
            self._failure = failure
            self._blocks.clear()
            self._bytes = 0
            self._changed.notify_all()

    @property
    def failure(self) -> BaseException | None:
        """What the writer died of."""
        return self._failure

    def take(self) -> Batch:
        """Wait for the next commit's frames: whole grains, or everything once closed."""
        with self._changed:
            while not self._closed and not self._is_due(now := time.monotonic()):
                has_grain = self._frames >= self._grain
                self._changed.wait(self._last_commit + self._patience - now if has_grain else None)
            n = self._frames if self._closed else self._frames - self._frames % self._grain
            batch = Batch(self._cut(n), n, self._events_until(), self._closed)
            self._last_commit = time.monotonic()
            self._changed.notify_all()
            return batch

    def _is_due(self, now: float) -> bool:
        if self._frames < self._grain:
            return False
        return self._bytes >= self._target or self._producer_waits or now - self._last_commit >= self._patience

    def _cut(self, n: int) -> list[tuple[FrameBlock, int, int]]:
        """The first n frames; what is left of a block stays."""
        pieces = []
        self._frames -= n
        while n > 0:
            block, n_bytes, first = self._blocks.popleft()
            last = min(len(block.step), first + n)
            pieces.append((block, first, last))
            n -= last - first
            if last < len(block.step):
                self._blocks.appendleft((block, n_bytes, last))
            else:
                self._bytes -= n_bytes
        self._cut_step = int(pieces[-1][0].step[pieces[-1][2] - 1]) if pieces else -1
        return pieces

    def _events_until(self) -> list[Event]:
        """Events up to the last frame that was cut, all of them once closed: by step, then world, those of all last.

        Blocks are as long as the clock makes them, and hold their events in any order; the file must not show that. What
        happens to all worlds at a step (world -1) comes with the block after that step, or with a later commit.
        """
        ready = [event for event in self._events if self._closed or event.step <= self._cut_step]
        ready.sort(key=lambda event: (event.step, event.world < 0, event.world))
        self._events = [event for event in self._events if not (self._closed or event.step <= self._cut_step)]
        return ready
