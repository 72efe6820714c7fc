"""The ledger of an optimization: what it is, then a line per generation with its points and values.

    DIR/ledger/HOST-PID-TOKEN.jsonl    lines of `sweeps.records.ledger`: checksummed, appended, synced

Every process that works on a folder has a file of its own; they are merged by the number of the generation. Two at once do
the same work to the same bits, and no harm.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from simcli.errors import FileError, OutputError, UsageError
from simcli.sweeps.records.ledger import FOLDER, LEDGER_SUFFIX, Ledger, facts_of, this_process

FORM = 1  # of the lines below


class _Step(StrEnum):
    """What a line is about."""

    SEARCH = "search"  # what is optimized, and with what
    GENERATION = "generation"


@dataclass(frozen=True)
class Generation:
    """One batch of an optimization.

    Attributes:
        number: from 1.
        points: (N, P), in SI.
        values: (N,), of the objective; NaN where there is none.
    """

    number: int
    points: np.ndarray
    values: np.ndarray

    @property
    def facts(self) -> dict[str, Any]:
        """As JSON has it: floats read back to the bit."""
        values = [None if value != value else value for value in self.values.tolist()]
        return {"number": self.number, "points": self.points.tolist(), "values": values}


class Generations:
    """The generations of one folder.

    Args:
        folder: of the search.
        search: what it is, in plain JSON; a folder of another one is refused.

    Raises:
        UsageError: the folder holds something else, or another search.
        OutputError: it cannot be read.
    """

    def __init__(self, folder: Path, search: dict[str, Any]):
        self.folder, self._search = folder, {"form": FORM, **search}
        self.known: dict[int, Generation] = {}
        self._ledger = Ledger(folder, this_process())
        self._is_new = not self._read()

    def add(self, generation: Generation) -> None:
        """Note a generation, and return when it is on the disk.

        Raises:
            OutputError: it cannot be written.
        """
        if self._is_new:
            self._ledger.note(_Step.SEARCH, search=self._search)
            self._is_new = False
        self._ledger.note(_Step.GENERATION, **generation.facts)
        self.known[generation.number] = generation

    def close(self) -> None:
        """Close the ledger of this process."""
        self._ledger.close()

    def _read(self) -> bool:
        """Take in what is there; False if that is nothing."""
        path, is_there = self.folder, False
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path}: is no folder; -o names the folder of an optimization")
        if path.is_dir() and any(path.iterdir()) and not (path / FOLDER).is_dir():
            raise UsageError(f"{path}: is not empty, and holds no optimization; choose another -o")
        for file, facts in self._lines():
            if facts.get("event") == _Step.SEARCH:
                self._compare(facts.get("search") or {})
                is_there = True
            elif facts.get("event") == _Step.GENERATION:
                self._take(file, facts)
            else:
                raise UsageError(f"{file}: is the ledger of something else; choose another -o")
        return is_there

    def _lines(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        try:
            for file in sorted((self.folder / FOLDER).glob(f"*{LEDGER_SUFFIX}")):
                for line in file.read_bytes().splitlines(keepends=True):
                    # A line that was torn by a kill or a full disk has no checksum: its generation is run again.
                    if line.endswith(b"\n") and (facts := facts_of(line)) is not None:
                        yield file, facts
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot be read: {error.strerror or error}") from error

    def _compare(self, other: dict[str, Any]) -> None:
        """Refuse to go on with another search."""
        for name, mine in self._search.items():
            if other.get(name) != mine:
                both = f"its {name}: {_short(other.get(name))}, here: {_short(mine)}"
                raise UsageError(f"{self.folder}: holds another optimization ({both}); choose another -o")

    def _take(self, file: Path, facts: dict[str, Any]) -> None:
        try:
            values = [np.nan if value is None else float(value) for value in facts["values"]]
            one = Generation(int(facts["number"]), np.array(facts["points"], float), np.array(values))
        except (KeyError, TypeError, ValueError):
            raise FileError(f"{file}: a generation is not as this version writes it") from None
        before = self.known.setdefault(one.number, one)
        same = np.array_equal(before.points, one.points) and np.array_equal(before.values, one.values, equal_nan=True)
        if not same:
            raise FileError(
                f"{file}: generation {one.number} stands in this folder twice, and differs: it was made in "
                "different circumstances; begin anew in another folder"
            )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
