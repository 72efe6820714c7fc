"""Events at a time in worlds that begin one by one: each world takes the tables of a phase at its own age.

What phases change are numbers of columns with a number for each world (model/phases.py:widened), so that those of
one world are written and no table is shared. Energy that is stored before and after counts as input of that world alone.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.model.snapshot import Event
from simcli.model.tables.model import Model
from simcli.solvers.run.beginnings import Beginnings, ReadyCalls
from simcli.solvers.run.loop_bounds import move_account
from simcli.solvers.run.rollout import enter_phase, leave_phase
from simcli.solvers.run.solver import MANY_STEPS
from simcli.solvers.run.world_events import end_open, end_outside

_OF_OTHERS = -1  # status by which those who end worlds pass over them


class OwnPhases:
    """The phases of a scene, by the ages of worlds.

    Args:
        stepper: that has not begun; its phases are taken from it.
        beginnings: of it.
        calls: of its kernels.

    Attributes:
        entered: (W,), how many phases each world has entered.
    """

    def __init__(self, stepper, beginnings: Beginnings, calls: ReadyCalls):
        self._stepper, self._beginnings, self._calls = stepper, beginnings, calls
        self._phases, stepper.phases = list(stepper.phases), []
        self._steps = np.array([*(phase.step for phase in self._phases), MANY_STEPS], np.int64)
        self.entered = np.zeros(stepper.model.n_worlds, int)
        self._first = [array.base for array in stepper.core.tables.arena.filled]
        self._rows = np.concatenate([np.zeros(0, int), *(array.rows for array in stepper.core.tables.arena.filled)])
        self._known: dict[int, tuple] = {}
        self._changed = np.zeros(len(self._rows), bool)

    def to_come(self, began: np.ndarray) -> int:
        """Steps until the next world enters a phase."""
        return int((self._steps[self.entered] + began).min()) - self._stepper.n_steps

    def _phase(self, k: int) -> tuple:
        """The model of a phase as steps take it, and what its columns have: (W|1, packs) of each slot."""
        if k not in self._known:
            s = self._stepper
            model, arena = s.stated(self._phases[k].model), Arena(s.device, s.model.n_worlds)
            s.lay_out(model, arena)
            columns = [values.reshape(len(values), -1) for _, values in arena.pending]
            pairs = zip(self._first, columns, strict=True)
            changed = [(one != other).any(axis=0) for one, other in pairs]
            self._changed |= np.concatenate([np.zeros(0, bool), *changed])
            self._known[k] = model, columns
        return self._known[k]

    def enter(self, began: np.ndarray) -> list[Event]:
        """Let worlds enter the phases whose time has come.

        Args:
            began: (W,), steps before each world began.
        """
        s, events = self._stepper, []
        while (due := self._steps[self.entered] + began <= s.n_steps).any():
            k = int(self.entered[due].min())
            events += self._enter(k, due & (self.entered == k), began)
        return events

    def _enter(self, k: int, worlds: np.ndarray, began: np.ndarray) -> list[Event]:
        """Let worlds enter phase k."""
        s, before = self._stepper, self._phase(k - 1)[0] if k else self._stepper.model
        model, columns = self._phase(k)
        others = self._beginnings.choose(worlds)
        move_account(s, leave_phase, self._calls.call)
        self._write(worlds, columns)
        move_account(s, enter_phase, self._calls.call)
        self.entered[worlds] += 1
        which = np.flatnonzero(worlds)
        some = "" if len(which) == len(worlds) else f" in {len(which)} world(s), the first of them {which[0]}"
        events = [
            Event(0, 0.0, int(which[0]) if len(which) == 1 and some else -1, "SC606", 0, -1, -1, 0.0, text + some)
            for text in self._phases[k].texts
        ]
        ends = [lambda: end_outside(s, before, model), lambda: end_open(s, before, model)]
        ends += [lambda: s.engine.enter(s, model)] if s.engine.enter else []
        events += self._ended(ends, worlds, int(s.n_steps - began[which[0]]))
        self._beginnings.give_back(others)
        return [replace(event, step=s.n_steps, time=s.n_steps * s.plan.dt) for event in events]

    def _ended(self, ends: list[Callable], worlds: np.ndarray, age: int) -> list[Event]:
        """Events of the worlds that end where a phase begins; the clock is their age for that long."""
        s, status, now = self._stepper, self._stepper.status, self._stepper.n_steps
        s.status, s.n_steps = np.where(worlds, status, _OF_OTHERS), age
        try:
            return [event for end in ends for event in end()]
        finally:
            s.status, s.n_steps = np.where(worlds, s.status, status), now

    def _write(self, worlds: np.ndarray, columns: list[np.ndarray]) -> None:
        """Write what phases have changed so far."""
        n = len(worlds)
        wide = np.concatenate([np.broadcast_to(column, (n, column.shape[1]))[worlds] for column in columns], axis=1)
        self._beginnings.set_columns(self._rows[self._changed], worlds, wide[:, self._changed])

    def begin(self, worlds: np.ndarray) -> bool:
        """Let worlds be before the first phase; whether some were not."""
        later = worlds & (self.entered > 0)
        if later.any():
            self._write(later, self._first)
            self.entered[later] = 0
        return bool(later.any())


def has_own_columns(stepper) -> bool:
    """Whether all that phases change has a number for each world."""
    if stepper.model.n_worlds == 1:
        return False
    for phase in stepper.phases:
        arena = Arena(stepper.device, stepper.model.n_worlds)
        stepper.lay_out(stepper.stated(phase.model), arena)
        pairs = zip(stepper.arena.tables, arena.tables, strict=True)
        if not all(np.array_equal(mine, other) for (_, mine), (_, other) in pairs):
            return False
    return True


def columns_with(stepper, model: Model) -> tuple[np.ndarray, np.ndarray] | None:
    """What columns with a number for each world have in the first one with a model, (packs), and their packs.

    Args:
        stepper: in whose arena they are.
        model: in the form of the steps, of the same layout.

    Returns:
        None if what worlds have in common is another.
    """
    arena = Arena(stepper.device, stepper.model.n_worlds)
    stepper.lay_out(stepper.stated(model), arena)
    pairs = zip(stepper.arena.tables, arena.tables, strict=True)
    if arena.layout != stepper.arena.layout or not all(np.array_equal(one, other) for (_, one), (_, other) in pairs):
        return None
    values = [values[0].reshape(-1).astype(stepper.device.dtype) for _, values in arena.pending]
    rows = [array.rows for array, _ in arena.pending]
    return np.concatenate([np.zeros(0), *values]), np.concatenate([np.zeros(0, int), *rows])


def change_columns(
    stepper, beginnings: Beginnings, calls: ReadyCalls, worlds: np.ndarray, rows: np.ndarray, values: np.ndarray
) -> None:
    """Let other numbers hold in some worlds; energy that is stored before and after counts as their input.

    Args:
        stepper: in whose arena they are.
        beginnings, calls: of it.
        worlds: (W,) bool.
        rows: (n,), packs of columns.
        values: (worlds, n), what is in them then.
    """
    others = beginnings.choose(worlds)
    move_account(stepper, leave_phase, calls.call)
    beginnings.set_columns(rows, worlds, values)
    move_account(stepper, enter_phase, calls.call)
    beginnings.give_back(others)
