"""Memory of all worlds, and packs inside kernels.

Taichi's internals (1.7.4, frozen upstream) are used here and in three more files: runtime.py, rolling.py and notes.py.

A lane pack is a `ti.Vector` that holds the same scalar of several worlds; Taichi's CPU backend turns operations on packs
into vector instructions, which it does for no loop over worlds (performance.md, findings 1 to 3). All packs of a block of
worlds stand together in memory on the CPU, so that they fit the cache; on a GPU a pack is one scalar and the world is
the last index, so that neighbouring threads read neighbouring numbers.
"""

import numpy as np
import taichi as ti
from taichi.lang import impl
from taichi.lang.expr import Expr

from simcli.kernels.runtime import Device


def is_pack(x) -> bool:
    """True if x, inside a kernel being compiled, is a lane pack rather than a scalar."""
    return x.is_tensor() if isinstance(x, Expr) else isinstance(x, ti.Matrix)


def local(x):
    """A local variable that starts as x (Taichi would otherwise evaluate x again at each use)."""
    return impl.expr_init(x)


class Arena:
    """One field that holds all packs of all blocks; slots are ranges of its rows.

    One field, because one block's packs must stand together (CPU), and because a process may hold 512 field trees only.
    """

    _data_oriented = True

    def __init__(self, device: Device, n_worlds: int):
        self.device, self.n_worlds, self.n_rows, self.field = device, n_worlds, 0, None
        self.int_tables, self.real_tables, self.n_ints, self.n_reals = [], [], 0, 0
        self.n_blocks = device.blocks(n_worlds)

    def ints(self, values) -> "Ints":
        """A table of integers that all worlds share."""
        array = np.ascontiguousarray(values, np.int32).ravel()
        table = Ints(self, self.n_ints)
        self.int_tables.append(array)
        self.n_ints += array.size
        return table

    def shared(self, values, kind=None) -> "Shared":
        """A column of real values that all worlds share, of a kind as in `slot`."""
        array = np.ascontiguousarray(values, np.float64).ravel()
        table = Shared(self, self.n_reals, kind)
        self.real_tables.append(array)
        self.n_reals += array.size
        return table

    def slot(self, n_items: int, kind=None) -> "Slot":
        """Reserve a quantity of n_items values of a kind (a class of values.py; None for a plain pack)."""
        slot = Slot(self, self.n_rows, n_items, kind)
        self.n_rows += max(n_items, 1) * slot.width
        return slot

    def build(self):
        """Allocate. No slot can be reserved afterwards."""
        lanes, real = self.device.lanes, self.device.real
        rows = max(self.n_rows, 1)
        self.tree = ti.FieldsBuilder()
        self.field = ti.Vector.field(lanes, real) if lanes > 1 else ti.field(real)
        if self.device.is_gpu:
            self.tree.dense(ti.ij, (rows, self.n_blocks)).place(self.field)
        else:
            self.tree.dense(ti.ij, (self.n_blocks, rows)).place(self.field)
        self.int_field, self.real_field = ti.field(ti.i32), ti.field(real)
        self.tree.dense(ti.i, max(self.n_ints, 1)).place(self.int_field)
        self.tree.dense(ti.i, max(self.n_reals, 1)).place(self.real_field)
        self.snode = self.tree.finalize()
        self.refill(self)

    def refill(self, other: "Arena"):
        """Take the shared tables of another arena, built or not, of the same layout."""
        assert (other.n_rows, other.n_ints, other.n_reals) == (self.n_rows, self.n_ints, self.n_reals), "another layout"
        _load_constants(self, np.concatenate([*other.int_tables, np.zeros(1, np.int32)]),
                        np.concatenate([*other.real_tables, np.zeros(1)]).astype(self.device.dtype))

    def read(self) -> np.ndarray:
        """Host copy of everything, (W with the idle lanes, rows): all state of a run, and all columns."""
        out = self.device.buffer((self.n_blocks * self.device.lanes, max(self.n_rows, 1)))
        _unload_rows(self, 0, self.n_rows, out)
        return self.device.fetch(out)

    def write(self, values: np.ndarray):
        """Set everything from a host copy of `read`; the same bits."""
        rows = np.ascontiguousarray(values, self.device.dtype)
        if rows.shape != (self.n_blocks * self.device.lanes, max(self.n_rows, 1)):
            raise ValueError(f"state of shape {rows.shape} does not fit")
        if self.n_rows:
            _load_rows(self, 0, len(rows) - 1, rows)

    def destroy(self):
        """Free the field."""
        self.snode.destroy()

    def zero(self):
        """A pack of zeros (inside kernels). Not `x * 0.0` of a pack in memory: what a state before left may be NaN."""
        lanes = self.device.lanes
        return local(ti.Vector([0.0] * lanes, self.device.real) if lanes > 1 else ti.cast(0.0, self.device.real))

    def at(self, block, row):
        """The pack at a row of a block, as an assignable expression (inside kernels)."""
        builder = impl.get_runtime().compiling_callable.ast_builder()
        if self.device.is_gpu:
            return impl.subscript(builder, self.field, row, block)
        return impl.subscript(builder, self.field, block, row)


