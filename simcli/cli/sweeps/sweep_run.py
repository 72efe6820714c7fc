"""`simcli sweep run` and `simcli sweep status`: many batches with a ledger, on this machine, on many, or on a cluster."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console
from simcli.cli.options import (
    JsonFlag,
    MeasureValues,
    ScenePath,
    Seed,
    SetValues,
    VaryTable,
    VaryValues,
    WorldCount,
    seconds,
)
from simcli.cli.runs.run import Device, batch_overrides, measure_override
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.sweeps.driver import Standing, Summary
    from simcli.sweeps.executors.contract import Executor
    from simcli.sweeps.planning.plan import Plan

MOST_FAILURES = 5  # that are told one by one
_CODES = {"SIGINT": Exit.INTERRUPTED, "SIGTERM": Exit.STOPPED, "SIGUSR1": Exit.STOPPED}

WORK, _ALONE = "Who does the work", "What is done"


class _Keep(StrEnum):
    """Trajectories that stay."""

    ALL = "all"
    FAILED = "failed"
    NONE = "none"


@dataclass
class _Asked:
    """Whether the sweep was asked to end.

    Attributes:
        code: exit code of the signal that did, None if there was none.
    """

    code: int | None = None

    def on_signal(self, number: int, _frame) -> None:
        """Note a signal. A second Ctrl-C ends the process at once; schedulers send several signals that all mean "soon"."""
        code = int(_CODES[signal.Signals(number).name])
        if code == self.code == Exit.INTERRUPTED:
            os._exit(code)  # workers end with this process, and the ledger holds what is done
        if self.code is None:
            os.write(2, b"\nstopping: what ends within 20 s is kept, and the same command goes on with the rest\n")
        self.code = code


@contextlib.contextmanager
def asked_to_end() -> Iterator[_Asked]:
    """Catch signals for the length of the block; give the note that says whether one came."""
    note = _Asked()
    before = {name: signal.signal(getattr(signal, name), note.on_signal) for name in _CODES if hasattr(signal, name)}
    try:
        yield note
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


@dataclass(frozen=True)
class _Place:
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
        for option, given in (("--workers", self.workers), ("--shard", self.shard)):
            if self.cluster and given:
                raise UsageError(f"--cluster and {option} contradict each other: the cluster does the work")
        for option, given in (("--fetch", self.fetch), ("--patience", self.patience)):
            if given and not self.cluster:
                raise UsageError(f"{option} goes with --cluster")


def run(
    scene: ScenePath,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the sweep.", show_default=False)],
    sets: SetValues = [],  # noqa: B006
    vary: VaryValues = [],  # noqa: B006
    vary_table: VaryTable = None,
    measure: MeasureValues = [],  # noqa: B006
    worlds: WorldCount = None,
    seed: Seed = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, rich_help_panel=WORK, show_default=False,
                     help="Worker processes of this machine, which share its cores. Default: one per core or chunk."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option("--shard", metavar="I/N", rich_help_panel=WORK, show_default=False,
                     help="Run the I-th of N parts, as in a SLURM job array; all parts share the folder."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", rich_help_panel=WORK, show_default=False,
                     help="Run on a Dask cluster: tcp://HOST:PORT, or its scheduler file."),
    ] = None,
    fetch: Annotated[
        bool,
        typer.Option("--fetch", rich_help_panel=WORK,
                     help="Send scenes to the workers and results back: they do not share the folder."),
    ] = False,
    patience: Annotated[
        str | None,
        typer.Option("--patience", metavar="T", rich_help_panel=WORK, show_default=False,
                     help="Time to wait for a lost scheduler or lost workers. Default: 1 min."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", min=1, rich_help_panel=WORK, show_default=False,
                     help="CPU threads per chunk. Default: cores divided by workers; 1 on a cluster."),
    ] = None,
    max_walltime: Annotated[
        str | None,
        typer.Option("--max-walltime", metavar="T", rich_help_panel=WORK, show_default=False,
                     help="Stop within this wall time; exit code 75 if cases are left."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", rich_help_panel=_ALONE, help="Run failed cases again.")
    ] = False,
    tries: Annotated[
        int,
        typer.Option("--tries", metavar="N", min=1, rich_help_panel=_ALONE,
                     help="Attempts for a case whose process ends with an error."),
    ] = 3,
    device: Annotated[
        Device,
        typer.Option("--device", rich_help_panel=_ALONE,
                     help="Where to compute. Results of another class of device are other cases."),
    ] = Device.AUTO,
    keep: Annotated[
        _Keep | None,
        typer.Option("--keep", rich_help_panel=_ALONE, show_default=False,
                     help="Trajectories to keep. Default: what the sweep file says, else none."),
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option("--time-limit", metavar="T", rich_help_panel=_ALONE, show_default=False,
                     help="Wall time limit per case."),
    ] = None,
    max_worlds: Annotated[
        int | None,
        typer.Option("--max-worlds", metavar="N", min=1, rich_help_panel=_ALONE, show_default=False,
                     help="Most cases per chunk. Default: 30 s to 2 min of work that fit into 1 GiB."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show cases, bytes and hours; run nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Events on stdout, a JSON document per line.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> int:
    """Run all cases of a sweep that are not done, and record each in the ledger of the folder.

    After any stop the same command goes on with what is left. Several may run on one folder at once.

    Example: simcli sweep run scene.yaml -o night --workers 8
    """
    from simcli.sweeps.driver import Options, drive
    from simcli.sweeps.planning.plan import plan_of
    from simcli.sweeps.planning.shards import shard_of

    begun = time.monotonic()
    place = _Place(workers, shard, cluster, fetch, None if patience is None else seconds("--patience", patience), threads)
    place.check()
    walltime = None if max_walltime is None else seconds("--max-walltime", max_walltime)
    options = Options(None if shard is None else shard_of(shard), walltime, retry_failed, tries)
    limit = None if time_limit is None else seconds("--time-limit", time_limit)
    laid = (*batch_overrides(vary, vary_table, worlds, seed), *map(measure_override, measure), *sets)
    with console.stdout_kept_clean(), asked_to_end() as asked:
        plan = plan_of(scene, laid, device=device.value, keep=keep and keep.value, time_limit=limit, max_worlds=max_worlds)
        if dry_run:
            return _dry_run(plan, output, json)
        executor = executor_of(plan, output, place, quiet or json)
        with _shown(json, quiet) as show:

            def watch(now: "Standing") -> bool:
                show(now)
                return asked.code is None

            if walltime is not None:  # what planning took is gone
                options = replace(options, max_walltime=max(walltime - (time.monotonic() - begun), 0.0))
            summary = drive(plan, output, executor, options, watch)
        code = exit_code(summary, asked.code)
        if json:
            console.emit_line("sweep.event", {"event": "ended", "exit_code": int(code), **vars(summary), "output": output})
        elif not quiet:
            console.say(summary_text(summary, output))
    return code


def executor_of(plan: "Plan", folder: Path, place: _Place, quiet: bool) -> "Executor":
    """Who does the work."""
    from simcli.sweeps.executors.contract import Work
    from simcli.sweeps.executors.pool import Pool, cores

    if place.cluster:
        from simcli.sweeps.executors.cluster import PATIENCE_S, Cluster

        work = Work(folder, plan.keep, plan.time_limit, plan.device, place.threads)
        return Cluster(place.cluster, work, place.fetch, PATIENCE_S if place.patience is None else place.patience)
    n_cores = cores()
    usual = 1 if place.shard or plan.device != "cpu" else min(n_cores, max(len(plan.chunks), 1))
    n = min(place.workers or usual, n_cores)
    if place.workers and n < place.workers and not quiet:
        console.say(f"--workers {place.workers}: {n}, because this machine gives {console.plural(n_cores, 'core')}")
    return Pool(n, Work(folder, plan.keep, plan.time_limit, plan.device, place.threads or n_cores // n))


def _dry_run(plan: "Plan", folder: Path, as_json: bool) -> int:
    """What a sweep will take, and what of it is left."""
    from simcli.analysis.estimate import free_bytes
    from simcli.sweeps.book.state import LedgerReader
    from simcli.sweeps.planning.forecast import forecast

    state, free = LedgerReader(folder).read(), free_bytes(folder)
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


def exit_code(summary: "Summary", asked: int | None) -> int:
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
                console.say(f"{now.event}: {console.plural(now.facts['n_cases'], 'case')}: {now.facts['reason']}")
            show(now)

        yield see


def standing_line(now: "Standing") -> str:
    """One line of talk."""
    words = [f"{now.n_done} of {console.plural(now.n_cases, 'case')}", f"{now.n_running} running"]
    words += [f"{now.n_failed} failed"] if now.n_failed else []
    words += [f"{console.count_text(now.rate)} world-steps/s"] if now.rate else []
    return "  ".join([*words, f"eta {console.duration_text(now.seconds_left)}"])


def summary_text(summary: "Summary", folder: Path) -> str:
    """What a sweep came to, in words."""
    new = summary.n_done - summary.n_begun_with
    lines = [f"{summary.n_done} of {console.plural(summary.n_cases, 'case')} done, {new} of them now, in "
             f"{console.duration_text(summary.seconds)}"]  # fmt: skip
    lines += failure_lines(summary.failed)
    if summary.status == "stopped":
        lines.append(f"stopped{': ' * bool(summary.problem)}{summary.problem}; the same command goes on")
    else:
        lines.append(f"a row per case: simcli sweep table {folder}")
    return "\n".join(lines)


def failure_lines(failed: dict[str, str]) -> list[str]:
    """Reasons of failures, each with how many cases it has."""
    from collections import Counter

    counts = Counter(failed.values()).most_common()
    lines = [f"  {console.plural(n, 'case')}: {reason}" for reason, n in counts[:MOST_FAILURES]]
    more = [f"  and {len(counts) - MOST_FAILURES} reasons more"] if len(counts) > MOST_FAILURES else []
    return [f"{console.plural(len(failed), 'case')} failed:", *lines, *more] if failed else []


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `simcli sweep run`.", show_default=False)],
    json: JsonFlag = False,
) -> int:
    """Show the progress of a sweep: cases done, running and failed, rate and time left, by executor and machine.

    Example: simcli sweep status night
    """
    from simcli.sweeps.status import status_of

    found = status_of(folder)
    if json:
        running = [{"chunk": one.chunk, "n_cases": len(one.cases), "host": one.owner.host, "pid": one.owner.pid}
                   for one in found.running]  # fmt: skip
        rows = [{"executor": row.executor, "host": row.host, "rate": row.rate, **vars(row.work)} for row in found.rows]
        console.emit("sweep.status", {**vars(found), "running": running, "rows": rows, "path": folder})
        return Exit.OK
    left = found.n_cases - found.n_done - found.n_given_up
    console.data(f"{found.n_done} of {console.plural(found.n_cases, 'case')} done, {found.n_running} running, "
                 f"{len(found.failed)} failed, {max(left - found.n_running, 0)} not begun")  # fmt: skip
    if found.running:
        left_text = console.duration_text(found.seconds_left)
        console.data(f"about {console.count_text(found.rate)} world-steps/s, {left_text} left")
    elif left:
        console.data("nobody is at work: `simcli sweep run` with the same words goes on")
    for line in failure_lines(found.failed):
        console.data(line)
    if found.rows:
        rows = [(row.executor, row.host, row.work.chunks, row.work.cases, f"{console.count_text(row.rate)} world-steps/s")
                for row in found.rows]  # fmt: skip
        console.data(console.table(rows, ("executor", "host", "chunks", "cases", "rate")))
    for note in found.notes:
        console.say(f"{console.paint('warning:', 'warn')} {note}")
    return Exit.OK
