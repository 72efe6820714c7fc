"""`simcli diff` as a user types it: tables, JSON, exit codes, refusals, and two solvers of one scene. Budget: 40 s.

What `simcli diff` tells beside the channels: events and numbers of the model, by world and name.

How two runs are compared piece by piece: pairs of frames, rising numbers, extremes, tiles; against the whole at once.
"""

import json
import pickle
import re
import shutil
from dataclasses import replace
from itertools import pairwise

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.diff_files import SCENE, flip_bit, write_run
from support.process import told_here
from support.recorder_here import RecorderHere
from support.records_child import write
from support.runs import SWING

from simcli.analysis.diff import run_pairs
from simcli.analysis.diff.comparison import Asked, compare
from simcli.analysis.diff.extremes import Extremes, Tolerance
from simcli.analysis.diff.run_pairs import Align, RisingNumbers, pair_frames
from simcli.cli import process as cli_process
from simcli.cli import progress
from simcli.cli.results import diff_text
from simcli.cli.results.diff import ATOL, RTOL
from simcli.errors import Exit, FileError, UsageError
from simcli.model.snapshot import Event
from simcli.records.reading import tiles
from simcli.records.reading.reader import open_trajectory
from simcli.records.reading.tiles import cut_frames, cut_worlds, tile_lengths

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
    assert found["worlds"] == {
        "compared": [0, 1, 2],
        "partners": [0, 1, 2],
        "by_origin": False,
        "by_batch": False,
        "same_number": True,
    }
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
    assert err == (
        "different: 1 dataset; the first in time: frames/body_q, ball, qy, frame 7, world 1: bit 40 (significand)\n"
    )
    (line,) = [line for line in out.splitlines() if line.startswith("  frames/body_q")]
    assert re.split(r" {2,}", line.strip()) == [
        "frames/body_q",
        "ball, qy",
        "7",
        "0.07",
        "1",
        repr(before.item()),
        repr(after.item()),
        "40 (significand)",
        "1",
    ]
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
    (folder / "swing.yaml").write_text(
        SWING.replace("  motor: {type: torque, joint: pin, value: 0.0}\n", "")
        .replace("forces:\n", "")
        .replace("integrator: rk4", "integrator: semi_implicit")
    )
    for name, options in {"a": [], "fine": ["--dt", "5e-4"], "maximal": ["--solver", "maximal"]}.items():
        words = ["run", str(folder / "swing.yaml"), "-q", "-o", str(folder / f"{name}.h5"), *options]
        assert cli_process.run_command(words, debug=True, as_json=False) == Exit.OK
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


def events_of(tmp_path, other, **changes):
    """What the comparison tells of events of two runs that differ in nothing else."""
    mine = (Event(20, 0.02, 1, "SC601", 2, 0, 1, 2.5, "lost"), Event(50, 0.05, -1, "SC700", 0, -1, -1, 0.0, "set"))
    paths = [write_run(tmp_path / f"{k}.h5", events=some) for k, some in enumerate((mine, other(*mine)))]
    with open_trajectory(paths[0]) as a, open_trajectory(paths[1]) as b:
        found = compare(a, b, Asked(Tolerance(1e-6, 1e-9), **changes))
        assert not found.above
        return found.events


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (lambda lost, switch: (switch, lost), []),  # written in another order
        (lambda lost, switch: (lost,), [("only in A", -1, "SC700", "", 0.05, None)]),
        (
            lambda lost, switch: (lost, switch, replace(lost, step=90, time=0.09)),
            [("only in B", 1, "SC601", "body number 0", None, 0.09)],
        ),
        (lambda lost, switch: (replace(lost, time=0.0209), switch), []),  # within a step
        (
            lambda lost, switch: (replace(lost, time=0.022, step=22), switch),
            [("time", 1, "SC601", "body number 0", 0.02, 0.022)],
        ),
        (lambda lost, switch: (replace(lost, value=2.6), switch), [("value", 1, "SC601", "body number 0", 0.02, 0.02)]),
        (
            lambda lost, switch: (replace(lost, body=1), switch),
            [("only in A", 1, "SC601", "body number 0", 0.02, None), ("only in B", 1, "SC601", "body number 1", None, 0.02)],
        ),
    ],
)
def test_events_that_differ_are_told(tmp_path, other, told):
    found = events_of(tmp_path, other)
    assert [(one.reason, one.world, one.code, one.subject, one.time_a, one.time_b) for one in found] == told


