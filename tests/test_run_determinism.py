"""The same bytes for any number of threads, size of batch, slot in it, and state of the kernel cache."""

import json
import os
import sys
import time
from functools import cache
from pathlib import Path

import pytest
from support.many import run_many
from support.process import start
from support.runs import MIXED, SWING, committed, differing, digest, worlds_of

slow = pytest.mark.slow
# Scalars, packs with a rest, packs without, hundreds of packs; each compiles its own kernel.
SIZES = (1, 2, 7, 64, 1000)
FEW, WHOLE = SIZES[:-1], SIZES[-1]
DRAWS = (
    "joints.rail.q=uniform(-0.2, 0.2)",
    "bodies.arm.mass=normal(1.2, 0.1)",
    "joints.wrist.damping=log_uniform(0.001, 0.1)",
    "params.k=uniform(20, 60)",
    "world.gravity[2]=uniform(-12, -8)",
)
VARIED = [word for draw in DRAWS for word in ("--vary", draw)]
REPLAYED = (0, 5, 63, 999)  # first, odd slot, last of a pack, last of all
SLOW_SIZES, SLOW_WORLDS = (1, 2, 64), (0, 63)
BUSY_SHARE = 0.1  # of the CPU time of a child that a thread has to take to count as at work
POLL = 0.02  # [s] between looks at a child's threads


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "mixed.yaml"
    path.write_text(MIXED)
    return path


