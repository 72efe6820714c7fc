"""CSV text: encoding, lines, cells; and the columns of numbers that a table of samples comes to, with their places in it.

All CSV files that a scene names are read by this: signals, terrain, samples.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from simcli.errors import Where
from simcli.spec.base.text import MARKED_ENCODINGS, MAX_BYTES, split_lines
from simcli.spec.values.units import UnitError, parse_unit

if TYPE_CHECKING:
    from simcli.spec.base.scene_files import HeldPath

ANY = ""  # separator of `table_cells`: a comma, a semicolon, a tab or blanks
SEPARATORS = (",", ";", "\t")
_PATTERNS = {ANY: re.compile(r"\s*[,;\t]\s*|\s+"), **{one: re.compile(one) for one in SEPARATORS}}
_QUOTED = re.compile(r'"((?:[^"]|"")*)"[ ]*')
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS = ("nan", "inf", "infinity", "na", "n/a", "null", "none", "#n/a", "#num!", "#div/0!", "#value!", "1.#qnan", "-1.#ind")


class CsvError(ValueError):
    """A file cannot be read as CSV, or does not hold what it should. Carries what the user can do, and the place.

    Attributes:
        hint: what to do.
        line: 1-based, 0 if there is none.
        column: 1-based.
        length: characters.
        text: of the line, where messages may show it.
    """

    text: str | None = None

    def __init__(self, message: str, hint: str = "", line: int = 0, column: int = 1, length: int = 1):
        super().__init__(message)
        self.hint, self.line, self.column, self.length = hint, line, column, length

    def at(self, line: int, text: str, column: int = 0, length: int = 0) -> "CsvError":
        """The same with its place.

        Args:
            line: 1-based.
            text: of the line.
            column: 1-based; 0: as it is.
            length: characters; 0: as they are.
        """
        self.line, self.text = line, text
        self.column, self.length = column or self.column, length or self.length
        return self


class Cell(NamedTuple):
    """Text of a cell and its place.

    Attributes:
        text: without quotes and outer blanks.
        column: 1-based, in characters.
        length: characters, quotes included.
    """

    text: str
    column: int
    length: int


def read_bytes(path: "Path | HeldPath") -> bytes:
    """The bytes of a file of moderate size.

    Raises:
        CsvError: it cannot be read, or is too large.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CsvError(f"more than {MAX_BYTES} bytes (64 MiB)", "take fewer points")
        return path.read_bytes()
    except OSError as error:
        raise CsvError(f"cannot read the table: {error.strerror}", "paths are relative to the scene file") from None


