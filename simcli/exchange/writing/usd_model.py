"""A scene as USD with physics: a prim for each body where it begins, its shapes below it, joints beside them.

Meshes stand in the file itself. A joint of several axes is a PhysicsJoint whose frames are turned so that its axes are x, y
and z; damping of a joint is that of a drive. Masses, frames of joints and gains are of single precision in the format.

Source: OpenUSD, UsdGeom and UsdPhysics. No deviation.
"""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from simcli import rotations as rot
from simcli.exchange.source.mechanism import GivenNames, words_of_renaming
from simcli.exchange.writing.usd_parts import add_form, add_xform, new_stage, paint_prim, write_joints
from simcli.exchange.writing.written_scene import WrittenScene, joined_words, pose_numbers
from simcli.model.bodies.mesh import read_mesh
from simcli.model.joints.state import State
from simcli.model.tables.model import WORLD, Array
from simcli.spec.lookup.structure import WORLD_NAME

_NO_SHAPE = {
    "margin": "USD has no margins of shapes",
    "grain": "USD has friction of one direction",
    "surface_velocity": "USD has no surfaces that move along themselves",
    "density": "the body has its mass",
}
_OF_MATERIAL = ("density", "friction", "friction_static", "restitution")
_LEAST_MASS = 1e-9  # [kg] of a body without any, since 0 says nothing in the format
_LEAST_MOMENT = 1e-9  # [m^2] of a point mass, per mass, likewise


@dataclass
class UsdScene:
    """A stage on its way to a file.

    Attributes:
        scene: that is written.
        stage: of USD.
        root: path of the prim that has all.
        bodies: body index to the path of its prim.
        shapes: index of a shape to the path of its prim.
        start: [m, 1], (B, 7), where the bodies begin.
        joined: pairs of bodies that a joint holds together, so that they do not touch in USD.
    """

    scene: WrittenScene
    stage: Any
    root: str
    bodies: dict[int, str] = field(default_factory=dict)
    shapes: dict[int, str] = field(default_factory=dict)
    start: Array = field(default_factory=lambda: np.zeros((0, 7)))
    joined: set[frozenset[int]] = field(default_factory=set)


class PrimNames:
    """Names of the prims below one, each given once."""

    def __init__(self) -> None:
        self._given = GivenNames(())

    def give(self, name: str, fallback: str) -> str:
        """A name that USD allows."""
        return self._given.give(name.replace("-", "_"), fallback)


def usd_of(scene: WrittenScene):
    """The stage of a scene.

    Args:
        scene: that is written; its report gets a line for each element.

    Raises:
        UsageError: usd-core is not installed.
    """
    stage = new_stage()
    root = f"/{PrimNames().give(scene.spec.name.replace(' ', '_'), 'scene')}"
    written = UsdScene(scene, stage, root, start=State.of(scene.model).body_q[0])
    stage.SetDefaultPrim(add_xform(stage, root))
    _write_gravity(written)
    materials = _write_materials(written)
    names = PrimNames()
    names.give("materials", "")
    names.give("joints", "")
    _write_owner(written, WORLD, scene.spec.world, WORLD_NAME, names.give(WORLD_NAME, ""), materials)
    for b, name in enumerate(scene.model.bodies.name):
        _write_owner(written, b, scene.spec.bodies[name], f"bodies.{name}", names.give(scene.name_of(b), "body"), materials)
    write_joints(written)
    _write_pairs(written)
    _tell_others(scene)
    return stage


def _write_gravity(written: UsdScene) -> None:
    from pxr import Gf, UsdPhysics

    gravity = np.asarray(written.scene.spec.world.gravity, float)
    size = float(np.linalg.norm(gravity))
    physics = UsdPhysics.Scene.Define(written.stage, f"{written.root}/physics")
    physics.CreateGravityMagnitudeAttr(size)
    down = gravity / size if size else np.array((0.0, 0.0, -1.0))
    physics.CreateGravityDirectionAttr(Gf.Vec3f(*down.tolist()))


def _write_materials(written: UsdScene) -> dict[str, object]:
    """All materials, by name."""
    from pxr import UsdPhysics, UsdShade

    scene, found, names = written.scene, {}, PrimNames()
    for name, material in scene.spec.materials.items():
        prim = UsdShade.Material.Define(written.stage, f"{written.root}/materials/{names.give(name, 'material')}")
        api = UsdPhysics.MaterialAPI.Apply(prim.GetPrim())
        at_rest = material.friction if material.friction_static is None else material.friction_static
        api.CreateDynamicFrictionAttr(material.friction)
        api.CreateStaticFrictionAttr(at_rest)
        api.CreateRestitutionAttr(material.restitution)
        if material.density is not None:
            api.CreateDensityAttr(material.density)
        found[name] = prim
        lost = sorted(material.model_fields_set - set(_OF_MATERIAL))
        scene.report_element("material", name, f"materials.{name}", f"without {', '.join(lost)}" if lost else "")
    return found


