"""kill -9 at random moments: the file opens, and every committed frame is the uninterrupted run's, bit for bit.

kill -9 at random moments of drivers, workers and schedulers: nothing is lost, nothing is twice, the table is the same.
"""

import contextlib
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
from support.process import start as simcli_start
from support.runs import SWING, committed, differing
from support.sweep_cluster import GRACE as SWEEP_KILLS_GRACE
from support.sweep_cluster import DaskCluster, child_environment, children
from support.sweep_stand_in import SECONDS, names, number_of, table_of

import simcli as package
from simcli.errors import Exit, SimcliError
from simcli.sweeps.records.state import LedgerReader

KILLS = 6  # of each kind
N_FRAMES = 4000
ENDLESS = 500  # times as long: a run that a signal finds at work
EARLIEST, LATEST = 0.1, 0.9  # parts of the frames that are committed where a kill is due
POLL, GRACE = 0.01, 120.0  # [s] between looks at the file; until a child must have got somewhere
RUN = [
    "--worlds",
    "3",
    "--vary",
    "joints.pin.q=linspace(1, 2)",
    "--set",
    f"run.duration={N_FRAMES / 10}",
    "-q",
    "--set",
    "output.every=0.1",
]
ENDLESSLY = ["--set", f"run.duration={ENDLESS * N_FRAMES / 10}"]

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
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True
    )


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
    """Kill a run that would not end, or what writes its file, once some of the frames of `whole` are committed."""
    code = Exit.OUTPUT if victims == ["recorder"] else -signal.SIGKILL
    process = begin(scene, path, writer, *ENDLESSLY)
    assert wait_until(path, process, rng.uniform(EARLIEST, LATEST)), process.communicate()
    time.sleep(rng.uniform(0.0, 2 * POLL))
    numbers = {"run": process.pid} | ({"recorder": recorder_of(process)} if writer == "process" else {})
    for victim in victims:
        os.kill(numbers[victim], signal.SIGKILL)
    _, said = process.communicate()  # until both are gone: both hold stderr
    assert process.returncode == code, said
    assert "Traceback" not in said
    return path


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="kill -9, and the children of a process")
@pytest.mark.parametrize(
    ("writer", "victims", "status"),
    [
        ("process", ["run"], "stopped"),
        ("process", ["recorder"], "unfinished"),
        ("process", ["run", "recorder"], "unfinished"),
        ("thread", ["run"], "unfinished"),
    ],
)
def test_killed_at_many_moments(scene, whole, tmp_path, writer, victims, status):
    def kill(k):
        return kill_one(scene, tmp_path / f"{k}.h5", random.Random(k), writer, victims)

    with ThreadPoolExecutor(2) as pool:
        killed = list(pool.map(kill, range(KILLS)))
    for path in killed:
        with package.open(path) as run:
            assert run.status == status
            assert run.digest is not None
            assert EARLIEST * N_FRAMES < run.n_frames < ENDLESS * N_FRAMES
            n = min(run.n_frames, N_FRAMES)
        assert not differing(first_rows(committed(path), n), first_rows(whole, n))
    assert len({progress(path) for path in killed}) > KILLS // 3, "always at the same moment"
    results = run_many([[word, path] for path in killed for word in ("info", "check")], tmp_path)
    assert {code for code, _ in results} == {Exit.OK}, results


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "code", "writer"),
    [
        (signal.SIGINT, Exit.INTERRUPTED, "thread"),
        pytest.param(signal.SIGINT, Exit.INTERRUPTED, "process", marks=pytest.mark.slow),
        (signal.SIGTERM, Exit.STOPPED, "process"),
    ],
)
def test_a_polite_signal_leaves_a_stopped_file(scene, whole, tmp_path, number, code, writer):
    path = tmp_path / "a.h5"
    process = begin(scene, path, writer, *ENDLESSLY)
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


CASES, SIZE = 60, 2
CHUNK_S = "0.05"
FEW, MANY = 4, 30  # kills
SWEEP_KILLS_POLL = 0.01


