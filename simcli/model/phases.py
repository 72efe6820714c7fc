"""Phases of a run: the stretches between events, each a model of its own with the same structure."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np

from simcli.errors import Fault, SceneError
from simcli.model.from_scene import build_together, build_worlds
from simcli.model.phase_events import Switched, refuse_jump, with_crossings
from simcli.model.tables.model import Model, declared_columns
from simcli.model.tables.table_base import Changes
from simcli.model.tables.worlds import NO_WORLD_AXIS
from simcli.spec.base.nodes import locate
from simcli.spec.batches.world_values import PathColumn, n_worlds, path_column, taken_from, value_of_world, world_columns
from simcli.spec.checks.events import by_condition, events_are_tried, in_time, kinds_of_scenes, scenes_of_events
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.worlds import sections_made_of
from simcli.spec.passes import passes_of
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.varied import values_in_worlds

EARLY = 1e-6  # of a step: an event so little after the start of a step belongs to it, since times are rounded

# Columns that may differ between phases, by table and name; "" is the model itself. All others are structure.
_CHANGEABLE = {(table, name): one.changes for table, name, one in declared_columns() if one.changes is not Changes.NONE}
_START = ("joint_q", "joint_qd", "start", "drawing")  # of the first phase alone
_BATCH = ("n_worlds", "param_name", "param_unit", "param_value", "world_seed")  # of the batch


@dataclass(frozen=True)
class Phase:
    """What holds from an event on.

    Attributes:
        step: number of the first step that it is for.
        model: its tables.
        texts: what changed, a line per event.
    """

    step: int
    model: Model
    texts: tuple[str, ...]


def build_phases(
    document: Document, spec: SceneSpec, worlds: Sequence[int] | None = None, tries_all: bool = False
) -> list[Phase]:
    """Turn a scene into its phases, each with all its worlds.

    Args:
        document: the scene as written.
        spec: it resolved, without the values of any world.
        worlds: numbers of the worlds of the batch that are built; None builds all.
        tries_all: see `build_worlds`.

    Returns:
        At least one, by rising step; the first is for step 0, and the only one of a scene that the solver does not support.
        What is equal in all worlds of all phases has a world axis of length 1.

    Raises:
        SceneError: some world makes no mechanism, or an event changes more than numbers and flags.
    """
    first = build_worlds(document, spec, worlds, tries_all=tries_all)
    n_steps = round(spec.run.duration / spec.solver.dt)
    if not events_are_tried(document):
        return [Phase(0, first, ())]
    order = [index for index in in_time(spec) if first_step(spec.events[index].at, spec.solver.dt) < n_steps]
    build_later = _build_one_by_one if first.param_name else _build_together
    found = [Phase(0, first, ())]
    for index, model in zip(order, build_later(document, spec, worlds, first, order), strict=True):
        event = spec.events[index]
        step = first_step(event.at, spec.solver.dt)
        text = event.does()
        refuse_jump(document, index, event.at, found[-1].model, model)
        if found[-1].step == step:
            found[-1] = Phase(step, model, (*found[-1].texts, text))
        else:
            found.append(Phase(step, model, (text,)))
    changes = _crossing_changes(document, spec, worlds, first)
    models = aligned(with_crossings(document, spec, [phase.model for phase in found], changes))
    return [replace(phase, model=model) for phase, model in zip(found, models, strict=True)]


def _crossing_changes(document: Document, spec: SceneSpec, worlds: Sequence[int] | None, first: Model) -> list[Switched]:
    """What each value that an event by condition sets changes at the start."""
    found, crossed = [], by_condition(spec)
    sets = _sets_of_worlds(document, spec, worlds) if crossed else []
    for index in crossed:
        for path in spec.events[index].set:
            other = started_from(_built(document, spec, worlds, {path: sets[index][path]}), first)
            found.append((index, path, other, differences(first, other)))
    return found


def _build_one_by_one(
    document: Document, spec: SceneSpec, worlds: Sequence[int] | None, first: Model, order: list[int]
) -> list[Model]:
    """The model after each event, where the worlds of a batch differ."""
    sets, models = _sets_of_worlds(document, spec, worlds), []
    held: dict[str, PathColumn] = {}
    for index in order:
        for path in sets[index]:  # what is set last counts, also of a list and one of its numbers
            held.pop(path, None)
        held |= sets[index]
        model = started_from(_built(document, spec, worlds, held), first)
        _refuse_structure(document, index, spec.events[index].set, fixed_differences(first, model))
        models.append(model)
    return models


def _built(document: Document, spec: SceneSpec, worlds: Sequence[int] | None, values: dict[str, PathColumn]) -> Model:
    """The model with other values, in every world or one for all."""
    if all(len(column) == 1 for column in values.values()):
        return build_worlds(document, spec, worlds, {path: value_of_world(column, 0) for path, column in values.items()})
    return build_worlds(document, spec, worlds, each=values)


def _sets_of_worlds(document: Document, spec: SceneSpec, worlds: Sequence[int] | None) -> list[dict[str, PathColumn]]:
    """What each event sets, in each world; one value for all where nothing varies that expressions of events may use."""
    columns = world_columns(spec)
    if "events" not in sections_made_of(document, columns):
        return [{path: [value] for path, value in event.set.items()} for event in spec.events]
    numbers = list(range(n_worlds(spec)) if worlds is None else worlds)
    chosen = {path: taken_from(column, np.array(numbers)) for path, column in columns.items()}
    found = [{path: [None] * len(numbers) for path in event.set} for event in spec.events]
    for one in itertools.chain.from_iterable(passes_of(document, chosen, numbers)):
        for held, event in zip(found, one.spec.events, strict=True):
            for path, value in event.set.items():
                for k, own in zip(one.worlds.tolist(), values_in_worlds(value, len(one.worlds)), strict=True):
                    held[path][k] = own
    return [{path: path_column(values) for path, values in held.items()} for held in found]


def _build_together(
    document: Document, spec: SceneSpec, worlds: Sequence[int] | None, first: Model, order: list[int]
) -> list[Model]:
    """The model after each event, where worlds are alike: scenes that differ in numbers are built as worlds are."""
    scenes = scenes_of_events(document)
    groups: dict[object, list[int]] = {}
    for index, kind in zip(order, kinds_of_scenes(spec, scenes, order), strict=True):
        groups.setdefault(kind, []).append(index)
    models: dict[int, Model] = {}
    for indices in groups.values():
        together = started_from(build_together(document, [scenes[index] for index in indices]), first)
        together = replace(together, **{name: getattr(first, name) for name in _BATCH})
        _refuse_structure(document, indices[0], spec.events[indices[0]].set, fixed_differences(first, together))
        changed = differences(first, together)
        for k, index in enumerate(indices):
            models[index] = _row(first, together, k if len(indices) > 1 else None, changed)
    return [models[index] for index in order]


def representatives(model: Model, phases: Sequence[Phase]) -> list[Phase]:
    """Phases that stand for all as far as the structure of a solver goes: the first, and those with another pattern.

    The pattern is what numbers are zero, negative or infinite, and the very values of columns that are no plain numbers.

    Args:
        model: before the first of them.
        phases: what events change, by rising step.
    """
    seen, found = {_pattern(model, model)}, list(phases[:1])
    for phase in phases:
        pattern = _pattern(model, phase.model)
        if pattern not in seen:
            seen.add(pattern)
            found += [phase] if phase is not phases[0] else []
    return found


def _pattern(model: Model, other: Model) -> tuple:
    """What the layout of a solver may depend on, of the columns in which a model is not the very same as another one."""
    found = []
    for (table, name), changes in _CHANGEABLE.items():
        one, two = (getattr(m, table) if table else m for m in (model, other))
        column = getattr(two, name, None)
        if column is getattr(one, name, None):
            continue
        is_number = isinstance(column, np.ndarray) and column.dtype.kind == "f" and changes is Changes.NUMBERS
        parts = (np.sign(column), np.isfinite(column)) if is_number else (np.asarray(column),)
        found.append((table, name, *(part.tobytes() for part in parts)))
    return tuple(found)


def first_step(at: float, dt: float) -> int:
    """The first step that starts at a time or after it: k dt >= at, up to rounding.

    Args:
        at: [s].
        dt: [s].
    """
    return max(0, math.ceil(at / dt - EARLY))


def started_from(model: Model, first: Model) -> Model:
    """A later phase, with the initial state of the first one; nobody reads its own."""
    given = {name: getattr(first.dofs, name) for name in ("q_given", "qd_given")}
    rests = {}
    for table in ("springs", "ropes"):
        now, before = (getattr(one, table).rest_length for one in (model, first))
        rests[table] = replace(getattr(model, table), rest_length=np.where(np.isnan(now), before, now))
    return replace(
        model,
        dofs=replace(model.dofs, **given),
        **rests,
        bushings=replace(model.bushings, rest=first.bushings.rest),
        **{name: getattr(first, name) for name in _START},
    )


def _refuse_structure(document: Document, index: int, changes: dict[str, object], changed: list[str]) -> None:
    if not changed:
        return
    faults = []
    for path in changes:
        message = f"an event cannot set `{path}`: that changes {', '.join(f'`{name}`' for name in changed[:3])}"
        where = locate(document.expanded, ["events", index, "set", path], on_key=True)
        faults.append(Fault("SC316", message, where, "events set numbers and flags of what acts during the run"))
    raise SceneError(faults, document)


def fixed_differences(first: Model, other: Model) -> list[str]:
    """Columns in which two models differ, and that no event may change."""
    found = [(table, name) for table, name in differences(first, other) if (table, name) not in _CHANGEABLE]
    return [".".join(filter(None, one)) for one in found]


def _row(first: Model, together: Model, k: int | None, changed: list[tuple[str, str]]) -> Model:
    """The model of one world, None for the only one, with all that has not changed from the first phase."""
    update: dict[str, dict] = {}
    for table, name in changed:
        owner, before = (getattr(together, table), getattr(first, table)) if table else (together, first)
        column = getattr(owner, name)
        if k is not None and name not in NO_WORLD_AXIS and len(column) > max(len(getattr(before, name)), 1):
            column = column[k : k + 1]
        update.setdefault(table, {})[name] = column
    return with_columns(first, update)


def differences(first: Model, other: Model) -> list[tuple[str, str]]:
    """(table, column) in which two models differ."""
    return [(table, name) for table, name, a, b in model_columns(first, other) if not _same(a, b)]


def model_columns(*models: Model):
    """(table, column, value in each model)."""
    for one in fields(Model):
        values = [getattr(model, one.name) for model in models]
        if is_dataclass(values[0]):
            for column in fields(values[0]):
                yield one.name, column.name, *(getattr(value, column.name) for value in values)
        else:
            yield "", one.name, *values


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray):
        same_shape = a.shape == b.shape or (a.shape[1:] == b.shape[1:] and 1 in (len(a), len(b)))
        return bool(same_shape and np.array_equal(*np.broadcast_arrays(a, b), equal_nan=a.dtype.kind == "f"))
    if isinstance(a, tuple) and a and isinstance(a[0], np.ndarray):
        return len(a) == len(b) and all(map(_same, a, b))
    return a == b


def aligned(models: list[Model]) -> list[Model]:
    """Models whose columns have a world axis of full length in all of them or in none, so that tables are laid out alike."""
    updates: list[dict] = [{} for _ in models]
    for table, name, *values in model_columns(*models):
        lengths = {len(value) for value in values if isinstance(value, np.ndarray) and value.ndim}
        if len(lengths) < 2 or name in NO_WORLD_AXIS:
            continue
        for update, value in zip(updates, values, strict=True):
            full = np.broadcast_to(value, (max(lengths), *value.shape[1:])).copy()
            full.setflags(write=False)
            update.setdefault(table, {})[name] = full
    return [with_columns(model, update) if update else model for model, update in zip(models, updates, strict=True)]


def widened(models: list[Model]) -> list[Model]:
    """Models of phases in which what they change has a number for each world, so that worlds may enter them one by one."""
    n = models[0].n_worlds
    found = {one for other in models[1:] for one in differences(models[0], other) if one[1] not in NO_WORLD_AXIS}
    updates = []
    for model in models:
        update: dict[str, dict] = {}
        for table, name in found:
            value = getattr(getattr(model, table) if table else model, name)
            update.setdefault(table, {})[name] = np.broadcast_to(value, (n, *value.shape[1:])).copy()
        updates.append(update)
    return aligned([with_columns(model, update) for model, update in zip(models, updates, strict=True)])


def with_columns(model: Model, update: dict[str, dict]) -> Model:
    """A model with other columns, by table and name; "" for those of the model itself."""
    tables = {table: replace(getattr(model, table), **columns) for table, columns in update.items() if table}
    return replace(model, **tables, **update.get("", {}))
