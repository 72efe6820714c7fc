"""Collision behind a tree of links, on the layout of a GPU, and in single precision."""

import numpy as np
import pytest
from support.contacts import SHAPES, Bench, random_poses, read_model, scene, terrain
from support.device import live_device

from simcli import rotations as rot
from simcli.kernels.chart.tree import TreeState, place_all
from simcli.kernels.collision.detect import detect, place_shapes
from simcli.kernels.device.runtime import start_device
from simcli.kernels.language import ti
from simcli.model import build_worlds
from simcli.model.tree.reference import body_poses
from simcli.spec import load_document, resolve

ARM = """
simcli: 1
world: {shapes: {ground: {type: plane, normal: [0.1, 0.2, 1], offset: -0.4}}}
bodies:
  x: {mass: 1, com: [0.3, 0, 0], inertia: {diag: [1, 1, 1]},
      shapes: {s: {type: capsule, radius: 0.1, length: 0.6, pose: {xyz: [0.3, 0, 0], rpy: [0, 1.5, 0.3]}}}}
  y: {mass: 1, com: [0.1, 0.2, 0], inertia: {diag: [1, 1, 1]},
      shapes: {s: {type: capsule, radius: 0.2, length: 0.4, pose: {xyz: [0.1, 0, 0.2], rpy: [0.4, 0, 0.3]}}}}
  z: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [0.3, 0.1, 0.2]}, shapes: {s: {type: sphere, radius: 0.2}}}
joints:
  shoulder: {type: revolute, parent: world, child: x, at: [0, 0, 0.1], axis: [0, 1, 1]}
  elbow: {type: ball, parent: x, child: y, parent_frame: {xyz: [0.6, 0, 0], rpy: [0.3, 0, 0]},
          child_frame: {xyz: [0, 0.1, 0], rpy: [0, 0.2, 0]}}
contact: {pairs: [{a: x, b: y}]}
solver: {type: generalized, dt: 1e-3}
run: {duration: 1}
"""
N = 6  # worlds: a pack and a rest


@ti.kernel
def place_and_detect(c: ti.template(), t: ti.template(), s: ti.template(), n_blocks: ti.i32):
    """Contacts from joint coordinates."""
    for w in range(n_blocks):
        t.arena.enter(w)
        place_all(t, s, w)
        place_shapes(c, t, s, w)
        detect(c, w)


def test_shapes_ride_on_links(tmp_path, all_honoured, device):
    """Poses of shapes are those of bodies; core points, placed with their links, give the contact."""
    model = read_model(tmp_path, ARM)
    rng = np.random.default_rng(0)
    q = np.array(np.broadcast_to(model.joint_q, (N, model.n_q)))
    q += rng.normal(size=q.shape) * 0.3
    for joint, kind in enumerate(np.diff(model.joints.q_start)):
        if kind >= 4:
            quat = slice(model.joints.q_start[joint + 1] - 4, model.joints.q_start[joint + 1])
            q[:, quat] = rot.unit(q[:, quat])
    R, x = (np.moveaxis(part, 0, 1) for part in body_poses(model, q))
    poses = rot.make_pose(x, rot.matrix_to_quat(R))
    bench = Bench(model, device, N, lambda tables, arena: TreeState(tables, arena))
    bench.state.q.write(q[..., None])
    bench.state.qd.write(np.zeros((1, model.n_qd, 1)))
    bench.collider.margin.write(np.full((1, bench.collider.margin.n_items, 1), 2.5))
    bench.collider.spare.write(np.zeros((1, bench.collider.spare.n_items, 3)))
    bench.arena.launch(place_and_detect, bench.collider, bench.tables, bench.state, bench.arena.n_blocks)
    body = model.shapes.body
    world = np.array((0.0, 0, 0, 0, 0, 0, 1))
    carriers = np.where((body >= 0)[:, None], poses[:, body], world)
    expected = rot.pose_compose(carriers, model.shapes.pose)
    c = bench.collider
    n_shapes = len(body)
    assert np.abs(c.position.read()[:, :n_shapes] - expected[..., :3]).max() < 1e-13
    R = c.rotation.read()[:, :n_shapes].reshape(N, n_shapes, 3, 3)
    assert np.abs(R - rot.quat_to_matrix(expected[..., 3:])).max() < 1e-13
    found = bench.contacts()
    assert (found["count"] >= 6).all()
    placed = bench.run(carriers, 5.0)
    for name in ("gap", "normal", "point", "core_a", "radius_b"):
        np.testing.assert_allclose(found[name], placed[name], atol=1e-9)
    links = bench.state
    link, R, o = bench.host.link, links.R.read().reshape(N, -1, 3, 3), links.o.read()
    origin = links.origin.read()[:, model.links.root]
    k = found["pair"][:, :6].astype(int)
    sides = []
    for side, start in (("a", model.contacts.pairs.shape_a), ("b", model.contacts.pairs.shape_b)):
        i = link[start[k]]
        w = np.arange(N)[:, None]
        x = np.einsum("wcij,wcj->wci", R[w, i], found[f"core_{side}"][:, :6]) + o[w, i] + origin[w, i]
        sides.append(np.where((i >= 0)[..., None], x, found[f"core_{side}"][:, :6]))
    gap = np.einsum("wck,wck->wc", found["normal"][:, :6], sides[1] - sides[0])
    assert np.abs(gap - found["radius_a"][:, :6] - found["radius_b"][:, :6] - found["gap"][:, :6]).max() < 1e-12
    bench.destroy()


