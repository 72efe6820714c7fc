"""Contacts of every pair of kinds, against support functions, mujoco and the laws that hold for all of them.

One kernel serves all: two bodies carry a shape of each kind, and the shapes of a world are placed one by one.

Shapes that touch along a line: two points, at its ends, wherever the scene stands and however rounding goes.

What is known exactly: sides of planes, against rational numbers; normals of faces, also under curved shapes.
"""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from support.contacts import ROCK, SHAPES, SOLIDS, Bench, random_poses, read_model, scene, terrain
from support.device import live_device
from support.supports import gap_along, reach

from simcli import Simulation
from simcli import rotations as rot
from simcli.kernels.collision.polytope import exact_side
from simcli.kernels.device.arena import Arena
from simcli.kernels.language import ti
from simcli.kernels.language.values import Vec3

KINDS = tuple(SHAPES)
PAIRS = tuple(product(KINDS, KINDS))
FLAT = {"box", "mesh", "point", "sphere", "capsule"}  # polyhedra and roundings of them: exact but for rounding
N = 60  # worlds
FAR = 5.0  # [m], margin that reports every pair
EXACT = 1e-10  # [m], rounding and the ties of features, 1e-9 of the size
SMOOTH = 1e-7  # [m], distances of curved shapes: square root of the tolerance of the square, 1e-14
DEEP = 1e-9  # [m], depths of curved shapes: tolerance of the polytope, 1e-10 of the size
COARSE = 3e-4  # [m], depth of one ellipsoid deep in another, where the polytope ends at 96 corners
IDENTITY = np.array((0.0, 0, 0, 0, 0, 0, 1))


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Bodies a and b with a shape of each kind, and a plane."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.checks.solver_fields.check_capabilities", lambda check, tree: None)
        text = scene({"ground": "{type: plane}"}, {"a": SHAPES, "b": SHAPES}, "contact: {capacity: 400}\n")
        model = read_model(tmp_path_factory.mktemp("scene"), text)
    bench = Bench(model, live_device(), N)
    yield bench
    bench.destroy()


def placed(bench, first, second):
    """Poses of all shapes: those of a at the first, those of b at the second, the plane at the origin."""
    pose = np.tile(IDENTITY, (len(first), len(bench.model.shapes.name), 1))
    for k, name in enumerate(bench.model.shapes.name):
        if name != "ground":
            pose[:, k] = first if name.startswith("a/") else second
    return pose


def of_pair(bench, found, first, second):
    """Contacts of one pair as (W, ...) arrays of the deepest one, the normal from the first shape to the second."""
    pair, is_turned = bench.pair(first, second)
    gap = np.where(found["pair"] == pair, found["gap"], np.inf)
    k = np.argmin(gap, axis=1)
    at = np.arange(len(k))
    one = {name: value[at, k] for name, value in found.items() if value.ndim > 1}
    one["count"] = (found["pair"] == pair).sum(axis=1)
    if is_turned:
        one["normal"] = -one["normal"]
        for name in ("core", "radius"):
            one[f"{name}_a"], one[f"{name}_b"] = one[f"{name}_b"], one[f"{name}_a"]
    return SimpleNamespace(**one)


@pytest.fixture(scope="module")
def crowd(bench):
    """Random poses, and the contacts of all pairs."""
    poses = random_poses(np.random.default_rng(1), N, 2, 0.5)
    found = bench.run(placed(bench, poses[:, 0], poses[:, 1]), FAR)
    assert (found["count"] == found["needed"]).all()
    return SimpleNamespace(poses=poses, found=found)


