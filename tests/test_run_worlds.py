"""Some worlds of a batch: the bytes that they have in the whole of it, with every solver, and their numbers in the batch.

One number of a scene that varies alone: the tables of every solver take columns of one world beside columns of all.

`batch.vary` on any number of a scene: world k of a varied batch is the single run with that value, bit for bit.

A world that fails is frozen and named, and no byte of any other world changes.
"""

import json

import numpy as np
import pytest
from support.device import live_device
from support.many import run_many
from support.runs import MIXED, SWING, committed, differing, worlds_of
from support.scenes import scene

import simcli
import simcli as package
from simcli import pipeline
from simcli.cli import process as cli_process
from simcli.errors import Exit, UsageError
from simcli.model.phases import build_phases
from simcli.solvers import SOLVERS, RunPlan
from simcli.spec import resolve

WORLDS = 7
CHOSEN = (5, 1, 2)
SLOW = ("maximal", "natural")  # to compile
FAST = 4.0  # [rad/s], too fast for the run: the worlds that begin with more fail
VARY = "batch={worlds: 7, seed: 3, vary: {joints.pin.qd: {linspace: [0, 5]}, bodies.lower.mass: {uniform: [0.5, 2]}}}"
LIMIT = f"solver.max_velocity={FAST}"


def command(words):
    """Exit code of a command."""
    return cli_process.run_command(list(map(str, words)), debug=False, as_json=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Function that runs worlds of the batch with a solver, once: outcome and path."""
    folder = tmp_path_factory.mktemp("worlds")
    short = SWING.replace(", integrator: rk4", "").replace("{duration: 0.06}", "{duration: 0.02}")
    (folder / "swing.yaml").write_text(short)
    made = {}

    def outcome(solver, worlds=None, *sets):
        key = (solver, worlds, sets)
        if key not in made:
            asked = pipeline.Request(
                folder / "swing.yaml",
                folder / f"{len(made)}.h5",
                (VARY, f"solver.type={solver}", *sets),
                "cpu",
                worlds=worlds,
            )
            made[key] = pipeline.execute(pipeline.prepare(asked))
        return made[key]

    return outcome


@pytest.mark.parametrize("solver", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SOLVERS])
def test_any_of_them_have_the_bytes_of_the_whole(run, solver):
    whole, some = (committed(run(solver, worlds, LIMIT).output) for worlds in (None, CHOSEN))
    failed = np.isnan(whole["frames/joint_q"][-1]).any(axis=-1)
    assert failed[5]
    assert not failed[1]
    assert not differing(worlds_of(some, slice(None)), worlds_of(whole, list(CHOSEN)))


def test_they_keep_their_numbers(run):
    whole, some = (run("generalized", worlds, LIMIT) for worlds in (None, CHOSEN))
    assert [failure.world for failure in whole.failures] == [5, 6]
    assert [failure.world for failure in some.failures] == [5]
    assert some.failures == whole.failures[:1]
    with simcli.open(whole.output) as a, simcli.open(some.output) as b:
        assert b.provenance.worlds == CHOSEN
        assert a.provenance.worlds is None
        assert b.params["joints.pin.qd"].tolist() == a.params["joints.pin.qd"][list(CHOSEN)].tolist()
        assert b.world_seed.tolist() == a.world_seed[list(CHOSEN)].tolist()


def test_a_run_of_some_is_run_again_from_its_file(run, tmp_path, capsys):
    first = run("generalized", CHOSEN, LIMIT).output
    assert command(["run", str(first), "-o", str(tmp_path / "a.h5"), "-q", "--device", "cpu"]) == 4
    with simcli.open(first) as one, simcli.open(tmp_path / "a.h5") as two:
        assert one.digest == two.digest
    cut = tmp_path / "cut.h5"
    assert command(["slice", str(first), "-o", str(cut), "--world", "0,2"]) == Exit.OK
    with simcli.open(cut) as part:
        assert part.provenance.worlds == (CHOSEN[0], CHOSEN[2])
    capsys.readouterr()


def test_the_command_takes_several_and_refuses_what_is_not_there(run, tmp_path, monkeypatch, capsys):
    path = run("generalized", None, LIMIT).output.with_name("swing.yaml")
    monkeypatch.chdir(tmp_path)
    words = ["run", str(path), "--set", VARY, "-q", "--device", "cpu", "--world"]
    assert command([*words, "4,0-1"]) == Exit.OK
    with simcli.open("outputs/swing-world0-4.h5") as found:
        assert found.provenance.worlds == (0, 1, 4)
    assert command([*words, "5-8"]) == Exit.USAGE
    assert "--world 7: the batch has worlds 0 to 6" in capsys.readouterr().err
    with pytest.raises(UsageError, match="--world 9"):
        pipeline.prepare(pipeline.Request(path, sets=(VARY,), worlds=(9,)))


def test_worlds_that_cannot_begin_are_failures_where_all_are_tried(run, tmp_path):
    path = run("generalized", None, LIMIT).output.with_name("swing.yaml")
    sets = ("joints.pin.limit=[1.9, 2.1]", "batch={worlds: 3, vary: {joints.pin.q: {list: [2, 2.5, 3]}}}")
    asked = pipeline.Request(path, tmp_path / "a.h5", sets, "cpu", worlds=(1, 2), tries_all=True)
    outcome = pipeline.execute(pipeline.prepare(asked))
    assert [(one.world, one.code) for one in outcome.failures] == [(1, "SC477"), (2, "SC477")]


NUMBERS = ("mass", "com", "first_parent", "first_child", "second_parent", "second_child")
SCENE = """params: {{mass: 1, com: -0.5, first_parent: 0, first_child: 0, second_parent: 0, second_child: 0}}
bodies:
  upper: {{mass: "${{mass}}", com: [0, 0, "${{com}}"], inertia: {inertia}}}
  lower: {{mass: 1, com: [0, 0, -0.5], inertia: {{diag: [0.1, 0.1, 0.1]}}}}
joints:
  first: {{type: revolute, parent: world, child: upper, axis: [0, 1, 0], q: 0.3,
          parent_frame: {{xyz: ["${{first_parent}}", 0, 0]}}, child_frame: {{xyz: ["${{first_child}}", 0, 0]}}}}
  second: {{type: revolute, parent: upper, child: lower, axis: [0, 1, 0], q: 0.3,
           parent_frame: {{xyz: ["${{second_parent}}", 0, -1]}}, child_frame: {{xyz: ["${{second_child}}", 0, 0]}}}}
solver: {{type: {solver}, dt: 1 ms}}
run: {{duration: 0.002}}
batch: {{worlds: 3, vary: {{params.{number}: {{uniform: {draws}}}}}}}
"""


@pytest.mark.parametrize("inertia", ["{diag: [0.1, 0.1, 0.1]}", "point"])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_tables_take_a_number_that_varies_alone(solver, number, inertia, tmp_path):
    draws = "[1, 2]" if number == "mass" else "[-0.6, -0.4]"
    document = scene(SCENE.format(solver=solver, number=number, inertia=inertia, draws=draws), tmp_path)
    spec = resolve(document)
    first, *later = build_phases(document, spec)
    assert first.model.n_worlds == 3
    SOLVERS[solver](first.model, spec.solver, RunPlan(1e-3, 1, 2, frozenset(("state",))), live_device(), later)


# Path: two values. Each is a number that the authored scene does not hold, so that a value that is dropped shows.
VALUES = {
    "bodies.arm.mass": (0.9, 1.7),
    "bodies.hand.inertia.diag[1]": (0.028, 0.035),
    "bodies.arm.inertia.full": (
        [[0.11, 0.01, 0], [0.01, 0.12, 0.005], [0, 0.005, 0.06]],
        [[0.12, 0.0, 0], [0.0, 0.13, 0.0], [0, 0.0, 0.07]],
    ),
    "bodies.cart.com": ([0.05, 0.02, -0.03], [0.01, -0.1, 0.0]),
    "bodies.hand.points.tip[2]": (-0.25, -0.1),
    "bodies.probe.velocity.angular": ([1.0, 0.0, 2.0], [0.0, -2.0, 0.5]),
    "joints.rail.axis": ([1.0, 0.1, 0.3], [0.9, 0.0, -0.4]),
    "joints.wrist.at[2]": (-0.55, -0.65),
    "joints.rail.damping": (0.1, 0.9),
    "joints.wrist.armature": (0.02, 0.03),
    "joints.rail.drive.stiffness": (20.0, 55.0),
    "joints.rail.drive.damping": (1.0, 4.0),
    "joints.rail.drive.target": (-0.3, 0.5),
    "world.gravity": ([0.0, 0.0, -1.62], [0.5, 0.0, -3.7]),
    "world.gravity[2]": (-9.0, -11.0),
    "forces.cord.rest_length": (0.8, 1.3),
    "forces.cord.damping": (0.1, 0.9),
    "forces.push.force[2]": (0.5, 3.0),
    "forces.spin.value": (0.1, -0.4),
    "params.k": (25.0, 70.0),
    "joints.rail.q": (-0.15, 0.05),
    "joints.wrist.qd": (-2.0, 3.0),
    "joints.shoulder.qd[1]": (0.0, -1.5),
}
APART = ("world.gravity[2]", "bodies.arm.inertia.full")  # meet another path of the table in the same number
TOGETHER = tuple(path for path in VALUES if path not in APART)
# Alone each is a kernel of its own, because what varies is loaded differently: one of each room of the model.
ALONE = (
    "bodies.arm.mass",
    "joints.rail.axis",
    "joints.rail.drive.stiffness",
    "world.gravity[2]",
    "params.k",
    "joints.rail.q",
)
SHORT = ["--set", "run.duration=0.02", "--set", "output.channels=[state, energy]", "-q"]


@pytest.fixture(scope="module")
def scene_of_batch(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "mixed.yaml"
    path.write_text(MIXED)
    return path


def batch_words(scene, name, paths):
    lists = {path: {"list": list(VALUES[path])} for path in paths}
    return ["run", scene, "-o", name, "--worlds", 2, "--set", f"batch.vary={json.dumps(lists)}", *SHORT]


def single_words(scene, name, paths, world):
    sets = [word for path in paths for word in ("--set", f"{path}={json.dumps(VALUES[path][world])}")]
    return ["run", scene, "-o", name, *sets, *SHORT]


@pytest.fixture(scope="module")
def runs(scene_of_batch, tmp_path_factory):
    """Rows by name: the scene as it is, `together`, each of ALONE, and the single runs of their worlds."""
    folder = tmp_path_factory.mktemp("runs")
    commands = {"plain": single_words(scene_of_batch, "plain.h5", (), 0)}
    for name, paths in {"together": TOGETHER, **{path: (path,) for path in ALONE}}.items():
        commands[name] = batch_words(scene_of_batch, f"{name}.h5", paths)
        for world in (0, 1):
            commands[f"{name}={world}"] = single_words(scene_of_batch, f"{name}={world}.h5", paths, world)
    for path in TOGETHER:
        commands.setdefault(f"{path}=1", single_words(scene_of_batch, f"{path}=1.h5", (path,), 1))
    for (code, talk), words in zip(run_many(list(commands.values()), folder), commands.values(), strict=True):
        assert code == 0, (words, talk)
    rows = {name: committed(folder / f"{name}.h5") for name in commands}
    rows["folder"] = folder
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("world", [0, 1])
@pytest.mark.parametrize("name", ["together", *ALONE])
def test_a_world_is_the_single_run_with_its_values(runs, name, world):
    batch, single = runs[name], runs[f"{name}={world}"]
    assert not differing(worlds_of(batch, [world]), worlds_of(single, [0]))


@pytest.mark.slow
@pytest.mark.parametrize("path", TOGETHER)
def test_every_value_matters(runs, path):
    """So that equal bytes above cannot come from values that nobody reads."""
    assert differing(worlds_of(runs[f"{path}=1"], [0]), worlds_of(runs["plain"], [0]))


@pytest.mark.slow
def test_params_hold_what_was_varied(runs):
    with package.open(runs["folder"] / "together.h5") as run:
        params = run.params
    for path in TOGETHER:
        values = np.asarray(VALUES[path], float)
        if values.ndim == 1:
            assert np.array_equal(params[path], values), path
        else:
            for k in range(values.shape[1]):
                assert np.array_equal(params[f"{path}[{k}]"], values[:, k]), path


@pytest.mark.slow
def test_draws_have_the_statistics_that_were_asked_for(scene_of_batch, tmp_path):
    """Bounds are five standard errors: a right generator fails once in a million seeds, and the seed is fixed."""
    n = 400
    draws = {
        "joints.rail.q": "uniform(-0.2, 0.4)",
        "joints.rail.qd": "normal(1.0, 0.5)",
        "joints.wrist.qd": "log_uniform(0.1, 10)",
        "joints.wrist.q": "linspace(0, 1)",
    }
    words = [
        "run",
        scene_of_batch,
        "-o",
        "a.h5",
        "--worlds",
        n,
        "--set",
        "output.channels=[state]",
        "--duration",
        0.01,
        "-q",
    ]
    words += [word for pair in draws.items() for word in ("--vary", "=".join(pair))]
    ((code, talk),) = run_many([words], tmp_path)
    assert code == 0, talk
    with package.open(tmp_path / "a.h5") as run:
        params, seeds = run.params, run.world_seed
        started = {"joints.rail.q": run.joint("rail").q[0][:, 0], "joints.wrist.qd": run.joint("wrist").qd[0][:, 0]}
    for path, values in started.items():
        assert np.array_equal(params[path], values), path
    assert len(set(seeds.tolist())) == n
    uniform, normal = params["joints.rail.q"], params["joints.rail.qd"]
    log = np.log(params["joints.wrist.qd"] / 0.1) / np.log(100.0)
    assert np.allclose(params["joints.wrist.q"], np.linspace(0.0, 1.0, n), rtol=0, atol=1e-15)
    for fractions in ((uniform + 0.2) / 0.6, log):
        assert 0.0 <= fractions.min() < 0.05
        assert 0.95 < fractions.max() <= 1.0
        assert abs(fractions.mean() - 0.5) < 5.0 / np.sqrt(12.0 * n)
    assert abs(normal.mean() - 1.0) < 5.0 * 0.5 / np.sqrt(n)
    assert abs(normal.std() - 0.5) < 5.0 * 0.5 / np.sqrt(2.0 * n)
    assert abs(np.corrcoef(uniform, normal)[0, 1]) < 5.0 / np.sqrt(n)


N_WORLDS = 9  # two full packs and a rest in float64, one and a rest in float32: every lane of a pack fails once
STEPS_PER_FRAME, N_STEPS = 10, 60
# name: (torque on the failing world [N m], solver.max_velocity, code, status). Both worlds spin up steadily; beyond one
# radian per step, rates square themselves from step to step until inf - inf appears.
FAULTS = {
    "too fast": (2e3, 100, "SC602", 2),
    "not finite": (2e5, 1e150, "SC601", 1),
}
STRONG = FAULTS["too fast"][0]


def torques(mild, bad):
    """A list for `batch.vary`: mild torques that differ, and the bad ones instead at some worlds."""
    values = [mild * (k + 1) for k in range(N_WORLDS)]
    for world, value in bad.items():
        values[world] = value
    return f"batch.vary={{forces.motor.value: {{list: {values}}}}}"


def words(scene, name, bad, *more, bound=FAULTS["too fast"][1], precision="float64"):
    return [
        "run",
        scene,
        "-o",
        f"{name}.h5",
        "--worlds",
        N_WORLDS,
        "--precision",
        precision,
        "--set",
        torques(0.1, bad),
        "--set",
        f"solver.max_velocity={bound}",
        *more,
    ]


@pytest.fixture(scope="module")
def scene_of_isolation(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "swing.yaml"
    path.write_text(SWING.replace("every: 0.01", "every: 0.01, channels: [state, energy]"))
    return path


@pytest.fixture(scope="module", params=["float64", pytest.param("float32", marks=pytest.mark.slow)])
def precision(request):
    return request.param


# Every lane of a pack once, and one of the rest, by the fault that is found in time; the other way to fail in two places.
QUICK = {"too fast": (0, 1, 2, 3, 8), "not finite": (1, 8)}
every_case = pytest.mark.parametrize(
    ("fault", "world"),
    [
        (fault, world) if world in QUICK[fault] else pytest.param(fault, world, marks=pytest.mark.slow)
        for fault in FAULTS
        for world in range(N_WORLDS)
    ],
)


@pytest.fixture(scope="module")
def series(scene_of_isolation, precision, tmp_path_factory, request):
    """Rows of a batch in which nothing fails, and for every case of this session of one in which that world fails."""
    folder = tmp_path_factory.mktemp(precision)
    mine = (item for item in request.session.items if item.path == request.path)
    cases = sorted({(item.callspec.params["fault"], item.callspec.params["world"]) for item in mine if has_case(item)})
    commands = []
    for fault, (torque, bound, _, _) in FAULTS.items():
        commands.append(words(scene_of_isolation, f"good {fault}", {}, "-q", bound=bound, precision=precision))
        commands += [
            words(scene_of_isolation, f"{fault} {world}", {world: torque}, "-q", bound=bound, precision=precision)
            for one, world in cases
            if one == fault
        ]
    results = dict(zip((command[3] for command in commands), run_many(commands, folder), strict=True))
    good = {fault: (*results[f"good {fault}.h5"], committed(folder / f"good {fault}.h5")) for fault in FAULTS}
    assert [code for code, _, _ in good.values()] == [Exit.OK] * len(FAULTS)
    good = {fault: rows for fault, (_, _, rows) in good.items()}
    bad = {case: (*results["{} {}.h5".format(*case)], committed(folder / "{} {}.h5".format(*case))) for case in cases}
    return good, bad


def has_case(item):
    return "fault" in getattr(item, "fixturenames", ())


@every_case
def test_no_byte_of_another_world_changes(series, fault, world):
    good, bad = series
    others = [k for k in range(N_WORLDS) if k != world]
    code, _, rows = bad[fault, world]
    assert code == Exit.SIMULATION
    assert not differing(worlds_of(good[fault], others), worlds_of(rows, others))
    assert not rows["diag/status"][:, others].any()


@every_case
def test_the_failed_world_is_named_in_the_events(series, fault, world):
    _, _, code, status = FAULTS[fault]
    rows = series[1][fault, world][2]
    assert rows["events/world"].tolist() == [world]
    assert rows["events/code"].tolist() == [code.encode()]
    assert rows["events/severity"].tolist() == [2]
    step = int(rows["events/step"][0])
    assert 1 <= step < N_STEPS
    assert rows["events/time"][0] == pytest.approx(step * 1e-3)
    assert rows["events/joint"][0] in (0, 1)
    assert rows["events/body"][0] == rows["events/joint"][0]  # joint k carries body k
    assert rows["diag/status"][-1, world] == status


@every_case
def test_frames_before_are_kept_and_frames_after_are_empty(series, fault, world):
    rows = series[1][fault, world][2]
    step = int(rows["events/step"][0])
    before = rows["frames/step"] < step
    assert before.sum() > 1
    assert not before.all()
    assert np.array_equal(rows["diag/status"][:, world] == 0, before)
    mine = worlds_of(rows, [world])
    recorded = [name for name in mine if name.startswith(("frames/", "energy/"))]
    assert {"frames/joint_q", "frames/body_q", "frames/point/lower/tip/position", "energy/total"} <= set(recorded)
    for name in recorded:
        assert np.isfinite(mine[name][before]).all(), name
        assert np.isnan(mine[name][~before]).all(), name


@pytest.fixture(scope="module")
def others(scene_of_isolation, tmp_path_factory):
    """Folder, and (exit code, talk) of the runs of the tests below by name, all run in one process."""
    folder = tmp_path_factory.mktemp("others")
    stop = "run.stop_when={quantity: joint_q, joint: elbow, above: 0.55}"
    mild = ({2: 20.0, 3: -20.0}, "-q", "--duration", 0.2)
    asked = {
        "batch": ({6: STRONG}, "-q"),
        "alone": ({6: STRONG}, "--world", 6, "--json"),
        "three": ({1: 2000, 4: 4000, 7: 3000},),
        "halted": ({5: STRONG}, "--json", "--on-failure", "stop", "--duration", 1000),
        "free": mild,
        "stopped": (*mild, "--set", stop),
    }
    results = run_many([words(scene_of_isolation, name, *more) for name, more in asked.items()], folder)
    return folder, dict(zip(asked, results, strict=True))


def test_frames_before_the_failure_are_those_of_the_world_alone(others):
    """The failing world in the batch and replayed alone: the same bytes up to the end, and the same event."""
    folder, found = others
    (code, _), (again, talk) = found["batch"], found["alone"]
    assert code == again == Exit.SIMULATION
    batch, alone = committed(folder / "batch.h5"), committed(folder / "alone.h5")
    assert not differing(worlds_of(batch, [6]), worlds_of(alone, [0]))
    assert (batch["frames/step"] < batch["events/step"][0]).sum() > 1, "it failed too early to show anything"
    assert batch["events/step"] == alone["events/step"]
    assert alone["events/world"] == 0
    assert " 6 " in talk, talk


def test_events_stand_in_the_order_of_time(others):
    """Later worlds fail earlier here; how the run was cut into calls must not show in the file."""
    folder, found = others
    code, talk = found["three"]
    assert code == Exit.SIMULATION
    rows = committed(folder / "three.h5")
    assert rows["events/world"].tolist() == [4, 7, 1]
    assert (np.diff(rows["events/step"]) > 0).all()
    assert "3 worlds failed" in talk


def test_summary_and_json_name_world_step_time_joint_body_and_code(scene_of_isolation, tmp_path):
    from support.process import simcli

    done = simcli(*words(scene_of_isolation, "a", {5: STRONG}, "--json"), cwd=tmp_path)
    assert done.returncode == Exit.SIMULATION
    document = json.loads(done.stdout)
    rows = committed(tmp_path / "a.h5")
    (failure,) = document["failures"]
    joint = int(rows["events/joint"][0])
    wanted = {
        "world": 5,
        "step": int(rows["events/step"][0]),
        "time": float(rows["events/time"][0]),
        "code": "SC602",
        "body": ("upper", "lower")[joint],
        "joint": ("pin", "elbow")[joint],
    }
    assert {key: failure[key] for key in wanted} == wanted
    assert document["status"] == "done"
    line = next(line for line in done.stderr.splitlines() if "SC602" in line)
    assert line.split()[:2] == ["5", str(wanted["step"])]
    assert wanted["body"] in line
    assert wanted["joint"] in line
    with package.open(tmp_path / "a.h5") as run:
        assert run.status == "done"
        (event,) = run.events
        assert (event.world, event.code) == (5, "SC602")


def test_on_failure_stop_ends_the_run_at_the_failure(others):
    folder, found = others
    assert found["halted"][0] == Exit.SIMULATION
    with package.open(folder / "halted.h5") as run:
        assert run.status == "failed"
        assert [event.code for event in run.events] == ["SC602"]
        assert run.step[-1] < 1e6
        assert np.isfinite(run.joint("pin").q[:][:, 4]).all()


def test_stop_when_freezes_a_world_and_is_no_failure(others):
    folder, found = others
    assert [found[name][0] for name in ("free", "stopped")] == [Exit.OK, Exit.OK]
    free, stopped = committed(folder / "free.h5"), committed(folder / "stopped.h5")
    passed = (free["frames/joint_q"][:, :, 1] > 0.55).any(axis=0)
    assert passed.any()
    assert not passed.all()
    assert np.array_equal(stopped["diag/status"][-1], np.where(passed, 4, 0))
    assert set(stopped["events/world"].tolist()) == set(np.flatnonzero(passed).tolist())
    assert set(stopped["events/severity"].tolist()) == {0}
    assert not differing(worlds_of(free, ~passed), worlds_of(stopped, ~passed))
    for world in np.flatnonzero(passed):
        well = stopped["diag/status"][:, world] == 0
        assert np.array_equal(stopped["frames/joint_q"][well, world], free["frames/joint_q"][well, world])
        assert np.isnan(stopped["frames/joint_q"][~well, world]).all()
