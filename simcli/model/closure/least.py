"""The least motion that satisfies rows.

    minimise 1/2 x' M x + p' x   subject to   J x = b

Directions of the rows come from an orthogonalisation that takes the longest first, so that redundant rows are no trouble;
rows that contradict each other are met in the sense of least squares. Where M has no inertia, the shortest of the least
motions is taken.
"""

import numpy as np

from simcli.model.closure.spans import columns_times, span_of
from simcli.model.tables import Array

_RANK = 1e-9  # rows of length one whose rest is below this part of the longest are redundant


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
    A = J * unit[:, None]
    length = np.sqrt(np.square(A).max(axis=2))  # any length will do that does not depend on the order of a sum
    length = np.where((length > 0.0) & evenly, length, 1.0)
    span = span_of(A / length[..., None], _RANK)
    x, S = span.solved(b / length), M * unit[:, :, None] * unit[:, None]
    return (x + span.rest(S, columns_times(S, x) + p * unit)) * unit
