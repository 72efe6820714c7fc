"""A scene as a drawing: items, joints among them, colours and cameras, of one world."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import DISTANCE_KINDS, POSES, QUATERNIONS, SLOTTED
from simcli.model.tables.force_tables import StopKind
from simcli.model.tables.model import WORLD, JointKind, Model
from simcli.records.reading.reader import Trajectory
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.shape import BodyLookSpec, rgb
from simcli.view.drawing import items
from simcli.view.drawing.drawing_tables import DrawingTables, JointRow, tables_of, tables_of_run
from simcli.view.drawing.glyphs import along, frames, links, masses, nodes_of, unit_of
from simcli.view.drawing.items import UPRIGHT, Drawing, Item, Strand, Viewpoint
from simcli.view.drawing.solids import colour_of_shape, solids

_Array = np.ndarray
RADIUS = 0.065  # of a bearing, of the unit
_AXIS = (1.0, 0.012)  # length and radius of what shows an axis of rotation, of the unit
RAIL = 4.0  # length of a rail without limits, of the unit
_NONE = {*POSES, *SLOTTED}
_BALLS = {*QUATERNIONS} - {*POSES}


def joint_items(joint: JointRow, unit: float, colour: items.Colour, shown: bool) -> Iterator[Item]:
    """Items of one joint.

    Args:
        joint: the row.
        unit: [m], a length of the mechanism.
        colour: of the child.
        shown: whether they are drawn at first.
    """
    r = RADIUS * unit
    if joint.kind == JointKind.ROLLING:
        yield _rim(joint, unit, shown)
    if joint.kind in _NONE or not len(joint.linear) + len(joint.angular):
        return

    def on(is_child: bool, kind: str, size: tuple[float, ...], axis: _Array, shift: float, paint: items.Colour) -> Item:
        """An item on the parent's or the child's anchor, along an axis of the parent's anchor frame."""
        anchor, body = (joint.X_c, joint.child) if is_child else (joint.X_p, joint.parent)
        pose = rot.pose_compose(anchor, np.array((*(shift * axis), *along(axis))))
        return Item(
            joint.name,
            body,
            kind,
            size,
            tuple(pose[:3].tolist()),
            tuple(pose[3:].tolist()),
            paint,
            layer="joint",
            shown=shown,
        )

    if joint.kind in _BALLS:
        anchor = joint.X_p
        yield Item(
            joint.name,
            joint.parent,
            "sphere",
            (1.25 * r,),
            tuple(anchor[:3].tolist()),
            UPRIGHT,
            items.METAL,
            layer="joint",
            shown=shown,
        )
        return
    slides = len(joint.linear) > 0
    for k, axis in enumerate(joint.linear[:2]):
        yield from _rail(on, joint, k, axis, unit, r)
    if slides and not len(joint.angular):
        yield on(True, "box", (1.9 * r, 1.9 * r, 2.8 * r), joint.linear[0], 0.0, colour)
    for k, axis in enumerate(joint.angular):
        is_child = k > 0 or slides
        yield on(is_child, "cylinder", (r, 2.4 * r), axis, 0.0, items.METAL)
        yield on(True, "cylinder", (0.55 * r, 3.0 * r), axis, 0.0, items.PIN)
    for axis in joint.angular:
        line = on(True, "cylinder", (_AXIS[1] * unit, _AXIS[0] * unit), axis, 0.0, items.AXIS_COLOUR)
        yield replace(line, layer="axis", shown=False)
    if joint.parent == WORLD and len(joint.angular) == 1 and not slides:
        yield _foot(on, joint, joint.angular[0], r)


def _rim(joint: JointRow, unit: float, shown: bool) -> Item:
    """The disc of a wheel that rolls, as thick as its tube."""
    radius, tube = joint.length.tolist()
    size = (radius + tube, max(2.0 * tube, 0.3 * RADIUS * unit)) if radius else (tube,)
    pose = rot.pose_compose(joint.X_c, np.array((0.0, 0.0, 0.0, *along(joint.heading))))
    place, turn = tuple(pose[:3].tolist()), tuple(pose[3:].tolist())
    kind = "cylinder" if radius else "sphere"
    return Item(joint.name, joint.child, kind, size, place, turn, items.METAL, layer="joint", shown=shown)


def _rail(on, joint: JointRow, k: int, axis: _Array, unit: float, r: float) -> Iterator[Item]:
    """What a joint slides on, between its limits if it has any."""
    lower, upper = (float(bounds[k]) for bounds in (joint.lower, joint.upper))
    if np.isfinite(lower) and np.isfinite(upper):
        length, middle = upper - lower + 3.0 * r, 0.5 * (lower + upper)
    else:
        length, middle = RAIL * unit, 0.0
    if joint.kind != JointKind.PLANAR:
        yield on(False, "cylinder", (0.32 * r, length), axis, middle, items.METAL)


