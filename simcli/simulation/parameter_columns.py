"""Where the numbers of a parameter stand, in tables and on the device, so that setting it writes them there.

Nothing says which columns follow from a path. It is found by trying: the scene is built with the number and with others, of
each sign that it may have, and the parameter has columns of its own if all that differs is these numbers themselves. Else,
and for numbers beyond all that were built and checked before, the tables are built anew.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simcli.errors import SceneError
from simcli.model.phases import differences, with_columns
from simcli.model.tables.model import Model

# Tables, and columns of dofs, at whose change more is done than numbers are written: worlds may end, or positions jump.
_WATCHED = {"motions", "signals", "feedback", "inputs", "contacts", "joints", "limit_lower", "limit_upper"}
_FACTORS = (1.01, 0.0, -1.0)  # of the number that is there; a zero, and another sign, may be something else to a scene
_TINY = 1e-3  # in place of zero


@dataclass(frozen=True)
class _Place:
    """Numbers of a column of the model.

    Attributes:
        table, name: of the column.  entry: (n,), flat, of its numbers.  component: (n,), of the parameter, which they are.
    """

    table: str
    name: str
    entry: np.ndarray
    component: np.ndarray


class ParameterColumns:
    """Where the numbers of one parameter stand.

    Args:
        value: (...), of a world.
        build: gives a model of one world with another value.
        lay_out: gives what columns of the device have with a model, (packs), and their numbers.
        wide: the model of all worlds.

    Attributes:
        signs: of numbers that stand there as they are; none if the parameter has no columns of its own.
        rows: packs of the device.
    """

    def __init__(self, value: np.ndarray, build: Callable, lay_out: Callable, wide: Model):
        self.signs: set[float] = set()
        self._low, self._high = np.full(value.size, np.inf), np.full(value.size, -np.inf)
        self._places: list[_Place] = []
        self.rows = self._component = np.zeros(0, int)
        first = np.where(value == 0.0, _TINY, value).astype(float).reshape(-1)
        first = first * (1.0 + 1e-3 * np.arange(len(first)))  # no two alike
        for factor in _FACTORS:
            other = first * factor if factor else np.where(np.arange(len(first)) == 0, 0.0, first)
            try:
                models = [build(one.reshape(value.shape)) for one in (first, other)]
            except SceneError:
                continue
            self._compare(first, other, models, lay_out, wide)

    def _compare(self, first: np.ndarray, other: np.ndarray, models: list[Model], lay_out: Callable, wide: Model) -> None:
        """Learn from two values, whether the second one stands where the first does, as it is."""
        found = differences(*models)
        if not found or _WATCHED & {word for pair in found for word in pair}:
            return
        places = []
        for table, name in found:
            column = [np.ravel(_column(model, table, name)) for model in models]
            if column[0].dtype.kind != "f" or column[0].shape != column[1].shape:
                return
            if len(_column(wide, table, name)) != wide.n_worlds:
                return  # worlds have it in common
            entry = np.flatnonzero(column[0] != column[1])
            component = _which(first, other, column[0][entry], column[1][entry])
            if component is None:
                return
            places.append(_Place(table, name, entry, component))
        mine = [lay_out(self._with(wide, places, np.broadcast_to(one, (wide.n_worlds, len(one))))) for one in (first, other)]
        if mine[0] is None or mine[1] is None or mine[0][0].shape != mine[1][0].shape:
            return
        (before, rows), (after, _) = mine
        changed = np.flatnonzero(before != after)
        component = _which(first.astype(before.dtype), other.astype(before.dtype), before[changed], after[changed])
        is_same = not self.signs or (len(self._places) == len(places) and np.isin(rows[changed], self.rows).all())
        if component is not None and is_same:
            if not self.signs:
                self._places, self.rows, self._component = places, rows[changed], component
            self.signs |= set(np.sign(other).tolist()) | set(np.sign(first).tolist())

    def _with(self, model: Model, places: list[_Place], values: np.ndarray) -> Model:
        """The model of all worlds with values, (W, components)."""
        update: dict[str, dict] = {}
        for place in places:
            column = _column(model, place.table, place.name)
            new = column.reshape(len(column), -1).copy()
            new[:, place.entry] = values[:, place.component]
            update.setdefault(place.table, {})[place.name] = new.reshape(column.shape)
        return with_columns(model, update)

    def has(self, values: np.ndarray) -> bool:
        """Whether values, (n, ...), may be written: their signs are known, and they are among what was checked."""
        flat = values.reshape(len(values), -1)
        within = bool((flat >= self._low).all() and (flat <= self._high).all())
        signs = {sign for sign, found in ((1.0, flat > 0), (0.0, flat == 0), (-1.0, flat < 0)) if found.any()}
        return bool(self.signs) and within and signs <= self.signs

    def note(self, values: np.ndarray) -> None:
        """Values, (W, ...), that a scene was built with and checked."""
        flat = values.reshape(len(values), -1)
        self._low, self._high = np.minimum(self._low, flat.min(axis=0)), np.maximum(self._high, flat.max(axis=0))

    def model_with(self, model: Model, values: np.ndarray) -> Model:
        """The model with values, (W, ...)."""
        return self._with(model, self._places, values.reshape(len(values), -1))

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """What `rows` have then, (n, rows)."""
        return values.reshape(len(values), -1)[:, self._component]


def _column(model: Model, table: str, name: str) -> np.ndarray:
    return getattr(getattr(model, table) if table else model, name)


def _which(first: np.ndarray, other: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray | None:
    """Components of a value that numbers are before and after a change, (n,); None if some are something else."""
    moved = np.flatnonzero(first != other)
    same = (before[:, None] == first[moved]) & (after[:, None] == other[moved])
    return moved[same.argmax(axis=1)] if len(before) and (same.sum(axis=1) == 1).all() else None
