"""`simcli export -o x.glb` and `.usda`: what readers of glTF and USD find is the motion and the shapes of the run.

`simcli decompose`: the convex parts of a mesh are convex, fill it, and collide where it does; what goes wrong is said.

Terrain from PNG pictures: greys of 8 and 16 bits, which way is up, the same as numbers, mistakes.
"""

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from support.coloured_meshes import COLLADA, VOLUME
from support.diff_files import write_run
from support.forward import build_scene
from support.process import simcli

from simcli import rotations as rot
from simcli.cli import process as cli_process
from simcli.cli.process import run_command
from simcli.errors import Exit, FileError, OutputError, SceneError, UsageError
from simcli.exchange.source.coloured_meshes import read_coloured_mesh
from simcli.model import build
from simcli.model.bodies.hull import convex_hull
from simcli.model.bodies.mesh import mesh_properties, read_mesh
from simcli.records.reading.reader import open_trajectory
from simcli.spec import load_document, resolve
from simcli.view.drawing.items import HERE, UPRIGHT, Item
from simcli.view.drawing.solids import triangles_of
from simcli.view.subject import subject_of_scene

FLOAT32 = 1e-6  # relative: numbers of glTF are float32
SCENE = """
simcli: 1
params: {v: 1.0}
world: {shapes: {ground: {type: plane, normal: [0, 0, 1], offset: -9}, post: {type: box, size: [0.1, 0.2, 3]}}}
defaults: {body: {mass: 1}}
bodies:
  ball: {velocity: {angular: [90, 7, 2]}, shapes: {s: {type: sphere, radius: 0.3, pose: {xyz: [0.1, 0, 0]}}}}
  egg: {pose: {xyz: [1, 0, 0]}, shapes: {s: {type: ellipsoid, radii: [0.1, 0.2, 0.3], collide: false}}}
  pill:
    velocity: {linear: ["${v}", 0, 0.3], angular: [1, 7, 2]}
    pose: {xyz: [2, 0, 0]}
    shapes: {s: {type: capsule, radius: 0.1, length: 0.4}}
  can: {pose: {xyz: [3, 0, 0]}, shapes: {s: {type: cylinder, radius: 0.1, length: 0.4}}}
  cone: {pose: {xyz: [4, 0, 0]}, shapes: {s: {type: cone, radius: 0.1, length: 0.4}}}
  bare: {pose: {xyz: [5, 0, 0]}, inertia: {diag: [1, 1, 1]}}
joints: {pin: {type: revolute, parent: world, child: bare, at: [5, 0, 1], axis: [0, 1, 0]}}
forces: {coil: {type: spring, a: {world: [0, 0, 2]}, b: {body: ball, at: [0, 0, 0]}, stiffness: 5}}
contact: {enabled: false}
solver: {dt: 2 ms}
run: {duration: 0.2}
output: {every: 0.01}
batch: {vary: {params.v: {grid: [1, 2]}}}
"""
NUMBERS = {5126: "<f4", 5125: "<u4"}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
VOLUMES = {  # of a solid and of the factor by which one of 32 corners is smaller
    "sphere": ((0.3,), 4 / 3 * np.pi * 0.3**3),
    "ellipsoid": ((0.1, 0.2, 0.3), 4 / 3 * np.pi * 0.006),
    "box": ((0.1, 0.2, 0.3), 0.006),
    "cylinder": ((0.1, 0.4), np.pi * 0.01 * 0.4),
    "capsule": ((0.1, 0.4), np.pi * 0.01 * 0.4 + 4 / 3 * np.pi * 0.001),
    "cone": ((0.1, 0.4), np.pi * 0.01 * 0.4 / 3),
}


