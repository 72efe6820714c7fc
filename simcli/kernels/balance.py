"""The balance of a mechanism at many states at once: efforts, rows, mass matrix, and the wrenches that joints transmit.

    R = F(q, qd) + J^T lambda,   phi(q),   M(q),   J(q)      at qdd = 0

F has gravity, springs, cables, wrenches, the efforts of joints and the smooth parts of laws; compliant rows and rows of
laws push by what they measure, the others by the multipliers that are given. Every form of a model has a balance: its tree,
the maximal one, the natural one. What one state needs is what a step of the solvers evaluates.
"""

from dataclasses import dataclass

import numpy as np

from simcli.kernels.algorithms import flat
from simcli.kernels.algorithms_core import blocks_of_slot, give, take
from simcli.kernels.articulation.kinematics import TreeState, place_all
from simcli.kernels.articulation.report import FrameRows, report_bodies, report_wrenches
from simcli.kernels.articulation.retraction import retract
from simcli.kernels.articulation.rnea import rnea_backward, rnea_link_forces
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.runtime import Device
from simcli.kernels.forces.bushings import report_cables
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.efforts import coordinate_of_law, efforts
from simcli.kernels.forces.prescribed_target import Prescribed, gap_to_target
from simcli.kernels.forces.signals import Signals, drive
from simcli.kernels.forces.wrenches import load_links, report_joint_wrenches
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.bounded_laws import law_terms
from simcli.kernels.rows.constrained_system import System, fill
from simcli.kernels.rows.coordinate_laws import limited_drive, state_limits
from simcli.kernels.rows.jacobian import apply_jacobian_transpose, mass_entries, report_loops, row_entries
from simcli.kernels.rows.tree_rows import measure_tree_rows
from simcli.model.constraints.build import constraints_of, drives_by_law
from simcli.model.constraints.constraint_tables import Form
from simcli.model.joints.elimination import tree_dofs
from simcli.model.tables.model import Model


class Core:
    """Tables, state and results of a balance."""

    _data_oriented = True

    def __init__(self, model: Model, arena: Arena, constraints):
        self.arena, self.n_slots = arena, arena.n_blocks
        self.lanes, self.block_dim = arena.device.lanes, arena.device.block_dim
        self.tables = Tables(model, arena)
        self.forces = Forces(model, self.tables, arena, drives_by_law(model, constraints.laws))
        self.motions = Prescribed(model, self.tables)
        self.signals = Signals(model, self.tables, arena, (self.forces, self.motions))
        self.state = TreeState(self.tables, arena, self.forces.has_external)
        self.rows = FrameRows(self.tables, arena, 0)
        self.system = System(constraints, model, self.tables, arena, False)
        self.is_compliant = bool((constraints.rows.compliance > 0).any())
        self.first_free = self.system.rows.first_gear  # rows from here on act on coordinates, not on links
        self.n_rows = constraints.rows.n
        self.start, self.move = self.tables.coordinates.array(), self.tables.dofs.array()
        self.balance = self.tables.tree_dofs.array()

    def clear(self):
        """Start with tables on the device and everything else at zero."""
        self.tables.arena.upload()
        self.system.clear()
        self.forces.ropes.clear()
        for array in (self.state.q, self.state.qd, self.state.qdd, self.move):
            array.write(np.zeros((1, array.n_items, array.width)))


