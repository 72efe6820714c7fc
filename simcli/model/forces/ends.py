"""Ends of forces: which forces there are of a type, and where their ends are."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from simcli import rotations as rot
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.model import NAMED_TABLES, WORLD, Array, Model
from simcli.model.tables.table_base import Table, declared, empty_array
from simcli.model.tables.worlds import Worlds
from simcli.spec.schema.forces import FORCES

_TABLE_OF = {entries.entry: table for table, entries in NAMED_TABLES.items()}
_ON_LINKS = [force.type_name() for force in FORCES if force.acts_on_links()]
if lacking := [name for name in _ON_LINKS if name not in _TABLE_OF]:
    raise TypeError(
        f"forces {lacking} act on bodies: `Model` of model/tables/model.py has no table with entry={lacking[0]!r}"
    )
LINK_TABLES = tuple(_TABLE_OF[name] for name in _ON_LINKS)  # tables of the forces on links


def of_type(worlds: Worlds, type_name: str) -> list[str]:
    """Names of the forces of a type, in file order."""
    return [name for name, force in worlds.first.forces.items() if force.type == type_name]


def read_keys(worlds: Worlds, names: list[str], kind: type[Table], keys: Sequence[str]) -> dict[str, Array]:
    """Columns of a table that are keys of its forces."""
    shapes = {one.name: empty_array(what.axes[2:], float).shape for one in fields(kind) if (what := declared(one))}
    return {
        key: stack_worlds(
            [worlds.numbers(lambda s, n=name, k=key: getattr(s.forces[n], k), shapes[key]) for name in names], shapes[key]
        )
        for key in keys
    }


def place_of_end(spec, end) -> tuple[float, ...]:
    """Place of a spring's end in its body or in the world."""
    if end.world is not None:
        return end.world
    return end.at if end.point is None else spec.bodies[end.body].places[end.point]


def indices_of_bodies(bodies: Bodies) -> dict[str | None, int]:
    """Index of each body by what an end says of it; WORLD of none."""
    return {"world": WORLD, None: WORLD, **{name: b for b, name in enumerate(bodies.name)}}


def read_ends(worlds: Worlds, model: Model, names: list[str]) -> tuple[Array, Array]:
    """Bodies (K, 2), WORLD allowed, and places in them [m], (W|1, K, 2, 3), of forces with ends `a` and `b`."""
    index = indices_of_bodies(model.bodies)
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
