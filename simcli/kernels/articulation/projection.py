"""Poses and twists of bodies to joint coordinates: the projection of every joint by itself (Newton's eval_ik).

Notation: X_p, X_c anchor frames of parent and child in the world; R = R_p^T R_c; w relative angular velocity in the parent
anchor frame; e_k the angular axes as the angles before them carry them.
"""

import numpy as np

from simcli import rotations as rot
from simcli.kernels.articulation.report import motion_of_body, put
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import atan2, nearest_turn, sincos
from simcli.kernels.language.expressions import any_lane
from simcli.kernels.language.values import Mat3, Vec3, quaternion_of
from simcli.model.joints.catalogue import CARRIED_KINDS, ORBITS, POSES, QUATERNIONS, SLOTTED
from simcli.model.joints.motion_axes import dual_basis
from simcli.model.tables.model import JointKind, Model

ON_AXIS = 1e-24  # [1] of the square of a displacement: so near to its pole a longitude has no rate


class Anchors:
    """Device columns of joints that the projection reads.

    Attributes:
        chosen: the joints that `project_joints` visits.
        parent, child, kind, n_linear, q_start, qd_start: per joint.
        n_orbit: angles that move the anchor.  n_angular: turns about axes.
        is_pose, is_ball (the turn is a quaternion), is_scalar (the rest), is_carried (the slide is fixed in the child).
        point, frame: (J, 2) anchor position [m] and rotation in parent and child.
        axis: per dof, [1], parent anchor frame.
        dual: per dof, [1]: of a slide gives its coordinate from a displacement, of a screw how far it advanced.
        com: [m], per body.  pitch: [m/rad], per joint.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, chosen: np.ndarray | None = None):
        joints = model.joints
        chosen = np.arange(model.n_joints) if chosen is None else chosen
        self.n_joints, self.chosen, every = len(chosen), tables.arena.ints(chosen), tables.joints
        self.parent, self.child, self.kind = (every.ints(x) for x in (joints.parent, joints.child, joints.kind))
        orbits = 2 * np.isin(joints.kind, ORBITS)
        turns = joints.dof_dim[:, 1] - orbits
        self.n_linear, self.n_angular, self.n_orbit = (every.ints(n) for n in (joints.dof_dim[:, 0], turns, orbits))
        self.q_start, self.qd_start = tables.arena.ints(joints.q_start), tables.arena.ints(joints.qd_start)
        self.is_pose = every.ints(np.isin(joints.kind, POSES))
        self.point = [every.column(x[..., :3], Vec3) for x in (joints.X_p, joints.X_c)]
        self.frame = [every.column(rot.quat_to_matrix(x[..., 3:]), Mat3) for x in (joints.X_p, joints.X_c)]
        self.axis = tables.dofs.column(model.dofs.axis, Vec3)
        kinds = [JointKind(k) for k in joints.kind[chosen]]
        self.has_many = bool(np.any(turns[chosen] > 1))
        balls = set(QUATERNIONS) - set(POSES)
        self.has_poses, self.has_balls = any(k in POSES for k in kinds), any(k in balls for k in kinds)
        self.has_orbits, self.has_carried = bool(orbits[chosen].any()), any(k in CARRIED_KINDS for k in kinds)
        self.is_scalar = every.ints(~np.isin(joints.kind, (*POSES, *SLOTTED)))
        self.is_ball = every.ints(np.isin(joints.kind, list(balls)))
        self.is_carried = every.ints(np.isin(joints.kind, CARRIED_KINDS))
        self.dual = tables.dofs.column(dual_axes(model), Vec3)
        self.com = tables.bodies.column(model.bodies.com, Vec3)
        self.pitch = every.column(joints.pitch)


def dual_axes(model: Model) -> np.ndarray:
    """Vectors whose scalar products with a displacement are the linear coordinates of each joint, and the way of a screw.

    Returns:
        [1], (W|1, NV, 3); equal to the axes where these are at right angles, zero for other angular dofs.
    """
    axis, dual, joints = model.dofs.axis, np.zeros_like(model.dofs.axis), model.joints
    for j in np.flatnonzero(~np.isin(joints.kind, (*SLOTTED, *POSES))):
        first = joints.qd_start[j]
        turn = first + joints.dof_dim[j, 0]
        last = turn + int(joints.pitch[:, j].any())
        if last > first:
            dual[:, first:last] = dual_basis(axis[:, first:turn], axis[:, turn:last])
    return dual


def turned(axis: Vec3, about: Vec3, angle) -> Vec3:
    """A vector turned about a unit vector (Rodrigues)."""
    s, c = sincos(angle)
    return axis * c + about.cross(axis) * s + about * (about.dot(axis) * (1.0 - c))


def angle_about(axis: Vec3, start: Vec3, end: Vec3):
    """[rad], in (-pi, pi], the turn about a unit axis that brings `start` over `end`."""
    cosine = start.dot(end) - axis.dot(start) * axis.dot(end)
    return atan2(axis.dot(start.cross(end)), cosine)


@ti.func
def anchor_motion(a: ti.template(), rows: ti.template(), w: ti.i32, j: ti.i32, side: ti.template()):
    """Position [m] and rotation of an anchor in the world, centre of mass [m], its velocity and angular velocity.

    Reads: rows.{body_q, body_qd}, a
    """
    b = a.parent.at(j)
    if ti.static(side == 1):
        b = a.child.at(j)
    R, x, v, spin = motion_of_body(rows, w, b)
    com = x * 1.0
    if b >= 0:
        com = x + R * a.com.load(w, b)
    return x + R * a.point[side].load(w, j), R * a.frame[side].load(w, j), com, v, spin


@ti.func
def project_angles(
    a: ti.template(),
    w: ti.i32,
    j: ti.i32,
    R: ti.template(),
    spin: ti.template(),
    ahead: ti.template(),
    q: ti.template(),
    qd: ti.template(),
):
    """Angles and rates of the scalar angular dofs of joint j.

    Args:
        ahead: [m], how far a screw advanced, which tells its full turns.

    Reads:  a
    Writes: q, qd
    """
    before = a.n_linear.at(j) + a.n_orbit.at(j)
    n = a.n_angular.at(j)
    at = a.q_start.at(j) + before
    d = a.qd_start.at(j) + before
    zero = Vec3(R.parts[0] * 0.0, R.parts[0] * 0.0, R.parts[0] * 0.0)
    a0 = zero + a.axis.load(w, d)
    if n == 1:
        turn = quaternion_of(R)
        put(q, w, at, 2.0 * atan2(a0.dot(Vec3(*turn.parts[:3])), turn.parts[3]))
        put(qd, w, d, a0.dot(spin))
    if ti.static(a.has_many):
        if n > 1:
            project_successive(a, w, at, d, n, a0, R, spin, q, qd)
    pitch = a.pitch.load(w, j)
    if pitch_is_set(pitch):
        put(q, w, at, nearest_turn(q.load(w, at), ahead / pitch))


@ti.func
def project_successive(
    a: ti.template(),
    w: ti.i32,
    at: ti.i32,
    d: ti.i32,
    n: ti.i32,
    a0: ti.template(),
    R: ti.template(),
    spin: ti.template(),
    q: ti.template(),
    qd: ti.template(),
):
    """Two or three successive angles and their rates, from coordinate `at` and dof d on.

        two axes: a1 is carried by the first angle alone, a0 seen from the child by the second;
        three, at right angles: Euler angles. Rates by the dual basis of e_k.

    Reads:  a
    Writes: q, qd
    """
    zero = Vec3(R.parts[0] * 0.0, R.parts[0] * 0.0, R.parts[0] * 0.0)
    a1 = zero + a.axis.load(w, d + 1)
    third = a0.cross(a1)
    first = angle_about(a0, a1, R * a1)
    second = angle_about(a1, R.T * a0, a0)
    if n == 3:
        x, z = R.T * a0, R * third
        first = atan2(-a1.dot(z), third.dot(z))
        second = atan2(a0.dot(z), ti.sqrt(a0.dot(x) * a0.dot(x) + a1.dot(x) * a1.dot(x)))
    e1 = turned(a1, a0, first)
    e2 = a0.cross(e1)
    if n == 3:
        hand = third.dot(a.axis.load(w, d + 2))
        x = R.T * a0
        last = atan2(-a1.dot(x), a0.dot(x)) * hand
        e2 = turned(turned(zero + a.axis.load(w, d + 2), a1, second), a0, first)
        put(q, w, at + 2, last)
        volume = 1.0 / a0.dot(e1.cross(e2))
        put(qd, w, d + 2, spin.dot(a0.cross(e1)) * volume)
    volume = 1.0 / a0.dot(e1.cross(e2))
    put(q, w, at, first, second)
    put(qd, w, d, spin.dot(e1.cross(e2)) * volume, spin.dot(e2.cross(a0)) * volume)


@ti.func
def project_orbit(
    a: ti.template(), w: ti.i32, j: ti.i32, gap: ti.template(), rate: ti.template(), q: ti.template(), qd: ti.template()
):
    """Longitude about the first axis n and latitude towards it of the displacement of the child's anchor.

    Args:
        gap: [m], the displacement; rate: [m/s], its rate; both in the parent anchor frame.

    Reads:  a
    Writes: q, qd
    """
    at = a.q_start.at(j)
    d = a.qd_start.at(j)
    zero = Vec3(gap.parts[0] * 0.0, gap.parts[0] * 0.0, gap.parts[0] * 0.0)
    n = zero + a.axis.load(w, d)
    b = zero - a.axis.load(w, d + 1)
    t = b.cross(n)
    x, y, z = gap.dot(t), gap.dot(b), gap.dot(n)
    x_rate, y_rate, z_rate = rate.dot(t), rate.dot(b), rate.dot(n)
    whole = gap.dot(gap)
    across = ti.max(x * x + y * y, whole * ON_AXIS)
    out = ti.sqrt(across)
    put(q, w, at, atan2(y, x), atan2(z, out))
    put(qd, w, d, (x * y_rate - y * x_rate) / across, (z_rate * out - z * (x * x_rate + y * y_rate) / out) / whole)


def pitch_is_set(pitch):
    """True for a screw (the pitch of one world stands for all: a screw is a screw in every world)."""
    return any_lane(pitch != 0.0)


@ti.func
def project_joints(a: ti.template(), rows: ti.template(), q: ti.template(), qd: ti.template(), w: ti.i32):
    """Coordinates and rates of the chosen joints; slots of cables are left alone.

    Reads:  rows.{body_q, body_qd}, a
    Writes: q (NQ), qd (NV)
    """
    for n in range(a.n_joints):
        j = a.chosen.at(n)
        x_p, R_p, com_p, v_p, w_p = anchor_motion(a, rows, w, j, 0)
        x_c, R_c, com_c, v_c, w_c = anchor_motion(a, rows, w, j, 1)
        R = R_p.T * R_c
        spin = R_p.T * (w_c - w_p)
        gap = R_p.T * (x_c - x_p)
        at = a.q_start.at(j)
        d = a.qd_start.at(j)
        if ti.static(a.has_poses):
            if a.is_pose.at(j) != 0:
                rate = R_p.T * (v_c - v_p - w_p.cross(com_c - com_p))
                put(q, w, at, gap, quaternion_of(R))
                put(qd, w, d, rate, spin)
        if a.is_scalar.at(j) != 0:
            rate = R_p.T * (v_c + w_c.cross(x_c - com_c) - v_p - w_p.cross(x_c - com_p))
            if ti.static(a.has_carried):
                if a.is_carried.at(j) != 0:
                    rate = R.T * (rate - spin.cross(gap))
                    gap = R.T * gap
            project_scalars(a, w, j, R, gap, rate, spin, q, qd)


@ti.func
def project_scalars(
    a: ti.template(),
    w: ti.i32,
    j: ti.i32,
    R: ti.template(),
    gap: ti.template(),
    rate: ti.template(),
    spin: ti.template(),
    q: ti.template(),
    qd: ti.template(),
):
    """Coordinates and rates of a joint whose coordinates are displacements, angles, and at the end perhaps a quaternion.

    Args:
        gap: [m], displacement of the child's anchor; rate: [m/s], its rate; both in the frame that carries the slides.

    Reads:  a
    Writes: q, qd
    """
    at = a.q_start.at(j)
    d = a.qd_start.at(j)
    for k in range(a.n_linear.at(j)):
        dual = a.dual.load(w, d + k)
        put(q, w, at + k, gap.dot(dual))
        put(qd, w, d + k, rate.dot(dual))
    if ti.static(a.has_orbits):
        if a.n_orbit.at(j) > 0:
            project_orbit(a, w, j, gap, rate, q, qd)
    if ti.static(a.has_balls):
        if a.is_ball.at(j) != 0:
            before = a.n_linear.at(j) + a.n_orbit.at(j)
            put(q, w, at + before, quaternion_of(R))
            put(qd, w, d + before, spin)
    if a.n_angular.at(j) > 0 and a.is_ball.at(j) == 0:
        ahead = gap.dot(a.dual.load(w, d + a.n_linear.at(j)))
        project_angles(a, w, j, R, spin, ahead, q, qd)
