"""From the solver to the file: contacts that carry the bodies' momentum, and what is said when some are lost or unsolved."""

import json
from dataclasses import replace
from functools import partial

import mujoco
import numpy as np
import pytest
from support.contacts import random_poses
from support.process import completed_here
from support.touching import SCENE, VARIED

import simcli as package
from simcli import pipeline
from simcli import rotations as rot
from simcli.cli.runs.summary import outcome_json, outcome_text
from simcli.errors import Exit
from simcli.job import Outcome
from simcli.records.integrity.verification import verify
from simcli.solvers.output.contact_report import ROW, SUMMARY, gather, overflow_text, unsolved_events
from simcli.spec.document.overrides import Override

WORLDS = 6  # more than a pack of lanes, no multiple of it
G, DT, RADIUS, FRICTION = 9.81, 1e-3, 0.1, 0.4  # of the scene
ROUNDING = 1e-9  # [1] of the largest force: impulses and velocities of a step, each rounded, over the step
LENGTHS = 1e-9  # [m] that the proximal solution may leave of a gap

# The rows of a frame, and the events of a call, from made-up buffers


def test_what_is_left_over_is_never_read():
    """Room behind the contacts holds anything; worlds that have ended have none."""
    rng = np.random.default_rng(0)
    summary = np.full((3, 2, len(SUMMARY)), np.nan)
    summary[..., 0] = [[0, 4], [2, 1], [3, np.nan]]
    rows = rng.normal(size=(3, 2, 4 * ROW))
    found = gather(summary, rows, np.array([[0, 0], [0, 0], [0, 5]]))
    assert found.count.tolist() == [[0, 4], [2, 1], [3, 0]]
    wanted = [rows[f, w].reshape(4, ROW)[:n] for (f, w), n in np.ndenumerate(found.count)]
    assert np.array_equal(np.column_stack([*found.columns.values()]), np.concatenate(wanted))


def test_a_call_tells_of_its_first_unsolved_step_and_the_last_one_of_all():
    column = {name: k for k, name in enumerate(SUMMARY)}
    summary = np.zeros((3, len(SUMMARY)))
    assert unsolved_events(summary, 100, DT, True, 200) == []
    summary[1, [column["unsolved"], column["worst"]]] = 7, 2e-3  # all of them in calls before
    assert unsolved_events(summary, 100, DT, False, 200) == []
    (counted,) = unsolved_events(summary, 100, DT, True, 200)
    assert (counted.code, counted.world, counted.step, counted.value) == ("SC662", 1, 200, 7.0)
    assert counted.text == "7 step(s) did not converge: the largest residual of contacts is 0.002 m/s"
    summary[2, [column["unsolved"], column["first"], column["first_residual"]]] = 3, 5, 1e-4
    (first,) = unsolved_events(summary, 100, DT, False, 200)
    assert (first.code, first.world, first.step, first.severity, first.value) == ("SC661", 2, 105, 1, 1e-4)


def test_the_text_of_an_overflow_says_what_to_write():
    assert overflow_text(9, 6) == "9 contacts, but there is room for 6: write contact: {capacity: 18}"


def test_warnings_are_said_and_counted(tmp_path):
    outcome = Outcome(tmp_path / "a.h5")
    assert "warnings: " not in outcome_text(outcome)
    outcome.warnings.update({"SC662": 1, "SC661": 2})
    assert "warnings: SC661 x 2, SC662 x 1; simcli info" in outcome_text(outcome)
    assert outcome_json(outcome)["warnings"] == {"SC661": 2, "SC662": 1}


# Whole runs: slow, because kernels with contact take long to compile


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("touching")
    (folder / "s.yaml").write_text(SCENE)
    sets = (Override("--vary", VARIED), f"batch.worlds={WORLDS}")
    return pipeline.Request(folder / "s.yaml", folder / "whole.h5", sets, device="cpu")


@pytest.fixture(autouse=True)
def _commits_often(monkeypatch):
    monkeypatch.setattr("simcli.records.writing.writer.PATIENCE_S", 0.0)


def run(asked, name="", sets=(), watch=pipeline.keep_going, **more):
    output = asked.output.with_name(f"{name}.h5") if name else asked.output
    asked = replace(asked, output=output, sets=(*asked.sets, *sets), **more)
    return pipeline.execute(pipeline.prepare(asked), watch)


