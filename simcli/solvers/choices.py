"""What a try of a constrained evaluation asks for: the pieces of the laws, the equations of the rows, the locks.

Called by stages of trees and phases of natural coordinates; constrained.py says what `c` holds.
"""

import taichi as ti

from simcli.kernels.coordinate_laws import foresee, foresee_again
from simcli.kernels.elementary import select
from simcli.kernels.forces import turn_to_target
from simcli.kernels.laws import FREE, choose, draw_line, find_reach, split_power, state_law
from simcli.kernels.rotation_log import pulled_back
from simcli.kernels.rows import turning
from simcli.solvers.motions import lock_motions, motion_power
from simcli.solvers.repeat import foreseen

NEWTON_CHOICES = 6  # tries of the quick method before the walk, which cannot run in circles


@ti.func
def choose_pieces(c: ti.template(), w: ti.i32, k: ti.i32, stage: ti.i32, b: ti.template(), h: ti.template(),
                  g: ti.template(), instant: ti.i32):
    """Choose the pieces of all laws for try k, by what the try before found.

    Args:
        g: [s], over which the accelerations act on the velocity that moves the coordinates in the step of length h.
        instant: 1 if the rows hold in accelerations.

    Reads:  c.bound, c.state
    Writes: c.bound.{tries, system.laws}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    may = zero == 0.0
    if ti.static(c.bound.repeats):
        if stage == c.stages:
            may = c.bound.jumps.load(w, 0) > 0.0
    if k == 0:
        c.bound.tries.store(w, 0, select(may, zero + 1.0, c.bound.tries.load(w, 0)))
    if ti.static(y.laws.n > 0):
        if k == 0:
            state_laws(c, w, stage, b, h, g, instant)
        aim_laws(c, w, k, g)
        for n in range(y.laws.n):
            choose_again(c, w, n, k, may)
        if k > 0:
            c.bound.tries.store(w, 0, c.bound.tries.load(w, 0) + y.laws.changed.load(w, 0))


@ti.func
def state_equations(c: ti.template(), w: ti.i32, stage: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(),
                    instant: ti.i32):
    """Masks, known values and right-hand side for the pieces that are chosen.

    Args:
        g, instant: as of `choose_pieces`.

    Reads:  c.bound, c.state
    Writes: c.bound.system.{free, goal, load, soft, gain, laws}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    for n in range(y.n_dofs):
        y.free.store(w, n, zero + 1.0)
        y.gain.store(w, n, zero)
        y.load.store(w, n, c.bound.base.load(w, n))
    for r in range(y.n_rows):
        set_hard_row(c, w, r, b, h, g, instant)
    if ti.static(y.laws.n > 0):
        for n in range(y.laws.n):
            set_law(c, w, n, g)
    if ti.static(y.n_springs > 0):
        for r in range(y.n_rows):
            if y.spring.at(r) >= 0:
                set_spring(c, w, r, stage, b)
    if ti.static(c.bound.n_motions > 0):
        lock_motions(c, w, stage, h, g)
    push_rows(y, w)


