"""What a drawing is made of: items, strands, viewpoints, and the colours of what a scene gives none.

The colours are told apart by people of all kinds of colour vision, and the same in all worlds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simcli.model.forces.ropes import way_through, wrap
from simcli.model.tables.model import Array
from simcli.rotations import quat_rotate
from simcli.spec.schema.shape import COLOURS, rgb

Colour = tuple[float, float, float]  # sRGB, 0 to 1
# Okabe and Ito (2008) without black; neighbours in this order differ in lightness, too.
_BODIES = tuple(rgb(COLOURS[name]) for name in ("blue", "orange", "green", "vermilion", "sky", "purple", "yellow"))
_STEP = 0.35  # how far each further round of the list is moved towards white, then towards black
FIXED = rgb("#9aa3ae")  # what belongs to the world
GROUND_COLOUR = rgb("#c9ced6")
METAL = rgb("#4a525e")  # joints
PIN = rgb("#e3e7ec")  # the moving part within a joint
AXIS_COLOURS = tuple(rgb(colour) for colour in ("#d1495b", "#3a9d5d", "#2f6fb7"))  # x, y, z of a frame
AXIS_COLOUR = rgb("#d6336c")
MASS = rgb("#1f2733")
SPRING = rgb("#7d8b9b")


def of_body(index: int) -> Colour:
    """The colour of a body by its index, -1 for the world."""
    if index < 0:
        return FIXED
    turn, place = divmod(index, len(_BODIES))
    base = _BODIES[place]
    if turn % 3 == 0:
        return base
    towards = 1.0 if turn % 3 == 1 else 0.0
    return tuple(value + _STEP * (towards - value) for value in base)


_KINDS = ("sphere", "ellipsoid", "box", "capsule", "cylinder", "cone", "plane", "mesh")
HERE = (0.0, 0.0, 0.0)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
_CORNERS = np.array([(x, y, z) for x in (False, True) for y in (False, True) for z in (False, True)])
# Half extents along the axes of an item, by its size.
_HALVES = {
    "sphere": lambda radius: (radius,) * 3,
    "ellipsoid": lambda *radii: radii,
    "box": lambda *size: tuple(0.5 * edge for edge in size),
    "capsule": lambda radius, length: (radius, radius, 0.5 * length + radius),
    "cylinder": lambda radius, length: (radius, radius, 0.5 * length),
    "cone": lambda radius, length: (radius, radius, 0.5 * length),
    "plane": lambda: (np.inf,) * 3,
}


@dataclass(frozen=True)
class Item:
    """One rigid thing, fixed to a body or to the world.

    Attributes:
        name: as `crank/rod` for a shape, the name of a joint or body for a glyph.
        body: index of the body, -1 for the world.
        kind: one of KINDS; z is the axis of a capsule, cylinder, cone and the normal of a plane.
        size: [m], as shapes of a scene have it: sphere (radius,); box full lengths; capsule, cylinder and cone
            (radius, length), about their middle, a cone with its apex up; ellipsoid half axes; plane and mesh ().
        position: [m], (3,), in the body.
        orientation: (4,), x y z w, in the body.
        colour: sRGB, 0 to 1.
        opacity: 0 to 1.
        layer: one of LAYERS, each of which can be switched.
        shown: whether it is drawn before somebody switches its layer.
        vertices: [m], (n, 3), of a mesh, in the item's frame; None for others.
        triangles: (m, 3), of a mesh, counter-clockwise seen from outside; None for others.
        bar: [m], length, first and last radius of a mesh that is a `glyphs.tapered` bar, for those who can draw it round.
    """

    name: str
    body: int
    kind: str
    size: tuple[float, ...]
    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]
    colour: Colour
    opacity: float = 1.0
    layer: str = "shape"
    shown: bool = True
    vertices: Array | None = field(default=None, compare=False)
    triangles: Array | None = field(default=None, compare=False)
    bar: tuple[float, float, float] | None = None

    @property
    def corners(self) -> Array:
        """Corners [m], (8, 3), in the body, of the box along the item's axes that holds it; infinite for a plane."""
        if self.kind == "mesh":
            low, high = self.vertices.min(axis=0), self.vertices.max(axis=0)
        else:
            high = np.array(_HALVES[self.kind](*self.size))
            low = -high
        return np.array(self.position) + quat_rotate(np.array(self.orientation), np.where(_CORNERS, high, low))

    @property
    def radius(self) -> float:
        """[m], half the largest distance of its corners."""
        return 0.5 * float(np.linalg.norm(self.corners[0] - self.corners[-1])) if self.kind != "plane" else np.inf


