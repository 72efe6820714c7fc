"""The schedule: the fast stage for all, the others for the worlds that want them, and the proximal rounds.

Every world walks by itself: what it does depends on its own numbers alone, and the lists below hold masks of the worlds that
go on (programs.py). Iterates that are no numbers are never kept, and what is found is never worse than the start.

    READY     what the rounds share
    SEARCH    the measure of the start, then attempts, which walk through the kinds of iterations (problem.py)

Source: Rockafellar (1976), proximal points. Deviation: rounds here do not change the geometry; a caller that
does gives one round to each of its own.
"""

from simcli.kernels.complementarity.admm import FIRST_RHO, ROUND, admm_iteration, begin_admm
from simcli.kernels.complementarity.condensed import renew_factors
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.measure import STARTING, measure_residual, respond
from simcli.kernels.complementarity.newton import (
    COARSE,
    HALVINGS,
    begin_halving,
    direct,
    go,
    is_trying,
    linearize,
    try_length,
)
from simcli.kernels.complementarity.preparation import prepare_problem, regularize_problem
from simcli.kernels.complementarity.problem import ADMM, BROKEN, PROXIMAL, SOLVED, UNSOLVED
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.device.stage_lists import only, repeat
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.values import Vec3

LEAST_KAPPA, RAISED_KAPPA, MOST_KAPPA = 1e-8, 1e-3, 1e-2
ALMOST = 0.99  # of the most, against rounding
TRIES = 3  # of a round at most: the first stage alone, and all stages with kappa raised once and twice
LEAST_SIGMA = 1e-12  # [m/s], of a stage that begins


def everywhere(p, condition):
    """A mask of all worlds, or of none (inside kernels)."""
    return p.arena.zero() + ti.cast(condition, p.arena.device.real) != 0.0


@ti.func
def _begin_search(p: ti.template(), w: ti.i32):
    """Nothing is found yet: no impulse, the free velocity.

    Writes: p.{velocity, trial, residual, proximal, iterations, admm_iterations, status}, p.progress, kept of all
    """
    g = p.progress
    zero = p.arena.zero()
    empty = g.rows.load(w, 0) == 0.0
    kappa = p.kappa.load(w, 0)
    g.kappa.store(w, 0, kappa)
    g.thorough.store(w, 0, select((kappa == 0.0) | (kappa > ALMOST * MOST_KAPPA), zero + 1.0, zero))
    g.open.store(w, 0, select(empty, zero, zero + 1.0))
    g.rounds_over.store(w, 0, zero)
    start = select(empty, zero, zero + STARTING)
    p.residual.store(w, 0, start)
    p.proximal.store(w, 0, start)
    p.first_residual.store(w, 0, zero)
    p.iterations.store(w, 0, zero)
    p.admm_iterations.store(w, 0, zero)
    p.status.store(w, 0, select(empty, zero + SOLVED, zero + UNSOLVED))
    for a in range(p.n):
        p.trial.store(w, a, p.velocity.load(w, a))
        p.velocity.store(w, a, p.free.load(w, a))
    for s in range(whole(p.live, w, 0)):
        p.rows.kept.store(w, s, zero)
    for side in ti.static(p.triples):
        for c in range(whole(p.live, w, 1)):
            side.kept.store(w, c, Vec3(zero, zero, zero))
    p.now.store(w, "attempt", -1)


def is_open(p, w):
    """The worlds that are not through."""
    has_more = p.now.load(w, "attempt") < TRIES * p.now.load(w, "rounds")
    return (p.progress.open.load(w, 0) != 0.0) & everywhere(p, has_more)


@ti.func
def begin_attempt(p: ti.template(), w: ti.i32):
    """Walk through the kinds of iterations once more; attempt 0 is the measure of the start.

    Writes: p.progress, p.now
    """
    g = p.progress
    zero = p.arena.zero()
    attempt = p.now.load(w, "attempt") + 1
    p.now.store(w, "attempt", attempt)
    p.now.store(w, "stage", -1)
    if attempt != 1:
        regularize_problem(p, w)
        g.proximal.store(w, 0, zero + STARTING)
        g.residual.store(w, 0, zero + STARTING)
    g.rho.store(w, 0, zero + FIRST_RHO)


@ti.func
def begin_kind(p: ti.template(), w: ti.i32):
    """Iterations of the next kind, from the best iterate.

    Writes: p.now, p.progress.{stale, fresh, busy}
    """
    g = p.progress
    k = p.now.load(w, "stage") + 1
    most = p.most.at(k)
    kind = p.kind.at(k)
    if kind == ADMM:
        most = most // ROUND
    p.now.store(w, "stage", k)
    p.now.store(w, "kind", kind)
    p.now.store(w, "iterations", most)
    g.busy.store(w, 0, p.arena.zero() + 1.0)
    if k > 0:  # what was no number is not kept
        g.stale.store(w, 0, p.arena.zero() + 1.0)
        g.fresh.store(w, 0, p.arena.zero() + 1.0)


