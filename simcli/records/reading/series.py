"""Lazily sliced columns: an array over (frame, world, component) that reads only what is asked for."""

from collections.abc import Callable, Iterator
from types import EllipsisType
from typing import TYPE_CHECKING

import h5py
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike

from simcli.errors import UsageError
from simcli.records.reading.guard import reading

SPAN_BYTES = 1024 * 1024  # [B] of a dataset that are read at once where only every N-th frame is wanted
SPAN_CHUNKS = 256  # chunks along the frames that are read at once


class Column(NDArrayOperatorsMixin):
    """Committed rows of one dataset, or of some of its components.

    Slices by frame and world are read from the file one by one; in arithmetic, in numpy functions and for any array
    method the whole column is read.

    Args:
        dataset: HDF5 dataset whose first axis is the frame.
        n_frames: committed frames.
        where: entry of each further axis after the world: an index (which drops the axis) or a slice.
        source: path of the file, for messages.
    """

    def __init__(self, dataset: h5py.Dataset, n_frames: int, where: tuple[int | slice, ...] = (), source: str = ""):
        self._dataset, self._where, self._source = dataset, where, source
        self.name: str = dataset.name.lstrip("/")
        self.unit = str(dataset.attrs.get("units", ""))
        tail = [range(length)[part] for length, part in zip(dataset.shape[2:], where, strict=False)]
        kept = tuple(len(part) for part in tail if isinstance(part, range))
        self.shape: tuple[int, ...] = (n_frames, *dataset.shape[1:2], *kept, *dataset.shape[2 + len(where) :])
        self.dtype: np.dtype = dataset.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Entries along each axis of the dataset that are stored, and read, at once."""
        return self._dataset.chunks or self._dataset.shape

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self[...])

    def __repr__(self) -> str:
        return f"<{self.name} {self.shape} {self.dtype}{f' [{self.unit}]' if self.unit else ''}>"

    def __getitem__(self, key: object) -> np.ndarray:
        key = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, EllipsisType) for part in key):
            at = next(k for k, part in enumerate(key) if isinstance(part, EllipsisType))
            key = (*key[:at], *[slice(None)] * (self.ndim - len(key) + 1), *key[at + 1 :])
        lead, after = [], []
        for length, part in zip(self.shape[:2], (*key[:2], slice(None), slice(None)), strict=False):
            read, rest = _split(part, length)
            lead.append(read)
            after.append(rest)
        rows = self._read(tuple(lead))
        return rows[(*after, *key[2:])][()]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        rows = self[...]
        return rows if dtype is None else rows.astype(dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, Column) else x for x in inputs), **kwargs)

    if TYPE_CHECKING:  # numpy says Any of all operators

        def _with(self, other: object) -> np.ndarray: ...

        def _alone(self) -> np.ndarray: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _with
        __pow__ = __matmul__ = __lt__ = __le__ = __gt__ = __ge__ = _with
        __neg__ = __abs__ = _alone

    def __getattr__(self, name: str) -> Callable[..., np.ndarray]:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{self.__class__.__name__} has no attribute {name}")
        return getattr(self[...], name)

    def _read(self, lead: tuple[slice, ...]) -> np.ndarray:
        if not self._dataset:
            raise closed(self._source)
        with reading(f"{self._source}: /{self.name}, frames {lead[0].start} to {lead[0].stop - 1}"):
            if lead[0].step is None or lead[0].step == 1:
                return self._read_whole(*lead)
            return self._read_thinned(*lead)

    def _read_whole(self, frames: slice, *worlds: slice) -> np.ndarray:
        """All frames of a slice, some chunks at a time: HDF5 takes memory, and keeps it, for each chunk of a selection."""
        span = SPAN_CHUNKS * self.chunks[0]
        if frames.stop - frames.start <= span:
            return part_of_dataset(self._dataset, (frames, *worlds, *self._where))
        first = part_of_dataset(self._dataset, (slice(frames.start, frames.start + span), *worlds, *self._where))
        rows = np.empty((frames.stop - frames.start, *first.shape[1:]), first.dtype)
        rows[:span] = first
        for start in range(frames.start + span, frames.stop, span):
            stop = min(start + span, frames.stop)
            part = part_of_dataset(self._dataset, (slice(start, stop), *worlds, *self._where))
            rows[start - frames.start : stop - frames.start] = part
        return rows

    def _read_thinned(self, frames: slice, *worlds: slice) -> np.ndarray:
        """Every N-th frame: spans of frames are read whole. HDF5's own selection with a step takes memory for each frame."""
        row = max(self.dtype.itemsize * int(np.prod(self._dataset.shape[1:])), 1)
        n = max(SPAN_BYTES // (row * frames.step), 1) if frames.step < self.chunks[0] else 1  # wanted ones of a span
        parts = [self._dataset[(slice(0, 0), *worlds, *self._where)]]
        for first in range(frames.start, frames.stop, n * frames.step):
            last = min(first + (n - 1) * frames.step + 1, frames.stop)
            parts.append(part_of_dataset(self._dataset, (slice(first, last), *worlds, *self._where))[:: frames.step])
        return np.concatenate(parts)


def part_of_dataset(dataset: h5py.Dataset, key: object) -> np.ndarray:
    """Part of a dataset; of a file that grows once more, as it is on the disk by then, if its writer was in the way."""
    try:
        return dataset[key]
    except Exception:  # HDF5 raises nearly every type
        if not dataset.file.swmr_mode:
            raise
        dataset.refresh()
        return dataset[key]


def closed(path: str) -> UsageError:
    """The error for a question to a file that was closed."""
    return UsageError(f"{path}: is closed; read it before `close()`, or inside the `with` block")


def _split(part: object, length: int) -> tuple[slice, object]:
    """A key along one axis as what HDF5 reads (a rising slice) and what numpy does to that."""
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        at = range(length)[part]  # IndexError outside, as an array's
        return slice(at, at + 1), 0
    if isinstance(part, slice):
        picked = range(length)[part]
        if picked.step > 0:
            return slice(picked.start, max(picked.stop, picked.start), picked.step), slice(None)
    return slice(0, length), part
