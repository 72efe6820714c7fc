"""What a large world keeps instead of dense matrices: the few velocities that a row sees, and the mass of each body.

Velocities belong to bodies, DOFS each, and bodies are coupled by rows and contacts alone, differently in each world, so that
a block is one world:

    rows      entries on a pattern that the scene has for good; duplicates add up
    contacts  at most two bodies, DOFS columns of three for each
    spins     as contacts, of what turns
    mass      a block for each body

Source: Saad (2003), chapter 9. Deviation: see large_problem.py.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from simcli.kernels.complementarity.block_factor import (
    DOFS,
    BlockFactor,
    combined_rows,
    place_of,
    put_rows,
    put_six,
    rows_of,
    six,
    speeds,
)
from simcli.kernels.complementarity.dense import whole
from simcli.kernels.complementarity.graph import Graph, entry_of_contact
from simcli.kernels.complementarity.islands import (
    ITS_BODIES,
    ITS_CONTACTS,
    ITS_ROWS,
    IslandSets,
    begin_of,
    end_of,
    member,
    members_of_part,
)
from simcli.kernels.device.arena import Arena, local
from simcli.kernels.device.notes import Notes
from simcli.kernels.device.sparse_factors import packed_index
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import get_lane, vector
from simcli.kernels.language.numbers import number
from simcli.kernels.language.values import Mat3, Vec3

ROWS_SEEN = 3  # of a contact: the normal, two tangents
MOST_VECTORS = 200  # of a search (large_problem.py)
_CLOSE = {"float64": 1e-11, "float32": 1e-6}  # [1], of the right-hand side, that it may leave
ROOM = 64  # entries of the factor for each body: a heap of a thousand boxes needs 40, and more grows slower than Krylov


@dataclass(frozen=True)
class SystemPattern:
    """What the rows of a scene see for good.

    Attributes:
        n_bodies: with DOFS velocities each, one after the other.
        start: (rows + 1,) offsets into columns.
        column: velocities that each row sees; one may come twice.
    """

    n_bodies: int
    start: np.ndarray
    column: np.ndarray


class Large:
    """Memory of a large world.

    Args:
        arena: of one lane.
        pattern: of the rows.
        rows, contacts: sides of the problem.
        has_spins: whether contacts have spins.

    Attributes:
        value: entries of the rows.  body: (2 contacts) bodies that a contact sees, -1 for none.
        sixes: vectors of the velocities of a body.  seen: (2 ROWS_SEEN contacts) what a contact sees of those of A, then
            of B, along each axis.  turning: likewise of its spins.  inverse: (DOFS bodies) rows of the inverse of a mass.
            motion: (DOFS bodies) each number of the motions that they are velocities of.
        islands, graph, factor: see islands.py, graph.py, block_factor.py.
        edge: of each pair of entries of rows, -1 for one body.  edge_start: (rows + 1) offsets into it.
        weight: (n) [1/kg, 1/(kg m^2)], of the squares of impulses that tell whether a velocity is found.
        along, image: (n) a velocity and what the matrix makes of it.  basis, hessenberg, cosine, sine, rest: of searches.
        row_gain, gains: G of the matrix at hand: of rows, of contacts, and of spins if there are any.
        n_views: what contacts see, and what their spins see if there are any.
        kappa: (contacts) proximal compliance of the island of each.  off, true_off: (contacts) [m/s], natural map of each,
            with the proximal term and without; spin_off, row_off: of their spins, of rows.
        krylov, close: MOST_VECTORS, CLOSE.  steps: (1) rounds of searches so far.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, pattern: SystemPattern, rows, contacts, has_spins: bool):
        n_rows, n_contacts = rows.count, contacts.count
        if arena.device.lanes != 1:
            raise ValueError("large worlds go one by one")
        self.n_bodies, self.krylov = pattern.n_bodies, MOST_VECTORS
        n = self.n = DOFS * pattern.n_bodies
        self.start, self.column = arena.ints(pattern.start), arena.ints(pattern.column)
        self.value = arena.array(len(pattern.column))
        self.body, self.n_views = arena.array(2 * n_contacts), 1 + has_spins
        self.sixes = Notes(arena, width=DOFS)
        self.seen = self.sixes.reserve(2 * ROWS_SEEN * n_contacts)
        self.turning = self.sixes.reserve(2 * ROWS_SEEN * n_contacts * has_spins)
        self.inverse, self.motion = (self.sixes.reserve(DOFS * pattern.n_bodies) for _ in range(2))
        edges, edge, edge_start = coupled(pattern)
        self.edge, self.edge_start = arena.ints(edge), arena.ints(edge_start)
        sees = pattern.start[1:] > pattern.start[:-1]
        homes = np.append(pattern.column, -DOFS)[np.where(sees, pattern.start[:-1], -1)] // DOFS
        self.islands = IslandSets(arena, self.n_bodies, edges, homes, n_contacts)
        self.graph = Graph(arena, self.islands, n_contacts, ROOM)
        self.factor = BlockFactor(arena, self.graph)
        self.weight, self.along, self.image = arena.records(n).arrays(3)
        self.notes = Notes(arena)
        self.basis = self.notes.reserve(n * (MOST_VECTORS + 1))
        self.hessenberg = arena.own_array((MOST_VECTORS + 1) * MOST_VECTORS)
        self.cosine, self.sine, self.rest = (arena.own_array(MOST_VECTORS + 1) for _ in range(3))
        self.steps = arena.own_single.array()
        self.kappa, self.off, self.true_off, self.spin_off = contacts.items.arrays(4)
        self.row_off = rows.items.array()
        self.row_gain, self.gains = arena.array(n_rows), [arena.array(n_contacts, Mat3) for _ in range(self.n_views)]
        self.close = _CLOSE[arena.device.precision]


