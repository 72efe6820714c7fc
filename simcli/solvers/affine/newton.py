"""Newton's method for a step of affine bodies: direction, cap, line search, all lanes of a block side by side.

Everything is evaluated in one place, once per trial point: a kernel that holds the laws twice compiles twice as long.

A lane that has converged keeps its numbers to the bit while the others go on. Where the Hessian is indefinite in a lane, it
is taken without the curvature of the rows, which leaves a sum of squares.
"""

import numpy as np

from simcli.kernels.barrier.contact import add, measure, reach
from simcli.kernels.barrier.friction import grip
from simcli.kernels.blocks import SIZE, add_entry, clear_matrix, factorize_blocks, least_pivot, substitute_blocks
from simcli.kernels.elementary import exp_rotation, select
from simcli.kernels.language import ti
from simcli.kernels.memory import Arena, any_lane
from simcli.kernels.potentials.coordinates import cap_at_limits, raise_limits
from simcli.kernels.potentials.energy import add_gradient, add_hessian, find_energy, find_slopes, follow_rows
from simcli.kernels.tables import Tables
from simcli.kernels.tree import store_vector, vector_at
from simcli.model.natural import largest_moments
from simcli.model.tables import Model
from simcli.solvers.affine.given import arrive, go_straight, is_on_its_way, take_given
from simcli.solvers.affine.holds import add_holds, energy_of_holds

MAX_HALVINGS = 12
# Growth of the energy that is rounding, relative to the energy; of steps longer than the tolerance.
ROUNDING = {"float64": 1e-11, "float32": 1e-4}
# Displacements [m, for bodies of size 1 m] that cannot be told from none.
TIGHT = {"float64": 1e-14, "float32": 2e-6}
MOST_ARCS = 3  # ways that are tried where contact cuts them; of the last one, the free part is taken
HALF_SIDE = 3.0  # half the side of a box with the second moment S and the mass m is sqrt(3 S / m)


class StepMemory:
    """What a step knows.

    Args:
        n: unknowns.
        model, tables, arena: of the run.
        tolerance: [m] of the last displacement.

    Attributes:
        alpha, weight, age, breaks, pattern: (B), of the formula of each body.
        alpha: [1/s].  weight: of the step before, 1/3 in bdf2.  age: steps since the formula began.
        breaks: 1 where something else acts at the end of the step than at its start; pattern: what touched there.
        lead: [s], of the velocity in x_h, 0 but at t = 0.
        asks: 1 in lanes that the search at hand is for; the others keep what they have.
        start, past, target, force: x_n, x_h, y, external forces, by unknown.  x_before, v_before, force_before: one step
            earlier.
        next_v, acceleration: at the end of the step.
        move: Newton's direction.  length: part of it that is taken.  way: to where that leads.  cap: part of the way that
            contact leaves free.  aims: 1 in lanes whose next point is not found yet.
        running: 1 in lanes that have not converged.  curve: 1 in lanes with the whole Hessian.  energy: [J] next_x may have.
        size: [m], largest displacement by the whole direction.  iterations, failed: of the last step.
        mass: weights.  extent: [m], by body, of its points from its centre; of a point mass its arm.
        thin: 1 for coordinates of moving bodies along which there is no mass.  has_thin: whether there are any.
    """

    _data_oriented = True

    def __init__(self, n: int, model: Model, tables: Tables, arena: Arena, tolerance: float):
        self.tolerance = max(tolerance, TIGHT[arena.device.precision])
        self.rounding = ROUNDING[arena.device.precision]
        unknowns = arena.records(n)
        for name in ("alpha", "weight", "age", "breaks", "pattern"):
            setattr(self, name, tables.bodies.slot())
        for name in ("lead", "asks", "length", "cap", "aims", "running", "curve",
                     "energy", "size", "iterations", "failed"):  # fmt: skip
            setattr(self, name, arena.single.slot())
        for name in ("start", "past", "target", "force", "force_before", "x_before", "v_before", "next_v", "acceleration",
                     "move", "way"):  # fmt: skip
            setattr(self, name, unknowns.slot())
        self.mass = unknowns.column((model.columns.weight - model.columns.excess)[:, -n:])
        blocks = blocks_of(model)
        weighs = blocks[..., 0] > 0.0
        extent = np.sqrt(HALF_SIDE * largest_moments(model, blocks[..., 1:]) / np.where(weighs, blocks[..., 0], 1.0))
        self.extent = tables.bodies.column(np.where(weighs, extent, 0.0))
        thin = ((blocks <= 0.0) & ~model.bodies.kinematic[:, None]).repeat(3, axis=-1)
        self.thin, self.has_thin = unknowns.column(1.0 * thin.reshape(len(thin), n)), bool(thin.any())

    def clear(self):
        """Before the first step."""
        for name in ("age", "breaks", "pattern", "weight", "iterations", "failed", "size", "x_before", "v_before", "force",
                     "force_before"):  # fmt: skip
            slot = getattr(self, name)
            slot.write(np.zeros((1, slot.n_items, 1)))
        self.alpha.write(np.ones((1, self.alpha.n_items, 1)))


