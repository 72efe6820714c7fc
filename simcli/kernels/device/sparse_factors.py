"""L D L^T of symmetric matrices: on a fixed pattern, of affine bodies in blocks, or from the first entry of each row.

The index lists of model/joints/elimination.py are shared by all worlds; the numbers are packs. There is no pivoting, so all
lanes do the same work in the same order whatever their numbers are.

A substitution goes through one list of entries, not row by row: rows have two or three, and a processor that guesses where
each of such loops ends takes longer for that than for the entry. What is found is taken from all that wait for it one after
another, so that no sum waits for itself.

Affine body b has the unknowns 12 b to 12 b + 11. A `BlockMatrix` has the pattern of all pairs of bodies that may ever share
an energy: what does not act leaves zeros. Pairs are numbered: the diagonal blocks first, then the others. The pattern of a
`SkylineMatrix` changes: its lower triangle is stored in full, row by row. What lies before the first entry of a row stays
zero in the factor and costs nothing; zeros of the lanes that begin later change no bit of what is not zero.
"""

import numpy as np

from simcli.kernels.device.arena import Arena, local
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import any_lane, get_lane
from simcli.model.joints.elimination import Elimination, eliminate


class Factor:
    """Memory and index lists of one factorisation.

    Attributes:
        value: (nnz) the matrix on entry, L above the diagonal on exit.
        inverse: (n) inverses of D.
        back, back_row, back_column: entries off the diagonal, and their pivots, as they are taken backwards: by columns.
        position: (n) pivot of each unknown.
        x: (n) right-hand side and solution, by pivot: see `put_unknown`, `get_unknown`.
    """

    _data_oriented = True

    def __init__(self, pattern: Elimination, arena: Arena):
        self.n, self.nnz = pattern.n, pattern.nnz
        unknowns, entries = arena.records(self.n), arena.records(self.nnz)
        self.position = unknowns.ints(pattern.position)
        self.start = arena.ints(pattern.start)
        self.row, self.column = entries.ints(pattern.row), entries.ints(pattern.column)
        above = np.arange(self.n, self.nnz)
        back = above[np.lexsort((pattern.row[above], pattern.column[above]))[::-1]]
        backward, lists = arena.records(len(back)), (back, pattern.row[back], pattern.column[back])
        self.back, self.back_row, self.back_column = map(backward.ints, lists)
        self.update_start, self.update = arena.ints(pattern.update_start), arena.ints(pattern.update)
        self.value, self.inverse, self.x = arena.array(self.nnz), unknowns.array(), arena.array(self.n).scratch()


def put_unknown(f, w, i, value) -> None:
    """The right-hand side of unknown i, before `substitute` (inside kernels).

    Args:
        f: a `Factor`, or what has x and position as it has.
        w: block.
        i: number of the unknown in the system; x has it at its pivot.
        value: pack, in the unit of the equation.
    """
    f.x.store(w, f.position.at(i), value)


def get_unknown(f, w, i):
    """The solution for unknown i, after `substitute`; arguments as of `put_unknown` (inside kernels)."""
    return f.x.load(w, f.position.at(i))


@ti.func
def factorize(f: ti.template(), w: ti.i32):
    """K = L D L^T.

    Reads:  f.value
    Writes: f.{value, inverse}
    """
    for k in range(f.n):
        inverse = 1.0 / f.value.load(w, k)
        f.inverse.store(w, k, inverse)
        for e in range(f.start.at(k), f.start.at(k + 1)):
            scaled = f.value.load(w, e) * inverse
            begin = f.update_start.at(e)
            for u in range(begin, f.update_start.at(e + 1)):
                target = f.update.at(u)
                f.value.store(w, target, f.value.load(w, target) - scaled * f.value.load(w, e + (u - begin)))
            f.value.store(w, e, scaled)


@ti.func
def substitute(f: ti.template(), w: ti.i32):
    """Solve K x = b in place.

    Reads:  f.{value, inverse, x}
    Writes: f.x
    """
    for e in range(f.n, f.nnz):
        k = f.column.at(e)
        f.x.store(w, k, f.x.load(w, k) - f.value.load(w, e) * f.x.load(w, f.row.at(e)))
    for k in range(f.n):
        f.x.store(w, k, f.x.load(w, k) * f.inverse.load(w, k))
    for n in range(f.nnz - f.n):
        k = f.back_row.at(n)
        f.x.store(w, k, f.x.load(w, k) - f.value.load(w, f.back.at(n)) * f.x.load(w, f.back_column.at(n)))


AFFINE_DOFS = 12  # unknowns of a body
_GROUP = 4  # rows that are reduced side by side: one row alone waits for each of its sums


