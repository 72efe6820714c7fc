"""What of a model a file keeps, `output.select`, and in which portions: frames of a commit, the shape of every chunk.

A chunk that is committed is never written again, so a commit is a whole number of chunks of every dataset: all of them
hold 2^k frames and the longest of these lengths, `frames_per_commit`, is the grain of the run. It is long enough for
good chunks, short enough that a short run commits often and that a commit fits in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from simcli.errors import OutputError
from simcli.model.tables.model import NAMED_TABLES, Model
from simcli.records.contents.layout import COMPONENTS, STRETCH, Axes, Dataset


def axes_of(model: Model, row_label: Sequence[str] = (), quantities: Sequence[tuple[str, str]] = ()) -> Axes:
    """Axes of the file of a whole model.

    Args:
        model: the tables.
        row_label: names of the constraint rows.
        quantities: label and unit of each column of /frames/quantity.
    """
    label = {
        **{entries.axis: getattr(model, table).name for table, entries in NAMED_TABLES.items()},
        "NQ": model.dofs.q_label,
        "NV": model.dofs.label,
        "R": row_label,
        "G": model.naturals.label if model.naturals else (),
        "Y": tuple(label for label, _ in quantities),
        "D": STRETCH if model.affine is not None else (),
        "Z": [f"{model.springs.name[k]}:{n}" for n, k in enumerate(model.springs.pulley_spring)],
        "H": [f"{model.ropes.name[k]}:{n}" for n, k in enumerate(model.ropes.stop_rope)],
        "OD": [
            f"{model.ropes.name[k]}:{model.dofs.label[d]}"
            for k, d in zip(model.ropes.paid_rope, model.ropes.paid_dof, strict=True)
        ],
        "I": tuple(f"x^{n + 2}" for n in range(model.mimics.curve.shape[-1])),
        "P": model.param_name,
        **COMPONENTS,
    }
    capacity = model.contacts.capacity if model.contacts else 0
    return Axes(
        model.n_worlds,
        {axis: tuple(names) for axis, names in label.items()},
        capacity=capacity,
        quantity_unit=tuple(unit for _, unit in quantities),
    )


def selection(
    model: Model, select: Any = None, row_label: Sequence[str] = (), quantities: Sequence[tuple[str, str]] = ()
) -> Axes:
    """Axes of a file that keeps some bodies and joints.

    The coordinates follow the joints, named points and contacts the bodies.

    Args:
        model: the tables.
        select: None for everything; patterns over bodies, joints and articulations (`spec/base/patterns.py`); or what has
            the fields `include`, `exclude`, `types`, `exclude_types`, as `output.select` of a scene.
        row_label: labels of the constraint rows.
        quantities: see `axes_of`; they stay.

    Raises:
        OutputError: a pattern that includes fits nothing, or nothing is left.
    """
    whole = axes_of(model, row_label, quantities)
    if select is None:
        return whole
    from simcli.model.joints.selection import choose_written  # late: it brings the schema, which no recorder needs

    kept, problem = choose_written(model, select)
    if problem:
        raise OutputError(f"output.select: {problem}")
    index = dict(zip("BJ", kept, strict=True))
    index["NQ"] = _members(model.joints.q_start, index["J"])
    index["NV"] = _members(model.joints.qd_start, index["J"])
    index["N"] = np.flatnonzero(np.isin(model.points.body, index["B"]))
    if whole.label["G"]:
        per_entity = len(whole.label["G"]) // len(model.naturals.body)
        index["G"] = np.flatnonzero(np.isin(np.repeat(model.naturals.body, per_entity), index["B"]))
    label = {axis: tuple(names[i] for i in index[axis]) if axis in index else names for axis, names in whole.label.items()}
    return Axes(model.n_worlds, label, index, whole.capacity, whole.quantity_unit)


def _members(start: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Coordinates of the given joints, in their order."""
    parts = [np.arange(start[j], start[j + 1]) for j in joints]
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)


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
