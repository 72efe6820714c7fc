"""Where rows belong: their pairs of anchors, the dofs whose coordinates they are, and the turns that they begin with."""

import numpy as np

from simcli.model.constraints.tables import Constraints, Form, Rows
from simcli.model.tables import Array, Model


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
