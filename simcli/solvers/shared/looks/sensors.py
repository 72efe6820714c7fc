"""Sensors on the device: what each looks at, and what it finds in a frame; their types are in spec/names/sensor_types.py.

Poses and velocities of bodies are those that frames show, whatever coordinates a solver has: a sensor is one formula.

Notation: x, R origin and axes of the frame in the world; v its velocity, u the angular velocity; 0: of the frame from
which it is seen.
"""

from collections.abc import Sequence

import numpy as np

from simcli import rotations as rot
from simcli.kernels.algebra.values import Mat3, Sym3, Vec3
from simcli.kernels.chart.tree import quaternion_at, upright, vector_at
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import Arena
from simcli.kernels.memory.tables import Tables
from simcli.kernels.report import put, quaternion_of
from simcli.model.measures import Sensed
from simcli.model.tables import Array, Model
from simcli.spec.names.sensor_types import OF_SUBTREE, SENSOR_TYPES

_NUMBER = {name: n for n, name in enumerate(SENSOR_TYPES)}
_GYRO, _ACCELEROMETER, _VELOCIMETER, _POSITION, _ORIENTATION, _VELOCITY, _ANGULAR_VELOCITY = (
    _NUMBER[name] for name in ("gyro", "accelerometer", "velocimeter", "position", "orientation", "velocity",
                              "angular_velocity"))  # fmt: skip
_ENCODER, _TACHOMETER, _FORCE, _TORQUE = (_NUMBER[name] for name in ("encoder", "tachometer", "force", "torque"))
_COM, _COM_VELOCITY, _MOMENTUM = (_NUMBER[name] for name in ("com", "com_velocity", "momentum"))
TOUCH_KIND, RANGE_KIND = _NUMBER["touch"], _NUMBER["range"]  # those of contacts are from the one to before the other


class SensorReadings:
    """What is looked at by sensors.

    Args:
        sensed: sensors by their types.
        model: host tables.
        tables: device tables.
        arena: receives the columns.

    Attributes:
        n: how many.  kind: place in SENSOR_TYPES.  first, width: of their numbers.
        body, base: of the frame, and of that from which it is seen (of joints the child's anchor), -1 for the world.
        place, turn: [m], [1], of both frames in their bodies.  com: [m], of both bodies.
        shape, toucher: whose contacts are summed; owner: bodies of all shapes.  radius, half: of zones.
        joint: of those on joints.  start: first coordinate of theirs.
        tree_start: (n + 1), where the bodies of each subtree begin in `member`.
        mass: [kg], inertia: [kg m^2], centre: [m], of `member`.
        reach: [m], of range finders.  sees_frames: whether some find something of their frame.
        has: by types, whether some are.  bodies: those whose poses and velocities are looked at.
        values: what they find.
    """

    _data_oriented = True

    def __init__(self, sensed: Sequence[Sensed], model: Model, tables: Tables, arena: Arena):
        table, s = model.sensors, np.array([one.sensor for one in sensed])
        self.n, self.types = len(sensed), [one.type for one in sensed]
        self.sees_frames = any(_NUMBER[name] <= _ANGULAR_VELOCITY for name in self.types)
        self.has = {name: name in self.types for name in SENSOR_TYPES}
        items = arena.records(self.n)
        self.kind = items.ints([_NUMBER[name] for name in self.types])
        self.first, self.width = (items.ints([getattr(one, name) for one in sensed]) for name in ("first", "width"))
        ends = (table.body[s], table.pose[:, s]), (table.base[s], table.base_pose[:, s])
        self.body, self.base = (items.ints(body) for body, _ in ends)
        self.place = [items.column(pose[..., :3], Vec3) for _, pose in ends]
        self.turn = [items.column(rot.quat_to_matrix(pose[..., 3:]), Mat3) for _, pose in ends]
        self.com = [items.column(_com_of(model, body), Vec3) for body, _ in ends]
        starts = np.where([name == "encoder" for name in self.types], model.joints.q_start[table.joint[s]],
                          model.joints.qd_start[table.joint[s]])  # fmt: skip
        self.joint, self.start = items.ints(table.joint[s]), items.ints(starts)
        trees = [table.subtree[k] if SENSOR_TYPES[name].of == OF_SUBTREE else ()
                 for k, name in zip(s, self.types, strict=True)]  # fmt: skip
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
        self.values = arena.slot(sum(one.width for one in sensed))

    def has_some(self, *of: str) -> bool:
        """Whether some look at these."""
        return any(SENSOR_TYPES[name].of in of for name in self.types)

    @property
    def are_placed(self) -> bool:
        """Whether poses and velocities are enough."""
        return not any(SENSOR_TYPES[name].channel for name in self.types)


