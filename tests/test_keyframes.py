"""Keyframes: states by name, values on top of them, overrides, worlds, units, the resolved scene, mistakes.

The same mechanism in other units moves alike: lengths, masses and times that are larger by powers of two.

A power of two changes no digit of a number, so that what holds of a mechanism of metres holds bit by bit of one of
millimetres, unless an order of operations or an absolute threshold depends on the size. What a scene says in metres and
seconds by itself (tolerances, the stiffness of affine bodies) is scaled with it.

Robots that others published, where their packages are installed: each becomes a scene with the mechanics of pinocchio.

`pip install example-robot-data icub-models` (150 MB); their files are never copied into this project.

Models that others published, where their packages are installed: each becomes a scene with the mechanics of MuJoCo.

`pip install gymnasium`, `pip install --no-deps dm_control`; their files are never copied into this project.
"""

import json
import os
import sys
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np
import pytest
from support.mjcf import DT as IMPORT_MJCF_MODELS_DT
from support.mjcf import DURATION, Pair
from support.scenes import faults_of
from support.solver_modes import MODES
from support.tiers import covered
from support.urdf import agreement

import simcli
from simcli.cli.process import run_command
from simcli.errors import FileError
from simcli.exchange.importing import ImportOptions, import_model, load_scene
from simcli.exchange.source.xml_reader import read_xml
from simcli.model import build, build_worlds
from simcli.pipeline import read_scene
from simcli.spec import resolve, resolved_yaml
from simcli.spec.loading import load_document

ARM = """simcli: 1
params: {bend: 0.5}
bodies:
  upper: {mass: 1, inertia: {diag: [1, 1, 1]}}
  lower: {mass: 1, inertia: {diag: [1, 1, 1]}, pose: {xyz: [1, 0, 0]}}
joints:
  shoulder: {type: revolute, parent: world, child: upper, q: 2, limit: {lower: -1, upper: 3}}
  elbow: {type: revolute, parent: upper, child: lower, at: [1, 0, 0], qd: 9}
keyframes:
  home: {joint_q: {"*": 0.1, elbow: 90 deg}, joint_qd: {shoulder: 2}}
  bent: {joint_q: {shoulder: center, elbow: "${bend}"}}
INITIAL
"""


def start(tmp_path, initial, sets=()):
    """joint_q and joint_qd of all worlds."""
    path = tmp_path / "s.yaml"
    path.write_text(ARM.replace("INITIAL", initial))
    model = build_worlds(*read_scene(path, sets))
    return model.joint_q, model.joint_qd


@pytest.mark.parametrize(
    ("initial", "sets", "q", "qd"),
    [
        ("", (), [2, 0], [0, 9]),
        ("initial: home", (), [0.1, np.pi / 2], [2, 9]),
        ("", ("initial=home",), [0.1, np.pi / 2], [2, 9]),
        ("initial: home", ("initial=bent",), [1, 0.5], [0, 9]),
        ("initial: bent", ("params.bend=0.7",), [1, 0.7], [0, 9]),
        ("initial: {keyframe: home, joint_q: {shoulder: 0.3}}", (), [0.3, np.pi / 2], [2, 9]),
        ("initial: {keyframe: home, joint_q: {'*': 0.3}, joint_qd: {elbow: 1}}", (), [0.3, 0.3], [2, 1]),  # later ones win
        ("initial: {keyframe: home}", ("initial.joint_q.elbow=0.2",), [0.1, 0.2], [2, 9]),
        ("initial: home", ("keyframes.home.joint_q.elbow=0.2",), [0.1, 0.2], [2, 9]),
    ],
)
def test_where_a_run_begins(tmp_path, initial, sets, q, qd):
    found = start(tmp_path, initial, sets)
    np.testing.assert_allclose(found, [[q], [qd]], rtol=0, atol=1e-15)


