"""Quantities that a run looks at: to end a world, to reduce them to a number per world, or to record them in its frames.

Each is rows of a table, one for each component: which number is looked at, what becomes of it, within which bounds and
steps. No kernel knows a name, so that other measures compile nothing.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from simcli.spec.base.channel_names import REDUCTIONS

LAST_STEP = 2**31 - 1  # where `until` is not written
NO_BODY = -1  # of a row in world axes
NORM = -1  # component of a row that is the norm
ANYTHING = -2  # other side of contacts


class Source(IntEnum):
    """The rows of a frame in which a number stands."""

    Q = 0
    QD = 1
    QDD = 2
    EFFORT = 3
    WRENCH = 4
    POSE = 5
    TWIST = 6
    POINT = 7
    ENERGY = 8
    DRIVE_EFFORT = 9
    DRIVE_POWER = 10
    DISTANCE = 11
    CONTACT = 12
    SENSOR = 13


# How numbers over time become one, those about bounds last; and what else is done with them: they end a world, or stand in a
# column of frames.
Reduction = IntEnum(
    "Reduction",
    [name.upper() for name in (*sorted(REDUCTIONS, key=lambda name: bool(REDUCTIONS[name].bounds)), "stop", "record")],
    start=0,
)


class Sensed(NamedTuple):
    """A sensor, by one of its types.

    Attributes:
        sensor: its number.  type: a name of SENSOR_TYPES.
        first: of its numbers among those of all that are looked at.  width: how many.
        period: [steps], of samples.  delay: [steps], the longest of all worlds.  interval: [s], between samples.
    """

    sensor: int
    type: str
    first: int
    width: int
    period: int
    delay: int
    interval: float


@dataclass(frozen=True)
class Measures:
    """All rows of all quantities that a run looks at: first those that end worlds, then measures, then columns of frames.

    Attributes:
        names: of the measures.
        rows: of each measure, the slice of its rows.
        stops: how many rows end a world.  stop: the quantity, in words.
        records: how many rows are columns of frames.
        source: (N,) `Source`.
        first: (N,) row of the frame in which the quantity begins.  width: (N,) its rows, 6 at most.
        part: (N,) which of them, or NORM.
        turn: (N,) body in whose axes the quantity is taken, or NO_BODY.
        kind: (N,) `Reduction`.
        above, below: (N,) bounds; infinite where there are none.
        begin, end: (N,) steps, both included.
        channels: groups of results that must be computed, as of `output.channels`.
        pairs: of bodies, -1 for the world: those of the rows of DISTANCE; those of CONTACT, -2 for anything.
        keeps_samples: whether what a sensor shows depends on steps before.
        sensed: sensors, and types of them, that are looked at; their numbers stand one after the other.
    """

    names: tuple[str, ...] = ()
    rows: tuple[slice, ...] = ()
    stops: int = 0
    stop: str = ""
    records: int = 0
    source: list = field(default_factory=list)
    first: list = field(default_factory=list)
    width: list = field(default_factory=list)
    part: list = field(default_factory=list)
    turn: list = field(default_factory=list)
    kind: list = field(default_factory=list)
    above: list = field(default_factory=list)
    below: list = field(default_factory=list)
    begin: list = field(default_factory=list)
    end: list = field(default_factory=list)
    channels: frozenset[str] = frozenset()
    pairs: dict = field(default_factory=lambda: {Source.DISTANCE: [], Source.CONTACT: []})
    sensed: list[Sensed] = field(default_factory=list)
    keeps_samples: bool = False

    @property
    def needs_every_step(self) -> bool:
        """Whether something is done with the numbers of each step."""
        return self.n > self.records or self.keeps_samples

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.kind)

    def seen(self, sensed: set[int]) -> dict[str, list[int]]:
        """What must be found: rows of positions, bodies that have orientations or velocities, points, efforts, powers.

        Args:
            sensed: bodies whose poses and velocities sensors need.
        """
        at = set(zip(self.source, self.first, strict=True))
        turned = {first // 7 for source, first in at if source == Source.POSE and first % 7 >= 3}
        found = {
            "positions": self.positions() | {7 * body + k for body in sensed for k in range(3)},
            "orientations": turned | (set(self.turn) - {NO_BODY}) | sensed,
            "velocities": sensed | {first // 6 for source, first in at if source == Source.TWIST},
            "points": {first // 6 for source, first in at if source == Source.POINT},
            "efforts": {first for source, first in at if source == Source.DRIVE_EFFORT},
            "powers": {first for source, first in at if source == Source.DRIVE_POWER},
        }
        return {name: sorted(numbers) for name, numbers in found.items()}

    def positions(self) -> set[int]:
        """Rows of the poses of bodies that are components of positions."""
        found = set()
        for source, first, width, part, turn in zip(self.source, self.first, self.width, self.part, self.turn, strict=True):
            if source == Source.POSE and first % 7 < 3:
                found |= {first + part} if part != NORM and turn == NO_BODY else set(range(first, first + width))
        return found


NO_MEASURES = Measures()
