"""The host's door to the rigid-body algorithms: arrays of states in, arrays out.

States stand in the world axis: a Model of one world serves any number of states, a Model of W worlds serves W.
"""

import numpy as np

from simcli.kernels.algebra.values import Force, Motion, Vec3
from simcli.kernels.chart.dynamics import (
    accelerate,
    collect,
    compose,
    demand,
    eliminate,
    own_inertia,
    place_and_demand,
)
from simcli.kernels.chart.projection import Anchors, project_joints
from simcli.kernels.chart.tree import TreeState, com_about_origin, place_all, point_velocity, vector_at
from simcli.kernels.device.runtime import Device
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.external import load_links
from simcli.kernels.forces.prescribed import Prescribed
from simcli.kernels.forces.signals import Signals, drive
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena, put_lane
from simcli.kernels.memory.slots import Ints, Shared, Slot
from simcli.kernels.memory.tables import Tables
from simcli.kernels.report import FrameRows, put, report_bodies, write_pack
from simcli.model.tables import JointKind, Model

# Blocks of scratch that serve all states in turn, so that it stays in the cache; a GPU wants a thread per state.
CPU_SLOTS, GPU_SLOTS = 64, 1 << 16


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

    def __init__(self, model: Model, device: Device, n_states: int = 1):
        if model.n_worlds not in (1, n_states):
            raise ValueError(f"a model of {model.n_worlds} worlds cannot serve {n_states} states")
        device.refuse_bounded_loops()
        self.model, self.device = model, device
        slots = (GPU_SLOTS if device.is_gpu else CPU_SLOTS * device.lanes) if model.n_worlds == 1 else n_states
        self.arena = Arena(device, slots)
        self.core = _Core(model, self.arena)
        self.arena.build()
        self.core.tables.arena.upload()
        for slot in (self.core.state.external, self.core.state.qd):
            slot.write(np.zeros((1, slot.n_items, slot.width)))
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
        self.arena.launch(_kinematics, self.core, len(q), flat(q), flat(qd), pose, twist)
        return self.fetch(pose, q, n, 7), self.fetch(twist, q, n, 6)

    def inverse_dynamics(self, joint_q, joint_qd, joint_qdd, body_f=None) -> np.ndarray:
        """Joint efforts that give the accelerations: recursive Newton-Euler.

        Args:
            joint_q, joint_qd, joint_qdd: (N, NQ), (N, NV), (N, NV).
            body_f: [N, N m], (N, B, 6), external force and torque about the centre of mass on each body, world.

        Returns:
            (N, NV), NaN at loop joints.
        """
        q, qd, qdd = self.states(joint_q, joint_qd, joint_qdd)
        out = self.results(q, self.model.n_qd)
        force = self.forces(q, body_f)
        self.arena.launch(_inverse_dynamics, self.core, len(q), body_f is not None, flat(q), flat(qd), flat(qdd), force, out)
        return self.of_tree(self.fetch(out, q, self.model.n_qd))

    def forward_dynamics(self, joint_q, joint_qd, joint_f, body_f=None) -> np.ndarray:
        """Joint accelerations, (N, NV), under joint efforts and external forces: articulated-body algorithm."""
        q, qd, effort = self.states(joint_q, joint_qd, joint_f)
        out = self.results(q, self.model.n_qd)
        force = self.forces(q, body_f)
        states = (flat(q), flat(qd), flat(effort))
        self.arena.launch(_forward_dynamics, self.core, len(q), body_f is not None, *states, force, out)
        return self.of_tree(self.fetch(out, q, self.model.n_qd))

    def external_forces(self, joint_q, joint_qd, time) -> np.ndarray:
        """Springs, cables and wrenches on bodies as `body_f` of `inverse_dynamics`, (N, B, 6); gravity is not in it.

        Args:
            joint_q, joint_qd: (N, NQ), (N, NV).
            time: [s], (N, 2), of the signals that drive wrenches, and how far from there they are asked at jumps.
        """
        q, qd, when = self.states(joint_q, joint_qd, time)
        n = self.model.n_bodies
        out = self.results(q, 6 * n)
        self.arena.launch(_external_forces, self.core, len(q), flat(q), flat(qd), flat(when), out)
        return self.fetch(out, q, n, 6)

    def mass_matrix(self, joint_q) -> np.ndarray:
        """Joint-space mass matrix with armature, (N, NV, NV): composite rigid bodies."""
        (q,), n = self.states(joint_q), self.model.n_qd
        out = self.results(q, n * n)
        self.arena.launch(_mass_matrix, self.core, len(q), flat(q), out)
        return self.fetch(out, q, n, n)

    def jacobian(self, joint_q) -> np.ndarray:
        """Body Jacobians, (N, B, 6, NV): J qd = body_qd (velocity of the centre of mass, angular velocity; world)."""
        (q,), n, b = self.states(joint_q), self.model.n_qd, self.model.n_bodies
        out = self.results(q, 6 * b * n)
        self.arena.launch(_jacobian, self.core, len(q), flat(q), out)
        return np.moveaxis(self.fetch(out, q, b, n, 6), -1, -2)

    def projection(self, body_q, body_qd) -> tuple[np.ndarray, np.ndarray]:
        """Joint coordinates and rates of every joint from poses and twists, (N, NQ) and (N, NV); NaN for cables.

        Source: eval_ik of the Newton engine: each joint by itself, angles in (-pi, pi] from one pose.
        """
        pose, twist = self.states(np.reshape(body_q, (len(body_q), -1)), np.reshape(body_qd, (len(body_qd), -1)))
        q, qd = self.results(pose, self.model.n_q), self.results(pose, self.model.n_qd)
        for slot in (self.core.projected_q, self.core.projected_qd):
            slot.write(np.full((1, slot.n_items, 1), np.nan))
        self.arena.launch(_project, self.core, len(pose), flat(pose), flat(twist), q, qd)
        return self.fetch(q, pose, self.model.n_q), self.fetch(qd, pose, self.model.n_qd)

    def states(self, *arrays) -> list[np.ndarray]:
        """Contiguous arrays of the device's precision; no column as one. Kernels do not read the NaN slots of cables."""
        flat = [np.ascontiguousarray(np.atleast_2d(a), self.device.dtype) for a in arrays]
        return [a if a.shape[1] else np.zeros((len(a), 1), self.device.dtype) for a in flat]

    def forces(self, q: np.ndarray, body_f) -> np.ndarray:
        """External forces as (N, 6 B); not read if there are none."""
        if body_f is None:
            self.core.state.external.write(np.zeros((1, self.model.n_links, 6)))
            return np.zeros(1, self.device.dtype)
        return flat(self.states(np.reshape(body_f, (len(q), -1)))[0])

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
        core = _Core(model, draft)
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
        self.arena.destroy()


