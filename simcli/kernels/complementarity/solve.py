"""The schedule: the fast stage for all, the others for the worlds that want them, and the proximal rounds.

Every world walks by itself: what it does depends on its own numbers alone, and a world that waits for the others of its
pack is masked. Iterates that are no numbers are never kept, and what is found is never worse than the start.

Source: reference/contact-solver.md, sections 0 and 4. Deviation: rounds here do not change the geometry; a caller that
does gives one round to each of its own.
"""

import taichi as ti

from simcli.kernels.complementarity.admm import FIRST_RHO, ROUND, begin_sweeps, sweep
from simcli.kernels.complementarity.cones import chosen
from simcli.kernels.complementarity.dense import factorize, whole
from simcli.kernels.complementarity.measure import STARTING, measure, respond
from simcli.kernels.complementarity.newton import COARSE, condense, descend, linearize, renew_large
from simcli.kernels.complementarity.problem import (
    ADMM,
    BROKEN,
    PROXIMAL,
    SOLVED,
    UNSOLVED,
    prepare,
    soften,
)
from simcli.kernels.elementary import select
from simcli.kernels.memory import any_lane
from simcli.kernels.procedures import procedure
from simcli.kernels.values import Vec3

LEAST_KAPPA, RAISED_KAPPA, MOST_KAPPA = 1e-8, 1e-3, 1e-2
ALMOST = 0.99  # of the most, against rounding
TRIES = 3  # of a round at most: the first stage alone, and all stages with kappa raised once and twice
LEAST_SIGMA = 1e-12  # [m/s], of a stage that begins


@ti.func
def solve(p: ti.template(), w: ti.i32, rounds: ti.i32):
    """Impulses and velocity of a problem.

    Args:
        rounds: proximal ones; each pulls to the impulses of the one before, with a tenth of its compliance.

    Reads:  what is given
    Writes: what is found
    """
    p.asked.store(w, 0, p.arena.zero() + 1.0)
    ready(p, w)
    p.goal.store(w, 0, p.arena.zero() + p.limits.tolerance)
    search(p, w, rounds, p.goal.load(w, 0))


@ti.func
def ready(p: ti.template(), w: ti.i32):
    """`prepare` what was stated anew."""
    serve(p, w, 0, 0)


@ti.func
def search(p: ti.template(), w: ti.i32, rounds: ti.i32, enough: ti.template()):
    """`solve` after `ready`; again, where only biases, bounds and friction have changed since.

    Args:
        enough: [m/s], natural map of the impulses that are given at which none others are wanted.

    Writes: what is found
    """
    p.enough.store(w, 0, enough)
    serve(p, w, 1, rounds)


@procedure
def serve(p: ti.template(), w: ti.i32, searches: ti.i32, rounds: ti.i32):
    """`ready`, or `search`."""
    if searches == 0:
        prepare(p, w)
    else:
        begin(p, w)
        if whole(p.live, w, 0) + whole(p.live, w, 1) > 0:
            for attempt in range(TRIES * rounds + 1):
                if any_lane(p.progress.open.load(w, 0) != 0.0):
                    walk(p, w, attempt)
                    keep(p, w)
                    turn(p, w, attempt, rounds)
            finish(p, w)


@ti.func
def begin(p: ti.template(), w: ti.i32):
    """Nothing is found yet in the worlds that are asked: no impulse, the free velocity.

    Writes: p.{velocity, trial, residual, proximal, iterations, sweeps, status}, p.progress, kept of both
    """
    g = p.progress
    zero = p.arena.zero()
    asked = p.asked.load(w, 0) != 0.0
    empty = g.rows.load(w, 0) == 0.0
    kappa = p.kappa.load(w, 0)
    g.kappa.store(w, 0, select(asked, kappa, g.kappa.load(w, 0)))
    g.thorough.store(w, 0, select((kappa == 0.0) | (kappa > ALMOST * MOST_KAPPA), zero + 1.0, zero))
    g.open.store(w, 0, select(empty, zero, p.asked.load(w, 0)))
    g.turn.store(w, 0, zero)
    start = select(empty, zero, zero + STARTING)
    p.residual.store(w, 0, select(asked, start, p.residual.load(w, 0)))
    p.proximal.store(w, 0, select(asked, start, p.proximal.load(w, 0)))
    p.lack.store(w, 0, select(asked, zero, p.lack.load(w, 0)))
    p.iterations.store(w, 0, zero)
    p.sweeps.store(w, 0, zero)
    p.status.store(w, 0, select(asked, select(empty, zero + SOLVED, zero + UNSOLVED), p.status.load(w, 0)))
    for a in range(p.n):
        v = p.velocity.load(w, a)
        p.trial.store(w, a, v)
        p.velocity.store(w, a, select(asked, p.free.load(w, a), v))
    for s in range(whole(p.live, w, 0)):
        p.rows.kept.store(w, s, select(asked, zero, p.rows.kept.load(w, s)))
    for c in range(whole(p.live, w, 1)):
        p.contacts.kept.store(w, c, chosen(asked, Vec3(zero, zero, zero), p.contacts.kept.load(w, c)))


