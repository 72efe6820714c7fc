"""Bounds of the drives of balls: three rows whose impulses together stay within h E, by a box that each search renews."""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.complementarity.measure import row_speed
from simcli.kernels.language import ti
from simcli.kernels.laws.bounded import share_limits
from simcli.solvers.impulses.law_rows import BOUNDLESS, DRIVE
from simcli.solvers.rows.active_set import find_reference_velocities


@ti.func
def bound_balls(c: ti.template(), w: ti.i32):
    """Bounds for the next search: of the first one of an evaluation by the step before, then by the solution before.

    Reads:  c.{now, g}, c.bound
    Writes: p.{lower, upper} of drives of balls, c.bound.system.laws.share
    """
    y = c.bound.system
    m = c.bound.impulses
    if c.now.load(w, "statement") == 0 and c.now.load(w, "search") == 0:
        find_reference_velocities(c, w, 0, c.g.load(w, 0))
        share_limits(y.laws, w, c.tables.arena.zero() == 0.0, c.tables.arena.zero())
        for n in range(m.n_plain):
            if m.kind.at(n) == DRIVE:
                if y.laws.shares_limit.at(m.item.at(n)) != 0:
                    bound_drive(m.problem, w, n, y.laws.share.load(w, m.item.at(n)) * c.g.load(w, 0))
    else:
        for n in range(m.n_plain):
            if m.kind.at(n) == DRIVE:
                k = m.item.at(n)
                if y.laws.shares_limit.at(k) != 0 and y.laws.component.at(k) == 0:
                    bound_ball(c, w, n, k)


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
    limit = (zero + c.bound.system.laws.effort_limit.load(w, k)) * c.g.load(w, 0)
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
