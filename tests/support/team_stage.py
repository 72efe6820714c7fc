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
from simcli.kernels.language.expressions import TEAM, SharedNumbers, assign_all, count_from, local, wait
from simcli.kernels.language.values import Mat3, Vec3

ROOMS = (15, 30, 45, 60)  # velocities that a team has memory for, of which kernels depend
_AT_ONCE = 30  # rows or contacts that a team looks at: one for a thread, a multiple of three
_A, _B, _ALL = 2, 3, 5  # bits of a, of b and of a thread's number


class Team:
    """Memory of a team and the place of one of its threads, while a kernel is compiled.

    Args:
        p, w: the problem and the world.
        room: one of ROOMS, at least p.n.
        thread: number of this one.
        kind: of iterations that the matrix is for.

    Attributes:
        matrix: its rows an odd number apart: memory of a team is in banks.
        seen, pulled, place: of a contact, or of three rows, what they see of three velocities, that times G, and which.
        changes: what the matrix lacks of G of some rows; of contacts, whether it lacks any.
        right, solved: sides of a system of equations, in the memory of `seen` and `pulled`.
        fresh: whether the world begins.
    """

    _data_oriented = True

    def __init__(self, p, w, room: int, thread, kind):
        assert p.n <= room, "a team has no room for so many velocities"
        real = p.arena.device.real
        self.p, self.w, self.apart = p, w, room | 1
        self.thread, self.a, self.b = local(thread), local(thread >> _B), local(thread & ((1 << _B) - 1))
        self.matrix = SharedNumbers(room * self.apart, real)
        self.seen, self.pulled = SharedNumbers(3 * room, real), SharedNumbers(3 * room, real)
        self.right, self.solved = self.seen, self.pulled
        self.place, self.changes = SharedNumbers(room // 3, ti.i32), SharedNumbers(_AT_ONCE, real)
        self.kind, self.fresh = local(kind), local(p.progress.fresh.load(w, 0) != 0.0)

    def entries(self, i, j, down: bool = False) -> list:
        """Three of the matrix from row i and column j on, to the right or down, assignable."""
        return self.matrix.places(i * self.apart + j, 3, self.apart if down else 1)

    def block(self, i, j) -> Mat3:
        """The block in row i and column j of the blocks."""
        return Mat3(*(x for k in range(3) for x in self.entries(3 * i + k, 3 * j)))

    def put_block(self, i, j, value: Mat3):
        """Replace a block."""
        for k in range(3):
            assign_all(self.entries(3 * i + k, 3 * j), value.parts[3 * k : 3 * k + 3])

    def stage(self, e, i, block: Mat3, pulled: Mat3):
        """Replace entry e of what is staged, which is of three velocities i."""
        self.place.put(e, [i])
        self.seen.put(e, block.parts)
        self.pulled.put(e, pulled.parts)

    def sides(self) -> list:
        """Contacts, spins and rows, each with the place of its number in p.live."""
        return [*((side, 1) for side in self.p.triples), (self.p.rows, 0)]


@ti.func
def condense_by_team(team: ti.template()):
    """`condensed.condense`, into shared memory.

    Reads:  rows, contacts, spins, p.mass
    Writes: team.matrix; of Newton steps p.matrix, counted of all, p.progress.fresh
    """
    _take_matrix(team)
    for side, which in ti.static(team.sides()):
        for k in range((whole(team.p.live, team.w, which) + _AT_ONCE - 1) // _AT_ONCE):
            first = _AT_ONCE * k
            count = ti.min(_AT_ONCE, whole(team.p.live, team.w, which) - first)
            _find_changes(team, side, which, first, count)
            if ti.static(which == 0):
                _add_rows(team, first, count)
            else:
                _add_triples(team, side, first, count)
    if team.kind != ADMM:
        _keep_matrix(team)


@ti.func
def _take_matrix(team: ti.template()):
    """Fill team.matrix with M, or with the matrix of the last Newton step, a block for a thread."""
    p, w, m = team.p, team.w, team.p.n_threes
    begins = team.kind == ADMM or team.fresh
    for k in range(count_from(team.thread, m * m, _ALL)):
        at = team.thread + TEAM * k
        i, j = at // m, at % m
        block = p.matrix.load(w, m * m + at)
        if begins:
            if i == j:
                block = threes_of_mass(p, w, i, None)
            elif i > j:
                block = threes_of_mass(p, w, i, j)
            else:
                block = threes_of_mass(p, w, j, i).T
        team.put_block(i, j, block)


@ti.func
def _keep_matrix(team: ti.template()):
    """Keep the matrix of a Newton step, and which G is in it, when all have read what they are to replace.

    Writes: p.matrix, counted of all, p.progress.fresh
    """
    wait()
    p, w, m = team.p, team.w, team.p.n_threes
    for k in range(count_from(team.thread, m * m, _ALL)):
        at = team.thread + TEAM * k
        p.matrix.store(w, m * m + at, team.block(at // m, at % m))
    for side, which in ti.static(team.sides()):
        for k in range(count_from(team.thread, whole(p.live, w, which), _ALL)):
            side.counted.store(w, team.thread + TEAM * k, side.gain.load(w, team.thread + TEAM * k))
    if team.thread == 0:
        p.progress.fresh.store(w, 0, p.arena.zero())


@ti.func
def _find_changes(team: ti.template(), side: ti.template(), which: ti.template(), first: ti.i32, count: ti.i32):
    """What the matrix lacks of G of some rows, one for a thread; of contacts, whether it lacks any.

    Writes: team.changes
    """
    wait()
    if team.thread < _AT_ONCE:
        change = team.p.arena.zero()
        if team.thread < count:
            if ti.static(which == 0):
                change = _row_to_add(team, first + team.thread)
            elif any_entry(_triple_to_add(team, side, first + team.thread)):
                change = team.p.arena.zero() + 1.0
        team.changes.put(team.thread, [change])
    wait()


@ti.func
def _row_to_add(team: ti.template(), s: ti.i32):
    """What the matrix lacks of G of a row."""
    p, w = team.p, team.w
    gain = p.arena.zero()
    if is_anywhere(p.rows, w, s):
        gain = p.rows.gain.load(w, s) - kept_of(p.rows.counted.load(w, s), team.fresh, p.arena.zero())
        if team.kind == ADMM:
            gain = 1.0 / admm_row(p, w, s)
    return gain


@ti.func
def _triple_to_add(team: ti.template(), side: ti.template(), c: ti.i32):
    """What the matrix lacks of G of a contact, or of its spins."""
    gain = side.gain.load(team.w, c) - kept_of(side.counted.load(team.w, c), team.fresh, team.p.arena.zero())
    if team.kind == ADMM:
        gain = diagonal(reciprocals(admm_triple(team.p, side, team.w, c)))
    return gain


@ti.func
def _add_triples(team: ti.template(), side: ti.template(), first: ti.i32, count: ti.i32):
    """Add those contacts, or their spins, of which team.matrix lacks something, as `condensed.condense_triple`."""
    p, w, e = team.p, team.w, team.thread
    for k in range(count):
        if team.changes.at(k) != 0.0:
            c = first + k
            if e < whole(side.length, w, c):
                i = whole(side.columns, w, c * p.n + e)
                gain = _triple_to_add(team, side, c)
                is_split = is_diagonal(gain)
                rooted = scaled_columns(seen(p, side, w, c, i), roots_of(gain, is_split))
                team.stage(e, i, rooted, rooted * select_parts(is_split, diagonal(signs_of(gain).parts), gain))
            wait()
            _add_staged(team, whole(side.length, w, c), _add_as_one)
            wait()


@ti.func
def _add_rows(team: ti.template(), first: ti.i32, count: ti.i32):
    """Add those rows of which team.matrix lacks something, three at once."""
    for k in range((count + 2) // 3):
        gains = Vec3(*team.changes.row(k, 3))
        if any_entry(diagonal(gains.parts)):
            _stage_rows(team, first + 3 * k, gains)
            wait()
            _add_staged(team, team.p.n_threes, _add_in_turn)
            wait()


@ti.func
def _stage_rows(team: ti.template(), first: ti.i32, gains: ti.template()):
    """Stage three rows, zero where they give nothing: what stands there means nothing."""
    p, e, zero = team.p, team.thread, team.p.arena.zero()
    if e < p.n_threes:
        block = diagonal([zero, zero, zero])
        for m in ti.static(range(3)):
            if gains.parts[m] != 0.0:
                assign_all(block.parts[m::3], three(p.rows.jacobian, team.w, (first + m) * p.n_threes + e).parts)
        team.stage(e, e, block, scaled_columns(block, gains))


@ti.func
def _add_staged(team: ti.template(), length: ti.i32, add: ti.template()):
    """Add what is staged to the matrix.

    Args:
        length: threes of velocities that are seen.
        add: `_add_as_one` or `_add_in_turn`.
    """
    for f in range(count_from(team.b, length, _B)):
        e = team.b + (f << _B)
        others = Mat3(*team.seen.row(e, 9))
        for g in range(count_from(team.a, 3 * length, _A)):
            r = team.a + (g << _A)
            i = 3 * team.place.at(r // 3) + r % 3
            add(team.entries(i, 3 * team.place.at(e)), Vec3(*team.pulled.row(r, 3)), others)


def _add_as_one(places: list, pulled: Vec3, others: Mat3):
    """Add what a contact gives to three entries."""
    assign_all(places, [place + pulled.dot(others.T.column(k)) for k, place in enumerate(places)])


def _add_in_turn(places: list, pulled: Vec3, others: Mat3):
    """Add what three rows give to three entries, one after another."""
    total = Vec3(*places)
    for m, part in enumerate(pulled.parts):
        total = total + others.column(m) * part
    assign_all(places, total.parts)


@ti.func
def factorize_by_team(team: ti.template()):
    """A = L U in place, as `dense.factorize`; blocks on the diagonal are replaced by their own factors.

    Writes: team.matrix
    """
    m = team.p.n_threes
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
    """The n columns of U right of a block on the diagonal, and n rows of L below it, three numbers for a thread."""
    for r in range(count_from(team.thread, 2 * n, _ALL)):
        at = team.thread + TEAM * r
        i, j = 3 * k + 3 + at, 3 * k + 3 + at - n
        if at < n:
            assign_all(team.entries(i, 3 * k), right_solved_row(pivot, team.entries(i, 3 * k)))
        else:
            assign_all(team.entries(3 * k, j, True), forward(pivot, Vec3(*team.entries(3 * k, j, True))).parts)


@ti.func
def _subtract_beyond(team: ti.template(), k: ti.i32, m: ti.i32):
    """Subtract L U of a column and a row of blocks from all of team.matrix beyond them, two rows at once."""
    first, top = k + 1 + team.b, 3 * k + 3 + team.a
    for f in range(count_from(first, m, _B)):
        j = first + (f << _B)
        above = team.block(k, j)
        for g in range(count_from(top, 3 * m, _A + 1)):
            r = top + (g << (_A + 1))
            beside = r + (1 << _A)
            _subtract(team, [r, ti.select(beside < 3 * m, beside, r)], j, k, above)


def _subtract(team, rows: list, j, k, above: Mat3):
    """Subtract what rows of L and a block of U give: all is loaded before anything is stored, and so at the same time."""
    places = [place for r in rows for place in team.entries(r, 3 * j)]
    left = [Vec3(*team.entries(r, 3 * k)) for r in rows]
    assign_all(places, [place - left[e // 3].dot(above.column(e % 3)) for e, place in enumerate(places)])


@ti.func
def substitute_by_team(team: ti.template(), x: ti.template()):
    """A^-1 x in place, with factors from `factorize_by_team`; a row for a thread.

    Writes: x (n), team.{right, solved}
    """
    m = team.p.n_threes
    for e in range(count_from(team.thread, 3 * m, _ALL)):
        team.right.put(team.thread + TEAM * e, [x.load(team.w, team.thread + TEAM * e)])
    wait()
    for k in range(m):
        _subtract_found(team, k, forward(team.block(k, k), Vec3(*team.right.row(k, 3))), 3 * k + 3, 3 * m)
    for e in range(count_from(team.thread, 3 * m, _ALL)):
        team.right.put(team.thread + TEAM * e, [team.solved.at(team.thread + TEAM * e)])
    wait()
    for step in range(m):
        k = m - 1 - step
        _subtract_found(team, k, backward(team.block(k, k), Vec3(*team.right.row(k, 3))), 0, 3 * k)
    for e in range(count_from(team.thread, 3 * m, _ALL)):
        x.store(team.w, team.thread + TEAM * e, team.solved.at(team.thread + TEAM * e))


@ti.func
def _subtract_found(team: ti.template(), k: ti.i32, found: ti.template(), first: ti.i32, end: ti.i32):
    """Subtract what three numbers of a solution give to some rows; the first thread keeps them.

    Writes: team.{right, solved}
    """
    for e in range(count_from(first + team.thread, end, _ALL)):
        r = first + team.thread + TEAM * e
        team.right.put(r, [team.right.at(r) - found.dot(Vec3(*team.entries(r, 3 * k)))])
    if team.thread == 0:
        team.solved.put(k, found.parts)
    wait()
