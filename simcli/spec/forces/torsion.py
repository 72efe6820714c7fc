"""A spring and damper on the coordinate of a joint."""

from typing import Literal

from simcli.spec.forces.base import ForceBase, one_or_list
from simcli.spec.values.quantities import REQUIRED, Text, doc


class TorsionForce(ForceBase):
    """A spring and damper on the coordinate of a joint: it acts on the child, and on the parent the other way."""

    type: Literal["torsion"] = doc(REQUIRED, "Kind of force", "", "torsion")
    joint: Text = doc(REQUIRED, "Joint with scalar coordinates", "", "pin")
    stiffness: one_or_list("N*m/rad", "N/m", ge=0) = doc(REQUIRED, "Stiffness, or one per dof", "N*m/rad or N/m", 3.0)
    damping: one_or_list("N*m*s/rad", "N*s/m", ge=0) = doc((0.0,), "Damping, or one per dof", "N*m*s/rad or N*s/m", 0.1)
    rest_angle: one_or_list("rad", "m") = doc((0.0,), "Coordinate without effort, or one per dof", "rad or m", "30 deg")

    PER_DOF = ("stiffness", "damping", "rest_angle")
    SPREADS = True
    EVENTS = (("stiffness",), ("damping",), ("rest_angle",))