def command(*words):
    return cli_process.run_command(list(map(str, words)), debug=False, as_json=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("glb")
    (folder / "kinds.yaml").write_text(SCENE)
    assert command("run", folder / "kinds.yaml", "-o", folder / "a.h5", "-q") == Exit.OK
    return folder / "a.h5"


@pytest.fixture(scope="module")
def path(run):
    out = run.with_name("a.glb")
    assert command("export", run, "-o", out, "--world", "1", "--every", "2") == Exit.OK
    return out


class Glb:
    """A file as its specification says how to read it."""

    def __init__(self, path):
        data = path.read_bytes()
        assert struct.unpack("<4sII", data[:12]) == (b"glTF", 2, len(data))
        n, kind = struct.unpack("<I4s", data[12:20])
        assert (kind, n % 4) == (b"JSON", 0)
        self.json = json.loads(data[20 : 20 + n])
        m, kind = struct.unpack("<I4s", data[20 + n : 28 + n])
        assert (kind, m, 28 + n + m) == (b"BIN\0", self.json["buffers"][0]["byteLength"], len(data))
        self.bytes = data[28 + n :]

    def array(self, number):
        one = self.json["accessors"][number]
        view = self.json["bufferViews"][one["bufferView"]]
        width = WIDTHS[one["type"]]
        dtype = np.dtype(NUMBERS[one["componentType"]])
        assert view["byteLength"] == one["count"] * width * dtype.itemsize
        assert view["byteOffset"] % 4 == 0
        values = np.frombuffer(self.bytes, dtype, one["count"] * width, view["byteOffset"]).reshape(-1, width)
        assert np.isfinite(values.astype(float)).all()
        if "min" in one:
            assert (values.min(axis=0).tolist(), values.max(axis=0).tolist()) == (one["min"], one["max"])
        return values

    def node(self, name):
        return next(k for k, node in enumerate(self.json["nodes"]) if node["name"] == name)

    def parents(self):
        return {child: k for k, node in enumerate(self.json["nodes"]) for child in node.get("children", ())}

    def matrix(self, number, frame):
        """(4, 4), from a node to the scene."""
        node = self.json["nodes"][number]
        parts = {"translation": np.zeros(3), "rotation": np.array(UPRIGHT), "scale": np.ones(3)}
        parts |= {name: np.array(node[name]) for name in parts if name in node}
        animation = self.json["animations"][0]
        for channel in animation["channels"]:
            if channel["target"]["node"] == number:
                output = animation["samplers"][channel["sampler"]]["output"]
                parts[channel["target"]["path"]] = self.array(output)[frame].astype(float)
        found = np.eye(4)
        found[:3, :3] = rot.quat_to_matrix(parts["rotation"]) * parts["scale"]
        found[:3, 3] = parts["translation"]
        above = self.parents().get(number)
        return found if above is None else self.matrix(above, frame) @ found


Y_UP = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # from z up


def test_bodies_are_where_the_run_has_them(run, path):
    glb = Glb(path)
    with open_trajectory(run) as trajectory:
        time, poses, bodies = trajectory.time[::2], trajectory.read("frames/body_q")[::2, 1], trajectory.bodies
    sampler = glb.json["animations"][0]["samplers"][0]
    np.testing.assert_allclose(glb.array(sampler["input"])[:, 0], time, rtol=FLOAT32)
    for b, name in enumerate(bodies):
        for frame in (0, 3, len(time) - 1):
            found = glb.matrix(glb.node(name), frame)
            np.testing.assert_allclose(found[:3, 3], Y_UP @ poses[frame, b, :3], atol=FLOAT32 * 10)
            np.testing.assert_allclose(found[:3, :3], Y_UP @ rot.quat_to_matrix(poses[frame, b, 3:]), atol=FLOAT32)


def test_quaternions_are_unit_and_never_jump(path):
    glb = Glb(path)
    n = 0
    for channel in glb.json["animations"][0]["channels"]:
        if channel["target"]["path"] == "rotation":
            turns = glb.array(glb.json["animations"][0]["samplers"][channel["sampler"]]["output"])
            np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, atol=FLOAT32)
            assert ((turns[1:] * turns[:-1]).sum(axis=1) > 0).all()
            n += 1
    assert n == 6 + 1  # bodies and the spring


def test_shapes_hang_on_their_bodies(path):
    glb = Glb(path)
    nodes, parents = glb.json["nodes"], glb.parents()
    for name, body in {"ball/s": "ball", "can/s": "can", "ground": "world", "post": "world"}.items():
        assert nodes[parents[glb.node(name)]]["name"] == body
    assert nodes[glb.node("ball/s")]["translation"] == [0.1, 0, 0]
    primitive = glb.json["meshes"][nodes[glb.node("ball/s")]["mesh"]]["primitives"][0]
    radius = np.linalg.norm(glb.array(primitive["attributes"]["POSITION"]), axis=1)
    np.testing.assert_allclose(radius, 0.3, rtol=FLOAT32)
    assert nodes[glb.node("bare")]["children"]  # a body without shapes is seen too


