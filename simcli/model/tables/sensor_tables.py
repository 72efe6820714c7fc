"""Sensors as a table."""

from dataclasses import dataclass

from simcli.model.tables.table_base import IN_SCENE, Array, Table, per


@dataclass(frozen=True)
class Sensors(Table, left_out=IN_SCENE):
    """Sensors, in file order. Bodies and joints are -1 where there is none; of bodies that is the world.

    Attributes:
        types: names of what each gives.
        body: of the frame.  pose: of the frame in it.
        base: of the frame from which it is seen; of joints the child.  base_pose: in it; of joints the anchor of the child.
        shape: whose contacts are summed.  toucher: body whose contacts are.
        radius: of a zone, -1 without.  half: half the lengths of a zone, -1 without.
        reach: of range finders, 1e30 without an end.
        sigma, density, walk, turn_on, drift, drift_time, quantum: of noise, see `NoiseSpec`; 0 without.
        rate: 0 for each step.
        subtree: bodies of each, none of sensors of other types.
    """

    name: tuple[str, ...]
    types: tuple[tuple[str, ...], ...]
    body: Array = per("S")
    pose: Array = per("W|1 S pose", "m, 1")
    base: Array = per("S")
    base_pose: Array = per("W|1 S pose", "m, 1")
    joint: Array = per("S")
    subtree: tuple[tuple[int, ...], ...]
    shape: Array = per("S")
    toucher: Array = per("S")
    radius: Array = per("W|1 S", "m")
    half: Array = per("W|1 S xyz", "m")
    reach: Array = per("W|1 S", "m")
    is_noisy: Array = per("S", kind=bool)
    sigma: Array = per("W|1 S")
    density: Array = per("W|1 S")
    walk: Array = per("W|1 S")
    turn_on: Array = per("W|1 S")
    drift: Array = per("W|1 S")
    drift_time: Array = per("W|1 S", "s")
    quantum: Array = per("W|1 S")
    rate: Array = per("W|1 S", "Hz")
    delay: Array = per("W|1 S", "s")
