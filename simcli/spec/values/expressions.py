"""Arithmetic in `${...}`: a whitelist over Python's syntax tree, in double precision, with bounds on everything."""

import ast
import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.values.units import UnitError, parse_unit, to_si
from simcli.spec.values.varied import DivergedError, Varied, VariedFormula, for_all_worlds
from simcli.spec.values.varied_values import VariedText, is_finite

MAX_TEXT = 1000  # characters of one expression
MAX_DEPTH = 64
_SLOT = re.compile(r"\$\{([^{}]*)\}")
_AMONG_WORDS = re.compile(r"[\w.]\$\{[^{}]*\}|\$\{[^{}]*\}[\w.]|\{[^{}]*\$\{")
_WITH_UNIT = re.compile(r"\s*\$\{([^{}]*)\}\s*([A-Za-zµ°%][^${}]*)")
_ALLOWED = re.compile(r"[A-Za-z0-9_.+\-*/(), \t\n]*\Z")

CONSTANTS = {"pi": math.pi}
FUNCTIONS: dict[str, tuple[Callable[..., float], int, int]] = {
    "min": (min, 1, 64),
    "max": (max, 1, 64),
    "abs": (abs, 1, 1),
    "sqrt": (math.sqrt, 1, 1),
    "sin": (math.sin, 1, 1),
    "cos": (math.cos, 1, 1),
    "tan": (math.tan, 1, 1),
    "exp": (math.exp, 1, 1),
    "atan2": (math.atan2, 2, 2),
    "sign": (lambda x: float((x > 0) - (x < 0)), 1, 1),
    "clip": (lambda x, low, high: min(max(x, low), high), 3, 3),
}
OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: math.pow,  # refuses roots of negative numbers, of which ** makes complex ones
}
RESERVED = frozenset((*CONSTANTS, *FUNCTIONS))
_ALL_ALLOWED = f"allowed: numbers, parameters, + - * / ** ( ) {' '.join(FUNCTIONS)} {' '.join(CONSTANTS)}"


_LACKS = "every operator has a number on both sides, as `${2*L + 0.1}`"


class Arithmetic(NamedTuple):
    """What an expression computes with: numbers, or whole columns of them.

    Attributes:
        number: makes one of a float.
        operators: by their node of Python's syntax tree; all that are allowed.
        functions: by name, those of FUNCTIONS.
    """

    number: Callable[[float], Any]
    operators: Mapping[type, Callable[[Any, Any], Any]]
    functions: Mapping[str, Callable[..., Any]]


_NUMBERS = Arithmetic(
    float,
    {**OPERATORS, ast.Pow: for_all_worlds(math.pow)},
    {name: for_all_worlds(function) for name, (function, _, _) in FUNCTIONS.items()},
)


class ExpressionError(ValueError):
    """An expression that cannot be evaluated. The message is for the user."""

    def __init__(self, message: str, hint: str = "", code: str = "SC221"):
        super().__init__(message)
        self.hint = hint
        self.code = code


_Lookup = Callable[[str], float]


def has_expression(value: object) -> bool:
    """True for a string that holds `${`."""
    return isinstance(value, str) and "${" in value


def substitute_names(text: str, lookup: _Lookup) -> object:
    """Evaluate a string with expressions.

    Args:
        text: as `${2*L}` or `${L} cm`.
        lookup: value of a parameter by name; raises KeyError.

    Returns:
        A number if the whole string is one expression, else the string with the numbers put in.

    Raises:
        ExpressionError: what is wrong with it.
    """
    if _SLOT.sub("", text).find("${") >= 0:
        hint = f"write `{text}}}`" if text.count("{") == text.count("}") + 1 else "expressions look like `${2*L + 0.1}`"
        raise ExpressionError(f"`{_clip(text)}` has a `${{` without its `}}`", hint)
    whole = _SLOT.fullmatch(text.strip())
    if whole:
        return evaluate(whole.group(1), lookup)
    numbers = [evaluate(inner, lookup) for inner in _SLOT.findall(text)]
    if any(type(number) is Varied for number in numbers):
        return _varied_text(text, numbers)
    return _placed_text(text, numbers)


