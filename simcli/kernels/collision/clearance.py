"""Clearance of two bodies: the smallest distance of their shapes without margins, negative by the depth of an overlap."""

from collections.abc import Sequence

import numpy as np

from simcli.kernels.algebra.elementary import precision_of
from simcli.kernels.collision.boxes import compare_pair
from simcli.kernels.collision.convex.pair import separate
from simcli.kernels.collision.detect import place_shapes
from simcli.kernels.collision.lanes import one
from simcli.kernels.collision.planes import height_above
from simcli.kernels.collision.points import FAR, GAP, clear
from simcli.kernels.collision.rounds import ball_pair, round_pair
from simcli.kernels.collision.tables import (
    BALL_BARREL,
    BALL_BOX,
    BOXES,
    CANDIDATE,
    CONVEX,
    HALF_SPACE,
    ROUND,
    NarrowPhase,
    routine,
)
from simcli.kernels.language import ti
from simcli.kernels.language.vectors import get_lane, put_lane
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.model.bodies.colliders import colliders
from simcli.model.bodies.contact_pairs import PAIR_ORDER
from simcli.model.tables.model import Model, ShapeKind


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
