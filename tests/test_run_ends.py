"""The end of a run: all that was asked for is simulated, with a last frame at the end, whatever the rhythm of frames.

`run.stop_when` and measures at every step, in all solvers, whatever frames are written, and how seldom.

Steps that are not solved, and ledgers of energy that do not close: what a run says of them, and what it comes to.

Joints whose three axes fall together: said before the run, and in the reason of the world that ends there.
"""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.contact_scenes import INTEGRATOR
from support.process import simcli
from support.runs import committed, differing, digest
from test_measures import ALL, CHANNELS, numbers
from test_measures import SCENE as WORLD_SCENE
from test_measures import run as run_of_world

import simcli as package
import simcli as simcli_of_world
from simcli import pipeline
from simcli.analysis.drift import LIMIT, EnergyAccount, advice_of, round_down
from simcli.cli import process as cli_process
from simcli.cli.process import run_command
from simcli.cli.runs import run as run_of_gimbal_lock
from simcli.cli.runs.run import exit_code
from simcli.cli.runs.summary import outcome_json, outcome_text
from simcli.errors import Exit, SceneError
from simcli.job import Outcome
from simcli.model.constraints.gimbals import ADVICE, LOCKED, gimbal_locks
from simcli.model.snapshot import Unsolved
from simcli.pipeline import Request, build_model, prepare, read_scene
from simcli.pipeline.stepping import heed_unsolved
from simcli.records.reading.reader import open_trajectory
from simcli.solvers import SOLVERS as WORLD_SOLVERS
from simcli.solvers.output.contact_report import SUMMARY, worst_event, worst_step
from simcli.spec import load_document, resolve

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


@pytest.mark.parametrize(
    ("every", "duration", "steps"),
    [
        (0.01, 0.03, (10, 20, 30)),
        (0.01, 0.025, (10, 20, 25)),
        (0.01, 0.005, (5,)),
        (0.01, 0.011, (10, 11)),
        (0.001, 0.003, (1, 2, 3)),
        (0.003, 0.01, (3, 6, 9, 10)),
        (0.1, 0.1, (100,)),
    ],
)
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
        patched.setattr("simcli.solvers.run.solver.CALL_SECONDS", 0.0)
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


EVERY = "output.every=0.001"
ENDS = [  # what ends a world; where that holds, of a run
    ("{quantity: joint.elbow.q, below: 0.45}", lambda run: run.joint("elbow").q < 0.45),
    ("{quantity: joint.pin.qd, above: 0.3}", lambda run: run.joint("pin").qd > 0.3),
    (
        "{quantity: body.lower.velocity, norm: true, above: 4}",
        lambda run: np.linalg.norm(run.body("lower").velocity, axis=2) > 4,
    ),
]


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] * (name == "natural")) for name in WORLD_SOLVERS]
)
def every(request, tmp_path_factory):
    """Of a solver: a folder, its measures over a file with every step, and that file."""
    folder = tmp_path_factory.mktemp(request.param)
    found, path = run_of_world(folder, WORLD_SCENE + ALL, f"solver.type={request.param}", CHANNELS, EVERY, name="every.h5")
    return request.param, folder, found, path


def test_measures_do_not_depend_on_what_is_written(every):
    solver, folder, found, _ = every
    sets = f"solver.type={solver}", "output.channels=[]", "output.every=0.04"
    unseen, _ = run_of_world(folder, WORLD_SCENE + ALL, *sets)
    assert numbers(unseen) == numbers(found)


@pytest.mark.parametrize(("end", "meets"), [ENDS[0], *(pytest.param(*end, marks=pytest.mark.slow) for end in ENDS[1:])])
def test_a_world_ends_with_the_step_that_meets_its_end(every, end, meets):
    solver, folder, _, path = every
    with simcli_of_world.open(path) as trajectory:
        met = np.asarray(meets(trajectory)).reshape(len(trajectory.time), -1)[1:]
    expected = [1 + int(np.argmax(met[:, w])) if met[:, w].any() else None for w in range(met.shape[1])]
    assert any(expected)
    _, path = run_of_world(
        folder, WORLD_SCENE, f"solver.type={solver}", f"run.stop_when={end}", "output.channels=[]", "output.every=0.04"
    )
    with simcli_of_world.open(path) as trajectory:
        steps = {event.world: event.step for event in trajectory.events if event.code == "SC604"}
    assert [steps.get(w) for w in range(len(expected))] == expected