def allowed(kinds, gap):
    """[m], error of gaps that the methods of these kinds admit."""
    if set(kinds) <= FLAT or ("point" in kinds and "cone" not in kinds and "ellipsoid" not in kinds):
        return EXACT
    return np.where(gap > 0, SMOOTH, COARSE if kinds == ("ellipsoid", "ellipsoid") else DEEP)


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_gap_is_the_projection_on_the_normal(bench, crowd, kinds):
    """The gap along the normal is a lower bound of the distance, that of two points an upper one: equal, both are it."""
    one = of_pair(bench, crowd.found, f"a/{kinds[0]}", f"b/{kinds[1]}")
    assert np.abs(np.linalg.norm(one.normal, axis=-1) - 1).max() < 1e-14
    solids = [SOLIDS[kind] for kind in kinds]
    along = np.array([gap_along(*solids, pose, n) for pose, n in zip(crowd.poses, one.normal, strict=True)])
    assert (np.abs(one.gap - along) <= allowed(kinds, one.gap)).all()


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_no_other_normal_separates_more(bench, crowd, kinds):
    rng = np.random.default_rng(2)
    one = of_pair(bench, crowd.found, f"a/{kinds[0]}", f"b/{kinds[1]}")
    solids = [SOLIDS[kind] for kind in kinds]
    for pose, n, gap in zip(crowd.poses[:20], one.normal, one.gap, strict=False):
        near = [n + size * rng.normal(size=3) for size in (1e-1, 1e-2, 1e-3, 1e-4)]
        others = [*near, *rng.normal(size=(30, 3))]
        best = max(gap_along(*solids, pose, other / np.linalg.norm(other)) for other in others)
        assert best <= gap + allowed(kinds, gap)


GEOMS = {
    "sphere": 'type="sphere" size="0.3"',
    "box": 'type="box" size="0.25 0.35 0.45"',
    "capsule": 'type="capsule" size="0.2 0.3"',
    "cylinder": 'type="cylinder" size="0.3 0.35"',
    "ellipsoid": 'type="ellipsoid" size="0.25 0.35 0.5"',
    "mesh": 'type="mesh" mesh="rock"',
}
SINGLE = 1e-6  # [m], mujoco keeps the corners of meshes in single precision
CCD = 3e-7  # [m], mujoco's distances of curved shapes, at its finest tolerance
ITS_OWN = {("box", "capsule")}  # mujoco's depth of a capsule's axis in a box is not the least one; the test above is


