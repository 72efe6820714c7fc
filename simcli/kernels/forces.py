"""Forces: joint efforts (applied, damping, drives), springs between points, cables, wrenches on bodies; their powers.

External forces act on points, so they know poses and twists only. Joint efforts act on coordinates; in the implicit forms
their gradients go to the diagonal of the mass matrix, which costs the articulated-body algorithm nothing.
"""

import numpy as np
import taichi as ti

from simcli.kernels.cables import Cables, cable_energy, load_cables
from simcli.kernels.coordinate_laws import bound_law, foresee, servo_law, torsion_law
from simcli.kernels.elementary import exp_rotation, select
from simcli.kernels.memory import Arena
from simcli.kernels.points import add_force, world_point
from simcli.kernels.rotation_log import rotation_log
from simcli.kernels.signals import driven_columns
from simcli.kernels.tables import Tables
from simcli.kernels.tree import BALL, quaternion_at, vector_at
from simcli.kernels.values import Force, Vec3
from simcli.model.drives import reads
from simcli.model.link_frames import body_rotations, link_points
from simcli.model.reference import dof_inertia
from simcli.model.table_base import kept
from simcli.model.tables import DriveMode, JointKind, Model

TINY_LENGTH = 1e-12  # [m] below, a spring has no direction and gives no force


class Forces:
    """Device columns of drives, springs, cables and wrenches.

    Attributes:
        ball_stiffness: of the geodesic spring of a ball joint's drive; its target is a rotation vector.
        stiffness, rate_gain, target, target_rate, driving, constant: a drive's law per dof,
            effort = constant + driving + stiffness (target - q) + rate_gain (target_rate - qd) - damping qd.
        torsion, torsion_rest, torsion_energy: stiffness, rest and constant energy of torsion springs per dof.
        soft_lower, soft_upper, soft_stiffness, soft_damping: soft limits per dof; while one acts, the drive rests.
        armature: [kg, kg m^2], per dof.
        by_law: per dof, 1 where a law (laws.py) gives the drive's effort instead.
        work: [J] done since the start: dissipated, input.  power: [W] now.  power_start: [W] at the start.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena, by_law: np.ndarray | None = None):
        driven = self.driven = driven_columns(model)
        used = {name: name in driven for name in laws_of(model)}
        used |= dict.fromkeys(set().union(*map(acting, tables.phases)), True)
        self.has_drives = used["stiffness"] or used["rate_gain"] or used["ball_stiffness"]
        self.has_damping = bool(tables.ever(lambda m: m.dofs.damping != 0).any())
        self.has_soft_limits = used["soft_stiffness"]
        self.has_torsion = used["torsion"] or used["torsion_energy"]
        sprung = self.has_drives or self.has_damping or self.has_soft_limits or self.has_torsion
        self.has_efforts = sprung or used["constant"] or used["driving"]
        self.armature, self.has_armature = tables.armature, bool(tables.ever(lambda m: m.dofs.armature != 0).any())
        self.has_diagonal = sprung or self.has_armature
        self.has_ball_drives = used["ball_stiffness"]
        self.some_by_law = by_law is not None and bool(np.any(by_law))
        self.by_law = tables.dofs.ints(np.zeros(model.n_qd) if by_law is None else by_law)
        for name, values in laws_of(model).items():
            setattr(self, name, tables.dofs.column(values, driven=name in driven))
        self.damping = tables.damping
        self.n_springs, self.n_wrenches = len(model.springs.name), len(model.wrenches.name)
        self.cables = Cables(model, tables)
        self.has_external = self.n_springs + self.n_wrenches + self.cables.n > 0
        self.has_elastic = self.n_springs + self.cables.n > 0 or self.has_soft_limits or self.has_torsion
        self.has_work = self.has_efforts or self.has_external
        self.work, self.power, self.power_start = arena.records(2).slots(3)
        self.springs_by_rows = False  # True: rows of the constrained system carry their tension
        self.add_springs(model, tables)
        self.add_wrenches(model, tables)

    def add_springs(self, model: Model, tables: Tables):
        """Columns of springs; a point in the world keeps its coordinates, a point of a body becomes one of its link."""
        springs, items = model.springs, tables.arena.records(len(model.springs.name))
        self.spring_link = tables.arena.ints(np.where(springs.body >= 0, model.links.tip[springs.body], -1))
        points = link_points(model, springs.body.reshape(-1), springs.point.reshape(len(springs.point), -1, 3))
        self.spring_point = tables.column(points, Vec3)
        self.spring_stiffness, self.spring_damping = items.column(springs.stiffness), items.column(springs.damping)
        self.rest_length, self.slack = items.column(springs.rest_length), items.ints(springs.slack)

    def add_wrenches(self, model: Model, tables: Tables):
        """Columns of wrenches; one that follows its body is kept in link axes."""
        wrenches, items = model.wrenches, tables.arena.records(len(model.wrenches.name))
        self.wrench_link = items.ints(model.links.tip[wrenches.body])
        self.wrench_point = items.column(link_points(model, wrenches.body, wrenches.point), Vec3)
        turn = np.where(wrenches.follows[:, None, None], body_rotations(model, wrenches.body), np.eye(3))
        self.wrench_force = items.column(turned(turn, wrenches.force), Vec3, driven="wrench_force" in self.driven)
        self.wrench_torque = items.column(turned(turn, wrenches.torque), Vec3, driven="wrench_torque" in self.driven)
        self.wrench_follows = items.ints(wrenches.follows)


def turned(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors (W|1, K, 3) turned by matrices (W|1, K, 3, 3)."""
    return np.einsum("wkij,wkj->wki", turn, vector)


