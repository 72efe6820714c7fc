"""Joint efforts: applied ones, dampers, torsion springs, soft limits and drives, as forces of a coordinate.

In the implicit forms their gradients go to the diagonal of the mass matrix, which costs the articulated-body algorithm
nothing.
"""

from simcli.kernels.algebra.elementary import exp_rotation, select
from simcli.kernels.algebra.rotation_log import rotation_log
from simcli.kernels.chart.tree import BALL, quaternion_at, vector_at
from simcli.kernels.language import ti
from simcli.kernels.laws.coordinate import bound_law, foresee, servo_law, torsion_law


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
                    if ti.static(fo.some_by_law):
                        stiffness = stiffness * ti.cast(1 - fo.by_law.at(d), t.arena.device.real)
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

    Source: the ball drive of the Newton engine. No deviation.

    Reads: s.q, fo.target
    """
    q = quaternion_at(s.q, w, t.link_q.at(i))
    error, _factor = turn_to_target(fo, w, t.link_qd.at(i), q.matrix())
    return error


@ti.func
def turn_of_ball(fo: ti.template(), q: ti.template(), w: ti.i32, first_q: ti.i32, d: ti.i32, component: ti.i32):
    """Component of the target of a ball joint less what turns it there: a drive of dof d acts on it as on a coordinate.

    Args:
        q: joint_q.  first_q: where the quaternion begins in it.

    Reads: q, fo.target
    """
    x = fo.stored.arena.zero() + fo.target.load(w, d)
    error, _factor = turn_to_target(fo, w, d - component, quaternion_at(q, w, first_q).matrix())
    for k in ti.static(range(3)):
        if component == k:
            x = x - error.parts[k]
    return x


@ti.func
def turn_to_target(fo: ti.template(), w: ti.i32, d: ti.i32, R: ti.template()):
    """log(R_t R^T), R_t of the target of the ball whose first dof is d, and the factor of `rotation_log`.

    Reads: fo.target
    """
    target = exp_rotation(vector_at(fo.target, w, d))
    error, factor = rotation_log(target.matrix() * R.T)
    return error, factor
