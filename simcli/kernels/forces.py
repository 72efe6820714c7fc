"""Forces: joint efforts (applied, damping, drives), springs between points, wrenches on bodies; their powers.

External forces act on points, so they know poses and twists only. Joint efforts act on coordinates; in the implicit forms
their gradients go to the diagonal of the mass matrix, which costs the articulated-body algorithm nothing.
"""

import numpy as np
import taichi as ti

from simcli.kernels.elementary import select
from simcli.kernels.runtime import Arena
from simcli.kernels.tables import Tables, body_rotations, link_points
from simcli.kernels.tree import point_velocity
from simcli.kernels.values import Force, Vec3
from simcli.model.tables import DriveMode, Model

TINY_LENGTH = 1e-12  # [m] below, a spring has no direction and gives no force


class Forces:
    """Device columns of drives, springs and wrenches.

    Attributes:
        stiffness, rate_gain, target, target_rate, constant: a drive's law per dof,
            effort = constant + stiffness (target - q) + rate_gain (target_rate - qd) - damping qd.
        work: [J] done since the start: dissipated, input.  power: [W] now.  power_start: [W] at the start.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena):
        columns = drive_law(model)
        self.has_drives = any(np.any(columns[c]) for c in ("stiffness", "rate_gain"))
        self.has_damping = bool(np.any(model.dofs.damping))
        self.has_efforts = self.has_drives or self.has_damping or bool(np.any(columns["constant"]))
        self.has_diagonal = self.has_drives or self.has_damping or bool(np.any(model.dofs.armature))
        for name, values in columns.items():
            setattr(self, name, tables.column(values))
        self.damping = tables.damping
        self.n_springs, self.n_wrenches = len(model.springs.name), len(model.wrenches.name)
        self.has_external = self.n_springs + self.n_wrenches > 0
        self.has_work = self.has_efforts or self.has_external
        self.work, self.power, self.power_start = arena.slot(2), arena.slot(2), arena.slot(2)
        self.add_springs(model, tables)
        self.add_wrenches(model, tables)

    def add_springs(self, model: Model, tables: Tables):
        """Columns of springs; a point in the world keeps its coordinates, a point of a body becomes one of its link."""
        springs = model.springs
        self.spring_link = tables.arena.ints(np.where(springs.body >= 0, model.links.tip[springs.body], -1))
        points = link_points(model, springs.body.reshape(-1), springs.point.reshape(len(springs.point), -1, 3))
        self.spring_point = tables.column(points, Vec3)
        self.spring_stiffness, self.spring_damping = tables.column(springs.stiffness), tables.column(springs.damping)
        self.rest_length, self.slack = tables.column(springs.rest_length), tables.arena.ints(springs.slack)

    def add_wrenches(self, model: Model, tables: Tables):
        """Columns of wrenches; one that follows its body is kept in link axes."""
        wrenches = model.wrenches
        self.wrench_link = tables.arena.ints(model.links.tip[wrenches.body])
        self.wrench_point = tables.column(link_points(model, wrenches.body, wrenches.point), Vec3)
        turn = np.where(wrenches.follows[:, None, None], body_rotations(model, wrenches.body), np.eye(3))
        self.wrench_force = tables.column(np.einsum("wkij,wkj->wki", turn, wrenches.force), Vec3)
        self.wrench_torque = tables.column(np.einsum("wkij,wkj->wki", turn, wrenches.torque), Vec3)
        self.wrench_follows = tables.arena.ints(wrenches.follows)


def drive_law(model: Model) -> dict[str, np.ndarray]:
    """Reduce the drive modes to one law (see `Forces`).

    Returns:
        Columns (W|1, NV) stiffness, rate_gain, target, target_rate, constant.

    Source: Newton's actuator modes (reference/articulations.md A7): POSITION damps the rate itself, VELOCITY ignores the
    stiffness, EFFORT applies the target. No deviation.
    """
    dofs, mode = model.dofs, model.dofs.drive_mode
    has_position = np.isin(mode, (DriveMode.POSITION, DriveMode.POSITION_VELOCITY))
    has_rate = np.isin(mode, (DriveMode.POSITION, DriveMode.VELOCITY, DriveMode.POSITION_VELOCITY))
    follows_rate = np.isin(mode, (DriveMode.VELOCITY, DriveMode.POSITION_VELOCITY))
    return {
        "stiffness": np.where(has_position, dofs.drive_stiffness, 0.0),
        "rate_gain": np.where(has_rate, dofs.drive_damping, 0.0),
        "target": np.where(has_position, dofs.drive_target, 0.0),
        "target_rate": np.where(follows_rate, dofs.drive_target_velocity, 0.0),
        "constant": model.joint_f + np.where(mode == DriveMode.EFFORT, dofs.drive_target, 0.0),
    }


@ti.func
def coordinate_of(t: ti.template(), s: ti.template(), w: ti.i32, d: ti.i32):
    """joint_q of a scalar dof (joint_q[0] for the dofs of quaternion joints, which have no stiffness)."""
    return s.q.load(w, ti.max(t.dof_q.at(d), 0))


@ti.func
def efforts(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, b: ti.template()):
    """Efforts at the end of a step of length b, linearised in the acceleration; b = 0: now.

        tau(q + b qd + b^2 qdd, qd + b qdd) = tau - (diagonal - armature) qdd

    Reads:  t.armature, fo.{stiffness, rate_gain, target, target_rate, constant, damping}, s.{q, qd}
    Writes: s.{tau, diagonal}
    """
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        qd = s.qd.load(w, d)
        tau = t.arena.zero() + fo.constant.load(w, d)
        diagonal = t.arena.zero() + t.armature.load(w, d)
        if ti.static(fo.has_damping):
            damping = fo.damping.load(w, d)
            tau = tau - qd * damping
            diagonal = diagonal + b * damping
        if ti.static(fo.has_drives):
            stiffness = fo.stiffness.load(w, d)
            rate_gain = fo.rate_gain.load(w, d)
            tau = tau + (fo.target.load(w, d) - coordinate_of(t, s, w, d) - qd * b) * stiffness
            tau = tau + (fo.target_rate.load(w, d) - qd) * rate_gain
            diagonal = diagonal + b * (rate_gain + b * stiffness)
        s.tau.store(w, d, tau)
        s.diagonal.store(w, d, diagonal)


@ti.func
def world_point(t: ti.template(), s: ti.template(), w: ti.i32, link: ti.i32, point: ti.template()):
    """Position about the tree's O [m], position in the world [m], velocity [m/s] of a point of a link.

    Reads: s.{R, o, v, origin}. A link of -1 is the world: O is its origin.
    """
    zero = t.arena.zero()
    x = Vec3(zero, zero, zero) + point
    world = Vec3(zero, zero, zero) + point
    rate = Vec3(zero, zero, zero)
    if link >= 0:
        x = s.o.load(w, link) + s.R.load(w, link) * point
        world = x + s.origin.load(w, t.root.at(link))
        rate = point_velocity(s.v.load(w, link), x)
    return x, world, rate


@ti.func
def add_force(s: ti.template(), w: ti.i32, link: ti.i32, x: ti.template(), force: ti.template(), torque: ti.template()):
    """Add a force at the point x about O, and a torque, to a link; nothing if the link is the world.

    Writes: s.external
    """
    if link >= 0:
        s.external.store(w, link, s.external.load(w, link) + Force.of(force, torque + x.cross(force)))


@ti.func
def load_links(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32):
    """External forces on links, and their powers.

        spring: tension T = k (L - L0) + c L' along the line of its ends; a slack one never pushes.
        Powers: dissipated by dampers, input by wrenches.

    Reads:  fo springs and wrenches, s.{R, o, v, origin}
    Writes: s.external, fo.power
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    dissipated = zero
    supplied = zero
    for i in range(t.n_links):
        s.external.store(w, i, Force.of(none, none))
    for k in range(fo.n_springs):
        link_a = fo.spring_link.at(2 * k)
        link_b = fo.spring_link.at(2 * k + 1)
        x_a, p_a, v_a = world_point(t, s, w, link_a, fo.spring_point.load(w, 2 * k))
        x_b, p_b, v_b = world_point(t, s, w, link_b, fo.spring_point.load(w, 2 * k + 1))
        gap = p_b - p_a
        length = ti.sqrt(gap.dot(gap))
        along = gap * (1.0 / ti.max(length, TINY_LENGTH))
        rate = along.dot(v_b - v_a)
        stretch = length - fo.rest_length.load(w, k)
        elastic = stretch * fo.spring_stiffness.load(w, k)
        tension = elastic + rate * fo.spring_damping.load(w, k)
        if fo.slack.at(k) != 0:
            pulls = (stretch > 0.0) & (tension > 0.0)
            tension = select(pulls, tension, zero)
            elastic = select(stretch > 0.0, elastic, zero)
        dissipated = dissipated + (tension - elastic) * rate
        add_force(s, w, link_a, x_a, along * tension, none)
        add_force(s, w, link_b, x_b, -(along * tension), none)
    for k in range(fo.n_wrenches):
        link = fo.wrench_link.at(k)
        x, _, v = world_point(t, s, w, link, fo.wrench_point.load(w, k))
        force = none + fo.wrench_force.load(w, k)
        torque = none + fo.wrench_torque.load(w, k)
        if fo.wrench_follows.at(k) != 0:
            R = s.R.load(w, link)
            force = R * fo.wrench_force.load(w, k)
            torque = R * fo.wrench_torque.load(w, k)
        supplied = supplied + force.dot(v) + torque.dot(s.v.load(w, link).angular)
        add_force(s, w, link, x, force, torque)
    fo.power.store(w, 0, dissipated)
    fo.power.store(w, 1, supplied)


