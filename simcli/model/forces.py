"""Forces of a scene: springs, wrenches, efforts on joints; and the named points of bodies.

Where a signal drives a number, the number is 0 here and an input adds the signal (see inputs.py).
"""

from dataclasses import replace

import numpy as np

from simcli import rotations as rot
from simcli.model.gather import Worlds
from simcli.model.inputs import number
from simcli.model.links import pile
from simcli.model.mechanism import BodyPart, JointPart
from simcli.model.reference import body_poses
from simcli.model.tables import WORLD, Array, Model, Points, Springs, Wrenches


def _of_type(worlds: Worlds, type_name: str) -> list[str]:
    return [name for name, force in worlds.first.forces.items() if force.type == type_name]


def read_points(worlds: Worlds) -> Points:
    """Named points of all bodies, as `crank/b`.

    Args:
        worlds: the scenes.

    Returns:
        The table.
    """
    bodies = worlds.first.bodies
    keys = [(b, name, point) for b, (name, body) in enumerate(bodies.items()) for point in body.points]
    positions = [worlds.numbers(lambda s, n=n, p=p: s.bodies[n].points[p], (3,)) for _, n, p in keys]
    return Points(
        name=tuple(f"{name}/{point}" for _, name, point in keys),
        body=np.array([b for b, _, _ in keys], np.int32),
        position=pile(positions, (3,)),
    )


def _end(spec, end) -> tuple[float, ...]:
    """Place of a spring's end in its body or in the world."""
    if end.world is not None:
        return end.world
    return end.at if end.point is None else spec.bodies[end.body].points[end.point]


def read_springs(worlds: Worlds, model: Model) -> Springs:
    """Springs.

    Args:
        worlds: the scenes.
        model: its bodies.

    Returns:
        The table. Rest lengths that are not written are NaN, until the initial state is known: see `with_rest_lengths`.
    """
    names = _of_type(worlds, "spring")
    index = {"world": WORLD, None: WORLD, **{name: b for b, name in enumerate(model.bodies.name)}}
    forces = [worlds.first.forces[name] for name in names]
    bodies = [[index[force.a.body], index[force.b.body]] for force in forces]
    points = [
        worlds.numbers(lambda s, n=name: [_end(s, s.forces[n].a), _end(s, s.forces[n].b)], (2, 3)) for name in names
    ]
    columns = {
        key: pile([worlds.numbers(lambda s, n=name, k=key: getattr(s.forces[n], k)) for name in names], ())
        for key in ("stiffness", "damping")
    }
    rest = [
        np.full(1, np.nan) if force.rest_length is None else worlds.numbers(lambda s, n=name: s.forces[n].rest_length)
        for name, force in zip(names, forces, strict=True)
    ]
    return Springs(
        name=tuple(names),
        body=np.array(bodies, np.int32).reshape(-1, 2),
        point=pile(points, (2, 3)),
        rest_length=pile(rest, ()),
        slack=np.array([force.slack for force in forces], bool),
        **columns,
    )


def with_rest_lengths(model: Model) -> Model:
    """The model whose springs rest, where the scene says nothing, at the length that they have in its initial state."""
    springs = model.springs
    missing = np.isnan(springs.rest_length)
    if not missing.any():
        return model
    R, x = body_poses(model, model.joint_q)
    ends = []
    for body, point in zip(springs.body.T, np.moveaxis(springs.point, 2, 0), strict=True):
        turned = np.moveaxis(x[body], 0, 1) + rot.turn(np.moveaxis(R[body], 0, 1), point)
        ends.append(np.where((body == WORLD)[:, None], point, turned))
    gap = ends[1] - ends[0]
    rest = np.where(missing, np.sqrt(rot.dot(gap, gap)), springs.rest_length)
    return replace(model, springs=replace(springs, rest_length=rest))


def read_wrenches(worlds: Worlds, bodies: list[BodyPart]) -> Wrenches:
    """Wrenches.

    Args:
        worlds: the scenes.
        bodies: give the centres of mass.

    Returns:
        The table.
    """
    names = _of_type(worlds, "wrench")
    index = {body.name: b for b, body in enumerate(bodies)}
    forces = [worlds.first.forces[name] for name in names]
    at = [
        bodies[index[force.body]].com if force.at is None else worlds.numbers(lambda s, n=name: s.forces[n].at, (3,))
        for name, force in zip(names, forces, strict=True)
    ]
    vectors = {
        key: pile([_vector(worlds, name, key) for name in names], (3,))
        for key in ("force", "torque")
    }
    return Wrenches(
        name=tuple(names),
        body=np.array([index[force.body] for force in forces], np.int32),
        point=pile(at, (3,)),
        follows=np.array([force.frame == "body" for force in forces], bool),
        **vectors,
    )


def _vector(worlds: Worlds, name: str, key: str) -> Array:
    """Force or torque of a wrench, (W|1, 3)."""
    return worlds.numbers(lambda s: [number(value) for value in getattr(s.forces[name], key)], (3,))


def add_torques(worlds: Worlds, parts: list[JointPart]) -> None:
    """Add the efforts on joints.

    Args:
        worlds: the scenes.
        parts: completed in place.
    """
    by_name = {part.name: part for part in parts}
    for name in _of_type(worlds, "torque"):
        force = worlds.first.forces[name]
        part = by_name[force.joint]
        if len(force.value) != part.n_qd:
            message = f"force `{name}` has {len(force.value)} values, joint `{part.name}` has {part.n_qd} dofs"
            worlds.fault("SC463", f"forces.{name}.value", message, f"write {part.n_qd} numbers")
            continue
        value = worlds.numbers(lambda s, n=name: [number(v) for v in s.forces[n].value], (part.n_qd,))
        part.effort = value if part.effort is None else part.effort + value


def add_torsions(worlds: Worlds, parts: list[JointPart]) -> None:
    """Add the torsion springs on joints; several on one dof are one spring and a constant energy.

        K = sum k,   K R = sum k r,   sum k (q - r)^2 / 2 = K (q - R)^2 / 2 + (sum k r^2 - K R^2) / 2

    Args:
        worlds: the scenes; the spec has refused joints outside the tree and joints with a quaternion.
        parts: completed in place: the columns damping, spring_stiffness, spring_rest, spring_energy.
    """
    by_name = {part.name: part for part in parts}
    moments: dict[str, list[Array]] = {}
    for name in _of_type(worlds, "torsion"):
        part = by_name[worlds.first.forces[name].joint]
        k, c, r = (
            worlds.numbers(lambda s, n=name, key=key, m=part.n_qd: spread(getattr(s.forces[n], key), m), (part.n_qd,))
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


def spread(values: tuple[float, ...], count: int) -> tuple[float, ...]:
    """One number for all dofs, or one for each."""
    return values * count if len(values) == 1 else values
