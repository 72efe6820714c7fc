"""Prescribed motions: what leads them, when its value or its rate jumps; a position that jumps is refused.

A rate that jumps is an impulse, which integrators of first order pass on (honours/sudden_motions.py). A position that jumps
would need an infinite rate, and each solver would make another motion of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from simcli.spec.checks.checker import Checker
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.signals.signal import SignalSpec
from simcli.spec.values.quantities import is_signal


@dataclass(frozen=True)
class Prescription:
    """One number of a prescribed motion.

    Attributes:
        path: of the field.
        words: whose motion it is.
        number: as written.
        is_position: whether it prescribes a position; else a rate.
    """

    path: str
    words: str
    number: object
    is_position: bool

    def signal(self, spec: SceneSpec) -> SignalSpec | None:
        """The signal that leads it, if one does."""
        return spec.signals.get(str(self.number).removeprefix("$")) if is_signal(self.number) else None


def prescriptions(spec: SceneSpec) -> Iterator[Prescription]:
    """All numbers of prescribed motions."""
    for name, joint in spec.joints.items():
        for motion in joint.motion or ():
            if motion is not None:
                key = "position" if motion.position is not None else "velocity"
                yield Prescription(f"joints.{name}.motion", f"joint `{name}`", getattr(motion, key), key == "position")
    for name, body in spec.bodies.items():
        if body.motion is not None:
            for key in ("linear", "angular"):
                written = getattr(body.motion, key)
                for number in (written,) if isinstance(written, str) else written:
                    yield Prescription(f"bodies.{name}.motion.{key}", f"body `{name}`", number, False)


def check_motions(check: Checker) -> None:
    """Refuse positions that jump while the scene runs."""
    spec = check.spec
    for one in prescriptions(spec):
        signal = one.signal(spec)
        if signal is None or not one.is_position:
            continue
        times = [t for t in value_jumps(signal) if 0.0 < t <= spec.run.duration]
        when = f"at {min(times):g} s" if times else "at the times of its table" if _is_stairs(signal) else ""
        if when:
            hint = "let it move in a finite time: by a `ramp`, or a `table` with `interpolate: cubic`"
            check.fault("SC478", f"the prescribed position of {one.words} jumps {when}", one.path, hint)


def value_jumps(signal: SignalSpec) -> list[float]:
    """[s], when the value of a function of time jumps, as far as the scene says."""
    step, table = signal.step, signal.table
    if step is not None:
        return [step.time]
    if table is not None and table.time and table.interpolate == "previous":
        pairs = zip(table.value, table.value[1:], strict=False)
        return [t for t, (before, after) in zip(table.time[1:], pairs, strict=True) if before != after]
    return []


def slope_jumps(signal: SignalSpec) -> list[float]:
    """[s], when the slope of a function of time jumps, as far as the scene says."""
    ramp, table = signal.ramp, signal.table
    if ramp is not None:
        return [ramp.start, ramp.end]
    return _bends(table.time, table.value) if table is not None and table.time and table.interpolate == "linear" else []


def jumps_in_file(signal: SignalSpec, is_position: bool) -> bool:
    """Whether a table that is read later jumps at its times; of a position, whether its slope does."""
    table = signal.table
    jumps = _is_stairs(signal) or (is_position and table is not None and table.interpolate == "linear")
    return jumps and bool(table.file)


def _is_stairs(signal: SignalSpec) -> bool:
    """Whether a table of a file holds each value until the next time."""
    return signal.table is not None and bool(signal.table.file) and signal.table.interpolate == "previous"


def _bends(time: tuple[float, ...], value: tuple[float, ...]) -> list[float]:
    """[s], where straight lines from value to value meet at an angle; what is constant before and after them, too."""
    slopes = [(b - a) / (t - s) for s, t, a, b in zip(time, time[1:], value, value[1:], strict=False)]
    sides = zip([0.0, *slopes], [*slopes, 0.0], strict=True)
    return [t for t, (before, after) in zip(time, sides, strict=True) if before != after]
