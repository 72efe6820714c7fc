"""Conditions on columns of numbers and words: `{measure.peak} > 3 and {status} == ok`.

Names stand in braces, because they contain dots, slashes and signs. Between them stands the arithmetic of `${...}` in scenes
(`spec.values.expressions`), then comparisons, `and`, `or`, `not`. A number that is missing (NaN) meets no comparison.
A number may have a unit, as `{measure.peak} > 3 mm`: one of the columns beside it must be of its kind. Names that lack their
braces are refused.
"""

import ast
import keyword
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from simcli.errors import UsageError
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.values.braces import parsed_with_names
from simcli.spec.values.expressions import CONSTANTS, FUNCTIONS, MAX_DEPTH, MAX_TEXT, Arithmetic, ExpressionError, value_of
from simcli.spec.values.units import UnitError, describe, dimension_of, parse_unit, unit_fits

if TYPE_CHECKING:
    from simcli.analysis.worlds.world_columns import WorldColumn

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


_COMPARISONS = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: lambda a, b: (a != b) & (a == a) & (b == b),  # NaN is no other number
}
_COLUMNS = Arithmetic(
    np.float64,
    {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: np.divide, ast.Pow: np.power},
    {
        "min": lambda *values: reduce(np.minimum, values),
        "max": lambda *values: reduce(np.maximum, values),
        "abs": np.abs,
        "sqrt": np.sqrt,
        "sin": np.sin,
        "cos": np.cos,
        "tan": np.tan,
        "exp": np.exp,
        "atan2": np.arctan2,
        "sign": np.sign,
        "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    },
)
HOW = "write as `{measure.peak} > 3 and {status} == ok`"

_Lookup = Callable[[str], "WorldColumn"]


def meets(text: str, lookup: _Lookup) -> np.ndarray:
    """Which rows meet a condition.

    Args:
        text: the condition.
        lookup: column of a name; raises UsageError.

    Returns:
        bool (n,), or one bool where the condition names no column.

    Raises:
        UsageError: it is no condition, or names what is not there.
    """
    return _evaluated(text, lookup, _mask, f"a condition: {HOW}")


def numbers(text: str, lookup: _Lookup) -> np.ndarray:
    """Numbers of all rows by arithmetic on columns, as `{measure.peak} - 2 * {params.l}`.

    Args:
        text: the arithmetic; also the name of one column without braces.
        lookup: column of a name; raises UsageError.

    Returns:
        float64 (n,), or () where the text names no column.

    Raises:
        UsageError: it is no arithmetic, or names what is not there.
    """
    if "{" not in text and "." in text and text.strip()[:1].isalpha():
        text = f"{{{text.strip()}}}"
    how = "arithmetic: write as `{measure.peak} - 2 * {params.l}`"
    return np.asarray(_evaluated(text, lookup, _number, how), np.float64)


def _evaluated(text: str, lookup: _Lookup, value: Callable, how: str) -> np.ndarray:
    """A text with names in braces, read as Python and valued."""
    if len(text) > MAX_TEXT:
        raise UsageError(f"a condition of {len(text)} characters, the limit is {MAX_TEXT}")
    try:
        tree, names = parsed_with_names(with_units_in_braces(text))
    except ExpressionError:
        refuse_bare_names(text, lookup)
        raise UsageError(f"`{text}` cannot be read as {how}") from None
    columns = {word: written_number(name) or lookup(name) for word, name in names.items()}
    try:
        with np.errstate(all="ignore"):
            return value(tree, _Names(text, columns), 0)
    except OverflowError:
        raise UsageError(f"`{text}`: a number beyond the largest, 1.8e308") from None
    except ExpressionError as error:
        refuse_bare_names(text, lookup)
        raise UsageError(f"`{text}`: {error}{f'; {error.hint}' if error.hint else ''}") from None


def _number(node: ast.expr, names: "_Names", depth: int) -> np.ndarray:
    names.check_units(node)
    return names.number(node, depth)


class _Names:
    """Columns of a condition, and numbers with units, by their places in it."""

    def __init__(self, text: str, columns: "dict[str, WorldColumn | Written]"):
        self.text, self._columns = text, columns

    def number(self, node: ast.expr, depth: int) -> np.ndarray:
        return value_of(node, self._numbers, self.text, _COLUMNS, depth)

    def _numbers(self, name: str) -> np.ndarray:
        if name not in self._columns:
            raise ExpressionError(f"the name `{name}` stands without braces", HOW)
        if self._columns[name].has_words:
            raise ExpressionError("a column of words is compared with one word by == or !=", "as `{status} == failed`")
        return self._columns[name].values

    def check_units(self, *nodes: ast.expr) -> None:
        """Refuse a number with a unit that fits none of the columns beside it.

        Raises:
            ExpressionError: there is one.
        """
        here = [
            self._columns[one.id]
            for node in nodes
            for one in ast.walk(node)
            if isinstance(one, ast.Name) and one.id in self._columns
        ]
        columns = [one for one in here if not isinstance(one, Written)]
        for number in here:
            if isinstance(number, Written):
                number.check_fits({column.name: column.unit for column in columns})

    def words(self, node: ast.expr) -> "WorldColumn | None":
        """The column of words that a node is."""
        column = self._columns.get(node.id) if isinstance(node, ast.Name) else None
        return column if column is not None and column.has_words else None


def _mask(node: ast.expr, names: _Names, depth: int) -> np.ndarray:
    if depth > MAX_DEPTH:
        raise ExpressionError(f"a condition nested deeper than {MAX_DEPTH} levels")
    if isinstance(node, ast.BoolOp):
        both = operator.and_ if isinstance(node.op, ast.And) else operator.or_
        return reduce(both, [_mask(value, names, depth + 1) for value in node.values])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_mask(node.operand, names, depth + 1)
    if isinstance(node, ast.Compare) and all(type(op) in _COMPARISONS for op in node.ops):
        sides = [node.left, *node.comparators]
        links = zip(sides, node.ops, sides[1:], strict=False)
        return reduce(operator.and_, [_compared(*link, names, depth + 1) for link in links])
    raise ExpressionError("is no condition", HOW)


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, names: _Names, depth: int) -> np.ndarray:
    for one, other in ((left, right), (right, left)):
        column = names.words(one)
        if column is not None:
            if not isinstance(op, ast.Eq | ast.NotEq):
                raise ExpressionError("words are compared by == or !=", "as `{status} == failed`")
            return _COMPARISONS[type(op)](column.values, _word(other, column))
    names.check_units(left, right)
    return _COMPARISONS[type(op)](names.number(left, depth), names.number(right, depth))


def _word(node: ast.expr, column: "WorldColumn") -> str:
    """The word that a column is compared with, with or without quotes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        word = node.value
    elif isinstance(node, ast.Name) and not node.id.startswith("__") and node.id not in (*CONSTANTS, *FUNCTIONS):
        word = node.id
    else:
        raise ExpressionError("a column of words is compared with one word", "as `{status} == failed`")
    if word not in column.words:
        raise ExpressionError(f"`{column.name}` is never `{word}`", did_you_mean(word, column.words, "it is one of"))
    return word
