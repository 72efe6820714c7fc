"""The least motion that satisfies rows.

    minimise 1/2 x' M x + p' x   subject to   J x = b

Directions of the rows come from a singular value decomposition, so that redundant rows are no trouble; rows that contradict
each other are met in the sense of least squares. Where M has no inertia, the shortest of the least motions is taken.
"""

import numpy as np

from simcli import rotations as rot
from simcli.model.tables import Array

_RANK = 1e-9  # singular values of rows of length one below this part of the largest are redundancy
_SINGULAR = 1e-13  # eigenvalues of a mass matrix with a diagonal of ones below this part of the largest are rounding


def least_motion(J: Array, M: Array, p: Array, b: Array, evenly: bool = True) -> Array:
    """The least motion, world by world.

    Args:
        J: (W, m, n), gradients of the rows.
        M: (W, n, n), symmetric, positive semidefinite.
        p: (W, n).
        b: (W, m).
        evenly: rows that contradict each other weigh the same; else each as its gradient, so that the sum of the squared
            gaps falls (Gauss and Newton), which counts far from where they agree.

    Returns:
        (W, n).

    Source: null-space method (Nocedal and Wright, Numerical Optimization, 2006, section 16.2). Deviation: coordinates are
    scaled by the diagonal of M and rows to length one, so that units do not decide on ranks.
    """
    diagonal = np.diagonal(M, axis1=1, axis2=2)
    unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    A, S = J * unit[:, None], M * unit[:, :, None] * unit[:, None]
    length = np.sqrt(np.square(A).max(axis=2))  # any length will do that does not depend on the order of a sum
    length = np.where((length > 0.0) & evenly, length, 1.0)
    left, values, right = np.linalg.svd(A / length[..., None])
    m = values.shape[1]
    counts = (values > _RANK * values.max(axis=1, initial=0.0)[:, None]) & (values > 0.0)
    inverse = np.where(counts, 1.0 / np.where(counts, values, 1.0), 0.0)
    asked = _product(rot.transpose(left), b / length)[:, :m] * inverse
    x = _product(rot.transpose(right[:, :m]), asked)
    n = right.shape[1]
    free = np.concatenate((~counts, np.ones((len(J), n - m), bool)), axis=1)
    some = np.flatnonzero(free.any(axis=1))
    if len(some):
        x[some] += _along_the_rest(S[some], right[some] * free[some][..., None], (_product(S, x) + p * unit)[some])
    return x * unit


def _along_the_rest(S: Array, right: Array, push: Array) -> Array:
    """The least motion against a push, along directions that rows do not see; the others are zero, (W, n)."""
    N = np.ascontiguousarray(rot.transpose(right))
    H = np.matmul(np.ascontiguousarray(rot.transpose(N)), np.matmul(np.ascontiguousarray(S), N))
    values, vectors = np.linalg.eigh(H)
    yields = (values > _SINGULAR * values.max(axis=1, initial=0.0)[:, None]) & (values > 0.0)
    inverse = np.where(yields, 1.0 / np.where(yields, values, 1.0), 0.0)
    return _product(N, -_product(vectors, inverse * _product(rot.transpose(vectors), _product(rot.transpose(N), push))))


def _product(A: Array, x: Array) -> Array:
    """Matrices times vectors, the columns summed one after another: a world comes out the same in any batch."""
    found = np.zeros(A.shape[:2])
    for k in range(A.shape[2]):
        found = found + A[:, :, k] * x[:, k, None]
    return found
