"""The condensed Newton step: one matrix of the size of the velocities, however many rows there are.

    F(x, w) = 0 with slopes F_x, F_w per row;  B = F_x + F_w (C + e),  G = B^-1 F_w,  f = B^-1 F
    (M + J^T G J) dv = -J^T f,    dx = -f - G J dv

The matrix is not symmetric, and must not be made so. It is made in condensed.py.

Source: Alart and Curnier (1991), condensed to the velocities. Deviation: none.
"""

from simcli.kernels.complementarity.admm import scale_of
from simcli.kernels.complementarity.cones import curnier, discs, fischer_cone, fischer_row, natural_row
from simcli.kernels.complementarity.dense import is_anywhere, scaled_columns, substitute
from simcli.kernels.complementarity.islands import ITS_CONTACTS, ITS_ROWS, ITS_VELOCITIES, begin_of, end_of, member
from simcli.kernels.complementarity.large_problem import solve_large
from simcli.kernels.complementarity.measure import pull, row_speed, times, triple_speed
from simcli.kernels.complementarity.problem import NEWTON
from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.values import Mat3

_ENOUGH = 2e-4  # of a step's length: the share of the merit that it must gain
HALVINGS = 10
SHARPEN, _SHORT = 0.15, 0.01  # of sigma, once F is below it or a step this short
SHARPEST = 1e-14  # [m/s]
HUGE = 1e30  # [m^2/s^2], worse than any merit
COARSE = 0.3  # sigma of a stage that begins, relative to the natural map


@ti.func
def row_law(p: ti.template(), w: ti.i32, s: ti.i32, kind: ti.i32, x: ti.template(), speed: ti.template()):
    """F, F_x and F_w of a row."""
    d = p.rows.metric.load(w, s) + p.rows.soft.load(w, s)
    lower, upper = p.lower.load(w, s), p.upper.load(w, s)
    F, is_free = natural_row(x, speed, d, lower, upper)
    F_x, F_w = select(is_free, d * 0.0, d), select(is_free, d * 0.0 + 1.0, d * 0.0)
    if kind != NEWTON:
        F, F_x, F_w = fischer_row(x, speed, d, lower, upper, p.progress.sigma.load(w, 0), p.limits.tiny)
    return select(p.rows.on.load(w, s) != 0.0, F, d * 0.0), F_x, F_w


@ti.func
def contact_law(p: ti.template(), w: ti.i32, c: ti.i32, kind: ti.i32, x: ti.template(), speed: ti.template()):
    """F, F_x and F_w of a contact."""
    metric, mu = p.contacts.metric.load(w, c), p.friction.load(w, c)
    F, F_x, F_w = curnier(x, speed, metric, mu, p.limits.tiny)
    if kind != NEWTON:
        F, F_x, F_w = fischer_cone(x, speed, metric, mu, p.progress.sigma.load(w, 0), p.limits.floor, p.limits.tiny)
    return select_parts(p.contacts.on.load(w, c) != 0.0, F, F * 0.0), F_x, F_w


@ti.func
def spin_law(p: ti.template(), w: ti.i32, c: ti.i32, kind: ti.i32, x: ti.template(), speed: ti.template()):
    """F, F_x and F_w of the spins of a contact."""
    sigma = p.progress.sigma.load(w, 0) * ti.select(kind == NEWTON, 0.0, 1.0)
    bounds = p.torsion.load(w, c), p.rolling.load(w, c)
    F, F_x, F_w = discs(x, speed, p.spins.metric.load(w, c), *bounds, sigma, p.limits.tiny)
    return select_parts(p.spins.on.load(w, c) != 0.0, F, F * 0.0), F_x, F_w


def triple_law(p, side, w, c, kind, x, speed):
    """F, F_x and F_w of a contact, or of its spins."""
    return (contact_law if side is p.contacts else spin_law)(p, w, c, kind, x, speed)


def inverse(m: Mat3) -> Mat3:
    """The inverse by cofactors."""
    a, b, c = m.column(0), m.column(1), m.column(2)
    x, y, z = b.cross(c), c.cross(a), a.cross(b)
    scale = local(1.0 / a.dot(x))
    return Mat3(*(part * scale for row in (x, y, z) for part in row.parts))


@ti.func
def linearize(p: ti.template(), w: ti.i32):
    """-J^T f, with slopes of now where a world wants them, else with those that its factors are of.

    Reads:  rows, contacts, spins, p.progress.stale
    Writes: p.force, p.progress.merit, {step: -f, scale, gain} of all
    """
    zero = p.arena.zero()
    kind = p.now.load(w, "kind")
    anew = p.progress.stale.load(w, 0) != 0.0
    merit = zero
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        if is_anywhere(p.rows, w, s):
            slack = p.rows.soft.load(w, s) + p.rows.metric.load(w, s) * p.limits.slack
            F, F_x, F_w = row_law(p, w, s, kind, p.rows.impulse.load(w, s), p.rows.speed.load(w, s))
            scale = select(anew, 1.0 / (F_x + F_w * slack), p.rows.scale.load(w, s))
            p.rows.scale.store(w, s, scale)
            p.rows.gain.store(w, s, select(anew, F_w * scale, p.rows.gain.load(w, s)))
            p.rows.step.store(w, s, -F * scale)
            merit = merit + F * F
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            d = side.metric.load(w, c).parts[2]
            F, F_x, F_w = triple_law(p, side, w, c, kind, side.impulse.load(w, c), side.speed.load(w, c))
            if any_lane(anew):
                soft = side.soft.load(w, c) + scale_of(p, side, w, c) * p.limits.slack
                scale = inverse((F_x + scaled_columns(F_w, soft)) * (1.0 / d)) * (1.0 / d)
                scale = select_parts(anew, scale, side.scale.load(w, c))
                side.scale.store(w, c, scale)
                side.gain.store(w, c, select_parts(anew, scale * F_w, side.gain.load(w, c)))
            side.step.store(w, c, -(side.scale.load(w, c) * F))
            merit = merit + F.dot(F)
    p.progress.merit.store(w, 0, merit)
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        i = member(p, w, ITS_VELOCITIES, n)
        p.force.store(w, i, zero)
    pull(p, w, "step", p.force)


