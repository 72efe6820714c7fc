"""The preparation of a problem: what its rounds share, and what each of them begins with."""

from simcli.kernels.complementarity.dense import (
    any_part,
    diagonal,
    factorize_mass,
    find_columns,
    put_three,
    root_below,
    root_forward,
    silence,
    silence_triples,
    three,
    unless_finite,
    whole,
)
from simcli.kernels.complementarity.graph import put_of_island
from simcli.kernels.complementarity.islands import (
    ITS_CONTACTS,
    ITS_ROWS,
    ITS_VELOCITIES,
    begin_of,
    end_of,
    member,
    members_of_part,
)
from simcli.kernels.complementarity.large import place_of_seen
from simcli.kernels.complementarity.large_problem import diagonal_of_triple, metric_of_row, prepare_bodies
from simcli.kernels.complementarity.measure import seen, solve_masses
from simcli.kernels.device.crew import in_parts
from simcli.kernels.device.sparse_factors import packed_index
from simcli.kernels.device.stage_lists import take_all
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Mat3, Vec3


@ti.func
def prepare_problem(p: ti.template(), w: ti.i32):
    """What the rounds share: the rows that are on, where they act, the factor of M, and the metric.

    Rows that are off in some lane and not beyond the last one that is on in any are cleared, so that nobody asks again.

    Reads:  p.{mass, push}
    Writes: p.{root, free, push, live, known}, p.progress.{stale, fresh}, rows and contacts
    """
    if ti.static(p.is_large):
        take_all(READY_LARGE, p, w)
    else:
        p.known.store(w, 0, p.arena.zero())
        begin_island(p, w)
        prepare_dense(p, w)
        scale_unmoved(p, w)


@ti.func
def begin_large(p: ti.template(), w: ti.i32):
    """What `prepare_problem` of a large world begins with.

    Writes: p.{live, known}, p.progress.{stale, fresh, rows}, p.spins.{given, impulse}
    """
    p.known.store(w, 0, p.arena.zero())
    begin_island(p, w)
    for which in ti.static((ITS_ROWS, ITS_CONTACTS)):
        p.live.store(w, which, p.arena.zero() + ti.cast(most_of(p, w, which), p.arena.device.real))
    clear_spins(p, w)


@in_parts
@ti.func
def clear_large(p: ti.template(), w: ti.i32):
    """Have all rows of a large world looked at; those that are off are cleared.

    Writes: given and impulse of rows and contacts
    """
    for side, kind in ti.static(((p.rows, ITS_ROWS), (p.contacts, ITS_CONTACTS))):
        first, end = members_of_part(p, w, kind)
        for n in range(first, end):
            r = member(p, w, kind, n)
            silence(w, side.given, r, side.on.load(w, r) != 0.0)
            unless_finite(w, side.impulse, r)


@in_parts
@ti.func
def find_metric(p: ti.template(), w: ti.i32):
    """The metric of the rows and contacts of a large world.

    Reads:  p.large.inverse
    Writes: metric of all
    """
    begin, behind = members_of_part(p, w, ITS_ROWS)
    for n in range(begin, behind):
        s = member(p, w, ITS_ROWS, n)
        p.rows.metric.store(w, s, metric_of_row(p, w, s))
    first, end = members_of_part(p, w, ITS_CONTACTS)
    for side in ti.static(p.triples):
        for n in range(first, end):
            c = member(p, w, ITS_CONTACTS, n)
            side.metric.store(w, c, metric_of(p, side, diagonal_of_triple(p, side, place_of_seen(p, side), w, c)))


