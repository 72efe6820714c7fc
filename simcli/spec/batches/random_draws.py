"""Draws of one path by their number: random words, Latin hypercubes, Owen's scrambling, normal distributions.

Normal distributions are plain, cut at bounds, or correlated with those of other paths.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from simcli.spec.values import sobol

if TYPE_CHECKING:
    from statistics import NormalDist

    from simcli.spec.schema.batch import VarySpec

_MASK = 2**64 - 1


def random_words(seed: int, path: str, count: int, stream: object) -> np.ndarray:
    """One 64-bit word per draw: the first of block `draw` of a generator keyed by seed, path and stream, (count,) uint64."""
    return _generator(seed, path, stream).random_raw(4 * count)[::4]


def _generator(seed: int, path: str, stream: object) -> np.random.Philox:
    import hashlib

    digest = hashlib.blake2b(f"{stream}:{path}".encode(), digest_size=8).digest()
    return np.random.Philox(key=(seed & _MASK) << 64 | int.from_bytes(digest, "little"))


def even_fractions(seed: int, path: str, count: int) -> np.ndarray:
    """Independent even fractions in [0, 1), (count,)."""
    return (random_words(seed, path, count, 0) >> np.uint64(11)) * 2.0**-sobol.BITS


def latin_fractions(seed: int, path: str, count: int, strata: int) -> np.ndarray:
    """Fractions of which each `strata` draws in a row, from draw 0 on, have one in every slice of length 1 / strata.

        u_k = (p_b(k mod n) + f_k) / n,   b = k div n

    Notation: n strata, p_b a random permutation of 0 .. n - 1 for block b, f_k an even fraction.

    Args:
        seed: of the batch.
        path: of the number.
        count: of draws.
        strata: slices.

    Source: McKay, Beckman, Conover (1979), one column; paths are permuted apart, which pairs them at random. Deviation: the
    number of slices is not that of draws; further draws go on with another permutation.
    """
    within = even_fractions(seed, path, count)
    cells = np.empty(count)
    for block in range(-(-count // strata)):
        order = np.argsort(_generator(seed, path, f"lhs-{block}").random_raw(strata), kind="stable")
        first = block * strata
        cells[first : first + strata] = order[: count - first]
    return np.minimum((cells + within) / strata, np.nextafter((cells + 1.0) / strata, 0.0))


def scrambled_fractions(seed: int, path: str, count: int, dimension: int) -> np.ndarray:
    """Sobol points of one dimension under nested uniform scrambling: a net stays a net, and every point is even by itself.

    Bit i of a point is flipped or not by a random bit that belongs to the path, to i, and to the bits before i.

    Args:
        seed: of the batch.
        path: of the number.
        count: of draws; draw k does not depend on it.
        dimension: of the sequence.

    Source: A. B. Owen, "Randomly permuted (t, m, s)-nets and (t, s)-sequences" (1995), base 2, 53 bits; the random bits are
    those of SplitMix64 (Steele, Lea, Flood 2014), one generator for each i, at the place that the bits before i count.
    """
    points = (sobol.points(dimension, count) * 2.0**sobol.BITS).astype(np.uint64)
    keys = random_words(seed, path, sobol.BITS, "owen")
    found = np.zeros_like(points)
    one = np.uint64(1)
    for i in range(sobol.BITS):
        below = np.uint64(sobol.BITS - 1 - i)
        before = points >> np.uint64(sobol.BITS - i)
        flip = _split_mix(keys[i], before) >> np.uint64(63)
        found |= ((points >> below) & one ^ flip) << below
    return found * 2.0**-sobol.BITS


def _split_mix(key: np.uint64, place: np.ndarray) -> np.ndarray:
    """Output number `place` of SplitMix64 that begins at a key, (n,) uint64; sums and products are modulo 2^64."""
    with np.errstate(over="ignore"):
        z = key + (place + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


SMALLEST = 2.0**-54  # half a step of a 53-bit fraction, keeps the inverse normal finite
SEMIDEFINITE = 1e-12  # a pivot above minus this is a zero that was rounded
_Matrix = list[list[float]]


@cache
def _law() -> "NormalDist":
    """The standard normal distribution; its module costs a check more time than all else here, and few scenes need it."""
    from statistics import NormalDist

    return NormalDist()


def standard(u: float) -> float:
    """From an even fraction in [0, 1) to the standard normal distribution."""
    return _law().inv_cdf(max(u, SMALLEST))


def normal_quantiles(mean: float, deviation: float, low: float | None, high: float | None) -> Callable[[float], float]:
    """From an even fraction in [0, 1) to a normal distribution, cut at bounds where there are some."""
    if deviation == 0:
        return lambda u: mean
    if low is None and high is None:
        return lambda u: mean + deviation * standard(u)
    return _truncated(mean, deviation, -math.inf if low is None else low, math.inf if high is None else high)


def _truncated(mean: float, deviation: float, low: float, high: float) -> Callable[[float], float]:
    """By the inverse distribution function, in whichever tail keeps the digits.

        x = mean + deviation F^-1(F(a) (1 - u) + F(b) u),   a, b = (low - mean) / deviation, (high - mean) / deviation

    Source: inverse transform sampling. Deviation: where a > 0 the mirror image is taken, because 1 - F loses digits there.
    """
    a, b = (low - mean) / deviation, (high - mean) / deviation
    side = -1.0 if a > 0 else 1.0
    first, last = _below(side * a), _below(side * b)

    def value(u: float) -> float:
        p = max(first * (1.0 - u) + last * u, SMALLEST * max(first, last))
        p = min(p, 1.0 - 2.0 * SMALLEST)
        return min(max(mean + side * deviation * _law().inv_cdf(p), low), high)

    return value


def _below(x: float) -> float:
    """Part of the standard normal distribution below x, with its digits in the lower tail."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def partners(vary: "VarySpec") -> Iterable[str]:
    """Paths that a normal distribution says it is correlated with."""
    return (*(vary.correlation or ()), *(vary.covariance or ()))


