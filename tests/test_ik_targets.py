"""`simcli ik --target`: coordinates for targets, against closed forms, against fk by other code, and by its own laws."""

import json
from functools import partial

import numpy as np
import pytest
from benchmarks import inverse_kinematics
from support.device import live_device
from support.kinematics import CPU
from support.process import completed_here
from support.random_models import random_model
from support.target_arms import ARMS, PANDA, PUMA, UR5, four_bar

import simcli as package
from simcli import rotations as rot
from simcli.errors import Exit, UsageError
from simcli.kernels.articulation.kinematics import place_all
from simcli.kernels.device import runtime
from simcli.kernels.language import ti
from simcli.kernels.target_energy import linearize_search, measure_search
from simcli.kernels.target_search import Layout, TargetSearch
from simcli.model.constraints.build import constraints_of

pytestmark = pytest.mark.usefixtures("scalar_code")

REACHED = 1e-6  # [m, rad], what the command promises
CLOSED_FORM = 1e-9  # [m, rad], a search that stops at a cosine of 1e-9 is as near as that
SLOPES = 1e-7  # relative, of central differences over 1e-5 of numbers of one
CURVATURES = 2e-5  # relative, of second differences over 1e-4: rounding of 1e-16 over 1e-8, and truncation

TWO_BARS = """\
simcli: 1
bodies:
  upper: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
  fore: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0.5, 0, 0]}, points: {tip: [0.3, 0, 0]}}
joints:
  shoulder: {type: revolute, parent: world, child: upper, axis: [0, 0, 1], q: 0.3}
  elbow: {type: revolute, parent: upper, child: fore, at: [0.5, 0, 0], axis: [0, 0, 1], q: 0.4}
"""


@pytest.fixture
def command(capfd):
    return partial(completed_here, capfd)


@pytest.fixture
def ik(here, command):
    """Coordinates for targets, as the document of --json."""

    def found(scene, *words, code=Exit.OK):
        (here / "scene.yaml").write_text(scene)
        done = command("ik", "scene.yaml", *words, "--json", *CPU)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    return found


def by_dof(document, row=0):
    return dict(zip(document["labels"]["NQ"], document["joint_q"][row], strict=True))


# The law of the search: gradient and matrix are those of E, by differences of fk on the host.


@ti.kernel
def probe(c: ti.template(), posed: ti.f64):
    for w in range(c.n_slots):
        c.arena.enter(w)
        c.going.store(w, 0, c.arena.zero() + 1.0)
        c.curved.store(w, 0, c.arena.zero() + 1.0)
        c.posed.store(w, 0, c.arena.zero() + posed)
        place_all(c.tables, c.state, w)
        linearize_search(c, w)
        cost, _far, _turn, _gap = measure_search(c, w)
        c.facts.store(w, 3, cost)


def energy(model, pose, goal, bodies):
    """E by the poses of bodies."""
    total = 0.0
    for k, body in enumerate(bodies):
        point, place, pull, turn, weight = np.split(goal[14 * k : 14 * (k + 1)], [3, 6, 9, 13])
        gap = pull * (rot.pose_apply(pose[body], point) - place)
        angle = rot.pose_distance(pose[body], np.concatenate([np.zeros(3), turn / np.linalg.norm(turn)]))[1]
        total += 0.5 * (gap @ gap + (weight[0] * angle) ** 2)
    return total


