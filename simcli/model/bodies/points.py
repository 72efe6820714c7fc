"""Named points of bodies."""

from collections.abc import Sequence

import numpy as np

from simcli.model.batch.gather import Worlds
from simcli.model.bodies.tables import Points, clashing_points
from simcli.model.tree.links import stack_worlds


def read_points(worlds: Worlds) -> Points:
    """Named points of all bodies, as `crank/b`.

    Args:
        worlds: the scenes.

    Returns:
        The table.
    """
    bodies = worlds.first.bodies
    keys = [(b, name, point) for b, (name, body) in enumerate(bodies.items())
            for point in (body.places if body.frames else body.points)]  # fmt: skip
    positions = [worlds.numbers(lambda s, n=n, p=p: s.bodies[n].places[p], (3,)) for _, n, p in keys]
    return Points(
        name=tuple(f"{name}/{point}" for _, name, point in keys),
        body=np.array([b for b, _, _ in keys], np.int32),
        position=stack_worlds(positions, (3,)),
    )


def refuse_clashes(worlds: Worlds, names: Sequence[str]) -> None:
    """Refuse names of points that one file cannot hold side by side."""
    clash = clashing_points(names)
    if clash:
        name, data = clash
        body, _, point = name.rpartition("/")
        other, _, quantity = data.rpartition("/")
        section = "points" if point in worlds.first.bodies[body].points else "frames"
        message = f"the point `{name}` cannot be recorded beside the {quantity} of the point `{other}`: both have one path"
        worlds.fault("SC327", f"bodies.{body}.{section}.{point}", message, "rename one of the points, or the instance")
