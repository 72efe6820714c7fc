"""Prescribed motions whose rate jumps in the midst of a run: what moves with them gets an impulse.

The impulse is that of the mass matrix in steps of first order, and in natural, maximal and affine coordinates. The nodes of
`rk4` and `implicit` see accelerations alone, which a jump of a rate has none of.
"""

from collections.abc import Iterator

from simcli.spec.checks.checker import Checker
from simcli.spec.honours.joint_fields import refuse_field
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.signals.signal import SignalSpec
from simcli.spec.values.quantities import is_signal

BLIND = ("rk4", "implicit")  # integrators of the generalized solver that pass no impulse on


def sudden_motions(spec: SceneSpec) -> Iterator[tuple[str, str]]:
    """Prescribed motions whose rate jumps while the scene runs: path of the number, and in words."""
    for path, words, number, is_position in _motions(spec):
        signal = spec.signals.get(str(number).removeprefix("$")) if is_signal(number) else None
        if signal is None:
            continue
        times = [t for t in _jumps(signal, is_position) if 0.0 < t < spec.run.duration]
        if times:
            yield path, f"the rate of the motion of {words} jumps at {min(times):g} s"
        elif _is_file(signal, is_position):
            yield path, f"the rate of the motion of {words} jumps at the times of its table"
    for event in spec.events:
        for path in event.set:
            keys = path.replace("[", ".").split(".")
            if "motion" in keys[2:] and "position" not in keys:
                yield "events", f"an event sets `{path}`, at which a rate jumps"


def check_sudden_motions(check: Checker) -> None:
    """Refuse prescribed motions whose impulses the chosen integrator would leave out."""
    spec = check.spec
    integrator = getattr(spec.solver, "integrator", "")
    if spec.solver.type != "generalized" or integrator not in BLIND:
        return
    for path, words in sudden_motions(spec):
        hint = "take semi_implicit or auto, or a table with `interpolate: cubic`"
        refuse_field(check, f"with {integrator} that {words}", path, hint)


def _motions(spec: SceneSpec) -> Iterator[tuple[str, str, object, bool]]:
    """Path, in words, what is written, and whether it is of a position; of all prescribed motions."""
    for name, joint in spec.joints.items():
        for motion in joint.motion or ():
            if motion is not None:
                key = "position" if motion.position is not None else "velocity"
                yield f"joints.{name}.motion", f"joint `{name}`", getattr(motion, key), key == "position"
    for name, body in spec.bodies.items():
        if body.motion is not None:
            for key in ("linear", "angular"):
                written = getattr(body.motion, key)
                for number in (written,) if isinstance(written, str) else written:
                    yield f"bodies.{name}.motion.{key}", f"body `{name}`", number, False


def _jumps(signal: SignalSpec, is_position: bool) -> list[float]:
    """[s], when a signal jumps; of a position when its slope does, too."""
    ramp, table = signal.ramp, signal.table
    if signal.step is not None:
        return [signal.step.time]
    if ramp is not None and is_position:
        return [ramp.start, ramp.end]
    if table is not None and table.time and (table.interpolate == "previous" or is_position):
        return _bends(table.time, table.value) if table.interpolate != "cubic" else []
    return []


def _is_file(signal: SignalSpec, is_position: bool) -> bool:
    """Whether a table that is read later jumps at its times, or has a slope that does."""
    table = signal.table
    return table is not None and bool(table.file) and (table.interpolate == "previous" or
                                                       (is_position and table.interpolate == "linear"))  # fmt: skip


def _bends(time: tuple[float, ...], value: tuple[float, ...]) -> list[float]:
    """[s], where straight lines from value to value meet at an angle; what is constant before and after them, too."""
    slopes = [(b - a) / (t - s) for s, t, a, b in zip(time, time[1:], value, value[1:], strict=False)]
    sides = zip([0.0, *slopes], [*slopes, 0.0], strict=True)
    return [t for t, (before, after) in zip(time, sides, strict=True) if before != after]
