"""Positions that close the loops of a model: from the drawing to what is written, step by step.

drawn   the drawing, closed by the least motion (mass matrix) if it is open
held    what is held of what is written, as many coordinates as each loop has freedoms
gone    these go to their values, the loops closed on the way, which keeps the branch of the drawing; on other ways, or from
elsewhere, where the straight one does not close; at last as far as it goes
heeded  hints that ask for another branch, and limits that exclude that of the drawing
"""

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from simcli.engines import cores
from simcli.model.closure.branches import SAME_BRANCH, Judge, as_far, jumped, other_ways, parted, scattered
from simcli.model.closure.chart import Chart, moved
from simcli.model.closure.continuation import follow_legs, follow_path
from simcli.model.closure.gaps import Gaps
from simcli.model.closure.held import WrittenValues, branches_meet, chosen, displacement, drawn, generic, put, wrapped
from simcli.model.closure.limits import OUTSIDE, bounds_of
from simcli.model.closure.loop_problem import LEAST_GAP, OPEN_LOOP, LoopProblem
from simcli.model.closure.newton import Closer
from simcli.model.closure.postures import Configuration, Probe
from simcli.model.tables.model import Array

_CORRECTIONS = 60  # of a posture; a gap of singular dofs is halved by each
_MET = 0.02  # [rad, or lengths of the loop] from the hints: rounding of what is written
_FAR_HINT = 0.1  # [rad, or lengths of the loop] from the hints: other branches are looked for
_MANY_TURNS = 4.0 * np.pi  # [rad] beyond, whole turns are not travelled


class Why(IntEnum):
    """Why a coordinate that is written is not where it is written, by group."""

    HELD = 0
    NO_FREEDOM = 1  # the loop has no freedom left for it
    OUT_OF_REACH = 2  # the loop does not close with it
    LIMITED = 3  # a limit excludes the branch of the drawing


@dataclass
class Assembled:
    """What was found.

    Attributes:
        posture: of all groups.
        why: (W, G) Why.
        held: (W, NV) bool, what was to be held.
        forks: (W, G), branches that nothing chose between, less one.
        closer: whose groups they are.
        qd: [m/s, rad/s], (W, NV), with the least rates.
        residuals, slip: (W, R), of rows and of their rates there.
    """

    posture: Configuration
    why: Array
    held: Array
    forks: Array
    closer: Closer
    qd: Array
    residuals: Array
    slip: Array


def assembled(problem: LoopProblem) -> Assembled:
    """Coordinates at which loops are closed, and rates that keep them so.

    Args:
        problem: at the coordinates that are written.
    """
    written = WrittenValues.of(problem)
    closer = Closer(problem, written.drawn)
    shape = (problem.lead, len(closer.groups))
    found = Assembled(
        Configuration(problem.q, problem.angle).copy(),
        np.zeros(shape, int),
        np.zeros(problem.qd.shape, bool),
        np.zeros(shape, int),
        closer,
        problem.qd.copy(),
        *np.zeros((2, *problem.acts.shape)),
    )

    def assemble(worlds: Array) -> None:
        part = closer.of_worlds(worlds)
        own, here = part.problem, _assemble(found, worlds, part, written.of_worlds(worlds, problem.lead))
        own.q, own.angle = found.posture.q[worlds], found.posture.angle[worlds]
        found.residuals[worlds], found.slip[worlds] = own.least_rates(here)
        found.qd[worlds], found.posture.angle[worlds] = own.qd, own.angle

    portions = problem.portions()
    if len(portions) == 1:
        assemble(portions[0])
        return found
    from concurrent.futures import ThreadPoolExecutor  # late: it takes 10 ms

    with ThreadPoolExecutor(min(cores(), len(portions))) as threads:  # numpy leaves Python's lock to others as it counts
        for _ in threads.map(assemble, portions):
            pass
    return found


