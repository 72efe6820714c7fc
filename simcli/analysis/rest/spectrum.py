"""Linear algebra of a mechanism at rest: eigenvalues of small motions, and least distances within lower bounds.

Of M y'' + C y' + K y = 0 without damping, and with a symmetric stiffness, K y = omega^2 M y; else the eigenvalues s of the
state matrix. Directions that neither stiffness nor damping knows are taken out first, so that they come out as exact zeros.

The shortest solution of linear equations within lower bounds is

    min |x - x0|   where A x = b,   x_k >= lower_k

The equations leave x = p + N z; the inequalities on z are a problem of least distance, which is one of least squares of its
multipliers, none of them negative.

Source: Lawson and Hanson (1974), Solving Least Squares Problems, chapters 20 and 23. Deviation: the constraints that act are
solved once more, for the last digits.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from simcli.model.tables.model import Array

SYMMETRIC = 1e-8  # part of a stiffness that is skew and yet rounding of its differences
REAL = 1e-9  # imaginary part of an eigenvalue relative to its size that is none
_ROUNDING = 4e-15  # real part of an oscillation relative to the largest eigenvalue that is none
UNDAMPED = 1e-10  # damping ratio that is rounding of the stiffness
EIGENVALUES = 1e-15  # rounding of eigenvalues, relative to the largest, per direction
NO_FORCE = 1e-9  # of the largest stiffness, along a direction without inertia that is only known to rounding
_MASSLESS = 1e-13  # inertia of a direction relative to the others that is none


class ModeKind(StrEnum):
    """What a small motion does."""

    ZERO = "zero"  # it stays where it is put
    OSCILLATION = "oscillation"
    DECAY = "decay"
    GROWTH = "growth"


@dataclass(frozen=True)
class Mode:
    """A small motion y(t) = Re(shape exp(s t)).

    Attributes:
        kind: what it does.
        eigenvalue: [1/s], s; of a pair the one with Im > 0, or the growing one.
        partner: [1/s], the other of a pair; None if it is alone.
        shape: (m,), complex if there is damping, of modal mass 1 if there is none.
    """

    kind: ModeKind
    eigenvalue: complex
    partner: complex | None
    shape: Array

    @property
    def omega(self) -> float:
        """[rad/s], |s|: the undamped angular frequency of an oscillation."""
        return abs(self.eigenvalue)

    @property
    def frequency(self) -> float:
        """[Hz], at which it swings, damping counted."""
        return abs(self.eigenvalue.imag) / (2.0 * np.pi)

    @property
    def damping_ratio(self) -> float | None:
        """[1], -Re s / |s| of what oscillates, else None; negative where the oscillation grows."""
        return 0.0 - self.eigenvalue.real / self.omega if self.eigenvalue.imag else None


class MasslessError(ValueError):
    """A direction has stiffness or damping and no inertia.

    Attributes:
        direction: (m,).
    """

    def __init__(self, direction: Array):
        self.direction = direction
        super().__init__("a direction has stiffness or damping and no inertia")


def modes_of(M: Array, C: Array, K: Array, noise: Array) -> tuple[list[Mode], int]:
    """Modes by rising size of their eigenvalues.

    Args:
        M: (m, m), symmetric, positive semidefinite.
        C: (m, m).
        K: (m, m).
        noise: (m, m), of K: stiffness that is none.

    Returns:
        The modes, and the number of directions left out because nothing at all acts on them, inertia included.

    Raises:
        MasslessError: a direction without inertia that is not free of forces.
    """
    T, idle = inertial_directions(M, C, K, noise)
    M, C, K = (T.T @ X @ T for X in (M, C, K))
    noise = np.abs(T).T @ noise @ np.abs(T)
    size = np.sqrt(np.abs(np.diag(K)))
    if (np.abs(K - K.T) <= SYMMETRIC * np.outer(size, size) + noise + noise.T).all():
        K = 0.5 * (K + K.T)
    L_inverse = np.linalg.inv(np.linalg.cholesky(M)) if len(M) else M
    A, B = (L_inverse @ X @ L_inverse.T for X in (K, C))
    if not C.any() and np.array_equal(K, K.T):
        found = undamped(A, L_inverse, noise)
    else:
        found = damped(A, B, L_inverse, K, C, noise)
    modes = [Mode(mode.kind, mode.eigenvalue, mode.partner, T @ mode.shape) for mode in found]
    return sorted(modes, key=lambda mode: mode.omega), idle


def inertial_directions(M: Array, C: Array, K: Array, noise: Array) -> tuple[Array, int]:
    """Directions that have inertia, as columns, (n, m), and the number of those that have nothing at all.

    Args:
        M: (n, n), masses in the coordinates of the small motion.
        C: (n, n), damping.
        K: (n, n), stiffness.
        noise: (n, n), errors that the entries of K may have.

    Raises:
        MasslessError: the rest is not free of forces.
    """
    heavy, idle = split_by_inertia(M)
    for direction in idle.T:
        force = np.maximum(np.abs(K @ direction), np.abs(K.T @ direction))
        if (force > noise @ np.abs(direction) + NO_FORCE * np.abs(K).max()).any() or (C @ direction).any():
            raise MasslessError(direction)
    return heavy, idle.shape[1]


def split_by_inertia(M: Array) -> tuple[Array, Array]:
    """Directions with inertia and those without, as columns."""
    values, vectors = np.linalg.eigh(0.5 * (M + M.T))
    heavy = values > _MASSLESS * values.max(initial=0.0)
    return vectors[:, heavy], vectors[:, ~heavy]


def rounding_of(values: Array, shapes: Array, noise: Array) -> Array:
    """What eigenvalues may be wrong by: errors of K along the shapes, (m, n), and those of the eigenvalue solver."""
    along = np.einsum("in,ij,jn->n", np.abs(shapes), noise, np.abs(shapes))
    return along + EIGENVALUES * len(values) * np.abs(values).max(initial=0.0)


def undamped(A: Array, L_inverse: Array, noise: Array) -> list[Mode]:
    """Modes of y'' + A y = 0, A symmetric."""
    squares, vectors = np.linalg.eigh(A)
    shapes = L_inverse.T @ vectors
    modes = []
    for square, shape, rounding in zip(squares, shapes.T, rounding_of(squares, shapes, noise), strict=True):
        root = complex(np.sqrt(abs(square)))
        if abs(square) <= rounding:
            modes.append(Mode(ModeKind.ZERO, 0j, 0j, shape))
        elif square > 0.0:
            modes.append(Mode(ModeKind.OSCILLATION, 1j * root, -1j * root, shape))
        else:
            modes.append(Mode(ModeKind.GROWTH, root, -root, shape))
    return modes


def damped(A: Array, B: Array, L_inverse: Array, K: Array, C: Array, noise: Array) -> list[Mode]:
    """Modes of y'' + B y' + A y = 0.

    Args:
        A: [1/s^2], (m, m), stiffness in coordinates y whose mass matrix is the unit matrix.
        B: [1/s], (m, m), damping in these.
        L_inverse: (m, m), the inverse of the Cholesky factor L of the mass matrix M = L L^T.
        K: (m, m), stiffness before that change of coordinates.
        C: (m, m), damping before it.
        noise: (m, m), errors that the entries of K may have.
    """
    m = len(A)
    quiet = flat_directions(np.concatenate((K, K.T)), np.concatenate((noise, noise.T)))
    deaf = quiet @ _null_space(np.concatenate((C, C.T)) @ quiet, 1e-12 * np.abs(C).max(initial=0.0))
    Z, _ = np.linalg.qr(np.linalg.solve(L_inverse, np.eye(m)).T @ deaf)
    Q = _null_space(Z.T, 0.5)  # of Z, whose columns are orthonormal: all that is at right angles to them
    modes = [Mode(ModeKind.ZERO, 0j, 0j, L_inverse.T @ z) for z in Z.T]
    a, b, n = Q.T @ A @ Q, Q.T @ B @ Q, Q.shape[1]
    state = np.block([[np.zeros((n, n)), np.eye(n)], [-a, -b]])
    values, vectors = np.linalg.eig(state) if n else (np.zeros(0), np.zeros((0, 0)))
    values = values.astype(complex)
    still = np.argsort(np.abs(values))[: flat_directions(K, noise).shape[1] - Z.shape[1]]
    values[still] = 0.0
    flat = np.abs(values.imag) <= REAL * np.abs(values)
    values[flat] = values[flat].real
    size = np.maximum(_ROUNDING * np.abs(values).max(initial=0.0), UNDAMPED * np.abs(values))
    lasting = ~flat & (np.abs(values.real) <= size)
    values[lasting] = 1j * values[lasting].imag
    for value, vector in zip(values, vectors.T, strict=True):
        if value.imag >= 0.0:
            modes.append(
                Mode(kind_of_mode(value), value, value.conjugate() if value.imag else None, L_inverse.T @ Q @ vector[:n])
            )
    return modes


def kind_of_mode(value: complex) -> ModeKind:
    """What a small motion with an eigenvalue [1/s] does."""
    if value == 0:
        return ModeKind.ZERO
    if value.imag:
        return ModeKind.OSCILLATION
    return ModeKind.GROWTH if value.real > 0.0 else ModeKind.DECAY


def flat_directions(K: Array, noise: Array) -> Array:
    """Orthonormal directions that a stiffness takes to nothing but its errors, as columns."""
    if not K.shape[1]:
        return np.zeros((0, 0))
    _, values, right = np.linalg.svd(K, full_matrices=False)
    error = np.linalg.norm(noise @ np.abs(right.T), axis=0) + EIGENVALUES * len(values) * values.max()
    return right[values <= error].T


def _null_space(matrix: Array, threshold: float) -> Array:
    """Orthonormal directions that a matrix takes to nothing: singular values up to a threshold."""
    if not matrix.shape[1]:
        return np.zeros((0, 0))
    _, values, right = np.linalg.svd(matrix)
    rank = int((values > threshold).sum())
    return right[rank:].T


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


_HALVINGS = 80  # of a bound, until it is known to rounding


def least_of(A: Array, b: Array, lower: Array, takes_sum: bool) -> Array | None:
    """The solution of A x = b with the least sum, or else the least largest |x|, in the sense of `nearest`.

    The least bound that leaves a solution is found by halving, each bound asked by `least_distance`; of the solutions that
    it leaves one near the shortest is taken.

    Args:
        A: (m, n).
        b: (m,).
        lower: (n,), -inf where x has no bound; a sum needs all of them.
        takes_sum: whether the sum is bounded.

    Returns:
        (n,); None if no solution keeps the bounds.
    """
    best = nearest(A, b, np.zeros(len(lower)), lower)
    if best is None:
        return None
    inverse, N = null_space(A)
    x, bounded = inverse @ b, np.isfinite(lower)
    size = max(np.abs(best).max(initial=0.0), np.abs(lower[bounded]).max(initial=0.0))
    if size == 0.0 or not N.shape[1]:
        return best
    low, high = 0.0, float(best.sum() if takes_sum else np.abs(best).max())
    rows = -np.ones((1, len(x))) if takes_sum else np.vstack((-np.eye(len(x)), np.eye(len(x))[~bounded]))
    for _ in range(_HALVINGS):
        bound = 0.5 * (low + high)
        G, lacks = np.vstack((N[bounded], rows @ N)), np.concatenate(((lower - x)[bounded], -bound - rows @ x))
        with np.errstate(divide="ignore", invalid="ignore"):  # a bound that leaves almost nothing spoils the step
            step = least_distance(G, lacks / size)
            is_spoilt = step is None or not (G @ step >= lacks / size - EMPTY).all()
        if step is None or is_spoilt:
            low = bound
        else:
            best, high = x + N @ (step * size), bound
    return best


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
