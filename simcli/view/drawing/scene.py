"""A scene as a drawing: items, colours and cameras, of one world."""

from pathlib import Path

import numpy as np

from simcli.model.tables.model import Model
from simcli.records.reading.reader import Trajectory
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.shape import BodyLookSpec, rgb
from simcli.view.drawing.drawing_tables import DrawingTables, JointRow, tables_of, tables_of_run
from simcli.view.drawing.glyphs import frames, links, masses, nodes_of, unit_of
from simcli.view.drawing.items import Drawing, Item, Viewpoint
from simcli.view.drawing.joints import joint_items, strands
from simcli.view.drawing.solids import colour_of_shape, solids

_NO_LOOK = BodyLookSpec()


def drawing_of(spec: SceneSpec, model: Model, world: int = 0, folder: Path = Path(), unit: float = 0.0) -> Drawing:
    """The drawing of one world of a scene.

    Args:
        spec: the scene.
        model: its tables.
        world: of the model.
        folder: of the scene, for meshes and terrain that it names.
        unit: [m], by which glyphs are sized, that of another world; 0: its own.
    """
    return _drawing(spec, tables_of(model, world), folder, unit)


def drawing_of_run(spec: SceneSpec, run: Trajectory, world: int = 0, folder: Path = Path(), unit: float = 0.0) -> Drawing:
    """The drawing of one world of a run; its shapes and numbers are those of the file, its look that of the scene."""
    return _drawing(spec, tables_of_run(run, world), folder, unit)


def _drawing(spec: SceneSpec, tables: DrawingTables, folder: Path, unit: float) -> Drawing:
    notes: list[str] = []
    items = solids(spec, tables, folder, notes)
    nodes = nodes_of(tables)
    unit = unit or unit_of(tables, nodes, items)
    names = tables.names("body")
    looks = [spec.bodies[name].look if name in spec.bodies else _NO_LOOK for name in names]
    with_shapes = {item.body for item in items}
    for b, look in enumerate(looks):
        if b not in with_shapes and not look.hidden:
            items += links(tables, b, nodes[b], unit, colour_of_shape(look, b), look.opacity)
    for joint in tables.joints():
        items += _joint(joint, looks, with_shapes, unit)
    hidden = {b for b, look in enumerate(looks) if look.hidden}
    items += [item for item in masses(tables, unit) if item.body not in hidden]
    items += [item for item in frames(tables, unit) if item.body not in hidden]
    look = spec.look
    points = tuple(
        (name, int(body), tuple(place.tolist()))
        for name, body, place in zip(tables.names("point"), tables["point_body"], tables["point_position"], strict=True)
        if body >= 0
    )
    return Drawing(
        items=tuple(items),
        strands=tuple(strands(tables, unit)),
        bodies=names,
        points=points,
        background=rgb(look.background) if look.background else None,
        grid=look.grid,
        cameras={name: Viewpoint(one.position, one.target, one.up, one.fov) for name, one in look.cameras.items()},
        camera=look.camera or "",
        up=_up(spec, tables["gravity"]),
        unit=unit,
        notes=tuple(notes),
    )


def _joint(joint: JointRow, looks: list[BodyLookSpec], with_shapes: set[int], unit: float) -> list[Item]:
    """Items of a joint: drawn at first where a body that it holds has no shapes."""
    look = looks[joint.child]
    ends = [body for body in (joint.parent, joint.child) if body >= 0]
    shown = any(body not in with_shapes for body in ends)
    hidden = {body for body in ends if looks[body].hidden}
    return [item for item in joint_items(joint, unit, colour_of_shape(look, joint.child), shown) if item.body not in hidden]


def _up(spec: SceneSpec, gravity: np.ndarray) -> tuple[float, float, float]:
    """Away from gravity, along the axis of the world next to it; without gravity z, in a scene of the plane xy y."""
    if not np.any(gravity):
        return (0.0, 1.0, 0.0) if spec.world.plane == "xy" else (0.0, 0.0, 1.0)
    k = int(np.argmax(np.abs(gravity)))
    return tuple((-np.sign(gravity[k]) * np.eye(3)[k] + 0.0).tolist())
