"""A simulation in process: the bytes of the command line for the same controls, and what is set, saved, reset, recorded."""

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from support.process import run_here
from support.runs import committed, differing

import simcli
from simcli import pipeline
from simcli.errors import DeviceError, OutputError, SceneError, UsageError
from simcli.solvers.run.stepwise import Stepwise
from simcli.spec.schema import scene as schema

pytestmark = pytest.mark.usefixtures("packs_of_two")
ARM = """
simcli: 1
bodies:
  upper: {pose: {xyz: [0, 0, -0.5]}, mass: 1.0, inertia: {diag: [0.1, 0.1, 0.01]}}
  lower: {pose: {xyz: [0, 0, -1.5]}, mass: 1.0, inertia: {diag: [0.1, 0.1, 0.01]}, points: {tip: [0, 0, -0.5]}}
joints:
  pin:
    {type: revolute, parent: world, child: upper, at: [0, 0, 0], axis: [0, 1, 0], q: 0.3, damping: 0.1,
     drive: {mode: position, target: TARGET, stiffness: 40, damping: 2}}
  elbow:
    {type: revolute, parent: upper, child: lower, at: [0, 0, -1], axis: [0, 1, 0], q: 0.5, drive: {mode: effort, target: $v}}
signals:
  v: {EFFORT}
  hum: {table: {time: [0, 1], value: [0, 1], interpolate: previous}}
solver: {type: generalized, dt: 1.0e-3}
run: {duration: 0.04}
output: {every: 0.01, channels: [state, energy]}
"""
TIMES, TARGETS, EFFORTS = (0.0, 0.01, 0.02, 0.03), (0.5, -0.2, 0.1, 0.8), (0.3, 0.0, -0.7, 0.2)
STEPPERS = (schema.GeneralizedSolver, schema.MaximalSolver, schema.NaturalSolver, schema.AffineSolver)
CASES = [
    (*get_args(one.model_fields["type"].annotation), integrator)
    for one in STEPPERS
    for integrator in get_args(one.model_fields["integrator"].annotation)
    if integrator != "auto"
]
QUICK = (("generalized", "semi_implicit"), ("affine", "bdf1"))  # rigid and soft bodies: no solver sees what sets a control


def table(values):
    return f"table: {{time: {list(TIMES)}, value: {list(values)}, interpolate: previous}}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arms")
    by_table = ARM.replace("TARGET", "$u").replace("EFFORT", table(EFFORTS))
    (folder / "table.yaml").write_text(by_table.replace("signals:\n", f"signals:\n  u: {{{table(TARGETS)}}}\n"))
    by_hand = ARM.replace("TARGET", "$u").replace("EFFORT", "constant: 0.3")
    (folder / "hand.yaml").write_text(by_hand.replace("signals:\n", "signals:\n  u: {constant: 0.5}\n"))
    (folder / "arm.yaml").write_text(ARM.replace("TARGET", "0.5").replace("EFFORT", "constant: 0.3"))
    return folder


def run(scene, output, *sets):
    pipeline.execute(pipeline.prepare(pipeline.Request(scene, output, sets, device="cpu")))
    return {name: rows for name, rows in committed(output).items() if not name.startswith("events/")}


def opened(scene, *sets, **options):
    return simcli.Simulation(scene, sets=sets, device="cpu", **options)


def rows_of(path):
    return {name: rows for name, rows in committed(path).items() if not name.startswith("events/")}


@pytest.mark.parametrize(
    ("solver", "integrator"),
    [pytest.param(*case, marks=() if case in QUICK else (pytest.mark.slow,)) for case in CASES],
)
def test_controls_give_the_bytes_of_a_table(folder, tmp_path, solver, integrator):
    sets = (f"solver.type={solver}", f"solver.integrator={integrator}")
    wanted = run(folder / "table.yaml", tmp_path / "run.h5", *sets)
    with opened(folder / "hand.yaml", *sets, controls=()) as sim:
        sim.record(tmp_path / "hand.h5")
        for target, effort in zip(TARGETS, EFFORTS, strict=True):
            sim.step(10, control={"$u": target, "signal.v": effort})
        last = {name: sim.get(f"joint.pin.{name}") for name in ("q", "qd")}
    assert not differing(rows_of(tmp_path / "hand.h5"), wanted)
    assert np.array_equal(last["q"], wanted["frames/joint_q"][-1][:, :1])
    assert np.array_equal(last["qd"], wanted["frames/joint_qd"][-1][:, :1])


