"""Fields of fixed shapes whose indices reach any memory of the host.

The shape of a field is part of a kernel's key, so that memory of fields as large as a scene needs would make a kernel of
each scene. On the CPU an index of a field is an address, which Taichi does not check: place k of a field is k cells behind
its first. So one field of each kind of cell, with place for one, serves all scenes: their memory is arrays of numpy's, and
device code finds it by its distance from the field.

Of each kind there are many fields, each one cell behind the one before. So the k-th number of a record is found in the k-th
field at the place of the record, and k is a constant that the processor adds for nothing. Taichi takes for granted that
different fields are different memory, and it is: a number is always found through the same field (but see slots.RowSlot).

Fields are numbered by Taichi as they are made, and the numbers are in the key, too: all are made at once, when a program
starts, in one order.
"""

import ctypes
import mmap

import numpy as np
import taichi as ti
from taichi.lang import impl

from simcli.errors import DeviceError
from simcli.kernels.numbers import MOST_INTS, MOST_REALS
from simcli.kernels.runtime import CPU_LANES
from simcli.kernels.slots import INTS, MOST, REALS, SLOTS

FURTHEST = 1 << 31  # cells: indices have 32 bits. The system maps memory close together


class Reach:
    """Fields of one kind of cell, each one cell behind the other.

    Args:
        tree: of the program.
        kind: Taichi type of the numbers.
        lanes: numbers of a cell.
        most: fields.

    Attributes:
        root: address of the cell that index 0 of the first field finds.
    """

    def __init__(self, tree, kind, lanes: int = 1, most: int = 1):
        self.dtype = np.dtype({ti.i32: np.int32, ti.f32: np.float32, ti.f64: np.float64}[kind])
        self.lanes, self.cell = lanes, lanes * self.dtype.itemsize
        self.fields = [ti.Vector.field(lanes, kind) if lanes > 1 else ti.field(kind) for _ in range(most)]
        for field in self.fields:
            tree.dense(ti.i, 1).place(field)

    @property
    def ends(self) -> list:
        """The fields whose numbers are where the first and the last cell begin."""
        return [field if self.lanes == 1 else field.get_scalar_field(0) for field in (self.fields[0], self.fields[-1])]

    def zeros(self, n: int, align: int = 1) -> np.ndarray:
        """Cells of zeros that the fields reach: (n, or 1, lanes).

        Args:
            n: how many.
            align: cells between one of which and the root there is a whole number of so many.
        """
        n, step = max(n, 1), align * self.cell  # numpy does not tell where nothing is
        raw = nothing(n * self.cell + step)
        skip = (self.root - raw.ctypes.data) % step
        return raw[skip : skip + n * self.cell].view(self.dtype).reshape(n, self.lanes)

    def find(self, cells: np.ndarray) -> int:
        """The index of the first of some cells whose memory is from `nothing`.

        Raises:
            DeviceError: SC714, it is too far away, or more than indices count.
        """
        away = cells.ctypes.data - self.root
        assert away % self.cell == 0, "cells of another kind"
        place = away // self.cell
        if abs(place) + cells.nbytes // self.cell >= FURTHEST:
            raise DeviceError(f"SC714: {cells.nbytes / 1e9:.3g} GB are more than kernels reach: simulate fewer worlds")
        return place

    def at(self, k: int, place):
        """The cell k behind a place, as an assignable expression (inside kernels)."""
        return impl.subscript(impl.get_runtime().compiling_callable.ast_builder(), self.fields[k], place)


class Reaches:
    """All fields of a program.

    Attributes:
        packs: by lanes.  tables: of INTS and REALS.  notes: by type and numbers of a pack.
        int_numbers, real_numbers: fields for the numbers that a kernel reads, and their arrays.
    """

    _data_oriented = True

    def __init__(self, precision: str):
        real = ti.f64 if precision == "float64" else ti.f32
        tree = ti.FieldsBuilder()
        self.packs = {lanes: Reach(tree, real, lanes, MOST[SLOTS]) for lanes in (CPU_LANES[precision], 1)}
        self.tables = {REALS: Reach(tree, real, 1, MOST[REALS]), INTS: Reach(tree, ti.i32, 1, MOST[INTS])}
        self.notes = {key: Reach(tree, *key) for key in ((real, 1), (ti.i32, 1), (real, 6))}
        self.numbers = ti.field(ti.i32, MOST_INTS), ti.field(real, MOST_REALS)
        tree.finalize()
        every = [*self.packs.values(), *self.tables.values(), *self.notes.values()]
        self.ends = [end for reach in every for end in reach.ends]
        roots = np.zeros(len(self.ends) + 2, np.uint64)
        _find(self, roots)
        for reach, root, last in zip(every, roots[::2], roots[1::2], strict=False):
            reach.root = int(root)
            assert int(last) - reach.root == reach.cell * (len(reach.fields) - 1), "fields with gaps between"
        dtypes = (np.dtype(np.int32), np.dtype(precision))
        facts = zip(roots[-2:], dtypes, (MOST_INTS, MOST_REALS), strict=True)
        self.int_numbers, self.real_numbers = (view(int(root), n, dtype) for root, dtype, n in facts)


def nothing(n: int) -> np.ndarray:
    """Bytes that are 0, where the system puts what it maps."""
    ways = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    return np.frombuffer(mmap.mmap(-1, max(n, 1), **ways), np.uint8)


def view(address: int, n: int, dtype: np.dtype) -> np.ndarray:
    """Numbers in memory as an array."""
    return np.frombuffer((ctypes.c_char * (n * dtype.itemsize)).from_address(address), dtype)


@ti.kernel
def _find(reaches: ti.template(), roots: ti.types.ndarray()):
    """Addresses of the first numbers of fields."""
    for k in ti.static(range(len(reaches.ends))):
        roots[k] = ti.get_addr(reaches.ends[k], [0])
    for k in ti.static(range(2)):
        roots[len(reaches.ends) + k] = ti.get_addr(reaches.numbers[k], [0])


_made: list = []  # the program and its fields


def reaches(precision: str) -> Reaches:
    """The fields of the program that runs now."""
    program = impl.get_runtime().prog
    if not _made or _made[0] is not program:
        _made[:] = [program, Reaches(precision)]
    return _made[1]
