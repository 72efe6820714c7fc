"""What differs beside the numbers over time: keys of the scenes, versions, device, names, parameters, numbers of /model.

Numbers of /model are masses, inertias, anchors, stiffnesses, starts; entries are matched by name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simcli.analysis.diff.extremes import Tolerance
from simcli.analysis.diff.run_pairs import WorldPairs
from simcli.errors import SceneError
from simcli.records.contents.layout import COMPONENTS, NAME_SCALES
from simcli.records.contents.model_columns import COLUMNS, LABELS, NOT_STORED, ModelColumn
from simcli.spec import document_of_text
from simcli.spec.base.nodes import plain

if TYPE_CHECKING:
    from simcli.records.reading.reader import Trajectory

_NOTHING = "-"  # a key that one file lacks: it has its default there, or what it belongs to does not exist
NAME_AXES = {
    "bodies": "body_name",
    "joints": "joint_name",
    "points": "point_name",
    "q": "q_label",
    "qd": "qd_label",
    "rows": "row_label",
    "shapes": "shape_name",
}


@dataclass(frozen=True)
class Change:
    """Something that has one value in each file.

    Attributes:
        key: dotted path, as `solver.dt`, or the name of a fact, as `version.numpy`.
        a: value in the one file.
        b: value in the other one.
    """

    key: str
    a: Any
    b: Any


@dataclass(frozen=True)
class NameChange:
    """Names of one kind that the files do not share.

    Attributes:
        kind: as "bodies".
        only_a: names that only the one file has.
        only_b: names that only the other one has.
        reordered: whether the names that both have stand in another order.
    """

    kind: str
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    reordered: bool


def scene_changes(a: "Trajectory", b: "Trajectory") -> list[Change]:
    """Keys of the resolved scenes that differ; of scenes that this version cannot read, the whole text."""
    first, second = a.provenance.scene_resolved, b.provenance.scene_resolved
    if first == second:
        return []
    try:
        mine, theirs = (_leaves(plain(document_of_text(text, "scene").root)) for text in (first, second))
    except SceneError:
        return [Change("scene", first, second)]
    return [
        Change(key, mine.get(key, _NOTHING), theirs.get(key, _NOTHING))
        for key in dict.fromkeys([*mine, *theirs])
        if mine.get(key, _NOTHING) != theirs.get(key, _NOTHING)
    ]


def _leaves(tree: Any, path: str = "") -> dict[str, Any]:
    """Dotted path to value; a list of plain values is one value."""
    if isinstance(tree, dict) and tree:
        parts = ((f"{path}.{key}" if path else str(key), value) for key, value in tree.items())
    elif isinstance(tree, list) and any(isinstance(value, dict | list) for value in tree):
        parts = ((f"{path}[{k}]", value) for k, value in enumerate(tree))
    else:
        return {path: tree}
    return {key: leaf for place, value in parts for key, leaf in _leaves(value, place).items()}


def fact_changes(a: "Trajectory", b: "Trajectory") -> list[Change]:
    """Versions, device, precision, type of the numbers, seed and state of the run that differ."""
    mine, theirs = _facts(a), _facts(b)
    return [
        Change(key, mine.get(key, _NOTHING), theirs.get(key, _NOTHING))
        for key in dict.fromkeys([*mine, *theirs])
        if mine.get(key, _NOTHING) != theirs.get(key, _NOTHING)
    ]


def _facts(run: "Trajectory") -> dict[str, Any]:
    source = run.provenance
    versions = {f"version.{name}": version for name, version in source.versions.items()}
    return {
        "status": run.status,
        "device": source.device,
        "precision": source.precision,
        "output.dtype": run.column("diag/residual").dtype.name,
        "seed": source.seed,
        "deterministic": source.deterministic,
        **versions,
    }


def name_changes(a: "Trajectory", b: "Trajectory") -> list[NameChange]:
    """Names of bodies, joints, points, coordinates, rows and shapes that only one file has, or in another order."""
    changes = []
    for kind, table in NAME_AXES.items():
        mine, theirs = tuple(a.model[table]), tuple(b.model[table])
        if mine != theirs:
            only_a, only_b = _without(mine, theirs), _without(theirs, mine)
            reordered = _without(mine, only_a) != _without(theirs, only_b)
            changes.append(NameChange(kind, only_a, only_b, reordered))
    return changes


def _without(names: Sequence[str], others: Iterable[str]) -> tuple[str, ...]:
    unwanted = set(others)
    return tuple(name for name in names if name not in unwanted)


def param_changes(a: "Trajectory", b: "Trajectory", worlds: WorldPairs) -> list[Change]:
    """Varied parameters that differ: the values of the first world where they do, `joints.pin.q, world 3`."""
    changes = []
    for name in dict.fromkeys([*a.params, *b.params]):
        if name not in a.params or name not in b.params:
            words = ["varied" if name in run.params else _NOTHING for run in (a, b)]
            changes.append(Change(name, *words))
            continue
        mine, theirs = a.params[name][worlds.a], b.params[name][worlds.b]
        differs = ~((mine == theirs) | (np.isnan(mine) & np.isnan(theirs)))
        if differs.any():
            k = int(np.argmax(differs))
            more = int(np.count_nonzero(differs)) - 1
            text = f"{name}, world {worlds.a[k]}" + (f" and {more} more" if more else "")
            changes.append(Change(text, float(mine[k]), float(theirs[k])))
    return changes


_OFFSETS = ("J+1", "S+1")  # they say how lists of other lengths are cut, which is told where the lists are compared


@dataclass(frozen=True)
class TableDifference:
    """How one table of /model differs.

    Attributes:
        name: of the table, as "body_mass".
        unit: of its numbers.
        entry: names of the entry that is farthest beyond the tolerance, as ("crank",).
        world: of it in the one file, None of what all worlds share.
        a, b: its values; of meshes whose lengths differ, the lengths.
        count: entries that are beyond the tolerance.
    """

    name: str
    unit: str
    entry: tuple[str, ...]
    world: int | None
    a: float | int | str
    b: float | int | str
    count: int


def model_changes(a: "Trajectory", b: "Trajectory", worlds: WorldPairs, tolerance: Tolerance) -> list[TableDifference]:
    """Tables of /model that differ by more than a tolerance, in what both files have by name.

    Args:
        a: the one file.
        b: the other one.
        worlds: that are compared.
        tolerance: of numbers; indices and kinds have none.
    """
    found = []
    for column in COLUMNS:
        if column.axes[0] in _OFFSETS:
            continue
        one = _of_table(a, b, column, worlds, tolerance)
        if one is not None:
            found.append(one)
    return found


def _of_table(
    a: "Trajectory", b: "Trajectory", column: ModelColumn, worlds: WorldPairs, tolerance: Tolerance
) -> TableDifference | None:
    x, y = a.model[column.name], b.model[column.name]
    labels = []
    for k, axis in enumerate(column.axes):
        if axis == "W|1":
            x, y = _of_worlds(x, y, worlds)
            labels.append(None)
            continue
        names = [_labels(run, axis, array.shape[k]) for run, array in ((a, x), (b, y))]
        if names[0] is None:
            if x.shape[k] != y.shape[k]:
                return TableDifference(column.name, column.unit, ("number of rows",), None, x.shape[k], y.shape[k], 1)
            labels.append([f"row {i}" for i in range(x.shape[k])])
            continue
        places = [{name: i for i, name in enumerate(some)} for some in names]
        both = [name for name in names[0] if name in places[1]]
        x, y = (
            np.take(array, np.array([place[name] for name in both], np.int64), axis=k)
            for array, place in zip((x, y), places, strict=True)
        )
        labels.append(both)
    if column.refers:
        x, y = (_named(run, column.refers, array) for run, array in ((a, x), (b, y)))
    return _worst(column, x, y, labels, worlds, tolerance)


def _labels(run: "Trajectory", axis: str, size: int) -> list[str] | None:
    """Names along an axis; None if it has none."""
    if axis in NAME_SCALES:
        return [str(name) for name in run.model[NAME_SCALES[axis]]]
    found = COMPONENTS.get(axis) or LABELS.get(axis)
    return list(found) if found and len(found) == size else None


def _of_worlds(x: np.ndarray, y: np.ndarray, worlds: WorldPairs) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the worlds that are compared; one entry if either file's worlds share it."""
    if len(x) == 1 and len(y) == 1:
        return x, y
    x = x[worlds.a] if len(x) > 1 else np.broadcast_to(x, (len(worlds), *x.shape[1:]))
    y = y[worlds.b] if len(y) > 1 else np.broadcast_to(y, (len(worlds), *y.shape[1:]))
    return x, y


