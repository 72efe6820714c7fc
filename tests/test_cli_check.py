"""`simcli check`, `show`, `explain`, `schema`: what they say of good and broken scenes, and what they do not import.

Paths that nothing reads, judged by who reads them: refused wherever they vary, told where `--set` says them.
"""

import json
import os
import re

import h5py
import pytest
from support.analysis_files import record
from support.process import python, simcli, simcli_apart

import simcli as simcli_of_unread
from simcli.errors import Exit, SceneError, SimcliWarning, UsageError
from simcli.model.unread import unread_paths, unread_sets
from simcli.pipeline import build_model, read_scene
from simcli.pipeline.scenes import build_run
from simcli.records.contents.provenance import sha256
from simcli.search.free_numbers import free_numbers
from simcli.search.intervals import read_intervals, read_single
from simcli.spec import document_of_text, load_held, resolve, resolved_yaml, warnings
from simcli.spec.base.old_keys import OLD_KEYS
from simcli.spec.document.overrides import SET, VARY, VARY_TABLE, Override
from simcli.spec.document.renewal import renewed_text
from simcli.spec.document.scene_file import HeldScene
from simcli.spec.loading import load_document
from simcli.spec.lookup.json_schema import scene_schema
from simcli.spec.lookup.keys import parts_at
from simcli.sweeps.records.plan import plan_of

