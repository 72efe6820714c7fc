"""The largest differences of columns that come in parts.

    |a - b| <= atol + rtol max(|a|, |b|)

is within tolerance. NaN and NaN are equal, so are infinities of one sign; a number against neither is beyond any tolerance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tolerance:
    """What may differ.

    Attributes:
        rtol: of the larger of both magnitudes.
        atol: in the unit of the numbers.
    """

    rtol: float
    atol: float


@dataclass(frozen=True)
class Peak:
    """A component at the place of one of its extremes.

    Attributes:
        value: the extreme.
        frame: of the one file; -1 if there is no difference.
        world: there.
        a: number of the one file there.
        b: number of the other one.
    """

    value: float
    frame: int
    world: int
    a: float
    b: float


@dataclass(frozen=True)
class Spread:
    """How one component differs.

    Attributes:
        absolute: largest |a - b|, infinite if one of both is no number.
        relative: largest |a - b| / max(|a|, |b|).
        excess: largest |a - b| in units of the tolerance; above 1 it is beyond it.
        first: first frame that is beyond it.
        n_different: frames of worlds that differ.
        n_above: frames of worlds that are beyond the tolerance.
        n: frames of worlds.
    """

    absolute: Peak
    relative: Peak
    excess: Peak
    first: Peak
    n_different: int
    n_above: int
    n: int

    @property
    def peaks(self) -> tuple[Peak, ...]:
        """Its extremes."""
        return self.absolute, self.relative, self.excess, self.first


class Extremes:
    """Differences of n components over all parts that it is given.

    Args:
        n: number of components.
        tolerance: what may differ.
    """

    def __init__(self, n: int, tolerance: Tolerance):
        self.tolerance = tolerance
        self._n_different, self._n_above, self._n = np.zeros(n, np.int64), np.zeros(n, np.int64), 0
        self._peaks = {name: _Peaks(n) for name in ("absolute", "relative", "excess", "first")}

    def add(self, a: np.ndarray, b: np.ndarray, frame: np.ndarray, world: np.ndarray) -> None:
        """Take one more part.

        Args:
            a: [any], (rows, n).
            b: [as a], (rows, n).
            frame: (rows,), of the first file; no frame earlier than all of a part before, unless of other worlds.
            world: (rows,).
        """
        self._n += len(a)
        different = ~((a == b) | ((a != a) & (b != b)))
        columns = np.flatnonzero(different.any(axis=0))
        if not len(columns):
            return
        self._n_different += np.count_nonzero(different, axis=0)
        a, b = (np.asarray(values[:, columns], np.float64) for values in (a, b))
        size = np.maximum(np.abs(a), np.abs(b))
        with np.errstate(all="ignore"):
            off = np.where(different[:, columns], np.abs(a - b), 0.0)
            off[np.isnan(off)] = np.inf
            allowed = self.tolerance.atol + self.tolerance.rtol * size
            excess, relative = off / allowed, off / size
        for ratio in (excess, relative):
            ratio[off == 0] = 0.0
            ratio[np.isinf(off)] = np.inf
        above = excess > 1.0
        self._n_above[columns] += np.count_nonzero(above, axis=0)
        early = np.where(above, -frame[:, None].astype(float), -np.inf)
        for name, values in (("absolute", off), ("relative", relative), ("excess", excess), ("first", early)):
            self._peaks[name].raise_to(values, columns, a, b, frame, world)

    def spread(self, k: int) -> Spread:
        """All about one component."""
        peaks = {name: peaks.at(k) for name, peaks in self._peaks.items()}
        return Spread(**peaks, n_different=int(self._n_different[k]), n_above=int(self._n_above[k]), n=self._n)


class _Peaks:
    """The largest values of n components so far, and their places."""

    def __init__(self, n: int):
        self.value = np.full(n, -np.inf)
        self.frame, self.world = np.full(n, -1), np.full(n, -1)
        self.a, self.b = np.full(n, np.nan), np.full(n, np.nan)

    def raise_to(
        self, values: np.ndarray, columns: Sequence[int], a: np.ndarray, b: np.ndarray, frame: np.ndarray, world: np.ndarray
    ) -> None:
        """Take what is larger in some components."""
        row, column = np.argmax(values, axis=0), np.arange(len(columns))
        top = values[row, column]
        better = top > self.value[columns]
        where, row, column = columns[better], row[better], column[better]
        self.value[where], self.a[where], self.b[where] = top[better], a[row, column], b[row, column]
        self.frame[where], self.world[where] = frame[row], world[row]

    def at(self, k: int) -> Peak:
        """Of one component; 0 at no place if it never differed."""
        value = float(self.value[k]) if self.frame[k] >= 0 else 0.0
        return Peak(value, int(self.frame[k]), int(self.world[k]), float(self.a[k]), float(self.b[k]))
