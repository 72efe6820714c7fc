"""Steps of affine bodies in numpy, from libuipc's equations: rows of A, J(x) = [1 | 1 (x) x^T]; no code shared."""

import numpy as np


def mass_matrix(mass, com, inertia):
    """M of q = (p, rows of A), about the body's origin.

    Args:
        mass: [kg].
        com: [m], (3,), body frame.
        inertia: [kg m^2], (3, 3), about the centre of mass.

    Returns:
        (12, 12).
    """
    about = inertia + mass * (com @ com * np.eye(3) - np.outer(com, com))
    second = 0.5 * np.trace(about) * np.eye(3) - about
    M = np.zeros((12, 12))
    M[:3, :3] = mass * np.eye(3)
    for i in range(3):
        block = slice(3 + 3 * i, 6 + 3 * i)
        M[i, block] = M[block, i] = mass * com
        M[block, block] = second
    return M


def shape(q, stiffness):
    """Energy k |A A^T - 1|^2, gradient, Hessian, all analytic."""
    A = q[3:].reshape(3, 3)
    C = A @ A.T - np.eye(3)
    gradient, H = np.zeros(12), np.zeros((12, 12))
    gradient[3:] = (4.0 * stiffness * C @ A).ravel()
    for i in range(3):
        for j in range(3):
            block = np.outer(A[j], A[i]) + (A[i] @ A[j]) * np.eye(3)
            if i == j:
                block = 2.0 * np.outer(A[i], A[i]) + (A[i] @ A[i] - 1.0) * np.eye(3)
                block += sum(np.outer(A[m], A[m]) for m in range(3) if m != i)
            H[3 + 3 * i : 6 + 3 * i, 3 + 3 * j : 6 + 3 * j] = 4.0 * stiffness * block
    return stiffness * np.sum(C * C), gradient, H


def couple(q, torque):
    """Force on q of a torque in world axes: rows of [torque]x A^-T / 2."""
    x, y, z = torque
    F = 0.5 * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ np.linalg.inv(q[3:].reshape(3, 3)).T
    return np.concatenate((np.zeros(3), F.ravel()))


def steps(q, v, M, stiffness, h, n, integrator, force):
    """N steps of a free body, each solved by Newton to rounding.

    Args:
        q, v: (12,) state.
        M: (12, 12).
        stiffness: [J].
        h: [s].
        integrator: bdf1 or bdf2; the first step is one of bdf1.
        force: of coordinates (12,), by where the free flight leads.

    Returns:
        (n + 1, 12) coordinates and velocities.
    """
    states, before = [(q, v)], (q, v)
    for k in range(n):
        second = integrator == "bdf2" and k > 0
        alpha, w = (1.5 / h, 1.0 / 3.0) if second else (1.0 / h, 0.0)
        past, rate = q + w * (q - before[0]), v + w * (v - before[1])
        flight = past + rate / alpha
        target = flight + np.linalg.solve(M, force(flight)) / alpha**2
        x = q.copy()
        for _ in range(60):
            _, g, H = shape(x, stiffness)
            move = -np.linalg.solve(alpha**2 * M + H, alpha**2 * M @ (x - target) + g)
            x = x + move
            if np.abs(move).max() < 1e-14:
                break
        before, q, v = (q, v), x, alpha * (x - past)
        states.append((q, v))
    return tuple(np.array(part) for part in zip(*states, strict=True))


def polar(q):
    """Rotation nearest to A."""
    U, _, V = np.linalg.svd(q[3:].reshape(3, 3))
    return U @ V
