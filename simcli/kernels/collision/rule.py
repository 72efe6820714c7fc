"""Which shapes can touch, as a rule on the device: memory grows with the shapes, not with their pairs."""

import numpy as np

from simcli.kernels.collision.lanes import one
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.model.tables.body_tables import Contacts


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
