"""What sensors find in the poses, velocities and forces of a frame: a formula for each type of spec/base/sensor_types.py.

Poses and velocities of bodies are those that frames show, whatever coordinates a solver has: a sensor is one formula.

Notation: x, R origin and axes of the frame in the world; v its velocity, u the angular velocity; 0: of the frame from
which it is seen.
"""

from typing import NamedTuple

from simcli.kernels.articulation.kinematics import quaternion_at, vector_at
from simcli.kernels.articulation.report import motion_of_body, put
from simcli.kernels.language import ti
from simcli.kernels.language.values import Mat3, Vec3, quaternion_of

OWN_SIDE, SEEN_FROM = 0, 1  # sides of a sensor: its own frame, and that from which it is seen


@ti.func
def motion_of_frame(m: ti.template(), rows: ti.template(), w: ti.i32, n: ti.i32, side: ti.template()):
    """Origin and axes of a frame of sensor n, its velocity, its angular velocity, and its place from the centre of mass.

    Args:
        m: `SensorReadings`.
        side: OWN_SIDE or SEEN_FROM.

    Reads: rows.{body_q, body_qd}, m
    """
    b = m.body.at(n)
    if ti.static(side == SEEN_FROM):
        b = m.base.at(n)
    R, x, v, spin = motion_of_body(rows, w, b)
    arm = R * (m.place[side].load(w, n) - m.com[side].load(w, n))
    return x + R * m.place[side].load(w, n), R * m.turn[side].load(w, n), v + spin.cross(arm), spin, arm


class _FrameMotion(NamedTuple):
    """What `motion_of_frame` gives."""

    x: Vec3
    R: Mat3
    v: Vec3
    spin: Vec3
    arm: Vec3


def _frame(g, c, w, n, side: int = OWN_SIDE) -> _FrameMotion:
    return _FrameMotion(*motion_of_frame(g.sensors, c.rows, w, n, side))


def _show(g, w, n, value) -> None:
    put(g.sensors.values, w, g.sensors.first.at(n), value)


# Of a frame (all formulas inside kernels: g what is looked at, c the core of a run, w the block, n the sensor)


def _gyro(g, c, w, n):
    """R^T u."""
    f = _frame(g, c, w, n)
    _show(g, w, n, f.R.transposed_times(f.spin))


def _velocimeter(g, c, w, n):
    """R^T v."""
    f = _frame(g, c, w, n)
    _show(g, w, n, f.R.transposed_times(f.v))


def _accelerometer(g, c, w, n):
    """R^T (acceleration of the origin less gravity)."""
    f = _frame(g, c, w, n)
    _show(g, w, n, f.R.transposed_times(_proper_acceleration(g, c, w, n, f.spin, f.arm)))


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


# Of a frame, as seen from another


def _position(g, c, w, n):
    """R0^T (x - x0)."""
    f, seen = _frame(g, c, w, n), _frame(g, c, w, n, SEEN_FROM)
    _show(g, w, n, seen.R.transposed_times(f.x - seen.x))


def _orientation(g, c, w, n):
    """R0^T R."""
    f, seen = _frame(g, c, w, n), _frame(g, c, w, n, SEEN_FROM)
    _show(g, w, n, quaternion_of(seen.R.T * f.R))


def _velocity(g, c, w, n):
    """R0^T (v - v0 - u0 x (x - x0)), as it is seen from a frame that moves."""
    f, seen = _frame(g, c, w, n), _frame(g, c, w, n, SEEN_FROM)
    _show(g, w, n, seen.R.transposed_times(f.v - seen.v - seen.spin.cross(f.x - seen.x)))


def _angular_velocity(g, c, w, n):
    """R0^T (u - u0)."""
    f, seen = _frame(g, c, w, n), _frame(g, c, w, n, SEEN_FROM)
    _show(g, w, n, seen.R.transposed_times(f.spin - seen.spin))


# Of a joint


def _encoder(g, c, w, n):
    """Coordinates of the joint."""
    _take_numbers(g, w, n, c.state.q)


def _tachometer(g, c, w, n):
    """Velocities of the joint."""
    _take_numbers(g, w, n, c.state.qd)


