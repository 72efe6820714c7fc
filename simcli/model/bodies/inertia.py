"""Mass, centre of mass and inertia of solids, their sums and changes of frame. Any leading axes."""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.tables.model import Array, ShapeKind


@dataclass(frozen=True)
class MassProperties:
    """Mass properties in some frame.

    Attributes:
        mass: [kg], (...).
        com: [m], (..., 3), centre of mass.
        inertia: [kg m^2], (..., 3, 3), about the centre of mass.
    """

    mass: Array
    com: Array
    inertia: Array

    def scaled(self, factor: Array) -> "MassProperties":
        """The same solid with its density multiplied."""
        factor = np.asarray(factor, float)
        return MassProperties(self.mass * factor, self.com, self.inertia * factor[..., None, None])

    def placed(self, pose: Array) -> "MassProperties":
        """The same solid seen from the frame in which its own frame has a pose.

        Args:
            pose: [m, 1], (..., 7).

        Returns:
            In the outer frame.
        """
        R = rot.quat_to_matrix(pose[..., 3:])
        inertia = rot.multiply(rot.multiply(R, self.inertia), rot.transpose(R))
        return MassProperties(self.mass, rot.pose_apply(pose, self.com), inertia)


def shift_inertia(inertia_c: Array, mass: Array, offset: Array) -> Array:
    """Move an inertia tensor from the centre of mass to another point.

        I_o = I_c + m (|r|^2 E - r r^T)

    Args:
        inertia_c: [kg m^2], (..., 3, 3), any frame F.
        mass: [kg], (...).
        offset: [m], (..., 3), from the new point to the centre of mass or back, in F.

    Returns:
        [kg m^2], (..., 3, 3), about the new point, in F.

    Source: parallel-axis theorem. No deviation.
    """
    r = rot.skew(np.asarray(offset, float))
    return inertia_c - np.asarray(mass, float)[..., None, None] * rot.multiply(r, r)


def combine(parts: list[MassProperties]) -> MassProperties:
    """Mass properties of several solids together, all in one frame.

    Args:
        parts: at least one; total mass positive.

    Returns:
        About the common centre of mass.
    """
    mass = sum(part.mass for part in parts)
    com = sum(part.mass[..., None] * part.com for part in parts) / mass[..., None]
    return MassProperties(mass, com, sum(shift_inertia(part.inertia, part.mass, part.com - com) for part in parts))


def _solid(volume: Array, moments: tuple[Array, Array, Array], z: Array | float = 0.0) -> MassProperties:
    inertia = np.stack(np.broadcast_arrays(*moments), axis=-1)[..., None, :] * np.eye(3)
    com = np.zeros((*inertia.shape[:-2], 3))
    com[..., 2] = z
    return MassProperties(volume, com, inertia)


def _sphere(size: Array) -> MassProperties:
    r = size[..., 0]
    mass = 4.0 / 3.0 * np.pi * r * r * r
    return _solid(mass, (0.4 * mass * r * r,) * 3)


def _box(size: Array) -> MassProperties:
    x, y, z = (size[..., i] ** 2 for i in range(3))
    mass = size[..., 0] * size[..., 1] * size[..., 2]
    return _solid(mass, (mass * (y + z) / 12.0, mass * (z + x) / 12.0, mass * (x + y) / 12.0))


def _capsule(size: Array) -> MassProperties:
    r, length = size[..., 0], size[..., 1]
    tube, caps = np.pi * r * r * length, 4.0 / 3.0 * np.pi * r * r * r
    # a cap is half a sphere: its own moment about the plane through its flat side, moved out by length / 2
    across = tube * (length * length / 12.0 + r * r / 4.0)
    across = across + caps * (0.4 * r * r + length * length / 4.0 + 0.375 * length * r)
    return _solid(tube + caps, (across, across, 0.5 * tube * r * r + 0.4 * caps * r * r))


def _cylinder(size: Array) -> MassProperties:
    r, length = size[..., 0], size[..., 1]
    mass = np.pi * r * r * length
    across = mass * (3.0 * r * r + length * length) / 12.0
    return _solid(mass, (across, across, 0.5 * mass * r * r))


def _cone(size: Array) -> MassProperties:
    r, length = size[..., 0], size[..., 1]
    mass = np.pi * r * r * length / 3.0
    across = mass * (0.15 * r * r + 0.0375 * length * length)
    return _solid(mass, (across, across, 0.3 * mass * r * r), -0.25 * length)


def _ellipsoid(size: Array) -> MassProperties:
    x, y, z = (size[..., i] ** 2 for i in range(3))
    mass = 4.0 / 3.0 * np.pi * size[..., 0] * size[..., 1] * size[..., 2]
    return _solid(mass, (mass * (y + z) / 5.0, mass * (z + x) / 5.0, mass * (x + y) / 5.0))


SOLIDS = {
    ShapeKind.SPHERE: _sphere,
    ShapeKind.BOX: _box,
    ShapeKind.CAPSULE: _capsule,
    ShapeKind.CYLINDER: _cylinder,
    ShapeKind.CONE: _cone,
    ShapeKind.ELLIPSOID: _ellipsoid,
}


def shape_properties(kind: ShapeKind, size: Array) -> MassProperties:
    """Mass properties of a primitive of density 1 kg/m^3 in its own frame.

    The frame lies in the middle: a capsule, cylinder and cone reach from -length/2 to +length/2 along z (a capsule's
    caps come on top), the cone's base is at -length/2, its apex at +length/2, its centre of mass at -length/4.

    Args:
        kind: one of SOLIDS.
        size: [m], (..., 3), as `Shapes.size`.

    Returns:
        For density one.

    Source: closed forms of the solids. No deviation.
    """
    return SOLIDS[kind](np.asarray(size, float))
