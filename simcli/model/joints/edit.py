"""A model with other numbers: the same structure, some columns replaced, and what follows from them worked out again.

So does what a file has kept of the worlds of a run, laid over the mechanism of its scene.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.links import build_links
from simcli.model.joints.mechanism import JointInput
from simcli.model.joints.motion_axes import MotionAxis
from simcli.model.joints.selection import walk
from simcli.model.joints.topology import depth_first
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.joint_tables import Dofs, Joints, Links
from simcli.model.tables.model import Array, JointKind, Model

_TABLES = ("bodies", "joints", "dofs")
FOLLOWS = {"bodies": ("mass", "com", "inertia"), "joints": ("X_p", "X_c", "pitch"), "dofs": ("axis",)}  # in the links
DERIVED = ("bodies.q", "joints.init_angle")  # X_c holds it
_START = ("joint_q", "joint_qd", "joint_f")


def with_column(model: Model, path: str, values: Array) -> Model:
    """The model with one column replaced.

    Args:
        model: the tables; it stays as it is.
        path: as `dofs.limit_lower`, `joints.X_p`, `bodies.mass`, or joint_q, joint_qd, joint_f for the initial state.
        values: [as the column], (W|1, ...). Axes are made unit.

    Returns:
        The tables, with the links and the authored poses of bodies that follow from them.

    Raises:
        ValueError: the column decides the structure or follows from others, or the shape is not the column's.
    """
    table, _, name = path.rpartition(".")
    owner = getattr(model, table) if table in _TABLES else model
    old = getattr(owner, name, None) if table in _TABLES or path in _START else None
    if not isinstance(old, np.ndarray) or old.dtype.kind != "f" or path in DERIVED:
        raise ValueError(f"`{path}` cannot be set: it decides the structure, follows from others, or does not exist")
    new = np.array(values, float)
    if new.shape[1:] != old.shape[1:] or len(new) not in (1, model.n_worlds):
        raise ValueError(f"`{path}` has shape {old.shape} or one entry per world, not {new.shape}")
    if path == "dofs.axis":
        new = rot.unit(new)
    if not table:
        new.setflags(write=False)
        return replace(model, **{name: new}, start=None)
    changed = replace(model, **{table: replace(owner, **{name: new})}, start=None)
    return relinked(changed, model) if name in FOLLOWS.get(table, ()) else changed


def relinked(model: Model, before: Model) -> Model:
    """The model with links and authored poses that fit its bodies, anchors and axes.

    Args:
        model: the tables, of which the links are out of date.
        before: the tables of which they were right.

    Returns:
        The tables; the authored poses are new in the trees where an anchor or an axis is.
    """
    joints = joint_inputs(model.joints, model.dofs)
    links = build_links(model.bodies, joints, walk(model), model.joints.q_start, model.joints.qd_start)
    model = replace(model, links=links)
    moved = {int(links.root[k]) for k in range(model.n_links) if _differs(model, before, int(links.joint[k]))}
    if not moved:
        return model
    R, x = body_poses(model, np.concatenate([part.zero_q() for part in joints], axis=1))
    pose = np.moveaxis(rot.make_pose(x, rot.matrix_to_quat(R)), 0, 1)
    within = np.isin(links.root[links.tip], list(moved))[None, :, None]
    q = np.where(within, pose, model.bodies.q)
    return replace(model, bodies=replace(model.bodies, q=q))


def _differs(model: Model, before: Model, j: int) -> bool:
    """True if the anchors or axes of a joint are other ones than before."""
    dofs = slice(model.joints.qd_start[j], model.joints.qd_start[j + 1])
    pairs = [(one.joints.X_p[:, j], one.joints.X_c[:, j], one.dofs.axis[:, dofs]) for one in (model, before)]
    return any(np.any(new != old) for new, old in zip(*pairs, strict=True))


def joint_inputs(joints: Joints, dofs: Dofs) -> list[JointInput]:
    """Parts with what the links read of them."""
    t, parts = joints, []
    for j, name in enumerate(t.name):
        axes = dofs.axis[:, t.qd_start[j] : t.qd_start[j + 1]]
        n_linear = int(t.dof_dim[j, 0])
        motion = MotionAxis(axes[:, :n_linear], axes[:, n_linear:], t.pitch[:, j])
        parts.append(
            JointInput(
                name,
                JointKind(t.kind[j]),
                int(t.parent[j]),
                int(t.child[j]),
                motion,
                t.X_p[:, j],
                t.X_c[:, j],
                is_tree=bool(t.is_tree[j]),
            )
        )
    return parts


def with_numbers(model: Model, columns: Mapping[str, Array], n_worlds: int) -> Model:
    """The same mechanism with other columns, its links made anew from them.

    Args:
        model: gives names, structure, and the columns that are not given.
        columns: `table.column`, or the name of an array of the model itself, to (W|1, ...).
        n_worlds: W.

    Returns:
        The tables. Those of shapes are the model's.
    """
    tables: dict[str, dict[str, Array]] = {}
    for path, array in columns.items():
        table, _, column = path.rpartition(".")
        tables.setdefault(table, {})[column] = array
    own = tables.pop("", {})
    changed = {name: replace(getattr(model, name), **some) for name, some in tables.items()}
    model = replace(model, n_worlds=n_worlds, **own, **changed)
    return replace(model, links=_links_of(model))


def _links_of(model: Model) -> Links:
    """Links of the tree, from the tables of bodies, joints and dofs."""
    joints, bodies = model.joints, model.bodies
    parts = []
    for j, name in enumerate(joints.name):
        first, last = int(joints.qd_start[j]), int(joints.qd_start[j + 1])
        middle, axis = first + int(joints.dof_dim[j, 0]), model.dofs.axis
        motion = MotionAxis(axis[:, first:middle], axis[:, middle:last], joints.pitch[:, j])
        parts.append(
            JointInput(
                name,
                JointKind(joints.kind[j]),
                int(joints.parent[j]),
                int(joints.child[j]),
                motion,
                joints.X_p[:, j],
                joints.X_c[:, j],
            )
        )
    steps = depth_first(joints.parent.tolist(), joints.child.tolist(), joints.is_tree.tolist())
    return build_links(bodies, parts, steps, joints.q_start, joints.qd_start)
