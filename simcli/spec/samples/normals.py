"""Normal distributions: plain, cut at bounds, and correlated with those of other paths."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from statistics import NormalDist

    from simcli.spec.schema.batch import VarySpec

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


def normal(mean: float, deviation: float, low: float | None, high: float | None) -> Callable[[float], float]:
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
                x * y for x, y in zip(lower[i][:j], lower[j][:j], strict=True))  # fmt: skip
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
