"""The host's door to the rigid-body algorithms: arrays of states in, arrays out.

States stand in the world axis: a Model of one world serves any number of states, a Model of W worlds serves W.
"""

import numpy as np

from simcli.kernels.algorithms_core import (
    AlgorithmsCore,
    accelerations_to_efforts,
    accelerations_to_wrenches,
    bodies_to_states,
    hinges_to_efforts,
    states_to_accelerations,
    states_to_bodies,
    states_to_forces,
    states_to_jacobians,
    states_to_masses,
)
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.pack_arrays import Ints, PackArray, Shared
from simcli.kernels.device.runtime import Device
from simcli.kernels.language.backend import program
from simcli.kernels.language.calls import ReadyLaunch
from simcli.model.tables.model import JointKind, Model

# Blocks of scratch that serve all states in turn, so that it stays in the cache; a GPU wants a thread per state.
CPU_SLOTS, GPU_SLOTS = 64, 1 << 16
_N_STATES = 2  # place of that argument, behind the memory and the core


class Algorithms:
    """Forward kinematics, inverse and forward dynamics, mass matrix, Jacobian and projection for many states at once.

    Args:
        model: host tables; of one world, or of n_states worlds.
        device: from `start_device`.
        n_states: N; a model of one world takes any number of states in each call and does not read this. A model of W
            worlds takes rounds of W states one after the other if W is a whole number of packs (`round_length`).

    All arrays have the state as their first axis; joint layouts, units and frames are those of the file (joint_q,
    joint_qd, body_q, body_qd). Source: the Newton engine (eval_fk, eval_ik), whose conventions these are.
    """

    core_type = AlgorithmsCore

    def __init__(self, model: Model, device: Device, n_states: int = 1):
        if model.n_worlds not in (1, n_states):
            raise ValueError(f"a model of {model.n_worlds} worlds cannot serve {n_states} states")
        device.refuse_bounded_loops()
        self.model, self.device = model, device
        slots = (GPU_SLOTS if device.is_gpu else CPU_SLOTS * device.lanes) if model.n_worlds == 1 else n_states
        self.arena = Arena(device, slots)
        self.core = self.core_type(model, self.arena)
        self.arena.build()
        self.core.tables.arena.upload()
        self.core.forces.ropes.clear()
        for array in (self.core.state.external, self.core.state.qd):
            array.write(np.zeros((1, array.n_items, array.width)))
        self._ready: dict[tuple, ReadyLaunch] = {}
        self.has_cables = bool(np.any(model.joints.kind == JointKind.CABLE))
        self.is_tree_dof = np.isin(model.dofs.joint, np.flatnonzero(model.joints.is_tree))

    @property
    def round_length(self) -> int:
        """States of a round of a model of W worlds: state n belongs to world n % round_length, idle lanes beyond W."""
        return self.arena.n_blocks * self.device.lanes

    def forward_kinematics(self, joint_q, joint_qd) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists of bodies, (N, B, 7) and (N, B, 6)."""
        q, qd = self.states(joint_q, joint_qd)
        n = self.model.n_bodies
        pose, twist = self.results(q, 7 * n), self.results(q, 6 * n)
        self.launch(states_to_bodies, len(q), self.given(q), self.given(qd), pose, twist)
        return self.fetch(pose, q, n, 7), self.fetch(twist, q, n, 6)

    def accelerations(self, joint_q, joint_qd, joint_qdd) -> np.ndarray:
        """Accelerations of the centres of mass and angular ones, (N, B, 6), world."""
        q, qd, qdd = self.states(joint_q, joint_qd, joint_qdd)
        out = self.results(q, 6 * self.model.n_bodies)
        self.launch(states_to_accelerations, len(q), self.given(q), self.given(qd), self.given(qdd), out)
        return self.fetch(out, q, self.model.n_bodies, 6)

    def inverse_dynamics(self, joint_q, joint_qd, joint_qdd, body_f=None) -> np.ndarray:
        """Joint efforts that give the accelerations: recursive Newton-Euler.

        Args:
            joint_q, joint_qd, joint_qdd: (N, NQ), (N, NV), (N, NV).
            body_f: [N, N m], (N, B, 6), external force and torque about the centre of mass on each body, world.

        Returns:
            (N, NV), NaN at loop joints.
        """
        q, qd, qdd = self.states(joint_q, joint_qd, joint_qdd)
        if self.core.hinges is not None and body_f is None:
            return self._efforts_of_hinges(q, qd, qdd)
        out = self.results(q, self.model.n_qd)
        force = self.forces(q, body_f)
        states = (self.given(q), self.given(qd), self.given(qdd))
        self.launch(accelerations_to_efforts, len(q), body_f is not None, *states, force, out)
        return self.of_tree(self.fetch(out, q, self.model.n_qd))

    def _efforts_of_hinges(self, *states) -> np.ndarray:
        """As `inverse_dynamics`, without external forces, of trees of hinges.

        The kernel wants a block at least; blocks of worlds that differ are whole.
        """
        n, lanes = len(states[0]), self.device.lanes
        padded = self.device.blocks(n) * lanes if n < lanes or self.model.n_worlds > 1 else n
        if padded > n:
            states = [np.concatenate((a, np.repeat(a[-1:], padded - n, axis=0))) for a in states]
        out = self.device.buffer((padded * self.model.n_qd,))
        self.launch(hinges_to_efforts, padded, *(self.given(a) for a in states), out)
        return self.of_tree(self.fetch(out, states[0][:n], self.model.n_qd))

    def joint_wrenches(self, joint_q, joint_qd, joint_qdd, body_f) -> np.ndarray:
        """What joints of the tree transmit: force and torque on the child at its anchor, world, (N, J, 6); NaN for others.

        Args:
            joint_q, joint_qd, joint_qdd, body_f: as of `inverse_dynamics`.
        """
        (q, *others), n = self.states(joint_q, joint_qd, joint_qdd), self.model.n_joints
        out, force = self.results(q, 6 * n), self.forces(q, body_f)
        self.launch(accelerations_to_wrenches, len(q), *map(self.given, (q, *others)), force, out)
        return np.where(self.model.joints.is_tree[:, None], self.fetch(out, q, n, 6), np.nan)

    def external_forces(self, joint_q, joint_qd, time) -> np.ndarray:
        """Springs, cables and wrenches on bodies as `body_f` of `inverse_dynamics`, (N, B, 6); gravity is not in it.

        Args:
            joint_q, joint_qd: (N, NQ), (N, NV).
            time: [s], (N, 2), of the signals that drive wrenches, and how far from there they are asked at jumps.
        """
        q, qd, when = self.states(joint_q, joint_qd, time)
        n = self.model.n_bodies
        out = self.results(q, 6 * n)
        self.launch(states_to_forces, len(q), self.given(q), self.given(qd), self.given(when), out)
        return self.fetch(out, q, n, 6)

    def mass_matrix(self, joint_q) -> np.ndarray:
        """Joint-space mass matrix with armature, (N, NV, NV): composite rigid bodies."""
        (q,), n = self.states(joint_q), self.model.n_qd
        out = self.results(q, n * n)
        self.launch(states_to_masses, len(q), self.given(q), out)
        return self.fetch(out, q, n, n)

    def jacobian(self, joint_q) -> np.ndarray:
        """Body Jacobians, (N, B, 6, NV): J qd = body_qd (velocity of the centre of mass, angular velocity; world)."""
        (q,), n, b = self.states(joint_q), self.model.n_qd, self.model.n_bodies
        out = self.results(q, 6 * b * n)
        self.launch(states_to_jacobians, len(q), self.given(q), out)
        return np.moveaxis(self.fetch(out, q, b, n, 6), -1, -2)

    def projection(self, body_q, body_qd) -> tuple[np.ndarray, np.ndarray]:
        """Joint coordinates and rates of every joint from poses and twists, (N, NQ) and (N, NV); NaN for cables.

        Source: eval_ik of the Newton engine: each joint by itself, angles in (-pi, pi] from one pose.
        """
        pose, twist = self.states(np.reshape(body_q, (len(body_q), -1)), np.reshape(body_qd, (len(body_qd), -1)))
        q, qd = self.results(pose, self.model.n_q), self.results(pose, self.model.n_qd)
        for array in (self.core.projected_q, self.core.projected_qd):
            array.write(np.full((1, array.n_items, 1), np.nan))
        self.launch(bodies_to_states, len(pose), self.given(pose), self.given(twist), q, qd)
        return self.fetch(q, pose, self.model.n_q), self.fetch(qd, pose, self.model.n_qd)

    def launch(self, kernel, n_states: int, *args) -> None:
        """Call a kernel of ours for all states. A CPU is given its arguments once; then arrays alone are exchanged.

        Args:
            kernel: which takes the core first.
            n_states: of the arrays.
            args: the others: marks (bool), and arrays as of `given` and `results`.
        """
        if self.device.is_gpu:
            self.arena.launch(kernel, self.core, n_states, *args)
            return
        key = kernel, *(a for a in args if isinstance(a, bool))
        if key not in self._ready or self._ready[key].program is not program():
            own = [a if isinstance(a, bool) else np.zeros(1, a.dtype) for a in args]  # so that it holds none of the caller's
            self._ready[key] = self.arena.ready(kernel, self.core, n_states, *own)
        given = {k: a for k, a in enumerate((n_states, *args), _N_STATES) if not isinstance(a, bool)}
        self.arena.launch_ready(self._ready[key], given)

    def states(self, *arrays) -> list[np.ndarray]:
        """Contiguous arrays of the device's precision; no column as one. Kernels do not read the NaN slots of cables."""
        flat = [np.ascontiguousarray(np.atleast_2d(a), self.device.dtype) for a in arrays]
        return [a if a.shape[1] else np.zeros((len(a), 1), self.device.dtype) for a in flat]

    def given(self, states: np.ndarray):
        """States as kernels read them: one after the other, at least one number."""
        return self.device.given(flat(states))

    def forces(self, q: np.ndarray, body_f) -> np.ndarray:
        """External forces as (N, 6 B); not read if there are none."""
        if body_f is None:
            self.core.state.external.write(np.zeros((1, self.model.n_links, 6)))
            return self.given(np.zeros(1, self.device.dtype))
        return self.given(self.states(np.reshape(body_f, (len(q), -1)))[0])

    def results(self, q: np.ndarray, width: int):
        """A buffer for one row per state, idle lanes of the last block included."""
        padded = self.device.blocks(len(q)) * self.device.lanes
        return self.device.buffer((max(padded * width, 1),))

    def fetch(self, buffer, q: np.ndarray, *shape) -> np.ndarray:
        """A buffer as (N, *shape)."""
        n = int(np.prod(shape))
        return self.device.fetch(buffer)[: len(q) * n].reshape(len(q), *shape)

    def of_tree(self, values: np.ndarray) -> np.ndarray:
        """NaN where a dof belongs to a loop joint."""
        return values if self.is_tree_dof.all() else np.where(self.is_tree_dof, values, np.nan)

    def reload(self, model: Model) -> bool:
        """Take the numbers of another model, with the kernels that are compiled already.

        Returns:
            False, with nothing changed, if its structure or the columns that differ between its worlds are other ones.
        """
        if model.n_worlds != self.model.n_worlds:
            return False
        draft = Arena(self.device, self.arena.n_worlds)
        core = self.core_type(model, draft)
        if _layout(core) != _layout(self.core) or draft.layout != self.arena.layout:
            return False
        if not draft.has_structure_of(self.arena):
            return False
        self.arena.refill(draft)
        core.tables.arena.upload(self.arena)
        self.model = model
        return True

    def destroy(self):
        """Free the device memory."""
        self._ready.clear()
        self.arena.destroy()


def _layout(core: AlgorithmsCore) -> list:
    """What kernels are compiled for: counts, switches, and where each column stands, of all parts of a core."""

    def place(value):
        column = value.offset if isinstance(value, Ints | Shared | PackArray) else None
        return value if isinstance(value, int | np.generic) else (type(value).__name__, column)

    parts = [core, *(part for part in vars(core).values() if hasattr(part, "__dict__") and not isinstance(part, Arena))]
    return [{name: place(value) for name, value in vars(part).items()} for part in parts]


def flat(states: np.ndarray) -> np.ndarray:
    """States one after the other, at least one number."""
    return states.ravel() if states.size else np.zeros(1, states.dtype)