@ti.func
def state_laws(c: ti.template(), w: ti.i32, stage: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(),
               instant: ti.i32):
    """State the laws at the present coordinates.

    The acceleration of a coordinate that is a row is J qdd and the row's bias. A first-order step takes half of it: then
    the bound is met where the step ends, see `set_hard_row`.

    Reads:  c.state.{q, qd}, c.{k1_q, k1_qd}, c.bound
    Writes: c.bound.system.laws, the graphs
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    part = zero + 1.0
    if ti.static(c.stages == 1):
        if instant == 0:
            part = zero + 0.5 * h / g
    for n in range(y.laws.n):
        i = y.laws.unknown.at(n)
        x = zero
        v = zero
        inertia = zero + 1.0
        moved = zero
        gained = zero
        shift = zero
        if i < y.n_dofs:
            d = y.laws.dof.at(n)
            x = c.state.q.load(w, ti.max(c.tables.dof_q.at(d), 0))
            v = c.state.qd.load(w, d)
            inertia = y.entry.load(w, y.m_start.at(i + 1) - 1)
            if ti.static(c.integrator == "implicit"):
                if stage == 1:
                    moved = c.k1_q.load(w, d)
                    gained = c.k1_qd.load(w, d)
        else:
            r = i - y.n_dofs
            x = c.bound.start.load(w, r)
            v = y.rows.rate.load(w, r)
            inertia = 1.0 / (zero + y.scale.load(w, r))
            shift = y.rows.bias.load(w, r) * part
            y.laws.lag.store(w, n, y.rows.bias.load(w, r) - shift)
            if ti.static(y.laws.has_roll and c.forces.has_ball_drives):
                if y.laws.is_roll.at(n) != 0:
                    x = turn_of_roll(c, w, n, b * foreseen(c, w))
            if ti.static(c.by_impulses and c.is_natural):
                moved = v * (foreseen(c, w) - 1.0) * -0.5  # takes back what the law expects of the velocity
            if ti.static(c.integrator == "implicit"):
                if stage == 1:
                    gained = gained + shift  # as with `set_spring`: the row turns
                    for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
                        value = y.entry.load(w, y.n_mass + e)
                        moved = moved + value * c.k1_q.load(w, y.j_dof.at(e))
                        gained = gained + value * c.k1_qd.load(w, y.j_dof.at(e))
        y.laws.shift.store(w, n, shift)
        y.laws.delta.store(w, n, g / inertia)
        state_law(y.laws, c.forces, w, n, x, v, moved, gained, b, h, g)


@ti.func
def turn_of_roll(c: ti.template(), w: ti.i32, n: ti.i32, b: ti.template()):
    """Component of the target of a ball less what turns it there: the drive of law n acts on it as on a coordinate.

    Its rate is not that of the law. Steps that are of second order by what they foresee over a time b are told.

    Reads: c.state.R, c.forces.target, c.bound
    """
    laws = c.bound.system.laws
    rows = c.bound.system.rows
    k = rows.couple.at(laws.row.at(n))
    R_a, spin_a, _alpha_a = turning(c.tables, c.state, w, rows.link_a.at(k))
    R_b, spin_b, _alpha_b = turning(c.tables, c.state, w, rows.link_b.at(k))
    F_a = R_a * rows.frame_a.load(w, k)
    d = laws.dof.at(n)
    error, factor = turn_to_target(c.forces, w, d - laws.component.at(n), F_a.T * (R_b * rows.frame_b.load(w, k)))
    component = rows.on_a.load(w, laws.row.at(n))
    x = c.forces.target.load(w, d) - error.dot(component)
    if ti.static(c.integrator == "zhong06"):
        spin = F_a.T * (spin_b - spin_a)
        x = x + (pulled_back(error, factor, spin) - spin).dot(component) * b
    return x


@ti.func
def aim_laws(c: ti.template(), w: ti.i32, k: ti.i32, g: ti.template()):
    """Speeds and aims that the last try found; in the walk also how far each law can go to them.

    Reads:  c.bound
    Writes: c.bound.system.laws.{found, goal, reach, brink, beyond, least, changed}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    y.laws.changed.store(w, 0, zero)
    y.laws.least.store(w, 0, zero + 1.0)
    for n in range(y.laws.n):
        v = y.laws.rate.load(w, n)
        if k > 0:
            v = v + (acceleration_of_law(c, w, n) + y.laws.shift.load(w, n)) * g
        y.laws.found.store(w, n, v)
        y.laws.goal.store(w, n, v - y.laws.delta.load(w, n) * y.laws.effort.load(w, n))
        if k >= NEWTON_CHOICES:
            find_reach(y.laws, w, n)


