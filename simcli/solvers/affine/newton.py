"""Newton's method for a step of affine bodies along its directions (direction.py): the way, its cap, the line search.

Stages of the lists in programs.py. Everything is evaluated in one place, once per trial point.
"""

from simcli.kernels.articulation.kinematics import store_vector, vector_at
from simcli.kernels.barrier.advancement import cap
from simcli.kernels.barrier.contact_energy import measure_barrier, search_along
from simcli.kernels.barrier.friction import keep_anchors, set_stick_stiffness
from simcli.kernels.device.pack_arrays import copy
from simcli.kernels.device.sparse_factors import AFFINE_DOFS
from simcli.kernels.device.stage_lists import sum_of, when
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import exp_rotation, select
from simcli.kernels.potentials.coordinates import raise_limits
from simcli.kernels.potentials.energy import find_energy
from simcli.solvers.affine.drags import energy_of_drags
from simcli.solvers.affine.holds import energy_of_holds

MAX_HALVINGS = 12


@ti.func
def begin_search(c: ti.template(), w: ti.i32):
    """Without a direction, where the bodies are.

    Reads:  c.health, c.potential.rows.x
    Writes: c.step, c.potential.rows.next_x
    """
    z = c.step
    zero = c.tables.arena.zero()
    z.running.store(w, 0, select(c.health.load(w, 0) == 0.0, zero + 1.0, zero))
    z.allowed.store(w, 0, z.allowed.load(w, 0) + ti.cast(c.max_iterations, c.tables.arena.device.real))
    z.size.store(w, 0, zero + ti.math.inf)
    z.bound.store(w, 0, zero + ti.math.inf)
    z.length.store(w, 0, zero + 1.0)
    z.cap.store(w, 0, zero + 1.0)
    copy(c.potential.rows.next_x, c.potential.rows.x, c.potential.n, w)
    for i in range(c.potential.n):
        z.move.store(w, i, zero)


@ti.func
def end_search(c: ti.template(), w: ti.i32):
    """Whether it has failed.

    Reads:  c.step.{iterations, allowed}
    Writes: c.step.failed
    """
    z = c.step
    zero = c.tables.arena.zero()
    z.failed.store(w, 0, select(z.iterations.load(w, 0) > z.allowed.load(w, 0), zero + 1.0, zero))


def is_running(c, w):
    """The worlds that have not converged."""
    return c.step.running.load(w, 0) > 0.0


@ti.func
def find_way(c: ti.template(), w: ti.i32):
    """The way that a part of the direction leads, c.step.length of it: to the end of an arc where a body turns.

        a_k -> exp([phi]x) (a_k + d_k - phi x a_k),    phi = sum a_k x d_k / 2,   d the part of the direction

    Along d itself a body that turns is stretched. A thin one has little inertia against turning, and much stiffness against
    that: its energy falls along d for so short a way that a step would take thousands of them.

    Reads:  c.step.{move, length}, c.potential.rows.x
    Writes: c.step.way
    """
    z = c.step
    x = c.potential.rows.x
    length = z.length.load(w, 0)
    for i in range(c.potential.n):
        z.way.store(w, i, z.move.load(w, i) * length)
    for b in range(c.tables.n_bodies):
        first = 12 * b + 3
        phi = vector_at(x, w, first).cross(vector_at(z.way, w, first))
        for k in range(1, 3):
            phi = phi + vector_at(x, w, first + 3 * k).cross(vector_at(z.way, w, first + 3 * k))
        phi = phi * 0.5
        turn = exp_rotation(phi).matrix()
        for k in range(3):
            a = vector_at(x, w, first + 3 * k)
            there = turn * (a + vector_at(z.way, w, first + 3 * k) - phi.cross(a))
            store_vector(z.way, w, first + 3 * k, there - a)


@ti.func
def search_contacts(c: ti.template(), w: ti.i32):
    """What may touch along the way.

    Writes: c.barrier
    """
    search_along(c.barrier, w, c.potential.rows.x, c.step.way)


@ti.func
def cut_way(c: ti.template(), w: ti.i32):
    """The part of the way that no contact of a world ends, for all its bodies.

    Reads:  c.barrier
    Writes: c.step.cap
    """
    c.step.cap.store(w, 0, c.tables.arena.zero() + 1.0)
    cap(c.barrier, w, c.step.cap)


def is_cut(c, w):
    """The worlds in which contact has cut the way."""
    return c.step.cap.load(w, 0) < 1.0


@ti.func
def take_way(c: ti.template(), w: ti.i32):
    """Go to the end of the way that is free.

    Reads:  c.step.{way, cap}, c.potential.rows.x
    Writes: c.step.length, c.potential.rows.next_x
    """
    z = c.step
    f = c.potential.rows
    free = z.cap.load(w, 0)
    z.length.store(w, 0, z.length.load(w, 0) * free)
    for i in range(c.potential.n):
        f.next_x.store(w, i, f.x.load(w, i) + z.way.load(w, i) * free)


@ti.func
def stick_contacts(c: ti.template(), w: ti.i32):
    """What friction holds at the start of a step."""
    set_stick_stiffness(c.barrier, w, c.potential.rows.x)


