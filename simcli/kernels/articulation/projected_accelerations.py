"""Accelerations of bodies to those of joint coordinates: what projection.py does with velocities, differentiated once more.

Notation: as there. A vector u seen from the parent anchor frame changes by R_p^T (u' - w_p x u).
"""

from simcli.kernels.articulation.kinematics import com_about_origin, point_velocity, vector_at
from simcli.kernels.articulation.projection import ON_AXIS, anchor_motion, turned
from simcli.kernels.articulation.report import put
from simcli.kernels.articulation.rnea import gravity_motion
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.values import Vec3


@ti.func
def report_accelerations(t: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32):
    """Accelerations of the centres of mass and angular ones; world.

    Reads:  s.{R, o, v, a} after `rnea_link_forces`, t links
    Writes: rows.body_qdd
    """
    rest = gravity_motion(t, w).linear
    for b in range(t.n_bodies):
        link = t.tip.at(b)
        c = com_about_origin(t, s, w, link)
        v = s.v.load(w, link)
        a = s.a.load(w, link)
        put(rows.body_qdd, w, 6 * b, point_velocity(a, c) - rest + v.angular.cross(point_velocity(v, c)), a.angular)


@ti.func
def acceleration_of_body(rows: ti.template(), w: ti.i32, b: ti.i32):
    """Acceleration of the centre of mass [m/s^2] and angular one [rad/s^2] of a body; the world has none.

    Reads: rows.body_qdd
    """
    zero = rows.body_q.arena.zero()
    linear = Vec3(zero, zero, zero)
    angular = Vec3(zero, zero, zero)
    if b >= 0:
        linear = vector_at(rows.body_qdd, w, 6 * b)
        angular = vector_at(rows.body_qdd, w, 6 * b + 3)
    return linear, angular


@ti.func
def project_accelerations(
    a: ti.template(), rows: ti.template(), q: ti.template(), qd: ti.template(), qdd: ti.template(), w: ti.i32
):
    """Accelerations of the coordinates of the chosen joints, after `project_joints`; slots of cables are left alone.

    Reads:  rows.{body_q, body_qd, body_qdd}, a, q (NQ), qd (NV)
    Writes: qdd (NV)
    """
    for n in range(a.n_joints):
        j = a.chosen.at(n)
        x_p, R_p, com_p, v_p, w_p = anchor_motion(a, rows, w, j, 0)
        x_c, R_c, com_c, v_c, w_c = anchor_motion(a, rows, w, j, 1)
        a_p, alpha_p = acceleration_of_body(rows, w, a.parent.at(j))
        a_c, alpha_c = acceleration_of_body(rows, w, a.child.at(j))
        spin = R_p.T * (w_c - w_p)
        twist = R_p.T * (alpha_c - alpha_p - w_p.cross(w_c))
        d = a.qd_start.at(j)
        point = com_c * 1.0
        if a.is_scalar.at(j) != 0:
            point = x_c
        arm = point - com_c
        lever = point - com_p
        v = v_c + w_c.cross(arm) - v_p
        change = a_c + alpha_c.cross(arm) + w_c.cross(w_c.cross(arm)) - a_p - alpha_p.cross(lever) - w_p.cross(v)
        seen = v - w_p.cross(lever)
        rate = R_p.T * seen
        pull = R_p.T * (change - w_p.cross(seen))
        if ti.static(a.has_poses):
            if a.is_pose.at(j) != 0:
                put(qdd, w, d, pull, twist)
        if a.is_scalar.at(j) != 0:
            gap = R_p.T * (x_c - x_p)
            if ti.static(a.has_carried):
                if a.is_carried.at(j) != 0:
                    slides = rate - spin.cross(gap)
                    pull = (R_p.T * R_c).T * (pull - twist.cross(gap) - spin.cross(rate) - spin.cross(slides))
            accelerate_scalars(a, w, j, gap, rate, pull, twist, q, qd, qdd)


