"""L U of a matrix of blocks of bodies, without pivoting, on the pattern of a graph: row after row, in a row of all bodies.

Everything is about the island at hand.

    W = A_i;   for k in L_i:  L_ik = W_k U_k^-1,  W -= L_ik U_k;    P_i = W_i = L_i U_i,  U_i = L_i^-1 W

U_k below stands for the scaled rows. The rows of a block are vectors, which the compiler gives the processor as such: three
times as fast as their numbers one by one.
"""

from simcli.kernels.complementarity.graph import Graph, of_island, place_at_hand
from simcli.kernels.complementarity.islands import DOFS, ITS_BODIES
from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.notes import Notes
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane, put_lane, vector
from simcli.kernels.language.values import Vec3


class BlockFactor:
    """Memory of a matrix and its factor.

    Args:
        arena: of one lane.
        graph: what it is coupled by.

    Attributes:
        notes: rows of blocks.  upper, lower: (room) blocks (k, column) and (column, k).  diagonal: (n) by bodies, of factors
            their U, with inverses on its diagonal.  unit: (n) their L, of which the diagonal is not used.
        row: (n) blocks of the row that is worked on.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, graph: Graph):
        self.arena, self.graph, self.n = arena, graph, graph.n
        notes = self.notes = Notes(arena, width=DOFS)
        self.upper, self.lower = notes.reserve(DOFS * graph.room), notes.reserve(DOFS * graph.room)
        self.diagonal, self.unit, self.row = (notes.reserve(DOFS * graph.n) for _ in range(3))


def rows_of(notes, w, at, n: int = DOFS) -> list:
    """Rows of the block that begins at a place."""
    return [notes.load(w, at + k) for k in range(n)]


def put_rows(notes, w, at, rows: list):
    """Replace a block."""
    for k, row in enumerate(rows):
        notes.store(w, at + k, row)


def six(x, w, body) -> list:
    """Numbers of a body."""
    return [x.load(w, DOFS * body + k) for k in range(DOFS)]


def put_six(x, w, body, values: list):
    """Replace the numbers of a body."""
    for k, value in enumerate(values):
        x.store(w, DOFS * body + k, value)


def weighted(rows: list, weights):
    """The sum of rows by the numbers of a vector: a row of a product."""
    return combined_rows(rows, [get_lane(weights, k) for k in range(DOFS)])


def combined_rows(rows: list, numbers: list):
    """The sum of rows, each times a number."""
    total = numbers[0] * rows[0]
    for number, row in zip(numbers[1:], rows[1:], strict=True):
        total = total + number * row
    return local(total)


def inner(row, x: list):
    """The inner product of a vector and numbers."""
    total = get_lane(row, 0) * x[0]
    for k in range(1, DOFS):
        total = total + get_lane(row, k) * x[k]
    return local(total)


def inverted(rows: list) -> list:
    """The inverse of a block, symmetric and positive, by elimination without pivoting."""
    for k in range(DOFS):
        inverse = local(1.0 / get_lane(rows[k], k))
        put_lane(rows[k], k, 1.0)
        rows[k] = local(rows[k] * inverse)
        for i in range(DOFS):
            if i != k:
                factor = local(get_lane(rows[i], k))
                put_lane(rows[i], k, 0.0)
                rows[i] = local(rows[i] - rows[k] * factor)
    return rows


def _split(rows: list) -> tuple[list, list]:
    """U with the inverses of its diagonal there, and L."""
    unit = [local(row * 0.0) for row in rows]
    for k in range(DOFS):
        inverse = local(1.0 / get_lane(rows[k], k))
        for i in range(k + 1, DOFS):
            factor = local(get_lane(rows[i], k) * inverse)
            put_lane(unit[i], k, factor)
            rows[i] = local(rows[i] - rows[k] * factor)
        put_lane(rows[k], k, inverse)
    return rows, unit


def _right_solved(rows: list, pivot: list) -> list:
    """A U^-1 of a block, U as `_split` leaves it."""
    found = []
    for row in rows:
        solved = local(row)
        for k in range(DOFS):
            part = local(get_lane(row, k) * get_lane(pivot[k], k))
            put_lane(solved, k, part)
            row = local(row - pivot[k] * part)
        found.append(solved)
    return found


def _below(rows: list, unit: list) -> list:
    """L^-1 A of a block."""
    found = []
    for i, row in enumerate(rows):
        for k in range(i):
            row = local(row - found[k] * get_lane(unit[i], k))
        found.append(row)
    return found


def _forward(x: list, unit: list) -> list:
    """L^-1 x."""
    for i in range(1, DOFS):
        for k in range(i):
            x[i] = local(x[i] - get_lane(unit[i], k) * x[k])
    return x


def _backward(x: list, pivot: list) -> list:
    """U^-1 x, U as `_split` leaves it."""
    for i in reversed(range(DOFS)):
        for k in range(i + 1, DOFS):
            x[i] = local(x[i] - get_lane(pivot[i], k) * x[k])
        x[i] = local(x[i] * get_lane(pivot[i], i))
    return x


@ti.func
def place_of(f: ti.template(), w: ti.i32, a: ti.i32, b: ti.i32, e: ti.i32):
    """Where block (a, b) of two bodies with entry e begins.

    Args:
        e: -1 where the pattern has none; then -1 unless a is b.
    """
    at = -1
    if a == b:
        at = f.diagonal + DOFS * a
    elif e >= 0:
        at = f.lower + DOFS * e
        if f.graph.notes.load(w, f.graph.position + a) < f.graph.notes.load(w, f.graph.position + b):
            at = f.upper + DOFS * e
    return at


@ti.func
def clear_blocks(f: ti.template(), w: ti.i32):
    """A matrix of zeros.

    Writes: f.notes
    """
    zero = vector([f.arena.zero()] * DOFS)
    for k in range(DOFS * of_island(f.graph, w, f.graph.entry), DOFS * of_island(f.graph, w, f.graph.fill)):
        f.notes.store(w, f.upper + k, zero)
        f.notes.store(w, f.lower + k, zero)


@ti.func
def move_block(f: ti.template(), w: ti.i32, source: ti.i32, target: ti.i32):
    """Copy a block.

    Writes: f.notes
    """
    for k in range(DOFS):
        f.notes.store(w, target + k, f.notes.load(w, source + k))


@ti.func
def factorize_blocks(f: ti.template(), w: ti.i32):
    """A = L U in place.

    Writes: f.notes
    """
    g = f.graph
    for i in range(place_at_hand(g, w, ITS_BODIES, 0), place_at_hand(g, w, ITS_BODIES, 1)):
        body = g.notes.load(w, g.order + i)
        for t in range(g.notes.load(w, g.row_start + i), g.notes.load(w, g.row_stop + i)):
            other = g.notes.load(w, g.order + g.notes.load(w, g.row_pivot + t))
            move_block(f, w, f.lower + DOFS * g.notes.load(w, g.row_entry + t), f.row + DOFS * other)
        move_block(f, w, f.diagonal + DOFS * body, f.row + DOFS * body)
        for e in range(g.notes.load(w, g.start + i), g.notes.load(w, g.stop + i)):
            move_block(f, w, f.upper + DOFS * e, f.row + DOFS * g.notes.load(w, g.column + e))
        for t in range(g.notes.load(w, g.row_start + i), g.notes.load(w, g.row_stop + i)):
            k = g.notes.load(w, g.row_pivot + t)
            reduce_row(f, w, k, g.notes.load(w, g.order + k), g.notes.load(w, g.row_entry + t))
        finish_row(f, w, i, body)


@ti.func
def reduce_row(f: ti.template(), w: ti.i32, k: ti.i32, body: ti.i32, entry: ti.i32):
    """Take pivot k out of the row that is worked on: most of the time of a factorisation goes here.

    Writes: f.{lower, row}
    """
    g = f.graph
    left = _right_solved(rows_of(f.notes, w, f.row + DOFS * body), rows_of(f.notes, w, f.diagonal + DOFS * body))
    put_rows(f.notes, w, f.lower + DOFS * entry, left)
    for e in range(g.notes.load(w, g.start + k), g.notes.load(w, g.stop + k)):
        at = f.row + DOFS * g.notes.load(w, g.column + e)
        take_away(f, w, at, left, f.upper + DOFS * e)


def take_away(f, w, at, left: list, other):
    """Subtract the product with another block from the block at a place."""
    rows = rows_of(f.notes, w, other)
    for k in range(DOFS):
        f.notes.store(w, at + k, f.notes.load(w, at + k) - weighted(rows, left[k]))


@ti.func
def finish_row(f: ti.template(), w: ti.i32, i: ti.i32, body: ti.i32):
    """Factors of the pivot of a row, and the scaled blocks behind it.

    Writes: f.{diagonal, unit, upper}
    """
    g = f.graph
    pivot, unit = _split(rows_of(f.notes, w, f.row + DOFS * body))
    put_rows(f.notes, w, f.diagonal + DOFS * body, pivot)
    put_rows(f.notes, w, f.unit + DOFS * body, unit)
    for e in range(g.notes.load(w, g.start + i), g.notes.load(w, g.stop + i)):
        block = rows_of(f.notes, w, f.row + DOFS * g.notes.load(w, g.column + e))
        put_rows(f.notes, w, f.upper + DOFS * e, _below(block, unit))


@ti.func
def substitute_blocks(f: ti.template(), w: ti.i32, x: ti.template()):
    """A^-1 x in place.

    Reads:  f.notes
    Writes: x
    """
    g = f.graph
    for i in range(place_at_hand(g, w, ITS_BODIES, 0), place_at_hand(g, w, ITS_BODIES, 1)):
        body = g.notes.load(w, g.order + i)
        for t in range(g.notes.load(w, g.row_start + i), g.notes.load(w, g.row_stop + i)):
            other = g.notes.load(w, g.order + g.notes.load(w, g.row_pivot + t))
            take_product(f, w, x, body, f.lower + DOFS * g.notes.load(w, g.row_entry + t), other)
        put_six(x, w, body, _forward(six(x, w, body), rows_of(f.notes, w, f.unit + DOFS * body)))
    first, end = place_at_hand(g, w, ITS_BODIES, 0), place_at_hand(g, w, ITS_BODIES, 1)
    for m in range(first, end):
        i = first + end - 1 - m
        body = g.notes.load(w, g.order + i)
        for e in range(g.notes.load(w, g.start + i), g.notes.load(w, g.stop + i)):
            take_product(f, w, x, body, f.upper + DOFS * e, g.notes.load(w, g.column + e))
        put_six(x, w, body, _backward(six(x, w, body), rows_of(f.notes, w, f.diagonal + DOFS * body)))


@ti.func
def take_product(f: ti.template(), w: ti.i32, x: ti.template(), body: ti.i32, at: ti.i32, other: ti.i32):
    """Subtract a block times the numbers of another body from those of a body.

    Writes: x
    """
    y = six(x, w, other)
    for k in range(DOFS):
        x.store(w, DOFS * body + k, x.load(w, DOFS * body + k) - inner(f.notes.load(w, at + k), y))


def speeds(rows: list, x) -> Vec3:
    """The inner products of a vector with those of each axis."""
    return Vec3(*(sum_of_six(row * x) for row in rows))


def sum_of_six(x):
    """The sum of the numbers of a vector, the halves apart."""
    x = local(x)
    parts = [get_lane(x, k) for k in range(DOFS)]
    return local((parts[0] + parts[1] + parts[2]) + (parts[3] + parts[4] + parts[5]))


def squares_by(inverse: list, rows: list) -> Vec3:
    """x^T A x of the vector of each axis."""
    return Vec3(*(sum_of_six(row * weighted(inverse, row)) for row in rows))
