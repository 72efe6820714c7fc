"""Long runs are cut, merged, exported and compared in little memory."""

import pytest
from support.diff_files import write_many
from support.process import python

MOST_BYTES = 200e6  # of a process that converts a file of any size
MANY = 4_000_000  # frames
PEAK = """
import sys
from simcli.cli.doorman import run_command
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
    [["slice", "--frames", "1:"], ["slice", "--select", "link0", "--frames", "::7"],
     ["export", "-c", "body.*.*,joint.*.*", "-o", "x.npz"], ["export", "-c", "body.*.*,joint.*.*", "-o", "x.parquet"],
     ["export", "-o", "x.csv"], ["export", "-o", "x.glb", "--every", "50"]],
)  # fmt: skip
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
