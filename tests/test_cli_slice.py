"""`simcli slice` and `merge`: parts of runs that are runs, whole to every reader, equal to what they were cut from."""

import json
import re

import h5py
import numpy as np
import pytest
from support.analysis_files import record
from support.diff_files import write_run
from support.world_files import FAILED, grid, world_file

from simcli.analysis.worlds.world_table import read_files
from simcli.cli import process as cli_process
from simcli.cli.results import plot
from simcli.errors import Exit
from simcli.model.snapshot import CONTACT_WIDTHS, Event
from simcli.records.contents.layout import CHANNELS
from simcli.records.contents.provenance import collect_provenance
from simcli.records.integrity.verification import verify
from simcli.records.reading.reader import open_trajectory
from simcli.records.writing import parts_file

FEW_WORLDS = """simcli: 1
bodies: {rod: {mass: 1, com: [0, 0, -0.5], inertia: {diag: [0.1, 0.1, 0.01]}}}
joints: {pin: {type: revolute, parent: world, child: rod, axis: [0, 1, 0]}}
solver: {dt: 1 ms}
run: {duration: 0.01}
batch: {worlds: 6, vary: {joints.pin.q: {list: [0, 0.1, 0.2, 0.3, 0.4, 0.5]}}}
"""
N_FRAMES = 24
EVENTS = (
    Event(3, 0.03, 1, "SC601", 2, 0, 1, 2.5, "lost"),
    Event(5, 0.05, -1, "SC700", 0, -1, -1, 0.0, "switched"),
    Event(70, 0.07, 2, "SC604", 0, -1, -1, 0.0, "met"),
    Event(220, 0.22, 2, "SC601", 2, -1, -1, 0.0, "late"),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("slice") / "a.h5", range(N_FRAMES), events=EVENTS)


@pytest.fixture(params=["large", "small"])
def blocks(request, monkeypatch):
    """Blocks that hold everything, and blocks of a frame: the bytes must be the same."""
    if request.param == "small":
        monkeypatch.setattr(parts_file, "BLOCK_BYTES", 1)
        monkeypatch.setattr(parts_file, "BLOCK_CONTACTS", 1)


@pytest.fixture
def command(capsys):
    def run(*words):
        code = cli_process.run_command(list(map(str, words)), debug=False, as_json="--json" in words)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def cut(command, path, tmp_path):
    """Slice the run; the new file is sound and differs in nothing that it has."""

    def run(*words, name="s.h5", source=path):
        out = tmp_path / name
        code, _, err = command("slice", source, "-o", out, *words)
        assert code == Exit.OK, err
        assert verify(out) == []
        code, text, err = command("diff", out, source, "--rtol", "0", "--atol", "0")
        assert code == Exit.OK, text + err
        assert "all equal" in err
        assert "times tolerance" not in text
        return out

    return run


def test_a_slice_of_everything_has_the_same_bytes(blocks, cut, path):
    with open_trajectory(path) as whole, open_trajectory(cut()) as same:
        assert same.digest == whole.digest
        assert same._file["provenance"].attrs["static_digest"] == whole._file["provenance"].attrs["static_digest"]
        assert same.attributes["uuid"] != whole.attributes["uuid"]
        assert same.attributes["title"] == whole.attributes["title"]
        assert same.status == "done"
        assert same.events == whole.events


def test_frames_and_worlds_stay_what_they_were(blocks, cut, path):
    frames, worlds = slice(3, 20, 4), [0, 2]
    with open_trajectory(path) as whole, open_trajectory(cut("--frames", "3:20:4", "--world", "2,0")) as part:
        assert part.n_worlds == 2
        assert part.time.tolist() == whole.time[frames].tolist()
        assert part.step.tolist() == whole.step[frames].tolist()
        for name in ("frames/joint_q", "frames/body_q", "frames/multiplier", "energy/drift", "diag/iterations"):
            assert part.read(name).tobytes() == np.ascontiguousarray(whole.read(name)[frames][:, worlds]).tobytes()
        for k, frame in enumerate(range(N_FRAMES)[frames]):
            for w, world in enumerate(worlds):
                mine, theirs = part.contacts(k, w), whole.contacts(frame, world)
                assert all(mine[name].tobytes() == theirs[name].tobytes() for name in CONTACT_WIDTHS)
        assert part.counters()["contacts"] > 10
        assert part.params["params.mass"].tolist() == whole.params["params.mass"][worlds].tolist()
        assert part.model["body_mass"].tolist() == whole.model["body_mass"][worlds].tolist()
        assert part.world_seed.tolist() == whole.world_seed[worlds].tolist()
        # of world 2 as number 1, of all worlds, and none after the last frame
        assert [(event.step, event.world) for event in part.events] == [(5, -1), (70, 1)]


