"""The velocity that impulses give, how far both are from a solution (the natural map, in m/s), and the best ones found."""

from simcli.kernels.complementarity.cones import discs, natural_contact, natural_row
from simcli.kernels.complementarity.dense import is_anywhere, put_three, solve_mass, three, whole
from simcli.kernels.complementarity.islands import (
    ITS_CONTACTS,
    ITS_ROWS,
    ITS_VELOCITIES,
    begin_of,
    end_of,
    member,
    members_of_part,
)
from simcli.kernels.complementarity.large import pull_large, solve_blocks, speed_of_row, speed_of_triple
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Mat3, Vec3

STARTING = 1e30  # [m/s], worse than any natural map
PROGRESS = 0.9  # of the best natural map before: less is progress
SWIFT = 0.01  # of it: a step that leaves less was taken with good factors


@ti.func
def pull(p: ti.template(), w: ti.i32, what: ti.template(), out: ti.template()):
    """Add J^T times the impulses of all rows, contacts and spins to out (n).

    Args:
        what: name of their array.
    """
    if ti.static(p.is_large):
        pull_large(p, w, what, out)
    else:
        pull_dense(p, w, what, out)


@ti.func
def pull_dense(p: ti.template(), w: ti.i32, what: ti.template(), out: ti.template()):
    """`pull` where J is dense."""
    for s in range(whole(p.live, w, 0)):
        value = getattr(p.rows, what).load(w, s)
        for e in range(whole(p.rows.length, w, s)):
            a = whole(p.rows.columns, w, s * p.n + e)
            out.store(w, a, out.load(w, a) + p.rows.jacobian.load(w, s * p.n + a) * value)
    for side in ti.static(p.triples):
        for c in range(whole(p.live, w, 1)):
            value = getattr(side, what).load(w, c)
            for e in range(whole(side.length, w, c)):
                k = whole(side.columns, w, c * p.n + e)
                put_three(out, w, k, three(out, w, k) + seen(p, side, w, c, k) * value)


def seen(p, side, w, c, k) -> Mat3:
    """What contact c, or its spins, see of three velocities, a row for each."""
    return Mat3(*(part for m in range(3) for part in side.jacobian.load(w, c * number(p, "n") + 3 * k + m).parts))


@ti.func
def row_speed(p: ti.template(), w: ti.i32, s: ti.i32, v: ti.template()):
    """The speed J v of a row."""
    total = p.arena.zero()
    if ti.static(p.is_large):
        if p.rows.on.load(w, s) != 0.0:
            total = speed_of_row(p, w, s, v)
    else:
        for e in range(whole(p.rows.length, w, s)):
            a = whole(p.rows.columns, w, s * p.n + e)
            total = total + p.rows.jacobian.load(w, s * p.n + a) * v.load(w, a)
    return total


def contact_speed(p, w, c, v):
    """The speed J v of a contact."""
    return triple_speed(p, p.contacts, w, c, v)


@ti.func
def triple_speed(p: ti.template(), side: ti.template(), w: ti.i32, c: ti.i32, v: ti.template()):
    """The speed J v of a contact, or of its spins."""
    zero = p.arena.zero()
    total = Vec3(zero, zero, zero)
    if ti.static(p.is_large):
        if side.on.load(w, c) != 0.0:
            total = speed_of_triple(p, side, w, c, v)
    else:
        for e in range(whole(side.length, w, c)):
            k = whole(side.columns, w, c * p.n + e)
            total = total + seen(p, side, w, c, k).transposed_times(three(v, w, k))
    return total


def solve_masses(p, w, x):
    """M^-1 x in place (inside kernels).

    Reads:  p.root, or p.large.inverse
    Writes: x
    """
    (solve_blocks if p.is_large else solve_mass)(p, w, x)


@ti.func
def respond(p: ti.template(), w: ti.i32):
    """The velocity that the present impulses give: vf + M^-1 J^T x.

    Reads:  rows, contacts, p.free
    Writes: p.trial
    """
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
        p.trial.store(w, a, p.arena.zero())
    pull(p, w, "impulse", p.trial)
    solve_masses(p, w, p.trial)
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
        p.trial.store(w, a, p.trial.load(w, a) + p.free.load(w, a))


@ti.func
def measure_residual(p: ti.template(), w: ti.i32):
    """Natural map of the present impulses after `respond`; they are kept if they are the best of the round.

    What is no number is never the best: comparisons with it fail.

    Reads:  rows, contacts, spins, p.trial
    Writes: {speed, best} of all, p.best_velocity, p.progress.{proximal, residual, idle, stale, busy}
    """
    proximal, residual = map_of_all(p, w)
    keep_best(p, w, proximal, residual)


