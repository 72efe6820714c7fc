"""Files made to deceive: each is refused with a reason, fast, and without following anything out of the file."""

import dataclasses
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from support.tiny_model import datasets, frames, tiny_model

from simcli.errors import Exit, FileError
from simcli.records.contents.layout import CHANNELS, axes_of
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.seal import seal
from simcli.records.reading import guard
from simcli.records.reading.reader import open_trajectory
from simcli.records.wholeness.integrity import verify
from simcli.records.writing.writer import Recorder

N = 20
MAX_OBJECTS = 500  # instead of 100 000, which take long to make


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "a.h5"
    model = tiny_model()
    with Recorder(path, model, collect_provenance([("a", "x")], "x", "cpu", "float64", 7), CHANNELS, N) as recorder:
        recorder.put(frames(datasets(model, CHANNELS), axes_of(model), 0, N))
    return path.read_bytes()


def replace(name, **options):
    """A change that puts another dataset in the place of one."""

    def change(file, folder):
        shape = file[name].shape
        del file[name]
        file.create_dataset(name, **{"shape": shape, "dtype": "<f8", **options})

    return change


def external_link(file, folder):
    file["frames/extra"] = h5py.ExternalLink(str(folder / "secret.h5"), "/")


def external_link_in_place(file, folder):
    del file["frames/joint_q"]
    file["frames/joint_q"] = h5py.ExternalLink(str(folder / "secret.h5"), "/x")


def soft_link(file, folder):
    file["model/again"] = h5py.SoftLink("/frames/joint_q")


def dangling_soft_link(file, folder):
    file["model/nowhere"] = h5py.SoftLink("/nowhere")


def external_storage(file, folder):
    (folder / "secret.txt").write_bytes(b"s" * 10_000)
    del file["energy/total"]
    file.create_dataset("energy/total", (N, 3), "<f8", external=[(str(folder / "secret.txt"), 0, h5py.h5f.UNLIMITED)])


def virtual(file, folder):
    layout = h5py.VirtualLayout((N, 3), "<f8")
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "x", (N, 3))
    del file["energy/total"]
    file.create_virtual_dataset("energy/total", layout)


def offsets_beyond(file, folder):
    file["model/q_start"][1] = 1_000_000


def offsets_falling(file, folder):
    file["model/q_start"][...] = [0, 2, 1, 9]


def cyclic_groups(file, folder):
    file["frames/again"] = file["/"]


def swollen_counter(file, folder):
    file["run/n_committed"][()] = 10**12


def negative_counter(file, folder):
    file["run/n_committed"][()] = -1


def newer(file, folder):
    file.attrs["simcli_format"] = [2, 0]


def strange_version(file, folder):
    file.attrs["simcli_format"] = "latest"


def named_type(file, folder):
    file["model/type"] = np.dtype("f8")


def many_objects(file, folder):
    group = file.create_group("many")
    anchor = file["frames/time"]
    for k in range(MAX_OBJECTS):
        group[f"{k}"] = anchor


SCALE_OFFSET = {"chunks": (N, 3), "scaleoffset": 2, "maxshape": (None, 3)}
HOSTILE = {
    "external link": (external_link, "is an external link"),
    "external link in place": (external_link_in_place, "is an external link"),
    "soft link": (soft_link, "is a soft link"),
    "dangling soft link": (dangling_soft_link, "is a soft link"),
    "external storage": (external_storage, "keeps its data in another file"),
    "virtual": (virtual, "is a virtual dataset"),
    "bomb": (replace("energy/total", shape=(10**9, 1000), chunks=(1000, 1000), compression="gzip"), "declares"),
    "giant chunk": (replace("energy/total", shape=(N, 3), maxshape=(None, None), chunks=(2**14, 2**13)), "chunks of"),
    "filter": (replace("energy/total", **SCALE_OFFSET), "uses the filter"),
    "integer type": (replace("energy/total", dtype="<i8"), "has type int64"),
    "big endian": (replace("energy/total", dtype=">f8"), "has type >f8"),
    "variable strings": (replace("energy/total", dtype=h5py.string_dtype()), "has type object"),
    "counter type": (replace("run/n_committed", dtype="<f8"), "/run/n_committed has type"),
    "rank": (replace("energy/total", shape=(N, 3, 1)), "has shape"),
    "width": (replace("frames/joint_q", shape=(N, 3, 8)), "has shape"),
    "too few frames": (replace("diag/status", shape=(N - 1, 3), dtype="<i4"), "19 frames of 20 committed"),
    "group in place": (lambda f, _: (f.pop("diag/status"), f.create_group("diag/status")), "is damaged"),
    "missing": (lambda f, _: f.pop("diag/status"), "lacks /diag/status"),
    "no model": (lambda f, _: f.pop("model"), "is damaged"),
    "no run": (lambda f, _: f.pop("run"), "is damaged"),
    "model shape": (replace("model/body_q", shape=(1, 2, 7)), "/model/body_q has"),
    "model type": (replace("model/body_mass", shape=(3, 3), dtype="S8"), "/model/body_mass has"),
    "offsets beyond": (offsets_beyond, "rising offsets"),
    "offsets falling": (offsets_falling, "rising offsets"),
    "swollen counter": (swollen_counter, "there are 20 frames"),
    "negative counter": (negative_counter, "there are 20 frames"),
    "newer format": (newer, "update simcli"),
    "strange format": (strange_version, "has format"),
    "named type": (named_type, "named type"),
    "many objects": (many_objects, f"more than {MAX_OBJECTS} objects"),
}


