"""The schedule: the fast stage for all, the others for the worlds that want them, and the proximal rounds.

Every world walks by itself: what it does depends on its own numbers alone, and the lists below hold masks of the worlds that
go on (programs.py). Iterates that are no numbers are never kept, and what is found is never worse than the start.

    FIND      attempts, which walk through the kinds of iterations (problem.py)
    SEARCH    the measure of the start (start.py), then attempts

Source: Rockafellar (1976), proximal points. Deviation: rounds here do not change the geometry; a caller that
does gives one round to each of its own.
"""

from simcli.kernels.complementarity.admm import FIRST_RHO, ROUND, admm_iteration, begin_admm
from simcli.kernels.complementarity.condensed import renew_factors
from simcli.kernels.complementarity.islands import ITS_CONTACTS, begin_of, end_of, member
from simcli.kernels.complementarity.measure import (
    STARTING,
    finish,
    keep,
    measure_residual,
    respond,
    restore,
)
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
from simcli.kernels.complementarity.problem import ADMM, BROKEN
from simcli.kernels.complementarity.start import (
    ALMOST,
    BEGINNING,
    MOST_KAPPA,
    everywhere,
    is_open,
    is_unknown,
    regularize_problem,
    told_of_map,
)
from simcli.kernels.device.stage_lists import only, repeat
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts

LEAST_KAPPA, RAISED_KAPPA = 1e-8, 1e-3
LEAST_SIGMA = 1e-12  # [m/s], of a stage that begins


def has_changed(p, w):
    """The worlds whose impulses may have become others."""
    iterations = p.iterations.load(w, 0) + p.admm_iterations.load(w, 0)
    return (iterations > 0.0) | (p.status.load(w, 0) == BROKEN)


@ti.func
def begin_attempt(p: ti.template(), w: ti.i32):
    """Walk through the kinds of iterations once more.

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


def wants_kind(p, w):
    """The worlds that want the next kind of iterations: all that lack something the first, thorough ones the others.

    Where impulses are to settle, a search within its goal wants the first kind once.
    """
    g = p.progress
    following = p.now.load(w, "stage") + 1
    first = everywhere(p, following == 0)
    later = everywhere(p, following < p.n_stages) & (g.thorough.load(w, 0) != 0.0)
    lacks = (g.proximal.load(w, 0) >= p.goal.load(w, 0)) & (first | later)
    begins = everywhere(p, (following == 0) & (p.now.load(w, "attempt") == 1))
    return lacks | (begins & (p.settled.load(w, 0) < p.goal.load(w, 0)))


@ti.func
def end_attempt(p: ti.template(), w: ti.i32):
    """What each world does next: more compliance and all stages, the next round, or nothing.

    Writes: p.progress.{kappa, stale, fresh, thorough, rounds_over, open}, p.{centre, status}
    """
    g = p.progress
    zero = p.arena.zero()
    one = zero + 1.0
    residual = p.residual.load(w, 0)
    solved = g.proximal.load(w, 0) < p.goal.load(w, 0)
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
    last = (kappa == 0.0) | (turns >= p.rounds.load(w, 0))
    ends = over & ((residual < p.limits.exact) | last)
    g.open.store(w, 0, select(ends, zero, one))
    for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
        c = member(p, w, ITS_CONTACTS, n)
        p.centre.store(w, c, select_parts(over, p.contacts.best.load(w, c), p.centre.load(w, c)))
    p.status.store(w, 0, told_of_map(p, residual, solved))


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


ATTEMPT = (begin_attempt, repeat(*WALK, where=wants_kind, wanted=wants_kind), keep, end_attempt)
FIND = (repeat(*ATTEMPT, where=is_open, wanted=is_open), only(has_changed, finish))
SEARCH = (*BEGINNING, *FIND)