def moved(model, q, step):
    """Coordinates moved along a step of the dofs, by the definitions of the coordinates."""
    q = q.copy()
    for j in range(model.n_joints):
        at, d = model.joints.q_start[j : j + 2], model.joints.qd_start[j : j + 2]
        own = step[d[0] : d[1]]
        if at[1] - at[0] == d[1] - d[0]:
            q[at[0] : at[1]] += own
            continue
        before = q[at[1] - 4 : at[1]].copy()
        q[at[1] - 4 : at[1]] = rot.quat_multiply(rot.quat_from_vector(own[-3:]), before)
        if at[1] - at[0] == 7:  # the centre of mass moves, and the anchor follows
            anchor = model.joints.X_c[0, j]
            com = rot.pose_apply(rot.pose_inverse(anchor), model.bodies.com[0, model.joints.child[j]])
            shift = rot.quat_rotate(before, com) - rot.quat_rotate(q[at[1] - 4 : at[1]], com)
            q[at[0] : at[0] + 3] += own[:3] + shift
    return q


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.full) for k in (1, 2))])
def test_slopes_and_curvature_are_those_of_distances(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 6, floating=seed < 2)
    bodies = np.array([5, 2, 5])
    dofs = np.arange(model.n_qd)
    order = [
        d
        for i in range(model.n_links)
        for d in range(model.links.qd_start[i], model.links.qd_start[i] + model.links.n_qd[i])
    ]
    free = np.full((1, len(dofs)), np.inf)
    idle, still = np.zeros(constraints_of(model).rows.n, bool), np.zeros(len(dofs), bool)
    layout = Layout(bodies, np.array(order), -free, free, still, idle, 1, (1e-6, 1e-6))
    search = TargetSearch(model, live_device(), 1, layout)
    turns = rot.unit(rng.normal(size=(3, 4)))
    goal = np.concatenate([[*rng.normal(size=3), *rng.normal(size=3), *rng.uniform(0.5, 2, 3), *t, 0.7] for t in turns])
    q = model.joint_q[0]
    core = search.core
    core.state.q.write(q[None, :, None])
    core.targets.goal.write(goal[None, :, None])
    for array in (core.targets.gradient, core.targets.matrix, core.facts):
        array.write(np.full((1, array.n_items, 1), np.nan))
    search.arena.launch(probe, core, 0.0)
    n = len(order)
    gradient, matrix = core.targets.gradient.read()[0, :, 0], np.zeros((n, n))
    matrix[np.tril_indices(n)] = core.targets.matrix.read()[0, :, 0]
    matrix += np.tril(matrix, -1).T

    def at(step):
        whole = np.zeros((1, model.n_qd))
        whole[0, order] = step
        pose = search.forward_kinematics(moved(model, q, whole[0])[None], np.zeros((1, model.n_qd)))[0][0]
        return energy(model, pose, goal, bodies)

    assert core.facts.read()[0, 3, 0] == pytest.approx(at(np.zeros(n)), rel=1e-12)
    unit = np.eye(n)
    slopes = [(at(1e-5 * e) - at(-1e-5 * e)) / 2e-5 for e in unit]
    np.testing.assert_allclose(gradient, slopes, rtol=SLOPES, atol=SLOPES * np.abs(slopes).max())
    h = 1e-4
    bends = np.array(
        [
            [(at(h * (a + b)) - at(h * (a - b)) - at(h * (b - a)) + at(-h * (a + b))) / (4 * h * h) for a in unit]
            for b in unit
        ]
    )
    np.testing.assert_allclose(matrix, bends, rtol=CURVATURES, atol=CURVATURES * np.abs(bends).max())
    search.destroy()


# Closed forms


@pytest.mark.parametrize(
    ("target", "distance", "angles"),
    [
        ((1.2, 0.9), 1.5 - 0.8, {"shoulder": np.arctan2(0.9, 1.2), "elbow": 0.0}),  # out of reach
        ((0.06, 0.08), 0.2 - 0.1, {"shoulder": np.arctan2(0.08, 0.06), "elbow": np.pi}),  # too near
    ],
)
def test_what_is_out_of_reach_ends_nearest_and_says_the_distance(ik, target, distance, angles):
    found = ik(TWO_BARS, f"--target=fore/tip={target[0]},{target[1]},0", code=Exit.NEGATIVE)
    assert (found["nearest"], found["search_status"]) == (1, [1])
    assert found["residual_position"][0] == pytest.approx(distance, abs=CLOSED_FORM)
    q = by_dof(found)
    for name, angle in angles.items():
        assert np.sin((q[name] - angle) / 2) == pytest.approx(0.0, abs=REACHED)


def test_beyond_a_limit_ends_at_the_limit(ik):
    """The shoulder stays at its limit; the tip is on the circle about the elbow, whose nearest point is a closed form."""
    limit, target = 0.2, np.array([0.1, 0.7])
    elbow = 0.5 * np.array([np.cos(limit), np.sin(limit)])
    distance = np.linalg.norm(target - elbow) - 0.3
    words = ("--set", f"joints.shoulder.limit=[-1,{limit}]", "--set", "joints.shoulder.q=0")
    found = ik(TWO_BARS, "--target", f"fore/tip={target[0]},{target[1]},0", *words, code=Exit.NEGATIVE)
    assert found["residual_position"][0] == pytest.approx(distance, abs=CLOSED_FORM)
    assert by_dof(found)["shoulder"] == limit
    assert dict(zip(found["labels"]["NV"], found["limit_state"][0], strict=True)) == {"shoulder": 1, "elbow": 0}


