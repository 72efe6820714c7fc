"""`simcli run --error-estimate`: within a factor of two of the true error, or it says that it cannot tell.

File and memory are told before a run starts, for kinds of scenes that differ in what fills them.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import get_args

import h5py
import numpy as np
import pytest
from support.diff_files import PERIOD, write_many, write_run
from support.process import python, simcli, start
from support.runs import SWING, committed, differing

import simcli as package
from simcli.analysis.diff.error_of_step import estimate_error
from simcli.analysis.diff.refinement import EstimatedQuantity, Sums, may_hit, order_and_error, rounding_floors, step_for
from simcli.analysis.drift import ORDER_OF_INTEGRATOR
from simcli.cli import process as cli_process
from simcli.cli.runs.refined_runs import refined_text
from simcli.errors import Exit, FileError
from simcli.kernels.language.kernel_cache import VARIABLE
from simcli.model.tables.model import JointKind
from simcli.records.contents.measures import EstimateVerdict
from simcli.spec.schema.scene import SolverSpec

MOST_BYTES = 200e6  # of a process, however large the files are
FACTOR = 2.0  # what is asked of an estimate
SOLVERS = {kind.model_fields["type"].annotation: kind for kind in get_args(get_args(SolverSpec)[0])}
QUICK = ("rk4",)  # others compile kernels that few tests need
CASES = [
    pytest.param(get_args(word)[0], name, id=f"{get_args(word)[0]}-{name}", marks=() if name in QUICK else pytest.mark.slow)
    for word, kind in SOLVERS.items()
    for name in get_args(kind.model_fields["integrator"].annotation)
    if name != "auto"
]

# Free bodies, so that all solvers know them and none of their stiffness shows: a mass on a spring, one that is thrown, a
# spinning one. Two worlds.
FREE = """simcli: 1
world: {gravity: [0, 0, -9.81]}
params: {k: 60.0}
bodies:
  mass: {mass: 2, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0.2, 0, 0]}, points: {hook: [0, 0, 0]}}
  spinner: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}, pose: {xyz: [0, 3, 0]}, velocity: {angular: [0, 0, 3]}}
forces:
  s: {type: spring, a: {world: [-1000, 0, 0]}, b: mass/hook, stiffness: "${k}", rest_length: 1000}
  up: {type: wrench, body: mass, force: [0, 0, 19.62], at: [0, 0, 0]}
solver: {type: generalized, dt: 2.0e-3}
run: {duration: 0.6}
output: {every: 0.02, channels: [state, energy]}
batch: {vary: {params.k: {grid: [30, 60]}}}
"""
PENDULUM = SWING.replace("dt: 1.0e-3", "dt: 2.0e-3").replace("duration: 0.06", "duration: 0.4")
BALL = "shapes: {ball: {type: sphere, radius: 0.1, density: 900}}"
BOUNCE = f"""simcli: 1
bodies:
  ball: {{pose: {{xyz: [0, 0, 0.3]}}, {BALL}}}
world: {{shapes: {{ground: {{type: plane}}}}}}
solver: {{type: generalized, dt: 1.0e-3}}
run: {{duration: 0.5}}
output: {{every: 0.01}}
"""
LIMIT = """simcli: 1
world: {gravity: [0, 0, 0]}
bodies:
  hit: {mass: 1, inertia: {diag: [1, 1, 1]}}
joints:
  rail: {type: prismatic, parent: world, child: hit, at: [0, 0, 0], axis: [1, 0, 0], qd: 1, limit: {upper: 0.1005}}
solver: {type: generalized, dt: 1.0e-3, integrator: semi_implicit}
params: {v: 1.0}
run: {duration: 0.2}
output: {every: 0.05}
batch: {vary: {joints.rail.qd: {grid: [1, -1]}}}
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Run a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        words = [str(word) for word in words]
        code = cli_process.run_command(words, debug=False, as_json="--json" in words)
        said = capfd.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return run


@pytest.fixture
def estimated(command, tmp_path):
    """The estimate of a scene, and its run."""

    def run(text, *words):
        (tmp_path / "scene.yaml").write_text(text)
        done = command("run", "scene.yaml", "--error-estimate", "-o", "out.h5", "--force", "-q", *words)
        assert done.code == Exit.OK, done.err
        with package.open("out.h5") as run:
            return run.error_estimate, {name: run.read(f"frames/{name}") for name in ("body_q", "body_qd")}, run.time

    return run