def test_times_bound_the_frames(cut, path):
    with open_trajectory(cut("--from", "0.05", "--until", "120 ms")) as part:
        assert part.time.tolist() == pytest.approx(np.arange(5, 13) * 0.01)
    with open_trajectory(cut("--until", "0", name="first.h5")) as part:
        assert part.n_frames == 1


def test_help_names_all_channels(command):
    text = command("slice", "--help")[1]
    assert [name for name in CHANNELS if not re.search(rf"\b{name}\b", text)] == []


def test_channels_and_bodies_are_left_out(cut, path, command):
    out = cut("-c", "bodies,contacts", "--select", "link*", "--select", "hinge1")
    with open_trajectory(path) as whole, open_trajectory(out) as part:
        assert part.channels == ("bodies", "contacts")
        assert (part.bodies, part.joints, part.points) == (("link0", "link1"), ("hinge1",), ("link0/tip", "link1/tip"))
        assert part.body("link1").position[...].tolist() == whole.body("link1").position[...].tolist()
        assert part.model["joint_parent"].tolist() == [0]
        assert part.model["shape_body"].tolist() == [0, -1]
        assert part.model["q_start"].tolist() == [0, 1]
        assert part.model["q_unit"].tolist() == ["rad"]
    only = cut("--select", "ball", name="b.h5")
    with open_trajectory(only) as part:
        assert part.model["shape_body"].tolist() == [-2, -1]  # of a body that is not stored
        assert part.counters()["contacts"] == 0
        assert verify(cut("--world", "1", name="c.h5", source=only)) == []
        with open_trajectory(only.parent / "c.h5") as again:
            assert again.model["shape_body"].tolist() == [-2, -1]


def test_measures_and_failures_of_the_worlds_stay(cut, command, tmp_path):
    source = world_file(tmp_path / "w.h5", grid(3, 4))
    out = cut("--world", f"0,{FAILED},7", source=source)
    with open_trajectory(source) as whole, open_trajectory(out) as part:
        for name in ("peak", "pos"):
            np.testing.assert_array_equal(part.measures[name].value, whole.measures[name].value[[0, FAILED, 7]])
            np.testing.assert_array_equal(part.measures[name].time, whole.measures[name].time[[0, FAILED, 7]])
            assert part.measures[name].layout == whole.measures[name].layout
            assert re.fullmatch(rf"<measure {name}: .+ \[.+\], worlds 3>", repr(part.measures[name]))
    tables = [command("table", file, "-o", "-")[1].splitlines() for file in (source, out)]
    wanted = [tables[0][1 + world] for world in (0, FAILED, 7)]  # the number in the batch stands after that in the file
    assert [line.split(",", 1)[1] for line in tables[1][1:]] == wanted
    assert "too fast" in wanted[1]


def test_every_reader_of_runs_takes_a_slice(cut, command, tmp_path):
    out = cut("--world", "1,2", "--frames", "::3")
    assert command("check", out)[0] == Exit.OK
    found = json.loads(command("info", out, "--json")[1])
    assert (found["frames"], found["worlds"], found["status"]) == (8, 2, "done")
    assert command("export", out, "-o", tmp_path / "a.csv")[0] == Exit.OK
    assert command("table", out)[0] == Exit.OK
    pytest.importorskip("matplotlib")
    assert command("plot", out, "-c", "energy.total", "-o", tmp_path / "a.png")[0] == Exit.OK


def test_the_origin_is_kept_through_slices_of_slices(cut, path, command):
    first = cut("--world", "1,2", "--frames", "2:")
    second = cut("--world", "1", name="t.h5", source=first)
    with open_trajectory(path) as whole, open_trajectory(second) as part:
        assert part.world_origins == [(whole.attributes["uuid"], 2)]
        origin = json.loads(part.provenance.origin)
        assert origin["command"] == "slice"
        assert origin["from"][0]["path"] == "s.h5"
        assert part.provenance.scene_resolved == whole.provenance.scene_resolved
        assert part.provenance.created_utc == whole.provenance.created_utc
        assert part.provenance.worlds == (2,)
    code, text, _ = command("diff", second, path)  # with the run that it was cut from at first
    assert code == Exit.OK
    assert "come from one world of one run" in text
    text = command("info", second)[1]
    assert "slice of s.h5" in text


