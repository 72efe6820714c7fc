"""Schema of joints. Per-dof values come out as tuples with one entry per dof, in the order of joint_qd."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.base import dofs
from simcli.spec.schema.pose import PlacedPoseSpec
from simcli.spec.schema.signals import DriveSpec, JointMotionSpec
from simcli.spec.values.quantities import (
    REQUIRED,
    AnyNumber,
    Direction,
    Length,
    Plain,
    Point,
    PositiveLength,
    RateDown,
    RateUp,
    Text,
    Truth,
    doc,
    drivable,
    is_axis,
    number_json,
    one_of,
    one_or_list_json,
    quantity,
    refuse,
)
from simcli.spec.values.spec_model import SpecModel

JointType = Literal[tuple(dofs.TYPES)]


def _listed(value: object) -> object:
    """A scalar becomes a list of one; it is spread over the dofs when the joint is known."""
    return value if isinstance(value, list | tuple) or value is None else (value,)


PerDof = Annotated[tuple[AnyNumber, ...], BeforeValidator(_listed), WithJsonSchema(one_or_list_json())]

Losses = Annotated[tuple[AnyNumber, ...], BeforeValidator(_listed), WithJsonSchema(one_or_list_json(ge=0))]

_BOUNDS = {**one_or_list_json(), "items": {**number_json(), "type": ["number", "string", "null"]}}
Bounds = Annotated[tuple[AnyNumber | None, ...], BeforeValidator(_listed), WithJsonSchema(_BOUNDS)]


class LimitSpec(SpecModel):
    """Bounds of one coordinate: hard, or soft if a stiffness is given. `[lower, upper]` for short."""

    lower: AnyNumber | None = doc(None, "Lower bound, reported coordinate; none if left out", "rad or m", -1.5)
    upper: AnyNumber | None = doc(None, "Upper bound, reported coordinate; none if left out", "rad or m", 1.5)
    stiffness: quantity(ge=0) = doc(0.0, "Stiffness of a soft bound; 0 is a hard one", "N*m/rad or N/m", 1e4)
    damping: quantity(ge=0) | None = doc(None, "Damping of a soft bound; default: critical", "N*m*s/rad or N*s/m", 10)
    strength: quantity("kg*m^2", ge=0) = doc(
        0.0, "Affine solver: of a cubic energy beyond the bounds, strength (excess / width)^3 / dt^2; 0: none", "kg*m^2", 1.0
    )

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        if len(value) != 2:
            raise refuse("SC205", f"a limit of {len(value)} numbers", "write [lower, upper]")
        return {"lower": value[0], "upper": value[1]}


class RateSpec(SpecModel):
    """Bounds of a rate: a freewheel or a ratchet that turns one way has `min: 0`."""

    min: RateDown | None = doc(None, "Least rate, at most 0", "rad/s or m/s", 0)
    max: RateUp | None = doc(None, "Largest rate, at least 0", "rad/s or m/s", 5)

    @model_validator(mode="after")
    def _some(self) -> "RateSpec":
        if self.min is None and self.max is None:
            raise refuse("SC202", "neither `min` nor `max` of the rate is written", "write rate: {min: 0}, for one")
        return self


def _limits(value: object) -> object:
    """One limit, or a list of them; a list of two numbers is one limit."""
    is_pair = isinstance(value, list) and len(value) == 2 and not any(isinstance(x, list | dict) or x is None for x in value)
    return (value,) if is_pair or isinstance(value, dict) else value


def _one_or_list(value: object) -> object:
    return (value,) if isinstance(value, dict) else value


_Limits = Annotated[tuple[LimitSpec | None, ...], BeforeValidator(_limits)]
_Drives = Annotated[tuple[DriveSpec | None, ...], BeforeValidator(_one_or_list)]
JointMotions = Annotated[tuple[JointMotionSpec | None, ...], BeforeValidator(_one_or_list)]


class AxisSpec(SpecModel):
    """One axis of a d6 or universal joint; a plain vector for short."""

    axis: Direction = doc(REQUIRED, "Direction", "", [1, 0, 0])
    limit: LimitSpec | None = doc(None, "Bounds of this coordinate", "rad or m", [-1, 1])
    drive: DriveSpec | None = doc(None, "Actuator on this dof", "", "{mode: effort, target: 1}")
    motion: JointMotionSpec | None = doc(None, "Ideal drive of this dof", "", "{velocity: 3.0}")
    damping: quantity(ge=0) | None = doc(None, "Viscous damping", "N*m*s/rad or N*s/m", 0.1)
    friction: quantity(ge=0) | None = doc(None, "Dry friction", "N*m or N", 0.1)
    armature: quantity(ge=0) | None = doc(None, "Inertia of the drive train", "kg*m^2 or kg", 0.01)
    velocity_limit: quantity(gt=0) | None = doc(None, "Largest speed", "rad/s or m/s", 10)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"axis": value} if isinstance(value, list | tuple) or is_axis(value) else value


class AxesSpec(SpecModel):
    """Axes of a d6 (linear before angular) or universal joint (first in the parent, second in the child)."""

    linear: tuple[AxisSpec, ...] = doc((), "Sliding axes, at most three, orthogonal", "", "[[1, 0, 0]]", max_length=3)
    angular: tuple[AxisSpec, ...] = doc(
        (), "Turning axes in the order of rotation, at most three, orthogonal", "", "[[0, 1, 0], [0, 0, 1]]", max_length=3
    )


class DrivingSpec(SpecModel):
    """Affine solver: a driving joint, libuipc's and more."""

    aim_angle: drivable("rad") | None = doc(None, "Target of a revolute joint, reported; a number or `$signal`", "rad", 1.0)
    aim_distance: drivable("m") | None = doc(None, "Target of a prismatic joint; a number or `$signal`", "m", 0.1)
    strength_ratio: quantity("", gt=0) = doc(100.0, "Stiffness as a ratio of mass / dt^2", "", 100)
    stiffness: quantity("N*m/rad", "N/m", gt=0) | None = doc(
        None, "Stiffness, instead of `strength_ratio`", "N*m/rad or N/m", 1e6
    )
    is_constrained: Truth = doc(False, "Whether the drive acts", "", True)
    is_passive: Truth = doc(False, "True: the target is the value at the last step, which creeps under load", "", False)
    is_locked: Truth = doc(False, "True: the target is the value at which the drive began to act", "", False)
    turns: Literal["many", "one"] = doc(
        "many", "one: the angle stays within half a turn, and jumps there, as libuipc's", "", "one"
    )

    @model_validator(mode="after")
    def _one(self) -> "DrivingSpec":
        one_of(self, ("aim_angle", "aim_distance"), required=False)
        if self.is_passive and self.is_locked:
            raise refuse("SC207", "`is_passive` and `is_locked` contradict each other", "keep one of them", "is_locked")
        if self.stiffness is not None and "strength_ratio" in self.model_fields_set:
            raise refuse("SC207", "`stiffness` and `strength_ratio` contradict each other", "keep one of them", "stiffness")
        return self