def test_a_spring_reaches_from_end_to_end(run, path):
    glb = Glb(path)
    with open_trajectory(run) as trajectory:
        ball = trajectory.body("ball").position[::2, 1]
    number = glb.node("coil")
    for frame in (0, 5, 10):
        ends = glb.matrix(number, frame) @ np.array([[0, 0, -0.5, 1], [0, 0, 0.5, 1]]).T
        np.testing.assert_allclose(ends[:3].T, [Y_UP @ (0, 0, 2.0), Y_UP @ ball[frame]], atol=1e-5)


@pytest.mark.parametrize("kind", VOLUMES)
def test_solids_are_closed_and_face_outwards(kind):
    size, volume = VOLUMES[kind]
    item = Item("a", 0, kind, size, HERE, UPRIGHT, (1, 1, 1))
    vertices, triangles, normals = triangles_of(item, 1.0)
    corners = vertices[triangles]
    outside = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.linalg.norm(outside, axis=1) > 0).all()
    assert np.einsum("ij,ij->", corners[:, 0], outside) / 6 == pytest.approx(volume, rel=0.02)
    np.testing.assert_allclose(outside.sum(axis=0), 0.0, atol=1e-12)  # closed
    for side in range(3):
        assert np.ptp(vertices[:, side]) == pytest.approx(np.ptp(item.corners[:, side]), rel=1e-9)
    if normals is not None:
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
        assert (np.einsum("ij,ikj->ik", outside, normals[triangles]) > 0).all()


@pytest.fixture(scope="module", params=[".usda", ".usdc", ".usdz"])
def stage(request, run):
    usd = pytest.importorskip("pxr.Usd")
    out = run.with_name(f"a{request.param}")
    assert command("export", run, "-o", out, "--world", "1", "--every", "2") == Exit.OK
    return usd.Stage.Open(str(out))


def on_stage(stage, path, code):
    """(4, 4), of a prim, at a time code."""
    from pxr import UsdGeom

    return np.array(UsdGeom.XformCache(code).GetLocalToWorldTransform(stage.GetPrimAtPath(path))).T


def test_time_samples_of_usd_are_the_motion(run, stage):
    root = str(stage.GetDefaultPrim().GetPath())
    with open_trajectory(run) as trajectory:
        time, poses, bodies = trajectory.time[::2], trajectory.read("frames/body_q")[::2, 1], trajectory.bodies
    codes = time * stage.GetTimeCodesPerSecond()
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, pytest.approx(codes[-1]))
    for b, name in enumerate(bodies):
        for frame in (0, 3, len(time) - 1):
            found = on_stage(stage, f"{root}/{name}", codes[frame])
            np.testing.assert_allclose(found[:3, 3], poses[frame, b, :3], atol=1e-12)
            np.testing.assert_allclose(found[:3, :3], rot.quat_to_matrix(poses[frame, b, 3:]), atol=2 * FLOAT32)
    for frame in (0, 5, 10):
        ends = on_stage(stage, f"{root}/coil", codes[frame]) @ np.array([[0, 0, -0.5, 1], [0, 0, 0.5, 1]]).T
        np.testing.assert_allclose(ends[:3].T, [(0, 0, 2.0), poses[frame, bodies.index("ball"), :3]], atol=1e-5)


def test_shapes_of_usd_are_those_of_the_run(stage):
    root = str(stage.GetDefaultPrim().GetPath())
    kinds = {"ball": "Sphere", "egg": "Sphere", "pill": "Capsule", "can": "Cylinder", "cone": "Cone", "world": "Mesh"}
    found = {name: str(stage.GetPrimAtPath(f"{root}/{name}").GetChildren()[0].GetTypeName()) for name in kinds}
    assert found == kinds
    assert str(stage.GetPrimAtPath(f"{root}/world/post").GetTypeName()) == "Cube"
    box = on_stage(stage, f"{root}/world/post", 0.0)
    np.testing.assert_allclose(np.diag(box), (0.1, 0.2, 3.0, 1.0))
    egg = on_stage(stage, f"{root}/egg", 0.0)
    assert stage.GetPrimAtPath(f"{root}/egg/s").GetAttribute("radius").Get() == 1.0
    np.testing.assert_allclose(on_stage(stage, f"{root}/egg/s", 0.0), egg @ np.diag((0.1, 0.2, 0.3, 1.0)), atol=FLOAT32)
    pill = stage.GetPrimAtPath(f"{root}/pill/s")
    assert [pill.GetAttribute(key).Get() for key in ("radius", "height", "axis")] == [0.1, 0.4, "Z"]
    assert not [prim for prim in stage.Traverse() if any("Physics" in one for one in prim.GetAppliedSchemas())]


