"""Scenes as URDF, MJCF, USD: the motion of the scene, by MuJoCo and after the way back; every loss told; contacts."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.machines_of_all import BALL_START, FORCES, JOINTS
from support.many import run_many

from simcli.cli.process import run_command
from simcli.errors import Exit
from simcli.exchange.exporting import export_scene
from simcli.exchange.importing import load_scene
from simcli.joint_types import BESIDE_ROWS
from simcli.model import build
from simcli.spec import resolve
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.shape import SphereShape
from simcli.spec.schema.signals import DriveSpec

SCENES = Path(__file__).parent.parent / "scenes"
STEP, BETWEEN, END = 1e-3, 0.1, 0.2  # [s]
SAME = 1e-8  # [m, 1] of steps of fourth order, of which quaternions of free bodies are taken in other ways
SOFT = {"screw": 1e-5, "n_fourbar": SAME, "bricard": SAME, "slider_crank": 1e-3}  # [m, 1] loops and gears of MuJoCo
# Laws that MuJoCo has, too: no signals, events, drag.
TO_MJCF = (
    "double_pendulum",
    "simple_pendulum",
    "triple_pendulum",
    "projectile",
    "bungee",
    "gantry_crane",
    "heavy_top",
    "pendulum_field",
    "puma560",
    "slider_pendulum",
    "spacecraft",
    "steady_top",
    "sweep",
    "tumbling_body",
    "universal_pendulum",
    *SOFT,
)
# Without forces, loops and inertia of drive trains, which URDF has not.
TO_URDF = (
    "double_pendulum",
    "simple_pendulum",
    "triple_pendulum",
    "projectile",
    "pendulum_field",
    "tumbling_body",
    "universal_pendulum",
)
# That and springs and loops come back from MJCF.
FROM_MJCF = (*TO_URDF, "bungee", "slider_pendulum", "n_fourbar")
# Numbers of USD are of single precision.
TO_USD = (*TO_URDF, "heavy_top", "n_fourbar")
SINGLE = 1e-6  # [m]
OWN = {
    "all_joints": JOINTS.replace("BALL", BALL_START),
    "all_forces": FORCES,
    "hanging_ball": JOINTS.replace(", damping: 0.01BALL", ""),
}
QUICK = ("pendulum_field", "all_joints")  # others are slow, because they are many


OVER = [
    f"solver={{type: generalized, integrator: rk4, dt: {STEP}}}",
    f"run={{duration: {END}}}",
    f"output={{every: {BETWEEN}, channels: [state]}}",
    "expect=[]",
    "batch={}",
]


def document_of(name, folder):
    """A scene with its values of the file, its solver and its duration replaced."""
    path = folder / f"{name}.yaml"
    if name in OWN:
        path.write_text(OWN[name])
        return path, []
    return SCENES / f"{name}.yaml", OVER


def exported(path, suffix, sets=()):
    document = load_scene(path, sets)
    return export_scene(document, resolve(document), suffix)


def start_of(path, sets, axis_by_axis):
    """The coordinates and velocities of a scene by the names of its joints, or by those that its axes have in URDF."""
    document = load_scene(path, sets)
    model = build(resolve(document), document)
    q, qd = {}, {}
    for j, name in enumerate(model.joints.name):
        own = [
            model.joint_q[0, slice(*model.joints.q_start[j : j + 2])].tolist(),
            model.joint_qd[0, slice(*model.joints.qd_start[j : j + 2])].tolist(),
        ]
        name = name.replace("/", "_")
        if axis_by_axis and len(own[0]) == len(own[1]) > 1:
            for k in range(len(own[0])):
                q[f"{name}_{k + 1}"], qd[f"{name}_{k + 1}"] = own[0][k], own[1][k]
        elif own[0] and name != "globe" and model.joints.is_tree[j]:
            q[name], qd[name] = own
    return f"initial={json.dumps({'joint_q': q, 'joint_qd': qd})}"


def rates_of(path, sets):
    """What a file of USD does not say: the velocities of the joints of the tree of a scene, as it calls them."""
    document = load_scene(path, sets)
    spec = resolve(document)
    model = build(spec, document)
    for j, name in enumerate(model.joints.name):
        rates = model.joint_qd[0, slice(*model.joints.qd_start[j : j + 2])].tolist()
        if name in spec.joints and spec.joints[name].type != "free" and any(rates) and model.joints.is_tree[j]:
            yield f"joints.{in_usd(name)}.qd={json.dumps(rates if len(rates) > 1 else rates[0])}"


def in_usd(name):
    return name.replace("/", "_").replace("-", "_")


def quick_and_slow(names):
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in names]


@pytest.fixture(scope="module")
def runs(tmp_path_factory, request):
    """Folder of the runs of the scenes that are tested, of what came back from URDF, and of mass matrices."""
    folder = tmp_path_factory.mktemp("runs")
    commands, asked = [], {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}
    for name in dict.fromkeys(one for one in (*TO_MJCF, *TO_URDF, *OWN) if one in asked):
        path, sets = document_of(name, folder)
        words = [word for one in sets for word in ("--set", one)]
        commands.append(["run", path, *words, "-q", "--force", "-o", folder / f"{name}.h5"])
        if name in TO_MJCF or name in OWN:
            commands.append(["mass-matrix", path, *words, "-o", folder / f"{name}.json"])
        if name in FROM_MJCF or name == "hanging_ball":
            back = folder / f"{name}.xml"
            back.write_text(exported(path, ".xml", sets).text)
            more = [word for one in (*OVER[:3], start_of(path, sets, False)) for word in ("--set", one)]
            commands.append(["run", back, *more, "-q", "--force", "-o", folder / f"{name}_mjcf.h5"])
        if name in TO_USD and find_spec("pxr"):
            back = folder / f"{name}.usda"
            back.write_text(exported(path, ".usda", sets).text)
            more = [word for one in (*OVER[:3], *rates_of(path, sets)) for word in ("--set", one)]
            commands.append(["run", back, *more, "-q", "--force", "-o", folder / f"{name}_usd.h5"])
        if name in TO_URDF or name == "hanging_ball":
            back = folder / f"{name}.urdf"
            back.write_text(exported(path, ".urdf", sets).text)
            scene = load_scene(path, sets)
            gravity = list(resolve(scene).world.gravity)
            sets = [f"world.gravity={gravity}", start_of(path, sets, True), *OVER[:3]]
            more = [word for one in sets for word in ("--set", one)]
            commands.append(["run", back, *more, "-q", "--force", "-o", folder / f"{name}_back.h5"])
    log = folder / "log"
    log.mkdir()
    results = run_many(commands, log)
    assert [code for code, _ in results] == [0] * len(results), [
        (words, text) for words, (code, text) in zip(commands, results, strict=True) if code
    ]
    return folder


def frames_of(path):
    """Body to its (frames, 7) poses, its centre of mass, and the accelerations of the joints at the start."""
    import h5py

    with h5py.File(path) as file:
        poses, com = file["frames/body_q"][:, 0], file["model/body_com"][:1]
        names = [name.decode() if isinstance(name, bytes) else name for name in file["frames/body_name"][()]]
        labels = [one.decode() if isinstance(one, bytes) else one for one in file["frames/qd_label"][()]]
        return (
            dict(zip(names, np.moveaxis(poses, 1, 0), strict=True)),
            dict(zip(names, com[0], strict=True)),
            dict(zip(labels, file["frames/joint_qdd"][0, 0], strict=True)),
        )


def centres(path):
    from simcli import rotations as rot

    poses, com, _ = frames_of(path)
    return {name: pose[:, :3] + rot.quat_rotate(pose[:, 3:], com[name]) for name, pose in poses.items()}


@pytest.mark.parametrize("name", quick_and_slow([*TO_URDF, "hanging_ball"]))
def test_a_scene_comes_back_from_urdf_with_its_motion(runs, name):
    before, after = centres(runs / f"{name}.h5"), centres(runs / f"{name}_back.h5")
    for body, way in before.items():
        assert np.ptp(way, axis=0).max() > 1e-4 or body in ("stone", "racket", "right", "spin"), body  # it moves
        assert np.abs(way - after[body.replace("/", "_")]).max() < 1e-10, body


@pytest.mark.parametrize("name", quick_and_slow([*FROM_MJCF, "hanging_ball"]))
def test_a_scene_comes_back_from_mjcf_with_its_motion(runs, name):
    pytest.importorskip("mujoco")
    before, after = centres(runs / f"{name}.h5"), centres(runs / f"{name}_mjcf.h5")
    for body, way in before.items():
        assert np.abs(way - after[body.replace("/", "_")]).max() < 1e-10, body


@pytest.mark.parametrize("name", quick_and_slow(TO_USD))
def test_a_scene_comes_back_from_usd_with_its_motion(runs, name):
    pytest.importorskip("pxr")
    before, after = centres(runs / f"{name}.h5"), centres(runs / f"{name}_usd.h5")
    for body, way in before.items():
        assert np.abs(way - after[in_usd(body)]).max() < SINGLE, body


@pytest.mark.parametrize("name", quick_and_slow([*TO_MJCF, "all_joints", "all_forces"]))
def test_mujoco_moves_a_model_as_the_scene_moves(runs, name, tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path, sets = document_of(name, tmp_path)
    model = mujoco.MjModel.from_xml_string(exported(path, ".xml", sets).text)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    poses, _, accelerations = frames_of(runs / f"{name}.h5")
    is_soft = model.neq > 0
    _check_instant(mujoco, model, data, json.loads((runs / f"{name}.json").read_text()), accelerations, is_soft)
    for _ in range(round(BETWEEN / STEP)):
        mujoco.mj_step(model, data)
    mujoco.mj_kinematics(model, data)
    for body, pose in poses.items():
        here = model.body(body.replace("/", "_")).id
        apart = np.abs(data.xpos[here] - pose[1, :3]).max()
        turned = 1.0 - abs(np.dot(data.xquat[here], np.roll(pose[1, 3:], 1)))
        assert max(apart, turned) < (1e-5 if body == "nut" else SOFT.get(name, SAME)), (body, apart, turned)


def _check_instant(mujoco, model, data, found, accelerations, is_soft):
    """Mass matrix and accelerations at the start, of the axes that both have."""
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    labels = found["labels"]["NV"]
    ours = np.reshape(found["mass_matrix"][0], (len(labels), -1))
    where = {}
    for k, label in enumerate(labels):
        name = re.sub(r":(\d+)", lambda one: f"_{int(one[1]) + 1}", label).replace("/", "_")
        if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name) >= 0:
            joint = model.joint(name)
            if joint.type[0] in (mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE):
                where[k] = joint.dofadr[0]
    if not where or name == "thread":
        return
    mine, theirs = list(where), list(where.values())
    screw = [n for n, k in enumerate(mine) if labels[k] == "thread"]
    size = np.abs(M).max()
    difference = np.abs(ours[np.ix_(mine, mine)] - M[np.ix_(theirs, theirs)])
    difference[screw] = difference[:, screw] = 0.0  # MuJoCo has the nut in two coordinates
    assert difference.max() < 1e-12 * size
    if not is_soft:
        at = [accelerations[labels[k]] for k in mine]
        assert np.abs(at - data.qacc[theirs]).max() < 1e-11 * max(1.0, np.abs(data.qacc).max())


TOUCHING = """simcli: 1
defaults: {body: {mass: 1}, shape: {type: sphere, radius: 0.5}}
materials: {ice: {friction: 0.1}}
world: {shapes: {rock: {layers: [ground]}, other: {}}}
bodies:
  a: {shapes: {one: {}, two: {layers: [robot], touches: [ground]}}}
  b: {shapes: {one: {material: ice}}}
  c: {shapes: {one: {}, off: {collide: false}}}
  d: {shapes: {one: {touches: [robot]}}}
  e: {shapes: {one: {}, two: {}}}
