"""Constraint rows of a model: loop joints, gears, and the coordinates that laws bound, as tables for any solver.

A pair of anchors has one in each of two links; its rows are residuals on them (joints/catalogue.py lists the
kinds). More kinds are added to those of the catalogue, most of them because laws act on them:

    TURN    angle about d, over full turns       the coordinate of a hinge that closes a loop
    LENGTH  |x_B - x_A|                          the coordinate of a distance joint, or of a spring
    SPIN    component of log(R_A^T R_B)          a coordinate of a ball joint, for its limits
    GEAR    sum p_i(q_i) - c       a sum of polynomials of joint coordinates, or of other rows: the length of a cable
    RIGID   a_i . a_j, less 1 if i = j             two vectors of a link in natural coordinates
    CARDAN  angle number c of two successive turns      a coordinate of a universal joint, or of a d6
    EULER   of three, about axes at right angles
    ROLL    rate w . d_A alone                          a velocity of a ball joint; it has no coordinate

A law (kernels/rows/bounded_laws.py) acts on a dof of the tree, or on a row: the residual of some is a coordinate of a joint
outside the tree, which prescribed motions and gears act on, too.
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import NONHOLONOMIC_ROWS, RowKind
from simcli.model.joints.motion_axes import dual_basis
from simcli.model.tables.model import Model
from simcli.model.tables.table_base import Array, Table


class Form(IntEnum):
    """Kinds of rows on the device: those of the catalogue, and those that laws act on."""

    MEET = RowKind.MEET
    APART = RowKind.APART
    ALONG = RowKind.ALONG
    DOT = RowKind.DOT
    PITCH = RowKind.PITCH
    RIM = RowKind.RIM
    SLIP = RowKind.SLIP
    BLADE = RowKind.BLADE
    TURN = 5
    LENGTH = 6
    SPIN = 7
    GEAR = 8
    RIGID = 9
    CARDAN = 10
    EULER = 11
    ROLL = 12


@dataclass(frozen=True)
class AnchorPairs(Table):
    """Pairs of anchors.

    Attributes:
        joint: (P,) joint whose anchors these are, -1 for the ends of a spring, or of a straight part of it.
        link_a, link_b: (P,) links of A and B, -1 for the world: of parent and child, unless swapped.
        point_a, point_b: [m], (W|1, P, 3), link frames.
        frame_a, frame_b: [1], (W|1, P, 3, 3), anchor axes in link axes.
        row_start: (P + 1,) offsets into the rows.
        is_swapped: (P,) bool, True where A is the joint's child and B its parent.
    """

    joint: Array
    link_a: Array
    link_b: Array
    point_a: Array
    point_b: Array
    frame_a: Array
    frame_b: Array
    row_start: Array
    is_swapped: Array


@dataclass(frozen=True)
class Rows(Table):
    """Rows, pair by pair of anchors, then gears, then those of rigidity.

    Attributes:
        label: (R,) as `rod:0`.
        form: (R,) Form.
        joint: (R,) joint, -1 for springs.
        spring: (R,) spring whose length this is, else -1.
        drag: (R,) twice the drag whose velocity this is, and 1 for its turning; else -1. Three follow each other.
        is_hard: (R,) bool: a bilateral row; the others are coordinates that a law bounds.
        on_a: [1], (W|1, R, 3), d_A in link axes of A; n of MEET in world axes; component of SPIN, ROLL in anchor axes,
            and the first axis of CARDAN and EULER.
        across_a: [1], (W|1, R, 3), t_A of PITCH and TURN, d_A of RIM and SLIP in link axes of A; second axis of CARDAN and
            EULER in anchor axes.
        on_b: [1], (W|1, R, 3), d_B of DOT, t_B of PITCH and TURN, axis of the wheel or heading of RIM, SLIP and BLADE in
            link axes of B; third axis of EULER in anchor axes.
        constant: (W|1, R): c, or the pitch [m/rad], or R of RIM and SLIP [m].
        compliance: [m/N, rad/(N m)], (W|1, R).
        enabled: (W|1, R), 1 or 0.
        scale: [1/kg, 1/(kg m^2)], (W|1, R), typical size of J M^-1 J^T.
        vector_a, vector_b: (R,) index into joint_qd of the first numbers of the two vectors of RIGID; else -1.
        term_start: (R + 1,) offsets into the terms of GEAR, of which other rows have none.
        term_dof: (T,) index into joint_qd, -1 of parts of cables.  term_row: (T,) rows of these, else -1.
        power_start: (T + 1,) offsets into the coefficients of the terms: p_i(q) = sum of coefficient_n q^n, n from 1 on.
        coefficient: [what makes it one unit], (W|1, P).
        dof: (R,) index into joint_qd of the coordinate that the row is, of joints outside the tree; else -1. Hard rows among
            them follow prescribed motions; the others carry laws and gears.
        tube: [m], (W|1, R), r of RIM and SLIP; else 0.
    """

    label: tuple[str, ...]
    form: Array
    joint: Array
    spring: Array
    drag: Array
    is_hard: Array
    on_a: Array
    across_a: Array
    on_b: Array
    constant: Array
    compliance: Array
    enabled: Array
    scale: Array
    vector_a: Array
    vector_b: Array
    term_start: Array
    term_dof: Array
    term_row: Array
    power_start: Array
    coefficient: Array
    dof: Array
    tube: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.form)

    @property
    def all_act(self) -> bool:
        """Whether every row is enabled but those that a cable only sums."""
        return bool(np.delete(self.enabled, self.term_row[self.term_row >= 0], axis=1).all())


@dataclass(frozen=True)
class Laws(Table):
    """Coordinates with a law that a smooth force cannot state.

    Attributes:
        dof: (K,) index into joint_qd, -1 for the length of a distance joint.
        row: (K,) row whose residual is the coordinate, -1 if it is the dof of a tree joint itself.
        lower, upper: (W|1, K), hard bounds, infinite if there are none.
        friction_is_driven: (K,) whether a signal drives it.
        friction: [N, N m], (W|1, K).
        rate_lower, rate_upper: (W|1, K), of the velocity, infinite if there are none.
        effort_limit: [N, N m], (W|1, K), of the drive; infinite if there is none.
    """

    dof: Array
    row: Array
    lower: Array
    upper: Array
    friction_is_driven: Array
    friction: Array
    rate_lower: Array
    rate_upper: Array
    effort_limit: Array

    @property
    def n(self) -> int:
        """Number of laws."""
        return len(self.dof)


@dataclass(frozen=True)
class Constraints:
    """All that constrains the tree's coordinates."""

    anchor_pairs: AnchorPairs
    rows: Rows
    laws: Laws


