"""What collision reads and writes on the device: shapes, which of them can touch, and one table of contacts per world.

Which pairs can touch is a rule: memory grows with the shapes, not with their pairs.
"""

import numpy as np

from simcli.kernels.collision.box_tree import MANY_SHAPES, BoxTree
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.lanes import one
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.notes import Notes
from simcli.kernels.language import ti
from simcli.kernels.language.values import Mat3, Vec3
from simcli.model.bodies.colliders import MOST_CORNERS, Colliders, colliders
from simcli.model.joints.tree_kinematics import body_rotations, links_of
from simcli.model.tables.body_tables import Contacts
from simcli.model.tables.model import Model, ShapeKind
from simcli.model.tables.signal_tables import Driven


class TouchRule:
    """The rule of the table Contacts.

    The pairs, by the lower and then the higher index of their shapes, are some of those of `order[k]` and `order[m]`,
    k < n_touching, start[k] <= m < end[k]; `combination_of` says which. Two shapes that are still are not among them.

    Args:
        contacts: the table.
        arena: receives the columns.

    Attributes:
        order: shapes that can touch something, then those of them that are not still; each index is lower than the next.
        n_touching: how many the first part of `order` has.
        start, end: by place in the first part of `order`, where in it the shapes are that may touch this one.
        n_groups, combination, group, owner, rank, apart_start, apart: see Contacts.
    """

    _data_oriented = True

    def __init__(self, contacts: Contacts, arena: Arena):
        touching, is_still = contacts.touching, contacts.still[contacts.touching]
        self.n_groups, self.combination = len(contacts.combination), arena.ints(contacts.combination)
        self.group, self.owner, self.rank = (arena.ints(c) for c in (contacts.group, contacts.owner, contacts.rank))
        self.apart_start, self.apart = arena.ints(contacts.apart_start), arena.ints(contacts.apart)
        moving = touching[~is_still]
        n = self.n_touching = len(touching)
        items = arena.records(n)
        self.order = arena.ints([*touching, *moving])
        self.start = items.ints(np.where(is_still, n + np.searchsorted(moving, touching, "right"), np.arange(1, n + 1)))
        self.end = items.ints(np.where(is_still, n + len(moving), n))


@ti.func
def combination_of(rule: ti.template(), i: ti.i32, j: ti.i32):
    """Row of the numbers of two shapes, -1 if they are kept apart.

    Args:
        rule: TouchRule.
        i: index of a shape.
        j: a higher one.
    """
    found = -1
    if rule.owner.at(i) != rule.owner.at(j):
        found = rule.combination.at(rule.group.at(i) * rule.n_groups + rule.group.at(j))
    for k in range(rule.apart_start.at(i), rule.apart_start.at(i + 1)):
        if rule.apart.at(k) == j:
            found = -1
    return found


@ti.func
def acting_combination(c: ti.template(), w: ti.i32, lane: ti.i32, i: ti.i32, j: ti.i32):
    """`combination_of` in one world: -1 also while it is switched off."""
    found = combination_of(c.rule, i, j)
    if ti.static(c.can_rest):
        if found >= 0:
            if one(c.acts, w, lane, found) == 0.0:
                found = -1
    return found


def first_of(rule, i, j):
    """Shape a of two shapes i < j, from which the normal points (inside kernels); i + j - a is shape b."""
    return ti.select(rule.rank.at(i) > rule.rank.at(j), j, i)


def pair_margins(contacts: Contacts) -> np.ndarray:
    """[m], (W|1, K), margins of combinations on the device, -1: those of the shapes."""
    return np.where(np.isnan(contacts.margin), -1.0, contacts.margin)


def radius_in(c, w, lane, i, combination):
    """[m], of shape i about its core in a pair: with its margin, or with half of the pair's own (inside kernels)."""
    own = one(c.pair_margin, w, lane, combination)
    return ti.select(own < 0.0, one(c.radius, w, lane, i), one(c.bare, w, lane, i) + 0.5 * own)


PLANE, SPHERE, BOX, CAPSULE, CYLINDER, CONE, ELLIPSOID, MESH, TERRAIN = (int(kind) for kind in ShapeKind)
CELL = len(ShapeKind)  # the piece of terrain at hand: a prism below a triangle
CELL_CORNERS = 6

