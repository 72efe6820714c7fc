"""Schema of forces, signals, events, contact, initial state, run, output, batch and expectations."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.forces.base import listed_forces
from simcli.spec.schema.expect import StopSpec, Values
from simcli.spec.schema.select import SelectSpec
from simcli.spec.values.quantities import (
    REQUIRED,
    AnyNumber,
    Part,
    PositiveTime,
    Text,
    Time,
    Truth,
    doc,
    fixed_list,
    list_json,
    number_json,
    one_of,
    one_or_list_json,
    quantity,
    refuse,
)


class SineSignal(Part):
    """offset + amplitude sin(2 pi frequency t + phase)."""

    amplitude: AnyNumber = doc(REQUIRED, "Amplitude", "of the driven quantity", 1)
    frequency: quantity("cycle/s") = doc(REQUIRED, "Frequency", "Hz", 0.5)
    phase: quantity("rad") = doc(0.0, "Phase at t = 0", "rad", 0)
    offset: AnyNumber = doc(0.0, "Mean", "of the driven quantity", 0)


class StepSignal(Part):
    """One value before a time, another after."""

    before: AnyNumber = doc(0.0, "Value before", "of the driven quantity", 0)
    after: AnyNumber = doc(REQUIRED, "Value from `time` on", "of the driven quantity", 1)
    time: Time = doc(REQUIRED, "Time of the step", "s", 0.5)


class RampSignal(Part):
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


class ChirpSignal(Part):
    """A sine whose frequency goes linearly from f0 to f1."""

    amplitude: AnyNumber = doc(REQUIRED, "Amplitude", "of the driven quantity", 1)
    f0: quantity("cycle/s") = doc(REQUIRED, "First frequency", "Hz", 0.1)
    f1: quantity("cycle/s") = doc(REQUIRED, "Last frequency", "Hz", 10)
    duration: PositiveTime = doc(REQUIRED, "Time from f0 to f1", "s", 10)


class TableSignal(Part):
    """Values over time, from the scene or a CSV file of two columns."""

    time: tuple[Time, ...] | None = doc(None, "Times, rising", "s", [0, 1, 2])
    value: tuple[AnyNumber, ...] | None = doc(None, "Values, one per time", "of the driven quantity", [0, 1, 0])
    file: Text | None = doc(None, "CSV file, relative to the scene", "", "x.csv")
    interpolate: Literal["linear", "cubic", "previous"] = doc("linear", "Between the times", "", "cubic")

    @model_validator(mode="after")
    def _source(self) -> "TableSignal":
        one_of(self, ("time", "file"))
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


class SignalSpec(Part):
    """A function of time."""

    constant: Values | None = doc(None, "A constant", "of the driven quantity", 1.0)
    sine: SineSignal | None = doc(None, "A sine", "", "{amplitude: 1, frequency: 0.5}")
    step: StepSignal | None = doc(None, "A step", "", "{after: 1, time: 0.5}")
    ramp: RampSignal | None = doc(None, "A ramp", "", "{to: 1, end: 2}")
    chirp: ChirpSignal | None = doc(None, "A chirp", "", "{amplitude: 1, f0: 0.1, f1: 10, duration: 10}")
    table: TableSignal | None = doc(None, "A table", "", "{time: [0, 1], value: [0, 1]}")

    @model_validator(mode="after")
    def _one(self) -> "SignalSpec":
        one_of(self, tuple(type(self).model_fields))
        if self.constant == ():
            raise refuse("SC205", "`constant` is empty", "write at least one number", "constant")
        return self


class EventSpec(Part):
    """Values that change during the run."""

    at: Time = doc(REQUIRED, "Time: the first step start at or after it", "s", 1.5)
    set: dict[str, Any] = doc(REQUIRED, "Dotted path to new value", "", "{joints.pin.enabled: false}", min_length=1)


StartValue = Annotated[
    tuple[AnyNumber, ...] | Literal["center"],
    BeforeValidator(lambda value: value if value == "center" else listed_forces(value)),
    WithJsonSchema(one_or_list_json(words=("center",))),
]


class InitialSpec(Part):
    """Initial joint coordinates by name or pattern; beats the joints' own q and qd."""

    joint_q: dict[str, StartValue] = doc(dict, "Coordinates; center: the middle of the limits", "rad or m", "{pin: 0.2}")
    joint_qd: dict[str, Values] = doc(dict, "Velocities", "rad/s or m/s", "{pin: 1.0}")
    assemble: Truth | None = doc(None, "Close loops before t = 0 (default); false: gaps are refused", "", True)


class UnsolvedSpec(Part):
    """What a run comes to if steps leave their equations unsolved; `on_unsolved: fail` for short."""

    action: Literal["warn", "fail"] = doc("warn", "The worst step is told; with fail the exit code is 4", "", "fail")
    above: quantity("m/s", ge=0) = doc(0.0, "What a step may lack without a word, where that is more than the tolerance of "
                                       "the solver", "m/s", 1e-3)  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"action": value} if isinstance(value, str) else value


class RunSpec(Part):
    """How long, and what happens on failure."""

    duration: PositiveTime = doc(1.0, "Simulated time, a whole multiple of dt; it ends with a frame", "s", 10)
    on_failure: Literal["isolate", "stop"] = doc("isolate", "A failed world is frozen, or stops the run", "", "stop")
    on_unsolved: UnsolvedSpec = doc(UnsolvedSpec, "Steps that are not solved: warn, fail, or {action, above}", "", "fail")
    stop_when: StopSpec | None = doc(None, "Ends a world early", "", "{quantity: joint.pin.q, above: 3}")


_Channel = Literal["state", "joints", "bodies", "energy", "contacts", "reactions", "body_qdd"]


class OutputSpec(Part):
    """What is written."""

    every: PositiveTime | None = doc(None, "Time between frames, a whole multiple of dt; default: about 0.01 s", "s", 0.01)
    channels: tuple[_Channel, ...] = doc(
        ("state", "energy"), "Groups of results; state is joints and bodies", "", "[state, energy]"
    )
    quantities: tuple[Text, ...] = doc(
        (), "What else frames hold: drive_effort, drive_power, distance, contact, sensor", "", "[joint.pin.drive_effort]"
    )
    select: SelectSpec | None = doc(None, "Which bodies and joints, by name or pattern; default: all", "", "[arm*]")
    dtype: Literal["float64", "float32"] = doc("float64", "Precision in the file", "", "float32")


Pair = Annotated[
    tuple[AnyNumber, AnyNumber], BeforeValidator(fixed_list(2, "numbers")), WithJsonSchema(list_json(number_json(), 2, 2))
]
