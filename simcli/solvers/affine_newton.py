"""Newton's method for a step of affine bodies: direction, cap, line search, all lanes of a block side by side.

A lane that has converged keeps its numbers to the bit while the others go on. Where the Hessian is indefinite in a lane, it is
taken without the curvature of the rows, which leaves a sum of squares.
"""

import numpy as np
import taichi as ti

from simcli.kernels.barrier.contact import add, begin, limit, measure
from simcli.kernels.blocks import add_entry, clear_matrix, factorize_blocks, least_pivot, substitute_blocks
from simcli.kernels.coordinate_laws import raise_pushes
from simcli.kernels.elementary import select
from simcli.kernels.memory import Arena, any_lane
from simcli.kernels.potentials import add_gradient, add_hessian, find_energy, find_slopes, follow_rows
from simcli.kernels.tables import Tables
from simcli.model.tables import Model

MAX_HALVINGS = 12
# Growth of the energy that is rounding, relative to the energy; of steps longer than the tolerance.
ROUNDING = {"float64": 1e-11, "float32": 1e-4}
# Displacements [m, for bodies of size 1 m] that cannot be told from none.
TIGHT = {"float64": 1e-14, "float32": 2e-6}
HALF_SIDE = 3.0  # half the side of a box with the second moment S and the mass m is sqrt(3 S / m)


class StepMemory:
    """What a step knows.

    Args:
        n: unknowns.
        model, tables, arena: of the run.
        tolerance: [m] of the last displacement.

    Attributes:
        alpha: [1/s].  age: steps made.
        start, past, target, force: x_n, x_h, y, external forces, by unknown.  x_before, v_before: one step earlier.
        move: Newton's direction.  length: part of it that is taken.  cap: part of it that contact allows.
        running: 1 in lanes that have not converged.  curve: 1 in lanes with the whole Hessian.  energy: [J].
        size: [m], largest displacement by the whole direction.  iterations, failed: of the last step.
        mass: weights.  extent: [m], by body, of its points from its centre.
    """

    _data_oriented = True

    def __init__(self, n: int, model: Model, tables: Tables, arena: Arena, tolerance: float):
        self.tolerance = max(tolerance, TIGHT[arena.device.precision])
        self.rounding = ROUNDING[arena.device.precision]
        for name in ("alpha", "age", "length", "cap", "running", "curve", "energy", "size", "iterations", "failed"):
            setattr(self, name, arena.slot(1))
        for name in ("start", "past", "target", "force", "x_before", "v_before", "move"):
            setattr(self, name, arena.slot(n))
        mass = (model.columns.weight - model.columns.excess)[:, -n:]
        self.mass = tables.column(mass)
        blocks = mass.reshape(len(mass), model.n_bodies, 4, 3)[..., 0]
        extent = np.sqrt(HALF_SIDE * blocks[..., 1:].max(axis=-1) / blocks[..., 0])
        self.extent = tables.column(extent)

    def clear(self):
        """Before the first step."""
        for slot in (self.age, self.iterations, self.failed, self.size, self.x_before, self.v_before, self.force):
            slot.write(np.zeros((1, slot.n_items, 1)))
        self.alpha.write(np.ones((1, 1, 1)))


@ti.func
def minimise(c: ti.template(), w: ti.i32):
    """Move c.potential.rows.x to the minimum.

    Reads:  c.step.{target, alpha}, c.health
    Writes: c.potential, c.step.{running, iterations, failed, size}
    """
    z = c.step
    zero = c.tables.arena.zero()
    z.running.store(w, 0, select(c.health.load(w, 0) == 0.0, zero + 1.0, zero))
    z.iterations.store(w, 0, zero)
    if ti.static(c.touches):
        begin(c.barrier, w, c.potential.rows.x, z.running)
    going = 1
    for _ in range(c.max_iterations):
        if going != 0:
            find_direction(c, w)
            measure_direction(c, w)
            if ti.static(c.touches):
                limit(c.barrier, w, c.potential.rows.x, z.move, z.cap, z.running)
            search(c, w)
            settle(c, w)
            going = ti.cast(any_lane(z.running.load(w, 0) > 0.0), ti.i32)
    z.failed.store(w, 0, z.running.load(w, 0))
    z.energy.store(w, 0, total_energy(c, w, c.potential.rows.x))  # leaves residuals and coordinates of the end


@ti.func
def total_energy(c: ti.template(), w: ti.i32, x: ti.template()):
    """[J], the incremental potential at x.

    Writes: c.potential.{rows.residual, laws.now}, c.barrier
    """
    z = c.step
    alpha = z.alpha.load(w, 0)
    total = c.tables.arena.zero()
    for i in range(c.potential.n):
        gap = x.load(w, i) - z.target.load(w, i)
        total = total + gap * gap * z.mass.load(w, i)
    total = total * (alpha * alpha * 0.5) + find_energy(c.potential, w, x, alpha)
    if ti.static(c.touches):
        measure(c.barrier, w, x, z.running)
        total = total + c.barrier.energy.load(w, 0)
    return total