def _named(run: "Trajectory", axis: str, indices: np.ndarray) -> np.ndarray:
    """Names instead of indices, so that another order of bodies is no difference."""
    names = [str(name) for name in run.model[NAME_SCALES[axis]]]
    others = {-1: "world", NOT_STORED: "not in the file"}
    flat = [names[i] if 0 <= i < len(names) else others.get(i, str(i)) for i in np.ravel(indices).tolist()]
    return np.array(flat, object).reshape(np.shape(indices))


def _worst(
    column: ModelColumn, x: np.ndarray, y: np.ndarray, labels: list, worlds: WorldPairs, tolerance: Tolerance
) -> TableDifference | None:
    """The entry that is farthest beyond the tolerance."""
    if not x.size:
        return None
    excess = _excess(x, y, tolerance)
    count = int(np.count_nonzero(excess > 1.0))
    if not count:
        return None
    place = np.unravel_index(int(np.argmax(excess)), excess.shape)
    shared = column.axes[0] != "W|1" or len(x) == 1
    world = None if shared else int(worlds.a[place[0]])
    entry = tuple(names[k] for names, k in zip(labels, place, strict=True) if names is not None)
    a, b = (value.item() if hasattr(value, "item") else value for value in (x[place], y[place]))
    return TableDifference(column.name, column.unit, entry, world, a, b, count)


def _excess(x: np.ndarray, y: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """How often the tolerance fits into each difference; infinite where kinds, names or NaN differ."""
    if x.dtype.kind != "f":
        return np.where(x != y, np.inf, 0.0)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(x), np.abs(y))
        excess = np.abs(x - y) / (tolerance.atol + tolerance.rtol * size)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.where(same, 0.0, np.where(np.isfinite(excess), excess, np.inf))
