"""Islands of a large world, which are solved one after another: bodies that rows and contacts join, with these.

The world joins nothing. The last island has all bodies that stand alone, without rows and contacts. An island keeps the
order in which its members come, and nothing of it depends on bodies that are not in it.

Source: Tarjan (1975), sets by union and find. Deviation: the first body of a set stands for it.
"""

import numpy as np

from simcli.kernels.complementarity.dense import whole
from simcli.kernels.device.arena import Arena
from simcli.kernels.device.crew import items_of_part
from simcli.kernels.device.notes import Notes, begin_groups, count_in_group, end_counting, next_of_group
from simcli.kernels.language import ti
from simcli.kernels.language.numbers import number

ITS_ROWS, ITS_CONTACTS, ITS_EDGES, ITS_BODIES, ITS_VELOCITIES = range(5)  # kinds of members
DOFS = 6  # velocities of a body


class IslandSets:
    """Memory of the islands of a world.

    Args:
        arena: of one lane.
        n: bodies.
        edges: (E, 2) bodies that rows couple for good.
        homes: (rows,) a body that each row sees, -1 for none.
        n_contacts: capacity.

    Attributes:
        notes: integers; those of which there is one come first, at places that are the same in every scene.
        above: (n) a body of the same island, at last its first one.  number: (n) of the island of a body.
        count: how many there are.  changed: 1 if bodies are in other islands than before.
        hand: of each thread.  island, turn: which is at hand, and its place in the queue.
        members, first: by kind, members in the order of islands, and (islands + 1) where those of each begin.
        span: where the members at hand begin and end, of each kind: of one island, or of all.
        rank: (n) place of a body among members.
        met, n_met: (2 contacts) bodies of each contact that islands are of, one more than their numbers; how many contacts.
        queue, n_queued: islands whose impulses will change, and how many.
        carried: numbers of a world, (1) each, of which each island has its own.  worst: those that are the largest of all
            islands when all are through.  kept: (islands) of each of these.
    """

    _data_oriented = True

    def __init__(self, arena: Arena, n: int, edges: np.ndarray, homes: np.ndarray, n_contacts: int):
        self.arena, self.n, self.n_edges, self.n_rows = arena, n, len(edges), len(homes)
        self.edge, self.home = arena.ints(edges), arena.ints(homes)
        notes = self.notes = Notes(arena, ti.i32)
        hand = self.hand = Notes(arena, ti.i32, own=True)
        self.island, self.turn, self.span = (hand.reserve(k) for k in (1, 1, 8))
        if arena.crew:
            arena.crew.taken_over.append(hand)
        self.count, self.changed, self.n_met, self.n_queued = (notes.reserve(1) for _ in range(4))
        self.above, self.number, self.rank = (notes.reserve(n) for _ in range(3))
        self.met, self.queue = notes.reserve(2 * n_contacts), notes.reserve(n + 1)
        self.members = [_list(arena, count) for count in (len(homes), n_contacts, len(edges), n, DOFS * n)]
        self.first = [_list(arena, n + 3) for _ in range(4)]
        self.kept = Notes(arena)
        self.carried: list = []
        self.worst: list = []

    def carry(self, carried: list, worst: list):
        """Let each island have numbers of its own, and worlds the largest of others."""
        self.kept.reserve(len(carried) * (self.n + 1) + len(worst))
        self.carried += carried
        self.worst += worst

    def place_of(self, island, k: int):
        """Where number k of an island stands, behind the largest ones (inside kernels)."""
        return len(self.worst) + island * len(self.carried) + k


def _list(arena: Arena, n: int) -> Notes:
    """Memory of n whole numbers: its places are the same in every scene, as those behind others are not."""
    notes = Notes(arena, ti.i32)
    notes.reserve(n)
    return notes


def begin_of(p, w, kind):
    """Place of the first member at hand of a kind (inside kernels): of an island where a problem is parted, else of all."""
    if not p.is_parted:
        return 0
    if kind == ITS_VELOCITIES:
        return DOFS * begin_of(p, w, ITS_BODIES)
    return p.large.islands.hand.load(w, p.large.islands.span + 2 * kind)


