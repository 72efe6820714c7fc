"""What evaluates the rigid-body algorithms on the device: its memory, its kernels."""

import numpy as np

from simcli.kernels.articulation.hinges import Hinges, gather_efforts, has_only_hinges, swing, turn_links
from simcli.kernels.articulation.kinematics import TreeState, com_about_origin, place_all, point_velocity, vector_at
from simcli.kernels.articulation.projected_accelerations import report_accelerations
from simcli.kernels.articulation.projection import Anchors, project_joints
from simcli.kernels.articulation.report import FrameRows, put, report_bodies, report_wrenches, write_pack
from simcli.kernels.articulation.rnea import crba, rnea_backward, rnea_forward, rnea_link_forces
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.prescribed_target import Prescribed
from simcli.kernels.forces.signals import Signals, drive
from simcli.kernels.forces.wrenches import load_links
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import put_lane
from simcli.kernels.language.values import Force, Motion, Vec3
from simcli.model.tables.model import Model


class AlgorithmsCore:
    """Tables, state and results of `Algorithms`."""

    _data_oriented = True

    def __init__(self, model: Model, arena: Arena):
        self.arena, self.n_slots = arena, arena.n_blocks
        self.lanes, self.block_dim = arena.device.lanes, arena.device.block_dim
        self.tables = Tables(model, arena)
        self.state = TreeState(self.tables, arena, has_external=True)
        self.rows = FrameRows(self.tables, arena, 0)
        self.anchors = Anchors(model, self.tables)
        self.forces = Forces(model, self.tables, arena, self.drives_by_law(model))
        self.signals = Signals(model, self.tables, arena, (self.forces, Prescribed(model, self.tables)))
        self.when = arena.array(2)
        self.body_f = arena.array(6 * model.n_bodies)
        self.matrix = arena.array(model.n_qd**2)
        self.columns = arena.array(model.n_bodies * model.n_qd, Motion)
        self.hinges = Hinges(model, self.tables) if has_only_hinges(model) else None
        self.projected_q, self.projected_qd = self.tables.coordinates.array(), self.tables.dofs.array()

    def drives_by_law(self, model: Model) -> np.ndarray | None:
        """(NV,) where a law gives the effort of a drive; None where nobody asks."""
        return None


@ti.func
def blocks_of_slot(c: ti.template(), w: ti.i32, n_states: ti.i32):
    """Blocks of states that scratch block w serves: w, w + n_slots, ..."""
    n_blocks = (n_states + c.lanes - 1) // c.lanes
    return (n_blocks - w + c.n_slots - 1) // c.n_slots


@ti.func
def take(c: ti.template(), w: ti.i32, block: ti.i32, array: ti.template(), n: ti.template(), values: ti.template()):
    """Load n rows of a block of states from a flat buffer; idle lanes repeat the last state.

    Writes: array
    """
    last = values.shape[0] // ti.max(n, 1) - 1
    for row in range(n):
        for lane in ti.static(range(c.lanes)):
            put_lane(array.part(w, row, 0), lane, values[ti.min(block * c.lanes + lane, last) * n + row])