# Routines of pairs.
HALF_SPACE, ROUND, BALL_BOX, BALL_BARREL, BOXES, CONVEX, GROUND = range(7)
_ROUND_KINDS = (SPHERE, CAPSULE)
NO_GRAIN = -2  # instead of a link
# [1], of friction: what is more holds no better, and where it stands above the rounding of speeds along the tangents, speeds
# along the normal drown in it, so that bodies sink.
MOST_FRICTION = {"float64": 100.0, "float32": 30.0}

MOST_CANDIDATES = 4 * MOST_CORNERS  # points of a pair before the best are chosen
CANDIDATE = 9  # scalars of one: point 3, normal 3, gap, feature, distance to those that are chosen
RING = 4  # scalars of a corner of a polygon: point 3, label of the edge that leaves it
MOST_RING = 2 * MOST_CORNERS  # corners of a clipped polygon
GJK_CORNER = 7  # scalars of a corner of a simplex: difference 3, point of A 3, weight
EPA_CORNER = 6  # of a polytope: difference 3, point of A 3
EPA_FACE = 9  # corners 3, normal 3, distance, rounding of heights, mark
EPA_CORNERS = 96
EPA_FACES = 2 * EPA_CORNERS  # a closed polytope of n corners has 2 n - 4 triangles
EPA_EDGES = EPA_CORNERS


def routine(kind_a: int, kind_b: int) -> int:
    """Which routine serves a pair of kinds, in the order of contact_pairs."""
    if kind_a == PLANE:
        return HALF_SPACE
    if kind_a == TERRAIN:
        return GROUND
    if kind_a in _ROUND_KINDS and kind_b in _ROUND_KINDS:
        return ROUND
    if kind_a == BOX and kind_b == BOX:
        return BOXES
    if kind_b == SPHERE and kind_a in (BOX, CYLINDER):
        return BALL_BOX if kind_a == BOX else BALL_BARREL
    return CONVEX


def routines_of(kind: np.ndarray, pairs: Contacts) -> np.ndarray:
    """(K,) routine of each combination.

    Args:
        kind: (S,) of the shapes.
        pairs: which of them can touch.
    """
    table = np.array([[routine(a, b) for b in ShapeKind] for a in ShapeKind])
    member = np.zeros(len(pairs.combination), int)
    member[pairs.group[pairs.touching]] = pairs.touching  # some shape of each group
    g, h = np.nonzero(np.triu(pairs.combination >= 0))
    one, other = member[g], member[h]
    swap = pairs.rank[one] > pairs.rank[other]
    routines = np.zeros(len(pairs.points), int)
    routines[pairs.combination[g, h]] = table[kind[np.where(swap, other, one)], kind[np.where(swap, one, other)]]
    return routines


