"""Sensors as a table."""

from dataclasses import dataclass

import numpy as np

from simcli.model.tables.table_base import Array, Table


@dataclass(frozen=True)
class Sensors(Table):
    """Sensors, in file order. Bodies and joints are -1 where there is none; of bodies that is the world.

    Attributes:
        name: (S,).  types: (S,) names of what each gives.
        body: (S,) of the frame.  pose: [m, 1], (W|1, S, 7), of the frame in it.
        base: (S,) of the frame from which it is seen; of joints the child.  base_pose: [m, 1], (W|1, S, 7), in it; of joints
            the anchor of the child.
        shape: (S,) whose contacts are summed.  toucher: (S,) body whose contacts are.
        radius: [m], (W|1, S), of a zone, -1 without.  half: [m], (W|1, S, 3), half the lengths of a zone, -1 without.
        reach: [m], (W|1, S), of range finders, 1e30 without an end.
        is_noisy: (S,) bool.  sigma, density, walk, quantum: (W|1, S), of noise, see `NoiseSpec`; 0 without.
        rate: [Hz], (1, S), 0 for each step.  delay: [s], (W|1, S).
        joint: (S,).  subtree: bodies of each, none of sensors of other types.
    """

    name: tuple[str, ...]
    types: tuple[tuple[str, ...], ...]
    body: Array
    pose: Array
    base: Array
    base_pose: Array
    joint: Array
    subtree: tuple[tuple[int, ...], ...]
    shape: Array
    toucher: Array
    radius: Array
    half: Array
    reach: Array
    is_noisy: Array
    sigma: Array
    density: Array
    walk: Array
    quantum: Array
    rate: Array
    delay: Array


def no_sensors() -> Sensors:
    """A table without sensors."""
    none, poses = [np.zeros(0, np.int32) for _ in range(5)], [np.zeros((1, 0, 7)) for _ in range(2)]
    return Sensors(
        (),
        (),
        none[0],
        poses[0],
        none[1],
        poses[1],
        none[2],
        (),
        *none[3:],
        np.zeros((1, 0)),
        np.zeros((1, 0, 3)),
        np.zeros((1, 0)),
        np.zeros(0, bool),
        *(np.zeros((1, 0)) for _ in range(6)),
    )