@ti.kernel
def balance_states(
    c: ti.template(),
    n_states: ti.i32,
    time: ti.f64,
    q: ti.types.ndarray(),
    move: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    push: ti.types.ndarray(),
    near: ti.types.ndarray(),
    out_q: ti.types.ndarray(),
    out_effort: ti.types.ndarray(),
    out_residual: ti.types.ndarray(),
    out_entry: ti.types.ndarray(),
    out_pose: ti.types.ndarray(),
    out_twist: ti.types.ndarray(),
    out_wrench: ti.types.ndarray(),
    out_angle: ti.types.ndarray(),
    out_bias: ti.types.ndarray(),
):
    """Balances of n_states states, `Balances` one after another; the arguments are those of `Balance`."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            t = c.tables
            s = c.state
            y = c.system
            take(c, w, block, c.start, t.n_q, q)
            take(c, w, block, s.q, t.n_q, q)
            take(c, w, block, c.move, t.n_qd, move)
            take(c, w, block, s.qd, t.n_qd, qd)
            take(c, w, block, y.force, c.n_rows, push)
            take(c, w, block, y.rows.angle, c.n_rows, near)
            balance_of(c, w, time)
            give(c, w, block, s.q, t.n_q, out_q)
            give(c, w, block, c.balance, t.n_tree_dofs, out_effort)
            give(c, w, block, y.rows.residual, c.n_rows, out_residual)
            give(c, w, block, y.entry, y.n_entries, out_entry)
            give(c, w, block, c.rows.body_q, 7 * t.n_bodies, out_pose)
            give(c, w, block, c.rows.body_qd, 6 * t.n_bodies, out_twist)
            give(c, w, block, c.rows.joint_wrench, 6 * t.n_joints, out_wrench)
            give(c, w, block, y.rows.angle, c.n_rows, out_angle)
            give(c, w, block, y.rows.bias, c.n_rows, out_bias)


@ti.func
def balance_of(c: ti.template(), w: ti.i32, time: ti.f64):
    """The balance of a block of states.

    Reads:  c.{start, move}, c.state.qd, c.system.{force, rows.angle}
    Writes: c.state, c.balance, c.rows, c.system
    """
    t = c.tables
    s = c.state
    y = c.system
    retract(t, c.start, s.q, c.move, w, t.arena.zero() + 1.0)
    place_all(t, s, w)
    if ti.static(c.signals.n_routes > 0):
        drive(c.signals, w, time, 0.0)
    if ti.static(c.forces.has_external):
        load_links(t, c.forces, s, w)
    efforts(t, c.forces, s, w, 0.0)
    for n in range(t.n_tree_dofs):
        s.qdd.store(w, t.tree_dof.at(n), t.arena.zero())
    rnea_link_forces(t, s, w)
    measure_tree_rows(t, s, y.rows, w)
    for m in range(y.n_prescribed_rows):  # a velocity at rest holds what it finds
        r = y.prescribed_row.at(m)
        y.rows.residual.store(w, r, gap_to_target(t, s, y, c.motions, w, m))
    fill(y, t, s, w)
    _push_rows(c, w)
    push_laws(c, w)
    apply_jacobian_transpose(y, s, w, -1.0, False)
    rnea_backward(t, s, s.u, w)
    report_wrenches(t, s, c.rows, w)
    report_loops(c, w)
    if ti.static(c.forces.bushings.n_cables > 0):
        report_cables(c.forces.bushings, c.rows, w)
    if ti.static(c.forces.joint_wrenches.n > 0):
        report_joint_wrenches(c.forces.joint_wrenches, c.rows, w)
    sum_efforts(c, w)
    report_bodies(t, s, c.rows, w)


@ti.func
def _push_rows(c: ti.template(), w: ti.i32):
    """Forces of compliant and idle rows: lambda = -phi / compliance, or none.

    Reads:  c.system.rows.residual
    Writes: c.system.force
    """
    y = c.system
    zero = c.tables.arena.zero()
    for r in range(c.n_rows):
        force = y.force.load(w, r)
        if ti.static(c.is_compliant):
            soft = zero + y.compliance.load(w, r)
            force = select(soft > 0.0, -y.rows.residual.load(w, r) / select(soft > 0.0, soft, zero + 1.0), force)
        y.force.store(w, r, select(zero + y.enabled.load(w, r) != 0.0, force, zero))


@ti.func
def push_laws(c: ti.template(), w: ti.i32):
    """Efforts of laws off their bounds and without friction: clamp(drive, E) + the rest, to tau or to the force of a row.

    Reads:  c.system, c.state.{q, qd}
    Writes: c.system.force, c.state.tau
    """
    y = c.system
    s = c.state
    zero = c.tables.arena.zero()
    if ti.static(y.laws.n > 0):
        for k in range(y.laws.n):
            r = y.laws.row.at(k)
            d = ti.max(y.laws.dof.at(k), 0)
            x = zero
            v = s.qd.load(w, d)
            if r >= 0:
                x = y.rows.residual.load(w, r)
                v = y.rows.rate.load(w, r)
            else:
                x = coordinate_of_law(c.tables, c.forces, y.laws, s.q, w, k)
            given, rest, _inertia = law_terms(y.laws, c.forces, w, k, x, v)
            y.laws.drive.store(w, k, given.force)
            y.laws.rest.store(w, k, rest.force)
            state_limits(y.laws, w, k, v)
        for k in range(y.laws.n):
            r = y.laws.row.at(k)
            d = ti.max(y.laws.dof.at(k), 0)
            effort = limited_drive(y.laws, w, k) + y.laws.rest.load(w, k)
            if r >= 0:
                acts = zero + y.enabled.load(w, r) != 0.0
                y.force.store(w, r, select(acts, effort, zero))
            else:
                s.tau.store(w, d, s.tau.load(w, d) + effort)


@ti.func
def sum_efforts(c: ti.template(), w: ti.i32):
    """R by unknown: tau - u, and what gears and rigidity give.

    Reads:  c.state.{tau, u}, c.system.{entry, force}
    Writes: c.balance
    """
    y = c.system
    t = c.tables
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        c.balance.store(w, n, c.state.tau.load(w, d) - c.state.u.load(w, d))
    for r in range(c.first_free, c.n_rows):
        for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
            n = t.unknown.at(y.j_dof.at(e))
            given = y.entry.load(w, y.n_mass + e) * y.force.load(w, r)
            c.balance.store(w, n, c.balance.load(w, n) + given)


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
        bias: [m/s^2, 1/s^2], (N, R), second rates of the rows where nothing accelerates.
    """

    q: np.ndarray
    effort: np.ndarray
    residual: np.ndarray
    entry: np.ndarray
    pose: np.ndarray
    twist: np.ndarray
    wrench: np.ndarray
    angle: np.ndarray
    bias: np.ndarray


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
        widths = (self.model.n_q, n, rows, core.system.n_entries, 7 * bodies, 6 * bodies, 6 * joints, rows, rows)
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

    def mass(self, found: Balances, k: int = 0) -> np.ndarray:
        """Mass matrix of state k with armature, (n, n)."""
        M = np.zeros((len(self.dof), len(self.dof)))
        i, j = self.m_pairs.T
        M[i, j] = M[j, i] = found.entry[k, : len(i)]
        laws, J = self.constraints.laws, self.jacobian(found, k)
        for d, r in zip(laws.dof, laws.row, strict=True):  # armature of joints outside the tree
            is_limit = r >= 0 and self.constraints.rows.form[r] == Form.SPIN  # whose dof has a row of its velocity, too
            if r >= 0 and d >= 0 and not is_limit and not self.model.joints.is_tree[self.model.dofs.joint[d]]:
                M += self.model.dofs.armature[0, d] * np.outer(J[r], J[r])
        if self.model.columns is not None:  # what bodies lack of inertia and the solver adds
            M[np.diag_indices(len(M))] -= self.model.columns.excess[0, self.dof]
        return M

    def jacobian(self, found: Balances, k: int = 0) -> np.ndarray:
        """Gradients of the rows of state k, (R, n)."""
        J = np.zeros((len(self.row_label), len(self.dof)))
        row, j = self.j_pairs.T
        J[row, j] = found.entry[k, len(self.m_pairs) :]
        return J

    def close(self) -> None:
        """Free the device memory."""
        self.arena.destroy()
