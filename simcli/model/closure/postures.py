"""What the rows of a mechanism lack at coordinates that someone gives: loops that are open there, gears that do not fit."""

from dataclasses import replace

import numpy as np

from simcli.model.closure.begin import unit_of_row
from simcli.model.closure.chart import chart_at
from simcli.model.closure.close import LoopProblem
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.places import start_angles
from simcli.model.table_base import handed_on
from simcli.model.tables import Array, Model


def gaps_at(model: Model, joint_q: Array) -> Array:
    """Gaps of the rows that hold from the first instant on, whatever motions prescribe, (N, R).

    Args:
        model: the tables, in tree form, of one world, or of N.
        joint_q: [m, rad, 1], (N, NQ).

    Returns:
        [m, rad, 1], absolute; 0 of rows that do not act.
    """
    at = handed_on(constraints_of, model, replace(model, joint_q=joint_q))
    problem = LoopProblem.of(at)
    gaps = problem.meter.gaps(chart_at(model, problem.q), problem.q, start_angles(problem.constraints, at))
    return np.where(problem.acts & (problem.constraints.rows.dof < 0), np.abs(gaps.residual), 0.0)


def joint_of_row(model: Model, row: int) -> tuple[int, str]:
    """Joint of a row, and the unit of its residual."""
    constraints = constraints_of(model)
    return int(constraints.rows.joint[row]), unit_of_row(constraints, row)
