"""Prescribed motions on the device: where a coordinate shall be, its rate and acceleration, at the time of an evaluation.

Of a ball by position signals give the rotation vector p(t); what its dofs have is the angular velocity and acceleration that
follow from p, p' and p'' (rotations/quaternions.py has the formulas), in the parent anchor frame.
"""

import numpy as np

from simcli.kernels.articulation.kinematics import store_vector, upright, vector_at
from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.efforts import component_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import exp_rotation, polynomial, rotation_log, select, sincos
from simcli.kernels.language.values import Quat, Vec3
from simcli.kernels.rows.tree_rows import first_numbers, turn_of_anchor_pair
from simcli.model.forms.natural_form import SUCCESSIVE, prescribed_bodies_of
from simcli.model.signals.inputs import balls_by_position, balls_of_dofs
from simcli.model.tables.model import Model
from simcli.model.tables.signal_tables import Driven, MotionKind, SignalKind
from simcli.rotations import SMALL_ANGLE, SPIN_SERIES

# Kinds of signals that are polynomials of degree 0, and of degree 1, piece by piece.
EVEN = (
    (SignalKind.CONSTANT, SignalKind.STEP, SignalKind.TABLE),
    (SignalKind.CONSTANT, SignalKind.STEP, SignalKind.TABLE, SignalKind.RAMP),
)


def columns_of_motion(model: Model, dof: int) -> tuple[str, ...]:
    """Columns of `Prescribed` that a signal on a prescribed dof drives, by its value and its two rates."""
    if model.motions.kind[dof] == MotionKind.VELOCITY:
        return "motion_qd", "motion_qdd"
    first = int(model.joints.qd_start[model.dofs.joint[dof]])
    return (
        ("motion_q", "turn_rate", "turn_change")
        if first in balls_by_position(model.joints, model.motions)
        else ("motion_q", "motion_qd", "motion_qdd")
    )


