"""The table of measures, row by row, from what a scene and its signals name."""

import math
from collections.abc import Mapping, Sequence

from simcli.model.measures import ANYTHING, LAST_STEP, NO_BODY, NORM, Measures, Reduction, Sensed, Source
from simcli.model.tables.body_tables import Bodies
from simcli.model.tables.joint_tables import Joints
from simcli.model.tables.model import WORLD, Model
from simcli.spec.base.channel_names import SCALARS, split_name
from simcli.spec.base.sensor_types import SENSOR_TYPES
from simcli.spec.schema.expect import MeasureSpec, StopSpec

_ORDER = {"position": (0, 3), "orientation": (3, 4), "velocity": (0, 3), "angular_velocity": (3, 3)}  # first, number


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
        rows.add(str(stop.channel), Reduction["STOP"], **_bounds_of(stop), norm=stop.norm, component=stop.watched)
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
        sensors = self.model.sensors
        wanders = ((sensors.walk != 0) | (sensors.drift != 0)).any(axis=0)
        return any(one.period > 1 or one.delay or wanders[one.sensor] for one in self.sensed)

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


def _bounds_of(spec: MeasureSpec | StopSpec) -> dict[str, float]:
    """Bounds beyond which something happens."""
    if isinstance(spec, MeasureSpec) and spec.within:
        return {"below": spec.within[0], "above": spec.within[1]}
    above = math.inf if spec.above is None else spec.above
    return {"below": -math.inf if spec.below is None else spec.below, "above": above}


def steps_of(spec: MeasureSpec, dt: float) -> dict[str, int]:
    """First and last step that count: the first at `from` or after it, the last at `until` or before it."""
    slack = 1e-3  # of a step: times are multiples of it in floating point
    begin = math.ceil(spec.since / dt - slack)
    end = LAST_STEP if spec.until is None else math.floor(spec.until / dt + slack)
    return {"begin": min(begin, LAST_STEP), "end": min(end, LAST_STEP)}
