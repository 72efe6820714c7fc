"""States out of tables: CSV files with a header of names (`columns`), and results of the commands themselves."""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from simcli.analysis.states.columns import PLACES, Name, Names, column_difference, field_columns
from simcli.analysis.states.portions import Held, States
from simcli.errors import FileError, SimcliError, UsageError, first_few
from simcli.model.initial_state import MOST_ANGLE, far_angles
from simcli.model.joints.catalogue import QUATERNIONS
from simcli.model.tables.model import JointKind, Model
from simcli.records.contents.results import FIELDS, ResultAxes, result_axes
from simcli.records.reading.result_reader import Results
from simcli.spec.values.units import UnitError, column_factor, split_header

_ROWS = 4096  # read at a time
UNIT_LENGTH = 1e-3  # how far a quaternion's length may be from 1: what is left of one printed with four digits
INPUT = {"joint": "joint_q", "body": "body_q"}  # what a state must at least hold, by what the command starts from
READ = {
    "joint": ("joint_q", "joint_qd", "joint_qdd", "joint_effort", "recorded_effort", "body_f"),
    "body": ("body_q", "body_qd"),
}


@dataclass(frozen=True)
class _Cell:
    """What one column of a table means: a place (time, world), a number of a field, or nothing."""

    header: str
    name: Name | None
    place: str
    factor: float


