"""The active set of an evaluation: on which piece of its graph each bounded law is; motion and power of their coordinates.

A law of one coordinate is a monotone graph, so that the bounded problem of rows and laws is linear for a given set of
pieces: the sparse factor solves it, and its solution tells the next set, until none changes (kernels/laws/bounded.py).
Where something touches, cones of three rows join the problem, and its method is that of impulses/stages.py; both take the
graphs of `state_laws`.

Called by stages of trees and of natural coordinates; rows/memory.py says what `c` holds.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.algebra.rotation_log import pulled_back
from simcli.kernels.forces.account import DISSIPATED, SUPPLIED
from simcli.kernels.forces.efforts import coordinate_of_law, turn_to_target
from simcli.kernels.language import ti
from simcli.kernels.laws.active_set import choose_piece, find_reach
from simcli.kernels.laws.bounded import share_limits, split_power, state_law
from simcli.kernels.rows.tree_rows import turning
from simcli.solvers.rows.repeat import foreseen, meets_end
from simcli.solvers.shared.motion_work import motion_power

NEWTON_CHOICES = 6  # tries of the quick method before the walk, which cannot run in circles


@ti.func
def update_active_set(c: ti.template(), w: ti.i32, k: ti.i32, stage: ti.i32, b: ti.template(), h: ti.template(),
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
        if ti.static(y.laws.has_shared_limit):
            if k < NEWTON_CHOICES:
                share_limits(y.laws, w, may, c.bound.rounding)
        for n in range(y.laws.n):
            update_law(c, w, n, k, may)
        if k > 0:
            c.bound.tries.store(w, 0, c.bound.tries.load(w, 0) + y.laws.changed.load(w, 0))


@ti.func
def state_laws(c: ti.template(), w: ti.i32, stage: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(),
               instant: ti.i32):
    """State the laws at the present coordinates.

    The acceleration of a coordinate that is a row is J qdd and the row's bias. A step whose rows are met at its end takes
    half of it: then the bound is met there, see `set_hard_row`.

    Reads:  c.state.{q, qd}, c.{k1_q, k1_qd}, c.bound
    Writes: c.bound.system.laws, the graphs
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    part = zero + 1.0
    if meets_end(c, w) * (1 - instant) != 0:
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
            x, v, inertia, moved, gained = motion_of_dof(c, w, n, i, stage)
        else:
            shift = y.rows.bias.load(w, i - y.n_dofs) * part
            x, v, inertia, moved, gained = motion_of_row(c, w, n, i - y.n_dofs, stage, b, shift)
        y.laws.shift.store(w, n, shift)
        y.laws.delta.store(w, n, g / inertia)
        state_law(y.laws, c.forces, w, n, x, v, moved, gained, b, h, g)


@ti.func
def motion_of_dof(c: ti.template(), w: ti.i32, n: ti.i32, i: ti.i32, stage: ti.i32):
    """Coordinate of law n on a dof of the tree, its rate, its inertia, and what the first node gave to both.

    Args:
        i: unknown.

    Reads: c.state.{q, qd}, c.{k1_q, k1_qd}, c.bound.system
    """
    y = c.bound.system
    moved = c.tables.arena.zero()
    gained = c.tables.arena.zero()
    d = y.laws.dof.at(n)
    if ti.static(c.integrator == "implicit"):
        if stage == 1:
            moved = c.k1_q.load(w, d)
            gained = c.k1_qd.load(w, d)
    x = coordinate_of_law(c.tables, c.forces, y.laws, c.state.q, w, n)
    return x, c.state.qd.load(w, d), y.entry.load(w, y.m_start.at(i + 1) - 1), moved, gained


@ti.func
def motion_of_row(c: ti.template(), w: ti.i32, n: ti.i32, r: ti.i32, stage: ti.i32, b: ti.template(), shift: ti.template()):
    """As `motion_of_dof`, of law n on row r.

    Args:
        shift: of its acceleration in this step, besides J qdd.

    Reads:  c.bound, c.{k1_q, k1_qd}
    Writes: c.bound.system.laws.lag of law n
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    moved = zero
    gained = zero
    x = c.bound.start.load(w, r)
    v = y.rows.rate.load(w, r)
    y.laws.lag.store(w, n, y.rows.bias.load(w, r) - shift)
    if ti.static(y.laws.has_roll and c.forces.has_ball_drives):
        if y.laws.is_roll.at(n) != 0:
            x = turn_of_roll(c, w, n, b * foreseen(c, w))
    if ti.static(c.by_impulses and c.is_natural):
        moved = v * (foreseen(c, w) - 1.0) * -0.5  # takes back what the law expects of the velocity
    if ti.static(c.integrator == "implicit"):
        if stage == 1:
            moved, gained = add_first_node(c, w, r, moved, gained + shift)  # as with springs: the row turns
    return x, v, 1.0 / (zero + y.scale.load(w, r)), moved, gained


@ti.func
def add_first_node(c: ti.template(), w: ti.i32, r: ti.i32, moved: ti.template(), gained: ti.template()):
    """What the first node of an implicit step gave along row r, J k1_q and J k1, on top of what is given.

    Reads: c.{k1_q, k1_qd}, c.bound.system.entry
    """
    y = c.bound.system
    all_moved = moved
    all_gained = gained
    for e in range(y.j_start.at(r), y.j_start.at(r + 1)):
        d = y.j_dof.at(e)
        value = y.entry.load(w, y.n_mass + e)
        all_moved = all_moved + value * c.k1_q.load(w, d)
        all_gained = all_gained + value * c.k1_qd.load(w, d)
    return all_moved, all_gained


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
def update_law(c: ti.template(), w: ti.i32, n: ti.i32, k: ti.i32, may: ti.template()):
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
    choose_piece(y.laws, w, n, point, slack, acts)


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
def law_power(c: ti.template(), w: ti.i32, b: ti.template(), g: ti.template()):
    """Powers of laws and prescribed motions over a step of length b that ends with qd + b qdd; b = 0: now.

    Args:
        g: [s], over which accelerations act on the velocity that the laws are about.

    Reads:  c.bound, c.state
    Writes: adds to c.forces.account.power
    """
    y = c.bound.system
    if ti.static(y.laws.n > 0):
        dissipated = c.forces.account.power.load(w, DISSIPATED)
        supplied = c.forces.account.power.load(w, SUPPLIED)
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
        c.forces.account.set_power(w, dissipated, supplied)
    if ti.static(c.motions.n_locks + y.n_leads > 0):
        motion_power(c, w, b)