def blocks_of(model: Model) -> np.ndarray:
    """[kg, kg m^2], (W|1, B, 4): weights of the position and of the vectors of each body."""
    weight = (model.columns.weight - model.columns.excess)[:, -12 * model.n_bodies :]
    return weight.reshape(len(weight), model.n_bodies, 4, 3)[..., 0]


@ti.func
def minimise(c: ti.template(), w: ti.i32, moves: ti.i32, most: ti.i32):
    """Move c.potential.rows.x to the minimum, by evaluations at next_x that shorten a direction or find a new one.

    Args:
        moves: 0 to evaluate where the bodies are, and no more.
        most: iterations that the step may have taken by the end of this search.

    Reads:  c.step.{target, alpha, asks}, c.health
    Writes: c.potential, c.step.{running, iterations, failed, size}
    """
    z = c.step
    f = c.potential.rows
    zero = c.tables.arena.zero()
    z.running.store(w, 0, select(c.health.load(w, 0) == 0.0, z.asks.load(w, 0), zero))
    z.size.store(w, 0, select(z.asks.load(w, 0) > 0.0, zero + ti.math.inf, z.size.load(w, 0)))
    z.length.store(w, 0, zero + 1.0)
    z.energy.store(w, 0, zero + ti.math.inf)
    for i in range(c.potential.n):
        f.next_x.store(w, i, f.x.load(w, i))
        z.move.store(w, i, zero)
    z.aims.store(w, 0, z.running.load(w, 0))
    going = 1
    turn = 0
    for _ in range(c.max_iterations * (MAX_HALVINGS + 1)):
        if going != 0:
            go_along(c, w)
            if ti.static(c.touches):
                open_contact(c, w, turn)
            energy = total_energy(c, w)
            fit = fits(c, w, energy)
            if moves == 0:
                going = 0
            elif any_lane(~fit):
                shorten(c, w, fit)
            else:
                settle(c, w, energy, most)
                going = ti.cast(any_lane(z.running.load(w, 0) > 0.0), ti.i32)
                if going != 0:
                    find_direction(c, w)
            turn += 1
    fails = select(z.iterations.load(w, 0) > ti.cast(most, c.tables.arena.device.real), zero + 1.0, zero)
    z.failed.store(w, 0, select(z.asks.load(w, 0) > 0.0, fails, z.failed.load(w, 0)))


@ti.func
def go_along(c: ti.template(), w: ti.i32):
    """Next_x at c.step.length of the direction, or less where contact asks for it, in lanes that aim.

    Where contact cuts the way, a shorter arc ends elsewhere than part of the way does: it is tried in turn.

    Reads:  c.step.{move, aims}
    Writes: c.barrier, c.step.{length, cap}, c.potential.rows.next_x
    """
    z = c.step
    zero = c.tables.arena.zero()
    f = c.potential.rows
    going = 1
    for _ in range(MOST_ARCS if ti.static(c.touches) else 1):
        if going != 0:
            find_way(c, w)
            z.cap.store(w, 0, zero + 1.0)
            if ti.static(c.touches):
                reach(c.barrier, w, f.x, z.way, z.cap, z.aims)
            aims = z.aims.load(w, 0) > 0.0
            cap = z.cap.load(w, 0)
            z.length.store(w, 0, z.length.load(w, 0) * select(aims, cap, zero + 1.0))
            for i in range(c.potential.n):
                f.next_x.store(w, i, select(aims, f.x.load(w, i) + z.way.load(w, i) * cap, f.next_x.load(w, i)))
            if ti.static(c.given.n > 0):
                is_whole = aims & (z.length.load(w, 0) == 1.0) & (z.size.load(w, 0) < ti.math.inf)  # there is a direction
                arrive(c, w, is_whole)
            z.aims.store(w, 0, select(aims & (cap < 1.0), zero + 1.0, zero))
            going = ti.cast(any_lane(z.aims.load(w, 0) > 0.0), ti.i32)


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
    if ti.static(c.given.n > 0):
        go_straight(c, w, length)


