"""Surfaces of shapes as the barrier sees them: vertices, edges and triangles, and a radius about them; which cut each other.

A sphere is a point with a radius and a capsule a segment with one, both exactly, and a margin adds to the radius;
a box, a mesh and terrain are their own triangles; cylinder, cone and ellipsoid become inscribed
polyhedra, whose deviation is told. A plane stays a half space. Shapes cut each other where edges go through triangles,
or points are below planes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from simcli import rotations as rot
from simcli.model.bodies.colliders import bare_radius
from simcli.model.bodies.hull import convex_hull
from simcli.model.bodies.mesh import weld
from simcli.model.joints.tree_kinematics import link_points, links_of
from simcli.model.tables.body_tables import Contacts, Pairs
from simcli.model.tables.model import Model, ShapeKind
from simcli.model.tables.table_base import Array, Table

POINT, SEGMENT, SURFACE, HALF_SPACE = range(4)  # what a shape's core is
_FLAT = 1e-9  # [1], sine of the angle between two triangles of one flat face
_BOX = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


@dataclass(frozen=True)
class Surfaces(Table):
    """The S shapes of a model as V vertices, E edges and F triangles; shapes that touch nothing are empty.

    Attributes:
        core: (S,) POINT, SEGMENT, SURFACE or HALF_SPACE.
        link: (S,) link that carries the shape, -1 for the world.
        bare: [m], (W|1, S), radius about the core without margins.
        radius: [m], (W|1, S), with them.
        vertex_start, edge_start, face_start: (S + 1,) offsets.
        vertex: [m], (W|1, V, 3), in the link. Of a half space: a point of its plane.
        edge: (E, 2), vertices. Of the edges within a flat face there are none: whatever touches one touches others, too.
        face: (F, 3), vertices, those of a flat face one after another.
        flat: (F,), number of the flat face of each triangle.
        normal: [1], (W|1, S, 3), of half spaces, in the link; 0 for others.
        deviation: [m], (S,), most that the surface lies inside the shape, in the first world.
    """

    core: Array
    link: Array
    bare: Array
    radius: Array
    vertex_start: Array
    vertex: Array
    edge_start: Array
    edge: Array
    face_start: Array
    face: Array
    flat: Array
    normal: Array
    deviation: Array


@dataclass(frozen=True)
class Skin:
    """The surface of one shape.

    Attributes:
        vertex: [m], (W|1, v, 3), shape frame.
        edge: (e, 2).
        face: (f, 3).
        deviation: [m].
    """

    vertex: Array
    edge: Array = field(default_factory=lambda: np.zeros((0, 2), int))
    face: Array = field(default_factory=lambda: np.zeros((0, 3), int))
    deviation: float = 0.0


def surfaces(model: Model, segments: int) -> Surfaces:
    """Surfaces of the shapes of a model that can touch something.

    Args:
        model: with contacts.
        segments: corners of the polygon that stands for a circle.
    """
    shapes = model.shapes
    touching = model.contacts.group >= 0
    nothing = Skin(np.zeros((1, 0, 3)))
    skins = [skin_of(model, s, segments) if touching[s] else nothing for s in range(len(shapes.name))]
    flats = [flat_faces(skin.vertex[0], skin.face) for skin in skins]
    orders = [np.argsort(flat, kind="stable") for flat in flats]
    vertex_start = _offsets([skin.vertex.shape[1] for skin in skins])
    face_start = _offsets([len(skin.face) for skin in skins])
    size = np.diff(vertex_start)
    pose = np.repeat(shapes.pose, size, axis=1)
    worlds = max(len(skin.vertex) for skin in skins)
    local = np.concatenate([np.broadcast_to(skin.vertex, (worlds, *skin.vertex.shape[1:])) for skin in skins], axis=1)
    at = pose[..., :3] + rot.turn(rot.quat_to_matrix(pose[..., 3:]), local)
    core = np.array([_core(kind, shapes.size, s) for s, kind in enumerate(shapes.kind)])
    half_space = (shapes.kind == ShapeKind.PLANE)[:, None]
    return Surfaces(
        core=core,
        link=links_of(model.links, shapes.body),
        bare=bare_radius(shapes),
        radius=bare_radius(shapes) + shapes.margin,
        vertex_start=vertex_start,
        vertex=link_points(model.links, np.repeat(shapes.body, size), at),
        edge_start=_offsets([len(skin.edge) for skin in skins]),
        edge=np.concatenate([skin.edge + first for skin, first in zip(skins, vertex_start[:-1], strict=True)]),
        face_start=face_start,
        face=np.concatenate(
            [skin.face[order] + first for skin, order, first in zip(skins, orders, vertex_start[:-1], strict=True)]
        ),
        flat=np.concatenate(
            [flat[order] + first for flat, order, first in zip(flats, orders, face_start[:-1], strict=True)]
        ),
        normal=np.where(half_space, rot.quat_to_matrix(shapes.pose[..., 3:])[..., 2], 0.0),
        deviation=np.array([skin.deviation for skin in skins]),
    )


def _offsets(counts: list[int]) -> Array:
    return np.concatenate([[0], np.cumsum(counts)]).astype(int)


def _core(kind: int, size: Array, s: int) -> int:
    """What the core of shape s is."""
    if kind == ShapeKind.PLANE:
        return HALF_SPACE
    if kind == ShapeKind.SPHERE or (kind == ShapeKind.CAPSULE and not size[:, s, 1].any()):
        return POINT
    return SEGMENT if kind == ShapeKind.CAPSULE else SURFACE


def skin_of(model: Model, s: int, segments: int) -> Skin:
    """The surface of shape s."""
    shapes = model.shapes
    kind, size = shapes.kind[s], shapes.size[:, s, None, :]
    core = _core(kind, shapes.size, s)
    if core in (POINT, HALF_SPACE):
        return Skin(np.zeros((1, 1, 3)))
    if core == SEGMENT:
        ends = np.array([(0.0, 0.0, -0.5), (0.0, 0.0, 0.5)])
        return Skin(ends * size[..., 1:2], np.array([(0, 1)]))
    if kind == ShapeKind.BOX:
        return hull_of(_BOX * size)
    if kind in (ShapeKind.CYLINDER, ShapeKind.CONE):
        unit = _prism(segments) if kind == ShapeKind.CYLINDER else _pyramid(segments)
        deviation = float(size[0, 0, 0] * (1.0 - np.cos(np.pi / segments)))
        return hull_of(unit * np.concatenate((size[..., :1], size[..., :1], size[..., 1:2]), axis=-1), deviation)
    if kind == ShapeKind.ELLIPSOID:
        vertex, face = _ball(-(-segments // 4))
        inner = np.abs(np.einsum("fk,fk->f", vertex[face[:, 0]], _normals(vertex, face)))
        return Skin(vertex * size, _edges(vertex, face), face, float(size[0].max() * (1.0 - inner.min())))
    if kind == ShapeKind.MESH:
        vertex, face = shapes.vertices[s], shapes.faces[s]
        return hull_of(vertex[None]) if shapes.convex[s] else Skin(vertex[None], _edges(vertex, face), face)
    return _terrain(shapes.heights[s], size)


def hull_of(vertex: Array, deviation: float = 0.0) -> Skin:
    """The convex hull of vertices, (W|1, v, 3), as a surface."""
    corner, faces, _ = convex_hull(vertex[0])
    order = np.array([np.flatnonzero((vertex[0] == point).all(axis=1))[0] for point in corner])
    face = np.array([(ring[0], ring[k], ring[k + 1]) for ring in faces for k in range(1, len(ring) - 1)])
    return Skin(vertex[:, order], _edges(corner, face), face, deviation)


def _normals(vertex: Array, face: Array) -> Array:
    """Unit normals of triangles, (f, 3)."""
    a, b, c = (vertex[face[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def _edges(vertex: Array, face: Array) -> Array:
    """Edges of triangles, (e, 2), without those between two triangles of one flat face."""
    edge, is_flat, _ = _joints_of_faces(vertex, face)
    return edge[~is_flat]


def flat_faces(vertex: Array, face: Array) -> Array:
    """(f,), number of the flat face of each triangle: triangles that edges within a flat face join have one number."""
    if not len(face):
        return np.zeros(0, int)
    _, is_flat, sides = _joints_of_faces(vertex, face)
    one, other = sides[is_flat].T
    label = np.arange(len(face))
    while (label[one] != label[other]).any():  # least label of neighbours, then of what these have found
        np.minimum.at(label, one, label[other])
        np.minimum.at(label, other, label[one])
        label = label[label]
    return np.unique(label, return_inverse=True)[1].ravel()


def _joints_of_faces(vertex: Array, face: Array) -> tuple[Array, Array, Array]:
    """Edges of triangles, (e, 2); whether each is within a flat face, (e,); two of its triangles, (e, 2)."""
    normal = _normals(vertex, face)
    all_edges = np.sort(np.concatenate((face[:, [0, 1]], face[:, [1, 2]], face[:, [2, 0]])), axis=1)
    edge, owner, count = np.unique(all_edges, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(owner.ravel(), kind="stable")
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    one, other = order[first] % len(face), order[first + count - 1] % len(face)
    is_flat = (count == 2) & (np.linalg.norm(np.cross(normal[one], normal[other]), axis=1) < _FLAT)
    is_flat &= np.einsum("ek,ek->e", normal[one], normal[other]) > 0.0
    return edge, is_flat, np.stack((one, other), axis=1)


def _prism(n: int) -> Array:
    """Corners of a prism of radius and height 1."""
    angle = 2.0 * np.pi * np.arange(n) / n
    rim = np.stack((np.cos(angle), np.sin(angle)), axis=-1)
    return np.concatenate([np.column_stack((rim, np.full(n, z))) for z in (-0.5, 0.5)])


def _pyramid(n: int) -> Array:
    """Corners of a pyramid of radius and height 1, apex up."""
    return np.concatenate((_prism(n)[:n], [(0.0, 0.0, 0.5)]))


def _ball(n: int) -> tuple[Array, Array]:
    """A ball of radius 1: the triangles of an octahedron, each cut into n^2."""
    triangles = []
    for signs in np.array([(x, y, z) for x in (1, -1) for y in (1, -1) for z in (1, -1)]):
        order = (0, 1, 2) if signs.prod() > 0 else (0, 2, 1)
        x, y, z = (np.eye(3) * signs)[list(order)]
        for i in range(n):
            for k in range(n - i):
                a, b, c = (np.array((i, k, n - i - k)) + step for step in ((0, 0, 0), (1, 0, -1), (0, 1, -1)))
                cells = [(a, b, c)] + ([(b, b + np.array((0, 1, -1)), c)] if k < n - i - 1 else [])
                triangles += [[(p[0] * x + p[1] * y + p[2] * z) / n for p in cell] for cell in cells]
    vertex, face = weld(np.array(triangles))
    return vertex / np.linalg.norm(vertex, axis=1, keepdims=True), face


def _terrain(heights: Array, size: Array) -> Skin:
    vertex, face = terrain_triangles(heights, size)
    return Skin(vertex, _edges(vertex[0], face), face)


def terrain_triangles(heights: Array, size: Array) -> tuple[Array, Array]:
    """The triangles of terrain, cut as in kernels/collision/terrain.py.

    Args:
        heights: [m], (rows along y, columns along x).
        size: [m], (..., 1, 3), extent along x and y.

    Returns:
        Vertices [m], (..., n, 3), and triangles, (m, 3), counter-clockwise seen from above.
    """
    rows, columns = np.shape(heights)
    x, y = (np.linspace(-0.5, 0.5, n) for n in (columns, rows))
    flat = np.stack((np.tile(x, rows), np.repeat(y, columns)), axis=-1)
    up = np.broadcast_to(np.ravel(heights)[:, None], (*size.shape[:-2], rows * columns, 1))
    vertex = np.concatenate((flat * size[..., :2], up), axis=-1)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    face = np.concatenate(
        [
            np.stack((corner, corner + 1, corner + columns + 1), axis=-1),
            np.stack((corner, corner + columns + 1, corner + columns), axis=-1),
        ]
    )
    return vertex, face


def crossings(host: Surfaces, contacts: Contacts, vertex: Array) -> Iterator[tuple[int, tuple[int, int]]]:
    """Worlds and pairs of shapes whose surfaces cut each other or, at a half space, touch it.

    Args:
        host: surfaces.
        contacts: which shapes can touch.
        vertex: [m], (W, V, 3), all vertices in the world.
    """
    low, high = (bound_of(host, vertex, side) for side in (np.min, np.max))
    for pairs in contacts.partners():
        a, b = pairs.shape_a, pairs.shape_b
        reach = _reach(host, contacts, pairs)
        near = ((low[:, a] <= high[:, b]) & (low[:, b] <= high[:, a])).all(axis=-1)
        is_plane = host.core[a] == HALF_SPACE
        for k in np.flatnonzero(near.any(axis=0) | is_plane).tolist():
            pair = int(a[k]), int(b[k])
            if is_plane[k]:
                yield from ((world, pair) for world in _below(host, vertex, *pair, reach[:, k]))
                continue
            for world in np.flatnonzero(near[:, k]).tolist():
                if cut(host, vertex[world], *pair) or cut(host, vertex[world], *pair[::-1]):
                    yield world, pair


def _reach(host: Surfaces, contacts: Contacts, pairs: Pairs) -> Array:
    """[m], (W|1, P), how far apart the cores of two shapes touch."""
    bare, full = (radius[:, pairs.shape_a] + radius[:, pairs.shape_b] for radius in (host.bare, host.radius))
    margin = contacts.margin[:, pairs.combination]
    return np.where(np.isnan(margin), full, bare + margin)


def _below(host: Surfaces, vertex: Array, a: int, b: int, reach: Array) -> list[int]:
    """Worlds in which shape b is as near to the half space a as they touch."""
    origin = vertex[:, host.vertex_start[a]]
    height = np.einsum(
        "wvk,wk->wv",
        vertex[:, part(host.vertex_start, b)] - origin[:, None],
        np.broadcast_to(host.normal[:, a], origin.shape),
    )
    return np.flatnonzero(height.min(axis=1) <= reach).tolist()


def part(start: Array, s: int) -> slice:
    """Entries of shape s."""
    return slice(start[s], start[s + 1])


def bound_of(host: Surfaces, vertex: Array, side) -> Array:
    """[m], (W, S, 3), least or largest coordinates of the cores; NaN of shapes without vertices."""
    empty = np.full((len(vertex), 3), np.nan)
    parts = [vertex[:, part(host.vertex_start, s)] for s in range(len(host.core))]
    return np.stack([side(points, axis=1) if points.shape[1] else empty for points in parts], axis=1)


def cut(host: Surfaces, vertex: Array, a: int, b: int) -> bool:
    """True if an edge of shape a goes through a triangle of shape b."""
    p, q = np.moveaxis(vertex[host.edge[part(host.edge_start, a)]][:, None], 2, 0)
    u, v, w = np.moveaxis(vertex[host.face[part(host.face_start, b)]][None], 2, 0)
    way, normal = q - p, np.cross(v - u, w - u)
    speed = np.einsum("efk,efk->ef", way, normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.einsum("efk,efk->ef", u - p, normal) / speed
        x = p + t[..., None] * way
        size = np.einsum("efk,efk->ef", normal, normal)
        weight_v = np.einsum("efk,efk->ef", np.cross(x - u, w - u), normal) / size
        weight_w = np.einsum("efk,efk->ef", np.cross(v - u, x - u), normal) / size
        hits = (t >= 0) & (t <= 1) & (weight_v >= 0) & (weight_w >= 0) & (weight_v + weight_w <= 1)
    return bool(hits.any())
