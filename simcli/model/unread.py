"""Numbers of a scene that nothing reads: neither its model, nor an event, a signal, a sensor, a measure or what ends a run.

A path is read if other numbers at it make another model, in columns that somebody reads, at the start or after an event.
The numbers that are tried are not those of the run: they reach from a thousandth to hundredfold, so that a maximum or a
threshold does not hide who reads it. What events, measures, expectations and the end of a run say is read as it stands.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from simcli.errors import Fault, SceneError
from simcli.model.batch.join import NO_WORLD_AXIS
from simcli.model.from_scene import build_together
from simcli.model.phases.stretches import EARLY, model_columns
from simcli.model.tables import Array, Model
from simcli.spec.batches.batch import values_of_world, world_columns
from simcli.spec.batches.worlds import dependent_leaves
from simcli.spec.checks.runs.events import by_condition, events_are_tried, in_time
from simcli.spec.document.lookup import value_at
from simcli.spec.document.nodes import PathStep, find, format_path, locate, parse_path, plain
from simcli.spec.document.overrides import SET, overridden_path
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.expand import BEFORE_EXPANSION
from simcli.spec.expansion.starts import is_of_start
from simcli.spec.names.signal_readers import signals_read
from simcli.spec.resolve import resolve
from simcli.spec.schema.scene import SceneSpec

# Sections that are read as they stand.
_LOOKED_AT = ("events", "measure", "expect", "run", "sensors", "output", "solver", "batch")
_COMPARED = _LOOKED_AT[:-1]
_SILENT = ("name", "description", "look", "articulations", "keyframes", "params", "simcli")  # sections that no run reads
_WAYS = (lambda x, i: x * (1.013 + 0.007 * i) if x else 1e-3 * (i + 1), lambda x, i: 0.5 * x - 1e-3 * (i + 1) * (not x),
         lambda x, i: 3.0 * x + 0.1 * (i + 1), lambda x, i: -x, lambda x, i: 100.0 * x, lambda x, i: 1e-3 * x,
         lambda x, i: 0.0)  # fmt: skip
_NOT_ZERO = 0.37
_MOST_STRETCHES = 20  # after as many events a number is taken for one that is read
_Path = tuple[PathStep, ...]


def unread_paths(document: Document, spec: SceneSpec, paths: Iterable[str], typed: bool = False) -> list[str]:
    """Those of some paths whose numbers nothing reads.

    Args:
        document: the scene as written.
        spec: it resolved, without the values of any world.
        paths: dotted; one that leads to no number counts as read.
        typed: whether they are those of `--set`, over which others hold.
    """
    base = values_of_world(world_columns(spec), 0)
    targets = {path: _targets(document, spec, base, path) for path in dict.fromkeys(paths)}
    left = {path: found for path, found in targets.items() if found is not None}
    tried = {path for path, found in left.items() if not found}
    for stretch, numbers in _settings(document, spec, base):
        if not left:
            break
        try:
            first = resolve(document, {**numbers, **stretch})
        except SceneError:  # of a parameter that must be 0
            continue
        for way in _WAYS:
            trials = list(_trials(document, {**numbers, **stretch}, stretch, left, way, typed))
            tried |= {path for path, _ in trials}
            read = _read(document, first, trials)
            left = {path: found for path, found in left.items() if path not in read}
    return [path for path in left if path in tried]


def _settings(document: Document, spec: SceneSpec, base: dict[str, object]) -> Iterator[tuple[dict, dict]]:
    """What events have set, and the numbers of a world: of the first one, and with one parameter that is 0 there raised.

    Of two factors one may be 0 in the first world and hide who reads the other one.
    """
    zeros = [path for name, value in spec.params.items() if isinstance(value, int | float)
             and not base.get(path := f"params.{name}", value)]  # fmt: skip
    for stretch in _stretches(document, spec):
        yield stretch, base
        yield from ((stretch, base | {path: _NOT_ZERO}) for path in zeros)


def _targets(document: Document, spec: SceneSpec, base: Mapping[str, object], path: str) -> dict[str, object] | None:
    """The numbers that are tried for a path, by their own paths; None of one that is read as it stands, or is no number."""
    steps = parse_path(path)
    if steps is None or steps[0] in _LOOKED_AT:
        return None
    if steps[0] == "signals" and len(steps) > 1 and str(steps[1]) in set(spec.signals) - signals_read(spec):
        return {}
    found = {path: base[path]} if path in base else dict(_numbers(_value_of(document, spec, steps), steps))
    if steps[0] == "params" and len(steps) == 2:
        leaves = dependent_leaves(document.root, document.root.get("params"), {str(steps[1])})
        if leaves is not None and any(leaf[0] in _LOOKED_AT for leaf in leaves):
            return None
        for leaf in leaves or ():  # an expression may hide its parameter, as 0 * k
            if leaf[0] not in _SILENT and not is_of_start(leaf):
                found |= dict(_numbers(value_at(spec, leaf), leaf))
        return found if all(map(_is_number, found.values())) and (found or leaves == {}) else None
    return found or None


def _value_of(document: Document, spec: SceneSpec, steps: _Path) -> object:
    """What stands at a path: of templates the number as written, of all else that of the scene."""
    if steps[0] not in BEFORE_EXPANSION:
        return value_at(spec, steps)
    held, node = value_at(spec, steps), find(document.root, steps)
    return plain(node) if held is None and node is not None else held


def _is_number(value: object) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_is_number, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(value: object, steps: _Path) -> Iterator[tuple[str, object]]:
    """Numbers and lists of numbers at a path and below, by their paths."""
    if _is_number(value):
        yield format_path(steps), list(value) if isinstance(value, tuple) else value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _numbers(one, (*steps, key))
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            yield from _numbers(one, (*steps, index))
    else:
        for key in getattr(type(value), "model_fields", ()):
            yield from _numbers(getattr(value, key), (*steps, key))


def _stretches(document: Document, spec: SceneSpec) -> Iterator[dict[str, object]]:
    """What events have set at the start and after each of them."""
    if not events_are_tried(document):
        yield {}
        return
    sets: dict[str, object] = {}
    timed = [spec.events[index] for index in in_time(spec)]
    while timed and timed[0].at <= EARLY * spec.solver.dt:
        sets |= timed.pop(0).set
    yield dict(sets)
    for event in timed[:_MOST_STRETCHES]:
        sets |= event.set
        yield dict(sets)
    for index in by_condition(spec):
        yield dict(spec.events[index].set)


def _trials(document: Document, base: Mapping[str, object], stretch: Mapping[str, object],
            left: Mapping[str, dict[str, object]], way: Callable[[float, int], float], typed: bool,
) -> Iterator[tuple[str, SceneSpec]]:  # fmt: skip
    """Paths and scenes in which a number of theirs is another one, where that is a valid scene."""
    for path, targets in left.items():
        for target, value in targets.items():
            moved = [way(x, i) for i, x in enumerate(value)] if isinstance(value, list | tuple) else way(value, 0)
            try:
                yield path, resolve(document, {**base, target: moved, **stretch}, (target,) if typed else ())
            except SceneError:
                continue


def _read(document: Document, first: SceneSpec, trials: Sequence[tuple[str, SceneSpec]]) -> set[str]:
    """Paths of which another number makes another scene for who looks at a run, or another model."""
    seen = {path for path, one in trials if any(getattr(one, key) != getattr(first, key) for key in _COMPARED)}
    return seen | _differing(document, _as_read(first), [(path, _as_read(one)) for path, one in trials if path not in seen])


def _as_read(spec: SceneSpec) -> SceneSpec:
    """A scene without its signals that nothing reads, and without what acts on joints that do not act."""
    read = signals_read(spec)
    signals = {name: signal for name, signal in spec.signals.items() if name in read}
    joints = {name: joint if joint.enabled else joint.model_copy(update=_idle(joint)) for name, joint in spec.joints.items()}
    return spec.model_copy(update={"signals": signals, "joints": joints})


def _idle(joint) -> dict[str, object]:
    """What a joint that is disabled has of its own."""
    none = (0.0,) * len(joint.dof_kinds)
    return {"limit": None, "drive": None, "damping": none, "friction": none, "armature": none, "velocity_limit": None,
            "compliance": 0.0}  # fmt: skip


def _differing(document: Document, first: SceneSpec, trials: Sequence[tuple[str, SceneSpec]]) -> set[str]:
    """Paths whose scenes make another model, or none."""
    if not trials:
        return set()
    try:
        model = build_together(document, [first, *(one for _, one in trials)])
    except SceneError:
        if len(trials) == 1:  # what a model refuses is read
            return {trials[0][0]}
        half = len(trials) // 2
        return _differing(document, first, trials[:half]) | _differing(document, first, trials[half:])
    differs = _rows_that_differ(model, _shapes_looked_at(first, model))
    return {path for (path, _), is_other in zip(trials, differs[1:], strict=True) if is_other}


def _shapes_looked_at(spec: SceneSpec, model: Model) -> Array:
    """(S,) the shapes that a run looks at: those that can touch, with distances and range sensors all of them."""
    watched = spec.model_dump_json(include={"signals", *_LOOKED_AT})
    if spec.sensors or "distance." in watched:
        return np.ones(len(model.shapes.name), bool)
    return np.isin(np.arange(len(model.shapes.name)), model.contacts.touching if model.contacts is not None else [])


def _rows_that_differ(model: Model, looked_at: Array) -> Array:
    """(W,) whether a world has other numbers than the first one, in what a run looks at."""
    found = np.zeros(model.n_worlds, bool)
    for table, name, column in model_columns(model):
        if not _has_world_axis(model, name, column):
            continue
        if table == "shapes":  # their masses are those of bodies, and drawings do not count
            column = column[:, looked_at]
        same = (column == column[:1]) | (np.isnan(column) & np.isnan(column[:1]))
        found |= ~same.reshape(model.n_worlds, -1).all(axis=1)
    return found


def _has_world_axis(model: Model, name: str, column: object) -> bool:
    """Whether worlds have numbers of their own in a column."""
    is_float = isinstance(column, np.ndarray) and column.dtype.kind == "f" and column.ndim > 0
    return is_float and name not in NO_WORLD_AXIS and len(column) == model.n_worlds


_WHY = {
    "joints": "another place says where the joint begins (`simcli docs assembly` has the order), or it takes no part",
    "initial": "another place says where the joint begins (`simcli docs assembly` has the order)",
    "keyframes": "`initial` does not begin there, or another place says where the joint begins",
    "bodies": "its joint, `initial` or a keyframe says where the body begins, or it takes no part",
    "materials": "no shape that can touch another has the material, or `contact.pairs` says it of all its pairs",
    "contact": "no two of these shapes can touch, or a later pair says the same",
    "signals": "nothing is driven by the signal, and no quantity names it",
    "params": "no expression uses it that anything reads",
}  # fmt: skip
_READERS = "the model, an event, a signal, a sensor, a measure, an expectation or the end of the run"


def unread_varied(document: Document, spec: SceneSpec) -> list[Fault]:
    """A fault for each path that the batch varies and nothing reads."""
    batch = spec.batch
    columns = batch.table.read.values if batch.table is not None else {}
    found = []
    for path in unread_paths(document, spec, batch.paths):
        at = ["batch", "table"] if path in columns else ["batch", "vary", path]
        message = f"`{path}` differs between worlds, but changes nothing: it is read by none of {_READERS}"
        found.append(Fault("SC317", message, locate(document.expanded, at, on_key=True), why_unread(path)))
    return found


def unread_sets(document: Document, spec: SceneSpec) -> list[str]:
    """A line for each `--set` that nothing reads."""
    paths = [overridden_path(one) for one in document.overrides if one.option == SET and one in document.typed]
    return [f"--set {path}: changes nothing, because nothing reads it: {why_unread(path)}"
            for path in unread_paths(document, spec, paths, typed=True)]  # fmt: skip


def why_unread(path: str) -> str:
    """Why nothing reads a path, as a hint."""
    return _WHY.get(path.split(".")[0], f"name what one of these reads: {_READERS}")
