"""Contacts of a frame, summed by bodies: how many, and the force of all of them."""

from collections.abc import Sequence

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.language.vectors import get_lane, put_lane
from simcli.kernels.memory.arena import Arena
from simcli.model.measures import ANYTHING
from simcli.model.tables import Model
from simcli.solvers.shared.contacts.report import CONTACTS, ROW

SHAPE_A, SHAPE_B, FORCE = 0, 1, ROW - 3  # places in a row of contacts
SUM = 4  # numbers of a sum: force 3, count


class Touches:
    """Sums of contacts: of one body with another one, or with anything.

    Args:
        model: host tables.
        arena: receives the sums.
        pairs: body whose forces are summed, and the other one, -1 for the world, ANYTHING for all.

    Attributes:
        n: pairs.  one, other: bodies.  owner: (S) body of each shape.
        sums: [N; 1], (4 n), force on `one`, world, and number of contacts.
    """

    _data_oriented = True

    def __init__(self, model: Model, arena: Arena, pairs: Sequence[tuple[int, int]]):
        self.n = len(pairs)
        self.one, self.other = (arena.ints([pair[k] for pair in pairs]) for k in range(2))
        self.owner = arena.ints(model.shapes.body)
        self.sums = arena.array(SUM * self.n)

    def clear(self):
        """Nothing touches yet."""
        self.sums.write(np.zeros((1, SUM * self.n, 1)))


@ti.func
def add_touches(c: ti.template(), w: ti.i32):
    """Sum the contacts that the frame shows.

    Reads:  c.contacts.{rows, summary}
    Writes: c.accumulators.touches.sums
    """
    m = c.accumulators.touches
    for i in range(SUM * m.n):
        m.sums.store(w, i, c.tables.arena.zero())
    for lane in range(c.lanes):
        count = ti.cast(get_lane(c.contacts.summary.part(w, CONTACTS, 0), lane), ti.i32)
        for k in range(count):
            a = m.owner.at(ti.cast(get_lane(c.contacts.rows.part(w, k * ROW + SHAPE_A, 0), lane), ti.i32))
            b = m.owner.at(ti.cast(get_lane(c.contacts.rows.part(w, k * ROW + SHAPE_B, 0), lane), ti.i32))
            for n in range(m.n):
                if m.one.at(n) == b and (m.other.at(n) == ANYTHING or m.other.at(n) == a):
                    add_touch(c, w, lane, n, k, 1.0)
                elif m.one.at(n) == a and (m.other.at(n) == ANYTHING or m.other.at(n) == b):
                    add_touch(c, w, lane, n, k, -1.0)


@ti.func
def add_touch(c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, k: ti.i32, sign: ti.template()):
    """Add contact k of a world to the sum of pair n.

    Args:
        sign: 1 if the force is on its first body, -1 if that is the other side.

    Reads:  c.contacts.rows
    Writes: c.accumulators.touches.sums
    """
    sums = c.accumulators.touches.sums
    for i in ti.static(range(3)):
        force = get_lane(c.contacts.rows.part(w, k * ROW + FORCE + i, 0), lane)
        add_in_lane(sums, w, lane, SUM * n + i, sign * force)
    add_in_lane(sums, w, lane, SUM * n + 3, 1.0)


def add_in_lane(array, w, lane, row, value):
    """Add to a number of one world (inside kernels)."""
    part = array.part(w, row, 0)
    put_lane(part, lane, get_lane(part, lane) + value)
