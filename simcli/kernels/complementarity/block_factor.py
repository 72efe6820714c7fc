"""L U of a matrix of blocks of three on a fixed pattern, without pivoting: the preconditioner of large worlds.

The pattern is that of the rows which a scene has for good: bodies that joints connect. Bodies that touch are not in it.
Without joints the factor is that of one block for each body. One lane alone: which bodies touch differs between worlds.
"""

import numpy as np
import taichi as ti

from simcli.kernels.complementarity.dense import backward, below, forward, put_three, right_solved, split, three
from simcli.kernels.memory import Arena
from simcli.kernels.values import Mat3
from simcli.model.elimination import eliminate


class BlockFactor:
    """Memory and index lists.

    Args:
        arena: where.
        n: blocks of three rows.
        pairs: (P, 2) blocks that are not zero, in any order; with (i, j) there is (j, i).

    Attributes:
        upper: (nnz) blocks (k, j), j not before k, by pivots.  lower: (nnz) blocks (j, k).
        pivot: (n) L and U of a block on the diagonal.  x: (3 n) right-hand side and solution.
        place: (P,) on the host, index of each pair.  position: (n) pivot of each block.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, n: int, pairs: np.ndarray):
        self.arena, self.n = arena, n
        pattern = eliminate(n, pairs, np.zeros(n, bool))
        self.nnz, self.place = pattern.nnz, pattern.place
        self.position, self.order, self.start = (arena.ints(x) for x in (pattern.position, pattern.order, pattern.start))
        self.column = arena.ints(pattern.order[pattern.column])
        self.update_start, self.update = arena.ints(pattern.update_start), arena.ints(pattern.update)
        self.upper, self.lower, self.pivot = (arena.slot(m, Mat3) for m in (self.nnz, self.nnz, n))


def add_block(f, w, i, j, place, value: Mat3):
    """Add to block (i, j), whose pair has a place."""
    ahead = f.position.at(i) <= f.position.at(j)
    for k, part in enumerate(value.parts):
        add_part(f.upper, w, place, k, ti.select(ahead, part, part * 0.0))
        add_part(f.lower, w, place, k, ti.select(ahead, part * 0.0, part))


def add_part(slot, w, item, k, value):
    """Add to component k of an item."""
    part = slot.part(w, item, k)
    part._assign(part + value)


@ti.func
def clear_blocks(f: ti.template(), w: ti.i32):
    """A matrix of zeros.

    Writes: f.{upper, lower}
    """
    zero = f.arena.zero()
    for e in range(f.nnz):
        f.upper.store(w, e, Mat3(*(zero,) * 9))
        f.lower.store(w, e, Mat3(*(zero,) * 9))


@ti.func
def add_entry(f: ti.template(), w: ti.i32, i: ti.i32, j: ti.i32, place: ti.i32, value: ti.template()):
    """Add to entry (i, j) of the matrix, in the block of a place.

    Writes: f.{upper, lower}
    """
    part = 3 * (i % 3) + j % 3
    if f.position.at(i // 3) <= f.position.at(j // 3):
        add_part(f.upper, w, place, part, value)
    else:
        add_part(f.lower, w, place, part, value)


@ti.func
def factorize_blocks(f: ti.template(), w: ti.i32):
    """A = L U in place.

    Writes: f.{upper, lower, pivot}
    """
    for k in range(f.n):
        first = f.start.at(k)
        last = f.start.at(k + 1)
        pivot = split(f.upper.load(w, first))
        f.pivot.store(w, k, pivot)
        for e in range(first + 1, last):
            f.upper.store(w, e, below(pivot, f.upper.load(w, e)))
            f.lower.store(w, e, right_solved(pivot, f.lower.load(w, e)))
        for e in range(first + 1, last):
            left = f.lower.load(w, e)
            right = f.upper.load(w, e)
            begin = f.update_start.at(e)
            for u in range(begin, f.update_start.at(e + 1)):
                target = f.update.at(u)
                other = e + u - begin
                f.upper.store(w, target, f.upper.load(w, target) - left * f.upper.load(w, other))
                if other > e:
                    f.lower.store(w, target, f.lower.load(w, target) - f.lower.load(w, other) * right)


@ti.func
def substitute_blocks(f: ti.template(), w: ti.i32, x: ti.template()):
    """A^-1 x in place.

    Reads:  f.{upper, lower, pivot}
    Writes: x (3 n)
    """
    for k in range(f.n):
        i = f.order.at(k)
        y = forward(f.pivot.load(w, k), three(x, w, i))
        put_three(x, w, i, y)
        for e in range(f.start.at(k) + 1, f.start.at(k + 1)):
            j = f.column.at(e)
            put_three(x, w, j, three(x, w, j) - f.lower.load(w, e) * y)
    for m in range(f.n):
        k = f.n - 1 - m
        i = f.order.at(k)
        total = three(x, w, i)
        for e in range(f.start.at(k) + 1, f.start.at(k + 1)):
            total = total - f.upper.load(w, e) * three(x, w, f.column.at(e))
        put_three(x, w, i, backward(f.pivot.load(w, k), total))
