"""What evaluates a balance on the device: its memory, its kernel, and what they are made of (see balance.py)."""

import numpy as np

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algorithms_core import blocks_of_slot, give, take
from simcli.kernels.articulation.kinematics import TreeState, place_all
from simcli.kernels.articulation.retraction import retract
from simcli.kernels.articulation.rnea import rnea_backward, rnea_link_forces
from simcli.kernels.forces.bushings import report_cables
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.efforts import coordinate_of_law, efforts
from simcli.kernels.forces.external import load_links
from simcli.kernels.forces.joint_wrenches import report_joint_wrenches
from simcli.kernels.forces.prescribed_target import Prescribed, gap_to_target
from simcli.kernels.forces.signals import Signals, drive
from simcli.kernels.language import ti
from simcli.kernels.laws.bounded import law_terms, limited_drive
from simcli.kernels.linear.system import System, fill
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.kernels.report import FrameRows, report_bodies, report_wrenches
from simcli.kernels.rows.jacobian_transpose import apply_jacobian_transpose, report_loops
from simcli.kernels.rows.tree_rows import measure_tree_rows
from simcli.model.constraints.lawful import drives_by_law
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
        for array in (self.state.q, self.state.qd, self.state.qdd, self.move):
            array.write(np.zeros((1, array.n_items, array.width)))


@ti.kernel
def balance_states(c: ti.template(), n_states: ti.i32, time: ti.f64, q: ti.types.ndarray(), move: ti.types.ndarray(),
                   qd: ti.types.ndarray(), push: ti.types.ndarray(), near: ti.types.ndarray(),
                   out_q: ti.types.ndarray(), out_effort: ti.types.ndarray(), out_residual: ti.types.ndarray(),
                   out_entry: ti.types.ndarray(), out_pose: ti.types.ndarray(), out_twist: ti.types.ndarray(),
                   out_wrench: ti.types.ndarray(), out_angle: ti.types.ndarray()):
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
            compliance = zero + y.compliance.load(w, r)
            yields = compliance > 0.0
            force = select(yields, -y.rows.residual.load(w, r) / select(yields, compliance, zero + 1.0), force)
        acts = zero + y.enabled.load(w, r) != 0.0
        y.force.store(w, r, select(acts, force, zero))


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
