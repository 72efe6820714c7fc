"""Stages of generalised-alpha steps in natural coordinates: order two, with damping of what the step does not resolve.

    M a1 = F + G(q1)^T lambda,   phi(q1) = 0
    (1 - am) w1 + am w0 = (1 - af) a1 + af a0
    q1 = q0 + h v0 + h^2 ((1/2 - b) w0 + b w1),   v1 = v0 + h ((1 - g) w0 + g w1)

with am = (2 r - 1)/(r + 1), af = r/(r + 1), g = 1/2 + af - am, b = (g + 1/2)^2/4 and r the spectral radius at high
frequencies: 1 damps nothing, 0 all at once. Velocities are projected on the rows at the end of each step.

F holds springs, wrenches and smooth efforts at q1, v1 and the end of the step; the iteration knows how they change
(alpha_forces.py). Where forces jump at the start of a step, both recurrences start anew from there: an evaluation with
`instant` set, at q0 and v0.

Rows of prescribed motions are measured against them (alpha_balance.py), so that phi, phi' and their multipliers are those
of rows that depend on time.

Source: Arnold and Bruels (2007), Convergence of the generalized-alpha scheme for constrained mechanical systems, in the
constants of Chung and Hulbert (1993), equations 17, 20 and 25. Deviations: the projection, which index-3 codes leave out;
one matrix for several rounds, the first of them taken where the step is expected to end. The matrix has the weights of flat
and thin bodies, which are a little more than their inertia (model/forms/natural_form.py); the balance has the inertia, so
that rounds take the rest away.
"""

from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.language import ti
from simcli.kernels.rows.quadratic import bend_gradients, extend, give_state
from simcli.solvers.base import needs
from simcli.solvers.base.integrators import H
from simcli.solvers.natural.alpha_balance import (
    begin_prescribed,
    keep_prescribed_accelerations,
    measure_prescribed,
    prescribed_rate_rhs,
)
from simcli.solvers.natural.alpha_work import forget_holds, project_holds
from simcli.solvers.natural.forces import idle_coordinates
from simcli.solvers.natural.memory import ROUNDS_PER_MATRIX
from simcli.solvers.natural.quadratic import move_to_place
from simcli.solvers.natural.saddle import measure_next, regularize_rows, spread_softness, velocity_rhs


@ti.func
def begin_recurrences(c: ti.template(), w: ti.i32):
    """Start both recurrences at the accelerations of frame 0.

    Reads:  c.state.qdd
    Writes: c.alpha, c.steps.force
    """
    f = c.steps.rows
    for i in range(f.n):
        a = c.state.qdd.load(w, f.qd_at.at(i))
        c.alpha.a.store(w, i, a)
        c.alpha.w.store(w, i, a)
    copy(c.steps.force, c.bound.system.force, f.n_rows, w)
    keep_prescribed_accelerations(c, w)
    forget_holds(c, w)


@ti.func
def begin_alpha(c: ti.template(), w: ti.i32):
    """The step begins with the accelerations of the one before, at its place.

    Reads:  c.steps.rows, c.alpha.a
    Writes: c.alpha.{v, next_a}, c.steps.rows, c.bound.start, c.now
    """
    f = c.steps.rows
    for i in range(f.n):
        c.alpha.v.store(w, i, f.v.load(w, i))
        c.alpha.next_a.store(w, i, c.alpha.a.load(w, i))
        f.next_x.store(w, i, f.x.load(w, i))
    extend(f, f.next_x, w, 1.0)
    extend(f, f.v, w, 0.0)
    begin_prescribed(c, w)
    regularize_rows(c, w)
    c.now.store(w, "correction", 0)


@ti.func
def move_alpha(c: ti.template(), w: ti.i32):
    """w1, q1 and v1 of the present a1, and the residuals there.

    Reads:  c.alpha, c.steps.rows.x
    Writes: c.alpha.next_w, c.steps.{worst, rows.next_x, rows.v, rows.residual}
    """
    f = c.steps.rows
    h = c.constants.load(w, H)
    for i in range(f.n):
        w_0 = c.alpha.w.load(w, i)
        mixed = c.alpha.next_a.load(w, i) * (1.0 - c.alpha.alpha_f) + c.alpha.a.load(w, i) * c.alpha.alpha_f
        w_1 = (mixed - w_0 * c.alpha.alpha_m) * (1.0 / (1.0 - c.alpha.alpha_m))
        v = c.alpha.v.load(w, i)
        c.alpha.next_w.store(w, i, w_1)
        f.next_x.store(w, i, f.x.load(w, i) + (v + (w_0 * (0.5 - c.alpha.beta) + w_1 * c.alpha.beta) * h) * h)
        f.v.store(w, i, v + (w_0 * (1.0 - c.alpha.gamma) + w_1 * c.alpha.gamma) * h)
    _move_kinematic(c, w)
    measure_next(c, w)
    measure_violations(c, w)


@needs.prescribed_coordinates
@ti.func
def _move_kinematic(c: ti.template(), w: ti.i32):
    f = c.steps.rows
    for i in range(f.n):
        if f.moves.at(i) == 0:
            d = f.qd_at.at(i)
            a = c.motions.motion_qdd.load(w, d)
            f.next_x.store(w, i, c.motions.motion_q.load(w, d))
            f.v.store(w, i, c.motions.motion_qd.load(w, d))
            c.alpha.next_a.store(w, i, a)
            c.alpha.next_w.store(w, i, a)


