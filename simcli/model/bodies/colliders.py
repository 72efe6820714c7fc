"""Shapes as the narrow phase reads them: frames in links, half extents, rounding, hulls and terrain as flat tables.

Every shape is a core and a radius about it: a sphere is a point, a capsule a segment, the others are their own core. The
margin of a shape is part of that radius: a sphere or a capsule is a larger one, the others are rounded.
"""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.bodies.hull import convex_hull
from simcli.model.joints.tree_kinematics import body_rotations, link_points, links_of
from simcli.model.tables.body_tables import Shapes
from simcli.model.tables.model import Model, ShapeKind
from simcli.model.tables.table_base import Array, Table

VAST = 1e15  # [m], half extent of a plane
ROUND_KINDS = (ShapeKind.SPHERE, ShapeKind.CAPSULE)  # whose core is a point or a segment
MOST_CORNERS = 32  # of a face; of a larger one evenly chosen corners stand for it


@dataclass(frozen=True)
class Colliders(Table):
    """The S shapes of a model, C corners and F faces of hulls, G grid points of terrain.

    Attributes:
        kind: (S,) ShapeKind.
        link: (S,) link that carries the shape, -1 for the world.
        rotation: [1], (W|1, S, 3, 3), shape axes to link axes.
        position: [m], (W|1, S, 3), origin of the shape in the link: the middle of its half extents.
        half: [m], (W|1, S, 3), half extents in shape axes, of spheres and capsules with their margins.
        radius: [m], (W|1, S), of rounding, margins included.
        bare: [m], (W|1, S), of rounding, without margins.
        skin: [m], (W|1, S), how far outside of half extents and bound the surface is: the margin of what is no sphere and no
            capsule, or what a pair of it has more.
        bound: [m], (W|1, S), of the ball about the origin that holds the shape.
        corner_start, face_start: (S + 1,) offsets into corners and faces.
        corner: [m], (C, 3), of hulls, shape frame.
        face_normal: [1], (F, 3), outward, shape axes.
        ring_start: (F + 1,) offsets into rings.
        ring: corners of each face, counter-clockwise, counted from the shape's first.
        columns, rows, height_start: (S,) grid of a shape's terrain.
        height: [m], (G,), row by row.
    """

    kind: Array
    link: Array
    rotation: Array
    position: Array
    half: Array
    radius: Array
    bare: Array
    skin: Array
    bound: Array
    corner_start: Array
    corner: Array
    face_start: Array
    face_normal: Array
    ring_start: Array
    ring: Array
    columns: Array
    rows: Array
    height_start: Array
    height: Array

    @property
    def n_shapes(self) -> int:
        """Number of shapes, S."""
        return len(self.kind)


def colliders(model: Model, wanted: Array | None = None, inflated: bool = True) -> Colliders:
    """Tables of the shapes of a model.

    Args:
        model: with contacts, unless shapes are named.
        wanted: indices of the shapes whose hulls are needed; left out, those that can touch something.
        inflated: with margins, as contact has the shapes; False: as they are.

    Raises:
        HullError: a mesh of these has no hull.
    """
    shapes = model.shapes
    touching = model.contacts.touching if wanted is None else wanted
    hulls, middle, mesh_half = _hulls(model.shapes, touching)
    R = rot.quat_to_matrix(shapes.pose[..., 3:])
    at = shapes.pose[..., :3] + np.einsum("wsij,sj->wsi", R, middle)
    margin = shapes.margin if inflated else np.zeros((1, len(shapes.name)))
    half, radius, skin = _extents(model, mesh_half, margin)
    if inflated and model.contacts is not None:
        skin = np.maximum(skin, model.contacts.widest() + skin - margin)
    tables = {name: np.concatenate([np.asarray(hull[name]) for hull in hulls]) for name in ("corner", "normal")}
    faces = [face for hull in hulls for face in hull["face"]]
    heights = [np.asarray(grid, float) for grid in shapes.heights] or [np.zeros((0, 0))] * len(shapes.name)
    return Colliders(
        kind=np.array(shapes.kind),
        link=links_of(model.links, shapes.body),
        rotation=np.matmul(body_rotations(model.links, shapes.body), R),
        position=link_points(model.links, shapes.body, at),
        half=half,
        radius=radius,
        bare=bare_radius(shapes),
        skin=skin,
        bound=_bound(shapes.kind, half),
        corner_start=_offsets(hull["corner"] for hull in hulls),
        corner=tables["corner"],
        face_start=_offsets(hull["face"] for hull in hulls),
        face_normal=tables["normal"],
        ring_start=_offsets(faces),
        ring=np.concatenate([np.zeros(0, int), *faces]),
        columns=np.array([grid.shape[1] for grid in heights]),
        rows=np.array([grid.shape[0] for grid in heights]),
        height_start=_offsets(grid.ravel() for grid in heights)[:-1],
        height=np.concatenate([np.zeros(0), *(grid.ravel() for grid in heights)]),
    )


