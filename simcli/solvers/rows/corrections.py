"""Corrections of positions and velocities toward the rows: what is asked for, and the move along the answer.

Stages of trees, free bodies and natural coordinates, and what they call; rows/memory.py says what `c` holds.
"""

from simcli.kernels.articulation.retraction import retract
from simcli.kernels.device.arena import local
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.device.sparse_factors import get_unknown, put_unknown
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.bounded_laws import FREE
from simcli.solvers.base import needs
from simcli.solvers.base.gyroscopic_torques import find_worst_turn, load_turns
from simcli.solvers.base.integrators import H
from simcli.solvers.rows.islands import island_of


def is_rigid(y, w, r):
    """True for rows whose e is softness, of this step or the least, and not what laws give of it.

    Reads: y.soft
    """
    soft, scale = local(y.soft.load(w, r)), local(y.scale.load(w, r))
    return (soft == y.softness.load(w, r) * scale) | (soft == y.least * scale)


@ti.func
def shift_multiplier(y: ti.template(), w: ti.i32, r: ti.i32):
    """Take the softness of a rigid row away again: center it at the multiplier that the last solution found.

        J qdd - e (mu - mu_0) = rho

    Reads:  y.{soft, multiplier}
    Writes: y.{load, centre} of row r
    """
    i = y.n_dofs + r
    rigid = is_rigid(y, w, r)
    mu = y.multiplier.load(w, r)
    moved = y.load.load(w, i) - y.soft.load(w, r) * (mu - y.centre.load(w, r))
    y.load.store(w, i, select(rigid, moved, y.load.load(w, i)))
    y.centre.store(w, r, mu)


@ti.func
def correction_rhs(c: ti.template(), w: ti.i32):
    """Right-hand side of a correction: violations of the rows. Worlds without any are left exactly as they are.

    Steps of one evaluation are corrected where they end: rows are asked for -phi / h g of acceleration. The others project
    positions, asked for -phi, then with `rates` set velocities, asked for -J qd and the speed of a lock.

    Reads:  c.{bound, now, g}
    Writes: c.bound.{worst, system.{load, goal, centre}}
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    find_violations(c, w, c.now.load(w, "rates"))
    if c.now.load(w, "rates") == 0:
        find_worst(c, w)
    acts = select(needs_correction(c, w), zero - 1.0, zero)
    for r in range(y.n_rows):
        y.load.store(w, y.n_dofs + r, y.load.load(w, y.n_dofs + r) * _factor_of_correction(c, w, y.n_dofs + r, acts))
        y.goal.store(w, y.n_dofs + r, zero)
        y.centre.store(w, r, zero)
    for n in range(y.n_dofs):
        y.load.store(w, n, zero)
        y.goal.store(w, n, zero)
    _excess_rhs(c, w, acts)
    load_turns(c, w, acts != 0.0)


def _factor_of_correction(c, w, i, acts):
    """[1/s^2], from a lack of row i to the acceleration that takes it away; 1 where steps project (inside kernels)."""
    return acts / (c.constants.load(w, H) * c.g.load(w, island_of(c, i)) if c.stages == 1 else 1.0)


@needs.excess
@ti.func
def _excess_rhs(c: ti.template(), w: ti.i32, acts: ti.template()):
    for n in range(c.bound.system.n_dofs):
        c.bound.system.load.store(w, n, select(acts == 0.0, c.tables.arena.zero(), c.bound.excess.load(w, n)))


@ti.func
def find_violations(c: ti.template(), w: ti.i32, k: ti.i32):
    """What the rows lack, in positions or for k = 1 in velocities: hard rows that do not yield, and laws that are locked.

    Reads:  c.bound.system
    Writes: c.bound.system.load of the rows
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    for r in range(y.n_rows):
        violation = zero
        if y.is_hard.at(r) != 0:
            violation = y.rows.residual.load(w, r)
            if k == 1:
                violation = y.rows.rate.load(w, r)
            violation = _of_slip(c, w, r, violation)
            violation = select(zero + y.compliance.load(w, r) > 0.0, zero, violation)
        y.load.store(w, y.n_dofs + r, violation)
    _find_violations_of_laws(c, w, k)


def _of_slip(c, w, r, violation):
    """What a row lacks, of a velocity that no coordinate tells its way in a step of one evaluation (inside kernels)."""
    y = c.bound.system
    if not (y.rows.wheels.has_slips and c.stages == 1):
        return violation
    is_slip = (c.tables.arena.zero() + y.rows.wheels.is_slip.at(r)) != 0.0
    return select(is_slip, y.rows.rate.load(w, r) * c.constants.load(w, H), violation)


