"""The parts of an MJCF file as they are written: sections, bodies within each other, joints, sites, controls.

A joint of several axes is several joints of one body, in the order of the chain. MuJoCo measures joints from where the body
stands in the file, which is where all coordinates of the scene are 0; a body that nothing holds stands where it begins.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from simcli import rotations as rot
from simcli.exchange.writing.chains import ChainAxis, ChainLink, ChainTree, poses_at_zero
from simcli.exchange.writing.written_scene import MeshCopies, Tag, WrittenScene, joined_words, pose_numbers, tag
from simcli.joint_types import NONHOLONOMIC
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.model import WORLD, Array, Model
from simcli.model.tables.signal_tables import MotionKind
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


_LEAST = 1e-14  # [kg, kg m^2] MuJoCo takes no moving body with less than 1e-15
_ALIKE = 1e-12  # [1] by which numbers of one joint may differ that MuJoCo has once
_OF_AXES = {"damping": "damping", "armature": "armature", "frictionloss": "friction", "stiffness": "spring_stiffness"}
_COLUMNS = ("damping", "armature", "friction")


def write_bodies(parts: MjcfParts) -> None:
    """All bodies of the tree, with joints and points."""
    for link in parts.tree.links:
        inner = WORLD if link.hold in ("free", "prescribed") else link.inner  # what floats is no part of a tree
        pose = parts.start_pose(link) if link.hold in ("free", "prescribed") else link.at_zero
        element = parts.bodies[inner].add(
            "body",
            name=parts.scene.name_of(link.body),
            **placed(pose),
            mocap=True if link.hold == "prescribed" else None,
            gravcomp=_body_of(parts.scene, link).gravity_compensation or None,
        )
        parts.bodies[link.body] = element
        _write_joint(parts, link, element)
        _write_body(parts, link, element)


def _body_of(scene: WrittenScene, link: ChainLink):
    """The body of a link as the scene has it."""
    return scene.spec.bodies[scene.model.bodies.name[link.body]]


def _write_body(parts: MjcfParts, link: ChainLink, element: Tag) -> None:
    scene, b = parts.scene, link.body
    name = scene.model.bodies.name[b]
    spec, path = scene.spec.bodies[name], f"bodies.{name}"
    changes = [scene.renaming(name, scene.name_of(b))]
    if link.hold == "prescribed":
        changes.append("is a mocap body")
    elif scene.first(scene.model.bodies, "mass")[b] > 0.0 or _moves(link):
        changes.append(_write_inertial(scene, link, element))
    scene.report_element("body", name, path, joined_words(*changes))
    scene.lose_strain(name, path, spec)
    if spec.motion is not None:
        scene.lose("motion", name, f"{path}.motion", "MJCF has no prescribed motion: a program moves mocap bodies")
    write_places(parts, b, spec, path, f"{scene.name_of(b)}_")


def write_places(parts: MjcfParts, body: int, spec, path: str, prefix: str) -> None:
    """Named points and frames of a body, or of the world, as sites."""
    scene, owner = parts.scene, path.removeprefix("bodies.")
    for kind, places in (("point", getattr(spec, "points", {})), ("frame", spec.frames)):
        for name, place in places.items():
            pose = np.asarray(place, float) if kind == "point" else pose_numbers(place)
            given = parts.site(f"{prefix}{name}", body, pose)
            scene.report_element(kind, f"{owner}/{name}", f"{path}.{kind}s.{name}", f"is the site `{given}`")


def _moves(link: ChainLink) -> bool:
    return link.hold in ("axes", "ball", "free")


def _write_inertial(scene: WrittenScene, link: ChainLink, element: Tag) -> str:
    """Mass and principal moments; what was changed."""
    bodies, b = scene.model.bodies, link.body
    mass, inertia = float(scene.first(bodies, "mass")[b]), scene.first(bodies, "inertia")[b]
    moments, turn = np.diag(inertia).copy(), None
    if (inertia - np.diag(moments)).any():
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        turn = wxyz(rot.matrix_to_quat(axes))
    words = ""
    if _moves(link) and (mass < _LEAST or moments.min() < _LEAST):
        mass, moments = max(mass, _LEAST), np.maximum(moments, _LEAST)
        words = f"has {_LEAST:g} kg or kg m^2 where it has none, because MuJoCo takes nothing less"
    moments = _in_triangle(moments)
    element.add("inertial", pos=scene.first(bodies, "com")[b], quat=turn, mass=mass, diaginertia=moments)
    return words


def _in_triangle(moments: Array) -> Array:
    """Moments of which rounding leaves none above the sum of the others, which MuJoCo would refuse."""
    top = int(moments.argmax())
    others = [k for k in range(3) if k != top]
    lack = moments[top] - moments[others].sum()
    if lack > 0.0:
        small = min(others, key=lambda k: moments[k])
        moments[small] = np.nextafter(moments[small] + lack, np.inf)
    return moments


def _write_joint(parts: MjcfParts, link: ChainLink, element: Tag) -> None:
    scene = parts.scene
    given = scene.model.joints.name[link.joint]
    change = scene.renaming(given, link.name)
    if link.hold == "axes":
        for axis in link.axes:
            _write_axis(scene, link, axis, element)
        if len(link.axes) > 1:
            change = f"{len(link.axes)} joints of one body: {', '.join(axis.name for axis in link.axes)}"
    elif link.hold == "ball":
        laws = _shared_laws(scene, link, given)
        element.add("joint", name=link.name, type="ball", pos=_anchor(link), **laws)
    elif link.hold == "free":
        element.add("freejoint", name=link.name)
        if link.inner != WORLD:
            change = "free of the world, not of its parent: that holds nothing either"
        _shared_laws(scene, link, given)
    if link.path.startswith("joints."):
        spec = scene.spec.joints[given]
        if spec.type == "distance":
            change = "a free body, and the length of a tendon"
        if spec.type in NONHOLONOMIC:
            scene.lose("joint", given, link.path, f"MJCF has no {spec.type} joint: the body is free")
        else:
            scene.report_element("joint", given, link.path, change)
        _tell_laws(scene, link, spec, given)


def _anchor(link: ChainLink) -> Array | None:
    return link.anchor_beyond[:3] if link.anchor_beyond[:3].any() else None


def _write_axis(scene: WrittenScene, link: ChainLink, axis: ChainAxis, element: Tag) -> None:
    """A hinge or slide with its laws, about an axis of the body."""
    dofs = scene.model.dofs
    laws: dict[str, object] = {}
    if axis.lead is None:
        laws = {key: value for key, column in _OF_AXES.items() if (value := float(scene.first(dofs, column)[axis.dof]))}
        if "stiffness" in laws:
            laws["springref"] = scene.first(dofs, "spring_rest")[axis.dof]
        if link.hold == "axes" and (bounds := _bounds(scene, axis.dof)):
            laws["range"] = bounds
    direction = rot.quat_rotate(link.anchor_beyond[3:], axis.direction)
    element.add(
        "joint",
        name=axis.name,
        type=None if axis.is_hinge else "slide",
        pos=_anchor(link) if axis.is_hinge else None,
        axis=direction,
        **laws,
    )


def _bounds(scene: WrittenScene, dof: int) -> tuple[float, float] | None:
    lower, upper = (float(scene.first(scene.model.dofs, f"limit_{side}")[dof]) for side in ("lower", "upper"))
    if not np.isfinite((lower, upper)).any():
        return None
    return max(lower, -_NO_BOUND), min(upper, _NO_BOUND)


_NO_BOUND = 1e9  # [m, rad] of a side that has no bound, because MuJoCo wants two


def _shared_laws(scene: WrittenScene, link: ChainLink, given: str) -> dict[str, float]:
    """Laws of a ball or a free joint, of which MuJoCo has one number for all dofs."""
    own, found = slice(*scene.model.joints.qd_start[link.joint : link.joint + 2]), {}
    for column in _COLUMNS:
        values = scene.first(scene.model.dofs, column)[own]
        if not values.any():
            continue
        if link.hold == "free" or np.ptp(values) > _ALIKE * values.max():
            why = "MJCF has none of a free joint" if link.hold == "free" else "MJCF has one number for all axes of a ball"
            scene.lose(column, given, f"{link.path}.{column}", why)
        else:
            found["frictionloss" if column == "friction" else column] = float(values[0])
    return found


def _tell_laws(scene: WrittenScene, link: ChainLink, spec, given: str) -> None:
    """What acts on the coordinates of a joint: limits, gears, prescribed motions."""
    model, path = scene.model, link.path
    own = slice(*model.joints.qd_start[link.joint : link.joint + 2])
    if spec.limit and link.hold == "axes":
        is_soft = (scene.first(model.dofs, "limit_stiffness")[own] > 0.0).any()
        scene.report_element("limit", given, f"{path}.limit", "as soft as MuJoCo has limits by default" if is_soft else "")
    elif spec.limit and spec.type != "distance":
        scene.lose("limit", given, f"{path}.limit", f"MJCF has no such limit of a {spec.type} joint")
    if np.isfinite(scene.first(model.dofs, "velocity_limit")[own]).any():
        scene.lose("velocity_limit", given, f"{path}.velocity_limit", "MJCF has no limits of speed")
    if (model.motions.kind[own] != MotionKind.NONE).any():
        scene.lose("motion", given, f"{path}.motion", "MJCF has no prescribed motion: the joint moves freely")
    if spec.driving is not None:
        scene.lose("driving", given, f"{path}.driving", "MJCF has no driving joints")
    if any(axis.lead is not None for axis in link.axes):
        scene.report_element("pitch", given, f"{path}.pitch", "an equality of hinge and slide, which MuJoCo keeps softly")


def write_muscle(parts: MjcfParts, name: str, path: str, tendon: str) -> None:
    """A muscle as an actuator; controls and activations are those of a state."""
    scene, ropes = parts.scene, parts.scene.model.ropes
    k = int(np.flatnonzero(ropes.muscle_rope == ropes.name.index(name))[0])
    number = lambda key: scene.first(ropes, f"muscle_{key}")[k]  # noqa: E731
    low, high, fast, passive, most = number("curve")
    curve = (*number("range"), number("force"), 1.0, low, high, fast, passive, most)
    words = {"gaintype": "muscle", "biastype": "muscle", "gainprm": curve, "biasprm": curve, "lengthrange": number("length")}
    muscle_of = lambda spec: cast(Any, spec.forces[name]).muscle  # noqa: E731
    lag = muscle_of(scene.spec).activation
    if lag is not None:
        times = (lag.rise, lag.fall, lag.smoothing) if lag.law == "muscle" else lag.time_constant or lag.rise
        plain = "filterexact" if lag.method == "exact" else "filter"
        words |= {"dyntype": "muscle" if lag.law == "muscle" else plain, "dynprm": times}
        parts.activations.append(lambda state: muscle_of(state.spec).activation.initial)
        if lag.law != "muscle" and lag.fall is not None:
            scene.lose("fall", name, f"{path}.activation.fall", "MJCF has one time constant: that of rising")
    told = lambda state: control if isinstance(control := muscle_of(state.spec).control, float) else 0.0  # noqa: E731
    parts.actuate("general", f"{name}_muscle", told, tendon=tendon, **words)
    scene.report_element("muscle", name, path, "an actuator, its control is that of the actuator")
