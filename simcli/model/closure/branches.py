"""Other branches on which a loop closes: where two meet at the drawing, where hints ask for one or limits exclude one.

Also other ways, where the straight way from the drawing does not close: the end without a way, as far as it goes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from simcli.model.closure.chart import moved
from simcli.model.closure.continuation import Legs, follow_path
from simcli.model.closure.held import WHOLE_TURN, WrittenValues, counted, displacement, put, wrapped
from simcli.model.closure.limits import OUTSIDE, Bound
from simcli.model.closure.loop_problem import OPEN_LOOP
from simcli.model.closure.newton import Closer
from simcli.model.closure.postures import Configuration
from simcli.model.tables.model import Array

SAME_BRANCH = 1e-6  # [rad, or lengths of the loop] between postures of one branch, and between scores that are equal
_FIRST = 0.05  # [rad, or lengths of the loop] of the way, at most, on which branches part
_APART = (0.05, 0.2, 0.6)  # [rad, or lengths of the loop] from the tangent at which branches are looked for
_TRIES = 16  # scattered postures from which other branches are looked for
_CORRECTIONS = 30


@dataclass
class Best:
    """The best posture that was found of each group.

    Attributes:
        posture: it.
        found: (W, G) bool, whether there is one.
        score: (W, G, 3): beyond limits, from the hints, from the drawing.
        branches: (W, G), number of others that were found.
    """

    posture: Configuration
    found: Array
    score: Array
    branches: Array


class Judge:
    """Compares closed postures of groups.

    Args:
        closer: of the problem.
        written: of the same.
        held: (W, NV) bool.
        bounds: hard limits.
        drawn: closed, with the mass matrices there.
        goal: (W, R), as of `LoopProblem`.
    """

    def __init__(
        self, closer: Closer, written: WrittenValues, held: Array, bounds: list[Bound], drawn: Configuration, goal: Array
    ):
        self.closer, self.written, self.held, self.bounds = closer, written, held, bounds
        self.drawn, self.goal, self.free = drawn, goal, ~held & closer.problem.is_tree

    @cached_property
    def masses(self) -> dict[int, Array]:
        """Mass matrix of each group at the drawing."""

        def find(closer: Closer, q: Array, angle: Array, goal: Array) -> tuple[Array, ...]:
            probe = closer.probe(Configuration(q, angle), goal)
            return tuple(closer.mass(probe.chart, np.ones(probe.gap.shape, bool)).values())

        return dict(enumerate(self.closer.once(find, self.drawn.q, self.drawn.angle, self.goal)))

    def excess(self, posture: Configuration) -> Array:
        """[m, rad], (W, G), how far coordinates that are not held are beyond their limits; 0 within."""
        closer = self.closer
        found, laws = np.zeros((closer.problem.lead, len(closer.groups)), order="F"), closer.problem.constraints.laws
        has_rows = any(laws.row[one.law] >= 0 for one in self.bounds)
        residual = closer.probe(posture, self.goal).gaps.residual if has_rows else None
        for one in self.bounds:
            g, d, r = closer.group_of_bound(one.law), int(laws.dof[one.law]), int(laws.row[one.law])
            if g < 0:
                continue
            value = posture.q[:, closer.problem.meter.q_of_dof[d]] if r < 0 else residual[:, r]
            beyond = np.maximum(laws.lower[:, one.law] - value, value - laws.upper[:, one.law])
            is_held = self.held[:, d] if d >= 0 else False
            beyond = np.where(is_held | (beyond <= OUTSIDE), 0.0, beyond)
            found[:, g] = np.maximum(found[:, g], beyond)
        return found

    def from_hints(self, posture: Configuration) -> Array:
        """[rad, or lengths of the loop], (W, G), the largest distance of a hint, without full turns."""
        away = wrapped(self.written.turns, displacement(self.closer, posture.q, self.written.q))
        return self.closer.sizes(away, self.written.hints(self.held))

    def score(self, posture: Configuration, near: Configuration | None = None) -> Array:
        """(W, G, 3), of `Best`; the last by where its branch begins, `near`, if that is known."""
        away = wrapped(self.written.turns, displacement(self.closer, self.drawn.q, (near or posture).q))
        work = np.zeros((self.closer.problem.lead, len(self.closer.groups)), order="F")
        for g, (_, dofs) in enumerate(self.closer.groups):
            M, x = self.masses[g], away[:, dofs]
            momentum = np.zeros(x.shape)
            for k in range(len(dofs)):
                momentum += M[:, :, k] * x[:, k, None]
            for k in range(len(dofs)):
                work[:, g] += x[:, k] * momentum[:, k]
            scale = np.diagonal(M, axis1=1, axis2=2).max(axis=1, initial=0.0)
            work[:, g] = np.sqrt(np.maximum(work[:, g], 0.0) / np.where(scale > 0.0, scale, 1.0))
        return np.stack((self.excess(posture), self.from_hints(posture), work), axis=-1)

    def weigh(self, best: Best, posture: Configuration, good: Array, near: Configuration | None = None) -> Best:
        """The better ones of two postures of each group.

        Args:
            best: so far.
            posture: another one.
            good: (W, G) bool, groups for which it counts.
            near: of `score`.
        """
        score = self.score(posture, near)
        apart = self.closer.sizes(wrapped(self.written.turns, displacement(self.closer, best.posture.q, posture.q)))
        is_new = good & best.found & (apart > SAME_BRANCH)
        better, equal = np.zeros(good.shape, bool), np.ones(good.shape, bool)
        for n in range(score.shape[-1]):
            change = score[..., n] - best.score[..., n]
            better |= equal & (change < -SAME_BRANCH)
            equal &= np.abs(change) <= SAME_BRANCH
        better |= equal & self._is_ahead(best.posture, posture)
        better = good & (~best.found | (better & is_new))
        return Best(
            self.closer.taken(best.posture, posture, better),
            best.found | good,
            np.where(better[..., None], score, best.score),
            best.branches + is_new,
        )

    def _is_ahead(self, one: Configuration, other: Configuration) -> Array:
        """Whether the first coordinate that differs is larger in the other, (W, G): what decides where nothing else does."""
        shape = (len(one.q), len(self.closer.groups))
        found, is_open = np.zeros(shape, bool), np.ones(shape, bool)
        change = wrapped(self.written.turns, displacement(self.closer, one.q, other.q))
        for g, (_, dofs) in enumerate(self.closer.groups):
            for d in dofs:
                found[:, g] |= is_open[:, g] & (change[:, d] > SAME_BRANCH)
                is_open[:, g] &= np.abs(change[:, d]) <= SAME_BRANCH
        return found

    def nothing(self, posture: Configuration) -> Best:
        """Before anything is found."""
        shape = (self.closer.problem.lead, len(self.closer.groups))
        return Best(posture, np.zeros(shape, bool), np.full((*shape, 3), np.inf), np.zeros(shape, int))


def parted(judge: Judge, start: Configuration, goals: tuple[Array, Array], change: Array, wanted: Array) -> Best:
    """What is best of the branches that meet at a posture.

    Motions are compared where the branches part, so that a coordinate takes one branch for all its values.

    Args:
        judge: of the problem.
        start: closed, where gradients see less than aside.
        goals: of `follow_path`.
        change: of `follow_path`.
        wanted: (W, G) bool, groups that are asked for.
    """
    closer, held = judge.closer, judge.held
    probe, free = closer.probe(start, goals[0]), judge.free
    size = np.maximum(closer.sizes(change), 1e-300)
    first = np.minimum(1.0, _FIRST / size) * wanted
    goal = goals[0] + closer.spread(first, closer.group_of_row) * (goals[1] - goals[0])
    tangent = closer.direction(probe, closer.mass(probe.chart, wanted), free, wanted, goals[1] - goals[0], change) + change
    tangent *= closer.spread(first, closer.group_of_dof)
    best = judge.nothing(start)
    for way in _ways(closer, probe, free, wanted):
        for apart in _APART:
            for side in (apart, -apart):
                there = Configuration(moved(closer.problem.model.links, start.q, tangent + side * way), probe.gaps.angle)
                there, seen, _ = closer.close(there, goal, free, wanted, 0.0, _CORRECTIONS)
                good = wanted & (seen.gap <= OPEN_LOOP)
                if good.any():
                    rest, near = (1.0 - first) * good, there
                    there, part = follow_path(
                        closer, there, (goal, goals[1]), held, change * closer.spread(rest, closer.group_of_dof), good
                    )
                    best = judge.weigh(best, there, good & (part >= 1.0), near)
    return best


def _ways(closer: Closer, probe, free: Array, wanted: Array) -> list[Array]:
    """Directions that rows leave to what is free, each of size one, [rad, or m], (W, NV)."""
    found = [np.zeros((closer.problem.lead, closer.problem.model.n_qd), order="F") for _ in range(3)]
    for g, (_, dofs) in enumerate(closer.groups):
        if not wanted[:, g].any():
            continue
        P = counted(closer, probe, g, free)[1]
        may = np.where(free[:, dofs], 1.0, 0.0)
        P = P * may[:, :, None] * may[:, None]
        for way in found:
            widest = np.diagonal(P, axis1=1, axis2=2).argmax(axis=1)
            own = P[np.arange(len(P)), widest, widest]
            column = P[np.arange(len(P)), :, widest] / np.sqrt(np.where(own > SAME_BRANCH, own, np.inf))[:, None]
            P = P - column[:, :, None] * column[:, None, :]
            way[:, dofs] = column * np.where(closer.is_length[dofs], closer.reach[:, g, None], 1.0)
    for way in found:
        way /= np.where(
            closer.spread(closer.sizes(way), closer.group_of_dof) > 0.0,
            closer.spread(closer.sizes(way), closer.group_of_dof),
            1.0,
        )
    return [way for way in found if way.any()]


def scattered(judge: Judge, best: Best, wanted: Array) -> Best:
    """What is best of postures that close from many sides, with what is held at its place.

    Args:
        judge: of the problem.
        best: so far; its postures have what is held at its place.
        wanted: (W, G) bool, groups that are asked for.
    """
    closer, free = judge.closer, judge.free
    start, step = best.posture, np.zeros(judge.held.shape)
    for n in range(_TRIES):
        for _, dofs in closer.groups:
            for place, d in enumerate(dofs):
                part = np.modf((n // 2 + 1) * np.sqrt(2.0 + place) + 0.5 * place)[0]
                step[:, d] = (1 - 2 * (n % 2)) * np.pi * (2.0 * part - 1.0)
        away = np.where(closer.is_length, step / np.pi * closer.spread(closer.reach, closer.group_of_dof), step)
        away = away * free * closer.spread(wanted, closer.group_of_dof)
        there = Configuration(moved(closer.problem.model.links, start.q, away), start.angle)
        there, seen, _ = closer.close(there, judge.goal, free, wanted, 0.0, _CORRECTIONS)
        there.q = _within(judge, _unwound(judge, start, there.q))
        best = judge.weigh(best, there, wanted & (seen.gap <= OPEN_LOOP))
    return best


def _within(judge: Judge, q: Array) -> Array:
    """Coordinates in the turn in which they are within their limits, if there is one."""
    laws, at, turns = judge.closer.problem.constraints.laws, judge.closer.problem.meter.q_of_dof, judge.written.turns
    found = q.copy()
    for one in judge.bounds:
        d = int(laws.dof[one.law])
        if d >= 0 and laws.row[one.law] < 0 and turns[d]:
            value, lower, upper = q[:, at[d]], laws.lower[:, one.law], laws.upper[:, one.law]
            up, down = (np.ceil(np.maximum(beyond, 0.0) / WHOLE_TURN) for beyond in (lower - value, value - upper))
            there = value + WHOLE_TURN * (np.where(np.isfinite(up), up, 0.0) - np.where(np.isfinite(down), down, 0.0))
            inside = (there >= lower) & (there <= upper) & ~judge.held[:, d]
            found[:, at[d]] = np.where(inside, there, value)
    return found


def _unwound(judge: Judge, start: Configuration, q: Array) -> Array:
    """Coordinates in the turn in which a posture has them."""
    change = displacement(judge.closer, start.q, q)
    back = wrapped(judge.written.turns, change) - change
    found, at = q.copy(), judge.closer.problem.meter.q_of_dof
    own = np.flatnonzero(judge.written.turns)
    found[:, at[own]] += back[:, own]
    return found


_WAY_CORRECTIONS = 60


def other_ways(written: WrittenValues, held: Array, change: Array) -> Iterator[Legs]:
    """Ways to the same end: the first or the last unit the other way round; one unit after another, from either end.

    Args:
        written: of the problem.
        held: (W, NV) bool.
        change: [m, rad], (W, NV), of the straight way.
    """
    n = held.shape[1]
    units = [unit for unit in written.units if held[:, unit].any()]
    round_about = np.where(written.turns & (change != 0.0), change - 2.0 * np.pi * np.sign(change), change)
    for unit in (units[:1] + units[-1:]) if len(units) > 1 else units:
        if written.turns[unit].all():
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


def jumped(judge: Judge, best: Best, wanted: Array, near: Configuration) -> Best:
    """What is best of postures that close with what is held at its place, from what is written and from many sides.

    Args:
        judge: of the problem.
        best: so far.
        wanted: (W, G) bool, groups that are asked for.
        near: a posture around which the others are, with what is held at its place.
    """
    closer = judge.closer
    q = np.where(closer.spread(wanted, closer.group_of_q), judge.written.q, judge.drawn.q)
    for evenly in (True, False):
        start = Configuration(q, judge.drawn.angle)
        there, seen, _ = closer.close(start, judge.goal, judge.free, wanted, 0.0, _WAY_CORRECTIONS, evenly)
        best = judge.weigh(best, there, wanted & ~best.found & (seen.gap <= OPEN_LOOP))
    rest = wanted & ~best.found
    if not rest.any():
        return best
    return scattered(judge, replace(best, posture=closer.taken(best.posture, near, rest)), rest)


def as_far(judge: Judge, goals: tuple[Array, Array], drawn: Configuration, wanted: Array, is_drawn: Array) -> Configuration:
    """One unit after another, as far as it goes; what is prescribed at its place, though the loop stays open there.

    Args:
        judge: of the problem.
        goals: of `follow_path`.
        drawn: closed where it can be.
        wanted: (W, G) bool, groups that are asked for.
        is_drawn: (W, G) bool, groups of which the drawing is closed; the others begin where they are written.
    """
    closer, written, now = judge.closer, judge.written, drawn
    for n, (held, own) in enumerate(_one_by_one(written.units, judge.held)):
        change = displacement(closer, now.q, written.q) * own
        now, _ = follow_path(closer, now, (goals[min(n, 1)], goals[1]), held, change, wanted & is_drawn)
    start = closer.taken(Configuration(written.q, drawn.angle), now, wanted & is_drawn)
    prescribed = np.broadcast_to(written.prescribed, judge.held.shape)
    start = Configuration(put(closer.problem, start.q, written.q, prescribed), start.angle)
    found, rest = start, wanted
    for evenly in (True, False):
        there, seen, _ = closer.close(
            start, judge.goal, ~prescribed & closer.problem.is_tree, rest, 0.0, _WAY_CORRECTIONS, evenly
        )
        found = closer.taken(found, there, rest)
        rest = rest & (seen.gap > OPEN_LOOP)
    return found
