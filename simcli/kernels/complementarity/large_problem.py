"""What the rounds of a large world share, and velocities of its condensed matrix: by factors, or by GMRES.

Where there is no room for all factors, they are those of joints and single bodies, and precondition from the right. Newton's
method breaks where a step is found loosely, so that the search goes nearly to rounding, in the norm of impulses over masses.

Source: Saad 2003, sections 6.5.3 and 9.3.2. Deviations: no restarts, as the basis is long; ADMM iterations are solved in the
same way, though their matrix is symmetric: there is one search to compile.
"""

from simcli.kernels.complementarity.block_factor import (
    clear_blocks,
    factorize_blocks,
    inverted,
    put_rows,
    put_six,
    rows_of,
    squares_by,
    substitute_blocks,
)
from simcli.kernels.complementarity.graph import (
    COMPLETE,
    UNKNOWN,
    find_pattern,
    note_pair,
    of_island,
    put_of_island,
)
from simcli.kernels.complementarity.islands import (
    ITS_BODIES,
    ITS_CONTACTS,
    ITS_ROWS,
    ITS_VELOCITIES,
    begin_of,
    end_of,
    member,
    members_of_part,
)
from simcli.kernels.complementarity.large import (
    DOFS,
    add_row,
    add_triple,
    body_of,
    mass_rows,
    multiply_blocks,
    place_of_seen,
    pull_of_row,
    pull_of_triple,
    seen_rows,
    solve_blocks,
    speed_of_row,
    speed_of_triple,
)
from simcli.kernels.device.crew import in_parts
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane
from simcli.kernels.language.values import Vec3


@in_parts
@ti.func
def prepare_bodies(p: ti.template(), w: ti.i32):
    """Inverse masses, and the free velocity.

    Reads:  p.{mass, push}
    Writes: p.{free, push}, p.large.{inverse, weight}
    """
    invert_masses(p, w)
    solve_blocks(p, w, p.push)
    first, end = members_of_part(p, w, ITS_VELOCITIES)
    for n in range(first, end):
        a = member(p, w, ITS_VELOCITIES, n)
        p.free.store(w, a, p.free.load(w, a) + p.push.load(w, a))


@ti.func
def invert_masses(p: ti.template(), w: ti.i32):
    """Inverses of the masses of the bodies.

    Reads:  p.mass
    Writes: p.large.{sixes, weight}
    """
    g = p.large
    first, end = members_of_part(p, w, ITS_BODIES, p.large.n_bodies)
    for n in range(first, end):
        b = member(p, w, ITS_BODIES, n)
        rows = inverted(mass_rows(p, w, b))
        put_rows(g.sixes, w, g.inverse + DOFS * b, rows)
        put_six(g.weight, w, b, [get_lane(row, k) for k, row in enumerate(rows)])


@ti.func
def metric_of_row(p: ti.template(), w: ti.i32, s: ti.i32):
    """The metric J M^-1 J^T of a row."""
    g = p.large
    total = p.arena.zero()
    if p.rows.on.load(w, s) != 0.0:
        for e in range(g.start.at(s), g.start.at(s + 1)):
            for f in range(g.start.at(s), g.start.at(s + 1)):
                total = total + _metric_of_entries(g, w, e, f)
    return total


@ti.func
def _metric_of_entries(g: ti.template(), w: ti.i32, e: ti.i32, f: ti.i32):
    """What two entries of a row give to its metric: nothing if they are of different bodies."""
    total = g.sixes.arena.zero()
    a = g.column.at(e)
    b = g.column.at(f)
    if a // DOFS == b // DOFS:
        total = g.value.load(w, e) * g.value.load(w, f) * g.sixes.part(w, g.inverse + a, b % DOFS)
    return total


@ti.func
def diagonal_of_triple(p: ti.template(), triple: ti.template(), view: ti.i32, w: ti.i32, c: ti.i32):
    """The diagonal of J M^-1 J^T of a contact, or of its spins, as `preparation.metric_of` takes it."""
    g = p.large
    zero = p.arena.zero()
    total = Vec3(zero, zero, zero)
    if triple.on.load(w, c) != 0.0:
        for side in range(2):
            body = body_of(p, w, c, side)
            if body >= 0:
                inverse = rows_of(g.sixes, w, g.inverse + DOFS * body)
                total = total + squares_by(inverse, seen_rows(p, view, w, c, side))
    return total


@ti.func
def multiply(p: ti.template(), w: ti.i32, x: ti.template(), out: ti.template()):
    """(M + J^T G J) x.

    Reads:  p.mass, p.large.{row_gain, gains}
    Writes: out
    """
    multiply_blocks(p, w, x, out)
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        if p.rows.on.load(w, s) != 0.0:
            gain = p.large.row_gain.load(w, s)
            if gain != 0.0:
                pull_of_row(p, w, s, gain * speed_of_row(p, w, s, x), out)
    for triple, gains in ti.static(list(zip(p.triples, p.large.gains, strict=True))):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            if triple.on.load(w, c) != 0.0:
                pull_of_triple(p, triple, w, c, gains.load(w, c) * speed_of_triple(p, triple, w, c, x), out)


