"""`output.select`: which bodies and joints a file keeps."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from simcli.errors import OutputError
from simcli.model.tables import Model
from simcli.records.layout import Axes, axes_of


def selection(model: Model, patterns: Sequence[str], row_label: Sequence[str] = ()) -> Axes:
    """Axes of a file that keeps the bodies and joints whose names match one of the patterns (`*`, `?`, `[..]`).

    The coordinates follow the joints, shapes and named points the bodies. Without patterns everything is kept.

    Raises:
        OutputError: a pattern matches nothing.
    """
    whole = axes_of(model, row_label)
    if not patterns:
        return whole
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in (*model.bodies.name, *model.joints.name)):
            raise OutputError(f"output.select: `{pattern}` matches no body and no joint")
    index = {axis: _matching(whole.label[axis], patterns) for axis in "BJ"}
    index["NQ"] = _members(model.joints.q_start, index["J"])
    index["NV"] = _members(model.joints.qd_start, index["J"])
    index["N"] = np.flatnonzero(np.isin(model.points.body, index["B"]))
    label = {axis: tuple(names[i] for i in index[axis]) if axis in index else names
             for axis, names in whole.label.items()}  # fmt: skip
    return Axes(model.n_worlds, label, index)


def _matching(names: Sequence[str], patterns: Sequence[str]) -> np.ndarray:
    return np.array([i for i, name in enumerate(names) if any(fnmatchcase(name, pattern) for pattern in patterns)],
                    np.int64)  # fmt: skip


def _members(start: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Coordinates of the given joints, in their order."""
    parts = [np.arange(start[j], start[j + 1]) for j in joints]
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
