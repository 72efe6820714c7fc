"""A signal: one of its kinds, and how feedback is sampled."""

from pydantic import model_validator

from simcli.spec.schema.expect import Values
from simcli.spec.signals.functions import ChirpSignal, RampSignal, SineSignal, StepSignal, TableSignal
from simcli.spec.signals.laws import FilterSignal, Formula, PidSignal, Range, ordered
from simcli.spec.values.quantities import Time, doc, one_of, quantity, refuse
from simcli.spec.values.spec_model import SpecModel

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
    expression: Formula | None = doc(None, "Arithmetic on quantities in braces, which is feedback", "of the driven quantity",
                                     '"-20*{joint.pin.q}"')  # fmt: skip
    pid: PidSignal | None = doc(None, "A PID controller", "", '{input: "{joint.pin.q}", kp: 20, kd: 2}')
    filter: FilterSignal | None = doc(None, "A first-order lag", "", "{input: $u, time_constant: 0.05}")
    rate: quantity("cycle/s", gt=0) | None = doc(None, "Samples per second of feedback; default: one at each step", "Hz",
                                                 "1 kHz")  # fmt: skip
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
