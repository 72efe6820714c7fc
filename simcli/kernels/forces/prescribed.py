"""Prescribed motions on the device: where a coordinate shall be, its rate and acceleration, at the time of an evaluation.

Of a ball by position signals give the rotation vector p(t); what its dofs have is the angular velocity and acceleration that
follow from p, p' and p'' (rotations.py has the formulas), in the parent anchor frame.
"""

import numpy as np

from simcli.kernels.algebra.elementary import exp_rotation, polynomial, select, sincos
from simcli.kernels.algebra.rotation_log import rotation_log
from simcli.kernels.algebra.values import Quat, Vec3
from simcli.kernels.chart.tree import store_vector, vector_at
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local
from simcli.kernels.memory.tables import Tables
from simcli.model.signals.prescribed import balls_by_position
from simcli.model.signals.tables import Driven, MotionKind
from simcli.model.tables import Model
from simcli.rotations import SMALL_ANGLE, SPIN_SERIES


def columns_of_motion(model: Model, dof: int) -> tuple[str, ...]:
    """Columns of `Motions` that a signal on a prescribed dof drives, by its value and its two rates."""
    if model.motions.kind[dof] == MotionKind.VELOCITY:
        return "motion_qd", "motion_qdd"
    first = int(model.joints.qd_start[model.dofs.joint[dof]])
    return ("motion_q", "turn_rate", "turn_change") if first in balls_by_position(model) else ("motion_q", "motion_qd",
                                                                                               "motion_qdd")  # fmt: skip


class Motions:
    """Prescribed motions per dof, (NV), at the time of the evaluation.

    Attributes:
        kind: (NV,) MotionKind, on the host.
        motion_q: coordinate, of dofs prescribed by position; of a ball its rotation vector.
        motion_qd, motion_qdd: velocity and acceleration, of all prescribed dofs.
        n_balls: balls by position that signals turn.  ball: first dof of each.
        turn_rate, turn_change: of these, rates of the rotation vector.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables):
        self.kind, inputs = model.motions.kind, model.inputs
        moved = inputs.item[inputs.column == Driven.MOTION]
        driven = {name for dof in moved for name in columns_of_motion(model, int(dof))}
        balls = [d for d in balls_by_position(model) if np.isin(moved, (d, d + 1, d + 2)).any()]
        self.n_balls, self.ball = len(balls), tables.arena.ints(balls)
        if balls or (model.columns is not None and np.any(model.columns.led >= 0)):  # solvers/natural/led.py writes them
            driven |= {"motion_q", "motion_qd", "motion_qdd"}
        value, by_position = model.motions.value, self.kind == MotionKind.POSITION
        columns = {"motion_q": np.where(by_position, value, 0.0), "motion_qd": np.where(by_position, 0.0, value),
                   **dict.fromkeys(("motion_qdd", *(("turn_rate", "turn_change") if balls else ())),
                                   np.zeros((1, model.n_qd)))}  # fmt: skip
        for name, values in columns.items():
            setattr(self, name, tables.dofs.column(values, driven=name in driven))


@ti.func
def turn_balls(m: ti.template(), w: ti.i32):
    """Angular velocities and accelerations of balls, from their rotation vectors and what signals give of these.

    Reads:  m.{motion_q, turn_rate, turn_change}
    Writes: m.{motion_qd, motion_qdd}
    """
    for k in range(m.n_balls):
        d = m.ball.at(k)
        spin, twist = spin_of_vector(vector_at(m.motion_q, w, d), vector_at(m.turn_rate, w, d),
                                     vector_at(m.turn_change, w, d))  # fmt: skip
        store_vector(m.motion_qd, w, d, spin)
        store_vector(m.motion_qdd, w, d, twist)


def spin_of_vector(p: Vec3, rate: Vec3, change: Vec3) -> tuple[Vec3, Vec3]:
    """Angular velocity and acceleration of a frame from its rotation vector and the rates of it: as rotations.py."""
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
    found = log.parts[0]
    for k in ti.static(range(1, 3)):
        if component == k:
            found = log.parts[k]
    return found