def _assemble(found: Assembled, portion: Array, closer: Closer, written: WrittenValues) -> tuple[Chart, Gaps, Array] | None:
    """Find the coordinates of some worlds; gives what is measured there, None where something has moved.

    Args:
        found: of all worlds, written to.
        portion: (W,), numbers of these worlds.
        closer: of them.
        written: of them.
    """
    problem, bounds = closer.problem, bounds_of(closer.problem.model)
    start = Configuration(problem.q, problem.angle)
    seen = closer.probed(*problem.measured())
    found.posture.angle[portion] = seen.gaps.angle
    nothing = np.zeros(problem.qd.shape, bool)
    todo = (seen.gap > LEAST_GAP) | (Judge(closer, written, nothing, bounds, start, problem.goal).excess(start) > 0.0)
    if not todo.any():
        return seen.chart, seen.gaps, seen.residuals
    blocked = None
    while todo.any():
        worlds = np.flatnonzero(todo.any(axis=1))
        some = None if blocked is None else blocked[worlds]
        own = closer if len(worlds) == problem.lead else closer.of_worlds(worlds)
        part = _Assembly(own, written.of_worlds(worlds, problem.lead), todo[worlds], some)
        part.put_into(found, portion[worlds])
        todo[worlds], blocked = part.rest, np.zeros(todo.shape, bool)
        blocked[worlds] = part.blocked
    return None


