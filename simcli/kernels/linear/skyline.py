"""L D L^T of a symmetric matrix of affine bodies whose pattern changes: a row begins where it does in any lane.

The lower triangle is stored in full, row by row. What lies before the first entry of a row stays zero in the factor and
costs nothing. There is no pivoting; zeros of the lanes that begin later change no bit of what is not zero.
"""

from simcli.kernels.language import ti
from simcli.kernels.language.vectors import any_lane, get_lane
from simcli.kernels.memory.arena import Arena, local

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
