"""A symmetric matrix of 12 x 12 blocks of affine bodies, and its factorisation, on a pattern that all worlds share.

Body b has the unknowns 12 b to 12 b + 11. The pattern is that of all pairs of bodies that may ever share an energy: what
does not act leaves zeros. Pairs are numbered: the diagonal blocks first, then the others.
"""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.linear.skyline import AFFINE_DOFS, SkylineMatrix, factorize_skyline, substitute_skyline
from simcli.kernels.linear.sparse import Factor, factorize, substitute
from simcli.kernels.memory.arena import Arena
from simcli.model.joints.elimination import eliminate


class BlockMatrix:
    """Memory and index lists.

    Args:
        n_bodies: number of bodies.
        pairs: bodies that may share an energy, in any order.
        arena: receives the factor.

    Attributes:
        pair_of: (i, j) with i >= j to the number of a pair, on the host.
        place: entry of the factor of row r and column s of a pair's block, at 144 pair + 12 r + s.
        factor: see `sparse.py`.
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
