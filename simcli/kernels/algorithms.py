"""The host's door to the rigid-body algorithms: arrays of states in, arrays out.

States stand in the world axis: a Model of one world serves any number of states, a Model of W worlds serves W.
"""

import numpy as np
import taichi as ti

from simcli.kernels.dynamics import accelerate, collect, compose, demand, eliminate, own_inertia
from simcli.kernels.projection import Anchors, project_joints
from simcli.kernels.report import FrameRows, report_bodies
from simcli.kernels.runtime import Arena, Device
from simcli.kernels.tables import Tables
from simcli.kernels.tree import TreeState, com_about_origin, place_all, point_velocity
from simcli.kernels.values import Force, Motion, Vec3
from simcli.model.tables import Model


class Algorithms:
    """Forward kinematics, inverse and forward dynamics, mass matrix, Jacobian and projection for n states at once.

    Args:
        model: host tables; of one world, or of n_states worlds.
        device: from `start_device`.
        n_states: N.

    All arrays have the state as their first axis; joint layouts, units and frames are those of the file (joint_q,
    joint_qd, body_q, body_qd). Source: reference/articulations.md A1 to A6.
    """

    def __init__(self, model: Model, device: Device, n_states: int):
        if model.n_worlds not in (1, n_states):
            raise ValueError(f"a model of {model.n_worlds} worlds cannot serve {n_states} states")
        self.model, self.device, self.n_states = model, device, n_states
        self.arena = Arena(device, n_states)
        self.core = Core(model, self.arena)
        self.arena.build()
        self.core.tables.upload()

    def forward_kinematics(self, joint_q, joint_qd) -> tuple[np.ndarray, np.ndarray]:
        """Poses and twists of bodies, (N, B, 7) and (N, B, 6)."""
        self.set(joint_q, joint_qd)
        _kinematics(self.core)
        n = self.model.n_bodies
        return self.read(self.core.rows.body_q, n, 7), self.read(self.core.rows.body_qd, n, 6)

    def inverse_dynamics(self, joint_q, joint_qd, joint_qdd, body_f=None) -> np.ndarray:
        """Joint efforts that give the accelerations: recursive Newton-Euler.

        Args:
            joint_q, joint_qd, joint_qdd: (N, NQ), (N, NV), (N, NV).
            body_f: [N, N m], (N, B, 6), external force and torque about the centre of mass on each body, world.

        Returns:
            (N, NV), NaN at loop joints.
        """
        self.set(joint_q, joint_qd, joint_qdd, body_f)
        _inverse_dynamics(self.core)
        return self.read(self.core.state.u, self.model.n_qd)

    def forward_dynamics(self, joint_q, joint_qd, joint_f, body_f=None) -> np.ndarray:
        """Joint accelerations, (N, NV), under joint efforts and external forces: articulated-body algorithm."""
        self.set(joint_q, joint_qd, None, body_f)
        self.core.state.tau.write(self.spread(joint_f, self.model.n_qd))
        _forward_dynamics(self.core)
        return self.read(self.core.state.qdd, self.model.n_qd)

    def mass_matrix(self, joint_q) -> np.ndarray:
        """Joint-space mass matrix with armature, (N, NV, NV): composite rigid bodies."""
        n = self.model.n_qd
        self.set(joint_q, np.zeros((1, n)))
        _mass_matrix(self.core)
        return self.read(self.core.matrix, n, n)

    def jacobian(self, joint_q) -> np.ndarray:
        """Body Jacobians, (N, B, 6, NV): J qd = body_qd (velocity of the centre of mass, angular velocity; world)."""
        n, b = self.model.n_qd, self.model.n_bodies
        self.set(joint_q, np.zeros((1, n)))
        _jacobian(self.core)
        return np.moveaxis(self.read(self.core.columns, b, n, 6), -1, -2)

    def projection(self, body_q, body_qd) -> tuple[np.ndarray, np.ndarray]:
        """Joint coordinates and rates of every joint from poses and twists, (N, NQ) and (N, NV).

        Source: reference/articulations.md A5 (eval_ik): each joint by itself, angles in (-pi, pi] from one pose.
        """
        n = self.model.n_bodies
        self.core.rows.body_q.write(self.spread(body_q, 7 * n))
        self.core.rows.body_qd.write(self.spread(body_qd, 6 * n))
        for slot in (self.core.projected_q, self.core.projected_qd):
            slot.write(np.full((1, slot.n_items, 1), np.nan))
        _project(self.core)
        return (self.read(self.core.projected_q, self.model.n_q), self.read(self.core.projected_qd, self.model.n_qd))

    def set(self, joint_q, joint_qd, joint_qdd=None, body_f=None):
        """Upload a state; what is left out is zero."""
        state = self.core.state
        state.q.write(self.spread(np.nan_to_num(joint_q), self.model.n_q))
        state.qd.write(self.spread(np.nan_to_num(joint_qd), self.model.n_qd))
        zeros = np.zeros((1, self.model.n_qd))
        state.qdd.write(self.spread(zeros if joint_qdd is None else joint_qdd, self.model.n_qd))
        force = np.zeros((1, self.model.n_bodies, 6)) if body_f is None else body_f
        self.core.body_f.write(self.spread(force, 6 * self.model.n_bodies))
        state.diagonal.write(np.broadcast_to(self.model.dofs.armature, (len(self.model.dofs.armature), self.model.n_qd)))

    def spread(self, values, width: int) -> np.ndarray:
        """(N or 1, ...) as (N or 1, width, 1)."""
        values = np.asarray(values, float)
        return values.reshape(-1, width, 1) if width else np.zeros((1, 0, 1))

    def read(self, slot, *shape) -> np.ndarray:
        """A slot as (N, *shape)."""
        return slot.read().reshape(self.n_states, *shape)

    def destroy(self):
        """Free the device memory."""
        self.arena.destroy()


