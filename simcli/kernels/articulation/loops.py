"""Coordinates of joints that close loops: projected from the bodies, with full turns counted from step to step."""

import numpy as np

from simcli import rotations as rot
from simcli.kernels.articulation.kinematics import attitude, natural_spin, vector_at
from simcli.kernels.articulation.projection import Anchors, anchor_motion
from simcli.kernels.articulation.report import put
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import nearest_turn
from simcli.kernels.language.values import Vec3
from simcli.model.constraints.build import joints_with_wrench
from simcli.model.joints.catalogue import BESIDE_ROWS_KINDS, ORBITS
from simcli.model.joints.tree_kinematics import body_rotations, links_of
from simcli.model.tables.model import WORLD, JointKind, Model


class Loops:
    """Loop joints, and the angles of those that turn about one axis.

    Attributes:
        anchors: what the projection reads, of loop joints alone.  rod: those whose efforts follow from their reactions:
            distance joints, wheels and blades among them, and others on which an effort acts as a wrench.
        angle: of each turning joint, over full turns.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena):
        joints = model.joints
        closed = closed_joints(model)
        self.n = len(closed)
        self.anchors = Anchors(model, tables, closed)
        rods = np.union1d(
            np.flatnonzero(~joints.is_tree & np.isin(joints.kind, BESIDE_ROWS_KINDS)), joints_with_wrench(tables.phases)
        )
        self.n_rods, self.rod = len(rods), arena.ints(rods)
        before = joints.dof_dim[:, 0] + 2 * np.isin(joints.kind, ORBITS)  # coordinates of the anchor
        turns = closed[joints.dof_dim.sum(axis=1)[closed] == before[closed] + 1]
        self.n_turns, items = len(turns), arena.records(len(turns))
        dof, place = joints.qd_start[turns] + before[turns], joints.q_start[turns] + before[turns]
        self.q = items.ints(place)
        self.link_a, self.link_b = (items.ints(links_of(model.links, body[turns])) for body in (joints.parent, joints.child))
        frame = body_rotations(model.links, joints.parent[turns]) @ rot.quat_to_matrix(joints.X_p[:, turns, 3:])
        self.axis = items.column(rot.turn(frame, model.dofs.axis[:, dof]), Vec3)
        self.angle = items.array()
        self.start = np.nan_to_num(model.joint_q[:, place])

    def clear(self):
        """Start at the authored angles."""
        self.angle.write(self.start[..., None])


def closed_joints(model: Model) -> np.ndarray:
    """Joints outside the tree that have coordinates, in the form of a model that is stepped."""
    joints = model.joints
    has_bodies = joints.child != WORLD  # as none that stand for combinations
    return np.flatnonzero(~joints.is_tree & (joints.kind != JointKind.CABLE) & has_bodies)


@ti.func
def follow_turns(a: ti.template(), s: ti.template(), w: ti.i32, h: ti.template()):
    """Add what each turning loop joint has turned in a step: near enough to know its full turns.

    Reads:  s.{R, v}, a
    Writes: a.angle
    """
    for k in range(a.n_turns):
        link_a = a.link_a.at(k)
        link_b = a.link_b.at(k)
        zero = a.angle.arena.zero()
        axis = Vec3(zero, zero, zero) + a.axis.load(w, k)
        spin = Vec3(zero, zero, zero)
        if link_b >= 0:
            spin = spin + s.v.load(w, link_b).angular
        if link_a >= 0:
            axis = s.R.load(w, link_a) * axis
            spin = spin - s.v.load(w, link_a).angular
        a.angle.store(w, k, a.angle.load(w, k) + axis.dot(spin) * h)


@ti.func
def follow_natural_turns(a: ti.template(), t: ti.template(), s: ti.template(), w: ti.i32, h: ti.template()):
    """`follow_turns` for links in natural coordinates that have not been placed.

    Reads:  s.{q, qd}, a
    Writes: a.angle
    """
    for k in range(a.n_turns):
        link_a = a.link_a.at(k)
        zero = t.arena.zero()
        axis = Vec3(zero, zero, zero) + a.axis.load(w, k)
        if link_a >= 0:
            axis = attitude(t, s, w, link_a, t.link_q.at(link_a)) * axis
        spin = natural_spin(t, s, w, a.link_b.at(k)) - natural_spin(t, s, w, link_a)
        a.angle.store(w, k, a.angle.load(w, k) + axis.dot(spin) * h)


@ti.func
def report_rods(a: ti.template(), rows: ti.template(), w: ti.i32):
    """The efforts of rods outside the tree (see `Loops`), along their six coordinates, as those of the tree have them.

        force R_p^T f,   couple R_p^T (m + (x_c - c) x f)    about the centre of mass c of the child

    Args:
        a: the loops.
        rows: with the wrench f, m of the joint at the child's anchor x_c, world.

    Reads:  rows.{body_q, body_qd, joint_wrench}
    Writes: rows.effort
    """
    for n in range(a.n_rods):
        j = a.rod.at(n)
        _x, R_p, _com, _v, _w = anchor_motion(a.anchors, rows, w, j, 0)
        x_c, _R, com, _v_c, _w_c = anchor_motion(a.anchors, rows, w, j, 1)
        force = vector_at(rows.joint_wrench, w, 6 * j)
        couple = vector_at(rows.joint_wrench, w, 6 * j + 3) + (x_c - com).cross(force)
        put(rows.effort, w, a.anchors.qd_start.at(j), R_p.T * force, R_p.T * couple)


@ti.func
def unwrap_turns(a: ti.template(), q: ti.template(), w: ti.i32):
    """Give projected angles the full turns that were counted.

    Reads and writes: q (NQ), a.angle
    """
    for k in range(a.n_turns):
        i = a.q.at(k)
        x = nearest_turn(q.load(w, i), a.angle.load(w, k))
        q.store(w, i, x)
        a.angle.store(w, k, x)
