"""Threads that take stages of one world together: its items in parts, each of which a thread takes.

A run of one world has no other worlds for a second thread. So a stage that works each of its items out by itself is marked
`in_parts`, and loops over `items_of_part`. The first thread takes the program; at such a stage it lets the others in, and
each takes the next part until none is left. No sum goes over the edge of a part, so that the bytes depend neither on the
number of threads nor on who takes what. Elsewhere a stage has all items. Of a `repeat_together` all threads take the stages,
each for what it has claimed, as an island of a queue.

To a kernel each thread is a block of worlds. All blocks have the same memory, but for what is `own`: notes and scratch
arrays of one thread. The others look for work as long as a call of the kernel lasts.

Source: Blumofe and Leiserson (1999), work that idle threads take. Deviation: parts of one loop, counted thread by thread.
"""

from collections.abc import Callable

from simcli.kernels.device.notes import Notes
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import local
from simcli.kernels.language.numbers import unknown_zero

CREW_SIZE = 8  # of a world: what has been tried is two
_PARTS = 4  # of a stage, for each thread: who was late takes fewer
CREW_PARTS = CREW_SIZE * _PARTS
_LINKS = 100  # of a world, for each thread: 64 boxes gain a fifth, and lose as much while threads wake
CACHE_GAP = 16  # numbers between two that several threads write: each has a line of the cache of its own
_OPEN, _INSIDE, _ENDED, _LINE, _CLAIMED, _TAKEN = (CACHE_GAP * k for k in range(6))  # the last one of each thread
_PART, _OF, _FROM, _LEFT, _IDLE = range(5)  # of a thread: its part, of how many; whose parts it takes; nothing
_PAUSE = 16  # quotients between two looks


