"""Sensors of touch: sums of the contacts of a frame on a body or a shape, perhaps within a zone."""

from simcli.kernels.algebra.values import Mat3, Vec3
from simcli.kernels.collision.lanes import one
from simcli.kernels.language import ti
from simcli.kernels.language.vectors import get_lane
from simcli.kernels.report import put
from simcli.solvers.shared.contacts.report import CONTACTS, ROW
from simcli.solvers.shared.contacts.touches import SHAPE_A, SHAPE_B, add_in_lane
from simcli.solvers.shared.probes.sensor_formulas import OWN_SIDE, motion_of_frame
from simcli.solvers.shared.probes.sensors import RANGE_KIND, TOUCH_KIND

_POINT, _NORMAL, _CONTACT_FORCE = 2, 5, ROW - 3  # places in a row of contacts


@ti.func
def sense_touch(g: ti.template(), c: ti.template(), w: ti.i32):
    """Sums of normal forces within zones, and of forces in axes of frames, of the contacts that the frame shows.

    Reads:  c.contacts.{rows, summary}, c.rows
    Writes: g.sensors.values
    """
    m = g.sensors
    zero = c.tables.arena.zero()
    for n in range(m.n):
        kind = m.kind.at(n)
        if kind >= TOUCH_KIND and kind < RANGE_KIND:
            x, R, _v, _spin, _arm = motion_of_frame(m, c.rows, w, n, OWN_SIDE)
            m.values.store(w, m.first.at(n), zero)
            if kind > TOUCH_KIND:
                put(m.values, w, m.first.at(n), zero, zero, zero)
            for lane in range(c.lanes):
                x_1 = Vec3(*[get_lane(part, lane) for part in x.parts])
                R_1 = Mat3(*[get_lane(part, lane) for part in R.parts])
                count = ti.cast(get_lane(c.contacts.summary.part(w, CONTACTS, 0), lane), ti.i32)
                for k in range(count):
                    sum_contact(g, c, w, lane, n, k, x_1, R_1)


@ti.func
def sum_contact(g: ti.template(), c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, k: ti.i32, x: ti.template(),
                R: ti.template()):
    """Add contact k of a world to sensor n, if it is on its body or shape and within its zone.

    Args:
        x, R: origin and axes of the frame of the sensor in this world.

    Reads:  c.contacts.rows
    Writes: g.sensors.values
    """
    m = g.sensors
    sign = _side_of(g, c, w, lane, n, k)
    if sign != 0.0:
        force = _vector_of(c, w, lane, k, _CONTACT_FORCE) * sign
        if m.kind.at(n) == TOUCH_KIND:
            at = R.transposed_times(_vector_of(c, w, lane, k, _POINT) - x)
            if is_within(m, w, lane, n, at):
                add_in_lane(m.values, w, lane, m.first.at(n), ti.abs(force.dot(_vector_of(c, w, lane, k, _NORMAL))))
        else:
            seen = R.transposed_times(force)
            for i in ti.static(range(3)):
                add_in_lane(m.values, w, lane, m.first.at(n) + i, seen.parts[i])


@ti.func
def _side_of(g: ti.template(), c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, k: ti.i32):
    """1 if the force of contact k is on what sensor n is on, -1 if that is the other side, 0 if it is neither."""
    m = g.sensors
    a = ti.cast(get_lane(c.contacts.rows.part(w, k * ROW + SHAPE_A, 0), lane), ti.i32)
    b = ti.cast(get_lane(c.contacts.rows.part(w, k * ROW + SHAPE_B, 0), lane), ti.i32)
    sign = 0.0
    if m.shape.at(n) >= 0:
        sign = 1.0 * (m.shape.at(n) == b) - 1.0 * (m.shape.at(n) == a)
    else:
        sign = 1.0 * (m.owner.at(b) == m.toucher.at(n)) - 1.0 * (m.owner.at(a) == m.toucher.at(n))
    return sign


@ti.func
def is_within(m: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, at: ti.template()):
    """Whether a point in axes of the frame of sensor n lies in its zone: a ball, a box, or all there is.

    Reads: m.{radius, half}
    """
    reach = one(m.radius, w, lane, n)
    half = one(m.half, w, lane, n)
    found = reach < 0.0 or at.dot(at) <= reach * reach
    if half.parts[0] >= 0.0:
        for k in ti.static(range(3)):
            found = found and ti.abs(at.parts[k]) <= half.parts[k]
    return found


def _vector_of(c, w, lane, k, first):
    """Three numbers of contact k of a world (inside kernels)."""
    return Vec3(*[get_lane(c.contacts.rows.part(w, k * ROW + first + i, 0), lane) for i in range(3)])
