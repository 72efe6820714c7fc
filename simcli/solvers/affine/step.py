"""One step of affine bodies: the minimum of an incremental potential.

    alpha^2/2 (x - y)^T M (x - y) + V(x) -> min,    v+ = alpha (x - x_h),    y = x_h + v_h / alpha + a / alpha^2

    bdf1   alpha = 1/h        x_h = x_n                      v_h = v_n
    bdf2   alpha = 3/(2h)     x_h = x_n + (x_n - x_(n-1))/3  v_h likewise;   its first step is one of bdf1, and so are
                              those in which contacts or limits begin or end, and the first after each of these

a: accelerations by gravity and wrenches, the latter at the end of a free flight, x_h + v_h / alpha.

Source: reference/affine-bodies.md B.2. Deviation: energies are physical (J), external forces act in both formulas, and BDF2
starts by a step of BDF1 rather than by a copy of the state.
"""

from simcli.kernels.barrier.friction import keep_anchors
from simcli.kernels.blocks import SIZE
from simcli.kernels.elementary import select
from simcli.kernels.external_forces import load_links
from simcli.kernels.language import ti
from simcli.kernels.potentials.energy import find_slopes, follow_rows, work_of_step
from simcli.kernels.potentials.paces import aim_laws, commit_laws, open_laws
from simcli.kernels.potentials.shares import mean_force
from simcli.kernels.potentials.springs import aim_springs, measure_rates, open_springs
from simcli.kernels.quadratic import take_state
from simcli.kernels.signals import drive
from simcli.kernels.tree import vector_at
from simcli.solvers.affine.breaks import find_breaks, keep_regimes
from simcli.solvers.affine.given import follow_given, give_rates, lead, stay
from simcli.solvers.affine.holds import find_aims, work_of_holds
from simcli.solvers.affine.newton import minimise
from simcli.solvers.affine.places import place_affine
from simcli.solvers.shared.clock import LEAN
from simcli.solvers.tree.integrators import H

SQRT_2 = 2.0**0.5
TRIALS = 3  # searches of a call of `step_affine`, at most; see there


@ti.func
def step_affine(c: ti.template(), w: ti.i32, h: ti.template(), t: ti.template(), steps: ti.i32):
    """One step of length h [s] that ends at t; of no steps, the energies of the initial state.

    A step of bdf2 in which contacts or limits begin or end is taken again by bdf1, in the worlds where it is.

    The joints of the initial state are closed, so that their energies give no force. The accelerations and reactions of
    frame 0 are those of a step that is tried from there,

        x = x_0 + h v_0 + h^2 a / 2,   M a = - V'(x):    alpha = sqrt(2)/h,  x_h = x_0 + (h - 1/alpha) v_0

    because the acceleration of bdf1 lacks half of what turns a velocity. First the springs' lengths are measured, then the
    step is tried, then the state is evaluated where it was.

    Reads:  c
    Writes: c.state.{q, qd}, c.step, c.potential, c.multipliers, c.forces.work
    """
    c.step.asks.store(w, 0, c.tables.arena.zero() + 1.0)
    c.step.iterations.store(w, 0, c.tables.arena.zero())
    if ti.static(c.touches):
        c.barrier.crowded.store(w, 0, c.tables.arena.zero())
    if steps > 0:
        open_step(c, w)
    else:
        begin(c, w)
    again = 1
    for k in range(TRIALS):
        if again != 0:
            moves = ti.cast((steps > 0) | (k == 1), ti.i32)
            if moves != 0:
                choose_formula(c, w, h, steps)
                predict(c, w, h, t)
            minimise(c, w, moves, (k + 1) * c.max_iterations)
            again = 0
            if steps == 0:
                if k == 0:
                    open_step(c, w)
                    follow_rows(c.potential, w, c.potential.rows.next_x)
                    measure_rates(c.potential, w)
                elif k == 1:
                    find_motion(c, w)
                    find_multipliers(c, w)
                    stand_still(c, w)
                again = ti.cast(k < 2, ti.i32)
            elif ti.static(c.restarts):
                if k == 0:
                    again = find_breaks(c, w)
    if steps > 0:
        commit(c, w)
    else:
        c.step.size.store(w, 0, c.tables.arena.zero())
        c.step.iterations.store(w, 0, c.tables.arena.zero())
        c.step.failed.store(w, 0, c.tables.arena.zero())
        if ti.static(c.restarts):
            keep_regimes(c, w)


@ti.func
def begin(c: ti.template(), w: ti.i32):
    """Coordinates of the initial state, and what the first step expects of one before.

    Reads:  c.state
    Writes: c.potential, c.step
    """
    take_state(c.potential.rows, c.state, w)
    for i in range(c.potential.n):
        c.step.start.store(w, i, c.potential.rows.x.load(w, i))
    stand_still(c, w)