def laws_of(model: Model) -> dict[str, np.ndarray]:
    """Columns (W|1, NV) of all laws of coordinates."""
    return drive_law(model) | soft_limits(model) | torsions(model)


@kept
def acting(model: Model) -> list[str]:
    """Names of the columns of laws that are not zero everywhere."""
    return [name for name, values in laws_of(model).items() if np.any(values)]


@kept
def drive_law(model: Model) -> dict[str, np.ndarray]:
    """Reduce the drive modes to one law (see `Forces`).

    Returns:
        Columns (W|1, NV) stiffness, ball_stiffness, rate_gain, target, target_rate, driving, constant.

    Source: Newton's actuator modes: VELOCITY reads no stiffness, EFFORT applies the target. Deviation: POSITION damps the
    difference from the target velocity, which is 0 unless written, rather than the rate itself.
    """
    dofs, mode = model.dofs, model.dofs.drive_mode
    has_position = reads(mode, "stiffness")
    stiffness = np.where(has_position, dofs.drive_stiffness, 0.0)
    on_ball = model.joints.kind[dofs.joint] == JointKind.BALL
    return {
        "stiffness": np.where(on_ball, 0.0, stiffness),
        "ball_stiffness": np.where(on_ball, stiffness, 0.0),
        "rate_gain": np.where(reads(mode, "damping"), dofs.drive_damping, 0.0),
        "target": np.where(has_position, dofs.drive_target, 0.0),
        "target_rate": np.where(reads(mode, "target_velocity"), dofs.drive_target_velocity, 0.0),
        "driving": np.where(mode == DriveMode.EFFORT, dofs.drive_target, 0.0),
        "constant": model.joint_f,
    }


def torsions(model: Model) -> dict[str, np.ndarray]:
    """Torsion springs: columns (W|1, NV) torsion, torsion_rest, torsion_energy."""
    dofs = model.dofs
    return {"torsion": dofs.spring_stiffness, "torsion_rest": dofs.spring_rest, "torsion_energy": dofs.spring_energy}


@kept
def soft_limits(model: Model) -> dict[str, np.ndarray]:
    """Limits that are springs: those with a stiffness.

    Returns:
        Columns (W|1, NV) soft_lower, soft_upper, infinite where there is none; soft_stiffness, soft_damping, 0 there. The
        damping that a scene leaves open is critical for the inertia at the start, c = 2 sqrt(k D).
    """
    dofs = model.dofs
    soft = (dofs.limit_stiffness > 0) & (np.isfinite(dofs.limit_lower) | np.isfinite(dofs.limit_upper))
    critical = 0.0
    if np.any(soft & np.isnan(dofs.limit_damping)):
        critical = 2.0 * np.sqrt(dofs.limit_stiffness * inertia_of_dofs(model))
    damping = np.where(np.isnan(dofs.limit_damping), critical, dofs.limit_damping)
    return {
        "soft_lower": np.where(soft, dofs.limit_lower, -np.inf), "soft_upper": np.where(soft, dofs.limit_upper, np.inf),
        "soft_stiffness": np.where(soft, dofs.limit_stiffness, 0.0), "soft_damping": np.where(soft, damping, 0.0),
    }  # fmt: skip


