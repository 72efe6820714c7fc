"""The balance of a mechanism at many states at once: efforts, rows, mass matrix, and the wrenches that joints transmit.

    R = F(q, qd) + J^T lambda,   phi(q),   M(q),   J(q)      at qdd = 0

F has gravity, springs, cables, wrenches, the efforts of joints and the smooth parts of laws; compliant rows and rows of
laws push by what they measure, the others by the multipliers that are given. Every form of a model has a balance: its tree,
the maximal one, the natural one. What one state needs is what a step of the solvers evaluates.
"""

from dataclasses import dataclass

import numpy as np

from simcli.kernels.algorithms import flat
from simcli.kernels.balance_core import Core, balance_states
from simcli.kernels.device.runtime import Device
from simcli.kernels.linear.entries import mass_entries, row_entries
from simcli.kernels.memory.arena import Arena
from simcli.model.constraints.build import constraints_of
from simcli.model.constraints.constraint_tables import Form
from simcli.model.joints.elimination import tree_dofs
from simcli.model.tables.model import Model

_SLOTS = 256  # states that scratch memory is for; more of them take turns


@dataclass(frozen=True)
class Balances:
    """Balances of N states; unknowns are the n dofs of the tree in the order of `Balance.dof`.

    Attributes:
        q: [m, rad, 1], (N, NQ), coordinates after the move.
        effort: [N, N m], (N, n), R.
        residual: [m, 1], (N, R), of the rows.
        entry: (N, entries) of M and J, see `Balance.mass` and `Balance.jacobian`.
        pose: [m, 1], (N, B, 7), body frames, world.
        twist: [m/s, rad/s], (N, B, 6), of the centres of mass, world.
        wrench: [N, N m], (N, J, 6), on the child at the child anchor, world.
        angle: [rad], (N, R), of rows that count turns.
    """

    q: np.ndarray
    effort: np.ndarray
    residual: np.ndarray
    entry: np.ndarray
    pose: np.ndarray
    twist: np.ndarray
    wrench: np.ndarray
    angle: np.ndarray


class Balance:
    """Evaluates balances of one model.

    Args:
        model: of one world, in any form.
        device: from `start_device`, in float64.

    Attributes:
        dof: (n,) index into joint_qd of each unknown.
        row_label: names of the rows.
        holds: (R,) bool: rows that hold rigidly; the others push by what they measure.
        constraints: rows and laws of the model.
    """

    def __init__(self, model: Model, device: Device):
        if model.n_worlds != 1:
            raise ValueError(f"a balance is of one world, not of {model.n_worlds}")
        device.refuse_bounded_loops()
        self.model, self.device = model, device
        self.constraints = constraints_of(model)
        rows = self.constraints.rows
        self.arena = Arena(device, _SLOTS)
        self.core = Core(model, self.arena, self.constraints)
        self.arena.build()
        self.core.clear()
        self.dof, self.row_label = tree_dofs(model), rows.label
        self.holds = rows.is_hard & (rows.enabled[0] != 0) & (rows.compliance[0] == 0)
        self.m_with, self.m_pairs = mass_entries(model, self.core.tables)[1:]
        self.j_pairs = row_entries(self.constraints, model, self.core.tables)[-1] - [len(self.dof), 0]

    def __call__(self, q, move=None, rate=None, multiplier=None, angle=None, time: float = 0.0) -> Balances:
        """Balances of N states q (+) move.

        Args:
            q: [m, rad, 1], (NQ,), all states start from it.
            move: (N, n), displacement along the unknowns; a rotation turns by its exponential. No move if left out.
            rate: (N, n), velocities; at rest if left out.
            multiplier: [N, N m], (R,), of rows that hold.
            angle: [rad], (R,), near which those of the rows are taken.
            time: [s], of the signals.
        """
        n, rows = len(self.dof), len(self.row_label)
        N = max(len(a) if a is not None else 1 for a in (move, rate))
        moves, rates = (self.of_dofs(N, a) for a in (move, rate))
        start = np.tile(np.nan_to_num(q), (N, 1))
        pushes, near = (np.tile(np.zeros(rows) if a is None else a, (N, 1)) for a in (multiplier, angle))
        core, bodies, joints = self.core, self.model.n_bodies, self.model.n_joints
        widths = (self.model.n_q, n, rows, core.system.n_entries, 7 * bodies, 6 * bodies, 6 * joints, rows)
        out = [self.device.buffer((max(self.device.blocks(N) * self.device.lanes * width, 1),)) for width in widths]
        states = (self.flat(a) for a in (start, moves, rates, pushes, near))
        self.arena.launch(balance_states, core, N, time, *states, *out)
        arrays = [self.device.fetch(a)[: N * width].reshape(N, width).copy() for a, width in zip(out, widths, strict=True)]
        for k, width in ((4, 7), (5, 6), (6, 6)):
            arrays[k] = arrays[k].reshape(N, -1, width)
        return Balances(*arrays)

    def of_dofs(self, n_states: int, values) -> np.ndarray:
        """Values along the unknowns as values along all dofs, (N, NV); zero elsewhere."""
        out = np.zeros((n_states, self.model.n_qd))
        if values is not None:
            out[:, self.dof] = values
        return out

    def flat(self, values: np.ndarray) -> np.ndarray:
        """Numbers of states one after the other."""
        return flat(np.ascontiguousarray(values, self.device.dtype))

    def mass(self, found: Balances) -> np.ndarray:
        """Mass matrix of the first state with armature, (n, n)."""
        M = np.zeros((len(self.dof), len(self.dof)))
        i, j = self.m_pairs.T
        M[i, j] = M[j, i] = found.entry[0, : len(i)]
        laws, J = self.constraints.laws, self.jacobian(found)
        for d, r in zip(laws.dof, laws.row, strict=True):  # armature of joints outside the tree
            is_limit = r >= 0 and self.constraints.rows.form[r] == Form.SPIN  # whose dof has a row of its velocity, too
            if r >= 0 and d >= 0 and not is_limit and not self.model.joints.is_tree[self.model.dofs.joint[d]]:
                M += self.model.dofs.armature[0, d] * np.outer(J[r], J[r])
        if self.model.columns is not None:  # what bodies lack of inertia and the solver adds
            M[np.diag_indices(len(M))] -= self.model.columns.excess[0, self.dof]
        return M

    def jacobian(self, found: Balances) -> np.ndarray:
        """Gradients of the rows of the first state, (R, n)."""
        J = np.zeros((len(self.row_label), len(self.dof)))
        row, j = self.j_pairs.T
        J[row, j] = found.entry[0, len(self.m_pairs) :]
        return J

    def close(self) -> None:
        """Free the device memory."""
        self.arena.destroy()
