"""Scalars of a block for work that goes lane by lane: what branches by nature, and needs lists."""

import numpy as np
import taichi as ti
from taichi.lang import impl

from simcli.kernels.values import Value


class Notes:
    """Scalars per block of worlds that the lanes use in turn. They are no part of the state.

    Args:
        arena: of the same worlds.
        kind: Taichi type of the scalars; None for real numbers.
        width: numbers that stand together, as a vector, for 1 a scalar.

    The numbers of a block stand together on the CPU, and the block is the last index on a GPU, as in an Arena.
    """

    _data_oriented = True

    def __init__(self, arena, kind=None, width: int = 1):
        self.kind, self.width = kind or arena.device.real, width
        self.device, self.n_blocks, self.count = arena.device, arena.n_blocks, 0

    def reserve(self, n: int) -> int:
        """Index of the first of n more scalars."""
        first, self.count = self.count, self.count + n
        return first

    def build(self):
        """Allocate. Nothing can be reserved afterwards."""
        shape = (self.count, self.n_blocks) if self.device.is_gpu else (self.n_blocks, self.count)
        self.tree = ti.FieldsBuilder()
        self.field = ti.Vector.field(self.width, self.kind) if self.width > 1 else ti.field(self.kind)
        self.tree.dense(ti.ij, tuple(np.maximum(shape, 1))).place(self.field)
        self.snode = self.tree.finalize()

    def destroy(self):
        """Free the field."""
        self.snode.destroy()

    def at(self, block, k):
        """Scalar k of a block, assignable (inside kernels)."""
        builder = impl.get_runtime().compiling_callable.ast_builder()
        if self.device.is_gpu:
            return impl.subscript(builder, self.field, k, block)
        return impl.subscript(builder, self.field, block, k)

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
