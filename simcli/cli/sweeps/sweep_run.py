"""`simcli sweep run`: many batches with a ledger, on this machine, on many, or on a cluster."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simcli.cli import console, interrupts
from simcli.cli.options import (
    MeasureValues,
    ScenePath,
    Seed,
    SetValues,
    VaryTable,
    VaryValues,
    WorldCount,
    folder_to_write,
    output_option,
    seconds,
)
from simcli.cli.runs.run_options import NoWords, batch_overrides, known_device, measure_override
from simcli.cli.sweeps.sweep import progress_line, summary_text
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.spec.document.overrides import Override
    from simcli.sweeps.executors.contract import Executor
    from simcli.sweeps.records.plan import Plan
    from simcli.sweeps.status import Options, Summary, SweepProgress

WORK, _ALONE = "Who does the work", "What is done"


class Kept(StrEnum):
    """Trajectories that stay."""

    ALL = "all"
    FAILED = "failed"
    NONE = "none"


@dataclass(frozen=True)
class WorkPlace:
    """Where the work is done, as the command line says it.

    Attributes:
        workers: processes, None if it is not said.
        shard: `I/N`.
        cluster: address or file of a scheduler.
        fetch: results over the wire.
        patience: [s], without a scheduler or workers.
        threads: of a chunk.
    """

    workers: int | None
    shard: str | None
    cluster: str | None
    fetch: bool
    patience: float | None
    threads: int | None

    def check(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            UsageError: that is so.
        """
        if self.cluster is not None and not self.cluster.strip():
            raise UsageError("--cluster: names no cluster; give tcp://HOST:PORT or a scheduler file")
        for option in (name for name, given in (("--workers", self.workers), ("--shard", self.shard)) if given):
            if self.cluster:
                raise UsageError(f"--cluster and {option} contradict each other: the cluster does the work")
        for option, given in (("--fetch", self.fetch), ("--patience", self.patience)):
            if given and not self.cluster:
                raise UsageError(f"{option} goes with --cluster")


def _option(panel: str, name: str, metavar: str, words: str, **more: Any) -> Any:
    """An option with a value, in a panel of the help; its default is in the words."""
    return typer.Option(name, metavar=metavar, rich_help_panel=panel, show_default=False, help=words, **more)


SweepOut = Annotated[Path, output_option("Folder of the sweep.", folder_to_write, "DIR", show_default=False)]
Workers = Annotated[
    int | None,
    _option(
        WORK,
        "--workers",
        "N",
        "Worker processes of this machine, which share its cores. Default: one per core or chunk.",
        min=1,
    ),
]
ShardText = Annotated[
    str | None,
    _option(WORK, "--shard", "I/N", "Run the I-th of N parts, as in a SLURM job array; all parts share the folder."),
]
ClusterAddress = Annotated[
    str | None, _option(WORK, "--cluster", "ADDRESS", "Run on a Dask cluster: tcp://HOST:PORT, or its scheduler file.")
]
Fetch = Annotated[
    bool,
    typer.Option(
        "--fetch", rich_help_panel=WORK, help="Send scenes to the workers and results back: they do not share the folder."
    ),
]
Patience = Annotated[
    str | None, _option(WORK, "--patience", "T", "Time to wait for a lost scheduler or lost workers. Default: 1 min.")
]
ChunkThreads = Annotated[
    int | None,
    _option(WORK, "--threads", "N", "CPU threads per chunk. Default: cores divided by workers; 1 on a cluster.", min=1),
]
MaxWalltime = Annotated[
    str | None, _option(WORK, "--max-walltime", "T", "Stop within this wall time; exit code 75 if cases are left.")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", rich_help_panel=_ALONE, help="Run failed cases again.")]
MostTries = Annotated[
    int,
    typer.Option(
        "--tries", metavar="N", min=1, rich_help_panel=_ALONE, help="Attempts for a case whose process ends with an error."
    ),
]
SweepDevice = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="DEVICE",
        callback=known_device,
        rich_help_panel=_ALONE,
        help="Where to compute. Results of another class of device are other cases.",
    ),
]
KeptChoice = Annotated[
    Kept | None, _option(_ALONE, "--keep", None, "Trajectories to keep. Default: what the sweep file says, else none.")
]
TimeLimit = Annotated[str | None, _option(_ALONE, "--time-limit", "T", "Wall time limit per case.")]
MaxWorlds = Annotated[
    int | None,
    _option(_ALONE, "--max-worlds", "N", "Most cases per chunk. Default: 30 s to 2 min of work that fit into 1 GiB.", min=1),
]
SweepDryRun = Annotated[bool, typer.Option("--dry-run", help="Show cases, bytes and hours; run nothing.")]
EventLines = Annotated[bool, typer.Option("--json", help="Events on stdout, a JSON document per line.")]