def _offsets(parts) -> Array:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=int)]).astype(int)


def _hulls(shapes: Shapes, touching: Array) -> tuple[list[dict], Array, Array]:
    """Hull about the middle of its extents, that middle, and the half extents, of every shape."""
    n = len(shapes.name)
    none = {"corner": np.zeros((0, 3)), "face": [], "normal": np.zeros((0, 3))}
    hulls, middle, half = [none] * n, np.zeros((n, 3)), np.zeros((n, 3))
    for s in touching:
        if shapes.kind[s] == ShapeKind.MESH:
            corner, faces, normals = convex_hull(shapes.vertices[s])
            low, high = corner.min(axis=0), corner.max(axis=0)
            middle[s], half[s] = (low + high) / 2, (high - low) / 2
            hulls[s] = {"corner": corner - middle[s], "face": [_thinned(face) for face in faces], "normal": normals}
    return hulls, middle, half


def _thinned(face: Array) -> Array:
    chosen = np.arange(min(len(face), MOST_CORNERS)) * len(face) // min(len(face), MOST_CORNERS)
    return face[chosen]


def bare_radius(shapes: Shapes) -> Array:
    """[m], (W|1, S), of shapes about their cores, without margins."""
    return np.where(np.isin(shapes.kind, ROUND_KINDS), shapes.size[..., 0], 0.0)


def _extents(model: Model, mesh_half: Array, margin: Array) -> tuple[Array, Array, Array]:
    """Half extents, (W|1, S, 3), radii of rounding and skins, (W|1, S), see `Colliders`."""
    shapes = model.shapes
    skin = np.where(np.isin(shapes.kind, ROUND_KINDS), 0.0, margin)
    size = shapes.size + (margin - skin)[..., None] * np.array((1.0, 0.0, 0.0))  # of spheres and capsules
    half, radius = np.zeros_like(size), np.zeros(size.shape[:2])
    for s, kind in enumerate(shapes.kind):
        r, length = size[:, s, 0], size[:, s, 1]
        if kind == ShapeKind.PLANE:
            half[:, s] = VAST
        elif kind == ShapeKind.SPHERE:
            half[:, s], radius[:, s] = r[:, None], r
        elif kind == ShapeKind.CAPSULE:
            half[:, s], radius[:, s] = np.stack((r, r, length / 2 + r), axis=-1), r
        elif kind in (ShapeKind.CYLINDER, ShapeKind.CONE):
            half[:, s] = np.stack((r, r, length / 2), axis=-1)
        elif kind == ShapeKind.BOX:
            half[:, s] = size[:, s] / 2
        elif kind == ShapeKind.ELLIPSOID:
            half[:, s] = size[:, s]
        elif kind == ShapeKind.MESH:
            half[:, s] = mesh_half[s]
        else:
            half[:, s] = _terrain_half(size[:, s], shapes.heights[s])
    return half, radius + skin, skin


def _terrain_half(size: Array, heights: Array) -> Array:
    """Half extents of terrain: as deep below its lowest point as it is wide, so that nothing falls through at once."""
    deep = size[:, :2].max(axis=1)
    z = np.maximum(np.abs(heights.max()), np.abs(heights.min() - deep))
    return np.stack((size[:, 0] / 2, size[:, 1] / 2, z), axis=-1)


def _bound(kind: Array, half: Array) -> Array:
    """Radius of the ball about the origin, (W|1, S)."""
    bound = np.linalg.norm(half, axis=-1)
    round_ends = np.isin(kind, (*ROUND_KINDS, ShapeKind.ELLIPSOID))
    bound = np.where(round_ends, half.max(axis=-1), bound)
    barrel = np.isin(kind, (ShapeKind.CYLINDER, ShapeKind.CONE))
    return np.where(barrel, np.hypot(half[..., 0], half[..., 2]), bound)
