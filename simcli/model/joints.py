"""The joint catalogue: one entry per joint type, with its motion axes and its bilateral rows.

A joint connects the body A (parent) with the body B (child) by an anchor frame in each. Motion axes are directions in
the parent anchor frame, linear ones first; rows are residuals of five kinds on the anchor points x_A, x_B and on unit
directions fixed in the anchor frames:

    MEET   n . (x_B - x_A) - c             n a world axis
    APART  (|x_B - x_A|^2 - c^2) / 2c      c > 0
    ALONG  d_A . (x_B - x_A) - c
    DOT    d_A . d_B - c
    PITCH  d_A . (x_B - x_A) - p angle     angle = atan2(b_A . t_B, t_A . t_B), b_A = d_A x t_A, t at right angles to d

PITCH is ALONG whose constant follows the turn about d; only the screw has it. It is no combination of the other four
kinds, because they forget full turns: the angle is known from directions only up to 2 pi, so that its reader passes the
angle that the joint had before and gets the branch nearest to it.

Twists are (velocity of the centre of mass, angular velocity), world frame, so that a row's gradient has twelve
columns: v_A, w_A, v_B, w_B.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from simcli.model import rotations as rot
from simcli.model.tables import JointKind

Array = np.ndarray


class RowKind(IntEnum):
    """Kinds of bilateral rows."""

    MEET = 0
    APART = 1
    ALONG = 2
    DOT = 3
    PITCH = 4


@dataclass(frozen=True)
class Row:
    """One scalar residual.

    Attributes:
        kind: RowKind.
        on_a: [1], (..., 3), unit: n for MEET (world), d_A else (parent anchor frame). Not read by APART.
        on_b: [1], (..., 3), unit: d_B of DOT, t_B of PITCH (which is t_A too), child anchor frame.
        constant: c [m for lengths, 1 for DOT]; p [m/rad] for PITCH.
    """

    kind: RowKind
    on_a: Array | None = None
    on_b: Array | None = None
    constant: Array | float = 0.0


@dataclass(frozen=True)
class Motion:
    """Motion axes of one joint, in the parent anchor frame.

    Attributes:
        linear: [1], (..., nl, 3), unit.
        angular: [1], (..., na, 3), unit; scalar angular dofs turn in the listed order, each carried by those before.
        pitch: [m/rad], (...), advance along the first angular axis.
    """

    linear: Array
    angular: Array
    pitch: Array | float = 0.0


def _no_axes() -> Array:
    return np.zeros((0, 3))


def no_motion(**_: Array) -> Motion:
    """Motion of a joint without degrees of freedom."""
    return Motion(_no_axes(), _no_axes())


def slide(axis: Array, **_: Array) -> Motion:
    """Motion along an axis."""
    return Motion(axis[..., None, :], _no_axes())


def hinge(axis: Array, **_: Array) -> Motion:
    """Motion about an axis."""
    return Motion(_no_axes(), axis[..., None, :])


def twist_along(axis: Array, pitch: Array, **_: Array) -> Motion:
    """Motion about an axis with an advance along it."""
    return Motion(_no_axes(), axis[..., None, :], pitch)


def slide_and_turn(axis: Array, **_: Array) -> Motion:
    """Motion along and about one axis."""
    return Motion(axis[..., None, :], axis[..., None, :])


def glide(axis: Array, **_: Array) -> Motion:
    """Motion in the plane that has the axis as its normal; its x and y are those of `frame_along`."""
    frame = rot.transpose(rot.frame_along(axis))
    return Motion(frame[..., :2, :], axis[..., None, :])


def listed(linear: Array, angular: Array, **_: Array) -> Motion:
    """Motion along and about the listed axes."""
    return Motion(linear, angular)


def all_turns(**_: Array) -> Motion:
    """Motion about a point."""
    return Motion(_no_axes(), np.eye(3))


def everything(**_: Array) -> Motion:
    """Motion without restriction."""
    return Motion(np.eye(3), np.eye(3))


def same_point(motion: Motion) -> list[Row]:
    """Rows that keep the anchor points together."""
    return [Row(RowKind.MEET, axis) for axis in np.eye(3)]


def on_lines(motion: Motion) -> list[Row]:
    """Rows that keep the child's point in the span of the linear axes; they need not be at right angles."""
    n = motion.linear.shape[-2]
    if n == 1:
        frame = rot.frame_along(motion.linear[..., 0, :])
        return [Row(RowKind.ALONG, frame[..., i]) for i in range(2)]
    return [Row(RowKind.ALONG, rot.unit(rot.cross(motion.linear[..., 0, :], motion.linear[..., 1, :])))]


def on_screw(motion: Motion) -> list[Row]:
    """Rows that keep the child's point on the axis, advancing with the turn."""
    frame = rot.frame_along(motion.angular[..., 0, :])
    rows = [Row(RowKind.ALONG, frame[..., i]) for i in range(2)]
    return [*rows, Row(RowKind.PITCH, frame[..., 2], frame[..., 0], motion.pitch)]


