"""The group /model as data: enough to draw and to compute without the scene.

Axis names as in `layout`, and: `W|1` one entry shared by all worlds or one per world; `J+1`, `NQ` ... offsets;
`V`, `T` mesh vertices and triangles of all shapes, `S+1` their offsets; `end` the two ends of a spring.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simcli.model.tables.model import Model
from simcli.records.contents.layout import SCALES, Axes, coordinate_units

YOUNGER = "GYDUZXIML"  # axes that files of before lack
# Columns that files of before lack, of bodies, joints and shapes that those have: zero was all that there was.
YOUNGER_COLUMNS = {
    "body_compliance",
    "body_gravity_compensation",
    "joint_compliance",
    "joint_init_angle",
    "dof_spring_stiffness",
    "dof_spring_rest",
    "dof_spring_energy",
    "shape_margin",
}
NOT_STORED = -2  # index of a body or joint that `output.select` left out (-1 is the world)


@dataclass(frozen=True)
class ModelColumn:
    """One table of /model.

    Attributes:
        name: of the dataset in /model.
        axes: axis names.
        unit: of the values.
        read: takes it from a model.
        refers: "B", "J" or "NV" if the values are indices along that axis, else "".
        path: where it stands in a model, as `bodies.mass`; "" for what is put together for the file.
    """

    name: str
    axes: tuple[str, ...]
    unit: str
    read: Callable[[Model], np.ndarray]
    refers: str = ""
    path: str = ""

    @property
    def is_younger(self) -> bool:
        """Whether files of before lack it, which have none of what it is about."""
        return self.name in YOUNGER_COLUMNS or not set(self.axes).isdisjoint(YOUNGER)

    def absent(self, axes: Axes) -> np.ndarray:
        """What such a file would hold, by its axes."""
        sizes = {"W|1": 1, "pose": 7, "xyz": 3, "quat": 4, "end": 2}
        return np.zeros([axes.size(axis) if axis in axes.label else sizes[axis] for axis in self.axes])


PREFIXES = {
    "bodies": "body",
    "joints": "joint",
    "dofs": "dof",
    "shapes": "shape",
    "points": "point",
    "mimics": "mimic",
    "cables": "cable",
    "bushings": "bushing",
    "springs": "spring",
    "wrenches": "wrench",
    "drags": "drag",
}


def _column(path: str, axes: str, unit: str = "1", name: str = "", refers: str = "") -> ModelColumn:
    """A column that stands in the model as `table.column`, or as an attribute of the model itself."""
    table, _, column = path.rpartition(".")

    def read(model: Model) -> np.ndarray:
        return np.asarray(getattr(getattr(model, table) if table else model, column))

    prefix = PREFIXES.get(table, "")
    return ModelColumn(name or f"{prefix}_{column}", tuple(axes.split()), unit, read, refers, path)


def _ragged(name: str) -> Callable[[Model], np.ndarray]:
    """All meshes' vertices or faces, one after the other."""

    def read(model: Model) -> np.ndarray:
        kind = np.float64 if name == "vertices" else np.int64
        parts = [np.asarray(part, kind).reshape(-1, 3) for part in getattr(model.shapes, name)]
        return np.concatenate([np.zeros((0, 3), kind), *parts])

    return read


def _offsets(name: str) -> Callable[[Model], np.ndarray]:
    def read(model: Model) -> np.ndarray:
        lengths = [len(part) for part in getattr(model.shapes, name)]
        return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)

    return read


