"""kill -9 at random moments: the file opens, and every committed frame is the uninterrupted run's, bit for bit."""

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.many import run_many
from support.process import environment, recorder_of, simcli_apart
from support.runs import SWING, committed, differing

import simcli as package
from simcli.errors import Exit, SimcliError

KILLS = 8  # of each kind
TRIES = 6
N_FRAMES = 4000
ENDLESS = 500  # times as long: a run that a signal finds at work
EARLIEST, LATEST = 0.1, 0.9  # parts of the frames that are committed at a kill
POLL, GRACE = 0.01, 120.0  # [s] between looks at the file; until a child must have got somewhere
RUN = ["--worlds", "3", "--vary", "joints.pin.q=linspace(1, 2)", "--set", f"run.duration={N_FRAMES / 10}", "-q",
       "--set", "output.every=0.1"]  # fmt: skip

# The command line as it is, but committing as often as its chunks allow: a run of this size commits twice otherwise.
OFTEN = """
import sys
from simcli.records.writing import recorder_thread, writer
writer.PATIENCE_S, recorder_thread.MOST_OF_THREAD = 0.0, MOST
from simcli.cli import main
sys.argv[0] = "simcli"
sys.exit(main())
"""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "swing.yaml"
    path.write_text(SWING)
    return path


@pytest.fixture(scope="module")
def whole(scene, tmp_path_factory):
    """The uninterrupted run, by the plain command line."""
    folder = tmp_path_factory.mktemp("whole")
    done = simcli_apart("run", scene, "-o", "whole.h5", *RUN, cwd=folder)
    assert done.returncode == Exit.OK, done.stderr
    rows = committed(folder / "whole.h5")
    assert len(rows["frames/time"]) == N_FRAMES + 1
    return rows


WRITERS = {"process": "0", "thread": "1e12"}  # largest file of a thread, by who writes


def begin(scene, path, writer, *more):
    """Start the run of `whole` in a child that commits often."""
    path.unlink(missing_ok=True)
    words = ["run", str(scene), "-o", str(path), *RUN, *more]
    code = OFTEN.replace("= 0.0, MOST", f"= 0.0, {WRITERS[writer]}")
    return subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True, env=environment(),
                            start_new_session=True)  # fmt: skip


def progress(path):
    """Part of the frames that is committed, as a reader of the growing file sees it."""
    try:
        with package.open(path) as run:
            return run.n_frames / (N_FRAMES + 1)
    except (SimcliError, OSError):
        return 0.0


def wait_until(path, process, part):
    """Wait until that part of the frames is committed; False if the run ended before."""
    deadline = time.monotonic() + GRACE
    while process.poll() is None and progress(path) < part:
        if time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"no progress: {process.communicate()}")
        time.sleep(POLL)
    return process.poll() is None


def first_rows(whole, n):
    """The uninterrupted run cut after n frames; it has no events."""
    assert not len(whole["events/step"])
    return {name: rows if name.startswith(("events/", "contacts/")) else rows[:n] for name, rows in whole.items()}


def kill_one(scene, path, rng, writer, victims):
    """Kill a run, or what writes its file, somewhere between EARLIEST and LATEST; again, if it was past that before."""
    code = Exit.OUTPUT if victims == ["recorder"] else -signal.SIGKILL
    for _ in range(TRIES):
        process = begin(scene, path, writer)
        if wait_until(path, process, rng.uniform(EARLIEST, LATEST)):
            time.sleep(rng.uniform(0.0, 2 * POLL))
            numbers = {"run": process.pid} | ({"recorder": recorder_of(process)} if writer == "process" else {})
            for victim in victims:
                os.kill(numbers[victim], signal.SIGKILL)
        _, said = process.communicate()  # until both are gone: both hold stderr
        if process.returncode == code and EARLIEST <= progress(path) <= LATEST:
            assert "Traceback" not in said
            return path
    return pytest.fail("the runs end before they can be killed")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="kill -9, and the children of a process")
@pytest.mark.parametrize(("writer", "victims", "status"), [
    ("process", ["run"], "stopped"), ("process", ["recorder"], "unfinished"), ("process", ["run", "recorder"], "unfinished"),
    ("thread", ["run"], "unfinished")])  # fmt: skip
def test_killed_at_many_moments(scene, whole, tmp_path, writer, victims, status):
    def kill(k):
        return kill_one(scene, tmp_path / f"{k}.h5", random.Random(k), writer, victims)

    with ThreadPoolExecutor(2) as pool:
        killed = list(pool.map(kill, range(KILLS)))
    for path in killed:
        with package.open(path) as run:
            assert run.status == status
            n = run.n_frames
            assert run.digest is not None
            assert run.time[-1] == whole["frames/time"][n - 1]
        assert not differing(committed(path), first_rows(whole, n))
    assert len({progress(path) for path in killed}) > KILLS // 3, "always at the same moment"
    results = run_many([[word, path] for path in killed for word in ("info", "check")], tmp_path)
    assert {code for code, _ in results} == {Exit.OK}, results


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code", "writer"), [
    (signal.SIGINT, Exit.INTERRUPTED, "thread"),
    pytest.param(signal.SIGINT, Exit.INTERRUPTED, "process", marks=pytest.mark.slow),
    (signal.SIGTERM, Exit.STOPPED, "process")])  # fmt: skip
def test_a_polite_signal_leaves_a_stopped_file(scene, whole, tmp_path, number, code, writer):
    path = tmp_path / "a.h5"
    process = begin(scene, path, writer, "--set", f"run.duration={ENDLESS * N_FRAMES / 10}")
    assert wait_until(path, process, EARLIEST)
    os.killpg(process.pid, number)  # as a terminal and a scheduler do: the recorder, too, but the run decides
    _, err = process.communicate(timeout=GRACE)
    assert process.returncode == code, err
    with package.open(path) as run:
        assert run.status == "stopped"
        n = min(run.n_frames, N_FRAMES)
        assert 0 < run.n_frames < ENDLESS * N_FRAMES
    assert not differing(first_rows(committed(path), n), first_rows(whole, n))
    assert [code for code, _ in run_many([["info", path], ["check", path]], tmp_path)] == [Exit.OK, Exit.OK]