GOOD = """simcli: 1
bodies:
  crank: {mass: 1.0, inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  pin: {type: revolute, parent: world, child: crank, axis: [0, 1, 0], damping: 0.1}
"""
BROKEN = """simcli: 1
bodies:
  crank:
    mas: 1.0
    inertia: {diag: [0.1, 0.1, 0.1]}
joints:
  pin: {type: revolute, parent: world, child: crnk, axis: [0, 1, 0]}
"""
GOLDEN = """error[SC204]: unknown key `mas` in body `crank`
 --> broken.yaml:4:5
  |
4 |     mas: 1.0
  |     ^^^ did you mean `mass`?
  = help: simcli explain SC204
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "broken.yaml").write_text(BROKEN)
    (tmp_path / "materials.yaml").write_text("materials: {steel: {density: 7850}}\n")  # a fragment, no scene
    return tmp_path


def test_good_scene_is_exit_0(folder):
    done = simcli_apart("check", "good.yaml", cwd=folder)
    assert (done.returncode, done.stderr) == (Exit.OK, "")
    assert done.stdout == "good.yaml: ok (1 body, 1 joint, generalized)\n"


ELSEWHERE = "crank: {pose: {xyz: [0, 0, -0.5]}, mass: 1.0"
BARE = "crank: {mass: 1.0, inertia: {diag: [0.1, 0.1, 0.1]}"
SHAPED = "crank: {pose: {xyz: [0, 0, -0.5]}"
_BALL = "{{type: sphere, radius: 0.1, density: {}, pose: {{xyz: [{}, 0, 0]}}}}"
TWINS, UNEQUAL = (
    f"{SHAPED}, shapes: {{a: {_BALL.format(1000, 0.2)}, b: {_BALL.format(*other)}}}" for other in ((1000, -0.2), (500, -0.4))
)
NOTED = {
    "a hinge without a place": ("crank: {mass: 1.0", ELSEWHERE, "SC328", "the origin of `crank`, its centre of mass"),
    "a hinge amid two shapes": (BARE, TWINS, "SC328", "the origin of `crank`, its centre of mass"),
    "a hinge amid two shapes by weight": (BARE, UNEQUAL, "SC328", "the origin of `crank`"),
    "a start in degrees": ("axis:", "q: 30, axis:", "SC329", "write `30 deg`"),
    "a limit in degrees": ("axis:", "limit: [-90, 90], axis:", "SC329", "write `-90 deg`"),
    "a target in degrees": ("axis:", "drive: {mode: position, target: 45, stiffness: 9}, axis:", "SC329", "write `45 deg`"),
    "a start in whole degrees": ("axis:", "q: 355, axis:", "SC329", "355 rad, 56.50 turns"),  # near 113 pi as well
    "a start of some degrees": ("axis:", "q: 7.5, axis:", "SC329", "write `7.5 deg`"),
    "a default without a taker": (
        "joints:",
        "defaults: {joint: {type: revolute, damping: 1}}\njoints:",
        "SC330",
        "this `type` is taken by no joint",
    ),
    "a default beside a joint that cannot have it": (
        "joints:",
        "  base: {mass: 1, inertia: {diag: [1, 1, 1]}}\ndefaults: {joint: {damping: 1}}\njoints:\n"
        "  held: {type: fixed, parent: world, child: base}",
        "SC330",
        "this `damping` is taken by no joint",
    ),
    "a start elsewhere": ("joints:", "initial: {joint_q: {pin: 30}}\njoints:", "SC329", "write `30 deg`"),
}
UNNOTED = {
    "a default with a taker": ("joints:", "defaults: {joint: {friction: 0.1}, body: {com: [0, 0, 0]}}\njoints:"),
    "radians": ("axis:", "q: 30 rad, axis:"),
    "a turn": ("axis:", "q: -6.28, axis:"),
    "turns of a robot": ("axis:", "limit: [-6.28318530718, 6.2832], axis:"),
    "degrees of a robot": ("axis:", "limit: [-6.98132, 12.5664], axis:"),
    "no end": ("axis:", "limit: [-1e9, 1e9], axis:"),
    "degrees": ("axis:", "q: 30 deg, axis:"),
    "a parameter": ("joints:", 'params: {a: 720 deg}\ninitial: {joint_q: {pin: "${a}"}}\njoints:'),
    "a torque": ("axis:", "drive: {mode: effort, target: 45}, axis:"),
    "a place": ("axis:", "at: [0, 0, 0], axis:"),
    "a frame": ("axis:", "parent_frame: {xyz: [0, 0, -0.5]}, axis:"),
    "a lever by weight": (BARE, UNEQUAL.replace("-0.4", "-0.3")),
    "a lever": ("mass: 1.0", "pose: {xyz: [0, 0, 1]}, com: [0, 0, -0.5], mass: 1.0"),
    "a slide": ("revolute", "prismatic"),
    "a slide far off": ("revolute, parent: world, child: crank", "prismatic, parent: world, child: crank, q: 30"),
}


@pytest.mark.parametrize("case", NOTED)
def test_what_may_be_meant_otherwise_is_noted(tmp_path, case):
    """And the scene is as valid as before."""
    old, new, code, words = NOTED[case]
    (tmp_path / "scene.yaml").write_text(GOOD.replace(old, new))
    done = simcli("check", "--strict", "scene.yaml", cwd=tmp_path)
    assert (done.returncode, "scene.yaml: ok" in done.stdout) == (Exit.OK, True)
    assert f"note[{code}]" in done.stderr
    assert words in done.stderr
    if case in ("a hinge without a place", "a start in degrees"):
        done = simcli("run", "scene.yaml", "--duration", "0.01", cwd=tmp_path)
        assert done.returncode == Exit.OK
        assert re.search(rf"note: scene.yaml:\d+.*{words}", done.stderr)


@pytest.mark.parametrize("case", UNNOTED)
def test_what_is_clear_is_not_noted(tmp_path, case):
    text = GOOD.replace(*UNNOTED[case])
    if case in ("a place", "a frame", "a slide", "a slide far off"):
        text = text.replace("crank: {mass: 1.0", ELSEWHERE)
    (tmp_path / "scene.yaml").write_text(text)
    done = simcli("check", "scene.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (Exit.OK, "")


def test_fault_looks_like_the_page_says(folder):
    done = simcli("check", "broken.yaml", cwd=folder)
    assert done.returncode == Exit.NEGATIVE
    assert done.stdout == ""
    assert GOLDEN in done.stderr
    assert "broken.yaml:7:47" in done.stderr  # all faults at once, the reference too
    assert "did you mean `crank`?" in done.stderr


def test_folder_takes_scenes_and_leaves_fragments(folder):
    done = simcli("check", ".", "--json", cwd=folder)
    assert done.returncode == Exit.NEGATIVE
    document = json.loads(done.stdout)
    assert not document["ok"]
    assert [entry["path"] for entry in document["files"]] == ["broken.yaml", "good.yaml"]
    first = document["files"][0]["faults"][0]
    assert (first["code"], first["line"], first["column"], first["length"]) == ("SC204", 4, 5, 3)


def test_sarif_has_the_place_of_each_fault(folder):
    done = simcli("check", "broken.yaml", "--format", "sarif", cwd=folder)
    assert done.returncode == Exit.NEGATIVE
    document = json.loads(done.stdout)
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert run["tool"]["driver"]["name"] == "simcli"
    first = run["results"][0]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"] == "SC204"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "broken.yaml"
    assert place["region"] == {"startLine": 4, "startColumn": 5, "endColumn": 8}


def test_nothing_to_check_is_wrong_usage(tmp_path):
    assert simcli("check", tmp_path).returncode == Exit.USAGE
    assert simcli("check", tmp_path / "none.yaml").returncode == Exit.USAGE


def test_outputs_are_checked_too(tmp_path):
    with record(tmp_path / "good.h5", 8, 2, lambda columns: None):
        pass
    done = simcli("check", "good.h5", cwd=tmp_path)
    assert done.returncode == Exit.OK, done.stderr
    assert "8 frames, 2 worlds, done" in done.stdout
    data = bytearray((tmp_path / "good.h5").read_bytes())
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "flipped.h5").write_bytes(data[: 3 * len(data) // 4])
    (tmp_path / "foreign.h5").write_text("hello")
    for name in ("flipped.h5", "foreign.h5"):
        done = simcli("check", name, cwd=tmp_path)
        assert done.returncode == Exit.NEGATIVE
        assert name in done.stderr
        assert "Traceback" not in done.stderr


def test_damaged_output_is_exit_7_elsewhere(tmp_path):
    (tmp_path / "foreign.h5").write_text("hello")
    for command in ("info", "plot", "export"):
        done = simcli(command, "foreign.h5", "--json", cwd=tmp_path)
        assert done.returncode == Exit.FILE
        assert json.loads(done.stdout)["exit_code"] == Exit.FILE
        assert "Traceback" not in done.stderr


def test_check_starts_neither_taichi_nor_hdf5(folder):
    code = (
        "import sys\n"
        "from simcli.cli.process import run_command\n"
        "assert run_command(['check', 'good.yaml'], debug=True, as_json=False) == 0\n"
        "print(sorted({'taichi', 'h5py', 'matplotlib', 'rich'} & set(sys.modules)))\n"
    )
    assert python(code, cwd=folder).splitlines()[-1] == "[]"


def test_a_command_imports_no_other_command(folder):
    code = (
        "import sys\n"
        "from simcli.cli.process import run_command\n"
        "run_command(['check', 'good.yaml'], debug=True, as_json=False)\n"
        "print(*sorted(name for name in sys.modules if name.startswith('simcli.cli.')))\n"
    )
    loaded = set(python(code, cwd=folder).splitlines()[-1].split())
    assert {f"simcli.cli.{name}" for name in ("runs.bench", "runs.run", "results.plot", "scenes.doctor")} & loaded == set()


def test_check_makes_the_validators_of_what_is_written_only(folder):
    (folder / "spring.yaml").write_text(
        GOOD + "forces: {s: {type: spring, a: {world: [1, 0, 0]}, b: {body: crank, at: [0, 0, 0]}, stiffness: 5}}\n"
    )
    code = (
        "from simcli.spec import check_scene\n"
        "from simcli.spec.values.spec_model import SpecModel\n"
        "def parts(of):\n"
        "    return [part for below in of.__subclasses__() for part in (below, *parts(below))]\n"
        "for name in ('good.yaml', 'spring.yaml'):\n"
        "    check_scene(name)\n"
        "    print(*(part.__name__ for part in parts(SpecModel) if part.__pydantic_complete__))\n"
    )
    good, spring = (set(line.split()) for line in python(code, cwd=folder).splitlines())
    assert {"SceneSpec", "BodySpec", "JointSpec", "GeneralizedSolver"} <= good
    assert not good & {"BoxShape", "SpringForce", "WrenchForce", "SignalSpec", "NaturalSolver", "DrivingSpec", "VarySpec"}
    assert spring - good == {"SpringForce", "EndSpec"}


def test_show_says_tree_layout_and_freedom(folder):
    done = simcli("show", "good.yaml", cwd=folder)
    assert done.returncode == Exit.OK, done.stderr
    for word in ("pin (revolute) -> crank", "joint_q (1)", "joint_qd (1)", "dof 1"):
        assert word in done.stdout
    document = json.loads(simcli("show", "good.yaml", "--dof", "--json", cwd=folder).stdout)
    assert document["dof"]["dof"] == 1
    assert "tree" not in document


@pytest.mark.parametrize("events", ["", "events: [{at: 0.5, set: {joints.pin.damping: 1}}]\n"])
def test_show_names_loops_that_the_solver_cannot_run(folder, events):
    again = "  again: {type: revolute, parent: world, child: crank, axis: [0, 1, 0], friction: 1}"
    loop = f"{GOOD}{again}\nsolver: {{type: natural, integrator: generalized_alpha}}\n{events}"
    (folder / "loop.yaml").write_text(loop)
    assert simcli("check", "loop.yaml", cwd=folder).returncode == Exit.NEGATIVE
    done = simcli("show", "loop.yaml", "--json", cwd=folder)
    assert done.returncode == Exit.OK, done.stderr
    assert "SC501" in done.stderr
    document = json.loads(done.stdout)
    assert [entry["joint"] for entry in document["loops"]] == ["again"]
    assert document["dof"]["redundant"][0]["rows"] == 5


def test_resolved_scene_is_a_scene(folder):
    done = simcli("show", "good.yaml", "--resolved", "--set", "joints.pin.q=90 deg", cwd=folder)
    assert done.returncode == Exit.OK, done.stderr
    (folder / "again.yaml").write_text(done.stdout)
    assert simcli("check", "again.yaml", cwd=folder).returncode == Exit.OK
    assert "1.5707963267948966" in done.stdout


def test_every_code_of_a_fault_has_a_page(folder):
    faults = json.loads(simcli("check", "broken.yaml", "--json", cwd=folder).stdout)["files"][0]["faults"]
    for fault in faults:
        done = simcli("explain", fault["code"])
        assert done.returncode == Exit.OK
        assert fault["code"] in done.stdout


def test_explain_lists_codes_and_takes_lower_case():
    listed = json.loads(simcli("explain", "--list", "--json").stdout)["codes"]
    assert {"SC204", "SC601", "SC701"} <= {entry["code"] for entry in listed}
    assert simcli("explain", "sc204").stdout == simcli("explain", "SC204").stdout


def test_schema_is_a_json_schema(tmp_path):
    document = json.loads(simcli("schema").stdout)
    assert document["type"] == "object"
    assert {"bodies", "joints", "solver"} <= set(document["properties"])
    assert simcli("schema", "-o", "scene.json", cwd=tmp_path).returncode == Exit.OK
    assert json.loads((tmp_path / "scene.json").read_text()) == document


@pytest.mark.parametrize(
    ("angles", "wanted"),
    [
        ([0.1, 0.2, 0.9, 0.3, 1.1], "2 of 5 worlds cannot start; the first is world 2, with joints.pin.q = 0.9 rad"),
        ([1.3, 0.2], "1 of 2 worlds cannot start; the first is world 0, with joints.pin.q = 1.3 rad: joint"),
        ([1.3, 1.2], "error[SC477]"),
        ([0.1, 0.2], ""),
    ],
)
def test_check_tells_which_worlds_cannot_begin(tmp_path, angles, wanted):
    text = GOOD.replace("damping: 0.1", f"limit: [-0.5, 0.5]}}\nbatch: {{vary: {{joints.pin.q: {{list: {angles}}}}}")
    (tmp_path / "a.yaml").write_text(text)
    done = simcli("check", str(tmp_path / "a.yaml"))
    told = done.stdout + done.stderr
    assert done.returncode == (Exit.NEGATIVE if wanted.startswith("error") else Exit.OK)
    assert wanted in told
    assert ("SC477" in told) == bool(wanted)


# What hides who reads a number: a factor of 0, a larger number, a whole turn, a bound, a law that is never reached, an
# expression of another parameter. Then numbers without a reader, each of a kind.
SCENE = """simcli: 1
params: {zero: 0, small: 1, large: 5, turns: 2, far: 9, top: 1000, chain: 2, of_chain: "${chain}", judged: 7, late: 0.2,
         by_default: 0.1, by_keyframe: 0.3, lone: 3, to_lone: 1, from_lone: "${to_lone}", no_default: 0.1, no_keyframe: 0.3}
