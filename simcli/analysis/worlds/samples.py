"""What a batch draws as a table, a row per world: what `simcli samples` shows and `--vary-table` takes."""

import numpy as np

from simcli.analysis.worlds.world_table import WorldColumn, WorldTable
from simcli.model.from_scene import world_table
from simcli.model.param_units import param_unit
from simcli.spec import Document, SceneSpec, world_seeds


def sample_table(document: Document, spec: SceneSpec) -> WorldTable:
    """Number, seed and varied numbers of every world of a batch.

    Args:
        document: the scene as written.
        spec: the resolved scene.

    Returns:
        Columns `world`, `seed`, and one per varied path, of a vector one per component, in SI.
    """
    names, values = world_table(spec)
    numbers = [WorldColumn(name, column, param_unit(document, spec, name), "a varied number", is_varied=True)
               for name, column in zip(names, values.T, strict=True)]  # fmt: skip
    columns = [WorldColumn("world", np.arange(len(values)), "", "number of the world"),
               WorldColumn("seed", np.asarray(world_seeds(spec), np.uint64), "", "seed of the world"), *numbers]  # fmt: skip
    return WorldTable({column.name: column for column in columns}, len(values))
