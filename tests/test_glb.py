"""`simcli export -o x.glb`: what a reader of glTF finds is the motion and the shapes of the run."""

import json
import shutil
import struct
import subprocess

import numpy as np
import pytest
from support.diff_files import write_run

from simcli import rotations as rot
from simcli.cli import doorman
from simcli.errors import Exit
from simcli.records.reading.reader import open_trajectory
from simcli.view.drawing.parts import HERE, UPRIGHT, Item
from simcli.view.tessellation import triangles_of

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
    "sphere": ((0.3,), 4 / 3 * np.pi * 0.3**3), "ellipsoid": ((0.1, 0.2, 0.3), 4 / 3 * np.pi * 0.006),
    "box": ((0.1, 0.2, 0.3), 0.006), "cylinder": ((0.1, 0.4), np.pi * 0.01 * 0.4),
    "capsule": ((0.1, 0.4), np.pi * 0.01 * 0.4 + 4 / 3 * np.pi * 0.001),
    "cone": ((0.1, 0.4), np.pi * 0.01 * 0.4 / 3)}  # fmt: skip


def command(*words):
    return doorman.run_command(list(map(str, words)), debug=False, as_json=False)


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
    monkeypatch.setattr("simcli.view.glb.MOST_BYTES", 1000)
    for words, said in ((["--world", "0,1"], ".glb holds one world"), (["--world", "2"], "no world 2"),
                        (["-c", "energy.*"], "leave out --channel"), ([], "take fewer frames with --every")):  # fmt: skip
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
