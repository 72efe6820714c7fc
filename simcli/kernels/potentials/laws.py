"""What acts on a coordinate of an affine joint, or on the length of a spring, as an energy V(x) of the coordinate.

    applied    -f x                                     constant efforts, and drives in effort mode
    springs    k (x - x_0)^2 / 2                        drives, torsion springs, soft limits; driving joints
    dampers    c alpha (x - x_h - v/alpha)^2 / 2        rate alpha (x - x_h) of the step's formula, see affine/programs.py
    drives     - (|F| - L)^2 / (2 (k + c alpha))        less, where the effort F of spring and damper passes its limit L
    friction   mu f_0(|x - x_n|)                        smooth at rest, as that of contacts
    armature   I alpha^2 (x - y)^2 / 2                  y: where the coordinate would go by its own formula
    cubic      s (excess / width)^3                     libuipc's limits
    hard       (max(0, f + k excess)^2 - f^2) / (2 k)   f: the force that holds, raised until nothing exceeds; also for the
                                                        place x_h + v/alpha that a velocity limit leaves
    motion     f (x - m) + k (x - m)^2 / 2              likewise, on both sides of the prescribed m

Only what stores energy counts as elastic; what drives and dampers give is work. The sum is needed with two derivatives.

Source: the joints of libuipc; friction by Li et al. (2020). Deviation: dampers are
energies of the step, as libuipc's passive joints are.
"""

import numpy as np

from simcli.kernels.barrier.law import smooth_step
from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.columns import Forces
from simcli.kernels.forces.prescribed_target import Prescribed
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import FULL_TURN, nearest_turn, select
from simcli.kernels.potentials.potential_terms import PotentialTerms, add_hard, add_motion, damper
from simcli.kernels.rows.coordinate_laws import bound_law, servo_law, torsion_law
from simcli.model.forms.affine_energy import Energies, Kind
from simcli.model.tables.model import Model