def test_two_solutions_of_two_bars(ik):
    """The law of cosines, on both sides."""
    x, y = 0.3, 0.5
    c = (x * x + y * y - 0.5**2 - 0.3**2) / (2 * 0.5 * 0.3)
    found = ik(TWO_BARS, "--target", f"fore/tip={x},{y},", "--all")
    assert found["states"] == 2
    assert sorted(q[1] for q in found["joint_q"]) == pytest.approx([-np.arccos(c), np.arccos(c)], abs=REACHED)


@pytest.mark.full
def test_weights_share_what_cannot_be_met(ik):
    """A slide between two places: the mean by the weights."""
    scene = """\
simcli: 1
bodies: {car: {mass: 1, inertia: {diag: [1, 1, 1]}, points: {a: [0, 0, 0], b: [0, 0.5, 0]}}}
joints: {rail: {type: prismatic, parent: world, child: car, axis: [1, 0, 0]}}
"""
    words = ("--target", "car/a=1,0,0", "--target", "car/b=2,0.5,0", "--weight", "*/a=3", "--weight", "car/b=1")
    found = ik(scene, *words, code=Exit.NEGATIVE)
    assert by_dof(found)["rail"] == pytest.approx((3 * 1 + 1 * 2) / 4, abs=CLOSED_FORM)
    assert found["targets"]["car/b"]["largest_position"] == pytest.approx(0.75, abs=CLOSED_FORM)


@pytest.mark.full
def test_a_coupler_point_is_followed_and_the_loop_stays_closed(ik, here):
    scene, path = four_bar(0.3, 0.9, 0.7, 1.0, (0.45, 0.3), 0.5)
    angles = np.linspace(0.5, 0.5 + 2 * np.pi, 60)
    rows = [f"{0.01 * k},{x!r},{y!r}" for k, (x, y) in enumerate(path(angles).tolist())]
    (here / "path.csv").write_text("\n".join(["time [s],coupler/p.x,coupler/p.y", *rows]) + "\n")
    found = ik(scene, "--target-table", "path.csv", "--follow")
    assert found["reached"] == len(angles)
    pin = np.array(found["joint_q"])[:, found["labels"]["NQ"].index("pin")]
    np.testing.assert_allclose(pin, angles - 0.5, atol=REACHED)
    assert max(found["residual_loop"]) < CLOSED_FORM
    assert "open_joint" not in found  # what another code says of the loops
    far = ik(scene, "--target", "coupler/p=3,3,", code=Exit.NEGATIVE)
    away = np.linalg.norm(path(np.linspace(0, 2 * np.pi, 100_001)) - 3.0, axis=1).min()
    assert far["residual_position"][0] == pytest.approx(away, abs=1e-8)  # of a path sampled by 6e-5 rad
    assert far["residual_loop"][0] < CLOSED_FORM


