"""Frames of a run as states, each at the instant to which its accelerations, efforts and reactions belong.

They are those that the integrator used. An integrator that shows the accelerations of the instant leaves frames that hold
together. The first-order one does not: its frame holds coordinates at the end of a step, but accelerations, efforts and
reactions of the step, which belong to the coordinates at its start. Those are the frame before where every step has a frame;
else they are stepped back,

    qd_0 = qd - h qdd,    q_0 = q (-) h qd,

which undoes qd = qd_0 + h qdd, q = q_0 (+) h qd up to rounding; of bodies that stand alone what moved them is another
velocity than that at the end (solvers/tree/inverse.py).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from simcli import rotations as rot
from simcli.analysis.states.portions import Choice, States
from simcli.errors import UsageError
from simcli.model.tables.model import Model
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.series import Column

_Array = np.ndarray
LEAN_CHANNELS = 1e-6  # of a step: times of steps are rounded (Exact meaning 9 of the scene format)
CONTACT_FORCES = "contact_f"  # that are summed up from the contacts of a run
_COLUMNS = {
    "joint_q": "frames/joint_q",
    "joint_qd": "frames/joint_qd",
    "joint_qdd": "frames/joint_qdd",
    "recorded_effort": "frames/joint_effort",
    "body_q": "frames/body_q",
    "body_qd": "frames/body_qd",
    "joint_wrench": "frames/joint_wrench",
}


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
        goes_back: the solver whose accelerations belong to the start of the step that ends at a frame; "" for those of
            the frame.

    Attributes:
        mechanics: what goes back, of such steps.
    """

    run: Trajectory
    choice: Choice
    wanted: tuple[str, ...]
    model: Model
    seats: _Array
    dt: float = 0.0
    goes_back: str = ""
    notes: list[str] = field(default_factory=list)
    mechanics: Callable[..., tuple[np.ndarray, ...]] | None = None

    def __post_init__(self):
        if not self.run.n_frames:
            raise UsageError(f"{self.run.path} holds no frame yet")
        self.where = self.run.path
        self.n_worlds = self.run.n_worlds
        self.frames = self.choice.of_times(self.run.time, self.where)
        self.worlds = self.choice.of_worlds(self.n_worlds, self.where)
        sizes = {"joint_q": self.model.n_q, "joint_qd": self.model.n_qd, "body_q": self.model.n_bodies}
        read = [name for name in self.wanted if name != CONTACT_FORCES]
        self.columns = {name: self.run.column(_COLUMNS[name]) for name in read if sizes.get(name, sizes["joint_qd"])}
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
        values = {
            name: self.read(name, frames) if name in self.columns else np.zeros((len(frames), len(self.worlds), 0))
            for name in self.wanted
            if name != CONTACT_FORCES
        }
        if CONTACT_FORCES in self.wanted:
            values[CONTACT_FORCES] = self.contact_forces(frames)
        if self.goes_back and self.columns:
            self.to_start_of_step(frames, values)
        flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in values.items()}
        time = np.repeat(self.run.time[frames], len(self.worlds))
        world = np.tile(self.worlds, len(frames))
        self.n_ended += np.count_nonzero(self.read_rows(self.run.diag.status, frames))
        # A jump of a signal at the time of a frame belongs to the next step, but at the start there is only that one.
        flat["lean"] = np.repeat(np.where(frames > 0, -LEAN_CHANNELS, LEAN_CHANNELS) * self.dt, len(self.worlds))
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

    def contact_forces(self, frames: _Array) -> _Array:
        """Forces and torques about the centres of mass of bodies by the recorded contacts, (f, w, B, 6), world.

        Torques of torsional and rolling friction are not recorded.
        """
        found = np.zeros((len(frames), self.n_worlds, self.model.n_bodies, 6))
        owner, com = np.asarray(self.run.model["shape_body"]), self.model.bodies.com
        com = (com[self.seats] if len(com) > 1 else np.repeat(com, self.n_worlds, axis=0))[:, :, None]
        poses = self.run.column(_COLUMNS["body_q"])
        for k, frame in enumerate(frames.tolist()):
            table = self.run.contact_table(frame, frame + 1)
            centre = rot.pose_apply(np.asarray(poses[frame], float)[:, :, None], com)[:, :, 0]
            for side, sign in (("shape_a", -1.0), ("shape_b", 1.0)):
                body, force = owner[table[side]], sign * np.asarray(table["force"], float)
                at = np.flatnonzero(body >= 0)
                place, push = (table["world"][at], body[at]), force[at]
                torque = np.cross(np.asarray(table["point"], float)[at] - centre[place], push)
                np.add.at(found[k], place, np.concatenate((push, torque), axis=1))
        return found[:, self.worlds]

    def to_start_of_step(self, frames: _Array, values: dict[str, _Array]) -> None:
        """Replace coordinates and rates at the end of a step by those at its start.

        Writes: values
        """
        before = np.maximum(frames - 1, 0)
        is_next = (self.run.step[frames] - self.run.step[before] <= 1)[:, None, None]  # frame 0 is its own start
        earlier = {name: self.read(name, before) for name in ("joint_q", "joint_qd")}
        values["ends"], shape = values["joint_q"], values["joint_q"].shape[:2]
        values["step"] = np.broadcast_to(np.where(frames > 0, self.dt, 0.0)[:, None, None], (*shape, 1))
        given = (values["ends"], values["joint_qd"], values["joint_qdd"], values["step"])
        flat = (array.reshape(-1, array.shape[-1]) for array in given)
        q = self.mechanics("starts_of_steps", np.tile(self.seats[self.worlds], len(frames)), *flat)[0]
        values["joint_q"] = np.where(is_next, earlier["joint_q"], q.reshape(values["ends"].shape))
        qd = values["joint_qd"] - values["step"] * values["joint_qdd"]
        values["joint_qd"] = np.where(is_next, earlier["joint_qd"], qd)
