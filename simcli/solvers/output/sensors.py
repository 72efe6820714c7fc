"""Sensors on the device: what each looks at, range finders, and sensors of touch.

What the others find is in sensor_formulas.py. A range finder gives how far the shapes of other bodies are along the z axis
of a frame, a sensor of touch sums of the contacts of a frame on a body or a shape, perhaps within a zone.
"""

from collections.abc import Sequence

import numpy as np

from simcli import rotations as rot
from simcli.kernels.articulation.report import put
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.lanes import one
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane, put_lane
from simcli.kernels.language.values import Mat3, Sym3, Vec3
from simcli.kernels.rays.line_of_sight import distance_along, seen_from_shape, stretch_within
from simcli.model.measures import Sensed
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.model import Array, Model
from simcli.solvers.output.contact_report import CONTACTS, ROW, SHAPE_A, SHAPE_B, add_in_lane
from simcli.solvers.output.sensor_formulas import FORMULAS, OWN_SIDE, motion_of_frame
from simcli.spec.base.sensor_types import OF_SUBTREE, SENSOR_TYPES

_NUMBER = {name: n for n, name in enumerate(SENSOR_TYPES)}
_FOUND_HERE = ("touch", "contact_force", "range")
TOUCH_KIND, FORCE_KIND, RANGE_KIND = (_NUMBER[name] for name in _FOUND_HERE)
if lacking := {*SENSOR_TYPES} - {*FORMULAS, *_FOUND_HERE}:
    raise TypeError(
        f"sensors of type {lacking} have no formula: write it in FORMULAS of simcli/solvers/output/sensor_formulas.py"
    )


class SensorReadings:
    """What is looked at by sensors.

    Args:
        sensed: sensors by their types.
        model: host tables.
        arena: receives the columns.

    Attributes:
        n: how many.  kind: place in SENSOR_TYPES.  first, width: of their numbers.
        body, base: of the frame, and of that from which it is seen (of joints the child's anchor), -1 for the world.
        place, turn: [m], [1], of both frames in their bodies.  com: [m], of both bodies.
        shape, toucher: whose contacts are summed; owner: bodies of all shapes.  radius, half: of zones.
        joint: of those on joints.  start: first coordinate of theirs.
        tree_start: (n + 1), where the bodies of each subtree begin in `member`.
        mass: [kg], inertia: [kg m^2], centre: [m], of `member`.
        reach: [m], of range finders.  bodies: those whose poses and velocities are looked at.
        kinds, formulas: of the types that are there and have one in `FORMULAS`.
        values: what they find.
    """

    _data_oriented = True

    def __init__(self, sensed: Sequence[Sensed], model: Model, arena: Arena):
        table, s = model.sensors, np.array([one.sensor for one in sensed])
        self.n, self.types = len(sensed), [one.type for one in sensed]
        present = [name for name in FORMULAS if name in self.types]
        self.kinds, self.formulas = [_NUMBER[name] for name in present], [FORMULAS[name] for name in present]
        items = arena.records(self.n)
        self.kind = items.ints([_NUMBER[name] for name in self.types])
        self.first, self.width = (items.ints([getattr(one, name) for one in sensed]) for name in ("first", "width"))
        ends = (table.body[s], table.pose[:, s]), (table.base[s], table.base_pose[:, s])
        self.body, self.base = (items.ints(body) for body, _ in ends)
        self.place = [items.column(pose[..., :3], Vec3) for _, pose in ends]
        self.turn = [items.column(rot.quat_to_matrix(pose[..., 3:]), Mat3) for _, pose in ends]
        self.com = [items.column(_com_of(model.bodies, body), Vec3) for body, _ in ends]
        starts = np.where(
            [SENSOR_TYPES[name].own == "q" for name in self.types],
            model.joints.q_start[table.joint[s]],
            model.joints.qd_start[table.joint[s]],
        )
        self.joint, self.start = items.ints(table.joint[s]), items.ints(starts)
        trees = [
            table.subtree[k] if SENSOR_TYPES[name].of == OF_SUBTREE else () for k, name in zip(s, self.types, strict=True)
        ]
        member = np.array([body for tree in trees for body in tree], int)
        members = arena.records(len(member))
        self.tree_start, self.member = arena.ints(np.cumsum([0, *map(len, trees)])), members.ints(member)
        self.mass = members.column(model.bodies.mass[:, member])
        self.centre = members.column(model.bodies.com[:, member], Vec3)
        self.inertia = members.column(_packed(model.bodies.inertia[:, member]), Sym3)
        self.shape, self.toucher = items.ints(table.shape[s]), items.ints(table.toucher[s])
        self.radius, self.half = items.column(table.radius[:, s]), items.column(table.half[:, s], Vec3)
        self.reach = items.column(table.reach[:, s])
        self.owner = arena.ints(model.shapes.body)
        self.bodies = {int(b) for body, _ in ends for b in body if b >= 0} | set(member.tolist())
        self.values = arena.array(sum(one.width for one in sensed))

    def has_some(self, *of: str) -> bool:
        """Whether some look at these."""
        return any(SENSOR_TYPES[name].of in of for name in self.types)

    @property
    def are_placed(self) -> bool:
        """Whether poses and velocities are enough."""
        return not any(SENSOR_TYPES[name].channel for name in self.types)


