"""Generalised-alpha steps in natural coordinates: order two, with damping of what the step does not resolve.

    M a1 = F + G(q1)^T lambda,   phi(q1) = 0
    (1 - am) w1 + am w0 = (1 - af) a1 + af a0
    q1 = q0 + h v0 + h^2 ((1/2 - b) w0 + b w1),   v1 = v0 + h ((1 - g) w0 + g w1)

with am = (2 r - 1)/(r + 1), af = r/(r + 1), g = 1/2 + af - am, b = (g + 1/2)^2/4 and r the spectral radius at high
frequencies: 1 damps nothing, 0 all at once. Velocities are projected on the rows at the end of each step.

F holds springs, wrenches and smooth efforts at q1, v1 and the end of the step; the iteration knows how they change
(alpha_forces.py). Where forces jump at the start of a step, both recurrences start anew from there.

Source: Arnold and Bruels (2007), Convergence of the generalized-alpha scheme for constrained mechanical systems, in the
constants of reference/natural-coordinates.md A.8. Deviations: the projection, which index-3 codes leave out; one matrix for
several rounds, the first of them taken where the step is expected to end. The matrix has the weights of flat and thin
bodies, which are a little more than their inertia (model/natural.py); the balance has the inertia, so that rounds take the
rest away.
"""

from simcli.kernels.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.memory import Arena, any_lane
from simcli.kernels.quadratic import bend_gradients, extend, factorize_saddle, find_residuals, give_state
from simcli.solvers.natural.alpha_forces import BEGIN, evaluate_forces
from simcli.solvers.natural.forces import add_work, idle_coordinates
from simcli.solvers.natural.led import begin_led, lead_bodies, led_impulse
from simcli.solvers.natural.quadratic import (
    MAX_PLACEMENTS,
    demand_correction,
    demand_velocities,
    harden_rows,
    soften_rows,
    solve,
    use_placement,
)
from simcli.solvers.shared.clock import follow_signals

REFINEMENTS = 4  # of a projection, each of which leaves a part of 1e-2 or 2e-2
# Rounds that share a matrix. Smooth motions end within them; a spring that the first guess of a step stretches a thousand
# times too far needs a matrix of where the iteration has come to.
ROUNDS_PER_MATRIX = 4


class Memory:
    """Constants of the method, and what one step leaves for the next.

    Args:
        n: coordinates.
        arena: where memory is.
        radius: spectral radius at high frequencies.
        jumps: whether forces may jump.

    Attributes:
        alpha_m, alpha_f, gamma, beta: as above.  share: d q1 / d a1 over h^2.  rate_share: d v1 / d a1 over h.
        lack: [m] what the last round of a step found to lack, as a way.
        a, w: (n) accelerations, true ones and those of the recurrence.  next_a, next_w: at the end of the step.
        v: (n) velocities at its start.
    """

    _data_oriented = True

    def __init__(self, n: int, arena: Arena, radius: float, jumps: bool):
        self.alpha_m, self.alpha_f = (2.0 * radius - 1.0) / (radius + 1.0), radius / (radius + 1.0)
        self.gamma = 0.5 + self.alpha_f - self.alpha_m
        self.beta = 0.25 * (self.gamma + 0.5) ** 2
        self.share = self.beta * (1.0 - self.alpha_f) / (1.0 - self.alpha_m)
        self.rate_share, self.jumps = self.gamma * (1.0 - self.alpha_f) / (1.0 - self.alpha_m), jumps
        self.lack = arena.single.slot()
        self.a, self.w, self.next_a, self.next_w, self.v = arena.records(n).slots(5)


@ti.func
def begin_alpha(c: ti.template(), w: ti.i32):
    """Start both recurrences at the accelerations of frame 0.

    Reads:  c.state.qdd
    Writes: c.alpha.{a, w}, c.steps.force
    """
    f = c.steps.rows
    for i in range(f.n):
        a = c.state.qdd.load(w, f.qd_at.at(i))
        c.alpha.a.store(w, i, a)
        c.alpha.w.store(w, i, a)
    for r in range(f.n_rows):
        c.steps.force.store(w, r, c.bound.system.force.load(w, r))


