"""The model of a run, out of its file: the mechanism of its scene with the numbers that /model has of its worlds."""

from collections.abc import Mapping

import numpy as np

from simcli.errors import FileError
from simcli.model.joints.edit import with_numbers
from simcli.model.tables.model import Model
from simcli.records.contents.model_columns import COLUMNS


def stored_model(base: Model, tables: Mapping[str, np.ndarray], path: str, world: int | None = None) -> Model:
    """The model of a run.

    Args:
        base: of its scene, one world; shapes are left as they are there.
        tables: /model of the file.
        path: of the file, for messages.
        world: one world alone; None for all.

    Raises:
        FileError: the tables are not those of the scene.
    """
    columns, wrong = {}, []
    for column in COLUMNS:
        if not column.path or column.path.startswith("shapes."):
            continue
        mine, theirs = column.read(base), tables[column.name]
        if column.axes[0] != "W|1":
            if mine.shape != theirs.shape or (mine != theirs).any():
                wrong.append(column.name)
        elif theirs.shape[1:] != mine.shape[1:]:
            wrong.append(column.name)
        else:
            columns[column.path] = theirs[world : world + 1] if world is not None and len(theirs) > 1 else theirs
    if wrong:
        raise FileError(f"{path}: the scene in /provenance and /model disagree in {', '.join(wrong[:6])}")
    n_worlds = 1 if world is not None else max([1, *map(len, columns.values())])
    return with_numbers(base, columns, n_worlds)
