"""Quaternions: products, rotations of vectors, matrices, rotation vectors and their rates."""

import math
from functools import reduce

import numpy as np

from simcli.rotations.vectors import cross, dot, each, is_by_components, joined, square_of, unit

_Array = np.ndarray
SMALL_SINE = 1e-6  # of half an angle, below which 2 asin(s) / s is 2
# Of `spin_of_vector`: below this angle [rad] its factors a, b, a', b' are series in the square of it.
SMALL_ANGLE = 0.1
SPIN_SERIES = (
    (1 / 2, -1 / 24, 1 / 720, -1 / 40320, 1 / 3628800),
    (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800),
    (-1 / 12, 1 / 180, -1 / 6720, 1 / 453600, -1 / 47900160),
    (-1 / 60, 1 / 1260, -1 / 60480, 1 / 4989600, -1 / 622702080),
)


def quat_multiply(a: _Array, b: _Array) -> _Array:
    """Product of quaternions, R(ab) = R(a) R(b).

    Args:
        a: [1], (..., 4), x y z w.
        b: [1], (..., 4), x y z w.

    Returns:
        [1], (..., 4), x y z w.
    """
    ax, ay, az, aw = (a[..., i] for i in range(4))
    bx, by, bz, bw = (b[..., i] for i in range(4))
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    w = aw * bw - ax * bx - ay * by - az * bz
    return joined((x, y, z, w), a if is_by_components(a) else b)


def quat_inverse(q: _Array) -> _Array:
    """Conjugate of a unit quaternion.

    Args:
        q: [1], (..., 4), x y z w.

    Returns:
        [1], (..., 4), x y z w.
    """
    return q * np.array((-1.0, -1.0, -1.0, 1.0))


def quat_rotate(q: _Array, v: _Array) -> _Array:
    """Vector turned by a quaternion.

        v' = v + 2 w (u x v) + 2 u x (u x v),  q = (u, w)

    Args:
        q: [1], (..., 4), x y z w.
        v: (..., 3).

    Returns:
        (..., 3).
    """
    u, w = q[..., :3], q[..., 3:]
    t = 2.0 * cross(u, v)
    return v + w * t + cross(u, t)


def quat_to_matrix(q: _Array) -> _Array:
    """Rotation matrix of a quaternion; orthogonal to rounding even if the quaternion is not quite unit.

    Args:
        q: [1], (..., 4), x y z w, not zero.

    Returns:
        [1], (..., 3, 3).
    """
    q = np.asarray(q, dtype=float)
    scale = 2.0 / square_of(q)
    x, y, z, w = (q[..., i] for i in range(4))
    xs, ys, zs = x * scale, y * scale, z * scale
    rows = (
        1.0 - (y * ys + z * zs),
        x * ys - w * zs,
        x * zs + w * ys,
        x * ys + w * zs,
        1.0 - (x * xs + z * zs),
        y * zs - w * xs,
        x * zs - w * ys,
        y * zs + w * xs,
        1.0 - (x * xs + y * ys),
    )
    return joined(rows, q, (3, 3))


def matrix_to_quat(R: _Array) -> _Array:
    """Quaternion of a rotation matrix, w >= 0; accurate at every angle.

    The symmetric matrix 4 q q^T is linear in R; its row with the largest diagonal entry is a multiple of q that
    suffers no cancellation.

    Args:
        R: [1], (..., 3, 3), rotation.

    Returns:
        [1], (..., 4), x y z w.

    Source: Shepperd's choice of the largest component. No deviation.
    """
    R = np.asarray(R, dtype=float)
    m = [[R[..., i, k] for k in range(3)] for i in range(3)]
    xy, xz, yz = m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]
    xw, yw, zw = m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]
    xx = 1.0 + m[0][0] - m[1][1] - m[2][2]
    yy = 1.0 - m[0][0] + m[1][1] - m[2][2]
    zz = 1.0 - m[0][0] - m[1][1] + m[2][2]
    ww = 1.0 + m[0][0] + m[1][1] + m[2][2]
    rows = ((xx, xy, xz, xw), (xy, yy, yz, yw), (xz, yz, zz, zw), (xw, yw, zw, ww))
    table = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    best = np.stack((xx, yy, zz, ww), axis=-1).argmax(axis=-1)
    q = np.take_along_axis(table, best[..., None, None], axis=-2)[..., 0, :]
    q = unit(q)
    return np.where(q[..., 3:] < 0.0, -q, q)


