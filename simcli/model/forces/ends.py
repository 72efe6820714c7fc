"""Ends of forces: which forces there are of a type, and where their ends are."""

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.model import WORLD, Array, Model
from simcli.model.tables.worlds import Worlds


def of_type(worlds: Worlds, type_name: str) -> list[str]:
    """Names of the forces of a type, in file order."""
    return [name for name, force in worlds.first.forces.items() if force.type == type_name]


def place_of_end(spec, end) -> tuple[float, ...]:
    """Place of a spring's end in its body or in the world."""
    if end.world is not None:
        return end.world
    return end.at if end.point is None else spec.bodies[end.body].places[end.point]


def indices_of_bodies(model: Model) -> dict[str | None, int]:
    """Index of each body by what an end says of it; WORLD of none."""
    return {"world": WORLD, None: WORLD, **{name: b for b, name in enumerate(model.bodies.name)}}


def read_ends(worlds: Worlds, model: Model, names: list[str]) -> tuple[Array, Array]:
    """Bodies (K, 2), WORLD allowed, and places in them [m], (W|1, K, 2, 3), of forces with ends `a` and `b`."""
    index = indices_of_bodies(model)
    forces = [worlds.first.forces[name] for name in names]
    bodies = [[index[force.a.body], index[force.b.body]] for force in forces]
    points = [
        worlds.numbers(lambda s, n=name: [place_of_end(s, s.forces[n].a), place_of_end(s, s.forces[n].b)], (2, 3))
        for name in names
    ]
    return np.array(bodies, np.int32).reshape(-1, 2), stack_worlds(points, (2, 3))


def ends_at_start(model: Model, body: Array, point: Array) -> tuple[list[Array], list[Array]]:
    """Axes of the bodies (W|1, K, 3, 3) and places in the world [m], (W|1, K, 3), of both ends in the initial state."""
    R, x = body_poses(model, model.joint_q)
    axes, places = [], []
    for of, at in zip(body.T, np.moveaxis(point, 2, 0), strict=True):
        on_world = (of == WORLD)[:, None]
        turn = np.moveaxis(R[of], 0, 1)
        axes.append(np.where(on_world[..., None], np.eye(3), turn))
        places.append(np.where(on_world, at, np.moveaxis(x[of], 0, 1) + rot.turn(turn, at)))
    return axes, places
