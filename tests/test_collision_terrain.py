"""Terrain against every kind of shape: a slope is a plane, hills are their triangles, inner edges are not felt.

What overlaps where a run begins: depths as the narrow phase of a run finds them, and what `simcli check` says of it.
"""

import json

import numpy as np
import pytest
from support.contacts import SHAPES, SOLIDS, Bench, random_poses, read_model, scene, terrain
from support.device import live_device
from support.supports import reach

from simcli import rotations as rot
from simcli.cli.process import run_command
from simcli.errors import Exit
from simcli.model.bodies.overlaps import SLIGHT_OVERLAP, find_overlaps
from simcli.model.tables.model import ShapeKind

KINDS = tuple(SHAPES)
N = 64  # worlds
NX, NY, SIZE = 9, 7, (4.0, 3.0)
X, Y = np.meshgrid(np.linspace(-2, 2, NX), np.linspace(-1.5, 1.5, NY))
HEIGHTS = {
    "slope": 0.2 * X - 0.1 * Y + 0.05,
    "hills": np.random.default_rng(8).uniform(0, 0.4, X.shape),
    "ridge": 0.3 - 0.2 * np.abs(Y),
    "valley": np.abs(Y),
    "peak": 0.3 - 0.2 * np.maximum(np.abs(X), np.abs(Y)),
    "level": 0.1 + 0.0 * X,
}
UP = np.array((-0.2, 0.1, 1.0)) / np.sqrt(1.05)  # normal of the slope
AWAY = np.array((100.0, 0, 0, 0, 0, 0, 1))
MARGIN = 0.02  # [m]
ROUNDING = 1e-9  # [m], and the tolerance of polytopes
QUARTER = np.pi / 2


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """All terrains in the world, and a body with a shape of each kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.spec.checks.solver_fields.check_capabilities", lambda check, tree: None)
        world = {name: terrain(z, SIZE) for name, z in HEIGHTS.items()}
        model = read_model(tmp_path_factory.mktemp("scene"), scene(world, {"b": SHAPES}))
    bench = Bench(model, live_device(), N)
    yield bench
    bench.destroy()


def contacts(bench, ground, kind, poses, at=(0.0, 0, 0, 0, 0, 0, 1)):
    """Contacts of one shape at poses, (W, 7), with one terrain; everything else is far away."""
    pose = np.tile(AWAY, (N, len(bench.model.shapes.name), 1))
    pose[:, bench.shape(ground)] = at
    for k, name in enumerate(bench.model.shapes.name):
        if name.startswith("b/") and name != f"b/{kind}":
            pose[:, k, 0] = -100.0
    pose[:, bench.shape(f"b/{kind}")] = poses
    return bench.run(pose, MARGIN)


def one_pose(xyz, rpy=(0.0, 0.0, 0.0)):
    return np.tile(np.concatenate((xyz, rot.quat_from_rpy(np.array(rpy)))), (N, 1))


def least(found):
    """[m], (W,), smallest gap, infinite without contact."""
    return np.where(np.isnan(found["gap"]), np.inf, found["gap"]).min(axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_slope_is_a_plane(bench, kind):
    """Also where the terrain itself is turned and moved."""
    poses = random_poses(np.random.default_rng(0), N, 1, 0.3)[:, 0]
    poses[:, 2] += 0.1 if kind == "point" else 0.45
    true = np.array([-reach(SOLIDS[kind], pose, -UP) - 0.05 * UP[2] for pose in poses])
    touches = true <= MARGIN
    assert touches.any()
    motion = np.concatenate(((1.0, 2.0, 3.0), rot.unit(np.array((0.3, 0.5, 0.2, 0.7)))))
    for frame in (np.array((0.0, 0, 0, 0, 0, 0, 1)), motion):
        found = contacts(bench, "slope", kind, rot.pose_compose(frame, poses), frame)
        assert ((found["count"] > 0) == touches).all()
        assert np.abs(least(found)[touches] - true[touches]).max() < ROUNDING
        n = rot.quat_rotate(frame[3:], UP)
        tolerance = 5e-5 if kind == "ellipsoid" else 1e-9  # normals of smooth surfaces: root of the tolerance
        assert np.nanmax(np.abs(found["normal"] - n)) < tolerance


def nearest_on_triangles(point, heights):
    """[m], distance of a point to the surface, and whether it is above."""
    best, above = np.inf, True
    for j in range(NY - 1):
        for i in range(NX - 1):
            around = ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1))
            corners = [np.array((X[b, a], Y[b, a], heights[b, a])) for a, b in around]
            for triangle in (corners[:3], (corners[0], corners[2], corners[3])):
                a, b, c = triangle
                n = np.cross(b - a, c - a)
                n /= np.linalg.norm(n)
                foot = point - n * (n @ (point - a))
                edges = ((a, b), (b, c), (c, a))
                if all(np.cross(q - p, foot - p) @ n >= 0 for p, q in edges):
                    best = min(best, abs(n @ (point - a)))
                if all(np.cross(q - p, (point - p) * (1, 1, 0))[2] >= 0 for p, q in edges):
                    above = n @ (point - a) > 0
                for p, q in edges:
                    t = np.clip((q - p) @ (point - p) / ((q - p) @ (q - p)), 0, 1)
                    best = min(best, np.linalg.norm(point - p - t * (q - p)))
    return best, above


@pytest.mark.parametrize("kind", ["sphere", "point"])
def test_balls_on_hills(bench, kind):
    rng = np.random.default_rng(1)
    poses = random_poses(rng, N, 1, 1.0)[:, 0]
    poses[:, 2] = rng.uniform(0.1, 0.6 if kind == "sphere" else 0.4, N)
    found = contacts(bench, "hills", kind, poses)
    near = [nearest_on_triangles(pose[:3], HEIGHTS["hills"]) for pose in poses]
    above = np.array([flag for _, flag in near])
    gap = np.array([distance for distance, _ in near]) - SOLIDS[kind][1][0]
    touches = above & (gap <= MARGIN)
    assert touches.sum() > (10 if kind == "sphere" else 0)
    assert np.abs(least(found)[touches] - gap[touches]).max() < ROUNDING
    assert (found["count"][above & ~touches] == 0).all()


def test_a_big_box_stands_on_its_corners_and_feels_no_inner_edge(bench):
    """Of all cells below a box on level ground, the points farthest apart are reported, and only level normals."""
    found = contacts(bench, "level", "box", one_pose((0.13, 0.07, 0.1 + 0.45 - 1e-3), (0, 0, 0.3)))
    points, n = found["point"][0][: found["count"][0]], found["normal"][0][: found["count"][0]]
    assert np.abs(n - (0, 0, 1)).max() < 1e-12
    assert np.nanmax(np.abs(found["gap"] + 1e-3)) < ROUNDING
    turn = rot.quat_to_matrix(rot.quat_from_rpy(np.array((0, 0, 0.3))))[:2, :2]
    for corner in ((0.25, 0.35), (-0.25, 0.35), (-0.25, -0.35), (0.25, -0.35)):
        assert np.linalg.norm(points[:, :2] - (turn @ corner + (0.13, 0.07)), axis=1).min() < 1e-8


@pytest.mark.parametrize("kind", ["box", "cylinder"])
def test_a_ridge_carries_a_face(bench, kind):
    height = 0.45 if kind == "box" else 0.35
    found = contacts(bench, "ridge", kind, one_pose((0.12, 0.0, 0.3 + height - 1e-3)))
    overlaps = found["gap"][0] < 0  # its bottom's rim is near the slopes, too
    points = found["point"][0][overlaps]
    assert np.abs(found["normal"][0][overlaps] - (0, 0, 1)).max() < 1e-9
    assert np.abs(found["gap"][0][overlaps] + 1e-3).max() < ROUNDING
    assert np.ptp(points[:, 0]) > 0.4
    assert np.abs(points[:, 1]).max() < 1e-8


def test_a_peak_carries_a_face(bench):
    found = contacts(bench, "peak", "box", one_pose((0.1, 0.05, 0.3 + 0.45 - 1e-3)))
    deepest = np.argmin(found["gap"][0][: found["count"][0]])
    assert found["gap"][0][deepest] == pytest.approx(-1e-3, abs=ROUNDING)
    np.testing.assert_allclose(found["point"][0][deepest], (0, 0, 0.3 - 5e-4), atol=1e-8)
    np.testing.assert_allclose(found["normal"][0][deepest], (0, 0, 1), atol=1e-9)


def test_a_valley_touches_a_ball_on_both_sides(bench):
    height = 0.3 * np.sqrt(2) - 1e-3
    found = contacts(bench, "valley", "sphere", one_pose((0.1, 0.0, height)))
    n = found["normal"][0][: found["count"][0]]
    side = np.sqrt(0.5)
    for expected in ((0, side, side), (0, -side, side)):
        assert np.abs(n - expected).max(axis=1).min() < 1e-9
    assert np.abs(np.abs(n[:, 1]) - side).max() < 1e-9


def test_beside_the_terrain_is_nothing(bench):
    for x, y in ((2.4, 0.0), (0.0, 2.0), (-2.5, -2.0)):
        assert (contacts(bench, "level", "sphere", one_pose((x, y, 0.1)))["count"] == 0).all()


ROUND = {"sphere": (0, 0, 0), "capsule": (0, QUARTER, 0), "cylinder": (0, QUARTER, 0)}  # attitude of a wheel along x
TURNS = (0.0, QUARTER, 0.5 * QUARTER, -0.5 * QUARTER)  # of grid lines, of cuts, and across these
LOW = {"sphere": 0.3, "capsule": 0.2, "cylinder": 0.3, "box": 0.45, "mesh": 0.5}


def along_a_line(turn, kind):
    """Poses of a shape over a line of the grid or a cut, at grid points, beside them, and a hair off the line."""
    away = np.repeat((0.0, 1e-12, 1e-8, 1e-5), N // 4)
    at = np.tile(np.linspace(-0.5, 0.5, N // 4), 4)
    x, y = at * np.cos(turn) - away * np.sin(turn), at * np.sin(turn) + away * np.cos(turn)
    lying = rot.quat_from_rpy(np.array(ROUND.get(kind, (0, 0, 0))))
    quat = rot.quat_multiply(rot.quat_from_rpy(np.array((0, 0, turn))), lying)
    return np.column_stack((x, y, np.full(N, 0.1 + LOW[kind] - 1e-6), np.tile(quat, (N, 1))))


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("kind", LOW)
def test_level_ground_has_one_normal(bench, kind, turn):
    """On lines of the grid, in its points and a hair beside: that of a plane, and no more points than it has."""
    found = contacts(bench, "level", kind, along_a_line(turn, kind))
    there = ~np.isnan(found["gap"])
    assert (found["count"] > 0).all() or kind == "mesh"
    assert np.abs(found["normal"][there] - (0, 0, 1)).max(initial=0) < ROUNDING
    if kind in ROUND:
        assert (there.sum(axis=1) == (1 if kind == "sphere" else 2)).all()
        assert np.abs(found["gap"][there] + 1e-6).max() < ROUNDING


def test_a_ball_along_a_crest_feels_no_grid_point(bench):
    """Near a grid point of a straight crest the normal stays across the crest."""
    near = np.geomspace(1e-9, 0.1, 10)
    x = np.append(np.add.outer((-0.5, 0.0, 0.5), np.concatenate((-near, (0,), near))).ravel(), 0.25)
    poses = np.column_stack((x, 0 * x, np.full(N, 0.3 + 0.3 - 1e-9), np.tile((0, 0, 0, 1.0), (N, 1))))
    found = contacts(bench, "ridge", "sphere", poses)
    there = ~np.isnan(found["gap"])
    assert (there.sum(axis=1) >= 1).all()
    assert np.abs(found["normal"][there] - (0, 0, 1)).max() < 5e-8  # what a distance of 0.3 m says of a direction


@pytest.mark.parametrize("depth", [1e-11, 1e-8, 1e-6, 1e-5])
def test_a_face_along_a_crest_feels_no_grid_point(bench, depth):
    """Also where the front edge of a box is as near to a grid point as the box is deep: no contact has a slope's normal."""
    near = np.geomspace(1e-9, 0.1, 15)
    x = np.append(np.add.outer((-0.5, 0.0), np.concatenate((-near, (0,), near))).ravel(), (0.1, 0.2)) - 0.25
    poses = np.column_stack((x, 0 * x, np.full(N, 0.3 + 0.45 - depth), np.tile((0, 0, 0, 1.0), (N, 1))))
    found = contacts(bench, "ridge", "box", poses)
    touches = found["gap"] < ROUNDING
    assert np.abs(found["normal"][touches] - (0, 0, 1)).max() < ROUNDING
    assert np.abs(least(found) + depth).max() < 1e-7


