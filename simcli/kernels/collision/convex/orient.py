"""On which side of a triangle's plane a point lies, without the error of rounding: what is torn otherwise stays whole."""

from simcli.kernels.algebra.elementary import precision_of
from simcli.kernels.memory.arena import local

_SPLIT = {"float64": 2.0**27 + 1.0, "float32": 2.0**12 + 1.0}  # parts a number in two of half its digits


def exact_side(p, q, r, x):
    """(q - p) x (r - p) . (x - p), of which the sign is right wherever twice the digits tell it (inside kernels).

    Args:
        p, q, r, x: points, scalars.

    Source: error-free sums and products, Dekker (1971); Shewchuk (1997), orient3d, but of two numbers a value.
    """
    u, v, w = ([_sum(a, local(-b)) for a, b in zip(end.parts, p.parts, strict=True)] for end in (q, r, x))
    total = None
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        minor = _add(_times(u[j], v[k]), _negative(_times(u[k], v[j])))
        part = _times(w[i], minor)
        total = part if total is None else _add(total, part)
    return local(total[0] + total[1])


def _negative(a):
    return local(-a[0]), local(-a[1])


def _sum(a, b):
    """A sum of two numbers, and its rounding."""
    s = local(a + b)
    c = local(s - a)
    return s, local((a - (s - c)) + (b - c))


def _product(a, b):
    """A product of two numbers, and its rounding."""
    p = local(a * b)
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return p, local(((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low)


def _halves(a):
    """Both halves of a number's digits."""
    c = local(a * _SPLIT[precision_of()])
    high = local(c - (c - a))
    return high, local(a - high)


def _add(a, b):
    """A sum of two numbers with their roundings."""
    s, e = _sum(a[0], b[0])
    return _sum(s, local(e + (a[1] + b[1])))


def _times(a, b):
    """A product of two numbers with their roundings."""
    p, e = _product(a[0], b[0])
    return _sum(p, local(e + (a[0] * b[1] + a[1] * b[0])))
