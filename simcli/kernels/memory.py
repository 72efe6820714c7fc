"""Memory of all worlds, and packs inside kernels.

Taichi's internals (1.7.4, frozen upstream) are used here and in numbers.py, slots.py, notes.py, procedures.py, rolling.py,
vectors.py, runtime.py and compilations.py.

A lane pack is a `ti.Vector` that holds the same scalar of several worlds; Taichi's CPU backend turns operations on packs
into vector instructions (vectors.py), which it does for no loop over worlds (performance.md, finding 1). All packs of a
block of worlds stand together in memory on the CPU, so that they fit the cache; on a GPU a pack is one scalar, and the world
is the last index, so that neighbouring threads read neighbouring numbers.
"""

import mmap
from collections.abc import Iterator
from functools import partial

import numpy as np
import taichi as ti
from taichi.lang import impl
from taichi.lang.expr import Expr

from simcli.errors import DeviceError
from simcli.kernels.numbers import MOST_INTS, MOST_REALS, Numbers, begin, given, known, listening, memory, number
from simcli.kernels.runtime import Device
from simcli.kernels.slots import INTS, KINDS, REALS, SLOTS, Ints, Records, RowSlot, Shared, Slot, Strip, local
from simcli.kernels.vectors import as_numbers, is_mask

# Places are one less than where things are, so that all accesses have something to add, and their addresses one form.
MASK = (1 << 30) - 1  # of a place: so LLVM knows that what is added to it does not overflow, and adds it to the address
PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}  # to this process
PACKS_OF_LINE = 2  # of a cache line of 64 bytes


def is_pack(x) -> bool:
    """True if x, inside a kernel being compiled, is a lane pack rather than a scalar."""
    return x.is_tensor() if isinstance(x, Expr) else isinstance(x, ti.Matrix)