def fresh(sim):
    """All that frames hold of where the worlds stand."""
    return {path: column.copy() for path, column in sim._stepwise.show().columns.items()}


def same(a, b, worlds=slice(None), but=()):
    """Columns that differ, of some worlds."""
    pairs = {path: (a[path][:, worlds], b[path][:, worlds]) for path in a if path not in but}
    return [path for path, pair in pairs.items() if not np.array_equal(*pair, equal_nan=True)]


def test_targets_of_drives_by_joint_are_those_of_the_scene(folder, tmp_path):
    targets = np.array([0.5, -0.1, 0.3, 0.0, 1.2])
    wanted = run(
        folder / "arm.yaml",
        tmp_path / "run.h5",
        "batch.worlds=5",
        f"batch.vary={{joints.pin.drive.target: {{list: {targets.tolist()}}}}}",
    )
    with opened(folder / "arm.yaml", worlds=5) as sim:
        assert sim.n_worlds == 5
        assert np.array_equal(sim.get("signal.v"), np.full((5, 1), 0.3))
        sim.step(15, control={"pin": targets})
        sim.step(20)  # values hold
        sim.step(5, control={"pin": targets[:, None], "elbow": 0.3})
        assert np.array_equal(sim.get("joint.pin.q"), wanted["frames/joint_q"][-1][:, :1])
        assert np.array_equal(sim.get("body.lower.velocity"), wanted["frames/body_qd"][-1][:, 1, :3])
        assert np.abs(sim.get("energy.total") - wanted["energy/total"][-1]).max() < 1e-12
        assert np.abs(sim.get("energy.drift")).max() < 1e-3
        assert sim.get("point.lower/tip.position").shape == (5, 3)
        assert sim.time == 0.04


def test_steps_work_out_nothing_that_only_frames_show(folder):
    with opened(folder / "arm.yaml", worlds=5) as sim:
        slot = sim._solver.core.rows.energy
        sim.step(3)
        before = slot.read()
        sim.step(30)
        assert np.array_equal(slot.read(), before)
        held = sim.get("energy.total")
        assert not np.array_equal(slot.read(), before)
        kept = held.copy()
        sim.step(30)
        sim.get("energy.total")
        assert np.array_equal(held, kept)  # a view of a frame of its own


def test_a_simulation_says_what_it_is(folder):
    with opened(folder / "arm.yaml", worlds=5) as sim:
        sim.step(20)
        counts = f"worlds 5, bodies {len(sim.bodies)}, joints {len(sim.joints)}"
        assert repr(sim) == f"<simulation {folder / 'arm.yaml'}: {counts}, t = {20 * sim.dt:g} s>"
        joint = sim.joints[-1]
        with pytest.raises(UsageError, match=rf"no quantity .*: did you mean `joint\.{joint}\.effort`"):
            sim.get(f"joint.{joint}.torque")
    assert repr(sim).endswith(", closed>")


def test_looks_between_frames_change_no_byte(folder, tmp_path):
    wanted = run(folder / "arm.yaml", tmp_path / "run.h5", "batch.worlds=5")
    with opened(folder / "arm.yaml", worlds=5, controls=()) as sim, sim.record(tmp_path / "hand.h5"):
        for n in (1, 2, 7, 3, 17, 10):
            sim.step(n)
            sim.get("energy.total")
    assert not differing(rows_of(tmp_path / "hand.h5"), wanted)


