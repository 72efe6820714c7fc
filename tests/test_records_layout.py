"""The layout against the specification, and the laws of chunks and scales.

Files made to deceive: each is refused with a reason, fast, and without following anything out of the file.
"""

import dataclasses
import shutil
import subprocess
from dataclasses import fields, replace
from itertools import product

import h5py
import numpy as np
import pytest
from support.recorder_here import RecorderHere
from support.tiny_model import datasets, frames, tiny_model

from simcli.engines import engine_of_process
from simcli.errors import Exit, FileError, OutputError, SceneError
from simcli.model import build
from simcli.model.tables.model import TABLES, Model, declared_columns
from simcli.model.tables.table_base import declared
from simcli.records.contents.digest import seal
from simcli.records.contents.layout import CHANNELS, NAME_SCALES, point_datasets, recordable, selected
from simcli.records.contents.model_columns import COLUMNS
from simcli.records.contents.provenance import collect_provenance
from simcli.records.contents.select import GRAIN_BYTES, axes_of, chunk_shape, frame_bytes, frames_per_commit, selection
from simcli.records.integrity.verification import verify
from simcli.records.reading import guard
from simcli.records.reading.reader import open_trajectory
from simcli.records.writing.writer import Recorder
from simcli.spec import load_document, resolve

# Copied from the specification of the file (version 1): what must be there, by group.
SPECIFIED = {
    "frames": "time step joint_q joint_qd joint_qdd joint_effort body_q body_qd body_qdd joint_wrench multiplier",
    "energy": "kinetic potential elastic dissipated input total drift",
    "diag": "iterations residual position_violation velocity_violation penetration contacts status",
    "contacts": "offset shape_a shape_b point normal gap force",
    "events": "step time world code severity body joint value text",
    "model": "body_name joint_name body_mass body_inertia body_com joint_type joint_parent joint_child joint_axis "
    "q_start qd_start q_label qd_label row_label shape_name shape_type shape_body shape_size shape_pose "
    "shape_vertex shape_face",
    "params": "name value unit seed",
    "provenance": "scene_source source_path source_sha256 scene_resolved argv",
    "run": "n_committed status wall_s digest",
}
ROWS = ("row:0", "row:1")
CHUNK_LIMITS = (128 * 1024, 1024 * 1024)  # [B], of the specification


def provenance():
    return collect_provenance([("tiny.yaml", "simcli: 1\n"), ("steel.yaml", "a: 1\n")], "simcli: 1\n", "cpu", "float64", 7)


@pytest.fixture
def recorded(tmp_path):
    model = tiny_model()
    with Recorder(
        tmp_path / "a.h5", model, provenance(), CHANNELS, 40, row_label=ROWS, title="tiny", process=RecorderHere()
    ) as recorder:
        rows = datasets(model, CHANNELS, ROWS)
        recorder.put(frames(rows, axes_of(model, ROWS), 0, 40))
    with h5py.File(tmp_path / "a.h5") as file:
        yield file


def everything(file):
    found = []
    file.visititems(lambda path, item: found.append((path, item)))
    return [(path, item) for path, item in found if isinstance(item, h5py.Dataset)]


IN_PARAMS = {"param_value", "world_seed"}  # where a file has these arrays


def test_every_array_of_a_model_is_in_the_file_or_left_out_with_a_reason():
    """One without a declaration would be absent without a word; the import of tables refuses those of tables."""
    written = {column.path for column in COLUMNS} | {f"shapes.{name}" for name in ("vertices", "faces")}
    for table, name, what in declared_columns():
        reason = what.left_out or (table and TABLES[table].in_files.left_out)
        assert bool(reason) != (".".join(filter(None, (table, name))) in written), (table, name)
    assert {one.name for one in fields(Model) if one.type is np.ndarray and not declared(one)} == IN_PARAMS


def test_every_column_is_in_the_file(recorded):
    """Those of a model that has an entry along every axis; a column without entries has no dataset."""
    axes = axes_of(tiny_model(), ROWS)
    there = {
        column.name
        for column in COLUMNS
        if all(axes.label.get(axis, "shown") for axis in column.axes if axis in NAME_SCALES)
    }
    assert there - recorded["model"].keys() == set()
    assert len(there) > len(COLUMNS) // 2


