"""Stages of steps in natural coordinates of a mechanism whose rows are polynomials: stages.py without poses.

Most mechanisms have smooth forces alone. The rows are flat lists of terms (kernels/rows/quadratic.py), and the one matrix
of a step serves its velocities, its accelerations and its corrections; where springs or efforts act (forces.py) the
accelerations take a second one. The list is in programs.py, with that of generalized_alpha, which shares stages.
"""

from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import precision_of, select
from simcli.kernels.rows.quadratic import (
    bend_gradients,
    bias,
    extend,
    find_rates,
    find_residuals,
    give_state,
    start_gradients,
    take_state,
)
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.natural.forces import (
    add_work,
    idle_coordinates,
    load_coordinates,
    regularize_coordinates,
    response_now,
    store_coordinate_rotor_rates,
)
from simcli.solvers.natural.memory import KEPT_FORCE
from simcli.solvers.natural.saddle import add_row_forces, measure_next, regularize_rows, velocity_rhs


@ti.func
def enter_steps(c: ti.template(), w: ti.i32):
    """What a step expects of the one before.

    Reads:  c.state.{q, qd}
    Writes: c.steps.rows.{x, v, gradient, residual}, c.pushes.pull
    """
    f = c.steps.rows
    take_state(f, c.state, w)
    extend(f, f.x, w, 1.0)
    start_gradients(f, w)
    _worst = find_residuals(f, f.x, w)
    bend_gradients(f, f.x, w)
    load_coordinates(c, w, f.x)


@ti.func
def begin_midpoint(c: ti.template(), w: ti.i32):
    """The system that projects the velocities.

    Reads:  c.steps.rows
    Writes: c.steps.{load, rows}
    """
    extend(c.steps.rows, c.steps.rows.v, w, 0.0)
    regularize_rows(c, w)
    idle_coordinates(c, w)
    velocity_rhs(c, w)


@ti.func
def acceleration_rhs(c: ti.template(), w: ti.i32):
    """Take the velocities v + dv; right-hand side of what accelerations miss that are extrapolated from two steps.

        M a - G^T lambda = F,  phi = 0 where the step ends: phi/h + G (v + g a) + h/2 p^T H p = 0,  g = h/2,  p = v + g a

    Where the rows are curved p has the accelerations that are foreseen, so that hardly a step needs a correction.

    Reads:  c.steps.{solution, acceleration, earlier, rows}, c.pushes.pull
    Writes: c.steps.{acceleration, earlier, force, earlier_force, load, rows.v, rows.rate}, c.forces.account.work
    """
    f = c.steps.rows
    h = c.constants.load(w, H)
    for i in range(f.n):
        v = f.v.load(w, i) + c.steps.solution.load(w, i)
        f.v.store(w, i, v)
        last = c.steps.acceleration.load(w, i)
        foreseen = last * 2.0 - c.steps.earlier.load(w, i)
        c.steps.earlier.store(w, i, last)
        c.steps.acceleration.store(w, i, foreseen)
        f.next_x.store(w, i, v + foreseen * (h * 0.5))
        c.steps.load.store(w, i, c.pushes.pull.load(w, i))
    extend(f, f.v, w, 0.0)
    extend(f, f.next_x, w, 0.0)
    find_rates(f, w)
    for r in range(f.n_rows):
        violation = f.residual.load(w, r) / h + f.rate.load(w, r) + bias(f, f.next_x, w, r) * (h * 0.5)
        c.steps.load.store(w, f.n + r, -violation / (h * 0.5))
    regularize_coordinates(c, w)
    foresee_forces(c, w)
    _add_work_of_start(c, w)


@ti.func
def foresee_forces(c: ti.template(), w: ti.i32):
    """Forces of rows as they go on from the two steps before, and what equations lack with them and with the accelerations.

    A solution that has only this small rest to find is as much nearer: softness takes a part of what is found. Rows that
    are soft by themselves begin from none. Forces of redundant rows, which no solution corrects, die away by KEPT_FORCE.

    Reads:  c.steps.{acceleration, rows}
    Writes: c.steps.{force, earlier_force, load}
    """
    f = c.steps.rows
    kept = ti.static(KEPT_FORCE[precision_of()])
    for i in range(f.n):
        c.steps.load.store(w, i, c.steps.load.load(w, i) - f.mass.load(w, i) * c.steps.acceleration.load(w, i))
    for r in range(f.n_rows):
        last = c.steps.force.load(w, r)
        foreseen = last * 2.0 - c.steps.earlier_force.load(w, r)
        foreseen = select(f.soft.load(w, r) == f.lent.load(w, r), foreseen * kept, c.tables.arena.zero())
        c.steps.earlier_force.store(w, r, last)
        c.steps.force.store(w, r, foreseen)
        violation = c.steps.load.load(w, f.n + r)
        for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
            i = f.entry_at.at(e)
            gradient = f.gradient.load(w, e)
            c.steps.load.store(w, i, c.steps.load.load(w, i) + gradient * foreseen)
            violation = violation - gradient * c.steps.acceleration.load(w, i)
        c.steps.load.store(w, f.n + r, violation)


