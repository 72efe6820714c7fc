"""Forces on links: what all have in common; wrenches, gravity compensation, and applied efforts that are wrenches.

Bushings and cables, springs between points, wrenches and drags know poses and twists only. What acts between two links A
and B has its columns and one function in a file of its own: `act` gives the force [N] and the couple [N m] on B, A taking
the opposite; the points at which they act, of each about its O; the powers that it dissipates and supplies [W]; and what it
stores [J]. What it measures, and its law, are inside. Its columns also say whether it `stores`, whether it `damps`, whether
rows carry it instead (`by_rows`), and whether steps that have no poses lack it (`need_poses`).

Gravity compensation is forces -factor m g at centres of mass, which do no work that the account sees: the potential energy
is that of what gravity is left, (1 - factor) m g.

Efforts on joints whose coordinates are a pose, where no tree moves along them, are wrenches between their bodies:

    on the child:   F = R_p (f_1, f_2, f_3),   M = R_p (f_4, f_5, f_6)    at its centre of mass c
    on the parent:  -F, -M                                                at the same place

R_p: the parent's anchor frame; f: the efforts, which signals and events may drive. Their power is f.qd, for qd are the
velocity of c against the parent's body there, and the angular velocity against it, in that frame.

Source: virtual work of the coordinates of kernels/articulation/projection.py. No deviation.
"""

import numpy as np

from simcli import rotations as rot
from simcli.kernels.articulation.kinematics import com_about_origin, point_velocity, vector_at
from simcli.kernels.articulation.points import add_force, world_point, world_turn
from simcli.kernels.articulation.projection import anchor_motion
from simcli.kernels.articulation.report import put
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.values import Force, Mat3, Vec3
from simcli.model.constraints.build import joints_with_wrench
from simcli.model.joints.tree_kinematics import body_rotations, link_points, links_of
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.model import Model


@ti.func
def load_links(t: ti.template(), fo: ti.template(), s: ti.template(), w: ti.i32):
    """Forces on links, their powers, and what they store.

    Reads:  fo.on_links, s.{R, o, v, origin}
    Writes: s.external, fo.{account.power, potential}
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    dissipated = zero
    supplied = zero
    potential = zero
    for i in range(t.n_links):
        s.external.store(w, i, Force.of(none, none))
    for u in ti.static(fo.on_links):
        for k in range(u.n):
            force, couple, x_a, x_b, loss, gain, energy = u.act(t, u, s, w, k)
            if ti.static(not u.by_rows):
                add_force(s, w, u.link_a.at(k), x_a, -force, -couple)
                add_force(s, w, u.link_b.at(k), x_b, force, couple)
            dissipated = dissipated + loss
            supplied = supplied + gain
            potential = potential + energy
    fo.account.set_power(w, dissipated, supplied)
    fo.potential.store(w, 0, potential)


@ti.func
def act_of_wrench(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What wrench k does to its link; see the top.

    Reads: u columns, s.{R, o, v, origin}
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    link = u.link_b.at(k)
    x, _, v = world_point(t, s, w, link, u.point.load(w, k))
    force = none + u.force.load(w, k)
    torque = none + u.torque.load(w, k)
    if u.follows.at(k) != 0:
        R = s.R.load(w, link)
        force = R * u.force.load(w, k)
        torque = R * u.torque.load(w, k)
    return force, torque, none, x, zero, force.dot(v) + torque.dot(s.v.load(w, link).angular), zero


class Wrenches:
    """Device columns of wrenches; one that follows its body is kept in link axes.

    Attributes:
        n: wrenches.  link_a: -1, the world.  link_b: the link that each acts on.  point: where, in it.
        force, torque, follows: see `model.forces.tables.Wrenches`.
    """

    _data_oriented = True
    act = staticmethod(act_of_wrench)
    stores = by_rows = need_poses = damps = False

    def __init__(self, model: Model, tables: Tables, forces):
        wrenches, self.n = model.wrenches, len(model.wrenches.name)
        items = tables.arena.records(self.n)
        self.link_a, self.link_b = items.ints(np.full(self.n, -1)), items.ints(links_of(model.links, wrenches.body))
        self.point = items.column(link_points(model.links, wrenches.body, wrenches.point), Vec3)
        turn = np.where(wrenches.follows[:, None, None], body_rotations(model.links, wrenches.body), np.eye(3))
        self.force = items.column(_turned(turn, wrenches.force), Vec3, driven="wrench_force" in forces.driven)
        self.torque = items.column(_turned(turn, wrenches.torque), Vec3, driven="wrench_torque" in forces.driven)
        self.follows = items.ints(wrenches.follows)


def _turned(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors (W|1, K, 3) turned by matrices (W|1, K, 3, 3)."""
    return np.einsum("wkij,wkj->wki", turn, vector)


