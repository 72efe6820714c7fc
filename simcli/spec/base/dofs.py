"""What the spec must know of joint types: what joint_types.py says, and the units of their numbers."""

from collections.abc import Sequence

from simcli.joint_types import (
    AXIS,
    BESIDE_ROWS,
    COORDINATES_OF,
    DISTANCES,
    GEARED,
    IN_PLANE,
    NEEDED_KEYS,
    NEVER_TREE,
    NO_DOFS,
    NO_LIMITS,
    NONHOLONOMIC,
    ONLY,
    ORBITAL,
    RIBLE,
    ROWS_ONLY,
    SAME,
    SCREWS,
    SLIDING,
    TYPES,
    has_quaternion,
)

__all__ = [
    "ACTING",
    "AXIS",
    "BESIDE_ROWS",
    "DISTANCES",
    "DOF_UNITS",
    "FRAMES_ONLY",
    "GEARED",
    "IN_PLANE",
    "NEEDED_KEYS",
    "NEVER_TREE",
    "NONHOLONOMIC",
    "NO_DOFS",
    "NO_LIMITS",
    "ONLY",
    "ORBITAL",
    "RIBLE",
    "ROWS_ONLY",
    "SAME",
    "SCREWS",
    "SLIDING",
    "TYPES",
    "kinds",
    "n_q",
    "q_kinds",
    "units",
]

ACTING = ("drive", "friction", "damping", "armature", "velocity_limit", "motion")
FRAMES_ONLY = ONLY["length"] | ORBITAL | NONHOLONOMIC  # two anchors that need not meet


def kinds(type_name: str, n_linear: int = 0, n_angular: int = 0) -> str:
    """Kinds of a joint's dofs in the order of joint_qd; the counts are those of a d6's axes."""
    return "L" * n_linear + "A" * n_angular if type_name == "d6" else TYPES[type_name]


def n_q(type_name: str, n_qd: int) -> int:
    """Number of coordinates in joint_q of a joint with n_qd dofs."""
    return n_qd + has_quaternion(COORDINATES_OF[type_name])


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