@needs.corrected_laws
@ti.func
def _find_violations_of_laws(c: ti.template(), w: ti.i32, k: ti.i32):
    y = c.bound.system
    for n in range(y.laws.n):
        i = y.laws.unknown.at(n)
        if i >= y.n_dofs:
            violation = _violation_of_law(c, w, n, i - y.n_dofs)
            if k == 1:
                violation = y.rows.rate.load(w, i - y.n_dofs) - y.laws.speed.load(w, n)
            y.load.store(w, i, select(y.laws.lock.load(w, n) != FREE, violation, c.tables.arena.zero()))


def _violation_of_law(c, w, n, r):
    """What law n on row r lacks of where its lock is; a velocity of a ball has no coordinate (inside kernels)."""
    y = c.bound.system
    violation = y.rows.residual.load(w, r) - y.laws.target.load(w, n)
    zero = c.tables.arena.zero()
    return select(zero + y.laws.is_roll.at(n) != 0.0, zero, violation) if y.laws.has_roll else violation


@ti.func
def find_worst(c: ti.template(), w: ti.i32):
    """The largest lack of a row that acts; in natural coordinates also of what bodies without inertia were lent.

    Reads:  c.bound.{system.{load, free}, excess}
    Writes: c.bound.worst
    """
    y = c.bound.system
    zero = c.tables.arena.zero()
    worst = zero
    for r in range(y.n_rows):
        acts = y.free.load(w, y.n_dofs + r) != 0.0
        worst = ti.max(worst, select(acts, ti.abs(y.load.load(w, y.n_dofs + r)), zero))
    c.bound.worst.store(w, 0, worst)
    _find_worst_excess(c, w)
    find_worst_turn(c, w)


@needs.excess
@ti.func
def _find_worst_excess(c: ti.template(), w: ti.i32):
    h = c.constants.load(w, H)
    worst = c.bound.worst.load(w, 0)
    for n in range(c.bound.system.n_dofs):
        violation = c.bound.excess.load(w, n) / c.tables.weight.load(w, c.tables.tree_dof.at(n))
        worst = ti.max(worst, ti.abs(violation) * h * c.g.load(w, island_of(c, n)))
    c.bound.worst.store(w, 0, worst)


def needs_correction(c, w):
    """Mask of the worlds that a correction moves: with a residual; where steps project, all of them in the first one.

    What a step leaves below `tight` matters near a singular position, where a residual c is a displacement of c over the
    distance from it. That first correction costs nothing, for the velocities need its factor anyway.

    Reads: c.{bound.worst, now}
    """
    worst = local(c.bound.worst.load(w, 0))
    wanted = worst > c.bound.tight
    if c.stages > 1:
        is_first = c.tables.arena.zero() + ti.cast(c.now.load(w, "correction") == 0, c.tables.arena.device.real) != 0.0
        wanted = wanted | (is_first & (worst >= 0.0))
    return local(wanted)


@ti.func
def correct(c: ti.template(), w: ti.i32):
    """Move along the correction that was found.

    Reads:  c.bound.system.factor
    Writes: c.state.{q, qd, qdd}, c.bound.system.{acceleration, force}
    """
    y = c.bound.system
    t = c.tables
    s = c.state
    _take_filtered(c, w)
    for n in range(y.n_dofs):
        c.bound.move.store(w, t.tree_dof.at(n), get_unknown(y.factor, w, n))
    correct_accelerations(c, w)
    if c.now.load(w, "rates") == 1:
        for n in range(y.n_dofs):
            d = t.tree_dof.at(n)
            s.qd.store(w, d, s.qd.load(w, d) + c.bound.move.load(w, d))
        note_rates(c, w)
    else:
        correct_coordinates(c, w)


@needs.noted_rates
@ti.func
def note_rates(c: ti.template(), w: ti.i32):
    """Add a correction of velocities, over the step, to the forces and accelerations of those of this step.

    After a step of impulses velocities are not along the directions of rows where it ends; the next step turns them.

    Reads:  c.bound.{system, move}
    Writes: c.bound.projected
    """
    y, kept = c.bound.system, c.bound.projected
    h = c.constants.load(w, H)
    for r in range(y.n_rows):
        x = get_unknown(y.factor, w, y.n_dofs + r) / h
        kept.store(w, r, kept.load(w, r) - select(y.free.load(w, y.n_dofs + r) == 0.0, x * 0.0, x))
    for n in range(y.n_dofs):
        kept.store(w, y.n_rows + n, kept.load(w, y.n_rows + n) + c.bound.move.load(w, c.tables.tree_dof.at(n)) / h)


@ti.func
def forget_rates(c: ti.template(), w: ti.i32):
    """No correction of velocities was made in this step.

    Writes: c.bound.projected
    """
    for i in range(c.bound.system.n_rows + c.bound.system.n_dofs):
        c.bound.projected.store(w, i, c.tables.arena.zero())