COLUMNS = (
    _column("gravity", "W|1 xyz", "m/s^2", name="gravity"),
    _column("bodies.mass", "W|1 B", "kg"),
    _column("bodies.com", "W|1 B xyz", "m"),
    _column("bodies.inertia", "W|1 B xyz xyz2", "kg m^2"),
    _column("bodies.q", "W|1 B pose", "m, 1"),
    _column("bodies.kinematic", "B"),
    _column("bodies.compliance", "W|1 B", "1/(N m)"),
    _column("bodies.gravity_compensation", "W|1 B", "1"),
    _column("joints.kind", "J", name="joint_type"),
    _column("joints.parent", "J", refers="B"),
    _column("joints.child", "J", refers="B"),
    _column("joints.is_tree", "J"),
    _column("joints.enabled", "J"),
    _column("joints.articulation", "J"),
    _column("joints.X_p", "W|1 J pose", "m, 1"),
    _column("joints.X_c", "W|1 J pose", "m, 1"),
    _column("joints.init_angle", "W|1 J", "m, rad"),
    _column("joints.q_start", "J+1", name="q_start"),
    _column("joints.qd_start", "J+1", name="qd_start"),
    _column("joints.dof_dim", "J dof_kind"),
    _column("joints.pitch", "W|1 J", "m/rad"),
    _column("joints.length", "W|1 J bound", "m"),
    _column("joints.compliance", "W|1 J", "m/N, rad/(N m)"),
    _column("dofs.axis", "W|1 NV xyz", "1", name="joint_axis"),
    _column("dofs.joint", "NV", refers="J"),
    _column("dofs.armature", "W|1 NV", "kg, kg m^2"),
    _column("dofs.damping", "W|1 NV", "N s/m, N m s/rad"),
    _column("dofs.spring_stiffness", "W|1 NV", "N/m, N m/rad"),
    _column("dofs.spring_rest", "W|1 NV", "m, rad"),
    _column("dofs.spring_energy", "W|1 NV", "J"),
    _column("dofs.friction", "W|1 NV", "N, N m"),
    _column("dofs.limit_lower", "W|1 NV", "m, rad"),
    _column("dofs.limit_upper", "W|1 NV", "m, rad"),
    _column("dofs.limit_stiffness", "W|1 NV", "N/m, N m/rad"),
    _column("dofs.limit_damping", "W|1 NV", "N s/m, N m s/rad"),
    _column("dofs.velocity_limit", "W|1 NV", "m/s, rad/s"),
    _column("dofs.drive_mode", "NV"),
    _column("dofs.drive_stiffness", "W|1 NV", "N/m, N m/rad"),
    _column("dofs.drive_damping", "W|1 NV", "N s/m, N m s/rad"),
    _column("dofs.drive_target", "W|1 NV", "mixed"),
    _column("dofs.drive_target_velocity", "W|1 NV", "m/s, rad/s"),
    _column("dofs.effort_limit", "W|1 NV", "N, N m"),
    _column("joint_q", "W|1 NQ", "mixed", name="initial_joint_q"),
    _column("joint_qd", "W|1 NV", "mixed", name="initial_joint_qd"),
    _column("joint_f", "W|1 NV", "N, N m", name="applied_joint_effort"),
    _column("mimics.follower", "M", refers="NV"),
    _column("mimics.leader", "M", refers="NV"),
    _column("mimics.ratio", "W|1 M", "1, m/rad, rad/m"),
    _column("mimics.offset", "W|1 M", "m, rad"),
    _column("mimics.curve", "W|1 M I", "mixed"),
    _column("shapes.kind", "S", name="shape_type"),
    _column("shapes.body", "S", refers="B"),
    _column("shapes.size", "W|1 S xyz", "m"),
    _column("shapes.margin", "W|1 S", "m"),
    _column("shapes.pose", "W|1 S pose", "m, 1"),
    _column("shapes.collide", "S"),
    ModelColumn("shape_vertex_start", ("S+1",), "1", _offsets("vertices")),
    ModelColumn("shape_vertex", ("V", "xyz"), "m", _ragged("vertices")),
    ModelColumn("shape_face_start", ("S+1",), "1", _offsets("faces")),
    ModelColumn("shape_face", ("T", "corner"), "1", _ragged("faces")),
    _column("points.body", "N", refers="B"),
    _column("points.position", "W|1 N xyz", "m"),
    _column("springs.body", "K end", refers="B"),
    _column("springs.point", "W|1 K end xyz", "m"),
    _column("springs.stiffness", "W|1 K", "N/m"),
    _column("springs.damping", "W|1 K", "N s/m"),
    _column("springs.rest_length", "W|1 K", "m"),
    _column("springs.slack", "K"),
    _column("springs.pulley_spring", "Z", name="pulley_spring"),
    _column("springs.pulley_body", "Z", name="pulley_body", refers="B"),
    _column("springs.pulley_point", "W|1 Z xyz", "m", "pulley_point"),
    _column("bushings.body", "U end", refers="B"),
    _column("bushings.point", "W|1 U end xyz", "m"),
    _column("bushings.axes", "W|1 U quat", "1"),
    _column("bushings.stiffness", "W|1 U xyz", "N/m"),
    _column("bushings.damping", "W|1 U xyz", "N s/m"),
    _column("bushings.angular_stiffness", "W|1 U xyz", "N m/rad"),
    _column("bushings.angular_damping", "W|1 U xyz", "N m s/rad"),
    _column("bushings.preload", "W|1 U xyz", "N"),
    _column("bushings.angular_preload", "W|1 U xyz", "N m"),
    _column("bushings.rest", "W|1 U pose", "m, 1"),
    _column("cables.joint", "L", refers="J"),
    _column("cables.tangent", "W|1 L xyz", "1"),
    _column("cables.rest", "W|1 L pose", "m, 1"),
    _column("cables.stretch", "W|1 L", "N/m"),
    _column("cables.bend", "W|1 L", "N m/rad"),
    _column("cables.twist", "W|1 L", "N m/rad"),
    _column("cables.stretch_damping", "W|1 L", "N s/m"),
    _column("cables.bend_damping", "W|1 L", "N m s/rad"),
    _column("cables.twist_damping", "W|1 L", "N m s/rad"),
    _column("wrenches.body", "A", refers="B"),
    _column("wrenches.point", "W|1 A xyz", "m"),
    _column("wrenches.force", "W|1 A xyz", "N"),
    _column("wrenches.torque", "W|1 A xyz", "N m"),
    _column("wrenches.follows", "A"),
    _column("drags.body", "X", refers="B"),
    _column("drags.point", "W|1 X xyz", "m"),
    _column("drags.damping", "W|1 X", "N s/m"),
    _column("drags.quadratic", "W|1 X", "N s^2/m^2"),
    _column("drags.angular_damping", "W|1 X", "N m s/rad"),
    _column("drags.angular_quadratic", "W|1 X", "N m s^2/rad^2"),
    _column("drags.wind", "W|1 X xyz", "m/s"),
)