# Bodies.


def _write_owner(written: UsdScene, body: int, spec, path: str, given: str, materials: dict[str, object]) -> None:
    """A body, or the world, with its shapes and places."""
    scene, prim_path = written.scene, f"{written.root}/{given}"
    owner = "" if body == WORLD else path.removeprefix("bodies.")
    prim = add_xform(written.stage, prim_path, None if body == WORLD else written.start[body])
    written.bodies[body] = prim_path
    if body != WORLD:
        changes = [words_of_renaming(owner, given), *_weigh(written, prim, body)]
        scene.report_element("body", owner, path, joined_words(*changes))
        scene.lose_strain(owner, path, spec)
        for key, lost in (("motion", spec.motion is not None), ("gravity_compensation", bool(spec.gravity_compensation))):
            if lost:
                scene.lose(key, owner, f"{path}.{key}", f"USD has no `{key}` of a body")
    names = PrimNames()
    for name, shape in spec.shapes.items():
        _write_shape(written, (path, owner, name), shape, f"{prim_path}/{names.give(name, 'shape')}", spec.look, materials)
    for name, shape in spec.look.shapes.items():
        _write_look(written, (path, owner, name), shape, f"{prim_path}/{names.give(name, 'look')}", spec.look)
    for kind, places in (("point", getattr(spec, "points", {})), ("frame", spec.frames)):
        for name, value in places.items():
            pose = np.array((*value, *rot.IDENTITY_POSE[3:])) if kind == "point" else pose_numbers(value)
            add_xform(written.stage, f"{prim_path}/{names.give(name, kind)}", pose)
            scene.report_element(kind, f"{owner}/{name}", f"{path}.{kind}s.{name}", "is an Xform")


def _weigh(written: UsdScene, prim, body: int) -> list[str]:
    """Mass and velocity of a body; what was changed."""
    from pxr import Gf, UsdPhysics

    table, model = written.scene.model.bodies, written.scene.model
    changes: list[str] = []
    rigid = UsdPhysics.RigidBodyAPI.Apply(prim)
    if table.kinematic[body]:
        rigid.CreateKinematicEnabledAttr(True)
        return changes
    mass, inertia = float(table.mass[0, body]), table.inertia[0, body]
    if not mass > 0.0:
        changes.append(f"has no mass: {_LEAST_MASS:g} kg, since 0 says nothing in USD")
    mass = mass if mass > 0.0 else _LEAST_MASS
    moments, axes = np.linalg.eigh(0.5 * (inertia + inertia.T))
    if not moments[-1] > 0.0:
        moments, axes = np.full(3, _LEAST_MOMENT * mass), np.eye(3)
        changes.append(f"has no inertia: moments of {_LEAST_MOMENT:g} m^2 per mass, since 0 says nothing in USD")
    elif not (inertia - np.diag(np.diag(inertia))).any():
        moments, axes = np.diag(inertia), np.eye(3)
    axes = axes * np.sign(np.linalg.det(axes))
    api = UsdPhysics.MassAPI.Apply(prim)
    api.CreateMassAttr(mass)
    api.CreateCenterOfMassAttr(Gf.Vec3f(*map(float, table.com[0, body])))
    api.CreateDiagonalInertiaAttr(Gf.Vec3f(*map(float, moments)))
    x, y, z, w = map(float, rot.matrix_to_quat(axes))
    api.CreatePrincipalAxesAttr(Gf.Quatf(w, x, y, z))
    twist, turn = State.of(model).body_qd[0, body], rot.quat_to_matrix(written.start[body, 3:])
    floats = any(b == body for b in _floating(written))
    if twist.any() and floats:
        rigid.CreateVelocityAttr(Gf.Vec3f(*(turn.T @ twist[:3]).tolist()))
        rigid.CreateAngularVelocityAttr(Gf.Vec3f(*np.degrees(turn.T @ twist[3:]).tolist()))
    elif twist.any():
        changes.append("its joint moves where a run begins, which USD does not say: it is at rest")
    return changes


def _floating(written: UsdScene) -> list[int]:
    """Bodies that nothing holds."""
    joints = written.scene.model.joints
    free = np.flatnonzero(joints.is_tree & (joints.dof_dim.sum(axis=1) == 6) & (joints.parent == WORLD))
    return joints.child[free].tolist()


# Shapes.


