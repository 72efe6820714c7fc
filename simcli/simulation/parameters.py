"""Numbers of a scene that a program sets while it runs, by dotted path, the same for all worlds or one for each.

What is set is what an event of the scene could set, by the same rules (model/phases.py): numbers and flags of what
acts during the run. Which of them will be set is told when the simulation opens, because memory is laid out for them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simcli.errors import SceneError, UsageError
from simcli.job import Job
from simcli.model.from_scene import build_together, build_worlds
from simcli.model.phase_events import HINT, jump_between
from simcli.model.phases import aligned, differences, fixed_differences, started_from, with_columns
from simcli.model.signals.controlled import with_controls
from simcli.model.tables.model import Model
from simcli.model.tables.worlds import NO_WORLD_AXIS
from simcli.model.unread import unread_paths, why_unread
from simcli.spec.base.nodes import parse_path
from simcli.spec.batches.world_values import path_column, taken_from, value_of_world, values_of_world, world_columns
from simcli.spec.checks.events import fixed_part
from simcli.spec.lookup.scene_values import value_at
from simcli.spec.resolve import resolve_world

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


_TRIED = (1.01, 0.99)  # factors that show which columns depend on a number, and that a scene may have
_SMALL = 1e-3  # in place of zero
_SHARED = "SC455"  # the fault of what differs between worlds and must not


class Parameters:
    """What can be set, and what has been.

    Args:
        job: of the simulation, its model as the scene makes it.
        paths: dotted paths that will be set.
        controls: joints of `with_controls`.

    Attributes:
        values: (W, ...) by path, as they are now.

    Raises:
        UsageError: a path that is not there, or that no event may set; a scene with events.
    """

    def __init__(self, job: Job, paths: Iterable[str], controls: tuple[str, ...]):
        self.job, self.paths, self._controls = job, tuple(paths), controls
        self._written = {path: taken_from(column, np.array(job.numbers)) for path, column in world_columns(job.spec).items()}
        self.values: dict[str, np.ndarray] = {}
        self._columns: dict[str, ParameterColumns] = {}
        self._behind: dict[str, None] = {}  # whose values the model at hand has not yet, in order
        if self.paths and job.phases:
            raise UsageError("`vary` with a scene that has events: both set numbers while it runs; take the events out")
        if unread := unread_paths(job.document, job.spec, self.paths):
            raise UsageError(f"vary: `{unread[0]}` has no effect: {why_unread(unread[0])}")
        for path in self.paths:
            value = self._value(path)
            column = self._written.get(path)
            self.values[path] = np.array([value] * job.model.n_worlds) if column is None else np.array(column)

    def _value(self, path: str) -> Any:
        """What the scene says of the first world."""
        steps = parse_path(path)
        if not steps:
            raise UsageError(f"vary: `{path}` is no path; write one as joints.pin.damping")
        if fixed := fixed_part(steps):
            raise UsageError(f"vary: `{path}` cannot be set while it runs: that changes {fixed}")
        column = self._written.get(path)
        value = value_at(self.job.spec, steps) if column is None else value_of_world(column, 0)
        if not _has_numbers(value):
            raise UsageError(f"vary: `{path}` is no number that the scene writes; write one there first")
        return value

    def laid_out(self, model: Model) -> tuple[Model, Model | None]:
        """The model with numbers per world where they will be set, and one that stands for what may be set.

        Args:
            model: of the simulation.
        """
        if not self.paths:
            return model, None
        base = {path: values[0].tolist() for path, values in self.values.items()}
        alike = self._finished(build_together(self.job.document, [self._scene(base)] * 2), 2)
        found: dict[str, dict[str, np.ndarray]] = {}
        for other in self._others(base):
            together = self._finished(self._side_by_side(base, other), 2)
            for table, name in differences(alike, together):
                if name not in NO_WORLD_AXIS:
                    column, own = _column(together, table, name), found.setdefault(table, {})
                    own[name] = np.where(column[1:2] != column[:1], column[1:2], own.get(name, column[:1]))
        row = with_columns(model, found)
        self._refuse(model, row, ", ".join(f"`{path}`" for path in self.paths))
        each = {(table, name): _column(model, table, name) for table, names in found.items() for name in names}
        many: dict[str, dict[str, np.ndarray]] = {table: {} for table in found}
        for (table, name), column in each.items():
            many[table][name] = np.broadcast_to(column, (model.n_worlds, *column.shape[1:])).copy()
        wide = with_columns(model, many)
        wide, row = aligned([wide, row])
        return wide, row

    def _side_by_side(self, base: dict[str, object], other: Any) -> Model:
        """A world with the numbers of the scene, and one with others."""
        try:
            return build_together(self.job.document, [self._scene(base), other])
        except SceneError as error:
            fault = error.faults[0]
            if fault.code != _SHARED:
                raise
            raise UsageError(
                f"vary: {fault.message}, which it must not: one number or flag holds for all of them; leave "
                "it out of `vary`, and let an event of the scene set it"
            ) from None

    def _scene(self, values: dict[str, object]) -> Any:
        return resolve_world(self.job.document, {**values_of_world(self._written, 0), **values}, self.job.numbers[0])

    def _others(self, base: dict[str, object]) -> list[Any]:
        """Scenes in which all that may be set is another number, and no zero; flags that bar each other one by one."""
        flags = [path for path, value in base.items() if isinstance(value, bool)]
        for kept in ([()], [[other for other in flags if other != flag] for flag in flags]):
            for factor in _TRIED:
                moved = {path: _moved(value, factor) for path, value in base.items()}
                try:
                    found = [self._scene(moved | {path: base[path] for path in some}) for some in kept]
                except SceneError as error:
                    failed = error
                else:
                    if found:
                        return found
        raise UsageError(f"vary: the scene is invalid with slightly changed numbers: {failed}")

    def _finished(self, model: Model, n_worlds: int) -> Model:
        own = replace(model, n_worlds=n_worlds)
        return with_controls(started_from(own, replace(self.job.model, n_worlds=n_worlds)), self._controls)

    def model_with(
        self, given: Mapping[str, np.ndarray], now: Model, takes: Callable[[Model], bool], time: float | None = None
    ) -> Model:
        """The model with other numbers at some paths; the values are these from now on.

        Args:
            given: (W, ...), by path of `paths`.
            now: model that holds.
            takes: whether there is room for the tables of a model.
            time: [s], at which no prescribed position may jump; None where they may.

        Raises:
            UsageError: they change what cannot change while it runs, there is no room for them, or a prescribed position
                jumps.
            SceneError: they make no scene.
        """
        wanted, named = {**self.values, **given}, ", ".join(f"`{path}`" for path in given)
        each = {name: path_column(one.tolist()) for name, one in wanted.items()}
        built = build_worlds(self.job.document, self.job.spec, self.job.request.worlds, each=each)
        built = self._finished(built, now.n_worlds)
        self._refuse(now, built, named)
        if time is not None and (jump := jump_between(time, now, built)):
            raise UsageError(f"set {named}: {jump}; {HINT}")
        found = aligned([now, built])[1]
        if not takes(found):
            raise UsageError(
                f"set {named}: no memory was laid out for such values when the simulation opened: open it with "
                f"one of them in the scene, as by sets=['{next(iter(given))}=...']: then there is room for it"
            )
        self.values = wanted
        return found

    def with_values(self, path: str, given: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """Values of all worlds, (W, ...), with those that are given, (n, ...), in some, (n,)."""
        values = self.values[path].copy()
        values[worlds] = given
        return values

    def note_written(self, path: str, values: np.ndarray) -> None:
        """Values, (W, ...), that stand in columns of the device, and that `caught_up` will give the model."""
        self.values = {**self.values, path: values}
        self._behind.pop(path, None)
        self._behind[path] = None

    def caught_up(self, model: Model) -> Model:
        """A model with all values that were written since the last one."""
        for path in self._behind:
            model = self._columns[path].model_with(model, self.values[path])
        self._behind.clear()
        return model

    def hold(self, values: Mapping[str, np.ndarray]) -> None:
        """Take the values of a snapshot, whose model has them."""
        self.values = dict(values)
        self._behind.clear()

    def columns_of(self, path: str, now: Callable[[], Model], lay_out: Callable) -> ParameterColumns | None:
        """Where the numbers of a path stand; None of flags.

        Args:
            path: of `paths`.
            now: gives the model that holds.
            lay_out: as of `ParameterColumns`.
        """
        values = self.values[path]
        if values.dtype.kind != "f":
            return None
        if path not in self._columns:
            base = {name: one[0].tolist() for name, one in self.values.items()}
            build = lambda value: self._finished(  # noqa: E731
                build_together(self.job.document, [self._scene({**base, path: value.tolist()})]), 1
            )
            self._columns[path] = ParameterColumns(values[0], build, lay_out, now())
        return self._columns[path]

    def _refuse(self, now: Model, model: Model, named: str) -> None:
        if found := fixed_differences(now, model):
            raise UsageError(f"{named} cannot be set while it runs: that changes {', '.join(found[:3])}")


def _has_numbers(value: Any) -> bool:
    """Whether a value is a number or a flag, or a list of them."""
    return all(map(_has_numbers, value)) if type(value) in (list, tuple) else isinstance(value, bool | int | float)


def _moved(value: Any, factor: float) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, list | tuple):
        return [_moved(one, factor) for one in value]
    return value * factor if value else _SMALL