defaults: {joint: {damping: "${by_default}", friction: "${no_default}"}}
materials:
  steel: {friction: 0.3, rolling_friction: 0.0, restitution: 0.0}
  rubber: {friction: 0.9, combine: {friction: max}}
  masked: {friction: 0.2, friction_static: 0.45, rolling_friction: 0.001}
  oak: {density: 700}
  spare: {friction: 0.1, density: 900}
world: {shapes: {ground: {type: plane, material: rubber}}}
bodies:
  a: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [0, 0, 1]},
      shapes: {s: {type: sphere, radius: 0.5, material: steel}, t: {type: sphere, radius: 0.5, material: masked}}}
  b: {inertia: {diag: [1, 1, 1]}, pose: {xyz: [5, 0, 1]},
      shapes: {s: {type: sphere, radius: 0.5, material: oak, collide: false, margin: 0.001}}}
  c: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [7, 0, 1]}, velocity: {linear: [1, 0, 0], angular: [0, 0, 1]},
      shapes: {s: {type: box, size: [1, 1, 1], collide: false}}}
  rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}, pose: {xyz: [9, 0, 9]}}
  bob: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}, pose: {xyz: [9, 9, 9]}}
joints:
  pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0], friction: 0.1, armature: "${chain * zero}",
        limit: [-9, "${min(far, 3)}"], drive: {mode: position, target: $aim, stiffness: "${max(small, large)}", damping: 0}}
  off: {type: revolute, parent: world, child: bob, axis: [0, 1, 0], damping: 0.2, friction: 0.1, enabled: false}
