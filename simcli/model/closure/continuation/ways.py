"""Where the straight way from the drawing does not close: others, the end without a way, as far as it goes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simcli.model.closure.close import OPEN_LOOP
from simcli.model.closure.continuation.branches import Best, Judge, scattered
from simcli.model.closure.continuation.held import Wishes, displacement, put
from simcli.model.closure.continuation.newton import Closer
from simcli.model.closure.continuation.travel import travel
from simcli.model.closure.postures import Configuration
from simcli.model.tables import Array

_CORRECTIONS = 60
Legs = list[tuple[Array, Array]]  # of a way: what is held on each, (W, NV) bool, and by how much it moves, (W, NV)


def other_ways(wishes: Wishes, held: Array, change: Array) -> Iterator[Legs]:
    """Ways to the same end: the first or the last unit the other way round; one unit after another, from either end.

    Args:
        wishes: of the problem.
        held: (W, NV) bool.
        change: [m, rad], (W, NV), of the straight way.
    """
    n = held.shape[1]
    units = [unit for unit in wishes.units if held[:, unit].any()]
    round_about = np.where(wishes.turns & (change != 0.0), change - 2.0 * np.pi * np.sign(change), change)
    for unit in (units[:1] + units[-1:]) if len(units) > 1 else units:
        if wishes.turns[unit].all():
            yield [(held, np.where(np.isin(np.arange(n), unit), round_about, change))]
    for some in (units, units[::-1]) if len(units) > 1 else ():
        yield [(so_far, change * own) for so_far, own in _one_by_one(some, held)]


def _one_by_one(units: list[list[int]], held: Array) -> Iterator[tuple[Array, Array]]:
    """What is held so far, and what of that is new, (W, NV) bool, unit by unit."""
    so_far = np.zeros(held.shape, bool)
    for unit in units:
        own = np.isin(np.arange(held.shape[1]), unit) & held
        so_far = so_far | own
        yield so_far, own


def travelled(closer: Closer, start: Configuration, goals: tuple[Array, Array], legs: Legs,
              wanted: Array) -> tuple[Configuration, Array]:  # fmt: skip
    """Where a way ends, and which groups, (W, G) bool, have made it.

    Args:
        closer: of the problem.
        start: closed.
        goals: of `travel`; those of rows are reached on the first leg.
        legs: the way.
        wanted: (W, G) bool, groups that are asked for.
    """
    now, arrived = start, wanted.copy()
    for n, (held, change) in enumerate(legs):
        now, part = travel(closer, now, (goals[min(n, 1)], goals[1]), held, change, arrived)
        arrived = arrived & (part >= 1.0)
    return now, arrived


def jumped(judge: Judge, best: Best, wanted: Array, near: Configuration) -> Best:
    """What is best of postures that close with what is held at its place, from what is written and from many sides.

    Args:
        judge: of the problem.
        best: so far.
        wanted: (W, G) bool, groups that are asked for.
        near: a posture around which the others are, with what is held at its place.
    """
    closer = judge.closer
    q = np.where(closer.spread(wanted, closer.group_of_q), judge.wishes.aim, judge.drawn.q)
    for evenly in (True, False):
        start = Configuration(q, judge.drawn.angle)
        there, seen, _ = closer.close(start, judge.goal, judge.free, wanted, 0.0, _CORRECTIONS, evenly)
        best = judge.weigh(best, there, wanted & ~best.found & (seen.gap <= OPEN_LOOP))
    rest = wanted & ~best.found
    if not rest.any():
        return best
    return scattered(judge, replace(best, posture=closer.taken(best.posture, near, rest)), rest)


def as_far(judge: Judge, goals: tuple[Array, Array], drawn: Configuration, wanted: Array, is_drawn: Array) -> Configuration:
    """One unit after another, as far as it goes; what is prescribed at its place, though the loop stays open there.

    Args:
        judge: of the problem.
        goals: of `travel`.
        drawn: closed where it can be.
        wanted: (W, G) bool, groups that are asked for.
        is_drawn: (W, G) bool, groups of which the drawing is closed; the others begin where they are written.
    """
    closer, wishes, now = judge.closer, judge.wishes, drawn
    for n, (held, own) in enumerate(_one_by_one(wishes.units, judge.held)):
        change = displacement(closer, now.q, wishes.aim) * own
        now, _ = travel(closer, now, (goals[min(n, 1)], goals[1]), held, change, wanted & is_drawn)
    start = closer.taken(Configuration(wishes.aim, drawn.angle), now, wanted & is_drawn)
    prescribed = np.broadcast_to(wishes.prescribed, judge.held.shape)
    start = Configuration(put(closer.problem, start.q, wishes.aim, prescribed), start.angle)
    found, rest = start, wanted
    for evenly in (True, False):
        there, seen, _ = closer.close(start, judge.goal, ~prescribed & closer.problem.is_tree, rest, 0.0, _CORRECTIONS,
                                      evenly)
        found = closer.taken(found, there, rest)
        rest = rest & (seen.gap > OPEN_LOOP)
    return found