def decoded_text(data: bytes) -> str:
    """Bytes as text: UTF-8, a byte order mark is dropped.

    Raises:
        CsvError: they are something else.
    """
    for start, name in MARKED_ENCODINGS:
        if data.startswith(start):
            raise CsvError(f"the file is {name}", "save the table as text in UTF-8", 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        lines = split_lines(data[: error.start].decode("utf-8", "replace"))
        raise CsvError(
            f"byte {error.start} is not UTF-8", "save the table as text in UTF-8", len(lines), len(lines[-1]) + 1
        ) from None
    if "\0" in text:
        lines = split_lines(text[: text.index("\0")])
        raise CsvError("a byte 0 is no text", "save the table as text in UTF-8", len(lines), len(lines[-1]) + 1)
    return text


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of every line that is not empty and does not begin with #."""
    for number, line in enumerate(split_lines(text), start=1):
        if line[:1] > "#" or (line and not line.isspace() and not line.lstrip().startswith("#")):
            yield number, line


def table_cells(line: str, separator: str) -> list[Cell]:
    """The cells of a line.

    Args:
        line: of text.
        separator: one of SEPARATORS, or ANY.

    Raises:
        CsvError: a quote is not closed, or text follows it.
    """
    pattern, found, at, end = _PATTERNS[separator], [], 0, len(line.rstrip() if separator != "\t" else line)
    if separator == ANY:
        at = len(line) - len(line.lstrip())
    while True:
        while at < end and line[at] == " ":
            at += 1
        start = at
        if line[at : at + 1] == '"':
            quoted = _QUOTED.match(line, at)
            if quoted is None:
                raise CsvError("a quote is not closed in its line", 'close it; a quote in quotes is written `""`', 0, at + 1)
            text, at = quoted[1].replace('""', '"').strip(), min(quoted.end(), end)
            next_one = pattern.match(line, at, end)
            if next_one is None and at < end:
                raise CsvError("text follows a closing quote", 'a quote in quotes is written `""`', 0, at + 1)
        else:
            next_one = pattern.search(line, at, end)
            at = next_one.start() if next_one else end
            text = line[start:at].strip()
        found.append(Cell(text, start + 1, len(line[start:at].rstrip())))
        if next_one is None:
            return found
        at = next_one.end()


def separator_of(header: str) -> str:
    """What separates the cells of a table, by its header: the one that is found most often outside quotes.

    A table of one column has none, and counts as separated by commas.
    """
    bare = "".join(header.split('"')[::2])
    return max(SEPARATORS, key=lambda one: (bare.count(one), -SEPARATORS.index(one)))


def _is_unit(text: str) -> bool:
    try:
        return bool(text) and bool(parse_unit(text))
    except UnitError:
        return False


def number_in(text: str) -> float:
    """The finite number in a cell.

    Raises:
        CsvError: there is none; says what stands there instead.
    """
    try:
        value = float(text)
    except ValueError:
        value = None
    if value is not None and value - value == 0 and (text.isascii() and "_" not in text):
        return value
    shown = f"`{text if len(text) <= 40 else text[:37] + '...'}`"
    if not text:
        raise CsvError("an empty cell", "write a number in every cell, or leave the row out")
    if text.lower().lstrip("+-") in _WORDS or (value is not None and value - value != 0):
        raise CsvError(f"{shown} is not a finite number", "write a finite number, or leave the row out")
    if re.fullmatch(r"[-+]?[0-9]+,[0-9]+", text):
        raise CsvError(f"{shown} is no number", f"write a point: `{text.replace(',', '.')}`")
    begins = _NUMBER.match(text)
    if begins and _is_unit(unit := text[begins.end() :].strip()):
        raise CsvError(f"{shown} is no plain number", f"write the unit into the header, as `NAME [{unit}]`")
    raise CsvError(f"{shown} is no number", "write a number, as 0.25 or 2.5e-1")


MAX_WORLDS = 2**24


class SampleColumn(NamedTuple):
    """Numbers of one path.

    Attributes:
        header: what stands above them, as `k [N/mm]`; of several components that of the first.
        values: in SI, one per row: a number, or a list of the components of a vector.
        unit: of the file, "" where there is none.
        factor: value in SI of that unit.
        parts: numbers of the columns in the file, from 0; one for each component.
        key: of `columns` that says what it is for, "" where the header does.
    """

    header: str
    values: tuple
    unit: str = ""
    factor: float = 1.0
    parts: tuple[int, ...] = (0,)
    key: str = ""


@dataclass(frozen=True)
class SampleColumns:
    """The columns of a table that are used.

    Attributes:
        file: as messages name it.
        n_rows: below the headers.
        values: dotted path to its column, in the order of the file.
        seeds: of the worlds, where the file has them.
        lines: of the header and of every row; () of a Parquet file, which has none.
        text_of: text of a row from 0, or of the headers for None.
        separator: of cells in the text.
    """

    file: str = ""
    n_rows: int = 0
    values: dict[str, SampleColumn] = field(default_factory=dict)
    seeds: tuple[int, ...] | None = None
    lines: tuple[int, ...] = ()
    text_of: Callable[[int | None], str] = field(default=lambda row: "", compare=False, repr=False)
    separator: str = ","

    def where(self, path: str, row: int | None = None) -> Where:
        """Place of a number of a path, of the first component of a vector.

        Args:
            path: dotted path.
            row: from 0; None: its header.
        """
        if not self.lines:
            return Where(self.file, 0, 0, path=path)
        line, part = self.lines[0 if row is None else row + 1], self.values[path].parts[0]
        found = table_cells(self.text_of(row), self.separator)
        if part >= len(found):
            return Where(self.file, line, 1, path=path)
        return Where(self.file, line, found[part].column, max(1, found[part].length), path)
