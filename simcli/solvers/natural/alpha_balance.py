"""What equations and rows lack in a round of a step of generalized_alpha, and which worlds still lack something.

A round asks for F + G^T lambda - M a1 and phi(q1) (see alpha_steps.py, which adds what is found). Where a step begins, with
`instant` set, it asks for the jump of the accelerations instead. Prescribed motions of joints are hard rows of coordinates,
measured against their motions:

    phi = x(q1) - m(t1) = 0,   G v1 = m'(t1);   at a jump G da = m''(t0) - m'' of the step before

x is the displacement or the turn of the joint, a row as smooth efforts have them, so that an angle counts full turns. Where
velocities are prescribed m(t1) = x(q0) + h m' of the middle of the step (rows/motions.py). The multiplier is the effort.

Called by alpha_steps.py; rows/memory.py says what `c` holds.
"""

from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.quadratic import find_residuals
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.natural.memory import NONE_BEFORE, STALLS
from simcli.solvers.natural.saddle import add_row_forces
from simcli.solvers.rows.motions import target_of_row


@needs.prescribed_rows
@ti.func
def begin_prescribed(c: ti.template(), w: ti.i32):
    """Where the coordinates of prescribed motions are at the start of the step.

    Reads:  c.steps.rows.next_x, which is there
    Writes: c.bound.start, c.steps.rows.residual
    """
    f = c.steps.rows
    _worst = find_residuals(f, f.next_x, w)
    for m in range(c.bound.system.n_prescribed_rows):
        r = c.bound.system.prescribed_row.at(m)
        c.bound.start.store(w, r, f.residual.load(w, r))


@needs.prescribed_rows
@ti.func
def measure_prescribed(c: ti.template(), w: ti.i32):
    """Measure coordinates of prescribed motions against where they shall be at the end of the step.

    Reads:  c.motions, c.bound.start
    Writes: c.steps.rows.residual of these rows
    """
    f = c.steps.rows
    for m in range(c.bound.system.n_prescribed_rows):
        r = c.bound.system.prescribed_row.at(m)
        f.residual.store(w, r, f.residual.load(w, r) - target_of_row(c, w, m))


@needs.prescribed_rows
@ti.func
def prescribed_rate_rhs(c: ti.template(), w: ti.i32):
    """Right-hand side of velocities that motions prescribe, in the projection that ends the step.

    Reads:  c.motions
    Writes: c.steps.load of these rows
    """
    for m in range(c.bound.system.n_prescribed_rows):
        i = c.steps.rows.n + c.bound.system.prescribed_row.at(m)
        rate = c.motions.motion_qd.load(w, c.bound.system.prescribed_dof.at(m))
        c.steps.load.store(w, i, c.steps.load.load(w, i) + rate)


@ti.func
def lag_of_prescribed(c: ti.template(), w: ti.i32):
    """[m/s^2, rad/s^2], the largest change of a prescribed acceleration since the last step ended.

    Reads: c.motions, c.alpha.prescribed
    """
    worst = c.tables.arena.zero()
    for m in range(c.bound.system.n_prescribed_rows):
        change = c.motions.motion_qdd.load(w, c.bound.system.prescribed_dof.at(m)) - c.alpha.prescribed.load(w, m)
        worst = ti.max(worst, ti.abs(change))
    return worst


@needs.prescribed_rows
@ti.func
def keep_prescribed_accelerations(c: ti.template(), w: ti.i32):
    """Note the accelerations that motions prescribe now.

    Reads:  c.motions
    Writes: c.alpha.prescribed
    """
    for m in range(c.bound.system.n_prescribed_rows):
        d = c.bound.system.prescribed_dof.at(m)
        c.alpha.prescribed.store(w, m, c.tables.arena.zero() + c.motions.motion_qdd.load(w, d))


@ti.func
def balance_rhs(c: ti.template(), w: ti.i32):
    """Right-hand side of a Newton step: residuals of F + G^T lambda - M a and of the rows where the step ends.

    At the begin of a step forces alone may lack something, by a jump.

    Reads:  c.steps.{force, worst, rows.gradient}, c.alpha.next_a, c.pushes.pull
    Writes: c.steps.load, c.alpha.{residual, excess}
    """
    f = c.steps.rows
    zero = c.tables.arena.zero()
    h = c.constants.load(w, H)
    span = h * h * c.alpha.share
    begins = c.now.load(w, "instant")
    largest = zero
    for i in range(f.n):
        pull, taken = c.pushes.pull.load(w, i), c.alpha.next_a.load(w, i) * f.inertia.load(w, i)
        c.steps.load.store(w, i, pull - taken)
        largest = ti.max(largest, (ti.abs(pull) + ti.abs(taken)) / f.mass.load(w, i))
    add_row_forces(c, w)
    _find_changes(c, w, begins)
    worst = c.steps.worst.load(w, 0)
    if begins != 0:
        worst = _lag(c, w) * span
    _find_excess(c, w, worst, span, largest)
    not_converged = is_off_balance(c, w)
    for i in range(f.n):
        c.steps.load.store(w, i, select(not_converged, c.steps.load.load(w, i), zero))
    for r in range(f.n_rows):
        asked = select(not_converged, -f.residual.load(w, r) / span, zero) * ti.cast(begins == 0, c.tables.arena.device.real)
        c.steps.load.store(w, f.n + r, asked)
        _change_rhs(c, w, r, begins)
    for n in range(c.pushes.n):
        c.steps.load.store(w, f.n + c.pushes.row.at(n), zero)
    _jump_rhs(c, w, not_converged, begins)


