"""Prescribed motions: dofs of the tree that are locked to them, and rows of other joints that follow them.

A row of a prescribed motion has its residual against the motion m, so that whatever meets hard rows meets it too:

    one stage:   x - m at the end of the step; where velocities are prescribed m = x at the start + h m'
    else:        x - m, x' - m' and x'' - m'' at the instant of the evaluation

Called by stages of trees and of natural coordinates; rows/memory.py says what `c` holds.
"""

from simcli.kernels.language import ti
from simcli.solvers.rows.repeat import foreseen, meets_end
from simcli.solvers.tree.integrators import H


@ti.func
def lock_motions(c: ti.template(), w: ti.i32, stage: ti.i32, h: ti.template(), g: ti.template(), instant: ti.i32):
    """Lock the dofs of prescribed motions.

        first order: at the velocity that reaches the position, or the velocity, of the step's end;   else: at motion_qdd

    Args:
        instant: 1 where the accelerations of this instant are shown, and no step is made.

    Reads:  c.motions, c.state.{q, qd}
    Writes: c.bound.system.{free, gain, goal}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    for m in range(c.bound.n_motions):
        d = c.bound.motion_dof.at(m)
        i = c.tables.unknown.at(d)
        goal = zero + c.motions.motion_qdd.load(w, d)
        if instant == 0 and (c.stages == 1 or stage == c.stages):
            speed = zero + c.motions.motion_qd.load(w, d)
            if c.bound.by_position.at(m) != 0:
                speed = (c.motions.motion_q.load(w, d) - c.state.q.load(w, c.bound.motion_q.at(m))) / h
            goal = (speed - c.state.qd.load(w, d)) / g
        y.free.store(w, i, zero)
        y.gain.store(w, i, zero)
        y.goal.store(w, i, goal)


@ti.func
def follow_motions(c: ti.template(), w: ti.i32):
    """Put prescribed dofs where their motions are at the end of a step, against what its rounding and order leave.

    Reads:  c.motions
    Writes: c.state.{q, qd}
    """
    for m in range(c.bound.n_motions):
        d = c.bound.motion_dof.at(m)
        zero = c.tables.arena.zero()
        if c.bound.by_position.at(m) != 0:
            c.state.q.store(w, c.bound.motion_q.at(m), zero + c.motions.motion_q.load(w, d))
        if ti.static(c.stages > 1 or c.is_natural):
            c.state.qd.store(w, d, zero + c.motions.motion_qd.load(w, d))


@ti.func
def lead_rows(c: ti.template(), w: ti.i32):
    """Measure rows of prescribed motions against them, as they are now.

    Reads:  c.motions
    Writes: c.bound.system.rows.{residual, rate, bias} of these rows
    """
    y = c.bound.system
    for m in range(y.n_leads):
        r = y.lead_row.at(m)
        d = y.lead_dof.at(m)
        x = y.rows.residual.load(w, r)
        lacks = x * 0.0
        if c.bound.leads_by_position.at(m) != 0:
            lacks = x - c.motions.motion_q.load(w, d)
        y.rows.residual.store(w, r, lacks)
        y.rows.rate.store(w, r, y.rows.rate.load(w, r) - c.motions.motion_qd.load(w, d))
        y.rows.bias.store(w, r, y.rows.bias.load(w, r) - c.motions.motion_qdd.load(w, d))


@ti.func
def lead_rows_to_end(c: ti.template(), w: ti.i32):
    """Measure rows of prescribed motions against where they are at the end of a step of one evaluation.

    Reads:  c.motions, c.bound.start
    Writes: c.bound.system.rows.residual of these rows
    """
    rows = c.bound.system.rows
    for m in range(c.bound.system.n_leads):
        r = c.bound.system.lead_row.at(m)
        rows.residual.store(w, r, rows.residual.load(w, r) - goal_of_lead(c, w, m))


@ti.func
def goal_of_lead(c: ti.template(), w: ti.i32, m: ti.i32):
    """Coordinate of a row of a prescribed motion at the end of a step of one stage.

    Reads: c.motions, c.bound.start
    """
    h = c.constants.load(w, H)
    d = c.bound.system.lead_dof.at(m)
    goal = c.tables.arena.zero()
    if c.bound.leads_by_position.at(m) != 0:
        goal = goal + c.motions.motion_q.load(w, d)
    else:
        speed = goal + c.motions.motion_qd.load(w, d)
        if ti.static(c.integrator == "zhong06"):  # that of the middle of the step, to second order
            speed = speed - c.motions.motion_qdd.load(w, d) * (h * 0.5) * foreseen(c, w)
        goal = c.bound.start.load(w, c.bound.system.lead_row.at(m)) + speed * h
    return goal


@ti.func
def motion_power(c: ti.template(), w: ti.i32, b: ti.template()):
    """Power of prescribed motions over a step of length b that ends with qd + b qdd; b = 0: now.

    Reads:  c.bound, c.state, c.motions
    Writes: adds to c.forces.power
    """
    y = c.bound.system
    supplied = c.forces.power.load(w, 1)
    if ti.static(c.integrator != "zhong06" or c.by_impulses):  # whose smooth steps take the work of both their ends
        share = supplied * 0.0 + 1.0
        if ti.static(c.integrator == "zhong06"):
            share = c.bound.jumps.load(w, 0)
        for m in range(c.bound.n_motions):
            d = c.bound.motion_dof.at(m)
            i = c.tables.unknown.at(d)
            mid = c.state.qd.load(w, d) + y.acceleration.load(w, i) * (b * 0.5)
            supplied = supplied + y.effort.load(w, i) * mid * share
    if ti.static(not c.is_natural):
        for m in range(y.n_leads):
            r = y.lead_row.at(m)
            mid = y.rows.rate.load(w, r)
            if ti.static(c.stages > 1):  # that is what the rate lacks
                if meets_end(c, w) == 0:
                    mid = mid + c.motions.motion_qd.load(w, y.lead_dof.at(m))
            for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
                a = y.acceleration.load(w, c.tables.unknown.at(y.j_dof.at(e)))
                mid = mid + y.entry.load(w, y.n_mass + e) * a * (b * 0.5)
            supplied = supplied + y.force.load(w, r) * mid
    c.forces.power.store(w, 1, supplied)


@ti.func
def lead_work(c: ti.template(), w: ti.i32):
    """Work of rows of prescribed motions in a step of natural coordinates: force times way.

    Reads:  c.bound, c.motions
    Writes: adds to c.forces.work
    """
    y = c.bound.system
    for m in range(y.n_leads):
        r = y.lead_row.at(m)
        way = goal_of_lead(c, w, m) - c.bound.start.load(w, r)
        c.forces.work.store(w, 1, c.forces.work.load(w, 1) + y.force.load(w, r) * way)


@ti.func
def impulse_work(c: ti.template(), w: ti.i32):
    """Work of rows of prescribed motions in a projection of velocities: impulse times mean rate.

    Reads:  c.bound, c.motions
    Writes: adds to c.forces.work
    """
    y = c.bound.system
    for m in range(y.n_leads):
        r = y.lead_row.at(m)
        mean = c.motions.motion_qd.load(w, y.lead_dof.at(m)) + y.rows.rate.load(w, r) * 0.5
        c.forces.work.store(w, 1, c.forces.work.load(w, 1) + y.force.load(w, r) * mean)
