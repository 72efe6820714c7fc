"""Joint types, as they are known without numbers: each is one entry of `JOINT_TYPES`.

Kinds of a dof: "L" linear, "A" angular. The motion itself stands in model.joints.CATALOGUE, and the kinds of joints in the
tables are sorted by these entries there. Whatever else is known of types follows from the entries: which end with a
quaternion, on which laws and efforts act, which move in a tree, which have dofs or limits, which fit in a plane.
"""

from enum import StrEnum
from typing import NamedTuple


class Coordinates(StrEnum):
    """What joint_q holds.

    Attributes:
        SCALARS: one number for each dof.  CARRIED: likewise, the linear axis fixed in the child.
        QUATERNION, POSE: a quaternion; a position and a quaternion.
        SLIDES: a number for each linear dof, then a quaternion.
        ORBIT, ORBIT_QUATERNION: longitude and latitude of the anchor, then the turns.
        SLOTS: placeholders that move nothing.
    """

    SCALARS = "scalars"
    CARRIED = "carried"
    QUATERNION = "quaternion"
    POSE = "pose"
    SLIDES = "slides quaternion"
    ORBIT = "orbit"
    ORBIT_QUATERNION = "orbit quaternion"
    SLOTS = "slots"


class Required(NamedTuple):
    """What a joint cannot do without.

    Attributes:
        choices: groups of keys, of which all keys of one group must be given.
        hint: how to give them.
        words: what a message calls them; "" names the keys.
    """

    choices: tuple[tuple[str, ...], ...]
    hint: str = ""
    words: str = ""

    @property
    def text(self) -> str:
        """What a message says that the joint needs."""
        return self.words or " or ".join(f"`{key}`" for key in self.keys)

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of all groups, each once."""
        return tuple(dict.fromkeys(key for group in self.choices for key in group))


class TypeEntry(NamedTuple):
    """A joint type.

    Attributes:
        dofs: kinds of its dofs in the order of joint_qd; those of a d6 are those of its axes.
        coordinates: what joint_q holds.
        has_axis: whether it takes `axis`.
        keys: of a scene, that only some types take.
        required: which of them it cannot do without; None for a type that needs none.
        is_coaxial: whether it slides along `axis` and turns about it, and does nothing else, so that `axis` stands still in
            both bodies.
        is_flat: whether it can stand in a planar scene.
        words: what other programs call it.
    """

    dofs: str
    coordinates: Coordinates = Coordinates.SCALARS
    has_axis: bool = False
    keys: tuple[str, ...] = ()
    required: Required | None = None
    is_coaxial: bool = False
    is_flat: bool = False
    words: tuple[str, ...] = ()


_STIFFNESS, _MATERIAL = ("stretch", "bend", "twist"), ("youngs", "poisson", "radius", "length")  # of a cable
_CABLE = (*_STIFFNESS, "stretch_damping", "bend_damping", "twist_damping", *_MATERIAL)
_LENGTH = Required((("length",), ("limit",)), "as `length: 0.4`")
_AXES = Required((("axes",),), "without axes it is a fixed joint")
_TWO_TURNS = Required((("axes",),), "axes: {angular: [[1, 0, 0], [0, 1, 0]]}", "two angular axes")
_OF_A_CABLE = Required(
    (*((key,) for key in _STIFFNESS), _MATERIAL),
    f"{', '.join(_STIFFNESS)} or {', '.join(_MATERIAL)}",
    "stiffnesses or a material",
)
_PITCH = Required((("pitch",),), "metres per turn")
_RADIUS = Required((("radius",),), "as `radius: 0.3`, the largest distance of the rim from the wheel's axis")
JOINT_TYPES: dict[str, TypeEntry] = {
    "fixed": TypeEntry("", is_flat=True, words=("weld", "welded", "rigid")),
    "revolute": TypeEntry(
        "A",
        has_axis=True,
        is_coaxial=True,
        is_flat=True,
        words=("hinge", "rotational", "rotary", "continuous", "pin"),
    ),
    "prismatic": TypeEntry(
        "L", has_axis=True, is_coaxial=True, is_flat=True, words=("slide", "slider", "linear", "translational")
    ),
    "ball": TypeEntry("AAA", Coordinates.QUATERNION, words=("spherical", "socket", "ball_socket")),
    "free": TypeEntry("LLLAAA", Coordinates.POSE, words=("freejoint", "floating", "freeflyer", "6dof")),
    "distance": TypeEntry(
        "LLLAAA", Coordinates.POSE, keys=("length",), required=_LENGTH, is_flat=True, words=("rod", "rope")
    ),
    "d6": TypeEntry("", keys=("axes",), required=_AXES, is_flat=True, words=("generic",)),
    "cable": TypeEntry(
        "LA", Coordinates.SLOTS, has_axis=True, keys=_CABLE, required=_OF_A_CABLE, is_flat=True, words=("beam",)
    ),
    "universal": TypeEntry("AA", keys=("axes",), required=_TWO_TURNS, words=("cardan", "hooke")),
    "cylindrical": TypeEntry("LA", has_axis=True, is_coaxial=True),
    "planar": TypeEntry("LLA", has_axis=True, is_flat=True),
    "screw": TypeEntry("A", has_axis=True, keys=("pitch",), required=_PITCH, is_coaxial=True, words=("helical",)),
    # The child is a wheel on a plane of the parent, or has a blade that does not slip sideways in it. Both leave it free in
    # a tree, and hold it by constraint equations, some of them on velocities alone.
    "rolling": TypeEntry(
        "LLLAAA",
        Coordinates.POSE,
        has_axis=True,
        keys=("normal", "radius", "tube"),
        required=_RADIUS,
        words=("wheel", "disc", "roll"),
    ),
    "knife_edge": TypeEntry("LLLAAA", Coordinates.POSE, has_axis=True, keys=("normal",), words=("skate", "blade")),
    # An anchor of the child slides along the axis of the parent, or in the plane across it; the child turns freely.
    "point_on_line": TypeEntry("LAAA", Coordinates.SLIDES, has_axis=True, words=("inline", "point_line")),
    "point_on_plane": TypeEntry("LLAAA", Coordinates.SLIDES, has_axis=True, words=("inplane", "point_plane")),
}

# Rible's types. The two coordinates of an orbital joint are angles: where the child's anchor is on its sphere.
_TRANSLATION = {"floating": "LLL", "orbital": "AA", "planar": "LL", "prismatic": "L", "": ""}
_ROTATION = {"spherical": "AAA", "universal": "AA", "revolute": "A", "": ""}
# Those that are another type under a second name: a d6 with these axes, or a universal whose `axis` is normal to both.
SAME = {
    **dict.fromkeys(
        (
            "nc_planar",
            "nc_floating",
            "nc_floating_revolute",
            "nc_floating_universal",
            "nc_planar_universal",
            "nc_prismatic_universal",
        ),
        "d6",
    ),
    **{f"nc_{name}": name for name in ("fixed", "revolute", "prismatic", "cylindrical", "universal")},
    "nc_spherical": "ball",
    "nc_planar_revolute": "planar",
    "nc_floating_spherical": "free",
}
_SLIDES = ("nc_planar_spherical", "nc_prismatic_spherical")


def _coordinates(name: str, move: str, turn: str) -> Coordinates:
    """What joint_q of one of Rible's types holds."""
    if name in SAME:
        return JOINT_TYPES[SAME[name]].coordinates
    if move == "orbital":
        return Coordinates.ORBIT_QUATERNION if turn == "spherical" else Coordinates.ORBIT
    return Coordinates.SLIDES if name in _SLIDES else Coordinates.SCALARS


