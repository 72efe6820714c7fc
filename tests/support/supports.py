"""Support functions of shapes in numpy: the oracle of collision."""

import numpy as np

from simcli import rotations as rot


def reach(shape, pose, n):
    """[m], max of n . x over a solid at a pose; n of unit length, world.

    Args:
        shape: kind, and half extents or corners in the shape frame.
        pose: (7,).
        n: (3,).
    """
    kind, size = shape
    y = rot.quat_to_matrix(pose[3:]).T @ n
    radial = np.hypot(y[0], y[1])
    if kind == "sphere":
        local = size[0]
    elif kind == "box":
        local = np.abs(y) @ size
    elif kind == "capsule":
        local = size[0] + abs(y[2]) * size[1]
    elif kind == "cylinder":
        local = size[0] * radial + size[1] * abs(y[2])
    elif kind == "cone":
        local = max(size[1] * y[2], size[0] * radial - size[1] * y[2])
    elif kind == "ellipsoid":
        local = np.linalg.norm(np.asarray(size) * y)
    else:
        local = (np.asarray(size) @ y).max()
    return pose[:3] @ n + local


def gap_along(first, second, pose, n):
    """[m], gap of two solids in the direction n from the first to the second."""
    return -reach(second, pose[1], -n) - reach(first, pose[0], n)
