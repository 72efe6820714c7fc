"""What the rounds of a large world share, and the condensed matrix without its entries."""

import taichi as ti

from simcli.kernels.complementarity.block_factor import add_block, add_entry, clear_blocks, factorize_blocks
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.large import (
    HALVES,
    SEEN,
    SIZE,
    body_of,
    half_seen,
    invert_masses,
    mass_place,
    multiply_blocks,
    pull_of_contact,
    pull_of_row,
    solve_blocks,
    speed_of_contact,
    speed_of_row,
)
from simcli.kernels.values import Mat3, Vec3


@ti.func
def prepare_large(p: ti.template(), w: ti.i32):
    """Inverse masses, the free velocity, what is on, and the metric.

    Reads:  p.{mass, push}
    Writes: p.{free, push, momentum, live}, p.large.{inverse, weight, guess}, metric of both
    """
    invert_masses(p, w)
    solve_blocks(p, w, p.push)
    for a in range(p.n):
        p.free.store(w, a, p.free.load(w, a) + p.push.load(w, a))
        p.large.guess.store(w, a, p.free.load(w, a))
    multiply_blocks(p, w, p.free, p.momentum)
    for s in range(whole(p.live, w, 0)):
        d = metric_of_row(p, w, s)
        p.rows.metric.store(w, s, ti.select(d > 0.0, d, 1.0))
    for c in range(whole(p.live, w, 1)):
        diagonal_of_contact(p, w, c)


@ti.func
def metric_of_row(p: ti.template(), w: ti.i32, s: ti.i32):
    """The metric J M^-1 J^T of a row."""
    g = p.large
    total = p.arena.zero()
    if p.rows.on.load(w, s) != 0.0:
        if s < g.n_plain:
            for e in range(g.start.at(s), g.start.at(s + 1)):
                a = g.column.at(e)
                for f in range(g.start.at(s), g.start.at(s + 1)):
                    b = g.column.at(f)
                    if a // SIZE == b // SIZE:
                        total = total + g.value.load(w, e) * g.value.load(w, f) * g.inverse.load(w, SIZE * a + b % SIZE)
        else:
            if ti.static(g.spin.n_items > 0):
                at = (s - g.n_plain) * SEEN
                for side in range(2):
                    body = body_of(p, w, (s - g.n_plain) // 3, side)
                    if body >= 0:
                        for i in range(SIZE):
                            for j in range(SIZE):
                                both = g.spin.load(w, at + SIZE * side + i) * g.spin.load(w, at + SIZE * side + j)
                                total = total + both * g.inverse.load(w, SIZE * (SIZE * body + i) + j)
    return total


@ti.func
def diagonal_of_contact(p: ti.template(), w: ti.i32, c: ti.i32):
    """The diagonal of J M^-1 J^T of a contact, as `problem.metric_of` takes it.

    Writes: p.contacts.metric
    """
    g = p.large
    zero = p.arena.zero()
    total = Vec3(zero, zero, zero)
    if p.contacts.on.load(w, c) != 0.0:
        for side in range(2):
            body = body_of(p, w, c, side)
            if body >= 0:
                for i in range(SIZE):
                    moved = Vec3(zero, zero, zero)
                    for j in range(SIZE):
                        inverse = g.inverse.load(w, SIZE * (SIZE * body + i) + j)
                        moved = moved + g.seen.load(w, SEEN * c + SIZE * side + j) * inverse
                    total = total + product(g.seen.load(w, SEEN * c + SIZE * side + i), moved)
    p.contacts.metric.store(w, c, total)


def product(a: Vec3, b: Vec3) -> Vec3:
    """Part by part."""
    return Vec3(*(x * y for x, y in zip(a.parts, b.parts, strict=True)))


@ti.func
def multiply(p: ti.template(), w: ti.i32, x: ti.template(), out: ti.template()):
    """(M + J^T G J) x.

    Reads:  p.mass, gain of both
    Writes: out
    """
    multiply_blocks(p, w, x, out)
    for s in range(whole(p.live, w, 0)):
        if p.rows.on.load(w, s) != 0.0:
            gain = p.rows.gain.load(w, s)
            if gain != 0.0:
                pull_of_row(p, w, s, gain * speed_of_row(p, w, s, x), out)
    for c in range(whole(p.live, w, 1)):
        if p.contacts.on.load(w, c) != 0.0:
            pull_of_contact(p, w, c, p.contacts.gain.load(w, c) * speed_of_contact(p, w, c, x), out)


@ti.func
def precondition(p: ti.template(), w: ti.i32):
    """Factors of M + J^T G J without what contacts couple of different bodies.

    Reads:  p.mass, gain of both
    Writes: p.large.factor
    """
    g = p.large
    clear_blocks(g.factor, w)
    for b in range(g.n_bodies):
        for k in ti.static(range(len(HALVES))):
            i, j = ti.static(HALVES[k])
            add_block(g.factor, w, 2 * b + i, 2 * b + j, g.body_place.at(len(HALVES) * b + k), mass_block(p, w, b, i, j))
    for s in range(whole(p.live, w, 0)):
        if p.rows.on.load(w, s) != 0.0:
            add_row(p, w, s)
    for c in range(whole(p.live, w, 1)):
        if p.contacts.on.load(w, c) != 0.0:
            for side in range(2):
                body = body_of(p, w, c, side)
                if body >= 0:
                    add_contact(p, w, c, side, body)
    factorize_blocks(g.factor, w)


def mass_block(p, w, b, i, j) -> Mat3:
    """Three rows and columns of the mass of a body."""
    first = SIZE * b
    return Mat3(*(p.mass.load(w, mass_place(p, first + 3 * i + k, first + 3 * j + m)) for k in range(3) for m in range(3)))


@ti.func
def add_row(p: ti.template(), w: ti.i32, s: ti.i32):
    """Add J^T g J of a row to the preconditioner.

    Writes: p.large.factor
    """
    g = p.large
    gain = p.rows.gain.load(w, s)
    if s < g.n_plain:
        first = g.start.at(s)
        length = g.start.at(s + 1) - first
        for e in range(length):
            pulled = g.value.load(w, first + e) * gain
            for f in range(length):
                place = g.pair_place.at(g.pair_start.at(s) + e * length + f)
                add_entry(g.factor, w, g.column.at(first + e), g.column.at(first + f), place,
                          pulled * g.value.load(w, first + f))
    else:
        if ti.static(g.spin.n_items > 0):
            at = (s - g.n_plain) * SEEN
            for side in range(2):
                body = body_of(p, w, (s - g.n_plain) // 3, side)
                if body >= 0:
                    for i in range(SIZE):
                        pulled = g.spin.load(w, at + SIZE * side + i) * gain
                        for j in range(SIZE):
                            place = g.body_place.at(len(HALVES) * body + 2 * (i // 3) + j // 3)
                            add_entry(g.factor, w, SIZE * body + i, SIZE * body + j, place,
                                      pulled * g.spin.load(w, at + SIZE * side + j))


@ti.func
def add_contact(p: ti.template(), w: ti.i32, c: ti.i32, side: ti.i32, body: ti.i32):
    """Add J^T G J of a contact and one of its bodies to the preconditioner.

    Writes: p.large.factor
    """
    g = p.large
    gain = p.contacts.gain.load(w, c)
    for i in range(2):
        pulled = half_seen(p, w, c, side, i) * gain
        for j in range(2):
            value = pulled * half_seen(p, w, c, side, j).T
            add_block(g.factor, w, 2 * body + i, 2 * body + j, g.body_place.at(len(HALVES) * body + 2 * i + j), value)
