"""Events and controls: which values may change during a run, and that each change leaves a scene that is sound.

Controls of `initial` and of keyframes lead to what a program would control, and their values fit there.
"""

import json
from collections.abc import Iterator
from math import inf

from pydantic import BaseModel

from simcli.spec.base.fault_list import Faults, in_order
from simcli.spec.base.nodes import PathStep, find, parse_path
from simcli.spec.checks import solver_fields as capabilities
from simcli.spec.checks.signals import check_seen
from simcli.spec.document.scene_file import Document
from simcli.spec.expansion.keyframes import CONTROLS, is_control, is_driven
from simcli.spec.expansion.worlds import CheckEntries, scene_after
from simcli.spec.faults.checker import Checker, exists, nowhere
from simcli.spec.lookup import structure
from simcli.spec.lookup.scene_values import value_at
from simcli.spec.schema.forces import FORCES
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.signals import TableSignal
from simcli.spec.values.quantities import is_signal

# What events must not set, by section, in words; the sections that are left are in _MAY.
_FIXED = {
    "simcli": "the format version",
    "name": "a name",
    "description": "a text",
    "resolved": "the format",
    "include": "the files",
    "solver": "the solver and its step",
    "run": "the duration",
    "output": "the output",
    "look": "how the scene is drawn",
    "batch": "the batch",
    "expect": "the expectations",
    "articulations": "the structure",
    "events": "the events",
    "allow_orphan_joints": "the structure",
    "defaults": "the defaults",
    "materials": "a material",
    "params": "a parameter, which does not exist at run time",
    "models": "a model",
    "instances": "an instance",
    "replicate": "a replica",
    "initial": "the initial state",
    "keyframes": "the initial state",
}
_TIMES = ("t", "time")  # which are no quantities
_LIMIT = ("lower", "upper", "stiffness", "damping")
_DRIVE = ("target", "target_velocity", "stiffness", "damping", "effort_limit")
_CABLE = ("stretch", "bend", "twist", "stretch_damping", "bend_damping", "twist_damping")
# Keys below an entry that events may set; "*" stands for any further keys.
_MAY: dict[str, frozenset[tuple[str, ...]]] = {
    "world": frozenset((("gravity",),)),
    "joints": frozenset(
        (
            *((key,) for key in ("damping", "friction", "armature", "velocity_limit", "compliance", "enabled", "limit")),
            *((key,) for key in _CABLE),
            *(("limit", key) for key in _LIMIT),
            *(("drive", key) for key in _DRIVE),
            ("driving", "*"),
            ("strength_ratio",),
            ("motion", "position"),
            ("motion", "velocity"),
        )
    ),
    "forces": frozenset(key for force in FORCES for key in force.EVENTS),
    "signals": frozenset(
        (("constant",), ("sine", "*"), ("step", "*"), ("ramp", "*"), ("chirp", "*"), ("table", "value"), ("table", "time"))
    ),
    "contact": frozenset((("pairs", "*"), ("enabled",))),
    "bodies": frozenset((("gravity_compensation",), ("affine", "transform", "*"))),
}
_NUMBERS_ONLY = ("world", "joints", "forces", "signals")  # sections whose numbers solvers support whatever their size
_REST = {
    "bodies": "a body",
    "world": "a shape of the world",
    "joints": "the structure",
    "forces": "the structure",
    "signals": "the kind of a signal",
    "contact": "the structure",
}


def check_events(check: Checker) -> None:
    """Paths of events lead to values that exist and may change."""
    for index, event in enumerate(check.spec.events):
        path = ["events", index, "at"]
        if event.when is not None and event.crossing[0] in _TIMES:
            name, bound = event.crossing
            message, when = f"`{name}` is no quantity: an event at a time has `at`", ["events", index, "when", name]
            check.fault("SC315", message, when, f"write at: {bound.bound:g}", on_key=True)
        elif event.when is not None:
            check_seen(check, event.crossing[0], ["events", index, "when", event.crossing[0]])
        elif event.at >= check.spec.run.duration and not check.broken & {("run", ""), ("solver", "")}:
            message = f"the event at {event.at:g} s comes after the end of the run"
            check.fault("SC233", message, path, f"the run takes {check.spec.run.duration:g} s", severity="warning")
        for text, value in event.set.items():
            _one(check, text, value, ["events", index, "set", text])


