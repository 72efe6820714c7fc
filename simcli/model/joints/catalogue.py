"""The joint catalogue: one entry per joint type, with its motion axes and its bilateral rows.

A joint connects the body A (parent) with the body B (child) by an anchor frame in each. Motion axes are directions in
the parent anchor frame, linear ones first; rows are residuals of five kinds on the anchor points x_A, x_B and on unit
directions fixed in the anchor frames:

    MEET   n . (x_B - x_A) - c             n a world axis
    APART  (|x_B - x_A|^2 - c^2) / 2c      c > 0
    ALONG  d_A . (x_B - x_A) - c
    DOT    d_A . d_B - c
    PITCH  d_A . (x_B - x_A) - p angle     angle = atan2(b_A . t_B, t_A . t_B), b_A = d_A x t_A, t at right angles to d

A wheel and a blade, which a plane of A with the normal n bears, have three more; p is the lowest point of the wheel:

    RIM    n . (p - x_A)                   p = x_B + R u - r n, u the direction in the wheel's plane that points down most
    SLIP   rate d_A . (v_B - v_A) at p     of the points of both bodies that are at p; it has no residual
    BLADE  the same at x_B, along n x heading

PITCH is ALONG whose constant follows the turn about d; only the screw has it. It is no combination of the other four
kinds, because they forget full turns: the angle is known from directions only up to 2 pi, so that its reader passes the
angle that the joint had before and gets the branch nearest to it.

Rible's 21 joints (nc_...) are compositions of the same rows: five translation parts times four rotation parts, with the axis
as their normal n, and one more. Fourteen are other types under a second name; the rest no tree can hold.

Twists are (velocity of the centre of mass, angular velocity), world frame, so that a row's gradient has twelve
columns: v_A, w_A, v_B, w_B.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial

import numpy as np

from simcli import joint_types
from simcli import rotations as rot
from simcli.joint_types import Coordinates
from simcli.model.joints.motion_axes import (
    MotionAxis,
    all_turns,
    along_and_about,
    composed,
    everything,
    glide,
    hinge,
    no_motion,
    on_plane_axes,
    slide_along,
    slide_and_turn,
    twist_along,
)
from simcli.model.tables.model import JointKind

_Array = np.ndarray


class RowKind(IntEnum):
    """Kinds of bilateral rows."""

    MEET = 0
    APART = 1
    ALONG = 2
    DOT = 3
    PITCH = 4
    RIM = 13
    SLIP = 14
    BLADE = 15


NONHOLONOMIC_ROWS = (RowKind.SLIP, RowKind.BLADE)  # they hold a velocity, and no coordinate


@dataclass(frozen=True)
class Row:
    """One scalar residual.

    Attributes:
        kind: RowKind.
        on_a: [1], (..., 3), unit: n for MEET (world), d_A else (parent anchor frame). Not read by APART.
        on_b: [1], (..., 3), unit: d_B of DOT, t_B of PITCH (which is t_A too), child anchor frame.
        constant: c [m for lengths, 1 for DOT]; p [m/rad] for PITCH.
        swapped: True: A is the child and B the parent; all rows of a joint agree in this.
        along: [1], (..., 3), unit: d_A of RIM and SLIP, whose on_a is the normal and on_b the wheel's axis.
        tube: [m], r of RIM and SLIP, whose constant is R.
    """

    kind: RowKind
    on_a: _Array | None = None
    on_b: _Array | None = None
    constant: _Array | float = 0.0
    swapped: bool = False
    along: _Array | None = None
    tube: _Array | float = 0.0


def same_point(motion: MotionAxis) -> list[Row]:
    """Rows that keep the anchor points together."""
    return [Row(RowKind.MEET, axis) for axis in np.eye(3)]


def on_lines(motion: MotionAxis) -> list[Row]:
    """Rows that keep the child's point in the span of the linear axes; they need not be at right angles."""
    n = motion.linear.shape[-2]
    if n == 1:
        frame = rot.frame_along(motion.linear[..., 0, :])
        return [Row(RowKind.ALONG, frame[..., i]) for i in range(2)]
    return [Row(RowKind.ALONG, rot.unit(rot.cross(motion.linear[..., 0, :], motion.linear[..., 1, :])))]