def mujoco_distances(kinds, poses):
    """[m], (W,), signed distances of two shapes."""
    points = " ".join(repr(x) for x in ROCK.ravel().tolist())
    bodies = "".join(
        f'<body name="{name}" mocap="true"><geom name="{name}" {GEOMS[kind]}/></body>'
        for name, kind in zip("ab", kinds, strict=True)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option ccd_tolerance="1e-12" ccd_iterations="500"/><asset><mesh name="rock" vertex="{points}"/></asset>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    distances = []
    for pose in poses:
        data.mocap_pos[:], data.mocap_quat[:] = pose[:, :3], pose[:, [6, 3, 4, 5]]
        mujoco.mj_kinematics(model, data)
        distances.append(mujoco.mj_geomDistance(model, data, 0, 1, 2 * FAR, np.zeros(6)))
    return np.array(distances)


@pytest.mark.parametrize("kinds", [pair for pair in PAIRS if set(pair) <= set(GEOMS) and pair[0] <= pair[1]], ids="-".join)
def test_gaps_agree_with_mujoco(bench, crowd, kinds):
    one = of_pair(bench, crowd.found, f"a/{kinds[0]}", f"b/{kinds[1]}")
    theirs = mujoco_distances(kinds, crowd.poses)
    counts = (one.gap > -0.1) if kinds in ITS_OWN else one.gap < np.inf
    error = SINGLE if "mesh" in kinds else CCD
    error = np.maximum(error, allowed(kinds, one.gap))
    assert counts.sum() > 20
    assert (np.abs(one.gap - theirs) <= error)[counts].all()


@pytest.mark.parametrize("kind", KINDS)
def test_plane_is_the_support_below(bench, crowd, kind):
    one = of_pair(bench, crowd.found, "ground", f"a/{kind}")
    down = np.array((0.0, 0.0, -1.0))
    lowest = np.array([-reach(SOLIDS[kind], pose[0], down) for pose in crowd.poses])
    assert np.abs(one.gap - lowest).max() < 1e-14
    assert (one.normal == -down).all()
    assert np.abs(one.point[:, 2] - one.gap / 2).max() < 1e-14


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_core_points_give_the_gap(bench, crowd, kinds):
    """Of every contact, not only the deepest: the gap and the mid point follow from core points and radii."""
    pair, is_turned = bench.pair(f"a/{kinds[0]}", f"b/{kinds[1]}")
    worlds, rows = np.nonzero(crowd.found["pair"] == pair)
    found = {name: value[worlds, rows] for name, value in crowd.found.items() if value.ndim > 1}
    a, b = crowd.poses[worlds, 1 if is_turned else 0], crowd.poses[worlds, 0 if is_turned else 1]
    n = found["normal"]
    surface_a = rot.pose_apply(a, found["core_a"]) + n * found["radius_a"][:, None]
    surface_b = rot.pose_apply(b, found["core_b"]) - n * found["radius_b"][:, None]
    assert np.abs(surface_b - surface_a - n * found["gap"][:, None]).max() < 1e-12
    assert np.abs((surface_a + surface_b) / 2 - found["point"]).max() < 1e-12


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_sides_may_be_exchanged(bench, crowd, kinds, mirrored):
    one = of_pair(bench, crowd.found, f"a/{kinds[0]}", f"b/{kinds[1]}")
    other = of_pair(bench, mirrored, f"b/{kinds[0]}", f"a/{kinds[1]}")
    tolerance = 3 * allowed(kinds, one.gap)
    assert (np.abs(one.gap - other.gap) <= tolerance).all()
    if set(kinds) <= FLAT:
        assert np.abs(one.normal - other.normal).max() < 1e-7


@pytest.fixture(scope="module")
def mirrored(bench, crowd):
    """The contacts when a and b change places."""
    return bench.run(placed(bench, crowd.poses[:, 1], crowd.poses[:, 0]), FAR)


@pytest.fixture(scope="module")
def turned(bench, crowd):
    """The contacts when the world is turned and moved, but for the plane; and the motion."""
    motion = np.concatenate(((3.0, -2.0, 1.0), rot.unit(np.array((0.3, -0.5, 0.2, 0.7)))))
    poses = rot.pose_compose(motion, crowd.poses)
    return motion, bench.run(placed(bench, poses[:, 0], poses[:, 1]), FAR)


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_the_world_has_no_direction(bench, crowd, kinds, turned):
    motion, found = turned
    one = of_pair(bench, crowd.found, f"a/{kinds[0]}", f"b/{kinds[1]}")
    other = of_pair(bench, found, f"a/{kinds[0]}", f"b/{kinds[1]}")
    assert (np.abs(one.gap - other.gap) <= 3 * allowed(kinds, one.gap)).all()
    if set(kinds) <= FLAT:
        assert np.abs(rot.quat_rotate(motion[3:], one.normal) - other.normal).max() < 1e-7


SHIFT = 1e-6  # [m, rad], of the finite difference
CURVED = 1e-9  # [m], its second order, and the errors of gaps of curved shapes on both sides


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_rate_of_the_gap(bench, crowd, kinds, moved):
    """Frozen normal and core points give the gap after a small motion; so its rate is n . (v_B - v_A)."""
    one = of_pair(bench, crowd.found, f"a/{kinds[0]}", f"b/{kinds[1]}")
    poses, found = moved
    other = of_pair(bench, found, f"a/{kinds[0]}", f"b/{kinds[1]}")
    a = rot.pose_apply(poses[:, 0], one.core_a)
    b = rot.pose_apply(poses[:, 1], one.core_b)
    predicted = np.einsum("wk,wk->w", one.normal, b - a) - one.radius_a - one.radius_b
    change = np.abs(other.gap - one.gap)
    assert change.max() > 0.1 * SHIFT  # else the test could not fail
    tolerance = CURVED + 2 * allowed(kinds, one.gap)
    assert (np.abs(predicted - other.gap) <= tolerance).mean() > 0.95  # the deepest feature of a few has changed


@pytest.fixture(scope="module")
def moved(bench, crowd):
    """Poses after a small motion of each shape, and the contacts."""
    rng = np.random.default_rng(4)
    turn = np.concatenate((rng.normal(size=(N, 2, 3)) * SHIFT / 2, np.ones((N, 2, 1))), axis=-1)
    quat = rot.unit(rot.quat_multiply(turn, crowd.poses[..., 3:]))
    poses = np.concatenate((crowd.poses[..., :3] + rng.normal(size=(N, 2, 3)) * SHIFT, quat), axis=-1)
    return poses, bench.run(placed(bench, poses[:, 0], poses[:, 1]), FAR)


@pytest.mark.parametrize("name", ["same", "touching", "crossed"])
def test_degenerate_poses_give_sane_contacts(bench, name):
    """Equal poses, one a hair above the other, one turned by a right angle: all numbers finite, all normals unit."""
    second = {"same": IDENTITY, "touching": (0, 0, 1e-9, 0, 0, 0, 1), "crossed": (0, 0, 0.5, *np.sqrt((0, 0.5, 0, 0.5)))}
    poses = np.tile(np.stack((IDENTITY, np.array(second[name]))), (N, 1, 1))
    found = bench.run(placed(bench, poses[:, 0], poses[:, 1]), 0.01)
    for key in ("gap", "normal", "point", "core_a", "core_b", "radius_a", "radius_b"):
        value = found[key][0][: found["count"][0]]
        assert np.isfinite(value).all()
    n = found["normal"][0][: found["count"][0]]
    assert np.abs(np.linalg.norm(n, axis=-1) - 1).max() < 1e-14
    for first, other in PAIRS:
        if {first, other} != {"point"}:
            assert of_pair(bench, found, f"a/{first}", f"b/{other}").count[0] > 0 or name == "crossed"


SKEW = 3e-8  # [m], parallel edges of which one is curved: the normal is good to the root of a tolerance


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_gap_on_a_lattice(bench, lattice, kinds):
    """Edges in line, corners on faces, axes that meet: where rounding decides, gap and normal still belong together."""
    poses, found = lattice
    one = of_pair(bench, found, f"a/{kinds[0]}", f"b/{kinds[1]}")
    assert (one.count > 0).all()
    assert np.abs(np.linalg.norm(one.normal, axis=-1) - 1).max() < 1e-14
    solids = [SOLIDS[kind] for kind in kinds]
    along = np.array([gap_along(*solids, pose, n) for pose, n in zip(poses, one.normal, strict=True)])
    curved = 0.0 if set(kinds) <= FLAT else SKEW
    assert (np.abs(one.gap - along) <= np.maximum(allowed(kinds, one.gap), curved)).all()


@pytest.fixture(scope="module")
def lattice(bench):
    """Poses at multiples of 5 cm and 45 degrees, and the contacts."""
    rng = np.random.default_rng(6)
    quat = rot.quat_from_rpy(rng.integers(0, 8, (N, 2, 3)) * np.pi / 4)
    poses = np.concatenate((rng.integers(-8, 9, (N, 2, 3)) * 0.05, quat), axis=-1)
    poses[:10, 1, :3] = poses[:10, 0, :3]
    return poses, bench.run(placed(bench, poses[:, 0], poses[:, 1]), FAR)


def test_nan_touches_nothing_and_nobody_else(bench, crowd):
    pose = placed(bench, crowd.poses[:, 0], crowd.poses[:, 1])
    pose[5] = np.nan
    found = bench.run(pose, FAR)
    others = np.arange(N) != 5
    assert found["count"][5] == 0
    for name, value in crowd.found.items():
        np.testing.assert_array_equal(found[name][others], value[others])


CUBE = (
    "v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\n"
    "f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"
)
R, LENGTH = 0.2, 1.2  # [m], of what lies
H = 0.3  # [m], half of the height of the cone
EIGHTH, QUARTER, SLANT = np.pi / 4, np.pi / 2, np.arctan2(R, 2 * H)
SIDE = np.hypot(R, 2 * H)  # [m], of the cone
# Each shape, attitude in which a line of it lies along x at the top, height of that above its origin, and ends of the line.
LYING = {
    "box": (f"{{type: box, size: [{LENGTH}, 0.4, 0.4]}}", (EIGHTH, 0, 0), 0.2 * np.sqrt(2), (-LENGTH / 2, LENGTH / 2)),
    "mesh": (
        f"{{type: mesh, file: cube.obj, scale: [{LENGTH / 2}, 0.2, 0.2]}}",
        (EIGHTH, 0, 0),
        0.2 * np.sqrt(2),
        (-LENGTH / 2, LENGTH / 2),
    ),
    "cylinder": (f"{{type: cylinder, radius: {R}, length: {LENGTH}}}", (0, QUARTER, 0), R, (-LENGTH / 2, LENGTH / 2)),
    "capsule": (f"{{type: capsule, radius: {R}, length: {LENGTH}}}", (0, QUARTER, 0), R, (-LENGTH / 2, LENGTH / 2)),
    "cone": (
        f"{{type: cone, radius: {R}, length: {2 * H}}}",
        (0, QUARTER - SLANT, 0),
        R * H / SIDE * 1.0,
        (H * np.cos(SLANT) - SIDE, H * np.cos(SLANT)),
    ),
}
GRID = np.linspace(-2, 2, 9)  # [m]
CRESTS = {
    "ridge": (-0.5 * np.abs(GRID)[:, None] * np.ones(9), 0.0),  # heights, and the direction of the crest
    "furrow": (-0.5 * np.abs(GRID)[None, :] * np.ones((9, 1)), QUARTER),
    "diagonal": (-0.5 * np.abs(GRID[:, None] - GRID[None, :]), EIGHTH),
}
LINES_SHIFT = 0.13  # [m], of the upper shape along the line
GAPS = (2e-3, 1e-5, 0.0, -1e-5, -1e-3)  # [m]
MARGIN = 5e-3  # [m]
ROUNDING = 1e-8  # [m, 1], at 100 m, and ties
SHARP = {"box", "mesh"}  # whose lines are edges
LINES_PAIRS = [(a, b) for a in (*LYING, *CRESTS) for b in LYING]


@pytest.fixture(scope="module")
def bench_of_lines(tmp_path_factory):
    """Each shape in body a and in body b, and crests in the world; a world for each gap and motion."""
    folder = tmp_path_factory.mktemp("scene")
    (folder / "cube.obj").write_text(CUBE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.checks.solver_fields.check_capabilities", lambda check, tree: None)
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
        above = np.array((LINES_SHIFT, lateral, height + gap, *turn))
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
    return max(mine[0], other[0] + LINES_SHIFT), min(mine[1], other[1] + LINES_SHIFT)


@pytest.mark.parametrize(("lower", "upper"), LINES_PAIRS)
def test_a_line_has_two_points(bench_of_lines, lower, upper):
    for (points, normal, gap), true in zip(contacts(bench_of_lines, lower, upper), GAPS * len(MOTIONS), strict=True):
        if lower in CRESTS and upper in SHARP and true <= 0:
            assert np.abs(points[:, 1]).max() <= np.abs(true) + ROUNDING  # normals of both slopes
            continue
        assert np.abs(normal - (0, 0, 1)).max() < ROUNDING
        assert np.abs(gap - true).max() < ROUNDING
        assert np.abs(points[:, 1]).max() < ROUNDING
        along = np.sort(points[:, 0])
        np.testing.assert_allclose(along[[0, -1]], ends(lower, upper), atol=ROUNDING)
        assert len(along) == 2


EXACT_N = 1500
EXACT_KINDS = {"float64": np.float64, "float32": np.float32}
THIN = {"float64": 1e-9, "float32": 1e-4}  # [1]


@ti.kernel
def take_sides(points: ti.template(), side: ti.template(), arena: ti.template(), n: ti.i32):
    """Side of the last of four points of each world."""
    for w in range(n):
        arena.enter(w)
        side.store(w, 0, exact_side(points.load(w, 0), points.load(w, 1), points.load(w, 2), points.load(w, 3)))


def side_of(p, q, r, x):
    """Sign of (q - p) x (r - p) . (x - p), exactly."""
    u, v, w = ([Fraction(float(a)) - Fraction(float(b)) for a, b in zip(end, p, strict=True)] for end in (q, r, x))
    total = sum(w[i] * (u[j] * v[k] - u[k] * v[j]) for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)))
    return (total > 0) - (total < 0)


