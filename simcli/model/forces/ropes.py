"""Ropes: springs around cylinders and spheres, paid out by coordinates, pulled, or muscles; their way, where they rest.

Of two points p, q and a circle of radius r about the origin, in the plane of the circle, a = |p|, b = |q|:

    alpha = atan2(sqrt(a^2 - r^2), r),  beta likewise    from each point to where its tangent touches
    phi = theta - alpha - beta                           arc of contact; theta: the angle from p to q on that way round

The straight line meets the circle where phi of the shorter way round is positive; the rope then takes that way. With a side
the ray from the centre away from it is closed: where the straight line crosses it, the rope takes the other, longer way
round, also where it would miss the circle. On a cylinder the way is a helix: heights grow with the length in the plane. The
plane of a sphere is that of p, q and its centre.

The length is stationary, so that its derivatives are those of its straight parts with the points of contact held; where
the arc vanishes both are continuous. A point inside the circle makes the way straight.

Through a ring, phi of the shorter way is below 0: the rope bends where both parts meet the circle at one angle,

    2 z - asin(r sin z / a) - asin(r sin z / b) = theta,   z - asin(r sin z / a)    from p to there

whose left side grows from 0 to alpha + beta at z = pi / 2, and is convex: Newton's method from there never turns round.

Source: derived; the side as a point is the sidesite of MuJoCo, whose choice of the way this is. No deviation.
kernels/forces/ropes.py states the law.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.model.forces.ends import indices_of_bodies, place_of_end, read_keys
from simcli.model.forces.lines import read_laws, read_muscles
from simcli.model.joints.links import stack_worlds
from simcli.model.tables.force_tables import Ropes, StopKind
from simcli.model.tables.model import WORLD, Array, Model
from simcli.model.tables.worlds import Worlds, constant_part
from simcli.spec.schema.force_base import RopeStopSpec
from simcli.spec.schema.forces import SpringForce
from simcli.spec.schema.scene import SceneSpec

COLLINEAR = 1e-9  # sine of the angle between two points of a sphere below which they tell no plane


class Wrap(NamedTuple):
    """A way round, about the centre.

    Attributes:
        wraps: bool, whether it touches.
        first, last: [m], (..., 3), where it touches first and last; half way if it does not.
        arc: [rad], angle of contact about the axis.
        length: [m], of all of the way.
        axis: (..., 3), unit, about which the arc turns from first to last by the right hand.
        rise: [m], along `axis` from first to last.
    """

    wraps: Array
    first: Array
    last: Array
    arc: Array
    length: Array
    axis: Array
    rise: Array

    def at(self, share: float) -> Array:
        """[m], (..., 3), the point of the arc at a share of it, about the centre."""
        height = rot.dot(self.first, self.axis)[..., None] * self.axis
        x, turn = self.first - height, (self.arc * share)[..., None]
        return (
            height + np.cos(turn) * x + np.sin(turn) * rot.cross(self.axis, x) + (share * self.rise)[..., None] * self.axis
        )


def wrap(p: Array, q: Array, radius: Array, axis: Array | None, side: Array | None) -> Wrap:
    """The way from p to q.

    Args:
        p: [m], (..., 3), about the centre.
        q: likewise.
        radius: [m], positive.
        axis: (..., 3), unit, of a cylinder; None of a sphere.
        side: [m], (..., 3), a point on the side on which it passes, about the centre; None: the shorter way.
    """
    n = _normal(p, q, side) if axis is None else axis
    height, rise = rot.dot(p, n), rot.dot(q - p, n)
    flat_p, flat_q, a, b, outside = _in_plane(p, q, radius, n)
    x = flat_p / a[..., None]
    y = rot.cross(n, x)
    reach_p, reach_q = np.sqrt(a * a - radius**2), np.sqrt(b * b - radius**2)
    alpha, beta = np.arctan2(reach_p, radius), np.arctan2(reach_q, radius)
    turn = np.arctan2(rot.dot(flat_q, y), rot.dot(flat_q, x))
    turn = np.where(turn < 0.0, turn + 2.0 * np.pi, turn)
    arcs = turn - alpha - beta, 2.0 * np.pi - turn - alpha - beta
    long = np.zeros(turn.shape, bool) if side is None else outside & _crosses_back(flat_p, flat_q, side, n)
    wraps = outside & (long | (np.minimum(*arcs) > 0.0))
    left = (arcs[0] <= arcs[1]) != long
    arc, sign = np.where(wraps, np.where(left, *arcs), 0.0), np.where(left, 1.0, -1.0)
    plane = reach_p + radius * arc + reach_q
    along = (radius / a)[..., None] * x + (sign * reach_p / a)[..., None] * y
    q_unit = flat_q / b[..., None]
    back = (radius / b)[..., None] * q_unit - (sign * reach_q / b)[..., None] * rot.cross(n, q_unit)
    up = height + rise * reach_p / plane, height + rise * (1.0 - reach_q / plane)
    first, last = (np.asarray(radius)[..., None] * way + z[..., None] * n for way, z in zip((along, back), up, strict=True))
    straight = np.sqrt(rot.dot(q - p, q - p))
    on_way = wraps[..., None]
    return Wrap(
        wraps,
        np.where(on_way, first, 0.5 * (p + q)),
        np.where(on_way, last, 0.5 * (p + q)),
        arc,
        np.where(wraps, np.hypot(plane, rise), straight),
        sign[..., None] * n,
        np.where(wraps, sign * rise * radius * arc / plane, 0.0),
    )


BENDS = 20  # iterations from the tangent to a bend, of places 1e-6 radii outside the circle and any angle: 16, measured


def way_through(p: Array, q: Array, radius: Array, axis: Array | None) -> Wrap:
    """The way from p to q through a ring; arguments as of `wrap`."""
    n = _normal(p, q, None) if axis is None else axis
    height, rise = rot.dot(p, n), rot.dot(q - p, n)
    flat_p, flat_q, a, b, outside = _in_plane(p, q, radius, n)
    x = flat_p / a[..., None]
    y = rot.cross(n, x)
    turn = np.arctan2(rot.dot(flat_q, y), rot.dot(flat_q, x))
    most = np.arccos(radius / a) + np.arccos(radius / b)
    touches = outside & (np.abs(turn) < most)
    theta, z = np.where(touches, np.abs(turn), most), np.full(turn.shape, 0.5 * np.pi)
    for _ in range(BENDS):
        sine, cosine = np.sin(z), np.cos(z)
        taken, slope = 2.0 * z - theta, np.full(z.shape, 2.0)
        for part in (radius / a, radius / b):
            rest = np.sqrt(1.0 - (part * sine) ** 2)
            taken, slope = taken - np.arctan2(part * sine, rest), slope - part * cosine / rest
        z = z - taken / slope
    at = z - np.arcsin(radius / a * np.sin(z))
    ways = (a, at), (b, theta - at)
    reach_p, reach_q = (np.sqrt((far - radius) ** 2 + far * radius * 4.0 * np.sin(0.5 * u) ** 2) for far, u in ways)
    plane = reach_p + reach_q
    place = np.cos(at)[..., None] * x + (np.sign(turn) * np.sin(at))[..., None] * y
    place = np.asarray(radius)[..., None] * place + (height + rise * reach_p / plane)[..., None] * n
    place = np.where(touches[..., None], place, 0.5 * (p + q))
    length = np.where(touches, np.hypot(plane, rise), np.sqrt(rot.dot(q - p, q - p)))
    return Wrap(touches, place, place, np.zeros(turn.shape), length, n, np.zeros(turn.shape))


def _in_plane(p: Array, q: Array, radius: Array, n: Array) -> tuple[Array, ...]:
    """Two places in a plane, their distances, and whether both are outside the circle; else these are twice the radius."""
    flat_p, flat_q = (x - rot.dot(x, n)[..., None] * n for x in (p, q))
    a, b = np.sqrt(rot.dot(flat_p, flat_p)), np.sqrt(rot.dot(flat_q, flat_q))
    outside = (a > radius) & (b > radius)
    return flat_p, flat_q, np.where(outside, a, 2.0 * radius), np.where(outside, b, 2.0 * radius), outside


def _normal(p: Array, q: Array, side: Array | None) -> Array:
    """The unit normal of the plane of two points of a sphere; where the centre is on one line with them, beside the side."""
    p, q, *beside = np.broadcast_arrays(p, q, *(() if side is None else (side,)))
    n = rot.cross(p, q)
    size = np.sqrt(rot.dot(p, p) * rot.dot(q, q))
    for other in (*beside, np.eye(3)[0], np.eye(3)[1]):
        other = np.broadcast_to(other, n.shape)
        tells = np.sqrt(rot.dot(n, n)) > COLLINEAR * size
        n = np.where(tells[..., None], n, rot.cross(p, other))
        size = np.where(tells, size, np.sqrt(rot.dot(p, p) * rot.dot(other, other)))
    return rot.unit(n)


def _crosses_back(p: Array, q: Array, side: Array, n: Array) -> Array:
    """Whether the line from p to q crosses the ray from the centre away from the side, in the plane with normal n."""
    left = rot.cross(n, side)
    (x_p, y_p), (x_q, y_q) = ((rot.dot(point, side), rot.dot(point, left)) for point in (p, q))
    return (y_p * y_q < 0.0) & ((y_p * x_q - y_q * x_p) * (y_p - y_q) < 0.0)


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
        **read_muscles(worlds, names),
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
        "stop_inside": np.array([getattr(stop, "inside", False) for stop in stops], bool),
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
        about = ropes.stop_radius[:, m], axis if ropes.stop_kind[m] == StopKind.CYLINDER else None
        around = way_through(before, after, *about) if ropes.stop_inside[m] else wrap(before, after, *about, side)
        way.append((m, around, place[m]))
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
