"""Scenes to models: placement, reported coordinates, initial state, forces, faults with their place, batches."""

from dataclasses import fields

import numpy as np
import pytest
from support.scenes import scene

from simcli import rotations as rot
from simcli.errors import SceneError
from simcli.model import build, build_worlds
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.params import param_unit
from simcli.model.tables.model import WORLD, DriveMode, JointKind, Model
from simcli.spec import passes, resolve

EXACT = 1e-14
MASS = "mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}"


def built(text: str) -> Model:
    document = scene(text)
    return build(resolve(document), document)


def body_frames(model):
    """Poses of the bodies at the initial state of world 0: R (B, 3, 3), x (B, 3)."""
    R, x = body_poses(model, model.joint_q)
    return R[:, 0], x[:, 0]


def quat_matrix(model, b):
    return rot.quat_to_matrix(model.bodies.q[0, b, 3:])


def test_authored_poses_are_kept_at_zero():
    """With `at`, whatever the orientations of bodies and the order of joints."""
    model = built(f"""
bodies:
  a: {{pose: {{xyz: [1, 2, 3], rpy: [0.3, -0.2, 1.1]}}, {MASS}}}
  b: {{pose: {{xyz: [-1, 0.5, 0], rpy: [1, 2, 3]}}, {MASS}}}
  c: {{pose: {{xyz: [0, 0, 4], rpy: [-1, 0.2, 0.5]}}, {MASS}}}
joints:
  bc: {{type: universal, parent: b, child: c, at: [0, 1, 1], axes: {{angular: [[1, 1, 0], [0, 0, 1]]}}}}
  ab: {{type: ball, parent: a, child: b, at: [3, 1, 1]}}
  wa: {{type: planar, parent: world, child: a, at: [0, 0, 1], axis: [1, 2, 2]}}
""")
    R, x = body_frames(model)
    for b in range(3):
        assert np.abs(x[b] - model.bodies.q[0, b, :3]).max() < 10 * EXACT
        assert np.abs(R[b] - quat_matrix(model, b)).max() < 10 * EXACT


@pytest.mark.parametrize(("more", "path"), [("q: 1.1e6", "joints.pin.q"), ("", "initial.joint_q.pin")])
def test_angles_beyond_what_float64_tells_are_refused_where_they_stand(more, path):
    pin = f"{{type: revolute, parent: world, child: a, axis: [0, 1, 0], {more}}}"
    text = f"bodies: {{a: {{{MASS}}}}}\njoints: {{pin: {pin}}}\n"
    initial = "" if more else "initial: {joint_q: {pin: -1.1e6}}\n"
    with pytest.raises(SceneError, match=r"beyond 1e.06 rad") as caught:
        built(text + initial)
    assert [(fault.code, fault.where.path) for fault in caught.value.faults] == [("SC231", path)]
    assert built(text.replace(more, "q: 1e6") if more else text).joint_q.shape == (1, 1)
    assert built(text.replace("revolute", "prismatic") + initial).joint_q.shape == (1, 1)  # a length may be long


def test_axis_of_at_is_in_world_axes_of_the_authored_configuration():
    model = built(f"""
bodies:
  a: {{pose: {{rpy: [0.4, 0.5, 0.6]}}, {MASS}}}
  b: {{pose: {{xyz: [1, 0, 0], rpy: [2, 0.1, 0]}}, {MASS}}}
joints:
  wa: {{type: fixed, parent: world, child: a}}
  ab: {{type: revolute, parent: a, child: b, at: [0.5, 0.5, 0], axis: [0, 3, 4], q: 0.7}}
""")
    assert np.abs(model.dofs.axis[0, 0] - [0, 0.6, 0.8]).max() < EXACT
    turn = rot.quat_from_axis_angle(np.array([0, 0.6, 0.8]), np.array(0.7))
    R, x = body_frames(model)
    assert np.abs(R[1] - rot.quat_to_matrix(turn) @ quat_matrix(model, 1)).max() < 10 * EXACT
    at = np.array([0.5, 0.5, 0])
    assert np.abs(x[1] - (at + rot.quat_rotate(turn, np.array([1.0, 0, 0]) - at))).max() < 10 * EXACT


