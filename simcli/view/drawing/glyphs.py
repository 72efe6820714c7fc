"""What stands for bodies that have no shapes: bars between the points of a body, or the solid of its inertia.

Sizes follow from the mechanism, so that it reads the same at any scale.
"""

from itertools import pairwise

import numpy as np

from simcli import rotations as rot
from simcli.model.tables.model import WORLD, JointKind
from simcli.view.drawing import items
from simcli.view.drawing.drawing_tables import DrawingTables
from simcli.view.drawing.items import HERE, UPRIGHT, Item

_Array = np.ndarray
_SAME = 1e-6  # of the unit: points nearer than this are one
BAR, BAR_TIP = 0.04, 0.65  # radius of a bar, of the unit; of its tip, of that
BOB = 0.1  # radius of what stands for a mass at the end of a bar, of the unit
_MASS = 0.045  # radius of a centre of mass, of the unit
FRAME = (0.35, 0.012)  # length and radius of the axes of a frame, of the unit
_SIDES, RINGS = 16, 4  # of a bar, and of each of its round ends
ROTOR = 0.6  # edge of the plate that stands for a rotor, of the box of its inertia
JOINED = 0.5  # of the unit: largest edge of such a box of a body that a joint holds at its middle
SOLID = (0.08, 1.0)  # of the unit: least and largest edge of the box that stands for an inertia


def nodes_of(tables: DrawingTables) -> list[_Array]:
    """Points of each body where something holds it or that have names, (n, 3) in the body; the last list is the world's."""
    found: list[list[_Array]] = [[] for _ in range(tables.n_bodies + 1)]
    for joint in tables.joints():
        if joint.kind == JointKind.FREE:
            continue
        found[joint.parent].append(joint.X_p[:3])
        found[joint.child].append(joint.X_c[:3])
    for body, place in zip(tables["point_body"], tables["point_position"], strict=True):
        if body >= 0:
            found[body].append(place)
    for of in ("spring", "pulley", "rope_stop"):
        bodies, places = tables[f"{of}_body"].ravel(), tables[f"{of}_point"].reshape(-1, 3)
        for body, place in zip(bodies, places, strict=True):
            if body >= WORLD:
                found[body].append(place)
    return [_distinct(np.array(points, float).reshape(-1, 3)) for points in found]


def _distinct(points: _Array) -> _Array:
    size = np.ptp(points, axis=0).max() if len(points) else 0.0
    kept: list[_Array] = []
    for point in points:
        if all(np.linalg.norm(point - one) > _SAME * size for one in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, 3)


def unit_of(tables: DrawingTables, nodes: list[_Array], solids: list[Item]) -> float:
    """[m], the length of a typical body: of those between its points, else of its shapes, else of its inertia."""
    places = [np.vstack([points, tables["body_com"][b]]) for b, points in enumerate(nodes[:-1]) if len(points)]
    lengths = [length for place in places if (length := float(np.linalg.norm(np.ptp(place, axis=0)))) > 0.0]
    if not lengths:
        lengths = [2.0 * radius for item in solids if item.body >= 0 and np.isfinite(radius := item.radius) and radius > 0.0]
    if not lengths:
        lengths = [float(max(edges)) for b in range(tables.n_bodies) if max(edges := _edges(tables, b)[0]) > 0.0]
    return float(np.median(lengths)) if lengths else 1.0


def links(tables: DrawingTables, b: int, points: _Array, unit: float, colour: items.Colour, opacity: float) -> list[Item]:
    """Bars of a body without shapes, between its points; what stands for its inertia if there are none.

    Args:
        tables: of one world.
        b: the body.
        points: [m], (n, 3), of the body.
        unit: [m], a length of the mechanism.
        colour: of the body.
        opacity: of the body.
    """
    name, com = tables.names("body")[b], tables["body_com"][b]
    look = {"name": name, "body": b, "colour": colour, "opacity": opacity, "layer": "link"}
    to_mass = [float(np.linalg.norm(point - com)) for point in points]
    if not len(points):
        return [_block(tables, b, unit, look)]
    if len(points) == 1 and to_mass[0] < _SAME * unit:
        axis = _hinge_axis(tables, b)
        return [_block(tables, b, unit, look, JOINED) if axis is None else _rotor(tables, b, axis, unit, look)]
    if len(points) > 1:
        return [_bar(points[i], points[k], unit, look) for i, k in _pairs(points)]
    radius = min(BOB * unit, 0.3 * to_mass[0])
    bob = Item(kind="sphere", size=(radius,), position=_tuple(com), orientation=UPRIGHT, **look)
    return [_bar(points[0], com, unit, look), bob]


def _pairs(points: _Array) -> list[tuple[int, int]]:
    """Points that bars join: all of two or three, of more the shortest tree."""
    n = len(points)
    if n == 3:
        a, b, c = points
        is_straight = np.linalg.norm(np.cross(b - a, c - a)) < 0.05 * max(np.ptp(points, axis=0)) ** 2
        order = np.argsort(points @ np.linalg.svd(points - points.mean(axis=0))[2][0])
        return list(pairwise(order.tolist())) if is_straight else [(0, 1), (1, 2), (2, 0)]
    gap = np.linalg.norm(points[:, None] - points[None], axis=-1)
    inside, made = [0], []
    while len(inside) < n:
        outside = [k for k in range(n) if k not in inside]
        i, k = min(((i, k) for i in inside for k in outside), key=lambda pair: gap[pair])
        made.append((i, k))
        inside.append(k)
    return made


