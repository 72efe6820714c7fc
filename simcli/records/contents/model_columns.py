"""The group /model as data: enough to draw and to compute without the scene.

Axis names as in `layout`, and: `W|1` one entry shared by all worlds or one per world; `J+1`, `NQ` ... offsets;
`V`, `T` mesh vertices and triangles of all shapes, `S+1` their offsets; `end` the two ends of a spring.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simcli.model.joints.catalogue import CATALOGUE as JOINTS
from simcli.model.joints.catalogue import TYPE_NAME
from simcli.model.tables.joint_tables import Joints
from simcli.model.tables.model import NAMED_TABLES, TABLES, JointKind, Model, declared_columns
from simcli.model.tables.table_base import TableColumn, empty_array
from simcli.output_channels import QUATERNION, XYZ
from simcli.records.contents.layout import COMPONENTS, NAME_SCALES, Axes

# Axes that files of before lack.
YOUNGER = frozenset(
    ("G", "Y", "D", "Z", "H", "OD", "I", *(one.axis for one in NAMED_TABLES.values() if not one.is_original))
)
NOT_STORED = -2  # index of a body or joint that `output.select` left out (-1 is the world)


@dataclass(frozen=True)
class ModelColumn:
    """One table of /model.

    Attributes:
        name: of the dataset in /model.
        axes: axis names.
        unit: of the values.
        read: takes it from a model.
        refers: axis if the values are indices along it, else "".
        path: where it stands in a model, as `bodies.mass`; "" for what is put together for the file.
        is_later: whether files of before lack it, though not what it is of.
    """

    name: str
    axes: tuple[str, ...]
    unit: str
    read: Callable[[Model], np.ndarray]
    refers: str = ""
    path: str = ""
    is_later: bool = False

    @property
    def is_younger(self) -> bool:
        """Whether files of before lack it, which have none of what it is about."""
        return self.is_later or not YOUNGER.isdisjoint(self.axes)

    def absent(self, axes: Axes) -> np.ndarray:
        """What such a file would hold, by its axes."""
        return empty_array(self.axes, float, **{axis: axes.size(axis) for axis in self.axes if axis in axes.label})


def _column(table: str, name: str, what: TableColumn) -> ModelColumn:
    """A column that stands in the model as `table.column`, or as an attribute of the model itself."""

    def read(model: Model) -> np.ndarray:
        return np.asarray(getattr(getattr(model, table) if table else model, name))

    label = what.dataset or f"{TABLES[table].in_files.entry}_{name}"
    path = f"{table}.{name}" if table else name
    return ModelColumn(label, what.axes, what.unit, read, what.refers, path, what.is_later)


def _ragged(table: str, name: str, what: TableColumn) -> tuple[ModelColumn, ModelColumn]:
    """Of a column that has an array for each entry: where each begins, and all of them, one after the other."""

    def parts(model: Model) -> list[np.ndarray]:
        kind = np.float64 if what.kind is float else np.int64
        return [np.asarray(part, kind).reshape(-1, 3) for part in getattr(getattr(model, table), name)]

    def read(model: Model) -> np.ndarray:
        return np.concatenate([what.empty(), *parts(model)])

    def offsets(model: Model) -> np.ndarray:
        return np.cumsum([0, *map(len, parts(model))], dtype=np.int64)

    edge = f"{TABLES[table].in_files.axis}+1"
    return (
        ModelColumn(f"{what.dataset}_start", (edge,), "1", offsets),
        ModelColumn(what.dataset, what.axes, what.unit, read),
    )


def _columns() -> Iterator[ModelColumn]:
    """Of all columns of a model that files have."""
    for table, name, what in declared_columns():
        left_out = what.left_out or (table and TABLES[table].in_files.left_out)
        if not left_out:
            yield from _ragged(table, name, what) if what.is_ragged else (_column(table, name, what),)


# Further labelled axes of /model.
LABELS = {
    "xyz2": XYZ,
    "dof_kind": ("linear", "angular"),
    "bound": ("minimum", "maximum"),
    "end": ("a", "b"),
    "quat": QUATERNION,
    "corner": ("0", "1", "2"),
}


# Axes that are only lengths, and their scales.
BARE_AXES = {"V": "vertex", "T": "face", **{f"{one.axis}+1": f"{one.entry}_edge" for one in NAMED_TABLES.values()}}
COLUMNS = tuple(_columns())
if unknown := {axis for column in COLUMNS for axis in column.axes} - {"W|1", *BARE_AXES, *NAME_SCALES, *COMPONENTS, *LABELS}:
    raise TypeError(f"columns of model/tables have axes without names: {unknown}; name them in LABELS of {__name__}")


@dataclass(frozen=True)
class WorldTables:
    """What a file says of its worlds once: all of /model and /params.

    Attributes:
        columns: arrays of /model by name, as of COLUMNS.
        units: q_unit (NQ), qd_unit (NV) and effort_unit (NV).
        param_unit: (P,).
        param_value: (W, P).
        world_seed: (W,).
    """

    columns: Mapping[str, np.ndarray]
    units: Mapping[str, Sequence[str]]
    param_unit: Sequence[str]
    param_value: np.ndarray
    world_seed: np.ndarray


def world_tables_of(model: Model, axes: Axes) -> WorldTables:
    """The tables of a model, cut to the axes that the file keeps."""
    units = {name: _kept(values, axes, name) for name, values in coordinate_units(model.joints).items()}
    values = np.asarray(model.param_value, float).reshape(model.n_worlds, len(model.param_name))
    return WorldTables(model_arrays(model, axes), units, model.param_unit, values, np.asarray(model.world_seed, np.uint64))


def _kept(values: Sequence[str], axes: Axes, name: str) -> list[str]:
    axis = "NQ" if name == "q_unit" else "NV"
    return [values[i] for i in axes.index[axis]] if axis in axes.index else list(values)


def model_arrays(model: Model, axes: Axes) -> dict[str, np.ndarray]:
    """Arrays of /model, cut to the axes that the file keeps; booleans as uint8.

    Where `output.select` cuts bodies or joints, indices count the kept ones; -2 refers to one that is not stored.
    """
    return cut_arrays({column.name: column.read(model) for column in COLUMNS}, axes)


def cut_world_tables(tables: WorldTables, axes: Axes, worlds: np.ndarray) -> WorldTables:
    """WorldTables of some worlds, cut to the axes that a file keeps.

    Args:
        tables: of a file.
        axes: of the new file, with the entries of the old one that it keeps as `index`.
        worlds: numbers in the old file.
    """
    shared = {column.name for column in COLUMNS if column.axes[0] == "W|1"}
    columns = {name: array[worlds] if name in shared and len(array) > 1 else array for name, array in tables.columns.items()}
    units = {name: _kept(values, axes, name) for name, values in tables.units.items()}
    values, seeds = tables.param_value[worlds], tables.world_seed[worlds]
    return WorldTables(cut_arrays(columns, axes), units, tables.param_unit, values, seeds)


def joined_world_tables(parts: Sequence[WorldTables]) -> WorldTables:
    """WorldTables of the worlds of several files, one after the other.

    Raises:
        ValueError: what all worlds share differs; the message names the table.
    """
    first, columns = parts[0], {}
    for column in COLUMNS:
        some = [part.columns[column.name] for part in parts]
        same = all(one.shape == some[0].shape and one.tobytes() == some[0].tobytes() for one in some)
        if same and (column.axes[0] != "W|1" or len(some[0]) == 1):
            columns[column.name] = some[0]
        elif column.axes[0] != "W|1" or any(one.shape[1:] != some[0].shape[1:] for one in some):
            raise ValueError(column.name)
        else:
            columns[column.name] = np.concatenate(
                [
                    np.broadcast_to(one, (len(part.param_value), *one.shape[1:]))
                    for one, part in zip(some, parts, strict=True)
                ]
            )
    values, seeds = ([getattr(part, name) for part in parts] for name in ("param_value", "world_seed"))
    return WorldTables(columns, first.units, first.param_unit, np.concatenate(values), np.concatenate(seeds))


def cut_arrays(read: Mapping[str, np.ndarray], axes: Axes) -> dict[str, np.ndarray]:
    """Arrays of /model, cut to the axes that the file keeps; as of `model_arrays`."""
    arrays = {}
    for column in COLUMNS:
        array = np.asarray(read[column.name])
        for k, axis in enumerate(column.axes):
            if axis in axes.index:
                array = np.take(array, axes.index[axis], axis=k)
        if column.refers in axes.index:
            array = _renumbered(array, axes.index[column.refers])
        arrays[column.name] = array.astype(np.uint8) if array.dtype == bool else np.ascontiguousarray(array)
    if "J" in axes.index:
        for name in ("q_start", "qd_start"):
            lengths = np.diff(np.asarray(read[name]))[axes.index["J"]]
            arrays[name] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return arrays


def _renumbered(indices: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Indices among the kept rows: -1 and -2 stay, what is not kept becomes -2."""
    position = {int(old): new for new, old in enumerate(kept)}
    flat = [position.get(int(i), NOT_STORED if i >= 0 else int(i)) for i in np.ravel(indices)]
    return np.array(flat, np.int64).reshape(np.shape(indices))


def coordinate_units(joints: Joints) -> dict[str, tuple[str, ...]]:
    """Units along the axes NQ (q) and NV (qd, effort), from the joint types."""
    q: list[str] = []
    qd: list[str] = []
    effort: list[str] = []
    for kind, (linear, angular) in zip(joints.kind, joints.dof_dim, strict=True):
        if JOINTS[TYPE_NAME[JointKind(kind)]].has_quaternion:
            q += ["m"] * int(linear) + ["rad"] * (int(angular) - 3) + ["1"] * 4
        else:
            q += ["m"] * int(linear) + ["rad"] * int(angular)
        qd += ["m/s"] * int(linear) + ["rad/s"] * int(angular)
        effort += ["N"] * int(linear) + ["N m"] * int(angular)
    return {"q_unit": tuple(q), "qd_unit": tuple(qd), "effort_unit": tuple(effort)}
