"""E of the search for coordinates: targets, a posture, and the rows of the mechanism, which multipliers hold.

Rows are those of loops, gears, and limits of joints that close loops:

    rho/2 |c|^2,   z = phi + l / rho,   c = z - clamp(z, lower, upper),     l <- rho c

c is a `SearchCore`, phi the residual of a row. Rows that hold have the bounds 0 and 0.

Source: the method of multipliers of Hestenes (1969). Deviation: bounds on both sides of one residual.
"""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.rows.jacobian import fill_rows
from simcli.kernels.rows.tree_rows import measure_tree_rows
from simcli.kernels.targets import entry, linearize_targets, measure_targets, put
from simcli.model.constraints.constraint_tables import NONHOLONOMIC_FORMS, Constraints, Form
from simcli.model.tables.model import Model

FACTS = 6  # numbers of a result: distance, turn, gap of rows, E, status, iterations
ANGLE, ROW_GAP, COST = 1, 2, 3  # places among them; the distance is the first
_PENALTY = 1e3  # rho of a row, per m^2 or rad^2: an update of multipliers takes three digits of what is open


def bounds_of_rows(model: Model, constraints: Constraints, sees: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds of the residuals of rows, and the angle near which each is taken, (W, R) each.

    Rows that hold are 0. Rows that are coordinates with limits stay within these; others idle, as do those of prescribed
    motions, compliant ones, and those that hold velocities alone: a wheel may be put anywhere on its plane.

    Args:
        model: the tables.
        constraints: of it.
        sees: (R,) bool: rows that do not idle.
    """
    rows, laws, dofs = constraints.rows, constraints.laws, model.dofs
    has_place = rows.is_hard & ~np.isin(rows.form, NONHOLONOMIC_FORMS)
    acts = has_place & (rows.dof < 0) & (rows.enabled != 0) & (rows.compliance == 0) & sees
    upper = np.where(np.broadcast_to(acts, (max(model.n_worlds, len(acts)), rows.n)), 0.0, np.inf)
    lower, near = -upper, np.zeros_like(upper)
    for k, (d, r) in enumerate(zip(laws.dof, laws.row, strict=True)):
        if r >= 0 and sees[r] and rows.form[r] != Form.ROLL:
            bounds = (laws.lower[:, k], laws.upper[:, k]) if d < 0 else (dofs.limit_lower[:, d], dofs.limit_upper[:, d])
            lower[:, r], upper[:, r] = bounds
            middle = 0.5 * (bounds[0] + bounds[1])
            near[:, r] = np.where(np.isfinite(middle), middle, 0.0)
    same = all(len(np.unique(a, axis=0)) <= 1 for a in (lower, upper, near))
    lower, upper, near = (a[:1] if same else a for a in (lower, upper, near))
    return lower, upper, near


@ti.func
def measure_kept_rows(c: ti.template(), w: ti.i32):
    """Residuals of rows where the links are.

    Reads:  c.state, c.row_near
    Writes: c.system.rows
    """
    if ti.static(c.n_rows > 0):
        rows = c.system.rows
        for r in range(c.n_rows):
            rows.angle.store(w, r, c.arena.zero() + c.row_near.load(w, r))
        measure_tree_rows(c.tables, c.state, rows, w)


@ti.func
def open_by(c: ti.template(), w: ti.i32, r: ti.i32, shift: ti.template()):
    """What z is beyond its bounds, z - clamp(z, lower, upper), of a row, z its residual and a shift.

    Reads: c.{system.rows.residual, row_lower, row_upper}
    """
    z = c.system.rows.residual.load(w, r) + shift
    return z - ti.max(ti.min(z, c.row_upper.load(w, r)), c.row_lower.load(w, r))


@ti.func
def follow_multipliers(c: ti.template(), w: ti.i32):
    """Multipliers take over what terms of rows push by, where steps have become small.

    Reads:  c.{settled, system.rows}
    Writes: c.multiplier
    """
    settled = c.settled.load(w, 0)
    for r in range(c.n_rows):
        given = c.multiplier.load(w, r)
        by = open_by(c, w, r, given * (1.0 / _PENALTY))
        c.multiplier.store(w, r, select(settled > 0.0, by * _PENALTY, given))


@ti.func
def add_rows(c: ti.template(), w: ti.i32):
    """Gradient and matrix of the rows that push.

    Reads:  c.{system, multiplier}
    Writes: c.targets.{gradient, matrix}
    """
    y = c.system
    g = c.targets
    zero = c.arena.zero()
    for r in range(c.n_rows):
        by = open_by(c, w, r, c.multiplier.load(w, r) * (1.0 / _PENALTY))
        holds = zero + c.row_lower.load(w, r) == zero + c.row_upper.load(w, r)
        pushes = select(holds, zero + 1.0, select(by == 0.0, zero, zero + 1.0)) * _PENALTY
        for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
            a = g.slot.at(y.j_dof.at(e))
            if a >= 0:
                J = y.entry.load(w, y.n_mass + e) * pushes
                g.gradient.store(w, a, g.gradient.load(w, a) + J * by)
                add_row_products(c, w, r, e, a, J)


@ti.func
def add_row_products(c: ti.template(), w: ti.i32, r: ti.i32, e: ti.i32, a: ti.i32, J: ti.template()):
    """Products of entry e of a row, of unknown a, with those before it; an unknown may have several entries.

    Reads:  c.system
    Writes: c.targets.matrix
    """
    y = c.system
    g = c.targets
    for f in range(y.j_start.at(r), e + 1):
        b = g.slot.at(y.j_dof.at(f))
        if b >= 0:
            at = entry(ti.max(a, b), ti.min(a, b))
            twice = ti.select((a == b) & (e != f), 2.0, 1.0)
            value = J * y.entry.load(w, y.n_mass + f) * twice
            g.matrix.store(w, at, g.matrix.load(w, at) + value)


@ti.func
def cost_of_rows(c: ti.template(), w: ti.i32):
    """What open rows add to E, and the largest gap.

    Reads: c.{system.rows.residual, row_lower, row_upper, multiplier}
    """
    cost = c.arena.zero()
    gap = c.arena.zero()
    for r in range(c.n_rows):
        gap = ti.max(gap, ti.abs(open_by(c, w, r, c.arena.zero())))
        by = open_by(c, w, r, c.multiplier.load(w, r) * (1.0 / _PENALTY))
        cost = cost + by * by * (0.5 * _PENALTY)
    return cost, gap


@ti.func
def linearize_search(c: ti.template(), w: ti.i32):
    """E, what is left of the targets, gradient and matrix where the links are.

    Reads:  c.{state, going, posed, curved}
    Writes: c.{targets, facts, cost}
    """
    g = c.targets
    going = c.going.load(w, 0)
    cost, far, turn, gap = measure_search(c, w)
    put(c.cost, w, going, cost)
    linearize_targets(g, c.state, w, c.curved.load(w, 0))
    add_posture(c, w)
    c.scale.store(w, 0, mean_diagonal(c, w))
    if ti.static(c.n_rows > 0):
        fill_rows(c.system, c.tables, c.state, w)
        add_rows(c, w)
    put(c.facts, w, going, far)
    put(c.facts, w, going, turn, ANGLE)
    put(c.facts, w, going, gap, ROW_GAP)
    put(c.facts, w, going, cost, COST)


@ti.func
def measure_search(c: ti.template(), w: ti.i32):
    """E, the largest distance [m] and turn [rad] of targets, and the largest gap of rows.

    Reads:  c.{state, posed, posture, posture_weight, multiplier, system.rows}
    Writes: c.targets
    """
    cost, far, turn = measure_targets(c.targets, c.tables, c.state, w)
    gap = c.arena.zero()
    posed = c.posed.load(w, 0)
    if any_lane(posed > 0.0):
        for k in range(c.n_unknowns):
            u = c.posture_weight.load(w, c.targets.dof.at(k)) * posed
            away = from_posture(c, w, k) * u
            cost = cost + away * away * 0.5
    if ti.static(c.n_rows > 0):
        more, gap = cost_of_rows(c, w)
        cost = cost + more
    return cost, far, turn, gap


@ti.func
def from_posture(c: ti.template(), w: ti.i32, k: ti.i32):
    """How far a scalar unknown is from the preferred coordinate; 0 of others, whose weight is 0.

    Reads: c.{state.q, posture}
    """
    i = c.targets.coordinate.at(k)
    away = c.arena.zero()
    if i >= 0:
        away = c.state.q.load(w, i) - c.posture.load(w, i)
    return away


@ti.func
def add_posture(c: ti.template(), w: ti.i32):
    """Gradient and matrix of the posture.

    Reads:  c.{posed, posture, posture_weight, state.q}
    Writes: c.targets.{gradient, matrix}
    """
    g = c.targets
    posed = c.posed.load(w, 0)
    if any_lane(posed > 0.0):
        for k in range(c.n_unknowns):
            u = c.posture_weight.load(w, g.dof.at(k)) * posed
            g.gradient.store(w, k, g.gradient.load(w, k) + from_posture(c, w, k) * (u * u))
            g.matrix.store(w, entry(k, k), g.matrix.load(w, entry(k, k)) + u * u)


@ti.func
def mean_diagonal(c: ti.template(), w: ti.i32):
    """Mean of the diagonal of the matrix, that of the targets alone where it is taken before rows are added.

    Reads: c.targets.matrix
    """
    total = c.arena.zero()
    for k in range(c.n_unknowns):
        total = total + ti.abs(c.targets.matrix.load(w, entry(k, k)))
    return total * (1.0 / ti.max(c.n_unknowns, 1))
