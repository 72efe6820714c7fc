"""Spans of rows, least squares, least motions and orientations of small matrices, one of each world, all of them at once.

Sums go component by component along the worlds, in a fixed order, so that a world comes out the same in any batch; they
lie as Fortran has it, worlds side by side.

The least motion that satisfies rows,

    minimise 1/2 x' M x + p' x   subject to   J x = b

takes directions of the rows from an orthogonalisation that takes the longest first, so that redundant rows are no
trouble; rows that contradict each other are met in the sense of least squares. Where M has no inertia, the shortest of
the least motions is taken.
"""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.tables.model import Array

_SINGULAR = 1e-13  # of a mass matrix with a diagonal of ones: what is below this part of the largest is rounding
_FEW = 6  # columns, up to which sums along worlds take less time than a library's routine for each world


def span_of(A: Array, rank: float) -> "Span":
    """The span of the rows of matrices.

    Args:
        A: (W, m, n).
        rank: rows, or their combinations, that are shorter than this part of the longest are redundant.
    """
    return (Chain if A.shape[2] <= _FEW else Spectrum).of(A, rank)


@dataclass(frozen=True)
class Spectrum:
    """Rows by singular values: A = left diag(values) Q.

    Attributes:
        left: (W, m, m).
        values: (W, k).
        Q: (W, n, n), the directions.
        counts: (W, k) bool, whether a value is above rounding.
    """

    left: Array
    values: Array
    Q: Array
    counts: Array

    @staticmethod
    def of(A: Array, rank: float) -> "Spectrum":
        """As `span_of`."""
        left, values, right = np.linalg.svd(np.ascontiguousarray(A))
        return Spectrum(left, values, right, (values > rank * values.max(axis=1, initial=0.0)[:, None]) & (values > 0.0))

    def solved(self, b: Array) -> Array:
        """As of a chain."""
        k = self.values.shape[1]
        inverse = np.where(self.counts, 1.0 / np.where(self.counts, self.values, 1.0), 0.0)
        return columns_times(self.Q[:, :k].swapaxes(1, 2), columns_times(self.left.swapaxes(1, 2), b)[:, :k] * inverse)

    def rest(self, S: Array, push: Array) -> Array:
        """As of a chain; by the eigenvalues of S."""
        free = np.ones(self.Q.shape[:2], bool)
        free[:, : self.counts.shape[1]] = ~self.counts
        some, found = np.flatnonzero(free.any(axis=1)), np.zeros(push.shape)
        if not len(some):
            return found
        back = np.ascontiguousarray((self.Q * free[..., None])[some])
        N = np.ascontiguousarray(back.swapaxes(1, 2))
        values, vectors = np.linalg.eigh(np.matmul(back, np.matmul(np.ascontiguousarray(S[some]), N)))
        yields = (values > _SINGULAR * values.max(axis=1, initial=0.0)[:, None]) & (values > 0.0)
        inverse = np.where(yields, 1.0 / np.where(yields, values, 1.0), 0.0)
        asked = inverse * columns_times(vectors.swapaxes(1, 2), columns_times(back, push[some]))
        found[some] = columns_times(N, -columns_times(vectors, asked))
        return found


