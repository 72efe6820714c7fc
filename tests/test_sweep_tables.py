"""Sweeps of tables and of earlier values: names of cases, files from the right folder, scenes sent with all they need.

Sweeps from Python, and the commands that read their folder; one small sweep with a process of its own.
"""

import csv
import json
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from support.runs import SWING

import simcli
import simcli.sweeps.in_python
from simcli.cli import process as cli_process
from simcli.cli.options import seconds
from simcli.errors import Exit, OutputError, SceneError, SimcliWarning, UsageError
from simcli.spec.document.overrides import VARY_TABLE, Override
from simcli.spec.document.resolved_yaml import unpacked
from simcli.spec.schema.sweep import SweepSpec
from simcli.sweeps.executors.chunk_run import run_chunk
from simcli.sweeps.executors.cluster import Bundles
from simcli.sweeps.in_python import SweepStoppedError
from simcli.sweeps.records.ledger import Ledger, LedgerEvent, this_process
from simcli.sweeps.records.plan import plan_of
from simcli.sweeps.records.plan_file import write_plan
from simcli.sweeps.status import status_of

HEADER = "joints.elbow.damping,bodies.lower.mass\n"
ROWS = ["0.01,1\n", "0.02,2\n", "0.01,1\n"]
SWEEP = "sweep: 1\nscene: ../swing.yaml\n"
FROM = "vary: {bodies.lower.mass: {from: {file: earlier.h5, param: bodies.lower.mass}}}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A scene, and a table beside a sweep in another folder; the commands run in a third."""
    for name in ("designs", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "swing.yaml").write_text(SWING)
    (tmp_path / "designs" / "t.csv").write_text(HEADER + "".join(ROWS))
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def of_table(folder, rows, name="elsewhere/u.csv"):
    (folder / name).write_text(HEADER + "".join(rows))
    return plan_of(folder / "swing.yaml", (Override(VARY_TABLE, str(folder / name)),), device="cpu")


def of_sweep(folder, text):
    (folder / "designs" / "sweep.yaml").write_text(SWEEP + text)
    return plan_of(folder / "designs" / "sweep.yaml", device="cpu")


def run(words):
    return cli_process.run_command(words, debug=False, as_json=False)


def ids(plan):
    return [case.id for case in plan.cases]


def test_a_row_is_the_same_case_in_any_table(folder):
    first = ids(of_table(folder, ROWS))
    assert len(set(first)) == 3
    assert ids(of_table(folder, ["9,9\n", *ROWS], "elsewhere/other.csv"))[1:] == first
    assert ids(of_table(folder, ROWS[:1])) == first[:1]
    (folder / "elsewhere" / "w.csv").write_text("mass,d,name\n2,0.02,7\n")
    columns = "table: {file: ../elsewhere/w.csv, columns: {mass: bodies.lower.mass, d: joints.elbow.damping}}"
    assert ids(of_sweep(folder, columns)) == first[1:2]


def test_files_of_a_sweep_are_from_its_folder(folder):
    plan = of_sweep(folder, "table: t.csv\n")
    assert ids(plan) == ids(of_table(folder, ROWS))
    assert [one.text for one in plan.chunks[0].sets if one.option == VARY_TABLE] == [str(folder / "designs" / "t.csv")]
    assert dict(plan.cases[1].labels) == {"joints.elbow.damping": 0.02, "bodies.lower.mass": 2.0}


def test_faults_of_tables_have_their_place(folder):
    with pytest.raises(SceneError) as caught:
        of_sweep(folder, "table: {file: T.csv}\n")
    (fault,) = caught.value.faults
    assert (fault.code, fault.where.file, fault.where.line) == ("SC110", str(folder / "designs" / "sweep.yaml"), 3)
    (folder / "designs" / "t.csv").write_text(HEADER + "0.1,x\n")
    with pytest.raises(SceneError) as caught:
        of_sweep(folder, "table: t.csv\n")
    (fault,) = caught.value.faults
    assert (fault.where.file, fault.where.line, fault.where.column) == (str(folder / "designs" / "t.csv"), 2, 5)