@pytest.mark.full
def test_limits_of_loops_gears_and_balls_are_kept(ik):
    scene, path = four_bar(0.3, 0.9, 0.7, 1.0, (0.45, 0.3), 0.5)
    words = ("--set", "joints.base.limit=[-0.05,0.05]")
    place = path(np.array(2.0))
    found = ik(scene, "--target", f"coupler/p={place[0]},{place[1]},", *words, code=Exit.NEGATIVE)
    assert abs(by_dof(found)["base"]) == pytest.approx(0.05, abs=CLOSED_FORM)
    assert found["limit_state"][0][found["labels"]["NV"].index("base")] != 0
    geared = TWO_BARS + "  # the elbow follows\n"
    geared = geared.replace(
        "at: [0.5, 0, 0], axis: [0, 0, 1], q: 0.4", "at: [0.5, 0, 0], axis: [0, 0, 1], mimic: {joint: shoulder, ratio: 2}"
    )
    found = ik(geared, "--target", "fore/tip=0.1,0.6,", code=Exit.NEGATIVE)
    angle = np.linspace(-4, 4, 200_001)
    tip = 0.5 * np.exp(1j * angle) + 0.3 * np.exp(3j * angle)
    assert found["residual_position"][0] == pytest.approx(np.abs(tip - (0.1 + 0.6j)).min(), abs=1e-8)
    q = by_dof(found)
    assert q["elbow"] == pytest.approx(2 * q["shoulder"], abs=CLOSED_FORM)
    ball = """\
simcli: 1
bodies: {arm: {mass: 1, inertia: {diag: [1, 1, 1]}}}
joints: {hip: {type: ball, parent: world, child: arm, limit: [[-0.5, 0.5], [-0.1, 0.2], [-0.5, 0.5]]}}
"""
    found = ik(ball, "--target", "arm.rpy=0,0.6,0", code=Exit.NEGATIVE)
    assert found["joint_q"][0] == pytest.approx(rot.quat_from_vector(np.array([0, 0.2, 0])), abs=CLOSED_FORM)
    assert found["residual_angle"][0] == pytest.approx(0.4, abs=CLOSED_FORM)


# Public arms


def poses_of(arm, q):
    """Poses of the last body by Denavit and Hartenberg's matrices."""
    T = arm.poses(q)
    return np.concatenate([T[:, :3, 3], rot.matrix_to_quat(T[:, :3, :3])], axis=1)


def searched(folder, arm, poses, **options):
    """Coordinates for poses of the last body of an arm."""
    (folder / "arm.yaml").write_text(arm.scene())
    with package.Simulation(folder / "arm.yaml", device="cpu", threads=1) as sim:
        return sim.ik({f"link{arm.n - 1}": poses}, worlds=np.zeros(len(poses), int), **options)


def missed(arm, q, poses):
    """Largest distance [m] and turn [rad] from poses."""
    return [float(part.max()) for part in rot.pose_distance(poses_of(arm, q), poses)]


@pytest.mark.parametrize("name", ARMS)
def test_poses_of_public_arms_are_reached(tmp_path, name):
    arm = ARMS[name]
    poses = poses_of(arm, arm.drawn(np.random.default_rng(1), 100))
    found = searched(tmp_path, arm, poses, seeds=32)
    assert found.reached.all()
    assert max(missed(arm, found.q, poses)) < REACHED
    assert (found.q >= arm.limits[:, 0]).all()
    assert (found.q <= arm.limits[:, 1]).all()


def test_all_branches_of_a_wrist_partitioned_and_of_a_ur_arm(tmp_path):
    """Eight each: left or right, elbow up or down, wrist flipped or not; full turns do not count."""
    wide = np.array([(-np.pi, np.pi)] * 6)
    for arm, q in ((PUMA, [0.4, 0.7, -1.1, 0.6, 0.9, 0.3]), (UR5, [0.4, -1.2, 1.3, 0.6, 0.9, 0.3])):
        free = type(arm)(arm.rows, wide)
        pose = poses_of(free, np.array([q]))
        found = searched(tmp_path, free, pose, seeds=100, every=True)
        assert len(found.q) == 8
        assert max(missed(free, found.q, np.tile(pose, (8, 1)))) < REACHED
        apart = found.q[:, None] - found.q
        apart -= 2 * np.pi * np.round(apart / (2 * np.pi))
        assert (np.abs(apart).max(axis=2) + np.eye(8) > 0.1).all()


def test_a_posture_chooses_among_solutions(tmp_path):
    """A redundant arm: its targets are reached as without, nearer to the posture."""
    poses = poses_of(PANDA, PANDA.drawn(np.random.default_rng(5), 20))
    start = PANDA.limits.mean(axis=1)
    plain, posed = (searched(tmp_path, PANDA, poses, start=start, posture=w) for w in (0.0, 1e-3))
    assert plain.reached.all()
    assert posed.reached.all()
    assert max(missed(PANDA, posed.q, poses)) < REACHED
    away = [np.linalg.norm(found.q - start, axis=1) for found in (plain, posed)]
    assert (away[1] <= away[0] + 1e-2).all()
    assert away[1].mean() < 0.9 * away[0].mean()


