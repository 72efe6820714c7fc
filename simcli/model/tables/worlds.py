"""Numbers of many worlds: one array per quantity, with a world axis only where the worlds differ; models joined and parted.

Models of one structure, each of some worlds, become one model of all of them, and a model that of some of its worlds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np

from simcli.errors import Fault, SceneError, Where
from simcli.model.tables.model import Array, Model, declared_columns
from simcli.model.tables.table_base import kept
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


# The float columns that all worlds share by definition.
NO_WORLD_AXIS = frozenset(
    name for _, name, one in declared_columns() if one.kind is float and one.axes[0] != "W|1" and not one.is_ragged
)


def join(pieces: list[Model], order: Array, skip: int = 0) -> Model:
    """Put models behind each other along the world axis.

    Args:
        pieces: the same index tables and names; a column without world axis has the same values in all of them.
        order: (W,) of the worlds, by their places in all pieces.
        skip: leading worlds of each piece that are left out.

    Returns:
        The model of all remaining worlds.
    """
    counts = [piece.n_worlds for piece in pieces]
    return _join(pieces, counts, None if (order == np.arange(len(order))).all() else order, skip)


def _join(pieces: list[Any], counts: list[int], order: Array | None, skip: int) -> Any:
    values = {}
    for column in fields(pieces[0]):
        parts = [getattr(piece, column.name) for piece in pieces]
        if is_dataclass(parts[0]):
            values[column.name] = _join(parts, counts, order, skip)
        elif column.name == "n_worlds":
            values[column.name] = sum(counts) - skip * len(counts)
        elif column.name in ("param_value", "world_seed") or has_world_axis(column.name, parts[0]):
            values[column.name] = _column(parts, counts, order, skip)
        else:
            values[column.name] = parts[0]
    return type(pieces[0])(**values)


def model_of_worlds(model: Any, worlds: Array) -> Any:
    """The model of some of its worlds.

    Args:
        model: or a table of it.
        worlds: (n,), their numbers.
    """
    values = {
        name: model_of_worlds(value, worlds) if is_dataclass(value) else value[worlds]
        for name, value in _columns_of_worlds(model)
    }
    if hasattr(model, "n_worlds"):
        values["n_worlds"] = len(worlds)
    return replace(model, **values)


@kept
def _columns_of_worlds(model: Any) -> list[tuple[str, Any]]:
    """Columns of a model, or of a table of it, in which worlds differ, and its tables with such columns."""
    found = []
    for column in fields(model):
        value = getattr(model, column.name)
        if is_dataclass(value):
            differs = bool(_columns_of_worlds(value))
        else:
            is_own = column.name in ("param_value", "world_seed") or has_world_axis(column.name, value)
            differs = is_own and len(value) > 1
        if differs:
            found.append((column.name, value))
    return found


def has_world_axis(name: str, value: Any) -> bool:
    """Whether a column of a table has a world axis, of length 1 where all worlds agree."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and name not in NO_WORLD_AXIS


def _column(parts: list[Array], counts: list[int], order: Array | None, skip: int) -> Array:
    if all(len(part) == 1 and count > 1 for part, count in zip(parts, counts, strict=True)):
        return parts[0]
    full = [np.broadcast_to(part, (count, *part.shape[1:]))[skip:] for part, count in zip(parts, counts, strict=True)]
    joined = np.concatenate(full) if order is None else np.concatenate(full)[order]
    joined.setflags(write=False)
    return joined