def test_one_table_is_enough(folder, capfd):
    of_sweep(folder, "table: t.csv\n")
    with pytest.raises(UsageError, match="leave out --vary-table"):
        plan_of(folder / "designs" / "sweep.yaml", (Override(VARY_TABLE, "../designs/t.csv"),), device="cpu")
    words = ["sweep", "run", "../swing.yaml", "-o", "out", "--vary-table", "../designs/t.csv", "--dry-run"]
    assert run(words) == Exit.OK
    assert "3 cases in 1 structure" in capfd.readouterr().out


def test_a_table_is_no_batch_of_a_search(folder, capsys):
    (folder / "swing.yaml").write_text(SWING + "batch: {table: one.csv}\nmeasure: {peak: {max_abs: joint.pin.qd}}\n")
    (folder / "one.csv").write_text(HEADER + ROWS[0])
    words = ["solve", "../swing.yaml", "--vary", "joints.pin.q=0..1", "--target", "measure.peak=1"]
    assert run(words) == Exit.USAGE
    assert "varies `joints.elbow.damping`, `bodies.lower.mass` (`batch`)" in capsys.readouterr().err


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """A run of two masses."""
    folder = tmp_path_factory.mktemp("earlier")
    (folder / "swing.yaml").write_text(SWING)
    words = ["run", str(folder / "swing.yaml"), "-o", str(folder / "earlier.h5"), "--vary", "bodies.lower.mass=1,3", "-q"]
    assert run(words) == Exit.OK
    return folder / "earlier.h5"


def test_what_a_chunk_needs_travels_in_one_file(folder, earlier, tmp_path):
    """A scene sent with a table, values of a run, and options makes the numbers that it makes at home."""
    (folder / "designs" / "earlier.h5").write_bytes(earlier.read_bytes())
    for text in ("table: t.csv\n", FROM):
        plan = of_sweep(folder, text + "set: {run.duration: 0.01}\n")
        (chunk,) = plan.chunks
        home = run_chunk(chunk, folder / "home", 1, "cpu", "none", None)
        far = tmp_path / "far" / "scene.packed"
        far.parent.mkdir(exist_ok=True)
        ((name, data),) = Bundles().of(chunk).items()
        assert (name, len(data) < 100_000) == ("swing.packed", True)  # the values of a run, not the run
        far.write_bytes(data)
        away = run_chunk(replace(chunk, scene=far, sets=()), folder / "away", 1, "cpu", "none", None)
        assert away == replace(home, seconds=away.seconds)
    with pytest.raises(ValueError, match="not as long as it says"):
        unpacked(data[:-1])


def test_a_scene_that_changes_under_a_sweep_gives_no_results(folder):
    """A result under the name of another case would be believed for ever."""
    (chunk,) = of_sweep(folder, "table: t.csv\n").chunks
    for text in (HEADER + "".join(ROWS[:2]) + "5,5\n", HEADER + ROWS[0], "none\n1\n"):
        (folder / "designs" / "t.csv").write_text(text)
        with pytest.raises(OutputError, match="has changed since the sweep was planned"):
            run_chunk(chunk, folder / "out", 1, "cpu", "none", None)
    assert not list((folder / "out").rglob("*.h5"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"max_worlds": 0}, "max_worlds: 0"),
        ({"time_limit": -1.0}, "time limit -1 s"),
        ({"time_limit": 0.0}, "time limit 0 s"),
        ({"device": "gpu"}, "device `gpu`: choose auto, cpu"),
    ],
)
def test_what_no_sweep_can_mean_is_refused(folder, words, message):
    with pytest.raises(UsageError, match=message):
        simcli.sweep(folder / "swing.yaml", folder / "out", **words)
    assert not (folder / "out").exists()


