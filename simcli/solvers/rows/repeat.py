"""Steps of rk4 and implicit in which a law stops a coordinate, or the rate of a prescribed motion jumps: taken again, as one
first-order step.

A lock at rest, or one that keeps a speed, is smooth: the stages take it as they take rows. So is one that held this speed
already when the last step ended: what its rate lacks of it is the error of that step, which turns rows and chords of arcs
leave. One that changes a speed is an impact, the end of sliding, or the arrival at a velocity limit. No polynomial in time
follows that, and stages that try lose momentum. A world where any stage meets such a lock goes back to the start of the
step and takes the step of semi_implicit, whose impulses are those of the mass matrix; the other worlds keep what the
stages found, and so do islands of it that no lock stops (islands.py). Where the rate of a motion jumps, that step passes its
impulse on, which stages that see accelerations cannot.
"""

from simcli.kernels.articulation.retraction import retract
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.forces.account import effort_power
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.numbers import number
from simcli.kernels.rows.bounded_laws import FREE, STUCK
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H, add_accelerations
from simcli.solvers.rows.islands import forget_islands, island_of, island_of_dof, jump_of, jumps_of


def meets_end(c, w):
    """Whether the rows of the present evaluation are met where its step ends, 1 or 0 (inside kernels).

    So in steps of one evaluation, and in those of impulses that are taken again; other rows hold at the instant.
    """
    if c.stages == 1:
        return 1
    return ti.cast(c.now.load(w, "node") == c.stages, ti.i32) if c.by_impulses else 0


@needs.laws
@ti.func
def note_jumps(c: ti.template(), w: ti.i32, stage: ti.i32, h: ti.template(), instant: ti.i32):
    """Note the worlds where a lock changes a speed in this stage, and where locked coordinates shall be after the step.

    Args:
        instant: 1 for the evaluation that a frame shows, which ends no step.

    Reads:  c.bound.system.laws
    Writes: c.bound.velocity_jump, c.bound.system.laws.{base, target, held, ended}
    """
    y = c.bound.system
    _begin_noting(c, w, stage)
    jumps = c.bound.velocity_jump.load(w, 0)
    for n in range(y.laws.n):
        may = chooses(c, w, stage, y.laws.unknown.at(n))
        locked = y.laws.lock.load(w, n) != FREE
        x = y.laws.coordinate.load(w, n)
        speed = y.laws.speed.load(w, n)
        if stage % c.stages == 0:
            y.laws.base.store(w, n, select(may, x, y.laws.base.load(w, n)))
        at_bound = (speed >= y.laws.rate_upper.load(w, n)) | (speed <= y.laws.rate_lower.load(w, n))
        keeps = (y.laws.lock.load(w, n) == STUCK) | at_bound
        start = select(keeps, y.laws.base.load(w, n), x)
        y.laws.target.store(w, n, select(may, start + speed * h, y.laws.target.load(w, n)))
        hold_speed(c, w, n, stage, may, instant)
        change = _change_of_speed(c, w, n, speed, h)
        stops = locked & (change > c.bound.jump)
        _note_island(c, w, stage, y.laws.unknown.at(n), stops)
        jumps = select(stops, jumps * 0.0 + 1.0, jumps)
    _end_noting(c, w, stage, jumps)


def chooses(c, w, stage, i=None):
    """Mask of the worlds that an evaluation is for: all; where a step is taken again those that jump (inside kernels).

    Args:
        i: unknown whose island is asked for; None for any.
    """
    return _jumps_or_first(c, w, stage, i) if c.bound.repeats else c.tables.arena.zero() == 0.0


@ti.func
def _jumps_or_first(c: ti.template(), w: ti.i32, stage: ti.i32, i: ti.template()):
    may = c.tables.arena.zero() == 0.0
    if stage == c.stages:
        may = _jump_at(c, w, i) > 0.0
    return may


def _jump_at(c, w, i):
    return c.bound.velocity_jump.load(w, 0) if i is None else jump_of(c, w, i)


@needs.repeats
@ti.func
def _begin_noting(c: ti.template(), w: ti.i32, stage: ti.i32):
    if stage == 0:
        c.bound.velocity_jump.store(w, 0, c.tables.arena.zero())
        forget_islands(c, w)


@needs.repeats
@needs.islands
@ti.func
def _note_island(c: ti.template(), w: ti.i32, stage: ti.i32, i: ti.i32, stops: ti.template()):
    """The island of unknown i jumps where a lock stops it."""
    if stage < c.stages:
        k = island_of(c, i)
        before = c.bound.jumps.load(w, k)
        c.bound.jumps.store(w, k, select(stops, before * 0.0 + 1.0, before))


@needs.repeats
@ti.func
def _end_noting(c: ti.template(), w: ti.i32, stage: ti.i32, jumps: ti.template()):
    if stage < c.stages:
        c.bound.velocity_jump.store(w, 0, jumps)