def test_what_only_measures_need_does_not_leave_the_device(every, monkeypatch):
    solver, folder, _, _ = every
    (folder / "scene.yaml").write_text(WORLD_SCENE + ALL)
    sets = f"solver.type={solver}", "output.channels=[bodies]"
    job = pipeline.prepare(pipeline.Request(folder / "scene.yaml", folder / "out.h5", sets, "cpu", 1, force=True))
    made = []
    kind = WORLD_SOLVERS[solver]
    monkeypatch.setitem(WORLD_SOLVERS, solver, lambda *args: made.append(kind(*args)) or made[0])
    pipeline.execute(job)
    widths = made[0].buffers.widths()
    assert widths["body_q"] == 14
    assert [widths[name] for name in ("joint_q", "joint_qdd", "joint_effort", "joint_wrench", "energy")] == [0] * 5


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
        ("warn", True, Exit.OK),
        ("fail", True, Exit.SIMULATION),
        ("{action: fail, above: 1.9 mm/s}", True, Exit.SIMULATION),
        ("{action: fail, above: 2.1 mm/s}", False, Exit.OK),
        ("{above: 1}", False, Exit.OK),
    ],
)
def test_what_a_scene_makes_of_it(wanted, tells, code, tmp_path):
    spec = scene(tmp_path, STRICT, "generalized", wanted)
    job = SimpleNamespace(spec=spec, numbers=(5,))
    outcome = Outcome(tmp_path / "a.h5", n_worlds=1)
    heed_unsolved(job, outcome, Unsolved(0, 90, 0.09, 2e-3, 8, 1))
    assert exit_code(outcome, None) == code
    text, told = outcome_text(outcome), outcome_json(outcome)["unsolved"]
    line = "8 steps did not converge (1 world); largest residual 0.002 m/s at t = 0.09 s (step 90 of world 5)"
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
    model = SimpleNamespace(
        n_worlds=worlds, n_bodies=1, bodies=SimpleNamespace(mass=np.array([[mass]])), gravity=np.array([[0, 0, -9.81]])
    )
    return EnergyAccount(model)


def columns(**energies):
    names = ("kinetic", "potential", "elastic", "dissipated", "input", "drift")
    shape = np.broadcast_shapes(*(np.shape(values) for values in energies.values()))
    return {f"energy/{name}": np.broadcast_to(energies.get(name, 0.0), shape) for name in names}


def test_drift_is_told_against_what_changed_hands_and_not_against_a_zero():
    """World 0 is good, world 1 has swung by 4 J and lost 0.08 J, world 2 stands on a hill of 1e4 J."""
    seen = account()
    seen.see(
        columns(
            potential=[[5.0, 1e4, 1e4], [1.0, 1e4 - 4, 1e4]],
            kinetic=[[0, 0, 0], [4.0, 3.92, 0]],
            drift=[[0, 0, 0], [0.0, -0.08, 1e-7]],
        )
    )
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
    assert advice.startswith("solver.dt = 0.0002 s, or integrator: implicit")
    assert advice_of(0.04, "generalized", "semi_implicit", 1e-3, True) == "solver.dt = 0.0002 s"
    assert advice_of(0.04, "natural", "zhong06", 1e-3, False) == "solver.dt = 0.0002 s"
    assert advice_of(0.16, "generalized", "rk4", 1e-3, False) == "solver.dt = 0.0002 s"
    assert advice_of(0.04, "maximal", "semi_implicit", 1e-3, False) == "solver.dt = 0.0002 s"  # which has no other
    assert "bdf2" in advice_of(0.04, "affine", "bdf1", 1e-3, True)


# Whole runs

UNSOLVED_SOLVERS = ["generalized", *(pytest.param(name, marks=pytest.mark.slow) for name in ("maximal", "natural"))]