@needs.moved_residuals
@ti.func
def measure_violations(c: ti.template(), w: ti.i32):
    """What rows lack that yield or follow a motion in place of their phi, and the largest lack of all hard rows.

    Writes: c.steps.{worst, rows.residual}
    """
    f = c.steps.rows
    worst = c.tables.arena.zero()
    _measure_yielding(c, w)
    measure_prescribed(c, w)
    for r in range(f.n_rows):
        if f.is_hard.at(r) != 0:
            worst = ti.max(worst, ti.abs(f.residual.load(w, r)))
    c.steps.worst.store(w, 0, worst)


@needs.yielding
@ti.func
def _measure_yielding(c: ti.template(), w: ti.i32):
    """Give rows that yield phi + compliance lambda in place of phi.

    Reads:  c.steps.force
    Writes: c.steps.rows.residual
    """
    f = c.steps.rows
    for n in range(c.pushes.n_yielding):
        r = c.pushes.yielding.at(n)
        given = c.steps.force.load(w, r) * c.bound.system.compliance.load(w, r)
        f.residual.store(w, r, f.residual.load(w, r) + given)


def needs_matrix(c, w):
    """Whether this round takes a matrix (of a block)."""
    return c.now.load(w, "correction") % ROUNDS_PER_MATRIX == 0


@ti.func
def take_balance(c: ti.template(), w: ti.i32):
    """Add what was found to a1 and lambda, and move along.

    Reads:  c.steps.solution
    Writes: c.alpha.next_a, c.steps.{force, worst, rows}, c.now
    """
    add_balance(c, w)
    move_alpha(c, w)
    c.now.store(w, "correction", c.now.load(w, "correction") + 1)


@ti.func
def take_jump(c: ti.template(), w: ti.i32):
    """Add what was found where the step begins to a, w and lambda.

    Reads:  c.steps.solution
    Writes: c.alpha.{a, w, next_a}, c.steps.force
    """
    add_balance(c, w)
    for i in range(c.steps.rows.n):
        c.alpha.a.store(w, i, c.alpha.next_a.load(w, i))
        c.alpha.w.store(w, i, c.alpha.w.load(w, i) + c.steps.solution.load(w, i))


@ti.func
def add_balance(c: ti.template(), w: ti.i32):
    """Add a solution to the accelerations and multipliers.

    Writes: c.alpha.next_a, c.steps.force
    """
    f = c.steps.rows
    for i in range(f.n):
        c.alpha.next_a.store(w, i, c.alpha.next_a.load(w, i) + c.steps.solution.load(w, i))
    for r in range(f.n_rows):
        c.steps.force.store(w, r, c.steps.force.load(w, r) - c.steps.solution.load(w, f.n + r))


@ti.func
def move_alpha_to_place(c: ti.template(), w: ti.i32):
    """Move the coordinates alone; rows that yield or follow a motion lack something else than their residual."""
    move_to_place(c, w)
    measure_violations(c, w)


@ti.func
def begin_projection(c: ti.template(), w: ti.i32):
    """The system that projects the velocities where the step ends.

    Rows are as soft as at its start, whether a placement, perhaps for another world of the block, has hardened them or not.

    Reads:  c.steps.rows
    Writes: c.steps.{load, rows}
    """
    spread_softness(c, w)
    bend_gradients(c.steps.rows, c.steps.rows.next_x, w)
    idle_coordinates(c, w)
    velocity_rhs(c, w)
    prescribed_rate_rhs(c, w)
    _rotor_rhs(c, w)


@needs.rotors
@needs.prescribed_coordinates
@ti.func
def _rotor_rhs(c: ti.template(), w: ti.i32):
    """Rotors keep their pace where prescribed coordinates gain a velocity that no acceleration of the step has: a jump.

    Reads:  c.alpha.{v, w, next_w}, c.steps.rows
    Writes: c.steps.load of soft rows
    """
    f = c.steps.rows
    h = c.constants.load(w, H)
    for k in range(c.pushes.n):
        if c.pushes.law.at(k) >= 0:
            r = c.pushes.row.at(k)
            gain = c.steps.load.load(w, f.n + r)
            for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
                i = f.entry_at.at(e)
                if f.moves.at(i) == 0:
                    gained = (c.alpha.w.load(w, i) + c.alpha.next_w.load(w, i)) * (h * 0.5)  # w is what is prescribed here
                    jump = f.v.load(w, i) - c.alpha.v.load(w, i) - gained
                    gain = gain - f.gradient.load(w, e) * jump
            c.steps.load.store(w, f.n + r, gain)


@ti.func
def excess_rhs(c: ti.template(), w: ti.i32):
    """Take what the weights have too much out of the projection of velocities: W dv' = D dv + G^T mu.

    Without that its impulses would not be those of the inertia: an error of order one.

    Reads:  c.steps.{solution, rows.mass, rows.inertia}
    Writes: c.steps.load
    """
    f = c.steps.rows
    for i in range(f.n):
        excess = f.mass.load(w, i) - f.inertia.load(w, i)
        c.steps.load.store(w, i, c.steps.solution.load(w, i) * excess)


@ti.func
def end_alpha(c: ti.template(), w: ti.i32):
    """Velocities as they are projected, the accelerations for the next step, and the state.

    Writes: c.alpha.{a, w, prescribed}, c.steps.rows.{x, v}, c.state.{q, qd}, c.forces.account.work
    """
    f = c.steps.rows
    project_holds(c, w)
    keep_prescribed_accelerations(c, w)
    for i in range(f.n):
        f.v.store(w, i, f.v.load(w, i) + c.steps.solution.load(w, i))
        c.alpha.a.store(w, i, c.alpha.next_a.load(w, i))
        c.alpha.w.store(w, i, c.alpha.next_w.load(w, i))
    copy(f.x, f.next_x, f.n + f.n_forms, w)
    give_state(f, c.state, w)
