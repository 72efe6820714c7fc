"""Schema of materials, poses, inertia, shapes and bodies."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.schema.pose import PlacedPoseSpec, PoseSpec
from simcli.spec.schema.shape import BodyLookSpec, ShapeSpec
from simcli.spec.values.quantities import (
    REQUIRED,
    Direction,
    Point,
    Text,
    Truth,
    doc,
    drivable_vector,
    fixed_list,
    list_json,
    number_json,
    one_of,
    quantity,
    refuse,
    vector,
)
from simcli.spec.values.spec_model import SpecModel

Rule = Literal["average", "geometric", "min", "multiply", "max"]


class CombineSpec(SpecModel):
    """How the values of two materials become one."""

    friction: Rule = doc(
        "average",
        "Rule for friction; the stronger of two materials' rules wins: max, multiply, min, geometric, average",
        "",
        "geometric",
    )
    restitution: Rule = doc("average", "Rule for restitution", "", "max")


class MaterialSpec(SpecModel):
    """What a shape is made of."""

    density: quantity("kg/m^3", gt=0) | None = doc(
        None, "Mass per volume; gives bodies without `mass` theirs", "kg/m^3", 7850
    )
    friction: quantity("", ge=0) = doc(0.5, "Coefficient of sliding friction", "", 0.3)
    friction_across: quantity("", ge=0) | None = doc(
        None, "Coefficient of sliding friction across the `grain` of a shape; `friction` is along it", "", 0.6
    )
    friction_static: quantity("", ge=0) | None = doc(None, "Coefficient of friction at rest; default: `friction`", "", 0.35)
    rolling_friction: quantity("m", ge=0) = doc(0.0, "Rolling friction: torque per normal force", "m", 1e-3)
    torsional_friction: quantity("m", ge=0) = doc(0.0, "Torsional friction: torque per normal force", "m", 1e-3)
    restitution: quantity("", ge=0, le=1) = doc(0.0, "Coefficient of restitution, 0 to 1", "", 0.1)
    compliance: quantity("m/N", ge=0) = doc(
        0.0, "Overlap of a point of contact per normal force; those of two materials add, 0 is rigid", "m/N", 1e-6
    )
    combine: CombineSpec = doc(CombineSpec, "Rules between two materials", "", "{friction: geometric, restitution: max}")

    @model_validator(mode="after")
    def _ordered(self) -> "MaterialSpec":
        refuse_less_at_rest(self.friction, self.friction_static)
        return self


def refuse_less_at_rest(sliding: float | None, at_rest: float | None) -> None:
    """Refuse a friction at rest below that of sliding; None: not written."""
    if sliding is not None and at_rest is not None and at_rest < sliding:
        message = f"friction at rest of {at_rest:g}, below that of sliding, {sliding:g}"
        raise refuse("SC664", message, "write friction <= friction_static", "friction_static")


_Inertia = quantity("kg*m^2")
_Row = vector("kg*m^2")
_Rows = Annotated[
    tuple[_Row, _Row, _Row],
    BeforeValidator(fixed_list(3, "rows")),
    WithJsonSchema(list_json(list_json(number_json("kg*m^2"), 3, 3), 3, 3)),
]


Tensor = tuple[tuple[float, float, float], ...]  # three rows


class InertiaSpec(SpecModel):
    """Inertia about the centre of mass, in body axes."""

    diag: vector("kg*m^2") | None = doc(None, "Moments about the body's x, y, z axes", "kg*m^2", [1e-3, 2e-3, 2e-3])
    full: _Rows | None = doc(None, "Symmetric matrix, three rows", "kg*m^2", "[[2, 0, 0], [0, 2, 0], [0, 0, 1]]")
    normal: _Inertia | None = doc(
        None, "Planar scenes: the moment about the normal; `inertia: 0.02` for short", "kg*m^2", 0.02
    )
    point: Truth = doc(False, "A point mass without inertia; `inertia: point` for short", "", True)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        if value == "point":
            return {"point": True}
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"normal": value}
        if isinstance(value, str):
            return {"normal": value} if value[:1].isdigit() else _bad_inertia(value)
        return _bad_inertia(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one(self) -> "InertiaSpec":
        if not self.point or self.diag or self.full or self.normal is not None:
            one_of(self, ("diag", "full", "normal"))
            if self.point:
                raise refuse("SC207", "a `point` has no other inertia", "keep one of them", "point")
        return self

    def matrix(self) -> Tensor | None:
        """[kg m^2], three rows about the centre of mass; zero for a point; None for a planar moment."""
        if self.full is not None:
            return self.full
        if self.point:
            return ((0.0,) * 3,) * 3
        if self.diag is None:
            return None
        a, b, c = self.diag
        return ((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c))


def _bad_inertia(value: object) -> None:
    raise refuse(
        "SC203",
        f"`inertia` takes a mapping, not {'a list' if isinstance(value, list) else f'`{value}`'}",
        "write {diag: [Ixx, Iyy, Izz]}, {full: ...} or point",
    )


class VelocitySpec(SpecModel):
    """Initial velocity of a free body; what is left out is 0, or follows where loops must close."""

    linear: vector("m/s") | None = doc(None, "Velocity of the centre of mass, world frame", "m/s", [1, 0, 0])
    angular: vector("rad/s") | None = doc(None, "Angular velocity, world frame", "rad/s", [0, 0, 3.14])


class BodyMotionSpec(SpecModel):
    """Prescribed velocity of a kinematic body."""

    linear: drivable_vector("m/s") = doc((0.0, 0.0, 0.0), "Velocity, world frame; numbers or `$signal`", "m/s", "$push")
    angular: drivable_vector("rad/s") = doc(
        (0.0, 0.0, 0.0), "Angular velocity, world; numbers or `$signal`", "rad/s", [0, 0, 1]
    )


NaturalKind = Literal["1P3V", "2P2V", "3P1V", "4P", "1P2V", "2P1V", "3P", "1P1V", "2P", "1P"]


class NaturalSpec(SpecModel):
    """Natural coordinates of a body; `natural: 1P3V` for short."""

    kind: NaturalKind = doc(REQUIRED, "How many points P and vectors V describe the body", "", "2P2V")
    points: tuple[Text, ...] = doc((), "Named points of the body", "", "[a, b]")
    vectors: tuple[Direction, ...] = doc((), "Vectors fixed in the body", "", "[[0, 1, 0], [0, 0, 1]]")
    compliance: quantity("1/(N*m)", ge=0) = doc(
        0.0, "Of the equations of rigidity among the principal axes, a.a - 1 and a.b; 0 is rigid", "1/(N*m)", 1e-6
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value


class TransformSpec(SpecModel):
    """A soft hold on a body: at a pose, or moved along from where it was at the last step, as a motor does."""

    strength: vector("", count=2) = doc(
        (100.0, 100.0), "Of position and of rotation, as ratios of mass / dt^2", "", [100, 100]
    )
    pose: PoseSpec | None = doc(None, "Pose of the body frame that is aimed at", "", "{xyz: [0, 0, 1]}")
    shift: drivable_vector("m") | None = doc(None, "Moves the pose, world axes; numbers or `$signal`", "m", ["$x", 0, 0])
    turn: drivable_vector("rad") | None = doc(
        None, "Turns the pose about its origin, a rotation vector, world; numbers or `$signal`", "rad", [0, 0, "$angle"]
    )
    linear: drivable_vector("m/s") | None = doc(
        None, "Motor: velocity of the centre of mass, instead of `pose`; numbers or `$signal`", "m/s", [1, 0, 0]
    )
    angular: drivable_vector("rad/s") | None = doc(
        None, "Motor: angular velocity, world, instead of `pose`; numbers or `$signal`", "rad/s", [0, 0, 3]
    )
    is_constrained: Truth = doc(True, "Whether it acts", "", True)
    is_passive: Truth = doc(False, "True: the aim is where the body was at the last step, a damper", "", False)

    @model_validator(mode="after")
    def _one(self) -> "TransformSpec":
        motor = self.linear is not None or self.angular is not None
        if motor == (self.pose is not None):
            raise refuse("SC207", "a hold has a `pose`, or `linear` and `angular`", "write one of them")
        for key in ("shift", "turn"):
            if motor and getattr(self, key) is not None:
                raise refuse("SC207", f"`{key}` moves a `pose`, which a motor has not", "remove it", key)
        if min(self.strength) < 0:
            raise refuse("SC231", f"`strength` is negative: {min(self.strength):g}", "it must be at least 0", "strength")
        return self


class AffineSpec(SpecModel):
    """How a body of the affine solver resists strain: stiffness * volume * |A A^T - 1|^2, or * |A - R|^2 (arap)."""

    stiffness: quantity("Pa", gt=0) | None = doc(None, "Stiffness; default: that of the solver", "Pa", 1e9)
    volume: quantity("m^3", gt=0) | None = doc(
        None, "Volume; default: that of its shapes, or mass / (1000 kg/m^3)", "m^3", 0.001
    )
    energy: Literal["orthogonal", "arap"] = doc("orthogonal", "arap: as rigid as possible", "", "arap")
    quasi_static: Truth = doc(False, "True: keeps no velocity from step to step, and creeps to equilibrium", "", True)
    transform: TransformSpec | None = doc(None, "Soft hold, or motor", "", "{linear: [1, 0, 0]}")


class BodySpec(SpecModel):
    """A rigid body."""

    pose: PlacedPoseSpec | None = doc(
        None,
        "Body frame at the authored configuration, in the world or `in` a body or its frame; default: identity",
        "",
        "{xyz: [0, 0, 1], rpy: [0, 0, 0]}",
    )
    mass: quantity("kg") | None = doc(None, "Mass; with shapes it is spread over their volume", "kg", 1.0)
    com: Point | None = doc(None, "Centre of mass in the body frame; default: 0, or that of the shapes", "m", [0.2, 0, 0])
    inertia: InertiaSpec | None = doc(
        None,
        "About the centre of mass, in body axes: {diag: ..}, {full: ..} or point",
        "kg*m^2",
        "{diag: [1e-3, 2e-3, 2e-3]}",
    )
    shapes: dict[str, ShapeSpec] = doc(
        dict, "Shapes by name, for mass and contact", "", "{ball: {type: sphere, radius: 0.1}}"
    )
    velocity: VelocitySpec | None = doc(None, "Initial velocity, of a free body", "", "{linear: [1, 0, 0]}")
    gravity_compensation: quantity("") = doc(
        0.0, "Share of its weight that a force at its centre of mass carries: 1 all, more than 1 lifts it", "", 1.0
    )
    kinematic: Truth = doc(False, "True: moves as prescribed, infinite mass", "", True)
    natural: NaturalSpec | None = doc(None, "Natural solver: kind of coordinates", "", "1P3V")
    affine: AffineSpec | None = doc(None, "Affine solver: how it resists strain", "", "{stiffness: 1 GPa}")
    motion: BodyMotionSpec | None = doc(None, "Kinematic bodies: prescribed velocity", "", "{linear: [1, 0, 0]}")
    points: dict[str, Point] = doc(dict, "Named points in the body frame, used as `body/point`", "m", "{tip: [0.4, 0, 0]}")
    frames: dict[str, PlacedPoseSpec] = doc(
        dict,
        "Named frames in the body frame: points with an orientation",
        "",
        "{flange: {xyz: [0.4, 0, 0], rpy: [0, 90 deg, 0]}}",
    )
    look: BodyLookSpec = doc(BodyLookSpec, "How it is drawn", "", "{colour: orange}")

    @property
    def places(self) -> dict[str, tuple[float, float, float]]:
        """[m], named points and origins of named frames, in the body frame."""
        return {**self.points, **{name: frame.xyz for name, frame in self.frames.items()}}


class WorldSpec(SpecModel):
    """What is fixed: gravity, ground, the plane of planar scenes."""

    gravity: vector("m/s^2") = doc((0.0, 0.0, -9.81), "Acceleration of gravity", "m/s^2", [0, 0, -9.81])
    plane: Literal["xy", "xz", "yz"] | None = doc(
        None,
        "Planar scene: its plane; a body that nothing holds has the coordinates [x, y, angle] of its frame there",
        "",
        "xy",
    )
    shapes: dict[str, ShapeSpec] = doc(dict, "Shapes fixed to the world", "", "{ground: {type: plane}}")
    frames: dict[str, PlacedPoseSpec] = doc(
        dict, "Named frames fixed to the world, used as `world/frame`", "", "{table: {xyz: [0, 0, 0.8]}}"
    )
    look: BodyLookSpec = doc(BodyLookSpec, "How what is fixed is drawn", "", "{colour: silver}")

    @model_validator(mode="before")
    @classmethod
    def _gravity(cls, value: Any) -> Any:
        """In a planar scene gravity points along the second axis of the plane unless it is written."""
        if isinstance(value, dict) and "gravity" not in value and value.get("plane") == "xy":
            return {**value, "gravity": [0.0, -9.81, 0.0]}
        return value
