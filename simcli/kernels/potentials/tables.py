"""What the energies of affine bodies read and keep."""

from itertools import pairwise

import numpy as np

from simcli.kernels.algebra.polar import Arap
from simcli.kernels.forces.columns import Forces
from simcli.kernels.linear.blocks import AFFINE_DOFS, BlockMatrix
from simcli.kernels.linear.skyline import SkylineMatrix
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.kernels.potentials.cables import PulleySprings
from simcli.kernels.potentials.gears import Gears
from simcli.kernels.potentials.laws import Laws
from simcli.kernels.rows.quadratic import Polynomials
from simcli.model.forms.affine_energy import Energies
from simcli.model.tables.model import Model


class Potential:
    """Device columns and memory of the energies.

    Args:
        energies: the rows.
        model, tables, forces, arena: of the run.
        slip: [rad, m] per step at which dry friction of joints is full.

    Attributes:
        rows: see `Polynomials`.  matrix: see `BlockMatrix`, and `SkylineMatrix` where shapes can touch.  laws: see `Laws`.
        gears: see `Gears`.  cables: see `PulleySprings`.  length_row: (S) row of each spring, of a cable its first one.
        stiffness: (R) of squares.
        first, second: (R) derivatives of the energy by the rows.  cross: (C) mixed derivative of a coordinate's two rows.
        outer: entries of the factor for the products of each row's gradient with itself, from outer_start on.
        curve_place: likewise for the second derivatives of the rows.
        length, length_past: (S) of springs at the start of the step, and l_h.  length_before: one step earlier.
            length_now: at the last evaluation.  length_rate: [m/s], at t = 0.
        slope, bend: (S) derivatives of springs' energies by their lengths.  damping: (S) part of the slope by dampers.
            damping_before: at the end of the step before.
        tie: (2 T) pairs of free bodies that an energy joins.  is_free: (B), not kinematic.
        length_body: (S) a body whose formula a spring has.
        elastic: [J] in squares, springs, torsion springs and soft limits, at the last evaluation.
        gradient: (n).
    """

    _data_oriented = True

    def __init__(self, energies: Energies, model: Model, tables: Tables, forces: Forces, arena: Arena, slip: float):
        rows = energies.rows
        self.rows, self.n, self.n_rows = Polynomials(rows, tables, arena), rows.n, len(energies.label)
        length_row = energies.length_row[energies.length_start[:-1]]
        items, lengths = arena.records(self.n_rows), arena.records(len(length_row))
        bodies = [{i // AFFINE_DOFS for i in entries(rows, r)} for r in range(self.n_rows)]
        self.gears = Gears(energies, model, arena)
        self.cables = PulleySprings(energies, arena)
        bodies += [{i // AFFINE_DOFS for i in at} for sums in (self.gears, self.cables) for at in sums.arms.coordinates]
        free = [sorted(b for b in some if not model.bodies.kinematic[b]) for some in bodies]
        ties = sorted({tie for some in free for tie in pairwise(some)})
        self.n_ties, self.tie = len(ties), arena.ints([b for tie in ties for b in tie])
        self.is_free = tables.bodies.ints(~model.bodies.kinematic)
        pairs = {(a, b) for some in bodies for a in some for b in some}
        touches = any(phase.contacts is not None for phase in tables.phases)
        self.matrix = SkylineMatrix(model.n_bodies, arena) if touches else BlockMatrix(model.n_bodies, pairs, arena)
        for sums in (self.gears, self.cables):
            sums.arms.lay_on(self.matrix, arena)
        self.laws, self.forces = Laws(energies, model, tables, forces, arena, slip), forces
        self.stiffness = tables.column(energies.stiffness)
        self.arap = Arap(model, tables, arena)
        outer = [[self.matrix.entry(a, b) for n, a in enumerate(at) for b in at[: n + 1]]
                 for at in (entries(rows, r) for r in range(self.n_rows))]  # fmt: skip
        self.outer_start = arena.ints(np.concatenate(([0], np.cumsum([len(one) for one in outer]))))
        self.outer = arena.ints([e for one in outer for e in one])
        self.curve_start = arena.ints(energies.curve_start)
        self.curve_place = arena.ints([self.matrix.entry(i, j) for i, j in energies.curve_at.tolist()])
        self.curve_coef = tables.column(energies.curve_coef)
        self.n_lengths, self.length_row = len(length_row), lengths.ints(length_row)
        first = {r: next((b for one in energies.length_row[slice(*energies.length_start[k : k + 2])] for b in free[one]), 0)
                 for k, r in enumerate(length_row)}  # fmt: skip
        self.length_body = lengths.ints([first[r] for r in length_row])
        self.laws.body = self.laws.items.ints([next(iter(free[r]), 0) for r in energies.coordinate_row])
        for name in ("length", "length_past", "length_before", "length_now", "length_rate", "slope", "bend", "damping",
                     "damping_before"):  # fmt: skip
            setattr(self, name, lengths.array())
        self.elastic = arena.single.array()
        self.first, self.second = items.array().scratch(), items.array().scratch()
        self.cross, self.gradient = self.laws.items.array().scratch(), self.rows.unknowns.array().scratch()
        self.rows.gradient.scratch()


def entries(rows, r: int) -> list[int]:
    """Coordinates that a row's gradient touches, on the host."""
    return rows.entry_at[rows.entry_start[r] : rows.entry_start[r + 1]].tolist()