def test_too_many_poses_for_a_stage_are_refused(run, tmp_path, capsys, monkeypatch):
    pytest.importorskip("pxr")
    monkeypatch.setattr("simcli.view.usd_motion.MOST_POSES", 100)
    assert command("export", run, "-o", tmp_path / "x.usda") == Exit.USAGE
    assert "take fewer frames with --every" in capsys.readouterr().err
    assert command("export", run, "-o", tmp_path / "x.usda", "--strict") == Exit.USAGE
    assert "--strict is of models" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_world_that_ends_stands_still(tmp_path):
    def end(columns):
        columns["frames/body_q"][..., 3:] /= np.linalg.norm(columns["frames/body_q"][..., 3:], axis=-1, keepdims=True)
        columns["frames/body_q"][7:, 0] = np.nan

    source = write_run(tmp_path / "a.h5", change=end)
    assert command("export", source, "-o", tmp_path / "a.glb") == Exit.OK
    glb = Glb(tmp_path / "a.glb")
    number = glb.node("ball")
    with open_trajectory(source) as trajectory:
        np.testing.assert_allclose(glb.matrix(number, 6)[:3, 3], Y_UP @ trajectory.body("ball").position[6, 0], rtol=FLOAT32)
    assert (glb.matrix(number, 11) == glb.matrix(number, 6)).all()


def test_a_single_frame_is_a_picture(run, tmp_path):
    assert command("export", run, "-o", tmp_path / "a.glb", "--every", "1000") == Exit.OK
    glb = Glb(tmp_path / "a.glb")
    assert "animations" not in glb.json
    assert glb.json["nodes"][glb.node("can")]["translation"] == [3, 0, 0]


def test_what_does_not_fit_is_refused(run, tmp_path, capsys, monkeypatch):
    out = tmp_path / "x.glb"
    monkeypatch.setattr("simcli.view.glb.MOST_GLB_BYTES", 1000)
    for words, said in (
        (["--world", "0,1"], ".glb holds one world"),
        (["--world", "2"], "no world 2"),
        (["-c", "energy.*"], "leave out --channel"),
        ([], "take fewer frames with --every"),
    ):
        assert command("export", run, "-o", out, *words) == Exit.USAGE
        assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_validator_of_khronos_finds_nothing(path):
    """With node and the package `gltf-validator` beside it (npm install gltf-validator, NODE_PATH)."""
    node = shutil.which("node")
    script = """
    const validator = require('gltf-validator'), fs = require('fs');
    validator.validateBytes(new Uint8Array(fs.readFileSync(process.argv[1])))
      .then(report => console.log(JSON.stringify(report.issues)));
    """
    if node is None:
        pytest.skip("no node")
    done = subprocess.run([node, "-e", script, str(path)], capture_output=True, text=True)
    if "Cannot find module 'gltf-validator'" in done.stderr:
        pytest.skip("no gltf-validator")
    issues = json.loads(done.stdout)
    assert (issues["numErrors"], issues["numWarnings"]) == (0, 0), issues["messages"]