@pytest.mark.full
def test_bytes_are_those_of_a_target_alone_whatever_packs_and_threads(tmp_path, monkeypatch):
    """Arms and loops, in reach and out of it: packs of four and of one, one thread and two, all targets and some."""
    scene, path = four_bar(0.3, 0.9, 0.7, 1.0, (0.45, 0.3), 0.5)
    rng = np.random.default_rng(2)
    arm, mixed = poses_of(PUMA, PUMA.drawn(rng, 30)), np.full((30, 3), np.nan)
    arm[::4, :3] *= 3.0
    mixed[:, :2] = rng.uniform(-2, 2, (30, 2))
    mixed[::3, :2] = path(np.linspace(0.0, 6.0, 10))
    cases = {"arm": (PUMA.scene(), "link5", arm), "bars": (scene, "coupler/p", mixed)}

    def found(lanes, threads, rows):
        monkeypatch.setitem(runtime.CPU_LANES, "float64", lanes)
        kept = []
        for name, (text, goal, targets) in cases.items():
            (tmp_path / f"{name}.yaml").write_text(text)
            with package.Simulation(tmp_path / f"{name}.yaml", device="cpu", threads=threads) as sim:
                for posture in (0.0, 1e-3):
                    some = targets[rows]
                    one = sim.ik({goal: some}, worlds=np.zeros(len(some), int), seeds=5, posture=posture)
                    kept.append(np.column_stack([one.q, one.position_error, one.loop_error, one.iterations, one.start]))
        return kept

    whole = found(4, 1, slice(None))
    for lanes, threads, rows in ((4, 2, slice(None)), (1, 1, slice(None)), (4, 1, slice(3, 9)), (4, 1, slice(7, 8))):
        again = found(lanes, threads, rows)
        assert [one[rows].tobytes() for one in whole] == [one.tobytes() for one in again], (lanes, threads, rows)


@pytest.mark.full
def test_shares_that_are_reached_of_ten_thousand(tmp_path, record_property):
    """Targets of coordinates that are uniform within the limits; by 1, 8 and 32 searches from random starts."""
    for name, arm in ARMS.items():
        poses = poses_of(arm, arm.drawn(np.random.default_rng(1), 10_000))
        found = searched(tmp_path, arm, poses, seeds=32, start=arm.drawn(np.random.default_rng(9), 1)[0])
        shares = [float((found.reached & (found.start < n)).mean()) for n in (1, 8, 32)]
        record_property(name, shares)
        assert shares[1] >= 0.95
        assert shares[2] >= 0.999
        assert max(missed(arm, found.q[found.reached], poses[found.reached])) < REACHED


@pytest.mark.slow
def test_peers_come_to_the_same_share(capsys):
    """Damped least squares on pinocchio and MuJoCo, from the same targets; what benchmarks/inverse_kinematics.py prints."""
    for name, arm in ARMS.items():
        poses = inverse_kinematics.targets_of(arm, 10)
        ours = inverse_kinematics.by_simcli(arm, poses)[0]
        for error in (inverse_kinematics.pinocchio_error(arm), inverse_kinematics.mujoco_error(arm)):
            assert (inverse_kinematics.by_peer(arm, poses, error)[0] <= ours).all(), name


# Tables, runs, markers

LEG = """\
simcli: 1
bodies:
  pelvis: {mass: 10, inertia: {diag: [0.1, 0.1, 0.1]},
           points: {l: [0.1, 0.12, 0.05], r: [0.1, -0.12, 0.05], s: [-0.12, 0, 0.06]}}
  thigh: {pose: {xyz: [0, 0.1, 0]}, mass: 8, inertia: {diag: [0.1, 0.1, 0.02]},
          points: {a: [0.08, 0, -0.2], b: [0, 0.07, -0.25], c: [0, 0.05, -0.42]}}
  shank: {pose: {xyz: [0, 0.1, -0.42]}, mass: 3, inertia: {diag: [0.05, 0.05, 0.01]},
          points: {a: [0.06, 0, -0.15], b: [0, 0.05, -0.2], c: [0, 0.04, -0.4]}}
  foot: {pose: {xyz: [0, 0.1, -0.84]}, mass: 1, inertia: {diag: [0.002, 0.003, 0.003]},
         points: {heel: [-0.06, 0, -0.04], toe: [0.15, 0.03, -0.05], side: [0.1, -0.04, -0.05]}}
joints:
  hip: {type: ball, parent: pelvis, child: thigh, at: [0, 0.1, 0]}
  knee: {type: revolute, parent: thigh, child: shank, at: [0, 0.1, -0.42], axis: [0, 1, 0], limit: [0, 2.4], q: 0.1}
  ankle: {type: revolute, parent: shank, child: foot, at: [0, 0.1, -0.84], axis: [0, 1, 0], limit: [-0.8, 0.8]}
contact: {enabled: false}
"""