@dataclass(frozen=True)
class Chain:
    """Orthonormal directions along which rows lie: A = R Q to rounding.

    Attributes:
        Q: (W, k, n), zero from the rank of each world on.
        R: (W, m, k).
        counts: (W, k) bool, whether a direction is one.
    """

    Q: Array
    R: Array
    counts: Array

    @staticmethod
    def of(A: Array, rank: float) -> "Chain":
        """As `span_of`.

        Source: Gram-Schmidt with pivoting and reorthogonalisation (Golub and Van Loan, Matrix Computations, 2013, sections
        5.2 and 5.4). Deviation: all worlds go on until none has another direction, those that are done with zeros.
        """
        rest, lead, most = np.array(A, order="F"), len(A), min(A.shape[1:])
        Q, R = np.zeros((lead, most, A.shape[2]), order="F"), np.zeros((lead, A.shape[1], most), order="F")
        counts, least = np.zeros((lead, most), bool, order="F"), None
        for k in range(most):
            longest, square = _longest(rest)
            least = square * rank**2 if least is None else least
            counts[:, k] = (square > least) & (square > 0.0)
            if not counts[:, k].any():
                return Chain(Q[:, :k], R[:, :, :k], counts[:, :k])
            Q[:, k] = _beside(longest, Q[:, :k], counts[:, k])
            R[:, :, k] = columns_times(rest, Q[:, k])
            rest -= R[:, :, k, None] * Q[:, k, None]
        return Chain(Q, R, counts)

    def others(self) -> Array:
        """Orthonormal directions that no row has a part along, (W, j, n), zero where there are no more of them."""
        lead, _, n = self.Q.shape
        rank = self.counts.sum(axis=1)
        found, left = self.Q, np.ones((lead, n), order="F")  # squares of what is left of unit vectors
        for q in np.moveaxis(self.Q, 1, 0):
            left -= np.square(q)
        for k in range(n - int(rank.min(initial=n))):
            start = np.zeros((lead, n), order="F")
            start[np.arange(lead), left.argmax(axis=1)] = 1.0
            q = _beside(start, found, rank + k < n)
            found, left = np.concatenate((found, q[:, None]), axis=1), left - np.square(q)
        return found[:, self.Q.shape[1] :]

    def rest(self, S: Array, push: Array) -> Array:
        """The x across all rows that makes 1/2 x' S x + x' push least, the shortest of them, (W, n).

        Args:
            S: (W, n, n), symmetric, positive semidefinite, with a diagonal of ones or less.
            push: (W, n).
        """
        N = self.others()
        if not N.shape[1]:
            return np.zeros(push.shape, order="F")
        H = np.zeros((len(S), N.shape[1], N.shape[1]), order="F")
        for k in range(N.shape[1]):
            H[:, :, k] = columns_times(N, columns_times(S, N[:, k]))
        return columns_times(N.swapaxes(1, 2), Chain.of(H, _SINGULAR).solved(-columns_times(N, push)))

    def solved(self, b: Array) -> Array:
        """The shortest x that makes |A x - b| least, (W, n), of b (W, m).

        Source: as above, section 5.3: modified Gram-Schmidt on R, with b as a last column. No deviation.
        """
        n, rest = self.R.shape[2], np.array(b, order="F")
        U, T, asked = np.array(self.R, order="F"), np.zeros((len(b), n, n), order="F"), np.zeros((len(b), n), order="F")
        for k in range(n):
            u = U[:, :, k]
            T[:, k, k] = size = np.sqrt(dotted(u, u))
            u /= np.where(size > 0.0, size, 1.0)[:, None]
            T[:, k, k + 1 :] = columns_times(U[:, :, k + 1 :].swapaxes(1, 2), u)
            U[:, :, k + 1 :] -= u[:, :, None] * T[:, k, None, k + 1 :]
            asked[:, k] = dotted(u, rest)
            rest -= asked[:, k, None] * u
        for k in range(n - 1, -1, -1):
            asked[:, k] /= np.where(self.counts[:, k], T[:, k, k], 1.0)
            asked[:, :k] -= T[:, :k, k] * asked[:, k, None]
        return columns_times(self.Q.swapaxes(1, 2), np.where(self.counts, asked, 0.0))


Span = Chain | Spectrum


def null_projection(span: Span) -> Array:
    """Projections on what no row has a part along, (W, n, n)."""
    P = np.zeros((len(span.counts), span.Q.shape[2], span.Q.shape[2]), order="F")
    P[:, np.arange(P.shape[1]), np.arange(P.shape[1])] = 1.0
    for k in range(span.counts.shape[1]):
        q = np.where(span.counts[:, k, None], span.Q[:, k], 0.0)
        P -= q[:, :, None] * q[:, None]
    return P


