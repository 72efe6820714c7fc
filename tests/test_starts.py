"""Where a run begins: one order of all that speaks of it. Paths that nothing reads: refused where they vary.

Where no run can begin: gaps without assembly, limits that loops leave no room for, inertia that is missing.
"""

import copy
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from support.process import simcli as command
from support.scenes import faults_of
from support.starting import INTEGRATORS, OPEN, PARTS, ROUNDING, built, dense_mass, dense_rows, four_bar, hinge, together

import simcli
from simcli.errors import SceneError
from simcli.model import build_worlds
from simcli.model.unread import unread_paths, unread_sets, unread_varied
from simcli.pipeline import build_model, read_scene
from simcli.pipeline.scenes import build_run
from simcli.spec import resolve, resolved_yaml
from simcli.spec.checks.solver_fields import JOINT_ENERGIES
from simcli.spec.document.overrides import VARY, Override
from simcli.spec.expansion.starts import STATES
from simcli.spec.loading import load_document

# From the weakest to the strongest; each says its own number of both joints, or of one of them.
ARM = """simcli: 1
bodies:
  upper: {mass: 1, inertia: {diag: [1, 1, 1]}}
  lower: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [1, 0, 0]}}
joints:
  pin: {type: revolute, parent: world, child: upper, axis: [0, 1, 0] FILE}
  elbow: {type: revolute, parent: upper, child: lower, axis: [0, 1, 0], at: [1, 0, 0]}
keyframes: {home: {KEYFRAME}}
initial: {keyframe: home INITIAL}
BATCH
"""
SPEAKERS = ("file", "keyframe", "initial", "batch", "set", "vary")
NUMBER = {who: 0.1 * (k + 1) for k, who in enumerate(SPEAKERS)}


def said(key, who, name):
    """What each speaker writes of a joint or a pattern; a pattern that varies has to be written, in `initial`."""
    short = STATES[key]
    path = f"joints.pin.{short}" if name == "pin" else f"initial.{key}.{name}"
    who = ("initial", *who) if name != "pin" and {"batch", "vary"} & set(who) else who
    has = {one: f"{key}: {{'{name}': {NUMBER[one]}}}" if one in who else "" for one in ("keyframe", "initial")}
    text = ARM.replace("FILE", f", {short}: {NUMBER['file']}" if "file" in who else "")
    text = text.replace("KEYFRAME", has["keyframe"]).replace("INITIAL", has["initial"] and f", {has['initial']}")
    batch = f"batch: {{worlds: 2, vary: {{'{path}': {{list: [{NUMBER['batch']}, 0]}}}}}}"
    text = text.replace("BATCH", batch if "batch" in who else "")
    sets = [f"{path}={NUMBER['set']}"] if "set" in who else []
    return text, [*sets, *([Override(VARY, f"{path}={NUMBER['vary']}, 0")] if "vary" in who else [])]


def first_world(tmp_path, key, text, sets):
    (tmp_path / "s.yaml").write_text(text)
    document, spec = read_scene(tmp_path / "s.yaml", sets)
    found = getattr(build_worlds(document, spec), key)
    if len(found) == 1:  # the resolved scene begins there, too
        (tmp_path / "r.yaml").write_text(resolved_yaml(spec))
        again = getattr(build_worlds(*read_scene(tmp_path / "r.yaml", ())), key)
        np.testing.assert_array_equal(found, again)
    return found[0]


@pytest.mark.parametrize("key", STATES)
@pytest.mark.parametrize("name", ["pin", "p*"])
@pytest.mark.parametrize(
    "who", [pair for pair in itertools.combinations(SPEAKERS, 2) if pair != ("batch", "set")], ids="-".join
)
def test_the_stronger_of_two_speakers_holds(tmp_path, key, name, who):
    """A value of the batch that `--set` says of the same path is refused, as it was (SC207)."""
    assert first_world(tmp_path, key, *said(key, who, name))[0] == pytest.approx(NUMBER[who[1]], rel=1e-12)


