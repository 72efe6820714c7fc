"""A spring and damper of six axes between two frames."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from simcli.spec.forces.base import SOLVER_TYPES, EndSpec, ForceBase
from simcli.spec.schema.pose import PoseSpec
from simcli.spec.values.quantities import REQUIRED, doc, fixed_list, one_or_list_json, quantity, refuse, vector


def _thrice(value: object) -> object:
    return fixed_list(3, "numbers")(value if isinstance(value, list | tuple) else [value] * 3)


def _three(unit: str) -> object:
    """One number for all axes, or one for each; three after reading."""
    number = quantity(unit, ge=0)
    return Annotated[tuple[number, number, number], BeforeValidator(_thrice), WithJsonSchema(one_or_list_json(unit, ge=0))]


class BushingForce(ForceBase):
    """A spring and damper of six axes between two frames: three along its axes, three about them.

    It rests in the relative pose of t = 0, where it gives its preload alone. Turns are measured as the rotation vector from
    there, at most half a turn.
    """

    type: Literal["bushing"] = doc(REQUIRED, "Kind of force", "", "bushing")
    a: EndSpec = doc(REQUIRED, "Where it is fixed, with its axes", "", "frame/left")
    b: EndSpec = doc(REQUIRED, "What it holds", "", "engine/left")
    axes: PoseSpec = doc(PoseSpec, "Its axes in the frame of the body of `a`, of the world without one; no `xyz`", "",
                         "{rpy: [0, 0, 90 deg]}")  # fmt: skip
    stiffness: _three("N/m") = doc((0.0, 0.0, 0.0), "Stiffness along the axes: one number, or three", "N/m", [1e5, 1e5, 3e5])
    damping: _three("N*s/m") = doc((0.0, 0.0, 0.0), "Damping along the axes", "N*s/m", 100)
    angular_stiffness: _three("N*m/rad") = doc((0.0, 0.0, 0.0), "Stiffness about the axes", "N*m/rad", 50)
    angular_damping: _three("N*m*s/rad") = doc((0.0, 0.0, 0.0), "Damping about the axes", "N*m*s/rad", 0.5)
    preload: vector("N") = doc((0.0, 0.0, 0.0), "Force on `b` at rest, along the axes", "N", [0, 0, 500])
    angular_preload: vector("N*m") = doc((0.0, 0.0, 0.0), "Torque on `b` at rest, about the axes", "N*m", [0, 0, 1])

    ENDS = ("a", "b")
    EVENTS = (("stiffness",), ("damping",), ("angular_stiffness",), ("angular_damping",), ("preload",), ("angular_preload",))
    SOLVERS = SOLVER_TYPES - {"affine"}

    @model_validator(mode="after")
    def _turns_alone(self) -> "BushingForce":
        if any(self.axes.xyz):
            raise refuse("SC207", "`axes` of a bushing have no place", "write the place as `at` of `a`", "axes.xyz")
        return self
