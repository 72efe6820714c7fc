"""Scalars of a block for work that goes lane by lane: what branches by nature, and needs lists."""

import taichi as ti
from taichi.lang import impl

from simcli.kernels.numbers import number
from simcli.kernels.values import Value


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
        arena.add_notes(self)

    def reserve(self, n: int) -> int:
        """Index of the first of n more scalars."""
        first, self.count = self.count, self.count + n
        return first

    def build(self):
        """Allocate. Nothing can be reserved afterwards."""
        n_blocks = self.arena.n_blocks
        if self.device.is_gpu:
            self.tree = ti.FieldsBuilder()
            self.field = ti.Vector.field(self.width, self.kind) if self.width > 1 else ti.field(self.kind)
            self.tree.dense(ti.ij, (max(self.count, 1), n_blocks)).place(self.field)
            self.snode = self.tree.finalize()
            return
        self.reach = self.arena.reaches.notes[self.kind, self.width]
        self.memory = self.reach.zeros(n_blocks * self.count)
        self.place = self.reach.find(self.memory)

    def destroy(self):
        """Free the field."""
        if self.device.is_gpu:
            self.snode.destroy()

    def at(self, block, k):
        """Scalar k of a block, assignable (inside kernels)."""
        if self.device.is_gpu:
            return impl.subscript(impl.get_runtime().compiling_callable.ast_builder(), self.field, k, block)
        return self.reach.at(0, block * number(self, "count") + number(self, "place") + k)

    def load(self, block, k):
        """Scalar k (inside kernels)."""
        return impl.expr_init(self.at(block, k))

    def value(self, block, k, kind):
        """The value of a kind that begins at k (inside kernels)."""
        return kind(*(self.at(block, k + n) for n in range(kind.width)))

    def store(self, block, k, value):
        """Replace a scalar, or the scalars of a value (inside kernels)."""
        for n, part in enumerate(value.parts if isinstance(value, Value) else [value]):
            self.at(block, k + n)._assign(part)
