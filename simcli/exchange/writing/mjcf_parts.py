"""The parts of an MJCF file as they are written: sections, bodies, sites, controls."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.exchange.writing.chains import ChainTree, poses_at_zero
from simcli.exchange.writing.written_scene import WrittenScene
from simcli.exchange.writing.xml_text import MeshCopies, Tag, tag
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.model import WORLD, Array, Model
from simcli.spec.schema.scene import SceneSpec

ControlOf = Callable[["WrittenState"], float]
_STRAIGHT = rot.IDENTITY_POSE[3:]


class WrittenState(NamedTuple):
    """A state in which a scene may begin: the scene with it, and its tables."""

    spec: SceneSpec
    model: Model


class WrittenGeom(NamedTuple):
    """A geom of a shape: its name and masks."""

    name: str
    contype: int
    conaffinity: int

    def meets(self, other: "WrittenGeom") -> bool:
        """Whether the masks let two geoms touch."""
        return bool(self.contype & other.conaffinity or other.contype & self.conaffinity)


@dataclass
class MjcfParts:
    """One file.

    Attributes:
        scene: that is written.  meshes: get the meshes.  tree: of the scene.
        sections: of the file, by name.
        bodies: index to element; the world's is the section `worldbody`.
        controls: of the actuators, in their order: what each is in a state.
        activations: of those that have one, in their order.
        geoms: index of a shape to its geom.
        sites: body and pose to the name of the site.
    """

    scene: WrittenScene
    meshes: MeshCopies
    tree: ChainTree
    sections: dict[str, Tag]
    bodies: dict[int, Tag]
    controls: list["ControlOf"] = field(default_factory=list)
    activations: list["ControlOf"] = field(default_factory=list)
    geoms: dict[int, WrittenGeom] = field(default_factory=dict)
    sites: dict[tuple, str] = field(default_factory=dict)

    @classmethod
    def of(cls, scene: WrittenScene, meshes: MeshCopies) -> "MjcfParts":
        """Nothing written yet."""
        names = ("asset", "worldbody", "contact", "tendon", "equality", "actuator", "sensor", "keyframe")
        sections = {name: tag(name) for name in names}
        return cls(scene, meshes, ChainTree.of(scene), sections, {WORLD: sections["worldbody"]})

    def site(self, name: str, body: int, pose: Array) -> str:
        """A site of a body, which may be there already; its name.

        Args:
            name: that it would have.
            body: index, or WORLD.
            pose: [m, 1], (7,) or (3,), in the body.
        """
        key = body, tuple(np.concatenate((pose, _STRAIGHT))[:7].tolist())
        if key not in self.sites:
            self.sites[key] = self.scene.others.give(name)
            self.bodies[body].add("site", name=self.sites[key], **placed(pose))
        return self.sites[key]

    def actuate(self, element: str, name: str, control: "ControlOf", **attributes: object) -> None:
        """A new actuator with the control that it has in a state."""
        self.sections["actuator"].add(element, name=self.scene.others.give(name), **attributes)
        self.controls.append(control)

    def start_pose(self, link, model: Model | None = None) -> Array:
        """[m, 1], (7,), world pose of a body that nothing holds, where a model begins; None: the scene itself."""
        model = model or self.scene.model
        first = model.joints.q_start[link.joint]
        q = model.joint_q[0, first : first + 7]
        pose = rot.pose_compose(rot.pose_compose(link.anchor_inner, q), rot.pose_inverse(link.anchor_beyond))
        return pose if link.inner == WORLD else rot.pose_compose(self._inner_start(link.inner, model), pose)

    def _inner_start(self, body: int, model: Model) -> Array:
        turns, places = body_poses(model, model.joint_q[:1])
        return np.concatenate((places[body, 0], rot.matrix_to_quat(turns[body, 0])))

    def zero_poses(self) -> dict[int, Array]:
        """[m, 1], (7,), world poses of the bodies where MuJoCo measures: joints at 0, free bodies at the start."""
        return poses_at_zero(self.tree.links, self.start_pose)


def placed(pose: Array) -> dict[str, Array]:
    """Attributes `pos` and `quat` of a pose, (7,) or a point, where they are not 0."""
    found = {"pos": pose[:3]} if pose[:3].any() else {}
    return found | ({"quat": wxyz(pose[3:])} if len(pose) > 3 and pose[3:6].any() else {})


def wxyz(quaternion: Array) -> Array:
    """A quaternion, x y z w, as MuJoCo writes it."""
    return np.roll(quaternion, 1)