def _change_of_speed(c, w, n, speed, h):
    """[m, rad], by which the lock of law n at a speed changes a way, none at that of the last step (inside kernels)."""
    laws = c.bound.system.laws
    change = ti.abs(speed - laws.rate.load(w, n)) * h
    if not c.bound.repeats:
        return change
    keeps_speed = ti.abs(speed - laws.held.load(w, n)) * h <= number(c.bound, "jump")
    return select(keeps_speed, c.tables.arena.zero(), change)


@needs.repeats
@ti.func
def hold_speed(c: ti.template(), w: ti.i32, n: ti.i32, stage: ti.i32, may: ti.template(), instant: ti.i32):
    """Note the speed at which law n is locked, infinite if it is free, and the one at the end of the last step.

    Reads:  c.bound.system.laws.{lock, speed}
    Writes: c.bound.system.laws.{held, ended}
    """
    laws = c.bound.system.laws
    if instant == 0:
        ended = laws.ended.load(w, n)
        if stage == 0:
            laws.held.store(w, n, ended)
        speed = laws.speed.load(w, n)
        speed = select(laws.lock.load(w, n) == FREE, speed * 0.0 + ti.math.inf, speed)
        laws.ended.store(w, n, select(may, speed, ended))


@needs.watched_motions
@ti.func
def note_motions(c: ti.template(), w: ti.i32):
    """Note the worlds where the rate of a prescribed motion jumps at the start of this step, or in it.

    At the start, the rate is not the one that the last step ended with. In the step, a rate that stays as it is between its
    jumps is another one than at the start.

    Reads:  c.motions, c.state.qd, c.bound.system.rows.rate
    Writes: c.bound.{velocity_jump, even_rate}
    """
    stage = c.now.load(w, "node")
    if c.now.load(w, "instant") == 0 and stage < c.stages:
        y = c.bound.system
        jumps = _noted(c, w, stage)
        if stage == 0:
            _begin_islands(c, w)
        for m in range(c.motions.n_locks):
            d = c.motions.lock_dof.at(m)
            gains = c.motions.motion_qd.load(w, d) - c.state.qd.load(w, d)
            found = _jump_of_motion(c, w, d, m, stage, gains, True)
            _note_island_of(c, w, d, found)
            jumps = ti.max(jumps, found)
        for m in range(y.n_prescribed_rows):
            violation = y.rows.rate.load(w, y.prescribed_row.at(m))
            d = y.prescribed_dof.at(m)
            found = _jump_of_motion(c, w, d, c.motions.n_locks + m, stage, violation, False)
            _note_island_of(c, w, d, found)
            jumps = ti.max(jumps, found)
        c.bound.velocity_jump.store(w, 0, jumps)


def _noted(c, w, stage):
    """What laws have noted in this step (inside kernels)."""
    noted = c.bound.velocity_jump.load(w, 0)
    return noted if c.bound.system.laws.n else select(stage == 0, c.tables.arena.zero(), noted)


@needs.islands
def _begin_islands(c, w):
    if not c.bound.system.laws.n:
        forget_islands(c, w)


@needs.islands
def _note_island_of(c, w, d, jumps):
    k = island_of_dof(c, d)
    c.bound.jumps.store(w, k, ti.max(c.bound.jumps.load(w, k), jumps))


@ti.func
def _jump_of_motion(
    c: ti.template(), w: ti.i32, d: ti.i32, k: ti.i32, stage: ti.i32, gains: ti.template(), is_locked: ti.template()
):
    """1 where the rate of the k-th prescribed dof, d, jumps, else 0.

    Args:
        gains: of its rate over what it was, at the start of the step.
        is_locked: whether the last step ended with the rate of the motion itself, not with that of a row.

    Writes: c.bound.even_rate
    """
    rate = _rate_of_motion(c, w, d)
    change = rate - c.bound.even_rate.load(w, k)
    bound = ti.abs(rate) * number(c.bound, "same_rate")
    watched = c.motions.is_even.at(d)
    if stage == 0:
        c.bound.even_rate.store(w, k, rate)
        change = gains + c.tables.arena.zero()
        if watched == 0 or c.motions.turns.at(d) != 0 or ti.static(not is_locked):
            bound = bound * 0.0 + number(c.bound, "jump") / c.constants.load(w, H)
        watched = 1
    jumps = ti.cast(watched, c.tables.arena.device.real) + c.tables.arena.zero()
    return select(ti.abs(change) > bound, jumps, c.tables.arena.zero())


def _rate_of_motion(c, w, d):
    """Rate of a prescribed dof; of a ball by position, that of its rotation vector (inside kernels)."""
    return _rate_of_vector(c, w, d) if c.motions.n_balls else c.motions.motion_qd.load(w, d) + c.tables.arena.zero()


