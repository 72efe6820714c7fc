"""Poses that joint coordinates give, and residuals of the catalogue's rows, one by one: what gradients are tried against."""

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import JointEntry, Row, RowKind
from simcli.model.joints.joint_rows import _orbit, _turn_directions
from simcli.model.joints.motion_axes import MotionAxis

_Array = np.ndarray


def _scalar_transform(motion: MotionAxis, q: _Array) -> _Array:
    n_linear = motion.linear.shape[-2]
    position = (motion.linear * q[:n_linear, None]).sum(axis=-2)
    quat = np.array((0.0, 0.0, 0.0, 1.0))
    for axis, angle in zip(motion.angular, q[n_linear:], strict=True):
        quat = rot.quat_multiply(quat, rot.quat_from_axis_angle(axis, angle))
        position = position + motion.pitch * angle * axis
    return rot.make_pose(position, quat)


def joint_transform(entry: JointEntry, motion: MotionAxis, q: _Array) -> _Array:
    """Pose of the child anchor frame in the parent anchor frame, x_j(q).

    Args:
        entry: catalogue entry.
        motion: its axes, without leading axes.
        q: [m, rad, 1], (n_q,), joint coordinates.

    Returns:
        [m, 1], (7,).

    Source: the joint types of the Newton engine, with universal, cylindrical and planar as the D6 of their axes and the
    screw as a hinge that advances. No deviation.
    """
    q = np.asarray(q, dtype=float)
    if entry.coordinates == "scalars":
        return _scalar_transform(motion, q)
    if entry.coordinates == "carried":
        pose = _scalar_transform(MotionAxis(motion.linear[:0], motion.angular), q[1:])
        return rot.make_pose(q[0] * rot.quat_rotate(pose[3:], motion.linear[0]), pose[3:])
    if entry.coordinates.startswith("orbit"):
        place, _ = _orbit(motion, q)
        turn = q[2:] if entry.has_quaternion else _scalar_transform(MotionAxis(motion.linear, motion.angular[2:]), q[2:])[3:]
        return rot.make_pose(place, turn)
    if entry.coordinates.endswith("quaternion"):
        return rot.make_pose((motion.linear * q[:-4, None]).sum(axis=-2), q[-4:])
    return q.copy()


def turn_angle(row: Row, X_a: _Array, X_b: _Array, near: float = 0.0) -> float:
    """Angle of a PITCH row, on the branch nearest to a known angle.

    Args:
        row: of kind PITCH.
        X_a: [m, 1], (7,), parent anchor frame, world.
        X_b: [m, 1], (7,), child anchor frame, world.
        near: [rad], the angle that the joint had before.

    Returns:
        [rad].
    """
    t_a, b_a, t_b = _turn_directions(row, X_a, X_b)
    angle = float(np.arctan2(b_a @ t_b, t_a @ t_b))
    return angle + 2.0 * np.pi * round((near - angle) / (2.0 * np.pi))


def row_residual(row: Row, X_a: _Array, X_b: _Array, near: float = 0.0) -> float:
    """Residual of a row.

    Args:
        row: the row.
        X_a: [m, 1], (7,), parent anchor frame, world.
        X_b: [m, 1], (7,), child anchor frame, world.
        near: [rad], angle of the joint before, read by PITCH.

    Returns:
        [m], or [1] for DOT.
    """
    if row.swapped:
        X_a, X_b = X_b, X_a
    gap = X_b[:3] - X_a[:3]
    if row.kind == RowKind.MEET:
        return float(row.on_a @ gap - row.constant)
    if row.kind == RowKind.APART:
        return float((gap @ gap - row.constant**2) / (2.0 * row.constant))
    d_a = rot.quat_rotate(X_a[3:], row.on_a)
    if row.kind == RowKind.RIM:  # the amplitude of n . (x + R (cos t e1 + sin t e2))
        axes = rot.frame_along(rot.quat_rotate(X_b[3:], row.on_b))
        along = np.hypot(d_a @ axes[:, 0], d_a @ axes[:, 1])
        return float(d_a @ gap - row.constant * along - row.tube)
    if row.kind == RowKind.ALONG:
        return float(d_a @ gap - row.constant)
    if row.kind == RowKind.DOT:
        return float(d_a @ rot.quat_rotate(X_b[3:], row.on_b) - row.constant)
    return float(d_a @ gap - row.constant * turn_angle(row, X_a, X_b, near))
