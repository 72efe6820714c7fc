"""Tables of targets: CSV and JSON with a column for each number, and poses of runs and results.

    time, world, hand.x [mm], hand.y, hand.z, hand.qx, .qy, .qz, .qw or .roll, .pitch, .yaw, hand.weight, hand.turn_weight

Names are those of `--target`: bodies, named points, `body@x,y,z`. Those of `simcli export` and `simcli fk` do as well:
body.hand.position.x, body.hand.orientation.w, point.hand/tip.position.x. An empty cell or NaN is a gap: the axis, or the
orientation, is left out in this row.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from simcli import rotations as rot
from simcli.analysis.mechanics.state_sources import Prepared, states_of_table
from simcli.analysis.mechanics.target_starts import SearchOptions
from simcli.analysis.mechanics.target_tasks import ToTargets
from simcli.analysis.states.given import with_given
from simcli.analysis.states.portions import Choice, Held, States, chosen_states, of_world
from simcli.analysis.states.state_tables import check_coordinates
from simcli.analysis.states.subject import Subject
from simcli.analysis.states.target_sets import TargetSet, Wanted, assign, spot_of, targets_of_texts, wanted_of
from simcli.errors import FileError, UsageError
from simcli.model.tables.model import Array, Model
from simcli.records.hdf5_bytes import is_hdf5
from simcli.records.reading.reader import Trajectory
from simcli.records.reading.result_reader import Results, open_any
from simcli.spec.values.units import UnitError, column_factor, split_header

_PLACE, _TURN, _ANGLES = ("x", "y", "z"), ("qx", "qy", "qz", "qw"), ("roll", "pitch", "yaw")
_UNIT = dict.fromkeys(_PLACE, "m") | dict.fromkeys(_TURN, "") | dict.fromkeys(_ANGLES, "rad")
_UNIT |= {"weight": "", "turn_weight": ""}
_EXPORTED = {f"position.{axis}": axis for axis in _PLACE} | {f"orientation.{axis}": f"q{axis}" for axis in "xyzw"}
_NOT_READ = ("body.", "point.", "joint.", "residual.", "energy.", "diag.")  # what tables of simcli hold besides
_PLACES = ("time", "world", "frame", "state")


@dataclass(frozen=True)
class AskedTargets:
    """Targets as the command line gives them.

    Attributes:
        texts: of `--target`.
        table: a file of targets, or None.
        weights: of `--weight`.
    """

    texts: Sequence[str]
    table: Path | None = None
    weights: Sequence[str] = ()


@dataclass(frozen=True)
class _Column:
    """What a column holds.

    Attributes:
        name: of a spot, "" for a place (time, world).
        part: of _UNIT, or of _PLACES.
        factor: to SI.
    """

    name: str
    part: str
    factor: float


def read_targets(path: Path, model: Model, names: Sequence[str]) -> TargetSet:
    """Targets out of a file.

    Args:
        path: CSV, JSON, a run or a result (HDF5).
        model: whose bodies and points are meant.
        names: of the bodies and points that are wanted, () for all that the file has.

    Raises:
        FileError: it cannot be read, with the line.
        UsageError: it has none of what is wanted.
    """
    if is_hdf5(path):
        with open_any(path) as file:
            found = _of_run(file, model, names) if isinstance(file, Trajectory) else _of_result(file, model, names)
    else:
        header, rows = _read_json(path) if path.suffix == ".json" else _read_csv(path)
        found = _of_rows(path, header, rows, model, names)
    if not found.wanted:
        raise UsageError(f"{path}: has no column of a body or point; name one as `hand.x`")
    return found


def _read_csv(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Header, and rows with their lines."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path}: is not a CSV table: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(rows) < 2:
        raise FileError(f"{path}: holds no targets; the first line names the columns, as `hand.x [m]`")
    header = [cell.strip() for cell in rows[0][1]]
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise FileError(f"{path}:{line}: {len(row)} cells, but the header names {len(header)}")
    return header, rows[1:]


def _read_json(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The same of a list of objects, one for each row, or of an object of lists, one for each column."""
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, OSError, RecursionError) as error:
        raise FileError(f"{path}: is not a JSON document: {error}") from None
    if isinstance(document, list) and all(isinstance(row, dict) for row in document):
        header = list(dict.fromkeys(key for row in document for key in row))
        rows = [[row.get(key) for key in header] for row in document]
    elif isinstance(document, dict) and all(isinstance(column, list) for column in document.values()):
        header, lengths = list(document), {len(column) for column in document.values()}
        if len(lengths) > 1:
            raise FileError(f"{path}: columns of {sorted(lengths)} numbers; all have one length")
        rows = [list(row) for row in zip(*document.values(), strict=True)]
    else:
        raise FileError(f"{path}: write a list of objects, one for each row, or an object of lists, one for each column")
    if not rows:
        raise FileError(f"{path}: holds no targets")
    return header, [(k, ["" if cell is None else str(cell) for cell in row]) for k, row in enumerate(rows, 1)]


