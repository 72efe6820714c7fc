"""The condensed Newton step: one matrix of the size of the velocities, however many rows there are.

    F(x, w) = 0 with slopes F_x, F_w per row;  B = F_x + F_w (C + e),  G = B^-1 F_w,  f = B^-1 F
    (M + J^T G J) dv = -J^T f,    dx = -f - G J dv

The matrix is not symmetric, and must not be made so. Its factors are those of the sweeps as well (admm.py), with another G.

Source: Alart and Curnier (1991), condensed to the velocities. Deviation: none.
"""

from simcli.kernels.algebra.elementary import select, select_parts
from simcli.kernels.algebra.values import Mat3, Vec3
from simcli.kernels.complementarity.admm import reciprocals, swept_contact, swept_row
from simcli.kernels.complementarity.cones import curnier, fischer_cone, fischer_row, natural_row
from simcli.kernels.complementarity.dense import any_entry, diagonal, is_anywhere, substitute, three, threes_of_mass, whole
from simcli.kernels.complementarity.krylov import solve_large
from simcli.kernels.complementarity.large_problem import factorize_large
from simcli.kernels.complementarity.measure import contact_speed, pull, row_speed, seen, times
from simcli.kernels.complementarity.problem import ADMM, NEWTON
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import any_lane, local

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


def inverse(m: Mat3) -> Mat3:
    """The inverse by cofactors."""
    a, b, c = m.column(0), m.column(1), m.column(2)
    x, y, z = b.cross(c), c.cross(a), a.cross(b)
    scale = local(1.0 / a.dot(x))
    return Mat3(*(part * scale for row in (x, y, z) for part in row.parts))


def scaled_columns(m: Mat3, s: Vec3) -> Mat3:
    """The product with a diagonal matrix, from the right."""
    return Mat3(*(part * s.parts[k % 3] for k, part in enumerate(m.parts)))


def _outer(a: Vec3, b: Vec3) -> Mat3:
    """The product a b^T."""
    return Mat3(*(x * y for x in a.parts for y in b.parts))


@ti.func
def linearize(p: ti.template(), w: ti.i32):
    """-J^T f, with slopes of now where a world wants them, else with those that its factors are of.

    Reads:  rows, contacts, p.progress.stale
    Writes: p.force, p.progress.merit, {step: -f, scale, gain} of both
    """
    zero = p.arena.zero()
    kind = p.now.load(w, "kind")
    anew = p.progress.stale.load(w, 0) != 0.0
    merit = zero
    for s in range(whole(p.live, w, 0)):
        if is_anywhere(p.rows, w, s):
            slack = p.rows.soft.load(w, s) + p.rows.metric.load(w, s) * p.limits.slack
            F, F_x, F_w = row_law(p, w, s, kind, p.rows.impulse.load(w, s), p.rows.speed.load(w, s))
            scale = select(anew, 1.0 / (F_x + F_w * slack), p.rows.scale.load(w, s))
            p.rows.scale.store(w, s, scale)
            p.rows.gain.store(w, s, select(anew, F_w * scale, p.rows.gain.load(w, s)))
            p.rows.step.store(w, s, -F * scale)
            merit = merit + F * F
    for c in range(whole(p.live, w, 1)):
        d = p.contacts.metric.load(w, c).parts[2]
        slack = d * p.limits.slack
        F, F_x, F_w = contact_law(p, w, c, kind, p.contacts.impulse.load(w, c), p.contacts.speed.load(w, c))
        if any_lane(anew):
            soft = p.contacts.soft.load(w, c) + Vec3(slack, slack, slack)
            scale = inverse((F_x + scaled_columns(F_w, soft)) * (1.0 / d)) * (1.0 / d)
            scale = select_parts(anew, scale, p.contacts.scale.load(w, c))
            p.contacts.scale.store(w, c, scale)
            p.contacts.gain.store(w, c, select_parts(anew, scale * F_w, p.contacts.gain.load(w, c)))
        p.contacts.step.store(w, c, -(p.contacts.scale.load(w, c) * F))
        merit = merit + F.dot(F)
    p.progress.merit.store(w, 0, merit)
    for i in range(p.n):
        p.force.store(w, i, zero)
    pull(p, w, p.rows.step, p.contacts.step, p.force)