@ti.func
def walk(p: ti.template(), w: ti.i32, attempt: ti.i32):
    """The stages of an attempt, each from the best iterate; the first attempt measures the start, and no more.

    Writes: best of both, p.best_velocity, p.progress
    """
    g = p.progress
    zero = p.arena.zero()
    if attempt != 1:
        soften(p, w)
        g.proximal.store(w, 0, zero + STARTING)
        g.residual.store(w, 0, zero + STARTING)
    g.rho.store(w, 0, zero + FIRST_RHO)
    for k in range(p.n_stages):
        wants = (g.open.load(w, 0) != 0.0) & (g.proximal.load(w, 0) >= p.goal.load(w, 0))
        if k > 0:
            wants = wants & (g.thorough.load(w, 0) != 0.0)
            g.stale.store(w, 0, select(wants, zero + 1.0, g.stale.load(w, 0)))
        g.busy.store(w, 0, select(wants, zero + 1.0, zero))
        most = p.most.at(k)
        if attempt == 0:
            most = 0
        if any_lane(wants) and (attempt > 0 or k == 0):
            run_stage(p, w, p.kind.at(k), most, p.patience.at(k), ti.cast(attempt == 1 and k == 0, ti.i32))
            restore(p, w)


@procedure
def run_stage(p: ti.template(), w: ti.i32, kind: ti.i32, most: ti.i32, patience: ti.i32, knows: ti.i32):
    """Iterations of a kind, until all worlds that began are solved, give up, or have had the most of them.

    Args:
        knows: 1 if the present impulses have been measured, as they are.

    Writes: best of both, p.best_velocity, p.progress
    """
    g = p.progress
    last = most
    if kind == ADMM:
        last = most // ROUND
    goes_on = 1
    for k in range(last + 1):
        if goes_on != 0:
            if k > 0 or knows == 0:
                if whole(p.known, w, 0) == 0:
                    respond(p, w)
                measure(p, w)
                p.known.store(w, 0, p.arena.zero())
            if k == 0:
                g.idle.store(w, 0, p.arena.zero())
                g.sigma.store(w, 0, COARSE * ti.max(g.proximal.load(w, 0), LEAST_SIGMA))
                g.changed.store(w, 0, p.arena.zero() + 1.0)
                if kind == ADMM:
                    begin_sweeps(p, w)
            tired = g.idle.load(w, 0) >= ti.cast(patience, p.arena.device.real)
            g.busy.store(w, 0, select(tired, p.arena.zero(), g.busy.load(w, 0)))
            if k == last or not any_lane(g.busy.load(w, 0) != 0.0):
                goes_on = 0
            else:
                improve(p, w, kind)


@procedure
def renew(p: ti.template(), w: ti.i32, kind: ti.i32):
    """Factors of the condensed matrix.

    Reads:  rows, contacts, p.mass
    Writes: p.{matrix, pivot}, or p.large
    """
    if ti.static(p.is_large):
        renew_large(p, w, kind)
    else:
        condense(p, w, kind)
        factorize(p, w)


@procedure
def improve(p: ti.template(), w: ti.i32, kind: ti.i32):
    """A round of sweeps or a Newton step, with new factors if any world of the pack wants them.

    Writes: impulse of both, p.progress
    """
    g = p.progress
    if kind == ADMM:
        if any_lane(g.changed.load(w, 0) != 0.0):
            renew(p, w, kind)
            p.swept.store(w, 0, p.arena.zero() + 1.0)
        sweep(p, w)
    else:
        linearize(p, w, kind)
        if whole(p.swept, w, 0) != 0 or any_lane((g.stale.load(w, 0) != 0.0) & (g.busy.load(w, 0) != 0.0)):
            renew(p, w, kind)
            p.swept.store(w, 0, p.arena.zero())
        descend(p, w, kind)