signals:
  aim: {sine: {amplitude: 0, frequency: 2, phase: "${2*pi*turns}"}}
  idle: {constant: 2}
  named: {constant: 0}
  also: {expression: "0 * {signal.named}"}
forces:
  push: {type: wrench, body: a, force: [0, "${0 * of_chain}", $also]}
keyframes: {home: {joint_q: {pin: "${by_keyframe}"}}, away: {joint_q: {pin: "${no_keyframe}"}}}
initial: {keyframe: home, joint_qd: {c_free: [1, 2, 3, 0, 0, 0]}}
contact:
  pairs:
    - {a: a/t, b: ground, friction: 0.3, rolling_friction: 0.01}
    - {a: a, b: ground, friction: 0.4}
events: [{at: 0, set: {joints.pin.armature: 0.01}}, {at: 0.05, set: {joints.pin.damping: "${late}"}}]
expect: [{max: joint.pin.q, below: "${judged}"}]
run: {duration: 0.1, stop_when: {quantity: joint.pin.q, above: "${top}"}}
solver: {type: generalized, dt: 1.0e-3}
"""
HAS_READER = (
    "params.small",
    "params.large",
    "params.turns",
    "params.far",
    "params.judged",
    "params.late",
    "params.chain",
    "params.of_chain",
    "params.by_default",
    "params.by_keyframe",
    "keyframes.home.joint_q.pin",
    "defaults.joint.damping",
    "materials.rubber.rolling_friction",
    "materials.steel.rolling_friction",
    "materials.steel.restitution",
    "materials.oak.density",
    "bodies.b.shapes.s.radius",
    "bodies.a.shapes.t.radius",
    "bodies.c.pose.xyz[0]",
    "joints.pin.damping",
    "joints.pin.friction",
    "joints.pin.q",
    "signals.aim.sine.amplitude",
    "signals.aim.sine.phase",
    "signals.named.constant",
    "signals.also.expression",
    "forces.push.force[1]",
    "contact.pairs[0].rolling_friction",
    "contact.pairs[1].friction",
    "world.gravity[2]",
    "bodies.c.velocity.linear[0]",
    "initial.joint_qd.c_free[0]",
    "materials.masked.restitution",
    "bodies.bob.mass",
)
UNREAD = (
    "params.lone",
    "params.to_lone",
    "params.from_lone",
    "params.no_default",
    "params.no_keyframe",
    "keyframes.away.joint_q.pin",
    "defaults.joint.friction",
    "materials.steel.friction",
    "materials.rubber.friction",
    "materials.masked.friction",
    "materials.masked.friction_static",
    "materials.masked.rolling_friction",
    "materials.spare.friction",
    "materials.spare.density",
    "materials.steel.density",
    "materials.oak.friction",
    "bodies.b.shapes.s.margin",
    "bodies.c.shapes.s.size[0]",
    "joints.off.damping",
    "joints.off.friction",
    "joints.pin.armature",
    "params.zero",
    "signals.idle.constant",
    "contact.pairs[0].friction",
)


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SCENE)
    return path


@pytest.mark.parametrize("typed", [False, True])
def test_who_reads_a_path_decides_and_not_what_its_number_does(scene, typed):
    document = load_document(scene)
    found = unread_paths(document, resolve(document), (*UNREAD, *HAS_READER), typed)
    assert sorted(found) == sorted(UNREAD)


# One of each kind of the list, and one that only looks as if nothing read it.
KINDS = ("materials.spare.friction", "materials.masked.friction", "signals.idle.constant", "params.lone")


def run_vary(path, name):
    build_run(*read_scene(path, (Override(VARY, f"{name}=0.3, 0.4"),)))


def file_vary(path, name):
    path.write_text(SCENE + f"batch: {{worlds: 2, vary: {{'{name}': {{list: [0.3, 0.4]}}}}}}\n")
    build_run(*read_scene(path))


def vary_table(path, name):
    (path.parent / "t.csv").write_text(f"{name}\n0.3\n0.4\n")
    build_run(*read_scene(path, (Override(VARY_TABLE, str(path.parent / "t.csv")),)))


def sweep(path, name):
    (path.parent / "sweep.yaml").write_text(f"sweep: 1\nscene: s.yaml\nvary: {{'{name}': {{grid: [0.3, 0.4]}}}}\n")
    plan_of(path.parent / "sweep.yaml", device="cpu")


def fit(path, name):
    document, spec = read_single(path, (), "fit")
    free_numbers(path, (), document, spec, build_model(document, spec), [name], [])


def optimize(path, name):
    read_intervals(path, (), [f"{name}=0.3..0.4"])


def program(path, name):
    text = path.read_text()
    path.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith(("events", "expect"))))
    simcli_of_unread.Simulation(path, vary=[name], device="cpu").close()


DOORS = (run_vary, file_vary, vary_table, sweep, fit, optimize, program)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_door_refuses_what_nothing_reads(scene, door):
    text = scene.read_text()
    for name in KINDS:
        scene.write_text(text)
        if door is program and name.startswith("params"):
            continue  # which a program sets none of
        with pytest.raises((SceneError, UsageError)) as error:
            door(scene, name)
        assert "SC317" in str(error.value) or "has no effect" in str(error.value)
        assert name in str(error.value)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_door_refuses_what_something_reads_to_no_effect(scene, door):
    """A phase of a sine of amplitude 0; for programs, which set no parameters and no such signals, a force in its place."""
    door(scene, "contact.pairs[1].friction" if door is program else "params.turns")


def test_set_is_told_and_not_refused(scene):
    for name in (*KINDS, "params.turns", "params.small"):
        sets = (f"{name}=0.31",)
        document, spec = read_scene(scene, sets)
        told = [line.split(":")[0] for line in unread_sets(document, spec)]
        assert told == ([f"{SET} {name}"] if name in KINDS else [])
    with pytest.warns(SimcliWarning, match="signals.idle.constant"):
        build_run(*read_scene(scene, ("signals.idle.constant=3",)))


@pytest.mark.parametrize(
    ("loser", "winner"),
    [
        ("joints.pin.q", "initial.joint_q.pin"),
        ("keyframes.home.joint_q.pin", "initial.joint_q.pin"),
        ("initial.joint_q.p*", "initial.joint_q.pin"),
        ("bodies.c.velocity.linear[1]", "initial.joint_qd.c_free[1]"),
    ],
)
def test_a_start_that_another_place_decides(scene, loser, winner):
    """Of one rank; the same place alone is read, and so is a component beside the one that is beaten."""
    scene.write_text(SCENE.replace("keyframe: home,", "keyframe: home, joint_q: {'p*': 0.1, pin: 0.2},"))
    assert told_of(scene, (f"{loser}=0.3", f"{winner}=0.4")) == [loser]
    varied = (Override(VARY, f"{winner}=0.4, 0.5"), Override(VARY, f"{loser}=0.3, 0.35"))
    with pytest.raises(SceneError) as error:
        build_run(*read_scene(scene, varied))
    assert [fault.message.split("`")[1] for fault in error.value.faults] == [loser]
    beside = {"bodies.c.velocity.linear[1]": "bodies.c.velocity.linear[0]"}.get(loser)
    if beside:
        assert told_of(scene, (f"{beside}=0.3", f"{winner}=0.4")) == []


def told_of(scene, sets):
    return [line.split(":")[0].removeprefix("--set ") for line in unread_sets(*read_scene(scene, sets))]


OLD_AND_NEW = [(*old.rpartition(".")[::2], new) for old, new in OLD_KEYS.items()]  # mapping, old name, new name
TOUCHING = """\
simcli: 1  # of contact
world: {shapes: {ground: {type: plane}}}
bodies:
  ball: {pose: {xyz: [0, 0, 1]}, shapes: {skin: {type: sphere, radius: 0.1, density: 1000}}}