def inertia_of_dofs(model: Model) -> np.ndarray:
    """Inertia that each dof of the tree meets at the start, (W|1, NV); 1 at loop joints, whose inertia is not known here."""
    D, _ = dof_inertia(model, np.nan_to_num(model.joint_q))
    out = np.ones((max((len(d) for d in D), default=1), model.n_qd))
    for k in range(model.n_links):
        first, n = model.links.qd_start[k], model.links.n_qd[k]
        for i in range(n):
            out[:, first + i] = D[k][:, i, i]
    return out


@ti.func
def coordinate_of(t: ti.template(), s: ti.template(), w: ti.i32, d: ti.i32):
    """joint_q of a scalar dof (joint_q[0] for the dofs of quaternion joints, which have no stiffness)."""
    return s.q.load(w, ti.max(t.dof_q.at(d), 0))


@ti.func
def efforts(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, b: ti.template()):
    """Efforts at the end of a step of length b, linearised in the acceleration; b = 0: now.

        tau(q + b qd + b^2 qdd, qd + b qdd) = tau - (diagonal - armature) qdd

    Drives that are `by_law` are left out; of what is here, the stiffness is kept for the second node of implicit steps.

    Reads:  t.armature, fo columns, s.{q, qd}
    Writes: s.{tau, diagonal, stiffness}
    """
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        qd = s.qd.load(w, d)
        effort, stiffness, damping = effort_of_dof(t, fo, s, w, d, qd)
        push, gain = foresee(effort, stiffness, damping, qd, b)
        s.tau.store(w, d, push)
        s.diagonal.store(w, d, gain + t.armature.load(w, d))
        if ti.static(s.keeps_stiffness):
            s.stiffness.store(w, d, stiffness)
    if ti.static(fo.has_ball_drives):
        for i in range(t.n_links):
            if t.kind.at(i) == BALL:
                first = t.link_qd.at(i)
                error = ball_error(t, fo, s, w, i)
                for k in ti.static(range(3)):
                    d = first + k
                    stiffness = t.arena.zero() + fo.ball_stiffness.load(w, d)
                    push, gain = foresee(error.parts[k] * stiffness, stiffness, stiffness * 0.0, s.qd.load(w, d), b)
                    s.tau.store(w, d, s.tau.load(w, d) + push)
                    s.diagonal.store(w, d, s.diagonal.load(w, d) + gain)
                    if ti.static(s.keeps_stiffness):
                        s.stiffness.store(w, d, s.stiffness.load(w, d) + stiffness)


@ti.func
def effort_of_dof(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, d: ti.i32, qd: ti.template()):
    """Force on a dof of the tree now, its stiffness and its damping: all smooth laws of its coordinate.

    Reads: fo columns, s.q
    """
    zero = t.arena.zero()
    effort = zero + fo.constant.load(w, d)
    stiffness = zero
    damping = zero
    if ti.static(fo.has_damping):
        damping = damping + fo.damping.load(w, d)
        effort = effort - qd * damping
    if ti.static(fo.has_torsion):
        given, k, _stored = torsion_law(fo, w, d, coordinate_of(t, s, w, d))
        effort = effort + given
        stiffness = stiffness + k
    rests = zero > 0.0
    if ti.static(fo.has_soft_limits):
        if t.dof_q.at(d) >= 0:  # limits of ball joints are rows
            given, k, rate_gain, _stored = bound_law(fo, w, d, coordinate_of(t, s, w, d), qd)
            effort = effort + given
            stiffness = stiffness + k
            damping = damping + rate_gain
            rests = k > 0.0
    drives = 1
    if ti.static(fo.some_by_law):
        drives = 1 - fo.by_law.at(d)
    if drives != 0:
        given, k, rate_gain = servo_law(fo, w, d, coordinate_of(t, s, w, d), qd)
        effort = effort + select(rests, zero, given)
        stiffness = stiffness + select(rests, zero, k)
        damping = damping + select(rests, zero, rate_gain)
    return effort, stiffness, damping


