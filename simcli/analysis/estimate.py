"""What a run will take, before it starts: counts, size of the file, memory."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from simcli.model.closure.begin import has_bounds, has_rows
from simcli.model.tables.body_tables import Contacts
from simcli.model.tables.model import Model
from simcli.records.contents.layout import Axes, recordable
from simcli.records.contents.model_columns import model_arrays
from simcli.records.contents.select import frame_bytes, selection
from simcli.records.writing.messages import LIMIT_BYTES
from simcli.spec.document.resolved_yaml import to_yaml
from simcli.spec.passes import MOST_ALONE

# Measured on small scenes: what a file and a process take before the first frame.
FILE_OVERHEAD = 130_000  # [B], headers of some 160 datasets and their attributes
LABEL_BYTES = 64  # [B] of a name in the file: a reference and its place in the heap
# Peak of the process that steps, which is the larger one, in a first run, which compiles; measured with float64 on x86-64.
PROCESS_BYTES = 195_000_000  # [B], Python, its modules, Taichi, and the kernels of a tree without rows
# [B], more for the kernels, which LLVM optimises: of rows, of affine bodies, and of contact with either.
ROW_KERNELS, AFFINE_KERNELS, CONTACT_KERNELS = 90_000_000, 65_000_000, 160_000_000
_ENTRY_BYTES = 17_000  # [B] of a body or joint: text, tree, scene and parts, in Python
WORLD_BYTES = 14_000  # [B] of the scene of a world of a batch while the model is built
CONTACT_REALS = 520  # of a contact that has room: place, axes, cores, impulses, rows
TABLE_COPIES = 2  # of the model: in numpy and on the device
AFFINE_UNKNOWNS = 12  # of a body
# Numbers of a world on the device for each of its bodies and dofs: the median of 28 scenes, of the right order.
DEVICE_NUMBERS = {"generalized": 80, "maximal": 300, "natural": 700, "affine": 450}
STATE_COPIES = 4  # frames' worth of device state and of the block being filled


def estimate(
    spec: Any, model: Model, schedule: Any, channels: frozenset[str], resolved: str | None = None
) -> dict[str, Any]:
    """Counts and sizes of a run; of recorded contacts, the file is without, since nobody knows how many there will be.

    Args:
        spec: the scene.
        model: its numbers, all worlds.
        schedule: steps and frames (`pipeline.Schedule`).
        channels: channel groups that will be written.
        resolved: the scene as text, where somebody has it.
    """
    axes = selection(model, spec.output.select)
    rows, n_frames = recordable(axes, channels), schedule.n_frames + 1
    most = frame_bytes(rows, axes, spec.output.dtype)
    per_frame = frame_bytes(rows, replace(axes, capacity=0), spec.output.dtype)
    parameters = model.n_worlds * 8 * (len(model.param_name) + 2)
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
        "file_bytes": FILE_OVERHEAD
        + stored_bytes(model, axes)
        + 2 * len(resolved or to_yaml(spec))
        + parameters
        + per_frame * n_frames,
        "most_contact_bytes": (most - per_frame) * n_frames,
        "memory_bytes": PROCESS_BYTES
        + kernel_bytes(spec.solver.type, model)
        + entry_bytes(model)
        + TABLE_COPIES * table_bytes(model)
        + device_bytes(spec.solver, model)
        + contact_bytes(model.n_worlds, model.contacts)
        + matrix_bytes(spec.solver, model)
        + min(most * n_frames, LIMIT_BYTES)
        + STATE_COPIES * most,
    }


def kernel_bytes(solver: str, model: Model) -> int:
    """Bytes that kernels take beyond those of a tree without rows, while they are compiled."""
    if model.contacts is not None:
        return CONTACT_KERNELS
    if solver == "affine":
        return AFFINE_KERNELS
    return ROW_KERNELS if solver != "generalized" or has_rows(model) or has_bounds(model) else 0


def entry_bytes(model: Model) -> int:
    """Bytes of the scene in Python: its entries, and the scenes of the worlds that are built at once."""
    n_entries = model.n_bodies + sum(not name.endswith("_free") for name in model.joints.name)
    return _ENTRY_BYTES * n_entries + WORLD_BYTES * min(model.n_worlds, MOST_ALONE) * bool(model.param_name)


def device_bytes(solver: Any, model: Model) -> int:
    """Bytes of what all worlds have on the device beside contacts; of the right order."""
    size = np.dtype(solver.precision).itemsize
    return DEVICE_NUMBERS[solver.type] * (model.n_bodies + model.n_qd) * size * model.n_worlds


def contact_bytes(n_worlds: int, contacts: Contacts | None) -> int:
    """Bytes of the contacts that have room on the device, in all worlds."""
    capacity = contacts.capacity if contacts is not None else 0
    return 8 * CONTACT_REALS * capacity * n_worlds


def matrix_bytes(solver: Any, model: Model) -> int:
    """Bytes of the matrices of affine bodies that can touch: half of each is there in full, since all bodies might meet.

    Args:
        solver: options.
        model: all worlds.
    """
    if solver.type != "affine" or model.contacts is None:
        return 0
    n = AFFINE_UNKNOWNS * model.n_bodies
    return np.dtype(solver.precision).itemsize * (n * (n + 1) // 2) * model.n_worlds


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
