"""A force and a torque on a body."""

from typing import Literal

from simcli.spec.forces.base import Force
from simcli.spec.values.quantities import REQUIRED, Point, Text, drivable_vector, say


class WrenchForce(Force):
    """A force and a torque on a body."""

    type: Literal["wrench"] = say(REQUIRED, "Kind of force", "", "wrench")
    body: Text = say(REQUIRED, "Body", "", "crank")
    force: drivable_vector("N") = say((0.0, 0.0, 0.0), "Force; numbers or `$signal`", "N", [0, 0, 1])
    torque: drivable_vector("N*m") = say((0.0, 0.0, 0.0), "Torque; numbers or `$signal`", "N*m", [0, 0, 0])
    at: Point | None = say(None, "Point of application, body frame; default: the centre of mass", "m", [0, 0, 0])
    frame: Literal["world", "body"] = say("world", "Axes of force and torque", "", "body")

    EVENTS = (("force",), ("torque",), ("at",))
    DRIVEN = ("force", "torque")
