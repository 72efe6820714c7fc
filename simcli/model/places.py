"""Where the value of a path of a scene stands in the tables of its model.

It is found by trial: worlds that differ at the path alone are built, and each column in which they differ is compared with
the values. `Simulation.set` and others who write a value while worlds run so need not know which path is which column.
"""

from typing import NamedTuple

import numpy as np

from simcli.errors import SceneError
from simcli.model.batch.join import has_world_axis
from simcli.model.from_scene import build_values
from simcli.model.phases.stretches import model_columns
from simcli.spec.batches.batch import path_column
from simcli.spec.document.scene_file import Document

# Of a number: factors and shifts, so that a formula that gives back one of the values does not give back all.
_TRIALS = ((1.0, 0.0), (1.01, 1e-3), (0.99, 2e-3), (1.02, 3e-3))


class ValuePlace(NamedTuple):
    """A number of the tables that is the value of a path, or one of its components.

    Attributes:
        table: name in the model, "" for the model itself.
        column: name in the table.
        index: in the column, behind the world axis.
        component: of the value, () of a plain number.
    """

    table: str
    column: str
    index: tuple[int, ...]
    component: tuple[int, ...]


def places_of_value(document: Document, path: str, value: float | list[float]) -> list[ValuePlace] | None:
    """Where the value of a path stands, unchanged.

    Args:
        document: the scene as written, resolved before.
        path: dotted.
        value: a number, or a list of them, that makes a valid scene; the others that are tried are near to it.

    Returns:
        Its places; None where some number of the tables is worked out of it, so that it cannot be written by itself.
    """
    base = np.array(value, float)
    apart = np.arange(1.0, base.size + 1.0).reshape(base.shape)  # components that are equal are not mistaken for each other
    values = np.stack([base * factor + shift * apart for factor, shift in _TRIALS])
    try:
        model = build_values(document, {path: path_column(values.tolist())}, range(len(_TRIALS)))
    except SceneError:  # near to a bound
        return None
    found = []
    for table, name, column in model_columns(model):
        if not has_world_axis(name, column) or len(column) < len(_TRIALS):
            continue
        for index in np.argwhere((column != column[:1]).any(axis=0)).tolist():
            same = [one for one in np.ndindex(base.shape) if np.array_equal(values[(..., *one)], column[(..., *index)])]
            if not same:
                return None
            found.append(ValuePlace(table, name, tuple(index), same[0]))
    return found
