"""Long runs are cut, merged and exported in little memory."""

import pytest
from support.diff_files import write_many
from support.process import python

MOST_BYTES = 200e6  # of a process that converts a file of any size
PEAK = """
from simcli.cli.doorman import run_command
code = run_command([{words}], debug=True, as_json=False)
print()
print(code, *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """400 MB: one dataset at a time would not do, nor would the caches of all that HDF5 keeps open."""
    path = write_many(tmp_path_factory.mktemp("large") / "a.h5", 500_000, 1.25)
    assert path.stat().st_size > 1.9 * MOST_BYTES
    return path


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
    listed = ", ".join(map(repr, [words[0], str(large), *words[1:]]))
    code, kilobytes = python(PEAK.format(words=listed)).split()[-2:]
    assert code == "0"
    assert 1024 * int(kilobytes) < MOST_BYTES, kilobytes
