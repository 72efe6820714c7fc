"""Gears between coordinates of affine joints: K (x_f - p(x_l) - offset)^2 / 2, stiff as the joints are.

    gradient  K e (x_f' - p' x_l')    Hessian  K (x_f' - p' x_l')(..)^T + K e (x_f'' - p' x_l'' - p'' x_l' x_l'^T)

The first part of the Hessian joins two coordinates, and is here; the second one goes with the slopes of their laws, and
that of p'' with their bends, where it is positive.
"""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.kernels.potentials.arms import Arms, add_products, clear_arms
from simcli.kernels.potentials.potential_terms import slopes_of_turn
from simcli.kernels.rows.powers import Powers, value_and_slopes
from simcli.model.forms.affine_energy import Energies
from simcli.model.joints.gears import terms_act
from simcli.model.tables.model import Model


class Gears:
    """The gears of a model whose joints both have coordinates.

    Args:
        energies: their rows.
        model, arena: of the run.

    Attributes:
        n: gears.  part: (2 G) coordinates, the one that follows and the one that leads.  stiffness, offset: (G).
        powers: p.  row: (2 G) first row of each part.
        arms: x_f' - p' x_l'.  error, slope, bend: (G) e, p' and p''.
    """

    _data_oriented = True

    def __init__(self, energies: Energies, model: Model, arena: Arena):
        gears, dofs, rows = model.mimics, energies.coordinate_dof.tolist(), energies.rows
        chosen = [m for m in range(len(gears.name)) if gears.follower[m] in dofs and gears.leader[m] in dofs]
        parts = [dofs.index(int(side[m])) for m in chosen for side in (gears.follower, gears.leader)]
        first = energies.coordinate_row[parts].astype(int)
        entries = [rows.entry_at[rows.entry_start[r] : rows.entry_start[r + 1]].tolist() for r in first]
        self.n, items, sides = len(chosen), arena.records(len(chosen)), arena.records(len(parts))
        self.part, self.row = sides.ints(parts), sides.ints(first)
        acts = terms_act(model, (gears.follower[chosen], gears.leader[chosen]))
        self.stiffness = items.column(model.affine.limit_stiffness[:, gears.follower[chosen]] * acts)
        powers = gears.polynomial[:, chosen, 1:]
        start = np.arange(self.n + 1) * powers.shape[-1]
        self.powers = Powers(start, powers.reshape(len(powers), -1), arena)
        self.offset = items.column(gears.offset[:, chosen])
        self.arms = Arms([entries[2 * g : 2 * g + 2] for g in range(self.n)], arena)
        self.error, self.slope, self.bend = items.arrays(3)


@ti.func
def find_gears(p: ti.template(), w: ti.i32):
    """[J] of the gears, after the coordinates; their slopes join those of the laws.

    Reads:  p.laws.now
    Writes: p.elastic, p.gears.{error, slope, bend}, p.laws.{slope, bend}
    """
    y = p.laws
    g = p.gears
    total = p.gradient.arena.zero()
    for k in range(g.n):
        led, slope, bend = value_and_slopes(g.powers, w, k, y.now.load(w, g.part.at(2 * k + 1)))
        error = y.now.load(w, g.part.at(2 * k)) - (led + g.offset.load(w, k))
        g.error.store(w, k, error)
        g.slope.store(w, k, slope)
        g.bend.store(w, k, bend)
        total = total + error * error * g.stiffness.load(w, k) * 0.5
    for m in range(y.n_points):
        weight = ti.cast(1.0, p.gradient.arena.device.real)
        if y.is_turn.at(y.point_of.at(m)) == 0:
            weight = weight * 0.5
        for k in range(g.n):
            force = g.error.load(w, k) * g.stiffness.load(w, k) * weight
            if g.part.at(2 * k) == y.point_of.at(m):
                y.slope.store(w, m, y.slope.load(w, m) + force)
            if g.part.at(2 * k + 1) == y.point_of.at(m):
                y.slope.store(w, m, y.slope.load(w, m) - force * g.slope.load(w, k))
                y.bend.store(w, m, y.bend.load(w, m) + ti.max(-force * g.bend.load(w, k), 0.0))
    p.elastic.store(w, 0, p.elastic.load(w, 0) + total)
    return total


@ti.func
def add_gears(p: ti.template(), w: ti.i32):
    """Add the first part of the Hessian of the gears.

    Reads:  p.{rows.gradient, rows.residual, gears.slope}
    Writes: p.gears.arms, p.matrix.factor.value
    """
    f = p.rows
    g = p.gears
    clear_arms(g.arms, w)
    for k in range(2 * g.n):
        row = g.row.at(k)
        by_first = p.gradient.arena.zero() + 0.5
        by_second = by_first
        if p.laws.is_turn.at(g.part.at(k)) != 0:
            by_first, by_second, _square = slopes_of_turn(f.residual.load(w, row), f.residual.load(w, row + 1))
        if k % 2 == 1:
            by_first = -by_first * g.slope.load(w, k // 2)
            by_second = -by_second * g.slope.load(w, k // 2)
        begin = f.entry_start.at(row)
        other = f.entry_start.at(row + 1)  # the entries of the second row stand at the same coordinates
        for e in range(other - begin):
            a = g.arms.start.at(k // 2) + g.arms.place.at(g.arms.place_start.at(k) + e)
            slope = f.gradient.load(w, begin + e) * by_first + f.gradient.load(w, other + e) * by_second
            g.arms.value.store(w, a, g.arms.value.load(w, a) + slope)
    add_products(g.arms, p.matrix, w, g.stiffness)