def _one(check: Checker, text: str, value: object, path: list) -> None:
    steps = parse_path(text)
    if steps is None or not exists(check, steps):
        nowhere(check, text, path)
        return
    fixed = fixed_part(steps)
    old = value_at(check.spec, steps)
    if fixed:
        check.fault("SC316", f"an event cannot set `{text}`: that is {fixed}", path, "", on_key=True)
    elif is_signal(old) or is_signal(value):
        what = f"which the signal `{old}` drives" if is_signal(old) else f"to the signal `{value}`"
        hint = "let a signal drive it from the start, and set numbers of the signal, as signals.NAME.constant"
        check.fault("SC316", f"an event cannot set `{text}`, {what}", path, hint, on_key=True)
    elif isinstance(old, bool) != isinstance(value, bool) and isinstance(old, bool | int | float):
        wanted = "true or false" if isinstance(old, bool) else "a number"
        check.fault("SC203", f"`{text}` takes {wanted}", path)


def fixed_part(steps: tuple[PathStep, ...]) -> str:
    """What a path belongs to that stays as it is during a run, in words; "" if an event may set it."""
    head = str(steps[0])
    if head not in _MAY:
        return _FIXED.get(head, "the structure")
    names = [str(step) for step in steps[1:] if isinstance(step, str)]
    keys = tuple(names if head in ("world", "contact") else names[1:])
    if head == "joints" and keys[:1] == ("axes",):
        keys = keys[2:]  # values of single axes
    allowed = _MAY[head]
    return "" if keys in allowed or any((*keys[:n], "*") in allowed for n in range(1, len(keys) + 1)) else _REST[head]


def try_events(check: Checker, check_entries: CheckEntries) -> None:
    """Each event must leave a scene that is valid and that the solver supports.

    The scene must be sound without its events. Each change is laid over the scene before it, so that an event takes as
    long as what it touches. The scenes after the events stay with the document, for the model.

    Args:
        check: of the scene.
        check_entries: of those that an event changes.
    """
    document, spec, tree = check.document, check.spec, check.document.expanded
    scenes = [spec] * len(spec.events)
    start = spec, tree
    for index in [*in_time(spec), *by_condition(spec)]:
        if spec.events[index].when is not None:
            spec, tree = start
        for text, value in check.spec.events[index].set.items():
            faults = Faults()
            before = spec
            spec, tree = scene_after(document, before, tree, {text: value}, faults, check_entries)
            if not faults.errors and not is_alike(before, spec, text):
                capabilities.check_capabilities(Checker(spec, check.tree, document, faults, set()), structure.tree(spec))
            if faults.errors:
                first = in_order(faults.errors)[0]
                said = f"with {text} = {json.dumps(value, default=str)}: {first.message}"
                message = first.message if text in first.message else said
                check.fault(first.code, message, ["events", index, "set", text], first.hint)
                return
        scenes[index] = spec
    document.cache["scenes of events"] = scenes


def in_time(spec: SceneSpec) -> list[int]:
    """Indices of the events at times, as they come."""
    timed = [index for index, event in enumerate(spec.events) if event.when is None]
    return sorted(timed, key=lambda index: spec.events[index].at)


def by_condition(spec: SceneSpec) -> list[int]:
    """Indices of the events by condition."""
    return [index for index, event in enumerate(spec.events) if event.when is not None]


def events_are_tried(document: Document) -> bool:
    """Whether the scenes after the events are known; not those of a scene that its solver does not support."""
    return "scenes of events" in document.cache