joints:
  ab: {type: revolute, parent: a, child: b, at: [0, 0, 0], axis: [0, 0, 1]}
  bc: {type: fixed, parent: b, child: c, at: [0, 0, 0]}
  we: {type: revolute, parent: world, child: e, at: [0, 0, 0], axis: [0, 0, 1]}
contact:
  exclude: [[a/one, e/two], [d, c]]
  pairs: [{a: a, b: b, friction: 0.7}, {a: e, b: rock, friction: 0.3, torsional_friction: 1 mm}]
"""


def test_mujoco_lets_touch_what_the_scene_lets_touch(tmp_path):
    """All shapes at one place: what MuJoCo finds are the pairs that can touch."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "touching.yaml"
    path.write_text(TOUCHING)
    document = load_scene(path)
    spec = resolve(document)
    scene = build(spec, document)
    model = mujoco.MjModel.from_xml_string(export_scene(document, spec, ".xml").text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found = {frozenset(model.geom(int(k)).name for k in contact.geom) for contact in data.contact}
    names = [name.replace("/", "_") for name in scene.shapes.name]
    pairs = scene.contacts.pairs
    wanted = {frozenset((names[a], names[b])) for a, b in zip(pairs.shape_a, pairs.shape_b, strict=True)}
    assert len(wanted) > 8
    assert found == wanted
    frictions = {
        frozenset(model.geom(int(k)).name for k in one.geom): (one.friction[0], one.friction[2], one.dim)
        for one in data.contact
    }
    assert frictions[frozenset(("a_one", "b_one"))] == (0.7, 1e-5, 3)
    assert frictions[frozenset(("e_one", "rock"))] == (0.3, 0.001, 4)


def test_every_element_of_a_scene_is_told(tmp_path):
    """Once each, with its line; what URDF has not is dropped by name."""
    path = tmp_path / "all.yaml"
    path.write_text(OWN["all_forces"])
    document = load_scene(path)
    spec = resolve(document)
    for suffix in (".urdf", ".xml", *([".usda"] if find_spec("pxr") else [])):
        report = export_scene(document, spec, suffix).report
        told = [(entry.kind, entry.name) for entry in report.entries]
        assert len(set(told)) == len(told)
        wanted = {("body", name) for name in spec.bodies} | {("joint", name) for name in spec.joints}
        wanted |= {("force", name) for name in spec.forces} | {("point", "a/end"), ("point", "b/end"), ("drive", "pin")}
        assert wanted <= set(told)
        lines = {(entry.kind, entry.name): entry.line for entry in report.entries}
        assert path.read_text().splitlines()[lines["force", "wind"] - 1].startswith("  wind:")
        fates = {(entry.kind, entry.name): entry.fate for entry in report.entries}
        assert {fate for (kind, _), fate in fates.items() if kind == "force"} == (
            {"changed"} if suffix == ".xml" else {"dropped"}
        )
        assert report.loses == (suffix != ".xml")


SOFT_RING = """simcli: 1
bodies:
  ring: {mass: 1, affine: {transform: {pose: {}}}, shapes: {it: {type: mesh, file: ring.obj, convex: false},
    seen: {type: mesh, file: ring.obj, collide: false}}}
world: {shapes: {other: {type: mesh, file: ring.obj, convex: false}, hull: {type: mesh, file: ring.obj}}}
solver: {type: affine}
"""


@pytest.mark.parametrize("suffix", [".urdf", ".xml"])
def test_what_a_model_takes_for_its_hull_or_for_rigid_is_told(tmp_path, capsys, suffix):
    """MuJoCo lets the hulls of meshes touch; nothing of a model yields, or is held softly."""
    (tmp_path / "ring.obj").write_bytes((SCENES / "ring.obj").read_bytes())
    path = tmp_path / "ring.yaml"
    path.write_text(SOFT_RING)
    report = exported(path, suffix).report
    dropped = {(one.kind, one.name, one.line) for one in report.entries if one.fate == "dropped"}
    assert dropped == {("convex", "ring/it", 3), ("convex", "other", 5), ("affine", "ring", 3)}
    words = ["export", str(path), "-o", str(tmp_path / f"out{suffix}"), "--strict"]
    assert run_command(words, debug=False, as_json=False) == Exit.NEGATIVE
    assert "dropped 2 convex" in capsys.readouterr().err
    path.write_text(SOFT_RING.replace("convex: false", "convex: true").replace("affine: {transform: {pose: {}}}, ", ""))
    assert not exported(path, suffix).report.loses


def test_usd_lets_touch_what_the_scene_lets_touch(tmp_path):
    """Shapes of a scene that came back touch as before; of pairs with numbers of their own only that they touch."""
    pytest.importorskip("pxr")
    found = []
    for path in (tmp_path / "touching.yaml", tmp_path / "touching.usda"):
        path.write_text(TOUCHING if path.suffix == ".yaml" else exported(tmp_path / "touching.yaml", ".usda").text)
        document = load_scene(path)
        model = build(resolve(document), document)
        pairs = model.contacts.pairs
        names = [(name.partition("/")[2] and name) or f"world/{name}" for name in model.shapes.name]
        found.append({frozenset((names[a], names[b])) for a, b in zip(pairs.shape_a, pairs.shape_b, strict=True)})
    assert len(found[0]) > 8
    assert found[0] == found[1]


def test_contact_that_is_off_is_off_in_mjcf_and_told_in_urdf(tmp_path):
    path = tmp_path / "touching.yaml"
    path.write_text(TOUCHING.replace("contact:\n", "contact:\n  enabled: false\n"))
    assert '<flag contact="disable"/>' in exported(path, ".xml").text
    told = [one for one in exported(path, ".urdf").report.entries if one.kind == "contact"]
    assert [(one.fate, one.why.partition(":")[0]) for one in told] == [
        ("dropped", "URDF has no key that switches contact off")
    ]


LAYERED = """simcli: 1
materials: {wood: {friction: 0.5, friction_across: 0.3}}
world: {shapes: {floor: {type: box, size: [4, 4, 1], grain: [1, 0, 0], material: wood}}}
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {
    one: {type: box, size: [1, 1, 1], layers: [LAYER], touches: [TOUCHED], margin: MARGIN},
    seen: {type: box, size: [1, 1, 1], collide: false, layers: [seen]}}}
solver: {type: generalized, dt: 1 ms}
"""


def layered(tmp_path, suffix, layer="x", touched="seen", margin=0.01):
    """What is dropped of a scene with layers, a margin, a grain."""
    path = tmp_path / "layered.yaml"
    path.write_text(LAYERED.replace("LAYER", layer).replace("TOUCHED", touched).replace("MARGIN", str(margin)))
    entries = exported(path, suffix).report.entries
    assert {one.fate for one in entries if one.kind == "shape"} == {"carried"}
    return sorted((one.kind, one.name, one.line) for one in entries if one.fate == "dropped" and one.kind != "material")


def test_numbers_of_contact_that_a_format_has_not_are_dropped(tmp_path):
    """One word for one thing; and what holds without it, or of a shape that nothing touches, loses nothing."""
    grain = ("grain", "floor", 3)
    assert layered(tmp_path, ".xml") == [grain]
    own = [grain, ("layers", "a/one", 6), ("margin", "a/one", 6), ("touches", "a/one", 6)]
    assert layered(tmp_path, ".urdf") == own
    assert layered(tmp_path, ".urdf", "default", "default", 0) == [grain]
    assert layered(tmp_path, ".urdf", "model", "default", 0) == [grain]  # as of a scene that was imported from URDF


SUFFIXES = (".urdf", ".xml", *([".usda"] if find_spec("pxr") else []))
# Keys that formats may lack, with a value that does something; all others are written by all.
OF_SHAPE = {"margin": 0.01, "grain": "[1, 0, 0], material: m", "surface_velocity": [1, 0, 0]}
OF_DRIVE = {"effort_limit_table": "{speed: [0, 5], effort: [2, 1]}", "activation": "{rise: 0.1, fall: 0.2}"}
WRITTEN_OF_SHAPE = {"pose", "type", "radius", "material", "density", "collide", "layers", "touches"}
WRITTEN_OF_DRIVE = {"mode", "target", "target_velocity", "stiffness", "damping", "effort_limit"}
HOLDING = {
    "distance": "length: 1",
    "rolling": "axis: [0, 1, 0], radius: 1",
    "knife_edge": "axis: [1, 0, 0], normal: [0, 0, 1]",
}
KEYED = """simcli: 1
bodies:
  a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, shapes: {{s: {{type: sphere, radius: 0.1{shape}}}}}}}
  b: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, pose: {{xyz: [0, 3, 1]}}}}
joints:
  j: {{type: revolute, parent: world, child: a, axis: [0, 1, 0], at: [0, 0, 0],
      drive: {{mode: position, target: 1, stiffness: 3, damping: 1{drive}}}}}
  {holding}
world: {{shapes: {{ground: {{type: plane, pose: {{xyz: [0, 0, -9]}}}}}}}}
materials: {{m: {{friction: 0.5, friction_across: 0.2}}}}
solver: {{type: generalized}}
"""


def told_of(tmp_path, suffix, shape="", drive="", holding=""):
    """Entries of the report of a scene, by kind and name."""
    path = tmp_path / "keyed.yaml"
    path.write_text(KEYED.format(shape=shape, drive=drive, holding=holding))
    return {(one.kind, one.name): one.fate for one in exported(path, suffix).report.entries}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_key_of_a_shape_or_a_drive_is_written_or_told(tmp_path, suffix):
    assert {*SphereShape.model_fields} == WRITTEN_OF_SHAPE | OF_SHAPE.keys()
    assert {*DriveSpec.model_fields} == WRITTEN_OF_DRIVE | OF_DRIVE.keys()
    plain = told_of(tmp_path, suffix)
    for key, value in OF_SHAPE.items():
        told = told_of(tmp_path, suffix, shape=f", {key}: {value}")
        is_written = (suffix, key) == (".xml", "margin")
        assert told.keys() - plain.keys() == (set() if is_written else {(key, "a/s")}), key
    for key, value in OF_DRIVE.items():
        told = told_of(tmp_path, suffix, drive=f", {key}: {value}")
        wanted = {".urdf": set(), ".usda": {(key, "j")}, ".xml": {({"activation": "fall"}.get(key, key), "j")}}
        assert told.keys() - plain.keys() == wanted[suffix], key
    assert (plain["drive", "j"] == "dropped") == (suffix == ".urdf")  # as a whole
    told = told_of(tmp_path, suffix, drive=", activation: {rise: 0.1, fall: 0.2, law: muscle}").keys() - plain.keys()
    assert (("law", "j") in told) == (suffix == ".xml")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("way", ["", ", paid_out: [{joint: j, factor: 0.1}]"])
def test_a_muscle_is_written_or_told(tmp_path, suffix, way):
    muscle = f"forces: {{m: {{type: spring, a: {{world: [0, 0, 1]}}, b: {{body: a, at: [0, 0, 0]}}{way}, MUSCLE}}}}"
    path = tmp_path / "muscle.yaml"
    text = KEYED.format(shape="", drive="", holding="") + muscle.replace(
        "MUSCLE", "muscle: {force: 1, length_range: [1, 2]}"
    )
    path.write_text(text)
    (force,) = (one for one in exported(path, suffix).report.entries if one.kind == "force")
    assert (force.name, force.fate == "dropped") == ("m", suffix != ".xml" or bool(way))
    assert suffix != ".xml" or not way or "muscle" in force.why


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", sorted(BESIDE_ROWS))
@pytest.mark.parametrize("place", ["tree", "loop"])
def test_what_a_joint_holds_beside_its_coordinates_is_written_or_told(tmp_path, suffix, kind, place):
    """In a tree it looks like a free joint, which holds nothing."""
    if place == "tree":
        holding = f"h: {{type: {kind}, parent: world, child: b, {HOLDING[kind]}}}"
    else:
        holding = (
            "f: {type: free, parent: world, child: b}\n"
            f"  h: {{type: {kind}, parent: world, child: b, {HOLDING[kind]}, loop: true}}"
        )
    is_written = kind == "distance" and suffix != ".urdf"
    fate = told_of(tmp_path, suffix, holding=holding)["joint", "h"]
    assert (fate != "dropped") == is_written
    if suffix == ".usda":
        path = tmp_path / "keyed.yaml"
        text = export_scene(load_scene(path), resolve(load_scene(path)), suffix).text
        assert ("DistanceJoint" in str(text)) == is_written


def test_every_section_of_a_scene_is_thought_of():
    """A section that scenes learn to have is written, or told to be lost."""
    mechanics = {"materials", "world", "bodies", "joints", "forces", "contact", "initial", "solver"}
    told = {
        "batch",
        "sensors",
        "keyframes",
        "events",
        "signals",
        "measure",
        "expect",
        "run",
        "output",
        "articulations",
        "look",
    }
    no_elements = {"simcli", "name", "description", "params", "allow_orphan_joints"}
    assert set(SceneSpec.model_fields) == mechanics | told | no_elements


def test_what_is_not_seen_is_not_seen_elsewhere(tmp_path):
    """A body that is drawn by its visuals alone: hulls that collide have the opacity 0."""
    text = """simcli: 1
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {hull: {type: box, size: [1, 1, 1]}},
    look: {opacity: 0, shapes: {skin: {type: sphere, radius: 0.1, opacity: 1, colour: red}}}}
"""
    (tmp_path / "a.yaml").write_text(text)
    urdf = ElementTree.fromstring(exported(tmp_path / "a.yaml", ".urdf").text)
    names = {tag: [one.get("name") for one in urdf.iter(tag)] for tag in ("collision", "visual")}
    assert names == {"collision": ["hull"], "visual": ["skin"]}
    geoms = ElementTree.fromstring(exported(tmp_path / "a.yaml", ".xml").text).iter("geom")
    assert [float(one.get("rgba").split()[3]) for one in geoms] == [0.0, 1.0]


def test_the_command_writes_tells_and_refuses(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ring.obj").write_bytes((SCENES / "ring.obj").read_bytes())
    Path("all.yaml").write_text(
        OWN["all_joints"].replace(
            "  carriage: {",
            "  carriage: {look: {colour: red, shapes: {ring: {type: mesh, file: ring.obj, scale: 0.5}}}, "
            "shapes: {a: {type: capsule, radius: 0.1, length: 0.2, collide: false}}, ",
        )
    )

    def command(*words):
        code = run_command(["export", "all.yaml", *words], debug=False, as_json="--json" in words)
        return code, capsys.readouterr()

    code, said = command("-o", "robot.urdf", "--strict")
    assert code == Exit.NEGATIVE
    assert "dropped 6 state" in said.err or "dropped 7 state" in said.err
    assert "wrote robot.urdf and 1 file in robot_meshes/" in said.err
    assert Path("robot_meshes/ring.obj").read_bytes() == Path("ring.obj").read_bytes()
    Path("robot_meshes/ring.obj").write_text("mine")
    code, said = command("-o", "robot.xml", "--strict")
    assert (code, "robot_meshes/ring.obj exists, and is not what" in said.err) == (Exit.OUTPUT, True)
    assert Path("robot_meshes/ring.obj").read_text() == "mine"
    assert not Path("robot.xml").exists()
    code, said = command("-o", "robot.xml", "--strict", "--json", "--force")
    assert code == Exit.OK, said.err
    assert json.loads(said.out)["counts"]["dropped"] == 0
    assert "left/bar" in {one["name"] for one in json.loads(said.out)["elements"]}
    assert run_command(["check", "robot.urdf"], debug=False, as_json=False) == Exit.OK
    refused = (
        (["-o", "robot.sdf"], "robot.sdf"),
        (["-o", "a.xml", "-c", "energy.total"], "leave out --channel"),
        (["-o", "a.csv", "--strict"], "--strict is of models"),
        (["-o", "all.yaml"], ""),
    )
    for words, message in refused:
        code, said = command(*words)
        assert code == Exit.USAGE
        assert message in said.err
    mujoco = pytest.importorskip("mujoco")
    assert mujoco.MjModel.from_xml_path("robot.xml").nmesh == 1