def run_of_unsolved(folder, *words):
    return run_command(
        ["run", str(folder / "s.yaml"), "-o", str(folder / "s.h5"), "--device", "cpu", *words], debug=False, as_json=False
    )


@pytest.mark.parametrize("solver", UNSOLVED_SOLVERS)
def test_a_quiet_run_tells_the_worst_step_and_fails_where_that_is_wanted(solver, tmp_path, capfd):
    """Judged by the residuals of its own frames; one that is resumed after its end says the same."""
    scene(tmp_path, STRICT, solver, "fail")
    for more in ([], ["--resume", "--json"]):
        assert run_of_unsolved(tmp_path, "-q", *more) == Exit.SIMULATION
        told = capfd.readouterr()
        with package.open(tmp_path / "s.h5") as file:
            left = file.diag.residual[:, 0]
            steps = 1 + np.flatnonzero(left[1:] > 1e-17)
            worst = steps[left[steps].argmax()]
        line = f"largest residual {left[worst]:.3g} m/s at t = {worst * DT:.6g} s (step {worst} of world 0)"
        assert f"error: {len(steps)} of {len(left) - 1} steps did not converge (1 world); {line}" in told.err
    assert json.loads(told.out)["unsolved"]["residual"] == left[worst]


@pytest.mark.slow
def test_a_resumed_run_keeps_the_worst_step(tmp_path, monkeypatch):
    """Cut where the impact, by far the worst, is over."""
    monkeypatch.setattr("simcli.solvers.run.solver.CALL_SECONDS", 0.0)
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


LOOPS = [
    ("generalized", "semi_implicit"),
    ("generalized", "rk4"),
    ("generalized", "implicit"),
    ("maximal", "semi_implicit"),
    ("natural", "zhong06"),
    ("natural", "moreau"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "integrator"), LOOPS)
def test_a_loop_that_cannot_close_is_told(solver, integrator, tmp_path, capfd):
    """A crank that is led beyond the reach of its rod leaves steps unsolved from there on, and none before."""
    scene(tmp_path, BEYOND, solver, integrator=integrator)
    run_of_unsolved(tmp_path, "-q")
    assert "did not converge (1 world); largest residual" in capfd.readouterr().err
    with package.open(tmp_path / "s.h5") as file:
        first = min(event.time for event in file.events if event.code == "SC661")
    assert REACH - 2 * DT <= first <= REACH + 2 * DT


ORTHOGONAL = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
CYCLED = [[0, 0, 1], [1, 0, 0], [0, -1, 0]]
GIMBAL_LOCK_SCENE = """simcli: 1
world: {gravity: [0, 0, 0]}
bodies: {rod: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}}
joints: {pin: JOINT}
solver: {type: SOLVER, dt: 1e-3}
run: {duration: 0.5}
BATCH
"""
D6 = "{{type: d6, parent: world, child: rod, q: {q}, qd: {qd}, axes: {{{linear}angular: {axes}}}}}"


def written(
    folder, axes=ORTHOGONAL, q=(0, "89.9 deg", 0), qd=(0, 0, 0), linear=(), solver="generalized", batch="", joint=None
):
    path = folder / "scene.yaml"
    values, rates = ([*[0] * len(linear), *given] for given in (q, qd))
    joint = joint or D6.format(
        q=json.dumps(values).replace('"', ""),
        qd=json.dumps(rates),
        axes=json.dumps(axes),
        linear=f"linear: {json.dumps(linear)}, " if linear else "",
    )
    path.write_text(GIMBAL_LOCK_SCENE.replace("JOINT", joint).replace("SOLVER", solver).replace("BATCH", batch))
    return path


def said_by_check(path, capsys):
    assert cli_process.run_command(["check", str(path)], debug=False, as_json=False) == Exit.OK
    return capsys.readouterr().err


