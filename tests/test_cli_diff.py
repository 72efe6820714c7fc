"""`simcli diff` as a user types it: tables, JSON, exit codes, refusals, and two solvers of one scene. Budget: 40 s."""

import json
import re
import shutil

import h5py
import pytest
from support.diff_files import SCENE, flip_bit, write_run
from support.process import told_here
from support.recorder_here import RecorderHere
from support.records_child import write
from support.runs import SWING

from simcli.cli import doorman, progress
from simcli.cli.results import diff_text
from simcli.cli.results.diff import ATOL, RTOL
from simcli.errors import Exit

FRAMES = range(12)


def simcli(capsys, *words):
    return told_here(capsys, *words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli_diff")
    write_run(folder / "a.h5")

    def drift(columns):
        columns["energy/total"][4:, 1] += 1.0
        columns["frames/joint_q"][6, 2, 0] += 1e-8

    write_run(folder / "b.h5", change=drift, scene=SCENE.replace("0.001", "0.002"), seed=3)
    return folder


def test_equal_files_are_exit_0(folder, capsys):
    code, out, err = simcli(capsys, "diff", folder / "a.h5", folder / "a.h5")
    assert (code, err) == (Exit.OK, "no difference: 59 channels, all equal\n")
    assert "compared: 12 frames by time, 3 worlds, 59 channels" in out
    code, out, err = simcli(capsys, "diff", folder / "a.h5", folder / "a.h5", "--exact")
    assert (code, err) == (Exit.OK, "no difference: all bits are equal\n")
    assert len(out.splitlines()) == 2


def test_a_table_says_where_and_by_how_much(folder, capsys):
    code, out, err = simcli(capsys, "diff", folder / "a.h5", folder / "b.h5")
    assert code == Exit.NEGATIVE
    assert re.search(r"scene:\n +key +A +B\n +solver.dt +0.001 +0.002\n", out)
    assert re.search(r"made with:\n +A +B\n +seed +0 +3\n", out)
    first, second = out[out.index("times tolerance") :].splitlines()[1:3]
    assert first.split()[:3] == ["energy.total", "1", "J"]
    assert second.split()[:3] == ["joint.hinge0.q", "1e-08", "rad"]
    assert second.split()[4:7] == ["6", "0.06", "2"]
    assert err == ("different: 1 of 59 channels above rtol 1e-06, atol 1e-09; the first at frame 4, t = 0.04 s, world 1\n")


def test_tolerances_channels_and_worlds_decide_the_exit_code(folder, capsys):
    a, b = folder / "a.h5", folder / "b.h5"
    for options, expected in {
        (): 1,
        ("--atol", 2): 0,
        ("--rtol", 1): 0,
        ("--rtol", 0, "--atol", 0, "-c", "joint.*.q"): 1,
        ("-c", "joint.*.q,body.*"): 0,
        ("--world", "0,2"): 0,
        ("--world", "0-1"): 1,
        ("--align", "time"): 1,
        ("--align", "step", "--atol", "2"): 0,
    }.items():
        assert simcli(capsys, "diff", a, b, *options)[0] == expected, options


def test_json_has_every_channel_with_its_places(folder, capsys):
    code, out, err = simcli(capsys, "diff", folder / "a.h5", folder / "b.h5", "--json")
    assert (code, err) == (Exit.NEGATIVE, "")
    found = json.loads(out)
    assert (found["schema"], found["exact"], found["within"]) == ("simcli.diff/1", False, False)
    assert (found["rtol"], found["atol"], found["align"]) == (RTOL, ATOL, "time")
    assert found["scene"] == [{"key": "solver.dt", "a": 0.001, "b": 0.002}]
    assert found["frames"] == {"compared": 12, "only_a": 0, "only_b": 0}
    assert found["worlds"] == {"compared": [0, 1, 2], "partners": [0, 1, 2], "by_origin": False, "by_batch": False,
                               "same_number": True}  # fmt: skip
    assert len(found["channels"]) == 59
    worst = found["channels"][0]
    assert (worst["name"], worst["above"], worst["judged"], worst["unit"]) == ("energy.total", True, True, "J")
    assert (worst["values"], worst["values_differing"], worst["values_above"]) == (36, 8, 8)
    assert (worst["absolute"]["world"], worst["first_above"]["frame"]) == (1, 4)
    assert worst["first_above"]["time"] == pytest.approx(0.04)
    assert found["channels"][-1]["absolute"] is None
    code, out, _ = simcli(capsys, "diff", folder / "a.h5", folder / "b.h5", "--exact", "--json")
    found = json.loads(out)
    assert (code, found["exact"], found["equal"], found["first"]) == (Exit.NEGATIVE, True, False, "energy/total")
    one = found["datasets"][0]
    assert (one["reason"], one["count"], one["frame"], one["world"]) == ("value", 8, 4, 1)
    assert one["b"] == pytest.approx(one["a"] + 1)


def test_one_flipped_bit_is_named(folder, tmp_path, capsys):
    b = shutil.copy(folder / "a.h5", tmp_path / "b.h5")
    before, after = flip_bit(b, "frames/body_q", (7, 1, 2, 4), 40)
    code, out, err = simcli(capsys, "diff", folder / "a.h5", b, "--exact")
    assert code == Exit.NEGATIVE
    assert err == ("different: 1 dataset; the first in time: frames/body_q, ball, qy, frame 7, world 1: "
                   "bit 40 (significand)\n")  # fmt: skip
    (line,) = [line for line in out.splitlines() if line.startswith("  frames/body_q")]
    assert re.split(r" {2,}", line.strip()) == ["frames/body_q", "ball, qy", "7", "0.07", "1", repr(before.item()),
                                                repr(after.item()), "40 (significand)", "1"]  # fmt: skip
    assert simcli(capsys, "diff", folder / "a.h5", b, "--rtol", "1e-3")[0] == Exit.OK
    assert simcli(capsys, "diff", folder / "a.h5", b, "--rtol", "0", "--atol", "0")[0] == Exit.NEGATIVE


def test_long_lists_are_cut_with_a_count(folder, tmp_path, capsys):
    def everything(columns):
        for name, column in columns.items():
            if column.dtype.kind == "f":
                columns[name] = column + 1.0

    write_run(tmp_path / "b.h5", change=everything)
    for options in ((), ("--exact",)):
        _, out, _ = simcli(capsys, "diff", folder / "a.h5", tmp_path / "b.h5", *options)
        table = out.split("times tolerance" if not options else "values that differ")[1].splitlines()[1:]
        assert len(table) == diff_text.MOST_ROWS + 1
        n = int(re.fullmatch(r"  and (\d+) more: --all shows them", table[-1]).group(1))
        _, out, _ = simcli(capsys, "diff", folder / "a.h5", tmp_path / "b.h5", "--all", *options)
        assert len(out.splitlines()) >= diff_text.MOST_ROWS + n
        assert "more: --all" not in out


def test_what_only_one_file_has_is_told(folder, tmp_path, capsys):
    write_run(tmp_path / "b.h5", which=FRAMES[:8:2], select=["link*", "hinge*"], channels=["state"])
    code, out, err = simcli(capsys, "diff", folder / "a.h5", tmp_path / "b.h5")
    assert (code, err.split(":")[0]) == (Exit.OK, "no difference")
    for words in ("bodies only in A: ball", "8 frames of A without a partner", "channels only in A: "):
        assert words in out, words
    write_run(tmp_path / "c.h5", n_worlds=2)
    code, out, _ = simcli(capsys, "diff", folder / "a.h5", tmp_path / "c.h5", "--rtol", "9")
    assert "A has 3 worlds, B 2: those of one number are compared" in out
    code, out, _ = simcli(capsys, "diff", folder / "a.h5", tmp_path / "c.h5", "--exact")
    assert code == Exit.NEGATIVE
    assert "frames/body_q: shape (3, 3, 7) in A, (2, 3, 7) in B" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.h5"], "Missing argument 'B'"),
        (["a.h5", "bb.h5"], "bb.h5: no such file; did you mean `b.h5`?"),
        (["a.h5", "b.h5", "--world", "3"], "no world 3 in a.h5: it holds 0 to 2"),
        (["a.h5", "b.h5", "--world", "x"], "`x` is not a world"),
        (["a.h5", "b.h5", "-c", "energy.totl"], "did you mean `energy.total`?"),
        (["a.h5", "b.h5", "--rtol", "inf"], "--rtol and --atol are finite numbers"),
        (["a.h5", "b.h5", "--rtol", "-1"], "--rtol"),
        (["a.h5", "b.h5", "--align", "frame"], "--align frame: write time or step"),
        (["a.h5", "b.h5", "--exact", "--atol", "1"], "--exact compares all bits"),
        (["a.h5", "b.h5", "--exact", "--world", "1"], "--exact compares all bits"),
    ],
)
def test_wrong_usage_is_exit_2(folder, capsys, monkeypatch, words, said):
    monkeypatch.chdir(folder)
    code, out, err = simcli(capsys, "diff", *words)
    assert (code, out) == (Exit.USAGE, "")
    assert said in err
    assert "Traceback" not in err


