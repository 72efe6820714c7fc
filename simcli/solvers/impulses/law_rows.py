"""Rows of the laws of coordinates in the problem of a step with contact: drives, friction, limits, and linear parts.

Bounds that are far are rows only once a solution has passed them: `wake_bounds`. The bound of the drive of a ball is one of
three rows together, whose impulses stay within h E: a box that each search renews. The table of rows is in rows.py.
"""

import numpy as np

from simcli.kernels.complementarity.islands import ITS_ROWS, ITS_VELOCITIES, begin_of, end_of, member
from simcli.kernels.complementarity.large import SystemPattern
from simcli.kernels.complementarity.measure import row_speed
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.constrained_system import System
from simcli.kernels.rows.coordinate_laws import limits_of, share_limits
from simcli.model.constraints.constraint_tables import Laws
from simcli.model.tables.model import Model
from simcli.solvers.impulses.mass import act_of_law, mirrored, row_velocity
from simcli.solvers.rows.active_set import find_reference_velocities
from simcli.solvers.rows.islands import island_of, span_at

HARD, MOTION, DRIVE, FRICTION, LOWER, UPPER, LINEAR = range(7)  # kinds of rows
_FAR, _WATCHED = 20.0, 4.0  # [m/s or rad/s], and of its speed: a bound that takes a faster motion to reach is not watched
BOUNDLESS = 1e31  # [N s], beyond what the problem takes for a bound


@ti.func
def row_of_law(
    c: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, k: ti.i32, sign: ti.template(), h: ti.template(), statement: ti.i32
):
    """Row n of the problem, of law k: where it is on, bias, compliance and bounds, as of `store_row`.

    Args:
        kind: DRIVE, FRICTION, LOWER, UPPER or LINEAR.
        sign: -1 for UPPER, else 1.
        h: [s], over which forces act on the velocity that moves the coordinates.

    Reads: c.bound
    """
    y = c.bound.system
    m = c.bound.impulses
    zero = c.tables.arena.zero()
    on = zero == 0.0  # a variable for masks, which what `act_of_law` gives would not make
    on = act_of_law(c, w, k)
    soft = zero
    lower = zero - BOUNDLESS
    upper = zero + BOUNDLESS
    bias = zero
    if y.laws.unknown.at(k) >= y.n_dofs:
        bias = _shift_of_row(c, w, k, h)
    if kind == LINEAR:
        on, bias, soft = row_of_line(c, on, m.push.load(w, k), m.gain.load(w, k), bias, h)
    elif kind == DRIVE:
        on, bias, soft = row_of_line(c, on, y.laws.drive.load(w, k), y.laws.drive_gain.load(w, k), bias, h)
        least, most = limits_of(y.laws, w, k)
        upper = ti.min(most * h, upper)
        lower = ti.max(least * h, lower)
    elif kind == FRICTION:
        upper = y.laws.friction.load(w, k) * h
        on = on & (upper > 0.0)
        lower = -upper
    else:
        bound, far = bound_of_law(c, w, n, kind, k, sign, statement)
        on = on & ~far
        bias = (bias - bound) * sign
        lower = zero
    return on, bias, soft, lower, upper


def _shift_of_row(c, w, k, h):
    """[m/s, rad/s], of the mean velocity of law k on a row, besides J v (inside kernels).

    Half of what the row turns in the step: J of its start has that to come, J of its end has had it, both times half.
    """
    shift = c.bound.system.laws.shift.load(w, k) * h
    if not c.turns:
        return shift
    return shift * (1.0 - 2.0 * ti.cast(c.now.load(w, "turned"), c.tables.arena.device.real))