@ti.func
def give(c: ti.template(), w: ti.i32, block: ti.i32, array: ti.template(), n: ti.template(), out: ti.template()):
    """Store n rows of a block of states to a flat buffer.

    Writes: out
    """
    at = block * c.lanes * n
    for item in range(n // array.width):
        for k in ti.static(range(array.width)):
            write_pack(out, c.lanes, at + item * array.width + k, n, array.part(w, item, k))


@ti.kernel
def states_to_bodies(
    c: ti.template(),
    n_states: ti.i32,
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    pose: ti.types.ndarray(),
    twist: ti.types.ndarray(),
):
    """Poses and twists of bodies, of many states."""
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


@ti.kernel
def states_to_accelerations(
    c: ti.template(),
    n_states: ti.i32,
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    qdd: ti.types.ndarray(),
    out: ti.types.ndarray(),
):
    """Accelerations of bodies, of many states."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            take(c, w, block, c.state.qdd, c.tables.n_qd, qdd)
            rnea_forward(c.tables, c.state, w)
            report_accelerations(c.tables, c.state, c.rows, w)
            give(c, w, block, c.rows.body_qdd, 6 * c.tables.n_bodies, out)


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
def states_to_forces(
    c: ti.template(),
    n_states: ti.i32,
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    when: ti.types.ndarray(),
    out: ti.types.ndarray(),
):
    """Springs, cables and wrenches about the centres of mass, of many states."""
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
def accelerations_to_efforts(
    c: ti.template(),
    n_states: ti.i32,
    has_force: ti.template(),
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    qdd: ti.types.ndarray(),
    force: ti.types.ndarray(),
    out: ti.types.ndarray(),
):
    """Recursive Newton-Euler, of many states."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            take(c, w, block, c.state.qdd, c.tables.n_qd, qdd)
            if ti.static(not has_force):
                rnea_forward(c.tables, c.state, w)
            else:
                place_all(c.tables, c.state, w)
                load_body_forces(c, w, block, force)
                rnea_link_forces(c.tables, c.state, w)
            rnea_backward(c.tables, c.state, c.state.u, w)
            give(c, w, block, c.state.u, c.tables.n_qd, out)


@ti.kernel
def accelerations_to_wrenches(
    c: ti.template(),
    n_states: ti.i32,
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    qdd: ti.types.ndarray(),
    force: ti.types.ndarray(),
    out: ti.types.ndarray(),
):
    """What joints transmit, by recursive Newton-Euler, of many states."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            take(c, w, block, c.state.qd, c.tables.n_qd, qd)
            take(c, w, block, c.state.qdd, c.tables.n_qd, qdd)
            place_all(c.tables, c.state, w)
            load_body_forces(c, w, block, force)
            rnea_link_forces(c.tables, c.state, w)
            rnea_backward(c.tables, c.state, c.state.u, w)
            report_wrenches(c.tables, c.state, c.rows, w)
            give(c, w, block, c.rows.joint_wrench, 6 * c.tables.n_joints, out)


@ti.kernel
def hinges_to_efforts(
    c: ti.template(),
    n_states: ti.i32,
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
    qdd: ti.types.ndarray(),
    out: ti.types.ndarray(),
):
    """Recursive Newton-Euler of trees of hinges without external forces, of many states, at least a block.

    The last block begins so early that it is whole: what it does once more gives the same bytes.
    """
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            first = ti.min((w + k * c.n_slots) * c.lanes, n_states - c.lanes) * c.tables.n_qd
            turn_links(c.tables, c.hinges, w, c.lanes, first, q)
            swing(c.tables, c.hinges, w, c.lanes, first, qd, qdd)
            gather_efforts(c.tables, c.hinges, w, c.lanes, first, out)


@ti.kernel
def states_to_masses(c: ti.template(), n_states: ti.i32, q: ti.types.ndarray(), out: ti.types.ndarray()):
    """Mass matrices of many states."""
    ti.loop_config(block_dim=c.block_dim)
    for w in range(c.arena.n_blocks):
        c.arena.enter(w)
        for k in range(blocks_of_slot(c, w, n_states)):
            block = w + k * c.n_slots
            take(c, w, block, c.state.q, c.tables.n_q, q)
            place_all(c.tables, c.state, w)
            crba(c.tables, c.state, c.matrix, w)
            give(c, w, block, c.matrix, c.tables.n_qd * c.tables.n_qd, out)


@ti.kernel
def states_to_jacobians(c: ti.template(), n_states: ti.i32, q: ti.types.ndarray(), out: ti.types.ndarray()):
    """Body Jacobians of many states."""
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
def bodies_to_states(
    c: ti.template(),
    n_states: ti.i32,
    pose: ti.types.ndarray(),
    twist: ti.types.ndarray(),
    q: ti.types.ndarray(),
    qd: ti.types.ndarray(),
):
    """Joint coordinates and rates from poses and twists, of many states."""
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
