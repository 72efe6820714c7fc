"""Runs whose worlds the memory of a device does not hold at once: the file is that of a run of all of them."""

import json
import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from support.process import run_here
from support.runs import SWING, committed, differing, digest

import simcli
from simcli import pipeline
from simcli.cli import process as cli_process
from simcli.cli.runs.run import LiveView
from simcli.errors import DeviceMemoryError, Exit, OutputError
from simcli.kernels.device import storage
from simcli.kernels.device.runtime import Device
from simcli.model.snapshot import Event, Unsolved
from simcli.model.tables.start_tables import Beginning
from simcli.pipeline import sub_batches as parts_of_batch
from simcli.pipeline.sub_batches import sub_batches_folder
from simcli.solvers.output.contact_report import worst_event
from simcli.solvers.run.frame_buffers import FrameBuffers
from simcli.view.page import live

PARTS = (3, 3, 1)
VARY = "batch={worlds: 7, seed: 3, vary: {joints.pin.qd: {linspace: [0, 5]}, bodies.lower.mass: {uniform: [0.5, 2]}}}"
LIMIT = "solver.max_velocity=4"  # [rad/s]: worlds 5 and 6 fail
MEASURE = "measure={turn: {max_abs: joint.pin.q}}"
EXPECT = "expect=[{max: joint.pin.qd, below: 4.5}]"  # fails in world 6, which has ended, in no frame
SETS = (VARY, LIMIT, MEASURE, EXPECT)

# A crank that is led to where its rod cannot reach the rail; the loop is closed from another angle in each world.
CRANK = """
simcli: 1
world: {gravity: [0, 0, 0]}
bodies:
  crank: {pose: {xyz: [0.2, 0, 0]}, mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}}
  rod: {pose: {xyz: [0.5, 0, 0]}, mass: 1, inertia: {diag: [0.02, 0.02, 0.02]}}
  slider: {pose: {xyz: [0.6, 0, 0]}, mass: 1, inertia: {diag: [0.01, 0.01, 0.01]}}
joints:
  pin: {type: revolute, parent: world, child: crank, at: [0, 0, 0], axis: [0, 1, 0], q: 0, motion: {velocity: 5}}
  knee: {type: revolute, parent: crank, child: rod, at: [0.4, 0, 0], axis: [0, 1, 0]}
  wrist: {type: revolute, parent: rod, child: slider, at: [0.6, 0, 0], axis: [0, 1, 0]}
  rail: {type: prismatic, parent: world, child: slider, at: [0.6, 0, 0], axis: [1, 0, 0], loop: true}
solver: {type: generalized, integrator: semi_implicit, dt: 1.0e-3, max_velocity: 1.0e+9}
run: {duration: 0.12}
output: {every: 1.0e-3, channels: [state]}
batch: {worlds: 7, vary: {joints.pin.q: {linspace: [0, 0.3]}}}
"""


