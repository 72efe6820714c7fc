"""How a search begins: with the impulses that are given, the velocity that these give, and whether others are wanted.

    READY          what the rounds of a search share
    BEGINNING      of a world, or of an island
    LOOK_AT_ALL    of all islands at once, before `judge_island` decides for each

Source: Rockafellar (1976), the proximal term. Deviation: none.
"""

from simcli.kernels.complementarity.islands import (
    ITS_CONTACTS,
    ITS_ROWS,
    ITS_VELOCITIES,
    begin_of,
    end_of,
    member,
    members_of_part,
)
from simcli.kernels.complementarity.measure import STARTING, kappa_of, map_of_all, map_of_island, respond
from simcli.kernels.complementarity.preparation import prepare_problem
from simcli.kernels.complementarity.problem import BROKEN, PROXIMAL, SOLVED, UNSOLVED
from simcli.kernels.device.crew import in_parts
from simcli.kernels.device.stage_lists import only
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.values import Vec3

MOST_KAPPA = 1e-2
ALMOST = 0.99  # of the most, against rounding
TRIES = 3  # of a round at most: the first stage alone, and all stages with kappa raised once and twice


def everywhere(p, condition):
    """A mask of all worlds, or of none (inside kernels)."""
    return p.arena.zero() + ti.cast(condition, p.arena.device.real) != 0.0


def is_open(p, w):
    """The worlds that are not through."""
    most = p.rounds.load(w, 0) * ti.cast(TRIES, p.arena.device.real)
    return (p.progress.open.load(w, 0) != 0.0) & (ti.cast(p.now.load(w, "attempt"), p.arena.device.real) < most)


def is_unknown(p, w):
    """The worlds in which the velocity that the present impulses give is not known."""
    return p.known.load(w, 0) == 0.0


@ti.func
def _begin_search(p: ti.template(), w: ti.i32):
    """Nothing is found yet but the free velocity.

    Writes: as `begin_numbers`, `begin_velocities`
    """
    begin_numbers(p, w)
    begin_velocities(p, w)


@ti.func
def begin_numbers(p: ti.template(), w: ti.i32):
    """What a search begins with of a world, or an island.

    Writes: p.{residual, proximal, first_residual, iterations, admm_iterations, status, known}, p.progress, p.now
    """
    g = p.progress
    zero = p.arena.zero()
    empty = g.rows.load(w, 0) == 0.0
    kappa = p.kappa.load(w, 0)
    g.kappa.store(w, 0, kappa)
    g.thorough.store(w, 0, select((kappa == 0.0) | (kappa > ALMOST * MOST_KAPPA), zero + 1.0, zero))
    g.open.store(w, 0, select(empty, zero, zero + 1.0))
    g.rounds_over.store(w, 0, zero)
    for number in ti.static((p.residual, p.proximal, p.first_residual, p.iterations, p.admm_iterations)):
        number.store(w, 0, zero)
    p.status.store(w, 0, zero + SOLVED)
    p.known.store(w, 0, select(empty, zero + 1.0, p.known.load(w, 0)))
    p.now.store(w, "attempt", 0)


@in_parts
@ti.func
def begin_velocities(p: ti.template(), w: ti.i32):
    """The velocity that the given impulses give, if it is known, and the free one.

    Writes: p.{velocity, trial}
    """
    first, end = members_of_part(p, w, ITS_VELOCITIES)
    for n in range(first, end):
        a = member(p, w, ITS_VELOCITIES, n)
        p.trial.store(w, a, p.velocity.load(w, a))
        p.velocity.store(w, a, p.free.load(w, a))


@ti.func
def regularize_problem(p: ti.template(), w: ti.i32):
    """C and b of a round: with the proximal compliance and what it pulls to.

    Reads:  rows, contacts, spins, p.progress.kappa
    Writes: {soft, shift} of all
    """
    if ti.static(p.is_large):
        spread_kappa(p, w, p.progress.kappa.load(w, 0))
    regularize_all(p, w)


@ti.func
def spread_kappa(p: ti.template(), w: ti.i32, kappa: ti.template()):
    """The proximal compliance of the contacts of the island at hand.

    Writes: p.large.kappa
    """
    first, end = members_of_part(p, w, ITS_CONTACTS)
    for n in range(first, end):
        p.large.kappa.store(w, member(p, w, ITS_CONTACTS, n), kappa)


def give_kappa(p, w):
    """Let the contacts of the island at hand have the proximal compliance that is given (inside kernels)."""
    spread_kappa(p, w, p.kappa.load(w, 0))


def give_first_kappa(p, w):
    """Let all contacts have the proximal compliance that a step begins with (inside kernels)."""
    spread_kappa(p, w, p.arena.zero() + p.limits.kappa)


def has_own_kappa(p, w):
    """The islands whose contacts have another one by now."""
    return p.kappa.load(w, 0) != p.limits.kappa


