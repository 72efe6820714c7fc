"""Poses: products, inverses, points that they carry, how far they are apart."""

import numpy as np

from simcli.rotations.quaternions import quat_inverse, quat_multiply, quat_rotate
from simcli.rotations.vectors import dot

_Array = np.ndarray
IDENTITY_POSE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


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