@ti.func
def begin_island(p: ti.template(), w: ti.i32):
    """No factor and no pattern is of the problem at hand, of a world or an island; how many of its rows are on.

    Writes: p.progress.{stale, fresh, rows}, p.large.graph
    """
    g = p.progress
    g.stale.store(w, 0, p.arena.zero() + 1.0)
    g.fresh.store(w, 0, p.arena.zero() + 1.0)
    rows = p.arena.zero()
    if ti.static(p.is_large):
        put_of_island(p.large.graph, w, p.large.graph.is_of_now, 0)
        for side, kind in ti.static(p.sides):
            for n in range(begin_of(p, w, kind), end_of(p, w, kind)):
                rows = rows + side.on.load(w, member(p, w, kind, n)) * side.bias.width
    g.rows.store(w, 0, rows)


@ti.func
def scale_unmoved(p: ti.template(), w: ti.i32):
    """Rows that see nothing but rounding have the metric of the row that moves most; what moves nothing has 1.

    Such are redundant rows of loops in a plane. By their own metric, the square of rounding, any impulse would be theirs.

    Reads:  p.rows.metric of `load_row`
    Writes: p.rows.metric
    """
    most = p.arena.zero()
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        most = ti.max(most, p.rows.metric.load(w, s))
    least = most * (p.limits.sight * p.limits.sight)
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        d = p.rows.metric.load(w, s)
        p.rows.metric.store(w, s, select(d > least, d, select(d > 0.0, most, d * 0.0 + 1.0)))


@ti.func
def prepare_dense(p: ti.template(), w: ti.i32):
    """`prepare_problem` where all is dense."""
    pad(p, w)
    factorize_mass(p, w)
    push_free(p, w)
    _find_live(p, w, p.rows, 0)
    _find_live(p, w, p.contacts, 1)
    clear_spins(p, w)
    find_columns(p, w)
    for side in ti.static(p.triples[::-1]):
        silence_triples(p, side, w)
    if whole(p.live, w, 0) + whole(p.live, w, 1) > 0:
        for s in range(whole(p.live, w, 0)):
            load_row(p, w, s)
        for side in ti.static(p.triples):
            for c in range(whole(p.live, w, 1)):
                load_triple(p, side, w, c)


@ti.func
def push_free(p: ti.template(), w: ti.i32):
    """Add what the given impulses give to the free velocities, with masses that have their factors.

    Reads:  p.root, or p.large.inverse
    Writes: p.{free, push}
    """
    solve_masses(p, w, p.push)
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
        p.free.store(w, a, p.free.load(w, a) + p.push.load(w, a))


@ti.func
def pad(p: ti.template(), w: ti.i32):
    """Velocities that nobody has given stand still, with a mass of 1.

    Writes: p.{mass, free, push}
    """
    zero = p.arena.zero()
    for i in range(p.n_given, p.n):
        for j in range(i):
            p.mass.store(w, packed_index(i, j), zero)
        p.mass.store(w, packed_index(i, i), zero + 1.0)
        p.free.store(w, i, zero)
        p.push.store(w, i, zero)


def most_of(p, w, which):
    """How many rows, or contacts, may be on (inside kernels)."""
    return whole(p.stated, w, 0) if which else number(p.rows, "count")


@ti.func
def _find_live(p: ti.template(), w: ti.i32, side: ti.template(), which: ti.template()):
    """Number of rows to look at; those that are off in some world give nothing there.

    Writes: p.live, p.progress.rows, side.{given, impulse}
    """
    last = 0
    for r in range(most_of(p, w, which)):
        on = side.on.load(w, r)
        if any_lane(on != 0.0):
            last = r + 1
            p.progress.rows.store(w, 0, p.progress.rows.load(w, 0) + on * side.jacobian.width)
    p.live.store(w, which, p.arena.zero() + ti.cast(last, p.arena.device.real))
    for r in range(last):
        on = side.on.load(w, r) != 0.0
        if any_lane(on == 0):
            silence(w, side.given, r, on)
        unless_finite(w, side.impulse, r)


@ti.func
def clear_spins(p: ti.template(), w: ti.i32):
    """Spins that are off in some world give nothing there.

    Writes: p.progress.rows, p.spins.{given, impulse}
    """
    for side in ti.static(p.triples[1:]):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            on = side.on.load(w, c) != 0.0
            rows = p.progress.rows.load(w, 0)
            p.progress.rows.store(w, 0, select(on, rows + side.bias.width, rows))
            silence(w, side.given, c, on)
            unless_finite(w, side.impulse, c)


