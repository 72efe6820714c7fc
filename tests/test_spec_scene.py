"""From text to SceneSpec: every key of the format, spellings, resolved text, inertia, descriptions."""

import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.all_keys import BODY, HEAD, ROUNDING, codes, document, resolve_ignoring

from simcli import rotations as rot
from simcli.errors import SceneError
from simcli.spec import json_schema, load_document, resolve, resolved_yaml
from simcli.spec.base import dofs
from simcli.spec.base.fault_list import Faults
from simcli.spec.document.loader import parse_text
from simcli.spec.resolve import warnings

SHIPPED = sorted([*Path("scenes").glob("*.yaml"), *Path("simcli/docs").glob("[bt]*s/*.yaml")])  # bundles, templates

ALL_KEYS = """\
simcli: 1
name: everything
description: text
params: {L: 0.4, mu: 0.3}
materials:
  steel: {density: 7850, friction: '${mu}', restitution: 0.1, friction_static: 0.4, rolling_friction: 1e-3,
          torsional_friction: 1e-3, combine: {friction: geometric, restitution: max}}
world:
  gravity: [0, 0, -9.81]
  shapes:
    ground: {type: plane, normal: [0, 0, 1], offset: 0, material: steel}
    hills: {type: heightfield, data: [[0, 0.1], [0, 0.2]], size: [10, 10, 1]}
defaults: {joint: {damping: 0.01}, shape: {material: steel}, body: {}}
bodies:
  crank:
    pose: {xyz: [0, 0, 0], rpy: [0, 0, 0]}
    mass: 1.0
    com: [0, 0, 0]
    inertia: {diag: [1e-3, 2e-3, 2e-3]}
    shapes: {rod: {type: box, size: [0.4, 0.02, 0.02], pose: {xyz: [0.2, 0, 0]}, material: steel, collide: true}}
    velocity: {linear: [0, 0, 0], angular: [0, 0, 0]}
    kinematic: false
    natural: 1P3V
    motion: {linear: $push, angular: [0, 0, $sweep]}
    points: {a: [0, 0, 0], b: [0.4, 0, 0]}
  slider:
    pose: {axis_angle: {axis: [0, 0, 1], angle: 90 deg}}
    mass: 1
    shapes:
      a: {type: sphere, radius: 0.1}
      b: {type: capsule, radius: 0.1, length: 0.2}
      c: {type: cylinder, radius: 0.1, length: 0.2}
      d: {type: cone, radius: 0.1, length: 0.2}
      e: {type: ellipsoid, radii: [0.1, 0.2, 0.3]}
      f: {type: mesh, file: m.obj, scale: 0.001, convex: true}
    natural: {kind: 2P2V, points: [p, q], vectors: [[0, 1, 0], [0, 0, 1]]}
    points: {p: [0, 0, 0], q: [1, 0, 0]}
  bob: {mass: 1, inertia: {full: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}, pose: {quat_wxyz: [1, 0, 0, 0]}}
  dot: {mass: 1, inertia: point, pose: {quat_xyzw: [0, 0, 0, 1]}}
joints:
  pin:
    type: revolute
    parent: world
    child: crank
    at: [0, 0, 0]
    axis: [0, 1, 0]
    q: 0.3
    qd: 0.0
    limit: [-1.5, 1.5]
    drive: {mode: position, target: 0.5, target_velocity: 0, stiffness: 100, damping: 5, effort_limit: 20}
    damping: 0.0
    friction: 0.0
    armature: 0.0
    velocity_limit: 10
    compliance: 0.0
    driving: {aim_angle: 1.0, strength_ratio: 100, is_constrained: true, is_passive: false}
    init_angle: 0.0
    enabled: true
    loop: false
    mimic: {joint: soft, ratio: 2.0, offset: 0.0}
  soft: {type: prismatic, parent: crank, child: slider, limit: {lower: 0, upper: 1, stiffness: 1, damping: 2},
         strength_ratio: 100, driving: {aim_distance: 1}, motion: {velocity: 1}}
  framed: {type: ball, parent: slider, child: bob, parent_frame: {xyz: [1, 0, 0], rpy: [0, 0, 0]},
           child_frame: {xyz: [0, 0, 0]}, q: [0, 0, 0, 1], qd: [0, 0, 0]}
  six:
    type: d6
    parent: bob
    child: dot
    axes:
      linear: [[1, 0, 0]]
      angular: [{axis: [0, 1, 0], limit: [-1, 1], drive: {mode: effort, target: $sweep}}, [0, 0, 1]]
    damping: [1, 2, 3]
  rod: {type: distance, parent: crank, child: slider, parent_frame: {xyz: [0.4, 0, 0]}, child_frame: {xyz: [0, 0, 0]},
        length: 0.4}
  rope: {type: distance, parent: world, child: slider, limit: [0.1, 0.4], parent_frame: {xyz: [0, 0, 1]}}
  wire: {type: cable, parent: world, child: crank, stretch: 1, bend: 1, twist: 1, stretch_damping: 1, bend_damping: 1,
         twist_damping: 1}
  wire2: {type: cable, parent: world, child: crank, youngs: 1 GPa, poisson: 0.3, radius: 2 mm, length: 1}
  cardan: {type: universal, parent: world, child: bob, axes: {angular: [[1, 0, 0], [0, 1, 0]]}, loop: true}
  tube: {type: cylindrical, parent: world, child: bob, loop: true, q: [1 cm, 10 deg], limit: [[0, 1], null]}
  table: {type: planar, parent: world, child: bob, loop: true, q: [1 cm, 2 cm, 10 deg]}
  worm: {type: screw, parent: world, child: bob, loop: true, pitch: 5 mm, motion: {position: $sweep}}
  weld: {type: fixed, parent: world, child: bob, loop: true}
  fly: {type: free, parent: world, child: bob, loop: true, q: [0, 0, 0, 0, 0, 0, 1]}
articulations: {arm: [pin, soft, framed, six]}
allow_orphan_joints: true
models:
  link:
    bodies: {m: {mass: 1, inertia: {diag: [1, 1, 1]}}}
    joints: {h: {type: revolute, parent: world, child: m}}
    params: {L: 1}
instances: {left: {model: link, at: {xyz: [0, 1, 0]}, params: {L: 0.5}}}
replicate: {grid: {model: link, count: [3, 3, 1], spacing: [1, 1, 0]}}
forces:
  s1: {type: spring, a: {world: [1, 0, 0]}, b: slider/p, stiffness: 50, damping: 5, rest_length: 1.0, slack: false}
  s2: {type: spring, a: {body: crank, at: [0, 0, 1]}, b: {body: slider, point: q}, stiffness: 1}
  w1: {type: wrench, body: crank, force: [0, 0, 1], torque: [0, 0, 0], at: [0, 0, 0], frame: world}
  t1: {type: torque, joint: pin, value: 2.0}
  t2: {type: torque, joint: pin, value: $sweep}
signals:
  sweep: {sine: {amplitude: 1, frequency: 0.5, phase: 0, offset: 0}}
  hold: {constant: 3}
  push: {constant: [1, 2, 3]}
  jump: {step: {before: 0, after: 1, time: 0.5}}
  rise: {ramp: {from: 0, to: 1, start: 0, end: 2}}
  up: {chirp: {amplitude: 1, f0: 0.1, f1: 10, duration: 1}}
  points: {table: {time: [0, 1], value: [0, 1], interpolate: cubic}}
  file: {table: {file: x.csv}}
events:
  - {at: 1.5, set: {joints.pin.driving.is_constrained: false}}
contact:
  enabled: true
  exclude: [[crank, slider]]
  pairs: [{a: bob, b: ground, friction: 0.8, restitution: 0}]
  capacity: auto
initial: {joint_q: {"so*": center, pin: 0.2}, joint_qd: {pin: 1.0}, assemble: true}
solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit, precision: float64, max_velocity: 1e6}
run: {duration: 10, on_failure: isolate, stop_when: {quantity: joint_q, joint: pin, above: 3}}
output: {every: 0.01, channels: [state, energy, contacts, reactions], select: ["s*"], dtype: float64}
batch:
  worlds: 2
  seed: 7
  vary:
    joints.pin.damping: {uniform: [0.01, 0.1]}
    bodies.crank.mass: {normal: [1, 0.1]}
    bodies.bob.mass: {log_uniform: [1, 10]}
    bodies.dot.mass: {sobol: [1, 10]}
    joints.pin.q: {linspace: [0, 1]}
    params.mu: {grid: [0.2, 0.3, 0.4]}
    world.gravity: {list: [[0, 0, -9.81], [0, 0, -1.62]]}
expect:
  - {max: energy.drift, below: 1.0e-6}
  - {min: joint.pin.q, above: -1}
  - {max: diag.status, below: 5}
  - {at: 2.0, body: crank, quantity: position, equals: [0.1, 0.0, 0.2], within: 1.0e-6}
  - {at: end, joint: pin, quantity: q, below: 1, above: 0, component: 0, world: 1}
  - {at: end, point: crank/b, quantity: velocity, equals: [0, 0, 0], within: 1}
  - {at: 1 s, quantity: energy.total, equals: 0, within: 1e-3}
"""


