"""Convex hull of points in space: vertices, and faces as flat polygons."""

from itertools import pairwise

import numpy as np

from simcli.model.table_base import Array
from simcli.rotations import frame_along

_FLAT = 1e-9  # [1] of the extent of the points: what is less far from a plane lies in it


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

    Source: quickhull (Barber, Dobkin, Huhdanpaa 1996), then triangles in one plane become one polygon. Deviation: points
    less than FLAT from a face count as inside.
    """
    points = np.unique(np.asarray(points, float), axis=0) + 0.0
    tolerance = _FLAT * float(np.ptp(points, axis=0).max(initial=0.0))
    triangles = _triangles(points, tolerance)
    normals, area = _normals(points, triangles)
    rings, outward, free = [], [], np.ones(len(triangles), bool)
    used = np.unique(triangles)
    for t in np.argsort(-area, kind="stable"):  # the largest triangle of a plane states it best
        if free[t]:
            ring = used[np.abs((points[used] - points[triangles[t, 0]]) @ normals[t]) <= 10 * tolerance]
            free &= ~np.isin(triangles, ring).all(axis=1)
            rings.append(ring)
            outward.append(normals[t])
    corner, count = np.unique(np.concatenate(rings), return_counts=True)
    corner = corner[count >= 3]  # the others lie within an edge or a face
    rings = [np.searchsorted(corner, ring[np.isin(ring, corner)]) for ring in rings]
    faces = [_around(points[corner], ring, normal) for ring, normal in zip(rings, outward, strict=True)]
    order = sorted(range(len(faces)), key=lambda k: tuple(faces[k]))
    return points[corner], [faces[k] for k in order], np.array([outward[k] for k in order])


def _around(corners: Array, ring: Array, normal: Array) -> Array:
    """Corners of a face, counter-clockwise about its normal, the first index first."""
    x, y, _ = frame_along(normal).T
    arm = corners[ring] - corners[ring].mean(axis=0)
    ring = ring[np.argsort(np.arctan2(arm @ y, arm @ x), kind="stable")]
    return np.roll(ring, -int(ring.argmin()))


def _triangles(points: Array, tolerance: float) -> Array:
    """Triangles of the hull, (m, 3) indices, counter-clockwise seen from outside."""
    faces = np.array(_faces_of(_tetrahedron(points, tolerance)))
    normals, _ = _normals(points, faces)
    left, owner = np.arange(len(points)), np.zeros(len(points), int)
    while len(left):
        height = np.einsum("nk,nk->n", points[left] - points[faces[owner, 0]], normals[owner])
        over = height > tolerance
        moved = np.flatnonzero(~over)
        if len(moved):  # to a face that they stand outside of, or away
            height = np.einsum("nmk,mk->nm", points[left[moved], None] - points[faces[:, 0]], normals)
            owner[moved] = height.argmax(axis=1)
            over[moved] = height.max(axis=1) > tolerance
        left, owner = left[over], owner[over]
        if not len(left):
            break
        chosen = left[owner == owner[0]]
        apex = chosen[np.argmax((points[chosen] - points[faces[owner[0], 0]]) @ normals[owner[0]])]
        visible = np.einsum("mk,mk->m", points[apex] - points[faces[:, 0]], normals) > tolerance
        rim = {edge for face in faces[visible].tolist() for edge in pairwise((*face, face[0]))}
        fresh = np.array([(i, j, apex) for i, j in sorted(rim) if (j, i) not in rim])
        owner = np.where(visible[owner], 0, np.cumsum(~visible)[owner] - 1)
        faces = np.concatenate((faces[~visible], fresh))
        normals = np.concatenate((normals[~visible], _normals(points, fresh)[0]))
    return faces


def _normals(points: Array, triangles: Array) -> tuple[Array, Array]:
    """Unit normals, (m, 3), and twice the areas, (m,); 0 where there is no area."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    return normals / np.maximum(area, np.finfo(float).tiny)[:, None], area


def _tetrahedron(points: Array, tolerance: float) -> list[int]:
    """Four points far from one plane."""
    if len(points) < 4:
        raise HullError("fewer than four different points")
    axis = int(np.argmax(np.ptp(points, axis=0)))
    a, b = int(points[:, axis].argmin()), int(points[:, axis].argmax())
    line = (points[b] - points[a]) / max(np.linalg.norm(points[b] - points[a]), np.finfo(float).tiny)
    off = np.linalg.norm(np.cross(points - points[a], line), axis=1)
    c = int(off.argmax())
    height = (points - points[a]) @ _normals(points, np.array([(a, b, c)]))[0][0]
    d = int(np.abs(height).argmax())
    if off[c] <= tolerance or abs(height[d]) <= tolerance:
        raise HullError("all points lie in one plane")
    return [a, b, c, d] if height[d] < 0 else [a, c, b, d]


def _faces_of(four: list[int]) -> list[tuple[int, int, int]]:
    """Faces of a tetrahedron whose last corner lies below the first three."""
    a, b, c, d = four
    return [(a, b, c), (b, a, d), (c, b, d), (a, c, d)]
