"""What a program has of worlds that it steps: a copy of how they are after each call, views of frames, saved states.

The copy says without a frame how each world is, and where its joints are; views are of quantities of a frame where they are
in the memory of a GPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from simcli.errors import UsageError
from simcli.kernels.device.dlpack import DeviceView
from simcli.model.phases import Phase
from simcli.model.snapshot import FrameBlock
from simcli.model.tables.model import Model
from simcli.solvers.output.energy_balance import ENERGY

_OF_JOINTS = ("joint_q", "joint_qd")
PATHS_OF_JOINTS = tuple(f"frames/{name}" for name in _OF_JOINTS)


class HostCopy:
    """Numbers of all worlds that a CPU copies at the end of each call, while their block is in the cache; a GPU is read.

    Args:
        stepper: that has not begun.

    Attributes:
        shows_joints: whether that is all that frames hold of coordinates and velocities of joints.
        is_whole: whether it is how all worlds are now.
        given: what the kernel of a run takes.
    """

    def __init__(self, stepper):
        self._stepper, core, model = stepper, stepper.core, stepper.model
        self.shows_joints = not (stepper.device.is_gpu or stepper.has_form) and core.leaving["joints"] and not core.projects
        rows = {"health": core.health.rows}
        rows |= {"summary": core.contacts.summary.rows} if core.summarises else {}
        if self.shows_joints:
            rows |= {"joint_q": core.state.q.rows[: model.n_q], "joint_qd": core.state.qd.rows[: model.n_qd]}
        self._rows, self._columns, n = rows, {}, 0
        for name, one in rows.items():
            self._columns[name], n = slice(n, n + len(one)), n + len(one)
        self._numbers = np.zeros((stepper.arena.n_blocks * stepper.device.lanes, n), stepper.device.dtype)
        self.given = np.concatenate(list(rows.values())).astype(np.int32), self._numbers.reshape(-1)
        self.is_whole = False

    def of(self, name: str) -> np.ndarray:
        """What the last call has copied of all worlds, (W, n), until the next one."""
        if self._stepper.device.is_gpu:
            return self._stepper.arena.read_rows(self._rows[name])[: self._stepper.model.n_worlds]
        return self._numbers[: self._stepper.model.n_worlds, self._columns[name]]

    def joints(self) -> dict[str, np.ndarray] | None:
        """Columns of a frame of now, (1, W, n), of coordinates and velocities alone; None where that takes a frame."""
        if not (self.shows_joints and self.is_whole):
            return None
        ended, found = self._stepper.status != 0, {}
        for name, path in zip(_OF_JOINTS, PATHS_OF_JOINTS, strict=True):
            found[path] = values = self.of(name)[None].copy()
            values[..., self._stepper.placeholders[name]] = np.nan
            values[:, ended] = np.nan
        return found


@dataclass(frozen=True)
class SavedState:
    """All that steps to come depend on, of one simulation.

    Attributes:
        packs: (W with the idle lanes, rows), the numbers of all worlds.
        constants: of the tables that all worlds share, by kind.
        status: (W,).
        n_steps: steps before.
        began, episode, entered: (W,), of each world.
        phases: what is still to come.
        present: model of the phase at hand; None where that follows from the phases.
    """

    packs: np.ndarray
    constants: Mapping[str, np.ndarray]
    status: np.ndarray
    n_steps: int
    began: np.ndarray
    episode: np.ndarray
    entered: np.ndarray
    phases: tuple
    present: Model | None

    @classmethod
    def of(cls, stepper, began: np.ndarray, episode: np.ndarray, entered: np.ndarray) -> "SavedState":
        """A copy of what stands in a stepper; of each world the rest."""
        constants = {what: values.copy() for what, values in stepper.arena.constants.items()}
        packs, by_world = stepper.arena.read().copy(), (began.copy(), episode.copy(), entered.copy())
        status, phases = stepper.status.copy(), tuple(stepper.phases)
        return cls(packs, constants, status, stepper.n_steps, *by_world, phases, stepper.present)


class FrameSink(Protocol):
    """What takes frames."""

    @property
    def frames_wanted(self) -> int:
        """Most of the next block."""

    def places(self, n_frames: int) -> Mapping[str, np.ndarray]:
        """Where their columns are made, by path."""

    def put(self, block: FrameBlock) -> None:
        """Take them; the arrays are copied."""


def later_phase(phase, steps: int):
    """A phase that begins so many steps later."""
    if isinstance(phase, Phase):
        return replace(phase, step=phase.step + steps)
    return replace(phase, phase=later_phase(phase.phase, steps))


def last_of(block: FrameBlock) -> FrameBlock:
    """Its last frame."""
    n = len(block.step)
    columns = {path: column[n - 1 :].copy() for path, column in block.columns.items()}
    contacts = block.contacts and block.contacts.of_frames(n - 1, n)
    return replace(block, step=block.step[n - 1 :], time=block.time[n - 1 :], columns=columns, contacts=contacts, events=[])


def coordinates_of(stepper, worlds: np.ndarray, n_q: int, n_qd: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of joints of some worlds, (n, n_q) and (n, n_qd), as the device has them."""
    found = []
    for name, array, n in (("joint_q", stepper.core.state.q, n_q), ("joint_qd", stepper.core.state.qd, n_qd)):
        values = stepper.arena.storage.read_worlds(array.rows[:n], worlds)
        values[:, stepper.placeholders[name][:n]] = np.nan
        values[stepper.status[worlds] != 0] = np.nan
        found.append(values)
    return tuple(found)


_WIDTHS = {"body_q": 7, "body_qd": 6, "joint_wrench": 6}  # numbers of one body or joint
_ALONE = ("joint_q", "joint_qd", "joint_qdd", "joint_effort", "quantity")
_POINT, _PARTS = 6, {"position": 0, "velocity": 3}


def view_of(stepper, buffers: dict, path: str, entries: tuple) -> DeviceView:
    """A quantity of the frame that buffers hold.

    Args:
        stepper: whose they are.
        buffers: of one frame, by name, with their numbers of columns.
        path: of a column of frames.
        entries: behind the axis of worlds.

    Raises:
        UsageError: frames do not hold it on the device.
        DeviceError: the device has no arrays for other libraries.
    """
    found = _place_of(stepper.model.points.name, path, entries)
    if found is None or found[0] not in buffers or not buffers[found[0]][1]:
        raise UsageError(f"`{path}` has no array on the device: leave dlpack out, or see output.channels")
    name, first, n = found
    buffer, width = buffers[name]
    worlds = stepper.model.n_worlds
    shape, strides = ((worlds,), (width,)) if n is None else ((worlds, n), (width, 1))
    return DeviceView(buffer, stepper.device.dtype, stepper.device.arch, first, shape, strides)


def _place_of(points: tuple[str, ...], path: str, entries: tuple) -> tuple[str, int, int | None] | None:
    """Buffer, first column, and number of columns, None for a number alone."""
    group, _, name = path.partition("/")
    if group == "energy":
        return "energy", ENERGY.index(name), None
    if name.startswith("point/"):
        point, _, part = name.removeprefix("point/").rpartition("/")
        return "points", _POINT * points.index(point) + _PARTS[part], 3
    if group != "frames" or name not in (*_WIDTHS, *_ALONE):
        return None
    item, span = (0, entries[0]) if name in _ALONE else (entries[0], entries[1] if len(entries) > 1 else slice(0, 6))
    first = item * _WIDTHS.get(name, 0)
    return (name, first + span.start, span.stop - span.start) if isinstance(span, slice) else (name, span, None)
