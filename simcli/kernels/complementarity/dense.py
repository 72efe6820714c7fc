"""Dense factors of packs: L L^T of the mass matrix, L U of the condensed matrix, both without pivoting.

All lanes do the same work in the same order whatever their numbers are. What is zero in all lanes is left out, which
changes no bit of what is finite: sums here start at +0, and so never become -0.
"""

import taichi as ti

from simcli.kernels.memory import any_lane, get_lane, local


def corner(i, j):
    """Place of entry (i, j), j <= i, in a lower triangle stored row by row."""
    return i * (i + 1) // 2 + j


def whole(slot, w, item):
    """An integer that all lanes share, from a slot."""
    return local(ti.cast(get_lane(slot.part(w, item, 0), 0), ti.i32))


@ti.func
def factorize_mass(p: ti.template(), w: ti.i32):
    """M = L L^T, with the inverses of the diagonal of L in its place.

    Row i of L begins where row i of M does in any lane: the mass matrix of many bodies is mostly zero.

    Reads:  p.mass
    Writes: p.root, p.begin (n)
    """
    zero = p.arena.zero()
    for i in range(p.n):
        begin = i
        for j in range(i):
            if any_lane(p.mass.load(w, corner(i, j)) != 0.0):
                begin = ti.min(begin, j)
        p.begin.store(w, i, zero + ti.cast(begin, p.arena.device.real))
        for j in range(begin, i + 1):
            total = zero + p.mass.load(w, corner(i, j))
            for k in range(ti.max(begin, whole(p.begin, w, j)), j):
                total = total - p.root.load(w, corner(i, k)) * p.root.load(w, corner(j, k))
            if i == j:
                total = 1.0 / ti.sqrt(total)
            else:
                total = total * p.root.load(w, corner(j, j))
            p.root.store(w, corner(i, j), total)


@ti.func
def solve_mass(p: ti.template(), w: ti.i32, x: ti.template()):
    """M^-1 x in place.

    Reads:  p.root, p.begin
    Writes: x (n)
    """
    for i in range(p.n):
        total = x.load(w, i)
        for k in range(whole(p.begin, w, i), i):
            total = total - p.root.load(w, corner(i, k)) * x.load(w, k)
        x.store(w, i, total * p.root.load(w, corner(i, i)))
    for m in range(p.n):
        i = p.n - 1 - m
        value = x.load(w, i) * p.root.load(w, corner(i, i))
        x.store(w, i, value)
        for k in range(whole(p.begin, w, i), i):
            x.store(w, k, x.load(w, k) - p.root.load(w, corner(i, k)) * value)


@ti.func
def factorize(p: ti.template(), w: ti.i32):
    """A = L U in place, L with a unit diagonal, the inverses of the diagonal of U apart.

    A row is told which columns it has on either side of the diagonal: bodies that do not touch leave most of it empty.
    A pivot that is zero makes the solution no number, and the step of that world is not taken.

    Writes: p.matrix, p.pivot, p.{column, n_left, n_right}
    """
    real = p.arena.device.real
    zero = p.arena.zero()
    for i in range(p.n):
        left = 0
        for k in range(i):
            value = p.matrix.load(w, i * p.n + k)
            if any_lane(value != 0.0):
                p.column.store(w, i * p.n + left, zero + ti.cast(k, real))
                left = left + 1
                scaled = value * p.pivot.load(w, k)
                p.matrix.store(w, i * p.n + k, scaled)
                for e in range(whole(p.n_right, w, k)):
                    j = whole(p.column, w, k * p.n + p.n - 1 - e)
                    value = p.matrix.load(w, i * p.n + j) - scaled * p.matrix.load(w, k * p.n + j)
                    p.matrix.store(w, i * p.n + j, value)
        right = 0
        for j in range(i + 1, p.n):
            if any_lane(p.matrix.load(w, i * p.n + j) != 0.0):
                p.column.store(w, i * p.n + p.n - 1 - right, zero + ti.cast(j, real))
                right = right + 1
        p.n_left.store(w, i, zero + ti.cast(left, real))
        p.n_right.store(w, i, zero + ti.cast(right, real))
        p.pivot.store(w, i, 1.0 / p.matrix.load(w, i * p.n + i))


@ti.func
def substitute(p: ti.template(), w: ti.i32, x: ti.template()):
    """A^-1 x in place.

    Reads:  p.matrix, p.pivot, p.{column, n_left, n_right}
    Writes: x (n)
    """
    for i in range(p.n):
        total = x.load(w, i)
        for e in range(whole(p.n_left, w, i)):
            k = whole(p.column, w, i * p.n + e)
            total = total - p.matrix.load(w, i * p.n + k) * x.load(w, k)
        x.store(w, i, total)
    for m in range(p.n):
        i = p.n - 1 - m
        total = x.load(w, i)
        for e in range(whole(p.n_right, w, i)):
            j = whole(p.column, w, i * p.n + p.n - 1 - e)
            total = total - p.matrix.load(w, i * p.n + j) * x.load(w, j)
        x.store(w, i, total * p.pivot.load(w, i))