class _Assembly:
    """Closes some groups of some worlds.

    Args:
        closer, written: of these worlds.
        todo: (W, G) bool, groups.
        blocked: (W, G) bool, where the straight way does not close, and what it does not reach is looked for; None: not
            known, and what it does not reach is the rest, so that few worlds take the time that this takes.
    """

    def __init__(self, closer: Closer, written: WrittenValues, todo: Array, blocked: Array | None):
        self.closer, self.written, self.todo, self.problem = closer, written, todo, closer.problem
        self.is_thorough, self.rest = blocked is not None, np.zeros(todo.shape, bool)
        self.blocked = np.zeros(todo.shape, bool) if blocked is None else blocked
        self.goal, self.tree = self.problem.goal, np.broadcast_to(self.problem.is_tree, self.problem.qd.shape)
        self.why, self.forks = np.zeros(todo.shape, int), np.zeros(todo.shape, int)
        self.bounds = bounds_of(self.problem.model)
        self.draw()
        self.hold()
        self.judge = Judge(closer, written, self.held, self.bounds, self.drawn, self.goal)
        self.best = self.judge.nothing(self.drawn)
        self.go()
        self.check_hints()

    def put_into(self, found: Assembled, worlds: Array) -> None:
        """Write what was found for some worlds."""
        done, closer = self.todo & ~self.rest, self.closer
        for name, places in (("q", closer.group_of_q), ("angle", closer.group_of_row)):
            column = getattr(found.posture, name)
            column[worlds] = np.where(closer.spread(done, places), getattr(self.best.posture, name), column[worlds])
        found.held[worlds] |= self.held
        for name in ("why", "forks"):
            column = getattr(found, name)
            column[worlds] = np.where(done, getattr(self, name), column[worlds])

    def draw(self) -> None:
        """The drawing, closed, and what is held; prescribed coordinates of rows are as drawn."""
        closer, written = self.closer, self.written
        writes = np.array([written.given[dofs].any() for _, dofs in closer.groups])
        q = np.where(closer.spread(self.todo & writes, closer.group_of_q), written.drawn, self.problem.q)

        def find(own: Closer, *state: Array) -> tuple[Array, ...]:
            return drawn(own, written, writes, *state)

        found = closer.once(find, q, self.problem.angle, self.goal, self.todo)
        self.drawn, self.beside = Configuration(*found[:2]), Configuration(*found[2:4])
        self.first_goal, self.is_drawn, self.held = found[4:]

    def hold(self) -> None:
        """By how much moves what is held, and whether branches part at the drawing."""
        closer, turns = self.closer, self.written.turns
        change = displacement(closer, self.drawn.q, self.written.q)
        self.change = np.where(turns & (np.abs(change) > _MANY_TURNS), wrapped(turns, change), change) * self.held
        prescribed = [(self.goal - self.first_goal)[:, rows].any(axis=1) for rows, _ in closer.groups]
        self.moves = self.is_drawn & ((closer.sizes(self.change) > 0.0) | np.stack(prescribed, axis=1))
        self.parts = np.zeros(self.todo.shape, bool)
        if self.moves.any():
            here, beside = self.drawn, self.beside
            (self.parts,) = closer.once(
                branches_meet, here.q, here.angle, beside.q, beside.angle, self.first_goal, self.held
            )
            self.parts = self.parts & self.moves

    def go(self) -> None:
        """From the drawing to what is held."""
        goals, straight = (self.first_goal, self.goal), ~self.parts & ~self.blocked
        there, part = follow_path(self.closer, self.drawn, goals, self.held, self.change, self.moves & straight)
        self._weigh(there, self.is_drawn & (part >= 1.0) & straight)
        if not self.is_thorough:
            self.blocked = part < 1.0
            self.rest |= self.todo & ~self.best.found
            return
        if self.parts.any():
            self._part(goals)
        for legs in other_ways(self.written, self.held, self.change):
            missing = self.is_drawn & ~self.best.found
            if missing.any():
                self._weigh(*follow_legs(self.closer, self.drawn, goals, legs, missing))
        missing = self.todo & ~self.best.found
        if missing.any():
            self.best = jumped(self.judge, self.best, missing, self._ended(self.drawn))
        missing = self.todo & ~self.best.found
        if missing.any():
            there = as_far(self.judge, goals, self.drawn, missing, self.is_drawn)
            self.best = replace(self.best, posture=self.closer.taken(self.best.posture, there, missing))
            self.why = np.where(missing, Why.OUT_OF_REACH, self.why)

    def _part(self, goals: tuple[Array, Array]) -> None:
        """The best of the branches that meet at the drawing."""
        found = parted(self.judge, self.drawn, goals, self.change, self.parts)
        hinted = self.closer.sizes(np.ones(self.held.shape), self.written.hints(self.held)) > 0.0
        self.forks = np.where(self.parts & ~hinted, found.branches, 0)
        self._weigh(found.posture, self.parts & found.found)

    def _weigh(self, there: Configuration, good: Array) -> None:
        self.best = self.judge.weigh(self.best, self._ended(there), good)

    def _ended(self, there: Configuration) -> Configuration:
        """A posture with what is held exactly at its place, turns included, closed as near as rounding lets."""
        held = self.held & self.closer.spread(self.todo, self.closer.group_of_dof)
        start = Configuration(put(self.problem, there.q, self.written.q, held), there.angle)
        return self.closer.close(start, self.goal, self.tree & ~self.held, self.todo, 0.0, _CORRECTIONS)[0]

    def check_hints(self) -> None:
        """Hints that the branch of the drawing does not meet, and limits that exclude it."""
        there = self.todo & ~self.rest & (self.why == Why.HELD)
        unmet = there & (self.judge.from_hints(self.best.posture) > SAME_BRANCH)
        self.best = replace(self.best, found=there, score=self.judge.score(self.best.posture))
        if not self.is_thorough:
            self.rest |= unmet | (there & (self.best.score[..., 0] > 0.0))
        elif unmet.any():
            self._near_hints(unmet)
        self.why = np.where(there & (self.judge.from_hints(self.best.posture) > SAME_BRANCH), Why.NO_FREEDOM, self.why)
        beyond = there & (self.best.score[..., 0] > 0.0)
        if beyond.any() and self.is_thorough:
            self._within_limits(beyond)
            self.why = np.where(beyond & (self.best.score[..., 0] == 0.0), Why.LIMITED, self.why)
        self._wind()

    def _near_hints(self, unmet: Array) -> None:
        """Weigh postures near hints: what is held goes on from a posture that they make alone, or they give way to it."""
        closer, hints = self.closer, self.written.hints(self.held)
        alone, seen = self._with_hints(self.drawn, self.tree & ~self.written.prescribed, unmet)
        met = unmet & (seen.gap <= OPEN_LOOP) & (self.judge.from_hints(alone) <= _MET)
        change = displacement(closer, alone.q, self.written.q) * self.held
        there, part = follow_path(closer, alone, (self.goal, self.goal), self.held, change, met)
        there, met = self._ended(there), met & (part >= 1.0)
        count = [hints[:, dofs].sum(axis=1) - self.held[:, dofs].sum(axis=1) for _, dofs in closer.groups]
        is_posture = met & (np.stack(count, axis=1) > 0)  # more than freedoms, and they agree: it is a drawing
        self.best = self.judge.weigh(replace(self.best, found=self.best.found & ~is_posture), there, met)
        unmet = unmet & ~is_posture
        there, seen = self._with_hints(self.best.posture, self.tree & ~self.held, unmet)
        self.best = self.judge.weigh(self.best, there, unmet & (seen.gap <= OPEN_LOOP))
        far = unmet & (self.best.score[..., 1] > _FAR_HINT)
        self.best = scattered(self.judge, self.best, far) if far.any() else self.best

    def _with_hints(self, start: Configuration, free: Array, wanted: Array) -> tuple[Configuration, Probe]:
        """A posture near the hints: first they stay, and what else is free closes the loop, then all that is free."""
        closer, hints = self.closer, self.written.hints(self.held)
        change = displacement(closer, start.q, self.written.q) * hints
        q = moved(self.problem.model.links, start.q, change * closer.spread(wanted, closer.group_of_dof))
        there = Configuration(q, start.angle)
        for may in (free & ~hints, free):
            there, seen, _ = closer.close(there, self.goal, may, wanted, 0.0, _CORRECTIONS)
        return there, seen

    def _within_limits(self, beyond: Array) -> None:
        """Weigh other branches; freedoms that nothing written holds stay with the coordinates that are within limits."""
        closer, written, posture = self.closer, self.written, self.best.posture
        beside = closer.probe(generic(closer, posture, self.goal, self.tree, beyond), self.goal)
        unwritten = [[d] for d in np.flatnonzero(self.problem.is_tree & ~written.is_written)]
        more = chosen(closer, replace(written, units=written.units + unwritten), beside, beyond, self._passed(posture))
        held = np.where(closer.spread(beyond, closer.group_of_dof), more, self.held)
        self.best = scattered(Judge(closer, written, held, self.bounds, self.drawn, self.goal), self.best, beyond)

    def _passed(self, posture: Configuration) -> Array:
        """(W, NV) bool, coordinates beyond their limits and not held: they are what has to move."""
        found = np.zeros(self.held.shape, bool)
        laws, at = self.problem.constraints.laws, self.problem.meter.q_of_dof
        for one in self.bounds:
            d = int(laws.dof[one.law])
            if d >= 0 and laws.row[one.law] < 0:
                value = posture.q[:, at[d]]
                found[:, d] = (value < laws.lower[:, one.law] - OUTSIDE) | (value > laws.upper[:, one.law] + OUTSIDE)
        return found & ~self.held

    def _wind(self) -> None:
        """Hints in the turn in which they are written."""
        turns, at = self.written.turns, self.problem.meter.q_of_dof
        hints = self.written.hints(self.held) & turns & self.closer.spread(self.todo, self.closer.group_of_dof)
        away = displacement(self.closer, self.best.posture.q, self.written.q)
        own, q = np.flatnonzero(turns), self.best.posture.q.copy()
        q[:, at[own]] += np.where(hints, away - wrapped(turns, away), 0.0)[:, own]
        self.best = replace(self.best, posture=Configuration(q, self.best.posture.angle))