def quat_from_axis_angle(axis: _Array, angle: _Array) -> _Array:
    """Quaternion of a turn about a unit axis.

    Args:
        axis: [1], (..., 3), unit.
        angle: [rad], (...), right-handed.

    Returns:
        [1], (..., 4), x y z w.
    """
    half = 0.5 * np.asarray(angle, dtype=float)[..., None]
    axis = np.asarray(axis, dtype=float)
    xyz = each(math.sin, half) * axis
    return np.concatenate((xyz, np.broadcast_to(each(math.cos, half), (*xyz.shape[:-1], 1))), axis=-1)


def quat_from_vector(vector: _Array) -> _Array:
    """Quaternion of a rotation vector.

    Args:
        vector: [rad], (..., 3).

    Returns:
        [1], (..., 4), x y z w.
    """
    angle = np.sqrt(dot(vector, vector))
    safe = np.where(angle > 0.0, angle, 1.0)
    return quat_from_axis_angle(vector / safe[..., None], angle)


def rotation_log(quat: _Array) -> tuple[_Array, _Array]:
    """Rotation vectors, at most half a turn long, and the factor f in J_l^-T c = c + p x c / 2 + f p x (p x c).

    Args:
        quat: [1], (..., 4), x y z w, w >= 0.

    Source: kernels/language/elementary.py has the same formulas for the device. No deviation.
    """
    sine = np.sqrt(dot(quat[..., :3], quat[..., :3]))
    small = sine < SMALL_SINE
    angle, safe = 2.0 * each(math.atan2, sine, quat[..., 3]), np.where(small, 1.0, sine)
    vector = quat[..., :3] * np.where(small, 2.0, angle / safe)[..., None]
    theta = np.where(small, 1.0, angle)
    factor = np.where(small, 1.0 / 12.0, (1.0 - theta * quat[..., 3] / (2.0 * safe)) / (theta * theta))
    return vector, factor


def spin_of_vector(vector: _Array, rate: _Array, change: _Array) -> tuple[_Array, _Array]:
    """Angular velocity and acceleration of a frame whose rotation vector p has the rates p' and p''.

        w = p' + a p x p' + b p x (p x p'),   a = (1 - cos t) / t^2,   b = (t - sin t) / t^3,   t = |p|
        w' = p'' + a p x p'' + b p x (p x p'') + a' p x p' + b' p x (p x p') + b p' x (p x p')

    Args:
        vector: [rad], (..., 3), p.
        rate: [rad/s], (..., 3).
        change: [rad/s^2], (..., 3).

    Returns:
        [rad/s] and [rad/s^2], (..., 3), in the frame that the rotation leads out of.

    Source: the left Jacobian of the exponential map, as in Sola, Deray and Atchuthan (2018), A micro Lie theory for state
    estimation in robotics, eq. 145; its rate by differentiation. No deviation.
    """
    square = dot(vector, vector)
    small = square < SMALL_ANGLE**2
    t = np.sqrt(np.where(small, 1.0, square))
    sine, cosine = each(math.sin, t), each(math.cos, t)
    left, lag, safe = 1.0 - cosine, t - sine, t * t
    far = (
        left / safe,
        lag / (safe * t),
        (t * sine - 2.0 * left) / (safe * safe),
        (left * t - 3.0 * lag) / (safe * safe * t),
    )
    within = np.where(small, square, 0.0)
    near = [reduce(lambda total, factor: total * within + factor, reversed(row)) for row in SPIN_SERIES]
    a, b, a_rate, b_rate = (np.where(small, n, f)[..., None] for n, f in zip(near, far, strict=True))
    growth = dot(vector, rate)[..., None]
    turned, again = cross(vector, rate), cross(vector, cross(vector, rate))
    spin = rate + a * turned + b * again
    twist = change + a * cross(vector, change) + b * (cross(vector, cross(vector, change)) + cross(rate, turned))
    return spin, twist + growth * (a_rate * turned + b_rate * again)


def quat_from_rpy(rpy: _Array) -> _Array:
    """Quaternion of roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll), the convention of URDF and SDF.

    Args:
        rpy: [rad], (..., 3).

    Returns:
        [1], (..., 4), x y z w.
    """
    half = 0.5 * np.asarray(rpy, dtype=float)
    (sr, sp, sy), (cr, cp, cy) = (np.moveaxis(each(function, half), -1, 0) for function in (math.sin, math.cos))
    x, y = sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy
    z, w = cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy
    return np.stack((x, y, z, w), axis=-1)
