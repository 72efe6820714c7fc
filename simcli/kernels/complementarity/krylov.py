"""Velocities of the condensed matrix of a large world without its entries: conjugate gradients, and GMRES.

The matrix of the sweeps is symmetric and positive, and its solution changes little from sweep to sweep: conjugate gradients
from the solution before. That of a Newton step is not symmetric: GMRES, restarted, with the preconditioner on the right, in
the norm of impulses over masses. Newton's method breaks where a step is found loosely, so that both go nearly to rounding.

Source: Saad 2003, sections 6.5.3, 9.3.2 and 9.2.1; reference/contact-solver.md, section 5. Deviation: the preconditioner
holds rows of joints with all that they couple (block_factor.py), and of contacts what they give each body alone.
"""

import taichi as ti

from simcli.kernels.complementarity.block_factor import substitute_blocks
from simcli.kernels.complementarity.graph import COMPLETE
from simcli.kernels.complementarity.large_problem import multiply

SYMMETRIC, GENERAL = 0, 1  # places in p.large.steps
MOST_STEPS, RESTARTS = 200, 4


@ti.func
def solve_symmetric(p: ti.template(), w: ti.i32, x: ti.template()):
    """A^-1 x in place, A symmetric, beginning with the solution before.

    Reads:  gain of both, p.large.{factor, guess}
    Writes: x, p.large.{guess, left, turned, along, image, steps}
    """
    if p.large.graph.notes.load(w, p.large.graph.state) == COMPLETE:
        substitute_blocks(p.large.factor, w, x)
    else:
        approach(p, w, x)


@ti.func
def approach(p: ti.template(), w: ti.i32, x: ti.template()):
    """`solve_symmetric` by conjugate gradients."""
    g = p.large
    multiply(p, w, g.guess, g.left)
    for a in range(p.n):
        g.left.store(w, a, x.load(w, a) - g.left.load(w, a))
        g.along.store(w, a, x.load(w, a))
    substitute_blocks(g.factor, w, g.along)
    enough = dot(p, w, x, g.along) * (g.close * g.close)
    copy(p, w, g.left, g.along)
    substitute_blocks(g.factor, w, g.along)
    energy = dot(p, w, g.left, g.along)
    goes_on = 1
    for _k in range(MOST_STEPS):
        if not energy > enough:
            goes_on = 0
        if goes_on != 0:
            multiply(p, w, g.along, g.image)
            length = energy / dot(p, w, g.along, g.image)
            for a in range(p.n):
                g.guess.store(w, a, g.guess.load(w, a) + length * g.along.load(w, a))
                g.left.store(w, a, g.left.load(w, a) - length * g.image.load(w, a))
            copy(p, w, g.left, g.turned)
            substitute_blocks(g.factor, w, g.turned)
            before = energy
            energy = dot(p, w, g.left, g.turned)
            for a in range(p.n):
                g.along.store(w, a, g.turned.load(w, a) + energy / before * g.along.load(w, a))
            g.steps.store(w, SYMMETRIC, g.steps.load(w, SYMMETRIC) + 1.0)
    copy(p, w, g.guess, x)


@ti.func
def dot(p: ti.template(), w: ti.i32, x: ti.template(), y: ti.template()):
    """X . y."""
    total = p.arena.zero()
    for a in range(p.n):
        total = total + x.load(w, a) * y.load(w, a)
    return total


@ti.func
def copy(p: ti.template(), w: ti.i32, x: ti.template(), out: ti.template()):
    """Replace a vector."""
    for a in range(p.n):
        out.store(w, a, x.load(w, a))


@ti.func
def solve_general(p: ti.template(), w: ti.i32, x: ti.template()):
    """A^-1 x in place.

    Reads:  gain of both, p.large.factor
    Writes: x, p.large.{left, turned, along, image, steps, basis, hessenberg, cosine, sine, rest}
    """
    if p.large.graph.notes.load(w, p.large.graph.state) == COMPLETE:
        substitute_blocks(p.large.factor, w, x)
    else:
        reduce(p, w, x)


@ti.func
def reduce(p: ti.template(), w: ti.i32, x: ti.template()):
    """`solve_general` by GMRES."""
    g = p.large
    zero = p.arena.zero()
    copy(p, w, x, g.left)
    for a in range(p.n):
        x.store(w, a, zero)
    size = norm(p, w, g.left)
    enough = size * g.closer
    for restart in range(RESTARTS):
        if size > enough:
            if restart > 0:
                copy(p, w, g.turned, g.left)
            last = span(p, w, size, enough)
            combine(p, w, last)
            for a in range(p.n):
                x.store(w, a, x.load(w, a) + g.along.load(w, a))
            multiply(p, w, g.along, g.image)
            for a in range(p.n):
                g.turned.store(w, a, g.left.load(w, a) - g.image.load(w, a))
            size = norm(p, w, g.turned)