@ti.func
def condense(p: ti.template(), w: ti.i32, kind: ti.i32):
    """M + J^T G J, of each contact the blocks that it sees alone.

    That of Newton steps is kept apart from its factors, and only what has changed of G is added: most contacts stick on, or
    stay open. A world that begins (`progress.fresh`) has M there, and G = 0.

    Reads:  rows, contacts, p.mass
    Writes: p.matrix, counted of both, p.progress.fresh
    """
    zero = p.arena.zero()
    count = p.n_threes * p.n_threes
    first = ti.select(kind == ADMM, 0, count)
    fresh = p.progress.fresh.load(w, 0) != 0.0
    if kind == ADMM or any_lane(fresh):
        _expand_mass(p, w, first, fresh | (zero + ti.cast(first == 0, p.arena.device.real) != 0.0))
    for c in range(whole(p.live, w, 1)):
        gain = diagonal([zero, zero, zero])
        if kind == ADMM:
            gain = diagonal(reciprocals(swept_contact(p, w, c)))
        else:
            gain = change_of(p.contacts, w, c, fresh)
        condense_contact(p, w, c, first, gain)
    for s in range(whole(p.live, w, 0)):
        if is_anywhere(p.rows, w, s):
            gain = zero
            if kind == ADMM:
                gain = 1.0 / swept_row(p, w, s)
            else:
                gain = change_of(p.rows, w, s, fresh)
            condense_row(p, w, s, first, gain)
    if kind != ADMM:
        p.progress.fresh.store(w, 0, zero)
        for k in range(count):
            p.matrix.store(w, k, p.matrix.load(w, count + k))


@ti.func
def change_of(side: ti.template(), w: ti.i32, r: ti.i32, fresh: ti.template()):
    """What the matrix lacks of G.

    Writes: side.counted
    """
    zero = side.gain.arena.zero()
    gain = side.gain.load(w, r)
    change = gain - kept_of(side.counted.load(w, r), fresh, zero)
    side.counted.store(w, r, gain)
    return change


def kept_of(gain, fresh, zero):
    """The gain, 0 in worlds that begin."""
    if isinstance(gain, Mat3):
        return Mat3(*(select(fresh, zero, part) for part in gain.parts))
    return select(fresh, zero, gain)


@ti.func
def _expand_mass(p: ti.template(), w: ti.i32, first: ti.i32, begins: ti.template()):
    """M in blocks of three rows and columns, on both sides of the diagonal, in some worlds.

    Args:
        first: place of the matrix.
    """
    n = p.n_threes
    for i in range(n):
        for j in range(i):
            below = threes_of_mass(p, w, i, j)
            at, across = first + i * n + j, first + j * n + i
            p.matrix.store(w, at, select_parts(begins, below, p.matrix.load(w, at)))
            p.matrix.store(w, across, select_parts(begins, below.T, p.matrix.load(w, across)))
        at = first + i * n + i
        p.matrix.store(w, at, select_parts(begins, threes_of_mass(p, w, i, None), p.matrix.load(w, at)))


@ti.func
def renew_large(p: ti.template(), w: ti.i32, kind: ti.i32):
    """G of a large world, and factors of M + J^T G J.

    Reads:  rows, contacts, p.mass
    Writes: p.large
    """
    for s in range(whole(p.live, w, 0)):
        gain = p.rows.gain.load(w, s)
        if kind == ADMM:
            gain = 1.0 / swept_row(p, w, s)
        p.large.row_gain.store(w, s, gain)
    for c in range(whole(p.live, w, 1)):
        gain = p.contacts.gain.load(w, c)
        if kind == ADMM:
            gain = diagonal(reciprocals(swept_contact(p, w, c)))
        p.large.contact_gain.store(w, c, gain)
    factorize_large(p, w)