class Prescribed:
    """Prescribed motions per dof, (NV), at the time of the evaluation, and the dofs of the tree that they lock.

    Attributes:
        kind: (NV,) MotionKind, on the host.
        motion_q: coordinate, of dofs prescribed by position; of a ball its rotation vector.
        motion_qd, motion_qdd: velocity and acceleration, of all prescribed dofs.
        n_balls: balls by position that signals turn.  ball: first dof of each.
        turn_rate, turn_change: of these, rates of the rotation vector.
        n_locks: dofs of the tree, or natural coordinates, that are prescribed.  lock_dof, lock_by_position: each; 0 for
            velocities.  lock_q: number in joint_q, or where the quaternion of its ball begins.  lock_component: which dof of
            a ball it is, else -1.  lock_of: (NV) number of each dof among them, else -1.
        is_even: (NV) 1 for prescribed dofs whose rate stays as it is but where it jumps.
        turns: (NV) 1 for prescribed dofs of balls by position.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables):
        self.kind, inputs = model.motions.kind, model.inputs
        moved = inputs.item[inputs.column == Driven.MOTION]
        driven = {name for dof in moved for name in columns_of_motion(model, int(dof))}
        balls = [d for d in balls_by_position(model.joints, model.motions) if np.isin(moved, (d, d + 1, d + 2)).any()]
        self.n_balls, self.ball = len(balls), tables.arena.ints(balls)
        if balls or (model.columns is not None and np.any(model.columns.prescribed >= 0)):  # natural_form.py writes
            driven |= {"motion_q", "motion_qd", "motion_qdd"}
        value, by_position = model.motions.value, self.kind == MotionKind.POSITION
        columns = {
            "motion_q": np.where(by_position, value, 0.0),
            "motion_qd": np.where(by_position, 0.0, value),
            **dict.fromkeys(("motion_qdd", *(("turn_rate", "turn_change") if balls else ())), np.zeros((1, model.n_qd))),
        }
        for name, values in columns.items():
            setattr(self, name, tables.dofs.column(values, driven=name in driven))
        locked = np.flatnonzero((self.kind != 0) & (tables.unknown_of_dof >= 0))
        self.n_locks, locks, lock_of = len(locked), tables.arena.records(len(locked)), np.full(tables.n_qd, -1)
        lock_of[locked] = np.arange(len(locked))
        ball_q, component = balls_of_dofs(model)
        numbers = first_numbers(tables)[: tables.n_qd]
        numbers = np.select([component >= 0, numbers >= 0], [ball_q, numbers], tables.q_of_dof[: tables.n_qd])
        self.lock_dof, self.lock_q = locks.ints(locked), locks.ints(numbers[locked])
        self.lock_by_position, self.lock_of = locks.ints(by_position[locked]), tables.dofs.ints(lock_of)
        self.lock_component, self.locks_balls = locks.ints(component[locked]), bool((component[locked] >= 0).any())
        if self.kind.any():
            self.is_even = tables.dofs.ints([self.kind[d] != 0 and is_even(model, d) for d in range(tables.n_qd)])
            self.turns = tables.dofs.ints((component >= 0) & by_position)


def is_even(model: Model, dof: int) -> bool:
    """Whether the rate of a prescribed dof stays as it is but where it jumps; of a ball by position that of its vector."""
    signals, inputs = model.signals, model.inputs
    degree = 1 if model.motions.kind[dof] == MotionKind.POSITION else 0  # of the polynomials that keep the rate
    for k in inputs.signal[(inputs.column == Driven.MOTION) & (inputs.item == dof)]:
        pieces = signals.cubic[:, signals.piece_start[k] : signals.piece_start[k + 1]]
        if np.any(pieces[..., degree + 1 :]) or signals.kind[k] not in EVEN[degree]:
            return False
    return True


@ti.func
def turn_balls(m: ti.template(), w: ti.i32):
    """Angular velocities and accelerations of balls, from their rotation vectors and what signals give of these.

    Reads:  m.{motion_q, turn_rate, turn_change}
    Writes: m.{motion_qd, motion_qdd}
    """
    for k in range(m.n_balls):
        d = m.ball.at(k)
        spin, twist = spin_of_vector(
            vector_at(m.motion_q, w, d), vector_at(m.turn_rate, w, d), vector_at(m.turn_change, w, d)
        )
        store_vector(m.motion_qd, w, d, spin)
        store_vector(m.motion_qdd, w, d, twist)


def spin_of_vector(p: Vec3, rate: Vec3, change: Vec3) -> tuple[Vec3, Vec3]:
    """Angular velocity and acceleration of a frame from its rotation vector and the rates of it, as in rotations."""
    square = local(p.dot(p))
    small = local(square < SMALL_ANGLE**2)
    one = local(square * 0.0 + 1.0)
    t = local(ti.sqrt(select(small, one, square)))
    sine, cosine = sincos(t)
    left, lag = local(1.0 - cosine), local(t - sine)
    safe = select(small, one, square)
    fourth = local(safe * safe)
    far = (left / safe, lag / (safe * t), (t * sine - left * 2.0) / fourth, (t * left - lag * 3.0) / (fourth * t))
    near = [polynomial(select(small, square, square * 0.0), row) for row in SPIN_SERIES]
    a, b, a_rate, b_rate = (select(small, n, f) for n, f in zip(near, far, strict=True))
    growth = local(p.dot(rate))
    turned, across = p.cross(rate), p.cross(change)
    again = p.cross(turned)
    twist = change + across * a + (p.cross(across) + rate.cross(turned)) * b
    return rate + turned * a + again * b, twist + (turned * a_rate + again * b_rate) * growth


def goal_of_ball(m, w, first) -> Quat:
    """How the ball whose first dof this is shall be turned, child against parent (inside kernels)."""
    return exp_rotation(vector_at(m.motion_q, w, first))


@ti.func
def turn_between(R: ti.template(), goal: ti.template(), component: ti.i32):
    """[rad], component of the rotation vector from a goal to R, rotations both, in the frame that they lead out of."""
    log, _factor = rotation_log(R * goal.T)
    return component_of(log, component)


@ti.func
def gap_to_target(t: ti.template(), s: ti.template(), y: ti.template(), m: ti.template(), w: ti.i32, k: ti.i32):
    """[m, rad], from the position that the k-th row of a motion follows to its coordinate; none where it follows a velocity.

    Args:
        y: `System`, whose rows have been measured.
        m: `Prescribed`.

    Reads: y.rows.residual, m.motion_q, s.R
    """
    r = y.prescribed_row.at(k)
    d = y.prescribed_dof.at(k)
    x = y.rows.residual.load(w, r)
    violation = x * 0.0
    if y.prescribed_by_position.at(k) != 0:
        violation = x - m.motion_q.load(w, d)
        if ti.static(y.prescribes_balls):
            component = y.prescribed_component.at(k)
            if component >= 0:
                R = turn_of_anchor_pair(t, s, y.rows, w, y.rows.anchor_pair.at(r))
                violation = turn_between(R, goal_of_ball(m, w, d - component).matrix(), component)
    return violation


class KinematicBodies:
    """Kinematic bodies in natural coordinates: the joints by which they hang on the world prescribe these.

        p+ = p + (R l - l) + s,  x+ = R x     s = sum L_i D_i,  R = exp(sum W_i D_i),   l = p - o
        v = sum L_i m_i' + w x l,  w = sum W_i m_i'                                     D_i: what the coordinate m_i moves

    Where directions turn with the coordinates, R is what brings the rotation of the joint from the start of a step to its
    end, and W_i are those at the coordinates that are asked for.

    Args:
        model: in natural form.
        tables, arena: of the run.

    Attributes:
        n: bodies.  body, joint: of each.  dof_start: offsets of their dofs.  n_dofs, dof, by_position: dofs.
        linear, angular, anchor, is_anchored, curve: see model/forms/natural_form.py.
        begun, reached, moving: (n_dofs) [m, rad], coordinates at the start and at the end of a step, and between them.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena):
        found = prescribed_bodies_of(model, model.columns.prescribed) if model.columns is not None else None
        self.n, self.n_dofs = (len(found.bodies), len(found.dof)) if found else (0, 0)
        self.begun, self.reached, self.moving = arena.records(self.n_dofs).arrays(3)
        if not self.n:
            return
        self.body, self.joint = arena.ints(found.bodies), arena.ints(found.joint[found.bodies])
        self.dof_start, self.dof, self.by_position = (arena.ints(x) for x in (found.dof_start, found.dof, found.by_position))
        vectors = found.linear, found.angular, found.anchor
        self.linear, self.angular, self.anchor = (tables.column(x, Vec3) for x in vectors)
        self.is_anchored, self.curve = arena.ints(found.is_anchored), arena.ints(found.curve)
        self.has_curve = bool(found.curve.any())
        self.coordinates = found.start

    def clear(self):
        """Begin where the motions do."""
        if self.n:
            self.moving.write(np.zeros((1, self.n_dofs, 1)))
            for array in (self.begun, self.reached):
                array.write(self.coordinates[..., None])