def columns_of(found):
    """Verdict, error and order of each world by quantity and unit."""
    keys = zip(found.channel.tolist(), found.unit.tolist(), strict=True)
    return {key: (found.verdict[:, k], found.error[:, k], found.order[:, k]) for k, key in enumerate(keys)}


def within(estimate, true):
    return true / FACTOR <= estimate <= true * FACTOR


@pytest.mark.parametrize(("solver", "integrator"), CASES)
def test_estimate_is_within_a_factor_of_two_of_closed_forms(estimated, solver, integrator):
    tolerance = ["--set", "solver.tolerance=1e-13"] if solver == "affine" else []
    found, frames, time = estimated(FREE, "--solver", solver, "--set", f"solver.integrator={integrator}", *tolerance)
    rate = np.sqrt(np.array([30.0, 60.0]) / 2)
    x, v = 0.2 * np.cos(np.outer(time, rate)), -0.2 * rate * np.sin(np.outer(time, rate))
    place, speed = frames["body_q"], frames["body_qd"]
    falling = -9.81 * time[:, None]
    fall = -0.5 * 9.81 * time[:, None] ** 2
    errors = {
        ("body.position", "m"): np.maximum(abs(place[:, :, 0, 0] - x), abs(place[:, :, 1, 2] - fall)).max(axis=0),
        ("body.velocity", "m/s"): np.maximum(abs(speed[:, :, 0, 0] - v), abs(speed[:, :, 1, 2] - falling)).max(axis=0),
        ("body.orientation", "rad"): turn_errors(place[:, :, 1, 3:], 3 * time),
    }
    columns = columns_of(found)
    told = 0
    for key, true in errors.items():
        verdict, error, order = columns[key]
        for world in range(2):
            if verdict[world] == EstimateVerdict.GOOD:
                told += 1
                assert within(error[world], true[world]), (key, world, error[world], true[world])
                assert not order[world] > ORDER_OF_INTEGRATOR[integrator] + 1.2
            elif verdict[world] == EstimateVerdict.ROUNDING:
                assert true[world] <= 2 * error[world]
    assert told >= 2, columns  # position at least
    verdict, _, order = columns["body.position", "m"]
    assert (verdict == EstimateVerdict.GOOD).all()
    gained = 1 if integrator == "moreau" else 0  # its step is of second order where nothing is sudden
    assert order == pytest.approx(ORDER_OF_INTEGRATOR[integrator] + gained, abs=0.15)


def turn_errors(quaternions, angle):
    """[rad], (W,), largest angle between rotations and those about z by an angle."""
    exact = np.stack([0 * angle, 0 * angle, np.sin(angle / 2), np.cos(angle / 2)], axis=-1)[:, None]
    lengths = [np.linalg.norm(quaternions + sign * exact, axis=-1) for sign in (-1, 1)]
    return 2 * np.minimum(*lengths).max(axis=0)


@pytest.mark.parametrize(
    "integrator",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ("semi_implicit", "implicit", "rk4")],
)
def test_estimate_of_joints_is_within_a_factor_of_two(estimated, command, integrator):
    """The truth is a run at a thirty-second of the step, in fourth order."""
    found, _, _ = estimated(PENDULUM, "--set", f"solver.integrator={integrator}")
    words = ("--dt", 0.002 / 32, "--set", "solver.integrator=rk4", "-o", "fine.h5", "-q")
    assert command("run", "scene.yaml", *words).code == Exit.OK
    columns = columns_of(found)
    with package.open("out.h5") as run, package.open("fine.h5") as fine:
        for name, unit in (("q", "rad"), ("qd", "rad/s"), ("qdd", "rad/s^2")):
            true = abs(run.read(f"frames/joint_{name}") - fine.read(f"frames/joint_{name}")).max()
            verdict, error, _ = columns[f"joint.{name}", unit]
            if name != "qdd" or verdict[0] == EstimateVerdict.GOOD:  # of a first-order step it is the mean over the step
                assert verdict[0] == EstimateVerdict.GOOD
                assert within(error[0], true), (name, error, true)


