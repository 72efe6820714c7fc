"""Sobol points with the direction numbers of Joe and Kuo, for up to 21 dimensions."""

import numpy as np

BITS = 53

# Per dimension from the second: degree and coefficients of the primitive polynomial, and the first odd numbers m_i.
# Source: S. Joe, F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci.
# Comput. 30 (2008), table new-joe-kuo-6. No deviation.
_DIRECTIONS: tuple[tuple[int, tuple[int, ...]], ...] = (
    (0, (1,)),
    (1, (1, 3)),
    (1, (1, 3, 1)),
    (2, (1, 1, 1)),
    (1, (1, 1, 3, 3)),
    (4, (1, 3, 5, 13)),
    (2, (1, 1, 5, 5, 17)),
    (4, (1, 1, 5, 5, 5)),
    (7, (1, 1, 7, 11, 19)),
    (11, (1, 1, 5, 1, 1)),
    (13, (1, 1, 1, 3, 11)),
    (14, (1, 3, 5, 5, 31)),
    (1, (1, 3, 3, 9, 7, 49)),
    (13, (1, 1, 1, 15, 21, 21)),
    (16, (1, 3, 1, 13, 27, 49)),
    (19, (1, 1, 1, 15, 7, 5)),
    (22, (1, 3, 1, 15, 13, 25)),
    (25, (1, 1, 5, 5, 19, 61)),
    (1, (1, 3, 7, 11, 23, 15, 103)),
    (4, (1, 3, 7, 13, 13, 15, 69)),
)
MAX_DIMENSIONS = len(_DIRECTIONS) + 1


def directions(dimension: int) -> list[int]:
    """Direction integers v_1 .. v_53 of a dimension (from 0), as binary fractions of 53 bits."""
    if dimension == 0:
        return [1 << (BITS - i) for i in range(1, BITS + 1)]
    coefficients, m = _DIRECTIONS[dimension - 1]
    degree = len(m)
    v = [m_i << (BITS - i) for i, m_i in enumerate(m, start=1)]
    for i in range(degree, BITS):
        value = v[i - degree] ^ (v[i - degree] >> degree)
        for k in range(1, degree):
            if coefficients >> (degree - 1 - k) & 1:
                value ^= v[i - k]
        v.append(value)
    return v


def points(dimension: int, count: int, shift: int = 0) -> np.ndarray:
    """The first points of one dimension, (count,), in [0, 1).

    Args:
        dimension: from 0 to MAX_DIMENSIONS - 1.
        count: how many; point k does not depend on it.
        shift: 53-bit integer added digit by digit, which keeps the sequence's evenness.
    """
    k = np.arange(1, count)
    lowest_bit = np.frexp((k & -k).astype(float))[1] - 1
    turns = np.concatenate(([shift], np.array(directions(dimension))[lowest_bit]))[:count]
    return np.bitwise_xor.accumulate(turns) * 2.0**-BITS