def test_every_key_of_the_format_is_known(tmp_path):
    (tmp_path / "m.obj").write_text("")
    (tmp_path / "x.csv").write_text("")
    assert codes(tmp_path, ALL_KEYS) == {"SC501", "SC502", "SC414"}


@pytest.mark.parametrize(
    "solver",
    [
        "{type: affine, dt: 1e-3, integrator: bdf1}",
        "{type: affine, dt: 1e-3, integrator: bdf2, tolerance: 1e-6, max_iterations: 9}",
    ],
)
def test_options_of_the_affine_solver(tmp_path, solver):
    text = HEAD + f"bodies: {{a: {BODY}}}\nsolver: {solver}\n"
    assert codes(tmp_path, text) == set()


@pytest.mark.parametrize("kind", ["1P3V", "2P2V", "3P1V", "4P", "1P2V", "2P1V", "3P", "1P1V", "2P", "1P"])
def test_kinds_of_natural_coordinates(tmp_path, kind):
    text = HEAD + f"bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, natural: {kind}}}}}\n"
    assert resolve(document(tmp_path, text)).bodies["a"].natural.kind == kind


def test_ribles_joints():
    assert len(dofs.RIBLE) == 21
    assert sorted(map(len, dofs.RIBLE.values())) == sorted([6, 5, 5, 4, 3, 5, 4, 4, 3, 3, 2, 4, 3, 3, 2, 1, 3, 2, 2, 1, 0])