@ti.func
def lever_of(p: ti.template(), w: ti.i32, k: ti.i32, x: ti.template(), at: ti.template()):
    """[m], from the point whose velocity the motions give to the centre of mass x of kinematic body k.

    Args:
        at: coordinates, of all kinematic bodies.
    """
    lever = x * 0.0
    if p.is_anchored.at(k) != 0:
        lever = x - p.anchor.load(w, k)
        if ti.static(p.has_curve):
            if p.curve.at(k) != 0:
                for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
                    lever = lever - p.linear.load(w, i) * at.load(w, i)
    return lever


@ti.func
def rates_of_kinematic(p: ti.template(), m: ti.template(), w: ti.i32, k: ti.i32, at: ti.template()):
    """Velocity and spin that motions give to kinematic body k, and the rates of both.

    Args:
        m: `Prescribed`.
        at: coordinates, of all kinematic bodies.
    """
    zero = at.arena.zero()
    rate = Vec3(zero, zero, zero)
    spin = Vec3(zero, zero, zero)
    pull = Vec3(zero, zero, zero)
    twist = Vec3(zero, zero, zero)
    carried = upright(zero)
    for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
        speed = zero + m.motion_qd.load(w, p.dof.at(i))
        change = zero + m.motion_qdd.load(w, p.dof.at(i))
        linear = p.linear.load(w, i)
        angular = p.angular.load(w, i)
        if ti.static(p.has_curve):
            if p.curve.at(k) == SUCCESSIVE:
                axis = carried * angular
                twist = twist + spin.cross(axis * speed)
                carried = carried * exp_rotation(angular * at.load(w, i)).matrix()
                angular = axis
        rate = rate + linear * speed
        spin = spin + angular * speed
        pull = pull + linear * change
        twist = twist + angular * change
    return rate, spin, pull, twist


