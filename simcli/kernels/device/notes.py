"""Scalars of a block for work that goes lane by lane; ages of worlds: steps since each began, where they begin one by one.

Notes are for what branches by nature, and needs lists. The number of a step is that of the run, which all worlds of a block
have in common. A world that has begun anew has a number of its own, that since then: its age. Packs hold no whole numbers,
so that ages are worked out lane by lane.
"""

from functools import partial

import numpy as np

from simcli.kernels.device.storage import MASK
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane, is_pack, local, vector
from simcli.kernels.language.numbers import known, number
from simcli.kernels.language.values import Value


class Notes:
    """Scalars per block of worlds that the lanes use in turn. They are no part of the state.

    Args:
        arena: of the same worlds; allocates them.
        kind: Taichi type of the scalars; None for real numbers.
        width: numbers that stand together, as a vector, for 1 a scalar.
        own: whether each thread of a world has its own (crew.py).

    The numbers of a block stand together on the CPU, in lines of the cache of its own: a line that two threads write goes
    from one to the other each time. The block is the last index on a GPU, as in an Arena.
    """

    _data_oriented = True
    _numbers = ("place", "between")

    def __init__(self, arena, kind=None, width: int = 1, own: bool = False):
        self.arena, self.kind, self.width, self.own = arena, kind or arena.device.real, width, own
        self.count = 0
        self.place = 0  # of the first
        arena.notes.append(self)

    def reserve(self, n: int) -> int:
        """Index of the first of n more scalars."""
        first, self.count = self.count, self.count + n
        return first

    @property
    def stride(self) -> int:
        """Numbers of a block with those that lie idle, on the CPU."""
        return self.arena.device.whole_lines(self.count * self.width)

    @property
    def between(self) -> int:
        """Numbers from one block to the next, on the CPU; threads of one world have the same."""
        return 0 if self.arena.crew and not self.own else self.stride

    @property
    def size(self) -> int:
        """Numbers of all blocks."""
        size = self.count * self.width if self.arena.device.is_gpu else self.stride
        return size * (self.arena.crew.most if self.own and self.arena.crew else 1) * self.arena.n_blocks

    @property
    def memory(self) -> np.ndarray:
        """All of them, (blocks, scalars, numbers of each), from the host."""
        shape = self.arena.n_blocks, self.count, self.width
        return self.arena.storage.read_notes(slice(self.place, self.place + self.size), shape, self.kind == ti.i32)

    def at(self, block, k):
        """Real scalar k of a block, assignable (inside kernels)."""
        assert self.kind != ti.i32, "whole notes are loaded and stored"
        return self.item(self.place_of(block, k), 0)

    def begin_of(self, block):
        """The place of the first one of a block, as an expression (inside kernels)."""
        apart = block if self.arena.device.is_gpu else block * number(self, "between")
        return apart + number(self, "place")

    def place_of(self, block, k):
        """The place of scalar or vector k of a block (inside kernels)."""
        begun = known(id(self), partial(self.begin_of, block))
        if self.arena.device.is_gpu:
            return local(self.arena.apart(k * self.width) + begun)
        return local(begun + k * self.width & MASK)

    def item(self, place, m: int):
        """Number m behind a place, assignable (inside kernels)."""
        return self.arena.real(place + self.arena.apart(m))

    def load(self, block, k):
        """Scalar or vector k (inside kernels)."""
        place = self.place_of(block, k)
        if self.width > 1:
            return vector([self.item(place, m) for m in range(self.width)])
        return local(self.arena.whole(place) if self.kind == ti.i32 else self.item(place, 0))

    def load_first(self, block, k):
        """Whole number k of the first thread, where each has its own (inside kernels)."""
        return local(self.arena.whole(self.place_of(block, k) - block * number(self, "between")))

    def value(self, block, k, kind):
        """The value of a kind that begins at k (inside kernels)."""
        return kind(*(self.at(block, k + n) for n in range(kind.width)))

    def part(self, block, k, m):
        """Number m of vector k, assignable (inside kernels)."""
        return self.item(self.place_of(block, k), m)

    def store(self, block, k, value):
        """Replace a scalar or vector, or the scalars of a value (inside kernels)."""
        if self.width > 1:
            place, value = self.place_of(block, k), local(value)
            for m in range(self.width):
                self.item(place, m)._assign(get_lane(value, m))
        elif self.kind == ti.i32:
            self.arena.put_whole(self.place_of(block, k), value)
        else:
            for n, part in enumerate(value.parts if isinstance(value, Value) else [value]):
                self.at(block, k + n)._assign(part)


class Registers:
    """Whole numbers of a block of worlds, by name: what stages and conditions read, and lists set.

    Args:
        arena: of the run, not built yet.
        names: of the numbers.
        zeros: of those that are 0 where a list begins, and that lists alone set.
        own: whether each thread of a world has its own.
    """

    _data_oriented = True

    def __init__(self, arena, *names: str, zeros: tuple[str, ...] = (), own: bool = False):
        self.names, self.zeros, self.notes = names, zeros, Notes(arena, ti.i32, own=own)
        self.notes.reserve(len(names))

    def load(self, w, name: str):
        """The number (inside kernels)."""
        return self.notes.load(w, self.names.index(name))

    def store(self, w, name: str, value) -> None:
        """Replace the number (inside kernels)."""
        self.notes.store(w, self.names.index(name), value)