def test_poses_follow_from_frames_through_several_levels():
    model = built(f"""
bodies:
  b: {{{MASS}}}
  a: {{{MASS}}}
  c: {{pose: {{xyz: [0, 2, 1.5], rpy: [0, 0, 1.5707963267948966]}}, {MASS}}}
joints:
  ab: {{type: revolute, parent: a, child: b, axis: [1, 0, 0], q: 1.0, parent_frame: {{xyz: [1, 0, 0]}},
        child_frame: {{xyz: [-1, 0, 0]}}}}
  wa: {{type: prismatic, parent: world, child: a, axis: [0, 0, 1],
        parent_frame: {{xyz: [0, 0, 1.5], rpy: [0, 0, 1.5707963267948966]}}}}
  bc: {{type: fixed, parent: b, child: c}}
""")
    assert np.abs(model.bodies.q[0, 1, :3] - [0, 0, 1.5]).max() < EXACT
    assert np.abs(model.bodies.q[0, 0, :3] - [0, 2, 1.5]).max() < EXACT
    assert np.abs(quat_matrix(model, 0) - quat_matrix(model, 2)).max() < EXACT


@pytest.mark.parametrize("type_name", ["revolute", "prismatic", "screw"])
@pytest.mark.parametrize("place", ["at: [0.2, 0.1, 0]", "parent_frame: {xyz: [0.2, 0.1, 0]}"])
def test_reported_coordinate_is_measured_plus_init_angle(type_name, place):
    pitch = "pitch: 0.3, " if type_name == "screw" else ""

    def with_joint(rest):
        joint = f"type: {type_name}, parent: world, child: a, {pitch}axis: [0, 0, 1], {place}, {rest}"
        return built(f"bodies: {{a: {{{MASS}}}}}\njoints: {{j: {{{joint}}}}}")

    plain, shifted = with_joint("q: 0.4"), with_joint("q: 1.4, init_angle: 1.0")
    for one, other in zip(body_frames(plain), body_frames(shifted), strict=True):
        assert np.abs(one - other).max() < EXACT
    resting = with_joint("init_angle: 1.0")
    assert resting.joint_q[0, 0] == 1.0  # q left out: the body stays where it is authored
    R, x = body_frames(resting)
    assert np.abs(x[0] - resting.bodies.q[0, 0, :3]).max() < EXACT
    assert np.abs(R[0] - quat_matrix(resting, 0)).max() < EXACT


def test_free_bodies_start_at_their_pose_with_their_velocity():
    model = built(f"""
bodies:
  ball: {{pose: {{xyz: [1, 2, 3], rpy: [0.1, 0.2, 0.3]}}, velocity: {{linear: [1, 2, 3], angular: [4, 5, 6]}}, {MASS}}}
  stone: {{pose: {{xyz: [4, 0, 0]}}, {MASS}}}
  pebble: {{pose: {{xyz: [5, 0, 0]}}, velocity: {{linear: [1, 0, 0]}}, {MASS}}}
joints:
  loose: {{type: free, parent: world, child: pebble}}
""")
    assert model.joints.name == ("loose", "ball_free", "stone_free")
    assert (model.joints.kind == JointKind.FREE).all()
    assert (model.joint_q[0] == model.bodies.q[0, [2, 0, 1]].ravel()).all()
    assert model.joint_qd[0].tolist() == [1, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0]


