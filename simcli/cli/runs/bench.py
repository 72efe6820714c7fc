"""`simcli bench`: speed of runs and of inverse dynamics.

What several threads gain over one is measured on as many cores as threads, with what writes the file on them, too.
"""

import contextlib
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag, SetValues, existing_file
from simcli.cli.runs import bench_scenes
from simcli.cli.runs.bench_work import BenchRow, BenchStates, BenchWork, Runs
from simcli.errors import Exit

_LEAST = 1.5  # [s], of a run of one thread: its start and its end are the same for all
_OF_THREADS = Path("/proc/self/task")


def gains_of_threads(work: BenchWork, subject: type[Runs] | type[BenchStates], repeat: int) -> dict[str, float]:
    """How many times the work of one thread several do, by the least times of runs in turns.

    Args:
        work: of several threads.
        subject: what is timed.
        repeat: runs of each, at least.

    Returns:
        `writing`: with frames. `quiet`: of runs, without but the last.
    """
    strides = {"writing": work.stride} | ({"quiet": 0} if subject is Runs else {})
    return {name: _gain(replace(work, stride=stride), subject, repeat) for name, stride in strides.items()}


def _gain(work: BenchWork, subject: type[Runs] | type[BenchStates], repeat: int) -> float:
    """One core's least time over that of as many as there are threads."""
    with cores_for(1):
        lasts = subject(replace(work, threads=1)).once()
    work = replace(work, duration=work.duration * math.ceil(_LEAST / lasts))
    times: dict[int, list[float]] = {1: [], work.threads: []}
    for n in [*times] * 2:  # what else the machine does changes in time
        with cores_for(n):
            timed = subject(replace(work, threads=n))
            times[n] += [timed.once() for _ in range(-(-(repeat + 1) // 2))]
    return min(times[1]) / min(times[work.threads])


@contextlib.contextmanager
def cores_for(n: int) -> Iterator[None]:
    """Let this process, and those that it starts, have n cores; where the system binds none, or has fewer, all of them."""
    allowed = allowed_cores()
    if len(allowed) < n:
        yield
        return
    _bind(set(sorted(allowed)[:n]))
    try:
        yield
    finally:
        _bind(allowed)


def allowed_cores() -> set[int]:
    """Numbers of the cores that this process may use; none where the system binds no process."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _bind(numbers: set[int]) -> None:
    """All threads of this process: a new one begins as the one that starts it, and those of before have their own cores."""
    for thread in _OF_THREADS.iterdir() if _OF_THREADS.is_dir() else (Path("0"),):
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            os.sched_setaffinity(int(thread.name), numbers)


_TASKS = (
    "Whole runs with writing, inverse dynamics, four-bars in natural coordinates, or runs that touch: humanoids that "
    "fall, stacks of five boxes, piles of 8, 27 and 64 cubes with barrier contact; large: one world of 64, 1000 "
    "and 10648 boxes in a pile, of 1000 and 10000 boxes in stacks of five, of a chain of 100 and 1000 links, of "
    "walls of 250 and 1000 stones, of 1000 boxes at rest, awake and asleep, of fifty piles, and of a hundred chains."
)
PEERS = "`python tests/benchmarks/peers.py`, in a checkout of the source, times MuJoCo and pinocchio beside it, in turns"


class BenchTask(StrEnum):
    """What to time."""

    RUN = "run"
    RNEA = "rnea"
    FOURBAR = "fourbar"
    HUMANOID = "humanoid"
    STACKS = "stacks"
    CUBES = "cubes"
    LARGE = "large"


CONTACT_TASKS = (BenchTask.HUMANOID, BenchTask.STACKS)
# A call of inverse dynamics takes 0.15 ms whatever it is given, so that it is given many states.
WORLDS = {BenchTask.HUMANOID: 512, BenchTask.STACKS: 256, BenchTask.LARGE: 1, BenchTask.RNEA: 16384}
_WORLDS = 1024  # of the others
STRIDES = {BenchTask.FOURBAR: 100, BenchTask.LARGE: 50}  # steps between frames, which take longer than steps of one world


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
    task: Annotated[BenchTask, typer.Option("--task", help=_TASKS)] = BenchTask.RUN,
    worlds: Annotated[
        int | None,
        typer.Option(
            "--worlds",
            metavar="N",
            min=1,
            show_default=False,
            help="Worlds. Default: 512 humanoids, 256 stacks, 1 pile or large one, 16384 states, else 1024.",
        ),
    ] = None,
    precision: Annotated[str, typer.Option("--precision", help="float64 or float32.")] = "float64",
    threads: Annotated[
        int,
        typer.Option("--threads", metavar="N", min=1, help="CPU threads; with several, their gain over one is reported."),
    ] = 1,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, ...")] = "cpu",
    duration: Annotated[float, typer.Option("--duration", metavar="T", help="Simulated time of a run, in seconds.")] = 4.0,
    repeat: Annotated[int, typer.Option("--repeat", metavar="N", min=1, help="Runs of each scene.")] = 3,
    sets: SetValues = [],  # noqa: B006
    json: JsonFlag = False,
) -> int:
    """Time a scene through run's own path, writing joint states.

    Every tenth step is written, of four-bars every hundredth, of large worlds every fiftieth.

    Other engines beside it: tests/benchmarks/peers.py.

    Example: simcli bench --precision float32
    """
    if task is BenchTask.CUBES:
        return _cubes(worlds or 1, device, threads, tuple(sets), json)
    rows: list[BenchRow] = []
    gains: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for work in works(scene, task, worlds, precision, threads, device, duration, tuple(sets), Path(folder)):
            timed = subject(work, task)
            seconds = [timed.once() for _ in range(repeat)]
            rows.append(work.row(timed, seconds, residual_of(timed, task)))
            console.say(line(rows[-1]))
            if threads > 1:
                gains.append({"scene": rows[-1].scene, **gains_of_threads(work, type(timed), repeat)})
    growth = {} if scene else growths(task, rows)
    if json:
        console.emit("bench", {"rows": [asdict(row) for row in rows], "exponents": growth, "gains": gains})
    else:
        console.data(console.table([bench_cells(row) for row in rows], BENCH_HEADER, indent=""))
        for name, power in growth.items():
            console.data(f"time per step grows with the number of {name} to the power {power:.2f}")
        for gain in gains:
            console.data(gain_line(threads, **gain))
        console.say(PEERS)
    return Exit.OK


def _cubes(worlds: int, device: str, threads: int, sets: tuple[str, ...], json: bool) -> int:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in bench_scenes.time_cubes(Path(folder), worlds, device, threads, sets):
            rows.append(row)
            console.say(f"  {row['cubes']} cubes: {row['per_second']:.3g} steps/s, {row['iterations']:.2f} iterations")
    if json:
        console.emit("bench", {"rows": rows})
    else:
        console.data(bench_scenes.table(rows))
    return Exit.OK


def works(
    scene: Path | None,
    task: BenchTask,
    worlds: int | None,
    precision: str,
    threads: int,
    device: str,
    duration: float,
    sets: tuple[str, ...],
    folder: Path,
) -> Iterator[BenchWork]:
    """What a task times: a scene, or the task's own ones."""
    worlds, stride = worlds or WORLDS.get(task, _WORLDS), STRIDES.get(task, 10)
    closes = task is not BenchTask.LARGE  # of whose short runs it would be a third
    for path, share, more in _scenes(scene, task, folder):
        yield BenchWork(
            path, task.value, worlds, precision, threads, device, duration * share, (*more, *sets), folder, stride, closes
        )


def subject(work: BenchWork, task: BenchTask) -> Runs | BenchStates:
    """What of a scene a task times."""
    return BenchStates(work) if task is BenchTask.RNEA else Runs(work)


def residual_of(timed: Runs | BenchStates, task: BenchTask) -> float | None:
    """[m/s], what contacts lack; None where none can be. That of large worlds is what their frames say."""
    if not isinstance(timed, Runs):
        return None
    if task in CONTACT_TASKS:
        return timed.residual()
    return timed.told_residual() if task is BenchTask.LARGE else None


def gain_line(threads: int, scene: str, writing: float, quiet: float | None = None) -> str:
    """What several threads gain."""
    if quiet is None:
        return f"{scene}: {threads} threads do {writing:.2f} times the work of one"
    return (
        f"{scene}: {threads} threads on as many cores do {quiet:.2f} times the work of one on one core without frames, "
        f"{writing:.2f} times with"
    )


def _scenes(scene: Path | None, task: BenchTask, folder: Path) -> list[tuple[Path, float, tuple[str, ...]]]:
    """Scenes to time, with the share of the duration of each and what is set in it."""
    if task is BenchTask.HUMANOID:
        return [(scene or bench_scenes.HUMANOID, 1.0, (*bench_scenes.PUSHED, *more)) for more in ((), bench_scenes.LOOSE)]
    if scene or task is BenchTask.STACKS:
        return [(scene or bench_scenes.stacks(folder), 1.0, ())]
    built_in = {BenchTask.FOURBAR: bench_scenes.four_bars, BenchTask.LARGE: bench_scenes.large}
    return [(path, share, ()) for path, share in built_in.get(task, bench_scenes.chains)(folder)]


def growths(task: BenchTask, rows: list[BenchRow]) -> dict[str, float]:
    """Exponents p of time = c N^p, fitted to the rows by least squares of logarithms, by what N counts."""
    import numpy as np

    times = np.log([row.microseconds for row in rows])
    sizes: dict[str, Sequence[int]] = {"windows": bench_scenes.WINDOWS} if task is BenchTask.FOURBAR else {}
    if task is BenchTask.LARGE:
        sizes = {"boxes": [side**3 for side in bench_scenes.PILES], "boxes in stacks": bench_scenes.IN_STACKS}
        sizes |= {"links": bench_scenes.LONG, "stones": bench_scenes.WALLS}
    found, first = {}, 0
    for name, counts in sizes.items():
        found[name] = float(np.polyfit(np.log(counts), times[first : first + len(counts)], 1)[0])
        first += len(counts)
    return found


def line(row: BenchRow) -> str:
    """A row, while the others are still to come."""
    return f"  {row.scene}: {row.engine} {row.microseconds:.3f} us"


BENCH_HEADER = (
    "scene",
    "engine",
    "precision",
    "worlds",
    "steps",
    "threads",
    "us each",
    "per second",
    "compile s",
    "residual m/s",
)


def bench_cells(row: BenchRow) -> tuple[str, ...]:
    """A row of the table."""
    return (
        row.scene,
        row.engine,
        row.precision,
        str(row.worlds),
        str(row.steps),
        str(row.threads),
        f"{row.microseconds:.3f}",
        f"{row.per_second:.3g}",
        f"{row.compile:.1f}",
        "" if row.residual is None else f"{row.residual:.1e}",
    )