@pytest.mark.slow
def test_where_shapes_touch_nothing_is_told(estimated):
    found, _, _ = estimated(BOUNCE)
    assert (found.verdict == EstimateVerdict.IMPACTS).all()
    assert np.isnan(found.error).all()
    assert found.difference.max() > 1e-6  # the differences are told


def test_a_limit_that_may_be_met_forbids_an_estimate_in_its_world_only(estimated):
    found, _, _ = estimated(LIMIT)
    assert (found.verdict[0] == EstimateVerdict.IMPACTS).all()
    assert EstimateVerdict.IMPACTS not in found.verdict[1]


def test_models_that_can_touch_may_hit():
    run = SimpleNamespace(n_worlds=3)
    joints = SimpleNamespace(kind=np.array([int(JointKind.REVOLUTE)]))
    free, touching = (SimpleNamespace(contacts=contacts, joints=joints) for contacts in (None, object()))
    assert may_hit(run, {}, [touching]).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcli.analysis.diff.refinement.has_bounds", lambda model: False)
        assert not may_hit(run, {}, [free]).any()
        assert may_hit(run, {}, [free, touching]).all()  # an event switches contact on


def test_chaos_and_steps_too_long_have_no_order(estimated):
    found, _, _ = estimated(PENDULUM.replace("2.0e-3", "0.01"), "--duration", "30")
    verdict, error, _ = columns_of(found)["joint.q", "rad"]
    assert verdict[0] == EstimateVerdict.IRREGULAR
    assert np.isnan(error[0])


def test_a_world_that_ends_at_once_has_no_estimate(tmp_path):
    def end(columns):
        for name, values in columns.items():
            if name.startswith(("frames/", "energy/")):
                values[1:, 2] = np.nan

    runs = [package.open(write_run(tmp_path / f"{name}.h5", range(3), change=end)) for name in "abc"]
    found = estimate_error(runs, [], "rk4", 1e-3)
    assert (found.verdict[2] == EstimateVerdict.SHORT).all()
    assert (found.verdict[:2] == EstimateVerdict.ROUNDING).all()
    assert "ended before its second frame (in 1 of 3 worlds)" in refined_text(found, None)
    for run in runs:
        run.close()


def test_a_failed_world_is_told_and_the_others_have_estimates(command, tmp_path):
    scene = PENDULUM.replace("value: 0.0", 'value: "${push}"').replace("simcli: 1", "simcli: 1\nparams: {push: 0}")
    (tmp_path / "scene.yaml").write_text(scene)
    done = command("run", "scene.yaml", "--error-estimate", "--vary", "params.push=0,1e12", "-o", "out.h5")
    assert done.code == Exit.SIMULATION
    assert "cannot tell: the world failed (in 1 of 2 worlds)" in done.err
    with package.open("out.h5") as run:
        found = run.error_estimate
    assert (found.verdict[1] == EstimateVerdict.FAILED).all()
    assert columns_of(found)["joint.q", "rad"][0][0] == EstimateVerdict.GOOD


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a run of two worlds without an estimate, and one with."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (folder / "scene.yaml").write_text(PENDULUM)
        words = ("run", "scene.yaml", "--vary", "joints.pin.q=2,2.5", "-q", "-o")
        assert cli_process.run_command([*words, "plain.h5"], debug=False, as_json=False) == Exit.OK
        assert cli_process.run_command([*words, "out.h5", "--error-estimate"], debug=False, as_json=False) == Exit.OK
    return folder


def test_the_run_itself_is_the_same_to_the_byte(made, command):
    assert differing(committed(made / "plain.h5"), committed(made / "out.h5")) == []
    assert sorted(path.name for path in made.iterdir()) == ["out.h5", "plain.h5", "scene.yaml"]
    assert command("check", made / "out.h5").code == Exit.OK
    assert "error estimate  of" in command("info", made / "out.h5").out
    assert command("diff", made / "plain.h5", made / "out.h5", "--exact").code == Exit.OK
    with package.open(made / "plain.h5") as run:
        assert run.error_estimate is None


