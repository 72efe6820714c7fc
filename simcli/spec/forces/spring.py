"""A spring and damper between two points, or along a path of points."""

from typing import Literal

from simcli.spec.forces.base import EndSpec, ForceBase
from simcli.spec.values.quantities import REQUIRED, Truth, doc, quantity


class SpringForce(ForceBase):
    """A spring and damper between two points, straight or over pulleys.

    With `through` it is a cable: it runs from `a` over these points to `b` without friction, so that one tension holds along
    all of it, and its length is the sum of its straight parts.
    """

    type: Literal["spring"] = doc(REQUIRED, "Kind of force", "", "spring")
    a: EndSpec = doc(REQUIRED, "First end", "", "{world: [1, 0, 0]}")
    b: EndSpec = doc(REQUIRED, "Second end", "", "slider/p")
    through: tuple[EndSpec, ...] = doc((), "Points that it runs over on its way, without friction: pulleys without size", "",
                                       "[{world: [0, 0, 2]}, crane/tip]")  # fmt: skip
    stiffness: quantity("N/m", ge=0) = doc(REQUIRED, "Stiffness", "N/m", 50)
    damping: quantity("N*s/m", ge=0) = doc(0.0, "Damping along the line", "N*s/m", 5)
    rest_length: quantity("m", ge=0) | None = doc(None, "Length without force; default: the length at t = 0", "m", 1.0)
    slack: Truth = doc(False, "True: a rope, no force when shorter", "", True)

    ENDS = ("a", "through", "b")
    EVENTS = (("stiffness",), ("damping",), ("rest_length",), ("slack",),
              ("a", "at"), ("a", "world"), ("b", "at"), ("b", "world"))  # fmt: skip
