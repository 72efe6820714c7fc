"""Points and directions of bodies in the frames of the links that carry them."""

import numpy as np

from simcli.model.tables import Array, Model

_IDENTITY = np.eye(3)


def body_rotations(model: Model, body: Array) -> Array:
    """Body axes to link axes of the bodies' links, (W|1, K, 3, 3); the identity for the world."""
    rotation = model.links.body_rotation[:, model.links.tip[body]]
    return np.where((body >= 0)[:, None, None], rotation, _IDENTITY)


def link_points(model: Model, body: Array, point: Array) -> Array:
    """Points of bodies in the frames of their links; points of the world unchanged.

    Args:
        model: the tables.
        body: (K,).
        point: [m], (W|1, K, 3).

    Returns:
        [m], (W|1, K, 3).
    """
    if not len(body):
        return point
    offset = np.where((body >= 0)[:, None], model.links.body_offset[:, model.links.tip[body]], 0.0)
    return offset + np.einsum("wkij,wkj->wki", body_rotations(model, body), point)


def links_of(model: Model, body: Array) -> Array:
    """Link that carries each body, -1 for the world."""
    return np.where(body >= 0, model.links.tip[body], -1).astype(int)
