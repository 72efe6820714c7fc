"""What the commands compute: forward kinematics, the projection of poses, inverse dynamics, mass matrices, Jacobians."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from simcli import rotations as rot
from simcli.analysis.mechanics.tasks import OnTree, chosen_bodies, field, loop_joints, loop_names, of_kind, of_worlds
from simcli.analysis.states.portions import States
from simcli.errors import UsageError
from simcli.model.joints.anchors import written_child_anchors
from simcli.model.joints.catalogue import QUATERNIONS, SCREW_KINDS, SLOTTED
from simcli.model.joints.selection import BodyFlags
from simcli.model.tables.body_tables import Bodies, Points
from simcli.model.tables.model import WORLD, Array, Model
from simcli.records.contents.results import ResultAxes, result_axes
from simcli.records.reading.reader import Trajectory

if TYPE_CHECKING:
    from simcli.analysis.mechanics.rounds import Mechanics


@dataclass(frozen=True)
class Forward(OnTree):
    """Forward kinematics.

    Attributes:
        select: patterns of the bodies that are given, none for all.
        flags: kinds of bodies that are given.
        accelerates: give accelerations, too.
    """

    select: tuple[str, ...] = ()
    flags: BodyFlags = BodyFlags.ALL
    accelerates: bool = False
    kind = "fk"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Coordinates and rates, and accelerations if those of bodies are wanted."""
        return ("joint_q", "joint_qd", "joint_qdd")[: 2 + self.accelerates]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Poses and twists of bodies, named points, and the accelerations of both."""
        accelerations = ("body_qdd", "point_acceleration") if self.accelerates else ()
        return ("body_q", "body_qd", "point_position", "point_velocity", *accelerations)

    def axes(self, model: Model) -> ResultAxes:
        """The bodies that are wanted, and their points."""
        return result_axes(model).of_bodies(*self.kept(model))

    def kept(self, model: Model) -> tuple[Array, Array]:
        """Indices of the bodies and points that are wanted."""
        bodies = chosen_bodies(model, self.select)
        bodies = bodies[of_kind(model, self.flags, bodies)[0][bodies]]
        return bodies, np.flatnonzero(np.isin(model.points.body, bodies))

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """Poses and twists of bodies; named points; the accelerations of both."""
        model, q, qd = mechanics.model, states.values["joint_q"], field(states, "joint_qd", (mechanics.model.n_qd,))
        pose, twist = mechanics("forward_kinematics", world, q, qd)
        bodies, points = self.kept(model)
        x, v = (a[:, points] for a in point_motion(model.bodies, model.points, world, pose, twist))
        found = {"body_q": pose[:, bodies], "body_qd": twist[:, bodies], "point_position": x, "point_velocity": v}
        if self.accelerates:
            (change,) = mechanics("accelerations", world, q, qd, field(states, "joint_qdd", (model.n_qd,)))
            a = point_accelerations(model.bodies, model.points, world, pose, twist, change)
            found |= {"body_qdd": change[:, bodies], "point_acceleration": a[:, points]}
        return found


def point_motion(bodies: Bodies, points: Points, world: Array, pose: Array, twist: Array) -> tuple[Array, Array]:
    """Positions [m] and velocities [m/s] of the named points, (N, n, 3) each, world.

        x = p + R r,   v = v_c + w x R (r - c)

    Args:
        bodies: with their centres of mass.
        points: points of them.
        world: (N,).
        pose: (N, B, 7).
        twist: (N, B, 6).
    """
    body = points.body
    place, lever = _levers(bodies, points, world, pose)
    return pose[:, body, :3] + place, twist[:, body, :3] + rot.cross(twist[:, body, 3:], lever)


def point_accelerations(bodies: Bodies, points: Points, world: Array, pose: Array, twist: Array, change: Array) -> Array:
    """Accelerations [m/s^2] of the named points, (N, n, 3), world.

        a = a_c + w' x R (r - c) + w x (w x R (r - c))

    Args:
        bodies: with their centres of mass.
        points: points of them.
        world: (N,).
        pose: (N, B, 7).
        twist: (N, B, 6).
        change: [m/s^2, rad/s^2], (N, B, 6), accelerations of centres of mass and angular ones.
    """
    body = points.body
    _, lever = _levers(bodies, points, world, pose)
    spin = twist[:, body, 3:]
    return change[:, body, :3] + rot.cross(change[:, body, 3:], lever) + rot.cross(spin, rot.cross(spin, lever))


def _levers(bodies: Bodies, points: Points, world: Array, pose: Array) -> tuple[Array, Array]:
    """[m], R r and R (r - c) of the named points, (N, n, 3) each, world axes."""
    r, c = of_worlds(points.position, world), of_worlds(bodies.com, world)[:, points.body]
    R = rot.quat_to_matrix(pose[:, points.body, 3:])
    return rot.turn(R, r), rot.turn(R, r - c)


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

    def kept(self, model: Model) -> tuple[Array, Array, Array]:
        """Indices of the joints that are wanted, of their coordinates and of their velocities."""
        joints = of_kind(model, self.flags)[1]
        counts = np.diff(model.joints.q_start), np.diff(model.joints.qd_start)
        return np.flatnonzero(joints), *(np.flatnonzero(np.repeat(joints, count)) for count in counts)

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """Joint coordinates and rates, and the residuals of both."""
        model, pose = mechanics.model, states.values["body_q"]
        twist = field(states, "body_qd", (model.n_bodies, 6))
        q, qd = mechanics("projection", world, pose, twist)
        back, counted = mechanics("forward_kinematics", world, q, qd), of_kind(model, self.flags)[0]
        found = residuals(*(values[:, counted] for values in (pose, twist, *back)))
        q, (_, of_q, of_qd) = self.unwrapped(model, states.world, q) if self.unwrap else q, self.kept(model)
        return {"joint_q": q[:, of_q], "joint_qd": qd[:, of_qd]} | found

    def unwrapped(self, model: Model, world: Array, q: Array) -> Array:
        """Coordinates whose angles have taken the branch nearest to the state before of their world, (N, NQ)."""
        angles, q = angle_coordinates(model), np.array(q)
        for w in np.unique(world):
            mine = np.flatnonzero(world == w)
            track = np.concatenate([self.last.get(w, q[mine[:1]]), q[mine]])
            track[:, angles] = np.unwrap(track[:, angles], axis=0)
            q[mine], self.last[w] = track[1:], track[-1:]
        return q


def angle_coordinates(model: Model) -> Array:
    """Indices into joint_q of the angles; those of screws are left out, whose advance tells their turns."""
    joints = model.joints
    scalar = [j for j in range(model.n_joints) if joints.kind[j] not in (*SLOTTED, *QUATERNIONS)]
    before = joints.dof_dim[:, 0] + np.isin(joints.kind, SCREW_KINDS)
    ranges = [np.arange(joints.q_start[j] + before[j], joints.q_start[j + 1]) for j in scalar]
    return np.concatenate([np.zeros(0, np.int64), *ranges]).astype(np.int64)


def residuals(pose: Array, twist: Array, back_pose: Array, back_twist: Array) -> dict[str, Array]:
    """Largest distances over the bodies of each state, (N,): position, angle, velocity, spin."""
    shift, angle = rot.pose_distance(pose, back_pose)
    gap = twist - back_twist
    found = {
        "position": shift,
        "angle": angle,
        "velocity": np.linalg.norm(gap[..., :3], axis=-1),
        "spin": np.linalg.norm(gap[..., 3:], axis=-1),
    }
    return {f"residual_{name}": values.max(axis=1, initial=0.0) for name, values in found.items()}


@dataclass(frozen=True)
class Efforts(OnTree):
    """Inverse dynamics: M qdd + bias - J^T f, armature in M.

    Attributes:
        external: count the scene's springs, cables and wrenches.
        compare: take the recorded efforts along.
        contacts: count the recorded forces of contacts.
        reactions: give what joints transmit.
    """

    external: bool = True
    compare: bool = False
    contacts: bool = False
    reactions: bool = False
    kind = "id"
    balances = True
    inputs = ("joint_q", "joint_qd", "joint_qdd", "body_f")

    @property
    def outputs(self) -> tuple[str, ...]:
        """The efforts, the recorded ones, and what joints transmit."""
        more = {"recorded_effort": self.compare, "joint_wrench": self.reactions, "joint_wrench_local": self.reactions}
        return ("joint_effort", *(name for name, is_given in more.items() if is_given))

    def wants(self, model: Model, run: Trajectory | None) -> tuple[str, ...]:
        """Accelerations; wrenches of the joints that close loops.

        Raises:
            UsageError: nothing says what the loops transmit, or what contacts do.
        """
        if self.contacts and (run is None or "contacts" not in run.channels):
            raise UsageError(
                "--contacts: forces of contacts are those that a run recorded (output: {channels: [state, contacts]}): "
                "give such a run"
            )
        loops = loop_joints(model)
        if loops and (run is None or "reactions" not in run.channels):
            names = loop_names(model.joints, loops)
            raise UsageError(
                f"what {names} transmits does not follow from the motion: give a run of this scene that "
                "recorded it (output: {channels: [state, reactions]})"
            )
        more = {"recorded_effort": self.compare, "joint_wrench": loops, "contact_f": self.contacts}
        return (*self.inputs[:3], *(name for name, is_read in more.items() if is_read))  # no run records body_f

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """Efforts along the motion axes."""
        model, n = mechanics.model, mechanics.model.n_qd
        q, qd, qdd = states.values["joint_q"], field(states, "joint_qd", (n,)), field(states, "joint_qdd", (n,))
        force, step = field(states, "body_f", (model.n_bodies, 6)), states.values.get("step")
        force = force + field(states, "contact_f", (model.n_bodies, 6))
        when = np.stack([np.nan_to_num(states.time), field(states, "lean", ())], axis=1)
        if self.external and mechanics.has_external:
            if mechanics.has_timed and not np.isfinite(states.time).all():
                raise UsageError("wrenches of this scene follow signals, and the states have no time: add a column `time`")
            force = force + mechanics("external_forces", world, q, qd, when)[0]
        loops, free = loop_joints(model), force
        if loops:
            pose, _ = mechanics("forward_kinematics", world, q, qd)
            force = force + loop_forces(model, loops, world, pose, states.values["joint_wrench"])
        if step is None:
            effort = mechanics("inverse_dynamics", world, q, qd, qdd, force)[0]
        else:
            times = np.concatenate([when, step], axis=1)
            effort = mechanics("efforts_of_steps", world, q, qd, qdd, states.values["ends"], times, free, force)[0]
        found = {"joint_effort": effort}
        if self.reactions:
            found |= self.transmitted(mechanics, states, world, (q, qd, qdd, force))
        return found | ({"recorded_effort": states.values["recorded_effort"]} if self.compare else {})

    def transmitted(
        self, mechanics: "Mechanics", states: States, world: Array, motion: tuple[Array, ...]
    ) -> dict[str, Array]:
        """What joints transmit, in both axes; of those that close loops what the run recorded.

        Args:
            mechanics: of the model.
            states: some states.
            world: (N,), of the model for each.
            motion: q, qd, qdd and the forces on bodies.
        """
        model = mechanics.model
        (wrench,) = mechanics("joint_wrenches", world, *motion)
        if loops := loop_joints(model):
            wrench[:, loops] = states.values["joint_wrench"][:, loops]
        pose, _ = mechanics("forward_kinematics", world, *motion[:2])
        anchor = rot.pose_compose(pose[:, model.joints.child], of_worlds(written_child_anchors(model), world))
        back = rot.transpose(rot.quat_to_matrix(anchor[..., 3:]))
        local = [rot.turn(back, wrench[..., part]) for part in (slice(0, 3), slice(3, 6))]
        return {"joint_wrench": wrench, "joint_wrench_local": np.concatenate(local, axis=-1)}


def loop_forces(model: Model, loops: Sequence[int], world: Array, pose: Array, wrench: Array) -> Array:
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
    com, anchors = of_worlds(model.bodies.com, world), written_child_anchors(model)
    for j in loops:
        child, force, torque = model.joints.child[j], wrench[:, j, :3], wrench[:, j, 3:]
        at = rot.pose_apply(pose[:, child], of_worlds(anchors, world)[:, j, :3])
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

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
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

    def __call__(self, mechanics: "Mechanics", states: States, world: Array) -> dict[str, Array]:
        """J(q)."""
        found = mechanics("jacobian", world, states.values["joint_q"])[0]
        return {"jacobian": found[:, chosen_bodies(mechanics.model, self.select)]}