@ti.func
def condense_row(p: ti.template(), w: ti.i32, s: ti.i32, first: ti.i32, gain: ti.template()):
    """Add G J^T J of a row to the matrix that begins at `first`."""
    if any_lane(gain != 0.0):
        m = p.n_threes
        before = -1
        for e in range(whole(p.rows.length, w, s)):
            i = whole(p.rows.columns, w, s * p.n + e) // 3
            if i != before:
                add_pulled(p, w, s, first + i * m, three(p.rows.jacobian, w, s * m + i) * gain)
            before = i


@ti.func
def add_pulled(p: ti.template(), w: ti.i32, s: ti.i32, at: ti.i32, pulled: ti.template()):
    """Add what row s gives to the blocks of the row of the matrix that begins at `at`."""
    last = -1
    for k in range(whole(p.rows.length, w, s)):
        j = whole(p.rows.columns, w, s * p.n + k) // 3
        if j != last:
            total = p.matrix.load(w, at + j) + _outer(pulled, three(p.rows.jacobian, w, s * p.n_threes + j))
            p.matrix.store(w, at + j, total)
        last = j


@ti.func
def condense_contact(p: ti.template(), w: ti.i32, c: ti.i32, first: ti.i32, gain: ti.template()):
    """Add J^T G J of a contact to the matrix that begins at `first`: most of the time of a step goes here.

        G = D H D,  H of 1 and -1 where G is diagonal: it is where a contact sticks, is open or has no friction; else D = 1

    The blocks of D J are the same numbers on both sides of the diagonal, so that a pack in which H is diagonal everywhere
    works them out once, and its worlds have the bits that they have beside others.
    """
    if any_entry(gain):
        length = whole(p.contacts.length, w, c)
        is_split = is_diagonal(gain)
        roots, signs = roots_of(gain, is_split), signs_of(gain)
        for e in range(length):
            p.rooted.store(w, e, scaled_columns(seen(p, w, c, whole(p.contacts.columns, w, c * p.n + e)), roots))
        if any_lane(is_split == 0):
            add_product(p, w, c, length, first, select_parts(is_split, diagonal(signs.parts), gain))
        else:
            add_square(p, w, c, length, first, signs)


def roots_of(m: Mat3, where) -> Vec3:
    """Roots of the sizes of the diagonal, in some worlds; 1 in the others."""
    one = local(m.parts[0] * 0.0 + 1.0)
    return Vec3(*(select(where, ti.sqrt(ti.abs(part)), one) for part in m.parts[::4]))


def signs_of(m: Mat3) -> Vec3:
    """Signs of the diagonal, 1 for zero."""
    one = local(m.parts[0] * 0.0 + 1.0)
    return Vec3(*(select(part < 0.0, one * -1.0, one) for part in m.parts[::4]))


def is_diagonal(m: Mat3):
    """Mask of the worlds in which a matrix is diagonal."""
    x, *others = (part == 0.0 for k, part in enumerate(m.parts) if k % 4)
    for other in others:
        x = x & other
    return local(x)


@ti.func
def add_product(p: ti.template(), w: ti.i32, c: ti.i32, length: ti.i32, first: ti.i32, gain: ti.template()):
    """Add R^T H R of contact c to the matrix.

    Args:
        length: threes of velocities that it sees.
        first: place of the matrix.
        gain: H.

    Reads:  p.rooted: R
    Writes: p.matrix
    """
    for e in range(length):
        i = whole(p.contacts.columns, w, c * p.n + e)
        pulled = p.rooted.load(w, e) * gain
        for k in range(length):
            at = first + i * p.n_threes + whole(p.contacts.columns, w, c * p.n + k)
            p.matrix.store(w, at, p.matrix.load(w, at) + pulled * p.rooted.load(w, k).T)