def test_joints_without_a_frame_are_those_of_the_frame(folder, monkeypatch):
    shown, show = [], Stepwise.show
    monkeypatch.setattr(Stepwise, "show", lambda self: shown.append(1) or show(self))
    with opened(folder / "arm.yaml", "solver.max_velocity=50", worlds=5, vary=["joints.pin.damping"]) as sim:
        sim.set("joint.pin.qd", [[0.0], [3.0], [1.0], [-2.0], [0.0]])
        sim.step(1)
        kept = sim.save()
        changes = (
            lambda: sim.step(7, control={"elbow": [[0.0], [1e6], [1.0], [0.1], [0.2]]}),  # world 1 ends
            lambda: sim.set({"joint.pin.q": 0.2}, worlds=[0, 3]),
            lambda: sim.reset([1, 4]),
            lambda: sim.step(2),
            lambda: sim.set("joints.pin.damping", 0.3),
            lambda: sim.restore(kept),
            lambda: sim.set({"joint.elbow.qd": 0.4}, worlds=[2]),
            lambda: sim.reset(),
        )
        names, ended, framed = [f"joint.{joint}.{part}" for joint in ("pin", "elbow") for part in ("q", "qd")], 0, []
        for k, change in enumerate(changes):
            change()
            shown.clear()
            told = [sim.get(name) for name in names]
            framed += [k] if shown else []
            copies = [one.copy() for one in told]
            sim.get("energy.total")  # makes the frame
            assert all(np.array_equal(sim.get(name), one, equal_nan=True) for name, one in zip(names, told, strict=True))
            assert [bool(np.isnan(one).any()) for one in told] == [bool(sim.status.any())] * len(told)
            ended += int(sim.status.any())
            sim.step(1)
            assert all(np.array_equal(one, copy, equal_nan=True) for one, copy in zip(told, copies, strict=True))
        assert ended > 0
        assert framed == [4, 5]  # after tables and memory are others


def test_some_worlds_begin_anew_and_others_do_not_notice(folder):
    control = {"pin": np.linspace(-1, 1, 5), "$v": [[0.1]]}
    with opened(folder / "arm.yaml", worlds=5) as sim, opened(folder / "arm.yaml", worlds=5) as other:
        for one in (sim, other):
            one.step(23, control=control)
        before = fresh(other)
        some = np.array([True, False, False, True, False])
        sim.reset(some)
        assert not same(fresh(sim), before, ~some)
        assert np.array_equal(sim.age, np.where(some, 0.0, 0.023))
        sim.step(17)
        other.step(17)
        assert not same(fresh(sim), fresh(other), ~some)
        other.reset()
        assert other.time == 0.0
        other.step(17)
        assert not same(fresh(sim), fresh(other), some)
        assert same(fresh(sim), fresh(other), ~some)
        with opened(folder / "arm.yaml", worlds=5) as third:  # and a run of its own is the same again
            third.step(17, control=control)
            assert not same(fresh(other), fresh(third), but=("energy/input", "energy/drift"))
            assert np.abs(fresh(other)["energy/drift"] - fresh(third)["energy/drift"]).max() < 1e-3
        sim.reset([1, 2])
        sim.step(17)
        assert not same(fresh(sim), fresh(other), [1, 2])


def test_a_snapshot_goes_on_to_the_same_bits(folder):
    with opened(folder / "arm.yaml", worlds=5, vary="joints.pin.damping") as sim:
        sim.step(11, control={"pin": 0.2})
        kept = sim.save()
        sim.step(20)
        wanted = fresh(sim)
        sim.step(5, control={"pin": 0.7, "$v": 1.0})
        sim.set("joints.pin.damping", [0.1, 0.2, 0.3, 0.4, 0.5])
        sim.set("joint.pin.q", 1.0, worlds=[2])
        sim.step(20)
        for _ in range(2):
            sim.restore(kept)
            assert sim.time == 0.011
            assert np.array_equal(sim.get("joints.pin.damping"), np.full((5, 1), 0.1))
            sim.step(20)
            assert not same(fresh(sim), wanted)
        with opened(folder / "arm.yaml", worlds=5) as other, pytest.raises(UsageError, match="of another simulation"):
            other.restore(kept)