@ti.func
def open_contact(c: ti.template(), w: ti.i32, turn: ti.i32):
    """Stop the worlds with more contacts than there is room for where they are; at a step's start, keep what friction holds.

    Writes: c.barrier, c.step.running, c.potential.rows.next_x
    """
    z = c.step
    f = c.potential.rows
    if ti.static(c.barrier.has_friction):
        if turn == 0:
            grip(c.barrier, w, c.potential.rows.x, z.running)
    crowded = c.barrier.crowded.load(w, 0) > 0.0
    z.running.store(w, 0, select(crowded, c.tables.arena.zero(), z.running.load(w, 0)))
    for i in range(c.potential.n):
        f.next_x.store(w, i, select(crowded, f.x.load(w, i), f.next_x.load(w, i)))


@ti.func
def total_energy(c: ti.template(), w: ti.i32):
    """[J], the incremental potential at next_x.

    Writes: c.potential
    """
    z = c.step
    total = c.tables.arena.zero()
    for b in range(c.tables.n_bodies):
        alpha = z.alpha.load(w, b)
        inertial = c.tables.arena.zero()
        for i in range(SIZE * b, SIZE * (b + 1)):
            gap = c.potential.rows.next_x.load(w, i) - z.target.load(w, i)
            inertial = inertial + gap * gap * z.mass.load(w, i)
        total = total + inertial * (alpha * alpha * 0.5)
    if ti.static(c.pushes_thin):
        total = total + energy_of_pushes(c, w)
    if ti.static(c.holds.n > 0):
        total = total + energy_of_holds(c, w)
    total = total + find_energy(c.potential, w, c.potential.rows.next_x, z.alpha)
    if ti.static(c.touches):
        measure(c.barrier, w, c.potential.rows.next_x, z.running)
        total = total + c.barrier.energy.load(w, 0)
    return total


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


def fits(c, w, energy):
    """Lanes whose next_x may be taken: the energy there has not grown, or the direction is too short to tell.

    Reads: c.step.{energy, size, length, running}
    """
    z = c.step
    bound = z.energy.load(w, 0)
    short = (z.size.load(w, 0) <= z.tolerance) | (z.length.load(w, 0) <= 0.5**MAX_HALVINGS)
    return (energy <= bound) | short | (z.running.load(w, 0) == 0.0)


@ti.func
def shorten(c: ti.template(), w: ti.i32, fit: ti.template()):
    """Halve the part of the direction that is taken, in lanes where next_x does not fit.

    Writes: c.step.{length, aims}
    """
    z = c.step
    length = z.length.load(w, 0)
    z.length.store(w, 0, select(fit, length, length * 0.5))
    z.aims.store(w, 0, select(fit, length * 0.0, length * 0.0 + 1.0))


@ti.func
def settle(c: ti.template(), w: ti.i32, energy: ti.template(), most: ti.i32):
    """Take next_x, and end the lanes that have converged; where hard limits still give, raise their forces and go on.

    Reads:  c.step.{size, length}
    Writes: c.potential.{rows.x, laws.push}, c.step.{running, iterations, energy}
    """
    z = c.step
    f = c.potential.rows
    for i in range(c.potential.n):
        f.x.store(w, i, f.next_x.load(w, i))
    running = z.running.load(w, 0) > 0.0
    done = running & (z.size.load(w, 0) <= z.tolerance) & (z.length.load(w, 0) == 1.0)
    bound = energy + ti.abs(energy) * z.rounding
    if ti.static(c.potential.laws.n > 0):
        if any_lane(done):
            gives = raise_limits(c.potential, w, done, z.tolerance)
            bound = select(done, bound + ti.math.inf, bound)  # of another energy: nothing to compare with
            done = done & (gives <= z.tolerance)
    if ti.static(c.given.n > 0):
        bound = select(is_on_its_way(c, w), bound + ti.math.inf, bound)  # what it takes to arrive is no matter of descent
    z.energy.store(w, 0, bound)
    z.iterations.store(w, 0, z.iterations.load(w, 0) + select(done, z.running.load(w, 0) * 0.0, z.running.load(w, 0)))
    ends = done | (z.iterations.load(w, 0) > ti.cast(most, c.tables.arena.device.real))
    z.running.store(w, 0, select(ends, c.tables.arena.zero(), z.running.load(w, 0)))