def test_worlds_vary_what_keyframes_say(tmp_path):
    varied = "initial: bent\nbatch: {worlds: 2, vary: {VARIED: {list: [0.2, 0.4]}}}"
    for name in ("params.bend", "initial.joint_q.elbow", "keyframes.bent.joint_q.elbow"):
        q, _qd = start(tmp_path, varied.replace("VARIED", name))
        np.testing.assert_array_equal(q, [[1, 0.2], [1, 0.4]])


def test_a_keyframe_in_which_no_run_begins_is_not_varied():
    found = faults_of(
        "batch: {worlds: 2, vary: {keyframes.home.joint_q.elbow: {list: [0.2, 0.4]}}}\n",
        ARM.removeprefix("simcli: 1\n").replace("INITIAL", "initial: bent"),
    )
    assert [(code, "has no effect" in text) for code, _, text in found] == [("SC317", True)]


def test_the_resolved_scene_begins_there_and_keeps_the_others(tmp_path):
    (tmp_path / "a.yaml").write_text(ARM.replace("INITIAL", "initial: home"))
    spec = resolve(load_document(tmp_path / "a.yaml"))
    assert spec.initial.keyframe is None
    (tmp_path / "b.yaml").write_text(resolved_yaml(spec))
    again = resolve(load_document(tmp_path / "b.yaml"))
    assert again.initial == spec.initial
    assert again.keyframes == spec.keyframes
    assert list(again.keyframes) == ["home", "bent"]


def test_show_and_check_know_them(tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(ARM.replace("INITIAL", "initial: home"))
    assert run_command(["show", str(tmp_path / "s.yaml"), "--layout"], debug=False, as_json=False) == 0
    assert "keyframes: home, bent" in capsys.readouterr().out
    assert run_command(["show", str(tmp_path / "s.yaml"), "--layout", "--json"], debug=False, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["keyframes"] == ["home", "bent"]
    assert run_command(["check", str(tmp_path / "s.yaml")], debug=False, as_json=False) == 0


CONTROLS = """joints: {pin: {type: revolute, parent: world, child: rod, drive: {mode: position, stiffness: 5, target: 0.1}}}
bodies: {rod: {mass: 1, inertia: {diag: [1, 1, 1]}}}
params: {lift: 0.5}
signals: {u: {constant: 1}, v: {constant: 1}}
forces: {push: {type: wrench, body: rod, force: [0, 0, $u]}, more: {type: wrench, body: rod}}
keyframes:
  home: {controls: {joints.pin.drive.target: 90 deg, signals.u.constant: 7, "forces.more.force[1]": 3}}
  bent: {controls: {joints.pin.drive.target: "${lift}"}}
INITIAL
"""


@pytest.mark.parametrize(
    ("initial", "sets", "target", "constant"),
    [
        ("", (), 0.1, 1),
        ("initial: home", (), np.pi / 2, 7),
        ("", ("initial=home",), np.pi / 2, 7),
        ("initial: bent", ("params.lift=0.7",), 0.7, 1),
        ("initial: {keyframe: home, controls: {joints.pin.drive.target: 0.3}}", (), 0.3, 7),
        ("initial: {controls: {signals.u.constant: 2}}", (), 0.1, 2),
        ("initial: home", ("joints.pin.drive.target=0.2",), 0.2, 7),  # what is typed counts before what a keyframe says
    ],
)
def test_controls_of_the_start(tmp_path, initial, sets, target, constant):
    text = "simcli: 1\n" + CONTROLS.replace("INITIAL", initial)
    for given in (sets, ()):  # as written, and as resolved
        (tmp_path / "s.yaml").write_text(text)
        spec = resolve(load_document(tmp_path / "s.yaml", given))
        assert spec.joints["pin"].drive[0].target == pytest.approx(target, rel=1e-15)
        assert spec.signals["u"].constant == (constant,)
        assert spec.forces["more"].force == ((0, 3, 0) if "home" in initial + "".join(sets) else (0, 0, 0))
        assert "joints.pin.drive.target" not in spec.initial.controls or target != 0.2
        text = resolved_yaml(spec)


def test_worlds_vary_controls(tmp_path):
    """By the parameters of a keyframe, or as targets, over what the keyframe says."""
    for name in ("params.lift", "joints.pin.drive.target"):
        varied = f"initial: bent\nbatch: {{worlds: 2, vary: {{{name}: {{list: [0.2, 0.4]}}}}}}"
        (tmp_path / "s.yaml").write_text("simcli: 1\n" + CONTROLS.replace("INITIAL", varied))
        model = build_worlds(*read_scene(tmp_path / "s.yaml", ()))
        np.testing.assert_array_equal(model.dofs.drive_target, [[0.2], [0.4]])


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("pin.drive.target: 90 deg", "pn.drive.target: 90 deg", "SC303", 6),
        ("pin.drive.target: 90 deg", "pin.drive.target: 90 kg", "SC213", 6),
        ("pin.drive.target: 90 deg", "pin.drive.stiffness: 9", "SC326", 6),
        ("signals.u.constant: 7", "'forces.push.force[2]': 2", "SC326", 6),
        ("signals.u.constant: 7", "signals.u.constant: $v", "SC326", 6),
        ("INITIAL", "initial: {controls: {joints.pin.drive.target: 3 kg}}", "SC213", 8),
        ("INITIAL", "initial: {controls: {'forces.more.force[3]': 3}}", "SC303", 8),
        ("INITIAL", "initial: {controls: {joints.pin.damping: 3}}", "SC326", 8),
    ],
)
def test_controls_that_are_none(old, new, code, line):
    for initial in ("", "initial: home"):  # one mistake, one fault, whether a run begins there or not
        faults = faults_of(CONTROLS.replace(old, new).replace("INITIAL", initial))
        assert [fault[:2] for fault in faults] == [(code, line)], (faults, initial)


