"""Memory of all worlds, and packs inside kernels.

A lane pack is a `ti.Vector` that holds the same scalar of several worlds; Taichi's CPU backend turns operations on packs
into vector instructions (language/expressions.py), which it does for no loop over worlds. All packs of a
block of worlds stand together in memory on the CPU, so that they fit the cache; on a GPU a pack is one scalar, and the world
is the last index, so that neighbouring threads read neighbouring numbers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np

from simcli.kernels.device.crew import CREW_SIZE, Crew
from simcli.kernels.device.memory_layout import MemoryLayout
from simcli.kernels.device.pack_arrays import INTS, KINDS, PACKS, REALS, PackArray, Strip
from simcli.kernels.device.runtime import GPU_BLOCK, Device
from simcli.kernels.device.storage import MASK, storage_of
from simcli.kernels.language import ti
from simcli.kernels.language.backend import program
from simcli.kernels.language.calls import ReadyLaunch, Traced, kernel_features, launch_kernel
from simcli.kernels.language.expressions import is_pack, item, lane_of, local, vector
from simcli.kernels.language.numbers import MOST_INTS, MOST_REALS, Numbers, begin, given, known, memory, number
from simcli.kernels.language.traces import traced

_OF_ALL = "all"  # the numbers of all kernels
_CLASS = 8  # factor from one bound of loops over blocks to the next
_APART = "apart"  # distance of a world's packs from one another, a variable of kernels of a GPU


class Arena(MemoryLayout):
    """Memory of all packs of all blocks, and of the tables that all worlds share.

    It is one array (storage.py), which kernels are given as an argument: one address is the base of all they touch. Numbers
    that they mention come from a table in it (numbers.py), so that a kernel serves scenes of all sizes.

    Args:
        device: of the run.
        n_worlds: of it.

    Attributes:
        single, own_single: records of one item: what a world has once, and each thread of it (crew.py).
        is_own: whether kernels that are compiled from now on serve this arena alone, and are faster for it.
        packs: those of all arrays, by their rows (`PackArray.rows`): an array of no own.
        by_rows: the packs of all arrays by rows, by their number: an array of no own.
        reach: bound of loops over all blocks where kernels are to know one: Taichi's SPIR-V starts 131072 threads otherwise.
        storage: the array.
        stride: packs from one block to the next, on the CPU.
        constants: all tables of INTS and of REALS, as the host has them.
        crew: the threads of a world, where there is one world on a CPU, else None.  n_threads: room for so many.
        between: packs from one block to the next in kernels, on the CPU; threads of one world have the same ones.
        mask: in a stage that is compiled, the worlds that write arrays; None where all do.
        of_kernel: the numbers that a kernel reads, whole and real, as the host has them.
        filled: arrays of tables, which differ between worlds, once they are uploaded.
        wide: arrays that the host has written with a value for each world.
    """

    _data_oriented = True
    _untraced = ("reach", "tables", "pending", "filled", "traced", "constants", "storage", "of_kernel", "wide")
    _numbers = ("n_worlds", "n_blocks", "stride", "between")

    def __init__(self, device: Device, n_worlds: int):
        self.device, self.n_worlds, self.n_blocks = device, n_worlds, device.blocks(n_worlds)
        self.reach = bound_over(self.n_blocks)
        self.all_records, self.tables, self.notes, self.filled, self.wide = [], [], [], [], set()
        shares = n_worlds == 1 and device.lanes == 1 and not device.is_gpu
        self.crew, self.n_threads = Crew(self) if shares else None, CREW_SIZE if shares else 1
        self.pending, self.traced, self.constants, self.is_own, self.mask = [], WeakKeyDictionary(), {}, False, None
        self.packs = PackArray(self, *self.records(0).room(PACKS, 1), 0, None)  # first, so that it begins where all packs do
        self.single, self.own_single, self.rows = self.records(1), self.own_records(1), self.records(0)
        self.single.array()  # a place that is always there: what has no items begins within the memory
        self.by_rows = PackArray(self, *self.rows.room(PACKS, 1), 0, None)

    def upload(self, other: "Arena | None" = None):
        """Fill the arrays that vary, of this arena or of a built one of the same layout."""
        self.lay_out()
        for array, values in self.pending:
            array.write(values, other)
        self.filled, self.pending = [array for array, _ in self.pending], []

    def build(self):
        """Allocate. No array can be reserved afterwards."""
        totals, device = self.lay_out(), self.device
        n_constants = {what: totals[what] + 1 for what in (INTS, REALS)}
        tables = MOST_INTS + MOST_REALS + 1
        n_shared = tables + sum(n_constants.values())
        ends = device.whole_lines(n_shared) + np.cumsum([0, *(each.size for each in self.notes)])
        packs = device.whole_lines(int(ends[-1])) // device.lanes
        self.stride = device.whole_lines(self.n_rows * device.lanes) // device.lanes
        self.between = 0 if self.crew else self.stride
        self.storage = storage_of(device)(device, n_shared, packs, (self.n_blocks, self.stride, self.n_rows))
        self.set_places({INTS: tables, REALS: tables + n_constants[INTS], PACKS: packs}, ends, n_constants)
        self.refill(self)

    def set_places(self, begins: dict[str, int], notes: np.ndarray, n_constants: dict[str, int]):
        """Say where everything is.

        Args:
            begins: of tables and packs.
            notes: where those of each begin.
            n_constants: in tables.
        """
        whole, real = self.storage.whole, self.storage.real
        self.of_kernel = whole[:MOST_INTS], real[MOST_INTS : MOST_INTS + MOST_REALS]
        self.constants = {
            what: part[begins[what] : begins[what] + n_constants[what]] for what, part in ((INTS, whole), (REALS, real))
        }
        for each, first in zip(self.notes, notes, strict=False):
            each.place = int(first)
        self.origin = _Origin(begins[PACKS])
        for what, first in begins.items():
            apart = self.n_blocks if what == PACKS and self.device.is_gpu else 1
            for strip in self.strips(what):
                strip.place = first + strip.row * apart

    def refill(self, other: "Arena"):
        """Take the shared tables of another arena, built or not, of the same layout."""
        assert other.layout == self.layout, "another layout"
        for (table, _), (_, values) in zip(self.tables, other.tables, strict=True):
            rows = table.strip.row + table.strip.rows(table.offset, table.width, table.strip.n)
            self.constants[table.what][rows] = values.ravel()
        self.storage.send()

    def launch(self, kernel, *args):
        """Call a kernel for all blocks of worlds.

        Args:
            kernel: of Taichi; it works in this arena alone, and calls `enter` for every block w < n_blocks.
            args: its own arguments.
        """
        kernel, found, args = self.compiled(kernel, *args)
        found.numbers.fill(*self.of_kernel)
        self._begin_call()
        launch_kernel(kernel, found, args)

    def ready(self, kernel, *args) -> ReadyLaunch:
        """What `launch` does, for calls that differ in few arguments."""
        kernel, found, args = self.compiled(kernel, *args)
        return ReadyLaunch(kernel, found, args, self.of_kernel)

    def launch_ready(self, ready: ReadyLaunch, given: dict) -> None:
        """Call a kernel as `launch` does.

        Args:
            ready: of this arena.
            given: arguments that are others, by their place; that of the arena's memory is 0.
        """
        ready.prepare()
        self._begin_call()
        ready.launch(given)

    def _begin_call(self) -> None:
        self.storage.send()
        if self.crew:
            self.crew.begin_call()

    def compiled(self, kernel, *args) -> tuple[object, Traced, tuple]:
        """What `launch` calls: the kernel, what it was compiled to, and its arguments.

        On devices that take each stage as a kernel all have one table of numbers, which need not be sent for each of them.
        Its order is that in which they are compiled.
        """
        kernel, args = given(kernel, self.device.real, self.device.lanes), (self.storage.given, *args)
        key, features = kernel_features(kernel, args)
        known = self.traced.setdefault(program(), {})
        if key not in known:
            of_all = known.setdefault(_OF_ALL, Numbers(self, self.is_own)) if self.device.by_spirv else None
            known[key] = traced(self, kernel, args, key, features, of_all)
        return kernel, known[key], args

    def enter(self, w):
        """Say which block a kernel or a procedure works on (inside it), before anything is loaded.

        Args:
            w: the block.
        """
        variables = (
            {_APART: partial(number, self, "n_blocks")}
            if self.device.is_gpu
            else {id(self): lambda: w * number(self, "between")}
        )
        if self.is_own:
            variables[id(self.origin)] = partial(self.begin_of, self.origin, w)
        else:
            variables |= {
                id(strip): partial(self.begin_of, strip, w if what == PACKS else None)
                for what in KINDS
                for strip in self.strips(what)
            }
        begin(variables | {id(notes): partial(notes.begin_of, w) for notes in self.notes})

    def begin_of(self, start: "Strip | _Origin", block=None):
        """The place of a strip, or of all packs, as an expression (inside kernels).

        Args:
            start: of arrays or of tables.
            block: of arrays.
        """
        place = number(start, "place")
        if block is None:
            return place
        if self.device.is_gpu:
            return block + place
        place = known(id(self), lambda: block * number(self, "between")) + place
        return place + block * number(start, "apart") if isinstance(start, Strip) and start.copies > 1 else place

    def place_of(self, strip: Strip, item, block=None):
        """The place of the numbers of an item, as an expression (inside kernels)."""
        within = item if strip.step == 1 else item * strip.step
        if block is not None:
            within = self.apart(within + strip.row if self.is_own else within)
        if self.is_own:
            within = within + block * strip.apart if strip.copies > 1 else within
            place = within + strip.place if block is None else self.begun(self.origin, block) + within
        else:
            place = self.begun(strip, block) + within
        return place if isinstance(place, int) or self.device.is_gpu else place & MASK

    def begun(self, start: "Strip | _Origin", block):
        """The variable that holds what `begin_of` gives, as an expression (inside kernels)."""
        return known(id(start), partial(self.begin_of, start, block))

    def apart(self, n):
        """The distance of a world's packs, of which n - 1 are between (inside kernels)."""
        if not self.device.is_gpu or (isinstance(n, int) and n == 0):
            return n
        return n * (self.n_blocks if self.is_own else known(_APART, partial(number, self, "n_blocks")))

    def at(self, k: int, place, block):
        """Pack k behind a place, as an assignable expression (inside kernels)."""
        return item(memory(), place + self.apart(k))

    def constant(self, what: str, k: int, place):
        """Number k behind a place of the tables of INTS or REALS, as an expression (inside kernels)."""
        return (self.whole if what == INTS else self.real)(place + k)

    def real(self, place):
        """A number of the memory as an assignable expression (inside kernels)."""
        return item(memory() if self.device.lanes == 1 else item(memory(), 0), place)

    def whole(self, place):
        """A whole number of the memory as an expression (inside kernels)."""
        return ti.cast(ti.bit_cast(self.real(place), self.whole_kind), ti.i32)

    def put_whole(self, place, value):
        """Replace a whole number of the memory (inside kernels)."""
        self.real(place)._assign(ti.bit_cast(ti.cast(value, self.whole_kind), self.device.real))

    @property
    def whole_kind(self):
        """Taichi type of whole numbers in the memory."""
        return ti.i64 if self.device.real == ti.f64 else ti.i32

    def read(self) -> np.ndarray:
        """Host copy of everything, (W with the idle lanes, rows): all state of a run, and all columns."""
        return self.read_rows(np.arange(self.n_rows))

    def read_rows(self, rows: np.ndarray) -> np.ndarray:
        """Host copy of some rows, (W with the idle lanes, n)."""
        return self.storage.read_rows(rows)

    def write(self, values: np.ndarray):
        """Set everything from a host copy of `read`; the same bits."""
        values = np.ascontiguousarray(values, self.device.dtype)
        if values.shape != (self.n_blocks * self.device.lanes, self.n_rows):
            raise ValueError(f"state of shape {values.shape} does not fit")
        self.write_rows(np.arange(self.n_rows), values)

    def write_rows(self, rows: np.ndarray, values: np.ndarray):
        """Set some rows of all lanes, (W with the idle lanes, n)."""
        self.storage.write_rows(rows, values)

    def set_real(self, strip: Strip, row: int, value: float):
        """Set a number of a strip of REALS."""
        self.constants[REALS][strip.row + row] = value
        self.storage.send()

    def destroy(self):
        """Free everything."""
        self.storage = self.of_kernel = None
        self.constants = {}

    @contextmanager
    def writing(self, mask) -> Iterator[None]:
        """Let only some worlds of a block write arrays (inside kernels), see programs.py.

        Args:
            mask: of the block.
        """
        before, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = before

    def written(self, part, value):
        """What a part of an array holds after a value has been written (inside kernels).

        Args:
            part: as it is.
            value: for the worlds that write.
        """
        if self.mask is None:
            return value
        return ti.select(self.mask, self.pack(value), part)

    def written_lane(self, number, lane, value):
        """As `written`, for the number of one lane."""
        if self.mask is None:
            return value
        return ti.select(lane_of(self.mask, lane) != 0.0, value, number)

    def writes(self, lane):
        """Whether the world of a lane writes (inside kernels): work that goes lane by lane leaves the others out."""
        return True if self.mask is None else lane_of(self.mask, lane) != 0.0

    def pack(self, value):
        """A value as a pack, with the same bits: a sum with zero would make +0 of -0 (inside kernels)."""
        if is_pack(value) or self.device.lanes == 1:
            return value
        return vector([local(ti.cast(value, self.device.real))] * self.device.lanes)

    def zero(self):
        """A pack of zeros (inside kernels). Not `x * 0.0` of a pack in memory: what a state before left may be NaN."""
        lanes = self.device.lanes
        return local(ti.Vector([0.0] * lanes, self.device.real) if lanes > 1 else ti.cast(0.0, self.device.real))


def bound_over(n_blocks: int) -> int:
    """The least bound of loops over so many blocks; there are few, because kernels depend on it."""
    reach = GPU_BLOCK
    while reach < n_blocks:
        reach *= _CLASS
    return reach


class _Origin:
    """Where all packs begin: its place."""

    _data_oriented = True

    def __init__(self, place: int):
        self.place = place
