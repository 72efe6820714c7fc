"""Parquet: columns `time`, `world` and the channels, their units in the metadata of the fields.

A writer keeps some memory for each column of each row group until the file is closed, and we a row group while it is made:
groups grow with the root of what is written, so that both take about as much.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from simcli.analysis.export.tables import ExportSeen, Extract, TableHeader, unseen
from simcli.errors import UsageError
from simcli.records.drafts import drafted
from simcli.spec.batches.sheets import PARQUET_HINT

KEPT_BYTES = 1600  # [B] for a column of a row group, measured


def pyarrow_of():
    """The library and its module for Parquet.

    Raises:
        UsageError: it is not there; the message says how to get it.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(PARQUET_HINT) from error
    return pyarrow, pyarrow.parquet


def write(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write a file; returns its number of rows."""
    pa, parquet = pyarrow_of()
    table = asked.table()
    schema = pa.schema([pa.field(one.name, _type(pa, one), metadata={"unit": one.unit}) for one in table.headers])
    words = [one.name for one in table.headers if one.kind[0] not in "fi"]  # numbers rarely repeat
    with drafted(path) as draft, parquet.ParquetWriter(draft, schema, use_dictionary=words) as writer:
        for columns in grouped(table.blocks(seen), rows_of_group(table.n_rows, len(table.headers))):
            arrays = [_array(pa, column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))  # which keeps nothing, as write_batch does
    return table.n_rows


def grouped(blocks: Iterable[list[np.ndarray]], n_rows: int) -> Iterator[list[np.ndarray]]:
    """Columns of so many rows at a time, in memory that the next ones overwrite; of what is left at the end.

    Args:
        blocks: columns of some rows, each (n,).
        n_rows: of a group.
    """
    room: list[np.ndarray] = []
    filled = 0
    for columns in blocks:
        room = room or [np.empty(n_rows, column.dtype) for column in columns]
        first, n = 0, len(columns[0])
        while first < n:
            last = min(first + n_rows - filled, n)
            for to, column in zip(room, columns, strict=True):
                to[filled : filled + last - first] = column[first:last]
            filled, first = filled + last - first, last
            if filled == n_rows:
                yield room
                filled = 0
    if filled:
        yield [column[:filled] for column in room]


def rows_of_group(n_rows: int, n_columns: int) -> int:
    """Rows of a row group, about: see above."""
    n_bytes = math.sqrt(8 * n_rows * n_columns * n_columns * KEPT_BYTES)
    return max(int(n_bytes / (8 * n_columns)), 1)


def _array(pa, column: np.ndarray, kind):
    """A column for the library, numbers in the same memory. Its own `array` would load pandas where that is there: 40 MB."""
    if kind != pa.string():
        numbers = np.ascontiguousarray(column, kind.to_pandas_dtype())
        return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])
    words = [word.encode() for word in column.tolist()]
    ends = np.cumsum([0, *map(len, words)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(ends), pa.py_buffer(b"".join(words)))


def _type(pa, header: TableHeader):
    return {"f": pa.float64(), "i": pa.int64()}.get(header.kind[0], pa.string())
