"""The laws of feedback signals and of events by condition, as code: expressions, PID controllers, lags, latches.

Of a sample k, T after the one before, and with the error e = target - input:

    pid      P = kp e_k
             D = (Tf D_(k-1) + kd (e_k - e_(k-1))) / (Tf + T),   D_0 = 0
             v = P + I_k + D,   u = v within the limits
             I_(k+1) = I_k + T (ki e_k + (u - v) / Tt)     back_calculation, Tt the tracking time
             I_(k+1) = I_k + T ki e_k, but I_k while v is beyond a limit and ki e_k would draw it farther     clamp
    filter   y_k,   y_(k+1) = y_k + a (x_k - y_k),   a = 1 - exp(-T / tau) exact, T / tau euler; tau is rise or fall
             of a muscle x is from 0 to 1, s = 0.5 + 1.5 y, and tau is rise s or fall / s; or with smoothing d
             fall / s + (rise s - fall / s) S((x_k - y_k) / d + 0.5),   S(z) = 6 z^5 - 15 z^4 + 10 z^3 of z from 0 to 1

and then delay and limits of the signal.

Sources: Astrom and Murray (2008), Feedback Systems, section 10.5 on the implementation of PID controllers; conditional
integration from Astrom and Hagglund (1995), PID Controllers. Deviation: the derivative is that of the error. The lag is that
of MuJoCo's actuators `filterexact` and `filter`, whose force is that of the activation before its step. That of muscles
is the one of Millard et al. (2013), Flexing computational muscle, as MuJoCo states it.

Of an event, where a step begins at t: it holds if x > bound (or x < bound), and fires where it begins to hold; if it does
not repeat, once. Its stamp is t + 1 of the step at which it fired last, 0 before. The time that is told is that of the
crossing on a line through x at the last two steps, with an error of second order in the step:

    t - h (x - bound) / (x - x_before)

A latch is 1 while its event is the last that fired of all that set the same: of two at one step, the one written later.
"""

import math
from dataclasses import dataclass
from functools import reduce

from simcli.model.signals.formulas import Code, Term
from simcli.model.tables.signal_tables import Op
from simcli.spec.base.nodes import parse_path
from simcli.spec.schema.scene import SceneSpec
from simcli.spec.schema.signals import SignalSpec
from simcli.spec.values.varied import for_all_worlds

_expm1 = for_all_worlds(math.expm1)


def write_law(code: Code, signal, period: float, delay: float, longest: int) -> int:
    """Write the lines of a signal; gives the number of the one that has its value.

    Args:
        code: receives them.
        signal: of a scene, `SignalSpec`.
        period: [s], T.
        delay: in samples, a whole number; it may differ between worlds.
        longest: the most of all worlds.
    """
    value = {"expression": _expression, "pid": _pid, "filter": _filter}[signal.kind](code, signal, period)
    if longest:
        late = code.line(Op.DELAY, value.placed(), code.number(delay).placed(), code.names.states(longest), longest)
        value = code.of(Op.OTHERWISE, late, code.number(0.0))
    if signal.limits is not None:
        value = code.clip(value, *map(code.number, signal.limits))
    return value.placed()


def _expression(code: Code, signal, _period: float) -> Term:
    return code.formula(signal.expression)


def _pid(code: Code, signal, period: float) -> Term:
    """A PID controller, see above."""
    pid = signal.pid
    error = code.formula(pid.target) - code.formula(pid.input)
    was, integral, smooth = (code.names.states(1) for _ in range(3))
    before = _state(code, was, error)
    total = _state(code, integral, code.number(0.0))
    slope = code.number(pid.derivative_filter) * _state(code, smooth, code.number(0.0))
    slope = (slope + code.number(pid.kd) * (error - before)) / (pid.derivative_filter + period)
    v = code.number(pid.kp) * error + total + slope
    u = v if pid.limits is None else code.clip(v, *map(code.number, pid.limits))
    growth = code.number(pid.ki) * error
    if pid.limits is not None and pid.anti_windup == "back_calculation":
        growth = growth + (u - v) / pid.tracking_time
    elif pid.limits is not None:
        outward = code.of(Op.MAXIMUM, code.of(Op.SIGN, (v - u) * growth), code.number(0.0))
        growth = growth * (1.0 - outward)
    _keep(code, integral, total + growth * period)
    _keep(code, was, error)
    _keep(code, smooth, slope)
    return u


def _filter(code: Code, signal, period: float) -> Term:
    """A first-order lag, see above."""
    lag = signal.filter
    place = code.names.states(1)
    now = _state(code, place, code.number(lag.initial))
    if lag.law == "muscle":
        _keep(code, place, now + _step_of_muscle(code, lag, period, now))
        return now
    gap = code.formula(lag.input) - now
    if lag.rise is None:
        step = gap * code.number(_part(lag, period, lag.time_constant))
    else:
        none = code.number(0.0)
        step = code.of(Op.MAXIMUM, gap, none) * code.number(_part(lag, period, lag.rise))
        step = step + code.of(Op.MINIMUM, gap, none) * code.number(_part(lag, period, lag.fall))
    _keep(code, place, now + step)
    return now


def _step_of_muscle(code: Code, lag, period: float, now: Term) -> Term:
    """By what the activation of a muscle grows in a sample, see above."""
    none, one = code.number(0.0), code.number(1.0)
    gap = code.clip(code.formula(lag.input), none, one) - now
    scale = code.clip(now, none, one) * 1.5 + 0.5
    rise, fall = scale * code.number(lag.rise), code.of(Op.DIVIDE, code.number(lag.fall), scale)
    if lag.smoothing:
        z = code.clip(gap / code.number(lag.smoothing) + 0.5, none, one)
        return gap * _part_of(code, lag, period, fall + (rise - fall) * (z * z * z * (z * (z * 6.0 - 15.0) + 10.0)))
    up, down = (_part_of(code, lag, period, time) for time in (rise, fall))
    return code.of(Op.MAXIMUM, gap, none) * up + code.of(Op.MINIMUM, gap, none) * down


def _part_of(code: Code, lag, period: float, time: Term) -> Term:
    """What a lag makes up of a gap in a sample, of a time constant that changes."""
    part = code.of(Op.DIVIDE, code.number(period), time)
    return 1.0 - code.of(Op.EXPONENTIAL, -part) if lag.method == "exact" else part


def _part(lag, period: float, time: float) -> float:
    """What a lag makes up of a gap in a sample."""
    part = period / time
    return -_expm1(-part) if lag.method == "exact" else part


def _state(code: Code, place: int, first: Term) -> Term:
    """A state, or what it is at the first sample."""
    return code.of(Op.OTHERWISE, code.line(Op.STATE, index=place), first)


def _keep(code: Code, place: int, value: Term) -> None:
    code.line(Op.KEEP, value.placed(), index=place)


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