@ti.func
def _take_numbers(g: ti.template(), w: ti.i32, n: ti.i32, source: ti.template()):
    """The numbers of the joint in a column of the state.

    Writes: g.sensors.values
    """
    m = g.sensors
    for k in range(m.width.at(n)):
        m.values.store(w, m.first.at(n) + k, source.load(w, m.start.at(n) + k))


def _force(g, c, w, n):
    """R^T F, F the force of the joint on its child."""
    force = vector_at(c.rows.joint_wrench, w, 6 * g.sensors.joint.at(n))
    _show(g, w, n, _frame(g, c, w, n).R.transposed_times(force))


def _torque(g, c, w, n):
    """R^T T, T = T0 + (x0 - x) x F; x0 the anchor of the child, about which the joint gives T0."""
    f, anchor = _frame(g, c, w, n), _frame(g, c, w, n, SEEN_FROM)
    force = vector_at(c.rows.joint_wrench, w, 6 * g.sensors.joint.at(n))
    torque = vector_at(c.rows.joint_wrench, w, 6 * g.sensors.joint.at(n) + 3) + (anchor.x - f.x).cross(force)
    _show(g, w, n, f.R.transposed_times(torque))


# Of a body and all that tree joints carry on it


@ti.func
def _sums_of_tree(m: ti.template(), rows: ti.template(), w: ti.i32, n: ti.i32):
    """Centre of mass X of the bodies of sensor n, its velocity V, their momentum p.

        M X = sum m x_c,   p = M V = sum m v_c

    Reads: rows.{body_q, body_qd}
    """
    zero = rows.body_q.arena.zero()
    mass = zero
    centre = Vec3(zero, zero, zero)
    momentum = Vec3(zero, zero, zero)
    for k in range(m.tree_start.at(n), m.tree_start.at(n + 1)):
        x_c, v_c = _centre_of(m, rows, w, k)
        mass = mass + m.mass.load(w, k)
        centre = centre + x_c * m.mass.load(w, k)
        momentum = momentum + v_c * m.mass.load(w, k)
    return centre * (1.0 / mass), momentum * (1.0 / mass), momentum


def _centre_of(m, rows, w, k):
    """Centre of mass of member k of the subtrees, and its velocity (inside kernels)."""
    b = m.member.at(k)
    R = quaternion_at(rows.body_q, w, 7 * b + 3).matrix()
    return vector_at(rows.body_q, w, 7 * b) + R * m.centre.load(w, k), vector_at(rows.body_qd, w, 6 * b)


def _com(g, c, w, n):
    """X."""
    centre, _V, _p = _sums_of_tree(g.sensors, c.rows, w, n)
    _show(g, w, n, centre)


def _com_velocity(g, c, w, n):
    """V."""
    _X, velocity, _p = _sums_of_tree(g.sensors, c.rows, w, n)
    _show(g, w, n, velocity)


def _momentum(g, c, w, n):
    """The momentum p."""
    _X, _V, momentum = _sums_of_tree(g.sensors, c.rows, w, n)
    _show(g, w, n, momentum)


def _angular_momentum(g, c, w, n):
    """L about X."""
    centre, velocity, _p = _sums_of_tree(g.sensors, c.rows, w, n)
    _show(g, w, n, _momentum_about(g.sensors, c.rows, w, n, centre, velocity))


@ti.func
def _momentum_about(m: ti.template(), rows: ti.template(), w: ti.i32, n: ti.i32, X: ti.template(), V: ti.template()):
    """[kg m^2/s], L = sum R I R^T u + (x_c - X) x m (v_c - V).

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


FORMULAS = {
    "gyro": _gyro,
    "velocimeter": _velocimeter,
    "accelerometer": _accelerometer,
    "position": _position,
    "orientation": _orientation,
    "velocity": _velocity,
    "angular_velocity": _angular_velocity,
    "encoder": _encoder,
    "tachometer": _tachometer,
    "force": _force,
    "torque": _torque,
    "com": _com,
    "com_velocity": _com_velocity,
    "momentum": _momentum,
    "angular_momentum": _angular_momentum,
}
