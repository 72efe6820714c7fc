"""PulleySprings of affine bodies, springs over pulleys: V(L), L the sum of the square roots of several rows.

    gradient  V' sum phi_i' / 2 l_i     Hessian  V'' L' L'^T + V' sum (phi_i'' / 2 l_i - phi_i' phi_i'^T / 4 l_i^3)

The first part of the Hessian joins all bodies of a cable, and is here; the second one goes with the slopes of the rows.
"""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena, local
from simcli.kernels.potentials.arms import Arms, add_products, clear_arms
from simcli.model.forms.affine_energy import Energies

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
        self.arms = Arms([[rows.entry_at[rows.entry_start[r] : rows.entry_start[r + 1]].tolist()
                           for r in energies.length_row[start[k] : start[k + 1]]] for k in chosen], arena)  # fmt: skip


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
