"""Rotations and poses: group laws, agreement of the spellings, exactness on the coordinate axes."""

import numpy as np
import pytest

from simcli import rotations as rot

TOLERANCE = 1e-14  # some 50 roundings of numbers of size one


@pytest.fixture
def quats():
    rng = np.random.default_rng(1)
    return rot.unit(rng.normal(size=(500, 4)))


def axis_matrix(axis, angle):
    """Rodrigues' formula, written independently of the quaternions."""
    k = rot.skew(np.asarray(axis, float))
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def test_quaternion_rotation_equals_its_matrix(quats):
    v = np.random.default_rng(2).normal(size=(500, 3))
    R = rot.quat_to_matrix(quats)
    assert np.abs(rot.turn(R, v) - rot.quat_rotate(quats, v)).max() < TOLERANCE * 10
    assert np.abs(R @ rot.transpose(R) - np.eye(3)).max() < TOLERANCE
    assert np.abs(np.linalg.det(R) - 1).max() < TOLERANCE


def test_matrix_of_axis_angle_is_rodrigues_formula():
    rng = np.random.default_rng(3)
    for _ in range(100):
        axis, angle = rot.unit(rng.normal(size=3)), rng.uniform(-10, 10)
        R = rot.quat_to_matrix(rot.quat_from_axis_angle(axis, angle))
        assert np.abs(R - axis_matrix(axis, angle)).max() < TOLERANCE


def test_rpy_is_yaw_after_pitch_after_roll():
    roll, pitch, yaw = 0.3, -1.1, 2.5
    expected = axis_matrix([0, 0, 1], yaw) @ axis_matrix([0, 1, 0], pitch) @ axis_matrix([1, 0, 0], roll)
    assert np.abs(rot.quat_to_matrix(rot.quat_from_rpy([roll, pitch, yaw])) - expected).max() < TOLERANCE


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1.0, np.pi - 1e-9, np.pi, np.pi + 1e-9, 6.0])
def test_matrix_to_quat_inverts_at_every_angle(angle):
    axes = np.concatenate((np.eye(3), -np.eye(3), rot.unit(np.random.default_rng(4).normal(size=(50, 3)))))
    q = rot.quat_from_axis_angle(axes, np.full(len(axes), angle))
    back = rot.matrix_to_quat(rot.quat_to_matrix(q))
    sign = np.sign(rot.quat_multiply(rot.quat_inverse(q), back)[:, 3:])
    assert np.abs(back * sign - q).max() < TOLERANCE
    assert (back[:, 3] >= 0).all()


def test_poses_form_a_group(quats):
    p = np.random.default_rng(5).normal(size=(500, 3))
    a = rot.make_pose(p, quats)
    b = rot.make_pose(p[::-1], quats[::-1])
    x = np.random.default_rng(6).normal(size=(500, 3))
    twice = rot.pose_apply(a, rot.pose_apply(b, x))
    assert np.abs(rot.pose_apply(rot.pose_compose(a, b), x) - twice).max() < 10 * TOLERANCE
    shift, angle = rot.pose_distance(rot.pose_compose(a, rot.pose_inverse(a)), np.array(rot.IDENTITY_POSE))
    assert max(shift.max(), angle.max()) < 10 * TOLERANCE


def test_frame_along_is_a_rotation_with_its_z_on_the_axis():
    axes = rot.unit(np.random.default_rng(7).normal(size=(500, 3)))
    frames = rot.frame_along(axes)
    assert np.abs(frames[..., 2] - axes).max() == 0.0
    assert np.abs(frames @ rot.transpose(frames) - np.eye(3)).max() < TOLERANCE
    assert np.abs(np.linalg.det(frames) - 1).max() < TOLERANCE


def test_frame_along_coordinate_axes_is_cyclic_and_exact():
    x, y, z = np.eye(3)
    for axis, expected in ((z, (x, y, z)), (x, (y, z, x)), (y, (z, x, y)), (-z, (x, -y, -z))):
        assert (rot.frame_along(axis) == np.stack(expected, axis=-1)).all()
