"""Soft holds of affine bodies: to a pose, moved along as by a motor, or to where the body was, as a damper.

    V = strength m / (2 dt^2) [ |p - p*|^2 + sum_k (J_k / m) |a_k - a_k*|^2 ]

Source: the soft transform constraint of libuipc. Deviation: a pose may move, and holds may be passive.
"""

import numpy as np

from simcli import rotations as rot
from simcli.kernels.articulation.kinematics import store_vector, vector_at
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.sparse_factors import AFFINE_DOFS, add_entry
from simcli.kernels.forces.signals import driven_columns
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import exp_rotation, select
from simcli.kernels.language.values import Vec3
from simcli.kernels.potentials.potential_terms import mean_force
from simcli.model.tables.model import Array, Model
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H


class Holds:
    """The soft holds.

    Args:
        model: in natural form.
        weight: [kg, kg m^2], (W|1, B, 4), of position and vectors.
        tables, arena: of the run.

    Attributes:
        n: their coordinates.  n_bodies, body: bodies that have one.
        stiffness: [N/m, N m], (n).  fixed: [m, 1], (n), aim of those with a pose.  origin: [m], (3 K), of that pose.
        hold_rate, hold_shift: (6 B), see `Affine`.  motor, passive: (K).
        aim: (n), of the step.  force, force_before: (n), at the ends of the last two steps.
    """

    _data_oriented = True

    def __init__(self, model: Model, weight: Array, tables: Tables, arena: Arena):
        table = model.affine
        bodies = np.flatnonzero(table.has_hold)
        self.n_bodies, self.n, self.body = len(bodies), AFFINE_DOFS * len(bodies), arena.ints(bodies)
        stiffness, aim = stiffness_and_target(model, weight)
        self.stiffness, self.fixed = tables.column(_of(stiffness, bodies)), tables.column(_of(aim, bodies))
        self.origin = tables.column(_of(table.hold_pose[..., :3], bodies))
        driven = driven_columns(model)
        for name in ("hold_rate", "hold_shift"):
            values = getattr(table, name)
            setattr(self, name, tables.column(values.reshape(len(values), -1), driven=name in driven))
        self.motor, self.passive = arena.ints(table.is_motor[bodies]), tables.column(table.hold_passive[:, bodies])
        self.aim, self.force, self.force_before = arena.records(self.n).arrays(3)


def _of(values: Array, bodies: Array) -> Array:
    """(W|1, B, ...) of some bodies, flat but for the worlds."""
    return values[:, bodies].reshape(len(values), -1)


def stiffness_and_target(model: Model, weight: Array) -> tuple[Array, Array]:
    """Stiffness of the holds of all bodies, and where those with a pose pull to.

    Args:
        model: in natural form.
        weight: [kg, kg m^2], (W|1, B, 4), of position and vectors.

    Returns:
        [N/m, N m] and [m, 1], (W|1, B, 12).

    Source: libuipc, whose M_cm and M_rot are diagonal about the centre of mass.
    """
    hold, links = model.affine.hold, model.links
    share = hold[..., [0, 1, 1, 1]] * (weight / np.where(weight[..., :1] > 0.0, weight[..., :1], 1.0))
    pose = model.affine.hold_pose
    R = rot.multiply(rot.quat_to_matrix(pose[..., 3:]), rot.transpose(links.body_rotation))
    centre = pose[..., :3] - rot.turn(R, links.body_offset)
    vectors = np.swapaxes(R, -1, -2)
    both = max(len(centre), len(vectors)), model.n_bodies
    aim = np.concatenate([np.broadcast_to(x, (*both, *x.shape[2:])) for x in (centre[..., None, :], vectors)], axis=-2)
    return np.repeat(share, 3, axis=-1), aim.reshape(*both, AFFINE_DOFS)


