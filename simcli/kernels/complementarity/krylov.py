"""Velocities of the condensed matrix of a large world: by its factors, or where there is no room for them by GMRES.

The factors are then those of joints and single bodies, and precondition from the right. Newton's method breaks where a step
is found loosely, so that the search goes nearly to rounding, in the norm of impulses over masses.

Source: Saad 2003, sections 6.5.3 and 9.3.2. Deviations: no restarts, as the basis is
long; ADMM iterations are solved in the same way, though their matrix is symmetric: there is one search to compile.
"""

from simcli.kernels.complementarity.block_factor import substitute_blocks
from simcli.kernels.complementarity.graph import COMPLETE
from simcli.kernels.complementarity.large_problem import multiply
from simcli.kernels.language import ti


@ti.func
def solve_large(p: ti.template(), w: ti.i32, x: ti.template()):
    """(M + J^T G J)^-1 x in place.

    Each round takes another vector into the basis; the last one takes the best of all of them, or all of x where the
    factors are complete.

    Reads:  p.large.{row_gain, gains, graph, factor}
    Writes: x, p.large
    """
    g = p.large
    size = _norm(p, w, x)
    last = 0
    ends = ti.cast(g.graph.notes.load(w, g.graph.state) == COMPLETE or not size > 0.0, ti.i32)
    for a in range(p.n):
        put_basis(g, w, a, x.load(w, a) / ti.max(size, p.limits.tiny))
        if ends != 0:
            g.along.store(w, a, x.load(w, a))
    g.rest.store(w, 0, size)
    goes_on = 1
    for _k in range(g.krylov + 1):
        if goes_on != 0:
            if ends == 0:
                for a in range(p.n):
                    g.along.store(w, a, basis(g, w, last * p.n + a))
            elif last > 0:
                _combine(p, w, last)
            substitute_blocks(g.factor, w, g.along)
            if ends != 0:
                goes_on = 0
            else:
                multiply(p, w, g.along, g.image)
                take_in(p, w, last)
                last += 1
                g.steps.store(w, 0, g.steps.load(w, 0) + 1.0)
                if last == g.krylov or not ti.abs(g.rest.load(w, last)) > size * g.close:
                    ends = 1
    for a in range(p.n):
        x.store(w, a, g.along.load(w, a))


def basis(g, w, k):
    """Number k of the vectors of a search."""
    return g.notes.load(w, g.basis + k)


def put_basis(g, w, k, value):
    """Replace number k of the vectors of a search."""
    g.notes.store(w, g.basis + k, value)


@ti.func
def _norm(p: ti.template(), w: ti.i32, x: ti.template()):
    """[sqrt(J)], of impulses by the masses that they move."""
    total = p.arena.zero()
    for a in range(p.n):
        total = total + p.large.weight.load(w, a) * x.load(w, a) * x.load(w, a)
    return ti.sqrt(total)


@ti.func
def take_in(p: ti.template(), w: ti.i32, j: ti.i32):
    """Vector j + 1 of an orthogonal basis from p.large.image, and column j of the triangle that is left of A in it.

    Writes: p.large.{image, basis, hessenberg, cosine, sine, rest}
    """
    g = p.large
    n, m = p.n, g.krylov
    for i in range(j + 1):
        total = p.arena.zero()
        for a in range(n):
            total = total + g.weight.load(w, a) * basis(g, w, i * n + a) * g.image.load(w, a)
        g.hessenberg.store(w, i * m + j, total)
        for a in range(n):
            g.image.store(w, a, g.image.load(w, a) - total * basis(g, w, i * n + a))
    beyond = _norm(p, w, g.image)
    for a in range(n):
        put_basis(g, w, (j + 1) * n + a, g.image.load(w, a) / ti.max(beyond, p.limits.tiny))
    for i in range(j):
        c, s = g.cosine.load(w, i), g.sine.load(w, i)
        x, y = g.hessenberg.load(w, i * m + j), g.hessenberg.load(w, (i + 1) * m + j)
        g.hessenberg.store(w, i * m + j, c * x + s * y)
        g.hessenberg.store(w, (i + 1) * m + j, c * y - s * x)
    corner = g.hessenberg.load(w, j * m + j)
    size = ti.max(ti.sqrt(corner * corner + beyond * beyond), p.limits.tiny)
    g.cosine.store(w, j, corner / size)
    g.sine.store(w, j, beyond / size)
    g.hessenberg.store(w, j * m + j, size)
    rest = g.rest.load(w, j)
    g.rest.store(w, j + 1, -beyond / size * rest)
    g.rest.store(w, j, corner / size * rest)


@ti.func
def _combine(p: ti.template(), w: ti.i32, last: ti.i32):
    """What leaves least, of as many vectors.

    Reads:  p.large.{basis, hessenberg}
    Writes: p.large.{rest, along}
    """
    g = p.large
    for k in range(last):
        i = last - 1 - k
        total = g.rest.load(w, i)
        for j in range(i + 1, last):
            total = total - g.hessenberg.load(w, i * g.krylov + j) * g.rest.load(w, j)
        g.rest.store(w, i, total / g.hessenberg.load(w, i * g.krylov + i))
    for a in range(p.n):
        total = p.arena.zero()
        for i in range(last):
            total = total + g.rest.load(w, i) * basis(g, w, i * p.n + a)
        g.along.store(w, a, total)
