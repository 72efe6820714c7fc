"""Joints of a scene: axes, anchors, the poses that follow from them, and what acts on each dof.

Two ways to place a joint. With frames, the anchors are as written and the pose of the outer body follows. With `at`,
the bodies stand where they are authored and both anchor frames have the directions of the world there, so that an axis
in the parent anchor frame has the numbers that were written in world axes. A free joint with neither has its anchors
in the origins of its bodies, so that joint_q is the pose itself.

The reported coordinate is the measured one plus `init_angle`. X_c holds the constant turn, X_c = X_c0 x_j(init_angle),
so that Newton's equation holds with reported coordinates; forces are reported at X_c0 (`anchors.py`).
"""

import numpy as np

from simcli import rotations as rot
from simcli.joint_types import ONE_COORDINATE, ONLY
from simcli.model.joints.anchors import pose_at_coordinate
from simcli.model.joints.catalogue import BESIDE_ROWS_KINDS, CATALOGUE, ORBITS
from simcli.model.joints.links import can_invert
from simcli.model.joints.mechanism import ONE_POSE, BodyInput, JointInput
from simcli.model.joints.motion_axes import MotionAxis
from simcli.model.joints.topology import Step
from simcli.model.tables.model import WORLD, Array, DriveMode, JointKind
from simcli.model.tables.worlds import Worlds, constant_part, pose_of
from simcli.spec.lookup.scene_values import axis_of
from simcli.spec.schema.body import BodySpec

SAME_POSE = 1e-9  # [m] or [rad]
_SMALLEST_AXIS = 1e-12  # of an axis that can still be normalised
SMALLEST_SINE = 1e-6  # of the angle between axes that count as different; sixth root of what squares lose
TURN_PER_RADIAN = 1.0 / (2.0 * np.pi)
SMALLEST_RADIUS = 1e-9  # [m], of an orbital joint