def make(good, tmp_path, change):
    path = tmp_path / "a.h5"
    path.write_bytes(good)
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["x"] = np.full((N, 3), 42.0)
    with h5py.File(path, "r+") as file:
        change(file, tmp_path)
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_with_the_reason(good, tmp_path, name, monkeypatch):
    monkeypatch.setattr(guard, "MAX_OBJECTS", MAX_OBJECTS)
    change, message = HOSTILE[name]
    path = make(good, tmp_path, change)
    with pytest.raises(FileError, match=message) as caught:
        open_trajectory(path)
    assert caught.value.exit_code == Exit.FILE
    assert verify(path) == [str(caught.value)]


def test_groups_in_a_circle_do_not_trap_the_reader(good, tmp_path):
    path = make(good, tmp_path, cyclic_groups)
    assert verify(path) == ["texts, units or structure of the file are not those that were written"]
    with h5py.File(path, "r+") as file:
        seal(file)
    assert verify(path) == []


def test_contact_offsets_that_lead_out_of_the_table(good, tmp_path):
    def change(file, folder):
        file["contacts/offset"][4:6] = [3, 10**6]

    path = make(good, tmp_path, change)
    with open_trajectory(path) as run, pytest.raises(FileError, match="/contacts/offset is damaged"):
        run.contacts(1, 1)
    assert any("/contacts/offset" in problem for problem in verify(path))


@pytest.mark.parametrize("compression", ["gzip", "lzf"])
def test_packed_files_open(good, tmp_path, compression):
    """Built-in compression, and other chunks, of a dataset that says the same."""
    def change(file, folder):
        old = file["energy/total"]
        new = file.create_dataset("new", data=old[...], maxshape=(None, 3), chunks=(N, 3), compression=compression,
                                  shuffle=True, fletcher32=True)  # fmt: skip
        for name in ("units", "long_name"):
            new.attrs[name] = old.attrs[name]
        for k, dim in enumerate(old.dims):
            for scale in dim.values():
                old.dims[k].detach_scale(scale)
                new.dims[k].attach_scale(scale)
        del file["energy/total"]
        file.move("new", "energy/total")

    assert verify(make(good, tmp_path, change)) == []


def test_what_is_empty_is_in_chunks(tmp_path):
    """h5repack -f GZIP=5 stops at an empty dataset in one piece; here of a model without a mesh, too."""
    model, empty = tiny_model(), (np.zeros((0, 3)),) * 2
    shapes = dataclasses.replace(model.shapes, vertices=empty, faces=tuple(one.astype(int) for one in empty))
    with Recorder(tmp_path / "a.h5", dataclasses.replace(model, shapes=shapes),
                  collect_provenance([("a", "x")], "x", "cpu", "float64", 7), CHANNELS, N):  # fmt: skip
        pass
    found = []
    with h5py.File(tmp_path / "a.h5") as file:
        file.visititems(lambda name, one: found.append((name, one.chunks)) if getattr(one, "size", None) == 0 else None)
    assert len(found) > 20
    assert [name for name, chunks in found if chunks is None] == []
    assert verify(tmp_path / "a.h5") == []


@pytest.mark.skipif(not shutil.which("h5repack"), reason="h5repack is not there")
@pytest.mark.parametrize("words", ["-f GZIP=5", "-f SHUF -f GZIP=1", "-f NONE", "-l CONTI", "-l CHUNK=7x1x1", "-S PAGE"])
def test_a_file_that_h5repack_has_packed_is_whole(good, tmp_path, words):
    """Chunks, filters and places are no part of what a file says; a unit in it is."""
    before, after = tmp_path / "a.h5", tmp_path / "b.h5"
    before.write_bytes(good)
    subprocess.run(["h5repack", *words.split(), before, after], check=True, capture_output=True)
    assert verify(after) == []
    with h5py.File(after, "r+") as file:
        file["energy/total"].attrs["units"] = "K"
    assert verify(after) == ["texts, units or structure of the file are not those that were written"]