def _write_shape(written: UsdScene, where: tuple[str, str, str], shape, prim_path: str, look, materials) -> None:
    from pxr import UsdPhysics, UsdShade

    scene, (path, owner, name) = written.scene, where
    label, place = (f"{owner}/{name}" if owner else name), f"{path}.shapes.{name}"
    prim, change = _form(written, shape, prim_path)
    if prim is None:
        scene.lose("shape", label, place, change)
        return
    written.shapes[scene.model.shapes.name.index(label)] = prim_path
    UsdPhysics.CollisionAPI.Apply(prim).CreateCollisionEnabledAttr(shape.collide)
    if shape.type == "mesh":
        UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr("convexHull" if shape.convex else "none")
    if shape.material is not None:
        binding = UsdShade.MaterialBindingAPI.Apply(prim)
        binding.Bind(materials[shape.material], materialPurpose="physics")
    paint_prim(prim, look.colour, 0.0 if look.hidden else look.opacity)
    scene.lose_keys(label, place, shape, {key: why for key, why in _NO_SHAPE.items() if key != "density"})
    scene.report_element("shape", label, place, change)


def _write_look(written: UsdScene, where: tuple[str, str, str], shape, prim_path: str, look) -> None:
    scene, (path, owner, name) = written.scene, where
    label, place = (f"{owner}/{name}" if owner else name), f"{path}.look.shapes.{name}"
    prim, change = _form(written, shape, prim_path)
    opacity = 0.0 if look.hidden else look.opacity if shape.opacity is None else shape.opacity
    paint_prim(prim, shape.colour or look.colour, opacity)
    scene.report_element("look", label, place, change)


def _form(written: UsdScene, shape, prim_path: str):
    """The gprim of a shape, and what is changed in it; None with the reason why there is none."""
    kind, pose, mesh = shape.type, pose_numbers(shape.pose), None
    if kind == "plane":
        frame, normal = rot.frame_along(np.asarray(shape.normal)), np.asarray(shape.normal)
        pose = rot.pose_compose(pose, rot.make_pose(shape.offset * normal, rot.matrix_to_quat(frame)))
        size: tuple[float, ...] = ()
    elif kind == "mesh":
        vertices, faces = read_mesh(written.scene.document.folder / shape.file)
        factors = np.asarray(shape.scale)
        size, mesh = (), (vertices * factors, faces if factors.prod() > 0.0 else faces[:, ::-1])
    elif kind == "heightfield":
        return None, "USD has no terrain of heights"
    elif kind == "sphere" and not shape.radius > 0.0:
        return None, "USD has no points that touch"
    else:
        keys = {"box": ("size",), "ellipsoid": ("radii",), "sphere": ("radius",)}.get(kind, ("radius", "length"))
        size = tuple(float(x) for key in keys for x in np.atleast_1d(getattr(shape, key)))
    return add_form(written.stage, prim_path, kind, size, pose, mesh), "is in the file itself" if kind == "mesh" else ""


# Pairs, and what USD lacks.


def _write_pairs(written: UsdScene) -> None:
    """FilteredPairsAPI of the shapes that do not touch in the scene, but would in USD."""
    from pxr import UsdPhysics

    scene, contacts = written.scene, written.scene.model.contacts
    for index, pair in enumerate(scene.spec.contact.exclude):
        scene.report_element("exclude", " ".join(pair), f"contact.exclude[{index}]")
    for index, numbers in enumerate(scene.spec.contact.pairs):
        lost = sorted(numbers.model_fields_set - {"a", "b"})
        words = f"without {', '.join(f'`{key}`' for key in lost)}: USD has no numbers of pairs" if lost else ""
        scene.report_element("pair", f"{numbers.a} {numbers.b}", f"contact.pairs[{index}]", words)
    if not scene.spec.contact.enabled or contacts is None:
        if not scene.spec.contact.enabled:
            scene.lose("contact", "", "contact.enabled", "USD has no key that switches contact off: its shapes collide")
        return
    table = scene.model.shapes
    touching = {(min(a, b), max(a, b)) for a, b, *_ in _rows(contacts)}
    for one, other in combinations(sorted(k for k in written.shapes if table.collide[k]), 2):
        bodies = frozenset((int(table.body[one]), int(table.body[other])))
        if len(bodies) == 1 or (one, other) in touching or bodies in written.joined:
            continue
        prim = written.stage.GetPrimAtPath(written.shapes[one])
        UsdPhysics.FilteredPairsAPI.Apply(prim).CreateFilteredPairsRel().AddTarget(written.shapes[other])


def _rows(contacts):
    for pairs in contacts.partners():
        yield from zip(*(column.tolist() for column in pairs), strict=True)


def _tell_others(scene: WrittenScene) -> None:
    for name in scene.spec.forces:
        scene.lose("force", name, f"forces.{name}", "USD has no forces")
    for kind, names in (("sensor", scene.spec.sensors), ("keyframe", scene.spec.keyframes)):
        for name in names:
            scene.lose(kind, name, f"{kind}s.{name}", f"USD has no {kind}s")