@pytest.fixture(scope="module", autouse=True)
def scalar(scalar_code):
    """Parts of any size have one kernel."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "swing.yaml"
    path.write_text(SWING.replace(", integrator: rk4", "").replace("{duration: 0.06}", "{duration: 0.02}"))
    return path


@pytest.fixture(scope="module")
def whole(scene):
    return execute(scene, "whole.h5")


def execute(scene, name, *sets, watch=pipeline.keep_going, **options):
    return pipeline.execute(pipeline.prepare(request(scene, name, *sets, **options)), watch)


def request(scene, name, *sets, **options):
    return pipeline.Request(scene, scene.with_name(name), (*SETS, *sets), "cpu", **options)


def told(outcome):
    names = ("status", "n_worlds", "n_steps", "n_frames", "failures", "warnings", "first_frame", "drift", "n_stopped")
    return [getattr(outcome, name) for name in names], [one.row() for one in outcome.verdicts]


def test_the_file_and_what_is_told_are_those_of_all_worlds_at_once(scene, whole, small_memory):
    ticks = []
    outcome = execute(scene, "parts.h5", watch=lambda tick: ticks.append(tick) or True)
    assert outcome.sub_batches == PARTS
    assert not whole.sub_batches
    assert told(outcome) == told(whole)
    assert [one.world for one in outcome.failures] == [5, 6]
    assert not differing(committed(outcome.output), committed(whole.output))
    with simcli.open(outcome.output) as a, simcli.open(whole.output) as b:
        for name in ("worlds", "overrides", "scene_resolved", "origin"):
            assert getattr(a.provenance, name) == getattr(b.provenance, name)
        assert a.measures["turn"].value[:].tolist() == b.measures["turn"].value[:].tolist()
        assert [vars(one) for one in a.events] == [vars(one) for one in b.events]
    assert not sub_batches_folder(outcome.output).exists()
    joining = [tick.stage for tick in ticks].index("joining")
    for some in (ticks[:joining], ticks[joining:]):
        fractions = [tick.fraction for tick in some]
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1.0
        assert some[-1].steps == 7 * outcome.n_steps
    assert {tick.stage for tick in ticks[joining:]} == {"joining"}


def test_a_page_does_not_show_the_run_that_is_replaced(scene, whole, small_memory, monkeypatch, capsys):
    """With --view and --force: until the parts are joined the file at the name is the old one."""
    monkeypatch.setattr(live, "LiveProcess", lambda output: pytest.fail(f"{output} is shown"))
    output = scene.with_name("again.h5")
    output.write_bytes(whole.output.read_bytes())
    before = digest(output)
    with LiveView(True) as page:
        outcome = execute(scene, "again.h5", force=True, watch=lambda tick: page.see(tick, output) or True)
        page.end(outcome)
    assert "a run in parts has no page before its end: simcli view" in capsys.readouterr().err
    assert digest(output) == before == digest(whole.output)


def test_a_run_that_is_stopped_in_a_part_goes_on_to_the_same_file(scene, whole, small_memory, monkeypatch):
    outcome = execute(scene, "stopped.h5", watch=lambda tick: tick.fraction < 0.5)
    assert (outcome.status, outcome.sub_batches) == ("stopped", PARTS)
    output = scene.with_name("stopped.h5")
    assert not output.exists()
    assert {one.name for one in sub_batches_folder(output).glob("*.h5")} == {"0-2.h5", "3-5.h5"}
    with pytest.raises(OutputError, match="holds parts of an unfinished run; add --resume"):
        execute(scene, "stopped.h5")
    with pytest.raises(OutputError, match="has parts of a run with a different --device"):
        pipeline.execute(pipeline.prepare(replace(request(scene, "stopped.h5", resume=True), device="auto")))
    with pytest.raises(OutputError, match="has parts of a run with a different --world"):
        execute(scene, "stopped.h5", worlds=(0, 2, 3, 4), resume=True)
    plan = sub_batches_folder(output) / "plan.json"
    before = plan.read_text()
    for damage in ("", "{", "[]", '{"size": "many"}', '{"size": 0}'):
        plan.write_text(damage)
        with pytest.raises(OutputError, match=r"its plan.json is damaged; start again with --restart"):
            execute(scene, "stopped.h5", resume=True)
    plan.write_text(before)
    monkeypatch.setattr(storage, "refuse_beyond", lambda *_: None)  # now all would fit
    outcome = execute(scene, "stopped.h5", resume=True)
    assert outcome.sub_batches == PARTS
    assert outcome.status == "done"
    assert not differing(committed(output), committed(whole.output))
    assert not sub_batches_folder(output).exists()


def test_what_a_run_tells_once_is_told_once_and_at_its_place(tmp_path, small_memory, monkeypatch):
    """SC616 of the world that was moved farthest, SC668 of all worlds: also where commits are short."""
    path = tmp_path / "crank.yaml"
    path.write_text(CRANK)
    parts = pipeline.execute(pipeline.prepare(pipeline.Request(path, tmp_path / "parts.h5", device="cpu")))
    assert parts.sub_batches == PARTS
    monkeypatch.setattr(storage, "refuse_beyond", lambda *_: None)
    for name in ("whole", "short"):
        whole = pipeline.execute(pipeline.prepare(pipeline.Request(path, tmp_path / f"{name}.h5", device="cpu")))
        assert not whole.sub_batches
        assert told(parts) == told(whole)
        assert parts.unsolved == whole.unsolved
        assert not differing(committed(parts.output), committed(whole.output))
        assert digest(parts.output) == digest(whole.output)
        monkeypatch.setattr("simcli.solvers.run.solver.CALL_SECONDS", 0.0)
        monkeypatch.setattr("simcli.records.writing.writer.PATIENCE_S", 0.0)
        monkeypatch.setattr("simcli.records.writing.writer.frames_per_commit", lambda *_: 1)
    with simcli.open(parts.output) as run:
        codes = [event.code for event in run.events]
        assert [codes.count(code) for code in ("SC616", "SC662", "SC668")] == [2, whole.unsolved.n_worlds, 1]
        assert {event.world for event in run.events if event.code == "SC616"} == {6}
        assert codes[-1] == "SC668"
        assert run.events[-1].step < run.events[-2].step


def test_worst_of_all_worlds_out_of_those_of_parts():
    def event(world, code, value, step=0):
        return Event(step, 0.0, world, code, 0, -1, -1, value, f"{code} of {world}")

    events = [
        event(-1, "SC633", 0.1),
        event(1, "SC611", 0.2),
        event(1, "SC661", 0.1, 4),
        event(1, "SC662", 2.0, 9),
        event(1, "SC668", 0.1, 4),
        event(-1, "SC633", 0.3),
        event(4, "SC611", 0.4),
        event(4, "SC662", 3.0, 9),
        event(4, "SC668", np.nan, 5),
        event(6, "SC611", 0.4),
        event(6, "SC668", 7.0, 5),
    ]
    job = SimpleNamespace(model=SimpleNamespace(start=Beginning(), joints=SimpleNamespace(child=[])))
    *kept, worst = parts_of_batch._retold(job, events)
    assert kept == [events[2], events[3], events[5], events[6], events[7]]
    assert (worst.world, worst.step, worst.text) == (4, 5, worst_event(Unsolved(4, 5, 0.0, np.nan, 5, 2)).text)


def test_joining_is_of_one_process_stopped_at_once_and_done_where_there_is_room(scene, whole, small_memory, monkeypatch):
    output, room, ticks = scene.with_name("joined.h5"), whole.n_bytes * 3 // 2, []
    monkeypatch.setattr("simcli.analysis.estimate.free_bytes", lambda path: room)
    with pytest.raises(OutputError, match=r"needs about .* for parts and the file of all of them, and .* are free"):
        execute(scene, output.name)
    assert not sub_batches_folder(output).exists()
    room *= 10

    def stop(tick):
        if tick.steps and tick.stage not in [one.stage for one in ticks]:
            for options in ({"force": True}, {"resume": True}):
                with pytest.raises(OutputError, match=rf"joined.h5: process {os.getpid()} is writing this file"):
                    execute(scene, output.name, **options)
        ticks.append(tick)
        return tick.stage != "joining" or tick.fraction < 0.3

    outcome = execute(scene, output.name, watch=stop)
    assert (outcome.status, outcome.sub_batches) == ("stopped", PARTS)
    assert sum(tick.stage == "joining" and tick.fraction >= 0.3 for tick in ticks) == 1
    assert not output.exists()
    assert not [one.name for one in scene.parent.iterdir() if one.name.endswith((".lock", ".part"))]
    assert len(list(sub_batches_folder(output).glob("*.h5"))) == 3
    room = whole.n_bytes // 2
    told_so = r"its 3 parts are done, and to join them .* missing. Make room; then the same command with --resume joins"
    with pytest.raises(OutputError, match=told_so):
        execute(scene, output.name, resume=True)
    room *= 20
    (stale := scene.with_name(".joined.h5.77.part")).touch()  # of a joining that was killed
    output.write_bytes(whole.output.read_bytes())  # which the first run was to replace
    os.utime(output, (0, 0))
    ticks.clear()
    outcome = execute(scene, output.name, resume=True, watch=lambda tick: ticks.append(tick) or True)
    assert told(outcome) == told(whole)
    assert not stale.exists()
    assert {tick.stage for tick in ticks} == {"joining"}
    assert not differing(committed(output), committed(whole.output))


def test_frames_that_do_not_fit_split_a_run_too(scene, whole, monkeypatch):
    """The memory of a GPU may hold its worlds, but not their frames."""
    buffer = Device.buffer

    def refuse(device, shape, dtype=None):
        if shape[0] > PARTS[0] * 2 * 14:  # one frame of body_q of 7 worlds, 2 bodies, or two frames of a part
            raise RuntimeError("[cuda] out of memory")
        return buffer(device, shape, dtype)

    monkeypatch.setattr(Device, "buffer", refuse)
    outcome = execute(scene, "frames.h5")
    assert outcome.sub_batches == PARTS
    assert not differing(committed(outcome.output), committed(whole.output))
    with pytest.raises(DeviceMemoryError, match=r"SC714: .* for a frame \(\[cuda\] out of memory\): 3 of 7 worlds fit"):
        execute(scene, "refused.h5", "run.on_failure=stop")


def test_fewer_frames_at_once_where_the_memory_holds_no_more():
    def held(most):
        def take(n_frames, _places, _begins):
            if n_frames > most:
                raise DeviceMemoryError("SC714", 0)

        return FrameBuffers.held(SimpleNamespace(take=take), 40, True)

    assert [held(most) for most in (100, 39, 1)] == [40, 20, 1]
    with pytest.raises(DeviceMemoryError):
        held(0)


def test_some_worlds_keep_their_numbers(scene, small_memory):
    outcome = execute(scene, "some.h5", worlds=(1, 2, 4, 5))
    assert outcome.sub_batches == (2, 2)
    assert [one.world for one in outcome.failures] == [5]
    with simcli.open(outcome.output) as run:
        assert run.provenance.worlds == (1, 2, 4, 5)


def test_what_cannot_be_split_is_refused_by_name(scene, small_memory):
    with pytest.raises(DeviceMemoryError, match=r"SC714: .*3 of 7 worlds fit"):
        execute(scene, "refused.h5", "run.on_failure=stop")
    assert not sub_batches_folder(scene.with_name("refused.h5")).exists()


def test_the_command_line_tells_the_parts(scene, small_memory, capfd):
    words = ["run", scene, "-o", scene.with_name("command.h5"), "--device", "cpu"]
    sets = [word for one in SETS for word in ("--set", one)]
    assert run_here(*words, *sets) == Exit.SIMULATION
    assert "the device does not hold 7 worlds: they ran in 3 parts of 3 at most" in capfd.readouterr().err
    words = [str(one) for one in (*words, *sets, "--force", "--json")]
    assert cli_process.run_command(words, debug=False, as_json=True) == Exit.SIMULATION
    assert json.loads(capfd.readouterr().out)["worlds_of_parts"] == list(PARTS)
