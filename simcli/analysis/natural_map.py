"""How far velocities and impulses are from Coulomb's law and unilateral contact, in m/s, of any engine's step.

    P(x - u/d) = x,  u = w + mu |w_t| n,  w = J v + b;   the natural map is d (x - P(x - u/d))

Source: Fukushima, Luo and Tseng (2002), the natural map of the cone. Deviation: none; the device's own is
complementarity/cones.py.
"""

import numpy as np


def natural_map(
    J: np.ndarray, M: np.ndarray, v: np.ndarray, impulse: np.ndarray, bias: np.ndarray, mu: np.ndarray
) -> np.ndarray:
    """Largest part of the natural map of each contact.

    Args:
        J: (C, 3, n), what contacts see of velocities: normal, two tangents.
        M: (n, n), mass matrix, with what acts like one in a step.
        v: (n,), velocities at the end of the step.
        impulse: [N s], (C, 3).
        bias: [m/s], (C, 3), added to J v: the gap over the step.
        mu: [1], (C,), friction.

    Returns:
        [m/s], (C,).
    """
    if not len(J):
        return np.zeros(0)
    d = np.einsum("cin,cin->c", J, np.linalg.solve(M, J.reshape(-1, len(v)).T).T.reshape(J.shape)) / 3.0
    w = J @ v + bias
    u = w.copy()
    u[:, 0] += mu * np.linalg.norm(w[:, 1:], axis=1)
    moved = impulse - u / d[:, None]
    inside = np.linalg.norm(moved[:, 1:], axis=1) <= mu * moved[:, 0]
    value = np.where((inside & (moved[:, 0] >= 0))[:, None], u, (impulse - _on_cone(moved, mu)) * d[:, None])
    return np.abs(value).max(axis=1)


def _on_cone(x: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """The nearest points of the cones |x_t| <= mu x_n.

    Args:
        x: (C, 3), normal part first.
        mu: [1], (C,).
    """
    n, r = x[:, 0], np.linalg.norm(x[:, 1:], axis=1)
    inside, below = (r <= mu * n) & (n >= 0), mu * r <= -n
    height = np.where(below, 0.0, (n + mu * r) / (1.0 + mu * mu))
    shrink = mu * height / np.where(r > 0, r, 1.0)
    return np.where(inside[:, None], x, np.column_stack([height, x[:, 1:] * shrink[:, None]]))
