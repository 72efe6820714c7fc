"""A wheel or a blade on a plane, as numbers: where it touches, and the direction along which a row holds it there."""

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import RowKind

_Array = np.ndarray
LEAST_SINE = 1e-12  # of a wheel's axis, or a blade's heading, against the normal, below which there is no direction


def lowest_point(normal: _Array, axis: _Array, radius: _Array, tube: _Array) -> tuple[_Array, _Array]:
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
    kind: int, normal: _Array, heading: _Array, along: _Array, radius: _Array, tube: _Array
) -> tuple[_Array, _Array, _Array]:
    """Direction of the velocity that a row of RIM, SLIP or BLADE holds, where it does, and what RIM lacks besides n . g.

    Args:
        kind: RowKind.
        normal: [1], (..., 3), unit, of the plane, world.
        heading: [1], (..., 3), unit, of the wheel or the blade, world.
        along: [1], (..., 3), unit, d_A, world.
        radius: [m], (...), as of `lowest_point`.
        tube: [m], (...), as of `lowest_point`.

    Returns:
        [1], (..., 3); [m], (..., 3), from the child's anchor; [m], (...).
    """
    if kind == RowKind.BLADE:
        across = rot.cross(normal, heading)
        size = np.sqrt(rot.dot(across, across))
        return across / np.maximum(size, LEAST_SINE)[..., None], np.zeros(across.shape), np.zeros(size.shape)
    lever, sine = lowest_point(normal, heading, radius, tube)
    return along, lever, -radius * sine - tube
