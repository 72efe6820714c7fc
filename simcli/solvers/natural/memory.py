"""What steps in natural coordinates keep, beyond the memory of rows (rows/memory.py), and the numbers that bound them.

Steps without poses keep of forces index lists of the soft rows, weights, and the forces on the coordinates.
"""

import math

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.pack_arrays import PackArray
from simcli.kernels.rows.saddle import SaddlePoint
from simcli.model.constraints.constraint_tables import Constraints
from simcli.model.forms.polynomials import BENT
from simcli.model.forms.quadratic_rows import Quadratic
from simcli.model.tables.model import Model

# Where evaluations are in a step, in steps, as in base/integrators.py; of generalized_alpha also the one before a jump.
NODES = {"zhong06": (0.5, 0.5), "generalized_alpha": (1.0, 0.0)}

# Of a step, the part around a singular position that softness lets pass: of 0.01 to 1 the one with which a four-bar that
# passes ten such positions is nearest to its closed form, at steps of 0.25 to 2 ms; the errors are of order 2 then.
SOFTNESS_OF_TURN = 0.1
MOST_SOFT = 1e-4  # relative to G M^-1 G^T, so that the filter leaves 1e-8
# A correction is a step of Newton with the matrix of the start: it leaves 1 - cos(turn) of a residual, or all of it where
# that matrix is singular. Then placements take a matrix each.
MAX_PLACEMENTS = 12
# Of a force that is foreseen; the rest is found anew. What rounding adds up to in a redundant one is 200 times as much,
# which is too much of float32: two four-bars failed at their first singular position.
KEPT_FORCE = {"float64": 31.0 / 32.0, "float32": 0.0}
# Rounds of generalized_alpha that share a matrix. Smooth motions end within them; a spring that the first guess of a step
# stretches a thousand times too far needs a matrix of where the iteration has come to.
ROUNDS_PER_MATRIX = 4
# What rounds of generalized_alpha leave of accelerations they leave in the next step, too, so that it adds up as a force
# does. A way of `tight` in a step is small where the step is at least as long as this [s]; in shorter ones accelerations
# are found finer by its square, as finely as their order tells, or as what balances in them rounds, relative to it.
COARSE_STEP = {"float64": 1e-3, "float32": math.inf}
STALLS = 0.25  # of what a round lacks; what is left by one that does not round falls by 1e-3 and more
NONE_BEFORE = 1e30  # [m], what a round lacks that has none before it
BALANCE_ROUNDS = {"float64": 1e-14, "float32": 4e-6}


class QuadraticSteps:
    """Memory of steps whose rows are polynomials (quadratic.py).

    Args:
        rows: the constraints' rows as polynomials.
        tables, arena: see `System`.
        angle: see `SaddlePoint`.
        bends: see `SaddlePoint`.
        tight: residual that counts as none.
        corrections: at most.

    Attributes:
        rows: see `SaddlePoint`.
        acceleration: (n), force: (R) lambda, of the present step.  earlier, earlier_force: of the one before.
        load: (n + R) right-hand side.  solution: (n + R).  worst: largest residual where the step ends.
    """

    _data_oriented = True

    def __init__(
        self, rows: Quadratic, tables: Tables, arena: Arena, angle: PackArray, tight: float, corrections: int, bends: bool
    ):
        self.rows = SaddlePoint(rows, tables, arena, angle, bends)
        self.tight, self.corrections = tight, corrections
        n, n_rows = self.rows.n, self.rows.n_rows
        both = arena.records(n + n_rows)
        self.acceleration, self.earlier = self.rows.unknowns.arrays(2)
        self.force, self.earlier_force = self.rows.items.arrays(2)
        self.load, self.solution, self.worst = both.array(), both.array(), arena.single.array()


class AlphaSteps:
    """Constants of generalized_alpha, and what one step leaves for the next.

    Args:
        n: coordinates.
        n_prescribed: coordinates of a scene that has prescribed ones, else 0.
        n_prescribed_rows: rows of prescribed motions.
        arena: where memory is.
        radius: spectral radius at high frequencies.
        jumps: whether forces may jump.

    Attributes:
        alpha_m, alpha_f, gamma, beta: see alpha_steps.py.
        share: d q1 / d a1 over h^2.  rate_share: d v1 / d a1 over h.
        residual: [m] of the last round of a step, as a way.  excess: [m] by how much that is too much.
        a, w: (n) accelerations, true ones and those of the recurrence.  next_a, next_w: at the end of the step.
        v: (n) velocities at its start.
        prescribed, prescribed_rate: (n_prescribed_rows) accelerations and rates that motions prescribed where the last step
            ended.
        n_holds: n_prescribed + n_prescribed_rows.  force, mean_force, next_force: (n_holds) [N, N m] of motions, see
            alpha_work.py.
    """

    _data_oriented = True

    def __init__(self, n: int, n_prescribed: int, n_prescribed_rows: int, arena: Arena, radius: float, jumps: bool):
        self.alpha_m, self.alpha_f = (2.0 * radius - 1.0) / (radius + 1.0), radius / (radius + 1.0)
        self.gamma = 0.5 + self.alpha_f - self.alpha_m
        self.beta = 0.25 * (self.gamma + 0.5) ** 2
        self.share = self.beta * (1.0 - self.alpha_f) / (1.0 - self.alpha_m)
        self.rate_share, self.jumps = self.gamma * (1.0 - self.alpha_f) / (1.0 - self.alpha_m), jumps
        self.n_prescribed, self.n_holds = n_prescribed, n_prescribed + n_prescribed_rows
        prescribed, holds = arena.records(n_prescribed_rows), arena.records(self.n_holds)
        (self.residual, self.excess), (self.prescribed, self.prescribed_rate) = arena.single.arrays(2), prescribed.arrays(2)
        self.coarse, self.rounding = COARSE_STEP[arena.device.precision], BALANCE_ROUNDS[arena.device.precision]
        self.force, self.mean_force, self.next_force = holds.arrays(3)
        self.a, self.w, self.next_a, self.next_w, self.v = arena.records(n).arrays(5)


