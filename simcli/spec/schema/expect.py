"""Schema of `expect`, `run.stop_when` and `measure`: conditions on recorded quantities, and numbers found at each step."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, TypeAdapter, WithJsonSchema, WrapValidator, create_model, model_validator
from pydantic_core import PydanticCustomError

from simcli.spec.base.channel_names import (
    BOUNDED_REDUCTIONS,
    CHANNEL_GROUPS,
    REDUCTIONS,
    SCALARS,
    WATCHED,
    ChannelName,
    canonical,
    is_whole,
    pattern,
    split_name,
    with_component,
)
from simcli.spec.values.quantities import (
    REQUIRED,
    AnyNumber,
    Text,
    Time,
    Truth,
    count,
    doc,
    fixed_list,
    list_json,
    number_json,
    one_of,
    one_or_list_json,
    quantity,
    refuse,
)
from simcli.spec.values.spec_model import SpecModel

NotNegative = quantity(ge=0)
_TIME = TypeAdapter(Time)
_TIME_JSON = number_json("s", words=("end",), ge=0)
_SHORT = tuple(dict.fromkeys(name for names in CHANNEL_GROUPS.values() for name in names))
_INSTEAD = {
    "quantity": "use `below` or `above`",
    "equals": "use `below` or `above`",
    **dict.fromkeys(CHANNEL_GROUPS, "write the whole name, as joint.pin.q"),
}
_ALONE = tuple(f"{group}.{name}" for group, names in SCALARS.items() for name in names)


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


Pair = Annotated[
    tuple[AnyNumber, AnyNumber], BeforeValidator(fixed_list(2, "numbers")), WithJsonSchema(list_json(number_json(), 2, 2))
]
Values = Annotated[tuple[AnyNumber, ...], BeforeValidator(_listed), WithJsonSchema(one_or_list_json())]


def _named(*words: str) -> Any:
    """A whole name as `joint.pin.q`, which the references check, or one of a few words."""
    schema = {"anyOf": [{"enum": list(words)}, {"type": "string", "pattern": pattern()}]}
    whole = WrapValidator(lambda value, check: value if isinstance(value, str) and is_whole(value) else check(value))
    return Annotated[Literal[words], whole, WithJsonSchema(schema)]


def _twice(key: str, name: str) -> PydanticCustomError:
    return refuse("SC207", f"`{key}` and the whole name `{name}` contradict each other", f"remove `{key}`", key)


def component_behind(*keys: str) -> Any:
    """A validator of a part: the component may stand behind a name, as `body.crank.position.2`."""

    def validate(_cls, data: Any) -> Any:
        data, twice = with_component(data, keys)
        if twice:
            message = f"`component` and that of `{data[twice]}` contradict each other"
            raise refuse("SC207", message, "keep one of them", "component")
        return data

    return model_validator(mode="before")(classmethod(validate))


class StopSpec(SpecModel):
    """A condition that ends a world early, at the end of a step."""

    _behind = component_behind("quantity")

    quantity: _named(*WATCHED) = doc(REQUIRED, "What is watched", "", "joint.pin.q")
    joint: Text | None = doc(None, "Joint, where `quantity` is joint_q or joint_qd alone", "", "pin")
    component: count(ge=0) | None = doc(None, "Only this component; default: the first of q and qd, else any", "", 0)
    norm: Truth = doc(False, "The Euclidean norm of the components", "", True)
    above: AnyNumber | None = doc(None, "Stop when larger", "of the quantity", 3)
    below: AnyNumber | None = doc(None, "Stop when smaller", "of the quantity", -3)

    @model_validator(mode="after")
    def _shape(self) -> "StopSpec":
        name = self.quantity
        if not is_whole(name) and self.joint is None:
            raise refuse("SC202", "`joint` is missing", f"write `quantity: joint.NAME.{WATCHED[name]}`")
        if is_whole(name) and self.joint is not None:
            raise _twice("joint", name)
        if self.above is None and self.below is None:
            raise refuse("SC202", "one of `above`, `below` is missing", "add one of them")
        if self.norm and self.component is not None:
            raise refuse("SC207", "`norm` and `component` contradict each other", "keep one of them", "component")
        return self

    @property
    def watched(self) -> int | None:
        """The component that is watched; None for all of them, or their norm."""
        is_first = self.channel.group == "joint" and self.channel.quantity in WATCHED.values() and not self.norm
        return 0 if is_first and self.component is None else self.component

    @property
    def channel(self) -> ChannelName:
        """What is watched."""
        return (
            split_name(self.quantity)
            if is_whole(self.quantity)
            else ChannelName("joint", self.joint, WATCHED[self.quantity])
        )


def _when(value: object) -> object:
    if value == "end":
        return value
    return _TIME.validate_python(value)


class ExpectSpec(SpecModel):
    """One acceptance test of the result."""

    _behind = component_behind("max", "min", "quantity")

    max: Text | None = doc(None, "Largest absolute value over time of a quantity by its name", "", "energy.drift")
    min: Text | None = doc(None, "Smallest value over time of a quantity by its name", "", "joint.pin.q")
    measure: Text | None = doc(None, "A measure by its name", "", "peak")
    at: Annotated[float | Literal["end"], BeforeValidator(_when), WithJsonSchema(_TIME_JSON)] | None = doc(
        None, "Time of the frame, or end", "s", 2.0
    )
    body: Text | None = doc(None, "Body, where `quantity` is no whole name", "", "crank")
    joint: Text | None = doc(None, "Joint, where `quantity` is no whole name", "", "pin")
    point: Text | None = doc(None, "Named point, as body/point, where `quantity` is no whole name", "", "crank/b")
    quantity: _named(*_SHORT, *_ALONE) | None = doc(None, "What is compared, by its name", "", "body.crank.position")
    component: count(ge=0) | None = doc(None, "Only this component", "", 2)
    world: count(ge=0) | None = doc(None, "Only this world; default: every world", "", 0)
    equals: Values | None = doc(None, "Expected value(s)", "of the quantity", [0.1, 0.0, 0.2])
    within: NotNegative | None = doc(None, "Largest difference", "of the quantity", 1e-6)
    below: AnyNumber | None = doc(None, "Upper bound", "of the quantity", 1e-6)
    above: AnyNumber | None = doc(None, "Lower bound", "of the quantity", -1e-6)

    @model_validator(mode="after")
    def _shape(self) -> "ExpectSpec":
        subject = one_of(self, ("max", "min", "measure", "at"))
        if subject == "at":
            _check_quantity(self)
        others = {"at": (), "measure": ("quantity", *CHANNEL_GROUPS)}.get(subject, ("quantity", "equals", *CHANNEL_GROUPS))
        extra = [key for key in others if getattr(self, key) is not None]
        if extra:
            raise refuse("SC207", f"`{extra[0]}` goes with `at`, not with `{subject}`", _INSTEAD.get(extra[0], ""), extra[0])
        if self.equals is None and self.below is None and self.above is None:
            raise refuse("SC202", "one of `equals`, `below`, `above` is missing", "add one of them")
        if (self.equals is None) != (self.within is None):
            lacking = "within" if self.within is None else "equals"
            raise refuse("SC202", f"`{lacking}` is missing", "`equals` and `within` go together")
        return self

    @property
    def subject(self) -> str | None:
        """The key that names whose quantity it is; None where the name is whole."""
        return next((group for group in CHANNEL_GROUPS if getattr(self, group) is not None), None)

    @property
    def channel(self) -> str:
        """The name of what is compared, in its one spelling."""
        if self.measure:
            return f"measure.{self.measure}"
        text = self.max or self.min or self.quantity
        return canonical(text) if self.subject is None else f"{self.subject}.{getattr(self, self.subject)}.{text}"


def _check_quantity(expect: ExpectSpec) -> None:
    if expect.quantity is None:
        raise refuse("SC202", "`quantity` is missing", "as `quantity: body.rod.position`")
    whole = is_whole(expect.quantity)
    subject = one_of(expect, tuple(CHANNEL_GROUPS), required=not whole)
    if whole and subject:
        raise _twice(subject, expect.quantity)
    if not whole and expect.quantity not in CHANNEL_GROUPS[subject]:
        raise refuse("SC207", f"there is no `{expect.quantity}` of a {subject}", "", "quantity")


Index = count(ge=0)  # `count` is a field below


_KEYS: dict[str, Any] = {name: (Text | None, doc(None, one.help, "", one.example)) for name, one in REDUCTIONS.items()}
_Reduced: Any = create_model("_Reduced", __base__=SpecModel, **_KEYS)


class MeasureSpec(_Reduced):
    """One number per world and component: a quantity by its name, and how it is reduced over the steps of the run."""

    _behind = component_behind(*REDUCTIONS)

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
