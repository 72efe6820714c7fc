"""Stages of a step of affine bodies: where it begins, its formula, its targets, what it leaves. The lists: programs.py.

Functions of the core c and a block w. What differs between integrators is another stage, or a number in memory: the weight
of the step before, the pace alpha, the lead of the trial at t = 0 (`StepMemory`).
"""

from simcli.kernels.articulation.kinematics import vector_at
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.device.sparse_factors import AFFINE_DOFS
from simcli.kernels.device.stage_lists import sum_of, when
from simcli.kernels.forces.signals import drive
from simcli.kernels.forces.wrenches import load_links
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.potentials.energy import find_slopes, follow_rows, work_of_step
from simcli.kernels.potentials.polar import place_affine
from simcli.kernels.potentials.potential_terms import carried_on, commit_laws, extrapolate_laws, mean_force, open_laws
from simcli.kernels.potentials.springs import extrapolate_springs, measure_rates, open_springs
from simcli.kernels.rows.quadratic import take_state
from simcli.solvers.affine.drags import work_of_drags
from simcli.solvers.affine.holds import work_of_holds
from simcli.solvers.affine.kinematic_bodies import follow_kinematic, give_rates
from simcli.solvers.base import needs
from simcli.solvers.base.clock import LEAN, steps_before
from simcli.solvers.base.integrators import H

SQRT_2 = 2.0**0.5


@ti.func
def begin(c: ti.template(), w: ti.i32):
    """Coordinates of the initial state.

    Reads:  c.state
    Writes: c.potential.rows.{x, v}, c.step.start
    """
    take_state(c.potential.rows, c.state, w)
    copy(c.step.start, c.potential.rows.x, c.potential.n, w)


@ti.func
def count_anew(c: ti.template(), w: ti.i32):
    """Iterations of a step, and contacts that there is no room for.

    Writes: c.step.{iterations, allowed, failed, size}, c.barrier.crowded
    """
    zero = c.tables.arena.zero()
    c.step.iterations.store(w, 0, zero)
    c.step.allowed.store(w, 0, zero)
    c.step.failed.store(w, 0, zero)
    c.step.size.store(w, 0, zero)
    _clear_overflow(c, w)


@needs.touching
def _clear_overflow(c, w):
    c.barrier.crowded.store(w, 0, c.tables.arena.zero())


@ti.func
def stand_still(c: ti.template(), w: ti.i32):
    """Aim at where the bodies are at t = 0, with the rates that they have.

    Reads:  c.step.start
    Writes: c.potential.rows.x, c.step.{alpha, lead, x_before, v_before}
    """
    z = c.step
    zero = c.tables.arena.zero()
    h = c.constants.load(w, H)
    for b in range(c.tables.n_bodies):
        z.alpha.store(w, b, zero + 1.0 / h)
    z.lead.store(w, 0, zero - h)
    copy(c.potential.rows.x, z.start, c.potential.n, w)
    copy(z.x_before, z.start, c.potential.n, w)
    copy(z.v_before, c.potential.rows.v, c.potential.n, w)


@ti.func
def follow_start(c: ti.template(), w: ti.i32):
    """What signals drive, at t = 0."""
    drive(c.signals, w, 0.0, c.constants.load(w, H) * LEAN[c.precision])


@ti.func
def follow_end(c: ti.template(), w: ti.i32):
    """What signals drive, where the step ends. The number of the step is whole: see `time_of`."""
    h = c.constants.load(w, H)
    number = steps_before(c, w) + c.now.load(w, "step") + 1
    drive(c.signals, w, h * c.ages.pack(w, number), -h * LEAN[c.precision])


@ti.func
def open_step(c: ti.template(), w: ti.i32):
    """Where the step begins.

    Reads:  c.potential.rows.x
    Writes: c.step.start, c.potential
    """
    copy(c.step.start, c.potential.rows.x, c.potential.n, w)
    open_laws(c.potential.laws, w)
    open_springs(c.potential, w)


@ti.func
def measure_lengths(c: ti.template(), w: ti.i32):
    """Rates of the springs' lengths at t = 0, when no step before knows them."""
    follow_rows(c.potential, w, c.potential.rows.next_x)
    measure_rates(c.potential, w)


