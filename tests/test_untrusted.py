"""Worlds that come to their end, but are not to be trusted: exit codes, events, and their status in tables and searches."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.solver_modes import MODES

import simcli as package
from simcli.analysis.drift import Drift
from simcli.analysis.worlds.world_table import read_table
from simcli.cli.doorman import run_command
from simcli.cli.runs.summary import drift_text
from simcli.errors import Exit
from simcli.pipeline import execution
from simcli.search.batches import Batches
from simcli.search.fits.data import Log
from simcli.search.fits.series import Rhythm, numbers_at
from simcli.search.intervals import Interval
from simcli.search.quantities import Measured

FAR, NEAR = 0.5, 0.15  # [m], of two balls of 0.1 m: in the second world they overlap
BALL = "mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}, shapes: {s: {type: sphere, radius: 0.1}}"
# Along z nothing parts the two, so that every step of the second world is unsolved; free balls are pushed apart instead.
RAILS = ("joints: {j: {type: prismatic, parent: world, child: a, axis: [0, 0, 1]}, "
         "k: {type: prismatic, parent: world, child: b, axis: [0, 0, 1]}}")  # fmt: skip
SCENE = f"""
simcli: 1
params: {{x: {FAR}}}
world: {{gravity: [0, 0, 0]}}
bodies:
  a: {{{BALL}}}
  b: {{{BALL}, pose: {{xyz: ["${{x}}", 0, 0]}}}}
RAILS
measure: {{far: {{final: body.b.position}}}}
run: {{duration: 0.02RUN}}
output: {{every: 0.01}}
BATCH
"""
BATCH = f"batch: {{worlds: 2, vary: {{params.x: {{list: [{FAR}, {NEAR}]}}}}}}"
EVERY_SOLVER = ["generalized", *(pytest.param(name, marks=pytest.mark.slow) for name in ("maximal", "natural"))]


def written(folder, rails="", run="", batch=BATCH) -> Path:
    path = folder / "s.yaml"
    path.write_text(SCENE.replace("RAILS", rails).replace("RUN", run).replace("BATCH", batch))
    return path


def ran(folder, path, *words):
    """Exit code of a run, and how its worlds ended."""
    line = ["run", str(path), "-o", str(folder / "s.h5"), "--device", "cpu", "-q", "--force", *words]
    code = run_command(line, debug=False, as_json=False)
    with package.open(folder / "s.h5") as file:
        table = read_table([file]).columns
        events = {(event.code, event.world) for event in file.events if event.code in ("SC627", "SC628")}
    return code, list(zip(table["status"].values, table["status.reason"].values, strict=True)), events


@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize(("rails", "code", "reason"), [
    (RAILS, "SC627", "unsolved steps"), ("", "SC628", "energy from nothing"),
])  # fmt: skip
def test_a_world_that_is_wrong_fails_the_run_and_has_a_status_of_its_own(solver, rails, code, reason, tmp_path, capfd):
    path = written(tmp_path, rails)
    done, ends, events = ran(tmp_path, path, "--solver", solver)
    assert done == Exit.SIMULATION
    assert ends == [("ok", ""), ("untrusted", reason)]
    assert (code, 1) in events
    assert {world for _, world in events} == {1}
    assert "error: world 1: " in capfd.readouterr().err
    line = ["run", str(path), "-o", str(tmp_path / "s.h5"), "--device", "cpu", "--solver", solver, "--resume", "--json"]
    assert run_command(line, debug=False, as_json=True) == Exit.SIMULATION  # judged by the file of a run that has ended
    assert {one["world"] for one in json.loads(capfd.readouterr().out)["untrusted"]} == {1}
    assert ran(tmp_path, path, "--solver", solver, "--world", "1")[1] == [("untrusted", reason)]


@pytest.mark.parametrize(("rails", "run", "code"), [
    (RAILS, ", on_unsolved: warn, on_drift: warn", Exit.OK),
    (RAILS, ", on_unsolved: {above: 2}, on_drift: warn", Exit.OK),
    (RAILS, ", on_unsolved: {action: auto, share: 1}", Exit.SIMULATION),
    (RAILS, ", on_unsolved: fail", Exit.SIMULATION),
    ("", ", on_drift: warn", Exit.OK),
    ("", ", on_drift: {above: 1}", Exit.OK),  # of 0.25 J
    ("", ", on_drift: {action: fail, share: 0.5}", Exit.SIMULATION),
])  # fmt: skip
def test_a_scene_says_what_becomes_of_it(rails, run, code, tmp_path):
    assert ran(tmp_path, written(tmp_path, rails, run))[0] == code


@pytest.mark.slow
def test_energy_is_judged_where_it_is_written(tmp_path, capfd):
    path = written(tmp_path)
    assert ran(tmp_path, path, "--set", "output.channels=[state]")[0] == Exit.OK
    capfd.readouterr()
    words = ["-o", str(tmp_path / "s.h5"), "--device", "cpu", "--force", "--set", "run.on_drift=warn"]
    assert run_command(["run", str(path), *words], debug=False, as_json=False) == Exit.OK
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith(("energy: ", "done: "))]
    assert lines[0].startswith("energy: the ledger of world 1 is off by 0.25 J, 100 %")


@pytest.mark.slow
def test_a_sweep_has_the_status_of_its_cases(tmp_path, capfd):
    path = written(tmp_path, RAILS)
    line = ["sweep", "run", str(path), "-o", str(tmp_path / "d"), "-q"]
    assert run_command(line, debug=False, as_json=False) == Exit.SIMULATION
    capfd.readouterr()
    assert run_command(["sweep", "table", str(tmp_path / "d"), "--json"], debug=False, as_json=True) == Exit.OK
    columns = {one["name"]: one["values"] for one in json.loads(capfd.readouterr().out)["columns"]}
    ends = zip(columns["status"], columns["status.code"], strict=True)
    assert sorted((word, code or "") for word, code in ends) == [("ok", ""), ("untrusted", "SC627")]


def test_searches_leave_it_out(tmp_path):
    """Measures of optimize and solve, and the numbers of a fit, are none in such a world."""
    path = written(tmp_path, RAILS, batch="")
    measured = Measured(Batches(path, (), ["params.x"], "cpu"), "measure.far.x", [Interval("params.x", 0.1, 1.0, False, "")])
    values = measured(np.array([[FAR], [NEAR]]))
    np.testing.assert_array_equal(values, [FAR, np.nan])
    assert measured.without["untrusted (unsolved steps)"] == 1
    ran(tmp_path, written(tmp_path, RAILS))
    time = np.array([0.01, 0.02])
    nothing = np.full((2, 1), np.nan)
    log = Log(Path("log.csv"), time, np.array([2, 3]), ("body.b.position.x",), ("m",), nothing, nothing)
    with package.open(tmp_path / "s.h5") as file:
        found, _ = numbers_at(file, log, Rhythm(0.01, True, 0.02))
    np.testing.assert_allclose(found[:, :, 0], [[FAR, FAR], [np.nan, np.nan]])


@pytest.mark.parametrize("solver", EVERY_SOLVER)
@pytest.mark.parametrize(("more", "told"), [
    (["output.channels=[state]"], True), (["output.channels=[state]"], False),
    pytest.param(["output.channels=[joints]", "output.every=0.001"], True, marks=pytest.mark.slow),
])  # fmt: skip
def test_energy_that_is_not_written_stands_first_in_the_summary(solver, more, told, tmp_path, capfd):
    """And changes neither the exit code nor a number of the file; in the first world alone nothing is gained."""
    path = written(tmp_path, batch=BATCH if told else "")
    words = ["-o", str(tmp_path / "s.h5"), "--device", "cpu", "--force", "--solver", solver]
    words += [word for one in more for word in ("--set", one)]
    assert run_command(["run", str(path), *words], debug=False, as_json=False) == Exit.OK
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith(("energy: ", "done: "))]
    assert [line.split(":")[0] for line in lines] == ["energy", "done"][1 - told :]
    if told:
        assert lines[0].startswith("energy: the ledger of world 1 is off by 0.25 J, 100 %")
        assert lines[0].endswith("see what `simcli check` says of the start")  # as where the energy is written
        with package.open(tmp_path / "s.h5") as file:
            assert "energy" not in file.channels


@pytest.mark.parametrize(("touches", "gains", "untrusted", "says"), [
    (True, True, False, "check"), (True, False, True, "check"), (True, False, False, "dt"),
    (False, True, True, "dt"), (False, True, False, "dt"),  # as of a spring that is too stiff for its step
])  # fmt: skip
def test_what_is_advised_of_a_drift(touches, gains, untrusted, says):
    """The start where shapes may overlap there, whether or not the energy is written; else the step."""
    text = drift_text(Drift(0, 2.0, 1.0, "solver.dt of 0.01 s", gains, touches), untrusted)
    assert text.endswith({"check": "see what `simcli check` says of the start", "dt": "better: solver.dt of 0.01 s"}[says])


# What the frames of a run with the channel show is what one without it has found, and both move alike.
SWING = """
simcli: 1
bodies: {rod: {mass: 1, com: [0.5, 0, 0], inertia: {diag: [0.01, 0.1, 0.1]}}}
joints: {pin: {type: revolute, parent: world, child: rod, at: [0, 0, 0], axis: [0, 1, 0], damping: 0.05,
               drive: {mode: position, target: 1, stiffness: 3, damping: 0.1}}}
