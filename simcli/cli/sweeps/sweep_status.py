"""`simcli sweep status`: how far a sweep is, and who is at work; what is said of it while it runs, and at its end."""

from collections import Counter
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag
from simcli.errors import Exit

if TYPE_CHECKING:
    from simcli.sweeps.sweep_options import Summary, SweepProgress

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
