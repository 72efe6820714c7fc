"""Prescribed motions of joints in steps of generalized_alpha: hard rows of coordinates, measured against their motions.

    phi = x(q1) - m(t1) = 0,   G v1 = m'(t1);   at a jump G da = m''(t0) - m'' of the step before

x is the displacement or the turn of the joint, a row as smooth efforts have them, so that an angle counts full turns. Where
velocities are prescribed m(t1) = x(q0) + h m' of the middle of the step (shared/motions.py). The multiplier is the effort.

Called by generalized_alpha.py; rows/memory.py says what `c` holds.
"""

from simcli.kernels.language import ti
from simcli.kernels.rows.quadratic import find_residuals
from simcli.solvers.shared import needs
from simcli.solvers.shared.motions import target_of_row


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
def ask_for_prescribed_rates(c: ti.template(), w: ti.i32):
    """Velocities that motions prescribe, in the projection that ends the step.

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
