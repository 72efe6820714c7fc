"""Drawings as solids of the ray caster: what does not move is made once.

Bodies stand on planes of the scene as far as they are drawn, or on a floor where there is none.
"""

from dataclasses import dataclass, replace

import numpy as np

from simcli import rotations as rot
from simcli.kernels.rays.intersections import BALL, BOX, CAPSULE, FRUSTUM, MESH, PLANE
from simcli.kernels.rays.picture import decoded
from simcli.kernels.rays.solids import Meshes, Solids, meshes_of
from simcli.model.tables.model import WORLD, Array
from simcli.view.drawing.glyphs import along
from simcli.view.drawing.items import Drawing, Item, Strand, strand_ends
from simcli.view.motion import UNMOVED, RecordedMotion, stretch_axes

LIGHT_BACKGROUND = (0.968, 0.974, 0.983)
SHEET, DARK_SHEET = 0.42, 0.12  # of a plane's own colour, the rest is that of a light or of a dark background
_DARK = 0.35  # lightness of a background below which it is dark
FLOOR = 0.96  # of the background, the floor that is drawn where a scene has none
UNDER = 0.02  # of the size of the scene, the floor below what moves
_REACH = 3.0  # sizes of the scene over which ground vanishes
_LEVEL = 0.999  # cosine of the angle to the horizon of planes that go on for ever
_NEAR, BESIDE, _ALONE = 0.06, 0.3, 0.5  # sizes: of bodies near a slope, its edge beyond them, its reach if none come
OFTEN = 0.5  # of the instants, that a body is near a slope along which it goes
SHEET_FADE = 0.5  # of the reach of a slope, over which it vanishes
SLOPE_OPACITY = 0.55


@dataclass(frozen=True)
class Ground:
    """A plane as it is drawn.

    Attributes:
        item: with the middle of what is seen of it as position.
        reach: [m], over which it vanishes.
        is_sheet: whether it is seen from both sides.
    """

    item: Item
    reach: float
    is_sheet: bool = False


def grounds_of(drawing: Drawing, motion: RecordedMotion, box: tuple[Array, Array]) -> list[Ground]:
    """The grounds of a scene.

    Args:
        drawing: of the first world.
        motion: a few frames.
        box: two corners of all that moves.
    """
    middle, size = 0.5 * (box[0] + box[1]), 0.5 * float(np.linalg.norm(box[1] - box[0]))
    behind = np.array(drawing.background or LIGHT_BACKGROUND)
    planes = [item for item in drawing.items if item.kind == "plane" and item.body == WORLD and item.shown]
    if not planes:
        return [_floor(drawing, middle, box, size, behind)] if drawing.grid else []
    places = np.concatenate([poses[..., :3].reshape(-1, *poses.shape[2:3], 3) for _, poses in motion.blocks()])
    return [_ground(item, drawing, middle, size, places, behind) for item in planes]


def _floor(drawing: Drawing, middle: Array, box: tuple[Array, Array], size: float, behind: Array) -> Ground:
    up = np.array(drawing.up, float)
    low = min(float(box[0] @ up), float(box[1] @ up)) - UNDER * size
    place = middle + (low - middle @ up) * up
    return Ground(Item("floor", WORLD, "plane", (), tuple(place), along(up), tuple(FLOOR * behind)), _REACH * size)


