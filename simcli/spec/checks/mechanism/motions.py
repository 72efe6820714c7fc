"""Prescribed motions: a position that jumps is refused.

It would need an infinite rate, and each solver would make another motion of it. A rate that jumps is an impulse, which all
solvers pass on.
"""

from simcli.spec.checks.checker import Checker
from simcli.spec.signals.signal import SignalSpec
from simcli.spec.values.quantities import is_signal


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


def _when_it_jumps(signal: SignalSpec, duration: float) -> str:
    """When a function of time jumps in a run, in words; "" if it does not."""
    step, table = signal.step, signal.table
    times = [step.time] if step is not None else []
    if table is not None and table.interpolate == "previous":
        if table.file:
            return "at the times of its table"
        pairs = zip(table.value, table.value[1:], strict=False)
        times = [t for t, (before, after) in zip(table.time[1:], pairs, strict=True) if before != after]
    times = [t for t in times if 0.0 < t <= duration]
    return f"at {min(times):g} s" if times else ""
