"""The way of a rope around a cylinder or a sphere, on the host: what kernels/forces/wrapping.py does on the device.

Of two points p, q and a circle of radius r about the origin, in the plane of the circle, a = |p|, b = |q|:

    alpha = atan2(sqrt(a^2 - r^2), r),  beta likewise    from each point to where its tangent touches
    phi = theta - alpha - beta                           arc of contact; theta: the angle from p to q on that way round

The straight line meets the circle where phi of the shorter way round is positive; the rope then takes that way. With a side
the ray from the centre away from it is closed: where the straight line crosses it, the rope takes the other, longer way
round, also where it would miss the circle. On a cylinder the way is a helix: heights grow with the length in the plane. The
plane of a sphere is that of p, q and its centre.

The length is stationary, so that its derivatives are those of its straight parts with the points of contact held; where
the arc vanishes both are continuous. A point inside the circle makes the way straight.

Source: derived; the side as a point is the sidesite of MuJoCo, whose choice of the way this is. No deviation.
"""

from typing import NamedTuple

import numpy as np

from simcli import rotations as rot
from simcli.model.tables.model import Array

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
    flat_p, flat_q = (x - rot.dot(x, n)[..., None] * n for x in (p, q))
    a, b = np.sqrt(rot.dot(flat_p, flat_p)), np.sqrt(rot.dot(flat_q, flat_q))
    outside = (a > radius) & (b > radius)
    a, b = np.where(outside, a, 2.0 * radius), np.where(outside, b, 2.0 * radius)
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
