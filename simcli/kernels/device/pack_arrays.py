"""Quantities of items in memory: what arrays and tables are inside kernels, and where their numbers stand.

What is known of an item (a link, a row, a contact) stands together, in a record. Where the records begin depends on the
scene, and is a number that a kernel reads (numbers.py); the place within a record depends on what the kernel can do, and is
a constant of it. So the address of a record is worked out once, and serves all quantities of the item as it is: a processor
adds a constant to an address for nothing. Quantities of which each has a first address of its own are too many for its
registers; they cost 15 % of a chain's step and 20 to 60 % of a contact's. Arrays have room for one item at least, so that
whoever looks at the first of none looks at nothing else.
"""

from collections.abc import Sequence

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.language.expressions import local
from simcli.kernels.language.numbers import number

PACKS, INTS, REALS = "packs", "ints", "reals"  # what records hold
KINDS = (PACKS, INTS, REALS)


class Strip:
    """Some quantities of items: `step` numbers of each, item after item.

    Attributes:
        n: items.
        step: numbers of an item.
        row: number of the first among all that the arena has of a block, or of tables.
        place: where that is in the memory, of the first block.
        copies: how many threads of a world have their own (crew.py).  apart: numbers from one to the next.
    """

    _data_oriented = True
    _numbers = ("row", "place", "apart")

    def __init__(self, n: int, copies: int = 1):
        self.n, self.step, self.row, self.place, self.copies, self.apart = n, 0, 0, 0, copies, 0

    @property
    def size(self) -> int:
        """Numbers of all items."""
        return self.n * self.step if self.copies == 1 else self.apart * self.copies

    def rows(self, offset: int, width: int, n: int) -> np.ndarray:
        """Where the numbers of a quantity of n items are, flat, from the first number of the strip on."""
        return (offset + self.step * np.arange(n)[:, None] + np.arange(width)).reshape(-1)


class Records:
    """Memory of an arena for n items of one kind.

    Args:
        arena: of the same worlds.
        n: how many; None: as many as the first table has.
        copies: of arrays, one for each thread of a world.

    Attributes:
        strips: by what they hold, of KINDS; those that are in use.
    """

    def __init__(self, arena, n: int | None = None, copies: int = 1):
        self.arena, self.n, self.copies = arena, n, copies
        self.strips: dict[str, Strip] = {}

    def room(self, what: str, width: int) -> tuple[Strip, int]:
        """The strip of a kind, with room for further numbers of an item, and where they begin."""
        if what not in self.strips:
            self.strips[what] = Strip(self.n or 1 if what == PACKS else self.n, self.copies)
        strip = self.strips[what]
        strip.step += width
        return strip, strip.step - width

    def array(self, kind=None) -> "PackArray":
        """Reserve a value of a kind for each item (a class of language/values.py; None for a plain pack)."""
        return PackArray(self.arena, *self.room(PACKS, kind.width if kind else 1), self.n, kind)

    def arrays(self, count: int, kind=None) -> list["PackArray"]:
        """Several of them."""
        return [self.array(kind) for _ in range(count)]

    def ints(self, values) -> "Ints":
        """An integer for each item, which all worlds share."""
        array = np.ascontiguousarray(values, np.int32)
        if self.n is None:
            self.n = array.size
        if array.size != self.n:
            raise ValueError(f"{array.size} integers of {self.n} items")
        table = Ints(self.arena, *self.room(INTS, 1))
        self.arena.tables.append((table, array))
        return table

    def shared(self, values, kind=None) -> "Shared":
        """A real value of a kind, as in `array`, for each item, which all worlds share."""
        array = np.ascontiguousarray(values, np.float64)
        width = kind.width if kind else 1
        if self.n is None:
            self.n = array.size // width
        if array.size != self.n * width:
            raise ValueError(f"{array.size} numbers of {self.n} items of {width}")
        table = Shared(self.arena, *self.room(REALS, width), kind)
        self.arena.tables.append((table, array))
        return table

    def column(self, values, kind=None, driven: bool = False) -> "Shared | PackArray":
        """A real value for each item: shared if all worlds have the same, else an array, which `Arena.upload` fills.

        Args:
            values: (W|1, n, ...).
            kind: of a value.
            driven: whether signals write it: an array by rows.
        """
        values = np.asarray(values)
        if len(values) == 1 and not driven:
            return self.shared(values[0], kind)
        return self.arena.fill(self.arena.array_by_rows(self.n, kind) if driven else self.array(kind), values)


class Ints:
    """A table of integers: `at(i)` inside kernels."""

    _data_oriented = True

    what = INTS

    def __init__(self, arena, strip: Strip, offset: int):
        self.arena, self.strip, self.offset, self.width = arena, strip, offset, 1

    def at(self, item):
        """Entry of an item (inside kernels)."""
        return local(self.arena.constant(INTS, self.offset, self.arena.place_of(self.strip, item)))


class Shared:
    """A column that all worlds share: `load(w, i)` gives a value of scalars, or one scalar."""

    _data_oriented = True

    what = REALS

    def __init__(self, arena, strip: Strip, offset: int, kind):
        self.arena, self.strip, self.offset, self.kind, self.width = arena, strip, offset, kind, kind.width if kind else 1

    def load(self, block, item):
        """The value of an item; `block` is not used."""
        place = local(self.arena.place_of(self.strip, item))
        parts = [self.arena.constant(REALS, self.offset + k, place) for k in range(self.width)]
        return self.kind(*parts) if self.kind else local(parts[0])

    def set(self, item: int, value: float) -> None:
        """Set a number of a column of plain numbers, from the host."""
        self.arena.set_real(self.strip, item * self.strip.step + self.offset, value)


