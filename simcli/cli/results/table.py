"""`simcli table`: a row per world."""

import io
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simcli.cli import console
from simcli.cli.options import (
    STDOUT,
    Condition,
    FilePaths,
    JsonFlag,
    Replace,
    file_or_stdout,
    goes_to_stdout,
    output_option,
    spare_runs,
    split_words,
)
from simcli.errors import Exit

if TYPE_CHECKING:
    from simcli.analysis.worlds.world_table import WorldTable

MAX_ROWS = 40  # on a terminal, unless --top says more
_MAX_NAMES = 6  # of columns that do not fit
_GAP = "  "


_ONLY = "Only these, as {}, params.l, 'measure.*'. Repeatable, or separated by commas."
ColumnNames = Annotated[list[str], typer.Option("--column", "-c", metavar="NAME", help=_ONLY.format("world"))]
CaseColumns = Annotated[list[str], typer.Option("--column", "-c", metavar="NAME", help=_ONLY.format("case"))]
SortNames = Annotated[
    list[str], typer.Option("--sort", metavar="NAME", help="Ascending by a column; -NAME descending. Repeatable.")
]
TopRows = Annotated[int | None, typer.Option("--top", metavar="N", min=1, help="The first N rows only.")]
TableOutput = Annotated[
    Path | None,
    output_option("File to write (csv, parquet), - for CSV on stdout.", file_or_stdout, show_default=False),
]


def table(
    files: FilePaths,
    column: ColumnNames = [],  # noqa: B006
    where: Condition = [],  # noqa: B006
    sort: SortNames = [],  # noqa: B006
    top: TopRows = None,
    output: TableOutput = None,
    force: Replace = False,
    json: JsonFlag = False,
) -> int:
    """Show a row per world: status, varied parameters, measures.

    Several files are put below each other. In a condition names stand in braces, with arithmetic, < <= == != and or not.
    Example: simcli table outputs/batch.h5 --where '{measure.peak} > 3' --sort -measure.peak --top 10
    """
    from simcli.analysis.worlds.world_table import read_files

    if output not in (None, STDOUT):
        spare_runs(output, files)
    claim_table(output, json, force)
    return give_table("table", files, choose_rows(read_files(files), where, sort, top, column), output, json, "world")


@dataclass(frozen=True)
class Chosen:
    """Rows and columns of a table that are asked for.

    Attributes:
        found: they.
        n_found: rows before `--top`.
        n_all: rows of the whole table.
        top: as given.
        by_name: whether columns were named.
    """

    found: "WorldTable"
    n_found: int
    n_all: int
    top: int | None
    by_name: bool


