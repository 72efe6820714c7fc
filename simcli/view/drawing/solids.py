"""Shapes of a scene, and shapes that are only seen, as items, and their triangles for formats that know nothing else."""

from pathlib import Path

import numpy as np

from simcli.model.bodies.body_inputs import SIZE_OF
from simcli.model.bodies.mesh import MeshError, load_mesh, read_heights
from simcli.model.bodies.surfaces import terrain_triangles
from simcli.model.signals.csv_table import CsvError
from simcli.model.tables.model import WORLD, Array, ShapeKind
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.shape import BodyLookSpec, HeightfieldShape, ShapeLookSpec, rgb
from simcli.view.drawing.drawing_tables import DrawingTables
from simcli.view.drawing.items import GROUND_COLOUR, Colour, Item, of_body

_N_SIZES = {"sphere": 1, "box": 3, "capsule": 2, "cylinder": 2, "cone": 2, "ellipsoid": 3}


def solids(spec: SceneSpec, tables: DrawingTables, folder: Path, notes: list[str]) -> list[Item]:
    """Items of all shapes.

    Args:
        spec: the scene, for looks and terrain.
        tables: of one world.
        folder: where files that the scene names are.
        notes: receives what cannot be drawn.
    """
    names = tables.names("body")
    looks = {WORLD: spec.world.look, **{b: spec.bodies[name].look for b, name in enumerate(names) if name in spec.bodies}}
    items = [item for s in range(len(tables.names("shape"))) for item in _shape(spec, tables, s, looks, folder, notes)]
    for body, look in looks.items():
        if not look.hidden:
            owner = names[body] if body != WORLD else "world"
            items += [
                item
                for key, shape in look.shapes.items()
                for item in _seen(f"{owner}/{key}", body, shape, look, folder, notes)
            ]
    return items


def colour_of_shape(look: BodyLookSpec, body: int) -> Colour:
    """The colour of a body."""
    return rgb(look.colour) if look.colour else of_body(body)


def _shape(
    spec: SceneSpec, tables: DrawingTables, s: int, looks: dict[int, BodyLookSpec], folder: Path, notes: list[str]
) -> list:
    """The item of shape s of the tables; none if it is hidden or cannot be drawn."""
    body, name = int(tables["shape_body"][s]), tables.names("shape")[s]
    look = looks.get(body)
    if look is None or look.hidden:
        return []
    kind = ShapeKind(int(tables["shape_type"][s]))
    size = tuple(map(float, tables["shape_size"][s]))
    pose = tables["shape_pose"][s]
    colour = GROUND_COLOUR if kind == ShapeKind.PLANE and not look.colour else colour_of_shape(look, body)
    place = (tuple(pose[:3].tolist()), tuple(pose[3:].tolist()), colour, look.opacity)
    if kind in (ShapeKind.MESH, ShapeKind.HEIGHTFIELD):
        surface = _triangles(tables, s) if kind == ShapeKind.MESH else _terrain(spec, name, size, folder, notes)
        return [Item(name, body, "mesh", (), *place, vertices=surface[0], triangles=surface[1])] if surface else []
    word = kind.name.lower()
    return [Item(name, body, word, size[: _N_SIZES.get(word, 0)], *place)]


def _triangles(tables: DrawingTables, s: int) -> tuple[np.ndarray, np.ndarray] | None:
    v, f = (tables[f"shape_{part}_start"][s : s + 2] for part in ("vertex", "face"))
    if f[0] == f[1]:
        return None
    return tables["shape_vertex"][v[0] : v[1]], tables["shape_face"][f[0] : f[1]]


def _terrain(spec: SceneSpec, name: str, size: tuple[float, ...], folder: Path, notes: list[str]):
    """Triangles of terrain; its heights are in the scene, not in the tables."""
    shape = spec.world.shapes.get(name.rpartition("/")[2])
    if not isinstance(shape, HeightfieldShape):
        return None
    try:
        heights = np.array(shape.data, float) if shape.data is not None else read_heights(folder / shape.file)
    except (CsvError, OSError) as error:
        notes.append(f"terrain `{name}` is not drawn: {shape.file}: {error}")
        return None
    return terrain_triangles(heights * shape.size[2], np.array([size]))


def _seen(name: str, body: int, shape: ShapeLookSpec, look: BodyLookSpec, folder: Path, notes: list[str]) -> list[Item]:
    """The item of a shape that is only seen."""
    colour = rgb(shape.colour) if shape.colour else colour_of_shape(look, body)
    opacity = look.opacity if shape.opacity is None else shape.opacity
    place = (shape.pose.xyz, shape.pose.quat_xyzw or (0.0, 0.0, 0.0, 1.0), colour, opacity)
    if shape.type != "mesh":
        size = tuple(map(float, SIZE_OF[shape.type](shape)))[: _N_SIZES[shape.type]]
        return [Item(name, body, shape.type, size, *place)]
    try:
        vertices, triangles = load_mesh(folder, shape.file, shape.scale)
    except MeshError as error:
        notes.append(f"mesh `{name}` is not drawn: {shape.file}: {error}")
        return []
    return [Item(name, body, "mesh", (), *place, vertices=vertices, triangles=triangles)]


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
    return [
        *below,
        ((radius, -half), (1.0, 0.0)),
        ((radius, half), (1.0, 0.0)),
        ((radius, half), (0.0, 1.0)),
        ((0.0, half), (0.0, 1.0)),
    ]


def _arc(radius: float, middle: float, first: float, last: float) -> list:
    """Part of a circle about (0, middle), from and to angles in units of pi above the equator."""
    angles = np.pi * np.linspace(first, last, 1 + round(2 * _ALONG * (last - first)))
    return [((max(radius * np.cos(a), 0.0), middle + radius * np.sin(a)), (np.cos(a), np.sin(a))) for a in angles]


def _turned(place: Array, turn: Array) -> tuple[Array, Array, Array]:
    """The surface that a section makes about z: vertices, normals, triangles; none without area."""
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def spread(half: Array) -> Array:
        return np.concatenate(
            [half[:, None, :1] * rim, np.broadcast_to(half[:, None, 1:], (len(half), AROUND, 1))], axis=2
        ).reshape(-1, 3)

    k, at = np.meshgrid(np.arange(len(place) - 1), np.arange(AROUND), indexing="ij")
    after = (at + 1) % AROUND
    a, b, c, d = (k * AROUND + at, k * AROUND + after, (k + 1) * AROUND + after, (k + 1) * AROUND + at)
    is_edge = (place[1:] == place[:-1]).all(axis=1)[:, None] & np.ones(AROUND, bool)
    lower = (place[:-1, :1] > 1e-12) & ~is_edge  # else a and b are one point, on the axis
    upper = (place[1:, :1] > 1e-12) & ~is_edge
    triangles = np.concatenate([np.stack([a, b, c], axis=-1)[lower], np.stack([a, c, d], axis=-1)[upper]])
    return spread(place), spread(turn), triangles
