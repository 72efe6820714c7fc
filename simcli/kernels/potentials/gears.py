"""Gears between coordinates of affine joints: K (x_f - p(x_l) - offset)^2 / 2, stiff as the joints are.

    gradient  K e (x_f' - p' x_l')    Hessian  K (x_f' - p' x_l')(..)^T + K e (x_f'' - p' x_l'' - p'' x_l' x_l'^T)

The first part of the Hessian joins two coordinates, and is here; the second one goes with the slopes of their laws, and
that of p'' with their bends, where it is positive.

An arm is the gradient of a sum over several rows, as the error of a gear or the length of a cable; its entries stand at all
coordinates that one of the rows touches. Its product in the Hessian is K arm arm^T.
"""

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.sparse_factors import add_entry
from simcli.kernels.language import ti
from simcli.kernels.potentials.potential_terms import slopes_of_turn
from simcli.kernels.rows.forms import Powers, value_and_slopes
from simcli.model.forms.affine_energy import Energies
from simcli.model.joints.gears import terms_act
from simcli.model.tables.model import Model


class Arms:
    """Memory and index lists of arms.

    Args:
        parts: of each arm, the coordinates that the gradient of each part touches.
        arena: receives everything.

    Attributes:
        n: arms.  coordinates: of the bodies, by arm, on the host.
        start: (n + 1) offsets into the entries of the arms.
        place: entry in its arm of each entry of a part, from place_start on; parts are numbered one arm after the other.
        outer: entries of the matrix for the products of arms, from outer_start on.
        value: of the arms' entries.
    """

    _data_oriented = True

    def __init__(self, parts: list[list[list[int]]], arena: Arena):
        self.n, self.coordinates = len(parts), [sorted(set().union(*some)) for some in parts]
        self.start = arena.ints(_offsets([len(at) for at in self.coordinates]))
        self.place_start = arena.ints(_offsets([len(one) for some in parts for one in some]))
        self.place = arena.ints(
            [at.index(i) for some, at in zip(parts, self.coordinates, strict=True) for one in some for i in one]
        )
        self.value = arena.array(sum(map(len, self.coordinates)))

    def lay_on(self, matrix, arena: Arena) -> None:
        """Find the entries of the matrix, whose pattern joins the coordinates."""
        outer = [[matrix.entry(a, b) for n, a in enumerate(at) for b in at[: n + 1]] for at in self.coordinates]
        self.outer_start = arena.ints(_offsets([len(one) for one in outer]))
        self.outer = arena.ints([entry for one in outer for entry in one])


def _offsets(counts: list[int]) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(counts))).astype(int)


@ti.func
def clear_arms(a: ti.template(), w: ti.i32):
    """Zeros everywhere.

    Writes: a.value
    """
    for e in range(a.start.at(a.n)):
        a.value.store(w, e, a.value.arena.zero())


@ti.func
def add_products(a: ti.template(), matrix: ti.template(), w: ti.i32, stiffness: ti.template()):
    """Add K arm arm^T to the matrix.

    Args:
        stiffness: K of each arm.

    Reads:  a.value
    Writes: matrix.factor.value
    """
    for k in range(a.n):
        at = a.outer_start.at(k)
        begin = a.start.at(k)
        for e in range(begin, a.start.at(k + 1)):
            scaled = a.value.load(w, e) * stiffness.load(w, k)
            for n in range(begin, e + 1):
                add_entry(matrix, w, a.outer.at(at), scaled * a.value.load(w, n))
                at = at + 1


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
