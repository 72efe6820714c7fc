"""The global heaps of an HDF5 file, where texts of variable length lie.

HDF5 walks through a heap by the sizes that stand in it and does not doubt them: with one damaged byte there it may walk for
ever. So they are walked here first. A heap lies among what was written when the file was created, before the frames.
"""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

HEAD = b"GCOL\x01\x00\x00\x00"  # signature, version, reserved; the size of the heap follows
HEAD_BYTES, _ENTRY_BYTES, _ALIGNMENT = 16, 16, 8
ENTRY = struct.Struct("<HHIQ")  # index, references, reserved, size; the content follows, padded
_FREE = 0  # index of the free space, whose size counts its own entry
SEARCHED = 256 * 1024 * 1024  # [B] from the start of the file; what is written at the creation is rarely a hundredth of it
WINDOW = 16 * 1024 * 1024  # [B] searched at once; pages that were looked at count as memory of the process until they go


def damaged_heap(path: Path) -> int | None:
    """[B], place of the first heap whose entries do not add up to its size; none in a sound file.

    Source: HDF5 File Format Specification 3.0, III.E. Deviation: a heap is found by its signature.
    """
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return next((start for start in _heaps(data) if not _adds_up(data, start)), None)


def _heaps(data: mmap.mmap) -> Iterator[int]:
    for first in range(0, min(len(data), SEARCHED), WINDOW):
        end = first + WINDOW + len(HEAD) - 1  # one that begins in this window
        start = data.find(HEAD, first, end)
        while start >= 0:
            yield start
            start = data.find(HEAD, start + _ALIGNMENT, end)
        data.madvise(mmap.MADV_DONTNEED, first, min(WINDOW, len(data) - first))


def _adds_up(data: mmap.mmap, start: int) -> bool:
    if start + HEAD_BYTES > len(data):
        return False
    end = start + int.from_bytes(data[start + 8 : start + HEAD_BYTES], "little")
    if end > len(data):
        return False
    place = start + HEAD_BYTES
    while place + _ENTRY_BYTES <= end:  # less than an entry may be left over
        index, _, _, size = ENTRY.unpack_from(data, place)
        length = size if index == _FREE else _ENTRY_BYTES + -(-size // _ALIGNMENT) * _ALIGNMENT
        if length < _ENTRY_BYTES:
            return False
        place += length
    return place <= end