def test_events_and_overrides_of_a_resolved_scene(tmp_path):
    """A resolved scene writes drives as lists of one; a key of such a list is that of its entry."""
    text = CONTROLS.replace("INITIAL", "events: [{at: 0.1, set: {joints.pin.drive.target: 2}}]")
    (tmp_path / "a.yaml").write_text(f"simcli: 1\n{text}")
    (tmp_path / "b.yaml").write_text(resolved_yaml(resolve(load_document(tmp_path / "a.yaml"))))
    spec = resolve(load_document(tmp_path / "b.yaml", ["joints.pin.drive.stiffness=9"]))
    assert (spec.joints["pin"].drive[0].stiffness, spec.joints["pin"].drive[0].target) == (9, 0.1)


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("initial: home", "initial: hom", "SC325", 11),
        ("initial: home", "initial: {keyframe: hom}", "SC325", 11),
        ("elbow: 90 deg", "elbw: 90 deg", "SC454", 9),
        ("elbow: 90 deg", "elbow: [1, 2]", "SC463", 9),
        ("shoulder: 2}", "shoulder: 2 kg}", "SC213", 9),
        ("shoulder: center, elbow", "elbow: center, shoulder", "SC458", 10),
        ("joint_qd: {shoulder: 2}", "time: 1", "SC204", 9),
        ("initial: home", "initial: {keyframe: home, joint_q: 3}", "SC203", 11),
    ],
)
def test_mistakes_are_told_once_and_where_they_stand(old, new, code, line):
    text = ARM.replace("simcli: 1\n", "").replace("INITIAL", "initial: home").replace(old, new)
    faults = faults_of(text)
    assert [fault[:2] for fault in faults] == [(code, line - 1)], faults


STEPS, DT = 32, 2.0**-10  # [1, s]
SMALL = (2.0**-10, 2.0**-30, 2.0**-5)  # millimetres, micrograms, steps of 31 us
LARGE = (2.0**7, 2.0**21, 2.0**3)
OTHERS = [(2.0**-12, 1.0, 1.0), (1.0, 2.0**-40, 1.0), (1.0, 2.0**40, 1.0), (1.0, 1.0, 2.0**-7), LARGE]
# Relative to the largest number: rounding, where the order of operations depends on the size, in 32 steps; and the absolute
# tolerance of corrections, 1e-12 m, which is more of a small mechanism.
BOUND = {"float64": 1e-8, "float32": 1e-3}
CONTACT_BOUND = {"float64": 1e-6, "float32": 3e-3}  # the tolerance of contact, 1e-8 and 1e-4 m/s, of 1 m/s, and its history


