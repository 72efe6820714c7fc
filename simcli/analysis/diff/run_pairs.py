"""What of two runs is compared: frames of one time or of one number of steps, worlds of one number or of one origin.

Both files are read in blocks, and the pairs of frames take little memory, so that millions of frames need no more.
The number of a world is that in the batch where a file holds some worlds of one; worlds have one origin where a file was cut
from the other's run.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.channels import check_worlds
from simcli.analysis.expectations import TIME_TOLERANCE
from simcli.errors import FileError, UsageError

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory


@dataclass(frozen=True)
class WorldPairs:
    """Worlds that are compared.

    Attributes:
        a: numbers in the one file, rising.
        b: numbers in the other one.
        by_origin: whether they are of one world of one run, and not only of one number.
        by_batch: whether the number is that in the batch, and not that in the file.
    """

    a: np.ndarray
    b: np.ndarray
    by_origin: bool
    by_batch: bool = False

    def __len__(self) -> int:
        return len(self.a)

    def tiles(self, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The pairs of each tile of so many worlds of either file; both numbers rise in it."""
        parts = [np.diff(some // width) != 0 for some in (self.a, self.b)]
        cuts = np.flatnonzero(parts[0] | parts[1] | (np.diff(self.b) < 0)) + 1
        for first, last in pairwise([0, *cuts.tolist(), len(self)]):
            yield self.a[first:last], self.b[first:last]

    def number_in_a(self, worlds: np.ndarray) -> np.ndarray:
        """Numbers in the one file of worlds of the other one, -1 of those that are not compared."""
        number = np.full(int(max(self.b.max(initial=-1), worlds.max(initial=-1))) + 1, -1)
        number[self.b] = self.a
        return number[worlds]


def pair_worlds(a: "Trajectory", b: "Trajectory", wanted: Sequence[int] | None) -> WorldPairs:
    """Pair the worlds of two runs.

    Args:
        a: the one file.
        b: the other one.
        wanted: numbers in the first file; None for all that both have.

    Raises:
        UsageError: a file lacks one that is wanted.
    """
    both = _common(a.world_origins, b.world_origins)
    by_origin = any(x != y for x, y in both)
    numbered = [] if by_origin else _common(a.batch_numbers, b.batch_numbers)
    by_batch = any(x != y for x, y in numbered)
    if by_batch:
        both = numbered
    elif not by_origin:
        both = [(world, world) for world in range(min(a.n_worlds, b.n_worlds))]
    if wanted is not None:
        check_worlds(a, wanted)
        if not by_origin and not by_batch:
            check_worlds(b, wanted)
        both = [pair for pair in both if pair[0] in set(wanted)]
    mine, partners = np.array(both, np.int64).reshape(-1, 2).T
    return WorldPairs(mine, partners, by_origin, by_batch)


def _common(mine: Sequence[object], theirs: Sequence[object]) -> list[tuple[int, int]]:
    """Where what both have stands in either."""
    places = {one: world for world, one in enumerate(theirs)}
    return [(world, places[one]) for world, one in enumerate(mine) if one in places]


PIECE_LENGTH = 4096  # numbers; an uneven piece is summed up as a whole for each question


class RisingNumbers:
    """Rising whole numbers: ranges where they are evenly spaced, else the distances in as few bytes as need be."""

    def __init__(self):
        self._pieces: list[range | tuple[int, np.ndarray]] = []
        self._ends: list[int] = []

    def append(self, numbers: np.ndarray) -> None:
        """Take further ones, (n,), none of them below those before."""
        for first in range(0, len(numbers), PIECE_LENGTH):
            self._append(numbers[first : first + PIECE_LENGTH])

    def _append(self, numbers: np.ndarray) -> None:
        n, gaps = len(numbers), np.diff(numbers)
        first, gap = int(numbers[0]), int(gaps[0]) if n > 1 else 1
        if gap and (gaps == gap).all():
            piece = range(first, first + n * gap, gap)
            last = self._pieces[-1] if self._pieces else None
            if isinstance(last, range) and (last.stop, last.step) == (piece.start, piece.step):
                self._pieces[-1] = range(last.start, piece.stop, piece.step)
                self._ends[-1] += n
                return
            self._pieces.append(piece)
        else:
            self._pieces.append((first, gaps.astype(np.min_scalar_type(gaps.max()))))
        self._ends.append(len(self) + n)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, part: int | slice) -> int | np.ndarray:
        """One number, or neighbours as an array."""
        if not isinstance(part, slice):
            at = range(len(self))[part]
            return int(self[at : at + 1][0])
        start, stop, _ = part.indices(len(self))
        found, k = [np.zeros(0, np.int64)], bisect_right(self._ends, start)
        while start < stop:
            begin, end = self._ends[k - 1] if k else 0, min(stop, self._ends[k])
            found.append(_numbers(self._pieces[k], start - begin, end - begin))
            start, k = end, k + 1
        return np.concatenate(found)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.asarray(self[:], dtype)


def _numbers(piece: range | tuple[int, np.ndarray], start: int, stop: int) -> np.ndarray:
    if isinstance(piece, range):
        some = piece[start:stop]
        return np.arange(some.start, some.stop, some.step)
    first, gaps = piece
    return first + np.concatenate([[0], np.cumsum(gaps[: stop - 1], dtype=np.int64)])[start:stop]


TIMES_AT_ONCE = 65536  # whose times or steps are read


class Align(StrEnum):
    """What the frames of a pair have in common."""

    TIME = "time"
    STEP = "step"


@dataclass(frozen=True)
class FramePairs:
    """Pairs of frames, in order.

    Attributes:
        align: what the frames of a pair have in common.
        a: frames of the one file, rising.
        b: frames of the other one, as many.
        only_a: frames of the one file without a partner.
        only_b: frames of the other one without a partner.
    """

    align: Align
    a: RisingNumbers
    b: RisingNumbers
    only_a: int
    only_b: int


def pair_frames(a: "Trajectory", b: "Trajectory", align: Align = Align.TIME) -> FramePairs:
    """Find the frames of one time, within a thousandth of the smaller step, or of one number of steps since t = 0.

    Raises:
        FileError: times or steps of a file do not rise.
        UsageError: there is no pair.
    """
    for run in (a, b):
        if not run.n_frames:
            raise UsageError(f"{run.path}: holds no frame yet, so there is nothing to compare")
    mine, theirs = RisingNumbers(), RisingNumbers()
    for in_a, in_b in _matched(a, b, align):
        mine.append(in_a)
        theirs.append(in_b)
    if not len(mine):
        other = Align.STEP if align == Align.TIME else Align.TIME
        raise UsageError(
            f"no frame of {a.path} ({_span(a, align)}) has the {align} of a frame of {b.path} "
            f"({_span(b, align)}): try --align {other}, or the same `output.every`"
        )
    return FramePairs(align, mine, theirs, a.n_frames - len(mine), b.n_frames - len(mine))


def _matched(a: "Trajectory", b: "Trajectory", align: Align) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Frames of the pairs, some at a time."""
    step = min(_step_length(a), _step_length(b))
    allowed = TIME_TOLERANCE * step if align == Align.TIME and np.isfinite(step) else 0
    coming = _rising(b, align)
    theirs, ahead, is_last = next(coming), 0, False
    done = 0
    for mine in _rising(a, align):
        while len(mine):
            n = len(mine) if is_last else int(np.searchsorted(mine, theirs[-1], "right"))
            in_a, in_b = _nearest(mine[:n], theirs, allowed)
            yield done + in_a, ahead + in_b
            mine, done = mine[n:], done + n
            if len(mine):
                block = next(coming, theirs[:0])
                is_last = not len(block)
                theirs, ahead = np.concatenate([theirs[-1:], block]), ahead + len(theirs) - 1
    for _ in coming:  # is checked to its end
        pass


def _nearest(mine: np.ndarray, theirs: np.ndarray, allowed: float) -> tuple[np.ndarray, np.ndarray]:
    """Places of values that have one of the others near enough, and of the nearest of these, the earlier one of two."""
    nearest = np.searchsorted(theirs, mine)
    np.minimum(nearest, len(theirs) - 1, out=nearest)
    before = np.maximum(nearest - 1, 0)
    nearest = np.where(np.abs(theirs[before] - mine) <= np.abs(theirs[nearest] - mine), before, nearest)
    paired = np.flatnonzero(np.abs(theirs[nearest] - mine) <= allowed)
    return paired, nearest[paired]


def _rising(run: "Trajectory", align: Align) -> Iterator[np.ndarray]:
    """Times or steps of all frames, block by block.

    Raises:
        FileError: they do not rise.
    """
    column, before = run.column(f"frames/{align}"), np.zeros(0)
    for first in range(0, run.n_frames, TIMES_AT_ONCE):
        values = column[first : first + TIMES_AT_ONCE]
        if not ((values[1:] > values[:-1]).all() and (before < values[:1]).all()):
            raise FileError(f"{run.path}: is damaged: /frames/{align} does not increase; `simcli check` lists the damage")
        before = values[-1:]
        yield values


def _step_length(run: "Trajectory") -> float:
    """[s], the step of a run on average; infinite if it has one frame only."""
    (first, begun), (last, ended) = ((run.column("frames/step")[k], run.column("frames/time")[k]) for k in (0, -1))
    return float(ended - begun) / int(last - first) if last > first else np.inf


def longest_step(a: "Trajectory", b: "Trajectory") -> float:
    """[s], the longer step of two runs, of those that have one; 0 if none has."""
    return max((step for step in map(_step_length, (a, b)) if np.isfinite(step)), default=0.0)


def _span(run: "Trajectory", align: Align) -> str:
    first, last = (run.column(f"frames/{align}")[k] for k in (0, -1))
    words = f"{first:g} to {last:g} s" if align == Align.TIME else f"{first} to {last}"
    return f"{run.n_frames} from {words}"
