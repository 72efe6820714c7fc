"""Convex hull of points in space: vertices, and faces as flat polygons."""

from functools import partial
from itertools import pairwise

import numpy as np

from simcli.model.tables.table_base import Array
from simcli.rotations import frame_along

_FLAT = 1e-8  # [1] of the extent of the points: what is less far from a plane lies in it
_GRID = 2**26  # steps of the extent along each axis, on which signs are exact
_THIN = 1e-4  # [1] of the extent: height of triangles whose normal the grid states better, because no point is above it
_ABOVE = 0.5  # [steps], what is less far above a face lies in it


class HullError(ValueError):
    """The points have no hull with a volume."""


def convex_hull(points: Array) -> tuple[Array, list[Array], Array]:
    """Smallest convex polyhedron that holds all points.

    Args:
        points: [m], (n, 3), any frame.

    Returns:
        Corners [m], (c, 3), in the order of the points. Faces: indices of the corners of each, counter-clockwise seen from
        outside, beginning with the smallest. Unit outward normals, (f, 3).

    Raises:
        HullError: all points lie in one plane.

    Source: quickhull (Barber, Dobkin, Huhdanpaa 1996), then triangles in one plane become one polygon. Deviation: which side
    of a face a point is on is found in integers, on a grid of the extent, because with rounded signs meshes of real parts,
    full of slivers, become surfaces that are neither closed nor convex; points half a step above a face count as inside.
    """
    points = np.unique(np.asarray(points, float), axis=0) + 0.0
    surface = _grown(points)
    triangles = np.array(list(surface.faces.values()))
    rings, outward = _polygons(points, surface)
    counts = np.bincount(np.concatenate(rings), minlength=len(points))
    is_corner = (counts >= 3) & np.isin(np.arange(len(points)), triangles)  # the others lie within an edge or a face
    corner, number = np.flatnonzero(is_corner), np.cumsum(is_corner) - 1
    places, faces = points[corner], []
    for ring, normal in zip(rings, outward, strict=True):
        kept = number[ring[is_corner[ring]]]
        is_triangle = len(ring) == len(kept) == 3  # one of the surface, whose corners are in order
        faces.append(np.roll(kept, -int(kept.argmin())) if is_triangle else _around(places, np.sort(kept), normal))
    order = sorted(range(len(faces)), key=lambda k: faces[k].tolist())
    return places, [faces[k] for k in order], np.array(outward)[order]


def _polygons(points: Array, surface: "_Surface") -> tuple[list[Array], list[Array]]:
    """Corners and normals of the flat faces: triangles that lie in the plane of a larger one beside them are part of it.

    A face of three corners is one triangle, and has them counter-clockwise; others have them rising.
    """
    tolerance = _FLAT * float(np.ptp(points, axis=0).max())
    names, triangles = list(surface.faces), np.array(list(surface.faces.values()))
    normals, area = _normals(points, triangles)
    extent = np.ptp(points, axis=0)
    sides = points[triangles] - np.roll(points[triangles], 1, axis=1)
    thin = area < _THIN * extent.max() * np.linalg.norm(sides, axis=2).max(axis=1)
    exact = np.array([surface.normal[name] for name in names], float) / extent
    normals[thin] = (exact / np.linalg.norm(exact, axis=1)[:, None])[thin]
    alone = ~_have_flat_neighbours(points, surface, normals, tolerance)
    free, rings, outward = set(names), [], []
    for t in np.argsort(-area, kind="stable").tolist():  # the largest triangle of a plane states it best
        if names[t] not in free:
            continue
        part = {names[t]}
        if not alone[t]:
            lies_in = _Plane(points, points[triangles[t, 0]], normals[t], tolerance)
            part = surface.spread(names[t], partial(_lies_in, surface, free, lies_in))
        free -= part
        rings.append(
            np.unique([corner for face in part for corner in surface.faces[face]]) if len(part) > 1 else triangles[t]
        )
        outward.append(normals[t])
    return rings, outward


def _have_flat_neighbours(points: Array, surface: "_Surface", normals: Array, tolerance: float) -> Array:
    """Whether a triangle beside each one lies in its plane, (m,) bool."""
    faces = surface.faces
    beside = np.array(
        [[faces[surface.beside[j, i]] for i, j in pairwise((*corners, corners[0]))] for corners in faces.values()]
    )
    origin = points[np.array([corners[0] for corners in faces.values()])]
    level = np.einsum("fskx,fx->fsk", points[beside] - origin[:, None, None], normals)
    return (np.abs(level) <= 2.0 * tolerance).all(axis=2).any(axis=1)  # a bound: sums are rounded in another order


class _Plane:
    """Which points lie in a plane, found as they are asked for.

    Args:
        points: (n, 3).
        origin: a point of the plane.
        normal: [1], (3,).
        tolerance: largest distance.
    """

    def __init__(self, points: Array, origin: Array, normal: Array, tolerance: float):
        self.points, self.origin, self.normal, self.tolerance = points, origin, normal, tolerance
        self.found: dict[int, bool] = {}

    def __contains__(self, point: int) -> bool:
        if point not in self.found:
            self.found[point] = abs(float((self.points[point] - self.origin) @ self.normal)) <= self.tolerance
        return self.found[point]


def _lies_in(surface: "_Surface", free: set[int], plane: _Plane, face: int) -> bool:
    """Whether a face is free, and all of its corners lie in a plane."""
    return face in free and all(corner in plane for corner in surface.faces[face])


def _around(corners: Array, ring: Array, normal: Array) -> Array:
    """Corners of a face, counter-clockwise about its normal, the first index first."""
    x, y, _ = frame_along(normal).T
    arm = corners[ring] - corners[ring].mean(axis=0)
    ring = ring[np.argsort(np.arctan2(arm @ y, arm @ x), kind="stable")]
    return np.roll(ring, -int(ring.argmin()))


