"""What a Python program gives to what is public: paths, texts, numbers and flags, refused where they are something else."""

import os
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from numbers import Real
from operator import index
from pathlib import Path

import numpy as np

from simcli.errors import UsageError


def path_given(what: str, value: object, example: str = "scene.yaml") -> Path:
    """A path, of a text or of what `pathlib` makes.

    Args:
        what: it is of, for messages, as "record".
        value: as given.
        example: for messages.

    Raises:
        UsageError: it is neither, or no system has such a path.
    """
    try:
        path = os.fspath(value)
        if isinstance(path, str) and path and b"\0" not in os.fsencode(path):
            return Path(path)
    except (TypeError, UnicodeEncodeError):
        pass
    raise UsageError(f"{what}: {value!r} is no path; write one as '{example}'")


def text_given(what: str, value: object, example: str) -> str:
    """A text.

    Args:
        what: it is, for messages, as "device".
        value: as given.
        example: for messages.

    Raises:
        UsageError: it is none.
    """
    if not _is_text(value):
        raise UsageError(f"{what}: {value!r} is no text; write one as '{example}'")
    return value


def _is_text(value: object) -> bool:
    """Whether it is one that can be written: Python's own may have halves of characters."""
    return isinstance(value, str) and value.encode(errors="ignore").decode() == value


def flag_given(what: str, value: object) -> bool:
    """A flag, of Python or numpy.

    Args:
        what: it is, for messages, as "force".
        value: as given.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(value, bool | np.bool_):
        raise UsageError(f"{what}: {value!r} is no flag; write True or False")
    return bool(value)


def number_given(what: str, value: object) -> float:
    """A finite number.

    Args:
        what: it is, for messages, as "time_limit".
        value: as given.

    Raises:
        UsageError: it is none.
    """
    try:
        if isinstance(value, Real) and not isinstance(value, bool) and isfinite(value):
            return float(value)
    except OverflowError:  # an integer beyond floats
        pass
    raise UsageError(f"{what}: {value!r} is no finite number; write one as 2.5")


def function_given(what: str, value: object) -> Callable:
    """A function.

    Args:
        what: it is, for messages, as "watch".
        value: as given.

    Raises:
        UsageError: it is none.
    """
    if not callable(value):
        raise UsageError(f"{what}: {value!r} is no function; write one that takes one argument")
    return value


def texts_of(what: str, given: object) -> tuple:
    """What a program gives as a list of texts, of which a single one may stand alone.

    Args:
        what: its name, for messages, as "sets".
        given: the texts; overrides of options may stand among them.

    Raises:
        UsageError: it is neither.
    """
    from simcli.spec.document.overrides import Override

    found = (given,) if isinstance(given, str) else given
    if not isinstance(found, Sequence) or not all(isinstance(one, str | Override) for one in found):
        raise UsageError(f"{what}: {given!r} is no list of texts; write {what}=['...', '...']")
    return tuple(found)


def whole_number(what: str, value: object, least: int | None, most: int | None = None, noun: str = "") -> int:
    """A whole number, of Python or numpy; a flag is none.

    Args:
        what: it is of, for messages, as "step".
        value: as given.
        least: that it may be, None for no bounds.
        most: likewise, None for no bound above.
        noun: of what there are so many, for messages.

    Raises:
        UsageError: it is none, or out of bounds.
    """
    counted = f" {noun}" if noun else ""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = index(value)
    except TypeError:
        raise UsageError(
            f"{what}: {value!r} is no whole number{f' of {noun}' if noun else ''}; write one as 5, "
            "or int(...) of what you have"
        ) from None
    if least is not None and (number < least or (most is not None and number > most)):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise UsageError(f"{what}: {number}{counted}; take {bounds}")
    return number


def by_name(what: str, given: object) -> Mapping[str, object]:
    """Values by names.

    Args:
        what: they are of, for messages.
        given: a dict with texts as keys.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(given, Mapping) or not all(map(_is_text, given)):
        raise UsageError(f"{what}: {given!r} gives no values by name; write {{'NAME': VALUES}}")
    return given
