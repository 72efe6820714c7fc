"""Where rows belong: their pairs of anchors, the dofs whose coordinates they are, and the turns that they begin with.

The residual of some is a coordinate of a joint outside the tree: what laws, prescribed motions and gears act on.
"""

from dataclasses import dataclass, field

import numpy as np

from simcli import rotations as rot
from simcli.model.constraints.constraint_tables import Constraints, Form, Rows
from simcli.model.tables.model import Array, Model

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
    """The row of one coordinate: a component of the displacement, in the dual basis of the linear axes, or a turn.

    Args:
        model: the tables.
        j: joint, with scalar coordinates.
        k: which of its dofs.
    """
    first, (n_linear, n_angular) = int(model.joints.qd_start[j]), model.joints.dof_dim[j].tolist()
    axes = model.dofs.axis
    if k < n_linear:
        dual = np.swapaxes(np.linalg.pinv(axes[:, first : first + n_linear]), -1, -2)
        return CoordinateRow(Form.ALONG, dual[:, k])
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
    dof = np.where(rows.dof >= 0, rows.dof, joints.qd_start[rows.joint])
    return np.where(turns, joints.q_start[rows.joint] + dof - joints.qd_start[rows.joint], -1)


def start_angles(constraints: Constraints, model: Model) -> Array:
    """[rad], (W|1, R), what each turn begins with: the initial coordinate of its joint; 0 for other rows."""
    if not constraints.rows.n:
        return np.zeros((1, 0))
    places = turn_places(constraints, model)
    return np.where(places >= 0, np.nan_to_num(model.joint_q[:, np.maximum(places, 0)]), 0.0)
