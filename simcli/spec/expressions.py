"""Arithmetic in `${...}`: a whitelist over Python's syntax tree, in double precision, with bounds on everything."""

import ast
import math
import re
import warnings
from collections.abc import Callable, Mapping

from simcli.spec.faults import did_you_mean

MAX_TEXT = 1000  # characters of one expression
_MAX_DEPTH = 64
_SLOT = re.compile(r"\$\{([^{}]*)\}")
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
}
_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: math.pow,  # refuses roots of negative numbers, of which ** makes complex ones
}
RESERVED = frozenset((*CONSTANTS, *FUNCTIONS))


class ExpressionError(ValueError):
    """An expression that cannot be evaluated. The message is for the user."""

    def __init__(self, message: str, hint: str = "", code: str = "SC221"):
        super().__init__(message)
        self.hint = hint
        self.code = code


Lookup = Callable[[str], float]


def has_expression(value: object) -> bool:
    """True for a string that holds `${`."""
    return isinstance(value, str) and "${" in value


def substitute(text: str, lookup: Lookup) -> object:
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
        raise ExpressionError(f"`{_clip(text)}` has a `${{` without its `}}`", "expressions look like `${2*L + 0.1}`")
    whole = _SLOT.fullmatch(text.strip())
    if whole:
        return evaluate(whole.group(1), lookup)
    return _SLOT.sub(lambda match: _spell(evaluate(match.group(1), lookup)), text)


def names_in(text: str) -> set[str]:
    """Identifiers inside the `${...}` of a string."""
    return {name for slot in _SLOT.findall(text) for name in re.findall(r"[A-Za-z_]\w*", slot)}


def evaluate(text: str, lookup: Lookup | Mapping[str, float]) -> float:
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
            "allowed: numbers, parameters, + - * / ** ( ) min max abs sqrt sin cos tan pi",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ExpressionError(f"`{_clip(text)}` cannot be read as arithmetic", _reading_hint(text)) from None
    try:
        value = _value(tree.body, lookup, 0, text)
    except ZeroDivisionError:
        raise ExpressionError(f"`{_clip(text)}` divides by zero") from None
    except OverflowError:
        raise ExpressionError(f"`{_clip(text)}` is beyond the largest number, 1.8e308") from None
    except ValueError as error:
        if isinstance(error, ExpressionError):
            raise
        raise ExpressionError(f"`{_clip(text)}` is not a real number") from None
    if isinstance(value, complex) or not math.isfinite(value):
        raise ExpressionError(f"`{_clip(text)}` is not a finite real number")
    return value


def _reading_hint(text: str) -> str:
    """What a text that is no arithmetic lacks."""
    missing = text.count("(") - text.count(")")
    if missing:
        return f"{'close' if missing > 0 else 'remove'} {abs(missing)} bracket(s): expressions look like `${{2*(L + 0.1)}}`"
    return "every operator has a number on both sides, as `${2*L + 0.1}`"


def _value(node: ast.expr, lookup: Lookup, depth: int, text: str) -> float:
    if depth > _MAX_DEPTH:
        raise ExpressionError("an expression nested deeper than 64 levels")
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)
    if isinstance(node, ast.Name):
        return _name(node.id, lookup)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        value = _value(node.operand, lookup, depth + 1, text)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left = _value(node.left, lookup, depth + 1, text)
        right = _value(node.right, lookup, depth + 1, text)
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _call(node, lookup, depth, text)
    raise ExpressionError(
        f"`{_clip(text)}` is not arithmetic",
        "allowed: numbers, parameters, + - * / ** ( ) min max abs sqrt sin cos tan pi",
    )


def _call(node: ast.Call, lookup: Lookup, depth: int, text: str) -> float:
    name = node.func.id
    if name not in FUNCTIONS:
        raise ExpressionError(f"unknown function `{name}`", did_you_mean(name, FUNCTIONS, "functions"))
    function, fewest, most = FUNCTIONS[name]
    if not fewest <= len(node.args) <= most:
        raise ExpressionError(f"`{name}` takes {fewest if fewest == most else 'one or more'} argument(s)")
    return float(function(*[_value(argument, lookup, depth + 1, text) for argument in node.args]))


def _name(name: str, lookup: Lookup) -> float:
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in FUNCTIONS:
        raise ExpressionError(f"the function `{name}` is used without its argument")
    return lookup(name)


def _spell(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _clip(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
