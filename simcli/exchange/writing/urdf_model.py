"""A scene as URDF: a tree of links below the link `world`, each with its frame at the joint that holds it.

What URDF has no word for becomes a chain where a chain says the same: joints of several coordinates are slides and hinges
between links without mass, a screw a hinge and a slide that mimics it, a named point a link without mass.
"""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.exchange.urdf.urdf_file import NO_LIMIT
from simcli.exchange.writing.chains import ChainAxis, ChainLink, ChainTree
from simcli.exchange.writing.urdf_shapes import AT_ORIGIN, add_origin, write_shapes
from simcli.exchange.writing.written_scene import MeshCopies, Tag, WrittenScene, joined_words, pose_numbers, tag
from simcli.joint_types import BESIDE_ROWS
from simcli.model.tables.model import WORLD, Array, DriveMode
from simcli.model.tables.signal_tables import MotionKind
from simcli.spec.lookup.structure import WORLD_NAME

_GIMBAL = "three hinges about x, y and z, which lock where the second is at 90 deg"


@dataclass
class HeldLinks:
    """Links and joints written so far.

    Attributes:
        scene: that is written.  root: of the file.  tree: of the scene.
        frames: body to the pose of its link in it, (7,).
        links: names that are taken.
    """

    scene: WrittenScene
    root: Tag
    tree: ChainTree
    frames: dict[int, Array]
    links: set[str]

    def free_link(self, name: str) -> str:
        """A name for a link that is no body."""
        found, k = name, 2
        while found in self.links:
            found, k = f"{name}_{k}", k + 1
        self.links.add(found)
        return found

    def connect(self, name: str, kind: str, origin: Array, parent: str, child: str) -> Tag:
        """A new joint."""
        element = self.root.add("joint", name=name, type=kind)
        add_origin(element, origin)
        element.add("parent", link=parent)
        element.add("child", link=child)
        return element


def write_joint(held: HeldLinks, link: ChainLink) -> None:
    """The joint that holds a body, with its laws, and what URDF lacks of it."""
    scene, given = held.scene, held.scene.model.joints.name[link.joint]
    origin = rot.pose_compose(rot.pose_inverse(held.frames[link.inner]), link.anchor_inner)
    ends = scene.name_of(link.inner), scene.name_of(link.body)
    if link.hold in ("axes", "ball"):
        change = _write_chain(held, link, origin, *ends)
    else:
        if link.hold == "prescribed":
            first = scene.model.joints.q_start[link.joint]
            origin = rot.pose_compose(origin, scene.first(scene.model, "joint_q")[first : first + 7])
        held.connect(link.name, "floating" if link.hold == "free" else "fixed", origin, *ends)
        change = scene.renaming(given, link.name)
    if link.path.startswith("joints."):
        spec = scene.spec.joints[given]
        if spec.type in BESIDE_ROWS:
            scene.lose("joint", given, link.path, f"URDF has no {spec.type} joint: the body floats")
        else:
            scene.report_element("joint", given, link.path, change)
        _tell_laws(scene, link, spec, given)
    if link.hold != "prescribed":
        _tell_start(scene, link, given)


def _write_chain(held: HeldLinks, link: ChainLink, origin: Array, parent: str, child: str) -> str:
    """The joints of a chain; what was changed."""
    scene, axes, given = held.scene, link.axes, held.scene.model.joints.name[link.joint]
    if link.hold == "ball":
        first = int(scene.model.joints.qd_start[link.joint])
        names = [scene.joints.give(f"{given}_{k + 1}") for k in range(3)]
        axes = tuple(ChainAxis(names[k], True, np.eye(3)[k], first + k, -1) for k in range(3))
    at = parent
    for k, axis in enumerate(axes):
        end = child if k == len(axes) - 1 else held.free_link(f"{child}_before_{k + 1}")
        if end != child:
            held.root.add("link", name=end)
        lower, upper = _bounds(scene, axis)
        is_bounded = bool(np.isfinite((lower, upper)).any())
        kind = "prismatic" if not axis.is_hinge else "revolute" if is_bounded else "continuous"
        element = held.connect(axis.name, kind, origin, at, end)
        element.add("axis", xyz=axis.direction)
        _write_laws(held, element, axis, {} if kind == "continuous" else {"lower": lower, "upper": upper})
        if axis.lead is not None:
            element.add("mimic", joint=held.tree.name_of_dof[axis.dof], multiplier=axis.lead)
        origin, at = AT_ORIGIN, end
    if link.hold == "ball":
        loses = bool(scene.spec.joints[given].damping[0] or scene.spec.joints[given].friction[0])
        return _GIMBAL + ("; its losses are about these" if loses else "")
    several = f"{len(axes)} joints of one axis, links without mass between"
    return scene.renaming(given, link.name) if len(axes) == 1 else several