def packed_index(i, j):
    """Place of entry (i, j), j <= i, in a lower triangle stored row by row."""
    return i * (i + 1) // 2 + j


class SkylineMatrix:
    """Memory of a matrix and its factor.

    Attributes:
        value: (n (n + 1) / 2) the matrix on entry, L below the diagonal on exit.  begin: (n) first column of each row.
        inverse: (n) inverses of D.  x: (n) right-hand side and solution.
        factor, nnz, position: as a `BlockMatrix` and its factor have them.
    """

    _data_oriented = True

    def __init__(self, n_bodies: int, arena: Arena):
        self.arena, self.n = arena, AFFINE_DOFS * n_bodies
        unknowns = arena.records(self.n)
        self.value, self.begin = arena.array(packed_index(self.n, 0)).scratch(), unknowns.array().of_block()
        self.inverse, self.x = unknowns.array().scratch(), unknowns.array().scratch()
        self.factor, self.nnz, self.position = self, packed_index(self.n, 0), unknowns.ints(range(self.n))

    def entry(self, i: int, j: int) -> int:
        """Place of the entry of two unknowns, on the host."""
        return packed_index(max(i, j), min(i, j))

    def partners(self, i: int) -> list[tuple[int, int]]:
        """All other unknowns that share an entry with one, each with that entry, on the host."""
        return [(j, self.entry(i, j)) for j in range(self.n) if j != i]


def _column_of(array, w, row):
    """An index that all lanes share, from an array."""
    return local(ti.cast(get_lane(array.part(w, row, 0), 0), ti.i32))


