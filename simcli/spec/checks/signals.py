"""Signals fit what they drive, what their formulas name is there and can be seen, and sensors name what is there."""

from collections.abc import Iterator

from simcli.spec.base.channel_names import kind_of, split_component, split_name
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.base.nodes import Listing, Node, Scalar, TableNode, find
from simcli.spec.base.sensor_types import SENSOR_TYPES
from simcli.spec.checks.expectations import MOST_APART, is_sampled, is_whole_multiple
from simcli.spec.checks.quantities import known_quantity, width_of
from simcli.spec.faults.checker import Checker
from simcli.spec.lookup.signal_uses import SIGNAL, Use, circle_of_feedback, uses
from simcli.spec.lookup.structure import WORLD_NAME
from simcli.spec.schema.signals import SignalSpec
from simcli.spec.values.braces import parsed_with_names
from simcli.spec.values.expressions import FUNCTIONS, OPERATORS, Arithmetic, ExpressionError, value_of
from simcli.spec.values.units import UnitError, to_si

# Values of each kind that have the unit of what the signal drives; a constant is one itself.
_VALUES = {
    "sine": ("amplitude", "offset"),
    "step": ("before", "after"),
    "ramp": ("from", "to"),
    "chirp": ("amplitude",),
    "table": ("value",),
    "pid": ("limits",),
}


def check_signals(check: Checker) -> None:
    """Every use of a signal that exists."""
    seen = set()
    for use in uses(check.spec):
        signal = check.spec.signals.get(use.signal)
        if signal is None or (use.signal, use.path) in seen:
            continue
        seen.add((use.signal, use.path))
        count = len(signal.constant) if signal.constant is not None else 1
        if _counts(check, use, count):
            _dimensions(check, use)


def _counts(check: Checker, use: Use, count: int) -> bool:
    """Whether the signal has as many numbers as are taken; a fault if not."""
    steps = tuple(use.path.split("."))
    alone = isinstance(find(check.tree, steps), Scalar)  # one signal for the whole vector
    takes = 1 if use.component is None or not use.whole else 3
    if count == takes or (count == 1 and not (takes == 3 and alone)):
        return True
    key = steps[-1]
    if takes == 3:
        message = f"the signal `${use.signal}` has {count} number(s), but `{key}` takes 3"
        check.fault("SC205", message, use.path, f"write [0, 0, ${use.signal}], or give the signal three numbers")
    else:
        message = f"the signal `${use.signal}` has {count} numbers, but one is taken"
        check.fault("SC205", message, use.path, "take a signal of one number")
    return False


def _dimensions(check: Checker, use: Use) -> None:
    """The units that are written in the signal are of what it drives."""
    for path, text in _texts(check, use.signal):
        try:
            to_si(text, use.unit)
        except UnitError as error:
            check.fault(error.code, f"{error}: `{use.path}` takes `${use.signal}`", path, error.hint)


def _texts(check: Checker, name: str) -> Iterator[tuple[tuple, str]]:
    """Values of a signal with units, and their paths."""
    node = find(check.tree, ("signals", name))
    if not isinstance(node, TableNode):
        return
    for kind, below in node.items.items():
        if kind in ("constant", "limits"):
            yield from _text(below, ("signals", name, kind))
        for key in _VALUES.get(kind, ()):
            inner = find(below, (key,))
            if inner is not None:
                yield from _text(inner, ("signals", name, kind, key))


def _text(node: Node, path: tuple) -> Iterator[tuple[tuple, str]]:
    if isinstance(node, Listing):
        for index, item in enumerate(node.items):
            yield from _text(item, (*path, index))
    elif isinstance(node, Scalar) and isinstance(node.value, str):
        yield path, node.value


MOST_SAMPLES = 10**6  # of a delayed signal, kept by each world
# What depends on the forces of the same instant, and so on the signal itself.
_LATER = ("qdd", "effort", "wrench", "drive_effort", "drive_power", "force", "count", "energy", "diag")


def check_feedback(check: Checker) -> None:
    """All signals that follow the motion."""
    for name, signal in check.spec.signals.items():
        if not signal.is_feedback:
            continue
        for key, text in signal.formulas().items():
            _formula(check, text, f"signals.{name}.{key}")
        _times(check, name, signal)
    circle = circle_of_feedback(check.spec.signals)
    if circle:
        message = f"signals refer to each other in a circle: {' -> '.join(circle)}"
        check.fault("SC223", message, f"signals.{circle[0]}", "each needs the other at the same time: leave one out")
    for use in uses(check.spec):
        signal = check.spec.signals.get(use.signal)
        if signal is not None and signal.is_feedback and ".motion." in use.path:
            message = f"`{use.path}` cannot follow the signal `${use.signal}`, whose derivatives are not known"
            check.fault("SC470", message, use.path, "let it be the target of a drive")