def start(folder, executor, shard="", n=CASES):
    words = [str(folder), str(n), str(SIZE), executor, *([shard] if shard else [])]
    command = [sys.executable, "-m", "support.sweep_child", *words]
    return subprocess.Popen(command, env=child_environment(**{SECONDS: CHUNK_S}), stderr=subprocess.PIPE, text=True)


def n_done(folder):
    return len(LedgerReader(folder).read().results)


def wait_for_more(folder, process, n):
    """Wait until more cases than n are done; False if the process has ended."""
    end = time.monotonic() + SWEEP_KILLS_GRACE
    while process.poll() is None and n_done(folder) <= n:
        assert time.monotonic() < end, "no progress"
        time.sleep(SWEEP_KILLS_POLL)
    return process.poll() is None


def kill(number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)


def alive(number):
    """True for a process that is no zombie."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def finish(folder, executor, process=None, n=CASES, shard=""):
    """The same command until it has ended well; then the table is that of an undisturbed sweep."""
    process = process or start(folder, executor, shard, n)
    _, said = process.communicate(timeout=SWEEP_KILLS_GRACE)
    assert process.returncode == Exit.OK, said
    assert "Traceback" not in said
    assert table_of(folder) == {case: (number_of(case), "nan" if case.startswith("nan") else "") for case in names(n)}
    state = LedgerReader(folder).read()
    assert not state.given_up()
    return state


def disturbed(folder, executor, rng, n_kills, victims, n=CASES):
    """Kill whom `victims` names, so many times, each time after something has been done since."""
    process, killed, workers = start(folder, executor, n=n), 0, set()
    while killed < n_kills and wait_for_more(folder, process, n_done(folder)):
        time.sleep(rng.uniform(0.0, 2 * float(CHUNK_S)))
        victim = rng.choice(victims)
        mine = children(process)
        workers.update(mine)
        if victim == "driver":
            process.kill()
            process.communicate()
            process = start(folder, executor, n=n)
        elif not mine:
            continue
        else:
            kill(rng.choice(mine))
        killed += 1
    workers.update(children(process))
    finish(folder, executor, process, n)
    end = time.monotonic() + SWEEP_KILLS_GRACE
    while any(map(alive, workers)):  # they go with their driver
        assert time.monotonic() < end, "workers stay behind"
        time.sleep(SWEEP_KILLS_POLL)
    return killed


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="kill -9, and the children of a process")
def test_a_few_kills_of_drivers_and_workers(tmp_path):
    assert disturbed(tmp_path, "2", random.Random(1), FEW, ["driver", "worker"]) == FEW


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="kill -9, and the children of a process")
@pytest.mark.slow
@pytest.mark.parametrize("victims", [["driver"], ["worker"], ["driver", "worker"]], ids="-".join)
def test_many_kills_of_drivers_and_workers(tmp_path, victims):
    assert disturbed(tmp_path, "2", random.Random(2), MANY, victims, n=6 * MANY) > MANY // 2


def together(folder, shards, rng, n_kills, cases):
    """Drivers at once on one folder, killed and started again; then one for all of it, which finds all done.

    Args:
        folder: of the sweep.
        shards: one for each driver, "" for all cases.
        rng: says whom and when.
        n_kills: as long as any driver is at work.
        cases: how many.
    """
    running = [start(folder, "1", shard, cases) for shard in shards]
    killed = 0
    while killed < n_kills and (at_work := [k for k, one in enumerate(running) if one.poll() is None]):
        k = rng.choice(at_work)
        if not wait_for_more(folder, running[k], n_done(folder)):
            continue
        time.sleep(rng.uniform(0.0, 2 * float(CHUNK_S)))
        running[k].kill()
        running[k].communicate()
        running[k] = start(folder, "1", shards[k], cases)
        killed += 1
    for process in running:
        _, said = process.communicate(timeout=SWEEP_KILLS_GRACE)
        assert process.returncode == Exit.OK, said
    before = n_done(folder)
    assert before == cases
    state = finish(folder, "1", n=cases)
    assert sum(work.cases for work in state.work.values()) < 2 * cases


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="kill -9, and the children of a process")
def test_an_array_of_shards(tmp_path):
    """As of SLURM: so many shards as processes."""
    together(tmp_path, ["1/3", "2/3", "3/3"], random.Random(3), 2, CASES)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="kill -9, and the children of a process")
@pytest.mark.slow
@pytest.mark.parametrize("shards", [["1/4", "2/4", "3/4", "4/4"], ["", ""]], ids=["array", "two"])
def test_many_kills_of_drivers_at_once(tmp_path, shards):
    together(tmp_path, shards, random.Random(4), MANY, 6 * MANY)


SCENE = """
simcli: 1
bodies:
  rod: {mass: 1, inertia: {diag: [0.1, 0.1, 0.1]}}
