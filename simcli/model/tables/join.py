"""Several models of one structure, each of some worlds, as one model of all of them; and the model of some of its worlds."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from simcli.model.tables.model import Array, Model, declared_columns
from simcli.model.tables.table_base import kept

# The float columns that all worlds share by definition.
NO_WORLD_AXIS = frozenset(
    name for _, name, one in declared_columns() if one.kind is float and one.axes[0] != "W|1" and not one.is_ragged
)


def join(pieces: list[Model], order: Array, skip: int = 0) -> Model:
    """Put models behind each other along the world axis.

    Args:
        pieces: the same index tables and names; a column without world axis has the same values in all of them.
        order: (W,) of the worlds, by their places in all pieces.
        skip: leading worlds of each piece that are left out.

    Returns:
        The model of all remaining worlds.
    """
    counts = [piece.n_worlds for piece in pieces]
    return _join(pieces, counts, None if (order == np.arange(len(order))).all() else order, skip)


def _join(pieces: list[Any], counts: list[int], order: Array | None, skip: int) -> Any:
    values = {}
    for column in fields(pieces[0]):
        parts = [getattr(piece, column.name) for piece in pieces]
        if is_dataclass(parts[0]):
            values[column.name] = _join(parts, counts, order, skip)
        elif column.name == "n_worlds":
            values[column.name] = sum(counts) - skip * len(counts)
        elif column.name in ("param_value", "world_seed") or has_world_axis(column.name, parts[0]):
            values[column.name] = _column(parts, counts, order, skip)
        else:
            values[column.name] = parts[0]
    return type(pieces[0])(**values)


def model_of_worlds(model: Any, worlds: Array) -> Any:
    """The model of some of its worlds.

    Args:
        model: or a table of it.
        worlds: (n,), their numbers.
    """
    values = {
        name: model_of_worlds(value, worlds) if is_dataclass(value) else value[worlds]
        for name, value in _columns_of_worlds(model)
    }
    if hasattr(model, "n_worlds"):
        values["n_worlds"] = len(worlds)
    return replace(model, **values)


@kept
def _columns_of_worlds(model: Any) -> list[tuple[str, Any]]:
    """Columns of a model, or of a table of it, in which worlds differ, and its tables with such columns."""
    found = []
    for column in fields(model):
        value = getattr(model, column.name)
        if is_dataclass(value):
            differs = bool(_columns_of_worlds(value))
        else:
            is_own = column.name in ("param_value", "world_seed") or has_world_axis(column.name, value)
            differs = is_own and len(value) > 1
        if differs:
            found.append((column.name, value))
    return found


def has_world_axis(name: str, value: Any) -> bool:
    """Whether a column of a table has a world axis, of length 1 where all worlds agree."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and name not in NO_WORLD_AXIS


def _column(parts: list[Array], counts: list[int], order: Array | None, skip: int) -> Array:
    if all(len(part) == 1 and count > 1 for part, count in zip(parts, counts, strict=True)):
        return parts[0]
    full = [np.broadcast_to(part, (count, *part.shape[1:]))[skip:] for part, count in zip(parts, counts, strict=True)]
    joined = np.concatenate(full) if order is None else np.concatenate(full)[order]
    joined.setflags(write=False)
    return joined
