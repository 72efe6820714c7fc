"""Schema of forces: their keys, what they refer to, who supports them.

The numbers of a force are read by the file of its name in model/forces/; what it does stands in kernels/.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, Union

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.schema.force_base import (
    SOLVER_TYPES,
    ElongationTable,
    EndSpec,
    ForceBase,
    RateTable,
    RopeStopSpec,
    TermSpec,
    listed_forces,
    one_or_list,
    one_or_three,
)
from simcli.spec.schema.joint import LimitSpec, RateSpec
from simcli.spec.schema.pose import PoseSpec
from simcli.spec.schema.signals import ActivationSpec, DriveSpec
from simcli.spec.values.quantities import (
    REQUIRED,
    AnyNumber,
    AtLeastZero,
    Excitation,
    ForceSize,
    LengthPair,
    PerSecond,
    PlainPair,
    Point,
    Text,
    Truth,
    doc,
    drivable,
    drivable_vector,
    one_or_list_json,
    quantity,
    refuse,
    vector,
)
from simcli.spec.values.spec_model import ByType, SpecModel

_BY_TABLE = {"stiffness": "stiffness_table", "damping": "damping_table"}


class MuscleSpec(SpecModel):
    """A muscle of Hill's type along a rope, as in MuJoCo: tension = force * (activation * FL(L) * FV(V) + FP(L)).

    L is the length in optimum lengths, such that `length_range` is `range`; V its rate over `max_velocity`.
    """

    control: Excitation = doc(0.0, "Excitation, from 0 to 1; a number or `$signal`", "", "$u")
    force: ForceSize = doc(REQUIRED, "Largest active force at rest", "N", 300)
    length_range: LengthPair = doc(
        REQUIRED, "Shortest and longest length of the rope, less what is paid out", "m", [0.2, 0.32]
    )
    range: PlainPair = doc((0.75, 1.05), "What these are in optimum lengths", "", [0.75, 1.05])
    min_length: AtLeastZero = doc(0.5, "L from which on it pulls actively, below 1", "", 0.5)
    max_length: AtLeastZero = doc(1.6, "L up to which it pulls actively, above 1", "", 1.6)
    max_velocity: PerSecond = doc(1.5, "Optimum lengths in a second by which it shortens at most", "1/s", 1.5)
    passive_force: AtLeastZero = doc(
        1.3, "Passive force of the stretched muscle, in `force`: half of it at (1 + max_length) / 2", "", 1.3
    )
    lengthening_force: AtLeastZero = doc(1.2, "Largest active force while it lengthens, in `force`, 1 at least", "", 1.2)
    activation: ActivationSpec | None = doc(
        None, "Lag of `control`; default: none", "", "{rise: 10 ms, fall: 40 ms, law: muscle}"
    )

    @model_validator(mode="after")
    def _has_curves(self) -> "MuscleSpec":
        low, high = self.length_range
        for key, holds, hint in (
            ("length_range", low < high, "write [shortest, longest]"),
            ("range", self.range[0] < self.range[1], "write [shortest, longest], as [0.75, 1.05]"),
            ("min_length", self.min_length < 1.0, "it is below the optimum length, which is 1"),
            ("max_length", self.max_length > 1.0, "it is above the optimum length, which is 1"),
            ("lengthening_force", self.lengthening_force >= 1.0, "at rest it is 1"),
        ):
            if not holds:
                raise refuse("SC643", f"`{key}` of a muscle makes no curve", hint, key)
        return self


class SpringForce(ForceBase):
    """A spring and damper between two points, straight or over pulleys.

    With `through` it is a cable: it runs from `a` over these points, and around these cylinders and spheres, to `b`. Without
    friction one tension holds along all of it; its length is the sum of its straight parts and arcs.
    """

    type: Literal["spring"] = doc(REQUIRED, "Kind of force", "", "spring")
    a: EndSpec = doc(REQUIRED, "First end", "", "{world: [1, 0, 0]}")
    b: EndSpec = doc(REQUIRED, "Second end", "", "slider/p")
    through: tuple[RopeStopSpec, ...] = doc(
        (),
        "Points that it runs over on its way, without friction, and cylinders and spheres that it runs around",
        "",
        "[{world: [0, 0, 2]}, {body: drum, at: [0, 0, 0], cylinder: {radius: 0.1, axis: [0, 1, 0]}}]",
    )
    stiffness: quantity("N/m", ge=0) = doc(0.0, "Stiffness", "N/m", 50)
    damping: quantity("N*s/m", ge=0) = doc(0.0, "Damping along the line", "N*s/m", 5)
    stiffness_table: ElongationTable | None = doc(
        None, "Instead of a stiffness: tension by elongation", "", "{elongation: [-0.1, 0, 0.1], force: [-400, 0, 50]}"
    )
    damping_table: RateTable | None = doc(
        None, "Instead of a damping: tension by rate", "", "{rate: [-1, 0, 1], force: [-300, 0, 100]}"
    )
    rest_length: quantity("m", ge=0) | None = doc(None, "Length without force; default: the length at t = 0", "m", 1.0)
    slack: Truth = doc(False, "True: a rope, no force when shorter", "", True)
    paid_out: tuple[TermSpec, ...] = doc(
        (),
        "Coordinates that pay out rope at `a`, as a winch does: they lengthen `rest_length` by the sum of factor * "
        "coordinate, and bear the tension",
        "",
        "[{joint: drum, factor: 0.1}]",
    )

    tension: drivable("N") = doc(
        0.0, "Pull along it beside that of stiffness and damping, slack or not; a number or `$signal`", "N", "$pull"
    )

    muscle: MuscleSpec | None = doc(
        None, "A muscle along it beside all that", "", "{control: $u, force: 300, length_range: [0.2, 0.32]}"
    )

    ENDS = ("a", "through", "b")
    TERMS = ("paid_out",)
    SOLVERS = SOLVER_TYPES
    IS_SMOOTH = True
    EVENTS = (
        ("stiffness",),
        ("damping",),
        ("rest_length",),
        ("slack",),
        ("tension",),
        ("muscle", "control"),
        ("muscle", "force"),
        ("a", "at"),
        ("a", "world"),
        ("b", "at"),
        ("b", "world"),
    )

    def ends(self) -> Iterator[tuple[str, EndSpec]]:
        """Its ends and stops, and the sides on which it passes."""
        yield from super().ends()
        yield from ((f"through[{n}].side", stop.side) for n, stop in enumerate(self.through) if stop.side)

    @property
    def is_rope(self) -> bool:
        """Whether it is more than a spring over points: it runs around something, is paid out, is pulled, or a muscle."""
        pulled = self.tension != 0.0 or self.muscle is not None
        return bool(self.paid_out) or pulled or any(stop.size for stop in self.through)

    @model_validator(mode="after")
    def _has_law(self) -> "SpringForce":
        for key, table in _BY_TABLE.items():
            if getattr(self, table) is not None and key in self.model_fields_set:
                raise refuse("SC207", f"`{table}` stands in place of `{key}`", "keep one of them", key)
        others = self.stiffness_table, self.damping_table, self.muscle
        if "stiffness" not in self.model_fields_set and others == (None, None, None):
            raise refuse("SC202", "`stiffness` is missing", "write `stiffness`, or `stiffness_table` of points of its line")
        return self


class WrenchForce(ForceBase):
    """A force and a torque on a body."""

    type: Literal["wrench"] = doc(REQUIRED, "Kind of force", "", "wrench")
    body: Text = doc(REQUIRED, "Body", "", "crank")
    force: drivable_vector("N") = doc((0.0, 0.0, 0.0), "Force; numbers or `$signal`", "N", [0, 0, 1])
    torque: drivable_vector("N*m") = doc((0.0, 0.0, 0.0), "Torque; numbers or `$signal`", "N*m", [0, 0, 0])
    at: Point | None = doc(None, "Point of application, body frame; default: the centre of mass", "m", [0, 0, 0])
    frame: Literal["world", "body"] = doc("world", "Axes of force and torque", "", "body")

    SOLVERS = SOLVER_TYPES
    IS_SMOOTH = True
    EVENTS = (("force",), ("torque",), ("at",))
    DRIVEN = ("force", "torque")


class TorqueForce(ForceBase):
    """An effort on a joint, one per dof; of a free or distance joint a wrench at the child's centre of mass."""

    type: Literal["torque"] = doc(REQUIRED, "Kind of force", "", "torque")
    joint: Text = doc(REQUIRED, "Joint", "", "pin")
    value: Annotated[
        tuple[drivable("N*m", "N"), ...],
        BeforeValidator(listed_forces),
        WithJsonSchema(one_or_list_json("N*m", "N", signal=True)),
    ] = doc(REQUIRED, "Effort, or one per dof; numbers or `$signal`", "N*m or N", 2.0)

    PER_DOF = ("value",)
    SOLVERS = SOLVER_TYPES
    IS_SMOOTH = True
    EVENTS = (("value",),)