def parallel(motion: Motion) -> list[Row]:
    """Rows that allow one turn: the axis stays at right angles to two directions of the child."""
    frame = rot.frame_along(motion.angular[..., 0, :])
    return [Row(RowKind.DOT, frame[..., 2], frame[..., i]) for i in range(2)]


def crossed(motion: Motion) -> list[Row]:
    """Row that allows two turns: the axis in the parent and the axis in the child keep their angle."""
    first, second = motion.angular[..., 0, :], motion.angular[..., 1, :]
    return [Row(RowKind.DOT, first, second, rot.dot(first, second))]


def same_axes(motion: Motion) -> list[Row]:
    """Rows that allow no turn. Half turns about the axes solve them too; continuity excludes these."""
    x, y, z = np.eye(3)
    return [Row(RowKind.DOT, x, y), Row(RowKind.DOT, y, z), Row(RowKind.DOT, z, x)]


def unbound(motion: Motion) -> list[Row]:
    """No rows."""
    return []


TRANSLATION_ROWS = {0: same_point, 1: on_lines, 2: on_lines, 3: unbound}
ROTATION_ROWS = {0: same_axes, 1: parallel, 2: crossed, 3: unbound}


def translation_by_count(motion: Motion) -> list[Row]:
    """Rows of the directions that have no linear axis."""
    return TRANSLATION_ROWS[motion.linear.shape[-2]](motion)


def rotation_by_count(motion: Motion) -> list[Row]:
    """Rows of the turns that have no angular axis."""
    return ROTATION_ROWS[motion.angular.shape[-2]](motion)


@dataclass(frozen=True)
class JointType:
    """One entry of the catalogue.

    Attributes:
        kind: JointKind.
        coordinates: what joint_q holds: "scalars" (one per motion axis), "quaternion", "pose" (position, quaternion),
            or "slots" (placeholders that move nothing).
        motion: makes the motion axes from axis [1] (3,), linear (nl, 3), angular (na, 3), pitch [m/rad].
        translation: makes the rows on the anchor points.
        rotation: makes the rows on the directions.
        reads: which of `axis`, `axes`, `pitch` the type reads.
    """

    kind: JointKind
    coordinates: str
    motion: Callable[..., Motion]
    translation: Callable[[Motion], list[Row]]
    rotation: Callable[[Motion], list[Row]]
    reads: tuple[str, ...] = ()

    def rows(self, motion: Motion) -> list[Row]:
        """Bilateral rows for given motion axes.

        A distance joint has none: its length is a bound on one APART row (`distance_row`).
        """
        return self.translation(motion) + self.rotation(motion)

    def n_q(self, motion: Motion) -> int:
        """Number of joint_q entries."""
        fixed = {"quaternion": 4, "pose": 7, "slots": 2}
        return fixed.get(self.coordinates, motion.linear.shape[-2] + motion.angular.shape[-2])

    def dof_dim(self, motion: Motion) -> tuple[int, int]:
        """Numbers of linear and angular joint_qd entries."""
        if self.coordinates == "slots":
            return 1, 1  # stretch and bend
        return motion.linear.shape[-2], motion.angular.shape[-2]


CATALOGUE: dict[str, JointType] = {
    "prismatic": JointType(JointKind.PRISMATIC, "scalars", slide, on_lines, same_axes, ("axis",)),
    "revolute": JointType(JointKind.REVOLUTE, "scalars", hinge, same_point, parallel, ("axis",)),
    "ball": JointType(JointKind.BALL, "quaternion", all_turns, same_point, unbound),
    "fixed": JointType(JointKind.FIXED, "scalars", no_motion, same_point, same_axes),
    "free": JointType(JointKind.FREE, "pose", everything, unbound, unbound),
    "distance": JointType(JointKind.DISTANCE, "pose", everything, unbound, unbound),
    "d6": JointType(JointKind.D6, "scalars", listed, translation_by_count, rotation_by_count, ("axes",)),
    "cable": JointType(JointKind.CABLE, "slots", no_motion, unbound, unbound),
    "universal": JointType(JointKind.UNIVERSAL, "scalars", listed, same_point, crossed, ("axes",)),
    "cylindrical": JointType(JointKind.CYLINDRICAL, "scalars", slide_and_turn, on_lines, parallel, ("axis",)),
    "planar": JointType(JointKind.PLANAR, "scalars", glide, on_lines, parallel, ("axis",)),
    "screw": JointType(JointKind.SCREW, "scalars", twist_along, on_screw, parallel, ("axis", "pitch")),
}

TYPE_NAME = {entry.kind: name for name, entry in CATALOGUE.items()}


def distance_row(length: float) -> Row:
    """The row of a distance joint: an equation if its bounds agree, else one side of an inequality.

    Args:
        length: [m], positive.

    Returns:
        An APART row.
    """
    return Row(RowKind.APART, constant=length)