@ti.func
def have_rates(c: ti.template(), w: ti.i32):
    """Have the forces and accelerations of these corrections, too.

    Reads:  c.bound.projected
    Writes: c.bound.{instant, system.force}, c.state.qdd
    """
    y, added, kept = c.bound.system, c.bound.projected, c.bound.instant
    for r in range(y.n_rows):
        kept.store(w, r, y.force.load(w, r))
        y.force.store(w, r, added.load(w, r) + y.force.load(w, r))
    for n in range(y.n_dofs):
        d = c.tables.tree_dof.at(n)
        kept.store(w, y.n_rows + n, c.state.qdd.load(w, d))
        c.state.qdd.store(w, d, added.load(w, y.n_rows + n) + c.state.qdd.load(w, d))


@ti.func
def leave_rates(c: ti.template(), w: ti.i32):
    """Have those of the instant again.

    Reads:  c.bound.instant
    Writes: c.bound.system.force, c.state.qdd
    """
    y, kept = c.bound.system, c.bound.instant
    for r in range(y.n_rows):
        y.force.store(w, r, kept.load(w, r))
    for n in range(y.n_dofs):
        c.state.qdd.store(w, c.tables.tree_dof.at(n), kept.load(w, y.n_rows + n))


@needs.natural
@ti.func
def _take_filtered(c: ti.template(), w: ti.i32):
    """Two solutions as one, see stages.py."""
    x = c.bound.system.factor
    for i in range(c.bound.system.n):
        put_unknown(x, w, i, c.bound.first.load(w, i) * 2.0 - get_unknown(x, w, i))


@needs.one_node
@ti.func
def correct_accelerations(c: ti.template(), w: ti.i32):
    """Add a correction to the accelerations of the step; its move is what the new velocities give.

    Reads:  c.{bound.{system, move}, g}
    Writes: c.state.{qd, qdd}, c.bound.{move, excess, system.{acceleration, force, laws.effort}}
    """
    y = c.bound.system
    s = c.state
    for n in range(y.n_dofs):
        d = c.tables.tree_dof.at(n)
        x = c.bound.move.load(w, d)
        y.acceleration.store(w, n, y.acceleration.load(w, n) + x)
        _keep_excess(c, w, n, d, x)
        s.qdd.store(w, d, s.qdd.load(w, d) + x)
        _find_move(c, w, n, d, x)
    _correct_forces(c, w)


@needs.excess
def _keep_excess(c, w, n, d, x):
    c.bound.excess.store(w, n, x * c.tables.excess.load(w, d))


def _find_move(c, w, n, d, x):
    """What dof d, unknown n, moves in the step, after its acceleration has grown by x (inside kernels)."""
    s, h = c.state, c.constants.load(w, H)
    if c.is_natural:
        c.bound.move.store(w, d, (s.qd.load(w, d) + s.qdd.load(w, d) * c.g.load(w, island_of(c, n))) * h)
    else:
        s.qd.store(w, d, s.qd.load(w, d) + x * h)
        c.bound.move.store(w, d, s.qd.load(w, d) * h)


@ti.func
def _correct_forces(c: ti.template(), w: ti.i32):
    y = c.bound.system
    for r in range(y.n_rows):
        x = get_unknown(y.factor, w, y.n_dofs + r)
        x = select(y.free.load(w, y.n_dofs + r) == 0.0, x * 0.0, x)
        y.force.store(w, r, y.force.load(w, r) - x)
    correct_laws(c, w)


@needs.laws
@ti.func
def correct_laws(c: ti.template(), w: ti.i32):
    """Efforts of laws on rows are the forces of these.

    Writes: c.bound.system.laws.effort
    """
    y = c.bound.system
    for k in range(y.laws.n):
        i = y.laws.unknown.at(k)
        if i >= y.n_dofs:
            y.laws.effort.store(w, k, y.force.load(w, i - y.n_dofs))


@ti.func
def correct_coordinates(c: ti.template(), w: ti.i32):
    """Move the coordinates: from where a step of one evaluation began, else from where they are.

    Reads:  c.bound.move
    Writes: c.state.q, c.bound.{q_kept, q_start}
    """
    s = c.state
    copy(c.bound.q_kept, s.q, c.tables.n_q, w)
    _begin_here(c, w)
    retract(c.tables, c.bound.q_start, s.q, c.bound.move, w, 1.0)
    moves = needs_correction(c, w)
    for i in range(c.tables.n_q):  # a world that lacks nothing keeps its bits: to normalise again may change the last one
        s.q.store(w, i, select(moves, s.q.load(w, i), c.bound.q_kept.load(w, i)))


@needs.many_nodes
@ti.func
def _begin_here(c: ti.template(), w: ti.i32):
    copy(c.bound.q_start, c.state.q, c.tables.n_q, w)
