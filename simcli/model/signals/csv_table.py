"""Numbers from CSV files: times and values of a signal, heights of terrain."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simcli.model.tables.table_base import Array
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.batches.sheets import Header, header_of
from simcli.spec.values.csv_tables import ANY, CsvError, decoded_text, lines_of, read_bytes, separator_of, table_cells
from simcli.spec.values.units import UnitError, to_si

if TYPE_CHECKING:
    from simcli.spec.base.scene_files import HeldPath

_PAIRS = "write a time and a value per line, as `0.5, 1.25`"


class _Columns(NamedTuple):
    """Where times and values stand in the lines of a file.

    Attributes:
        names: headers, as the user sees them; () where the file needs none.
        time: number of the column of times.
        value: that of values.
        separator: of cells.
        factor: [s], the unit of the times.
        unit: of the values, "" if the header has none.
    """

    names: tuple[str, ...] = ()
    time: int = 0
    value: int = 1
    separator: str = ANY
    factor: float = 1.0
    unit: str = ""

    def pair(self, fields: list[str], number: int, line: str) -> tuple[float, float] | None:
        """Time and value of a line, None of one that has no number in it."""
        n, shown = len(self.names) or 2, f"`{line.strip()[:40]}`"
        if len(fields) == n and _is_number(fields[self.time]) and _is_number(fields[self.value]):
            pair = float(fields[self.time]) * self.factor, float(fields[self.value])
            if not np.isfinite(pair).all():
                raise CsvError(f"line {number}: {shown} is not finite", "write finite numbers")
            return pair
        if not self.names and not any(map(_is_number, fields)):
            return None
        if len(fields) != n:
            if self.names:
                raise CsvError(
                    f"line {number}: {len(fields)} columns below {n} headers", "write a number below each of them"
                )
            raise CsvError(f"line {number}: {len(fields)} columns", f"{_PAIRS}; `column: HEADER` takes one of several")
        if not self.names:
            raise CsvError(f"line {number}: {shown} is no pair of numbers", _PAIRS)
        wrong = next(k for k in (self.time, self.value) if not _is_number(fields[k]))
        raise CsvError(f"line {number}: `{fields[wrong][:40]}` below `{self.names[wrong]}` is no number", "write a number")


def read_csv(path: "Path | HeldPath", column: str | None = None, time_column: str | None = None) -> tuple[Array, Array, str]:
    """Read times and values.

    Columns stand apart by a comma, a semicolon, a tab or blanks. Empty lines and those that begin with # are passed
    over, and so is a first line that is no pair of numbers.

    Args:
        path: the file.
        column: header of the values, with or without its unit; None: the file has two columns.
        time_column: header of the times; None: the first column.

    Returns:
        [s], (n,), rising; the values, (n,), as they are written; the unit in their header, "" if there is none.

    Raises:
        CsvError: with the number of the line.
    """
    texts = lines_of(decoded_text(read_bytes(path)))
    place = _Columns() if column is None else _columns_of(next(texts, (1, ""))[1], column, time_column)
    rows: list[tuple[float, float]] = []
    for number, line in texts:
        row = place.pair(_fields(line, number, place.separator), number, line)
        if row is None and rows:
            raise CsvError(f"line {number}: `{line.strip()[:40]}` is no pair of numbers", _PAIRS)
        if row is None:
            continue  # the header
        if rows and row[0] <= rows[-1][0]:
            raise CsvError(f"line {number}: the time {row[0]:g} does not increase", "sort the lines by time, each once")
        rows.append(row)
    if not rows:
        raise CsvError("there are no numbers in it", _PAIRS)
    table = np.array(rows)
    return table[:, 0].copy(), table[:, 1].copy(), place.unit


def _columns_of(header: str, column: str, time_column: str | None) -> _Columns:
    """The columns that are named, by the first line of a file."""
    separator = separator_of(header)
    separator = separator if separator in header else ANY
    headers = [header_of(text, k) for k, text in enumerate(_fields(header, 1, separator))]
    value = _named_column(headers, column)
    time = headers[0] if time_column is None else _named_column(headers, time_column)
    if time.index == value.index:
        raise CsvError(
            f"`{time.text}` is the column of the times", "name another one, or say which is: `time_column: HEADER`"
        )
    try:
        factor = to_si(f"1 {time.unit}", "s") if time.unit else 1.0
    except UnitError as error:
        raise CsvError(f"`{time.text}`: {error}", error.hint) from None
    return _Columns(tuple(one.text for one in headers), time.index, value.index, separator, factor, value.unit)


def _named_column(headers: list[Header], name: str) -> Header:
    """The one column whose header is a name, or has it before its unit."""
    found = [one for one in headers if one.text == name] or [one for one in headers if one.name == name]
    if not found and all(_is_number(one.text) for one in headers):
        raise CsvError("the first line has no headers", "write one, as `t, shoulder, elbow`")
    if "*" in name and not found:
        raise CsvError(f"`{name}` is the column of a joint, and no joint takes this signal", "write `$NAME` in a drive")
    if len(found) != 1:
        what = f"has {len(found)} columns" if found else "has no column"
        raise CsvError(f"the file {what} `{name}`", did_you_mean(name, [one.text for one in headers], "columns"))
    return found[0]


def read_grid(path: Path) -> Array:
    """Read rows of numbers of one length, at least two by two.

    Empty lines and those that begin with # are passed over.

    Args:
        path: the file.

    Returns:
        (rows, columns).

    Raises:
        CsvError: with the number of the line.
    """
    rows: list[list[float]] = []
    for number, _, fields in _lines(path):
        wrong = next((field for field in fields if not _is_number(field) or not np.isfinite(float(field))), None)
        if wrong is not None:
            raise CsvError(f"line {number}: `{wrong[:40]}` is no finite number", "write numbers only")
        if rows and len(fields) != len(rows[0]):
            raise CsvError(f"line {number}: {len(fields)} numbers instead of {len(rows[0])}", "write rows of one length")
        rows.append([float(field) for field in fields])
    if len(rows) < 2 or len(rows[0]) < 2:
        raise CsvError("less than 2 x 2 numbers", "write at least two rows of two numbers")
    return np.array(rows)


def _lines(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Number, text and cells of the lines of a file."""
    for number, line in lines_of(decoded_text(read_bytes(path))):
        yield number, line, _fields(line, number, ANY)


def _fields(line: str, number: int, separator: str) -> list[str]:
    try:
        return [cell.text for cell in table_cells(line, separator)]
    except CsvError as error:
        raise CsvError(f"line {number}: {error}", error.hint) from None


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
