"""Frames on their way from the process that steps to the one that writes: memory that both see, used round and round.

Every dataset that goes by frames has an array of `length` frames in the type of the file; the recorder's frame i lies at
place i mod length. Who may touch which place follows from the messages about them (`messages`), not from the memory.
"""

import contextlib
import mmap
import os
import tempfile
from collections.abc import Iterator
from math import prod

import numpy as np

from simcli.records.contents.chunks import GrowingRows

_ALIGNMENT = 64  # [B] a cache line
LIMIT_BYTES = 64 * 1024 * 1024  # of frames that wait to be written; more where a commit is larger
# To touch fresh memory costs ten times as much as to copy there, page by page; all at once it costs little.
_AT_ONCE = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)


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