def test_worlds_that_were_cut_apart_are_merged_to_the_same_bytes(cut, command, path, tmp_path):
    parts = [cut("--world", words, name=f"{k}.h5") for k, words in enumerate(("0", "1,2"))]
    out = tmp_path / "m.h5"
    code, _, err = command("merge", *parts, "-o", out)
    assert code == Exit.OK, err
    assert verify(out) == []
    with open_trajectory(path) as whole, open_trajectory(out) as same:
        assert same.digest == whole.digest
        assert same.world_origins == whole.world_origins
        assert same.params["params.mass"].tolist() == whole.params["params.mass"].tolist()
        np.testing.assert_array_equal(same.model["body_mass"], whole.model["body_mass"])
    assert command("diff", out, path)[0] == Exit.OK
    swapped = tmp_path / "n.h5"
    assert command("merge", *parts[::-1], "-o", swapped)[0] == Exit.OK
    code, text, _ = command("diff", swapped, path, "--rtol", "0", "--atol", "0")
    assert code == Exit.OK
    assert "3 worlds" in text


def test_no_world_is_merged_twice(cut, command, path, tmp_path):
    """Slices that overlap, copies, and runs of one scene with some worlds in common."""
    scene, out = tmp_path / "a.yaml", tmp_path / "m.h5"
    scene.write_text(FEW_WORLDS)
    runs = [tmp_path / "low.h5", tmp_path / "high.h5"]
    for run, worlds in zip(runs, ("0-2", "2-4"), strict=True):
        assert command("run", scene, "-q", "--world", worlds, "-o", run)[0] == Exit.OK
    parts = [cut("--world", words, name=f"{k}.h5") for k, words in enumerate(("0,1", "1,2", "2"))]
    for files, said in (
        (parts[:2], f"world 1 of {parts[0]} is world 0 of {parts[1]}: "),
        ((parts[0], path), f"world 0 of {parts[0]} is world 0 of {path}, and 1 more: "),
        ((parts[0], parts[2], path), f"world 0 of {parts[0]} is world 0 of {path}, and 1 more: "),
        (runs, f"world 2 of {runs[0]} is world 0 of {runs[1]}: "),
    ):
        code, _, err = command("merge", *files, "-o", out)
        assert (code, said in err) == (Exit.USAGE, True), err
    assert command("slice", runs[1], "--world", "1-2", "-o", tmp_path / "cut.h5")[0] == Exit.OK
    assert command("merge", runs[0], tmp_path / "cut.h5", "-o", out)[0] == Exit.OK
    assert command("merge", parts[0], parts[2], "-o", out, "--force")[0] == Exit.OK


def test_measures_are_merged(cut, command, tmp_path):
    source = world_file(tmp_path / "w.h5", grid(3, 4))
    parts = [cut("--world", words, name=f"{k}.h5", source=source) for k, words in enumerate(("0-3", "4-11"))]
    assert command("merge", *parts, "-o", tmp_path / "m.h5")[0] == Exit.OK
    assert command("table", tmp_path / "m.h5", "-o", "-")[1] == command("table", source, "-o", "-")[1]


@pytest.mark.parametrize("way", ["run", "slice"])
def test_some_worlds_keep_their_numbers_in_the_batch(way, command, tmp_path):
    scene, whole, some, table = (tmp_path / name for name in ("a.yaml", "whole.h5", "some.h5", "t.csv"))
    scene.write_text(FEW_WORLDS)
    assert command("run", scene, "-o", whole)[0] == Exit.OK
    words = ("run", scene) if way == "run" else ("slice", whole)
    assert command(*words, "--world", "3-4,1", "-o", some)[0] == Exit.OK
    numbers = [1, 3, 4]
    with open_trajectory(some) as run:
        assert list(run.batch_numbers) == numbers
    assert command("table", some, "-c", "world,batch.world", "-o", table)[0] == Exit.OK
    assert table.read_text().split() == ["world,batch.world", *(f"{k},{n}" for k, n in enumerate(numbers))]
    code, text, err = command("diff", some, whole, "--rtol", "0", "--atol", "0")
    assert code == Exit.OK, text + err
    assert plot._names(read_files([some]))[0][2].startswith("world 2 (4 of the batch): 0.4")