def is_unmeasured(p, w):
    """Whether the present impulses have yet to be measured: not what the first attempt has."""
    return everywhere(p, (p.now.load(w, "attempt") != 1) | (p.now.load(w, "stage") != 0))


def is_unknown(p, w):
    """The worlds in which the velocity that the present impulses give is not known."""
    return p.known.load(w, 0) == 0.0


@ti.func
def measure(p: ti.template(), w: ti.i32):
    """Measure the present impulses; the velocity that they give is known until they move.

    Writes: as `measure_residual`; p.known
    """
    measure_residual(p, w)
    p.known.store(w, 0, p.arena.zero())


@ti.func
def begin_iterations(p: ti.template(), w: ti.i32):
    """What a kind begins with.

    Writes: p.progress.{idle, sigma, changed}
    """
    g = p.progress
    g.idle.store(w, 0, p.arena.zero())
    g.sigma.store(w, 0, COARSE * ti.max(g.proximal.load(w, 0), LEAST_SIGMA))
    g.changed.store(w, 0, p.arena.zero() + 1.0)


def by_admm(p, w):
    """Whether the present kind is ADMM."""
    return everywhere(p, p.now.load(w, "kind") == ADMM)


def by_newton(p, w):
    """Whether it is one of Newton steps."""
    return everywhere(p, p.now.load(w, "kind") != ADMM)


@ti.func
def tire(p: ti.template(), w: ti.i32):
    """Worlds that have made no progress for some time give up.

    Writes: p.progress.busy
    """
    g = p.progress
    patience = p.patience.at(p.now.load(w, "stage"))
    tired = g.idle.load(w, 0) >= ti.cast(patience, p.arena.device.real)
    g.busy.store(w, 0, select(tired, p.arena.zero(), g.busy.load(w, 0)))


def goes_on(p, w):
    """The worlds that want another iteration, and may have one."""
    return (p.progress.busy.load(w, 0) != 0.0) & everywhere(p, p.now.load(w, "iterations") > 0)


def wants_factors(p, w):
    """The worlds that want new factors: of another rho, or of slopes of now, or because the present ones are of sweeps."""
    g = p.progress
    newton = by_newton(p, w)
    stale = (g.stale.load(w, 0) != 0.0) | (p.has_admm_factors.load(w, 0) != 0.0)
    return (newton & stale) | (~newton & (g.changed.load(w, 0) != 0.0))


@ti.func
def _renew(p: ti.template(), w: ti.i32):
    """Factors of the condensed matrix.

    Reads:  rows, contacts, p.mass
    Writes: p.{matrix, pivot}, or p.large; p.has_admm_factors
    """
    kind = p.now.load(w, "kind")
    renew_factors(p, w, kind)
    p.has_admm_factors.store(w, 0, p.arena.zero() + ti.cast(kind == ADMM, p.arena.device.real))


@ti.func
def find_direction(p: ti.template(), w: ti.i32):
    """The direction of a Newton step, of which the whole is tried first."""
    direct(p, w)
    begin_halving(p, w)


@ti.func
def end_iteration(p: ti.template(), w: ti.i32):
    """One iteration less is left.

    Writes: p.now, p.progress.busy
    """
    p.now.store(w, "iterations", p.now.load(w, "iterations") - 1)
    tire(p, w)


@ti.func
def restore(p: ti.template(), w: ti.i32):
    """Go back to the best iterate, where there is one.

    Writes: impulse of all
    """
    found = p.progress.proximal.load(w, 0) < STARTING
    for s in range(whole(p.live, w, 0)):
        x = p.rows.impulse.load(w, s)
        p.rows.impulse.store(w, s, select(found, p.rows.best.load(w, s), x))
    for side in ti.static(p.triples):
        for c in range(whole(p.live, w, 1)):
            side.impulse.store(w, c, select_parts(found, side.best.load(w, c), side.impulse.load(w, c)))


def wants_kind(p, w):
    """The worlds that want the next kind of iterations: all that lack something the first, thorough ones the others."""
    g = p.progress
    following = p.now.load(w, "stage") + 1
    first = everywhere(p, following == 0)
    later = everywhere(p, following < p.n_stages) & (g.thorough.load(w, 0) != 0.0)
    return (g.proximal.load(w, 0) >= p.goal.load(w, 0)) & (first | later)


