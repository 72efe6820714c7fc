"""An effort on a joint."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema

from simcli.spec.forces.base import ForceBase, listed_forces
from simcli.spec.values.quantities import REQUIRED, Text, doc, drivable, one_or_list_json


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
    EVENTS = (("value",),)