def test_a_table_and_one_override_from_python(folder):
    with pytest.raises(simcli.sweeps.in_python.SweepStoppedError, match="3 of 3 cases are left"):
        simcli.sweep(
            folder / "swing.yaml",
            folder / "out",
            table="../designs/t.csv",
            sets="run.duration=0.01",
            watch=lambda standing: False,
        )


def test_the_folder_of_an_optimization_is_refused(folder, capsys):
    ledger = Ledger(folder / "best", this_process())
    ledger.note("search", search={})
    ledger.close()
    assert run(["sweep", "run", "../swing.yaml", "-o", "../best"]) == Exit.OUTPUT
    assert "holds a ledger, but no sweep" in capsys.readouterr().err


def test_a_scene_inside_a_run_travels(folder, earlier, tmp_path):
    (chunk,) = plan_of(earlier, device="cpu").chunks
    ((name, data),) = Bundles().of(chunk).items()
    (tmp_path / name).write_bytes(data)
    away = run_chunk(replace(chunk, scene=tmp_path / name, sets=()), folder / "away", 1, "cpu", "none", None)
    assert away.digest == run_chunk(chunk, folder / "home", 1, "cpu", "none", None).digest


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("30", 30.0),
        ("1e-3", 1e-3),
        ("2.5E2", 250.0),
        (".5", 0.5),
        ("10 min", 600.0),
    ],
)
def test_times_of_options(text, wanted):
    assert seconds("--time-limit", text) == pytest.approx(wanted, rel=1e-15)


@pytest.mark.parametrize("text", ["", "e3", "1e400", "nan", "-1", "1_0", "1 m"])
def test_what_is_no_time(text):
    with pytest.raises(UsageError, match="--time-limit"):
        seconds("--time-limit", text)


def test_status_counts_the_cases_of_the_plan(folder):
    """Results of a plan that was made smaller count for nothing, and those whose files are gone."""
    plan = of_table(folder, ROWS)
    write_plan(of_table(folder, ROWS[:1]), folder / "out")
    ledger = Ledger(folder / "out", this_process())
    ledger.note(LedgerEvent.PLANNED, plan=plan.digest, n_cases=3, executor="workers 1")
    chunk = plan.chunks[0]
    ledger.note(
        LedgerEvent.DONE,
        chunk.id,
        chunk.cases,
        file="a",
        n_steps=4,
        seconds=8.0,
        attempt=1,
        digest="d",
        failed={chunk.cases[0]: "one", chunk.cases[1]: "two"},
        executor="workers 1",
    )
    ledger.close()
    assert (status_of(folder / "out").n_done, status_of(folder / "out").failed) == (0, {})
    (folder / "out" / "a").touch()
    found = status_of(folder / "out")
    assert (found.n_cases, found.n_done, found.failed) == (1, 1, {chunk.cases[0]: "one"})


def test_a_picture_of_a_fit_is_named_first(folder, capsys):
    pytest.importorskip("scipy")
    (folder / "log.csv").write_text("time [s],joint.pin.q\n0,1\n0.01,1\n")
    words = ["fit", "../swing.yaml", "--data", "../log.csv", "--free", "joints.pin.q", "--plot"]
    assert run([*words, "x.foo"]) == Exit.USAGE
    assert run([*words, "none/x.png"]) == Exit.OUTPUT
    out, err = capsys.readouterr()
    assert (out, err.count("the suffix says the format"), err.count("there is no folder none")) == ("", 1, 1)


VARY = {"joints.pin.q": {"uniform": [0, 1]}, "joints.elbow.damping": [0.01, 0.02]}
ASKED = {
    "vary": VARY,
    "worlds": 3,
    "seed": 2,
    "measure": {"peak": {"max_abs": "joint.elbow.qd"}},
    "device": "cpu",
    "choices": {"solver.dt": [1e-3, 5e-4]},
    "sets": ["run.duration=0.02"],
    "max_worlds": 8,
}
N = 12


def command(*words):
    return cli_process.run_command(list(map(str, words)), debug=False, as_json="--json" in words)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "swing.yaml").write_text(SWING)
    return folder, simcli.sweep(folder / "swing.yaml", folder / "night", **ASKED)


