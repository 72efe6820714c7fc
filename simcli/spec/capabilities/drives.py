"""What a drive reads in each of its modes, and what a limit reads; the check that refuses the rest.

    position, position_velocity    effort = stiffness (target - q) + damping (target_velocity - qd)
    velocity                       effort = damping (target_velocity - qd)
    effort                         effort = target

with the effort held within +-effort_limit.

Source: the actuators of Newton's joints. Deviation: a position drive reads `target_velocity`, which is 0 unless written.
"""

from collections.abc import Iterator

from simcli.spec.checks.checker import Checker
from simcli.spec.document.nodes import PathStep, find, format_path
from simcli.spec.schema.joint import AxesSpec, DriveSpec, JointSpec, LimitSpec
from simcli.spec.values.quantities import is_signal

_ALL = frozenset(("target", "target_velocity", "stiffness", "damping"))
READS: dict[str, frozenset[str]] = {
    "position": _ALL,
    "position_velocity": _ALL,
    "velocity": frozenset(("target_velocity", "damping")),
    "effort": frozenset(("target",)),
}
GAIN = {"target": "stiffness", "target_velocity": "damping"}  # what a target needs to have an effect, but in effort mode
_MEANT = {
    ("velocity", "target"): "the target of this mode is `target_velocity`; or write mode: position",
    ("velocity", "stiffness"): "write mode: position_velocity, which has both gains",
    ("effort", "stiffness"): "write mode: position",
    ("effort", "damping"): "write `damping` beside `drive`, or mode: velocity",
    ("effort", "target_velocity"): "write mode: velocity and a damping",
}


def check_drives(check: Checker, name: str, joint: JointSpec) -> None:
    """Refuse fields of drives that nothing reads, and drives that have no effect."""
    for drive, path in _written(check, name, joint, "drive", joint.drive):
        asked = [key for key in sorted(_ALL) if _asks(getattr(drive, key))]
        unread = [key for key in asked if key not in READS[drive.mode]]
        if drive.activation is not None and "target" not in READS[drive.mode]:
            message = f"the drive of joint `{name}` has mode {drive.mode}, which reads no `target` that could lag"
            check.fault("SC472", message, (*path, "activation"), "let `target_velocity` follow a signal with a filter", True)
        for key in unread:
            message = f"the drive of joint `{name}` has mode {drive.mode}, which reads no `{key}`"
            check.fault("SC472", message, (*path, key), _MEANT[drive.mode, key], on_key=True)
        if drive.mode == "effort":
            _check_effort(check, name, drive, path)
        elif not unread:
            _check_gains(check, name, drive, path)


def check_limits(check: Checker, name: str, joint: JointSpec) -> None:
    """Refuse a limit without bounds, and the damping of a hard one."""
    for limit, path in _written(check, name, joint, "limit", joint.limit):
        soft = limit.stiffness > 0 or _changes(check, (*path, "stiffness"))
        if limit.damping is not None and not soft:
            hint = "a hard limit has no damping: add a `stiffness`, or remove it"
            check.fault("SC474", f"the limit of joint `{name}` has damping and no stiffness", (*path, "damping"), hint, True)
        bounds = ("lower", "upper")
        if limit.lower is limit.upper is None and not any(_changes(check, (*path, key)) for key in bounds):
            check.fault("SC474", f"the limit of joint `{name}` has no bound", path, "add `lower` or `upper`", True)


def _check_effort(check: Checker, name: str, drive: DriveSpec, path: tuple[PathStep, ...]) -> None:
    """Warn of a drive that does nothing; one that says how strong it is describes a motor at rest."""
    if drive.effort_limit is None and not _asks(drive.target) and not _changes(check, (*path, "target")):
        hint = "write `target`, the effort, or let an event or a batch set it; `effort_limit` says that a program will"
        check.fault("SC473", f"the effort drive of joint `{name}` has the target 0", path, hint, True, severity="warning")


def _check_gains(check: Checker, name: str, drive: DriveSpec, path: tuple[PathStep, ...]) -> None:
    """A target needs its gain; a drive needs one gain at least."""
    acting = {key for key in GAIN.values() if getattr(drive, key) > 0 or _changes(check, (*path, key))}
    needed = "damping" if drive.mode == "velocity" else "stiffness"
    if not acting & READS[drive.mode]:
        check.fault("SC473", f"the {drive.mode} drive of joint `{name}` has no gain", path, f"add `{needed}`", True)
        return
    for key, gain in GAIN.items():
        if gain not in acting and (_asks(getattr(drive, key)) or _changes(check, (*path, key))):
            message = f"`{key}` of the drive of joint `{name}` has no effect without `{gain}`"
            check.fault("SC473", message, (*path, key), f"add `{gain}`", True)


def _asks(value: object) -> bool:
    return is_signal(value) or value != 0.0


def _changes(check: Checker, path: tuple[PathStep, ...]) -> bool:
    """True if an event or the batch sets a value, or may do so by way of a parameter in it."""
    text, batch = format_path(path), check.spec.batch.paths
    if any(text in event.set for event in check.spec.events) or text in batch:
        return True
    return any(key.startswith("params.") for key in batch) and check.has(text)


def _written(
    check: Checker, name: str, joint: JointSpec, key: str, values: tuple | None
) -> Iterator[tuple[DriveSpec | LimitSpec, tuple[PathStep, ...]]]:
    """The drives or limits of a joint as they are written, each once, with its path."""
    base: tuple[PathStep, ...] = ("joints", name)
    seen: set[tuple[PathStep, ...]] = set()
    for index, value in enumerate(values or ()):
        if value is None:
            continue
        own = [(*base, *axis, key) for axis in _axes(joint.axes)[index : index + 1]] + [(*base, key, index), (*base, key)]
        path = next((one for one in own if find(check.tree, one) is not None), own[-1])
        if path not in seen:
            seen.add(path)
            yield value, path


def _axes(axes: AxesSpec | None) -> list[tuple[PathStep, ...]]:
    """Paths of the single axes in the order of the dofs."""
    groups = ("linear", "angular") if axes is not None else ()
    return [("axes", group, k) for group in groups for k in range(len(getattr(axes, group)))]
