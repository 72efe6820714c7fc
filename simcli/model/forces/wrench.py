"""Wrenches on bodies, and their drag.

Where a signal drives a number, the number is 0 here and an input adds the signal (see signals/inputs.py).
"""

import numpy as np

from simcli.model.forces.ends import of_type, read_keys
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.mechanism import BodyInput
from simcli.model.tables.force_tables import Drags, Wrenches
from simcli.model.tables.model import Array, Model
from simcli.model.tables.worlds import Worlds, constant_part


def read_wrenches(worlds: Worlds, bodies: list[BodyInput]) -> Wrenches:
    """Wrenches.

    Args:
        worlds: the scenes.
        bodies: give the centres of mass.

    Returns:
        The table.
    """
    names = of_type(worlds, "wrench")
    index = {body.name: b for b, body in enumerate(bodies)}
    forces = [worlds.first.forces[name] for name in names]
    at = [
        bodies[index[force.body]].com if force.at is None else worlds.numbers(lambda s, n=name: s.forces[n].at, (3,))
        for name, force in zip(names, forces, strict=True)
    ]
    vectors = {key: stack_worlds([_vector(worlds, name, key) for name in names], (3,)) for key in ("force", "torque")}
    return Wrenches(
        name=tuple(names),
        body=np.array([index[force.body] for force in forces], np.int32),
        point=stack_worlds(at, (3,)),
        follows=np.array([force.frame == "body" for force in forces], bool),
        **vectors,
    )


def _vector(worlds: Worlds, name: str, key: str) -> Array:
    """Force or torque of a wrench, (W|1, 3)."""
    return worlds.numbers(lambda s: [constant_part(value) for value in getattr(s.forces[name], key)], (3,))


_NUMBERS = ("damping", "quadratic", "angular_damping", "angular_quadratic", "wind")


def read_drags(worlds: Worlds, model: Model) -> Drags:
    """Drags.

    Args:
        worlds: the scenes.
        model: its bodies.
    """
    names = of_type(worlds, "drag")
    forces = [worlds.first.forces[name] for name in names]
    body = np.array([model.bodies.name.index(force.body) for force in forces], np.int32)
    at = [
        model.bodies.com[:, b] if force.at is None else worlds.numbers(lambda s, n=name: s.forces[n].at, (3,))
        for name, force, b in zip(names, forces, body, strict=True)
    ]
    numbers = read_keys(worlds, names, Drags, _NUMBERS)
    return Drags(name=tuple(names), body=body, point=stack_worlds(at, (3,)), **numbers)