class Units:
    """Quantities of a mechanism whose lengths, masses and times are so many times as large."""

    def __init__(self, length: float, mass: float, time: float):
        self.length, self.mass, self.time = length, mass, time
        self.speed, self.spin = length / time, 1.0 / time
        self.inertia = mass * length**2
        self.torque, self.force = self.inertia / time**2, mass * length / time**2

    def body(self, *xyz: float, mass: float = 1.0, **more) -> dict:
        diag = [n * mass * self.inertia for n in (0.02, 0.03, 0.025)]
        com = [n * self.length for n in (0.03, -0.02, 0.05)]
        return {"pose": {"xyz": self.lengths(*xyz)}, "mass": mass * self.mass, "com": com, "inertia": {"diag": diag}, **more}

    def shape(self, kind: str, *xyz: float, **more) -> dict:
        sizes = {"box": {"size": self.lengths(0.2, 0.2, 0.2)}, "sphere": {"radius": 0.1 * self.length}}
        shape = {"type": kind, "material": "m", **sizes[kind]}
        return {"pose": {"xyz": self.lengths(*xyz)}, "shapes": {"s": shape}, **more}

    def lengths(self, *numbers: float) -> list[float]:
        return [n * self.length for n in numbers]


def loop(u: Units) -> tuple[dict, dict]:
    """A four-bar in space, which two hinges would hold as well: nine rows say nothing new."""
    hinge = {"type": "revolute", "axis": [0, 1, 0]}
    return {"a": u.body(0, 0, 0.5), "b": u.body(0.5, 0, 1), "c": u.body(1, 0, 0.5)}, {
        "p": {**hinge, "parent": "world", "child": "a", "at": [0, 0, 0], "qd": 2 * u.spin},
        "q": {**hinge, "parent": "a", "child": "b", "at": u.lengths(0, 0, 0.5), "damping": 0.02 * u.torque * u.time},
        "r": {**hinge, "parent": "b", "child": "c", "at": u.lengths(0.5, 0, 0)},
        "s": {**hinge, "parent": "world", "child": "c", "at": u.lengths(1, 0, 0)},
    }


def arm(u: Units) -> tuple[dict, dict]:
    """Joints that turn, slide, and do both, with drives."""
    drive = {"mode": "position", "stiffness": 30 * u.mass / u.time**2, "damping": u.mass / u.time, "target": 0.1 * u.length}
    bodies = {
        "a": u.body(0.3, 0, 0),
        "b": u.body(0.6, 0.1, 0, mass=0.5),
        "c": u.body(0.9, 0.1, 0.2, mass=0.7),
        "d": u.body(1.1, 0.1, 0.2),
    }
    return bodies, {
        "p": {"type": "ball", "parent": "world", "child": "a", "at": [0, 0, 0], "qd": [u.spin, 0.5 * u.spin, 0.2 * u.spin]},
        "q": {
            "type": "prismatic",
            "parent": "a",
            "child": "b",
            "at": u.lengths(0.15, 0, 0),
            "axis": [1, 0, 0],
            "qd": 0.3 * u.speed,
            "drive": drive,
        },
        "r": {
            "type": "universal",
            "parent": "b",
            "child": "c",
            "at": u.lengths(0.15, 0, 0),
            "axes": {"angular": [[1, 0, 0], [0, 1, 0]]},
        },
        "s": {"type": "cylindrical", "parent": "c", "child": "d", "at": u.lengths(0.1, 0, 0), "axis": [0, 0, 1]},
    }


def pendulum(u: Units) -> tuple[dict, dict]:
    """A rod on a hinge."""
    pin = {"type": "revolute", "parent": "world", "child": "a", "at": [0, 0, 0], "axis": [0, 1, 0], "qd": u.spin}
    return {"a": u.body(0.25, 0, 0)}, {"p": pin}