def test_a_run_that_had_ended_gets_an_estimate_with_resume(made, command, tmp_path):
    for name in ("scene.yaml", "plain.h5"):
        shutil.copy(made / name, tmp_path)
    words = ("run", "scene.yaml", "--vary", "joints.pin.q=2,2.5", "--error-estimate", "--resume", "-o", "plain.h5", "--json")
    done = command(*words, "--wanted", "1e-12")
    assert done.code == Exit.OK, done.err
    assert differing(committed("plain.h5"), committed(made / "out.h5")) == []
    with package.open("plain.h5") as run, package.open(made / "out.h5") as other:
        found, same = run.error_estimate, other.error_estimate
    assert all(
        np.array_equal(getattr(found, name), getattr(same, name), equal_nan=name in ("error", "order"))
        for name in vars(found)
    )
    said = json.loads(done.out)["error_estimate"]
    for k, one in enumerate(said["channels"]):
        assert (one["channel"], one["unit"]) == (found.channel[k], found.unit[k])
        assert one["difference"] == found.difference[one["world"], k]
    assert said["channels"][0]["step_wanted"] < 0.002
    text = refined_text(found, 1e-12)
    assert "error of the step of 0.002 s, from runs at 0.001 and 0.0005 s:" in text
    assert ", world 1" in text
    assert "step wanted" in text


@pytest.mark.slow
def test_the_estimate_of_a_world_is_the_same_alone(made, command):
    words = ("run", made / "scene.yaml", "--vary", "joints.pin.q=2,2.5", "--world", "1", "--error-estimate", "-q")
    assert command(*words, "-o", "one.h5").code == Exit.OK
    with package.open(made / "out.h5") as both, package.open("one.h5") as one:
        assert np.array_equal(both.error_estimate.error[1:], one.error_estimate.error, equal_nan=True)
        assert (both.error_estimate.label[1:] == one.error_estimate.label).all()


@pytest.mark.slow
def test_the_wanted_step_reaches_the_wanted_error(command, tmp_path):
    (tmp_path / "scene.yaml").write_text(PENDULUM)
    words = ("run", "scene.yaml", "--error-estimate", "-o", "out.h5", "--force", "--json", "--set", "solver.integrator=rk4")
    first = json.loads(command(*words, "--wanted", "1e-11").out)["error_estimate"]["channels"][0]
    assert first["error"] > 1e-11
    second = json.loads(command(*words, "--dt", repr(first["step_wanted"])).out)["error_estimate"]["channels"][0]
    assert second["error"] <= 1.2e-11


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--wanted", "1e-6"], "it goes with --error-estimate"),
        (["--error-estimate", "--wanted", "0"], "above 0"),
        (["--error-estimate", "--set", "output.channels=[]"], "compares frames"),
    ],
)
def test_wrong_usage_is_refused_before_a_file_is_made(command, tmp_path, words, text):
    (tmp_path / "scene.yaml").write_text(PENDULUM)
    done = command("run", "scene.yaml", *words)
    assert done.code == Exit.USAGE
    assert text in done.err
    assert not (tmp_path / "outputs").exists()


def test_a_finer_run_that_cannot_be_written_leaves_the_run_and_is_told(command, tmp_path):
    (tmp_path / "scene.yaml").write_text(PENDULUM)
    (tmp_path / ".out.h5.estimate").write_text("in the way")
    done = command("run", "scene.yaml", "--error-estimate", "-o", "out.h5")
    assert done.code == Exit.OUTPUT, done.err
    assert "done: 1 world" in done.err
    assert ".out.h5.estimate" in done.err
    assert command("check", "out.h5").code == Exit.OK


def test_a_dry_run_counts_the_steps(command, tmp_path):
    (tmp_path / "scene.yaml").write_text(PENDULUM)
    said = json.loads(command("run", "scene.yaml", "--error-estimate", "--dry-run", "--json").out)
    assert (said["steps"], said["steps_for_error_estimate"]) == (200, 1200)


def test_ctrl_c_keeps_the_run_and_leaves_nothing_else(tmp_path):
    (tmp_path / "scene.yaml").write_text(PENDULUM)
    words = (
        "run",
        "scene.yaml",
        "--error-estimate",
        "-o",
        "out.h5",
        "--duration",
        "400",
        "--dt",
        "1e-3",
        "--set",
        "output.every=0.1",
    )
    process = start(*words, cwd=tmp_path)
    folder = tmp_path / ".out.h5.estimate"
    while not (folder / "2.h5").exists():
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED, err
    assert "no estimate of the error" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.h5", "scene.yaml"]
    assert simcli("check", "out.h5", cwd=tmp_path).returncode == Exit.OK


