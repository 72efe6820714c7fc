"""A trajectory by name, sliced as numpy slices, with errors that help.

Files of earlier versions (tests/references/old_files) open, and hold what the versions that made them read in them.
"""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import basic_indices
from support.damage import assert_damage_is_named
from support.process import environment, run_here, told_here
from support.tiny_model import datasets, frames, tiny_model

import simcli
from simcli.cli.process import run_command
from simcli.errors import Exit, FileError, UsageError
from simcli.model.snapshot import Event
from simcli.records.contents.layout import CHANNELS, PARTS
from simcli.records.contents.model_columns import COLUMNS, NAME_SCALES
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.select import axes_of
from simcli.records.hdf5_bytes import lookup3
from simcli.records.integrity.repair import repair_file, tidy_finished
from simcli.records.integrity.verification import file_info, verify
from simcli.records.reading import guard
from simcli.records.reading.named import UnknownNameError
from simcli.records.reading.reader import Trajectory, open_trajectory
from simcli.records.writing.writer import Recorder

N = 40
MODEL = tiny_model()
ROWS, AXES = datasets(MODEL, CHANNELS), axes_of(MODEL)
BLOCK = frames(ROWS, AXES, 0, N, [Event(20, 0.02, 1, "SC601", 2, 0, -1, 3.5, "not finite")])
SOURCES = [("pendulum.yaml", "simcli: 1\nname: späte Fahrt\n"), ("steel.yaml", "materials: {}\n")]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader") / "a.h5"
    with Recorder(
        path, MODEL, collect_provenance(SOURCES, "resolved", "cpu", "float64", 7, ["run", "ü"]), CHANNELS, N
    ) as out:
        out.put(BLOCK)
    return path


@pytest.fixture(scope="module")
def run(path):
    with simcli.open(path) as run:
        yield run