@ti.func
def extend_bdf_history(c: ti.template(), w: ti.i32):
    """The second step of bdf2 knows one before.

    Reads:  c.step.age
    Writes: c.step.weight
    """
    zero = c.tables.arena.zero()
    for b in range(c.tables.n_bodies):
        c.step.weight.store(w, b, select(c.step.age.load(w, b) > 0.0, zero + 1.0 / 3.0, zero))


@ti.func
def choose_bdf(c: ti.template(), w: ti.i32):
    """Coefficients of bdf1 or bdf2 for each body, by its weight of the step before.

    Reads:  c.step.weight
    Writes: c.step.{alpha, lead}
    """
    z = c.step
    zero = c.tables.arena.zero()
    h = c.constants.load(w, H)
    for b in range(c.tables.n_bodies):
        z.alpha.store(w, b, select(z.weight.load(w, b) > 0.0, zero + 1.5 / h, zero + 1.0 / h))
    z.lead.store(w, 0, zero)


@ti.func
def choose_trial(c: ti.template(), w: ti.i32):
    """The pace and the lead of the step that is tried at t = 0, see programs.py.

    Writes: c.step.{alpha, lead}
    """
    zero = c.tables.arena.zero()
    h = c.constants.load(w, H)
    for b in range(c.tables.n_bodies):
        c.step.alpha.store(w, b, zero + SQRT_2 / h)
    c.step.lead.store(w, 0, zero + h * (1.0 - 1.0 / SQRT_2))


