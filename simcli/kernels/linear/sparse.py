"""L D L^T of a symmetric system on a fixed pattern, for a block of worlds at a time.

The index lists of model/tree/elimination.py are shared by all worlds; the numbers are packs. There is no pivoting, so all
lanes do the same work in the same order whatever their numbers are.
"""

from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.model.tree.elimination import Elimination


class Factor:
    """Memory and index lists of one factorisation.

    Attributes:
        value: (nnz) the matrix on entry, L above the diagonal on exit.
        inverse: (n) inverses of D.
        x: (n) right-hand side and solution, by pivot.
    """

    _data_oriented = True

    def __init__(self, pattern: Elimination, arena: Arena):
        self.n, self.nnz = pattern.n, pattern.nnz
        unknowns = arena.records(self.n)
        self.position = unknowns.ints(pattern.position)
        self.start, self.column = arena.ints(pattern.start), arena.ints(pattern.column)
        self.update_start, self.update = arena.ints(pattern.update_start), arena.ints(pattern.update)
        self.value, self.inverse, self.x = arena.slot(self.nnz), unknowns.slot(), unknowns.slot().scratch()


@ti.func
def factorize(f: ti.template(), w: ti.i32):
    """K = L D L^T.

    Reads:  f.value
    Writes: f.{value, inverse}
    """
    for k in range(f.n):
        first = f.start.at(k)
        last = f.start.at(k + 1)
        inverse = 1.0 / f.value.load(w, first)
        f.inverse.store(w, k, inverse)
        for e in range(first + 1, last):
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
    for k in range(f.n):
        x = f.x.load(w, k)
        for e in range(f.start.at(k) + 1, f.start.at(k + 1)):
            i = f.column.at(e)
            f.x.store(w, i, f.x.load(w, i) - f.value.load(w, e) * x)
    for n in range(f.n):
        k = f.n - 1 - n
        x = f.x.load(w, k) * f.inverse.load(w, k)
        for e in range(f.start.at(k) + 1, f.start.at(k + 1)):
            x = x - f.value.load(w, e) * f.x.load(w, f.column.at(e))
        f.x.store(w, k, x)
