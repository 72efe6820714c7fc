"""The laws of feedback signals, as code: expressions, PID controllers and lags, with their delay and limits.

Of a sample k, T after the one before, and with the error e = target - input:

    pid      P = kp e_k
             D = (Tf D_(k-1) + kd (e_k - e_(k-1))) / (Tf + T),   D_0 = 0
             v = P + I_k + D,   u = v within the limits
             I_(k+1) = I_k + T (ki e_k + (u - v) / Tt)     back_calculation, Tt the tracking time
             I_(k+1) = I_k + T ki e_k, but I_k while v is beyond a limit and ki e_k would draw it farther     clamp
    filter   y_k,   y_(k+1) = y_k + a (x_k - y_k),   a = 1 - exp(-T / tau) exact, T / tau euler; tau is rise or fall

and then delay and limits of the signal.

Sources: Astrom and Murray (2008), Feedback Systems, section 10.5 on the implementation of PID controllers; conditional
integration from Astrom and Hagglund (1995), PID Controllers. Deviation: the derivative is that of the error. The lag is that
of MuJoCo's actuators `filterexact` and `filter`, whose force is that of the activation before its step.
"""

import math

from simcli.model.signals.formulas import Code, Term
from simcli.model.tables.signal_tables import Op
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
    gap = code.formula(lag.input) - now
    if lag.rise is None:
        step = gap * code.number(_part(lag, period, lag.time_constant))
    else:
        none = code.number(0.0)
        step = code.of(Op.MAXIMUM, gap, none) * code.number(_part(lag, period, lag.rise))
        step = step + code.of(Op.MINIMUM, gap, none) * code.number(_part(lag, period, lag.fall))
    _keep(code, place, now + step)
    return now


def _part(lag, period: float, time: float) -> float:
    """What a lag makes up of a gap in a sample."""
    part = period / time
    return -_expm1(-part) if lag.method == "exact" else part


def _state(code: Code, place: int, first: Term) -> Term:
    """A state, or what it is at the first sample."""
    return code.of(Op.OTHERWISE, code.line(Op.STATE, index=place), first)


def _keep(code: Code, place: int, value: Term) -> None:
    code.line(Op.KEEP, value.placed(), index=place)