@ti.func
def regularize_all(p: ti.template(), w: ti.i32):
    """`regularize_problem` with the proximal compliance that each contact has.

    Writes: {soft, shift} of all
    """
    first, end = members_of_part(p, w, ITS_ROWS)
    for n in range(first, end):
        s = member(p, w, ITS_ROWS, n)
        p.rows.soft.store(w, s, p.rows.compliance.load(w, s))
        p.rows.shift.store(w, s, p.rows.bias.load(w, s))
    first, end = members_of_part(p, w, ITS_CONTACTS)
    for n in range(first, end):
        c = member(p, w, ITS_CONTACTS, n)
        more = kappa_of(p, w, c) * p.contacts.metric.load(w, c).parts[2]
        p.contacts.soft.store(w, c, p.contacts.compliance.load(w, c) + Vec3(more, more, more))
        p.contacts.shift.store(w, c, p.contacts.bias.load(w, c) - p.centre.load(w, c) * more)
    for side in ti.static(p.triples[1:]):
        first, end = members_of_part(p, w, ITS_CONTACTS)
        for n in range(first, end):
            c = member(p, w, ITS_CONTACTS, n)
            side.soft.store(w, c, side.compliance.load(w, c))
            side.shift.store(w, c, side.bias.load(w, c))


@ti.func
def judge_start(p: ti.template(), w: ti.i32):
    """The natural map of the impulses that are given, and whether others are wanted.

    Writes: as `measure_start`, `judge_map`; p.large.kappa
    """
    if ti.static(p.is_large):
        spread_kappa(p, w, p.progress.kappa.load(w, 0))
    proximal, residual = measure_start(p, w)
    judge_map(p, w, proximal, residual)


@in_parts
@ti.func
def measure_start(p: ti.template(), w: ti.i32):
    """The natural map of the impulses that are given, as `map_of_all`, and the velocity that they give.

    Reads:  p.trial
    Writes: {soft, shift, speed} of all, p.{best_velocity, velocity}
    """
    regularize_all(p, w)
    proximal, residual = map_of_all(p, w)
    first, end = members_of_part(p, w, ITS_VELOCITIES)
    for n in range(first, end):
        a = member(p, w, ITS_VELOCITIES, n)
        p.best_velocity.store(w, a, p.trial.load(w, a))
        p.velocity.store(w, a, p.trial.load(w, a))
    return proximal, residual


@ti.func
def judge_island(p: ti.template(), w: ti.i32):
    """As `judge_start`, for the island at hand after `measure_start` of all.

    Writes: as `judge_map`
    """
    begin_numbers(p, w)
    if p.progress.open.load(w, 0) != 0.0:
        proximal, residual = map_of_island(p, w)
        judge_map(p, w, proximal, residual)


@ti.func
def judge_map(p: ti.template(), w: ti.i32, proximal: ti.template(), residual: ti.template()):
    """Whether other impulses are wanted, by their natural map; those that are no numbers give the free velocity.

    Writes: p.{velocity, residual, proximal}, p.progress.{residual, proximal, idle}, as `open_search`
    """
    g = p.progress
    found = residual < STARTING
    if any_lane(found == 0):
        for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
            a = member(p, w, ITS_VELOCITIES, n)
            p.velocity.store(w, a, select(found, p.velocity.load(w, a), p.free.load(w, a)))
    least = select(found, residual, p.arena.zero() + STARTING)
    least_proximal = select(found, proximal, p.arena.zero() + STARTING)
    for number in ti.static((g.residual, p.residual)):
        number.store(w, 0, least)
    for number in ti.static((g.proximal, p.proximal)):
        number.store(w, 0, least_proximal)
    g.idle.store(w, 0, p.arena.zero())
    open_search(p, w, least, least_proximal)


@ti.func
def open_search(p: ti.template(), w: ti.i32, residual: ti.template(), proximal: ti.template()):
    """Whether a search is wanted, and how finely.

    Writes: p.{first_residual, goal, status, known}, p.progress.open
    """
    zero = p.arena.zero()
    p.status.store(w, 0, told_of_map(p, residual, proximal < p.goal.load(w, 0)))
    p.first_residual.store(w, 0, residual)
    coarse = ti.min(p.share.load(w, 0) * residual, p.limits.exact)
    p.goal.store(w, 0, ti.max(p.goal.load(w, 0), coarse))
    settles = (residual < p.settles.load(w, 0)) & (residual >= p.settled.load(w, 0))
    wanted = (settles | (residual >= p.enough.load(w, 0))) & (residual < STARTING)
    p.progress.open.store(w, 0, select(wanted, zero + 1.0, zero))
    p.known.store(w, 0, select(wanted, zero, zero + 1.0))


def told_of_map(p, residual, solved):
    """What is said of a natural map (inside kernels)."""
    zero = p.arena.zero()
    state = select(solved, zero + PROXIMAL, zero + UNSOLVED)
    return select(residual < p.limits.exact, zero + SOLVED, select(residual < STARTING, state, zero + BROKEN))


def may_change(p, w):
    """The worlds whose impulses will be others: a search goes on, or those given are no numbers."""
    return is_open(p, w) | (p.status.load(w, 0) == BROKEN)


@ti.func
def keep_given(p: ti.template(), w: ti.i32):
    """The impulses that are given are the best yet; those that are no numbers are none.

    Writes: {best, kept} of all
    """
    zero = p.arena.zero()
    found = p.residual.load(w, 0) < STARTING
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        x = select(found, p.rows.impulse.load(w, s), zero)
        p.rows.best.store(w, s, x)
        p.rows.kept.store(w, s, x)
    for side in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            x = select_parts(found, side.impulse.load(w, c), Vec3(zero, zero, zero))
            side.best.store(w, c, x)
            side.kept.store(w, c, x)


READY = (prepare_problem,)
AT_START = (only(is_unknown, respond), judge_start, only(may_change, keep_given))
BEGINNING = (_begin_search, only(is_open, *AT_START))
LOOK_AT_ALL = (begin_velocities, only(is_unknown, respond), measure_start)
