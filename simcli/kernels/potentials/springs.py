"""Springs between points of affine bodies, straight or over pulleys, and `Potential`: what all energies read and keep.

They are energies of the square roots of rows.

PulleySprings, springs over pulleys, have V(L), L the sum of the square roots of several rows:

    gradient  V' sum phi_i' / 2 l_i     Hessian  V'' L' L'^T + V' sum (phi_i'' / 2 l_i - phi_i' phi_i'^T / 4 l_i^3)

The first part of the Hessian joins all bodies of a cable, and is here; the second one goes with the slopes of the rows.
"""

from itertools import pairwise

import numpy as np

from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.sparse_factors import AFFINE_DOFS, BlockMatrix, SkylineMatrix
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.springs import spring_law
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.potentials.gears import Arms, Gears, add_products, clear_arms
from simcli.kernels.potentials.laws import Laws
from simcli.kernels.potentials.polar import Arap
from simcli.kernels.potentials.potential_terms import PotentialTerms, carried_on, damper, mean_force
from simcli.kernels.rows.quadratic import Polynomials, find_rates
from simcli.model.forms.affine_energy import Energies
from simcli.model.tables.model import Model

TINY_SQUARE = 1e-24  # [m^2] below, the square of a length has no root with a direction


class PulleySprings:
    """The springs of a model that run over pulleys.

    Args:
        energies: their rows.
        arena: of the run.

    Attributes:
        n: cables.  spring: (n) number of each among the springs.
        row_start: (springs + 1) offsets into row: those of the straight parts of all springs.
        arms: L'.  bend: (n) V''.
    """

    _data_oriented = True

    def __init__(self, energies: Energies, arena: Arena):
        start, rows = energies.length_start, energies.rows
        chosen = np.flatnonzero(np.diff(start) > 1)
        self.n, self.spring, self.bend = len(chosen), arena.ints(chosen), arena.array(len(chosen))
        self.row_start, self.row = arena.ints(start), arena.ints(energies.length_row)
        self.arms = Arms(
            [
                [
                    rows.entry_at[rows.entry_start[r] : rows.entry_start[r + 1]].tolist()
                    for r in energies.length_row[start[k] : start[k + 1]]
                ]
                for k in chosen
            ],
            arena,
        )


def root_of_row(p, w, r):
    """The length whose square row r is (inside kernels)."""
    return local(ti.sqrt(ti.max(p.rows.residual.load(w, r), TINY_SQUARE)))


@ti.func
def length_of_spring(p: ti.template(), w: ti.i32, k: ti.i32):
    """[m], of the straight parts of spring k together, after the residuals.

    Reads: p.rows.residual
    """
    length = root_of_row(p, w, p.length_row.at(k))
    if ti.static(p.cables.n > 0):
        for m in range(p.cables.row_start.at(k) + 1, p.cables.row_start.at(k + 1)):
            length = length + root_of_row(p, w, p.cables.row.at(m))
    return length


@ti.func
def cable_slopes(p: ti.template(), w: ti.i32, curve: ti.template()):
    """Derivatives of the energies of all springs by the rows, where some run over pulleys; see `spring_slopes`.

    Reads:  p.{rows.residual, slope, bend}
    Writes: p.{first, second}
    """
    y = p.cables
    for k in range(p.n_lengths):
        begin = y.row_start.at(k)
        end = y.row_start.at(k + 1)
        for m in range(begin, end):
            row = y.row.at(m)
            length = root_of_row(p, w, row)
            bend = -curve * p.slope.load(w, k) / length
            if end == begin + 1:
                bend = bend + p.bend.load(w, k)
            p.first.store(w, row, p.slope.load(w, k) * 0.5 / length)
            p.second.store(w, row, bend * 0.25 / (length * length))


