"""Frames of bodies: poses that are given in them, against rotations composed by scipy; who follows them; refusals.

The channel body_qdd: accelerations of bodies in every solver, against closed forms and differences of velocities.

Accelerations of joints in every solver: of joints that close loops, and of joints that are rows, those of the tree.

Differences of forces, and eigenvalues of small motions, on matrices alone: kinks, flutter, exact zeros, no mass.
"""

from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from scipy.spatial.transform import RigidTransform, Rotation
from support.forward import Runner, model_of
from support.scenes import faults_of
from support.solver_modes import MODES

from simcli.analysis.rest.spectrum import MasslessError, ModeKind, modes_of
from simcli.analysis.rest.statics import WIDTH, _slope
from simcli.model.from_scene import build, build_worlds
from simcli.model.joints.tree_kinematics import body_poses
from simcli.records.contents.layout import CHANNELS, PARTS
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec.document.resolved_yaml import to_yaml
from simcli.spec.loading import document_of_text
from simcli.spec.resolve import resolve
from simcli.spec.schema.run_sections import OutputSpec

CLOSE = 1e-15  # [m] and of unit quaternions: a few roundings
BODY = "mass: 1, com: [0.1, 0, 0], inertia: {diag: [0.1, 0.1, 0.1]}"
CHAIN = f"""simcli: 1
world: {{frames: {{table: {{xyz: [0.1, 0.2, 0.8], rpy: [0, 0, 90 deg]}}}}}}
bodies:
  a: {{pose: {{in: world/table, xyz: [0.1, 0, 0]}}, {BODY},
    frames: {{tip: {{xyz: [0.5, 0, 0], rpy: [0.3, 0.4, 0.5]}}, end: {{in: tip, xyz: [0, 0.2, 0], rpy: [0.1, 0, 0]}}}}}}
  b: {{pose: a/end, {BODY}, frames: {{hole: {{xyz: [0, 0, 0.3]}}}}, shapes: {{s: {{type: sphere, radius: 0.1, pose: hole}}}},
    look: {{shapes: {{t: {{type: sphere, radius: 0.1, pose: {{in: b/hole, xyz: [1, 0, 0]}}}}}}}}}}
  c: {{{BODY}}}
joints:
  p: {{type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 1, 0]}}
  q: {{type: revolute, parent: a, child: b, parent_frame: end, axis: [0, 1, 0]}}
  r: {{type: ball, parent: b, child: c, parent_frame: {{in: b/hole, rpy: [0.2, 0, 0]}}, child_frame: {{xyz: [0, 0, 1]}}}}
forces: {{wire: {{type: spring, a: b/hole, b: a/tip, stiffness: 10, rest_length: 0.1}}}}
contact: {{enabled: false}}
"""


def spec_of(text, values=None):
    return resolve(document_of_text(text, "frames.yaml"), values)


def transform(xyz, rpy=(0, 0, 0)):
    return RigidTransform.from_components(xyz, Rotation.from_euler("xyz", rpy))


def assert_pose(pose, expected):
    np.testing.assert_allclose(pose.xyz, expected.translation, atol=CLOSE)
    turn = Rotation.from_quat(pose.quat_xyzw) * expected.rotation.inv()
    assert turn.magnitude() < 10 * CLOSE
    assert pose.in_ is None


def poses(shift=0.5):
    a = transform([0.1, 0.2, 0.8], [0, 0, np.pi / 2]) * transform([0.1, 0, 0])
    end = transform([shift, 0, 0], [0.3, 0.4, 0.5]) * transform([0, 0.2, 0], [0.1, 0, 0])
    return a, end


@pytest.mark.parametrize("shift", [0.5, 0.7])
def test_poses_are_products_of_frames_and_follow_what_they_are_in(shift):
    spec = spec_of(CHAIN, {"bodies.a.frames.tip.xyz[0]": shift} if shift != 0.5 else None)
    a, end = poses(shift)
    hole = transform([0, 0, 0.3])
    assert_pose(spec.bodies["a"].pose, a)
    assert_pose(spec.bodies["a"].frames["end"], end)
    assert_pose(spec.bodies["b"].pose, a * end)
    assert_pose(spec.joints["q"].parent_frame, end)
    assert_pose(spec.joints["r"].parent_frame, hole * transform([0, 0, 0], [0.2, 0, 0]))
    assert_pose(spec.bodies["b"].shapes["s"].pose, hole)
    assert_pose(spec.bodies["b"].look.shapes["t"].pose, transform([1, 0, 0.3]))