def test_a_call_gives_the_table(made):
    _, table = made
    columns = table.arrays
    assert table.n_rows == N
    assert set(columns["status"]) == {"ok"}
    assert columns["solver.dt"].tolist() == [1e-3] * 6 + [5e-4] * 6
    assert columns["joints.elbow.damping"].tolist() == ([0.01] * 3 + [0.02] * 3) * 2
    assert len(np.unique(columns["measure.peak"])) == N
    assert table.columns["measure.peak"].unit == "rad/s"


def test_the_same_call_runs_nothing_and_a_larger_one_what_is_new(made):
    folder, table = made
    before = {path.name: path.stat().st_mtime_ns for path in (folder / "night" / "results").iterdir()}
    again = simcli.sweep(folder / "swing.yaml", folder / "night", **ASKED)
    assert {path.name: path.stat().st_mtime_ns for path in (folder / "night" / "results").iterdir()} == before
    assert all(
        np.array_equal(again.arrays[name], values, equal_nan=values.dtype.kind == "f")
        for name, values in table.arrays.items()
    )
    with pytest.raises(SweepStoppedError, match="6 of 18 cases are left; the same call goes on"):
        simcli.sweep(
            folder / "swing.yaml",
            folder / "night",
            watch=lambda standing: False,
            **ASKED | {"vary": VARY | {"joints.elbow.damping": [0.01, 0.02, 0.03]}},
        )
    with pytest.raises(OutputError, match="holds another sweep"):
        simcli.sweep(folder / "swing.yaml", folder / "night", **ASKED | {"seed": 3})
    simcli.sweep(folder / "swing.yaml", folder / "night", **ASKED)  # the plan of the folder is that of the last call


def test_what_stays_of_cases_that_are_done_is_told(made):
    with pytest.warns(SimcliWarning, match="was begun with keep: none; cases that are done have"):
        simcli.sweep(made[0] / "swing.yaml", made[0] / "night", keep="all", **ASKED)
    with pytest.warns(SimcliWarning, match="was begun with keep: all"):
        simcli.sweep(made[0] / "swing.yaml", made[0] / "night", **ASKED)


def test_words_that_mean_nothing_are_refused(made):
    path = made[0] / "swing.yaml"
    with pytest.raises(UsageError, match="choose all, failed, none"):
        simcli.sweep(path, made[0] / "no", keep="al")
    with pytest.raises(UsageError, match="workers: 0; take 1 to 4096"):
        simcli.sweep(path, made[0] / "no", workers=0)
    assert not (made[0] / "no").exists()


def test_the_table_of_a_folder(made, tmp_path, capsys):
    folder, table = made
    assert command("sweep", "table", folder / "night", "-o", tmp_path / "a.csv") == Exit.OK
    with (tmp_path / "a.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert [float(row[header.index("measure.peak [rad/s]")]) for row in rows] == table.arrays["measure.peak"].tolist()
    words = ("--where", "{solver.dt} < 7e-4", "--sort", "-measure.peak", "--top", 2, "-c", "case,measure.peak", "--json")
    capsys.readouterr()
    assert command("sweep", "table", folder / "night", *words) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["cases"], found["found"], found["rows"]) == ("simcli.sweep_table/1", N, 6, 2)
    assert found["columns"][1]["values"] == sorted(table.arrays["measure.peak"][6:].tolist())[:-3:-1]
    assert command("sweep", "table", folder / "night") == Exit.OK
    shown = capsys.readouterr()
    assert "status.reason" not in shown.out
    assert f"{N} cases" in shown.err
    assert command("sweep", "table", folder / "night", "--sort", "measure.peek") == Exit.USAGE
    assert "did you mean `measure.peak`?" in capsys.readouterr().err
    assert command("sweep", "table", folder / "night", "-o", tmp_path / "a.txt") == Exit.USAGE
    assert command("sweep", "table", tmp_path / "none") == Exit.USAGE
    assert command("sweep", "table", tmp_path) == Exit.FILE


