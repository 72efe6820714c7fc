"""Arithmetic on names in braces: `-20*{joint.pin.q} + {signal.push}`, read as Python after each name has become a word."""

import ast
import re
import warnings

from simcli.spec.values.expressions import MAX_TEXT, ExpressionError, meant_arithmetic

_SLOT = re.compile(r"\{([^{}]*)\}")


def names_in_braces(text: str) -> list[str]:
    """The names that a text has in braces."""
    return [name.strip() for name in _SLOT.findall(text)]


def renamed_in_braces(text: str, rename) -> str:
    """A text with other names in its braces.

    Args:
        text: with names in braces.
        rename: the new name of each.
    """
    return _SLOT.sub(lambda slot: f"{{{rename(slot.group(1).strip())}}}", text)


def parsed_with_names(text: str) -> tuple[ast.expr, dict[str, str]]:
    """The syntax tree of a text, and the names in braces by the words that stand for them in the tree.

    Each word is as long as its name with the braces, so that places in the text are kept.

    Raises:
        ExpressionError: it is too long, or no Python.
    """
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"an expression of {len(text)} characters, the limit is {MAX_TEXT}")
    names: dict[str, str] = {}

    def word(slot: re.Match) -> str:
        key = f"_{len(names)}"
        names[key] = slot.group(1).strip()
        return f" {key}".ljust(len(slot.group()))

    plain = _SLOT.sub(word, text)
    indent = len(plain) - len(plain.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(plain.strip(), mode="eval").body, names
    except SyntaxError as error:
        place = (error.offset or 1) + indent
        place = next((slot.start() + 1 for slot in _SLOT.finditer(text) if slot.start() < place <= slot.end()), place)
        message = f"`{text.strip()}` cannot be read as arithmetic, from its character {place} on"
        hint = meant_arithmetic(text.strip()) or "operators stand between numbers, and every bracket has its partner"
        raise ExpressionError(message, hint) from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionError(f"`{text.strip()}` cannot be read as arithmetic") from None
