"""Buffers that a call of the kernel fills with frames, and the columns of files that they become.

Columns of frames that leave the device have a buffer of their own, or one with all others together.
"""

import gc
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from simcli.errors import DeviceMemoryError
from simcli.kernels.articulation.report import unload_part
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.runtime import Device
from simcli.kernels.device.storage import no_room_for_frames
from simcli.kernels.language.numbers import number
from simcli.model.snapshot import FrameBlock
from simcli.model.tables.model import Model
from simcli.records.contents.layout import DATASETS
from simcli.solvers.base.run_plan import RunPlan
from simcli.solvers.output.energy_balance import ENERGY


class Other(NamedTuple):
    """A column of frames, a line for each body.

    Attributes:
        dataset: below /frames.
        shown: of `RunPlan.reports`, what shows it.
        array: where it stands, from a core.
    """

    dataset: str
    shown: str
    array: Callable


BUFFERS = (
    "joint_q",
    "joint_qd",
    "joint_qdd",
    "joint_effort",
    "body_q",
    "body_qd",
    "points",
    "joint_wrench",
    "multiplier",
    "energy",
    "diag",
    "health",
    "touch",
    "contacts",
    "quantity",
    "others",
)
_OF_CHANNELS = {
    "joints": lambda c: {
        "joint_q": c.state.q,
        "joint_qd": c.state.qd,
        "joint_qdd": c.state.qdd,
        "joint_effort": c.rows.effort,
    },
    "bodies": lambda c: {"body_q": c.rows.body_q, "body_qd": c.rows.body_qd, "points": c.rows.points},
    "reactions": lambda c: {"joint_wrench": c.rows.joint_wrench} | ({"multiplier": c.multipliers} if c.constrained else {}),
    "energy": lambda c: {"energy": c.rows.energy},
}


def arrays_of_frames(c) -> dict:
    """Where the columns stand that leave the device, one buffer for each, by the names of BUFFERS."""
    found = {"health": c.health}
    for channel, arrays in _OF_CHANNELS.items():
        found |= arrays(c) if c.leaving[channel] else {}
    found |= {"diag": c.diag} if c.constrained else {}
    return found | ({"touch": c.contacts.summary} if c.summarises else {})


_OTHERS = (
    Other("body_stretch", "stretch", lambda c: c.stretch),
    Other("body_qdd", "body_qdd", lambda c: c.rows.body_qdd),
)
_MADE = {"time", "step", "natural_q", *BUFFERS, *(other.dataset for other in _OTHERS)}
if empty := {row.path for row in DATASETS if row.path.startswith("frames/")} - {f"frames/{name}" for name in _MADE}:
    raise TypeError(f"nothing fills {empty} of records/contents/layout.py: name where it stands in _OTHERS of {__name__}")


def others_of(c) -> list[Other]:
    """Those that leave the device, in the order of the buffer."""
    return [other for other in _OTHERS if c.leaving[other.shown]]


def width_of_others(c) -> int:
    """Numbers of each world and frame."""
    return sum(other.array(c).n_items for other in others_of(c))


def unload_others(out, c, at, w, poison):
    """Copy them to a flat buffer, as `report.unload_part`; `at` counts frames, blocks and lanes before this block.

    Writes: out
    """
    arrays = [other.array(c) for other in others_of(c)]
    widths = [number(array, "n_items") for array in arrays]
    for k, array in enumerate(arrays):
        unload_part(out, array, at * sum(widths) + sum(widths[:k]), w, widths[k], sum(widths), poison)


def other_columns(c, values: np.ndarray, n_bodies: int) -> dict[str, np.ndarray]:
    """HDF5 path to array (F, W, B, ...).

    Args:
        values: (F, W, `width_of_others`).
    """
    columns, before = {}, 0
    for other in others_of(c):
        n = other.array(c).n_items
        part = np.ascontiguousarray(values[..., before : before + n])
        columns[f"frames/{other.dataset}"] = part.reshape(*values.shape[:2], n_bodies, -1)
        before += n
    return columns


NOWHERE: Mapping[str, np.ndarray] = MappingProxyType({})  # no places for columns