@ti.func
def _rate_of_vector(c: ti.template(), w: ti.i32, d: ti.i32):
    rate = c.motions.motion_qd.load(w, d) + c.tables.arena.zero()
    if c.motions.turns.at(d) != 0:
        rate = c.motions.turn_rate.load(w, d) + c.tables.arena.zero()
    return rate


def foreseen(c, w, k):
    """1 where forces on island k expect what the velocity does in the step, 0 in natural steps of impulses with contact.

    The velocity of these is that of half a step before (natural/programs.py). Inside kernels.
    """
    if c.is_natural and c.bound.switches and not c.bound.repeats:
        return 1.0 - jumps_of(c).load(w, k)
    return c.tables.arena.zero() + 1.0


@ti.func
def go_back(c: ti.template(), w: ti.i32):
    """Go to where the step began; the list takes this, and what follows, for the worlds that jump alone.

    Reads:  c.{q_base, qd_base}
    Writes: c.state.{q, qd}
    """
    copy(c.state.q, c.q_base, c.tables.n_q, w)
    copy(c.state.qd, c.qd_base, c.tables.n_qd, w)


@ti.func
def start_with_end(c: ti.template(), w: ti.i32):
    """Go back to the coordinates where the step began, with the velocities of its end.

    A jump of a rate is at the start of the step, so that what depends on velocities is found with those after it. With those
    before it the step would err by its whole length times that change.

    Reads:  c.q_base
    Writes: c.state.q
    """
    copy(c.state.q, c.q_base, c.tables.n_q, w)


@ti.func
def give_rates_back(c: ti.template(), w: ti.i32):
    """Velocities where the step began, which joint efforts are implicit from; links keep those of the end.

    Reads:  c.qd_base
    Writes: c.state.qd
    """
    copy(c.state.qd, c.qd_base, c.tables.n_qd, w)


@needs.laws
@ti.func
def set_locked_speeds(c: ti.template(), w: ti.i32):
    """Give locked dofs their velocities exactly, after qd + h qdd.

    Reads:  c.bound.system.laws
    Writes: c.state.qd
    """
    y = c.bound.system
    for n in range(y.laws.n):
        if y.laws.unknown.at(n) < y.n_dofs:
            d = y.laws.dof.at(n)
            locked = y.laws.lock.load(w, n) != FREE
            c.state.qd.store(w, d, select(locked, y.laws.speed.load(w, n), c.state.qd.load(w, d)))


@ti.func
def advance_again(c: ti.template(), w: ti.i32):
    """A first-order step; locked dofs are at the speeds of their locks.

    Reads:  c.state, c.bound
    Writes: c.state.{q, qd}, c.bound.q_start, c.forces.account.work
    """
    h = c.constants.load(w, H)
    s = c.state
    effort_power(c.tables, c.forces, s, w, h)
    go_back_in_account(c, w)
    c.forces.account.book_power(w, h)
    add_accelerations(c, w, h)
    set_locked_speeds(c, w)
    copy(c.bound.q_start, s.q, c.tables.n_q, w)
    retract(c.tables, c.bound.q_start, s.q, s.qd, w, h)


def go_back_in_account(c, w):
    """The work that was done before the step which is taken again (inside kernels).

    Reads:  c.bound.work_kept
    Writes: c.forces.account.work, c.bound.opens
    """
    for k in range(2):
        c.forces.account.work.store(w, k, c.bound.work_kept.load(w, k))
    c.bound.opens.store(w, 0, c.tables.arena.zero() + 1.0)


def keep_account(c, w):
    """Remember the work done before this step, after its first node has been used (inside kernels).

    A trapezoidal account (output/energy_balance.py) ends here, in case that the step is taken again, and one that ended
    opens.

    Reads:  c.forces, c.bound.opens
    Writes: c.bound.{work_kept, opens}, c.forces.account.start
    """
    of_node = c.integrator == "rk4"
    if not of_node:
        open_again(c, w)
        c.bound.opens.store(w, 0, c.tables.arena.zero())
    account, h = c.forces.account, c.constants.load(w, H)
    for k in range(2):
        added = account.power.load(w, k) * h
        added = added * c.weights.load(w, 0) if of_node else (added + account.start.load(w, k) * h) * 0.5
        c.bound.work_kept.store(w, k, account.work.load(w, k) - added)


@needs.constraints
@ti.func
def open_again(c: ti.template(), w: ti.i32):
    """Start the account of worlds whose last step was taken again with the power that was just found.

    Reads:  c.forces.account.power, c.bound.opens
    Writes: c.forces.account.start
    """
    c.forces.account.begin_stretch_where(w, c.bound.opens.load(w, 0) > 0.0)