def coupled(pattern: SystemPattern) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bodies that rows couple, (E, 2); which of these each pair of entries of each row is, -1 for one body; offsets."""
    bodies = [pattern.column[a:b] // DOFS for a, b in pairwise(pattern.start)]
    pairs = [np.stack(np.meshgrid(row, row, indexing="ij"), axis=-1).reshape(-1, 2) for row in bodies]
    pairs, start = np.concatenate([np.zeros((0, 2), int), *pairs]), np.cumsum([0, *(len(row) ** 2 for row in bodies)])
    apart = pairs[:, 0] != pairs[:, 1]
    edges, which = np.unique(np.sort(pairs[apart], axis=1), axis=0, return_inverse=True)
    edge = np.full(len(pairs), -1)
    edge[apart] = which.ravel()
    return edges, edge, start


def mass_place(p, i, j):
    """Place in p.mass of an entry between two velocities, of one body where the world is large."""
    return place_of_pair(ti.max(i, j), ti.min(i, j), p.is_large)


def place_of_pair(high, low, is_large: bool):
    """As `mass_place`, of the higher and the lower of two velocities: numbers of a kernel, or of the host."""
    if not is_large:
        return packed_index(high, low)
    return high // DOFS * packed_index(DOFS, 0) + packed_index(high % DOFS, low % DOFS)


def body_of(p, w, c, side):
    """A body that a contact sees, -1 for none."""
    return whole(p.large.body, w, 2 * c + side)


def place_of_seen(p, triple):
    """Where in p.large.sixes stands what contacts, or their spins, see."""
    return p.large.seen if triple is p.contacts else number(p.large, "turning")


def seen_rows(p, view, w, c, side) -> list:
    """What contact c, or its spins, see of one of its bodies, a vector for each axis."""
    return rows_of(p.large.sixes, w, view + 2 * ROWS_SEEN * c + ROWS_SEEN * side, ROWS_SEEN)


@ti.func
def see_body(p: ti.template(), triple: ti.template(), w: ti.i32, c: ti.i32, side: ti.i32, seen: ti.template()):
    """What contact c, or its spins, see of the body of a side: along each axis, of all its velocities.

    Writes: p.large.sixes
    """
    put_rows(p.large.sixes, w, place_of_seen(p, triple) + 2 * ROWS_SEEN * c + ROWS_SEEN * side, seen.parts)


@ti.func
def speed_of_row(p: ti.template(), w: ti.i32, s: ti.i32, v: ti.template()):
    """The speed J v of a row that is on."""
    g = p.large
    total = p.arena.zero()
    for e in range(g.start.at(s), g.start.at(s + 1)):
        total = total + g.value.load(w, e) * v.load(w, g.column.at(e))
    return total


@ti.func
def pull_of_row(p: ti.template(), w: ti.i32, s: ti.i32, x: ti.template(), out: ti.template()):
    """Add J^T x of a row that is on.

    Writes: out
    """
    g = p.large
    for e in range(g.start.at(s), g.start.at(s + 1)):
        a = g.column.at(e)
        out.store(w, a, out.load(w, a) + g.value.load(w, e) * x)


@ti.func
def speed_of_triple(p: ti.template(), triple: ti.template(), w: ti.i32, c: ti.i32, v: ti.template()):
    """The speed J v of a contact that is on, or of its spins."""
    zero = p.arena.zero()
    total = Vec3(zero, zero, zero)
    for side in range(2):
        body = body_of(p, w, c, side)
        if body >= 0:
            x = vector(six(v, w, body))
            total = total + speeds(seen_rows(p, place_of_seen(p, triple), w, c, side), x)
    return total


@ti.func
def pull_of_triple(p: ti.template(), triple: ti.template(), w: ti.i32, c: ti.i32, x: ti.template(), out: ti.template()):
    """Add J^T x of a contact that is on, or of its spins.

    Writes: out
    """
    for side in range(2):
        body = body_of(p, w, c, side)
        if body >= 0:
            pulled = combined_rows(seen_rows(p, place_of_seen(p, triple), w, c, side), x.parts)
            put_six(out, w, body, [old + get_lane(pulled, k) for k, old in enumerate(six(out, w, body))])


@ti.func
def pull_large(p: ti.template(), w: ti.i32, what: ti.template(), out: ti.template()):
    """Add J^T times the impulses of all rows, contacts and spins to out (n), by the name of their slot."""
    for n in range(begin_of(p, w, ITS_ROWS), end_of(p, w, ITS_ROWS)):
        s = member(p, w, ITS_ROWS, n)
        if p.rows.on.load(w, s) != 0.0:
            pull_of_row(p, w, s, getattr(p.rows, what).load(w, s), out)
    for triple in ti.static(p.triples):
        for n in range(begin_of(p, w, ITS_CONTACTS), end_of(p, w, ITS_CONTACTS)):
            c = member(p, w, ITS_CONTACTS, n)
            if triple.on.load(w, c) != 0.0:
                pull_of_triple(p, triple, w, c, getattr(triple, what).load(w, c), out)


@ti.func
def multiply_blocks(p: ti.template(), w: ti.i32, x: ti.template(), out: ti.template()):
    """The momentum M x.

    Writes: out
    """
    first, end = members_of_part(p, w, ITS_BODIES, p.large.n_bodies)
    for n in range(first, end):
        b = member(p, w, ITS_BODIES, n)
        found = combined_rows(mass_rows(p, w, b), six(x, w, b))
        put_six(out, w, b, [get_lane(found, k) for k in range(DOFS)])


@ti.func
def solve_blocks(p: ti.template(), w: ti.i32, x: ti.template()):
    """M^-1 x in place.

    Writes: x
    """
    g = p.large
    first, end = members_of_part(p, w, ITS_BODIES, p.large.n_bodies)
    for n in range(first, end):
        b = member(p, w, ITS_BODIES, n)
        found = combined_rows(rows_of(g.sixes, w, g.inverse + DOFS * b), six(x, w, b))
        put_six(x, w, b, [get_lane(found, k) for k in range(DOFS)])


def mass_rows(p, w, b) -> list:
    """The mass of a body, a vector for each row."""
    first = local(b * packed_index(DOFS, 0))
    places = [[packed_index(max(k, m), min(k, m)) for m in range(DOFS)] for k in range(DOFS)]
    return [vector([p.mass.load(w, first + place) for place in row]) for row in places]


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
    entry = entry_of_contact(g.graph, w, c)
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
