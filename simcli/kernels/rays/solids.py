"""What is drawn: unit shapes under affine maps, and meshes, each once, with boxes about their triangles.

The boxes of a mesh are a binary tree in the order of a walk in depth.
"""

from dataclasses import dataclass

import numpy as np

from simcli.kernels.rays.intersections import BALL, CAPSULE, FRUSTUM, MESH, PLANE
from simcli.model.tables.table_base import Array

MOST_IN_LEAF = 4
CREASE = 0.825  # cosine of 0.6 rad, the angle between two faces from which on an edge is drawn sharp
PAD = 1e-6  # [1] of the mesh's size, about every box: flat ones have no inside


@dataclass(frozen=True)
class Hierarchy:
    """M nodes about F triangles.

    Attributes:
        box: (M, 6) float32, least and greatest corner.
        link: (M, 3) int32: the node to go on with if the box is missed, first triangle, number of triangles (0: no leaf).
        triangle: (F, 18) float32, in the order of the leaves: corner, two edges from it, normals of the three corners.
    """

    box: Array
    link: Array
    triangle: Array


def hierarchy_of(vertices: Array, faces: Array) -> Hierarchy:
    """The tree of a mesh: halves of equal number along the longest side of the box of centres.

    Args:
        vertices: (V, 3), in any unit.
        faces: (F, 3), at least one.
    """
    corner = np.asarray(vertices, float)[np.asarray(faces)]
    low, high, middle = corner.min(axis=1), corner.max(axis=1), corner.mean(axis=1)
    pad = PAD * float(np.ptp(corner.reshape(-1, 3), axis=0).max())
    boxes, links, order = [], [], []
    todo = [(np.arange(len(corner)), -1)]  # the node that closes a subtree is known once all of it is written
    parents = []
    while todo:
        inside, parent = todo.pop()
        node = len(boxes)
        parents.append(parent)
        boxes.append((*(low[inside].min(axis=0) - pad), *(high[inside].max(axis=0) + pad)))
        if len(inside) <= MOST_IN_LEAF:
            links.append([node + 1, len(order), len(inside)])
            order.extend(inside.tolist())
            continue
        links.append([0, 0, 0])
        axis = int(np.argmax(np.ptp(middle[inside], axis=0)))
        inside = inside[np.argsort(middle[inside, axis], kind="stable")]
        half = len(inside) // 2
        todo += [(inside[half:], node), (inside[:half], node)]
    end = np.arange(1, len(boxes) + 1)  # one past the last node below each
    for node in range(len(boxes) - 1, 0, -1):
        end[parents[node]] = max(end[parents[node]], end[node])
    link = np.array(links, np.int32)
    link[:, 0] = end
    normals = corner_normals(corner)
    rows = np.concatenate(
        (corner[:, 0], corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0], normals.reshape(-1, 9)), axis=1
    )
    return Hierarchy(np.array(boxes, np.float32), link, np.ascontiguousarray(rows[order], np.float32))


