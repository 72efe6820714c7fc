"""Energies of affine bodies (model/affine_rows.py) with their gradient and Hessian.

    V = sum k phi^2 / 2 + sum V(x(phi)) + sum V(sqrt(phi)),   phi polynomials of second degree

    gradient  sum V_r phi_r'        Hessian  sum V_rs phi_r' phi_s'^T + curve (sum V_r phi_r'')

The second part of the Hessian may be indefinite; where it makes the whole so, a lane does without it (curve = 0).
"""

import numpy as np
import taichi as ti

from simcli.kernels.blocks import SIZE, BlockMatrix, add_entry
from simcli.kernels.coordinate_laws import (
    Laws,
    Share,
    damper,
    evaluate_law,
    nearest_turn,
    raise_pushes,
    steepen,
    way_to_limit,
)
from simcli.kernels.elementary import atan2, select
from simcli.kernels.forces import Forces
from simcli.kernels.memory import Arena
from simcli.kernels.polar import Arap, add_arap, find_arap
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
            length_now: at the last evaluation.
        slope, bend: (S) derivatives of springs' energies by their lengths.  damping: (S) part of the slope by dampers.
        elastic: [J] in squares, springs, torsion springs and soft limits, at the last evaluation.
        gradient: (n).
    """

    _data_oriented = True

    def __init__(self, energies: Energies, model: Model, tables: Tables, forces: Forces, arena: Arena):
        rows = energies.rows
        self.rows, self.n, self.n_rows = Polynomials(rows, tables, arena), rows.n, len(energies.label)
        bodies = [{i // SIZE for i in entries(rows, r)} for r in range(self.n_rows)]
        pairs = {(a, b) for some in bodies for a in some for b in some}
        touches = any(phase.contacts is not None for phase in tables.phases)
        self.matrix = SkylineMatrix(model.n_bodies, arena) if touches else BlockMatrix(model.n_bodies, pairs, arena)
        self.laws, self.forces = Laws(energies, model, tables, forces, arena), forces
        self.stiffness = tables.column(energies.stiffness)
        self.arap = Arap(model, tables, arena)
        outer = [[self.matrix.entry(a, b) for n, a in enumerate(at) for b in at[: n + 1]]
                 for at in (entries(rows, r) for r in range(self.n_rows))]  # fmt: skip
        self.outer_start = arena.ints(np.concatenate(([0], np.cumsum([len(one) for one in outer]))))
        self.outer = arena.ints([e for one in outer for e in one])
        self.curve_start = arena.ints(energies.curve_start)
        self.curve_place = arena.ints([self.matrix.entry(i, j) for i, j in energies.curve_at.tolist()])
        self.curve_coef = tables.column(energies.curve_coef)
        self.n_lengths, self.length_row = len(energies.length_row), arena.ints(energies.length_row)
        for name in ("length", "length_past", "length_before", "length_now", "slope", "bend", "damping"):
            setattr(self, name, arena.slot(self.n_lengths))
        self.elastic = arena.slot(1)
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

    Writes: p.{rows.residual, elastic, slope, bend, damping, length_now}, p.laws
    """
    extend(p.rows, x, w, 1.0)
    _worst = find_residuals(p.rows, x, w)
    stored = p.gradient.arena.zero()
    for r in range(p.n_rows):
        phi = p.rows.residual.load(w, r)
        stored = stored + phi * phi * p.stiffness.load(w, r) * 0.5
    if ti.static(p.arap.n > 0):
        stored = stored + find_arap(p.arap, w, x)
    p.elastic.store(w, 0, stored)
    total = stored
    if ti.static(p.laws.n > 0):
        total = total + find_laws(p, w, alpha)
    if ti.static(p.n_lengths > 0):
        total = total + find_springs(p, w, alpha)
    return total


