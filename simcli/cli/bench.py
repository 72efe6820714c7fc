"""`simcli bench`: speed, beside other engines, with the difference of the results beside the times."""

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import bench_contact, bench_cubes, bench_scenes, console
from simcli.cli.options import JsonFlag, SetValues, existing_file
from simcli.errors import Exit, UsageError

_TASKS = ("Whole runs with writing, inverse dynamics, four-bars in natural coordinates, or runs that touch: humanoids that "
          "fall, stacks of five boxes, piles of 8, 27 and 64 cubes with barrier contact.")  # fmt: skip
_PACKAGES = {"pinocchio": "pin"}  # name to install, where it is not that of the module


class Task(StrEnum):
    """What to time."""

    RUN = "run"
    RNEA = "rnea"
    FOURBAR = "fourbar"
    HUMANOID = "humanoid"
    STACKS = "stacks"
    CUBES = "cubes"


TOUCHING = {Task.HUMANOID: 512, Task.STACKS: 256}  # worlds
WORLDS = 1024  # of the others


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        scene: name.  task: run or rnea.  engine: name and version.  precision, worlds, steps, threads: of the work.
        microseconds: median time per world-step (or per state), per thread of work given.
        per_second: world-steps (or states) per second.
        compile: [s], compiling, apart from the times above.
        ratio: the peer's time over ours, None without a peer.
        difference: largest difference of the end coordinates [m, rad] (or efforts, relative) from the peer's.
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
    ratio: float | None
    difference: float | None
    residual: float | None = None


def bench(
    scene: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCENE",
            help="Scene file. Default: chains of 2, 7 and 20 hinges, four-bars of 2 to 40 windows, or what the task names.",
            callback=existing_file,
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        Task, typer.Option("--task", help=_TASKS)
    ] = Task.RUN,
    worlds: Annotated[
        int | None,
        typer.Option("--worlds", metavar="N", min=1, show_default=False,
                     help="Worlds (states for rnea). Default: 512 humanoids, 256 stacks, 1 pile, else 1024."),
    ] = None,
    precision: Annotated[str, typer.Option("--precision", help="float64 or float32.")] = "float64",
    threads: Annotated[int, typer.Option("--threads", metavar="N", min=1, help="CPU threads.")] = 1,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, ...")] = "cpu",
    duration: Annotated[float, typer.Option("--duration", metavar="T", help="Simulated time of a run, in seconds.")] = 4.0,
    repeat: Annotated[int, typer.Option("--repeat", metavar="N", min=1, help="Runs of each engine, in turn.")] = 3,
    sets: SetValues = [],  # noqa: B006
    json: JsonFlag = False,
) -> int:
    """Time a scene through run's own path, writing joint states, beside MuJoCo or pinocchio.

    Every tenth step is written, of four-bars every hundredth.

    Example: simcli bench --precision float32
    """
    if task is Task.CUBES:
        return _cubes(worlds or 1, device, threads, tuple(sets), json)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path, share, more in _scenes(scene, task, Path(folder)):
            stride = 100 if task is Task.FOURBAR else 10
            work = _Work(path, worlds or TOUCHING.get(task, WORLDS), precision, threads, device, duration * share, repeat,
                         (*more, *sets), Path(folder), stride, task in TOUCHING)  # fmt: skip
            for row in work.time(task):
                rows.append(row)
                console.say(_line(row))
    growth = _growth(rows) if task is Task.FOURBAR and not scene else None
    if json:
        console.emit("bench", {"rows": [asdict(row) for row in rows], "exponent": growth})
    else:
        console.data(_table(rows))
        if growth is not None:
            console.data(f"time per step grows with the number of windows to the power {growth:.2f}")
    return Exit.OK


