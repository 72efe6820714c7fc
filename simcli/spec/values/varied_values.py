"""What is made of numbers that may differ between worlds: texts with a unit, extremes, lengths, functions of vectors."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simcli.spec.values.varied import Varied, answered, as_varied, stacked_numbers, world_by_world


class VariedText:
    """A number that differs between worlds with its unit behind it, as `${L} cm` becomes.

    Attributes:
        number: that stands before the unit.
        unit: the rest of the text.
    """

    __slots__ = ("number", "unit")

    def __init__(self, number: Varied, unit: str):
        self.number, self.unit = number, unit

    def __repr__(self) -> str:
        return f"{self.number!r} {self.unit}"

    def converted(self, convert: Callable[[str], float]) -> Varied:
        """Its value in SI.

        Args:
            convert: a text to its number times what one of the unit is, which no offset follows.
        """
        factor = convert(f"1 {self.unit}")
        return Varied((self.number.values + 0.0) * factor)  # a text has no sign of zero


def largest_number(*numbers: Any) -> Any:
    """`max` of numbers of all worlds: the first of those that are equal."""
    return _first_beyond(lambda a, b: a > b, numbers)


def smallest_number(*numbers: Any) -> Any:
    """`min` of numbers of all worlds: the first of those that are equal."""
    return _first_beyond(lambda a, b: a < b, numbers)


def _first_beyond(is_beyond: Callable[[Any, Any], Any], numbers: Sequence[Any]) -> Any:
    best, *others = (one.values if type(one) is Varied else float(one) for one in numbers)
    for one in others:
        best = np.where(is_beyond(one, best), one, best)
    return Varied(best) if np.ndim(best) else float(best)


def vector_length(*components: Any) -> Any:
    """`math.hypot` of numbers of all worlds, safe from overflow; exactly the size of the only one that is not zero."""
    others = [one for one in components if type(one) is Varied or one != 0.0]
    return abs(others[0]) if len(others) == 1 else world_by_world(math.hypot, *components)


def in_all_worlds(function: Callable[[np.ndarray], np.ndarray], values: Sequence[Any]) -> tuple[Any, ...]:
    """A function of vectors, with any leading axes and no world's result in need of another's, as one of plain numbers.

    Args:
        function: from (..., n) to (..., m).
        values: n numbers.

    Returns:
        m numbers.
    """
    return tuple(plain_numbers(function(number_row(values))))


def number_row(values: Sequence[Any]) -> np.ndarray:
    """Numbers as an array, (n,); (W, n) where one differs between worlds."""
    table = stacked_numbers(values, (len(values),))
    return table if len(table) > 1 else table[0]


def plain_numbers(row: np.ndarray) -> list[Any]:
    """The numbers of a row as of `row_of`."""
    return row.tolist() if row.ndim == 1 else [as_varied(column) for column in row.T]


def is_finite(value: Any) -> bool:
    """`math.isfinite` of a number of all worlds."""
    return answered(np.isfinite(value.values)) if type(value) is Varied else math.isfinite(value)