@pytest.mark.parametrize("key", STATES)
def test_of_one_rank_a_name_beats_a_pattern(tmp_path, key):
    short = STATES[key]
    text = ARM.replace("FILE", "").replace("KEYFRAME", "").replace("BATCH", "")
    assert first_world(tmp_path, key, text.replace("INITIAL", f", {key}: {{pin: 0.1, '*': 0.2}}"), ()).tolist() == [0.1, 0.2]
    bare = text.replace("INITIAL", "")
    assert first_world(tmp_path, key, bare, (f"joints.pin.{short}=0.1", f"initial.{key}.*=0.2")).tolist() == [0.1, 0.2]
    varied = (Override(VARY, f"joints.pin.{short}=0.1, 0.5"), Override(VARY, f"initial.{key}.*=0.2, 0.6"))
    assert first_world(tmp_path, key, text.replace("INITIAL", f", {key}: {{'*': 0.3}}"), varied).tolist() == [0.1, 0.2]


def test_a_keyframe_that_is_chosen_beats_none_of_these(tmp_path):
    text = ARM.replace("FILE", ", q: 0.1").replace("KEYFRAME", "").replace("BATCH", "")
    text = text.replace("keyframe: home INITIAL", "INITIAL").replace("home: {}", "home: {joint_q: {pin: 0.2, elbow: 0.25}}")
    assert first_world(tmp_path, "joint_q", text.replace("INITIAL", ""), ("initial=home",)).tolist() == [0.2, 0.25]
    written = text.replace("INITIAL", "joint_q: {pin: 0.3}")
    assert first_world(tmp_path, "joint_q", written, ("initial=home",)).tolist() == [0.3, 0.25]
    for sets in (("initial=home", "joints.pin.q=0.5"), ("joints.pin.q=0.5", "initial=home")):
        assert first_world(tmp_path, "joint_q", written, sets).tolist() == [0.5, 0.25]


FREE = """simcli: 1
bodies: {box: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [1, 0, 3]}, velocity: {linear: [1, 0, 0]}}}
initial: {joint_q: {JOINT: [4, 5, 6, 0, 0, 0.6, 0.8]}, joint_qd: {"*": [1, 2, 3, 4, 5, 6]}}
"""
OWN = "joints: {fly: {type: free, parent: world, child: box, q: [9, 9, 9, 0, 0, 0, 1]}}\n"


@pytest.mark.parametrize("own", [False, True])
def test_pose_and_velocity_of_a_free_body_have_ranks_by_number(tmp_path, own):
    text = FREE.replace("JOINT", "fly" if own else "box_free") + (OWN if own else "")
    for sets, q, qd in (
        ((), [4, 5, 6, 0, 0, 0.6, 0.8], [1, 2, 3, 4, 5, 6]),
        (("bodies.box.pose.xyz[2]=7",), [4, 5, 7, 0, 0, 0.6, 0.8], [1, 2, 3, 4, 5, 6]),
        (
            ("bodies.box.pose.xyz=[7, 8, 9]", "bodies.box.velocity.angular=[0, 0, 1]"),
            [7, 8, 9, 0, 0, 0.6, 0.8],
            [1, 2, 3, 0, 0, 1],
        ),
        (("bodies.box.pose.quat_xyzw=[0, 0, 1, 0]",), [4, 5, 6, 0, 0, 1, 0], [1, 2, 3, 4, 5, 6]),
        (("bodies.box.velocity.linear[1]=9",), [4, 5, 6, 0, 0, 0.6, 0.8], [1, 9, 3, 4, 5, 6]),
    ):
        for key, wanted in (("joint_q", q), ("joint_qd", qd)):
            np.testing.assert_allclose(first_world(tmp_path, key, text, sets), wanted, rtol=1e-15)


