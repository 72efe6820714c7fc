"""Speed on a GPU, from 1024 worlds on: `python tests/benchmarks/gpu.py [--device cuda] [--minutes 10]`.

Chains, inverse dynamics, four-bars, humanoids and stacks in both precisions, as `simcli bench` times them, in few steps;
where `mujoco_warp` is installed and the device is CUDA, its steps of the same scene below ours, in float32. Small batches
come first, so that what the minutes do not suffice for is the largest; what a device refuses is said, and not asked again.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import contact_peers
import smooth_peers

from simcli.cli import console
from simcli.cli.bench.bench import BENCH_HEADER, CONTACT_TASKS, BenchTask, bench_cells, line, subject, works
from simcli.cli.bench.work import BenchRow, BenchWork, Runs
from simcli.errors import SimcliError

TASKS = (BenchTask.RUN, BenchTask.RNEA, BenchTask.FOURBAR, BenchTask.HUMANOID, BenchTask.STACKS)
WORLDS = (1024, 4096, 16384, 65536, 262144)
PRECISIONS = ("float32", "float64")
STEPS = 100  # of a run
REPEAT = 3
ROOM = {"nconmax": 64, "njmax": 256}  # of mujoco_warp, for each world


def works_of(task: BenchTask, worlds: int, precision: str, device: str, folder: Path) -> list[BenchWork]:
    """What a task times, each for `STEPS` steps."""
    found = []
    for work in works(None, task, worlds, precision, 1, device, 1.0, (), folder):
        if task is not BenchTask.RNEA:
            work = short(work)
        found.append(work)
    return found


def short(work: BenchWork) -> BenchWork:
    """The same for `STEPS` steps."""
    from dataclasses import replace

    from simcli import pipeline

    _, spec = pipeline.read_scene(work.scene, work.sets)
    return replace(work, duration=max(STEPS, work.stride) * spec.solver.dt)


def warp_row(work: BenchWork, task: BenchTask, timed: Runs) -> BenchRow:
    """The same worlds by mujoco_warp, as one graph a step, in float32.

    Raises:
        ModuleNotFoundError: it is not installed.
        UsageError: it has no such mechanism.
    """
    import mujoco
    import mujoco_warp
    import warp

    job = timed.job
    touches = job.model.contacts is not None
    text = (contact_peers.touching_mjcf(job.model, job.schedule.dt) if touches
            else smooth_peers.mjcf_of(job.model, "Euler", job.schedule.dt))  # fmt: skip
    peer = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(peer)
    mujoco.mj_forward(peer, data)
    model, worlds = mujoco_warp.put_model(peer), mujoco_warp.put_data(peer, data, nworld=work.worlds, **ROOM)
    mujoco_warp.step(model, worlds)
    with warp.ScopedCapture() as capture:
        mujoco_warp.step(model, worlds)
    seconds = []
    for _ in range(REPEAT):
        warp.synchronize()
        begin = time.perf_counter()
        for _ in range(timed.n_steps):
            warp.capture_launch(capture.graph)
        warp.synchronize()
        seconds.append(time.perf_counter() - begin)
    return work.line(timed, "mujoco_warp", "float32", seconds)


def rows_of(work: BenchWork, task: BenchTask) -> list[tuple[str, ...]]:
    """Our line, the peer's below it, and the ratio of its time to ours."""
    timed = subject(work, task)
    row = work.row(timed, [timed.once() for _ in range(REPEAT)], timed.residual() if task in CONTACT_TASKS else None)
    console.say(line(row))
    if work.device != "cuda" or work.precision != "float32" or task in (BenchTask.RNEA, BenchTask.FOURBAR):
        return [(*bench_cells(row), "")]
    try:
        other = warp_row(work, task, timed)
    except (ModuleNotFoundError, SimcliError) as error:
        console.say(f"  {timed.name}: no peer: {error}")
        return [(*bench_cells(row), "")]
    return [(*bench_cells(row), f"{median([other.microseconds]) / row.microseconds:.2f}"), (*bench_cells(other), "")]


def main(words: list[str] | None = None) -> None:
    """Time them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--worlds", type=int, nargs="*", default=WORLDS)
    parser.add_argument("--task", choices=[task.value for task in TASKS], nargs="*", default=[task.value for task in TASKS])
    parser.add_argument("--precision", choices=PRECISIONS, nargs="*", default=PRECISIONS)
    asked = parser.parse_args(words)
    end, refused, rows = time.monotonic() + 60 * asked.minutes, set(), []
    with tempfile.TemporaryDirectory() as folder:
        for n in asked.worlds:
            for task, precision in ((BenchTask(t), p) for t in asked.task for p in asked.precision):
                for work in works_of(task, n, precision, asked.device, Path(folder)):
                    kind = (work.scene.stem, work.task, work.sets, precision)
                    if kind in refused or time.monotonic() > end:
                        continue
                    try:
                        rows += rows_of(work, task)
                    except SimcliError as error:
                        refused.add(kind)
                        console.say(f"  {work.scene.stem}, {n} worlds, {precision}: {error}")
    console.data(console.table(rows, (*BENCH_HEADER, "ratio"), indent=""))


if __name__ == "__main__":
    try:
        main()
    except SimcliError as error:
        sys.exit(f"error: {error}")