@ti.func
def add_cables(p: ti.template(), w: ti.i32):
    """Add the first part of the Hessian of the cables.

    Reads:  p.{rows.gradient, rows.residual, bend}
    Writes: p.cables, p.matrix.factor.value
    """
    f = p.rows
    y = p.cables
    clear_arms(y.arms, w)
    part = 0
    for n in range(y.n):
        k = y.spring.at(n)
        y.bend.store(w, n, p.bend.load(w, k))
        for m in range(y.row_start.at(k), y.row_start.at(k + 1)):
            row = y.row.at(m)
            weight = 0.5 / root_of_row(p, w, row)
            begin = f.entry_start.at(row)
            for e in range(begin, f.entry_start.at(row + 1)):
                a = y.arms.start.at(n) + y.arms.place.at(y.arms.place_start.at(part) + e - begin)
                y.arms.value.store(w, a, y.arms.value.load(w, a) + f.gradient.load(w, e) * weight)
            part = part + 1
    add_products(y.arms, p.matrix, w, y.bend)


@ti.func
def rate_of_spring(p: ti.template(), w: ti.i32, k: ti.i32):
    """[m/s], of the straight parts of spring k together, after the rates of the rows.

    Reads: p.rows.{residual, rate}
    """
    rate = p.gradient.arena.zero()
    for m in range(p.cables.row_start.at(k), p.cables.row_start.at(k + 1)):
        row = p.cables.row.at(m)
        rate = rate + p.rows.rate.load(w, row) * 0.5 / root_of_row(p, w, row)
    return rate


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
        outer = [
            [self.matrix.entry(a, b) for n, a in enumerate(at) for b in at[: n + 1]]
            for at in (entries(rows, r) for r in range(self.n_rows))
        ]
        self.outer_start = arena.ints(np.concatenate(([0], np.cumsum([len(one) for one in outer]))))
        self.outer = arena.ints([e for one in outer for e in one])
        self.curve_start = arena.ints(energies.curve_start)
        self.curve_place = arena.ints([self.matrix.entry(i, j) for i, j in energies.curve_at.tolist()])
        self.curve_coef = tables.column(energies.curve_coef)
        self.n_lengths, self.length_row = len(length_row), lengths.ints(length_row)
        first = {
            r: next((b for one in energies.length_row[slice(*energies.length_start[k : k + 2])] for b in free[one]), 0)
            for k, r in enumerate(length_row)
        }
        self.length_body = lengths.ints([first[r] for r in length_row])
        self.laws.body = self.laws.items.ints([next(iter(free[r]), 0) for r in energies.coordinate_row])
        for name in (
            "length",
            "length_past",
            "length_before",
            "length_now",
            "length_rate",
            "slope",
            "bend",
            "damping",
            "damping_before",
        ):
            setattr(self, name, lengths.array())
        self.elastic = arena.single.array()
        self.first, self.second = items.array().scratch(), items.array().scratch()
        self.cross, self.gradient = self.laws.items.array().scratch(), self.rows.unknowns.array().scratch()
        self.rows.gradient.scratch()


def entries(rows, r: int) -> list[int]:
    """Coordinates that a row's gradient touches, on the host."""
    return rows.entry_at[rows.entry_start[r] : rows.entry_start[r + 1]].tolist()


TINY_STIFFNESS = 1e-30  # [N/m], of a spring that is none


def spring_energies(p: Potential, w, k, length, alpha):
    """What spring k stores at a length, and what its damper does in the step.

    A slack one pulls with max(0, T), T = k (l - rest) + c l', whose energy is max(0, T)^2 / (2 (k + c alpha)); where it
    hung as the step began, its damper does not act. What is not stored is the damper's.
    """
    u, zero = p.forces.springs, length * 0.0
    stored, damped = PotentialTerms(zero), PotentialTerms(zero)
    is_slack = u.is_slack(k)
    still, _taken, pulls = spring_law(u, w, k, length, zero)
    stored.store(still.where(pulls))
    hangs = is_slack & (p.length.load(w, k) < u.rest_length.load(w, k))
    rate = local(select(hangs, zero, (length - p.length_past.load(w, k)) * alpha))
    law, _taken, _acts = spring_law(u, w, k, length, rate)
    damping = local(select(hangs, zero, law.damping))
    tension, steep = local(ti.max(-law.force, zero)), local(law.stiffness + damping * alpha)
    acts = local(select((tension > 0.0) & (steep > 0.0), zero + 1.0, zero))
    whole = tension * tension * 0.5 / ti.max(steep, TINY_STIFFNESS), tension, steep * acts
    parts = zip(whole, (stored.energy, stored.slope, stored.bend), damper(damping, rate, alpha), strict=True)
    damped.add(*(select(is_slack, all_of_it - kept, taken) for all_of_it, kept, taken in parts))
    return stored, damped


