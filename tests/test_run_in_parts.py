"""Runs whose worlds the memory of a device does not hold at once: the file is that of a run of all of them."""

import json
from dataclasses import replace

import pytest
from support.runs import SWING, committed, differing

import simcli
from simcli import pipeline
from simcli.cli import doorman
from simcli.errors import DeviceMemoryError, Exit, OutputError
from simcli.kernels.memory import storage
from simcli.pipeline.parts import parts_folder

FIT = 3  # worlds, of 7
PARTS = (3, 3, 1)
VARY = "batch={worlds: 7, seed: 3, vary: {joints.pin.qd: {linspace: [0, 5]}, bodies.lower.mass: {uniform: [0.5, 2]}}}"
LIMIT = "solver.max_velocity=4"  # [rad/s]: worlds 5 and 6 fail
MEASURE = "measure={turn: {max_abs: joint.pin.q}}"
EXPECT = "expect=[{max: joint.pin.qd, below: 4.5}]"  # fails in world 6, which has ended, in no frame
SETS = (VARY, LIMIT, MEASURE, EXPECT)


@pytest.fixture(scope="module", autouse=True)
def scalar(scalar_code):
    """Parts of any size have one kernel."""


@pytest.fixture
def small_memory(monkeypatch):
    """As if it held so many worlds."""
    refuse = storage.refuse_beyond

    def refuse_sooner(most, n, size, fit, n_worlds):
        refuse(most if n_worlds <= FIT else n - 1, n, size, FIT, n_worlds)

    monkeypatch.setattr(storage, "refuse_beyond", refuse_sooner)


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
    assert outcome.parts == PARTS
    assert not whole.parts
    assert told(outcome) == told(whole)
    assert [one.world for one in outcome.failures] == [5, 6]
    assert not differing(committed(outcome.output), committed(whole.output))
    with simcli.open(outcome.output) as a, simcli.open(whole.output) as b:
        for name in ("worlds", "overrides", "scene_resolved", "origin"):
            assert getattr(a.provenance, name) == getattr(b.provenance, name)
        assert a.measures["turn"].value[:].tolist() == b.measures["turn"].value[:].tolist()
        assert [vars(one) for one in a.events] == [vars(one) for one in b.events]
    assert not parts_folder(outcome.output).exists()
    fractions = [tick.fraction for tick in ticks]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert ticks[-1].steps == 7 * outcome.n_steps


def test_a_run_that_is_stopped_in_a_part_goes_on_to_the_same_file(scene, whole, small_memory, monkeypatch):
    outcome = execute(scene, "stopped.h5", watch=lambda tick: tick.fraction < 0.5)
    assert (outcome.status, outcome.parts) == ("stopped", PARTS)
    output = scene.with_name("stopped.h5")
    assert not output.exists()
    assert {one.name for one in parts_folder(output).glob("*.h5")} == {"0-2.h5", "3-5.h5"}
    with pytest.raises(OutputError, match="holds parts of an unfinished run; add --resume"):
        execute(scene, "stopped.h5")
    with pytest.raises(OutputError, match="holds parts of a run with another --device"):
        pipeline.execute(pipeline.prepare(replace(request(scene, "stopped.h5", resume=True), device="auto")))
    with pytest.raises(OutputError, match="holds parts of a run with another --world"):
        execute(scene, "stopped.h5", worlds=(0, 2, 3, 4), resume=True)
    plan = parts_folder(output) / "plan.json"
    before = plan.read_text()
    for damage in ("", "{", "[]", '{"size": "many"}', '{"size": 0}'):
        plan.write_text(damage)
        with pytest.raises(OutputError, match=r"its plan.json is damaged; begin anew with --restart"):
            execute(scene, "stopped.h5", resume=True)
    plan.write_text(before)
    monkeypatch.setattr(storage, "refuse_beyond", lambda *_: None)  # now all would fit
    outcome = execute(scene, "stopped.h5", resume=True)
    assert outcome.parts == PARTS
    assert outcome.status == "done"
    assert not differing(committed(output), committed(whole.output))
    assert not parts_folder(output).exists()


def test_some_worlds_keep_their_numbers(scene, small_memory):
    outcome = execute(scene, "some.h5", worlds=(1, 2, 4, 5))
    assert outcome.parts == (2, 2)
    assert [one.world for one in outcome.failures] == [5]
    with simcli.open(outcome.output) as run:
        assert run.provenance.worlds == (1, 2, 4, 5)


def test_what_cannot_be_split_is_refused_by_name(scene, small_memory):
    with pytest.raises(DeviceMemoryError, match=r"SC714: .*3 of 7 worlds fit"):
        execute(scene, "refused.h5", "run.on_failure=stop")
    assert not parts_folder(scene.with_name("refused.h5")).exists()


def test_the_command_line_tells_the_parts(scene, small_memory, capfd):
    words = ["run", scene, "-o", scene.with_name("command.h5"), "--device", "cpu"]
    sets = [word for one in SETS for word in ("--set", one)]
    assert doorman.run_command([str(one) for one in (*words, *sets)], debug=False, as_json=False) == Exit.SIMULATION
    assert "the device does not hold 7 worlds: they ran in 3 parts of 3 at most" in capfd.readouterr().err
    words = [str(one) for one in (*words, *sets, "--force", "--json")]
    assert doorman.run_command(words, debug=False, as_json=True) == Exit.SIMULATION
    assert json.loads(capfd.readouterr().out)["worlds_of_parts"] == list(PARTS)