def _ground(item: Item, drawing: Drawing, middle: Array, size: float, places: Array, behind: Array) -> Ground:
    """A level plane goes on; of another one the part is drawn along which bodies go: `places` are theirs, (n, B, 3)."""
    normal = rot.quat_to_matrix(np.array(item.orientation))[:, 2]
    at = np.array(item.position)
    reach, opacity = _REACH * size, item.opacity
    is_level = normal @ np.array(drawing.up) >= _LEVEL
    if not is_level:
        is_near = np.abs((places - at) @ normal) < _NEAR * size + 0.25 * drawing.unit
        near = places[:, is_near.mean(axis=0) > OFTEN][is_near[:, is_near.mean(axis=0) > OFTEN]]
        reach, opacity = SHEET_FADE * _ALONE * size, SLOPE_OPACITY * opacity
        if len(near):
            middle = 0.5 * (near.min(axis=0) + near.max(axis=0))
            reach = SHEET_FADE * (float(np.linalg.norm(near - middle, axis=1).max()) + BESIDE * size)
    place = middle - ((middle - at) @ normal) * normal
    own = 1.0 if not is_level else DARK_SHEET if 0.5 * (behind.max() + behind.min()) < _DARK else SHEET
    colour = tuple(own * np.array(item.colour) + (1.0 - own) * behind)
    return Ground(replace(item, position=tuple(place), colour=colour, opacity=opacity), reach, not is_level)


LINES = 8.0  # lines on a plane within the size of the scene, about
COIL = (26, 10, 0.16, 0.8)  # of a coil: sides of a turn, turns, radius of its wire in radii, its part between straight ends
WIRE_SIDES = 8


class MeshStore:
    """Meshes by what they are, so that worlds and bars of equal form share one."""

    def __init__(self):
        self._place: dict[tuple[bytes, bytes], int] = {}
        self._parts: list[tuple[Array, Array]] = []

    def add(self, vertices: Array, triangles: Array) -> int:
        """The number of a mesh."""
        key = (np.ascontiguousarray(vertices, float).tobytes(), np.ascontiguousarray(triangles, np.int64).tobytes())
        if key not in self._place:
            self._place[key] = len(self._parts)
            self._parts.append((np.asarray(vertices, float), np.asarray(triangles)))
        return self._place[key]

    def centre_and_half(self, number: int) -> tuple[Array, float]:
        """Middle and half the longest edge of the box about a mesh, as `kernels.rays.solids` has it."""
        vertices, triangles = self._parts[number]
        used = vertices[np.unique(triangles)]
        return 0.5 * (used.min(axis=0) + used.max(axis=0)), max(0.5 * float(np.ptp(used, axis=0).max()), 1e-300)

    def meshes(self) -> Meshes:
        """All of them for the ray caster."""
        return meshes_of(self._parts)


