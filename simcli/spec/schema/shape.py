"""Schema of shapes: a form, which is all that can be seen, what it is made of, and how a scene is drawn."""

import re
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, WithJsonSchema, model_validator

from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.schema.pose import PlacedPoseSpec
from simcli.spec.values.quantities import (
    REQUIRED,
    Direction,
    Length,
    Plain,
    Point,
    PositiveLength,
    SurfaceVelocity,
    Text,
    Truth,
    doc,
    list_json,
    number_json,
    one_of,
    quantity,
    refuse,
    vector,
)
from simcli.spec.values.spec_model import ByType, SpecModel

DEFAULT_LAYER = "default"  # of shapes that name none


class Placed(SpecModel):
    """Something with a pose in a body, or in the world."""

    pose: PlacedPoseSpec = doc(
        PlacedPoseSpec, "Pose in the body (or world) frame, or `in` a frame of it", "", "{xyz: [0.2, 0, 0]}"
    )


class _Shape(Placed):
    material: Text | None = doc(None, "Name of a material", "", "steel")
    density: quantity("kg/m^3", gt=0) | None = doc(None, "Mass per volume, instead of the material's", "kg/m^3", 1000)
    collide: Truth = doc(True, "Whether the shape takes part in contact", "", False)
    layers: tuple[Text, ...] = doc((DEFAULT_LAYER,), "Names of the layers that it is in", "", "[robot]")
    touches: tuple[Text, ...] = doc(
        (DEFAULT_LAYER,), "Names of the layers that it touches; of two shapes one is enough to say so", "", "[ground, robot]"
    )
    margin: quantity("m", ge=0) = doc(
        0.0, "How far from its surface contact acts; that of two shapes acts at the sum of theirs", "m", 1e-3
    )
    grain: Direction | None = doc(
        None, "Direction in the frame of `pose`: `friction` holds along it, `friction_across` across it", "", [1, 0, 0]
    )
    surface_velocity: SurfaceVelocity = doc(
        (0.0, 0.0, 0.0),
        "Velocity of its surface along itself, as of a belt, in the frame of `pose`; numbers or `$signal`",
        "m/s",
        [0.5, 0, 0],
    )


def may_touch(one: _Shape, other: _Shape) -> bool:
    """Whether the layers of two shapes let them touch: those of one are among those that the other touches."""
    return not set(one.layers).isdisjoint(other.touches) or not set(other.layers).isdisjoint(one.touches)


class PlaneShape(_Shape):
    """A half space, solid below the plane; in `world` only."""

    type: Literal["plane"] = doc(REQUIRED, "Kind of shape", "", "plane")
    normal: Direction = doc((0.0, 0.0, 1.0), "Outward normal, normalised when read", "", [0, 0, 1])
    offset: Length = doc(0.0, "Distance of the plane from the origin along the normal", "m", 0.0)


class SphereForm(SpecModel):
    """A ball."""

    type: Literal["sphere"] = doc(REQUIRED, "Kind of shape", "", "sphere")
    radius: quantity("m", ge=0) = doc(REQUIRED, "Radius; 0: a point that touches others", "m", 0.1)


class SphereShape(SphereForm, _Shape):
    """A ball."""


class BoxForm(SpecModel):
    """A box about its centre."""

    type: Literal["box"] = doc(REQUIRED, "Kind of shape", "", "box")
    size: vector("m") = doc(REQUIRED, "Full lengths along x, y, z", "m", [0.4, 0.02, 0.02])


class BoxShape(BoxForm, _Shape):
    """A box about its centre."""


class CapsuleForm(SpecModel):
    """A cylinder along z with half balls on its ends, about its centre."""

    type: Literal["capsule"] = doc(REQUIRED, "Kind of shape", "", "capsule")
    radius: PositiveLength = doc(REQUIRED, "Radius", "m", 0.02)
    length: quantity("m", ge=0) = doc(REQUIRED, "Length of the cylinder part", "m", 0.3)


class CapsuleShape(CapsuleForm, _Shape):
    """A cylinder along z with half balls on its ends, about its centre."""


class CylinderForm(SpecModel):
    """A cylinder along z, about its centre."""

    type: Literal["cylinder"] = doc(REQUIRED, "Kind of shape", "", "cylinder")
    radius: PositiveLength = doc(REQUIRED, "Radius", "m", 0.05)
    length: PositiveLength = doc(REQUIRED, "Length along z", "m", 0.3)


class CylinderShape(CylinderForm, _Shape):
    """A cylinder along z, about its centre."""


