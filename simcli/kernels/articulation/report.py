"""From device state to frames: poses, twists, energies and reactions of one frame, written world by world.

The buffers are host memory on the CPU, so that nothing is copied twice. Values of a world that has ended are NaN.
"""

from simcli.kernels.articulation.kinematics import (
    TreeState,
    body_pose,
    com_about_origin,
    point_velocity,
    quaternion_at,
    upright,
    vector_at,
)
from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane, item
from simcli.kernels.language.values import Vec3, quaternion_of


class FrameRows:
    """Rows of packs that hold one frame of a block before it leaves the device, flattened over bodies, joints, points."""

    _data_oriented = True

    def __init__(self, tables: Tables, arena: Arena, n_energies: int):
        self.effort = tables.dofs.array()
        self.body_q = arena.array(7 * tables.n_bodies)
        self.body_qd, self.body_qdd = arena.records(6 * tables.n_bodies).arrays(2)
        self.points, self.joint_wrench = arena.array(6 * tables.n_points), arena.array(6 * tables.n_joints)
        self.energy = arena.array(n_energies)


@ti.func
def motion_of_body(rows: ti.template(), w: ti.i32, b: ti.i32):
    """A body as a frame shows it: axes, origin [m], velocity of its centre of mass, angular velocity, in the world.

    Args:
        rows: `FrameRows`.
        b: the body, -1 for the world, which is at rest at its own origin.

    Reads: rows.{body_q, body_qd}
    """
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
    return R, x, v, spin


def put(array, w, first, *values):
    """Store the parts of values in consecutive rows."""
    row = 0
    for value in values:
        for part in value.parts if hasattr(value, "parts") else [value]:
            array.store(w, first + row, part)
            row += 1


@ti.func
def unload_part(
    out: ti.template(),
    array: ti.template(),
    first: ti.i32,
    w: ti.i32,
    n: ti.template(),
    stride: ti.template(),
    poison: ti.template(),
):
    """Copy n rows of a block to a flat buffer, world by world, plus the poison: 0, or NaN for worlds that have ended.

    The buffer is flat, because an index into an array of several axes costs more than the copy.

    Args:
        first: where the first world of the block begins.  stride: how much further the next one does.

    Writes: out
    """
    for i in range(n):
        write_pack(out, array.arena.device.lanes, first + i, stride, array.load(w, i) + poison)


def write_pack(out, lanes: int, first, stride: int, pack):
    """Write one pack to out[first], out[first + stride], ..., a lane each."""
    value, at = local(pack), local(first)
    for lane in range(lanes):
        item(out, at + lane * stride)._assign(get_lane(value, lane))


@ti.func
def report_efforts(t: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32):
    """Joint efforts as the equations of motion saw them: applied, drives and damping at the end of the step.

    Reads:  s.{qdd, tau, diagonal}, t.armature
    Writes: rows.effort
    """
    for d in range(t.n_qd):
        rows.effort.store(w, d, t.arena.zero())
    for n in range(t.n_tree_dofs):  # those of other joints are laws on rows
        d = t.tree_dof.at(n)
        rows.effort.store(w, d, effort_now(t, s, w, d))


def effort_now(t: Tables, s: TreeState, w, d):
    """Effort of dof d as the equations of motion saw it, see `report_efforts` (inside kernels)."""
    implicit = (s.diagonal.load(w, d) - t.armature.load(w, d)) * s.qdd.load(w, d)
    return s.tau.load(w, d) - implicit


@ti.func
def report_bodies(t: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32):
    """Poses of body frames; velocities of the centres of mass and angular velocities; world.

    Reads:  s.{R, o, v, origin}, t links
    Writes: rows.{body_q, body_qd}
    """
    for b in range(t.n_bodies):
        report_body(t, s, rows, w, b)


