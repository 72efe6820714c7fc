"""What acts on a sum of joint coordinates, or holds it: a fixed tendon, gears that give, a differential."""

from typing import Literal

from pydantic import model_validator

from simcli.spec.forces.base import SOLVER_TYPES, ForceBase, TermSpec
from simcli.spec.schema.joint import DriveSpec, LimitSpec
from simcli.spec.values.quantities import REQUIRED, AnyNumber, doc, quantity, refuse

_ACTS = ("stiffness", "damping", "friction", "velocity_limit", "limit", "drive")


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
    friction: quantity("N*m", "N", ge=0) = doc(0.0, "Dry friction", "N*m or N", 0.1)
    velocity_limit: quantity("rad/s", "m/s", gt=0) | None = doc(None, "Largest speed", "rad/s or m/s", 10)
    limit: LimitSpec | None = doc(None, "Bounds of x: [lower, upper] or {lower, upper, stiffness, damping}", "rad or m",
                                  [-0.5, 0.5])  # fmt: skip
    drive: DriveSpec | None = doc(None, "Actuator along x", "", "{mode: position, target: 0.1, stiffness: 100}")
    hold: AnyNumber | None = doc(None, "Instead of all that: what x is, exactly", "rad or m", 0.1)

    TERMS = ("of",)
    EVENTS = (("stiffness",), ("rest",), ("damping",), ("friction",), ("velocity_limit",), ("limit",), ("limit", "lower"),
              ("limit", "upper"), ("limit", "stiffness"), ("limit", "damping"), ("drive", "target"),
              ("drive", "target_velocity"), ("drive", "stiffness"), ("drive", "damping"), ("drive", "effort_limit"))
    SOLVERS = SOLVER_TYPES - {"affine"}
    IS_SMOOTH = False  # its row is none of second degree

    @model_validator(mode="after")
    def _acts(self) -> "CouplingForce":
        for key in (*_ACTS, "rest"):
            if self.hold is not None and key in self.model_fields_set:
                raise refuse("SC207", f"`hold` and `{key}` contradict each other", "keep one of them: x does not move", key)
        if self.hold is None and not any(getattr(self, key) for key in _ACTS):
            keys = ", ".join(f"`{key}`" for key in (*_ACTS, "hold"))
            raise refuse("SC202", "the coupling does nothing", f"add one of {keys}")
        return self