@ti.func
def map_of_all(p: ti.template(), w: ti.i32):
    """[m/s], natural map of the present impulses after `respond`, with the proximal term and without.

    Reads:  rows, contacts, spins, p.trial
    Writes: speed of all
    """
    # Maxima forget what is no number; 0 times it does not.
    worst, poison = _map_of_rows(p, w)
    worst_true = worst
    begin, end = members_of_part(p, w, ITS_CONTACTS)
    for n in range(begin, end):
        c = member(p, w, ITS_CONTACTS, n)
        off, off_true = residual_of_contact(p, w, c)
        worst = ti.max(worst, off)
        worst_true = ti.max(worst_true, off_true)
        poison = poison + (off + off_true) * 0.0
        _note(p, w, "off", c, off)
        _note(p, w, "true_off", c, off_true)
    for _spins in ti.static(p.triples[1:]):
        for n in range(begin, end):
            c = member(p, w, ITS_CONTACTS, n)
            off = residual_of_spins(p, w, c)
            worst = ti.max(worst, off)
            worst_true = ti.max(worst_true, off)
            poison = poison + off * 0.0
            _note(p, w, "spin_off", c, off)
    return worst + poison, worst_true + poison


@ti.func
def _map_of_rows(p: ti.template(), w: ti.i32):
    """What rows give to it."""
    zero = p.arena.zero()
    worst, poison = zero, zero
    begin, end = members_of_part(p, w, ITS_ROWS)
    for n in range(begin, end):
        s = member(p, w, ITS_ROWS, n)
        if is_anywhere(p.rows, w, s):
            x = p.rows.impulse.load(w, s)
            speed = row_speed(p, w, s, p.trial) + p.rows.shift.load(w, s) + p.rows.soft.load(w, s) * x
            p.rows.speed.store(w, s, speed)
            d = p.rows.metric.load(w, s) + p.rows.soft.load(w, s)
            value, _ = natural_row(x, speed, d, p.lower.load(w, s), p.upper.load(w, s))
            off = select(p.rows.on.load(w, s) != 0.0, ti.abs(value), zero)
            worst = ti.max(worst, off)
            poison = poison + off * 0.0
            _note(p, w, "row_off", s, off)
    return worst, poison


def _note(p, w, name, k, off):
    """Keep a natural map of a large world, whose islands ask for it (inside kernels)."""
    if p.is_large:
        getattr(p.large, name).store(w, k, off)


@ti.func
def map_of_island(p: ti.template(), w: ti.i32):
    """As `map_of_all`, of the island at hand after that of all.

    Reads: p.large.{row_off, off, true_off, spin_off}
    """
    g = p.large
    worst, worst_true, poison = p.arena.zero(), p.arena.zero(), p.arena.zero()
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        if is_anywhere(p.rows, w, s):
            worst = ti.max(worst, g.row_off.load(w, s))
            poison = poison + g.row_off.load(w, s) * 0.0
    worst_true = worst
    for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
        c = member(p, w, ITS_CONTACTS, n)
        worst = ti.max(worst, g.off.load(w, c))
        worst_true = ti.max(worst_true, g.true_off.load(w, c))
        poison = poison + (g.off.load(w, c) + g.true_off.load(w, c)) * 0.0
        for _spins in ti.static(p.triples[1:]):
            worst = ti.max(worst, g.spin_off.load(w, c))
            worst_true = ti.max(worst_true, g.spin_off.load(w, c))
            poison = poison + g.spin_off.load(w, c) * 0.0
    return worst + poison, worst_true + poison


def kappa_of(p, w, c):
    """Proximal compliance of a contact, relative to d (inside kernels)."""
    return p.large.kappa.load(w, c) if p.is_large else p.progress.kappa.load(w, 0)


@ti.func
def residual_of_contact(p: ti.template(), w: ti.i32, c: ti.i32):
    """The natural map of a contact, with the proximal term and without.

    Writes: p.contacts.speed
    """
    x = p.contacts.impulse.load(w, c)
    speed = contact_speed(p, w, c, p.trial) + p.contacts.shift.load(w, c) + times(p.contacts.soft.load(w, c), x)
    p.contacts.speed.store(w, c, speed)
    d = p.contacts.metric.load(w, c).parts[2]
    on = p.contacts.on.load(w, c) != 0.0
    mu, zero = p.friction.load(w, c), p.arena.zero()
    off = select(on, largest(natural_contact(x, speed, d, mu)), zero)
    pulled = (x - p.centre.load(w, c)) * (d * kappa_of(p, w, c))
    return off, select(on, largest(natural_contact(x, speed - pulled, d, mu)), zero)


