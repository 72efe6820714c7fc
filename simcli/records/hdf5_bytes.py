"""An HDF5 file as bytes: the first 48 with the mark that a killed writer leaves, its heaps, and writing them.

HDF5 marks a file that is open for writing in byte 11 of its superblock (version 3, 8-byte addresses, closed by a checksum).
A writer that was killed leaves the mark and HDF5 refuses to open the file, unless as a reader of a growing file; but such
a reader repeats every read that fails its checksum, waiting twice as long each time: on a damaged file it never returns.
So only a file whose writer lives is opened that way; any other is read through `Unmarked`.

Texts of variable length lie in global heaps. HDF5 walks through a heap by the sizes that stand in it and does not doubt
them: with one damaged byte there it may walk for ever. So they are walked here first. A heap lies among what was written
when the file was created, before the frames.

HDF5 writes through `Backing`, so that a failed write is reported by Python and does not crash HDF5.
"""

import contextlib
import io
import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simcli.errors import OutputError
from simcli.records.drafts import draft_of


class Passed(io.RawIOBase):
    """A file as it is, read and written through this object.

    Args:
        path: of the file.
        mode, buffering: as of `open`.
    """

    def __init__(self, path: Path, mode: str, buffering: int = -1):
        super().__init__()
        self._stream = path.open(mode, buffering)

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """The place."""
        return self._stream.tell()

    def readinto(self, buffer) -> int:
        """Read at the place."""
        return self._stream.readinto(buffer)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()


class Backing(Passed):
    """The file under construction. A write that fails is kept for later and HDF5 told that it went well.

    HDF5 crashes at interpreter exit once a write has failed (h5py issue 914); so it never learns of one.
    """

    def __init__(self, path: Path):
        super().__init__(path, "w+b", buffering=0)
        self.failure: OSError | None = None

    def writable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer) -> int:
        """Read at the place, zeros of what was never written: HDF5 takes all of a buffer for read, however short it was."""
        n = super().readinto(buffer)
        rest = memoryview(buffer).cast("B")[n:]
        rest[:] = bytes(len(rest))
        return n + len(rest)

    def truncate(self, size: int | None = None) -> int:
        """Set the length."""
        return self._kept(self._stream.truncate, size, size or 0)

    def write(self, data) -> int:
        """Write at the place, whole."""
        left = memoryview(data).cast("B")
        n = len(left)
        while len(left) and self.failure is None:
            left = left[self._kept(self._stream.write, left, len(left)) :]
        return n

    def _kept(self, call, argument, otherwise: int) -> int:
        try:
            return call(argument)
        except OSError as error:
            self.failure = self.failure or error
            return otherwise

    def flush(self) -> None:
        """Nothing is buffered."""

    def sync(self) -> None:
        """Bring everything to the disk."""
        self._kept(os.fsync, self._stream.fileno(), 0)


@contextlib.contextmanager
def drafted_hdf5(path: Path) -> Iterator[Backing]:
    """What HDF5 writes a file into that stands at `path` at the end; nothing is left of it if anything fails.

    Args:
        path: of the file. What stands there is replaced: whether it may be is the caller's decision.

    Raises:
        OutputError: the file cannot be made, or not be written.
    """
    draft = draft_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        backing = Backing(draft)
    except OSError as error:
        raise OutputError(f"{path}: cannot be made: {error.strerror or error}") from error
    try:
        yield backing
        backing.sync()
        backing.close()
        if backing.failure:
            raise backing.failure
        os.replace(draft, path)
    except Exception as error:
        failure = backing.failure or error
        if not isinstance(failure, OSError | RuntimeError):  # HDF5 may stumble over what was not written
            raise
        reason = getattr(failure, "strerror", None) or failure
        raise OutputError(f"{path}: cannot write: {reason}; nothing was left there") from failure
    finally:
        backing.close()
        draft.unlink(missing_ok=True)


SIGNATURE = b"\x89HDF\r\n\x1a\n"
VERSION_AT, SIZES_AT, FLAGS_AT, END_AT, CHECKSUM_AT = 8, 9, 11, 28, 44  # [B]
SUPERBLOCK_BYTES = 48
VERSION, ADDRESS_BYTES = 3, 8
_MASK = 0xFFFFFFFF
# Oldest and newest form of what HDF5 writes. 1.10 is the first with SWMR; "latest" would be the form of the library at hand,
# which readers built on an older one cannot open.
FORMAT_BOUNDS = ("v110", "v110")

