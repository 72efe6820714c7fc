"""Values of the worlds of a batch: a column out of an earlier run, which `from` takes, and a table of what a batch draws.

The table has a row per world: `simcli samples` shows it and `--vary-table` takes it.
"""

from pathlib import Path

import numpy as np

from simcli.analysis.worlds.world_columns import WorldColumn
from simcli.analysis.worlds.world_table import WorldTable, read_files
from simcli.errors import UsageError
from simcli.model.params import param_unit, world_table
from simcli.spec import Document, SceneSpec, world_seeds


def column_of(path: str, name: str) -> tuple[list[float], str]:
    """One number per world of a run.

    Args:
        path: of the file.
        name: of a column of `simcli table`, as `measure.best` or a varied path.

    Returns:
        (n_worlds,) and the unit.

    Raises:
        FileError: the file is damaged or no run.
        UsageError: it has no such column.
    """
    column = read_files([Path(path)]).column(name)
    if column.has_words:
        raise UsageError(f"`{name}` of {path} holds words")
    return [float(value) for value in column.values], column.unit


def sample_table(document: Document, spec: SceneSpec) -> WorldTable:
    """Number, seed and varied numbers of every world of a batch.

    Args:
        document: the scene as written.
        spec: the resolved scene.

    Returns:
        Columns `world`, `seed`, and one per varied path, of a vector one per component, in SI.
    """
    names, values = world_table(spec)
    numbers = [
        WorldColumn(name, column, param_unit(document, spec, name), "a varied number", is_varied=True)
        for name, column in zip(names, values.T, strict=True)
    ]
    columns = [
        WorldColumn("world", np.arange(len(values)), "", "number of the world"),
        WorldColumn("seed", np.asarray(world_seeds(spec), np.uint64), "", "seed of the world"),
        *numbers,
    ]
    return WorldTable({column.name: column for column in columns}, len(values))
