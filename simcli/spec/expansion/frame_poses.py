"""Poses that are given in frames, and what they are in the body or the world that owns them.

A frame of a body is a point with an orientation. The pose of a body may be given in another body, or in a frame of one, at
the authored configuration; poses of frames, shapes and anchors of joints in a frame of their own body.
"""

from collections.abc import Callable, Iterable

import numpy as np

from simcli.joint_types import BESIDE_ROWS
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.expansion.placing import UNMOVED_POSE, compose_poses, pose_array
from simcli.spec.lookup.structure import WORLD_NAME, tree
from simcli.spec.schema.body import BodySpec, WorldSpec
from simcli.spec.schema.pose import PlacedPoseSpec, unit_length
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.values.varied_values import plain_numbers

Note = Callable[[str, str, str, str], None]  # code, message, path, hint


def split_frame(name: str) -> tuple[str, str]:
    """The body and the frame of `body/frame`; a name alone has no body."""
    body, _, frame = name.rpartition("/")
    return body, frame


def with_places(spec: SceneSpec, note: Note) -> SceneSpec:
    """The scene with all poses in what owns them; where one cannot be told, as if it were not in a frame.

    Args:
        spec: the scene; poses of frames that are placed already stay as they are.
        note: takes faults.
    """
    return _Placing(spec, note).scene() if _has_frames(spec) else spec


def _has_frames(spec: SceneSpec) -> bool:
    """Whether some pose is in a frame; most scenes have many bodies and none."""
    poses = []
    for owner in (spec.world, *spec.bodies.values()):
        if owner.frames or owner.shapes or owner.look.shapes:
            poses += owner.frames.values()
            poses += [shape.pose for shapes in (owner.shapes, owner.look.shapes) for shape in shapes.values()]
    poses += [body.pose for body in spec.bodies.values()]
    for joint in spec.joints.values():
        poses += (joint.parent_frame, joint.child_frame)
    return any([pose is not None and pose.in_ is not None for pose in poses])  # noqa: C419  (without calls)


