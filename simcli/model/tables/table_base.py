"""Base of the tables: a frozen dataclass of numpy columns that nobody can write, each declared once (`per`).

What a column is follows from its declaration: where it stands in files and how `diff` names its entries, which of its
numbers events may set, how batches are joined, and what a table without entries holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields
from enum import Enum
from functools import wraps
from typing import Any, ClassVar, NamedTuple, Self, get_origin

import numpy as np

Array = np.ndarray
IN_SCENE = "the scene in the file has it"
FOUND_AGAIN = "made of other columns, or of the scene, when a run is prepared"
# Lengths of axes that have no entries of their own; `power` is of polynomials, constant and factor at least.
_LENGTHS = {
    "W|1": 1,
    "xyz": 3,
    "xyz2": 3,
    "pose": 7,
    "twist": 6,
    "quat": 4,
    "end": 2,
    "dof_kind": 2,
    "bound": 2,
    "power": 2,
    "corner": 3,
}


class Changes(Enum):
    """What an event may do with a column; the members that say more than no say what the layout of a solver depends on."""

    NONE = "it is structure"
    NUMBERS = "it may set them: which are zero, negative or infinite counts"
    VALUES = (
        "it may set them, and the very values count, as places that coincide or friction at rest that is that of sliding"
    )


class TableColumn(NamedTuple):
    """What a column of a table is.

    Attributes:
        axes: names; the first is W|1 where worlds may differ, B+1 is that of offsets into B, a digit is a length.
        unit: of its numbers.
        changes: what events may do with it.
        refers: axis whose entries its numbers count, "" for none; -1 is the world.
        dataset: its name in /model, "" for that of an entry and its own.
        kind: of its numbers.
        left_out: why /model lacks it, "" where it has it.
        is_ragged: whether each entry has an array of its own, which a file has one after the other.
        is_later: whether files of before lack it, though not its table: zero was all that there was.
    """

    axes: tuple[str, ...]
    unit: str
    changes: Changes
    refers: str
    dataset: str
    kind: type
    left_out: str
    is_ragged: bool
    is_later: bool

    def empty(self, **lengths: int) -> Array:
        """The column of a table without entries, but for those of axes with a length."""
        return empty_array(self.axes, self.kind, **lengths)


def empty_array(axes: Sequence[str], kind: type, **lengths: int) -> Array:
    """Zeros along axes that have no entries, but for those with a length."""
    known = _LENGTHS | lengths
    sizes = (known.get(axis.removesuffix("+1"), 0) + axis.endswith("+1") for axis in axes)
    return np.zeros([int(axis) if axis.isdigit() else n for axis, n in zip(axes, sizes, strict=True)], kind)


def per(
    axes: str,
    unit: str = "1",
    changes: Changes = Changes.NONE,
    refers: str = "",
    dataset: str = "",
    kind: type = np.int32,
    left_out: str = "",
    is_ragged: bool = False,
    is_later: bool = False,
    optional: bool = False,
) -> Any:
    """Declare a column; see `TableColumn`. Where worlds may differ its numbers are float64.

    With `axes` separated by spaces. A table may be made without a column that is `optional`, and then has no entries of it.
    """
    names = tuple(axes.split())
    column = TableColumn(
        names, unit, changes, refers, dataset, float if names[0] == "W|1" else kind, left_out, is_ragged, is_later
    )
    default: dict[str, Any] = {"default_factory": column.empty} if optional else {}
    return field(metadata={TableColumn: column}, **default)


def declared(one: Field) -> TableColumn | None:
    """What a field of a table was declared to be, None for one that is no column."""
    return one.metadata.get(TableColumn)


class TableEntries(NamedTuple):
    """What files say of a table.

    Attributes:
        axis: name of the axis along which its entries are named, "" for none.
        entry: what one of them is called, by which names in /model begin; "" for a table that files lack.
        is_original: whether files of every version have it; others are read as if it had no entries.
        left_out: why files lack it.
    """

    axis: str = ""
    entry: str = ""
    is_original: bool = False
    left_out: str = ""


@dataclass(frozen=True)
class Table:
    """Base of the tables: freezes its arrays.

    Attributes:
        in_files: what files say of it, from the words behind its base.
    """

    in_files: ClassVar[TableEntries] = TableEntries()

    def __init_subclass__(cls, **words: Any) -> None:
        cls.in_files = TableEntries(**words)

    def __post_init__(self):
        for column in fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @classmethod
    def empty(cls, **lengths: int) -> Self:
        """A table without entries, but for those of axes with a length."""
        columns: dict[str, Any] = {one.name: (get_origin(one.type) or one.type, declared(one)) for one in fields(cls)}
        return cls(**{name: what.empty(**lengths) if kind is Array else kind() for name, (kind, what) in columns.items()})


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