def read_state_csv(path: Path, model: Model, start: str) -> Held:
    """States out of a CSV file: a header of names with units, then one state per row.

    Columns of velocities that are missing are zero, columns of coordinates must be there. Loop joints and cables may be
    left out or empty.

    Args:
        path: the file.
        model: its names.
        start: "joint" if coordinates are needed, "body" if poses are.

    Raises:
        FileError: with the line of what is wrong.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            return _Table(path, model, start).read(stream)
    except UnicodeDecodeError:
        raise FileError(f"{path}: is not a table in UTF-8; give a CSV file or an HDF5 file of simcli") from None
    except csv.Error as error:
        raise FileError(f"{path}: is not a CSV table: {error}") from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error


class _Table:
    """One CSV file being read."""

    def __init__(self, path: Path, model: Model, start: str):
        self.path, self.model, self.start = path, model, start
        self.axes = result_axes(model)
        self.names = Names(self.axes)
        self.notes: list[str] = []

    def read(self, stream: TextIO) -> Held:
        """The whole table."""
        reader = csv.reader(stream)
        header = next((row for row in reader if any(cell.strip() for cell in row)), None)
        if header is None:
            raise FileError(f"{self.path}: is empty; the first line names the columns, as `joint.pin.q [rad]`")
        cells = [self.cell(text.strip(), reader.line_num) for text in header]
        self.check_header(cells, reader.line_num)
        portions = list(self.portions(reader, cells))
        table = np.concatenate([numbers for numbers, _ in portions]) if portions else np.zeros((0, len(cells)))
        lines = np.concatenate([lines for _, lines in portions]) if portions else np.zeros(0, np.int64)
        if not len(table):
            raise FileError(f"{self.path}: has a header and no state below it")
        return self.states(cells, table, lines)

    def cell(self, text: str, line: int) -> _Cell:
        """What a word of the header means."""
        label, unit = split_header(text)
        label = label.strip()
        if label in PLACES:
            expected = "s" if label == "time" else ""
            return _Cell(text, None, label, self.factor(text, unit, expected, line))
        name = self.names.find(label)
        if name is not None and name.field in READ[self.start]:
            return _Cell(text, name, "", self.factor(text, unit, name.unit, line))
        if name is not None or self.names.is_unused(label):
            return _Cell(text, None, "", 1.0)
        near = self.names.nearest(label)
        hint = f"; did you mean `{near}`?" if near else ""
        raise FileError(f"{self.path}:{line}: unknown column `{text}`{hint}")

    def factor(self, text: str, unit: str, expected: str, line: int) -> float:
        """See `column_factor`."""
        try:
            return column_factor(text, unit, expected)
        except UnitError as error:
            raise FileError(f"{self.path}:{line}: {error}") from None

    def check_header(self, cells: list[_Cell], line: int) -> None:
        """Refuse columns that stand twice, and missing ones that have no default."""
        seen: dict[object, str] = {}
        for cell in cells:
            key = cell.name or cell.place
            if key and key in seen:
                raise FileError(f"{self.path}:{line}: columns `{seen[key]}` and `{cell.header}` are the same")
            seen[key] = cell.header
        field = INPUT[self.start]
        given = {cell.name.index for cell in cells if cell.name and cell.name.field == field}
        given |= set(np.flatnonzero(~needed(self.model, field)))
        missing = [name.header for name in field_columns(field, self.axes) if name.index not in given]
        if missing:
            raise FileError(f"{self.path}:{line}: columns missing: {first_few(missing, 3)}")
        unused = [cell.header for cell in cells if not cell.name and not cell.place]
        if unused:
            self.notes.append(f"{self.path}: not read: {', '.join(unused[:6])}{', ...' if len(unused) > 6 else ''}")

    def portions(self, reader, cells: list[_Cell]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Numbers of some rows, (n, columns), and their lines."""
        rows: list[list[str]] = []
        lines: list[int] = []
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(cells):
                raise FileError(f"{self.path}:{reader.line_num}: {len(row)} cells, but the header names {len(cells)}")
            rows.append(row)
            lines.append(reader.line_num)
            if len(rows) == _ROWS:
                yield self.numbers(rows, lines, cells), np.array(lines)
                rows, lines = [], []
        if rows:
            yield self.numbers(rows, lines, cells), np.array(lines)

    def numbers(self, rows: list[list[str]], lines: list[int], cells: list[_Cell]) -> np.ndarray:
        """Texts as numbers; NaN for cells that may be empty."""
        optional = np.array([self.is_optional(cell) for cell in cells])
        try:
            table = np.array(rows, float) if not optional.any() else None
        except ValueError:
            table = None
        if table is None:
            table = np.array(
                [
                    [self.number(text, cell, free, line) for text, cell, free in zip(row, cells, optional, strict=True)]
                    for row, line in zip(rows, lines, strict=True)
                ]
            )
        bad = ~np.isfinite(table) & ~optional
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise FileError(
                f"{self.path}:{lines[row]}: column `{cells[column].header}`: `{rows[row][column].strip()}` is not finite"
            )
        return table * np.array([cell.factor for cell in cells])

    def is_optional(self, cell: _Cell) -> bool:
        """True for cells that may be empty or are not read."""
        if cell.place:
            return False
        return cell.name is None or not needed(self.model, cell.name.field)[cell.name.index]

    def number(self, text: str, cell: _Cell, is_optional: bool, line: int) -> float:
        """One cell."""
        text = text.strip()
        if is_optional and (cell.name is None or not text):
            return np.nan
        try:
            return float(text)
        except ValueError:
            problem = f"`{text}` is not a number" if text else "the cell is empty"
            raise FileError(f"{self.path}:{line}: column `{cell.header}`: {problem}") from None

    def states(self, cells: list[_Cell], table: np.ndarray, lines: np.ndarray) -> Held:
        """The numbers sorted into fields."""
        places = {cell.place: table[:, k] for k, cell in enumerate(cells) if cell.place}
        values: dict[str, np.ndarray] = {}
        for field in READ[self.start]:
            columns = [(k, cell.name.index) for k, cell in enumerate(cells) if cell.name and cell.name.field == field]
            if columns:
                array = np.zeros((len(table), len(field_columns(field, self.axes))))
                array[:, ~needed(self.model, field)] = np.nan
                array[:, [index for _, index in columns]] = table[:, [k for k, _ in columns]]
                values[field] = array
        check_coordinates(values, self.model, lambda row: f"{self.path}:{lines[row]}", FileError)
        whole = {name: self.whole(name, places.get(name), lines) for name in ("world", "frame")}
        time = places.get("time", np.full(len(table), np.nan))
        shaped = as_states(values, self.axes, needed(self.model, "joint_effort"))
        states = States(time, whole["world"], whole["frame"], shaped)
        return Held(str(self.path), states, int(whole["world"].max()) + 1, self.notes, "world" in places)

    def whole(self, name: str, column: np.ndarray | None, lines: np.ndarray) -> np.ndarray:
        """Numbers of worlds or frames."""
        if column is None:
            return np.arange(len(lines)) if name == "frame" else np.zeros(len(lines), np.int64)
        bad = np.flatnonzero((column != np.round(column)) | (column < 0) | (column > 2**31))
        if len(bad):
            raise FileError(f"{self.path}:{lines[bad[0]]}: column `{name}`: {column[bad[0]]:g} is not a number of a {name}")
        return column.astype(np.int64)


