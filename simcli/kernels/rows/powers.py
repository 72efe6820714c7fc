"""Polynomials of one number without a constant: p(x) = sum of coefficient_n x^n, n from 1 on."""

import numpy as np

from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena


class Powers:
    """Some polynomials, whose degrees are data.

    Args:
        start: (P + 1,) offsets into the coefficients.
        coefficient: (W|1, C), of each from n = 1 on.
        arena: receives everything.
    """

    _data_oriented = True

    def __init__(self, start: np.ndarray, coefficient: np.ndarray, arena: Arena):
        self.start = arena.ints(start)
        self.coefficient = arena.records(coefficient.shape[1]).column(coefficient)


@ti.func
def value_and_slopes(p: ti.template(), w: ti.i32, k: ti.i32, x: ti.template()):
    """p(x), p'(x) and p''(x) of polynomial k.

    Source: Horner's rule for p(x) / x and its derivatives. No deviation.

    Reads: p columns
    """
    zero = x * 0.0
    first, second = zero, zero
    last = p.start.at(k + 1) - 1
    s = zero + p.coefficient.load(w, last)
    for n in range(last - p.start.at(k)):
        second = second * x + first * 2.0
        first = first * x + s
        s = s * x + p.coefficient.load(w, last - 1 - n)
    return s * x, s + first * x, first * 2.0 + second * x
