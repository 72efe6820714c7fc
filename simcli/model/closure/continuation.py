"""Continuation: coordinates go from a closed posture to other values in steps, and loops are closed at each.

A step is a tangent and Newton corrections with what is held in its place. It is taken if it ends closed, near its tangent,
and with the same orientation of the gradients, which changes where two branches meet; else a shorter one is. So a loop stays
on its branch, and goes straight on where branches cross.

Where a step begins and how long it is depends on its direction, and not on where the way ends, but for the last one. So
worlds that begin alike and go the same way share their steps but for those, which are the only ones that each takes alone.
"""

from dataclasses import dataclass, fields

import numpy as np

from simcli.model.closure.chart import moved
from simcli.model.closure.loop_problem import OPEN_LOOP
from simcli.model.closure.newton import Closer
from simcli.model.closure.postures import Configuration, Probe
from simcli.model.closure.spans import in_worlds, orientation
from simcli.model.tables.model import Array

_STRIDE = 0.4  # [rad, or lengths of the loop] of one step at most
_STRAIGHT = 1e-6  # of a tangent: less is the correction of a way that is straight, on which steps may be longer
_NEAR = 0.4  # of a tangent: what corrections may add to it
_GROWTH, _SHRINKAGE = 1.7, 0.37  # of steps; no halves, which would meet the middle of a symmetric way
_LEAST_STRIDE = 3e-5  # [rad, or lengths of the loop] of a step: here the way ends; what is held is far nearer to a fold
_CROSSING = 1e-3  # [rad, or lengths of the loop] of a step on which the orientation changes: two branches cross there
_STEPS, _CORRECTIONS = 2000, 8
_ROUGH = 1e-9  # [m, rad, 1] gaps on the way
_SINGULAR = 1e-12  # [1] of the products of gradients: less is rounding, or dofs that no row sees

Legs = list[tuple[Array, Array]]  # of a way: what is held on each, (W, NV) bool, and by how much it moves, (W, NV)


@dataclass
class _Continuation:
    """Directions in which worlds go; one unit of a way is the largest of what is prescribed on it.

    Attributes:
        goal: (W, R), prescribed coordinates of rows at the beginning.  lead: (W, R), by how much these change in a unit.
        held: (W, NV) bool.  change: [m, rad], (W, NV), by how much these move in a unit.
    """

    goal: Array
    lead: Array
    held: Array
    change: Array

    def of_worlds(self, worlds: Array) -> "_Continuation":
        """That of some worlds."""
        return _Continuation(*(in_worlds(getattr(self, one.name), worlds) for one in fields(self)))

    def goal_at(self, closer: Closer, done: Array) -> Array:
        """Prescribed coordinates of rows, (W, R), after so many units, (W, G)."""
        return self.goal + closer.spread(done, closer.group_of_row) * self.lead


@dataclass
class _Progress:
    """How far groups have come.

    Attributes:
        q, angle: of the posture.
        done: units of the way that are made.  stride, growth: of the next step, and what it may grow by.
        tries: steps so far.  todo: bool, groups that go on. All (W, G).
    """

    q: Array
    angle: Array
    done: Array
    stride: Array
    growth: Array
    tries: Array
    todo: Array

    @staticmethod
    def at(start: Configuration, wanted: Array) -> "_Progress":
        """Before the first step."""
        blank = [np.full(wanted.shape, value, order="F") for value in (0.0, _STRIDE, _GROWTH, 0)]
        return _Progress(start.q, start.angle, *blank, wanted)

    @property
    def posture(self) -> Configuration:
        """Where the links are."""
        return Configuration(self.q, self.angle)

    def of_worlds(self, worlds: Array) -> "_Progress":
        """That of some worlds."""
        return _Progress(*(in_worlds(getattr(self, one.name), worlds) for one in fields(self)))

    def with_worlds(self, worlds: Array, other: "_Progress") -> "_Progress":
        """This one with another one of some worlds."""
        found = [getattr(self, one.name).copy("K") for one in fields(self)]
        for mine, one in zip(found, fields(self), strict=True):
            mine[worlds] = getattr(other, one.name)
        return _Progress(*found)


@dataclass
class _Predictor:
    """Tangent and stride of the next step of worlds.

    Attributes:
        tangent: [m, rad], (W, NV), of one unit.  size: [rad, or lengths of the loop], (W, G), its size.
        stride: (W, G), units of the step, before its end is corrected.
        angle: (W, R), of the posture there.
        gradients: of the rows there, (W, m, n), of groups that go on.
    """

    tangent: Array
    size: Array
    stride: Array
    angle: Array
    gradients: dict[int, Array]

    def of_worlds(self, worlds: Array) -> "_Predictor":
        """That of some worlds."""
        own = (in_worlds(one, worlds) for one in (self.tangent, self.size, self.stride, self.angle))
        return _Predictor(*own, {g: in_worlds(J, worlds) for g, J in self.gradients.items()})

    def with_worlds(self, worlds: Array, other: "_Predictor") -> None:
        """Take those of some worlds from another one."""
        for name in ("tangent", "size", "stride", "angle"):
            getattr(self, name)[worlds] = getattr(other, name)
        for g, J in other.gradients.items():
            self.gradients[g][worlds] = J


