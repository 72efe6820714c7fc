"""`simcli solve`: the values of one number of a scene for which a quantity of its runs has a given value.

Where a function of one number takes a value: brackets from one batch, then a few points per bracket and round.

    f(x) = value(x) - target;   a bracket [a, b] has f(a) f(b) < 0

A round takes in every bracket that is still wide, all in one batch:
    e, e - d, e + d     the root of the interpolation of x over f (Aitken-Neville, through the nearest known points), and
                        d its error by the point that was added last
    two thirds          so that a bracket shrinks to a third at least, whatever the function does
so that a smooth function needs three to five rounds, and none needs more than bisection by thirds does.

A jump across zero keeps its height as its bracket shrinks; a root, even a vertical one, does not. Source: the interpolation
is Neville's, 1934; bracketing as in Brent, 1973. Deviation: several points at once, because a batch costs as much as one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simcli.errors import UsageError
from simcli.search.intervals import Interval
from simcli.search.quantities import Quantity
from simcli.spec.values.units import UnitError, to_si

_Values = Callable[[np.ndarray], np.ndarray]  # x (n,) to values (n,), NaN where there is none
_NODES = 5  # known points of an interpolation
WIDEN = 4.0  # of an estimated error, so that the root is between the points
USUAL_ROUNDS = 5.0  # after the first, for the bar
MAX_ROUNDS = 80  # a bracket of any numbers shrinks to rounding within them
_STEEP = 30.0  # times the height that a bracket of a square-root singularity may keep
_FLAT = 1e-12  # height relative to the values that is rounding, and no jump


@dataclass(frozen=True)
class Crossing:
    """A bracket at its end.

    Attributes:
        x: the point with the least residual.
        value: of the function there.
        residual: [unit of the value], value less target.
        low, high: the bracket.
        is_jump: whether the function jumps over the target, and does not take it.
        below, above: values at the ends.
    """

    x: float
    value: float
    residual: float
    low: float
    high: float
    is_jump: bool
    below: float
    above: float


@dataclass(frozen=True)
class Found:
    """What a search for a value has seen.

    Attributes:
        crossings: roots and jumps, by rising x.
        x: (n,), all points, rising.
        value: (n,), NaN where there is none.
        rounds: batches.
    """

    crossings: list[Crossing]
    x: np.ndarray
    value: np.ndarray
    rounds: int

    @property
    def roots(self) -> list[Crossing]:
        """Where the function takes the value."""
        return [one for one in self.crossings if not one.is_jump]

    @property
    def jumps(self) -> list[Crossing]:
        """Where it leaps over it."""
        return [one for one in self.crossings if one.is_jump]


class _Samples:
    """Everything that is known of a function, by rising x.

    Attributes:
        x: (n,).
        f: (n,), value less target, NaN where there is none.
    """

    def __init__(self, x: np.ndarray, f: np.ndarray):
        self.x, self.f = x, f
        self.first = x

    def add(self, x: np.ndarray, f: np.ndarray) -> None:
        """Take in the values of a round."""
        self.x, place = np.unique(np.concatenate((self.x, x)), return_index=True)
        self.f = np.concatenate((self.f, f))[place]

    def brackets(self) -> list[int]:
        """Lower ends of neighbours between which the sign changes; a point without a value is nobody's neighbour."""
        f = self.f
        return np.flatnonzero(((f[:-1] < 0.0) & (f[1:] > 0.0)) | ((f[:-1] > 0.0) & (f[1:] < 0.0))).tolist()

    def width(self, k: int) -> float:
        """Of a bracket."""
        return self.x[k + 1] - self.x[k]

    def allowed(self, k: int, tolerance: float) -> float:
        """Width at which a bracket is narrow enough; around 0 relative to the whole interval."""
        low, high = self.x[k], self.x[k + 1]
        size = max(abs(low), abs(high)) if low * high > 0.0 else self.first[-1] - self.first[0]
        return max(tolerance * size, 2.0 * np.spacing(size))

    def is_jump(self, k: int) -> bool:
        """Whether a narrow bracket has kept the height of the gap of the first batch that it stands in."""
        gap = int(np.clip(np.searchsorted(self.first, self.x[k], side="right") - 1, 0, len(self.first) - 2))
        low, high = self.first[gap], self.first[gap + 1]
        inside = self.f[(self.x >= low) & (self.x <= high)]
        whole, height = np.nanmax(inside) - np.nanmin(inside), abs(self.f[k + 1] - self.f[k])
        shrunk = self.width(k) / (high - low)
        return shrunk < 1.0 and height > max(_STEEP * np.sqrt(shrunk) * whole, _FLAT * np.nanmax(np.abs(self.f)))

    def proposals(self, k: int, tolerance: float) -> np.ndarray:
        """Points strictly inside a bracket for the next round."""
        low, high = self.x[k], self.x[k + 1]
        guess, error = self._interpolated(k)
        reach = max(WIDEN * error, 0.4 * self.allowed(k, tolerance))
        third = (high - low) / 3.0
        inside = np.unique([guess - reach, guess, guess + reach, low + third, high - third])
        inside = inside[(inside > low) & (inside < high)]
        return inside if len(inside) else np.array([0.5 * (low + high)])

    def _interpolated(self, k: int) -> tuple[float, float]:
        """Where f is 0 by inverse interpolation, and the last correction; by the secant where f does not rise or fall."""
        low, high = self.x[k], self.x[k + 1]
        near = np.flatnonzero(np.isfinite(self.f))
        near = near[np.argsort(np.abs(near - (k + 0.5)), kind="stable")[:_NODES]]
        x, f = self.x[near], self.f[near]
        order = np.argsort(x)
        slopes = np.diff(f[order])
        if (slopes > 0.0).all() or (slopes < 0.0).all():
            row, error = x.copy(), high - low
            for n in range(1, len(x)):
                last = row[0]
                row = (f[n:] * row[:-1] - f[:-n] * row[1:]) / (f[n:] - f[:-n])
                error = abs(row[0] - last)
            if low < row[0] < high:
                return float(row[0]), float(error)
        secant = low - self.f[k] * (high - low) / (self.f[k + 1] - self.f[k])
        return float(secant), 0.1 * (high - low)

    def crossing(self, k: int, target: float) -> Crossing:
        """A bracket at its end."""
        x, f = self.x[k : k + 2].tolist(), self.f[k : k + 2].tolist()
        best = int(abs(f[1]) < abs(f[0]))
        return Crossing(x[best], f[best] + target, f[best], x[0], x[1], self.is_jump(k), f[0] + target, f[1] + target)


