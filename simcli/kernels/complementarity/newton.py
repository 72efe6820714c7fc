"""The condensed Newton step: one matrix of the size of the velocities, however many rows there are.

    F(x, w) = 0 with slopes F_x, F_w per row;  B = F_x + F_w (C + e),  G = B^-1 F_w,  f = B^-1 F
    (M + J^T G J) dv = -J^T f,    dx = -f - G J dv

The matrix is not symmetric, and must not be made so. Its factors are those of the sweeps as well (admm.py), with another G.

Source: reference/contact-solver.md, sections 3.1 and 3.4. Deviation: none.
"""

import taichi as ti

from simcli.kernels.complementarity.admm import reciprocals, swept_contact, swept_row
from simcli.kernels.complementarity.cones import chosen, curnier, fischer_cone, fischer_row, natural_row
from simcli.kernels.complementarity.dense import any_entry, block, corner, put_block, substitute, whole
from simcli.kernels.complementarity.krylov import solve_large
from simcli.kernels.complementarity.measure import contact_speed, pull, row_speed, seen, times
from simcli.kernels.complementarity.problem import ADMM, NEWTON
from simcli.kernels.elementary import select
from simcli.kernels.memory import any_lane, local
from simcli.kernels.values import Mat3, Vec3

ENOUGH = 2e-4  # of a step's length: the share of the merit that it must gain
HALVINGS = 10
SHARPEN, SHORT = 0.15, 0.01  # of sigma, once F is below it or a step this short
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
    return chosen(p.contacts.on.load(w, c) != 0.0, F, F * 0.0), F_x, F_w


def inverse(m: Mat3) -> Mat3:
    """The inverse by cofactors."""
    a, b, c = m.column(0), m.column(1), m.column(2)
    x, y, z = b.cross(c), c.cross(a), a.cross(b)
    scale = local(1.0 / a.dot(x))
    return Mat3(*(part * scale for row in (x, y, z) for part in row.parts))


def scaled_columns(m: Mat3, s: Vec3) -> Mat3:
    """The product with a diagonal matrix, from the right."""
    return Mat3(*(part * s.parts[k % 3] for k, part in enumerate(m.parts)))


@ti.func
def condense(p: ti.template(), w: ti.i32, kind: ti.i32):
    """M + J^T G J, and -J^T f.

    Reads:  rows, contacts, p.mass
    Writes: p.{matrix, force}, p.progress.merit, {step: -f, gain} of both
    """
    zero = p.arena.zero()
    for i in range(p.n):
        p.force.store(w, i, zero)
        if ti.static(not p.is_large):
            for j in range(i + 1):
                value = zero + p.mass.load(w, corner(i, j))
                p.matrix.store(w, i * p.n + j, value)
                p.matrix.store(w, j * p.n + i, value)
    p.progress.merit.store(w, 0, zero)
    for s in range(whole(p.live, w, 0)):
        weigh_row(p, w, s, kind)
        if ti.static(not p.is_large):
            condense_row(p, w, s)
    for c in range(whole(p.live, w, 1)):
        weigh_contact(p, w, c, kind)
        if ti.static(not p.is_large):
            condense_contact(p, w, c)
    if kind != ADMM:
        pull(p, w, p.rows.step, p.contacts.step, p.force)


@ti.func
def weigh_row(p: ti.template(), w: ti.i32, s: ti.i32, kind: ti.i32):
    """G and -f of a row, and its part of the merit."""
    slack = p.rows.soft.load(w, s) + p.rows.metric.load(w, s) * p.limits.slack
    gain = 1.0 / swept_row(p, w, s)
    if kind != ADMM:
        F, F_x, F_w = row_law(p, w, s, kind, p.rows.impulse.load(w, s), p.rows.speed.load(w, s))
        scale = 1.0 / (F_x + F_w * slack)
        gain = F_w * scale
        p.rows.step.store(w, s, -F * scale)
        p.progress.merit.store(w, 0, p.progress.merit.load(w, 0) + F * F)
    p.rows.gain.store(w, s, gain)


@ti.func
def condense_row(p: ti.template(), w: ti.i32, s: ti.i32):
    """Add G J^T J of a row to the matrix."""
    gain = p.rows.gain.load(w, s)
    for e in range(whole(p.rows.length, w, s)):
        a = whole(p.rows.columns, w, s * p.n + e)
        pulled = p.rows.jacobian.load(w, s * p.n + a) * gain
        for k in range(whole(p.rows.length, w, s)):
            b = whole(p.rows.columns, w, s * p.n + k)
            value = p.matrix.load(w, a * p.n + b) + pulled * p.rows.jacobian.load(w, s * p.n + b)
            p.matrix.store(w, a * p.n + b, value)


@ti.func
def weigh_contact(p: ti.template(), w: ti.i32, c: ti.i32, kind: ti.i32):
    """G and -f of a contact, and its part of the merit."""
    d = p.contacts.metric.load(w, c).parts[2]
    slack = d * p.limits.slack
    zero = p.arena.zero()
    x, y, z = reciprocals(swept_contact(p, w, c))
    gain = Mat3(x, zero, zero, zero, y, zero, zero, zero, z)
    if kind != ADMM:
        F, F_x, F_w = contact_law(p, w, c, kind, p.contacts.impulse.load(w, c), p.contacts.speed.load(w, c))
        soft = p.contacts.soft.load(w, c) + Vec3(slack, slack, slack)
        scale = inverse((F_x + scaled_columns(F_w, soft)) * (1.0 / d)) * (1.0 / d)
        gain = scale * F_w
        p.contacts.step.store(w, c, -(scale * F))
        p.progress.merit.store(w, 0, p.progress.merit.load(w, 0) + F.dot(F))
    p.contacts.gain.store(w, c, gain)