@pytest.fixture(scope="module")
def whole(asked):
    """The file of the uninterrupted run, a frame for every step."""
    assert not run(asked).failures
    with package.open(asked.output) as file:
        yield file


def pulls(file, body):
    """Force on a body [N] and its moment [N m] about its centre, at its own surface points, (F, W, 3) each."""
    owner = dict(enumerate(file.model["shape_body"]))
    table, index = file.contact_table(), file.bodies.index(body)
    at = (table["frame"], table["world"])
    centre = np.asarray(file.body(body).position)[at]
    half = 0.5 * np.maximum(table["gap"], 0.0)[:, None] * table["normal"]
    force, moment = np.zeros((2, file.n_frames, file.n_worlds, 3))
    for column, sign in (("shape_a", -1.0), ("shape_b", 1.0)):
        mine = np.array([owner[shape] == index for shape in table[column]], float) * sign
        np.add.at(force, at, mine[:, None] * table["force"])
        np.add.at(moment, at, mine[:, None] * np.cross(table["point"] + sign * half - centre, table["force"]))
    return force, moment


def unsure(file, body):
    """Moment [N m] that a body's forces may have more, (F - 1, W).

    They act in the middle of the overlap that the step starts with. The file shows the one where the step ends, and finding
    contacts anew makes a little of one: what slides along a face that turns meets it otherwise than along its old normal.
    """
    table, index = file.contact_table(), file.bodies.index(body)
    mine = np.isin(np.asarray(file.model["shape_body"]), index)
    here = mine[table["shape_a"]] | mine[table["shape_b"]]
    force, depth = np.zeros((file.n_frames, file.n_worlds)), file.diag.penetration[...]
    np.add.at(force, (table["frame"][here], table["world"][here]), np.linalg.norm(table["force"][here], axis=1))
    slide = DT * sum(np.linalg.norm(file.body(name).velocity, axis=-1) for name in file.bodies)
    turn = DT * np.linalg.norm(file.body("crate").angular_velocity, axis=-1)
    return 0.5 * (np.maximum(depth[:-1], depth[1:]) + (slide * turn)[:-1]) * force[1:]


