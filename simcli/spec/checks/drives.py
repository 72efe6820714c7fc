"""What drives and bounds joints: drives in each of their modes, limits, gears, prescribed motions.

Gears (`mimic`) are joints that follow each other, without circles. A prescribed position that jumps is refused.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from simcli.joint_types import Coordinates, types_with
from simcli.spec.base import dofs
from simcli.spec.base.nodes import PathStep, find, format_path
from simcli.spec.faults.checker import Checker
from simcli.spec.schema.joint import AxesSpec, JointSpec, LimitSpec
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.signals import DriveSpec, SignalSpec
from simcli.spec.values.quantities import is_signal

_ALL = frozenset(("target", "target_velocity", "stiffness", "damping"))
READS: dict[str, frozenset[str]] = {
    "position": _ALL,
    "position_velocity": _ALL,
    "velocity": frozenset(("target_velocity", "damping")),
    "effort": frozenset(("target",)),
}
_CURVE, _BALLS = "effort_limit_table", types_with(Coordinates.QUATERNION)
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
        if joint.type in _BALLS and getattr(drive, _CURVE) is not None:
            message = f"the drive of joint `{name}` turns about any axis, and has no speed along one"
            check.fault("SC362", message, (*path, _CURVE), "write `effort_limit`, a number", True)
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
    if drive.largest_effort is None and not _asks(drive.target) and not _changes(check, (*path, "target")):
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


def check_gears(check: Checker) -> None:
    """Every gear joins two joints of as many scalar dofs, and no joint follows itself through others."""
    joints = check.spec.joints
    geared = {name: joint.mimic.joint for name, joint in joints.items() if joint.mimic and joint.mimic.joint in joints}
    sound = {name: leader for name, leader in geared.items() if leader != name and _can_turn(check, name, leader)}
    for circle in _circles(sound):
        _refuse(
            check,
            circle[0],
            f"the gears of {', '.join(f'`{name}`' for name in circle)} make a circle",
            "let one of them go without `mimic`",
        )


def _refuse(check: Checker, name: str, message: str, hint: str) -> None:
    check.fault("SC464", message, f"joints.{name}.mimic", hint, on_key=True)


def _can_turn(check: Checker, name: str, leader: str) -> bool:
    """Whether two joints can turn together; a fault if not."""
    joints = check.spec.joints
    for one, what in ((name, "follows"), (leader, f"leads `{name}`")):
        kind = joints[one].type
        if kind not in dofs.GEARED:
            _refuse(
                check,
                name,
                f"joint `{one}` {what}, but a `{kind}` joint has no coordinates that a gear could join",
                f"gears join {', '.join(sorted(dofs.GEARED))}",
            )
            return False
    n_own, n_led = (len(joints[one].dof_kinds) for one in (name, leader))
    if n_own != n_led:
        _refuse(
            check,
            name,
            f"joint `{name}` has {n_own} dof(s), `{leader}`, which it follows, has {n_led}",
            "a gear joins joints with the same number of dofs",
        )
    return n_own == n_led


def _circles(leader: dict[str, str]) -> list[list[str]]:
    """Circles of followers, each from its first joint in file order."""
    found, seen = [], set()
    for start in leader:
        path = []
        name = start
        while name in leader and name not in seen:
            seen.add(name)
            path.append(name)
            name = leader[name]
        if name in path:
            circle = path[path.index(name) :]
            first = min(circle, key=list(leader).index)
            found.append(circle[circle.index(first) :] + circle[: circle.index(first)])
    return found


_SAME_SLOPE = 1e-9  # relative: rounding of a straight line in a table


def check_motions(check: Checker) -> None:
    """Refuse positions that jump while the scene runs."""
    spec = check.spec
    for name, joint in spec.joints.items():
        for motion in joint.motion or ():
            if motion is None or not is_signal(motion.position):
                continue
            signal = spec.signals.get(motion.position.removeprefix("$"))
            when = "" if signal is None else _when_it_jumps(signal, spec.run.duration)
            if when:
                hint = "let it move in a finite time: by a `ramp`, or a `table` with `interpolate: cubic`"
                message = f"the prescribed position of joint `{name}` jumps {when}"
                check.fault("SC478", message, f"joints.{name}.motion", hint)


def jumping_rates(spec: SceneSpec) -> Iterator[str]:
    """Prescribed rates that jump while the scene runs, as far as signals and events tell, in words."""
    driving = list(_prescribed_by_signals(spec))
    for what, signal, when_of in driving:
        when = when_of(spec.signals[signal], spec.run.duration) if signal in spec.signals else ""
        if when:
            yield f"the prescribed rate of {what} jumps {when}"
    for path in (path for event in spec.events for path in event.set):
        keys = path.replace("[", ".").split(".")
        if "motion" in keys[2:3] or (keys[0] == "signals" and any(keys[1] == signal for _, signal, _ in driving)):
            yield f"an event sets `{path}`"


def _prescribed_by_signals(spec: SceneSpec) -> Iterator[tuple[str, str, Callable[[SignalSpec, float], str]]]:
    """What signals prescribe: joint or body in words, signal, and what tells when its rate jumps."""
    found = [
        (f"joint `{name}`", motion.position, _when_it_bends)
        for name, joint in spec.joints.items()
        for motion in joint.motion or ()
        if motion is not None
    ]
    found += [
        (f"joint `{name}`", motion.velocity, _when_it_jumps)
        for name, joint in spec.joints.items()
        for motion in joint.motion or ()
        if motion is not None
    ]
    for name, body in spec.bodies.items():
        values = () if body.motion is None else (body.motion.linear, body.motion.angular)
        each = [one for value in values for one in (value if isinstance(value, list | tuple) else (value,))]
        found += [(f"body `{name}`", one, _when_it_jumps) for one in each]
    yield from ((what, value.removeprefix("$"), when) for what, value, when in found if is_signal(value))


def _when_it_bends(signal: SignalSpec, duration: float) -> str:
    """When the slope of a function of time jumps in a run, in words; "" if it does not."""
    ramp, table = signal.ramp, signal.table
    times = [ramp.start, ramp.end] if ramp is not None and ramp.from_ != ramp.to else []
    if table is not None and table.interpolate == "linear":
        if table.file:
            return "at the times of its table"
        points = list(zip(table.time, table.value, strict=True))
        slopes = [0.0, *((y - v) / (t - s) for (s, v), (t, y) in pairwise(points)), 0.0]
        scale = _SAME_SLOPE * max(map(abs, slopes))
        bends = [abs(after - before) > scale for before, after in pairwise(slopes)]
        times = [t for t, bend in zip(table.time, bends, strict=True) if bend]
    return _first_of(times, duration)


def _first_of(times: list[float], duration: float) -> str:
    """The first of some times after the start, in words."""
    times = [t for t in times if 0.0 < t <= duration]
    return f"at {min(times):g} s" if times else ""


def _when_it_jumps(signal: SignalSpec, duration: float) -> str:
    """When a function of time jumps in a run, in words; "" if it does not."""
    step, table = signal.step, signal.table
    times = [step.time] if step is not None and step.before != step.after else []
    if table is not None and table.interpolate == "previous":
        if table.file:
            return "at the times of its table"
        pairs = zip(table.value, table.value[1:], strict=False)
        times = [t for t, (before, after) in zip(table.time[1:], pairs, strict=True) if before != after]
    return _first_of(times, duration)
