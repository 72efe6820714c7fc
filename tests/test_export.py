"""`simcli export`: each format read back by another program, numbers to the bit.

Long runs are cut, merged, exported and compared in little memory.
"""

import csv
import io
import json
import sys

import numpy as np
import pytest
from support.diff_files import write_many, write_run
from support.process import python

from simcli.analysis.export import channel_tables
from simcli.cli import process as cli_process
from simcli.cli.results.export import FORMATS
from simcli.errors import Exit
from simcli.records.reading.reader import open_trajectory

N_FRAMES, WORLDS, EVERY = 12, (0, 2), 5
CHOSEN = ["--world", "0,2", "--every", str(EVERY), "-c", "joint.ball_free.q,energy.total,body.link1.position,diag.status"]
LABELS = [
    *(f"joint.ball_free.q.{k}" for k in range(7)),
    "energy.total",
    *(f"body.link1.position.{c}" for c in "xyz"),
    "diag.status",
]


def nothing_at(columns):
    columns["energy/total"][5, 2] = np.nan
    columns["frames/joint_q"][5, 0, 2] = np.inf
    columns["frames/body_q"][5, 0, 1, 0] = -1e-300


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("export") / "a.h5", range(N_FRAMES), change=nothing_at)


@pytest.fixture(scope="module")
def numbers(path):
    """Time, world and the chosen channels, a row per frame and world: as the reader of files gives them."""
    with open_trajectory(path) as run:
        frames = slice(None, None, EVERY)
        parts = [run.joint("ball_free").q, run.energy.total, run.body("link1").position, run.diag.status]
        values = [np.asarray(part[frames], float)[:, WORLDS].reshape(6, -1) for part in parts]
        return np.column_stack([np.repeat(run.time[frames], 2), np.tile(WORLDS, 3), *values])


@pytest.fixture(params=[4 * 1024 * 1024, 100])
def block_bytes(request, monkeypatch):
    """Blocks that hold everything, and blocks of a frame."""
    monkeypatch.setattr(channel_tables, "EXPORT_BLOCK_BYTES", request.param)


@pytest.fixture
def export(path, tmp_path, capsys, block_bytes):
    """Export to a name; returns the path."""

    def run(name, *words):
        out = tmp_path / name
        code = cli_process.run_command(["export", str(path), "-o", str(out), *map(str, words)], debug=False, as_json=False)
        assert code == Exit.OK, capsys.readouterr().err
        assert [one.name for one in tmp_path.iterdir() if one.name.endswith(".part")] == []
        return out

    return run


def same_bits(found, wanted):
    assert np.asarray(found, float).tobytes() == np.ascontiguousarray(wanted, float).tobytes()


def test_csv_by_pandas(export, numbers):
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(export("a.csv", *CHOSEN), engine="python")
    assert [name.partition(" [")[0] for name in table.columns] == ["time", "world", *LABELS]
    same_bits(table.to_numpy(float), numbers)


def test_parquet_by_pyarrow_and_pandas(export, numbers):
    parquet = pytest.importorskip("pyarrow.parquet")
    out = export("a.parquet", *CHOSEN)
    table = parquet.read_table(out)
    assert table.column_names == ["time", "world", *LABELS]
    assert table.schema.field("body.link1.position.x").metadata == {b"unit": b"m"}
    same_bits(np.column_stack([column.to_numpy() for column in table.columns]), numbers)
    pandas = pytest.importorskip("pandas")
    same_bits(pandas.read_parquet(out).to_numpy(float), numbers)


def test_npz_by_numpy(export, numbers):
    with np.load(export("a.npz", *CHOSEN)) as arrays:
        assert arrays["joint.ball_free.q"].shape == (3, 2, 7)
        assert arrays["energy.total"].shape == (3, 2)
        same_bits(arrays["time"], numbers[::2, 0])
        assert arrays["world"].tolist() == list(WORLDS)
        about = json.loads(str(arrays["about"]))
        same_bits(np.concatenate([arrays[name].reshape(6, -1) for name in about], axis=1), numbers[:, 2:])
        assert [label for one in about.values() for label in one["labels"]] == LABELS
        assert about["body.link1.position"]["units"] == ["m"] * 3


