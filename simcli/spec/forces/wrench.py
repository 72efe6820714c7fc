"""A force and a torque on a body."""

from typing import Literal

from simcli.spec.forces.base import ForceBase
from simcli.spec.values.quantities import REQUIRED, Point, Text, doc, drivable_vector


class WrenchForce(ForceBase):
    """A force and a torque on a body."""

    type: Literal["wrench"] = doc(REQUIRED, "Kind of force", "", "wrench")
    body: Text = doc(REQUIRED, "Body", "", "crank")
    force: drivable_vector("N") = doc((0.0, 0.0, 0.0), "Force; numbers or `$signal`", "N", [0, 0, 1])
    torque: drivable_vector("N*m") = doc((0.0, 0.0, 0.0), "Torque; numbers or `$signal`", "N*m", [0, 0, 0])
    at: Point | None = doc(None, "Point of application, body frame; default: the centre of mass", "m", [0, 0, 0])
    frame: Literal["world", "body"] = doc("world", "Axes of force and torque", "", "body")

    EVENTS = (("force",), ("torque",), ("at",))
    DRIVEN = ("force", "torque")