class Laws:
    """Device columns of coordinates, per dof, and their memory, per coordinate.

    Attributes:
        n: coordinates.  dof, row, is_turn: of each.  body: one whose formula the coordinate has, see `Potential`.
        n_points: where laws are evaluated: once per turn, along both axes of a line.  point_of, point_row: coordinate, row.
        slope, bend, drive, damper: by point, derivatives of the energy at the last evaluation, and parts of the first one.
        drive_before, damper_before: at the end of the step before.
        aim, stiffness, acts, passive, locked, one_turn, init: driving joints, see `Affine`.
        strength, hard_lower, hard_upper, hard: cubic and hard limits.  lower_now, upper_now: (C) hard ones in this step.
        effort_limit, velocity_limit, friction, armature: per dof.  creep: slip per step at which friction is full.
        on: 0 for joints that are off.  motion: kind, per dof, 0 for these; goal: (C) where it is at the end of the step,
            pull: (C) force that holds there.
        rate, rate_before, flight: (C) of armature: at the ends of the last two steps, and y.  inert: (points) its slope.
        start: coordinate at the start of the step.  before: one step earlier.  past: x_h.  now: at the last evaluation.
        regime, regime_before: which limits act and which way friction slides, and did when the step began.
        latch: aim of a locked drive.  was_on: whether it was a lock in the last step.
        push: (2 C) force that hard limits give, lower and upper.
    """

    _data_oriented = True

    def __init__(self, energies: Energies, model: Model, tables: Tables, forces: Forces, arena: Arena, slip: float):
        affine, dofs, n = model.affine, model.dofs, len(model.affine.has_driving)
        self.n, self.forces, self.damping = len(energies.coordinate_dof), forces, tables.damping
        self.items = items = arena.records(self.n)
        self.dof, self.row = items.ints(energies.coordinate_dof), items.ints(energies.coordinate_row)
        self.is_turn = items.ints(energies.coordinate_kind == Kind.TURN)
        points = [
            (k, row + n)
            for k, row in enumerate(energies.coordinate_row)
            for n in range(1 + (energies.coordinate_kind[k] == Kind.LINE))
        ]
        self.n_points, at = len(points), arena.records(len(points))
        self.point_of, self.point_row = (at.ints([point[i] for point in points]) for i in range(2))
        self.slope, self.bend, self.drive, self.damper = at.arrays(4)
        self.drive_before, self.damper_before = at.array(), at.array()
        joint = dofs.joint[energies.coordinate_dof]
        self.shown = items.ints(model.joints.q_start[joint] + energies.coordinate_dof - model.joints.qd_start[joint])
        self.first = np.nan_to_num(
            model.joint_q[:, model.joints.q_start[joint] + energies.coordinate_dof - model.joints.qd_start[joint]]
        )
        self.aim = tables.column(affine.driving_aim, driven="aim" in forces.driven)
        self.stiffness, self.acts = tables.column(affine.driving_stiffness), tables.column(affine.driving_acts)
        self.passive, self.locked = tables.column(affine.driving_passive), tables.column(affine.driving_locked)
        self.one_turn, self.init = tables.column(affine.one_turn[None].astype(float)), tables.column(affine.init)
        cubic, soft = affine.limit_strength > 0.0, dofs.limit_stiffness[:, :n] > 0.0
        self.strength = tables.column(affine.limit_strength)
        lower, upper = dofs.limit_lower[:, :n], dofs.limit_upper[:, :n]
        self.lower, self.upper = tables.column(lower), tables.column(upper)
        self.hard_lower = tables.column(np.where(cubic | soft, -np.inf, lower))
        self.hard_upper = tables.column(np.where(cubic | soft, np.inf, upper))
        self.hard = tables.column(affine.limit_stiffness)
        for name in ("effort_limit", "velocity_limit", "friction", "armature"):
            setattr(self, name, tables.column(getattr(dofs, name)[:, :n]))
        self.creep, self.motions = slip, Prescribed(model, tables)
        self.has_armature = bool(tables.ever(lambda m: m.dofs.armature > 0.0).any())
        on = model.joints.enabled[dofs.joint[:n]]
        self.on, self.motion = tables.column(on[None].astype(float)), arena.ints(np.where(on, model.motions.kind[:n], 0))
        for name in (
            "start",
            "before",
            "past",
            "now",
            "goal",
            "pull",
            "lower_now",
            "upper_now",
            "rate",
            "rate_before",
            "flight",
        ):
            setattr(self, name, items.array())
        self.inert = at.array()
        self.first_rate = np.nan_to_num(model.joint_qd[:, energies.coordinate_dof])
        self.regime, self.regime_before = items.array(), items.array()
        self.latch, self.was_on, self.push = items.array(), items.array(), arena.array(2 * self.n)

    def clear(self):
        """Begin at the initial coordinates."""
        for array in (self.start, self.before, self.past, self.now, self.latch):
            array.write(self.first[..., None])
        for array in (self.rate, self.rate_before):
            array.write(self.first_rate[..., None])
        for array in (self.was_on, self.push, self.pull, self.regime, self.regime_before):
            array.write(np.zeros((1, array.n_items, 1)))


def evaluate_law(y: Laws, w, k, x, alpha):
    """What acts on coordinate k at x.

    Args:
        alpha: [1/s], of the step.

    Returns:
        Shares: stored, driven, damped, of hard limits, and of armature.
    """
    fo, d = y.forces, y.dof.at(k)
    zero = local(x * 0.0)
    stored, driven, damped, hard, inert = (PotentialTerms(zero) for _ in range(5))
    start = y.start.load(w, k)
    rate = local((x - y.past.load(w, k)) * alpha)
    applied = local(y.on.load(w, d) * fo.constant.load(w, d) + zero)
    driven.add(-(applied * x), -applied, zero)
    add_motion(driven, y, w, k, d, x)
    driven.spring(zero + y.stiffness.load(w, d) * y.acts.load(w, d), error_of_drive(y, w, k, d, x))
    stored.store(torsion_law(fo, w, d, x))
    stored.store(bound_law(fo, w, d, x, zero))
    begun = bound_law(fo, w, d, start, zero)  # as the step began: a bound within it would bend the energy
    add_drive(driven, y, w, d, x, rate, alpha, begun.stiffness == 0.0)
    damped.add(*damper(local(y.damping.load(w, d) + begun.damping), rate, alpha))
    add_friction(damped, y, w, d, x - start)
    add_cubic(stored, y, w, d, x, zero)
    add_hard(hard, y, w, k, d, x, zero)
    if y.has_armature:
        inertia = local(y.armature.load(w, d) * alpha * alpha)
        inert.spring(zero + inertia, x - y.flight.load(w, k))
    return stored, driven, damped, hard, inert