def test_what_cannot_be_cut_is_refused(path, command, tmp_path):
    out, taken = tmp_path / "x.h5", tmp_path / "taken.h5"
    taken.write_bytes(path.read_bytes())
    for words, said, code in (
        (["--world", "3"], "no world 3 in", Exit.USAGE),
        (["--world", "x"], "is not a world", Exit.USAGE),
        (["--frames", "99"], "has no such frame; it has 24", Exit.USAGE),
        (["--frames", "a:b"], "write START:STOP", Exit.USAGE),
        (["--frames", "1", "--from", "0"], "contradict each other", Exit.USAGE),
        (["--from", "5"], "has no frame in that time: its frames go from 0 to 0.23 s", Exit.USAGE),
        (["--from", "soon"], "--from soon: ", Exit.USAGE),
        (["-c", "energie"], "did you mean `energy`?", Exit.USAGE),
        (["--select", "lnik0"], "did you mean `link0`?", Exit.USAGE),
        (["-o", path, "--force"], "is a file that is read", Exit.USAGE),
        (["-o", taken], "exists; add --force", Exit.OUTPUT),
        (["-o", tmp_path], "is a folder", Exit.USAGE),
        (["-o", taken / "x.h5"], "cannot be made: ", Exit.OUTPUT),
    ):
        words = words if "-o" in words else [*words, "-o", out]
        found, _, err = command("slice", path, *words)
        assert (found, said in err) == (code, True), (words, err)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["taken.h5"]
    assert command("slice", path, "-o", taken, "--force", "--frames", "0")[0] == Exit.OK
    with open_trajectory(taken) as part:
        assert part.n_frames == 1


def test_what_does_not_fit_together_is_refused(path, command, tmp_path):
    def other(name, **changes):
        return write_run(tmp_path / f"{name}.h5", **{"which": range(N_FRAMES), **changes})

    scene = "simcli: 1\nresolved: true\nname: tiny\nsolver: {type: generalized, dt: 0.002}\nrun: {duration: 0.11}\n"
    for words, said in (
        ([other("scene", scene=scene)], "are not of one scene: solver.dt differ"),
        ([other("short", which=range(9))], "have different times, 24 frames up to 0.23 s and 9 frames up to 0.08 s"),
        ([other("few", channels=("state",))], "hold different channels"),
        ([other("cut", select=["link0"])], "hold different bodies"),
        ([other("type", dtype="float32")], "numbers of different types: float64 and float32"),
        ([path], "is named twice"),
        ([], "name two runs at least"),
    ):
        code, _, err = command("merge", path, *words, "-o", tmp_path / "x.h5")
        assert (code, said in err) == (Exit.USAGE, True), err
    assert command("merge", path, tmp_path / "short.h5", "-o", path, "--force")[0] == Exit.USAGE
    assert not (tmp_path / "x.h5").exists()


@pytest.mark.parametrize("damage", ["chunk", "half", "text", "foreign", "offset"])
def test_damaged_and_foreign_files_leave_nothing(path, command, tmp_path, tmp_path_factory, damage):
    other = write_run(tmp_path_factory.mktemp("other") / "other.h5", range(N_FRAMES), seed=1)
    bad, out = tmp_path / "bad.h5", tmp_path / "x.h5"
    bad.write_bytes(path.read_bytes())
    if damage == "chunk":
        with h5py.File(bad, "r") as file:
            place = file["frames/body_q"].id.get_chunk_info(0).byte_offset
        with bad.open("r+b") as raw:
            raw.seek(place + 8)
            raw.write(b"\xff" * 16)
    elif damage == "half":
        bad.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif damage == "text":
        bad.write_text("time,world\n0,0\n")
    elif damage == "foreign":
        with h5py.File(bad, "w") as file:
            file["x"] = 1.0
    else:
        with h5py.File(bad, "r+") as file:
            file["contacts/offset"][10:12] = [5, 10**6]
    for words in (("slice", bad), ("merge", other, bad)):
        code, _, err = command(*words, "-o", out)
        assert code == Exit.FILE, err
        assert "bad.h5" in err
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bad.h5"]


