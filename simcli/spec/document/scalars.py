"""Plain scalars by the core schema of YAML 1.2, without what surprises: no octal by a leading zero, no on/off."""

import re
from functools import lru_cache

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
_MAX_DIGITS = 400  # more digits than any finite number needs; int() of a longer text is quadratic
_MAX_INT = 2**64  # seeds are 64 bits wide


class ScalarError(ValueError):
    """A plain scalar that is a number, but not one that simcli takes. The message is for the user."""


@lru_cache(maxsize=4096)  # files say 0, 1 and true again and again
def plain_scalar(text: str) -> object:
    """The value of an unquoted scalar.

    Raises:
        ScalarError: infinity, not-a-number, too many digits or out of range.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    first = text[0]
    if not (first.isdigit() or first in "+-."):
        return text
    is_int = _INT.match(text)
    if not (is_int or _FLOAT.match(text) or _OCTAL.match(text) or _HEX.match(text)):
        if _NOT_FINITE.match(text):
            raise ScalarError(f"`{text}` is not a finite number")
        return text
    if len(text) > _MAX_DIGITS:
        raise ScalarError(f"a number of {len(text)} characters")
    if text.startswith(("0o", "0x")):
        return _bounded(int(text, 0), text)
    if is_int:
        return _bounded(int(text), text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ScalarError(f"`{text}` is beyond the largest number, 1.8e308")
    return value


def _bounded(value: int, text: str) -> int:
    if abs(value) >= _MAX_INT:
        raise ScalarError(f"the integer `{text[:24]}{'...' if len(text) > 24 else ''}` is beyond 64 bits")
    return value
