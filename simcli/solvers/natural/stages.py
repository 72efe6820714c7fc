"""Stages of steps in natural coordinates, whatever acts: functions of the core c and a block w. See tree/stages.py.

The lists, and what they are for, are in natural/programs.py.
"""

from simcli.kernels.articulation.kinematics import AFFINE, place_all, store_vector, vector_at
from simcli.kernels.articulation.retraction import retract
from simcli.kernels.articulation.rnea import no_force
from simcli.kernels.device.arena import local
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.forces.account import DISSIPATED, SUPPLIED
from simcli.kernels.forces.wrenches import load_links
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.constrained_system import fill
from simcli.kernels.rows.jacobian import apply_jacobian_transpose
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H, add_accelerations, book_efforts
from simcli.solvers.natural.memory import MOST_SOFT, SOFTNESS_OF_TURN
from simcli.solvers.output.energy_balance import load_external
from simcli.solvers.rows.equations import state_equations
from simcli.solvers.rows.islands import island_of_dof, jump_of, jumps_of, span_at
from simcli.solvers.rows.repeat import foreseen
from simcli.solvers.rows.report import share_among_links


@ti.func
def begin_turns(c: ti.template(), w: ti.i32):
    """Nothing turns yet.

    Writes: c.bound.fastest
    """
    for k in range(c.bound.n_row_islands):
        c.bound.fastest.store(w, k, c.tables.arena.zero())


def note_turn(c, w, k, square):
    """Note omega^2 of turning row k [1/s^2] for its island (inside kernels).

    Writes: c.bound.fastest
    """
    island = c.bound.island_of_turning.at(k)
    c.bound.fastest.store(w, island, ti.max(c.bound.fastest.load(w, island), square))


@ti.func
def regularize(c: ti.template(), w: ti.i32, turned: ti.template()):
    """Softness of hard rows in this step, SOFTNESS_OF_TURN (h omega)^2 of their size, by what turns fastest in their island.

    Where branches of a mechanism meet, an eigenvalue of J M^-1 J^T is the square of the distance from there. A step is
    h omega long: within a part of a step from there, what the rows ask for is made of errors, and e lets it pass.
    Everywhere else the solutions that follow take the softness away.

    Args:
        turned: [1/s^2], the largest omega^2 of the world, without what velocities have along a length.

    Reads:  c.bound.fastest, by velocities that are not yet those of the rows
    Writes: c.bound.{turn, system.softness}
    """
    y = c.bound.system
    h = c.constants.load(w, H)
    c.bound.turn.store(w, 0, turned * (h * h))
    for r in range(y.n_rows):
        fastest = c.bound.fastest.load(w, c.bound.island_of_row.at(r))
        y.softness.store(w, r, ti.min(ti.max(fastest * (h * h) * SOFTNESS_OF_TURN, y.least), MOST_SOFT))


@ti.func
def regularize_step(c: ti.template(), w: ti.i32):
    """`regularize` by the rows that have just been measured.

    Reads:  c.bound.system.rows.{bias, rate}
    Writes: c.bound.{turn, system.softness}
    """
    rows = c.bound.system.rows
    turned = c.tables.arena.zero()
    begin_turns(c, w)
    for k in range(c.bound.n_turning):
        r = c.bound.turning.at(k)
        weight, bias, rate = c.bound.turn_weight.load(w, k), rows.bias.load(w, r), rows.rate.load(w, r)
        note_turn(c, w, k, ti.abs(bias) * weight)
        along = rate * rate * (0.5 * c.bound.radial.at(k))
        turned = ti.max(turned, ti.abs(bias - along) * weight)
    regularize(c, w, turned)


@ti.func
def shift_instant_multipliers(c: ti.template(), w: ti.i32):
    """The least softness: softness is of what a step moves, and nothing moves at an instant.

    Writes: c.bound.system.softness
    """
    for r in range(c.bound.system.n_rows):
        c.bound.system.softness.store(w, r, c.tables.arena.zero() + c.bound.system.least)


@ti.func
def fill_matrix(c: ti.template(), w: ti.i32):
    """Mass matrix and Jacobian.

    Writes: c.bound.system.entry
    """
    fill(c.bound.system, c.tables, c.state, w)


@ti.func
def begin_evaluation(c: ti.template(), w: ti.i32):
    """Times over which the evaluation is implicit, and over which its accelerations act.

    A step that is one of impulses takes them for all of it, any other for half of it.

    Reads:  c.{bound.velocity_jump, now}
    Writes: c.{b, g}
    """
    for k in range(c.bound.islands.n):
        g = _span_of_accelerations(c, w, k)
        c.g.store(w, k, g)
        b = _span_of_forces(c, w, g)
        c.b.store(w, k, b * ti.cast(c.now.load(w, "instant") == 0, c.tables.arena.device.real))