def test_a_point_of_contact_lies_on_the_shape(bench):
    """Where a wheel touches a crest by no more than rounding, too: not at the end of the crest's edge.

    The polytope of such a depth has faces much thinner than long. Where rounding decided which of them a new corner sees, it
    was torn.
    """
    rng = np.random.default_rng(5)
    frame = np.concatenate(((100.0, -60.0, 30.0), rot.unit(np.array((-0.23, 0.42, 0.68, 0.56)))))
    across = rot.quat_from_rpy(np.array((QUARTER, 0, 0)))
    for _ in range(70):
        x, zero = rng.uniform(-0.9, 0.9, N), np.zeros(N)
        spin = rot.quat_from_rpy(np.column_stack((zero, zero, rng.uniform(0, 2 * np.pi, N))))
        tilt = rot.quat_from_rpy(1e-11 * rng.normal(size=(N, 3)))
        aside = rng.normal(size=N) * 10.0 ** rng.uniform(-15, -11, N)
        place = np.column_stack((x, aside, 0.6 - 10.0 ** rng.uniform(-12, -9, N)))
        poses = np.column_stack((place, rot.quat_multiply(tilt, rot.quat_multiply(across, spin))))
        found = contacts(bench, "ridge", "cylinder", rot.pose_compose(frame, poses), frame)
        point = rot.pose_apply(rot.pose_inverse(frame), found["point"])
        touches = found["gap"] < ROUNDING
        assert touches.any(axis=1).all()
        assert np.abs(point[..., 0] - x[:, None])[touches].max() < 1e-3


