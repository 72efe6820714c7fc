"""What the host knows of each world after each call: how it is, and where its joints are, without a frame."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from simcli.model.phases.stretches import Phase
from simcli.model.snapshot import FrameBlock
from simcli.model.tables import Model

_OF_JOINTS = ("joint_q", "joint_qd")
PATHS_OF_JOINTS = tuple(f"frames/{name}" for name in _OF_JOINTS)


class HostCopy:
    """Numbers of all worlds that a CPU copies at the end of each call, while their block is in the cache; a GPU is read.

    Args:
        solver: that has not begun.

    Attributes:
        shows_joints: whether that is all that frames hold of coordinates and velocities of joints.
        is_whole: whether it is how all worlds are now.
        given: what the kernel of a run takes.
    """

    def __init__(self, solver):
        self._stepper = stepper = solver.stepper
        core, model, is_tree = stepper.core, stepper.model, solver is stepper  # others have other coordinates
        self.shows_joints = not stepper.device.is_gpu and is_tree and core.leaving["joints"] and not core.projects
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