def test_a_plane_too(tmp_path):
    text = FREE.replace("JOINT", "box_free").replace("[4, 5, 6, 0, 0, 0.6, 0.8]", "[4, 6, 0.5]")
    text = text.replace("[1, 2, 3, 4, 5, 6]", "[1, 2, 3]")
    text += "world: {plane: xz}\n"
    assert first_world(tmp_path, "joint_q", text, ("bodies.box.pose.xyz[2]=7",)).tolist() == [4, 7, 0.5]
    assert first_world(tmp_path, "joint_qd", text, ("bodies.box.velocity.linear=[5, 0, 6]",)).tolist() == [5, 6, 0]


# Every kind of reader, and of number without one.
READ = """simcli: 1
params: {k: 2, lone: 3, hidden: 0, limit: 5, late: 0.1}
materials: {steel: {friction: 0.3}, wood: {friction: 0.5, combine: {friction: max}}, never: {friction: 0.1}}
world: {gravity: [0, 0, 0], shapes: {ground: {type: plane, material: wood}}}
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [0, 0, 1]},
      shapes: {s: {type: sphere, radius: 0.5, material: steel, margin: 0.001},
               t: {type: sphere, radius: 0.1, material: steel}}}
  b: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [5, 0, 1]},
      shapes: {s: {type: sphere, radius: 0.5, material: never, collide: false, margin: 0.002}}}
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}, pose: {xyz: [9, 0, 9]}}
  bob: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}, pose: {xyz: [9, 9, 9]}}
  bar: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}, pose: {xyz: [9, 9, 19]}}
joints:
  pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0], q: 0.3, damping: "${k + 0*hidden}", friction: 0.1}
  late: {type: revolute, parent: world, child: bob, axis: [0, 1, 0], damping: 0.1, enabled: false}
  never: {type: revolute, parent: world, child: bar, axis: [0, 1, 0], damping: 0.1, enabled: false}
initial: {joint_q: {pin: 0.4}}
contact: {pairs: [{a: a/s, b: ground, friction: 0.4}]}
signals: {u: {constant: 1}, w: {constant: 2}, base: {constant: 3}, seen: {expression: "{signal.base} + 1"}}
forces:
  f: {type: wrench, body: a, force: [0, $seen, $w]}
events:
  - {at: 0, set: {joints.pin.friction: 0.2}}
  - {at: 0.05, set: {joints.late.enabled: true, joints.pin.armature: "${late}"}}
expect: [{max: joint.pin.q, below: "${limit}"}]
run: {duration: 0.1}
"""
UNREAD = (
    "params.lone",
    "materials.never.friction",
    "bodies.b.shapes.s.margin",
    "bodies.b.shapes.s.radius",
    "signals.u.constant",
    "joints.pin.friction",
    "joints.never.damping",
)
HAS_READER = (
    "params.k",
    "params.hidden",
    "params.limit",
    "params.late",
    "materials.steel.friction",
    "materials.wood.friction",
    "joints.pin.q",
    "bodies.a.shapes.s.margin",
    "contact.pairs[0].friction",
    "signals.w.constant",
    "signals.base.constant",
    "initial.joint_q.pin",
    "joints.late.damping",
    "bodies.b.mass",
    "world.gravity[2]",
)


@pytest.mark.parametrize("varied", [True, False])
def test_a_path_that_nothing_reads_is_refused_where_it_varies_and_told_where_it_is_set(tmp_path, varied):
    """By who reads it: equal values of a path that something reads pass, and different ones of another do not."""
    (tmp_path / "s.yaml").write_text(READ)
    document = load_document(tmp_path / "s.yaml")
    spec = resolve(document)
    found = unread_paths(document, spec, (*UNREAD, *HAS_READER), typed=not varied)
    assert sorted(found) == sorted(UNREAD)