WORLDS = 12
OVERLAPS_KINDS = sorted({*SHAPES} - {"point"})
NEAR, OVER = 2e-6, 1e-4  # [m]: how well the narrow phase knows depths of round shapes, and how much more the host may find
PLANE = "{type: plane, normal: [0.1, -0.2, 1], offset: -0.1}"
HILLS = terrain([[0.0, 0.2, -0.1], [0.3, 0.0, 0.2], [-0.2, 0.1, 0.0]], (2, 2))


def crowd(folder, ground):
    """A shape of every kind on a free body above a ground; random poses of the bodies, by world and coordinate."""
    model = read_model(folder, scene({"ground": ground}, {name: {"s": SHAPES[name]} for name in OVERLAPS_KINDS}))
    rng = np.random.default_rng(1)
    q = np.concatenate(
        (
            rng.uniform(-0.35, 0.35, (WORLDS, len(OVERLAPS_KINDS), 3)),
            rot.unit(rng.normal(size=(WORLDS, len(OVERLAPS_KINDS), 4))),
        ),
        axis=2,
    )
    model.__dict__["joint_q"] = q.reshape(WORLDS, -1)
    return model, q


@pytest.mark.parametrize("ground", [PLANE, HILLS], ids=["plane", "terrain"])
def test_depths_are_those_of_the_narrow_phase(ground, tmp_path, all_supported):
    """All kinds of shapes in each other's way, world by world; of terrain which shapes reach it."""
    model, q = crowd(tmp_path, ground)
    body = model.shapes.body
    at = np.where((body >= 0)[:, None], q[:, np.maximum(body, 0)], (0, 0, 0, 0, 0, 0, 1))
    bench = Bench(model, live_device(), WORLDS)
    seen = bench.run(at)
    bench.destroy()
    compared = 0
    for w in range(WORLDS):
        model.__dict__["joint_q"] = q[w].reshape(1, -1)
        found = {one.shapes: one.depth for one in find_overlaps(model)}
        for a, b in zip(*(side.tolist() for side in model.contacts.pairs[:2]), strict=True):
            mine = (seen["shape_a"][w] == a) & (seen["shape_b"][w] == b)
            deepest = float(-seen["gap"][w][mine].min(initial=0.0))
            if ShapeKind.HEIGHTFIELD in model.shapes.kind[[a, b]]:
                if deepest > 0.05:
                    assert (a, b) in found, (w, model.shapes.name[a], model.shapes.name[b])
                elif not deepest:
                    assert (a, b) not in found, (w, model.shapes.name[a], model.shapes.name[b])
            else:
                off = found.get((a, b), 0.0) - deepest
                assert -NEAR < off < OVER, (w, model.shapes.name[a], model.shapes.name[b])
            compared += deepest > SLIGHT_OVERLAP
    assert compared > WORLDS * len(OVERLAPS_KINDS)