def test_vtk_reads_the_same_places(run, path):
    vtk = pytest.importorskip("vtk")
    reader = vtk.vtkGLTFReader()
    reader.SetFileName(str(path))
    reader.Update()
    assert reader.GetNumberOfAnimations() == 1
    reader.EnableAnimation(0)
    reader.SetFrameRate(100)
    reader.UpdateInformation()
    executive = reader.GetExecutive()
    with open_trajectory(run) as trajectory:
        pill = trajectory.read("frames/body_q")[-1, 1, trajectory.bodies.index("pill")]
    executive.GetOutputInformation(0).Set(vtk.vtkStreamingDemandDrivenPipeline.UPDATE_TIME_STEP(), 0.2)
    reader.Modified()
    reader.UpdateTimeStep(0.2)
    filter_ = vtk.vtkCompositeDataGeometryFilter()
    filter_.SetInputData(reader.GetOutput())
    filter_.Update()
    from vtk.util.numpy_support import vtk_to_numpy

    points = vtk_to_numpy(filter_.GetOutput().GetPoints().GetData())
    ends = pill[:3] + rot.quat_rotate(pill[3:], np.array([[0, 0, -0.3], [0, 0, 0.3]]))
    for end in ends @ Y_UP.T:  # the poles of the capsule
        assert np.linalg.norm(points - end, axis=1).min() < 1e-5


NEAR = 1e-3  # [1] of volumes and sizes: coacd cuts in steps of its own, and rebuilds the surface
CORNERS = ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))  # of an angle of 1 m thickness, 3 m^3; its hull has 3.5
ENDS = ((0, 1, 3), (1, 2, 3), (0, 3, 4), (0, 4, 5))
DECOMPOSE_SCENE = """simcli: 1
world: {shapes: {ground: {type: plane}}}
bodies:
  angle:
    mass: 1
    inertia: {diag: [1, 1, 1]}
    shapes:
SHAPES
solver: {dt: 1 ms}
run: {duration: 1}
"""


@pytest.fixture
def angle(tmp_path, monkeypatch):
    """The file of a mesh that is not convex, in the present folder."""
    monkeypatch.chdir(tmp_path)
    n = len(CORNERS)
    lines = [f"v {x} {y} {z}" for z in (0, 1) for x, y in CORNERS]
    lines += [f"f {c + 1} {b + 1} {a + 1}" for a, b, c in ENDS]
    lines += [f"f {a + n + 1} {b + n + 1} {c + n + 1}" for a, b, c in ENDS]
    lines += [f"f {k + 1} {(k + 1) % n + 1} {(k + 1) % n + n + 1} {k + n + 1}" for k in range(n)]
    (tmp_path / "angle.obj").write_text("\n".join(lines) + "\n")
    return tmp_path / "angle.obj"


def command_of_decompose(*words):
    return run_command(["decompose", *map(str, words)], debug=True, as_json="--json" in words)


def model_of(folder, shapes):
    path = folder / "scene.yaml"
    path.write_text(DECOMPOSE_SCENE.replace("SHAPES", "".join(f"      {line}\n" for line in shapes.splitlines())))
    document = load_document(path)
    return build(resolve(document), document)


def test_parts_are_convex_and_fill_the_mesh(angle, capfd):
    pytest.importorskip("coacd")
    assert command_of_decompose("angle.obj", "-o", "parts") == Exit.OK
    out, err = capfd.readouterr()
    shapes = yaml.safe_load(out)
    assert "wrote 2 convex parts of angle.obj to parts/" in err
    model = model_of(angle.parent, out)
    assert {f"angle/{name}" for name in shapes} < set(model.shapes.name)
    total = 0.0
    for shape in shapes.values():
        vertices, faces = read_mesh(angle.parent / shape["file"])
        volume = float(mesh_properties(vertices, faces).mass)
        corner, rings, normals = convex_hull(vertices)
        planes = [(normal, corner[ring[0]] @ normal) for normal, ring in zip(normals, rings, strict=True)]
        hull = sum(height * _area(corner[ring], normal) for (normal, height), ring in zip(planes, rings, strict=True)) / 3
        assert hull == pytest.approx(volume, rel=NEAR)
        notch = np.array((1.5, 1.5, 0.5))
        assert any(normal @ notch > height for normal, height in planes)  # which the hull of the mesh fills
        total += volume
    assert total == pytest.approx(3.0, rel=NEAR)
    assert command_of_decompose("angle.obj", "-o", "again", "--json") == Exit.OK
    files = json.loads(capfd.readouterr().out)["files"]
    assert files == [shape["file"].removeprefix("parts/") for shape in shapes.values()]
    for name in files:
        assert (angle.parent / "again" / name).read_bytes() == (angle.parent / "parts" / name).read_bytes()