class PackArray:
    """A quantity per (block of worlds, item): `load(w, i)` and `store(w, i, value)` inside kernels.

    Attributes:
        base: host values of the start of a run, (W|1, n_items * width), where it has some.
        is_masked: whether only the worlds that write are written.
    """

    _data_oriented = True

    def __init__(self, arena, strip: Strip, offset: int, n_items: int, kind):
        self.is_masked = True
        self.arena, self.strip, self.offset, self.n_items, self.kind = arena, strip, offset, n_items, kind

    @property
    def width(self) -> int:
        """Packs of a value; a constant in kernels."""
        return self.kind.width if self.kind else 1

    def load(self, block, item):
        """The value of an item."""
        parts = self.parts(block, item)
        return self.kind(*parts) if self.kind else local(parts[0])

    def store(self, block, item, value):
        """Replace the value of an item, in the worlds that write (`Arena.writing`)."""
        for part, new in zip(self.parts(block, item), value.parts if self.kind else [value], strict=True):
            part._assign(self.arena.written(part, new) if self.is_masked else new)

    def parts(self, block, item) -> Sequence:
        """All components of an item, as assignable expressions."""
        place = local(self.arena.place_of(self.strip, item, block))
        return [self.arena.at(self.offset + k, place, block) for k in range(self.width)]

    def part(self, block, item, k: int):
        """Component k of an item, as an assignable expression."""
        return self.arena.at(self.offset + k, self.arena.place_of(self.strip, item, block), block)

    def replace(self, block, item, k: int, value):
        """Replace component k of an item, in the worlds that write."""
        part = self.part(block, item, k)
        part._assign(self.arena.written(part, value) if self.is_masked else value)

    def scratch(self) -> "PackArray":
        """Itself, from now on for what is worked out anew before anybody reads it: it is written for all worlds."""
        self.is_masked = False
        return self

    def of_block(self) -> "PackArray":
        """Itself, from now on for numbers that all worlds of a block have in common: any of them writes all."""
        self.is_masked = False
        return self

    @property
    def rows(self) -> np.ndarray:
        """Of the arena, of all items."""
        return self.strip.row + self.strip.rows(self.offset, self.width, self.n_items)

    def read(self) -> np.ndarray:
        """Host copy, (W, n_items, width)."""
        n = self.arena.n_worlds
        return self.arena.read_rows(self.rows)[:n].reshape(n, self.n_items, self.width)

    def write(self, values: np.ndarray, arena=None):
        """Set from host values, (W or 1, n_items, width); unused lanes of the last pack repeat the last world.

        A repeated world cannot fail where the last one does not, so that no idle lane slows or disturbs a pack.

        Args:
            values: of all items.
            arena: where, if not in our own: one of the same layout.
        """
        arena = arena or self.arena
        flat = np.asarray(values, arena.device.dtype).reshape(len(values), self.n_items * self.width)
        n = arena.n_blocks * arena.device.lanes
        if flat.size and len(flat) == 1:
            arena.write_rows(self.rows, flat)
        elif flat.size:
            arena.wide |= {self}
            worlds = np.minimum(np.arange(n), min(len(flat), arena.n_worlds) - 1)
            arena.write_rows(self.rows, flat if len(flat) == n == arena.n_worlds else flat[worlds])


class RowPackArray(PackArray):
    """An array whose packs are found by their number, too, in `Arena.by_rows`. The number is known before memory is laid
    out.

    Attributes:
        first: number of the first pack.
    """

    def __init__(self, arena, strip: Strip, n_items: int, kind):
        super().__init__(arena, strip, 0, n_items, kind)
        self.first = strip.n
        strip.n += n_items * self.width

    def parts(self, block, item) -> Sequence:
        """All components of an item, as assignable expressions."""
        return [self.part(block, item, k) for k in range(self.width)]

    def part(self, block, item, k: int):
        """Component k of an item, as an assignable expression."""
        row = item * self.width + k + number(self, "first")
        return self.arena.at(0, self.arena.place_of(self.strip, row, block), block)

    @property
    def rows(self) -> np.ndarray:
        """Of the arena, of all items."""
        return self.strip.row + self.first + np.arange(self.n_items * self.width)


@ti.func
def copy(target: ti.template(), source: ti.template(), n: ti.template(), w: ti.i32):
    """Copy n packs of a block."""
    for i in range(n):
        target.store(w, i, source.load(w, i))


class BoundedColumn:
    """A column that signals drive, and that counts as within bounds whatever they say: `load(w, i)` inside kernels."""

    _data_oriented = True

    width, kind = 1, None

    def __init__(self, column, least: float, most: float):
        self.column, self.least, self.most = column, least, most

    def load(self, block, item):
        """The number of an item."""
        value = self.column.load(block, item)
        return local(ti.min(ti.max(value, value * 0.0 + self.least), value * 0.0 + self.most))

    def part(self, block, item, _k: int):
        """The number of an item, as of columns whose values have components."""
        return self.load(block, item)