@ti.func
def find_laws(p: ti.template(), w: ti.i32, alpha: ti.template()):
    """[J] of the laws on coordinates, after the residuals.

    Reads:  p.rows.residual
    Writes: p.elastic, p.laws.{now, slope, bend, drive, damper}
    """
    y = p.laws
    total = p.gradient.arena.zero()
    for k in range(y.n):
        row = y.row.at(k)
        one = p.rows.residual.load(w, row)
        other = p.rows.residual.load(w, row + 1)
        now = (one + other) * 0.5
        if y.is_turn.at(k) != 0:
            now = nearest_turn(atan2(other, one), y.start.load(w, k))
        y.now.store(w, k, now)
    for m in range(y.n_points):
        k = y.point_of.at(m)
        x, weight = point_of(p, w, m)
        stores, drives, dampers, hard = evaluate_law(y, w, k, x, alpha)
        law = whole((stores, drives, dampers, hard))
        total = total + law.energy * weight
        kept = stores.energy + y.forces.torsion_energy.load(w, y.dof.at(k))
        p.elastic.store(w, 0, p.elastic.load(w, 0) + kept * weight)
        y.slope.store(w, m, law.slope * weight)
        y.bend.store(w, m, law.bend * weight)
        y.drive.store(w, m, drives.slope * weight)
        y.damper.store(w, m, dampers.slope * weight)
    return total


@ti.func
def point_of(p: ti.template(), w: ti.i32, m: ti.i32):
    """Coordinate at point m, and the weight of the law there.

    Reads: p.rows.residual, p.laws.now
    """
    k = p.laws.point_of.at(m)
    x = p.laws.now.load(w, k)
    weight = ti.cast(1.0, p.gradient.arena.device.real)
    if p.laws.is_turn.at(k) == 0:
        x = p.rows.residual.load(w, p.laws.point_row.at(m))
        weight = weight * 0.5
    return x, weight


@ti.func
def raise_limits(p: ti.template(), w: ti.i32, raised: ti.template()):
    """Take the forces of hard limits as they are now, in lanes where `raised`; returns by how much bounds give [m, rad].

    Reads:  p.{rows.residual, laws.now}
    Writes: p.laws.{push, slope, bend}
    """
    y = p.laws
    for m in range(y.n_points):
        x, weight = point_of(p, w, m)
        steepen(y, w, m, x, weight, raised)
    gives = p.gradient.arena.zero()
    for k in range(y.n):
        gives = ti.max(gives, raise_pushes(y, w, k, raised))
    return gives


@ti.func
def find_springs(p: ti.template(), w: ti.i32, alpha: ti.template()):
    """[J] of springs and their dampers, after the residuals.

    Reads:  p.rows.residual
    Writes: p.{elastic, length_now, slope, bend, damping}
    """
    total = p.gradient.arena.zero()
    for k in range(p.n_lengths):
        length = ti.sqrt(ti.max(p.rows.residual.load(w, p.length_row.at(k)), TINY_SQUARE))
        stores, dampers = spring_law(p, w, k, length, alpha)
        total = total + stores.energy + dampers.energy
        p.elastic.store(w, 0, p.elastic.load(w, 0) + stores.energy)
        p.length_now.store(w, k, length)
        p.slope.store(w, k, stores.slope + dampers.slope)
        p.bend.store(w, k, stores.bend + dampers.bend)
        p.damping.store(w, k, dampers.slope)
    return total


def whole(shares) -> Share:
    """The sum of shares."""
    total = Share(shares[0].energy * 0.0)
    for share in shares:
        total.add(share.energy, share.slope, share.bend)
    return total