def _cubes(worlds: int, device: str, threads: int, sets: tuple[str, ...], json: bool) -> int:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in bench_cubes.time_cubes(Path(folder), worlds, device, threads, sets):
            rows.append(row)
            console.say(f"  {row['cubes']} cubes: {row['per_second']:.3g} steps/s, {row['iterations']:.2f} iterations")
    if json:
        console.emit("bench", {"rows": rows})
    else:
        console.data(bench_cubes.table(rows))
    return Exit.OK


def _scenes(scene: Path | None, task: Task, folder: Path) -> list[tuple[Path, float, tuple[str, ...]]]:
    """Scenes to time, with the share of the duration of each and what is set in it."""
    if task is Task.HUMANOID:
        return [(scene or bench_contact.HUMANOID, 1.0, (*bench_contact.PUSHED, *more)) for more in ((), bench_contact.LOOSE)]
    if scene or task is Task.STACKS:
        return [(scene or bench_contact.stacks(folder), 1.0, ())]
    built_in = bench_scenes.four_bars if task is Task.FOURBAR else bench_scenes.chains
    return [(path, share, ()) for path, share in built_in(folder)]


@dataclass(frozen=True)
class _Work:
    scene: Path
    worlds: int
    precision: str
    threads: int
    device: str
    duration: float
    repeat: int
    sets: tuple[str, ...]
    folder: Path
    stride: int  # steps between frames
    touches: bool = False

    def time(self, task: Task) -> Iterator[Row]:
        """The rows of a task."""
        if self.touches:
            return bench_contact.time_touching(self, task)
        return self.time_rnea() if task is Task.RNEA else self.time_runs()

    def job(self):
        """The scene with the benchmark's batch, step count and output; what the scene says of them does not count."""
        from simcli import pipeline

        _, spec = pipeline.read_scene(self.scene, self.sets)
        every = self.stride * spec.solver.dt
        sets = [f"batch.worlds={self.worlds}", f"solver.precision={self.precision}", f"output.every={every!r}",
                f"run.duration={round(self.duration / every) * every!r}", "output.channels=[joints]",
                f"output.dtype={self.precision}", "expect=[]"]  # fmt: skip
        request = pipeline.Request(self.scene, self.folder / "bench.h5", (*self.sets, *sets), self.device, self.threads,
                                   force=True)  # fmt: skip
        return pipeline.prepare(request)

    def time_runs(self) -> Iterator[Row]:
        """Ours and the peer's rows."""
        from simcli.analysis import peers

        job = self.job()
        integrator, n_steps, dt = job.spec.solver.integrator, job.schedule.n_steps, job.schedule.dt
        ours, theirs, compiling, peer = self.take_turns(
            job, lambda: peers.run_mujoco(job.model, integrator, dt, n_steps, self.threads)
        )
        difference = float(abs(_end_coordinates(job) - peer.result).max()) if theirs else None
        yield from self.rows(job.spec.name, Task.RUN, n_steps, ours, theirs, compiling, peer, difference)

    def take_turns(self, job, run_peer):
        """Run a job and its peer in turns; say why there is no peer, if there is none.

        Returns:
            [s] of our runs, [s] of the peer's, [s] of compiling, the peer's last result.
        """
        from simcli import pipeline

        ours, theirs, compiling, peer = [], [], 0.0, None
        for _ in range(self.repeat):
            with console.stdout_kept_clean():
                outcome = pipeline.execute(job)
            ours.append(outcome.stepping)
            compiling = max(compiling, outcome.compile)
            if not isinstance(peer, str):
                peer = attempt(run_peer)
                theirs += [] if isinstance(peer, str) else [peer.seconds]
        if not theirs:
            console.say(f"  {job.spec.name}: {peer}")
        return ours, theirs, compiling, peer

    def time_rnea(self) -> Iterator[Row]:
        """Inverse dynamics of random states."""
        import time

        import numpy as np

        from simcli import pipeline
        from simcli.analysis import peers
        from simcli.kernels.algorithms import Algorithms
        from simcli.kernels.runtime import compile_thoroughly, start_device

        document, spec = pipeline.read_scene(self.scene, self.sets)
        model = pipeline.build_model(document, spec)
        rng = np.random.default_rng(0)
        q, qd, qdd = (rng.uniform(-1.0, 1.0, (self.worlds, model.n_qd)) for _ in range(3))
        if model.n_q != model.n_qd:
            raise UsageError("rnea is timed on trees of scalar joints")
        with console.stdout_kept_clean():
            algorithms = Algorithms(model, start_device(self.device, self.precision, self.threads))
            compile_thoroughly()
            start = time.perf_counter()
            efforts = algorithms.inverse_dynamics(q, qd, qdd)
            compiling = time.perf_counter() - start
        ours, theirs, peer = [], [], None
        for _ in range(self.repeat):
            algorithms.inverse_dynamics(q, qd, qdd)  # wakes the threads, as the peer's first call does
            start = time.perf_counter()
            efforts = algorithms.inverse_dynamics(q, qd, qdd)
            ours.append(time.perf_counter() - start)
            if not isinstance(peer, str):
                peer = attempt(lambda: peers.run_pinocchio(model, q, qd, qdd, self.threads))
                if not isinstance(peer, str):
                    theirs.append(peer.seconds)
        difference = None
        if theirs:
            difference = float(abs(efforts - peer.result).max() / abs(peer.result).max())
        else:
            console.say(f"  {spec.name}: {peer}")
        yield from self.rows(spec.name, Task.RNEA, 1, ours, theirs, compiling, peer, difference)

    def rows(self, name: str, task: Task, n_steps: int, ours, theirs, compiling, peer, difference,
             residuals=(None, None)) -> Iterator[Row]:
        """The rows of one scene: medians, and the median of the ratios turn by turn."""
        from simcli import __version__

        total = self.worlds * n_steps
        ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True)) if theirs else None
        seconds = statistics.median(ours)
        yield Row(name, task.value, f"simcli {__version__}", self.precision, self.worlds, n_steps, self.threads,
                  seconds / total * 1e6, total / seconds, compiling, ratio, difference, residuals[0])  # fmt: skip
        if theirs:
            seconds = statistics.median(theirs)
            yield Row(name, task.value, peer.name, "float64", self.worlds, n_steps, self.threads, seconds / total * 1e6,
                      total / seconds, 0.0, None, None, residuals[1])  # fmt: skip