class ConeForm(SpecModel):
    """A cone along z: base at -length/2, apex at +length/2."""

    type: Literal["cone"] = doc(REQUIRED, "Kind of shape", "", "cone")
    radius: PositiveLength = doc(REQUIRED, "Radius of the base", "m", 0.05)
    length: PositiveLength = doc(REQUIRED, "Height along z", "m", 0.3)


class ConeShape(ConeForm, _Shape):
    """A cone along z: base at -length/2, apex at +length/2."""


class EllipsoidForm(SpecModel):
    """An ellipsoid about its centre."""

    type: Literal["ellipsoid"] = doc(REQUIRED, "Kind of shape", "", "ellipsoid")
    radii: vector("m") = doc(REQUIRED, "Half axes along x, y, z", "m", [0.1, 0.05, 0.05])


class EllipsoidShape(EllipsoidForm, _Shape):
    """An ellipsoid about its centre."""


_SCALE_JSON = {**list_json(number_json(""), 3, 3), **number_json(""), "type": ["number", "string", "array"]}
Scale = Annotated[vector(""), WithJsonSchema(_SCALE_JSON)]


class MeshForm(SpecModel):
    """A triangle mesh from a file."""

    type: Literal["mesh"] = doc(REQUIRED, "Kind of shape", "", "mesh")
    file: Text = doc(REQUIRED, "OBJ or STL file, relative to the scene and below its folder", "", "part.obj")
    scale: Scale = doc((1.0, 1.0, 1.0), "Factor on the coordinates, one or one per axis", "", 0.001)

    @model_validator(mode="before")
    @classmethod
    def _scale(cls, value: Any) -> Any:
        if isinstance(value, dict) and type(value.get("scale")) in (int, float):
            return {**value, "scale": [value["scale"]] * 3}
        return value


class MeshShape(MeshForm, _Shape):
    """A closed triangle mesh from a file."""

    convex: Truth = doc(True, "Collide with the convex hull", "", True)


class HeightfieldShape(_Shape):
    """Terrain: heights on a regular grid, centred; in `world` only."""

    type: Literal["heightfield"] = doc(REQUIRED, "Kind of shape", "", "heightfield")
    file: Text | None = doc(None, "CSV file of heights, or grey PNG picture, relative to the scene", "", "hills.csv")
    data: list[list[Plain]] | None = doc(None, "Heights, rows along y", "m", "[[0, 0.1], [0, 0.2]]")
    size: vector("m") = doc(REQUIRED, "Extent along x and y, and the height of the value 1", "m", [10, 10, 1])

    @model_validator(mode="after")
    def _source(self) -> "HeightfieldShape":
        one_of(self, ("file", "data"))
        if self.data is not None and (
            len(self.data) < 2 or len({len(row) for row in self.data}) != 1 or len(self.data[0]) < 2
        ):
            raise refuse("SC205", "heights need at least 2 x 2 values in rows of one length", "", "data")
        return self


_SHAPES = (
    PlaneShape,
    SphereShape,
    BoxShape,
    CapsuleShape,
    CylinderShape,
    ConeShape,
    EllipsoidShape,
    MeshShape,
    HeightfieldShape,
)
ShapeSpec = Annotated[Union[_SHAPES], ByType(*_SHAPES)]  # noqa: UP007  (of a tuple)


# sRGB. The colours that have their names from Okabe and Ito (2008), "Color Universal Design", are told apart by
# people of all kinds of colour vision.
COLOURS = {
    "orange": "#e69f00",
    "sky": "#56b4e9",
    "green": "#009e73",
    "yellow": "#f0e442",
    "blue": "#0072b2",
    "vermilion": "#d55e00",
    "purple": "#cc79a7",
    "black": "#000000",
    "white": "#ffffff",
    "grey": "#8a8f98",
    "silver": "#c3c7ce",
    "charcoal": "#3a3f47",
    "red": "#c8342c",
    "pink": "#e8a0b4",
    "brown": "#8a5a34",
    "sand": "#d9c7a3",
    "gold": "#c9a227",
    "teal": "#1b8a8f",
    "navy": "#22406e",
    "steel": "#7d8b9b",
    "brass": "#b5974a",
    "copper": "#b06a44",
}
_HEX = re.compile(r"#[0-9a-fA-F]{6}\Z")
_COLOUR_PATTERN = "^(#[0-9a-fA-F]{6}|" + "|".join(COLOURS) + r"|\$\{.*)$"


def _colour(value: str) -> str:
    if value in COLOURS or _HEX.match(value):
        return value
    hint = (
        "write #rrggbb in quotes, with six hexadecimal digits"
        if value.startswith("#")
        else (did_you_mean(value.lower(), COLOURS, 'write "#rrggbb", or one of the colours'))
    )
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