def walking(n):
    """Coordinates of the leg over a stride: those of the free base behind the joints of the file."""
    t = np.linspace(0.0, 1.0, n)
    swing = 2 * np.pi * t
    hip = rot.quat_from_vector(np.stack([0.1 * np.sin(swing), 0.5 * np.sin(swing), 0.1 * np.cos(swing)], axis=1))
    knee, ankle = 0.5 - 0.45 * np.cos(2 * swing), 0.3 * np.sin(swing + 1)
    place = np.stack([1.2 * t, 0.02 * np.sin(swing), 0.9 + 0.02 * np.cos(2 * swing)], axis=1)
    turn = rot.quat_from_vector(np.stack([0.05 * np.cos(swing), 0.1 * np.sin(swing), 0.2 * np.sin(swing)], axis=1))
    return t, np.concatenate([hip, knee[:, None], ankle[:, None], place, turn], axis=1)


@pytest.fixture
def markers(here, command):
    """A log of the markers of the leg, with what was walked."""
    (here / "leg.yaml").write_text(LEG)
    t, q = walking(30)
    labels = json.loads(command("fk", "leg.yaml", "--json", *CPU).stdout)["labels"]
    header = json.loads(command("ik", "leg.yaml", "--target", "foot/toe=0,0,0", "--json", *CPU).stdout)["labels"]["NQ"]
    rows = [",".join(map(repr, map(float, row))) for row in np.column_stack([t, q])]
    (here / "walk.csv").write_text("\n".join(["time," + ",".join(header), *rows]) + "\n")
    done = command("fk", "leg.yaml", "--states", "walk.csv", "--json", *CPU)
    return t, q, list(labels["N"]), np.array(json.loads(done.stdout)["point_position"])


def written_markers(path, t, names, places):
    header = ["time [s]", *(f"{name}.{axis} [mm]" for name in names for axis in "xyz")]
    rows = [
        [repr(time), *("" if np.isnan(x) else repr(float(1e3 * x)) for x in row.ravel())]
        for time, row in zip(t.tolist(), places, strict=True)
    ]
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")


@pytest.mark.full
def test_markers_of_a_leg_with_gaps(markers, ik, here):
    """A marker that is not seen in a row is left out there; those that are left say where the leg is."""
    t, q, names, places = markers
    hidden = np.random.default_rng(3).random(places.shape[:2]) < 0.15
    seen = np.where(hidden[..., None], np.nan, places)
    assert hidden.any(axis=1).mean() > 0.7
    written_markers(here / "log.csv", t, names, seen)
    found = ik(LEG, "--target-table", "log.csv", "--follow")
    assert found["reached"] == len(t)
    assert found["time"] == pytest.approx(t)
    bare = np.array(found["joint_q"])
    bare[:, :4] *= np.sign(np.sum(bare[:, :4] * q[:, :4], axis=1))[:, None]
    bare[:, -4:] *= np.sign(np.sum(bare[:, -4:] * q[:, -4:], axis=1))[:, None]
    np.testing.assert_allclose(bare, q, atol=1e-5)  # gaps of 1e-8 m over arms of centimetres
    noisy = seen + np.random.default_rng(4).normal(0.0, 2e-3, places.shape)
    written_markers(here / "noisy.csv", t, names, noisy)
    found = ik(LEG, "--target-table", "noisy.csv", "--follow", "--tolerance", "0.02")
    rms = np.mean([one["rms_position"] ** 2 for one in found["targets"].values()]) ** 0.5
    assert 1e-3 < rms < 2e-3 * 3**0.5  # less than the noise, part of which the twelve coordinates take up
    assert found["not_converged"] == 0