def find_crossings(
    values: _Values,
    interval: Interval,
    target: float,
    n_points: int,
    tolerance: float,
    seen: Callable[[float], None] = lambda part: None,
) -> Found:
    """All places where a function crosses a value, as far as a first batch tells its crossings apart.

    Args:
        values: the function, of many points at once.
        interval: where to look; the first batch is even in its scale.
        target: [unit of the value].
        n_points: of the first batch.
        tolerance: width of a bracket at its end, relative to its larger end.
        seen: takes the part that is done.
    """

    def heights(x: np.ndarray) -> np.ndarray:
        return np.asarray(values(x), float) - target

    x = np.unique(interval.at(np.linspace(0.0, 1.0, n_points)))
    samples, rounds = _Samples(x, heights(x)), 1
    while rounds < MAX_ROUNDS:
        wide = [k for k in samples.brackets() if samples.width(k) > samples.allowed(k, tolerance)]
        if not wide:
            break
        seen(rounds / (rounds + USUAL_ROUNDS))
        new = np.unique(np.concatenate([samples.proposals(k, tolerance) for k in wide]))
        samples.add(new, heights(new))
        rounds += 1
    met = [Crossing(x0, target, 0.0, x0, x0, False, target, target) for x0 in samples.x[samples.f == 0.0].tolist()]
    crossings = sorted([*met, *(samples.crossing(k, target) for k in samples.brackets())], key=lambda one: one.x)
    return Found(crossings, samples.x, samples.f + target, rounds)


@dataclass(frozen=True)
class Solved:
    """What a search for a value came to.

    Attributes:
        interval: that was searched.
        quantity: what was to take the value; knows its unit, and why points had none.
        target: in SI.
        found: roots and jumps, and all that was seen.
    """

    interval: Interval
    quantity: Quantity
    target: float
    found: Found

    @property
    def roots(self) -> list[Crossing]:
        """Where the quantity takes the value."""
        return self.found.roots

    @property
    def nearest(self) -> tuple[float, float] | None:
        """The point and value nearest to the target, None if no point had a value."""
        gap = np.abs(self.found.value - self.target)
        if np.isnan(gap).all():
            return None
        k = int(np.nanargmin(gap))
        return float(self.found.x[k]), float(self.found.value[k])

    @property
    def seen(self) -> tuple[float, float]:
        """Least and largest value; NaN if there is none."""
        known = self.found.value[np.isfinite(self.found.value)]
        return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def split_target(text: str) -> tuple[str, str]:
    """Quantity and value of `--target QUANTITY=VALUE`.

    Raises:
        UsageError: it is none.
    """
    quantity, equals, value = (part.strip() for part in text.rpartition("="))
    if not (quantity and equals and value):
        raise UsageError(f"--target {text}: write QUANTITY=VALUE, as 'modes.1.frequency=5 Hz' or 'measure.peak=3 N'")
    return quantity, value


def target_value(text: str, quantity: Quantity) -> float:
    """The value of a target in SI: a number of the quantity's unit, or one with a unit that fits it.

    Raises:
        UsageError: it is none.
    """
    try:
        value = float(text)
    except ValueError:
        if not quantity.unit or quantity.unit == "mixed":
            problem = "arithmetic of measures is in SI: write a plain number"
            raise UsageError(f"--target {quantity.text}={text}: {problem}") from None
        try:
            return to_si(text, quantity.unit)
        except UnitError as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise UsageError(f"--target {quantity.text}={text}: {error}{hint}") from None
    if not np.isfinite(value):
        raise UsageError(f"--target {quantity.text}={text}: a finite number is wanted")
    return value


def solve_for(interval: Interval, quantity: Quantity, target: float, n_points: int, tolerance: float, seen) -> Solved:
    """Find all places where a quantity takes a value; see `find_crossings`."""
    found = find_crossings(lambda x: quantity(x[:, None]), interval, target, n_points, tolerance, seen)
    return Solved(interval, quantity, target, found)