def _column(path: Path, text: str, model: Model) -> _Column | None:
    """What a word of the header means; None for what is not read.

    Raises:
        FileError: no such column.
    """
    label, unit = split_header(text)
    label = label.strip()
    name, part = ("", label) if label in _PLACES else _named(label)
    if not part:
        if label.startswith(_NOT_READ):
            return None
        near = get_close_matches(label, [f"{one}.x" for one in (*model.bodies.name, *model.points.name)], n=1)
        hint = f"did you mean `{near[0]}`?" if near else "columns are named as `hand.x`, `hand.qw`, `hand/tip.z`, `time`"
        raise FileError(f"{path}: unknown column `{text}`; {hint}")
    try:
        factor = column_factor(text, unit, "s" if part == "time" else _UNIT.get(part, ""))
        if name:
            spot_of(model, name)
    except (UnitError, UsageError) as error:
        raise FileError(f"{path}: column `{text}`: {error}") from None
    return _Column(name, part, factor)


def _named(label: str) -> tuple[str, str]:
    """Name and part of a label, empty if it is none."""
    for exported, part in _EXPORTED.items():
        for group in ("body.", "point."):
            if label.startswith(group) and label.endswith(f".{exported}"):
                return label.removeprefix(group).removesuffix(f".{exported}"), part
    name, _, part = label.rpartition(".")
    return (name, part) if name and part in _UNIT and not label.startswith(_NOT_READ) else ("", "")


def _of_rows(path: Path, header: list[str], rows: list, model: Model, names: Sequence[str]) -> TargetSet:
    columns = [_column(path, text, model) for text in header]
    table = np.array([[_number(path, cell, line) for cell in row] for line, row in rows])
    values: dict[tuple[str, str], Array] = {}
    for column, numbers in zip(columns, table.T, strict=True):
        if column is None or (column.name and names and column.name not in names):
            continue
        if (column.name, column.part) in values:
            raise FileError(f"{path}: two columns hold `{column.part}` of `{column.name or 'a row'}`")
        values[column.name, column.part] = numbers * column.factor
    n = len(table)
    world = _whole(path, "world", values.pop(("", "world"), np.zeros(n)), rows)
    found = TargetSet(
        str(path), values.pop(("", "time"), np.full(n, np.nan)), world, np.arange(n), is_numbered="world" in header
    )
    for name in dict.fromkeys(name for name, _ in values if name):
        _fill(found.of(name), {part: numbers for (one, part), numbers in values.items() if one == name}, f"{path}: `{name}`")
    unused = [text for text, column in zip(header, columns, strict=True) if column is None]
    if unused:
        found.notes.append(f"{path}: not read: {', '.join(unused[:6])}{', ...' if len(unused) > 6 else ''}")
    return found


def _number(path: Path, text: str, line: int) -> float:
    try:
        number = float(text.strip() or "nan")
    except ValueError:
        raise FileError(f"{path}:{line}: `{text}` is not a number") from None
    if np.isinf(number):
        raise FileError(f"{path}:{line}: `{text}` is not finite")
    return number


def _whole(path: Path, name: str, column: Array, rows: list) -> Array:
    bad = np.flatnonzero(~((column == np.round(column)) & (column >= 0) & (column < 2**31)))
    if len(bad):
        raise FileError(f"{path}:{rows[bad[0]][0]}: column `{name}`: {column[bad[0]]:g} is not a number of a {name}")
    return column.astype(np.int64)


def _fill(wanted: Wanted, given: dict[str, Array], place: str) -> None:
    """Put the columns of one spot where they belong."""
    for k, axis in enumerate(_PLACE):
        wanted.place[:, k] = given.get(axis, np.nan)
    for kind, parts in {"quat_xyzw": _TURN, "rpy": _ANGLES}.items():
        some = [part for part in parts if part in given]
        if some and len(some) < len(parts):
            raise FileError(f"{place}: has `{some[0]}`, and an orientation needs {', '.join(parts)}")
        if some:
            assign(wanted, kind, np.stack([given[part] for part in parts], axis=1), place)
    for name in ("weight", "turn_weight"):
        if name in given:
            weight = np.nan_to_num(given[name])
            if (weight < 0.0).any():
                raise FileError(f"{place}: column `{name}` holds {weight.min():g}; weights are from 0 on")
            setattr(wanted, name, weight)


def _chosen(where: str, names: Sequence[str], bodies: Sequence[str], model: Model) -> list[str]:
    """Names that are wanted of a file of poses; without any, the bodies that it shares with the scene."""
    for name in names:
        body = model.bodies.name[spot_of(model, name).body]
        if body not in bodies:
            raise UsageError(f"{where}: has no body `{body}`, which the target `{name}` is on")
    return list(names) or [name for name in bodies if name in model.bodies.name]