def test_a_row_without_targets_keeps_its_coordinates(ik, here):
    (here / "gap.csv").write_text("fore/tip.x,fore/tip.y\n0.2,0.5\n,nan\n0.21,0.5\n")
    found = ik(TWO_BARS, "--target-table", "gap.csv", "--follow")
    assert found["joint_q"][1] == found["joint_q"][0]
    assert (found["residual_position"][1], found["search_iterations"][1]) == (None, 0)


def test_tables_of_all_kinds_say_the_same(markers, ik, here, command):
    t, _, names, places = markers
    written_markers(here / "log.csv", t, names, places)
    words = ("--follow", "--target", "foot/toe", "--target", "shank/a", "--target", "pelvis/l", "--seeds", "3")
    first = ik(LEG, "--target-table", "log.csv", *words)
    rows = [
        {"time": time}
        | {f"{name}.{axis}": x for name, place in zip(names, row, strict=True) for axis, x in zip("xyz", place, strict=True)}
        for time, row in zip(t.tolist(), places.tolist(), strict=True)
    ]
    (here / "rows.json").write_text(json.dumps(rows))
    (here / "columns.json").write_text(json.dumps({key: [row[key] for row in rows] for key in rows[0]}))
    for name in ("rows.json", "columns.json"):
        again = ik(LEG, "--target-table", name, *words)
        np.testing.assert_allclose(again["joint_q"], first["joint_q"], atol=1e-9)  # mm in the other table
    for suffix in ("csv", "h5"):
        done = command("fk", "leg.yaml", "--states", "walk.csv", "-o", f"poses.{suffix}", *CPU)
        assert done.returncode == Exit.OK
        again = ik(LEG, "--target-table", f"poses.{suffix}", *words)
        np.testing.assert_allclose(again["joint_q"], first["joint_q"], atol=1e-9)


@pytest.mark.full
def test_a_run_is_followed_by_another_mechanism_and_read_by_fk(here, command, ik):
    (here / "arm.yaml").write_text(TWO_BARS)
    words = ("--set", "run.duration=0.2", "--set", "output.every=0.02", "--set", "world.gravity=[0,-9.81,0]")
    assert command("run", "arm.yaml", "-o", "run.h5", "-q", *words, *CPU).returncode == Exit.OK
    found = ik(TWO_BARS, "--target-table", "run.h5", "--target", "fore", "--follow", "-o", "found.h5", "--force")
    assert (found["reached"], found["states"]) == (11, 11)
    with package.open("run.h5") as run, package.open("found.h5") as result:
        np.testing.assert_allclose(result["joint_q"], run.column("frames/joint_q")[:, 0], atol=REACHED)
        assert result["time"] == pytest.approx(run.time)
        poses = run.column("frames/body_q")[:, 0]
    done = command("fk", "found.h5", "--json", *CPU)
    np.testing.assert_allclose(json.loads(done.stdout)["body_q"], poses, atol=10 * REACHED)


@pytest.mark.full
def test_every_solver_names_the_same_joints(ik):
    found = [
        ik(TWO_BARS + f"solver: {{type: {name}}}\n", "--target", "fore/tip=0.2,0.5,")["joint_q"]
        for name in ("generalized", "maximal", "natural", "affine")
    ]
    assert found[1:] == found[:1] * 3


@pytest.mark.full
def test_worlds_have_targets_of_their_own_and_bytes_of_their_own(ik, here):
    batch = TWO_BARS.replace("points: {tip: [0.3, 0, 0]}", 'points: {tip: ["${reach}", 0, 0]}')
    batch += "params: {reach: 0.3}\nbatch: {worlds: 3, vary: {params.reach: {list: [0.2, 0.3, 0.4]}}}\n"
    found = ik(batch, "--target", "fore/tip=2,0,", code=Exit.NEGATIVE)
    assert found["world"] == [0, 1, 2]
    assert found["residual_position"] == pytest.approx([1.3, 1.2, 1.1], abs=CLOSED_FORM)
    (here / "table.csv").write_text("world,fore/tip.x,fore/tip.y\n2,0.3,0.4\n0,0.3,0.4\n2,0.1,0.7\n")
    found = ik(batch, "--target-table", "table.csv")
    alone = ik(batch, "--target-table", "table.csv", "--world", "2")
    assert alone["joint_q"] == [found["joint_q"][k] for k in (0, 2)]