def run_all(commands, folder, **changes):
    """Run commands, all of which must succeed; give what each committed, by its output's name."""
    words = [["run", *command, "-q"] for command in commands]
    for (code, talk), command in zip(run_many(words, folder, **changes), words, strict=True):
        assert code == 0, (command, talk)
    names = [Path(command[command.index("-o") + 1]).name for command in words]
    return {name: committed(folder / name) for name in names}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The environment of a cache of kernels that is empty at first.

    In the cache that all tests share, another process may hold the lock just then, and a kernel is compiled again.
    """
    return {"TI_OFFLINE_CACHE_FILE_PATH": str(tmp_path_factory.mktemp("kernels") / "cache")}


@pytest.fixture(scope="module")
def rows_of(scene, kernels, tmp_path_factory):
    """Rows, and the digest, of a batch with some words, run where it is first asked for."""
    folder = tmp_path_factory.mktemp("batches")

    @cache
    def run(n_worlds, threads, more):
        name = "-".join(map(str, (n_worlds, threads, *more))) + ".h5"
        command = [scene, "-o", name, "--worlds", n_worlds, "--threads", threads, *VARIED, *more]
        return run_all([command], folder, **kernels)[name], digest(folder / name)

    return lambda n_worlds, *more, threads=2: run(n_worlds, threads, more)


def slowly(values, which):
    """Parameters, some of them slow."""
    return [pytest.param(value, marks=slow) if value in which else value for value in values]


@pytest.mark.slow
def test_all_worlds_of_a_batch_differ_and_move(rows_of):
    whole = worlds_of(rows_of(WHOLE)[0], slice(None))
    assert {"frames/joint_q", "frames/joint_wrench", "energy/drift", "diag/status"} <= whole.keys()
    for name in ("frames/joint_q", "frames/joint_qdd", "frames/body_qd", "energy/total"):
        first, last = whole[name][0], whole[name][-1]
        assert len({row.tobytes() for row in last}) == WHOLE, name
        assert (first != last).any(axis=tuple(range(1, first.ndim))).all(), name


@pytest.mark.parametrize("size", slowly(FEW, SLOW_SIZES))
def test_a_world_has_the_same_bytes_in_a_batch_of_any_size(rows_of, size):
    (part, part_digest), (whole, whole_digest) = rows_of(size), rows_of(WHOLE)
    assert not differing(worlds_of(part, slice(None)), worlds_of(whole, slice(size)))
    assert part["frames/time"].tobytes() == whole["frames/time"].tobytes()
    assert part_digest != whole_digest


@pytest.mark.parametrize("world", slowly(REPLAYED, SLOW_WORLDS))
def test_a_world_replayed_alone_has_the_same_bytes(rows_of, world):
    alone, whole = rows_of(WHOLE, "--world", world)[0], rows_of(WHOLE)[0]
    assert not differing(worlds_of(alone, slice(None)), worlds_of(whole, slice(world, world + 1)))


def test_one_and_two_threads_give_the_same_bytes(rows_of):
    (one, one_digest), (two, two_digest) = (rows_of(WHOLE, threads=threads) for threads in (1, 2))
    assert not differing(one, two)
    assert one_digest == two_digest


def cpu_by_thread(process):
    """[clock ticks] of CPU time of every thread of a child but its first, watched until it ends."""
    found = {}
    while process.poll() is None:
        for thread in Path(f"/proc/{process.pid}/task").glob("*"):
            try:
                fields = (thread / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            found[thread.name] = int(fields[11]) + int(fields[12])
        time.sleep(POLL)
    found.pop(str(process.pid), None)
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_as_many_threads_step_as_were_asked_for(scene, tmp_path, kernels, rows_of):
    """A long run with few frames, whose kernel a short run has left in the cache: nearly all of it is stepping."""
    digests = []
    for threads in (1, 2):
        rows_of(WHOLE, threads=threads)
        words = ["run", scene, "--worlds", WHOLE, "--threads", threads, *VARIED, "-q", "--json", "-o", f"{threads}.h5"]
        process = start(*words, "--duration", 2, "--set", "output.every=1", cwd=tmp_path, **kernels)
        ticks = cpu_by_thread(process)
        out, err = process.communicate()
        assert process.returncode == 0, err
        at_work = [thread for thread, n in ticks.items() if n > BUSY_SHARE * sum(ticks.values())]
        assert len(at_work) == threads, ticks
        assert json.loads(out)["device"]["threads"] == threads
        digests.append(digest(tmp_path / f"{threads}.h5"))
    assert digests[0] == digests[1]


def test_cold_and_warm_cache_give_the_same_bytes(rows_of, kernels):
    def compiled():
        files = Path(*kernels.values()).rglob("*")
        return {path.name for path in files if path.suffix in (".tic", ".ll", ".bc", ".so")}

    cold, cold_digest = rows_of(FEW[2])
    before = compiled()
    warm, warm_digest = rows_of(FEW[2], "--force")
    assert before
    assert compiled() == before, "the second run was not warm"
    assert not differing(cold, warm)
    assert cold_digest == warm_digest


@slow
@pytest.mark.parametrize("change", ["solver.precision=float32", "solver.integrator=rk4", "solver.integrator=implicit"])
def test_other_precision_and_integrators_too(tmp_path, change):
    scene = tmp_path / "swing.yaml"
    scene.write_text(SWING)
    vary = ["--vary", "joints.pin.q=uniform(-2, 2)", "--vary", "joints.elbow.damping=uniform(0.01, 0.1)"]
    common = [scene, "--set", change, "--set", "output.channels=[state, energy, reactions]", *vary]
    commands = [[*common, "-o", f"{threads}.h5", "--worlds", 19, "--threads", threads] for threads in (1, 2)]
    commands += [[*common, "-o", "few.h5", "--worlds", 3], [*common, "-o", "alone.h5", "--worlds", 19, "--world", 18]]
    rows = run_all(commands, tmp_path)
    assert rows["1.h5"]["frames/joint_wrench"].any()
    assert not differing(rows["1.h5"], rows["2.h5"])
    assert digest(tmp_path / "1.h5") == digest(tmp_path / "2.h5")
    assert not differing(worlds_of(rows["few.h5"], slice(None)), worlds_of(rows["1.h5"], slice(3)))
    assert not differing(worlds_of(rows["alone.h5"], slice(None)), worlds_of(rows["1.h5"], slice(18, 19)))