@pytest.mark.parametrize("group", SPECIFIED)
def test_every_specified_dataset_is_there(recorded, group):
    assert set(SPECIFIED[group].split()) <= set(recorded[group])


def test_root_and_provenance_attributes(recorded):
    assert recorded.attrs["simcli_format"].tolist() == [1, 0]
    assert {"uuid", "title", "conventions"} <= set(recorded.attrs)
    versions = {
        f"version_{name}" for name in ("simcli", "python", engine_of_process().package, "numpy", "h5py", "hdf5", "os")
    }
    facts = {"device", "precision", "seed", "deterministic", "created_utc", "scene_resolved_sha256"}
    assert versions | facts <= set(recorded["provenance"].attrs)


def test_every_axis_has_a_scale_of_its_length_in_reach(recorded):
    """xarray looks a scale up by its last path component, in the dataset's group or in one above it."""
    for path, dataset in everything(recorded):
        if dataset.is_scale:
            assert dataset.ndim == 1, path
            continue
        for axis in range(dataset.ndim):
            assert len(dataset.dims[axis]) == 1, f"{path} axis {axis} has no scale"
            scale = dataset.dims[axis][0]
            assert len(scale) == dataset.shape[axis], f"{path} axis {axis}"
            name, group = scale.name.split("/")[-1], dataset.parent
            while name not in group and group != recorded:
                group = group.parent
            assert group[name] == scale, f"{path} axis {axis}: the scale {scale.name} is out of reach"


def test_name_scales_carry_the_names_of_the_model(recorded):
    model = tiny_model()
    names = {
        "body_q": ("body_name", model.bodies.name),
        "joint_q": ("q_label", model.dofs.q_label),
        "joint_qd": ("qd_label", model.dofs.label),
        "joint_wrench": ("joint_name", model.joints.name),
        "multiplier": ("row_label", ROWS),
    }
    for path, (scale, expected) in names.items():
        attached = recorded["frames"][path].dims[2][0]
        assert attached.name.endswith(scale)
        assert tuple(attached.asstr()[...]) == tuple(expected)
    assert recorded["frames/world"][...].tolist() == [0, 1, 2]
    assert recorded["frames/time"][-1] == pytest.approx(0.39)


def test_every_growing_dataset_has_units_and_a_meaning(recorded):
    for row in datasets(tiny_model(), CHANNELS, ROWS):
        assert recorded[row.path].attrs["units"] == row.unit
        assert recorded[row.path].attrs["long_name"] == row.text


def test_checksums_where_chunks_are_written_once_and_no_compression(recorded):
    for row in datasets(tiny_model(), CHANNELS, ROWS):
        dataset = recorded[row.path]
        assert dataset.fletcher32 is row.by_frame, row.path
        assert dataset.compression is None


def test_model_tables_are_the_model(recorded):
    model = tiny_model()
    group = recorded["model"]
    assert np.array_equal(group["body_mass"], model.bodies.mass)
    assert group["body_mass"].dims[0][0].name.endswith("world")  # varied
    assert group["body_com"].dims[0][0].name.endswith("shared")
    assert np.array_equal(group["joint_axis"], model.dofs.axis)
    assert group["shape_vertex_start"][...].tolist() == [0, 4, 4]
    assert np.array_equal(group["shape_face"], model.shapes.faces[0])
    assert list(group["qd_unit"].asstr()) == ["rad/s"] * 2 + ["m/s"] * 3 + ["rad/s"] * 3
    assert list(group["q_unit"].asstr()) == ["rad"] * 2 + ["m"] * 3 + ["1"] * 4
    assert np.array_equal(recorded["params/seed"], model.world_seed)
    assert np.array_equal(recorded["params/value"], model.param_value)