@ti.func
def way_of_kinematic(p: ti.template(), w: ti.i32, k: ti.i32):
    """How far kinematic body k goes in a step: the shift of the point whose velocity the motions give, and the rotation.

    Reads: p.{begun, reached, moving}
    """
    zero = p.moving.arena.zero()
    shift = Vec3(zero, zero, zero)
    turn = Vec3(zero, zero, zero)
    for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
        way = p.moving.load(w, i)
        shift = shift + p.linear.load(w, i) * way
        turn = turn + p.angular.load(w, i) * way
    R = exp_rotation(turn).matrix()
    if ti.static(p.has_curve):
        if p.curve.at(k) != 0:
            R = turn_of_kinematic(p, w, k, p.reached) * turn_of_kinematic(p, w, k, p.begun).T
    return shift, R


@ti.func
def turn_of_kinematic(p: ti.template(), w: ti.i32, k: ti.i32, at: ti.template()):
    """Rotation of the joint of kinematic body k at coordinates, from where they are 0: in turns, or by their vector."""
    zero = at.arena.zero()
    turned = upright(zero)
    vector = Vec3(zero, zero, zero)
    for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
        vector = vector + p.angular.load(w, i) * at.load(w, i)
        if p.curve.at(k) == SUCCESSIVE:
            turned = turned * exp_rotation(vector).matrix()
            vector = vector * 0.0
    return turned * exp_rotation(vector).matrix()


@ti.func
def add_wrench_of_kinematic(
    p: ti.template(),
    wrench: ti.template(),
    w: ti.i32,
    k: ti.i32,
    force: ti.template(),
    couple: ti.template(),
    arm: ti.template(),
):
    """Add what holds kinematic body k to the wrench of its joint, at the child's anchor.

    Args:
        force, couple: on the body, about its centre of mass, world.
        arm: [m], from there to the anchor.

    Writes: wrench
    """
    first = 6 * p.joint.at(k)
    couple_there = couple - arm.cross(force)
    for m in ti.static(range(3)):
        wrench.store(w, first + m, wrench.load(w, first + m) + force.parts[m])
        wrench.store(w, first + 3 + m, wrench.load(w, first + 3 + m) + couple_there.parts[m])


@ti.func
def add_efforts_of_kinematic(
    p: ti.template(),
    effort: ti.template(),
    w: ti.i32,
    k: ti.i32,
    force: ti.template(),
    couple: ti.template(),
    x: ti.template(),
):
    """Add what holds kinematic body k to the efforts along the dofs of its joint.

    Args:
        force, couple: on the body, about its centre of mass x, world.

    Writes: effort
    """
    turning = couple + lever_of(p, w, k, x, p.reached).cross(force)
    carried = upright(p.moving.arena.zero())
    for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
        d = p.dof.at(i)
        axis = p.angular.load(w, i)
        if ti.static(p.has_curve):
            if p.curve.at(k) == SUCCESSIVE:
                turn = exp_rotation(axis * p.reached.load(w, i)).matrix()
                axis = carried * axis
                carried = carried * turn
        effort.store(w, d, effort.load(w, d) + (p.linear.load(w, i).dot(force) + axis.dot(turning)))
