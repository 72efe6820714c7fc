"""Signals that are functions of time."""

from typing import Literal

from pydantic import model_validator

from simcli.spec.values.quantities import REQUIRED, AnyNumber, PositiveTime, Text, Time, doc, one_of, quantity, refuse
from simcli.spec.values.spec_model import SpecModel


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
    column: Text | None = doc(None, 'Header of the values; "*": of each joint that takes the signal the column of its name; '
                              "default: the second of two columns", "", "shoulder")  # fmt: skip
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