def test_where_it_is_refused_and_told(tmp_path):
    (tmp_path / "s.yaml").write_text(READ)
    starts = ("joints.pin.q=0.2", "initial.joint_q.pin=0.3")  # of which the second holds
    assert [line.split(":")[0] for line in unread_sets(*read_scene(tmp_path / "s.yaml", starts))] == ["--set joints.pin.q"]
    varied = (starts[0], Override(VARY, "initial.joint_q.pin=0.2, 0.3"))
    assert [line.split(":")[0] for line in unread_sets(*read_scene(tmp_path / "s.yaml", varied))] == ["--set joints.pin.q"]
    document, spec = read_scene(tmp_path / "s.yaml", ("materials.never.friction=0.2", "materials.steel.friction=0.2"))
    assert [line.split(":")[0] for line in unread_sets(document, spec)] == ["--set materials.never.friction"]
    with pytest.warns(UserWarning, match="materials.never.friction"):
        build_run(document, spec)
    varied = (Override(VARY, "joints.pin.friction=0.2, 0.3"), Override(VARY, "params.k=2, 2"))
    document, spec = read_scene(tmp_path / "s.yaml", varied)
    assert [fault.code for fault in unread_varied(document, spec)] == ["SC317"]
    with pytest.raises(SceneError, match=r"joints\.pin\.friction"):
        build_run(document, spec)


def test_a_sweep_refuses_what_none_of_its_cases_reads(tmp_path):
    from simcli.sweeps.records.plan import plan_of

    (tmp_path / "s.yaml").write_text(READ)
    text = "sweep: 1\nscene: s.yaml\nchoices: {joints.never.enabled: [false, true]}\nvary: {PATH: {grid: [0.1, 0.2]}}\n"
    for path, is_read in (("joints.never.damping", True), ("signals.u.constant", False)):
        (tmp_path / "sweep.yaml").write_text(text.replace("PATH", path))
        if is_read:
            assert len(plan_of(tmp_path / "sweep.yaml", device="cpu").cases) == 4
        else:
            with pytest.raises(SceneError, match="SC317"):
                plan_of(tmp_path / "sweep.yaml", device="cpu")


def test_worlds_have_their_own_events_and_expectations(tmp_path):
    """Parameters that expressions of events and expectations use: each world with its own number."""
    from simcli.job import Request
    from simcli.pipeline import execute, prepare

    (tmp_path / "s.yaml").write_text(READ)
    sets = (Override(VARY, "params.limit=0.1, 5"), Override(VARY, "params.late=0.1, 0.2"))
    job = prepare(Request(tmp_path / "s.yaml", tmp_path / "o.h5", sets, "cpu", 1))
    dof = job.model.joints.qd_start[job.model.joints.name.index("pin")]
    assert job.phases[-1].model.dofs.armature[:, dof].tolist() == [0.1, 0.2, 0.1, 0.2]
    (verdict,) = execute(job).verdicts
    assert verdict.failed_worlds == (0, 1)
    assert verdict.expected == "< 0.1"


def test_worlds_have_their_own_numbers_in_events_by_condition(tmp_path):
    text = """simcli: 1
params: {d: 1}
bodies: {rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}}}
joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0], q: 0.3, drive: {mode: effort, target: 0.1}}}
events: [{when: {joint.pin.q: {below: 0.29}}, set: {joints.pin.drive.target: "${d}"}}]
"""
    (tmp_path / "s.yaml").write_text(text)
    varied, set_to = ([Override(VARY, "params.d=2, 5")], ["params.d=5"])
    gains = [build_run(*read_scene(tmp_path / "s.yaml", one), None)[0].model.inputs.gain for one in (varied, set_to)]
    np.testing.assert_allclose(gains[0], [[1.9], [4.9]], rtol=1e-15)
    np.testing.assert_array_equal(gains[0][1], gains[1][0])