def test_worlds_begin_at_states_that_are_set(folder):
    q, qd = np.linspace(0.1, 0.9, 5), np.linspace(-2, 2, 5)
    vary = f"batch.vary={{joints.pin.q: {{zip: {q.tolist()}}}, joints.elbow.qd: {{zip: {qd.tolist()}}}}}"
    with opened(folder / "arm.yaml", vary) as wanted, opened(folder / "arm.yaml", worlds=5) as sim:
        assert wanted.n_worlds == 5
        sim.step(7)
        sim.set({"joint.pin.q": q, "joint.pin.qd": 0.0, "joints.elbow.q": [[0.5]], "joint.elbow.qd": qd[:, None]})
        assert not same(fresh(sim), fresh(wanted))
        sim.step(20)
        wanted.step(20)
        assert not same(fresh(sim), fresh(wanted))
        before = fresh(sim)
        sim.set("joint.pin.q", [0.4, 0.6], worlds=[1, 3])
        assert np.array_equal(sim.get("joint.pin.q")[[1, 3], 0], [0.4, 0.6])
        assert np.array_equal(sim.get("joint.elbow.q"), before["frames/joint_q"][0][:, 1:])
        assert not same(fresh(sim), before, [0, 2, 4])


BOX = """
simcli: 1
bodies:
  box: {pose: {xyz: [0.1, 0.2, 0.3], rpy: [0.3, 0.2, 0.1]}, mass: 2, com: [0.1, 0, 0.05], inertia: {diag: [0.1, 0.2, 0.25]}}
solver: {type: SOLVER, dt: 1.0e-3}
run: {duration: 0.1}
"""


@pytest.mark.parametrize("solver", ["generalized", pytest.param("natural", marks=pytest.mark.slow)])
def test_free_bodies_are_put_where_they_shall_be(tmp_path, solver):
    (tmp_path / "box.yaml").write_text(BOX.replace("SOLVER", solver))
    wanted = {
        "position": [1.0, -2.0, 0.5],
        "orientation": [0.5, -0.5, 0.5, 0.5],
        "velocity": [0.1, 0.2, -0.3],
        "angular_velocity": [1.0, 2.0, 3.0],
    }
    with opened(tmp_path / "box.yaml", worlds=2) as sim:
        sim.step(5)
        sim.set({f"body.box.{name}": value for name, value in wanted.items()}, worlds=[1])
        for name, value in wanted.items():
            assert np.abs(sim.get(f"body.box.{name}")[1] - value).max() < 1e-14, name
            assert np.abs(sim.get(f"body.box.{name}")[0] - value).max() > 0.01
        sim.set("bodies.box.orientation", [0, 0, 3, 0])
        assert np.allclose(sim.get("body.box.orientation"), [0, 0, 1, 0], atol=1e-14)
        assert np.abs(sim.get("body.box.position")[1] - wanted["position"]).max() < 1e-14


def test_parameters_are_set_as_events_set_them(folder, tmp_path):
    event = "events=[{at: 0.02, set: {joints.pin.damping: 1.5}}]"
    wanted = run(folder / "arm.yaml", tmp_path / "run.h5", "batch.worlds=5", event)
    with opened(folder / "arm.yaml", worlds=5, controls=(), vary=["joints.pin.damping"]) as sim:
        with sim.record(tmp_path / "hand.h5"):
            sim.step(20)
            sim.set("joints.pin.damping", 1.5)
            sim.step(20)
        assert not differing(rows_of(tmp_path / "hand.h5"), wanted)
        with simcli.open(tmp_path / "hand.h5") as file, simcli.open(tmp_path / "run.h5") as reference:
            assert [(event.step, event.code) for event in file.events] == [(20, "SC606")]
            assert [(event.step, event.code) for event in reference.events] == [(20, "SC606")]
        each = np.array([0.1, 0.2, 0.3, 0.0, 2.0])
        sim.reset()
        sim.set("joints.pin.damping", each)
        assert np.array_equal(sim.get("joints.pin.damping")[:, 0], each)
        sim.step(40)
        found = fresh(sim)
    rows = run(
        folder / "arm.yaml",
        tmp_path / "vary.h5",
        "batch.worlds=5",
        f"batch.vary={{joints.pin.damping: {{list: {each.tolist()}}}}}",
    )
    for path in ("frames/joint_q", "frames/joint_qd", "frames/body_q"):
        assert np.array_equal(found[path][0], rows[path][-1])
    assert np.abs(found["energy/drift"][0] - rows["energy/drift"][-1]).max() < 1e-9


