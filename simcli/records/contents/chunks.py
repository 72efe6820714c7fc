"""How many frames make a commit, and the shape of every chunk.

A chunk that is committed is never written again, so a commit is a whole number of chunks of every dataset: all of them
hold 2^k frames and the longest of these lengths, `frames_per_commit`, is the grain of the run. It is long enough for
good chunks, short enough that a short run commits often and that a commit fits in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from simcli.records.contents.layout import Axes, Dataset

CHUNK_MIN = 128 * 1024  # [B] below this the cost per chunk dominates
CHUNK_MAX = 512 * 1024  # [B] measured: 784 KiB writes 20 % slower than 392 KiB (second-level cache)
CHUNK_WORLDS = 64  # reading one world's history reads this many worlds
RUN_COMMITS = 16  # a run commits at least this often, so that a stop loses at most 1/16 of it
MAX_FRAMES = 256  # per commit, however small the scene
GRAIN_BYTES = 64 * 1024 * 1024  # [B] of one grain, all datasets together
TABLE_ROWS = {"E": 64, "C": 4096, "offset": 4096}  # chunks of the ragged tables; events are few


@dataclass(frozen=True)
class GrowingRows:
    """Datasets of a file that grow with its frames, and what their chunks follow from.

    Attributes:
        rows: the datasets.
        axes: their sizes and labels.
        float_type: "float64" or "float32", of the file.
        grain: frames of a commit.
    """

    rows: tuple[Dataset, ...]
    axes: Axes
    float_type: str
    grain: int


def _power_of_two(limit: float) -> int:
    """Largest power of two that is at most max(limit, 1)."""
    return 1 << (max(int(limit), 1).bit_length() - 1)


def frame_bytes(rows: Sequence[Dataset], axes: Axes, float_type: str) -> int:
    """Bytes of one frame of all worlds, all datasets but the events; of contacts as many as `axes.capacity` allows."""
    per_frame = {"F": 1, "offset": axes.n_worlds, "C": axes.n_worlds * axes.capacity, "E": 0}
    return sum(per_frame[row.axes[0]] * prod(axes.tail(row)) * row.dtype(float_type).itemsize for row in rows)


def frames_per_commit(rows: Sequence[Dataset], axes: Axes, float_type: str, n_frames: int) -> int:
    """The grain of a run of `n_frames` frames: a power of two."""
    fits = GRAIN_BYTES // max(frame_bytes(rows, axes, float_type), 1)
    return _power_of_two(min(MAX_FRAMES, fits, n_frames // RUN_COMMITS))


def chunk_shape(row: Dataset, axes: Axes, float_type: str, grain: int) -> tuple[int, ...]:
    """Chunk of one dataset: frames first, then worlds, then everything.

    At most 512 KiB: fewer frames, then fewer worlds. Where `grain` frames of 64 worlds are less than 128 KiB (scalars,
    huge batches with few frames in memory), more worlds share a chunk.
    """
    itemsize = row.dtype(float_type).itemsize
    if not row.by_frame:
        return (TABLE_ROWS[row.axes[0]], *axes.tail(row))
    if len(row.axes) == 1:
        return (grain,)
    per_world = itemsize * prod(axes.tail(row)[1:])
    worlds = min(axes.n_worlds, CHUNK_WORLDS)
    frames = min(grain, _power_of_two(CHUNK_MAX / (worlds * per_world)))
    while worlds > 1 and frames * worlds * per_world > CHUNK_MAX:
        worlds = (worlds + 1) // 2
    while worlds < axes.n_worlds and frames * worlds * per_world < CHUNK_MIN:
        worlds = min(2 * worlds, axes.n_worlds)
    return (frames, worlds, *axes.tail(row)[1:])


def fill_chunk(row: Dataset, axes: Axes, float_type: str, n: int) -> np.ndarray:
    """Rows that stand for "not recorded"."""
    return np.full((n, *axes.tail(row)), row.fill, row.dtype(float_type))
