"""Sweeps of tables and of earlier values: names of cases, files from the right folder, scenes sent with all they need."""

from dataclasses import replace

import pytest
from support.runs import SWING

import simcli
import simcli.sweeps.in_python
from simcli.cli import doorman
from simcli.cli.options import seconds
from simcli.errors import Exit, OutputError, SceneError, UsageError
from simcli.spec.document.overrides import VARY_TABLE, Override
from simcli.spec.document.packed import unpacked
from simcli.sweeps.book.identity import this_process
from simcli.sweeps.book.ledger import Ledger, LedgerEvent
from simcli.sweeps.executors.bundle import Bundles
from simcli.sweeps.executors.chunk_run import run_chunk
from simcli.sweeps.planning.plan import plan_of
from simcli.sweeps.planning.plan_file import write_plan
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
    return doorman.run_command(words, debug=False, as_json=False)


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


@pytest.mark.parametrize(("words", "message"), [
    ({"max_worlds": 0}, "max_worlds: 0"), ({"time_limit": -1.0}, "time limit -1 s"), ({"time_limit": 0.0}, "time limit 0 s"),
    ({"device": "gpu"}, "device `gpu`: choose auto, cpu"),
])  # fmt: skip
def test_what_no_sweep_can_mean_is_refused(folder, words, message):
    with pytest.raises(UsageError, match=message):
        simcli.sweep(folder / "swing.yaml", folder / "out", **words)
    assert not (folder / "out").exists()


def test_a_table_and_one_override_from_python(folder):
    with pytest.raises(simcli.sweeps.in_python.SweepStoppedError, match="3 of 3 cases are left"):
        simcli.sweep(folder / "swing.yaml", folder / "out", table="../designs/t.csv", sets="run.duration=0.01",
                     watch=lambda standing: False)  # fmt: skip


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


@pytest.mark.parametrize(("text", "wanted"), [
    ("30", 30.0), ("1e-3", 1e-3), ("2.5E2", 250.0), (".5", 0.5), ("10 min", 600.0),
])  # fmt: skip
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
    ledger.note(LedgerEvent.DONE, chunk.id, chunk.cases, file="a", n_steps=4, seconds=8.0, attempt=1, digest="d",
                failed={chunk.cases[0]: "one", chunk.cases[1]: "two"}, executor="workers 1")  # fmt: skip
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
