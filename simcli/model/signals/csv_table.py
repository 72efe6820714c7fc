"""Numbers from CSV files: times and values of a signal, heights of terrain."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simcli.model.table_base import Array
from simcli.spec.samples.csv_text import ANY, CsvError, cells, decoded, lines_of, read_bytes


def read_csv(path: Path) -> tuple[Array, Array]:
    """Read times and values.

    Columns stand apart by a comma, a semicolon, a tab or blanks. Empty lines and those that begin with # are passed
    over, and so is a first line that is no pair of numbers.

    Args:
        path: the file.

    Returns:
        [s], (n,), rising, and the values, (n,).

    Raises:
        CsvError: with the number of the line.
    """
    rows: list[tuple[float, float]] = []
    for number, line, fields in _lines(path):
        row = _numbers(fields)
        if row is None and not rows and not any(map(_is_number, fields)):
            continue  # the header
        if row is None:
            what = f"{len(fields)} columns" if len(fields) != 2 else f"`{line.strip()[:40]}` is no pair of numbers"
            raise CsvError(f"line {number}: {what}", "write a time and a value per line, as `0.5, 1.25`")
        if not np.isfinite(row).all():
            raise CsvError(f"line {number}: `{line.strip()[:40]}` is not finite", "write finite numbers")
        if rows and row[0] <= rows[-1][0]:
            raise CsvError(f"line {number}: the time {row[0]:g} does not rise", "sort the lines by time, each once")
        rows.append(row)
    if not rows:
        raise CsvError("there are no numbers in it", "write a time and a value per line, as `0.5, 1.25`")
    table = np.array(rows)
    return table[:, 0].copy(), table[:, 1].copy()


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
    for number, line in lines_of(decoded(read_bytes(path))):
        try:
            yield number, line, [cell.text for cell in cells(line, ANY)]
        except CsvError as error:
            raise CsvError(f"line {number}: {error}", error.hint) from None


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _numbers(fields: list[str]) -> tuple[float, float] | None:
    """A pair of numbers, None if it is none."""
    if len(fields) != 2 or not all(map(_is_number, fields)):
        return None
    return float(fields[0]), float(fields[1])