def groups(normals: "Mapping[str, VarySpec]") -> list[list[str]]:
    """Paths that are correlated with each other, directly or through others; each group in alphabetical order."""
    found: list[set[str]] = []
    for path, vary in normals.items():
        for other in partners(vary):
            pair = {path, other}
            together = [group for group in found if group & pair]
            found = [group for group in found if not group & pair] + [pair.union(*together)]
    return [sorted(group) for group in found]


def correlation_of(normals: "Mapping[str, VarySpec]", a: str, b: str) -> float | None:
    """What one of two paths says of their correlation; None if neither does."""
    for first, second in ((a, b), (b, a)):
        vary = normals[first]
        if second in (vary.correlation or {}):
            return vary.correlation[second]
        if second in (vary.covariance or {}):
            scale = vary.normal[1] * normals[second].normal[1]
            return vary.covariance[second] / scale if scale else math.copysign(math.inf, vary.covariance[second])
    return None


def factor(normals: "Mapping[str, VarySpec]", paths: list[str]) -> _Matrix | None:
    """Lower triangle L of the correlation matrix R = L L^T; None if R is not positive semidefinite.

    Source: Cholesky. Deviation: a pivot of zero makes a column of zeros, if what it would divide is zero too.
    """
    n = len(paths)
    lower = [[0.0] * n for _ in range(n)]
    for j in range(n):
        pivot = 1.0 - math.fsum(x * x for x in lower[j][:j])
        if pivot < -SEMIDEFINITE:
            return None
        lower[j][j] = root = math.sqrt(pivot) if pivot > SEMIDEFINITE else 0.0
        for i in range(j + 1, n):
            left = (correlation_of(normals, paths[i], paths[j]) or 0.0) - math.fsum(
                x * y for x, y in zip(lower[i][:j], lower[j][:j], strict=True)
            )
            if root:
                lower[i][j] = left / root
            elif abs(left) > math.sqrt(SEMIDEFINITE):
                return None
    return lower


def correlated(normals: "Mapping[str, VarySpec]", fractions: Callable[[str], list[float]]) -> dict[str, list[float]]:
    """Values of all paths that are correlated with others.

        x = mean + deviation L w

    Notation: w independent standard normal numbers of the paths in alphabetical order.

    Args:
        normals: paths with a normal distribution.
        fractions: even fractions of a path, one per draw, as if it were alone.
    """
    found: dict[str, list[float]] = {}
    for paths in groups(normals):
        lower = factor(normals, paths) or []
        columns = [[standard(u) for u in fractions(path)] for path in paths]
        for path, row in zip(paths, lower, strict=True):
            mean, deviation = normals[path].normal
            mixed = (math.fsum(x * w for x, w in zip(row, draw, strict=True)) for draw in zip(*columns, strict=True))
            found[path] = [mean + deviation * z for z in mixed]
    return found
