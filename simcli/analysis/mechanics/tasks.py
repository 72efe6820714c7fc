"""What the commands compute: states in, results out, by the rigid-body algorithms of the kernels.

    Forward       poses and twists of bodies, named points
    Inverse       joint coordinates and rates nearest to poses and twists, and how far these are from what they say
    Efforts       efforts that a motion needs
    Matrix        M(q)
    Jacobians     J(q)

All on the tree: a joint that closes a loop is read by none but `ik`, which projects onto every joint by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from simcli import rotations as rot
from simcli.analysis.states.portions import States
from simcli.errors import UsageError
from simcli.model.batch.selection import BodyFlags, choose, flagged
from simcli.model.joints.catalogue import TYPE_NAME
from simcli.model.tables import WORLD, JointKind, Model
from simcli.records.reading.named import unknown
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.results import FIELDS, ResultAxes, result_axes

if TYPE_CHECKING:  # it brings Taichi, which a wrong input need not wait for
    from simcli.analysis.mechanics.rounds import Mechanics

_Array = np.ndarray


class Task(Protocol):
    """One command.

    Attributes:
        kind: its name.
        start: "joint" if it starts from coordinates, "body" if from poses.
        inputs, outputs: fields of its result, names of `records.reading.results.FIELDS`.
    """

    kind: str
    start: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def wants(self, model: Model, run: Trajectory | None) -> tuple[str, ...]:
        """Fields that it reads from a run; UsageError if it cannot serve this model."""
        ...

    def fitted(self, model: Model) -> Model:
        """The model to compute with."""
        ...

    def axes(self, model: Model) -> ResultAxes:
        """Axes of its result."""
        ...

    def __call__(self, mechanics: "Mechanics", states: States, world: _Array) -> dict[str, _Array]:
        """Its outputs for some states, `world` being the world of the model for each."""
        ...


def width(task: Task, axes: ResultAxes) -> int:
    """Numbers per state that a task reads and writes."""
    return sum(prod(axes.tail(FIELDS[name])) for name in (*task.inputs, *task.outputs))


def field(states: States, name: str, shape: tuple[int, ...]) -> _Array:
    """A field of states, zero where they do not hold it, (N, *shape)."""
    found = states.values.get(name)
    return np.zeros((len(states), *shape)) if found is None else found


class OnTree:
    """What tasks have in common that start from joint coordinates."""

    start = "joint"
    inputs = ("joint_q", "joint_qd")

    def wants(self, model: Model, run: Trajectory | None) -> tuple[str, ...]:
        """Its inputs."""
        return self.inputs

    def fitted(self, model: Model) -> Model:
        """The model itself."""
        return model

    def axes(self, model: Model) -> ResultAxes:
        """All of the model."""
        return result_axes(model)


@dataclass(frozen=True)
class Forward(OnTree):
    """Forward kinematics.

    Attributes:
        select: patterns of the bodies that are given, none for all.
        flags: kinds of bodies that are given.
    """

    select: tuple[str, ...] = ()
    flags: BodyFlags = BodyFlags.ALL
    kind = "fk"
    outputs = ("body_q", "body_qd", "point_position", "point_velocity")

    def axes(self, model: Model) -> ResultAxes:
        """The bodies that are wanted, and their points."""
        return result_axes(model).of_bodies(*self.kept(model))

    def kept(self, model: Model) -> tuple[_Array, _Array]:
        """Indices of the bodies and points that are wanted."""
        bodies = chosen_bodies(model, self.select)
        bodies = bodies[of_kind(model, self.flags, bodies)[0][bodies]]
        return bodies, np.flatnonzero(np.isin(model.points.body, bodies))

    def __call__(self, mechanics: "Mechanics", states: States, world: _Array) -> dict[str, _Array]:
        """Poses and twists of bodies; named points."""
        model, q = mechanics.model, states.values["joint_q"]
        pose, twist = mechanics("forward_kinematics", world, q, field(states, "joint_qd", (model.n_qd,)))
        bodies, points = self.kept(model)
        x, v = (a[:, points] for a in point_motion(model, world, pose, twist))
        return {"body_q": pose[:, bodies], "body_qd": twist[:, bodies], "point_position": x, "point_velocity": v}


def point_motion(model: Model, world: _Array, pose: _Array, twist: _Array) -> tuple[_Array, _Array]:
    """Positions [m] and velocities [m/s] of the named points, (N, n, 3) each, world.

        x = p + R r,   v = v_c + w x R (r - c)

    Args:
        model: its points and centres of mass.
        world: (N,).
        pose: (N, B, 7).
        twist: (N, B, 6).
    """
    body = model.points.body
    r, c = of_worlds(model.points.position, world), of_worlds(model.bodies.com, world)[:, body]
    R = rot.quat_to_matrix(pose[:, body, 3:])
    lever = rot.turn(R, r - c)
    return pose[:, body, :3] + rot.turn(R, r), twist[:, body, :3] + rot.cross(twist[:, body, 3:], lever)


def of_worlds(column: _Array, world: _Array) -> _Array:
    """Rows of a (W|1, ...) column for the worlds of states, (N|1, ...)."""
    return column[world] if len(column) > 1 else column


class Inverse(OnTree):
    """Projection of poses and twists to joint coordinates and rates (Newton's eval_ik), and how far it misses them.

    Args:
        unwrap: angles go on from those of the state before of the same world; else one pose decides.
        flags: kinds of bodies whose joints are given, and whose residuals count.
    """

    kind = "ik"
    start = "body"
    inputs = ("body_q", "body_qd")
    outputs = ("joint_q", "joint_qd", "residual_position", "residual_angle", "residual_velocity", "residual_spin")

    def __init__(self, unwrap: bool = False, flags: BodyFlags = BodyFlags.ALL):
        self.unwrap, self.flags, self.last = unwrap, flags, {}

    def axes(self, model: Model) -> ResultAxes:
        """The joints that are wanted."""
        return result_axes(model).of_joints(*self.kept(model))

    def kept(self, model: Model) -> tuple[_Array, _Array, _Array]:
        """Indices of the joints that are wanted, of their coordinates and of their velocities."""
        joints = of_kind(model, self.flags)[1]
        counts = np.diff(model.joints.q_start), np.diff(model.joints.qd_start)
        return np.flatnonzero(joints), *(np.flatnonzero(np.repeat(joints, count)) for count in counts)

    def __call__(self, mechanics: "Mechanics", states: States, world: _Array) -> dict[str, _Array]:
        """Joint coordinates and rates, and the residuals of both."""
        model, pose = mechanics.model, states.values["body_q"]
        twist = field(states, "body_qd", (model.n_bodies, 6))
        q, qd = mechanics("projection", world, pose, twist)
        back, counted = mechanics("forward_kinematics", world, q, qd), of_kind(model, self.flags)[0]
        found = residuals(*(values[:, counted] for values in (pose, twist, *back)))
        q, (_, of_q, of_qd) = self.unwrapped(model, states.world, q) if self.unwrap else q, self.kept(model)
        return {"joint_q": q[:, of_q], "joint_qd": qd[:, of_qd]} | found

    def unwrapped(self, model: Model, world: _Array, q: _Array) -> _Array:
        """Coordinates whose angles have taken the branch nearest to the state before of their world, (N, NQ)."""
        angles, q = angle_coordinates(model), np.array(q)
        for w in np.unique(world):
            mine = np.flatnonzero(world == w)
            track = np.concatenate([self.last.get(w, q[mine[:1]]), q[mine]])
            track[:, angles] = np.unwrap(track[:, angles], axis=0)
            q[mine], self.last[w] = track[1:], track[-1:]
        return q


def angle_coordinates(model: Model) -> _Array:
    """Indices into joint_q of the angles; those of screws are left out, whose advance tells their turns."""
    joints = model.joints
    scalar = [j for j in range(model.n_joints) if np.diff(joints.q_start)[j] == joints.dof_dim[j].sum()
              and joints.kind[j] not in (JointKind.SCREW, JointKind.CABLE)]  # fmt: skip
    ranges = [np.arange(joints.q_start[j] + joints.dof_dim[j, 0], joints.q_start[j + 1]) for j in scalar]
    return np.concatenate([np.zeros(0, np.int64), *ranges]).astype(np.int64)


def residuals(pose: _Array, twist: _Array, back_pose: _Array, back_twist: _Array) -> dict[str, _Array]:
    """Largest distances over the bodies of each state, (N,): position, angle, velocity, spin."""
    shift, angle = rot.pose_distance(pose, back_pose)
    gap = twist - back_twist
    found = {"position": shift, "angle": angle, "velocity": np.linalg.norm(gap[..., :3], axis=-1),
             "spin": np.linalg.norm(gap[..., 3:], axis=-1)}  # fmt: skip
    return {f"residual_{name}": values.max(axis=1, initial=0.0) for name, values in found.items()}


@dataclass(frozen=True)
class Efforts(OnTree):
    """Inverse dynamics: M qdd + bias - J^T f, armature in M.

    Attributes:
        external: count the scene's springs, cables and wrenches.
        compare: take the recorded efforts along.
    """

    external: bool = True
    compare: bool = False
    kind = "id"
    inputs = ("joint_q", "joint_qd", "joint_qdd", "body_f")

    @property
    def outputs(self) -> tuple[str, ...]:
        """The efforts, and the recorded ones."""
        return ("joint_effort", "recorded_effort") if self.compare else ("joint_effort",)

    def wants(self, model: Model, run: Trajectory | None) -> tuple[str, ...]:
        """Accelerations; wrenches of the joints that close loops.

        Raises:
            UsageError: nothing says what the loops transmit.
        """
        loops = loop_joints(model)
        if loops and (run is None or "reactions" not in run.channels):
            names = loop_names(model, loops)
            raise UsageError(f"what {names} transmits does not follow from the motion: give a run of this scene that "
                             "recorded it (output: {channels: [state, reactions]})")  # fmt: skip
        wrench = ("joint_wrench",) if loops else ()
        return (*self.inputs[:3], *(("recorded_effort",) if self.compare else ()), *wrench)  # no run records body_f

    def __call__(self, mechanics: "Mechanics", states: States, world: _Array) -> dict[str, _Array]:
        """Efforts along the motion axes."""
        model, n = mechanics.model, mechanics.model.n_qd
        q, qd, qdd = states.values["joint_q"], field(states, "joint_qd", (n,)), field(states, "joint_qdd", (n,))
        force = field(states, "body_f", (model.n_bodies, 6))
        if self.external and mechanics.has_external:
            if mechanics.has_timed and not np.isfinite(states.time).all():
                raise UsageError("wrenches of this scene follow signals, and the states have no time: add a column `time`")
            when = np.stack([np.nan_to_num(states.time), field(states, "lean", ())], axis=1)
            force = force + mechanics("external_forces", world, q, qd, when)[0]
        loops = loop_joints(model)
        if loops:
            pose, _ = mechanics("forward_kinematics", world, q, qd)
            force = force + loop_forces(model, loops, world, pose, states.values["joint_wrench"])
        found = {"joint_effort": mechanics("inverse_dynamics", world, q, qd, qdd, force)[0]}
        return found | ({"recorded_effort": states.values["recorded_effort"]} if self.compare else {})


def loop_forces(model: Model, loops: Sequence[int], world: _Array, pose: _Array, wrench: _Array) -> _Array:
    """Forces and torques about the centres of mass that loop joints put on their bodies, (N, B, 6), world.

    The wrench of a joint acts on the child at the child anchor, and the opposite on the parent at the same point.

    Args:
        model: the tables.
        loops: joints.
        world: (N,).
        pose: (N, B, 7).
        wrench: (N, J, 6), of all joints.
    """
    total = np.zeros((len(pose), model.n_bodies, 6))
    com = of_worlds(model.bodies.com, world)
    for j in loops:
        child, force, torque = model.joints.child[j], wrench[:, j, :3], wrench[:, j, 3:]
        at = rot.pose_apply(pose[:, child], of_worlds(model.joints.X_c, world)[:, j, :3])
        for body, sign in ((child, 1.0), (model.joints.parent[j], -1.0)):
            if body != WORLD:
                lever = at - rot.pose_apply(pose[:, body], com[:, body])
                total[:, body] += sign * np.concatenate([force, torque + rot.cross(lever, force)], axis=-1)
    return total


@dataclass(frozen=True)
class Matrix(OnTree):
    """Mass matrices.

    Attributes:
        armature: count the joints' armature, as the solver does.
    """

    armature: bool = True
    kind = "mass-matrix"
    inputs = ("joint_q",)
    outputs = ("mass_matrix",)

    def fitted(self, model: Model) -> Model:
        """The model, with or without armature."""
        return model if self.armature else replace(model, dofs=replace(model.dofs, armature=np.zeros((1, model.n_qd))))

    def __call__(self, mechanics: "Mechanics", states: States, world: _Array) -> dict[str, _Array]:
        """M(q)."""
        return {"mass_matrix": mechanics("mass_matrix", world, states.values["joint_q"])[0]}


@dataclass(frozen=True)
class Jacobians(OnTree):
    """Jacobians of bodies.

    Attributes:
        select: patterns of the bodies that are given, none for all.
    """

    select: tuple[str, ...] = ()
    kind = "jacobian"
    inputs = ("joint_q",)
    outputs = ("jacobian",)

    def axes(self, model: Model) -> ResultAxes:
        """The bodies that are wanted."""
        return result_axes(model).of_bodies(chosen_bodies(model, self.select), ())

    def __call__(self, mechanics: "Mechanics", states: States, world: _Array) -> dict[str, _Array]:
        """J(q)."""
        found = mechanics("jacobian", world, states.values["joint_q"])[0]
        return {"jacobian": found[:, chosen_bodies(mechanics.model, self.select)]}


def of_kind(model: Model, flags: BodyFlags, among: _Array | slice = np.s_[:]) -> tuple[_Array, _Array]:
    """Bodies of some kinds and the joints that place them, (B,) and (J,) bool.

    Raises:
        UsageError: no body `among` those asked for is of these kinds.
    """
    bodies, joints = flagged(model, flags)
    if model.n_bodies and not bodies[among].any():
        raise UsageError(f"--body-flags {flags.name.lower()}: none of the bodies asked for is of this kind")
    return bodies, joints


def chosen_bodies(model: Model, patterns: Sequence[str]) -> _Array:
    """Bodies that patterns mean, all without patterns.

    Raises:
        UsageError: a pattern fits nothing.
    """
    if not patterns:
        return np.arange(model.n_bodies)
    for pattern in patterns:
        if not len(choose(model, pattern)[0]):
            raise UsageError(f"--select: {unknown('body', pattern, model.bodies.name)}")
    return choose(model, list(patterns))[0]


def loop_joints(model: Model) -> list[int]:
    """Joints that close loops; cables are forces."""
    joints = model.joints
    return [j for j in range(model.n_joints) if not joints.is_tree[j] and joints.kind[j] != JointKind.CABLE]


def loop_names(model: Model, loops: list[int]) -> str:
    """Loop joints in words."""
    return ", ".join(f"`{model.joints.name[j]}` ({TYPE_NAME[JointKind(model.joints.kind[j])]})" for j in loops[:4])
