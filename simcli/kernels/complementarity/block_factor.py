"""L U of a matrix of blocks of bodies, without pivoting, on the pattern of a graph: row after row, in a row of all bodies.

    W = A_i;   for k in L_i:  L_ik = W_k U_k^-1,  W -= L_ik U_k;    P_i = W_i = L_i U_i,  U_i = L_i^-1 W

U_k below stands for the scaled rows. A block on the diagonal is factorised by halves, see `split`.
"""

import taichi as ti

from simcli.kernels.complementarity import dense
from simcli.kernels.complementarity.dense import put_three, three
from simcli.kernels.complementarity.graph import Graph
from simcli.kernels.memory import Arena
from simcli.kernels.notes import Notes
from simcli.kernels.values import Mat3, Value, Vec3

HALF, QUARTER = 3, 9  # rows of half a block, numbers of a quarter


class Block(Value):
    """Six rows and columns, as four matrices: (0, 0), (0, 1), (1, 0), (1, 1)."""

    width = 36

    @staticmethod
    def of(*quarters) -> "Block":
        """Join the quarters."""
        return Block(*(part for quarter in quarters for part in quarter.parts))

    def quarter(self, i: int, j: int) -> Mat3:
        """Half of the rows and columns."""
        at = QUARTER * (2 * i + j)
        return Mat3(*self.parts[at : at + QUARTER])

    def quarters(self) -> list[Mat3]:
        """All four."""
        return [self.quarter(i, j) for i in range(2) for j in range(2)]

    def __mul__(self, other: "Block") -> "Block":
        a, b, c, d = self.quarters()
        e, f, g, h = other.quarters()
        return Block.of(a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)

    def times(self, x: Vec3, y: Vec3) -> tuple[Vec3, Vec3]:
        """The product with six numbers, by halves."""
        a, b, c, d = self.quarters()
        return a * x + b * y, c * x + d * y


def split(block: Block) -> Block:
    """L and U of a block in one."""
    a, b, c, d = block.quarters()
    first = dense.split(a)
    right, left = dense.below(first, b), dense.right_solved(first, c)
    return Block.of(first, right, left, dense.split(d - left * right))


def below(f: Block, block: Block) -> Block:
    """L^-1 A, f from `split`."""
    first, _, left, last = f.quarters()
    a, b, c, d = block.quarters()
    a, b = dense.below(first, a), dense.below(first, b)
    return Block.of(a, b, dense.below(last, c - left * a), dense.below(last, d - left * b))


def right_solved(f: Block, block: Block) -> Block:
    """A U^-1, f from `split`."""
    first, right, _, last = f.quarters()
    a, b, c, d = block.quarters()
    a, c = dense.right_solved(first, a), dense.right_solved(first, c)
    return Block.of(a, dense.right_solved(last, b - a * right), c, dense.right_solved(last, d - c * right))