def test_events_of_other_worlds_and_later_times_are_left_out(tmp_path):
    assert events_of(tmp_path, lambda lost, switch: (switch,), worlds=[0, 2]) == []
    assert len(events_of(tmp_path, lambda lost, switch: (switch,), worlds=[1])) == 1
    late = Event(5000, 5.0, 0, "SC604", 0, -1, -1, 0.0, "after the last frame")
    assert events_of(tmp_path, lambda lost, switch: (lost, switch, late)) == []


@pytest.mark.parametrize(
    ("table", "index", "factor", "told"),
    [
        ("body_mass", (2, 1), 1.5, ("body_mass", "kg", ("link1",), 2)),
        ("body_inertia", (0, 2, 1, 1), 3.0, ("body_inertia", "kg m^2", ("ball", "y", "y"), None)),
        ("body_mass", (2, 1), 1 + 1e-7, None),
    ],
)
def test_numbers_of_the_model_that_differ_are_told(tmp_path, table, index, factor, told):
    path, other = write_run(tmp_path / "a.h5"), tmp_path / "b.h5"
    other.write_bytes(path.read_bytes())
    with h5py.File(other, "r+") as file:
        values = file[f"model/{table}"][...]
        before = values[index]
        values[index] *= factor
        file[f"model/{table}"][...] = values
    with open_trajectory(path) as a, open_trajectory(other) as b:
        found = compare(a, b, Asked(Tolerance(1e-6, 1e-9)))
        assert not found.above
        assert [(one.name, one.unit, one.entry, one.world) for one in found.model] == ([told] if told else [])
        assert [(one.a, one.b, one.count) for one in found.model] == ([(before, before * factor, 1)] if told else [])


def test_the_order_of_bodies_is_no_difference_of_the_model(tmp_path):
    first, second = write_run(tmp_path / "a.h5"), write_run(tmp_path / "b.h5", order=[2, 0, 1])
    with open_trajectory(first) as a, open_trajectory(second) as b:
        assert a.model["joint_child"].tolist() != b.model["joint_child"].tolist()
        assert compare(a, b, Asked(Tolerance(1e-6, 1e-9))).model == []


class Instants:
    """What the pairing of frames asks a run for."""

    def __init__(self, step, dt):
        self.path, self.n_frames = "run.h5", len(step)
        self._columns = {"frames/step": np.array(sorted(step)), "frames/time": np.array(sorted(step)) * dt}

    def column(self, name):
        return self._columns[name]


STEPS = st.sets(st.integers(0, 120), min_size=1) | st.builds(
    lambda n, every: set(range(0, n * every, every)), st.integers(1, 60), st.integers(1, 7)
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    mine=STEPS, theirs=STEPS, dt=st.sampled_from([1e-3, 5e-4, 7e-4]), align=st.sampled_from(Align), at_once=st.integers(1, 9)
)
def test_pairs_found_block_by_block_are_those_of_all_frames(mine, theirs, dt, align, at_once):
    a, b = Instants(mine, 1e-3), Instants(theirs, dt)
    x, y = (run.column(f"frames/{align}") for run in (a, b))
    nothing = 1e-9 if max(len(x), len(y)) > 1 else 0  # far below a thousandth of a step, far above rounding
    wanted = np.argwhere(np.abs(x[:, None] - y) <= nothing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_pairs, "TIMES_AT_ONCE", at_once)
        if not len(wanted):
            with pytest.raises(UsageError, match="no frame of"):
                pair_frames(a, b, align)
            return
        pairs = pair_frames(a, b, align)
    assert np.column_stack([pairs.a, pairs.b]).tolist() == wanted.tolist()
    assert (pairs.only_a, pairs.only_b) == (len(x) - len(wanted), len(y) - len(wanted))


@settings(max_examples=100, deadline=None)
@given(
    parts=st.lists(st.lists(st.sampled_from([1, 1, 1, 2, 300, 70_000]), max_size=20), max_size=6),
    piece=st.integers(1, 7),
    start=st.integers(0, 70),
    stop=st.integers(0, 140),
)
def test_rising_numbers_are_kept_as_they_are(parts, piece, start, stop):
    wanted, kept = np.zeros(0, np.int64), RisingNumbers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_pairs, "PIECE_LENGTH", piece)
        for gaps in parts:
            further = np.cumsum(np.array(gaps, np.int64)) + (wanted[-1] if len(wanted) else 0)
            kept.append(further)
            wanted = np.concatenate([wanted, further])
    assert (len(kept), np.asarray(kept).tolist()) == (len(wanted), wanted.tolist())
    assert kept[start:stop].tolist() == wanted[start:stop].tolist()
    assert [kept[k] for k in range(-len(wanted), len(wanted))] == [*wanted.tolist(), *wanted.tolist()]


