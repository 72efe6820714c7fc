"""A spring and damper between two points."""

from typing import Literal

from simcli.spec.forces.base import EndSpec, ForceBase
from simcli.spec.values.quantities import REQUIRED, Truth, doc, quantity


class SpringForce(ForceBase):
    """A spring and damper between two points."""

    type: Literal["spring"] = doc(REQUIRED, "Kind of force", "", "spring")
    a: EndSpec = doc(REQUIRED, "First end", "", "{world: [1, 0, 0]}")
    b: EndSpec = doc(REQUIRED, "Second end", "", "slider/p")
    stiffness: quantity("N/m", ge=0) = doc(REQUIRED, "Stiffness", "N/m", 50)
    damping: quantity("N*s/m", ge=0) = doc(0.0, "Damping along the line", "N*s/m", 5)
    rest_length: quantity("m", ge=0) | None = doc(None, "Length without force; default: the length at t = 0", "m", 1.0)
    slack: Truth = doc(False, "True: a rope, no force when shorter", "", True)

    ENDS = ("a", "b")
    EVENTS = (("stiffness",), ("damping",), ("rest_length",), ("slack",),
              ("a", "at"), ("a", "world"), ("b", "at"), ("b", "world"))  # fmt: skip