def test_foreign_damaged_and_cut_files_are_exit_7(folder, tmp_path, capsys):
    a = folder / "a.h5"
    raw = a.read_bytes()
    with h5py.File(a) as file:
        place = file["frames/body_q"].id.get_chunk_info(0).byte_offset
    flipped = bytearray(raw)
    flipped[place + 100] ^= 1  # in the bytes of the disk, so that the checksum of the chunk is wrong
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = 1
    contents = {"text.h5": b"hello", "empty.h5": b"", "cut.h5": raw[: len(raw) // 2], "flipped.h5": flipped}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for name in ("text.h5", "empty.h5", "cut.h5", "other.h5", "flipped.h5"):
        for options in ((), ("--exact",)):
            for pair in ((a, tmp_path / name), (tmp_path / name, a)):
                code, out, err = simcli(capsys, "diff", *pair, *options)
                assert (code, out) == (Exit.FILE, ""), (name, options)
                assert name in err
                assert "Traceback" not in err
    assert "/frames/body_q" in simcli(capsys, "diff", a, tmp_path / "flipped.h5")[2]


def test_an_unfinished_file_is_compared_as_far_as_it_goes(folder, tmp_path, capsys):
    write(tmp_path / "whole.h5", n_frames=20, n_worlds=2, process=RecorderHere())
    write_run(tmp_path / "none.h5", which=FRAMES[:6], status="stopped")
    code, out, _ = simcli(capsys, "diff", folder / "a.h5", tmp_path / "none.h5")
    assert code == Exit.OK
    assert re.search(r"status +done +stopped", out)
    assert "6 frames of A without a partner" in out
    with h5py.File(tmp_path / "none.h5", "r+") as file:
        file["run/status"][()] = b"running"
        file["run/n_committed"][()] = 4
    code, out, _ = simcli(capsys, "diff", folder / "a.h5", tmp_path / "none.h5", "--rtol", "1e-3")
    assert (code, "unfinished; its writer is gone" in out, "8 frames of A without" in out) == (Exit.OK, True, True)
    with h5py.File(tmp_path / "none.h5", "r+") as file:
        file["run/n_committed"][()] = 0
    code, _, err = simcli(capsys, "diff", folder / "a.h5", tmp_path / "none.h5")
    assert code == Exit.USAGE
    assert "none.h5: holds no frame yet" in err


def test_a_long_comparison_says_how_far_it_is(folder, capsys, monkeypatch):
    monkeypatch.setattr(progress, "PLAIN_PERIOD", 0.0)
    _, _, err = simcli(capsys, "diff", folder / "a.h5", folder / "a.h5")
    shares = [float(share) for share in re.findall(r"comparing: +([\d.]+) %  eta", err)]
    assert len(shares) > 10
    assert shares == sorted(shares)
    assert shares[-1] == 100.0
    _, _, err = simcli(capsys, "diff", folder / "a.h5", folder / "a.h5", "--exact")
    assert "comparing: " in err


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """One pendulum by two solvers and two steps."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "swing.yaml").write_text(SWING.replace("  motor: {type: torque, joint: pin, value: 0.0}\n", "").replace(
        "forces:\n", "").replace("integrator: rk4", "integrator: semi_implicit"))  # fmt: skip
    for name, options in {"a": [], "fine": ["--dt", "5e-4"], "maximal": ["--solver", "maximal"]}.items():
        words = ["run", str(folder / "swing.yaml"), "-q", "-o", str(folder / f"{name}.h5"), *options]
        assert doorman.run_command(words, debug=True, as_json=False) == Exit.OK
    return folder


@pytest.mark.parametrize(("other", "key"), [("maximal", "solver.type"), ("fine", "solver.dt")])
def test_other_solvers_and_steps_compare_by_time_and_name(runs, capsys, other, key):
    a, b = runs / "a.h5", runs / f"{other}.h5"
    code, out, err = simcli(capsys, "diff", a, b, "--atol", "0.05", "--rtol", "0.02", "-c", "joint.*.q,body.*")
    assert code == Exit.OK, out + err
    assert key in out
    assert "compared: 7 frames by time, 1 world" in out
    code, out, _ = simcli(capsys, "diff", a, b, "--json")
    found = json.loads(out)
    assert code == Exit.NEGATIVE
    assert {one["name"] for one in found["channels"]} >= {"joint.pin.q", "joint.elbow.qd", "body.lower.orientation"}
    assert not [one["name"] for one in found["channels"] if one["name"].startswith("diag.res") and one["judged"]]
