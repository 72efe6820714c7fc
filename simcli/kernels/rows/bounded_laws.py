"""Laws of single coordinates that a smooth force cannot state: hard limits, dry friction, effort and velocity limits.

All of them together make one monotone graph between the velocity v of a coordinate at the end of a step and the effort
lambda along it:

    lambda = clamp(c1 - g1 v, E) + c2 - g2 v - f sign(v),    lo <= v <= hi

with vertical pieces at v = 0 (stiction) and at the bounds, (limit - x) / h and the velocity limit. A step that ends on the
graph is found by choosing a piece from aim = v - delta lambda, solving the linear system with it, and choosing again: the
semi-smooth Newton method for v + delta lambda-graph. A piece is a lock (v is known) or a line (lambda = push - gain a).
The pieces follow each other along the aim. Where the method runs in circles, aims walk to their new values only as far as
the first of them that comes to the end of its piece, and that law goes on to the next piece.

Source: Alart and Curnier (1991), for scalar coordinates; the walk: Katzenelson (1965), which
ends wherever mass matrices are positive. Deviation: the pieces of one coordinate are taken together, so that a motor, a
limit and friction on one hinge need one row.
"""

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.device.pack_arrays import BoundedColumn
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.coordinate_laws import (
    Response,
    add_applied,
    bound_law,
    curves_of,
    foresee,
    foresee_again,
    limits_of,
    servo_law,
    state_limits,
    torsion_law,
    turn_law,
)
from simcli.model.constraints.constraint_tables import Constraints, Form
from simcli.model.constraints.constraint_tables import Laws as LawTable
from simcli.model.joints.catalogue import BALLS
from simcli.model.tables.joint_tables import Dofs, Joints
from simcli.model.tables.model import DriveMode, Model

# What is taken back of a violated bound: at most this part in a step, and in that time [s], for it becomes speed.
RECOVERY, RECOVERY_TIME = 0.2, 0.1
FREE, STUCK, AT_LOWER, AT_UPPER = 0, 1, 2, 3


