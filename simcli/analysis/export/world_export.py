"""Tables of worlds as CSV and Parquet: what is written reads back to the bit."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from simcli.analysis.export.binary_files import pyarrow_of
from simcli.analysis.export.text_files import cell
from simcli.records.drafts import drafted, written
from simcli.spec.base.fault_list import suffix_of

if TYPE_CHECKING:
    from simcli.analysis.worlds.world_table import WorldTable

_SUFFIXES = (".csv", ".parquet")
ROWS_AT_ONCE = 65536


def check_suffix(path: Path) -> None:
    """Refuse a name whose suffix says no format, and a format whose library is not there.

    Raises:
        UsageError: that is so.
    """
    if suffix_of(path, _SUFFIXES) == ".parquet":
        pyarrow_of()


def write_table(table: "WorldTable", path: Path) -> None:
    """Write a table in the format of the suffix.

    Raises:
        UsageError: see `check_suffix`.
        OutputError: the file cannot be written.
    """
    check_suffix(path)
    if path.suffix.lower() == ".parquet":
        _write_parquet(table, path)
        return
    with written(path) as stream:
        write_csv(table, stream)


def write_csv(table: "WorldTable", stream: TextIO) -> None:
    """Write a header of names and units, then a row per world.

    Args:
        table: of worlds.
        stream: opened with newline="".
    """
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([column.title for column in table.columns.values()])
    for first in range(0, table.n_rows, ROWS_AT_ONCE):
        block = [map(cell, column.values[first : first + ROWS_AT_ONCE].tolist()) for column in table.columns.values()]
        writer.writerows(zip(*block, strict=True))


def _write_parquet(table: "WorldTable", path: Path) -> None:
    """Columns have their plain names; units and words are in the metadata of the fields."""
    pa, parquet = pyarrow_of()
    columns = table.columns.values()
    arrays = [pa.array(column.values) for column in columns]
    fields = [
        pa.field(column.name, array.type, metadata={"unit": column.unit, "text": column.text})
        for column, array in zip(columns, arrays, strict=True)
    ]
    with drafted(path) as draft:
        parquet.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), draft)
