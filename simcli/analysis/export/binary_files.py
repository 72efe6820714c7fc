"""Runs as arrays: NPZ and Parquet.

NPZ has an array per channel, (F, W, n) or (F, W) of a single number, with `time` (F,), `world` (W,) and `about`, a JSON text
of the labels and units of each array. Contacts: an array per column. Every array is written block by block into the archive,
so that none of them is ever whole in memory.

Parquet has columns `time`, `world` and the channels, their units in the metadata of the fields. A writer keeps some memory
for each column of each row group until the file is closed, and we a row group while it is made: groups grow with the root of
what is written, so that both take about as much.
"""

import json
import math
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from simcli.analysis.export.channel_tables import ContactTable, ExportSeen, Extract, TableHeader, unseen
from simcli.errors import UsageError
from simcli.records.drafts import drafted
from simcli.spec.batches.sheets import PARQUET_HINT


def write_npz(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write a file; returns the length of its arrays: frames, or contacts."""
    with drafted(path) as draft, zipfile.ZipFile(draft, "w", allowZip64=True) as archive:
        return _write_contacts(asked, archive, seen) if asked.is_of_contacts else _write_channels(asked, archive, seen)


def _write_channels(asked: Extract, archive: zipfile.ZipFile, seen: ExportSeen) -> int:
    frames, n_worlds = asked.frames, len(asked.worlds)
    _add(archive, "time", (len(frames),), "<f8", [asked.run.time[:: asked.every]])
    _add(archive, "world", (n_worlds,), "<i8", [np.array(asked.worlds)])
    about = {source.name: {"labels": source.labels, "units": source.units} for source in asked.sources}
    _add_about(archive, about)
    for k, source in enumerate(asked.sources):
        n = len(source.labels)
        is_single = source.column.ndim == 2

        def blocks(source=source, n=n, k=k):
            for cut in asked.cuts(n, source.column.chunks[0]):
                yield source.read(cut, asked.worlds)
                seen((k + cut.stop / asked.run.n_frames) / len(asked.sources))

        _add(archive, source.name, (len(frames), n_worlds) if is_single else (len(frames), n_worlds, n), "<f8", blocks())
    return len(frames)


def _write_contacts(asked: Extract, archive: zipfile.ZipFile, seen: ExportSeen) -> int:
    table = ContactTable(asked)
    _add_about(archive, {header.name: {"units": [header.unit]} for header in table.headers})
    for k, header in enumerate(table.headers):

        def shown(part: float, k=k) -> None:
            seen((k + part) / len(table.headers))

        _add(archive, header.name, (table.n_rows,), header.kind, (block[k] for block in table.blocks(shown)))
    return table.n_rows


def _add_about(archive: zipfile.ZipFile, about: dict) -> None:
    text = np.array(json.dumps(about))
    _add(archive, "about", (), text.dtype.str, [text])


def _add(archive: zipfile.ZipFile, name: str, shape: Sequence[int], kind: str, blocks: Iterable[np.ndarray]) -> None:
    """Add one array, in C order."""
    dtype = np.dtype(kind)
    # A slash in a name (of a replica's body) makes a path in the archive, which numpy reads under the whole name.
    with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
        head = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(shape)}
        npy.write_array_header_2_0(stream, head)
        for block in blocks:
            stream.write(np.ascontiguousarray(block, dtype).tobytes())


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


def write_parquet(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
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
