"""What is wrong with a value of an option, in our words: Typer lets pydantic say it."""

import re
from difflib import get_close_matches
from shlex import quote
from typing import Any

_NUMBERS = {"int": "write a whole number", "float": "write a number"}  # by the first word of pydantic's types of errors
_BOUNDS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most"),
           "greater_than": ("gt", "above"), "less_than": ("lt", "below")}  # fmt: skip
_CHOICES = re.compile(r"is not one of (.*?)\.?\Z")
_QUOTED = re.compile(r"'([^']*)'")


def usage_words(error: Any) -> str:
    """The message of an error of the parser, as `--worlds 1.5: write a whole number`."""
    faults = getattr(error.__cause__, "errors", None)
    param = getattr(error, "param", None)
    if faults is None or param is None:
        return error.format_message()
    fault = faults()[0]
    given = quote(fault["input"]) if isinstance(fault["input"], str) else fault["input"]
    return f"{param.opts[0]} {given}: {_wanted(fault)}"


def _wanted(fault: dict) -> str:
    """What a value should have been."""
    kind, context = fault["type"], fault.get("ctx", {})
    number = _NUMBERS.get(kind.partition("_")[0])
    choices = _CHOICES.search(fault["msg"])
    if number:
        return number
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        bound = context[name]
        return f"must be {words} {bound if isinstance(bound, int) else format(bound, 'g')}"
    if choices:
        names = _QUOTED.findall(choices[1])
        near = get_close_matches(str(fault["input"]), names, n=1)
        others = f"{', '.join(names[:-1])} or " if names[1:] else ""
        return f"did you mean `{near[0]}`?" if near else f"write {others}{names[-1]}"
    return f"is no value of it ({fault['msg']})"