@ti.func
def stand_still(c: ti.template(), w: ti.i32):
    """Aim at where the bodies are at t = 0, with the rates that they have.

    Reads:  c.step.start, c.potential
    Writes: c.potential.{rows.x, laws, length_past}, c.step, c.given.goal
    """
    p = c.potential
    z = c.step
    zero = c.tables.arena.zero()
    if ti.static(c.signals.n > 0):
        drive(c.signals, w, 0.0, c.constants.load(w, H) * LEAN[c.precision])
    for b in range(c.tables.n_bodies):
        z.alpha.store(w, b, zero + 1.0 / c.constants.load(w, H))
        z.weight.store(w, b, zero)
    z.lead.store(w, 0, zero - c.constants.load(w, H))
    z.asks.store(w, 0, zero + 1.0)
    for i in range(p.n):
        p.rows.x.store(w, i, z.start.load(w, i))
        z.x_before.store(w, i, z.start.load(w, i))
        z.v_before.store(w, i, p.rows.v.load(w, i))
    aim_laws(p.laws, w, z.weight, z.alpha, z.lead.load(w, 0))
    aim_springs(p, w, z.weight, z.lead.load(w, 0))
    if ti.static(c.given.n > 0):
        stay(c, w)


@ti.func
def open_step(c: ti.template(), w: ti.i32):
    """Where the step begins, and by which formula: the second step of bdf2 knows one before.

    Reads:  c.potential.rows.{x, v}, c.step.age
    Writes: c.step.{start, weight}, c.potential
    """
    z = c.step
    zero = c.tables.arena.zero()
    for b in range(c.tables.n_bodies):
        z.weight.store(w, b, zero)
        if ti.static(c.integrator == "bdf2"):
            z.weight.store(w, b, select(z.age.load(w, b) > 0.0, zero + 1.0 / 3.0, zero))
    for i in range(c.potential.n):
        z.start.store(w, i, c.potential.rows.x.load(w, i))
    open_laws(c.potential.laws, w)
    open_springs(c.potential, w)


@ti.func
def choose_formula(c: ti.template(), w: ti.i32, h: ti.template(), steps: ti.i32):
    """The constants of the step, by whether it is one of bdf1, of bdf2, or tried at the start.

    Reads:  c.step.weight
    Writes: c.step.{alpha, lead}
    """
    z = c.step
    zero = c.tables.arena.zero()
    for b in range(c.tables.n_bodies):
        z.alpha.store(w, b, select(z.weight.load(w, b) > 0.0, zero + 1.5 / h, zero + 1.0 / h))
        if steps == 0:
            z.alpha.store(w, b, zero + SQRT_2 / h)
    z.lead.store(w, 0, zero)
    if steps == 0:
        z.lead.store(w, 0, zero + h * (1.0 - 1.0 / SQRT_2))


