"""Feedback: what the formulas of signals name is there and can be seen, and samples come at whole steps."""

from simcli.spec.checks.checker import Checker
from simcli.spec.checks.runs.quantities import known_quantity, width_of
from simcli.spec.checks.runs.times import is_sampled, is_whole_multiple
from simcli.spec.faults.fault_list import did_you_mean
from simcli.spec.names.channel_names import kind_of, split_component, split_name
from simcli.spec.names.sensor_types import SENSOR_TYPES
from simcli.spec.names.signal_uses import uses
from simcli.spec.signals.order import SIGNAL, circle_of_feedback
from simcli.spec.signals.signal import SignalSpec
from simcli.spec.values.braces import parsed_with_names
from simcli.spec.values.expressions import FUNCTIONS, OPERATORS, Arithmetic, ExpressionError, value_of

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
    later = word in SENSOR_TYPES and SENSOR_TYPES[word].channel not in ("", "joints") if group == "sensor" else (
        kind_of(text) in _LATER and group != "distance")  # fmt: skip
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