def test_events_measures_and_ends_are_those_of_runs(folder, tmp_path):
    """An event in the midst of a frame, a measure, and a world that is stopped; steps of odd numbers."""
    sets = (
        "batch.worlds=5",
        "batch.vary={joints.pin.q: {list: [0.1, 0.2, 0.3, 0.4, 0.5]}}",
        "events=[{at: 0.013, set: {joints.pin.drive.stiffness: 80}}]",
        "run.stop_when={quantity: joint.pin.qd, above: 0.5}",
        "measure={top: {max: joint.pin.q}}",
    )
    wanted = run(folder / "arm.yaml", tmp_path / "run.h5", *sets)
    with opened(folder / "arm.yaml", *sets, controls=()) as sim:
        sim.record(tmp_path / "hand.h5")
        for n in (10, 10, 20):
            sim.step(n)
        assert sim.status.tolist() == [4, 4, 4, 0, 0]
        assert not sim.failures
    assert not differing(rows_of(tmp_path / "hand.h5"), wanted)
    with simcli.open(tmp_path / "hand.h5") as file, simcli.open(tmp_path / "run.h5") as reference:
        assert [(e.step, e.world, e.code) for e in file.events] == [(e.step, e.world, e.code) for e in reference.events]
        assert np.array_equal(*(np.asarray(one.measures["top"].value) for one in (file, reference)))


def test_a_world_that_fails_is_named_and_the_others_go_on(folder):
    with (
        opened(folder / "arm.yaml", "solver.max_velocity=50", worlds=5) as sim,
        opened(folder / "arm.yaml", "solver.max_velocity=50", worlds=5) as calm,
    ):
        calm.step(20)
        sim.step(20, control={"$v": [[0.3], [0.3], [1e6], [0.3], [0.3]]})
        (failure,) = sim.failures
        assert (failure.world, failure.code, failure.joint) == (2, "SC602", "elbow")
        assert sim.status.tolist() == [0, 0, 2, 0, 0]
        assert np.isnan(sim.get("joint.pin.q")[2]).all()
        assert np.array_equal(sim.get("joint.pin.q")[[0, 1, 3, 4]], calm.get("joint.pin.q")[[0, 1, 3, 4]])
        with pytest.raises(UsageError, match="world 2 has ended"):
            sim.set("joint.pin.q", 0.1)
        sim.step(1, control={"$v": 0.3})
        sim.reset([2])
        assert not sim.failures
        assert not sim.status.any()
        sim.step(20)
        assert np.array_equal(sim.get("joint.pin.q")[2], calm.get("joint.pin.q")[2])


def test_two_simulations_share_a_device_and_nothing_else(folder):
    with opened(folder / "arm.yaml", worlds=5) as alone:
        alone.step(20, control={"pin": 0.1})
        wanted = fresh(alone)
    with opened(folder / "arm.yaml", worlds=5) as one, opened(folder / "arm.yaml", worlds=3, threads=None) as two:
        for _ in range(20):
            one.step(1, control={"pin": 0.1})
            two.step(2, control={"pin": 0.9})
        assert not same(fresh(one), wanted)
        with pytest.raises(UsageError, match=r"open on `cpu` with float64 .* before .* is opened on `cpu` with float32"):
            opened(folder / "arm.yaml", "solver.precision=float32")
        with pytest.raises(UsageError, match=r"with float64 and \d+ thread.* and \d+ thread"):
            opened(folder / "arm.yaml", threads=one.device.threads + 1)


def test_a_device_that_others_start_is_told(folder, tmp_path):
    from simcli.kernels.device import runtime

    with opened(folder / "arm.yaml", worlds=5) as one, opened(folder / "arm.yaml", worlds=5) as other:
        one.step(20)
        other.step(10)
        runtime.stop_device()
        runtime.start_device("cpu", "float64")
        other.step(10)  # memory of a CPU is the host's
        assert not same(fresh(one), fresh(other))
        runtime.start_device("cpu", "float32")
        with pytest.raises(DeviceError, match="was stopped, because something else"):
            one.step(1)


