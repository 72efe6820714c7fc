"""The same bytes for any number of threads, size of batch, slot in it, and state of the kernel cache."""

import json
import os
import sys
import time
from pathlib import Path

import pytest
from support.many import run_many
from support.process import simcli, start
from support.runs import MIXED, SWING, committed, differing, digest, worlds_of

SIZES = (1, 2, 7, 64, 1000)  # one lane, half a pack, packs with a rest, packs without, hundreds of packs
DRAWS = (
    "joints.rail.q=uniform(-0.2, 0.2)",
    "bodies.arm.mass=normal(1.2, 0.1)",
    "joints.wrist.damping=log_uniform(0.001, 0.1)",
    "params.k=uniform(20, 60)",
    "world.gravity[2]=uniform(-12, -8)",
)
VARIED = [word for draw in DRAWS for word in ("--vary", draw)]
REPLAYED = (0, 5, 63, 999)  # first, odd slot, last of a pack, last of all
BUSY_SHARE = 0.1  # of the CPU time of a child that a thread has to take to count as at work
POLL = 0.02  # [s] between looks at a child's threads


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = tmp_path_factory.mktemp("scene") / "mixed.yaml"
    path.write_text(MIXED)
    return path


def run_all(commands, folder):
    """Run commands, all of which must succeed; give what each committed, by its output's name."""
    words = [["run", *command, "-q"] for command in commands]
    for (code, talk), command in zip(run_many(words, folder), words, strict=True):
        assert code == 0, (command, talk)
    names = [Path(command[command.index("-o") + 1]).name for command in words]
    return {name: committed(folder / name) for name in names}


@pytest.fixture(scope="module")
def batches(scene, tmp_path_factory):
    """Rows of batches of every size, of worlds replayed alone, and of the largest on another number of threads."""
    folder = tmp_path_factory.mktemp("batches")

    def command(name, n_worlds, *more):
        return [scene, "-o", f"{name}.h5", "--worlds", n_worlds, "--threads", 2, *VARIED, *more]

    commands = [command(f"batch{n}", n) for n in SIZES]
    commands += [command(f"world{k}", max(SIZES), "--world", k) for k in REPLAYED]
    commands += [command("one-thread", max(SIZES), "--threads", 1)]
    rows = run_all(commands, folder)
    rows["digests"] = {name: digest(folder / name) for name in rows}
    return rows


def test_all_worlds_of_a_batch_differ_and_move(batches):
    whole = worlds_of(batches[f"batch{max(SIZES)}.h5"], slice(None))
    assert {"frames/joint_q", "frames/joint_wrench", "energy/drift", "diag/status"} <= whole.keys()
    for name in ("frames/joint_q", "frames/joint_qdd", "frames/body_qd", "energy/total"):
        first, last = whole[name][0], whole[name][-1]
        assert len({row.tobytes() for row in last}) == max(SIZES), name
        assert (first != last).any(axis=tuple(range(1, first.ndim))).all(), name


@pytest.mark.parametrize("size", SIZES[:-1])
def test_a_world_has_the_same_bytes_in_a_batch_of_any_size(batches, size):
    part, whole = batches[f"batch{size}.h5"], batches[f"batch{max(SIZES)}.h5"]
    assert not differing(worlds_of(part, slice(None)), worlds_of(whole, slice(size)))
    assert part["frames/time"].tobytes() == whole["frames/time"].tobytes()


@pytest.mark.parametrize("world", REPLAYED)
def test_a_world_replayed_alone_has_the_same_bytes(batches, world):
    alone, whole = batches[f"world{world}.h5"], batches[f"batch{max(SIZES)}.h5"]
    assert not differing(worlds_of(alone, slice(None)), worlds_of(whole, slice(world, world + 1)))


def test_one_and_two_threads_give_the_same_bytes(batches):
    whole = f"batch{max(SIZES)}.h5"
    assert not differing(batches["one-thread.h5"], batches[whole])
    assert batches["digests"]["one-thread.h5"] == batches["digests"][whole]
    assert batches["digests"][whole] != batches["digests"]["batch64.h5"]


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
def test_as_many_threads_step_as_were_asked_for(scene, tmp_path):
    """A long run with few frames, whose kernel a short run has left in a cache of its own: nearly all of it is stepping.

    In the cache that all tests share, another process may hold the lock just then, and the kernel is compiled again.
    """
    digests, cache = [], str(tmp_path / "cache")
    for threads in (1, 2):
        words = ["run", scene, "--worlds", 1000, "--threads", threads, *VARIED, "-q", "--set", "output.every=1"]
        warm_up = simcli(*words, "-o", "warm.h5", "--force", "--duration", 1, cwd=tmp_path, TI_OFFLINE_CACHE_FILE_PATH=cache)
        assert warm_up.returncode == 0, warm_up.stderr
        words += ["-o", f"{threads}.h5", "--json", "--duration", 6]
        process = start(*words, cwd=tmp_path, TI_OFFLINE_CACHE_FILE_PATH=cache)
        ticks = cpu_by_thread(process)
        out, err = process.communicate()
        assert process.returncode == 0, err
        at_work = [thread for thread, n in ticks.items() if n > BUSY_SHARE * sum(ticks.values())]
        assert len(at_work) == threads, ticks
        assert json.loads(out)["device"]["threads"] == threads
        digests.append(digest(tmp_path / f"{threads}.h5"))
    assert digests[0] == digests[1]


def test_cold_and_warm_cache_give_the_same_bytes(scene, tmp_path):
    cache = tmp_path / "cache"
    found = []
    for name in ("cold", "warm"):
        done = simcli("run", scene, "-o", f"{name}.h5", *VARIED, "--worlds", 2, "-q", cwd=tmp_path,
                      TI_OFFLINE_CACHE_FILE_PATH=str(cache))  # fmt: skip
        assert done.returncode == 0, done.stderr
        kernels = {path.name for path in cache.rglob("*") if path.suffix in (".tic", ".ll", ".bc", ".so")}
        found.append((committed(tmp_path / f"{name}.h5"), digest(tmp_path / f"{name}.h5"), kernels))
    (cold, cold_digest, compiled), (warm, warm_digest, in_the_end) = found
    assert compiled, list(cache.rglob("*"))
    assert compiled == in_the_end, "the second run was not warm"
    assert not differing(cold, warm)
    assert cold_digest == warm_digest


@pytest.mark.slow
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
