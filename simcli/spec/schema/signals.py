"""Schema of signals, functions of time and laws that follow what bodies do, and of the drives and motions they prescribe."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema, WrapValidator, model_validator

from simcli.spec.schema.expect import Values
from simcli.spec.schema.force_base import EffortCurve
from simcli.spec.values.quantities import (
    REQUIRED,
    AnyNumber,
    AtLeastZero,
    PositiveTime,
    Text,
    Time,
    doc,
    drivable,
    fixed_list,
    list_json,
    number_json,
    one_of,
    quantity,
    refuse,
    spell,
)
from simcli.spec.values.spec_model import SpecModel
from simcli.spec.values.varied import Varied, VariedFormula


class SineSignal(SpecModel):
    """offset + amplitude sin(2 pi frequency t + phase)."""

    amplitude: AnyNumber = doc(REQUIRED, "Amplitude", "of the driven quantity", 1)
    frequency: quantity("cycle/s") = doc(REQUIRED, "Frequency", "Hz", 0.5)
    phase: quantity("rad") = doc(0.0, "Phase at t = 0", "rad", 0)
    offset: AnyNumber = doc(0.0, "Mean", "of the driven quantity", 0)


class StepSignal(SpecModel):
    """One value before a time, another after."""

    before: AnyNumber = doc(0.0, "Value before", "of the driven quantity", 0)
    after: AnyNumber = doc(REQUIRED, "Value from `time` on", "of the driven quantity", 1)
    time: Time = doc(REQUIRED, "Time of the step", "s", 0.5)


class RampSignal(SpecModel):
    """A straight line between two times, constant outside."""

    from_: AnyNumber = doc(0.0, "Value up to `start`", "of the driven quantity", 0, alias="from")
    to: AnyNumber = doc(REQUIRED, "Value after `end`", "of the driven quantity", 1)
    start: Time = doc(0.0, "Start", "s", 0)
    end: Time = doc(REQUIRED, "End", "s", 2)

    @model_validator(mode="after")
    def _rises(self) -> "RampSignal":
        if self.end <= self.start:
            raise refuse("SC232", f"a ramp from {self.start:g} s to {self.end:g} s", "write start < end", "end")
        return self


class ChirpSignal(SpecModel):
    """A sine whose frequency goes linearly from f0 to f1."""

    amplitude: AnyNumber = doc(REQUIRED, "Amplitude", "of the driven quantity", 1)
    f0: quantity("cycle/s") = doc(REQUIRED, "First frequency", "Hz", 0.1)
    f1: quantity("cycle/s") = doc(REQUIRED, "Last frequency", "Hz", 10)
    duration: PositiveTime = doc(REQUIRED, "Time from f0 to f1", "s", 10)


class TableSignal(SpecModel):
    """Values over time, from the scene or two columns of a CSV file."""

    time: tuple[Time, ...] | None = doc(None, "Times, rising", "s", [0, 1, 2])
    value: tuple[AnyNumber, ...] | None = doc(None, "Values, one per time", "of the driven quantity", [0, 1, 0])
    file: Text | None = doc(None, "CSV file, relative to the scene", "", "x.csv")
    column: Text | None = doc(
        None,
        'Header of the values; "*": of each joint that takes the signal the column of its name; '
        "default: the second of two columns",
        "",
        "shoulder",
    )
    time_column: Text | None = doc(None, "Header of the times; default: the first column", "", "t")
    interpolate: Literal["linear", "cubic", "previous"] = doc(
        "linear", "Between the times; `cubic` is a spline with not-a-knot ends", "", "cubic"
    )

    @model_validator(mode="after")
    def _source(self) -> "TableSignal":
        one_of(self, ("time", "file"))
        extra = next((key for key in ("column", "time_column") if getattr(self, key) is not None), None)
        if self.file is None and extra:
            raise refuse("SC207", f"`{extra}` names a column of a file", "write `file`, or leave it out", extra)
        if self.time_column is not None and self.column is None:
            raise refuse("SC202", "`column` is missing", "name the column of the values as well")
        if self.time is None:
            if self.value is not None:
                raise refuse("SC207", "`value` stands beside `file`", "leave out one of them", "value")
            return self
        if not self.time:
            raise refuse("SC205", "a table without times", "write at least one time and value", "time")
        if self.value is None:
            raise refuse("SC202", "`value` is missing", "write one value per time")
        if len(self.value) != len(self.time):
            raise refuse(
                "SC205", f"{len(self.value)} values for {len(self.time)} times", "write one value per time", "value"
            )
        if any(b <= a for a, b in zip(self.time, self.time[1:], strict=False)):
            raise refuse("SC232", "the times do not rise", "sort them", "time")
        return self


_PLUS = "a number, `$signal`, or an expression"


def _formula(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise refuse("SC203", f"{spell(value)} is no expression", 'write a text, as "-20*{joint.pin.q}"')
    if isinstance(value, str):
        name = value.strip()
        return f"{{signal.{name[1:]}}}" if name.startswith("$") else value
    return repr(float(value))


def _formula_of_worlds(value: object, check: Callable[[object], object]) -> object:
    if type(value) is Varied:
        return VariedFormula("{number.0}", [value], lambda numbers: repr(numbers[0]))
    return value if type(value) is VariedFormula else check(_formula(value))


# Arithmetic on quantities in braces, as it is written; a number and `$signal` stand for themselves.
Formula = Annotated[str, WrapValidator(_formula_of_worlds), WithJsonSchema({"type": ["string", "number"]})]
Range = Annotated[
    tuple[AnyNumber, AnyNumber],
    BeforeValidator(fixed_list(2, "numbers")),
    WithJsonSchema(list_json(number_json(), 2, 2)),
]


class PidSignal(SpecModel):
    """Proportional, integral and derivative feedback of an error, target less input."""

    input: Formula = doc(REQUIRED, "What is controlled, an expression", "", "{joint.pin.q}")
    target: Formula = doc("0", f"Where it shall be: {_PLUS}", "", 0.5)
    kp: AnyNumber = doc(0.0, "Gain of the error", "", 20)
    ki: AnyNumber = doc(0.0, "Gain of its integral", "", 5)
    kd: AnyNumber = doc(0.0, "Gain of its derivative", "", 2)
    derivative_filter: Time = doc(0.0, "Time constant that the derivative is smoothed with", "s", 0.01)
    limits: Range | None = doc(None, "Lowest and highest output", "of the driven quantity", [-5, 5])
    anti_windup: Literal["clamp", "back_calculation"] = doc(
        "clamp", "What holds the integral while the output is at a limit", "", "back_calculation"
    )
    tracking_time: PositiveTime | None = doc(None, "Time constant of back_calculation", "s", 0.1)

    @model_validator(mode="after")
    def _windup(self) -> "PidSignal":
        ordered(self.limits)
        tracks = self.anti_windup == "back_calculation"
        if tracks and self.tracking_time is None:
            raise refuse("SC202", "`tracking_time` is missing", "back_calculation draws the integral back within this time")
        if self.tracking_time is not None and not tracks:
            raise refuse("SC207", "`tracking_time` goes with `anti_windup: back_calculation`", "", "tracking_time")
        if tracks and self.limits is None:
            raise refuse("SC202", "`limits` is missing", "without limits no integral winds up: remove `anti_windup`")
        return self


class ActivationSpec(SpecModel):
    """A first-order lag between what a drive is told and what it does: time_constant y' = target - y."""

    time_constant: PositiveTime | None = doc(None, "Time constant", "s", 0.05)
    rise: PositiveTime | None = doc(None, "Instead, with `fall`: time constant while the value rises", "s", 0.01)
    fall: PositiveTime | None = doc(None, "Time constant while it falls", "s", 0.04)
    initial: AnyNumber = doc(0.0, "Value at t = 0", "of the driven quantity", 0)
    method: Literal["exact", "euler"] = doc("exact", "Its step: exact for an input that is held, or Euler's", "", "euler")
    law: Literal["first_order", "muscle"] = doc(
        "first_order", "muscle: `rise` times 0.5 + 1.5 y, `fall` over that, and values from 0 to 1", "", "muscle"
    )
    smoothing: AtLeastZero = doc(0.0, "Of law muscle: width of target - y in which `fall` becomes `rise`", "", 0.2)

    @model_validator(mode="after")
    def _timed(self) -> "ActivationSpec":
        apart = [key for key in ("rise", "fall") if getattr(self, key) is not None]
        if self.time_constant is not None and apart:
            message = f"`{apart[0]}` stands beside `time_constant`"
            raise refuse("SC207", message, "write `rise` and `fall`, or `time_constant` alone", apart[0])
        if len(apart) == 1:
            lacking = "fall" if apart == ["rise"] else "rise"
            raise refuse("SC202", f"`{lacking}` is missing", f"write it beside `{apart[0]}`, or `time_constant` alone")
        if self.time_constant is None and not apart:
            raise refuse("SC202", "`time_constant` is missing", "write time_constant: 0.05, or rise and fall")
        if self.law == "muscle" and not apart:
            raise refuse(
                "SC202", "`rise` is missing", "the law of a muscle has `rise` and `fall`: 10 ms and 40 ms, as in MuJoCo"
            )
        if self.smoothing and self.law != "muscle":
            raise refuse("SC207", "`smoothing` goes with law: muscle", "", "smoothing")
        return self


