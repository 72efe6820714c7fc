"""The saddle point of mass and polynomial rows (quadratic.py) in natural coordinates, factorised on a fixed pattern.

    [ M   G^T ] [ a  ]   [ F   ]       G: gradients of the rows; mu = -lambda
    [ G   -e  ] [ mu ] = [ rho ]

e is tiny; solvers/natural/saddle.py:filter_solution takes its effect away again.
"""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.linear.sparse import Factor, factorize
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.pack_arrays import PackArray
from simcli.kernels.memory.tables import Tables
from simcli.kernels.rows.frames import PairedFrames, add_bends
from simcli.kernels.rows.quadratic import Polynomials
from simcli.model.forms.quadratic_rows import Quadratic
from simcli.model.joints.elimination import eliminate
from simcli.model.tables.signal_tables import MotionKind


class SaddlePoint(Polynomials):
    """The rows with the factor of their saddle point.

    Args:
        rows, tables, arena, angle: see `Polynomials`.
        bends: whether the matrix has the curvature of rows.

    Attributes:
        soft: (R) e.  lent: (R) what of it `solve` takes away again.
        mass: (n) weights, 1 of prescribed coordinates.  inertia: (n) what of them is true.
        factor: of the saddle point; unknowns are the coordinates, then
            the rows.  moves: (n) 0 for coordinates that are prescribed.  has_prescribed: whether there are any.
        stress: (R) factor of the second derivatives of each row that M gets, which are bend_weight at bend_place.
        cross_place: where M gets -stress times products of entries of the gradients of parts of sums.
        frames: see `PairedFrames`; frame_place: where M gets their stiffness.
    """

    def __init__(self, rows: Quadratic, tables: Tables, arena: Arena, angle: PackArray, bends: bool):
        super().__init__(rows, tables, arena, angle)
        prescribed = tables.model.motions.kind[self.order] != MotionKind.NONE
        weight, excess = tables.model.columns.weight[:, self.order], tables.model.columns.excess[:, self.order]
        self.mass = self.unknowns.column(np.where(prescribed, 1.0, weight))
        self.inertia = self.unknowns.column(np.where(prescribed, 1.0, weight - excess))
        self.moves, self.has_prescribed = self.unknowns.ints(~prescribed), bool(prescribed.any())
        row_of = np.repeat(np.arange(self.n_rows), np.diff(rows.entry_start[: self.n_rows + 1])) + self.n
        diagonal = np.arange(self.n + self.n_rows)
        entries = np.stack((row_of, rows.entry_at[: self.n_own_entries]), axis=1)
        bent = np.stack((rows.bend_i, rows.bend_j), axis=1)
        seen = np.flatnonzero(~prescribed[bent].any(axis=1)) if bends else np.zeros(0, int)
        both = np.stack((rows.entry_at[rows.cross_a], rows.entry_at[rows.cross_b]), axis=1).reshape(-1, 2)
        crossed = np.flatnonzero(~prescribed[both].any(axis=1)) if bends else np.zeros(0, int)
        self.frames = PairedFrames(rows, prescribed, tables, arena)
        coupled = self.frames.coupled
        pairs = np.concatenate((np.stack((diagonal, diagonal), axis=1), entries, bent[seen], both[crossed], coupled))
        pattern = eliminate(self.n + self.n_rows, pairs, diagonal >= self.n)
        self.factor, self.place = Factor(pattern, arena), arena.ints(pattern.place)
        first = len(diagonal) + len(entries)
        last = first + len(seen)
        self.bends, self.n_bends, self.bend_place = bends, len(seen), arena.ints(pattern.place[first:last])
        end = last + len(crossed)
        self.n_crosses, self.cross_place = len(crossed), arena.ints(pattern.place[last:end])
        self.frame_place = arena.ints(pattern.place[end:])
        for name in ("cross_row", "cross_a", "cross_b"):
            setattr(self, name, arena.ints(getattr(rows, name)[crossed]))
        self.bend_row, self.bend_weight = arena.ints(rows.bend_row[seen]), tables.column(rows.bend_weight[:, seen])
        self.stress = self.items.array() if bends else arena.array(0)
        filled = np.setdiff1d(np.arange(pattern.nnz), pattern.place[:first])
        self.filled, self.n_filled = arena.ints(filled), len(filled)
        self.soft, self.lent = self.items.array(), self.items.array()


@ti.func
def factorize_saddle(f: ti.template(), w: ti.i32):
    """The factor of the saddle point at the present gradients.

    Reads:  f.{mass, soft, gradient, stress}
    Writes: f.factor
    """
    zero = f.gradient.arena.zero()
    for k in range(f.n_filled):
        f.factor.value.store(w, f.filled.at(k), zero)
    for i in range(f.n):
        f.factor.value.store(w, f.place.at(i), zero + f.mass.load(w, i))
    for r in range(f.n_rows):
        f.factor.value.store(w, f.place.at(f.n + r), zero - f.soft.load(w, r))
    first = f.n + f.n_rows
    for e in range(f.n_own_entries):
        value = f.gradient.load(w, e)
        if ti.static(f.has_prescribed):
            value = value * ti.cast(f.moves.at(f.entry_at.at(e)), f.gradient.arena.device.real)
        f.factor.value.store(w, f.place.at(first + e), value)
    if ti.static(f.bends):
        for k in range(f.n_bends):
            place = f.bend_place.at(k)
            bend = f.stress.load(w, f.bend_row.at(k)) * f.bend_weight.load(w, k)
            f.factor.value.store(w, place, f.factor.value.load(w, place) + bend)
        if ti.static(f.n_crosses > 0):
            add_crosses(f, w)
    if ti.static(f.frames.n > 0):
        add_bends(f.frames, f.factor, f.frame_place, w)
    factorize(f.factor, w)


@ti.func
def add_crosses(f: ti.template(), w: ti.i32):
    """What a part of a sum lacks of the second derivatives of its polynomial: L'' = (phi'' - L' L'^T) / L.

    Reads:  f.{stress, gradient}
    Writes: f.factor
    """
    for k in range(f.n_crosses):
        place = f.cross_place.at(k)
        outer = f.gradient.load(w, f.cross_a.at(k)) * f.gradient.load(w, f.cross_b.at(k))
        bend = f.stress.load(w, f.cross_row.at(k)) * outer
        f.factor.value.store(w, place, f.factor.value.load(w, place) - bend)