def run(
    scene: ScenePath,
    output: SweepOut,
    sets: SetValues = [],  # noqa: B006
    vary: VaryValues = [],  # noqa: B006
    vary_table: VaryTable = None,
    measure: MeasureValues = [],  # noqa: B006
    worlds: WorldCount = None,
    seed: Seed = None,
    workers: Workers = None,
    shard: ShardText = None,
    cluster: ClusterAddress = None,
    fetch: Fetch = False,
    patience: Patience = None,
    threads: ChunkThreads = None,
    max_walltime: MaxWalltime = None,
    retry_failed: RetryFailed = False,
    tries: MostTries = 3,
    device: SweepDevice = "auto",
    keep: KeptChoice = None,
    time_limit: TimeLimit = None,
    max_worlds: MaxWorlds = None,
    dry_run: SweepDryRun = False,
    json: EventLines = False,
    quiet: NoWords = False,
) -> int:
    """Run all cases of a sweep that are not done, and record each in the ledger of the folder.

    After any stop the same command goes on with what is left. Several may run on one folder at once.

    Example: simcli sweep run scene.yaml -o night --workers 8
    """
    from simcli.sweeps.records.plan import plan_of
    from simcli.sweeps.records.plan_file import shard_of
    from simcli.sweeps.status import Options

    begun = time.monotonic()
    place = WorkPlace(workers, shard, cluster, fetch, _seconds("--patience", patience), threads)
    place.check()
    walltime, limit = _seconds("--max-walltime", max_walltime), _seconds("--time-limit", time_limit)
    options = Options(None if shard is None else shard_of(shard), walltime, retry_failed, tries)
    laid: tuple[Override | str, ...] = (
        *batch_overrides(vary, vary_table, worlds, seed),
        *map(measure_override, measure),
        *sets,
    )
    with console.stdout_kept_clean(), interrupts.asked_to_end() as asked:
        plan = plan_of(scene, laid, device=device, keep=keep and keep.value, time_limit=limit, max_worlds=max_worlds)
        if dry_run:
            return _dry_run(plan, output, json)
        executor = executor_of(plan, output, place, quiet or json)
        if walltime is not None:  # what planning took is gone
            options = replace(options, max_walltime=max(walltime - (time.monotonic() - begun), 0.0))
        return _drive(plan, output, executor, options, asked, json, quiet)


def _seconds(option: str, text: str | None) -> float | None:
    return None if text is None else seconds(option, text)


def _drive(
    plan: "Plan",
    folder: Path,
    executor: "Executor",
    options: "Options",
    asked: interrupts.AskedToEnd,
    json: bool,
    quiet: bool,
) -> int:
    """Run a sweep, and say what it came to."""
    from simcli.sweeps.driver import drive_sweep

    with _shown(json, quiet) as show:

        def watch(now: "SweepProgress") -> bool:
            show(now)
            return asked.code is None

        summary = drive_sweep(plan, folder, executor, options, watch)
    code = sweep_exit_code(summary, asked.code)
    if json:
        console.emit_line("sweep.event", {"event": "ended", "exit_code": int(code), **vars(summary), "output": folder})
    elif not quiet:
        console.say(summary_text(summary, folder))
    return code


