"""Residuals and Jacobian of a fit at trial points, each run with its neighbours in one batch of 2 P + 1 worlds.

    df/dx = (f(x + h) - f(x - h)) / 2h,   h = eps^(1/3) size,   error about eps^(2/3)

h is a power of two, so that x + h and x - h differ by what is divided by. At a bound both neighbours are on the side within
(the same order, one-sided); where one neighbour alone has values, as beside a failing world, the order is one.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from simcli.errors import SceneError
from simcli.search.batches import Batches
from simcli.search.fit_data import Log
from simcli.search.fit_series import Rhythm, numbers_at
from simcli.search.free_numbers import FreeNumber
from simcli.search.quantities import NOT_VALID

if TYPE_CHECKING:
    pass

CUBE_ROOT = float(np.cbrt(np.finfo(float).eps))


@dataclass(frozen=True)
class Stencil:
    """Points of one batch.

    Attributes:
        points: (2 P + 1, P): the point, then for each number its two neighbours.
    """

    points: np.ndarray

    def jacobian(self, values: np.ndarray) -> np.ndarray:
        """Derivatives, (N, P), of values (2 P + 1, N); NaN columns where both neighbours of a number lack values."""
        columns = []
        for k in range(self.points.shape[1]):
            x = self.points[[0, 1 + 2 * k, 2 + 2 * k], k]
            f = values[[0, 1 + 2 * k, 2 + 2 * k]]
            columns.append(_slope(x, f))
        return np.array(columns).T


def stencil_at(x: np.ndarray, size: np.ndarray, low: np.ndarray, high: np.ndarray) -> Stencil:
    """The point and its neighbours.

    Args:
        x: (P,).
        size: (P,), over which values change by their own size.
        low: (P,), bounds; no neighbour is beyond them.
        high: (P,).
    """
    rows = [x]
    for k, h in enumerate(2.0 ** np.round(np.log2(CUBE_ROOT * size))):
        steps = (h, -h)
        if x[k] + h > high[k]:
            steps = (-h, -2.0 * h)
        elif x[k] - h < low[k]:
            steps = (h, 2.0 * h)
        for step in steps:
            row = x.copy()
            row[k] = np.clip(x[k] + step, low[k], high[k])
            rows.append(row)
    return Stencil(np.array(rows))


def _slope(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Slope at x[0] of the parabola through three points; of the line through two where one has no values."""
    a, b = x[1] - x[0], x[2] - x[0]
    fa, fb = f[1] - f[0], f[2] - f[0]
    if np.isfinite(fa).all() and np.isfinite(fb).all():
        if a == -b:
            return (f[1] - f[2]) / (x[1] - x[2])
        return (fa * b / a - fb * a / b) / (b - a)
    return fa / a if np.isfinite(fa).all() else fb / b


LEAST_SIZE = 1e-3  # of a number relative to what it began with, for the steps of differences
# Points (N, P) to numbers (N, T, C), and the error of their interpolation.
PointRun = Callable[[np.ndarray], tuple[np.ndarray, float]]


def runner(batches: Batches, log: Log, rhythm: Rhythm, has_offset: bool = False) -> PointRun:
    """Runs points, and takes their numbers at the times of a log; the last number may be the offset of its clock."""

    def run(points: np.ndarray) -> tuple[np.ndarray, float]:
        values = np.full((len(points), len(log.time), len(log.labels)), np.nan)
        with batches.run(points[:, :-1] if has_offset else points) as (file, places):
            values[places], error = numbers_at(file, log, rhythm, points[places, -1] if has_offset else None)
        return values, error

    return run


@dataclass
class Residuals:
    """Residuals and Jacobian at trial points; what was run is kept.

    Attributes:
        without: trial points without values, by reason.
        n_trials: points that were run.
        interpolation: error of it at the last point with values.
        best: least chi-square.
        edges: points beside which worlds lack values.
    """

    run: PointRun
    free: tuple[FreeNumber, ...]
    log: Log
    sigma: np.ndarray
    seen: Callable[[int, float], None]
    without: Counter[str] = field(default_factory=Counter)
    n_trials: int = 0
    interpolation: float = 0.0
    best: float = np.inf
    edges: set[bytes] = field(default_factory=set)

    def __post_init__(self):
        self.size = np.array([one.size for one in self.free])
        self.low, self.high = (np.array([getattr(one, end) for one in self.free]) for end in ("low", "high"))
        self._kept: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals (N,), their Jacobian (N, P), and values (T, C), at a point in SI; NaN if it has none."""
        key = x.tobytes()
        if key not in self._kept:
            if len(self._kept) > 2:  # the point that stands, the one that is tried
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = self._run(x)
        return self._kept[key]

    def _values_at(self, points: np.ndarray) -> tuple[np.ndarray, float, str]:
        """(N, T, C), the error of their interpolation, and why some are missing, if they are."""
        try:
            return *self.run(points), "failed, or ended before the last time of the data"
        except SceneError:
            if not self.n_trials:
                raise
            return np.full((len(points), *self.log.is_known.shape), np.nan), 0.0, NOT_VALID

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = np.maximum(np.abs(x), LEAST_SIZE * self.size)
        stencil = stencil_at(x, size, self.low, self.high)
        values, error, reason = self._values_at(stencil.points)
        known = self.log.is_known
        self.n_trials += 1
        weighted = (values / self.sigma)[:, known]
        residual = weighted[0] - (self.log.values / self.sigma)[known]
        if np.isfinite(residual).all():
            self.interpolation = error
            self.best = min(self.best, float(residual @ residual))
            if not np.isfinite(weighted).all():
                self.edges.add(x.tobytes())
        else:
            self.without[reason] += 1
        self.seen(self.n_trials, self.best)
        return residual, stencil.jacobian(weighted), values[0]