@pytest.mark.parametrize("precision", EXACT_KINDS)
def test_a_side_is_exact(precision):
    """Of points that lie in a plane but for rounding, and of triangles as thin as that: half of them, by float sums."""
    rng = np.random.default_rng(7)
    p, q, r = rng.normal(size=(3, EXACT_N, 3))
    r[EXACT_N // 2 :] = (p + (q - p) * rng.uniform(-1, 2, (EXACT_N, 1)) + THIN[precision] * rng.normal(size=(EXACT_N, 3)))[
        EXACT_N // 2 :
    ]
    s, t = rng.uniform(-1, 2, (2, EXACT_N, 1))
    points = np.stack((p, q, r, p + (q - p) * s + (r - p) * t), axis=1).astype(EXACT_KINDS[precision])
    wanted = np.array([side_of(*four) for four in points])
    arena = Arena(live_device(precision), EXACT_N)
    given, found = arena.array(4, Vec3), arena.array(1)
    arena.build()
    given.write(points)
    arena.launch(take_sides, given, found, arena, arena.n_blocks)
    side = np.sign(found.read()[:, 0, 0])
    arena.destroy()
    rounded = np.sign(
        np.einsum(
            "ij,ij->i", np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]), points[:, 3] - points[:, 0]
        )
    )
    assert (rounded != wanted).mean() > 0.1
    np.testing.assert_array_equal(side, wanted)