class TorsionForce(ForceBase):
    """A spring and damper on the coordinate of a joint: it acts on the child, and on the parent the other way."""

    type: Literal["torsion"] = doc(REQUIRED, "Kind of force", "", "torsion")
    joint: Text = doc(REQUIRED, "Joint with scalar coordinates", "", "pin")
    stiffness: one_or_list("N*m/rad", "N/m", ge=0) = doc(REQUIRED, "Stiffness, or one per dof", "N*m/rad or N/m", 3.0)
    damping: one_or_list("N*m*s/rad", "N*s/m", ge=0) = doc((0.0,), "Damping, or one per dof", "N*m*s/rad or N*s/m", 0.1)
    rest_angle: one_or_list("rad", "m") = doc((0.0,), "Coordinate without effort, or one per dof", "rad or m", "30 deg")

    PER_DOF = ("stiffness", "damping", "rest_angle")
    SPREADS = True
    SOLVERS = SOLVER_TYPES
    IS_SMOOTH = True
    EVENTS = (("stiffness",), ("damping",), ("rest_angle",))


class BushingForce(ForceBase):
    """A spring and damper of six axes between two frames: three along its axes, three about them.

    It rests in the relative pose of t = 0, where it gives its preload alone. Turns are measured as the rotation vector from
    there, at most half a turn.
    """

    type: Literal["bushing"] = doc(REQUIRED, "Kind of force", "", "bushing")
    a: EndSpec = doc(REQUIRED, "Where it is fixed, with its axes", "", "frame/left")
    b: EndSpec = doc(REQUIRED, "What it holds", "", "engine/left")
    axes: PoseSpec = doc(
        PoseSpec, "Its axes in the frame of the body of `a`, of the world without one; no `xyz`", "", "{rpy: [0, 0, 90 deg]}"
    )
    stiffness: one_or_three("N/m") = doc(
        (0.0, 0.0, 0.0), "Stiffness along the axes: one number, or three", "N/m", [1e5, 1e5, 3e5]
    )
    damping: one_or_three("N*s/m") = doc((0.0, 0.0, 0.0), "Damping along the axes", "N*s/m", 100)
    angular_stiffness: one_or_three("N*m/rad") = doc((0.0, 0.0, 0.0), "Stiffness about the axes", "N*m/rad", 50)
    angular_damping: one_or_three("N*m*s/rad") = doc((0.0, 0.0, 0.0), "Damping about the axes", "N*m*s/rad", 0.5)
    preload: vector("N") = doc((0.0, 0.0, 0.0), "Force on `b` at rest, along the axes", "N", [0, 0, 500])
    angular_preload: vector("N*m") = doc((0.0, 0.0, 0.0), "Torque on `b` at rest, about the axes", "N*m", [0, 0, 1])

    ENDS = ("a", "b")
    IS_SMOOTH = True
    EVENTS = (("stiffness",), ("damping",), ("angular_stiffness",), ("angular_damping",), ("preload",), ("angular_preload",))

    @model_validator(mode="after")
    def _turns_alone(self) -> "BushingForce":
        if any(self.axes.xyz):
            raise refuse("SC207", "`axes` of a bushing have no place", "write the place as `at` of `a`", "axes.xyz")
        return self


