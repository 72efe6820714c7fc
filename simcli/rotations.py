"""Rotations, poses and frames as numpy arrays with any leading axes.

Quaternions are x y z w and unit; a pose is px py pz qx qy qz qw and maps coordinates of the inner frame to the outer:
x_out = p + R(q) x_in. Nothing here knows bodies or joints.

Sums are written out component by component and sines are taken one by one: numpy's own products of stacked matrices
and its vectorised sines may round differently with the number and stride of the stacked items, and a world must come
out the same alone and in any batch.
"""

import math
from functools import reduce

import numpy as np

_Array = np.ndarray
IDENTITY_POSE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
SMALL_SINE = 1e-6  # of half an angle, below which 2 asin(s) / s is 2
# Of `spin_of_vector`: below this angle [rad] its factors a, b, a', b' are series in the square of it.
SMALL_ANGLE = 0.1
SPIN_SERIES = (
    (1 / 2, -1 / 24, 1 / 720, -1 / 40320, 1 / 3628800), (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800),
    (-1 / 12, 1 / 180, -1 / 6720, 1 / 453600, -1 / 47900160), (-1 / 60, 1 / 1260, -1 / 60480, 1 / 4989600, -1 / 622702080),
)  # fmt: skip


def dot(a: _Array, b: _Array) -> _Array:
    """Scalar product over the last axis.

    Args:
        a: (..., 3).
        b: (..., 3).

    Returns:
        (...).
    """
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def cross(a: _Array, b: _Array) -> _Array:
    """Vector product over the last axis; several times faster than numpy's on small arrays.

    Args:
        a: (..., 3).
        b: (..., 3).

    Returns:
        (..., 3).
    """
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), axis=-1)


def skew(v: _Array) -> _Array:
    """Matrix that multiplies by v from the left in the vector product.

    Args:
        v: (..., 3).

    Returns:
        (..., 3, 3).
    """
    zero = np.zeros(v.shape[:-1])
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    rows = (zero, -z, y, z, zero, -x, -y, x, zero)
    return np.stack(rows, axis=-1).reshape(*v.shape[:-1], 3, 3)


def _square(v: _Array) -> _Array:
    return sum(v[..., i] * v[..., i] for i in range(v.shape[-1]))


def unit(v: _Array) -> _Array:
    """Vector of length one in the same direction.

    Args:
        v: (..., n), not zero.

    Returns:
        [1], (..., n).
    """
    v = np.asarray(v, dtype=float)
    largest = np.abs(v).max(axis=-1, keepdims=True)  # against overflow of the squares
    v = v / largest
    return v / np.sqrt(_square(v))[..., None]


def turn(R: _Array, v: _Array) -> _Array:
    """Product of matrices and vectors.

    Args:
        R: (..., 3, 3).
        v: (..., 3).

    Returns:
        (..., 3).
    """
    return R[..., 0] * v[..., 0:1] + R[..., 1] * v[..., 1:2] + R[..., 2] * v[..., 2:3]


def multiply(A: _Array, B: _Array) -> _Array:
    """Product of 3 x 3 matrices.

    Args:
        A: (..., 3, 3).
        B: (..., 3, n).

    Returns:
        (..., 3, n).
    """
    return sum(A[..., :, i : i + 1] * B[..., i : i + 1, :] for i in range(3))


def transpose(R: _Array) -> _Array:
    """Transpose of the last two axes.

    Args:
        R: (..., n, m).

    Returns:
        (..., m, n).
    """
    return np.swapaxes(R, -1, -2)


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
    return np.stack((x, y, z, w), axis=-1)


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
    scale = 2.0 / _square(q)
    x, y, z, w = (q[..., i] for i in range(4))
    xs, ys, zs = x * scale, y * scale, z * scale
    rows = (
        1.0 - (y * ys + z * zs), x * ys - w * zs, x * zs + w * ys,
        x * ys + w * zs, 1.0 - (x * xs + z * zs), y * zs - w * xs,
        x * zs - w * ys, y * zs + w * xs, 1.0 - (x * xs + y * ys),
    )  # fmt: skip
    return np.stack(rows, axis=-1).reshape(*q.shape[:-1], 3, 3)


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


