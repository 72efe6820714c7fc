"""Energies of a coordinate with their derivatives, while a kernel is being compiled."""

import math

import taichi as ti

from simcli.kernels.memory import local

FULL_TURN = 2.0 * math.pi


def nearest_turn(x, near):
    """The angle x plus full turns, nearest to another one."""
    return local(x + FULL_TURN * ti.round((near - x) * (1.0 / FULL_TURN)))


class Share:
    """An energy with its two derivatives."""

    _data_oriented = True

    def __init__(self, zero):
        self.energy, self.slope, self.bend = zero, zero, zero

    def add(self, energy, slope, bend):
        """Add another one."""
        self.energy, self.slope, self.bend = local(self.energy + energy), local(self.slope + slope), local(self.bend + bend)

    def spring(self, k, x):
        """K x^2 / 2."""
        self.add(k * x * x * 0.5, k * x, k)


def damper(c, rate, alpha):
    """Energy of a damper over a step, and its two derivatives."""
    return c * rate * rate * 0.5 / alpha, c * rate, c * alpha