@pytest.mark.parametrize("path", ["params.t", "params.first", "measure.early.above"])
def test_what_all_worlds_share_does_not_vary(tmp_path, path):
    text = READ.replace("params: {", "params: {t: 0.05, first: 0.2, ").replace("at: 0.05", 'at: "${t}"')
    text += 'measure: {early: {first: joint.pin.q, above: "${first}"}}\n'
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(SceneError, match="SC317"):
        read_scene(tmp_path / "s.yaml", (Override(VARY, f"{path}=0.05, 0.06"),))


PRESCRIBED = (
    {"p": {"pose": {"xyz": [0.5, 20, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.1, 0.1]}}},
    {
        "p_rail": {"type": "prismatic", "parent": "world", "child": "p", "at": [0, 20, 0], "axis": [1, 0, 0]},
        "p_lead": {
            "type": "prismatic",
            "parent": "world",
            "child": "p",
            "at": [0, 20, 0],
            "axis": [0.8, 0, 0.6],
            "loop": True,
        },
    },
)


def test_unwritten_coordinates_close_the_loop():
    """The written coordinate and rate stand to the last bit, the others follow; what moved is told."""
    model = built(together(OPEN))
    assert model.joint_q[0, 0] == 0.3
    assert model.joint_qd[0, 0] == 2.0
    J, gap = dense_rows(model)
    assert np.abs(gap).max() < ROUNDING
    assert np.abs(J @ model.joint_qd[0]).max() < ROUNDING
    told = [(model.joints.name[move.joint], move.is_written) for move in model.start.moves]
    assert told == [("o1_pin", False), ("o2_pin", False)]


def crowded(**more):
    """A four-bar with all its coordinates written, to three digits."""
    parts, joints = four_bar("k", 0)
    for name, q in (("k0_pin", 0.1), ("k1_pin", -0.05), ("k2_pin", 0.12)):
        joints[name]["q"] = q
    return together((parts, joints), **more)


def test_written_coordinates_move_only_if_they_must_and_it_is_said(tmp_path):
    """One is held, as many as the loop has freedoms; `check` warns of the others at their lines, a run on stderr and in its
    JSON, and /events has them."""
    model = built(crowded())
    moves = {model.joints.name[move.joint]: move for move in model.start.moves}
    assert set(moves) == {"k1_pin", "k2_pin"}
    assert all(move.is_written for move in moves.values())
    assert model.joint_q[0, 0] == 0.1
    assert moves["k1_pin"].before == (-0.05,)
    assert moves["k1_pin"].after == tuple(model.joint_q[0, 1:2])
    assert all("no degree of freedom beside `k0_pin`" in move.reason for move in moves.values())
    assert np.abs(dense_rows(model)[1]).max() < ROUNDING
    path = tmp_path / "k.yaml"
    path.write_text("simcli: 1\n" + crowded())
    checked = command("check", path)
    assert checked.returncode == 0
    assert checked.stderr.count("warning[SC616]") == 2
    assert command("check", "--strict", path).returncode == 1
    ran = command("run", path, "-o", tmp_path / "k.h5", "--json")
    assert ran.returncode == 0
    assert "loops closed at the start: `k1_pin` from -0.05 to " in ran.stderr
    told = json.loads(ran.stdout)["moved_at_start"]
    assert [one["joint"] for one in told] == ["k1_pin", "k2_pin"]
    with simcli.open(tmp_path / "k.h5") as run:
        events = [event for event in run.events if event.code == "SC616"]
        np.testing.assert_allclose(run.joint("k0_pin").q[0, 0], model.joint_q[0, :1], atol=ROUNDING, rtol=0)
    assert [(event.severity, event.world, event.step) for event in events] == [(1, 0, 0)] * 2


