"""Drag of a medium on a body."""

from typing import Literal

from pydantic import model_validator

from simcli.spec.forces.base import ForceBase
from simcli.spec.values.quantities import REQUIRED, Point, Text, doc, quantity, refuse, vector

_ACTS = ("damping", "quadratic", "angular_damping", "angular_quadratic")


class DragForce(ForceBase):
    """Viscous and quadratic drag on a body: of a point against a medium, and of its turning.

    force = -(damping + quadratic |v|) v, v the velocity of the point less that of the medium; the torque is
    -(angular_damping + angular_quadratic |w|) w.
    """

    type: Literal["drag"] = doc(REQUIRED, "Kind of force", "", "drag")
    body: Text = doc(REQUIRED, "Body", "", "ball")
    damping: quantity("N*s/m", ge=0) = doc(0.0, "Viscous drag", "N*s/m", 0.1)
    quadratic: quantity("N*s^2/m^2", ge=0) = doc(0.0, "Quadratic drag: density * drag coefficient * area / 2", "N*s^2/m^2",
                                                 0.02)  # fmt: skip
    angular_damping: quantity("N*m*s/rad", ge=0) = doc(0.0, "Viscous drag of turning", "N*m*s/rad", 1e-3)
    angular_quadratic: quantity("N*m*s^2/rad^2", ge=0) = doc(0.0, "Quadratic drag of turning", "N*m*s^2/rad^2", 1e-4)
    at: Point | None = doc(None, "Point that is dragged, body frame; default: the centre of mass", "m", [0, 0, 0.1])
    wind: vector("m/s") = doc((0.0, 0.0, 0.0), "Velocity of the medium, world axes", "m/s", [3, 0, 0])

    EVENTS = (*((key,) for key in _ACTS), ("at",), ("wind",))

    @model_validator(mode="after")
    def _acts(self) -> "DragForce":
        if not any(key in self.model_fields_set for key in _ACTS):
            raise refuse("SC202", "the drag does nothing", f"add one of {', '.join(f'`{key}`' for key in _ACTS)}")
        return self
