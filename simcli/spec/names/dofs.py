"""What the spec must know of joint types: their dofs, in the order of joint_qd, and which keys they take.

Kinds of a dof: "L" linear, "A" angular. The motion itself stands in model.joints.CATALOGUE.
"""

from collections.abc import Sequence

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
ROWS_ONLY = frozenset(RIBLE) - frozenset(SAME) | frozenset(SLIDING)  # no tree moves along their coordinates
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

# Keys that only some types take, beyond those that all take.
AXIS = frozenset(("revolute", "prismatic", "cylindrical", "planar", "screw", "cable", *SLIDING)) | frozenset(
    name for name in RIBLE if name not in ("nc_spherical", "nc_fixed", "nc_floating", "nc_floating_spherical")
)
ONLY: dict[str, frozenset[str]] = {
    "axis": AXIS,
    "axes": frozenset(("d6", "universal")),
    "pitch": frozenset(("screw",)),
    "length": frozenset(("distance", "cable")),
    **{
        key: frozenset(("cable",))
        for key in (
            "stretch",
            "bend",
            "twist",
            "stretch_damping",
            "bend_damping",
            "twist_damping",
            "youngs",
            "poisson",
            "radius",
        )
    },
}
_N_Q = {"ball": 4, "free": 7, "distance": 7, **{name: len(of) + 1 for name, of in SLIDING.items()}}
NEVER_TREE = frozenset(("cable",)) | ROWS_ONLY
NO_LIMITS = frozenset(("fixed", "free", "cable", "nc_fixed", "nc_floating_spherical"))  # no coordinate to bound
NO_DOFS = frozenset(("fixed", "cable", "nc_fixed"))  # nothing that a limit, drive, damper or gear could act on
ACTING = ("drive", "friction", "damping", "armature", "velocity_limit", "motion")
_SCALAR = ("revolute", "prismatic", "screw", "cylindrical", "planar", "universal", "d6")
GEARED = frozenset((*_SCALAR, *(name for name, other in SAME.items() if other in _SCALAR)))  # only scalar dofs
FRAMES_ONLY = frozenset(("distance", "cable")) | ORBITAL  # two anchors that need not meet


def kinds(type_name: str, n_linear: int = 0, n_angular: int = 0) -> str:
    """Kinds of a joint's dofs in the order of joint_qd; the counts are those of a d6's axes."""
    return "L" * n_linear + "A" * n_angular if type_name == "d6" else TYPES[type_name]


def n_q(type_name: str, n_qd: int) -> int:
    """Number of coordinates in joint_q of a joint with n_qd dofs. Rible's spherical parts hold a quaternion."""
    if type_name.startswith("nc_") and type_name.endswith("spherical"):
        return n_qd + 1
    return _N_Q.get(type_name, n_qd)


def q_kinds(type_name: str, of_qd: str) -> str:
    """Kinds of joint_q: "L", "A", or "Q" for a component of a quaternion."""
    if n_q(type_name, len(of_qd)) == len(of_qd):
        return of_qd
    return of_qd[:-3] + "QQQQ"


# Units of per-dof values for a linear and an angular dof.
DOF_UNITS: dict[str, dict[str, str]] = {
    "position": {"L": "m", "A": "rad", "Q": ""},
    "velocity": {"L": "m/s", "A": "rad/s"},
    "effort": {"L": "N", "A": "N*m"},
    "stiffness": {"L": "N/m", "A": "N*m/rad"},
    "damping": {"L": "N*s/m", "A": "N*m*s/rad"},
    "armature": {"L": "kg", "A": "kg*m^2"},
    "compliance": {"L": "m/N", "A": "rad/(N*m)"},
}


def units(role: str, of: Sequence[str]) -> list[str]:
    """Units of a role for each of some kinds."""
    return [DOF_UNITS[role][kind] for kind in of]
