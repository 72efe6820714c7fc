"""Poses of bodies that are stretched: six numbers more, xx yy zz xy xz yz of S, which is symmetric.

The axes of such a body are R S, R the rotation of its pose, about its centre of mass. Here the place of a pose is where the
origin of the body frame is with the body as it is, so that a point p of the body is at x + R S p. Poses of rigid bodies have
seven numbers, x and R alone.
"""

import numpy as np

from simcli import rotations as rot
from simcli.model.tables.model import Array

RIGID = 7  # numbers of a pose
WHOLE = 13  # with the stretch
UNMOVED = np.array((0.0,) * 6 + (1.0,) * 4 + (0.0,) * 3)  # at the origin, as it was made
SEEN_STRETCH = 1e-4  # of the size of a body, the stretch that is drawn
_AT = np.array(((0, 3, 4), (3, 1, 5), (4, 5, 2)))


def with_stretch(poses: Array, stretch: Array, com: Array) -> Array:
    """Poses as files have them, with the stretch.

    Args:
        poses: [m, 1], (..., B, 7).
        stretch: [1], (..., B, 6), of each.
        com: [m], (..., B, 3), centres of mass, body frame.

    Returns:
        [m, 1], (..., B, 13).
    """
    place = poses[..., :3] - rot.quat_rotate(poses[..., 3:], _strained(stretch, com))
    return np.concatenate((place, poses[..., 3:], stretch), axis=-1)


def without_stretch(poses: Array, com: Array | None) -> Array:
    """Poses as files have them, (..., B, 7), of those that `with_stretch` made; of others these themselves."""
    if not is_stretched(poses):
        return poses
    place = poses[..., :3] + rot.quat_rotate(poses[..., 3:RIGID], _strained(poses[..., RIGID:], com))
    return np.concatenate((place, poses[..., 3:RIGID]), axis=-1)


def is_stretched(poses: Array) -> bool:
    """Whether poses have a stretch."""
    return poses.shape[-1] == WHOLE


def strain(poses: Array) -> Array:
    """[1], (..., 6), S - 1 of poses with a stretch."""
    return poses[..., RIGID:] - UNMOVED[RIGID:]


def stretch_axes(poses: Array) -> Array:
    """[1], (..., 3, 3), R of poses, or R S."""
    turn = rot.quat_to_matrix(poses[..., 3:RIGID])
    return turn @ poses[..., RIGID:][..., _AT] if is_stretched(poses) else turn


def carried(poses: Array, points: Array) -> Array:
    """[m], (..., 3), world: points of bodies [m], (..., 3), body frame, where poses (..., 7 or 13) have them."""
    points = np.asarray(points, float)
    if is_stretched(poses):
        points = points + _strained(poses[..., RIGID:], points)
    return poses[..., :3] + rot.quat_rotate(poses[..., 3:RIGID], points)


def _strained(stretch: Array, points: Array) -> Array:
    """(S - 1) p."""
    return ((stretch - UNMOVED[RIGID:])[..., _AT] * points[..., None, :]).sum(axis=-1)
