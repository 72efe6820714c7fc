"""Results as CSV: one row per state, the columns of `columns`, which the commands read back."""

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from simcli.analysis.states.columns import field_columns
from simcli.analysis.states.portions import States
from simcli.errors import OutputError
from simcli.records.contents.results import ResultAxes
from simcli.records.drafts import draft_of


class CsvWriter:
    """Writes one table; nothing stands at its path before all is written.

    Args:
        path: of the file. What stands there is replaced: whether it may be is the caller's decision.
        fields: names of `records.reading.results.FIELDS`, in order.
        axes: of the model.
        with_time: write the time of each state.
        with_world: write the world of each state.

    Raises:
        OutputError: the file cannot be made.
    """

    def __init__(self, path: Path, fields: Sequence[str], axes: ResultAxes, with_time: bool, with_world: bool):
        self.path, self.fields, self.n_states = path, tuple(fields), 0
        self.with_time, self.with_world = with_time, with_world
        self._draft = draft_of(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self._draft.open("w", newline="", encoding="utf-8")
        except OSError as error:
            raise self._failed(error) from error
        self._writer = csv.writer(self._stream, lineterminator="\n")
        places = ["time [s]"] * with_time + ["world"] * with_world
        self._rows([[*places, *(name.header for field in fields for name in field_columns(field, axes))]])

    def __enter__(self) -> "CsvWriter":
        return self

    def __exit__(self, kind, error, traceback) -> None:
        try:
            self._stream.close()
            if kind is None:
                os.replace(self._draft, self.path)
        except OSError as problem:
            if kind is None:
                raise self._failed(problem) from problem
        finally:
            self._draft.unlink(missing_ok=True)

    def put(self, states: States, values: Mapping[str, np.ndarray]) -> None:
        """Append states; floats in the shortest form that reads back as the same number, NaN as an empty cell.

        Raises:
            OutputError: the file cannot be written.
        """
        n = len(states)
        table = np.concatenate([values[field].reshape(n, -1) for field in self.fields], axis=1)
        rows = []
        for time, world, numbers in zip(states.time.tolist(), states.world.tolist(), table.tolist(), strict=True):
            places = [repr(time)] * self.with_time + [str(world)] * self.with_world
            rows.append([*places, *("" if x != x else repr(x) for x in numbers)])
        self._rows(rows)
        self.n_states += n

    def _rows(self, rows: list[list[str]]) -> None:
        try:
            self._writer.writerows(rows)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> OutputError:
        return OutputError(f"{self.path}: cannot write: {error.strerror or error}; nothing was left there")
