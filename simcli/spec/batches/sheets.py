"""A CSV or Parquet file as headers with units, and columns of numbers."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from simcli.errors import install_hint
from simcli.spec.values.csv_tables import MAX_WORLDS, CsvError, decoded_text, lines_of, number_in, separator_of, table_cells

PARQUET_HINT = install_hint("Parquet needs pyarrow", "parquet")
MAX_FAULTS = 20  # of one file that are told at once
_PARQUET = b"PAR1"
_FOREIGN = {
    b"PK\x03\x04": ("a workbook or an archive", "save the sheet as CSV"),
    b"\x1f\x8b": ("compressed", "unpack it"),
    b"\x89HDF": ("HDF5", "`simcli table FILE -o samples.csv` writes the rows of a run"),
}
_UNIT = re.compile(r"\[([^\[\]]*)\]\Z")
_LONGEST = 1000  # characters of a header
_ROWS_AT_ONCE = 4096
_WHOLE = re.compile(r"[0-9]{1,20}")


class Header(NamedTuple):
    """What stands above a column.

    Attributes:
        text: as written, `k [N/mm]`.
        name: without the unit, `k`.
        unit: `N/mm`, "" if there is none.
        index: number of the column, from 0.
    """

    text: str
    name: str
    unit: str
    index: int


def header_of(text: str, index: int = 0) -> Header:
    """Read `NAME [UNIT]`, or `NAME[UNIT]`; a whole number in brackets that touch the name is a part of it: `com[0]`."""
    text = text.strip()
    found = _UNIT.search(text)
    name, unit = (text[: found.start()], found[1].strip()) if found else (text, "")
    if not name.strip() or (unit.isdigit() and name == name.rstrip()):
        return Header(text, text, "", index)
    return Header(text, name.rstrip(), unit, index)


class Sheet(Protocol):
    """A file of columns.

    Attributes:
        headers: of its columns.
        n_rows: below them.
        lines: of the header and of every row; () where the format has no lines.
        problems: found so far.
        separator: of cells; "" where the format has no text.
    """

    headers: list[Header]
    n_rows: int
    lines: tuple[int, ...]
    problems: list[CsvError]
    separator: str

    def columns(self, wanted: Sequence[int], whole: int | None) -> list[list]:
        """Some columns.

        Args:
            wanted: their numbers.
            whole: that which holds whole numbers of 64 bits.

        Returns:
            Of each the values of all rows; rows with a fault are left out.
        """
        ...

    def text_of(self, row: int | None) -> str:
        """The line of a row from 0, or of the headers for None; "" where the format has no text."""
        ...


def sheet_of(data: bytes) -> Sheet:
    """Read a file.

    Raises:
        CsvError: it is none of the formats, or has no header or no rows.
    """
    if data.startswith(_PARQUET):
        return ParquetSheet(data)
    for start, (what, hint) in _FOREIGN.items():
        if data.startswith(start):
            raise CsvError(f"the file is {what}, no table as text", hint)
    return CsvSheet(decoded_text(data))


class CsvSheet:
    """A table as text; see `Sheet`."""

    def __init__(self, text: str):
        self.problems: list[CsvError] = []
        self._rows = list(lines_of(text))
        if not self._rows:
            raise CsvError("the file is empty", "write a line of headers, then a line per world", 1)
        line, header = self._rows[0]
        del self._rows[0]
        self._is_plain = text.isascii() and '"' not in text and text.count("_") == header.count("_")  # float takes `1_0`
        self.separator, self.header = separator_of(header), header
        self.headers = self._headers(line, header)
        if not self._rows:
            raise CsvError("there are no rows below the headers", "write a line per world").at(line, header)
        if len(self._rows) > MAX_WORLDS:
            raise CsvError(f"the table has {len(self._rows)} rows", f"at most {MAX_WORLDS} worlds are taken")
        self.lines = (line, *(number for number, _ in self._rows))
        self.n_rows = len(self._rows)

    def _headers(self, line: int, header: str) -> list[Header]:
        try:
            titles = table_cells(header, self.separator)
        except CsvError as error:
            raise error.at(line, header) from None
        while titles and not titles[-1].text:  # of spreadsheets, which end lines with separators
            titles.pop()
        if not titles:
            raise CsvError("there are no headers", "name the columns").at(line, header)
        if all(_is_number(one.text) for one in titles):
            raise CsvError(
                f"line {line} holds numbers where the names of the columns belong",
                "write a first line of paths, as params.k,params.m",
            ).at(line, header, 1, len(header))
        seen: set[str] = set()
        for k, one in enumerate(titles):
            if not one.text:
                problem = CsvError(f"column {k + 1} has no name", "name it, or leave it out")
            elif len(one.text) > _LONGEST:
                problem = CsvError(f"a header of {len(one.text)} characters", f"at most {_LONGEST} are taken")
            elif one.text in seen:
                problem = CsvError(f"two columns are called `{one.text}`", "rename one of them")
            else:
                seen.add(one.text)
                continue
            self.problems.append(problem.at(line, header, one.column, one.length))
        return [header_of(one.text, k) for k, one in enumerate(titles)]

    def columns(self, wanted: Sequence[int], whole: int | None) -> list[list]:
        """See `Sheet`."""
        found: list[list] = [[] for _ in wanted]
        for start in range(0, self.n_rows, _ROWS_AT_ONCE):
            rows = self._rows[start : start + _ROWS_AT_ONCE]
            whole_columns = self._quick(rows, wanted, whole)
            if whole_columns is not None:
                for values, more in zip(found, whole_columns, strict=True):
                    values.extend(more)
                continue
            for number, line in rows:
                self._add_row(number, line, wanted, whole, found)
                if len(self.problems) >= MAX_FAULTS:
                    return found
        return found

    def _quick(self, rows: list[tuple[int, str]], wanted: Sequence[int], whole: int | None) -> list[list] | None:
        """Columns of some rows in a quarter of the time; None if anything in them needs a closer look."""
        split = [line.split(self.separator) for _, line in rows]
        if not self._is_plain or {len(row) for row in split} != {len(self.headers)}:
            return None
        try:
            found = [[_whole(row[k].strip()) if k == whole else float(row[k]) for row in split] for k in wanted]
        except (ValueError, OverflowError):
            return None
        return found if all(math.isfinite(value) for values in found for value in values) else None

    def _add_row(self, number: int, line: str, wanted: Sequence[int], whole: int | None, found: list[list]) -> None:
        """Read one row cell by cell."""
        try:
            row = self._texts_of(line)
        except CsvError as error:
            self.problems.append(error.at(number, line))
            return
        for k, values in zip(wanted, found, strict=True):
            try:
                values.append(_whole(row[k]) if k == whole else number_in(row[k]))
            except CsvError as error:
                cell = table_cells(line, self.separator)[k]
                named = CsvError(f"{self.headers[k].text}: {error}", error.hint)
                self.problems.append(named.at(number, line, cell.column, cell.length))

    def text_of(self, row: int | None) -> str:
        """See `Sheet`."""
        return self.header if row is None else self._rows[row][1]

    def _texts_of(self, line: str) -> list[str]:
        """Texts of a row, as many as there are headers."""
        if '"' in line:
            row = [one.text for one in table_cells(line, self.separator)]
        else:
            row = [text.strip() for text in line.split(self.separator)]
        n = len(self.headers)
        while len(row) > n and not row[-1]:
            row.pop()
        if len(row) != n:
            raise CsvError(
                f"{_count(len(row), 'cell')} below {_count(n, 'header')}", "write a cell for each header", 0, 1, len(line)
            )
        return row


class ParquetSheet:
    """A Parquet file; see `Sheet`. Units are in the metadata of the fields, as simcli writes them, or in the names."""

    lines: tuple[int, ...] = ()
    separator = ""

    def __init__(self, data: bytes):
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise CsvError("the file is Parquet", PARQUET_HINT) from None
        self.problems: list[CsvError] = []
        self._arrow = pyarrow
        try:
            self._file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data))
            self.n_rows = self._file.metadata.num_rows
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise CsvError(f"the Parquet file is damaged: {_first_line(error)}", "write it again") from None
        if not 0 < self.n_rows <= MAX_WORLDS:
            raise CsvError(f"the Parquet file has {self.n_rows} rows", f"one to {MAX_WORLDS} worlds are taken")
        self.headers = []
        for k, one in enumerate(self._file.schema_arrow):
            unit = (one.metadata or {}).get(b"unit", b"").decode("utf-8", "replace")
            header = header_of(one.name, k)
            self.headers.append(header._replace(unit=header.unit or unit))
        names = [one.text for one in self.headers]
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            self.problems.append(CsvError(f"two columns are called `{name}`", "rename one of them"))

    def columns(self, wanted: Sequence[int], whole: int | None) -> list[list]:
        """See `Sheet`."""
        return [self._column(k, k == whole) for k in wanted]

    def text_of(self, row: int | None) -> str:
        """See `Sheet`."""
        return ""

    def _column(self, k: int, is_whole: bool) -> list:
        header, types = self.headers[k], self._arrow.types
        try:
            column = self._file.read(columns=[self._file.schema_arrow.names[k]]).column(0)
            if types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            kind = column.type
            is_number = types.is_integer(kind) or (not is_whole and (types.is_floating(kind) or types.is_decimal(kind)))
            if not is_number:
                what = "whole numbers" if is_whole else "numbers"
                message = f"column `{header.text}` holds {kind}, no {what}"
                self.problems.append(CsvError(message, f"write a column of {what}"))
                return []
            values = column.cast(self._arrow.uint64() if is_whole else self._arrow.float64(), safe=is_whole).to_pylist()
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            message = f"column `{header.text}` is damaged: {_first_line(error)}"
            self.problems.append(CsvError(message, "write the file again"))
            return []
        bad = next((row for row, value in enumerate(values) if value is None or value - value != 0), None)
        if bad is not None:
            what = "no value" if values[bad] is None else f"{values[bad]}"
            hint = "write a finite number in every row, or leave the row out"
            self.problems.append(CsvError(f"row {bad} of column `{header.text}` (the first is 0) holds {what}", hint))
        return values


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _whole(text: str) -> int:
    if _WHOLE.fullmatch(text) is None or int(text) >= 2**64:
        hint = "leave the column out, or write what `simcli samples` wrote"
        raise CsvError(f"`{text[:40]}` is no whole number of 64 bits", hint)
    return int(text)


def _is_number(text: str) -> bool:
    try:
        number_in(text)
    except CsvError:
        return False
    return True