@pytest.mark.parametrize(("step", "n_bytes"), [(np.arange(0, 10**7, 2), 1000), (np.arange(10**6) ** 2 // 10**5, 2 * 10**6)])
def test_rising_numbers_take_little_memory(step, n_bytes):
    kept = RisingNumbers()
    kept.append(step)
    assert len(pickle.dumps(kept)) < n_bytes


def test_frames_that_do_not_rise_are_damage_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(run_pairs, "TIMES_AT_ONCE", 4)
    for k in (1, 4, 11):
        for order in (1, -1):
            runs = Instants(range(12), 1e-3), Instants(range(3), 1e-3)
            runs[0].column("frames/step")[k] = 0
            with pytest.raises(FileError, match="/frames/step does not increase"):
                pair_frames(*runs[::order], Align.STEP)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_extremes_are_those_of_the_whole_however_it_is_cut(data):
    n_frames, n_worlds, width = (data.draw(st.integers(1, k)) for k in (9, 4, 3))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 1.0 + 1e-7, 1e300, -1e300]
    a, b = (random.choice(special, (n_frames, n_worlds, width)) for _ in range(2))
    b = np.where(random.random(b.shape) < 0.5, a, b)
    tolerance = Tolerance(data.draw(st.sampled_from([0.0, 1e-6, 1.0])), data.draw(st.sampled_from([0.0, 1e-9])))
    extremes = Extremes(width, tolerance)
    frames = sorted(data.draw(st.sets(st.integers(1, n_frames), max_size=3)) | {0, n_frames})
    worlds = sorted(data.draw(st.sets(st.integers(1, n_worlds), max_size=2)) | {0, n_worlds})
    for f0, f1 in pairwise(frames):
        for w0, w1 in pairwise(worlds):
            parts = (x[f0:f1, w0:w1].reshape(-1, width) for x in (a, b))
            frame, world = (grid.reshape(-1) for grid in np.mgrid[f0:f1, w0:w1])
            extremes.add(*parts, frame, world)
    with np.errstate(all="ignore"):
        off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        off[np.isnan(off)] = np.inf
        above = (off > 0) & ((off > tolerance.atol + tolerance.rtol * np.maximum(abs(a), abs(b))) | np.isinf(off))
    for k in range(width):
        spread = extremes.spread(k)
        assert spread.absolute.value == off[..., k].max()
        assert (spread.n, spread.n_above) == (off[..., k].size, above[..., k].sum())
        assert spread.n_different == (off[..., k] > 0).sum()
        assert (spread.excess.value > 1.0) == above[..., k].any()
        if above[..., k].any():
            assert spread.first.frame == np.argwhere(above[..., k])[0][0]
            assert above[spread.first.frame, spread.first.world, k]
        if spread.absolute.frame >= 0:
            where = (spread.absolute.frame, spread.absolute.world, k)
            assert off[where] == spread.absolute.value
            np.testing.assert_array_equal((spread.absolute.a, spread.absolute.b), (a[where], b[where]))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 200), min_size=1, unique=True),
    st.lists(st.integers(0, 200), min_size=1, unique=True),
    st.integers(1, 40),
    st.integers(1, 40),
)
def test_tiles_hold_every_pair_once_and_stay_in_one_tile(a, b, length, at_once):
    n = min(len(a), len(b))
    frames = [np.array(sorted(x)[:n]) for x in (a, b)]
    parts = list(cut_frames(frames, length))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "FRAMES_AT_ONCE", at_once)
        assert list(cut_frames(frames, length)) == parts
    assert np.concatenate([np.arange(n)[part] for part in parts]).tolist() == list(range(n))
    for some in frames:
        assert all(len(set(some[part] // length)) == 1 for part in parts)
    worlds = list(cut_worlds(frames[0], length))
    assert np.concatenate(worlds).tolist() == frames[0].tolist()
    assert all(len(set(some // length)) == 1 for some in worlds)


def test_a_tile_has_whole_chunks_and_few_bytes():
    class Like:
        ndim, dtype, shape, chunks = 4, np.dtype("f8"), (1000, 5000, 10, 7), (16, 64, 10, 7)

    length, width = tile_lengths([Like])
    assert (length % 16, width % 64) == (0, 0)
    assert length * width * 560 <= 1024 * 1024
    assert tile_lengths([Like], 1) == (16, 64)
    assert tile_lengths([Like], 10**12)[1] >= 5000
