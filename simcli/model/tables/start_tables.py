"""What was done to begin a run: coordinates that the closing of loops moved, and worlds that cannot begin."""

from dataclasses import dataclass

from simcli.model.tables.table_base import FOUND_AGAIN, Array, Table, per


@dataclass(frozen=True)
class AsDrawn(Table, left_out=FOUND_AGAIN):
    """The posture from which loops are closed, and what is asked of the coordinates.

    Attributes:
        q: as drawn: where nothing is written.
        named: rank of the option, batch or program that names a coordinate (`Rank`); 0: nobody names it.
        stays: coordinates that nothing names and that stay where they are if their loops let them.
    """

    _untraced = ("q", "named", "stays")  # which no kernel reads

    q: Array = per("W|1 NQ", "m, rad, 1")
    named: Array = per("NV")
    stays: Array = per("NV", kind=bool)


@dataclass(frozen=True)
class Move:
    """A joint of the tree that begins elsewhere than the scene says.

    Attributes:
        joint: joint index.
        world: the world; of joints of which nothing is written the one where it moved farthest.
        size: [m, rad or 1], largest change of a coordinate.
        before, after: [m, rad, 1], its coordinates there.
        is_written: whether the scene wrote one that moved, or limits it: a warning.
        n_worlds: worlds in which it moved.
        reason: why, as the end of a sentence.
        hint: what to do.
    """

    joint: int
    world: int
    size: float
    before: tuple[float, ...]
    after: tuple[float, ...]
    is_written: bool
    n_worlds: int
    reason: str
    hint: str


@dataclass(frozen=True)
class Fork:
    """A drawing at which branches of a loop meet, and nothing that is written chooses between them.

    Attributes:
        joint: joint index, of one that closes the loop.
        world: world index.
        n_worlds: worlds in which it is so.
        text: one line for the user.
    """

    joint: int
    world: int
    n_worlds: int
    text: str


@dataclass(frozen=True)
class StartFault:
    """Why a world cannot begin.

    Attributes:
        code: fault code.
        world: world index.
        joint: joint index.
        size: [m, rad, or per second], of the gap, or of the way beyond a limit.
        path: dotted path in the scene of what is to be changed.
        text: one line for the user.
        hint: what to do.
    """

    code: str
    world: int
    joint: int
    size: float
    path: str
    text: str
    hint: str


@dataclass(frozen=True)
class Beginning:
    """What was done, and what could not be done.

    Attributes:
        moves: one per joint and world where a written coordinate moved; one per other joint that moved.
        faults: world by world.
        forks: one per loop and world.
    """

    moves: tuple[Move, ...] = ()
    faults: tuple[StartFault, ...] = ()
    forks: tuple[Fork, ...] = ()