def on_screw(motion: MotionAxis) -> list[Row]:
    """Rows that keep the child's point on the axis, advancing with the turn."""
    frame = rot.frame_along(motion.angular[..., 0, :])
    rows = [Row(RowKind.ALONG, frame[..., i]) for i in range(2)]
    return [*rows, Row(RowKind.PITCH, frame[..., 2], frame[..., 0], motion.pitch)]


def parallel(motion: MotionAxis) -> list[Row]:
    """Rows that allow one turn: the axis stays at right angles to two directions of the child."""
    frame = rot.frame_along(motion.angular[..., 0, :])
    return [Row(RowKind.DOT, frame[..., 2], frame[..., i]) for i in range(2)]


def crossed(motion: MotionAxis) -> list[Row]:
    """Row that allows two turns: the axis in the parent and the axis in the child keep their angle."""
    first, second = motion.angular[..., 0, :], motion.angular[..., 1, :]
    return [Row(RowKind.DOT, first, second, rot.dot(first, second))]


def same_axes(motion: MotionAxis) -> list[Row]:
    """Rows that allow no turn. Half turns about the axes solve them too; continuity excludes these."""
    x, y, z = np.eye(3)
    return [Row(RowKind.DOT, x, y), Row(RowKind.DOT, y, z), Row(RowKind.DOT, z, x)]


def unbound(motion: MotionAxis) -> list[Row]:
    """No rows."""
    return []


def on_sphere(motion: MotionAxis) -> list[Row]:
    """Row that keeps the anchor points apart."""
    return [Row(RowKind.APART, constant=motion.radius)]


def after_orbit(motion: MotionAxis) -> list[Row]:
    """Rows of the turns that have no angular axis, of a joint whose first two move the anchor."""
    return rotation_by_count(MotionAxis(motion.linear, motion.angular[..., 2:, :]))


def on_plane(motion: MotionAxis) -> list[Row]:
    """Row that keeps the lowest point of a wheel on a plane."""
    return [Row(RowKind.RIM, motion.normal, motion.heading, motion.radius, along=motion.normal, tube=motion.tube)]


def without_slip(motion: MotionAxis) -> list[Row]:
    """Rows that keep the point of a wheel that touches a plane at rest in it."""
    frame = rot.frame_along(motion.normal)
    return [
        Row(RowKind.SLIP, motion.normal, motion.heading, motion.radius, along=frame[..., i], tube=motion.tube)
        for i in range(2)
    ]


def without_side_slip(motion: MotionAxis) -> list[Row]:
    """Row that keeps a blade from moving sideways in a plane."""
    return [Row(RowKind.BLADE, motion.normal, motion.heading, along=motion.normal)]


def seen_from_child(rows: Callable[[MotionAxis], list[Row]], motion: MotionAxis) -> list[Row]:
    """Rows with parent and child in each other's place, each with its own axes."""
    found = []
    for row in rows(motion):
        ends = (row.on_a, None) if row.on_b is None else (row.on_b, row.on_a)
        found.append(replace(row, on_a=ends[0], on_b=ends[1], swapped=True))
    return found


TRANSLATION_ROWS = {0: same_point, 1: on_lines, 2: on_lines, 3: unbound}
ROTATION_ROWS = {0: same_axes, 1: parallel, 2: crossed, 3: unbound}


def translation_by_count(motion: MotionAxis) -> list[Row]:
    """Rows of the directions that have no linear axis."""
    return TRANSLATION_ROWS[motion.linear.shape[-2]](motion)


def rotation_by_count(motion: MotionAxis) -> list[Row]:
    """Rows of the turns that have no angular axis."""
    return ROTATION_ROWS[motion.angular.shape[-2]](motion)


