"""Energies of affine bodies (model/affine_rows.py) with their gradient and Hessian.

    V = sum k phi^2 / 2 + sum V(x(phi)) + sum V(sqrt(phi)),   phi polynomials of second degree

    gradient  sum V_r phi_r'        Hessian  sum V_rs phi_r' phi_s'^T + curve (sum V_r phi_r'')

The second part of the Hessian may be indefinite; where it makes the whole so, a lane does without it (curve = 0).
"""

import numpy as np
import taichi as ti

from simcli.kernels.blocks import BlockMatrix, add_entry
from simcli.kernels.coordinate_laws import Laws, Share, damper, evaluate_law, nearest_turn
from simcli.kernels.elementary import atan2, select
from simcli.kernels.forces import Forces
from simcli.kernels.memory import Arena
from simcli.kernels.quadratic import Polynomials, bend_gradients, extend, find_residuals
from simcli.kernels.skyline import SkylineMatrix
from simcli.kernels.tables import Tables
from simcli.model.affine_rows import Energies
from simcli.model.tables import Model

TINY_SQUARE = 1e-24  # [m^2] below, the square of a spring's length has no root with a direction


class Potential:
    """Device columns and memory of the energies.

    Args:
        energies: the rows.
        model, tables, forces, arena: of the run.

    Attributes:
        rows: see `Polynomials`.  matrix: see `BlockMatrix`, and `SkylineMatrix` where shapes can touch.  laws: see `Laws`.
        stiffness: (R) of squares.
        first, second: (R) derivatives of the energy by the rows.  cross: (C) mixed derivative of a coordinate's two rows.
        outer: entries of the factor for the products of each row's gradient with itself, from outer_start on.
        curve_place: likewise for the second derivatives of the rows.
        length, length_past: (S) of springs at the start of the step, and l_h.  length_before: one step earlier.
        gradient: (n).
    """

    _data_oriented = True

    def __init__(self, energies: Energies, model: Model, tables: Tables, forces: Forces, arena: Arena):
        rows = energies.rows
        self.rows, self.n, self.n_rows = Polynomials(rows, tables, arena), rows.n, len(energies.label)
        pairs = {(int(a) // 12, int(b) // 12) for r in range(self.n_rows) for a in entries(rows, r) for b in entries(rows, r)}
        touches = any(phase.contacts is not None for phase in tables.phases)
        self.matrix = SkylineMatrix(model.n_bodies, arena) if touches else BlockMatrix(model.n_bodies, pairs, arena)
        self.laws, self.forces = Laws(energies, model, tables, forces, arena), forces
        self.stiffness = tables.column(energies.stiffness)
        outer = [[self.matrix.entry(a, b) for n, a in enumerate(at) for b in at[: n + 1]]
                 for at in (entries(rows, r) for r in range(self.n_rows))]  # fmt: skip
        self.outer_start = arena.ints(np.concatenate(([0], np.cumsum([len(one) for one in outer]))))
        self.outer = arena.ints([e for one in outer for e in one])
        self.curve_start = arena.ints(energies.curve_start)
        self.curve_place = arena.ints([self.matrix.entry(i, j) for i, j in energies.curve_at.tolist()])
        self.curve_coef = tables.column(energies.curve_coef)
        self.n_lengths, self.length_row = len(energies.length_row), arena.ints(energies.length_row)
        self.length, self.length_past, self.length_before = (arena.slot(self.n_lengths) for _ in range(3))
        self.first, self.second = arena.slot(self.n_rows), arena.slot(self.n_rows)
        self.cross, self.gradient = arena.slot(self.laws.n), arena.slot(self.n)


def entries(rows, r: int) -> list[int]:
    """Coordinates that a row's gradient touches, on the host."""
    return rows.entry_at[rows.entry_start[r] : rows.entry_start[r + 1]].tolist()


def spring_law(p: Potential, w, k, length, alpha):
    """What spring k stores at a length, and what its damper does in the step."""
    fo, zero = p.forces, length * 0.0
    stored, damped = Share(zero), Share(zero)
    slack = ti.cast(fo.slack.at(k), fo.work.arena.device.real)
    stretch = length - fo.rest_length.load(w, k)
    loose = (zero + slack > 0.0) & (stretch < 0.0)
    stored.spring(select(loose, zero, zero + fo.spring_stiffness.load(w, k)), stretch)
    hangs = (zero + slack > 0.0) & (p.length.load(w, k) < fo.rest_length.load(w, k))
    damping = select(hangs, zero, zero + fo.spring_damping.load(w, k))
    damped.add(*damper(damping, (length - p.length_past.load(w, k)) * alpha, alpha))
    return stored, damped


@ti.func
def find_energy(p: ti.template(), w: ti.i32, x: ti.template(), alpha: ti.template()):
    """[J] of everything at coordinates x; x is extended.

    Writes: p.{rows.residual, laws.now}
    """
    extend(p.rows, x, w, 1.0)
    _worst = find_residuals(p.rows, x, w)
    total = p.gradient.arena.zero()
    for r in range(p.n_rows):
        phi = p.rows.residual.load(w, r)
        total = total + phi * phi * p.stiffness.load(w, r) * 0.5
    for k in range(p.laws.n):
        row = p.laws.row.at(k)
        if p.laws.is_turn.at(k) != 0:
            x_k = angle_of(p, w, k)
            p.laws.now.store(w, k, x_k)
            total = total + whole(evaluate_law(p.laws, w, k, x_k, alpha)).energy
        else:
            one = p.rows.residual.load(w, row)
            other = p.rows.residual.load(w, row + 1)
            p.laws.now.store(w, k, (one + other) * 0.5)
            total = total + whole(evaluate_law(p.laws, w, k, one, alpha)).energy * 0.5
            total = total + whole(evaluate_law(p.laws, w, k, other, alpha)).energy * 0.5
    for k in range(p.n_lengths):
        length = ti.sqrt(ti.max(p.rows.residual.load(w, p.length_row.at(k)), TINY_SQUARE))
        total = total + whole(spring_law(p, w, k, length, alpha)).energy
    return total


def angle_of(p: Potential, w, k):
    """Angle of coordinate k by its rows, over full turns."""
    row = p.laws.row.at(k)
    return nearest_turn(atan2(p.rows.residual.load(w, row + 1), p.rows.residual.load(w, row)), p.laws.start.load(w, k))


def whole(shares) -> Share:
    """The sum of shares."""
    total = Share(shares[0].energy * 0.0)
    for share in shares:
        total.add(share.energy, share.slope, share.bend)
    return total


@ti.func
def find_slopes(p: ti.template(), w: ti.i32, alpha: ti.template(), curve: ti.template()):
    """Derivatives of the energy by the rows, after `find_energy`.

    Args:
        curve: 1 in lanes that take second derivatives as they are, 0 where these must not be negative.

    Reads:  p.{rows.residual, laws}
    Writes: p.{first, second, cross}
    """
    for r in range(p.n_rows):
        stiffness = p.stiffness.load(w, r) + p.gradient.arena.zero()
        p.first.store(w, r, p.rows.residual.load(w, r) * stiffness)
        p.second.store(w, r, stiffness)
    for k in range(p.laws.n):
        row = p.laws.row.at(k)
        one = p.rows.residual.load(w, row)
        other = p.rows.residual.load(w, row + 1)
        if p.laws.is_turn.at(k) != 0:
            law = whole(evaluate_law(p.laws, w, k, angle_of(p, w, k), alpha))
            square = 1.0 / (one * one + other * other)
            by_c = -other * square
            by_s = one * square
            turn = law.slope * curve * square * square
            p.first.store(w, row, law.slope * by_c)
            p.first.store(w, row + 1, law.slope * by_s)
            p.second.store(w, row, law.bend * by_c * by_c + turn * one * other * 2.0)
            p.second.store(w, row + 1, law.bend * by_s * by_s - turn * one * other * 2.0)
            p.cross.store(w, k, law.bend * by_c * by_s + turn * (other * other - one * one))
        else:
            law_one = whole(evaluate_law(p.laws, w, k, one, alpha))
            law_other = whole(evaluate_law(p.laws, w, k, other, alpha))
            p.first.store(w, row, law_one.slope * 0.5)
            p.first.store(w, row + 1, law_other.slope * 0.5)
            p.second.store(w, row, law_one.bend * 0.5)
            p.second.store(w, row + 1, law_other.bend * 0.5)
            p.cross.store(w, k, one * 0.0)
    for k in range(p.n_lengths):
        row = p.length_row.at(k)
        square = ti.max(p.rows.residual.load(w, row), TINY_SQUARE)
        length = ti.sqrt(square)
        law = whole(spring_law(p, w, k, length, alpha))
        p.first.store(w, row, law.slope * 0.5 / length)
        p.second.store(w, row, (law.bend - curve * law.slope / length) * 0.25 / square)


@ti.func
def add_gradient(p: ti.template(), w: ti.i32):
    """Add the gradient of the energies.

    Reads:  p.{first, rows.gradient}
    Writes: p.gradient
    """
    f = p.rows
    for r in range(p.n_rows):
        slope = p.first.load(w, r)
        for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
            i = f.entry_at.at(e)
            p.gradient.store(w, i, p.gradient.load(w, i) + f.gradient.load(w, e) * slope)


@ti.func
def add_hessian(p: ti.template(), w: ti.i32, curve: ti.template()):
    """Add the Hessian of the energies to the matrix.

    Reads:  p.{first, second, cross, rows.gradient}
    Writes: p.matrix.factor.value
    """
    f = p.rows
    for r in range(p.n_rows):
        at = p.outer_start.at(r)
        bend = p.second.load(w, r)
        begin = f.entry_start.at(r)
        for e in range(begin, f.entry_start.at(r + 1)):
            scaled = f.gradient.load(w, e) * bend
            for g in range(begin, e + 1):
                add_entry(p.matrix, w, p.outer.at(at), scaled * f.gradient.load(w, g))
                at = at + 1
        slope = p.first.load(w, r) * curve
        for m in range(p.curve_start.at(r), p.curve_start.at(r + 1)):
            add_entry(p.matrix, w, p.curve_place.at(m), slope * p.curve_coef.load(w, m))
    for k in range(p.laws.n):
        r = p.laws.row.at(k)
        at = p.outer_start.at(r)
        begin = f.entry_start.at(r)
        other = f.entry_start.at(r + 1)  # the entries of the second row stand at the same coordinates
        cross = p.cross.load(w, k)
        for e in range(other - begin):
            for g in range(e + 1):
                mixed = f.gradient.load(w, begin + e) * f.gradient.load(w, other + g)
                mixed = mixed + f.gradient.load(w, other + e) * f.gradient.load(w, begin + g)
                add_entry(p.matrix, w, p.outer.at(at), mixed * cross)
                at = at + 1


@ti.func
def follow_rows(p: ti.template(), w: ti.i32, x: ti.template()):
    """Gradients of the rows at extended coordinates x.

    Writes: p.rows.gradient
    """
    bend_gradients(p.rows, x, w)


@ti.func
def work_of_laws(p: ti.template(), w: ti.i32, alpha: ti.template()):
    """[J] over the step: taken by dampers, and given by efforts and drives; forces of its end times displacements.

    Reads:  p.{rows.residual, laws, length}, of the end of the step
    Writes: p.laws.effort
    """
    dissipated = p.gradient.arena.zero()
    driven = p.gradient.arena.zero()
    for k in range(p.laws.n):
        x = p.laws.now.load(w, k)
        moved = x - p.laws.start.load(w, k)
        stores, drives, dampers, hard = evaluate_law(p.laws, w, k, x, alpha)
        p.laws.effort.store(w, k, -(stores.slope + drives.slope + dampers.slope + hard.slope))
        dissipated = dissipated + dampers.slope * moved
        driven = driven - drives.slope * moved
    for k in range(p.n_lengths):
        length = ti.sqrt(ti.max(p.rows.residual.load(w, p.length_row.at(k)), TINY_SQUARE))
        _stored_by_spring, damping = spring_law(p, w, k, length, alpha)
        dissipated = dissipated + damping.slope * (length - p.length.load(w, k))
    return dissipated, driven


@ti.func
def stored_energy(p: ti.template(), w: ti.i32, alpha: ti.template()):
    """[J] in rigidity, joints, springs and soft limits, after `find_energy`.

    Reads: p.{rows.residual, laws}
    """
    total = p.gradient.arena.zero()
    for r in range(p.n_rows):
        phi = p.rows.residual.load(w, r)
        total = total + phi * phi * p.stiffness.load(w, r) * 0.5
    for k in range(p.laws.n):
        d = p.laws.dof.at(k)
        stores, _drives, _dampers, _hard = evaluate_law(p.laws, w, k, p.laws.now.load(w, k), alpha)
        total = total + stores.energy + p.forces.torsion_energy.load(w, d)
    for k in range(p.n_lengths):
        length = ti.sqrt(ti.max(p.rows.residual.load(w, p.length_row.at(k)), TINY_SQUARE))
        spring, _damper = spring_law(p, w, k, length, alpha)
        total = total + spring.energy
    return total
