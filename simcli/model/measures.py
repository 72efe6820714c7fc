"""Quantities that a run looks at: to end a world, to reduce them to a number per world, or to record them in its frames.

Each is rows of a table, one for each component: which number is looked at, what becomes of it, within which bounds and
steps. No kernel knows a name, so that other measures compile nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Joints
from simcli.model.tables.model import WORLD, Model
from simcli.spec.base.channel_names import REDUCTIONS, SCALARS, split_name
from simcli.spec.base.sensor_types import SENSOR_TYPES
from simcli.spec.schema.expect import MeasureSpec, StopSpec

LAST_STEP = 2**31 - 1  # where `until` is not written
NO_BODY = -1  # of a row in world axes
NORM = -1  # component of a row that is the norm
ANYTHING = -2  # other side of contacts
_ORDER = {"position": (0, 3), "orientation": (3, 4), "velocity": (0, 3), "angular_velocity": (3, 3)}  # first, number


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


def measures_of(
    specs: Mapping[str, MeasureSpec], model: Model, dt: float, stop: StopSpec | None = None, recorded: Sequence[str] = ()
) -> Measures:
    """The table of the measures of a scene.

    Args:
        specs: `measure` of the scene, by name.
        model: of its first phase.
        dt: [s], step.
        stop: what ends a world.
        recorded: quantities that are columns of frames.
    """
    rows = _Rows(model, dt)
    if stop is not None:
        bounds = {
            "above": math.inf if stop.above is None else stop.above,
            "below": -math.inf if stop.below is None else stop.below,
        }
        rows.add(str(stop.channel), Reduction["STOP"], **bounds, norm=stop.norm, component=stop.watched)
    stops, slices = rows.n, []
    for spec in specs.values():
        first = rows.n
        kind = Reduction[spec.reduction.upper()]
        rows.add(
            spec.quantity,
            kind,
            **_bounds_of(spec),
            **steps_of(spec, dt),
            norm=spec.norm,
            component=spec.component,
            turn=_body_of(spec, model.bodies, model.joints),
        )
        slices.append(slice(first, rows.n))
    before = rows.n
    for quantity in recorded:
        rows.add(quantity, Reduction["RECORD"])
    return Measures(
        tuple(specs),
        tuple(slices),
        stops,
        str(stop.channel) if stop else "",
        rows.n - before,
        **rows.columns,
        channels=frozenset(rows.channels - {""}),
        pairs=rows.pairs,
        sensed=rows.sensed,
        keeps_samples=rows.keeps_samples,
    )


def seen_by_feedback(model: Model, dt: float) -> Measures:
    """The rows of what signals see that follow the motion, in their order.

    Args:
        model: whose signals they are, in the form that a solver steps.
        dt: [s], step.
    """
    rows = _Rows(model, dt)
    for quantity, component in model.feedback.quantity:
        rows.add(quantity, Reduction["RECORD"], component=component)
    return Measures(records=rows.n, **rows.columns, pairs=rows.pairs, sensed=rows.sensed)


class _Rows:
    """The table while it is made.

    Args:
        model: whose quantities are looked at.
        dt: [s], step.
    """

    def __init__(self, model: Model, dt: float):
        self.model, self.dt, self.channels = model, dt, set()
        self.columns: dict[str, list] = {
            name: [] for name in ("source", "first", "width", "part", "turn", "kind", "above", "below", "begin", "end")
        }
        self.pairs: dict[Source, list] = {Source.DISTANCE: [], Source.CONTACT: []}
        self.sensed: list[Sensed] = []

    @property
    def n(self) -> int:
        """Rows so far."""
        return len(self.columns["kind"])

    def add(
        self,
        quantity: str,
        kind: Reduction,
        above: float = math.inf,
        below: float = -math.inf,
        begin: int = 0,
        end: int = LAST_STEP,
        norm: bool = False,
        component: int | None = None,
        turn: int = NO_BODY,
    ) -> None:
        """A row for each component of a quantity that is wanted.

        Args:
            quantity: a name of `channel_names`, of something that is there.
            kind: what is made of its values.
            above: bound, infinite where there is none.
            below: bound, likewise.
            begin: first step that counts.
            end: last step that counts.
            norm: one row of the norm of the components.
            component: the only one that is wanted; None for all.
            turn: body in whose axes the components are taken, NO_BODY for the world.
        """
        source, first, width, channel = self.place_of(quantity)
        self.channels.add(channel)
        for part in (NORM,) if norm else range(width) if component is None else (component,):
            row = (source, first, width, part, turn, kind, above, below, begin, end)
            for column, value in zip(self.columns.values(), row, strict=True):
                column.append(value)

    def place_of(self, quantity: str) -> tuple[Source, int, int, str]:
        """Source, first row and number of rows of a quantity, and the channel that computes it, "" for none.

        Args:
            quantity: a name of `channel_names`, of something that is there.
        """
        model = self.model
        group, subject, word = split_name(quantity)
        if group == "energy":
            return Source.ENERGY, SCALARS["energy"].index(word), 1, "energy"
        if group == "point":
            first, n = {"position": (0, 3), "velocity": (3, 3)}[word]
            return Source.POINT, 6 * model.points.name.index(subject) + first, n, ""
        if group == "body":
            first, n = _ORDER[word]
            source, width = (Source.POSE, 7) if word in ("position", "orientation") else (Source.TWIST, 6)
            return source, width * model.bodies.name.index(subject) + first, n, ""
        if group == "sensor":
            one = self.sensor(subject, word)
            return Source.SENSOR, one.first, one.width, SENSOR_TYPES[word].channel
        if group in ("distance", "contact"):
            return self.place_of_pair(group, subject, word)
        j = model.joints.name.index(subject)
        if word == "wrench":
            return Source.WRENCH, 6 * j, 6, "reactions"
        if word == "drive_power":
            return Source.DRIVE_POWER, j, 1, "joints"
        starts = model.joints.q_start if word == "q" else model.joints.qd_start
        return Source[word.upper()], int(starts[j]), int(starts[j + 1] - starts[j]), "joints"

    def place_of_pair(self, group: str, subject: str, word: str) -> tuple[Source, int, int, str]:
        """`place_of` for a distance of two bodies, or the contacts of one or two."""
        if group == "distance":
            return Source.DISTANCE, self.pair(Source.DISTANCE, subject, word), 1, ""
        one, _, other = subject.partition(".")
        first = 4 * self.pair(Source.CONTACT, one, other)
        return (Source.CONTACT, first, 3, "contacts") if word == "force" else (Source.CONTACT, first + 3, 1, "contacts")

    @property
    def keeps_samples(self) -> bool:
        """Whether what a sensor that is looked at shows depends on steps before."""
        return any(one.period > 1 or one.delay or self.model.sensors.walk[:, one.sensor].any() for one in self.sensed)

    def sensor(self, name: str, type_name: str) -> Sensed:
        """A sensor by one of its types, in the list of those that are looked at."""
        s = self.model.sensors.name.index(name)
        for one in self.sensed:
            if (one.sensor, one.type) == (s, type_name):
                return one
        starts = self.model.joints.q_start if SENSOR_TYPES[type_name].own == "q" else self.model.joints.qd_start
        j = self.model.sensors.joint[s]
        width = SENSOR_TYPES[type_name].width or int(starts[j + 1] - starts[j])
        rate, delay = float(self.model.sensors.rate[0, s]), float(self.model.sensors.delay[:, s].max())
        period = round(1.0 / (rate * self.dt)) if rate else 1
        first = sum(one.width for one in self.sensed)
        self.sensed.append(Sensed(s, type_name, first, width, period, round(delay / self.dt), period * self.dt))
        return self.sensed[-1]

    def pair(self, source: Source, one: str, other: str) -> int:
        """Number of a pair of bodies in the list of a source."""
        number = {"world": WORLD, "": ANYTHING}
        pair = tuple(number[name] if name in number else self.model.bodies.name.index(name) for name in (one, other))
        if pair not in self.pairs[source]:
            self.pairs[source].append(pair)
        return self.pairs[source].index(pair)


def _body_of(spec: MeasureSpec, bodies: Bodies, joints: Joints) -> int:
    """The body in whose axes a quantity is taken."""
    if spec.frame == "world":
        return NO_BODY
    group, subject, _ = split_name(spec.quantity)
    if group == "joint":
        return int(joints.child[joints.name.index(subject)])
    return bodies.name.index(subject if group == "body" else subject.rpartition("/")[0])


def _bounds_of(spec: MeasureSpec) -> dict[str, float]:
    """Bounds beyond which something happens."""
    if spec.within:
        return {"below": spec.within[0], "above": spec.within[1]}
    above = math.inf if spec.above is None else spec.above
    return {"below": -math.inf if spec.below is None else spec.below, "above": above}


def steps_of(spec: MeasureSpec, dt: float) -> dict[str, int]:
    """First and last step that count: the first at `from` or after it, the last at `until` or before it."""
    slack = 1e-3  # of a step: times are multiples of it in floating point
    begin = math.ceil(spec.since / dt - slack)
    end = LAST_STEP if spec.until is None else math.floor(spec.until / dt + slack)
    return {"begin": min(begin, LAST_STEP), "end": min(end, LAST_STEP)}


NO_MEASURES = Measures()
