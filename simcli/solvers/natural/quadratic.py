"""Steps in natural coordinates of a mechanism whose rows are polynomials: what natural/steps.py says, and nothing else.

Most mechanisms have smooth forces alone. Their steps need no poses: the rows are flat lists of terms (kernels/quadratic.py),
and the one matrix of a step serves its velocities, its accelerations and its corrections; where springs or efforts act
(natural/forces.py) the accelerations take a second one.
"""

from simcli.kernels.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.memory import Arena, Slot, any_lane
from simcli.kernels.quadratic import (
    SaddlePoint,
    bend_gradients,
    bias,
    extend,
    factorize_saddle,
    find_rates,
    find_residuals,
    give_state,
    start_gradients,
    take_state,
)
from simcli.kernels.sparse import substitute
from simcli.kernels.tables import Tables
from simcli.model.quadratic import Quadratic
from simcli.solvers.natural.forces import (
    add_work,
    demand_paces,
    idle_coordinates,
    law_now,
    note_paces,
    pull_coordinates,
    soften_coordinates,
)
from simcli.solvers.natural.steps import soften

# A correction is a step of Newton with the matrix of the start: it leaves 1 - cos(turn) of a residual, or all of it where
# that matrix is singular. Then placements take a matrix each.
MAX_PLACEMENTS = 12


class QuadraticSteps:
    """Memory of the steps.

    Args:
        rows: the constraints' rows as polynomials.
        tables, arena: see `System`.
        angle: see `SaddlePoint`.
        bends: see `SaddlePoint`.
        tight: residual that counts as none.
        corrections: at most.

    Attributes:
        rows: see `SaddlePoint`.
        acceleration: (n), force: (R) lambda, of the present step.
        load: (n + R) right-hand side.  solution: (n + R).  worst: largest residual where the step ends.
    """

    _data_oriented = True

    def __init__(self, rows: Quadratic, tables: Tables, arena: Arena, angle: Slot, tight: float, corrections: int,
                 bends: bool):
        self.rows = SaddlePoint(rows, tables, arena, angle, bends)
        self.tight, self.corrections = tight, corrections
        n, n_rows = self.rows.n, self.rows.n_rows
        both = arena.records(n + n_rows)
        self.acceleration, self.force = self.rows.unknowns.slot(), self.rows.items.slot()
        self.load, self.solution, self.worst = both.slot(), both.slot(), arena.single.slot()


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
    pull_coordinates(c, w, f.x)


@ti.func
def step_quadratic(c: ti.template(), w: ti.i32, h: ti.template()):
    """One step of length h: velocities projected, accelerations, positions corrected until they meet.

    Reads:  c.steps, c.pushes.pull
    Writes: c.steps, c.state.{q, qd}, c.forces.work
    """
    f = c.steps.rows
    g = h * 0.5
    running = 1
    for k in range(2 + c.steps.corrections + MAX_PLACEMENTS):
        places = k >= 2 + c.steps.corrections
        if running != 0:
            if k == 0:
                extend(f, f.v, w, 0.0)
                soften_rows(c, w, h)
                idle_coordinates(c, w)
                demand_velocities(c, w)
            elif k == 1:
                demand_accelerations(c, w, h, g)
                soften_coordinates(c, w, h, g)
                if ti.static(c.pushes.has_power):
                    note_laws(c, w)
                    add_work(c, w, h)
            else:
                factor = -1.0 / (h * g)
                if places:
                    harden_rows(c, w)
                    bend_gradients(f, f.next_x, w)
                    factor = factor * 0.0 - 1.0
                running = demand_correction(c, w, factor)
        if running != 0:
            if k == 0 or places or (k == 1 and c.pushes.is_mixed):
                factorize_saddle(f, w)
            solve(c, w)
            if k == 0:
                use_velocities(c, w)
            elif places:
                use_placement(c, w)
            else:
                use_accelerations(c, w, h, g)
    finish(c, w, h)