@ti.func
def ball_error(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32):
    """Rotation vector that brings the ball joint of link i to its target, log(R_t R^T), parent anchor frame.

    A spring on it is the gradient of an energy, which three springs on three coordinates are not.

    Source: reference/articulations.md A7. No deviation.

    Reads: s.q, fo.target
    """
    q = quaternion_at(s.q, w, t.link_q.at(i))
    error, _factor = turn_to_target(fo, w, t.link_qd.at(i), q.matrix())
    return error


@ti.func
def turn_to_target(fo: ti.template(), w: ti.i32, d: ti.i32, R: ti.template()):
    """log(R_t R^T), R_t of the target of the ball whose first dof is d, and the factor of `rotation_log`.

    Reads: fo.target
    """
    target = exp_rotation(vector_at(fo.target, w, d))
    error, factor = rotation_log(target.matrix() * R.T)
    return error, factor


@ti.func
def load_links(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32):
    """External forces on links, and their powers.

        spring: tension T = k (L - L0) + c L' along the line of its ends; a slack one never pushes.
        Powers: dissipated by dampers, input by wrenches.

    Reads:  fo springs, cables and wrenches, s.{R, o, v, origin}
    Writes: s.external, fo.power
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    dissipated = zero
    supplied = zero
    for i in range(t.n_links):
        s.external.store(w, i, Force.of(none, none))
    if ti.static(fo.cables.n > 0):
        dissipated = dissipated + load_cables(t, fo.cables, s, w)
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
        if ti.static(not fo.springs_by_rows):
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
        damping = zero
        rests = zero > 0.0
        if ti.static(fo.has_damping):
            damping = damping + fo.damping.load(w, d)
        if ti.static(fo.has_soft_limits):
            if t.dof_q.at(d) >= 0:
                _force, stiffness, rate_gain, _stored = bound_law(fo, w, d, coordinate_of(t, s, w, d), before)
                damping = damping + rate_gain
                rests = stiffness > 0.0
        drives = 1
        if ti.static(fo.some_by_law):
            drives = 1 - fo.by_law.at(d)
        if drives != 0:
            given, _stiffness, _damping = servo_law(fo, w, d, coordinate_of(t, s, w, d) + after * b, after)
            effort = effort + select(rests, zero, given)
        dissipated = dissipated + ti.max(after * mid, zero) * damping  # a rate that turns round in a step is none
        supplied = supplied + effort * mid
    if ti.static(fo.has_ball_drives):
        for i in range(t.n_links):
            if t.kind.at(i) == BALL:
                error = ball_error(t, fo, s, w, i)
                for k in ti.static(range(3)):
                    d = t.link_qd.at(i) + k
                    after = s.qd.load(w, d) + s.qdd.load(w, d) * b
                    pull = (error.parts[k] - after * b) * fo.ball_stiffness.load(w, d)
                    supplied = supplied + pull * (s.qd.load(w, d) + after) * 0.5
    fo.power.store(w, 0, fo.power.load(w, 0) + dissipated)
    fo.power.store(w, 1, fo.power.load(w, 1) + supplied)


@ti.func
def elastic_energy(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32):
    """[J] stored in the springs, cables, torsion springs and soft limits, after `load_links`.

    Reads: fo springs, cables and torsion springs, s.{q, R, o, v, origin}
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
    if ti.static(fo.cables.n > 0):
        total = total + cable_energy(fo.cables, w)
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        if ti.static(fo.has_torsion):
            _force, _stiffness, stored = torsion_law(fo, w, d, coordinate_of(t, s, w, d))
            total = total + stored
        if ti.static(fo.has_soft_limits):
            if t.dof_q.at(d) >= 0:
                _given, _k, _damping, kept = bound_law(fo, w, d, coordinate_of(t, s, w, d), zero)
                total = total + kept
    return total


@ti.func
def accumulate_work(fo: ti.template(), w: ti.i32, weight: ti.template()):
    """Add power times a duration [s] to the work.

    Reads:  fo.power
    Writes: fo.work
    """
    for k in ti.static(range(2)):
        fo.work.store(w, k, fo.work.load(w, k) + fo.power.load(w, k) * weight)

