"""The states of a run, as its integrator used them.

An integrator that shows the accelerations of the instant leaves frames that hold together. The first-order one does not:
its frame holds coordinates at the end of a step, but accelerations, efforts and reactions of the step, which belong to
the coordinates at its start. Those are the frame before where every step has a frame; else they are stepped back,

    qd_0 = qd - h qdd,    q_0 = q (-) h qd,

which undoes qd = qd_0 + h qdd, q = q_0 (+) h qd up to rounding.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from simcli import rotations as rot
from simcli.analysis.states.portions import Choice, States
from simcli.errors import UsageError
from simcli.model.tables import LinkKind, Model
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.series import Column

_Array = np.ndarray
LEAN = 1e-6  # of a step: times of steps are rounded (Exact meaning 9 of the scene format)
_COLUMNS = {"joint_q": "frames/joint_q", "joint_qd": "frames/joint_qd", "joint_qdd": "frames/joint_qdd",
           "recorded_effort": "frames/joint_effort", "body_q": "frames/body_q", "body_qd": "frames/body_qd",
           "joint_wrench": "frames/joint_wrench"}  # fmt: skip


@dataclass
class RunStates:
    """Frames and worlds of a run, frame by frame.

    Args:
        run: an open file; it stays open as long as states are wanted.
        choice: which frames and worlds.
        wanted: fields to read, keys of COLUMNS.
        model: of the mechanism.
        seats: world of the model for each world of the run, (W,).
        dt: [s], the step.
        goes_back: True if accelerations belong to the start of the step that ends at a frame.
    """

    run: Trajectory
    choice: Choice
    wanted: tuple[str, ...]
    model: Model
    seats: _Array
    dt: float = 0.0
    goes_back: bool = False
    notes: list[str] = field(default_factory=list)

    def __post_init__(self):
        if not self.run.n_frames:
            raise UsageError(f"{self.run.path} holds no frame yet")
        self.where = self.run.path
        self.n_worlds = self.run.n_worlds
        self.frames = self.choice.of_times(self.run.time, self.where)
        self.worlds = self.choice.of_worlds(self.n_worlds, self.where)
        sizes = {"joint_q": self.model.n_q, "joint_qd": self.model.n_qd, "body_q": self.model.n_bodies}
        self.columns = {name: self.run.column(_COLUMNS[name]) for name in self.wanted if sizes.get(name, sizes["joint_qd"])}
        for name, column in self.columns.items():
            if column.dtype != np.float64 and not self.notes:
                self.notes.append(f"{self.where} holds {column.dtype.name}: its {name} has seven digits")
        self.fields = frozenset(self.wanted)
        self.has_times, self.n_ended = True, 0
        self.n_states = len(self.frames) * len(self.worlds)

    def portions(self, n: int) -> Iterator[States]:
        """All states, whole frames of about n."""
        n_frames = max(n // len(self.worlds), 1)
        for first in range(0, len(self.frames), n_frames):
            yield self.portion(self.frames[first : first + n_frames])

    def portion(self, frames: _Array) -> States:
        """The states of some frames."""
        values = {name: self.read(name, frames) if name in self.columns else np.zeros((len(frames), len(self.worlds), 0))
                  for name in self.wanted}  # fmt: skip
        if self.goes_back and self.columns:
            self.to_start_of_step(frames, values)
        flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in values.items()}
        time = np.repeat(self.run.time[frames], len(self.worlds))
        world = np.tile(self.worlds, len(frames))
        self.n_ended += np.count_nonzero(self.read_rows(self.run.diag.status, frames))
        # A jump of a signal at the time of a frame belongs to the next step, but at the start there is only that one.
        flat["lean"] = np.repeat(np.where(frames > 0, -LEAN, LEAN) * self.dt, len(self.worlds))
        return States(time, world, np.repeat(frames, len(self.worlds)), flat)

    def read(self, name: str, frames: _Array) -> _Array:
        """A field at some frames, (f, w, ...) float64."""
        return np.asarray(self.read_rows(self.columns[name], frames), np.float64)

    def read_rows(self, column: Column, frames: _Array) -> _Array:
        """A column at some frames, (f, w, ...); frames that rise by equal steps in one go."""
        rising, place = np.unique(frames, return_inverse=True)
        steps = np.unique(np.diff(rising))
        whole = len(self.worlds) == self.n_worlds
        worlds = slice(None) if whole else self.worlds.tolist()
        if len(steps) <= 1:
            step = int(steps[0]) if len(steps) else 1
            rows = column[int(rising[0]) : int(rising[-1]) + 1 : step, worlds]
        else:
            rows = np.stack([column[int(frame), worlds] for frame in rising])
        return rows[place]

    def to_start_of_step(self, frames: _Array, values: dict[str, _Array]) -> None:
        """Replace coordinates and rates at the end of a step by those at its start.

        Writes: values
        """
        before = np.maximum(frames - 1, 0)
        is_next = self.run.step[frames] - self.run.step[before] <= 1  # frame 0 is its own start
        earlier = {name: self.read(name, before) for name in ("joint_q", "joint_qd")}
        h = np.where(is_next, 0.0, self.dt)[:, None, None]
        com = self.model.links.com
        q = step_back(self.model, values["joint_q"], values["joint_qd"], h,
                      com if len(com) == 1 else com[self.seats[self.worlds]])  # fmt: skip
        qd = values["joint_qd"] - h * values["joint_qdd"]
        values["joint_q"] = np.where(is_next[:, None, None], earlier["joint_q"], q)
        values["joint_qd"] = np.where(is_next[:, None, None], earlier["joint_qd"], qd)


def step_back(model: Model, q: _Array, rate: _Array, h: _Array, com: _Array) -> _Array:
    """Joint coordinates from which the rates led here in a time h: q (-) h rate.

    Scalars subtract; rotations take the exponential of -h w from the left; of a free body the centre of mass moves back.

    Args:
        model: the tree. Coordinates of loop joints are left as they are.
        q: (F, W, NQ).
        rate: (F, W, NV).
        h: [s], broadcasts with (F, W, 1).
        com: [m], (W|1, L, 3), of the links.

    Returns:
        (F, W, NQ).
    """
    links, out = model.links, q.copy()
    for i in range(model.n_links):
        start, d, kind = links.q_start[i], links.qd_start[i], links.kind[i]
        if kind == LinkKind.HELIX:
            out[..., start] -= (h * rate[..., d : d + 1])[..., 0]
        elif kind == LinkKind.BALL:
            out[..., start : start + 4] = _turned_back(q[..., start : start + 4], h * rate[..., d : d + 3])
        elif kind == LinkKind.FREE:
            there = q[..., start + 3 : start + 7]
            here = _turned_back(there, h * rate[..., d + 3 : d + 6])
            arm = rot.turn(rot.quat_to_matrix(rot.unit(there)) - rot.quat_to_matrix(here), com[:, i])
            out[..., start : start + 3] += arm - h * rate[..., d : d + 3]
            out[..., start + 3 : start + 7] = here
    return out


def _turned_back(quat: _Array, turn: _Array) -> _Array:
    """A quaternion before it turned by a rotation vector of its outer frame."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    # sin(x/2)/x, which has the value 1/2 at zero
    half = np.concatenate([-0.5 * np.sinc(angle / (2 * np.pi)) * turn, np.cos(0.5 * angle)], axis=-1)
    return rot.unit(rot.quat_multiply(half, quat))
