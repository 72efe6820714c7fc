"""Postures: where the links of a mechanism are, what is found there, and residuals of rows, in any coordinates."""

from dataclasses import dataclass, field, replace

import numpy as np

from simcli.model.closure.chart import Chart, chart_at
from simcli.model.closure.gaps import Gaps
from simcli.model.closure.loop_problem import LoopProblem
from simcli.model.closure.spans import in_worlds
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Constraints, Form, start_angles
from simcli.model.tables.model import Array, Model
from simcli.model.tables.table_base import handed_on

DIRECTIONS = (Form.DOT, Form.TURN, Form.CARDAN, Form.EULER)  # rows whose residual is an angle


@dataclass
class Configuration:
    """Where the links are.

    Attributes:
        q: [m, rad, 1], (W, NQ).
        angle: [rad], (W, R), of rows that count turns.
    """

    q: Array
    angle: Array

    def copy(self) -> "Configuration":
        """Another one, at the same place."""
        return Configuration(self.q.copy("K"), self.angle.copy("K"))

    def of_worlds(self, worlds: Array) -> "Configuration":
        """That of some worlds."""
        return Configuration(in_worlds(self.q, worlds), in_worlds(self.angle, worlds))

    def with_worlds(self, worlds: Array, other: "Configuration") -> "Configuration":
        """This one with another one of some worlds."""
        found = self.copy()
        found.q[worlds], found.angle[worlds] = other.q, other.angle
        return found


@dataclass
class Probe:
    """What is found at a posture.

    Attributes:
        chart, gaps: of the posture.
        residuals: [m, rad, 1], (W, R).
        gap: [m, rad, 1], (W, G), the largest of each group.
        merit: (W, G), sum of the squares.
        found: gradients of groups that have been asked for.
    """

    chart: Chart
    gaps: Gaps
    residuals: Array
    gap: Array
    merit: Array
    found: dict[int, Array] = field(default_factory=dict)


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


def unit_of_row(constraints: Constraints, row: int) -> str:
    """Unit of the residual of a row."""
    return "rad" if constraints.rows.form[row] in DIRECTIONS else "m"


@dataclass
class StepsTaken:
    """Newton steps that have been taken.

    Attributes:
        n: how many.
        masses: mass matrices where they began, by group.
        total: [m, rad], (W, NV), their sum.
        way: (W, G), the sum of their sizes, in angles.
        slow: (W, G), how many were slow.
    """

    n: int
    masses: dict[int, Array]
    total: Array
    way: Array
    slow: Array

    @staticmethod
    def none(masses: dict[int, Array], n_qd: int, shape: tuple[int, int]) -> "StepsTaken":
        """Before the first one.

        Args:
            masses: [kg, kg m, kg m^2], (W, n, n), of groups.
            n_qd: NV.
            shape: (W, G).
        """
        total = np.zeros((shape[0], n_qd), order="F")
        way, slow = (np.zeros(shape, kind, order="F") for kind in (float, int))
        return StepsTaken(0, masses, total, way, slow)

    def add(self, step: Array, size: Array, is_slow: Array) -> None:
        """Another one."""
        self.n, self.total, self.way, self.slow = self.n + 1, self.total + step, self.way + size, self.slow + is_slow

    def of_worlds(self, worlds: Array) -> "StepsTaken":
        """Those of some worlds."""
        masses = {g: in_worlds(M, worlds) for g, M in self.masses.items()}
        return StepsTaken(self.n, masses, *(in_worlds(one, worlds) for one in (self.total, self.way, self.slow)))
