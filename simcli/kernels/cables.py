"""Cables: elastic links that pull two anchors together, and turn them back to their rest.

    d = x_b - x_a,   phi = log(R_a^T R_b R_0^T),   twist = t . phi,   bend = phi - twist t

    E = k_s |d|^2 / 2 + k_b |bend|^2 / 2 + k_t twist^2 / 2

a, b: the anchor frames on parent and child; R_0: the relative rotation at rest; t: the tangent, fixed in the parent
anchor frame. The force acts at the midpoint of the anchors, so that action equals reaction, its moment included, and
damping does not see a rotation of both bodies together. Dampers act on the velocity of B against A at the midpoint and on
the relative angular velocity, split along t. A cable is at most half a turn from its rest: beyond, phi is the shorter way.

Source: reference/articulations.md A9, the cable of the source document. Deviation: bend and twist have their own
stiffness, split along the tangent of the parent's anchor.
"""

from simcli import rotations as rot
from simcli.kernels.language import ti
from simcli.kernels.points import add_force, world_point
from simcli.kernels.report import put
from simcli.kernels.rotation_log import pulled_back, rotation_log
from simcli.kernels.tables import Tables
from simcli.kernels.tree import point_velocity, upright
from simcli.kernels.values import Force, Mat3, Vec3
from simcli.model.link_frames import body_rotations, link_points, links_of
from simcli.model.tables import Model


class Cables:
    """Device columns of cables.

    Attributes:
        joint: joint index.
        link_a, link_b: links that carry parent and child, -1 for the world.
        point_a, point_b: anchors in the axes of those links; frame_a: axes of the parent's anchor; frame_b: axes of
            the child's anchor, turned so that both agree at rest.
        tangent: t.
        energy: [J] and wrench: force [N] and torque [N m] on the child at its anchor, world: of the last `load_cables`.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables):
        cables, joints, arena = model.cables, model.joints, tables.arena
        items = arena.records(len(cables.name))
        self.energy, self.wrench = items.slot(), items.slot(Force)
        self.n = len(cables.name)
        if not self.n:  # nothing reads the columns then, and every event lays them out again
            return
        self.joint = items.ints(cables.joint)
        parent, child = joints.parent[cables.joint], joints.child[cables.joint]
        X_p, X_c = joints.X_p[:, cables.joint], joints.X_c[:, cables.joint]
        self.link_a, self.link_b = items.ints(links_of(model, parent)), items.ints(links_of(model, child))
        self.point_a = items.column(link_points(model, parent, X_p[..., :3]), Vec3)
        self.point_b = items.column(link_points(model, child, X_c[..., :3]), Vec3)
        rest = rot.transpose(rot.quat_to_matrix(cables.rest[..., 3:]))
        frame_a = body_rotations(model, parent) @ rot.quat_to_matrix(X_p[..., 3:])
        frame_b = body_rotations(model, child) @ rot.quat_to_matrix(X_c[..., 3:]) @ rest
        self.frame_a, self.frame_b = items.column(frame_a, Mat3), items.column(frame_b, Mat3)
        self.tangent = items.column(cables.tangent, Vec3)
        for name in ("stretch", "bend", "twist", "stretch_damping", "bend_damping", "twist_damping"):
            setattr(self, name, tables.column(getattr(cables, name)))


@ti.func
def turning_of(t: ti.template(), s: ti.template(), w: ti.i32, link: ti.i32, frame: ti.template()):
    """Anchor axes in the world, and the angular velocity of their link; the world's do not move.

    Reads: s.{R, v}
    """
    zero = t.arena.zero()
    R = upright(zero) * frame
    spin = Vec3(zero, zero, zero)
    if link >= 0:
        R = s.R.load(w, link) * frame
        spin = s.v.load(w, link).angular
    return R, spin


@ti.func
def cable_law(t: ti.template(), ca: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """Force and couple of cable k on B, world, at the midpoint of its anchors; that midpoint about the Os of A and B, and
    from the anchor on B; energy [J] and dissipated power [W].

    Reads: ca columns, s.{R, o, v, origin}
    """
    zero = t.arena.zero()
    link_a = ca.link_a.at(k)
    link_b = ca.link_b.at(k)
    x_a, p_a, _v_a = world_point(t, s, w, link_a, ca.point_a.load(w, k))
    x_b, p_b, _v_b = world_point(t, s, w, link_b, ca.point_b.load(w, k))
    gap = p_b - p_a
    mid_a = x_a + gap * 0.5
    mid_b = x_b - gap * 0.5
    rate = Vec3(zero, zero, zero)
    if link_b >= 0:
        rate = rate + point_velocity(s.v.load(w, link_b), mid_b)
    if link_a >= 0:
        rate = rate - point_velocity(s.v.load(w, link_a), mid_a)
    stretch = zero + ca.stretch.load(w, k)
    stretch_damping = zero + ca.stretch_damping.load(w, k)
    force = -(gap * stretch) - rate * stretch_damping
    F_a, spin_a = turning_of(t, s, w, link_a, ca.frame_a.load(w, k))
    F_b, spin_b = turning_of(t, s, w, link_b, ca.frame_b.load(w, k))
    phi, factor = rotation_log(F_a.T * F_b)
    tangent = Vec3(zero, zero, zero) + ca.tangent.load(w, k)
    twist = phi.dot(tangent)
    bend = phi - tangent * twist
    pull = bend * ca.bend.load(w, k) + tangent * (twist * ca.twist.load(w, k))
    turn_rate = F_a.transposed_times(spin_b - spin_a)
    twist_rate = turn_rate.dot(tangent)
    bend_rate = turn_rate - tangent * twist_rate
    drag = bend_rate * ca.bend_damping.load(w, k) + tangent * (twist_rate * ca.twist_damping.load(w, k))
    couple = -(F_a * (pulled_back(phi, factor, pull) + drag))
    energy = (gap.dot(gap) * stretch + phi.dot(pull)) * 0.5
    power = rate.dot(rate) * stretch_damping + turn_rate.dot(drag)
    return force, couple, mid_a, mid_b, gap * (-0.5), energy, power


@ti.func
def load_cables(t: ti.template(), ca: ti.template(), s: ti.template(), w: ti.i32):
    """Add the forces of all cables to their links; return the dissipated power [W].

    Reads:  ca columns, s.{R, o, v, origin}
    Writes: adds to s.external; ca.{energy, wrench}
    """
    dissipated = t.arena.zero()
    for k in range(ca.n):
        force, couple, mid_a, mid_b, arm, energy, power = cable_law(t, ca, s, w, k)
        add_force(s, w, ca.link_a.at(k), mid_a, -force, -couple)
        add_force(s, w, ca.link_b.at(k), mid_b, force, couple)
        ca.energy.store(w, k, energy)
        ca.wrench.store(w, k, Force.of(force, couple + arm.cross(force)))
        dissipated = dissipated + power
    return dissipated


@ti.func
def cable_energy(ca: ti.template(), w: ti.i32):
    """[J] stored in all cables where they were loaded last.

    Reads: ca.energy
    """
    total = ca.energy.arena.zero()
    for k in range(ca.n):
        total = total + ca.energy.load(w, k)
    return total


@ti.func
def report_cables(ca: ti.template(), rows: ti.template(), w: ti.i32):
    """Reactions of cables where they were loaded last.

    Reads:  ca.wrench
    Writes: rows.joint_wrench
    """
    for k in range(ca.n):
        put(rows.joint_wrench, w, 6 * ca.joint.at(k), ca.wrench.load(w, k))