class _Anything:
    """What every operation on it gives."""

    def __neg__(self):
        return self


def _formula(check: Checker, text: str, path: str) -> None:
    """The grammar of a formula, and each name in it."""
    try:
        tree, names = parsed_with_names(text)
        anything = _Anything()
        give = lambda *_: anything  # noqa: E731
        by = Arithmetic(give, dict.fromkeys(OPERATORS, give), dict.fromkeys(FUNCTIONS, give))
        value_of(tree, lambda word: _word(check, word, names, anything), text, by)
    except ExpressionError as error:
        check.fault(error.code, str(error), path, error.hint)
        return
    for name in names.values():
        _name(check, name, path)


def _word(check: Checker, word: str, names: dict[str, str], anything: _Anything) -> _Anything:
    if word == "t" or word in names:
        return anything
    known = "quantities stand in braces, as {joint.pin.q}, parameters as ${k}; `t` is the time"
    raise ExpressionError(f"`{word}` is no name of an expression", _meant_of_scene(check, word) or known)


def _meant_of_scene(check: Checker, word: str) -> str:
    """A hint where a signal or a parameter of the scene has the name; else ""."""
    if word in check.names["signals"]:
        return f"the value of the signal is {{{SIGNAL}{word}}}"
    return f"the parameter is ${{{word}}}" if word in check.spec.params else ""


def _name(check: Checker, name: str, path: str) -> None:
    """A name in braces: another signal, or a component of a quantity."""
    if name.startswith(SIGNAL):
        _signal(check, name.removeprefix(SIGNAL), path)
    elif "." not in name and _meant_of_scene(check, name):
        check.fault("SC315", f"`{name}` is no quantity", path, _meant_of_scene(check, name))
    else:
        check_seen(check, name, path)


def check_seen(check: Checker, name: str, path: str | list) -> None:
    """A component of a quantity that is known where a step begins; a fault if it is none."""
    text, component = split_component(name)
    group, _, word = split_name(text)
    later = (
        word in SENSOR_TYPES and SENSOR_TYPES[word].channel not in ("", "joints")
        if group == "sensor"
        else (kind_of(text) in _LATER and group != "distance")
    )
    if later:
        message = f"feedback uses positions and velocities at the start of a step, and `{text}` is known at its end only"
        check.fault("SC315", message, path, "use q, qd, position, orientation, velocity, angular_velocity or distance.A.B")
        return
    if not known_quantity(check, text, path):
        return
    width = width_of(check, text)
    if component is not None and width is not None and component >= width:
        check.fault("SC205", f"`{text}` has {width} component(s), counted from 0", path)
    elif component is None and width is not None and width != 1:
        message = f"`{text}` has {width} components, and feedback takes one number"
        check.fault("SC205", message, path, f"write {{{text}.0}}" if width else "")


def _signal(check: Checker, name: str, path: str) -> None:
    known = check.names["signals"]
    signal = check.spec.signals.get(name)
    if name not in known:
        if not check.is_lost(name, "signals"):
            check.fault("SC311", f"there is no signal `{name}`", path, did_you_mean(name, known, "signals"))
    elif signal is not None and signal.constant is not None and len(signal.constant) > 1:
        check.fault("SC205", f"the signal `{name}` has {len(signal.constant)} numbers, but one is taken", path)


def _times(check: Checker, name: str, signal: SignalSpec) -> None:
    """Samples at whole steps, and a delay of whole samples."""
    if ("solver", "") in check.broken:
        return
    dt = check.spec.solver.dt
    period = dt
    if signal.rate is not None:
        if not is_sampled(check, signal.rate, f"signals.{name}.rate"):
            return
        period = 1.0 / signal.rate
        if not is_whole_multiple(period, dt):
            nearest = max(1, round(period / dt)) * dt
            message = f"a sample every {period:.12g} s is not a whole multiple of dt = {dt:.12g} s"
            check.fault("SC407", message, f"signals.{name}.rate", f"the nearest rate is {1 / nearest:.12g} Hz")
            return
    if signal.delay / period > MOST_SAMPLES:
        message = f"a delay of {signal.delay:.12g} s is more than {MOST_SAMPLES:g} samples, which are kept"
        check.fault("SC231", message, f"signals.{name}.delay", f"at most {MOST_SAMPLES * period:.12g} s, or a lower rate")
    elif signal.delay and not is_whole_multiple(signal.delay, period):
        message = f"the delay of {signal.delay:.12g} s is not a whole multiple of {period:.12g} s, the time between samples"
        nearest = max(1, round(signal.delay / period)) * period
        check.fault("SC407", message, f"signals.{name}.delay", f"the nearest is {nearest:.12g}")


