"""Coordinates for targets: many searches for each, and the best of them (the searches are `kernels.target_search`).

The first search begins at the coordinates of the state, within the limits; the others at random ones, from where they turn
freely at first. Searches stop where one has reached the targets, unless all are wanted: for a posture, whose best is the
solution nearest to it, or for all solutions. A target that no search has reached gets the one with the least E.
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from simcli import rotations as rot
from simcli.analysis.mechanics.target_starts import (
    SearchFound,
    SearchOptions,
    layout_of,
    limit_states,
    nearest_turns,
    random_numbers,
    scalar_places,
    start_at,
    within_bounds,
)
from simcli.analysis.mechanics.tasks import OnTree, loop_joints, of_worlds
from simcli.analysis.states.portions import States
from simcli.analysis.states.target_sets import TargetSet, spot_of
from simcli.model.joints.catalogue import QUATERNIONS
from simcli.model.tables.model import Array, Model

if TYPE_CHECKING:
    from simcli.analysis.mechanics.rounds import Mechanics
    from simcli.kernels.device.runtime import Device

SEARCH_STATUS = ("reached", "nearest", "not converged")  # by the numbers of kernels.target_search
_WAVE = 4  # searches are taken 1, 3, 12, ... at a time, so that few are in vain
_AT_ONCE = 1 << 16  # searches of one call
MOST_SEEDS = 4096
_SAME = 1e-3  # [m, rad], coordinates that differ by less are one solution
_EQUAL = 1e-9  # of E: of two that differ by less, the earlier search is taken
_GOAL, _PLACE, _PULL, _TURN, _TURN_PULL = 14, 3, 6, 9, 13  # as of kernels.targets


class ToTargets(OnTree):
    """Coordinates that put bodies and points nearest to targets.

    Args:
        names: of the targets.
        bodies: of each.
        options: how they are searched.

    Attributes:
        errors: by target and kind (m, rad): number, sum of squares and largest of its distances.
        counts: of states by `SEARCH_STATUS`.
        iterations: of all states.
    """

    kind = "ik"
    inputs: tuple[str, ...] = ()
    outputs = (
        *("joint_q", "residual_position", "residual_angle", "residual_loop"),
        *("search_status", "search_iterations", "search_start", "limit_state"),
    )

    def __init__(self, names: tuple[str, ...], bodies: Array, options: SearchOptions):
        self.names, self.bodies, self.options = names, bodies, options
        self.errors = np.zeros((len(names), 2, 3))
        self.counts, self.iterations, self.worst = np.zeros(3, int), 0, (0.0, 0.0)
        self.last: dict[int, Array] = {}

    def algorithms(self, model: Model) -> Any:
        """What searches."""
        from simcli.kernels.target_search import TargetSearch

        self.layout = layout_of(model, self.bodies, self.options.most, self.options.tolerance)
        self.numbers = random_numbers(model, self.layout, self.options.seeds, self.options.seed)
        return partial(TargetSearch, layout=self.layout)

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """The solutions; `row` says which state each belongs to."""
        search = Searches(self, mechanics, world, states.values["start"], states.values["goal"])
        row = np.arange(len(states))
        if self.options.follow:
            found = self._followed(search, states.world)
        elif self.options.every:
            found, row = search.every()
        else:
            found = search.best()
        search = search.of(row)
        found.facts[~_wants_something(search.goal), :2] = np.nan
        q = found.q if self.options.follow else nearest_turns(search.model, self.layout, found.q, search.start)
        q, pose = search.completed(q)
        self._sum_errors(pose, search.goal, found)
        return {
            "row": row,
            "joint_q": q,
            "residual_position": found.facts[:, 0],
            "residual_angle": found.facts[:, 1],
            "residual_loop": found.facts[:, 2],
            "search_status": found.facts[:, 4].astype(np.int64),
            "search_iterations": found.facts[:, 5].astype(np.int64),
            "search_start": found.start.astype(np.int64),
            "limit_state": limit_states(mechanics.model, world[row], q),
        }

    def _followed(self, search: "Searches", worlds: Array) -> SearchFound:
        """Each state begins where the one before of its world ended; the first of a world is searched as one alone is."""
        n = len(worlds)
        found = SearchFound(search.first.copy(), np.zeros((n, 6)), np.zeros(n, int))
        order = np.argsort(worlds, kind="stable")
        turn = np.empty(n, int)
        turn[order] = np.arange(n) - np.searchsorted(worlds[order], worlds[order])
        for k in range(int(turn.max(initial=-1)) + 1):
            rows = np.flatnonzero(turn == k)
            known = np.array([int(worlds[row]) in self.last for row in rows])
            for mine, is_known in ((rows[~known], False), (rows[known], True)):
                if not len(mine):
                    continue
                some = search.of(mine)
                if is_known:
                    some.start = np.stack([self.last[int(worlds[row])] for row in mine])
                found.put(mine, some.one(0) if is_known else some.best(), np.arange(len(mine)))
            self.last |= {int(worlds[row]): found.q[row] for row in rows}
        return found

    def _sum_errors(self, pose: Array, goal: Array, found: SearchFound) -> None:
        """Count statuses, and sum up how far each target is missed."""
        self.counts += np.bincount(found.facts[:, 4].astype(int), minlength=3)
        self.iterations += int(found.facts[:, 5].sum())
        largest = np.nan_to_num(found.facts[:, :2]).max(axis=0, initial=0.0)
        self.worst = max(self.worst[0], float(largest[0])), max(self.worst[1], float(largest[1]))
        for k, body in enumerate(self.bodies):
            mine = goal[:, _GOAL * k : _GOAL * (k + 1)]
            pull = mine[:, _PULL:_TURN]
            gap = np.where(pull > 0, rot.pose_apply(pose[:, body], mine[:, :_PLACE]) - mine[:, _PLACE:_PULL], 0.0)
            away = np.linalg.norm(gap, axis=1)[(pull > 0).any(axis=1)]
            turned = mine[:, _TURN_PULL] > 0
            there = np.concatenate([np.zeros((len(mine), 3)), mine[:, _TURN:_TURN_PULL]], axis=1)
            angle = rot.pose_distance(pose[:, body], there)[1][turned]
            for kind, values in enumerate((away, angle)):
                one = self.errors[k, kind]
                one[:] = one[0] + len(values), one[1] + values @ values, max(one[2], values.max(initial=0.0))

    @property
    def facts(self) -> dict[str, Any]:
        """Counts of statuses, and how far each target is missed: the root of the mean square, and the most."""
        targets = {}
        for name, (place, turn) in zip(self.names, self.errors.tolist(), strict=True):
            targets[name] = {
                f"{what}_{kind}": value
                for kind, (n, squares, most) in (("position", place), ("angle", turn))
                if n
                for what, value in (("rms", (squares / n) ** 0.5), ("largest", most))
            }
        counts = dict(zip(("reached", "nearest", "not_converged"), self.counts.tolist(), strict=True))
        return {**counts, "iterations": self.iterations, "statuses": list(SEARCH_STATUS), "targets": targets}


def _wants_something(goal: Array) -> Array:
    """States that have any target, (N,) bool."""
    parts = goal.reshape(len(goal), -1, _GOAL)
    return (parts[..., _PULL:_TURN] > 0).any(axis=(1, 2)) | (parts[..., _TURN_PULL] > 0).any(axis=1)


@dataclass(frozen=True)
class IkResult:
    """Coordinates for targets, as `Simulation.ik` gives them: N solutions.

    Attributes:
        q: [m, rad, 1], (N, NQ), joint coordinates.
        row: (N,), number of the targets that each is for: rising by one, unless all solutions are given.
        position_error: [m], (N,), the largest distance of a target.
        angle_error: [rad], (N,), the largest turn that a target lacks.
        loop_error: [m, rad], (N,), the largest gap of loops and gears.
        reached: (N,) bool, targets are within the tolerance.
        converged: (N,) bool; what is converged and not reached is nearest to the targets.
        iterations: (N,).
        start: (N,), number of the search that found it, 0 for the one from the given coordinates.
        limit_state: (N, NV), -1 at the lower limit, 1 at the upper one, else 0.
    """

    q: Array
    row: Array
    position_error: Array
    angle_error: Array
    loop_error: Array
    reached: Array
    converged: Array
    iterations: Array
    start: Array
    limit_state: Array


def solve_targets(model: Model, device: "Device", targets: TargetSet, start: Array, options: SearchOptions) -> IkResult:
    """Coordinates for targets of worlds of a model.

    Args:
        model: the tables, of one world or of all that the targets are of.
        device: from `start_device`, in float64.
        targets: N sets of them.
        start: [m, rad, 1], (N, NQ), where searches begin; the posture as well.
        options: how they are searched.

    Raises:
        UsageError: a target is of no body, or nothing moves it.
    """
    from simcli.analysis.mechanics.rounds import Mechanics

    bodies = np.array([spot_of(model, name).body for name in targets.wanted])
    task = ToTargets(tuple(targets.wanted), bodies, options)
    seats = targets.world if model.n_worlds > 1 else np.zeros(len(targets), np.int64)
    mechanics = Mechanics(model, device, task.algorithms(model))
    try:
        values = {"start": start, "goal": targets.goals(model, seats)}
        found = task(mechanics, States(targets.time, targets.world, targets.frame, values), seats)
    finally:
        mechanics.close()
    status = found["search_status"]
    return IkResult(
        q=found["joint_q"],
        row=found["row"],
        position_error=found["residual_position"],
        angle_error=found["residual_angle"],
        loop_error=found["residual_loop"],
        reached=status == 0,
        converged=status != 2,
        iterations=found["search_iterations"],
        start=found["search_start"],
        limit_state=found["limit_state"],
    )


class Searches:
    """The searches of some states.

    Args:
        task: whose they are.
        mechanics: the model, and what searches.
        world: (N,), of the model.
        first: [m, rad, 1], (N, NQ), coordinates of the states, which are the posture as well.
        goal: (N, 14 T).
    """

    def __init__(self, task: ToTargets, mechanics: "Mechanics", world: Array, first: Array, goal: Array):
        self.task, self.mechanics, self.world, self.goal = task, mechanics, world, goal
        self.model, self.layout = mechanics.model, task.layout
        self.bounds = of_worlds(self.layout.lower, world), of_worlds(self.layout.upper, world)
        self.first = first
        self.start = within_bounds(self.model, self.layout, first, self.bounds)

    def of(self, rows: Array) -> "Searches":
        """Those of some states."""
        return Searches(self.task, self.mechanics, self.world[rows], self.first[rows], self.goal[rows])

    def one(self, k: int) -> SearchFound:
        """Search number k of each state."""
        start = self.start
        if k > 0:
            start = start_at(self.model, self.layout, start, self.bounds, self.task.numbers[k])
        n, parts = len(self.world), []
        weight = np.zeros((n, self.model.n_qd))
        scalar = scalar_places(self.model, self.layout.dofs) >= 0
        weight[:, self.layout.dofs[scalar]] = np.sqrt(self.task.options.posture)
        roams = np.full((n, 1), float(k > 0))
        arrays = (start, self.goal, np.nan_to_num(self.first), weight, roams)
        for at in range(0, n, _AT_ONCE):
            some = slice(at, at + _AT_ONCE)
            parts.append(self.mechanics("search", self.world[some], *(a[some] for a in arrays)))
        q, facts = (np.concatenate(part) for part in zip(*parts, strict=True))
        return SearchFound(q, facts, np.full(n, k))

    def best(self) -> SearchFound:
        """The best of all searches."""
        found = self.one(0)
        posed = self.task.options.posture > 0.0
        first, last = 1, _WAVE
        while first < self.task.options.seeds:
            left = np.arange(len(self.world)) if posed else np.flatnonzero(~found.is_reached)
            some = self.of(left)
            for k in range(first, min(last, self.task.options.seeds)):
                if not len(left):
                    return found
                other = some.one(k)
                better = self._is_better(other, found, left)
                found.put(left[better], other, np.flatnonzero(better))
            first, last = last, last * _WAVE
        return found

    def _is_better(self, other: SearchFound, found: SearchFound, rows: Array) -> Array:
        """Whether another search came to more: targets that are reached, by the nearer posture; else the lesser E."""
        mine, theirs = found.is_reached[rows], other.is_reached
        cost, its = found.facts[rows, 3], other.facts[:, 3]
        if self.task.options.posture > 0.0:
            reached = mine & theirs
            cost = np.where(reached, self._away(found.q[rows], rows), cost)
            its = np.where(reached, self._away(other.q, rows), its)
        less = (its < cost * (1.0 - _EQUAL)) & (~mine | (self.task.options.posture > 0.0))
        return np.where(mine == theirs, less, theirs)

    def _away(self, q: Array, rows: Array) -> Array:
        """Sum of the squares of how far coordinates are from the posture."""
        place = scalar_places(self.model, self.layout.dofs)
        away = (q - self.first[rows])[:, place[place >= 0]]
        return np.array([row @ row for row in away])

    def every(self) -> tuple[SearchFound, Array]:
        """All solutions that differ, and the state of each; of a state that has none its best search."""
        runs = [self.one(k) for k in range(self.task.options.seeds)]
        picks: list[tuple[int, int]] = []
        for row in range(len(self.world)):
            mine: list[int] = []
            for k, run in enumerate(runs):
                if run.is_reached[row] and not any(self._is_same(run.q[row], runs[other].q[row]) for other in mine):
                    mine.append(k)
            mine = mine or [int(np.argmin([run.facts[row, 3] for run in runs]))]
            picks += [(row, k) for k in mine]
        rows, chosen = (np.array(part, int) for part in zip(*picks, strict=True))
        q = np.stack([runs[k].q[row] for row, k in picks])
        return SearchFound(q, np.stack([runs[k].facts[row] for row, k in picks]), chosen), rows

    def _is_same(self, a: Array, b: Array) -> bool:
        """Whether coordinates are one solution: whole turns of hinges do not count."""
        model, links = self.model, self.model.links
        gap = np.abs(np.nan_to_num(a - b))
        place = scalar_places(model, self.layout.dofs)
        turning = place[self.layout.turns]
        gap[turning] = np.abs(gap[turning] - 2.0 * np.pi * np.round(gap[turning] / (2.0 * np.pi)))
        for at in links.q_start[np.isin(links.joint, np.flatnonzero(np.isin(model.joints.kind, QUATERNIONS)))]:
            end = int(at + np.diff(model.joints.q_start)[np.searchsorted(model.joints.q_start, at, "right") - 1])
            gap[end - 4 : end] = 1.0 - abs(float(a[end - 4 : end] @ b[end - 4 : end]))
        return bool((gap < _SAME).all())

    def completed(self, q: Array) -> tuple[Array, Array]:
        """Coordinates with those of joints that close loops, and poses of the bodies."""
        pose, twist = self.mechanics("forward_kinematics", self.world, q, np.zeros((len(q), self.model.n_qd)))
        loops = loop_joints(self.model)
        if loops:
            projected = self.mechanics("projection", self.world, pose, twist)[0]
            for j in loops:
                mine = slice(*self.model.joints.q_start[j : j + 2])
                q[:, mine] = projected[:, mine]
        return q, pose