def _rible() -> dict[str, TypeEntry]:
    """Rible's 21 joints: five translation parts times four rotation parts, and one more."""
    found = {}
    for move, linear in _TRANSLATION.items():
        for turn, angular in _ROTATION.items():
            name = f"nc_{'_'.join(part for part in (move, turn) if part) or 'fixed'}"
            has_axis = move not in ("floating", "") or turn in ("revolute", "universal")
            is_flat = move != "floating" and turn in ("revolute", "")
            found[name] = TypeEntry(linear + angular, _coordinates(name, move, turn), has_axis, is_flat=is_flat)
    found["nc_cylindrical"] = found.pop("nc_prismatic_revolute")._replace(is_flat=False)
    found["nc_universal_prismatic"] = TypeEntry("LAA", Coordinates.CARRIED, has_axis=True)
    return found


JOINT_TYPES |= _rible()
TYPES = {name: entry.dofs for name, entry in JOINT_TYPES.items()}
RIBLE = {name: of for name, of in TYPES.items() if name.startswith("nc_")}
COORDINATES_OF = {name: entry.coordinates for name, entry in JOINT_TYPES.items()}

# Those that rows measure outside a tree, so that laws and efforts act on them.
ALONG_ROWS = frozenset((Coordinates.SCALARS, Coordinates.QUATERNION))
# A tree moves along these; outside a tree an effort along a pose is a wrench.
IN_A_TREE = ALONG_ROWS | {Coordinates.POSE}
WITH_EFFORT = IN_A_TREE