@ti.func
def fly_free(c: ti.template(), w: ti.i32):
    """The past x_h, and the target of a free flight without forces, x_h + v_h / alpha.

    Reads:  c.potential.rows.v, c.step.{start, alpha, weight, lead, x_before, v_before}
    Writes: c.step.{past, target}
    """
    z = c.step
    ahead = z.lead.load(w, 0)
    for i in range(c.potential.n):
        weight = z.weight.load(w, i // AFFINE_DOFS)
        x = z.start.load(w, i)
        v = c.potential.rows.v.load(w, i)
        past = carried_on(x, z.x_before.load(w, i), weight) + v * ahead
        z.past.store(w, i, past)
        z.target.store(w, i, past + carried_on(v, z.v_before.load(w, i), weight) / z.alpha.load(w, i // AFFINE_DOFS))


@ti.func
def come_to_rest(c: ti.template(), w: ti.i32):
    """Take from quasi-static bodies the velocity of the step before: y = x_n + a / alpha^2.

    So inertia resists only what a step moves, and the steps lead down the energies to an equilibrium.

    Source: libuipc's bodies that are not dynamic. No deviation.

    Reads:  c.step.keeps
    Writes: c.potential.rows.v
    """
    for i in range(c.potential.n):
        c.potential.rows.v.store(w, i, c.potential.rows.v.load(w, i) * c.step.keeps.load(w, i // AFFINE_DOFS))


@ti.func
def load_wrenches(c: ti.template(), w: ti.i32):
    """External forces on the coordinates: wrenches where the free flight c.step.target leads.

        force f, couple m:  F_p = f,   F_k = m x a^k / 2,   a^k the reciprocal vectors, columns of A^-T

    which gives the couple the power m . w for any A.

    Reads:  c.step.target, c.forces
    Writes: c.step.force, c.state
    """
    z = c.step
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
def fall(c: ti.template(), w: ti.i32):
    """The targets y: what external forces and gravity add to the free flight.

    Reads:  c.step.{force, alpha}
    Writes: c.step.target
    """
    z = c.step
    zero = c.tables.arena.zero()
    for i in range(c.potential.n):
        square = z.alpha.load(w, i // AFFINE_DOFS) * z.alpha.load(w, i // AFFINE_DOFS)
        pull = z.force.load(w, i) / (z.mass.load(w, i) * square)
        pull = select(zero + z.mass.load(w, i) > 0.0, pull, zero)
        z.target.store(w, i, z.target.load(w, i) + pull)
    for b in range(c.tables.n_bodies):
        square = z.alpha.load(w, b) * z.alpha.load(w, b)
        for k in ti.static(range(3)):
            at = AFFINE_DOFS * b + k
            pull = c.tables.gravity.load(w, 0).parts[k] * z.falls.load(w, b)
            z.target.store(w, at, z.target.load(w, at) + pull / square)


@ti.func
def aim(c: ti.template(), w: ti.i32):
    """Aims of the coordinates and lengths that energies act on.

    Reads:  c.step.{weight, alpha, lead}
    Writes: c.potential
    """
    z = c.step
    extrapolate_laws(c.potential.laws, w, z.weight, z.alpha, z.lead.load(w, 0))
    extrapolate_springs(c.potential, w, z.weight, z.lead.load(w, 0))


@ti.func
def find_motion(c: ti.template(), w: ti.i32):
    """Velocities at the end of the step and accelerations alpha (v - v_h), those that the inertia of the step is of.

    Reads:  c.step, c.potential.rows
    Writes: c.step.{next_v, acceleration}
    """
    z = c.step
    f = c.potential.rows
    for i in range(f.n):
        z.next_v.store(w, i, (f.x.load(w, i) - z.past.load(w, i)) * z.alpha.load(w, i // AFFINE_DOFS))
    give_rates(c, w)
    for i in range(f.n):
        v = f.v.load(w, i)
        past = carried_on(v, z.v_before.load(w, i), z.weight.load(w, i // AFFINE_DOFS))
        z.acceleration.store(w, i, (z.next_v.load(w, i) - past) * z.alpha.load(w, i // AFFINE_DOFS))


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
def account(c: ti.template(), w: ti.i32):
    """Work of the step, see `work_of_step`.

    Reads:  c.step, c.potential
    Writes: c.forces.account.work, c.step.force_before, c.kinematic, c.holds, c.drags, c.potential
    """
    z = c.step
    supplied = c.tables.arena.zero()
    for i in range(c.potential.n):
        force = mean_force(z.force, z.force_before, w, i, z.weight.load(w, i // AFFINE_DOFS))
        supplied = supplied + force * (c.potential.rows.x.load(w, i) - z.start.load(w, i))
        z.force_before.store(w, i, z.force.load(w, i))
    supplied = sum_of(c.supplied, supplied, c, w)
    dissipated, driven = work_of_step(c.potential, w, z.weight)
    dissipated, supplied = _with_drags(c, w, dissipated, supplied)
    c.forces.account.dissipate(w, sum_of(c.dissipated, dissipated, c, w))
    c.forces.account.supply(w, driven + supplied)


def _with_drags(c, w, dissipated, supplied):
    """[J], dissipated and supplied, with what a medium does (inside kernels)."""
    if not c.drags.n:
        return dissipated, supplied
    dragged, blown = work_of_drags(c, w)
    return dissipated + dragged, supplied + blown


def supplied(c) -> tuple:
    """Stages that find work supplied, besides that of forces and energies."""
    return *when(c.holds.n, work_of_holds), *when(c.kinematic.n, follow_kinematic)


def dissipated(c) -> tuple:
    """Stages that find work dissipated, besides that of energies."""
    return *when(c.step.has_quasi_static, _dissipated_at_rest), *when(c.has_friction, _dissipated_by_friction)


@ti.func
def _dissipated_at_rest(c: ti.template(), w: ti.i32):
    z = c.step
    dissipated = c.tables.arena.zero()
    for i in range(c.potential.n):
        way = (c.potential.rows.x.load(w, i) - z.start.load(w, i)) * z.alpha.load(w, i // AFFINE_DOFS)
        dissipated = dissipated + way * way * z.mass.load(w, i) * (1.0 - z.keeps.load(w, i // AFFINE_DOFS))
    return dissipated


def _dissipated_by_friction(c, w):
    return select(c.health.load(w, 0) == 0.0, c.barrier.dissipated.load(w, 0), c.tables.arena.zero())


@ti.func
def close_step(c: ti.template(), w: ti.i32):
    """Velocities at the end of the step, and what the next one knows of this.

    Reads:  c.step.{start, next_v, alpha}
    Writes: c.potential.{rows.v, laws}, c.step.{x_before, v_before}
    """
    z = c.step
    copy(z.x_before, z.start, c.potential.n, w)
    copy(z.v_before, c.potential.rows.v, c.potential.n, w)
    copy(c.potential.rows.v, z.next_v, c.potential.n, w)
    commit_laws(c.potential.laws, w, z.alpha)


@ti.func
def count_steps(c: ti.template(), w: ti.i32):
    """Steps of the formula.

    Writes: c.step.age
    """
    for b in range(c.tables.n_bodies):
        c.step.age.store(w, b, c.step.age.load(w, b) + 1.0)
