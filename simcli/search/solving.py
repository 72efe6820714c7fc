"""`simcli solve`: the values of one number of a scene for which a quantity of its runs has a given value."""

from dataclasses import dataclass

import numpy as np

from simcli.errors import UsageError
from simcli.search.intervals import Interval
from simcli.search.quantities import Quantity
from simcli.search.roots import Crossing, Found, find_crossings
from simcli.spec.values.units import UnitError, to_si


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
    """Find all places where a quantity takes a value; see `roots.find_crossings`."""
    found = find_crossings(lambda x: quantity(x[:, None]), interval, target, n_points, tolerance, seen)
    return Solved(interval, quantity, target, found)