@ti.func
def begin_groups(notes: ti.template(), w: ti.i32, first: ti.i32, n: ti.i32):
    """Begin a counting sort of members into n groups; then come `count_in_group`, `end_counting` and `next_of_group`.

    In the end, from `first` on, stands where the members of each group begin, and where the last one ends: n + 2 notes.

    Writes: notes
    """
    for i in range(n + 2):
        notes.store(w, first + i, 0)


def count_in_group(notes, w, first, group) -> None:
    """Count a member of a group (inside kernels)."""
    at = first + group + 2  # two places on: the sums give where the group begins one place on, where members move it
    notes.store(w, at, notes.load(w, at) + 1)


@ti.func
def end_counting(notes: ti.template(), w: ti.i32, first: ti.i32, n: ti.i32):
    """All members are counted: sums say where groups begin.

    Writes: notes
    """
    for i in range(n):
        at = first + i + 2
        notes.store(w, at, notes.load(w, at) + notes.load(w, at - 1))


@ti.func
def next_of_group(notes: ti.template(), w: ti.i32, first: ti.i32, group: ti.i32):
    """The place of the next member of a group, after `end_counting`.

    Writes: notes
    """
    at = first + group + 1
    place = notes.load(w, at)
    notes.store(w, at, place + 1)
    return place


_MOST = 2**31 - 1
_WORD = 1 << 20  # steps are kept as multiples of it and the rest, which are whole in single precision, too


def words_of_age(began: np.ndarray, episode: np.ndarray) -> np.ndarray:
    """What `Ages.arrays` have, (W, 3).

    Args:
        began: (W,) steps before each world began.
        episode: (W,).
    """
    return np.stack([*np.divmod(began, _WORD), episode], axis=1)


class Ages:
    """When worlds have begun.

    Args:
        arena: of the same worlds.
        differ: whether worlds begin one by one; where they do not, ages are the numbers of steps.

    Attributes:
        high, low: steps before each world began, in two words.  episode: how often it has begun anew.
    """

    _data_oriented = True

    def __init__(self, arena, differ: bool):
        self.arena, self.differ, self.n_lanes = arena, differ, arena.device.lanes
        self.high, self.low, self.episode = arena.single.arrays(3) if differ else (None, None, None)

    @property
    def arrays(self) -> tuple:
        """What stands in memory."""
        return (self.high, self.low, self.episode) if self.differ else ()

    def of_lane(self, w, lane, number):
        """The age of a world at the step of a number, a whole number of 64 bits (inside kernels)."""
        if not self.differ:
            return number
        high, low = (ti.cast(get_lane(array.part(w, 0, 0), lane), ti.i64) for array in (self.high, self.low))
        return local(number - (high * _WORD + low))

    def number_of(self, w, lane):
        """How often a world has begun anew (inside kernels)."""
        return ti.cast(get_lane(self.episode.part(w, 0, 0), lane), ti.u64) if self.differ else ti.cast(0, ti.u64)

    def pack(self, w, number):
        """Ages as real numbers: a pack, or one number of all worlds (inside kernels)."""
        if not self.differ:
            return ti.cast(number, self.arena.device.real)
        return self._each(lambda lane: ti.cast(self.of_lane(w, lane, number), self.arena.device.real))

    def number(self, w, number):
        """Ages as whole numbers of 32 bits at most, or as real ones in a pack (inside kernels)."""
        if not self.differ:
            return local(ti.cast(ti.min(number, ti.cast(_MOST, ti.i64)), ti.i32))
        return self.pack(w, number)

    def due(self, w, number, every):
        """Whether an age is a multiple of `every`: a mask, or a bit of all worlds (inside kernels)."""
        if not self.differ and not is_pack(every):
            return number % ti.cast(every, ti.i64) == 0
        every, real = local(every), self.arena.device.real
        divisor = lambda lane: ti.cast(get_lane(every, lane), ti.i64)  # noqa: E731
        is_due = self._each(lambda lane: ti.cast(self.of_lane(w, lane, number) % divisor(lane) == 0, real))
        return local(is_due != 0.0)

    def others(self, mask):
        """The worlds that a mask of `due` leaves out (inside kernels)."""
        return local(~mask) if is_pack(mask) else ti.select(mask, 0, 1) != 0

    def have_begun(self, w, number):
        """Whether ages are more than zero, likewise (inside kernels)."""
        return local(self.pack(w, number) > 0.0) if self.differ else number > 0

    def _each(self, value):
        """A pack of what is found for each lane (inside kernels)."""
        if self.n_lanes == 1:
            return local(value(0))
        return vector([value(lane) for lane in range(self.n_lanes)])

    def take(self, mask, function, *args) -> None:
        """Call a device function for the worlds of such a mask; the others write nothing (inside kernels)."""
        if is_pack(mask):
            with self.arena.writing(mask if self.arena.mask is None else local(mask & self.arena.mask)):
                function(*args)
        else:
            function(*args)
