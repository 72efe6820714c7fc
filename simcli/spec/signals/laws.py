"""Laws of signals that follow what the bodies do: expressions, PID controllers, lags."""

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema, WrapValidator, model_validator

from simcli.spec.values.quantities import (
    REQUIRED,
    AnyNumber,
    PositiveTime,
    Time,
    doc,
    fixed_list,
    list_json,
    number_json,
    refuse,
    spell,
)
from simcli.spec.values.spec_model import SpecModel
from simcli.spec.values.varied import Varied, VariedFormula

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
        "clamp", "What holds the integral while the output is at a limit", "", "back_calculation")  # fmt: skip
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

    time_constant: PositiveTime = doc(REQUIRED, "Time constant", "s", 0.05)
    initial: AnyNumber = doc(0.0, "Value at t = 0", "of the driven quantity", 0)
    method: Literal["exact", "euler"] = doc("exact", "Its step: exact for an input that is held, or Euler's", "", "euler")


class FilterSignal(ActivationSpec):
    """A first-order lag: time_constant y' = input - y."""

    input: Formula = doc(REQUIRED, f"What is followed: {_PLUS}", "", "$u")


def ordered(limits: tuple[float, float] | None) -> None:
    """Refuse limits in the wrong order."""
    if limits is not None and limits[0] > limits[1]:
        low, high = limits
        raise refuse("SC232", f"`limits` from {low:g} down to {high:g}", "write [lowest, highest]", "limits")