def test_a_mesh_with_colours_is_decomposed_as_one(tmp_path, monkeypatch, capfd):
    """Two tetrahedra that do not touch are convex already."""
    pytest.importorskip("coacd")
    pytest.importorskip("collada")
    monkeypatch.chdir(tmp_path)
    Path("two.dae").write_text(COLLADA)
    assert command_of_decompose("two.dae", "-o", "parts") == Exit.OK
    shapes = yaml.safe_load(capfd.readouterr().out)
    volumes = [float(mesh_properties(*read_mesh(tmp_path / shape["file"])).mass) for shape in shapes.values()]
    assert volumes == pytest.approx([VOLUME / 2] * 2, rel=0.01)  # it cuts in steps of its own
    Path("two.dae").write_text("<COLLADA/>")
    with pytest.raises(FileError, match=r"two\.dae: the mesh has no triangles"):
        command_of_decompose("two.dae", "--force")


def test_what_is_exported_comes_in_again(tmp_path, monkeypatch):
    """A GLB file of ours as a visual: places and colours, by code that shares nothing with its writer."""
    pytest.importorskip("trimesh")
    monkeypatch.chdir(tmp_path)
    Path("one.yaml").write_text("""simcli: 1
bodies:
  a: {mass: 1, pose: {xyz: [1, 2, 3]}, shapes: {s: {type: box, size: [1, 2, 3]}}, look: {colour: "#c82010"}}
  b:
    mass: 1
    pose: {xyz: [0, 0, 9], rpy: [90 deg, 0, 0]}
    shapes: {s: {type: box, size: [1, 2, 3]}}
    look: {colour: teal, opacity: 0.5}
  c: {mass: 1, shapes: {s: {type: box, size: [9, 9, 9]}}, look: {opacity: 0}}
contact: {enabled: false}
run: {duration: 1 ms}
output: {every: 1 ms}
solver: {dt: 1 ms}
""")
    assert command("run", "one.yaml", "-o", "one.h5", "-q") == Exit.OK
    assert command("export", "one.h5", "-o", "one.glb", "--every", "9") == Exit.OK
    parts = read_coloured_mesh(tmp_path / "one.glb").parts
    assert [(part.colour, part.opacity) for part in parts] == [("#c82010", 1.0), ("#1b8a8f", 0.5)]
    middles, sizes = [(1, 2, 3), (0, 0, 9)], [(1, 2, 3), (1, 3, 2)]
    for part, middle, size in zip(parts, middles, sizes, strict=True):
        assert np.allclose(
            [part.vertices.min(axis=0), part.vertices.max(axis=0)], np.array(middle) + np.outer((-0.5, 0.5), size)
        )
        assert mesh_properties(part.vertices, part.faces).mass == pytest.approx(6.0, rel=FLOAT32)


def _area(corners, normal):
    """[m^2] of a polygon in the plane of a normal."""
    return 0.5 * sum(np.cross(a, b) @ normal for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True))


def test_what_is_there_is_kept(angle):
    (angle.parent / "angle_parts").mkdir()
    (angle.parent / "angle_parts" / "angle_1.obj").write_text("mine")
    with pytest.raises(OutputError, match="add --force"):
        command_of_decompose("angle.obj")
    assert (angle.parent / "angle_parts" / "angle_1.obj").read_text() == "mine"