class JointReader:
    """Reads joints one by one; knows the poses of bodies as they are written, and of those placed so far."""

    def __init__(self, worlds: Worlds, bodies: list[BodyInput]):
        self.worlds, self.bodies = worlds, bodies
        self.index = {"world": WORLD, **{body.name: b for b, body in enumerate(bodies)}}
        self.authored = worlds.columns(lambda s: [_pose(body) for body in s.bodies.values()], len(bodies), (7,))
        self.poses: dict[int, Array] = {WORLD: ONE_POSE}
        self.anchored: set[str] = set()

    def outline(self, name: str, is_tree: bool) -> JointInput | None:
        """A joint with its bodies and axes, not yet placed.

        Args:
            name: joint name.
            is_tree: False if it closes a loop.

        Returns:
            The part, or None after noting a fault.
        """
        path = f"joints.{name}"
        joint = self.worlds.first.joints[name]
        self.worlds.common(lambda s: _structure(s.joints[name]), path)
        if joint.type not in CATALOGUE:
            self.worlds.fault("SC461", f"{path}.type", f"joint type `{joint.type}` is not supported yet in this version")
            return None
        motion = self._motion(name, joint)
        if motion is None:
            return None
        kind = CATALOGUE[joint.type].kind
        parent, child = self.index[joint.parent], self.index[joint.child]
        part = JointInput(name, kind, parent, child, motion, is_tree=is_tree, enabled=joint.enabled)
        part.length = self._length(name, joint)
        part.compliance = self.worlds.numbers(lambda s: s.joints[name].compliance)
        return part

    def _motion(self, name: str, joint) -> MotionAxis | None:
        entry, read = CATALOGUE[joint.type], self.worlds.numbers
        given: dict[str, Array] = {"pitch": np.zeros(1)}
        if "axis" in entry.reads:
            axis = read(lambda s: axis_of(s.world.plane, s.joints[name]), (3,))
            given["axis"] = self._unit(axis, f"joints.{name}.axis")
        if "axes" in entry.reads:
            for group in ("linear", "angular"):
                n = len(getattr(joint.axes, group)) if joint.axes else 0
                axes = np.zeros((1, 0, 3))
                if n:
                    axes = read(lambda s, group=group: [a.axis for a in getattr(s.joints[name].axes, group)], (n, 3))
                given[group] = self._unit(axes, f"joints.{name}.axes.{group}")
        if "pitch" in entry.reads:
            given["pitch"] = TURN_PER_RADIAN * read(lambda s: s.joints[name].pitch or 0.0)
        if "normal" in entry.reads:
            given["normal"] = self._unit(read(lambda s: s.joints[name].normal, (3,)), f"joints.{name}.normal")
        if any(value is None for value in given.values()):
            return None
        if "axes" in entry.reads:
            self._check_independent(given, f"joints.{name}.axes")
        return entry.motion(**given)

    def _unit(self, axis: Array, path: str) -> Array | None:
        if axis.size and np.abs(axis).max(axis=-1).min() < _SMALLEST_AXIS:
            self.worlds.fault("SC456", path, f"`{path}` is zero: it has no direction", "write one, as [0, 0, 1]")
            return None
        return rot.unit(axis) if axis.size else axis

    def _check_independent(self, given: dict[str, Array], path: str) -> None:
        for group in ("linear", "angular"):
            axes = given[group]
            if axes.shape[-2] > 1 and np.linalg.svd(axes, compute_uv=False).min() < SMALLEST_SINE:
                message = f"the {group} axes of `{path}` do not span {axes.shape[-2]} directions"
                self.worlds.fault("SC456", f"{path}.{group}", message, "give axes at right angles to each other")

    def _length(self, name: str, joint) -> Array:
        if joint.type in ONLY["tube"]:  # beyond the radius a check has told
            radii = self.worlds.numbers(lambda s: [s.joints[name].radius - s.joints[name].tube, s.joints[name].tube], (2,))
            return np.maximum(radii, 0.0)
        if joint.type != "distance":
            return np.full((1, 2), np.nan)
        if joint.length is not None:
            return np.repeat(self.worlds.numbers(lambda s: s.joints[name].length)[:, None], 2, axis=1)
        if not joint.limit or joint.limit[0] is None:
            return np.full((1, 2), np.nan)
        bounds = self.worlds.numbers(lambda s: [_or(v, np.nan) for v in _bounds(s.joints[name].limit[0])], (2,))
        return np.where(bounds > 0.0, bounds, np.nan)  # a distance is never below zero: such a bound says nothing

    def place_free(self, part: JointInput, guide: JointInput | None) -> None:
        """Place a body on the free joint that was made for it: joint_q is its pose.

        Args:
            part: completed in place.
            guide: a joint outside the tree whose frames give the pose; None: as authored.
        """
        if guide is None:
            self.poses[part.child] = self.authored[part.child]
        else:
            self.anchors(guide)
            across = rot.pose_compose(rot.pose_compose(guide.X_p, self._at_start(guide)), rot.pose_inverse(guide.X_c))
            self.poses[part.child] = rot.pose_compose(self.poses[guide.parent], across)
        part.q = self.poses[part.child]
        if part.kind == JointKind.PLANAR:
            part.q = planar_coordinates(part.motion, part.q)

    def place(self, part: JointInput, step: Step) -> None:
        """Anchors of a tree joint, and the pose of the body that it reaches.

        Args:
            part: completed in place.
            step: of the walk; its inner body is placed.
        """
        joint = self.worlds.first.joints[part.name]
        if step.inverted and not can_invert(part.kind):
            message = f"the tree reaches joint `{part.name}` from its child, which a {joint.type} joint cannot do"
            self.worlds.fault("SC451", f"joints.{part.name}", message, "swap its parent and child")
        if joint.uses_frames:
            self.anchors(part)
            self._follow(part, step)
        else:
            self.poses[step.outer] = self.authored[step.outer]
            self.anchors(part)
        unplaced = self.worlds.first.bodies[self.bodies[step.outer].name].pose is None
        follows = joint.at is not None or (unplaced and part.kind not in BESIDE_ROWS_KINDS)
        if part.entry.coordinates == "pose" and not follows:
            part.q = self.relative(part)

    def anchors(self, part: JointInput) -> None:
        """Anchors of a joint; with `at`, both bodies are placed.

        Args:
            part: completed in place.
        """
        name, joint = part.name, self.worlds.first.joints[part.name]
        if name in self.anchored:
            return
        self.anchored.add(name)
        if joint.uses_frames:
            for column, key in (("X_p", "parent_frame"), ("X_c", "child_frame")):
                if getattr(joint, key) is not None:
                    setattr(part, column, pose_of(self.worlds, lambda s, key=key: getattr(s.joints[name], key)))
        elif joint.at is not None or joint.type != "free":
            P, C = self.poses[part.parent], self.poses[part.child]
            at = C[:, :3] if joint.at is None else self.worlds.numbers(lambda s: s.joints[name].at, (3,))
            here = rot.make_pose(at, np.array((0.0, 0.0, 0.0, 1.0)))
            part.X_p = rot.pose_compose(rot.pose_inverse(P), here)
            part.X_c = rot.pose_compose(rot.pose_inverse(C), here)
        self._offset(part)

    def set_radius(self, part: JointInput) -> None:
        """Radius of an orbital joint: the distance of its anchors at the authored poses.

        Args:
            part: completed in place; its anchors and both bodies are placed.
        """
        if part.kind not in ORBITS:
            return
        radius = np.linalg.norm(self.relative(part)[..., :3], axis=-1)
        if radius.min() < SMALLEST_RADIUS:
            message = f"the anchors of the orbital joint `{part.name}` are at one point: it has no radius"
            self.worlds.fault("SC468", f"joints.{part.name}", message, "move parent_frame, child_frame or a body")
        part.length = np.repeat(radius[:, None], 2, axis=1)

    def _offset(self, part: JointInput) -> None:
        name = part.name
        offset = self.worlds.numbers(lambda s: s.joints[name].init_angle)
        if not offset.any():
            return
        if self.worlds.first.joints[name].type not in ONE_COORDINATE:
            message = f"`init_angle` of joint `{name}` needs a joint with one coordinate"
            hint = f"use one of {', '.join(sorted(ONE_COORDINATE))}"
            self.worlds.fault("SC462", f"joints.{name}.init_angle", message, hint)
            return
        part.X_c = rot.pose_compose(part.X_c, _pose_at(part, offset))
        part.init_angle = offset
        part.q = offset[:, None]  # of the authored configuration

    def _follow(self, part: JointInput, step: Step) -> None:
        """Pose of the outer body with the joint at its measured zero."""
        name = self.bodies[step.outer].name
        authored = self.worlds.first.bodies[name].pose is not None
        if part.entry.coordinates == "pose" and (authored or part.kind in BESIDE_ROWS_KINDS):
            self.poses[step.outer] = self.authored[step.outer]
            return
        across = rot.pose_compose(rot.pose_compose(part.X_p, self._at_start(part)), rot.pose_inverse(part.X_c))
        across = rot.pose_inverse(across) if step.inverted else across
        pose = rot.pose_compose(self.poses[step.inner], across)
        self.poses[step.outer] = pose
        if authored:
            shift, angle = rot.pose_distance(pose, self.authored[step.outer])
            if max(shift.max(), angle.max()) > SAME_POSE:
                message = (
                    f"the pose of body `{name}` disagrees with joint `{part.name}` by {shift.max():.3g} m and "
                    f"{angle.max():.3g} rad"
                )
                hint = "with parent_frame and child_frame the pose follows from the joint: leave `pose` out"
                self.worlds.fault("SC450", f"bodies.{name}.pose", message, hint)

    def _at_start(self, part: JointInput) -> Array:
        """Joint transform of the authored configuration: the offset that X_c holds."""
        if part.q is None:
            return ONE_POSE
        return _pose_at(part, part.q[:, 0])

    def relative(self, part: JointInput) -> Array:
        """Pose of the child anchor frame in the parent anchor frame at the authored configuration, (W|1, 7)."""
        X_a = rot.pose_compose(self.poses[part.parent], part.X_p)
        X_b = rot.pose_compose(self.poses[part.child], part.X_c)
        return rot.pose_compose(rot.pose_inverse(X_a), X_b)