@ti.func
def find_slopes(p: ti.template(), w: ti.i32, curve: ti.template()):
    """Derivatives of the energy by the rows, after `find_energy`.

    Args:
        curve: 1 in lanes that take second derivatives as they are, 0 where these must not be negative.

    Reads:  p.{rows.residual, slope, bend, laws}
    Writes: p.{first, second, cross}
    """
    zero = p.gradient.arena.zero()
    for r in range(p.n_rows):
        stiffness = p.stiffness.load(w, r) + zero
        p.first.store(w, r, p.rows.residual.load(w, r) * stiffness)
        p.second.store(w, r, stiffness)
    y = p.laws
    for m in range(y.n_points):
        k = y.point_of.at(m)
        row = y.point_row.at(m)
        slope = y.slope.load(w, m)
        bend = y.bend.load(w, m)
        if y.is_turn.at(k) != 0:
            c = p.rows.residual.load(w, row)
            s = p.rows.residual.load(w, row + 1)
            square = 1.0 / (c * c + s * s)
            by_c = -s * square
            by_s = c * square
            turn = slope * curve * square * square
            p.first.store(w, row, slope * by_c)
            p.first.store(w, row + 1, slope * by_s)
            p.second.store(w, row, bend * by_c * by_c + turn * c * s * 2.0)
            p.second.store(w, row + 1, bend * by_s * by_s - turn * c * s * 2.0)
            p.cross.store(w, k, bend * by_c * by_s + turn * (s * s - c * c))
        else:
            p.first.store(w, row, slope)
            p.second.store(w, row, bend)
            p.cross.store(w, k, zero)
    for k in range(p.n_lengths):
        row = p.length_row.at(k)
        length = p.length_now.load(w, k)
        p.first.store(w, row, p.slope.load(w, k) * 0.5 / length)
        bend = p.bend.load(w, k) - curve * p.slope.load(w, k) / length
        p.second.store(w, row, bend * 0.25 / (length * length))


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
    """Add the Hessian of the energies to the matrix, and the gradient of those that are no rows.

    Reads:  p.{first, second, cross, rows.gradient, rows.next_x, arap}
    Writes: p.{matrix.factor.value, gradient}
    """
    f = p.rows
    if ti.static(p.arap.n > 0):
        add_arap(p.arap, p.matrix, w, p.rows.next_x, p.gradient, curve)
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
def cap_at_limits(p: ti.template(), w: ti.i32, move: ti.template(), tolerance: ti.template()):
    """Part of a direction, 1 at most, that no coordinate takes far beyond where a hard limit begins to push.

    Beyond, the energy bends so sharply that the direction says nothing; one that stops just there sees it.

    Reads:  p.{rows.gradient, rows.residual, laws}
    """
    y = p.laws
    part = p.gradient.arena.zero() + 1.0
    for k in range(y.n):
        row = y.row.at(k)
        one = slope_along(p, w, row, move)
        other = slope_along(p, w, row + 1, move)
        rate = (one + other) * 0.5
        if y.is_turn.at(k) != 0:
            c = p.rows.residual.load(w, row)
            s = p.rows.residual.load(w, row + 1)
            rate = (c * other - s * one) / (c * c + s * s)
        part = ti.min(part, way_to_limit(y, w, k, rate, tolerance))
    return part


@ti.func
def slope_along(p: ti.template(), w: ti.i32, row: ti.i32, move: ti.template()):
    """Rate of a row along a direction.

    Reads: p.rows.gradient
    """
    f = p.rows
    rate = p.gradient.arena.zero()
    for e in range(f.entry_start.at(row), f.entry_start.at(row + 1)):
        rate = rate + f.gradient.load(w, e) * move.load(w, f.entry_at.at(e))
    return rate


@ti.func
def work_of_laws(p: ti.template(), w: ti.i32):
    """[J] over the step: taken by dampers, and given by efforts and drives; forces of its end times displacements.

    Reads:  p.laws, p.{damping, length, length_now}, of the end of the step
    """
    dissipated = p.gradient.arena.zero()
    driven = p.gradient.arena.zero()
    y = p.laws
    for m in range(y.n_points):
        k = y.point_of.at(m)
        moved = y.now.load(w, k) - y.start.load(w, k)
        dissipated = dissipated + y.damper.load(w, m) * moved
        driven = driven - y.drive.load(w, m) * moved
    for k in range(p.n_lengths):
        dissipated = dissipated + p.damping.load(w, k) * (p.length_now.load(w, k) - p.length.load(w, k))
    return dissipated, driven


@ti.func
def begin_springs(p: ti.template(), w: ti.i32, weight: ti.template()):
    """L_h = l_n + weight (l_n - l_(n-1)), l_n being the length at the last evaluation.

    Writes: p.{length, length_before, length_past}
    """
    for k in range(p.n_lengths):
        before = p.length.load(w, k)
        length = p.length_now.load(w, k)
        p.length_before.store(w, k, before)
        p.length.store(w, k, length)
        p.length_past.store(w, k, length + (length - before) * weight)
