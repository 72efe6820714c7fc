"""Measures on the device: what a look at the end of a step adds to each; see model/measures.py.

A measure takes what a frame of that step would show, so that it is what a file with every step would give. Sums over time
are compensated: their error does not grow with the number of steps.

Source: Neumaier (1974), Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen. No deviation.
"""

import numpy as np
import taichi as ti

from simcli.kernels.elementary import select
from simcli.kernels.memory import Arena
from simcli.kernels.tree import quaternion_at, vector_at
from simcli.kernels.vectors import is_nan
from simcli.model.measures import LAST_STEP, NORM, Measures, Reduction, Source
from simcli.solvers.integrators import H
from simcli.solvers.watch import STOPPED

MAX, MIN, MAX_ABS, RANGE, FINAL, MEAN, STD, RMS, INTEGRAL, FIRST, LAST_OUTSIDE, COUNT = map(int, Reduction)
Q, QD, QDD, EFFORT, WRENCH, POSE, TWIST, POINT, ENERGY = map(int, Source)
MOST_PARTS = 7


class Gauges:
    """The rows of all measures, and what each world has found so far.

    Args:
        measures: of the run.
        arena: of the core.

    Attributes:
        value: of a row, NaN before its first step.  time: [s], of an extreme, or of the last step.
        seen: 1 after the first step.  before: value at the step before.  start: [s], of the first step.
        area, square: integrals of the value, and of its square, with what rounding took from each in `.._rest`; for `std`
            both are about the value at the start, `base`.
        parts: components at this step.
        alive: 1 for worlds that had not ended at the step before.
    """

    _data_oriented = True

    def __init__(self, measures: Measures, arena: Arena):
        self.n = measures.n
        items = arena.records(self.n)
        self.source, self.first, self.width, self.part, self.turn, self.kind, self.begin, self.end = (
            items.ints(np.asarray(column, np.int32)) for column in (
                measures.source, measures.first, measures.width, measures.part, measures.turn, measures.kind,
                measures.begin, measures.end))  # fmt: skip
        self.above, self.below = items.shared(np.asarray(measures.above, float)), items.shared(np.asarray(measures.below, float))
        (self.value, self.time, self.seen, self.before, self.start, self.base, self.area, self.area_rest, self.square,
         self.square_rest) = items.slots(10)  # fmt: skip
        self.parts, self.alive = arena.slot(MOST_PARTS), arena.single.slot()

    def clear(self):
        """Nothing is seen yet, and all worlds are alive."""
        for slot, start in ((self.value, np.nan), (self.time, np.nan), (self.seen, 0.0), (self.alive, 1.0)):
            slot.write(np.full((1, slot.n_items, slot.width), start))

    def forget(self, worlds: list[int]):
        """Let worlds that could not begin have measured nothing."""
        for slot in (self.value, self.time):
            found = slot.read()
            found[worlds] = np.nan
            slot.write(found)


@ti.func
def take_measures(c: ti.template(), w: ti.i32, step: ti.i64):
    """Look at a step: the state that is reported now.

    Args:
        step: steps since the start of the run.

    Reads:  c.{health, state, rows}
    Writes: c.gauges
    """
    m = c.gauges
    zero = c.tables.arena.zero()
    status = c.health.load(w, 0)
    takes = (m.alive.load(w, 0) != 0.0) & ((status == 0.0) | (status == STOPPED))
    m.alive.store(w, 0, select(status == 0.0, zero + 1.0, zero))
    h = zero + c.constants.load(w, H)
    t = h * ti.cast(step, c.tables.arena.device.real)
    number = ti.cast(ti.min(step, ti.cast(LAST_STEP, ti.i64)), ti.i32)
    for n in range(m.n):
        if m.begin.at(n) <= number and number <= m.end.at(n):
            gather(c, w, n)
            x = component(m, w, m.part.at(n), m.width.at(n))
            reduce(m, w, n, x, t, h, takes)
            m.before.store(w, n, select(takes, x, m.before.load(w, n)))
            m.seen.store(w, n, select(takes, zero + 1.0, m.seen.load(w, n)))


@ti.func
def gather(c: ti.template(), w: ti.i32, n: ti.i32):
    """The components of the quantity of row n, in the axes that it asks for.

    Reads:  c.{state, rows}
    Writes: c.gauges.parts
    """
    m = c.gauges
    source = m.source.at(n)
    for k in range(m.width.at(n)):
        i = m.first.at(n) + k
        x = c.tables.arena.zero()
        if source == Q:
            x = c.state.q.load(w, i)
        elif source == QD:
            x = c.state.qd.load(w, i)
        elif source == QDD:
            x = c.state.qdd.load(w, i)
        elif source == EFFORT:
            x = c.rows.effort.load(w, i)
        elif source == WRENCH:
            x = c.rows.joint_wrench.load(w, i)
        elif source == POSE:
            x = c.rows.body_q.load(w, i)
        elif source == TWIST:
            x = c.rows.body_qd.load(w, i)
        elif source == POINT:
            x = c.rows.points.load(w, i)
        else:
            x = c.rows.energy.load(w, i)
        m.parts.store(w, k, x)
    if m.turn.at(n) >= 0:
        R = quaternion_at(c.rows.body_q, w, 7 * m.turn.at(n) + 3).matrix()
        for vector in range(m.width.at(n) // 3):
            v = R.T * vector_at(m.parts, w, 3 * vector)
            for k in ti.static(range(3)):
                m.parts.store(w, 3 * vector + k, v.parts[k])


@ti.func
def component(m: ti.template(), w: ti.i32, part: ti.i32, width: ti.i32):
    """A component of the quantity that was gathered, or its norm.

    Reads: m.parts
    """
    x = m.parts.load(w, ti.max(part, 0))
    if part == NORM:
        x = x * 0.0
        for k in range(width):
            x = x + m.parts.load(w, k) * m.parts.load(w, k)
        x = ti.sqrt(x)
    return x


@ti.func
def reduce(m: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), t: ti.template(), h: ti.template(), takes: ti.template()):
    """Add the value of a step to row n, in the worlds that take it.

    Writes: m
    """
    kind = m.kind.at(n)
    if kind <= FINAL:
        reduce_extreme(m, w, n, kind, x, t, takes)
    elif kind <= INTEGRAL:
        reduce_sum(m, w, n, kind, x, t, h, takes)
    else:
        reduce_crossing(m, w, n, kind, x, t, h, takes)


