"""`simcli sweep run`: many batches with a ledger, on this machine, on many, or on a cluster."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from simcli.cli import console, interrupts
from simcli.cli.options import MeasureValues, ScenePath, Seed, SetValues, VaryTable, VaryValues, WorldCount, seconds
from simcli.cli.runs.run_options import NoWords, batch_overrides, measure_override
from simcli.cli.sweeps import sweep_options
from simcli.cli.sweeps.sweep_text import standing_line, summary_text
from simcli.errors import Exit

if TYPE_CHECKING:
    from simcli.spec.document.overrides import Override
    from simcli.sweeps.executors.contract import Executor
    from simcli.sweeps.planning.plan import Plan
    from simcli.sweeps.sweep_options import Options, Standing, Summary


def run(
    scene: ScenePath,
    output: sweep_options.SweepOut,
    sets: SetValues = [],  # noqa: B006
    vary: VaryValues = [],  # noqa: B006
    vary_table: VaryTable = None,
    measure: MeasureValues = [],  # noqa: B006
    worlds: WorldCount = None,
    seed: Seed = None,
    workers: sweep_options.Workers = None,
    shard: sweep_options.ShardText = None,
    cluster: sweep_options.ClusterAddress = None,
    fetch: sweep_options.Fetch = False,
    patience: sweep_options.Patience = None,
    threads: sweep_options.ChunkThreads = None,
    max_walltime: sweep_options.MaxWalltime = None,
    retry_failed: sweep_options.RetryFailed = False,
    tries: sweep_options.MostTries = 3,
    device: sweep_options.SweepDevice = "auto",
    keep: sweep_options.KeptChoice = None,
    time_limit: sweep_options.TimeLimit = None,
    max_worlds: sweep_options.MaxWorlds = None,
    dry_run: sweep_options.SweepDryRun = False,
    json: sweep_options.EventLines = False,
    quiet: NoWords = False,
) -> int:
    """Run all cases of a sweep that are not done, and record each in the ledger of the folder.

    After any stop the same command goes on with what is left. Several may run on one folder at once.

    Example: simcli sweep run scene.yaml -o night --workers 8
    """
    from simcli.sweeps.planning.plan import plan_of
    from simcli.sweeps.planning.shards import shard_of
    from simcli.sweeps.sweep_options import Options

    begun = time.monotonic()
    place = sweep_options.WorkPlace(workers, shard, cluster, fetch, _seconds("--patience", patience), threads)
    place.check()
    walltime, limit = _seconds("--max-walltime", max_walltime), _seconds("--time-limit", time_limit)
    options = Options(None if shard is None else shard_of(shard), walltime, retry_failed, tries)
    laid: tuple[Override | str, ...] = (*batch_overrides(vary, vary_table, worlds, seed),
                                        *map(measure_override, measure), *sets)  # fmt: skip
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


def _drive(plan: "Plan", folder: Path, executor: "Executor", options: "Options", asked: interrupts.AskedToEnd, json: bool,
           quiet: bool) -> int:  # fmt: skip
    """Run a sweep, and say what it came to."""
    from simcli.sweeps.driver import drive_sweep

    with _shown(json, quiet) as show:

        def watch(now: "Standing") -> bool:
            show(now)
            return asked.code is None

        summary = drive_sweep(plan, folder, executor, options, watch)
    code = sweep_exit_code(summary, asked.code)
    if json:
        console.emit_line("sweep.event", {"event": "ended", "exit_code": int(code), **vars(summary), "output": folder})
    elif not quiet:
        console.say(summary_text(summary, folder))
    return code


def executor_of(plan: "Plan", folder: Path, place: sweep_options.WorkPlace, quiet: bool) -> "Executor":
    """Who does the work."""
    from simcli.cores import cores
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
    from simcli.sweeps.planning.forecast import forecast
    from simcli.sweeps.records.state import LedgerReader

    state, free = LedgerReader(folder).read(), free_bytes(folder)
    state.forget_gone(folder)
    found = forecast(plan, state.results.keys())
    steps, spent = (sum(getattr(one, name) for one in state.work.values()) for name in ("n_steps", "seconds"))
    hours = found.n_steps * spent / steps / 3600 if steps and spent else found.hours
    if as_json:
        console.emit("sweep.dry_run", {**vars(found), "hours": hours, "hours_are_measured": bool(steps), "keep": plan.keep,
                                       "device": plan.device, "free_bytes": free, "output": folder})  # fmt: skip
        return Exit.OK
    done = found.n_cases - found.n_left
    console.data(f"{console.plural(found.n_cases, 'case')} in {console.plural(found.n_structures, 'structure')}"
                 f"{f', {done} of them done' if done else ''}; {console.plural(found.n_chunks, 'chunk')} to run")
    console.data(f"about {console.size_text(found.n_bytes)} of results (keep: {plan.keep}), {console.size_text(free)} free")
    duration = console.duration_text(3600 * hours)
    words = (f"{duration} of one worker, at the rate of this sweep so far" if steps else
             f"{duration} of two cores, by rates of small scenes, which another machine or scene may miss tenfold; and "
             f"some 1.5 s per chunk to start, beside compiling")
    console.data(f"{console.count_text(found.n_steps)} world-steps on {plan.device}: about {words}")
    return Exit.OK


def sweep_exit_code(summary: "Summary", asked: int | None) -> int:
    """Exit code of a sweep: one that is to go on is neither failed nor done."""
    if summary.status == "stopped":
        return Exit.STOPPED if asked is None else asked
    return Exit.SIMULATION if summary.failed else Exit.OK


@contextlib.contextmanager
def _shown(as_json: bool, quiet: bool) -> "Iterator[Callable[[Standing], None]]":
    """Give a function that shows how a sweep stands: events as lines of JSON, or a live line."""
    from simcli.cli import progress

    with progress.shown(quiet or as_json, standing_line) as show:

        def see(now: "Standing") -> None:
            if as_json and now.event not in ("", "ended"):
                console.emit_line("sweep.event", {name: value for name, value in vars(now).items()
                                                  if name not in ("facts", "stage")} | now.facts)  # fmt: skip
            elif not quiet and not as_json and now.event in ("failed", "given up"):
                cases = "1 case" if now.facts["n_cases"] == 1 else f"{now.facts['n_cases']} cases"
                console.say(f"{now.event}: {cases}: {now.facts['reason']}")
            show(now)

        yield see