class FilterSignal(ActivationSpec):
    """A first-order lag: time_constant y' = input - y."""

    input: Formula = doc(REQUIRED, f"What is followed: {_PLUS}", "", "$u")


def ordered(limits: tuple[float, float] | None) -> None:
    """Refuse limits in the wrong order."""
    if limits is not None and limits[0] > limits[1]:
        low, high = limits
        raise refuse("SC232", f"`limits` from {low:g} down to {high:g}", "write [lowest, highest]", "limits")


FEEDBACK = ("expression", "pid", "filter")  # kinds whose values depend on the motion
_SAMPLED = ("rate", "delay", "limits")  # of these kinds


class SignalSpec(SpecModel):
    """A function of time, or of what the bodies do."""

    constant: Values | None = doc(None, "A constant", "of the driven quantity", 1.0)
    sine: SineSignal | None = doc(None, "A sine", "", "{amplitude: 1, frequency: 0.5}")
    step: StepSignal | None = doc(None, "A step", "", "{after: 1, time: 0.5}")
    ramp: RampSignal | None = doc(None, "A ramp", "", "{to: 1, end: 2}")
    chirp: ChirpSignal | None = doc(None, "A chirp", "", "{amplitude: 1, f0: 0.1, f1: 10, duration: 10}")
    table: TableSignal | None = doc(None, "A table", "", "{time: [0, 1], value: [0, 1]}")
    expression: Formula | None = doc(
        None, "Arithmetic on quantities in braces, which is feedback", "of the driven quantity", '"-20*{joint.pin.q}"'
    )
    pid: PidSignal | None = doc(None, "A PID controller", "", '{input: "{joint.pin.q}", kp: 20, kd: 2}')
    filter: FilterSignal | None = doc(None, "A first-order lag", "", "{input: $u, time_constant: 0.05}")
    rate: quantity("cycle/s", gt=0) | None = doc(
        None, "Samples per second of feedback; default: one at each step", "Hz", "1 kHz"
    )
    delay: Time = doc(0.0, "Time from a sample of feedback to its effect", "s", "2 ms")
    limits: Range | None = doc(None, "Lowest and highest value of feedback", "of the driven quantity", [-5, 5])

    @model_validator(mode="after")
    def _one(self) -> "SignalSpec":
        kind = one_of(self, tuple(name for name in type(self).model_fields if name not in _SAMPLED))
        if self.constant == ():
            raise refuse("SC205", "`constant` is empty", "write at least one number", "constant")
        extra = [name for name in _SAMPLED if getattr(self, name)] if kind not in FEEDBACK else ()
        if extra:
            raise refuse("SC207", f"`{extra[0]}` goes with {', '.join(FEEDBACK)}, not with `{kind}`", "", extra[0])
        ordered(self.limits)
        return self

    @property
    def kind(self) -> str:
        """The key that is written, as `sine`."""
        return next(name for name in type(self).model_fields if getattr(self, name) is not None and name not in _SAMPLED)

    @property
    def is_feedback(self) -> bool:
        """Whether its value depends on the motion."""
        return self.kind in FEEDBACK

    def formulas(self) -> dict[str, str]:
        """Its expressions, by the keys below the signal, as `pid.input`."""
        part = getattr(self, self.kind)
        if self.kind == "expression":
            return {"expression": part}
        keys = {"pid": ("input", "target"), "filter": ("input",)}.get(self.kind, ())
        return {f"{self.kind}.{key}": getattr(part, key) for key in keys}