@ti.func
def effort_power(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, b: ti.template()):
    """Powers of joint efforts over a step of length b that ends with the rates qd + b qdd; b = 0: now.

        dissipated: c qd+ . qd_mid     input: (effort - damping) . qd_mid

    Reads:  fo.{constant, stiffness, rate_gain, target, target_rate, damping}, s.{q, qd, qdd}
    Writes: adds to fo.power
    """
    zero = t.arena.zero()
    dissipated = zero
    supplied = zero
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        before = s.qd.load(w, d)
        after = before + s.qdd.load(w, d) * b
        mid = (before + after) * 0.5
        effort = zero + fo.constant.load(w, d)
        if ti.static(fo.has_drives):
            q = coordinate_of(t, s, w, d) + after * b
            effort = effort + (fo.target.load(w, d) - q) * fo.stiffness.load(w, d)
            effort = effort + (fo.target_rate.load(w, d) - after) * fo.rate_gain.load(w, d)
        if ti.static(fo.has_damping):
            dissipated = dissipated + after * mid * fo.damping.load(w, d)
        supplied = supplied + effort * mid
    fo.power.store(w, 0, fo.power.load(w, 0) + dissipated)
    fo.power.store(w, 1, fo.power.load(w, 1) + supplied)


@ti.func
def elastic_energy(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32):
    """[J] stored in the springs.

    Reads: fo springs, s.{R, o, v, origin}
    """
    zero = t.arena.zero()
    total = zero
    for k in range(fo.n_springs):
        _, p_a, _ = world_point(t, s, w, fo.spring_link.at(2 * k), fo.spring_point.load(w, 2 * k))
        _, p_b, _ = world_point(t, s, w, fo.spring_link.at(2 * k + 1), fo.spring_point.load(w, 2 * k + 1))
        gap = p_b - p_a
        stretch = ti.sqrt(gap.dot(gap)) - fo.rest_length.load(w, k)
        if fo.slack.at(k) != 0:
            stretch = ti.max(stretch, zero)
        total = total + stretch * stretch * (0.5 * fo.spring_stiffness.load(w, k))
    return total


@ti.func
def accumulate_work(fo: ti.template(), w: ti.i32, weight: ti.template()):
    """Add power times a duration [s] to the work.

    Reads:  fo.power
    Writes: fo.work
    """
    for k in ti.static(range(2)):
        fo.work.store(w, k, fo.work.load(w, k) + fo.power.load(w, k) * weight)

