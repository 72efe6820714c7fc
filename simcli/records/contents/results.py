"""Results of `simcli fk`, `ik`, `id`, `mass-matrix` and `jacobian` on disk: a flat list of states and what belongs to each.

    /            @simcli_result [1, 0]  @kind  @title  @conventions  @uuid
    /provenance  as in the file of a run; @states: where the states came from
    /states      one dataset per field below, with a dimension scale on every axis (xarray opens the group by name)

Axis names: S states, B bodies, J joints, NQ and NV joint coordinates and velocities, NV2 the columns of a matrix over NV,
N named points, and the components of `layout`. The file is made under another name and renamed when it is whole.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from uuid import uuid4

import h5py
import numpy as np

from simcli.model.tables.model import Model
from simcli.records.contents.layout import COMPONENTS, CONVENTIONS, SCALES, annotate_dataset
from simcli.records.contents.model_columns import coordinate_units
from simcli.records.contents.provenance import Provenance, write_provenance
from simcli.records.hdf5_bytes import FORMAT_BOUNDS, drafted_hdf5

RESULT_FORMAT = (1, 0)  # major, minor: a reader refuses a larger major
CHUNK_BYTES = 256 * 1024  # aim of one chunk
NV2, U2 = "NV2", "U2"  # the second of two axes over joint velocities: xarray wants their names to differ
RESULT_SCALES = {**SCALES, "S": "state", "N": "point_name", NV2: "qd_label_column", "H": "shape_name", "Q": "ray_name"}
RESULT_SCALES |= {"U": "unknown_label", U2: "unknown_label_column", "X": "system_coordinate_label"}
LABELLED = ("B", "J", "N", "NQ", "NV", NV2)
OWN_AXES = ("H", "Q", "U", U2, "X", "R")  # axes that only some results have
RESULT_UNITS = {"q_unit": "NQ", "qd_unit": "NV", "effort_unit": "NV"}
OFFSETS = {"q_start": "NQ", "qd_start": "NV"}


@dataclass(frozen=True)
class Field:
    """One quantity per state.

    Attributes:
        axes: names of its axes, S first.
        unit: of the values; "mixed" where it differs along an axis (q_unit, qd_unit, effort_unit say how).
        text: one line: what it is, and in which frame.
        kind: numpy type code.
        names: of whole numbers, the axis whose labels they count; -1 for none.
    """

    axes: tuple[str, ...]
    unit: str
    text: str
    kind: str = "f8"
    names: str = ""


FIELDS: dict[str, Field] = {
    "time": Field(("S",), "s", "time of the state, NaN if it has none"),
    "world": Field(("S",), "1", "world of the batch", "i8"),
    "frame": Field(("S",), "1", "frame or row that the state came from", "i8"),
    "joint_q": Field(("S", "NQ"), "mixed", "joint coordinates"),
    "joint_qd": Field(("S", "NV"), "mixed", "joint velocities"),
    "joint_qdd": Field(("S", "NV"), "mixed", "joint accelerations"),
    "joint_effort": Field(
        ("S", "NV"),
        "mixed",
        "effort along the motion axes: M qdd + bias - external forces, armature in M; NaN at loop joints",
    ),
    "recorded_effort": Field(("S", "NV"), "mixed", "joint_effort of the run that the states came from"),
    "joint_wrench": Field(
        ("S", "J", "wrench"), "N, N m", "force, and torque about the child anchor, on the child; world axes"
    ),
    "joint_wrench_local": Field(("S", "J", "wrench"), "N, N m", "the same in the axes of the child anchor"),
    "body_q": Field(("S", "B", "pose"), "m, 1", "pose of the body frame, world"),
    "body_qd": Field(("S", "B", "twist"), "m/s, rad/s", "velocity of the centre of mass and angular velocity, world"),
    "body_qdd": Field(
        ("S", "B", "twist"), "m/s^2, rad/s^2", "acceleration of the centre of mass and angular acceleration, world"
    ),
    "body_f": Field(("S", "B", "wrench"), "N, N m", "external force, and torque about the centre of mass, world"),
    "point_position": Field(("S", "N", "xyz"), "m", "named points, world"),
    "point_velocity": Field(("S", "N", "xyz"), "m/s", "named points, world"),
    "point_acceleration": Field(("S", "N", "xyz"), "m/s^2", "named points, world"),
    "mass_matrix": Field(("S", "NV", NV2), "mixed", "joint-space mass matrix; zero rows at loop joints"),
    "jacobian": Field(
        ("S", "B", "twist", "NV"),
        "mixed",
        "body Jacobians, J qd = body_qd: velocity of the centre of mass "
        "and angular velocity, world; zero columns at loop joints",
    ),
    "residual_position": Field(("S",), "m", "largest distance of a body from where its joint coordinates put it"),
    "residual_angle": Field(("S",), "rad", "largest turn of a body from where its joint coordinates put it"),
    "residual_velocity": Field(("S",), "m/s", "largest difference of a body's velocity from that of its joint rates"),
    "residual_spin": Field(("S",), "rad/s", "largest difference of an angular velocity from that of the joint rates"),
    "residual_loop": Field(("S",), "m, rad", "largest gap of loops, gears and limits of joints that close loops"),
    "search_status": Field(("S",), "1", "0 the targets are reached, 1 nearest to them, 2 not converged", "i8"),
    "search_iterations": Field(("S",), "1", "iterations of the search", "i8"),
    "search_start": Field(("S",), "1", "number of the search: 0 began at the given coordinates, others at random", "i8"),
    "contact_shape_a": Field(("S",), "1", "shape from which the normal points", "i8", "H"),
    "contact_shape_b": Field(("S",), "1", "the other shape", "i8", "H"),
    "contact_gap": Field(("S",), "m", "distance of the surfaces, negative in overlap"),
    "contact_point": Field(("S", "xyz"), "m", "half way between the surfaces, world"),
    "contact_normal": Field(("S", "xyz"), "1", "from shape a to shape b, world"),
    "contact_surface_a": Field(("S", "xyz"), "m", "the point on the surface of shape a, world"),
    "contact_surface_b": Field(("S", "xyz"), "m", "the point on the surface of shape b, world"),
    "ray_distance": Field(("S", "Q"), "m", "along the ray to the nearest surface, NaN if it meets none"),
    "ray_shape": Field(("S", "Q"), "1", "the shape that it meets, -1 for none", "i8", "H"),
    "ray_point": Field(("S", "Q", "xyz"), "m", "where it meets the surface, world"),
    "ray_normal": Field(("S", "Q", "xyz"), "1", "outward normal of the surface there, world"),
    "system_q": Field(("S", "X"), "mixed", "coordinates of the system"),
    "system_rate": Field(("S", "U"), "mixed", "velocities v of its unknowns"),
    "system_mass": Field(("S", "U", U2), "mixed", "mass matrix M"),
    "system_bias": Field(("S", "U"), "mixed", "h of M a + h = F + J^T lambda: what velocities and gravity need"),
    "system_gravity": Field(("S", "U"), "mixed", "g, what gravity alone needs"),
    "system_coriolis": Field(("S", "U", U2), "mixed", "C, C v = h - g"),
    "constraint_residual": Field(("S", "R"), "mixed", "residuals of the constraint equations that hold"),
    "constraint_jacobian": Field(("S", "R", "U"), "mixed", "J, their gradients"),
    "constraint_force": Field(("S", "R"), "mixed", "lambda, the forces in them"),
    "geometric_stiffness": Field(("S", "U", U2), "mixed", "K = -d(J^T lambda)/dx"),
    "limit_state": Field(("S", "NV"), "1", "-1 at the lower limit of a coordinate, 1 at the upper one, else 0", "i8"),
}


@dataclass(frozen=True)
class ResultAxes:
    """The fixed axes of a result.

    Attributes:
        label: axis name to the labels of its entries.
        unit: q_unit, qd_unit and effort_unit.
        offset: q_start and qd_start, (J + 1,).
        joint_type: (J,), JointKind.
    """

    label: Mapping[str, tuple[str, ...]]
    unit: Mapping[str, tuple[str, ...]]
    offset: Mapping[str, np.ndarray]
    joint_type: np.ndarray

    def tail(self, field: Field) -> tuple[int, ...]:
        """Shape of one state of a field."""
        return tuple(len(self.label[axis]) for axis in field.axes[1:])

    def of_bodies(self, keep: Sequence[int], points: Sequence[int]) -> "ResultAxes":
        """The axes with some of the bodies and named points only."""
        kept = {axis: tuple(self.label[axis][i] for i in some) for axis, some in (("B", keep), ("N", points))}
        return replace(self, label={**self.label, **kept})

    def of_joints(self, joints: Sequence[int], q: Sequence[int], qd: Sequence[int]) -> "ResultAxes":
        """The axes with some of the joints only, and with their coordinates and velocities."""
        some = {"J": joints, "NQ": q, "NV": qd, NV2: qd}
        label = {axis: tuple(self.label[axis][i] for i in kept) for axis, kept in some.items()}
        unit = {name: tuple(self.unit[name][i] for i in some[axis]) for name, axis in RESULT_UNITS.items()}
        starts = {name: np.concatenate(([0], np.cumsum(np.diff(self.offset[name])[joints]))) for name in OFFSETS}
        return ResultAxes({**self.label, **label}, unit, starts, self.joint_type[joints])


def result_axes(model: Model) -> ResultAxes:
    """Axes of results of a whole model."""
    label = {
        "B": model.bodies.name,
        "J": model.joints.name,
        "N": model.points.name,
        "NQ": model.dofs.q_label,
        "NV": model.dofs.label,
        NV2: model.dofs.label,
        **COMPONENTS,
    }
    offset = {"q_start": model.joints.q_start, "qd_start": model.joints.qd_start}
    return ResultAxes(label, coordinate_units(model.joints), offset, model.joints.kind)


class ResultWriter:
    """Writes one result, state after state; nothing stands at its path before all is written.

    Args:
        path: of the file. What stands there is replaced: whether it may be is the caller's decision.
        kind: the command, as "fk".
        fields: names in FIELDS.
        axes: of the model, or of part of its bodies.
        provenance: where the result comes from.
        title: of the file.
        states: where the states came from, one line.
        expected: number of states, if it is known: chunks hold no more.

    Raises:
        OutputError: the file cannot be made.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        fields: Sequence[str],
        axes: ResultAxes,
        provenance: Provenance,
        title: str = "",
        states: str = "",
        expected: int = 1 << 62,
    ):
        self.expected = max(expected, 1)
        self.fields, self.n_states = tuple(fields), 0
        with contextlib.ExitStack() as stack:
            self._backing = stack.enter_context(drafted_hdf5(path))
            file = stack.enter_context(h5py.File(self._backing, "w", libver=FORMAT_BOUNDS))
            file.attrs["simcli_result"] = np.array(RESULT_FORMAT, np.int32)
            for name, text in {"uuid": str(uuid4()), "kind": kind, "title": title, "conventions": CONVENTIONS}.items():
                file.attrs[name] = text
            group = file.create_group("provenance")
            write_provenance(group, provenance)
            group.attrs["states"] = states
            self._states = file.create_group("states")
            self._write_axes(self._states, axes)
            self._open = stack.pop_all()

    def __enter__(self) -> "ResultWriter":
        return self

    def __exit__(self, *what) -> None:
        self._open.__exit__(*what)

    def put(self, values: Mapping[str, np.ndarray]) -> None:
        """Append states: one array per field, S first.

        Raises:
            OSError, RuntimeError: the file cannot be written, which is an OutputError where it is left.
        """
        first = self.n_states
        self.n_states += len(values["world"])
        for name in ("state", *self.fields):
            dataset = self._states[name]
            dataset.resize(self.n_states, axis=0)
            dataset[first:] = np.arange(first, self.n_states) if name == "state" else values[name]
        if self._backing.failure is not None:
            raise self._backing.failure

    def _write_axes(self, group: h5py.Group, axes: ResultAxes) -> None:
        """Scales, units and offsets, then the empty fields."""
        text = h5py.string_dtype()
        for axis in (*LABELLED, *COMPONENTS, *(axis for axis in OWN_AXES if axis in axes.label)):
            names = np.array(axes.label[axis], object)
            scale = group.create_dataset(RESULT_SCALES[axis], shape=names.shape, data=names, dtype=text)
            scale.make_scale(RESULT_SCALES[axis])
        state = group.create_dataset("state", (0,), "<i8", maxshape=(None,), chunks=(min(4096, self.expected),))
        state.make_scale("state")
        for name, axis in RESULT_UNITS.items():
            names = np.array(axes.unit[name], object)
            group.create_dataset(name, shape=names.shape, data=names, dtype=text).dims[0].attach_scale(
                group[RESULT_SCALES[axis]]
            )
        edge = group.create_dataset("joint_edge", data=np.arange(len(axes.label["J"]) + 1))
        edge.make_scale("joint_edge")
        for name in OFFSETS:
            group.create_dataset(name, data=np.asarray(axes.offset[name], np.int64)).dims[0].attach_scale(edge)
        kinds = group.create_dataset("joint_type", data=np.asarray(axes.joint_type, np.int64))
        annotate_dataset(kinds, [group[RESULT_SCALES["J"]]])
        for name in self.fields:
            self._create_field(group, name, axes)

    def _create_field(self, group: h5py.Group, name: str, axes: ResultAxes) -> None:
        field = FIELDS[name]
        tail = axes.tail(field)
        rows = min(max(CHUNK_BYTES // (8 * max(prod(tail), 1)), 1), self.expected)
        # An axis without entries cannot be chunked; its field holds nothing and takes chunks of length one.
        chunk = (rows, *(max(n, 1) for n in tail))
        dataset = group.create_dataset(
            name, (0, *tail), f"<{field.kind}", maxshape=(None, *(n or None for n in tail)), chunks=chunk, fletcher32=True
        )
        annotate_dataset(dataset, [group[RESULT_SCALES[axis]] for axis in field.axes], field.unit, field.text)
