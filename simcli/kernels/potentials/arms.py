"""Gradients of what sums coordinates or lengths, and their products in the Hessian: K arm arm^T.

An arm is the gradient of a sum over several rows, as the error of a gear or the length of a cable; its entries stand at all
coordinates that one of the rows touches.
"""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.linear.blocks import add_entry
from simcli.kernels.memory.arena import Arena


class Arms:
    """Memory and index lists of arms.

    Args:
        parts: of each arm, the coordinates that the gradient of each part touches.
        arena: receives everything.

    Attributes:
        n: arms.  coordinates: of the bodies, by arm, on the host.
        start: (n + 1) offsets into the entries of the arms.
        place: entry in its arm of each entry of a part, from place_start on; parts are numbered one arm after the other.
        outer: entries of the matrix for the products of arms, from outer_start on.
        value: of the arms' entries.
    """

    _data_oriented = True

    def __init__(self, parts: list[list[list[int]]], arena: Arena):
        self.n, self.coordinates = len(parts), [sorted(set().union(*some)) for some in parts]
        self.start = arena.ints(_offsets([len(at) for at in self.coordinates]))
        self.place_start = arena.ints(_offsets([len(one) for some in parts for one in some]))
        self.place = arena.ints([at.index(i) for some, at in zip(parts, self.coordinates, strict=True)
                                 for one in some for i in one])  # fmt: skip
        self.value = arena.array(sum(map(len, self.coordinates)))

    def lay_on(self, matrix, arena: Arena) -> None:
        """Find the entries of the matrix, whose pattern joins the coordinates."""
        outer = [[matrix.entry(a, b) for n, a in enumerate(at) for b in at[: n + 1]] for at in self.coordinates]
        self.outer_start = arena.ints(_offsets([len(one) for one in outer]))
        self.outer = arena.ints([entry for one in outer for entry in one])


def _offsets(counts: list[int]) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(counts))).astype(int)


@ti.func
def clear_arms(a: ti.template(), w: ti.i32):
    """Zeros everywhere.

    Writes: a.value
    """
    for e in range(a.start.at(a.n)):
        a.value.store(w, e, a.value.arena.zero())


@ti.func
def add_products(a: ti.template(), matrix: ti.template(), w: ti.i32, stiffness: ti.template()):
    """Add K arm arm^T to the matrix.

    Args:
        stiffness: K of each arm.

    Reads:  a.value
    Writes: matrix.factor.value
    """
    for k in range(a.n):
        at = a.outer_start.at(k)
        begin = a.start.at(k)
        for e in range(begin, a.start.at(k + 1)):
            scaled = a.value.load(w, e) * stiffness.load(w, k)
            for n in range(begin, e + 1):
                add_entry(matrix, w, a.outer.at(at), scaled * a.value.load(w, n))
                at = at + 1