def test_the_check_of_a_folder(made, capsys):
    night = made[0] / "night"
    assert command("sweep", "check", night) == Exit.OK
    assert f"{N} of {N} cases in 2 results; 0 errors" in capsys.readouterr().out
    (ledger, *_) = sorted((night / "ledger").iterdir())
    torn = night / "ledger" / f"torn{ledger.suffix}"
    torn.write_bytes(ledger.read_bytes()[:-9])
    result = sorted((night / "results").iterdir())[0]
    whole = result.read_bytes()
    try:
        result.write_bytes(whole[: len(whole) // 2])
        assert command("sweep", "check", night, "--json") == Exit.NEGATIVE
        problems = json.loads(capsys.readouterr().out)["problems"]
        assert {one["file"] for one in problems if one["severity"] == "error"} == {f"results/{result.name}"}
        assert {one["file"] for one in problems if one["severity"] == "warning"} == {torn.name}
        result.unlink()
        assert command("sweep", "check", night) == Exit.NEGATIVE
        assert f"6 of {N} cases in 1 result; 1 error" in capsys.readouterr().out
        assert command("sweep", "table", night, "-c", "status", "--json") == Exit.OK
        (column,) = json.loads(capsys.readouterr().out)["columns"]
        assert sorted(column["values"]) == ["missing"] * 6 + ["ok"] * 6
    finally:
        result.write_bytes(whole)
    assert command("sweep", "check", night) == Exit.OK
    assert command("sweep", "check", night, "--strict") == Exit.NEGATIVE
    torn.unlink()
    capsys.readouterr()


def test_a_dry_run_counts_what_is_left(made, capfd):
    folder, _ = made
    lines = (
        "sweep: 1",
        "scene: swing.yaml",
        "set: {run.duration: 0.02}",
        "seed: 2",
        "worlds: 3",
        "choices: {solver.dt: [1e-3, 5e-4, 2e-3]}",
        "measure: {peak: {max_abs: joint.elbow.qd}}",
        "vary: {joints.pin.q: {uniform: [0, 1]}, joints.elbow.damping: {grid: [0.01, 0.02]}}",
    )
    (folder / "sweep.yaml").write_text("\n".join(lines))
    words = ("sweep", "run", folder / "sweep.yaml", "-o", folder / "night", "--dry-run", "--device", "cpu")
    assert command(*words) == Exit.OK
    said = capfd.readouterr().out
    assert "18 cases in 3 structures, 12 of them done; 1 chunk to run" in said
    assert "60 world-steps on cpu" in said
    assert "at the rate of this sweep so far" in said
    assert command(*words, "--json") == Exit.OK
    found = json.loads(capfd.readouterr().out)
    assert (found["n_cases"], found["n_left"], found["n_steps"], found["hours_are_measured"]) == (18, 6, 60, True)


def test_a_sweep_file_is_no_scene(tmp_path, capsys):
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    assert command("run", tmp_path / "sweep.yaml") == Exit.USAGE
    assert "is a sweep file, not a scene: simcli sweep run" in capsys.readouterr().err


def test_the_page_shows_a_sweep_that_is_one(tmp_path, capsys):
    page = files("simcli").joinpath("docs/sweep.md").read_text(encoding="utf-8")
    assert command("new", tmp_path / "swing", "--template", "pendulum") == Exit.OK
    (text,) = re.findall(r"```yaml\n(sweep: .*?)```", page, re.DOTALL)
    (tmp_path / "sweep.yaml").write_text(text)
    capsys.readouterr()
    assert command("check", tmp_path / "sweep.yaml") == Exit.OK
    assert "sweep of 300 cases in 3 structures" in capsys.readouterr().out
    rows = re.findall(r"^\| (`.*?) \|", page[: page.index("## Cases")], re.MULTILINE)
    keys = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert keys == {*SweepSpec.model_fields, "include"}
