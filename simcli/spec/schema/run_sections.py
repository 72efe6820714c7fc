"""Schema of events, keyframes, the initial state, run and output, and of a selection of bodies and joints."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.output_channels import OUTPUT_CHANNELS
from simcli.spec.schema.expect import StopSpec, Values
from simcli.spec.schema.force_base import listed_forces
from simcli.spec.schema.joint import JointType
from simcli.spec.values.quantities import (
    REQUIRED,
    AnyNumber,
    PositiveTime,
    Text,
    Time,
    Truth,
    doc,
    one_of,
    one_or_list_json,
    quantity,
    refuse,
    spell,
)
from simcli.spec.values.spec_model import SpecModel


class SelectSpec(SpecModel):
    """Bodies and joints by name or pattern: a list of patterns, or what to keep and what to leave out.

    A pattern fits a body, a joint, or a listed articulation, which stands for all of its joints and bodies. Kept are
    `include` and the joints of `types`, or everything if neither is written; then `exclude` and `exclude_types` go.
    """

    include: tuple[Text, ...] | None = doc(None, "Names or patterns that are kept", "", "[arm*]")
    exclude: tuple[Text, ...] = doc((), "Names or patterns that are left out", "", "[gripper*]")
    types: tuple[JointType, ...] | None = doc(None, "Types of joints that are kept", "", "[revolute]")
    exclude_types: tuple[JointType, ...] = doc((), "Types of joints that are left out", "", "[fixed]")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return {"include": value}
        if not isinstance(value, dict | cls):
            hint = 'write a list of patterns as ["arm*"], or {include: [..], exclude: [..]}'
            raise refuse("SC203", f"`select` must be a list or a mapping, not {spell(value)}", hint)
        return value


def _spell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_spell, value)) + "]"
    return str(value)


class CrossingSpec(SpecModel):
    """Bound of a quantity beyond which an event takes place."""

    above: AnyNumber | None = doc(None, "When larger", "of the quantity", 1.0)
    below: AnyNumber | None = doc(None, "When smaller", "of the quantity", -1.0)

    @model_validator(mode="after")
    def _one(self) -> "CrossingSpec":
        one_of(self, ("above", "below"))
        return self

    @property
    def bound(self) -> float:
        """The bound that is written."""
        return self.below if self.above is None else self.above


class EventSpec(SpecModel):
    """Values that change during the run, at a time, or in each world when a quantity crosses a bound."""

    at: Time | None = doc(None, "Time: the first step start at or after it", "s", 1.5)
    when: dict[str, CrossingSpec] | None = doc(
        None,
        "Quantity and bound: the first step start at which it is beyond",
        "",
        "{joint.pin.q: {above: 1}}",
        min_length=1,
        max_length=1,
    )
    repeat: Truth = doc(False, "Of `when`: each time it crosses; default: once", "", True)
    set: dict[str, Any] = doc(REQUIRED, "Dotted path to new value", "", "{joints.pin.enabled: false}", min_length=1)

    @model_validator(mode="after")
    def _when(self) -> "EventSpec":
        one_of(self, ("at", "when"))
        if self.repeat and self.when is None:
            raise refuse("SC207", "`repeat` goes with `when`, not with `at`", "write an event for each time", "repeat")
        return self

    @property
    def crossing(self) -> tuple[str, CrossingSpec]:
        """The quantity of `when`, and its bound."""
        return next(iter(self.when.items()))

    def does(self) -> str:
        """What it sets, as `joints.pin.damping = 2`."""
        return "; ".join(f"{path} = {_spell(value)}" for path, value in self.set.items())

    def words(self) -> str:
        """What its condition says, as `joint.pin.q above 1`."""
        if self.when is None:
            return f"at {self.at:g} s"
        name, bound = self.crossing
        return f"{name} {'below' if bound.above is None else 'above'} {bound.bound:g}"


StartValue = Annotated[
    tuple[AnyNumber, ...] | Literal["center"],
    BeforeValidator(lambda value: value if value == "center" else listed_forces(value)),
    WithJsonSchema(one_or_list_json(words=("center",))),
]


class KeyframeSpec(SpecModel):
    """A state by name, from which a run may begin: joint coordinates by name or pattern, and controls."""

    joint_q: dict[str, StartValue] = doc(dict, "Coordinates; center: the middle of the limits", "rad or m", "{pin: 0.2}")
    joint_qd: dict[str, Values] = doc(dict, "Velocities", "rad/s or m/s", "{pin: 1.0}")
    controls: dict[str, Any] = doc(
        dict,
        "Dotted path to number: targets and activations of drives, torques, wrenches, constants of signals",
        "",
        "{joints.pin.drive.target: 0.5}",
    )


class InitialSpec(KeyframeSpec):
    """Initial joint coordinates by name or pattern; beats what joints write. `initial: home` takes a keyframe."""

    keyframe: Text | None = doc(None, "A keyframe, on top of which the other values come", "", "home")
    assemble: Truth | None = doc(
        None, "Close loops before t = 0 (default); false: gaps are refused; in affine they stay", "", True
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"keyframe": value} if isinstance(value, str) else value


class _TrustSpec(SpecModel):
    """What a run comes to by what it is not to be trusted for; its action alone for short."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"action": value} if isinstance(value, str) else value