def orientation(A: Array, singular: float) -> Array:
    """Signs of determinants, (W,), 0 where a pivot is below a part of the largest one.

    Args:
        A: (W, n, n).
        singular: that part.

    Source: Gaussian elimination with row pivoting. Deviation: the others go on below a pivot of zero.
    """
    rest, n, worlds = np.array(A, order="F"), A.shape[1], np.arange(len(A))
    sign, least, largest = np.ones(len(A)), np.full(len(A), np.inf), np.zeros(len(A))
    for k in range(n):
        which = np.abs(rest[:, k:, k]).argmax(axis=1) + k
        pivot, first = np.asfortranarray(rest[worlds, which]), rest[:, k].copy("K")
        rest[worlds, which], rest[:, k] = first, pivot
        size = np.abs(pivot[:, k])
        sign *= np.sign(pivot[:, k]) * np.where(which == k, 1.0, -1.0)
        least, largest = np.minimum(least, size), np.maximum(largest, size)
        share = rest[:, k + 1 :, k] / np.where(size > 0.0, pivot[:, k], 1.0)[:, None]
        rest[:, k + 1 :, k + 1 :] -= share[:, :, None] * pivot[:, None, k + 1 :]
    return np.where(least > singular * largest, sign, 0.0)


def columns_times(A: Array, x: Array) -> Array:
    """Matrices times vectors, (W, m), the columns summed one after another: a world comes out the same in any batch."""
    return _summed([A[:, :, k] * x[:, k, None] for k in range(A.shape[2])], A.shape[:2])


def dotted(a: Array, b: Array) -> Array:
    """Scalar products of vectors, (W,), of two (W, n)."""
    return _summed([a[:, k] * b[:, k] for k in range(a.shape[1])], a.shape[:1])


def _summed(terms: list[Array], shape: tuple[int, ...]) -> Array:
    """Their sum in their order, never a zero with a sign; the first of them is written to."""
    if not terms:
        return np.zeros(shape)
    found = np.add(terms[0], 0.0, out=terms[0])
    for one in terms[1:]:
        found += one
    return found


def _longest(rows: Array) -> tuple[Array, Array]:
    """The longest of some rows, (W, n), of (W, m, n), and the square of its length."""
    square = _summed([np.square(rows[:, :, k]) for k in range(rows.shape[2])], rows.shape[:2])
    if rows.shape[1] == 1:
        return rows[:, 0], square[:, 0]
    worlds, which = np.arange(len(rows)), square.argmax(axis=1)
    return np.asfortranarray(rows[worlds, which]), square[worlds, which]


def _beside(v: Array, Q: Array, is_one: Array) -> Array:
    """Vectors, (W, n), of length one and across directions, (W, k, n); zero where they are none, (W,) bool."""
    v = _unit(v, is_one)
    if not Q.shape[1]:
        return v
    for k in range(Q.shape[1]):
        v -= dotted(Q[:, k], v)[:, None] * Q[:, k]
    return _unit(v, is_one)


def _unit(v: Array, is_one: Array) -> Array:
    length = np.sqrt(dotted(v, v))
    return np.where(is_one[:, None], v / np.where(length > 0.0, length, 1.0)[:, None], 0.0)


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


def alike(patterns: Array) -> list[Array]:
    """Worlds by their patterns, each (n,).

    Args:
        patterns: (W, n) bool.
    """
    if (patterns == patterns[:1]).all():
        return [np.arange(len(patterns))]
    _, which = np.unique(patterns, axis=0, return_inverse=True)
    return [np.flatnonzero(which.reshape(-1) == k) for k in range(which.max() + 1)]


def in_worlds(array: Array, worlds: Array) -> Array:
    """Rows of some worlds, (n, ...), laid component by component, worlds side by side.

    Args:
        array: (W, ...).
        worlds: (n,).
    """
    if rot.is_by_components(array):
        return np.take(array.T, worlds, axis=-1).T
    return np.array(array[worlds], order="F")
