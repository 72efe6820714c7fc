"""Springs and dampers of six axes between two frames."""

from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.model.batch.gather import Worlds, pose_of
from simcli.model.forces.ends import ends_at_start, of_type, read_ends
from simcli.model.forces.tables import Bushings
from simcli.model.tables import Model
from simcli.model.tree.links import stack_worlds

_NUMBERS = ("stiffness", "damping", "angular_stiffness", "angular_damping", "preload", "angular_preload")


def read_bushings(worlds: Worlds, model: Model) -> Bushings:
    """Bushings.

    Args:
        worlds: the scenes.
        model: its bodies.

    Returns:
        The table. Relative poses at rest are NaN until the initial state is known: see `bushings_at_rest`.
    """
    names = of_type(worlds, "bushing")
    body, point = read_ends(worlds, model, names)
    columns = {key: stack_worlds([worlds.numbers(lambda s, n=name, k=key: getattr(s.forces[n], k), (3,)) for name in names],
                                 (3,)) for key in _NUMBERS}  # fmt: skip
    axes = [pose_of(worlds, lambda s, n=name: s.forces[n].axes)[:, 3:] for name in names]
    return Bushings(name=tuple(names), body=body, point=point, axes=stack_worlds(axes, (4,)),
                    rest=np.full((1, len(names), 7), np.nan), **columns)  # fmt: skip


def bushings_at_rest(model: Model) -> Model:
    """The model whose bushings rest in the relative poses of its initial state."""
    bushings = model.bushings
    if not np.isnan(bushings.rest).any():
        return model
    (R_a, R_b), (x_a, x_b) = ends_at_start(model, bushings.body, bushings.point)
    frame = rot.transpose(R_a @ rot.quat_to_matrix(bushings.axes))
    place, turn = rot.turn(frame, x_b - x_a), rot.matrix_to_quat(frame @ R_b)
    lead = np.broadcast_shapes(place.shape[:-1], turn.shape[:-1])
    rest = np.concatenate([np.broadcast_to(place, (*lead, 3)), np.broadcast_to(turn, (*lead, 4))], axis=-1)
    return replace(model, bushings=replace(bushings, rest=rest))