@ti.func
def act_of_gravity_compensation(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What holds body k up; see the top.

    Reads: u columns, t.{gravity, com}, s.{R, o}
    """
    zero = t.arena.zero()
    none = Vec3(zero, zero, zero)
    link = u.link_b.at(k)
    force = none - t.gravity.load(w, 0) * u.mass.load(w, k)
    return force, none, none, com_about_origin(t, s, w, link), zero, zero, zero


class GravityCompensation:
    """Device columns of bodies whose gravity is compensated, in some phase.

    Attributes:
        by_rows: True where steps leave that part of gravity out instead.
        n: of them.  link_a: -1, the world.  link_b: the link of each.  mass: [kg] that is held up.
    """

    _data_oriented = True
    act = staticmethod(act_of_gravity_compensation)
    stores = need_poses = damps = False

    def __init__(self, model: Model, tables: Tables, _forces):
        self.by_rows = False
        body = np.flatnonzero(tables.ever(lambda m: compensated_mass(m.bodies) != 0))
        self.n, items = len(body), tables.arena.records(len(body))
        self.link_a, self.link_b = items.ints(np.full(self.n, -1)), items.ints(links_of(model.links, body))
        self.mass = items.column(compensated_mass(model.bodies)[:, body])


def compensated_mass(bodies: Bodies) -> np.ndarray:
    """[kg], (W|1, B), of each body, that is held up."""
    return bodies.mass * bodies.gravity_compensation


@ti.func
def act_of_efforts(t: ti.template(), u: ti.template(), s: ti.template(), w: ti.i32, k: ti.i32):
    """What the efforts on joint k of these do to its links; see the top.

    Reads:  u columns, s.{R, o, v, origin}
    Writes: u.wrench
    """
    zero = t.arena.zero()
    link_a = u.link_a.at(k)
    link_b = u.link_b.at(k)
    x_b, place, v = world_point(t, s, w, link_b, u.point.load(w, k))
    R_a, spin_a = world_turn(t, s, w, link_a)
    R_b, spin_b = world_turn(t, s, w, link_b)
    x_a = place * 1.0
    if link_a >= 0:
        x_a = place - s.origin.load(w, t.root.at(link_a))
        v = v - point_velocity(s.v.load(w, link_a), x_a)
    F_a = R_a * u.frame.load(w, k)
    force = F_a * applied_efforts(u, w, k, 0)
    couple = F_a * applied_efforts(u, w, k, 3)
    u.wrench.store(w, k, Force.of(force, couple + (R_b * u.arm.load(w, k)).cross(force)))
    return force, couple, x_a, x_b, zero, force.dot(v) + couple.dot(spin_b - spin_a), zero


def applied_efforts(u, w, k, first) -> Vec3:
    """Three efforts of joint k of these, none while it is off (inside kernels)."""
    return Vec3(
        *(u.enabled.load(w, k) * (u.wrench.arena.zero() + u.effort.load(w, u.dof.at(k) + first + i)) for i in range(3))
    )


class JointWrenches:
    """Device columns of the joints whose efforts are wrenches.

    Attributes:
        n: joints.  joint, dof: of each, and the first of its dofs.
        link_a, link_b: links of parent and child, -1 for the world.
        frame: the parent's anchor frame in the axes of its link.
        point: [m], the child's centre of mass in its link.  arm: [m], to it from the child's anchor, in axes of the link.
        effort: [N, N m], of all dofs, see `Forces.constant`.  enabled: 1 or 0.
        wrench: force [N] and torque [N m] on the child at its anchor, world: of the last `load_links`.
    """

    _data_oriented = True
    act = staticmethod(act_of_efforts)
    stores = by_rows = damps = False
    need_poses = True

    def __init__(self, model: Model, tables: Tables, forces):
        chosen = joints_with_wrench(tables.phases)
        self.n, self.effort = len(chosen), forces.constant
        items = tables.arena.records(self.n)
        if not self.n:  # nothing reads the columns then
            return
        joints = model.joints
        parent, child = joints.parent[chosen], joints.child[chosen]
        self.joint, self.dof = items.ints(chosen), items.ints(joints.qd_start[chosen])
        self.link_a, self.link_b = items.ints(links_of(model.links, parent)), items.ints(links_of(model.links, child))
        frame = body_rotations(model.links, parent) @ rot.quat_to_matrix(joints.X_p[:, chosen, 3:])
        point, anchor = (link_points(model.links, child, x) for x in (model.bodies.com[:, child], joints.X_c[:, chosen, :3]))
        self.frame, self.point, self.arm = (
            items.column(frame, Mat3),
            items.column(point, Vec3),
            items.column(point - anchor, Vec3),
        )
        self.enabled = items.column(joints.enabled[chosen].astype(np.float64)[None])
        self.wrench = items.array(Force)


@ti.func
def report_joint_wrenches(u: ti.template(), rows: ti.template(), w: ti.i32):
    """Add the efforts where they were loaded last to the reactions of their joints.

    Reads:  u.wrench
    Writes: rows.joint_wrench
    """
    for k in range(u.n):
        first = 6 * u.joint.at(k)
        wrench = u.wrench.load(w, k)
        for m in ti.static(range(6)):
            rows.joint_wrench.store(w, first + m, rows.joint_wrench.load(w, first + m) + wrench.parts[m])


@ti.func
def report_applied_efforts(a: ti.template(), u: ti.template(), rows: ti.template(), w: ti.i32):
    """Give applied efforts that are wrenches their numbers, which `report_rods` finds in the axes of the end of the step.

    Args:
        a: the loops.  u: the joints of these.

    Reads:  rows.{body_q, body_qd}, u.{wrench, effort, enabled}
    Writes: rows.effort
    """
    for k in range(u.n):
        j = u.joint.at(k)
        d = a.anchors.qd_start.at(j)
        _x, R_p, _com, _v, _w = anchor_motion(a.anchors, rows, w, j, 0)
        x_c, _R, com, _v_c, _w_c = anchor_motion(a.anchors, rows, w, j, 1)
        wrench = u.wrench.load(w, k)
        force = applied_efforts(u, w, k, 0) - R_p.T * wrench.force
        couple = applied_efforts(u, w, k, 3) - R_p.T * (wrench.moment + (x_c - com).cross(wrench.force))
        put(rows.effort, w, d, vector_at(rows.effort, w, d) + force, vector_at(rows.effort, w, d + 3) + couple)