VARIED = """
simcli: 1
materials: {soft: {friction: 0.4}}
world: {shapes: {ground: {type: plane, material: soft}}}
bodies: {ball: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {s: {type: sphere, radius: 0.1, material: soft}}}}
solver: {type: generalized, dt: 1e-3}
run: {duration: 1}
batch:
  worlds: 6
  vary: {bodies.ball.shapes.s.radius: {linspace: [0.1, 0.6]}, materials.soft.friction: {linspace: [0, 1]}}
"""


def test_sizes_and_materials_may_differ_between_worlds(tmp_path, all_honoured, device):
    path = tmp_path / "scene.yaml"
    path.write_text(VARIED)
    document = load_document(path)
    model = build_worlds(document, resolve(document))
    bench = Bench(model, device, N)
    pose = np.tile((0.0, 0, 0, 0, 0, 0, 1), (N, 2, 1))
    pose[:, bench.shape("ball/s"), 2] = 0.35
    found = bench.run(pose)
    bench.destroy()
    np.testing.assert_array_equal(found["count"], (0, 0, 0, 1, 1, 1))
    np.testing.assert_allclose(found["gap"][3:, 0], (-0.05, -0.15, -0.25), atol=1e-15)
    np.testing.assert_allclose(model.contacts.friction[:, 0], np.linspace(0, 1, N), atol=1e-15)


HILLS = terrain(np.random.default_rng(1).uniform(0, 0.3, (5, 6)), (3, 3))


def everything(folder, device, margin):
    """Contacts of all kinds of shapes at random poses."""
    text = scene({"ground": "{type: plane}", "hills": HILLS}, {"a": SHAPES, "b": SHAPES}, "contact: {capacity: 700}\n")
    model = read_model(folder, text)
    bench = Bench(model, device, N)
    pose = np.tile(np.array((0.0, 0, 0, 0, 0, 0, 1)), (N, len(model.shapes.name), 1))
    two = random_poses(np.random.default_rng(2), N, 2, 0.4)
    for k, name in enumerate(model.shapes.name):
        if "/" in name:
            pose[:, k] = two[:, 0 if name.startswith("a/") else 1]
    found = bench.run(pose, margin)
    pairs = np.arange(len(model.contacts.pairs.shape_a))
    found["least"] = np.array([np.where(found["pair"] == p, found["gap"], np.inf).min(axis=1) for p in pairs]).T
    bench.destroy()
    return model, found


@pytest.mark.slow
def test_the_layout_of_a_gpu_gives_the_same_bytes(tmp_path, all_honoured):
    _, wanted = everything(tmp_path, live_device(), 1.0)
    _, found = everything(tmp_path, start_device("cpu", "float64", threads=1, like_gpu=True), 1.0)
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


SINGLE = 2e-5  # [m], gaps in float32: bounds of the polytope that meet to 1e-5 of the size, and rounding


@pytest.mark.slow
def test_single_precision(tmp_path, all_honoured):
    _, wanted = everything(tmp_path, live_device(), 1.0)
    _, found = everything(tmp_path, live_device("float32"), 1.0)
    near = np.isfinite(wanted["least"]) & (wanted["least"] < 0.99)
    error = np.abs(found["least"] - wanted["least"])
    assert np.isfinite(found["least"][near]).all()
    assert error[near].max() < SINGLE
    there = ~np.isnan(found["pair"])
    assert np.abs(np.linalg.norm(found["normal"][there], axis=-1) - 1).max() < 1e-6
