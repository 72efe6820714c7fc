"""Kinematic bodies in natural coordinates: how their motions move them, and what these take."""

import numpy as np

from simcli.kernels.articulation.kinematics import upright
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import exp_rotation
from simcli.kernels.language.values import Vec3
from simcli.model.forms.natural_form import SUCCESSIVE, prescribed_bodies_of
from simcli.model.tables.model import Model


class KinematicBodies:
    """Kinematic bodies in natural coordinates: the joints by which they hang on the world prescribe these.

        p+ = p + (R l - l) + s,  x+ = R x     s = sum L_i D_i,  R = exp(sum W_i D_i),   l = p - o
        v = sum L_i m_i' + w x l,  w = sum W_i m_i'                                     D_i: what the coordinate m_i moves

    Where directions turn with the coordinates, R is what brings the rotation of the joint from the start of a step to its
    end, and W_i are those at the coordinates that are asked for.

    Args:
        model: in natural form.
        tables, arena: of the run.

    Attributes:
        n: bodies.  body, joint: of each.  dof_start: offsets of their dofs.  n_dofs, dof, by_position: dofs.
        linear, angular, anchor, is_anchored, curve: see model/forms/natural_form.py.
        begun, reached, moving: (n_dofs) [m, rad], coordinates at the start and at the end of a step, and between them.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena):
        found = prescribed_bodies_of(model, model.columns.prescribed) if model.columns is not None else None
        self.n, self.n_dofs = (len(found.bodies), len(found.dof)) if found else (0, 0)
        self.begun, self.reached, self.moving = arena.records(self.n_dofs).arrays(3)
        if not self.n:
            return
        self.body, self.joint = arena.ints(found.bodies), arena.ints(found.joint[found.bodies])
        self.dof_start, self.dof, self.by_position = (arena.ints(x) for x in (found.dof_start, found.dof, found.by_position))
        vectors = found.linear, found.angular, found.anchor
        self.linear, self.angular, self.anchor = (tables.column(x, Vec3) for x in vectors)
        self.is_anchored, self.curve = arena.ints(found.is_anchored), arena.ints(found.curve)
        self.has_curve = bool(found.curve.any())
        self.coordinates = found.start

    def clear(self):
        """Begin where the motions do."""
        if self.n:
            self.moving.write(np.zeros((1, self.n_dofs, 1)))
            for array in (self.begun, self.reached):
                array.write(self.coordinates[..., None])


@ti.func
def lever_of(p: ti.template(), w: ti.i32, k: ti.i32, x: ti.template(), at: ti.template()):
    """[m], from the point whose velocity the motions give to the centre of mass x of kinematic body k.

    Args:
        at: coordinates, of all kinematic bodies.
    """
    lever = x * 0.0
    if p.is_anchored.at(k) != 0:
        lever = x - p.anchor.load(w, k)
        if ti.static(p.has_curve):
            if p.curve.at(k) != 0:
                for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
                    lever = lever - p.linear.load(w, i) * at.load(w, i)
    return lever


@ti.func
def rates_of_kinematic(p: ti.template(), m: ti.template(), w: ti.i32, k: ti.i32, at: ti.template()):
    """Velocity and spin that motions give to kinematic body k, and the rates of both.

    Args:
        m: `Prescribed`.
        at: coordinates, of all kinematic bodies.
    """
    zero = at.arena.zero()
    rate = Vec3(zero, zero, zero)
    spin = Vec3(zero, zero, zero)
    pull = Vec3(zero, zero, zero)
    twist = Vec3(zero, zero, zero)
    carried = upright(zero)
    for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
        speed = zero + m.motion_qd.load(w, p.dof.at(i))
        change = zero + m.motion_qdd.load(w, p.dof.at(i))
        linear = p.linear.load(w, i)
        angular = p.angular.load(w, i)
        if ti.static(p.has_curve):
            if p.curve.at(k) == SUCCESSIVE:
                axis = carried * angular
                twist = twist + spin.cross(axis * speed)
                carried = carried * exp_rotation(angular * at.load(w, i)).matrix()
                angular = axis
        rate = rate + linear * speed
        spin = spin + angular * speed
        pull = pull + linear * change
        twist = twist + angular * change
    return rate, spin, pull, twist


@ti.func
def way_of_kinematic(p: ti.template(), w: ti.i32, k: ti.i32):
    """How far kinematic body k goes in a step: the shift of the point whose velocity the motions give, and the rotation.

    Reads: p.{begun, reached, moving}
    """
    zero = p.moving.arena.zero()
    shift = Vec3(zero, zero, zero)
    turn = Vec3(zero, zero, zero)
    for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
        way = p.moving.load(w, i)
        shift = shift + p.linear.load(w, i) * way
        turn = turn + p.angular.load(w, i) * way
    R = exp_rotation(turn).matrix()
    if ti.static(p.has_curve):
        if p.curve.at(k) != 0:
            R = turn_of_kinematic(p, w, k, p.reached) * turn_of_kinematic(p, w, k, p.begun).T
    return shift, R


@ti.func
def turn_of_kinematic(p: ti.template(), w: ti.i32, k: ti.i32, at: ti.template()):
    """Rotation of the joint of kinematic body k at coordinates, from where they are 0: in turns, or by their vector."""
    zero = at.arena.zero()
    turned = upright(zero)
    vector = Vec3(zero, zero, zero)
    for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
        vector = vector + p.angular.load(w, i) * at.load(w, i)
        if p.curve.at(k) == SUCCESSIVE:
            turned = turned * exp_rotation(vector).matrix()
            vector = vector * 0.0
    return turned * exp_rotation(vector).matrix()


@ti.func
def add_wrench_of_kinematic(
    p: ti.template(),
    wrench: ti.template(),
    w: ti.i32,
    k: ti.i32,
    force: ti.template(),
    couple: ti.template(),
    arm: ti.template(),
):
    """Add what holds kinematic body k to the wrench of its joint, at the child's anchor.

    Args:
        force, couple: on the body, about its centre of mass, world.
        arm: [m], from there to the anchor.

    Writes: wrench
    """
    first = 6 * p.joint.at(k)
    couple_there = couple - arm.cross(force)
    for m in ti.static(range(3)):
        wrench.store(w, first + m, wrench.load(w, first + m) + force.parts[m])
        wrench.store(w, first + 3 + m, wrench.load(w, first + 3 + m) + couple_there.parts[m])


@ti.func
def add_efforts_of_kinematic(
    p: ti.template(),
    effort: ti.template(),
    w: ti.i32,
    k: ti.i32,
    force: ti.template(),
    couple: ti.template(),
    x: ti.template(),
):
    """Add what holds kinematic body k to the efforts along the dofs of its joint.

    Args:
        force, couple: on the body, about its centre of mass x, world.

    Writes: effort
    """
    turning = couple + lever_of(p, w, k, x, p.reached).cross(force)
    carried = upright(p.moving.arena.zero())
    for i in range(p.dof_start.at(k), p.dof_start.at(k + 1)):
        d = p.dof.at(i)
        axis = p.angular.load(w, i)
        if ti.static(p.has_curve):
            if p.curve.at(k) == SUCCESSIVE:
                turn = exp_rotation(axis * p.reached.load(w, i)).matrix()
                axis = carried * axis
                carried = carried * turn
        effort.store(w, d, effort.load(w, d) + (p.linear.load(w, i).dot(force) + axis.dot(turning)))
