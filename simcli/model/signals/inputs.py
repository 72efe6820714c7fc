"""What signals drive, and prescribed motions: the wiring of a scene, by index; and the motions at a time.

The initial state follows from these.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.catalogue import BALLS
from simcli.model.joints.links import stack_worlds
from simcli.model.signals.signal_values import activation_name, labels_of, muscle_name, signal_values, signals_of
from simcli.model.tables.joint_tables import Dofs, Joints
from simcli.model.tables.model import WORLD, Array, JointKind, Model
from simcli.model.tables.signal_tables import Driven, Inputs, MotionKind, Motions, Op, SignalKind, Signals
from simcli.model.tables.worlds import Worlds, constant_part
from simcli.spec.schema.forces import SpringForce
from simcli.spec.schema.signals import DriveSpec
from simcli.spec.values.quantities import is_signal

HOLDS = (("linear", "angular", Driven.HOLD_RATE), ("shift", "turn", Driven.HOLD_SHIFT))  # what signals drive of a hold


class Wiring:
    """Rows of `Inputs`, and the motions, as they are found."""

    def __init__(self, worlds: Worlds, model: Model):
        self.worlds, self.model = worlds, model
        before = model.inputs
        self.rows = list(zip(before.column.tolist(), before.item.tolist(), before.signal.tolist(), strict=True))
        self.gains: list[Array] = list(before.gain.T)
        self.kind = np.zeros(model.n_qd, np.int32)
        self.value: dict[int, Array] = {}
        signals = signals_of(worlds.first)
        self.index = {name: i for i, name in enumerate(row for key, one in signals.items() for row in labels_of(key, one))}

    def drive(self, column: Driven, item: int, text: object, component: int = 0, gain: Array | float = 1.0) -> None:
        """Let a signal drive an item, if the text names one; of a signal of several numbers the given component."""
        if not is_signal(text):
            return
        name = text[1:]
        signal = self.index[name] if name in self.index else self.index[f"{name}:{component}"]
        self.rows.append((int(column), item, signal))
        self.gains.append(np.atleast_1d(np.asarray(gain, float)))

    def drive_target(self, item: int, owner: str, k: int, drive: DriveSpec) -> None:
        """Let the target of a drive follow its signal, or its activation."""
        lagged = drive.activation is not None
        self.drive(Driven.DRIVE_TARGET, item, f"${activation_name(owner, k)}" if lagged else drive.target)
        self.drive(Driven.DRIVE_TARGET_VELOCITY, item, drive.target_velocity)

    def inputs(self) -> Inputs:
        """The table of what signals drive."""
        rows = np.array(self.rows, np.int32).reshape(-1, 3).T
        return Inputs(*(column.copy() for column in rows), stack_worlds(self.gains, ()))

    def motions(self) -> Motions:
        """The table of prescribed motions."""
        value = np.zeros((max(map(len, self.value.values()), default=1), self.model.n_qd))
        for dof, one in self.value.items():
            value[:, dof] = one
        return Motions(self.kind, value)


def with_signals(worlds: Worlds, model: Model, signals: Signals) -> Model:
    """Add the signals, what they drive, and the prescribed motions, with the initial state that these ask for.

    Args:
        worlds: the scenes; what cannot be prescribed is noted there.
        model: of the same scenes, without signals.
        signals: from `read_signals`.

    Returns:
        The model.
    """
    wiring = Wiring(worlds, model)
    _drives(wiring)
    _forces(wiring)
    _holds(wiring)
    _joint_motions(wiring)
    for body, (name, spec) in enumerate(worlds.first.bodies.items()):
        if spec.kinematic or spec.motion is not None:
            _body_motion(wiring, body, name)
    worlds.raise_faults()
    motions = wiring.motions()
    model = replace(model, signals=signals, inputs=wiring.inputs(), motions=motions)
    return started(worlds, model) if motions.kind.any() else model


def _drives(wiring: Wiring) -> None:
    model = wiring.model
    for name, joint in wiring.worlds.first.joints.items():
        first = model.joints.qd_start[model.joints.name.index(name)]
        for k, drive in enumerate(joint.drive or ()):
            if drive is not None:
                wiring.drive_target(first + k, f"joints.{name}", k, drive)
        if joint.driving is not None:
            for aim in (joint.driving.aim_angle, joint.driving.aim_distance):
                wiring.drive(Driven.AIM, first, aim)


def _forces(wiring: Wiring) -> None:
    model = wiring.model
    combined: list[tuple[str, Any]] = [
        (name, force)
        for name, force in wiring.worlds.first.forces.items()
        if force.type == "coupling" and force.hold is None
    ]
    for n, (name, force) in enumerate(combined):  # coordinates that stand for them behind all others, forms/maximal_form.py
        wiring.drive(Driven.FRICTION, model.n_qd + n, force.friction)
        if force.drive is not None:
            wiring.drive_target(model.n_qd + n, f"forces.{name}", 0, force.drive)
    for name, force in wiring.worlds.first.forces.items():
        if force.type == "torque":
            first = model.joints.qd_start[model.joints.name.index(force.joint)]
            for k, value in enumerate(force.value):
                wiring.drive(Driven.JOINT_F, first + k, value)
        elif force.type == "wrench":
            item = 3 * model.wrenches.name.index(name)
            for k in range(3):
                wiring.drive(Driven.WRENCH_FORCE, item + k, force.force[k], k)
                wiring.drive(Driven.WRENCH_TORQUE, item + k, force.torque[k], k)
    ropes = {key: one for key, one in wiring.worlds.first.forces.items() if isinstance(one, SpringForce) and one.is_rope}
    for item, rope in enumerate(ropes.values()):
        wiring.drive(Driven.ROPE_TENSION, item, rope.tension)
    muscles = ((name, rope.muscle) for name, rope in ropes.items() if rope.muscle is not None)
    for item, (name, muscle) in enumerate(muscles):
        lagged = muscle.activation is not None
        wiring.drive(Driven.MUSCLE, item, f"${muscle_name(f'forces.{name}')}" if lagged else muscle.control)


def _holds(wiring: Wiring) -> None:
    for body, spec in enumerate(wiring.worlds.first.bodies.values()):
        hold = spec.affine.transform if spec.affine is not None else None
        for *keys, column in HOLDS if hold is not None else ():
            for n, vector in enumerate(getattr(hold, key) or () for key in keys):
                for k, text in enumerate(vector):
                    wiring.drive(column, 6 * body + 3 * n + k, text, k)


def _joint_motions(wiring: Wiring) -> None:
    worlds, joints = wiring.worlds, wiring.model.joints
    for name, joint in worlds.first.joints.items():
        first = joints.qd_start[joints.name.index(name)]
        for k, motion in enumerate(joint.motion or ()):
            if motion is None:
                continue
            if first + k in wiring.model.mimics.follower:
                message = f"joint `{name}` has a motion and a gear"
                worlds.fault("SC470", f"joints.{name}.motion", message, "prescribe the joint that leads")
                break
            key = "velocity" if motion.position is None else "position"
            wiring.kind[first + k] = MotionKind[key.upper()]
            read = lambda s, n=name, k=k, key=key: constant_part(getattr(s.joints[n].motion[k], key))  # noqa: E731
            wiring.value[first + k] = worlds.numbers(read)
            wiring.drive(Driven.MOTION, first + k, getattr(motion, key))


def _body_motion(wiring: Wiring, body: int, name: str) -> None:
    """A body with a motion: every dof of its joint to the world that has no motion of its own gets a velocity."""
    worlds, joints = wiring.worlds, wiring.model.joints
    spec, path = worlds.first.bodies[name], f"bodies.{name}"
    if not spec.kinematic:
        if spec.motion is not None:
            worlds.fault(
                "SC470", f"{path}.motion", f"body `{name}` has a motion, but is not kinematic", "write kinematic: true"
            )
        return
    at_root = (joints.child == body) & joints.is_tree & (joints.parent == WORLD)
    if not at_root.any():
        message = f"the kinematic body `{name}` is not attached to the world, so that other bodies move it"
        worlds.fault("SC470", f"{path}.kinematic", message, "only the root of a tree can be kinematic")
        return
    j = int(np.flatnonzero(at_root)[0])
    first, end = joints.qd_start[j], joints.qd_start[j + 1]
    free = joints.kind[j] == JointKind.FREE or joints.name[j] not in worlds.first.joints
    if spec.motion is not None and not free:
        message = f"the motion of body `{name}`, which joint `{joints.name[j]}` holds, cannot be prescribed"
        worlds.fault("SC470", f"{path}.motion", message, f"write `motion` in joints.{joints.name[j]}")
        return
    held = np.arange(first, end)[wiring.kind[first:end] == MotionKind.NONE]
    wiring.kind[held] = MotionKind.VELOCITY
    if spec.motion is not None:
        _free_motion(wiring, name, j)


def _free_motion(wiring: Wiring, name: str, j: int) -> None:
    """Velocity of the centre of mass and angular velocity, turned from the world into the anchor frame of the joint.

    In a plane along the axes of the joint, whose coordinates are those of the origin: only a centre there is prescribed.
    """
    worlds, joints = wiring.worlds, wiring.model.joints
    joint = worlds.first.joints.get(joints.name[j])
    turned = joint is not None and joint.parent_frame is not None
    back = rot.transpose(rot.quat_to_matrix(joints.X_p[:, j, 3:]))  # the identity unless a parent frame is written
    first = joints.qd_start[j]
    parts = (("linear", first, back), ("angular", first + 3, back))
    if joints.kind[j] == JointKind.PLANAR:
        axes = wiring.model.dofs.axis[:, first : first + 3]
        parts = (("linear", first, axes[:, :2]), ("angular", first + 2, axes[:, 2:]))
        if np.any(wiring.model.bodies.com[:, joints.child[j]]) and any(worlds.first.bodies[name].motion.angular):
            message = f"the centre of mass of body `{name}`, which turns as prescribed, is not its origin"
            worlds.fault("SC470", f"bodies.{name}.com", message, "leave `com` out: nothing asks for it")
    for key, start, rows in parts:
        vector = getattr(worlds.first.bodies[name].motion, key)
        read = lambda s, k=key: [constant_part(v) for v in getattr(s.bodies[name].motion, k)]  # noqa: E731
        constant = np.einsum("wik,wk->wi", *_together(rows, worlds.numbers(read, (3,))))
        for i in range(rows.shape[1]):
            wiring.value[start + i] = constant[:, i]
            for k in range(3):
                if turned or rows[:, i, k].any():
                    wiring.drive(Driven.MOTION, start + i, vector[k], k, rows[:, i, k])


def _together(*arrays: Array) -> list[Array]:
    """Arrays with world axes of one length."""
    n_worlds = max(len(array) for array in arrays)
    return [np.broadcast_to(array, (n_worlds, *array.shape[1:])) for array in arrays]


SAME_START = 1e-9  # [m, rad or per second] what a written start may differ from its motion: rounding in the file


def balls_by_position(joints: Joints, motions: Motions) -> Array:
    """First dofs of the balls whose rotation vectors are prescribed."""
    first = joints.qd_start[:-1][np.isin(joints.kind, BALLS)]
    return first[motions.kind[first] == MotionKind.POSITION]


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
    for first in balls_by_position(model.joints, model.motions):
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
    balls = balls_by_position(model.joints, model.motions)
    for first in balls:
        at = joints.q_start[dofs.joint[first]]
        turned = rot.quat_from_vector(motion[:, first : first + 3, 0])
        apart, _factor = rot.rotation_log(_nearer(rot.quat_multiply(turned, rot.quat_inverse(q[:, at : at + 4]))))
        _agree(worlds, model.joints, model.dofs, first, "joint_q", apart, q_given[first])
        q[:, at : at + 4], q_given[first : first + 3] = turned, True
    turns = np.add.outer(balls, np.arange(3))
    for d in np.flatnonzero(kind):
        j = dofs.joint[d]
        rate = motion[:, d, int(kind[d] == MotionKind.POSITION)]
        if kind[d] == MotionKind.POSITION and d not in turns:
            at = joints.q_start[j] + d - joints.qd_start[j]
            _agree(worlds, model.joints, model.dofs, d, "joint_q", q[:, at] - motion[:, d, 0], q_given[d])
            q[:, at], q_given[d] = motion[:, d, 0], True
        _agree(worlds, model.joints, model.dofs, d, "joint_qd", qd[:, d] - rate, qd_given[d])
        qd[:, d], qd_given[d] = rate, True
    worlds.raise_faults()
    changed = replace(dofs, q_given=q_given, qd_given=qd_given)
    shared = [a[:1] if len(a) > 1 and (a == a[:1]).all() else a for a in (q, qd)]
    return replace(model, dofs=changed, joint_q=shared[0], joint_qd=shared[1])


def _nearer(quat: Array) -> Array:
    return np.where(quat[..., 3:] < 0.0, -quat, quat)


def _agree(worlds: Worlds, joints: Joints, dofs: Dofs, d: int, key: str, gap: Array, given: bool) -> None:
    if given and np.abs(gap).max() > SAME_START:
        name = joints.name[dofs.joint[d]]
        message = f"the written {key} of joint `{name}` differs by {np.abs(gap).max():.3g} from its prescribed motion"
        path = f"joints.{name}" if name in worlds.first.joints else f"bodies.{name.removesuffix('_free')}"
        worlds.fault("SC470", path, message, "leave it out: the joint begins where its motion does")


def depends_on_time(model: Model) -> bool:
    """Whether a signal that drives something is a function of time, or follows the motion by samples."""
    laws = model.feedback
    used = {*model.inputs.signal.tolist(), *laws.index[laws.op == Op.SIGNAL].tolist()}
    return bool(len(laws.signal)) or any(model.signals.kind[k] != SignalKind.CONSTANT for k in used)