def test_worlds_are_counted_and_the_deepest_is_named(tmp_path, all_supported):
    model, q = crowd(tmp_path, PLANE)
    every = {one.bodies: one for one in find_overlaps(model)}
    alone = []
    for w in range(WORLDS):
        model.__dict__["joint_q"] = q[w].reshape(1, -1)
        alone.append({one.bodies: one.depth for one in find_overlaps(model)})
    for bodies, one in every.items():
        depths = [depth.get(bodies, 0.0) for depth in alone]
        assert (one.depth, one.world, one.n_worlds) == (max(depths), int(np.argmax(depths)), np.count_nonzero(depths))


BALL = "{mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, pose: {xyz: [%s, 0, %s]}, shapes: {s: {type: sphere, radius: 0.1%s}}}"
CHECKED = """
simcli: 1
params: {{x: 0.15}}
world: {{shapes: {{floor: {{type: plane}}}}}}
bodies: {{a: {a}, b: {b}, c: {c}}}
solver: {{type: {solver}}}
{more}
"""


def checked(folder, capsys, solver="generalized", more="", margin="", x="'${x}'"):
    """Exit code of `check`, and what it says by code."""
    path = folder / "s.yaml"
    low = 0.2 if solver == "affine" else 0.1  # a barrier ends worlds in which surfaces touch
    a, b, c = (BALL % (at, z, margin) for at, z in ((0, 0.5), (x, 0.5), (2, low)))
    path.write_text(CHECKED.format(a=a, b=b, c=c, solver=solver, more=more))
    code = run_command(["check", str(path), "--json"], debug=False, as_json=True)
    (file,) = json.loads(capsys.readouterr().out)["files"]
    return code, {fault["code"]: fault for fault in file["faults"]}, file


