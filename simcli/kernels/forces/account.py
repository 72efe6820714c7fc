"""The account of a run: work that forces have done since its start, and the powers of an instant.

Whoever knows what a force does books it here: in what dissipates, or in what is put in. Work is force times displacement;
steps that know powers book power times time.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.memory.arena import Arena, local

DISSIPATED, SUPPLIED = range(2)  # rows of each array


class Account:
    """Work and power of all forces, dissipated and supplied (methods inside kernels, but for `clear`).

    Args:
        arena: of the run.

    Attributes:
        work: [J] since the start.  power: [W] now.  start: [W] where a stretch began whose work is a trapezoid.
    """

    _data_oriented = True

    def __init__(self, arena: Arena):
        self.work, self.power, self.start = self.arrays = arena.records(2).arrays(3)

    def clear(self):
        """Nothing is done yet."""
        for array in self.arrays:
            array.write([[[0.0], [0.0]]])

    def dissipate(self, w, energy) -> None:
        """Book energy that is gone [J]."""
        self.work.store(w, DISSIPATED, self.work.load(w, DISSIPATED) + energy)

    def supply(self, w, energy) -> None:
        """Book energy that was put in [J]."""
        self.work.store(w, SUPPLIED, self.work.load(w, SUPPLIED) + energy)

    def set_power(self, w, dissipated, supplied) -> None:
        """The powers of this instant [W]."""
        self.power.store(w, DISSIPATED, dissipated)
        self.power.store(w, SUPPLIED, supplied)

    def add_power(self, w, dissipated, supplied) -> None:
        """More power at this instant [W]."""
        self.set_power(w, self.power.load(w, DISSIPATED) + dissipated, self.power.load(w, SUPPLIED) + supplied)

    def book_power(self, w, time) -> None:
        """Book the powers of this instant over a time [s]."""
        for k in range(2):
            self.work.store(w, k, self.work.load(w, k) + self.power.load(w, k) * time)

    def change(self, w, k):
        """[W], by which a power has grown since the start of the stretch."""
        return local(self.power.load(w, k) - self.start.load(w, k))

    def begin_stretch(self, w) -> None:
        """A stretch begins with the powers of this instant."""
        for k in range(2):
            self.start.store(w, k, self.power.load(w, k))

    def begin_stretch_where(self, w, where) -> None:
        """As `begin_stretch`, in some worlds."""
        for k in range(2):
            self.start.store(w, k, select(where, self.power.load(w, k), self.start.load(w, k)))

    def book_change(self, w, time) -> None:
        """Book what the trapezoidal rule takes at the end of a stretch, half a step [s] of the change of power."""
        for k in range(2):
            self.work.store(w, k, self.work.load(w, k) + self.change(w, k) * time)
