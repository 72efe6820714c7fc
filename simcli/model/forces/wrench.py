"""Wrenches on bodies, and their drag; efforts on joints, and torsion springs on their coordinates.

Where a signal drives a number, the number is 0 here and an input adds the signal (see signals/inputs.py).
"""

import numpy as np

from simcli.model.forces.ends import of_type, read_keys
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.mechanism import BodyInput, JointInput
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


def add_torsions(worlds: Worlds, parts: list[JointInput]) -> None:
    """Add the torsion springs on joints; several on one dof are one spring and a constant energy.

        K = sum k,   K R = sum k r,   sum k (q - r)^2 / 2 = K (q - R)^2 / 2 + (sum k r^2 - K R^2) / 2

    Args:
        worlds: the scenes; the spec has refused joints outside the tree and joints with a quaternion.
        parts: completed in place: the columns damping, spring_stiffness, spring_rest, spring_energy.
    """
    by_name = {part.name: part for part in parts}
    moments: dict[str, list[Array]] = {}
    for name in of_type(worlds, "torsion"):
        part = by_name[worlds.first.forces[name].joint]
        k, c, r = (
            worlds.numbers(lambda s, n=name, key=key, m=part.n_qd: _spread(getattr(s.forces[n], key), m), (part.n_qd,))
            for key in ("stiffness", "damping", "rest_angle")
        )
        before = moments.get(part.name, [np.zeros((1, part.n_qd))] * 3)
        moments[part.name] = [a + b for a, b in zip(before, (k, k * r, k * r * r), strict=True)]
        part.dof["damping"] = part.dof.get("damping", 0.0) + c
    for name, (stiffness, first, second) in moments.items():
        acts = stiffness > 0.0
        rest = np.where(acts, first, 0.0) / np.where(acts, stiffness, 1.0)
        energy = np.maximum(0.5 * (second - stiffness * rest * rest), 0.0)
        by_name[name].dof |= {"spring_stiffness": stiffness, "spring_rest": rest, "spring_energy": energy}


def _spread(values: tuple[float, ...], count: int) -> tuple[float, ...]:
    """One number for all dofs, or one for each."""
    return values * count if len(values) == 1 else values
