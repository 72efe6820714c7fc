"""Memory of all worlds, and packs inside kernels.

Taichi's internals (1.7.4, frozen upstream) are used here and in three more files: runtime.py, rolling.py and notes.py.

A lane pack is a `ti.Vector` that holds the same scalar of several worlds; Taichi's CPU backend turns operations on packs
into vector instructions, which it does for no loop over worlds (performance.md, findings 1 to 3). All packs of a block of
worlds stand together in memory on the CPU, so that they fit the cache, and those of one value form a cell, whose address
is worked out once; on a GPU a pack is one scalar, a cell, and the world is the last index, so that neighbouring threads
read neighbouring numbers.
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
    """One tree of fields that holds all packs of all blocks; slots are ranges of its cells.

    One tree, because one block's packs must stand together (CPU), and because a process may hold 512 of them only.

    Attributes:
        cells: by the width of a cell, how many there are of each block.
        fields: by the width of a cell, the field of each of its packs.
    """

    _data_oriented = True

    def __init__(self, device: Device, n_worlds: int):
        self.device, self.n_worlds, self.cells, self.fields = device, n_worlds, {1: 1}, {}
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

    def slot(self, n_items: int, kind=None, by_rows: bool = False) -> "Slot":
        """Reserve a quantity of n_items values of a kind (a class of values.py; None for a plain pack).

        Args:
            n_items: how many.
            kind: of them.
            by_rows: every pack is a cell, for those who find packs by numbers that are not known when they compile.
        """
        width = kind.width if kind else 1
        cell = 1 if by_rows or self.device.is_gpu else width
        first = self.cells.get(cell, 0)
        self.cells[cell] = first + max(n_items, 1) * width // cell
        return Slot(self, first, n_items, kind, cell)

    @property
    def n_rows(self) -> int:
        """Packs of a block."""
        return sum(width * n for width, n in self.cells.items())

    def build(self):
        """Allocate. No slot can be reserved afterwards."""
        lanes, real = self.device.lanes, self.device.real
        self.tree = ti.FieldsBuilder()
        blocks = None if self.device.is_gpu else self.tree.dense(ti.i, self.n_blocks)
        for width, n in self.cells.items():
            self.fields[width] = [ti.Vector.field(lanes, real) if lanes > 1 else ti.field(real) for _ in range(width)]
            cells = blocks.dense(ti.j, n) if blocks else self.tree.dense(ti.ij, (n, self.n_blocks))
            cells.place(*self.fields[width])
        self.int_field, self.real_field = ti.field(ti.i32), ti.field(real)
        self.tree.dense(ti.i, max(self.n_ints, 1)).place(self.int_field)
        self.tree.dense(ti.i, max(self.n_reals, 1)).place(self.real_field)
        self.snode = self.tree.finalize()
        self.refill(self)

    def refill(self, other: "Arena"):
        """Take the shared tables of another arena, built or not, of the same layout."""
        assert (other.cells, other.n_ints, other.n_reals) == (self.cells, self.n_ints, self.n_reals), "another layout"
        _load_constants(self, np.concatenate([*other.int_tables, np.zeros(1, np.int32)]),
                        np.concatenate([*other.real_tables, np.zeros(1)]).astype(self.device.dtype))

    def read(self) -> np.ndarray:
        """Host copy of everything, (W with the idle lanes, rows): all state of a run, and all columns."""
        out = self.device.buffer((self.n_blocks * self.device.lanes, self.n_rows))
        row = 0
        for width, n in self.cells.items():
            _unload_cells(self, width, 0, n, row, out)
            row += width * n
        return self.device.fetch(out)

    def write(self, values: np.ndarray):
        """Set everything from a host copy of `read`; the same bits."""
        rows = np.ascontiguousarray(values, self.device.dtype)
        if rows.shape != (self.n_blocks * self.device.lanes, self.n_rows):
            raise ValueError(f"state of shape {rows.shape} does not fit")
        row = 0
        for width, n in self.cells.items():
            _load_cells(self, width, 0, n, row, len(rows) - 1, rows)
            row += width * n

    def destroy(self):
        """Free the fields."""
        self.snode.destroy()

    def zero(self):
        """A pack of zeros (inside kernels). Not `x * 0.0` of a pack in memory: what a state before left may be NaN."""
        lanes = self.device.lanes
        return local(ti.Vector([0.0] * lanes, self.device.real) if lanes > 1 else ti.cast(0.0, self.device.real))

    def at(self, block, cell, width, k):
        """Pack k of a cell of a width, as an assignable expression (inside kernels)."""
        builder = impl.get_runtime().compiling_callable.ast_builder()
        place = (cell, block) if self.device.is_gpu else (block, cell)
        return impl.subscript(builder, self.fields[width][k], *place)


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

    def __init__(self, arena: Arena, first: int, n_items: int, kind, cell: int):
        self.arena, self.first, self.n_items, self.kind, self.cell = arena, first, n_items, kind, cell
        self.width = kind.width if kind else 1

    def load(self, block, item):
        """The value of an item."""
        parts = [self.part(block, item, k) for k in range(self.width)]
        return self.kind(*parts) if self.kind else local(parts[0])

    def store(self, block, item, value):
        """Replace the value of an item."""
        for k, part in enumerate(value.parts if self.kind else [value]):
            self.part(block, item, k)._assign(part)

    def part(self, block, item, k):
        """Component k of an item, as an assignable expression."""
        if self.cell == self.width:
            return self.arena.at(block, self.first + item, self.cell, k)
        return self.arena.at(block, self.first + item * self.width + k, self.cell, 0)

    def read(self) -> np.ndarray:
        """Host copy, (W, n_items, width)."""
        arena, rows = self.arena, self.n_items * self.width
        out = arena.device.buffer((arena.n_blocks * arena.device.lanes, max(rows, 1)))
        _unload_cells(arena, self.cell, self.first, rows // self.cell, 0, out)
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
            _load_cells(arena, self.cell, self.first, rows // self.cell, 0, arena.n_worlds - 1, flat)


@ti.kernel
def _load_cells(arena: ti.template(), width: ti.template(), first: ti.i32, n: ti.i32, row: ti.i32, last_world: ti.i32,
                values: ti.types.ndarray()):  # fmt: skip
    """Copy (W or 1, rows), from a row on, into consecutive cells of every block."""
    if ti.static(arena.device.is_gpu):
        for cell, w in ti.ndrange(n, arena.n_blocks):  # no loop in an invocation: a driver may bound its turns
            for k in ti.static(range(width)):
                world = ti.min(ti.min(w, last_world), values.shape[0] - 1)
                arena.at(w, first + cell, width, k)._assign(values[world, row + cell * width + k])
    else:
        for w in range(arena.n_blocks):
            for cell in range(n):
                for k in ti.static(range(width)):
                    for lane in ti.static(range(arena.device.lanes)):
                        world = ti.min(ti.min(w * arena.device.lanes + lane, last_world), values.shape[0] - 1)
                        put_lane(arena.at(w, first + cell, width, k), lane, values[world, row + cell * width + k])


@ti.kernel
def _unload_cells(arena: ti.template(), width: ti.template(), first: ti.i32, n: ti.i32, row: ti.i32,
                  out: ti.types.ndarray()):  # fmt: skip
    """Copy consecutive cells of every block into (padded W, rows), from a row on."""
    if ti.static(arena.device.is_gpu):
        for cell, w in ti.ndrange(n, arena.n_blocks):
            for k in ti.static(range(width)):
                out[w, row + cell * width + k] = arena.at(w, first + cell, width, k)
    else:
        for w in range(arena.n_blocks):
            for cell in range(n):
                for k in ti.static(range(width)):
                    for lane in ti.static(range(arena.device.lanes)):
                        pack = arena.at(w, first + cell, width, k)
                        out[w * arena.device.lanes + lane, row + cell * width + k] = get_lane(pack, lane)


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