def test_without_coacd_the_package_is_named(angle, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(UsageError, match=r"simcli\[decompose\]"):
        command_of_decompose("angle.obj")


def test_a_mesh_that_would_collide_as_it_is_names_the_command(angle):
    with pytest.raises(SceneError) as found:
        model_of(angle.parent, "it: {type: mesh, file: angle.obj, convex: false}")
    (fault,) = found.value.faults
    assert (fault.code, fault.where.line) == ("SC481", 8)
    assert "simcli decompose angle.obj" in fault.hint


pytest.importorskip("PIL")

TERRAIN_PICTURES_SCENE = """simcli: 1
world: {shapes: {hills: {type: heightfield, file: hills.FORMAT, size: [4, 3, 2]}}}
bodies: {ball: {mass: 1, shapes: {s: {type: sphere, radius: 0.1}}, pose: {xyz: [0, 0, 3]}}}
"""


def heights(tmp_path, name="png"):
    path = tmp_path / "scene.yaml"
    path.write_text(TERRAIN_PICTURES_SCENE.replace("FORMAT", name))
    shapes = build_scene(path).shapes
    return next(one for one in shapes.heights if one.size)


@pytest.mark.parametrize(("dtype", "white"), [(np.uint8, 255), (np.uint16, 65535)])
def test_greys_are_heights_whose_upper_edge_has_the_largest_y(tmp_path, dtype, white):
    greys = np.random.default_rng(1).integers(0, white + 1, (5, 7)).astype(dtype)
    greys[0, 0], greys[0, 1] = 0, white
    Image.fromarray(greys).save(tmp_path / "hills.png")
    found = heights(tmp_path)
    np.testing.assert_array_equal(found, greys[::-1] / white * 2.0)
    assert (found[-1, 0], found[-1, 1]) == (0.0, 2.0)
    np.savetxt(tmp_path / "hills.csv", greys[::-1] / white, delimiter=",", fmt="%.17g")
    np.testing.assert_array_equal(heights(tmp_path, "csv"), found)


@pytest.mark.parametrize(
    ("mode", "size", "words"),
    [
        ("RGB", (3, 3), "not grey"),
        ("LA", (3, 3), "not grey"),
        ("L", (1, 9), "1 x 9 pixels"),
        ("L", (5000, 5000), "may be"),
    ],
)
def test_other_pictures_are_refused(tmp_path, mode, size, words):
    Image.new(mode, size).save(tmp_path / "hills.png")
    with pytest.raises(SceneError, match=words) as refused:
        heights(tmp_path)
    (fault,) = refused.value.faults
    assert (fault.code, fault.where.path, fault.where.line) == ("SC480", "world.shapes.hills.file", 2)


def test_what_is_cut_or_no_picture_is_refused(tmp_path):
    Image.new("L", (64, 64)).save(tmp_path / "hills.png")
    whole = (tmp_path / "hills.png").read_bytes()
    for data in (whole[:40], b"GIF89a", b""):
        (tmp_path / "hills.png").write_bytes(data)
        with pytest.raises(SceneError, match="no whole PNG") as refused:
            heights(tmp_path)
        assert [fault.code for fault in refused.value.faults] == ["SC480"]


def test_a_missing_pillow_is_told(tmp_path, monkeypatch):
    Image.new("L", (3, 3)).save(tmp_path / "hills.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(SceneError, match="Pillow is missing") as refused:
        heights(tmp_path)
    assert "simcli[render]" in refused.value.faults[0].hint


def test_pages_and_pictures_draw_terrain_of_a_picture_as_of_numbers(tmp_path):
    greys = np.random.default_rng(2).integers(0, 256, (4, 5)).astype(np.uint8)
    Image.fromarray(greys).save(tmp_path / "hills.png")
    np.savetxt(tmp_path / "hills.csv", greys[::-1] / 255, delimiter=",", fmt="%.17g")
    drawn = [drawing(tmp_path, name) for name in ("png", "csv")]
    assert not drawn[0].notes
    hills, same = (next(item for item in one.items if item.name == "hills") for one in drawn)
    assert np.ptp(hills.vertices[:, 2]) > 1.0
    np.testing.assert_array_equal(hills.vertices, same.vertices)


def drawing(tmp_path, name):
    (tmp_path / "scene.yaml").write_text(TERRAIN_PICTURES_SCENE.replace("FORMAT", name))
    return subject_of_scene(tmp_path / "scene.yaml").drawings[0]


def test_no_picture_replaces_the_terrain(tmp_path):
    """Neither of the scene, nor of its run, whose picture has the name of the terrain where no other is given."""
    Image.new("L", (3, 3)).save(tmp_path / "hills.png")
    whole = (tmp_path / "hills.png").read_bytes()
    (tmp_path / "hills.yaml").write_text(
        TERRAIN_PICTURES_SCENE.replace("FORMAT", "png") + "run: {duration: 0.001}\noutput: {every: 0.001}\n"
    )
    assert simcli("run", "hills.yaml", "-o", "hills.h5", "-q", cwd=tmp_path).returncode == Exit.OK
    for words in (["show", "hills.yaml", "-o", "hills.png"], ["render", "hills.h5"], ["plot", "hills.h5"]):
        done = simcli(*words, cwd=tmp_path)
        assert (done.returncode, "will not be replaced" in done.stderr) == (Exit.USAGE, True), done
    assert (tmp_path / "hills.png").read_bytes() == whole