def test_velocity_of_a_free_body_turns_into_the_anchor_frame():
    model = built(f"""
bodies: {{a: {{velocity: {{linear: [1, 0, 0], angular: [0, 0, 2]}}, {MASS}}}}}
joints: {{j: {{type: free, parent: world, child: a, parent_frame: {{rpy: [0, 0, 1.5707963267948966]}}}}}}
""")
    assert np.abs(model.joint_qd[0] - [0, -1, 0, 0, 0, 2]).max() < EXACT


def test_screw_pitch_is_per_turn():
    model = built(f"""
bodies: {{a: {{{MASS}}}}}
joints: {{j: {{type: screw, parent: world, child: a, at: [0, 0, 0], axis: [0, 0, 1], pitch: 0.5, q: 3 rad}}}}
""")
    assert np.isclose(model.joints.pitch[0, 0] * 2 * np.pi, 0.5, rtol=EXACT)
    assert np.isclose(body_frames(model)[1][0, 2], 0.5 * 3 / (2 * np.pi), rtol=10 * EXACT)


def test_tree_may_run_against_a_joint():
    """q stays child relative to parent; the same mechanism either way."""
    text = """
bodies: {{a: {{{mass}}}, b: {{pose: {{xyz: [1, 0, 0]}}, {mass}}}}}
joints:
  base: {{type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 0, 1], q: 0.2}}
  j: {{type: {type}, parent: {parent}, child: {child}, at: [0.5, 0, 0], axis: [0, 1, 0], q: {q}}}
"""
    for type_name, q, back in (("revolute", "0.6", "-0.6"), ("cylindrical", "[0.3, 0.6]", "[-0.3, -0.6]")):
        forward = built(text.format(mass=MASS, type=type_name, parent="a", child="b", q=q))
        against = built(text.format(mass=MASS, type=type_name, parent="b", child="a", q=back))
        for one, other in zip(body_frames(forward), body_frames(against), strict=True):
            assert np.abs(one - other).max() < EXACT
        assert against.joints.parent.tolist() == [WORLD, 1]


def test_drives_limits_and_dof_values_stand_at_their_dofs():
    model = built(f"""
bodies: {{a: {{{MASS}}}, b: {{{MASS}}}}}
joints:
  one: {{type: revolute, parent: world, child: a, at: [0, 0, 0], damping: 0.5, armature: 0.1,
         drive: {{mode: position, target: 0.3, stiffness: 20, damping: 2}}}}
  two: {{type: cylindrical, parent: a, child: b, at: [0, 0, 0], damping: [1, 2]}}
forces: {{t: {{type: torque, joint: two, value: [3, 4]}}, u: {{type: torque, joint: one, value: 5}}}}
""")
    assert model.dofs.label == ("one", "two:0", "two:1")
    assert model.dofs.damping[0].tolist() == [0.5, 1, 2]
    assert model.dofs.armature[0].tolist() == [0.1, 0, 0]
    assert model.dofs.drive_mode.tolist() == [DriveMode.POSITION, DriveMode.NONE, DriveMode.NONE]
    assert model.dofs.drive_target[0].tolist() == [0.3, 0, 0]
    assert model.joint_f[0].tolist() == [5, 3, 4]
    assert (model.dofs.limit_upper == np.inf).all()


def test_initial_patterns_beat_the_joints_own_values():
    model = built(f"""
bodies: {{a: {{{MASS}}}, b: {{{MASS}}}, c: {{{MASS}}}}}
joints:
  arm1: {{type: revolute, parent: world, child: a, at: [0, 0, 0], q: 9}}
  arm2: {{type: ball, parent: a, child: b, at: [0, 0, 0]}}
  leg: {{type: prismatic, parent: b, child: c, at: [0, 0, 0], qd: 8}}
initial: {{joint_q: {{"arm1": 0.5, "arm2": [0, 0, 3, 4]}}, joint_qd: {{"*eg": 1.5}}}}
""")
    assert np.abs(model.joint_q[0] - [0.5, 0, 0, 0.6, 0.8, 0]).max() < EXACT
    assert model.joint_qd[0].tolist() == [0, 0, 0, 0, 1.5]


