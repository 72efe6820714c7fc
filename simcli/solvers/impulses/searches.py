"""What searches begin with and leave, of worlds and of their islands, which take turns.

A search of an evaluation states the rows; those of corrections begin with what the one before has found. Islands are looked
at one after another, and those whose impulses will change stand in a queue.

Source: Jean (1999) for the step. Deviation: an island has a tolerance and a proximal compliance of its own.
"""

from simcli.kernels.complementarity.islands import ITS_BODIES, begin_of, end_of, member, take_all_islands
from simcli.kernels.device.crew import begin_claims, claim_next
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.numbers import number
from simcli.solvers.base import needs
from simcli.solvers.impulses.law_rows import BOUNDLESS, wake_bounds
from simcli.solvers.impulses.memory import CALM, FAST, FINER, FURTHER_ROUNDS, SETTLED, SETTLES, TOO_MUCH, find_finest


@ti.func
def begin_islands(p: ti.template(), w: ti.i32):
    """Begin before the first island.

    Writes: p.large.islands.{hand, kept, n_queued}
    """
    g = p.large.islands
    g.hand.store(w, g.island, -1)
    g.notes.store(w, g.n_queued, 0)
    begin_claims(p.arena, g.hand, w, g.turn)
    for k in ti.static(range(len(g.worst))):
        g.kept.store(w, k, p.arena.zero())


@ti.func
def next_island(p: ti.template(), w: ti.i32):
    """Have the next island at hand, with its numbers.

    Writes: p.large.islands.{island, span}, what is carried
    """
    take_island(p, w, p.large.islands.hand.load(w, p.large.islands.island) + 1)


@ti.func
def take_island(p: ti.template(), w: ti.i32, island: ti.i32):
    """Have an island at hand, with its numbers.

    Writes: as `next_island`
    """
    g = p.large.islands
    g.hand.store(w, g.island, island)
    for kind in ti.static(range(4)):
        for k in ti.static(range(2)):
            g.hand.store(w, g.span + 2 * kind + k, g.first[kind].load(w, island + k))
    for k, array in ti.static(list(enumerate(g.carried))):
        array.store(w, 0, g.kept.load(w, g.place_of(island, k)))


@ti.func
def leave_island(p: ti.template(), w: ti.i32):
    """Keep the numbers of an island; behind the last one worlds have theirs.

    Writes: p.large.islands.{kept, span}, p of what is the largest
    """
    g = p.large.islands
    island = g.hand.load(w, g.island)
    for k, array in ti.static(list(enumerate(g.carried))):
        g.kept.store(w, g.place_of(island, k), array.load(w, 0))
    for k, array in ti.static(list(enumerate(g.worst))):
        g.kept.store(w, k, ti.max(g.kept.load(w, k), array.load(w, 0)))
    if island + 1 == g.notes.load(w, g.count):
        take_all_islands(p, w)
        for k, array in ti.static(list(enumerate(g.worst))):
            array.store(w, 0, g.kept.load(w, k))


@ti.func
def queue_island(p: ti.template(), w: ti.i32):
    """Note that impulses of the island at hand will change.

    Writes: p.large.islands.{queue, n_queued}
    """
    g = p.large.islands
    n = g.notes.load(w, g.n_queued)
    g.notes.store(w, g.queue + n, g.hand.load(w, g.island))
    g.notes.store(w, g.n_queued, n + 1)


@ti.func
def next_queued(p: ti.template(), w: ti.i32):
    """Have the island of the queue at hand that `is_queue_left` has claimed.

    Writes: as `next_island`; p.now
    """
    g = p.large.islands
    p.now.store(w, "attempt", 0)
    take_island(p, w, g.notes.load(w, g.queue + g.hand.load(w, g.turn)))


@ti.func
def leave_queued(p: ti.template(), w: ti.i32):
    """Keep the numbers of an island of the queue.

    Writes: p.large.islands.kept
    """
    g = p.large.islands
    for k, array in ti.static(list(enumerate(g.carried))):
        g.kept.store(w, g.place_of(g.hand.load(w, g.island), k), array.load(w, 0))


@ti.func
def is_queue_left(p: ti.template(), w: ti.i32):
    """Claim the next island of the queue: whether there is one.

    Writes: p.large.islands.hand
    """
    g = p.large.islands
    claim_next(p.arena, g.hand, w, g.turn)
    is_left = ti.cast(g.hand.load(w, g.turn) < g.notes.load(w, g.n_queued), p.arena.device.real)
    return p.arena.zero() + is_left != 0.0


