"""Joint types, as they are known without numbers: their coordinates, their dofs in the order of joint_qd, their axes.

Kinds of a dof: "L" linear, "A" angular. The motion itself stands in model.joints.CATALOGUE, further keys in spec.names.dofs.

`COORDINATES_OF` is the only list of what joint_q of a type holds. What follows from it: which types end with a quaternion,
on which of them laws and efforts act, which move in a tree, which have neither dofs nor limits. The kinds of joints in
the tables are sorted by it in model.joints.catalogue.
"""

from enum import StrEnum

# The two coordinates of an orbital joint are angles: where the child's anchor is on its sphere.
_TRANSLATION = {"floating": "LLL", "orbital": "AA", "planar": "LL", "prismatic": "L", "": ""}
_ROTATION = {"spherical": "AAA", "universal": "AA", "revolute": "A", "": ""}


def _rible() -> dict[str, str]:
    """Rible's 21 joints: five translation parts times four rotation parts, and one more."""
    table = {}
    for move, linear in _TRANSLATION.items():
        for turn, angular in _ROTATION.items():
            name = "_".join(part for part in (move, turn) if part) or "fixed"
            table[f"nc_{name}"] = linear + angular
    table["nc_cylindrical"] = table.pop("nc_prismatic_revolute")
    table["nc_universal_prismatic"] = "LAA"
    return table


RIBLE = _rible()
# Those that are another type under a second name: a d6 with these axes, or a universal whose `axis` is normal to both.
SAME = {
    **dict.fromkeys(("nc_planar", "nc_floating", "nc_floating_revolute", "nc_floating_universal", "nc_planar_universal",
                     "nc_prismatic_universal"), "d6"),
    **{f"nc_{name}": name for name in ("fixed", "revolute", "prismatic", "cylindrical", "universal")},
    "nc_spherical": "ball", "nc_planar_revolute": "planar", "nc_floating_spherical": "free",
}  # fmt: skip
ORBITAL = frozenset(name for name in RIBLE if name.startswith("nc_orbital"))
# An anchor of the child slides along the axis of the parent, or in the plane across it; the child turns as it likes.
SLIDING = {"point_on_line": "LAAA", "point_on_plane": "LLAAA"}
TYPES: dict[str, str] = {
    "fixed": "",
    "revolute": "A",
    "prismatic": "L",
    "ball": "AAA",
    "free": "LLLAAA",
    "distance": "LLLAAA",
    "d6": "",  # by its axes
    "cable": "LA",
    "universal": "AA",
    "cylindrical": "LA",
    "planar": "LLA",
    "screw": "A",
    **SLIDING,
    **RIBLE,
}


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


COORDINATES_OF: dict[str, Coordinates] = {
    **dict.fromkeys(TYPES, Coordinates.SCALARS),
    **{name: Coordinates.ORBIT_QUATERNION if name.endswith("spherical") else Coordinates.ORBIT for name in ORBITAL},
    **dict.fromkeys((*SLIDING, "nc_planar_spherical", "nc_prismatic_spherical"), Coordinates.SLIDES),
    **dict.fromkeys(("free", "distance"), Coordinates.POSE),
    "ball": Coordinates.QUATERNION,
    "cable": Coordinates.SLOTS,
    "nc_universal_prismatic": Coordinates.CARRIED,
}
COORDINATES_OF |= {name: COORDINATES_OF[other] for name, other in SAME.items()}

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
# No coordinate to bound; that of a distance joint is its length.
NO_LIMITS = NO_DOFS | types_with(Coordinates.POSE) - {"distance"}
GEARED = types_with(Coordinates.SCALARS) - NO_DOFS  # only scalar dofs

# Types with an `axis`.
AXIS = frozenset(("revolute", "prismatic", "cylindrical", "planar", "screw", "cable", *SLIDING)) | frozenset(
    name for name in RIBLE if name not in ("nc_spherical", "nc_fixed", "nc_floating", "nc_floating_spherical")
)