CHORDS = 12  # straight pieces by which an arc of a rope is drawn


@dataclass(frozen=True)
class Around:
    """What a rope runs around between two points, and which piece of its way there is drawn.

    Attributes:
        bodies: of the point before, of the centre, of the point behind, and of the side; -1 for the world.
        points: [m], (3,) each, in those bodies.
        radius: [m].
        axis: of a cylinder, in its body; None of a sphere.
        is_sided: whether there is a side.  is_inside: whether the rope runs through a ring.
        piece: -1 to the arc, CHORDS from it, between them a chord of it.
    """

    bodies: tuple[int, ...]
    points: tuple[tuple[float, ...], ...]
    radius: float
    axis: tuple[float, ...] | None
    is_sided: bool
    is_inside: bool
    piece: int

    def ends(self, carry: Callable[[int, Array], Array]) -> list[Array]:
        """Both ends of the piece, (..., 3); arguments as of `strand_ends`."""
        p, centre, q, side = (carry(*one) for one in zip(self.bodies, map(np.array, self.points), strict=True))
        about = self.bodies[1], np.array(self.points[1])
        axis = None if self.axis is None else carry(about[0], about[1] + np.array(self.axis)) - centre
        given = p - centre, q - centre, np.array(self.radius), axis
        found = way_through(*given) if self.is_inside else wrap(*given, side - centre if self.is_sided else None)
        if self.piece < 0:
            return [p, centre + found.first]
        if self.piece == CHORDS:
            return [centre + found.last, q]
        return [centre + found.at((self.piece + k) / CHORDS) for k in range(2)]


@dataclass(frozen=True)
class Strand:
    """A straight thing between points of two bodies, as long as these are apart.

    Attributes:
        name: of the joint or force.
        kind: "rod", "spring" or "cable".
        bodies: indices, -1 for the world.
        points: [m], two of (3,), each in its body.
        radius: [m], of a rod or cable; of the coil of a spring.
        colour: sRGB, 0 to 1.
        layer: one of LAYERS.
        around: of a piece of a rope that runs around something; its bodies and points are those before and behind.
    """

    name: str
    kind: str
    bodies: tuple[int, int]
    points: tuple[tuple[float, ...], tuple[float, ...]]
    radius: float
    colour: Colour
    layer: str
    around: Around | None = None


def strand_ends(strand: Strand, carry: Callable[[int, Array], Array]) -> list[Array]:
    """Both ends of a strand, [m], (..., 3), world.

    Args:
        strand: what is drawn.
        carry: from a body, -1 for the world, and a point (3,) of it to its places (..., 3).
    """
    if strand.around is not None:
        return strand.around.ends(carry)
    return [carry(body, np.array(point)) for body, point in zip(strand.bodies, strand.points, strict=True)]


@dataclass(frozen=True)
class Viewpoint:
    """From where a scene is seen.

    Attributes:
        position, target: [m], world.
        up: [1], world.
        fov: [rad], vertical.
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    fov: float = 0.7


@dataclass(frozen=True)
class Drawing:
    """One world of a scene, ready to be drawn.

    Attributes:
        items: rigid things.
        strands: straight things between bodies.
        bodies: names; items and strands have indices into them.
        points: named points: (name, body, position in it).
        background: sRGB, None for the viewer's own.
        grid: whether a grid lies under the scene.
        cameras: by name.
        camera: name of the camera that is taken first; "" for one that frames the motion.
        up: [1], away from gravity, along the axis of the world next to it.
        unit: [m], a length of the mechanism by which glyphs are sized.
        notes: what cannot be drawn, and why.
    """

    items: tuple[Item, ...]
    strands: tuple[Strand, ...]
    bodies: tuple[str, ...]
    points: tuple[tuple[str, int, tuple[float, ...]], ...]
    background: Colour | None
    grid: bool
    cameras: dict[str, Viewpoint]
    camera: str
    up: tuple[float, float, float]
    unit: float
    notes: tuple[str, ...] = ()
