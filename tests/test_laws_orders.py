"""Orders of convergence of every law of the table of joint fields, type by type, in the tree and in loops.

Integrators of order two keep it while the pieces of a law stand, also at the limit of a drive, beyond a soft limit and in
the drive of a ball; where a law switches, the order is one. All joints stand side by side in one scene
(support/joint_laws.py); the oracles are closed forms. One compilation serves all steps and laws of an integrator.

Damping that steps of rk4 cannot follow: said before the run, with the step that can, and of no scene without need.

Bodies that spin fast keep their angular momentum and their energy, in every step of first order, whoever is beside them.

Free, each alone in the tree or joined: with centres of mass and axes of inertia elsewhere, of two welded halves, on balls,
with rotors, in gimbals. The laws are exact, so that no other solver is needed.
"""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from support import joint_laws
from support.device import live_device
from support.forward import CHANNELS, Runner, slope
from support.joint_laws import KINDS, LAWS, SMOOTH_LAWS
from support.process import simcli as command
from test_laws_of_joints import FORMS, HIT, settling, until

from simcli.cli import process as cli_process
from simcli.cli.runs import run
from simcli.errors import Exit
from simcli.model import build_worlds
from simcli.model.constraints.stiff_damping import stiff_damping
from simcli.pipeline import Request, build_model, prepare, read_scene
from simcli.spec.auto import FIRST_CHOICE
from simcli.spec.checks.joint_fields import JOINTS

FRAMES = 8
SMOOTH_SPAN, COUNTS = 0.24, (24, 48, 96)  # [s], steps: no law switches before HIT = 0.327 s, 0.3 s or 1/6 s, but bumps
WHOLE_SPAN, MANY_COUNTS = 0.96, (88, 160, 296, 536)  # [s], steps: over all switches, which no step begins or ends with
ORDER_SLACK = 0.1  # of a slope over two halvings
NONE = 1e-11  # [m or rad, or per second] that is no error: rounding of 536 steps of 0.6 m/s
# Errors by step of a first-order step at a switch [m/s, m/s^2]: the change of the rate there, 1.4 m/s at most, and of the
# acceleration, 50 * 1 + 6 m/s^2 at most.
X_PER_STEP, V_PER_STEP = 1.4, 56.0
LIMIT_CHANGES = 1e-12  # [m or rad, or per second] between a drive without a limit and one whose limit is not reached
BUMP = 1 / 6  # [s]: 0.6 t = 0.1
SWITCHES = {"upper": HIT, "lower": HIT, "brake": 0.4, "fast": 0.3, "weak": 0.6, "bump": BUMP}  # weak: about there
FEW = ("revolute", "ball")
CASES = {
    "implicit": ("generalized", "implicit", FEW),
    "implicit, every joint": ("generalized", "implicit", tuple(KINDS)),
    "rk4": ("generalized", "rk4", FEW),
    "zhong06": ("natural", "zhong06", FEW),
}


def bumping(t, k=100.0, c=4.0):
    """Unit mass at 0.6 m/s that meets a spring and damper at 0.1 m, and leaves where it passes that place again."""
    w = np.sqrt(k - c**2 / 4)
    s = np.clip(t - BUMP, 0.0, np.pi / w)
    wave = 0.6 * np.exp(-c * s / 2)
    x, v = wave * np.sin(w * s) / w, wave * (np.cos(w * s) - c / (2 * w) * np.sin(w * s))
    return until(t, BUMP, (0.6 * t, 0.6 + 0 * t), (0.1 + x + v * np.maximum(t - BUMP - np.pi / w, 0.0), v))


ARM_JOINTS = ("shoulder", "elbow", "wrist")
FOURTH = (3.5, 4.5)  # how much an error of order two falls with half the step, and terms of the next order at 10 ms