def test_masses_from_shapes():
    model = built("""
materials: {steel: {density: 1000}}
contact: {enabled: false}
bodies:
  by_material: {shapes: {s: {type: box, size: [1, 1, 1], material: steel, pose: {xyz: [0, 0, 2]}}}}
  scaled: {mass: 5, shapes: {s: {type: box, size: [1, 2, 3]}}}
  halves: {shapes: {l: {type: box, size: [1, 1, 1], density: 1, pose: {xyz: [-1, 0, 0]}},
                    r: {type: box, size: [1, 1, 1], density: 3, pose: {xyz: [1, 0, 0]}},
                    light: {type: sphere, radius: 5}}}
  cone: {shapes: {s: {type: cone, radius: 1, length: 4, density: 1}}}
""")
    assert np.allclose(model.bodies.mass[0], [1000, 5, 4, 4 * np.pi / 3], rtol=EXACT)
    assert np.allclose(model.bodies.com[0], [[0, 0, 2], [0, 0, 0], [0.5, 0, 0], [0, 0, -1]], rtol=EXACT)
    assert np.allclose(np.diag(model.bodies.inertia[0, 1]), np.array([13, 10, 5]) * 5 / 12, rtol=EXACT)
    assert np.allclose(np.diag(model.bodies.inertia[0, 2]), [4 / 6, 4 / 6 + 3, 4 / 6 + 3], rtol=EXACT)


def test_springs_take_their_length_at_the_start():
    model = built(f"""
bodies: {{a: {{{MASS}, points: {{p: [1, 0, 0]}}}}}}
joints: {{j: {{type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 0, 1], q: 90 deg}}}}
forces:
  s: {{type: spring, a: {{world: [0, -1, 0]}}, b: a/p, stiffness: 3}}
  w: {{type: wrench, body: a, force: [1, 0, 0], frame: body}}
""")
    assert np.isclose(model.springs.rest_length[0, 0], 2.0, rtol=EXACT)
    assert model.springs.body.tolist() == [[WORLD, 0]]
    assert model.points.name == ("a/p",)
    assert model.wrenches.follows.tolist() == [True]


FAULTS = {
    "SC450": (
        """
bodies: {a: {%s, pose: {xyz: [0, 0, 1]}}}
joints: {j: {type: revolute, parent: world, child: a, parent_frame: {xyz: [0, 0, 1.00001]}}}
""",
        "bodies.a.pose",
    ),
    "SC451": (
        """
bodies: {a: {%s}, b: {%s}}
joints:
  base: {type: revolute, parent: world, child: a, at: [0, 0, 0]}
  j: {type: ball, parent: b, child: a, at: [0, 0, 0]}
""",
        "joints.j",
    ),
    "SC452": (
        """
bodies: {a: {mass: 1, inertia: point}}
joints: {j: {type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 0, 1]}}
""",
        "joints.j",
    ),
    "SC456": (
        """
bodies: {a: {%s}}
joints: {j: {type: universal, parent: world, child: a, axes: {angular: [[1, 0, 0], [2, 0, 0]]}}}
""",
        "joints.j.axes.angular",
    ),
    "SC458": (
        """
bodies: {a: {%s}}
joints: {j: {type: revolute, parent: world, child: a, at: [0, 0, 0]}}
initial: {joint_q: {j: center}}
""",
        "initial.joint_q.j",
    ),
    "SC459": (
        """
bodies: {a: {%s, velocity: {linear: [1, 0, 0]}}}
joints: {j: {type: revolute, parent: world, child: a, at: [0, 0, 0]}}
""",
        "bodies.a.velocity",
    ),
    "SC462": (
        """
bodies: {a: {%s}}
joints: {j: {type: ball, parent: world, child: a, at: [0, 0, 0], init_angle: 0.1}}
""",
        "joints.j.init_angle",
    ),
    "SC463": (
        """
bodies: {a: {%s}}
joints: {j: {type: cylindrical, parent: world, child: a, at: [0, 0, 0]}}
initial: {joint_q: {j: 1}}
""",
        "initial.joint_q.j",
    ),
}