class MimicSpec(SpecModel):
    """A gear: q = ratio * q_other + offset; or a cam: q = a polynomial of q_other."""

    joint: Text = doc(REQUIRED, "The joint that leads", "", "other")
    ratio: Plain = doc(1.0, "Transmission ratio", "", 2.0)
    offset: AnyNumber = doc(0.0, "Offset", "rad or m", 0.0)
    polynomial: tuple[Plain, ...] | None = doc(
        None,
        "Instead: [a0, a1, a2, ..] of q = a0 + a1 x + a2 x^2 + .., x = q_other in rad or m",
        "",
        [0.1, 0, 0.02],
        min_length=2,
    )

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Of the powers of q_other, from the zeroth on; two at least."""
        return (self.offset, self.ratio) if self.polynomial is None else self.polynomial

    @model_validator(mode="after")
    def _one(self) -> "MimicSpec":
        for key in ("ratio", "offset"):
            if self.polynomial is not None and key in self.model_fields_set:
                raise refuse(
                    "SC207",
                    f"`polynomial` and `{key}` contradict each other",
                    "keep `polynomial`, which begins with [offset, ratio, ..]",
                    key,
                )
        return self


class JointSpec(SpecModel):
    """A connection of two bodies. After reading, per-dof values have one entry per dof."""

    type: JointType = doc(REQUIRED, "Kind of joint; nc_...: one of Rible's 21", "", "revolute")
    parent: Text = doc(REQUIRED, "Parent body, or world", "", "world")
    child: Text = doc(REQUIRED, "Child body", "", "crank")
    at: Point | None = doc(None, "Anchor in the world at the authored poses; default: the child's origin", "m", [0, 0, 0])
    parent_frame: PlacedPoseSpec | None = doc(
        None, "Anchor frame in the parent, or `in` a frame of it, instead of `at`", "", "{xyz: [0.4, 0, 0]}"
    )
    child_frame: PlacedPoseSpec | None = doc(None, "Anchor frame in the child, likewise", "", "{xyz: [0, 0, 0]}")
    axis: Direction | None = doc(
        None,
        "Axis: in the world with `at`, else in the parent anchor frame; default [1, 0, 0], "
        "of a cable its tangent [0, 0, 1], in a planar scene the normal; rolling: the wheel's, in the child anchor frame; "
        "knife_edge: the heading of the blade, likewise",
        "",
        [0, 1, 0],
    )
    axes: AxesSpec | None = doc(None, "Axes of a d6 or universal joint", "", "{angular: [[0, 1, 0], [0, 0, 1]]}")
    q: PerDof | None = doc(None, "Initial coordinates; quaternion x y z w for ball", "rad or m", 0.3)
    qd: PerDof | None = doc(None, "Initial velocities; of ball and free in the parent anchor frame", "rad/s or m/s", 0.0)
    limit: _Limits | None = doc(
        None, "Bounds: [lower, upper] or {lower, upper, stiffness, damping}", "rad or m", [-1.5, 1.5]
    )
    drive: _Drives | None = doc(None, "Actuator", "", "{mode: position, target: 0.5, stiffness: 100}")
    motion: JointMotions | None = doc(
        None, "Ideal drive; of a ball a rotation vector, or its angular velocity", "", "{position: $sweep}"
    )
    damping: Losses = doc((0.0,), "Viscous damping", "N*m*s/rad or N*s/m", 0.01)
    friction: Losses = doc((0.0,), "Dry friction", "N*m or N", 0.1)
    armature: Losses = doc((0.0,), "Inertia of the drive train, added to the dof", "kg*m^2 or kg", 0.01)
    velocity_limit: Bounds | None = doc(None, "Largest speed", "rad/s or m/s", 10)
    compliance: quantity(ge=0) = doc(0.0, "Compliance of its constraint equations, 0 is rigid", "m/N or rad/(N*m)", 1e-9)
    strength_ratio: quantity("", gt=0) | None = doc(None, "Affine solver: stiffness as a ratio of mass / dt^2", "", 100)
    driving: DrivingSpec | None = doc(None, "Affine solver: driving joint", "", "{aim_angle: 1.0}")
    init_angle: AnyNumber = doc(0.0, "Reported coordinate = measured + init_angle", "rad or m", 0.1)
    enabled: Truth = doc(True, "False: the joint does not act until an event switches it on", "", False)
    loop: Truth = doc(False, "True: the joint closes a loop, it is not part of the tree", "", True)
    mimic: MimicSpec | None = doc(None, "Gear to another joint", "", "{joint: other, ratio: 2}")
    length: PositiveLength | None = doc(
        None, "distance: the length; cable of a material: length of the piece that bends", "m", 0.4
    )
    pitch: Length | None = doc(None, "screw: advance per turn", "m", 0.005)
    stretch: quantity("N/m", ge=0) | None = doc(
        None, "cable: stiffness of the distance of its anchors, 0 at rest; default 1e5", "N/m", 1e4
    )
    bend: quantity("N*m/rad", ge=0) | None = doc(
        None, "cable: bending stiffness, at rest in the authored poses; default 0", "N*m/rad", 0.1
    )
    twist: quantity("N*m/rad", ge=0) | None = doc(
        None, "cable: stiffness about its tangent, likewise; default `bend`", "N*m/rad", 0.1
    )
    stretch_damping: quantity("N*s/m", ge=0) | None = doc(None, "cable: damping of the anchors' distance", "N*s/m", 1.0)
    bend_damping: quantity("N*m*s/rad", ge=0) | None = doc(None, "cable: bending damping", "N*m*s/rad", 1e-3)
    twist_damping: quantity("N*m*s/rad", ge=0) | None = doc(
        None, "cable: damping about its tangent; default `bend_damping`", "N*m*s/rad", 1e-3
    )
    youngs: quantity("Pa", gt=0) | None = doc(None, "cable: Young's modulus", "Pa", 1e9)
    poisson: quantity("", gt=-1, le=0.5) | None = doc(None, "cable: Poisson's ratio", "", 0.3)
    radius: PositiveLength | None = doc(
        None, "cable: radius of the section; rolling: largest distance of the rim from the wheel's axis", "m", 0.002
    )
    tube: quantity("m", ge=0) = doc(
        0.0, "rolling: radius of the rim's section, at most `radius`; 0: a sharp rim; `radius`: a ball", "m", 0.01
    )
    normal: Direction = doc(
        (0.0, 0.0, 1.0),
        "rolling, knife_edge: normal of the plane, which goes through the parent's anchor, in the parent anchor frame",
        "",
        [0, 0, 1],
    )

    @property
    def dof_kinds(self) -> str:
        """Kinds of the dofs in the order of joint_qd, "L" linear and "A" angular."""
        axes = self.axes or _NO_AXES
        return dofs.kinds(self.type, len(axes.linear), len(axes.angular))

    @property
    def uses_frames(self) -> bool:
        """True if the anchors are given in the bodies rather than in the world."""
        return self.parent_frame is not None or self.child_frame is not None or self.type in dofs.FRAMES_ONLY

    @model_validator(mode="after")
    def _spread(self) -> "JointSpec":
        of = self.dof_kinds
        own = (*self.axes.linear, *self.axes.angular) if self.axes else ()
        n = 1 if self.type == "distance" else len(of)
        for name in ("damping", "friction", "armature", "velocity_limit"):
            self.__dict__[name] = _per_dof(self, name, len(of), own)
        for name in ("limit", "drive", "motion"):
            self.__dict__[name] = _per_dof(self, name, n, own)
        _check_coordinates(self, of)
        if own:
            bare = {name: tuple(AxisSpec(axis=a.axis) for a in getattr(self.axes, name)) for name in ("linear", "angular")}
            self.__dict__["axes"] = AxesSpec(**bare)
        self.__pydantic_fields_set__.update(("damping", "friction", "armature"))
        return self


_NO_AXES = AxesSpec()


def _per_dof(joint: JointSpec, name: str, n: int, own: tuple[AxisSpec, ...]) -> tuple | None:
    """Spread a value over the dofs and lay the values of single axes on top."""
    value = getattr(joint, name)
    axis_values = [getattr(axis, name) for axis in own]
    if value is None and all(one is None for one in axis_values):
        return None
    if value is None:
        value = (None,)
    if len(value) == 1:
        value = value * n
    if len(value) != n:
        raise refuse(
            "SC205",
            f"`{name}` has {len(value)} entries, but the joint has {n} dof(s)",
            "write one number, or one per dof",
            name,
        )
    if len(axis_values) == n:
        value = tuple(old if new is None else new for old, new in zip(value, axis_values, strict=True))
    negative = [one for one in value if isinstance(one, float) and one < 0]
    if negative:
        raise refuse("SC231", f"`{name}` is negative: {negative[0]:g}", "it must be at least 0", name)
    return value


def _check_coordinates(joint: JointSpec, of: str) -> None:
    for name, n in (("q", dofs.n_q(joint.type, len(of))), ("qd", len(of))):
        value = getattr(joint, name)
        if value is not None and len(value) != n:
            raise refuse(
                "SC205",
                f"`{name}` has {len(value)} entries, a `{joint.type}` joint has {n}",
                f"write {n} number(s)" if n else "leave it out",
                name,
            )