def arm(place):
    """Bodies and joints of a chain that its laws turn in space: a ball with a drive, a soft limit, a drive with a limit."""
    names = [f"{name}_{place}" for name in ("upper", "lower", "hand")]
    loop = {"loop": True} if place == "loop" else {}
    places = [[0.1, 0.05, 0.0], [0.4, 0.0, 0.05], [0.65, 0.02, 0.0]]
    bodies = {
        name: {"pose": {"xyz": xyz}, "mass": 1 - 0.3 * k, "inertia": {"diag": [0.03, 0.05 - 0.01 * k, 0.04]}}
        for k, (name, xyz) in enumerate(zip(names, places, strict=True))
    }
    laws = [
        {
            "type": "ball",
            "at": [0, 0, 0],
            "drive": [{"mode": "position", "stiffness": 12, "damping": 0.3, "target": x} for x in (0.6, -0.4, 0.9)],
        },
        {
            "type": "revolute",
            "at": [0.3, 0, 0],
            "axis": [0, 1, 1],
            "limit": {"upper": -3, "stiffness": 0.8, "damping": 0.05},
        },  # beyond it all the time
        {
            "type": "revolute",
            "at": [0.6, 0, 0],
            "axis": [1, 0, 1],
            "drive": {"mode": "position", "stiffness": 4, "damping": 0.1, "target": 1, "effort_limit": 1e3},
        },
    ]
    ends = zip(["world", *names], names, laws, ARM_JOINTS, strict=False)
    return bodies, {f"{name}_{place}": {"parent": a, "child": b, **law, **loop} for a, b, law, name in ends}


CLOSED = FORMS | {"calm": lambda t: settling(t, 1.0), "bump": bumping}