_IN_SCENE = "the scene in the file has it"
_FOUND_AGAIN = "made of other columns, or of the scene, when a run is prepared"
# What /model leaves out: tables of a model, and fields of those and of the model itself, each with the reason. A test holds
# that every other one has a column.
LEFT_OUT: dict[str, str] = {
    **dict.fromkeys(
        (
            "bodies.name",
            "joints.name",
            "mimics.name",
            "shapes.name",
            "points.name",
            "springs.name",
            "bushings.name",
            "cables.name",
            "wrenches.name",
            "drags.name",
            "dofs.label",
            "dofs.q_label",
        ),
        "labels of an axis, see NAME_SCALES",
    ),
    **dict.fromkeys(("shapes.vertices", "shapes.faces"), "of no regular shape: shape_vertex, shape_face"),
    **dict.fromkeys(("n_worlds", "param_name", "param_unit", "param_value", "world_seed"), "they stand in /params"),
    **dict.fromkeys(
        (
            "shapes.heights",
            "shapes.convex",
            "joints.articulation_name",
            "combinations",
            "holds",
            "signals",
            "inputs",
            "motions",
            "plane",
            "bodies.n_vectors",
            "contacts",
            "affine",
            "feedback",
            "sensors",
        ),
        _IN_SCENE,
    ),
    **dict.fromkeys(
        (
            "links",
            "columns",
            "naturals",
            "start",
            "lawful",
            "spring_rows",
            "drag_rows",
            "dofs.q_given",
            "dofs.qd_given",
            "drawing.q",
            "drawing.named",
            "drawing.stays",
        ),
        _FOUND_AGAIN,
    ),
}

# Name scales of /model: axis, dataset; those that /frames uses, and its own.
NAME_SCALES = {
    **{axis: SCALES[axis] for axis in ("B", "J", "NQ", "NV", "R", "G", "Y", "D")},
    "S": "shape_name",
    "K": "spring_name",
    "A": "wrench_name",
    "N": "point_name",
    "M": "mimic_name",
    "L": "cable_name",
    "U": "bushing_name",
    "Z": "pulley_name",
    "X": "drag_name",
    "I": "mimic_power",
}
# Further labelled axes of /model.
LABELS = {
    "xyz2": ("x", "y", "z"),
    "dof_kind": ("linear", "angular"),
    "bound": ("minimum", "maximum"),
    "end": ("a", "b"),
    "quat": ("x", "y", "z", "w"),
    "corner": ("0", "1", "2"),
}


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
    units = {name: _kept(values, axes, name) for name, values in coordinate_units(model).items()}
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
