"""A constant effort on a joint."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema

from simcli.spec.forces.base import Force, listed
from simcli.spec.values.quantities import REQUIRED, Text, drivable, one_or_list_json, say


class TorqueForce(Force):
    """A constant effort on a joint, one per dof."""

    type: Literal["torque"] = say(REQUIRED, "Kind of force", "", "torque")
    joint: Text = say(REQUIRED, "Joint", "", "pin")
    value: Annotated[
        tuple[drivable("N*m", "N"), ...],
        BeforeValidator(listed),
        WithJsonSchema(one_or_list_json("N*m", "N", signal=True)),
    ] = say(REQUIRED, "Effort, or one per dof; numbers or `$signal`", "N*m or N", 2.0)

    PER_DOF = ("value",)
    EVENTS = (("value",),)