@ti.func
def condense_contact(p: ti.template(), w: ti.i32, c: ti.i32):
    """Add J^T G J of a contact to the matrix."""
    gain = p.contacts.gain.load(w, c)
    if any_entry(gain):
        for e in range(whole(p.contacts.length, w, c)):
            k = whole(p.contacts.columns, w, c * p.n + e)
            put_block_of(p.product, w, k, seen(p, w, c, k) * gain.T)
        add_product(p, w, c)


def block_of(slot, w, k) -> Mat3:
    """Three vectors of a column, a row each."""
    return Mat3(*(part for m in range(3) for part in slot.load(w, 3 * k + m).parts))


def put_block_of(slot, w, k, value: Mat3):
    """Replace three vectors of a column."""
    for m in range(3):
        slot.store(w, 3 * k + m, Vec3(*value.parts[3 * m : 3 * m + 3]))


@ti.func
def add_product(p: ti.template(), w: ti.i32, c: ti.i32):
    """Add J^T times p.product of a contact to the matrix, by blocks of three: most of the time of a step goes here.

    Writes: p.matrix
    """
    for e in range(whole(p.contacts.length, w, c)):
        i = whole(p.contacts.columns, w, c * p.n + e)
        J = seen(p, w, c, i)
        for m in range(whole(p.contacts.length, w, c)):
            j = whole(p.contacts.columns, w, c * p.n + m)
            put_block(p, w, i, j, block(p, w, i, j) + J * block_of(p.product, w, j).T)


@ti.func
def descend(p: ti.template(), w: ti.i32, kind: ti.i32):
    """One Newton step of the busy worlds, as long as the merit |F|^2 allows.

    The velocity goes along dv: M dv = J^T dx holds whatever G is. `measure` finds it anew from the impulses.

    Reads:  factors, p.force, {step, gain} of both
    Writes: {impulse, step, rate} of both, p.progress.{busy, sigma}, p.iterations
    """
    if ti.static(p.is_large):
        solve_large(p, w, p.force)
    else:
        substitute(p, w, p.force)
    for s in range(whole(p.live, w, 0)):
        speed = row_speed(p, w, s, p.force)
        step = p.rows.step.load(w, s) - p.rows.gain.load(w, s) * speed
        p.rows.step.store(w, s, step)
        p.rows.rate.store(w, s, speed + p.rows.soft.load(w, s) * step)
    for c in range(whole(p.live, w, 1)):
        speed = contact_speed(p, w, c, p.force)
        step = p.contacts.step.load(w, c) - p.contacts.gain.load(w, c) * speed
        p.contacts.step.store(w, c, step)
        p.contacts.rate.store(w, c, speed + times(p.contacts.soft.load(w, c), step))
    length, merit = search(p, w, kind)
    go(p, w, length)
    g = p.progress
    busy = g.busy.load(w, 0)
    p.iterations.store(w, 0, p.iterations.load(w, 0) + busy)
    g.busy.store(w, 0, select(length > 0.0, busy, busy * 0.0))
    sigma = g.sigma.load(w, 0)
    sharper = (merit < sigma * sigma * g.rows.load(w, 0)) | (length < SHORT)
    g.sigma.store(w, 0, select(sharper, ti.max(SHARPEN * sigma, SHARPEST), sigma))


@ti.func
def search(p: ti.template(), w: ti.i32, kind: ti.i32):
    """Length of the step, halved until the merit falls, and the merit there; the best one tried if none suffices.

    A length of 0 says that no merit was a number.

    Reads:  {impulse, speed, step, rate} of both, p.progress.{merit, busy}
    """
    zero = p.arena.zero()
    start = p.progress.merit.load(w, 0)
    trying = p.progress.busy.load(w, 0)
    best = zero + HUGE
    length = zero
    t = zero + 1.0
    for _k in range(HALVINGS):
        if any_lane(trying != 0.0):
            merit = zero
            for s in range(whole(p.live, w, 0)):
                x = p.rows.impulse.load(w, s) + t * p.rows.step.load(w, s)
                speed = p.rows.speed.load(w, s) + t * p.rows.rate.load(w, s)
                F, _F_x, _F_w = row_law(p, w, s, kind, x, speed)
                merit = merit + F * F
            for c in range(whole(p.live, w, 1)):
                x = p.contacts.impulse.load(w, c) + p.contacts.step.load(w, c) * t
                speed = p.contacts.speed.load(w, c) + p.contacts.rate.load(w, c) * t
                F, _F_x, _F_w = contact_law(p, w, c, kind, x, speed)
                merit = merit + F.dot(F)
            better = (merit < best) & (trying != 0.0)
            best = select(better, merit, best)
            length = select(better, t, length)
            trying = select(merit <= (1.0 - ENOUGH * t) * start, zero, trying)
            t = t * 0.5
    return length, best


@ti.func
def go(p: ti.template(), w: ti.i32, length: ti.template()):
    """Move the impulses along the step; where the length is 0 the step may be no number.

    Writes: impulse of both
    """
    moves = length > 0.0
    for s in range(whole(p.live, w, 0)):
        x = p.rows.impulse.load(w, s)
        p.rows.impulse.store(w, s, select(moves, x + length * p.rows.step.load(w, s), x))
    for c in range(whole(p.live, w, 1)):
        x = p.contacts.impulse.load(w, c)
        p.contacts.impulse.store(w, c, chosen(moves, x + p.contacts.step.load(w, c) * length, x))