forces: {push: {type: wrench, body: rod, force: [0, 0, 1], at: [1, 0, 0]}}
solver: {type: SOLVER, integrator: INTEGRATOR, dt: 1e-3}
run: {duration: 0.64}
output: {every: 0.064, channels: CHANNELS}
batch: {vary: {joints.pin.q: {list: [0, 0.7, -1]}}}
"""
CHEAP = ("generalized", "rk4"), ("natural", "zhong06")
STEPS = [pytest.param(*mode, marks=[pytest.mark.slow] * (mode not in CHEAP)) for mode in MODES if mode[0] != "affine"]


@pytest.mark.parametrize(("solver", "integrator"), STEPS)
def test_extremes_are_those_that_frames_would_show(solver, integrator, tmp_path, monkeypatch):
    seen, columns = [], []
    judged = execution._judged

    def note(job, outcome, account):
        seen.append(account)
        return judged(job, outcome, account)

    monkeypatch.setattr(execution, "_judged", note)
    for channels in ("[joints]", "[joints, energy]"):
        text = SWING.replace("SOLVER", solver).replace("INTEGRATOR", integrator).replace("CHANNELS", channels)
        (tmp_path / "s.yaml").write_text(text)
        run_command(["run", str(tmp_path / "s.yaml"), "-o", str(tmp_path / "s.h5"), "--device", "cpu", "-q", "--force"],
                    debug=False, as_json=False)  # fmt: skip
        with package.open(tmp_path / "s.h5") as file:
            columns.append(file.joint("pin").q[:].tobytes() + file.joint("pin").qd[:].tobytes())
    assert columns[0] == columns[1]
    np.testing.assert_array_equal(seen[0].numbers(), seen[1].numbers())
    assert (seen[0].energy() > 0.1).all()