class Trial:
    """A forest of laws, and the frames of its runs by step, (F, dofs) of what is seen of each joint.

    Attributes:
        names: (law, joint) of all joints.
        smooth, whole: by joint, coordinates and rates of each run, and their errors; steps, whole_steps: [s].
        arms: by place, coordinates and rates of the arm at the end of each run over SMOOTH_SPAN.
    """

    def __init__(self, folder, solver, integrator, kinds):
        without = (*(set(KINDS) - set(kinds)), "compliance", "enabled")
        forest = joint_laws.forest(JOINTS[solver], without=without, laws=LAWS | SMOOTH_LAWS)
        path = joint_laws.write(folder / "forest.yaml", forest)
        scene = json.loads(path.read_text()) | {"solver": {"type": solver, "integrator": integrator}}
        for place in ("tree", "loop"):
            bodies, joints = arm(place)
            scene["bodies"] |= bodies
            scene["joints"] |= joints
        path.write_text(json.dumps(scene))
        document, spec = read_scene(path)
        self.runner = Runner.__new__(Runner)
        self.runner.begin(build_worlds(document, spec), spec.solver, live_device(), CHANNELS)
        self.kind_of = {name: kind for _law, kind, _place, name in forest.seen}
        self.names = [(law, name) for law, _kind, _place, name in forest.seen]
        (self.steps, self.smooth, columns) = self.errors(SMOOTH_SPAN, COUNTS)
        self.arms = {place: [self.arm(one, place) for one in columns] for place in ("tree", "loop")}
        self.whole_steps, self.whole, _ = self.errors(WHOLE_SPAN, MANY_COUNTS)

    def errors(self, span, counts):
        runs = [self.runner(span / n, n // FRAMES, FRAMES) for n in counts]
        t = np.linspace(0.0, span, FRAMES * 50 + 1)
        forms = {law: [part[::50] for part in CLOSED[law](t)] for law in {law for law, _ in self.names}}
        found = {}
        for law, name in self.names:
            seen = [self.seen(columns, law, name) for columns in runs]
            x, v = forms[law]
            found[name] = [(q, qd, np.abs(q - x[:, None]).max(), np.abs(qd - v[:, None])[-1].max()) for q, qd in seen]
        return span / np.array(counts), found, runs

    def arm(self, columns, place):
        """All coordinates and rates of an arm in the last frame."""
        joints, out = self.runner.model.joints, []
        for name in ARM_JOINTS:
            j = joints.name.index(f"{name}_{place}")
            for key, start in (("q", joints.q_start), ("qd", joints.qd_start)):
                out.append(columns[f"frames/joint_{key}"][-1, 0, start[j] : start[j + 1]])
        return np.concatenate(out)

    def seen(self, columns, law, name):
        model, kind = self.runner.model, self.kind_of[name]
        j = model.joints.name.index(name)
        (a, b), (c, d) = model.joints.q_start[j : j + 2], model.joints.qd_start[j : j + 2]
        q, qd = columns["frames/joint_q"][:, 0, a:b], columns["frames/joint_qd"][:, 0, c:d]
        q, qd = joint_laws.seen_of(q, qd, kind)
        one = kind == "distance" and (LAWS | SMOOTH_LAWS)[law].field == "limit"
        return (q[:, :1], qd[:, :1]) if one else (q, qd)


@pytest.fixture(
    scope="module", params=[name if name == "implicit" else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def trial(tmp_path_factory, case):
    """Trial of a case: the tests of one case follow each other."""
    return Trial(tmp_path_factory.mktemp("orders"), *CASES[case])


def least(errors):
    return np.maximum(errors, 1e-300)


def test_order_two_while_pieces_stand(trial):
    assert {law for law, _ in trial.names} == CLOSED.keys()
    moved = 0
    for law, name in trial.names:
        if law == "bump":
            continue
        for errors in zip(*((x, v) for _q, _qd, x, v in trial.smooth[name]), strict=True):
            assert errors[-1] < NONE or slope(trial.steps, least(errors)) > 2 - ORDER_SLACK, (name, errors)
            moved += errors[-1] > NONE
    assert moved > len(trial.names) / 3


def test_laws_that_turn_an_arm_in_space(trial, case):
    """Order two, and the tree and its loops agree where steps vanish."""
    limits, errors = [], []
    for coarse, middle, fine in trial.arms.values():
        ratio = np.linalg.norm(coarse - middle) / np.linalg.norm(middle - fine)
        assert ratio > 8 if case == "rk4" else FOURTH[0] < ratio < FOURTH[1], ratio
        assert np.abs(fine).max() > 0.5
        limits.append(fine + (fine - middle) / 3)
        errors.append(np.abs(middle - fine).max())
    assert np.abs(limits[0] - limits[1]).max() < 0.1 * max(errors)


def test_order_one_where_a_law_switches(trial):
    for law, name in trial.names:
        if law in SWITCHES:
            for h, (_q, _qd, x, v) in zip(trial.whole_steps, trial.whole[name], strict=True):
                assert x < X_PER_STEP * h, (name, h, x)
                assert v < V_PER_STEP * h, (name, h, v)


def test_a_limit_that_is_not_reached_changes_nothing(trial):
    pairs = [(name, name.replace("calm", "servo")) for law, name in trial.names if law == "calm"]
    assert pairs
    for name, plain in pairs:
        for one, other in zip(trial.smooth[name], trial.smooth[plain], strict=True):
            assert max(np.abs(a - b).max() for a, b in zip(one[:2], other[:2], strict=True)) < LIMIT_CHANGES, name


HOME = Path(__file__).parents[1]
TEMPLATES = HOME / "simcli" / "docs" / "templates"
CRANK = TEMPLATES / "slider-crank.yaml"
BOUND = 2.785293563405282  # of rate * dt on the negative axis, the root of z^3 + 4 z^2 + 12 z + 24 at its sign
GOOD = """simcli: 1
bodies: {rod: {mass: 2, com: [0.5, 0, 0], inertia: {diag: [0.1, 0.3, 0.3]}}}
joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 0, 1], damping: 40, armature: 0.2}}
world: {gravity: [0, 0, 0]}
solver: {integrator: rk4, dt: 0.1}
run: {duration: 1}
"""
INERTIA = 2 * 0.5**2 + 0.3 + 0.2  # of the rod about its pin, with the armature


def found(path, dt, *sets):
    return stiff_damping(build_model(*read_scene(path, sets)), dt)


def test_the_largest_step_of_a_damped_rod_is_that_of_the_method(tmp_path):
    path = tmp_path / "rod.yaml"
    path.write_text(GOOD)
    told = found(path, 0.1)
    assert (told.joint, told.rate) == ("pin", pytest.approx(40 / INERTIA))
    assert told.largest_dt == pytest.approx(BOUND * INERTIA / 40)
    assert found(path, told.largest_dt) is None
    assert found(path, 0.1, "joints.pin.damping=0") is None
    assert found(path, 0.1, "joints.pin.friction=1") is None  # which may hold it
    assert found(path, 0.1, "joints.pin.motion={position: 0}") is None
    assert found(path, 1.0, "joints.pin.damping=4").largest_dt == pytest.approx(BOUND * INERTIA / 4)


def test_a_drive_is_damped_by_half_of_it_where_it_is_critical(tmp_path):
    """(lambda + w)^2 = 0 with c = 2 w I, k = w^2 I: the rate is half of c / I."""
    path, rate = tmp_path / "rod.yaml", 30.0
    path.write_text(GOOD)
    drive = f"joints.pin.drive={{mode: position, target: 1, stiffness: {rate**2 * INERTIA}, damping: {2 * rate * INERTIA}}}"
    told = found(path, 0.15, "joints.pin.damping=0", drive)
    assert told.largest_dt == pytest.approx(BOUND / rate, rel=1e-6)  # rel: a double root
    assert found(path, 0.9 * BOUND / rate, "joints.pin.damping=0", drive) is None


def test_a_closed_loop_makes_a_joint_heavier():
    """At its dead centre a slider-crank moves its crank and the near end of its rod, each as a rod about one end."""
    rate = 10 / (0.2 * 0.1**2 / 3 + 0.6 * 0.1**2 / 3)
    told = found(CRANK, 1e-3)
    assert (told.joint, told.rate) == ("shaft", pytest.approx(rate))
    assert told.largest_dt == pytest.approx(BOUND / rate)


@pytest.mark.parametrize(
    "path", [*sorted(TEMPLATES.glob("*.yaml")), *sorted((HOME / "scenes").glob("*.yaml"))], ids=lambda path: path.stem
)
def test_no_scene_is_told_so_that_is_stable(path):
    """Of the gallery two would blow up with rk4, and do: each at its own dt of 1 ms, and not at a tenth of it."""
    document, spec = read_scene(path)
    dt = spec.solver.dt
    told = stiff_damping(build_model(document, spec), dt)
    assert (told is not None) == (path.stem in ("slider-crank", "servo")), told
    if told:
        assert 0.1 * dt < told.largest_dt < dt


def test_check_and_run_say_it_with_its_code(tmp_path, capsys):
    path = tmp_path / "rod.yaml"
    path.write_text(GOOD)
    assert cli_process.run_command(["check", str(path)], debug=False, as_json=False) == Exit.OK
    said = capsys.readouterr().err
    assert "warning[SC620]: rk4 is explicit, and unstable with the damping of joint `pin`" in said
    assert "rod.yaml:5:" in said
    run._say_beginning(prepare(Request(path, tmp_path / "rod.h5", ())), 0)
    said = capsys.readouterr().err
    assert "unstable with the damping of joint `pin`: its decay rate is 40 1/s, and solver.dt is 0.1 s" in said
    assert "take solver.dt <= 0.07 s, or solver.integrator: implicit: simcli explain SC620" in said
    path.write_text(GOOD.replace("rk4", "implicit"))
    assert cli_process.run_command(["check", str(path)], debug=False, as_json=False) == Exit.OK
    assert "SC620" not in capsys.readouterr().err


NEEDLE = [0.00017231, 0.00000658, 0.00017243]  # [kg m^2]
SPIN = [20.0, 60.0, 5.0]  # [rad/s]
SPEED = 63.497  # [rad/s], |w| of the needle after a second: Euler's equations by elliptic functions
FULL = [[0.00017, 3.0e-5, 2.0e-5], [3.0e-5, 0.00008, -1.0e-5], [2.0e-5, -1.0e-5, 0.00017]]
HALF = {"mass": 0.06, "inertia": {"diag": [1e-5, 4e-6, 1e-5]}}
# Of |L| and of kinetic energy: rounding of a thousand steps; of bodies that others hold, what first order leaves of theirs.
ALONE, GAIN, LOSS = {"float64": 1e-9, "float32": 3e-5}, 0.01, -0.01

SMALL = {"type": "sphere", "radius": 0.1}
FREE = {
    "needle": {"mass": 0.12, "inertia": {"diag": NEEDLE}, "velocity": {"angular": SPIN}},
    "off": {
        "mass": 0.12,
        "com": [0.03, -0.02, 0.05],
        "inertia": {"diag": NEEDLE},
        "pose": {"xyz": [3, 0, 0]},
        "velocity": {"angular": SPIN, "linear": [0.1, 0, 0]},
    },
    "full": {
        "mass": 0.12,
        "inertia": {"full": FULL},
        "pose": {"xyz": [6, 0, 0], "rpy": [0.3, 0.2, 1.0]},
        "velocity": {"angular": SPIN},
    },
}
# Bodies of one mechanism, with its joints.
HELD = {
    "halves": (
        {
            "a": {**HALF, "pose": {"xyz": [0, 0.05, 0]}, "velocity": {"angular": SPIN, "linear": [-0.25, 0, 1.0]}},
            "b": {**HALF, "pose": {"xyz": [0, -0.05, 0]}},
        },
        {"weld": {"type": "fixed", "parent": "a", "child": "b"}},
    ),
    "hinged": (
        {
            "c": {**HALF, "pose": {"xyz": [3, 0.05, 0]}, "velocity": {"angular": SPIN, "linear": [-0.25, 0, 1.0]}},
            "d": {**HALF, "pose": {"xyz": [3, -0.05, 0]}},
        },
        {"pin": {"type": "revolute", "parent": "c", "child": "d", "axis": [0, 1, 0]}},
    ),
    "ball": (
        {"e": {"mass": 0.12, "com": [0, 0.02, 0], "inertia": {"diag": NEEDLE}}},
        {"ball": {"type": "ball", "parent": "world", "child": "e", "qd": SPIN}},
    ),
    "rotor": (
        {
            "f": {
                "mass": 1.0,
                "inertia": {"diag": [0.02, 0.02, 0.03]},
                "pose": {"xyz": [6, 0, 0]},
                "velocity": {"angular": [1, 2, 0.5]},
            },
            "g": {"mass": 0.5, "inertia": {"diag": [0.001, 0.001, 0.002]}, "pose": {"xyz": [6, 0, 0.1]}},
        },
        {"shaft": {"type": "revolute", "parent": "f", "child": "g", "axis": [0, 0, 1], "at": [6, 0, 0.1], "qd": 3e2}},
    ),
    "gimbal": (
        {
            name: {
                "mass": 0.4,
                "inertia": {"diag": [0.001, 0.001, 0.001 + 0.001 * (name == "k")]},
                "pose": {"xyz": [9, 0, 0]},
            }
            for name in "ijk"
        },
        {
            "outer": {"type": "revolute", "parent": "world", "child": "i", "axis": [1, 0, 0], "at": [9, 0, 0]},
            "inner": {"type": "revolute", "parent": "i", "child": "j", "axis": [0, 1, 0], "at": [9, 0, 0], "qd": 2.0},
            "wheel": {"type": "revolute", "parent": "j", "child": "k", "axis": [0, 0, 1], "at": [9, 0, 0], "qd": 3e2},
        },
    ),
}
STRANGERS = {
    "none": ({}, {}),
    "rows and contact": (
        {
            "x": {"mass": 1.0, "inertia": {"diag": [1, 1, 1]}, "pose": {"xyz": [0, 5, 0]}},
            **{
                name: {"mass": 1.0, "inertia": {"diag": [1, 1, 1]}, "pose": {"xyz": [0, 9, z]}, "shapes": {"s": SMALL}}
                for name, z in (("y", 0.0), ("z", 0.1999))
            },
        },
        {"hook": {"type": "revolute", "parent": "world", "child": "x", "axis": [0, 0, 1], "at": [0, 6, 0]}},
    ),
}
# Wheels that roll at 10 m/s without slip, 0.1 rad a step.
WHEELS = """
simcli: 1
world: {shapes: {ground: {type: plane}}}
bodies:
  cylinder: {mass: 1, pose: {xyz: [0, 0, 0.1], rpy: [90 deg, 0, 0]}, velocity: {linear: [10, 0, 0], angular: [0, 100, 0]},
             shapes: {s: {type: cylinder, radius: 0.1, length: 0.4}}}
  capsule: {mass: 1, pose: {xyz: [0, 3, 0.1], rpy: [90 deg, 0, 0]}, velocity: {linear: [10, 0, 0], angular: [0, 100, 0]},
            shapes: {s: {type: capsule, radius: 0.1, length: 0.4}}}
solver: {type: SOLVER, dt: 1 ms}
run: {duration: 0.1}
output: {every: 10 ms, channels: [state]}
"""
ROLLS = 1e-9  # [1]
FIRST = [solver for solver, integrator in FIRST_CHOICE.items() if integrator == "semi_implicit"]


def rotations(q: np.ndarray) -> np.ndarray:
    """(F, 3, 3) of quaternions x y z w."""
    x, y, z, w = q.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, -1) for row in rows], -2)


def motion_of(folder, bodies: dict, joints: dict, solver: str, precision: str = "float64"):
    """Mass, place and velocity of the centre, angular momentum about it, kinetic energy and |w| of each body."""
    scene = {
        "simcli": 1,
        "world": {"gravity": [0, 0, 0]},
        "bodies": bodies,
        "joints": joints,
        "run": {"duration": 1.0},
        "solver": {"type": solver, "integrator": "semi_implicit", "dt": 1e-3, "precision": precision},
    }
    (folder / "spin.json").write_text(json.dumps(scene))
    ended = command("run", folder / "spin.json", "-o", folder / "spin.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    found = {}
    with h5py.File(folder / "spin.h5") as run:
        q, qd = (np.asarray(run[f"frames/body_{what}"][:, 0], float) for what in ("q", "qd"))
        names = run["frames/body_name"].asstr()[:]
        mass, inertia, com = (run[f"model/body_{what}"][0] for what in ("mass", "inertia", "com"))
    for b, name in enumerate(names):
        R, v, w = rotations(q[:, b, 3:]), qd[:, b, :3], qd[:, b, 3:]
        spin = np.einsum("tij,jk,tlk,tl->ti", R, inertia[b], R, w)
        kinetic = 0.5 * (mass[b] * (v * v).sum(1) + (w * spin).sum(1))
        found[name] = mass[b], q[:, b, :3] + R @ com[b], v, spin, kinetic, np.linalg.norm(w, axis=1)
    return found


def momentum_of(parts: list) -> np.ndarray:
    """[kg m^2/s], |L| of some bodies about their common centre of mass, (F,)."""
    total = sum(mass for mass, *_ in parts)
    centre, drift = (sum(part[0] * part[k] for part in parts) / total for k in (1, 2))
    about = sum(spin + mass * np.cross(x - centre, v - drift) for mass, x, v, spin, *_ in parts)
    return np.linalg.norm(about, axis=1)


@pytest.mark.parametrize(("precision", "stranger"), [("float64", name) for name in STRANGERS] + [("float32", "none")])
@pytest.mark.parametrize("solver", FIRST)
def test_a_free_body_keeps_its_angular_momentum_and_energy(tmp_path, solver, stranger, precision):
    bodies, joints = STRANGERS[stranger]
    found = motion_of(tmp_path, {**FREE, **bodies}, joints, solver, precision)
    for name in FREE:
        *_others, spin, kinetic, _speed = found[name]
        assert np.abs(spin - spin[0]).max() < ALONE[precision] * np.linalg.norm(spin[0])
        assert np.abs(kinetic / kinetic[0] - 1).max() < 10 * ALONE[precision]
    for name in ("needle", "off"):
        assert found[name][-1][-1] == pytest.approx(SPEED, rel=1e-3)


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("solver", FIRST)
def test_what_others_hold_keeps_its_energy_and_momentum(tmp_path, solver, stranger):
    bodies, joints = (
        {**one, **{k: v for held in HELD.values() for k, v in held[n].items()}} for n, one in enumerate(STRANGERS[stranger])
    )
    found = motion_of(tmp_path, bodies, joints, solver)
    for mechanism, (parts, _joints) in HELD.items():
        kinetic = sum(found[name][4] for name in parts)
        change = kinetic / kinetic[0] - 1
        assert change.min() > LOSS, mechanism
        assert change.max() < GAIN, mechanism
        if mechanism not in ("ball", "gimbal"):
            size = momentum_of([found[name] for name in parts])
            assert np.abs(size / size[0] - 1).max() < GAIN, mechanism
    assert found["e"][-1][-1] == pytest.approx(63.492, rel=1e-3)  # the needle about a point 2 cm from its middle, by rk4


@pytest.mark.parametrize("solver", ["generalized", "maximal", "natural"])
def test_wheels_roll_on_at_their_speed(tmp_path, solver):
    (tmp_path / "wheels.yaml").write_text(WHEELS.replace("SOLVER", solver))
    ended = command("run", tmp_path / "wheels.yaml", "-o", tmp_path / "wheels.h5", "-q")
    assert ended.returncode == 0, ended.stderr
    with h5py.File(tmp_path / "wheels.h5") as run:
        qd = run["frames/body_qd"][:, 0]
    np.testing.assert_allclose(qd[..., 0], 10.0, rtol=ROLLS)
    np.testing.assert_allclose(qd[..., 4], 100.0, rtol=ROLLS)
