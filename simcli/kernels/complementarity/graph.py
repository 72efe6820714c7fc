"""Of each island an order of elimination, and the fill of the factor: found anew where what is coupled changes.

Neighbours are bits of words, and a body is eliminated by joining its neighbours' bits. The body with the fewest neighbours
left goes first, the first of equals. Bodies are numbers of an island there, and of the world wherever they are kept.

Source: minimum degree (Tinney and Walker 1967). Deviation: on whole bodies, whose blocks are full.
"""

from simcli.kernels.complementarity.islands import ITS_BODIES, ITS_CONTACTS, ITS_EDGES, IslandSets, find_islands
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.notes import Notes
from simcli.kernels.language import ti

_WORD = 32  # bits
UNKNOWN, COMPLETE, OPEN = 0, 1, 2  # what the pattern is: not found yet; of all that is coupled; of less


class Graph:
    """Memory of the graph of the island at hand, and of the patterns of the factors of all.

    Args:
        arena: of one lane.
        islands: of the world.
        n_contacts: capacity.
        room: entries beside the diagonal for each body, at most.

    Attributes:
        notes: integers.  state: (islands) UNKNOWN, COMPLETE or OPEN.  entry, fill: (islands) the first entry that it may
            have, and the one behind the last that it has.  is_of_now: (islands) 0 where contacts may have changed.
        own: of each thread.  near: neighbours.
        pair: (2 contacts) bodies that touch, in the order of contacts.  n_pairs, first_pair: (islands) how many, and the
            place of the first ones, which is that of the first contact.
        degree: (n) how many, -1 for those that are eliminated.  tally: (n) bodies of each degree that are left.
        order: (n) body of each pivot, island after island.  position: (n) pivot of each body.
        start, stop: (n), column: (room) of row k of U, the bodies beside the diagonal; of L the same columns.
        row_start, row_stop: (n), row_entry, row_pivot: (room) entries of row k of L and their pivots, which rise.
        place: (E + contacts) entry of each pair of bodies that rows couple, then of each that touch, -1 for none.
        touching: (contacts) which of these pairs touch there, -1 for a body alone.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, islands: IslandSets, n_contacts: int, room: int):
        n, self.arena, self.islands, self.room_of_body = islands.n, arena, islands, room
        self.n, self.n_edges = n, islands.n_edges
        room = self.room = min(room * n, n * (n - 1) // 2)
        notes = self.notes = Notes(arena, ti.i32)
        self.state, self.entry, self.fill, self.is_of_now = (notes.reserve(n + 2) for _ in range(4))
        self.n_pairs, self.first_pair = notes.reserve(n + 2), notes.reserve(n + 2)
        self.pair, self.touching = notes.reserve(2 * n_contacts), notes.reserve(n_contacts)
        own = self.own = Notes(arena, ti.i32, own=True)
        self.near, self.degree, self.tally = own.reserve(n * -(-n // _WORD)), own.reserve(n), own.reserve(n)
        self.order, self.position = notes.reserve(n), notes.reserve(n)
        self.start, self.stop, self.row_start, self.row_stop = (notes.reserve(n) for _ in range(4))
        self.column, self.row_entry, self.row_pivot = (notes.reserve(room) for _ in range(3))
        self.place = notes.reserve(self.n_edges + n_contacts)


def place_at_hand(g, w, kind, end):
    """Where the members at hand of a kind begin, or end (inside kernels)."""
    return g.islands.hand.load(w, g.islands.span + 2 * kind + end)


def of_island(g, w, what):
    """A number of the island at hand (inside kernels)."""
    return g.notes.load(w, what + g.islands.hand.load(w, g.islands.island))


def put_of_island(g, w, what, value):
    """Replace it (inside kernels)."""
    g.notes.store(w, what + g.islands.hand.load(w, g.islands.island), value)


@ti.func
def part_islands(p: ti.template(), w: ti.i32):
    """Islands of a large world, and room for their factors.

    Writes: p.large
    """
    find_islands(p, w)
    _make_room(p.large.graph, w)


@ti.func
def _make_room(g: ti.template(), w: ti.i32):
    """Entries for each island; where islands have changed, patterns are not known.

    Writes: g.{entry, state}
    """
    s = g.islands
    g.notes.store(w, g.entry, 0)
    for i in range(s.notes.load(w, s.count)):
        m = s.first[ITS_BODIES].load(w, i + 1) - s.first[ITS_BODIES].load(w, i)
        room = ti.min(g.room_of_body * m, m * (m - 1) // 2)
        g.notes.store(w, g.entry + i + 1, g.notes.load(w, g.entry + i) + room)
        if s.notes.load(w, s.changed) != 0:
            g.notes.store(w, g.state + i, UNKNOWN)


@ti.func
def connect(g: ti.template(), w: ti.i32, a: ti.i32, b: ti.i32):
    """Make two bodies neighbours.

    Writes: g.near
    """
    first = place_at_hand(g, w, ITS_BODIES, 0)
    words = words_of(place_at_hand(g, w, ITS_BODIES, 1) - first)
    one, other = g.islands.notes.load(w, g.islands.rank + a) - first, g.islands.notes.load(w, g.islands.rank + b) - first
    for side in range(2):
        at = g.near + ti.select(side == 0, one, other) * words
        k = ti.select(side == 0, other, one)
        g.own.store(w, at + k // _WORD, g.own.load(w, at + k // _WORD) | (1 << (k % _WORD)))


def words_of(m):
    """Words for the neighbours of a body of an island of m."""
    return (m + (_WORD - 1)) // _WORD


@ti.func
def clear_graph(g: ti.template(), w: ti.i32, has_edges: ti.i32):
    """What rows couple for good, or nothing.

    Writes: g.near
    """
    m = place_at_hand(g, w, ITS_BODIES, 1) - place_at_hand(g, w, ITS_BODIES, 0)
    for k in range(m * words_of(m)):
        g.own.store(w, g.near + k, 0)
    if has_edges != 0:
        for k in range(place_at_hand(g, w, ITS_EDGES, 0), place_at_hand(g, w, ITS_EDGES, 1)):
            e = g.islands.members[ITS_EDGES].load(w, k)
            connect(g, w, g.islands.edge.at(2 * e), g.islands.edge.at(2 * e + 1))


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
    """Eliminate all bodies of an island: their order, and the columns of U. 1 if there was room for all.

    Reads:  g.near
    Writes: g.{near, degree, tally, order, position, start, stop, column, fill}
    """
    base = place_at_hand(g, w, ITS_BODIES, 0)
    m = place_at_hand(g, w, ITS_BODIES, 1) - base
    for b in range(m):
        g.own.store(w, g.tally + b, 0)
        g.own.store(w, g.degree + b, -1)
    for b in range(m):
        count_neighbours(g, w, b, words_of(m))
    fits = 1
    fill = of_island(g, w, g.entry)
    most = of_island(g, w, g.entry + 1)
    first_left = 0
    least = 0
    for k in range(m):
        if fits != 0:
            v, first_left, least = least_coupled(g, w, first_left, least)
            body = g.islands.members[ITS_BODIES].load(w, base + v)
            g.notes.store(w, g.order + base + k, body)
            g.notes.store(w, g.position + body, base + k)
            g.notes.store(w, g.start + base + k, fill)
            if fill + g.own.load(w, g.degree + v) > most:
                fits = 0
            else:
                first = fill
                fill = list_neighbours(g, w, v, fill, words_of(m))
                for e in range(first, fill):
                    u = g.notes.load(w, g.column + e)
                    _join(g, w, u, v, words_of(m))
                    count_neighbours(g, w, u, words_of(m))
                    g.notes.store(w, g.column + e, g.islands.members[ITS_BODIES].load(w, base + u))
            g.notes.store(w, g.stop + base + k, fill)
            _move_degree(g, w, v, -1)
    put_of_island(g, w, g.fill, fill)
    return fits


@ti.func
def least_coupled(g: ti.template(), w: ti.i32, first: ti.i32, least: ti.i32):
    """The first body of the fewest neighbours of those that are left, the first that is left, and how few they are.

    Args:
        first, least: the last two of the elimination before, 0 at first: a body that goes takes one neighbour, at most,
            from another.
    """
    left = first
    while g.own.load(w, g.degree + left) < 0:
        left += 1
    fewest = ti.max(least - 1, 0)
    while g.own.load(w, g.tally + fewest) == 0:
        fewest += 1
    v = left
    while g.own.load(w, g.degree + v) != fewest:
        v += 1
    return v, left, fewest


@ti.func
def count_neighbours(g: ti.template(), w: ti.i32, b: ti.i32, words: ti.i32):
    """Neighbours of a body.

    Writes: g.{degree, tally}
    """
    total = 0
    for k in range(words):
        bits = g.own.load(w, g.near + b * words + k)
        while bits != 0:
            bits &= bits - 1
            total += 1
    _move_degree(g, w, b, total)


@ti.func
def _move_degree(g: ti.template(), w: ti.i32, b: ti.i32, degree: ti.i32):
    """Give a body another degree, -1 if it is eliminated.

    Writes: g.{degree, tally}
    """
    before = g.own.load(w, g.degree + b)
    if before >= 0:
        g.own.store(w, g.tally + before, g.own.load(w, g.tally + before) - 1)
    if degree >= 0:
        g.own.store(w, g.tally + degree, g.own.load(w, g.tally + degree) + 1)
    g.own.store(w, g.degree + b, degree)


@ti.func
def list_neighbours(g: ti.template(), w: ti.i32, v: ti.i32, first: ti.i32, words: ti.i32):
    """Columns of a body from an entry on; the entry behind them.

    Writes: g.column
    """
    at = first
    for k in range(words):
        bits = g.own.load(w, g.near + v * words + k)
        if bits != 0:
            for bit in range(_WORD):
                if (bits >> bit) & 1 != 0:
                    g.notes.store(w, g.column + at, _WORD * k + bit)
                    at += 1
    return at


@ti.func
def _join(g: ti.template(), w: ti.i32, u: ti.i32, v: ti.i32, words: ti.i32):
    """Give u the neighbours of v, and take v and u out of them.

    Writes: g.near
    """
    for k in range(words):
        at = g.near + u * words + k
        bits = g.own.load(w, at) | g.own.load(w, g.near + v * words + k)
        if k == v // _WORD:
            bits &= ~(1 << (v % _WORD))
        if k == u // _WORD:
            bits &= ~(1 << (u % _WORD))
        g.own.store(w, at, bits)


@ti.func
def transpose(g: ti.template(), w: ti.i32):
    """Rows of L from the columns of U.

    Reads:  g.{start, stop, column, position}
    Writes: g.{row_start, row_stop, row_entry, row_pivot}
    """
    base, end = place_at_hand(g, w, ITS_BODIES, 0), place_at_hand(g, w, ITS_BODIES, 1)
    for k in range(base, end):
        g.notes.store(w, g.row_stop + k, 0)
    for e in range(of_island(g, w, g.entry), of_island(g, w, g.fill)):  # how many
        at = g.row_stop + g.notes.load(w, g.position + g.notes.load(w, g.column + e))
        g.notes.store(w, at, g.notes.load(w, at) + 1)
    row = of_island(g, w, g.entry)
    for k in range(base, end):
        count = g.notes.load(w, g.row_stop + k)
        g.notes.store(w, g.row_start + k, row)
        g.notes.store(w, g.row_stop + k, row)
        row += count
    for k in range(base, end):
        for e in range(g.notes.load(w, g.start + k), g.notes.load(w, g.stop + k)):
            at = g.row_stop + g.notes.load(w, g.position + g.notes.load(w, g.column + e))
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
    for e in range(g.notes.load(w, g.start + k), g.notes.load(w, g.stop + k)):
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


@ti.func
def find_pattern(g: ti.template(), w: ti.i32):
    """Order and fill of what is coupled; where there is no room for all, of what joints couple, else of bodies apart.

    Writes: g
    """
    first = place_at_hand(g, w, ITS_CONTACTS, 0)
    fits = 0
    for less in range(3):
        if fits == 0:
            clear_graph(g, w, ti.select(less < 2, 1, 0))
            for k in range(first, ti.select(less == 0, first + of_island(g, w, g.n_pairs), first)):
                connect(g, w, g.notes.load(w, g.pair + 2 * k), g.notes.load(w, g.pair + 2 * k + 1))
            fits = order_bodies(g, w)
            put_of_island(g, w, g.state, ti.select(less == 0, COMPLETE, OPEN))
    transpose(g, w)
    for n in range(place_at_hand(g, w, ITS_EDGES, 0), place_at_hand(g, w, ITS_EDGES, 1)):
        e = g.islands.members[ITS_EDGES].load(w, n)
        g.notes.store(w, g.place + e, find_entry(g, w, g.islands.edge.at(2 * e), g.islands.edge.at(2 * e + 1)))
    for k in range(first, first + of_island(g, w, g.n_pairs)):
        entry = find_entry(g, w, g.notes.load(w, g.pair + 2 * k), g.notes.load(w, g.pair + 2 * k + 1))
        g.notes.store(w, g.place + g.n_edges + k, entry)