class CoordinateForces:
    """Index lists of the soft rows, and the forces on the coordinates.

    Args:
        rows: the constraints' rows as polynomials.
        constraints, tables, arena: see `System`.

    Attributes:
        n: rows that are coordinates.  row, spring, law, bent: number of each among the rows, the springs, the laws, and the
            lengths and turns; -1 where it is none.
        has_cables: whether some rows are sums.  sum: number of each among the sums.  cable: row of the sum that it is a part
            of; -1 where it is none.  bent_of: by part of the sums.
        acts: (n) 1 where a spring acts in this step.
        yielding: rows with compliance.
        gravity: (n coordinates) weights.  pull: (n coordinates) forces without those of rows.  wrench: (6 each).
        of_frames: (n coordinates) what of the pull bushings, cables and drags give.  taken, given: [W] what they dissipate,
            and what is put in.
        is_mixed: whether some rows are not rigid.  has_power: whether forces do work that no energy stores.
    """

    _data_oriented = True

    def __init__(self, rows: Quadratic, constraints: Constraints, tables: Tables, arena: Arena):
        table = constraints.rows
        soft, model = np.flatnonzero(~table.is_hard), tables.model
        self.n, items = len(soft), arena.records(len(soft))
        self.row, self.spring = items.ints(soft), items.ints(table.spring[soft])
        law_of, bent_of = np.full(table.n, -1), np.full(table.n, -1)
        law_of[constraints.laws.row] = np.arange(constraints.laws.n)
        bent, sum_of, cable_of = np.flatnonzero(np.isin(rows.shape, BENT)), np.full(table.n, -1), np.full(table.n, -1)
        bent_of[bent], sum_of[rows.sum_row] = np.arange(len(bent)), np.arange(len(rows.sum_row))
        cable_of[rows.part] = np.repeat(rows.sum_row, np.diff(rows.part_start))
        self.law, self.bent = items.ints(law_of[soft]), items.ints(bent_of[soft])
        self.has_cables, self.sum, self.cable = len(rows.sum_row) > 0, items.ints(sum_of[soft]), items.ints(cable_of[soft])
        self.bent_of = arena.ints(bent_of[rows.part])
        self.has_springs, self.has_laws = bool((table.spring >= 0).any()), constraints.laws.n > 0
        yielding = np.flatnonzero(yielding_rows(constraints, tables))
        self.n_yielding, self.yielding = len(yielding), arena.ints(yielding)
        self.is_mixed = self.n + self.n_yielding > 0
        self.acts, self.pull = items.array(), arena.array(rows.n)
        self.has_frames = len(rows.site_start) > 1
        self.of_frames, (self.dissipated, self.supplied) = arena.array(rows.n), arena.single.arrays(2)
        self.gravity = tables.column(_weights(model, tables, rows.n))
        self.n_wrenches = len(model.wrenches.name)
        self.wrench, self.n_pushes = arena.array(6 * self.n_wrenches), len(rows.push_at)
        self.push_at, self.push_form, self.push_component = (
            arena.ints(getattr(rows, f"push_{name}")) for name in ("at", "form", "component")
        )
        self.push_weight = tables.column(rows.push_weight)
        damped = bool(tables.ever(lambda m: m.springs.damping > 0).any()) or len(model.springs.damper_spring) > 0
        self.has_power = damped or self.n_wrenches > 0 or self.has_laws or self.has_frames


def _weights(model: Model, tables: Tables, n: int) -> np.ndarray:
    """[N], (W|1, n), gravity along the free coordinates, less its compensation: it acts on centres of mass alone."""
    links, falls, weight = model.links, 1.0 - model.bodies.gravity_compensation, model.columns.weight
    out = np.zeros((max(len(model.gravity), len(weight), len(falls)), n))
    for first, body in zip(links.qd_start, links.body, strict=True):
        for k in range(3):
            i = tables.unknown_of_dof[first + k]
            if i >= 0:
                out[:, i] = weight[:, first + k] * model.gravity[:, k] * falls[:, body]
    return out


def yielding_rows(constraints: Constraints, tables: Tables) -> np.ndarray:
    """(R,) True for rows that have compliance in some phase or world."""
    table = constraints.rows
    of_joint = table.joint >= 0
    stiff = np.append(tables.ever(lambda m: m.joints.compliance > 0), False)[table.joint] & of_joint
    return table.is_hard & (stiff | (table.compliance > 0).any(axis=0))