def _pose_at(part: JointInput, q: Array) -> Array:
    """Joint transform of a joint with one coordinate, [m, 1], (W|1, 7)."""
    motion, is_slide = part.motion, part.motion.linear.shape[-2] > 0
    axis = (motion.linear if is_slide else motion.angular)[..., 0, :]
    return pose_at_coordinate(is_slide, axis, motion.pitch, q)


def _pose(body: BodySpec) -> tuple[float, ...]:
    """Pose of a body as it is written, xyz and quaternion; the identity where it is not."""
    return (*body.pose.xyz, *body.pose.quat_xyzw) if body.pose else rot.IDENTITY_POSE


def planar_coordinates(motion: MotionAxis, pose: Array) -> Array:
    """Coordinates x, y, angle of a pose in the plane of a motion.

    Args:
        motion: of a planar joint.
        pose: [m, 1], (W|1, 7), in the parent anchor frame, turned about the normal only.

    Returns:
        [m, m, rad], (W|1, 3), the angle in (-pi, pi].
    """
    normal = motion.angular[..., 0, :]
    angle = 2.0 * np.arctan2(rot.dot(pose[:, 3:6], normal), pose[:, 6])
    angle = np.where(angle > np.pi, angle - 2.0 * np.pi, np.where(angle <= -np.pi, angle + 2.0 * np.pi, angle))
    along = [rot.dot(pose[:, :3], motion.linear[..., k, :]) for k in range(2)]
    return np.stack((*along, angle), axis=-1)