_OF_ONE_DOF = ("target", "target_velocity", "stiffness", "damping", "effort_limit", "position", "velocity")


def _of_one_dof(key: str, value: Any) -> Any:
    """What is written for one dof; refuses a list of numbers in it, and says how to write one for each dof."""
    written = value.items() if isinstance(value, dict) else ()
    many = [(name, one) for name, one in written if isinstance(one, list | tuple) and name in _OF_ONE_DOF]
    for name, numbers in many[:1]:
        rest = ", ".join(f"{other}: {one}" for other, one in value.items() if not isinstance(one, list | tuple))
        each = ", ".join(f"{{{f'{rest}, ' if rest else ''}{name}: {number}}}" for number in numbers)
        message = f"`{name}` is one number, that of one dof, and has {len(numbers)}"
        raise refuse("SC203", message, f"write one {key} for each dof of the joint: {key}: [{each}]", name)
    return value


class DriveSpec(SpecModel):
    """An actuator on one dof."""

    mode: Literal["position", "velocity", "position_velocity", "effort"] = doc(
        REQUIRED, "What the drive follows. effort: `target` is the effort; velocity: `target_velocity` alone", "", "position"
    )
    target: drivable() = doc(
        0.0, "Target position, or effort in effort mode, of one dof; a number or `$signal`", "rad, m, N or N*m", 0.5
    )
    target_velocity: drivable() = doc(0.0, "Target velocity; a number or `$signal`", "rad/s or m/s", 0.0)
    stiffness: quantity(ge=0) = doc(0.0, "Stiffness of the position error", "N*m/rad or N/m", 100)
    damping: quantity(ge=0) = doc(0.0, "Damping of the velocity error", "N*m*s/rad or N*s/m", 5)
    effort_limit: quantity(ge=0) | None = doc(None, "Largest effort of the drive", "N*m or N", 20)
    effort_limit_table: EffortCurve | None = doc(
        None, "Instead: largest effort by speed, as of a motor", "", "{speed: [0, 100, 200], effort: [5, 5, 0]}"
    )
    activation: ActivationSpec | None = doc(None, "Lag of `target`, alone", "", "{time_constant: 0.05}")

    @model_validator(mode="after")
    def _limited_once(self) -> "DriveSpec":
        if self.effort_limit is not None and self.effort_limit_table is not None:
            raise refuse(
                "SC207", "`effort_limit_table` stands in place of `effort_limit`", "keep one of them", "effort_limit"
            )
        return self

    @property
    def largest_effort(self) -> float | None:
        """Its effort limit at the speed where that is largest; None without one."""
        return self.effort_limit if self.effort_limit_table is None else max(self.effort_limit_table.effort)

    @model_validator(mode="after")
    def _lagged(self) -> "DriveSpec":
        if self.activation is not None and self.mode.startswith("position") and self.target_velocity != 0.0:
            hint = "remove it, or let `target_velocity` and `target` follow signals with a filter, without `activation`"
            raise refuse(
                "SC484", "`activation` lags `target` alone, and this drive has a `target_velocity`", hint, "target_velocity"
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def _one_dof(cls, value: Any) -> Any:
        return _of_one_dof("drive", value)

    @property
    def direct_target(self) -> float | str:
        """The target that the law of the drive reads itself; 0 where it reads that of the activation."""
        return 0.0 if self.activation is not None else self.target


class JointMotionSpec(SpecModel):
    """An ideal drive of one dof: the coordinate follows exactly; what that takes is its drive_effort."""

    position: drivable() | None = doc(None, "Prescribed coordinate; a number or `$signal`", "rad or m", "$sweep")
    velocity: drivable() | None = doc(None, "Prescribed velocity; a number or `$signal`", "rad/s or m/s", 3.0)

    @model_validator(mode="before")
    @classmethod
    def _one_dof(cls, value: Any) -> Any:
        return _of_one_dof("motion", value)

    @model_validator(mode="after")
    def _one(self) -> "JointMotionSpec":
        one_of(self, ("position", "velocity"))
        return self
