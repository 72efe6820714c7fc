"""A number that differs between the worlds of a batch, in the place of a number: one pass over a scene reads all worlds.

Whatever a scene goes through - expressions, units, schema, checks, what reads it into tables - is written for numbers. A
`Varied` in the place of one passes through the same code and stands for its value in every world. Sums and products are
taken elementwise, functions are called number by number, so that a world has the same bytes in any place of any batch.
Where the code asks whether, all worlds must answer alike; where they do not, `DivergedError` says which of them do what,
and each group passes by itself. What is no arithmetic, as a text made of a number, has no answer for all worlds at all.
"""

import bisect
import operator
from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any

import numpy as np

_NUMBER = int | float | np.number


class DivergedError(Exception):
    """A question to a number that has not the same answer in all worlds.

    Attributes:
        mask: (n,) bool, two groups of worlds, each of which may have one answer; None where each must be asked alone.
    """

    def __init__(self, mask: np.ndarray | None = None):
        super().__init__("worlds differ in more than numbers")
        self.mask = mask


class Varied:
    """A number that differs between worlds.

    Attributes:
        values: (n,) float, one per world.
    """

    __slots__ = ("values",)
    __array_ufunc__ = None  # numpy leaves operators to this class

    def __init__(self, values: Any):
        self.values = np.asarray(values, float)

    @property
    def __class__(self) -> type:
        """What `isinstance` sees: a number, so that all code takes the way that it takes with one."""
        return float

    def __repr__(self) -> str:
        return f"<{len(self.values)} numbers>"

    def checked(self, check: Callable[[float], Any]) -> "Varied":
        """Itself, if a check that bounds a number and does not change it takes the value of every world.

        Raises:
            ValueError: as the check does, if it refuses all worlds.
            DivergedError: it refuses some.
        """
        ends = [float(self.values.min()), float(self.values.max())]
        try:
            if [check(end) for end in ends] != ends:
                raise DivergedError
        except ValueError:
            passed = _within(check, self.values)
            if passed.any():
                raise DivergedError(passed) from None
            raise
        return self

    def _with(self, other: object, operate: Callable[[Any, Any], Any]) -> "Varied":
        if type(other) is Varied:
            return Varied(operate(self.values, other.values))
        if isinstance(other, _NUMBER):
            return Varied(operate(self.values, float(other)))
        raise DivergedError

    __add__ = partialmethod(_with, operate=operator.add)
    __radd__ = partialmethod(_with, operate=lambda a, b: b + a)
    __sub__ = partialmethod(_with, operate=operator.sub)
    __rsub__ = partialmethod(_with, operate=lambda a, b: b - a)
    __mul__ = partialmethod(_with, operate=operator.mul)
    __rmul__ = partialmethod(_with, operate=lambda a, b: b * a)
    __truediv__ = partialmethod(_with, operate=lambda a, b: _quotient(a, b))
    __rtruediv__ = partialmethod(_with, operate=lambda a, b: _quotient(b, a))

    def __pow__(self, other: object) -> "Varied":
        return world_by_world(_power, self, other)

    def __rpow__(self, other: object) -> "Varied":
        return world_by_world(_power, other, self)

    def __neg__(self) -> "Varied":
        return Varied(-self.values)

    def __pos__(self) -> "Varied":
        return self

    def __abs__(self) -> "Varied":
        return Varied(np.abs(self.values))

    def _asked(self, other: object, ask: Callable[[Any, Any], np.ndarray]) -> bool:
        if type(other) is Varied:
            return answered(ask(self.values, other.values))
        if isinstance(other, _NUMBER):
            return answered(ask(self.values, float(other)))
        raise DivergedError

    __lt__ = partialmethod(_asked, ask=operator.lt)
    __le__ = partialmethod(_asked, ask=operator.le)
    __gt__ = partialmethod(_asked, ask=operator.gt)
    __ge__ = partialmethod(_asked, ask=operator.ge)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _NUMBER):
            return False
        return self._asked(other, operator.eq)

    def __hash__(self) -> int:
        raise DivergedError

    def __bool__(self) -> bool:
        return answered(self.values != 0.0)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else DivergedError

    def __deepcopy__(self, _: object) -> "Varied":
        return self

    def _unanswered(self, *_: object, **__: object) -> Any:
        raise DivergedError

    __float__ = __int__ = __index__ = __str__ = __format__ = __round__ = __floor__ = __ceil__ = __trunc__ = _unanswered
    __divmod__ = __rdivmod__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __array__ = __reduce_ex__ = _unanswered


class VariedFormula:
    """A formula of names in braces in which numbers differ between worlds; anything but its text and numbers diverges.

    Attributes:
        text: with a name in braces, as `{number.0}`, in the place of each number.
        numbers: in their order.
    """

    __slots__ = ("numbers", "text", "written")

    def __init__(self, text: str, numbers: Sequence[Any], written: Callable[[Sequence[float]], str]):
        self.text, self.numbers, self.written = text, tuple(numbers), written

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else DivergedError

    def number(self, name: str) -> Any:
        """The number that a name in braces stands for; None where it is that of something else."""
        group, _, index = name.partition(".")
        return self.numbers[int(index)] if group == "number" else None

    def of_worlds(self, worlds: np.ndarray) -> "VariedFormula | str":
        """Itself in some worlds; the text as it would be written for a single one."""
        numbers = [number_in_worlds(one, worlds) for one in self.numbers]
        return self.written(numbers) if len(worlds) == 1 else VariedFormula(self.text, numbers, self.written)