run: {duration: 1}
"""
OLD_SWEEP = """\
sweep: 1
scene: scene.yaml
set: {"solver.contact.push_out_speed": 2}  # in all
choices:
  style: {hard: {solver.dt: 1 ms}, soft: {solver: {type: generalized, contact: {push_out_speed: 3}}}}
  solver.contact.push_out: [0, 0.1]
"""


def nested(above, keys):
    """A mapping at a dotted path, as text in one line."""
    return ": {".join(above.split(".")) + f": {keys}" + "}" * above.count(".") + "\n"


def meaning(folder, more, sets=(), text=TOUCHING):
    """The resolved scene, and code, line and message of what is noted."""
    (folder / "scene.yaml").write_text(text + more)
    document = load_document(folder / "scene.yaml", sets)
    spec = resolve(document)
    return resolved_yaml(spec), [
        (one.code, one.severity, one.where.file, one.where.line, one.message, one.hint) for one in warnings(document)
    ]


@pytest.mark.parametrize(("above", "old", "new"), OLD_AND_NEW)
def test_an_old_key_means_the_new_one(tmp_path, above, old, new):
    """Wherever it is written: in the scene, in what it includes, on the command line, as a path or in a mapping."""
    plain, none = meaning(tmp_path, nested(above, f"{{{new}: 0.75}}"))
    assert none == []
    assert f"{new}: 0.75" in plain
    text, ((*note, message, hint),) = meaning(tmp_path, nested(above, f"{{{old}: 0.75}}"))
    path = str(tmp_path / "scene.yaml")
    assert (text, note, message) == (plain, ["SC209", "note", path, 6], f"`{old}` is the old name of `{new}`")
    assert hint == f"write `{new}`, or let `simcli check --fix {path}` do it"
    for given in (f"{above}.{old}=0.75", f"{above}={{{old}: 0.75}}"):
        text, ((*note, _, hint),) = meaning(tmp_path, nested(above, f"{{{new}: 0.5}}"), [given])
        assert (text, note) == (plain, ["SC209", "note", "--set", 1])
        assert new in hint
    (tmp_path / "part.yaml").write_text(nested(above, f"{{{old}: 0.75}}"))
    text, ((*note, _, _),) = meaning(tmp_path, "include: part.yaml\n")
    assert (text, note) == (plain, ["SC209", "note", str(tmp_path / "part.yaml"), 1])
    (tmp_path / "part.yaml").write_text(nested(above, f"{{{old}: 0.5}}"))
    assert meaning(tmp_path, "include: part.yaml\n" + nested(above, f"{{{new}: 0.75}}"))[0] == plain
    stored = document_of_text(TOUCHING + nested(above, f"{{{old}: 0.75}}"), "scene.yaml")
    assert (resolved_yaml(resolve(stored)), warnings(stored)) == (plain, [])
    held = load_held(HeldScene((("scene.yaml", TOUCHING),), {}, (Override(SET, f"{above}.{old}=0.75"),), None), "run.h5")
    assert (resolved_yaml(resolve(held)), warnings(held)) == (plain, [])
    assert renewed_text(plain.replace(new, old))[0] == plain


@pytest.mark.parametrize(("above", "old", "new"), OLD_AND_NEW)
def test_an_old_key_beside_the_new_one_is_refused(tmp_path, above, old, new):
    vary = f"batch: {{vary: {{{above}.{old}: {{grid: [1]}}, {above}.{new}: {{grid: [1]}}}}}}\n"
    for text, place, sets in (
        (nested(above, f"{{{new}: 0.5, {old}: 0.75}}"), ("scene.yaml", 6), []),
        ("", ("--set", 1), [f"{above}={{{old}: 0.75, {new}: 0.5}}"]),
        (vary, ("scene.yaml", 6), []),
    ):
        (tmp_path / "scene.yaml").write_text(TOUCHING + text)
        with pytest.raises(SceneError) as caught:
            resolve(load_document(tmp_path / "scene.yaml", sets))
        (fault,) = caught.value.faults
        assert (fault.code, fault.where.file.rpartition("/")[2], fault.where.line) == ("SC207", *place)
        assert f"{old}`" in fault.message
        assert f"{new}`" in fault.hint


@pytest.mark.parametrize(("above", "old", "new"), OLD_AND_NEW)
def test_an_old_key_varies_as_little_as_the_new_one(tmp_path, above, old, new):
    """Whose draws would be others under another name."""
    (tmp_path / "scene.yaml").write_text(TOUCHING)
    for name in (old, new):
        with pytest.raises(SceneError) as caught:
            resolve(load_document(tmp_path / "scene.yaml", [Override(VARY, f"{above}.{name}=uniform(0, 1)")]))
        assert [one.code for one in caught.value.faults] == ["SC317"]


@pytest.mark.parametrize(("above", "old", "new"), OLD_AND_NEW)
def test_the_schema_has_old_keys_as_deprecated(above, old, new):
    definitions = scene_schema()["definitions"]
    parts = [one.__name__ for one in parts_at(tuple(above.split("."))) if new in one.model_fields]
    assert parts
    for part in parts:
        keys = definitions[part]["properties"]
        assert "deprecated" not in keys[new]
        assert keys[old] == {**keys[new], "deprecated": True, "description": f"The old name of `{new}`."}


def replaced(data, names):
    for old, new in names.items():
        data = data.replace(old.encode(), new.encode())
    return data


def test_old_keys_are_replaced_and_nothing_else(tmp_path):
    """In the bytes of each file: comments, order, quotes, ends of lines, a byte order mark; and its mode."""
    part = (
        "\ufeff# push_out of an included file\r\nsolver:\r\n  contact: &c   # push_out\r\n    'push_out':  0.10\r\n"
    ).encode()
    own = 'include: [sub/part.yaml]\nsolver: {contact: { "push_out_speed" : 50 cm/s, "pu\\u0073h_out": 1} }\n'
    main = (TOUCHING + own).encode()
    (tmp_path / "sub").mkdir()
    contents = {"scene.yaml": main, "sub/part.yaml": part, "sweep.yaml": OLD_SWEEP.encode()}
    files = {tmp_path / name: data for name, data in contents.items()}
    for file, data in files.items():
        file.write_bytes(data)
    (tmp_path / "scene.yaml").chmod(0o640)
    before = simcli("show", "--resolved", "scene.yaml", cwd=tmp_path).stdout
    done = simcli("check", "--fix", "scene.yaml", "sweep.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (Exit.OK, "")
    path, speed, first, second = "solver.contact.", "max_depenetration_velocity", "push_out", "push_out_speed"
    assert done.stdout.splitlines() == [
        f"scene.yaml:7: {second} -> {speed}",
        f"scene.yaml:7: {first} -> depenetration",
        f"sub/part.yaml:4: {first} -> depenetration",
        f"sweep.yaml:3: {path}{second} -> {path}{speed}",
        f"sweep.yaml:5: {second} -> {speed}",
        f"sweep.yaml:6: {path}{first} -> {path}depenetration",
        "scene.yaml: ok (1 body, 0 joints, generalized)",
        "sweep.yaml: ok (sweep of 4 cases in 4 structures)",
    ]
    names = {second: speed, '"pu\\u0073h_out"': "depenetration"}
    wanted = {
        "scene.yaml": replaced(main, names),
        "part.yaml": replaced(part, {"'push_out'": "'depenetration'"}),
        "sweep.yaml": replaced(OLD_SWEEP.encode(), {second: speed, first: "depenetration"}),
    }
    assert {file.name: file.read_bytes() for file in files} == wanted
    assert (tmp_path / "scene.yaml").stat().st_mode & 0o777 == 0o640
    assert simcli("show", "--resolved", "scene.yaml", cwd=tmp_path).stdout == before
    states = {file: (file.stat().st_mtime_ns, file.stat().st_ino) for file in files}
    again = json.loads(simcli("check", "--fix", "--json", ".", cwd=tmp_path).stdout)
    assert [one["changes"] for one in again["files"]] == [[], []]
    assert {file: (file.stat().st_mtime_ns, file.stat().st_ino) for file in files} == states


def test_changes_as_data(tmp_path):
    (tmp_path / "scene.yaml").write_text(TOUCHING + "solver: {contact: {push_out: 0}}\n")
    told = json.loads(simcli("check", "--fix", "--json", "scene.yaml", cwd=tmp_path).stdout)
    assert told["files"][0]["changes"] == [{"file": "scene.yaml", "line": 6, "old": "push_out", "new": "depenetration"}]
    assert told["files"][0]["faults"] == []


@pytest.mark.parametrize(
    "bad", ["run: {duration: 1\n", "solver: {contact: {push_out: 0, depenetration: 0}}\n", "include: nowhere.yaml\n"]
)
def test_a_scene_that_cannot_be_read_is_not_changed(tmp_path, bad):
    own = "" if "solver" in bad else "solver: {contact: {push_out: 0}}\n"
    text = TOUCHING.replace("run: {duration: 1}\n", own) + bad
    (tmp_path / "scene.yaml").write_text(text)
    done = simcli("check", "--fix", "scene.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout, (tmp_path / "scene.yaml").read_text()) == (Exit.NEGATIVE, "", text)
    assert "error[SC" in done.stderr


def test_a_file_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    """And the one that includes it stays as it is."""
    (tmp_path / "part.yaml").write_text("solver: {contact: {push_out: 0}}\n")
    (tmp_path / "scene.yaml").write_text(text := TOUCHING + "include: part.yaml\nsolver: {contact: {push_out_speed: 2}}\n")
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("part.yaml"))  # root may write all
    done = simcli("check", "--fix", "scene.yaml", cwd=tmp_path)
    assert done.returncode == Exit.OUTPUT
    assert "part.yaml: cannot be written, and holds the old key `push_out`: make it writable" in done.stderr
    assert (tmp_path / "scene.yaml").read_text() == text


FALLING = "  falls: {pose: {xyz: [5, 0, 5]}, shapes: {skin: {type: sphere, radius: 0.1, density: 1000}}}\n"


def numbers_of(group):
    """Bytes of all datasets of numbers below a group, by their name."""
    found = {}
    group.visititems(lambda name, one: found.update({name: one}))
    sets = {name: one for name, one in found.items() if isinstance(one, h5py.Dataset)}
    return {name: one[...].tobytes() for name, one in sets.items() if one.dtype.kind != "O"}


@pytest.mark.full
def test_a_run_notes_old_keys_and_has_the_same_bytes(tmp_path):
    frames = []
    keys_of = {
        "old": "push_out: 5e-4, push_out_speed: 1 mm/s",
        "other": "push_out: 2e-4, push_out_speed: 1 mm/s",
        "new": "depenetration: 5e-4, max_depenetration_velocity: 1 mm/s",
    }
    for name, keys in keys_of.items():
        text = TOUCHING.replace("duration: 1", "duration: 0.01").replace("run:", FALLING + "run:")
        text = text.replace("[0, 0, 1]", "[0, 0, 0.099]")
        (tmp_path / f"{name}.yaml").write_text(f"{text}solver: {{contact: {{{keys}}}}}\n")
        done = simcli("run", f"{name}.yaml", "-o", f"{name}.h5", cwd=tmp_path)
        assert done.returncode == Exit.OK
        assert f"note: {name}.yaml:7:20: `push_out` is the old name" in done.stderr or name == "new"
        assert ("is the old name of" in done.stderr) == (name != "new")
        with h5py.File(tmp_path / f"{name}.h5") as file:
            frames.append(numbers_of(file["frames"]))
    assert frames[0] == frames[2] != frames[1]
    done = simcli("show", "--resolved", "old.h5", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (simcli("show", "--resolved", "old.yaml", cwd=tmp_path).stdout, "")
    with h5py.File(tmp_path / "new.h5", "r+") as file:  # as an older version wrote it
        group = file["provenance"]
        text = group["scene_resolved"].asstr()[()].replace("max_depenetration_velocity", "push_out_speed")
        del group["scene_resolved"]
        group["scene_resolved"] = text = text.replace("depenetration", "push_out")
        group.attrs["scene_resolved_sha256"] = sha256(text)
    done = simcli("run", "new.yaml", "-o", "new.h5", "--resume", cwd=tmp_path)
    assert (done.returncode, "the run was complete" in done.stderr) == (Exit.OK, True)
