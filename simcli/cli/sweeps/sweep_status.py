"""`simcli sweep status`: how far a sweep is, and who is at work."""

from pathlib import Path
from typing import Annotated

import typer

from simcli.cli import console
from simcli.cli.options import JsonFlag
from simcli.cli.sweeps.sweep_text import failure_lines
from simcli.errors import Exit


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
        cells = [(row.executor, row.host, row.work.chunks, row.work.cases, f"{console.count_text(row.rate)} world-steps/s")
                 for row in found.rows]  # fmt: skip
        console.data(console.table(cells, ("executor", "host", "chunks", "cases", "rate")))
    for note in found.notes:
        console.warn(note)
    return Exit.OK