def _placed_text(text: str, numbers: Iterable[float]) -> "_PlacedText":
    """A text with numbers in the place of its expressions."""
    values = iter(numbers)
    return _PlacedText(_SLOT.sub(lambda match: _placed(text, match, next(values)), text), text)


def _varied_text(text: str, numbers: list[Any]) -> VariedText | VariedFormula:
    """A text whose expressions differ between worlds: a number with a unit, or a formula."""
    with_unit = _WITH_UNIT.fullmatch(text)
    if with_unit:
        return VariedText(numbers[0], with_unit.group(2))
    if _AMONG_WORDS.search(text):
        raise DivergedError  # whose numbers are parts of words
    index = itertools.count()
    named = _SLOT.sub(lambda match: f"{{number.{next(index)}}}", text)
    # A text has no sign of zero.
    plain = [number if type(number) is not Varied else number + 0.0 for number in numbers]
    return VariedFormula(named, plain, lambda values: _placed_text(text, values))


class _PlacedText(str):
    """A text in which numbers have taken the place of expressions.

    Attributes:
        written: as it stands in the file, for messages.
    """

    __slots__ = ("written",)

    def __new__(cls, text: str, written: str) -> "_PlacedText":
        """Both texts."""
        made = super().__new__(cls, text)
        made.written = written
        return made

    def __reduce__(self):
        return str, (str(self),)


def _placed(text: str, slot: re.Match, value: float) -> str:
    """A number as it takes the place of its expression.

    A negative one stands in brackets beside an operator, because its sign would be another operator there, as in `${k}**2`.
    """
    before, after = text[: slot.start()].rstrip(), text[slot.end() :].lstrip()
    beside = before.endswith(("+", "-", "*", "/")) or after.startswith("**")
    return f"({_spell(value)})" if value < 0 and beside else _spell(value)


def expression_free(text: str) -> str:
    """A text with a number in the place of every expression, as `1 cm` of `${L} cm`."""
    return _SLOT.sub("1", text)


def names_in(text: str) -> set[str]:
    """Identifiers inside the `${...}` of a string."""
    return {name for slot in _SLOT.findall(text) for name in re.findall(r"[A-Za-z_]\w*", slot)}