def corner_normals(corner: Array) -> Array:
    """Normals of the corners of triangles, (F, 3, 3): the mean of the faces about, those beyond a crease left out.

    Args:
        corner: (F, 3, 3).
    """
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])  # as long as twice the area
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    unit = normal / np.where(size > 0.0, size, 1.0)
    _, vertex = np.unique(corner.reshape(-1, 3), axis=0, return_inverse=True)
    vertex = vertex.ravel()
    by_vertex = np.argsort(vertex, kind="stable")
    start = np.searchsorted(vertex[by_vertex], np.arange(vertex.max() + 2))
    # Pairs (corner, face that has its vertex), all at once.
    count = np.diff(start)[vertex]
    owner = np.repeat(np.arange(len(vertex)), count)
    nth = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    face = by_vertex[start[vertex[owner]] + nth] // 3
    near = np.einsum("pk,pk->p", unit[owner // 3], unit[face]) > CREASE
    total = np.stack([np.bincount(owner[near], normal[face[near], k], len(vertex)) for k in range(3)], axis=-1)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 0.0, total / np.where(length > 0.0, length, 1.0), np.repeat(unit, 3, axis=0)).reshape(-1, 3, 3)


_LEAST_SIZE = 1e-6  # [1] of the scene: flatter solids have no inverse map
_ROW = 25  # numbers of a solid in the kernel's table
_THIN, _ROUND = 3.0, 0.9  # half length in radii, and least by largest radius, of what throws the shadow of a straight strip
COIL_SHADE = 0.5  # share of the light that a coil takes
_UNBOUNDED = -1.0  # as radius: the plane
_SIGNS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


@dataclass(frozen=True)
class Meshes:
    """Meshes of a scene, made once: each fills the cube |x|, |y|, |z| <= 1 of its own unit frame.

    Attributes:
        centre: (K, 3), of the cube in the mesh's frame.
        half: (K,), half an edge of the cube.
        start: (K + 1,) int32, first node of each.
        nodes, links, triangles: see `Hierarchy`; numbers count through all meshes.
    """

    centre: Array
    half: Array
    start: Array
    nodes: Array
    links: Array
    triangles: Array


def meshes_of(parts: list[tuple[Array, Array]]) -> Meshes:
    """Meshes out of vertices (V, 3) and faces (F, 3)."""
    centres, halves, trees = [], [], []
    for vertices, faces in parts:
        used = np.asarray(vertices, float)[np.unique(faces)]
        low, high = used.min(axis=0), used.max(axis=0)
        centres.append(0.5 * (low + high))
        halves.append(max(0.5 * float((high - low).max()), np.finfo(float).tiny))
        trees.append(hierarchy_of((vertices - centres[-1]) / halves[-1], faces))
    trees = trees or [Hierarchy(np.zeros((0, 6), np.float32), np.zeros((0, 3), np.int32), np.zeros((0, 18), np.float32))]
    start = np.cumsum([0, *(len(tree.box) for tree in trees)])
    first = np.cumsum([0, *(len(tree.triangle) for tree in trees)])
    links = [tree.link + np.array((node, face, 0)) for tree, node, face in zip(trees, start, first, strict=False)]
    return Meshes(
        centre=np.array(centres).reshape(-1, 3),
        half=np.array(halves),
        start=start.astype(np.int32),
        nodes=_one_row(np.concatenate([tree.box for tree in trees])),
        links=_one_row(np.concatenate(links).astype(np.int32)),
        triangles=_one_row(np.concatenate([tree.triangle for tree in trees])),
    )


def _one_row(table: Array) -> Array:
    """A table that is not empty: the kernel takes none that is."""
    return table if len(table) else np.zeros((1, table.shape[1]), table.dtype)


@dataclass(frozen=True)
class Solids:
    """N solids in the frame of the picture (see kernels/rays/__init__.py).

    Attributes:
        kind: (N,), of `shapes`.
        map: (N, 3, 3), from the unit shape to the frame of the picture.
        centre: (N, 3).
        top: (N,), radius of a frustum's or capsule's top, of that of its foot; of a plane the distance from its centre
            over which it vanishes.
        length: (N,), half the length of a capsule between the middles of its ends, in radii of its foot; of a mesh not 0
            if its shadow may be that of a translucent rod from z = -1 to 1: of a coil; of a plane not 0 if it is seen
            from both sides.
        colour: (N, 3), linear light.
        opacity: (N,), 0 to 1.
        mesh: (N,), number of the mesh.
        lines: (N,), distance of the lines on a plane, 0 for none.
    """

    kind: Array
    map: Array
    centre: Array
    top: Array
    length: Array
    colour: Array
    opacity: Array
    mesh: Array
    lines: Array

    def kept(self) -> "Solids":
        """Those that can be drawn: poses are numbers, opacities are not 0; none is too flat."""
        good = np.isfinite(self.map).all(axis=(1, 2)) & np.isfinite(self.centre).all(axis=1) & (self.opacity > 0.0)
        found = self.of(good)
        return Solids(**{**vars(found), "map": _thick(found.map)})

    def of(self, mask: Array) -> "Solids":
        """Some of them."""
        return Solids(**{name: value[mask] for name, value in vars(self).items()})

    @property
    def is_plane(self) -> Array:
        """(N,) bool."""
        return self.kind == PLANE

    @property
    def is_coil(self) -> Array:
        """(N,) bool, meshes that are coils."""
        return (self.kind == MESH) & (self.length > 0.0)

    def corners(self) -> Array:
        """Corners of a box about each solid, (N, 8, 3); of no meaning for planes."""
        half = np.ones((len(self.kind), 3))
        half[:, 2] += np.where(self.kind == CAPSULE, self.length, 0.0)
        return self.centre[:, None] + np.einsum("nij,nkj->nki", self.map, half[:, None] * _SIGNS)

    def radius(self) -> Array:
        """Radius of a ball about each solid, (N,), UNBOUNDED for planes."""
        if not len(self.kind):
            return np.zeros(0)
        reach = np.linalg.norm(self.corners() - self.centre[:, None], axis=-1).max(axis=1)
        longest = np.linalg.norm(self.map, ord=2, axis=(1, 2))
        return np.where(self.is_plane, _UNBOUNDED, np.where(self.kind == BALL, longest, reach))

    def rods(self) -> tuple[Array, Array, Array]:
        """Half axes (N, 3) of thin round solids, radii (N,) of their feet and tops; radii are 0 for all others."""
        across = np.linalg.norm(self.map[:, :, :2], axis=1)
        half = np.where(self.kind == CAPSULE, self.length, 1.0)[:, None] * self.map[:, :, 2]
        radius = across.max(axis=1)
        thin = (np.isin(self.kind, (CAPSULE, FRUSTUM)) | self.is_coil) & (np.linalg.norm(half, axis=1) > _THIN * radius)
        thin &= (across.min(axis=1) > _ROUND * radius) & (self.top > 0.0)
        return half, np.where(thin, radius, 0.0), np.where(thin, radius * self.top, 0.0)

    def table(self, meshes: Meshes) -> tuple[Array, Array]:
        """The kernel's tables: numbers (N, ROW) float32, and (N, 3) int32 of kind, first node, one past the last."""
        n = len(self.kind)
        rows = np.zeros((n, _ROW))
        rows[:, :9] = np.linalg.inv(self.map).reshape(n, 9)
        rows[:, 9:12], rows[:, 12], rows[:, 13] = self.centre, self.radius(), self.top
        rows[:, 14:17], rows[:, 17] = self.colour, self.opacity
        rows[:, 18] = np.where(self.is_plane, self.lines, self.length)
        rows[:, 19:22], rows[:, 22], rows[:, 23] = self.rods()
        rows[:, 24] = self.opacity * np.where(self.is_coil, COIL_SHADE, 1.0)
        names = np.zeros((n, 3), np.int32)
        names[:, 0] = self.kind
        names[:, 1] = self.is_plane & (self.length > 0.0)
        at = self.kind == MESH
        names[at, 1], names[at, 2] = meshes.start[self.mesh[at]], meshes.start[self.mesh[at] + 1]
        return _one_row(rows.astype(np.float32)), _one_row(names)


def _thick(maps: Array) -> Array:
    """Maps of which no singular value is below LEAST_SIZE."""
    if not len(maps):
        return maps
    u, size, v = np.linalg.svd(maps)
    thin = size.min(axis=1) < _LEAST_SIZE
    return np.where(thin[:, None, None], u @ (np.maximum(size, _LEAST_SIZE)[..., None] * v), maps)