@ti.func
def soften_rows(c: ti.template(), w: ti.i32, h: ti.template()):
    """Softness of the rows in this step, see `soften`.

    Reads:  c.steps.rows.v
    Writes: c.bound.system.softness, c.steps.rows.{soft, lent}
    """
    f = c.steps.rows
    fastest = c.tables.arena.zero()
    for k in range(c.bound.n_turning):
        fastest = ti.max(fastest, ti.abs(bias(f, w, c.bound.turning.at(k))) * c.bound.turn_weight.load(w, k))
    soften(c, w, h, fastest)
    softness = c.bound.system.softness.load(w, 0)
    for r in range(f.n_rows):
        soft = softness * c.bound.system.scale.load(w, r)
        f.soft.store(w, r, soft)
        f.lent.store(w, r, soft)


@ti.func
def harden_rows(c: ti.template(), w: ti.i32):
    """The least softness, for rows that must be met.

    Writes: c.steps.rows.{soft, lent}
    """
    for r in range(c.steps.rows.n_rows):
        soft = c.bound.system.scale.load(w, r) * c.bound.system.least + c.tables.arena.zero()
        c.steps.rows.soft.store(w, r, soft)
        c.steps.rows.lent.store(w, r, soft)
    idle_coordinates(c, w)


@ti.func
def solve(c: ti.template(), w: ti.i32):
    """Solve for the right-hand side in c.steps.load: 2 x1 - x2, where x2 is centred at the multipliers of x1.

        G a - e (mu - mu_1) = rho

    With s an eigenvalue of G M^-1 G^T its part of rho is s / (s + e)^2: nothing where rows are redundant. What forces
    give of e stays, for that is no softness.

    Writes: c.steps.solution
    """
    f = c.steps.rows
    x = f.factor
    for k in range(2):
        for i in range(f.n):
            at = x.position.at(i)
            if k == 1:
                c.steps.solution.store(w, i, x.x.load(w, at))
            x.x.store(w, at, c.steps.load.load(w, i))
        for r in range(f.n_rows):
            i = f.n + r
            at = x.position.at(i)
            load = c.steps.load.load(w, i)
            if k == 1:
                mu = x.x.load(w, at)
                c.steps.solution.store(w, i, mu)
                load = load - f.lent.load(w, r) * mu
            x.x.store(w, at, load)
        substitute(x, w)
    for i in range(f.n + f.n_rows):
        c.steps.solution.store(w, i, c.steps.solution.load(w, i) * 2.0 - x.x.load(w, x.position.at(i)))


@ti.func
def demand_velocities(c: ti.template(), w: ti.i32):
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
def use_velocities(c: ti.template(), w: ti.i32):
    """Velocities v + dv, and nothing yet of accelerations.

    Writes: c.steps.{acceleration, force, rows.v}
    """
    f = c.steps.rows
    for i in range(f.n):
        f.v.store(w, i, f.v.load(w, i) + c.steps.solution.load(w, i))
        c.steps.acceleration.store(w, i, c.tables.arena.zero())
    for r in range(f.n_rows):
        c.steps.force.store(w, r, c.tables.arena.zero())
    extend(f, f.v, w, 0.0)


@ti.func
def demand_accelerations(c: ti.template(), w: ti.i32, h: ti.template(), g: ti.template()):
    """M a - G^T lambda = F,  phi = 0 to second order where the step ends: phi/h + G (v + g a) + h/2 v^T H v = 0.

    Writes: c.steps.{load, rows.rate}
    """
    f = c.steps.rows
    find_rates(f, w)
    for i in range(f.n):
        c.steps.load.store(w, i, c.pushes.pull.load(w, i))
    for r in range(f.n_rows):
        lacks = f.residual.load(w, r) / h + f.rate.load(w, r) + bias(f, w, r) * (h * 0.5)
        c.steps.load.store(w, f.n + r, -lacks / g)