KINDS = {
    "generalized": (),
    "maximal": ("solver.type=maximal",),
    "natural": ("solver.type=natural", "solver.integrator=moreau"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_contacts_carry_the_momentum(asked, kind):
    """m dv/dt = m g + sum f, and for the ball I dw/dt = sum (x - c) x f: forces, shapes, signs and places at once."""
    run(asked, kind, KINDS[kind])
    path = asked.output.with_name(f"{kind}.h5")
    with package.open(path) as file:
        mass = dict(zip(file.bodies, file.model["body_mass"][0], strict=True))
        largest = np.abs(file.contact_table()["force"]).max()
        for body in ("crate", "ball"):
            force, moment = pulls(file, body)
            rate = np.diff(np.asarray(file.body(body).velocity), axis=0) / DT
            np.testing.assert_allclose(mass[body] * (rate + np.array([0, 0, G])), force[1:], rtol=0, atol=ROUNDING * largest)
        spin = np.diff(np.asarray(file.body("ball").angular_velocity), axis=0) / DT
        off = np.abs(0.4 * mass["ball"] * RADIUS**2 * spin - moment[1:]).max(axis=-1)
        assert (off <= ROUNDING * largest + unsure(file, "ball")).all()
    assert verify(path) == []


@pytest.mark.slow
def test_contacts_are_what_the_scene_says(whole):
    """Unit normals, friction cones, gaps of the ball above the ground, and the counts and depths of /diag."""
    table, names = whole.contact_table(), list(whole.model["shape_name"])
    normal = np.einsum("ci,ci->c", table["force"], table["normal"])
    tangent = np.linalg.norm(table["force"] - normal[:, None] * table["normal"], axis=1)
    largest = normal.max()
    np.testing.assert_allclose(np.linalg.norm(table["normal"], axis=1), 1.0, atol=1e-12)
    lacks = whole.diag.residual[...][table["frame"], table["world"]] * np.sum(whole.model["body_mass"][0])
    assert (normal >= -ROUNDING * largest - lacks / DT).all()
    assert (tangent <= FRICTION * normal + 1e-6 * largest).all()
    pairs = {frozenset((names[a], names[b])) for a, b in zip(table["shape_a"], table["shape_b"], strict=True)}
    assert pairs == {frozenset(p) for p in (("ground", "crate/hull"), ("ground", "ball/skin"), ("crate/hull", "ball/skin"))}
    ground = (table["shape_a"] == names.index("ground")) & (table["shape_b"] == names.index("ball/skin"))
    height = np.asarray(whole.body("ball").position)[table["frame"], table["world"], 2]
    np.testing.assert_allclose(table["gap"][ground], height[ground] - RADIUS, rtol=0, atol=LENGTHS)
    count, deepest = np.zeros((2, whole.n_frames, WORLDS))
    np.add.at(count, (table["frame"], table["world"]), 1)
    np.maximum.at(deepest, (table["frame"], table["world"]), -table["gap"])
    assert np.array_equal(whole.diag.contacts[...], count)
    assert np.array_equal(whole.diag.penetration[...], deepest)
    assert len({*count.reshape(-1).tolist()}) > 3


@pytest.mark.slow
def test_a_run_that_goes_on_ends_with_the_same_bytes(asked, whole):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.solvers.run.solver.CALL_SECONDS", 0.0)  # one frame a call
        assert run(asked, "cut", watch=lambda tick: tick.frames < 90).status == "stopped"
    outcome = run(asked, "cut", resume=True)
    assert 0 < outcome.first_frame < outcome.n_frames
    with package.open(asked.output.with_name("cut.h5")) as cut:
        assert cut.digest == whole.digest
        assert cut.counters() == whole.counters()


@pytest.mark.slow
@pytest.mark.parametrize("world", [0, 4])
def test_a_world_alone_has_the_same_contacts(asked, whole, world):
    run(asked, f"world{world}", worlds=(world,))
    with package.open(asked.output.with_name(f"world{world}.h5")) as alone:
        for f in range(whole.n_frames):
            one, other = alone.contacts(f, 0), whole.contacts(f, world)
            assert all(one[name].tobytes() == other[name].tobytes() for name in one)


@pytest.mark.slow
def test_a_world_with_too_many_contacts_ends_and_the_others_go_on(asked, whole):
    """Judged by the run with room for all: what counts is the first step that finds more than there is room for."""
    room = 5
    outcome = run(asked, "crowded", (f"contact.capacity={room}", "output.select=[crate]"))
    too_many = whole.diag.contacts[...] > room
    ends = np.where(too_many.any(axis=0), too_many.argmax(axis=0), whole.n_frames)
    assert len(set(ends)) > 2
    assert {f.world: f.step for f in outcome.failures} == {w: s for w, s in enumerate(ends) if s < whole.n_frames}
    assert {f.code for f in outcome.failures} == {"SC660"}
    names = list(whole.model["shape_name"])
    with package.open(asked.output.with_name("crowded.h5")) as file:
        assert (file.diag.contacts[...][np.arange(whole.n_frames)[:, None] >= ends] == -1).all()
        for f, w in np.ndindex(whole.n_frames, WORLDS):
            found, other = file.contacts(f, w), whole.contacts(f, w)
            of_crate = (other["shape_a"] == names.index("crate/hull")) | (other["shape_b"] == names.index("crate/hull"))
            keep = of_crate & (f < ends[w])
            assert all(found[name].tobytes() == other[name][keep].tobytes() for name in found), (f, w)
    assert verify(asked.output.with_name("crowded.h5")) == []


@pytest.mark.slow
def test_unsolved_steps_are_warned_of_and_counted(asked):
    """Of a run that is asked for more than rounding allows: its own residuals say which steps these are."""
    tolerance = 1e-19
    outcome = run(asked, "strict", (f"solver.contact.tolerance={tolerance}", "output.channels=[state]", "run.duration=0.05"))
    with package.open(asked.output.with_name("strict.h5")) as file:
        lacks = file.diag.residual[...] > 100 * tolerance
        lacks[0] = False  # no step
        events = {code: {e.world: e for e in file.events if e.code == code} for code in ("SC661", "SC662")}
        assert "contacts/gap" not in file._file
        worlds = set(np.flatnonzero(lacks.any(axis=0)))
        assert worlds
        assert events["SC661"].keys() == events["SC662"].keys() == worlds
        for world in worlds:
            first, counted = events["SC661"][world], events["SC662"][world]
            step = int(lacks[:, world].argmax())
            assert (first.step, first.value) == (step, file.diag.residual[step, world])
            assert (counted.step, counted.value) == (file.n_frames - 1, lacks[:, world].sum())
    told = {code: outcome.warnings[code] for code in ("SC661", "SC662")}  # beside SC627, which trusts none
    assert told == {"SC661": len(worlds), "SC662": len(worlds)}


# `simcli contacts`: the same contacts of any states

CPU = ("--device", "cpu", "--threads", "1")
CCD = 3e-7  # [m], as of test_collision.py
SLID = 3e-3  # [m], 3 m/s for a step: what is recorded was found where it began, and moved along with the bodies
CARRIED = 1e-8  # [m], what the normal turns meanwhile does to the gap
NEAREST = 1e-5  # [m], of nearest points: what mujoco's tolerance leaves of them along flat directions
GEOMS = {"ball": 'type="sphere" size="0.3"', "brick": 'type="box" size="0.25 0.35 0.45"'}
GEOMS["bar"] = 'type="capsule" size="0.2 0.3"'
SHAPES = """{ball: {type: sphere, radius: 0.3, margin: 0.01}, brick: {type: box, size: [0.5, 0.7, 0.9], margin: 0.01},
             bar: {type: capsule, radius: 0.2, length: 0.6, margin: 0.01}}"""
PAIR = f"""
simcli: 1
bodies:
  a: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, shapes: {SHAPES}}}
  b: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, shapes: {SHAPES}}}
contact: {{enabled: true}}
"""


@pytest.fixture
def command(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return partial(completed_here, capfd)


def table_of(path, poses):
    """States of two free bodies, as a table."""
    heads = [f"joint.{name}_free.q.{k}" for name in "ab" for k in range(7)]
    rows = [",".join(map(repr, row)) for row in poses.reshape(len(poses), -1).tolist()]
    path.write_text("\n".join([",".join(heads), *rows]))


def clearances(command, name, reach, *more):
    done = command("contacts", "pair.yaml", "--states", name, *reach, *more, "-o", "c.h5", "--force", *CPU)
    assert done.returncode == Exit.OK, done.stderr
    with package.open("c.h5") as found:
        return {field: found[field] for field in ("frame", *found.fields)} | {
            side: found.named(f"contact_shape_{side}") for side in "ab"
        }


def mujoco_pairs(poses):
    """Signed distances and nearest points of all pairs of shapes, by their names: (N,), (N, 6)."""
    bodies = "".join(
        f'<body name="{body}" mocap="true">'
        + "".join(f'<geom name="{body}/{name}" {geom}/>' for name, geom in GEOMS.items())
        + "</body>"
        for body in "ab"
    )
    text = f'<mujoco><option ccd_tolerance="1e-12" ccd_iterations="500"/><worldbody>{bodies}</worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    data, found = mujoco.MjData(model), {}
    for k, pose in enumerate(poses):
        data.mocap_pos[:], data.mocap_quat[:] = pose[:, :3], pose[:, [6, 3, 4, 5]]
        mujoco.mj_kinematics(model, data)
        for i in range(3):
            for j in range(3, 6):
                ends = np.zeros(6)
                size = mujoco.mj_geomDistance(model, data, i, j, 10.0, ends)
                found[k, model.geom(i).name, model.geom(j).name] = size, ends
    return found


def test_clearances_and_nearest_points_are_those_of_mujoco(command, tmp_path):
    """More states than are worked on at once; everything moved as one rigid body keeps its distances."""
    rng = np.random.default_rng(5)
    poses = random_poses(rng, 70, 2, 0.6)
    (tmp_path / "pair.yaml").write_text(PAIR)
    table_of(tmp_path / "q.csv", poses)
    found, reach = clearances(command, "q.csv", ("--clearance", "0.8")), 0.8
    theirs, n_near, n_compared = mujoco_pairs(poses), 0, 0
    seen = {}
    for row, (state, a, b) in enumerate(zip(found["frame"], found["a"], found["b"], strict=True)):
        key, sides = (state, *sorted((a, b))), [found[f"contact_surface_{side}"][row] for side in "ab"]
        assert key not in seen
        seen[key] = found["contact_gap"][row], *(sides if a < b else sides[::-1])
    for key, (size, ends) in theirs.items():
        if "brick" in key[1] + key[2] and "bar" in key[1] + key[2] and size < 0.0:
            continue  # its depth of an axis in a box is not the least one, see test_collision.py
        assert (key in seen) == (size <= reach), key
        if size <= reach:
            assert seen[key][0] == pytest.approx(size, abs=CCD)
            n_near += 1
        if 1e-3 < size <= reach:
            assert np.linalg.norm(seen[key][1] - ends[:3]) < NEAREST
            assert np.linalg.norm(seen[key][2] - ends[3:]) < NEAREST
            n_compared += 1
    assert n_near > 100
    assert n_compared > 50
    lift = np.array([0.3, -1.0, 2.0, *rot.quat_from_rpy(np.array([0.4, 1.1, -0.7]))])
    table_of(tmp_path / "moved.csv", rot.pose_compose(lift[None, None], poses))
    moved = clearances(command, "moved.csv", ("--clearance", "0.8"))
    assert np.abs(moved["contact_gap"] - found["contact_gap"]).max() < CCD
    assert np.abs(moved["contact_normal"] - rot.turn(rot.quat_to_matrix(lift[3:]), found["contact_normal"])).max() < 1e-3
    narrow = clearances(command, "q.csv", ("--clearance", "0.8"), "--set", "contact.capacity=2")  # room is made
    assert all(np.array_equal(narrow[name], found[name]) for name in ("frame", "a", "b", "contact_gap"))
    touching = clearances(command, "q.csv", ())  # with margins, of which each shape has its own here
    pairs = {(s, *sorted((a, b))) for s, a, b in zip(*(touching[name] for name in ("frame", "a", "b")), strict=True)}
    assert pairs == {key for key, (gap, *_) in seen.items() if gap <= 0.02 + 1e-6}
    assert touching["contact_gap"].max() <= 1e-6


@pytest.mark.parametrize(
    "solver",
    ["generalized", pytest.param("maximal", marks=pytest.mark.full), pytest.param("natural", marks=pytest.mark.full)],
)
def test_contacts_of_a_run_are_those_that_it_recorded(command, tmp_path, solver):
    """In worlds that differ, each alone and among the others; what was open there is not given."""
    (tmp_path / "crate.yaml").write_text(SCENE)
    sets = (
        "--set",
        f"solver={{type: {solver}, dt: 1.0e-3, integrator: {'moreau' if solver == 'natural' else 'semi_implicit'}}}",
    )
    sets += ("--worlds", "3", "--vary", VARIED)
    done = command("run", "crate.yaml", "-o", "run.h5", *sets, *CPU)
    assert done.returncode == Exit.OK, done.stderr
    done = command("contacts", "run.h5", "-o", "all.h5", *CPU)
    assert done.returncode == Exit.OK, done.stderr
    with package.open("run.h5") as run, package.open("all.h5") as found:
        recorded = run.contact_table()
        n_frames = run.n_frames
        names = np.array(run.model["shape_name"])
        mine = {name: found[f"contact_{name}"] for name in ("gap", "point", "normal")}
        shapes = found.named("contact_shape_a"), found.named("contact_shape_b")
        places = found["frame"], found["world"]
    closed = recorded["gap"] <= 1e-6
    assert 100 < closed.sum() < len(closed)
    theirs = {}
    for k in np.flatnonzero(closed):
        key = recorded["frame"][k], recorded["world"][k], *(names[recorded[f"shape_{side}"][k]] for side in "ab")
        theirs.setdefault(key, []).append(np.append(recorded["point"][k], recorded["gap"][k]))
    ours = {}
    for k, key in enumerate(zip(*places, *shapes, strict=True)):
        ours.setdefault(key, []).append(np.append(mine["point"][k], mine["gap"][k]))
    assert {key for key in theirs if key not in ours} == set()
    for key, rows in theirs.items():
        away = np.array(ours[key])[:, None] - np.array(rows)[None]
        near = np.linalg.norm(away[..., :3], axis=-1).argmin(axis=0)
        shifts, gaps = away[near, range(len(near)), :3], away[near, range(len(near)), 3]
        assert np.abs(shifts).max() < SLID, key
        assert np.abs(gaps).max() < CARRIED, key
    done = command("contacts", "run.h5", "--world", "1", "-o", "one.h5", *CPU)
    assert done.returncode == Exit.OK, done.stderr
    assert f"of {n_frames} states" in done.stderr + done.stdout
    with package.open("one.h5") as one:
        assert np.array_equal(one["contact_point"], mine["point"][places[1] == 1])
        assert np.array_equal(one["contact_gap"], mine["gap"][places[1] == 1])


def test_a_program_asks_for_contacts_and_rays_of_now(tmp_path):
    """Worlds whose balls differ in size: closed forms, before and after a parameter is set."""
    (tmp_path / "balls.yaml").write_text("""
simcli: 1
params: {r: 0.3}
world: {shapes: {ground: {type: plane}}}
bodies:
  low: {pose: {xyz: [0, 0, "${r}"]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, shapes: {s: {type: sphere, radius: "${r}"}}}
  high: {pose: {xyz: [0, 0, 2]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, shapes: {s: {type: sphere, radius: 0.5}}}
solver: {type: maximal, dt: 1.0e-3}
batch: {vary: {params.r: {list: [0.2, 0.3, 0.45]}}}
""")
    radius = np.array([0.2, 0.3, 0.45])
    with package.Simulation(tmp_path / "balls.yaml", device="cpu") as sim:
        touching = sim.contacts()
        assert touching.world.tolist() == [0, 1, 2]
        assert {*zip(touching.shape_a, touching.shape_b, strict=True)} == {("ground", "low/s")}
        assert np.abs(touching.gap).max() < LENGTHS
        near = sim.contacts(clearance=1.2)
        between = {w: gap for w, a, gap in zip(near.world, near.shape_a, near.gap, strict=True) if a != "ground"}
        assert [between[w] for w in range(3)] == pytest.approx(1.5 - 2 * radius, abs=LENGTHS)
        hits = sim.rays([[0, 0, 1.2], [0, 0, 5], [3, 0, 1]], [[0, 0, -2], [0, 0, -1], [0, 1, 0]], reach=10.0)
        assert hits.shape.tolist() == [["low/s", "high/s", ""]] * 3
        assert hits.distance[:, 0] == pytest.approx(1.2 - 2 * radius, abs=LENGTHS)
        assert hits.distance[:, 1] == pytest.approx(2.5, abs=LENGTHS)
        assert np.isnan(hits.distance[:, 2]).all()
        assert np.allclose(hits.normal[:, :2], [0, 0, 1])
        sim.set("body.high.position", [[0, 0, 3], [0, 0, 4], [0, 0, 5]])
        down = sim.rays([0, 0, 0], [0, 0, -1], body="high")
        assert down.shape.tolist() == [["low/s"]] * 3
        assert down.distance[:, 0] == pytest.approx(np.array([3, 4, 5]) - 2 * radius, abs=LENGTHS)
        for call in (lambda: sim.contacts(-1.0), lambda: sim.rays([0, 0], [0, 1]), lambda: sim.rays([0] * 3, [0] * 3)):
            with pytest.raises(package.errors.UsageError):
                call()


def test_contacts_of_what_cannot_touch_say_so(command, tmp_path):
    (tmp_path / "pair.yaml").write_text(PAIR.replace("enabled: true", "enabled: false"))
    done = command("contacts", "pair.yaml", "--json", *CPU)
    assert json.loads(done.stdout)["contacts"] == 0
    assert "contact.enabled=true" in done.stderr
    done = command("contacts", "pair.yaml", "--set", "contact.enabled=true", "-o", "c.csv", *CPU)
    assert "wrote c.csv" in done.stdout + done.stderr
    heads, first, *_ = (tmp_path / "c.csv").read_text().splitlines()
    assert heads.split(",")[:5] == ["time [s]", "frame", "contact.shape_a", "contact.shape_b", "contact.gap [m]"]
    assert first.startswith("0.0,0,a/")
    for name in ("contacts", "rays"):
        done = command(name, "pair.yaml", "--set", "solver={type: affine, dt: 1.0e-3}", *CPU)
        assert done.returncode == Exit.USAGE
        assert "affine" in done.stderr


def test_a_closed_loop_without_contacts_has_none(command, tmp_path):
    """Where no state has a contact, none is left to look for open loops in."""
    (tmp_path / "loop.yaml").write_text("""simcli: 1
bodies: {a: {mass: 1, inertia: {diag: [1, 1, 1]}, shapes: {s: {type: sphere, radius: 0.1}}}}
world: {shapes: {ground: {type: plane, pose: {xyz: [0, 0, -9]}}}}
joints:
  tree: {type: revolute, parent: world, child: a, axis: [0, 1, 0], at: [0, 0, 0]}
  loop: {type: revolute, parent: world, child: a, axis: [0, 1, 0], at: [0, 0, 0], loop: true}
solver: {type: generalized}
""")
    assert json.loads(command("contacts", "loop.yaml", "--json", *CPU).stdout)["contacts"] == 0
    beyond = command("contacts", "loop.yaml", "--clearance", "10", "--json", *CPU)
    assert json.loads(beyond.stdout)["contacts"] == 1
