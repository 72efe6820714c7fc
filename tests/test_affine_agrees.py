"""Affine bodies against the other solvers: hard as stiffness grows, the same motion as steps shrink; their promises.

Frame 0 of affine bodies, one of them kinematic, against the solvers of rigid ones.

Affine bodies from the command line: the same bytes whatever batch and threads, after a kill, and beside worlds that end.

And the maximal solver with contact, by the same trials.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.contact_scenes import run
from support.device import live_device
from support.forward import CHANNELS
from support.many import run_many
from support.process import environment
from support.runs import committed, differing, digest, worlds_of
from support.scenes import scene
from test_affine_steps import Run

import simcli as package
from simcli.errors import Exit, SimcliError
from simcli.model import build_worlds
from simcli.model.phases import build_phases
from simcli.solvers import SOLVERS, RunPlan
from simcli.solvers.affine.programs import STEPS
from simcli.solvers.output.energy_balance import ENERGY
from simcli.spec import resolve

SLOPE = 0.02  # of what stiffness leaves: its square is a hundredth
RATIO = 0.5  # of errors over a halving, about the order's power: the soft modes leave some

# Worlds 0 to 3: joints ten times stiffer each; 4 to 7: bodies; 8 as 0.
STIFF = """
params: {gamma: 100, kappa: 1e12}
batch:
  worlds: 9
  vary:
    params.gamma: {list: [1e1, 1e2, 1e3, 1e4, 1e5, 1e5, 1e5, 1e5, 1e1]}
    params.kappa: {list: [1e12, 1e12, 1e12, 1e12, 1e7, 1e8, 1e9, 1e10, 1e12]}
defaults:
  body: {mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}, affine: {stiffness: "${kappa}"}}
  joint: {strength_ratio: "${gamma}"}
bodies:
  upper: {com: [0.5, 0, 0]}
  lower: {pose: {xyz: [1, 0, 0]}, com: [0.4, 0.1, 0]}
joints:
  pin: {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0]}
  elbow: {type: ball, parent: upper, child: lower, at: [1, 0, 0], qd: [0.5, 1, 2]}
solver: {type: affine, integrator: bdf1, dt: 0.005, tolerance: 1e-11}
run: {duration: 0.2}
"""


def test_soft_becomes_hard_as_one_over_the_stiffness(device):
    run = Run(STIFF, device, 40, ("bodies",))
    assert not run.columns["diag/status"].any()
    place = run.columns["frames/body_q"][-1, :, 1, :3]
    for first in (0, 4):
        gaps = [np.linalg.norm(place[first + k + 1] - place[first + k]) for k in range(3)]
        slopes = -np.diff(np.log10(gaps))
        assert gaps[0] > 1e-5
        assert slopes == pytest.approx([1.0, 1.0], abs=SLOPE)
    np.testing.assert_array_equal(*(run.columns["frames/body_q"][:, world] for world in (0, 8)))  # in packs of other lanes


MECHANISMS = """
world: {gravity: [0, 0, -9.81]}
defaults: {body: {mass: 1, inertia: {diag: [0.1, 0.2, 0.25]}}}
bodies:
  upper: {com: [0.5, 0, 0]}
  lower: {pose: {xyz: [1, 0, 0]}, com: [0.4, 0.1, 0]}
  cart: {pose: {xyz: [0, 10, 0]}, points: {hook: [0, 0, 0]}}
  bob: {pose: {xyz: [0, 10, -1]}, inertia: {diag: [0.03, 0.02, 0.01]}}
joints:
  shoulder: {type: universal, parent: world, child: upper, at: [0, 0, 0], q: [0.3, 0.2],
             axes: {angular: [[0, 1, 0], [0, 0, 1]]}}
  elbow: {type: ball, parent: upper, child: lower, at: [1, 0, 0], qd: [0.5, 1, 2]}
  rail: {type: prismatic, parent: world, child: cart, at: [0, 10, 0], axis: [1, 0, 0], q: 0.1}
  pin: {type: revolute, parent: cart, child: bob, at: [0, 10, 0], axis: [0, 1, 0], q: 0.7, damping: 0.2}
forces:
  s: {type: spring, a: {world: [-1, 10, 0]}, b: cart/hook, stiffness: 30, damping: 0.5, rest_length: 1}
run: {duration: 0.4}
"""
# Closed before the start by the generalized solver, which compiles it too.
LOOPS = MECHANISMS.replace(
    "joints:",
    """\
  crank: {pose: {xyz: [0.5, 5, 0]}}
  coupler: {pose: {xyz: [1, 5, 1]}}
  rocker: {pose: {xyz: [2.5, 5, 1]}, mass: 2, inertia: {diag: [0.9, 0.9, 0.9]}}
  hanger: {pose: {xyz: [0.6, 35, -0.8]}}