class _Surface:
    """A closed surface of triangles about a growing hull.

    Attributes:
        grid: (n, 3) int, the points on the grid.
        faces: number to corners, counter-clockwise seen from outside.  normal: number to exact normal.
        beside: directed edge to the face that it belongs to.
        outside: number to points above a face, the furthest first, and no other face has them.
    """

    def __init__(self, grid: Array):
        self.grid, self.count = grid, 0
        self.exact = grid.tolist()
        self.faces: dict[int, tuple[int, int, int]] = {}
        self.normal: dict[int, tuple[int, int, int]] = {}
        self.beside: dict[tuple[int, int], int] = {}
        self.outside: dict[int, Array] = {}

    def add(self, a: int, b: int, c: int) -> int:
        """A new face."""
        face, self.count = self.count, self.count + 1
        o, p, q = self.exact[a], self.exact[b], self.exact[c]
        u, v = [p[k] - o[k] for k in range(3)], [q[k] - o[k] for k in range(3)]
        self.faces[face] = (a, b, c)
        self.normal[face] = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
        self.beside.update(dict.fromkeys(((a, b), (b, c), (c, a)), face))
        return face

    def remove(self, face: int) -> None:
        """Take a face away; its edges may belong to new ones already."""
        a, b, c = self.faces.pop(face)
        for edge in ((a, b), (b, c), (c, a)):
            if self.beside.get(edge) == face:
                del self.beside[edge]
        del self.normal[face]

    def is_above(self, point: int, face: int) -> bool:
        """Whether a point is outside of the plane of a face; exact."""
        p, o, n = self.exact[point], self.exact[self.faces[face][0]], self.normal[face]
        return sum(n[k] * (p[k] - o[k]) for k in range(3)) > 0

    def spread(self, first: int, wanted) -> set[int]:
        """Faces that hang together with the first one, each of which is wanted."""
        reached, ways = {first}, [first]
        while ways:
            corners = self.faces[ways.pop()]
            for i, j in pairwise((*corners, corners[0])):
                face = self.beside[j, i]
                if face not in reached and wanted(face):
                    reached.add(face)
                    ways.append(face)
        return reached

    def share(self, points: Array, faces: list[int]) -> None:
        """Give points to the faces that they are highest above; those above none are inside."""
        if not len(points):
            return
        normal = np.array([self.normal[face] for face in faces], float)
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        origin = self.grid[[self.faces[face][0] for face in faces]]
        height = ((self.grid[points][:, None] - origin).astype(float) * normal).sum(axis=2)
        owner, height = height.argmax(axis=1), height.max(axis=1)
        order = np.argsort(-height, kind="stable")
        order = order[height[order] > _ABOVE]
        for k, face in enumerate(faces):
            mine = points[order[owner[order] == k]]
            if len(mine):
                self.outside[face] = mine

    def grow(self, face: int) -> None:
        """Put the furthest point above a face on the hull: faces that see it make room for a cone from their rim."""
        apex = int(self.outside[face][0])
        seen = self.spread(face, lambda other: self.is_above(apex, other))
        rim = sorted(
            edge
            for one in seen
            for edge in pairwise((*self.faces[one], self.faces[one][0]))
            if self.beside[edge[::-1]] not in seen
        )
        orphans = np.concatenate([self.outside.pop(one, np.zeros(0, int)) for one in sorted(seen)])
        for one in seen:
            self.remove(one)
        self.share(orphans[orphans != apex], [self.add(i, j, apex) for i, j in rim])


def _grown(points: Array) -> _Surface:
    """The surface of the hull.

    Raises:
        HullError: all points lie in one plane.
    """
    extent = np.ptp(points, axis=0) if len(points) else np.zeros(3)
    if len(points) < 4:
        raise HullError("fewer than four different points")
    if not extent.min() > 0.0:
        raise HullError("all points lie in one plane")
    surface = _Surface(np.rint((points - points.min(axis=0)) / extent * _GRID).astype(np.int64))
    first = _tetrahedron(surface.grid.astype(float))
    surface.share(np.arange(len(points)), [surface.add(*corners) for corners in _faces_of(first)])
    while surface.outside:
        surface.grow(next(iter(surface.outside)))
    return surface


def _normals(points: Array, triangles: Array) -> tuple[Array, Array]:
    """Unit normals, (m, 3), and twice the areas, (m,); 0 where there is no area."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    return normals / np.maximum(area, np.finfo(float).tiny)[:, None], area


def _tetrahedron(points: Array) -> list[int]:
    """Four points far from one plane."""
    axis = int(np.argmax(np.ptp(points, axis=0)))
    a, b = int(points[:, axis].argmin()), int(points[:, axis].argmax())
    line = (points[b] - points[a]) / max(np.linalg.norm(points[b] - points[a]), np.finfo(float).tiny)
    off = np.linalg.norm(np.cross(points - points[a], line), axis=1)
    c = int(off.argmax())
    height = (points - points[a]) @ _normals(points, np.array([(a, b, c)]))[0][0]
    d = int(np.abs(height).argmax())
    if off[c] <= 2.0 or abs(height[d]) <= 2.0:  # steps
        raise HullError("all points lie in one plane")
    return [a, b, c, d] if height[d] < 0 else [a, c, b, d]


def _faces_of(four: list[int]) -> list[tuple[int, int, int]]:
    """Faces of a tetrahedron whose last corner lies below the first three."""
    a, b, c, d = four
    return [(a, b, c), (b, a, d), (c, b, d), (a, c, d)]
