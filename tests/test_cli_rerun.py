"""The scene inside a run: `simcli run`, `show`, `modes` of an HDF5 file, to the bytes of the run it came from."""

import hashlib
import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.analysis_files import record
from support.process import run_here

from simcli.errors import Exit
from simcli.records.contents.provenance import collect_provenance
from simcli.records.reading.reader import open_trajectory
from simcli.spec.document.held_files import HeldPath

SCENES = Path(__file__).parent.parent / "scenes"
PARTS = "materials: {light: {density: 500}, heavy: {density: 7850}}\n"
# All that a file must know beyond the resolved scene: an include, a template, a parameter, a table, and a mesh for the mass.
SCENE = """
simcli: 1
include: [parts/materials.yaml]
params: {l: 0.5}
models:
  link:
    bodies: {b: {shapes: {r: {type: box, size: ["${l}", 0.02, 0.02], pose: {xyz: ["${l/2}", 0, 0]}, material: heavy}}}}
    joints: {pin: {type: revolute, parent: world, child: b, axis: [0, 1, 0], drive: {mode: effort, target: $push}}}
instances: {left: {model: link}}
bodies: {ring: {pose: {xyz: [0, 3, 0]}, shapes: {m: {type: mesh, file: parts/ring.obj, convex: false, material: heavy}}}}
signals: {push: {table: {file: push.csv}}}
solver: {dt: 1 ms}
run: {duration: 0.2}
contact: {enabled: false}
output: {every: 0.01, channels: [state, energy]}
"""
RUN = ["--vary", "params.l=0.3,0.4,0.6", "--vary", "joints.left/pin.damping=uniform(0, 1)", "--set", "joints.left/pin.q=0.3",
       "--seed", "4", "--duration", "40 ms", "--measure", "peak=max_abs:joint.left/pin.qd"]  # fmt: skip


