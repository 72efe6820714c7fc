"""A model with other numbers: what a file has kept of the worlds of a run, laid over the mechanism of its scene."""

from collections.abc import Mapping
from dataclasses import replace

from simcli.model.joints.motion_axes import MotionAxis
from simcli.model.mechanism import JointInput
from simcli.model.tables import Array, JointKind, Model
from simcli.model.tree.links import build_links
from simcli.model.tree.tables import Links
from simcli.model.tree.topology import depth_first


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
        parts.append(JointInput(name, JointKind(joints.kind[j]), int(joints.parent[j]), int(joints.child[j]), motion,
                               joints.X_p[:, j], joints.X_c[:, j]))  # fmt: skip
    steps = depth_first(joints.parent.tolist(), joints.child.tolist(), joints.is_tree.tolist())
    return build_links(bodies, parts, steps, joints.q_start, joints.qd_start)
