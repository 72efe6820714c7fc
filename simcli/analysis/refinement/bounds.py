"""Worlds in which shapes may touch or a hard limit may be met: between frames too, as far as the speed there can carry."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from simcli.analysis.diff.labelled import Labelled
from simcli.model.closure.limits import has_bounds
from simcli.model.tables.model import JointKind, Model
from simcli.records.reading.tiles import cut_frames, read_tile, tile_lengths

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

_COORDINATES, RATES = "frames/joint_q", "frames/joint_qd"


def may_hit(run: "Trajectory", columns: dict[str, Labelled], models: Iterable[Model]) -> np.ndarray:
    """Worlds with impacts, perhaps; (W,) bool.

    Args:
        run: of the scene.
        columns: of it.
        models: of all its phases.
    """
    found = np.zeros(run.n_worlds, bool)
    for model in models:
        if model.contacts is not None or (model.joints.kind == JointKind.DISTANCE).any():
            return np.ones(run.n_worlds, bool)
        if has_bounds(model):
            found |= _near_limits(run, columns, model)
    return found


def _near_limits(run: "Trajectory", columns: dict[str, Labelled], model: Model) -> np.ndarray:
    """Worlds where a coordinate comes so near to a hard limit that it may meet it until the next frame."""
    dofs, found = model.dofs, np.zeros(run.n_worlds, bool)
    hard = (dofs.limit_stiffness == 0) & (np.isfinite(dofs.limit_lower) | np.isfinite(dofs.limit_upper))
    for dof in np.flatnonzero(hard.any(axis=0)).tolist():
        joint = int(np.searchsorted(model.joints.qd_start, dof, side="right")) - 1
        names = [f"joint.{model.joints.name[joint]}.{word}" for word in ("q", "qd")]
        places = [list(columns[path].components).index(name) for path, name in zip((_COORDINATES, RATES), names, strict=True)
                  if path in columns and name in columns[path].components]  # fmt: skip
        if len(places) < len(names):  # several coordinates, or not recorded
            return np.ones(run.n_worlds, bool)
        found |= _meets(run, places, dofs.limit_lower[:, dof], dofs.limit_upper[:, dof])
    return found


def _meets(run: "Trajectory", places: list[int], lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    paths = [run.column(path) for path in (_COORDINATES, RATES)]
    frames, worlds = np.arange(run.n_frames), np.arange(run.n_worlds)
    room, speed = np.full(run.n_worlds, np.inf), np.zeros(run.n_worlds)
    for part in cut_frames([frames, frames], tile_lengths(paths)[0]):
        q, qd = (read_tile(column, frames[part], worlds)[..., place] for column, place in zip(paths, places, strict=True))
        room = np.fmin(room, np.fmin.reduce(np.fmin(q - lower, upper - q)))
        speed = np.fmax(speed, np.fmax.reduce(np.abs(qd)))
    return room <= speed * float(np.diff(run.time).max(initial=0.0))