@ti.func
def row_of_line(
    c: ti.template(), on: ti.template(), push: ti.template(), gain: ti.template(), shift: ti.template(), h: ti.template()
):
    """Whether the row of lambda = push - gain v is on, its bias and its compliance, as of `store_row` in rows.py.

    Args:
        on: mask of the worlds in which the law acts.
        push: [N, N m], lambda at v = 0.  gain: [N s/m, N m s/rad].
        shift: [m/s, rad/s], of v, besides J v.
        h: [s], as of `row_of_law`.
    """
    acts = on & (gain > 0.0)
    safe = select(gain > 0.0, gain, c.tables.arena.zero() + 1.0)
    return acts, shift - push / safe, 1.0 / (safe * h)


@ti.func
def bound_of_law(c: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, k: ti.i32, sign: ti.template(), statement: ti.i32):
    """Bound of the velocity of law k [m/s, rad/s], and mask of the worlds in which it is too far to be watched.

    Reads: c.bound
    """
    laws = c.bound.system.laws
    bound = laws.low.load(w, k)
    if kind == UPPER:
        bound = laws.high.load(w, k)
    far = -sign * bound > ti.abs(laws.rate.load(w, k)) * _WATCHED + _FAR
    if statement > 0:
        far = far & (c.bound.impulses.awake.load(w, n) == 0.0)
    return select(ti.abs(bound) < BOUNDLESS, bound, c.tables.arena.zero()), far


@ti.func
def wake_bounds(c: ti.template(), w: ti.i32, h: ti.template()):
    """Turn on the bounds that were thought to be far, and have been passed.

    Reads:  p.{rows.on, velocity}, c.bound.system.laws
    Writes: c.bound.impulses.{awake, awakened}, p.{push, kappa}
    """
    y = c.bound.system
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    wakes = zero
    for at in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS, m.n_plain)):
        n = member(p, w, ITS_ROWS, at)
        kind = m.kind.at(n)
        if kind == LOWER or kind == UPPER:
            k = m.item.at(n)
            i = y.laws.unknown.at(k)
            speed = zero
            if i < y.n_dofs:
                speed = p.velocity.load(w, mirrored(y, i))
            else:
                speed = row_velocity(c, w, i - y.n_dofs, p.velocity) + y.laws.shift.load(w, k) * span_at(c, w, c.g, i, h)
            passed = speed < y.laws.low.load(w, k)
            if kind == UPPER:
                passed = speed > y.laws.high.load(w, k)
            passed = passed & act_of_law(c, w, k) & (p.rows.on.load(w, n) == 0.0)
            m.awake.store(w, n, select(passed, zero + 1.0, zero))
            wakes = select(passed, zero + 1.0, wakes)
    m.awakened.store(w, 0, wakes)
    p.kappa.store(w, 0, select(wakes != 0.0, p.progress.kappa.load(w, 0), p.kappa.load(w, 0)))
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES, y.n_dofs)):
        p.push.store(w, member(p, w, ITS_VELOCITIES, n), zero)


@ti.func
def bound_balls(c: ti.template(), w: ti.i32):
    """Bounds for the next search: of the first one of an evaluation by the step before, then by the solution before.

    Reads:  c.{now, g}, c.bound
    Writes: p.{lower, upper} of drives of balls, c.bound.system.laws.share
    """
    y = c.bound.system
    m = c.bound.impulses
    p = m.problem
    if c.now.load(w, "statement") == 0 and c.now.load(w, "search") == 0:
        find_reference_velocities(c, w, 0, c.g.load(w, 0))
        share_limits(y.laws, w, c.tables.arena.zero() == 0.0, c.tables.arena.zero())
        for at in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS, m.n_plain)):
            n = member(p, w, ITS_ROWS, at)
            if m.kind.at(n) == DRIVE:
                if y.laws.shares_limit.at(m.item.at(n)) != 0:
                    bound_drive(p, w, n, y.laws.share.load(w, m.item.at(n)) * _span_of_law(c, w, m.item.at(n)))
    else:
        for at in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS, m.n_plain)):
            n = member(p, w, ITS_ROWS, at)
            if m.kind.at(n) == DRIVE:
                k = m.item.at(n)
                if y.laws.shares_limit.at(k) != 0 and y.laws.component.at(k) == 0:
                    bound_ball(c, w, n, k)