class Stage:
    """A drawing, ready to be placed.

    Args:
        drawing: of one world.
        poses: [m, 1], (B, 7 or 13), of its bodies at some instant, by which coils are made.
        store: of meshes.
        spacing: [m], of the lines on planes.
        grounds: in place of the planes of the drawing.
    """

    def __init__(self, drawing: Drawing, poses: Array, store: MeshStore, spacing: float, grounds: list[Ground]):
        items = [item for item in drawing.items if item.shown and (item.kind != "plane" or item.body >= 0)]
        items += [ground.item for ground in grounds]
        self._strands = drawing.strands
        rows = [_unit_shape(item, store) for item in items]
        n = len(items)
        self._kind = np.array([kind for kind, *_ in rows], int).reshape(n)
        self._body = np.array([item.body for item in items], int).reshape(n)
        turn = rot.quat_to_matrix(np.array([item.orientation for item in items], float).reshape(n, 4))
        self._map = turn @ np.array([size for _, size, *_ in rows], float).reshape(n, 3, 3)
        shift = np.array([shift for _, _, shift, *_ in rows], float).reshape(n, 3)
        self._centre = np.array([item.position for item in items], float).reshape(n, 3)
        self._centre += np.einsum("nij,nj->ni", turn, shift)
        self._form = np.array([form for *_, form, _ in rows], float).reshape(n, 2)
        self._mesh = np.array([mesh for *_, mesh in rows], int).reshape(n)
        self._form[n - len(grounds) :] = np.array([(one.reach, one.is_sheet) for one in grounds], float).reshape(-1, 2)
        self._colour = decoded(np.array([item.colour for item in items], float).reshape(n, 3))
        self._opacity = np.array([item.opacity for item in items], float).reshape(n)
        self._lines = np.where(self._kind == PLANE, spacing, 0.0)
        ends = _ends(self._strands, *_places(poses))
        self._coils = [
            store.add(*_coil(float(np.linalg.norm(b - a)) / strand.radius)) if strand.kind == "spring" else -1
            for strand, (a, b) in zip(self._strands, ends, strict=True)
        ]
        boxes = [store.centre_and_half(k) if k >= 0 else (np.zeros(3), 1.0) for k in self._coils]
        self._coil_shift = np.array([shift for shift, _ in boxes]).reshape(-1, 3)
        self._coil_half = np.array([half for _, half in boxes])

    def solids(self, poses: Array, opacity: float = 1.0, with_fixed: bool = True) -> list[Array]:
        """Columns of `Solids` in the world.

        Args:
            poses: [m, 1], (B, 7 or 13), see `stretch`; NaN where there is none.
            opacity: factor of what belongs to bodies.
            with_fixed: whether what belongs to the world is there.
        """
        turn, place = _places(poses)
        keep = (self._body >= 0) | with_fixed
        body = self._body[keep]
        columns = [
            self._kind[keep],
            turn[body] @ self._map[keep],
            place[body] + np.einsum("nij,nj->ni", turn[body], self._centre[keep]),
            *self._form[keep].T,
            self._colour[keep],
            self._opacity[keep] * np.where(body >= 0, opacity, 1.0),
            self._mesh[keep],
            self._lines[keep],
        ]
        strands = self._strand_columns(turn, place, opacity)
        return [np.concatenate(pair) for pair in zip(columns, strands, strict=True)]

    def _strand_columns(self, turn: Array, place: Array, opacity: float) -> list[Array]:
        """Rods and cables as cylinders, springs as coils that are stretched."""
        n = len(self._strands)
        ends = np.array(_ends(self._strands, turn, place)).reshape(n, 2, 3)
        along = ends[:, 1] - ends[:, 0]
        length = np.linalg.norm(along, axis=1, keepdims=True)
        frame = _least_turn(along / np.where(length > 0.0, length, 1.0))
        radius = np.array([strand.radius for strand in self._strands]).reshape(n, 1)
        coil = np.array(self._coils, int).reshape(n)
        size = np.concatenate((radius, radius, np.maximum(0.5 * length, 1e-9 * radius)), axis=1)
        middle = ends.mean(axis=1) + np.einsum("nij,nj->ni", frame, size * self._coil_shift)
        colour = decoded(np.array([strand.colour for strand in self._strands], float).reshape(n, 3))
        is_coil = coil >= 0
        maps = frame * (size * self._coil_half[:, None])[:, None]
        return [
            np.where(is_coil, MESH, FRUSTUM),
            maps,
            middle,
            np.ones(n),
            1.0 * is_coil,
            colour,
            np.full(n, opacity),
            coil,
            np.zeros(n),
        ]


def _least_turn(direction: Array) -> Array:
    """Rotations (n, 3, 3) that take z to directions (n, 3) on the shortest way: coils do not spin about themselves."""
    x, y, z = direction.T
    c = np.maximum(1.0 + z, 1e-9)
    turn = np.stack((1.0 - x * x / c, -x * y / c, x, -x * y / c, 1.0 - y * y / c, y, -x, -y, z), axis=-1).reshape(-1, 3, 3)
    down = z < -1.0 + 1e-9
    return np.where(down[:, None, None], np.diag((1.0, -1.0, -1.0)), turn)


def joined_solids(parts: list[list[Array]], origin: Array, size: float) -> Solids:
    """Columns of several stages as solids in the frame of the picture: origin at `origin`, `size` [m] the unit."""
    kind, map_, centre, top, *rest, lines = (np.concatenate(column) for column in zip(*parts, strict=True))
    top = np.where(kind == PLANE, top / size, top)
    return Solids(kind, map_ / size, (centre - origin) / size, top, *rest, lines / size).kept()