def claim_table(output: Path | None, as_json: bool, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse an output whose suffix says no format, or stdout where that takes JSON, or what exists, before any work.

    Raises:
        UsageError, OutputError: that is so.
    """
    from simcli.analysis.export.text_files import check_suffix
    from simcli.records.drafts import claim_path

    if not goes_to_stdout(output, as_json) and output is not None:
        check_suffix(output)
        claim_path(output, force, inputs, seeks=output.suffix.lower() == ".parquet")


def choose_rows(whole: "WorldTable", where: list[str], sort: list[str], top: int | None, column: list[str]) -> Chosen:
    """The part of a table that options name.

    Raises:
        UsageError: there is no such column, or a condition is none.
    """
    found = whole
    for condition in where:
        found = found.where(condition)
    found = found.sort(split_words("--sort", sort))
    n_found = found.n_rows
    found = found if top is None else found.top(top)
    found = found.select(split_words("--column", column)) if column else found
    return Chosen(found, n_found, whole.n_rows, top, bool(column))


def save_table(found: "WorldTable", output: Path, what: str) -> None:
    """Write a table to a file, or to stdout as CSV.

    Args:
        found: the table.
        output: the file; `-` for stdout.
        what: the count of its rows, for the message.
    """
    from simcli.analysis.export.text_files import write_csv, write_table

    if output != STDOUT:
        write_table(found, output)
        console.say(f"wrote {output} ({what})")
        return
    with io.StringIO(newline="") as stream:
        write_csv(found, stream)
        console.data(stream.getvalue().rstrip("\n"))


def give_table(kind: str, sources: list[Path], chosen: Chosen, output: Path | None, json: bool, noun: str) -> int:
    """Write a table to a file, as JSON, or as text.

    Args:
        kind: of the JSON document.
        sources: files that it is of.
        chosen: the table.
        output: as given.
        json: as given.
        noun: what a row is.
    """
    found = chosen.found
    if output is not None:
        save_table(found, output, f"{console.plural(found.n_rows, 'row')} of {console.plural(chosen.n_all, noun)}")
    if json:
        columns = [
            {"name": one.name, "unit": one.unit, "text": one.text, "values": one.values} for one in found.columns.values()
        ]
        console.emit(
            kind,
            {
                "files": sources,
                f"{noun}s": chosen.n_all,
                "found": chosen.n_found,
                "rows": found.n_rows,
                "columns": columns,
                "path": output,
            },
        )
    elif output is None:
        show_rows(chosen, found if chosen.by_name else _without_empty(found), noun)
    return Exit.OK


def _without_empty(found):
    """The table without reasons, codes and times of ends where no row has one."""
    empty = [
        name
        for name in found.columns
        if name.startswith("status.")
        and not any(value == value and value != "" for value in found.columns[name].values.tolist())
    ]
    return found.select([name for name in found.columns if name not in empty])


def show_rows(chosen: Chosen, found: "WorldTable", noun: str) -> None:
    """Rows as aligned text; on a terminal no more than fit, and what was left out in words."""
    on_terminal = console.on_terminal()
    shown = found.top(MAX_ROWS) if on_terminal and chosen.top is None else found
    columns = [_column_text(column) for column in shown.without_rounding().columns.values()]
    if on_terminal:
        columns = _fitting(columns, shutil.get_terminal_size().columns)
    right = [not column.has_words for column in shown.columns.values()][: len(columns)]
    console.data(console.table([*zip(*columns, strict=True)], indent="", right=right))
    console.say(console.paint(_notes(shown, len(columns), chosen, noun), "dim"))


def _notes(shown: "WorldTable", n_columns: int, chosen: Chosen, noun: str) -> str:
    """How many rows there are, and what is not shown."""
    n_found = chosen.n_found
    notes = [f"{shown.n_rows} of " * (shown.n_rows < n_found) + console.plural(n_found, noun)]
    if n_found < chosen.n_all:
        notes[0] += f" that {'meets' if n_found == 1 else 'meet'} the condition, of {chosen.n_all}"
    hidden = list(shown.columns)[n_columns:]
    if hidden:
        more = ", ..." if len(hidden) > _MAX_NAMES else ""
        notes.append(f"{console.plural(len(hidden), 'column')} more: {', '.join(hidden[:_MAX_NAMES])}{more}")
    if hidden or (shown.n_rows < n_found and chosen.top is None):
        notes.append("--top N, -c NAME or -o FILE.csv shows them")
    return "; ".join(notes)


def _column_text(column) -> list[str]:
    """Name, unit and values of a column."""
    return [column.name, f"[{column.unit}]" if column.unit else "", *map(_cell, column.values.tolist())]


def _cell(value: float | int | str) -> str:
    if not isinstance(value, float):
        return str(value)
    return "-" if math.isnan(value) else f"{value:.6g}"


def _fitting(columns: list[list[str]], width: int) -> list[list[str]]:
    """The first columns that fit into a width, one at least."""
    used = -len(_GAP)
    kept: list[list[str]] = []
    for column in columns:
        used += len(_GAP) + max(map(len, column))
        if kept and used > width:
            break
        kept.append(column)
    return kept
