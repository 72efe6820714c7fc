"""Steps that are not solved, and ledgers of energy that do not close: what a run says of them, and what it comes to."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from support.contact_scenes import INTEGRATOR

import simcli as package
from simcli import pipeline
from simcli.analysis.drift import LIMIT, EnergyAccount, advice_of, round_down
from simcli.cli.console import plural
from simcli.cli.doorman import run_command
from simcli.cli.runs.run import exit_code
from simcli.cli.runs.summary import outcome_json, outcome_text
from simcli.errors import Exit, SceneError
from simcli.job import Outcome
from simcli.model.snapshot import Unsolved
from simcli.pipeline.stepping import heed_unsolved
from simcli.solvers.shared.contacts.report import SUMMARY, worst_event, worst_step
from simcli.spec import load_document, resolve

DT = 1e-3  # [s]
COLUMN = {name: k for k, name in enumerate(SUMMARY)}

# Asked for more than rounding allows, so that steps are left unsolved.
STRICT = """
simcli: 1
materials: {{m: {{friction: 0.5}}}}
world: {{shapes: {{ground: {{type: plane, material: m}}}}}}
bodies:
  ball: {{mass: 1, inertia: {{diag: [0.01, 0.01, 0.01]}}, pose: {{xyz: [0, 0, 0.12]}}, velocity: {{linear: [1, 0.3, 0]}},
          shapes: {{s: {{type: sphere, radius: 0.1, material: m}}}}}}
solver: {{type: {solver}, integrator: {integrator}, dt: 1.0e-3, contact: {{tolerance: 1.0e-19}}}}
run: {{duration: 0.1, on_unsolved: {wanted}}}
output: {{every: 1.0e-3, channels: [state]}}
"""
# A crank that is led to where its rod cannot reach the rail.
BEYOND = """
simcli: 1
world: {{gravity: [0, 0, 0]}}
bodies:
  crank: {{pose: {{xyz: [0.2, 0, 0]}}, mass: 1, inertia: {{diag: [0.01, 0.01, 0.01]}}}}
  rod: {{pose: {{xyz: [0.5, 0, 0]}}, mass: 1, inertia: {{diag: [0.02, 0.02, 0.02]}}}}
  slider: {{pose: {{xyz: [0.6, 0, 0]}}, mass: 1, inertia: {{diag: [0.01, 0.01, 0.01]}}}}
joints:
  pin: {{type: revolute, parent: world, child: crank, at: [0, 0, 0], axis: [0, 1, 0], motion: {{velocity: 5}}}}
  knee: {{type: revolute, parent: crank, child: rod, at: [0.4, 0, 0], axis: [0, 1, 0]}}
  wrist: {{type: revolute, parent: rod, child: slider, at: [0.6, 0, 0], axis: [0, 1, 0]}}
  rail: {{type: prismatic, parent: world, child: slider, at: [0.6, 0, 0], axis: [1, 0, 0], loop: true}}
