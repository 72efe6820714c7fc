"""Springs between points, straight or over pulleys; and where springs and bushings rest, if the scene does not say."""

from dataclasses import dataclass, replace

import numpy as np

from simcli import rotations as rot
from simcli.model.forces.bushing import bushings_at_rest
from simcli.model.forces.ends import ends_at_start, indices_of_bodies, of_type, place_of_end, read_ends, read_keys
from simcli.model.forces.lines import bent_lines, read_laws, value_on_lines
from simcli.model.forces.ropes import length_of_way, ropes_of, way_of_rope
from simcli.model.joints.links import stack_worlds
from simcli.model.joints.tree_kinematics import body_poses
from simcli.model.tables.force_tables import Springs
from simcli.model.tables.model import Array, Model
from simcli.model.tables.worlds import Worlds


def read_springs(worlds: Worlds, model: Model) -> Springs:
    """Springs whose ways are points.

    Args:
        worlds: the scenes.
        model: its bodies.

    Returns:
        The table. Rest lengths that are not written are NaN, until the initial state is known: see `springs_at_rest`.
    """
    names = [name for name in of_type(worlds, "spring") if name not in ropes_of(worlds.first)]
    forces = [worlds.first.forces[name] for name in names]
    body, point = read_ends(worlds, model, names)
    rest = [
        np.full(1, np.nan) if force.rest_length is None else worlds.numbers(lambda s, n=name: s.forces[n].rest_length)
        for name, force in zip(names, forces, strict=True)
    ]
    return Springs(
        name=tuple(names),
        body=body,
        point=point,
        rest_length=stack_worlds(rest, ()),
        slack=np.array([force.slack for force in forces], bool),
        **read_keys(worlds, names, Springs, ("stiffness", "damping")),
        **_read_pulleys(worlds, model, names),
        **read_laws(worlds, names, "spring"),
    )


def _read_pulleys(worlds: Worlds, model: Model, names: list[str]) -> dict[str, Array]:
    """The columns of pulleys, see `Springs`."""
    index = indices_of_bodies(model.bodies)
    for name in names:
        worlds.common(lambda s, n=name: [end.body for end in s.forces[n].through], f"forces.{name}.through")
    found = [(k, name, m) for k, name in enumerate(names) for m in range(len(worlds.first.forces[name].through))]
    if not found:
        return {}
    bodies = [index[worlds.first.forces[name].through[m].body] for _, name, m in found]
    points = [worlds.numbers(lambda s, n=name, m=m: place_of_end(s, s.forces[n].through[m]), (3,)) for _, name, m in found]
    return {
        "pulley_spring": np.array([k for k, *_ in found], np.int32),
        "pulley_body": np.array(bodies, np.int32),
        "pulley_point": stack_worlds(points, (3,)),
    }


@dataclass(frozen=True)
class Segments:
    """Straight parts of springs: one of each, or the parts of it between its ends and its pulleys, one after the other.

    Attributes:
        spring: (G,) to which each belongs; they follow one another.
        body: (G, 2) bodies of the ends, WORLD allowed.
        point: [m], (W|1, G, 2, 3), in those bodies.
    """

    spring: Array
    body: Array
    point: Array

    @property
    def first(self) -> Array:
        """First segment of each spring, and behind them the number of all, (K + 1,)."""
        return np.searchsorted(self.spring, np.arange(self.spring.max(initial=-1) + 2))

    def sum(self, values: Array) -> Array:
        """Of each spring, (..., K), of values of segments (..., G)."""
        return np.add.reduceat(values, self.first[:-1], axis=-1) if len(self.spring) else values


def segments_of(springs: Springs) -> Segments:
    """The straight parts of the springs of a table."""
    K, on_way = len(springs.name), springs.pulley_spring
    if not len(on_way):
        return Segments(np.arange(K), springs.body, springs.point)
    stops = np.argsort(np.concatenate((np.arange(K), on_way, np.arange(K))), kind="stable")  # a, its pulleys, b
    spring = np.concatenate((np.arange(K), on_way, np.arange(K)))[stops]
    body = np.concatenate((springs.body[:, 0], springs.pulley_body, springs.body[:, 1]))[stops]
    lead = max(len(springs.point), len(springs.pulley_point))
    parts = springs.point[:, :, 0], springs.pulley_point, springs.point[:, :, 1]
    point = np.concatenate([np.broadcast_to(part, (lead, *part.shape[1:])) for part in parts], axis=1)[:, stops]
    begins = np.flatnonzero(spring[1:] == spring[:-1])
    return Segments(
        spring[begins],
        np.stack((body[begins], body[begins + 1]), axis=1).astype(np.int32),
        np.stack((point[:, begins], point[:, begins + 1]), axis=2),
    )


def ends_of_segments(segments: Segments, pose: Array) -> list[Array]:
    """Both ends of each segment in world 0, [m], world, (G, 3).

    Args:
        segments: of springs.
        pose: [m, 1], (B, 7), of the bodies, world.
    """
    places = np.concatenate((pose, [rot.IDENTITY_POSE]))  # WORLD is the last entry
    return [rot.pose_apply(places[segments.body[:, side]], segments.point[0, :, side]) for side in range(2)]


def elastic_tension(springs: Springs, length: Array) -> Array:
    """[N], (K,), of the springs of world 0 at lengths (K,), 0 of a slack one that is shorter than it rests.

    On the device, with dampers, it is kernels/rows/coordinate_laws.py:spring_law.

    Args:
        springs: the table.
        length: [m], (K,).
    """
    stretch = length - springs.rest_length[0]
    line = bent_lines(len(springs.name), springs.law_spring, springs.law_elongation, springs.law_force)
    tension = springs.stiffness[0] * stretch + value_on_lines(line, stretch)
    return np.where(springs.slack, np.maximum(tension, 0.0), tension)


def springs_at_rest(model: Model) -> Model:
    """The model whose springs rest, where the scene says nothing, at the length that they have in its initial state."""
    springs = model.springs
    missing = np.isnan(springs.rest_length)
    if not missing.any():
        return model
    segments = segments_of(springs)
    _, (a, b) = ends_at_start(model, segments.body, segments.point)
    gap = b - a
    rest = np.where(missing, segments.sum(np.sqrt(rot.dot(gap, gap))), springs.rest_length)
    return replace(model, springs=replace(springs, rest_length=rest))


def at_rest(model: Model) -> Model:
    """The model whose springs, ropes and bushings rest, where the scene says nothing, as they are in its initial state."""
    return bushings_at_rest(ropes_at_rest(springs_at_rest(model)))


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
