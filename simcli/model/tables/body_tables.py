"""Bodies, their shapes and their points, and which shapes can touch, as tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from simcli.model.tables.table_base import IN_SCENE, Array, Changes, Table, per

POINT_DATA = ("position", "velocity")  # what a file has of each point, by name


@dataclass(frozen=True)
class Bodies(Table, axis="B", entry="body", is_original=True):
    """Rigid bodies, in file order.

    Attributes:
        com: body frame.
        inertia: about the centre of mass, body axes.
        q: authored pose of the body frame (joint coordinates at zero), world.
        n_vectors: vectors of the natural coordinates that the scene asks for, -1 where it says nothing.
        compliance: of rigidity in natural coordinates.
        gravity_compensation: what of its weight is held up.
    """

    name: tuple[str, ...]
    mass: Array = per("W|1 B", "kg")
    com: Array = per("W|1 B xyz", "m")
    inertia: Array = per("W|1 B xyz xyz2", "kg m^2")
    q: Array = per("W|1 B pose", "m, 1")
    kinematic: Array = per("B", kind=bool)
    n_vectors: Array = per("B", left_out=IN_SCENE)
    compliance: Array = per("W|1 B", "1/(N m)", is_later=True)
    gravity_compensation: Array = per("W|1 B", changes=Changes.NUMBERS, is_later=True)


@dataclass(frozen=True)
class Shapes(Table, axis="S", entry="shape", is_original=True):
    """Shapes on bodies and in the world.

    Attributes:
        kind: ShapeKind.
        body: body index or WORLD.
        size: sphere (radius, 0, 0); box full lengths; capsule, cylinder, cone (radius, length, 0);
            ellipsoid radii; terrain extent along x and y, 0; plane and mesh 0.
        margin: how far from its surface contact acts.
        surface_velocity: of its surface along itself, axes of the body; 0 where a signal drives it.
        pose: in the body.
        vertices: mesh vertices per shape, in its frame, empty for others.
        faces: mesh triangles per shape, empty for others.
        heights: [m] of terrain per shape, (rows along y, columns along x), empty for others.
        convex: (S,) whether the hull of a mesh stands for it.
    """

    name: tuple[str, ...]
    kind: Array = per("S", dataset="shape_type")
    body: Array = per("S", refers="B")
    size: Array = per("W|1 S xyz", "m")
    margin: Array = per("W|1 S", "m", is_later=True)
    surface_velocity: Array = per("W|1 S xyz", "m/s", is_later=True)
    pose: Array = per("W|1 S pose", "m, 1")
    collide: Array = per("S", kind=bool)
    vertices: tuple[Array, ...] = per("V xyz", "m", dataset="shape_vertex", kind=float, is_ragged=True)
    faces: tuple[Array, ...] = per("T corner", dataset="shape_face", kind=np.int64, is_ragged=True)
    heights: tuple[Array, ...] = ()
    convex: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Points(Table, axis="N", entry="point", is_original=True):
    """Named points of bodies.

    Attributes:
        name: as `crank/b`.
        body: body index.
        position: body frame.
    """

    name: tuple[str, ...]
    body: Array = per("N", refers="B")
    position: Array = per("W|1 N xyz", "m")


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


class Pairs(NamedTuple):
    """Pairs of shapes that can touch, by the lower and then by the higher of their indices.

    Attributes:
        shape_a: (P,) index into Shapes.
        shape_b: (P,).
        combination: (P,) row of the columns of Contacts.
    """

    shape_a: Array
    shape_b: Array
    combination: Array


@dataclass(frozen=True)
class Contacts(Table, left_out=IN_SCENE):
    """Which shapes can touch, as a rule: the list of pairs would grow with the square of the shapes.

    Shapes of a group touch the same others with the same numbers, but for those of their own body and for the pairs in
    `apart`. Two groups combine to a row of numbers. The normal of a contact points from shape a to shape b: of two shapes
    a is the one of the lower rank, of equal ones the first.

    Attributes:
        group: of each shape, -1: it touches nothing.
        owner: body of each shape.
        rank: of each shape.
        still: whether each is of the world, or of a body that moves as prescribed.
        combination: row K of the columns below for shapes of two groups, -1: they keep apart.
        apart_start: offsets into `apart`.
        apart: shapes with a higher index that a shape keeps apart from, rising.
        points: most contacts of a pair.
        friction: of sliding, per the grain.
        friction_across: of sliding across the grain; where there is none, as along it.
        grain_shape: index into Shapes of the one that has the grain, -1: friction is isotropic.
        grain: its direction, in the body of that shape.
        friction_static: at rest.
        rolling_friction: torque per normal force.
        torsional_friction: torque per normal force.
        compliance: overlap per normal force of each contact.
        margin: how far apart two shapes touch; NaN: at the sum of their own margins.
        d_hat: where the barrier of affine bodies begins; NaN: where the solver says.
        barrier_stiffness: of it; NaN likewise.
        enabled: 0 while `contact.enabled` is false, or while joints part the two: events switch it.
        capacity: most contacts of a world.
    """

    group: Array = per("S")
    owner: Array = per("S")
    rank: Array = per("S")
    still: Array = per("S", kind=bool)
    combination: Array = per("G G")
    apart_start: Array = per("S+1")
    apart: Array = per("P")
    points: Array = per("K")
    friction: Array = per("W|1 K", changes=Changes.VALUES)
    friction_across: Array = per("W|1 K", changes=Changes.VALUES)
    grain_shape: Array = per("K")
    grain: Array = per("W|1 K xyz")
    friction_static: Array = per("W|1 K", changes=Changes.VALUES)
    rolling_friction: Array = per("W|1 K", "m", changes=Changes.VALUES)
    torsional_friction: Array = per("W|1 K", "m", changes=Changes.VALUES)
    restitution: Array = per("W|1 K", changes=Changes.VALUES)
    compliance: Array = per("W|1 K", "m/N", changes=Changes.VALUES)
    margin: Array = per("W|1 K", "m")
    d_hat: Array = per("W|1 K", "m")
    barrier_stiffness: Array = per("W|1 K", "N/m^3")
    enabled: Array = per("W|1 K", changes=Changes.VALUES)
    capacity: int

    def widest(self) -> Array:
        """[m], (W|1, S), half of the largest margin that a pair gives a shape; 0 where none does."""
        most = np.maximum(np.nan_to_num(self.margin), 0.0)[:, self.combination] * (self.combination >= 0)
        return np.where(self.group >= 0, 0.5 * most.max(axis=-1)[:, self.group], 0.0)

    @property
    def touching(self) -> Array:
        """(T,) indices of the shapes that can touch something."""
        return np.flatnonzero(self.group >= 0)

    def partners(self) -> Iterator[Pairs]:
        """The pairs of each shape with those of a higher index, but for those that are switched off."""
        touching = self.touching
        for k, i in enumerate(touching.tolist()):
            j = touching[k + 1 :]
            row = self.combination[self.group[i], self.group[j]]
            free = (row >= 0) & (self.owner[j] != self.owner[i]) & (self.enabled[0, row] != 0)
            free &= ~np.isin(j, self.apart[self.apart_start[i] : self.apart_start[i + 1]])
            j, row = j[free], row[free]
            swap = self.rank[i] > self.rank[j]
            yield Pairs(np.where(swap, j, i), np.where(swap, i, j), row)

    @cached_property
    def pairs(self) -> Pairs:
        """All of them: for small scenes."""
        return Pairs(*np.concatenate([np.zeros((3, 0)), *self.partners()], axis=1).astype(np.int32))
