"""The matrix of a condensed step, M + J^T G J: its blocks, and what of them has changed since the last step.

It serves Newton steps (newton.py) and ADMM iterations (admm.py), each with a G of its own.
"""

from simcli.kernels.complementarity.admm import admm_row, admm_triple, reciprocals
from simcli.kernels.complementarity.dense import (
    any_entry,
    diagonal,
    factorize,
    is_anywhere,
    scaled_columns,
    three,
    threes_of_mass,
    whole,
)
from simcli.kernels.complementarity.islands import ITS_CONTACTS, ITS_ROWS, begin_of, end_of, member
from simcli.kernels.complementarity.large_problem import factorize_large
from simcli.kernels.complementarity.measure import seen
from simcli.kernels.complementarity.problem import ADMM
from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, select_parts
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.values import Mat3, Vec3


def renew_factors(p, w, kind):
    """Factors of the condensed matrix (inside kernels).

    Reads:  rows, contacts, p.mass
    Writes: p.{matrix, pivot}, or p.large
    """
    (renew_large if p.is_large else _renew_dense)(p, w, kind)


@ti.func
def _renew_dense(p: ti.template(), w: ti.i32, kind: ti.i32):
    condense(p, w, kind)
    factorize(p, w)


def _outer(a: Vec3, b: Vec3) -> Mat3:
    """The product a b^T."""
    return Mat3(*(x * y for x in a.parts for y in b.parts))


@ti.func
def condense(p: ti.template(), w: ti.i32, kind: ti.i32):
    """M + J^T G J, of each contact the blocks that it sees alone.

    That of Newton steps is kept apart from its factors, and only what has changed of G is added: most contacts stick on, or
    stay open. A world that begins (`progress.fresh`) has M there, and G = 0.

    Reads:  rows, contacts, spins, p.mass
    Writes: p.matrix, counted of all, p.progress.fresh
    """
    zero = p.arena.zero()
    count = p.n_threes * p.n_threes
    first = ti.select(kind == ADMM, 0, count)
    fresh = p.progress.fresh.load(w, 0) != 0.0
    if kind == ADMM or any_lane(fresh):
        _expand_mass(p, w, first, fresh | (zero + ti.cast(first == 0, p.arena.device.real) != 0.0))
    for side in ti.static(p.triples):
        for c in range(whole(p.live, w, 1)):
            gain = diagonal([zero, zero, zero])
            if kind == ADMM:
                gain = diagonal(reciprocals(admm_triple(p, side, w, c)))
            else:
                gain = change_of(side, w, c, fresh)
            condense_triple(p, side, w, c, first, gain)
    for s in range(whole(p.live, w, 0)):
        if is_anywhere(p.rows, w, s):
            gain = zero
            if kind == ADMM:
                gain = 1.0 / admm_row(p, w, s)
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
    gain = side.gain.load(w, r)
    change = gain - kept_of(side.counted.load(w, r), fresh, side.gain.arena.zero())
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

    Reads:  rows, contacts, spins, p.mass
    Writes: p.large
    """
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        gain = p.rows.gain.load(w, s)
        if kind == ADMM:
            gain = 1.0 / admm_row(p, w, s)
        p.large.row_gain.store(w, s, gain)
    for side, gains in ti.static(list(zip(p.triples, p.large.gains, strict=True))):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            gain = side.gain.load(w, c)
            if kind == ADMM:
                gain = diagonal(reciprocals(admm_triple(p, side, w, c)))
            gains.store(w, c, gain)
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
def condense_triple(p: ti.template(), side: ti.template(), w: ti.i32, c: ti.i32, first: ti.i32, gain: ti.template()):
    """Add J^T G J of a contact, or of its spins, to the matrix that begins at `first`: most of the time of a step goes here.

        G = D H D,  H of 1 and -1 where G is diagonal: it is where a contact sticks, is open or has no friction; else D = 1

    The blocks of D J are the same numbers on both sides of the diagonal, so that a pack in which H is diagonal everywhere
    works them out once, and its worlds have the bits that they have beside others.
    """
    if any_entry(gain):
        length = whole(p.contacts.length, w, c)
        is_split = is_diagonal(gain)
        roots, signs = roots_of(gain, is_split), signs_of(gain)
        for e in range(length):
            p.rooted.store(w, e, scaled_columns(seen(p, side, w, c, whole(side.columns, w, c * p.n + e)), roots))
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