joints:
  A: {type: revolute, parent: world, child: crank, at: [0, 5, 0], axis: [0, 1, 0]}
  B: {type: revolute, parent: crank, child: coupler, at: [1, 5, 0], axis: [0, 1, 0]}
  C: {type: revolute, parent: coupler, child: rocker, at: [1, 5, 2], axis: [0, 1, 0]}
  D: {type: revolute, parent: world, child: rocker, at: [4, 5, 0], axis: [0, 1, 0]}
  rope: {type: distance, parent: world, child: hanger, parent_frame: {xyz: [0, 35, 0]}, length: 1}""",
)
T, FRAMES = 0.4, 4
ERRORS = {"bdf1": 4e-3, "bdf2": 2e-4}  # [m] at 2 ms
ORDERS = {"bdf1": 1, "bdf2": 2}


class Ends:
    """Columns at the end of a run, and of the frames before it."""

    def __init__(self, text, device, solver, dt):
        document = scene(f"{text}solver: {{{solver}, dt: {dt}}}\n")
        spec = resolve(document)
        model, steps = build_phases(document, spec)[0].model, round(T / dt / FRAMES)
        plan = RunPlan(dt, steps, FRAMES, CHANNELS | {"reactions"})
        self.solver, self.steps = SOLVERS[spec.solver.type](model, spec.solver, plan, device), steps
        self.solver.initial()
        self.frames = self.solver.advance(FRAMES).columns
        self.last = {name: column[-1, 0] for name, column in self.frames.items()}


def affine(integrator):
    return f"type: affine, integrator: {integrator}, stiffness: 1e11, tolerance: 1e-10"


@pytest.fixture(scope="module")
def ends():
    from support.device import live_device

    return {
        name: Ends(MECHANISMS, live_device(), solver, dt)
        for name, solver, dt in (("reference", "type: generalized, integrator: rk4", 1e-3), ("bdf2", affine("bdf2"), 2e-3))
    }


def agree(one, reference, error):
    np.testing.assert_allclose(one["frames/body_q"][:, :3], reference["frames/body_q"][:, :3], atol=error)
    np.testing.assert_allclose(one["frames/joint_q"], reference["frames/joint_q"], atol=2.0 * error)


def test_small_steps_give_the_motion_of_generalized_coordinates(ends):
    one, reference = ends["bdf2"].last, ends["reference"].last
    agree(one, reference, ERRORS["bdf2"])
    wrench = [side["frames/joint_wrench"] for side in (one, reference)]
    np.testing.assert_allclose(*wrench, atol=50.0 * ERRORS["bdf2"])
    assert np.abs(wrench[1]).max() > 10.0
    change = [side["frames/joint_qdd"] for side in (one, reference)]
    np.testing.assert_allclose(*change, atol=50.0 * ERRORS["bdf2"])
    assert np.abs(change[1]).max() > 5.0


def test_energy_is_accounted_for_but_for_what_the_formula_takes(ends):
    one, reference = ends["bdf2"].last, ends["reference"].last
    assert one["energy/dissipated"] == pytest.approx(reference["energy/dissipated"], rel=2e-3)
    assert one["energy/dissipated"] > 0.1
    assert abs(one["energy/drift"]) < 0.01
    lost = [one[f"energy/{name}"] - reference[f"energy/{name}"] for name in ("total", "dissipated")]
    assert one["energy/drift"] == pytest.approx(sum(lost), abs=1e-3)


def test_a_restored_state_goes_on_to_the_same_bits(ends):
    run = ends["bdf2"]
    kept = run.solver.state_arrays()
    there = run.solver.advance(2).columns
    run.solver.restore(kept, FRAMES * run.steps)
    again = run.solver.advance(2).columns
    for name, column in there.items():
        np.testing.assert_array_equal(column, again[name], err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", list(ORDERS))
def test_errors_are_of_the_order_of_the_integrator_in_loops_too(device, integrator):
    """Drift goes with the same power of the step."""
    reference = Ends(LOOPS, device, "type: generalized, integrator: rk4", 1e-3).last
    wide, narrow = (Ends(LOOPS, device, affine(integrator), dt).last for dt in (4e-3, 2e-3))
    poses = [one["frames/body_q"] for one in (wide, narrow, reference)]
    gaps = [np.linalg.norm((one - poses[2])[:, :3], axis=1) for one in poses[:2]]
    agree(narrow, reference, ERRORS[integrator])
    power = 2 ** ORDERS[integrator]
    assert gaps[0].max() / gaps[1].max() == pytest.approx(power, rel=RATIO)
    assert wide["energy/drift"] / narrow["energy/drift"] == pytest.approx(power, rel=0.1)


@pytest.mark.slow
def test_a_world_alone_has_the_bits_of_its_batch(tmp_path):
    path = tmp_path / "stiff.yaml"
    path.write_text("simcli: 1\n" + STIFF)
    one = ["run", path, "--device", "cpu", "-q", "-o"]
    for code, talk in run_many([[*one, "all.h5"], [*one, "two.h5", "--world", "2"]], tmp_path):
        assert code == 0, talk
    with package.open(tmp_path / "all.h5") as batch, package.open(tmp_path / "two.h5") as alone:
        np.testing.assert_array_equal(batch.body("lower").position[:, 2], alone.body("lower").position[:, 0])


@pytest.mark.slow
def test_a_step_that_does_not_converge_ends_its_world(device):
    run = Run(STIFF.replace("1e-11}", "1e-11, max_iterations: 2}"), device, 3, ("bodies",))
    assert run.columns["diag/status"][-1].all()
    assert {event.code for event in run.events} == {"SC610"}
    assert len(run.events) == 9
    assert "did not converge" in run.events[0].text


# A carrier that moves as prescribed, an arm that it drags, and a tip with a spring and a wrench.
SCENE = """
world: {gravity: [0, 0, -9.81]}
bodies:
  carrier: {pose: {xyz: [0, 0, 14]}, kinematic: true, motion: {angular: [0, 0.5, 0]}}
  arm: {pose: {xyz: [0.6, 0, 14]}, mass: 64, inertia: {diag: [1.7, 1.7, 1.7]}}
  tip: {pose: {xyz: [1.2, 0, 14]}, com: [0.1, 0, 0], mass: 4, inertia: {diag: [0.7, 0.6, 0.5]}}