class Laws:
    """Device columns of laws, the graph of each in an evaluation, and the piece that it is on.

    Attributes:
        dof, row: index into joint_qd, or -1; row that is the coordinate, or -1.
        is_loop: 1 for a coordinate of a joint outside the tree.  is_driven: 1 for one whose drive is in the law.
        is_roll, is_ball: 1 for a velocity and for a limit of a ball outside the tree.  component: which of the three.
        first_q: index into joint_q of its joint.
        on_ball: 1 for a component of the drive of a ball.  shares_limit: 1 if the three of them have an effort limit.
        share: that of a component, see `share_limits`.
        curves: effort limits by speed, None without any.  by_speed: 1 for the laws that have one.
        most_effort, least_effort: [N, N m], by that at the speed of the statement.
        lock: FREE, STUCK, AT_LOWER or AT_UPPER.  slide: sign of sliding, 0 if there is no friction.
        full: sign of a drive at its effort limit, else 0.
        held, ended: speed of a lock where the last step and where this one ended, infinite for a free coordinate.
        speed: velocity of a locked coordinate.  push, gain: of a line.  effort: lambda that was found.
        coordinate, rate: x and v now.  base: x at the start of the step.  target: x of a lock at its end.
        shift: of the acceleration of the coordinate, besides J qdd.  lag: what it has beyond that.  delta: of the aim.
        drive, drive_gain, rest, rest_gain, low, high: c1, g1, c2, g2, lo, hi of the graph.
        drive_now, rest_now: efforts of the drive, unlimited, and of the rest, without friction, at x and v.
        found: v of the last solution.  goal: its aim.  aim: v - delta lambda of the piece.
        reach: part of the way from aim to goal on the piece, above 1 if all.  least: the smallest of all laws.
        brink: aim at the end of the piece.  beyond: an aim on the next one.
        changed: 1 if the last choice changed anything.
    """

    _data_oriented = True

    def __init__(self, constraints: Constraints, model: Model, tables: Tables, arena: Arena):
        table = constraints.laws
        self.n = table.n
        self.items = items = arena.records(self.n)
        self.dof, self.row = items.ints(table.dof), items.ints(table.row)
        self.unknown = items.ints(
            np.where(
                table.row >= 0, tables.n_tree_dofs + table.row, tables.unknown_of_dof[table.dof] if table.n else table.dof
            )
        )
        drives = (table.dof >= 0) & (model.dofs.drive_mode[table.dof] != DriveMode.NONE) if table.n else table.dof
        on_loop = table.row >= 0
        form = np.where(on_loop, np.append(constraints.rows.form, -1)[table.row], -1)  # of the rows
        rolls, is_ball = form == Form.ROLL, form == Form.SPIN
        hinge = on_loop & (table.dof >= 0) & (form != Form.SPIN)
        if table.n:
            tree = model.joints.is_tree[model.dofs.joint[np.maximum(table.dof, 0)]]
            limited = tables.ever(lambda m: np.isfinite(m.dofs.effort_limit))
            is_ball &= ~tree
            drives &= ~tree & hinge | tree & ~on_loop & limited[table.dof]
        self.has_soft_limit = items.ints(on_loop & (table.dof >= 0) & ~rolls)
        self.is_roll, self.has_roll = items.ints(rolls), bool(np.any(rolls))
        self.component = items.ints(component_of_ball(table, model.joints, model.dofs))
        self.first_q = items.ints(model.joints.q_start[model.dofs.joint[np.maximum(table.dof, 0)]] if table.n else table.dof)
        self.is_driven, self.is_loop, self.is_ball = items.ints(drives), items.ints(hinge), items.ints(is_ball)
        on_ball = drives & np.isin(model.joints.kind[model.dofs.joint[table.dof]], BALLS) if table.n else drives
        self.on_ball, self.has_ball = items.ints(on_ball), bool(np.any(on_ball))
        limited_ball = on_ball & limited[table.dof] if table.n else drives
        self.shares_limit, self.has_shared_limit = items.ints(limited_ball), bool(np.any(limited_ball))
        self.lower, self.upper = items.column(table.lower), items.column(table.upper)
        self.friction = items.column(table.friction)
        self.rate_lower, self.rate_upper = items.column(table.rate_lower), items.column(table.rate_upper)
        self.effort_limit = items.column(table.effort_limit)
        self.curves = curves_of(model, table.dof, arena)
        self.has_curves, self.by_speed = self.curves is not None, items.ints(np.isin(table.dof, model.effort_curves.dof))
        if self.has_curves:
            self.most_effort, self.least_effort = items.arrays(2)
        kept = ("lock", "slide", "full", "speed", "effort", "aim", "base", "target")
        graph = (
            "share",
            "coordinate",
            "rate",
            "shift",
            "lag",
            "delta",
            "drive",
            "drive_gain",
            "rest",
            "rest_gain",
            "low",
            "high",
            "drive_now",
            "rest_now",
        )
        speeds = ("held", "ended")
        search = ("push", "gain", "found", "goal", "reach", "brink", "beyond")
        for name in (*kept, *speeds, *graph, *search):
            setattr(self, name, items.array())
        self.changed, self.least = arena.single.array(), arena.single.array()
        self.kept = [getattr(self, name) for name in kept]

    def follow_signals(self, forces):
        """Take the friction that signals drive, where they do, from the columns of forces."""
        if "law_friction" in forces.driven:
            self.friction = BoundedColumn(forces.law_friction, 0.0, np.inf)

    def clear(self):
        """Start free and slack."""
        for array in self.kept:
            array.write(np.zeros((1, self.n, 1)))
        for array in (self.held, self.ended):
            array.write(np.full((1, self.n, 1), np.inf))


def component_of_ball(table: LawTable, joints: Joints, dofs: Dofs) -> np.ndarray:
    """Which of the three dofs of its joint the dof of a law is, if that is a ball, (K,)."""
    dof = np.maximum(table.dof, 0)
    return np.clip(dof - joints.qd_start[dofs.joint[dof]], 0, 2) if table.n else dof


@ti.func
def law_terms(law: ti.template(), fo: ti.template(), w: ti.i32, k: ti.i32, x: ti.template(), v: ti.template()):
    """Responses of the drive of law k, without an effort limit, and of the rest; and the armature.

    The rest is soft limits of rows; on a loop joint also applied efforts, dampers, torsion springs, and what armature takes
    of the lag.

    Reads: fo columns, law.lag
    """
    zero = law.changed.arena.zero()
    drive = Response.none(zero)
    rest = Response.none(zero)
    inertia = zero
    d = law.dof.at(k)
    if d >= 0:
        bound = bound_law(fo, w, d, x, v)
        rests = bound.stiffness > 0.0
        if ti.static(law.has_ball):
            if law.on_ball.at(k) != 0:
                rests = zero > 0.0
        if law.has_soft_limit.at(k) != 0:
            rest = rest + bound
        if law.is_loop.at(k) != 0:
            rest = add_applied(rest, fo, w, d, x, v, law.lag.load(w, k))
            if ti.static(fo.has_armature):
                inertia = inertia + fo.armature.load(w, d)
        if law.is_driven.at(k) != 0:
            drive = servo_law(fo, w, d, x, v).where(~rests)
            if ti.static(law.has_ball):
                drive = drive + turn_law(fo, w, d, fo.target.load(w, d) - x)
    return drive, rest, inertia


