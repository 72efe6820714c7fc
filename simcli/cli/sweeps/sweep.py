"""`simcli sweep`: many batches as one: its tables, its check, how far it is, and who is at work.

What is said of a sweep while it runs, and at its end, stands here, too; the command `run` has a file of its own.
"""

from collections import Counter
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console, progress
from simcli.cli.options import CaseCondition, JsonFlag, Replace, with_value_words
from simcli.cli.results.table import CaseColumns, SortNames, TableOutput, TopRows, choose_rows, claim_table, give_table
from simcli.errors import Exit, UsageError

if TYPE_CHECKING:
    from simcli.sweeps.status import Summary, SweepProgress

MOST_FAILURES = 5  # that are told one by one


def progress_line(now: "SweepProgress") -> str:
    """One line of talk."""
    words = [f"{now.n_done} of {console.plural(now.n_cases, 'case')}", f"{now.n_running} running"]
    words += [f"{now.n_failed} failed"] if now.n_failed else []
    words += [f"{console.count_text(now.rate)} world-steps/s"] if now.rate else []
    words += [f"eta {console.duration_text(now.seconds_left)}"] if isfinite(now.seconds_left) else []
    return "  ".join(words)


def summary_text(summary: "Summary", folder: Path) -> str:
    """What a sweep came to, in words."""
    new = summary.n_done - summary.n_begun_with
    lines = [
        f"{summary.n_done} of {console.plural(summary.n_cases, 'case')} done, {new} of them now, in "
        f"{console.duration_text(summary.seconds)}"
    ]
    lines += failure_lines(summary.failed)
    if summary.status == "stopped":
        lines.append(f"stopped{': ' * bool(summary.problem)}{summary.problem}; the same command goes on")
    else:
        lines.append(f"a row per case: simcli sweep table {folder}")
    return "\n".join(lines)


def failure_lines(failed: dict[str, str]) -> list[str]:
    """Reasons of failures, each with how many cases it has."""
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
        running = [
            {"chunk": one.chunk, "n_cases": len(one.cases), "host": one.owner.host, "pid": one.owner.pid}
            for one in found.running
        ]
        rows = [{"executor": row.executor, "host": row.host, "rate": row.rate, **vars(row.work)} for row in found.rows]
        console.emit("sweep.status", {**vars(found), "running": running, "rows": rows, "path": folder})
        return Exit.OK
    left = found.n_cases - found.n_done - found.n_given_up
    console.data(
        f"{found.n_done} of {console.plural(found.n_cases, 'case')} done, {found.n_running} running, "
        f"{len(found.failed)} failed, {max(left - found.n_running, 0)} not begun"
    )
    if found.running:
        left_text = console.duration_text(found.seconds_left)
        console.data(f"about {console.count_text(found.rate)} world-steps/s, {left_text} left")
    elif left:
        console.data("nobody is at work: `simcli sweep run` with the same words goes on")
    for line in failure_lines(found.failed):
        console.data(line)
    if found.rows:
        cells = [
            (row.executor, row.host, row.work.chunks, row.work.cases, f"{console.count_text(row.rate)} world-steps/s")
            for row in found.rows
        ]
        console.data(console.table(cells, ("executor", "host", "chunks", "cases", "rate")))
    for note in found.notes:
        console.warn(note)
    return Exit.OK


def existing_folder(path: Path) -> Path:
    """A folder that is there.

    Raises:
        UsageError: it is not.
    """
    if not path.is_dir():
        what = "is no folder" if path.exists() else "no such folder"
        raise UsageError(f"{path}: {what}; `simcli sweep run SCENE -o {path}` makes one")
    return path


SweepFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of a sweep.", callback=existing_folder, show_default=False)
]


def sweep() -> typer.Typer:
    """The group of commands."""
    from simcli.cli.sweeps.sweep_run import run

    words = "Run a parameter study of many batches on many processes or machines, resumable; each command takes --json."
    group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help=words)
    group.command("run")(with_value_words(run))
    group.command("status")(with_value_words(status))
    group.command("table")(with_value_words(_table))
    group.command("check")(with_value_words(_check))
    return group


def _table(
    folder: SweepFolder,
    column: CaseColumns = [],  # noqa: B006
    where: CaseCondition = [],  # noqa: B006
    sort: SortNames = [],  # noqa: B006
    top: TopRows = None,
    output: TableOutput = None,
    force: Replace = False,
    json: JsonFlag = False,
) -> int:
    """Show a row per case: status, choices, varied parameters, measures.

    The table is the same, byte for byte, in whatever order and by whatever processes the cases were run.

    Example: simcli sweep table outputs/night --where '{status} == ok' --sort -measure.peak --top 10
    """
    from simcli.sweeps.case_table import table_of
    from simcli.sweeps.records.plan_file import read_plan
    from simcli.sweeps.records.state import LedgerReader

    claim_table(output, json, force)
    plan, state = read_plan(folder), LedgerReader(folder).read()
    state.forget_gone(folder)
    done = {case: result.file for case, result in state.results.items()}
    with progress.fraction_shown("reading results") as show:
        whole = table_of(plan, folder, done, state.given_up(), show)
    return give_table("sweep_table", [folder], choose_rows(whole, where, sort, top, column), output, json, "case")


def _check(
    folder: SweepFolder,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors: missing cases, too.")] = False,
    json: JsonFlag = False,
) -> int:
    """Compare every result with its checksum in the ledger, and count missing cases.

    Exit code 1 if a result is damaged; with --strict also if cases are missing.

    Example: simcli sweep check outputs/night
    """
    from simcli.sweeps.folder import FolderProblem, problems_of
    from simcli.sweeps.records.plan_file import read_plan
    from simcli.sweeps.records.state import LedgerReader

    plan, reader = read_plan(folder), LedgerReader(folder)
    state = reader.read()
    lost = state.forget_gone(folder)
    done = {case: result.file for case, result in state.results.items()} | lost
    found = [
        FolderProblem(name, f"{console.plural(count, 'line')} damaged, and passed over", False)
        for name, count in sorted(state.damaged.items())
    ]
    found += [
        FolderProblem(name, "ends in the middle of a line: its process writes it, or was killed", False)
        for name in reader.unfinished()
    ]
    with progress.fraction_shown("reading results") as show:
        found += problems_of(plan, folder, done, state.digests, state.given_up(), show)
    errors = sum(one.is_error for one in found)
    for one in found:
        word = console.paint("error:", "bad") if one.is_error else console.paint("warning:", "warn")
        console.say(f"{word} {one.file or folder}: {one.text}")
    files = {name for name in set(done.values()) if (folder / name).is_file()}
    n_planned = sum(done.get(case.id) in files for case in plan.cases)
    if not json:
        console.data(
            f"{folder}: {n_planned} of {console.plural(len(plan.cases), 'case')} in "
            f"{console.plural(len(files), 'result')}; {console.plural(errors, 'error')}"
        )
    else:
        problems = [
            {"file": one.file, "text": one.text, "severity": "error" if one.is_error else "warning"} for one in found
        ]
        console.emit(
            "sweep_check",
            {"ok": not errors, "cases": len(plan.cases), "done": n_planned, "results": len(files), "problems": problems},
        )
    return Exit.NEGATIVE if errors or (strict and found) else Exit.OK
