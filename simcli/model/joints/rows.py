"""Numbers of the joint catalogue at given poses: joint transforms, motion columns, residuals and gradients of rows.

One joint at a time, in numpy: the reference that tests and `simcli show` use and that device code is checked against.
"""

from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import JointType, Motion, Row, RowKind

_Array = np.ndarray


def _scalar_transform(motion: Motion, q: _Array) -> _Array:
    n_linear = motion.linear.shape[-2]
    position = (motion.linear * q[:n_linear, None]).sum(axis=-2)
    quat = np.array((0.0, 0.0, 0.0, 1.0))
    for axis, angle in zip(motion.angular, q[n_linear:], strict=True):
        quat = rot.quat_multiply(quat, rot.quat_from_axis_angle(axis, angle))
        position = position + motion.pitch * angle * axis
    return rot.make_pose(position, quat)


def joint_transform(entry: JointType, motion: Motion, q: _Array) -> _Array:
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
        pose = _scalar_transform(Motion(motion.linear[:0], motion.angular), q[1:])
        return rot.make_pose(q[0] * rot.quat_rotate(pose[3:], motion.linear[0]), pose[3:])
    if entry.coordinates.startswith("orbit"):
        place, _ = _orbit(motion, q)
        turn = q[2:] if entry.has_quaternion else _scalar_transform(Motion(motion.linear, motion.angular[2:]), q[2:])[3:]
        return rot.make_pose(place, turn)
    if entry.coordinates.endswith("quaternion"):
        return rot.make_pose((motion.linear * q[:-4, None]).sum(axis=-2), q[-4:])
    return q.copy()


def _orbit(motion: Motion, q: _Array) -> tuple[_Array, _Array]:
    """Place of the child's anchor by longitude and latitude, and its derivatives as rows, in the parent anchor frame."""
    n, b = motion.angular[0], -motion.angular[1]
    t = rot.cross(b, n)
    (c, s), (cl, sl) = ((np.cos(x), np.sin(x)) for x in q[:2])
    out, along = c * t + s * b, c * b - s * t
    return motion.radius * (cl * out + sl * n), motion.radius * np.stack((cl * along, cl * n - sl * out))


def _scalar_columns(motion: Motion, q: _Array, Q: _Array, lever: _Array) -> list[_Array]:
    columns = [np.concatenate((Q @ axis, np.zeros(3))) for axis in motion.linear]
    carried = Q
    for axis, angle in zip(motion.angular, q[motion.linear.shape[-2] :], strict=True):
        w = carried @ axis
        columns.append(np.concatenate((rot.cross(w, lever) + motion.pitch * w, w)))
        carried = carried @ rot.quat_to_matrix(rot.quat_from_axis_angle(axis, angle))
    return columns


def motion_columns(entry: JointType, motion: Motion, q: _Array, X_a: _Array, X_b: _Array, com_b: _Array) -> _Array:
    """Twist of the child per joint velocity while the parent rests.

    Args:
        entry: catalogue entry.
        motion: its axes.
        q: [m, rad, 1], (n_q,).
        X_a: [m, 1], (7,), parent anchor frame, world.
        X_b: [m, 1], (7,), child anchor frame, world, at this q.
        com_b: [m], (3,), centre of mass of the child, world.

    Returns:
        [1, m], (6, n_qd), (velocity of the centre of mass, angular velocity), world.

    Source: forward kinematics of the Newton engine (eval_fk). No deviation.
    """
    Q = rot.quat_to_matrix(X_a[3:])
    lever = com_b - X_b[:3]
    if entry.coordinates == "slots":
        return np.zeros((6, 2))
    q = np.asarray(q, dtype=float)
    if entry.coordinates == "scalars":
        columns = _scalar_columns(motion, q, Q, lever)
        return np.stack(columns, axis=-1) if columns else np.zeros((6, 0))
    if entry.coordinates == "carried":
        along = np.concatenate((rot.quat_rotate(X_b[3:], motion.linear[0]), np.zeros(3)))
        turns = _scalar_columns(Motion(motion.linear[:0], motion.angular), q[1:], Q, com_b - X_a[:3])
        return np.stack((along, *turns), axis=-1)
    angular = np.concatenate((np.zeros((3, 3)), Q))
    if entry.coordinates != "pose":
        angular[:3] = -rot.skew(lever) @ Q
        moves, turn = motion.linear, Motion(motion.linear[:0], motion.angular)
        if entry.coordinates.startswith("orbit"):
            moves, turn, q = _orbit(motion, q)[1], Motion(motion.linear, motion.angular[2:]), q[2:]
        columns = [np.concatenate((Q @ move, np.zeros(3))) for move in moves]
        columns += list(angular.T) if entry.has_quaternion else _scalar_columns(turn, q, Q, lever)
        return np.stack(columns, axis=-1)
    return np.concatenate((np.concatenate((Q, np.zeros((3, 3)))), angular), axis=1)


