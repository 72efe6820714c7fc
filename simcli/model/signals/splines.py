"""Interpolating splines: of tables over time, and of recorded coordinates that are differentiated.

A spline of odd degree k through n samples has its knots at the samples, but for (k - 1) / 2 next to each end: "not-a-knot".
It repeats polynomials of degree k exactly, up to its ends, so that a motion of even acceleration has even efforts there.
Fewer than k + 1 samples are interpolated by the polynomial through them: two by a line, three by a parabola.

Source: C. de Boor, A Practical Guide to Splines (1978), chapters IX (B-splines), X and XIII (interpolation, ends). The
collocation matrix is totally positive, so that elimination needs no pivots (C. de Boor, A. Pinkus 1977). No deviation.
"""

import numpy as np

from simcli.model.tables.table_base import Array


def spline_derivatives(time: Array, value: Array, degree: int) -> Array:
    """Derivatives, at its samples, of the spline through them.

    Args:
        time: [s], (n,), rising.
        value: (n, k), the samples.
        degree: odd.

    Returns:
        (degree + 1, n, k), of order 0 to degree; what jumps at a sample is that of the piece after it, at the last one of
        the piece before it. Orders above n - 1 are zero.
    """
    n = len(time)
    k = min(degree, n - 1)
    half = (k + 1) // 2
    inner = time[half : n - half] if k == degree else time[:0]
    knots = np.concatenate((np.repeat(time[:1], k + 1), inner, np.repeat(time[-1:], k + 1)))
    span = np.minimum(np.searchsorted(knots, time, side="right") - 1, n - 1)
    coefficient = _solve_banded(_basis(knots, time, span, k), span - k, value)
    found = np.zeros((degree + 1, *value.shape))
    found[0] = value
    for order in range(1, k + 1):
        run = knots[k + 1 : k + n - order + 1] - knots[order:n]
        coefficient = (k + 1 - order) * np.diff(coefficient, axis=0) / run[:, None]
        basis = _basis(knots, time, span, k - order)
        for j in range(k - order + 1):  # in this order, whatever the number of columns: worlds are alone
            found[order] += basis[:, j, None] * coefficient[span - k + j]
    return found


def _basis(knots: Array, at: Array, span: Array, degree: int) -> Array:
    """The B-splines of a degree that are not zero in the spans of n points, (n, degree + 1), by Cox and de Boor."""
    found = np.ones((len(at), 1))
    for d in range(1, degree + 1):
        right = knots[span[:, None] + np.arange(1, d + 1)]
        left = knots[span[:, None] + np.arange(1 - d, 1)]
        share = found / (right - left)
        found = np.zeros((len(at), d + 1))
        found[:, :-1] += (right - at[:, None]) * share
        found[:, 1:] += (at[:, None] - left) * share
    return found


def _solve_banded(rows: Array, first: Array, right: Array) -> Array:
    """Solve a banded system by elimination without pivots.

    Args:
        rows: (n, m), the entries of each row that are not zero.
        first: (n,), the column of the first of them, which never falls.
        right: (n, k).
    """
    n, m = rows.shape
    upper = np.zeros((n, m))  # of the eliminated rows, from the diagonal on
    x = np.array(right, float)
    entries = np.zeros(2 * m)
    for i in range(n):
        start = int(first[i])
        entries[:] = 0.0
        entries[:m] = rows[i]
        for j in range(start, i):
            factor = entries[j - start] / upper[j, 0]
            if factor != 0.0:
                entries[j - start : j - start + m] -= factor * upper[j]
                x[i] -= factor * x[j]
        upper[i] = entries[i - start : i - start + m]
    for i in range(n - 1, -1, -1):
        for j in range(1, min(m, n - i)):
            x[i] -= upper[i, j] * x[i + j]
        x[i] /= upper[i, 0]
    return x