def test_a_file_that_holds_half_an_estimate_still_opens(made, tmp_path):
    shutil.copy(made / "out.h5", tmp_path)
    with h5py.File(tmp_path / "out.h5", "r+") as file:
        del file["error_estimate/error"]
    with package.open(tmp_path / "out.h5") as run:
        assert run.n_frames == 41
        with pytest.raises(FileError):
            run.error_estimate  # noqa: B018


def test_frames_of_one_time_are_compared(tmp_path):
    """Of runs whose frames are not the same, as where `output.every` was changed on the way."""
    shift = {"a": 1.0, "b": 0.5, "c": 0.25}

    def moved(by):
        def change(columns):
            columns["frames/body_q"][..., 0] += by * np.arange(len(columns["frames/body_q"]))[:, None, None]

        return change

    which = {"a": range(12), "b": range(0, 12, 2), "c": range(0, 12, 3)}
    runs = [package.open(write_run(tmp_path / f"{name}.h5", which[name], change=moved(shift[name]))) for name in which]
    found = estimate_error(runs, [], "rk4", 1e-3)
    k = found.channel.tolist().index("body.position")
    # Frames 0 and 6 alone are common: moved by 6, by 3 x 0.5 and by 2 x 0.25.
    assert found.difference[:, k] == pytest.approx(6 - 1.5)
    assert found.finer_difference[:, k] == pytest.approx(1.5 - 0.5)
    assert found.time[:, k] == pytest.approx(6 * PERIOD)
    for run in runs:
        run.close()


@pytest.mark.slow
def test_large_files_are_read_in_little_memory(tmp_path):
    paths = [tmp_path / f"{k}.h5" for k in range(3)]
    for k, path in enumerate(paths):
        write_many(path, 200_000, 1 + 1e-3 / 2**k)
    code = (
        f"import simcli; from simcli.analysis.diff.error_of_step import estimate_error; "
        f"found = estimate_error([simcli.open(path) for path in {list(map(str, paths))}], [], 'rk4', 1e-3); "
        f"print(found.order[0, 0])"
    )
    # A process counts as large as the one that started it was, so that a small one stands between.
    peak = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )
    said = python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {peak!r}, {code!r}], check=True)")
    order, most = map(float, said.split())
    assert order == pytest.approx(1, abs=1e-6)
    assert most < MOST_BYTES


@pytest.mark.parametrize("order", [1, 2, 4])
def test_order_and_error_of_made_up_runs(order):
    """Against an oracle without files: y + C(t) h^p, with a next term."""
    time = np.linspace(0, 1, 50)
    exact = np.sin(3 * time)[:, None, None]
    bend = np.stack([np.cos(time), time**2], axis=-1)[:, None]
    sums, what = Sums(1), EstimatedQuantity("joint.q", "rad", ("joint.a.q", "joint.b.q"), np.arange(2))
    tiles = [exact + bend * h**order + 0.1 * bend**2 * h ** (order + 1) for h in (0.02, 0.01, 0.005)]
    for half in (slice(0, 20), slice(20, 50)):
        sums.add(what, [tile[half] for tile in tiles], time[half], np.arange(1))
    seen, error, verdict = order_and_error(sums, rounding_floors(sums.scale, 1e-16, 100), order)
    assert verdict[0] == EstimateVerdict.GOOD
    assert seen[0] == pytest.approx(order, abs=0.05)
    assert error[0] == pytest.approx(abs(tiles[0] - exact).max(), rel=0.05)
    frame, _, component = np.unravel_index(abs(tiles[0] - tiles[1]).argmax(), (50, 1, 2))
    assert (sums.label[0], sums.time[0]) == (what.labels[component], time[frame])
    noise = np.random.default_rng(0).normal(size=(3, 50, 1, 2)) * 1e-3
    sums = Sums(1)
    sums.add(what, [tile + one for tile, one in zip(tiles, noise, strict=True)], time, np.arange(1))
    assert order_and_error(sums, rounding_floors(sums.scale, 1e-16, 100), order)[2][0] == EstimateVerdict.IRREGULAR