class UnsolvedSpec(_TrustSpec):
    """What a run does about steps that do not converge; `on_unsolved: fail` for short."""

    action: Literal["auto", "warn", "fail"] = doc(
        "auto", "Exit code 4 where such steps of a world reach the share (auto), at any (fail), never (warn)", "", "fail"
    )
    above: quantity("m/s", ge=0) = doc(
        0.0,
        "Residual below which a step that did not converge is not reported, where that "
        "is more than the tolerance of the solver",
        "m/s",
        1e-3,
    )
    share: quantity("", gt=0, le=1) = doc(0.1, "Share of the steps of a world that makes it untrusted, with auto", "", 0.5)


class DriftSpec(_TrustSpec):
    """What a run does about an energy balance error; `on_drift: fail` for short."""

    action: Literal["auto", "warn", "fail"] = doc(
        "auto",
        "Exit code 4 where a world gains energy, not in affine (auto), gains or loses it (fail), never (warn)",
        "",
        "warn",
    )
    above: quantity("J", ge=0) = doc(0.0, "Drift of energy that passes", "J", 1e-3)
    share: quantity("", gt=0) = doc(0.1, "Share of the energy exchanged, above which a world is untrusted", "", 0.5)


class RunSpec(SpecModel):
    """How long, and what happens on failure."""

    duration: PositiveTime = doc(1.0, "Simulated time, a whole multiple of dt; it ends with a frame", "s", 10)
    on_failure: Literal["isolate", "stop"] = doc("isolate", "A failed world is frozen, or stops the run", "", "stop")
    on_unsolved: UnsolvedSpec = doc(
        UnsolvedSpec, "Steps that do not converge: auto, warn, fail, or {action, above, share}", "", "fail"
    )
    on_drift: DriftSpec = doc(DriftSpec, "Energy balance errors: auto, warn, fail, or {action, above, share}", "", "warn")
    stop_when: StopSpec | None = doc(None, "Ends a world early", "", "{quantity: joint.pin.q, above: 3}")


_Channel = Literal[tuple(OUTPUT_CHANNELS)]


class OutputSpec(SpecModel):
    """What is written."""

    every: PositiveTime | None = doc(None, "Time between frames, a whole multiple of dt; default: about 0.01 s", "s", 0.01)
    channels: tuple[_Channel, ...] = doc(
        ("state", "energy"), "Groups of results; state is joints and bodies", "", "[state, energy]"
    )
    quantities: tuple[Text, ...] | None = doc(
        None,
        "What else frames hold, by name or pattern: drive_effort, drive_power, distance, contact, sensor; left out: "
        "the drive_effort of joints with a drive or a motion",
        "",
        "[joint.arm_*.drive_effort]",
    )
    select: SelectSpec | None = doc(None, "Which bodies and joints, by name or pattern; default: all", "", "[arm*]")
    dtype: Literal["float64", "float32"] = doc("float64", "Precision in the file", "", "float32")
