"""Energies of a coordinate with their derivatives, and what bdf1 and bdf2 make of the steps before (inside kernels)."""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.laws.coordinate import Response
from simcli.kernels.memory.arena import local


def carried_on(now, before, weight):
    """What the formula of a step makes of a number [any] at its start and one step earlier: bdf1 (weight 0) the one at its
    start, bdf2 (weight 1/3) a third of the change before added.
    """
    return now + (now - before) * weight


def mean_force(now, before, w, row, weight):
    """Force that gives the work of a step: of its end in bdf1 (weight 0), the mean of both ends in bdf2."""
    end = local(now.load(w, row))
    return local(select(weight > 0.0, (end + before.load(w, row)) * 0.5, end))


class PotentialTerms:
    """An energy with its two derivatives."""

    _data_oriented = True

    def __init__(self, zero):
        self.energy, self.slope, self.bend = zero, zero, zero

    def add(self, energy, slope, bend):
        """Add another one."""
        self.energy, self.slope, self.bend = local(self.energy + energy), local(self.slope + slope), local(self.bend + bend)

    def store(self, law: Response):
        """Add what a law stores, of its response to a coordinate that rests."""
        self.add(law.energy, -law.force, law.stiffness)

    def spring(self, k, x):
        """K x^2 / 2."""
        self.add(k * x * x * 0.5, k * x, k)


def slopes_of_turn(c, s):
    """Derivatives of atan2(s, c) by c and by s, and 1 / (c^2 + s^2)."""
    square = local(1.0 / (c * c + s * s))
    return local(-s * square), local(c * square), square


def damper(c, rate, alpha):
    """Energy of a damper over a step, and its two derivatives."""
    return c * rate * rate * 0.5 / alpha, c * rate, c * alpha
