"""Numbers of the joint catalogue at given poses: motion columns, gradients of rows.

One joint at a time, in numpy: what `simcli show` uses, and device code is checked against.
"""

from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import NONHOLONOMIC_ROWS, JointEntry, Row, RowKind
from simcli.model.joints.motion_axes import MotionAxis

_Array = np.ndarray
LEAST_SINE = 1e-12  # of a wheel's axis, or a blade's heading, against the normal, below which there is no direction


def _orbit(motion: MotionAxis, q: _Array) -> tuple[_Array, _Array]:
    """Place of the child's anchor by longitude and latitude, and its derivatives as rows, in the parent anchor frame."""
    n, b = motion.angular[0], -motion.angular[1]
    t = rot.cross(b, n)
    (c, s), (cl, sl) = ((np.cos(x), np.sin(x)) for x in q[:2])
    out, along = c * t + s * b, c * b - s * t
    return motion.radius * (cl * out + sl * n), motion.radius * np.stack((cl * along, cl * n - sl * out))


def _scalar_columns(motion: MotionAxis, q: _Array, Q: _Array, lever: _Array) -> list[_Array]:
    columns = [np.concatenate((Q @ axis, np.zeros(3))) for axis in motion.linear]
    carried = Q
    for k, (axis, angle) in enumerate(zip(motion.angular, q[motion.linear.shape[-2] :], strict=True)):
        w, advance = carried @ axis, 0.0 if k else motion.pitch
        columns.append(np.concatenate((rot.cross(w, lever) + advance * w, w)))
        carried = carried @ rot.quat_to_matrix(rot.quat_from_axis_angle(axis, angle))
    return columns


def motion_columns(entry: JointEntry, motion: MotionAxis, q: _Array, X_a: _Array, X_b: _Array, com_b: _Array) -> _Array:
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
        turns = _scalar_columns(MotionAxis(motion.linear[:0], motion.angular), q[1:], Q, com_b - X_a[:3])
        return np.stack((along, *turns), axis=-1)
    angular = np.concatenate((np.zeros((3, 3)), Q))
    if entry.coordinates != "pose":
        angular[:3] = -rot.skew(lever) @ Q
        moves, turn = motion.linear, MotionAxis(motion.linear[:0], motion.angular)
        if entry.coordinates.startswith("orbit"):
            moves, turn, q = _orbit(motion, q)[1], MotionAxis(motion.linear, motion.angular[2:]), q[2:]
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


def touching_point(normal: _Array, axis: _Array, radius: _Array | float, tube: _Array | float) -> tuple[_Array, _Array]:
    """Where a wheel comes nearest to a plane, from its centre, and the sine between its axis and the normal.

        p - x = R u - r n,   u = (k a - n) / s,   k = n . a,   s = |n x a|

    Args:
        normal: [1], (..., 3), unit, of the plane, world.
        axis: [1], (..., 3), unit, of the wheel, world.
        radius: [m], (...), R of the rim's centre line.
        tube: [m], (...), r of the rim's section.

    Returns:
        [m], (..., 3), world, and [1], (...). A rim that lies flat has no lowest point; R u is none there.
    """
    across = rot.cross(normal, axis)
    sine = np.sqrt(rot.dot(across, across))
    down = (rot.dot(normal, axis)[..., None] * axis - normal) / np.maximum(sine, LEAST_SINE)[..., None]
    return np.asarray(radius)[..., None] * down - np.asarray(tube)[..., None] * normal, sine


def held_velocity(
    kind: int, normal: _Array, heading: _Array, along: _Array, radius: _Array | float, tube: _Array | float
) -> tuple[_Array, _Array, _Array]:
    """Direction of the velocity that a row of RIM, SLIP or BLADE holds, where it does, and what RIM lacks besides n . g.

    Args:
        kind: RowKind.
        normal: [1], (..., 3), unit, of the plane, world.
        heading: [1], (..., 3), unit, of the wheel or the blade, world.
        along: [1], (..., 3), unit, d_A, world.
        radius: [m], (...), as of `touching_point`.
        tube: [m], (...), as of `touching_point`.

    Returns:
        [1], (..., 3); [m], (..., 3), from the child's anchor; [m], (...).
    """
    if kind == RowKind.BLADE:
        across = rot.cross(normal, heading)
        size = np.sqrt(rot.dot(across, across))
        return across / np.maximum(size, LEAST_SINE)[..., None], np.zeros(across.shape), np.zeros(size.shape)
    lever, sine = touching_point(normal, heading, radius, tube)
    return along, lever, -np.asarray(radius) * sine - tube


def _wheel_gradient(row: Row, X_a: _Array, X_b: _Array, com_a: _Array, com_b: _Array) -> _Array:
    """Gradient along what a row of a wheel or a blade holds, at the points of both bodies where it touches."""
    normal, heading, along = (rot.quat_rotate(X[3:], v) for X, v in ((X_a, row.on_a), (X_b, row.on_b), (X_a, row.along)))
    along, lever, _ = held_velocity(row.kind, normal, heading, along, row.constant, row.tube)
    place = X_b[:3] + lever
    return np.concatenate((-along, -rot.cross(place - com_a, along), along, rot.cross(place - com_b, along)))


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
    if row.kind in (RowKind.RIM, *NONHOLONOMIC_ROWS):
        return _wheel_gradient(row, X_a, X_b, com_a, com_b)
    d_a = rot.quat_rotate(X_a[3:], row.on_a)
    if row.kind == RowKind.ALONG:
        return _along_gradient(d_a, X_a, X_b, com_a, com_b)
    if row.kind == RowKind.DOT:
        return _dot_gradient(d_a, rot.quat_rotate(X_b[3:], row.on_b))
    t_a, b_a, t_b = _turn_directions(row, X_a, X_b)
    cosine, sine = t_a @ t_b, b_a @ t_b
    turning = (cosine * _dot_gradient(b_a, t_b) - sine * _dot_gradient(t_a, t_b)) / (cosine**2 + sine**2)
    return _along_gradient(d_a, X_a, X_b, com_a, com_b) - row.constant * turning
