"""L D L^T of a symmetric system on a fixed pattern, for a block of worlds at a time.

The index lists of model/joints/elimination.py are shared by all worlds; the numbers are packs. There is no pivoting, so all
lanes do the same work in the same order whatever their numbers are.

A substitution goes through one list of entries, not row by row: rows have two or three, and a processor that guesses where
each of such loops ends takes longer for that than for the entry. What is found is taken from all that wait for it one after
another, so that no sum waits for itself.
"""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.model.joints.elimination import Elimination


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
