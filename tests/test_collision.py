"""Contacts of every pair of kinds, against support functions, mujoco and the laws that hold for all of them.

One kernel serves all: two bodies carry a shape of each kind, and the shapes of a world are placed one by one.
"""

from itertools import product
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from support.contacts import ROCK, SHAPES, SOLIDS, Bench, random_poses, read_model, scene
from support.device import live_device
from support.supports import gap_along, reach

from simcli import rotations as rot

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
        patch.setattr("simcli.spec.honours.solver_fields.check_honours", lambda check, tree: None)
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


GEOMS = {"sphere": 'type="sphere" size="0.3"', "box": 'type="box" size="0.25 0.35 0.45"',
         "capsule": 'type="capsule" size="0.2 0.3"', "cylinder": 'type="cylinder" size="0.3 0.35"',
         "ellipsoid": 'type="ellipsoid" size="0.25 0.35 0.5"', "mesh": 'type="mesh" mesh="rock"'}  # fmt: skip
SINGLE = 1e-6  # [m], mujoco keeps the corners of meshes in single precision
CCD = 3e-7  # [m], mujoco's distances of curved shapes, at its finest tolerance
ITS_OWN = {("box", "capsule")}  # mujoco's depth of a capsule's axis in a box is not the least one; the test above is


def mujoco_distances(kinds, poses):
    """[m], (W,), signed distances of two shapes."""
    points = " ".join(repr(x) for x in ROCK.ravel().tolist())
    bodies = "".join(f'<body name="{name}" mocap="true"><geom name="{name}" {GEOMS[kind]}/></body>'
                     for name, kind in zip("ab", kinds, strict=True))  # fmt: skip
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