@ti.func
def step_alpha(c: ti.template(), w: ti.i32, start: ti.template(), t: ti.template(), h: ti.template()):
    """One step of length h from a time to t.

    Reads:  c.steps, c.alpha, c.forces
    Writes: c.steps, c.alpha, c.state.{q, qd}, c.forces.work
    """
    f = c.steps.rows
    for i in range(f.n):
        c.alpha.v.store(w, i, f.v.load(w, i))
        c.alpha.next_a.store(w, i, c.alpha.a.load(w, i))
        f.next_x.store(w, i, f.x.load(w, i))
    extend(f, f.next_x, w, 1.0)
    extend(f, f.v, w, 0.0)
    soften_rows(c, w, h)
    if ti.static(c.led.n > 0):
        begin_led(c, w)
    begins = ti.static(c.alpha.jumps or c.pushes.has_power)
    if ti.static(not begins):
        move_alpha(c, w, h)
    running = 1
    for k in range(BEGIN if begins else 0, c.steps.corrections + MAX_PLACEMENTS + 1):
        projects = k == c.steps.corrections + MAX_PLACEMENTS
        places = k >= c.steps.corrections and not projects
        factorizes = k == BEGIN or k % ROUNDS_PER_MATRIX == 0 or places or projects
        if projects:
            if ti.static(c.pushes.has_power):
                add_work(c, w, h)
            running = 1
            bend_gradients(f, f.next_x, w)
            idle_coordinates(c, w)
            demand_velocities(c, w)
        elif running != 0:
            bend_gradients(f, f.next_x, w)
            if places:
                harden_rows(c, w)
                running = demand_correction(c, w, -1.0)
            else:
                if ti.static(c.signals.n > 0):
                    if k <= 0:
                        now = t
                        if k == BEGIN:
                            now = start
                        follow_signals(c, w, now, -1.0 - 2.0 * ti.min(k, 0), -1)
                if ti.static(c.led.n > 0):
                    if k == BEGIN:
                        lead_bodies(c, w, h, h, 1)
                evaluate_forces(c, w, k, ti.cast(factorizes, ti.i32), h)
                running = demand_balance(c, w, k, h)
        if running != 0:
            if factorizes:
                factorize_saddle(f, w)
            solve(c, w)
            if ti.static(c.has_excess):
                if projects:
                    refine_projection(c, w)
            if projects:
                if ti.static(c.led.n > 0):
                    led_impulse(c, w)
                for i in range(f.n):
                    f.v.store(w, i, f.v.load(w, i) + c.steps.solution.load(w, i))
            elif places:
                use_placement(c, w)
                if ti.static(c.pushes.n_yielding > 0):
                    c.steps.worst.store(w, 0, find_lacks(c, w))
            else:
                use_balance(c, w, k, h)
        if ti.static(begins):
            if k == BEGIN:
                if ti.static(c.pushes.has_power):
                    add_work(c, w, h)
                if ti.static(c.led.n > 0):
                    if ti.static(c.signals.n > 0):
                        follow_signals(c, w, t, -1.0, -1)
                    lead_bodies(c, w, h, h, 0)
                move_alpha(c, w, h)
                running = 1
    for i in range(f.n):
        c.alpha.a.store(w, i, c.alpha.next_a.load(w, i))
        c.alpha.w.store(w, i, c.alpha.next_w.load(w, i))
    for i in range(f.n + f.n_forms):
        f.x.store(w, i, f.next_x.load(w, i))
    give_state(f, c.state, w)


@ti.func
def refine_projection(c: ti.template(), w: ti.i32):
    """Take what the weights have too much out of the projection of velocities: W dv' = D dv + G^T mu.

    Without that its impulses would not be those of the inertia: an error of order one.

    Reads:  c.steps.rows.{mass, inertia}
    Writes: c.steps.{load, solution}
    """
    f = c.steps.rows
    for _ in range(REFINEMENTS):
        for i in range(f.n):
            excess = f.mass.load(w, i) - f.inertia.load(w, i)
            c.steps.load.store(w, i, c.steps.solution.load(w, i) * excess)
        solve(c, w)


@ti.func
def move_alpha(c: ti.template(), w: ti.i32, h: ti.template()):
    """w1, q1 and v1 of the present a1, and the residuals there.

    Reads:  c.alpha, c.steps.rows.x
    Writes: c.alpha.next_w, c.steps.{worst, rows.next_x, rows.v, rows.residual}
    """
    f = c.steps.rows
    for i in range(f.n):
        w_0 = c.alpha.w.load(w, i)
        mixed = c.alpha.next_a.load(w, i) * (1.0 - c.alpha.alpha_f) + c.alpha.a.load(w, i) * c.alpha.alpha_f
        w_1 = (mixed - w_0 * c.alpha.alpha_m) * (1.0 / (1.0 - c.alpha.alpha_m))
        v = c.alpha.v.load(w, i)
        c.alpha.next_w.store(w, i, w_1)
        f.next_x.store(w, i, f.x.load(w, i) + (v + (w_0 * (0.5 - c.alpha.beta) + w_1 * c.alpha.beta) * h) * h)
        f.v.store(w, i, v + (w_0 * (1.0 - c.alpha.gamma) + w_1 * c.alpha.gamma) * h)
    if ti.static(f.has_led):
        for i in range(f.n):
            if f.moves.at(i) == 0:
                d = f.qd_at.at(i)
                a = c.motions.motion_qdd.load(w, d)
                f.next_x.store(w, i, c.motions.motion_q.load(w, d))
                f.v.store(w, i, c.motions.motion_qd.load(w, d))
                c.alpha.next_a.store(w, i, a)
                c.alpha.next_w.store(w, i, a)
    extend(f, f.next_x, w, 1.0)
    c.steps.worst.store(w, 0, find_residuals(f, f.next_x, w))
    if ti.static(c.pushes.n_yielding > 0):
        c.steps.worst.store(w, 0, find_lacks(c, w))