_ACTS_OF_COUPLING = ("stiffness", "damping", "friction", "velocity_limit", "rate", "limit", "drive")


class CouplingForce(ForceBase):
    """Spring, damper, bounds and drive of x = sum of factor * coordinate, or what holds x: a tendon, a differential."""

    type: Literal["coupling"] = doc(REQUIRED, "Kind of force", "", "coupling")
    of: tuple[TermSpec, ...] = doc(
        REQUIRED, "What x is the sum of", "", "[{joint: shoulder, factor: 2}, {joint: elbow, factor: -1}]", min_length=1
    )
    unit: Literal["m", "rad"] | None = doc(None, "Unit of x; needed where turns and displacements are added", "", "m")
    stiffness: quantity("N*m/rad", "N/m", ge=0) = doc(0.0, "Stiffness", "N*m/rad or N/m", 50)
    rest: AnyNumber = doc(0.0, "x at which the spring gives nothing", "rad or m", 0.1)
    damping: quantity("N*m*s/rad", "N*s/m", ge=0) = doc(0.0, "Viscous damping", "N*m*s/rad or N*s/m", 0.5)
    friction: drivable("N*m", "N", ge=0) = doc(0.0, "Dry friction; a number or `$signal`: a clutch", "N*m or N", 0.1)
    velocity_limit: quantity("rad/s", "m/s", gt=0) | None = doc(None, "Largest speed", "rad/s or m/s", 10)
    rate: RateSpec | None = doc(None, "Bounds of the rate of x, one or both: a freewheel, a ratchet", "", "{min: 0}")
    limit: LimitSpec | None = doc(
        None, "Bounds of x: [lower, upper] or {lower, upper, stiffness, damping}", "rad or m", [-0.5, 0.5]
    )
    drive: DriveSpec | None = doc(None, "Actuator along x", "", "{mode: position, target: 0.1, stiffness: 100}")
    hold: AnyNumber | None = doc(None, "Instead of all that: what x is, exactly", "rad or m", 0.1)

    TERMS = ("of",)
    EVENTS = (
        ("stiffness",),
        ("rest",),
        ("damping",),
        ("friction",),
        ("velocity_limit",),
        ("rate", "min"),
        ("rate", "max"),
        ("limit",),
        ("limit", "lower"),
        ("limit", "upper"),
        ("limit", "stiffness"),
        ("limit", "damping"),
        ("drive", "target"),
        ("drive", "target_velocity"),
        ("drive", "stiffness"),
        ("drive", "damping"),
        ("drive", "effort_limit"),
    )

    @model_validator(mode="after")
    def _acts(self) -> "CouplingForce":
        for key in (*_ACTS_OF_COUPLING, "rest"):
            if self.hold is not None and key in self.model_fields_set:
                raise refuse("SC207", f"`hold` and `{key}` contradict each other", "keep one of them: x does not move", key)
        if self.hold is None and not any(getattr(self, key) for key in _ACTS_OF_COUPLING):
            keys = ", ".join(f"`{key}`" for key in (*_ACTS_OF_COUPLING, "hold"))
            raise refuse("SC202", "the coupling does nothing", f"add one of {keys}")
        return self