joints:
  hinge: {type: revolute, parent: carrier, child: arm, at: [0, 0, 14], axis: [0, 1, 0], qd: 1, damping: 3}
  elbow: {type: revolute, parent: arm, child: tip, at: [1, 0, 14], axis: [0, 1, 0], qd: 1, armature: 0.3}
forces:
  cord: {type: spring, a: {world: [1, 0, 12]}, b: {body: tip, at: [0.2, 0, 0]}, stiffness: 50, damping: 8, rest_length: 1}
  push: {type: wrench, body: tip, force: [1, 2, 3]}
"""
H = 1e-3
EXACT = 1e-9  # relative, of a state that is the same one
TRIED = 1e-2  # relative, of a step of 1 ms with joints that give way by a hundredth of what they hold off
STATE = ("body_q", "body_qd", "joint_q", "joint_qd")
OTHERS = {"generalized": "rk4", "maximal": "semi_implicit", "natural": "zhong06"}


def frame_0(kind, words, device):
    document = scene(f"{SCENE}solver: {{type: {kind}, dt: {H}, {words}}}\n")
    spec = resolve(document)
    plan = RunPlan(H, 1, 1, frozenset(("joints", "bodies", "energy", "reactions")))
    columns = SOLVERS[kind](build_worlds(document, spec), spec.solver, plan, device).initial().columns
    return {name.removeprefix("frames/"): column[0, 0] for name, column in columns.items()}


# Each loop joint that affine has, by a kinematic body and one that is placed a little off and askew.
START_LOOPS = {
    "fixed": {},
    "revolute": {"axis": [0, 1, 0]},
    "prismatic": {"axis": [1, 0, 0]},
    "ball": {},
    "cylindrical": {"axis": [0, 1, 0]},
    "universal": {"axes": {"angular": [[1, 0, 0], [0, 1, 0]]}},
    "planar": {"axis": [0, 0, 1]},
    "distance": {"length": 0.1},
}
SHIFT = [-0.45, 0.02, 0.05]


@pytest.mark.parametrize("integrator", STEPS)
def test_loops_that_are_written_open_begin_open_and_are_pulled_together(integrator, tmp_path):
    bodies, joints = {}, {}
    for n, (kind, words) in enumerate(START_LOOPS.items()):
        body = {"mass": 1, "inertia": {"diag": [0.1666] * 3}}
        bodies[f"base_{kind}"] = {**body, "pose": {"xyz": [0, 3 * n, 14]}, "kinematic": True}
        bodies[kind] = {**body, "pose": {"xyz": [1, 3 * n, 14]}}
        joints[kind] = {
            "type": kind,
            "parent": f"base_{kind}",
            "child": kind,
            "parent_frame": {"xyz": [0.5, 0, 0]},
            "child_frame": {"xyz": SHIFT, "rpy": [0, 0, 0.05]},
            "loop": True,
            **words,
        }
    content = {
        "simcli": 1,
        "world": {"gravity": [0, 0, 0]},
        "bodies": bodies,
        "joints": joints,
        "initial": {"assemble": False},
        "run": {"duration": 1},
        "solver": {"type": "affine", "dt": 0.01, "integrator": integrator},
    }
    code, seen = run(tmp_path, integrator, content)
    assert code == 0
    for n, kind in enumerate(START_LOOPS):
        assert seen.body(kind).position[0, 0] == pytest.approx([1, 3 * n, 14], abs=1e-14)
    gaps = seen.diag.position_violation[:, 0]
    assert gaps[0] > 0.05
    assert gaps[-1] < 1e-6
    reach = seen.body("ball").position[-1, 0] - seen.body("base_ball").position[-1, 0] - [0.5, 0, 0]
    assert np.linalg.norm(reach) == pytest.approx(np.linalg.norm(SHIFT), abs=1e-6)


@pytest.fixture(scope="module")
def affine_of_start(scalar_code):
    return frame_0("affine", "integrator: bdf2, tolerance: 1.0e-10, stiffness: 1.0e+12", live_device())


@pytest.mark.parametrize("kind", ["generalized", *(pytest.param(name, marks=pytest.mark.slow) for name in list(OTHERS)[1:])])
def test_frame_0_is_that_of_the_other_solvers(affine_of_start, device, kind):
    """The state and its energies; accelerations and reactions of the step that is tried from there."""
    other = frame_0(kind, f"integrator: {OTHERS[kind]}", device)
    for name in (*STATE, *(f"energy/{part}" for part in ENERGY)):
        np.testing.assert_allclose(affine_of_start[name], other[name], rtol=EXACT, atol=EXACT, err_msg=name)
    for name in ("joint_qdd", "joint_wrench"):
        scale = np.abs(other[name]).max()
        assert scale > 10.0
        np.testing.assert_allclose(affine_of_start[name], other[name], atol=TRIED * scale, err_msg=name)
    assert affine_of_start["diag/position_violation"] < EXACT
    assert affine_of_start["diag/residual"] == affine_of_start["diag/iterations"] == 0.0


BODIES = """
simcli: 1
params: {drop: 0.23, push: 0.4}
world: {shapes: {ground: {type: plane}}}
defaults: {shape: {density: 1000}}
bodies:
  belt: {pose: {xyz: [0, 0, 0.1]}, kinematic: true, motion: {linear: [$pull, 0, 0]},
         shapes: {it: {type: box, size: [2, 0.6, 0.1]}}}
  cube: {pose: {xyz: [0, 0, "${0.17 + drop}"], rpy: [0.1, 0.2, 0]}, velocity: {linear: ["${push}", 0, 0]},
         shapes: {it: {type: box, size: [0.2, 0.2, 0.2]}}}
  flap: {pose: {xyz: [3, 0, 1]}, mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
signals:
  pull: {sine: {amplitude: 0.3, frequency: 2}}
"""
AFFINE = (
    BODIES
    + """
joints:
  hinge: {type: revolute, parent: world, child: flap, at: [2.8, 0, 1], axis: [0, 1, 0], limit: [-0.2, 0.25], friction: 0.1,
          driving: {aim_angle: 0.1, stiffness: 20}}
events:
  - {at: 0.1, set: {joints.hinge.driving.is_constrained: true}}
  - {at: 0.2, set: {joints.hinge.driving.is_passive: true}}
solver: {type: affine, dt: 0.01, integrator: bdf2, contact: {d_hat: 5 mm}}
run: {duration: 0.4}
output: {every: 0.01, channels: [state, energy, reactions, contacts]}
"""
)
MAXIMAL = (
    BODIES
    + """
joints:
  hinge: {type: revolute, parent: world, child: flap, at: [2.8, 0, 1], axis: [0, 1, 0], limit: [-0.2, 0.25], friction: 0.1}
events:
  - {at: 0.1, set: {joints.hinge.damping: 0.3}}
solver: {type: maximal, dt: 2.0e-5}
run: {duration: 0.4}
output: {every: 0.01, channels: [state, energy, reactions, contacts]}
"""
)
SCENES = {"affine": AFFINE, "maximal": MAXIMAL}
VARY = ["--vary", "params.drop=uniform(0.15, 0.3)", "--vary", "params.push=uniform(-1, 1)"]
WORLDS = 6  # two packs, the second one with idle lanes
GRACE, POLL = 300.0, 0.01  # [s]
# As in test_run_kill.py: commits as often as chunks allow; so slowly that a look falls between two of them.
OFTEN = """
import sys, time
from simcli.records.writing import writer
writer.PATIENCE_S = 0.0
put = writer.Recorder.put
def put_slowly(self, block):
    put(self, block)
    time.sleep(0.1)
writer.Recorder.put = put_slowly
from simcli.cli import main
sys.argv[0] = "simcli"
sys.exit(main())
"""


def run_all(commands, folder):
    """What each committed, by its output's name."""
    results = run_many([["run", *words, "-q"] for words in commands], folder)
    assert [code for code, _ in results] == [Exit.OK] * len(commands), results
    return {str(words[2]): committed(folder / str(words[2])) for words in commands}


@pytest.fixture(scope="module", params=SCENES)
def runs(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    path = folder / "scene.yaml"
    path.write_text(SCENES[request.param])
    commands = [
        [path, "-o", f"{name}.h5", "--worlds", worlds, *VARY, *more]
        for name, worlds, more in (
            ("two", WORLDS, ("--threads", 2)),
            ("one", WORLDS, ("--threads", 1)),
            ("alone", WORLDS, ("--world", WORLDS - 1)),
        )
    ]
    return folder, path, run_all(commands, folder)


@pytest.mark.slow
def test_bytes_do_not_depend_on_threads_or_batch(runs):
    folder, _, rows = runs
    assert len({row.tobytes() for row in rows["two.h5"]["frames/body_q"][-1, :, 1]}) == WORLDS
    assert (rows["two.h5"]["diag/contacts"][-1] > 0).all()
    assert not differing(rows["one.h5"], rows["two.h5"])
    assert digest(folder / "one.h5") == digest(folder / "two.h5")
    assert not differing(worlds_of(rows["alone.h5"], slice(None)), worlds_of(rows["two.h5"], slice(WORLDS - 1, WORLDS)))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_a_killed_run_goes_on_to_the_same_bytes(runs):
    """Killed at two places: before the events and between them."""
    folder, scene, rows = runs
    whole = rows["two.h5"]
    for k, part in enumerate((0.2, 0.4)):
        path = folder / f"killed{k}.h5"
        words = ["run", str(scene), "-o", str(path), "--worlds", str(WORLDS), *VARY, "-q"]
        child = [sys.executable, "-c", OFTEN, *words]
        process = subprocess.Popen(child, stderr=subprocess.PIPE, text=True, env=environment())
        deadline = time.monotonic() + GRACE
        while process.poll() is None and progress(path) < part and time.monotonic() < deadline:
            time.sleep(POLL)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert part <= progress(path) < 1.0, "it was not killed at work"
        ((code, talk),) = run_many([[*words, "--resume"]], folder)
        assert code == Exit.OK, talk
        assert not differing(committed(path), whole)
        assert digest(path) == digest(folder / "two.h5")


def progress(path):
    """Part of the frames that is committed."""
    try:
        with package.open(path) as run:
            return run.n_frames / 41
    except (SimcliError, OSError):
        return 0.0


@pytest.mark.slow
def test_worlds_that_end_disturb_nobody(runs):
    """One that begins in the belt, or is too fast, among five that are well."""
    folder, scene, _ = runs
    drops, pushes = [0.2, 0.21, 0.22, 0.23, 0.24, 0.25], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    for name, drop, push in (("good", 0.22, 0.3), ("bad", -0.05, 1.0e9)):
        drops[2] = drop if "affine" in scene.read_text() else 0.22
        pushes[2] = push if "maximal" in scene.read_text() else 0.3
        batch = f"batch: {{worlds: 6, vary: {{params.drop: {{list: {drops}}}, params.push: {{list: {pushes}}}}}}}\n"
        (folder / f"{name}.yaml").write_text(scene.read_text() + batch)
    commands = [["run", f"{name}.yaml", "-o", f"{name}.h5", "-q"] for name in ("good", "bad")]
    (good, _), (ended, talk) = run_many(commands, folder)
    assert (good, ended) == (Exit.OK, Exit.SIMULATION), talk
    rows = [committed(folder / words[3]) for words in commands]
    assert (rows[1]["diag/status"][-1] != 0).tolist() == [False, False, True, False, False, False]
    for part in (slice(0, 2), slice(3, 6)):
        assert not differing(*(worlds_of(one, part) for one in rows))