@ti.func
def find_direction(c: ti.template(), w: ti.i32):
    """Newton's direction at x, its size, and how much of it limits leave.

    Writes: c.step.{move, curve, size, length, aims}, c.potential
    """
    z = c.step
    p = c.potential
    zero = c.tables.arena.zero()
    follow_rows(p, w, p.rows.next_x)  # the same place as x, with its forms
    z.curve.store(w, 0, zero + 1.0)
    again = 1
    for _ in range(2):
        if again != 0:
            build(c, w)
            lacks = (least_pivot(p.matrix, w) <= 0.0) & (z.running.load(w, 0) > 0.0)
            z.curve.store(w, 0, select(lacks, zero, z.curve.load(w, 0)))
            again = ti.cast(any_lane(lacks), ti.i32)
    x = p.matrix.factor
    for i in range(p.n):
        x.x.store(w, x.position.at(i), -p.gradient.load(w, i))
    substitute_blocks(p.matrix, w)
    for i in range(p.n):
        z.move.store(w, i, x.x.load(w, x.position.at(i)))
    measure_direction(c, w)
    z.aims.store(w, 0, z.running.load(w, 0))


@ti.func
def build(c: ti.template(), w: ti.i32):
    """Gradient and factor of the Hessian at x.

    Reads:  c.step.{curve, alpha, target}
    Writes: c.potential.{gradient, matrix}
    """
    z = c.step
    p = c.potential
    curve = z.curve.load(w, 0)
    clear_matrix(p.matrix, w)
    for i in range(p.n):
        alpha = z.alpha.load(w, i // SIZE)
        mass = alpha * alpha * z.mass.load(w, i)
        p.gradient.store(w, i, (p.rows.x.load(w, i) - z.target.load(w, i)) * mass)
        if ti.static(c.pushes_thin):
            p.gradient.store(w, i, p.gradient.load(w, i) - z.force.load(w, i) * z.thin.load(w, i))
        add_entry(p.matrix, w, c.diagonal.at(i), mass)
    if ti.static(c.holds.n > 0):
        add_holds(c, w)
    find_slopes(p, w, curve)
    add_gradient(p, w)
    add_hessian(p, w, curve)
    if ti.static(c.touches):
        add(c.barrier, w, p.rows.x, p.gradient, p.matrix, z.running, False)
    if ti.static(c.given.n > 0):
        take_given(c, w)
    factorize_blocks(p.matrix, w)


@ti.func
def measure_direction(c: ti.template(), w: ti.i32):
    """Size of the direction [m]: displacement of the centre and of points at the extent of each body.

    Writes: c.step.{size, length}
    """
    z = c.step
    size = c.tables.arena.zero()
    for b in range(c.tables.n_bodies):
        centre = c.tables.arena.zero()
        turn = c.tables.arena.zero()
        for k in range(3):
            centre = ti.max(centre, ti.abs(z.move.load(w, 12 * b + k)))
        for k in range(3, 12):
            turn = ti.max(turn, ti.abs(z.move.load(w, 12 * b + k)))
        size = ti.max(size, centre + turn * z.extent.load(w, b))
    bad = c.tables.arena.zero()
    for i in range(c.potential.n):  # a NaN is lost in a maximum
        bad = bad + z.move.load(w, i) * 0.0
    z.size.store(w, 0, select(z.running.load(w, 0) > 0.0, size + bad, z.size.load(w, 0)))
    cap = c.tables.arena.zero() + 1.0
    if ti.static(c.potential.laws.n > 0):
        cap = cap_at_limits(c.potential, w, z.move, z.tolerance)
    z.length.store(w, 0, cap)
