"""Pairs of shapes whose boxes touch, of one world with many shapes: by a tree of boxes instead of all pairs.

Shapes look for those of a higher index, island after island as they were in the step before: what is solved together
stands together in memory.

The tree is a heap: node k has children 2k and 2k+1, leaves stand at n_leaves + place, one for each shape. It is built anew,
by halves along the longest axis, when searches have become longer than they were; in between its boxes alone follow. It
decides what is looked at, never what is found, nor in which order.

Threads that search (kernels/device/crew.py) keep the points of contact that they find, each for itself; these become rows of
the table in the order of the parts that they are of.

    box     of a node: its low corner, and its high one times -1, so that a union is the least of each number

Source: Ericson (2005), 6.2 and 6.6.
"""

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.crew import CACHE_GAP, CREW_PARTS, items_of_part
from simcli.kernels.device.notes import Notes, begin_groups, count_in_group, end_counting, next_of_group
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane, get_lane, local, vector
from simcli.kernels.language.values import Vec3

MANY_SHAPES = 48  # shapes: fewer are compared pair by pair
_NOWHERE = 1e30  # [m], a box that touches nothing
_BOX = 6
FOUND_POINT = 11  # numbers of a point that was found: shape a, shape b, combination, then as of a candidate (points.py)
OF_PART = 5  # numbers of a part of a search (table_rows.py)


