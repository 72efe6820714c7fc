"""Tiles: parts of two like datasets over frames and worlds, in whole chunks and of bounded size.

Files of any size are so read in little memory, and every chunk once.
"""

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from simcli.records.reading.series import Column

TILE_BYTES = 1024 * 1024  # [B] of one file: large against the cost of a call, small against the memory of the process
FRAMES_AT_ONCE = 65536  # whose tiles are looked for


def tile_lengths(columns: Sequence[Column], limit: int = TILE_BYTES) -> tuple[int, int]:
    """Frames and worlds of a tile: whole chunks of all columns, but of more than `limit` bytes only if a chunk is."""
    n_worlds = max((column.shape[1] for column in columns if column.ndim > 1), default=1)
    row = max(column.dtype.itemsize * prod(column.shape[2:]) for column in columns)
    frames = max(1, *(column.chunks[0] for column in columns))
    worlds = min(max((column.chunks[1] for column in columns if column.ndim > 1), default=1), n_worlds)
    room = max(limit // max(frames * worlds * row, 1), 1)  # chunks in a tile
    wide = min(room, -(-n_worlds // worlds))
    return frames * max(room // wide, 1), worlds * wide


def cut_frames(frames: Sequence[np.ndarray], length: int) -> Iterator[slice]:
    """Cut pairs of frames where either file comes to another tile.

    Args:
        frames: of each file its frames, rising, one of each pair.
        length: frames of a tile.

    Yields:
        the pairs of one tile, in order.
    """
    n, start = len(frames[0]), 0
    for first in range(0, n, FRAMES_AT_ONCE):
        part = slice(max(first - 1, 0), first + FRAMES_AT_ONCE)  # with the last one before, which may be of another tile
        changes = [np.flatnonzero(np.diff(some[part] // length)) for some in frames]
        for end in (part.start + 1 + np.unique(np.concatenate(changes))).tolist():
            yield slice(start, end)
            start = end
    yield slice(start, n)


def cut_worlds(worlds: np.ndarray, length: int) -> Iterator[np.ndarray]:
    """The worlds of each tile; rising numbers."""
    yield from np.split(worlds, np.flatnonzero(np.diff(worlds // length)) + 1)


def read_tile(column: Column, frames: np.ndarray, worlds: np.ndarray) -> np.ndarray:
    """Some frames and worlds of a column, (F, W, ...); what lies between the first and the last of them is read.

    Args:
        column: (F, W, ...) or (F,).
        frames: rising numbers.
        worlds: rising numbers; of a column without worlds not used.
    """
    first, last = int(frames[0]), int(frames[-1]) + 1
    if column.ndim == 1:
        return column[first:last][frames - first]
    low, high = int(worlds[0]), int(worlds[-1]) + 1
    block = column[first:last, low:high]
    if len(frames) < last - first:
        block = block[frames - first]
    return block if len(worlds) == high - low else block[:, worlds - low]