def _of_run(run: Trajectory, model: Model, names: Sequence[str]) -> TargetSet:
    """Frames and worlds of a run."""
    poses = np.asarray(run.column("frames/body_q")[:], float)
    frames, worlds = poses.shape[:2]
    time, frame = np.repeat(run.time[:frames], worlds), np.repeat(np.arange(frames), worlds)
    found = TargetSet(run.path, time, np.tile(np.arange(worlds), frames), frame, is_numbered=True)
    return _with_poses(found, poses.reshape(frames * worlds, -1, 7), run.bodies, model, names)


def _of_result(result: Results, model: Model, names: Sequence[str]) -> TargetSet:
    """States of a result that holds poses."""
    found = TargetSet(result.path, result["time"], result["world"], result["frame"], is_numbered=True)
    if "body_q" not in result:
        raise UsageError(f"{result.path}: a result of `simcli {result.kind}` holds no body_q")
    return _with_poses(found, result["body_q"], result.bodies, model, names)


def _with_poses(found: TargetSet, poses: Array, bodies: Sequence[str], model: Model, names: Sequence[str]) -> TargetSet:
    """Targets where bodies are: of a body its pose, of a point its place."""
    for name in _chosen(found.where, names, bodies, model):
        spot, wanted = spot_of(model, name), found.of(name)
        pose = poses[:, bodies.index(model.bodies.name[spot.body])]
        wanted.place[:] = rot.pose_apply(pose, spot.point[0])
        if name in model.bodies.name:
            wanted.turn[:] = pose[:, 3:]
    return found


def prepare_targets(
    subject: Subject,
    choice: Choice,
    given: Mapping[str, Sequence[str]],
    asked: AskedTargets,
    options: SearchOptions,
) -> tuple[ToTargets, Prepared]:
    """Find the targets, build the model that they need, and say where searches begin.

    Args:
        subject: the mechanism.
        choice: which rows and worlds.
        given: joint_q as texts of the command line, in place of the initial coordinates.
        asked: the targets.
        options: how they are searched.

    Raises:
        UsageError: a target is none, or of another mechanism.
        FileError: a table is damaged; with its line.
        SceneError: the scene makes no mechanism.
    """
    names = subject.build(0)
    targets = _asked_targets(asked, names)
    n = subject.n_worlds
    values = {"row": np.arange(len(targets))}
    numbered = targets.is_numbered or n == 1
    worlds = int(targets.world.max(initial=0)) + 1
    held = Held(targets.where, States(targets.time, targets.world, targets.frame, values), worlds, targets.notes, numbered)
    if asked.table is None and n > 1:
        held = _in_all_worlds(held, choice.of_worlds(n, str(subject.path)), n)
        choice = replace(choice, worlds=None)
    held, choice = of_world(held, choice, n)
    chosen = chosen_states(held, choice)
    ready, states = states_of_table(subject, chosen), chosen.states
    seats, row = ready.seats[states.world], states.values["row"]
    start = np.array(np.broadcast_to(ready.model.joint_q, (max(ready.model.n_worlds, 1), ready.model.n_q)))[seats]
    begun = with_given(replace(chosen, states=replace(states, values={"joint_q": start})), ready.model, given)
    values = {"goal": targets.pick(row).goals(ready.model, seats), "start": begun.states.values["joint_q"]}
    check_coordinates({"joint_q": values["start"]}, ready.model, lambda row: "--q", UsageError)
    source = replace(chosen, states=replace(states, values=values))
    bodies = np.array([spot_of(names, name).body for name in targets.wanted])
    return ToTargets(tuple(targets.wanted), bodies, options), replace(ready, source=source)


def _asked_targets(asked: AskedTargets, model: Model) -> TargetSet:
    """Targets of a table, and those of the command line, which hold in all its rows."""
    texts = [wanted_of(text) for text in asked.texts]
    if asked.table is None:
        found = targets_of_texts(asked.texts)
    else:
        found = read_targets(asked.table, model, [name for name, _, numbers in texts if not numbers])
        for name, kind, numbers in texts:
            if numbers:
                assign(found.of(name), kind, np.tile(numbers, (len(found), 1)), f"--target {name}")
    for name in found.wanted:
        spot_of(model, name)
    found.weigh(asked.weights)
    return found


def _in_all_worlds(held: Held, worlds: Array, n_worlds: int) -> Held:
    """The same targets in some worlds."""
    states, n = held.states, len(worlds)
    rows = np.tile(np.arange(len(states)), n)
    picked = replace(states.pick(rows), world=np.repeat(worlds, len(states)))
    return replace(held, states=picked, n_worlds=n_worlds, is_numbered=True)
