"""States of a mechanism: what the commands on kinematics and dynamics compute with, from wherever they come.

A source has `n_states` states, says which fields it holds, and gives them out in portions, so that results of any size
are computed in bounded memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from simcli.errors import UsageError
from simcli.model.tables.table_base import Array

_Array = np.ndarray
SAME_TIME = 1e-9  # relative to the time itself: rounding of k dt, far below any step
_PLACES = ("time", "world", "frame")


@dataclass(frozen=True)
class States:
    """Some states, N of them.

    Attributes:
        time: [s], (N,), NaN where unknown.
        world: (N,), world of the batch.
        frame: (N,), frame of the run, or row of the table.
        values: field to array (N, ...), names and layouts of `records.contents.results.FIELDS`.
    """

    time: _Array
    world: _Array
    frame: _Array
    values: Mapping[str, _Array]

    def __len__(self) -> int:
        return len(self.world)

    def pick(self, which: _Array | slice) -> "States":
        """Some of them."""
        values = {name: array[which] for name, array in self.values.items()}
        return States(self.time[which], self.world[which], self.frame[which], values)


class StateSource(Protocol):
    """Where states come from.

    Attributes:
        where: one line for messages and files.
        n_states: number of states.
        fields: what each state holds.
        n_worlds: worlds that the states are numbered by.
        has_times: True if every state has a time.
        n_ended: states given out so far that are NaN, because their world had ended.
        notes: what the user should know about them.
    """

    where: str
    n_states: int
    fields: frozenset[str]
    n_worlds: int
    has_times: bool
    n_ended: int
    notes: list[str]

    def portions(self, n: int) -> Iterator[States]:
        """All states, about n at a time."""
        ...


@dataclass
class Held:
    """A source in memory.

    Attributes:
        is_numbered: False if nothing said which worlds the states are of; all then have the number 0.
    """

    where: str
    states: States
    n_worlds: int
    notes: list[str]
    is_numbered: bool = True
    n_ended = 0

    @property
    def has_times(self) -> bool:
        """True if every state has a time."""
        return bool(np.isfinite(self.states.time).all())

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def fields(self) -> frozenset[str]:
        """What each state holds."""
        return frozenset(self.states.values)

    def portions(self, n: int) -> Iterator[States]:
        """All states, n at a time."""
        for first in range(0, len(self.states), n):
            yield self.states.pick(slice(first, first + n))


@dataclass(frozen=True)
class Choice:
    """Which states of a source are wanted; None: all.

    Attributes:
        frames: START:STOP:STEP, as Python counts, or one number.
        at: [s], times of which there must be frames.
        worlds: numbers of worlds.
    """

    frames: str | None = None
    at: tuple[float, ...] = ()
    worlds: tuple[int, ...] | None = None

    @property
    def is_all(self) -> bool:
        """True if nothing is left out."""
        return self.frames is None and not self.at and self.worlds is None

    def of_times(self, time: _Array, where: str) -> _Array:
        """Indices of the wanted frames, rising as they were asked for.

        Args:
            time: [s], (F,).
            where: the source, for messages.

        Raises:
            UsageError: there is no such frame.
        """
        n = len(time)
        if self.frames is not None and self.at:
            raise UsageError("--frames and --at contradict each other: give one of them")
        if self.at:
            return np.array([_frame_at(time, t, where) for t in self.at], np.int64)
        if self.frames is None:
            return np.arange(n)
        found = frame_range(self.frames, n)
        if not len(found):
            raise UsageError(f"--frames {self.frames}: {where} has no such frame; it has {n}, numbered from 0")
        return np.asarray(found, np.int64)

    def of_worlds(self, n_worlds: int, where: str) -> _Array:
        """Numbers of the wanted worlds.

        Raises:
            UsageError: there is no such world.
        """
        if self.worlds is None:
            return np.arange(n_worlds)
        for world in self.worlds:
            if world >= n_worlds:
                raise UsageError(f"--world {world}: {where} has worlds 0 to {n_worlds - 1}")
        return np.array(self.worlds, np.int64)


def frame_range(text: str, n: int) -> range:
    """The frames that START:STOP:STEP or a single number means among n.

    Raises:
        UsageError: it is neither, or the step is not positive.
    """
    words = text.split(":")
    try:
        numbers = [int(word) if word.strip() else None for word in words]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2, 3) or numbers == [None]:
        raise UsageError(f"--frames {text}: write START:STOP, START:STOP:STEP, or one number")
    if len(numbers) == 1:
        return range(n)[numbers[0] : numbers[0] + 1 or None]
    if len(numbers) == 3 and numbers[2] is not None and numbers[2] < 1:
        raise UsageError(f"--frames {text}: the step is a whole number from 1 on")
    return range(n)[slice(*numbers)]


def _frame_at(time: _Array, t: float, where: str) -> int:
    if not np.isfinite(time).any():
        raise UsageError(f"--at {t:g}: the states of {where} have no times")
    k = int(np.nanargmin(np.abs(time - t)))
    if abs(time[k] - t) > SAME_TIME * max(abs(t), 1.0):
        below, above = time[time <= t], time[time >= t]
        near = " and ".join(f"{x:.9g}" for x in [*below[-1:], *above[:1]])
        raise UsageError(f"--at {t:g}: {where} has no frame at this time; the nearest are at {near} s")
    return k


def chosen_states(source: Held, choice: Choice) -> Held:
    """The wanted states of a source in memory.

    Raises:
        UsageError: there are none.
    """
    states = source.states
    if choice.is_all:
        return source
    if choice.worlds is not None:
        choice.of_worlds(source.n_worlds, source.where)
        keep = np.isin(states.world, choice.worlds)
        if not keep.any():
            raise UsageError(f"{source.where} has no state of world {', '.join(map(str, choice.worlds))}")
        states = states.pick(keep)
    if choice.at:
        order = [
            np.flatnonzero(np.abs(states.time - states.time[k]) == 0.0) for k in choice.of_times(states.time, source.where)
        ]
        states = states.pick(np.concatenate(order))
    elif choice.frames is not None:
        states = states.pick(choice.of_times(states.time, source.where))
    return replace(source, states=states)


def of_world(source: Held, choice: Choice, n_worlds: int) -> tuple[Held, Choice]:
    """States of a table without numbers of worlds, as those of the one world that is asked for.

    Args:
        source: the states.
        choice: which are wanted.
        n_worlds: worlds of the scene.

    Raises:
        UsageError: the scene has several worlds and none is named.
    """
    if source.is_numbered or n_worlds == 1:
        return source, choice
    if choice.worlds is None or len(choice.worlds) != 1:
        raise UsageError(
            f"{source.where}: has no column `world`, and the scene has worlds 0 to {n_worlds - 1}: say which "
            "one with --world I"
        )
    world = choice.of_worlds(n_worlds, "the scene")
    states = replace(source.states, world=np.full(len(source.states), world[0]))
    return replace(source, states=states, n_worlds=n_worlds), replace(choice, worlds=None)


def initial_states(joint_q: Array, joint_qd: Array, worlds: Sequence[int], where: str, n_worlds: int) -> Held:
    """The initial states of a scene.

    Args:
        joint_q: one row for all worlds, or one for each of `worlds`.
        joint_qd: one row for all worlds, or one for each of `worlds`.
        worlds: their numbers.
        where: the scene.
        n_worlds: worlds of the batch.
    """
    n = len(worlds)
    q, qd = (np.array(np.broadcast_to(a, (n, a.shape[1]))) for a in (joint_q, joint_qd))
    states = States(np.zeros(n), np.asarray(worlds, np.int64), np.zeros(n, np.int64), {"joint_q": q, "joint_qd": qd})
    return Held(f"the initial state of {where}", states, n_worlds, [])
