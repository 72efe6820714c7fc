"""What becomes of the numbers of a measure, step by step: extremes, spans, sums, crossings; see measures.py.

Sums over time are compensated: their error does not grow with the number of steps.

Source: Neumaier (1974), Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen. No deviation.
"""

import taichi as ti

from simcli.kernels.elementary import select
from simcli.kernels.memory import local
from simcli.kernels.vectors import is_nan
from simcli.model.measures import Reduction

MAX, MIN, MAX_ABS, RANGE, FINAL, MEAN, STD, RMS, INTEGRAL, FIRST, LAST_OUTSIDE, COUNT, STOP, RECORD = map(int, Reduction)


def keep_extreme(m, w, n, x, t, takes):
    """`max`, `min`, `max_abs`: the first of equal values counts (inside kernels).

    Writes: m.{value, time}
    """
    value, sign = local(m.value.load(w, n)), m.sign.load(w, n)
    size = local(ti.max(x, x * m.fold.load(w, n)))
    better = local(takes & ~(size * sign <= value * sign))  # than none, too
    m.value.store(w, n, select(better, size, value))
    m.time.store(w, n, select(better, t, m.time.load(w, n)))


@ti.func
def reduce_span(m: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), t: ti.template(), takes: ti.template()):
    """`range`, between `base` and `area`.

    Writes: m.{value, time, base, area}
    """
    low = m.base.load(w, n)
    high = m.area.load(w, n)
    falls = takes & ~(x >= low)  # than none, too
    rises = takes & ~(x <= high)
    low = select(falls, x, low)
    high = select(rises, x, high)
    m.base.store(w, n, low)
    m.area.store(w, n, high)
    m.value.store(w, n, select(falls | rises, high - low, m.value.load(w, n)))
    m.time.store(w, n, select(falls | rises, t, m.time.load(w, n)))


@ti.func
def reduce_sum(m: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, x: ti.template(), h: ti.template(), begins: ti.i32,
               takes: ti.template()):
    """`mean`, `std`, `rms`, `integral`: trapezoids over time, of which `Gauges.found` makes the value at the end.

    Args:
        begins: 1 at the first step that counts.

    Writes: m.{before, base, area, area_rest, square, square_rest}
    """
    zero = h * 0.0
    before = m.before.load(w, n)
    if begins != 0:
        for slot in ti.static((m.area, m.area_rest, m.square, m.square_rest)):
            slot.store(w, n, select(takes, zero, slot.load(w, n)))
        m.base.store(w, n, select(takes, x, m.base.load(w, n)))
    else:
        base = zero
        if kind == STD:
            base = m.base.load(w, n)
        a = before - base
        b = x - base
        half = h * 0.5
        if kind != RMS:
            grow(m.area, m.area_rest, w, n, (a + b) * half, takes)
        if kind == RMS or kind == STD:
            grow(m.square, m.square_rest, w, n, (a * a + b * b) * half, takes)
    m.before.store(w, n, select(takes, x, before))


@ti.func
def grow(total: ti.template(), rest: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), takes: ti.template()):
    """Add to a sum, which keeps what rounding takes from it.

    Args:
        total, rest: slots of the sum and of what rounding took.
        takes: the worlds that add.
    """
    old = total.load(w, n)
    kept = rest.load(w, n)
    new = old + x
    lost = select(ti.abs(old) >= ti.abs(x), (old - new) + x, (x - new) + old)
    total.store(w, n, select(takes, new, old))
    rest.store(w, n, select(takes, kept + lost, kept))


@ti.func
def reduce_crossing(m: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, x: ti.template(), t: ti.template(),
                    h: ti.template(), takes: ti.template()):
    """`first`, `last_outside`, `count`: about values beyond bounds.

    Writes: m.{value, time, before}
    """
    zero = h * 0.0
    value = m.value.load(w, n)
    above = zero + m.above.load(w, n)
    below = zero + m.below.load(w, n)
    before = m.before.load(w, n)
    is_first = is_nan(before)
    beyond = (x > above) | (x < below)
    found = t
    changes = beyond
    if kind == FIRST:
        bound = select(x > above, above, below)
        rise = select(x == before, zero + 1.0, x - before)
        found = select(is_first, t, t - h + h * ((bound - before) / rise))
        changes = beyond & is_nan(value)  # not found yet
    elif kind == COUNT:
        was = (before > above) | (before < below)
        found = select(is_first, zero, value) + select(beyond & ~was, zero + 1.0, zero)
        changes = takes
    m.before.store(w, n, select(takes, x, before))
    m.value.store(w, n, select(changes & takes, found, value))
    m.time.store(w, n, select(changes & takes, t, m.time.load(w, n)))