@ti.func
def choose_again(c: ti.template(), w: ti.i32, n: ti.i32, k: ti.i32, may: ti.template()):
    """Choose the piece of law n at the aim of the last try; in the walk the next piece, if its own ends first.

    Reads:  c.bound
    Writes: c.bound.system.laws of law n
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    goal = y.laws.goal.load(w, n)
    slack = (ti.abs(y.laws.rate.load(w, n)) + ti.abs(y.laws.found.load(w, n)) + ti.abs(goal)) * c.bound.rounding
    if k == 0:
        slack = zero - 1.0
    point = goal
    acts = may
    if k >= NEWTON_CHOICES:
        least = y.laws.least.load(w, 0)
        arrives = least >= 1.0
        ends = y.laws.reach.load(w, n) == least
        start = y.laws.aim.load(w, n)
        point = select(arrives, goal, y.laws.beyond.load(w, n))
        goal = select(arrives, goal, select(ends, y.laws.brink.load(w, n), start + (goal - start) * least))
        slack = select(arrives, slack, zero - 1.0)
        acts = may & (arrives | ends)
        walks = may & ~arrives
        y.laws.changed.store(w, 0, select(walks, zero + 1.0, y.laws.changed.load(w, 0)))
    y.laws.aim.store(w, n, goal)
    choose(y.laws, w, n, point, slack, acts)


@ti.func
def acceleration_of_law(c: ti.template(), w: ti.i32, n: ti.i32):
    """J qdd of law n in the last solution.

    Reads: c.bound
    """
    y = c.bound.system
    i = y.laws.unknown.at(n)
    a = c.tables.arena.zero()
    if i < y.n_dofs:
        a = y.acceleration.load(w, i)
    else:
        r = i - y.n_dofs
        for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
            a = a + y.entry.load(w, y.n_mass + e) * y.acceleration.load(w, c.tables.unknown.at(y.j_dof.at(e)))
    return a


@ti.func
def set_hard_row(c: ti.template(), w: ti.i32, r: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(),
                 instant: ti.i32):
    """Equation of a hard or compliant row; rows of laws are set after it.

        one stage:  J qdd = -(phi / h + rate) / g - bias h / 2 g     so that phi vanishes where the step ends
        else:       J qdd = -bias
        compliant:    J qdd + e lambda = ...,  e = compliance / b^2

    Reads:  c.bound.system
    Writes: c.bound.system.{free, goal, soft, load, centre} of row r
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    i = y.n_dofs + r
    compliance = zero + y.compliance.load(w, r)
    enabled = zero + y.enabled.load(w, r)
    residual = y.rows.residual.load(w, r)
    rate = y.rows.rate.load(w, r)
    bias = y.rows.bias.load(w, r)
    load = -bias
    soft = y.softness.load(w, 0) * y.scale.load(w, r)
    if ti.static(c.stages == 1):
        if instant == 0:
            load = -(residual / h + rate) / g - bias * (0.5 * h / g)
    span = b * b + zero
    yields = (compliance > 0.0) & (span > 0.0)
    safe = select(span > 0.0, span, span + 1.0)
    soft = select(yields, compliance / safe, soft)
    load = select(yields, -(residual + rate * b * foreseen(c, w)) / safe, load)
    explicit = (compliance > 0.0) & (span == 0.0)
    idle = explicit | (enabled == 0.0)
    y.free.store(w, i, select(idle, zero, zero + 1.0))
    y.goal.store(w, i, select(explicit & (enabled != 0.0), -residual / select(explicit, compliance, zero + 1.0), zero))
    y.soft.store(w, r, select(idle, zero + 1.0, soft))
    y.load.store(w, i, load)
    y.centre.store(w, r, zero)


