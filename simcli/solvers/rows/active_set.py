"""The active set of an evaluation: on which piece of its graph each bounded law is; motion and power of their coordinates.

A law of one coordinate is a monotone graph, so that the bounded problem of rows and laws is linear for a given set of
pieces: the sparse factor solves it, and its solution tells the next set, until none changes (kernels/rows/bounded_laws.py).
Where something touches, cones of three rows join the problem, and its method is that of impulses/programs.py; both take the
graphs of `state_laws`.

Called by stages of trees and of natural coordinates; rows/memory.py says what `c` holds.
"""

from simcli.kernels.forces.account import DISSIPATED, SUPPLIED
from simcli.kernels.forces.efforts import coordinate_of_law, turn_to_target
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import pulled_back, select
from simcli.kernels.rows.active_set import choose_linear_piece, find_reach
from simcli.kernels.rows.bounded_laws import split_power, state_law
from simcli.kernels.rows.coordinate_laws import share_limits
from simcli.kernels.rows.tree_rows import turning
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import add_first_node, first_node_of_dof
from simcli.solvers.rows.islands import island_of, span_at
from simcli.solvers.rows.motion_work import motion_power
from simcli.solvers.rows.repeat import chooses, foreseen, meets_end

NEWTON_CHOICES = 6  # tries of the quick method before the walk, which cannot run in circles


@ti.func
def update_active_set(
    c: ti.template(),
    w: ti.i32,
    k: ti.i32,
    stage: ti.i32,
    b: ti.template(),
    h: ti.template(),
    g: ti.template(),
    instant: ti.i32,
):
    """Choose the pieces of all laws for try k, by what the try before found.

    Args:
        g: [s], over which the accelerations act on the velocity that moves the coordinates in the step of length h.
        instant: 1 if the rows hold in accelerations.

    Reads:  c.bound, c.state
    Writes: c.bound.{tries, system.laws}
    """
    if k == 0:
        tries = c.bound.tries.load(w, 0)
        c.bound.tries.store(w, 0, select(chooses(c, w, stage), c.tables.arena.zero() + 1.0, tries))
        state_laws(c, w, stage, b, h, g, instant)
    _update_laws(c, w, k, stage, g)


@needs.laws
@ti.func
def _update_laws(c: ti.template(), w: ti.i32, k: ti.i32, stage: ti.i32, g: ti.template()):
    """The pieces of all laws, after they have been stated."""
    y = c.bound.system
    find_reference_velocities(c, w, k, g)
    _share_limits(c, w, k, chooses(c, w, stage))
    for n in range(y.laws.n):
        update_law(c, w, n, k, chooses(c, w, stage, y.laws.unknown.at(n)))
    if k > 0:
        c.bound.tries.store(w, 0, c.bound.tries.load(w, 0) + y.laws.changed.load(w, 0))


@needs.shared_limits
@ti.func
def _share_limits(c: ti.template(), w: ti.i32, k: ti.i32, may: ti.template()):
    if k < NEWTON_CHOICES:
        share_limits(c.bound.system.laws, w, may, c.bound.rounding)