@needs.power
def _add_work_of_start(c, w):
    note_laws(c, w)
    add_work(c, w)


@needs.power
def _add_work_of_end(c, w):
    find_rates(c.steps.rows, w)
    _add_work_of_start(c, w)


@ti.func
def take_accelerations(c: ti.template(), w: ti.i32):
    """q+ = q + h (v + g a), and the residuals there; a and lambda sum up.

    Writes: c.steps.{acceleration, force, worst, rows.next_x, rows.residual}
    """
    f = c.steps.rows
    h = c.constants.load(w, H)
    for i in range(f.n):
        a = c.steps.acceleration.load(w, i) + c.steps.solution.load(w, i)
        c.steps.acceleration.store(w, i, a)
        f.next_x.store(w, i, f.x.load(w, i) + (f.v.load(w, i) + a * (h * 0.5)) * h)
    for r in range(f.n_rows):
        c.steps.force.store(w, r, c.steps.force.load(w, r) - c.steps.solution.load(w, f.n + r))
    measure_next(c, w)


def rows_not_converged(c, w):
    """The worlds whose rows are not where they shall be."""
    return c.steps.worst.load(w, 0) > c.steps.tight


@ti.func
def row_rhs(c: ti.template(), w: ti.i32):
    """A correction of the accelerations, in worlds whose rows lack something."""
    h = c.constants.load(w, H)
    residual_rhs(c, w, -1.0 / (h * (h * 0.5)))


@ti.func
def position_rhs(c: ti.template(), w: ti.i32):
    """A move of the coordinates alone where a singular position keeps accelerations from it; the rows must be met.

    Writes: c.steps.{load, rows}
    """
    f = c.steps.rows
    for r in range(f.n_rows):
        soft = c.bound.system.scale.load(w, r) * c.bound.system.least + c.tables.arena.zero()
        f.soft.store(w, r, soft)
        f.lent.store(w, r, soft)
    idle_coordinates(c, w)
    bend_gradients(f, f.next_x, w)
    residual_rhs(c, w, -1.0)


@ti.func
def residual_rhs(c: ti.template(), w: ti.i32, factor: ti.template()):
    """Residuals of rows, by a factor, as right-hand side, in worlds where some are not 0.

    Reads:  c.steps.{worst, rows.residual}
    Writes: c.steps.load
    """
    f = c.steps.rows
    zero = c.tables.arena.zero()
    asked = select(c.steps.worst.load(w, 0) > c.steps.tight, zero + factor, zero)
    for i in range(f.n):
        c.steps.load.store(w, i, zero)
    for r in range(f.n_rows):
        c.steps.load.store(w, f.n + r, f.residual.load(w, r) * asked)
    for k in range(c.pushes.n):
        c.steps.load.store(w, f.n + c.pushes.row.at(k), zero)


@ti.func
def move_to_place(c: ti.template(), w: ti.i32):
    """Move the coordinates alone.

    Writes: c.steps.{worst, rows.next_x, rows.residual}
    """
    f = c.steps.rows
    for i in range(f.n):
        f.next_x.store(w, i, f.next_x.load(w, i) + c.steps.solution.load(w, i))
    measure_next(c, w)


@ti.func
def end_midpoint(c: ti.template(), w: ti.i32):
    """Velocities at the end of the step, v+ = v + h/2 (a + M^-1 (F + G+^T lambda)), and the state.

    Writes: c.steps.rows.{x, v, gradient}, c.state.{q, qd}
    """
    f = c.steps.rows
    h = c.constants.load(w, H)
    store_coordinate_rotor_rates(c, w)
    bend_gradients(f, f.next_x, w)
    copy(f.x, f.next_x, f.n + f.n_forms, w)
    for i in range(f.n):
        f.v.store(w, i, f.v.load(w, i) + c.steps.acceleration.load(w, i) * h)
    _add_work_of_end(c, w)
    copy(c.steps.load, c.pushes.pull, f.n, w)
    add_row_forces(c, w)
    for i in range(f.n):
        change = c.steps.load.load(w, i) / f.mass.load(w, i) - c.steps.acceleration.load(w, i)
        f.v.store(w, i, f.v.load(w, i) + change * (h * 0.5))
    give_state(f, c.state, w)


@needs.soft_laws
@ti.func
def note_laws(c: ti.template(), w: ti.i32):
    """Efforts of the laws at the present coordinates and rates, for their powers.

    Writes: c.bound.system.laws
    """
    for k in range(c.pushes.n):
        if c.pushes.law.at(k) >= 0:
            _law, _taken, _acts, _inertia = response_now(c, w, k)