def _span_of_accelerations(c, w, k):
    """[s], over which accelerations act on the velocity that moves, of island k (inside kernels)."""
    zero, h = c.tables.arena.zero(), c.constants.load(w, H)
    if c.integrator != "zhong06":
        return zero + h
    if not c.bound.switches:
        return zero + h * 0.5
    jumps = jumps_of(c).load(w, k) > 0.0
    if c.bound.repeats:
        jumps = jumps & (c.now.load(w, "node") > 0)
    return select(jumps, zero + h, zero + h * 0.5)


def _span_of_forces(c, w, g):
    """[s], over which forces are implicit: half a step where something can touch (inside kernels)."""
    return c.tables.arena.zero() + c.constants.load(w, H) * 0.5 if c.touches else g


@ti.func
def load_midpoint(c: ti.template(), w: ti.i32):
    """External forces half a step ahead, along the present velocities; for the ledger their powers where the step begins.

    They act along the coordinates as these are there: a torque on vectors that have not yet turned is one of order one.

    Reads:  c.state.{q, qd}, c.forces
    Writes: c.bound.{push, q_kept}, c.forces.account.power; c.state.external is none
    """
    account = c.forces.account
    _load_start(c, w)
    dissipated = account.power.load(w, DISSIPATED)
    supplied = account.power.load(w, SUPPLIED)
    copy(c.bound.q_kept, c.state.q, c.tables.n_q, w)
    _go_to_middle(c, w)
    place_all(c.tables, c.state, w)
    load_links(c.tables, c.forces, c.state, w)
    account.set_power(w, dissipated, supplied)
    for i in range(c.tables.n_links):
        force = c.state.external.load(w, i)
        first = c.tables.link_qd.at(i)
        for d in range(first, first + c.tables.link_n_qd.at(i)):
            c.bound.push.store(w, d, c.state.S.load(w, d).dot(force))
        c.state.external.store(w, i, no_force(c.tables.arena.zero()))
    copy(c.state.q, c.bound.q_kept, c.tables.n_q, w)
    place_all(c.tables, c.state, w)


@needs.energy_balance
def _load_start(c, w):
    load_external(c, w)


def _go_to_middle(c, w):
    """Coordinates half a step ahead, but for those of islands whose velocity is of half a step before (inside kernels)."""
    half = c.constants.load(w, H) * 0.5
    if c.bound.islands.have_spans and c.by_impulses:
        _go_by_islands(c, w, half)
    else:
        retract(c.tables, c.bound.q_kept, c.state.q, c.state.qd, w, foreseen(c, w, 0) * c.constants.load(w, H) * 0.5)


@ti.func
def _go_by_islands(c: ti.template(), w: ti.i32, half: ti.template()):
    for d in range(c.tables.n_qd):
        c.bound.move.store(w, d, c.state.qd.load(w, d) * foreseen(c, w, island_of_dof(c, d)))
    retract(c.tables, c.bound.q_kept, c.state.q, c.bound.move, w, half)


@ti.func
def load_second_half(c: ti.template(), w: ti.i32):
    """External forces as in `load_midpoint`, at the velocities to which the accelerations lead: for `end_velocities`.

    Forces that damp are those of the start in the first half of a step, and these in the second one: of order two.

    Source: Heun (1900), the mean of two slopes.

    Reads:  c.state.{q, qd, qdd}, c.bound.push
    Writes: c.bound.{base, q_kept, move}; c.bound.push: by what base has changed; c.state.external is none
    """
    s = c.state
    h = c.constants.load(w, H)
    account = c.forces.account.power
    dissipated = account.load(w, DISSIPATED)
    supplied = account.load(w, SUPPLIED)
    copy(c.bound.q_kept, s.q, c.tables.n_q, w)
    copy(c.bound.move, s.qd, c.tables.n_qd, w)
    retract(c.tables, c.bound.q_kept, s.q, s.qd, w, h * 0.5)
    add_accelerations(c, w, h)
    place_all(c.tables, s, w)
    load_links(c.tables, c.forces, s, w)
    c.forces.account.set_power(w, dissipated, supplied)
    for i in range(c.tables.n_links):
        force = s.external.load(w, i)
        first = c.tables.link_qd.at(i)
        for d in range(first, first + c.tables.link_n_qd.at(i)):
            n = c.tables.unknown.at(d)
            if n >= 0:
                change = s.S.load(w, d).dot(force) - c.bound.push.load(w, d)
                c.bound.base.store(w, n, c.bound.base.load(w, n) + change)
                c.bound.push.store(w, d, change)
        s.external.store(w, i, no_force(c.tables.arena.zero()))
    copy(s.q, c.bound.q_kept, c.tables.n_q, w)
    copy(s.qd, c.bound.move, c.tables.n_qd, w)
    place_all(c.tables, s, w)