class Core:
    """Tables, state and results of `Algorithms`."""

    _data_oriented = True

    def __init__(self, model: Model, arena: Arena):
        self.tables = Tables(model, arena)
        self.state = TreeState(self.tables, arena, has_external=True)
        self.rows = FrameRows(self.tables, arena, 0)
        self.body_f = arena.slot(6 * model.n_bodies)
        self.anchors = Anchors(model, self.tables)
        self.matrix = arena.slot(model.n_qd**2)
        self.columns = arena.slot(model.n_bodies * model.n_qd, Motion)
        self.projected_q, self.projected_qd = arena.slot(model.n_q), arena.slot(model.n_qd)


@ti.kernel
def _kinematics(c: ti.template()):
    ti.loop_config(block_dim=1)
    for w in range(c.state.n_blocks):
        place_all(c.tables, c.state, w)
        report_bodies(c.tables, c.state, c.rows, w)


@ti.func
def load_body_forces(c: ti.template(), w: ti.i32):
    """External forces of bodies about O.

    Reads:  c.body_f, c.state
    Writes: c.state.external
    """
    s = c.state
    for i in range(c.tables.n_links):
        zero = s.o.load(w, i).parts[0] * 0.0
        s.external.store(w, i, Force.of(Vec3(zero, zero, zero), Vec3(zero, zero, zero)))
    for b in range(c.tables.n_bodies):
        link = c.tables.tip[b]
        force = three(c.body_f, w, 6 * b)
        torque = three(c.body_f, w, 6 * b + 3)
        x = com_about_origin(c.tables, s, w, link)
        s.external.store(w, link, s.external.load(w, link) + Force.of(force, torque + x.cross(force)))


def three(slot, w, first) -> Vec3:
    """Three consecutive rows."""
    return Vec3(*(slot.load(w, first + k) for k in range(3)))


@ti.kernel
def _inverse_dynamics(c: ti.template()):
    ti.loop_config(block_dim=1)
    for w in range(c.state.n_blocks):
        place_all(c.tables, c.state, w)
        load_body_forces(c, w)
        demand(c.tables, c.state, w)
        collect(c.tables, c.state, c.state.u, w)


@ti.kernel
def _forward_dynamics(c: ti.template()):
    ti.loop_config(block_dim=1)
    for w in range(c.state.n_blocks):
        place_all(c.tables, c.state, w)
        load_body_forces(c, w)
        eliminate(c.tables, c.state, w)
        accelerate(c.tables, c.state, w)


@ti.kernel
def _mass_matrix(c: ti.template()):
    ti.loop_config(block_dim=1)
    for w in range(c.state.n_blocks):
        place_all(c.tables, c.state, w)
        composite_matrix(c, w)


@ti.func
def composite_matrix(c: ti.template(), w: ti.i32):
    """Composite rigid bodies: M[d, e] = S_e . I S_d for every dof e between the root and dof d.

    Reads:  c.state.{R, o, v, S}, c.tables
    Writes: c.state.I, c.matrix
    """
    s, t = c.state, c.tables
    n = t.n_qd
    for k in range(n * n):
        c.matrix.store(w, k, s.origin.load(w, 0).parts[0] * 0.0)
    for i in range(t.n_links):
        s.I.store(w, i, own_inertia(t, s, w, i))
    compose(t, s, w)
    for i in range(t.n_links):
        for d in range(t.link_qd[i], t.link_qd[i] + t.link_n_qd[i]):
            force = s.I.load(w, i).times(s.S.load(w, d))
            p = i
            while p >= 0:
                for e in range(t.link_qd[p], t.link_qd[p] + t.link_n_qd[p]):
                    value = s.S.load(w, e).dot(force)
                    if e == d:
                        value = value + t.armature.load(w, d)
                    c.matrix.store(w, d * n + e, value)
                    c.matrix.store(w, e * n + d, value)
                p = t.parent[p]


@ti.kernel
def _jacobian(c: ti.template()):
    ti.loop_config(block_dim=1)
    for w in range(c.state.n_blocks):
        place_all(c.tables, c.state, w)
        body_columns(c, w)


@ti.func
def body_columns(c: ti.template(), w: ti.i32):
    """Jacobian columns of every body: the motion columns of the dofs above it, taken at its centre of mass.

    Reads:  c.state.{R, o, S}, c.tables
    Writes: c.columns
    """
    s, t = c.state, c.tables
    n = t.n_qd
    for k in range(t.n_bodies * n):
        zero = s.origin.load(w, 0).parts[0] * 0.0
        c.columns.store(w, k, Motion.of(Vec3(zero, zero, zero), Vec3(zero, zero, zero)))
    for b in range(t.n_bodies):
        link = t.tip[b]
        x = com_about_origin(t, s, w, link)
        p = link
        while p >= 0:
            for d in range(t.link_qd[p], t.link_qd[p] + t.link_n_qd[p]):
                S = s.S.load(w, d)
                c.columns.store(w, b * n + d, Motion.of(point_velocity(S, x), S.angular))
            p = t.parent[p]


@ti.kernel
def _project(c: ti.template()):
    ti.loop_config(block_dim=1)
    for w in range(c.state.n_blocks):
        project_joints(c.anchors, c.rows, c.projected_q, c.projected_qd, w)