def test_a_batch_tells_every_world_in_which_a_written_coordinate_moved():
    """And of joints of which nothing is written the one where it moved farthest."""
    vary = {"joints.k0_pin.q": {"list": [0.0, 0.2, 0.0, 0.7]}, "joints.k1_pin.q": {"list": [0.0, -0.05, 0.0, -0.05]}}
    parts, joints = four_bar("k", 0, q=0)
    joints["k1_pin"]["q"] = 0
    model = built(together((parts, joints), batch={"worlds": 4, "vary": vary}))
    moves = [(model.joints.name[move.joint], move.world, move.n_worlds, move.is_written) for move in model.start.moves]
    assert moves == [("k1_pin", 1, 2, True), ("k1_pin", 3, 2, True), ("k2_pin", 3, 2, False)]


def test_an_open_drawing_is_closed_by_the_least_motion():
    """In the mass matrix of the drawing: along the way that the loop leaves, nothing is gained."""
    parts, joints = four_bar("k", 0)
    joints["k_close"] |= {"parent_frame": {"xyz": [0.45, 0, 0.13]}, "child_frame": {"xyz": [-0.05, 0, 0.25]}}
    joints["k_close"].pop("at")
    drawn, model = built(together((parts, joints), initial={"joint_q": {}})), built(together((parts, joints)))
    step = model.joint_q[0, :3]
    assert np.abs(step).min() > 1e-3
    assert np.abs(dense_rows(model)[1]).max() < ROUNDING
    tangent = np.linalg.svd(dense_rows(model)[0][:, :3])[2][-1]
    M = dense_mass(replace(drawn, joint_q=np.zeros_like(drawn.joint_q)))[:3, :3]
    assert abs(tangent @ M @ step) < 1e-5 * np.sqrt((tangent @ M @ tangent) * (step @ M @ step))


@pytest.mark.parametrize("solver", sorted(JOINT_ENERGIES))
def test_without_assembly_what_joint_energies_pull_together_begins_as_written(solver):
    """Also where rates open a loop; nothing moves, and nothing is lacked."""
    for text in (crowded, lambda **more: together(four_bar("k", 0, qd=1), **more)):
        model = built(text(solver={"type": solver, "dt": 1e-3}, initial={"assemble": False}))
        written = built(text(solver={"type": solver, "dt": 1e-3}))
        assert model.start.moves == model.start.faults == ()
        assert not np.array_equal(model.joint_q, written.joint_q) or not np.array_equal(model.joint_qd, written.joint_qd)


@pytest.mark.parametrize("solver", [name for name in INTEGRATORS if name not in JOINT_ENERGIES])
def test_without_assembly_gaps_are_refused(solver):
    """By joint, line and size, in every solver of rigid joints; rates too. What is closed stands to the last bit."""
    options = {"type": solver, "dt": 1e-3}
    faults = faults_of(crowded(solver=options, initial={"assemble": False}))
    assert [code for code, _, _ in faults] == ["SC476"]
    line = crowded(solver=options).split("\n").index("  k_close:")
    assert faults[0][1] == line
    assert faults[0][2].startswith("joint `k_close` is open by 0.0")
    slips = faults_of(together(four_bar("k", 0, qd=1), solver=options, initial={"assemble": False}))
    assert [(code, text.startswith("the velocities open joint `k_close`")) for code, _, text in slips] == [("SC476", True)]
    model = built(together(four_bar("k", 0), solver=options, initial={"assemble": False}))
    assert not model.joint_q.any()
    assert model.start.moves == model.start.faults == ()


def test_a_gap_just_above_the_bound_is_refused_and_one_below_stands():
    """1e-9 m divides them."""
    for shift, codes in ((5e-10, []), (2e-9, ["SC476"])):
        parts, joints = copy.deepcopy(PRESCRIBED)
        joints["p_lead"] = {
            "type": "revolute",
            "parent": "world",
            "child": "p",
            "parent_frame": {"xyz": [0.5, 20, shift]},
            "child_frame": {},
            "axis": [0, 1, 0],
            "loop": True,
        }
        faults = faults_of(together((parts, joints), initial={"assemble": False}))
        assert [code for code, _, _ in faults] == codes
        assert all(f"{shift:.3g} m" in text for _, _, text in faults)


