"""Random numbers by their place in a sequence: the same for any number of worlds, threads and calls.

Source: Salmon, Moraes, Dror, Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3", Philox4x64 with 10 rounds; it is
the generator that numpy.random.Philox has, whose counter is one less. Normal numbers: Box and Muller (1958).
"""

import math

from simcli.kernels.algebra.elementary import logarithm, precision_of, sincos
from simcli.kernels.language import ti

_ROUNDS = 10
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_LOW = 0xFFFFFFFF
_BITS = {"float64": 53, "float32": 24}  # of a uniform number


@ti.func
def multiply_high(a: ti.u64, b: ti.u64):
    """The upper 64 bits of a product."""
    low = ti.u64(_LOW)
    a_0, a_1, b_0, b_1 = a & low, a >> 32, b & low, b >> 32
    middle = a_1 * b_0 + ((a_0 * b_0) >> 32)
    return a_1 * b_1 + (middle >> 32) + ((a_0 * b_1 + (middle & low)) >> 32)


@ti.func
def philox(key_0: ti.u64, key_1: ti.u64, counter_0: ti.u64, counter_1: ti.u64):
    """Two of the four words of a block, whose counter has two more words that are 0.

    Args:
        key_0, key_1: which sequence.
        counter_0, counter_1: which block of it.
    """
    x_0, x_1, x_2, x_3 = counter_0, counter_1, ti.u64(0), ti.u64(0)
    k_0, k_1 = key_0, key_1
    for _ in range(_ROUNDS):
        high_0, low_0 = multiply_high(ti.u64(_MULTIPLIERS[0]), x_0), ti.u64(_MULTIPLIERS[0]) * x_0
        high_1, low_1 = multiply_high(ti.u64(_MULTIPLIERS[1]), x_2), ti.u64(_MULTIPLIERS[1]) * x_2
        x_0, x_1, x_2, x_3 = high_1 ^ x_1 ^ k_0, low_1, high_0 ^ x_3 ^ k_1, low_0
        k_0 += ti.u64(_WEYL[0])
        k_1 += ti.u64(_WEYL[1])
    return x_0, x_1


@ti.func
def normal_pair(word_0: ti.u64, word_1: ti.u64, real: ti.template()):
    """Two independent standard normal numbers from two words.

    sqrt(-2 ln u) (cos, sin)(2 pi v),   u in (0, 1], v in [0, 1)
    """
    bits = ti.static(_BITS[precision_of()])
    u = ti.cast((word_0 >> (64 - bits)) + ti.u64(1), real) * ti.cast(ti.static(2.0**-bits), real)
    v = ti.cast(word_1 >> (64 - bits), real) * ti.cast(ti.static(2.0**-bits), real)
    length = ti.sqrt(-2.0 * logarithm(u))
    sine, cosine = sincos(v * ti.cast(ti.static(2.0 * math.pi), real))
    return length * cosine, length * sine