@ti.func
def reduce_extreme(m: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, x: ti.template(), t: ti.template(),
                   takes: ti.template()):
    """`max`, `min`, `max_abs`, `range`, `final`: the first of equal values counts.

    Writes: m.{value, time, base, area}
    """
    value = m.value.load(w, n)
    is_first = m.seen.load(w, n) == 0.0
    size = x
    better = is_first
    if kind == MAX_ABS:
        size = ti.abs(x)
    if kind == MIN:
        better = is_first | (size < value)
    elif kind == FINAL:
        better = is_first | ~is_first
    elif kind == RANGE:  # between `base` and `area`
        low = select(is_first | (x < m.base.load(w, n)), x, m.base.load(w, n))
        high = select(is_first | (x > m.area.load(w, n)), x, m.area.load(w, n))
        m.base.store(w, n, select(takes, low, m.base.load(w, n)))
        m.area.store(w, n, select(takes, high, m.area.load(w, n)))
        size = high - low
        better = is_first | (size > value)
    else:
        better = is_first | (size > value)
    better = better & takes
    m.value.store(w, n, select(better, size, value))
    m.time.store(w, n, select(better, t, m.time.load(w, n)))


@ti.func
def reduce_sum(m: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, x: ti.template(), t: ti.template(), h: ti.template(),
               takes: ti.template()):
    """`mean`, `std`, `rms`, `integral`: trapezoids over time.

    Writes: m.{value, time, start, base, area, area_rest, square, square_rest}
    """
    is_first = m.seen.load(w, n) == 0.0
    zero = h * 0.0
    base = zero
    if kind == STD:
        base = select(is_first, x, m.base.load(w, n))
        m.base.store(w, n, select(takes, base, m.base.load(w, n)))
    start = select(is_first, t, m.start.load(w, n))
    a = select(is_first, zero, m.before.load(w, n) - base)
    b = select(is_first, zero, x - base)
    grown = takes & ~is_first
    begun = takes & is_first
    add_to_sum(m.area, m.area_rest, w, n, (a + b) * 0.5 * h, grown, begun)
    add_to_sum(m.square, m.square_rest, w, n, (a * a + b * b) * 0.5 * h, grown, begun)
    area = m.area.load(w, n) + m.area_rest.load(w, n)
    square = m.square.load(w, n) + m.square_rest.load(w, n)
    span = t - start
    over = 1.0 / select(is_first, zero + 1.0, span)
    found = area
    if kind == MEAN:
        found = select(is_first, x, area * over)
    elif kind == RMS:
        found = select(is_first, ti.abs(x), ti.sqrt(square * over))
    elif kind == STD:
        found = ti.sqrt(ti.max(square * over - (area * over) * (area * over), zero))
    m.start.store(w, n, select(takes, start, m.start.load(w, n)))
    m.value.store(w, n, select(takes, found, m.value.load(w, n)))
    m.time.store(w, n, select(takes, t, m.time.load(w, n)))


@ti.func
def add_to_sum(total: ti.template(), rest: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), grown: ti.template(),
               begun: ti.template()):
    """Add to a sum, and what rounding takes from it to another.

    Args:
        grown: the worlds that add.  begun: those whose sum begins at zero.
    """
    old = total.load(w, n)
    new = old + x
    lost = select(ti.abs(old) >= ti.abs(x), (old - new) + x, (x - new) + old)
    total.store(w, n, select(begun, x * 0.0, select(grown, new, old)))
    rest.store(w, n, select(begun, x * 0.0, select(grown, rest.load(w, n) + lost, rest.load(w, n))))


@ti.func
def reduce_crossing(m: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, x: ti.template(), t: ti.template(),
                    h: ti.template(), takes: ti.template()):
    """`first`, `last_outside`, `count`: about values beyond bounds.

    Writes: m.{value, time}
    """
    zero = h * 0.0
    value = m.value.load(w, n)
    is_first = m.seen.load(w, n) == 0.0
    before = select(is_first, x, m.before.load(w, n))
    beyond = (x > m.above.load(w, n)) | (x < m.below.load(w, n))
    was = ((before > m.above.load(w, n)) | (before < m.below.load(w, n))) & ~is_first
    found = value
    changes = beyond
    if kind == FIRST:
        bound = select(x > m.above.load(w, n), zero + m.above.load(w, n), zero + m.below.load(w, n))
        rise = select(x == before, zero + 1.0, x - before)
        found = select(is_first, t, t - h + h * ((bound - before) / rise))
        changes = beyond & is_nan(value)  # not found yet
    elif kind == LAST_OUTSIDE:
        found = t
    else:
        found = select(is_first, zero, value) + select(beyond & ~was, zero + 1.0, zero)
        changes = takes
    m.value.store(w, n, select(changes & takes, found, value))
    m.time.store(w, n, select(changes & takes, t, m.time.load(w, n)))
