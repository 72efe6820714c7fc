"""The end of a run: all that was asked for is simulated, with a last frame at the end, whatever the rhythm of frames."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.process import simcli
from support.runs import committed, differing, digest

from simcli import pipeline
from simcli.errors import SceneError
from simcli.records.reading.reader import open_trajectory

SOLVERS = ("generalized", "maximal", "natural", "affine")
LATER = [pytest.param(name, marks=pytest.mark.slow) if name != "generalized" else name for name in SOLVERS]
SCENE = """
simcli: 1
bodies: {a: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}}}
joints: {pin: {type: revolute, parent: world, child: a, at: [0, 0, 0], axis: [0, 1, 0], q: 0.5, damping: 0.1}}
events: [{at: 0.022, set: {joints.pin.damping: 5}}]
solver: {dt: 1.0e-3}
"""
DT = 1e-3
ROUNDING = 1e-14  # of coordinates and rates near one: kernels of other plans may be compiled otherwise


def asked(folder, name, *sets, **more):
    (folder / "scene.yaml").write_text(SCENE)
    return pipeline.Request(folder / "scene.yaml", folder / f"{name}.h5", sets, device="cpu", **more)


def run(request, stop_after=None):
    return pipeline.execute(pipeline.prepare(request), lambda tick: stop_after is None or tick.frames < stop_after)


@pytest.mark.parametrize(("every", "duration", "steps"), [
    (0.01, 0.03, (10, 20, 30)), (0.01, 0.025, (10, 20, 25)), (0.01, 0.005, (5,)), (0.01, 0.011, (10, 11)),
    (0.001, 0.003, (1, 2, 3)), (0.003, 0.01, (3, 6, 9, 10)), (0.1, 0.1, (100,)),
])  # fmt: skip
def test_frames_are_planned_to_the_end(every, duration, steps):
    spec = SimpleNamespace(
        solver=SimpleNamespace(dt=DT), output=SimpleNamespace(every=every), run=SimpleNamespace(duration=duration)
    )
    schedule = pipeline.schedule_of(spec)
    assert (schedule.n_frames, schedule.n_steps) == (len(steps), steps[-1])
    assert schedule.last_steps == steps[-1] % schedule.steps_per_frame


@pytest.mark.parametrize("solver", LATER)
def test_what_is_asked_for_is_simulated(tmp_path, solver):
    """Every frame holds what a run with a frame at each step has there, an event in the last part included."""
    whole = asked(tmp_path, "whole", f"solver.type={solver}", "run.duration=0.025", "output.every=0.001")
    assert run(whole).n_steps == 25
    for duration, steps in ((0.025, [0, 10, 20, 25]), (0.005, [0, 5])):
        request = asked(
            tmp_path, "part", f"solver.type={solver}", f"run.duration={duration}", "output.every=0.01", force=True
        )
        outcome = run(request)
        assert (outcome.status, outcome.n_frames, outcome.n_steps) == ("done", len(steps), steps[-1])
        with open_trajectory(request.output) as part, open_trajectory(whole.output) as all_steps:
            assert part.step[:].tolist() == steps
            np.testing.assert_allclose(part.time[:], np.array(steps) * DT, rtol=1e-15)
            for name in ("q", "qd"):
                got, reference = (getattr(one.joint("pin"), name)[:] for one in (part, all_steps))
                np.testing.assert_allclose(got, reference[steps], rtol=0, atol=ROUNDING)


def test_a_stopped_run_goes_on_to_the_same_end(tmp_path, monkeypatch):
    monkeypatch.setattr("simcli.records.writing.writer.PATIENCE_S", 0.0)
    sets = ("run.duration=0.401", "output.every=0.002", "solver.type=generalized")
    whole = run(asked(tmp_path, "whole", *sets))
    assert (whole.n_frames, whole.n_steps) == (202, 401)
    cut = asked(tmp_path, "cut", *sets, checkpoint_every=0.0)
    with monkeypatch.context() as patched:
        patched.setattr("simcli.solvers.shared.host.solver.CALL_SECONDS", 0.0)
        assert run(cut, 100).status == "stopped"
    outcome = run(replace(cut, resume=True))
    assert (outcome.status, outcome.n_frames, outcome.n_steps) == ("done", 202, 401)
    assert outcome.first_frame > 0
    assert digest(cut.output) == digest(whole.output)
    assert not differing(committed(cut.output), committed(whole.output))


@pytest.mark.parametrize(("at", "is_there"), [(0.01, True), (0.02, True), (0.025, True), (0.022, False), (0.03, False)])
def test_an_expectation_may_name_the_last_frame(tmp_path, at, is_there):
    expect = f"expect=[{{at: {at}, joint: pin, quantity: q, above: -9}}]"
    request = asked(tmp_path, "expects", "run.duration=0.025", "output.every=0.01", expect)
    if is_there:
        assert pipeline.prepare(request).schedule.n_frames == 3
        return
    with pytest.raises(SceneError) as caught:
        pipeline.prepare(request)
    assert [fault.code for fault in caught.value.faults] == ["SC233"]


def test_the_plan_says_how_the_run_ends(tmp_path):
    asked(tmp_path, "plan")
    words = ["scene.yaml", "--set", "run.duration=0.025", "--set", "output.every=0.01", "--dry-run"]
    assert "4 (one every 10 steps, the last after 5)" in simcli("run", *words, cwd=tmp_path).stdout
    plan = json.loads(simcli("run", *words, "--json", cwd=tmp_path).stdout)
    assert (plan["steps"], plan["frames"], plan["last_steps"]) == (25, 4, 5)
