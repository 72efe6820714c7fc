"""Scalars of a block for work that goes lane by lane: what branches by nature, and needs lists."""

import taichi as ti
from taichi.lang import impl

from simcli.kernels.memory import MASK, get_lane
from simcli.kernels.numbers import number
from simcli.kernels.values import Value
from simcli.kernels.vectors import vector


class Notes:
    """Scalars per block of worlds that the lanes use in turn. They are no part of the state.

    Args:
        arena: of the same worlds; allocates them.
        kind: Taichi type of the scalars; None for real numbers.
        width: numbers that stand together, as a vector, for 1 a scalar.

    The numbers of a block stand together on the CPU, and the block is the last index on a GPU, as in an Arena.
    """

    _data_oriented = True

    def __init__(self, arena, kind=None, width: int = 1):
        self.arena, self.kind, self.width = arena, kind or arena.device.real, width
        self.device, self.count = arena.device, 0
        self.memory = None  # of the host, (blocks, scalars, numbers of each)
        arena.add_notes(self)

    def reserve(self, n: int) -> int:
        """Index of the first of n more scalars."""
        first, self.count = self.count, self.count + n
        return first

    def build(self):
        """Allocate on a GPU. Nothing can be reserved afterwards."""
        self.tree = ti.FieldsBuilder()
        self.field = ti.Vector.field(self.width, self.kind) if self.width > 1 else ti.field(self.kind)
        self.tree.dense(ti.ij, (max(self.count, 1), self.arena.n_blocks)).place(self.field)
        self.snode = self.tree.finalize()

    def destroy(self):
        """Free everything."""
        self.memory = None
        if self.device.is_gpu:
            self.snode.destroy()

    def at(self, block, k):
        """Real scalar k of a block, assignable (inside kernels)."""
        if self.device.is_gpu:
            return impl.subscript(impl.get_runtime().compiling_callable.ast_builder(), self.field, k, block)
        assert self.kind != ti.i32, "whole notes are loaded and stored"
        return self.arena.real(self.place_of(block, k) + 1)

    def place_of(self, block, k):
        """The place of scalar or vector k of a block (inside kernels of the CPU)."""
        return impl.expr_init((block * number(self, "count") + k) * self.width + number(self, "place") & MASK)

    def load(self, block, k):
        """Scalar or vector k (inside kernels)."""
        if self.device.is_gpu:
            return impl.expr_init(self.at(block, k))
        place = self.place_of(block, k)
        if self.width > 1:
            return vector([self.arena.real(place + (m + 1)) for m in range(self.width)])
        return impl.expr_init(self.arena.whole(place + 1) if self.kind == ti.i32 else self.arena.real(place + 1))

    def value(self, block, k, kind):
        """The value of a kind that begins at k (inside kernels)."""
        return kind(*(self.at(block, k + n) for n in range(kind.width)))

    def store(self, block, k, value):
        """Replace a scalar or vector, or the scalars of a value (inside kernels)."""
        if self.width > 1 and not self.device.is_gpu:
            place, value = self.place_of(block, k), impl.expr_init(value)
            for m in range(self.width):
                self.arena.real(place + (m + 1))._assign(get_lane(value, m))
            return
        if self.kind == ti.i32 and not self.device.is_gpu:
            self.arena.put_whole(self.place_of(block, k) + 1, value)
            return
        for n, part in enumerate(value.parts if isinstance(value, Value) else [value]):
            self.at(block, k + n)._assign(part)