def test_json_lines_by_json_and_pandas(export, numbers):
    out = export("a.jsonl", *CHOSEN)
    rows = [json.loads(line, parse_constant=pytest.fail) for line in out.read_text().splitlines()]
    assert list(rows[0]) == ["time", "world", *LABELS]
    found = np.array([[np.nan if value is None else value for value in row.values()] for row in rows], float)
    finite = np.where(np.isfinite(numbers), numbers, np.nan)  # JSON has no infinity
    same_bits(found, finite)
    pandas = pytest.importorskip("pandas")
    np.testing.assert_allclose(pandas.read_json(out, lines=True, precise_float=True).to_numpy(float), finite, rtol=1e-14)


def read_storage(path):
    """OpenSim's storage: header, labels, numbers."""
    head, _, body = path.read_text().partition("endheader\n")
    facts = dict(line.split("=") for line in head.splitlines() if "=" in line)
    labels, *rows = (line.split("\t") for line in body.splitlines())
    return facts, labels, np.array(rows, float)


@pytest.mark.parametrize(
    ("name", "words", "labels", "columns"),
    [
        ("a.sto", ["-c", "energy.total,body.link1.position"], ["energy.total", *LABELS[8:11]], range(9, 13)),
        ("a.mot", ["-c", "joint.ball_free.q"], [f"ball_free.{k}" for k in range(7)], range(2, 9)),
    ],
)
def test_opensim_tables(export, numbers, name, words, labels, columns):
    facts, found, values = read_storage(export(name, "--world", "2", "--every", EVERY, *words))
    assert facts == {"version": "1", "nRows": "3", "nColumns": str(len(labels) + 1), "inDegrees": "no"}
    assert found == ["time", *labels]
    same_bits(values, numbers[1::2][:, [0, *columns]])


def test_a_motion_file_holds_all_joint_coordinates_unless_told(export):
    facts, labels, values = read_storage(export("b.mot"))
    assert labels == ["time", "hinge0", "hinge1", *(f"ball_free.{k}" for k in range(7))]
    assert (facts["nRows"], facts["nColumns"]) == ("12", "10") == tuple(map(str, values.shape))


def test_vtk_opens_the_series(export, path):
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    out = export("a.pvd", "--world", "0,2", "--every", EVERY)
    from xml.etree import ElementTree

    index = [entry.attrib for entry in ElementTree.parse(out).iter("DataSet")]
    assert len(index) == 2 * 3
    with open_trajectory(path) as run:
        for entry in index:
            reader = vtk.vtkXMLPolyDataReader()
            reader.SetFileName(str(out.parent / entry["file"]))
            reader.Update()
            assert reader.GetErrorCode() == 0
            data = reader.GetOutput()
            frame = run.time.tolist().index(float(entry["timestep"]))
            held = {
                data.GetPointData().GetArrayName(k): vtk_to_numpy(data.GetPointData().GetArray(k))
                for k in range(data.GetPointData().GetNumberOfArrays())
            }
            words = data.GetFieldData().GetAbstractArray(0)
            words = [words.GetValue(k) for k in range(words.GetNumberOfValues())]
            if entry["name"] == "bodies":
                both = (run.read(f"frames/{name}")[frame, list(WORLDS)] for name in ("body_q", "body_qd"))
                pose, twist = (one.reshape(6, -1) for one in both)
                wanted = {"orientation": pose[:, 3:], "velocity": twist[:, :3], "angular_velocity": twist[:, 3:]}
                points = pose[:, :3]
                assert words == ["link0", "link1", "ball"]
                assert held["world"].tolist() == [0, 0, 0, 2, 2, 2]
                assert held["body"].tolist() == [0, 1, 2] * 2
            else:
                table = run.contact_table(frame, frame + 1)
                keep = np.isin(table["world"], WORLDS)
                wanted = {name: table[name][keep] for name in ("force", "normal", "gap")}
                points = table["point"][keep]
                assert held["shape_a"].tolist() == table["shape_a"][keep].tolist()
                assert words == ["link0/rod", "ground"]
            assert data.GetNumberOfVerts() == len(points)
            if len(points):
                same_bits(vtk_to_numpy(data.GetPoints().GetData()), points)
                for name, values in wanted.items():
                    same_bits(held[name], values)
    export("a.pvd", "--every", 6, "--force")  # the folder of an earlier export is replaced
    assert len(list((out.parent / "a").iterdir())) == 2 * 2


