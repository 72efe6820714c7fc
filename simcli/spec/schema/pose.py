"""Schema of poses."""

from typing import Any

from pydantic import model_validator

from simcli import rotations as rot
from simcli.spec.values.quantities import REQUIRED, Direction, Point, Text, doc, one_of, quantity, refuse, vector
from simcli.spec.values.spec_model import SpecModel
from simcli.spec.values.varied_values import in_all_worlds, vector_length

Quaternion = vector("", count=4)
ORIENTATIONS = ("rpy", "quat_xyzw", "quat_wxyz", "axis_angle")
_NO_ORIENTATION = dict.fromkeys(ORIENTATIONS)
_IDENTITY = (0.0, 0.0, 0.0, 1.0)
_UNIT_NORM = 1e-15  # rounding of a vector that was normalised before
_SMALLEST_NORM = 1e-12  # of a quaternion or axis that can still be normalised


class AxisAngleSpec(SpecModel):
    """A rotation by an angle about an axis."""

    axis: Direction = doc(REQUIRED, "Axis, normalised when read", "", [0, 0, 1])
    angle: quantity("rad") = doc(REQUIRED, "Angle, right-handed", "rad", "90 deg")


class PoseSpec(SpecModel):
    """Position and orientation. After reading, `xyz` and the unit `quat_xyzw` hold the pose, whatever was written."""

    xyz: Point = doc((0.0, 0.0, 0.0), "Position", "m", [0, 0, 1])
    rpy: vector("rad") | None = doc(
        None, "Roll, pitch, yaw about the fixed x, y, z axes, in this order", "rad", [0, 0, 1.57]
    )
    quat_xyzw: Quaternion | None = doc(None, "Quaternion, x y z w", "", [0, 0, 0, 1])
    quat_wxyz: Quaternion | None = doc(None, "Quaternion, w x y z", "", [1, 0, 0, 0])
    axis_angle: AxisAngleSpec | None = doc(None, "Axis and angle", "", "{axis: [0, 0, 1], angle: 90 deg}")

    @model_validator(mode="after")
    def _one_quaternion(self) -> "PoseSpec":
        given = one_of(self, ORIENTATIONS, "SC208", required=False)
        quaternion = _quaternion(self, given)
        self.__dict__.update(_NO_ORIENTATION, quat_xyzw=quaternion)
        kept = self.__pydantic_fields_set__ & {"in_"}
        self.__pydantic_fields_set__.clear()
        self.__pydantic_fields_set__.update(("xyz", "quat_xyzw", *kept))
        return self


class PlacedPoseSpec(PoseSpec):
    """A pose that may be given in a frame; `crank/flange` for short is that frame itself."""

    in_: Text | None = doc(
        None, "Frame in which it is given, as body/frame; of its own body the name alone", "", "base/flange", alias="in"
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"in": value} if isinstance(value, str) else value


def _quaternion(pose: PoseSpec, given: str | None) -> tuple[float, float, float, float]:
    if given is None:
        return _IDENTITY
    if given == "rpy":
        return in_all_worlds(rot.quat_from_rpy, pose.rpy)
    if given == "axis_angle":
        if norm(pose.axis_angle.axis) < _SMALLEST_NORM:
            raise refuse("SC421", "the axis of a rotation is zero", "give it a direction, as [0, 0, 1]", "axis_angle.axis")
        return in_all_worlds(
            lambda a: rot.quat_from_axis_angle(a[..., :3], a[..., 3]),
            (*unit_length(pose.axis_angle.axis), pose.axis_angle.angle),
        )
    value = pose.quat_xyzw if given == "quat_xyzw" else (*pose.quat_wxyz[1:], pose.quat_wxyz[0])
    if norm(value) < _SMALLEST_NORM:
        raise refuse("SC422", "a quaternion of length zero is no rotation", "the identity is [0, 0, 0, 1] as xyzw", given)
    return unit_length(value)


def norm(value: tuple[float, ...]) -> float:
    """Length of a vector, safe from overflow."""
    return vector_length(*value)


def unit_length(value: tuple[float, ...]) -> tuple[float, ...]:
    """A vector of length one; a vector within rounding of it is kept, so that reading twice changes nothing."""
    length = norm(value)
    if abs(length - 1.0) <= _UNIT_NORM:
        return tuple(value)
    return tuple(x / length for x in value)
