"""Parts of ropes between their stops, and the joints whose coordinates pay out, as kernels/forces/ropes.py takes them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.model.constraints.constraint_tables import Form, coordinate_row
from simcli.model.joints.links import stack_worlds
from simcli.model.tables.force_tables import Ropes, StopKind
from simcli.model.tables.model import Array, Model


class PaidRows(NamedTuple):
    """Joints whose coordinates pay out.

    Attributes:
        parent, child: (n,) bodies.
        point_a, point_b: [m], (W|1, n, 3), anchors in them.
        axis, across_a: (W|1, n, 3), in the parent; across_b: in the child.
        turns: (n,) whether the coordinate is a turn.
        on_tree: (n,) whether it is one of the tree.
        start: [m, rad], (W|1, n), what it begins with.
    """

    parent: Array
    child: Array
    point_a: Array
    point_b: Array
    axis: Array
    across_a: Array
    across_b: Array
    turns: Array
    on_tree: Array
    start: Array


def paid_rows(model: Model) -> PaidRows:
    """The joints of the coordinates that pay out."""
    joints, dof = model.joints, model.ropes.paid_dof
    j = model.dofs.joint[dof]
    rows = [coordinate_row(model, int(one), int(d - joints.qd_start[one])) for one, d in zip(j, dof, strict=True)]
    turn_a, turn_b = (rot.quat_to_matrix(X[:, j, 3:]) for X in (joints.X_p, joints.X_c))
    axis, across_a, across_b = (
        stack_worlds([np.asarray(getattr(row, name), float) for row in rows], (3,)) for name in ("on_a", "across_a", "on_b")
    )
    return PaidRows(
        joints.parent[j],
        joints.child[j],
        joints.X_p[:, j, :3],
        joints.X_c[:, j, :3],
        rot.turn(turn_a, axis),
        rot.turn(turn_a, across_a),
        rot.turn(turn_b, across_b),
        np.array([row.form == Form.TURN for row in rows], bool),
        joints.is_tree[j],
        np.nan_to_num(model.joint_q[:, joints.q_start[j] + dof - joints.qd_start[j]]),
    )


@dataclass(frozen=True)
class Parts:
    """Straight parts of ropes, rope by rope, each time with the coordinates that pay out behind them.

    Attributes:
        rope: (n,) of each.
        stop: (n,) stop where a part begins, -1 of a coordinate.
        paid: (n,) coordinate, -1 of a part.
        wraps: (n,) see `kernels.forces.ropes.RopeColumns`.
        first: (O + 1,) offsets.
        first_paid: (O,) of each rope.
    """

    rope: Array
    stop: Array
    paid: Array
    wraps: Array
    first: Array
    first_paid: Array

    def spread(self, of_paid: Array) -> Array:
        """Values of coordinates that pay out for all parts, 0 of those that are none."""
        return np.where(self.paid >= 0, np.append(of_paid, 0)[self.paid], 0)

    def ends(self, ropes: Ropes, rows: PaidRows) -> tuple[Array, Array]:
        """Bodies (n, 2) of the ends and places in them [m], (W|1, n, 2, 3)."""
        is_part = self.paid < 0
        bodies, points = [], []
        for k, (body, point) in enumerate(((rows.parent, rows.point_a), (rows.child, rows.point_b))):
            stop = np.where(is_part, self.stop + k, 0)
            bodies.append(np.where(is_part, ropes.stop_body[stop], np.append(body, 0)[self.paid]))
            padded = np.concatenate((point, np.zeros((len(point), 1, 3))), axis=1)[:, self.paid]
            points.append(np.where(is_part[:, None], ropes.stop_point[:, stop], padded))
        lead = max(map(len, points))
        return np.stack(bodies, axis=1).astype(np.int32), np.stack(
            [np.broadcast_to(one, (lead, *one.shape[1:])) for one in points], axis=2
        )


def parts_of_ropes(ropes: Ropes) -> Parts:
    """The parts of all ropes."""
    sizes = np.cumsum(ropes.stop_kind != StopKind.POINT)  # number of each cylinder and sphere, and one
    rows: list[tuple[int, int, int, int]] = []
    first, first_paid = [0], []
    for k in range(len(ropes.name)):
        stops = np.flatnonzero(ropes.stop_rope == k).tolist()
        for m in stops[:-1]:
            before, after = ropes.stop_kind[m] != StopKind.POINT, ropes.stop_kind[m + 1] != StopKind.POINT
            rows.append((k, m, -1, -1 if before else int(sizes[m + 1]) if after else 0))
        first_paid.append(len(rows))
        rows += [(k, -1, n, n) for n in np.flatnonzero(ropes.paid_rope == k).tolist()]
        first.append(len(rows))
    table = np.array(rows, np.int32).reshape(-1, 4)
    rope, stop, paid, wraps = table.T
    return Parts(rope, stop, paid, wraps, np.array(first, np.int32), np.array(first_paid, np.int32))
