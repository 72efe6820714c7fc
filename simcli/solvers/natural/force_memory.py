"""What steps without poses keep of forces: index lists of the soft rows, weights, and the forces on the coordinates."""

import numpy as np

from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.model.constraints.tables import Constraints
from simcli.model.natural.polynomials import BENT
from simcli.model.natural.quadratic import Quadratic
from simcli.model.tables import Model


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
            arena.ints(getattr(rows, f"push_{name}")) for name in ("at", "form", "component"))  # fmt: skip
        self.push_weight = tables.column(rows.push_weight)
        damped = bool(tables.ever(lambda m: m.springs.damping > 0).any())
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
