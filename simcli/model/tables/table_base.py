"""Base of the tables: a frozen dataclass of numpy columns that nobody can write."""

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

import numpy as np

Array = np.ndarray


class Table:
    """Base of the tables: freezes its arrays."""

    def __post_init__(self):
        for column in fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


def kept(function: Callable) -> Callable:
    """Remember with a model what a function finds in its tables, which never change; nobody may write to what it gives.

    A run with events asks the models that stand for its phases the same questions at every event.
    """

    @wraps(function)
    def answer(model: Any, *args, **named):
        known = model.__dict__.setdefault("_kept", {})
        key = (function.__name__, args, *named.items())
        if key not in known:
            known[key] = function(model, *args, **named)
        return known[key]

    return answer


def handed_on(function: Callable, before: Any, after: Any) -> Any:
    """The model after, with what a function of `kept` finds in the one before, which differs in nothing that it reads."""
    return with_answer(function, after, function(before))


def with_answer(function: Callable, model: Any, answer: Any) -> Any:
    """The model, with what a function of `kept` is to find in it."""
    model.__dict__.setdefault("_kept", {})[function.__name__, ()] = answer
    return model


def is_same(array: Array) -> bool:
    """Whether all worlds have the same numbers, bit by bit."""
    bits = np.ascontiguousarray(array).view(np.int64)
    return bool((bits == bits[:1]).all())


def agreed(array: Array) -> Array:
    """Numbers of all worlds, (W, ...), as those of one, (1, ...), where they are the same."""
    return array[:1] if len(array) > 1 and is_same(array) else array