@pytest.mark.parametrize("name", dofs.RIBLE)
def test_ribles_joints_are_known(tmp_path, name):
    text = HEAD + f"bodies: {{a: {BODY}}}\njoints: {{j: {{type: {name}, parent: world, child: a}}}}\n"
    assert codes(tmp_path, text) == {"SC501"}


def test_defaults_that_depend_on_others(tmp_path):
    spec = resolve(document(tmp_path, HEAD + f"bodies: {{a: {BODY}}}\nsolver: {{dt: 0.004}}\n"))
    assert spec.name == "scene"
    assert spec.solver.type == "generalized"
    assert spec.output.every == pytest.approx(0.008)
    planar = resolve_ignoring(tmp_path, HEAD + "world: {plane: xy}\nbodies: {a: {mass: 1, inertia: 0.1}}\n")
    assert planar.world.gravity == (0.0, -9.81, 0.0)


def test_values_per_dof(tmp_path):
    text = (
        HEAD
        + f"""\
bodies: {{a: {BODY}}}
joints:
  j:
    type: d6
    parent: world
    child: a
    axes:
      linear: [{{axis: [1, 0, 0], damping: 3 N*s/m, drive: {{mode: effort, target: 2 N}}}}]
      angular: [[0, 1, 0], [0, 0, 1]]
    damping: 0.5
    armature: [1 kg, 2 kg*m^2, 3]
    q: [5 cm, 90 deg, 0]
"""
    )
    joint = resolve(document(tmp_path, text)).joints["j"]
    assert joint.damping == (3.0, 0.5, 0.5)
    assert joint.armature == (1.0, 2.0, 3.0)
    assert joint.q == pytest.approx((0.05, math.pi / 2, 0))
    assert [drive and drive.target for drive in joint.drive] == [2.0, None, None]
    assert joint.axes.linear[0].axis == (1, 0, 0)


