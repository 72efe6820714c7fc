"""What differs between two runs bit by bit: every recorded dataset, the model and the parameters.

Two NaN of other bits differ, and so do 0 and -0. Not compared: uuid, title, provenance, wall time, what is not committed.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import h5py
import numpy as np

from simcli.errors import FileError
from simcli.records.contents.layout import NAME_SCALES, Dataset
from simcli.records.contents.model_columns import COLUMNS
from simcli.records.reading.guard import reading
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.tiles import committed_length, cut_worlds, held, portions, read_tile, tile_lengths

_PORTION_BYTES = 8 * 1024 * 1024  # [B] of a table that does not go by frames, read at once
SIGNIFICAND_BITS = {2: 10, 4: 23, 8: 52}  # of the floats of so many bytes
STATIC_GROUPS = ("model", "params")

_Seen = Callable[[int], None]  # takes the number of bytes that were read


@dataclass(frozen=True)
class BitDifference:
    """How one dataset differs.

    Attributes:
        path: of the dataset.
        reason: "value"; or "only in A", "only in B", "type", "shape", "length": what keeps the datasets, or their ends,
            from being compared.
        a: first value that differs; or type, shape or length.
        b: the same of the other file.
        count: values that differ.
        index: of that value in the dataset.
        entry: names of its entries along the axes after frame and world.
        frame, time, world: its place, None where the dataset does not go by them; time in [s].
        bit: the lowest bit of that value that differs, counted from 0, bit 8 k the lowest of byte k.
        bits: number of bits of that value that differ.
    """

    path: str
    reason: str
    a: object = None
    b: object = None
    count: int = 0
    index: tuple[int, ...] = ()
    entry: tuple[str, ...] = ()
    frame: int | None = None
    time: float | None = None
    world: int | None = None
    bit: int | None = None
    bits: int = 0

    @property
    def part(self) -> str:
        """Sign, exponent or significand, if the value is a float."""
        if not isinstance(self.a, np.floating) or self.bit is None:
            return ""
        n = self.a.dtype.itemsize
        if self.bit == 8 * n - 1:
            return "sign"
        return "significand" if self.bit < SIGNIFICAND_BITS[n] else "exponent"


@dataclass
class _Found:
    """The first of the values of one dataset that differ, and their number."""

    count: int = 0
    index: tuple[int, ...] = ()
    pair: tuple = field(default=())

    def look(self, a: np.ndarray, b: np.ndarray, origin: tuple[int, ...]) -> None:
        """Compare parts of one type and shape whose first entry stands at `origin`."""
        differs = _bytes(a) != _bytes(b)
        if not differs.any():
            return
        differs = differs.any(axis=-1).reshape(a.shape)
        self.count += int(np.count_nonzero(differs))
        local = np.unravel_index(int(np.argmax(differs)), a.shape)
        index = tuple(int(k + o) for k, o in zip(local, (*origin, *[0] * a.ndim), strict=False))
        if not self.pair or index < self.index:
            self.index, self.pair = index, (a[local], b[local])


def _bytes(values: np.ndarray) -> np.ndarray:
    """The values as they stand in the file, (..., words), in words as long as may be."""
    size = values.dtype.itemsize
    word = next(n for n in (8, 4, 2, 1) if size % n == 0)
    return np.ascontiguousarray(values).reshape(-1).view(f"u{word}").reshape(-1, size // word)


def differing_bits(a: Trajectory, b: Trajectory, seen: _Seen = lambda n: None) -> list[BitDifference]:
    """Compare all datasets of two runs.

    Where the runs are of other lengths, or have other numbers of worlds, the frames and worlds are compared that both have.

    Args:
        a: the one file.
        b: the other one.
        seen: is told how many bytes were read since it was told last.

    Returns:
        An entry per dataset and reason, the earliest frame first; empty if all bits are equal.

    Raises:
        FileError: a file is damaged.
    """
    found = [*_of_rows(a, b, seen), *_of_tables(a, b, seen)]
    last = a.n_frames + b.n_frames
    return sorted(found, key=lambda one: last if one.frame is None else one.frame)


def size_of_rows(run: Trajectory) -> int:
    """[B], what is read of a run when all of it is read."""
    rows = [(run._file[path], n) for path, n in _lengths(run).items()]
    return sum(n * dataset.dtype.itemsize * int(np.prod(dataset.shape[1:])) for dataset, n in rows)


def _lengths(run: Trajectory) -> dict[str, int]:
    """Committed rows of every growing dataset."""
    counters = run.counters()
    return {row.path: committed_length(row, run.n_frames, run.n_worlds, counters) for row in held(run)}


def _of_rows(a: Trajectory, b: Trajectory, seen: _Seen) -> Iterator[BitDifference]:
    """Of everything that grows with the run."""
    mine, theirs = ({row.path: row for row in held(run)} for run in (a, b))
    n, lengths = min(a.n_frames, b.n_frames), [_lengths(a), _lengths(b)]
    ragged = _Ragged(a, b, n)
    for path, row in {**mine, **theirs}.items():
        if path not in theirs or path not in mine:
            yield BitDifference(path, "only in A" if path in mine else "only in B")
            continue
        x, y = a._file[path], b._file[path]
        if x.dtype != y.dtype:
            yield BitDifference(path, "type", x.dtype.name, y.dtype.name)
            continue
        if x.shape[1:] != y.shape[1:]:
            yield BitDifference(path, "shape", x.shape[1:], y.shape[1:])
        elif lengths[0][path] != lengths[1][path]:
            yield BitDifference(path, "length", lengths[0][path], lengths[1][path])
        if x.shape[2:] != y.shape[2:] and row.by_frame:
            continue
        differing = _of_frames(a, b, row, n, seen) if row.by_frame else ragged.compare(row, lengths, seen)
        if differing.count:
            yield _placed(a, row, differing)


def _of_frames(a: Trajectory, b: Trajectory, row: Dataset, n: int, seen: _Seen) -> _Found:
    x, y = a.column(row.path), b.column(row.path)
    found = _Found()
    worlds = np.arange(min(a.n_worlds, b.n_worlds) if x.ndim > 1 else 1)
    length, width = tile_lengths([x, y])
    for begin in range(0, n, length):
        frames = np.arange(begin, min(begin + length, n))
        for some in cut_worlds(worlds, width):
            first, second = (read_tile(column, frames, some) for column in (x, y))
            found.look(first, second, (begin, int(some[0]))[: x.ndim])
            seen(first.nbytes + second.nbytes)
    return found


class _Ragged:
    """Events and contacts: tables whose rows belong to frames only by what stands in them."""

    def __init__(self, a: Trajectory, b: Trajectory, n: int):
        self._runs, self._n = (a, b), n
        self._contacts: int | None = None  # rows that belong to the same frame and world in both files

    def compare(self, row: Dataset, lengths: list[dict[str, int]], seen: _Seen) -> _Found:
        """Compare the leading rows of one table that can be compared."""
        a, b = self._runs
        n = min(one[row.path] for one in lengths)
        kind = row.axes[0]
        if kind != "E" and a.n_worlds != b.n_worlds:
            return _Found()
        if kind == "offset":
            found = self._look(row.path, min(n, self._n * a.n_worlds + 1), seen)
            end = found.index[0] if found.count else n
            with reading(a.path):
                self._contacts = int(a._file[row.path][end - 1]) if end else 0
            return found
        return self._look(row.path, n if kind == "E" else min(n, self._contacts or 0), seen)

    def _look(self, path: str, n: int, seen: _Seen) -> _Found:
        found = _Found()
        for first, last in portions(self._runs[0]._file[path], n, _PORTION_BYTES):
            parts = []
            for run in self._runs:
                with reading(f"{run.path}: /{path}, rows {first} to {last - 1}"):
                    parts.append(run._file[path][first:last])
            found.look(*parts, (first,))
            seen(sum(part.nbytes for part in parts))
        return found


def _placed(a: Trajectory, row: Dataset, found: _Found) -> BitDifference:
    """The first difference of a growing dataset with its frame, time, world and entry."""
    index, frame, time, world, axes = found.index, None, None, None, row.axes[1:]
    with reading(a.path):
        if row.by_frame:
            frame = index[0]
            if axes[:1] == ("W",):
                world, axes = index[1], axes[1:]
        elif row.axes[0] == "E":
            time, world = (a._file[f"events/{name}"][index[0]].item() for name in ("time", "world"))
        else:
            offset, at = a._file["contacts/offset"], index[0]
            pair = at - 1 if row.axes[0] == "offset" else bisect_right(offset, at, hi=a.n_frames * a.n_worlds + 1) - 1
            frame, world = divmod(max(pair, 0), a.n_worlds)
        if frame is not None:
            time = a.column("frames/time")[frame].item()
    entry = tuple(a._axes.label[axis][k] for axis, k in zip(axes, index[len(index) - len(axes) :], strict=True))
    return _difference(row.path, found, entry=entry, frame=frame, time=time, world=world)


def _difference(path: str, found: _Found, **place) -> BitDifference:
    a, b = found.pair
    flipped = np.flatnonzero(np.unpackbits(_octets(a) ^ _octets(b), bitorder="little"))
    return BitDifference(
        path, "value", *found.pair, found.count, found.index, bit=int(flipped[0]), bits=len(flipped), **place
    )


def _octets(value: np.generic) -> np.ndarray:
    return np.frombuffer(np.asarray(value).tobytes(), np.uint8)


def _of_tables(a: Trajectory, b: Trajectory, seen: _Seen) -> Iterator[BitDifference]:
    """Of /model and /params, and of the values and times of measures."""
    for path in dict.fromkeys([*_tables(a), *_tables(b)]):
        if path not in a._file or path not in b._file:
            yield BitDifference(path, "only in A" if path in a._file else "only in B")
            continue
        x, y = a._file[path], b._file[path]
        for run, one in ((a, x), (b, y)):
            if not isinstance(one, h5py.Dataset):
                raise FileError(f"{run.path}: /{path} is a group where a dataset is wanted")
        if x.dtype != y.dtype or x.shape != y.shape:
            what = ("type", x.dtype.name, y.dtype.name) if x.dtype != y.dtype else ("shape", x.shape, y.shape)
            yield BitDifference(path, *what)
            continue
        found = _of_table(a, b, path, seen)
        if found.count:
            yield _difference(path, found, entry=_table_entry(a, path, found.index))


def _tables(run: Trajectory) -> Iterator[str]:
    """Paths of what does not grow with the run."""
    yield from (f"{group}/{name}" for group in STATIC_GROUPS for name in run._file[group])
    yield from (f"measures/{name}/{key}" for name in run.measures for key in ("value", "time"))


def _of_table(a: Trajectory, b: Trajectory, path: str, seen: _Seen) -> _Found:
    found = _Found()
    n = a._file[path].shape[0] if a._file[path].ndim else 0
    for first, last in portions(a._file[path], n, _PORTION_BYTES):
        parts = []
        for run in (a, b):
            with reading(f"{run.path}: /{path}"):
                parts.append(run._file[path][first:last])
        seen(sum(part.nbytes for part in parts))
        if h5py.check_string_dtype(a._file[path].dtype):
            size = max((len(text) for part in parts for text in part), default=0) or 1
            parts = [part.astype(f"S{size}") for part in parts]
        found.look(*parts, (first,))
    return found


def _table_entry(run: Trajectory, path: str, index: tuple[int, ...]) -> tuple[str, ...]:
    """Names of an entry of /model as far as its axes have names; the rest as numbers."""
    column = next((column for column in COLUMNS if path == f"model/{column.name}"), None)
    axes = column.axes if column else [""] * len(index)
    words = []
    for axis, k in zip(axes, index, strict=True):
        known = run._axes.label.get(axis, ()) if axis in NAME_SCALES or axis in run._axes.label else ()
        words.append(known[k] if k < len(known) else f"row {k}")
    return tuple(words)