@ti.func
def add_square(p: ti.template(), w: ti.i32, c: ti.i32, length: ti.i32, first: ti.i32, signs: ti.template()):
    """As `add_product`, with a diagonal H of signs."""
    n = p.n_threes
    for e in range(length):
        i = whole(p.contacts.columns, w, c * p.n + e)
        pulled = scaled_columns(p.rooted.load(w, e), signs)
        for k in range(e):
            j = whole(p.contacts.columns, w, c * p.n + k)
            block = pulled * p.rooted.load(w, k).T
            p.matrix.store(w, first + i * n + j, p.matrix.load(w, first + i * n + j) + block)
            p.matrix.store(w, first + j * n + i, p.matrix.load(w, first + j * n + i) + block.T)
        p.matrix.store(w, first + i * n + i, p.matrix.load(w, first + i * n + i) + pulled * p.rooted.load(w, e).T)


@ti.func
def direct(p: ti.template(), w: ti.i32):
    """The direction of a Newton step: of impulses and of what rows see.

    The velocity goes along dv: M dv = J^T dx holds whatever G is. `measure_residual` finds it anew from the impulses.

    Reads:  factors, p.force, gain of both
    Writes: p.force, {step, rate} of both
    """
    if ti.static(p.is_large):
        solve_large(p, w, p.force)
    else:
        substitute(p, w, p.force)
    for s in range(whole(p.live, w, 0)):
        if is_anywhere(p.rows, w, s):
            speed = row_speed(p, w, s, p.force)
            step = p.rows.step.load(w, s) - p.rows.gain.load(w, s) * speed
            p.rows.step.store(w, s, step)
            p.rows.rate.store(w, s, speed + p.rows.soft.load(w, s) * step)
    for c in range(whole(p.live, w, 1)):
        speed = contact_speed(p, w, c, p.force)
        step = p.contacts.step.load(w, c) - p.contacts.gain.load(w, c) * speed
        p.contacts.step.store(w, c, step)
        p.contacts.rate.store(w, c, speed + times(p.contacts.soft.load(w, c), step))


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

    Reads:  {impulse, speed, step, rate} of both, p.progress.merit
    Writes: p.progress.{least, length, part, trying}
    """
    g = p.progress
    kind = p.now.load(w, "kind")
    t = g.part.load(w, 0)
    merit = p.arena.zero()
    for s in range(whole(p.live, w, 0)):
        if is_anywhere(p.rows, w, s):
            x = p.rows.impulse.load(w, s) + t * p.rows.step.load(w, s)
            speed = p.rows.speed.load(w, s) + t * p.rows.rate.load(w, s)
            F, _F_x, _F_w = row_law(p, w, s, kind, x, speed)
            merit = merit + F * F
    for c in range(whole(p.live, w, 1)):
        x = p.contacts.impulse.load(w, c) + p.contacts.step.load(w, c) * t
        speed = p.contacts.speed.load(w, c) + p.contacts.rate.load(w, c) * t
        F, _F_x, _F_w = contact_law(p, w, c, kind, x, speed)
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
    Writes: impulse of both, p.progress.{busy, sigma}, p.iterations
    """
    g = p.progress
    length = g.length.load(w, 0)
    moves = length > 0.0
    for s in range(whole(p.live, w, 0)):
        x = p.rows.impulse.load(w, s)
        p.rows.impulse.store(w, s, select(moves, x + length * p.rows.step.load(w, s), x))
    for c in range(whole(p.live, w, 1)):
        x = p.contacts.impulse.load(w, c)
        p.contacts.impulse.store(w, c, select_parts(moves, x + p.contacts.step.load(w, c) * length, x))
    p.iterations.store(w, 0, p.iterations.load(w, 0) + 1.0)
    g.busy.store(w, 0, select(moves, p.arena.zero() + 1.0, p.arena.zero()))
    sigma = g.sigma.load(w, 0)
    sharper = (g.least.load(w, 0) < sigma * sigma * g.rows.load(w, 0)) | (length < _SHORT)
    g.sigma.store(w, 0, select(sharper, ti.max(SHARPEN * sigma, SHARPEST), sigma))