def scenes_of_events(document: Document) -> list[SceneSpec]:
    """The scene after each event of the file and all before it, of one by condition after itself, without values of worlds.

    Args:
        document: of a scene that is resolved without faults.
    """
    return document.cache["scenes of events"]


def is_alike(before: SceneSpec, after: SceneSpec, text: str) -> bool:
    """Whether the value at a path has only become another number of the same kind, so that no solver supports it less."""
    steps = parse_path(text) or ()
    if steps[0] not in _NUMBERS_ONLY or "driving" in steps:
        return False
    return _kind_of(value_at(before, steps)) == _kind_of(value_at(after, steps))


def _kind_of(value: object) -> object:
    """What a structure may depend on: whether a number is zero or infinite, of a part of a scene each; else the value."""
    if isinstance(value, TableSignal):
        # all worlds have the same times
        return value.time, _kind_of(value.value), value.file, value.column, value.time_column, value.interpolate
    if isinstance(value, BaseModel):
        return type(value), tuple(_kind_of(getattr(value, name)) for name in type(value).model_fields)
    if isinstance(value, list | tuple):
        return tuple(map(_kind_of, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return "number", value != 0, abs(value) < inf


def kinds_of_scenes(spec: SceneSpec, scenes: list[SceneSpec], order: list[int]) -> list[object]:
    """What the structure of the scene after each event may depend on: scenes that have it in common differ in numbers.

    Args:
        spec: the scene at the start.
        scenes: after each event, by index.
        order: indices of events in time.
    """
    fields = {field for event in spec.events for field in map(_field_of, event.set)}
    kinds = {field: _kind_of(value_at(spec, field)) for field in fields}
    found, key = [], None
    for index in order:
        now = {field: _kind_of(value_at(scenes[index], field)) for field in map(_field_of, spec.events[index].set)}
        if key is None or any(kinds[field] != kind for field, kind in now.items()):
            kinds |= now
            key = tuple(map(repr, kinds.values()))
        found.append(key)
    return found


def _field_of(text: str) -> tuple[PathStep, ...]:
    """The field of an entry that a path leads to or into."""
    steps = parse_path(text) or ()
    return steps[:2] if steps[0] in ("world", "contact") else steps[:3]


def check_controls(check: Checker) -> None:
    """Paths lead to numbers that are controlled, and that no signal drives."""
    for path, value in _written(check):
        text = path[-1]
        steps = parse_path(text)
        if steps is None or not exists(check, steps):
            nowhere(check, text, path)
        elif not is_control(steps):
            kinds = (
                "targets and activations of drives, torques, wrenches, tensions, those of muscles, and constants of signals"
            )
            hint = f"controls are {kinds}"
            check.fault("SC326", f"`{text}` is no control", path, hint, on_key=True)
        elif is_signal(value) or is_driven(find(check.tree, steps)):
            hint = "write a number, or set that of the signal, as signals.NAME.constant"
            check.fault("SC326", f"`{text}` is driven by a signal", path, hint, on_key=True)


def try_controls(check: Checker, check_entries: CheckEntries) -> None:
    """The controls of each keyframe must make a valid scene; those of `initial` are part of the scene itself.

    Args:
        check: of the scene.
        check_entries: of those that controls change.
    """
    for path, value in _written(check):
        if path[0] != "initial":
            faults = Faults()
            scene_after(check.document, check.spec, check.document.expanded, {path[-1]: value}, faults, check_entries)
            if faults.errors:
                first = in_order(faults.errors)[0]
                check.fault(first.code, first.message, path, first.hint)


def _written(check: Checker) -> Iterator[tuple[list, object]]:
    """Path of each control in the scene, and its value."""
    states = {("initial",): check.spec.initial}
    states |= {("keyframes", name): keyframe for name, keyframe in check.spec.keyframes.items()}
    for where, state in states.items():
        for text, value in state.controls.items():
            yield [*where, CONTROLS, text], value