class BlockFactor:
    """Memory of a matrix and its factor.

    Args:
        arena: of one lane.
        graph: what it is coupled by.

    Attributes:
        notes: real numbers.  upper, lower: (room) blocks (k, column) and (column, k).  diagonal: (n) by bodies.
        row: (n) blocks of the row that is worked on.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, graph: Graph):
        self.arena, self.graph, self.n = arena, graph, graph.n
        notes = self.notes = Notes(arena)
        self.upper, self.lower = notes.reserve(Block.width * graph.room), notes.reserve(Block.width * graph.room)
        self.diagonal, self.row = notes.reserve(Block.width * graph.n), notes.reserve(Block.width * graph.n)


def block_at(f, w, first, k) -> Block:
    """Block k of those from a place on."""
    return f.notes.value(w, first + Block.width * k, Block)


def put_block(f, w, first, k, value: Block):
    """Replace a block."""
    f.notes.store(w, first + Block.width * k, value)


def add_quarter(f, w, first, k, i, j, value: Mat3):
    """Add to a quarter of block k."""
    at = first + Block.width * k + QUARTER * (2 * i + j)
    f.notes.store(w, at, f.notes.value(w, at, Mat3) + value)


@ti.func
def place_of(f: ti.template(), w: ti.i32, a: ti.i32, b: ti.i32, e: ti.i32):
    """Where block (a, b) of two bodies with entry e begins.

    Args:
        e: -1 where the pattern has none; then -1 unless a is b.
    """
    at = -1
    if a == b:
        at = f.diagonal + Block.width * a
    elif e >= 0:
        at = f.lower + Block.width * e
        if f.graph.notes.load(w, f.graph.position + a) < f.graph.notes.load(w, f.graph.position + b):
            at = f.upper + Block.width * e
    return at


@ti.func
def clear_blocks(f: ti.template(), w: ti.i32):
    """A matrix of zeros.

    Writes: f.notes
    """
    zero = f.arena.zero()
    for k in range(Block.width * f.graph.notes.load(w, f.graph.fill)):
        f.notes.store(w, f.upper + k, zero)
        f.notes.store(w, f.lower + k, zero)
    for k in range(Block.width * f.n):
        f.notes.store(w, f.diagonal + k, zero)


@ti.func
def factorize_blocks(f: ti.template(), w: ti.i32):
    """A = L U in place.

    Writes: f.notes
    """
    g = f.graph
    for i in range(f.n):
        body = g.notes.load(w, g.order + i)
        for t in range(g.notes.load(w, g.row_start + i), g.notes.load(w, g.row_start + i + 1)):
            put_block(f, w, f.row, g.notes.load(w, g.order + g.notes.load(w, g.row_pivot + t)),
                      block_at(f, w, f.lower, g.notes.load(w, g.row_entry + t)))
        put_block(f, w, f.row, body, block_at(f, w, f.diagonal, body))
        for e in range(g.notes.load(w, g.start + i), g.notes.load(w, g.start + i + 1)):
            put_block(f, w, f.row, g.notes.load(w, g.column + e), block_at(f, w, f.upper, e))
        for t in range(g.notes.load(w, g.row_start + i), g.notes.load(w, g.row_start + i + 1)):
            k = g.notes.load(w, g.row_pivot + t)
            reduce_row(f, w, k, g.notes.load(w, g.order + k), g.notes.load(w, g.row_entry + t))
        pivot = split(block_at(f, w, f.row, body))
        put_block(f, w, f.diagonal, body, pivot)
        for e in range(g.notes.load(w, g.start + i), g.notes.load(w, g.start + i + 1)):
            put_block(f, w, f.upper, e, below(pivot, block_at(f, w, f.row, g.notes.load(w, g.column + e))))


@ti.func
def reduce_row(f: ti.template(), w: ti.i32, k: ti.i32, body: ti.i32, entry: ti.i32):
    """Take pivot k out of the row that is worked on.

    Writes: f.{lower, row}
    """
    g = f.graph
    left = right_solved(block_at(f, w, f.diagonal, body), block_at(f, w, f.row, body))
    put_block(f, w, f.lower, entry, left)
    for e in range(g.notes.load(w, g.start + k), g.notes.load(w, g.start + k + 1)):
        other = g.notes.load(w, g.column + e)
        put_block(f, w, f.row, other, block_at(f, w, f.row, other) - left * block_at(f, w, f.upper, e))


@ti.func
def substitute_blocks(f: ti.template(), w: ti.i32, x: ti.template()):
    """A^-1 x in place.

    Reads:  f.notes
    Writes: x
    """
    g = f.graph
    for i in range(f.n):
        body = g.notes.load(w, g.order + i)
        one, two = three(x, w, 2 * body), three(x, w, 2 * body + 1)
        for t in range(g.notes.load(w, g.row_start + i), g.notes.load(w, g.row_start + i + 1)):
            other = g.notes.load(w, g.order + g.notes.load(w, g.row_pivot + t))
            left = block_at(f, w, f.lower, g.notes.load(w, g.row_entry + t))
            a, b = left.times(three(x, w, 2 * other), three(x, w, 2 * other + 1))
            one, two = one - a, two - b
        pivot = block_at(f, w, f.diagonal, body)
        one = dense.forward(pivot.quarter(0, 0), one)
        put_three(x, w, 2 * body, one)
        put_three(x, w, 2 * body + 1, dense.forward(pivot.quarter(1, 1), two - pivot.quarter(1, 0) * one))
    for m in range(f.n):
        i = f.n - 1 - m
        body = g.notes.load(w, g.order + i)
        one, two = three(x, w, 2 * body), three(x, w, 2 * body + 1)
        for e in range(g.notes.load(w, g.start + i), g.notes.load(w, g.start + i + 1)):
            other = g.notes.load(w, g.column + e)
            a, b = block_at(f, w, f.upper, e).times(three(x, w, 2 * other), three(x, w, 2 * other + 1))
            one, two = one - a, two - b
        pivot = block_at(f, w, f.diagonal, body)
        two = dense.backward(pivot.quarter(1, 1), two)
        put_three(x, w, 2 * body + 1, two)
        put_three(x, w, 2 * body, dense.backward(pivot.quarter(0, 0), one - pivot.quarter(0, 1) * two))