def _point_gradient(d: _Array, X_a: _Array, X_b: _Array, com_a: _Array, com_b: _Array) -> _Array:
    """Gradient of d . (x_B - x_A) for a direction d at rest in the world."""
    return np.concatenate((-d, -rot.cross(X_a[:3] - com_a, d), d, rot.cross(X_b[:3] - com_b, d)))


def _dot_gradient(d_a: _Array, d_b: _Array) -> _Array:
    """Gradient of d_A . d_B: their vector product turns it."""
    n = rot.cross(d_a, d_b)
    return np.concatenate((np.zeros(3), n, np.zeros(3), -n))


def _along_gradient(d: _Array, X_a: _Array, X_b: _Array, com_a: _Array, com_b: _Array) -> _Array:
    gradient = _point_gradient(d, X_a, X_b, com_a, com_b)
    gradient[3:6] += rot.cross(d, X_b[:3] - X_a[:3])  # d turns with A
    return gradient


def _turn_directions(row: Row, X_a: _Array, X_b: _Array) -> tuple[_Array, _Array, _Array]:
    t_a = rot.quat_rotate(X_a[3:], row.on_b)
    b_a = rot.quat_rotate(X_a[3:], rot.cross(row.on_a, row.on_b))
    return t_a, b_a, rot.quat_rotate(X_b[3:], row.on_b)


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
    if row.kind == RowKind.ALONG:
        return float(d_a @ gap - row.constant)
    if row.kind == RowKind.DOT:
        return float(d_a @ rot.quat_rotate(X_b[3:], row.on_b) - row.constant)
    return float(d_a @ gap - row.constant * turn_angle(row, X_a, X_b, near))


def row_gradient(row: Row, X_a: _Array, X_b: _Array, com_a: _Array, com_b: _Array) -> _Array:
    """Rate of a row's residual per twist of the two bodies.

    Args:
        row: the row.
        X_a: [m, 1], (7,), parent anchor frame, world.
        X_b: [m, 1], (7,), child anchor frame, world.
        com_a: [m], (3,), centre of mass of the parent, world.
        com_b: [m], (3,), centre of mass of the child, world.

    Returns:
        [1, m], (12,), columns v_A, w_A, v_B, w_B. For a parent that is the world drop the first six.
    """
    if row.swapped:
        return np.roll(row_gradient(replace(row, swapped=False), X_b, X_a, com_b, com_a), 6)
    if row.kind == RowKind.MEET:
        return _point_gradient(row.on_a, X_a, X_b, com_a, com_b)
    if row.kind == RowKind.APART:
        return _point_gradient((X_b[:3] - X_a[:3]) / row.constant, X_a, X_b, com_a, com_b)
    d_a = rot.quat_rotate(X_a[3:], row.on_a)
    if row.kind == RowKind.ALONG:
        return _along_gradient(d_a, X_a, X_b, com_a, com_b)
    if row.kind == RowKind.DOT:
        return _dot_gradient(d_a, rot.quat_rotate(X_b[3:], row.on_b))
    t_a, b_a, t_b = _turn_directions(row, X_a, X_b)
    cosine, sine = t_a @ t_b, b_a @ t_b
    turning = (cosine * _dot_gradient(b_a, t_b) - sine * _dot_gradient(t_a, t_b)) / (cosine**2 + sine**2)
    return _along_gradient(d_a, X_a, X_b, com_a, com_b) - row.constant * turning
