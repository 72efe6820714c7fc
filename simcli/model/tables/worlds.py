"""Numbers out of many scenes at once: one array per quantity, with a world axis only where the worlds differ."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcli.errors import Fault, SceneError, Where
from simcli.model.tables.model import Array
from simcli.spec.passes import ScenePass, part_of_worlds
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.quantities import is_signal
from simcli.spec.values.varied import DivergedError, stacked_numbers


@dataclass
class Worlds:
    """The scenes of all worlds, and the faults found while they are read.

    Attributes:
        passes: they differ in numbers only; the worlds of one that holds several are read at once.
        first: the scene of world 0.
        where: place of a dotted path, or None.
        faults: found so far.
    """

    passes: list[ScenePass]
    first: SceneSpec
    where: Callable[[str], Where | None]
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self):
        self.n_worlds = sum(len(one.worlds) for one in self.passes)

    def fault(self, code: str, path: str, message: str, hint: str = "") -> None:
        """Note a fault.

        Args:
            code: rule code.
            path: dotted path of the value.
            message: what is wrong.
            hint: what to do.
        """
        self.faults.append(Fault(code, message, self.where(path), hint))

    def raise_faults(self) -> None:
        """Raise SceneError if there are faults."""
        if self.faults:
            raise SceneError(self.faults)

    def each(self, get: Callable[[SceneSpec], Any]) -> Iterator[tuple[Any, Array]]:
        """What is read from the scenes, with the worlds that it is of.

        Args:
            get: reads it from a scene; where it asks numbers that differ between worlds what not all answer alike, it is
                called again for each group of worlds.
        """
        waiting = [(one.spec, one.worlds) for one in reversed(self.passes)]
        while waiting:
            spec, worlds = waiting.pop()
            try:
                found = get(spec)
            except Exception as error:  # code that takes no number but plain ones
                if len(worlds) == 1:
                    raise
                groups = _groups(len(worlds), error.mask if isinstance(error, DivergedError) else None)
                waiting += [(part_of_worlds(spec, group), worlds[group]) for group in reversed(groups)]
            else:
                yield found, worlds

    def numbers(self, get: Callable[[SceneSpec], object], shape: tuple[int, ...] = ()) -> Array:
        """One quantity of all worlds.

        Args:
            get: reads it from a scene: a number or nested sequence of numbers, always of the same shape.
            shape: that shape.

        Returns:
            (W, *shape), or (1, *shape) if all worlds agree.
        """
        if self.n_worlds == 1:
            return np.array(get(self.first), dtype=float).reshape(1, *shape)
        found = list(self.each(get))
        if self._one_by_one(found):
            return _table([value for value, _ in found], shape)
        return self.joined([(stacked_numbers(value, shape), worlds) for value, worlds in found])

    def columns(self, get: Callable[[SceneSpec], list], count: int, shape: tuple[int, ...] = ()) -> list[Array]:
        """One quantity of many things in all worlds, each as `numbers` gives it.

        Args:
            get: reads it from a scene: a list with an entry per thing, numbers or nested sequences of one shape.
            count: how many things there are.
            shape: of one entry.

        Returns:
            Of each thing (W, *shape), or (1, *shape) if all worlds agree on it.
        """
        if self.n_worlds == 1:
            return list(np.array(get(self.first), dtype=float).reshape(count, 1, *shape))
        found = list(self.each(get))
        if self._one_by_one(found):
            table = _table([value for value, _ in found], (count, *shape)).swapaxes(0, 1)
            return list(table) if table.shape[1] == 1 else [one[:1] if (one == one[:1]).all() else one for one in table]
        return [self.joined([(stacked_numbers(value[k], shape), worlds) for value, worlds in found]) for k in range(count)]

    def _one_by_one(self, found: list[tuple[Any, Array]]) -> bool:
        """Whether what was read is plain numbers of one world each."""
        return len(found) == self.n_worlds

    def joined(self, pieces: list[tuple[Array, Array]]) -> Array:
        """Numbers of groups of worlds as those of all, (W, ...), or (1, ...) where they agree.

        Args:
            pieces: numbers, (n | 1, ...), and the n worlds that they are of.
        """
        first = pieces[0][0]
        if all(len(one) == 1 and np.array_equal(one, first, equal_nan=True) for one, _ in pieces):
            return first
        if len(pieces) == 1:
            return first
        found = np.empty((self.n_worlds, *first.shape[1:]))
        for one, worlds in pieces:
            found[worlds] = one
        return found

    def common(self, get: Callable[[SceneSpec], object], path: str) -> object:
        """A value that must not differ between worlds.

        Args:
            get: reads it from a scene.
            path: its dotted path.

        Returns:
            That of world 0; a fault is noted if another world has another one.
        """
        first = get(self.first)
        if self.n_worlds > 1 and not all(same for same, _ in self.each(lambda spec: get(spec) == first)):
            hint = "batch.vary changes numbers, not the structure"
            self.fault("SC455", path, f"`{path}` differs between worlds", hint)
        return first


def _table(values: list[Any], shape: tuple[int, ...]) -> Array:
    """Numbers of one world each, (W, *shape), or (1, *shape) if they agree."""
    first = values[0]
    if all(value == first for value in values[1:]):
        return np.array(values[:1], dtype=float).reshape(1, *shape)
    table = np.array(values, dtype=float).reshape(-1, *shape)
    return table[:1] if ((table == table[:1]) | (np.isnan(table) & np.isnan(table[:1]))).all() else table


def _groups(n: int, mask: Array | None) -> list[Array]:
    """Places of n worlds in two groups, or each by itself."""
    if mask is None:
        return list(np.arange(n)[:, None])
    return [np.flatnonzero(mask), np.flatnonzero(~mask)]


def worlds_of(specs: list[SceneSpec], where: Callable[[str], Where | None]) -> Worlds:
    """Worlds of one scene each."""
    return Worlds([ScenePass(spec, np.array([k])) for k, spec in enumerate(specs)], specs[0], where)


def pose_of(worlds: Worlds, get) -> Array:
    """Pose of all worlds.

    Args:
        worlds: the scenes.
        get: reads a PoseSpec from a scene.

    Returns:
        [m, 1], (W|1, 7).
    """
    return worlds.numbers(lambda s: (*get(s).xyz, *get(s).quat_xyzw), (7,))


def constant_part(value: float | str) -> float:
    """A number of a scene that a signal may drive; 0 where one does."""
    return 0.0 if is_signal(value) else value