def each(function, *values: _Array) -> _Array:
    """A function of the maths library, number by number: a vectorised one may round by the number of its items."""
    values = np.broadcast_arrays(*values)
    flat = [function(*x) for x in zip(*(v.ravel().tolist() for v in values), strict=True)]
    return np.array(flat, float).reshape(values[0].shape)


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

    Source: kernels/algebra/rotation_log.py has the same formulas for the device. No deviation.
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
    far = (left / safe, lag / (safe * t), (t * sine - 2.0 * left) / (safe * safe),
           (left * t - 3.0 * lag) / (safe * safe * t))  # fmt: skip
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


def make_pose(position: _Array, quat: _Array) -> _Array:
    """Pose from its parts.

    Args:
        position: [m], (..., 3).
        quat: [1], (..., 4), x y z w.

    Returns:
        [m, 1], (..., 7).
    """
    position, quat = np.asarray(position, dtype=float), np.asarray(quat, dtype=float)
    if position.shape[:-1] == quat.shape[:-1]:
        return np.concatenate((position, quat), axis=-1)
    lead = np.broadcast_shapes(position.shape[:-1], quat.shape[:-1])
    return np.concatenate((np.broadcast_to(position, (*lead, 3)), np.broadcast_to(quat, (*lead, 4))), axis=-1)


def pose_compose(a: _Array, b: _Array) -> _Array:
    """Product of poses, first b, then a.

    Args:
        a: [m, 1], (..., 7).
        b: [m, 1], (..., 7).

    Returns:
        [m, 1], (..., 7).
    """
    return make_pose(pose_apply(a, b[..., :3]), quat_multiply(a[..., 3:], b[..., 3:]))


def pose_inverse(a: _Array) -> _Array:
    """Inverse of a pose.

    Args:
        a: [m, 1], (..., 7).

    Returns:
        [m, 1], (..., 7).
    """
    back = quat_inverse(a[..., 3:])
    return make_pose(-quat_rotate(back, a[..., :3]), back)


def pose_apply(a: _Array, point: _Array) -> _Array:
    """Point carried by a pose.

    Args:
        a: [m, 1], (..., 7).
        point: [m], (..., 3), inner frame.

    Returns:
        [m], (..., 3), outer frame.
    """
    return a[..., :3] + quat_rotate(a[..., 3:], np.asarray(point, dtype=float))


def pose_distance(a: _Array, b: _Array) -> tuple[_Array, _Array]:
    """How far two poses are apart.

    Args:
        a: [m, 1], (..., 7).
        b: [m, 1], (..., 7).

    Returns:
        Distance of the origins [m], (...), and angle between the orientations [rad], (...).
    """
    q = quat_multiply(quat_inverse(a[..., 3:]), b[..., 3:])
    sine = np.sqrt(dot(q[..., :3], q[..., :3]))
    shift = b[..., :3] - a[..., :3]
    return np.sqrt(dot(shift, shift)), 2.0 * np.arctan2(sine, np.abs(q[..., 3]))


def frame_along(axis: _Array) -> _Array:
    """Right-handed frame whose z axis is the given axis.

    The x axis is the coordinate direction that follows the largest component of `axis` in cyclic order, made
    perpendicular to it: axis z gives (x, y, z), axis x gives (y, z, x), axis y gives (z, x, y), all exact.

    Args:
        axis: [1], (..., 3), unit.

    Returns:
        [1], (..., 3, 3), columns x y z.
    """
    axis = np.asarray(axis, dtype=float)
    largest = np.abs(axis).argmax(axis=-1)
    guide = np.eye(3)[(largest + 1) % 3]
    x = unit(guide - dot(guide, axis)[..., None] * axis)
    return np.stack((x, cross(axis, x), axis), axis=-1)
