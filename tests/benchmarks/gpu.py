"""Speed on a GPU, from 1024 worlds on: `python tests/benchmarks/gpu.py [--device cuda] [--minutes 10]`.

Chains, inverse dynamics, four-bars, humanoids and stacks in both precisions: the scenes of `simcli bench`, without files;
where `mujoco_warp` is installed and the device is CUDA, its steps of the same scene below ours, in float32. Sizes of a scene
grow until one takes too long or does not fit.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import contact_peers
import smooth_peers

from simcli import pipeline
from simcli.cli import console
from simcli.cli.runs.bench import BENCH_HEADER, CONTACT_TASKS, BenchTask, bench_cells, subject, works
from simcli.cli.runs.bench_work import BenchRow, BenchWork, Runs
from simcli.errors import SimcliError
from simcli.kernels.device.runtime import start_device
from simcli.solvers import SOLVERS
from simcli.solvers.base.run_plan import RunPlan

TASKS = (BenchTask.RUN, BenchTask.RNEA, BenchTask.FOURBAR, BenchTask.HUMANOID, BenchTask.STACKS)
WORLDS = (1024, 4096, 16384, 65536, 262144)
PRECISIONS = ("float32", "float64")
# World-steps of a call, and the fewest and most steps. All calls of four-bars stay below the work from which
# on each size has a kernel of its own (THOROUGH_WORK).
SIZES = {
    BenchTask.RUN: (3e7, 50, 2000),
    BenchTask.FOURBAR: (2.4e6, 9, 1000),
    BenchTask.HUMANOID: (4e5, 5, 20),
    BenchTask.STACKS: (1e6, 10, 40),
}
REPEAT = 3
MET = 100  # steps, in which contacts are made
ROOM = {"nconmax": 64, "njmax": 256}  # of mujoco_warp, for each world


class Calls:
    """Steps of a run, as many as a call takes: one frame at its end goes to the host, and nothing is written.

    Args:
        fraction: of the steps that a GPU takes.

    Attributes:
        name: of the scene.
        job: what runs.
        n_steps: of a call.
        compiling: [s], calls before those that are timed: the first one compiles, and contacts are made.
    """

    def __init__(self, work: BenchWork, task: BenchTask, fraction: float):
        total, least, most = SIZES[task]
        wanted = min(max(total // work.worlds, least), most)
        self.job, self.n_steps = work.job(), max(int(wanted * fraction), 1)
        self.name, spec = self.job.spec.name, self.job.spec
        before = -(-met_steps(fraction) // self.n_steps) if task in CONTACT_TASKS else 1
        plan = RunPlan(self.job.schedule.dt, self.n_steps, REPEAT + before, frozenset(("joints",)))
        with console.stdout_kept_clean():
            device = start_device(work.device, work.precision, 1)
            self._solver = SOLVERS[spec.solver.type](self.job.model, spec.solver, plan, device)
            self._solver.initial()
            self.compiling = sum(self.once() for _ in range(before))

    def once(self) -> float:
        """[s], of a call."""
        start = time.perf_counter()
        self._solver.advance(1)
        return time.perf_counter() - start


def works_of(task: BenchTask, worlds: int, precision: str, device: str, folder: Path) -> list[BenchWork]:
    """What a task times."""
    return list(works(None, task, worlds, precision, 1, device, 1.0, (), folder))


def warp_row(work: BenchWork, task: BenchTask, timed: Calls) -> BenchRow:
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
    text = (
        contact_peers.touching_mjcf(job.model, job.schedule.dt)
        if touches
        else smooth_peers.mjcf_of(job.model, "Euler", job.schedule.dt)
    )
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


def rows_of(work: BenchWork, task: BenchTask, is_first: bool, fraction: float) -> tuple[list[tuple[str, ...]], float]:
    """Our line, the peer's below it, and the ratio of its time to ours; and how long one run took, in seconds.

    The first size of a scene compiles, and tells the residual.
    """
    timed = subject(work, task) if task is BenchTask.RNEA else Calls(work, task, fraction)
    seconds = [timed.once() for _ in range(REPEAT)]
    residual = residual_of(work, fraction) if is_first and task in CONTACT_TASKS else None
    row = work.row(timed, seconds, residual)
    console.say(told(row))
    if work.device != "cuda" or work.precision != "float32" or task in (BenchTask.RNEA, BenchTask.FOURBAR):
        return [(*bench_cells(row), "")], median(seconds)
    try:
        other = warp_row(work, task, timed)
    except (ModuleNotFoundError, SimcliError) as error:
        console.say(f"  {timed.name}: no peer: {error}")
        return [(*bench_cells(row), "")], median(seconds)
    console.say(told(other))
    return [(*bench_cells(row), f"{row.per_second / other.per_second:.2f}"), (*bench_cells(other), "")], median(seconds)


def told(row: BenchRow) -> str:
    """A row, while the others are still to come."""
    return f"  {row.scene}: {row.engine}, {row.worlds} worlds, {row.precision}: {row.per_second:.3g} a second"


def residual_of(work: BenchWork, fraction: float) -> float:
    """[m/s], of some worlds while they fall and touch, for a fraction of the steps that a GPU takes."""
    _, spec = pipeline.read_scene(work.scene, work.sets)
    return Runs(replace(work, duration=met_steps(fraction) * spec.solver.dt, stride=0)).residual()


def met_steps(fraction: float) -> int:
    """Steps in which contacts are made, 1 at least."""
    return max(int(MET * fraction), 1)


def rows_of_sizes(
    task: BenchTask, n: int, precision: str, asked: argparse.Namespace, folder: Path, end: float
) -> list[tuple[str, ...]]:
    """All sizes of one scene of a task, up to the first that takes too long or that the device refuses."""
    rows, took = [], 0.0
    for k, worlds in enumerate(asked.worlds):
        if time.monotonic() + 2 * (REPEAT + 1) * took > end or took > asked.longest:
            break
        work = works_of(task, worlds, precision, asked.device, folder)[n]
        try:
            found, took = rows_of(work, task, k == 0, asked.fraction)
        except SimcliError as error:
            console.say(f"  {work.scene.stem}, {worlds} worlds, {precision}: {error}")
            break
        rows += found
    return rows


def main(words: list[str] | None = None) -> None:
    """Time them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--longest", type=float, default=3.0, help="seconds of one run, after which no larger size is tried")
    parser.add_argument("--worlds", type=int, nargs="*", default=WORLDS)
    parser.add_argument("--fraction", type=float, default=1.0, help="of the steps of a call, for a device in software: 0.01")
    parser.add_argument("--task", choices=[task.value for task in TASKS], nargs="*", default=[task.value for task in TASKS])
    parser.add_argument("--precision", choices=PRECISIONS, nargs="*", default=PRECISIONS)
    asked = parser.parse_args(words)
    end, rows = time.monotonic() + 60 * asked.minutes, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for task, precision in ((BenchTask(t), p) for p in asked.precision for t in asked.task):
            for n in range(len(works_of(task, 1, precision, asked.device, folder))):
                rows += rows_of_sizes(task, n, precision, asked, folder, end)
    console.data(console.table(rows, (*BENCH_HEADER, "ratio"), indent=""))


if __name__ == "__main__":
    try:
        main()
    except SimcliError as error:
        sys.exit(f"error: {error}")