@pytest.mark.parametrize("solver", ["generalized", "maximal", "natural"])
def test_check_warns_of_overlaps_and_says_what_takes_them_out(solver, tmp_path, capsys):
    """0.05 m of two balls; a third one rests on the floor, which is no overlap."""
    code, told, _ = checked(tmp_path, capsys, solver)
    assert (code, told.keys()) == (Exit.OK, {"SC485"})
    assert "`a` and `b` overlap by 0.05 m at the start" in told["SC485"]["message"]
    line = told["SC485"]["hint"].partition("write ")[2]
    assert line == "contact: {exclude: [[a, b]]}"
    assert checked(tmp_path, capsys, solver, line)[:2] == (Exit.OK, {})


def test_check_of_affine_bodies_says_what_ends_their_worlds(tmp_path, capsys):
    code, told, _ = checked(tmp_path, capsys, "affine")
    assert (code, set(told)) == (Exit.NEGATIVE, {"SC631"})
    batch = "batch: {worlds: 2, vary: {params.x: {list: [0.15, 0.5]}}}"
    code, told, _ = checked(tmp_path, capsys, "affine", batch)
    assert (code, told["SC631"]["severity"]) == (Exit.OK, "warning")


def test_check_looks_at_all_worlds_and_heeds_margins_joints_and_switches(tmp_path, capsys):
    batch = "batch: {worlds: 3, vary: {params.x: {list: [0.5, 0.15, 0.19]}}}"
    _, told, _ = checked(tmp_path, capsys, more=batch)
    assert "by 0.05 m at the start in 2 of 3 worlds, deepest in world 1" in told["SC485"]["message"]
    for more, margin, x, is_told in (
        ("", ", margin: 0.03", 0.25, False),
        ("", ", margin: 0.03", 0.19, True),
        ("", "", 0.2, False),
        ("joints: {j: {type: ball, parent: a, child: b}}", "", 0.15, False),
        ("joints: {j: {type: ball, parent: a, child: b, enabled: false}}", "", 0.15, True),
        ("contact: {enabled: false}", "", 0.15, False),
    ):
        _, told, _ = checked(tmp_path, capsys, more=more, margin=margin, x=x)
        assert ("SC485" in told) == is_told, (more, margin, x)


