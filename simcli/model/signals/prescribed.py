"""Prescribed motions at a time, the initial state that follows from them, and whether anything depends on the time."""

from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import BALLS
from simcli.model.signals.signal_values import signal_values
from simcli.model.tables.model import Array, Model
from simcli.model.tables.signal_tables import Driven, MotionKind, Op, SignalKind
from simcli.model.tables.worlds import Worlds

SAME_START = 1e-9  # [m, rad or per second] what a written start may differ from its motion: rounding in the file


def balls_by_position(model: Model) -> Array:
    """First dofs of the balls whose rotation vectors are prescribed."""
    first = model.joints.qd_start[:-1][np.isin(model.joints.kind, BALLS)]
    return first[model.motions.kind[first] == MotionKind.POSITION]


def balls_of_dofs(model: Model) -> tuple[Array, Array]:
    """Where the quaternion of its ball begins in joint_q, and which of its three dofs it is: of each dof, else -1."""
    joint = model.dofs.joint
    is_ball = np.isin(model.joints.kind[joint], BALLS)
    component = np.arange(model.n_qd) - model.joints.qd_start[joint]
    return np.where(is_ball, model.joints.q_start[joint], -1), np.where(is_ball, component, -1)


def prescribed(model: Model, t: float) -> Array:
    """Prescribed motions at a time.

    Args:
        model: the tables.
        t: [s].

    Returns:
        (W|1, NV, 3): coordinate or velocity, and its two rates; 0 for dofs without. Of a ball by position its rotation
        vector, angular velocity and acceleration, in the parent anchor frame.
    """
    signals, inputs = signal_values(model.signals, t), model.inputs
    chosen = np.flatnonzero(inputs.column == Driven.MOTION)
    n_worlds = max(len(signals), len(inputs.gain), len(model.motions.value))
    found = np.zeros((n_worlds, model.n_qd, 3))
    found[..., 0] = model.motions.value
    for n in chosen:
        found[:, inputs.item[n]] += inputs.gain[:, n, None] * signals[:, inputs.signal[n]]
    for first in balls_by_position(model):
        ball = found[:, first : first + 3]
        ball[..., 1], ball[..., 2] = rot.spin_of_vector(*np.moveaxis(ball.copy(), -1, 0))
    return found


def started(worlds: Worlds, model: Model) -> Model:
    """The model whose initial state follows the prescribed motions; what the scene wrote must agree.

    Args:
        worlds: the scenes; what disagrees is a fault there.
        model: with its motions.
    """
    joints, dofs, kind = model.joints, model.dofs, model.motions.kind
    motion = prescribed(model, 0.0)
    n_worlds = max(len(motion), len(model.joint_q), len(model.joint_qd))
    q, qd = (np.broadcast_to(a, (n_worlds, a.shape[1])).copy() for a in (model.joint_q, model.joint_qd))
    q_given, qd_given = dofs.q_given.copy(), dofs.qd_given.copy()
    balls = balls_by_position(model)
    for first in balls:
        at = joints.q_start[dofs.joint[first]]
        turned = rot.quat_from_vector(motion[:, first : first + 3, 0])
        apart, _factor = rot.rotation_log(_nearer(rot.quat_multiply(turned, rot.quat_inverse(q[:, at : at + 4]))))
        _agree(worlds, model, first, "joint_q", apart, q_given[first])
        q[:, at : at + 4], q_given[first : first + 3] = turned, True
    turns = np.add.outer(balls, np.arange(3))
    for d in np.flatnonzero(kind):
        j = dofs.joint[d]
        rate = motion[:, d, int(kind[d] == MotionKind.POSITION)]
        if kind[d] == MotionKind.POSITION and d not in turns:
            at = joints.q_start[j] + d - joints.qd_start[j]
            _agree(worlds, model, d, "joint_q", q[:, at] - motion[:, d, 0], q_given[d])
            q[:, at], q_given[d] = motion[:, d, 0], True
        _agree(worlds, model, d, "joint_qd", qd[:, d] - rate, qd_given[d])
        qd[:, d], qd_given[d] = rate, True
    worlds.raise_faults()
    changed = replace(dofs, q_given=q_given, qd_given=qd_given)
    shared = [a[:1] if len(a) > 1 and (a == a[:1]).all() else a for a in (q, qd)]
    return replace(model, dofs=changed, joint_q=shared[0], joint_qd=shared[1])


def _nearer(quat: Array) -> Array:
    return np.where(quat[..., 3:] < 0.0, -quat, quat)


def _agree(worlds: Worlds, model: Model, d: int, key: str, gap: Array, given: bool) -> None:
    if given and np.abs(gap).max() > SAME_START:
        name = model.joints.name[model.dofs.joint[d]]
        message = f"the written {key} of joint `{name}` differs by {np.abs(gap).max():.3g} from its prescribed motion"
        path = f"joints.{name}" if name in worlds.first.joints else f"bodies.{name.removesuffix('_free')}"
        worlds.fault("SC470", path, message, "leave it out: the joint begins where its motion does")


def depends_on_time(model: Model) -> bool:
    """Whether a signal that drives something is a function of time, or follows the motion by samples."""
    laws = model.feedback
    used = {*model.inputs.signal.tolist(), *laws.index[laws.op == Op.SIGNAL].tolist()}
    return bool(len(laws.signal)) or any(model.signals.kind[k] != SignalKind.CONSTANT for k in used)
