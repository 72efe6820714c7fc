"""The fixed axes of a file: of a whole model, or of the bodies and joints that `output.select` keeps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from simcli.errors import OutputError
from simcli.model.tables.model import NAMED_TABLES, Model
from simcli.records.contents.layout import COMPONENTS, STRETCH, Axes


def axes_of(model: Model, row_label: Sequence[str] = (), quantities: Sequence[tuple[str, str]] = ()) -> Axes:
    """Axes of the file of a whole model.

    Args:
        model: the tables.
        row_label: names of the constraint rows.
        quantities: label and unit of each column of /frames/quantity.
    """
    label = {
        **{entries.axis: getattr(model, table).name for table, entries in NAMED_TABLES.items()},
        "NQ": model.dofs.q_label,
        "NV": model.dofs.label,
        "R": row_label,
        "G": model.naturals.label if model.naturals else (),
        "Y": tuple(label for label, _ in quantities),
        "D": STRETCH if model.affine is not None else (),
        "Z": [f"{model.springs.name[k]}:{n}" for n, k in enumerate(model.springs.pulley_spring)],
        "H": [f"{model.ropes.name[k]}:{n}" for n, k in enumerate(model.ropes.stop_rope)],
        "OD": [
            f"{model.ropes.name[k]}:{model.dofs.label[d]}"
            for k, d in zip(model.ropes.paid_rope, model.ropes.paid_dof, strict=True)
        ],
        "I": tuple(f"x^{n + 2}" for n in range(model.mimics.curve.shape[-1])),
        "P": model.param_name,
        **COMPONENTS,
    }
    capacity = model.contacts.capacity if model.contacts else 0
    return Axes(
        model.n_worlds,
        {axis: tuple(names) for axis, names in label.items()},
        capacity=capacity,
        quantity_unit=tuple(unit for _, unit in quantities),
    )


def selection(
    model: Model, select: Any = None, row_label: Sequence[str] = (), quantities: Sequence[tuple[str, str]] = ()
) -> Axes:
    """Axes of a file that keeps some bodies and joints.

    The coordinates follow the joints, named points and contacts the bodies.

    Args:
        model: the tables.
        select: None for everything; patterns over bodies, joints and articulations (`spec/base/patterns.py`); or what has
            the fields `include`, `exclude`, `types`, `exclude_types`, as `output.select` of a scene.
        row_label: labels of the constraint rows.
        quantities: see `axes_of`; they stay.

    Raises:
        OutputError: a pattern that includes fits nothing, or nothing is left.
    """
    whole = axes_of(model, row_label, quantities)
    if select is None:
        return whole
    from simcli.model.joints.selection import choose_written  # late: it brings the schema, which no recorder needs

    kept, problem = choose_written(model, select)
    if problem:
        raise OutputError(f"output.select: {problem}")
    index = dict(zip("BJ", kept, strict=True))
    index["NQ"] = _members(model.joints.q_start, index["J"])
    index["NV"] = _members(model.joints.qd_start, index["J"])
    index["N"] = np.flatnonzero(np.isin(model.points.body, index["B"]))
    if whole.label["G"]:
        per_entity = len(whole.label["G"]) // len(model.naturals.body)
        index["G"] = np.flatnonzero(np.isin(np.repeat(model.naturals.body, per_entity), index["B"]))
    label = {axis: tuple(names[i] for i in index[axis]) if axis in index else names for axis, names in whole.label.items()}
    return Axes(model.n_worlds, label, index, whole.capacity, whole.quantity_unit)


def _members(start: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Coordinates of the given joints, in their order."""
    parts = [np.arange(start[j], start[j + 1]) for j in joints]
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