IDLE = """
simcli: 1
{world}
bodies:
  a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, shapes: {{s: {{type: sphere, radius: 0.1{collide}}}}}}}
  b: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, pose: {{xyz: [0, 0, 1]}}, shapes: {{s: {{type: sphere, radius: 0.1}}}}}}
joints: {{base: {{type: fixed, parent: world, child: a}}, hinge: {{type: revolute, parent: a, child: b}}}}
{more}
"""


@pytest.mark.parametrize(
    ("words", "idle"),
    [
        ({}, []),
        ({"collide": ", collide: true"}, ["a/s", "b/s"]),
        ({"more": "contact: {capacity: 5}"}, ["a/s", "b/s"]),
        ({"more": "solver: {contact: {tolerance: 1e-9}}"}, ["a/s", "b/s"]),
        ({"more": "contact: {enabled: false}"}, []),
        ({"world": "world: {shapes: {floor: {type: plane, offset: -1}}}"}, ["a/s"]),
    ],
)
def test_shapes_that_touch_nothing_are_named_and_warned_of_where_contact_is_asked_for(words, idle, tmp_path, capsys):
    path = tmp_path / "s.yaml"
    path.write_text(IDLE.format(**{"world": "", "collide": "", "more": ""} | words))
    assert run_command(["check", str(path), "--json"], debug=False, as_json=True) == Exit.OK
    (file,) = json.loads(capsys.readouterr().out)["files"]
    named = ["a/s"] if "world" in words else ["a/s", "b/s"]
    assert file["idle_shapes"] == named
    told = [fault["message"] for fault in file["faults"] if fault["code"] == "SC486"]
    assert told == ([f"{', '.join(f'`{name}`' for name in idle)} cannot touch anything"] if idle else [])
    assert run_command(["show", str(path), "--tree"], debug=False, as_json=False) == Exit.OK
    assert f"shapes that cannot touch anything: {', '.join(named)}" in capsys.readouterr().out
