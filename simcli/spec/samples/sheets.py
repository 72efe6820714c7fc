"""A CSV or Parquet file as headers with units, and columns of numbers."""

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from simcli.spec.samples.columns import MAX_WORLDS
from simcli.spec.samples.csv_text import CsvError, cells, decoded, lines_of, number_in, separator_of

PARQUET_HINT = "Parquet needs pyarrow: pip install 'simcli[parquet]'"
MAX_FAULTS = 20  # of one file that are told at once
_PARQUET = b"PAR1"
_FOREIGN = {b"PK\x03\x04": ("a workbook or an archive", "save the sheet as CSV"),
            b"\x1f\x8b": ("compressed", "unpack it"),
            b"\x89HDF": ("HDF5", "`simcli table FILE -o samples.csv` writes the rows of a run")}  # fmt: skip
_WITH_UNIT = re.compile(r"(?P<name>.*?)(?:\s+\[(?P<apart>[^\[\]]*)\]|\[(?P<joined>[^\[\]]*[^\[\]0-9\s][^\[\]]*)\])\s*", re.DOTALL)
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
    found = _WITH_UNIT.fullmatch(text)
    if found is None or not found["name"]:
        return Header(text, text, "", index)
    return Header(text, found["name"], (found["apart"] or found["joined"] or "").strip(), index)


class Sheet(Protocol):
    """A file of columns.

    Attributes:
        headers: of its columns.
        n_rows: below them.
        lines: of the header and of every row; () where the format has no lines.
        texts: by line, of the header and of what has a fault.
        problems: found so far.
        separator: of cells; "" where the format has no text.
    """

    headers: list[Header]
    n_rows: int
    lines: tuple[int, ...]
    texts: dict[int, str]
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
    return CsvSheet(decoded(data))


class CsvSheet:
    """A table as text; see `Sheet`."""

    def __init__(self, text: str):
        self.problems: list[CsvError] = []
        self.texts: dict[int, str] = {}
        self._rows = list(lines_of(text))
        if not self._rows:
            raise CsvError("the file is empty", "write a line of headers, then a line per world", 1)
        line, header = self._rows.pop(0)
        self.separator = separator_of(header)
        self.texts[line] = header
        titles = self._cells(line, header) or []
        while titles and not titles[-1].text:  # of spreadsheets, which end lines with separators
            titles.pop()
        if self.problems or not titles:
            raise self.problems[0] if self.problems else CsvError("there are no headers", "name the columns", line)
        if all(_is_number(one.text) for one in titles):
            raise CsvError(f"line {line} holds numbers where the names of the columns belong",
                           "write a first line of paths, as params.k,params.m", line, 1, len(header))  # fmt: skip
        self.headers = [header_of(one.text, k) for k, one in enumerate(titles)]
        seen: dict[str, int] = {}
        for k, one in enumerate(titles):
            if not one.text:
                self._add(CsvError(f"column {k + 1} has no name", "name it, or leave it out", line, one.column))
            elif one.text in seen:
                self._add(CsvError(f"two columns are called `{one.text}`", "rename one of them", line, one.column, one.length))
            seen[one.text] = k
        if not self._rows:
            raise CsvError("there are no rows below the headers", "write a line per world", line)
        if len(self._rows) > MAX_WORLDS:
            raise CsvError(f"the table has {len(self._rows)} rows", f"at most {MAX_WORLDS} worlds are taken")
        self.lines = (line, *(number for number, _ in self._rows))
        self.n_rows = len(self._rows)

    def columns(self, wanted: Sequence[int], whole: int | None) -> list[list]:
        """See `Sheet`."""
        found: list[list] = [[] for _ in wanted]
        for number, line in self._rows:
            row = self._texts_of(number, line)
            if row is None:
                continue
            for k, values in zip(wanted, found, strict=True):
                try:
                    values.append(_whole(row[k]) if k == whole else number_in(row[k]))
                except CsvError as error:
                    cell = (self._cells(number, line) or [])[k]
                    self.texts[number] = line
                    self._add(CsvError(f"{self.headers[k].text}: {error}", error.hint, number, cell.column, cell.length or 1))
            if len(self.problems) >= MAX_FAULTS:
                break
        return found

    def _texts_of(self, number: int, line: str) -> list[str] | None:
        """Texts of a row, as many as there are headers; None after a fault."""
        if '"' in line:
            split = self._cells(number, line)
            row = None if split is None else [one.text for one in split]
        else:
            row = [text.strip() for text in line.split(self.separator)]
        if row is None:
            return None
        n = len(self.headers)
        while len(row) > n and not row[-1]:
            row.pop()
        if len(row) != n:
            self.texts[number] = line
            self._add(CsvError(f"{len(row)} cells below {n} headers", "write a cell for each header", number, 1,
                               len(line)))  # fmt: skip
            return None
        return row

    def _cells(self, number: int, line: str) -> list | None:
        try:
            return cells(line, self.separator)
        except CsvError as error:
            self.texts[number] = line
            self._add(CsvError(str(error), error.hint, number, error.column))
            return None

    def _add(self, problem: CsvError) -> None:
        self.problems.append(problem)


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
        self.texts: dict[int, str] = {}
        self._arrow = pyarrow
        try:
            self._file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data))
            self.n_rows = self._file.metadata.num_rows
            schema = self._file.schema_arrow
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise CsvError(f"the Parquet file is damaged: {_first_line(error)}", "write it again") from None
        if not 0 < self.n_rows <= MAX_WORLDS:
            raise CsvError(f"the Parquet file has {self.n_rows} rows", f"one to {MAX_WORLDS} worlds are taken")
        self.headers = []
        for k, one in enumerate(schema):
            unit = (one.metadata or {}).get(b"unit", b"").decode("utf-8", "replace")
            header = header_of(one.name, k)
            self.headers.append(header._replace(unit=header.unit or unit))
        names = [one.text for one in self.headers]
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            self.problems.append(CsvError(f"two columns are called `{name}`", "rename one of them"))

    def columns(self, wanted: Sequence[int], whole: int | None) -> list[list]:
        """See `Sheet`."""
        return [self._column(k, k == whole) for k in wanted]

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
                self.problems.append(CsvError(f"column `{header.text}` holds {kind}, no {what}", f"write a column of {what}"))
                return []
            values = column.cast(self._arrow.uint64() if is_whole else self._arrow.float64(), safe=is_whole).to_pylist()
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            self.problems.append(CsvError(f"column `{header.text}` is damaged: {_first_line(error)}", "write the file again"))
            return []
        bad = next((row for row, value in enumerate(values) if value is None or value - value != 0), None)
        if bad is not None:
            what = "no value" if values[bad] is None else f"{values[bad]}"
            hint = "write a finite number in every row, or leave the row out"
            self.problems.append(CsvError(f"row {bad} of column `{header.text}` (the first is 0) holds {what}", hint))
        return values


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _whole(text: str) -> int:
    if _WHOLE.fullmatch(text) is None or int(text) >= 2**64:
        raise CsvError(f"`{text[:40]}` is no whole number of 64 bits", "leave the column out, or write what `simcli samples` wrote")
    return int(text)


def _is_number(text: str) -> bool:
    try:
        number_in(text)
    except CsvError:
        return False
    return True