def add_drive(terms: PotentialTerms, y: Laws, w, d, x, rate, alpha, acts):
    """A drive: an effort, a spring and a damper, as far as its effort limit goes; nothing in lanes where it rests."""
    fo, zero, own = y.forces, local(x * 0.0), PotentialTerms(local(x * 0.0))
    most = local(zero + y.effort_limit.load(w, d))
    effort = local(ti.max(ti.min(zero + fo.driving.load(w, d), most), -most))
    law = servo_law(fo, w, d, x, rate)
    own.add(law.energy + law.loss / alpha, fo.driving.load(w, d) - law.force, law.stiffness + law.damping * alpha)
    over = local(ti.max(ti.abs(own.slope) - most, zero))
    passes = local(over > 0.0)
    bend = select(passes, own.bend, zero + 1.0)
    over = select(passes, over, zero)  # infinity less infinity is none
    slope = own.slope - select(own.slope > 0.0, over, -over)
    given = (own.energy - over * over * 0.5 / bend - effort * x, slope - effort, select(passes, zero, own.bend))
    terms.add(*(select(acts, part, zero) for part in given))


def add_friction(terms: PotentialTerms, y: Laws, w, d, slip):
    """Dry friction over a slip since the step began."""
    potential, over, slope = smooth_step(ti.abs(slip), y.creep)
    load = local(slip * 0.0 + y.friction.load(w, d))
    terms.add(load * potential, load * over * slip, load * slope)


def add_cubic(terms: PotentialTerms, y: Laws, w, d, x, zero):
    """Libuipc's limits: s (excess / width)^3, the width 1 where the bounds are one."""
    s = zero + y.strength.load(w, d)
    lower, upper = zero + y.lower.load(w, d), zero + y.upper.load(w, d)
    acts = s > 0.0
    width = select(acts & (upper > lower), upper - lower, zero + 1.0)
    above, below = select(acts, ti.max(x - upper, zero), zero), select(acts, ti.max(lower - x, zero), zero)
    scale = s / (width * width * width)
    terms.add(
        scale * (above * above * above + below * below * below),
        scale * 3.0 * (above * above - below * below),
        scale * 6.0 * (above + below),
    )


def error_of_drive(y: Laws, w, k, d, x):
    """Coordinate less aim of the driving joint on dof d; within one turn, if asked, as libuipc measures.

    An aim that counts full turns is the angle nearest to that of the start of the step, which a stiff drive can reach.
    """
    start, turns = y.start.load(w, k), ti.cast(y.is_turn.at(k), y.start.arena.device.real)
    wraps = y.one_turn.load(w, d) * turns
    init = y.init.load(w, d)
    wrapped = local(x - wraps * FULL_TURN * ti.round((x - init) * (1.0 / FULL_TURN)))
    last = local(start - wraps * FULL_TURN * ti.round((start - init) * (1.0 / FULL_TURN)))
    aim = local(x * 0.0 + y.aim.load(w, d))
    aim = select(x * 0.0 + (turns - wraps) > 0.0, nearest_turn(aim, start), aim)
    aim = select(x * 0.0 + y.locked.load(w, d) > 0.0, y.latch.load(w, k), aim)
    return local(wrapped - select(x * 0.0 + y.passive.load(w, d) > 0.0, last, aim))