def attempt(run):
    """The peer's result, or a line that says why there is none."""
    try:
        return run()
    except ModuleNotFoundError as error:
        return f"{error.name} is not installed: no peer (pip install {_PACKAGES.get(error.name, error.name)})"
    except UsageError as error:
        return str(error)


def _end_coordinates(job):
    """joint_q at the last frame, (W, NQ)."""
    from simcli.records.reader import open_trajectory

    with open_trajectory(job.output) as trajectory:
        return trajectory.column("frames/joint_q")[-1]


def _growth(rows: list[Row]) -> float:
    """Exponent p of time = c N^p, fitted to the rows by least squares of logarithms."""
    import numpy as np

    times = [row.microseconds for row in rows]
    return float(np.polyfit(np.log(bench_scenes.WINDOWS), np.log(times), 1)[0])


def _line(row: Row) -> str:
    return f"  {row.scene}: {row.engine} {row.microseconds:.3f} us"


def _table(rows: list[Row]) -> str:
    head = ("scene", "engine", "precision", "worlds", "steps", "threads", "us each", "per second", "compile s", "ratio",
            "difference", "residual m/s")  # fmt: skip
    lines = [head]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        difference = "" if row.difference is None else f"{row.difference:.1e}"
        residual = "" if row.residual is None else f"{row.residual:.1e}"
        lines.append((row.scene, row.engine, row.precision, str(row.worlds), str(row.steps), str(row.threads),
                      f"{row.microseconds:.3f}", f"{row.per_second:.3g}", f"{row.compile:.1f}", ratio,
                      difference, residual))  # fmt: skip
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)
