"""`simcli sweep`: many batches as one. Its commands `_table` and `_check`; `run` and `status` have files of their own."""

from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console, progress
from simcli.cli.options import CaseCondition, JsonFlag, Replace, with_value_words
from simcli.cli.results.table import CaseColumns, SortNames, TableOutput, TopRows, choose_rows, claim_table, give_table
from simcli.errors import Exit, UsageError


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
    from simcli.cli.sweeps.sweep_status import status

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
