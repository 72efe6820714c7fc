"""Events by condition: when a quantity crosses a bound, as laws of feedback, and the latches that switch what they set.

Of an event, where a step begins at t: it holds if x > bound (or x < bound), and fires where it begins to hold; if it does
not repeat, once. Its stamp is t + 1 of the step at which it fired last, 0 before. The time that is told is that of the
crossing on a line through x at the last two steps, with an error of second order in the step:

    t - h (x - bound) / (x - x_before)

A latch is 1 while its event is the last that fired of all that set the same: of two at one step, the one written later.
"""

from dataclasses import dataclass
from functools import reduce

from simcli.model.signals.formulas import Code, Term
from simcli.model.tables.signal_tables import Op
from simcli.spec.base.nodes import parse_path
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.signals import SignalSpec


@dataclass(frozen=True)
class Latch:
    """What switches some of the values that an event sets.

    Attributes:
        event: index of the event.
        others: of those that set the same, too.
    """

    event: int
    others: tuple[int, ...]

    @property
    def name(self) -> str:
        """Of its signal."""
        return f"events[{self.event}]" + "".join(f" unless events[{other}]" for other in self.others)


def stamp_name(event: int) -> str:
    """Name of the signal that is the stamp of an event."""
    return f"stamp of events[{event}]"


def latch_of(spec: SceneSpec, event: int, path: str) -> Latch:
    """The latch of a value that an event sets."""
    others = [k for k, other in enumerate(spec.events) if k != event and other.when is not None and path in other.set]
    return Latch(event, tuple(others))


def latches_of(spec: SceneSpec) -> list[Latch]:
    """All latches of the events by condition, each once."""
    found = [latch_of(spec, k, path) for k, event in enumerate(spec.events) if event.when is not None for path in event.set]
    return list(dict.fromkeys(found))


def switched_constants(spec: SceneSpec) -> dict[str, list[tuple[str, float]]]:
    """Constants of signals that events by condition set: name to the latches of the events, and how far each changes it."""
    found: dict[str, list[tuple[str, float]]] = {}
    for k, event in enumerate(spec.events):
        for path, value in event.set.items() if event.when is not None else ():
            head, name, *keys = parse_path(path)
            if head == "signals" and keys[:1] == ["constant"]:
                change = SignalSpec(constant=value).constant[0] - spec.signals[name].constant[0]
                found.setdefault(name, []).append((latch_of(spec, k, path).name, change))
    return found


def crossing_names(spec: SceneSpec) -> list[str]:
    """Names of the signals of the events by condition: stamps, then latches."""
    stamps = [stamp_name(k) for k, event in enumerate(spec.events) if event.when is not None]
    return [*stamps, *(latch.name for latch in latches_of(spec))]


def write_stamp(code: Code, event) -> tuple[int, tuple[int, int]]:
    """Write the law of an event; gives the line of its stamp, and the states of its last time and of how often it fired.

    Args:
        code: receives the lines.
        event: of a scene, `EventSpec`.
    """
    name, crossing = event.crossing
    was, stamp, before, at, time, count = (code.names.states(1) for _ in range(6))
    zero, one = code.number(0.0), code.number(1.0)
    kept = lambda place, first=zero: code.of(Op.OTHERWISE, code.line(Op.STATE, index=place), first)  # noqa: E731
    x, t, bound = code.line(Op.QUANTITY, index=code.names.quantity(name)), code.line(Op.TIME), code.number(crossing.bound)
    holds = _positive(code, x - bound if crossing.below is None else bound - x)
    last = kept(stamp)
    fires = holds * (one - kept(was))
    if not event.repeat:
        fires = fires * (one - _positive(code, last))
    part = code.of(Op.OTHERWISE, code.clip((x - bound) / (x - kept(before, x)), zero, one), zero)
    rest = one - fires
    new = fires * (t + 1.0) + rest * last
    when = fires * (t - (t - kept(at, t)) * part) + rest * kept(time)
    often = kept(count) + fires
    for place, value in ((was, holds), (stamp, new), (before, x), (at, t), (time, when), (count, often)):
        code.line(Op.KEEP, value.placed(), index=place)
    return new.placed(), (time, count)


def write_latch(code: Code, latch: Latch) -> int:
    """Write the law of a latch; gives the line of its value."""
    stamp = lambda event: code.line(Op.SIGNAL, index=code.names.signals[stamp_name(event)])  # noqa: E731
    own = stamp(latch.event)
    parts = [_positive(code, own)]
    for other in latch.others:
        ahead = code.of(Op.SIGN, own - stamp(other))
        later = code.of(Op.MINIMUM, ahead, code.number(0.0)) + 1.0
        parts.append(later if latch.event > other else code.of(Op.MAXIMUM, ahead, code.number(0.0)))
    return reduce(lambda a, b: a * b, parts).placed()


def _positive(code: Code, x: Term) -> Term:
    """1 where x > 0, else 0."""
    return code.of(Op.MAXIMUM, code.of(Op.SIGN, x), code.number(0.0))