@pytest.mark.full
def test_kinematic_bodies_stay_and_small_mechanisms_are_as_good(ik):
    scene = TWO_BARS.replace("bodies:\n", "bodies:\n  base: {mass: 1, inertia: {diag: [1, 1, 1]}, kinematic: true}\n")
    scene = scene.replace("parent: world", "parent: base")
    found = ik(scene, "--target", "fore/tip=1.2,0.9,", code=Exit.NEGATIVE)
    assert found["residual_position"][0] == pytest.approx(0.7, abs=CLOSED_FORM)
    small = TWO_BARS.replace("0.5, 0, 0", "0.0005, 0, 0").replace("0.3, 0, 0", "0.0003, 0, 0")
    found = ik(small, "--target", "fore/tip=0.0003,0.0004,", "--tolerance", "1e-9")
    c = (0.25 - 0.25 - 0.09) / (2 * 0.5 * 0.3)
    assert np.cos(by_dof(found)["elbow"]) == pytest.approx(c, abs=1e-5)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--target", "fore/tipp=0,0,0"), Exit.USAGE, "did you mean `fore/tip`?"),
        (("--target", "fore=0,0"), Exit.USAGE, "2 numbers"),
        (("--target", "fore=0,0,0,0,0,0,2"), Exit.USAGE, "has length 2, not 1"),
        (("--target", "fore=,,"), Exit.USAGE, "nothing is wanted"),
        (("--target", "fore.rpy=0,,0"), Exit.USAGE, "only axes of the place may be free"),
        (("--target", "fore=0,0,1 parsec"), Exit.USAGE, "parsec"),
        (("--target", "fore"), Exit.USAGE, "--target-table"),
        (("--target", "fore=0,0,0", "--weight", "f*=-1"), Exit.USAGE, "from 0 on"),
        (("--target", "fore=0,0,0", "--weight", "x=1"), Exit.USAGE, "no target `x`"),
        (("--target", "fore=0,0,0", "--follow", "--all"), Exit.USAGE, "contradict"),
        (("--target", "fore=0,0,0", "--states", "table.csv"), Exit.USAGE, "--target-table"),
        (("--target-table", "table.csv"), Exit.FILE, "did you mean `fore`?"),
        (("--target-table", "cells.csv"), Exit.FILE, "cells.csv:3: `a` is not a number"),
        (("--target-table", "half.csv"), Exit.FILE, "an orientation needs qx, qy, qz, qw"),
        (("--target-table", "bad.json"), Exit.FILE, "is not a JSON document"),
    ],
)
def test_what_is_no_target_is_refused(here, command, words, code, told):
    (here / "scene.yaml").write_text(TWO_BARS)
    (here / "table.csv").write_text("for.x\n1\n")
    (here / "cells.csv").write_text("fore.x\n1\na\n")
    (here / "half.csv").write_text("fore.qx\n1\n")
    (here / "bad.json").write_text("[1, 2")
    done = command("ik", "scene.yaml", *words, *CPU)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr


@pytest.mark.full
def test_programs_find_what_the_command_finds(here, ik):
    found = ik(TWO_BARS, "--target", "fore/tip=0.2,0.5,", "--all", "--seeds", "5")
    with package.Simulation("scene.yaml", worlds=2, device="cpu", threads=1) as sim:
        mine = sim.ik({"fore/tip": [0.2, 0.5, np.nan]}, worlds=[1], every=True, seeds=5)
        assert mine.q.tolist() == found["joint_q"]
        assert mine.row.tolist() == [0, 0]
        assert mine.reached.all()
        both = sim.ik({"fore/tip": [[0.2, 0.5, np.nan], [2.0, 0, 0]]}, weights={"fore*": 2.0})
        assert both.reached.tolist() == [True, False]
        assert both.converged.all()
        assert both.position_error[1] == pytest.approx(1.2, abs=CLOSED_FORM)
        sim.set({"joint.shoulder.q": both.q[:, :1], "joint.elbow.q": both.q[:, 1:]})
        assert sim.get("body.fore.position")[0, :2] == pytest.approx(
            0.5 * np.array([np.cos(both.q[0, 0]), np.sin(both.q[0, 0])]), abs=REACHED
        )
        for bad in ({"c": [0, 0, 0]}, {"fore": [0, 0]}, {"fore": "x"}, {}):
            with pytest.raises(UsageError):
                sim.ik(bad)
