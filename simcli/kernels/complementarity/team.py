"""A team of 32 threads for each world of a GPU: the condensed matrix, its factors and solutions, in memory that they share.

    M + J^T G J = L U,   L with a unit diagonal, by blocks of three; those on the diagonal as `dense.split`

Thread (a, b) of 4 x 8 has every fourth row from a on, and every eighth block of columns from b on. Each entry is what
condensed.py and dense.py make of it, term by term in the same order; those of a solution are subtracted column by column.
What a thread has written others read behind a barrier, which all of a team pass: what it depends on is the same in all.

Nothing is left out because it is zero, but contacts and rows whose G has not changed.
"""

from simcli.kernels.complementarity.admm import admm_row, admm_triple, reciprocals
from simcli.kernels.complementarity.condensed import is_diagonal, kept_of, roots_of, signs_of
from simcli.kernels.complementarity.dense import (
    any_entry,
    backward,
    diagonal,
    forward,
    is_anywhere,
    right_solved_row,
    scaled_columns,
    split,
    three,
    threes_of_mass,
    whole,
)
from simcli.kernels.complementarity.measure import seen
from simcli.kernels.complementarity.problem import ADMM
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select_parts
from simcli.kernels.language.expressions import (
    TEAM,
    assign_all,
    count_from,
    item,
    local,
    put_shared,
    shared_array,
    shared_number,
    shared_row,
    wait,
)
from simcli.kernels.language.values import Mat3, Vec3

ROOMS = (15, 30, 45, 60)  # velocities that a team has memory for, of which kernels depend
_A, _B, _ALL = 2, 3, 5  # bits of a, of b and of a thread's number


