"""What came of a sweep: chunks as runs, against whole batches; the table whatever the chunks were; damage that is found."""

import csv
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.runs import SWING, committed, differing, worlds_of

import simcli
from simcli import pipeline
from simcli.analysis.export.text_files import write_table
from simcli.errors import FileError, SceneError, SimulationError, UsageError
from simcli.pipeline.sub_batches import sub_batches_folder
from simcli.records.reading.sweep_cases import numbers_digest, read_cases
from simcli.sweeps.case_table import table_of
from simcli.sweeps.executors.chunk_run import run_chunk
from simcli.sweeps.folder import problems_of
from simcli.sweeps.records.plan import plan_of

WORLDS = 7
FAILING = 5  # its mass is such that it flies apart
SWEEP = """
sweep: 1
scene: swing.yaml
set: {solver.max_velocity: 20, run.on_failure: stop, run.duration: 0.05}
choices: {way: {light: {bodies.lower.mass: 0.5}, heavy: {bodies.lower.mass: 2, solver.dt: 5e-4}}}
vary:
  forces.motor.value: {list: [0, 0.1, 0, 0.2, 0, 1.0e+4, 0.3]}
  joints.pin.q: {uniform: [0, 1]}
worlds: 7
measure: {peak: {max_abs: joint.elbow.qd}, end: {final: body.lower.position}, far: {max: point.lower/tip.position}}
keep: failed
"""


class Made:
    """A sweep that was run, chunk by chunk."""

    def __init__(self, scenes: Path, folder: Path, **options):
        self.plan, self.folder = plan_of(scenes / "sweep.yaml", device="cpu", **options), folder
        self.done, self.digests, self.failed, self.results = {}, {}, {}, []
        for chunk in self.plan.chunks:
            found = run_chunk(chunk, folder, 1, "cpu", self.plan.keep, self.plan.time_limit)
            self.results.append(found)
            self.done |= dict.fromkeys(chunk.cases, found.file)
            self.digests[found.file] = {found.digest}
            self.failed |= found.failed

    def csv(self, path: Path) -> bytes:
        """The table as CSV."""
        write_table(table_of(self.plan, self.folder, self.done, {}), path)
        return path.read_bytes()

    def problems(self, **changes):
        """What is wrong with the folder."""
        facts = {"done": self.done, "digests": self.digests, "given_up": {}} | changes
        return list(problems_of(self.plan, self.folder, **facts))


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    (folder / "swing.yaml").write_text(SWING.replace(", integrator: rk4", ""))
    (folder / "sweep.yaml").write_text(SWEEP)
    return folder


@pytest.fixture(scope="module")
def made(scenes, tmp_path_factory):
    return Made(scenes, tmp_path_factory.mktemp("made"), max_worlds=4)


@pytest.fixture(scope="module")
def other(scenes, tmp_path_factory):
    """The same sweep in other chunks, with all frames."""
    return Made(scenes, tmp_path_factory.mktemp("other"), max_worlds=7, keep="all")


@pytest.fixture(scope="module")
def whole(scenes, made, tmp_path_factory):
    """The batch of each structure, run as a whole with all of its frames, in the order of the table."""
    folder, found = tmp_path_factory.mktemp("whole"), []
    for k, batch in enumerate(made.plan.batches):
        sets = (*batch.sets, "run.on_failure=isolate")
        found.append(folder / f"{k}.h5")
        pipeline.execute(pipeline.prepare(pipeline.Request(batch.scene, found[-1], sets, "cpu")))
    return found


@pytest.fixture
def chunk(scenes):
    return plan_of(scenes / "sweep.yaml", device="cpu").chunks[0]


def test_the_table_holds_the_numbers_of_whole_batches(made, whole):
    table = table_of(made.plan, made.folder, made.done, {}).arrays
    with simcli.open(whole[0]) as light, simcli.open(whole[1]) as heavy:
        for k, run in enumerate((light, heavy)):
            here = slice(WORLDS * k, WORLDS * (k + 1))
            assert set(table["way"][here]) == {("light", "heavy")[k]}
            for name in ("peak", "far.x", "end.z"):
                measure = run.measures[name.partition(".")[0]].value
                wanted = measure[:, "xyz".index(name[-1])] if "." in name else measure
                np.testing.assert_array_equal(table[f"measure.{name}"][here], wanted)
            for name, values in run.params.items():
                np.testing.assert_array_equal(table[name][here], values)
    assert len(np.unique(table["measure.peak"])) > 2 * (WORLDS - 1)  # else they would prove nothing


def test_worlds_that_fail_are_cases_that_failed(made):
    table = table_of(made.plan, made.folder, made.done, {}).arrays
    failed = table["status"] == "failed"
    assert failed.tolist() == [k % WORLDS == FAILING for k in range(2 * WORLDS)]
    assert set(table["status"][~failed]) == {"ok"}
    assert set(made.failed) == set(table["case"][failed])
    assert all(
        reason.startswith(f"{code}: ")
        for reason, code in zip(made.failed.values(), table["status.code"][failed], strict=True)
    )
    assert np.isfinite(table["status.time"]).tolist() == failed.tolist()