def test_nothing_is_created_after_the_first_frame(tmp_path):
    model = tiny_model()
    recorder = Recorder(tmp_path / "a.h5", model, provenance(), CHANNELS, 40, process=RecorderHere())

    def objects():
        file = recorder._process.recording._file._file._file
        found = [(path, sorted(item.attrs)) for path, item in everything(file)]
        return sorted(found), sorted(file.attrs)

    before = objects()
    assert recorder._process.recording._file._file._file.swmr_mode
    rows = datasets(model, CHANNELS)
    recorder.put(frames(rows, axes_of(model), 0, 40))
    assert recorder.n_committed > 0
    assert objects() == before
    recorder.close("done")
    assert recorder.n_committed == 40


@pytest.mark.parametrize(
    ("n_worlds", "n_links", "n_frames"), list(product([1, 3, 64, 1000, 100_000], [2, 30, 400], [1, 100, 10_000]))
)
def test_chunks_tile_a_commit_and_keep_their_size(n_worlds, n_links, n_frames):
    axes = axes_of(tiny_model(1, n_links, floating=False))
    axes = type(axes)(n_worlds, axes.label)
    model_rows = [row for row in datasets(tiny_model(1, n_links, floating=False), CHANNELS) if row.by_frame]
    grain = frames_per_commit(model_rows, axes, "float64", n_frames)
    assert grain <= max(n_frames // 16, 1)
    assert grain == 1 or grain * frame_bytes(model_rows, axes, "float64") <= GRAIN_BYTES
    for row in model_rows:
        shape = chunk_shape(row, axes, "float64", grain)
        size = int(np.prod(shape)) * 8
        one_world = int(np.prod(shape[2:])) * 8
        whole = size >= grain * int(np.prod(axes.tail(row))) * row.dtype("f8").itemsize
        assert grain % shape[0] == 0
        assert all(a <= b for a, b in zip(shape[1:], axes.tail(row), strict=True))
        assert size <= max(CHUNK_LIMITS[1], one_world)
        assert size >= CHUNK_LIMITS[0] // 2 or whole, f"{row.path}: chunk {shape} of {size} bytes"


def test_channels_select_the_datasets():
    model = tiny_model()
    paths = {row.path for row in datasets(model, ["energy"])}
    assert "energy/total" in paths
    assert "diag/status" in paths
    assert "frames/time" in paths
    assert not {path for path in paths if path.startswith(("frames/joint", "frames/body", "frames/point", "contacts"))}
    assert "frames/multiplier" not in {row.path for row in datasets(model, CHANNELS)}  # no rows, no dataset


def test_point_names_that_need_one_path_twice_are_refused():
    axes = axes_of(tiny_model())
    names = ("crank/b", "crank/b/position/p")
    clashing = replace(axes, label={**axes.label, "N": names})
    with pytest.raises(OutputError, match="rename the point"):
        recordable(clashing, ["bodies"])
    assert recordable(clashing, ["energy"])
    assert selected(clashing, CHANNELS)  # of what a file may hold: one without bodies is opened
    assert len(point_datasets(["crank/b", "crank/b/p"])) == 4


CLASH = """simcli: 1
models: {{m: {{bodies: {{p: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, points: {{{point}: [0, 0, 0]}}}}}}}}}}
bodies: {{left: {{mass: 1, inertia: {{diag: [1, 1, 1]}}, points: {{p: [0, 0, 0]}}}}}}
instances: {{left: {{model: m}}}}
output: {{{output}}}
"""


@pytest.mark.parametrize(
    ("point", "output", "refused"),
    [
        ("position", "channels: [state]", True),
        ("velocity", "channels: [bodies]", True),
        ("middle", "channels: [state]", False),
        ("position", "channels: [energy]", False),
        ("position", "select: [left]", False),
    ],
)
def test_points_of_one_path_are_refused_before_a_run_where_they_would_be_recorded(tmp_path, point, output, refused):
    path = tmp_path / "scene.yaml"
    path.write_text(CLASH.format(point=point, output=output))
    document = load_document(path)
    if not refused:
        model = build(resolve(document), document)
        select = resolve(document).output.select
        assert recordable(selection(model, select), resolve(document).output.channels)  # the file can be laid out
        return
    with pytest.raises(SceneError) as caught:
        build(resolve(document), document)
    (found,) = caught.value.faults
    assert (found.code, found.where.line) == ("SC327", 2)


def test_select_cuts_frames_and_model_alike(tmp_path):
    model = tiny_model()
    axes = selection(model, ["link1", "hinge1", "ball_free"])
    rows = datasets(model, CHANNELS)
    block = frames(rows, axes_of(model), 0, 20)
    with Recorder(tmp_path / "a.h5", model, provenance(), CHANNELS, 20, axes=axes, process=RecorderHere()) as recorder:
        recorder.put(block)
    with h5py.File(tmp_path / "a.h5") as file:
        assert np.array_equal(file["frames/body_q"], block.columns["frames/body_q"][:, :, [1]])
        assert np.array_equal(file["frames/joint_q"], block.columns["frames/joint_q"][:, :, 1:])
        assert np.array_equal(file["frames/joint_wrench"], block.columns["frames/joint_wrench"][:, :, 1:])
        assert list(file["model/joint_name"].asstr()) == ["hinge1", "ball_free"]
        assert file["model/joint_parent"][...].tolist() == [-2, -1]  # link0 is not stored, the world stays
        assert file["model/joint_child"][...].tolist() == [0, -2]
        assert file["model/q_start"][...].tolist() == [0, 1, 8]
        assert np.array_equal(file["model/body_mass"], model.bodies.mass[:, [1]])
        assert "position" in file["frames/point/link1/tip"]
        assert "link0" not in file["frames/point"]
    with pytest.raises(OutputError, match="`leg\\*` matches no body"):
        selection(model, ["leg*"])


N = 20
MAX_OBJECTS = 500  # instead of 100 000, which take long to make


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "a.h5"
    model = tiny_model()
    with Recorder(path, model, collect_provenance([("a", "x")], "x", "cpu", "float64", 7), CHANNELS, N) as recorder:
        recorder.put(frames(datasets(model, CHANNELS), axes_of(model), 0, N))
    return path.read_bytes()


def replace_of_hostile(name, **options):
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
    "bomb": (replace_of_hostile("energy/total", shape=(10**9, 1000), chunks=(1000, 1000), compression="gzip"), "declares"),
    "giant chunk": (
        replace_of_hostile("energy/total", shape=(N, 3), maxshape=(None, None), chunks=(2**14, 2**13)),
        "chunks of",
    ),
    "filter": (replace_of_hostile("energy/total", **SCALE_OFFSET), "uses the filter"),
    "integer type": (replace_of_hostile("energy/total", dtype="<i8"), "has type int64"),
    "big endian": (replace_of_hostile("energy/total", dtype=">f8"), "has type >f8"),
    "variable strings": (replace_of_hostile("energy/total", dtype=h5py.string_dtype()), "has type object"),
    "counter type": (replace_of_hostile("run/n_committed", dtype="<f8"), "/run/n_committed has type"),
    "rank": (replace_of_hostile("energy/total", shape=(N, 3, 1)), "has shape"),
    "width": (replace_of_hostile("frames/joint_q", shape=(N, 3, 8)), "has shape"),
    "too few frames": (replace_of_hostile("diag/status", shape=(N - 1, 3), dtype="<i4"), "19 frames of 20 committed"),
    "group in place": (lambda f, _: (f.pop("diag/status"), f.create_group("diag/status")), "is damaged"),
    "missing": (lambda f, _: f.pop("diag/status"), "lacks /diag/status"),
    "no model": (lambda f, _: f.pop("model"), "is damaged"),
    "no run": (lambda f, _: f.pop("run"), "is damaged"),
    "model shape": (replace_of_hostile("model/body_q", shape=(1, 2, 7)), "/model/body_q has"),
    "model type": (replace_of_hostile("model/body_mass", shape=(3, 3), dtype="S8"), "/model/body_mass has"),
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
        new = file.create_dataset(
            "new", data=old[...], maxshape=(None, 3), chunks=(N, 3), compression=compression, shuffle=True, fletcher32=True
        )
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
    with Recorder(
        tmp_path / "a.h5",
        dataclasses.replace(model, shapes=shapes),
        collect_provenance([("a", "x")], "x", "cpu", "float64", 7),
        CHANNELS,
        N,
    ):
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
