"""Prescribed motions: a position that jumps is refused; which rates jump.

It would need an infinite rate, and each solver would make another motion of it. A rate that jumps is an impulse, which all
solvers pass on.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from simcli.spec.checks.checker import Checker
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.signals.signal import SignalSpec
from simcli.spec.values.quantities import is_signal

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
    found = [(f"joint `{name}`", motion.position, _when_it_bends) for name, joint in spec.joints.items()
             for motion in joint.motion or () if motion is not None]  # fmt: skip
    found += [(f"joint `{name}`", motion.velocity, _when_it_jumps) for name, joint in spec.joints.items()
              for motion in joint.motion or () if motion is not None]  # fmt: skip
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
