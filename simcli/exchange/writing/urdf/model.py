"""A scene as URDF: a tree of links below the link `world`, each with its frame at the joint that holds it.

What URDF has no word for becomes a chain where a chain says the same: joints of several coordinates are slides and hinges
between links without mass, a screw a hinge and a slide that mimics it, a named point a link without mass.
"""

import numpy as np

from simcli import rotations as rot
from simcli.exchange.writing.chains import ChainLink, ChainTree
from simcli.exchange.writing.mesh_copies import MeshCopies
from simcli.exchange.writing.source import WrittenScene, joined_words, pose_numbers
from simcli.exchange.writing.urdf.joints import HeldLinks, write_joint
from simcli.exchange.writing.urdf.shapes import AT_ORIGIN, write_shapes
from simcli.exchange.writing.xml_text import Tag, tag
from simcli.model.tables.model import WORLD, Array
from simcli.spec.lookup.structure import WORLD_NAME

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