NONHOLONOMIC_FORMS = tuple(map(Form, NONHOLONOMIC_ROWS))  # rows that hold a velocity and have no residual
NO_VECTOR = np.zeros((1, 3))


@dataclass(frozen=True)
class CoordinateRow:
    """A coordinate as a residual, in anchor frames.

    Attributes:
        form: Form.
        on_a, across_a: [1], (W|1, 3), parent anchor frame.
        on_b: [1], (W|1, 3), child anchor frame.
        constant: which of several successive turns.
        in_anchors: whether the vectors stay in anchor axes, instead of those of the links.
    """

    form: Form
    on_a: Array
    across_a: Array = field(default_factory=NO_VECTOR.copy)
    on_b: Array = field(default_factory=NO_VECTOR.copy)
    constant: float = 0.0
    in_anchors: bool = False


def coordinate_row(model: Model, j: int, k: int) -> CoordinateRow:
    """The row of one coordinate: a part of the displacement along a slide (`dual_basis`), or a turn.

    Args:
        model: the tables.
        j: joint, with scalar coordinates.
        k: which of its dofs.
    """
    first, (n_linear, n_angular) = int(model.joints.qd_start[j]), model.joints.dof_dim[j].tolist()
    axes = model.dofs.axis
    if k < n_linear:
        turn, n_screws = first + n_linear, int(model.joints.pitch[:, j].any())
        return CoordinateRow(Form.ALONG, dual_basis(axes[:, first:turn], axes[:, turn : turn + n_screws])[:, k])
    if n_angular > 1:
        turns = [axes[:, first + n_linear + i] for i in range(n_angular)]
        form = Form.CARDAN if n_angular == 2 else Form.EULER
        return CoordinateRow(form, *turns, constant=k - n_linear, in_anchors=True)
    axis = axes[:, first + k]
    across = rot.frame_along(axis)[..., 0]
    return CoordinateRow(Form.TURN, axis, across, across)


def anchor_pair_of_row(constraints: Constraints) -> Array:
    """Pair of anchors of each row, (R,); -1 for gears and rows of rigidity."""
    starts = constraints.anchor_pairs.row_start
    found = np.full(constraints.rows.n, -1)
    found[: starts[-1]] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return found


def coordinate_rows(rows: Rows, n_qd: int) -> Array:
    """Row that is the coordinate of each dof, for laws and gears, (NV,); -1 for others."""
    row_of_dof, chosen = np.full(n_qd, -1), np.flatnonzero((rows.dof >= 0) & ~rows.is_hard)
    row_of_dof[rows.dof[chosen]] = chosen
    return row_of_dof


def rows_of_terms(rows: Rows, n_qd: int) -> Array:
    """Row that each term of GEAR takes its coordinate from, (T,); -1 for those that are dofs of the tree."""
    return np.where(rows.term_dof < 0, rows.term_row, np.append(coordinate_rows(rows, n_qd), -1)[rows.term_dof])


def turn_places(constraints: Constraints, model: Model) -> Array:
    """Index into joint_q of the coordinate that each row counts full turns of, (R,); -1 for rows that count none."""
    rows, joints = constraints.rows, model.joints
    turns = np.isin(rows.form, (Form.TURN, Form.PITCH, Form.CARDAN, Form.EULER))
    dof = np.where(rows.dof >= 0, rows.dof, joints.qd_start[rows.joint] + joints.dof_dim[rows.joint, 0])
    return np.where(turns, joints.q_start[rows.joint] + dof - joints.qd_start[rows.joint], -1)


def start_angles(constraints: Constraints, model: Model) -> Array:
    """[rad], (W|1, R), what each turn begins with: the initial coordinate of its joint; 0 for other rows."""
    if not constraints.rows.n:
        return np.zeros((1, 0))
    places = turn_places(constraints, model)
    return np.where(places >= 0, np.nan_to_num(model.joint_q[:, np.maximum(places, 0)]), 0.0)