@ti.func
def find_springs(p: ti.template(), w: ti.i32, alpha: ti.template()):
    """[J] of springs and their dampers, after the residuals.

    Args:
        alpha: [1/s], (B).

    Reads:  p.rows.residual
    Writes: p.{elastic, length_now, slope, bend, damping}
    """
    total = p.gradient.arena.zero()
    for k in range(p.n_lengths):
        length = length_of_spring(p, w, k)
        stores, dampers = spring_energies(p, w, k, length, alpha.load(w, p.length_body.at(k)))
        total = total + stores.energy + dampers.energy
        p.elastic.store(w, 0, p.elastic.load(w, 0) + stores.energy)
        p.length_now.store(w, k, length)
        p.slope.store(w, k, stores.slope + dampers.slope)
        p.bend.store(w, k, stores.bend + dampers.bend)
        p.damping.store(w, k, dampers.slope)
    return total


@ti.func
def open_springs(p: ti.template(), w: ti.i32):
    """How long springs are at the start of a step: l_n is the length at the last evaluation.

    Writes: p.{length, length_before}
    """
    for k in range(p.n_lengths):
        p.length_before.store(w, k, p.length.load(w, k))
        p.length.store(w, k, p.length_now.load(w, k))


@ti.func
def measure_rates(p: ti.template(), w: ti.i32):
    """Rates of the springs' lengths, after `follow_rows`: of the initial state, whose formula knows no length before.

    Reads:  p.{length, rows}
    Writes: p.length_rate, p.rows.rate
    """
    find_rates(p.rows, w)
    for k in range(p.n_lengths):
        if ti.static(p.cables.n > 0):
            p.length_rate.store(w, k, rate_of_spring(p, w, k))
        else:
            p.length_rate.store(w, k, p.rows.rate.load(w, p.length_row.at(k)) * 0.5 / p.length.load(w, k))


@ti.func
def extrapolate_springs(p: ti.template(), w: ti.i32, weight: ti.template(), lead: ti.template()):
    """L_h = l_n + weight (l_n - l_(n-1)) + lead l_0'; lead is 0 but at t = 0.

    Args:
        weight: (B).

    Reads:  p.{length, length_before, length_rate}
    Writes: p.length_past
    """
    for k in range(p.n_lengths):
        length = p.length.load(w, k)
        past = carried_on(length, p.length_before.load(w, k), weight.load(w, p.length_body.at(k)))
        p.length_past.store(w, k, past + p.length_rate.load(w, k) * lead)


@ti.func
def spring_slopes(p: ti.template(), w: ti.i32, curve: ti.template()):
    """Derivatives of the springs' energies by the rows; see `find_slopes`.

    Reads:  p.{length_now, slope, bend}
    Writes: p.{first, second}
    """
    for k in range(p.n_lengths):
        row = p.length_row.at(k)
        length = p.length_now.load(w, k)
        p.first.store(w, row, p.slope.load(w, k) * 0.5 / length)
        bend = p.bend.load(w, k) - curve * p.slope.load(w, k) / length
        p.second.store(w, row, bend * 0.25 / (length * length))


@ti.func
def work_of_springs(p: ti.template(), w: ti.i32, weight: ti.template()):
    """[J] over the step: taken by their dampers, as `work_of_laws` has it.

    Reads:  p.{damping, length, length_now}, of the end of the step
    Writes: p.damping_before
    """
    dissipated = p.gradient.arena.zero()
    for k in range(p.n_lengths):
        pull = mean_force(p.damping, p.damping_before, w, k, weight.load(w, p.length_body.at(k)))
        dissipated = dissipated + ti.max(pull * (p.length_now.load(w, k) - p.length.load(w, k)), 0.0)
        p.damping_before.store(w, k, p.damping.load(w, k))
    return dissipated