@ti.func
def set_law(c: ti.template(), w: ti.i32, n: ti.i32, g: ti.template()):
    """Lock, or line, of law n.

    Reads:  c.bound
    Writes: c.bound.system.{free, goal, load, soft, gain} of its unknown
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    i = y.laws.unknown.at(n)
    draw_line(y.laws, w, n, g)
    locked = y.laws.lock.load(w, n) != FREE
    push = y.laws.push.load(w, n)
    gain = y.laws.gain.load(w, n)
    known = (y.laws.speed.load(w, n) - y.laws.rate.load(w, n)) / g - y.laws.shift.load(w, n)
    if i < y.n_dofs:
        y.free.store(w, i, select(locked, zero, y.free.load(w, i)))
        y.goal.store(w, i, select(locked, known, zero))
        y.gain.store(w, i, y.gain.load(w, i) + select(locked, zero, gain))
        y.load.store(w, i, y.load.load(w, i) + select(locked, zero, push))
    else:
        r = i - y.n_dofs
        enabled = (zero + y.enabled.load(w, r)) != 0.0
        carried = (locked | (gain > 0.0)) & enabled
        y.free.store(w, i, select(carried, zero + 1.0, zero))
        y.goal.store(w, i, select(carried | (enabled == 0), zero, push))  # an idle row keeps its effort here for push_rows
        size = y.softness.load(w, 0)
        if ti.static(y.laws.has_roll and c.is_natural):
            if y.laws.is_roll.at(n) != 0:  # no correction takes back what softness lets pass: there is no coordinate
                size = zero + y.least
        soft = select(locked, size * y.scale.load(w, r), 1.0 / select(gain > 0.0, gain, zero + 1.0))
        y.soft.store(w, r, select(carried, soft, zero + 1.0))
        y.load.store(w, i, select(locked, known, push * soft))


@ti.func
def set_spring(c: ti.template(), w: ti.i32, r: ti.i32, stage: ti.i32, b: ti.template()):
    """Equation of a spring's length: its tension at the end of a time b, linear in the acceleration.

        lambda = -(T + b k L' + b c B) - G J qdd,   G = b (c + b k);   B: the bias, L'' at qdd = 0
        second node of implicit: + 2 b k J k1_q + 2 b c B + 2 G J k1

    B is the gradient of L' along the motion. Without it a stiff damper learns a stage too late that its line turns.

    Reads:  c.{bound, forces, k1_q, k1_qd}
    Writes: c.bound.system.{free, goal, soft, load} of row r
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    i = y.n_dofs + r
    k = y.spring.at(r)
    stiffness = zero + c.forces.spring_stiffness.load(w, k)
    damping = zero + c.forces.spring_damping.load(w, k)
    stretch = y.rows.residual.load(w, r) - c.forces.rest_length.load(w, k)
    rate = y.rows.rate.load(w, r)
    tension = stretch * stiffness + rate * damping
    push, gain = foresee(-tension, stiffness, damping, rate, b)
    push = push + stiffness * rate * b * (1.0 - foreseen(c, w))
    turning = y.rows.bias.load(w, r) * damping * b
    if ti.static(c.is_natural):  # whose J qdd and B are parts of one acceleration, which not even rigidity divides
        turning = y.rows.bias.load(w, r) * gain
    push = push - turning
    if ti.static(c.integrator == "implicit"):
        if stage == 1:
            moved = zero
            gained = zero
            for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
                d = y.j_dof.at(e)
                value = y.entry.load(w, y.n_mass + e)
                moved = moved + value * c.k1_q.load(w, d)
                gained = gained + value * c.k1_qd.load(w, d)
            push = push + turning * 2.0 + foresee_again(stiffness, gain, moved, gained, b)
    acts = zero == 0.0
    if c.forces.slack.at(k) != 0:
        acts = (stretch > 0.0) & (tension > 0.0)
    push = select(acts, push, zero)
    yields = acts & (gain > 0.0)
    soft = 1.0 / select(yields, gain, zero + 1.0)
    y.free.store(w, i, select(yields, zero + 1.0, zero))
    y.goal.store(w, i, push)
    y.soft.store(w, r, soft)
    y.load.store(w, i, push * soft)


@ti.func
def push_rows(y: ti.template(), w: ti.i32):
    """Efforts of idle rows, kept in their goals, to the right-hand side of the dofs: F + J^T push.

    Reads:  y.{free, goal, entry}
    Writes: y.{load, goal, force}
    """
    for r in range(y.n_rows):
        i = y.n_dofs + r
        push = select(y.free.load(w, i) == 0.0, y.goal.load(w, i), y.entry.arena.zero())
        y.force.store(w, r, push)
        y.goal.store(w, i, y.entry.arena.zero())
        for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
            j = y.end_j.at(y.n_mass + e)
            y.load.store(w, j, y.load.load(w, j) + y.entry.load(w, y.n_mass + e) * push)


@ti.func
def law_power(c: ti.template(), w: ti.i32, b: ti.template(), g: ti.template()):
    """Powers of laws and prescribed motions over a step of length b that ends with qd + b qdd; b = 0: now.

    Args:
        g: [s], over which accelerations act on the velocity that the laws are about.

    Reads:  c.bound, c.state
    Writes: adds to c.forces.power
    """
    y = c.bound.system
    if ti.static(y.laws.n > 0):
        dissipated = c.forces.power.load(w, 0)
        supplied = c.forces.power.load(w, 1)
        for n in range(y.laws.n):
            v = y.laws.rate.load(w, n)
            a = acceleration_of_law(c, w, n)
            shift = y.laws.shift.load(w, n)
            end = v + (a + shift) * g
            mid = v + a * (b * 0.5)
            if ti.static(c.integrator == "zhong06"):  # the forces of its steps have the gradients of both ends
                mid = mid + shift * (b * 0.5)
            ahead = end * g  # to where springs are foreseen
            if ti.static(c.by_impulses and c.is_natural):
                ahead = ahead * foreseen(c, w) + (end - v) * (1.0 - foreseen(c, w)) * b * 0.25
            given, taken = split_power(y.laws, c.forces, w, n, end, mid, g, ahead, a * 0.0 + b == 0.0)
            if y.laws.row.at(n) >= 0:  # that of a joint that is off does nothing
                enabled = y.enabled.load(w, y.laws.row.at(n))
                given = given * enabled
                taken = taken * enabled
            dissipated = dissipated + taken
            supplied = supplied + given
        c.forces.power.store(w, 0, dissipated)
        c.forces.power.store(w, 1, supplied)
    if ti.static(c.bound.n_motions + y.n_leads > 0):
        motion_power(c, w, b)
