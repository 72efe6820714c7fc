"""Runs and tables of worlds as text: CSV, JSON Lines, OpenSim's tables; Parquet beside them.

CSV has a header of names and units; floats are in the shortest form that reads back as the same number, NaN is an empty
cell.

JSON Lines has an object per line, `{"time": 0.0, "world": 0, "joint.pin.q": 0.3}`; NaN and infinities are null.

OpenSim's are .sto of any channels and .mot of joint coordinates. One world; SI units, angles in radians.
Source: OpenSim's storage format, version 1: a name, `version`, `nRows`, `nColumns` (the time counts), `inDegrees`,
`endheader`, then tab-separated columns, the first of them `time`. No deviation. Columns have the names of the channels, in
.mot those of the joints (`pin`, `hip/ball.0` where a joint has several coordinates), because OpenSim looks for its
coordinates by name.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from simcli.analysis.export.binary_files import pyarrow_of
from simcli.analysis.export.channel_tables import ChannelTable, ContactTable, ExportSeen, Extract, shown_columns, unseen
from simcli.errors import UsageError
from simcli.records.drafts import drafted, written
from simcli.spec.base.fault_list import suffix_of

if TYPE_CHECKING:
    from simcli.analysis.worlds.world_table import WorldTable


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


def write_channels_csv(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write a file; returns its number of rows."""
    with written(path) as stream:
        return write_table_csv(asked.table(), stream, seen)


def write_json_lines(asked: Extract, path: Path, seen: ExportSeen = unseen) -> int:
    """Write a file; returns its number of lines."""
    table = asked.table()
    keys = [json.dumps(header.name, ensure_ascii=False) for header in table.headers]
    with written(path) as stream:
        for columns in table.blocks(seen):
            rows = zip(*(map(_word, column.tolist()) for column in columns), strict=True)
            stream.writelines("{" + ", ".join(map("{}: {}".format, keys, row)) + "}\n" for row in rows)
    return table.n_rows


def _word(value: float | int | str) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "null"
    return json.dumps(value, ensure_ascii=False)


COORDINATE = ".q"


def write_opensim(asked: Extract, path: Path, seen: ExportSeen = unseen, is_motion: bool = False) -> int:
    """Write a file; returns its number of rows.

    Raises:
        UsageError: contacts; of a .mot anything but joint coordinates.
    """
    if asked.is_of_contacts:
        raise UsageError(
            f"contacts are no table over time, and {path.suffix} is one: write them as .csv, .parquet, .jsonl or .npz"
        )
    if is_motion:
        asked = _coordinates(asked, path)
    table = asked.table()
    labels = [header.name for k, header in enumerate(table.headers) if k != 1]
    if is_motion:
        labels = [
            labels[0],
            *(name.removeprefix("joint.").replace(f"{COORDINATE}.", ".").removesuffix(COORDINATE) for name in labels[1:]),
        ]
    head = [
        path.stem,
        "version=1",
        f"nRows={table.n_rows}",
        f"nColumns={len(labels)}",
        "inDegrees=no",
        "",
        "Units are SI units: second, metre, newton; angles are in radians.",
        "",
        "endheader",
        "\t".join(labels),
    ]
    with written(path) as stream:
        stream.write("\n".join(head) + "\n")
        for columns in table.blocks(seen):
            kept = [column.tolist() for k, column in enumerate(columns) if k != 1]
            stream.writelines("\t".join(map(repr, row)) + "\n" for row in zip(*kept, strict=True))
    return table.n_rows


def _coordinates(asked: Extract, path: Path) -> Extract:
    """The joint coordinates, where nothing else is named."""
    if not asked.channels:
        return Extract(asked.run, (f"joint.*{COORDINATE}",), asked.worlds, asked.every)
    other = next(
        (
            source.name
            for source in asked.sources
            if not (source.name.startswith("joint.") and source.name.endswith(COORDINATE))
        ),
        None,
    )
    if other:
        raise UsageError(f"{path}: .mot holds joint coordinates, and {other} is none: write it as .sto")
    return asked


write_motion = partial(write_opensim, is_motion=True)


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