def evaluate(text: str, lookup: _Lookup | Mapping[str, float]) -> float:
    """Value of one expression.

    Raises:
        ExpressionError: syntax, an unknown name, a result that is not a finite real number.
    """
    if isinstance(lookup, Mapping):
        lookup = lookup.__getitem__
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"an expression of {len(text)} characters, the limit is {MAX_TEXT}")
    if not _ALLOWED.match(text):
        raise ExpressionError(
            f"`{_clip(text)}` is not arithmetic",
            meant_arithmetic(text) or _ALL_ALLOWED,
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ExpressionError(f"`{_clip(text)}` cannot be read as arithmetic", meant_arithmetic(text) or _LACKS) from None
    with real_numbers(text):
        value = value_of(tree.body, lookup, text)
    if isinstance(value, complex) or not is_finite(value):
        raise ExpressionError(f"`{_clip(text)}` is not a finite real number")
    return value


@contextmanager
def real_numbers(text: str) -> Iterator[None]:
    """What Python says of arithmetic without a value, in words that name the expression.

    Args:
        text: of the expression that is worked out.

    Raises:
        ExpressionError: a division by zero, a number beyond the largest, or none that is real.
    """
    try:
        yield
    except ZeroDivisionError:
        raise ExpressionError(f"`{_clip(text)}` divides by zero") from None
    except OverflowError:
        raise ExpressionError(f"`{_clip(text)}` is beyond the largest number, 1.8e308") from None
    except ExpressionError:
        raise
    except ValueError:
        raise ExpressionError(f"`{_clip(text)}` is not a real number") from None


_UNIT_INSIDE = re.compile(r"(?<![\w.])(\d[\d.]*(?:[eE][-+]?\d+)?) ?(([A-Za-zµ°]\w*)(?:[/*^]\w+)*)")
_QUANTITY = re.compile(r"(?<![{\w.])(?:joints?|body|bodies|points?|sensor|distance|signal)\.[\w/.-]*\w")
_UNIT_BEHIND = re.compile(r"(.*[\w)}])\s+([A-Za-zµ°][\w/^*]*)\s*", re.DOTALL)
_ENDS = {"(": ")", "{": "}", "[": "]"}


def meant_arithmetic(text: str) -> str:
    """The hint of a text that is no arithmetic: a power, a unit, a bracket or an operator; "" if none is likely.

    Args:
        text: without its `${` and `}`; names may stand in braces.
    """
    for start, end in _ENDS.items():
        missing = text.count(start) - text.count(end)
        if missing:
            what = f"`{end}`" if missing > 0 else f"`{start}`"
            return f"{'close' if missing > 0 else 'remove'} {abs(missing)} bracket(s): `{text}` lacks {abs(missing)} {what}"
    if found := _UNIT_INSIDE.search(text):
        number = found[1]
        unit = next((one for one in (found[2], found[3]) if _is_unit(one)), "")
        if unit:
            value = to_si(f"{number} {unit}", unit)
            return f"expressions have no units: write `{value:g}` for `{number} {unit}`, or a parameter of `{number} {unit}`"
        return f"an operator lacks: write `{number}*{found[3]}`"
    if (found := _UNIT_BEHIND.fullmatch(text)) and _is_unit(found[2]):
        whole = f"${{{found[1]}}} {found[2]}"
        return f"expressions have no units, parameters are in SI: a unit stands behind the braces, as `{whole}`"
    if "^" in text:
        return f"a power is written `**`: `{text.replace('^', '**')}`"
    if found := re.search(r"\$\{?(\w+)", text):
        return f"a parameter is written `${{{found[1]}}}`"
    if found := _QUANTITY.search(text):
        return f"quantities stand in braces, in signals: `{{{found[0]}}}`"
    return ""


def _is_unit(text: str) -> bool:
    try:
        return bool(parse_unit(text))
    except UnitError:
        return False


def value_of(node: ast.expr, lookup: Callable[[str], Any], text: str, by: Arithmetic = _NUMBERS, depth: int = 0) -> Any:
    """Value of a node of Python's syntax tree.

    Args:
        node: of the tree of `text`.
        lookup: value of a name.
        text: for messages.
        by: what is computed with.
        depth: of the node in the tree.

    Raises:
        ExpressionError: the node is no arithmetic.
    """
    if depth > MAX_DEPTH:
        raise ExpressionError(f"an expression nested deeper than {MAX_DEPTH} levels")
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return by.number(node.value)
    if isinstance(node, ast.Name):
        return by.number(CONSTANTS[node.id]) if node.id in CONSTANTS else _named(node.id, lookup)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        value = value_of(node.operand, lookup, text, by, depth + 1)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in by.operators:
        left = value_of(node.left, lookup, text, by, depth + 1)
        right = value_of(node.right, lookup, text, by, depth + 1)
        return by.operators[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        arguments = [value_of(argument, lookup, text, by, depth + 1) for argument in _arguments(node)]
        return by.functions[node.func.id](*arguments)
    raise ExpressionError(f"`{_clip(text)}` is not arithmetic", meant_arithmetic(text) or _ALL_ALLOWED)


def _arguments(node: ast.Call) -> list[ast.expr]:
    """What a known function is called with."""
    name = node.func.id
    if name not in FUNCTIONS:
        raise ExpressionError(f"unknown function `{name}`", did_you_mean(name, FUNCTIONS, "functions"))
    _, fewest, most = FUNCTIONS[name]
    if not fewest <= len(node.args) <= most:
        raise ExpressionError(f"`{name}` takes {fewest if fewest == most else 'one or more'} argument(s)")
    return node.args


def _named(name: str, lookup: Callable[[str], Any]) -> Any:
    if name in FUNCTIONS:
        raise ExpressionError(f"the function `{name}` is used without its argument")
    return lookup(name)


def _spell(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _clip(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
