"""A world that fails is frozen and named, and no byte of any other world changes."""

import json

import numpy as np
import pytest
from support.many import run_many
from support.runs import SWING, committed, differing, worlds_of

import simcli as package
from simcli.errors import Exit

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
    return ["run", scene, "-o", f"{name}.h5", "--worlds", N_WORLDS, "--precision", precision,
            "--set", torques(0.1, bad), "--set", f"solver.max_velocity={bound}", *more]  # fmt: skip


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "swing.yaml"
    path.write_text(SWING.replace("every: 0.01", "every: 0.01, channels: [state, energy]"))
    return path


@pytest.fixture(scope="module", params=["float64", pytest.param("float32", marks=pytest.mark.slow)])
def precision(request):
    return request.param


# Every lane of a pack once, and one of the rest, by the fault that is found in time; the other way to fail in two places.
QUICK = {"too fast": (0, 1, 2, 3, 8), "not finite": (1, 8)}
every_case = pytest.mark.parametrize(("fault", "world"), [
    (fault, world) if world in QUICK[fault] else pytest.param(fault, world, marks=pytest.mark.slow)
    for fault in FAULTS for world in range(N_WORLDS)])  # fmt: skip


@pytest.fixture(scope="module")
def series(scene, precision, tmp_path_factory, request):
    """Rows of a batch in which nothing fails, and for every case of this session of one in which that world fails."""
    folder = tmp_path_factory.mktemp(precision)
    mine = (item for item in request.session.items if item.path == request.path)
    cases = sorted({(item.callspec.params["fault"], item.callspec.params["world"]) for item in mine if has_case(item)})
    commands = []
    for fault, (torque, bound, _, _) in FAULTS.items():
        commands.append(words(scene, f"good {fault}", {}, "-q", bound=bound, precision=precision))
        commands += [words(scene, f"{fault} {world}", {world: torque}, "-q", bound=bound, precision=precision)
                     for one, world in cases if one == fault]  # fmt: skip
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
def others(scene, tmp_path_factory):
    """Folder, and (exit code, talk) of the runs of the tests below by name, all run in one process."""
    folder = tmp_path_factory.mktemp("others")
    stop = "run.stop_when={quantity: joint_q, joint: elbow, above: 0.55}"
    mild = ({2: 20.0, 3: -20.0}, "-q", "--duration", 0.2)
    asked = {
        "batch": ({6: STRONG}, "-q"), "alone": ({6: STRONG}, "--world", 6, "--json"),
        "three": ({1: 2000, 4: 4000, 7: 3000},),
        "halted": ({5: STRONG}, "--json", "--on-failure", "stop", "--duration", 1000),
        "free": mild, "stopped": (*mild, "--set", stop),
    }  # fmt: skip
    results = run_many([words(scene, name, *more) for name, more in asked.items()], folder)
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


def test_summary_and_json_name_world_step_time_joint_body_and_code(scene, tmp_path):
    from support.process import simcli

    done = simcli(*words(scene, "a", {5: STRONG}, "--json"), cwd=tmp_path)
    assert done.returncode == Exit.SIMULATION
    document = json.loads(done.stdout)
    rows = committed(tmp_path / "a.h5")
    (failure,) = document["failures"]
    joint = int(rows["events/joint"][0])
    wanted = {"world": 5, "step": int(rows["events/step"][0]), "time": float(rows["events/time"][0]), "code": "SC602",
              "body": ("upper", "lower")[joint], "joint": ("pin", "elbow")[joint]}  # fmt: skip
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