@ti.func
def push_midpoint(c: ti.template(), w: ti.i32):
    """Add the external forces of the middle of the step.

    Writes: c.bound.base
    """
    for n in range(c.tables.n_tree_dofs):
        c.bound.base.store(w, n, c.bound.base.load(w, n) + c.bound.push.load(w, c.tables.tree_dof.at(n)))


@ti.func
def state_system(c: ti.template(), w: ti.i32):
    """Equations whose matrix is that of the projection, which has its factor."""
    state_equations(c, w, 0, c.b.load(w, 0), c.constants.load(w, H), c.g.load(w, 0), c.now.load(w, "instant"))


def is_taken_again(c, w):
    """The worlds that evaluate the step again: a law stops something in them, or nothing touches."""
    return (c.bound.velocity_jump if c.bound.repeats else c.bound.parts).load(w, 0) > 0.0


@ti.func
def advance_midpoint(c: ti.template(), w: ti.i32):
    """q+ = q + h (v + g a); the velocities stay those of the start until `end_velocities`.

    Reads:  c.state, c.bound
    Writes: c.state.q, c.bound.{q_start, move, work_kept}, c.forces.account.work
    """
    s = c.state
    h = c.constants.load(w, H)
    g = c.g.load(w, 0)
    copy(c.bound.work_kept, c.forces.account.work, 2, w)
    book_efforts(c, w, h, h)
    for n in range(c.tables.n_tree_dofs):
        d = c.tables.tree_dof.at(n)
        c.bound.move.store(w, d, (s.qd.load(w, d) + s.qdd.load(w, d) * span_at(c, w, c.g, n, g)) * h)
    copy(c.bound.q_start, s.q, c.tables.n_q, w)
    retract(c.tables, c.bound.q_start, s.q, c.bound.move, w, 1.0)


@ti.func
def end_row_forces(c: ti.template(), w: ti.i32):
    """Forces of the rows along the coordinates where the step ends, where the rows have just been measured.

    Reads:  c.{state, bound.system}
    Writes: c.state.f, c.bound.move
    """
    s = c.state
    t = c.tables
    y = c.bound.system
    share_among_links(c, w)
    for i in range(t.n_links):
        s.f.store(w, i, no_force(t.arena.zero()))
    apply_jacobian_transpose(y, s, w, 1.0, True)
    for i in range(t.n_links):
        if t.kind.at(i) == AFFINE:
            force = s.f.load(w, i)
            first = t.link_qd.at(i)
            for d in range(first, first + t.link_n_qd.at(i)):
                c.bound.move.store(w, d, s.S.load(w, d).dot(force))
    for k in range(y.rows.n_rigid):
        pull = y.force.load(w, y.rows.first_rigid + k)
        for side in range(2):
            at = y.rows.vector_d.at(2 * k + side)
            given = vector_at(s.q, w, y.rows.vector_q.at(2 * k + 1 - side)) * pull
            store_vector(c.bound.move, w, at, vector_at(c.bound.move, w, at) + given)


@ti.func
def end_velocities(c: ti.template(), w: ti.i32):
    """Velocities at the end of the step: half of it by each end's gradients, or all by those of the start if it jumps.

    Reads:  c.bound
    Writes: c.state.qd, c.bound.impulse
    """
    t = c.tables
    h = c.constants.load(w, H)
    for n in range(c.bound.system.n_dofs):
        d = t.tree_dof.at(n)
        a = c.bound.system.acceleration.load(w, n)
        found = _without_rest(c, w, n, d, a, c.bound.base.load(w, n) + c.bound.move.load(w, d))
        found = found / t.weight.load(w, d)
        half = where_smooth(c, w, n, (a + found) * 0.5, a)
        c.state.qd.store(w, d, c.state.qd.load(w, d) + half * h)


def _without_rest(c, w, n, d, a, found):
    """A force, of massless vectors one that keeps a: the rest is their impulse (inside kernels).

    Writes: c.bound.impulse
    """
    if not c.has_excess:
        return found
    weight, excess = c.tables.weight.load(w, d), c.tables.excess.load(w, d)
    thin, found = local(excess > 0.0), local(found)
    rest = select(thin, found - a * (weight - excess), found * 0.0)
    c.bound.impulse.store(w, n, where_smooth(c, w, n, rest, rest * 0.0) * (c.constants.load(w, H) * 0.5))
    return select(thin, a * weight, found)


def where_smooth(c, w, i, smooth, other):
    """One number in smooth steps of unknown i, another one in those of impulses (inside kernels)."""
    return select(jump_of(c, w, i) > 0.0, other, smooth) if c.bound.switches else smooth
