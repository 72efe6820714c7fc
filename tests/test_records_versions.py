"""Every object of our files has a form that HDF5 1.10 reads: no newer library may slip its own in. Budget: 5 s."""

import shutil
import subprocess

import pytest
from support.hdf5_objects import DATATYPE, NAMES, NEWEST, headers
from support.records_child import write
from support.tiny_model import tiny_model

from simcli.records.contents.provenance import collect
from simcli.records.reading.results import FIELDS, ResultWriter, result_axes
from simcli.records.wholeness.superblock import VERSION, VERSION_AT, is_marked, read_superblock

HEADER_VERSION = 2
FEWEST = 30  # objects of the smaller file, so that an empty list does not pass
READERS = {"h5dump": ["h5dump"], "ncdump": ["ncdump"]}


@pytest.fixture(scope="module", params=["run", "result"])
def path(request, tmp_path_factory):
    path = tmp_path_factory.mktemp(request.param) / "a.h5"
    if request.param == "run":
        write(path, n_frames=20, n_worlds=2)
        return path
    model, source = tiny_model(), collect([("a", "x")], "x", "cpu", "float64", 7)
    with ResultWriter(path, "fk", [name for name in FIELDS if "residual" not in name], result_axes(model), source):
        return path


def test_no_object_is_newer_than_hdf5_1_10(path):
    assert read_superblock(path)[VERSION_AT] == VERSION
    assert not is_marked(read_superblock(path))
    found = list(headers(path.read_bytes()))
    assert len(found) > FEWEST
    assert {version for version, _ in found} == {HEADER_VERSION}
    messages = {message for _, messages in found for message in messages}
    assert DATATYPE in {kind for kind, _ in messages}
    assert [f"{NAMES[kind]} {version}" for kind, version in messages if version > NEWEST[kind]] == []


@pytest.mark.parametrize("tool", READERS)
def test_the_usual_programs_read_it(path, tool):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    done = subprocess.run([*READERS[tool], str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-1000:]
    assert "joint_name" in done.stdout
