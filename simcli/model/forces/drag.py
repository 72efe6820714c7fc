"""Drag on bodies."""

import numpy as np

from simcli.model.batch.gather import Worlds
from simcli.model.forces.ends import of_type
from simcli.model.forces.tables import Drags
from simcli.model.tables import Model
from simcli.model.tree.links import stack_worlds

_NUMBERS = ("damping", "quadratic", "angular_damping", "angular_quadratic")


def read_drags(worlds: Worlds, model: Model) -> Drags:
    """Drags.

    Args:
        worlds: the scenes.
        model: its bodies.
    """
    names = of_type(worlds, "drag")
    forces = [worlds.first.forces[name] for name in names]
    body = np.array([model.bodies.name.index(force.body) for force in forces], np.int32)
    at = [model.bodies.com[:, b] if force.at is None else worlds.numbers(lambda s, n=name: s.forces[n].at, (3,))
          for name, force, b in zip(names, forces, body, strict=True)]  # fmt: skip
    columns = {key: stack_worlds([worlds.numbers(lambda s, n=name, k=key: getattr(s.forces[n], k)) for name in names], ())
               for key in _NUMBERS}  # fmt: skip
    wind = stack_worlds([worlds.numbers(lambda s, n=name: s.forces[n].wind, (3,)) for name in names], (3,))
    return Drags(name=tuple(names), body=body, point=stack_worlds(at, (3,)), wind=wind, **columns)