QUANTITIES = {
    "hinge q": (lambda run: run.joint("hinge1").q, "frames/joint_q", np.s_[:, :, 1:2]),
    "free q": (lambda run: run.joint("ball_free").q, "frames/joint_q", np.s_[:, :, 2:9]),
    "free qd": (lambda run: run.joint("ball_free").qd, "frames/joint_qd", np.s_[:, :, 2:8]),
    "qdd": (lambda run: run.joint("hinge0").qdd, "frames/joint_qdd", np.s_[:, :, 0:1]),
    "effort": (lambda run: run.joint("hinge0").effort, "frames/joint_effort", np.s_[:, :, 0:1]),
    "wrench": (lambda run: run.joint("hinge1").wrench, "frames/joint_wrench", np.s_[:, :, 1]),
    "pose": (lambda run: run.body("link1").pose, "frames/body_q", np.s_[:, :, 1]),
    "position": (lambda run: run.body("link1").position, "frames/body_q", np.s_[:, :, 1, :3]),
    "orientation": (lambda run: run.body("ball").orientation, "frames/body_q", np.s_[:, :, 2, 3:]),
    "velocity": (lambda run: run.body("ball").velocity, "frames/body_qd", np.s_[:, :, 2, :3]),
    "angular": (lambda run: run.body("ball").angular_velocity, "frames/body_qd", np.s_[:, :, 2, 3:]),
    "point": (lambda run: run.point("link1/tip").position, "frames/point/link1/tip/position", np.s_[:]),
    "point velocity": (lambda run: run.point("link0/tip").velocity, "frames/point/link0/tip/velocity", np.s_[:]),
    "energy": (lambda run: run.energy.drift, "energy/drift", np.s_[:]),
    "energy by key": (lambda run: run.energy["total"], "energy/total", np.s_[:]),
    "status": (lambda run: run.diag.status, "diag/status", np.s_[:]),
    "by path": (lambda run: run.column("/frames/body_qdd"), "frames/body_qdd", np.s_[:]),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_quantities_by_name_are_the_columns(run, name):
    take, column, part = QUANTITIES[name]
    expected = BLOCK.columns[column][part]
    found = take(run)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert np.asarray(found).tobytes() == expected.tobytes()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(data=st.data())
def test_slices_are_numpys(run, data):
    expected = BLOCK.columns["frames/body_q"][:, :, 1]
    key = data.draw(basic_indices(expected.shape, allow_newaxis=False, allow_ellipsis=True))
    found = run.body("link1").pose[key]
    assert np.array_equal(found, expected[key])
    assert np.shape(found) == np.shape(expected[key])


def test_a_column_behaves_as_an_array(run):
    column, array = run.energy.total, BLOCK.columns["energy/total"]
    assert column.max() == np.max(column) == array.max()
    assert np.array_equal(2 * column - column, array)
    assert np.array_equal(column[[3, 1], 0], array[[3, 1], 0])
    assert np.array_equal(column[column[:, 0] > 5.0], array[array[:, 0] > 5.0])
    assert len(column) == N
    assert np.array_equal(list(column), array)
    with pytest.raises(IndexError):
        column[N]


def test_a_slice_reads_only_its_frames(run, monkeypatch):
    read = []
    column = run.body("ball").pose
    monkeypatch.setattr(column, "_read", lambda lead, f=column._read: (read.append(lead), f(lead))[1])
    column[3:5, 1]
    assert read == [(slice(3, 5, 1), slice(1, 2))]


def test_the_rest_of_the_file(run):
    assert run.n_frames == N
    assert run.n_worlds == 3
    assert np.array_equal(run.time, BLOCK.time)
    assert np.array_equal(run.step, BLOCK.step)
    assert run.bodies == MODEL.bodies.name
    assert run.joints == MODEL.joints.name
    assert run.points == MODEL.points.name
    assert run.status == "done"
    assert run.is_complete
    assert run.events == BLOCK.events
    assert np.array_equal(run.params["params.mass"], MODEL.param_value[:, 0])
    assert np.array_equal(run.world_seed, MODEL.world_seed)
    assert run.provenance.scene_source == tuple(SOURCES)
    assert run.provenance.argv == ("run", "ü")
    assert run.scene_source == SOURCES[0][1]
    assert np.array_equal(run.model["body_mass"], MODEL.bodies.mass)
    assert set(run.channels) == set(CHANNELS) - set(PARTS)
    assert {key: len(value) for key, value in run.contacts(3, 1).items()} == dict.fromkeys(
        ("shape_a", "shape_b", "point", "normal", "gap", "force"), BLOCK.contacts.count[3, 1]
    )
    for part in ("40 frames", "worlds 3", "done"):
        assert part in repr(run)
    assert "(40, 3, 7)" in repr(run.body("ball").pose)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda run: run.joint("hnige1"), "did you mean `hinge1`"),
        (lambda run: run.body("xyz"), "there are link0, link1, ball"),
        (lambda run: run.point("link0/tpi"), "did you mean `link0/tip`"),
        (lambda run: run.energy["totl"], "did you mean `total`"),
        (lambda run: run.column("frames/joint_qq"), "did you mean `frames/joint_q`"),
        (lambda run: run.column("frames/multiplier"), "channels: \\[reactions\\]"),
    ],
)
def test_unknown_names_say_what_there_is(run, ask, message):
    with pytest.raises(UnknownNameError, match=message) as caught:
        ask(run)
    assert isinstance(caught.value, KeyError)
    assert caught.value.exit_code == Exit.USAGE


def test_unknown_attribute_of_a_group(run):
    with pytest.raises(AttributeError, match="did you mean `total`"):
        run.energy.totl  # noqa: B018


def test_info_says_what_is_in_the_file(path):
    facts = file_info(path)
    assert facts["frames"] == N
    assert facts["worlds"] == 3
    assert facts["time"] == [0.0, pytest.approx(0.39)]
    assert facts["status"] == "done"
    assert facts["events"]["codes"] == {"SC601": 1}
    assert facts["dtype"] == "float64"
    assert facts["bytes"] == path.stat().st_size
    assert facts["provenance"]["scene_files"] == ["pendulum.yaml", "steel.yaml"]
    assert len(facts["digest"]) == 64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["frames/body_q"].write_direct(np.zeros((N, 3, 3, 7))), "/run/digest"),
        (lambda f: f["frames/time"].write_direct(np.zeros(N)), "/frames/time does not increase at frame 1"),
        (lambda f: f["model/body_mass"].write_direct(np.zeros((3, 3))), "/model or /params"),
        (lambda f: f["params/seed"].write_direct(np.zeros(3, np.uint64)), "/model or /params"),
        (lambda f: f["provenance/scene_source"].__setitem__(1, "x"), "steel.yaml does not match"),
        (lambda f: f["provenance/scene_resolved"].__setitem__((), "x"), "scene_resolved does not match"),
        (lambda f: f["run/n_committed"].__setitem__((), N - 1), "no digest belongs"),
        (lambda f: f["run/status"].__setitem__((), b"asleep"), "/run/status"),
        (lambda f: f["events/text"].__setitem__(0, b"all is well"), "/run/digest"),
        (lambda f: f["contacts/offset"].__setitem__(5, -1), "/contacts/offset does not increase"),
        (lambda f: f["diag/status"].resize(N - 1, axis=0), "39 frames of 40 committed"),
    ],
)
def test_verify_names_what_was_changed(path, tmp_path, change, message):
    assert_damage_is_named(path, tmp_path / "b.h5", change, message)


