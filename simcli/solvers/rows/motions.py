"""Prescribed motions: dofs of the tree that are locked to them, and rows of other joints that follow them.

A row of a prescribed motion has its residual against the motion m, so that whatever meets hard rows meets it too:

    one stage:   x - m at the end of the step; where velocities are prescribed m = x at the start + h m'
    else:        x - m, x' - m' and x'' - m'' at the instant of the evaluation

Called by stages of trees and of natural coordinates; rows/memory.py says what `c` holds.
"""

from simcli.kernels.articulation.kinematics import quaternion_at, upright, vector_at
from simcli.kernels.device.arena import local
from simcli.kernels.forces.prescribed_target import gap_to_target, goal_of_ball, turn_between
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import exp_rotation, select
from simcli.kernels.language.values import Vec3
from simcli.kernels.rows.tree_rows import turn_of_anchor_pair
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.rows.islands import island_of_dof, span_at
from simcli.solvers.rows.repeat import foreseen


@needs.locks
@ti.func
def lock_motions(c: ti.template(), w: ti.i32, stage: ti.i32, g: ti.template(), instant: ti.i32):
    """Lock the dofs of prescribed motions.

        first order: at the velocity that reaches the position, or the velocity, of the step's end;   else: at motion_qdd

    A step that is taken again ends with the velocity of the motion (`follow_motions`), and the forces are those that lead to
    it: with those of the mean velocity the account would lack what kinetic energy gains between both.

    Args:
        instant: 1 where the accelerations of this instant are shown, and no step is made.

    Reads:  c.motions, c.state.{q, qd}
    Writes: c.bound.system.{free, gain, goal}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
        i = c.tables.unknown.at(d)
        goal = zero + c.motions.motion_qdd.load(w, d)
        if instant == 0 and (c.stages == 1 or stage == c.stages):
            own_g = span_at(c, w, c.g, i, g)
            goal = (end_speed_of_lock(c, w, m, own_g) - c.state.qd.load(w, d)) / own_g
        y.free.store(w, i, zero)
        y.gain.store(w, i, zero)
        y.goal.store(w, i, goal)


def end_speed_of_lock(c, w, m, g):
    """Velocity of the m-th prescribed dof that a step ends with; in steps of one stage it moves it, too (inside kernels).

    Arguments and what is read: see `speed_of_lock`.
    """
    moves = speed_of_lock(c, w, m, g)
    if c.stages == 1:
        return moves
    ends = c.tables.arena.zero() + c.motions.motion_qd.load(w, c.motions.lock_dof.at(m))
    return ti.select(c.now.load(w, "instant") != 0, moves, ends)


@ti.func
def speed_of_lock(c: ti.template(), w: ti.i32, m: ti.i32, g: ti.template()):
    """Velocity of the m-th prescribed dof that moves it in a step: that which reaches its position, or its own.

    Where the accelerations of an instant are shown, the velocity that its own acceleration leads to over a time g [s].

    Reads: c.motions, c.state.{q, qd}, c.now
    """
    h = c.constants.load(w, H)
    d = c.motions.lock_dof.at(m)
    at = c.motions.lock_q.at(m)
    component = c.motions.lock_component.at(m)
    speed = c.tables.arena.zero() + c.motions.motion_qd.load(w, d)
    if c.motions.lock_by_position.at(m) != 0:
        if component < 0:
            speed = (c.motions.motion_q.load(w, d) - c.state.q.load(w, at)) / h
        speed = _speed_of_ball(c, w, m, h, speed)
    if c.now.load(w, "instant") != 0:
        speed = c.state.qd.load(w, d) + c.motions.motion_qdd.load(w, d) * g
    return speed


def _speed_of_ball(c, w, m, h, speed):
    """[rad/s] of the m-th prescribed dof if it is of a ball, else as it is (inside kernels)."""
    return _turning_speed(c, w, m, h, speed) if c.motions.locks_balls else speed


@ti.func
def _turning_speed(c: ti.template(), w: ti.i32, m: ti.i32, h: ti.template(), speed: ti.template()):
    component = c.motions.lock_component.at(m)
    found = speed
    if component >= 0:
        R = quaternion_at(c.state.q, w, c.motions.lock_q.at(m)).matrix()
        goal = goal_of_ball(c.motions, w, c.motions.lock_dof.at(m) - component)
        found = turn_between(goal.matrix(), R, component) / h
    return found


@needs.locks
@ti.func
def follow_motions(c: ti.template(), w: ti.i32):
    """Put prescribed dofs where their motions are at the end of a step, against what its rounding and order leave.

    Reads:  c.motions
    Writes: c.state.{q, qd}
    """
    for m in range(c.motions.n_locks):
        d = c.motions.lock_dof.at(m)
        component = c.motions.lock_component.at(m)
        if c.motions.lock_by_position.at(m) != 0 and component < 0:
            c.state.q.store(w, c.motions.lock_q.at(m), c.tables.arena.zero() + c.motions.motion_q.load(w, d))
        _follow_ball(c, w, m)
        _follow_rate(c, w, d)


@needs.locked_balls
@ti.func
def _follow_ball(c: ti.template(), w: ti.i32, m: ti.i32):
    if c.motions.lock_by_position.at(m) != 0 and c.motions.lock_component.at(m) == 0:
        store_near(c, w, c.motions.lock_q.at(m), goal_of_ball(c.motions, w, c.motions.lock_dof.at(m)))


@needs.late_rates
def _follow_rate(c, w, d):
    c.state.qd.store(w, d, c.tables.arena.zero() + c.motions.motion_qd.load(w, d))


def store_near(c, w, at, goal):
    """Store a quaternion, with the sign that it has had (inside kernels).

    Writes: c.state.q
    """
    agrees = local(sum((goal.parts[k] * c.state.q.load(w, at + k) for k in range(4)), c.tables.arena.zero()))
    for k in range(4):
        c.state.q.store(w, at + k, select(agrees < 0.0, -goal.parts[k], goal.parts[k]))


@ti.func
def prescribe_rows(c: ti.template(), w: ti.i32):
    """Measure rows of prescribed motions against them, as they are now; in a step that is taken again, to its end.

    Reads:  c.motions
    Writes: c.bound.system.rows.{residual, rate, bias} of these rows
    """
    y = c.bound.system
    for m in range(y.n_prescribed_rows):
        r = y.prescribed_row.at(m)
        d = y.prescribed_dof.at(m)
        y.rows.residual.store(w, r, gap_to_target(c.tables, c.state, y, c.motions, w, m))
        rate = y.rows.rate.load(w, r) - c.motions.motion_qd.load(w, d)
        y.rows.rate.store(w, r, rate)
        bias = y.rows.bias.load(w, r) - c.motions.motion_qdd.load(w, d)
        y.rows.bias.store(w, r, _bias_to_end(c, w, rate, bias))


def _bias_to_end(c, w, rate, bias):
    """With which a row of a motion gets the rate of the end, where a step is taken again; else as it is (inside kernels)."""
    if not c.bound.watches_motions:
        return bias
    again = c.now.load(w, "instant") == 0 and c.now.load(w, "node") == c.stages
    return ti.select(again, rate / c.constants.load(w, H), bias)


@ti.func
def prescribe_rows_to_end(c: ti.template(), w: ti.i32):
    """Measure rows of prescribed motions against where they are at the end of a step of one evaluation.

    Reads:  c.motions, c.bound.start
    Writes: c.bound.system.rows.residual of these rows
    """
    rows = c.bound.system.rows
    for m in range(c.bound.system.n_prescribed_rows):
        r = c.bound.system.prescribed_row.at(m)
        violation = rows.residual.load(w, r) - target_of_row(c, w, m)
        rows.residual.store(w, r, violation)
    _prescribe_balls_to_end(c, w)


@needs.prescribed_balls
@ti.func
def _prescribe_balls_to_end(c: ti.template(), w: ti.i32):
    y = c.bound.system
    for m in range(y.n_prescribed_rows):
        if y.prescribed_component.at(m) >= 0:
            y.rows.residual.store(w, y.prescribed_row.at(m), gap_of_ball(c, w, m, target_of_ball_row(c, w, m)))


@ti.func
def target_of_row(c: ti.template(), w: ti.i32, m: ti.i32):
    """Coordinate of a row of a prescribed motion at the end of a step of one stage, but for balls.

    Reads: c.motions, c.bound.start
    """
    d = c.bound.system.prescribed_dof.at(m)
    goal = c.tables.arena.zero()
    if c.bound.system.prescribed_by_position.at(m) != 0:
        goal = goal + c.motions.motion_q.load(w, d)
    else:
        goal = c.bound.start.load(w, c.bound.system.prescribed_row.at(m)) + way_by_velocity(c, w, d)
    return goal


@ti.func
def way_by_velocity(c: ti.template(), w: ti.i32, d: ti.i32):
    """What dof d moves in a step of one stage, by its velocity.

    Reads: c.motions
    """
    h = c.constants.load(w, H)
    speed = c.tables.arena.zero() + c.motions.motion_qd.load(w, d)
    return _speed_of_middle(c, w, d, speed) * h


def _speed_of_middle(c, w, d, speed):
    """In natural coordinates the speed of dof d in the middle of the step, to second order (inside kernels)."""
    if not c.is_natural:
        return speed
    return speed - c.motions.motion_qdd.load(w, d) * (c.constants.load(w, H) * 0.5) * foreseen(c, w, island_of_dof(c, d))


@ti.func
def target_of_ball_row(c: ti.template(), w: ti.i32, m: ti.i32):
    """Rotation of a ball of a prescribed motion at the end of a step of one stage, of which m is a row.

    Reads: c.motions, c.bound.turned
    """
    first = c.bound.system.prescribed_dof.at(m) - c.bound.system.prescribed_component.at(m)
    start = c.bound.turned.load(w, m)
    zero = c.tables.arena.zero()
    goal = Vec3(zero, zero, zero)
    if c.bound.system.prescribed_by_position.at(m) != 0:
        goal = goal + vector_at(c.motions.motion_q, w, first)
        start = upright(zero)
    else:
        goal = Vec3(way_by_velocity(c, w, first), way_by_velocity(c, w, first + 1), way_by_velocity(c, w, first + 2))
    return exp_rotation(goal).matrix() * start


@ti.func
def gap_of_ball(c: ti.template(), w: ti.i32, m: ti.i32, goal: ti.template()):
    """[rad], along row m of a prescribed motion, from a rotation to that which the joint has.

    Reads: c.state.R
    """
    rows = c.bound.system.rows
    R = turn_of_anchor_pair(c.tables, c.state, rows, w, rows.anchor_pair.at(c.bound.system.prescribed_row.at(m)))
    return turn_between(R, goal, c.bound.system.prescribed_component.at(m))


@needs.prescribed_balls
@ti.func
def keep_turns(c: ti.template(), w: ti.i32):
    """Rotations of balls that rows prescribe, where a step begins.

    Writes: c.bound.turned
    """
    rows = c.bound.system.rows
    for m in range(c.bound.system.n_prescribed_rows):
        if c.bound.system.prescribed_component.at(m) >= 0:
            k = rows.anchor_pair.at(c.bound.system.prescribed_row.at(m))
            c.bound.turned.store(w, m, turn_of_anchor_pair(c.tables, c.state, rows, w, k))
