"""What is asked of a run: times as whole multiples of the step, and what `measure`, `expect` and `run.stop_when` name."""

import math
import re

from simcli.spec.base.channel_names import is_on_demand, is_whole, kind_of, split_name
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.checks.quantities import check_parts, is_pattern, known_channel, known_quantity, known_subject, width_of
from simcli.spec.faults.checker import Checker
from simcli.spec.schema.expect import ExpectSpec, MeasureSpec

_MULTIPLE = 1e-9  # relative distance to a whole multiple that is rounding in the file
MAX_STEPS = 10**12
MOST_APART = 10**9  # steps between two samples, which are counted in 32 bits


def is_whole_multiple(value: float, dt: float) -> bool:
    """Whether a time is a whole multiple of another one, up to rounding in the file, and at least that one."""
    steps = value / dt
    return round(steps) >= 1 and abs(steps - round(steps)) <= _MULTIPLE * max(1.0, steps)


def is_sampled(check: Checker, rate: float, path: str) -> bool:
    """Whether samples of a rate come within steps that can be counted; a fault if not."""
    least = 1.0 / (check.spec.solver.dt * MOST_APART)
    if rate >= least:
        return True
    message = f"at a rate of {rate:.6g} Hz two samples are more than {MOST_APART:g} steps apart"
    check.fault("SC231", message, path, f"at least {least:.6g} Hz")
    return False


def check_times(check: Checker) -> None:
    """`duration` and `every` are whole multiples of dt."""
    dt = check.spec.solver.dt
    for path, value in (("run.duration", check.spec.run.duration), ("output.every", check.spec.output.every)):
        if value is None or ("solver", "") in check.broken or (path.split(".")[0], "") in check.broken:
            continue
        steps = value / dt
        if steps > MAX_STEPS:
            check.fault("SC418", f"`{path}` takes {steps:.3g} steps of {dt:g} s", path, "shorten it, or enlarge solver.dt")
        elif not is_whole_multiple(value, dt):
            nearest = max(1, round(steps)) * dt
            message = f"`{path}` of {value:.12g} s is not a whole multiple of dt = {dt:.12g} s"
            check.fault("SC407", message, path if check.has(path) else "solver.dt", f"the nearest is {nearest:.12g}")


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
TURNED = ("position", "velocity", "angular_velocity", "wrench")  # vectors that a measure takes in axes of a body


def check_measures(check: Checker) -> None:
    """All measures of the scene."""
    for name, spec in check.spec.measure.items():
        path = f"measure.{name}"
        if not _NAME.fullmatch(name):
            check.fault(
                "SC206",
                f"`{name}` cannot name a measure",
                ("measure", name),
                "use letters, digits, `_` and `-`, a letter first",
                on_key=True,
            )
            continue
        _check_measure(check, spec, path)


def _check_measure(check: Checker, spec: MeasureSpec, path: str) -> None:
    at = f"{path}.{spec.reduction}"
    if not known_quantity(check, spec.quantity, at):
        return
    check_parts(check, spec.quantity, at, path, spec.component, spec.norm)
    duration = check.spec.run.duration
    if spec.since > duration * (1 + 1e-12) and not check.broken & {("run", ""), ("solver", "")}:
        message = f"the measure begins at {spec.since:g} s, after the end of the run"
        check.fault("SC233", message, f"{path}.from", f"the run takes {duration:g} s", severity="warning")
    is_sensor = split_name(spec.quantity).group == "sensor"
    if spec.frame == "body" and (is_sensor or kind_of(spec.quantity) not in TURNED):
        check.fault("SC207", f"`{spec.quantity}` has no axes of a body", f"{path}.frame", "remove it")


_FRAME_TOLERANCE = 1e-3  # of a step: times of frames are k dt in floating point


