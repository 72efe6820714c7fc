"""Which rows of a dataset are committed, and parts of it of bounded size: portions of rows, tiles of frames and worlds.

Files of any size are so read in little memory, and every chunk once.
"""

from collections.abc import Iterator, Sequence
from math import prod

import h5py
import numpy as np

from simcli.errors import FileError
from simcli.records.contents.layout import DATASETS, Dataset, point_datasets
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.series import Column

READ_BYTES = 32 * 1024 * 1024  # at a time
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


def held(run: Trajectory) -> list[Dataset]:
    """Growing datasets that the file holds.

    Raises:
        FileError: something else stands where one of them should.
    """
    rows = [row for row in (*DATASETS, *point_datasets(run.points)) if row.path in run._file]
    for row in rows:
        if not isinstance(run._file[row.path], h5py.Dataset):
            raise FileError(f"{run.path}: /{row.path} is a group where a dataset is wanted")
    return rows


def committed_length(row: Dataset, n_frames: int, n_worlds: int, counters: dict) -> int:
    """Rows of a dataset that belong to so many frames; `counters` as of `Trajectory.counters`."""
    if row.by_frame:
        return n_frames
    if row.axes[0] == "offset":
        return n_frames * n_worlds + 1 if counters["digest"] else 0
    return counters["events" if row.axes[0] == "E" else "contacts"]


def portions(dataset: h5py.Dataset, n: int, n_bytes: int = READ_BYTES) -> Iterator[tuple[int, int]]:
    """First and last + 1 of the rows 0 to n - 1, in whole chunks, about so many bytes at a time."""
    row = max(int(np.prod(dataset.shape[1:])) * dataset.dtype.itemsize, 1)
    chunk = dataset.chunks[0] if dataset.chunks else 1
    length = max(n_bytes // (row * chunk), 1) * chunk
    return ((first, min(first + length, n)) for first in range(0, n, length))