def test_wanted_steps_are_parts_with_few_digits():
    assert step_for(1.0, 0.5, 2, 1e-3) == 1e-3
    assert step_for(1.0, 4.0, 2, 1e-3) == 5e-4
    assert step_for(1.0, 9.0, 2, 1e-3) == 1e-3 / 4
    assert step_for(1.0, 11.0, 1, 1e-3) == 1e-3 / 16
    assert step_for(1.0, 1e6, 1, 1e-3) == pytest.approx(1e-9)


WITHIN = 0.2  # what is asked of an estimate, relative
ROD = "{mass: 1, com: [0.1, 0, 0], inertia: {diag: [1, 1, 1]}}"
PIN = f"bodies: {{rod: {ROD}}}\njoints: {{pin: {{type: revolute, parent: world, child: rod, axis: [0, 1, 0]}}}}\n"
ESTIMATE_FREE = "bodies:\n" + "".join(
    f"  b{k}: {{pose: {{xyz: [0, 0, {k}]}}, mass: 1, inertia: {{diag: [1, 1, 1]}}}}\n" for k in range(400)
)
ESTIMATE_BALL = "shapes: {s: {type: sphere, radius: 0.1, density: 900}}"
SPHERES = "bodies:\n" + "".join(f"  s{k}: {{pose: {{xyz: [{k}, 0, 0.11]}}, {ESTIMATE_BALL}}}\n" for k in range(8))
SPHERES += "world: {shapes: {ground: {type: plane}}}\n"
GRID = "bodies:\n" + "".join(
    f"  s{k}: {{pose: {{xyz: [{k % 25}, {k // 25}, 0.11]}}, {ESTIMATE_BALL}}}\n" for k in range(600)
)
GRID += "world: {shapes: {ground: {type: plane}}}\n"
OUTPUT = "output: {every: 0.01, channels: [state, energy, reactions]}\n"
SCENES = {
    "frames": PIN + "solver: {type: generalized, integrator: rk4}\nrun: {duration: 2}\noutput: {every: 0.01}\n",
    "worlds": PIN + "solver: {type: generalized, integrator: rk4}\nrun: {duration: 0.5}\noutput: {every: 0.01}\n"
    "batch: {worlds: 500, vary: {bodies.rod.mass: {uniform: [1, 2]}}}\n",
    "bodies": ESTIMATE_FREE + "solver: {type: generalized, integrator: rk4}\nrun: {duration: 0.03}\noutput: {every: 0.01}\n",
    "maximal": PIN + "solver: {type: maximal}\nrun: {duration: 0.5}\n" + OUTPUT,
    "contact": SPHERES + "solver: {type: generalized}\nrun: {duration: 0.3}\noutput: {every: 0.01}\n",
    "affine contact": GRID + "solver: {type: affine, dt: 0.01}\nrun: {duration: 0.03}\noutput: {every: 0.01}\n",
    "affine": PIN + "solver: {type: affine}\nrun: {duration: 0.3}\n" + OUTPUT,
}
# A process counts as large as the one that started it was, so that a small one stands between.
PEAK = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
)  # [B]
ESTIMATE_QUICK = ("frames", "worlds")  # the others compile kernels of their own


@pytest.mark.parametrize(
    "name", [name if name in ESTIMATE_QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SCENES]
)
def test_file_and_memory_are_as_large_as_was_told(name, tmp_path):
    """The memory is the peak of the larger process, which steps, in a run that finds no kernels compiled.

    A machine short of memory takes pages of libraries away from a process: the largest of some peaks is the one meant.
    """
    (tmp_path / "a.yaml").write_text(f"simcli: 1\n{SCENES[name]}")
    words = [sys.executable, "-m", "simcli", "run", str(tmp_path / "a.yaml"), "-o", str(tmp_path / "a.h5")]
    told = json.loads(subprocess.check_output([*words, "--dry-run", "--json"], text=True))
    peak = 0
    for again in range(3):
        cold = {**os.environ, VARIABLE: str(tmp_path / f"kernels{again}")}
        peak = max(peak, int(subprocess.check_output([sys.executable, "-c", PEAK, *words, "-q", "--force"], env=cold)))
        if told["memory_bytes"] < (1 + WITHIN) * peak:
            break
    size = (tmp_path / "a.h5").stat().st_size
    assert abs(told["file_bytes"] - size) < WITHIN * size
    assert abs(told["memory_bytes"] - peak) < WITHIN * peak