def test_a_resolved_scene_is_one_that_reads_back():
    spec = spec_of(CHAIN)
    assert spec_of(to_yaml(spec)) == spec


def test_frames_are_points_and_place_bodies():
    model = build(spec_of(CHAIN))
    assert model.points.name == ("a/tip", "a/end", "b/hole")
    R, x = body_poses(model, model.joint_q)
    a, end = poses()
    assert_at(x[:, 0], R[:, 0], [a, a * end, a * end * transform([0, 0, 0.3], [0.2, 0, 0]) * transform([0, 0, -1])])
    np.testing.assert_allclose(model.springs.point[0, 0], [[0, 0, 0.3], [0.5, 0, 0]], atol=CLOSE)


def assert_at(places, axes, expected):
    for x, R, pose in zip(places, axes, expected, strict=True):
        np.testing.assert_allclose(x, pose.translation, atol=4 * CLOSE)
        np.testing.assert_allclose(R, pose.rotation.as_matrix(), atol=4 * CLOSE)


def test_worlds_differ_in_frames():
    text = CHAIN + "batch: {worlds: 2, vary: {bodies.a.frames.tip.xyz: {list: [[0.5, 0, 0], [0.7, 0, 0]]}}}\n"
    document = document_of_text(text, "frames.yaml")
    model = build_worlds(document, resolve(document))
    _, x = body_poses(model, model.joint_q)
    for world, shift in enumerate((0.5, 0.7)):
        a, end = poses(shift)
        np.testing.assert_allclose(x[1, world], (a * end).translation, atol=4 * CLOSE)


def test_instances_take_their_frames_with_them():
    model = f"""simcli: 1
models:
  pair:
    bodies:
      a: {{pose: {{xyz: [0, 0, 1]}}, {BODY}, frames: {{tip: {{xyz: [1, 0, 0]}}}}}}
      b: {{pose: {{in: a/tip, rpy: [0.1, 0, 0]}}, {BODY}, frames: {{a: {{xyz: [0, 1, 0]}}, on: {{in: a}}, off: b/a}}}}
      c: {{pose: b, {BODY}}}
    joints:
      p: {{type: revolute, parent: world, child: a, at: [0, 0, 1], axis: [0, 1, 0]}}
      q: {{type: fixed, parent: a, child: b, parent_frame: {{in: a/tip, rpy: [0.1, 0, 0]}}}}
instances: {{left: {{model: pair, at: {{xyz: [0, 5, 0], rpy: [0, 0, 90 deg]}}}}}}
contact: {{enabled: false}}
"""
    spec = spec_of(model)
    outer = transform([0, 5, 0], [0, 0, np.pi / 2]) * transform([0, 0, 1])
    assert_pose(spec.bodies["left/a"].pose, outer)
    for name in ("left/b", "left/c"):
        assert_pose(spec.bodies[name].pose, outer * transform([1, 0, 0], [0.1, 0, 0]))
    for name in ("on", "off"):
        assert_pose(spec.bodies["left/b"].frames[name], transform([0, 1, 0]))
    assert_pose(spec.joints["left/q"].parent_frame, transform([1, 0, 0], [0.1, 0, 0]))
    build(spec)