def metric_of(p, side, diagonal: Vec3) -> Vec3:
    """The metric of a contact, or of its spins, from the diagonal of J M^-1 J^T; see `Side`."""
    n, a, b = diagonal.parts
    tangent = (a + b) * 0.5
    last = (n + a + b) * (1.0 / 3.0) if side is p.contacts else tangent
    return Vec3(*(select(x > 0.0, x, x * 0.0 + 1.0) for x in (n, tangent, last)))


@ti.func
def load_row(p: ti.template(), w: ti.i32, s: ti.i32):
    """The metric d = |L^-1 J^T|^2 of a row.

    Reads:  p.{root, root_column, root_length}, p.rows
    Writes: p.rows.metric
    """
    total = p.arena.zero()
    m = p.n_threes
    first = first_three(p, w, p.rows, s, 3)
    for i in range(first, m):
        y = three(p.rows.jacobian, w, s * m + i)
        moves = any_part(p.rows.jacobian, w, s * p.n + 3 * i, 3)
        for e in range(whole(p.root_length, w, i)):
            k = whole(p.root_column, w, i * m + e)
            if k >= first and whole(p.reached, w, k) != 0:
                y = y - p.root.load(w, packed_index(i, k)) * three(p.force, w, k)
                moves = True
        reach(p, w, i, moves)
        if moves:
            y = root_forward(p.root.load(w, packed_index(i, i)), y)
            put_three(p.force, w, i, y)
            total = total + y.dot(y)
    p.rows.metric.store(w, s, total)


@ti.func
def load_triple(p: ti.template(), side: ti.template(), w: ti.i32, c: ti.i32):
    """The metric of a contact, or of its spins; 1 where nothing moves.

    Reads:  p.{root, root_column, root_length}, side
    Writes: side.metric
    """
    zero = p.arena.zero()
    total = Vec3(zero, zero, zero)
    m = p.n_threes
    first = first_three(p, w, side, c, 1)
    next_column = 0
    for i in range(first, m):
        y = diagonal([zero, zero, zero])
        moves = False
        if next_column < whole(side.length, w, c):
            if whole(side.columns, w, c * p.n + next_column) == i:
                y = seen(p, side, w, c, i) * (zero + 1.0)
                moves = True
                next_column += 1
        for e in range(whole(p.root_length, w, i)):
            k = whole(p.root_column, w, i * m + e)
            if k >= first and whole(p.reached, w, k) != 0:
                y = y - p.root.load(w, packed_index(i, k)) * p.reach.load(w, k)
                moves = True
        reach(p, w, i, moves)
        if moves:
            y = root_below(p.root.load(w, packed_index(i, i)), y)
            p.reach.store(w, i, y)
            total = total + squares(y)
    side.metric.store(w, c, metric_of(p, side, total))


@ti.func
def first_three(p: ti.template(), w: ti.i32, side: ti.template(), r: ti.i32, per_column: ti.template()):
    """The first three velocities of which row r sees some; behind the last if it sees none.

    Args:
        per_column: velocities of one of its columns are 3 / per_column.
    """
    found = p.n_threes
    if whole(side.length, w, r) > 0:
        found = whole(side.columns, w, r * p.n) // per_column
    return found


def reach(p, w, i, moves):
    """Note whether what is solved for reaches three velocities.

    Writes: p.reached
    """
    p.reached.store(w, i, p.arena.zero() + ti.cast(moves, p.arena.device.real))


def squares(y: Mat3) -> Vec3:
    """Squares of the columns."""
    return Vec3(*(y.column(k).dot(y.column(k)) for k in range(3)))


# `prepare_problem` of a large world, of which threads take parts.
READY_LARGE = (begin_large, clear_large, prepare_bodies, find_metric, scale_unmoved)