@ti.func
def accelerate_scalars(
    a: ti.template(),
    w: ti.i32,
    j: ti.i32,
    gap: ti.template(),
    rate: ti.template(),
    pull: ti.template(),
    twist: ti.template(),
    q: ti.template(),
    qd: ti.template(),
    qdd: ti.template(),
):
    """Accelerations of a joint whose coordinates are displacements, angles, and at the end perhaps a quaternion.

    Args:
        gap, rate, pull: the displacement and its derivatives.  twist: [rad/s^2], w'; all in the parent anchor frame.

    Reads:  a, q, qd
    Writes: qdd
    """
    d = a.qd_start.at(j)
    for k in range(a.n_linear.at(j)):
        put(qdd, w, d + k, pull.dot(a.dual.load(w, d + k)))
    if ti.static(a.has_orbits):
        if a.n_orbit.at(j) > 0:
            accelerate_orbit(a, w, j, gap, rate, pull, qdd)
    if ti.static(a.has_balls):
        if a.is_ball.at(j) != 0:
            put(qdd, w, d + a.n_linear.at(j) + a.n_orbit.at(j), twist)
    if a.n_angular.at(j) > 0 and a.is_ball.at(j) == 0:
        accelerate_angles(a, w, j, twist, q, qd, qdd)


@ti.func
def accelerate_angles(
    a: ti.template(), w: ti.i32, j: ti.i32, twist: ti.template(), q: ti.template(), qd: ti.template(), qdd: ti.template()
):
    """Accelerations of the scalar angles of joint j.

        sum qdd_k e_k = w' - sum qd_k e_k',   e_k' = (sum of qd_i e_i before k) x e_k

    Args:
        twist: [rad/s^2], w', parent anchor frame.

    Reads:  a, q, qd
    Writes: qdd
    """
    before = a.n_linear.at(j) + a.n_orbit.at(j)
    n = a.n_angular.at(j)
    at = a.q_start.at(j) + before
    d = a.qd_start.at(j) + before
    zero = Vec3(twist.parts[0] * 0.0, twist.parts[0] * 0.0, twist.parts[0] * 0.0)
    a0 = zero + a.axis.load(w, d)
    if n == 1:
        put(qdd, w, d, a0.dot(twist))
    if ti.static(a.has_many):
        if n > 1:
            e1 = turned(zero + a.axis.load(w, d + 1), a0, q.load(w, at))
            e2 = a0.cross(e1)
            left = twist - a0.cross(e1) * (qd.load(w, d) * qd.load(w, d + 1))
            if n == 3:
                e2 = turned(zero + a.axis.load(w, d + 2), a.axis.load(w, d + 1), q.load(w, at + 1))
                e2 = turned(e2, a0, q.load(w, at))
                carries = a0 * qd.load(w, d) + e1 * qd.load(w, d + 1)
                left = left - carries.cross(e2) * qd.load(w, d + 2)
                put(qdd, w, d + 2, left.dot(a0.cross(e1)) / e2.dot(a0.cross(e1)))
            volume = 1.0 / a0.dot(e1.cross(e2))
            put(qdd, w, d, left.dot(e1.cross(e2)) * volume, left.dot(e2.cross(a0)) * volume)


@ti.func
def accelerate_orbit(
    a: ti.template(), w: ti.i32, j: ti.i32, gap: ti.template(), rate: ti.template(), pull: ti.template(), qdd: ti.template()
):
    """Accelerations of longitude and latitude; none near the pole, where a longitude has no rate.

    Args:
        gap, rate, pull: the displacement and its derivatives, parent anchor frame.

    Reads:  a
    Writes: qdd
    """
    d = a.qd_start.at(j)
    zero = Vec3(gap.parts[0] * 0.0, gap.parts[0] * 0.0, gap.parts[0] * 0.0)
    n = zero + a.axis.load(w, d)
    b = zero - a.axis.load(w, d + 1)
    t = b.cross(n)
    x, y, z = gap.dot(t), gap.dot(b), gap.dot(n)
    x_1, y_1, z_1 = rate.dot(t), rate.dot(b), rate.dot(n)
    x_2, y_2, z_2 = pull.dot(t), pull.dot(b), pull.dot(n)
    whole = gap.dot(gap)
    square = x * x + y * y
    has_rate = square > whole * ON_AXIS
    square = select(has_rate, square, whole)
    out = ti.sqrt(square)
    out_1 = (x * x_1 + y * y_1) / out
    out_2 = (x_1 * x_1 + y_1 * y_1 + x * x_2 + y * y_2 - out_1 * out_1) / out
    longitude = (x * y_1 - y * x_1) / square
    latitude = (z_1 * out - z * out_1) / whole
    none = square * 0.0
    put(
        qdd,
        w,
        d,
        select(has_rate, (x * y_2 - y * x_2 - 2.0 * out * out_1 * longitude) / square, none),
        select(has_rate, (z_2 * out - z * out_2 - 2.0 * (out * out_1 + z * z_1) * latitude) / whole, none),
    )
