"""What a table of samples comes to: values per path and world, and their places in the file."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from simcli.errors import Where

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
        from simcli.spec.samples.csv_text import table_cells
        if not self.lines:
            return Where(self.file, 0, 0, path=path)
        line, part = self.lines[0 if row is None else row + 1], self.values[path].parts[0]
        found = table_cells(self.text_of(row), self.separator)
        if part >= len(found):
            return Where(self.file, line, 1, path=path)
        return Where(self.file, line, found[part].column, max(1, found[part].length), path)
