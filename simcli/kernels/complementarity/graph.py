"""Which bodies rows and contacts couple, an order of elimination, and the fill of the factor: found anew where they change.

Neighbours are bits of words, and a body is eliminated by joining its neighbours' bits. The body with the fewest neighbours
left goes first, the first of equals.

Source: minimum degree (Tinney and Walker 1967). Deviation: on whole bodies, whose blocks are full.
"""

import numpy as np

from simcli.kernels.device.arena import Arena
from simcli.kernels.device.notes import Notes
from simcli.kernels.language import ti

_WORD = 32  # bits
UNKNOWN, COMPLETE, OPEN = 0, 1, 2  # what the pattern is: not found yet; of all that is coupled; of less


class Graph:
    """Memory of the graph of a world and of the pattern of its factor.

    Args:
        arena: of one lane.
        n: bodies.
        edges: (E, 2) bodies that rows couple for good.
        n_contacts: capacity.
        room: entries beside the diagonal, at most.

    Attributes:
        notes: integers.  state: UNKNOWN, COMPLETE or OPEN.  fill: entries.  is_of_now: 0 where contacts may have changed.
        near: (n words) neighbours.  n_pairs: bodies that touch.  pair: (2 contacts) which, in the order of contacts.
        degree: (n) how many, -1 for those that are eliminated.  tally: (n) bodies of each degree that are left.
        order: (n) body of each pivot.  position: (n) pivot of each body.
        start: (n + 1), column: (room) of row k of U, the bodies beside the diagonal; of L the same columns.
        row_start: (n + 1), row_entry, row_pivot: (room) entries of row k of L and their pivots, which rise.
        place: (E + contacts) entry of each pair of bodies that rows couple, then of each that touch, -1 for none.
        touching: (contacts) which of these pairs touch there, -1 for a body alone.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, n: int, edges: np.ndarray, n_contacts: int, room: int):
        self.arena, self.n, self.room, self.n_edges, self.words = arena, n, room, len(edges), -(-n // _WORD)
        self.edge = arena.ints(edges)
        notes = self.notes = Notes(arena, ti.i32)
        self.state, self.fill = notes.reserve(1), notes.reserve(1)
        self.is_of_now, self.n_pairs = notes.reserve(1), notes.reserve(1)
        self.pair, self.touching = notes.reserve(2 * n_contacts), notes.reserve(n_contacts)
        self.near, self.degree, self.tally = notes.reserve(n * self.words), notes.reserve(n), notes.reserve(n)
        self.order, self.position = notes.reserve(n), notes.reserve(n)
        self.start, self.row_start = notes.reserve(n + 1), notes.reserve(n + 2)
        self.column, self.row_entry, self.row_pivot = (notes.reserve(room) for _ in range(3))
        self.place = notes.reserve(self.n_edges + n_contacts)


@ti.func
def connect(g: ti.template(), w: ti.i32, a: ti.i32, b: ti.i32):
    """Make two bodies neighbours.

    Writes: g.near
    """
    for side in range(2):
        one = ti.select(side == 0, a, b)
        other = a + b - one
        at = g.near + one * g.words + other // _WORD
        g.notes.store(w, at, g.notes.load(w, at) | (1 << (other % _WORD)))


@ti.func
def clear_graph(g: ti.template(), w: ti.i32, n_edges: ti.i32):
    """As many of the bodies that rows couple for good, and no others.

    Writes: g.near
    """
    for k in range(g.n * g.words):
        g.notes.store(w, g.near + k, 0)
    for e in range(n_edges):
        connect(g, w, g.edge.at(2 * e), g.edge.at(2 * e + 1))


@ti.func
def note_pair(g: ti.template(), w: ti.i32, k: ti.i32, a: ti.i32, b: ti.i32):
    """Bodies a and b touch, pair k of this step: 1 if they were pair k of the step that the pattern is of.

    Writes: g.pair
    """
    same = 1
    if g.notes.load(w, g.pair + 2 * k) != a or g.notes.load(w, g.pair + 2 * k + 1) != b:
        same = 0
        g.notes.store(w, g.pair + 2 * k, a)
        g.notes.store(w, g.pair + 2 * k + 1, b)
    return same


@ti.func
def order_bodies(g: ti.template(), w: ti.i32):
    """Eliminate all bodies: their order, and the columns of U. 1 if there was room for all.

    Reads:  g.near
    Writes: g.{near, degree, tally, order, position, start, column, fill}
    """
    for b in range(g.n):
        g.notes.store(w, g.tally + b, 0)
        g.notes.store(w, g.degree + b, -1)
    for b in range(g.n):
        count_neighbours(g, w, b)
    fits = 1
    fill = 0
    first_left = 0
    least = 0
    for k in range(g.n):
        if fits != 0:
            v, first_left, least = least_coupled(g, w, first_left, least)
            g.notes.store(w, g.order + k, v)
            g.notes.store(w, g.position + v, k)
            g.notes.store(w, g.start + k, fill)
            if fill + g.notes.load(w, g.degree + v) > g.room:
                fits = 0
            else:
                first = fill
                fill = list_neighbours(g, w, v, fill)
                for e in range(first, fill):
                    u = g.notes.load(w, g.column + e)
                    _join(g, w, u, v)
                    count_neighbours(g, w, u)
            _move_degree(g, w, v, -1)
    g.notes.store(w, g.start + g.n, fill)
    g.notes.store(w, g.fill, fill)
    return fits


@ti.func
def least_coupled(g: ti.template(), w: ti.i32, first: ti.i32, least: ti.i32):
    """The first body of the fewest neighbours of those that are left, the first that is left, and how few they are.

    Args:
        first, least: the last two of the elimination before, 0 at first: a body that goes takes one neighbour, at most,
            from another.
    """
    left = first
    while g.notes.load(w, g.degree + left) < 0:
        left += 1
    fewest = ti.max(least - 1, 0)
    while g.notes.load(w, g.tally + fewest) == 0:
        fewest += 1
    v = left
    while g.notes.load(w, g.degree + v) != fewest:
        v += 1
    return v, left, fewest


@ti.func
def count_neighbours(g: ti.template(), w: ti.i32, b: ti.i32):
    """Neighbours of a body.

    Writes: g.{degree, tally}
    """
    total = 0
    for k in range(g.words):
        bits = g.notes.load(w, g.near + b * g.words + k)
        while bits != 0:
            bits &= bits - 1
            total += 1
    _move_degree(g, w, b, total)


@ti.func
def _move_degree(g: ti.template(), w: ti.i32, b: ti.i32, degree: ti.i32):
    """Give a body another degree, -1 if it is eliminated.

    Writes: g.{degree, tally}
    """
    before = g.notes.load(w, g.degree + b)
    if before >= 0:
        g.notes.store(w, g.tally + before, g.notes.load(w, g.tally + before) - 1)
    if degree >= 0:
        g.notes.store(w, g.tally + degree, g.notes.load(w, g.tally + degree) + 1)
    g.notes.store(w, g.degree + b, degree)


@ti.func
def list_neighbours(g: ti.template(), w: ti.i32, v: ti.i32, first: ti.i32):
    """Columns of a body from an entry on; the entry behind them.

    Writes: g.column
    """
    at = first
    for k in range(g.words):
        bits = g.notes.load(w, g.near + v * g.words + k)
        if bits != 0:
            for bit in range(_WORD):
                if (bits >> bit) & 1 != 0:
                    g.notes.store(w, g.column + at, _WORD * k + bit)
                    at += 1
    return at


@ti.func
def _join(g: ti.template(), w: ti.i32, u: ti.i32, v: ti.i32):
    """Give u the neighbours of v, and take v and u out of them.

    Writes: g.near
    """
    for k in range(g.words):
        at = g.near + u * g.words + k
        bits = g.notes.load(w, at) | g.notes.load(w, g.near + v * g.words + k)
        if k == v // _WORD:
            bits &= ~(1 << (v % _WORD))
        if k == u // _WORD:
            bits &= ~(1 << (u % _WORD))
        g.notes.store(w, at, bits)


@ti.func
def transpose(g: ti.template(), w: ti.i32):
    """Rows of L from the columns of U.

    Reads:  g.{start, column, position}
    Writes: g.{row_start, row_entry, row_pivot}
    """
    for k in range(g.n + 2):
        g.notes.store(w, g.row_start + k, 0)
    fill = g.notes.load(w, g.fill)
    for e in range(fill):  # how many, two places on
        at = g.row_start + g.notes.load(w, g.position + g.notes.load(w, g.column + e)) + 2
        g.notes.store(w, at, g.notes.load(w, at) + 1)
    for k in range(g.n):
        at = g.row_start + k + 2
        g.notes.store(w, at, g.notes.load(w, at) + g.notes.load(w, at - 1))
    for k in range(g.n):
        for e in range(g.notes.load(w, g.start + k), g.notes.load(w, g.start + k + 1)):
            at = g.row_start + g.notes.load(w, g.position + g.notes.load(w, g.column + e)) + 1
            row = g.notes.load(w, at)
            g.notes.store(w, g.row_entry + row, e)
            g.notes.store(w, g.row_pivot + row, k)
            g.notes.store(w, at, row + 1)


@ti.func
def find_entry(g: ti.template(), w: ti.i32, a: ti.i32, b: ti.i32):
    """The entry of two bodies, -1 if the pattern has none."""
    k = ti.min(g.notes.load(w, g.position + a), g.notes.load(w, g.position + b))
    other = a + b - g.notes.load(w, g.order + k)
    found = -1
    for e in range(g.notes.load(w, g.start + k), g.notes.load(w, g.start + k + 1)):
        if g.notes.load(w, g.column + e) == other:
            found = e
    return found


@ti.func
def entry_of_contact(g: ti.template(), w: ti.i32, c: ti.i32):
    """The entry of the bodies of a contact, -1 if the pattern has none."""
    pair = g.notes.load(w, g.touching + c)
    entry = -1
    if pair >= 0:
        entry = g.notes.load(w, g.place + g.n_edges + pair)
    return entry