@ti.func
def _find_excess(c: ti.template(), w: ti.i32, worst: ti.template(), span: ti.template(), largest: ti.template()):
    """Compare what rows lack with the tolerance, and what accelerations lack with what is small in a step as long as this.

    Args:
        worst: [m] what rows lack.
        span: [s^2], d q1 / d a1.
        largest: [m/s^2], of what balances.

    A round that leaves more than STALLS of what the one before left has met rounding, of which stiff rows have more.

    Reads:  c.steps.load, c.alpha.residual of the round before
    Writes: c.alpha.{residual, excess}
    """
    f = c.steps.rows
    residual = worst * 0.0
    for i in range(f.n):
        residual = ti.max(residual, ti.abs(c.steps.load.load(w, i) / f.mass.load(w, i)) * span)
    part = c.constants.load(w, H) / c.alpha.coarse
    enough = ti.min(ti.max(part * part * c.steps.tight, largest * span * c.alpha.rounding), c.steps.tight)
    is_first = ti.cast(c.now.load(w, "correction") == 0, c.tables.arena.device.real)
    before = c.alpha.residual.load(w, 0) + is_first * NONE_BEFORE
    enough = select(residual > before * STALLS, worst * 0.0 + c.steps.tight, enough)
    c.alpha.residual.store(w, 0, ti.max(worst, residual))
    c.alpha.excess.store(w, 0, ti.max(worst - c.steps.tight, residual - enough))


def _lag(c, w):
    return lag_of_prescribed(c, w) if c.bound.system.n_prescribed_rows else c.tables.arena.zero()


@needs.prescribed_rows
@ti.func
def _jump_rhs(c: ti.template(), w: ti.i32, not_converged: ti.template(), begins: ti.i32):
    """Where a step begins rows of prescribed motions change their accelerations as these do."""
    if begins != 0:
        for m in range(c.bound.system.n_prescribed_rows):
            i = c.steps.rows.n + c.bound.system.prescribed_row.at(m)
            change = c.motions.motion_qdd.load(w, c.bound.system.prescribed_dof.at(m)) - c.alpha.prescribed.load(w, m)
            c.steps.load.store(w, i, c.steps.load.load(w, i) + select(not_converged, change, change * 0.0))


@needs.prescribed_coordinates
@ti.func
def _change_rhs(c: ti.template(), w: ti.i32, r: ti.i32, begins: ti.i32):
    if begins != 0:
        c.steps.load.store(w, c.steps.rows.n + r, -_change_of_row(c, w, r))


def is_off_balance(c, w):
    """Mask of the worlds that lack more than counts as none, at the begin of a step more than no jump does."""
    zero = c.tables.arena.zero()
    begins = zero + ti.cast(c.now.load(w, "instant"), c.tables.arena.device.real) != 0.0
    jump = c.steps.tight if c.signals.feedback.n else c.bound.jump  # feedback jumps at each sample, however little
    return local(select(begins, c.alpha.residual.load(w, 0) - jump, c.alpha.excess.load(w, 0)) > zero)


@needs.prescribed_coordinates
@ti.func
def _find_changes(c: ti.template(), w: ti.i32, begins: ti.i32):
    """What accelerations of prescribed coordinates lack where a step begins; nothing later.

    Args:
        begins: 1 there.

    Reads:  c.motions, c.alpha.next_a
    Writes: c.steps.load of these
    """
    f = c.steps.rows
    for i in range(f.n):
        if f.moves.at(i) == 0:
            change = c.motions.motion_qdd.load(w, f.qd_at.at(i)) - c.alpha.next_a.load(w, i)
            c.steps.load.store(w, i, change * ti.cast(begins, c.tables.arena.device.real))


@ti.func
def _change_of_row(c: ti.template(), w: ti.i32, r: ti.i32):
    """Acceleration of row r by `_find_changes`.

    Reads: c.steps.{load, rows.gradient}
    """
    f = c.steps.rows
    total = c.tables.arena.zero()
    for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
        i = f.entry_at.at(e)
        if f.moves.at(i) == 0:
            total = total + f.gradient.load(w, e) * c.steps.load.load(w, i)
    return total