TURNED = {angle: [0.0, float(np.sin(angle / 2)), 0.0, float(np.cos(angle / 2))] for angle in (0.6, 0.7)}
LIMITED = {
    "hinge": ({"type": "revolute", "axis": [0, 1, 0], "q": 0.5, "limit": [-0.2, 0.2]}, "[-0.2, 0.2] rad", 0.2),
    "slide": ({"type": "prismatic", "axis": [0, 1, 0], "limit": [0.1, 0.2]}, "[0.1, 0.2] m", 0.1),
    "screw": ({"type": "screw", "axis": [0, 1, 0], "pitch": 0.1, "q": -9, "limit": [-7, 7]}, "[-7, 7] rad", -7),
    "universal": (
        {"type": "universal", "axes": {"angular": [[1, 0, 0], [0, 1, 0]]}, "q": [0, 0.4], "limit": [[-1, 1], [-0.3, 0.3]]},
        "[-0.3, 0.3] rad",
        [0, 0.3],
    ),
    "ball": ({"type": "ball", "q": TURNED[0.7], "limit": [[-1, 1], [-0.6, 0.6], [-1, 1]]}, "[-0.6, 0.6] rad", TURNED[0.6]),
}


@pytest.mark.parametrize("solver", INTEGRATORS)
@pytest.mark.parametrize("name", LIMITED)
def test_a_start_outside_a_hard_limit_is_refused(solver, name):
    """By joint, value and limit, in every solver; at the limit, or with a soft limit, a run may begin."""
    joint, bounds, inside = LIMITED[name]
    parts = {"a": {"pose": {"xyz": [1, 0, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.2, 0.3]}}}

    def faults(**more):
        whole = {"j": {"parent": "world", "child": "a", "at": [0, 0, 0], **joint, **more}}
        return faults_of(together((parts, whole), solver={"type": solver, "dt": 1e-3}))

    found = faults()
    if [code for code, _, _ in found] == ["SC501"]:
        return  # this solver has no such limit
    assert [code for code, _, _ in found] == ["SC477"]
    assert found[0][2].startswith("joint `j")
    assert found[0][2].endswith(f"outside its limit {bounds}")
    assert faults(q=inside) == []
    if name in ("hinge", "slide"):
        lower, upper = joint["limit"]
        assert faults(limit={"lower": lower, "upper": upper, "stiffness": 100}) == []


def test_limits_hold_after_closing_and_on_joints_that_close():
    """A follower that closing leads beyond its limit; a length; the coordinate of a loop joint."""
    parts, joints = copy.deepcopy(OPEN)
    joints["o2_pin"]["limit"] = [-0.05, 0.05]
    assert [code for code, _, _ in faults_of(together((parts, joints)))] == ["SC477"]
    joints["o2_pin"].pop("limit")
    joints["o_close"]["limit"] = [-0.05, 0.05]
    assert [code for code, _, _ in faults_of(together((parts, joints)))] == ["SC477"]
    parts, joints = copy.deepcopy(PARTS["rods"])
    joints["d_rod"] |= {"limit": [0.1, 0.5]}
    joints["d_rod"].pop("length")
    found = faults_of(together((parts, joints)))
    assert [code for code, _, _ in found] == ["SC477"]
    assert "begins at 1.07703 m" in found[0][2]