def _within(check: Callable[[float], Any], values: np.ndarray) -> np.ndarray:
    """(n,) bool, which numbers a check takes that takes those between two bounds."""
    rising = np.unique(values)
    tried = range(0, len(rising), max(1, len(rising) // 64))
    inside = next((k for k in tried if _passes(check, rising[k])), None)
    if inside is None:
        return np.array([_passes(check, value) for value in values.tolist()])
    first = bisect.bisect_left(range(inside), True, key=lambda k: _passes(check, rising[k]))
    end = bisect.bisect_left(range(inside, len(rising)), True, key=lambda k: not _passes(check, rising[k])) + inside
    return (values >= rising[first]) & (values <= rising[end - 1])


def _passes(check: Callable[[float], Any], value: float) -> bool:
    try:
        check(float(value))
    except ValueError:
        return False
    return True


def _quotient(a: Any, b: Any) -> np.ndarray:
    zero = np.broadcast_to(np.equal(b, 0.0), np.broadcast_shapes(np.shape(a), np.shape(b)))
    if answered(zero):
        raise ZeroDivisionError("float division by zero")
    return a / b


def _power(a: float, b: float) -> float:
    found = a**b
    if isinstance(found, complex):
        raise DivergedError
    return found


def answered(mask: np.ndarray) -> bool:
    """The answer of all worlds.

    Args:
        mask: (n,) bool, that of each world.

    Raises:
        DivergedError: they are not the same.
    """
    if mask.all():
        return True
    if mask.any():
        raise DivergedError(mask)
    return False


def world_by_world(function: Callable[..., float], *arguments: Any) -> Any:
    """A function of numbers, called for each world where an argument differs between them; it may answer with a tuple.

    Raises:
        DivergedError: it refuses some worlds; all else that it raises is raised as it is, if it refuses all.
    """
    varied = [one for one in arguments if type(one) is Varied]
    if not varied:
        return function(*arguments)
    n = len(varied[0].values)
    columns = [one.values.tolist() if type(one) is Varied else [one] * n for one in arguments]
    found = []
    try:
        for row in zip(*columns, strict=True):
            found.append(function(*row))
    except (ArithmeticError, ValueError):
        taken = np.array([_takes(function, row) for row in zip(*columns, strict=True)])
        if taken.any():
            raise DivergedError(taken) from None
        raise
    if isinstance(found[0], tuple):
        return tuple(Varied(column) for column in zip(*found, strict=True))
    return Varied(found)


def _takes(function: Callable[..., float], row: Sequence[float]) -> bool:
    try:
        function(*row)
    except (ArithmeticError, ValueError):
        return False
    return True


def for_all_worlds(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of numbers that takes numbers that differ between worlds, too; see `world_by_world`."""
    return lambda *arguments: world_by_world(function, *arguments)


def as_float(value: Any) -> Any:
    """A number as a float; one that differs between worlds is one already."""
    return value if type(value) is Varied else float(value)


def stacked_numbers(value: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Numbers of one or of many worlds as an array.

    Args:
        value: a number or nested sequence of numbers.
        shape: its shape.

    Returns:
        (n, *shape) where a number differs between worlds, else (1, *shape).
    """
    try:
        return np.array(value, dtype=float).reshape(1, *shape)
    except DivergedError:
        numbers = list(_numbers_in(value))
    n = next(len(one.values) for one in numbers if type(one) is Varied)
    found = np.empty((n, len(numbers)))
    for k, one in enumerate(numbers):
        found[:, k] = one.values if type(one) is Varied else one
    if (found == found[:1]).all():
        found = found[:1].copy()
    return found.reshape(-1, *shape)


def _numbers_in(value: Any):
    if isinstance(value, list | tuple):
        for one in value:
            yield from _numbers_in(one)
    elif isinstance(value, np.ndarray):
        yield from value.ravel().tolist()
    else:
        yield value


def as_varied(column: np.ndarray) -> Any:
    """Values of all worlds as a number: a plain one where they agree, in the sign of a zero, too."""
    column = np.ascontiguousarray(column)
    bits = column.view(np.int64)
    return float(column[0]) if (bits == bits[0]).all() else Varied(column)


def number_in_worlds(value: Any, worlds: np.ndarray) -> Any:
    """A number of some worlds: a plain one of a single world."""
    if type(value) is VariedFormula:
        return value.of_worlds(worlds)
    if type(value) is not Varied:
        return value
    return float(value.values[worlds[0]]) if len(worlds) == 1 else Varied(value.values[worlds])


def values_in_worlds(value: Any, n: int) -> list[Any]:
    """A value of n worlds, which may be a number or a list of numbers that differ between them, in each of them."""
    if type(value) is Varied:
        return value.values.tolist()
    if isinstance(value, list) and any(type(one) is Varied for one in value):
        return stacked_numbers(value, (len(value),)).tolist()
    return [value] * n
