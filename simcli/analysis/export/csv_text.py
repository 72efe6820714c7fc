"""CSV: a header of names and units; floats in the shortest form that reads back as the same number, NaN as an empty cell."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from simcli.analysis.export.tables import ChannelTable, ContactTable, ExportSeen, Extract, shown_columns, unseen
from simcli.records.drafts import written


def cell(value: float | int | str) -> str:
    """A value as text: a float in the shortest form that reads back as the same number, NaN as nothing."""
    return "" if value != value else value if isinstance(value, str) else repr(value)


def csv_blocks(table: ChannelTable | ContactTable, seen: ExportSeen = unseen) -> Iterator[str]:
    """The text of a table, block by block, the header with the first; without a column `world` for a single world."""
    shown = shown_columns(table)
    names = [table.headers[k].title for k in shown]
    yield _text([names])
    for columns in table.blocks(seen):
        kept = [columns[k].tolist() for k in shown]
        yield _text(zip(*(map(cell, column) for column in kept), strict=True))


def _text(rows: Iterable) -> str:
    with io.StringIO(newline="") as text:
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()


def write_table_csv(table: ChannelTable | ContactTable, stream: TextIO, seen: ExportSeen = unseen) -> int:
    """Write a table as CSV.

    Args:
        table: of channels or contacts.
        stream: opened with newline="".
        seen: is told of the progress.

    Returns:
        the number of rows under the header.
    """
    for text in csv_blocks(table, seen):
        stream.write(text)
    return table.n_rows


def write(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write a file; returns its number of rows."""
    with written(path) as stream:
        return write_table_csv(asked.table(), stream, seen)
