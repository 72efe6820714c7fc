"""What the barrier reads and keeps: surfaces, candidates and lagged friction per world."""

import numpy as np

from simcli.kernels.barrier.closest import EDGE_EDGE, POINT_EDGE, POINT_PLANE, POINT_POINT, POINT_TRIANGLE
from simcli.kernels.collision.collider import TouchRule, pair_margins
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.lanes import one, put
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.notes import Notes
from simcli.kernels.language import ti
from simcli.kernels.language.values import Vec3
from simcli.model.bodies.surfaces import HALF_SPACE, POINT, SEGMENT, SURFACE, Surfaces
from simcli.model.tables.model import Model

NOTHING = -1  # kind of two features that are never near each other without others being as near
VERTEX, EDGE, FACE = range(3)
BOX = 6  # scalars of a box
ARROW = 24  # numbers of two bodies
PIECE = ARROW + 1  # scalars of a piece: its factor, then its vector
MOST_PIECES = 16
INFINITE_GAP = 1e30  # [m], gap where nothing is near
STICKING, _LEAST = 4, 64  # one in so many candidates has friction at a time, at most, but room for some


def _kind_of(core_a: int, core_b: int, a: int, b: int) -> int:
    """Kind of stencil of a feature of one shape and one of another, by the cores of the shapes."""
    if HALF_SPACE in (core_a, core_b):
        return POINT_PLANE if {a, b} == {VERTEX} else NOTHING
    if a == b == VERTEX:
        return POINT_POINT if core_a == core_b == POINT else NOTHING
    if a == b == EDGE:
        return EDGE_EDGE
    if {a, b} == {VERTEX, EDGE}:
        return POINT_EDGE if (core_a if a == EDGE else core_b) == SEGMENT else NOTHING
    return POINT_TRIANGLE if {a, b} == {VERTEX, FACE} else NOTHING


class Candidates:
    """Stencils of each world that may come near within the step, in the order of the pairs.

    Attributes:
        count: (1).  needed: (1), how many there were; more than the capacity is an overflow.
        kind: (C).  combination: (C), row of the numbers of both shapes.  corner: (4 C), vertices of the stencil.
        flat: (C), flat face of the triangle of a POINT_TRIANGLE, -1 for others.  size: [m], (C), distance of the features,
            INFINITE_GAP beyond reach.  counts: (C), 1 but for triangles whose flat face has one that is nearer to the point.
        acts: (C), 1 for those with a force.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, capacity: int):
        self.capacity, items = capacity, arena.records(capacity)
        self.count, self.needed = arena.single.array(), arena.single.array()
        self.kind, self.combination, self.corner = items.array(), items.array(), arena.array(4 * capacity)
        self.flat, self.size = items.array(), items.array()
        self.counts, self.acts = items.array(), items.array()


class Sticking:
    """Friction of each world, lagged: contacts as they were at the start of the step.

    Attributes:
        count: (1).  kind, flat: (G).  corner: (4 G), of the candidate.  first, second: (G), bodies; n_bodies is the world.
        load: [N], (G), coefficient times normal force.
        place_a, place_b: [m], (G), points in the links; of the second one the negative, as weights are.
        along, across: [1], (G), tangents, world.
        slip: [m], (2 G), difference of the points along the tangents where the contact stuck.
        stiffness: [N/m], (G), of sticking.  lost: [J], (1), what changes of stiffness took as the step began.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, capacity: int):
        self.capacity, items = capacity, arena.records(capacity)
        self.count, self.load = arena.single.array(), items.array()
        self.kind, self.corner, self.flat = items.array(), arena.array(4 * capacity), items.array()
        self.first, self.second = items.array(), items.array()
        self.place_a, self.place_b = items.array(Vec3), items.array(Vec3)
        self.along, self.across = items.array(Vec3), items.array(Vec3)
        self.slip, self.stiffness, self.lost = arena.array(2 * capacity), items.array(), arena.single.array()