@pytest.mark.parametrize("axes", [ORTHOGONAL, CYCLED])
@pytest.mark.parametrize("linear", [[], [[0, 0, 1]]])
def test_a_lock_is_where_the_rates_lose_a_direction(axes, linear, tmp_path):
    """The oracle: the determinant of what the rates give, by turns of scipy, and the angle between the turned axes."""
    model = build_model(*read_scene(written(tmp_path, axes, q=[0, 0, 0], linear=linear), ()))
    rng = np.random.default_rng(3)
    q = rng.uniform(-np.pi, np.pi, (400, model.n_q))
    q[::4, -2] = np.pi / 2 + rng.normal(0, 0.05, 100)
    a, b, c = np.array(axes, float)
    locked = 0
    for row in q:
        A, B = (Rotation.from_rotvec(axis * angle) for axis, angle in ((a, row[-3]), (b, row[-2])))
        rates = np.stack([a, A.apply(b), (A * B).apply(c)], axis=1)
        found = gimbal_locks(model, row[None])
        assert bool(found) == (abs(np.linalg.det(rates)) < LOCKED)
        locked += len(found)
        if found:
            first, third = rates[:, 0], rates[:, 2]
            assert found[0].angle == pytest.approx(np.degrees(np.arcsin(np.linalg.norm(np.cross(first, third)))), abs=1e-6)
    assert 30 < locked < 200


def test_check_and_run_tell_a_start_at_lock(tmp_path, capsys):
    path = written(tmp_path)
    said = said_by_check(path, capsys)
    assert "warning[SC640]: two of the three axes of joint `pin` are " in said
    assert "take a `ball` joint" in said
    assert "scene.yaml:4:" in said
    run_of_gimbal_lock._say_beginning(prepare(Request(path, tmp_path / "a.h5", ())), 0)
    assert "simcli explain SC640" in capsys.readouterr().err


def test_a_start_where_axes_are_one_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(SceneError) as caught:
        build_model(*read_scene(written(tmp_path, q=(0, "90 deg", 0)), ()))
    (fault,) = caught.value.faults
    assert (fault.code, fault.hint) == ("SC452", ADVICE)
    assert "joint `pin` begins at gimbal lock" in fault.message
    build_model(*read_scene(written(tmp_path, q=(0, "90 deg", 0), solver="maximal"), ()))


def test_check_looks_at_all_worlds(tmp_path, capsys):
    batch = "batch: {worlds: 3, vary: {joints.pin.q: {list: [[0, 0, 0], [0, 0.5, 0], [0, -1.56, 1]]}}}"
    assert "in 1 of 3 worlds, closest in world 2" in said_by_check(written(tmp_path, q=[0, 0, 0], batch=batch), capsys)


@pytest.mark.parametrize(
    "others",
    [
        {"solver": "maximal"},
        {"solver": "natural"},
        {"q": [0, 1.4, 0]},
        {"q": ["90 deg", 0, "90 deg"]},
        {"axes": ORTHOGONAL[:2], "q": [0, "90 deg"], "qd": [0, 0]},
        {"joint": "{type: ball, parent: world, child: rod}"},
    ],
)
def test_what_has_no_lock_is_told_of_none(others, tmp_path, capsys):
    assert "SC640" not in said_by_check(written(tmp_path, **others), capsys)


@pytest.mark.parametrize("integrator", ["semi_implicit", "implicit", "rk4"])
def test_a_world_that_ends_at_lock_says_what_to_do(integrator, tmp_path):
    """A body tumbles through the place at which the axes of a d6 fall together; in maximal coordinates it goes on."""
    words = ["-q", "--device", "cpu", "--force"]
    words += ["--set", f"solver.integrator={integrator}", "--set", "solver.max_velocity=100"]
    path, out = written(tmp_path, q=[0, 1.2708, 0], qd=[-0.323, 3.0, 0.338]), tmp_path / "a.h5"
    line = ["run", str(path), "-o", str(out), *words]
    assert cli_process.run_command(line, debug=False, as_json=False) == Exit.SIMULATION
    with package.open(out) as file:
        (event,) = [one for one in file.events if one.severity > 1]
    assert event.code == "SC602"
    assert event.text.endswith("; at gimbal lock? then take a ball joint, or the maximal solver")
    assert (
        cli_process.run_command(
            [*line, "--set", "solver.type=maximal", "--set", "solver.integrator=semi_implicit"], debug=False, as_json=False
        )
        == Exit.OK
    )