def command(*words):
    return run_here(*words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of three worlds, and none of the files that it was made from."""
    folder = tmp_path_factory.mktemp("rerun")
    made = folder / "made"
    (made / "parts").mkdir(parents=True)
    (made / "rod.yaml").write_text(SCENE)
    (made / "push.csv").write_text("0, 0\n0.01, 2.5\n0.03, -1\n")
    (made / "parts" / "materials.yaml").write_text(PARTS)
    shutil.copy(SCENES / "ring.obj", made / "parts")
    assert command("run", made / "rod.yaml", *RUN, "-o", folder / "a.h5", "-q") == Exit.OK
    assert command("run", made / "rod.yaml", *RUN, "--world", "2", "-o", folder / "two.h5", "-q") == Exit.OK
    shutil.rmtree(made)
    return folder


@pytest.mark.parametrize("name", ["a", "two"])
def test_a_run_of_the_scene_inside_has_the_same_bytes(folder, capsys, name):
    again = folder / f"{name}-again.h5"
    assert command("run", folder / f"{name}.h5", "-o", again, "-q") == Exit.OK
    assert command("diff", folder / f"{name}.h5", again, "--exact") == Exit.OK
    assert "all bits are equal" in capsys.readouterr().err
    with open_trajectory(folder / f"{name}.h5") as first, open_trajectory(again) as second:
        assert first.digest == second.digest
        np.testing.assert_array_equal(first.world_seed, second.world_seed)
        for field in ("scene_source", "scene_resolved", "overrides", "worlds", "files", "seed"):
            assert getattr(first.provenance, field) == getattr(second.provenance, field), field
        assert first.n_worlds == (3 if name == "a" else 1)
        np.testing.assert_array_equal(first.measures["peak"].value, second.measures["peak"].value)
        assert len(np.unique(first.measures["peak"].value)) == first.n_worlds  # else the worlds would prove nothing


def test_worlds_of_a_part_are_numbered_by_the_file_and_run_by_the_batch(folder, tmp_path, capsys):
    """As the page `results` has it: readers count in the file, `run FILE --world` in the batch of the scene inside."""
    part = tmp_path / "part.h5"
    assert command("run", folder / "a.h5", "--world", "2,1", "-o", part, "-q") == Exit.OK
    assert command("info", part) == Exit.OK
    assert "2, in the batch 1, 2" in capsys.readouterr().out
    assert command("info", folder / "a.h5", "--json") == Exit.OK
    assert json.loads(capsys.readouterr().out)["batch_worlds"] is None
    with open_trajectory(folder / "a.h5") as whole, open_trajectory(part) as some:
        np.testing.assert_array_equal(some.measures["peak"].value, whole.measures["peak"].value[[1, 2]])
    assert command("slice", part, "--world", "1", "-o", tmp_path / "one.h5") == Exit.OK
    assert command("run", part, "--world", "1", "-o", tmp_path / "again.h5", "-q") == Exit.OK
    with open_trajectory(tmp_path / "one.h5") as sliced, open_trajectory(tmp_path / "again.h5") as again:
        assert (sliced.batch_numbers, again.batch_numbers) == ((2,), (1,))


def test_more_options_change_the_scene_inside(folder, tmp_path, capsys):
    out = tmp_path / "b.h5"
    words = ["--vary", "params.l=0.4,0.7", "--set", "joints.left/pin.q=0.1", "--duration", "20 ms"]
    assert command("run", folder / "a.h5", *words, "-o", out, "-q") == Exit.OK
    with open_trajectory(out) as run, open_trajectory(folder / "a.h5") as first:
        assert run.params["params.l"].tolist() == [0.4, 0.7]
        np.testing.assert_array_equal(run.params["joints.left/pin.damping"], first.params["joints.left/pin.damping"][:2])
        assert run.joint("left/pin").q[0, 0, 0] == 0.1
        assert run.time[-1] == pytest.approx(0.02)


def test_a_measure_of_the_same_name_replaces_the_one_inside_and_is_given_once(folder, tmp_path, capsys):
    out, again = tmp_path / "b.h5", ["--measure", "peak=max:joint.left/pin.q"]
    assert command("run", folder / "a.h5", *again, "-o", out, "-q", "--duration", "20 ms") == Exit.OK
    with open_trajectory(out) as run:
        assert list(run.measures) == ["peak"]
    capsys.readouterr()
    assert command("run", folder / "a.h5", *again, *again, "-o", out, "--force") == Exit.SCENE
    assert "`peak` is measured twice" in capsys.readouterr().err


def test_show_gives_the_scene_that_was_run(folder, capsys):
    assert command("show", folder / "a.h5", "--resolved") == Exit.OK
    with open_trajectory(folder / "a.h5") as run:
        assert capsys.readouterr().out.rstrip("\n") == run.provenance.scene_resolved.rstrip("\n")
    assert command("show", folder / "a.h5", "--dof", "--json") == Exit.OK
    assert json.loads(capsys.readouterr().out)["scene"] == "rod"


def test_faults_name_the_scene_inside(folder, tmp_path, capsys):
    assert command("run", folder / "a.h5", "--set", "joints.left/pin.dampng=1", "-o", tmp_path / "x.h5") == Exit.SCENE
    assert "did you mean `damping`" in capsys.readouterr().err
    assert not (tmp_path / "x.h5").exists()


@pytest.mark.parametrize("more", [[], ["--force"], ["--resume"]])
def test_the_file_itself_is_never_the_output(folder, monkeypatch, capsys, more):
    before = hashlib.sha256((folder / "a.h5").read_bytes()).hexdigest()
    monkeypatch.chdir(folder)
    (folder / "outputs").mkdir(exist_ok=True)
    (folder / "outputs" / "rod.h5").unlink(missing_ok=True)
    (folder / "outputs" / "rod.h5").hardlink_to(folder / "a.h5")  # the default output
    for words in (["a.h5", "-o", folder / "a.h5"], ["outputs/rod.h5"]):
        assert command("run", *words, *more) == Exit.USAGE
        assert "is a file that is read" in capsys.readouterr().err
    assert hashlib.sha256((folder / "a.h5").read_bytes()).hexdigest() == before


def test_files_that_do_not_know_their_scene_say_so(tmp_path, capsys):
    with record(tmp_path / "old.h5", 3, 1, lambda columns: None):
        pass
    (tmp_path / "text.h5").write_text("simcli: 1")
    (tmp_path / "cut.h5").write_bytes((tmp_path / "old.h5").read_bytes()[:5000])
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = 1.0
    told = {"old": ("give the scene file", Exit.USAGE), "text": ("is not an HDF5 file", Exit.FILE),
            "cut": ("damaged", Exit.FILE), "foreign": ("not one of simcli", Exit.FILE)}  # fmt: skip
    for name, (words, code) in told.items():
        for verb in (("run", "-o", tmp_path / "x.h5"), ("show",), ("modes",)):
            assert command(verb[0], tmp_path / f"{name}.h5", *verb[1:]) == code
            assert words in capsys.readouterr().err


def test_a_damaged_mesh_inside_is_found(folder, tmp_path, capsys):
    path = tmp_path / "a.h5"
    shutil.copy(folder / "a.h5", path)
    with h5py.File(path, "r+") as file:
        content = file["provenance/file_content"]
        content[10] = content[10] ^ 1
    assert command("check", path) == Exit.NEGATIVE
    assert "file_content: " in capsys.readouterr().err
    assert command("run", path, "-o", tmp_path / "x.h5") == Exit.FILE
    assert "does not match its SHA-256" in capsys.readouterr().err
    with h5py.File(path, "r+") as file:
        del file["provenance/overrides"]
        file["provenance"].create_dataset("overrides", data='[["--dt"]]', dtype=h5py.string_dtype())
    assert command("run", path, "-o", tmp_path / "x.h5") == Exit.FILE
    assert "is damaged" in capsys.readouterr().err


def test_what_is_too_large_to_be_kept_is_named(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("simcli.records.contents.provenance.MAX_FILE_BYTES", 100)
    files = [("big.obj", bytes(101)), ("small.csv", bytes(98)), ("more.csv", b"12")]
    kept = collect_provenance([], "", "cpu", "float64", 0, files=files).files
    assert [(path, data) for path, _, data in kept] == [("big.obj", None), *files[1:]]
    assert kept[0][1] == hashlib.sha256(files[0][1]).hexdigest()
    path = tmp_path / "a.h5"
    shutil.copy(folder / "a.h5", path)
    with h5py.File(path, "r+") as file:
        names = list(file["provenance/file_path"].asstr())
        k, sizes = names.index("parts/ring.obj"), file["provenance/file_bytes"][...]
        content = np.split(file["provenance/file_content"][...], np.cumsum(sizes)[:-1])
        del file["provenance/file_content"]
        file["provenance/file_content"] = np.concatenate([part for i, part in enumerate(content) if i != k])
        file["provenance/file_bytes"][k] = -1
    assert command("run", path, "-o", tmp_path / "x.h5") == Exit.SCENE
    assert "`parts/ring.obj` was too large to be kept in the result" in capsys.readouterr().err


def test_a_held_folder_stays_within_itself():
    top = HeldPath({"scene.yaml": b"x", "a/b.obj": b"y"}, "scene.yaml").parent
    assert (top / "a" / "../a/b.obj").read_bytes() == b"y"
    assert not (top / "../scene.yaml").is_relative_to(top)
    assert not (top / "/scene.yaml").exists()
    assert [path.name for path in (top / "a").iterdir()] == ["b.obj"]
    with pytest.raises(FileNotFoundError):
        (top / "none").stat()