class FrameBuffers:
    """The buffers of one run.

    Args:
        core: what shows the frames.
        model: its tables.
        plan: of the run.
        device: where it runs.
        arena: its memory.
        blank: columns of joints by name: which of their numbers stand for nothing, (NQ,) or (NV,) bool.
    """

    def __init__(self, core, model: Model, plan: RunPlan, device: Device, arena: Arena, blank: dict[str, np.ndarray]):
        self._core, self._model, self._plan, self._device, self._arena = core, model, plan, device, arena
        self._blank, self._kept = blank, {}

    @property
    def frame_bytes(self) -> int:
        """Bytes of one frame of all worlds."""
        return sum(self.widths().values()) * self._arena.n_blocks * self._device.lanes * self._device.dtype.itemsize

    def widths(self) -> dict[str, int]:
        """Columns of each buffer, none for channels that are off."""
        core, arrays = self._core, arrays_of_frames(self._core)
        widths = {name: arrays[name].n_items if name in arrays else 0 for name in BUFFERS}
        contacts = core.contacts.width if core.leaving["contacts"] else 0
        return widths | {"contacts": contacts, "quantity": self._plan.measures.records, "others": width_of_others(core)}

    def take(self, n_frames: int, places: Mapping[str, np.ndarray], begins: bool = False) -> dict:
        """Flat buffers of a call, with their numbers of columns.

        Device memory is kept for the next call of as many frames: Taichi frees its arrays only when Python collects them.

        Args:
            n_frames: how many.
            places: where columns are made, if they fit there: HDF5 path to (n_frames, W, ...), C-contiguous.
            begins: whether no step was taken yet.

        Raises:
            DeviceMemoryError: there is no memory for them; before the first frame with how many worlds may fit.
        """
        if n_frames in self._kept:
            return self._kept[n_frames]
        rows = n_frames * self._arena.n_blocks * self._device.lanes
        buffers = {}
        for name, n in self.widths().items():
            place = self._fitting(places.get(f"frames/{name}"), n_frames, rows * n)
            try:
                buffers[name] = (self._device.buffer((max(rows * n, 1),)) if place is None else place, n)
            except (RuntimeError, MemoryError) as error:
                size, n_worlds = self._device.dtype.itemsize, self._model.n_worlds * begins
                raise no_room_for_frames(self.frame_bytes // size, size, n_worlds, error) from error
        if self._device.is_gpu:
            self._kept = {n_frames: buffers}
        return buffers

    def held(self, n_frames: int, begins: bool) -> int:
        """Frames, at most so many, whose buffers a GPU has the memory for; the buffers are there.

        Args:
            n_frames: how many would be taken.
            begins: as of `take`.

        Raises:
            DeviceMemoryError: it has not the memory for a single one.
        """
        while True:
            try:
                self.take(n_frames, NOWHERE, begins)
                return n_frames
            except DeviceMemoryError:
                if n_frames == 1:
                    raise
            self._kept, n_frames = {}, n_frames // 2
            gc.collect()

    def fetched(self, buffers: dict, n_frames: int) -> dict[str, np.ndarray]:
        """All buffers on the host, by name: (F, W, columns)."""
        return {name: self._fetch(buffer, n_frames, n) for name, (buffer, n) in buffers.items()}

    def columns(self, arrays: dict, n_frames: int) -> dict[str, np.ndarray]:
        """HDF5 path to array (F, W, ...), of the channels that are on; `arrays` from `fetched`."""
        core, model, columns = self._core, self._model, {}
        lead = (n_frames, model.n_worlds)
        if core.leaving["joints"]:
            for name, blank in self._blank.items():
                arrays[name][..., blank] = np.nan
                columns[f"frames/{name}"] = arrays[name]
        if core.leaving["bodies"]:
            columns["frames/body_q"] = arrays["body_q"].reshape(*lead, model.n_bodies, 7)
            columns["frames/body_qd"] = arrays["body_qd"].reshape(*lead, model.n_bodies, 6)
            for k, name in enumerate(model.points.name):
                columns[f"frames/point/{name}/position"] = arrays["points"][..., 6 * k : 6 * k + 3]
                columns[f"frames/point/{name}/velocity"] = arrays["points"][..., 6 * k + 3 : 6 * k + 6]
        columns |= other_columns(core, arrays["others"], model.n_bodies)
        if core.leaving["reactions"]:
            columns["frames/joint_wrench"] = arrays["joint_wrench"].reshape(*lead, model.n_joints, 6)
            columns["frames/multiplier"] = arrays["multiplier"]
        if core.constrained:
            columns |= {f"diag/{name}": arrays["diag"][..., k] for k, name in enumerate(core.diagnostics)}
            for name in {"iterations", "contacts"} & set(core.diagnostics):
                columns[f"diag/{name}"] = np.nan_to_num(columns[f"diag/{name}"], nan=-1).astype(np.int32)
        if core.leaving["energy"]:
            columns |= {f"energy/{name}": arrays["energy"][..., k] for k, name in enumerate(ENERGY)}
        if self._plan.measures.records:
            columns["frames/quantity"] = arrays["quantity"]
        columns["diag/status"] = arrays["health"][..., 0].astype(np.uint8)
        return columns

    def _fitting(self, place: np.ndarray | None, n_frames: int, size: int) -> np.ndarray | None:
        """A place as a flat buffer of so many values, if a kernel can fill it: no idle lanes, and the device's type."""
        if place is None or self._device.is_gpu or place.dtype != self._device.dtype:
            return None
        flat = place[:n_frames].reshape(-1)
        return flat if flat.size == size else None

    def _fetch(self, buffer, n_frames: int, n: int) -> np.ndarray:
        """A buffer on the host, (F, W, n), without the idle lanes of the last block."""
        if n == 0:
            return np.zeros((n_frames, self._model.n_worlds, 0), self._device.dtype)
        return self._device.fetch(buffer).reshape(n_frames, -1, n)[:, : self._model.n_worlds]


def blank_worlds(block: FrameBlock, ended: Mapping[int, int], n_worlds: int) -> None:
    """Blank what a block shows of worlds that cannot begin; status by world."""
    ends = list(ended)
    if block.contacts:
        block.contacts = block.contacts.of_worlds(~np.isin(np.arange(n_worlds), ends))
    for name, column in block.columns.items():
        if name == "diag/contacts":
            column[:, ends] = -1
        elif name == "diag/status":
            column[:, ends] = list(ended.values())
        elif np.issubdtype(column.dtype, np.floating):
            column[:, ends] = np.nan