def begin_searches(c, w):
    """No island has searched yet, and none of an evaluation has stated its rows (inside kernels)."""
    c.now.store(w, "search", 0)
    c.now.store(w, "statement", 0)
    c.bound.impulses.awakened.store(w, 0, c.tables.arena.zero() + 1.0)


@ti.func
def begin_solving(c: ti.template(), w: ti.i32):
    """What a search of an evaluation begins with.

    Reads:  c.state.qd, c.bound.impulses.{missed, hard, unsettled}
    Writes: c.now, p.{goal, enough, settles, settled, kappa},
            c.bound.impulses.{finest, missed, first, earlier_residual, iterations, awakened}
    """
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    finest = find_finest(c, w)
    m.finest.store(w, 0, finest)
    p.share.store(w, 0, zero)
    missed, hard, unsettled = zero, zero, zero
    for n in range(begin_of(p, w, ITS_BODIES), end_of(p, w, ITS_BODIES, 1)):
        b = member(p, w, ITS_BODIES, n)
        missed, hard = ti.max(missed, m.missed.load(w, b)), ti.max(hard, m.hard.load(w, b))
        unsettled = ti.max(unsettled, m.unsettled.load(w, b))
        m.missed.store(w, b, zero)
    p.goal.store(w, 0, ti.max(finest, missed * FINER))
    is_calm = (missed * m.can_settle > 0.0) & (missed * FINER <= finest)
    p.settles.store(w, 0, select(is_calm, unsettled * SETTLES, zero))
    p.settled.store(w, 0, select(is_calm, finest * SETTLED, zero + BOUNDLESS))
    p.enough.store(w, 0, select(is_calm, finest * CALM, finest))
    p.rounds.store(w, 0, zero + m.rounds + hard * FURTHER_ROUNDS)
    m.lingers.store(w, 0, zero)
    m.first.store(w, 0, zero + 1.0)
    m.earlier_residual.store(w, 0, zero + BOUNDLESS)
    p.kappa.store(w, 0, select(is_calm, zero + p.limits.calm_kappa, zero + p.limits.kappa))
    m.iterations.store(w, 0, zero)
    m.awakened.store(w, 0, zero + 1.0)
    m.searching.store(w, 0, zero + 1.0)
    c.now.store(w, "search", 0)
    c.now.store(w, "statement", 0)
    c.now.store(w, "searches", m.searches)
    if c.now.load(w, "instant") != 0:
        p.rounds.store(w, 0, zero + ti.cast(m.passes, c.tables.arena.device.real))
        _search_often(c, w)


@needs.rolling
def _search_often(c, w):
    c.now.store(w, "searches", number(c.bound.impulses, "passes"))


@ti.func
def begin_correcting(c: ti.template(), w: ti.i32):
    """What a search of a correction begins with: the proximal compliance stays, and the factors with it, while that is fast.

    Reads:  p.{first_residual, progress.kappa}
    Writes: c.now, p.{goal, enough, settles, settled, kappa}, c.bound.impulses.{earlier_residual, awakened}
    """
    m = c.bound.impulses
    p = m.problem
    zero = c.tables.arena.zero()
    p.goal.store(w, 0, m.finest.load(w, 0))
    p.share.store(w, 0, zero + FINER)
    p.settles.store(w, 0, zero)
    p.settled.store(w, 0, zero + BOUNDLESS)
    p.enough.store(w, 0, ti.max(m.finest.load(w, 0), m.enough))
    residual = p.first_residual.load(w, 0)
    before, after = p.kappa.load(w, 0), p.progress.kappa.load(w, 0)
    is_fast = (after < before) & (residual < FAST * m.earlier_residual.load(w, 0))
    p.kappa.store(w, 0, select(is_fast, before, after))
    m.earlier_residual.store(w, 0, residual)
    m.awakened.store(w, 0, zero)
    _wake_all(c, w)
    m.searching.store(w, 0, zero + 1.0)
    c.now.store(w, "search", 0)
    c.now.store(w, "statement", 1)
    c.now.store(w, "searches", m.searches)


@needs.turns
def _wake_all(c, w):
    c.bound.impulses.awakened.store(w, 0, c.tables.arena.zero() + 1.0)


def is_awake(c, w):
    """The worlds whose rows are to be stated."""
    return c.bound.impulses.awakened.load(w, 0) != 0.0


def is_first_search(c, w):
    """Whether no search was made yet."""
    return c.tables.arena.zero() + ti.cast(c.now.load(w, "search") == 0, c.tables.arena.device.real) != 0.0


