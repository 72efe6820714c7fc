"""Generalized coordinates: joint coordinates of a tree, articulated-body algorithm.

The host's side: buffers in, frames and events out. The device's side is rollout.py; its integrators are integrators.py.
"""

import time

import numpy as np
import taichi as ti

from simcli.kernels.runtime import Arena, Device
from simcli.model.snapshot import Event, FrameBlock, Status
from simcli.model.tables import Model
from simcli.solvers.plan import RunPlan
from simcli.solvers.rollout import ENERGY, HEALTH, Core, rollout

CALL_SECONDS = 0.02  # aim of one kernel call: short, because it holds the interpreter lock that the writer needs
BLOCK_BYTES = 16 << 20  # aim of one FrameBlock
RULE_CODES = {Status.NOT_FINITE: "SC601", Status.TOO_FAST: "SC602", Status.SINGULAR: "SC603", Status.STOPPED: "SC604"}


class GeneralizedSolver:
    """Steps all worlds of a model.

    Args:
        model: host tables.
        options: the `solver` section of a scene: integrator, max_velocity.
        plan: steps, frames, channels.
        device: from `start_device`.

    Attributes:
        status: (W,), Status of each world.
        compile_seconds: [s], wall time of the call that compiled.
    """

    def __init__(self, model: Model, options, plan: RunPlan, device: Device):
        self.model, self.plan, self.device = model, plan, device
        self.arena = Arena(device, model.n_worlds)
        self.core = Core(model, options, plan, self.arena)
        self.arena.build()
        self.core.tables.upload()
        self.core.state.q.write(np.nan_to_num(model.joint_q)[..., None])
        self.core.state.qd.write(np.nan_to_num(model.joint_qd)[..., None])
        self.core.clear()
        self.n_steps, self.kept = 0, {}
        self.status = np.zeros(model.n_worlds, int)
        self.compile_seconds = self.frame_seconds = None

    def suggest_frames(self) -> int:
        """Frames per `advance` call that keep a call short and a block of frames in memory; one before any was timed."""
        if self.frame_seconds is None:
            return 1
        frames = min(BLOCK_BYTES // max(1, self.frame_bytes()), int(CALL_SECONDS / self.frame_seconds))
        return max(1, min(frames, 4096))

    def frame_bytes(self) -> int:
        """Bytes of one frame of all worlds."""
        return sum(self.widths().values()) * self.arena.n_blocks * self.device.lanes * self.device.dtype.itemsize

    def initial(self) -> FrameBlock:
        """Frame 0: the initial state with its accelerations, efforts and reactions."""
        return self.run(1, 0)

    def advance(self, n_frames: int) -> FrameBlock:
        """The next n_frames frames."""
        return self.run(n_frames, self.plan.steps_per_frame)

    def run(self, n_frames: int, steps: int) -> FrameBlock:
        """Call the kernel, gather its buffers, and turn new failures into events."""
        buffers = self.buffers(n_frames)
        start = time.perf_counter()
        rollout(self.core, n_frames, steps, *(buffer for buffer, _ in buffers.values()))
        ti.sync()
        seconds = time.perf_counter() - start
        if self.compile_seconds is None:
            self.compile_seconds = seconds
        else:
            self.frame_seconds = seconds / n_frames
        arrays = {name: self.fetch(buffer, n_frames, n) for name, (buffer, n) in buffers.items()}
        before = self.n_steps
        step_count = before + steps * np.arange(1, n_frames + 1, dtype=np.int64)
        self.n_steps = int(step_count[-1])
        events = self.new_events(arrays["health"][-1], before)
        return FrameBlock(step_count, step_count * self.plan.dt, self.columns(arrays, n_frames), events)

    def widths(self) -> dict[str, int]:
        """Columns of each output buffer, none for channels that are off."""
        model, reports = self.model, self.core.reports
        joints, bodies = reports["joints"], reports["bodies"]
        return {
            "joint_q": joints * model.n_q, "joint_qd": joints * model.n_qd, "joint_qdd": joints * model.n_qd,
            "joint_effort": joints * model.n_qd, "body_q": bodies * 7 * model.n_bodies,
            "body_qd": bodies * 6 * model.n_bodies, "points": bodies * 6 * len(model.points.name),
            "joint_wrench": reports["reactions"] * 6 * model.n_joints, "energy": reports["energy"] * len(ENERGY),
            "health": len(HEALTH),
        }  # fmt: skip

    def buffers(self, n_frames: int) -> dict:
        """Flat output buffers of a call, with their numbers of columns.

        Device memory is kept for the next call of as many frames: Taichi frees its arrays only when Python collects them.
        """
        if n_frames in self.kept:
            return self.kept[n_frames]
        rows = n_frames * self.arena.n_blocks * self.device.lanes
        buffers = {name: (self.device.buffer((max(rows * n, 1),)), n) for name, n in self.widths().items()}
        if self.device.is_gpu:
            self.kept = {n_frames: buffers}
        return buffers

    def fetch(self, buffer, n_frames: int, n: int) -> np.ndarray:
        """A buffer on the host, (F, W, n), without the idle lanes of the last block."""
        if n == 0:
            return np.zeros((n_frames, self.model.n_worlds, 0), self.device.dtype)
        return self.device.fetch(buffer).reshape(n_frames, -1, n)[:, : self.model.n_worlds]

    def columns(self, arrays: dict, n_frames: int) -> dict[str, np.ndarray]:
        """HDF5 path to array (F, W, ...), of the channels that are on."""
        model, columns = self.model, {}
        lead = (n_frames, model.n_worlds)
        if self.core.reports["joints"]:
            columns |= {f"frames/{name}": arrays[name] for name in ("joint_q", "joint_qd", "joint_qdd", "joint_effort")}
        if self.core.reports["bodies"]:
            columns["frames/body_q"] = arrays["body_q"].reshape(*lead, model.n_bodies, 7)
            columns["frames/body_qd"] = arrays["body_qd"].reshape(*lead, model.n_bodies, 6)
            for k, name in enumerate(model.points.name):
                columns[f"frames/point/{name}/position"] = arrays["points"][..., 6 * k : 6 * k + 3]
                columns[f"frames/point/{name}/velocity"] = arrays["points"][..., 6 * k + 3 : 6 * k + 6]
        if self.core.reports["reactions"]:
            columns["frames/joint_wrench"] = arrays["joint_wrench"].reshape(*lead, model.n_joints, 6)
        if self.core.reports["energy"]:
            columns |= {f"energy/{name}": arrays["energy"][..., k] for k, name in enumerate(ENERGY)}
        columns["diag/status"] = arrays["health"][..., 0].astype(np.uint8)
        return columns

    def new_events(self, health: np.ndarray, before: int) -> list[Event]:
        """Events of the worlds that ended in the last call; updates `status`.

        Args:
            health: (W, 3), HEALTH columns at the last frame.
            before: steps before the call.
        """
        code = health[:, 0].astype(int)
        events = [self.ending(world, Status(code[world]), before + int(health[world, 1]), int(health[world, 2]))
                  for world in np.flatnonzero(code != self.status)]
        self.status = code
        return events

    def ending(self, world: int, status: Status, step_count: int, dof: int) -> Event:
        """The event of one world that ended."""
        joint = int(self.model.dofs.joint[dof])
        body = int(self.model.joints.child[joint])
        name, label = self.model.bodies.name[body], self.model.dofs.label[dof]
        when = step_count * self.plan.dt
        text = {
            Status.NOT_FINITE: f"a velocity of joint `{label}` is not finite (body `{name}`)",
            Status.TOO_FAST: f"joint `{label}` is faster than solver.max_velocity (body `{name}`)",
            Status.STOPPED: f"run.stop_when was met by joint `{label}`",
        }.get(status, f"the articulated inertia at joint `{label}` is not positive (body `{name}`)")
        return Event(step_count, when, int(world), RULE_CODES[status], 2 if status.is_failure else 0, body, joint,
                     float(status), text)
