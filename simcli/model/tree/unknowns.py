"""The unknowns of the equations of motion: velocities of the tree, in the order of its links."""

import numpy as np

from simcli.model.tables import Array, Model


def tree_dofs(model: Model) -> Array:
    """Indices into joint_qd of the dofs of tree joints, in link order, without those that leave a plane.

    Returns:
        (n,) int.
    """
    links = model.links
    ranges = [np.arange(s, s + n) for s, n in zip(links.qd_start, links.n_qd, strict=True)]
    order = np.concatenate(ranges).astype(int) if ranges else np.zeros(0, int)
    return order if model.columns is None else order[model.columns.active[order]]


def unknown_of_dof(model: Model) -> Array:
    """Number of each velocity among the unknowns, (NV,); -1 for those that are none."""
    order, found = tree_dofs(model), np.full(model.n_qd, -1)
    found[order] = np.arange(len(order))
    return found