class _Anchors:
    """What contacts remember from step to step: how far each has been pulled from where it stuck.

    Attributes:
        count: (1).  kind, flat, corner: of the contact, as in `Sticking`, in the same order.  stiffness: [N/m], (G).
        stretch: [m], (G), of the spring, along the axes of the first body.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, capacity: int):
        items = arena.records(capacity)
        self.count, self.kind, self.flat = arena.single.array(), items.array(), items.array()
        self.corner, self.stiffness = arena.array(4 * capacity), items.array()
        self.stretch = items.array(Vec3)


class Barrier:
    """Everything of barrier contact on the device.

    Args:
        model: with contacts, in its natural form.
        host: surfaces of its shapes.
        tables: device tables, for columns that the batch varies.
        arena: receives the arrays; the caller builds it, then `notes`.
        numbers: `near` [m] and `stiffness` [J/m^4] of each combination, (W|1, K); `give` [m], how far
            a contact is pulled from where it stuck until friction is full.
        capacity: most candidates of a world.

    Attributes:
        rule: which shapes can touch.  widest: [m], (1), the largest `near`.
        radius, bare: [m], (S), about the core, with and without margins.  thickest: [m], (S), the largest in any pair.
        pair_margin: [m], (K), of a combination instead of those of its shapes, -1 where there is none.
        at, move: [m], (V), vertices in the world and their way in the step at hand.
        low, high: [m], (S), swept boxes of the shapes.
        candidates, sticking, anchors: see there.
        energy, barrier, held: [J], (1), with friction and without, and of contacts that stick.
        least: [m], (1), smallest gap of the candidates, and closest: (2), the shapes that have it.
        dissipated: [J], (1), by friction since the step began.
        touching: (1), candidates with a force.  pattern: (B), a number that says which of these a body has.
        crowded: (1), candidates that there was no room for in some search of the step, with the others; else 0.
        acts: [1], (K), 0 while a combination does not touch.  can_rest: whether that is so in some phase.
    """

    _data_oriented = True

    def __init__(self, model: Model, host: Surfaces, tables: Tables, arena: Arena, numbers: dict, capacity: int):
        friction, near = model.contacts.friction, numbers["near"]
        self.arena, self.lanes, self.n_bodies = arena, arena.device.lanes, model.n_bodies
        self.n_shapes, self.n_vertices = len(host.core), len(host.vertex[0])
        shapes, vertices = arena.records(self.n_shapes), arena.records(self.n_vertices)
        self.rule = TouchRule(model.contacts, arena)
        body = np.where(host.link < 0, model.n_bodies, host.link)
        self.core = shapes.ints(host.core)
        size = np.diff(host.vertex_start)
        self.vertex_body = vertices.ints(np.repeat(body, size))
        self.vertex_shape = vertices.ints(np.repeat(np.arange(self.n_shapes), size))
        self.vertex, self.normal = vertices.column(host.vertex, Vec3), tables.column(host.normal, Vec3)
        self.radius, self.bare, self.friction = shapes.column(host.radius), shapes.column(host.bare), tables.column(friction)
        self.pair_margin = tables.column(pair_margins(model.contacts))
        self.thickest = shapes.column(np.maximum(host.radius, host.bare + model.contacts.widest()))
        self.near, self.stiffness = tables.column(near), tables.column(numbers["stiffness"])
        self.widest = tables.column(near.max(axis=1, keepdims=True))
        self.give, self.has_friction = numbers["give"], bool(tables.ever(lambda m: m.contacts.friction != 0).any())
        self.acts = tables.column(model.contacts.enabled)
        self.can_rest = bool(tables.ever(lambda m: m.contacts.enabled == 0).any())
        self.vertex_start = arena.ints(host.vertex_start)
        self._features(host, arena)
        self.at, self.move = vertices.array(Vec3), vertices.array(Vec3).scratch()
        self.low, self.high = shapes.array(Vec3).scratch(), shapes.array(Vec3).scratch()
        n_most = max(capacity // STICKING, _LEAST)
        self.candidates, self.sticking = Candidates(arena, capacity), Sticking(arena, n_most)
        self.anchors = _Anchors(arena, n_most)
        self.energy, self.barrier, self.held, self.least = (arena.single.array() for _ in range(4))
        self.dissipated, self.crowded, self.touching = arena.single.arrays(3)
        self.closest = arena.array(2)
        self.pattern = tables.bodies.array()
        self.notes = Notes(arena)
        self.gradient, self.pieces = self.notes.reserve(ARROW), self.notes.reserve(MOST_PIECES * PIECE)
        self.n_pieces = self.notes.reserve(1)
        self.near_list = self.notes.reserve(self.most_features * (1 + BOX))

    def clear(self):
        """Nothing has stuck yet."""
        for array in (self.anchors.count, self.held, self.dissipated):
            array.write(np.zeros((1, 1, 1)))

    def _features(self, host: Surfaces, arena: Arena):
        """Features of each shape: its vertices, edges and faces, by up to three vertices each."""
        corners, sorts, flats, start = [], [], [], [0]
        for s in range(self.n_shapes):
            v, e, f = (slice(*column[s : s + 2]) for column in (host.vertex_start, host.edge_start, host.face_start))
            points = np.arange(v.start, v.stop)[:, None]
            parts = (points[:, [0, 0, 0]], host.edge[e][:, [0, 1, 1]], host.face[f])
            corners += parts
            sorts += [np.full(len(part), sort) for sort, part in enumerate(parts)]
            flats += [np.full(len(points) + len(parts[EDGE]), -1), host.flat[f]]
            start.append(start[-1] + sum(map(len, parts)))
        self.feature_start = arena.ints(start)
        features = arena.records(start[-1])
        self.feature_corner = arena.ints(np.concatenate(corners))
        self.feature_sort, self.feature_flat = features.ints(np.concatenate(sorts)), features.ints(np.concatenate(flats))
        self.most_features = int(np.diff(start).max(initial=0))
        cores = range(HALF_SPACE + 1)
        kinds = [_kind_of(i, k, a, b) for i in cores for k in cores for a in range(3) for b in range(3)]
        self.kind_table = arena.ints(kinds)

    def kind(self, core_a, core_b, a, b):
        """Kind of stencil of two features (inside kernels)."""
        return self.kind_table.at(((core_a * (HALF_SPACE + 1) + core_b) * 3 + a) * 3 + b)


assert SURFACE < HALF_SPACE  # the table is as large as the last core says


@ti.func
def append(
    c: ti.template(),
    w: ti.i32,
    lane: ti.i32,
    kind: ti.i32,
    combination: ti.i32,
    flat: ti.i32,
    i: ti.i32,
    j: ti.i32,
    k: ti.i32,
    l: ti.i32,  # noqa: E741
):
    """Append a stencil, or count it if there is no room.

    Writes: c.candidates
    """
    needed = one(c.candidates.needed, w, lane, 0)
    put(c.candidates.needed, w, lane, 0, needed + 1.0)
    if needed < c.candidates.capacity:
        at = ti.cast(needed, ti.i32)
        put(c.candidates.count, w, lane, 0, needed + 1.0)
        put(c.candidates.kind, w, lane, at, 1.0 * kind)
        put(c.candidates.combination, w, lane, at, 1.0 * combination)
        put(c.candidates.flat, w, lane, at, 1.0 * flat)
        put(c.candidates.corner, w, lane, 4 * at, 1.0 * i)
        put(c.candidates.corner, w, lane, 4 * at + 1, 1.0 * j)
        put(c.candidates.corner, w, lane, 4 * at + 2, 1.0 * k)
        put(c.candidates.corner, w, lane, 4 * at + 3, 1.0 * l)