@needs.laws
@ti.func
def state_laws(
    c: ti.template(), w: ti.i32, stage: ti.i32, b: ti.template(), h: ti.template(), g: ti.template(), instant: ti.i32
):
    """State the laws at the present coordinates.

    The acceleration of a coordinate that is a row is J qdd and the row's bias. A step whose rows are met at its end takes
    half of it: then the bound is met there, see `set_hard_row`.

    Reads:  c.state.{q, qd}, c.{k1_q, k1_qd}, c.bound
    Writes: c.bound.system.laws, the graphs
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    for n in range(y.laws.n):
        i = y.laws.unknown.at(n)
        own_b, own_g = span_at(c, w, c.b, i, b), span_at(c, w, c.g, i, g)
        part = zero + 1.0
        if meets_end(c, w) * (1 - instant) != 0:
            part = zero + 0.5 * h / own_g
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
            x, v, inertia, moved, gained = motion_of_row(c, w, n, i - y.n_dofs, stage, own_b, shift)
        y.laws.shift.store(w, n, shift)
        y.laws.delta.store(w, n, own_g / inertia)
        state_law(y.laws, c.forces, w, n, x, v, moved, gained, own_b, h, own_g)


@ti.func
def motion_of_dof(c: ti.template(), w: ti.i32, n: ti.i32, i: ti.i32, stage: ti.i32):
    """Coordinate of law n on a dof of the tree, its rate, its inertia, and what the first node gave to both.

    Args:
        i: unknown.

    Reads: c.state.{q, qd}, c.{k1_q, k1_qd}, c.bound.system
    """
    y = c.bound.system
    d = y.laws.dof.at(n)
    moved, gained = first_node_of_dof(c, w, d, stage)
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
    x = _coordinate_of_row(c, w, n, r, b)
    v = y.rows.rate.load(w, r)
    y.laws.lag.store(w, n, y.rows.bias.load(w, r) - shift)
    moved, gained = _first_node_of_row(c, w, r, stage, _taken_back(c, w, r, v), shift)
    return x, v, 1.0 / (c.tables.arena.zero() + y.scale.load(w, r)), moved, gained


def _taken_back(c, w, r, v):
    """What takes back that a law on row r expects of the velocity, where it is of half a step before (inside kernels)."""
    if not (c.by_impulses and c.is_natural):
        return c.tables.arena.zero()
    return v * (foreseen(c, w, island_of(c, c.bound.system.n_dofs + r)) - 1.0) * -0.5


def _coordinate_of_row(c, w, n, r, b):
    """Coordinate of law n on row r (inside kernels)."""
    turns = c.bound.system.laws.has_roll and c.forces.has_ball_drives
    return _coordinate_of_roll(c, w, n, r, b) if turns else c.bound.start.load(w, r)


@ti.func
def _coordinate_of_roll(c: ti.template(), w: ti.i32, n: ti.i32, r: ti.i32, b: ti.template()):
    x = c.bound.start.load(w, r)
    if c.bound.system.laws.is_roll.at(n) != 0:
        x = turn_of_roll(c, w, n, b * foreseen(c, w, island_of(c, c.bound.system.laws.unknown.at(n))))
    return x


def _first_node_of_row(c, w, r, stage, moved, shift):
    """What the first node gave along row r, for the second one of implicit steps (inside kernels)."""
    return _given_along(c, w, r, stage, moved, shift) if c.integrator == "implicit" else (moved, c.tables.arena.zero())


@ti.func
def _given_along(c: ti.template(), w: ti.i32, r: ti.i32, stage: ti.i32, moved: ti.template(), shift: ti.template()):
    all_moved = moved
    gained = c.tables.arena.zero()
    if stage == 1:
        all_moved, gained = add_first_node(c, w, r, moved, gained + shift)  # as with springs: the row turns
    return all_moved, gained


@ti.func
def turn_of_roll(c: ti.template(), w: ti.i32, n: ti.i32, b: ti.template()):
    """Component of the target of a ball less what turns it there: the drive of law n acts on it as on a coordinate.

    Its rate is not that of the law. Steps that are of second order by what they foresee over a time b are told.

    Reads: c.state.R, c.forces.target, c.bound
    """
    laws = c.bound.system.laws
    rows = c.bound.system.rows
    k = rows.anchor_pair.at(laws.row.at(n))
    R_a, spin_a, _alpha_a = turning(c.tables, c.state, w, rows.link_a.at(k))
    R_b, spin_b, _alpha_b = turning(c.tables, c.state, w, rows.link_b.at(k))
    F_a = R_a * rows.frame_a.load(w, k)
    d = laws.dof.at(n)
    error, factor = turn_to_target(c.forces, w, d - laws.component.at(n), F_a.T * (R_b * rows.frame_b.load(w, k)))
    component = rows.on_a.load(w, laws.row.at(n))
    x = c.forces.target.load(w, d) - error.dot(component)
    return _turned_ahead(c, x, error, factor, F_a.T, spin_b - spin_a, component, b)


def _turned_ahead(c, x, error, factor, to_parent, change, component, b):
    """The coordinate x at the end of a time b, for steps that are of second order by that (inside kernels)."""
    if c.integrator != "zhong06":
        return x
    spin = to_parent * change
    return x + (pulled_back(error, factor, spin) - spin).dot(component) * b


@ti.func
def find_reference_velocities(c: ti.template(), w: ti.i32, k: ti.i32, g: ti.template()):
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
            v = v + (acceleration_of_law(c, w, n) + y.laws.shift.load(w, n)) * span_at(c, w, c.g, y.laws.unknown.at(n), g)
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
    choose_linear_piece(y.laws, w, n, point, slack, acts)


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
    power_of_laws(c, w, b, g)
    motion_power(c, w, b)


@needs.laws
@ti.func
def power_of_laws(c: ti.template(), w: ti.i32, b: ti.template(), g: ti.template()):
    """Powers of laws alone, see `law_power`."""
    y = c.bound.system
    dissipated = c.forces.account.power.load(w, DISSIPATED)
    supplied = c.forces.account.power.load(w, SUPPLIED)
    for n in range(y.laws.n):
        v = y.laws.rate.load(w, n)
        a = acceleration_of_law(c, w, n)
        shift = y.laws.shift.load(w, n)
        own_g = span_at(c, w, c.g, y.laws.unknown.at(n), g)
        end = v + (a + shift) * own_g
        mid = _mean_rate(c, v + a * (b * 0.5), shift, b)
        ahead = _foreseen_way(c, w, y.laws.unknown.at(n), v, end, b, own_g)
        given, taken = split_power(y.laws, c.forces, w, n, end, mid, own_g, ahead, a * 0.0 + b == 0.0)
        if y.laws.row.at(n) >= 0:  # that of a joint that is off does nothing
            enabled = y.enabled.load(w, y.laws.row.at(n))
            given = given * enabled
            taken = taken * enabled
        dissipated = dissipated + taken
        supplied = supplied + given
    c.forces.account.set_power(w, dissipated, supplied)


def _mean_rate(c, mid, shift, b):
    """Of a coordinate in a step; the forces of those of zhong06 have the gradients of both ends (inside kernels)."""
    return mid + shift * (b * 0.5) if c.integrator == "zhong06" else mid


def _foreseen_way(c, w, i, v, end, b, g):
    """To where springs along unknown i are foreseen (inside kernels)."""
    if not (c.by_impulses and c.is_natural):
        return end * g
    share = foreseen(c, w, island_of(c, i))
    return end * g * share + (end - v) * (1.0 - share) * b * 0.25