class _ContactTable:
    """Contacts of each world, by the lower and then the higher index of their shapes; entries from `count` on are left over.

    The gap of contact c is n . (x_B - x_A) - radius_a - radius_b, with x the place of the core points: a point of a flat
    feature is fixed in its link, a rounded one is a core point and a radius along n. Flat features take n with them.

    Attributes:
        count: (1), contacts of the world, at most the capacity.
        needed: (1), contacts that were found; more than the capacity is an overflow.
        shape_a, shape_b: (C).
        combination: (C), row of the numbers of both.
        feature: (C), number below 2^24 that stays the same while the same features touch.
        point: [m], (C), half way between the surfaces where they were found, world: by it a contact is known again.
        normal: [1], (C), unit, from A to B, world.  normal_a, normal_b: the same, in the links of the shapes.
        gap: [m], (C), negative in overlap.
        core_a, core_b: [m], (C), in the links of the shapes; of a shape of the world from its place, world axes.
        terms: [m], (C), size of the terms that the gap is a small difference of; 0 where it is compliant.
        radius_a, radius_b: [m], (C).
        along, across: [1], (C), tangents, right-handed with n; of a length that makes the cone of friction a round one.
        reach: [m], (C), gap at another pose (articulation/contact_places.py).
        alike: (C), 1 where all worlds of a block have the contact, between the same shapes.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, capacity: int):
        self.capacity, items = capacity, arena.records(capacity)
        self.items = items
        self.count, self.needed = arena.single.array(), arena.single.array()
        self.shape_a, self.shape_b, self.combination = items.array(), items.array(), items.array()
        self.feature, self.gap, self.terms = items.arrays(3)
        self.point, self.normal = items.array(Vec3), items.array(Vec3)
        self.core_a, self.core_b, self.normal_a, self.normal_b = (items.array(Vec3) for _ in range(4))
        self.radius_a, self.radius_b = items.array(), items.array()
        self.along, self.across = items.array(Vec3), items.array(Vec3)
        self.reach, self.alike = items.array(), items.array().of_block()


class BoxesAtHand:
    """What two boxes are to each other, in all worlds of a block (boxes.py).

    Attributes:
        gap, normal: [m; 1], (1), along the axis that separates them most, from a to b.
        edges, point: (1), 1 where it is that of two edges; [m], the point of that of a, from its origin.
        number, outward: (2), the face of each that faces the other: its number in the box, its normal in world axes.
        corner: [m], (8), of these faces, first of a, then of b, from the origin of a.
        clips: (1), which of the faces clips the other one, 0 or 1; -1 if none is level enough.
    """

    _data_oriented = True

    def __init__(self, arena: Arena):
        self.gap, self.edges, self.clips = (arena.own_array(1) for _ in range(3))
        self.normal, self.point = (arena.own_array(1, Vec3) for _ in range(2))
        self.number, self.outward, self.corner = arena.own_array(2), arena.own_array(2, Vec3), arena.own_array(8, Vec3)


class NarrowPhase:
    """What the routines of pairs read and write.

    Args:
        host: shapes of the model.
        used: indices of those that pairs have.
        routines: of the pairs.
        tables: device tables, for columns that the batch varies.
        arena: receives the arrays; the caller builds it, then `notes`.

    Attributes:
        rotation: [1], (S), of each shape in the world.  base: [m], (S), what its place is counted from: the reference point
            of its tree, or of what stands in the world its own place.  position: [m], (S), from there, world axes.
            `place_shapes` fills them, or anybody else.
        notes: work of one lane.
        has: by kind, whether some shape of the pairs is of it.
        serves: by routine, whether some pair needs it.
        boxes: the two boxes at hand; None where no pair is of boxes.
        halves_ties: whether of two normals that separate equally the middle one is taken, along which shapes may be deeper.
    """

    _data_oriented = True
    halves_ties = True

    def __init__(self, host: Colliders, used: np.ndarray, routines: np.ndarray, tables: Tables, arena: Arena):
        self.arena, self.lanes, self.n_shapes = arena, arena.device.lanes, host.n_shapes
        self.serves = tuple(bool(np.any(routines == k)) for k in range(GROUND + 1))
        kinds = host.kind[used]
        self.has = (*(bool(np.any(kinds == k)) for k in range(CELL)), self.serves[GROUND])
        self._shapes(host, tables, arena)
        self.notes = Notes(arena, own=True)
        self.boxes = BoxesAtHand(arena) if self.serves[BOXES] else None
        self._reserve()

    def _shapes(self, host, tables: Tables, arena: Arena):
        n = self.n_shapes + 1  # the last one is the cell
        shapes = self.shapes = arena.records(n)
        self.kind, self.link = shapes.ints([*host.kind, CELL]), shapes.ints([*host.link, -1])
        padded = [
            np.concatenate([column, np.zeros_like(column[:, :1])], axis=1)
            for column in (host.half, host.radius, host.bare, host.skin, host.bound)
        ]
        self.half = shapes.column(padded[0], Vec3)
        self.radius, self.bare, self.skin, self.bound = (shapes.column(column) for column in padded[1:])
        self.in_link, self.at_link = tables.column(host.rotation, Mat3), tables.column(host.position, Vec3)
        self.corner_start, self.face_start = arena.ints(host.corner_start), arena.ints(host.face_start)
        self.corner, self.face_normal = arena.shared(host.corner, Vec3), arena.shared(host.face_normal, Vec3)
        self.ring_start, self.ring = arena.ints(host.ring_start), arena.ints(host.ring)
        self.columns, self.rows = arena.ints(host.columns), arena.ints(host.rows)
        self.height_start, self.height = arena.ints(host.height_start), arena.shared(host.height)
        self.rotation, self.base, self.position = shapes.array(Mat3), shapes.array(Vec3), shapes.array(Vec3)

    def _reserve(self):
        notes = self.notes
        self.n_candidates, self.candidates = notes.reserve(1), notes.reserve(MOST_CANDIDATES * CANDIDATE)
        self.polygons, self.counts = notes.reserve(3 * MOST_RING * RING), notes.reserve(2)
        self.simplex = notes.reserve(4 * GJK_CORNER)
        self.cell = notes.reserve(CELL_CORNERS * Vec3.width)
        self.corners, self.faces = notes.reserve(EPA_CORNERS * EPA_CORNER), notes.reserve(EPA_FACES * EPA_FACE)
        self.edges = notes.reserve(2 * EPA_EDGES)


class Collider(NarrowPhase):
    """Everything of contacts on the device.

    Args:
        model: with contacts.
        tables, arena: see `NarrowPhase`.

    Attributes:
        extent: [m], (S), half extents of the shape's box along the axes of the world.
        margin: [m], (S), contacts with gaps up to the sum of those of both shapes are reported.
        spare: [m], (S), how much of it a shape does not need along each axis of the world: it moves along others.
        low, high: [m], (S), corners of the shape's box, with what it needs of its margin.
        contacts: the table.
        rule: which shapes can touch.
        box_tree: of the shapes of one world that has many, else None.
        routine, most_points: (K), of a combination; all numbers of contacts are of combinations.
        pair_margin: [m], (K), of a combination instead of those of its shapes, -1 where there is none.
        friction, friction_static: [1], (K), of the round cone.
        has_grain: whether friction of some combination differs between directions; for those, their grain in a link,
            `grain_link`, -1 for the world, and by how much the tangents along and across it are shorter.
        carries, pushed, unit_along: of the contact at hand, where the worlds of a block have others: the links that carry A
            and B; [m], where these are pushed, from the origins of their trees; a tangent.
        terms: [m], of the contact at hand, the largest of what it sees of velocities, before they cancel.
        acts: [1], (K), 0 while a combination does not touch.  can_rest: whether that is so in some phase.
        asleep: (links) 1 for those that sleep, whose pairs are not looked at.  sleeps: whether some may.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena, sleeps: bool = False):
        host, pairs = colliders(model), model.contacts
        routines = routines_of(host.kind, pairs)
        super().__init__(host, pairs.touching, routines, tables, arena)
        self.rule = TouchRule(pairs, arena)
        self.has_many = self.lanes == 1 and self.rule.n_touching >= MANY_SHAPES and not arena.device.is_gpu
        combinations = self.combinations = arena.records(np.size(routines))
        self.routine, self.most_points = combinations.ints(routines), combinations.ints(pairs.points)
        for name in ("rolling_friction", "torsional_friction", "restitution", "compliance"):
            setattr(self, name, combinations.column(getattr(pairs, name)))
        self.pair_margin = combinations.column(pair_margins(pairs))
        self.acts, self.can_rest = tables.column(pairs.enabled), bool(tables.ever(lambda m: m.contacts.enabled == 0).any())
        self._friction(model, arena)
        self.extent, self.spare, self.low, self.high = self.shapes.arrays(4, Vec3)
        self.margin = self.shapes.array()
        self.contacts = table = _ContactTable(arena, pairs.capacity)
        self.box_tree = BoxTree(arena, self.rule.n_touching, tables.n_links, table.capacity) if self.has_many else None
        self.n_links = tables.n_links
        self.sleeps, self.asleep = sleeps, arena.array(tables.n_links if sleeps else 0)
        self.carries, self.pushed = arena.array(2 * tables.n_links).scratch(), arena.array(2, Vec3).scratch()
        self.unit_along, self.terms = arena.array(1, Vec3).scratch(), arena.own_array(1)

    def _friction(self, model: Model, arena: Arena):
        """The larger of both coefficients for a round cone, and how much shorter the tangents are for it."""
        pairs = model.contacts
        limit = MOST_FRICTION[arena.device.precision]
        along, across, still = (
            np.minimum(one, limit) for one in (pairs.friction, pairs.friction_across, pairs.friction_static)
        )
        most = np.maximum(along, across)
        full = np.where(most > 0, most, 1.0)
        at_rest = still * np.where(along > 0, most / np.where(along > 0, along, 1.0), 1.0)
        column = self.combinations.column
        self.friction, self.friction_static = column(most), column(np.minimum(np.maximum(at_rest, most), limit))
        self.has_grain = bool((pairs.grain_shape >= 0).any())
        if self.has_grain:
            body = model.shapes.body[np.maximum(pairs.grain_shape, 0)]
            self.grain_link = self.combinations.ints(np.where(pairs.grain_shape >= 0, links_of(model.links, body), NO_GRAIN))
            self.grain = column(np.einsum("wpij,wpj->wpi", body_rotations(model.links, body), pairs.grain), Vec3)
            inputs = model.inputs  # friction that signals drive is isotropic
            is_driven = np.isin(np.arange(most.shape[1]), inputs.item[inputs.column == Driven.CONTACT_FRICTION])
            self.share_along, self.share_across = (column(np.where(is_driven, 1.0, one / full)) for one in (along, across))
