"""Queries of collision: contacts of one model at given poses, for who takes no steps, and the clearance of two bodies.

Clearance is the smallest distance of their shapes without margins, negative by the depth of an overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.kernels.collision.boxes import compare_pair
from simcli.kernels.collision.collider import (
    BALL_BARREL,
    BALL_BOX,
    BOXES,
    CANDIDATE,
    CONVEX,
    HALF_SPACE,
    ROUND,
    Collider,
    NarrowPhase,
    routine,
)
from simcli.kernels.collision.detect import detect, place_shapes, separate
from simcli.kernels.collision.points import FAR, GAP, clear
from simcli.kernels.collision.rounds import ball_pair, height_above, round_pair
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.lanes import one
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.runtime import Device
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of
from simcli.kernels.language.expressions import get_lane, put_lane
from simcli.model.bodies.colliders import colliders
from simcli.model.bodies.contact_pairs import PAIR_ORDER
from simcli.model.joints.tree_kinematics import link_points
from simcli.model.tables.model import WORLD, Model, ShapeKind

_READ = ("shape_a", "shape_b", "combination", "feature", "point", "normal", "gap")


@dataclass(frozen=True)
class FoundContacts:
    """The C contacts of a pose.

    Attributes:
        shape_a, shape_b: (C,) index into Shapes.
        combination: (C,) row of the columns of Contacts.
        feature: (C,) number that stays the same while the same features touch.
        point: [m], (C, 3), half way between the surfaces, world.
        normal: [1], (C, 3), from A to B, world.
        gap: [m], (C,), negative in overlap.
    """

    shape_a: np.ndarray
    shape_b: np.ndarray
    combination: np.ndarray
    feature: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    gap: np.ndarray


class ContactFinder:
    """Finds the contacts of a model.

    Args:
        model: with contacts; of one world, or of n_poses worlds.
        device: from `start_device`.
        n_poses: for which memory is taken.
    """

    def __init__(self, model: Model, device: Device, n_poses: int = 1):
        self.model, self.host, self.n_poses = model, colliders(model), n_poses
        self.arena = Arena(device, n_poses)
        self.tables = Tables(model, self.arena)
        self.collider = Collider(model, self.tables, self.arena)
        self.arena.build()
        self.tables.arena.upload()
        shapes = model.shapes
        shift = self.host.position - link_points(model.links, shapes.body, shapes.pose[..., :3])
        self._middle = np.einsum("vsji,vsj->vsi", self.host.rotation, shift)  # [m], of a hull in its shape's axes

    def __call__(self, pose: np.ndarray, reach: float) -> FoundContacts:
        """Contacts with gaps up to a reach, of one pose.

        Args:
            pose: [m, 1], (B, 7), of the body frames, world.
            reach: [m].
        """
        return self.at_poses(pose[None], reach)[1]

    def at_poses(self, poses: np.ndarray, reach: float) -> tuple[np.ndarray, FoundContacts]:
        """Contacts with gaps up to a reach, of n_poses poses, of the worlds of the model if it has several.

        Args:
            poses: [m, 1], (n_poses, B, 7), of the body frames, world.
            reach: [m].

        Returns:
            The pose of each contact, rising; the contacts.
        """
        c, shapes, n = self.collider, self.model.shapes, poses.shape[1]
        still = np.broadcast_to(rot.IDENTITY_POSE, (len(poses), 1, 7))
        bodies = np.concatenate((poses, still), axis=1)[:, np.where(shapes.body == WORLD, n, shapes.body)]
        at = rot.pose_compose(bodies, shapes.pose)
        R = rot.quat_to_matrix(at[..., 3:])
        x = at[..., :3] + np.einsum("wsij,wsj->wsi", R, np.broadcast_to(self._middle, at[..., :3].shape))
        pad = ((0, 0), (0, 1), (0, 0))
        c.rotation.write(np.pad(R.reshape(*R.shape[:2], 9), pad))
        c.base.write(np.pad(bodies[..., :3], pad))
        c.position.write(np.pad(x - bodies[..., :3], pad))
        c.margin.write(np.full((1, c.margin.n_items, 1), 0.5 * reach))
        c.spare.write(np.zeros((1, c.spare.n_items, 3)))
        self.arena.launch(find_contacts, c)
        table = c.contacts
        count = table.count.read()[:, 0, 0].astype(int)
        pose, row = np.nonzero(np.arange(table.capacity) < count[:, None])
        found = {name: getattr(table, name).read()[pose, row] for name in _READ}
        found = {name: values[:, 0] if values.shape[-1] == 1 else values for name, values in found.items()}
        whole = {name: found[name].astype(int) for name in ("shape_a", "shape_b", "combination", "feature")}
        return pose, FoundContacts(**{**found, **whole})

    @property
    def needed(self) -> int:
        """Contacts that the last poses have at most, more than the capacity if some were left out."""
        return int(self.collider.contacts.needed.read().max())

    def close(self) -> None:
        """Free the device memory."""
        self.arena.destroy()


@ti.kernel
def find_contacts(c: ti.template()):
    """The contacts of the shapes where they are placed."""
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        detect(c, w)


class Clearances(NarrowPhase):
    """Pairs of bodies whose distance is asked for.

    Args:
        model: host tables.
        tables, arena: see `NarrowPhase`.
        bodies: pairs of bodies, -1 for the world.

    Attributes:
        n_pairs: of bodies.  start: (n_pairs + 1), where the pairs of shapes of each begin.
        shape_a, shape_b, routine: of pairs of shapes.
        distance: [m], (n_pairs).

    Raises:
        HullError: a mesh of them has no hull.
    """

    _data_oriented = True
    halves_ties = False

    def __init__(self, model: Model, tables: Tables, arena: Arena, bodies: Sequence[tuple[int, int]]):
        pairs = [shape_pairs(model, *pair) for pair in bodies]
        every = np.array([pair for of in pairs for pair in of], int).reshape(-1, 2)
        routines = np.array([routine(*model.shapes.kind[list(pair)]) for pair in every], int)
        used = np.unique(every)
        super().__init__(colliders(model, used, inflated=False), used, routines, tables, arena)
        self.n_pairs, items = len(pairs), arena.records(len(every))
        self.start = arena.ints(np.cumsum([0, *map(len, pairs)]))
        self.shape_a, self.shape_b = items.ints(every[:, 0]), items.ints(every[:, 1])
        self.routine = items.ints(routines)
        self.distance = arena.array(self.n_pairs)


def shape_pairs(model: Model, one: int, other: int) -> list[tuple[int, int]]:
    """Pairs of shapes of two bodies that can touch, in the order that their routine takes."""
    shapes, rank = model.shapes, np.argsort(PAIR_ORDER)[model.shapes.kind]
    ours, theirs = (np.flatnonzero((shapes.body == body) & shapes.collide).tolist() for body in (one, other))
    pairs = [(i, j) if rank[i] <= rank[j] else (j, i) for i in ours for j in theirs]
    return [pair for pair in pairs if set(shapes.kind[list(pair)]) != {ShapeKind.PLANE}]  # which have no distance


@ti.func
def find_clearances(c: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32):
    """Distances of all pairs of bodies at the present poses.

    Reads:  s.{R, o, origin}
    Writes: c.{rotation, base, position, distance, notes}
    """
    place_shapes(c, t, s, w)
    for p in range(c.n_pairs):
        c.distance.store(w, p, c.arena.zero() + FAR[precision_of()])
        for n in range(c.start.at(p), c.start.at(p + 1)):
            kind = c.routine.at(n)
            a = c.shape_a.at(n)
            b = c.shape_b.at(n)
            compare_pair(c, w, kind, a, b)
            for lane in range(c.lanes):
                least = get_lane(c.distance.part(w, p, 0), lane)
                put_lane(c.distance.part(w, p, 0), lane, ti.min(least, clearance(c, w, lane, kind, a, b)))


@ti.func
def clearance(c: ti.template(), w: ti.i32, lane: ti.i32, kind: ti.i32, a: ti.i32, b: ti.i32):
    """[m], distance of two shapes of one world.

    Args:
        kind: the routine of the pair.

    Writes: c.notes
    """
    reach = ti.cast(ti.static(FAR[precision_of()]), c.arena.device.real)
    gap = reach
    if ti.static(c.serves[HALF_SPACE]):
        if kind == HALF_SPACE:
            gap = height_above(c, w, lane, a, b)
    if ti.static(c.serves[ROUND] or c.serves[BALL_BOX] or c.serves[BALL_BARREL]):
        clear(c, w)
        if ti.static(c.serves[ROUND]):
            if kind == ROUND:
                round_pair(c, w, lane, a, b, reach)
        if ti.static(c.serves[BALL_BOX] or c.serves[BALL_BARREL]):
            if kind == BALL_BOX or kind == BALL_BARREL:
                ball_pair(c, w, lane, a, b, reach, kind)
        for k in range(ti.cast(c.notes.load(w, c.n_candidates), ti.i32)):
            gap = ti.min(gap, c.notes.load(w, c.candidates + k * CANDIDATE + GAP))
    if ti.static(c.serves[BOXES] or c.serves[CONVEX]):
        if kind == BOXES or kind == CONVEX:
            _near, found, _n, _p, _has_point, _are_boxes = separate(c, w, lane, kind, a, b, reach)
            gap = found
    return gap - one(c.radius, w, lane, a) - one(c.radius, w, lane, b)
