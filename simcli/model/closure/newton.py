"""Damped Newton steps that close the loops of a posture, for all worlds and all loops at once, each on its own.

A group is a set of rows and of the dofs that they see, as small as can be: what happens in one of them is nothing to
another, and nothing to the other worlds. A step is the least motion (kinetic energy) that closes the gaps to first order; it
is halved until the sum of their squares falls. What is held does not move.
"""

import math
from collections.abc import Callable, Iterable
from functools import cached_property
from threading import RLock

import numpy as np

from simcli import rotations as rot
from simcli.model.closure.chart import Chart, composites, mass_block, moved, own_inertias
from simcli.model.closure.gaps import Gaps
from simcli.model.closure.gradients import gradients
from simcli.model.closure.loop_problem import OPEN_LOOP, LoopProblem
from simcli.model.closure.postures import Configuration, Probe, StepsTaken
from simcli.model.closure.spans import alike, columns_times, in_worlds, least_motion
from simcli.model.tables.model import Array, LinkKind

_HALVINGS = 5  # of a step that makes the gaps larger
_LARGEST_MOVE = 0.5  # [rad, or lengths of the loop] of one step: linear gradients say little about what is farther
_SLOW, _MOST_SLOW = 0.8, 3  # steps that leave more than this of the squares, and how many of them are taken
_ROUNDED = 2.0 * np.finfo(float).eps  # [rad, or lengths of a short loop] of gaps: less is rounding of coordinates
_FALL = 1e-3  # part of the fall that gradients promise, at least


