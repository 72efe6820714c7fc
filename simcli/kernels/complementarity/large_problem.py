"""What the rounds of a large world share, and the condensed matrix without its entries."""

from simcli.kernels.complementarity.block_factor import (
    clear_blocks,
    combined_rows,
    factorize_blocks,
    place_of,
    rows_of,
    weighted,
)
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.graph import (
    COMPLETE,
    OPEN,
    clear_graph,
    connect,
    find_entry,
    is_as_before,
    order_bodies,
    transpose,
)
from simcli.kernels.complementarity.large import (
    DOFS,
    body_of,
    invert_masses,
    mass_row,
    multiply_blocks,
    place_of_seen,
    pull_of_row,
    pull_of_triple,
    seen_rows,
    solve_blocks,
    speed_of_row,
    speed_of_triple,
    sum_of_six,
)
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane, vector
from simcli.kernels.language.values import Vec3


@ti.func
def prepare_large(p: ti.template(), w: ti.i32):
    """Inverse masses, the free velocity, what is on, and the metric.

    Reads:  p.{mass, push}
    Writes: p.{free, push}, p.large.{inverse, weight}, metric of all
    """
    p.large.graph.notes.store(w, p.large.graph.is_of_now, 0)
    invert_masses(p, w)
    solve_blocks(p, w, p.push)
    for a in range(p.n):
        p.free.store(w, a, p.free.load(w, a) + p.push.load(w, a))
    for s in range(whole(p.live, w, 0)):
        p.rows.metric.store(w, s, metric_of_row(p, w, s))
    for triple in ti.static(p.triples):
        for c in range(whole(p.live, w, 1)):
            diagonal_of_triple(p, triple, place_of_seen(p, triple), w, c)


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
    """The diagonal of J M^-1 J^T of a contact, or of its spins, as `preparation.metric_of` takes it.

    Writes: triple.metric
    """
    g = p.large
    zero = p.arena.zero()
    total = Vec3(zero, zero, zero)
    if triple.on.load(w, c) != 0.0:
        for side in range(2):
            body = body_of(p, w, c, side)
            if body >= 0:
                inverse = rows_of(g.sixes, w, g.inverse + DOFS * body)
                total = total + squares_by(inverse, seen_rows(p, view, w, c, side))
    triple.metric.store(w, c, total)


def squares_by(inverse: list, rows: list) -> Vec3:
    """x^T A x of the vector of each axis."""
    return Vec3(*(sum_of_six(row * weighted(inverse, row)) for row in rows))


@ti.func
def multiply(p: ti.template(), w: ti.i32, x: ti.template(), out: ti.template()):
    """(M + J^T G J) x.

    Reads:  p.mass, p.large.{row_gain, gains}
    Writes: out
    """
    multiply_blocks(p, w, x, out)
    for s in range(whole(p.live, w, 0)):
        if p.rows.on.load(w, s) != 0.0:
            gain = p.large.row_gain.load(w, s)
            if gain != 0.0:
                pull_of_row(p, w, s, gain * speed_of_row(p, w, s, x), out)
    for triple, gains in ti.static(list(zip(p.triples, p.large.gains, strict=True))):
        for c in range(whole(p.live, w, 1)):
            if triple.on.load(w, c) != 0.0:
                pull_of_triple(p, triple, w, c, gains.load(w, c) * speed_of_triple(p, triple, w, c, x), out)


@ti.func
def factorize_large(p: ti.template(), w: ti.i32):
    """Factors of M + J^T G J; where there is no room for them, without what contacts couple of different bodies.

    Reads:  p.mass, p.large.{row_gain, gains}
    Writes: p.large.{graph, factor}
    """
    g = p.large
    if g.graph.notes.load(w, g.graph.is_of_now) == 0:
        clear_graph(g.graph, w, g.graph.n_edges)
        couple_touching(p, w)
        if is_as_before(g.graph, w) == 0:
            find_pattern(p, w)
        place_contacts(p, w)
        g.graph.notes.store(w, g.graph.is_of_now, 1)
    clear_blocks(g.factor, w)
    for b in range(g.n_bodies):
        for k in range(DOFS):
            g.factor.notes.store(w, g.factor.diagonal + DOFS * b + k, mass_row(p, w, b, k))
    for s in range(whole(p.live, w, 0)):
        if p.rows.on.load(w, s) != 0.0:
            add_row(p, w, s)
    for triple, gains in ti.static(list(zip(p.triples, p.large.gains, strict=True))):
        for c in range(whole(p.live, w, 1)):
            if triple.on.load(w, c) != 0.0:
                add_triple(p, place_of_seen(p, triple), gains, w, c)
    factorize_blocks(g.factor, w)


