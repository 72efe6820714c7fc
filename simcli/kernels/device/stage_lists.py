"""Lists of stages, as solvers write them; programs.py takes them, on a GPU by threads of a warp that wait for each other.

A stage is a function of its owner and a block of worlds, and leaves what it finds in memory.

    [place, load_forces, repeat(assemble, solve, at_most=8, wanted=pieces_change), advance]

`repeat` nests, and each has a mask of its own: of the worlds of a block that began it, those that still want it.
`repeat_blocks` and `only_blocks` are about whole blocks, and have no mask.

A warp of CUDA takes one instruction at a time, for those of its threads that stand there, each for a world of its own.
Worlds that repeat different numbers of turns would stay apart until the end of the step, and the warp would take their
stages one world after another. So threads at the first line of all go on, and the others wait for them.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.expressions import any_lane

NO_BOUND = 2**31 - 1  # turns


class Repeat(NamedTuple):
    """Stages that are taken again.

    Attributes:
        body: stages and repetitions.
        at_most: turns.
        where: condition to begin; none if None.
        wanted: condition to go on after a turn; none if None.
        by_world: whether the conditions are of worlds, else of blocks.
        together: whether all threads of a world enter it (crew.py).
    """

    body: tuple
    at_most: int
    where: Callable | None
    wanted: Callable | None
    by_world: bool = True
    together: bool = False


class Set(NamedTuple):
    """A number of the registers, from here on."""

    name: str
    value: int


class Within(NamedTuple):
    """A list whose stages have another owner.

    Attributes:
        of: gives it from that of the list around.
        body: stages and repetitions.
    """

    of: Callable
    body: tuple


class StageOf(NamedTuple):
    """A stage, or a condition, and whose it is.

    Attributes:
        function: of the owner and a block. A condition gives a mask of worlds; one of blocks a whole number, 0 for no.
        of: lead from the owner of the program to that of the stage.
    """

    function: Callable
    of: tuple[Callable, ...]


def repeat(*body, at_most: int = NO_BOUND, where: Callable | None = None, wanted: Callable | None = None) -> Repeat:
    """Stages that the worlds that want it take again, see `Repeat`."""
    return Repeat(body, at_most, where, wanted)


def repeat_together(*body, where: Callable, wanted: Callable) -> Repeat:
    """Stages that all threads of a world take again, each for what its conditions have claimed."""
    return Repeat(body, NO_BOUND, where, wanted, together=True)


def only(where: Callable, *body) -> Repeat:
    """Stages that some worlds take, once."""
    return Repeat(body, 1, where, None)


def repeat_blocks(*body, at_most: int = NO_BOUND, where: Callable | None = None, wanted: Callable | None = None) -> Repeat:
    """Stages that whole blocks take again."""
    return Repeat(body, at_most, where, wanted, by_world=False)


def only_blocks(where: Callable, *body) -> Repeat:
    """Stages that some blocks take, once."""
    return repeat_blocks(*body, at_most=1, where=where)


def when(has, *body) -> tuple:
    """Stages of a list that are for something, if a run has that."""
    return body if has else ()


def take_all(functions: Iterable[Callable], *given) -> None:
    """Call functions one after another (inside kernels): a list that is no program, because nothing in it repeats."""
    for function in functions:
        function(*given)


def as_function(body: tuple) -> Callable:
    """One function of a list in which nothing repeats: of the owner and a block of one world, without a mask."""
    functions = [_function_of(item) for item in body]
    return lambda owner, w: take_all(functions, owner, w)


def _function_of(item) -> Callable:
    """What takes an item of such a list (inside kernels)."""
    if item.__class__ is tuple:
        return as_function(item)
    if item.__class__ is Within:
        inner = as_function(item.body)
        return lambda owner, w: inner(item.of(owner), w)
    if item.__class__ is Repeat:
        assert item.at_most == 1, "it repeats"
        return _branch(item.where, as_function(item.body))
    return item


def _branch(where: Callable, inner: Callable) -> Callable:
    @ti.func
    def take(owner: ti.template(), w: ti.i32):
        if any_lane(where(owner, w)):
            inner(owner, w)

    return take


def sum_of(functions: Iterable[Callable], start, *given):
    """A number, and what functions give one after another (inside kernels)."""
    for function in functions:
        start = local(start + function(*given))
    return start


def within(of: Callable, *body) -> Within:
    """A list with an owner of its own, see `Within`."""
    return Within(of, body)


def set_registers(**values: int) -> tuple[Set, ...]:
    """Numbers of the registers, from here on."""
    return tuple(Set(name, value) for name, value in values.items())


@ti.func
def threads_beside():
    """The mask of the threads of this warp that are here."""
    return ti.cast(ti.simt.warp.active_mask(), ti.u32)


@ti.func
def is_first(beside: ti.u32, line: ti.i32, n_bits: ti.template()):
    """Whether no thread beside this one stands at an earlier line: 1 or 0, found bit by bit, from the highest on.

    Args:
        beside: threads that call this together, of `threads_beside`.
        line: of this thread, below 2^n_bits.
    """
    candidate = 1
    for k in ti.static(range(n_bits)):
        lower = candidate & (1 - ((line >> (n_bits - 1 - k)) & 1))
        if ti.simt.warp.any_nonzero(beside, lower) != 0:
            candidate = lower
    return candidate


@ti.func
def wait_for(beside: ti.u32):
    """Wait for the threads of a mask, all of which come here."""
    ti.simt.warp.sync(beside)


def sets_of(body: Iterable) -> Iterable[Set]:
    """What a list sets."""
    for item in body:
        if item.__class__ is Set:
            yield item
        elif item.__class__ is tuple:
            yield from sets_of(item)
        elif item.__class__ in (Repeat, Within):
            yield from sets_of(item.body)
