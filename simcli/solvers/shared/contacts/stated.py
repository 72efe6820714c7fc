"""The contacts of the step that a solver took last, as numpy sees them: for oracles and benchmarks."""

import numpy as np

from simcli.kernels.complementarity.large import DOFS


def stated_contacts(solver) -> list[tuple]:
    """J, M, v, impulses, biases and friction of the contacts of each world, in the problem's order of velocities.

    Args:
        solver: after `advance`, of a scene with contacts.

    Returns:
        (C, 3, n), (n, n), (n,), [N s] (C, 3), [m/s] (C, 3), (C,): the arguments of analysis/natural_map.py.
    """
    p = solver.core.bound.impulses.problem
    n, side = p.n, p.contacts
    counts = solver.core.bound.impulses.contacts.collider.contacts.count.read()[:, 0, 0].astype(int)
    if p.is_large:
        J, M = stated_sparsely(p, counts)
    else:
        J = np.where(seen_columns(side, n), side.jacobian.read().reshape(len(counts), side.count, n, 3), 0.0).swapaxes(2, 3)
        M = symmetric(p.mass.read()[..., 0], n)
    v, x, b, mu = p.velocity.read()[..., 0], side.impulse.read(), side.bias.read(), p.friction.read()[..., 0]
    return [(J[w, :c], M[w], v[w], x[w, :c], b[w, :c], mu[w, :c]) for w, c in enumerate(counts)]


def seen_columns(side, n: int) -> np.ndarray:
    """(W, C, n, 1), of which velocities contacts see something; what stands elsewhere means nothing."""
    threes, length = side.columns.read()[..., 0].reshape(-1, side.count, n), side.length.read()
    seen = np.zeros((len(threes), side.count, n + 1), bool)
    at = np.where(np.arange(n) < length, threes, n / 3).astype(int)
    for m in range(3):
        np.put_along_axis(seen, np.minimum(3 * at + m, n), True, axis=2)
    return seen[..., :n, None]


def symmetric(entries: np.ndarray, n: int) -> np.ndarray:
    """(..., n, n), from the lower triangle row by row."""
    lower = np.zeros((*entries.shape[:-1], n, n))
    lower[..., *np.tril_indices(n)] = entries
    return lower + np.tril(lower, -1).swapaxes(-1, -2)


def stated_sparsely(p, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J and M of large worlds, with all their zeros."""
    n_worlds, most, large = len(counts), int(counts.max(initial=0)), p.large
    body = large.body.read().reshape(n_worlds, -1, 2).astype(int)
    seen = large.seen.read().reshape(n_worlds, -1, 2, DOFS, 3).swapaxes(3, 4)
    J, M = np.zeros((n_worlds, most, 3, p.n)), np.zeros((n_worlds, p.n, p.n))
    blocks = symmetric(p.mass.read().reshape(n_worlds, large.n_bodies, -1), DOFS)
    for b in range(large.n_bodies):
        M[:, DOFS * b : DOFS * (b + 1), DOFS * b : DOFS * (b + 1)] = blocks[:, b]
    for w, count in enumerate(counts):
        for c in range(count):
            for side in np.flatnonzero(body[w, c] >= 0):
                at = DOFS * body[w, c, side]
                J[w, c, :, at : at + DOFS] = seen[w, c, side]
    return J, M