def _bar(a: _Array, b: _Array, unit: float, look: dict) -> Item:
    """A tapered bar from one point to another."""
    length = float(np.linalg.norm(b - a))
    radius = min(BAR * unit, 0.15 * length)
    bar = (length, radius, BAR_TIP * radius)
    vertices, triangles = tapered(*bar)
    return Item(
        kind="mesh",
        size=(),
        position=_tuple(a),
        orientation=along((b - a) / length),
        vertices=vertices,
        triangles=triangles,
        bar=bar,
        **look,
    )


def tapered(length: float, first: float, last: float) -> tuple[_Array, _Array]:
    """A round bar with round ends.

    Args:
        length: [m], between the centres of its ends, along z from 0.
        first: [m], radius at 0.
        last: [m], radius at the length.

    Returns:
        Vertices [m], (n, 3), and triangles, (m, 3).
    """
    angle = np.linspace(0.0, 0.5 * np.pi, RINGS + 1)
    rings = [(-first * np.cos(t), first * np.sin(t)) for t in angle[1:]]
    rings += [(length + last * np.sin(t), last * np.cos(t)) for t in angle[:-1]]
    turn = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    circle = np.stack((np.cos(turn), np.sin(turn)), axis=-1)
    body = np.concatenate([np.column_stack((radius * circle, np.full(_SIDES, z))) for z, radius in rings])
    vertices = np.concatenate((body, [(0.0, 0.0, -first), (0.0, 0.0, length + last)]))
    here, following = np.arange(_SIDES), (np.arange(_SIDES) + 1) % _SIDES
    triangles = []
    for k in range(len(rings) - 1):
        low, high = k * _SIDES, (k + 1) * _SIDES
        triangles += [
            np.stack((low + here, low + following, high + following), axis=-1),
            np.stack((low + here, high + following, high + here), axis=-1),
        ]
    top, n = (len(rings) - 1) * _SIDES, len(body)
    triangles += [
        np.stack((np.full(_SIDES, n), following, here), axis=-1),
        np.stack((np.full(_SIDES, n + 1), top + here, top + following), axis=-1),
    ]
    return vertices, np.concatenate(triangles)


def _block(tables: DrawingTables, b: int, unit: float, look: dict, most: float = SOLID[1]) -> Item:
    """The box, or ball of a point mass, that has the inertia of a body."""
    edges, axes = _edges(tables, b)
    place = _tuple(tables["body_com"][b])
    if max(edges) <= 0.0:
        return Item(kind="sphere", size=(BOB * unit,), position=place, orientation=UPRIGHT, **look)
    size = tuple(np.clip(edges, SOLID[0] * unit, most * unit).tolist())
    return Item(kind="box", size=size, position=place, orientation=_tuple(rot.matrix_to_quat(axes)), **look)


def _hinge_axis(tables: DrawingTables, b: int) -> _Array | None:
    """The axis about which a joint lets a body turn, in the body; None if it has none or several."""
    for joint in tables.joints():
        if joint.child == b and len(joint.angular) == 1 and not len(joint.linear):
            return rot.quat_rotate(joint.X_c[3:], joint.angular[0])
    return None


def _rotor(tables: DrawingTables, b: int, axis: _Array, unit: float, look: dict) -> Item:
    """A plate that turns about an axis through its middle, thinner than a bearing is long."""
    edge = float(np.clip(ROTOR * max(_edges(tables, b)[0]), SOLID[0] * unit, ROTOR * unit))
    place = _tuple(tables["body_com"][b])
    return Item(kind="box", size=(edge, edge, 0.1 * unit), position=place, orientation=along(axis), **look)


def _edges(tables: DrawingTables, b: int) -> tuple[_Array, _Array]:
    """[m], edges of the box of uniform density with a body's mass and inertia, and its axes in the body, (3, 3) columns.

    I_x = m (b^2 + c^2) / 12, so that a^2 = 6 (I_y + I_z - I_x) / m.
    """
    moments, axes = np.linalg.eigh(tables["body_inertia"][b])
    if np.linalg.det(axes) < 0.0:
        axes = axes * np.array((1.0, 1.0, -1.0))
    mass = float(tables["body_mass"][b])
    if not np.isfinite(moments).all() or not 0.0 < mass < np.inf:
        return np.zeros(3), np.eye(3)
    return np.sqrt(np.maximum(6.0 * (moments.sum() - 2.0 * moments) / mass, 0.0)), axes


def masses(tables: DrawingTables, unit: float) -> list[Item]:
    """Centres of mass."""
    return [
        Item(
            name, b, "sphere", (_MASS * unit,), _tuple(tables["body_com"][b]), UPRIGHT, items.MASS, layer="mass", shown=False
        )
        for b, name in enumerate(tables.names("body"))
    ]


def frames(tables: DrawingTables, unit: float) -> list[Item]:
    """The axes of the world and of the body frames."""
    length, radius = FRAME[0] * unit, FRAME[1] * unit
    return [
        Item(
            name,
            b,
            "cylinder",
            (radius, length),
            _tuple(0.5 * length * axis),
            along(axis),
            colour,
            layer="frame",
            shown=False,
        )
        for b, name in enumerate(("world", *tables.names("body")), start=WORLD)
        for axis, colour in zip(np.eye(3), items.AXIS_COLOURS, strict=True)
    ]


def along(axis: _Array) -> tuple[float, ...]:
    """A quaternion x y z w that turns z to a unit axis."""
    return _tuple(rot.matrix_to_quat(rot.frame_along(axis)))


def _tuple(values: _Array) -> tuple[float, ...]:
    return tuple(np.asarray(values, float).tolist()) if np.any(values) else HERE if len(values) == 3 else UPRIGHT