def check_expectations(check: Checker) -> None:
    """Names, worlds and times of all expectations."""
    for index, expect in enumerate(check.spec.expect):
        path = f"expect[{index}]"
        _world(check, expect, path)
        if expect.measure is not None:
            _measure(check, expect, f"{path}.measure")
            continue
        key = next(key for key in ("max", "min", "quantity") if getattr(expect, key) is not None)
        subject = expect.subject
        if subject is None:
            known = known_channel(check, getattr(expect, key), f"{path}.{key}")
            if known and is_on_demand(expect.channel) and is_pattern(expect.channel):
                check.fault("SC315", f"`{expect.channel}` is a pattern", f"{path}.{key}", "write one expectation for each")
        else:
            known = known_subject(check, subject, getattr(expect, subject), f"{path}.{subject}")
        if known and not is_pattern(expect.channel):
            check_parts(check, expect.channel, f"{path}.{key}", path, expect.component, False)
            _expected_count(check, expect, f"{path}.equals")
        if known:
            _newer(check, _written(expect, key, subject), expect.channel, key, f"{path}.{key}")
        if isinstance(expect.at, float):
            _expected_time(check, expect.at, f"{path}.at")


def _world(check: Checker, expect: ExpectSpec, path: str) -> None:
    if expect.world is not None and expect.world >= check.n_worlds and ("batch", "") not in check.broken:
        check.fault("SC205", f"there are {check.n_worlds} worlds, counted from 0", f"{path}.world")


def _measure(check: Checker, expect: ExpectSpec, path: str) -> None:
    known = check.spec.measure
    if expect.measure not in known and ("measure", expect.measure) not in check.broken:
        hint = did_you_mean(expect.measure, known, "measures") if known else "write it below `measure`"
        check.fault("SC315", f"there is no measure `{expect.measure}`", path, hint)


def check_watched(check: Checker) -> None:
    """The quantity and the component that may end a world."""
    stop = check.spec.run.stop_when
    if stop is None:
        return
    path = "run.stop_when"
    at = f"{path}.joint" if stop.joint is not None else f"{path}.quantity"
    if not known_quantity(check, str(stop.channel) if stop.joint is None else "", at, stop.joint or ""):
        return
    check_parts(check, str(stop.channel), at, path, stop.component, stop.norm)
    written = stop.quantity if is_whole(stop.quantity) else f"{{joint: {stop.joint}, quantity: {stop.quantity}}}"
    _newer(check, written, str(stop.channel), "quantity", "run.stop_when.quantity")


def _written(expect: ExpectSpec, key: str, subject: str | None) -> str:
    text = getattr(expect, key)
    return text if subject is None else f"{{{subject}: {getattr(expect, subject)}, quantity: {text}}}"


def _newer(check: Checker, written: str, name: str, key: str, path: str) -> None:
    """A note on an older spelling, which goes on meaning the same."""
    if written != name:
        message = f"`{written}` is an older spelling of `{name}`"
        check.fault("SC318", message, path, f"write `{key}: {name}`", severity="note")


def _expected_count(check: Checker, expect: ExpectSpec, path: str) -> None:
    """`equals` has one value for all components, or one for each."""
    width = 1 if expect.component is not None else width_of(check, expect.channel)
    n = len(expect.equals or ())
    if width and n > 1 and n != width:
        hint = "write one value" if width == 1 else f"write {width} values, or name a `component`"
        check.fault("SC205", f"{n} values for the {width} component(s) of `{expect.channel}`", path, hint)


def _expected_time(check: Checker, at: float, path: str) -> None:
    """`at` is the time of a recorded frame: nothing is interpolated."""
    spec = check.spec
    if any((section, "") in check.broken for section in ("run", "output", "solver")):
        return
    if any(fault.code in ("SC407", "SC418") for fault in check.faults.found):
        return  # the frames are not known
    if at > spec.run.duration * (1 + 1e-12):
        hint = f"the run ends at {spec.run.duration:g} s"
        check.fault("SC233", f"the time {at:g} s is after the end of the run", path, hint)
        return
    every = spec.output.every or spec.solver.dt
    last = math.floor(spec.run.duration / every * (1 + 1e-12))
    frames = (min(round(at / every), last) * every, spec.run.duration)  # the run ends with a frame, too
    nearest = min(frames, key=lambda time: abs(at - time))
    if abs(at - nearest) > _FRAME_TOLERANCE * spec.solver.dt:
        message = f"no frame is recorded at {at:.12g} s: there is one every {every:.12g} s, and at the end"
        check.fault("SC233", message, path, f"the nearest is {nearest:.12g}")
