"""Where a stack of cubes balances on the barriers between them: statics of rigid bodies, by numpy alone.

Every interface has four contacts, at the corners of the area that two faces share. What stands above it gives their sum
and their moments; the gaps lie in a plane, and each carries what the barrier says. What
friction holds does not slide, so that a tilted face carries all that stands on it aside.
"""

import numpy as np

from support.barriers import rest_gap

ROUNDS = 60  # of Newton's method and of the loads by the places that they lead to: far more than either needs


def load(gap, d_hat, stiffness):
    """[N], slope of the barrier."""
    y = gap * gap - d_hat * d_hat
    return stiffness * (4 * gap * y * np.log(gap * gap / d_hat**2) + 2 * y * y / gap)


def gap_plane(corners, weight, centre, d_hat, stiffness):
    """Height and slopes (c, a, b) of the gap c + a x + b y between two faces.

    Args:
        corners: [m], (4, 2), of the area that they share.
        weight: [N].  centre: [m], (2,), where its line of action meets the faces.
    """
    A = np.column_stack((np.ones(len(corners)), corners))
    z = np.array([rest_gap(weight / len(corners), d_hat, stiffness), 0.0, 0.0])
    wanted = weight * np.array([1.0, *centre])
    for _ in range(ROUNDS):
        gap, step = A @ z, 1e-6 * d_hat
        rise = (load(gap + step, d_hat, stiffness) - load(gap - step, d_hat, stiffness)) / (2 * step)
        z = z - np.linalg.solve(A.T @ (rise[:, None] * A), A.T @ load(gap, d_hat, stiffness) - wanted)
    return z


def balanced(aside, size, mass, d_hat, stiffness, g=9.81):
    """Where cubes balance, the lowest on the ground.

    Args:
        aside: [m], (N, 2), of the centres, if the stack stood level.  size: [m].  mass: [kg].  stiffness: [J/m^4].

    Returns:
        [m], (N, 3), centres; [1], (N, 2), slopes of the faces along x and y.
    """
    place = np.column_stack((aside, np.zeros(len(aside))))
    for _ in range(ROUNDS):
        place, slope = _placed(aside, place[:, :2] - aside, size, mass * g, d_hat, stiffness)
    return place, slope


def _placed(aside, lean, size, weight, d_hat, stiffness):
    """Centres and slopes with the loads of cubes that lean by `lean` [m], (N, 2)."""
    n = len(aside)
    places, slopes = [], []
    top, slope, base = np.array([*aside[0], 0.0]), np.zeros(2), aside[0]
    for k in range(n):
        low, high = np.maximum(aside[k], base) - size / 2, np.minimum(aside[k], base) + size / 2
        middle = 0.5 * (low + high)
        corners = np.array([(x, y) for x in (low[0], high[0]) for y in (low[1], high[1])]) - middle
        foot = top + np.array([*(middle - base), slope @ (middle - base)])
        centre = (aside[k:] + lean[k:]).mean(axis=0) - foot[:2]
        c, *more = gap_plane(corners, weight * (n - k), centre, d_hat, stiffness)
        foot = foot + c * np.array([*-slope, 1.0])
        slope = slope + more
        up = np.array([*-slope, 1.0])
        places.append(foot + np.array([*(aside[k] - middle), slope @ (aside[k] - middle)]) + 0.5 * size * up)
        slopes.append(slope)
        top, base = places[-1] + 0.5 * size * up, aside[k]
    return np.array(places), np.array(slopes)
