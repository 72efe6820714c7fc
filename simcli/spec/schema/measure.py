"""Schema of `measure`: numbers per world, found at every step."""

from typing import Literal

from pydantic import model_validator

from simcli.spec.names.channel_names import canonical
from simcli.spec.names.reductions import BOUNDED_REDUCTIONS, REDUCTIONS
from simcli.spec.schema.expect import Pair, component_behind
from simcli.spec.values.quantities import AnyNumber, Text, Time, Truth, count, doc, one_of, refuse
from simcli.spec.values.spec_model import SpecModel

Index = count(ge=0)  # `count` is a field below


class MeasureSpec(SpecModel):
    """One number per world and component: a quantity by its name, and how it is reduced over the steps of the run."""

    _behind = component_behind(*REDUCTIONS)

    max: Text | None = doc(None, "Largest value, and when", "", "joint.shaft.q")
    min: Text | None = doc(None, "Smallest value, and when", "", "body.load.position")
    max_abs: Text | None = doc(None, "Largest absolute value, and when", "", "joint.shaft.drive_effort")
    range: Text | None = doc(None, "Largest value less the smallest", "", "joint.arm.q")
    final: Text | None = doc(None, "Value at the last step", "", "body.load.position")
    mean: Text | None = doc(None, "Mean over time, by the trapezoidal rule", "", "joint.shaft.drive_effort")
    std: Text | None = doc(None, "Standard deviation over time, by the trapezoidal rule", "", "joint.shaft.qd")
    rms: Text | None = doc(None, "Root of the mean square, by the trapezoidal rule", "", "joint.shaft.drive_effort")
    integral: Text | None = doc(None, "Integral over time, by the trapezoidal rule", "", "joint.shaft.drive_effort")
    first: Text | None = doc(None, "Time at which it first is `above` or `below` a bound, on a line within the step", "",
                             "joint.door.q")
    last_outside: Text | None = doc(None, "Time of the last step at which it is not `within` bounds", "", "joint.arm.q")
    count: Text | None = doc(None, "How often it gets `above` or `below` a bound", "", "joint.arm.q")
    above: AnyNumber | None = doc(None, "Bound of `first` and `count`", "of the quantity", 1.0)
    below: AnyNumber | None = doc(None, "Bound of `first` and `count`", "of the quantity", -1.0)
    within: Pair | None = doc(None, "Bounds of `last_outside`", "of the quantity", [-0.01, 0.01])
    since: Time = doc(0.0, "First time that counts", "s", 1.0, alias="from")
    until: Time | None = doc(None, "Last time that counts; default: the end", "s", 2.0)
    component: Index | None = doc(None, "Only this component; default: each is measured", "", 2)
    norm: Truth = doc(False, "The Euclidean norm of the components", "", True)
    frame: Literal["world", "body"] = doc("world", "Axes of a vector of a body, or of a joint's child", "", "body")

    @model_validator(mode="after")
    def _shape(self) -> "MeasureSpec":
        reduction = one_of(self, REDUCTIONS)
        needed = BOUNDED_REDUCTIONS.get(reduction, ())
        for key in ("above", "below", "within"):
            if getattr(self, key) is not None and key not in needed:
                raise refuse("SC207", f"`{key}` does not go with `{reduction}`", "", key)
        if needed:
            one_of(self, needed)
        if self.within is not None and not self.within[0] <= self.within[1]:
            low, high = self.within
            raise refuse("SC232", f"`within` from {low:g} down to {high:g}", "write [low, high]", "within")
        if self.norm and self.component is not None:
            raise refuse("SC207", "`norm` and `component` contradict each other", "keep one of them", "component")
        if self.until is not None and self.until < self.since:
            raise refuse("SC232", f"`until` {self.until:g} s is before `from` {self.since:g} s", "", "until")
        return self

    @property
    def reduction(self) -> str:
        """The key that is written."""
        return next(name for name in REDUCTIONS if getattr(self, name) is not None)

    @property
    def quantity(self) -> str:
        """The name of what is measured, in its one spelling."""
        return canonical(getattr(self, self.reduction))