class BoxTree:
    """Memory of a tree.

    Args:
        arena: of one lane.
        n: shapes.  n_links: of the world.  capacity: contacts.

    Attributes:
        shape: (n) shapes by place.  highest: (nodes) index of a shape below each.
        looked, expected: nodes that searches have looked at, in this step, and after the tree was built.
        own: of a thread, (n) shapes that a search has met, `found`, and nodes that it has looked at, `seen`.
        points: (threads, capacity) those that threads have found.  parts: of each part of the search, see table_rows.py.
        taken: how many points each thread has.  n_parts: of the search.
        key: (n) [m], what places are sorted by.  box: (nodes).
        turn: (n) places in the rule of those that look, one after another.  begun: (islands) where those of each begin.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, n: int, n_links: int, capacity: int):
        self.arena, self.n, self.capacity = arena, n, capacity
        self.threads = arena.crew.most if arena.crew else 1
        self.n_leaves = 1 << (n - 1).bit_length()
        self.notes, self.keys, self.boxes = Notes(arena, ti.i32), Notes(arena), Notes(arena, width=_BOX)
        self.shape = self.notes.reserve(n)
        self.own = Notes(arena, ti.i32, own=True)
        self.seen, self.found = self.own.reserve(1), self.own.reserve(n)
        self.points, self.parts = Notes(arena), Notes(arena, ti.i32)
        self.points.reserve(self.threads * capacity * FOUND_POINT)
        self.n_parts, self.taken = self.parts.reserve(CACHE_GAP), self.parts.reserve(self.threads * CACHE_GAP)
        self.part = self.parts.reserve(CREW_PARTS * OF_PART)
        self.highest = self.notes.reserve(2 * self.n_leaves)
        self.looked, self.expected = self.notes.reserve(1), self.notes.reserve(1)
        self.turn, self.begun = arena.array(n), self.notes.reserve(n_links + 4)
        self.key, self.box = self.keys.reserve(n), self.boxes.reserve(2 * self.n_leaves)

    def clear(self):
        """Shapes look in the order of their indices."""
        self.turn.write(np.arange(float(self.n))[None, :, None])


@ti.func
def order_shapes(c: ti.template(), w: ti.i32, islands: ti.template(), body: ti.template()):
    """The turns of the next step: shapes of the world, then island by island.

    Args:
        islands: of the bodies.
        body: of each link.

    Writes: c.box_tree.{turn, notes}
    """
    h = c.box_tree
    n = islands.notes.load(w, islands.count) + 1
    begin_groups(h.notes, w, h.begun, n)
    for k in range(h.n):
        count_in_group(h.notes, w, h.begun, _island_of(c, w, islands, body, k))
    end_counting(h.notes, w, h.begun, n)
    for k in range(h.n):
        turn = next_of_group(h.notes, w, h.begun, _island_of(c, w, islands, body, k))
        h.turn.store(w, turn, h.arena.zero() + ti.cast(k, h.arena.device.real))


@ti.func
def _island_of(c: ti.template(), w: ti.i32, islands: ti.template(), body: ti.template(), k: ti.i32):
    """One more than the number of the island of the shape at a place of the rule, of those of the world 0."""
    link = c.link.at(c.rule.order.at(k))
    island = 0
    if link >= 0:
        island = islands.notes.load(w, islands.number + body.at(link)) + 1
    return island


@ti.func
def renew_tree(c: ti.template(), w: ti.i32):
    """Boxes of now; places of now where searches have become long.

    Reads:  c.{low, high}
    Writes: c.box_tree
    """
    h = c.box_tree
    looked, expected = h.notes.load(w, h.looked), h.notes.load(w, h.expected)
    if expected == 0:  # the first step after the tree was built
        h.notes.store(w, h.expected, looked)
    if looked == 0 or (expected > 0 and looked // 5 * 4 > expected):
        _build(c, w)
        h.notes.store(w, h.expected, 0)
    h.notes.store(w, h.looked, 0)
    _fit_boxes(c, w)


@ti.func
def _build(c: ti.template(), w: ti.i32):
    """Places for all shapes: halves of halves, each along the axis along which its shapes are farthest apart.

    Writes: c.box_tree.{notes, keys}
    """
    h = c.box_tree
    for place in range(h.n):
        h.notes.store(w, h.shape + place, c.rule.order.at(place))
    part = h.n_leaves
    while part > 1:
        for k in range(h.n_leaves // part):
            if h.n - k * part > part // 2:
                _sort_part(c, w, k * part, ti.min(part, h.n - k * part))
        part = part // 2


@ti.func
def _fit_boxes(c: ti.template(), w: ti.i32):
    """The box of each node, from the leaves up.

    Writes: c.box_tree.{boxes, notes}
    """
    h = c.box_tree
    for place in range(h.n_leaves):
        node = h.n_leaves + place
        highest = -1
        box = vector([h.arena.zero() + _NOWHERE] * _BOX)
        if place < h.n:
            highest = h.notes.load(w, h.shape + place)
            box = _box_of(c, w, highest)
        h.notes.store(w, h.highest + node, highest)
        h.boxes.store(w, h.box + node, box)
    for k in range(1, h.n_leaves):
        node = h.n_leaves - k
        left, right = h.notes.load(w, h.highest + 2 * node), h.notes.load(w, h.highest + 2 * node + 1)
        h.notes.store(w, h.highest + node, ti.max(left, right))
        both = ti.min(h.boxes.load(w, h.box + 2 * node), h.boxes.load(w, h.box + 2 * node + 1))
        h.boxes.store(w, h.box + node, both)


def _box_of(c, w, i):
    """The box of a shape as the tree has it."""
    return vector([*(c.low.part(w, i, k) for k in range(3)), *(c.high.part(w, i, k) * -1.0 for k in range(3))])


def _reach_of(c, w, i):
    """What the numbers of boxes are at most that touch that of a shape."""
    return vector([*(c.high.part(w, i, k) for k in range(3)), *(c.low.part(w, i, k) * -1.0 for k in range(3))])


def _is_within(box, reach):
    """Whether no number of a box is more than what may be, or none at all."""
    return local(any_lane(~(box <= reach)) == 0)


@ti.func
def find_touching(c: ti.template(), w: ti.i32, i: ti.i32):
    """Shapes of a higher index whose boxes touch that of a shape, in order.

    Returns:
        how many; they stand in `found`.

    Writes: c.box_tree.own
    """
    h = c.box_tree
    reach = _reach_of(c, w, i)
    count, node, looked = 0, 1, 0
    while node > 0:
        looked += 1
        is_near = False
        if h.notes.load(w, h.highest + node) > i:
            is_near = _is_within(h.boxes.load(w, h.box + node), reach)
        if is_near and node < h.n_leaves:
            node = 2 * node
        else:
            if is_near:
                _insert(h, w, count, h.notes.load(w, h.highest + node))
                count += 1
            while node & 1:
                node = node >> 1
            node = ti.select(node > 0, node + 1, 0)
    h.own.store(w, h.seen, h.own.load(w, h.seen) + looked)
    return count


@ti.func
def _insert(h: ti.template(), w: ti.i32, count: ti.i32, i: ti.i32):
    """Put a shape where it belongs among those that were found.

    Writes: h.own
    """
    at = count
    while at > 0:
        before = h.own.load(w, h.found + at - 1)
        if before > i:
            h.own.store(w, h.found + at, before)
            at -= 1
        else:
            break
    h.own.store(w, h.found + at, i)


@ti.func
def _sort_part(c: ti.template(), w: ti.i32, first: ti.i32, count: ti.i32):
    """Sort places by the middles of their shapes, along the axis along which these are farthest apart.

    Writes: c.box_tree.{notes, keys}
    """
    h = c.box_tree
    least, most = vector([h.arena.zero() + _NOWHERE] * 3), vector([h.arena.zero() - _NOWHERE] * 3)
    for place in range(first, first + count):
        middle = _middle(c, w, h.notes.load(w, h.shape + place))
        least, most = ti.min(least, middle), ti.max(most, middle)
    wide = local(most - least)
    x, y, z = get_lane(wide, 0), get_lane(wide, 1), get_lane(wide, 2)
    for place in range(first, first + count):
        middle = _middle(c, w, h.notes.load(w, h.shape + place))
        other = ti.select(y >= z, get_lane(middle, 1), get_lane(middle, 2))
        h.keys.store(w, h.key + place, ti.select((x >= y) & (x >= z), get_lane(middle, 0), other))
    gap = count // 2
    while gap > 0:
        for place in range(first + gap, first + count):
            _sift(h, w, first, place, gap)
        gap = ti.select(gap == 2, 1, gap * 5 // 11)


def _middle(c, w, i):
    """[m], twice the middle of the box of a shape."""
    return vector([c.low.part(w, i, k) + c.high.part(w, i, k) for k in range(3)])


@ti.func
def _sift(h: ti.template(), w: ti.i32, first: ti.i32, place: ti.i32, gap: ti.i32):
    """Move what stands at a place before all that is more, by gaps.

    Writes: h.{notes, keys}
    """
    key, shape, at = h.keys.load(w, h.key + place), h.notes.load(w, h.shape + place), place
    while at >= first + gap:
        before = h.keys.load(w, h.key + at - gap)
        if before > key:
            h.keys.store(w, h.key + at, before)
            h.notes.store(w, h.shape + at, h.notes.load(w, h.shape + at - gap))
            at -= gap
        else:
            break
    h.keys.store(w, h.key + at, key)
    h.notes.store(w, h.shape + at, shape)


@ti.func
def place_boxes(c: ti.template(), w: ti.i32):
    """The box of each shape.

    Writes: c.{extent, low, high}
    """
    first, end = items_of_part(c.arena, w, c.n_shapes)
    for i in range(first, end):
        c.extent.store(w, i, extent_of(c, w, i))
        margin = c.margin.load(w, i)
        reach = c.extent.load(w, i) + Vec3(margin, margin, margin) - c.spare.load(w, i)
        place = c.base.load(w, i) + c.position.load(w, i)
        c.low.store(w, i, place - reach)
        c.high.store(w, i, place + reach)


def extent_of(c, w, i) -> Vec3:
    """[m], half extents of a shape with its margin along the axes of the world: of its box, or of a smaller ball."""
    m, (x, y, z), bound, skin = c.rotation.load(w, i).parts, c.half.load(w, i).parts, c.bound.load(w, i), c.skin.load(w, i)
    return Vec3(
        *(ti.min(ti.abs(m[3 * k]) * x + ti.abs(m[3 * k + 1]) * y + ti.abs(m[3 * k + 2]) * z, bound) + skin for k in range(3))
    )


def boxes_touch(c, w, a, b):
    """Mask of the lanes in which the boxes of two shapes are at most their margins apart."""
    near = [overlap_along(c, w, a, b, k) for k in range(3)]
    return select(near[0] & near[1] & near[2], 1, 0)


def overlap_along(c, w, a, b, k):
    """Mask of the lanes in which the boxes of two shapes, with their margins, have a stretch of an axis in common."""
    return local((c.low.part(w, a, k) <= c.high.part(w, b, k)) & (c.low.part(w, b, k) <= c.high.part(w, a, k)))
