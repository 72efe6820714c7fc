"""Scalars of a block for work that goes lane by lane: what branches by nature, and needs lists."""

from functools import partial

import numpy as np

from simcli.kernels.algebra.values import Value
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import local
from simcli.kernels.language.numbers import known, number
from simcli.kernels.language.vectors import get_lane, vector
from simcli.kernels.memory.storage import MASK


class Notes:
    """Scalars per block of worlds that the lanes use in turn. They are no part of the state.

    Args:
        arena: of the same worlds; allocates them.
        kind: Taichi type of the scalars; None for real numbers.
        width: numbers that stand together, as a vector, for 1 a scalar.

    The numbers of a block stand together on the CPU, in lines of the cache of its own: a line that two threads write goes
    from one to the other each time. The block is the last index on a GPU, as in an Arena.
    """

    _data_oriented = True
    _numbers = ("place", "stride")

    def __init__(self, arena, kind=None, width: int = 1):
        self.arena, self.kind, self.width = arena, kind or arena.device.real, width
        self.count = 0
        self.place = 0  # of the first
        arena.add_notes(self)

    def reserve(self, n: int) -> int:
        """Index of the first of n more scalars."""
        first, self.count = self.count, self.count + n
        return first

    @property
    def stride(self) -> int:
        """Numbers from one block to the next, on the CPU."""
        return self.arena.device.whole_lines(self.count * self.width)

    @property
    def size(self) -> int:
        """Numbers of all blocks."""
        return (self.count * self.width if self.arena.device.is_gpu else self.stride) * self.arena.n_blocks

    @property
    def memory(self) -> np.ndarray:
        """All of them, (blocks, scalars, numbers of each), from the host."""
        shape = self.arena.n_blocks, self.count, self.width
        return self.arena.storage.read_notes(slice(self.place, self.place + self.size), shape, self.kind == ti.i32)

    def at(self, block, k):
        """Real scalar k of a block, assignable (inside kernels)."""
        assert self.kind != ti.i32, "whole notes are loaded and stored"
        return self.item(self.place_of(block, k), 0)

    def begin_of(self, block):
        """The place of the first one of a block, as an expression (inside kernels)."""
        apart = block if self.arena.device.is_gpu else block * number(self, "stride")
        return apart + number(self, "place")

    def place_of(self, block, k):
        """The place of scalar or vector k of a block (inside kernels)."""
        begun = known(id(self), partial(self.begin_of, block))
        if self.arena.device.is_gpu:
            return local(self.arena.apart(k * self.width) + begun)
        return local(begun + k * self.width & MASK)

    def item(self, place, m: int):
        """Number m behind a place, assignable (inside kernels)."""
        return self.arena.real(place + self.arena.apart(m))

    def load(self, block, k):
        """Scalar or vector k (inside kernels)."""
        place = self.place_of(block, k)
        if self.width > 1:
            return vector([self.item(place, m) for m in range(self.width)])
        return local(self.arena.whole(place) if self.kind == ti.i32 else self.item(place, 0))

    def value(self, block, k, kind):
        """The value of a kind that begins at k (inside kernels)."""
        return kind(*(self.at(block, k + n) for n in range(kind.width)))

    def store(self, block, k, value):
        """Replace a scalar or vector, or the scalars of a value (inside kernels)."""
        if self.width > 1:
            place, value = self.place_of(block, k), local(value)
            for m in range(self.width):
                self.item(place, m)._assign(get_lane(value, m))
        elif self.kind == ti.i32:
            self.arena.put_whole(self.place_of(block, k), value)
        else:
            for n, part in enumerate(value.parts if isinstance(value, Value) else [value]):
                self.at(block, k + n)._assign(part)