solver: {{type: {solver}, integrator: {integrator}, dt: 1.0e-3, max_velocity: 1.0e+9}}
run: {{duration: 0.12}}
output: {{every: 1.0e-3, channels: [state]}}
"""
REACH = np.arcsin(0.5) / 5  # [s], of the crank of 0.4 m with a rod of 0.2 m


# From made-up numbers


def test_the_worst_step_of_all_worlds():
    summary = np.zeros((4, len(SUMMARY)))
    assert worst_step(summary, DT) is None
    summary[1, [COLUMN["unsolved"], COLUMN["worst"], COLUMN["worst_step"]]] = 7, 2e-3, 40
    summary[2, [COLUMN["unsolved"], COLUMN["worst"], COLUMN["worst_step"]]] = 1, 3.0, 90
    found = worst_step(summary, DT)
    assert found == Unsolved(2, 90, 90 * DT, 3.0, 8, 2)
    event = worst_event(found)
    assert (event.code, event.severity, event.world, event.step, event.value) == ("SC668", 0, 2, 90, 3.0)
    summary[1, COLUMN["worst"]] = np.nan  # no number is worse than any
    assert worst_step(summary, DT).world == 1


@pytest.mark.parametrize(
    ("wanted", "tells", "code"),
    [
        ("warn", True, Exit.OK), ("fail", True, Exit.SIMULATION),
        ("{action: fail, above: 1.9 mm/s}", True, Exit.SIMULATION), ("{action: fail, above: 2.1 mm/s}", False, Exit.OK),
        ("{above: 1}", False, Exit.OK),
    ],
)  # fmt: skip
def test_what_a_scene_makes_of_it(wanted, tells, code, tmp_path):
    spec = scene(tmp_path, STRICT, "generalized", wanted)
    job = SimpleNamespace(spec=spec, numbers=(5,))
    outcome = Outcome(tmp_path / "a.h5", n_worlds=1)
    heed_unsolved(job, outcome, Unsolved(0, 90, 0.09, 2e-3, 8, 1))
    assert exit_code(outcome, None) == code
    text, told = outcome_text(outcome), outcome_json(outcome)["unsolved"]
    line = "8 steps in 1 world left unsolved; the worst is step 90 of world 5 (t = 0.09 s), by 0.002 m/s"
    assert (line in text) == tells
    assert told == ({"world": 5, "step": 90, "time": 0.09, "residual": 2e-3, "n_steps": 8, "n_worlds": 1} if tells else None)


@pytest.mark.parametrize("wrong", ["stop", "{action: stop}", "{above: -1}", "{above: 1 kg}", "{abov: 1}", "[fail]"])
def test_other_words_are_refused_where_they_stand(wrong, tmp_path):
    with pytest.raises(SceneError) as caught:
        scene(tmp_path, STRICT, "generalized", wrong)
    (fault,) = caught.value.faults
    assert "on_unsolved" in STRICT.splitlines()[fault.where.line - 1]


def scene(folder, text, solver, wanted="warn", integrator=None):
    path = folder / "s.yaml"
    path.write_text(text.format(solver=solver, wanted=wanted, integrator=integrator or INTEGRATOR[solver]))
    return resolve(load_document(path))


def account(mass=2.0, worlds=3):
    model = SimpleNamespace(n_worlds=worlds, n_bodies=1, bodies=SimpleNamespace(mass=np.array([[mass]])),
                            gravity=np.array([[0, 0, -9.81]]))  # fmt: skip
    return EnergyAccount(model)


def columns(**energies):
    names = ("kinetic", "potential", "elastic", "dissipated", "input", "drift")
    shape = np.broadcast_shapes(*(np.shape(values) for values in energies.values()))
    return {f"energy/{name}": np.broadcast_to(energies.get(name, 0.0), shape) for name in names}


def test_drift_is_told_against_what_changed_hands_and_not_against_a_zero():
    """World 0 is good, world 1 has swung by 4 J and lost 0.08 J, world 2 stands on a hill of 1e4 J."""
    seen = account()
    seen.see(columns(potential=[[5.0, 1e4, 1e4], [1.0, 1e4 - 4, 1e4]], kinetic=[[0, 0, 0], [4.0, 3.92, 0]],
                     drift=[[0, 0, 0], [0.0, -0.08, 1e-7]]))  # fmt: skip
    seen.see(columns(potential=[[5.0, 1e4, np.nan]], drift=[[0.03, -0.02, np.nan]]))  # a world has ended
    drift = seen.worst("generalized", "semi_implicit", DT, touches=False)
    assert (drift.world, drift.drift, drift.energy) == (1, -0.08, 4.0)
    assert drift.part == pytest.approx(0.02)
    assert "2 % of the 4 J" in outcome_text(Outcome("a.h5", drift=drift))
    assert outcome_json(Outcome("a.h5", drift=drift))["energy_drift"]["part"] == drift.part


@pytest.mark.parametrize("term", ["kinetic", "potential", "elastic", "dissipated", "input"])
def test_every_term_counts_as_energy(term):
    for drift, told in ((0.9 * LIMIT * 5, False), (1.1 * LIMIT * 5, True)):
        seen = account(worlds=1)
        seen.see(columns(**{term: [[0.0], [5.0]], "drift": [[0.0], [drift]]}))
        assert (seen.worst("generalized", "rk4", DT, touches=False) is not None) == told
    assert account().worst("generalized", "rk4", DT, touches=False) is None  # without the channel


def test_what_is_left_of_rest_is_no_energy():
    seen = account(worlds=1)
    seen.see(columns(kinetic=[[0.0], [1e-12]], potential=[[3.0], [3.0 - 1e-9]], drift=[[0.0], [1e-9]]))
    assert seen.worst("generalized", "semi_implicit", DT, touches=True) is None


def test_advice_has_a_step_by_the_order_and_an_integrator_that_the_scene_allows():
    assert [round_down(x) for x in (1e-3, 9.9e-4, 3e-4, 0.02)] == pytest.approx([1e-3, 5e-4, 2e-4, 0.02])
    advice = advice_of(0.04, "generalized", "semi_implicit", 1e-3, False)
    assert advice.startswith("solver.dt of 0.0002 s, or integrator: implicit")
    assert advice_of(0.04, "generalized", "semi_implicit", 1e-3, True) == "solver.dt of 0.0002 s"
    assert advice_of(0.04, "natural", "zhong06", 1e-3, False) == "solver.dt of 0.0002 s"
    assert advice_of(0.16, "generalized", "rk4", 1e-3, False) == "solver.dt of 0.0002 s"
    assert advice_of(0.04, "maximal", "semi_implicit", 1e-3, False) == "solver.dt of 0.0002 s"  # which has no other
    assert "bdf2" in advice_of(0.04, "affine", "bdf1", 1e-3, True)


# Whole runs

SOLVERS = ["generalized", *(pytest.param(name, marks=pytest.mark.slow) for name in ("maximal", "natural"))]


def run(folder, *words):
    return run_command(["run", str(folder / "s.yaml"), "-o", str(folder / "s.h5"), "--device", "cpu", *words],
                       debug=False, as_json=False)  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_quiet_run_tells_the_worst_step_and_fails_where_that_is_wanted(solver, tmp_path, capfd):
    """Judged by the residuals of its own frames; one that is resumed after its end says the same."""
    scene(tmp_path, STRICT, solver, "fail")
    for more in ([], ["--resume", "--json"]):
        assert run(tmp_path, "-q", *more) == Exit.SIMULATION
        told = capfd.readouterr()
        with package.open(tmp_path / "s.h5") as file:
            left = file.diag.residual[:, 0]
            steps = 1 + np.flatnonzero(left[1:] > 1e-17)
            worst = steps[left[steps].argmax()]
        line = f"the worst is step {worst} of world 0 (t = {worst * DT:.6g} s), by {left[worst]:.3g} m/s"
        assert f"error: {plural(len(steps), 'step')} in 1 world left unsolved; {line}" in told.err
    assert json.loads(told.out)["unsolved"]["residual"] == left[worst]


@pytest.mark.slow
def test_a_resumed_run_keeps_the_worst_step(tmp_path, monkeypatch):
    """Cut where the impact, by far the worst, is over."""
    monkeypatch.setattr("simcli.solvers.shared.host.solver.CALL_SECONDS", 0.0)
    monkeypatch.setattr("simcli.records.writing.writer.PATIENCE_S", 0.0)
    scene(tmp_path, STRICT, "generalized")

    def request(**more):
        return pipeline.prepare(pipeline.Request(tmp_path / "s.yaml", tmp_path / "s.h5", device="cpu", **more))

    first = pipeline.execute(request(), lambda tick: tick.frames < 80)
    assert first.status == "stopped"
    second = pipeline.execute(request(resume=True))
    assert second.first_frame > 0
    assert second.unsolved.residual >= first.unsolved.residual
    with package.open(tmp_path / "s.h5") as file:
        assert second.unsolved.residual == file.diag.residual[1:, 0].max()
        assert second.unsolved.step == 1 + file.diag.residual[1:, 0].argmax()


LOOPS = [("generalized", "semi_implicit"), ("generalized", "rk4"), ("generalized", "implicit"), ("maximal", "semi_implicit"),
         ("natural", "zhong06"), ("natural", "moreau")]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "integrator"), LOOPS)
def test_a_loop_that_cannot_close_is_told(solver, integrator, tmp_path, capfd):
    """A crank that is led beyond the reach of its rod leaves steps unsolved from there on, and none before."""
    scene(tmp_path, BEYOND, solver, integrator=integrator)
    run(tmp_path, "-q")
    assert "left unsolved; the worst is step" in capfd.readouterr().err
    with package.open(tmp_path / "s.h5") as file:
        first = min(event.time for event in file.events if event.code == "SC661")
    assert REACH - 2 * DT <= first <= REACH + 2 * DT
