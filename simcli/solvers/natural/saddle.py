"""The saddle point of a step without poses: softness of rows, right-hand sides and solutions.

Shared by the steps of quadratic.py and of generalized_alpha. The matrix is that of kernels/rows/saddle.py; c.steps.load has
the right-hand side, of the coordinates first, then of the rows, and c.steps.solution what solves it.
"""

from simcli.kernels.language import ti
from simcli.kernels.linear.sparse import get_unknown, put_unknown, substitute
from simcli.kernels.rows.quadratic import bias, extend, find_rates, find_residuals
from simcli.kernels.rows.saddle import factorize_saddle
from simcli.solvers.natural.forces import demand_paces
from simcli.solvers.natural.stages import regularize


@ti.func
def regularize_rows(c: ti.template(), w: ti.i32):
    """Softness of the rows in this step, see `regularize`.

    Reads:  c.steps.rows.v
    Writes: c.bound.system.softness, c.steps.rows.{soft, lent}
    """
    f = c.steps.rows
    fastest = c.tables.arena.zero()
    for k in range(c.bound.n_turning):
        fastest = ti.max(fastest, ti.abs(bias(f, f.v, w, c.bound.turning.at(k))) * c.bound.turn_weight.load(w, k))
    regularize(c, w, fastest, fastest)
    spread_softness(c, w)


@ti.func
def spread_softness(c: ti.template(), w: ti.i32):
    """Give all rows the softness of this step.

    Writes: c.steps.rows.{soft, lent}
    """
    f = c.steps.rows
    softness = c.bound.system.softness.load(w, 0)
    for r in range(f.n_rows):
        soft = softness * c.bound.system.scale.load(w, r)
        f.soft.store(w, r, soft)
        f.lent.store(w, r, soft)


@ti.func
def factorize_rows(c: ti.template(), w: ti.i32):
    """The factor of the saddle point at the present gradients and softness."""
    factorize_saddle(c.steps.rows, w)


@ti.func
def solve_saddle(c: ti.template(), w: ti.i32):
    """Solve for the right-hand side in c.steps.load: x1.

    Writes: c.steps.solution
    """
    x = c.steps.rows.factor
    for i in range(x.n):
        put_unknown(x, w, i, c.steps.load.load(w, i))
    substitute(x, w)
    for i in range(x.n):
        c.steps.solution.store(w, i, get_unknown(x, w, i))


@ti.func
def filter_solution(c: ti.template(), w: ti.i32):
    """2 x1 - x2, where x2 is centred at the multipliers of x1.

        G a - e (mu - mu_1) = rho

    With s an eigenvalue of G M^-1 G^T its part of rho is s / (s + e)^2: nothing where rows are redundant. What forces
    give of e stays, for that is no softness. Velocities, whose multipliers nobody sees, do without: theirs is 1 / (s + e),
    which where s = e corrects a half instead of a quarter.

    Reads:  c.steps.load
    Writes: c.steps.solution
    """
    f = c.steps.rows
    x = f.factor
    for i in range(f.n):
        put_unknown(x, w, i, c.steps.load.load(w, i))
    for r in range(f.n_rows):
        i = f.n + r
        put_unknown(x, w, i, c.steps.load.load(w, i) - f.lent.load(w, r) * c.steps.solution.load(w, i))
    substitute(x, w)
    for i in range(x.n):
        c.steps.solution.store(w, i, c.steps.solution.load(w, i) * 2.0 - get_unknown(x, w, i))


@ti.func
def ask_for_velocities(c: ti.template(), w: ti.i32):
    """G dv = -G v with the least kinetic energy.

    Writes: c.steps.{load, rows.rate}
    """
    f = c.steps.rows
    find_rates(f, w)
    for i in range(f.n):
        c.steps.load.store(w, i, c.tables.arena.zero())
    for r in range(f.n_rows):
        c.steps.load.store(w, f.n + r, -f.rate.load(w, r))
    demand_paces(c, w)


@ti.func
def add_row_forces(c: ti.template(), w: ti.i32):
    """Add G^T lambda at the present gradients.

    Writes: c.steps.load of the coordinates
    """
    f = c.steps.rows
    for r in range(f.n_rows):
        force = c.steps.force.load(w, r)
        for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
            i = f.entry_at.at(e)
            c.steps.load.store(w, i, c.steps.load.load(w, i) + f.gradient.load(w, e) * force)


@ti.func
def measure_next(c: ti.template(), w: ti.i32):
    """Residuals of the rows where the step is to end, and the largest of the hard rows.

    Reads:  c.steps.rows.next_x of the coordinates
    Writes: c.steps.{worst, rows.next_x of the forms, rows.residual}
    """
    f = c.steps.rows
    extend(f, f.next_x, w, 1.0)
    c.steps.worst.store(w, 0, find_residuals(f, f.next_x, w))
