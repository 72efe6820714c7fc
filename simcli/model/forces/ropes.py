"""Ropes: springs that run around cylinders and spheres, are paid out by coordinates, or pulled; and where they rest.

kernels/forces/ropes.py states the law.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from simcli import rotations as rot
from simcli.model.forces.ends import indices_of_bodies, place_of_end, read_keys
from simcli.model.forces.lines import read_laws
from simcli.model.forces.wrapping import Wrap, wrap
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.force_tables import Ropes, StopKind
from simcli.model.tables.model import WORLD, Array, Model
from simcli.model.tables.worlds import Worlds, constant_part
from simcli.spec.schema.force_base import RopeStopSpec
from simcli.spec.schema.forces import SpringForce
from simcli.spec.schema.scene import SceneSpec


def read_ropes(worlds: Worlds, model: Model) -> Ropes:
    """Ropes.

    Args:
        worlds: the scenes.
        model: its bodies and joints.

    Returns:
        The table. Rest lengths that are not written are NaN, until the initial state is known: see `ropes_at_rest`.
    """
    chosen = ropes_of(worlds.first)
    if not chosen:
        return model.ropes
    names, forces = list(chosen), list(chosen.values())
    rest = [
        np.full(1, np.nan) if force.rest_length is None else worlds.numbers(lambda s, n=name: s.forces[n].rest_length)
        for name, force in zip(names, forces, strict=True)
    ]
    return Ropes(
        name=tuple(names),
        rest_length=stack_worlds(rest, ()),
        slack=np.array([force.slack for force in forces], bool),
        tension=stack_worlds([worlds.numbers(lambda s, n=name: constant_part(s.forces[n].tension)) for name in names], ()),
        **read_keys(worlds, names, Ropes, ("stiffness", "damping")),
        **_read_stops(worlds, model, names),
        **_read_paid(worlds, model, names),
        **read_laws(worlds, names, "rope"),
    )


def ropes_of(spec: SceneSpec) -> dict[str, SpringForce]:
    """The springs of a scene that are ropes, in file order."""
    return {name: force for name, force in spec.forces.items() if isinstance(force, SpringForce) and force.is_rope}


def stops_of(force) -> tuple:
    """The way of a rope: both ends, and what it runs over between them."""
    return force.a, *force.through, force.b


def _read_stops(worlds: Worlds, model: Model, names: list[str]) -> dict[str, Array]:
    """The columns of stops, see `Ropes`."""
    index = indices_of_bodies(model.bodies)
    for name in names:
        worlds.common(lambda s, n=name: [_structure(stop) for stop in stops_of(s.forces[n])], f"forces.{name}.through")
    found = [(k, name, m) for k, name in enumerate(names) for m in range(len(stops_of(worlds.first.forces[name])))]
    stops = [stops_of(worlds.first.forces[name])[m] for _, name, m in found]

    def column(of, shape: tuple[int, ...]) -> Array:
        rows = (worlds.numbers(lambda s, n=name, m=m: of(s, stops_of(s.forces[n])[m]), shape) for _, name, m in found)
        return stack_worlds(list(rows), shape)

    structure = [_structure(stop) for stop in stops]
    axis = column(lambda _s, stop: stop.cylinder.axis if stop_kind_of(stop) == StopKind.CYLINDER else (0.0, 0.0, 1.0), (3,))
    return {
        "stop_rope": np.array([k for k, *_ in found], np.int32),
        "stop_body": np.array([index[body] for body, *_ in structure], np.int32),
        "stop_kind": np.array([kind for _, kind, *_ in structure], np.int32),
        "stop_sided": np.array([sided for *_, sided, _ in structure], bool),
        "stop_point": column(place_of_end, (3,)),
        "stop_radius": column(lambda _s, stop: stop.size.radius if stop_kind_of(stop) else 0.0, ()),
        "stop_axis": rot.unit(axis),
        "stop_side": column(_place_of_side, (3,)),
        "stop_side_body": np.array([index[side] for *_, side in structure], np.int32),
        "stop_friction": column(lambda _s, stop: getattr(stop, "friction", 0.0), ()),
        "stop_slip_speed": column(lambda _s, stop: getattr(stop, "slip_speed", 1.0), ()),
    }


def _structure(stop) -> tuple[str | None, int, bool, str | None]:
    """What of a stop is the same in all worlds: its body, its kind, whether it has a side, and the body of that."""
    side = getattr(stop, "side", None)
    body = stop.body if side is None or side.is_own else side.body
    return stop.body, int(stop_kind_of(stop)), side is not None, body


def _place_of_side(spec, stop) -> tuple[float, ...]:
    """Place of the side of a stop in its body or in the world; that of the stop where it has none."""
    side = getattr(stop, "side", None)
    return place_of_end(spec, side or stop)


def stop_kind_of(stop) -> StopKind:
    """What an end or a stop is."""
    if not isinstance(stop, RopeStopSpec) or stop.size is None:
        return StopKind.POINT
    return StopKind.CYLINDER if stop.cylinder else StopKind.SPHERE


def _read_paid(worlds: Worlds, model: Model, names: list[str]) -> dict[str, Array]:
    """The columns of coordinates that pay out, see `Ropes`."""
    for name in names:
        worlds.common(lambda s, n=name: [(one.joint, one.dof) for one in s.forces[n].paid_out], f"forces.{name}.paid_out")
    ropes = ropes_of(worlds.first)
    found = [(k, name, m) for k, name in enumerate(names) for m in range(len(ropes[name].paid_out))]
    factors = [worlds.numbers(lambda s, n=name, m=m: s.forces[n].paid_out[m].factor) for _, name, m in found]
    terms = [ropes[name].paid_out[m] for _, name, m in found]
    dofs = [int(model.joints.qd_start[model.joints.name.index(term.joint)]) + term.dof for term in terms]
    return {
        "paid_rope": np.array([k for k, *_ in found], np.int32),
        "paid_dof": np.array(dofs, np.int32),
        "paid_factor": stack_worlds(factors, ()) if found else np.zeros((1, 0)),
    }


def way_of_rope(ropes: Ropes, k: int, R: Array, x: Array) -> list[tuple[int, Array | Wrap, Array]]:
    """The way of rope k: of each stop its number, and its place or how the rope runs around it; and the centre.

    Args:
        ropes: the table.
        k: of the rope.
        R: (B, W, 3, 3), axes of the bodies, world.
        x: [m], (B, W, 3), their places.

    Returns:
        Places (W, 3) in the world; those of a `Wrap` are about the centre, which stands behind it.
    """
    chosen = np.flatnonzero(ropes.stop_rope == k).tolist()
    place = {m: _in_world(ropes.stop_body[m], ropes.stop_point[:, m], R, x) for m in chosen}
    way: list[tuple[int, Array | Wrap, Array]] = []
    for m in chosen:
        if ropes.stop_kind[m] == StopKind.POINT:
            way.append((m, place[m], place[m]))
            continue
        before, after = place[m - 1] - place[m], place[m + 1] - place[m]
        side = _in_world(ropes.stop_side_body[m], ropes.stop_side[:, m], R, x) - place[m] if ropes.stop_sided[m] else None
        on_body = ropes.stop_axis[:, m]
        axis = on_body if ropes.stop_body[m] == WORLD else rot.turn(R[ropes.stop_body[m]], on_body)
        cylinder = ropes.stop_kind[m] == StopKind.CYLINDER
        way.append((m, wrap(before, after, ropes.stop_radius[:, m], axis if cylinder else None, side), place[m]))
    return way


def _in_world(body: int, point: Array, R: Array, x: Array) -> Array:
    """A point of a body, (W|1, 3), in the world."""
    return point if body == WORLD else x[body] + rot.turn(R[body], point)


def length_of_way(way: list[tuple[int, Array | Wrap, Array]]) -> Array:
    """[m], (W,), of a way; arcs and the straight parts beside them are those of their `Wrap`."""
    total = np.zeros(1)
    for (_, one, a), (_, other, b) in pairwise(way):
        if isinstance(other, Wrap):
            total = total + other.length
        elif not isinstance(one, Wrap):
            total = total + np.sqrt(rot.dot(b - a, b - a))
    return total


def ropes_at_rest(model: Model) -> Model:
    """The model whose ropes rest, where the scene says nothing, at the length that they have in its initial state."""
    ropes = model.ropes
    missing = np.isnan(ropes.rest_length)
    if not missing.any():
        return model
    R, x = body_poses(model, model.joint_q)
    found = []
    for k in range(len(ropes.name)):
        paid = [
            ropes.paid_factor[:, n] * _coordinate(model, int(ropes.paid_dof[n]))
            for n in np.flatnonzero(ropes.paid_rope == k)
        ]
        found.append(length_of_way(way_of_rope(ropes, k, R, x)) - sum(paid, np.zeros(1)))
    rest = np.where(missing, stack_worlds(found, ()), ropes.rest_length)
    return replace(model, ropes=replace(ropes, rest_length=rest))


def _coordinate(model: Model, d: int) -> Array:
    """[m, rad], (W|1,), of dof d in the initial state."""
    j = model.dofs.joint[d]
    return model.joint_q[:, model.joints.q_start[j] + d - model.joints.qd_start[j]]
