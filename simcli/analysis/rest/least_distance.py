"""The shortest solution of linear equations within lower bounds.

    min |x - x0|   where A x = b,   x_k >= lower_k

The equations leave x = p + N z; the inequalities on z are a problem of least distance, which is one of least squares of its
multipliers, none of them negative.

Source: Lawson and Hanson (1974), Solving Least Squares Problems, chapters 20 and 23. Deviation: the constraints that act are
solved once more, for the last digits.
"""

import numpy as np

from simcli.model.tables.model import Array

RANK = 1e-9  # singular values below this part of the largest are none
_ACTS = 1e-12  # multipliers below this part of the largest do not act
EMPTY = 1e-10  # relative residual of what has no solution
_ROUNDS = 10  # of the active set, for each multiplier


def null_space(A: Array) -> tuple[Array, Array]:
    """The pseudo-inverse of A (m, n), (n, m), and an orthonormal basis of what A takes to zero, (n, n - rank)."""
    left, values, right = np.linalg.svd(A)
    rank = int((values > RANK * values.max(initial=0.0)).sum())
    return right[:rank].T @ (left[:, :rank] / values[:rank]).T, right[rank:].T


def nearest(A: Array, b: Array, start: Array, lower: Array) -> Array | None:
    """The solution of A x = b that is nearest to `start`, in the sense of least squares where A x = b has none.

    Args:
        A: (m, n).
        b: (m,).
        start: (n,).
        lower: (n,), -inf where x has no bound.

    Returns:
        (n,); None if no solution keeps the bounds.
    """
    inverse, N = null_space(A)
    x = start + inverse @ (b - A @ start)
    bounded = np.isfinite(lower)
    lacks = (lower - x)[bounded]
    size = max(np.abs(x).max(initial=0.0), np.abs(lower[bounded]).max(initial=0.0))
    if lacks.max(initial=0.0) <= EMPTY * size:
        return np.where(bounded, np.maximum(x, np.where(bounded, lower, 0.0)), x)
    step = least_distance(N[bounded], lacks / size)
    return None if step is None else x + N @ (step * size)


def least_distance(G: Array, h: Array) -> Array | None:
    """The shortest z with G z >= h; None if there is none.

    Args:
        G: (k, n).
        h: (k,), of order one.
    """
    E = np.vstack((G.T, h))
    f = np.zeros(len(E))
    f[-1] = 1.0
    multiplier = nonnegative(E, f)
    rest = E @ multiplier - f
    if np.linalg.norm(rest) <= EMPTY:
        return None
    acts = multiplier > _ACTS * multiplier.max(initial=0.0)
    z = null_space(G[acts])[0] @ h[acts]
    return z if (G @ z >= h - EMPTY).all() else -rest[:-1] / rest[-1]


def nonnegative(E: Array, f: Array) -> Array:
    """The u >= 0 of least |E u - f|, by an active set.

    Args:
        E: (m, n).
        f: (m,).
    """
    u, passive = np.zeros(E.shape[1]), np.zeros(E.shape[1], bool)
    least = RANK * np.linalg.norm(E) * max(np.linalg.norm(f), 1.0) * 1e-3
    for _ in range(_ROUNDS * len(u)):
        slope = np.where(passive, -np.inf, E.T @ (f - E @ u))
        if not len(u) or slope.max() <= least:
            break
        passive[slope.argmax()] = True
        while True:
            wanted = np.zeros(len(u))
            wanted[passive] = np.linalg.lstsq(E[:, passive], f, None)[0]
            falls = passive & (wanted <= 0.0)
            if not falls.any():
                break
            part = (u[falls] / (u[falls] - wanted[falls])).min()
            u = u + part * (wanted - u)
            passive &= u > _ACTS * u.max(initial=0.0)
            u[~passive] = 0.0
        u = wanted
    return u