def basis(g, w, k):
    """Number k of the vectors of a search."""
    return g.factor.notes.load(w, g.basis + k)


def put_basis(g, w, k, value):
    """Replace number k of the vectors of a search."""
    g.factor.notes.store(w, g.basis + k, value)


@ti.func
def norm(p: ti.template(), w: ti.i32, x: ti.template()):
    """[sqrt(J)], of impulses by the masses that they move."""
    total = p.arena.zero()
    for a in range(p.n):
        total = total + p.large.weight.load(w, a) * x.load(w, a) * x.load(w, a)
    return ti.sqrt(total)


@ti.func
def span(p: ti.template(), w: ti.i32, size: ti.template(), enough: ti.template()):
    """An orthogonal basis of what A gives, from p.large.left on, and the triangle that is left of A in it.

    Returns:
        number of vectors.

    Writes: p.large.{along, image, basis, hessenberg, cosine, sine, rest, steps}
    """
    g = p.large
    n = p.n
    m = g.krylov
    for a in range(n):
        put_basis(g, w, a, g.left.load(w, a) / size)
    g.rest.store(w, 0, size)
    last = 0
    goes_on = 1
    for j in range(m):
        if goes_on != 0:
            for a in range(n):
                g.along.store(w, a, basis(g, w, j * n + a))
            substitute_blocks(g.factor, w, g.along)
            multiply(p, w, g.along, g.image)
            for i in range(j + 1):
                total = p.arena.zero()
                for a in range(n):
                    total = total + g.weight.load(w, a) * basis(g, w, i * n + a) * g.image.load(w, a)
                g.hessenberg.store(w, i * m + j, total)
                for a in range(n):
                    g.image.store(w, a, g.image.load(w, a) - total * basis(g, w, i * n + a))
            beyond = norm(p, w, g.image)
            for a in range(n):
                put_basis(g, w, (j + 1) * n + a, g.image.load(w, a) / ti.max(beyond, p.limits.tiny))
            rotate(p, w, j, beyond)
            g.steps.store(w, GENERAL, g.steps.load(w, GENERAL) + 1.0)
            last = j + 1
            if not ti.abs(g.rest.load(w, j + 1)) > enough:
                goes_on = 0
    return last


@ti.func
def rotate(p: ti.template(), w: ti.i32, j: ti.i32, beyond: ti.template()):
    """Turn column j of the triangle so that nothing is below its diagonal.

    Reads, writes: p.large.{hessenberg, cosine, sine, rest}
    """
    g = p.large
    m = g.krylov
    for i in range(j):
        c, s = g.cosine.load(w, i), g.sine.load(w, i)
        x, y = g.hessenberg.load(w, i * m + j), g.hessenberg.load(w, (i + 1) * m + j)
        g.hessenberg.store(w, i * m + j, c * x + s * y)
        g.hessenberg.store(w, (i + 1) * m + j, c * y - s * x)
    x = g.hessenberg.load(w, j * m + j)
    size = ti.max(ti.sqrt(x * x + beyond * beyond), p.limits.tiny)
    g.cosine.store(w, j, x / size)
    g.sine.store(w, j, beyond / size)
    g.hessenberg.store(w, j * m + j, size)
    g.hessenberg.store(w, (j + 1) * m + j, p.arena.zero())
    rest = g.rest.load(w, j)
    g.rest.store(w, j + 1, -beyond / size * rest)
    g.rest.store(w, j, x / size * rest)


@ti.func
def combine(p: ti.template(), w: ti.i32, last: ti.i32):
    """The velocity that leaves least, of as many vectors.

    Reads:  p.large.{basis, hessenberg, factor}
    Writes: p.large.{rest, along}
    """
    g = p.large
    m = g.krylov
    for k in range(last):
        i = last - 1 - k
        total = g.rest.load(w, i)
        for j in range(i + 1, last):
            total = total - g.hessenberg.load(w, i * m + j) * g.rest.load(w, j)
        g.rest.store(w, i, total / g.hessenberg.load(w, i * m + i))
    for a in range(p.n):
        total = p.arena.zero()
        for i in range(last):
            total = total + g.rest.load(w, i) * basis(g, w, i * p.n + a)
        g.along.store(w, a, total)
    substitute_blocks(g.factor, w, g.along)