class Arena:
    """Memory of all packs of all blocks, and of the tables that all worlds share.

    On the CPU it is one array of the host, which kernels are given as an argument: one address is the base of all they
    touch. Numbers that they mention come from a table in it (numbers.py), so that a kernel serves scenes of all sizes. On a
    GPU it is one tree of fields, because a process may hold 512 of them only, and numbers are constants.

    Args:
        device: of the run.
        n_worlds: of it.

    Attributes:
        single: records of one item: what a world has once.
        is_own: whether kernels that are compiled from now on serve this arena alone, and are faster for it.
        by_rows: the packs of all slots by rows, by their number: a slot of no own.
        stride: packs from one block to the next.
        given: on the CPU, the whole array, (packs, lanes), or flat where a pack is a scalar.
        memory: on the CPU, all slots, (blocks, packs, lanes).
        constants: on the CPU, all tables of INTS and of REALS.
        of_kernel: on the CPU, the numbers that a kernel reads, whole and real.
    """

    _data_oriented = True

    def __init__(self, device: Device, n_worlds: int):
        self.device, self.n_worlds, self.n_blocks = device, n_worlds, device.blocks(n_worlds)
        self.all_records, self.tables, self.notes = [], [], []
        self.pending, self.traced, self.constants, self.is_own = [], {}, {}, False
        self.single, self.rows = self.records(1), self.records(0)
        self.single.slot()  # a place that is always there: what has no items begins within the memory
        self.by_rows = Slot(self, *self.rows.room(SLOTS, 1), 0, None)

    def records(self, n: int | None = None) -> Records:
        """Memory for n items of one kind; None: as many as the first table has."""
        records = Records(self, n)
        self.all_records.append(records)
        return records

    def slot(self, n_items: int, kind=None) -> Slot:
        """Reserve a quantity of n_items values of a kind (None for a plain pack), of items of its own."""
        return self.records(n_items).slot(kind)

    def ints(self, values) -> Ints:
        """A table of integers that all worlds share, of items of its own."""
        return self.records().ints(values)

    def shared(self, values, kind=None) -> Shared:
        """A column of real values that all worlds share, of a kind as in `slot`, of items of its own."""
        return self.records().shared(values, kind)

    def slot_by_rows(self, n_items: int, kind=None) -> RowSlot:
        """A slot whose packs are found by their number, too, in `by_rows`."""
        return RowSlot(self, self.by_rows.strip, n_items, kind)

    def fill(self, slot: Slot, values: np.ndarray) -> Slot:
        """Remember what is in a slot as a run begins, (W|1, items, ...): `upload` writes it."""
        values = np.asarray(values).reshape(len(values), slot.n_items, slot.width)
        slot.base = values.reshape(len(values), -1)
        self.pending.append((slot, values))
        return slot

    def upload(self, other: "Arena | None" = None):
        """Fill the slots that vary, of this arena or of a built one of the same layout."""
        self.lay_out()
        for slot, values in self.pending:
            slot.write(values, other)
        self.pending.clear()

    def strips(self, what: str) -> Iterator[Strip]:
        """All that hold SLOTS, INTS or REALS."""
        return (records.strips[what] for records in self.all_records if what in records.strips)

    @property
    def layout(self) -> list[tuple]:
        """What two arenas have in common if one can take the numbers of the other."""
        self.lay_out()
        return [(what, strip.n, strip.step) for what in KINDS for strip in self.strips(what)]

    def add_notes(self, notes):
        """Allocate them with everything else."""
        self.notes.append(notes)

    def has_structure_of(self, other: "Arena") -> bool:
        """Whether all integers are those of another arena."""
        pairs = zip(self.tables, other.tables, strict=True)
        return all(np.array_equal(a, b) for (table, a), (_, b) in pairs if isinstance(table, Ints))

    def lay_out(self) -> dict[str, int]:
        """Let all strips stand one after another; gives the numbers of each kind."""
        totals = dict.fromkeys(KINDS, 0)
        for what in KINDS:
            for strip in self.strips(what):
                if what == SLOTS and strip.step > 2:
                    strip.step |= 1  # items that are a power of two apart would share a few lines of the cache
                strip.row = totals[what]
                totals[what] += strip.size
        return totals

    @property
    def n_rows(self) -> int:
        """Packs of a block."""
        return self.lay_out()[SLOTS]

    @property
    def n_ints(self) -> int:
        """Integers that all worlds share."""
        return self.lay_out()[INTS]

    @property
    def n_reals(self) -> int:
        """Real numbers that all worlds share."""
        return self.lay_out()[REALS]

    def build(self):
        """Allocate. No slot can be reserved afterwards."""
        totals = self.lay_out()
        self.n_constants = {what: totals[what] + 1 for what in (INTS, REALS)}
        if self.device.is_gpu:
            self.build_fields()
        else:
            self.build_memory()
        self.refill(self)

    def build_memory(self):
        """Allocate on the CPU: numbers of kernels, tables, notes, then all packs; blocks begin where cache lines do."""
        lanes, dtype = self.device.lanes, np.dtype(self.device.dtype)
        self.stride = -(-self.n_rows // PACKS_OF_LINE) * PACKS_OF_LINE
        tables = MOST_INTS + MOST_REALS + 1
        notes = tables + sum(self.n_constants.values())
        ends = notes + np.cumsum([0, *(each.count * each.width * self.n_blocks for each in self.notes)])
        packs = -(-int(ends[-1]) // (lanes * PACKS_OF_LINE)) * PACKS_OF_LINE
        n_packs = packs + self.n_blocks * self.stride
        if max(ends[-1], n_packs) > MASK:
            raise DeviceError(f"SC714: {n_packs * lanes * dtype.itemsize / 1e9:.3g} GB are more than kernels reach: "
                              "simulate fewer worlds, or smaller ones")
        real = np.frombuffer(mmap.mmap(-1, n_packs * lanes * dtype.itemsize, **PRIVATE), dtype)
        whole, by_packs = real.view(f"i{dtype.itemsize}"), real.reshape(n_packs, lanes)
        self.given = by_packs if lanes > 1 else real
        self.memory = by_packs[packs:].reshape(self.n_blocks, self.stride, lanes)[:, : self.n_rows]
        self.of_kernel = whole[:MOST_INTS], real[MOST_INTS : MOST_INTS + MOST_REALS]
        begins = {INTS: tables, REALS: tables + self.n_constants[INTS], SLOTS: packs}
        self.constants = {what: part[begins[what] : begins[what] + self.n_constants[what]]
                          for what, part in ((INTS, whole), (REALS, real))}  # fmt: skip
        for each, first, end in zip(self.notes, ends, ends[1:], strict=False):
            each.place, part = int(first) - 1, whole if each.kind == ti.i32 else real
            each.memory = part[first:end].reshape(self.n_blocks, each.count, each.width)
        self.origin = Origin(packs - 1)
        for what, first in begins.items():
            for strip in self.strips(what):
                strip.place = first - 1 + strip.row

    def build_fields(self):
        """Allocate on a GPU."""
        self.tree = ti.FieldsBuilder()
        real = self.device.real
        self.field, self.fields = ti.field(real), {INTS: ti.field(ti.i32), REALS: ti.field(real)}
        self.tree.dense(ti.ij, (self.n_rows, self.n_blocks)).place(self.field)
        for what, n in self.n_constants.items():
            self.tree.dense(ti.i, n).place(self.fields[what])
        self.snode = self.tree.finalize()
        for notes in self.notes:
            notes.build()

    def refill(self, other: "Arena"):
        """Take the shared tables of another arena, built or not, of the same layout."""
        assert other.layout == self.layout, "another layout"
        kinds = {INTS: np.int32, REALS: self.device.dtype}
        filled = {what: np.zeros(n, kinds[what]) for what, n in self.n_constants.items()}
        for (table, _), (_, values) in zip(self.tables, other.tables, strict=True):
            filled[table.what][table.strip.row + table.strip.rows(table.offset, table.width, table.strip.n)] = values.ravel()
        if self.device.is_gpu:
            _load_constants(self.fields[INTS], filled[INTS])
            _load_constants(self.fields[REALS], filled[REALS])
            return
        for what, values in filled.items():
            self.constants[what][:] = values

    def launch(self, kernel, *args):
        """Call a kernel for all blocks of worlds.

        Args:
            kernel: of Taichi; it works in this arena alone, and calls `enter` for every block w < n_blocks.
            args: its own arguments.
        """
        if not self.device.is_gpu:
            kernel = given(kernel, self.device.real, self.device.lanes)
            numbers, args = Numbers(self, self.is_own), (self.given, *args)
            with listening(numbers):
                numbers = self.traced.setdefault(kernel.ensure_compiled(*args), numbers)
            numbers.fill(*self.of_kernel)
        kernel(*args)

    def enter(self, w):
        """Say which block a kernel or a procedure works on (inside it), before anything is loaded.

        Args:
            w: the block.
        """
        if not self.device.is_gpu:
            variables = {id(self): lambda: w * number(self, "stride")}
            if self.is_own:
                variables[id(self.origin)] = partial(self.begin_of, self.origin, w)
            else:
                variables |= {id(strip): partial(self.begin_of, strip, w if what == SLOTS else None)
                              for what in KINDS for strip in self.strips(what)}  # fmt: skip
            begin(variables)

    def begin_of(self, start: "Strip | Origin", block=None):
        """The place of a strip, or of all packs, as an expression (inside kernels of the CPU).

        Args:
            start: of slots or of tables.
            block: of slots.
        """
        place = number(start, "place")
        return place if block is None else known(id(self), lambda: block * number(self, "stride")) + place

    def place_of(self, strip: Strip, item, block=None):
        """The place of the numbers of an item, as an expression (inside kernels)."""
        within = item if strip.step == 1 else item * strip.step
        if self.device.is_gpu:
            return within + strip.row
        if not self.is_own:
            place = known(id(strip), partial(self.begin_of, strip, block)) + within
        elif block is None:
            place = within + strip.place
        else:
            place = known(id(self.origin), partial(self.begin_of, self.origin, block)) + (within + strip.row)
        return place if isinstance(place, int) else place & MASK

    def at(self, k: int, place, block):
        """Pack k behind a place, as an assignable expression (inside kernels)."""
        if self.device.is_gpu:
            return impl.subscript(impl.get_runtime().compiling_callable.ast_builder(), self.field, place + k, block)
        return self.item(memory(), place + (k + 1))

    def constant(self, what: str, k: int, place):
        """Number k behind a place of the tables of INTS or REALS, as an expression (inside kernels)."""
        if self.device.is_gpu:
            return impl.subscript(impl.get_runtime().compiling_callable.ast_builder(), self.fields[what], place + k)
        return self.whole(place + (k + 1)) if what == INTS else self.real(place + (k + 1))

    def real(self, place):
        """A number of the memory as an assignable expression (inside kernels of the CPU)."""
        return self.item(memory() if self.device.lanes == 1 else self.item(memory(), 0), place)

    def whole(self, place):
        """A whole number of the memory as an expression (inside kernels of the CPU)."""
        return ti.cast(ti.bit_cast(self.real(place), self.whole_kind), ti.i32)

    def put_whole(self, place, value):
        """Replace a whole number of the memory (inside kernels of the CPU)."""
        self.real(place)._assign(ti.bit_cast(ti.cast(value, self.whole_kind), self.device.real))

    @property
    def whole_kind(self):
        """Taichi type of whole numbers in the memory."""
        return ti.i64 if self.device.real == ti.f64 else ti.i32

    def item(self, array, place):
        """An item of an array, as an assignable expression (inside kernels)."""
        return impl.subscript(impl.get_runtime().compiling_callable.ast_builder(), array, place)

    def read(self) -> np.ndarray:
        """Host copy of everything, (W with the idle lanes, rows): all state of a run, and all columns."""
        return self.read_rows(np.arange(self.n_rows))

    def read_rows(self, rows: np.ndarray) -> np.ndarray:
        """Host copy of some rows, (W with the idle lanes, n)."""
        if not self.device.is_gpu:
            return self.memory[:, rows].swapaxes(1, 2).reshape(self.n_blocks * self.device.lanes, len(rows))
        out = self.device.buffer((self.n_blocks, max(len(rows), 1)))
        _unload(self.field, rows.astype(np.int32), self.n_blocks, out)
        return self.device.fetch(out)[:, : len(rows)]

    def write(self, values: np.ndarray):
        """Set everything from a host copy of `read`; the same bits."""
        values = np.ascontiguousarray(values, self.device.dtype)
        if values.shape != (self.n_blocks * self.device.lanes, self.n_rows):
            raise ValueError(f"state of shape {values.shape} does not fit")
        self.write_rows(np.arange(self.n_rows), values)

    def write_rows(self, rows: np.ndarray, values: np.ndarray):
        """Set some rows of all lanes, (W with the idle lanes, n)."""
        if self.device.is_gpu:
            _load(self.field, rows.astype(np.int32), np.ascontiguousarray(values), self.n_blocks)
        else:
            self.memory[:, rows] = values.reshape(self.n_blocks, self.device.lanes, -1).swapaxes(1, 2)

    def set_real(self, strip: Strip, row: int, value: float):
        """Set a number of a strip of REALS."""
        if self.device.is_gpu:
            self.fields[REALS][strip.row + row] = value
        else:
            self.constants[REALS][strip.row + row] = value

    def destroy(self):
        """Free everything."""
        if self.device.is_gpu:
            self.snode.destroy()
        self.given = self.memory = self.of_kernel = None
        self.constants = {}
        for notes in self.notes:
            notes.destroy()

    def zero(self):
        """A pack of zeros (inside kernels). Not `x * 0.0` of a pack in memory: what a state before left may be NaN."""
        lanes = self.device.lanes
        return local(ti.Vector([0.0] * lanes, self.device.real) if lanes > 1 else ti.cast(0.0, self.device.real))


class Origin:
    """Where all packs begin: its place."""

    _data_oriented = True

    def __init__(self, place: int):
        self.place = place


@ti.kernel
def _load_constants(field: ti.template(), values: ti.types.ndarray()):
    """Fill the tables that all worlds share, on a GPU."""
    for i in range(values.shape[0]):
        field[i] = values[i]


@ti.kernel
def _load(field: ti.template(), rows: ti.types.ndarray(), values: ti.types.ndarray(), n_blocks: ti.i32):
    """Copy (W, n) into rows of a GPU's memory."""
    for k, w in ti.ndrange(rows.shape[0], n_blocks):  # no loop in an invocation: a driver may bound its turns
        field[rows[k], w] = values[w, k]


@ti.kernel
def _unload(field: ti.template(), rows: ti.types.ndarray(), n_blocks: ti.i32, out: ti.types.ndarray()):
    """Copy rows of a GPU's memory into (W, n)."""
    for k, w in ti.ndrange(rows.shape[0], n_blocks):
        out[w, k] = field[rows[k], w]


def lane_of(pack, lane):
    """A lane of a pack, assignable (inside kernels); of a mask 0.0 or 1.0, not assignable."""
    builder = impl.get_runtime().compiling_callable.ast_builder()
    return impl.subscript(builder, as_numbers(pack) if is_mask(pack) else pack, lane)


def put_lane(pack, lane: int, value):
    """Assign one lane of an assignable pack (inside kernels)."""
    assert not (is_pack(pack) and is_mask(pack)), "lanes of a mask cannot be written"
    (lane_of(pack, lane) if is_pack(pack) else pack)._assign(value)


def get_lane(pack, lane: int):
    """One lane of a pack (inside kernels)."""
    return lane_of(pack, lane) if is_pack(pack) else pack


def any_lane(mask):
    """True if any lane of a mask is set (inside kernels)."""
    if not is_pack(mask):
        return mask
    numbers = as_numbers(mask)
    builder = impl.get_runtime().compiling_callable.ast_builder()
    lanes = [impl.subscript(builder, numbers, k) for k in range(mask.get_shape()[0])]
    found = lanes[0] != 0.0
    for lane in lanes[1:]:
        found = found | (lane != 0.0)
    return found