def _or(value, default: float) -> float:
    return default if value is None else value


def _bounds(limit) -> tuple:
    return (None, None) if limit is None else (limit.lower, limit.upper)


def _structure(joint) -> tuple:
    """What of a joint must be the same in all worlds."""
    axes = joint.axes and (len(joint.axes.linear), len(joint.axes.angular))
    limits = joint.limit and [one is None for one in joint.limit]
    drives = joint.drive and [one and one.mode for one in joint.drive]
    frames = joint.at is None, joint.parent_frame is None, joint.child_frame is None
    start = joint.q is None, joint.qd is None, joint.length is None
    leader = joint.mimic and joint.mimic.joint
    return joint.type, joint.parent, joint.child, joint.loop, joint.enabled, axes, limits, drives, frames, start, leader


def read_dofs(worlds: Worlds, part: JointInput) -> None:
    """What acts on the dofs of a joint.

    Args:
        worlds: the scenes.
        part: completed in place: `dof` and `drive_mode`.
    """
    name, n, read = part.name, part.n_qd, worlds.numbers
    joint = worlds.first.joints[name]
    if not n:
        return
    for column in ("damping", "friction", "armature"):
        part.dof[column] = read(lambda s, c=column: getattr(s.joints[name], c), (n,))
    if joint.velocity_limit is not None:
        part.dof["velocity_limit"] = read(lambda s: [_or(v, np.inf) for v in s.joints[name].velocity_limit], (n,))
    if joint.limit and part.kind == JointKind.DISTANCE:
        _read_soft_distance(worlds, part)
    elif joint.limit:
        _read_limits(worlds, part)
    if joint.drive:
        _read_drives(worlds, part)


def _read_limits(worlds: Worlds, part: JointInput) -> None:
    name, n = part.name, part.n_qd
    sources = (
        ("limit_lower", "lower", -np.inf),
        ("limit_upper", "upper", np.inf),
        ("limit_stiffness", "stiffness", 0.0),
        ("limit_damping", "damping", np.nan),
    )
    for column, key, default in sources:
        part.dof[column] = worlds.numbers(
            lambda s, k=key, d=default: [d if one is None else _or(getattr(one, k), d) for one in s.joints[name].limit],
            (n,),
        )


def _read_soft_distance(worlds: Worlds, part: JointInput) -> None:
    """Stiffness and damping of a distance joint's bounds, which stand at its first dof; the bounds are its length."""
    for column, default in (("limit_stiffness", 0.0), ("limit_damping", np.nan)):
        key = column.removeprefix("limit_")
        value = worlds.numbers(lambda s, k=key, d=default: _or(getattr(s.joints[part.name].limit[0], k), d))
        rest = np.full((len(value), part.n_qd - 1), default)
        part.dof[column] = np.concatenate((value[:, None], rest), axis=1)


def _read_drives(worlds: Worlds, part: JointInput) -> None:
    name, n = part.name, part.n_qd
    drives = worlds.first.joints[name].drive
    part.drive_mode = tuple(DriveMode.NONE if one is None else DriveMode[one.mode.upper()] for one in drives)
    sources = (
        ("drive_stiffness", "stiffness", 0.0),
        ("drive_damping", "damping", 0.0),
        ("drive_target", "direct_target", 0.0),
        ("drive_target_velocity", "target_velocity", 0.0),
        ("effort_limit", "largest_effort", np.inf),
    )
    for column, key, default in sources:
        read = lambda one, k=key, d=default: d if one is None else constant_part(_or(getattr(one, k), d))  # noqa: E731
        part.dof[column] = worlds.numbers(lambda s, read=read: [read(one) for one in s.joints[name].drive], (n,))