def test_an_interrupt_waits_for_the_end_of_a_call(folder, monkeypatch, request):
    import signal

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with opened(folder / "arm.yaml", worlds=5) as sim, opened(folder / "arm.yaml", worlds=5) as calm:
        launch = type(sim._stepwise)._launch

        def interrupted(self, *given):
            signal.raise_signal(signal.SIGINT)
            launch(self, *given)

        monkeypatch.setattr(type(sim._stepwise), "_launch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sim.step(25)
        monkeypatch.undo()
        done = round(sim.time / sim.dt)
        assert 0 < done < 25
        sim.step(25 - done)
        calm.step(25)
        assert not same(fresh(sim), fresh(calm))


def test_launches_that_stand_ready_do_the_same(folder):
    paths = {"worlds": 5, "vary": ["joints.pin.damping"]}
    with opened(folder / "arm.yaml", **paths) as ready, opened(folder / "arm.yaml", **paths) as plain:
        s, plainly = plain._stepwise, []

        def call(kernel, *args, way=()):
            plainly.append(kernel)
            s.stepper.arena.launch(kernel, s.stepper.core, *args)

        s._calls.call = call
        for n in (1, 3, 40):
            for sim in (ready, plain):
                sim.step(n, control={"pin": 0.1 * n})
                sim.set("joints.pin.damping", np.linspace(0.1, 0.5, 5))
                sim.set("joints.pin.damping", 0.1 * n % 0.4 + 0.1, worlds=[1, 3])
                sim.step(2)
                sim.set("joint.pin.q", 0.1, worlds=[2])
                sim.reset([0, 4])
                sim.step(n)
            assert not same(fresh(ready), fresh(plain))
        assert len(set(plainly)) > 3


def test_a_file_says_what_was_set(folder, tmp_path, capsys):

    out = tmp_path / "part.h5"
    with opened(folder / "arm.yaml", worlds=5, vary="joints.pin.damping") as sim:
        sim.step(3, control={"pin": 0.4})
        with sim.record(out):
            sim.step(10)
            sim.step(10, control={"elbow": np.arange(5)})
            sim.set("joint.pin.q", 0.1, worlds=[4])
            sim.reset([0, 1])
            sim.step(15)
            with pytest.raises(UsageError, match=r"reset of all worlds: .* is being written"):
                sim.reset()
            with pytest.raises(UsageError, match=r"record: .* is being written"):
                sim.record(tmp_path / "other.h5")
        sim.step(10)
        with pytest.raises(OutputError, match="exists"):
            sim.record(out)
        sim.record(out, force=True).close()
    with opened(folder / "arm.yaml", worlds=5) as sim, sim.record(out, force=True):
        sim.step(3, control={"pin": 0.4})
        sim.step(30, control={"elbow": np.arange(5)})
    with simcli.open(out) as file:
        assert file.time[:].tolist() == [0.0, 0.01, 0.02, 0.03]
        texts = [event.text for event in file.events]
        assert texts == ["pin = 0.4", "elbow = 0 to 4 over the worlds"]
        assert file.provenance.argv[0] == "simcli.Simulation"
        assert file.status == "done"
    for words in (["info", out], ["check", out], ["plot", out, "-o", tmp_path / "plot.png"]):
        code = run_here(*words)
        assert code == 0, capsys.readouterr()


WRONG = {
    "control of `arm`: there is no such joint or signal": lambda sim: sim.step(1, {"arm": 1}),
    "did you mean `pin`": lambda sim: sim.step(1, {"pins": 1}),
    "signal `hum` is a table, a function of time": lambda sim: sim.step(1, {"$hum": 1}),
    r"values of shape \(4,\) do not fit \(worlds, numbers\) = \(5, 1\)": lambda sim: sim.step(1, {"pin": np.zeros(4)}),
    "the value for world 3 is not finite": lambda sim: sim.step(1, {"pin": [[0], [0], [0], [np.nan], [0]]}),
    "step: -1 steps": lambda sim: sim.step(-1),
    "step: 5.0 is no whole number of steps": lambda sim: sim.step(5.0),
    "step: 'a' is no whole number of steps": lambda sim: sim.step("a"),
    "control: 5 gives no values by name": lambda sim: sim.step(1, 5),
    r"control: \{3: 1\} gives no values by name": lambda sim: sim.step(1, {3: 1}),
    "control of `pin`: 'left' is no number": lambda sim: sim.step(1, {"pin": "left"}),
    "get: 5 is no text; write one as 'joint.pin.q'": lambda sim: sim.get(5),
    "set: 5 gives no values by name": lambda sim: sim.set(5, 1),
    "set `joint.pin.q`: 'a' is no number": lambda sim: sim.set("joint.pin.q", "a"),
    "set `joint.pin.q`: an angle is beyond 1e.06 rad": lambda sim: sim.set("joint.pin.q", 1e7),
    "restore: 5 is no snapshot; give what `save` gave": lambda sim: sim.restore(5),
    r"worlds: a mask of 5, or numbers from 0 to 4": lambda sim: sim.reset([[1], [1, 2]]),
    "no quantity `joint.pin.qq`: did you mean `joint.pin.q": lambda sim: sim.get("joint.pin.qq"),
    "do not hold `joint.pin.wrench`: add `reactions` to output.channels": lambda sim: sim.get("joint.pin.wrench"),
    r"do not hold `joint.pin.drive_power`: name it in output.quantities": lambda sim: sim.get("joint.pin.drive_power"),
    "set `joint.arm.q`: there is no joint `arm`": lambda sim: sim.set("joint.arm.q", 1),
    "set `body.upper.position`: the body is no free one": lambda sim: sim.set("body.upper.position", [0, 0, 0]),
    "set `joints.pin.damping`: is no state, and no parameter .* name it in `vary`": lambda sim: sim.set(
        "joints.pin.damping", 1
    ),
    "set `joint.pin.q`: the value for world 0 is not finite": lambda sim: sim.set("joint.pin.q", np.inf),
    r"values of shape \(3,\) do not fit \(worlds, numbers\) = \(2, 1\)": lambda sim: sim.set(
        "joint.pin.q", np.zeros(3), worlds=[0, 1]
    ),
    "a mask of 5, or numbers from 0 to 4": lambda sim: sim.reset([5]),
}


@pytest.fixture(scope="module")
def sim(folder):
    with opened(folder / "arm.yaml", worlds=5) as sim:
        yield sim


@pytest.mark.parametrize("words", WRONG)
def test_mistakes_are_told_and_nothing_is_done(sim, words):
    before = sim.time
    with pytest.raises(UsageError, match=words):
        WRONG[words](sim)
    assert sim.time == before


@pytest.mark.parametrize("n", [np.int64(2), np.int32(2), np.array(2)], ids=repr)
def test_whole_numbers_of_numpy_are_steps(sim, n):
    before = sim.time
    sim.step(n)
    assert sim.time == pytest.approx(before + 2e-3)


OPENED = {
    "threads: 0 threads; take 1 to 4096": {"threads": 0},
    "worlds: 'a' is no whole number": {"worlds": "a"},
    "sets: 5 is no list of texts": {"sets": 5},
    r"vary: \[5\] is no list of texts": {"vary": [5]},
    "controls: `arm` is no joint with a drive": {"controls": ["arm"]},
    "vary: `joints.pin.type` cannot be set while it runs": {"vary": ["joints.pin.type"]},
    "vary: `bodies.upper.mass` cannot be set while it runs: that changes": {"vary": ["bodies.upper.mass"]},
    "`vary` with a scene that has events": {
        "vary": "joints.pin.damping",
        "sets": ["events=[{at: 0.01, set: {joints.pin.damping: 1}}]"],
    },
}


@pytest.mark.parametrize("words", OPENED)
def test_openings_that_are_refused(folder, words):
    with pytest.raises(UsageError, match=words):
        simcli.Simulation(folder / "arm.yaml", **{"device": "cpu", **OPENED[words]})


def test_a_shell_sees_all_public_names():
    pages = (Path(simcli.__file__).parent / "docs").glob("*.md")
    told = {
        name for page in pages for name in re.findall(r"\bsimcli\.([A-Za-z]\w*)\b(?!/\d)", page.read_text(encoding="utf-8"))
    }
    assert {"Simulation", "load", "open", "sweep"} <= told <= set(dir(simcli))


def test_what_is_closed_or_set_by_the_scene_is_refused(folder):
    with pytest.raises(SceneError):
        opened(folder / "arm.yaml", "joints.pin.axis=[0, 0, 0]")
    with opened(folder / "table.yaml", worlds=5) as sim, pytest.raises(UsageError, match="is a table, a function of time"):
        sim.step(1, {"pin": 0.1})
    with pytest.raises(UsageError, match="is closed"):
        sim.step()