class Ints:
    """A table of integers that all worlds share."""

    _data_oriented = True

    def __init__(self, arena: Arena, first: int):
        self.arena, self.first = arena, first

    def at(self, item):
        """Entry of an item (inside kernels)."""
        builder = impl.get_runtime().compiling_callable.ast_builder()
        return local(impl.subscript(builder, self.arena.int_field, item + self.first))


class Shared:
    """A column that all worlds share; loads like a Slot, its components are scalars."""

    _data_oriented = True

    def __init__(self, arena: Arena, first: int, kind):
        self.arena, self.first, self.kind = arena, first, kind
        self.width = kind.width if kind else 1

    def load(self, block, item):
        """The value of an item; `block` is not used."""
        builder = impl.get_runtime().compiling_callable.ast_builder()
        field = self.arena.real_field
        parts = [impl.subscript(builder, field, item * self.width + (self.first + k)) for k in range(self.width)]
        return self.kind(*parts) if self.kind else local(parts[0])


@ti.kernel
def _load_constants(arena: ti.template(), ints: ti.types.ndarray(), reals: ti.types.ndarray()):
    """Fill the tables that all worlds share."""
    for i in range(arena.n_ints):
        arena.int_field[i] = ints[i]
    for i in range(arena.n_reals):
        arena.real_field[i] = reals[i]


class Slot:
    """A quantity per (block of worlds, item): `load(w, i)` and `store(w, i, value)` inside kernels."""

    _data_oriented = True

    def __init__(self, arena: Arena, first: int, n_items: int, kind):
        self.arena, self.first, self.n_items, self.kind = arena, first, n_items, kind
        self.width = kind.width if kind else 1

    def load(self, block, item):
        """The value of an item."""
        parts = [self.arena.at(block, self.row(item, k)) for k in range(self.width)]
        return self.kind(*parts) if self.kind else local(parts[0])

    def store(self, block, item, value):
        """Replace the value of an item."""
        for k, part in enumerate(value.parts if self.kind else [value]):
            self.arena.at(block, self.row(item, k))._assign(part)

    def part(self, block, item, k):
        """Component k of an item, as an assignable expression."""
        return self.arena.at(block, self.row(item, k))

    def row(self, item, k):
        """Row of component k of an item."""
        return self.first + item * self.width + k

    def read(self) -> np.ndarray:
        """Host copy, (W, n_items, width)."""
        arena, rows = self.arena, self.n_items * self.width
        out = arena.device.buffer((arena.n_blocks * arena.device.lanes, max(rows, 1)))
        _unload_rows(arena, self.first, rows, out)
        return arena.device.fetch(out)[: arena.n_worlds, :rows].reshape(arena.n_worlds, self.n_items, self.width)

    def write(self, values: np.ndarray, arena: Arena | None = None):
        """Set from host values, (W or 1, n_items, width); unused lanes of the last pack repeat the last world.

        A repeated world cannot fail where the last one does not, so that no idle lane slows or disturbs a pack.

        Args:
            values: of all items.
            arena: where, if not in our own: one of the same layout.
        """
        arena, rows = arena or self.arena, self.n_items * self.width
        flat = np.ascontiguousarray(np.asarray(values, arena.device.dtype).reshape(len(values), rows))
        if rows:
            _load_rows(arena, self.first, arena.n_worlds - 1, flat)


@ti.kernel
def _load_rows(arena: ti.template(), first: ti.i32, last_world: ti.i32, values: ti.types.ndarray()):
    """Copy (W or 1, rows) into consecutive rows of every block."""
    for w in range(arena.n_blocks):
        for row in range(values.shape[1]):
            for lane in ti.static(range(arena.device.lanes)):
                world = ti.min(ti.min(w * arena.device.lanes + lane, last_world), values.shape[0] - 1)
                put_lane(arena.at(w, first + row), lane, values[world, row])


@ti.kernel
def _unload_rows(arena: ti.template(), first: ti.i32, rows: ti.i32, out: ti.types.ndarray()):
    """Copy consecutive rows of every block into (padded W, rows)."""
    for w in range(arena.n_blocks):
        for row in range(rows):
            for lane in ti.static(range(arena.device.lanes)):
                out[w * arena.device.lanes + lane, row] = get_lane(arena.at(w, first + row), lane)


def put_lane(pack, lane: int, value):
    """Assign one lane of an assignable pack (inside kernels)."""
    if is_pack(pack):
        builder = impl.get_runtime().compiling_callable.ast_builder()
        impl.subscript(builder, pack, lane)._assign(value)
    else:
        pack._assign(value)


def get_lane(pack, lane: int):
    """One lane of a pack (inside kernels)."""
    if is_pack(pack):
        builder = impl.get_runtime().compiling_callable.ast_builder()
        return impl.subscript(builder, pack, lane)
    return pack


def any_lane(mask):
    """True if any lane of a mask is set (inside kernels)."""
    if not is_pack(mask):
        return mask
    builder = impl.get_runtime().compiling_callable.ast_builder()
    lanes = [impl.subscript(builder, mask, k) for k in range(mask.get_shape()[0])]
    found = lanes[0] != 0
    for lane in lanes[1:]:
        found = found | (lane != 0)
    return found