def _com_of(bodies: Bodies, body: Array) -> Array:
    """[m], (W|1, n, 3), centres of mass of bodies; 0 of the world."""
    return np.where((body >= 0)[:, None], bodies.com[:, body], 0.0)


def _packed(inertia: Array) -> Array:
    """Symmetric matrices (..., 3, 3) as xx yy zz xy xz yz."""
    return np.stack([inertia[..., i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], axis=-1)


@ti.func
def find_sensors(g: ti.template(), c: ti.template(), w: ti.i32):
    """What the sensors that are looked at find; those of contacts and range finders are in files of their own.

    Reads:  c.rows, c.state.{q, qd}, c.tables.gravity
    Writes: g.sensors.values
    """
    for n in range(g.sensors.n):
        for k in ti.static(range(len(g.sensors.formulas))):
            if g.sensors.kind.at(n) == g.sensors.kinds[k]:
                g.sensors.formulas[k](g, c, w, n)


NOTHING_SEEN = -1.0  # [m], what a range finder says if it meets nothing


@ti.func
def sense_range(g: ti.template(), c: ti.template(), w: ti.i32):
    """Distances along the z axes of the frames of range finders, to shapes of other bodies than their own.

    Reads:  c.rows
    Writes: g.sensors.values
    """
    m = g.sensors
    for n in range(m.n):
        if m.kind.at(n) == RANGE_KIND:
            x, R, _v, _spin, _arm = motion_of_frame(m, c.rows, w, n, OWN_SIDE)
            m.values.store(w, m.first.at(n), c.tables.arena.zero() + ti.math.inf)
            for s in range(g.targets.n):
                if g.targets.body.at(s) != m.body.at(n):
                    look_at_shape(g, c, w, n, s, x, R.column(2))
            for lane in range(c.lanes):
                found = get_lane(m.values.part(w, m.first.at(n), 0), lane)
                if found > one(m.reach, w, lane, n):
                    put_lane(m.values.part(w, m.first.at(n), 0), lane, NOTHING_SEEN)


@ti.func
def look_at_shape(
    g: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32, s: ti.i32, x: ti.template(), direction: ti.template()
):
    """Shorten what range finder n has found by where its ray meets shape s.

    Reads:  c.rows.body_q
    Writes: g.sensors.values
    """
    m = g.sensors
    t = g.targets
    _axes, origin, along = seen_from_shape(t, c.rows, w, s, x, direction)
    for lane in range(c.lanes):
        o = Vec3(*[get_lane(part, lane) for part in origin.parts])
        d = Vec3(*[get_lane(part, lane) for part in along.parts])
        enter, leave = stretch_within(t, s, one(t.size, w, lane, s), o, d)
        found = ti.min(get_lane(m.values.part(w, m.first.at(n), 0), lane), distance_along(enter, leave))
        put_lane(m.values.part(w, m.first.at(n), 0), lane, found)


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
        if kind == TOUCH_KIND or kind == FORCE_KIND:
            x, R, _v, _spin, _arm = motion_of_frame(m, c.rows, w, n, OWN_SIDE)
            m.values.store(w, m.first.at(n), zero)
            if kind == FORCE_KIND:
                put(m.values, w, m.first.at(n), zero, zero, zero)
            for lane in range(c.lanes):
                x_1 = Vec3(*[get_lane(part, lane) for part in x.parts])
                R_1 = Mat3(*[get_lane(part, lane) for part in R.parts])
                count = ti.cast(get_lane(c.contacts.summary.part(w, CONTACTS, 0), lane), ti.i32)
                for k in range(count):
                    sum_contact(g, c, w, lane, n, k, x_1, R_1)


@ti.func
def sum_contact(
    g: ti.template(), c: ti.template(), w: ti.i32, lane: ti.i32, n: ti.i32, k: ti.i32, x: ti.template(), R: ti.template()
):
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