class Closer:
    """Groups of a problem, and steps that close them.

    Args:
        problem: with its mechanism.
        drawn: [m, rad, 1], (W, NQ), where the scale of each group is measured.

    Attributes:
        groups: rows and dofs of each.
        group_of_dof, group_of_q, group_of_row: number of the group, -1 for none.
        is_length: (NV,) bool.
        reach: [m], (W, G), the largest lever of each group: what makes lengths angles.
    """

    def __init__(self, problem: LoopProblem, drawn: Array):
        self.problem, self.drawn = problem, drawn
        self.groups = problem.groups(problem.is_tree, with_mass=False)
        rows, model = problem.constraints.rows, problem.model
        self.group_of_dof, self.group_of_row = np.full(model.n_qd, -1), np.full(rows.n, -1)
        for g, (some, dofs) in enumerate(self.groups):
            self.group_of_row[some], self.group_of_dof[dofs] = g, g
        self.group_of_q, self.is_length = np.full(problem.q.shape[1], -1), np.zeros(model.n_qd, bool)
        self.known: dict[tuple, object] = {}  # what has been found of worlds that others may be the same as
        self.lock = RLock()  # of `known`, which portions of worlds share
        self._tell_coordinates()

    def _tell_coordinates(self) -> None:
        links = self.problem.model.links
        for k in range(self.problem.model.n_links):
            d, at, n = int(links.qd_start[k]), int(links.q_start[k]), int(links.n_qd[k])
            if not n:
                continue
            self.group_of_q[at : at + n + int(links.kind[k] != LinkKind.HELIX)] = self.group_of_dof[d]
            self.is_length[d : d + n] = links.kind[k] == LinkKind.HELIX and links.turn[k] == 0.0
            if links.kind[k] == LinkKind.FREE:
                self.is_length[d : d + 3] = True

    @cached_property
    def reach(self) -> Array:
        """[m], (W, G), the longest lever of a group as drawn; 1 where it has none."""
        drawing = (self.drawn, self.problem.angle, self.problem.goal)
        first, which = self.distinct(drawing)
        if first is None:
            return self._longest_levers(*drawing)
        return in_worlds(self.of_worlds(first)._longest_levers(*(in_worlds(one, first) for one in drawing)), which)

    def _longest_levers(self, q: Array, angle: Array, goal: Array) -> Array:
        probe, entries = self.probe(Configuration(q, angle), goal), self.problem.entries
        found = np.zeros((self.problem.lead, len(self.groups)), order="F")
        at = np.where(entries.on_b[:, None], probe.gaps.at_b[:, entries.row], probe.gaps.at_a[:, entries.row])
        lever = at - probe.chart.o[:, self.problem.link[entries.dof]]
        length, group = np.sqrt(rot.dot(lever, lever)), self.group_of_dof[entries.dof]
        for g in range(len(self.groups)):
            found[:, g] = length[:, group == g].max(axis=1, initial=0.0)
        return np.where(found > 0.0, found, 1.0)

    def group_of_bound(self, law: int) -> int:
        """Number of the group of a coordinate with a law, -1 if it has none."""
        laws, rows = self.problem.constraints.laws, self.problem.constraints.rows
        d, r = int(laws.dof[law]), int(laws.row[law])
        if d >= 0 and self.group_of_dof[d] >= 0:
            return int(self.group_of_dof[d])
        beside = self.group_of_row[rows.joint == rows.joint[r]] if r >= 0 else np.zeros(0, int)
        return int(beside.max(initial=-1))

    def of_worlds(self, worlds: Array) -> "Closer":
        """The same of some worlds alone."""
        found = object.__new__(Closer)
        found.__dict__ |= self.__dict__
        found.problem = self.problem.of_worlds(worlds)
        if self.problem.lead > 1:
            found.drawn = in_worlds(self.drawn, worlds)
        if self.problem.lead > 1 and "reach" in self.__dict__:
            found.reach = in_worlds(self.reach, worlds)
        return found

    def distinct(self, arrays: Iterable[Array]) -> tuple[Array, Array] | tuple[None, None]:
        """Worlds that differ, if many others are the same as they are.

        Args:
            arrays: (W, ...), what is to be the same, beside the mechanism.

        Returns:
            One world of each kind, (n,), and the kind of each world, (W,); None if there are few of the same.
        """
        lead = self.problem.lead
        if lead == 1 or not self.problem.is_shared:
            return None, None
        columns = [np.ascontiguousarray(one).reshape(lead, math.prod(one.shape[1:])).view(np.uint8) for one in arrays]
        bits = np.concatenate(columns, axis=1)
        if (bits == bits[:1]).all():
            return np.zeros(1, int), np.zeros(lead, int)
        _, first, which = np.unique(bits.view(f"V{bits.shape[1]}"), return_index=True, return_inverse=True)
        return (first, which.reshape(-1)) if 2 * len(first) <= lead else (None, None)

    def once(self, find: Callable[..., tuple[Array, ...]], *arrays: Array) -> tuple[Array, ...]:
        """What is found for each world, worked out once for all that are the same.

        Args:
            find: what finds it, (n, ...) each, of a closer of n worlds and of their arrays.
            arrays: (W, ...), all that it needs to know beside the mechanism.
        """
        first, which = self.distinct((*arrays, self.reach))
        if first is None:
            return find(self, *arrays)
        own = [in_worlds(one, first) for one in (*arrays, self.reach)]
        key = (find.__qualname__, *(one.tobytes() for one in own))
        with self.lock:
            if key not in self.known:
                self.known[key] = find(self.of_worlds(first), *own[:-1])
        return tuple(in_worlds(one, which) for one in self.known[key])

    def probe(self, posture: Configuration, goal: Array) -> Probe:
        """What is found at a posture.

        Args:
            posture: whose turns are counted on.
            goal: (W, R), as of `LoopProblem`.
        """
        return self.probed(*self.problem.measure_at(posture.q, posture.angle, goal))

    def probed(self, chart: Chart, gaps: Gaps, residuals: Array) -> Probe:
        """The same of what the problem has measured; chart and gaps are of one world where all stand alike."""
        gap, merit = (np.zeros((self.problem.lead, len(self.groups)), order="F") for _ in range(2))
        for g, (rows, _) in enumerate(self.groups):
            gap[:, g] = np.abs(residuals[:, rows]).max(axis=1, initial=0.0)
            for r in rows:
                merit[:, g] += residuals[:, r] ** 2
        return Probe(chart, gaps, residuals, gap, merit)

    def sizes(self, step: Array, some: Array | None = None) -> Array:
        """Largest displacement of each group, (W, G), in angles.

        Args:
            step: [m, rad], (W, NV).
            some: (W, NV) bool, dofs that count.
        """
        found = np.zeros((self.problem.lead, len(self.groups)), order="F")
        for g, (_, dofs) in enumerate(self.groups):
            size = np.abs(step[:, dofs]) if some is None else np.abs(step[:, dofs]) * some[:, dofs]
            found[:, g] = np.where(self.is_length[dofs], size / self.reach[:, g, None], size).max(axis=1, initial=0.0)
        return found

    def spread(self, values: Array, places: Array) -> Array:
        """Values of groups, (W, G), at their dofs, coordinates or rows; 0 outside of groups."""
        return (
            np.where(places >= 0, values[:, places], 0.0).astype(values.dtype)
            if len(self.groups)
            else np.zeros((self.problem.lead, len(places)), values.dtype)
        )

    def taken(self, old: Configuration, new: Configuration, better: Array) -> Configuration:
        """The new posture of those groups, (W, G) bool, that are better; else the old one."""
        of_q, of_row = self.spread(better, self.group_of_q), self.spread(better, self.group_of_row)
        return Configuration(np.where(of_q, new.q, old.q), np.where(of_row, new.angle, old.angle))

    def mass(self, chart: Chart, wanted: Array) -> dict[int, Array]:
        """Mass matrices at a posture, [kg, kg m, kg m^2], (W, n, n), of groups that some world, (W, G) bool, asks for."""
        problem, links = self.problem, self.problem.model.links
        bulk, found = composites(links, chart, own_inertias(links, chart)), {}
        for g in np.flatnonzero(wanted.any(axis=0)).tolist():
            dofs = self.groups[g][1]
            M = mass_block(problem.model, chart, bulk, dofs, problem.relatives(dofs))
            found[g] = np.broadcast_to(M, (problem.lead, *M.shape[1:]))
        return found

    def gradients(self, probe: Probe, g: int) -> Array:
        """Gradients of the rows of a group along its dofs, (W, m, n)."""
        if g not in probe.found:
            (rows, dofs), problem = self.groups[g], self.problem
            J = gradients(problem.entries, probe.chart, probe.gaps, rows, dofs)
            acts = (problem.acts & problem.tells_place)[:, rows, None]
            probe.found[g] = J if acts.all() else J * acts
        return probe.found[g]

    def direction(
        self,
        probe: Probe,
        masses: dict[int, Array],
        free: Array,
        todo: Array,
        pull: Array,
        given: Array | None = None,
        evenly: bool = True,
    ) -> Array:
        """The least displacements that close gaps to first order, (W, NV).

        Args:
            probe: at the posture.
            masses: of `mass`.
            free: (W, NV) bool, dofs that may move.
            todo: (W, G) bool, groups that are asked for.
            pull: [m, rad, 1], (W, R), what rows shall change by.
            given: [m, rad], (W, NV), displacements that are made beside, of dofs that are not free, or from where the least
                motion counts, of those that are.
            evenly: of `least_motion`.
        """
        step = np.zeros((self.problem.lead, self.problem.model.n_qd), order="F")
        for g, (rows, dofs) in enumerate(self.groups):
            worlds = np.flatnonzero(todo[:, g])
            if not len(worlds):
                continue
            beside = (step if given is None else given)[:, dofs]
            J, M, may, asked, beside = _of_some(
                worlds, self.gradients(probe, g), masses[g], free[:, dofs], pull[:, rows], beside
            )
            push, asked = columns_times(M, beside), asked - columns_times(J, np.where(may, 0.0, beside))
            for mine in alike(may):
                k = np.flatnonzero(may[mine[0]])
                if len(k):
                    own = _of_some(mine, J[:, :, k], M[:, k][:, :, k], push[:, k], asked)
                    x = least_motion(*own, evenly)
                    step[np.ix_(worlds[mine], dofs[k])] = x
        return step

    def close(
        self,
        start: Configuration,
        goal: Array,
        free: Array,
        wanted: Array,
        bound: float,
        tries: int,
        evenly: bool = True,
        is_least: bool = False,
        most: Array | None = None,
        begun: StepsTaken | None = None,
    ) -> tuple[Configuration, Probe, Array]:
        """Damped Newton steps until the gaps of groups are within a bound, or no step makes them smaller.

        Args:
            start: the posture.
            goal: (W, R).
            free: (W, NV) bool, dofs that may move.
            wanted: (W, G) bool, groups that are asked for.
            bound: [m, rad, 1], 0 for as near as rounding lets.
            tries: steps at most.
            evenly: of `least_motion`.
            is_least: whether the whole motion from the start is to be the least one; else each step.
            most: (W, G), angle of all steps beyond which a group gives up; None for any.
            begun: of steps that have been taken before, with more worlds.

        Returns:
            The posture, what is found there, and the sum of the sizes of the steps, (W, G), in angles.
        """
        options = bound, tries, evenly, is_least, most
        if begun is None and self.is_few(wanted):
            return self._close_few(start, goal, free, wanted, options, None)
        probe, least = self.probe(start, goal), np.maximum(bound, _ROUNDED * np.minimum(self.reach, 1.0))
        now, todo = Configuration(start.q, probe.gaps.angle), wanted & (probe.gap > least) & np.isfinite(probe.merit)
        so_far = begun or StepsTaken.none(self.mass(probe.chart, todo), self.problem.model.n_qd, todo.shape)
        while todo.any() and so_far.n < tries:
            if self.is_few(todo):
                return self._close_few(now, goal, free, todo, options, so_far)
            beside = np.where(free, so_far.total, 0.0) if is_least else None
            x = self.direction(probe, so_far.masses, free, todo, -probe.residuals, beside, evenly)
            x *= self.spread(_LARGEST_MOVE / np.maximum(self.sizes(x), _LARGEST_MOVE), self.group_of_dof)
            before = probe
            now, probe, part = self._damped(now, probe, goal, x, todo)
            so_far.add(x * self.spread(part, self.group_of_dof), self.sizes(x) * part, probe.merit > _SLOW * before.merit)
            rounded = (probe.gap < OPEN_LOOP) & (probe.gap > 0.5 * before.gap)
            todo = todo & (part > 0.0) & (probe.gap > least) & ~rounded & (so_far.slow < _MOST_SLOW)
            todo = todo if most is None else todo & (so_far.way <= most)
        return now, probe, so_far.way

    def is_few(self, wanted: Array) -> bool:
        """Whether so few worlds are asked for that it pays to leave the others out."""
        n = int(wanted.any(axis=1).sum())
        return 0 < 2 * n <= self.problem.lead

    def _close_few(
        self, start: Configuration, goal: Array, free: Array, wanted: Array, options: tuple, begun: StepsTaken | None
    ) -> tuple[Configuration, Probe, Array]:
        """The same as `close`, of the worlds alone that are asked for."""
        worlds = np.flatnonzero(wanted.any(axis=1))
        *same, most = options
        there, _, part = self.of_worlds(worlds).close(
            start.of_worlds(worlds),
            *(in_worlds(one, worlds) for one in (goal, free, wanted)),
            *same,
            None if most is None else in_worlds(most, worlds),
            begun and begun.of_worlds(worlds),
        )
        found, way = start.with_worlds(worlds, there), np.zeros(wanted.shape) if begun is None else begun.way
        way[worlds] = part
        return found, self.probe(found, goal), way

    def _damped(
        self, now: Configuration, probe: Probe, goal: Array, x: Array, todo: Array
    ) -> tuple[Configuration, Probe, Array]:
        """The posture after the part of a step that makes the gaps smaller, (W, G) in 0 to 1, with what is found there."""
        part, waits, share = np.zeros(todo.shape), todo.copy(), 1.0
        found, kept = now, probe
        for _ in range(_HALVINGS):
            step = x * share * self.spread(waits, self.group_of_dof)
            there = Configuration(moved(self.problem.model.links, now.q, step), now.angle)
            seen = self.probe(there, goal)
            good = waits & (seen.merit < probe.merit * (1.0 - _FALL * share))
            found = self.taken(found, Configuration(there.q, seen.gaps.angle), good)
            part, waits = np.where(good, share, part), waits & ~good & (probe.gap > OPEN_LOOP)  # below, a fall is rounding
            if share == 1.0 and np.array_equal(good, todo):
                return found, seen, part
            if not waits.any():
                break
            share *= 0.5
        if part.any():
            kept = self.probe(found, goal)
        return found, kept, part


def _of_some(worlds: Array, *arrays: Array) -> list[Array]:
    """Rows of some worlds, (n,) in their order, of arrays (W, ...); the arrays themselves where these are all."""
    return [one if len(worlds) == len(one) else in_worlds(one, worlds) for one in arrays]