@pytest.mark.parametrize(("text", "value"), [(b"", 0xDEADBEEF), (b"Four score and seven years ago", 0x17770551)])
def test_lookup3_gives_the_values_that_its_author_prints(text, value):
    assert lookup3(text) == value


def test_lookup3_is_the_checksum_of_hdf5s_superblock(path):
    block = path.read_bytes()[:48]
    assert lookup3(block[:44]) == int.from_bytes(block[44:], "little")


COUNTING = "file.count = lambda n, *rest: count(n, *rest) if n <= 20 else os._exit(0)"  # dies with rows that are not counted
CLOSING = "h5py.File.close = lambda file: os._exit(0)"  # dies once the file says `done`


def killed_file(path, moment=COUNTING):
    """A file whose writer left without closing it."""
    code = f"""
import os
import h5py
from support.recorder_here import RecorderHere
from support.tiny_model import datasets, frames, tiny_model
from simcli.records.writing import writer
from simcli.records.contents.layout import CHANNELS, PARTS
from simcli.records.contents.select import axes_of
from simcli.records.contents.model_columns import COLUMNS, NAME_SCALES
from simcli.records.contents.provenance import collect_provenance
writer.PATIENCE_S = 0.0
model, here = tiny_model(), RecorderHere()
rows = datasets(model, CHANNELS)
source = collect_provenance([("a", "x")], "x", "cpu", "float64", 7)
out = writer.Recorder({str(path)!r}, model, source, CHANNELS, {N}, process=here)
file = here.recording._file._file
count = file.count
{moment}
for k in range({N}):
    out.put(frames(rows, axes_of(model), k, 1))
out.close("done")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.fixture
def child_path(monkeypatch):
    from pathlib import Path

    here = Path(__file__).parent
    monkeypatch.setenv("PYTHONPATH", f"{here}:{here.parent}")


@pytest.mark.usefixtures("child_path")
def test_repair_makes_a_killed_file_plain(tmp_path):
    path = tmp_path / "a.h5"
    killed_file(path)
    with pytest.raises(OSError, match="open"):
        h5py.File(path, "r")
    assert verify(path) == []
    with open_trajectory(path) as run:
        n, digest = run.n_frames, run.digest
        assert 0 < n <= 20
        assert run.status == "unfinished"
        before = run.read("frames/body_q").tobytes()
    said = repair_file(path)
    assert f"{n} frames" in said
    assert "not committed are cut" in said
    with h5py.File(path, "r") as file:
        assert len(file["frames/time"]) == n
        assert len(file["frames/point/link0/tip/position"]) == n
        assert file["frames/body_q"][...].tobytes() == before
    assert verify(path) == []
    with open_trajectory(path) as run:
        assert run.status == "stopped"
        assert run.digest == digest
    assert "nothing to repair" in repair_file(path)


@pytest.mark.usefixtures("child_path")
@pytest.mark.parametrize("clean", [repair_file, tidy_finished])
def test_a_run_killed_between_done_and_closing_is_cleaned_up(tmp_path, clean):
    path = tmp_path / "a.h5"
    killed_file(path, CLOSING)
    leftovers = [".a.h5.checkpoint1.part", ".a.h5.77.part", "a.h5.checkpoint0"]
    others = [".b.h5.77.part", "b.h5.checkpoint0", ".a.h5.part"]
    for name in (*leftovers, *others):
        (tmp_path / name).write_text("")
    assert (tmp_path / "a.h5.lock").exists()
    with pytest.raises(OSError, match="open"):
        h5py.File(path, "r")
    with open_trajectory(path) as run:
        assert run.status == "done"
        digest = run.digest
    clean(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(["a.h5", *others])
    h5py.File(path, "r").close()
    assert verify(path) == []
    with open_trajectory(path) as run:
        assert (run.status, run.n_frames, run.digest) == ("done", N, digest)


@pytest.mark.usefixtures("child_path")
def test_a_killed_file_is_called_unfinished_and_a_copy_repaired_alone(tmp_path, capsys):
    path, copy = tmp_path / "a.h5", tmp_path / "b.h5"
    killed_file(path)
    copy.write_bytes(path.read_bytes())
    before = path.read_bytes()
    for words in (["info", path], ["check", path], ["info", copy]):
        assert run_here(*words, debug=True) == Exit.OK
        assert "unfinished; its writer is gone; --resume goes on" in capsys.readouterr().out
    assert run_command(["repair", str(copy)], debug=True, as_json=False) == Exit.OK
    assert "the run is marked stopped, and --resume goes on" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert not (tmp_path / "b.h5.lock").exists()
    assert verify(copy) == []


def test_repair_refuses_a_file_that_is_being_written(tmp_path):
    path = tmp_path / "a.h5"
    with Recorder(path, MODEL, collect_provenance(SOURCES, "r", "cpu", "float64", 7), CHANNELS, N):
        code = (
            "from simcli.records.integrity.repair import repair_file\nfrom simcli.errors import FileError\n"
            f"try: repair_file({str(path)!r})\nexcept FileError as error: print(error)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "is writing this file" in done.stdout, done.stderr


def test_a_live_file_can_be_read_by_another_process(tmp_path, monkeypatch):
    from simcli.records.writing import writer

    monkeypatch.setattr(writer, "PATIENCE_S", 0.0)
    path = tmp_path / "a.h5"
    with Recorder(path, MODEL, collect_provenance(SOURCES, "r", "cpu", "float64", 7), CHANNELS, N) as out:
        out.put(BLOCK)
        while out.n_committed < N:
            pass
        code = (
            f"import simcli; r = simcli.open({str(path)!r}); print(r.n_frames, r.status, r.digest); "
            f"from simcli.records.integrity.verification import verify; print(verify({str(path)!r}))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    with simcli.open(path) as run:
        assert done.stdout.split() == ["40", "running", run.digest, "[]"], done.stderr


def test_a_file_that_grows_while_it_is_opened_is_not_called_damaged(tmp_path, monkeypatch):
    """The writer commits after its datasets were opened, and before anything else is read."""
    path, look, rounds = tmp_path / "a.h5", guard.check_objects, []
    command = [sys.executable, "-m", "support.records_child", str(path), "--waits"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=Path(__file__).parent, env=environment(), **pipes) as child:
        child.stdout.readline()

        def grow(least):
            while not rounds or rounds[-1] < least:
                rounds.append(int(child.stdout.readline()))
                child.stdin.write("\n")
                child.stdin.flush()

        def look_and_grow(*args, **kwargs):
            found = look(*args, **kwargs)
            grow(rounds[-1] + 1)
            return found

        grow(1)
        monkeypatch.setattr(guard, "check_objects", look_and_grow)
        with simcli.open(path) as run:
            monkeypatch.setattr(guard, "check_objects", look)
            grow(rounds[-1] + 1)
            assert 0 < run.n_frames < rounds[-1]
            assert run.digest
            assert run.status == "running"
            assert len(run.time) == len(run.diag.status[...]) == run.n_frames
            assert run.contacts(-1, 0).keys()
            assert run.events is not None
        assert verify(path) == []
        child.stdin.close()
        child.kill()


def test_repair_refuses_foreign_files(tmp_path):
    (tmp_path / "a.h5").write_text("hello")
    with pytest.raises(FileError, match="not an HDF5 file"):
        repair_file(tmp_path / "a.h5")


def test_a_closed_file_is_called_closed(path):
    run = simcli.open(path)
    column, joint, time = run.body(run.bodies[0]).position, run.joint(run.joints[0]), run.time
    run.close()
    run.close()
    asked = (
        lambda: run.status,
        lambda: run.model,
        lambda: run.channels,
        lambda: run.events,
        lambda: run.step,
        lambda: run.energy.drift,
        lambda: joint.q,
        lambda: column[0],
        lambda: column.mean(),
    )
    for ask in asked:
        with pytest.raises(UsageError, match="is closed"):
            ask()
    assert len(run.time) == len(time)
    assert "closed" in repr(run)


def test_what_all_worlds_share_is_read_once(path, monkeypatch):
    read = []
    attributes = Trajectory.attributes
    monkeypatch.setattr(Trajectory, "attributes", property(lambda run: read.append(run) or attributes.__get__(run)))
    with simcli.open(path) as run:
        assert [world for _, world in run.world_origins] == list(run.batch_numbers) == list(range(run.n_worlds))
        assert len(read) < run.n_worlds


OLD_FILES = Path(__file__).parent / "references" / "old_files"
READ_THEN = json.loads((OLD_FILES / "read_then.json").read_text())
OLD_RUNS = [name for name in READ_THEN if name != "result"]


@pytest.fixture
def old_file(tmp_path):
    """The path of a file of an earlier version, by its name."""

    def of(name):
        path = tmp_path / f"{name}.h5"
        path.write_bytes(gzip.decompress((OLD_FILES / f"{name}.h5.gz").read_bytes()))
        return path

    return of


def same_numbers(found, then):
    assert np.asarray(found).shape == np.asarray(then).shape
    assert (np.asarray(found) == np.asarray(then)).all()


def test_each_old_file_has_a_line_and_what_was_read_in_it():
    stored = {path.name.removesuffix(".h5.gz") for path in OLD_FILES.glob("*.gz")}
    told = re.findall(r"^\| `(\w+)\.h5\.gz` \| [0-9a-f]{8} \|", (OLD_FILES / "README.md").read_text(), re.MULTILINE)
    assert stored == set(told) == set(READ_THEN)


@pytest.mark.parametrize("name", OLD_RUNS)
def test_runs_of_earlier_versions_hold_what_they_held(name, old_file, capsys):
    path, then = old_file(name), READ_THEN[name]
    with simcli.open(path) as run:
        assert run.is_complete
        assert [run.n_frames, run.n_worlds] == [then["frames"], then["worlds"]]
        for kind in ("bodies", "joints", "points"):
            assert list(getattr(run, kind)) == then[kind]
        assert run.digest == then["digest"]
        for path_in_file, numbers in then["last"].items():
            same_numbers(run.read(path_in_file)[-1], numbers)
        assert {name: values.tolist() for name, values in run.params.items()} == then["params"]
        assert {name: one.value.tolist() for name, one in run.measures.items()} == then["measures"]
        assert [[one.step, one.code, one.text] for one in run.events] == then["events"]
        same_numbers(run.model["body_mass"], then["body_mass"])
        for quantity, numbers in then["contacts"].items():
            same_numbers(run.contacts(-1, 0)[quantity], numbers)
    assert verify(path) == []
    code, out, err = told_here(capsys, "info", path)
    assert (code, err) == (Exit.OK, "")
    assert f"{then['digest']}" in out


@pytest.mark.parametrize("name", OLD_RUNS)
def test_what_earlier_versions_did_not_have_reads_as_none_of_it(name, old_file):
    with simcli.open(old_file(name)) as run, h5py.File(run.path) as file:
        lengths = {axis: len(run.model[scale]) for axis, scale in NAME_SCALES.items()}
        lacking = [column for column in COLUMNS if column.name not in file["model"]]
        assert lacking
        for column in lacking:
            values = run.model[column.name]
            assert values.ndim == len(column.axes)
            assert not values.any()
            assert all(lengths.get(axis, n) == n for axis, n in zip(column.axes, values.shape, strict=True)), column.name
        if "gap" not in file["diag"]:
            with pytest.raises(UnknownNameError, match="the version that made it recorded none"):
                run.column("diag/gap")


def test_the_rest_of_a_table_may_not_be_missing_from_an_old_file(old_file):
    path = old_file("first")
    with h5py.File(path, "r+", libver="latest") as file:
        del file["model/body_mass"]
    with pytest.raises(FileError, match="lacks /model/body_mass"):
        simcli.open(path)


@pytest.mark.parametrize("name", OLD_RUNS)
def test_parts_of_old_runs_are_files_of_today(name, old_file, tmp_path):
    assert run_here("slice", old_file(name), "--frames", "::4", "-o", tmp_path / "part.h5") == Exit.OK
    assert verify(tmp_path / "part.h5") == []
    with simcli.open(tmp_path / "part.h5") as part, h5py.File(part.path) as file:
        assert {column.name for column in COLUMNS} <= file["model"].keys()
        for path, numbers in READ_THEN[name]["last"].items():
            same_numbers(part.read(path)[-1], numbers)


def test_results_of_earlier_versions_hold_what_they_held(old_file, capsys):
    then = READ_THEN["result"]
    with simcli.open(old_file("result")) as result:
        assert (result.kind, result.n_states) == ("fk", then["states"])
        for field, numbers in then["last"].items():
            same_numbers(result[field][-1], numbers)
    code, out, err = told_here(capsys, "info", old_file("result"))
    assert (code, err) == (Exit.OK, "")
    assert "result of  fk" in out
