"""Prescribed motions on the device: where a coordinate shall be, its rate and acceleration, at the time of an evaluation.

Of a ball by position signals give the rotation vector p(t); what its dofs have is the angular velocity and acceleration that
follow from p, p' and p'' (rotations/quaternions.py has the formulas), in the parent anchor frame.
"""

import numpy as np

from simcli.kernels.articulation.kinematics import store_vector, vector_at
from simcli.kernels.device.arena import local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.efforts import component_of
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import exp_rotation, polynomial, rotation_log, select, sincos
from simcli.kernels.language.values import Quat, Vec3
from simcli.kernels.rows.tree_rows import first_numbers, turn_of_anchor_pair
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
