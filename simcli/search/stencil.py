"""A point and its neighbours in one batch of 2 P + 1 worlds: the values there, and their Jacobian by central differences.

    df/dx = (f(x + h) - f(x - h)) / 2h,   h = eps^(1/3) size,   error about eps^(2/3)

h is a power of two, so that x + h and x - h differ by what is divided by. At a bound both neighbours are on the side within
(the same order, one-sided); where one neighbour alone has values, as beside a failing world, the order is one.
"""

from dataclasses import dataclass

import numpy as np

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