def test_a_disk_that_fills_leaves_nothing(path, command, tmp_path, monkeypatch):
    """HDF5 reads back what was not written: it must find zeros there, not what its memory held before."""
    from simcli.records.hdf5_bytes import Backing, Passed

    def full(self, data):
        self.failure = self.failure or OSError(28, "No space left on device")
        return len(memoryview(data).cast("B"))

    def short(self, buffer):
        n = self._stream.readinto(buffer)
        rest = memoryview(buffer).cast("B")[n:]
        rest[:] = b"\xff" * len(rest)
        return n

    monkeypatch.setattr(Backing, "write", full)
    monkeypatch.setattr(Passed, "readinto", short)
    code, _, err = command("slice", path, "-o", tmp_path / "x.h5")
    assert code == Exit.OUTPUT
    assert "No space left on device; nothing was left there" in err
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_written_reads_as_zeros(tmp_path):
    from simcli.records.hdf5_bytes import Backing

    backing, buffer = Backing(tmp_path / "x.h5"), bytearray(b"\xff" * 16)
    backing.write(b"abcd")
    backing.seek(0)
    assert (backing.readinto(buffer), bytes(buffer)) == (16, b"abcd" + bytes(12))
    backing.close()


def test_an_unfinished_run_is_cut_as_far_as_it_is(command, tmp_path):
    source = write_run(tmp_path / "u.h5", range(6))
    with h5py.File(source, "r+") as file:
        file["run/status"][()] = np.bytes_(b"running")
    assert command("slice", source, "-o", tmp_path / "s.h5", "--frames", "1:4")[0] == Exit.OK
    assert verify(tmp_path / "s.h5") == []
    with open_trajectory(tmp_path / "s.h5") as part:
        assert (part.n_frames, part.status) == (3, "stopped")


def test_no_run_goes_on_in_a_slice_and_its_scene_is_still_inside(command, tmp_path):
    scene = tmp_path / "p.yaml"
    assert command("new", tmp_path / "p", "--template", "pendulum")[0] == Exit.OK
    words = ["--duration", "50 ms", "-q"]
    runs = [tmp_path / f"{k}.h5" for k in range(2)]
    for k, out in enumerate(runs):
        varied = ["--vary", "joints.pin.q=uniform(0, 1)", "--seed", k, "--worlds", 2]
        assert command("run", scene, *varied, "-o", out, *words)[0] == Exit.OK
    part, both = tmp_path / "s.h5", tmp_path / "m.h5"
    assert command("slice", runs[0], "-o", part, "--world", "1")[0] == Exit.OK
    code, _, err = command("run", scene, "-o", part, "--resume", *words)
    assert code == Exit.OUTPUT
    assert "no run can go on in it" in err
    assert command("run", part, "-o", tmp_path / "again.h5", "-q")[0] == Exit.OK  # the world that is left, to the bit
    with open_trajectory(part) as one, open_trajectory(tmp_path / "again.h5") as two:
        assert one.digest == two.digest
    assert command("merge", *runs, "-o", both)[0] == Exit.OK
    with open_trajectory(both) as merged, open_trajectory(runs[1]) as second:
        assert merged.joint("pin").q[:, 2:].tolist() == second.joint("pin").q[...].tolist()
    code, _, err = command("run", both, "-o", tmp_path / "x.h5")
    assert code == Exit.USAGE
    assert "is put together from several runs, whose options differ" in err


def test_a_block_is_small(path):
    """What a slice holds at once does not grow with the run: blocks of a long run are as those of a short one."""
    with open_trajectory(path) as run:
        part = parts_file.RunPart(run, np.arange(run.n_worlds), range(run.n_frames))
        writer = object.__new__(parts_file._Writer)
        writer._grain, writer._n_frames = 256, 10**6
        blocks = list(writer._blocks(8 * 7 * 100))
        assert max(last - first for first, last in blocks) * 8 * 7 * 100 <= max(parts_file.BLOCK_BYTES, 256 * 8 * 7 * 100)
        assert blocks[-1][1] == 10**6
        assert all(first % 256 == 0 for first, _ in blocks)
        assert part.end_step == np.inf


def test_a_malformed_origin_is_damage(cut, command):
    out = cut("--world", "1")
    with h5py.File(out, "r+") as file:
        text = json.loads(file["provenance/origin"].asstr()[()])
        text["roots"][0]["worlds"] = [0, 1, 2]
        del file["provenance/origin"]
        file["provenance"].create_dataset("origin", data=json.dumps(text), dtype=h5py.string_dtype())
    code, _, err = command("diff", out, out)
    assert code == Exit.FILE
    assert "names 3 worlds, and there are 1" in err


def test_a_file_without_origin_has_its_own(tmp_path):
    with record(tmp_path / "a.h5", 2, 2, lambda columns: None) as run:
        assert run.world_origins == [(run.attributes["uuid"], 0), (run.attributes["uuid"], 1)]
        assert run.provenance.origin == collect_provenance([], "", "", "", 0).origin == ""