@ti.func
def predict(c: ti.template(), w: ti.i32, h: ti.template(), t: ti.template()):
    """The targets y.

    Reads:  c.potential.rows.v, c.step.{start, alpha, weight, lead, x_before, v_before}
    Writes: c.step.{past, target, force}, c.potential, c.given
    """
    z = c.step
    f = c.potential.rows
    zero = c.tables.arena.zero()
    ahead = z.lead.load(w, 0)
    for i in range(f.n):
        weight = z.weight.load(w, i // SIZE)
        alpha = z.alpha.load(w, i // SIZE)
        x = z.start.load(w, i)
        v = f.v.load(w, i)
        past = x + (x - z.x_before.load(w, i)) * weight + v * ahead
        z.past.store(w, i, past)
        z.target.store(w, i, past + (v + (v - z.v_before.load(w, i)) * weight) / alpha)
    if ti.static(c.signals.n > 0):
        drive(c.signals, w, t, -h * LEAN[c.precision])
    find_forces(c, w)
    for i in range(f.n):
        square = z.alpha.load(w, i // SIZE) * z.alpha.load(w, i // SIZE)
        pull = z.force.load(w, i) / (z.mass.load(w, i) * square)
        pull = select(zero + z.mass.load(w, i) > 0.0, pull, zero)
        z.target.store(w, i, z.target.load(w, i) + pull)
    for b in range(c.tables.n_bodies):
        square = z.alpha.load(w, b) * z.alpha.load(w, b)
        for k in ti.static(range(3)):
            at = SIZE * b + k
            z.target.store(w, at, z.target.load(w, at) + c.tables.gravity.load(w, 0).parts[k] / square)
    aim_laws(c.potential.laws, w, z.weight, z.alpha, ahead)
    aim_springs(c.potential, w, z.weight, ahead)
    if ti.static(c.holds.n > 0):
        find_aims(c, w, h)
    if ti.static(c.given.n > 0):
        lead(c, w)


@ti.func
def find_forces(c: ti.template(), w: ti.i32):
    """External forces on the coordinates: wrenches where the free flight c.step.target leads.

        force f, couple m:  F_p = f,   F_k = m x a^k / 2,   a^k the reciprocal vectors, columns of A^-T

    which gives the couple the power m . w for any A. Source: reference/affine-bodies.md B.6. No deviation.

    Reads:  c.step.target, c.forces
    Writes: c.step.force, c.state
    """
    z = c.step
    for i in range(c.potential.n):
        z.force.store(w, i, c.tables.arena.zero())
    if ti.static(c.forces.n_wrenches > 0):
        place_affine(c, w, z.target, c.potential.rows.v)
        load_links(c.tables, c.forces, c.state, w)
        for b in range(c.tables.n_bodies):
            pull = c.state.external.load(w, b)
            a = [vector_at(z.target, w, 12 * b + 3 + 3 * k) for k in range(3)]
            volume = 1.0 / a[0].dot(a[1].cross(a[2]))
            for k in ti.static(range(3)):
                z.force.store(w, 12 * b + k, pull.force.parts[k])
                couple = pull.moment.cross(a[(k + 1) % 3].cross(a[(k + 2) % 3])) * (volume * 0.5)
                for m in ti.static(range(3)):
                    z.force.store(w, 12 * b + 3 + 3 * k + m, couple.parts[m])


@ti.func
def find_motion(c: ti.template(), w: ti.i32):
    """Velocities at the end of the step and accelerations alpha (v - v_h), those that the inertia of the step is of.

    Reads:  c.step, c.potential.rows
    Writes: c.step.{next_v, acceleration}
    """
    z = c.step
    f = c.potential.rows
    for i in range(f.n):
        z.next_v.store(w, i, (f.x.load(w, i) - z.past.load(w, i)) * z.alpha.load(w, i // SIZE))
    if ti.static(c.given.n > 0):
        give_rates(c, w)
    for i in range(f.n):
        v = f.v.load(w, i)
        past = v + (v - z.v_before.load(w, i)) * z.weight.load(w, i // SIZE)
        z.acceleration.store(w, i, (z.next_v.load(w, i) - past) * z.alpha.load(w, i // SIZE))


@ti.func
def find_multipliers(c: ti.template(), w: ti.i32):
    """Forces of the rows, - dV/dphi, where everything was evaluated last.

    Reads:  c.potential
    Writes: c.multipliers, c.potential.{first, second, cross}
    """
    find_slopes(c.potential, w, c.tables.arena.zero() + 1.0)
    for r in range(c.n_rows):
        c.multipliers.store(w, r, -c.potential.first.load(w, r))


@ti.func
def commit(c: ti.template(), w: ti.i32):
    """Velocities at the end of the step, and the work, see `work_of_step`.

    Reads:  c.step, c.potential
    Writes: c.potential.rows.v, c.step.{x_before, v_before, age}, c.given, c.forces.work, c.barrier.anchors
    """
    z = c.step
    f = c.potential.rows
    supplied = c.tables.arena.zero()
    find_motion(c, w)
    for i in range(f.n):
        start = z.start.load(w, i)
        force = mean_force(z.force, z.force_before, w, i, z.weight.load(w, i // SIZE))
        supplied = supplied + force * (f.x.load(w, i) - start)
        z.force_before.store(w, i, z.force.load(w, i))
        z.x_before.store(w, i, start)
        z.v_before.store(w, i, f.v.load(w, i))
        f.v.store(w, i, z.next_v.load(w, i))
    if ti.static(c.holds.n > 0):
        supplied = supplied + work_of_holds(c, w)
    if ti.static(c.given.n > 0):
        supplied = supplied + follow_given(c, w)
    commit_laws(c.potential.laws, w, z.alpha)
    dissipated, driven = work_of_step(c.potential, w, z.weight)
    if ti.static(c.touches):
        if ti.static(c.barrier.has_friction):
            dissipated = dissipated + select(c.health.load(w, 0) == 0.0, c.barrier.taken.load(w, 0), supplied * 0.0)
            keep_anchors(c.barrier, w, f.x)
    c.forces.work.store(w, 0, c.forces.work.load(w, 0) + dissipated)
    c.forces.work.store(w, 1, c.forces.work.load(w, 1) + driven + supplied)
    for b in range(c.tables.n_bodies):
        z.age.store(w, b, z.age.load(w, b) + 1.0)
        if ti.static(c.restarts):
            z.age.store(w, b, select(z.breaks.load(w, b) > 0.0, c.tables.arena.zero(), z.age.load(w, b)))
    if ti.static(c.restarts):
        keep_regimes(c, w)
