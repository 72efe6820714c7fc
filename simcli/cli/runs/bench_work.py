"""What `simcli bench` times: whole runs of a scene, and inverse dynamics of random states; one time after another."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.cli import console
from simcli.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from simcli.job import Job

CALLS_SECONDS = 0.1  # for which calls of algorithms are timed
BENCH_WATCHED = 4  # worlds whose every step is looked at for the residual


@dataclass(frozen=True)
class BenchRow:
    """One line of the table.

    Attributes:
        scene: name.  task: run, rnea, ...  engine: name and version.  precision, worlds, steps, threads: of the work.
        microseconds: median time per world-step (or per state), per thread of work given.
        per_second: world-steps (or states) per second.
        compile: [s], compiling, apart from the times above.
        residual: [m/s], largest natural map of the contacts of a step, of a few worlds; None without contacts.
    """

    scene: str
    task: str
    engine: str
    precision: str
    worlds: int
    steps: int
    threads: int
    microseconds: float
    per_second: float
    compile: float
    residual: float | None = None


@dataclass(frozen=True)
class BenchWork:
    """A scene and how much of it.

    Attributes:
        scene: file of the scene.
        task: name of the task, for the rows.
        worlds: of the run, or states.
        precision, threads, device: of the computation.
        duration: [s], simulated.
        sets: overrides of the scene.
        folder: for files that do not last.
        stride: steps between frames; 0: all of them.
        closes: whether the time of closing the file counts.
    """

    scene: Path
    task: str
    worlds: int
    precision: str
    threads: int
    device: str
    duration: float
    sets: tuple[str, ...]
    folder: Path
    stride: int = 10
    closes: bool = True

    def job(self) -> "Job":
        """The scene with the benchmark's batch, step count and output; what the scene says of them does not count."""
        from simcli import pipeline

        _, spec = pipeline.read_scene(self.scene, self.sets)
        every = self.stride * spec.solver.dt or self.duration
        sets = [
            f"batch.worlds={self.worlds}",
            f"solver.precision={self.precision}",
            f"output.every={every!r}",
            f"run.duration={max(round(self.duration / every), 1) * every!r}",
            "output.channels=[joints]",
            f"output.dtype={self.precision}",
            "expect=[]",
        ]
        request = pipeline.Request(
            self.scene, self.folder / "bench.h5", (*self.sets, *sets), self.device, self.threads, force=True
        )
        return pipeline.prepare(request)

    def row(self, timed: "Runs | BenchStates", seconds: list[float], residual: float | None = None) -> BenchRow:
        """The line of what was timed, by the median of its times."""
        from simcli import __version__

        return self.line(timed, f"simcli {__version__}", self.precision, seconds, timed.compiling, residual)

    def line(
        self,
        timed: "Runs | BenchStates",
        engine: str,
        precision: str,
        seconds: list[float],
        compiling: float = 0.0,
        residual: float | None = None,
    ) -> BenchRow:
        """The line of any engine that did the same."""
        total, middle = self.worlds * timed.n_steps, statistics.median(seconds)
        return BenchRow(
            timed.name,
            self.task,
            engine,
            precision,
            self.worlds,
            timed.n_steps,
            self.threads,
            middle / total * 1e6,
            total / middle,
            compiling,
            residual,
        )


class Runs:
    """Whole runs with writing.

    Attributes:
        job: what runs.
        name: of the scene.
        n_steps: of a run.
        compiling: [s], the longest so far.
    """

    def __init__(self, work: BenchWork):
        self._work, self.job = work, work.job()
        self.name, self.n_steps, self.compiling = self.job.spec.name, self.job.schedule.n_steps, 0.0

    def once(self) -> float:
        """[s], of stepping and writing; without the closing of the file where that does not count."""
        from simcli import pipeline

        with console.stdout_kept_clean():
            outcome = pipeline.execute(self.job)
        self.compiling = max(self.compiling, outcome.compile)
        return outcome.stepping - (outcome.closing if not self._work.closes else 0.0)

    def result(self) -> "np.ndarray":
        """joint_q at the last frame, (W, NQ)."""
        from simcli.records.reading.reader import open_trajectory

        with open_trajectory(self.job.output) as trajectory:
            return trajectory.column("frames/joint_q")[-1]

    def told_residual(self) -> float | None:
        """[m/s], the largest residual of the steps, as the file has it; None where nothing touches."""
        from simcli.records.reading.reader import open_trajectory

        with open_trajectory(self.job.output) as trajectory:
            return float(trajectory.column("diag/residual").max()) if self.job.model.contacts else None

    def residual(self) -> float:
        """[m/s], the largest natural map of the contacts of every step of some worlds."""
        from simcli.analysis.drift import natural_map
        from simcli.kernels.device.runtime import start_device
        from simcli.solvers import SOLVERS
        from simcli.solvers.base.run_plan import RunPlan
        from simcli.solvers.impulses.solution import stated_contacts

        work = self._work
        job = replace(work, worlds=min(BENCH_WATCHED, work.worlds)).job()
        with console.stdout_kept_clean():
            plan = RunPlan(job.schedule.dt, 1, self.n_steps, frozenset(("joints",)))
            device = start_device(work.device, work.precision, 1)
            solver, worst = SOLVERS[job.spec.solver.type](job.model, job.spec.solver, plan, device), 0.0
            solver.initial()
            for _ in range(self.n_steps):
                solver.advance(1)
                worst = max(worst, *(natural_map(*world).max(initial=0.0) for world in stated_contacts(solver)))
        return float(worst)


class BenchStates:
    """Inverse dynamics of random states.

    Attributes:
        model: the mechanism.
        states: joint_q, joint_qd, joint_qdd, each (N, NV).
        name: of the scene.
        n_steps: 1, of a state.
        compiling: [s].

    Raises:
        UsageError: the mechanism has joints whose coordinates are no scalars.
    """

    n_steps = 1

    def __init__(self, work: BenchWork):
        import numpy as np

        from simcli import pipeline
        from simcli.kernels.algorithms import Algorithms
        from simcli.kernels.device.runtime import start_device

        document, spec = pipeline.read_scene(work.scene, work.sets)
        self.model, self.name = pipeline.build_model(document, spec), spec.name
        if self.model.n_q != self.model.n_qd:
            raise UsageError("rnea is timed on trees of scalar joints")
        rng = np.random.default_rng(0)
        self.states = [rng.uniform(-1.0, 1.0, (work.worlds, self.model.n_qd)) for _ in range(3)]
        with console.stdout_kept_clean():
            self._algorithms = Algorithms(self.model, start_device(work.device, work.precision, work.threads))
            start = time.perf_counter()
            self._efforts = self._algorithms.inverse_dynamics(*self.states)
            self.compiling = time.perf_counter() - start

    def once(self) -> float:
        """[s], of all states, in the mean of calls one after another."""
        seconds, self._efforts = mean_seconds(lambda: self._algorithms.inverse_dynamics(*self.states))
        return seconds

    def result(self) -> "np.ndarray":
        """Efforts, (N, NV)."""
        return self._efforts


def mean_seconds(call: Callable[[], "np.ndarray"]) -> tuple[float, "np.ndarray"]:
    """[s], of a call in the mean of many, because one takes less than caches and threads need to wake; and what it gives."""
    call()
    n, start = 0, time.perf_counter()
    while n == 0 or time.perf_counter() - start < CALLS_SECONDS:
        found, n = call(), n + 1
    return (time.perf_counter() - start) / n, found
