"""Contacts of a step: found at its start, remembered at its end, with the impulses that they begin with.

A contact is known again by its pair and feature, else by the nearest place of the same pair. What it carried stands where
the search for impulses begins, and where its proximal term pulls to.

Source: Jean (1999), the step in impulses. Deviation: the margin is that of each shape, not of a world.
"""

from typing import Any

import numpy as np

from simcli.kernels.articulation.contacts import impulse_of_contact, state_contacts
from simcli.kernels.collision.collider import MOST_FRICTION, Collider
from simcli.kernels.collision.table_rows import contacts_of, most_contacts
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.crew import items_of_part
from simcli.kernels.device.lanes import one, put, vector, whole_of
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.pack_arrays import BoundedColumn
from simcli.kernels.forces.columns import Forces
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane, get_lane
from simcli.kernels.language.values import Vec3
from simcli.model.tables.model import Model

_NEAR = 0.02  # [1] of the size of a shape, at most, from where a contact is known again by its place


class Contacts:
    """Memory of contacts across steps.

    Args:
        model: with contacts.
        tables, arena: of the run.
        options: `solver.contact` of a scene.
        lag: part of a step by which velocities of free flight are behind positions, see `rebound`; None where that of the
            last step decides.
        forces: have the velocities of surfaces.

    Attributes:
        collider: shapes, pairs, the table of contacts.
        known: (1), how many there were in the step before.  same: (1), how many of them are the same in this step.
        low, high, feature, impulse, place, slips: (C), what each of them was; [N s] and [m] in the world.
        begun, ended: (S) of a world with many shapes, where among them those of each lower shape began and ended.
        lagging: (1) that part, where it is not the same in all steps; of each island where there are several.
        island: of each shape then, -1 for the world's; else None.
        taken: (C) 1 for those that are known again.
        slid: (C) 1 where a contact of this step slips.
        bend: [m/s], (C), what the gaps of a step before have grown by beyond J v, over h: the first guess of this one.
        bent: (C) that of the contacts of this step.
        lost: [J], (C), what each takes in a step, in large worlds, see `contact_loss`.
        bounces: (C) 1 for impacts.  target: [m/s], (C), normal velocity after an impact; else [m], gap to reach.
        potential: [J], (1), see `contact_energy`.
        friction: [1], (K), of combinations, of the round cone.
        resists_flight: whether laws on joints resist free flight as rows do, see `find_approach`.
        carried: [m/s], (C), by which surfaces move along the tangents besides J v, B's less A's, where some do.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena, options, lag: float | None, forces: Forces):
        self.collider, self.options = Collider(model, tables, arena, options.sleep_after is not None), options
        self.lag = lag
        self.is_auto, self.margin = options.margin is None, options.margin or 0.0
        self.capacity = self.collider.contacts.capacity
        items = self.collider.contacts.items
        self.known, self.lagging, self.feature = arena.single.array(), arena.single.array(), items.array()
        self.same = arena.single.array().of_block()
        self.low, self.high = items.array(), items.array()
        self.begun, self.ended = (arena.array(self.collider.n_shapes * self.collider.has_many) for _ in range(2))
        self.impulse, self.place, self.slips = items.array(Vec3), items.array(Vec3), items.array()
        self.taken, self.slid, self.bounces, self.target = items.arrays(4)
        self.bend, self.bent, self.lost = items.arrays(3)
        self.potential = arena.single.array()
        self.has_moving_surfaces = forces.has_moving_surfaces
        if self.has_moving_surfaces:
            self.surface_velocity, self.carried = forces.surface_velocity, items.array(Vec3)
        self.friction: Any = self.collider.friction
        if "contact_friction" in forces.driven:
            self.friction = BoundedColumn(forces.contact_friction, 0.0, MOST_FRICTION[arena.device.precision])
        self.has_static = bool(tables.ever(lambda m: m.contacts.friction_static != m.contacts.friction).any())
        self.has_bounce = bool(tables.ever(lambda m: m.contacts.restitution > 0).any())
        self.resists_flight, self.island = False, None
        self.has_spin = bool(
            tables.ever(lambda m: (m.contacts.rolling_friction > 0) | (m.contacts.torsional_friction > 0)).any()
        )
        self.gravity = tables.column(
            np.linalg.norm(np.broadcast_to(model.gravity, (len(model.gravity), 3)), axis=-1, keepdims=True)
        )

    def lag_by_islands(self, islands, arena: Arena):
        """Let the last step of each island decide; of two the later one."""
        self.lag, self.lagging, self.island = None, arena.array(islands.n), islands.of_shape

    def clear(self):
        """Forget all contacts."""
        for array in (self.known, self.lagging, self.begun, self.ended):
            array.write(np.zeros((1, array.n_items, 1)))
        if self.collider.has_many:
            self.collider.box_tree.clear()


@ti.func
def warm_start_contacts(k: ti.template(), t: ti.template(), s: ti.template(), p: ti.template(), w: ti.i32):
    """What contacts that were found say of velocities, with what they carried before as the first impulses.

    Reads:  s of `place_all`, k
    Writes: k.{taken, slid}, p.contacts.{on, jacobian, impulse}, p.centre
    """
    state_contacts(k.collider, t, s, p, w)
    count_as_before(k, w)
    warm_start_same(k, p, w)
    warm_start_others(k, p, w)


@ti.func
def warm_start_same(k: ti.template(), p: ti.template(), w: ti.i32):
    """Begin those contacts that `count_as_before` has counted.

    Writes: k.{taken, slid, bent}, p.contacts.impulse, p.centre
    """
    first, end = items_of_part(p.arena, w, whole(k.same, w, 0))
    for c in range(first, end):
        k.taken.store(w, c, p.arena.zero() + 1.0)
        _warm_start(k, p, w, None, c, c)


@ti.func
def warm_start_others(k: ti.template(), p: ti.template(), w: ti.i32):
    """Begin the other ones.

    Writes: k.{taken, slid, bent}, p.contacts.impulse, p.centre
    """
    n = whole(k.same, w, 0)
    for lane in range(k.collider.lanes):
        for c in range(n, ti.cast(get_lane(k.known.part(w, 0, 0), lane), ti.i32)):
            put(k.taken, w, lane, c, 0.0)
        is_same = True
        for c in range(n, contacts_of(k.collider, w, lane)):
            found = c
            is_same = is_same and not _is_new(k, w, lane, c)
            if is_same:
                put(k.taken, w, lane, c, 1.0)
            else:
                found = match(k, w, lane, c)
            if found >= 0:
                _warm_start(k, p, w, lane, c, found)
            else:
                _begin_with(k, p, w, lane, c, vector(), -1.0, 0.0)


@ti.func
def count_as_before(k: ti.template(), w: ti.i32):
    """How many contacts, from the first on, have in all worlds of a block the number that they had in the step before.

    Writes: k.same
    """
    count = 0
    is_same = True
    for c in range(most_contacts(k.collider, w)):
        is_same = is_same and not any_lane(_is_new(k, w, None, c))
        if is_same:
            count = c + 1
    k.same.store(w, 0, k.collider.arena.zero() + ti.cast(count, k.collider.arena.device.real))


def _is_new(k, w, lane, c):
    """Whether contact c is not number c of the step before, where `match` finds it, too, if those before it are theirs.

    Args:
        lane: of one world; None for a mask of all worlds of a block.
    """
    table = k.collider.contacts
    at = ti.cast(c, k.collider.arena.device.real)
    a, b = one(table.shape_a, w, lane, c), one(table.shape_b, w, lane, c)
    is_other = (one(k.low, w, lane, c) != ti.min(a, b)) | (one(k.high, w, lane, c) != ti.max(a, b))
    is_missing = (one(k.known, w, lane, 0) <= at) | (one(table.count, w, lane, 0) <= at)
    return local(is_other | is_missing | (one(k.feature, w, lane, c) != one(table.feature, w, lane, c)))


@ti.func
def match(k: ti.template(), w: ti.i32, lane: ti.i32, c: ti.i32):
    """The contact of the step before that is contact c; -1 if there is none.

    Writes: k.taken
    """
    table = k.collider.contacts
    feature = one(table.feature, w, lane, c)
    point = one(table.point, w, lane, c)
    a = whole_of(table.shape_a, w, lane, c)
    b = whole_of(table.shape_b, w, lane, c)
    size = ti.min(one(k.collider.bound, w, lane, a), one(k.collider.bound, w, lane, b)) * _NEAR
    least = size * size
    found = -1
    same = -1
    first, last = known_of_pair(k, w, lane, ti.min(a, b), ti.max(a, b))
    for j in range(first, last):
        if one(k.taken, w, lane, j) == 0.0:
            away = one(k.place, w, lane, j) - point
            if one(k.feature, w, lane, j) == feature and same < 0:
                same = j
            if away.dot(away) < least:
                least = away.dot(away)
                found = j
    if same >= 0:
        found = same
    if found >= 0:
        put(k.taken, w, lane, found, 1.0)
    return found


@ti.func
def known_of_pair(k: ti.template(), w: ti.i32, lane: ti.i32, low: ti.i32, high: ti.i32):
    """First contact of a pair in the step before, and the one behind its last; they stand by lower, then higher shape.

    Args:
        k: Contacts.
        low, high: indices of the shapes.

    Reads:  k.{known, low, high}
    """
    first = 0
    last = ti.cast(get_lane(k.known.part(w, 0, 0), lane), ti.i32)
    if ti.static(k.collider.has_many):
        first, last = whole_of(k.begun, w, 0, low), whole_of(k.ended, w, 0, low)
    behind = last
    while first < last:
        middle = (first + last) // 2
        i = whole_of(k.low, w, lane, middle)
        if i < low or (i == low and whole_of(k.high, w, lane, middle) < high):
            first = middle + 1
        else:
            last = middle
    stays = last < behind
    while stays:
        stays = whole_of(k.low, w, lane, last) == low and whole_of(k.high, w, lane, last) == high
        if stays:
            last += 1
            stays = last < behind
    return first, last


@ti.func
def _warm_start(k: ti.template(), p: ti.template(), w: ti.i32, lane: ti.template(), c: ti.i32, j: ti.i32):
    """Begin contact c of one world, or without a lane of all, with what contact j of the step before carried.

    Reads:  k.{impulse, slips, bend}, the table
    Writes: p.contacts.impulse, p.centre, k.{slid, bent}
    """
    x = impulse_of_contact(k.collider, one(k.impulse, w, lane, j), w, lane, c)
    _begin_with(k, p, w, lane, c, x, one(k.slips, w, lane, j), one(k.bend, w, lane, j))


def _begin_with(k, p, w, lane, c, impulse, slips, bent):
    """Begin a contact."""
    put(k.bent, w, lane, c, bent)
    put(p.contacts.impulse, w, lane, c, impulse)
    put(p.centre, w, lane, c, impulse)
    put(k.slid, w, lane, c, slips)


@ti.func
def note_lag(k: ti.template(), w: ti.i32, jumps: ti.template(), n: ti.i32):
    """Velocities of steps of impulses, of n islands, are those half a step before their positions.

    Writes: k.lagging
    """
    for i in range(n):
        k.lagging.store(w, i, jumps.load(w, i) * 0.5)


@ti.func
def contact_energy(k: ti.template(), w: ti.i32):
    """[J] stored in compliant contacts of the last step, where it ended: gap^2 / (2 compliance) of an overlap.

    Reads:  k.collider
    Writes: k.potential
    """
    k.potential.store(w, 0, k.collider.arena.zero())
    for lane in range(k.collider.lanes):
        for c in range(contacts_of(k.collider, w, lane)):
            combination = whole_of(k.collider.contacts.combination, w, lane, c)
            compliance = one(k.collider.compliance, w, lane, combination)
            gap = ti.min(one(k.collider.contacts.reach, w, lane, c), 0.0)
            if compliance > 0.0:
                energy = gap * gap * 0.5 / compliance * one(k.collider.acts, w, lane, combination)
                put(k.potential, w, lane, 0, one(k.potential, w, lane, 0) + energy)
    return k.potential.load(w, 0)


@ti.func
def deepest(k: ti.template(), p: ti.template(), w: ti.i32):
    """[m], deepest overlap of the contacts of the last step, where it ended.

    Reads: k.collider.contacts.reach, p.stated
    """
    found = k.collider.arena.zero()
    for c in range(whole(p.stated, w, 0)):
        is_on = k.collider.contacts.count.load(w, 0) > ti.cast(c, k.collider.arena.device.real)
        found = ti.max(found, select(is_on, -k.collider.contacts.reach.load(w, c), found))
    return local(found)
