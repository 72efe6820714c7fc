"""Questions about shapes at states: contacts, clearances of pairs, and what rays meet."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli import rotations as rot
from simcli.analysis.mechanics.rounds import turns_of
from simcli.analysis.mechanics.tasks import OnTree
from simcli.analysis.mechanics.tasks import field as field_of
from simcli.analysis.states.portions import States
from simcli.errors import FileError, UsageError
from simcli.kernels.contact_queries import ContactFinder, FoundContacts
from simcli.model.bodies.mesh import hit_on_grid
from simcli.model.tables.model import WORLD, Array, Model, ShapeKind
from simcli.records.contents.results import ResultAxes, result_axes
from simcli.records.reading.named import unknown
from simcli.records.reading.reader import Trajectory
from simcli.spec.values.units import UnitError, column_factor, split_header

if TYPE_CHECKING:
    from simcli.analysis.mechanics.rounds import Mechanics

_POSES = 64  # of a call, for which memory is taken
_RAYS = 64  # of a call, likewise
_COLUMNS = ("x", "y", "z", "dx", "dy", "dz")  # of a table of rays; `name` and `body` may stand beside them
_UNITS = dict.fromkeys(("x", "y", "z"), "m")


@dataclass
class OfShapes(OnTree):
    """What tasks about shapes have in common: bodies where a run had them, else where coordinates put them."""

    inputs = ("joint_q",)
    needs_shapes = True

    def wants(self, model: Model, run: Trajectory | None) -> tuple[str, ...]:
        """Coordinates; of a run the poses that it recorded."""
        return self.inputs if run is None else ("body_q",)

    def axes(self, model: Model) -> ResultAxes:
        """With the names of shapes."""
        axes = result_axes(model)
        return replace(axes, label={**axes.label, "H": model.shapes.name})

    def poses(self, mechanics: "Mechanics", states: States, world: Array) -> Array:
        """[m, 1], (N, B, 7)."""
        found = states.values.get("body_q")
        if found is not None:
            return found
        qd = field_of(states, "joint_qd", (mechanics.model.n_qd,))
        return mechanics("forward_kinematics", world, states.values["joint_q"], 0.0 * qd)[0]


@dataclass
class ContactsAt(OfShapes):
    """Contacts of each state, or the pairs of shapes that are nearer than a distance.

    Attributes:
        clearance: [m], up to which pairs are given, by where they are nearest, without margins; None: all contacts that
            touch, with the margins that runs give to shapes.
        tolerance: [m], gap up to which surfaces touch.
    """

    clearance: float | None = None
    tolerance: float = 1e-6
    finder: ContactFinder | None = field(default=None, repr=False)
    kind = "contacts"
    rows = "contact"
    outputs = (
        "contact_shape_a",
        "contact_shape_b",
        "contact_gap",
        "contact_point",
        "contact_normal",
        "contact_surface_a",
        "contact_surface_b",
    )

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """A row for each contact, with the state that it is of."""
        owner, found = self.contacts(mechanics, self.poses(mechanics, states, world), world)
        half = 0.5 * found.gap[:, None] * found.normal
        return {
            "row": owner,
            "contact_shape_a": found.shape_a,
            "contact_shape_b": found.shape_b,
            "contact_gap": found.gap,
            "contact_point": found.point,
            "contact_normal": found.normal,
            "contact_surface_a": found.point - half,
            "contact_surface_b": found.point + half,
        }

    @property
    def reach(self) -> float:
        """[m], up to which gaps are given."""
        return self.tolerance if self.clearance is None else self.clearance

    def contacts(self, mechanics: "Mechanics", pose: Array, world: Array) -> tuple[Array, FoundContacts]:
        """The state of each contact, rising, and the contacts, at poses (N, B, 7) of worlds of the model."""
        model = mechanics.model
        if model.contacts is None:
            return np.zeros(0, int), _joined([])
        seat = world if model.n_worlds > 1 else np.arange(len(pose)) % _POSES
        owners, parts, turn = [], [], turns_of(seat)
        for k in range(turn.max(initial=-1) + 1):
            mine = np.flatnonzero(turn == k)
            poses = np.repeat(pose[mine[:1]], max(model.n_worlds, _POSES if model.n_worlds == 1 else 1), axis=0)
            poses[seat[mine]] = pose[mine]
            place = np.full(len(poses), -1)
            place[seat[mine]] = mine
            where, found = self._found(model, mechanics, poses)
            keep = np.flatnonzero((place[where] >= 0) & (found.gap <= self.reach))
            if self.clearance is not None:
                keep = _nearest(where, found, keep)
            owners.append(place[where[keep]])
            parts.append(_some(found, keep))
        owner, found = np.concatenate([np.zeros(0, int), *owners]), _joined(parts)
        order = np.argsort(owner, kind="stable")
        return owner[order], _some(found, order)

    def _found(self, model: Model, mechanics: "Mechanics", poses: Array) -> tuple[Array, FoundContacts]:
        """Contacts of poses, with room for all of them."""
        while True:
            if self.finder is None:
                self.finder = ContactFinder(self._fitted(model), mechanics.algorithms.device.for_worlds(1), len(poses))
            found = self.finder.at_poses(poses, self.reach)
            if self.finder.needed <= self.finder.model.contacts.capacity:
                return found
            capacity, last = self.finder.needed, self.finder.model
            self.finder.close()
            bigger = replace(last, contacts=replace(last.contacts, capacity=2 * capacity))
            self.finder = ContactFinder(bigger, mechanics.algorithms.device.for_worlds(1), len(poses))

    def _fitted(self, model: Model) -> Model:
        """The model, without margins where distances are asked for."""
        if self.clearance is None:
            return model
        bare = replace(model.contacts, margin=np.full_like(model.contacts.margin, np.nan))
        return replace(model, shapes=replace(model.shapes, margin=np.zeros_like(model.shapes.margin)), contacts=bare)

    def close(self) -> None:
        """Free the device memory."""
        if self.finder is not None:
            self.finder.close()


def _some(found: FoundContacts, which: Array) -> FoundContacts:
    return FoundContacts(*(getattr(found, name)[which] for name in FoundContacts.__dataclass_fields__))


def _joined(parts: Sequence[FoundContacts]) -> FoundContacts:
    empty = {name: np.zeros(0, int) for name in ("shape_a", "shape_b", "combination", "feature")}
    none = FoundContacts(**empty, point=np.zeros((0, 3)), normal=np.zeros((0, 3)), gap=np.zeros(0))
    names = FoundContacts.__dataclass_fields__
    return FoundContacts(*(np.concatenate([getattr(part, name) for part in (none, *parts)]) for name in names))


def _nearest(where: Array, found: FoundContacts, among: Array) -> Array:
    """Of contacts the one with the least gap of each pair of shapes and pose."""
    order = among[np.lexsort((found.gap[among], found.shape_b[among], found.shape_a[among], where[among]))]
    keys = np.stack((where[order], found.shape_a[order], found.shape_b[order]))
    return order[np.concatenate(([True], (np.diff(keys, axis=1) != 0).any(axis=0)))[: len(order)]]


@dataclass(frozen=True)
class RaySet:
    """Rays.

    Attributes:
        name: of each.
        origin, direction: [m], [1], (n, 3), in the frame of the body; directions are made unit.
        body: (n,), index of it; the ray does not see its shapes. WORLD: it sees all.
    """

    name: tuple[str, ...]
    origin: Array
    direction: Array
    body: Array

    def placed(self, pose: Array) -> Array:
        """[m, 1], (N, n, 6), origins and directions in the world, at poses (N, B, 7)."""
        still = np.broadcast_to(rot.IDENTITY_POSE, (len(pose), 1, 7))
        frames = np.concatenate((pose, still), axis=1)[:, np.where(self.body == WORLD, pose.shape[1], self.body)]
        R = rot.quat_to_matrix(frames[..., 3:])
        return np.concatenate((frames[..., :3] + rot.turn(R, self.origin), rot.turn(R, self.direction)), axis=-1)


def ray_set(model: Model, names: Sequence[str], numbers: Array, bodies: Sequence[str]) -> RaySet:
    """Rays out of numbers.

    Args:
        model: with bodies.
        names: of the rays.
        numbers: [m, 1], (n, 6), origins and directions.
        bodies: name of the body of each, "" or `world` for none.

    Raises:
        UsageError: a direction is zero, a number is not finite, or a body is unknown.
    """
    length = np.linalg.norm(numbers[:, 3:], axis=1)
    for name, row, size in zip(names, numbers, length, strict=True):
        if not np.isfinite(row).all() or size == 0.0:
            raise UsageError(f"ray {name}: origin and direction are finite numbers, and the direction is not zero")
    known = model.bodies.name
    for body in bodies:
        if body not in ("", "world", *known):
            raise UsageError(f"--body: {unknown('body', body, known)}")
    index = np.array([known.index(body) if body in known else WORLD for body in bodies], int)
    return RaySet(tuple(names), numbers[:, :3], numbers[:, 3:] / length[:, None], index)


def read_rays(path: Path) -> tuple[list[str], Array, list[str]]:
    """Names, numbers and bodies of a table of rays: CSV with columns x, y, z, dx, dy, dz, and perhaps name and body.

    Raises:
        FileError: it is no such table; with the line.
    """
    with open(path, newline="", encoding="utf-8-sig") as file:
        lines = list(csv.reader(file))
    heads = [split_header(head) for head in lines[0]] if lines else []
    labels = [label.strip() for label, _ in heads]
    if missing := [name for name in _COLUMNS if name not in labels]:
        raise FileError(f"{path}:1: a table of rays has the columns {', '.join(_COLUMNS)}; {', '.join(missing)} is missing")
    if other := [label for label in labels if label not in (*_COLUMNS, "name", "body")]:
        raise FileError(f"{path}:1: unknown column `{other[0]}`; there are {', '.join((*_COLUMNS, 'name', 'body'))}")
    try:
        factor = {label: column_factor(label, unit, _UNITS.get(label, "")) for label, unit in heads if label in _COLUMNS}
    except UnitError as error:
        raise FileError(f"{path}:1: {error}") from None
    names, numbers, bodies = [], [], []
    for n, line in enumerate(lines[1:], 2):
        cells = dict(zip(labels, map(str.strip, line), strict=False))
        try:
            numbers.append([float(cells[label]) * factor[label] for label in _COLUMNS])
        except (KeyError, ValueError):
            raise FileError(f"{path}:{n}: columns {', '.join(_COLUMNS)} hold numbers") from None
        names.append(cells.get("name") or str(len(names)))
        bodies.append(cells.get("body", ""))
    if not names:
        raise FileError(f"{path}: holds no ray")
    return names, np.array(numbers), bodies


@dataclass
class Rays(OfShapes):
    """What rays meet.

    Attributes:
        rays: what is cast.
        reach: [m], farther surfaces are not seen.
    """

    rays: RaySet
    reach: float = np.inf
    kind = "rays"
    outputs = ("ray_distance", "ray_shape", "ray_point", "ray_normal")

    def axes(self, model: Model) -> ResultAxes:
        """With the names of rays and shapes."""
        axes = super().axes(model)
        return replace(axes, label={**axes.label, "Q": self.rays.name})

    def algorithms(self, model: Model):
        """With rays, as many at once as memory is taken for; where there is nothing to see those of rigid bodies."""
        from simcli.kernels.ray_queries import RayAlgorithms

        if not has_visible(model):
            return super().algorithms(model)
        return partial(RayAlgorithms, n_rays=min(len(self.rays.name), _RAYS))

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """The nearest surface along each ray."""
        pose = self.poses(mechanics, states, world)
        lines = self.rays.placed(pose)
        hits, ground = self._hits(mechanics, world, pose, lines), hits_on_terrain(mechanics.model, world, lines)
        hits = np.where(ground[..., :1] < hits[..., :1], ground, hits)
        hit = np.isfinite(hits[..., 0]) & (hits[..., 0] <= self.reach)
        distance = np.where(hit, hits[..., 0], np.nan)
        return {
            "ray_distance": distance,
            "ray_shape": np.where(hit, hits[..., 1], -1).astype(int),
            "ray_point": lines[..., :3] + distance[..., None] * lines[..., 3:],
            "ray_normal": np.where(hit[..., None], hits[..., 2:], np.nan),
        }

    def _hits(self, mechanics: "Mechanics", world: Array, pose: Array, lines: Array) -> Array:
        """(N, n, 5), distances, shapes and normals; infinite distances where there is nothing."""
        if not has_visible(mechanics.model):
            return np.full((*lines.shape[:2], 5), np.inf)
        n, at_once = lines.shape[1], mechanics.algorithms.n_rays
        every = np.arange(-(-n // at_once) * at_once) % n
        owner = np.broadcast_to(self.rays.body[every, None].astype(float), (len(pose), len(every), 1))
        given = np.concatenate((lines[:, every], owner), axis=2)
        parts = [
            mechanics("hits", world, pose, given[:, first : first + at_once])[0] for first in range(0, len(every), at_once)
        ]
        return np.concatenate(parts, axis=1)[:, :n]


def has_visible(model: Model) -> bool:
    """Whether rays can meet a shape of the model other than terrain, which are found on the device."""
    shapes = model.shapes
    return bool((shapes.collide & (shapes.kind != ShapeKind.HEIGHTFIELD)).any())


def hits_on_terrain(model: Model, world: Array, lines: Array) -> Array:
    """What rays meet of the surfaces of terrain, from above or from below.

    Args:
        model: whose terrain stands in the world.
        world: (N,), of each state.
        lines: [m, 1], (N, n, 6), origins and unit directions in the world.

    Returns:
        (N, n, 5), distance [m], shape, and normal out of the ground; infinite distances where there is nothing.
    """
    shapes = model.shapes
    nearest = np.full((*lines.shape[:2], 5), np.inf)
    for s in np.flatnonzero((shapes.kind == ShapeKind.HEIGHTFIELD) & shapes.collide).tolist():
        for k, w in enumerate(world.tolist()):
            pose, size = (table[w if len(table) > 1 else 0, s] for table in (shapes.pose, shapes.size))
            R = rot.quat_to_matrix(pose[3:])
            origin, along = (lines[k, :, :3] - pose[:3]) @ R, lines[k, :, 3:] @ R
            for n in range(lines.shape[1]):
                distance, normal = hit_on_grid(shapes.heights[s], size, origin[n], along[n])
                if distance < nearest[k, n, 0]:
                    nearest[k, n] = distance, s, *R @ normal
    return nearest
