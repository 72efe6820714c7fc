"""How deep shapes overlap where a run begins, on the host: the code of a run would need Taichi and its compiler.

Of convex shapes the depth is the least way that parts them,

    depth = min over unit d of  h_a(d) + h_b(-d) - d . (x_b - x_a)

with the distances h to which each shape reaches from its origin: what the narrow phase of a run finds by walking the surface
of the difference of both (kernels/collision/epa.py). Any direction bounds it from above, so that few directions show
that most pairs are apart. The shapes are the tables of that narrow phase, margins included (colliders.py). Of terrain the
prisms below its triangles count, each of them convex.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.model.bodies.colliders import Colliders, colliders
from simcli.model.bodies.surfaces import crossings, surfaces
from simcli.model.joints.tree_kinematics import link_poses
from simcli.model.tables.body_tables import Shapes
from simcli.model.tables.joint_tables import Links
from simcli.model.tables.model import Array, Model, ShapeKind

SLIGHT_OVERLAP = 1e-6  # [m], overlap that no one draws on purpose, and that no step minds
_SPREAD, _KEPT, _MOST_STEPS = 96, 8, 300  # directions of all sides; those that are refined, and steps of that
_START, _ENOUGH = 0.35, 1e-7  # [rad], way from a direction to the next: about that of those of all sides; and in the end
_NEARER = 0.8  # [1], by which that way shrinks where no direction is better
_TURN = 0.3  # [rad], by which the next directions are turned about the last one, lest they all cross a valley
_MANY = 1024  # corners of meshes whose faces and directions are all tried


class Overlap(NamedTuple):
    """Two bodies that overlap at the start.

    Attributes:
        bodies: of both, -1 for the world.
        shapes: those that overlap deepest.
        depth: [m], in the world where it is largest.
        world: that world.
        n_worlds: in how many worlds they overlap.
    """

    bodies: tuple[int, int]
    shapes: tuple[int, int]
    depth: float
    world: int
    n_worlds: int


class _Solids(NamedTuple):
    """Shapes where the run begins.

    Attributes:
        host: their tables.
        R: [1], (W|1, S, 3, 3).  x: [m], (W|1, S, 3): of shapes in the world.
        reach: [m], (W|1, S, 3), half extents along the axes of the world, not of planes.
    """

    host: Colliders
    R: Array
    x: Array
    reach: Array


def find_overlaps(model: Model) -> list[Overlap]:
    """Pairs of bodies that can touch, and overlap at the start by more than SLIGHT_OVERLAP and than their margins."""
    return (
        _by_bodies(model.shapes, _overlaps(model, np.ones(len(model.shapes.name), bool)))
        if model.contacts is not None
        else []
    )


def find_cuts(model: Model, segments: int) -> list[Overlap]:
    """Pairs of bodies whose surfaces cut each other, as the barrier of affine bodies has them; of meshes without a depth.

    Args:
        model: the tables.
        segments: corners of the polygon that stands for a circle.
    """
    if model.contacts is None:
        return []
    host = surfaces(model, segments)
    R, o = _links(model.joint_q, model.links)
    link = np.repeat(host.link, np.diff(host.vertex_start))
    vertex = np.moveaxis(o[link], 0, 1) + rot.turn(np.moveaxis(R[link], 0, 1), host.vertex)
    cut = ((a, b, world, np.nan) for world, (a, b) in crossings(host, model.contacts, vertex))
    is_solid = (model.shapes.kind != ShapeKind.HEIGHTFIELD) & (model.shapes.convex | (model.shapes.kind != ShapeKind.MESH))
    return _by_bodies(model.shapes, chain(_overlaps(model, is_solid), cut))


def _by_bodies(shapes: Shapes, found: Iterable[tuple[int, int, int, float]]) -> list[Overlap]:
    """Overlaps of shapes, each a, b, world and depth, as those of pairs of bodies."""
    deepest: dict[tuple[int, int], Overlap] = {}
    worlds: dict[tuple[int, int], set[int]] = {}
    for a, b, world, depth in found:
        pair = tuple(sorted((int(shapes.body[a]), int(shapes.body[b]))))
        worlds.setdefault(pair, set()).add(world)
        if pair not in deepest or depth > deepest[pair].depth:
            deepest[pair] = Overlap(pair, (a, b), depth, world, 0)
    return [one._replace(n_worlds=len(worlds[pair])) for pair, one in sorted(deepest.items())]


def _overlaps(model: Model, is_solid: Array) -> Iterator[tuple[int, int, int, float]]:
    """Shapes a and b that overlap, the world and the depth [m], of those that are solid, (S,)."""
    touching = model.contacts.touching
    solids, margin = _solids(model, touching[is_solid[touching]]), model.shapes.margin
    for a, b, near in _candidates(model, solids):
        for w in near.tolist() if is_solid[a] and is_solid[b] else ():
            depth = _depth(solids, a, b, w, float(_of(margin, w)[[a, b]].sum()))
            if depth:
                yield a, b, w, depth


def _of(column: Array, world: int) -> Array:
    """Row of a world in a column with a world axis of length W or 1."""
    return column[min(world, len(column) - 1)]


def _links(joint_q: Array, links: Links) -> tuple[Array, Array]:
    """Poses of the links where the run begins, the last one the world: R [1], (L + 1, W|1, 3, 3), o [m], (L + 1, W|1, 3)."""
    R, o = link_poses(links, joint_q)
    lead = R.shape[1] if len(R) else 1
    return (
        np.concatenate([R.reshape(-1, lead, 3, 3), np.broadcast_to(np.eye(3), (1, lead, 3, 3))]),
        np.concatenate([o.reshape(-1, lead, 3), np.zeros((1, lead, 3))]),
    )


def _solids(model: Model, wanted: Array) -> _Solids:
    host = colliders(model, wanted)
    R, o = _links(model.joint_q, model.links)
    R, o = np.moveaxis(R[host.link], 0, 1), np.moveaxis(o[host.link], 0, 1)
    turn = np.matmul(R, host.rotation)
    reach = (
        np.minimum(
            np.einsum("wsij,wsj->wsi", np.abs(turn), np.broadcast_to(host.half, turn.shape[:-1])), host.bound[..., None]
        )
        + host.skin[..., None]
    )
    return _Solids(host, turn, o + rot.turn(R, host.position), reach)


def _candidates(model: Model, solids: _Solids) -> Iterator[tuple[int, int, Array]]:
    """Pairs of shapes whose boxes overlap by more than is passed over, and the worlds where they do."""
    kind, margin = model.shapes.kind, model.shapes.margin
    for pairs in model.contacts.partners():
        a, b = pairs.shape_a, pairs.shape_b
        away = np.abs(solids.x[:, b] - solids.x[:, a])
        shared = (solids.reach[:, a] + solids.reach[:, b] - away).min(axis=-1)
        near = (shared > np.maximum(SLIGHT_OVERLAP, margin[:, a] + margin[:, b])) | (kind[a] == ShapeKind.PLANE)
        for k in np.flatnonzero(near.any(axis=0)).tolist():
            yield int(a[k]), int(b[k]), np.flatnonzero(np.broadcast_to(near, (_n_worlds(model.joint_q), len(a)))[:, k])


def _n_worlds(joint_q: Array) -> int:
    return max(len(joint_q), 1)


def _depth(solids: _Solids, a: int, b: int, w: int, margin: float) -> float:
    """[m], overlap of two shapes in a world; 0 if it is passed over."""
    host, least = solids.host, max(SLIGHT_OVERLAP, margin)
    one, other = (_Body(host, s, w, _of(solids.R, w)[s], _of(solids.x, w)[s]) for s in (a, b))
    if host.kind[a] == ShapeKind.PLANE:
        found = _width(one, other, one.R[None, :, 2])[0]
    elif host.kind[a] == ShapeKind.HEIGHTFIELD:
        found = max((_prism_depth(prism, other, least) for prism in _prisms(one, other)), default=0.0)
    else:
        found = _least_width(one, other, least)
    return float(found) if found > least else 0.0


class _Body:
    """A convex shape in the world.

    Args:
        host, s: tables, and which shape.
        w: world.
        R, x: its pose.
        corner: [m], (k, 3), of a hull in shape axes; None for the shape's own form.
    """

    def __init__(self, host: Colliders, s: int, w: int, R: Array, x: Array, corner: Array | None = None):
        self.host, self.s, self.w, self.R, self.x = host, s, w, R, x
        self.kind, self.half = host.kind[s], _of(host.half, w)[s]
        self.radius = float(_of(host.radius, w)[s]) if corner is None else 0.0
        self.corner = host.corner[host.corner_start[s] : host.corner_start[s + 1]] if corner is None else corner
        self.is_hull = corner is not None or self.kind == ShapeKind.MESH

    def reach(self, d: Array) -> Array:
        """[m], (n,), how far it reaches from its origin along unit directions of the world, (n, 3)."""
        u, (hx, _, hz) = d @ self.R, self.half
        if self.is_hull:
            return (u @ self.corner.T).max(axis=1) + self.radius
        across, along = np.hypot(u[:, 0], u[:, 1]), np.abs(u[:, 2])
        core = {
            ShapeKind.PLANE: lambda: np.where(u[:, 2] > 1.0 - 1e-12, 0.0, np.inf),
            ShapeKind.SPHERE: lambda: 0.0 * along,
            ShapeKind.CAPSULE: lambda: along * (hz - hx),
            ShapeKind.CYLINDER: lambda: hx * across + hz * along,
            ShapeKind.CONE: lambda: np.maximum(hz * u[:, 2], hx * across - hz * u[:, 2]),
            ShapeKind.ELLIPSOID: lambda: np.linalg.norm(u * self.half, axis=1),
        }.get(self.kind, lambda: np.abs(u) @ self.half)
        return core() + self.radius

    def normals(self) -> Array:
        """[1], (n, 3), outward normals of faces that can be the first ones met, in world axes."""
        first, last = self.host.face_start[self.s], self.host.face_start[self.s + 1]
        if self.kind == ShapeKind.MESH and last - first <= _MANY:
            return self.host.face_normal[first:last] @ self.R.T
        return np.concatenate((self.R.T, -self.R.T))


def _width(one: _Body, other: _Body, d: Array) -> Array:
    """[m], (n,), by how much two shapes overlap along unit directions, (n, 3): the way along d that would part them."""
    return one.reach(d) + other.reach(-d) - d @ (other.x - one.x)


def _least_width(one: _Body, other: _Body, least: float) -> float:
    """[m], the least way that parts two convex shapes; any number not above `least` if that is not above it."""
    d = _directions(one, other)
    width = _width(one, other, d)
    order = np.argsort(width, kind="stable")[:_KEPT]
    best, width, way = d[order], width[order], np.full(len(order), _START)
    for k in range(_MOST_STEPS):
        if width.min() <= least or way.max() < _ENOUGH:
            break
        tries = _around(best, way, k * _TURN)
        widths = _width(one, other, tries.reshape(-1, 3)).reshape(len(best), -1)
        chosen, better = widths.argmin(axis=1), widths.min(axis=1) < width
        best = np.where(better[:, None], tries[np.arange(len(best)), chosen], best)
        width = np.where(better, widths.min(axis=1), width)
        way = np.where(better, way, _NEARER * way)
    return float(width.min())


def _around(d: Array, way: Array, turn: float) -> Array:
    """[1], (k, 8, 3), unit directions on cones about others, (k, 3), each so far from its own, (k,); turned by an angle."""
    across = rot.cross(d, np.eye(3)[np.abs(d).argmin(axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    angle, up = (np.arange(8) * (np.pi / 4) + turn)[:, None], rot.cross(d, across)
    tries = d[:, None] + way[:, None, None] * (np.cos(angle) * across[:, None] + np.sin(angle) * up[:, None])
    return tries / np.linalg.norm(tries, axis=2, keepdims=True)


def _directions(one: _Body, other: _Body) -> Array:
    """Unit directions to begin with: normals of faces, those across two edges, the line of the centres, and all sides."""
    mine, theirs = one.normals(), -other.normals()
    crossed = rot.cross(one.R.T[:, None], other.R.T[None]).reshape(-1, 3)
    k = np.arange(_SPREAD) + 0.5
    polar, turn = np.arccos(1.0 - 2.0 * k / _SPREAD), np.pi * (1.0 + 5.0**0.5) * k
    sides = np.stack((np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)), axis=1)
    every = np.concatenate((mine, theirs, crossed, -crossed, (other.x - one.x)[None], sides))
    size = np.linalg.norm(every, axis=1)
    return every[size > 1e-9] / size[size > 1e-9, None]


def _prisms(terrain: _Body, other: _Body) -> Iterator[_Body]:
    """Prisms below the triangles of terrain that lie below or above a shape's box and reach it."""
    host, s = terrain.host, terrain.s
    columns, rows, first = int(host.columns[s]), int(host.rows[s]), int(host.height_start[s])
    scale = terrain.half
    heights = host.height[first : first + columns * rows].reshape(rows, columns)
    middle = (other.x - terrain.x) @ terrain.R
    low, high = middle - other.reach(-terrain.R.T), middle + other.reach(terrain.R.T)
    size = 2.0 * scale[:2] / (np.array((columns, rows)) - 1)
    begin = np.clip(np.floor((low[:2] + scale[:2]) / size), 0, None).astype(int)
    end = np.clip(np.floor((high[:2] + scale[:2]) / size) + 1, None, (columns - 1, rows - 1)).astype(int)
    for j in range(begin[1], end[1]):
        for i in range(begin[0], end[0]):
            for steps in (((0, 0), (1, 0), (1, 1)), ((0, 0), (1, 1), (0, 1))):
                top = np.array(
                    [
                        ((i + di) * size[0] - scale[0], (j + dj) * size[1] - scale[1], heights[j + dj, i + di])
                        for di, dj in steps
                    ]
                )
                if top[:, 2].max() > low[2]:
                    yield _Body(
                        host, s, terrain.w, terrain.R, terrain.x, np.concatenate((top, top - (0.0, 0.0, 2.0 * scale[2])))
                    )


def _prism_depth(prism: _Body, other: _Body, least: float) -> float:
    """[m], how deep a shape is below a triangle of terrain; 0 if it does not reach the prism below that."""
    up = rot.cross(prism.corner[1] - prism.corner[0], prism.corner[2] - prism.corner[0])
    normal = prism.R @ (up / np.linalg.norm(up))
    depth = float(_width(prism, other, normal[None])[0])
    return depth if depth > least and _least_width(prism, other, least) > least else 0.0