POSES = ["rpy: [0.1, 0.2, 0.3]", "quat_xyzw: {xyzw}", "quat_wxyz: {wxyz}", "axis_angle: {{axis: {axis}, angle: {angle}}}"]


def test_spellings_of_a_pose_agree(tmp_path):
    cr, sr = math.cos(0.05), math.sin(0.05)
    cp, sp = math.cos(0.1), math.sin(0.1)
    cy, sy = math.cos(0.15), math.sin(0.15)
    # Half-angle formula of R_z(0.3) R_y(0.2) R_x(0.1), written out independently as a product of quaternions.
    yaw, pitch, roll = (np.array(some) for some in ((0, 0, sy, cy), (0, sp, 0, cp), (sr, 0, 0, cr)))
    q = rot.quat_multiply(yaw, rot.quat_multiply(pitch, roll)).tolist()
    angle = 2 * math.acos(q[3])
    values = {
        "xyzw": list(q),
        "wxyz": [q[3], *q[:3]],
        "axis": [x / math.sin(angle / 2) for x in q[:3]],
        "angle": angle,
    }
    for spelling in POSES:
        text = HEAD + f"bodies: {{a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, pose: {{{spelling.format(**values)}}}}}}}\n"
        pose = resolve(document(tmp_path, text)).bodies["a"].pose
        assert pose.quat_xyzw == pytest.approx(q, abs=ROUNDING)


@pytest.mark.parametrize(
    ("moments", "code"),
    [
        ((3, 4, 5), ""),
        ((1, 1, 3), "SC404"),
        ((-1, 4, 4), "SC403"),
        ((0, 0, 0), ""),
        ((3e-300, 4e-300, 5e-300), ""),
        ((1e-300, 1e-300, 3e-300), "SC404"),
    ],
)
def test_an_inertia_is_judged_by_its_principal_moments(tmp_path, moments, code):
    R = rot.quat_to_matrix(rot.quat_from_rpy([0.7, -0.3, 0.2]))
    rows = (R @ np.diag(moments) @ R.T).tolist()
    rows = [[rows[max(i, j)][min(i, j)] for j in range(3)] for i in range(3)]  # symmetric to the bit
    text = HEAD + f"bodies: {{a: {{mass: 1, inertia: {{full: {rows}}}}}}}\n"
    text += "joints: {j: {type: revolute, parent: world, child: a}}\n"
    if not code:
        resolve(document(tmp_path, text))
        return
    with pytest.raises(SceneError) as caught:
        resolve(document(tmp_path, text))
    (fault,) = caught.value.faults
    shown = f"{moments[0]:.4g} kg" if code == "SC403" else "{:.4g} + {:.4g} < {:.4g}".format(*moments)
    assert fault.code == code
    assert shown in fault.message


@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_resolved_text_reads_back_to_the_same_scene(path, tmp_path):
    spec = resolve(load_document(path))
    kept = {key: value for key, value in spec.batch.vary.items() if not key.startswith("params.")}
    # A varied parameter needs the expressions that are gone in a resolved scene; the next test shows that it is refused.
    if len(kept) < len(spec.batch.vary):
        batch = spec.batch.model_copy(update={"vary": kept})
        spec = spec.model_copy(update={"batch": batch, "expect": ()})
    for mesh in path.parent.glob("*.obj"):
        shutil.copy(mesh, tmp_path)
    again = resolve(document(tmp_path, resolved_yaml(spec)))
    assert again == spec
    assert resolved_yaml(again) == resolved_yaml(spec)


