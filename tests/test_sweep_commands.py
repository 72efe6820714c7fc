"""Sweeps from Python, and the commands that read their folder; one small sweep with a process of its own."""

import csv
import json
import re
from importlib.resources import files

import numpy as np
import pytest
from support.runs import SWING

import simcli
from simcli.cli import doorman
from simcli.errors import Exit, OutputError, SimcliWarning, UsageError
from simcli.spec.schema.sweep import SweepSpec
from simcli.sweeps.in_python import SweepStoppedError

VARY = {"joints.pin.q": {"uniform": [0, 1]}, "joints.elbow.damping": [0.01, 0.02]}
ASKED = {"vary": VARY, "worlds": 3, "seed": 2, "measure": {"peak": {"max_abs": "joint.elbow.qd"}}, "device": "cpu",
         "choices": {"solver.dt": [1e-3, 5e-4]}, "sets": ["run.duration=0.02"], "max_worlds": 8}  # fmt: skip
N = 12


def command(*words):
    return doorman.run_command(list(map(str, words)), debug=False, as_json="--json" in words)


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
    assert all(np.array_equal(again.arrays[name], values, equal_nan=values.dtype.kind == "f")
               for name, values in table.arrays.items())  # fmt: skip
    with pytest.raises(SweepStoppedError, match="6 of 18 cases are left; the same call goes on"):
        simcli.sweep(folder / "swing.yaml", folder / "night", watch=lambda standing: False,
                     **ASKED | {"vary": VARY | {"joints.elbow.damping": [0.01, 0.02, 0.03]}})  # fmt: skip
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
    lines = ("sweep: 1", "scene: swing.yaml", "set: {run.duration: 0.02}", "seed: 2", "worlds: 3",
             "choices: {solver.dt: [1e-3, 5e-4, 2e-3]}", "measure: {peak: {max_abs: joint.elbow.qd}}",
             "vary: {joints.pin.q: {uniform: [0, 1]}, joints.elbow.damping: {grid: [0.01, 0.02]}}")  # fmt: skip
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


def test_a_sweep_file_is_no_scene(made, capsys):
    assert command("run", made[0] / "sweep.yaml") == Exit.USAGE
    assert "is a sweep file and no scene: simcli sweep run" in capsys.readouterr().err


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
