"""What came of a sweep: a row per case, of the plan and the results alone.

case                 name of the case, as `runs/CASE.h5`
status               ok, stopped, failed, untrusted, missing (not run yet)
status.code          of a failure, as SC601, or of an untrusted case
status.reason        of a failure, as `too fast`, or of an untrusted case
status.time          when it failed or stopped [s]
solver.dt            a choice, by its path or name; likewise what varies within the batches
measure.peak         a measure
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from simcli.analysis.worlds.world_columns import ERROR, STATUS_WORDS, WorldColumn
from simcli.analysis.worlds.world_table import WorldTable, read_table
from simcli.errors import FileError, UsageError
from simcli.model.snapshot import UNTRUSTED
from simcli.records.reading.reader import Trajectory, open_trajectory
from simcli.records.reading.sweep_cases import read_cases
from simcli.spec.schema.sweep import CASE, FAULT_CODE, OF_MEASURE, REASON, STATUS, TIME
from simcli.sweeps.records.plan import Case, Plan

_WORDS = (*STATUS_WORDS[:-1], "missing")
OK, _STOPPED, _FAILED, _UNTRUSTED, _MISSING = _WORDS
AGAIN = "the command that began the sweep runs its cases again"
_CODED = re.compile(r"(SC\d{3}): (.*)", re.DOTALL)


def table_of(
    plan: Plan,
    folder: Path,
    done: Mapping[str, str],
    given_up: Mapping[str, str],
    seen: Callable[[float], None] = lambda part: None,
) -> WorldTable:
    """The table of a sweep, whatever order its results came in.

    Args:
        plan: the cases, in the order of the rows.
        folder: of the sweep.
        done: case to the file of its result, relative to the folder.
        given_up: case without a result that will not be tried again, to the reason.
        seen: takes the part of the results that is read.

    Raises:
        FileError: a result is damaged.
        UsageError: the same measure has two units.
    """
    rows = _Rows(len(plan.cases))
    of_file: dict[str, dict[str, int]] = {}
    there: dict[str, bool] = {}  # a result that was deleted is computed again, and its cases are missing until then
    for row, case in enumerate(plan.cases):
        if case.id in done and there.setdefault(done[case.id], (folder / done[case.id]).is_file()):
            of_file.setdefault(done[case.id], {})[case.id] = row
        elif case.id in given_up:
            rows.give_up(row, given_up[case.id])
    for k, (file, wanted) in enumerate(of_file.items(), 1):
        rows.take(folder / file, wanted)
        seen(k / len(of_file))
    names = WorldColumn(CASE, np.array([one.id for one in plan.cases], "U20"), "", "name of the case")
    return WorldTable({CASE: names} | rows.status() | _labels_of(plan) | rows.measures, len(plan.cases))


def _labels_of(plan: Plan) -> dict[str, WorldColumn]:
    """Columns of choices and of what varies: numbers where all values are numbers, else words."""
    names = list(dict.fromkeys(name for batch in _firsts(plan) for name, _ in batch.labels))
    units, n = dict(plan.units), len(plan.cases)
    values: dict[str, list] = {name: [None] * n for name in names}
    for row, case in enumerate(plan.cases):
        for name, value in case.labels:
            values[name][row] = value
    found = {}
    for name, column in values.items():
        there = {type(value) for value in column} - {type(None)}
        if there <= {int, float}:
            numbers = np.array([np.nan if value is None else value for value in column], float)
            found[name] = WorldColumn(name, numbers, units.get(name, ""), "varied", is_varied=True)
        else:
            words = np.array(["" if value is None else _word(value) for value in column])
            known = tuple(dict.fromkeys(words.tolist()))
            found[name] = WorldColumn(name, words, "", "choice", known, is_varied=True)
    return found


def _firsts(plan: Plan) -> Iterator[Case]:
    """The first case of each batch."""
    first = 0
    for batch in plan.batches:
        yield plan.cases[first]
        first += batch.n_cases


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Trajectory]:
    """A result.

    Raises:
        FileError: it is damaged or gone; says what to do.
    """
    try:
        with open_trajectory(path) as run:
            yield run
    except FileNotFoundError as error:
        raise FileError(f"{path}: is gone; {AGAIN}") from error
    except FileError as error:
        raise FileError(f"{error}. A result that is damaged: remove it, and {AGAIN}") from error


class _Rows:
    """What results say of cases, filled file by file.

    Args:
        n: of cases.

    Attributes:
        measures: columns by name, in the order of the first case that has them.
    """

    def __init__(self, n: int):
        self._n = n
        self._status, self._code = np.full(n, _MISSING, "U10"), np.full(n, "", "U5")
        self._reason, self._time = np.full(n, "", object), np.full(n, np.nan)
        self.measures: dict[str, WorldColumn] = {}

    def give_up(self, row: int, reason: str) -> None:
        """Note a case that brings no result."""
        coded = _CODED.match(reason)
        self._status[row] = _FAILED
        self._code[row], self._reason[row] = coded.groups() if coded else ("", reason)

    def take(self, path: Path, wanted: Mapping[str, int]) -> None:
        """Fill the rows of the cases of a result.

        Args:
            path: of the result.
            wanted: case to row; cases of the result that are not wanted are passed over.

        Raises:
            FileError: the result is damaged, or holds other cases.
        """
        with _opened(path) as run:
            here = {case: world for world, case in enumerate(read_cases(run))}
            lacking = [case for case in wanted if case not in here]
            if lacking:
                raise FileError(f"{path}: does not hold the case {lacking[0]}; `simcli sweep check` tells what is whole")
            worlds = np.array([here[case] for case in wanted])
            rows = np.array(list(wanted.values()))
            columns, codes = read_table([run]).columns, _codes(run)
        self._status[rows] = columns[STATUS].values[worlds]
        self._reason[rows] = columns[REASON].values[worlds]
        self._time[rows] = columns[TIME].values[worlds]
        self._code[rows] = [codes.get(world, "") for world in worlds.tolist()]
        for name, column in columns.items():
            if name.startswith(OF_MEASURE):
                self._measure(path, column)[rows] = column.values[worlds]

    def _measure(self, path: Path, column: WorldColumn) -> np.ndarray:
        """The values of a measure, to be filled."""
        whole = self.measures.setdefault(column.name, replace(column, values=np.full(self._n, np.nan)))
        if whole.unit != column.unit:
            raise UsageError(
                f"{path}: `{column.name}` is in {column.unit or 'no unit'}, in other cases in "
                f"{whole.unit or 'no unit'}: give the measures of the variants different names"
            )
        return whole.values

    def status(self) -> dict[str, WorldColumn]:
        """How the cases ended."""
        reason = self._reason.astype(str)
        columns = (
            WorldColumn(STATUS, self._status, "", "how the case ended", _WORDS),
            WorldColumn(FAULT_CODE, self._code, "", "fault of a failure", _different(self._code)),
            WorldColumn(REASON, reason, "", "of a failure", _different(reason)),
            WorldColumn(TIME, self._time, "s", "when the case failed or stopped"),
        )
        return {column.name: column for column in columns}


def _different(words: np.ndarray) -> tuple[str, ...]:
    return tuple(dict.fromkeys(["", *words.tolist()]))


def _codes(run: Trajectory) -> dict[int, str]:
    """Fault of each world that failed, the first."""
    found: dict[int, str] = {}
    for event in run.events:
        if event.severity >= ERROR or event.code in UNTRUSTED:
            found.setdefault(event.world, event.code)
    return found