@ti.func
def factorize_skyline(m: ti.template(), w: ti.i32):
    """K = L D L^T: GROUP rows at a time, y_j = L_ij D_j first.

    Reads:  m.value
    Writes: m.{value, begin, inverse}
    """
    for g in range(m.n // _GROUP):
        i = _GROUP * g
        begin = i
        for r in range(_GROUP):
            begin = ti.min(begin, first_column(m, w, i + r, begin))
        for r in range(_GROUP):
            m.begin.store(w, i + r, m.arena.zero() + ti.cast(begin, m.arena.device.real))
        reduce_rows(m, w, i, begin)
        for r in range(_GROUP):
            for s in range(r):
                row, other = packed_index(i + r, 0), packed_index(i + s, 0)
                total = m.value.load(w, row + i + s)
                for k in range(begin, i + s):
                    total = total - m.value.load(w, row + k) * m.value.load(w, other + k)
                m.value.store(w, row + i + s, total)
            scale_row(m, w, i + r, begin)


@ti.func
def first_column(m: ti.template(), w: ti.i32, i: ti.i32, most: ti.i32):
    """First column of a row that is not zero in all lanes, or `most` if it comes first."""
    begin = 0
    going = 1
    for j in range(most):
        if going != 0:
            if any_lane(m.value.load(w, packed_index(i, j)) != 0.0):
                going = 0
            else:
                begin = j + 1
    return begin


@ti.func
def reduce_rows(m: ti.template(), w: ti.i32, i: ti.i32, begin: ti.i32):
    """Columns of GROUP rows from i on, up to column i: sums that do not wait for each other.

    Writes: m.value
    """
    r_0, r_1, r_2, r_3 = packed_index(i, 0), packed_index(i + 1, 0), packed_index(i + 2, 0), packed_index(i + 3, 0)
    for j in range(begin, i):
        other = packed_index(j, 0)
        a, b = m.value.load(w, r_0 + j), m.value.load(w, r_1 + j)
        c, d = m.value.load(w, r_2 + j), m.value.load(w, r_3 + j)
        for k in range(ti.max(begin, _column_of(m.begin, w, j)), j):
            factor = m.value.load(w, other + k)
            a = a - m.value.load(w, r_0 + k) * factor
            b = b - m.value.load(w, r_1 + k) * factor
            c = c - m.value.load(w, r_2 + k) * factor
            d = d - m.value.load(w, r_3 + k) * factor
        m.value.store(w, r_0 + j, a)
        m.value.store(w, r_1 + j, b)
        m.value.store(w, r_2 + j, c)
        m.value.store(w, r_3 + j, d)


@ti.func
def scale_row(m: ti.template(), w: ti.i32, i: ti.i32, begin: ti.i32):
    """L and the inverse of D of a row from its y.

    Writes: m.{value, inverse}
    """
    row = packed_index(i, 0)
    pivot = m.value.load(w, row + i)
    for j in range(begin, i):
        y = m.value.load(w, row + j)
        scaled = y * m.inverse.load(w, j)
        pivot = pivot - y * scaled
        m.value.store(w, row + j, scaled)
    m.inverse.store(w, i, 1.0 / pivot)


@ti.func
def substitute_skyline(m: ti.template(), w: ti.i32):
    """Solve K x = b in place.

    Reads:  m.{value, begin, inverse, x}
    Writes: m.x
    """
    for i in range(m.n):
        total = m.x.load(w, i)
        for k in range(_column_of(m.begin, w, i), i):
            total = total - m.value.load(w, packed_index(i, k)) * m.x.load(w, k)
        m.x.store(w, i, total)
    for i in range(m.n):
        m.x.store(w, i, m.x.load(w, i) * m.inverse.load(w, i))
    for r in range(m.n):
        i = m.n - 1 - r
        x = m.x.load(w, i)
        for k in range(_column_of(m.begin, w, i), i):
            m.x.store(w, k, m.x.load(w, k) - m.value.load(w, packed_index(i, k)) * x)


class BlockMatrix:
    """Memory and index lists.

    Args:
        n_bodies: number of bodies.
        pairs: bodies that may share an energy, in any order.
        arena: receives the factor.

    Attributes:
        pair_of: (i, j) with i >= j to the number of a pair, on the host.
        place: entry of the factor of row r and column s of a pair's block, at 144 pair + 12 r + s.
        factor: see `Factor`.
    """

    _data_oriented = True

    def __init__(self, n_bodies: int, pairs: set[tuple[int, int]], arena: Arena):
        apart = sorted({(max(pair), min(pair)) for pair in pairs if pair[0] != pair[1]})
        blocks = [(b, b) for b in range(n_bodies)] + apart
        self.pair_of = {pair: k for k, pair in enumerate(blocks)}
        self.n, self.n_pairs = AFFINE_DOFS * n_bodies, len(blocks)
        ends = np.array(blocks, int).reshape(-1, 2)
        i, j = (AFFINE_DOFS * ends[:, k][:, None, None] + np.arange(AFFINE_DOFS) for k in range(2))
        rows, columns = np.broadcast_arrays(np.swapaxes(i, 1, 2), j)
        self.ends = np.sort(np.stack((rows.ravel(), columns.ravel()), axis=1), axis=1)[:, ::-1]
        pattern = eliminate(self.n, self.ends, np.zeros(self.n, bool))
        self.places = pattern.place
        self.factor, self.place = Factor(pattern, arena), arena.ints(pattern.place)
        self.factor.value.scratch(), self.factor.inverse.scratch()

    def entry(self, i: int, j: int) -> int:
        """Entry of the factor of two unknowns, on the host."""
        one, other = max(i, j), min(i, j)
        pair = self.pair_of[one // AFFINE_DOFS, other // AFFINE_DOFS]
        return int(self.places[AFFINE_DOFS * AFFINE_DOFS * pair + AFFINE_DOFS * (one % AFFINE_DOFS) + other % AFFINE_DOFS])

    def partners(self, i: int) -> list[tuple[int, int]]:
        """All other unknowns that share an entry with one, each with that entry, on the host."""
        bodies = sorted({b for pair in self.pair_of if i // AFFINE_DOFS in pair for b in pair})
        return [(j, self.entry(i, j)) for b in bodies for j in range(AFFINE_DOFS * b, AFFINE_DOFS * (b + 1)) if j != i]


@ti.func
def clear_matrix(m: ti.template(), w: ti.i32):
    """Zeros everywhere.

    Writes: m.factor.value
    """
    for e in range(m.factor.nnz):
        m.factor.value.store(w, e, m.factor.value.arena.zero())


@ti.func
def add_entry(m: ti.template(), w: ti.i32, e: ti.i32, value: ti.template()):
    """Add to an entry of the factor.

    Writes: m.factor.value
    """
    m.factor.value.store(w, e, m.factor.value.load(w, e) + value)


@ti.func
def least_pivot(m: ti.template(), w: ti.i32):
    """Smallest of the inverse pivots after `factorize`: negative where the matrix is indefinite.

    Reads: m.factor.inverse
    """
    least = m.factor.value.arena.zero() + ti.math.inf
    for k in range(m.factor.n):
        least = ti.min(least, m.factor.inverse.load(w, k))
    return least


@ti.func
def factorize_blocks(m: ti.template(), w: ti.i32):
    """Factor either kind of matrix.

    Writes: m.factor
    """
    if ti.static(isinstance(m, SkylineMatrix)):
        factorize_skyline(m, w)
    else:
        factorize(m.factor, w)


@ti.func
def substitute_blocks(m: ti.template(), w: ti.i32):
    """Solve with either kind of factor in place.

    Writes: m.factor.x
    """
    if ti.static(isinstance(m, SkylineMatrix)):
        substitute_skyline(m, w)
    else:
        substitute(m.factor, w)