def test_vtk_replaces_no_folder_of_others(export, tmp_path, path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    code, err = refused(capsys, path, "-o", tmp_path / "mine.pvd")
    assert code == Exit.OUTPUT
    assert "will not be replaced" in err
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep"


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "npz"])
def test_contacts_are_a_row_each(export, path, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    out = export(f"c.{suffix}", "-c", "contacts", "--world", "0,2", "--every", "3")
    with open_trajectory(path) as run:
        table = run.contact_table()
        keep = np.isin(table["world"], WORLDS) & (table["frame"] % 3 == 0)
        force, shapes = table["force"][keep], run.model["shape_name"][table["shape_b"][keep]].tolist()
    assert len(force) > 3
    if suffix == "npz":
        with np.load(out) as arrays:
            found, words = np.column_stack([arrays[f"force.{c}"] for c in "xyz"]), arrays["shape_b"].tolist()
    else:
        if suffix == "csv":
            rows = list(csv.DictReader(io.StringIO(out.read_text())))
        elif suffix == "jsonl":
            rows = [json.loads(line) for line in out.read_text().splitlines()]
        else:
            from pyarrow import parquet

            rows = parquet.read_table(out).to_pylist()
        unit = " [N]" if suffix == "csv" else ""
        found = np.array([[row[f"force.{c}{unit}"] for c in "xyz"] for row in rows], float)
        words = [row["shape_b"] for row in rows]
    same_bits(found, force)
    assert words == shapes


def refused(capsys, *words):
    code = cli_process.run_command(["export", *map(str, words)], debug=False, as_json=False)
    return code, capsys.readouterr().err


def test_what_cannot_be_exported_is_refused(path, tmp_path, capsys, monkeypatch):
    for words, said in {
        ("-o", "a.parqet"): "did you mean `a.parquet`?",
        ("-o", "a"): "write a name that ends in .csv, ",
        ("-o", "a.csv", "-c", "joint.hing0.q"): "did you mean `joint.hinge0.q`?",
        ("-o", "a.csv", "--world", "3"): "no world 3 in",
        ("-o", "a.pvd", "--world", "7"): "no world 7 in",
        ("-o", "a.sto", "--world", "0,1"): ".sto holds one world",
        ("-o", "a.sto", "-c", "contacts"): "contacts are no table over time",
        ("-o", "a.mot", "-c", "energy.total"): "energy.total is none: write it as .sto",
        ("-o", "a.pvd", "-c", "energy.total"): "leave out --channel",
    }.items():
        words = [str(tmp_path / word) if word.startswith("a") else word for word in words]
        code, err = refused(capsys, path, *words)
        assert code == Exit.USAGE, words
        assert said.replace("`a.", f"`{tmp_path}/a.") in err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert refused(capsys, path, "-o", tmp_path / "a.parquet") == (
        Exit.USAGE,
        "error: Parquet needs pyarrow: pip install 'simcli[parquet]'\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_bodies_that_were_not_recorded_are_asked_for(tmp_path, capsys):
    path = write_run(tmp_path / "b.h5", range(3), channels=("joints",))
    code, err = refused(capsys, path, "-o", tmp_path / "b.pvd")
    assert code == Exit.USAGE
    assert "record it with `output: {channels: [bodies]}`" in err
    assert [one.name for one in tmp_path.iterdir()] == ["b.h5"]


@pytest.mark.parametrize("suffix", [one.suffix for one in FORMATS if not one.of_scene])
def test_damage_is_told_and_leaves_nothing(path, tmp_path, capsys, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    if suffix.startswith(".usd"):
        pytest.importorskip("pxr")
    damaged = tmp_path / "d.h5"
    damaged.write_bytes(path.read_bytes())
    import h5py

    with h5py.File(damaged, "r") as file:
        for name in ("joint_q", "body_q"):
            place = file[f"frames/{name}"].id.get_chunk_info(0).byte_offset
            with damaged.open("r+b") as raw:
                raw.seek(place + 16)
                raw.write(b"\xff" * 8)
    code, err = refused(capsys, damaged, "-o", tmp_path / f"x{suffix}")
    assert code == Exit.FILE
    assert "is damaged" in err
    assert [one.name for one in tmp_path.iterdir()] == ["d.h5"]


def test_a_run_without_frames_is_a_header(tmp_path, capsys):
    path = write_run(tmp_path / "b.h5", range(3))
    import h5py

    with h5py.File(path, "r+") as file:
        file["run/n_committed"][()] = 0
        file["run/digest_frames"][:] = -1
    for one in (one for one in FORMATS if not one.of_scene):
        if one.suffix == ".parquet":
            pytest.importorskip("pyarrow")
        if one.suffix.startswith(".usd"):
            pytest.importorskip("pxr")
        code, err = refused(capsys, path, "-o", tmp_path / f"x{one.suffix}")
        is_drawn = one.suffix == ".glb" or one.suffix.startswith(".usd")
        assert (code, "holds no frame yet" in err) == ((Exit.USAGE, True) if is_drawn else (Exit.OK, False)), one


MOST_BYTES = 200e6  # of a process that converts a file of any size
MANY = 4_000_000  # frames
PEAK = """
import sys
from simcli.cli.process import run_command
code = run_command([{words}], debug=True, as_json=False)
print()
print("pandas" in sys.modules, code, *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """400 MB: one dataset at a time would not do, nor would the caches of all that HDF5 keeps open."""
    path = write_many(tmp_path_factory.mktemp("large") / "a.h5", 500_000, 1.25)
    assert path.stat().st_size > 1.9 * MOST_BYTES
    return path


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Frames of some numbers."""
    return write_many(tmp_path_factory.mktemp("many") / "a.h5", MANY, 1.25, channels=("energy",), block=20_000)


def peak_of(words):
    """Largest memory [B] of a command that succeeds; without pandas, of 40 MB, which only other tools of a user need."""
    has_pandas, code, kilobytes = python(PEAK.format(words=", ".join(map(repr, map(str, words))))).split()[-3:]
    assert (has_pandas, code) == ("False", "0")
    return 1024 * int(kilobytes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["slice", "--frames", "1:"],
        ["slice", "--select", "link0", "--frames", "::7"],
        ["export", "-c", "body.*.*,joint.*.*", "-o", "x.npz"],
        ["export", "-c", "body.*.*,joint.*.*", "-o", "x.parquet"],
        ["export", "-o", "x.csv"],
        ["export", "-o", "x.glb", "--every", "50"],
    ],
)
def test_large_files_take_little_memory(large, tmp_path, words):
    words = [str(tmp_path / word) if word.startswith("x.") else word for word in words]
    words += [] if "-o" in words else ["-o", str(tmp_path / "x.h5")]
    assert peak_of([words[0], large, *words[1:]]) < MOST_BYTES


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """A thousand of the same frames."""
    return write_many(tmp_path_factory.mktemp("few") / "a.h5", 1000, 1.25, channels=("energy",), block=1000)


@pytest.mark.slow
@pytest.mark.parametrize("align", ["time", "step"])
def test_comparing_millions_of_frames_takes_little_memory(many, few, align):
    """A number of 8 B for each frame and file, and for each pair, would not do: beyond what the tool takes by itself."""
    most, least = (peak_of(["diff", file, file, "--align", align, "-c", "diag.status"]) for file in (many, few))
    assert most - least < 8 * MANY
