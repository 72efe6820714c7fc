"""USD with physics as scenes: Newton's numbers of the same files, units and axes, approximations, pairs, what is lost."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support.pages import blocks, page, run_block
from support.usd_files import HULL, UsdFile, write_arm, write_loads

from simcli import rotations as rot
from simcli.errors import FileError, UsageError
from simcli.exchange.importing import ImportOptions, import_model, load_scene
from simcli.model import build
from simcli.model.bodies.mesh import mesh_properties
from simcli.model.joints import tree_kinematics
from simcli.model.joints.state import State
from simcli.spec import resolve

pytest.importorskip("pxr")
NEWTON = json.loads((Path(__file__).parent / "references" / "usd_newton.json").read_text())
SINGLE = 2e-6  # relative: Newton computes in single precision
TYPES = {"FIXED": "fixed", "REVOLUTE": "revolute", "PRISMATIC": "prismatic", "BALL": "ball", "D6": "d6"}
WRITERS = {"write_arm": write_arm, "write_loads": write_loads}
# Newton weighs meshes by themselves, not by their approximation, and leaves the inertia where a centre is written
# that is not that of the colliders; what OpenUSD says of these is tested below.
NOT_AS_NEWTON = ("mesh_1", "mesh_2", "shifted")
IN_OTHER_UNITS = {"cm, y up": (0.01, "Y", 1.0), "m, y up": (1.0, "Y", 1.0), "mm and grams": (0.001, "Z", 0.001)}


def read(path, sets=()):
    document = load_scene(path, sets)
    spec = resolve(document)
    return spec, build(spec, document)


def report_of(path):
    return {(one.fate, one.kind, one.name): one.why for one in import_model(path).report.entries}


def poses(model):
    found = State.of(model).body_q[0]
    return {name: found[k] for k, name in enumerate(model.bodies.name)}


def near(found, wanted, tolerance=SINGLE):
    size = max(1e-3, float(np.abs(np.asarray(wanted, float)).max(initial=0.0)))
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(wanted, float), rtol=0.0, atol=tolerance * size)


def same_pose(found, wanted, tolerance=SINGLE):
    near(found[:3], wanted[:3], tolerance)
    assert abs(np.dot(found[3:], wanted[3:])) == pytest.approx(1.0, abs=tolerance)


def inertia_of(model, name):
    """Mass, centre and inertia, (3, 3) about it, in body axes."""
    b = model.bodies.name.index(name)
    return model.bodies.mass[0, b], model.bodies.com[0, b], model.bodies.inertia[0, b]


def mass_matrix(model):
    """Of a tree, from the twists that unit rates give its bodies."""
    v, w = (
        np.stack([part[:, 0] for part in parts], axis=-1)
        for parts in zip(
            *(tree_kinematics.body_twists(model, model.joint_q, row[None]) for row in np.eye(model.n_qd)), strict=True
        )
    )
    turn, _ = tree_kinematics.body_poses(model, model.joint_q)
    inertia = turn[:, 0] @ model.bodies.inertia[0] @ np.swapaxes(turn[:, 0], 1, 2)
    return np.einsum("b,bij,bik->jk", model.bodies.mass[0], v, v) + np.einsum("bij,bik,bkl->jl", w, inertia, w)


@pytest.mark.reference
@pytest.mark.parametrize("name", WRITERS)
def test_masses_and_poses_are_those_of_newton(name, tmp_path):
    path = tmp_path / "model.usda"
    WRITERS[name](path)
    _, model = read(path)
    wanted = NEWTON[name]["bodies"]
    assert set(model.bodies.name) == set(wanted)
    found, twists = poses(model), State.of(model).body_qd[0]
    for body in set(wanted) - set(NOT_AS_NEWTON):
        mass, com, inertia = inertia_of(model, body)
        for own, key in ((mass, "mass"), (com, "com"), (inertia, "inertia")):
            near(own, wanted[body][key])
    for body in wanted if name == "write_loads" else ():
        same_pose(found[body], wanted[body]["pose"])
        near(twists[model.bodies.name.index(body)], wanted[body]["twist"])


@pytest.mark.reference
def test_joints_are_those_of_newton(tmp_path):
    path = tmp_path / "arm.usda"
    write_arm(path)
    spec, model = read(path)
    for name, wanted in NEWTON["write_arm"]["joints"].items():
        joint, j = spec.joints[name], model.joints.name.index(name)
        assert (joint.type, [joint.parent, joint.child]) == (TYPES[wanted["type"]], wanted["ends"])
        for column, pose in zip(("X_p", "X_c"), wanted["frames"], strict=True):
            same_pose(getattr(model.joints, column)[0, j], pose)
        own = slice(*model.joints.qd_start[j : j + 2])
        dofs = model.dofs
        if joint.type != "ball" and wanted["axis"]:
            near(dofs.axis[0, own], wanted["axis"])
            near(dofs.limit_lower[0, own], wanted["lower"])
            near(dofs.limit_upper[0, own], wanted["upper"])
            near(dofs.drive_stiffness[0, own], wanted["stiffness"])
            near(dofs.drive_damping[0, own], wanted["damping"])
            near(dofs.drive_target[0, own], wanted["targets"])
            most = [np.inf if one is None else one for one in wanted["most"]]
            np.testing.assert_allclose(dofs.effort_limit[0, own], most)


@pytest.mark.reference
def test_forward_kinematics_and_mass_matrix_are_those_of_newton(tmp_path):
    path, at = tmp_path / "arm.usda", NEWTON["write_arm"]["at"]
    write_arm(path)
    q = {name: value if len(value) > 1 else value[0] for name, value in at["q"].items()}
    _, model = read(path, [f"initial={json.dumps({'joint_q': q})}"])
    for name, pose in poses(model).items():
        same_pose(pose, at["poses"][name])
    joints = [model.joints.name.index(name) for name in at["order"]]
    order = np.concatenate([np.arange(*model.joints.qd_start[j : j + 2]) for j in joints])
    order = order[:-2]  # Newton's rates of two turns of a joint are not the derivatives of its coordinates
    at["mass_matrix"] = np.array(at["mass_matrix"])[:-2, :-2]
    near(mass_matrix(model)[np.ix_(order, order)], at["mass_matrix"])


# Units, masses, shapes.


@pytest.mark.parametrize(("length", "up", "kilograms"), IN_OTHER_UNITS.values(), ids=IN_OTHER_UNITS)
@pytest.mark.parametrize("name", WRITERS)
def test_units_and_the_axis_that_is_up_change_nothing(name, length, up, kilograms, tmp_path):
    models = []
    for label, units in (("si", (1.0, "Z", 1.0)), ("other", (length, up, kilograms))):
        WRITERS[name](tmp_path / f"{label}.usda", *units)
        models.append(read(tmp_path / f"{label}.usda")[1])
    one, other = models
    near(other.gravity, one.gravity)
    for table, column in (
        ("bodies", "mass"),
        ("bodies", "com"),
        ("bodies", "inertia"),
        ("joints", "X_p"),
        ("joints", "X_c"),
    ):
        near(getattr(getattr(other, table), column), getattr(getattr(one, table), column))
    for column in ("axis", "drive_stiffness", "drive_damping", "drive_target", "drive_target_velocity"):
        near(getattr(other.dofs, column), getattr(one.dofs, column))
    for column in ("limit_lower", "limit_upper", "effort_limit"):
        finite = np.isfinite(getattr(one.dofs, column))
        assert (finite == np.isfinite(getattr(other.dofs, column))).all()
        near(getattr(other.dofs, column)[finite], getattr(one.dofs, column)[finite])
    states = [State.of(model) for model in models]
    for own, wanted in zip(states[1].body_q[0], states[0].body_q[0], strict=True):
        same_pose(own, wanted)
    near(states[1].body_qd, states[0].body_qd)


def test_a_centre_beside_that_of_the_colliders_moves_the_inertia_as_openusd_has_it(tmp_path):
    from pxr import Gf, Usd, UsdPhysics

    path = tmp_path / "loads.usda"
    write_loads(path)
    stage = Usd.Stage.Open(str(path))

    def of_block(_prim):
        found = UsdPhysics.RigidBodyAPI.MassInformation()
        found.volume, found.inertia = 0.008, Gf.Matrix3f(0.008 * 0.2**2 / 6.0)
        found.centerOfMass, found.localPos, found.localRot = Gf.Vec3f(0), Gf.Vec3f(0), Gf.Quatf(1)
        return found

    body = UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath("/robot/shifted"))
    mass, moments, com, _ = body.ComputeMassProperties(of_block)
    own = inertia_of(read(path)[1], "shifted")
    near(own[0], mass)
    near(own[1], tuple(com))
    near(np.diag(own[2]), tuple(moments))


def test_bounds_of_a_mesh_are_its_box_and_its_ball(tmp_path):
    path = tmp_path / "loads.usda"
    write_loads(path)
    spec, model = read(path)
    size = np.array((0.3, 0.4, 0.1))  # of the mesh with its scale
    box, ball = spec.bodies["mesh_1"].shapes["part"], spec.bodies["mesh_2"].shapes["part"]
    near(box.size, size)
    near(box.pose.xyz, (0.01, 0.02, 0.03) + size / 2.0)
    near(inertia_of(model, "mesh_1")[0], 1000.0 * size.prod())
    radius = np.linalg.norm(size) / 2.0
    near(ball.radius, radius)
    near(inertia_of(model, "mesh_2")[0], 1000.0 * 4.0 / 3.0 * np.pi * radius**3)
    assert report_of(path)["changed", "collision", "mesh_1/part"] == "is its `boundingCube`"


def test_a_body_that_is_a_gprim_has_its_scale_and_stays_where_it_is_if_it_is_fixed(tmp_path):
    from pxr import Gf, UsdGeom, UsdPhysics

    file = UsdFile(tmp_path / "cube.usda", 0.01, "Y")
    cube = UsdGeom.Cube.Define(file.stage, "/robot/cube")
    cube.CreateSizeAttr(1.0)
    cube.AddTranslateOp().Set(Gf.Vec3d(100, 200, 300))
    cube.AddScaleOp().Set(Gf.Vec3f(20, 40, 60))
    UsdPhysics.RigidBodyAPI.Apply(cube.GetPrim())
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    file.weigh(cube.GetPrim(), density=500.0)
    file.save()
    for base, kind in (("floating", "free"), ("fixed", "fixed")):
        text = import_model(tmp_path / "cube.usda", ImportOptions(base=base)).text
        path = tmp_path / f"{base}.yaml"
        path.write_text(text)
        spec, model = read(path)
        near(spec.bodies["cube"].shapes["cube"].size, (0.2, 0.4, 0.6))
        near(inertia_of(model, "cube")[0], 500.0 * 0.048)
        same_pose(poses(model)["cube"], (1.0, -3.0, 2.0, 0.5**0.5, 0.0, 0.0, 0.5**0.5))
        assert (kind == "fixed") == bool(spec.joints)


def test_scaled_and_mirrored_prims_keep_their_form(tmp_path):
    from pxr import Gf, UsdGeom

    file = UsdFile(tmp_path / "scaled.usda")
    body = file.body("a", (0, 0, 1), mass=1.0, com=(0.1, 0, 0))
    UsdGeom.Xformable(body).AddScaleOp().Set(Gf.Vec3f(2, 2, 2))
    file.solid("Sphere", "a/egg", scale=(1, 2, 3), radius=0.1)
    file.solid("Cone", "a/cone", (0.1, 0, 0), scale=(-1, -1, -1), radius=0.1, height=0.2)
    file.solid("Cylinder", "a/squashed", axis="X", scale=(1, 1, 2), radius=0.1, height=0.2)
    file.solid("Mesh", "a/mirrored", scale=(-1, 1, 1))
    file.save()
    spec, model = read(tmp_path / "scaled.usda")
    shapes = spec.bodies["a"].shapes
    near(shapes["egg"].radii, (0.2, 0.4, 0.6))
    near(model.bodies.com[0, 0], (0.2, 0, 0))
    turn = rot.quat_to_matrix(np.array(shapes["cone"].pose.quat_xyzw))
    near(turn[:, 2], (0, 0, -1))
    near(shapes["cone"].pose.xyz, (0.2, 0, 0))
    assert (shapes["squashed"].radius, shapes["squashed"].length) == pytest.approx((0.4, 0.4))
    assert "larger radius" in report_of(tmp_path / "scaled.usda")["changed", "collision", "a/squashed"]
    s = model.shapes.name.index("a/mirrored")
    vertices = rot.pose_apply(model.shapes.pose[0, s], model.shapes.vertices[s])
    near(sorted(vertices[:, 0].round(6)), sorted((np.array(HULL)[:, 0] * -2).round(6)))
    assert mesh_properties(model.shapes.vertices[s], model.shapes.faces[s]).mass > 0.0


# Joints.


def test_axes_without_a_limit_are_free_and_turned_joints_keep_their_coordinates(tmp_path):
    file = UsdFile(tmp_path / "chain.usda")
    for k, name in enumerate("abcd"):
        file.body(name, (0.1 * k, 0, 0), mass=1.0, moments=(0.1, 0.2, 0.3))
    upright = (0.8, 0.0, 0.6, 0.0)
    file.joint("RevoluteJoint", "first", "a", None, (0, 0, 0.1), (0, 0, 0.1), (upright, upright), axis="Z", upperLimit=50.0)
    two = file.joint("Joint", "second", "b", "a", (-0.05, 0, 0), (0.05, 0, 0))
    for axis in ("transX", "transY", "transZ", "rotY"):
        file.bound(two, axis, 1.0, -1.0)
    file.drive(two, "rotX", 3.0, 0.1, 10.0)
    mixed = file.joint("Joint", "third", "c", "b")
    for axis in ("transX", "rotY", "rotZ"):
        file.bound(mixed, axis, 1.0, -1.0)
    file.bound(mixed, "transY", 0.01, 0.01)
    ball = file.joint("Joint", "fourth", "c", "d", (0.1, 0, 0))
    for axis in ("transX", "transY", "transZ"):
        file.bound(ball, axis, 0.0, 0.0)
    file.save()
    spec, model = read(tmp_path / "chain.usda")
    first, second, third = (spec.joints[name] for name in ("first", "second", "third"))
    assert (first.parent, first.child, second.parent, second.child) == ("world", "a", "a", "b")
    assert (first.axis, first.limit[0].upper) == ((0.0, 0.0, -1.0), pytest.approx(np.radians(50.0)))
    assert [axis.axis for axis in second.axes.angular] == [(0.0, 0.0, -1.0), (-1.0, 0.0, 0.0)]
    assert second.drive[1].target == pytest.approx(np.radians(10.0))
    assert (third.parent, third.child) == ("c", "b")  # slides and turns cannot change their order
    assert spec.joints["fourth"].type == "ball"
    assert third.motion[0].position == pytest.approx(0.01)
    same_pose(poses(model)["a"], (0, 0, 0, 0, 0, 0, 1))
    same_pose(poses(model)["b"], (0.1, 0, 0, 0, 0, 0, 1))
    assert "0.1 m and 0 rad apart" in report_of(tmp_path / "chain.usda")["changed", "joint", "third"]


def test_loops_and_orphans_are_told(tmp_path):
    file = UsdFile(tmp_path / "loop.usda")
    from pxr import UsdPhysics

    UsdPhysics.ArticulationRootAPI.Apply(file.body("a", (0, 0, 0), mass=1.0))
    file.body("b", (1, 0, 0), mass=1.0)
    file.body("c", (1, 0, 1), mass=1.0)
    file.body("lone", (5, 0, 0), mass=1.0)
    file.body("other", (6, 0, 0), mass=1.0)
    file.joint("RevoluteJoint", "ab", "a", "b", (1, 0, 0), axis="Y")
    file.joint("RevoluteJoint", "bc", "b", "c", (0, 0, 1), axis="Y")
    file.joint("SphericalJoint", "ca", "c", "a", (-1, 0, -1), coneAngle0Limit=30.0)
    file.joint("DistanceJoint", "rope", "a", "c", (0, 0, 0), maxDistance=2.0)
    file.joint("FixedJoint", "apart", "lone", "other", (1, 0, 0), breakForce=10.0)
    orphan = file.joint("FixedJoint", "orphan", "a", "gone")
    file.joint("FixedJoint", "again", "a", "a")
    off = file.joint("FixedJoint", "off", "a", "lone")
    off.GetAttribute("physics:jointEnabled").Set(False)
    fast = file.joint("PrismaticJoint", "fast", "a", "other", axis="X", excludeFromArticulation=True)
    file.drive(fast, "linear", 1.0, 1.0)
    UsdPhysics.DriveAPI(fast, "linear").CreateTypeAttr("acceleration")
    file.save()
    spec, _ = read(tmp_path / "loop.usda")
    assert {name: joint.loop for name, joint in spec.joints.items()} == {
        "ab": False, "bc": False, "apart": False, "ca": True, "rope": True, "fast": True,
    }  # fmt: skip
    told = report_of(tmp_path / "loop.usda")
    assert "<" + str(orphan.GetPath()) not in str(told)
    lost = {
        ("dropped", "PhysicsFixedJoint", "/robot/orphan"): "which is no prim: the joint is an orphan",
        ("dropped", "PhysicsFixedJoint", "/robot/again"): "joins `a` and itself",
        ("dropped", "PhysicsFixedJoint", "/robot/off"): "is not enabled",
        ("dropped", "attribute", "/robot/ca.physics:coneAngle0Limit"): "not of a cone",
        ("dropped", "attribute", "/robot/apart.physics:breakForce"): "do not break",
        ("dropped", "drive", "/robot/fast: linear"): "gains per mass",
        ("changed", "joint", "apart"): "are under no articulation root",
    }
    for key, words in lost.items():
        assert words in told[key]
    assert spec.joints["rope"].limit[0].upper == 2.0


# What touches, materials, what is lost.


def test_pairs_that_are_filtered_do_not_touch(tmp_path):
    from pxr import UsdPhysics

    file = UsdFile(tmp_path / "pairs.usda")
    for k, name in enumerate("abcd"):
        prim = file.body(name, (k, 0, 1), mass=1.0)
        file.solid("Sphere", f"{name}/ball", radius=0.1)
        if name == "a":
            UsdPhysics.FilteredPairsAPI.Apply(prim).CreateFilteredPairsRel().SetTargets(["/robot/b"])
    file.solid("Plane", "ground", (0, 0, -0.2), axis="Y", width=3.0)
    for one, other in (("one", "two"), ("two", "one")):
        group = UsdPhysics.CollisionGroup.Define(file.stage, f"/robot/{one}")
        group.CreateFilteredGroupsRel().SetTargets([f"/robot/{other}"])
        group.GetCollidersCollectionAPI().IncludePath("/robot/c" if one == "one" else "/robot/d")
    file.joint("RevoluteJoint", "hinge", "a", "c", (1, 0, 0), (-1, 0, 0), collisionEnabled=True)
    file.joint("RevoluteJoint", "foot", "ground", "d", (3, 1.2, 0), axis="X")
    file.save()
    spec, model = read(tmp_path / "pairs.usda")
    pairs = {
        tuple(sorted(model.shapes.name[s] for s in (a, b)))
        for some in model.contacts.partners()
        for a, b, _ in zip(*some, strict=True)
    }
    assert pairs == {
        ("a/ball", "c/ball"), ("a/ball", "d/ball"), ("b/ball", "c/ball"), ("b/ball", "d/ball"),
        ("a/ball", "ground"), ("b/ball", "ground"), ("c/ball", "ground"),
    }  # fmt: skip
    ground = spec.world.shapes["ground"]
    assert (ground.normal, ground.offset) == (pytest.approx((0.0, 1.0, 0.0)), pytest.approx(0.0, abs=1e-12))
    told = report_of(tmp_path / "pairs.usda")
    assert told["changed", "collision", "world/ground"] == "has no end: without `width`"
    assert "part of no body that moves" in told["changed", "joint", "foot"]


def test_each_prim_and_each_property_has_a_line(tmp_path):
    from pxr import Sdf, UsdGeom, UsdLux, UsdPhysics

    write_loads(tmp_path / "model.usda")
    file = UsdFile(tmp_path / "told.usda")
    body = file.body("a", (0, 0, 1), mass=1.0)
    file.solid("Sphere", "a/ball", radius=0.1)
    body.CreateAttribute("physxRigidBody:linearDamping", Sdf.ValueTypeNames.Float).Set(0.1)
    body.AddAppliedSchema("PhysxRigidBodyAPI")
    look = UsdGeom.Cube.Define(file.stage, "/robot/a/look")
    look.CreateDisplayColorAttr([(1, 0, 0)])
    UsdGeom.Cube.Define(file.stage, "/robot/a/hidden").CreatePurposeAttr("guide")
    UsdLux.SphereLight.Define(file.stage, "/robot/sun")
    UsdGeom.Camera.Define(file.stage, "/robot/eye")
    UsdGeom.PointInstancer.Define(file.stage, "/robot/many")
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Xform.Define(file.stage, "/robot/a/group").GetPrim())
    off = file.body("off", (0, 0, 2), mass=1.0)
    off.GetAttribute("physics:rigidBodyEnabled").Set(False)
    off_shape = file.solid("Cube", "off/block", size=1.0)
    moved = UsdGeom.Xformable(body).GetOrderedXformOps()[0]
    moved.Set((0, 0, 1), 0.0)
    moved.Set((0, 0, 2), 1.0)
    inactive = UsdGeom.Xform.Define(file.stage, "/robot/sleeping").GetPrim()
    inactive.SetActive(False)
    file.save()
    report = import_model(tmp_path / "told.usda").report
    told = {(one.kind, one.name): (one.fate, one.is_note) for one in report.entries}
    wanted = {
        ("link", "a"): ("carried", False), ("visual", "a/look"): ("carried", False),
        ("Cube", "/robot/a/hidden"): ("dropped", True),
        ("SphereLight", "/robot/sun"): ("dropped", True), ("Camera", "/robot/eye"): ("dropped", True),
        ("PointInstancer", "/robot/many"): ("dropped", False), ("Xform", "/robot/a/group"): ("dropped", False),
        ("schema", "/robot/a: PhysxRigidBodyAPI"): ("dropped", False), ("Xform", "/robot/sleeping"): ("dropped", True),
        ("attribute", "/robot/a.physxRigidBody:linearDamping"): ("dropped", False),
        ("attribute", "/robot/a.xformOp:translate"): ("dropped", False), ("link", "/robot/off"): ("changed", False),
        ("collision", "world/block"): ("carried", False),
    }  # fmt: skip
    assert {key: told.get(key) for key in wanted} == wanted
    told_of = " ".join(f"{one.file} {one.name}" for one in report.entries)
    assert all(str(prim.GetPath()) in told_of for prim in file.stage.Traverse())
    assert off_shape.IsValid()
    spec, _ = read(tmp_path / "told.usda")
    assert (spec.bodies["a"].look.colour, list(spec.bodies["a"].look.shapes)) == ("#ff0000", ["look"])
    assert list(spec.world.shapes) == ["block"]
    assert read(tmp_path / "model.usda")[0].materials["steel"].friction_static == 0.5


def test_instances_and_references_within_the_folder_are_bodies(tmp_path):
    from pxr import Usd, UsdGeom

    (tmp_path / "parts").mkdir()
    part = UsdFile(tmp_path / "parts" / "wheel.usda")
    part.body("wheel", mass=2.0, moments=(0.1, 0.1, 0.1))
    part.solid("Cylinder", "wheel/rim", radius=0.2, height=0.1)
    part.save()
    stage = Usd.Stage.CreateNew(str(tmp_path / "cart.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    for k in range(3):
        xform = UsdGeom.Xform.Define(stage, f"/cart/corner_{k}")
        xform.AddTranslateOp().Set((k, 0, 0.5))
        xform.GetPrim().GetReferences().AddReference("parts/wheel.usda")
        xform.GetPrim().SetInstanceable(k != 2)
    stage.GetRootLayer().Save()
    spec, model = read(tmp_path / "cart.usda")
    assert list(spec.bodies) == ["wheel", "wheel_2", "wheel_3"]
    near(State.of(model).body_q[0, :, 0], [0.0, 1.0, 2.0])
    assert list(spec.bodies["wheel_2"].shapes) == ["rim"]
    from pxr import UsdUtils

    UsdUtils.CreateNewUsdzPackage(str(tmp_path / "cart.usda"), str(tmp_path / "cart.usdz"))
    assert list(read(tmp_path / "cart.usdz")[0].bodies) == ["wheel", "wheel_2", "wheel_3"]


# Files that are refused, with the reason.


def usda(text, head='defaultPrim = "A"'):
    return f"#usda 1.0\n(\n{head}\n)\n{text}".encode()


def naming(asset, arc="references"):
    return usda(f'def Xform "A" (\n    prepend {arc} = {asset}\n)\n{{\n}}\n')


BOMB = 'def Xform "A0"\n{\n}\n' + "".join(
    f'def Xform "A{k}"\n{{\n'
    + "".join(f'    def Xform "c{i}" (\n instanceable = true\n references = </A{k - 1}>\n)\n{{\n}}\n' for i in range(10))
    + "}\n"
    for k in range(1, 10)
)
DEEP = "".join(f'def Xform "a{i}"\n{{\n' for i in range(3000)) + "}\n" * 3000
BODY = 'def Xform "A" (\n    prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]\n)\n{{\n    {}\n}}\n'
REFUSED = {
    "no usd": (b"hello", "is no USD"),
    "nothing": (b"", "is no USD"),
    "half a text": (usda('def Xform "A" {\n'), "cannot be read as USD"),
    "half a crate": (b"PXR-USDC" + bytes(80), "cannot be read as USD"),
    "no package": (b"PK\x03\x04" + bytes(80), "is no package"),
    "itself": (naming("@hostile.usda@"), "is a part of itself"),
    "a circle": (naming("@circle.usda@"), "is a part of itself"),
    "a circle within": (
        usda('def Xform "A"\n{\n def Xform "b" (\n references = </A>\n)\n {\n }\n}\n'),
        "is a part of itself",
    ),
    "a circle of inherits": (usda('def Xform "A"\n{\n def "b" (\n inherits = </A>\n)\n {\n }\n}\n'), "is a part of itself"),
    "sublayers in a circle": (usda("", "subLayers = [@hostile.usda@]"), "go in a circle"),
    "a missing layer": (naming("@gone.usda@"), "there is no such file"),
    "a missing payload": (naming("@gone.usda@", "payload"), "there is no such file"),
    "a missing sublayer": (usda("", "subLayers = [@gone.usda@]"), "there is no such file"),
    "above the folder": (naming("@../outside.usda@"), "outside of the folder"),
    "by a link": (naming("@link.usda@"), "outside of the folder"),
    "by a variant": (
        usda(
            'def "A" (\n variantSets = "v"\n)\n{\n variantSet "v" = {\n "x" (\n references = @../outside.usda@\n) {\n}\n}\n}'
        ),
        "outside of the folder",
    ),
    "an absolute path": (naming("@/etc/hostname@"), "outside of the folder"),
    "a web address": (naming("@https://127.0.0.1/a.usd@"), "outside of the folder"),
    "another file": (naming("@other.txt@"), "layers are"),
    "an expression": (naming('@`"${A}.usda"`@'), "an expression"),
    "no such prim": (naming("@part.usda@</Nope>"), "cannot be composed"),
    "clips": (usda('def "A" (\n clips = {\n dictionary default = {\n }\n }\n)\n{\n}\n'), "value clips"),
    "instances of instances": (usda(BOMB), "more than 100000 prims"),
    "depth": (usda(DEEP), "within each other"),
    "a unit of nothing": (usda('def "A"\n{\n}\n', "metersPerUnit = 0"), "a unit of 0 m"),
    "a unit of infinity": (usda('def "A"\n{\n}\n', "kilogramsPerUnit = inf"), "inf kg"),
    "no mass at all": (usda(BODY.format("")), "/A: link `A` has no mass"),
    "a mass that is none": (usda(BODY.format("float physics:mass = nan")), "not 1 finite numbers"),
    "a negative moment": (
        usda(BODY.format("float physics:mass = 1\n    float3 physics:diagonalInertia = (-1, 1, 1)")),
        "moment is negative",
    ),
    "flat": (
        usda(BODY.format('double3 xformOp:scale = (1, 0, 1)\n uniform token[] xformOpOrder = ["xformOp:scale"]')),
        "flattens",
    ),
    "far": (
        usda(BODY.format('double3 xformOp:translate = (inf, 0, 1)\n uniform token[] xformOpOrder = ["xformOp:translate"]')),
        "its transformation",
    ),
    "an axis of no name": (usda('def Cylinder "A"\n{\n uniform token axis = "x"\n}\n'), "not X, Y or Z"),
    "nothing is up": (usda('def "A"\n{\n}\n', 'upAxis = "X"'), "not Y or Z"),
    "an empty stage": (usda(""), "nothing in it has mass"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_hostile_files_are_refused_with_the_reason(what, tmp_path, capfd):
    folder = tmp_path / "model"
    folder.mkdir()
    content, words = REFUSED[what]
    suffix = ".usdc" if "crate" in what else ".usdz" if "package" in what else ".usda"
    path = folder / f"hostile{suffix}"
    path.write_bytes(content)
    (tmp_path / "outside.usda").write_bytes(usda('def Xform "A"\n{\n}\n'))
    (folder / "link.usda").symlink_to(tmp_path / "outside.usda")
    (folder / "circle.usda").write_bytes(naming("@hostile.usda@"))
    (folder / "part.usda").write_bytes(usda('def Xform "A"\n{\n}\n'))
    (folder / "other.txt").write_text("x")
    with pytest.raises(FileError, match=re.escape(words)) as error:
        import_model(path)
    assert str(path) in str(error.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.full
@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
def test_damaged_bytes_are_read_or_refused(suffix, tmp_path):
    """No other error; a crate that claims arrays of terabytes takes no memory."""
    rng = np.random.default_rng(5)
    write_arm(tmp_path / f"arm{suffix}")
    whole, fates = (tmp_path / f"arm{suffix}").read_bytes(), set()
    for k in range(150):
        data = bytearray(whole)
        for place in rng.integers(8, len(data), 3):
            data[place] = rng.integers(256)
        path = tmp_path / f"damaged_{k}{suffix}"
        path.write_bytes(data)
        try:
            import_model(path)
            fates.add("read")
        except FileError:
            fates.add("refused")
    assert fates == {"read", "refused"}


def test_a_folder_that_is_given_may_be_read(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "a.usda").write_bytes(naming("@../outside.usda@"))
    file = UsdFile(tmp_path / "outside.usda")
    file.body("a", mass=1.0)
    file.save()
    assert import_model(folder / "a.usda", ImportOptions(search=(tmp_path,))).report.counts()["dropped"] == 0


MESHES = {
    "no faces": ({"faceVertexCounts": []}, "has no faces"),
    "faces of points that are not there": ({"faceVertexIndices": [0, 1, 9] + [0, 1, 2] * 3}, "points that are not there"),
    "negative faces": ({"faceVertexIndices": [0, 1, -1] + [0, 1, 2] * 3}, "points that are not there"),
    "counts that do not fit": ({"faceVertexCounts": [3, 3]}, "points that are not there"),
    "no numbers": ({"points": [(0, 0, float("nan"))] * 5}, "mesh:"),
    "flat": ({"points": [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 0)]}, "mesh:"),
}


@pytest.mark.parametrize("what", MESHES)
def test_damaged_meshes_are_left_out_by_name(what, tmp_path):
    file = UsdFile(tmp_path / "mesh.usda")
    file.body("a", mass=1.0)
    mesh = file.solid("Mesh", "a/part")
    values, words = MESHES[what]
    for key, value in values.items():
        mesh.GetAttribute(key).Set(value)
    file.save()
    entries = import_model(tmp_path / "mesh.usda").report.entries
    told = next(one for one in entries if one.name == "/robot/a/part")
    assert told.fate == "dropped"
    assert words in told.why


def test_without_usd_core_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pxr", None)
    (tmp_path / "a.usda").write_bytes(usda(""))
    with pytest.raises(UsageError, match=r"simcli\[usd\]"):
        import_model(tmp_path / "a.usda")


def test_the_example_of_the_page_says_what_it_shows(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    console = [block for kind, block in blocks(page("export")) if kind == "console"]
    assert sum(run_block(block, capfd) for block in console) == 5
    from pxr import Usd

    stage = Usd.Stage.Open("motion.usdz")
    rod = stage.GetPrimAtPath(f"{stage.GetDefaultPrim().GetPath()}/rod")
    assert rod.GetAttribute("xformOp:orient").GetNumTimeSamples() == 51