MOST_DELAYED = 10_000  # steps, of which samples are kept
_MULTIPLE = 1e-6  # as of times of the run: rounding of what is written


def check_sensors(check: Checker) -> None:
    """All sensors of the scene."""
    for name, sensor in check.spec.sensors.items():
        path = f"sensors.{name}"
        for key in ("at", "relative_to"):
            if getattr(sensor, key) is not None:
                _place(check, getattr(sensor, key), f"{path}.{key}")
        if sensor.joint is not None and check.joint_or_free(sensor.joint, f"{path}.joint"):
            _joint(check, sensor, path)
        if "range" in sensor.type:
            _sight(check, f"{path}.type")
        if sensor.noise is not None:
            _noise(check, sensor, f"{path}.noise")
        if sensor.shape is not None:
            _shape(check, sensor.shape, f"{path}.shape")
        if sensor.body is not None and sensor.body != WORLD_NAME:
            check.body(sensor.body, f"{path}.body")


def _joint(check: Checker, sensor, path: str) -> None:
    joint = check.spec.joints.get(sensor.joint)
    if joint is not None and not joint.dof_kinds and any(SENSOR_TYPES[name].own for name in sensor.type):
        check.fault("SC205", f"joint `{sensor.joint}` has no coordinate", f"{path}.joint", "name one that moves")


def _sight(check: Checker, path: str) -> None:
    """Terrain is not seen, which is told rather than looked through."""
    owners = [check.spec.world, *check.spec.bodies.values()]
    if any(shape.type == "heightfield" and shape.collide for owner in owners for shape in owner.shapes.values()):
        check.fault("SC315", "range finders do not see terrain", path, "take a plane or boxes, or collide: false")


def _noise(check: Checker, sensor, path: str) -> None:
    """Samples and delays fall on steps; a quaternion takes no noise."""
    dt, noise = check.spec.solver.dt, sensor.noise
    joint = check.spec.joints.get(sensor.joint)
    if (
        noise.is_random
        and any(SENSOR_TYPES[name].own == "q" for name in sensor.type)
        and (joint is None or check.n_q(joint) != len(joint.dof_kinds))
    ):
        check.fault("SC207", "a quaternion with noise is no rotation", path, "leave rate and delay, or take the tachometer")
    for key, time in (("rate", 1 / noise.rate if noise.rate else 0.0), ("delay", noise.delay)):
        if key == "rate" and time and not is_sampled(check, noise.rate, f"{path}.rate"):
            continue
        steps = min(time / dt, 2.0 * MOST_APART)  # a delay beyond is refused below
        if abs(steps - round(steps)) > _MULTIPLE * max(1.0, steps) or (time and round(steps) < 1):
            near = max(1, round(steps)) * dt
            near = f"{1 / near:.12g} Hz" if key == "rate" else f"{near:.12g} s"
            check.fault(
                "SC407",
                f"`{path}.{key}` is no whole multiple of dt = {dt:.12g} s",
                f"{path}.{key}",
                f"the nearest is {near}",
            )
        elif key == "delay" and steps > MOST_DELAYED:
            check.fault("SC205", f"a delay of {time / dt:.6g} steps", f"{path}.{key}", f"at most {MOST_DELAYED} steps")


def _shape(check: Checker, name: str, path: str) -> None:
    """A shape of a body as body/shape, or of the world."""
    body, _, _key = name.rpartition("/")
    owners = {owner: one.shapes for owner, one in check.spec.bodies.items()} | {"": check.spec.world.shapes}
    known = [f"{owner}/{one}" if owner else one for owner, shapes in owners.items() for one in shapes]
    if name not in known and ("bodies", body) not in check.broken and not check.is_refused("bodies", "world"):
        check.fault("SC314", f"there is no shape `{name}`", path, did_you_mean(name, known, "shapes"))


def _place(check: Checker, name: str, path: str) -> None:
    """A body, the world, or a frame or point of one."""
    if name in (WORLD_NAME, *check.names["bodies"]):
        return
    body, slash, place = name.rpartition("/")
    if not slash or (body != WORLD_NAME and body not in check.names["bodies"]):
        check.body(body or name, path)
        return
    owner = check.spec.world if body == WORLD_NAME else check.spec.bodies.get(body)
    if owner is not None:
        known = owner.frames if body == WORLD_NAME else owner.places
        if place not in known:
            hint = did_you_mean(place, known, "frames")
            check.fault("SC310", f"`{body}` has no frame and no point `{place}`", path, hint)