def end_of(p, w, kind, count=None):
    """The place behind the last member at hand of a kind (inside kernels).

    Args:
        count: how many there are where the problem is not parted; if None, all velocities, rows or contacts.
    """
    if not p.is_parted:
        if count is None and kind == ITS_VELOCITIES:
            return number(p, "n")
        if count is None:
            return _count_of(p, w, kind) if p.is_large else whole(p.live, w, kind)
        return count
    if kind == ITS_VELOCITIES:
        return DOFS * end_of(p, w, ITS_BODIES)
    return p.large.islands.hand.load(w, p.large.islands.span + 2 * kind + 1)


def members_of_part(p, w, kind, count=None) -> tuple:
    """The places of those members at hand of a kind that a thread takes (inside kernels), see `items_of_part`."""
    begin, end = begin_of(p, w, kind), end_of(p, w, kind, count)
    if p.arena.crew is None:
        return begin, end
    each = DOFS if kind == ITS_VELOCITIES and p.is_large else 1  # those of a body stay together
    first, last = items_of_part(p.arena, w, (end - begin) // each)
    return begin + first * each, begin + last * each


def member(p, w, kind, k):
    """The row, contact, body or velocity at a place (inside kernels)."""
    if not p.is_parted:
        return k
    return p.large.islands.members[kind].load(w, k)


@ti.func
def find_islands(p: ti.template(), w: ti.i32):
    """Islands of the bodies, rows and contacts of a large world; all are at hand then.

    Reads:  p.{stated, contacts.on}, p.large.body
    Writes: p.large.islands
    """
    g = p.large.islands
    g.notes.store(w, g.changed, 0)
    if _touches_as_before(p, w) == 0:
        _join_all(p, w)
        _number_islands(p, w)
        for kind in ti.static(range(4)):
            _list_members(p, w, kind)
        for k in range(g.n):
            body = g.members[ITS_BODIES].load(w, k)
            g.notes.store(w, g.rank + body, k)
            for m in ti.static(range(DOFS)):
                g.members[ITS_VELOCITIES].store(w, DOFS * k + m, DOFS * body + m)
    take_all_islands(p, w)
    for k, array in ti.static(list(enumerate(g.carried))):
        _keep_for_all(g, w, k, array)


@ti.func
def _touches_as_before(p: ti.template(), w: ti.i32):
    """1 if each contact is of the bodies that it was of when islands were found.

    Writes: p.large.islands.{met, n_met}
    """
    g = p.large.islands
    count = whole(p.stated, w, 0)
    same = ti.cast(count == g.notes.load(w, g.n_met) and g.notes.load(w, g.count) > 0, ti.i32)
    g.notes.store(w, g.n_met, count)
    for c in range(count):
        on = ti.cast(p.contacts.on.load(w, c) != 0.0, ti.i32)
        a, b = (whole(p.large.body, w, 2 * c) + 1) * on, (whole(p.large.body, w, 2 * c + 1) + 1) * on
        if g.notes.load(w, g.met + 2 * c) != a or g.notes.load(w, g.met + 2 * c + 1) != b:
            same = 0
            g.notes.store(w, g.met + 2 * c, a)
            g.notes.store(w, g.met + 2 * c + 1, b)
    return same


@ti.func
def _join_all(p: ti.template(), w: ti.i32):
    """Join the bodies of contacts, and of rows.

    Writes: p.large.islands.above
    """
    g = p.large.islands
    for b in range(g.n):
        g.notes.store(w, g.above + b, b)
    for e in range(g.n_edges):
        _unite(g, w, g.edge.at(2 * e), g.edge.at(2 * e + 1))
    for c in range(whole(p.stated, w, 0)):
        a, b = whole(p.large.body, w, 2 * c), whole(p.large.body, w, 2 * c + 1)
        if p.contacts.on.load(w, c) != 0.0 and a >= 0 and b >= 0:
            _unite(g, w, a, b)


@ti.func
def _unite(g: ti.template(), w: ti.i32, a: ti.i32, b: ti.i32):
    """Make one island of two.

    Writes: g.above
    """
    one, other = first_of_island(g, w, a), first_of_island(g, w, b)
    g.notes.store(w, g.above + ti.max(one, other), ti.min(one, other))


@ti.func
def first_of_island(g: ti.template(), w: ti.i32, b: ti.i32):
    """The first body of the island of a body.

    Writes: g.above: shorter ways
    """
    at = b
    above = g.notes.load(w, g.above + at)
    while above != at:
        following = g.notes.load(w, g.above + above)
        g.notes.store(w, g.above + at, following)
        at = above
        above = following
    return at


@ti.func
def _number_islands(p: ti.template(), w: ti.i32):
    """Number islands by their first bodies, and as the last one all without rows and contacts.

    Writes: p.large.islands.{number, count, changed, rank}
    """
    g = p.large.islands
    for b in range(g.n):
        g.notes.store(w, g.rank + b, -2)  # of islands that have none, at first
    for s in range(g.n_rows):
        if g.home.at(s) >= 0:
            g.notes.store(w, g.rank + first_of_island(g, w, g.home.at(s)), -1)
    for c in range(whole(p.stated, w, 0)):
        body = _body_of_contact(p, w, c)
        if body >= 0:
            g.notes.store(w, g.rank + first_of_island(g, w, body), -1)
    count = 0
    last = 0
    for b in range(g.n):
        first = first_of_island(g, w, b)
        if first == b and g.notes.load(w, g.rank + b) == -1:
            g.notes.store(w, g.rank + b, count)
            count += 1
        g.notes.store(w, g.rank + b, g.notes.load(w, g.rank + first))
    for b in range(g.n):
        number = g.notes.load(w, g.rank + b)
        if number < 0:
            number = count
            last = 1
        if number != g.notes.load(w, g.number + b):
            g.notes.store(w, g.changed, 1)
        g.notes.store(w, g.number + b, number)
    g.notes.store(w, g.count, count + last)


@ti.func
def _body_of_contact(p: ti.template(), w: ti.i32, c: ti.i32):
    """A body of a contact, -1 if it is off."""
    body = -1
    if p.contacts.on.load(w, c) != 0.0:
        body = ti.max(whole(p.large.body, w, 2 * c), whole(p.large.body, w, 2 * c + 1))
    return body


def _count_of(p, w, kind):
    """How many members all islands have together (inside kernels)."""
    if kind == ITS_CONTACTS:
        return whole(p.stated, w, 0)
    return number(p.large.islands, {ITS_ROWS: "n_rows", ITS_EDGES: "n_edges", ITS_BODIES: "n"}[kind])


def _island_of(p, w, kind, k):
    """The island of a member (inside kernels); the last one's is what is off, or sees no body."""
    g = p.large.islands
    body = k
    if kind == ITS_ROWS:
        body = g.home.at(k)
    elif kind == ITS_CONTACTS:
        body = _body_of_contact(p, w, k)
    elif kind == ITS_EDGES:
        body = g.edge.at(2 * k)
    return _number_of(g, w, body)


@ti.func
def _number_of(g: ti.template(), w: ti.i32, body: ti.i32):
    island = g.notes.load(w, g.count) - 1
    if body >= 0:
        island = g.notes.load(w, g.number + body)
    return island


@ti.func
def _list_members(p: ti.template(), w: ti.i32, kind: ti.template()):
    """Members of a kind in the order of islands, and in each island as they come.

    Writes: p.large.islands.{members, first}
    """
    g = p.large.islands
    count = g.notes.load(w, g.count)
    begin_groups(g.first[kind], w, 0, count)
    for k in range(_count_of(p, w, kind)):
        count_in_group(g.first[kind], w, 0, _island_of(p, w, kind, k))
    end_counting(g.first[kind], w, 0, count)
    for k in range(_count_of(p, w, kind)):
        g.members[kind].store(w, next_of_group(g.first[kind], w, 0, _island_of(p, w, kind, k)), k)


def keep_for_all(p, w, array):
    """Let all islands have the present number of a world (inside kernels).

    Writes: p.large.islands.kept
    """
    g = p.large.islands
    _keep_for_all(g, w, [array is one for one in g.carried].index(True), array)


@ti.func
def _keep_for_all(g: ti.template(), w: ti.i32, k: ti.template(), array: ti.template()):
    for i in range(g.notes.load(w, g.count)):
        g.kept.store(w, g.place_of(i, k), array.load(w, 0))


@ti.func
def take_all_islands(p: ti.template(), w: ti.i32):
    """Have all members at hand.

    Writes: p.large.islands.span
    """
    g = p.large.islands
    for kind in ti.static(range(4)):
        g.hand.store(w, g.span + 2 * kind, 0)
        g.hand.store(w, g.span + 2 * kind + 1, _count_of(p, w, kind))
