"""What the memory of all worlds holds: arrays and tables that are reserved, and how they stand one after another."""

from collections.abc import Iterator

import numpy as np

from simcli.kernels.device.pack_arrays import (
    KINDS,
    PACKS,
    Ints,
    PackArray,
    Records,
    RowPackArray,
    Shared,
    Strip,
)
from simcli.kernels.device.runtime import Device


class MemoryLayout:
    """The arrays and tables of an `Arena`, whose attributes it reads: reserved before, found after it is built."""

    _data_oriented = True

    all_records: "list[Records]"
    by_rows: PackArray
    device: Device
    n_threads: int
    pending: list[tuple[PackArray, np.ndarray]]
    tables: list[tuple]

    def records(self, n: int | None = None) -> Records:
        """Memory for n items of one kind; None: as many as the first table has."""
        records = Records(self, n)
        self.all_records.append(records)
        return records

    def own_records(self, n: int) -> Records:
        """As `records`; each thread of a world has its own (crew.py)."""
        records = Records(self, n, self.n_threads)
        self.all_records.append(records)
        return records

    def own_array(self, n_items: int, kind=None) -> PackArray:
        """As `array`, of a quantity that is worked out anew before anybody reads it; each thread of a world has its own."""
        return self.own_records(n_items).array(kind).scratch()

    def array(self, n_items: int, kind=None) -> PackArray:
        """Reserve a quantity of n_items values of a kind (None for a plain pack), of items of its own."""
        return self.records(n_items).array(kind)

    def ints(self, values) -> Ints:
        """A table of integers that all worlds share, of items of its own."""
        return self.records().ints(values)

    def shared(self, values, kind=None) -> Shared:
        """A column of real values that all worlds share, of a kind as in `array`, of items of its own."""
        return self.records().shared(values, kind)

    def array_by_rows(self, n_items: int, kind=None) -> RowPackArray:
        """An array whose packs are found by their number, too, in `by_rows`."""
        return RowPackArray(self, self.by_rows.strip, n_items, kind)

    def fill(self, array: PackArray, values: np.ndarray) -> PackArray:
        """Remember what is in an array as a run begins, (W|1, items, ...): `upload` writes it."""
        values = np.asarray(values).reshape(len(values), array.n_items, array.width)
        array.base = values.reshape(len(values), -1)
        self.pending.append((array, values))
        return array

    def strips(self, what: str) -> Iterator[Strip]:
        """All that hold PACKS, INTS or REALS."""
        return (records.strips[what] for records in self.all_records if what in records.strips)

    @property
    def layout(self) -> list[tuple]:
        """What two arenas have in common if one can take the numbers of the other."""
        self.lay_out()
        return [(what, strip.n, strip.step) for what in KINDS for strip in self.strips(what)]

    def has_structure_of(self, other: "MemoryLayout") -> bool:
        """Whether all integers are those of another arena."""
        pairs = zip(self.tables, other.tables, strict=True)
        return all(np.array_equal(a, b) for (table, a), (_, b) in pairs if isinstance(table, Ints))

    def lay_out(self) -> dict[str, int]:
        """Let all strips stand one after another; gives the numbers of each kind."""
        totals = dict.fromkeys(KINDS, 0)
        for what in KINDS:
            for strip in self.strips(what):
                if what == PACKS and strip.step > 2:
                    strip.step |= 1  # items that are a power of two apart would share a few lines of the cache
                line = self.device.whole_lines(1)  # between those of two threads, so that none has numbers of both
                strip.row, strip.apart = totals[what], self.device.whole_lines(strip.n * strip.step) + line
                totals[what] += strip.size
        return totals

    @property
    def n_rows(self) -> int:
        """Packs of a block."""
        return self.lay_out()[PACKS]