@ti.func
def factorize_large(p: ti.template(), w: ti.i32):
    """Factors of M + J^T G J; where there is no room for them, without what contacts couple of different bodies.

    Reads:  p.mass, p.large.{row_gain, gains}
    Writes: p.large.{graph, factor}
    """
    g = p.large
    if of_island(g.graph, w, g.graph.is_of_now) == 0:
        if touches_as_before(p, w) == 0:
            find_pattern(g.graph, w)
        put_of_island(g.graph, w, g.graph.is_of_now, 1)
    clear_blocks(g.factor, w)
    for n in range(begin_of(p, w, ITS_BODIES), end_of(p, w, ITS_BODIES, p.large.n_bodies)):
        b = member(p, w, ITS_BODIES, n)
        put_rows(g.factor.notes, w, g.factor.diagonal + DOFS * b, mass_rows(p, w, b))
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        if p.rows.on.load(w, s) != 0.0:
            add_row(p, w, s)
    for triple, gains in ti.static(list(zip(p.triples, p.large.gains, strict=True))):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            if triple.on.load(w, c) != 0.0:
                add_triple(p, place_of_seen(p, triple), gains, w, c)
    factorize_blocks(g.factor, w)


@ti.func
def touches_as_before(p: ti.template(), w: ti.i32):
    """1 if the bodies that touch are those that the pattern is of, which then stays.

    Contacts of two bodies follow each other, and pairs come in the order of their shapes.

    Writes: p.large.graph.{n_pairs, pair, touching}
    """
    g = p.large.graph
    same = ti.cast(of_island(g, w, g.state) != UNKNOWN, ti.i32)
    first = begin_of(p, w, ITS_CONTACTS)
    count, one, other = 0, -1, -1
    for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
        c = member(p, w, ITS_CONTACTS, n)
        touching = -1
        if p.contacts.on.load(w, c) != 0.0:
            a, b = body_of(p, w, c, 0), body_of(p, w, c, 1)
            if a >= 0 and b >= 0:
                if a != one or b != other:
                    same = same & note_pair(g, w, first + count, a, b)
                    count += 1
                    one = a
                    other = b
                touching = first + count - 1
        g.notes.store(w, g.touching + c, touching)
    if count != of_island(g, w, g.n_pairs) or first != of_island(g, w, g.first_pair):
        same = 0
    put_of_island(g, w, g.n_pairs, count)
    put_of_island(g, w, g.first_pair, first)
    return same


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
    ends = ti.cast(of_island(g.graph, w, g.graph.state) == COMPLETE or not size > 0.0, ti.i32)
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
        put_basis(g, w, n, x.load(w, a) / ti.max(size, p.limits.tiny))
        if ends != 0:
            g.along.store(w, a, x.load(w, a))
    g.rest.store(w, 0, size)
    goes_on = 1
    for _k in range(g.krylov + 1):
        if goes_on != 0:
            if ends == 0:
                for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
                    a = member(p, w, ITS_VELOCITIES, n)
                    g.along.store(w, a, basis(g, w, last * p.n + n))
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
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
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
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
        total = total + p.large.weight.load(w, a) * x.load(w, a) * x.load(w, a)
    return ti.sqrt(total)


@ti.func
def take_in(p: ti.template(), w: ti.i32, j: ti.i32):
    """Vector j + 1 of an orthogonal basis from p.large.image, and column j of the triangle that is left of A in it.

    Writes: p.large.{image, basis, hessenberg, cosine, sine, rest}
    """
    g = p.large
    m = g.krylov
    first, end = begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)
    for i in range(j + 1):
        total = p.arena.zero()
        for n in range(first, end):
            a = member(p, w, ITS_VELOCITIES, n)
            total = total + g.weight.load(w, a) * basis(g, w, i * p.n + n) * g.image.load(w, a)
        g.hessenberg.store(w, i * m + j, total)
        for n in range(first, end):
            a = member(p, w, ITS_VELOCITIES, n)
            g.image.store(w, a, g.image.load(w, a) - total * basis(g, w, i * p.n + n))
    beyond = _norm(p, w, g.image)
    for n in range(first, end):
        put_basis(g, w, (j + 1) * p.n + n, g.image.load(w, member(p, w, ITS_VELOCITIES, n)) / ti.max(beyond, p.limits.tiny))
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
    for n in range(begin_of(p, w, ITS_VELOCITIES), end_of(p, w, ITS_VELOCITIES)):
        a = member(p, w, ITS_VELOCITIES, n)
        total = p.arena.zero()
        for i in range(last):
            total = total + g.rest.load(w, i) * basis(g, w, i * p.n + n)
        g.along.store(w, a, total)