@pytest.mark.parametrize("code", list(FAULTS))
def test_faults_have_a_code_and_a_place(code):
    text, path = FAULTS[code]
    with pytest.raises(SceneError) as caught:
        built(text.replace("%s", MASS))
    (fault,) = caught.value.faults
    assert fault.code == code
    assert fault.where.path.startswith(path)
    assert fault.where.line > 0
    assert fault.hint


@pytest.mark.parametrize(
    ("body", "joint"),
    [
        ("mass: 1, inertia: point, com: [0.5, 0, 0]", "type: revolute, axis: [0, 0, 1]"),
        ("mass: 1, inertia: point", "type: prismatic, axis: [1, 0, 0]"),
        ("mass: 1, inertia: point", "type: revolute, axis: [0, 0, 1], armature: 0.1"),
        ("mass: 1, inertia: {diag: [1, 1, 0]}", "type: universal, axes: {angular: [[1, 0, 0], [0, 1, 0]]}"),
    ],
)
def test_point_masses_and_rods_are_legal_where_something_moves(body, joint):
    model = built(f"bodies: {{a: {{{body}}}}}\njoints: {{j: {{{joint}, parent: world, child: a, at: [0, 0, 0]}}}}")
    assert model.n_bodies == 1


@pytest.mark.parametrize(
    ("body", "joint"),
    [
        ("mass: 1, inertia: point", "type: free"),
        ("mass: 1, inertia: {diag: [0.1, 0.1, 0]}, com: [0, 0, 1]", "type: ball, at: [0, 0, 0]"),
        ("mass: 1, inertia: {diag: [0.1, 0.1, 0]}, com: [0, 0, 1]", "type: revolute, at: [0, 0, 0], axis: [0, 0, 1]"),
    ],
)
def test_motion_without_inertia_is_refused(body, joint):
    with pytest.raises(SceneError, match=r"SC423|SC452"):  # a lone point is seen before the model is built
        built(f"bodies: {{a: {{{body}}}}}\njoints: {{j: {{{joint}, parent: world, child: a}}}}")


BATCH = f"""
params: {{L: 0.5}}
bodies:
  a: {{pose: {{xyz: [0.1, 0.2, 0.3], rpy: [0.3, 0.2, 0.1]}}, {MASS}}}
  b: {{mass: 2, shapes: {{s: {{type: capsule, radius: 0.1, length: "${{L}}", pose: {{rpy: [0.1, 0.2, 0.3]}}}}}}}}
contact: {{enabled: false}}
joints:
  wa: {{type: revolute, parent: world, child: a, at: [0, 0, "${{L}}"], axis: [0.2, 1, 0.3], init_angle: 0.3}}
  ab: {{type: screw, parent: a, child: b, axis: [1, 1, 0], pitch: 0.1, damping: 0.2, q: 0.1,
        parent_frame: {{xyz: [0.1, 0, "${{L}}"], rpy: [0.5, 0.1, 0]}}, child_frame: {{rpy: [0, 0.4, 0]}}}}
forces: {{s: {{type: spring, a: {{world: [1, 0, 0]}}, b: {{body: b, at: [0, 0.1, 0]}}, stiffness: 5}}}}
batch:
  worlds: 7
  seed: 3
  vary:
    params.L: {{uniform: [0.2, 0.9]}}
    joints.wa.axis: {{list: [[0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 2, 3], [0, 0, -1], [1, 1, 1], [3, 1, 2]]}}
    joints.wa.init_angle: {{uniform: [0, 1]}}
    joints.ab.damping: {{uniform: [0.1, 0.2]}}
"""