@ti.func
def elastic_law(law: ti.template(), fo: ti.template(), w: ti.i32, k: ti.i32, x: ti.template()):
    """Response of what law k stores in: its torsion springs and soft limits, at rest.

    Reads: fo columns
    """
    zero = law.changed.arena.zero()
    total = Response.none(zero)
    d = law.dof.at(k)
    if d >= 0:
        if ti.static(fo.has_torsion):
            if law.is_loop.at(k) != 0:
                total = total + torsion_law(fo, w, d, x)
        if ti.static(fo.has_soft_limits):
            if law.has_soft_limit.at(k) != 0:
                total = total + bound_law(fo, w, d, x, zero)
    return total


@ti.func
def state_law(
    law: ti.template(),
    fo: ti.template(),
    w: ti.i32,
    k: ti.i32,
    x: ti.template(),
    v: ti.template(),
    moved: ti.template(),
    gained: ti.template(),
    b: ti.template(),
    h: ti.template(),
    g: ti.template(),
):
    """Put the graph of law k over the velocity that its acceleration, shift included, gives in a step.

    Args:
        x, v: coordinate and its rate.
        moved, gained: what the first node of an implicit step gave to both, for the second; else 0.
        b: [s], over which efforts are implicit.  h: [s], of the step.  g: [s], over which accelerations act in it.

    Reads:  law and fo columns
    Writes: law.{drive, drive_gain, rest, rest_gain, low, high, drive_now, rest_now, coordinate, rate} of law k
    """
    zero = law.changed.arena.zero()
    drive, rest, inertia = law_terms(law, fo, w, k, x, v)
    state_limits(law, w, k, v)
    law.drive_now.store(w, k, drive.force)
    law.rest_now.store(w, k, rest.force)
    push1, gain1 = foresee(drive, v, b)
    push2, gain2 = foresee(rest, v, b)
    push1 = push1 + foresee_again(drive.stiffness, gain1, moved, gained, b)
    push2 = push2 + foresee_again(rest.stiffness, gain2, moved, gained, b)
    gain2 = gain2 + inertia
    law.drive.store(w, k, push1 + v * gain1 / g)
    law.drive_gain.store(w, k, gain1 / g)
    law.rest.store(w, k, push2 + v * gain2 / g)
    law.rest_gain.store(w, k, gain2 / g)
    slowest, fastest = zero + law.rate_lower.load(w, k), zero + law.rate_upper.load(w, k)
    low = bound_speed(zero + law.lower.load(w, k) - x, h, zero + 1.0)
    high = bound_speed(zero + law.upper.load(w, k) - x, h, zero - 1.0)
    law.low.store(w, k, ti.min(ti.max(low, slowest), fastest))
    law.high.store(w, k, ti.max(ti.min(high, fastest), slowest))
    law.coordinate.store(w, k, x)
    law.rate.store(w, k, v)


def bound_speed(gap, h, sign):
    """Speed that reaches a bound at the end of the step; only a part of a violation is taken back."""
    return gap / select(gap * sign > 0.0, gap * 0.0 + ti.max(h / RECOVERY, RECOVERY_TIME), gap * 0.0 + h)


@ti.func
def split_power(
    law: ti.template(),
    fo: ti.template(),
    w: ti.i32,
    k: ti.i32,
    end: ti.template(),
    mid: ti.template(),
    g: ti.template(),
    ahead: ti.template(),
    now: ti.template(),
):
    """Power of the drive of law k, supplied, and of all else, dissipated, at the velocity `mid`.

        what neither the drive nor springs and soft limits give, friction, dampers and the bound take from the motion

    What a bound gives to take a violation back, and what is taken of a rate that turns round in the step, is no dissipation:
    it belongs to the drift.

    Args:
        end: velocity at the end of the step, as the graph has it.
        g: [s], over which accelerations act in it.
        ahead: [m, rad], from the coordinate at the start to the one at which springs were taken.
        now: True for the powers of the instant, which know nothing of the end of a step.

    Reads: law and fo columns
    """
    least, most = limits_of(law, w, k)
    drive = select(now, law.drive_now.load(w, k), law.drive.load(w, k) - law.drive_gain.load(w, k) * end)
    drive = ti.max(ti.min(drive, most), least)
    line = drive + law.rest_now.load(w, k) - law.friction.load(w, k) * law.slide.load(w, k)
    effort = select(now & (law.lock.load(w, k) == FREE), line, law.effort.load(w, k))
    if law.is_loop.at(k) != 0:
        d = law.dof.at(k)
        drive = drive + fo.constant.load(w, d)
        if ti.static(fo.has_armature):
            inert = ((end - law.rate.load(w, k)) / g + law.lag.load(w, k)) * fo.armature.load(w, d)
            effort = effort + select(now & (law.lock.load(w, k) == FREE), inert * 0.0, inert)
    stored = elastic_law(law, fo, w, k, law.coordinate.load(w, k))
    elastic = stored.force - select(now, drive * 0.0, stored.stiffness * ahead)
    return drive * mid, ti.max((drive + elastic - effort) * mid, elastic * 0.0)
