"""The saddle point of a step without poses, and stages that take away what weights have too much.

Softness of rows, right-hand sides and solutions are shared by the steps of quadratic.py and of generalized_alpha. The matrix
is that of kernels/rows/saddle.py; c.steps.load has the right-hand side, of the coordinates first, then of the rows, and
c.steps.solution what solves it.

Flat bodies and thin rods have no mass along some vectors. The weights that are inverted have a little there, W = M + D; what
D does is taken away by the solutions that follow: W a' = F + D a + A^T lambda'.
"""

from simcli.kernels.device.sparse_factors import get_unknown, put_unknown, substitute
from simcli.kernels.language import ti
from simcli.kernels.rows.quadratic import bias, extend, find_rates, find_residuals
from simcli.kernels.rows.saddle import factorize_saddle
from simcli.solvers.natural.forces import rotor_rate_rhs
from simcli.solvers.natural.stages import begin_turns, note_turn, regularize


@ti.func
def regularize_rows(c: ti.template(), w: ti.i32):
    """Softness of the rows in this step, see `regularize`.

    Reads:  c.steps.rows.v
    Writes: c.bound.system.softness, c.steps.rows.{soft, lent}
    """
    f = c.steps.rows
    turned = c.tables.arena.zero()
    begin_turns(c, w)
    for k in range(c.bound.n_turning):
        square = ti.abs(bias(f, f.v, w, c.bound.turning.at(k))) * c.bound.turn_weight.load(w, k)
        note_turn(c, w, k, square)
        turned = ti.max(turned, square)
    regularize(c, w, turned)
    spread_softness(c, w)


@ti.func
def spread_softness(c: ti.template(), w: ti.i32):
    """Give all rows the softness of this step.

    Writes: c.steps.rows.{soft, lent}
    """
    f = c.steps.rows
    for r in range(f.n_rows):
        soft = c.bound.system.softness.load(w, r) * c.bound.system.scale.load(w, r)
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
def velocity_rhs(c: ti.template(), w: ti.i32):
    """G dv = -G v with the least kinetic energy.

    Writes: c.steps.{load, rows.rate}
    """
    f = c.steps.rows
    find_rates(f, w)
    for i in range(f.n):
        c.steps.load.store(w, i, c.tables.arena.zero())
    for r in range(f.n_rows):
        c.steps.load.store(w, f.n + r, -f.rate.load(w, r))
    rotor_rate_rhs(c, w)


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


@ti.func
def velocity_excess_rhs(c: ti.template(), w: ti.i32):
    """Right-hand side of a further solution of the projection: what the weights have too much.

    Reads:  c.bound.{system.acceleration, impulse}
    Writes: c.bound.system.load
    """
    y = c.bound.system
    for n in range(y.n_dofs):
        given = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
        y.load.store(w, n, given + c.bound.impulse.load(w, n))


@ti.func
def keep_excess(c: ti.template(), w: ti.i32):
    """Begin a try with D a of the one before, while that refines accelerations; later tries keep it.

    The number of tries that refine is fixed, so that no world sees how far another one is.

    Reads:  c.{bound.system.acceleration, now}
    Writes: c.bound.{carried, system.load}
    """
    y = c.bound.system
    k = c.now.load(w, "choice") - 1
    refines = ti.cast(c.now.load(w, "instant") != 0 and k < c.bound.refinements, ti.i32)
    for n in range(y.n_dofs):
        carried = c.bound.carried.load(w, n)
        if k == 0:
            carried = carried * 0.0
        elif refines != 0:
            carried = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
        c.bound.carried.store(w, n, carried)
        y.load.store(w, n, y.load.load(w, n) + carried)


@ti.func
def add_excess(c: ti.template(), w: ti.i32):
    """Put D a of the last solution on the right-hand side, for solution 1 or 2 of a try.

    Reads:  c.{bound.system.acceleration, now}
    Writes: c.bound.{system.load, excess}
    """
    y = c.bound.system
    k = c.now.load(w, "solution")
    for n in range(y.n_dofs):
        given = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
        before = c.bound.carried.load(w, n)
        if k == 2:
            before = c.bound.excess.load(w, n)
        c.bound.excess.store(w, n + (k - 1) * y.n_dofs, given)
        y.load.store(w, n, y.load.load(w, n) + given - before)


@ti.func
def missed_excess(c: ti.template(), w: ti.i32):
    """What `extrapolate` missed of D a on the right-hand side: D a - (3 d1 - 2 d2).

    Reads and writes: c.bound.excess
    """
    y = c.bound.system
    for n in range(y.n_dofs):
        whole = y.acceleration.load(w, n) * c.tables.excess.load(w, c.tables.tree_dof.at(n))
        given = c.bound.excess.load(w, n) * 3.0 - c.bound.excess.load(w, n + y.n_dofs) * 2.0
        c.bound.excess.store(w, n, whole - given)
