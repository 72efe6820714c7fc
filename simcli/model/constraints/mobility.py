"""How many of the rows of a mechanism are independent at a configuration."""

from dataclasses import dataclass, fields, replace

import numpy as np

from simcli import rotations as rot
from simcli.model.constraints.collected import keeps
from simcli.model.joints.catalogue import (
    BESIDE_ROWS_KINDS,
    CATALOGUE,
    NONHOLONOMIC_KINDS,
    NONHOLONOMIC_ROWS,
    TYPE_NAME,
    JointEntry,
    Row,
    distance_row,
)
from simcli.model.joints.joint_rows import motion_columns, row_gradient
from simcli.model.joints.motion_axes import MotionAxis, on_plane_axes
from simcli.model.joints.topology import depth_first
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.model import Array, JointKind, Model
from simcli.model.tables.worlds import has_world_axis

_RANK = 1e-9  # [1] singular values below this part of the largest count as zero


@dataclass(frozen=True)
class LoopRank:
    """Rows of one loop joint, or of a rod of the tree.

    Attributes:
        joint: name.
        rows: number of bilateral rows.
        rank: how many of them are independent of each other and of the rows before.
        before: names of the joints before that have rows, in the file's order.
    """

    joint: str
    rows: int
    rank: int
    before: list[str]


class _Placed:
    """World 0 at the initial state: anchors and centres of mass in the world. WORLD = -1 is the last entry."""

    def __init__(self, model: Model):
        links = {
            one.name: value[:1]
            for one in fields(model.links)
            if has_world_axis(one.name, value := getattr(model.links, one.name))
        }
        R, x = body_poses(replace(model, links=replace(model.links, **links)), model.joint_q[:1])
        quat = rot.matrix_to_quat(R[:, 0])
        self.model = model
        self.pose = [*rot.make_pose(x[:, 0], quat), np.array(rot.IDENTITY_POSE)]
        com = x[:, 0] + rot.turn(R[:, 0], model.bodies.com[0]) if model.n_bodies else np.zeros((0, 3))
        self.com = [*com, np.zeros(3)]

    def anchors(self, j: int) -> tuple[Array, Array]:
        joints = self.model.joints
        X_a = rot.pose_compose(self.pose[joints.parent[j]], joints.X_p[0, j])
        return X_a, rot.pose_compose(self.pose[joints.child[j]], joints.X_c[0, j])


def type_and_motion(model: Model, j: int) -> tuple[JointEntry, MotionAxis]:
    """Catalogue entry and motion axes of a joint in world 0."""
    joints = model.joints
    entry = CATALOGUE[TYPE_NAME[JointKind(joints.kind[j])]]
    n_linear, n_angular = (int(n) for n in joints.dof_dim[j]) if entry.coordinates != "slots" else (0, 0)
    start = int(joints.qd_start[j])
    axes = model.dofs.axis[0, start : start + n_linear + n_angular]
    first, last = joints.length[0, j].tolist()
    if entry.kind in NONHOLONOMIC_KINDS:
        return entry, on_plane_axes(joints.heading[0, j], joints.normal[0, j], first, last)
    return entry, MotionAxis(axes[:n_linear], axes[n_linear:], float(joints.pitch[0, j]), last)


def bilateral_rows(model: Model, j: int) -> list[Row]:
    """Bilateral rows of a joint in world 0; a distance joint has one if its two bounds agree.

    In a planar scene those that motion in the plane could violate.
    """
    entry, motion = type_and_motion(model, j)
    shortest, longest = model.joints.length[0, j]
    if entry.kind == JointKind.DISTANCE and shortest == longest:
        return [distance_row(float(longest))]
    rows = entry.rows(motion)
    return [row for row in rows if keeps(row, model.plane)] if model.plane >= 0 else rows


def carry(start: Array, end: Array) -> Array:
    """Twist of a rigid body at one point from that at another, (6, 6)."""
    X = np.eye(6)
    X[:3, 3:] = -rot.skew(end - start)
    return X


def body_jacobian(model: Model) -> Array:
    """Twists of all bodies per joint velocity at the initial state of world 0.

    Args:
        model: the tables.

    Returns:
        [1, m], (B, 6, NV), (velocity of the centre of mass, angular velocity), world.
    """
    placed, joints = _Placed(model), model.joints
    J = np.zeros((model.n_bodies + 1, 6, model.n_qd))  # the world is entry -1
    for step in depth_first(list(joints.parent), list(joints.child), list(joints.is_tree)):
        j = step.joint
        entry, motion = type_and_motion(model, j)
        q = model.joint_q[0, joints.q_start[j] : joints.q_start[j + 1]]
        columns = motion_columns(entry, motion, q, *placed.anchors(j), placed.com[joints.child[j]])
        own = np.zeros((6, model.n_qd))
        own[:, joints.qd_start[j] : joints.qd_start[j + 1]] = columns
        X = carry(placed.com[step.inner], placed.com[step.outer])
        J[step.outer] = X @ (J[step.inner] - own) if step.inverted else X @ J[step.inner] + own
    return J[:-1]


