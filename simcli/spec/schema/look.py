"""Schema of `look`: how a scene is drawn. Nothing of it reaches the motion, so all solvers take it."""

import re
from typing import Annotated, Union

from pydantic import AfterValidator, WithJsonSchema

from simcli.spec.faults.fault_list import did_you_mean
from simcli.spec.schema.shape import (
    BoxForm,
    CapsuleForm,
    ConeForm,
    CylinderForm,
    EllipsoidForm,
    MeshForm,
    Placed,
    SphereForm,
)
from simcli.spec.values.quantities import REQUIRED, Direction, Point, Text, Truth, doc, quantity, refuse
from simcli.spec.values.spec_model import ByType, SpecModel

# sRGB. The colours that have their names from Okabe and Ito (2008), "Color Universal Design", are told apart by
# people of all kinds of colour vision.
COLOURS = {
    "orange": "#e69f00", "sky": "#56b4e9", "green": "#009e73", "yellow": "#f0e442", "blue": "#0072b2",
    "vermilion": "#d55e00", "purple": "#cc79a7", "black": "#000000",
    "white": "#ffffff", "grey": "#8a8f98", "silver": "#c3c7ce", "charcoal": "#3a3f47", "red": "#c8342c",
    "pink": "#e8a0b4", "brown": "#8a5a34", "sand": "#d9c7a3", "gold": "#c9a227", "teal": "#1b8a8f", "navy": "#22406e",
    "steel": "#7d8b9b", "brass": "#b5974a", "copper": "#b06a44",
}  # fmt: skip
_HEX = re.compile(r"#[0-9a-fA-F]{6}\Z")
_COLOUR_PATTERN = "^(#[0-9a-fA-F]{6}|" + "|".join(COLOURS) + r"|\$\{.*)$"


def _colour(value: str) -> str:
    if value in COLOURS or _HEX.match(value):
        return value
    hint = "write #rrggbb in quotes, with six hexadecimal digits" if value.startswith("#") else (
        did_you_mean(value.lower(), COLOURS, 'write "#rrggbb", or one of the colours'))  # fmt: skip
    raise refuse("SC206", f"`{value[:40]}` is not a colour", hint)


_Colour = Annotated[Text, AfterValidator(_colour), WithJsonSchema({"type": "string", "pattern": _COLOUR_PATTERN})]
Opacity = quantity("", ge=0, le=1)


def rgb(colour: str) -> tuple[float, float, float]:
    """Red, green and blue of a colour, sRGB, 0 to 1."""
    digits = COLOURS.get(colour, colour)
    return tuple(int(digits[k : k + 2], 16) / 255 for k in (1, 3, 5))


class _Painted(Placed):
    colour: _Colour | None = doc(None, "Colour; default: that of the body", "", "orange")
    opacity: Opacity | None = doc(None, "0 is invisible, 1 opaque; default: that of the body", "", 0.5)


class SphereLook(SphereForm, _Painted):
    """A ball that is only seen."""


class BoxLook(BoxForm, _Painted):
    """A box that is only seen."""


class CapsuleLook(CapsuleForm, _Painted):
    """A capsule that is only seen."""


class CylinderLook(CylinderForm, _Painted):
    """A cylinder that is only seen."""


class ConeLook(ConeForm, _Painted):
    """A cone that is only seen."""


class EllipsoidLook(EllipsoidForm, _Painted):
    """An ellipsoid that is only seen."""


class MeshLook(MeshForm, _Painted):
    """A mesh that is only seen; it need not be closed."""


_LOOKS = (SphereLook, BoxLook, CapsuleLook, CylinderLook, ConeLook, EllipsoidLook, MeshLook)
ShapeLookSpec = Annotated[Union[_LOOKS], ByType(*_LOOKS)]  # noqa: UP007  (of a tuple)


class BodyLookSpec(SpecModel):
    """How a body, or what is fixed to the world, is drawn."""

    colour: _Colour | None = doc(None, 'A name as `orange`, or "#rrggbb"; default: one that tells bodies apart', "", "teal")
    opacity: Opacity = doc(1.0, "0 is invisible, 1 opaque", "", 0.5)
    hidden: Truth = doc(False, "True: nothing of it is drawn", "", True)
    shapes: dict[str, ShapeLookSpec] = doc(
        dict, "Shapes that are only seen: no mass, no contact", "", "{hood: {type: mesh, file: hood.obj, colour: red}}"
    )


class CameraSpec(SpecModel):
    """From where a scene is seen."""

    position: Point = doc(REQUIRED, "Where the camera stands, world", "m", [3, -4, 2], alias="from")
    target: Point = doc((0.0, 0.0, 0.0), "What it looks at, world", "m", [0, 0, 0.5], alias="at")
    up: Direction = doc((0.0, 0.0, 1.0), "What is up in the picture, world", "", [0, 0, 1])
    fov: quantity("rad", gt=0, lt=3.1) = doc(0.7, "Vertical field of view", "rad", "40 deg")


class LookSpec(SpecModel):
    """How the scene is drawn: background and cameras."""

    background: _Colour | None = doc(None, "Colour behind everything; default: light or dark as the viewer is", "", "white")
    grid: Truth = doc(True, "Whether a grid lies under the scene", "", False)
    camera: Text | None = doc(None, "Camera that is taken first; default: one that frames the whole motion", "", "side")
    cameras: dict[str, CameraSpec] = doc(dict, "Cameras by name", "", "{side: {from: [0, -5, 1], at: [0, 0, 1]}}")
