"""Rows whose residual is a coordinate of a joint outside the tree: what laws, prescribed motions and gears act on."""

from dataclasses import dataclass, field

import numpy as np

from simcli import rotations as rot
from simcli.model.constraints.tables import Form
from simcli.model.tables import Array, Model

NO_VECTOR = np.zeros((1, 3))


@dataclass(frozen=True)
class CoordinateRow:
    """A coordinate as a residual, in anchor frames.

    Attributes:
        form: Form.
        on_a, across_a: [1], (W|1, 3), parent anchor frame.
        on_b: [1], (W|1, 3), child anchor frame.
        constant: which of several successive turns.
        in_anchors: whether the vectors stay in anchor axes, instead of those of the links.
    """

    form: Form
    on_a: Array
    across_a: Array = field(default_factory=NO_VECTOR.copy)
    on_b: Array = field(default_factory=NO_VECTOR.copy)
    constant: float = 0.0
    in_anchors: bool = False


def coordinate_row(model: Model, j: int, k: int) -> CoordinateRow:
    """The row of one coordinate: a component of the displacement, in the dual basis of the linear axes, or a turn.

    Args:
        model: the tables.
        j: joint, with scalar coordinates.
        k: which of its dofs.
    """
    first, (n_linear, n_angular) = int(model.joints.qd_start[j]), model.joints.dof_dim[j].tolist()
    axes = model.dofs.axis
    if k < n_linear:
        dual = np.swapaxes(np.linalg.pinv(axes[:, first : first + n_linear]), -1, -2)
        return CoordinateRow(Form.ALONG, dual[:, k])
    if n_angular > 1:
        turns = [axes[:, first + n_linear + i] for i in range(n_angular)]
        form = Form.CARDAN if n_angular == 2 else Form.EULER
        return CoordinateRow(form, *turns, constant=k - n_linear, in_anchors=True)
    axis = axes[:, first + k]
    across = rot.frame_along(axis)[..., 0]
    return CoordinateRow(Form.TURN, axis, across, across)