@ti.func
def stop_overflowing(c: ti.template(), w: ti.i32):
    """Stop the worlds with more contacts than there is room for where they are.

    Reads:  c.barrier.crowded
    Writes: c.step.running, c.potential.rows.next_x
    """
    f = c.potential.rows
    crowded = c.barrier.crowded.load(w, 0) > 0.0
    c.step.running.store(w, 0, select(crowded, c.tables.arena.zero(), c.step.running.load(w, 0)))
    for i in range(c.potential.n):
        f.next_x.store(w, i, select(crowded, f.x.load(w, i), f.next_x.load(w, i)))


@ti.func
def find_energies(c: ti.template(), w: ti.i32):
    """[J], the incremental potential at next_x, without contact.

    Writes: c.step.energy, c.potential
    """
    z = c.step
    total = c.tables.arena.zero()
    for b in range(c.tables.n_bodies):
        alpha = z.alpha.load(w, b)
        inertial = c.tables.arena.zero()
        for i in range(AFFINE_DOFS * b, AFFINE_DOFS * (b + 1)):
            gap = c.potential.rows.next_x.load(w, i) - z.target.load(w, i)
            inertial = inertial + gap * gap * z.mass.load(w, i)
        total = total + inertial * (alpha * alpha * 0.5)
    total = sum_of(c.extra_energies, total, c, w)
    z.energy.store(w, 0, total + find_energy(c.potential, w, c.potential.rows.next_x, z.alpha))


def extra_energies(c) -> tuple:
    """Energies of coordinates themselves, besides rows and contacts."""
    return (*when(c.pushes_thin, energy_of_pushes), *when(c.holds.n, energy_of_holds), *when(c.drags.n, energy_of_drags))


@ti.func
def energy_of_pushes(c: ti.template(), w: ti.i32):
    """[J] at next_x, of external forces along coordinates without mass, which no target of an inertia can hold.

    Reads: c.step.{force, thin, start}
    """
    z = c.step
    total = c.tables.arena.zero()
    for i in range(c.potential.n):
        way = c.potential.rows.next_x.load(w, i) - z.start.load(w, i)
        total = total - z.force.load(w, i) * z.thin.load(w, i) * way
    return total


@ti.func
def add_contact_energy(c: ti.template(), w: ti.i32):
    """[J], of contact at next_x.

    Writes: c.step.energy, c.barrier
    """
    measure_barrier(c.barrier, w, c.potential.rows.next_x)
    c.step.energy.store(w, 0, c.step.energy.load(w, 0) + c.barrier.energy.load(w, 0))


def is_unfit(c, w):
    """The worlds whose next_x may not be taken: the energy there has grown, and the direction is not too short to tell.

    Reads: c.step.{energy, bound, size, length, running}
    """
    z = c.step
    short = (z.size.load(w, 0) <= z.tolerance) | (z.length.load(w, 0) <= 0.5**MAX_HALVINGS)
    return ~((z.energy.load(w, 0) <= z.bound.load(w, 0)) | short | (z.running.load(w, 0) == 0.0))


@ti.func
def shorten(c: ti.template(), w: ti.i32):
    """Halve the part of the direction that is taken.

    Writes: c.step.length
    """
    c.step.length.store(w, 0, c.step.length.load(w, 0) * 0.5)


@ti.func
def accept_step(c: ti.template(), w: ti.i32):
    """Take next_x.

    Reads:  c.step.{size, length, energy}, c.potential.rows.next_x
    Writes: c.potential.rows.x, c.step.{done, bound}
    """
    z = c.step
    zero = c.tables.arena.zero()
    copy(c.potential.rows.x, c.potential.rows.next_x, c.potential.n, w)
    small = (z.size.load(w, 0) <= z.tolerance) & (z.length.load(w, 0) == 1.0)
    z.done.store(w, 0, select(small & (z.running.load(w, 0) > 0.0), zero + 1.0, zero))
    energy = z.energy.load(w, 0)
    z.bound.store(w, 0, energy + ti.abs(energy) * z.rounding)


def has_arrived(c, w):
    """The worlds whose last displacement was small enough."""
    return c.step.done.load(w, 0) > 0.0


@ti.func
def raise_forces(c: ti.template(), w: ti.i32):
    """Raise the forces of hard limits that still give. The energy is another one then: nothing to compare with.

    Writes: c.potential.laws.push, c.step.{done, bound}
    """
    z = c.step
    zero = c.tables.arena.zero()
    residual = raise_limits(c.potential, w, z.tolerance)
    z.bound.store(w, 0, zero + ti.math.inf)
    z.done.store(w, 0, select(residual <= z.tolerance, z.done.load(w, 0), zero))


@ti.func
def count_iteration(c: ti.template(), w: ti.i32):
    """End the worlds that have converged, or have had their iterations.

    Reads:  c.step.{done, allowed}
    Writes: c.step.{running, iterations}
    """
    z = c.step
    zero = c.tables.arena.zero()
    done = z.done.load(w, 0) > 0.0
    count = z.iterations.load(w, 0) + select(done, zero, z.running.load(w, 0))
    z.iterations.store(w, 0, count)
    z.running.store(w, 0, select(done | (count > z.allowed.load(w, 0)), zero, z.running.load(w, 0)))


@ti.func
def remember_contacts(c: ti.template(), w: ti.i32):
    """What friction holds, for the next step."""
    keep_anchors(c.barrier, w, c.potential.rows.x)