def follow_path(
    closer: Closer, start: Configuration, goals: tuple[Array, Array], held: Array, change: Array, wanted: Array
) -> tuple[Configuration, Array]:
    """Move what is held, the loops closed.

    Args:
        closer: of the problem.
        start: closed.
        goals: (W, R), prescribed coordinates of rows there, and at the end.
        held: (W, NV) bool, dofs that move as said; the others follow with the least motion.
        change: [m, rad], (W, NV), by how much these move.
        wanted: (W, G) bool, groups that are asked for.

    Returns:
        The posture where each group ends, closed, and the part of its way that it has made, (W, G), 1 at the end.
    """
    lead, change = goals[1] - goals[0], np.where(held, change, 0.0)
    far = np.zeros(wanted.shape, order="F")
    for g, (rows, dofs) in enumerate(closer.groups):
        far[:, g] = np.abs(np.concatenate((change[:, dofs], lead[:, rows]), axis=1)).max(axis=1)
    far = np.where(far > 0.0, far, 1.0)
    lead, change = _per_unit(closer, far, lead, closer.group_of_row), _per_unit(closer, far, change, closer.group_of_dof)
    path = _Continuation(goals[0], lead, held, change)
    end = _follow(closer, path, *_with_others(closer, path, _Progress.at(start, wanted), far), far)
    return end.posture, np.where(wanted & (end.done < far), end.done / far, 1.0)


def follow_legs(
    closer: Closer, start: Configuration, goals: tuple[Array, Array], legs: Legs, wanted: Array
) -> tuple[Configuration, Array]:
    """Where a way ends, and which groups, (W, G) bool, have made it.

    Args:
        closer: of the problem.
        start: closed.
        goals: of `follow_path`; those of rows are reached on the first leg.
        legs: the way.
        wanted: (W, G) bool, groups that are asked for.
    """
    now, arrived = start, wanted.copy()
    for n, (held, change) in enumerate(legs):
        now, part = follow_path(closer, now, (goals[min(n, 1)], goals[1]), held, change, arrived)
        arrived = arrived & (part >= 1.0)
    return now, arrived


def _per_unit(closer: Closer, far: Array, change: Array, places: Array) -> Array:
    """Changes on ways of some units, (W, G), in one of them; 0 outside of groups."""
    units = closer.spread(far, places)
    return np.where(units > 0.0, change / np.where(units > 0.0, units, 1.0), 0.0)


def _follow(closer: Closer, path: _Continuation, now: _Progress, predictor: _Predictor | None, far: Array) -> _Progress:
    """Go on to the end of the way, `far` units, (W, G), or as far as it leads; the first predictor may be known."""
    probe = None
    while now.todo.any():
        if closer.is_few(now.todo):
            some = np.flatnonzero(now.todo.any(axis=1))
            end = _follow(
                closer.of_worlds(some),
                path.of_worlds(some),
                now.of_worlds(some),
                predictor and predictor.of_worlds(some),
                in_worlds(far, some),
            )
            return now.with_worlds(some, end)
        now, probe = _stepped(closer, path, now, predictor or _predicted(closer, path, now, probe), far)
        now.todo, predictor = now.todo & (now.done < far), None
    return now


def _predicted(closer: Closer, path: _Continuation, now: _Progress, probe: Probe | None) -> _Predictor:
    """The tangent at a posture and the stride of the next step; `probe` is what was found there, None if it is not known."""
    probe = probe or closer.probe(now.posture, path.goal_at(closer, now.done))
    mass = closer.mass(probe.chart, now.todo)
    x = closer.direction(probe, mass, ~path.held, now.todo, path.lead, path.change) + path.change
    size = closer.sizes(x)
    return _Predictor(x, size, now.stride / np.maximum(size, 1e-300), probe.gaps.angle, probe.found)