def _layout(core: "_Core") -> list:
    """What kernels are compiled for: counts, switches, and where each column stands, of all parts of a core."""

    def place(value):
        column = value.offset if isinstance(value, Ints | Shared | Slot) else None
        return value if isinstance(value, int | np.generic) else (type(value).__name__, column)

    parts = [core, *(part for part in vars(core).values() if hasattr(part, "__dict__") and not isinstance(part, Arena))]
    return [{name: place(value) for name, value in vars(part).items()} for part in parts]


def flat(states: np.ndarray) -> np.ndarray:
    """States one after the other, at least one number."""
    return states.ravel() if states.size else np.zeros(1, states.dtype)


class _Core:
    """Tables, state and results of `Algorithms`."""

    _data_oriented = True

    def __init__(self, model: Model, arena: Arena):
        self.arena, self.n_slots = arena, arena.n_blocks
        self.lanes, self.block_dim = arena.device.lanes, arena.device.block_dim
        self.tables = Tables(model, arena)
        self.state = TreeState(self.tables, arena, has_external=True)
        self.rows = FrameRows(self.tables, arena, 0)
        self.anchors = Anchors(model, self.tables)
        self.forces = Forces(model, self.tables, arena)
        self.signals = Signals(model, self.tables, arena, (self.forces, Prescribed(model, self.tables)))
        self.when = arena.slot(2)
        self.body_f = arena.slot(6 * model.n_bodies)
        self.matrix = arena.slot(model.n_qd**2)
        self.columns = arena.slot(model.n_bodies * model.n_qd, Motion)
        self.projected_q, self.projected_qd = self.tables.coordinates.slot(), self.tables.dofs.slot()


@ti.func
def blocks_of_slot(c: ti.template(), w: ti.i32, n_states: ti.i32):
    """Blocks of states that scratch block w serves: w, w + n_slots, ..."""
    n_blocks = (n_states + c.lanes - 1) // c.lanes
    return (n_blocks - w + c.n_slots - 1) // c.n_slots