def test_resolved_text_of_everything(tmp_path):
    (tmp_path / "m.obj").write_text("")
    (tmp_path / "x.csv").write_text("")
    text = ALL_KEYS.replace("allow_orphan_joints: true", "allow_orphan_joints: false")
    text = text.replace("    params.mu: {grid: [0.2, 0.3, 0.4]}\n", "")  # expressions are gone in a resolved scene
    spec = resolve_ignoring(tmp_path, text)
    again = resolve_ignoring(tmp_path, resolved_yaml(spec))
    assert again == spec


def test_a_varied_parameter_without_use_is_refused(tmp_path):
    """In a resolved scene, too: there the expressions are gone, and all worlds would silently be alike."""
    text = (
        HEAD
        + f"""\
params: {{g: 1}}
world: {{gravity: [0, 0, "${{g}}"]}}
bodies: {{a: {BODY}}}
batch: {{worlds: 2, vary: {{params.g: {{grid: [1, 2]}}}}}}
"""
    )
    spec = resolve(document(tmp_path, text))
    assert codes(tmp_path, resolved_yaml(spec)) == {"SC317"}


def test_awkward_texts_survive(tmp_path):
    words = ["yes", "1e-3", "", " x ", "a: b", "#", 'é\n"q"', "null", "-", "${", "𝄞", "\x85\u2028", "\\", "<<"]
    for word in words:
        spec = resolve(document(tmp_path, HEAD + f"bodies: {{a: {BODY}}}\n")).model_copy(update={"description": word})
        got = resolve(document(tmp_path, resolved_yaml(spec))).description if word != "${" else word
        assert got == word


def descriptions(node):
    if isinstance(node, dict):
        if isinstance(node.get("description"), str):
            yield node["description"]
        for entry in node.values():
            yield from descriptions(entry)
    elif isinstance(node, list):
        for entry in node:
            yield from descriptions(entry)


def test_examples_in_descriptions_are_yaml():
    examples = {text.split("Example: ", 1)[1] for text in descriptions(json_schema()) if "Example: " in text}
    assert len(examples) > 100
    for example in examples:
        faults = Faults()
        assert parse_text(f"a: {example}", "example", faults) is not None
        assert not faults.found, example


def test_warnings_do_not_refuse(tmp_path):
    doc = document(tmp_path, HEAD + "bodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {quat_xyzw: [0, 0, 0, 2]}}}\n")
    assert resolve(doc).bodies["a"].pose.quat_xyzw == (0, 0, 0, 1)
    assert [fault.code for fault in warnings(doc)] == ["SC432"]


def test_places_of_values(tmp_path):
    doc = document(tmp_path, HEAD + f"bodies:\n  a: {BODY}\n")
    resolve(doc)
    assert (doc.where("bodies.a.mass").line, doc.where("bodies.a.mass").column) == (3, 13)
    assert doc.where("bodies.a.com").line == 3
    assert doc.where("bodies.a.mass").path == "bodies.a.mass"


def test_the_room_starts_light():
    code = "import sys, simcli.spec; print([m for m in ('taichi', 'h5py', 'rich') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize(
    ("joint", "reason"),
    [
        ("type: revolute", "which has no limits"),
        ("type: revolute, limit: {lower: -1}", "whose limit has no upper bound"),
        ("type: revolute, limit: {upper: 1}", "whose limit has no lower bound"),
        ("type: planar, limit: [[0, 1], null, [0, 1]]", "whose limit has no lower bound"),
        ("type: ball", "whose coordinates hold a quaternion"),
        ("type: fixed", None),
    ],
)
def test_center_says_why_there_is_none(tmp_path, joint, reason):
    scene = "simcli: 1\nbodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}}}\n"
    scene += f"joints: {{pin: {{parent: world, child: a, {joint}}}}}\ninitial: {{joint_q: {{pin: center}}}}\n"
    path = tmp_path / "scene.yaml"
    path.write_text(scene)
    try:
        resolve(load_document(path))
        found = []
    except SceneError as error:
        found = [fault for fault in error.faults if fault.code == "SC458"]
    assert [fault.message for fault in found] == ([f"`center` for joint `pin`, {reason}"] if reason else [])
    assert all(fault.hint and fault.where.line == len(scene.splitlines()) for fault in found)