@ti.func
def find_targets(c: ti.template(), w: ti.i32):
    """Where holds pull to: their poses; of motors where the body began the step, moved along for a step; of passive ones
    there.

    Reads:  c.step.start, c.holds
    Writes: c.holds.aim
    """
    s = c.holds
    z = c.step
    h = c.constants.load(w, H)
    zero = c.tables.arena.zero()
    none = Vec3(zero, zero, zero)  # a pack, whatever columns the worlds share
    for k in range(s.n_bodies):
        b = s.body.at(k)
        first = AFFINE_DOFS * b
        by = none + vector_at(s.hold_shift, w, 6 * b)
        about = none + vector_at(s.hold_shift, w, 6 * b + 3)
        origin = vector_at(s.origin, w, 3 * k)
        centre = vector_at(s.fixed, w, AFFINE_DOFS * k) - origin
        if s.motor.at(k) != 0:
            by = vector_at(s.hold_rate, w, 6 * b) * h
            about = vector_at(s.hold_rate, w, 6 * b + 3) * h
        turn = exp_rotation(about).matrix()
        if s.motor.at(k) != 0:
            store_vector(s.aim, w, AFFINE_DOFS * k, vector_at(z.start, w, first) + by)
            for m in range(1, 4):
                store_vector(s.aim, w, AFFINE_DOFS * k + 3 * m, turn * vector_at(z.start, w, first + 3 * m))
        else:
            store_vector(s.aim, w, AFFINE_DOFS * k, origin + by + turn * centre)
            for m in range(1, 4):
                store_vector(s.aim, w, AFFINE_DOFS * k + 3 * m, turn * vector_at(s.fixed, w, AFFINE_DOFS * k + 3 * m))
        stays = zero + s.passive.load(w, k) > 0.0
        for m in range(AFFINE_DOFS):
            aim = s.aim.load(w, AFFINE_DOFS * k + m)
            s.aim.store(w, AFFINE_DOFS * k + m, select(stays, z.start.load(w, first + m), aim))


@ti.func
def energy_of_holds(c: ti.template(), w: ti.i32):
    """[J], at next_x.

    Reads: c.potential.rows.next_x, c.holds
    """
    total = c.tables.arena.zero()
    for n in range(c.holds.n):
        off = c.potential.rows.next_x.load(w, _held(c.holds, n)) - c.holds.aim.load(w, n)
        total = total + off * off * c.holds.stiffness.load(w, n) * 0.5
    return total


@needs.holds
@ti.func
def add_holds(c: ti.template(), w: ti.i32):
    """Add gradient and Hessian at x.

    Writes: c.potential.{gradient, matrix}
    """
    p = c.potential
    for n in range(c.holds.n):
        i = _held(c.holds, n)
        stiff = p.gradient.arena.zero() + c.holds.stiffness.load(w, n)
        p.gradient.store(w, i, p.gradient.load(w, i) + (p.rows.x.load(w, i) - c.holds.aim.load(w, n)) * stiff)
        add_entry(p.matrix, w, c.diagonal.at(i), stiff)


@ti.func
def work_of_holds(c: ti.template(), w: ti.i32):
    """[J], supplied in the step, see `work_of_step`.

    Reads:  c.potential.rows.x, c.step.{start, weight}, c.holds
    Writes: c.holds.{force, force_before}
    """
    s = c.holds
    supplied = c.tables.arena.zero()
    for n in range(c.holds.n):
        i = _held(c.holds, n)
        x = c.potential.rows.x.load(w, i)
        s.force.store(w, n, (s.aim.load(w, n) - x) * s.stiffness.load(w, n))
        force = mean_force(s.force, s.force_before, w, n, c.step.weight.load(w, s.body.at(n // AFFINE_DOFS)))
        supplied = supplied + force * (x - c.step.start.load(w, i))
        s.force_before.store(w, n, s.force.load(w, n))
    return supplied


def _held(s: Holds, n):
    """Held coordinate n among all (inside kernels)."""
    return s.body.at(n // AFFINE_DOFS) * AFFINE_DOFS + n % AFFINE_DOFS