HDF5_SUFFIXES = (".h5", ".hdf5")


def is_hdf5(path: Path) -> bool:
    """True for a file that begins, or is named, as HDF5 files are."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(SIGNATURE)) == SIGNATURE or path.suffix in HDF5_SUFFIXES
    except (OSError, ValueError):
        return path.suffix in HDF5_SUFFIXES


def lookup3(data: bytes) -> int:
    """Bob Jenkins' lookup3 hash with initial value 0: HDF5's checksum of metadata.

    Three 32-bit words, started from the length, take up twelve bytes at a time and are mixed by subtractions, rotations
    and additions; the last one to twelve bytes go through another mixing.

    Source: B. Jenkins, lookup3 (public domain), little-endian form. No deviation.
    """

    def turn(x: int, k: int) -> int:
        return ((x << k) | (x >> (32 - k))) & _MASK

    a = b = c = (0xDEADBEEF + len(data)) & _MASK
    if not data:
        return c
    n_mixed = (len(data) - 1) // 12
    words = np.frombuffer(data + bytes(-len(data) % 12), "<u4").reshape(-1, 3).tolist()
    for x, y, z in words[:n_mixed]:
        a, b, c = (a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK
        for k in (4, 6, 8, 16, 19, 4):  # the roles of a, b, c rotate after each line
            a = ((a - c) & _MASK) ^ turn(c, k)
            c = (c + b) & _MASK
            a, b, c = b, c, a
    x, y, z = words[n_mixed]
    a, b, c = (a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK
    for k in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - turn(b, k)) & _MASK
        a, b, c = b, c, a
    return b  # the seventh line leaves the result in c, and the roles rotated once more


def is_sound(block: bytes) -> bool:
    """True for a superblock of version 3 whose checksum is right."""
    return (
        len(block) == SUPERBLOCK_BYTES
        and block[: len(SIGNATURE)] == SIGNATURE
        and block[VERSION_AT] == VERSION
        and block[SIZES_AT] == ADDRESS_BYTES
        and lookup3(block[:CHECKSUM_AT]) == int.from_bytes(block[CHECKSUM_AT:], "little")
    )


def is_marked(block: bytes) -> bool:
    """True if the file was open for writing when its last writer left it."""
    return len(block) == SUPERBLOCK_BYTES and block[VERSION_AT] == VERSION and block[FLAGS_AT] != 0


def stated_size(block: bytes) -> int:
    """Size of the file as its superblock states it [B]."""
    return int.from_bytes(block[END_AT : END_AT + ADDRESS_BYTES], "little")


def unmarked(block: bytes, size: int) -> bytes:
    """The same superblock without the mark, for a file of `size` bytes.

    Where the disk ran full, the superblock states more bytes than there are, and HDF5 would refuse the file. What lies
    beyond was not committed.
    """
    clean = bytearray(block[:CHECKSUM_AT])
    clean[FLAGS_AT] = 0
    clean[END_AT : END_AT + ADDRESS_BYTES] = min(stated_size(block), size).to_bytes(ADDRESS_BYTES, "little")
    return bytes(clean) + lookup3(bytes(clean)).to_bytes(4, "little")


def read_superblock(path: Path) -> bytes:
    """The first 48 bytes, or fewer if there are not so many."""
    with path.open("rb") as stream:
        return stream.read(SUPERBLOCK_BYTES)


class Unmarked(Passed):
    """A marked file as it would read without its mark; read only. The file itself is not touched."""

    def __init__(self, path: Path):
        super().__init__(path, "rb")
        self._head = unmarked(self._stream.read(SUPERBLOCK_BYTES), path.stat().st_size)

    def readinto(self, buffer) -> int:
        """Read at the place, with the clean superblock in front."""
        place, n = self.tell(), super().readinto(buffer)
        if place < SUPERBLOCK_BYTES:
            part = self._head[place : place + n]
            buffer[: len(part)] = part
        return n


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