class Crew:
    """Memory of the threads of a world.

    Args:
        arena: of one world on a CPU.

    Attributes:
        n: threads.  most: room for so many.  n_parts: of a stage.
        first: number of the part that is taken first, 0; with the last one parts are taken backwards, as tests do.
        shared: 1 while a stage is open; threads that are in it; 1 when the call is over; the line of the stage; and how many
            parts of each thread are taken.
        own: of each thread, see _PART.  taken_over: own notes that a thread takes over from the first one when it joins.
    """

    _data_oriented = True

    def __init__(self, arena):
        self.n, self.n_parts, self.first, self.most = 1, 1, 0, max(1, min(arena.device.threads, CREW_SIZE))
        self.taken_over: list[Notes] = []
        self.shared, self.own = Notes(arena), Notes(arena, ti.i32, own=True)
        self.shared.reserve(_TAKEN + CACHE_GAP * self.most)
        self.own.reserve(5)

    def hire(self, n_links: int, n_trees: int) -> None:
        """Say how many threads a world of so many links and trees is worth, before the first call."""
        self.n = max(1, min(self.most, n_links // _LINKS, n_trees))
        self.n_parts = _PARTS * self.n if self.n > 1 else 1

    def begin_call(self) -> None:
        """Be ready for a call of the kernel, on the host."""
        self.shared.memory[:] = 0
        self.own.memory[:, 0], self.own.memory[:, 1] = 0, 1


def in_parts(stage: Callable) -> Callable:
    """Mark a stage that loops over what `items_of_part` gives, and does nothing else."""
    vars(stage)["is_in_parts"] = True
    return stage


def is_in_parts(stage: Callable, arena) -> bool:
    """Whether threads take a stage together."""
    return arena.crew is not None and getattr(stage, "is_in_parts", False)


def items_of_part(arena, w, n) -> tuple:
    """The first of n items that a thread takes, and the one behind the last (inside kernels)."""
    return (0, n) if arena.crew is None else _part_of(arena.crew, w, n)


def place_of_part(arena, w) -> tuple:
    """The number of the part that a thread takes, of how many, and of the thread (inside kernels)."""
    if arena.crew is None:
        return 0, 1, 0
    return arena.crew.own.load(w, _PART), arena.crew.own.load(w, _OF), w


@ti.func
def _part_of(crew: ti.template(), w: ti.i32, n: ti.i32):
    part, parts = crew.own.load(w, _PART), crew.own.load(w, _OF)
    first, end = 0, n
    if parts > 1:
        first, end = n * part // parts, n * (part + 1) // parts
    return first, end


def _zero(crew):
    """0, which the compiler does not know: it would read a number to which nothing is added just once."""
    return ti.cast(unknown_zero() or 0, crew.shared.kind)


def _add(crew, k, value):
    """Add to a number of all threads, at once; gives what it was (inside kernels)."""
    return local(ti.atomic_add(crew.shared.at(0, k), _zero(crew) + value))


@ti.func
def open_to_crew(crew: ti.template(), line: ti.i32):
    """Let all threads take a stage.

    Writes: crew
    """
    begin_with_own(crew, 0)
    for k in range(crew.n):
        crew.shared.store(0, _TAKEN + CACHE_GAP * k, 0.0)
    if crew.n > 1:
        crew.shared.store(0, _LINE, ti.cast(line, crew.shared.kind))
        _add(crew, _OPEN, 1.0)


def begin_claims(arena, hand, w, at) -> None:
    """Nothing of a queue is claimed yet (inside kernels).

    Args:
        hand, at: notes of a thread, and where among them its last claim stands.

    Writes: hand, arena.crew
    """
    hand.store(w, at, -1)
    if arena.crew is not None:
        arena.crew.shared.store(0, _CLAIMED, 0.0)


def claim_next(arena, hand, w, at) -> None:
    """Claim the next place of a queue, as of `begin_claims` (inside kernels).

    Writes: hand, arena.crew
    """
    alone = arena.crew is None
    hand.store(w, at, hand.load(w, at) + 1 if alone else ti.cast(_add(arena.crew, _CLAIMED, 1.0), ti.i32))


@ti.func
def begin_with_own(crew: ti.template(), w: ti.i32):
    """Look for parts of this thread first, which its cache has.

    Writes: crew.own
    """
    crew.own.store(w, _OF, crew.n_parts)
    crew.own.store(w, _FROM, w)
    crew.own.store(w, _LEFT, crew.n)


@ti.func
def take_all_items(crew: ti.template(), w: ti.i32):
    """Have all items of stages, in a part of a program that is this thread's alone.

    Writes: crew.own
    """
    crew.own.store(w, _PART, 0)
    crew.own.store(w, _OF, 1)


@ti.func
def has_part(crew: ti.template(), w: ti.i32):
    """Take the next part of the stage that is open, of those of this thread, then of the others; gives whether there is one.

    Writes: crew
    """
    each, part = crew.n_parts // crew.n, -1
    while part < 0 and crew.own.load(w, _LEFT) > 0:
        whose = crew.own.load(w, _FROM)
        taken = 0
        if crew.n > 1:
            taken = ti.cast(_add(crew, _TAKEN + CACHE_GAP * whose, 1.0), ti.i32)
        else:
            taken = ti.cast(crew.shared.load(0, _TAKEN), ti.i32)
            crew.shared.store(0, _TAKEN, taken + 1.0)
        if taken < each:
            part = whose * each + taken
            crew.own.store(w, _PART, ti.abs(crew.first - part))
        else:
            crew.own.store(w, _FROM, ti.select(whose + 1 < crew.n, whose + 1, 0))
            crew.own.store(w, _LEFT, crew.own.load(w, _LEFT) - 1)
    return part >= 0


@ti.func
def close_stage(crew: ti.template()):
    """Wait for the threads that still take a part.

    Writes: crew
    """
    if crew.n > 1:
        _add(crew, _OPEN, -1.0)
        while _add(crew, _INSIDE, 0.0) > 0.5:
            pass
    crew.own.store(0, _PART, 0)
    crew.own.store(0, _OF, 1)


@ti.func
def leave_stage(crew: ti.template()):
    """What a thread does that found no part left.

    Writes: crew
    """
    _add(crew, _INSIDE, -1.0)


@ti.func
def wait_for_stage(crew: ti.template(), w: ti.i32, end: ti.i32):
    """Wait until a stage is open.

    Returns:
        its line; `end` when the call is over.

    Writes: crew
    """
    line = -1
    while line < 0:
        _add(crew, _INSIDE, 1.0)
        if _add(crew, _OPEN, 0.0) > 0.5:
            line = ti.cast(crew.shared.load(0, _LINE), ti.i32)
            begin_with_own(crew, w)
            for notes in ti.static(crew.taken_over):
                for k in range(notes.count):
                    notes.store(w, k, notes.load_first(w, k))
        else:
            _add(crew, _INSIDE, -1.0)
            if _add(crew, _ENDED, 0.0) > 0.5:
                line = end
            _pause(crew, w)
    return line


@ti.func
def _pause(crew: ti.template(), w: ti.i32):
    """Leave the numbers of all threads alone for a while."""
    x = ti.cast(w, crew.shared.kind)
    for _ in range(_PAUSE):
        x = 1.0 / (1.0 + x)
    crew.own.store(w, _IDLE, ti.cast(x, ti.i32))


@ti.func
def end_call(crew: ti.template()):
    """Send the other threads home.

    Writes: crew
    """
    _add(crew, _ENDED, 1.0)