@ti.func
def take(c: ti.template(), w: ti.i32, block: ti.i32, slot: ti.template(), n: ti.template(), values: ti.template()):
    """Load n rows of a block of states from a flat buffer; idle lanes repeat the last state.

    Writes: slot
    """
    last = values.shape[0] // ti.max(n, 1) - 1
    for row in range(n):
        for lane in ti.static(range(c.lanes)):
            put_lane(slot.part(w, row, 0), lane, values[ti.min(block * c.lanes + lane, last) * n + row])


@ti.func
def give(c: ti.template(), w: ti.i32, block: ti.i32, slot: ti.template(), n: ti.template(), out: ti.template()):
    """Store n rows of a block of states to a flat buffer.

    Writes: out
    """
    at = block * c.lanes * n
    for item in range(n // slot.width):
        for k in ti.static(range(slot.width)):
            write_pack(out, c.lanes, at + item * slot.width + k, n, slot.part(w, item, k))


@ti.kernel
def _kinematics(c: ti.template(), n_states: ti.i32, q: ti.types.ndarray(), qd: ti.types.ndarray(),
                pose: ti.types.ndarray(), twist: ti.types.ndarray()):
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            place_all(c.tables, c.state, w)
            report_bodies(c.tables, c.state, c.rows, w)
            give(c, w, block, c.rows.body_q, 7 * c.tables.n_bodies, pose)
            give(c, w, block, c.rows.body_qd, 6 * c.tables.n_bodies, twist)


@ti.func
def load_body_forces(c: ti.template(), w: ti.i32, block: ti.i32, force: ti.template()):
    """External forces of bodies about O.

    Reads:  force, c.state.{R, o}
    Writes: c.state.external
    """
    s = c.state
    take(c, w, block, c.body_f, 6 * c.tables.n_bodies, force)
    for b in range(c.tables.n_bodies):
        link = c.tables.tip.at(b)
        push = vector_at(c.body_f, w, 6 * b)
        torque = vector_at(c.body_f, w, 6 * b + 3)
        s.external.store(w, link, Force.of(push, torque + com_about_origin(c.tables, s, w, link).cross(push)))


@ti.kernel
def _external_forces(c: ti.template(), n_states: ti.i32, q: ti.types.ndarray(), qd: ti.types.ndarray(),
                     when: ti.types.ndarray(), out: ti.types.ndarray()):
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            take(c, w, block, c.when, 2, when)
            place_all(c.tables, c.state, w)
            if ti.static(c.signals.n_routes > 0):
                drive(c.signals, w, c.when.load(w, 0), c.when.load(w, 1))
            load_links(c.tables, c.forces, c.state, w)
            unload_body_forces(c, w)
            give(c, w, block, c.body_f, 6 * c.tables.n_bodies, out)


@ti.func
def unload_body_forces(c: ti.template(), w: ti.i32):
    """External forces of bodies about their centres of mass, world.

    Reads:  c.state.{R, o, external}
    Writes: c.body_f
    """
    s = c.state
    for b in range(c.tables.n_bodies):
        link = c.tables.tip.at(b)
        force = s.external.load(w, link)
        x = com_about_origin(c.tables, s, w, link)
        put(c.body_f, w, 6 * b, force.force, force.moment - x.cross(force.force))


@ti.kernel
def _inverse_dynamics(c: ti.template(), n_states: ti.i32, has_force: ti.template(), q: ti.types.ndarray(),
                      qd: ti.types.ndarray(), qdd: ti.types.ndarray(), force: ti.types.ndarray(),
                      out: ti.types.ndarray()):
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            take(c, w, block, c.state.qdd, c.tables.n_qd, qdd)
            if ti.static(not has_force):
                place_and_demand(c.tables, c.state, w)
            else:
                place_all(c.tables, c.state, w)
                load_body_forces(c, w, block, force)
                demand(c.tables, c.state, w)
            collect(c.tables, c.state, c.state.u, w)
            give(c, w, block, c.state.u, c.tables.n_qd, out)


@ti.kernel
def _forward_dynamics(c: ti.template(), n_states: ti.i32, has_force: ti.template(), q: ti.types.ndarray(),
                      qd: ti.types.ndarray(), effort: ti.types.ndarray(), force: ti.types.ndarray(),
                      out: ti.types.ndarray()):
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            take(c, w, block, c.state.tau, c.tables.n_qd, effort)
            place_all(c.tables, c.state, w)
            if ti.static(has_force):
                load_body_forces(c, w, block, force)
            for d in range(c.tables.n_qd):
                c.state.diagonal.store(w, d, c.tables.arena.zero() + c.tables.armature.load(w, d))
            eliminate(c.tables, c.state, w)
            accelerate(c.tables, c.state, w)
            give(c, w, block, c.state.qdd, c.tables.n_qd, out)


@ti.kernel
def _mass_matrix(c: ti.template(), n_states: ti.i32, q: ti.types.ndarray(), out: ti.types.ndarray()):
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            place_all(c.tables, c.state, w)
            composite_matrix(c, w)
            give(c, w, block, c.matrix, c.tables.n_qd * c.tables.n_qd, out)


@ti.func
def _put_entries(c: ti.template(), w: ti.i32, d: ti.i32, p: ti.i32, force: ti.template()):
    """M[d, e] and M[e, d] of the dofs e of link p.

    Writes: c.matrix
    """
    s, t = c.state, c.tables
    for e in range(t.link_qd.at(p), t.link_qd.at(p) + t.link_n_qd.at(p)):
        value = s.S.load(w, e).dot(force)
        if e == d:
            value = value + t.armature.load(w, d)
        c.matrix.store(w, d * t.n_qd + e, value)
        c.matrix.store(w, e * t.n_qd + d, value)


@ti.func
def composite_matrix(c: ti.template(), w: ti.i32):
    """Composite rigid bodies: M[d, e] = S_e . I S_d for every dof e between the root and dof d.

    Reads:  c.state.{R, o, v, S}, c.tables
    Writes: c.state.I, c.matrix
    """
    s, t = c.state, c.tables
    n = t.n_qd
    for k in range(n * n):
        c.matrix.store(w, k, t.arena.zero())
    for i in range(t.n_links):
        s.I.store(w, i, own_inertia(t, s, w, i))
    compose(t, s, w)
    for i in range(t.n_links):
        for d in range(t.link_qd.at(i), t.link_qd.at(i) + t.link_n_qd.at(i)):
            force = s.I.load(w, i).times(s.S.load(w, d))
            p = i
            while p >= 0:
                _put_entries(c, w, d, p, force)
                p = t.parent.at(p)


@ti.kernel
def _jacobian(c: ti.template(), n_states: ti.i32, q: ti.types.ndarray(), out: ti.types.ndarray()):
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            place_all(c.tables, c.state, w)
            body_columns(c, w)
            give(c, w, block, c.columns, 6 * c.tables.n_bodies * c.tables.n_qd, out)


@ti.func
def body_columns(c: ti.template(), w: ti.i32):
    """Jacobian columns of every body: the motion columns of the dofs above it, taken at its centre of mass.

    Reads:  c.state.{R, o, S}, c.tables
    Writes: c.columns
    """
    s, t = c.state, c.tables
    n = t.n_qd
    for k in range(t.n_bodies * n):
        zero = t.arena.zero()
        c.columns.store(w, k, Motion.of(Vec3(zero, zero, zero), Vec3(zero, zero, zero)))
    for b in range(t.n_bodies):
        link = t.tip.at(b)
        x = com_about_origin(t, s, w, link)
        p = link
        while p >= 0:
            for d in range(t.link_qd.at(p), t.link_qd.at(p) + t.link_n_qd.at(p)):
                S = s.S.load(w, d)
                c.columns.store(w, b * n + d, Motion.of(point_velocity(S, x), S.angular))
            p = t.parent.at(p)


@ti.kernel
def _project(c: ti.template(), n_states: ti.i32, pose: ti.types.ndarray(), twist: ti.types.ndarray(),
             q: ti.types.ndarray(), qd: ti.types.ndarray()):
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.rows.body_q, 7 * c.tables.n_bodies, pose)
            take(c, w, block, c.rows.body_qd, 6 * c.tables.n_bodies, twist)
            project_joints(c.anchors, c.rows, c.projected_q, c.projected_qd, w)
            give(c, w, block, c.projected_q, c.tables.n_q, q)
            give(c, w, block, c.projected_qd, c.tables.n_qd, qd)
