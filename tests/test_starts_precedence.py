"""Where a run begins: one order of all that speaks of it. Paths that nothing reads: refused where they vary."""

import itertools

import numpy as np
import pytest

from simcli.errors import SceneError
from simcli.model import build_worlds
from simcli.model.unread import unread_paths, unread_sets, unread_varied
from simcli.pipeline import read_scene
from simcli.pipeline.scenes import build_run
from simcli.spec import resolve, resolved_yaml
from simcli.spec.document.overrides import VARY, Override
from simcli.spec.document.scene_file import load_document
from simcli.spec.expansion.starts import STATES

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
@pytest.mark.parametrize("who", [pair for pair in itertools.combinations(SPEAKERS, 2) if pair != ("batch", "set")],
                         ids="-".join)  # fmt: skip
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
        (("bodies.box.pose.xyz=[7, 8, 9]", "bodies.box.velocity.angular=[0, 0, 1]"),
         [7, 8, 9, 0, 0, 0.6, 0.8], [1, 2, 3, 0, 0, 1]),
        (("bodies.box.pose.quat_xyzw=[0, 0, 1, 0]",), [4, 5, 6, 0, 0, 1, 0], [1, 2, 3, 4, 5, 6]),
        (("bodies.box.velocity.linear[1]=9",), [4, 5, 6, 0, 0, 0.6, 0.8], [1, 9, 3, 4, 5, 6]),
    ):  # fmt: skip
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
UNREAD = ("params.lone", "materials.never.friction", "bodies.b.shapes.s.margin", "bodies.b.shapes.s.radius",
          "signals.u.constant", "joints.pin.friction", "joints.never.damping")  # fmt: skip
HAS_READER = ("params.k", "params.hidden", "params.limit", "params.late", "materials.steel.friction",
              "materials.wood.friction", "joints.pin.q",
              "bodies.a.shapes.s.margin", "contact.pairs[0].friction", "signals.w.constant",
              "signals.base.constant", "initial.joint_q.pin", "joints.late.damping", "bodies.b.mass",
              "world.gravity[2]")  # fmt: skip


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
    from simcli.sweeps.planning.plan import plan_of

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