@ti.func
def find_direction(c: ti.template(), w: ti.i32):
    """Newton's direction at x, and the energy there.

    Writes: c.step.{move, energy, curve}, c.potential
    """
    z = c.step
    p = c.potential
    zero = c.tables.arena.zero()
    z.energy.store(w, 0, total_energy(c, w, p.rows.x))
    follow_rows(p, w, p.rows.x)
    z.curve.store(w, 0, zero + 1.0)
    build(c, w)
    lacks = (least_pivot(p.matrix, w) <= 0.0) & (z.running.load(w, 0) > 0.0)
    if any_lane(lacks):
        z.curve.store(w, 0, select(lacks, zero, zero + 1.0))
        build(c, w)
    x = p.matrix.factor
    for i in range(p.n):
        x.x.store(w, x.position.at(i), -p.gradient.load(w, i))
    substitute_blocks(p.matrix, w)
    for i in range(p.n):
        z.move.store(w, i, x.x.load(w, x.position.at(i)))


@ti.func
def build(c: ti.template(), w: ti.i32):
    """Gradient and factor of the Hessian at x.

    Reads:  c.step.{curve, alpha, target}
    Writes: c.potential.{gradient, matrix}
    """
    z = c.step
    p = c.potential
    alpha = z.alpha.load(w, 0)
    curve = z.curve.load(w, 0)
    square = alpha * alpha
    clear_matrix(p.matrix, w)
    for i in range(p.n):
        mass = square * z.mass.load(w, i)
        p.gradient.store(w, i, (p.rows.x.load(w, i) - z.target.load(w, i)) * mass)
        add_entry(p.matrix, w, c.diagonal.at(i), mass)
    find_slopes(p, w, alpha, curve)
    add_gradient(p, w)
    add_hessian(p, w, curve)
    if ti.static(c.touches):
        add(c.barrier, w, p.rows.x, p.gradient, p.matrix, z.running, False)
    factorize_blocks(p.matrix, w)


@ti.func
def measure_direction(c: ti.template(), w: ti.i32):
    """Size of the direction [m]: displacement of the centre and of points at the extent of each body.

    Writes: c.step.{size, cap}
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
    z.cap.store(w, 0, c.tables.arena.zero() + 1.0)


@ti.func
def search(c: ti.template(), w: ti.i32):
    """Take the largest part of the direction, halving from the cap, with which the energy does not grow.

    A direction below the tolerance is taken whole: what the energy then changes may be rounding.

    Reads:  c.step.{move, cap, size, energy}
    Writes: c.step.length, c.potential.rows.{x, next_x}
    """
    z = c.step
    f = c.potential.rows
    running = z.running.load(w, 0) > 0.0
    energy = z.energy.load(w, 0)
    bound = energy + ti.abs(energy) * z.rounding
    z.length.store(w, 0, z.cap.load(w, 0))
    going = 1
    for _ in range(MAX_HALVINGS):
        if going != 0:
            length = z.length.load(w, 0)
            for i in range(c.potential.n):
                f.next_x.store(w, i, f.x.load(w, i) + z.move.load(w, i) * length)
            fits = (total_energy(c, w, f.next_x) <= bound) | (z.size.load(w, 0) <= z.tolerance) | ~running
            z.length.store(w, 0, select(fits, length, length * 0.5))
            going = ti.cast(any_lane(~fits), ti.i32)
    for i in range(c.potential.n):
        x = f.x.load(w, i)
        f.x.store(w, i, select(running, x + z.move.load(w, i) * z.length.load(w, 0), x))


@ti.func
def settle(c: ti.template(), w: ti.i32):
    """End the lanes that have converged; where hard limits still give, raise their forces and go on.

    Reads:  c.step.{size, length}
    Writes: c.step.{running, iterations}, c.potential.laws.push
    """
    z = c.step
    y = c.potential.laws
    running = z.running.load(w, 0) > 0.0
    z.iterations.store(w, 0, z.iterations.load(w, 0) + z.running.load(w, 0))
    done = running & (z.size.load(w, 0) <= z.tolerance) & (z.length.load(w, 0) == 1.0)
    if ti.static(y.n > 0):
        if any_lane(done):
            _energy = total_energy(c, w, c.potential.rows.x)
            gives = c.tables.arena.zero()
            for k in range(y.n):
                gives = ti.max(gives, raise_pushes(y, w, y.now.load(w, k), k, done))
            done = done & (gives <= z.tolerance)
    z.running.store(w, 0, select(done, c.tables.arena.zero(), z.running.load(w, 0)))