EXACT_LYING = {"ellipsoid": ((0, 0, 0), 0.5), "cylinder": ((0, np.pi / 2, 0), 0.3), "cone": ((0, 0, 0), 0.4)}  # height
EXACT_GAPS = (1e-3, 1e-6, 0.0, -1e-9, -1e-5, -1e-3)  # [m]


@pytest.fixture(scope="module")
def bench_of_exact(tmp_path_factory):
    """All shapes in two bodies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.checks.solver_fields.check_capabilities", lambda check, tree: None)
        model = read_model(tmp_path_factory.mktemp("scene"), scene({}, {"a": SHAPES, "b": SHAPES}))
    bench = Bench(model, live_device(), 8 * len(EXACT_GAPS))
    yield bench
    bench.destroy()


@pytest.mark.parametrize("kind", EXACT_LYING)
def test_a_face_gives_its_own_normal_to_what_is_curved(bench_of_exact, kind):
    """An ellipsoid that rests on a box spun by 1e-4 rad/s, because the normal was that of an iteration."""
    rpy, height = EXACT_LYING[kind]
    pose = np.tile(np.array((500.0, 0, 0, 0, 0, 0, 1)), (8 * len(EXACT_GAPS), len(bench_of_exact.model.shapes.name), 1))
    pose[:, :, 1] = 100.0 * np.arange(pose.shape[1])
    motion = np.repeat(random_poses(np.random.default_rng(4), 8, 1, 100.0)[:, 0], len(EXACT_GAPS), axis=0)
    pose[:, bench_of_exact.shape("a/box")] = motion
    above = np.tile(np.concatenate(((0.05, 0.02, 0), rot.quat_from_rpy(np.array(rpy)))), (len(motion), 1))
    above[:, 2] = 0.45 + height + np.tile(EXACT_GAPS, 8)
    pose[:, bench_of_exact.shape(f"b/{kind}")] = rot.pose_compose(motion, above)
    found = bench_of_exact.run(pose, 2e-3)
    assert (found["count"] > 0).all()
    there = ~np.isnan(found["gap"])
    normal = rot.quat_rotate(motion[:, 3:], np.array((0.0, 0.0, 1.0)))[:, None]
    assert np.abs(found["normal"] - normal)[there].max() < 1e-13
    assert np.abs(found["gap"] - np.tile(EXACT_GAPS, 8)[:, None])[there].max() < 1e-12


def test_what_is_curved_rests_on_a_base_in_float32(tmp_path):
    """The point below an ellipsoid was the middle of the base of a cone: it spun up to 3 rad/s in 0.1 s."""
    turns = [0.0, -1.3, -1.2, 1.0, 2.4]
    path = tmp_path / "base.yaml"
    path.write_text(f"""simcli: 1
params: {{a: 0, Y: 81}}
world: {{shapes: {{c: {{type: cone, radius: 0.5, length: 0.4,
                         pose: {{xyz: [0, "${{Y}}", 0], rpy: [180 deg, 0, "${{a}}"]}}}}}}}}
bodies:
  u: {{mass: 1, pose: {{xyz: ["${{0.05*cos(a)}}", "${{Y + 0.05*sin(a)}}", 0.3], rpy: [0, 0, "${{a}}"]}},
      shapes: {{s: {{type: ellipsoid, radii: [0.2, 0.2, 0.1]}}}}}}
solver: {{dt: 1 ms, precision: float32}}
run: {{duration: 0.1}}
batch: {{worlds: {len(turns)}, vary: {{params.a: {{list: {turns}}}}}}}
""")
    with Simulation(path, device="cpu") as sim:
        sim.step(100)
        assert np.abs(sim.get("joint.u_free.qd")[:, 3:]).max() < 1e-4
