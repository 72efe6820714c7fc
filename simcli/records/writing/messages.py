"""What passes between a run and its recorder: frames in memory that both see, messages through a pipe.

Every dataset that goes by frames has an array of `length` frames in the type of the file, used round and round; the
recorder's frame i lies at place i mod length. Who may touch which place follows from the messages about them, not from
the memory.

Messages are pickled objects, each after its length. The run sends an `Assignment`, `Publish`, then `Frames` again and
again, then `Close`. The recorder answers `Committed` for the new file and after every commit, and `Closed`; or `Failed`
or `Defect`, and ends.
"""

import contextlib
import mmap
import os
import pickle
import select
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simcli.model.snapshot import ContactRows, Event
from simcli.model.tables.model import Model
from simcli.records.contents.select import GrowingRows

if TYPE_CHECKING:
    from simcli.records.contents.measures import MeasureLayout
    from simcli.records.contents.provenance import Provenance

_ALIGNMENT = 64  # [B] a cache line
LIMIT_BYTES = 64 * 1024 * 1024  # of frames that wait to be written; more where a commit is larger
# To touch fresh memory costs ten times as much as to copy there, page by page; all at once it costs little.
_AT_ONCE = getattr(mmap, "MAP_SHARED", 0) | getattr(mmap, "MAP_POPULATE", 0)  # Windows has neither


def nameless_file() -> int:
    """Descriptor of an empty file in memory. It has no name, so that nothing is left once its processes have ended."""
    if hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            return os.memfd_create("simcli-recorder")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def most_bytes() -> int:
    """[B], of a ring: what `LIMIT_BYTES` says, or how large a file may become for this process, since its memory is one."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return LIMIT_BYTES if soft == resource.RLIM_INFINITY else min(LIMIT_BYTES, soft)


def reserve(descriptor: int, n_bytes: int) -> None:
    """Let the system give the memory of a ring now. What it refuses, a ring will ask for again.

    Args:
        descriptor: of `nameless_file`.
        n_bytes: [B], that the frames of a run may take; a ring takes no more than `most_bytes` of them.
    """
    size = min(n_bytes, most_bytes())
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, size)
        if size:
            mmap.mmap(descriptor, size, flags=_AT_ONCE).close()


class Ring:
    """The arrays of one file in shared memory.

    Args:
        descriptor: of the memory, as of `nameless_file`; it grows to what is needed.
        growing: datasets of the file.
        length: frames.

    Raises:
        OSError: the system does not give so much memory.
    """

    def __init__(self, descriptor: int, growing: GrowingRows, length: int):
        self.length = length
        places, end = {}, 0
        for row in growing.rows:
            if row.by_frame:
                shape, dtype = (length, *growing.axes.tail(row)), row.dtype(growing.float_type)
                places[row.path] = (shape, dtype, end)
                end += -(-prod(shape) * dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
        if os.fstat(descriptor).st_size < end:
            os.ftruncate(descriptor, end)
        memory = mmap.mmap(descriptor, end, flags=_AT_ONCE)
        self._columns = {path: np.ndarray(shape, dtype, memory, place) for path, (shape, dtype, place) in places.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def left(self, first: int) -> int:
        """Frames from this one that lie one after the other, before the ring begins anew."""
        return self.length - first % self.length

    def frames(self, path: str, first: int, n: int) -> np.ndarray:
        """One column of n frames from this one on, at most `left`: a view."""
        place = first % self.length
        return self._columns[path][place : place + n]


_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Order:
    """What file is to be made.

    Attributes:
        path: of the file.
        uuid: its name.
        title: of the file.
        model: what is simulated.
        provenance: where the file comes from.
        growing: datasets that grow.
        kept_frames: frames of an unfinished run at the path that stay.
        kept_events: events of those.
        wall: [s], wall time that the run has taken before.
        measures: that are written when the file is closed.
    """

    path: Path
    uuid: str
    title: str
    model: Model
    provenance: "Provenance"
    growing: GrowingRows
    kept_frames: int = 0
    kept_events: int = 0
    wall: float = 0.0
    measures: "tuple[MeasureLayout, ...]" = ()


@dataclass(frozen=True)
class Assignment:
    """The first message: what to make and how.

    Attributes:
        order: the file.
        folder: to which relative paths relate.
        owner: process id of the run.
        length: frames of the ring.
        portion: frames that are written at once.
        patience: [s], how long a whole grain may wait for more.
    """

    order: Order
    folder: str
    owner: int
    length: int
    portion: int
    patience: float


@dataclass(frozen=True)
class Publish:
    """The file, made under another name since its assignment, is to stand at its own; nothing has changed there before."""


@dataclass(frozen=True)
class Frames:
    """The next frames are in the ring.

    Attributes:
        n: how many.
        events: that came with them.
        contacts: theirs; None if there are none.
    """

    n: int
    events: list[Event]
    contacts: ContactRows | None


@dataclass(frozen=True)
class Close:
    """Nothing follows; the file is to be marked so.

    Attributes:
        status: done, stopped or failed.
        measured: rows by measure, values and times of all rows (W, N); None if there are none.
    """

    status: str
    measured: "tuple[dict[str, slice], np.ndarray, np.ndarray] | None" = None


@dataclass(frozen=True)
class Committed:
    """So many frames of the file are safe; the first answer, once the file is there, says how many of them stayed."""

    n: int


@dataclass(frozen=True)
class Closed:
    """The file is closed, with so many frames."""

    n: int


@dataclass(frozen=True)
class Failed:
    """The file cannot be made or written; the process ends.

    Attributes:
        what: "cannot be made" or "cannot write"; "" if the reason says all.
        reason: what the operating system said.
    """

    what: str
    reason: str


@dataclass(frozen=True)
class Defect:
    """The process ends because of a mistake in its program."""

    traceback: str


def send(descriptor: int, message: Any) -> None:
    """Write a whole message; waits while the pipe is full.

    Raises:
        BrokenPipeError: nobody reads it any more.
    """
    body = pickle.dumps(message, protocol=5)
    for part in (_LENGTH.pack(len(body)), body):
        left = memoryview(part)
        while left:
            left = left[os.write(descriptor, left) :]


class Inbox:
    """The reading end of a pipe. A message that its sender did not finish is none."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor
        self._read = bytearray()
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def waits(self, seconds: float | None) -> bool:
        """True once there is something to read, or the sender is gone; False if neither was so for so long.

        Args:
            seconds: [s]; None for ever.
        """
        return bool(self._poll.poll(None if seconds is None else 1000 * seconds))

    def take(self) -> Any:
        """The next message; waits for it.

        Raises:
            EOFError: the sender is gone.
        """
        self._read_until(_LENGTH.size)
        end = _LENGTH.size + _LENGTH.unpack_from(self._read)[0]
        self._read_until(end)
        message = pickle.loads(memoryview(self._read)[_LENGTH.size : end])
        self._read = bytearray()
        return message

    def _read_until(self, n: int) -> None:
        while len(self._read) < n:
            part = os.read(self._descriptor, n - len(self._read))
            if not part:
                raise EOFError
            self._read += part