joints:
  pin: {type: revolute, parent: world, child: rod, child_frame: {xyz: [0, 0, 0.5]}, q: 0.5}
solver: {type: generalized, dt: 1e-3}
run: {duration: 5}
batch: {worlds: 56, vary: {joints.pin.q: {uniform: [0.1, 1]}}}
measure:
  peak: {max_abs: joint.pin.qd}
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="kill -9, and the children of a process")
@pytest.mark.slow
def test_real_chunks_that_are_killed(tmp_path):
    """No stand-in: the table as a file is that of an undisturbed sweep, byte for byte, and every result is whole."""
    (tmp_path / "swing.yaml").write_text(SCENE)
    words = ["sweep", "run", "swing.yaml", "--workers", "2", "--max-worlds", "4", "-q", "-o"]
    assert simcli_apart(*words, "whole", cwd=tmp_path).returncode == Exit.OK
    rng, process, n_killed = random.Random(6), simcli_start(*words, "killed", cwd=tmp_path), 0
    while n_killed < 4 and wait_for_more(tmp_path / "killed", process, n_done(tmp_path / "killed")):
        time.sleep(rng.uniform(0.0, 2.0))
        mine = children(process)
        if n_killed % 2 and mine:
            kill(rng.choice(mine))
        else:
            process.kill()
            process.communicate()
            process = simcli_start(*words, "killed", cwd=tmp_path)
        n_killed += 1
    process.communicate()
    assert simcli_apart(*words, "killed", cwd=tmp_path).returncode == Exit.OK
    for name in ("whole", "killed"):
        assert simcli_apart("sweep", "table", name, "-o", f"{name}.csv", cwd=tmp_path).returncode == Exit.OK
        checked = simcli_apart("sweep", "check", name, cwd=tmp_path)
        assert checked.returncode == Exit.OK, checked.stderr
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "killed.csv").read_bytes()
    assert n_killed > 2
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == ["claims", "ledger", "plan.json.gz", "results"]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="kill -9, and the children of a process")
@pytest.mark.slow
@pytest.mark.parametrize("wire", ["", "fetch+"], ids=["shared", "fetched"])
def test_many_kills_around_a_cluster(tmp_path, wire):
    """Drivers, workers and the scheduler of a real Dask cluster."""
    pytest.importorskip("distributed")
    rng, folder, n = random.Random(5), tmp_path / "sweep", 6 * MANY
    kills = ["driver"] * 20 + ["worker"] * 20 + ["scheduler"] * 10
    rng.shuffle(kills)
    with DaskCluster(tmp_path, 2, **{SECONDS: CHUNK_S}) as cluster:
        executor = wire + cluster.address
        process = start(folder, executor, n=n)
        for k, victim in enumerate(kills):
            if not wait_for_more(folder, process, n_done(folder)):
                break
            time.sleep(rng.uniform(0.0, 2 * float(CHUNK_S)))
            if victim == "driver":
                process.kill()
                process.communicate()
                process = start(folder, executor, n=n)
            elif victim == "worker":
                cluster.kill_worker(k % 2)
            else:
                cluster.kill_scheduler()
        finish(folder, executor, process, n)