MISTAKES = {
    "pose in its own frame": ("bodies:\n  a: {pose: {in: a/tip}, BODY, frames: {tip: {xyz: [1, 0, 0]}}}\n", 3, "circle"),
    "a circle of bodies": ("bodies:\n  a: {pose: b, BODY}\n  b: {pose: {in: c}, BODY}\n  c: {pose: a, BODY}\n", 5, "circle"),
    "a circle of frames": ("bodies:\n  a: {BODY, frames: {u: v, v: {in: u}}}\n", 3, "circle"),
    "no such body": ("bodies:\n  a: {BODY}\n  b: {pose: {in: aa/tip}, BODY}\n", 4, "no body or frame"),
    "no such frame": ("bodies:\n  a: {BODY, frames: {tip: {}}}\n  b: {pose: a/tap, BODY}\n", 4, "no frame `tap`"),
    "frame of another body": (
        "bodies:\n  a: {BODY, frames: {tip: {}}}\n  b:\n    BODIES\n    frames:\n      u: a/tip\n",
        9,
        "no frame of `b`",
    ),
    "frame of the other side": (
        "bodies:\n  a: {BODY, frames: {tip: {}}}\n  b: {BODY}\njoints:\n  j: {type: fixed,\n"
        "    parent: a, child: b, child_frame: tip}\n",
        7,
        "`b` has no frame `tip`",
    ),
    "a pose that follows": (
        "bodies:\n  a: {BODY, frames: {tip: {}}}\n  b: {pose: a/tip, BODY}\njoints:\n"
        "  j: {type: revolute, parent: world, child: a, parent_frame: {}}\n",
        4,
        "follows from a joint",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_cannot_be_placed_is_refused_at_its_line(name):
    body, line, words = MISTAKES[name]
    body = body.replace("BODIES", BODY.replace(", com", "\n    com").replace(", inertia", "\n    inertia"))
    found = faults_of(body.replace("BODY", BODY) + "contact: {enabled: false}\n")
    assert [fault[:2] for fault in found] == [("SC324", line - 2)], found
    assert words in found[0][2]


def test_a_name_is_a_point_or_a_frame():
    found = faults_of(f"bodies:\n  a: {{{BODY}, points: {{t: [0, 0, 0]}}, frames: {{t: {{}}}}}}\n")
    assert [fault[:2] for fault in found] == [("SC302", 1)]


ANGLE, RATE, ARM, G = 0.7, 3.0, 0.6, 9.81
H, N = 1e-3, 100
# A pendulum whose inertia about the pin is known; and a chain in space, whose last body turns about three axes.
SCENE = f"""
bodies:
  bob: {{mass: 2, com: [{ARM}, 0, 0], inertia: {{diag: [0.1, 0.3, 0.2]}}}}
  arm: {{mass: 1, com: [0.2, 0, 0], inertia: {{diag: [0.1, 0.12, 0.15]}}, pose: {{xyz: [0, 3, 0]}}}}
  top: {{mass: 0.5, com: [0.1, 0.2, 0], inertia: {{diag: [0.1, 0.05, 0.08]}}, pose: {{xyz: [0.5, 3, 0]}}}}
joints:
  pin: {{type: revolute, parent: world, child: bob, axis: [0, 1, 0], q: {ANGLE}, qd: {RATE}}}
  turn: {{type: revolute, parent: world, child: arm, at: [0, 3, 0], axis: [1, 2, 0.5], qd: 2}}
  ball: {{type: ball, parent: arm, child: top, at: [0.5, 3, 0], qd: [1, 3, -2]}}
"""
# Others are told by test_elements.py (implicit, generalized_alpha, bdf2), test_sensors.py and test_contact_options.py.
QUICK = {("generalized", "rk4"), ("maximal", "semi_implicit"), ("natural", "zhong06"), ("natural", "moreau")}
FIRST_ORDER = {"semi_implicit", "moreau", "bdf1"}
START = 1e-10  # [m/s^2], of rounding
BOUND = {True: 1e-2, False: 2e-5}  # relative to the largest acceleration: what steps of first and second order differ
# Frames that are compared: the first step of maximal coordinates is along the chord, and affine bodies swing at first.
FIRST = {"maximal": 2, "affine": 80}


def frames(kind, integrator, device):
    model, options = model_of(f"{SCENE}solver: {{type: {kind}, dt: {H}, integrator: {integrator}}}\n")
    solver = SOLVERS[kind](model, options, RunPlan(H, 1, N, frozenset(("bodies", "body_qdd"))), device)
    found = [solver.initial().columns, solver.advance(N).columns]
    velocity, acceleration, status = (
        np.concatenate([part[name][:, 0] for part in found]) for name in ("frames/body_qd", "frames/body_qdd", "diag/status")
    )
    assert status.max() == 0
    return velocity, acceleration


@pytest.fixture(scope="module")
def wanted(device_of_module):
    """By differences of velocities, at all frames but the first and the last."""
    velocity, _ = frames("generalized", "rk4", device_of_module)
    return (velocity[2:] - velocity[:-2]) / (2 * H)


@pytest.fixture(scope="module")
def device_of_module():
    from support.device import live_device

    return live_device()


def of_pendulum():
    """Of the centre of mass, and angular; the pin along y turns x to -z."""
    alpha = 2 * G * ARM * np.cos(ANGLE) / (0.3 + 2 * ARM**2)
    along, across = np.array([np.cos(ANGLE), 0, -np.sin(ANGLE)]), np.array([-np.sin(ANGLE), 0, -np.cos(ANGLE)])
    return np.r_[ARM * (alpha * across - RATE**2 * along), 0, alpha, 0]


def test_every_channel_of_the_file_is_offered():
    offered, _ = get_args(OutputSpec.model_fields["channels"].annotation)
    assert set(get_args(offered)) == set(CHANNELS) >= set(PARTS)


@pytest.mark.parametrize(
    ("kind", "integrator"), [pytest.param(*one, marks=[pytest.mark.slow] * (one not in QUICK)) for one in MODES]
)
def test_accelerations_are_the_rates_of_velocities(wanted, kind, integrator, device_of_module):
    _, found = frames(kind, integrator, device_of_module)
    first = FIRST.get(kind, 1)
    gap = np.abs(found[first:-1] - wanted[first - 1 :]).max() / np.abs(wanted).max()
    assert kind == "affine" or np.abs(found[0, 0] - of_pendulum()).max() < START
    assert gap < BOUND[integrator in FIRST_ORDER or kind == "affine"]


LOOSE = 2e-3  # relative, of steps of second order of 0.2 ms
ONE_STEP = 2e-2  # of steps of first order, whose accelerations are those of the step before
JOINTS = {
    "revolute": "type: revolute, axis: [0, 1, 0.2], armature: 0.1, damping: 0.2",
    "screw": "type: screw, axis: [0, 1, 0.2], pitch: 0.3",
    "prismatic": "type: prismatic, axis: [1, 0, 0.5]",
    "cylindrical": "type: cylindrical, axis: [1, 0.3, 0]",
    "universal": "type: universal, axes: {angular: [[0, 1, 0], [0, 0, 1]]}",
    "gimbal": "type: d6, axes: {linear: [[1, 0, 0]], angular: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}",
    "ball": "type: ball",
    "planar": "type: planar, axis: [0, 1, 0]",
    "free": "type: free",
}


def chains(loops: bool) -> str:
    """A carrier that turns on the world for each joint, which holds a second body; all fall from rest."""
    bodies, joints = [], []
    for k, (name, words) in enumerate(JOINTS.items()):
        place = f"{{xyz: [0, {3 * k}, 0]}}"
        bodies += [
            f"  a_{name}: {{mass: 1, inertia: {{diag: [0.1, 0.12, 0.15]}}, pose: {place}}}",
            f"  b_{name}: {{mass: 0.5, inertia: {{diag: [0.1, 0.05, 0.08]}}, com: [0.1, 0.2, 0], pose: {place}}}",
        ]
        at = f"at: [0.4, {3 * k}, 0.1]"
        joints += [
            f"  pin_{name}: {{type: revolute, parent: world, child: a_{name}, {at}, axis: [1, 2, 0]}}",
            f"  {name}: {{{words}, parent: a_{name}, child: b_{name}, at: [-0.3, {3 * k}, 0.2],"
            f" loop: {str(loops).lower()}}}",
        ]
    return "\n".join(("bodies:", *bodies, "joints:", *joints, ""))


def accelerations(text, kind, integrator, device, h):
    runner = Runner(
        f"{text}solver: {{type: {kind}, dt: 1.0e-3, integrator: {integrator}}}\n", integrator, device, frozenset(("joints",))
    )
    frames = runner(h, round(0.4 / h), 1)
    assert frames["diag/status"].max() == 0
    model = runner.model
    chosen = [j for j, name in enumerate(model.joints.name) if name in JOINTS]
    index = np.concatenate([np.arange(model.joints.qd_start[j], model.joints.qd_start[j + 1]) for j in chosen])
    return [frames[f"frames/joint_{one}"][-1, 0, index] for one in ("qdd", "effort")]


@pytest.fixture(scope="module")
def tree():
    from support.device import live_device

    return accelerations(chains(False), "generalized", "rk4", live_device(), 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "integrator", "loops", "bound"),
    [
        ("generalized", "rk4", True, LOOSE),
        ("generalized", "implicit", True, LOOSE),
        ("generalized", "semi_implicit", True, ONE_STEP),
        ("maximal", "semi_implicit", False, ONE_STEP),
        ("natural", "zhong06", False, LOOSE),
        ("natural", "moreau", False, ONE_STEP),
    ],
)
def test_accelerations_of_joints_outside_trees_are_those_of_the_tree(tree, device, kind, integrator, loops, bound):
    found = accelerations(chains(loops), kind, integrator, device, 2e-4)
    assert (np.abs(tree[0]) > 0.1).sum() > 18
    for one, wanted in zip(found, tree, strict=True):
        assert np.abs(one - wanted).max() < bound * np.abs(wanted).max(), np.round(np.c_[one, wanted], 4)


EXACT = 1e-12
NONE = np.zeros((2, 2))


def slope(efforts, m=2):
    """Of efforts over m directions that are the unknowns themselves."""
    return _slope(efforts, SimpleNamespace(U=np.eye(m)), WIDTH, 0.0)


def test_differences_are_of_order_six_and_know_their_error():
    found = slope(lambda y: np.stack((-np.sin(3 * y[:, 0]), -np.expm1(y[:, 1]) - y[:, 0] ** 2), axis=1))
    assert np.abs(found.matrix - np.diag([3.0, 1.0])).max() < EXACT
    assert np.abs(found.matrix - np.diag([3.0, 1.0])).max() <= found.error.max() < 1e-9
    assert found.kink == -1


@pytest.mark.parametrize("rests", [0.0, 5.0])
def test_a_kink_is_found_where_it_is(rests):
    found = slope(lambda y: np.stack((-y[:, 0], -rests * y[:, 1] - np.maximum(y[:, 1], 0.0)), axis=1))
    assert found.kink == 1


def values(M, C, K, noise=NONE):
    modes, idle = modes_of(np.asarray(M, float), np.asarray(C, float), np.asarray(K, float), noise)
    return modes, idle


def test_damping_that_couples_is_that_of_the_state_matrix():
    M, C, K = np.array([[2, 0.3], [0.3, 1]]), np.array([[0.2, -0.1], [-0.1, 0.5]]), np.array([[5.0, -1], [-1, 3]])
    state = np.block([[NONE, np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    found = [value for mode in values(M, C, K)[0] for value in (mode.eigenvalue, mode.partner)]
    assert np.abs(np.sort_complex(found) - np.sort_complex(np.linalg.eigvals(state))).max() < EXACT
    for mode in values(M, C, K)[0]:
        s, y = mode.eigenvalue, mode.shape
        assert np.abs((s * s * M + s * C + K) @ y).max() < EXACT * np.abs(y).max() * 10


def test_follower_forces_flutter():
    (mode, other), _ = values(np.eye(2), NONE, [[2, 1], [-1, 2]])  # s^2 = -2 +- i
    assert {mode.kind, other.kind} == {ModeKind.OSCILLATION}
    root = np.sqrt(-2 + 1j)
    assert {complex(round(one.eigenvalue.real, 12), round(one.eigenvalue.imag, 12)) for one in (mode, other)} == {
        complex(round(sign * root.real, 12), round(root.imag, 12)) for sign in (1, -1)
    }
    assert min(mode.damping_ratio, other.damping_ratio) < 0


def test_zeros_are_exact_with_and_without_damping():
    K = np.diag([0.0, 1e-13, 4.0])
    noise = np.full((3, 3), 1e-12)
    found, _ = values(np.eye(3), np.zeros((3, 3)), K, noise)
    assert [mode.eigenvalue for mode in found] == [0, 0, 2j]
    found, _ = values(np.eye(3), np.diag([0.0, 0.5, 0]), K, noise)
    assert [mode.eigenvalue for mode in found[:2]] == [0, 0]
    assert [mode.kind for mode in found] == [ModeKind.ZERO, ModeKind.ZERO, ModeKind.DECAY, ModeKind.OSCILLATION]


def test_directions_without_inertia_need_to_be_without_forces():
    found, idle = values(np.diag([1.0, 0]), NONE, np.diag([9.0, 0]))
    assert (idle, [mode.eigenvalue for mode in found]) == (1, [3j])
    with pytest.raises(MasslessError):
        values(np.diag([1.0, 0]), NONE, np.diag([9.0, 1.0]))
    with pytest.raises(MasslessError):
        values(np.diag([1.0, 0]), np.diag([0.0, 1.0]), np.diag([9.0, 0.0]))
