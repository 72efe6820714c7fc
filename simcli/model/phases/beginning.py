"""What was done to begin a run: coordinates that the closing of loops moved, and worlds that cannot begin."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Move:
    """A joint of the tree that begins elsewhere than the scene says.

    Attributes:
        joint: joint index.
        world: the world where it moved farthest.
        size: [m, rad or 1], largest change of a coordinate.
        before, after: [m, rad, 1], its coordinates there.
        is_written: whether the scene wrote them.
        n_worlds: worlds in which it moved.
    """

    joint: int
    world: int
    size: float
    before: tuple[float, ...]
    after: tuple[float, ...]
    is_written: bool
    n_worlds: int


@dataclass(frozen=True)
class Lack:
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
        moves: one per joint that moved.
        lacks: world by world.
    """

    moves: tuple[Move, ...] = ()
    lacks: tuple[Lack, ...] = ()