def _bounds(scene: WrittenScene, axis: ChainAxis) -> tuple[float, float]:
    if axis.coordinate < 0 or axis.lead is not None:  # a component of a rotation vector, or a follower
        return -np.inf, np.inf
    return tuple(float(scene.first(scene.model.dofs, f"limit_{side}")[axis.dof]) for side in ("lower", "upper"))


def _write_laws(held: HeldLinks, element: Tag, axis: ChainAxis, bounds: dict[str, float]) -> None:
    scene, dofs, mimics = held.scene, held.scene.model.dofs, held.scene.model.mimics
    finite = {key: float(np.clip(value, -NO_LIMIT, NO_LIMIT)) for key, value in bounds.items()}
    if axis.lead is not None:
        element.add("limit", **finite, effort=NO_LIMIT, velocity=NO_LIMIT)
        return
    effort, speed, damping, friction = (
        float(scene.first(dofs, key)[axis.dof]) for key in ("effort_limit", "velocity_limit", "damping", "friction")
    )
    element.add("limit", **finite, effort=min(effort, NO_LIMIT), velocity=min(speed, NO_LIMIT))
    if damping or friction:
        element.add("dynamics", damping=damping, friction=friction)
    for m in np.flatnonzero((mimics.follower == axis.dof) & ~mimics.curve.any(axis=(0, 2))).tolist():
        element.add(
            "mimic",
            joint=held.tree.name_of_dof[int(mimics.leader[m])],
            multiplier=scene.first(mimics, "ratio")[m],
            offset=scene.first(mimics, "offset")[m],
        )


def _tell_laws(scene: WrittenScene, link: ChainLink, spec, given: str) -> None:
    """What acts on the coordinates of a joint: carried as far as URDF has it."""
    dofs, path = scene.model.dofs, link.path
    own = slice(*scene.model.joints.qd_start[link.joint : link.joint + 2])
    if spec.limit and link.hold != "axes":
        scene.lose("limit", given, f"{path}.limit", f"URDF has no limits of a {spec.type} joint")
    elif spec.limit:
        is_soft = (scene.first(dofs, "limit_stiffness")[own] > 0.0).any()
        scene.report_element("limit", given, f"{path}.limit", "hard: URDF has no soft limits" if is_soft else "")
    if spec.drive:
        idle = (dofs.drive_mode[own] == DriveMode.EFFORT) & (scene.first(dofs, "drive_target")[own] == 0.0)
        idle |= dofs.drive_mode[own] == DriveMode.NONE
        if idle.all() and link.hold == "axes":
            scene.report_element("drive", given, f"{path}.drive")
        else:
            scene.lose("drive", given, f"{path}.drive", "URDF has no targets and gains: only the effort limit is kept")
    if spec.mimic is not None and any(spec.mimic.coefficients[2:]):
        scene.lose("mimic", given, f"{path}.mimic.polynomial", "URDF has no polynomials: the joint moves freely")
    elif spec.mimic is not None:
        scene.report_element("mimic", given, f"{path}.mimic")
    if scene.first(dofs, "armature")[own].any():
        scene.lose("armature", given, f"{path}.armature", "URDF has no inertia of drive trains")
    if (scene.model.motions.kind[own] != MotionKind.NONE).any():
        scene.lose("motion", given, f"{path}.motion", "URDF has no prescribed motion: the joint moves freely")
    if spec.driving is not None:
        scene.lose("driving", given, f"{path}.driving", "URDF has no driving joints")


def _tell_start(scene: WrittenScene, link: ChainLink, given: str) -> None:
    """Coordinates and velocities that are not 0: URDF has no state."""
    joints, model = scene.model.joints, scene.model
    q = scene.first(model, "joint_q")[slice(*joints.q_start[link.joint : link.joint + 2])]
    qd = scene.first(model, "joint_qd")[slice(*joints.qd_start[link.joint : link.joint + 2])]
    at_rest = np.zeros(len(q))
    if link.hold in ("ball", "free"):
        at_rest[-1] = 1.0
    if not np.array_equal(q, at_rest) or qd.any():
        numbers = ", ".join(f"{key} = {np.array2string(value, precision=6)}" for key, value in (("q", q), ("qd", qd)))
        words = "URDF has no state: its coordinates begin at 0"
        scene.lose("state", given, link.path, f"{words} instead of {numbers}" if len(q) == 1 else words)


_STANDARD_GRAVITY = (0.0, 0.0, -9.81)  # of most programs that read URDF