def stack(u: Units) -> tuple[dict, dict]:
    """What falls on each other."""
    ball = u.shape("sphere", 0, 0, 0.55, velocity={"linear": [0.3 * u.speed, 0, 0]})
    return {"a": u.shape("box", 0, 0, 0.105), "b": u.shape("box", 0.02, 0.01, 0.32), "c": ball}, {}


def hammer(u: Units) -> tuple[dict, dict]:
    """A box that slides, and a ball hinged to it that falls."""
    box = u.shape("box", 0, 0, 0.105, velocity={"linear": [0.5 * u.speed, 0, 0]})
    pin = {"type": "revolute", "parent": "a", "child": "b", "at": u.lengths(0.1, 0, 0.1), "axis": [0, 1, 0]}
    return {"a": box, "b": u.shape("sphere", 0.3, 0, 0.3)}, {"p": pin}


def scene_of(case, solver: str, integrator: str, precision: str, units: tuple[float, float, float]) -> dict:
    u = Units(*units)
    bodies, joints = case(u)
    material = {"density": 1000 * u.mass / u.length**3, "friction": 0.4}
    gravity = [0.5 * u.length / u.time**2, 0, -9.81 * u.length / u.time**2]
    options = {"type": solver, "integrator": integrator, "dt": DT * u.time, "precision": precision}
    if solver == "affine":
        options |= {"tolerance": 1e-9 * u.length, "stiffness": 1e8 * u.mass / (u.length * u.time**2)}
    scene = {
        "simcli": 1,
        "materials": {"m": material},
        "world": {"gravity": gravity},
        "bodies": bodies,
        "joints": joints,
        "run": {"duration": STEPS * DT * u.time},
        "output": {"every": STEPS * DT * u.time},
    }
    if case in (stack, hammer):
        options["contact"] = {
            "tolerance": {"float64": 1e-8, "float32": 1e-4}[precision] * u.speed,
            "max_depenetration_velocity": u.speed,
            "restitution_threshold": 0.01 * u.speed,
        }
        scene["world"]["shapes"] = {"g": {"type": "plane", "normal": [0.05, 0, 1], "material": "m"}}
    return {**scene, "solver": options}


def motion_of(folder, case, *cell, units) -> np.ndarray:
    """Positions and velocities of all bodies at the end, in the units of the first mechanism."""
    path, u = folder / "scene.json", Units(*units)
    path.write_text(json.dumps(scene_of(case, *cell, units)))
    with simcli.Simulation(str(path)) as sim:
        sim.step(STEPS)
        assert not sim.failures
        found = [(f"body.{name}.position", u.length) for name in case(u)[0]]
        found += [(f"body.{name}.velocity", u.speed) for name in case(u)[0]]
        found += [(f"body.{name}.angular_velocity", u.spin) for name in case(u)[0]]
        return np.concatenate([np.ravel(sim.get(name)) / unit for name, unit in found])


@cache
def first_motion(*cell) -> np.ndarray:
    """Of a mechanism in metres, kilograms and seconds."""
    with TemporaryDirectory() as folder:
        return motion_of(Path(folder), *cell, units=(1.0, 1.0, 1.0))


def difference(folder, case, solver, integrator, precision, units) -> float:
    """Of the motion from that of the first mechanism, relative to its largest number."""
    cell = case, solver, integrator, precision
    first = first_motion(*cell)
    return float(np.abs(motion_of(folder, *cell, units=units) - first).max() / np.abs(first).max())


def in_pairs(*columns) -> list[tuple]:
    """Rows of a table in which all pairs of values stand."""
    rows = list(product(*columns))
    return [rows[k] for k in sorted(covered(rows, 2))]


