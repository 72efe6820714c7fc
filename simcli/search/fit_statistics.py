"""How well a fit knows its numbers: standard errors, correlation, and directions that the data do not determine.

    C = s^2 (J^T J)^-1,   J of residuals in standard deviations,   s^2 = 1, or chi^2 / (n - p) where these are not known

J is scaled to columns of length 1 before its singular values are taken, so that units do not matter. A direction whose
singular value is below UNDETERMINED of the largest cannot be told from rounding: it is left out of C, and named.

Source: linear propagation of errors at the least squares, Gauss 1823. No deviation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

UNDETERMINED = 1e-6  # singular value relative to the largest: above the error of the differences
_SHARE = 1e-3  # part of a number in such a direction from which its error is not known
_NAMED = 0.05  # part of a number in a direction that is named


@dataclass(frozen=True)
class _Direction:
    """A combination of numbers that the data do not determine.

    Attributes:
        part: (P,), how the numbers change along it, each relative to its size; the largest is 1.
        singular_value: relative to the largest.
    """

    part: np.ndarray
    singular_value: float

    def words(self, paths: Sequence[str]) -> str:
        """The numbers that change along it, as `+1 params.k, -0.5 params.c`."""
        order = np.argsort(-np.abs(self.part), kind="stable")
        return ", ".join(f"{self.part[k]:+.2g} {paths[k]}" for k in order if abs(self.part[k]) > _NAMED)


@dataclass(frozen=True)
class Statistics:
    """Of a fit with P numbers.

    Attributes:
        error: (P,), standard errors, in SI; NaN of numbers that are at a bound or not determined.
        correlation: (P, P); NaN likewise.
        singular_values: (P,), of the scaled Jacobian, falling; of numbers that are free to move.
        undetermined: directions.
    """

    error: np.ndarray
    correlation: np.ndarray
    singular_values: np.ndarray
    undetermined: tuple[_Direction, ...]


def statistics_of(jacobian: np.ndarray, size: np.ndarray, free: np.ndarray, variance: float) -> Statistics:
    """Statistics at a least square.

    Args:
        jacobian: (N, P), of residuals in standard deviations, by the numbers in SI.
        size: (P,), of the numbers, for words.
        free: (P,) bool, False for numbers at a bound, which are taken as known.
        variance: s^2.
    """
    n = jacobian.shape[1]
    error, correlation = np.full(n, np.nan), np.full((n, n), np.nan)
    places = np.flatnonzero(free)
    if not len(places):
        return Statistics(error, correlation, np.zeros(0), ())
    J = jacobian[:, places]
    length = np.linalg.norm(J, axis=0)
    length[length == 0.0] = 1.0
    _, s, Vt = np.linalg.svd(J / length, full_matrices=False)
    known = s > UNDETERMINED * s[0]
    covariance = variance * (Vt[known].T / s[known] ** 2) @ Vt[known] / np.outer(length, length)
    lost = (Vt[~known] ** 2).sum(axis=0) > _SHARE
    deviation = np.sqrt(np.diag(covariance))
    deviation[lost] = np.nan
    error[places] = deviation
    with np.errstate(all="ignore"):
        correlation[np.ix_(places, places)] = covariance / np.outer(deviation, deviation)
    directions = [
        _direction(row, value / s[0], places, length, size) for row, value in zip(Vt[~known], s[~known], strict=True)
    ]
    return Statistics(error, correlation, s, tuple(directions))


def without_undetermined(jacobian: np.ndarray) -> np.ndarray:
    """A Jacobian whose steps leave alone what the data do not determine: its least singular values as zeros."""
    length = np.linalg.norm(jacobian, axis=0)
    length[length == 0.0] = 1.0
    U, s, Vt = np.linalg.svd(jacobian / length, full_matrices=False)
    known = s > UNDETERMINED * s[0]
    return jacobian if known.all() else (U[:, known] * s[known]) @ Vt[known] * length


def _direction(row: np.ndarray, value: float, places: np.ndarray, length: np.ndarray, size: np.ndarray) -> _Direction:
    part = np.zeros(len(size))
    part[places] = row / length / size[places]
    return _Direction(part / part[np.abs(part).argmax()], float(value))