@dataclass(frozen=True)
class JointEntry:
    """One entry of the catalogue.

    Attributes:
        kind: JointKind.
        coordinates: what joint_q holds, of joint_types.COORDINATES_OF.
        motion: makes the motion axes from axis [1] (3,), linear (nl, 3), angular (na, 3), pitch [m/rad].
        translation: makes the rows on the anchor points.
        rotation: makes the rows on the directions.
        reads: which of `axis`, `axes`, `pitch`, `normal` makes the motion axes.
    """

    kind: JointKind
    coordinates: Coordinates
    motion: Callable[..., MotionAxis]
    translation: Callable[[MotionAxis], list[Row]]
    rotation: Callable[[MotionAxis], list[Row]]
    reads: tuple[str, ...] = ()

    def rows(self, motion: MotionAxis) -> list[Row]:
        """Bilateral rows for given motion axes.

        A distance joint has none: its length is a bound on one APART row (`distance_row`).
        """
        return self.translation(motion) + self.rotation(motion)

    def n_q(self, motion: MotionAxis) -> int:
        """Number of joint_q entries."""
        if self.coordinates == Coordinates.SLOTS:
            return 2
        return motion.linear.shape[-2] + motion.angular.shape[-2] + int(self.has_quaternion)

    @property
    def has_quaternion(self) -> bool:
        """True if the last four coordinates are a quaternion."""
        return joint_types.has_quaternion(self.coordinates)

    def dof_dim(self, motion: MotionAxis) -> tuple[int, int]:
        """Numbers of linear and angular joint_qd entries."""
        if self.coordinates == Coordinates.SLOTS:
            return 1, 1  # stretch and bend
        return motion.linear.shape[-2], motion.angular.shape[-2]


_OF_MOTION = ("axis", "axes", "pitch", "normal")  # keys of a scene that the makers of motion axes read


def _read_by(name: str) -> tuple[str, ...]:
    """Keys of a type that make its motion axes; those of a cable's slots make none."""
    if joint_types.COORDINATES_OF[name] == Coordinates.SLOTS:
        return ()
    return tuple(key for key in _OF_MOTION if name in joint_types.ONLY[key])


def _entry(name: str, kind: JointKind, *columns: Callable) -> JointEntry:
    """The entry of a type, which holds the coordinates and reads the keys that its name has."""
    motion, translation, rotation = columns
    return JointEntry(kind, joint_types.COORDINATES_OF[name], motion, translation, rotation, _read_by(name))


BASE_TYPES: dict[str, tuple] = {
    "prismatic": (JointKind.PRISMATIC, slide_along, on_lines, same_axes),
    "revolute": (JointKind.REVOLUTE, hinge, same_point, parallel),
    "ball": (JointKind.BALL, all_turns, same_point, unbound),
    "fixed": (JointKind.FIXED, no_motion, same_point, same_axes),
    "free": (JointKind.FREE, everything, unbound, unbound),
    "distance": (JointKind.DISTANCE, everything, unbound, unbound),
    "d6": (JointKind.D6, along_and_about, translation_by_count, rotation_by_count),
    "cable": (JointKind.CABLE, no_motion, unbound, unbound),
    "universal": (JointKind.UNIVERSAL, along_and_about, same_point, crossed),
    "cylindrical": (JointKind.CYLINDRICAL, slide_and_turn, on_lines, parallel),
    "planar": (JointKind.PLANAR, glide, on_lines, parallel),
    "screw": (JointKind.SCREW, twist_along, on_screw, parallel),
    "rolling": (JointKind.ROLLING, on_plane_axes, on_plane, without_slip),
    "knife_edge": (JointKind.KNIFE_EDGE, on_plane_axes, unbound, without_side_slip),
    "point_on_line": (JointKind.PRISMATIC_BALL, composed(1, 3), on_lines, unbound),
    "point_on_plane": (JointKind.PLANAR_BALL, composed(2, 3), on_lines, unbound),
}
CATALOGUE: dict[str, JointEntry] = {name: _entry(name, *columns) for name, columns in BASE_TYPES.items()}
TYPE_NAME = {entry.kind: name for name, entry in CATALOGUE.items()}


def _again(name: str, n_linear: int, n_angular: int) -> JointEntry:
    """One of Rible's joints that is a type of the catalogue, its axes those of a composed joint."""
    same = CATALOGUE[joint_types.SAME[name]]
    return replace(same, motion=composed(n_linear, n_angular), reads=_read_by(name))


def _orbital(name: str, kind: JointKind, n_angular: int) -> JointEntry:
    """A joint whose anchors keep their distance."""
    return _entry(name, kind, composed(0, n_angular, True), on_sphere, after_orbit)