def _stepped(
    closer: Closer, path: _Continuation, now: _Progress, predictor: _Predictor, far: Array
) -> tuple[_Progress, Probe | None]:
    """A step on, or none and a shorter stride; what is found there, if that is known."""
    todo, rest = now.todo, far - now.done
    ahead = np.minimum(rest, predictor.stride)
    step = predictor.tangent * closer.spread(ahead * todo, closer.group_of_dof)
    length = ahead * predictor.size
    near = _NEAR * length + OPEN_LOOP
    there = Configuration(moved(closer.problem.model.links, now.q, step), predictor.angle)
    goal = path.goal_at(closer, now.done + ahead * todo)
    there, seen, way = closer.close(there, goal, ~path.held, todo, _ROUGH, _CORRECTIONS, most=near)
    good = todo & (seen.gap <= OPEN_LOOP) & (way <= near)
    good &= ~is_turned(closer, predictor.gradients, seen, path.held, good & (length > _CROSSING))
    posture = closer.taken(now.posture, there, good)
    done = np.where(good, np.where(ahead >= rest, far, now.done + ahead), now.done)
    longer = np.where(way <= _STRAIGHT * length, length * now.growth, np.minimum(length * now.growth, _STRIDE))
    stride = np.where(good, longer, np.where(todo, length * _SHRINKAGE, now.stride))
    growth = np.where(good, _GROWTH, 1.0)  # none after a step that was not taken
    tries = now.tries + todo
    todo = todo & (stride > _LEAST_STRIDE) & (tries < _STEPS)
    here = seen if np.array_equal(good, now.todo) else None
    return _Progress(posture.q, posture.angle, done, stride, growth, tries, todo), here


class _SharedPath:
    """Steps of some worlds in their directions, none of them the last, as far as somebody has asked for."""

    def __init__(self, closer: Closer, path: _Continuation, begun: _Progress):
        self.closer, self.path, self.now, self.probe = closer, path, begun, None
        self.stations: list[tuple[_Progress, _Predictor]] = []  # where a step begins, and where it goes

    def reach(self, far: Array) -> None:
        """Go on as far as ways of some units, (W, G), need it."""
        while not (self.stations and self._is_beyond(far)):
            predictor = _predicted(self.closer, self.path, self.now, self.probe)
            self.stations.append((self.now, predictor))
            if self.now.todo.any():
                self.now, self.probe = _stepped(self.closer, self.path, self.now, predictor, np.full(far.shape, np.inf))

    def _is_beyond(self, far: Array) -> bool:
        last, predictor = self.stations[-1]
        return not (last.todo & (far - last.done > predictor.stride)).any()

    def left(self, which: Array, far: Array) -> tuple[_Progress, _Predictor]:
        """Where worlds leave it for their last step, or where it ends.

        Args:
            which: (n,), the one of its worlds that each of them goes with.
            far: (n, G), units of their ways.
        """
        found, ahead = (one.of_worlds(which) for one in self.stations[0])
        waits = np.ones(len(which), bool)
        for station, predictor in self.stations:
            todo, rest = in_worlds(station.todo, which), far - in_worlds(station.done, which)
            leaves = waits & ((todo & (rest <= in_worlds(predictor.stride, which))).any(axis=1) | ~todo.any(axis=1))
            some = np.flatnonzero(leaves)
            if len(some):
                found = found.with_worlds(some, station.of_worlds(which[some]))
                ahead.with_worlds(some, predictor.of_worlds(which[some]))
                waits &= ~leaves
        return found, ahead


def _with_others(closer: Closer, path: _Continuation, begun: _Progress, far: Array) -> tuple[_Progress, _Predictor | None]:
    """Where worlds are after the steps that they share with others, and where they go from there; None: not known."""
    everything = (path.goal, path.lead, path.held, path.change, begun.q, begun.angle, begun.todo, closer.reach)
    first, which = closer.distinct(everything)
    if first is None:
        return begun, None
    key = ("route", *(in_worlds(one, first).tobytes() for one in everything))
    farthest = np.zeros((len(first), far.shape[1]))
    np.maximum.at(farthest, which, far)
    with closer.lock:
        if key not in closer.known:
            closer.known[key] = _SharedPath(closer.of_worlds(first), path.of_worlds(first), begun.of_worlds(first))
        route = closer.known[key]
        route.reach(farthest)
    return route.left(which, far)


def is_turned(closer: Closer, before: dict[int, Array], after: Probe, held: Array, wanted: Array) -> Array:
    """Whether the gradients along what is free have changed their orientation, (W, G): det(J_before' J_after) < 0.

    Args:
        closer: of the problem.
        before: gradients of the groups at a posture, (W, m, n).
        after: at another one.
        held: (W, NV) bool.
        wanted: (W, G) bool, groups that are asked for.
    """
    found = np.zeros(wanted.shape, bool)
    for g, (_, dofs) in enumerate(closer.groups):
        worlds = np.flatnonzero(wanted[:, g])
        if not len(worlds):
            continue
        may = ~in_worlds(held[:, dofs], worlds)
        J, K = (in_worlds(one, worlds) * may[:, None] for one in (before[g], closer.gradients(after, g)))
        product = np.zeros((len(worlds), len(dofs), len(dofs)), order="F")
        for r in range(J.shape[1]):
            product += J[:, r, :, None] * K[:, r, None, :]
        product += np.where(may, 0.0, 1.0)[:, None] * np.eye(len(dofs))
        found[worlds, g] = orientation(product, _SINGULAR) < 0.0
    return found