@ti.func
def couple_touching(p: ti.template(), w: ti.i32):
    """Make bodies that touch neighbours.

    Writes: p.large.graph
    """
    for c in range(whole(p.live, w, 1)):
        if p.contacts.on.load(w, c) != 0.0:
            a, b = body_of(p, w, c, 0), body_of(p, w, c, 1)
            if a >= 0 and b >= 0:
                connect(p.large.graph, w, a, b)


@ti.func
def find_pattern(p: ti.template(), w: ti.i32):
    """Order and fill of what is coupled; where there is no room for all, of what joints couple, else of bodies apart.

    Writes: p.large.graph
    """
    g = p.large.graph
    fits = 0
    for less in range(3):
        if fits == 0:
            clear_graph(g, w, ti.select(less < 2, g.n_edges, 0))
            if less == 0:
                couple_touching(p, w)
            fits = order_bodies(g, w)
            g.notes.store(w, g.state, ti.select(less == 0, COMPLETE, OPEN))
    transpose(g, w)
    for e in range(g.n_edges):
        g.notes.store(w, g.place + e, find_entry(g, w, g.edge.at(2 * e), g.edge.at(2 * e + 1)))


@ti.func
def place_contacts(p: ti.template(), w: ti.i32):
    """Entries of the bodies that contacts couple.

    Writes: p.large.graph
    """
    g = p.large.graph
    for c in range(whole(p.live, w, 1)):
        found = -1
        if p.contacts.on.load(w, c) != 0.0:
            a, b = body_of(p, w, c, 0), body_of(p, w, c, 1)
            if a >= 0 and b >= 0:
                found = find_entry(g, w, a, b)
        g.notes.store(w, g.place + g.n_edges + c, found)


@ti.func
def add_row(p: ti.template(), w: ti.i32, s: ti.i32):
    """Add J^T g J of a row to the matrix that is factorised.

    Writes: p.large.factor
    """
    g = p.large
    gain = p.large.row_gain.load(w, s)
    first = g.start.at(s)
    length = g.start.at(s + 1) - first
    for e in range(length):
        a = g.column.at(first + e)
        pulled = g.value.load(w, first + e) * gain
        for f in range(length):
            entry = -1
            edge = g.edge.at(g.edge_start.at(s) + e * length + f)
            if edge >= 0:
                entry = g.graph.notes.load(w, g.graph.place + edge)
            _add_entry(p, w, a, g.column.at(first + f), entry, pulled * g.value.load(w, first + f))


@ti.func
def _add_entry(p: ti.template(), w: ti.i32, a: ti.i32, b: ti.i32, entry: ti.i32, value: ti.template()):
    """Add to what two velocities have in common.

    Writes: p.large.factor
    """
    f = p.large.factor
    at = place_of(f, w, a // DOFS, b // DOFS, entry)
    if at >= 0:
        add_to_row(f, w, at + a % DOFS, single(b % DOFS, value))


def add_to_row(f, w, at, value):
    """Add a vector to a row of a block."""
    f.notes.store(w, at, f.notes.load(w, at) + value)


def single(k, value):
    """A vector that is zero but for number k."""
    return vector([ti.select(k == m, value, value * 0.0) for m in range(DOFS)])


@ti.func
def add_triple(p: ti.template(), view: ti.i32, gains: ti.template(), w: ti.i32, c: ti.i32):
    """Add J^T G J of a contact, or of its spins, to the matrix that is factorised.

    Args:
        view: what they see of each velocity.  gains: G.

    Writes: p.large.factor
    """
    g = p.large
    gain = gains.load(w, c)
    entry = g.graph.notes.load(w, g.graph.place + g.graph.n_edges + c)
    for one in range(2):
        for other in range(2):
            a, b = body_of(p, w, c, one), body_of(p, w, c, other)
            at = -1
            if a >= 0 and b >= 0:
                at = place_of(g.factor, w, a, b, entry)
            if at >= 0:
                seen = seen_rows(p, view, w, c, one)
                pulled = gained(gain, seen_rows(p, view, w, c, other))
                for k in range(DOFS):
                    add_to_row(g.factor, w, at + k, combined_rows(pulled, [get_lane(row, k) for row in seen]))


def gained(gain, rows: list) -> list:
    """G J of a contact, J a vector for each axis."""
    return [combined_rows(rows, gain.parts[3 * m : 3 * m + 3]) for m in range(3)]
