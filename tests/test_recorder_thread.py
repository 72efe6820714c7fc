"""A small file is written by a thread: the same bytes, and the same promises but for what ends the process at once."""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.process import environment
from support.runs import SWING

import simcli as package
from simcli.errors import Exit, SimcliError
from simcli.records.writing import recorder_thread, spawn

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX")
WRITERS = {"process": 0, "thread": 10**12}  # largest file of a thread, by who writes
GRACE = 120.0  # [s]
CHILD = """
import resource, sys
from simcli.cli import main
from simcli.records.writing import recorder_thread

recorder_thread.MOST_OF_THREAD, limit = {most}, {limit}
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
sys.argv[0] = "simcli"
main()
"""


def begin(folder, writer, *words, limit=0):
    code = CHILD.format(most=WRITERS[writer], limit=limit)
    command = [sys.executable, "-c", code, "run", "swing.yaml", "-o", f"{writer}.h5", "-q", *words]
    return subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True)


def ended(process):
    _, err = process.communicate(timeout=GRACE)
    assert "Traceback" not in err
    return process.returncode, err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A scene, and runs of it by both."""
    place = tmp_path_factory.mktemp("runs")
    (place / "swing.yaml").write_text(SWING)
    for writer in WRITERS:
        assert ended(begin(place, writer))[0] == Exit.OK
    return place


def digest_of(path):
    with package.open(path) as run:
        return run.status, run.n_frames, run.digest


def test_both_write_the_same_file(folder):
    one, other = (digest_of(folder / f"{writer}.h5") for writer in WRITERS)
    assert one == other
    assert one[0] == "done"
    assert not list(folder.glob(".*")) + list(folder.glob("*.lock"))


def test_small_files_of_commands_have_a_thread():
    """Not those of a Python program, which is left by the interpreter: there HDF5 crashes once a write has failed."""
    small = recorder_thread.MOST_OF_THREAD
    kinds = []
    for n_bytes, may_be in ((small, True), (small + 1, True), (small, False)):
        with recorder_thread.recorder_of(n_bytes, may_be) as found:
            kinds.append(type(found))
    assert kinds == [recorder_thread.RecorderThread, spawn.RecorderProcess, spawn.RecorderProcess]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("part", [0.02, 0.5, 0.98])
def test_a_full_disk_ends_a_run_with_its_code(part, writer, folder, tmp_path):
    """Nothing crashes as the process ends, and what is there opens, or nothing is there."""
    (tmp_path / "swing.yaml").write_text(SWING)
    whole = folder / f"{writer}.h5"
    code, err = ended(begin(tmp_path, writer, limit=int(part * whole.stat().st_size)))
    assert code == Exit.OUTPUT, err
    path = tmp_path / whole.name
    if path.exists():
        with package.open(path) as run:
            assert run.status != "done"
    code, err = ended(begin(tmp_path, writer, "--resume"))
    assert code == Exit.OK, err
    assert digest_of(path) == digest_of(whole)


def test_a_killed_run_leaves_what_was_committed(folder, tmp_path):
    """The thread is gone with it; the run goes on to the same bytes."""
    (tmp_path / "swing.yaml").write_text(SWING)
    words = "--set", "run.duration=4000", "--set", "output.every=0.1"
    process, path, end = begin(tmp_path, "thread", *words), tmp_path / "thread.h5", time.monotonic() + GRACE
    while process.poll() is None and time.monotonic() < end:
        try:
            with package.open(path) as run:
                if run.n_frames > 1:
                    break
        except (SimcliError, OSError):
            time.sleep(0.01)
    process.kill()
    assert ended(process)[0] == -signal.SIGKILL
    assert digest_of(path)[0] == "unfinished"
    assert [file.name for file in tmp_path.glob(".*")] == []
    code, err = ended(begin(tmp_path, "thread", *words, "--resume"))
    assert (code, digest_of(path)[:2]) == (Exit.OK, ("done", 40001)), err
