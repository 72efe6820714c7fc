"""Lists of stages, as solvers write them; programs.py takes them.

A stage is a function of its owner and a block of worlds, and leaves what it finds in memory.

    [place, load_forces, repeat(assemble, solve, at_most=8, wanted=pieces_change), advance]

`repeat` nests, and each has a mask of its own: of the worlds of a block that began it, those that still want it.
`repeat_blocks` and `only_blocks` are about whole blocks, and have no mask.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from simcli.kernels.memory.arena import local

NO_BOUND = 2**31 - 1  # turns


class Repeat(NamedTuple):
    """Stages that are taken again.

    Attributes:
        body: stages and repetitions.
        at_most: turns.
        where: condition to begin; none if None.
        wanted: condition to go on after a turn; none if None.
        by_world: whether the conditions are of worlds, else of blocks.
    """

    body: tuple
    at_most: int
    where: Callable | None
    wanted: Callable | None
    by_world: bool = True


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


def repeat(*body, at_most: int = NO_BOUND, where: Callable | None = None, wanted: Callable | None = None) -> Repeat:
    """Stages that the worlds that want it take again, see `Repeat`."""
    return Repeat(body, at_most, where, wanted)


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
