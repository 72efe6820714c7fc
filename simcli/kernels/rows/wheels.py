"""Rows of wheels and blades on a plane: the gap of the lowest point, and velocities where it touches.

With n the normal of the plane, which A carries, a the wheel's axis, g from A's anchor to the wheel's centre, p the wheel's
lowest point and l = p - x_B the lever to it,

    l = R u - r n,    u = (k a - n) / s,    k = n . a,    s = |n x a|

    RIM    phi = n . g - R s - r,   phi' = n . v     v = g' + w_B x l - w_A x (g + l), of both bodies' points at p
    SLIP   rate d . v, d in the plane               a velocity that no coordinate tells: its residual is 0
    BLADE  rate d . v with l = 0, d = n x heading / |n x heading|

The rate of the gap is that of the points which touch, because the lowest point moves along the rim at right angles to n.
So all three are a force d on B and its opposite on A, both through p, whose bias is d' . v + d . v'.

Source: Neimark and Fufaev (1972), chapter 1, wheels and blades; written out here for a torus on a plane that moves.
"""

import numpy as np

from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.values import Vec3
from simcli.model.constraints.constraint_tables import NONHOLONOMIC_FORMS, Form, Rows

RIM, SLIP, BLADE = map(int, (Form.RIM, Form.SLIP, Form.BLADE))
_LEAST_SINE = 1e-12  # of the angle between axis and normal, below which a wheel lies flat


class Wheels:
    """Device columns of these rows.

    Attributes:
        any: whether there are some.  has_slips: whether some hold a velocity alone.
        tube: of each row.  is_slip: 1 for rows that hold a velocity alone.
    """

    _data_oriented = True

    def __init__(self, rows: Rows, items):
        forms = set(rows.form.tolist())
        self.any, self.has_slips = not forms.isdisjoint((RIM, SLIP, BLADE)), not forms.isdisjoint(NONHOLONOMIC_FORMS)
        if self.any:
            self.tube, self.is_slip = items.column(rows.tube), items.ints(np.isin(rows.form, NONHOLONOMIC_FORMS))


def with_wheels(r, w, n, gap, a, b, found):
    """What a row measures, if wheels or blades are among the rows; else as it is (inside kernels).

    Args:
        gap, a, b: as of `measure_gap`, `measure_turn`.
        found: residual, rate, bias, force and couple of the other forms.
    """
    return _with_wheels(r, w, n, gap, a, b, found) if r.wheels.any else found


@ti.func
def _with_wheels(
    r: ti.template(), w: ti.i32, n: ti.i32, gap: ti.template(), a: ti.template(), b: ti.template(), found: ti.template()
):
    """Reads: r columns."""
    residual = found[0]
    rate = found[1]
    bias = found[2]
    force = found[3]
    couple = found[4]
    form = r.form.at(n)
    if form == RIM or form == SLIP:
        radius = residual * 0.0 + r.constant.load(w, n)
        tube = residual * 0.0 + r.wheels.tube.load(w, n)
        normal = a[0] * r.on_a.load(w, n)
        lever, change, below = lowest_point(normal, b[0] * r.on_b.load(w, n), a, b, radius, tube)
        force = a[0] * r.across_a.load(w, n)
        rate, bias = slip_along(force, a[1].cross(force), lever, change, gap, a, b)
        couple = lever.cross(force)
        residual = residual * 0.0
        if form == RIM:
            residual = normal.dot(gap[0]) + below
    if form == BLADE:
        none = force * 0.0
        force, change = across_blade(a[0] * r.on_a.load(w, n), b[0] * r.on_b.load(w, n), a, b)
        rate, bias = slip_along(force, change, none, none, gap, a, b)
        residual = residual * 0.0
        couple = none
    return residual, rate, bias, force, couple


def lowest_point(normal: Vec3, axis: Vec3, a: tuple, b: tuple, radius, tube):
    """Lever from the centre of a wheel to its lowest point, its rate, and what the gap of that is besides n . g.

    Args:
        normal, axis: world, carried by A and B.
        a, b: as `turning` gives them.
        radius, tube: [m], R and r.
    """
    turned, rolled = a[1].cross(normal), b[1].cross(axis)
    cosine, across = normal.dot(axis), normal.cross(axis)
    sine = local(ti.sqrt(across.dot(across)))
    over = local(1.0 / ti.max(sine, _LEAST_SINE))
    swing = local(turned.dot(axis) + normal.dot(rolled))
    down = (axis * cosine - normal) * over
    fall = local(swing * cosine * over * over)  # -s' / s, with s s' = -k k'
    moved = (axis * swing + rolled * cosine - turned) * over + down * fall
    return down * radius - normal * tube, moved * radius - turned * tube, local(-radius * sine - tube)


def across_blade(normal: Vec3, heading: Vec3, a: tuple, b: tuple):
    """Direction across a blade in the plane, and its rate; arguments as of `lowest_point`."""
    across = normal.cross(heading)
    change = a[1].cross(normal).cross(heading) + normal.cross(b[1].cross(heading))
    over = local(1.0 / ti.max(local(ti.sqrt(across.dot(across))), _LEAST_SINE))
    d = across * over
    return d, (change - d * d.dot(change)) * over


def slip_along(d: Vec3, turned: Vec3, lever: Vec3, change: Vec3, gap: tuple, a: tuple, b: tuple):
    """Rate and bias of the velocity along d of two points that are at x_B + lever, of B against A.

    Args:
        turned: the rate of d.
        change: the rate of the lever.
        gap: from A to B, with its derivatives.
        a, b: as `turning` gives them.
    """
    arm = gap[0] + lever
    slip = gap[1] + b[1].cross(lever) - a[1].cross(arm)
    more = gap[2] + b[2].cross(lever) + b[1].cross(change) - a[2].cross(arm) - a[1].cross(gap[1] + change)
    return d.dot(slip), turned.dot(slip) + d.dot(more)