def nice(length: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is no longer."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(max(step * power for step in (1.0, 2.0, 5.0) if step * power <= length * (1.0 + 1e-9)))


def _places(poses: Array) -> tuple[Array, Array]:
    """Axes (B + 1, 3, 3), as columns, and positions (B + 1, 3) of bodies; the last one, also -1, is the world's."""
    poses = np.concatenate((np.asarray(poses, float), [UNMOVED[: poses.shape[-1]]]))
    return stretch_axes(poses), poses[:, :3]


def _ends(strands: tuple[Strand, ...], turn: Array, place: Array) -> list[Array]:
    """Ends of strands, (2, 3) each, world."""
    return [np.stack(strand_ends(one, lambda body, point: place[body] + turn[body] @ point)) for one in strands]


def _unit_shape(item: Item, store: MeshStore) -> tuple[int, Array, Array, tuple[float, float], int]:
    """Kind, map from the unit shape, shift of its middle, form (top, length) and mesh of an item."""
    none, plain = np.zeros(3), (1.0, 0.0)
    if item.bar:
        length, first, last = item.bar
        form = (last / first, 0.5 * length / first)
        return CAPSULE, first * np.eye(3), np.array((0.0, 0.0, 0.5 * length)), form, 0
    if item.kind == "mesh":
        number = store.add(item.vertices, item.triangles)
        centre, half = store.centre_and_half(number)
        return MESH, half * np.eye(3), centre, plain, number
    if item.kind == "plane":
        return PLANE, np.eye(3), none, plain, 0
    if item.kind == "box":
        return BOX, np.diag(0.5 * np.array(item.size)), none, plain, 0
    if item.kind in ("sphere", "ellipsoid"):
        return BALL, np.diag(np.broadcast_to(item.size, 3)), none, plain, 0
    radius, length = item.size
    if item.kind == "capsule" and radius > 0.0:
        return CAPSULE, radius * np.eye(3), none, (1.0, 0.5 * length / radius), 0
    return FRUSTUM, np.diag((radius, radius, 0.5 * length)), none, (float(item.kind != "cone"), 0.0), 0


def _coil(length: float) -> tuple[Array, Array]:
    """A coil about z from -1 to 1, its radius 1 across; `length` is what it is along z, in radii of the coil.

    Returns:
        Vertices (n, 3) and triangles (m, 3).
    """
    sides, turns, wire, part = COIL
    n = sides * turns
    t = np.linspace(0.0, 1.0, n + 1)
    reach = np.clip(np.minimum(t, 1.0 - t) / 0.03, 0.0, 1.0)
    reach = reach * reach * (3.0 - 2.0 * reach)
    angle = 2.0 * np.pi * turns * t
    path = np.stack((reach * np.cos(angle), reach * np.sin(angle), (t - 0.5) * part * length), axis=-1)
    path = np.concatenate(([(0.0, 0.0, -0.5 * length)], path, [(0.0, 0.0, 0.5 * length)]))
    tangent = np.gradient(path, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    outward = np.stack((np.cos(angle), np.sin(angle), np.zeros(n + 1)), axis=-1)[np.r_[0, : n + 1, n]]
    across = np.cross(tangent, outward)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    up = np.cross(across, tangent)
    turn = 2.0 * np.pi * np.arange(WIRE_SIDES) / WIRE_SIDES
    ring = wire * (np.cos(turn)[:, None] * up[:, None] + np.sin(turn)[:, None] * across[:, None])
    vertices = (path[:, None] + ring).reshape(-1, 3) / (1.0, 1.0, 0.5 * max(length, 1e-9))
    here, side = np.meshgrid(np.arange(len(path) - 1), np.arange(WIRE_SIDES), indexing="ij")
    a, b = here * WIRE_SIDES + side, here * WIRE_SIDES + (side + 1) % WIRE_SIDES
    quads = np.stack((a, b, b + WIRE_SIDES, a, b + WIRE_SIDES, a + WIRE_SIDES), axis=-1)
    return vertices, quads.reshape(-1, 3)