class _Placing:
    """One scene while its poses are found.

    Attributes:
        frames: [m, 1], (7,), of frames in their bodies, by owner and name; None while one is found.
        bodies: the same of bodies in the world.
    """

    def __init__(self, spec: SceneSpec, note: Note):
        self.spec, self.note = spec, note
        self.frames: dict[tuple[str, str], np.ndarray | None] = {}
        self.bodies: dict[str, np.ndarray | None] = {WORLD_NAME: UNMOVED_POSE}
        self.following: set[str] | None = None

    def scene(self) -> SceneSpec:
        """See `with_places`."""
        spec = self.spec
        bodies = {name: self._body(name, body) for name, body in spec.bodies.items()}
        joints = {}
        for name, joint in spec.joints.items():
            path = f"joints.{name}"
            joints[name] = _changed(
                joint,
                {
                    "parent_frame": self._own(joint.parent_frame, joint.parent, f"{path}.parent_frame"),
                    "child_frame": self._own(joint.child_frame, joint.child, f"{path}.child_frame"),
                },
            )
        return _changed(spec, {"bodies": bodies, "joints": joints, "world": self._owner(WORLD_NAME, spec.world, "world")})

    def _body(self, name: str, body: BodySpec) -> BodySpec:
        pose = body.pose
        if pose is not None and pose.in_ is not None:
            pose = _placed(pose, self.body_pose(name))
        return self._owner(name, _changed(body, {"pose": pose}), f"bodies.{name}")

    def _owner(self, name: str, owner: BodySpec | WorldSpec, path: str):
        """A body or the world with its frames and shapes placed."""
        frames = {key: self._own(frame, name, f"{path}.frames.{key}") for key, frame in owner.frames.items()}
        shapes = self._shapes(owner.shapes, name, f"{path}.shapes")
        look = _changed(owner.look, {"shapes": self._shapes(owner.look.shapes, name, f"{path}.look.shapes")})
        return _changed(owner, {"frames": frames, "shapes": shapes, "look": look})

    def _shapes(self, shapes: dict, owner: str, path: str) -> dict:
        return {
            key: _changed(shape, {"pose": self._own(shape.pose, owner, f"{path}.{key}.pose")})
            for key, shape in shapes.items()
        }

    def _own(self, pose: PlacedPoseSpec | None, owner: str, path: str) -> PlacedPoseSpec | None:
        """A pose that may be in a frame of its owner."""
        if pose is None or pose.in_ is None:
            return pose
        body, name = split_frame(pose.in_)
        outer = UNMOVED_POSE
        if body not in ("", owner):
            hint = f"name one of `{owner}`, as {owner}/{name}"
            self.note("SC324", f"`{pose.in_}` is no frame of `{owner}`", f"{path}.in", hint)
        else:
            outer = self.frame_pose(owner, name, f"{path}.in")
        return _placed(pose, compose_poses(outer, pose_array(pose)))

    def frame_pose(self, owner: str, name: str, path: str) -> np.ndarray:
        """[m, 1], (7,), of a frame in its body."""
        known = self.spec.world if owner == WORLD_NAME else self.spec.bodies.get(owner)
        if known is None:
            return UNMOVED_POSE  # refused with its owner
        if name not in known.frames:
            hint = did_you_mean(name, known.frames, "frames")
            self.note("SC324", f"`{owner}` has no frame `{name}`", path, hint)
            return UNMOVED_POSE
        key, frame = (owner, name), known.frames[name]
        if key not in self.frames:
            self.frames[key] = None
            home = "world" if owner == WORLD_NAME else f"bodies.{owner}"
            placed = self._own(frame, owner, f"{home}.frames.{name}")
            self.frames[key] = pose_array(placed)
        elif self.frames[key] is None:
            self._circle(f"{owner}/{name}", path)
            return UNMOVED_POSE
        return self.frames[key]

    def body_pose(self, name: str) -> np.ndarray:
        """[m, 1], (7,), of a body in the world."""
        if name not in self.bodies:
            self.bodies[name] = None
            pose = self.spec.bodies[name].pose
            if pose is None:
                self.bodies[name] = UNMOVED_POSE
            else:
                outer = UNMOVED_POSE if pose.in_ is None else self._outer(pose.in_, f"bodies.{name}.pose.in")
                self.bodies[name] = compose_poses(outer, pose_array(pose))
        return self.bodies[name]

    def _outer(self, name: str, path: str) -> np.ndarray:
        """[m, 1], (7,), of a body or a frame of one in the world."""
        body, frame = (name, "") if name in self.bodies or name in self.spec.bodies else split_frame(name)
        if body not in self.spec.bodies and body != WORLD_NAME:
            hint = did_you_mean(body or name, [WORLD_NAME, *self.spec.bodies], "bodies")
            self.note("SC324", f"there is no body or frame `{name}`", path, hint)
            return UNMOVED_POSE
        if body in self.bodies and self.bodies[body] is None:
            self._circle(body, path)
            return UNMOVED_POSE
        if body != WORLD_NAME and self.spec.bodies[body].pose is None and body in self._follow():
            self.note(
                "SC324",
                f"the pose of `{body}` follows from a joint, and nothing can be placed in it",
                path,
                f"write the pose of `{body}`, or place this body by the frames of its joint",
            )
            return UNMOVED_POSE
        inner = self.frame_pose(body, frame, path) if frame else UNMOVED_POSE
        return compose_poses(self.body_pose(body), inner)

    def _circle(self, name: str, path: str) -> None:
        self.note("SC324", f"the pose of `{name}` is given in itself, in a circle", path, "give one of them in the world")

    def _follow(self) -> set[str]:
        """Bodies without a pose that the frames of a joint place."""
        if self.following is None:
            self.following = set(_following(self.spec))
        return self.following


def _following(spec: SceneSpec) -> Iterable[str]:
    found = tree(spec)
    reached = {WORLD_NAME, *found.free_bodies}
    for name in found.tree_joints:
        joint = spec.joints[name]
        outer = joint.parent if joint.child in reached else joint.child
        reached.add(outer)
        if joint.uses_frames and joint.type not in BESIDE_ROWS:
            yield outer
    yield from (spec.joints[name].child for name in found.loop_joints if spec.joints[name].uses_frames)


def _placed(pose: PlacedPoseSpec, found: np.ndarray) -> PlacedPoseSpec:
    """The pose as it was found, in no frame."""
    numbers = plain_numbers(found)
    return pose.model_copy(update={"xyz": tuple(numbers[:3]), "quat_xyzw": unit_length(tuple(numbers[3:])), "in_": None})


def _changed(part, values: dict):
    """A part with new values; itself if they are those that it has."""
    new = {key: value for key, value in values.items() if not _same(getattr(part, key), value)}
    return part.model_copy(update=new) if new else part


def _same(old: object, new: object) -> bool:
    if isinstance(old, dict):
        return all(new[key] is value for key, value in old.items())
    return old is new
