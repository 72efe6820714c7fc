"""Frames of bodies: poses that are given in them, against rotations composed by scipy; who follows them; refusals."""

import numpy as np
import pytest
from scipy.spatial.transform import RigidTransform, Rotation
from support.scenes import faults_of

from simcli.model.from_scene import build, build_worlds
from simcli.model.tree.reference import body_poses
from simcli.spec.document.scene_file import document_of_text
from simcli.spec.resolve import resolve
from simcli.spec.resolved import to_yaml

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
    "frame of another body": ("bodies:\n  a: {BODY, frames: {tip: {}}}\n  b:\n    BODIES\n    frames:\n      u: a/tip\n", 9,
                              "no frame of `b`"),
    "frame of the other side": ("bodies:\n  a: {BODY, frames: {tip: {}}}\n  b: {BODY}\njoints:\n  j: {type: fixed,\n"
                                "    parent: a, child: b, child_frame: tip}\n", 7, "`b` has no frame `tip`"),
    "a pose that follows": ("bodies:\n  a: {BODY, frames: {tip: {}}}\n  b: {pose: a/tip, BODY}\njoints:\n"
                            "  j: {type: revolute, parent: world, child: a, parent_frame: {}}\n", 4, "follows from a joint"),
}  # fmt: skip


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