class Team:
    """Memory of a team and the place of one of its threads, while a kernel is compiled.

    Args:
        p: the problem.
        room: one of ROOMS, at least p.n.
        thread: number of this one, as an expression.

    Attributes:
        matrix: its rows an odd number apart: memory of a team is in banks.
        seen, pulled, place: of a contact, or of three rows, what they see of three velocities, that times G, and which.
        right, solved: sides of a system of equations, in the same memory.
    """

    _data_oriented = True

    def __init__(self, p, room: int, thread):
        assert p.n <= room, "a team has no room for so many velocities"
        real = p.arena.device.real
        self.apart = room | 1
        self.thread, self.a, self.b = local(thread), local(thread >> _B), local(thread & ((1 << _B) - 1))
        self.matrix = shared_array(room * self.apart, real)
        self.seen, self.pulled = shared_array(3 * room, real), shared_array(3 * room, real)
        self.right, self.solved = self.seen, self.pulled
        self.place = shared_array(room // 3, ti.i32)

    def entries(self, i, j, down: bool = False) -> list:
        """Three of the matrix from row i and column j on, to the right or down, assignable."""
        first = local(i * self.apart + j)
        return [item(self.matrix, first + k * (self.apart if down else 1)) for k in range(3)]

    def block(self, i, j) -> Mat3:
        """The block in row i and column j of the blocks."""
        return Mat3(*(x for k in range(3) for x in self.entries(3 * i + k, 3 * j)))

    def put_block(self, i, j, value: Mat3):
        """Replace a block."""
        for k in range(3):
            assign_all(self.entries(3 * i + k, 3 * j), value.parts[3 * k : 3 * k + 3])


@ti.func
def condense_by_team(p: ti.template(), w: ti.i32, team: ti.template(), kind: ti.i32):
    """`condensed.condense`, into shared memory.

    Reads:  rows, contacts, spins, p.mass
    Writes: team.matrix; of Newton steps p.matrix, counted of all, p.progress.fresh
    """
    fresh = p.progress.fresh.load(w, 0) != 0.0
    _take_matrix(p, w, team, kind == ADMM or fresh)
    wait()
    for side in ti.static(p.triples):
        for c in range(whole(p.live, w, 1)):
            gain = _gain_to_add(p, side, w, c, kind, fresh)
            if any_entry(gain):
                _stage_triple(p, side, w, c, team, gain)
                wait()
                _add_staged(team, whole(side.length, w, c), _add_triple)
                wait()
    for k in range((whole(p.live, w, 0) + 2) // 3):
        gains = _gains_of_rows(p, w, 3 * k, kind, fresh)
        if any_entry(diagonal(gains.parts)):
            _stage_rows(p, w, 3 * k, team, gains)
            wait()
            _add_staged(team, p.n_threes, _add_rows)
            wait()
    if kind != ADMM:
        _keep_matrix(p, w, team)


@ti.func
def _take_matrix(p: ti.template(), w: ti.i32, team: ti.template(), begins: ti.i32):
    """M, or the matrix of the last Newton step, a block for a thread.

    Writes: team.matrix
    """
    m = p.n_threes
    for k in range(count_from(team.thread, m * m, _ALL)):
        at = team.thread + TEAM * k
        i = at // m
        j = at - i * m
        block = p.matrix.load(w, m * m + at)
        if begins != 0:
            if i == j:
                block = threes_of_mass(p, w, i, None)
            elif i > j:
                block = threes_of_mass(p, w, i, j)
            else:
                block = threes_of_mass(p, w, j, i).T
        team.put_block(i, j, block)


@ti.func
def _keep_matrix(p: ti.template(), w: ti.i32, team: ti.template()):
    """Keep the matrix of a Newton step, and which G is in it.

    Writes: p.matrix, counted of all, p.progress.fresh
    """
    m = p.n_threes
    for k in range(count_from(team.thread, m * m, _ALL)):
        at = team.thread + TEAM * k
        p.matrix.store(w, m * m + at, team.block(at // m, at % m))
    for side, which in ti.static(_live_sides(p)):
        for k in range(count_from(team.thread, whole(p.live, w, which), _ALL)):
            side.counted.store(w, team.thread + TEAM * k, side.gain.load(w, team.thread + TEAM * k))
    if team.thread == 0:
        p.progress.fresh.store(w, 0, p.arena.zero())


def _live_sides(p) -> list:
    """Rows, contacts and spins, each with the place of its number in p.live."""
    return [(p.rows, 0), *((side, 1) for side in p.triples)]


@ti.func
def _gain_to_add(p: ti.template(), side: ti.template(), w: ti.i32, c: ti.i32, kind: ti.i32, fresh: ti.template()):
    """What the matrix lacks of G of a contact, or of its spins."""
    gain = side.gain.load(w, c) - kept_of(side.counted.load(w, c), fresh, p.arena.zero())
    if kind == ADMM:
        gain = diagonal(reciprocals(admm_triple(p, side, w, c)))
    return gain


@ti.func
def _gains_of_rows(p: ti.template(), w: ti.i32, first: ti.i32, kind: ti.i32, fresh: ti.template()):
    """What the matrix lacks of G of three rows; zero of those that are off."""
    zero = p.arena.zero()
    gains = Vec3(zero, zero, zero)
    for m in ti.static(range(3)):
        s = first + m
        if s < whole(p.live, w, 0) and is_anywhere(p.rows, w, s):
            gain = p.rows.gain.load(w, s) - kept_of(p.rows.counted.load(w, s), fresh, zero)
            if kind == ADMM:
                gain = 1.0 / admm_row(p, w, s)
            gains.parts[m]._assign(gain)
    return gains


@ti.func
def _stage_triple(p: ti.template(), side: ti.template(), w: ti.i32, c: ti.i32, team: ti.template(), gain: ti.template()):
    """R and R^T H of a contact, or of its spins, as `condensed.condense_triple`; three velocities for a thread.

    Writes: team.{seen, pulled, place}
    """
    e = team.thread
    if e < whole(side.length, w, c):
        i = whole(side.columns, w, c * p.n + e)
        is_split = is_diagonal(gain)
        rooted = scaled_columns(seen(p, side, w, c, i), roots_of(gain, is_split))
        _put_staged(team, e, i, rooted, rooted * select_parts(is_split, diagonal(signs_of(gain).parts), gain))


@ti.func
def _stage_rows(p: ti.template(), w: ti.i32, first: ti.i32, team: ti.template(), gains: ti.template()):
    """J and J^T G of three rows, three velocities for a thread; zero of rows that give nothing.

    Writes: team.{seen, pulled, place}
    """
    e = team.thread
    if e < p.n_threes:
        zero = p.arena.zero()
        block = diagonal([zero, zero, zero])
        for m in ti.static(range(3)):
            if gains.parts[m] != 0.0:
                assign_all(block.parts[m::3], three(p.rows.jacobian, w, (first + m) * p.n_threes + e).parts)
        _put_staged(team, e, e, block, scaled_columns(block, gains))


def _put_staged(team, e, i, block: Mat3, pulled: Mat3):
    """Replace entry e of what is staged."""
    put_shared(team.place, e, [i])
    put_shared(team.seen, e, block.parts)
    put_shared(team.pulled, e, pulled.parts)


@ti.func
def _add_staged(team: ti.template(), length: ti.i32, add: ti.template()):
    """Add what is staged to the matrix.

    Args:
        length: threes of velocities that are seen.
        add: `_add_triple` or `_add_rows`.
    """
    for f in range(count_from(team.b, length, _B)):
        e = team.b + (f << _B)
        others = Mat3(*shared_row(team.seen, e, 9))
        for g in range(count_from(team.a, 3 * length, _A)):
            r = team.a + (g << _A)
            i = 3 * shared_number(team.place, r // 3) + r % 3
            add(team.entries(i, 3 * shared_number(team.place, e)), Vec3(*shared_row(team.pulled, r, 3)), others)


def _add_triple(places: list, pulled: Vec3, others: Mat3):
    """Add what a contact gives to three entries."""
    assign_all(places, [place + pulled.dot(others.T.column(k)) for k, place in enumerate(places)])


def _add_rows(places: list, pulled: Vec3, others: Mat3):
    """Add what three rows give to three entries, one after another."""
    total = Vec3(*places)
    for m, part in enumerate(pulled.parts):
        total = total + others.column(m) * part
    assign_all(places, total.parts)


@ti.func
def factorize_by_team(p: ti.template(), team: ti.template()):
    """A = L U in place, as `dense.factorize`; blocks on the diagonal are replaced by their own factors.

    Writes: team.matrix
    """
    m = p.n_threes
    wait()
    for k in range(m):
        pivot = split(team.block(k, k))
        _scale_beyond(team, k, 3 * (m - k - 1), pivot)
        wait()
        if team.thread == 0:
            team.put_block(k, k, pivot)
        _subtract_beyond(team, k, m)
        wait()


@ti.func
def _scale_beyond(team: ti.template(), k: ti.i32, n: ti.i32, pivot: ti.template()):
    """Rows of U right of a block on the diagonal, and columns of L below it, three numbers for a thread.

    Args:
        n: how many there are of each.
    """
    for r in range(count_from(team.thread, 2 * n, _ALL)):
        at = team.thread + TEAM * r
        i, j = 3 * k + 3 + at, 3 * k + 3 + at - n
        if at < n:
            assign_all(team.entries(i, 3 * k), right_solved_row(pivot, team.entries(i, 3 * k)))
        else:
            assign_all(team.entries(3 * k, j, True), forward(pivot, Vec3(*team.entries(3 * k, j, True))).parts)


@ti.func
def _subtract_beyond(team: ti.template(), k: ti.i32, m: ti.i32):
    """Subtract L U of a column and a row of blocks from all beyond them.

    Writes: team.matrix
    """
    first = k + 1 + team.b
    for f in range(count_from(first, m, _B)):
        j = first + (f << _B)
        above = team.block(k, j)
        top = 3 * k + 3 + team.a
        for g in range(count_from(top, 3 * m, _A)):
            r = top + (g << _A)
            _subtract(team.entries(r, 3 * j), Vec3(*team.entries(r, 3 * k)), above)


def _subtract(places: list, left: Vec3, above: Mat3):
    """Subtract what a row of L and a block of U give to three entries."""
    assign_all(places, [place - left.dot(above.column(e)) for e, place in enumerate(places)])


@ti.func
def substitute_by_team(p: ti.template(), w: ti.i32, team: ti.template(), x: ti.template()):
    """A^-1 x in place, with factors from `factorize_by_team`; a row for a thread.

    Writes: x (n)
    """
    m = p.n_threes
    for e in range(count_from(team.thread, p.n, _ALL)):
        r = team.thread + TEAM * e
        put_shared(team.right, r, [x.load(w, r)])
    wait()
    for k in range(m):
        found = forward(team.block(k, k), Vec3(*shared_row(team.right, k, 3)))
        _subtract_found(p, team, k, found, 3 * k + 3, 3 * m)
        wait()
    for e in range(count_from(team.thread, p.n, _ALL)):
        r = team.thread + TEAM * e
        put_shared(team.right, r, [shared_number(team.solved, r)])
    wait()
    for step in range(m):
        k = m - 1 - step
        found = backward(team.block(k, k), Vec3(*shared_row(team.right, k, 3)))
        _subtract_found(p, team, k, found, 0, 3 * k)
        wait()
    for e in range(count_from(team.thread, p.n, _ALL)):
        r = team.thread + TEAM * e
        x.store(w, r, shared_number(team.solved, r))


@ti.func
def _subtract_found(p: ti.template(), team: ti.template(), k: ti.i32, found: ti.template(), first: ti.i32, end: ti.i32):
    """Subtract what three numbers of a solution give to some rows; the first thread keeps them.

    Writes: team.{right, solved}
    """
    for e in range(count_from(team.thread, end - first, _ALL)):
        r = first + team.thread + TEAM * e
        put_shared(team.right, r, [shared_number(team.right, r) - found.dot(Vec3(*team.entries(r, 3 * k)))])
    if team.thread == 0:
        put_shared(team.solved, k, found.parts)
