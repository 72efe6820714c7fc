"""Joint efforts: applied ones, dampers, torsion springs, soft limits and drives, as forces of a coordinate.

In the implicit forms their gradients go to the diagonal of the mass matrix, which costs the articulated-body algorithm
nothing.
"""

from simcli.kernels.articulation.kinematics import BALL, quaternion_at, vector_at
from simcli.kernels.device.model_tables import links_of_part
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import exp_rotation, rotation_log
from simcli.kernels.rows.coordinate_laws import Response, add_applied, bound_law, foresee, servo_law, turn_law


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
    begin, end = links_of_part(t, w)
    for i in range(begin, end):
        for d in range(t.link_qd.at(i), t.link_qd.at(i) + t.link_n_qd.at(i)):
            qd = s.qd.load(w, d)
            law = effort_of_dof(t, fo, s, w, d, qd)
            push, gain = foresee(law, qd, b)
            s.tau.store(w, d, push)
            s.diagonal.store(w, d, gain + t.armature.load(w, d))
            if ti.static(s.keeps_stiffness):
                s.stiffness.store(w, d, law.stiffness)
    if ti.static(fo.has_ball_drives):
        for i in range(begin, end):
            if t.kind.at(i) == BALL:
                add_ball_drive(t, fo, s, w, i, b)


@ti.func
def add_ball_drive(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, b: ti.template()):
    """Add the spring of the drive of the ball joint of link i, as `efforts` does.

    Reads:  fo columns, s.{q, qd}
    Writes: s.{tau, diagonal, stiffness}
    """
    error = ball_error(t, fo, s, w, i)
    for k in ti.static(range(3)):
        d = t.link_qd.at(i) + k
        if is_smooth_drive(fo, d):
            law = turn_law(fo, w, d, error.parts[k])
            push, gain = foresee(law, s.qd.load(w, d), b)
            s.tau.store(w, d, s.tau.load(w, d) + push)
            s.diagonal.store(w, d, s.diagonal.load(w, d) + gain)
            if ti.static(s.keeps_stiffness):
                s.stiffness.store(w, d, s.stiffness.load(w, d) + law.stiffness)


def is_smooth_drive(fo, d):
    """Whether the drive of dof d is an effort, and no bounded law (inside kernels)."""
    return fo.by_law.at(d) == 0 if fo.some_by_law else 1


@ti.func
def effort_of_dof(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, d: ti.i32, qd: ti.template()):
    """Response now of all smooth laws of the coordinate of a dof of the tree.

    Reads: fo columns, s.q
    """
    x = coordinate_of(t, s, w, d)
    zero = t.arena.zero()
    law = add_applied(Response.none(zero), fo, w, d, x, qd)
    rests = zero > 0.0
    if ti.static(fo.has_soft_limits):
        if t.dof_q.at(d) >= 0:  # limits of ball joints are rows
            bound = bound_law(fo, w, d, x, qd)
            law = law + bound
            rests = bound.stiffness > 0.0
    if is_smooth_drive(fo, d):
        law = law + servo_law(fo, w, d, x, qd).where(~rests)
    return law


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
    error, _factor = turn_to_target(fo, w, d - component, quaternion_at(q, w, first_q).matrix())
    return fo.target.load(w, d) - component_of(error, component)


@ti.func
def component_of(v: ti.template(), component: ti.i32):
    """Component of a vector, which the data tell."""
    found = v.parts[0]
    for k in ti.static(range(1, 3)):
        if component == k:
            found = v.parts[k]
    return found


@ti.func
def coordinate_of_law(t: ti.template(), fo: ti.template(), law: ti.template(), q: ti.template(), w: ti.i32, k: ti.i32):
    """Coordinate that law k acts on, of a dof of the tree; of a ball as `turn_of_ball` has it.

    Reads: q, fo.target
    """
    d = law.dof.at(k)
    x = q.load(w, ti.max(t.dof_q.at(d), 0))
    if ti.static(law.has_ball):
        if law.on_ball.at(k) != 0:
            x = turn_of_ball(fo, q, w, law.first_q.at(k), d, law.component.at(k))
    return x


@ti.func
def turn_to_target(fo: ti.template(), w: ti.i32, d: ti.i32, R: ti.template()):
    """log(R_t R^T), R_t of the target of the ball whose first dof is d, and the factor of `rotation_log`.

    Reads: fo.target
    """
    target = exp_rotation(vector_at(fo.target, w, d))
    error, factor = rotation_log(target.matrix() * R.T)
    return error, factor
