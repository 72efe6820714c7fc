"""Coordinates of joints of affine bodies: energies of two rows each, once per turn, along both axes of a line."""

from simcli.kernels.language import ti
from simcli.kernels.language.elementary import atan2, nearest_turn
from simcli.kernels.potentials.gears import find_gears
from simcli.kernels.potentials.laws import evaluate_law
from simcli.kernels.potentials.potential_terms import (
    PotentialTerms,
    excess_of,
    mean_force,
    raise_pushes,
    slopes_of_turn,
    steepen,
    way_to_limit,
)


@ti.func
def find_laws(p: ti.template(), w: ti.i32, alpha: ti.template()):
    """[J] of the laws on coordinates, after the residuals.

    Args:
        alpha: [1/s], (B).

    Reads:  p.rows.residual
    Writes: p.elastic, p.laws.{now, slope, bend, drive, damper, inert}
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
        stores, drives, dampers, hard, inert = evaluate_law(y, w, k, x, alpha.load(w, y.body.at(k)))
        law = _whole((stores, drives, dampers, hard, inert))
        total = total + law.energy * weight
        p.elastic.store(w, 0, p.elastic.load(w, 0) + stores.energy * weight)
        y.slope.store(w, m, law.slope * weight)
        y.bend.store(w, m, law.bend * weight)
        y.drive.store(w, m, drives.slope * weight)
        y.damper.store(w, m, dampers.slope * weight)
        y.inert.store(w, m, inert.slope * weight)
    if ti.static(p.gears.n > 0):
        total = total + find_gears(p, w)
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


def _whole(terms) -> PotentialTerms:
    """The sum of several."""
    total = PotentialTerms(terms[0].energy * 0.0)
    for one in terms:
        total.add(one.energy, one.slope, one.bend)
    return total


@ti.func
def coordinate_slopes(p: ti.template(), w: ti.i32, curve: ti.template()):
    """Derivatives of the laws by the rows; see `find_slopes`.

    Reads:  p.{rows.residual, laws}
    Writes: p.{first, second, cross}
    """
    y = p.laws
    for m in range(y.n_points):
        k = y.point_of.at(m)
        row = y.point_row.at(m)
        slope = y.slope.load(w, m)
        bend = y.bend.load(w, m)
        if y.is_turn.at(k) != 0:
            c = p.rows.residual.load(w, row)
            s = p.rows.residual.load(w, row + 1)
            by_c, by_s, square = slopes_of_turn(c, s)
            turn = slope * curve * square * square
            p.first.store(w, row, slope * by_c)
            p.first.store(w, row + 1, slope * by_s)
            p.second.store(w, row, bend * by_c * by_c + turn * c * s * 2.0)
            p.second.store(w, row + 1, bend * by_s * by_s - turn * c * s * 2.0)
            p.cross.store(w, k, bend * by_c * by_s + turn * (s * s - c * c))
        else:
            p.first.store(w, row, slope)
            p.second.store(w, row, bend)
            p.cross.store(w, k, p.gradient.arena.zero())


@ti.func
def raise_limits(p: ti.template(), w: ti.i32, tolerance: ti.template()):
    """Take the forces of hard limits and motions as they are now, in lanes where they give too much.

    Lanes where they do not keep forces that are in balance with what was found.

    Returns:
        [m, rad], by how much they give.

    Reads:  p.{rows.residual, laws.now}
    Writes: p.laws.{push, pull, slope, bend}
    """
    y = p.laws
    gives = p.gradient.arena.zero()
    for k in range(y.n):
        gives = ti.max(gives, excess_of(y, w, k))
    not_converged = ~(gives <= tolerance)
    for m in range(y.n_points):
        x, weight = point_of(p, w, m)
        steepen(y, w, m, x, weight, not_converged)
    for k in range(y.n):
        raise_pushes(y, w, k, not_converged)
    return gives


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
def work_of_laws(p: ti.template(), w: ti.i32, weight: ti.template()):
    """[J] over the step: taken by dampers of coordinates; given by efforts and drives. See `work_of_step`.

    A damper takes: where its rate changes sign, the mean force times the way may have another sign by a term of third order.

    Reads:  p.laws, of the end of the step
    Writes: p.laws.{drive_before, damper_before}
    """
    dissipated = p.gradient.arena.zero()
    driven = p.gradient.arena.zero()
    y = p.laws
    for m in range(y.n_points):
        k = y.point_of.at(m)
        moved = y.now.load(w, k) - y.start.load(w, k)
        past = weight.load(w, y.body.at(k))
        dissipated = dissipated + ti.max(mean_force(y.damper, y.damper_before, w, m, past) * moved, 0.0)
        driven = driven - mean_force(y.drive, y.drive_before, w, m, past) * moved
    for m in range(y.n_points):
        y.damper_before.store(w, m, y.damper.load(w, m))
        y.drive_before.store(w, m, y.drive.load(w, m))
    return dissipated, driven