def loop_ranks(model: Model) -> list[LoopRank]:
    """Ranks of the rows in the velocities of the tree, joint by joint in file order.

    Args:
        model: the tables.

    Returns:
        One entry per enabled joint outside the tree that has rows, and per rod of the tree, which leaves its body free.
    """
    stack, rank = np.zeros((0, model.n_qd)), 0
    out: list[LoopRank] = []
    for name, block in loop_rows(model):
        stack = np.concatenate((stack, block))
        total = _rank(stack)
        out.append(LoopRank(name, len(block), total - rank, [one.joint for one in out]))
        rank = total
    return out


def loop_rows(model: Model) -> list[tuple[str, Array]]:
    """Rows of the joints that close loops, in the velocities of the tree, at the initial state of world 0.

    Args:
        model: the tables.

    Returns:
        Name and rows, (R, NV), per enabled joint outside the tree that has rows, and per rod of the tree, in file order.
    """
    return [(name, block) for name, _, block in _kinds_and_rows(model)]


def joint_held_by_others(model: Model) -> str:
    """A wheel or a blade that holds a velocity which the closed loops beside it hold too, at the initial state of world 0.

    Returns:
        Its name; "" where there is none, or only other wheels and blades hold the velocity.
    """
    found = [
        (name, np.array([row.kind in NONHOLONOMIC_ROWS for row in rows]), block)
        for name, rows, block in _kinds_and_rows(model)
    ]
    positions = np.concatenate([np.zeros((0, model.n_qd)), *(block[~slips] for _, slips, block in found)])
    velocities = positions[:0]
    for name, slips, block in found:
        if slips.any():
            velocities = np.concatenate((velocities, block[slips]))
            beside, own = (_rows_of(rows, _coupled(positions, velocities, block[slips])) for rows in (positions, velocities))
            if _rank(np.concatenate((beside, own))) < _rank(beside) + _rank(own):
                return name
    return ""


def _coupled(positions: Array, velocities: Array, start: Array) -> Array:
    """(NV,) bool, velocities that rows couple with those of some rows, directly or by others."""
    entries, found = np.concatenate((positions, velocities)) != 0.0, (start != 0.0).any(axis=0)
    while True:
        more = found | entries[entries[:, found].any(axis=1)].any(axis=0)
        if (more == found).all():
            return found
        found = more


def _rows_of(rows: Array, columns: Array) -> Array:
    """Rows that have something in some columns, and these columns of them."""
    return rows[(rows[:, columns] != 0.0).any(axis=1)][:, columns]


def _kinds_and_rows(model: Model) -> list[tuple[str, list[Row], Array]]:
    placed, joints = _Placed(model), model.joints
    J = np.concatenate((body_jacobian(model), np.zeros((1, 6, model.n_qd))))
    found = []
    has_rows = ~joints.is_tree & joints.enabled | np.isin(joints.kind, BESIDE_ROWS_KINDS) & joints.is_tree
    for j in np.flatnonzero(has_rows).tolist():
        rows = bilateral_rows(model, j)
        if not rows:
            continue
        ends = int(joints.parent[j]), int(joints.child[j])
        both = np.concatenate([J[b] for b in ends])
        coms = [placed.com[b] for b in ends]
        block = np.array([row_gradient(row, *placed.anchors(j), *coms) @ both for row in rows])
        found.append((joints.name[j], rows, block))
    return found


def mass_at_start(model: Model) -> Array:
    """Mass matrix of the tree at the initial state of world 0, armatures included.

    Returns:
        [kg, kg m, kg m^2], (NV, NV); 0 at the coordinates of joints outside the tree, but for their armature.
    """
    J, (R, _) = body_jacobian(model), body_poses(model, model.joint_q)
    inertia = R[:, 0] @ model.bodies.inertia[0] @ np.swapaxes(R[:, 0], -1, -2)
    linear = np.einsum("bin,b,bim->nm", J[:, :3], model.bodies.mass[0], J[:, :3])
    angular = np.einsum("bin,bij,bjm->nm", J[:, 3:], inertia, J[:, 3:])
    return linear + angular + np.diag(model.dofs.armature[0])


def _rank(matrix: Array) -> int:
    if not matrix.size:
        return 0
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > _RANK * values[0]).sum()) if values[0] > 0.0 else 0