# Kernels cost more than steps: a mechanism, a solver and a precision have some together, and units none.
RIGID = [mode for mode in MODES if mode[0] != "affine"]
OFTEN = [(loop, ("maximal", "semi_implicit"), "float64"), (loop, ("generalized", "semi_implicit"), "float64")]
COMPILED = OFTEN + [row for row in in_pairs((loop, arm), RIGID, BOUND) if row not in OFTEN]
CELLS = [
    pytest.param(
        case, *mode, precision, units, marks=[] if (case, mode, precision) in OFTEN and units == SMALL else pytest.mark.slow
    )
    for case, mode, precision in COMPILED
    for units in (SMALL, *(OTHERS if precision == "float64" else ()))
]
CELLS += [(pendulum, "maximal", "semi_implicit", "float32", (2.0**-11, 2.0**-24, 2.0**-7))]  # inertia: its cube is no number


@pytest.mark.parametrize(("case", "solver", "integrator", "precision", "units"), CELLS)
def test_mechanism_of_other_units_moves_alike(tmp_path, case, solver, integrator, precision, units):
    assert difference(tmp_path, case, solver, integrator, precision, units) < BOUND[precision]


TOUCHING = [("generalized", "semi_implicit"), ("generalized", "rk4"), ("maximal", "semi_implicit"), ("natural", "moreau")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "solver", "integrator", "precision", "units"),
    [
        (case, *mode, precision, units)
        for case, mode, precision in in_pairs((stack, hammer), TOUCHING, CONTACT_BOUND)
        for units in (SMALL, LARGE)
    ],
)
def test_contact_of_other_units_is_alike(tmp_path, case, solver, integrator, precision, units):
    assert difference(tmp_path, case, solver, integrator, precision, units) < CONTACT_BOUND[precision]


@pytest.mark.slow
@pytest.mark.parametrize("integrator", [name for solver, name in MODES if solver == "affine"])
@pytest.mark.parametrize("case", [loop, arm])
def test_affine_mechanism_of_other_units_moves_alike(tmp_path, case, integrator):
    assert difference(tmp_path, case, "affine", integrator, "float64", SMALL) < 1e-6


FOLDERS = ("cmeel.prefix/share/example-robot-data/robots", "share/iCub/robots")
MODELS = sorted(
    path
    for root in {*sys.path, sys.prefix, *os.environ.get("SIMCLI_MODELS", "").split(os.pathsep)}
    if root
    for folder in FOLDERS
    for path in Path(root, folder).rglob("*.urdf")
)
# What is wrong with a file that is refused.
REFUSED = {"alex_psyonic_hands": "mimics the unknown joint `index_q1`"}
PEER_REFUSES = ("ur3",)  # whose robot has no name


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.skipif(not MODELS, reason="example-robot-data and icub-models are not installed")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_published_robot_has_the_mechanics_of_pinocchio(path, tmp_path):
    """Of those whose inertias no body has, only that they can be mended: then the mechanics are others."""
    if path.stem in REFUSED:
        with pytest.raises(FileError, match=REFUSED[path.stem]):
            import_model(path)
        return
    mended = import_model(path, ImportOptions(fix_inertia=True)).report
    is_whole = not any(entry.kind == "inertial" and entry.fate == "changed" for entry in mended.entries)
    scene = tmp_path / "robot.yaml"
    words = ["import", str(path), "-o", str(scene), "--fix-inertia"]
    assert run_command(words, debug=True, as_json=False) == 0
    document = load_scene(scene)
    build(resolve(document), document)
    if is_whole and path.stem not in PEER_REFUSES:
        held = [entry.name for entry in mended.entries if (entry.kind, entry.fate) == ("joint", "dropped")]
        matrix, effort = agreement(path, scene, tmp_path, held)
        assert matrix < 1e-12
        assert effort < 1e-12


