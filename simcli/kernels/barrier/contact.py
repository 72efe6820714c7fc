"""The doors of barrier contact to a solver, each for the worlds of a block.

In the order of a step: begin; then per iteration add, cap (before it moves), energy (at every trial); at the end `taken`.
"""

import taichi as ti

from simcli.kernels.barrier.advance import cap
from simcli.kernels.barrier.friction import grip, grip_energy, grip_pieces
from simcli.kernels.barrier.pieces import stencil_energy, stencil_pieces
from simcli.kernels.barrier.stencils import bodies_of, whole_of
from simcli.kernels.barrier.sweep import move_vertices, place_vertices, search
from simcli.kernels.barrier.tables import PIECE
from simcli.kernels.collision.lanes import one, put


@ti.func
def begin(c: ti.template(), w: ti.i32, x: ti.template()):
    """Candidates where the bodies are, and friction of the step.

    Args:
        x: (12 B) coordinates at the start of the step.

    Writes: c.{at, move, candidates, grips}
    """
    place_vertices(c, w, x)
    move_vertices(c, w, x, 0.0)
    search(c, w)
    if ti.static(c.has_friction):
        grip(c, w, x)


@ti.func
def measure(c: ti.template(), w: ti.i32, x: ti.template()):
    """Energy at coordinates that the candidates were searched for.

    Writes: c.{at, energy, barrier, least}
    """
    place_vertices(c, w, x)
    for lane in range(c.lanes):
        total = one(c.energy, w, lane, 0) * 0.0
        least = total + 1e30
        for k in range(ti.cast(one(c.candidates.count, w, lane, 0), ti.i32)):
            energy, gap = stencil_energy(c, w, lane, k)
            total += energy
            least = ti.min(least, gap)
        put(c.barrier, w, lane, 0, total)
        put(c.least, w, lane, 0, least)
        if ti.static(c.has_friction):
            for g in range(ti.cast(one(c.grips.count, w, lane, 0), ti.i32)):
                potential, _taken = grip_energy(c, w, lane, g, x)
                total += potential
        put(c.energy, w, lane, 0, total)


@ti.func
def taken(c: ti.template(), w: ti.i32, x: ti.template(), into: ti.template()):
    """Energy that friction has taken in the step that ends at x.

    Writes: into (1) [J]
    """
    for lane in range(c.lanes):
        total = one(c.energy, w, lane, 0) * 0.0
        if ti.static(c.has_friction):
            for g in range(ti.cast(one(c.grips.count, w, lane, 0), ti.i32)):
                _potential, work = grip_energy(c, w, lane, g, x)
                total += work
        put(into, w, lane, 0, total)


@ti.func
def limit(c: ti.template(), w: ti.i32, x: ti.template(), dx: ti.template(), most: ti.template()):
    """Candidates of the way dx from x, and how much of it is free of contact.

    Writes: c.{at, move, candidates}, most (1) [1], lowered
    """
    place_vertices(c, w, x)
    move_vertices(c, w, dx, 1.0)
    search(c, w)
    cap(c, w, most)


@ti.func
def add(c: ti.template(), w: ti.i32, x: ti.template(), gradient: ti.template(), matrix: ti.template(),
        exact: ti.template()):
    """Add gradient and projected curvature of all contacts and grips at x.

    Args:
        gradient: (12 B).
        matrix: entry (r, s) of block k is `matrix.value` at `matrix.place` 144 k + 12 r + s; diagonal blocks by body have
            their lower triangles alone, c.block of the pairs have the body of the higher number first.
        exact: True for the curvature as it is.

    Reads:  c.{candidates, grips}
    Writes: c.at, gradient, matrix.value
    """
    place_vertices(c, w, x)
    for lane in range(c.lanes):
        for k in range(ti.cast(one(c.candidates.count, w, lane, 0), ti.i32)):
            if stencil_pieces(c, w, lane, k, exact) == 1:
                a, b = bodies_of(c, w, lane, k)
                add_pieces(c, w, lane, a, b, c.block.at(whole_of(c.candidates.pair, w, lane, k)), gradient, matrix)
        if ti.static(c.has_friction):
            for g in range(ti.cast(one(c.grips.count, w, lane, 0), ti.i32)):
                grip_pieces(c, w, lane, g, x)
                a, b = whole_of(c.grips.first, w, lane, g), whole_of(c.grips.second, w, lane, g)
                add_pieces(c, w, lane, a, b, c.block.at(whole_of(c.grips.pair, w, lane, g)), gradient, matrix)


@ti.func
def add_pieces(c: ti.template(), w: ti.i32, lane: ti.i32, a: ti.i32, b: ti.i32, block: ti.i32, gradient: ti.template(),
               matrix: ti.template()):
    """Add what the notes hold to the bodies a and b.

    Reads:  c.notes
    Writes: gradient, matrix.value
    """
    for side in range(2):
        body = ti.select(side == 0, a, b)
        if body < c.n_bodies:
            for r in range(12):
                more = c.notes.load(w, c.gradient + 12 * side + r)
                put(gradient, w, lane, 12 * body + r, one(gradient, w, lane, 12 * body + r) + more)
                for s in range(r + 1):
                    add_entry(c, w, lane, matrix, 144 * body + 12 * r + s, 12 * side + r, 12 * side + s)
    if a < c.n_bodies and b < c.n_bodies:
        first = ti.select(a > b, 0, 12)
        for r in range(12):
            for s in range(12):
                add_entry(c, w, lane, matrix, 144 * block + 12 * r + s, first + r, 12 - first + s)


@ti.func
def add_entry(c: ti.template(), w: ti.i32, lane: ti.i32, matrix: ti.template(), entry: ti.i32, r: ti.i32, s: ti.i32):
    """Add the squares of the notes to an entry.

    Writes: matrix.value
    """
    place = matrix.place.at(entry)
    total = one(matrix.value, w, lane, place)
    for k in range(ti.cast(c.notes.load(w, c.n_pieces), ti.i32)):
        at = c.pieces + k * PIECE
        total += c.notes.load(w, at) * c.notes.load(w, at + 1 + r) * c.notes.load(w, at + 1 + s)
    put(matrix.value, w, lane, place, total)
