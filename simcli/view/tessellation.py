"""Triangles of the solids of a drawing, for formats that know nothing else."""

import numpy as np

from simcli.model.tables.model import Array
from simcli.view.drawing.parts import Item

AROUND = 32  # corners of a circle: off by 0.5 % of the radius
_ALONG = 8  # edges of a quarter of a circle
_BOX = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_SIDES = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])


def triangles_of(item: Item, reach: float) -> tuple[Array, Array, Array | None]:
    """The surface of an item.

    Args:
        item: of a drawing.
        reach: [m], half the edge of a plane, which has no end.

    Returns:
        Vertices [m], (n, 3), in the item's frame; triangles, (m, 3), counter-clockwise seen from outside; and unit
        normals, (n, 3), None where each triangle has its own.
    """
    if item.kind == "mesh":
        return np.asarray(item.vertices, float), np.asarray(item.triangles, np.int64), None
    if item.kind == "plane":
        corners = reach * np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
        return corners, np.array([(0, 1, 2), (0, 2, 3)]), np.tile([0.0, 0.0, 1.0], (4, 1))
    if item.kind == "box":
        return _BOX * item.size, np.concatenate([_SIDES[:, [0, 1, 2]], _SIDES[:, [0, 2, 3]]]), None
    scale = np.array(item.size if item.kind == "ellipsoid" else (1.0, 1.0, 1.0))
    place, turn = zip(*_profile(item), strict=True)
    vertices, normals, triangles = _turned(np.array(place), np.array(turn))
    normals = normals / scale
    return vertices * scale, triangles, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def _profile(item: Item) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Points and normals (r, z) of half a section, from below to above; an edge has two points."""
    if item.kind in ("sphere", "ellipsoid"):
        return _arc(1.0 if item.kind == "ellipsoid" else item.size[0], 0.0, -0.5, 0.5)
    radius, half = item.size[0], 0.5 * item.size[1]
    if item.kind == "capsule":
        return _arc(radius, -half, -0.5, 0.0) + _arc(radius, half, 0.0, 0.5)
    below = [((0.0, -half), (0.0, -1.0)), ((radius, -half), (0.0, -1.0))]
    if item.kind == "cone":
        slope = np.array([2.0 * half, radius]) / np.hypot(2.0 * half, radius)
        return [*below, ((radius, -half), tuple(slope)), ((0.0, half), tuple(slope))]
    return [*below, ((radius, -half), (1.0, 0.0)), ((radius, half), (1.0, 0.0)),
            ((radius, half), (0.0, 1.0)), ((0.0, half), (0.0, 1.0))]  # fmt: skip


def _arc(radius: float, middle: float, first: float, last: float) -> list:
    """Part of a circle about (0, middle), from and to angles in units of pi above the equator."""
    angles = np.pi * np.linspace(first, last, 1 + round(2 * _ALONG * (last - first)))
    return [((max(radius * np.cos(a), 0.0), middle + radius * np.sin(a)), (np.cos(a), np.sin(a))) for a in angles]


def _turned(place: Array, turn: Array) -> tuple[Array, Array, Array]:
    """The surface that a section makes about z: vertices, normals, triangles; none without area."""
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def spread(half: Array) -> Array:
        return np.concatenate([half[:, None, :1] * rim, np.broadcast_to(half[:, None, 1:], (len(half), AROUND, 1))],
                              axis=2).reshape(-1, 3)  # fmt: skip

    k, at = np.meshgrid(np.arange(len(place) - 1), np.arange(AROUND), indexing="ij")
    after = (at + 1) % AROUND
    a, b, c, d = (k * AROUND + at, k * AROUND + after, (k + 1) * AROUND + after, (k + 1) * AROUND + at)
    is_edge = (place[1:] == place[:-1]).all(axis=1)[:, None] & np.ones(AROUND, bool)
    lower = (place[:-1, :1] > 1e-12) & ~is_edge  # else a and b are one point, on the axis
    upper = (place[1:, :1] > 1e-12) & ~is_edge
    triangles = np.concatenate([np.stack([a, b, c], axis=-1)[lower], np.stack([a, c, d], axis=-1)[upper]])
    return spread(place), spread(turn), triangles