IMPORT_MJCF_MODELS_FOLDERS = ("gymnasium/envs/mujoco/assets", "dm_control/suite")
MJCF_MODELS = sorted(
    {
        path
        for root in {*sys.path, *os.environ.get("SIMCLI_MODELS", "").split(os.pathsep)}
        if root
        for folder in IMPORT_MJCF_MODELS_FOLDERS
        for path in Path(root, folder).glob("*.xml")
    }
)
# Coordinates so stiff or so light that MuJoCo's explicit steps of 1 ms diverge as well: step that they take.
FINE = {"dog": 1e-4}
STIFF = ("manipulator", "stacker")  # not even by 2e-5 s: implicit steps, MuJoCo's of first order, extrapolated
MASS_BAR, MOTION_BAR = 1e-12, 1e-8
# Seconds until a model that was dropped rests, the rates of what rests, and how deep shapes overlap at most on the way [m].
# Hopper and walker stand upright for six seconds, until rounding has tipped them over.
FALLS = {"hopper": 12.0, "half_cheetah": 10.0, "walker2d": 12.0, "ant": 6.0, "humanoid": 12.0}
REST, DEEPEST, DEEPEST_AT_REST = 1e-6, 1e-4, 1e-9
every_model = pytest.mark.parametrize("path", MJCF_MODELS, ids=lambda path: f"{path.parent.parent.name}-{path.stem}")


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.skipif(not MJCF_MODELS, reason="gymnasium and dm_control are not installed")
@every_model
def test_a_published_model_is_imported_and_every_element_is_told(path, tmp_path):
    scene = tmp_path / "scene.yaml"
    assert run_command(["import", str(path), "-o", str(scene)], debug=True, as_json=False) == 0
    document = load_scene(scene)
    build(resolve(document), document)
    entries = import_model(path).report.entries
    told = sorted((entry.kind, entry.file, entry.line) for entry in entries if "@" not in entry.kind)
    assert told == sorted(elements(path, path, ""))


def elements(path, file, name):
    """(tag, file, line) of all elements of a file and of those that it includes."""
    for element in list(read_xml(file).below())[bool(name) :]:
        yield element.tag, name, element.line
        if element.tag == "include":
            yield from elements(path, path.parent / element.get("file"), os.path.normpath(element.get("file")))


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.skipif(not MJCF_MODELS, reason="gymnasium and dm_control are not installed")
@every_model
def test_a_published_model_has_the_mass_matrix_of_mujoco(path, tmp_path):
    pair = Pair(path, tmp_path)
    if pair.model.nv:
        assert pair.mass_difference() < MASS_BAR


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.skipif(not MJCF_MODELS, reason="gymnasium and dm_control are not installed")
@every_model
def test_a_published_model_moves_as_in_mujoco(path, tmp_path):
    """Random rates; contacts, limits, equalities, dry friction and actuation off in both."""
    if path.stem in STIFF:
        assert extrapolated(path, tmp_path) < MOTION_BAR
    elif Pair(path, tmp_path).model.nv:
        assert Pair(path, tmp_path, step=FINE.get(path.stem, IMPORT_MJCF_MODELS_DT)).difference() < MOTION_BAR


def extrapolated(path, folder):
    """[m] the difference of implicit steps to MuJoCo's, whose error of first order falls out of two step sizes."""
    places = []
    for step in (IMPORT_MJCF_MODELS_DT / 10, IMPORT_MJCF_MODELS_DT / 20):
        pair = Pair(path, folder, step=step, integrator="implicit")
        pair.draw_rates()
        found = pair.run_scene()
        places.append(pair.run_mujoco(round(DURATION / step)))
    return max(np.abs(found[name] - 2 * places[1][name] + at).max() for name, at in places[0].items() if name in found)


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.skipif(not MJCF_MODELS, reason="gymnasium and dm_control are not installed")
@pytest.mark.parametrize(
    "path", [path for path in MJCF_MODELS if path.stem in FALLS and "gymnasium" in path.parts], ids=lambda path: path.stem
)
def test_what_is_dropped_comes_to_rest(path, tmp_path):
    out = tmp_path / "out.h5"
    words = ["run", str(path), "--duration", str(FALLS[path.stem]), "-o", str(out), "-q"]
    assert run_command(words, debug=True, as_json=False) == 0
    with h5py.File(out) as file:
        assert np.abs(file["frames/joint_qd"][-1]).max() < REST
        assert file["diag/penetration"][:].max() < DEEPEST
        assert file["diag/penetration"][-1].max() < DEEPEST_AT_REST
        assert file["diag/contacts"][-1].min() >= 1
