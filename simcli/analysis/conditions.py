"""Conditions on columns of numbers and words: `{measure.peak} > 3 and {status} == ok`.

Names stand in braces, because they contain dots, slashes and signs. Between them stands the arithmetic of `${...}` in scenes
(`spec.values.expressions`), then comparisons, `and`, `or`, `not`. A number that is missing (NaN) meets no comparison.
A number may have a unit, as `{measure.peak} > 3 mm`: one of the columns beside it must be of its kind.
"""

import ast
import operator
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.condition_texts import Written, refuse_bare_names, with_units_in_braces, written_number
from simcli.errors import UsageError
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.values.braces import parsed_with_names
from simcli.spec.values.expressions import CONSTANTS, FUNCTIONS, MAX_DEPTH, MAX_TEXT, Arithmetic, ExpressionError, value_of

if TYPE_CHECKING:
    from simcli.analysis.worlds.world_table import WorldColumn

_COMPARISONS = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: lambda a, b: (a != b) & (a == a) & (b == b),  # NaN is no other number
}  # fmt: skip
_COLUMNS = Arithmetic(
    np.float64,
    {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: np.divide, ast.Pow: np.power},
    {"min": lambda *values: reduce(np.minimum, values), "max": lambda *values: reduce(np.maximum, values),
     "abs": np.abs, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "atan2": np.arctan2,
     "sign": np.sign, "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high)},
)  # fmt: skip
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
        here = [self._columns[one.id] for node in nodes for one in ast.walk(node)
                if isinstance(one, ast.Name) and one.id in self._columns]  # fmt: skip
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
