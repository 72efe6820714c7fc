"""The contacts of the step that a solver took last, as numpy sees them: for oracles and benchmarks."""

import numpy as np


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
    J = side.jacobian.read().reshape(len(counts), side.count, n, 3).swapaxes(2, 3)
    lower = np.zeros((len(counts), n, n))
    lower[:, *np.tril_indices(n)] = p.mass.read()[..., 0]
    M = lower + np.tril(lower, -1).swapaxes(1, 2)
    v, x, b, mu = p.velocity.read()[..., 0], side.impulse.read(), side.bias.read(), p.friction.read()[..., 0]
    return [(J[w, :c], M[w], v[w], x[w, :c], b[w, :c], mu[w, :c]) for w, c in enumerate(counts)]