def solve_condensed(p, w, x):
    """(M + J^T G J)^-1 x in place, with the factors at hand (inside kernels)."""
    (solve_large if p.is_large else substitute)(p, w, x)


@ti.func
def direct(p: ti.template(), w: ti.i32):
    """The direction of a Newton step: of impulses and of what rows see.

    The velocity goes along dv: M dv = J^T dx holds whatever G is. `measure_residual` finds it anew from the impulses.

    Reads:  factors, p.force, gain of all
    Writes: p.force, {step, rate} of all
    """
    solve_condensed(p, w, p.force)
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        if is_anywhere(p.rows, w, s):
            speed = row_speed(p, w, s, p.force)
            step = p.rows.step.load(w, s) - p.rows.gain.load(w, s) * speed
            p.rows.step.store(w, s, step)
            p.rows.rate.store(w, s, speed + p.rows.soft.load(w, s) * step)
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            speed = triple_speed(p, side, w, c, p.force)
            step = side.step.load(w, c) - side.gain.load(w, c) * speed
            side.step.store(w, c, step)
            side.rate.store(w, c, speed + times(side.soft.load(w, c), step))


@ti.func
def begin_halving(p: ti.template(), w: ti.i32):
    """The whole step is tried first; a length of 0 at the end says that no merit was a number.

    Writes: p.progress.{least, length, part, trying}
    """
    g = p.progress
    g.least.store(w, 0, p.arena.zero() + HUGE)
    g.length.store(w, 0, p.arena.zero())
    g.part.store(w, 0, p.arena.zero() + 1.0)
    g.trying.store(w, 0, p.arena.zero() + 1.0)


@ti.func
def try_length(p: ti.template(), w: ti.i32):
    """The merit |F|^2 of a part of the step, which is halved until the merit falls; the best one tried if none suffices.

    Reads:  {impulse, speed, step, rate} of all, p.progress.merit
    Writes: p.progress.{least, length, part, trying}
    """
    g = p.progress
    kind = p.now.load(w, "kind")
    t = g.part.load(w, 0)
    merit = p.arena.zero()
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        if is_anywhere(p.rows, w, s):
            x = p.rows.impulse.load(w, s) + t * p.rows.step.load(w, s)
            speed = p.rows.speed.load(w, s) + t * p.rows.rate.load(w, s)
            F, _F_x, _F_w = row_law(p, w, s, kind, x, speed)
            merit = merit + F * F
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            x = side.impulse.load(w, c) + side.step.load(w, c) * t
            speed = side.speed.load(w, c) + side.rate.load(w, c) * t
            F, _F_x, _F_w = triple_law(p, side, w, c, kind, x, speed)
            merit = merit + F.dot(F)
    better = merit < g.least.load(w, 0)
    g.least.store(w, 0, select(better, merit, g.least.load(w, 0)))
    g.length.store(w, 0, select(better, t, g.length.load(w, 0)))
    falls = merit <= (1.0 - _ENOUGH * t) * g.merit.load(w, 0)
    g.trying.store(w, 0, select(falls, p.arena.zero(), g.trying.load(w, 0)))
    g.part.store(w, 0, t * 0.5)


def is_trying(p, w):
    """The worlds whose merit has not fallen yet."""
    return p.progress.trying.load(w, 0) != 0.0


@ti.func
def go(p: ti.template(), w: ti.i32):
    """Move the impulses along the step; where the length is 0 the step may be no number.

    Reads:  p.progress.{length, least}
    Writes: impulse of all, p.progress.{busy, sigma}, p.iterations
    """
    g = p.progress
    length = g.length.load(w, 0)
    moves = length > 0.0
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        x = p.rows.impulse.load(w, s)
        p.rows.impulse.store(w, s, select(moves, x + length * p.rows.step.load(w, s), x))
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            x = side.impulse.load(w, c)
            side.impulse.store(w, c, select_parts(moves, x + side.step.load(w, c) * length, x))
    p.iterations.store(w, 0, p.iterations.load(w, 0) + 1.0)
    g.busy.store(w, 0, select(moves, p.arena.zero() + 1.0, p.arena.zero()))
    sigma = g.sigma.load(w, 0)
    sharper = (g.least.load(w, 0) < sigma * sigma * g.rows.load(w, 0)) | (length < _SHORT)
    g.sigma.store(w, 0, select(sharper, ti.max(SHARPEN * sigma, SHARPEST), sigma))
