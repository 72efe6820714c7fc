"""Shapes that touch along a line: two points, at its ends, wherever the scene stands and however rounding goes."""

import numpy as np
import pytest
from support.contacts import Bench, read_model, scene, terrain
from support.device import live_device

from simcli import rotations as rot

CUBE = ("v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\n"
        "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n")  # fmt: skip
R, LENGTH = 0.2, 1.2  # [m], of what lies
H = 0.3  # [m], half of the height of the cone
EIGHTH, QUARTER, SLANT = np.pi / 4, np.pi / 2, np.arctan2(R, 2 * H)
SIDE = np.hypot(R, 2 * H)  # [m], of the cone
# Each shape, attitude in which a line of it lies along x at the top, height of that above its origin, and ends of the line.
LYING = {
    "box": (f"{{type: box, size: [{LENGTH}, 0.4, 0.4]}}", (EIGHTH, 0, 0), 0.2 * np.sqrt(2), (-LENGTH / 2, LENGTH / 2)),
    "mesh": (f"{{type: mesh, file: cube.obj, scale: [{LENGTH / 2}, 0.2, 0.2]}}", (EIGHTH, 0, 0), 0.2 * np.sqrt(2),
             (-LENGTH / 2, LENGTH / 2)),
    "cylinder": (f"{{type: cylinder, radius: {R}, length: {LENGTH}}}", (0, QUARTER, 0), R, (-LENGTH / 2, LENGTH / 2)),
    "capsule": (f"{{type: capsule, radius: {R}, length: {LENGTH}}}", (0, QUARTER, 0), R, (-LENGTH / 2, LENGTH / 2)),
    "cone": (f"{{type: cone, radius: {R}, length: {2 * H}}}", (0, QUARTER - SLANT, 0), R * H / SIDE * 1.0,
             (H * np.cos(SLANT) - SIDE, H * np.cos(SLANT))),
}  # fmt: skip
GRID = np.linspace(-2, 2, 9)  # [m]
CRESTS = {"ridge": (-0.5 * np.abs(GRID)[:, None] * np.ones(9), 0.0),  # heights, and the direction of the crest
          "furrow": (-0.5 * np.abs(GRID)[None, :] * np.ones((9, 1)), QUARTER),
          "diagonal": (-0.5 * np.abs(GRID[:, None] - GRID[None, :]), EIGHTH)}  # fmt: skip
SHIFT = 0.13  # [m], of the upper shape along the line
GAPS = (2e-3, 1e-5, 0.0, -1e-5, -1e-3)  # [m]
MARGIN = 5e-3  # [m]
ROUNDING = 1e-8  # [m, 1], at 100 m, and ties
SHARP = {"box", "mesh"}  # whose lines are edges
PAIRS = [(a, b) for a in (*LYING, *CRESTS) for b in LYING]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Each shape in body a and in body b, and crests in the world; a world for each gap and motion."""
    folder = tmp_path_factory.mktemp("scene")
    (folder / "cube.obj").write_text(CUBE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.honours.solver_fields.check_honours", lambda check, tree: None)
        shapes = {name: text for name, (text, *_) in LYING.items()}
        world = {name: terrain(heights, (4, 4)) for name, (heights, _) in CRESTS.items()}
        model = read_model(folder, scene(world, {"a": shapes, "b": shapes}))
    bench = Bench(model, live_device(), len(GAPS) * len(MOTIONS))
    yield bench
    bench.destroy()


def _motions():
    rng = np.random.default_rng(5)
    quat = rot.unit(np.concatenate((np.array(((0, 0, 0, 1.0),)), rng.normal(size=(4, 4)))))
    return np.concatenate((rng.uniform(-100, 100, (5, 3)) * np.arange(5)[:, None].clip(0, 1), quat), axis=1)


MOTIONS = _motions()


def contacts(bench, lower, upper, lateral=0.0, yaw=0.0):
    """Contacts of two shapes that lie along x, the upper one a gap above the other, in a world for each gap and motion."""
    pose = np.tile(np.array((500.0, 0, 0, 0, 0, 0, 1)), (len(GAPS) * len(MOTIONS), len(bench.model.shapes.name), 1))
    pose[:, :, 1] = 100.0 * np.arange(len(bench.model.shapes.name))
    first = lower if lower in CRESTS else f"a/{lower}"
    below = (0, 0, 0, *rot.quat_from_rpy(np.array((0, 0, -CRESTS[lower][1])))) if lower in CRESTS else None
    if below is None:
        _, rpy, height, _ = LYING[lower]
        below = (0, 0, -height, *rot.quat_from_rpy(np.array(rpy)))
    _, rpy, height, _ = LYING[upper]
    turn = rot.quat_multiply(rot.quat_from_rpy(np.array((np.pi, 0, yaw))), rot.quat_from_rpy(np.array(rpy)))
    for k, (motion, gap) in enumerate((motion, gap) for motion in MOTIONS for gap in GAPS):
        pose[k, bench.shape(first)] = rot.pose_compose(motion, np.array(below))
        above = np.array((SHIFT, lateral, height + gap, *turn))
        pose[k, bench.shape(f"b/{upper}")] = rot.pose_compose(motion, above)
    found = bench.run(pose, MARGIN)
    pair, is_turned = bench.pair(first, f"b/{upper}")
    cases = []
    for k, motion in enumerate(motion for motion in MOTIONS for _ in GAPS):
        mine = found["pair"][k] == pair
        back = rot.pose_inverse(motion)
        points = rot.pose_apply(back, found["point"][k][mine])
        normal = rot.quat_rotate(back[3:], found["normal"][k][mine]) * (-1 if is_turned else 1)
        cases.append((points, normal, found["gap"][k][mine]))
    return cases


def ends(lower, upper):
    """[m], where the line begins and ends along x."""
    other = LYING[upper][3]
    mine = (-2, 2) if lower in CRESTS else LYING[lower][3]
    if lower == "diagonal":
        mine = (-2 * np.sqrt(2), 2 * np.sqrt(2))
    return max(mine[0], other[0] + SHIFT), min(mine[1], other[1] + SHIFT)


@pytest.mark.parametrize(("lower", "upper"), PAIRS)
def test_a_line_has_two_points(bench, lower, upper):
    for (points, normal, gap), true in zip(contacts(bench, lower, upper), GAPS * len(MOTIONS), strict=True):
        if lower in CRESTS and upper in SHARP and true <= 0:
            assert np.abs(points[:, 1]).max() <= np.abs(true) + ROUNDING  # normals of both slopes
            continue
        assert np.abs(normal - (0, 0, 1)).max() < ROUNDING
        assert np.abs(gap - true).max() < ROUNDING
        assert np.abs(points[:, 1]).max() < ROUNDING
        along = np.sort(points[:, 0])
        np.testing.assert_allclose(along[[0, -1]], ends(lower, upper), atol=ROUNDING)
        assert len(along) == 2
