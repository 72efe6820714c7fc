"""What a run will take, before it starts: counts, size of the file, memory."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from simcli.model.tables import Model
from simcli.records.chunks import frame_bytes
from simcli.records.layout import Axes, selected
from simcli.records.model_columns import model_arrays
from simcli.records.ring import LIMIT_BYTES
from simcli.records.select import selection
from simcli.spec.resolved import to_yaml

# Measured on small scenes: what a file and a process take before the first frame.
FILE_OVERHEAD = 130_000  # [B], headers of some 160 datasets and their attributes
LABEL_BYTES = 64  # [B] of a name in the file: a reference and its place in the heap
PROCESS_BYTES = 300_000_000  # [B], Taichi and LLVM
TABLE_COPIES = 2  # of the model: in numpy and on the device
STATE_COPIES = 4  # frames' worth of device state and of the block being filled


def estimate(spec: Any, model: Model, schedule: Any, channels: frozenset[str]) -> dict[str, Any]:
    """Counts and sizes of a run; of recorded contacts, the file is without, since nobody knows how many there will be.

    Args:
        spec: the scene.
        model: its numbers, all worlds.
        schedule: steps and frames (`pipeline.Schedule`).
        channels: channel groups that will be written.
    """
    axes = selection(model, spec.output.select)
    rows, n_frames = selected(axes, channels), schedule.n_frames + 1
    most = frame_bytes(rows, axes, spec.output.dtype)
    per_frame = frame_bytes(rows, replace(axes, capacity=0), spec.output.dtype)
    tables, parameters = table_bytes(model), model.n_worlds * 8 * (len(model.param_name) + 2)
    return {
        "scene": spec.name,
        "solver": spec.solver.type,
        "precision": spec.solver.precision,
        "bodies": model.n_bodies,
        "joints": model.n_joints,
        "dof": model.n_qd,
        "worlds": model.n_worlds,
        "dt": schedule.dt,
        "steps": schedule.n_steps,
        "steps_per_frame": schedule.steps_per_frame,
        "last_steps": schedule.last_steps,
        "frames": n_frames,
        "channels": sorted(channels),
        "file_bytes": FILE_OVERHEAD + stored_bytes(model, axes) + 2 * len(to_yaml(spec)) + parameters + per_frame * n_frames,
        "most_contact_bytes": (most - per_frame) * n_frames,
        "memory_bytes": PROCESS_BYTES + TABLE_COPIES * tables + min(most * n_frames, LIMIT_BYTES) + STATE_COPIES * most,
    }


def free_bytes(path: Path) -> int:
    """Bytes that are free where a file will be made."""
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def stored_bytes(model: Model, axes: Axes) -> int:
    """Bytes of /model in the file: arrays of the kept bodies and joints, and their names."""
    arrays = sum(array.nbytes for array in model_arrays(model, axes).values())
    names = [name for labels in axes.label.values() for name in labels]
    return arrays + sum(map(len, names)) + LABEL_BYTES * len(names)


def table_bytes(model: Model) -> int:
    """Bytes of all arrays of a model."""
    total = 0
    for table in vars(model).values():
        arrays = vars(table).values() if hasattr(table, "__dataclass_fields__") else (table,)
        total += sum(getattr(array, "nbytes", 0) for array in arrays)
    return total
