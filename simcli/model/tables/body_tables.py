"""Bodies, their shapes and their points, and which shapes can touch, as tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from simcli.model.tables.table_base import Array, Table

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
class Contacts(Table):
    """Which shapes can touch, as a rule: the list of pairs would grow with the square of the shapes.

    Shapes of a group touch the same others with the same numbers, but for those of their own body and for the pairs in
    `apart`. Two groups combine to a row of numbers. The normal of a contact points from shape a to shape b: of two shapes
    a is the one of the lower rank, of equal ones the first.

    Attributes:
        group: (S,) of each shape, -1: it touches nothing.
        owner: (S,) body of each shape.
        rank: (S,) of each shape.
        still: (S,) bool, whether each is of the world, or of a body that moves as prescribed.
        combination: (G, G) row K of the columns below for shapes of two groups, -1: they keep apart.
        apart_start: (S + 1,) offsets into `apart`.
        apart: shapes with a higher index that a shape keeps apart from, rising.
        points: (K,) most contacts of a pair.
        friction: [1], (W|1, K), of sliding, along the grain.
        friction_across: [1], (W|1, K), of sliding across the grain; where there is none, as along it.
        grain_shape: (K,) index into Shapes of the one that has the grain, -1: friction is isotropic.
        grain: [1], (W|1, K, 3), its direction, in the body of that shape.
        friction_static: [1], (W|1, K), at rest.
        rolling_friction: [m], (W|1, K), torque per normal force.
        torsional_friction: [m], (W|1, K), torque per normal force.
        restitution: [1], (W|1, K).
        compliance: [m/N], (W|1, K), overlap per normal force of each contact.
        margin: [m], (W|1, K), how far apart two shapes touch; NaN: at the sum of their own margins.
        d_hat: [m], (W|1, K), where the barrier of affine bodies begins; NaN: where the solver says.
        barrier_stiffness: [N/m^3], (W|1, K), of it; NaN likewise.
        enabled: [1], (1, K), 0 while `contact.enabled` is false, or while joints part the two: events switch it.
        capacity: most contacts of a world.
    """

    group: Array
    owner: Array
    rank: Array
    still: Array
    combination: Array
    apart_start: Array
    apart: Array
    points: Array
    friction: Array
    friction_across: Array
    grain_shape: Array
    grain: Array
    friction_static: Array
    rolling_friction: Array
    torsional_friction: Array
    restitution: Array
    compliance: Array
    margin: Array
    d_hat: Array
    barrier_stiffness: Array
    enabled: Array
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