def arrays_of(table, prefix=""):
    for column in fields(table):
        value = getattr(table, column.name)
        if isinstance(value, np.ndarray):
            yield prefix + column.name, value
        elif hasattr(value, "__dataclass_fields__"):
            yield from arrays_of(value, f"{column.name}.")


def test_a_world_is_the_same_alone_and_in_the_batch():
    document = scene(BATCH)
    spec = resolve(document)
    whole = dict(arrays_of(build_worlds(document, spec)))
    for worlds in [*((world,) for world in range(7)), (1, 2), (6, 0, 3)]:
        for name, alone in arrays_of(build_worlds(document, spec, worlds)):
            many = whole[name]
            if many.shape != alone.shape:
                assert len(many) == 7, name
                many = many[list(worlds)]
            assert many.tobytes() == alone.tobytes(), name


@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_batches_are_the_same_in_any_chunks(chunk, monkeypatch):
    document = scene(BATCH)
    spec = resolve(document)
    whole = dict(arrays_of(build_worlds(document, spec)))
    monkeypatch.setattr(passes, "MOST_TOGETHER", chunk)
    for name, pieced in arrays_of(build_worlds(document, spec)):
        assert pieced.shape == whole[name].shape, name
        assert pieced.tobytes() == whole[name].tobytes(), name


def test_only_what_differs_has_a_world_axis():
    document = scene(BATCH)
    model = build_worlds(document, resolve(document))
    assert model.n_worlds == 7
    assert model.param_name[:1] == ("params.L",)
    assert model.param_value.shape == (7, 6)
    varied = {name for name, value in arrays_of(model) if value.ndim > 1 and len(value) == 7}
    for name in ("dofs.damping", "links.rotation", "bodies.inertia", "joints.X_c", "springs.rest_length", "bodies.q"):
        assert name in varied, name
    for name in ("dofs.armature", "bodies.mass", "joints.pitch", "springs.stiffness", "gravity"):
        assert name not in varied, name
    L = model.param_value[:, 0]
    assert (model.dofs.damping[:, 1] == model.param_value[:, model.param_name.index("joints.ab.damping")]).all()
    assert (model.joints.X_p[:, 0, 2] == L).all()


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("joints.wa.damping", "N*m*s/rad"),
        ("joints.wa.q", "rad"),
        ("joints.slide.drive.stiffness", "N/m"),
        ("joints.slide.drive.target", "N"),
        ("initial.joint_qd.slide", "m/s"),
        ("bodies.b.mass", "kg"),
        ("bodies.b.pose.xyz[1]", "m"),
        ("bodies.b.shapes.s.radius", "m"),
        ("bodies.a.inertia.diag[0]", "kg*m^2"),
        ("world.gravity", "m/s^2"),
        ("forces.s.stiffness", "N/m"),
        ("forces.coil.stiffness", "N*m/rad"),
        ("forces.coil.rest_angle", "rad"),
        ("forces.push.value", "N"),
        ("params.L", ""),
    ],
)
def test_units_of_parameters(path, unit):
    slide = "  slide: {type: prismatic, parent: b, child: c, drive: {mode: effort}}\nforces:"
    coil = "coil: {type: torsion, joint: wa, stiffness: 1}, push: {type: torque, joint: slide, value: 1}, s:"
    text = BATCH.replace("forces: {s:", f"forces: {{{coil}").replace("forces:", slide)
    text = text.replace("contact:", f"  c: {{{MASS}}}\ncontact:")
    document = scene(text)
    assert param_unit(document, resolve(document), path) == unit


def test_an_unvaried_batch_shares_everything():
    document = scene(f"bodies: {{a: {{{MASS}}}}}\nbatch: {{worlds: 9}}")
    model = build_worlds(document, resolve(document))
    assert model.n_worlds == 9
    assert all(len(value) == 1 for name, value in arrays_of(model) if name in ("joint_q", "bodies.mass", "gravity"))