@ti.func
def find_lacks(c: ti.template(), w: ti.i32):
    """Give rows that yield phi + compliance lambda in place of phi; returns the largest of all hard rows.

    Reads:  c.steps.force
    Writes: c.steps.rows.residual
    """
    f = c.steps.rows
    worst = c.tables.arena.zero()
    for n in range(c.pushes.n_yielding):
        r = c.pushes.yielding.at(n)
        given = c.steps.force.load(w, r) * c.bound.system.compliance.load(w, r)
        f.residual.store(w, r, f.residual.load(w, r) + given)
    for r in range(f.n_rows):
        if f.is_hard.at(r) != 0:
            worst = ti.max(worst, ti.abs(f.residual.load(w, r)))
    return worst


@ti.func
def demand_balance(c: ti.template(), w: ti.i32, k: ti.i32, h: ti.template()):
    """What F + G^T lambda - M a and the rows lack at the end of the step, in worlds that lack some; 0 if none does.

    At the begin of a step forces alone may lack something, by a jump.

    Reads:  c.steps.{force, worst, rows.gradient}, c.alpha.next_a, c.pushes.pull
    Writes: c.steps.{load, worst}
    """
    f = c.steps.rows
    zero = c.tables.arena.zero()
    span = h * h * c.alpha.share
    for i in range(f.n):
        c.steps.load.store(w, i, c.pushes.pull.load(w, i) - c.alpha.next_a.load(w, i) * f.inertia.load(w, i))
    for r in range(f.n_rows):
        force = c.steps.force.load(w, r)
        for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
            i = f.entry_at.at(e)
            c.steps.load.store(w, i, c.steps.load.load(w, i) + f.gradient.load(w, e) * force)
    if ti.static(f.has_led):
        find_changes(c, w, k)
    worst = c.steps.worst.load(w, 0)
    tight = zero + c.steps.tight
    if k == BEGIN:
        worst = zero
        tight = zero + c.bound.jump
    for i in range(f.n):
        worst = ti.max(worst, ti.abs(c.steps.load.load(w, i) / f.mass.load(w, i)) * span)
    lacks = worst > tight
    if k != BEGIN:
        c.alpha.lack.store(w, 0, worst)
    for i in range(f.n):
        c.steps.load.store(w, i, select(lacks, c.steps.load.load(w, i), zero))
    for r in range(f.n_rows):
        asked = select(lacks, -f.residual.load(w, r) / span, zero) * ti.cast(k != BEGIN, c.tables.arena.device.real)
        if ti.static(f.has_led):
            if k == BEGIN:
                asked = -change_of_row(c, w, r)
        c.steps.load.store(w, f.n + r, asked)
    for n in range(c.pushes.n):
        c.steps.load.store(w, f.n + c.pushes.row.at(n), zero)
    return ti.cast(any_lane(lacks), ti.i32)


@ti.func
def find_changes(c: ti.template(), w: ti.i32, k: ti.i32):
    """What accelerations of prescribed coordinates lack where a step begins; nothing later.

    Reads:  c.motions, c.alpha.next_a
    Writes: c.steps.load of these
    """
    f = c.steps.rows
    for i in range(f.n):
        if f.moves.at(i) == 0:
            change = c.motions.motion_qdd.load(w, f.qd_at.at(i)) - c.alpha.next_a.load(w, i)
            c.steps.load.store(w, i, change * ti.cast(k == BEGIN, c.tables.arena.device.real))


@ti.func
def change_of_row(c: ti.template(), w: ti.i32, r: ti.i32):
    """Acceleration of row r by `find_changes`.

    Reads: c.steps.{load, rows.gradient}
    """
    f = c.steps.rows
    total = c.tables.arena.zero()
    for e in range(f.entry_start.at(r), f.entry_start.at(r + 1)):
        i = f.entry_at.at(e)
        if f.moves.at(i) == 0:
            total = total + f.gradient.load(w, e) * c.steps.load.load(w, i)
    return total


@ti.func
def use_balance(c: ti.template(), w: ti.i32, k: ti.i32, h: ti.template()):
    """Add what was found to a1 and lambda, and move along; at the begin of a step, to a and w.

    Reads:  c.steps.solution
    Writes: c.alpha.{a, w, next_a, next_w}, c.steps.{force, worst, rows}
    """
    f = c.steps.rows
    for i in range(f.n):
        a = c.alpha.next_a.load(w, i) + c.steps.solution.load(w, i)
        c.alpha.next_a.store(w, i, a)
        if k == BEGIN:
            c.alpha.a.store(w, i, a)
            c.alpha.w.store(w, i, c.alpha.w.load(w, i) + c.steps.solution.load(w, i))
    for r in range(f.n_rows):
        c.steps.force.store(w, r, c.steps.force.load(w, r) - c.steps.solution.load(w, f.n + r))
    if k != BEGIN:
        move_alpha(c, w, h)