HELD = {  # what holds or leads two hinges: the joint with its limits, code and place and end of the message, if any
    "a sum": ({}, {"of": [{"joint": "a"}, {"joint": "b"}], "hold": 1}, ("forces.c.hold", "is between -0.4 and 0.4")),
    "a sum beyond": (
        {},
        {"of": [{"joint": "a"}, {"joint": "b", "factor": -2}], "hold": -0.7},
        ("forces.c.hold", "is between -0.6 and 0.6"),
    ),
    "one": ({}, {"of": [{"joint": "a"}], "hold": 0.5}, ("forces.c.hold", "is between -0.2 and 0.2")),
    "a square": (
        {"q": 0.1},
        {"of": [{"joint": "a", "polynomial": [0.1, 0, 1]}], "hold": 0.2},
        ("forces.c.hold", "is between 0.1 and 0.14"),
    ),
    "a square of a free joint": (
        {"limit": None},
        {"of": [{"joint": "a", "polynomial": [0.1, 0, -1]}, {"joint": "b"}], "hold": 1},
        ("forces.c.hold", "is at most 0.3"),
    ),
    "a sum within": ({}, {"of": [{"joint": "a"}, {"joint": "b"}], "hold": 0.3}, None),
    "a gear": (
        {"mimic": {"joint": "b", "offset": 0.5}},
        None,
        ("joints.a.mimic", "between 0.3 and 0.7, outside its own limit [-0.2, 0.2]"),
    ),
    "a gear within": (
        {"mimic": {"joint": "b", "offset": 0.3}},
        None,
        ("joints.a.limit", "begins at 0.3 rad, outside its limit [-0.2, 0.2] rad"),
    ),
}


@pytest.mark.parametrize("name", HELD)
def test_what_limits_leave_no_room_is_named(tmp_path, name):
    """A sum that is held, a gear: not the joints, which could begin nowhere else; and what to do is what helps."""
    more, coupling, wanted = HELD[name]
    mass = {"mass": 1, "inertia": {"diag": [0.1, 0.2, 0.3]}}
    parts = {"p": {"pose": {"xyz": [1, 0, 0]}, **mass}, "q": {"pose": {"xyz": [3, 0, 0]}, **mass}}
    first, second = (hinge("world", one, x, 0, 0, limit=[-0.2, 0.2]) for one, x in (("p", 0), ("q", 2)))
    joints = {"a": first | more, "b": second}
    forces = {} if coupling is None else {"forces": {"c": {"type": "coupling", **coupling}}}
    path = tmp_path / "held.yaml"
    path.write_text("simcli: 1\n" + together((parts, joints), **forces))
    try:
        build_model(*read_scene(path))
    except SceneError as error:
        faults = error.faults
    else:
        faults = []
    assert [(one.code, one.where.path) for one in faults] == ([] if wanted is None else [("SC477", wanted[0])])
    assert all(one.message.endswith(wanted[1]) for one in faults)
    helps = "follows `b`: change the initial value of that joint" if name == "a gear within" else "widen the limit"
    assert all(helps in one.hint for one in faults)


def test_worlds_that_cannot_begin_end_at_once(tmp_path):
    """In a batch they are named, with their reason, and the others go on; if none can begin, there is no file."""
    parts = {"a": {"pose": {"xyz": [1, 0, 0]}, "mass": 1, "inertia": {"diag": [0.1, 0.2, 0.3]}}}
    joint = {"j": hinge("world", "a", 0, 0, 0, q=0, limit=[-0.2, 0.2])}
    path = tmp_path / "b.yaml"

    def run(values, name):
        batch = {"worlds": 3, "vary": {"joints.j.q": {"list": values}}}
        path.write_text("simcli: 1\n" + together((parts, joint), batch=batch))
        return command("run", path, "-o", tmp_path / name)

    ran = run([0.1, 0.5, 0.2], "some.h5")
    assert ran.returncode == 4
    assert "joint `j` begins at 0.5 rad, outside its limit [-0.2, 0.2] rad" in " ".join(ran.stderr.split())
    with simcli.open(tmp_path / "some.h5") as found:
        assert [(event.world, event.code, event.step) for event in found.events] == [(1, "SC477", 0)]
        assert np.isnan(found.joint("j").q[:, 1]).all()
        assert np.isfinite(found.joint("j").q[:, [0, 2]]).all()
    ran = run([0.3, 0.5, -0.4], "none.h5")
    assert ran.returncode == 3
    assert "error[SC477]" in ran.stderr
    assert not (tmp_path / "none.h5").exists()