def urdf_of(scene: WrittenScene, meshes: MeshCopies) -> Tag:
    """The root element of a scene as URDF.

    Args:
        scene: that is written; its report gets a line for each element.
        meshes: gets the meshes.
    """
    root, tree = tag("robot", name=scene.spec.name), ChainTree.of(scene)
    world = scene.spec.world
    write_shapes(scene, meshes, root.add("link", name=WORLD_NAME), world, WORLD_NAME, AT_ORIGIN)
    if tuple(world.gravity) != _STANDARD_GRAVITY:
        scene.lose("gravity", "", "world.gravity", "URDF has no gravity: programs take their own")
    frames: dict[int, Array] = {WORLD: AT_ORIGIN}  # of links, in their bodies
    held = HeldLinks(scene, root, tree, frames, {WORLD_NAME, *scene.bodies})
    _write_places(held, world, WORLD_NAME, WORLD_NAME, AT_ORIGIN)
    for link in tree.links:
        frames[link.body] = link.anchor_beyond
        _write_link(scene, meshes, root, link, held)
        write_joint(held, link)
    for j in np.flatnonzero(~scene.model.joints.is_tree).tolist():
        name = scene.model.joints.name[j]
        scene.lose("joint", name, f"joints.{name}", "URDF is a tree: nothing closes a loop, nothing can be switched")
    _tell_forces(scene)
    for kind, names in (("sensor", scene.spec.sensors), ("keyframe", scene.spec.keyframes)):
        for name in names:
            scene.lose(kind, name, f"{kind}s.{name}", f"URDF has no {kind}s")
    return root


def _write_link(scene: WrittenScene, meshes: MeshCopies, root: Tag, link: ChainLink, held: HeldLinks) -> None:
    model, b = scene.model, link.body
    name = model.bodies.name[b]
    body, path, given = scene.spec.bodies[name], f"bodies.{name}", scene.name_of(b)
    element, back = root.add("link", name=given), rot.pose_inverse(link.anchor_beyond)
    changes = [scene.renaming(name, given)]
    if link.hold == "prescribed":
        changes.append("is fixed: URDF has no prescribed motion")
    elif scene.first(model.bodies, "mass")[b] > 0.0:
        _write_inertial(scene, element, b, back)
    if not np.array_equal(back, AT_ORIGIN):
        changes.append("its frame is at its joint")
    scene.report_element("body", name, path, joined_words(*changes))
    scene.lose_strain(name, path, body)
    if body.gravity_compensation:
        scene.lose("gravity_compensation", name, f"{path}.gravity_compensation", "URDF has no forces")
    if body.motion is not None:
        scene.lose("motion", name, f"{path}.motion", "URDF has no prescribed motion")
    write_shapes(scene, meshes, element, body, path, back)
    _write_places(held, body, path, given, back)


def _write_inertial(scene: WrittenScene, element: Tag, b: int, back: Array) -> None:
    bodies = scene.model.bodies
    inertia, turn = scene.first(bodies, "inertia")[b], rot.quat_to_matrix(back[3:])
    inertia = turn @ inertia @ turn.T if back[3:6].any() else inertia
    inertial = element.add("inertial")
    inertial.add("origin", xyz=rot.pose_apply(back, scene.first(bodies, "com")[b]))
    inertial.add("mass", value=scene.first(bodies, "mass")[b])
    keys = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
    inertial.add("inertia", **{key: 0.5 * (inertia[i, k] + inertia[k, i]) for key, i, k in keys})


def _write_places(held: HeldLinks, body, path: str, owner: str, back: Array) -> None:
    """Named points and frames of a body, or of the world, as links without mass."""
    for kind, places in (("point", getattr(body, "points", {})), ("frame", body.frames)):
        for place, value in places.items():
            pose = np.array((*value, *AT_ORIGIN[3:])) if kind == "point" else pose_numbers(value)
            name = held.free_link(f"{owner}_{place}")
            held.root.add("link", name=name)
            held.connect(held.scene.joints.give(f"{name}_fixed"), "fixed", rot.pose_compose(back, pose), owner, name)
            told = f"{path.removeprefix('bodies.')}/{place}"
            held.scene.report_element(kind, told, f"{path}.{kind}s.{place}", f"is the link `{name}` without mass")


def _tell_forces(scene: WrittenScene) -> None:
    for name, force in scene.spec.forces.items():
        scene.lose("force", name, f"forces.{name}", f"URDF has no forces ({force.type})")
    contact = scene.spec.contact
    if not contact.enabled:
        scene.lose("contact", "", "contact", "URDF has no key that switches contact off: shapes collide in other programs")
    elif contact.exclude or contact.pairs:
        scene.lose("contact", "", "contact", "URDF has no key for pairs that touch: programs have files of their own")
    for name, material in scene.spec.materials.items():
        if material.model_fields_set - {"density"}:
            scene.lose("material", name, f"materials.{name}", "URDF has no friction and no restitution")
