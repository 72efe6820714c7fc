"""The account of work: powers of joint efforts, what springs and soft limits store, and work done since the start."""

from simcli.kernels.articulation.kinematics import BALL
from simcli.kernels.forces.efforts import ball_error, coordinate_of, is_smooth_drive
from simcli.kernels.language import ti
from simcli.kernels.laws.coordinate import bound_law, servo_law, torsion_law, turn_law


@ti.func
def effort_power(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, b: ti.template()):
    """Powers of joint efforts over a step of length b that ends with the rates qd + b qdd; b = 0: now.

        dissipated: c qd+ . qd_mid     input: (effort - damping) . qd_mid

    Reads:  fo.{constant, stiffness, rate_gain, target, target_rate, damping}, s.{q, qd, qdd}
    Writes: adds to fo.account.power
    """
    zero = t.arena.zero()
    dissipated = zero
    supplied = zero
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        before = s.qd.load(w, d)
        after = before + s.qdd.load(w, d) * b
        mid = (before + after) * 0.5
        effort, damping = effort_over(t, fo, s, w, d, before, after, b)
        dissipated = dissipated + ti.max(after * mid, zero) * damping  # a rate that turns round in a step is none
        supplied = supplied + effort * mid
    if ti.static(fo.has_ball_drives):
        for i in range(t.n_links):
            if t.kind.at(i) == BALL:
                supplied = supplied + power_of_ball(t, fo, s, w, i, b)
    fo.account.add_power(w, dissipated, supplied)


@ti.func
def power_of_ball(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, i: ti.i32, b: ti.template()):
    """Power of the drive of a ball joint over a step of length b, as in `effort_power`.

    Reads: fo columns, s.{q, qd, qdd}
    """
    supplied = t.arena.zero()
    error = ball_error(t, fo, s, w, i)
    for k in ti.static(range(3)):
        d = t.link_qd.at(i) + k
        if is_smooth_drive(fo, d):
            after = s.qd.load(w, d) + s.qdd.load(w, d) * b
            pull = turn_law(fo, w, d, error.parts[k] - after * b).force
            supplied = supplied + pull * (s.qd.load(w, d) + after) * 0.5
    return supplied


@ti.func
def effort_over(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32, d: ti.i32, before: ti.template(),
                after: ti.template(), b: ti.template()):
    """Applied effort and drive of a dof of the tree over a step of length b, and its damping.

    Args:
        before, after: rates at both ends.

    Reads: fo columns, s.q
    """
    zero = t.arena.zero()
    effort = zero + fo.constant.load(w, d)
    damping = zero
    rests = zero > 0.0
    if ti.static(fo.has_damping):
        damping = damping + fo.damping.load(w, d)
    if ti.static(fo.has_soft_limits):
        if t.dof_q.at(d) >= 0:
            bound = bound_law(fo, w, d, coordinate_of(t, s, w, d), before)
            damping = damping + bound.damping
            rests = bound.stiffness > 0.0
    if is_smooth_drive(fo, d):
        effort = effort + servo_law(fo, w, d, coordinate_of(t, s, w, d) + after * b, after).where(~rests).force
    return effort, damping


@ti.func
def elastic_energy(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32):
    """[J] stored in the springs, cables, torsion springs and soft limits, after `load_links`.

    Reads: fo.potential, torsion springs and soft limits, s.q
    """
    zero = t.arena.zero()
    total = zero
    if ti.static(fo.has_external):
        total = total + fo.potential.load(w, 0)
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        if ti.static(fo.has_torsion):
            total = total + torsion_law(fo, w, d, coordinate_of(t, s, w, d)).energy
        if ti.static(fo.has_soft_limits):
            if t.dof_q.at(d) >= 0:
                total = total + bound_law(fo, w, d, coordinate_of(t, s, w, d), zero).energy
    return total
