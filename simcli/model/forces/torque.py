"""Efforts on joints. Where a signal drives a number, the number is 0 here and an input adds the signal (see inputs.py)."""

from simcli.model.batch.gather import Worlds, constant_part
from simcli.model.forces.ends import of_type
from simcli.model.mechanism import JointInput


def add_torques(worlds: Worlds, parts: list[JointInput]) -> None:
    """Add the efforts on joints.

    Args:
        worlds: the scenes.
        parts: completed in place.
    """
    by_name = {part.name: part for part in parts}
    for name in of_type(worlds, "torque"):
        force = worlds.first.forces[name]
        part = by_name[force.joint]
        if len(force.value) != part.n_qd:
            message = f"force `{name}` has {len(force.value)} values, joint `{part.name}` has {part.n_qd} dofs"
            worlds.fault("SC463", f"forces.{name}.value", message, f"write {part.n_qd} numbers")
            continue
        value = worlds.numbers(lambda s, n=name: [constant_part(v) for v in s.forces[n].value], (part.n_qd,))
        part.effort = value if part.effort is None else part.effort + value