def _foot(on, joint: JointRow, axis: _Array, r: float) -> Item:
    """The plate by which a bearing is fixed to the world, behind it as cameras look, or below."""
    world = rot.quat_rotate(joint.X_p[3:], axis)
    behind = np.sign(float(world @ np.array((-0.6, 0.8, -0.9)))) or 1.0
    return on(False, "cylinder", (1.9 * r, 0.4 * r), axis, behind * 1.55 * r, items.FIXED)


def strands(tables: DrawingTables, unit: float) -> Iterator[Strand]:
    """Distance joints, cables, springs and bushings."""
    kinds = dict.fromkeys(DISTANCE_KINDS, ("rod", 0.3)) | dict.fromkeys(SLOTTED, ("cable", 0.25))
    for joint in tables.joints():
        if joint.kind in kinds:
            kind, radius = kinds[joint.kind]
            points = (tuple(joint.X_p[:3].tolist()), tuple(joint.X_c[:3].tolist()))
            yield Strand(joint.name, kind, (joint.parent, joint.child), points, radius * RADIUS * unit, items.METAL, "joint")
    rows = []
    for k, name in enumerate(tables.names("spring")):
        path = path_of_spring(tables, k)
        kind = "spring" if len(path) == 2 else "cable"
        rows += [(kind, name, *zip(*ends, strict=True)) for ends in pairwise(path)]
    bushings = zip(tables.names("bushing"), tables["bushing_body"], tables["bushing_point"], strict=True)
    rows += [("spring", *row) for row in bushings]
    yield from ropes(tables, unit)
    for kind, name, bodies, points in rows:
        if min(bodies) >= WORLD:
            ends, radius = tuple(tuple(point.tolist()) for point in points), {"spring": 0.8, "cable": 0.25}[kind]
            yield Strand(name, kind, tuple(map(int, bodies)), ends, radius * RADIUS * unit, items.SPRING, "spring")


def ropes(tables: DrawingTables, unit: float) -> Iterator[Strand]:
    """Ropes that run around cylinders and spheres, or are paid out: straight pieces, and chords of their arcs."""
    bodies, points = tables["rope_stop_body"].tolist(), [tuple(point) for point in tables["rope_stop_point"].tolist()]
    kinds, of = tables["rope_stop_kind"].tolist(), tables["rope_stop_rope"].tolist()
    for m in range(len(of) - 1):
        if of[m] != of[m + 1] or kinds[m] or min(bodies[m : m + 2]) < WORLD:
            continue
        turns = kinds[m + 1] != 0
        last = m + 2 if turns else m + 1
        ends = (bodies[m], bodies[last]), (points[m], points[last])
        for around in _around(tables, m + 1) if turns else (None,):
            name, radius = tables.names("rope")[of[m]], RADIUS * 0.25 * unit
            yield Strand(name, "cable", *ends, radius, items.SPRING, "spring", around)


def _around(tables: DrawingTables, m: int) -> Iterator[items.Around]:
    """Pieces of the way around stop m."""
    bodies, points = tables["rope_stop_body"].tolist(), tables["rope_stop_point"].tolist()
    beside, side = int(tables["rope_stop_side_body"][m]), tables["rope_stop_side"][m].tolist()
    cylinder = tables["rope_stop_kind"][m] == StopKind.CYLINDER
    where = (*bodies[m - 1 : m + 2], beside)
    if min(where) < WORLD:  # `output.select` left it out
        return
    for piece in range(-1, items.CHORDS + 1):
        yield items.Around(
            where,
            tuple(map(tuple, (*points[m - 1 : m + 2], side))),
            float(tables["rope_stop_radius"][m]),
            tuple(tables["rope_stop_axis"][m].tolist()) if cylinder else None,
            bool(tables["rope_stop_sided"][m]),
            bool(tables["rope_stop_inside"][m]),
            piece,
        )


def path_of_spring(tables: DrawingTables, k: int) -> list[tuple[int, _Array]]:
    """Bodies and places in them of the points that spring k runs over, from end to end."""
    (a, b), (first, last) = tables["spring_body"][k], tables["spring_point"][k]
    on_way = np.flatnonzero(tables["pulley_spring"] == k)
    pulleys = zip(tables["pulley_body"][on_way], tables["pulley_point"][on_way], strict=True)
    return [(a, first), *pulleys, (b, last)]


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
