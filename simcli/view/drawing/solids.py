"""Shapes of a scene, and shapes that are only seen, as items."""

from pathlib import Path

import numpy as np

from simcli.model.bodies.body_inputs import SIZE_OF, load_mesh
from simcli.model.bodies.mesh import MeshError, read_heights
from simcli.model.bodies.surfaces import terrain_triangles
from simcli.model.signals.csv_table import CsvError
from simcli.model.tables.model import WORLD, ShapeKind
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.shape import BodyLookSpec, HeightfieldShape, ShapeLookSpec, rgb
from simcli.view.drawing import palette
from simcli.view.drawing.parts import Item
from simcli.view.drawing.tables import DrawingTables

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
            items += [item for key, shape in look.shapes.items()
                      for item in _seen(f"{owner}/{key}", body, shape, look, folder, notes)]  # fmt: skip
    return items


def colour_of_shape(look: BodyLookSpec, body: int) -> palette.Colour:
    """The colour of a body."""
    return rgb(look.colour) if look.colour else palette.of_body(body)


def _shape(spec: SceneSpec, tables: DrawingTables, s: int, looks: dict[int, BodyLookSpec], folder: Path,
           notes: list[str]) -> list:  # fmt: skip
    """The item of shape s of the tables; none if it is hidden or cannot be drawn."""
    body, name = int(tables["shape_body"][s]), tables.names("shape")[s]
    look = looks.get(body)
    if look is None or look.hidden:
        return []
    kind = ShapeKind(int(tables["shape_type"][s]))
    size = tuple(map(float, tables["shape_size"][s]))
    pose = tables["shape_pose"][s]
    colour = palette.GROUND_COLOUR if kind == ShapeKind.PLANE and not look.colour else colour_of_shape(look, body)
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
