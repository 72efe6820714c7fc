"""Where the points of contact of faces, edges and rims are, their names, margins and capacity."""

import numpy as np
import pytest
from support.contacts import Bench, read_model, scene
from support.device import live_device

from simcli import rotations as rot

CUBE = "v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\nf 1 2 3 4\nf 5 6 7 8\n"
LOWER = {"slab": "{type: box, size: [2, 2, 0.2]}", "capsule": "{type: capsule, radius: 0.1, length: 1}",
         "barrel": "{type: cylinder, radius: 0.2, length: 1}",
         "dice": "{type: mesh, file: cube.obj, scale: 0.5}"}  # fmt: skip
UPPER = {"box": "{type: box, size: [0.4, 0.6, 0.8]}", "capsule": "{type: capsule, radius: 0.1, length: 0.6}",
         "barrel": "{type: cylinder, radius: 0.3, length: 0.8}", "cone": "{type: cone, radius: 0.3, length: 0.4}",
         "dice": "{type: mesh, file: cube.obj, scale: [0.2, 0.3, 0.4]}", "egg": "{type: ellipsoid, radii: [0.2, 0.2, 0.3]}",
         "ball": "{type: sphere, radius: 0.2}"}  # fmt: skip
LIFT = -1e-3  # [m], overlap of what rests
MARGIN = 0.01  # [m]
ROUNDING = 3e-9  # [m], ties of features, 1e-9 of the size


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Shapes to rest on, in body a, shapes that rest, in body b, and a plane."""
    folder = tmp_path_factory.mktemp("scene")
    (folder / "cube.obj").write_text(CUBE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.honours.solver_fields.check_honours", lambda check, tree: None)
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
    "cone on its side": ("b/cone", 0.2 * np.sin(SLANT), (0, QUARTER + SLANT, 0),
                         {(0.2 * np.cos(SLANT), 0.0), (0.2 * np.cos(SLANT) - 0.5, 0.0)}),
    "cone on its tip": ("b/cone", 0.2, (np.pi, 0, 0), {(0.0, 0.0)}),
    "egg": ("b/egg", 0.3, (0, 0, 0), {(0.0, 0.0)}),
    "ball": ("b/ball", 0.2, (0.3, 0.4, 0), {(0.0, 0.0)}),
}  # fmt: skip


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
    [("box", 1e-4), ("hull", 1e-4), ("lying capsule", 1e-4), ("lying cylinder", 1e-4), ("standing cylinder", NOISE),
     ("cone on its base", NOISE)],
)  # fmt: skip
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
        patch.setattr("simcli.spec.honours.solver_fields.check_honours", lambda check, tree: None)
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
