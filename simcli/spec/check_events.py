"""Events: which values may change during a run, and that each change leaves a scene that is sound."""

from simcli.errors import SceneError
from simcli.spec import honours, structure
from simcli.spec.checker import Checker
from simcli.spec.faults import Faults
from simcli.spec.lookup import value_at
from simcli.spec.nodes import Step, parse_path
from simcli.spec.paths import exists, nowhere
from simcli.spec.quantities import is_signal

# What events must not set, by section, in words; the sections that are left are in _MAY.
_FIXED = {
    "simcli": "the format version", "name": "a name", "description": "a text", "resolved": "the format",
    "include": "the files", "solver": "the solver and its step", "run": "the duration", "output": "the output",
    "batch": "the batch", "expect": "the expectations", "articulations": "the structure", "events": "the events",
    "allow_orphan_joints": "the structure", "defaults": "the defaults", "materials": "a material",
    "params": "a parameter, which is gone at run time", "models": "a model", "instances": "an instance",
    "replicate": "a replica", "initial": "the initial state",
}  # fmt: skip
_LIMIT = ("lower", "upper", "stiffness", "damping")
_DRIVE = ("target", "target_velocity", "stiffness", "damping", "effort_limit")
_CABLE = ("stretch", "bend", "twist", "stretch_damping", "bend_damping", "twist_damping")
# Keys below an entry that events may set; "*" stands for any further keys.
_MAY: dict[str, frozenset[tuple[str, ...]]] = {
    "world": frozenset((("gravity",),)),
    "joints": frozenset((
        *((key,) for key in ("damping", "friction", "armature", "velocity_limit", "compliance", "enabled", "limit")),
        *((key,) for key in _CABLE),
        *(("limit", key) for key in _LIMIT), *(("drive", key) for key in _DRIVE), ("driving", "*"),
        ("strength_ratio",), ("motion", "position"), ("motion", "velocity"),
    )),
    "forces": frozenset((
        *((key,) for key in ("stiffness", "damping", "rest_length", "rest_angle", "slack")),
        *((key,) for key in ("force", "torque", "at", "value")),
        ("a", "at"), ("a", "world"), ("b", "at"), ("b", "world"),
    )),
    "signals": frozenset((("constant",), ("sine", "*"), ("step", "*"), ("ramp", "*"), ("chirp", "*"), ("table", "value"),
                          ("table", "time"))),
    "contact": frozenset((("pairs", "*"),)),
    "bodies": frozenset((("affine", "transform", "*"),)),
}  # fmt: skip
_REST = {"bodies": "a body", "world": "a shape of the world", "joints": "the structure", "forces": "the structure",
         "signals": "the kind of a signal", "contact": "the structure"}  # fmt: skip


def check_events(check: Checker) -> None:
    """Paths of events lead to values that exist and may change."""
    for index, event in enumerate(check.spec.events):
        path = ["events", index, "at"]
        if event.at >= check.spec.run.duration and not check.broken & {("run", ""), ("solver", "")}:
            message = f"the event at {event.at:g} s comes when the run has ended"
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


def fixed_part(steps: tuple[Step, ...]) -> str:
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


def try_events(check: Checker) -> None:
    """Each event must leave a scene that is valid and that the solver honours.

    The scene must be sound without its events: this resolves it again.
    """
    values: dict[str, object] = {}
    for index in sorted(range(len(check.spec.events)), key=lambda i: check.spec.events[i].at):
        for text, value in check.spec.events[index].set.items():
            values[text] = value
            found = _faults(check, values)
            if found:
                first = found[0]
                message = first.message if text in first.message else f"with {text} = {value}: {first.message}"
                check.fault(first.code, message, ["events", index, "set", text], first.hint)
                return


def _faults(check: Checker, values: dict[str, object]) -> list:
    """Faults of the scene with some values."""
    from simcli.spec.resolve import resolve

    try:
        spec = resolve(check.document, values)
    except SceneError as error:
        return error.faults
    faults = Faults()
    honours.check_honours(Checker(spec, check.tree, check.document, faults, set()), structure.tree(spec))
    return faults.errors
