"""Bodies, their shapes and their points, as tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from simcli.model.table_base import Array, Table

POINT_DATA = ("position", "velocity")  # what a file has of each point, by name


@dataclass(frozen=True)
class Bodies(Table):
    """Rigid bodies, in file order.

    Attributes:
        name: (B,).
        mass: [kg], (W|1, B).
        com: [m], (W|1, B, 3), body frame.
        inertia: [kg m^2], (W|1, B, 3, 3), about the centre of mass, body axes.
        q: [m, 1], (W|1, B, 7), authored pose of the body frame (joint coordinates at zero), world.
        kinematic: (B,) bool.
        n_vectors: (B,) vectors of the natural coordinates that the scene asks for, -1 where it says nothing.
        compliance: [1/(N m)], (W|1, B), of rigidity in natural coordinates.
        gravity_compensation: [1], (W|1, B), what of its weight is held up.
    """

    name: tuple[str, ...]
    mass: Array
    com: Array
    inertia: Array
    q: Array
    kinematic: Array
    n_vectors: Array
    compliance: Array
    gravity_compensation: Array


@dataclass(frozen=True)
class Shapes(Table):
    """Shapes on bodies and in the world.

    Attributes:
        name: (S,).
        kind: (S,) ShapeKind.
        body: (S,) body index or WORLD.
        size: [m], (W|1, S, 3): sphere (radius, 0, 0); box full lengths; capsule, cylinder, cone (radius, length, 0);
            ellipsoid radii; terrain extent along x and y, 0; plane and mesh 0.
        margin: [m], (W|1, S), how far from its surface contact acts.
        pose: [m, 1], (W|1, S, 7), in the body.
        collide: (S,) bool.
        vertices: mesh vertices per shape, (n, 3) [m] in the shape frame, empty for others.
        faces: mesh triangles per shape, (m, 3), empty for others.
        heights: [m] of terrain per shape, (rows along y, columns along x), empty for others.
        convex: (S,) whether the hull of a mesh stands for it.
    """

    name: tuple[str, ...]
    kind: Array
    body: Array
    size: Array
    margin: Array
    pose: Array
    collide: Array
    vertices: tuple[Array, ...]
    faces: tuple[Array, ...]
    heights: tuple[Array, ...] = ()
    convex: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Points(Table):
    """Named points of bodies.

    Attributes:
        name: (P,) as `crank/b`.
        body: (P,) body index.
        position: [m], (W|1, P, 3), body frame.
    """

    name: tuple[str, ...]
    body: Array
    position: Array


def clashing_points(names: Sequence[str]) -> tuple[str, str] | None:
    """A point that a file cannot hold beside another one, because a group and a dataset would have one path.

    Args:
        names: of points, as `left/rod/tip`.

    Returns:
        The point, and the data of another point that its path goes through, as `left/rod/position`; None if all can be held.
    """
    data = {f"{name}/{quantity}" for name in names for quantity in POINT_DATA}
    for name in names:
        parts = name.split("/")
        stem = next((stem for k in range(1, len(parts) + 1) if (stem := "/".join(parts[:k])) in data), None)
        if stem:
            return name, stem
    return None