def test_the_table_has_the_same_bytes_whatever_the_chunks_were(made, other, tmp_path):
    text = made.csv(tmp_path / "a.csv")
    other.done = dict(reversed(other.done.items()))
    assert {result.file for result in made.results} & set(other.done.values()) == set()
    assert other.csv(tmp_path / "b.csv") == text
    header, *rows = csv.reader(text.decode().splitlines())
    assert header[:6] == ["case", "status", "status.code", "status.reason", "status.time [s]", "way"]
    assert header[6:8] == ["forces.motor.value [N*m]", "joints.pin.q [rad]"]
    assert header[8] == "measure.peak [rad/s]"
    assert [row[0] for row in rows] == [case.id for case in made.plan.cases]


def test_parquet_has_the_same_columns(made, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_table(table_of(made.plan, made.folder, made.done, {}), tmp_path / "a.parquet")
    found = parquet.read_table(tmp_path / "a.parquet")
    assert found["case"].to_pylist() == [case.id for case in made.plan.cases]
    assert found.schema.field("joints.pin.q").metadata[b"unit"] == b"rad"


def test_results_say_which_cases_they_hold(made):
    assert [result.n_steps for result in made.results] == [50 * 4, 50 * 3, 100 * 4, 100 * 3]
    for chunk, result in zip(made.plan.chunks, made.results, strict=True):
        with simcli.open(made.folder / result.file) as run:
            assert read_cases(run) == list(chunk.cases)
            assert run.provenance.worlds == chunk.worlds
            assert run.channels == ()
            assert numbers_digest(run) == result.digest


def test_only_failed_cases_keep_their_frames(made, whole):
    names = {made.plan.cases[k * WORLDS + FAILING].id: k for k in (0, 1)}
    assert sorted(path.name for path in (made.folder / "runs").iterdir()) == sorted(f"{case}.h5" for case in names)
    for case, k in names.items():
        alone, rows = committed(made.folder / "runs" / f"{case}.h5"), committed(whole[k])
        assert not differing(worlds_of(alone, slice(None)), worlds_of(rows, [FAILING]))


def test_all_frames_stay_if_that_is_asked_for(other, whole):
    for result, path in zip(other.results, whole, strict=True):
        here, there = (worlds_of(committed(one), slice(None)) for one in (other.folder / result.file, path))
        assert not differing(here, there)
    assert not (other.folder / "runs").exists()


def test_nothing_is_left_of_a_chunk_that_was_stopped(chunk, tmp_path):
    assert run_chunk(chunk, tmp_path, 1, "cpu", "none", None, lambda tick: tick.stage != "stepping") is None
    assert list((tmp_path / "results").iterdir()) == []


def test_a_chunk_that_does_not_fit_goes_in_parts_and_leaves_nothing_else(scenes, other, tmp_path, small_memory):
    chunk, ticks = plan_of(scenes / "sweep.yaml", device="cpu", max_worlds=7).chunks[0], []
    found = run_chunk(chunk, tmp_path, 1, "cpu", "all", None, lambda tick: ticks.append(tick.stage) or True)
    assert "joining" in ticks
    assert (found.digest, found.failed) == (other.results[0].digest, other.results[0].failed)
    assert not differing(committed(tmp_path / found.file), committed(other.folder / other.results[0].file))
    assert [path.name for path in (tmp_path / "results").iterdir()] == [Path(found.file).name]
    assert run_chunk(chunk, tmp_path / "b", 1, "cpu", "all", None, lambda tick: tick.stage != "joining") is None
    assert list((tmp_path / "b" / "results").iterdir()) == []


def test_a_time_limit_stops_a_chunk_by_name(chunk, tmp_path):
    with pytest.raises(SimulationError, match="time limit: takes longer than 1e-09 s per case"):
        run_chunk(chunk, tmp_path, 1, "cpu", "none", 1e-9)
    assert list((tmp_path / "results").iterdir()) == []


def test_an_error_leaves_nothing_and_the_leftovers_of_the_dead_go(chunk, scenes, tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    dead = tmp_path / "results" / f".{chunk.id}.{os.uname().nodename}-1.part.h5"
    dead.write_bytes(b"")
    sub_batches_folder(dead.with_name(dead.name.replace("-1.", "-2."))).mkdir()  # of one that was killed amid parts
    full = OSError(28, "full")
    monkeypatch.setattr("simcli.records.reading.sweep_cases.write_cases", lambda *_: (_ for _ in ()).throw(full))
    with pytest.raises(OSError, match="full"):
        run_chunk(chunk, tmp_path, 1, "cpu", "none", None)
    assert list((tmp_path / "results").iterdir()) == []


def test_worlds_that_cannot_begin_are_failed_and_scenes_that_are_none_refused(scenes):
    sets = ("joints.pin.limit=[1, 1.5]", "joints.pin.q=1.2", "batch={worlds: 2, vary: {joints.elbow.q: {list: [0, 1]}}}")
    limits = ("joints.elbow.limit=[-0.5, 0.5]",)
    plan = plan_of(scenes / "swing.yaml", (*sets, *limits), device="cpu", max_worlds=1)
    second = plan.chunks[1]
    found = run_chunk(second, scenes / "d", 1, "cpu", "none", None)
    assert list(found.failed) == list(second.cases)
    assert found.failed[second.cases[0]].startswith("SC477: ")
    sets = ("batch={worlds: 40, vary: {bodies.lower.mass: {normal: [1, 1]}}}",)
    plan = plan_of(scenes / "swing.yaml", sets, device="cpu")
    with pytest.raises(SceneError):
        run_chunk(plan.chunks[0], scenes / "d", 1, "cpu", "none", None)


# Tables of sweeps that are not done.


def test_cases_without_a_result_are_missing_or_given_up(made):
    cases = [case.id for case in made.plan.cases]
    done = {case: file for case, file in made.done.items() if case not in cases[:3]}
    reasons = {cases[0]: "SC231: a mass below zero", cases[1]: "time limit: takes longer than 2 s per case"}
    table = table_of(made.plan, made.folder, done, reasons).arrays
    assert table["status"][:4].tolist() == ["failed", "failed", "missing", "ok"]
    assert table["status.code"][:3].tolist() == ["SC231", "", ""]
    assert table["status.reason"][:3].tolist() == ["a mass below zero", reasons[cases[1]], ""]
    assert np.isnan(table["measure.peak"][:3]).all()
    empty = table_of(made.plan, made.folder, {}, {})
    assert set(empty.arrays["status"]) == {"missing"}
    assert len(empty.arrays["joints.pin.q"]) == 2 * WORLDS


def test_measures_of_one_name_must_have_one_unit(scenes, tmp_path):
    text = """sweep: 1
scene: swing.yaml
set: {run.duration: 0.01}
choices: {what: {angle: {measure.m: {max: joint.pin.q}}, rate: {measure.m: {max: joint.pin.qd}}}}
"""
    (scenes / "units.yaml").write_text(text)
    plan = plan_of(scenes / "units.yaml", device="cpu")
    done = {case: run_chunk(chunk, tmp_path, 1, "cpu", "none", None).file for chunk in plan.chunks for case in chunk.cases}
    with pytest.raises(UsageError, match=r"`measure.m` is in rad/s, in other cases in rad"):
        table_of(plan, tmp_path, done, {})


# What is wrong with a folder.


def test_a_whole_folder_has_no_problem(made):
    assert made.problems() == []


def test_what_is_left_is_no_error(made):
    first = made.plan.chunks[0]
    left = {case: file for case, file in made.done.items() if case not in first.cases}
    problems = made.problems(done=left)
    assert not any(problem.is_error for problem in problems)
    text = " ".join(problem.text for problem in problems)
    assert f"4 of {2 * WORLDS} cases have no result yet" in text
    assert "counts for no case" in text
    text = " ".join(problem.text for problem in made.problems(done=left, given_up=dict.fromkeys(first.cases, "killed")))
    assert "given up: 4 cases" in text
    assert "(killed)" in text


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("remove", "does its 4 cases again"),
        ("flip", ""),
        ("swap", "does not hold the case"),
        ("digest", "does not hold the numbers that the ledger says"),
        ("foreign", ""),
    ],
)
def test_damage_is_found(scenes, made, tmp_path, damage, said):
    copied = object.__new__(Made)
    copied.__dict__.update(made.__dict__ | {"folder": tmp_path / "copy", "digests": dict(made.digests)})
    shutil.copytree(made.folder, copied.folder)
    file = made.results[0].file
    path = copied.folder / file
    if damage == "remove":
        path.unlink()
    elif damage == "flip":
        data = bytearray(path.read_bytes())
        with simcli.open(path) as run:
            at = bytes(data).index(run.params["joints.pin.q"][:1].tobytes())
        data[at] ^= 1
        path.write_bytes(data)
    elif damage == "swap":
        shutil.copy(copied.folder / made.results[1].file, path)
    elif damage == "digest":
        copied.digests[file] = {"0" * 64}
    else:
        path.write_bytes(b"no HDF5 file")
    parts = []
    found = [problem for problem in copied.problems(seen=parts.append) if problem.is_error]
    assert parts[-1] == 1.0
    assert found
    assert all(problem.file == file for problem in found)
    assert said in found[0].text


def test_damage_of_a_kept_trajectory_is_found(made, tmp_path):
    shutil.copytree(made.folder, tmp_path / "copy")
    path = sorted((tmp_path / "copy" / "runs").iterdir())[0]
    path.write_bytes(path.read_bytes()[:-100])
    found = list(problems_of(made.plan, tmp_path / "copy", made.done, made.digests, {}))
    assert {problem.file for problem in found} == {f"runs/{path.name}"}


def test_a_result_of_no_sweep_is_refused(whole):
    with simcli.open(whole[0]) as run, pytest.raises(FileError, match="is no result of a sweep"):
        read_cases(run)