@ti.func
def use_accelerations(c: ti.template(), w: ti.i32, h: ti.template(), g: ti.template()):
    """q+ = q + h (v + g a), and the residuals there; a and lambda sum up.

    Writes: c.steps.{acceleration, force, worst, rows.next_x, rows.residual}
    """
    f = c.steps.rows
    for i in range(f.n):
        a = c.steps.acceleration.load(w, i) + c.steps.solution.load(w, i)
        c.steps.acceleration.store(w, i, a)
        f.next_x.store(w, i, f.x.load(w, i) + (f.v.load(w, i) + a * g) * h)
    for r in range(f.n_rows):
        c.steps.force.store(w, r, c.steps.force.load(w, r) - c.steps.solution.load(w, f.n + r))
    extend(f, f.next_x, w, 1.0)
    c.steps.worst.store(w, 0, find_residuals(f, f.next_x, w))


@ti.func
def use_placement(c: ti.template(), w: ti.i32):
    """Move the coordinates alone where a singular position keeps accelerations from it.

    Writes: c.steps.{worst, rows.next_x, rows.residual}
    """
    f = c.steps.rows
    for i in range(f.n):
        f.next_x.store(w, i, f.next_x.load(w, i) + c.steps.solution.load(w, i))
    extend(f, f.next_x, w, 1.0)
    c.steps.worst.store(w, 0, find_residuals(f, f.next_x, w))


@ti.func
def demand_correction(c: ti.template(), w: ti.i32, factor: ti.template()):
    """Take the residuals away by the factor, in worlds that have some; 0 if none has.

    Reads:  c.steps.{worst, rows.residual}
    Writes: c.steps.load
    """
    f = c.steps.rows
    zero = c.tables.arena.zero()
    lacks = c.steps.worst.load(w, 0) > c.steps.tight
    asked = select(lacks, zero + factor, zero)
    for i in range(f.n):
        c.steps.load.store(w, i, zero)
    for r in range(f.n_rows):
        c.steps.load.store(w, f.n + r, f.residual.load(w, r) * asked)
    for k in range(c.pushes.n):
        c.steps.load.store(w, f.n + c.pushes.row.at(k), zero)
    return ti.cast(any_lane(lacks), ti.i32)


@ti.func
def finish(c: ti.template(), w: ti.i32, h: ti.template()):
    """Velocities at the end of the step, and the state.

    Writes: c.steps.rows.{x, v, gradient}, c.state.{q, qd}
    """
    f = c.steps.rows
    if ti.static(c.pushes.has_laws and c.forces.has_armature):
        note_paces(c, w, h * 0.5)
    bend_gradients(f, f.next_x, w)
    for i in range(f.n + f.n_forms):
        f.x.store(w, i, f.next_x.load(w, i))
    for i in range(f.n):
        f.v.store(w, i, f.v.load(w, i) + c.steps.acceleration.load(w, i) * h)
    if ti.static(c.pushes.has_power):
        find_rates(f, w)
        note_laws(c, w)
        add_work(c, w, h)
    if ti.static(c.integrator == "zhong06"):
        for i in range(f.n):
            c.steps.load.store(w, i, c.pushes.pull.load(w, i))
        for r in range(f.n_rows):
            force = c.steps.force.load(w, r)
            for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
                i = f.entry_at.at(e)
                c.steps.load.store(w, i, c.steps.load.load(w, i) + f.gradient.load(w, e) * force)
        for i in range(f.n):
            change = c.steps.load.load(w, i) / f.mass.load(w, i) - c.steps.acceleration.load(w, i)
            f.v.store(w, i, f.v.load(w, i) + change * (h * 0.5))
    give_state(f, c.state, w)


@ti.func
def note_laws(c: ti.template(), w: ti.i32):
    """Efforts of the laws at the present coordinates and rates, for their powers.

    Writes: c.bound.system.laws
    """
    if ti.static(c.pushes.has_laws):
        for k in range(c.pushes.n):
            if c.pushes.law.at(k) >= 0:
                _stiffness, _damping, _inertia = law_now(c, w, k)
