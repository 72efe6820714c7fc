"""Small motions about a steady motion: a straight run, a steady turn, a mechanism that spins at its speed.

    M a = R(q, v) + J^T lambda,   J a = -bias      R has all forces but those of rows, gyroscopic ones included

With T the deviations (x, y) of coordinates and rates that rows leave,

    J_h x = 0 of rows that hold a coordinate,   J y + d(J v)/dx x = 0 of all, those of wheels and blades among them,

the equations of `steady_frame` are dz/dt = A z on T, whose eigenvalues are those of the motion.

Source: Meijaard, Papadopoulos, Ruina and Schwab (2007), a bicycle linearised about its straight run. Deviation: in the
coordinates of the tree, by differences of accelerations and of rows, extrapolated to order six.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from simcli.analysis.rest.statics import WIDTH, Statics
from simcli.analysis.rest.steady_frame import Carrier, carrier_of
from simcli.model.constraints.constraint_tables import NONHOLONOMIC_FORMS, start_angles
from simcli.model.tables.model import Array

_RANK = 1e-9  # singular values below this part of the largest are none
_ASIDE = 1e-2  # xi of the deviation by which the equations are compared along the motion
_TURN = 1.0  # [rad, or lengths of the mechanism] along the motion to where they are compared


@dataclass(frozen=True)
class _Linear:
    """Derivatives at a state, and what holds there.

    Attributes:
        a: (n,), accelerations.
        by_x, by_y: (n, n), derivatives of these.
        J: (R, n), gradients of rows that hold.
        turning: (R, n), derivatives of J v by x.
        error: what the last extrapolation changed, relative to the largest derivative.
    """

    a: Array
    by_x: Array
    by_y: Array
    J: Array
    turning: Array
    error: float


@dataclass
class SteadyMotion:
    """A mechanism in motion.

    Args:
        statics: of the form that its statics are taken in.
        q: [m, rad, 1], (NQ,).
        v: [m/s, rad/s], (n,), of the unknowns.
        time: [s], at which signals are taken.

    Attributes:
        is_position: (R,) bool, rows that hold a coordinate among those that hold.
        fast: [1/s], a typical rate.
    """

    statics: Statics
    q: Array
    v: Array
    time: float = 0.0
    is_position: Array = field(init=False)
    fast: float = field(init=False)

    def __post_init__(self):
        balance, model = self.statics.balance, self.statics.model
        self.holds, rows = balance.holds, balance.constraints.rows
        self.is_position = ~np.isin(rows.form[self.holds], NONHOLONOMIC_FORMS)
        weight = np.linalg.norm(model.gravity[0]) / self.statics.length
        self.fast = float(max(np.abs(self.v / self.statics.unit).max(initial=0.0), np.sqrt(weight), 1e-3))
        self.angle = start_angles(balance.constraints, model)[0]

    def accelerations(self, x: Array, y: Array) -> tuple[Array, Array, Array]:
        """Accelerations, (N, n), J, (N, R, n), and J v, (N, R), where coordinates and rates deviate by x and y, (N, n)."""
        balance, free = self.statics.balance, self.statics.is_free
        rates = self.v + y
        found = balance(self.q, x, rates, angle=self.angle, time=self.time)
        a, J = np.zeros(x.shape), np.zeros((len(x), int(self.holds.sum()), len(self.v)))
        for k in range(len(x)):
            J[k] = balance.jacobian(found, k)[self.holds]
            M = balance.mass(found, k)[np.ix_(free, free)]
            a[k, free] = _constrained(M, found.effort[k, free], J[k][:, free], -found.bias[k, self.holds])
        return a, J, np.einsum("krn,kn->kr", J, rates)

    @cached_property
    def linear(self) -> _Linear:
        """Derivatives by central differences of three widths, extrapolated to order six."""
        n, unit = len(self.v), self.statics.unit
        widths = WIDTH / np.array([1.0, 2.0, 4.0])
        steps = np.concatenate([sign * h * np.diag(unit) for h in widths for sign in (1.0, -1.0)])
        none, last = np.zeros((6 * n, n)), np.zeros((1, n))
        x, y = np.concatenate((steps, none, last)), np.concatenate((none, steps * self.fast, last))
        a, J, slip = self.accelerations(x, y)
        (by_x, by_y), error = _slopes(a, widths, unit, self.fast)
        (turning, _), _ = _slopes(slip, widths, unit, self.fast)
        free = self.statics.is_free
        locked = ~free
        for matrix in (by_x, by_y, turning):
            matrix[:, locked] = 0.0
        return _Linear(a[-1], by_x, by_y, J[-1] * free, turning, error)

    @cached_property
    def carrier(self) -> Carrier:
        """What carries the motion along."""
        statics = self.statics
        return carrier_of(statics.model, statics.balance.dof, self.v, self.linear.a)

    @property
    def unsteady(self) -> Array:
        """(n,), accelerations that no steady motion has, relative to those that the motion can have."""
        over = self.linear.a - self.carrier.drift(self.v)
        return over / (self.statics.unit * self.fast**2)

    @cached_property
    def tangent(self) -> Array:
        """(2n, m), deviations that the rows leave, in scaled coordinates xi and rates xi / fast, orthonormal."""
        unit, n, free = self.statics.unit, len(self.v), self.statics.is_free
        J = self.linear.J * unit
        rows = np.concatenate(
            (
                np.hstack((J[self.is_position], np.zeros((int(self.is_position.sum()), n)))),
                np.hstack((self.linear.turning * unit / self.fast, J)),
            )
        )
        rows = rows[:, np.tile(free, 2)]
        found = np.zeros((2 * n, 2 * int(free.sum())))
        found[np.tile(free, 2)] = np.eye(2 * int(free.sum()))
        if not len(rows):
            return found
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(size > 1e-12 * size.max(), size, np.inf)
        _, values, right = np.linalg.svd(rows)
        rank = int((values > _RANK * values.max(initial=0.0)).sum())
        return found @ right[rank:].T

    @property
    def scale(self) -> Array:
        """(2n,), units of coordinates and rates."""
        return np.concatenate((self.statics.unit, self.statics.unit * self.fast))

    @cached_property
    def flow(self) -> Array:
        """[1/s], (2n, m), rates of scaled deviations over the directions of `tangent`."""
        n = len(self.v)
        full = np.block([[self.carrier.coordinates(), np.eye(n)], [self.linear.by_x, self.linear.by_y]])
        full[n:, n:] -= self.carrier.drift(np.eye(n)).T
        return (full * self.scale / self.scale[:, None]) @ self.tangent

    @property
    def matrix(self) -> Array:
        """[1/s], (m, m), A over the directions of `tangent`."""
        return self.tangent.T @ self.flow

    def to_steady(self) -> Array:
        """(m,), the least step over the directions to where no acceleration is left that no steady motion has."""
        n, unit = len(self.v), self.statics.unit
        turns = -np.stack([self.carrier.drift_of(axis, self.v) for axis in self.carrier.span.T], axis=1)
        both = np.hstack((self.flow[n:] / self.fast, turns / (unit * self.fast)[:, None]))
        return np.linalg.lstsq(both, -self.unsteady, _RANK)[0][: self.tangent.shape[1]]

    def moved(self, step: Array) -> "SteadyMotion":
        """The motion after a step (m,) over the directions, back on the rows."""
        statics, n = self.statics, len(self.v)
        x, y = np.split(self.tangent @ step, 2)
        q = statics.balance(self.q, (x * statics.unit)[None], angle=self.angle).q[0]
        q, _, _ = statics.closed(q, self.angle)
        there = SteadyMotion(statics, q, self.v + y * statics.unit * self.fast, self.time)
        _, J, slip = there.accelerations(np.zeros((1, n)), np.zeros((1, n)))
        J = J[0][:, statics.is_free] * statics.unit[statics.is_free]
        back = np.zeros(n)
        back[statics.is_free] = np.linalg.lstsq(J, -slip[0], _RANK)[0] if len(J) else 0.0
        return SteadyMotion(statics, q, there.v + back * statics.unit, self.time)

    def changes_along(self) -> float:
        """What accelerations beside the motion, and later on it, differ by, relative to what they can be."""
        statics, n = self.statics, len(self.v)
        aside = np.sin(1.0 + np.arange(2 * n)) * _ASIDE * np.tile(statics.is_free, 2)  # a direction of no symmetry
        x, y = aside[:n] * statics.unit, aside[n:] * statics.unit * self.fast
        time = _TURN / max(np.abs(self.v / statics.unit).max(initial=0.0), 1e-12)
        here = self.accelerations(x[None], y[None])[0][0]
        q = statics.balance(self.q, x[None], angle=self.angle).q[0]
        for move in self.carrier.moves(time, x):
            q = statics.balance(q, move[None], angle=self.angle).q[0]
        there = replace(self, q=q, v=self.carrier.turned(self.v + y, time))
        later = there.accelerations(np.zeros((1, n)), np.zeros((1, n)))[0][0]
        gap = later - self.carrier.turned(here, time)
        return float(np.abs(gap / (statics.unit * self.fast**2)).max(initial=0.0))


def _constrained(M: Array, effort: Array, J: Array, wanted: Array) -> Array:
    """(n,), a with M a = effort + J^T lambda and J a = wanted; redundant rows share."""
    size = np.linalg.norm(J, axis=1, keepdims=True)
    J, wanted = J / np.where(size > 0.0, size, 1.0), wanted / np.where(size > 0.0, size, 1.0)[:, 0]
    left, values, right = np.linalg.svd(J) if len(J) else (np.zeros((0, 0)), np.zeros(0), np.eye(J.shape[1]))
    rank = int((values > _RANK * values.max(initial=0.0)).sum())
    a = right[:rank].T @ ((left[:, :rank].T @ wanted) / values[:rank])
    N = right[rank:].T
    return a + N @ np.linalg.solve(N.T @ M @ N, N.T @ (effort - M @ a))


def _slopes(found: Array, widths: Array, unit: Array, fast: float) -> tuple[list[Array], float]:
    """Derivatives by x and by y, (k, n) each, of what was found at both sides of them, and their error."""
    n, out, errors = len(unit), [], [0.0]
    for part, scale in ((found[: 6 * n], unit), (found[6 * n : 12 * n], unit * fast)):
        sides = part.reshape(3, 2, n, -1)
        D = [(up - down).T / (2.0 * h * scale) for h, (up, down) in zip(widths, sides, strict=True)]
        once = [(4.0 * D[k + 1] - D[k]) / 3.0 for k in range(2)]
        out.append((16.0 * once[1] - once[0]) / 15.0)
        size = np.abs(out[-1] * scale).max(initial=0.0)
        errors.append(float(np.abs((out[-1] - once[1]) * scale).max(initial=0.0) / size) if size else 0.0)
    return out, max(errors)