def _span_of_law(c, w, k):
    """[s], over which forces of law k act on the velocity that moves the coordinates (inside kernels)."""
    return c.g.load(w, island_of(c, c.bound.system.laws.unknown.at(k)) if c.bound.islands.have_spans else 0)


@ti.func
def bound_ball(c: ti.template(), w: ti.i32, n: ti.i32, k: ti.i32):
    """Shares of the three rows from n on, of the ball of law k: see `share_limits`, with h u = x - w / (C (1 + kappa)).

    Reads:  p.{rows, velocity}
    Writes: p.{lower, upper}
    """
    p = c.bound.impulses.problem
    zero = c.tables.arena.zero()
    metric, soft, size = zero, zero, zero
    for j in ti.static(range(3)):
        metric = metric + p.rows.metric.load(w, n + j)
        soft = soft + p.rows.compliance.load(w, n + j)
    for j in ti.static(range(3)):
        size = size + wanted_impulse(p, w, n + j, metric, soft) ** 2
    size = ti.sqrt(size)
    limit = (zero + c.bound.system.laws.effort_limit.load(w, k)) * _span_of_law(c, w, k)
    full = size > limit
    for j in ti.static(range(3)):
        share = limit * ti.abs(wanted_impulse(p, w, n + j, metric, soft)) / select(full, size, zero + 1.0)
        bound_drive(p, w, n + j, select(full, share, zero + BOUNDLESS))


@ti.func
def wanted_impulse(p: ti.template(), w: ti.i32, n: ti.i32, metric: ti.template(), soft: ti.template()):
    """[N s], what row n of a ball would give without a bound; of a row that is off 0.

    Args:
        metric, soft: sums over the three rows.
    """
    x, own = p.rows.impulse.load(w, n), p.rows.compliance.load(w, n)
    acts = (p.rows.on.load(w, n) != 0.0) & (own > 0.0)
    speed = row_speed(p, w, n, p.velocity) + p.rows.bias.load(w, n) + own * x
    scale = select(acts, own * (soft + metric), own * 0.0 + 1.0)
    return select(acts, x - speed * soft / scale, x * 0.0)


@ti.func
def bound_drive(p: ti.template(), w: ti.i32, n: ti.i32, most: ti.template()):
    """Bound the impulse of row n, which may be off.

    Writes: p.{lower, upper}
    """
    on = p.rows.on.load(w, n) != 0.0
    upper = select(on, ti.min(most, p.arena.zero() + BOUNDLESS), p.upper.load(w, n))
    p.upper.store(w, n, upper)
    p.lower.store(w, n, select(on, -upper, p.lower.load(w, n)))


def pattern_of(rows: np.ndarray, laws: Laws, system: System, model: Model, tables: Tables) -> SystemPattern:
    """What each row of `impulses.plan_rows` sees, by its item: a row of the system, a prescribed dof, or a law.

    Args:
        rows: (rows, 2), kinds and items.
        laws: of the constraints.
        system, model, tables: of the run.
    """
    last = tables.n_tree_dofs - 1
    prescribed = np.flatnonzero((model.motions.kind != 0) & (tables.unknown_of_dof >= 0))
    seen = []
    for kind, item in rows.tolist():
        if kind == HARD:
            seen.append(system.seen[item])
        elif kind == MOTION:
            seen.append([last - tables.unknown_of_dof[prescribed[item]]])
        elif laws.row[item] >= 0:
            seen.append(system.seen[laws.row[item]])
        else:
            seen.append([last - tables.unknown_of_dof[laws.dof[item]]])
    start = np.cumsum([0, *map(len, seen)])
    return SystemPattern(model.n_links, start, np.concatenate([np.zeros(0, int), *seen]).astype(int))
