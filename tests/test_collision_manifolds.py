"""Where the points of contact of faces, edges and rims are, their names, margins and capacity.

Collision behind a tree of links, on the layout of a GPU, and in single precision.
"""

import numpy as np
import pytest
from support.contacts import SHAPES, Bench, random_poses, read_model, scene, terrain
from support.device import live_device

from simcli import rotations as rot
from simcli.kernels.articulation.kinematics import TreeState, place_all
from simcli.kernels.collision.detect import detect, place_shapes
from simcli.kernels.device.runtime import start_device
from simcli.kernels.language import ti
from simcli.model import build_worlds
from simcli.model.joints.tree_kinematics import body_poses
from simcli.spec import load_document, resolve

CUBE = "v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\nf 1 2 3 4\nf 5 6 7 8\n"
LOWER = {
    "slab": "{type: box, size: [2, 2, 0.2]}",
    "capsule": "{type: capsule, radius: 0.1, length: 1}",
    "barrel": "{type: cylinder, radius: 0.2, length: 1}",
    "dice": "{type: mesh, file: cube.obj, scale: 0.5}",
}
UPPER = {
    "box": "{type: box, size: [0.4, 0.6, 0.8]}",
    "capsule": "{type: capsule, radius: 0.1, length: 0.6}",
    "barrel": "{type: cylinder, radius: 0.3, length: 0.8}",
    "cone": "{type: cone, radius: 0.3, length: 0.4}",
    "dice": "{type: mesh, file: cube.obj, scale: [0.2, 0.3, 0.4]}",
    "egg": "{type: ellipsoid, radii: [0.2, 0.2, 0.3]}",
    "ball": "{type: sphere, radius: 0.2}",
}
LIFT = -1e-3  # [m], overlap of what rests
MARGIN = 0.01  # [m]
ROUNDING = 3e-9  # [m], ties of features, 1e-9 of the size


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Shapes to rest on, in body a, shapes that rest, in body b, and a plane."""
    folder = tmp_path_factory.mktemp("scene")
    (folder / "cube.obj").write_text(CUBE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.checks.solver_fields.check_capabilities", lambda check, tree: None)
        model = read_model(folder, scene({"ground": "{type: plane}"}, {"a": LOWER, "b": UPPER}))
    bench = Bench(model, live_device(), 1)
    yield bench
    bench.destroy()


def contacts(bench, first, second, xyz, rpy=(0.0, 0.0, 0.0), margin=MARGIN, lower=None):
    """Contacts of one pair, the second shape at a pose and the first at the origin or at `lower`; arrays by name."""
    pose = np.tile(np.array((0.0, 0, 0, 0, 0, 0, 1)), (1, len(bench.model.shapes.name), 1))
    pose[0, bench.shape(second)] = (*xyz, *rot.quat_from_rpy(np.array(rpy)))
    if lower is not None:
        pose[0, bench.shape(first)] = lower
    found = bench.run(pose, margin)
    mine = found["pair"][0] == bench.pair(first, second)[0]
    return {name: value[0][mine] for name, value in found.items() if value.ndim > 1}


def corners(x, y):
    return {(sx * x, sy * y) for sx in (-1, 1) for sy in (-1, 1)}


NOISE = 1e-7  # [rad]
QUARTER = np.pi / 2
SLANT = np.arctan2(0.3, 0.4)
ON_RIM = {(0.3, 0.0), (-0.3, 0.0), (0.0, 0.3), (0.0, -0.3)}
# What rests, height of its origin, its attitude, and where it touches.
RESTING = {
    "box": ("b/box", 0.4, (0, 0, 0), corners(0.2, 0.3)),
    "box on another face": ("b/box", 0.2, (0, QUARTER, 0), corners(0.4, 0.3)),
    "box on an edge": ("b/box", 0.5, (np.arctan2(3, 4), 0, 0), {(0.2, 0.0), (-0.2, 0.0)}),
    "hull": ("b/dice", 0.4, (0, 0, 0), corners(0.2, 0.3)),
    "standing cylinder": ("b/barrel", 0.4, (0, 0, 0), ON_RIM),
    "lying cylinder": ("b/barrel", 0.3, (QUARTER, 0, 0), {(0.0, 0.4), (0.0, -0.4)}),
    "lying capsule": ("b/capsule", 0.1, (0, QUARTER, 0), {(0.3, 0.0), (-0.3, 0.0)}),
    "standing capsule": ("b/capsule", 0.4, (0, 0, 0), {(0.0, 0.0)}),
    "cone on its base": ("b/cone", 0.2, (0, 0, 0), ON_RIM),
    "cone on its side": (
        "b/cone",
        0.2 * np.sin(SLANT),
        (0, QUARTER + SLANT, 0),
        {(0.2 * np.cos(SLANT), 0.0), (0.2 * np.cos(SLANT) - 0.5, 0.0)},
    ),
    "cone on its tip": ("b/cone", 0.2, (np.pi, 0, 0), {(0.0, 0.0)}),
    "egg": ("b/egg", 0.3, (0, 0, 0), {(0.0, 0.0)}),
    "ball": ("b/ball", 0.2, (0.3, 0.4, 0), {(0.0, 0.0)}),
}


def assert_points(found, expected, tolerance):
    """The points are the expected ones, each once."""
    points = found["point"][:, :2]
    assert len(points) == len(expected)
    off = np.abs(points[:, None] - np.array(sorted(expected))).max(axis=-1)
    assert off.min(axis=0).max() < tolerance


@pytest.mark.parametrize("floor", ["ground", "a/slab"])
@pytest.mark.parametrize("case", RESTING)
def test_points_of_what_rests(bench, floor, case):
    shape, height, rpy, expected = RESTING[case]
    top = 0.1 if floor == "a/slab" else 0.0
    found = contacts(bench, floor, shape, (0, 0, height + top + LIFT), rpy)
    # A normal that a polytope finds is good to the root of its tolerance where a smooth surface lies on a plane.
    tolerance = 2e-5 if "egg" in case and floor == "a/slab" else 1e-8
    assert_points(found, expected, tolerance)
    assert np.abs(found["gap"] - LIFT).max() < ROUNDING
    assert np.abs(found["normal"] - (0, 0, 1)).max() < tolerance
    assert np.abs(found["point"][:, 2] - top - LIFT / 2).max() < ROUNDING


@pytest.mark.parametrize("floor", ["ground", "a/slab"])
@pytest.mark.parametrize("case", RESTING)
def test_margin_decides_what_is_reported(bench, floor, case):
    shape, height, rpy, expected = RESTING[case]
    top = 0.1 if floor == "a/slab" else 0.0
    gap = 0.005
    above = (0, 0, height + top + gap)
    assert len(contacts(bench, floor, shape, above, rpy, margin=0.9 * gap)["gap"]) == 0
    found = contacts(bench, floor, shape, above, rpy, margin=1.1 * gap)
    assert len(found["gap"]) == len(expected)
    assert np.abs(found["gap"] - gap).max() < ROUNDING


@pytest.mark.parametrize("floor", ["ground", "a/slab"])
@pytest.mark.parametrize(
    ("case", "tilt"),
    [
        ("box", 1e-4),
        ("hull", 1e-4),
        ("lying capsule", 1e-4),
        ("lying cylinder", 1e-4),
        ("standing cylinder", NOISE),
        ("cone on its base", NOISE),
    ],
)
def test_features_keep_their_names(bench, floor, case, tilt):
    """Moved, turned about the normal and tilted a little, the same points come in the same order with the same names.

    Of a rim if the tilt is noise: its lowest point is one more, and the last; else others are chosen with it.
    """
    shape, height, rpy, expected = RESTING[case]
    top = 0.1 if floor == "a/slab" else 0.0
    before = contacts(bench, floor, shape, (0, 0, height + top + LIFT), rpy)
    assert len(set(before["feature"])) == len(expected)
    quat = rot.quat_multiply(rot.quat_from_rpy(np.array((tilt, -2 * tilt, 0.01))), rot.quat_from_rpy(np.array(rpy)))
    pose = np.tile(np.array((0.0, 0, 0, 0, 0, 0, 1)), (1, len(bench.model.shapes.name), 1))
    pose[0, bench.shape(shape)] = (0.02, -0.01, height + top + LIFT, *quat)
    found = bench.run(pose, MARGIN)
    after = found["feature"][0][found["pair"][0] == bench.pair(floor, shape)[0]]
    assert len(after) == len(expected) + (tilt == NOISE)
    np.testing.assert_array_equal(after[: len(expected)], before["feature"])


DISCS = ("standing cylinder", "cone on its base")


@pytest.mark.parametrize("floor", ["ground", "a/slab"])
@pytest.mark.parametrize("case", DISCS)
def test_noise_does_not_choose_points_of_a_disc(bench, floor, case):
    """Turned by rounding, by what steps leave open, or by nothing, a disc rests on the same points; by more, on a fifth."""
    shape, height, rpy, expected = RESTING[case]
    top = 0.1 if floor == "a/slab" else 0.0
    for tilt, count in ((0.0, 4), (1e-15, 4), (1e-12, 4), (-3e-10, 4), (3e-8, 4), (1e-6, 5)):
        tilts = tilt * np.array((np.sin(0.4), np.cos(0.4), 0))
        quat = rot.quat_multiply(rot.quat_from_rpy(tilts), rot.quat_from_rpy(np.array(rpy)))
        pose = np.tile(np.array((0.0, 0, 0, 0, 0, 0, 1)), (1, len(bench.model.shapes.name), 1))
        pose[0, bench.shape(shape)] = (0, 0, height + top + LIFT, *quat)
        found = bench.run(pose, MARGIN)
        mine = found["pair"][0] == bench.pair(floor, shape)[0]
        assert mine.sum() == count, tilt
        assert_points({"point": found["point"][0][mine][:4]}, expected, 1e-5)


def test_a_face_is_clipped_by_the_other(bench):
    found = contacts(bench, "a/slab", "b/box", (1.0, 0.9, 0.5 + LIFT))
    assert_points(found, {(0.8, 0.6), (1.0, 0.6), (0.8, 1.0), (1.0, 1.0)}, ROUNDING)
    dice = contacts(bench, "a/dice", "b/box", (0.5, 0.4, 0.9 + LIFT))
    assert_points(dice, {(0.3, 0.1), (0.5, 0.1), (0.3, 0.5), (0.5, 0.5)}, ROUNDING)


def test_of_an_octagon_four_corners_are_chosen(bench):
    found = contacts(bench, "a/dice", "b/dice", (0.0, 0.0, 0.9 + LIFT), (0, 0, np.pi / 4))
    assert len(found["gap"]) == 4
    assert np.abs(found["gap"] - LIFT).max() < ROUNDING
    assert np.ptp(found["point"][:, 0]) > 0.5
    assert np.ptp(found["point"][:, 1]) > 0.5


@pytest.mark.parametrize("first", ["a/capsule", "a/barrel"])
def test_parallel_axes_touch_in_two_points_crossed_ones_in_one(bench, first):
    lying = (0, 0, 0, *rot.quat_from_rpy(np.array((0, QUARTER, 0))))
    r = 0.1 if first == "a/capsule" else 0.2
    found = contacts(bench, first, "b/capsule", (0.1, 0, r + 0.1 + LIFT), (0, QUARTER, 0), lower=lying)
    assert_points(found, {(-0.2, 0.0), (0.4, 0.0)}, 1e-7)
    found = contacts(bench, first, "b/capsule", (0.1, 0, r + 0.1 + LIFT), (QUARTER, 0, 0), lower=lying)
    assert_points(found, {(0.1, 0.0)}, 1e-7)
    assert np.abs(found["gap"] - LIFT).max() < ROUNDING


@pytest.mark.parametrize("case", ["lying cylinder", "lying capsule", "cone on its side", "egg", "ball"])
@pytest.mark.parametrize("floor", ["ground", "a/slab"])
def test_rolling_does_not_change_the_gap(bench, floor, case):
    """Turned about its axis by half a radian, what rolls keeps the gap that normal and core points give."""
    shape, height, rpy, _ = RESTING[case]
    top = 0.1 if floor == "a/slab" else 0.0
    rpy = (0.0, QUARTER, 0.0) if case == "egg" else rpy
    height = 0.2 if case == "egg" else height
    pose = np.array((0, 0, height + top + LIFT, *rot.quat_from_rpy(np.array(rpy))))
    found = contacts(bench, floor, shape, pose[:3], rpy)
    spin = rot.quat_multiply(pose[3:], rot.quat_from_rpy(np.array((0, 0, 0.5))))
    core = rot.pose_apply(np.concatenate((pose[:3], spin)), found["core_b"])
    gap = np.einsum("ck,ck->c", found["normal"], core - found["core_a"]) - found["radius_a"] - found["radius_b"]
    # The egg's normal from a polytope is good to 1e-5, and half a radian moves its point by 0.1 m sideways.
    assert np.abs(gap - found["gap"]).max() < (1e-8 if case == "egg" else 1e-9)
    assert found["radius_b"].max() >= 0.1


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """Three balls on a plane, and room for two contacts."""
    balls = {name: {"s": "{type: sphere, radius: 0.1}"} for name in "abc"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.checks.solver_fields.check_capabilities", lambda check, tree: None)
        text = scene({"ground": "{type: plane}"}, balls, "contact: {capacity: 2}\n")
        model = read_model(tmp_path_factory.mktemp("scene"), text)
    bench = Bench(model, live_device(), 5)
    yield bench
    bench.destroy()


def test_overflow_is_counted_and_stays_in_its_world(crowded):
    pose = np.tile(np.array((0.0, 0, 0, 0, 0, 0, 1)), (5, 4, 1))
    pose[:, :3, 0] = (-1, 0, 1)
    pose[:, :3, 2] = 0.05
    pose[:, 3, 0] = 5.0  # a plane is everywhere
    pose[1, 0, 2] = pose[3, 1, 2] = 1.0
    found = crowded.run(pose)
    np.testing.assert_array_equal(found["needed"], (3, 2, 3, 2, 3))
    np.testing.assert_array_equal(found["count"], 2)
    a, b, c = (crowded.pair("ground", f"{name}/s")[0] for name in "abc")
    np.testing.assert_array_equal(found["pair"], ((a, b), (b, c), (a, b), (a, c), (a, b)))


def test_worlds_do_not_depend_on_their_slot(crowded):
    """Any world gives the same bytes alone in another lane."""
    rng = np.random.default_rng(0)
    pose = np.concatenate((rng.uniform(-0.12, 0.12, (5, 4, 3)), np.tile((0.0, 0, 0, 1), (5, 4, 1))), axis=-1)
    pose[:, 3, :3] = 0
    found = crowded.run(pose, 0.05)
    for order in ((4, 3, 2, 1, 0), (2, 2, 2, 2, 2), (1, 0, 4, 2, 3)):
        other = crowded.run(pose[list(order)], 0.05)
        for name, value in found.items():
            np.testing.assert_array_equal(other[name], value[list(order)])


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


def test_shapes_ride_on_links(tmp_path, all_supported, device):
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
    assert np.abs((c.base.read() + c.position.read())[:, :n_shapes] - expected[..., :3]).max() < 1e-13
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
        in_world = expected[0, start[k], :3] + found[f"core_{side}"][:, :6]  # in the world it is counted from the shape
        sides.append(np.where((i >= 0)[..., None], x, in_world))
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


def test_sizes_and_materials_may_differ_between_worlds(tmp_path, all_supported, device):
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
def test_the_layout_of_a_gpu_gives_the_same_bytes(tmp_path, all_supported):
    _, wanted = everything(tmp_path, live_device(), 1.0)
    _, found = everything(tmp_path, start_device("cpu", "float64", threads=1, like_gpu=True), 1.0)
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


SINGLE = 2e-5  # [m], gaps in float32: bounds of the polytope that meet to 1e-5 of the size, and rounding


@pytest.mark.slow
def test_single_precision(tmp_path, all_supported):
    _, wanted = everything(tmp_path, live_device(), 1.0)
    _, found = everything(tmp_path, live_device("float32"), 1.0)
    # Deeper than the hills are high there are several ways out of them, of which rounding may choose another one.
    near = np.isfinite(wanted["least"]) & (wanted["least"] < 0.99) & (wanted["least"] > -0.3)
    error = np.abs(found["least"] - wanted["least"])
    assert np.isfinite(found["least"][near]).all()
    assert error[near].max() < SINGLE
    there = ~np.isnan(found["pair"])
    assert np.abs(np.linalg.norm(found["normal"][there], axis=-1) - 1).max() < 1e-6