_ACTS_OF_DRAG = ("damping", "quadratic", "angular_damping", "angular_quadratic")


class DragForce(ForceBase):
    """Viscous and quadratic drag on a body: of a point against a medium, and of its turning.

    force = -(damping + quadratic |v|) v, v the velocity of the point less that of the medium; the torque is
    -(angular_damping + angular_quadratic |w|) w.
    """

    type: Literal["drag"] = doc(REQUIRED, "Kind of force", "", "drag")
    body: Text = doc(REQUIRED, "Body", "", "ball")
    damping: quantity("N*s/m", ge=0) = doc(0.0, "Viscous drag", "N*s/m", 0.1)
    quadratic: quantity("N*s^2/m^2", ge=0) = doc(
        0.0, "Quadratic drag: density * drag coefficient * area / 2", "N*s^2/m^2", 0.02
    )
    angular_damping: quantity("N*m*s/rad", ge=0) = doc(0.0, "Viscous drag of turning", "N*m*s/rad", 1e-3)
    angular_quadratic: quantity("N*m*s^2/rad^2", ge=0) = doc(0.0, "Quadratic drag of turning", "N*m*s^2/rad^2", 1e-4)
    at: Point | None = doc(None, "Point that is dragged, body frame; default: the centre of mass", "m", [0, 0, 0.1])
    wind: vector("m/s") = doc((0.0, 0.0, 0.0), "Velocity of the medium, world axes", "m/s", [3, 0, 0])

    IN_WORLD = ("wind",)
    SOLVERS = SOLVER_TYPES
    IS_SMOOTH = True
    EVENTS = (*((key,) for key in _ACTS_OF_DRAG), ("at",), ("wind",))

    @model_validator(mode="after")
    def _acts(self) -> "DragForce":
        if not any(key in self.model_fields_set for key in _ACTS_OF_DRAG):
            raise refuse("SC202", "the drag does nothing", f"add one of {', '.join(f'`{key}`' for key in _ACTS_OF_DRAG)}")
        return self


FORCES: tuple[type[ForceBase], ...] = tuple(ForceBase.__subclasses__())  # in the order in which they stand above
WITH_AXES = frozenset(force.type_name() for force in FORCES if "axes" in force.model_fields)
if TYPE_CHECKING:
    ForceSpec = ForceBase
else:
    ForceSpec = Annotated[Union[FORCES], ByType(*FORCES)]  # noqa: UP007 (of a list)
