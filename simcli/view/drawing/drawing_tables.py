"""The numbers of one world that a drawing is made of, from a model or from the file of a run."""

from dataclasses import dataclass

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.anchors import pose_at_coordinate
from simcli.model.tables.model import WORLD, JointKind, Model
from simcli.records.contents.layout import NAME_SCALES
from simcli.records.contents.model_columns import COLUMNS, model_arrays
from simcli.records.contents.select import axes_of
from simcli.records.reading.reader import Trajectory

_Array = np.ndarray


@dataclass(frozen=True)
class DrawingTables:
    """Tables of /model, cut to one world.

    Attributes:
        arrays: by their names in /model, without world axis.
    """

    arrays: dict[str, _Array]

    def __getitem__(self, name: str) -> _Array:
        return self.arrays[name]

    def names(self, what: str) -> tuple[str, ...]:
        """Names of bodies, joints, shapes, points, springs."""
        return tuple(map(str, self.arrays[f"{what}_name"]))

    @property
    def n_bodies(self) -> int:
        """Number of bodies."""
        return len(self.arrays["body_name"])

    def joints(self) -> "list[JointRow]":
        """Joints whose bodies are both there."""
        return [row for j, name in enumerate(self.names("joint")) if (row := self._joint(j, name)) is not None]

    def _joint(self, j: int, name: str) -> "JointRow | None":
        parent, child = int(self["joint_parent"][j]), int(self["joint_child"][j])
        if min(parent, child) < WORLD:  # `output.select` left it out
            return None
        first = int(self["qd_start"][j])
        n_linear, n_angular = (int(n) for n in self["joint_dof_dim"][j])
        axes = self["joint_axis"][first : first + n_linear + n_angular]
        kind, start = JointKind(int(self["joint_type"][j])), float(self["joint_init_angle"][j])
        anchor, bounds = self["joint_X_c"][j], (self["dof_limit_lower"][first:], self["dof_limit_upper"][first:])
        if start:
            back = pose_at_coordinate(n_linear > 0, axes[:1], self["joint_pitch"][j], np.array([-start]))
            anchor, bounds = rot.pose_compose(anchor, back[0]), tuple(one - start for one in bounds)
        anchors, wheel = (self["joint_X_p"][j], anchor), (self["joint_length"][j], self["joint_heading"][j])
        return JointRow(name, kind, parent, child, *anchors, axes[:n_linear], axes[n_linear:], *bounds, *wheel)


@dataclass(frozen=True)
class JointRow:
    """One joint.

    Attributes:
        name, kind, parent, child: of the joint; indices of bodies, -1 for the world.
        X_p, X_c: [m, 1], (7,), anchors in parent and child as the scene writes them.
        linear, angular: [1], (n, 3), axes, parent anchor frame.
        lower, upper: limits of its dofs, of what lies between the anchors without `init_angle`, and what follows them.
        length, heading: radii and axis of a wheel, as the table of joints has them.
    """

    name: str
    kind: JointKind
    parent: int
    child: int
    X_p: _Array
    X_c: _Array
    linear: _Array
    angular: _Array
    lower: _Array
    upper: _Array
    length: _Array
    heading: _Array


def tables_of(model: Model, world: int = 0) -> DrawingTables:
    """Tables of a model."""
    axes = axes_of(model)
    names = {name: np.array(axes.label[axis], object) for axis, name in NAME_SCALES.items()}
    return DrawingTables(_of_world({**model_arrays(model, axes), **names}, world))


def tables_of_run(run: Trajectory, world: int = 0) -> DrawingTables:
    """Tables of the file of a run."""
    return DrawingTables(_of_world(run.model, world))


def _of_world(arrays: dict[str, _Array], world: int) -> dict[str, _Array]:
    """One world of the tables that have a world axis."""
    varied = {column.name for column in COLUMNS if column.axes[0] == "W|1"}
    return {
        name: array[world if len(array) > 1 else 0] if name in varied and len(array) else array
        for name, array in arrays.items()
    }
