"""Measures: numbers per world that a run finds at every step, whether or not its frames are kept.

A measure is rows of a table, one for each component: which number is looked at, how it is reduced, within which bounds and
steps. No kernel knows a name, so that other measures compile nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from simcli.model.tables import Model
from simcli.spec.channel_names import SCALARS, split
from simcli.spec.schema_measure import MeasureSpec

LAST_STEP = 2**31 - 1  # where `until` is not written
NO_BODY = -1  # of a row in world axes
NORM = -1  # component of a row that is the norm
ORDER = {"position": (0, 3), "orientation": (3, 4), "velocity": (0, 3), "angular_velocity": (3, 3)}  # first, number of parts


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


class Reduction(IntEnum):
    """How numbers over time become one; see `schema_measure`."""

    MAX = 0
    MIN = 1
    MAX_ABS = 2
    RANGE = 3
    FINAL = 4
    MEAN = 5
    STD = 6
    RMS = 7
    INTEGRAL = 8
    FIRST = 9
    LAST_OUTSIDE = 10
    COUNT = 11


@dataclass(frozen=True)
class Measures:
    """All rows of all measures of a run.

    Attributes:
        names: of the measures.
        rows: of each measure, the slice of its rows.
        source: (N,) `Source`.
        first: (N,) row of the frame in which the quantity begins.  width: (N,) its rows, 6 at most.
        part: (N,) which of them, or NORM.
        turn: (N,) body in whose axes the quantity is taken, or NO_BODY.
        kind: (N,) `Reduction`.
        above, below: (N,) bounds; infinite where there are none.
        begin, end: (N,) steps, both included.
        channels: groups of results that must be computed, as of `output.channels`.
    """

    names: tuple[str, ...] = ()
    rows: tuple[slice, ...] = ()
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

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.kind)

    def seen(self) -> tuple[list[int], list[int]]:
        """Bodies and named points whose places and velocities are measured, or in whose axes something is."""
        at = list(zip(self.source, self.first, strict=True))
        bodies = {first // 7 for source, first in at if source == Source.POSE}
        bodies |= {first // 6 for source, first in at if source == Source.TWIST} | (set(self.turn) - {NO_BODY})
        return sorted(bodies), sorted({first // 6 for source, first in at if source == Source.POINT})


def measures_of(specs: Mapping[str, MeasureSpec], model: Model, dt: float) -> Measures:
    """The table of the measures of a scene.

    Args:
        specs: `measure` of the scene, by name.
        model: of its first phase.
        dt: [s], step.
    """
    columns: dict[str, list] = {name: [] for name in (
        "source", "first", "width", "part", "turn", "kind", "above", "below", "begin", "end")}  # fmt: skip
    slices, channels = [], set()
    for spec in specs.values():
        source, first, width, channel = place_of(spec.quantity, model)
        channels.add(channel)
        at = len(columns["kind"])
        for part in parts_of(spec, width):
            row = {"source": source, "first": first, "width": width, "part": part, "turn": body_of(spec, model),
                   "kind": Reduction[spec.reduction.upper()], **bounds_of(spec), **steps_of(spec, dt)}  # fmt: skip
            for column, value in row.items():
                columns[column].append(value)
        slices.append(slice(at, len(columns["kind"])))
    return Measures(tuple(specs), tuple(slices), **columns, channels=frozenset(channels))


def place_of(quantity: str, model: Model) -> tuple[Source, int, int, str]:
    """Source, first row and number of rows of a quantity, and the channel that computes it.

    Args:
        quantity: a name of `channel_names`, of something that is there.
        model: whose it is.
    """
    group, subject, word = split(quantity)
    if group == "energy":
        return Source.ENERGY, SCALARS["energy"].index(word), 1, "energy"
    if group == "point":
        first, n = {"position": (0, 3), "velocity": (3, 3)}[word]
        return Source.POINT, 6 * model.points.name.index(subject) + first, n, "state"
    if group == "body":
        first, n = ORDER[word]
        source, width = (Source.POSE, 7) if word in ("position", "orientation") else (Source.TWIST, 6)
        return source, width * model.bodies.name.index(subject) + first, n, "state"
    j = model.joints.name.index(subject)
    if word == "wrench":
        return Source.WRENCH, 6 * j, 6, "reactions"
    starts = model.joints.q_start if word == "q" else model.joints.qd_start
    return Source[word.upper()], int(starts[j]), int(starts[j + 1] - starts[j]), "state"


def parts_of(spec: MeasureSpec, width: int) -> tuple[int, ...]:
    """Components that are rows of their own, or NORM."""
    if spec.norm:
        return (NORM,)
    return tuple(range(width)) if spec.component is None else (spec.component,)


def body_of(spec: MeasureSpec, model: Model) -> int:
    """The body in whose axes a quantity is taken."""
    if spec.frame == "world":
        return NO_BODY
    group, subject, _ = split(spec.quantity)
    if group == "joint":
        return int(model.joints.child[model.joints.name.index(subject)])
    return model.bodies.name.index(subject if group == "body" else subject.rpartition("/")[0])


def bounds_of(spec: MeasureSpec) -> dict[str, float]:
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
