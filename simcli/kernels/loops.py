"""Coordinates of joints that close loops: projected from the bodies, with full turns counted from step to step."""

import math

import numpy as np
import taichi as ti

from simcli.kernels.memory import Arena
from simcli.kernels.projection import Anchors
from simcli.kernels.tables import Tables
from simcli.kernels.tree import attitude, natural_spin
from simcli.kernels.values import Vec3
from simcli.model import rotations as rot
from simcli.model.joints import ORBITS
from simcli.model.link_frames import body_rotations, links_of
from simcli.model.tables import JointKind, Model

FULL_TURN = 2.0 * math.pi


class Loops:
    """Loop joints, and the angles of those that turn about one axis.

    Attributes:
        anchors: what the projection reads, of loop joints alone.
        angle: of each turning joint, over full turns.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena):
        joints = model.joints
        closed = np.flatnonzero(~joints.is_tree & (joints.kind != JointKind.CABLE))
        self.n = len(closed)
        self.anchors = Anchors(model, tables, closed)
        before = joints.dof_dim[:, 0] + 2 * np.isin(joints.kind, list(ORBITS))  # coordinates of the anchor
        turns = closed[joints.dof_dim.sum(axis=1)[closed] == before[closed] + 1]
        self.n_turns = len(turns)
        dof, place = joints.qd_start[turns] + before[turns], joints.q_start[turns] + before[turns]
        self.q = arena.ints(place)
        self.link_a, self.link_b = (arena.ints(links_of(model, body[turns])) for body in (joints.parent, joints.child))
        frame = body_rotations(model, joints.parent[turns]) @ rot.quat_to_matrix(joints.X_p[:, turns, 3:])
        self.axis = tables.column(rot.turn(frame, model.dofs.axis[:, dof]), Vec3)
        self.angle = arena.slot(self.n_turns)
        self.start = np.nan_to_num(model.joint_q[:, place])

    def clear(self):
        """Start at the authored angles."""
        self.angle.write(self.start[..., None])


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
def unwrap_turns(a: ti.template(), q: ti.template(), w: ti.i32):
    """Give projected angles the full turns that were counted.

    Reads and writes: q (NQ), a.angle
    """
    for k in range(a.n_turns):
        i = a.q.at(k)
        x = q.load(w, i)
        x = x + FULL_TURN * ti.round((a.angle.load(w, k) - x) * (1.0 / FULL_TURN))
        q.store(w, i, x)
        a.angle.store(w, k, x)
