"""`run.stop_when` and measures at every step, in all solvers, whatever frames are written, and how seldom."""

import numpy as np
import pytest
from test_measures import ALL, CHANNELS, SCENE, numbers, run

import simcli
from simcli import pipeline
from simcli.solvers import SOLVERS

EVERY = "output.every=0.001"
ENDS = [  # what ends a world; where that holds, of a run
    ("{quantity: joint.elbow.q, below: 0.45}", lambda run: run.joint("elbow").q < 0.45),
    ("{quantity: joint.pin.qd, above: 0.3}", lambda run: run.joint("pin").qd > 0.3),
    ("{quantity: body.lower.velocity, norm: true, above: 4}",
     lambda run: np.linalg.norm(run.body("lower").velocity, axis=2) > 4),
]  # fmt: skip


@pytest.fixture(scope="module", params=[
    pytest.param(name, marks=[pytest.mark.slow] * (name == "natural")) for name in SOLVERS])  # fmt: skip
def every(request, tmp_path_factory):
    """Of a solver: a folder, its measures over a file with every step, and that file."""
    folder = tmp_path_factory.mktemp(request.param)
    found, path = run(folder, SCENE + ALL, f"solver.type={request.param}", CHANNELS, EVERY, name="every.h5")
    return request.param, folder, found, path


def test_measures_do_not_depend_on_what_is_written(every):
    solver, folder, found, _ = every
    sets = f"solver.type={solver}", "output.channels=[]", "output.every=0.04"
    unseen, _ = run(folder, SCENE + ALL, *sets)
    assert numbers(unseen) == numbers(found)


@pytest.mark.parametrize(("end", "meets"), [ENDS[0], *(pytest.param(*end, marks=pytest.mark.slow) for end in ENDS[1:])])
def test_a_world_ends_with_the_step_that_meets_its_end(every, end, meets):
    solver, folder, _, path = every
    with simcli.open(path) as trajectory:
        met = np.asarray(meets(trajectory)).reshape(len(trajectory.time), -1)[1:]
    expected = [1 + int(np.argmax(met[:, w])) if met[:, w].any() else None for w in range(met.shape[1])]
    assert any(expected)
    _, path = run(folder, SCENE, f"solver.type={solver}", f"run.stop_when={end}", "output.channels=[]", "output.every=0.04")
    with simcli.open(path) as trajectory:
        steps = {event.world: event.step for event in trajectory.events if event.code == "SC604"}
    assert [steps.get(w) for w in range(len(expected))] == expected


def test_what_only_measures_need_does_not_leave_the_device(every, monkeypatch):
    solver, folder, _, _ = every
    (folder / "scene.yaml").write_text(SCENE + ALL)
    sets = f"solver.type={solver}", "output.channels=[bodies]"
    job = pipeline.prepare(pipeline.Request(folder / "scene.yaml", folder / "out.h5", sets, "cpu", 1, force=True))
    made = []
    kind = SOLVERS[solver]
    monkeypatch.setitem(SOLVERS, solver, lambda *args: made.append(kind(*args)) or made[0])
    pipeline.execute(job)
    widths = getattr(made[0], "stepper", made[0]).widths()
    assert widths["body_q"] == 14
    assert [widths[name] for name in ("joint_q", "joint_qdd", "joint_effort", "joint_wrench", "energy")] == [0] * 5