def _com_of(model: Model, body: Array) -> Array:
    """[m], (W|1, n, 3), centres of mass of bodies; 0 of the world."""
    return np.where((body >= 0)[:, None], model.bodies.com[:, body], 0.0)


def _packed(inertia: Array) -> Array:
    """Symmetric matrices (..., 3, 3) as xx yy zz xy xz yz."""
    return np.stack([inertia[..., i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], axis=-1)


@ti.func
def find_sensors(g: ti.template(), c: ti.template(), w: ti.i32):
    """What the sensors that are looked at find.

    Reads:  c.rows, c.state.{q, qd}, c.tables.gravity
    Writes: g.sensors.values
    """
    m = g.sensors
    for n in range(m.n):
        kind = m.kind.at(n)
        if ti.static(m.sees_frames):
            if kind <= _ANGULAR_VELOCITY:
                sense_frame(g, c, w, n, kind)
        if ti.static(m.has["encoder"] or m.has["tachometer"]):
            if kind == _ENCODER or kind == _TACHOMETER:
                _sense_coordinates(g, c, w, n, kind)
        if ti.static(m.has["force"] or m.has["torque"]):
            if kind == _FORCE or kind == _TORQUE:
                _sense_wrench(g, c, w, n, kind)
        if ti.static(m.has_some(OF_SUBTREE)):
            if kind >= _COM and kind < TOUCH_KIND:
                sense_subtree(g, c, w, n, kind)


@ti.func
def motion_of_frame(m: ti.template(), rows: ti.template(), w: ti.i32, n: ti.i32, side: ti.template()):
    """Origin and axes of a frame of sensor n, its velocity, its angular velocity, and its place from the centre of mass.

    Args:
        side: 0 for its own frame, 1 for that from which it is seen.

    Reads: rows.{body_q, body_qd}, m
    """
    b = m.body.at(n)
    if ti.static(side == 1):
        b = m.base.at(n)
    R = upright(rows.body_q.arena.zero())
    zero = R.parts[1]
    x = Vec3(zero, zero, zero)
    v = Vec3(zero, zero, zero)
    spin = Vec3(zero, zero, zero)
    if b >= 0:
        R = quaternion_at(rows.body_q, w, 7 * b + 3).matrix()
        x = vector_at(rows.body_q, w, 7 * b)
        v = vector_at(rows.body_qd, w, 6 * b)
        spin = vector_at(rows.body_qd, w, 6 * b + 3)
    arm = R * (m.place[side].load(w, n) - m.com[side].load(w, n))
    return x + R * m.place[side].load(w, n), R * m.turn[side].load(w, n), v + spin.cross(arm), spin, arm


@ti.func
def sense_frame(g: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32):
    """What sensor n finds of its frame.

        gyro R^T u;  velocimeter R^T v;  position R0^T (x - x0);  orientation R0^T R;  angular velocity R0^T (u - u0)
        velocity R0^T (v - v0 - u0 x (x - x0)), as it is seen from a frame that moves

    Reads:  c.rows
    Writes: g.sensors.values
    """
    m = g.sensors
    at = m.first.at(n)
    x, R, v, spin, arm = motion_of_frame(m, c.rows, w, n, 0)
    if ti.static(m.has["gyro"]):
        if kind == _GYRO:
            put(m.values, w, at, R.transposed_times(spin))
    if ti.static(m.has["velocimeter"]):
        if kind == _VELOCIMETER:
            put(m.values, w, at, R.transposed_times(v))
    if ti.static(m.has["accelerometer"]):
        if kind == _ACCELEROMETER:
            put(m.values, w, at, R.transposed_times(_proper_acceleration(g, c, w, n, spin, arm)))
    if ti.static(m.has["position"] or m.has["orientation"] or m.has["velocity"] or m.has["angular_velocity"]):
        if kind >= _POSITION:
            sense_beside(g, c, w, n, kind, x, R, v, spin)


@ti.func
def _proper_acceleration(g: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32, spin: ti.template(), arm: ti.template()):
    """[m/s^2], acceleration of the origin less gravity, world: a_c + u' x r + u x (u x r) - g.

    Reads: c.rows.body_qdd, c.tables.gravity
    """
    b = g.sensors.body.at(n)
    a = spin.cross(spin.cross(arm)) - c.tables.gravity.load(w, 0)
    if b >= 0:
        a = a + vector_at(c.rows.body_qdd, w, 6 * b) + vector_at(c.rows.body_qdd, w, 6 * b + 3).cross(arm)
    return a


@ti.func
def sense_beside(g: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, x: ti.template(), R: ti.template(),
                 v: ti.template(), spin: ti.template()):
    """What sensor n finds of its frame as seen from another; see `sense_frame`.

    Writes: g.sensors.values
    """
    m = g.sensors
    at = m.first.at(n)
    x_0, R_0, v_0, spin_0, _arm = motion_of_frame(m, c.rows, w, n, 1)
    if ti.static(m.has["position"]):
        if kind == _POSITION:
            put(m.values, w, at, R_0.transposed_times(x - x_0))
    if ti.static(m.has["orientation"]):
        if kind == _ORIENTATION:
            put(m.values, w, at, quaternion_of(R_0.T * R))
    if ti.static(m.has["velocity"]):
        if kind == _VELOCITY:
            put(m.values, w, at, R_0.transposed_times(v - v_0 - spin_0.cross(x - x_0)))
    if ti.static(m.has["angular_velocity"]):
        if kind == _ANGULAR_VELOCITY:
            put(m.values, w, at, R_0.transposed_times(spin - spin_0))


@ti.func
def _sense_coordinates(g: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32):
    """Coordinates or velocities of the joint of sensor n.

    Reads:  c.state.{q, qd}
    Writes: g.sensors.values
    """
    m = g.sensors
    for k in range(m.width.at(n)):
        value = c.tables.arena.zero()
        if kind == _ENCODER:
            value = c.state.q.load(w, m.start.at(n) + k)
        else:
            value = c.state.qd.load(w, m.start.at(n) + k)
        m.values.store(w, m.first.at(n) + k, value)


@ti.func
def _sense_wrench(g: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32):
    """Force of the joint of sensor n on its child, or torque about the origin of the frame; in axes of the frame.

        T = T_0 + (x_0 - x) x F,  x_0 the anchor of the child, about which the joint gives T_0

    Reads:  c.rows.{joint_wrench, body_q}
    Writes: g.sensors.values
    """
    m = g.sensors
    x, R, _v, _spin, _arm = motion_of_frame(m, c.rows, w, n, 0)
    x_0, _R, _v0, _spin0, _arm0 = motion_of_frame(m, c.rows, w, n, 1)
    force = vector_at(c.rows.joint_wrench, w, 6 * m.joint.at(n))
    if kind == _FORCE:
        put(m.values, w, m.first.at(n), R.transposed_times(force))
    else:
        torque = vector_at(c.rows.joint_wrench, w, 6 * m.joint.at(n) + 3) + (x_0 - x).cross(force)
        put(m.values, w, m.first.at(n), R.transposed_times(torque))


@ti.func
def sense_subtree(g: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32):
    """Centre of mass X of the bodies of sensor n, its velocity V, and their momenta.

        M X = sum m x_c,   p = M V = sum m v_c,   L = sum R I R^T u + (x_c - X) x m (v_c - V)

    Reads:  c.rows.{body_q, body_qd}
    Writes: g.sensors.values
    """
    m = g.sensors
    at = m.first.at(n)
    zero = c.tables.arena.zero()
    mass = zero
    centre = Vec3(zero, zero, zero)
    momentum = Vec3(zero, zero, zero)
    for k in range(m.tree_start.at(n), m.tree_start.at(n + 1)):
        x_c, v_c = _centre_of(m, c.rows, w, k)
        mass = mass + m.mass.load(w, k)
        centre = centre + x_c * m.mass.load(w, k)
        momentum = momentum + v_c * m.mass.load(w, k)
    centre = centre * (1.0 / mass)
    if kind == _COM:
        put(m.values, w, at, centre)
    if kind == _COM_VELOCITY:
        put(m.values, w, at, momentum * (1.0 / mass))
    if kind == _MOMENTUM:
        put(m.values, w, at, momentum)
    if ti.static(m.has["angular_momentum"]):
        if kind > _MOMENTUM:
            put(m.values, w, at, _angular_momentum(m, c.rows, w, n, centre, momentum * (1.0 / mass)))


@ti.func
def _angular_momentum(m: ti.template(), rows: ti.template(), w: ti.i32, n: ti.i32, X: ti.template(), V: ti.template()):
    """[kg m^2/s], L of `sense_subtree`.

    Reads: rows.{body_q, body_qd}
    """
    total = X * 0.0
    for k in range(m.tree_start.at(n), m.tree_start.at(n + 1)):
        b = m.member.at(k)
        x_c, v_c = _centre_of(m, rows, w, k)
        R = quaternion_at(rows.body_q, w, 7 * b + 3).matrix()
        spin = vector_at(rows.body_qd, w, 6 * b + 3)
        total = total + R * (m.inertia.load(w, k) * R.transposed_times(spin))
        total = total + (x_c - X).cross((v_c - V) * m.mass.load(w, k))
    return total


def _centre_of(m, rows, w, k):
    """Centre of mass of member k of the subtrees, and its velocity (inside kernels)."""
    b = m.member.at(k)
    R = quaternion_at(rows.body_q, w, 7 * b + 3).matrix()
    return vector_at(rows.body_q, w, 7 * b) + R * m.centre.load(w, k), vector_at(rows.body_qd, w, 6 * b)