@ti.func
def count_iterations(c: ti.template(), w: ti.i32):
    """Add the Newton steps of a search to those of the step.

    Writes: c.bound.impulses.iterations
    """
    m = c.bound.impulses
    m.iterations.store(w, 0, m.iterations.load(w, 0) + m.problem.iterations.load(w, 0))


@ti.func
def note_search(c: ti.template(), w: ti.i32):
    """A search is over, its rows are stated, and others follow because bounds woke, or for those of spins and of balls.

    Writes: c.bound.impulses.{awakened, searching}
    """
    m = c.bound.impulses
    m.awakened.store(w, 0, c.tables.arena.zero())
    _note_start(c, w)
    _wake_bounds(c, w)
    m.searching.store(w, 0, select(_wants_search(c, w), c.tables.arena.zero() + 1.0, c.tables.arena.zero()))


@ti.func
def _note_start(c: ti.template(), w: ti.i32):
    """Note by how much the impulses of the step before were off, if others are found: then those of now may be, too.

    Writes: c.bound.impulses.unsettled
    """
    m = c.bound.impulses
    p = m.problem
    if c.now.load(w, "search") == 0 and c.now.load(w, "statement") == 0:
        zero = c.tables.arena.zero()
        changes = m.iterations.load(w, 0) > 0.0
        unsettled = select(changes, p.first_residual.load(w, 0), zero)
        for n in range(begin_of(p, w, ITS_BODIES), end_of(p, w, ITS_BODIES, 1)):
            m.unsettled.store(w, member(p, w, ITS_BODIES, n), unsettled)


@needs.laws
@ti.func
def _wake_bounds(c: ti.template(), w: ti.i32):
    """After the first search of an evaluation, wake the worlds in which a bound was passed that was thought to be far."""
    if c.now.load(w, "search") == 0 and c.now.load(w, "statement") == 0:
        wake_bounds(c, w, c.g.load(w, 0))


def _wants_search(c, w):
    m = c.bound.impulses
    found = m.awakened.load(w, 0) != 0.0
    if not m.has_spins and not c.bound.system.laws.has_shared_limit:
        return found
    more = ti.cast(c.now.load(w, "search") + 1 < c.now.load(w, "searches"), c.tables.arena.device.real)
    wants = 1.0 if c.bound.system.laws.has_shared_limit else m.spins.load(w, 0)
    return found | (wants * more != c.tables.arena.zero())


@ti.func
def end_searches(c: ti.template(), w: ti.i32):
    """All have searched once more.

    Writes: c.now
    """
    c.now.store(w, "search", c.now.load(w, "search") + 1)
    c.now.store(w, "statement", 1)


def is_searching(c, w):
    """The worlds, or islands, that search again."""
    return c.bound.impulses.searching.load(w, 0) != 0.0


def has_found(c, w):
    """The others."""
    return c.bound.impulses.searching.load(w, 0) == 0.0


@ti.func
def note_residual(c: ti.template(), w: ti.i32):
    """Note what the last search began with, and whether that is too much.

    Reads:  p.{first_residual, enough, residual}
    Writes: c.bound.impulses.{unmet, residual}
    """
    m = c.bound.impulses
    zero = c.tables.arena.zero()
    residual = m.problem.first_residual.load(w, 0)
    too_much = residual >= m.problem.enough.load(w, 0)
    m.unmet.store(w, 0, select(too_much, zero + 1.0, zero))
    m.residual.store(w, 0, select(too_much, m.problem.residual.load(w, 0), residual))


@ti.func
def note_missed(c: ti.template(), w: ti.i32):
    """Note what the first solution of a step lacks at the poses reached, and whether the next step may take more rounds.

    Reads:  p.{first_residual, residual, rounds}
    Writes: c.bound.impulses.{missed, first, hard, lingers}
    """
    m, p = c.bound.impulses, c.bound.impulses.problem
    one = c.tables.arena.zero() + 1.0
    takes_more = p.rounds.load(w, 0) > m.rounds
    lingers = select(takes_more & (p.progress.rounds_over.load(w, 0) > m.rounds), one, m.lingers.load(w, 0))
    m.lingers.store(w, 0, lingers)
    hard = select(p.residual.load(w, 0) >= p.limits.exact * TOO_MUCH, one, lingers)
    for n in range(begin_of(p, w, ITS_BODIES), end_of(p, w, ITS_BODIES, 1)):
        b = member(p, w, ITS_BODIES, n)
        m.missed.store(w, b, select(m.first.load(w, 0) != 0.0, p.first_residual.load(w, 0), m.missed.load(w, b)))
        m.hard.store(w, b, hard)
    m.first.store(w, 0, c.tables.arena.zero())