@ti.func
def residual_of_spins(p: ti.template(), w: ti.i32, c: ti.i32):
    """The natural map of the spins of a contact.

    Writes: p.spins.speed
    """
    speed = triple_speed(p, p.spins, w, c, p.trial)
    p.spins.speed.store(w, c, speed)
    x, metric = p.spins.impulse.load(w, c), p.spins.metric.load(w, c)
    zero = p.arena.zero()
    value, _F_x, _F_w = discs(x, speed, metric, p.torsion.load(w, c), p.rolling.load(w, c), zero, p.limits.tiny)
    return select(p.spins.on.load(w, c) != 0.0, largest(value), zero)


def times(a: Vec3, b: Vec3) -> Vec3:
    """Part by part."""
    return Vec3(*(x * y for x, y in zip(a.parts, b.parts, strict=True)))


def largest(x: Vec3):
    """Largest part; no number if any part is none."""
    a, b, c = (ti.abs(part) for part in x.parts)
    return ti.max(ti.max(a, b), c) + (a + b + c) * 0.0


@ti.func
def keep_best(p: ti.template(), w: ti.i32, proximal: ti.template(), residual: ti.template()):
    """Keep the present impulses if their natural map is the least of the round.

    Writes: best of all, p.best_velocity, p.progress.{proximal, residual, idle, stale, busy}
    """
    g = p.progress
    before = g.proximal.load(w, 0)
    judged = before < STARTING
    slow = select(proximal < SWIFT * before, p.arena.zero(), p.arena.zero() + 1.0)
    g.stale.store(w, 0, select(judged, slow, g.stale.load(w, 0)))
    better = proximal < before
    g.proximal.store(w, 0, select(better, proximal, before))
    g.residual.store(w, 0, select(better, residual, g.residual.load(w, 0)))
    g.idle.store(w, 0, select(proximal < PROGRESS * before, p.arena.zero(), g.idle.load(w, 0) + 1.0))
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        p.rows.best.store(w, s, select(better, p.rows.impulse.load(w, s), p.rows.best.load(w, s)))
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            side.best.store(w, c, select_parts(better, side.impulse.load(w, c), side.best.load(w, c)))
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
        p.best_velocity.store(w, a, select(better, p.trial.load(w, a), p.best_velocity.load(w, a)))
    g.busy.store(w, 0, select(g.proximal.load(w, 0) < p.goal.load(w, 0), p.arena.zero(), g.busy.load(w, 0)))


@ti.func
def restore(p: ti.template(), w: ti.i32):
    """Go back to the best iterate, where there is one.

    Writes: impulse of all
    """
    found = p.progress.proximal.load(w, 0) < STARTING
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        x = p.rows.impulse.load(w, s)
        p.rows.impulse.store(w, s, select(found, p.rows.best.load(w, s), x))
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            side.impulse.store(w, c, select_parts(found, side.best.load(w, c), side.impulse.load(w, c)))


@ti.func
def keep(p: ti.template(), w: ti.i32):
    """Keep what an attempt has found if its natural map without the proximal term is the least.

    Reads:  best of all, p.best_velocity, p.progress
    Writes: kept of all, p.{velocity, residual, proximal}
    """
    g = p.progress
    p.proximal.store(w, 0, g.proximal.load(w, 0))
    better = g.residual.load(w, 0) < p.residual.load(w, 0)
    p.residual.store(w, 0, select(better, g.residual.load(w, 0), p.residual.load(w, 0)))
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
        p.velocity.store(w, a, select(better, p.best_velocity.load(w, a), p.velocity.load(w, a)))
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        p.rows.kept.store(w, s, select(better, p.rows.best.load(w, s), p.rows.kept.load(w, s)))
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            side.kept.store(w, c, select_parts(better, side.best.load(w, c), side.kept.load(w, c)))


@ti.func
def finish(p: ti.template(), w: ti.i32):
    """Hand the impulses over.

    Writes: impulse of all, p.known
    """
    p.known.store(w, 0, p.arena.zero() + 1.0)
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        p.rows.impulse.store(w, s, p.rows.kept.load(w, s))
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            side.impulse.store(w, c, side.kept.load(w, c))
