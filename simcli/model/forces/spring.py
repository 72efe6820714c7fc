"""Springs between points."""

from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.model.batch.gather import Worlds
from simcli.model.forces.ends import ends_at_start, of_type, read_ends
from simcli.model.forces.tables import Springs
from simcli.model.tables import Array, Model
from simcli.model.tree.links import pile


def read_springs(worlds: Worlds, model: Model) -> Springs:
    """Springs.

    Args:
        worlds: the scenes.
        model: its bodies.

    Returns:
        The table. Rest lengths that are not written are NaN, until the initial state is known: see `springs_at_rest`.
    """
    names = of_type(worlds, "spring")
    forces = [worlds.first.forces[name] for name in names]
    body, point = read_ends(worlds, model, names)
    columns = {
        key: pile([worlds.numbers(lambda s, n=name, k=key: getattr(s.forces[n], k)) for name in names], ())
        for key in ("stiffness", "damping")
    }
    rest = [
        np.full(1, np.nan) if force.rest_length is None else worlds.numbers(lambda s, n=name: s.forces[n].rest_length)
        for name, force in zip(names, forces, strict=True)
    ]
    return Springs(
        name=tuple(names),
        body=body,
        point=point,
        rest_length=pile(rest, ()),
        slack=np.array([force.slack for force in forces], bool),
        **columns,
    )


def ends_of_springs(springs: Springs, pose: Array) -> list[Array]:
    """Both ends of each spring of world 0, [m], world, (K, 3).

    Args:
        springs: the table.
        pose: [m, 1], (B, 7), of the bodies, world.
    """
    places = np.concatenate((pose, [rot.IDENTITY_POSE]))  # WORLD is the last entry
    return [rot.pose_apply(places[springs.body[:, side]], springs.point[0, :, side]) for side in range(2)]


def elastic_tension(springs: Springs, length: Array) -> Array:
    """[N], (K,), of the springs of world 0 at lengths (K,), 0 of a slack one that is shorter than it rests.

    On the device, with dampers, it is kernels/laws/coordinate.py:spring_law.

    Args:
        springs: the table.
        length: [m], (K,).
    """
    tension = springs.stiffness[0] * (length - springs.rest_length[0])
    return np.where(springs.slack, np.maximum(tension, 0.0), tension)


def springs_at_rest(model: Model) -> Model:
    """The model whose springs rest, where the scene says nothing, at the length that they have in its initial state."""
    springs = model.springs
    missing = np.isnan(springs.rest_length)
    if not missing.any():
        return model
    _, (a, b) = ends_at_start(model, springs.body, springs.point)
    gap = b - a
    rest = np.where(missing, np.sqrt(rot.dot(gap, gap)), springs.rest_length)
    return replace(model, springs=replace(springs, rest_length=rest))
