"""Results on disk: what is written comes back, by name and with h5py alone; what is not ours is refused."""

from dataclasses import replace

import h5py
import numpy as np
import pytest
from support.recorder_here import RecorderHere
from support.tiny_model import datasets, frames, tiny_model

import simcli
from simcli.errors import Exit, FileError, UsageError
from simcli.records.contents.layout import CHANNELS, axes_of
from simcli.records.contents.provenance import collect_provenance
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.result_reader import Results, open_any, verify_any
from simcli.records.reading.results import FIELDS, Field, ResultWriter, result_axes
from simcli.records.writing.writer import Recorder

MODEL = tiny_model()
AXES = result_axes(MODEL)
SOURCES = [("scene.yaml", "simcli: 1\n")]
PROVENANCE = collect_provenance(SOURCES, "simcli: 1\nresolved: true\n", "cpu: test", "float64", 7, ["simcli", "fk"])
PIECES = (1, 4, 2)  # states per portion
TEXT_AXES = {"B": MODEL.bodies.name, "NV": MODEL.dofs.label, "NV2": MODEL.dofs.label, "NQ": MODEL.dofs.q_label,
             "N": MODEL.points.name}  # fmt: skip


def values_of(field: Field, first: int, n: int) -> np.ndarray:
    """Numbers that name their place."""
    shape = AXES.tail(field)
    values = np.arange(np.prod(shape, dtype=int)) + 1000.0 * np.arange(first, first + n)[:, None]
    return values.reshape(n, *shape).astype(field.kind)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A result with every field, written in portions."""
    path = tmp_path_factory.mktemp("results") / "all.h5"
    with ResultWriter(path, "fk", tuple(FIELDS), AXES, PROVENANCE, "title", "somewhere") as writer:
        first = 0
        for n in PIECES:
            writer.put({name: values_of(field, first, n) for name, field in FIELDS.items()})
            first += n
    assert [entry.name for entry in path.parent.iterdir()] == ["all.h5"]
    return path


def test_every_field_comes_back(path):
    with simcli.open(path) as result:
        assert isinstance(result, Results)
        assert result.kind == "fk"
        assert result.n_states == sum(PIECES)
        assert result.fields == tuple(FIELDS)
        assert result.joints == MODEL.joints.name
        assert result.bodies == MODEL.bodies.name
        for name, field in FIELDS.items():
            assert np.array_equal(result[name], values_of(field, 0, sum(PIECES))), name
            assert result[name].dtype == np.dtype(field.kind)
        assert result.labels("mass_matrix") == (MODEL.dofs.label, MODEL.dofs.label)
        assert result.labels("jacobian") == (MODEL.bodies.name, ("vx", "vy", "vz", "wx", "wy", "wz"), MODEL.dofs.label)
        assert result.provenance == replace(PROVENANCE, versions={**PROVENANCE.versions, "hdf5": h5py.version.hdf5_version})
        with pytest.raises(UsageError, match="did you mean `joint_q`"):
            result["joint_p"]
    with pytest.raises(UsageError, match="is closed"):
        result["joint_q"]


def test_h5py_alone_finds_names_and_units(path):
    with h5py.File(path) as file:
        states = file["states"]
        for name, field in FIELDS.items():
            assert states[name].attrs["units"] == field.unit
            assert states[name].attrs["long_name"] == field.text
            scales = [dimension[0] for dimension in states[name].dims]
            assert [scale.shape[0] for scale in scales] == list(states[name].shape)
            assert len({scale.name for scale in scales}) == len(scales)  # or xarray could not open the group
            for axis, scale in zip(field.axes, scales, strict=True):
                assert axis not in TEXT_AXES or tuple(scale.asstr()[...]) == TEXT_AXES[axis]
        for name, dataset in states.items():
            assert dataset.is_scale or all(len(dimension) == 1 for dimension in dataset.dims), name
        assert states["qd_unit"].asstr()[0] == "rad/s"
        assert np.array_equal(states["q_start"], MODEL.joints.q_start)
        assert file["provenance"].attrs["states"] == "somewhere"
        assert file["provenance/scene_resolved"].asstr()[()].startswith("simcli: 1")


def test_a_selection_of_bodies_has_their_names(tmp_path):
    axes = AXES.of_bodies([1], [0])
    with ResultWriter(tmp_path / "a.h5", "fk", ("world", "body_q", "point_position"), axes, PROVENANCE) as writer:
        writer.put({"world": np.zeros(2, int), "body_q": np.ones((2, 1, 7)), "point_position": np.ones((2, 1, 3))})
    with simcli.open(tmp_path / "a.h5") as result:
        assert result.bodies == (MODEL.bodies.name[1],)
        assert result.labels("point_position")[0] == (MODEL.points.name[0],)


def test_a_mechanism_without_coordinates_or_points_can_be_stored(tmp_path):
    empty = AXES.of_bodies([], [])
    with ResultWriter(tmp_path / "a.h5", "fk", ("world", "body_q"), empty, PROVENANCE) as writer:
        writer.put({"world": np.zeros(3, int), "body_q": np.zeros((3, 0, 7))})
    with simcli.open(tmp_path / "a.h5") as result:
        assert result["body_q"].shape == (3, 0, 7)


def test_a_failed_result_is_not_there(tmp_path):
    def fail():
        with ResultWriter(tmp_path / "a.h5", "fk", ("world",), AXES, PROVENANCE) as writer:
            writer.put({"world": np.zeros(3, int)})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def external(file, folder):
    file["states/more"] = h5py.ExternalLink(str(folder / "x.h5"), "/")


def soft(file, folder):
    file["states/more"] = h5py.SoftLink("/states/joint_q")


def wrong_shape(file, folder):
    del file["states/joint_q"]
    file["states/joint_q"] = np.zeros((7, 2))


def wrong_type(file, folder):
    del file["states/time"]
    file["states/time"] = np.zeros(7, "i4")


def falling(file, folder):
    file["states/q_start"][...] = file["states/q_start"][...][::-1]


def newer(file, folder):
    file.attrs["simcli_result"] = [2, 0]


def no_names(file, folder):
    del file["states/body_name"]


HOSTILE = {"external": (external, "external link"), "soft": (soft, "soft link"), "shape": (wrong_shape, "shape"),
           "type": (wrong_type, "type int32"), "falling": (falling, "rising offsets"), "newer": (newer, "update simcli"),
           "no names": (no_names, "damaged")}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_are_not_ours_are_refused(path, tmp_path, name):
    change, reason = HOSTILE[name]
    copy = tmp_path / "copy.h5"
    copy.write_bytes(path.read_bytes())
    with h5py.File(copy, "r+") as file:
        change(file, tmp_path)
    with pytest.raises(FileError, match=reason) as error:
        open_any(copy)
    assert "copy.h5" in str(error.value)
    assert error.value.exit_code == Exit.FILE


def test_a_whole_result_is_whole_and_a_changed_one_is_not(path, tmp_path):
    assert verify_any(path) == []
    data = bytearray(path.read_bytes())
    number = np.float64(values_of(FIELDS["jacobian"], 0, 1).ravel()[100]).tobytes()
    at = data.index(number)
    data[at] ^= 1
    (tmp_path / "flipped.h5").write_bytes(data)
    problems = verify_any(tmp_path / "flipped.h5")
    assert any("flipped.h5: /states/" in problem for problem in problems), problems
    with h5py.File(tmp_path / "text.h5", "w") as copy, h5py.File(path) as file:
        for name in file:
            file.copy(name, copy)
        copy.attrs.update(file.attrs)
        copy["provenance/scene_resolved"][()] = "simcli: 2\n"
    assert any("scene_resolved" in problem for problem in verify_any(tmp_path / "text.h5"))
    assert verify_any(tmp_path / "none.h5") == [f"{tmp_path / 'none.h5'}: no such file"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_cut_files_are_refused(path, tmp_path, share):
    data = path.read_bytes()
    (tmp_path / "cut.h5").write_bytes(data[: int(share * len(data))])
    with pytest.raises(FileError, match=r"cut\.h5"):
        open_any(tmp_path / "cut.h5")


def test_a_run_is_no_result_and_opens_as_one(tmp_path):
    with Recorder(tmp_path / "run.h5", MODEL, PROVENANCE, CHANNELS, 4, process=RecorderHere()) as recorder:
        recorder.put(frames(datasets(MODEL, CHANNELS), axes_of(MODEL), 0, 4))
    with open_any(tmp_path / "run.h5") as run:
        assert isinstance(run, Trajectory)
    with pytest.raises(FileError, match="no result"):
        Results(tmp_path / "run.h5")