def executor_of(plan: "Plan", folder: Path, place: WorkPlace, quiet: bool) -> "Executor":
    """Who does the work."""
    from simcli.engines import cores
    from simcli.sweeps.executors.contract import Work
    from simcli.sweeps.executors.pool import Pool

    if place.cluster:
        from simcli.sweeps.executors.cluster import CLUSTER_PATIENCE_S, Cluster

        work = Work(folder, plan.keep, plan.time_limit, plan.device, place.threads)
        return Cluster(place.cluster, work, place.fetch, CLUSTER_PATIENCE_S if place.patience is None else place.patience)
    n_cores = cores()
    usual = 1 if place.shard or plan.device != "cpu" else min(n_cores, max(len(plan.chunks), 1))
    n = min(place.workers or usual, n_cores)
    if place.workers and n < place.workers and not quiet:
        console.say(f"--workers {place.workers}: {n}, because this machine gives {console.plural(n_cores, 'core')}")
    return Pool(n, Work(folder, plan.keep, plan.time_limit, plan.device, place.threads or n_cores // n))


def _dry_run(plan: "Plan", folder: Path, as_json: bool) -> int:
    """What a sweep will take, and what of it is left."""
    from simcli.analysis.estimate import free_bytes
    from simcli.sweeps.records.plan_file import forecast
    from simcli.sweeps.records.state import LedgerReader

    state, free = LedgerReader(folder).read(), free_bytes(folder)
    state.forget_gone(folder)
    found = forecast(plan, state.results.keys())
    steps, spent = (sum(getattr(one, name) for one in state.work.values()) for name in ("n_steps", "seconds"))
    hours = found.n_steps * spent / steps / 3600 if steps and spent else found.hours
    if as_json:
        console.emit(
            "sweep.dry_run",
            {
                **vars(found),
                "hours": hours,
                "hours_are_measured": bool(steps),
                "keep": plan.keep,
                "device": plan.device,
                "free_bytes": free,
                "output": folder,
            },
        )
        return Exit.OK
    done = found.n_cases - found.n_left
    console.data(
        f"{console.plural(found.n_cases, 'case')} in {console.plural(found.n_structures, 'structure')}"
        f"{f', {done} of them done' if done else ''}; {console.plural(found.n_chunks, 'chunk')} to run"
    )
    console.data(f"about {console.size_text(found.n_bytes)} of results (keep: {plan.keep}), {console.size_text(free)} free")
    duration = console.duration_text(3600 * hours)
    words = (
        f"{duration} of one worker, at the rate of this sweep so far"
        if steps
        else f"{duration} of two cores, by rates of small scenes, which another machine or scene may miss tenfold; and "
        f"some 1.5 s per chunk to start, beside compiling"
    )
    console.data(f"{console.count_text(found.n_steps)} world-steps on {plan.device}: about {words}")
    return Exit.OK


def sweep_exit_code(summary: "Summary", asked: int | None) -> int:
    """Exit code of a sweep: one that is to go on is neither failed nor done."""
    if summary.status == "stopped":
        return Exit.STOPPED if asked is None else asked
    return Exit.SIMULATION if summary.failed else Exit.OK


@contextlib.contextmanager
def _shown(as_json: bool, quiet: bool) -> "Iterator[Callable[[SweepProgress], None]]":
    """Give a function that shows how a sweep stands: events as lines of JSON, or a live line."""
    from simcli.cli import progress

    with progress.shown(quiet or as_json, progress_line) as show:

        def see(now: "SweepProgress") -> None:
            if as_json and now.event not in ("", "ended"):
                console.emit_line(
                    "sweep.event",
                    {name: value for name, value in vars(now).items() if name not in ("facts", "stage")} | now.facts,
                )
            elif not quiet and not as_json and now.event in ("failed", "given up"):
                cases = "1 case" if now.facts["n_cases"] == 1 else f"{now.facts['n_cases']} cases"
                console.say(f"{now.event}: {cases}: {now.facts['reason']}")
            show(now)

        yield see
