"""The first 48 bytes of an HDF5 file, and the mark that a killed writer leaves in them.

HDF5 marks a file that is open for writing in byte 11 of its superblock (version 3, 8-byte addresses, closed by a checksum).
A writer that was killed leaves the mark and HDF5 refuses to open the file, unless as a reader of a growing file; but such
a reader repeats every read that fails its checksum, waiting twice as long each time: on a damaged file it never returns.
So only a file whose writer lives is opened that way; any other is read through `Unmarked`.
"""

from pathlib import Path

import numpy as np

from simcli.records.writing.backing import Passed

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