def needed(model: Model, field: str) -> np.ndarray:
    """Which entries of a field states must have, flattened: not those of loop joints and cables."""
    joints = model.joints
    on_tree = joints.is_tree & (joints.kind != JointKind.CABLE)
    if field == "joint_q":
        return np.repeat(on_tree, np.diff(joints.q_start))
    if field in ("joint_qd", "joint_qdd", "joint_effort", "recorded_effort"):
        return np.repeat(on_tree, np.diff(joints.qd_start))
    return np.ones((7 if field == "body_q" else 6) * model.n_bodies, bool)


def as_states(values: dict[str, np.ndarray], axes: ResultAxes, is_tree: np.ndarray) -> dict[str, np.ndarray]:
    """Fields in their own shapes; efforts become those that a result is compared with, if all of the tree are there."""
    shaped = {name: array.reshape(len(array), *axes.tail(FIELDS[name])) for name, array in values.items()}
    effort = shaped.pop("joint_effort", None)
    if effort is not None and np.isfinite(effort[:, is_tree]).all():
        shaped.setdefault("recorded_effort", effort)
    return shaped


def check_coordinates(
    values: dict[str, np.ndarray], model: Model, place: Callable[[int], str], error: type[SimcliError]
) -> None:
    """Refuse quaternions that are none, and angles in which a scene could not begin.

    Args:
        values: joint_q (N, NQ), body_q (N, 7 B) or (N, B, 7), or neither.
        model: says where the quaternions are.
        place: the place of a row, for the message.
        error: what to raise.
    """
    joints = model.joints
    groups = [
        ("joint_q", f"joint `{joints.name[j]}`", int(joints.q_start[j + 1]) - 4)
        for j in range(model.n_joints)
        if joints.kind[j] in QUATERNIONS and joints.is_tree[j]
    ]
    starts = zip(joints.name, joints.q_start, joints.q_start[1:], joints.dof_dim, strict=False)
    for name, start, end, dim in starts if "joint_q" in values else ():
        far = np.flatnonzero(far_angles(values["joint_q"][:, start:end], dim))
        if len(far):
            words = f"an angle of joint `{name}` is beyond {MOST_ANGLE:g} rad; leave whole turns out"
            raise error(f"{place(int(far[0]))}: {words}")
    groups += [("body_q", f"body `{name}`", 7 * b + 3) for b, name in enumerate(model.bodies.name)]
    for field, owner, first in groups:
        if field not in values:
            continue
        flat = values[field].reshape(len(values[field]), -1)
        length = np.linalg.norm(flat[:, first : first + 4], axis=1)
        bad = np.flatnonzero(np.abs(length - 1.0) > UNIT_LENGTH)
        if len(bad):
            raise error(f"{place(int(bad[0]))}: the quaternion x y z w of {owner} has length {length[bad[0]]:.6g}, not 1")


def read_results(results: Results, model: Model, start: str) -> Held:
    """States out of a result of simcli.

    Args:
        results: an open file.
        model: must have its names.
        start: as of `read_state_csv`.

    Raises:
        UsageError: it belongs to another mechanism, or lacks what the states start from.
    """
    axes, mine = results.axes, result_axes(model)
    field = INPUT[start]
    if field not in results:
        raise UsageError(f"{results.path}: a result of `simcli {results.kind}` holds no {field}")
    fields = [name for name in READ[start] if name in results]
    for axis, what in {"J": "joints", "NQ": "coordinates", "NV": "velocities", "B": "bodies"}.items():
        if axes.label[axis] == mine.label[axis]:
            continue
        if axis != "B" or start == "body":
            change = column_difference(axes.label[axis], mine.label[axis])
            raise UsageError(f"{results.path}: has not the {what} of the scene: {change}")
        fields = [name for name in fields if "B" not in FIELDS[name].axes]
    values = {name: results[name] for name in fields}
    check_coordinates(values, model, lambda row: f"{results.path}: state {row}", FileError)
    shaped = as_states(values, mine, needed(model, "joint_effort"))
    states = States(results["time"], results["world"], results["frame"], shaped)
    return Held(results.path, states, int(states.world.max(initial=0)) + 1, [])