_SWAPPED = (partial(seen_from_child, rows) for rows in (on_lines, crossed))
RIBLE_ENTRIES: dict[str, JointEntry] = {
    "nc_fixed": _again("nc_fixed", 0, 0),
    "nc_revolute": _again("nc_revolute", 0, 1),
    "nc_universal": _again("nc_universal", 0, 2),
    "nc_spherical": _again("nc_spherical", 0, 3),
    "nc_prismatic": _again("nc_prismatic", 1, 0),
    "nc_cylindrical": _again("nc_cylindrical", 1, 1),
    "nc_prismatic_universal": _again("nc_prismatic_universal", 1, 2),
    "nc_prismatic_spherical": CATALOGUE["point_on_line"],
    "nc_universal_prismatic": _entry("nc_universal_prismatic", JointKind.UNIVERSAL_PRISMATIC, composed(1, 2), *_SWAPPED),
    "nc_planar": _again("nc_planar", 2, 0),
    "nc_planar_revolute": _again("nc_planar_revolute", 2, 1),
    "nc_planar_universal": _again("nc_planar_universal", 2, 2),
    "nc_planar_spherical": CATALOGUE["point_on_plane"],
    "nc_orbital": _orbital("nc_orbital", JointKind.ORBITAL, 0),
    "nc_orbital_revolute": _orbital("nc_orbital_revolute", JointKind.ORBITAL_REVOLUTE, 1),
    "nc_orbital_universal": _orbital("nc_orbital_universal", JointKind.ORBITAL_UNIVERSAL, 2),
    "nc_orbital_spherical": _orbital("nc_orbital_spherical", JointKind.ORBITAL_BALL, 3),
    "nc_floating": _again("nc_floating", 3, 0),
    "nc_floating_revolute": _again("nc_floating_revolute", 3, 1),
    "nc_floating_universal": _again("nc_floating_universal", 3, 2),
    "nc_floating_spherical": _again("nc_floating_spherical", 3, 3),
}
CATALOGUE |= RIBLE_ENTRIES
TYPE_NAME = {entry.kind: name for name, entry in RIBLE_ENTRIES.items()} | TYPE_NAME  # the shorter name of two


def kinds_of(names: frozenset[str]) -> tuple[JointKind, ...]:
    """Kinds of some joint types."""
    return tuple(sorted({CATALOGUE[name].kind for name in names}))


def kinds_with(*coordinates: Coordinates) -> tuple[JointKind, ...]:
    """Kinds of the joints whose joint_q holds one of these."""
    return kinds_of(joint_types.types_with(*coordinates))


POSES = kinds_with(Coordinates.POSE)  # joint_q is a position and a quaternion
BALLS = kinds_with(Coordinates.QUATERNION)
QUATERNIONS = tuple(sorted({entry.kind for entry in CATALOGUE.values() if entry.has_quaternion}))  # joint_q ends with one
SLOTTED = kinds_with(Coordinates.SLOTS)
CARRIED_KINDS = kinds_with(Coordinates.CARRIED)
KINDS_ALONG_ROWS = kinds_with(*joint_types.ALONG_ROWS)
ORBITS = kinds_with(Coordinates.ORBIT, Coordinates.ORBIT_QUATERNION)  # the first two turns move the anchor
SCREW_KINDS = kinds_of(joint_types.SCREWS)  # they advance as they turn
DISTANCE_KINDS = kinds_of(joint_types.DISTANCES)
NONHOLONOMIC_KINDS = kinds_of(joint_types.NONHOLONOMIC)
UNBOUND_KINDS = kinds_of(joint_types.UNBOUND)
BESIDE_ROWS_KINDS = kinds_of(joint_types.BESIDE_ROWS)  # in a tree they leave their child free
ROWS_ONLY_KINDS = kinds_of(joint_types.ROWS_ONLY)


def distance_row(length: float) -> Row:
    """The row of a distance joint: an equation if its bounds agree, else one side of an inequality.

    Args:
        length: [m], positive.

    Returns:
        An APART row.
    """
    return Row(RowKind.APART, constant=length)