@ti.func
def _keep(p: ti.template(), w: ti.i32):
    """Keep what an attempt has found if its natural map without the proximal term is the least.

    Reads:  best of all, p.best_velocity, p.progress
    Writes: kept of all, p.{velocity, residual, proximal}
    """
    g = p.progress
    p.proximal.store(w, 0, g.proximal.load(w, 0))
    better = g.residual.load(w, 0) < p.residual.load(w, 0)
    p.residual.store(w, 0, select(better, g.residual.load(w, 0), p.residual.load(w, 0)))
    for a in range(p.n):
        p.velocity.store(w, a, select(better, p.best_velocity.load(w, a), p.velocity.load(w, a)))
    for s in range(whole(p.live, w, 0)):
        p.rows.kept.store(w, s, select(better, p.rows.best.load(w, s), p.rows.kept.load(w, s)))
    for side in ti.static(p.triples):
        for c in range(whole(p.live, w, 1)):
            side.kept.store(w, c, select_parts(better, side.best.load(w, c), side.kept.load(w, c)))


@ti.func
def end_attempt(p: ti.template(), w: ti.i32):
    """What each world does next: more compliance and all stages, the next round, or nothing.

    Writes: p.progress.{kappa, stale, fresh, thorough, rounds_over, open}, p.{centre, goal, first_residual, status}
    """
    g = p.progress
    zero = p.arena.zero()
    one = zero + 1.0
    residual = p.residual.load(w, 0)
    solved = g.proximal.load(w, 0) < p.goal.load(w, 0)
    if p.now.load(w, "attempt") == 0:
        p.first_residual.store(w, 0, residual)
        coarse = ti.min(p.share.load(w, 0) * residual, p.limits.exact)
        p.goal.store(w, 0, ti.max(p.goal.load(w, 0), coarse))
        g.open.store(w, 0, select((residual >= p.enough.load(w, 0)) & (residual < STARTING), one, zero))
    else:
        kappa = g.kappa.load(w, 0)
        firmer = (solved == 0) & (kappa > 0.0) & (kappa < ALMOST * MOST_KAPPA)
        over = firmer == 0
        turns = select(over, g.rounds_over.load(w, 0) + one, g.rounds_over.load(w, 0))
        firm = ti.min(ti.max(10.0 * kappa, RAISED_KAPPA), MOST_KAPPA)
        softer = select(kappa > 0.0, ti.max(0.1 * kappa, LEAST_KAPPA), kappa)
        g.stale.store(w, 0, select(firmer, one, g.stale.load(w, 0)))
        g.fresh.store(w, 0, select(firmer, one, g.fresh.load(w, 0)))
        g.kappa.store(w, 0, select(firmer, firm, select(over & solved, softer, kappa)))
        g.thorough.store(w, 0, select(firmer | (kappa == 0.0), one, zero))
        g.rounds_over.store(w, 0, turns)
        last = (kappa == 0.0) | (turns >= ti.cast(p.now.load(w, "rounds"), p.arena.device.real))
        ends = over & ((residual < p.limits.exact) | last)
        g.open.store(w, 0, select(ends, zero, one))
        for c in range(whole(p.live, w, 1)):
            p.centre.store(w, c, select_parts(over, p.contacts.best.load(w, c), p.centre.load(w, c)))
    state = select(solved, zero + PROXIMAL, zero + UNSOLVED)
    state = select(residual < p.limits.exact, zero + SOLVED, select(residual < STARTING, state, zero + BROKEN))
    p.status.store(w, 0, state)


@ti.func
def finish(p: ti.template(), w: ti.i32):
    """Hand the impulses over.

    Writes: impulse of all, p.known
    """
    p.known.store(w, 0, p.arena.zero() + 1.0)
    copy(p.rows.impulse, p.rows.kept, whole(p.live, w, 0), w)
    for side in ti.static(p.triples):
        copy(side.impulse, side.kept, whole(p.live, w, 1), w)


MEASURE = (only(is_unknown, respond), measure)
NEWTON_STEP = (find_direction, repeat(try_length, at_most=HALVINGS, wanted=is_trying), go)
ITERATE = (
    only(by_newton, linearize),
    only(wants_factors, _renew),
    only(by_newton, *NEWTON_STEP),
    only(by_admm, admm_iteration),
    *MEASURE,
    end_iteration,
)
WALK = (
    begin_kind,
    only(is_unmeasured, *MEASURE),
    begin_iterations,
    only(by_admm, begin_admm),
    tire,
    repeat(*ITERATE, where=goes_on, wanted=goes_on),
    restore,
)
READY = (prepare_problem,)
AT_START = (begin_attempt, *MEASURE, _keep, end_attempt)
ATTEMPT = (begin_attempt, repeat(*WALK, where=wants_kind, wanted=wants_kind), _keep, end_attempt)
SEARCH = (_begin_search, only(is_open, *AT_START), repeat(*ATTEMPT, where=is_open, wanted=is_open), finish)
