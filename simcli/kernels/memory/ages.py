"""Steps since each world began, where worlds begin one by one; else all of them began with the run.

The number of a step is that of the run, which all worlds of a block have in common. A world that has begun anew has a number
of its own, that since then: its age. Packs hold no whole numbers, so that ages are worked out lane by lane.
"""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.language.expressions import is_pack, local
from simcli.kernels.language.vectors import get_lane, vector
from simcli.kernels.memory.arena import Arena

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

    def __init__(self, arena: Arena, differ: bool):
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