def has_quaternion(coordinates: str) -> bool:
    """Whether the last four numbers of joint_q are a quaternion."""
    return coordinates == Coordinates.POSE or coordinates.endswith(Coordinates.QUATERNION)


def types_with(*coordinates: str) -> frozenset[str]:
    """Joint types whose joint_q holds one of these."""
    return frozenset(name for name, one in COORDINATES_OF.items() if one in coordinates)


ROWS_ONLY = frozenset(TYPES) - types_with(*IN_A_TREE, Coordinates.SLOTS)  # no tree moves along their coordinates
NEVER_TREE = ROWS_ONLY | types_with(Coordinates.SLOTS)
# Nothing that a limit, drive, damper, effort or gear could act on; a d6 has the dofs of its axes.
NO_DOFS = types_with(Coordinates.SLOTS) | frozenset(name for name, of in TYPES.items() if not of and name != "d6")
_KEYS = dict.fromkeys(key for entry in JOINT_TYPES.values() for key in entry.keys)
AXIS = frozenset(name for name, entry in JOINT_TYPES.items() if entry.has_axis)
# Keys that only some types take, beyond those that all take.
ONLY = {"axis": AXIS} | {key: frozenset(name for name, one in JOINT_TYPES.items() if key in one.keys) for key in _KEYS}
DISTANCES = types_with(Coordinates.POSE) & ONLY["length"]  # they bound how far the anchors are apart
NONHOLONOMIC = ONLY["normal"]  # they hold velocities that no coordinates tell
# In a tree they leave their child free, as a free joint does, and hold it by constraint equations.
BESIDE_ROWS = DISTANCES | NONHOLONOMIC
UNBOUND = types_with(Coordinates.POSE) - BESIDE_ROWS  # they hold nothing
SCREWS = ONLY["pitch"]  # they advance as they turn, which is no polynomial of poses
# No coordinate to bound; that of a distance joint is its length.
NO_LIMITS = NO_DOFS | UNBOUND | NONHOLONOMIC
GEARED = types_with(Coordinates.SCALARS) - NO_DOFS  # only scalar dofs

ONE_COORDINATE = frozenset(name for name in GEARED if len(TYPES[name]) == 1)
ORBITAL = types_with(Coordinates.ORBIT, Coordinates.ORBIT_QUATERNION)
SLIDING = {name: of for name, of in TYPES.items() if name not in RIBLE and COORDINATES_OF[name] == Coordinates.SLIDES}
COAXIAL = frozenset(name for name, entry in JOINT_TYPES.items() if entry.is_coaxial)
IN_PLANE = frozenset(name for name, entry in JOINT_TYPES.items() if entry.is_flat)  # they fit in a planar scene
# Keys of which one type or another cannot do without one, and that other types do not take.
NEEDED_KEYS = tuple(
    dict.fromkeys(
        key for entry in JOINT_TYPES.values() for key in (entry.required.keys if entry.required else ()) if key in entry.keys
    )
)
