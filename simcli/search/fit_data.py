"""A measured log: a table of times and quantities, with gaps and standard deviations.

    time [s], joint.pin.q [deg], body.rod.position.z [mm], sigma.joint.pin.q [deg]

Columns have the names of `simcli export`, with any unit of the right dimension. An empty cell or NaN is a gap. A column
`sigma.NAME` has the standard deviations of the column NAME, row by row. CSV, Parquet with the units in its metadata, or
OpenSim's .sto and .mot.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simcli.errors import FileError, UsageError
from simcli.search.opensim_log import OPENSIM, OpenSimRows, channel_of_header, unit_in_degrees
from simcli.spec.base.channel_names import SCALARS, canonical, is_on_demand, kind_of, split_name
from simcli.spec.base.fault_list import did_you_mean
from simcli.spec.values.csv_tables import separator_of
from simcli.spec.values.units import UnitError, column_factor, split_header, to_si

if TYPE_CHECKING:
    from simcli.model.tables.model import Model

_TIME, SIGMA = "time", "sigma."
PASSED = ("world", "frame", "status")  # columns of our own tables that are no quantities
_FIELDS = ("joint_q", "joint_qd", "joint_qdd", "joint_effort", "body_q", "body_qd", "point_position", "point_velocity")
PARQUET = ".parquet"


@dataclass(frozen=True)
class Log:
    """A measured trajectory, in SI.

    Attributes:
        path: file.
        time: [s], (T,).
        line: (T,), of the file; rows from 1 of Parquet.
        labels: (C,), of the columns.
        units: (C,), SI.
        values: (T, C), NaN in gaps.
        sigma: (T, C), standard deviations; NaN if they are not known.
        ignored: headers that say nothing here.
        n_outside: rows that were left out, because they lie outside of the run at some offset of the clocks.
    """

    path: Path
    time: np.ndarray
    line: np.ndarray
    labels: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    sigma: np.ndarray
    ignored: tuple[str, ...] = ()
    n_outside: int = 0

    @property
    def has_sigma(self) -> bool:
        """Whether every number has a standard deviation."""
        return bool(np.isfinite(self.sigma[self.is_known]).all())

    @property
    def is_known(self) -> np.ndarray:
        """(T, C), where there is a number."""
        return np.isfinite(self.values)

    def at(self, row: int) -> str:
        """The place of a row."""
        return f"{self.path}:{self.line[row]}"


@dataclass
class _Raw:
    """A table as it stands in a file.

    Attributes:
        header: words of the columns, without units.
        unit: of each, "" if none is written.
        columns: numbers, NaN in gaps.
        line: of each row.
    """

    header: list[str]
    unit: list[str]
    columns: list[np.ndarray]
    line: np.ndarray


def read_log(path: Path, model: "Model", wanted: Sequence[str] = (), sigmas: Sequence[str] = ()) -> Log:
    """Read a log.

    Args:
        path: CSV, Parquet, .sto or .mot.
        model: whose names the columns have.
        wanted: names of the columns to take; all if there are none.
        sigmas: texts `NAME=VALUE`, one standard deviation for a whole column.

    Raises:
        FileError: with the line and the column of what is wrong.
        UsageError: a wanted column is not there; pyarrow is not installed.
    """
    known = known_units(model)
    if path.suffix.lower() in OPENSIM:
        raw = _read_opensim(path, known, model.joints.name)
    else:
        raw = _read_parquet(path) if path.suffix.lower() == PARQUET else _read_csv(path)
    names = [canonical(name) for name in raw.header]
    _check_header(path, raw, names)
    quantities = [k for k, name in enumerate(names) if name not in (_TIME, *PASSED) and not name.startswith(SIGMA)]
    kept = [k for k in _chosen(path, quantities, names, wanted) if np.isfinite(raw.columns[k]).any()]
    if not kept and len(raw.line):
        raise FileError(f"{path}: has no number below the header, but in `{_TIME}`")
    units = [_unit(path, raw.header[k], names[k], known, raw.unit[k]) for k in kept]
    values = [raw.columns[k] * _factor(path, raw.header[k], raw.unit[k], unit) for k, unit in zip(kept, units, strict=True)]
    sigma = _sigmas(path, raw, names, [names[k] for k in kept], units)
    time = raw.columns[names.index(_TIME)] * _factor(path, _TIME, raw.unit[names.index(_TIME)], "s")
    passed = tuple(raw.header[k] for k in range(len(names)) if names[k] in PASSED or (k in quantities and k not in kept))
    labels = tuple(names[k] for k in kept)
    log = Log(path, time, raw.line, labels, tuple(units), np.array(values).T, np.array(sigma).T, passed)
    _check_rows(log, names)
    return _with_sigmas(log, sigmas)


def known_units(model: "Model") -> dict[str, str]:
    """SI units of the columns that every table of this mechanism may have, by label."""
    from simcli.analysis.states.columns import field_columns
    from simcli.records.contents.results import result_axes

    axes = result_axes(model)
    return {name.label: name.unit for field in _FIELDS for name in field_columns(field, axes)}


def _read_csv(path: Path) -> _Raw:
    text = _text_of(path)
    header = next((line for line in text.splitlines() if line.strip()), "")
    try:
        return _rows_of(path, csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(header)))
    except csv.Error as error:
        raise FileError(f"{path}: is not a CSV table: {error}") from error


def _read_opensim(path: Path, known: dict[str, str], joints: Sequence[str]) -> _Raw:
    rows = OpenSimRows(path, _text_of(path))
    raw = _rows_of(path, rows)
    raw.header = [channel_of_header(word, known, joints) for word in raw.header]
    if rows.in_degrees:
        raw.unit = [unit or unit_in_degrees(canonical(name), known) for name, unit in zip(raw.header, raw.unit, strict=True)]
    return raw


def _text_of(path: Path) -> str:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            return stream.read()
    except UnicodeDecodeError:
        raise FileError(f"{path}: is not a table in UTF-8; give a CSV or Parquet file") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error


def _rows_of(path: Path, reader) -> _Raw:
    header = next((row for row in reader if any(cell.strip() for cell in row)), None)
    if header is None:
        raise FileError(f"{path}: is empty; the first line names the columns, as `time [s], joint.pin.q [rad]`")
    words = [cell.strip() for cell in header]
    split_words = [split_header(text) for text in words]
    rows, lines = [], []
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(words):
            raise FileError(f"{path}:{reader.line_num}: {len(row)} cells, but the header names {len(words)}")
        rows.append([_number(path, reader.line_num, word, cell) for word, cell in zip(words, row, strict=True)])
        lines.append(reader.line_num)
    columns = list(np.array(rows, float).reshape(len(rows), len(words)).T)
    return _Raw([word.strip() for word, _ in split_words], [unit for _, unit in split_words], columns, np.array(lines, int))


def _number(path: Path, line: int, header: str, text: str) -> float:
    text = text.strip()
    if not text or header.partition(" ")[0] in PASSED:
        return np.nan
    try:
        value = float(text)
    except ValueError:
        raise FileError(
            f"{path}:{line}: column `{header}`: `{text}` is not a number; write one, or take the column out"
        ) from None
    if np.isinf(value):
        raise FileError(f"{path}:{line}: column `{header}`: `{text}` is not finite")
    return value


def _read_parquet(path: Path) -> _Raw:
    from simcli.analysis.export.binary_files import pyarrow_of

    pa, parquet = pyarrow_of()
    try:
        table = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path}: is not a Parquet table: {str(error).splitlines()[0]}") from error
    header, unit, columns = [], [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        header.append(field.name)
        unit.append((field.metadata or {}).get(b"unit", b"").decode())
        is_number = pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
        if not is_number and field.name not in PASSED:
            raise FileError(f"{path}: column `{field.name}` has no numbers; take it out")
        empty = np.full(len(column), np.nan)
        columns.append(column.cast(pa.float64()).to_numpy() if is_number else empty)
    return _Raw(header, unit, columns, np.arange(1, table.num_rows + 1))


def _check_header(path: Path, raw: _Raw, names: list[str]) -> None:
    for k, name in enumerate(names):
        if name in names[:k]:
            raise FileError(f"{path}:1: the column `{raw.header[k]}` stands there twice")
    if _TIME not in names:
        there = ", ".join(f"`{word}`" for word in raw.header[:6])
        raise FileError(f"{path}:1: there is no column `{_TIME}`; it has {there}")
    for k, name in enumerate(names):
        if name.startswith(SIGMA) and canonical(name.removeprefix(SIGMA)) not in names:
            hint = did_you_mean(name.removeprefix(SIGMA), [one for one in names if one != name], "columns")
            raise FileError(f"{path}:1: `{raw.header[k]}` belongs to no column: {hint}")


def _chosen(path: Path, quantities: list[int], names: list[str], wanted: Sequence[str]) -> list[int]:
    from fnmatch import fnmatchcase

    if not quantities:
        raise FileError(f"{path}:1: there is no quantity beside the time; name columns as joint.pin.q [rad]")
    if not wanted:
        return quantities
    kept: list[int] = []
    for pattern in wanted:
        found = [k for k in quantities if fnmatchcase(names[k], canonical(pattern))]
        if not found:
            hint = did_you_mean(canonical(pattern), [names[k] for k in quantities], "columns")
            raise UsageError(f"-c {pattern}: {path} has no such column: {hint}")
        kept += [k for k in found if k not in kept]
    return kept


def _unit(path: Path, header: str, name: str, known: dict[str, str], given: str) -> str:
    """SI unit of a column; of diagnostics, whose units differ, that of the header itself."""
    if name in known:
        return known[name]
    group, quantity = split_name(name).group, split_name(name).quantity
    if group in SCALARS and quantity in SCALARS[group]:
        return "J" if group == "energy" else given
    if found := _unit_on_demand(name, known):
        return found
    several = [label for label in known if label.startswith(f"{name}.")]
    if several:
        raise FileError(f"{path}:1: `{header}` has {len(several)} components: name one, as `{several[0]}`")
    hint = did_you_mean(name, known, "columns")
    raise FileError(f"{path}:1: unknown column `{header}`: {hint}; -c NAME takes some columns only")


def _unit_on_demand(name: str, known: dict[str, str]) -> str:
    """SI unit of what tables of states do not have: wrenches, and what a run holds if it is named; "" of anything else."""
    from simcli.analysis.worlds.measure_layouts import SI

    whole, _, part = name.rpartition(".")
    if split_name(whole).group == "joint" and split_name(whole).quantity == "wrench":
        return "N" if part.startswith("f") else "N m"
    for one in (name, whole):
        if is_on_demand(one):
            effort = name.replace(".drive_effort", ".effort")
            return known.get(effort, "") if kind_of(one) == "drive_effort" else next(iter(SI.get(kind_of(one), ())), "")
    return ""


def _factor(path: Path, header: str, unit: str, expected: str) -> float:
    try:
        return column_factor(header, unit, expected)
    except UnitError as error:
        raise FileError(f"{path}:1: {error}") from None


def _sigmas(path: Path, raw: _Raw, names: list[str], labels: list[str], units: list[str]) -> list[np.ndarray]:
    found = {canonical(name.removeprefix(SIGMA)): k for k, name in enumerate(names) if name.startswith(SIGMA)}
    out = [np.full(len(raw.line), np.nan) for _ in labels]
    for n, (label, unit) in enumerate(zip(labels, units, strict=True)):
        if label in found:
            k = found[label]
            out[n] = raw.columns[k] * _factor(path, raw.header[k], raw.unit[k], unit)
    return out


def _check_rows(log: Log, names: list[str]) -> None:
    """Refuse rows without a time, several worlds, and standard deviations that are none."""
    if not len(log.time):
        raise FileError(f"{log.path}: has a header and no row below it")
    without = np.flatnonzero(~np.isfinite(log.time))
    if len(without):
        raise FileError(f"{log.at(without[0])}: column `{_TIME}`: the cell is empty")
    times, first = np.unique(log.time, return_index=True)
    if "world" in names and len(times) < len(log.time):
        again = int(np.setdiff1d(np.arange(len(log.time)), first)[0])
        raise FileError(
            f"{log.at(again)}: the time {log.time[again]:g} s stands there twice: a log is of one world; "
            "`simcli export --world I` writes one"
        )
    bad = np.argwhere(log.is_known & ~(log.sigma > 0.0) & np.isfinite(log.sigma))
    if len(bad):
        raise FileError(f"{log.at(bad[0][0])}: column `{SIGMA}{log.labels[bad[0][1]]}`: a standard deviation is above 0")
    column = np.isfinite(log.sigma).any(axis=0)
    gaps = np.argwhere(log.is_known & np.isnan(log.sigma) & column)
    if len(gaps):
        row, k = gaps[0]
        label = log.labels[k]
        raise FileError(f"{log.at(row)}: column `{SIGMA}{label}`: the cell is empty, and `{label}` has a number")


def _with_sigmas(log: Log, texts: Sequence[str]) -> Log:
    """Standard deviations of the command line; those of the file stay."""
    sigma = log.sigma.copy()
    for text in texts:
        name, equals, value = (part.strip() for part in text.rpartition("="))
        places = [k for k, label in enumerate(log.labels) if label == canonical(name)]
        if not equals or not places:
            hint = did_you_mean(canonical(name), log.labels, "columns")
            raise UsageError(f"--sigma {text}: write NAME=VALUE, as 'joint.pin.q=0.5 deg': {hint}")
        try:
            number = (
                float(value)
                if value.replace(".", "").replace("-", "").replace("e", "").isdigit()
                else to_si(value, log.units[places[0]])
            )
        except (UnitError, ValueError) as error:
            raise UsageError(f"--sigma {text}: {error}") from None
        if not 0.0 < number < np.inf:
            raise UsageError(f"--sigma {text}: a standard deviation is above 0")
        sigma[:, places[0]] = np.where(np.isnan(sigma[:, places[0]]), number, sigma[:, places[0]])
    known = [np.isfinite(sigma[:, k]).any() for k in range(len(log.labels))]
    if any(known) and not all(known):
        lack = log.labels[known.index(False)]
        raise UsageError(f"`{lack}` has no standard deviation, and others have: give --sigma {lack}=VALUE as well, or none")
    return replace(log, sigma=sigma)