@ti.func
def restore(p: ti.template(), w: ti.i32):
    """Go back to the best iterate, where there is one.

    Writes: impulse of both
    """
    found = p.progress.proximal.load(w, 0) < STARTING
    for s in range(whole(p.live, w, 0)):
        x = p.rows.impulse.load(w, s)
        p.rows.impulse.store(w, s, select(found, p.rows.best.load(w, s), x))
    for c in range(whole(p.live, w, 1)):
        x = p.contacts.impulse.load(w, c)
        p.contacts.impulse.store(w, c, chosen(found, p.contacts.best.load(w, c), x))


@ti.func
def keep(p: ti.template(), w: ti.i32):
    """Keep what an attempt has found if its natural map without the proximal term is the least.

    Reads:  best of both, p.best_velocity, p.progress
    Writes: kept of both, p.{velocity, residual, proximal}
    """
    g = p.progress
    is_open = g.open.load(w, 0) != 0.0
    p.proximal.store(w, 0, select(is_open, g.proximal.load(w, 0), p.proximal.load(w, 0)))
    better = is_open & (g.residual.load(w, 0) < p.residual.load(w, 0))
    p.residual.store(w, 0, select(better, g.residual.load(w, 0), p.residual.load(w, 0)))
    for a in range(p.n):
        p.velocity.store(w, a, select(better, p.best_velocity.load(w, a), p.velocity.load(w, a)))
    for s in range(whole(p.live, w, 0)):
        p.rows.kept.store(w, s, select(better, p.rows.best.load(w, s), p.rows.kept.load(w, s)))
    for c in range(whole(p.live, w, 1)):
        p.contacts.kept.store(w, c, chosen(better, p.contacts.best.load(w, c), p.contacts.kept.load(w, c)))


@ti.func
def turn(p: ti.template(), w: ti.i32, attempt: ti.i32, rounds: ti.i32):
    """What each world does next: more compliance and all stages, the next round, or nothing.

    Writes: p.progress.{kappa, stale, thorough, turn, open}, p.{centre, lack, status}
    """
    g = p.progress
    zero = p.arena.zero()
    one = zero + 1.0
    is_open = g.open.load(w, 0) != 0.0
    residual = p.residual.load(w, 0)
    solved = g.proximal.load(w, 0) < p.goal.load(w, 0)
    if attempt == 0:
        p.lack.store(w, 0, select(is_open, residual, p.lack.load(w, 0)))
        g.open.store(w, 0, select(is_open & (residual >= p.enough.load(w, 0)) & (residual < STARTING), one, zero))
    else:
        kappa = g.kappa.load(w, 0)
        firmer = is_open & (solved == 0) & (kappa > 0.0) & (kappa < ALMOST * MOST_KAPPA)
        over = is_open & (firmer == 0)
        turns = select(over, g.turn.load(w, 0) + one, g.turn.load(w, 0))
        firm = ti.min(ti.max(10.0 * kappa, RAISED_KAPPA), MOST_KAPPA)
        softer = select(kappa > 0.0, ti.max(0.1 * kappa, LEAST_KAPPA), kappa)
        g.stale.store(w, 0, select(firmer, one, g.stale.load(w, 0)))
        g.kappa.store(w, 0, select(firmer, firm, select(over & solved, softer, kappa)))
        g.thorough.store(w, 0, select(firmer | (kappa == 0.0), one, select(over, zero, g.thorough.load(w, 0))))
        g.turn.store(w, 0, turns)
        last = (kappa == 0.0) | (turns >= ti.cast(rounds, p.arena.device.real))
        ends = over & ((residual < p.limits.exact) | last)
        g.open.store(w, 0, select(is_open & (ends == 0), one, zero))
        for c in range(whole(p.live, w, 1)):
            centre = p.centre.load(w, c)
            p.centre.store(w, c, chosen(over, p.contacts.best.load(w, c), centre))
    state = select(solved, zero + PROXIMAL, zero + UNSOLVED)
    state = select(residual < p.limits.exact, zero + SOLVED, select(residual < STARTING, state, zero + BROKEN))
    p.status.store(w, 0, select(is_open, state, p.status.load(w, 0)))


@ti.func
def finish(p: ti.template(), w: ti.i32):
    """Hand the impulses over.

    Writes: impulse of both, p.known
    """
    p.known.store(w, 0, p.arena.zero() + 1.0)
    for s in range(whole(p.live, w, 0)):
        p.rows.impulse.store(w, s, p.rows.kept.load(w, s))
    for c in range(whole(p.live, w, 1)):
        p.contacts.impulse.store(w, c, p.contacts.kept.load(w, c))