@ti.func
def report_body(t: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32, b: ti.i32):
    """`report_bodies` for one."""
    link = t.tip.at(b)
    x, R = body_pose(t, s, w, link)
    put(rows.body_q, w, 7 * b, x, quaternion_of(R))
    report_velocity(t, s, rows, w, b)


@ti.func
def report_orientation(t: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32, b: ti.i32):
    """The second part of `report_body`."""
    _x, R = body_pose(t, s, w, t.tip.at(b))
    put(rows.body_q, w, 7 * b + 3, quaternion_of(R))


@ti.func
def report_velocity(t: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32, b: ti.i32):
    """The last part of `report_body`."""
    link = t.tip.at(b)
    v = s.v.load(w, link)
    put(rows.body_qd, w, 6 * b, point_velocity(v, com_about_origin(t, s, w, link)), v.angular)


@ti.func
def report_points(t: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32):
    """Named points: position and velocity, world.

    Reads:  s.{R, o, v, origin}, t.{point_link, point_position}
    Writes: rows.points
    """
    for k in range(t.n_points):
        report_point(t, s, rows, w, k)


@ti.func
def report_point(t: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32, k: ti.i32):
    """`report_points` for one."""
    link = t.point_link.at(k)
    x = s.o.load(w, link) + s.R.load(w, link) * t.point_position.load(w, k)
    put(rows.points, w, 6 * k, x + s.origin.load(w, t.root.at(link)), point_velocity(s.v.load(w, link), x))


@ti.func
def report_wrenches(t: ti.template(), s: ti.template(), rows: ti.template(), w: ti.i32):
    """Joint reactions: force and torque on the child at the child anchor, world. Loop joints have none before rows.

    Reads:  s.{f, R, o} after `rnea_backward`, t.{joint_link, anchor}
    Writes: rows.joint_wrench
    """
    for j in range(t.n_joints):
        link = t.joint_link.at(j)
        if link >= 0:
            child = t.child_link.at(j)
            force = s.f.load(w, link) * ti.cast(t.joint_sign.at(j), t.arena.device.real)
            x = s.o.load(w, child) + s.R.load(w, child) * t.anchor.load(w, j)
            put(rows.joint_wrench, w, 6 * j, force.force, force.moment - x.cross(force.force))


@ti.func
def mechanical_energy(t: ti.template(), s: ti.template(), w: ti.i32):
    """Kinetic (armature included) and potential energy [J].

        T = sum (m v_c^2 + w I_c w) / 2 + sum armature qd^2 / 2,   V = - sum (1 - compensation) m g . x_c
        in natural coordinates T = sum M_dd qd^2 / 2, which holds for bodies that yield, too

    Reads:  s.{R, o, v, origin, qd}, t links
    """
    zero = t.arena.zero()
    kinetic = zero
    potential = zero
    g = t.gravity.load(w, 0)
    for i in range(t.n_links):
        if t.massive.at(i) != 0:
            v = s.v.load(w, i)
            x = s.origin.load(w, t.root.at(i)) + com_about_origin(t, s, w, i)
            rate = point_velocity(v, com_about_origin(t, s, w, i))
            spin = v.angular
            mass = t.mass.load(w, i)
            if ti.static(not t.is_natural):
                I_w = t.inertia.load(w, i).turned(s.R.load(w, i))
                kinetic = kinetic + (rate.dot(rate) * mass + spin.dot(I_w * spin)) * 0.5
            potential = potential - x.dot(g) * _weighing(t, w, i, mass)
    for n in range(t.n_tree_dofs):
        d = t.tree_dof.at(n)
        qd = s.qd.load(w, d)
        moved = zero + t.armature.load(w, d)
        if ti.static(t.is_natural):
            moved = moved + t.weight.load(w, d) - t.excess.load(w, d)
        kinetic = kinetic + qd * qd * moved * 0.5
    return kinetic, potential


def _weighing(t, w, i, mass):
    """What of the mass of link i gravity acts on (inside kernels)."""
    return mass - t.lifted.load(w, i) if t.has_lifts else mass
