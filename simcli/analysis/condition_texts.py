"""The text of a condition: numbers with units in it, and names that lack their braces."""

import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from simcli.errors import UsageError
from simcli.spec.values.expressions import CONSTANTS, FUNCTIONS, ExpressionError
from simcli.spec.values.units import UnitError, describe, dimension_of, parse_unit, unit_fits

_KEPT = r"\{[^{}]*\}|'[^']*'|\"[^\"]*\""  # names in braces, words in quotes
_NO_UNIT = "|".join((*keyword.kwlist, *CONSTANTS))
_SYMBOL = rf"(?!(?:{_NO_UNIT})\b)(?:[A-Za-zµμ]+0?|[°%])(?![\w.(])(?:(?:\^|\*\*)[-+]?\d+|[²³])?"
_NUMBER = r"(?>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"  # whole: the e of 7e-4 is no unit
_WITH_UNIT = re.compile(rf"{_KEPT}|(?<![\w.])({_NUMBER})\s*({_SYMBOL}(?:(?:\s*[*/·⋅]\s*|\s+){_SYMBOL})*)")
_WRITTEN = re.compile(rf"({_NUMBER})\s*([A-Za-zµμ°%].*)")
_BARE = re.compile(rf"{_KEPT}|(?<![\w.])[A-Za-z_][\w./\-\[\]]*")
_GROUPS = ("", "measure.", "params.")  # in which a short name is looked for


@dataclass(frozen=True)
class Written:
    """A number with a unit in a condition.

    Attributes:
        text: as it is written.
        values: (), in SI.
        unit: as it is written.
    """

    text: str
    values: np.ndarray
    unit: str
    has_words: bool = False

    def check_fits(self, columns: Mapping[str, str]) -> None:
        """Refuse the number where no column is of its kind.

        Args:
            columns: names of those beside it, and their SI units.

        Raises:
            ExpressionError: that is so.
        """
        mine = dimension_of(self.unit)
        if any(unit_fits(mine, theirs) for theirs in map(_dimension, columns.values()) if theirs is not None):
            return
        beside = ", ".join(f"`{name}` is in {unit}" if unit else f"`{name}` has no unit" for name, unit in columns.items())
        message = f"{self.text} is {describe(mine)}, and {beside or 'no column stands beside it'}"
        raise ExpressionError(message, f"write a unit of its kind, or the number in SI, as {self.values:.6g}")


def _dimension(unit: str) -> tuple | None:
    try:
        return dimension_of(unit)
    except UnitError:  # mixed
        return None


def with_units_in_braces(text: str) -> str:
    """A condition whose numbers with units stand in braces, too, as `{measure.peak} > {3 mm}`."""
    return _WITH_UNIT.sub(lambda found: f"{{{found[0]}}}" if found[1] else found[0], text)


def written_number(name: str) -> Written | None:
    """The number with a unit that stands in braces; None of a name.

    Raises:
        UsageError: there is no such unit.
    """
    found = _WRITTEN.fullmatch(name)
    if found is None:
        return None
    try:
        factor, _ = parse_unit(found[2])
    except UnitError as error:
        raise UsageError(f"`{name}`: {error}{f'; {error.hint}' if error.hint else ''}") from None
    return Written(name, np.float64(float(found[1]) * factor), found[2])


def refuse_bare_names(text: str, lookup: Callable[[str], object]) -> None:
    """Say what to write in place of a condition whose names lack their braces.

    Args:
        text: the condition.
        lookup: finds the column of a name; raises UsageError.

    Raises:
        UsageError: there are such names.
    """
    found: list[str] = []
    plain = text if text.count("{") == text.count("}") else text.replace("{", "").replace("}", "")

    def braced(match: re.Match) -> str:
        word = match[0]
        if word[0] in "{'\"" or keyword.iskeyword(word) or word in (*CONSTANTS, *FUNCTIONS):
            return word
        for end in (len(word), *(at.start() for at in re.finditer(r"[-/]", word))):
            for group in _GROUPS:
                if _is_there(f"{group}{word[:end]}", lookup):
                    found.append(word[:end])
                    return f"{{{group}{word[:end]}}}" + _BARE.sub(braced, word[end:])
        if "." in word:
            found.append(word)
            lookup(word)  # which says what is meant
        return word

    meant = _BARE.sub(braced, plain)
    if found:
        names = f"the name `{found[0]}` stands" if len(found) == 1 else "names stand"
        raise UsageError(f"`{text}`: {names} without braces: write `{meant}`")


def _is_there(name: str, lookup: Callable[[str], object]) -> bool:
    try:
        lookup(name)
    except UsageError:
        return False
    return True
