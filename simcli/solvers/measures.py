"""Measures on the device: what a look at the end of a step adds to each; see model/measures.py.

A measure takes what a frame of that step would show, so that it is what a file with every step would give. Where all that is
measured follows from coordinates, velocities and poses, a look is a stage of the next step, which has just placed them;
else the steps of a run are frames of one step each, of which only some leave the device. Sums over time are compensated:
their error does not grow with the number of steps.

Source: Neumaier (1974), Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen. No deviation.
"""

import numpy as np
import taichi as ti

from simcli.kernels.elementary import select
from simcli.kernels.memory import Arena
from simcli.kernels.report import report_body, report_point
from simcli.kernels.tree import quaternion_at, vector_at
from simcli.kernels.vectors import is_nan
from simcli.model.measures import LAST_STEP, NO_BODY, NORM, Measures, Reduction, Source
from simcli.solvers.clock import first_of
from simcli.solvers.integrators import H
from simcli.solvers.watch import STOPPED

MAX, MIN, MAX_ABS, RANGE, FINAL, MEAN, STD, RMS, INTEGRAL, FIRST, LAST_OUTSIDE, COUNT = map(int, Reduction)
PLACED = {Source.Q, Source.QD, Source.POSE, Source.TWIST, Source.POINT}  # known where a step has placed its bodies
MOST_PARTS = 7


class Gauges:
    """The rows of all measures, and what each world has found so far.

    Args:
        measures: of the run.
        arena: of the core.

    Attributes:
        places: rows of the arena's packs in which the quantities begin.  apart: from one component to the next.
        is_plain: 1 for one component as it stands there.
        bodies, points: whose places are looked at.
        are_placed: whether all quantities are of PLACED.
        within: whether a look is a stage of the next step.
        value: of a row, NaN before its first step.  time: [s], of an extreme, or of the last step.
        before: value at the step before, NaN at the first.  start: [s], of the first step.
        area, square: integrals of the value, and of its square, with what rounding took from each in `.._rest`; for `std`
            both are about the value at the start, `base`.
        parts: components at this step.
        alive: 1 for worlds that had not ended at the step before.
    """

    _data_oriented = True

    def __init__(self, measures: Measures, arena: Arena):
        self.n, self.measures, self.arena = measures.n, measures, arena
        self.within, self.are_placed = False, self.n > 0 and set(measures.source) <= PLACED
        if not self.n:  # phases of a run are laid out by the thousand
            return
        items = arena.records(self.n)
        self.where, self.stride = np.zeros((2, self.n), np.int32)  # that `find` fills
        is_plain = np.not_equal(measures.part, NORM) & np.equal(measures.turn, NO_BODY)
        self.places, self.apart, self.width, self.part, self.turn, self.kind, self.begin, self.end, self.is_plain = (
            items.ints(np.asarray(column, np.int32)) for column in (
                self.where, self.stride, measures.width, measures.part, measures.turn, measures.kind, measures.begin,
                measures.end, is_plain))  # fmt: skip
        self.above, self.below = (items.shared(np.asarray(bound, float)) for bound in (measures.above, measures.below))
        (self.value, self.time, self.before, self.start, self.base, self.area, self.area_rest, self.square,
         self.square_rest) = items.slots(9)  # fmt: skip
        self.parts, self.alive = arena.slot(MOST_PARTS), arena.single.slot()
        bodies, points = measures.seen()
        self.bodies, self.points = arena.ints(bodies), arena.ints(points)
        self.n_bodies, self.n_points = len(bodies), len(points)

    def find(self, core) -> None:
        """Note where the quantities stand in the memory of a core, which is not built yet.

        Args:
            core: whose they are.
        """
        if not self.n:
            return
        s, rows = core.state, core.rows
        of = {Source.Q: s.q, Source.QD: s.qd, Source.QDD: s.qdd, Source.EFFORT: rows.effort,
              Source.WRENCH: rows.joint_wrench, Source.POSE: rows.body_q, Source.TWIST: rows.body_qd,
              Source.POINT: rows.points, Source.ENERGY: rows.energy}  # fmt: skip
        core.arena.lay_out()
        m = self.measures
        for n in range(self.n):
            part = max(m.part[n], 0) if m.part[n] != NORM and m.turn[n] == NO_BODY else 0
            rows = of[m.source[n]].rows[m.first[n] : m.first[n] + m.width[n]]
            self.where[n], self.stride[n] = rows[part], rows[-1] - rows[-2] if len(rows) > 1 else 0

    def clear(self):
        """Nothing is seen yet, and all worlds are alive."""
        if not self.n:
            return
        for slot in (self.value, self.time, self.before, self.base, self.area):
            slot.write(np.full((1, slot.n_items, slot.width), np.nan))
        self.alive.write(np.ones((1, 1, 1)))

    def forget(self, worlds: list[int]):
        """Let worlds that could not begin have measured nothing."""
        for slot in (self.value, self.time) if self.n else ():
            found = slot.read()
            found[worlds] = np.nan
            slot.write(found)


@ti.func
def look_at_start(c: ti.template(), w: ti.i32):
    """A stage of a step: take the measures of the step before it, whose end was just placed, if no frame does.

    Reads:  c.{health, state, now}
    Writes: c.{gauges, rows}
    """
    step = c.now.load(w, "step")
    if step > 0:
        for k in range(c.gauges.n_bodies):
            report_body(c.tables, c.state, c.rows, w, c.gauges.bodies.at(k))
        for k in range(c.gauges.n_points):
            report_point(c.tables, c.state, c.rows, w, c.gauges.points.at(k))
        take_measures(c, w, first_of(c, w) + step)


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
            x = m.arena.packs.load(w, m.places.at(n))
            if m.is_plain.at(n) == 0:
                gather(c, w, n)
                x = component(m, w, m.part.at(n), m.width.at(n))
            kind = m.kind.at(n)
            if kind <= MAX_ABS:
                reduce_extreme(m, w, n, kind, x, t, takes)
            elif kind <= FINAL:
                reduce_span(m, w, n, kind, x, t, takes)
            elif kind <= INTEGRAL:
                reduce_sum(m, w, n, kind, x, t, h, takes)
            else:
                reduce_crossing(m, w, n, kind, x, t, h, takes)


@ti.func
def gather(c: ti.template(), w: ti.i32, n: ti.i32):
    """The components of the quantity of row n, in the axes that it asks for.

    Reads:  c.{state, rows}
    Writes: c.gauges.parts
    """
    m = c.gauges
    for k in range(m.width.at(n)):
        m.parts.store(w, k, m.arena.packs.load(w, m.places.at(n) + k * m.apart.at(n)))
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
def reduce_extreme(m: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, x: ti.template(), t: ti.template(),
                   takes: ti.template()):
    """`max`, `min`, `max_abs`: the first of equal values counts.

    Writes: m.{value, time}
    """
    value = m.value.load(w, n)
    size = x
    if kind == MAX_ABS:
        size = ti.abs(x)
    better = takes & ~(size <= value)  # than none, too
    if kind == MIN:
        better = takes & ~(size >= value)
    m.value.store(w, n, select(better, size, value))
    m.time.store(w, n, select(better, t, m.time.load(w, n)))


@ti.func
def reduce_span(m: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, x: ti.template(), t: ti.template(),
                takes: ti.template()):
    """`range`, between `base` and `area`, and `final`.

    Writes: m.{value, time, base, area}
    """
    size = x
    grows = takes
    if kind == RANGE:
        low = m.base.load(w, n)
        high = m.area.load(w, n)
        falls = takes & ~(x >= low)
        rises = takes & ~(x <= high)
        low = select(falls, x, low)
        high = select(rises, x, high)
        m.base.store(w, n, low)
        m.area.store(w, n, high)
        size = high - low
        grows = falls | rises
    m.value.store(w, n, select(grows, size, m.value.load(w, n)))
    m.time.store(w, n, select(grows, t, m.time.load(w, n)))


@ti.func
def reduce_sum(m: ti.template(), w: ti.i32, n: ti.i32, kind: ti.i32, x: ti.template(), t: ti.template(), h: ti.template(),
               takes: ti.template()):
    """`mean`, `std`, `rms`, `integral`: trapezoids over time.

    Writes: m.{value, time, before, start, base, area, area_rest, square, square_rest}
    """
    zero = h * 0.0
    before = m.before.load(w, n)
    is_first = is_nan(before)
    base = zero
    if kind == STD:
        base = select(is_first, x, m.base.load(w, n))
        m.base.store(w, n, select(takes, base, m.base.load(w, n)))
    start = select(is_first, t, m.start.load(w, n))
    a = select(is_first, zero, before - base)
    b = x - base
    over = 1.0 / select(is_first, zero + 1.0, t - start)
    found = zero
    if kind != RMS:
        area = grown(m.area, m.area_rest, w, n, (a + b) * 0.5 * h, takes, is_first)
        found = area
        if kind == MEAN:
            found = select(is_first, x, area * over)
    if kind == RMS or kind == STD:
        square = grown(m.square, m.square_rest, w, n, (a * a + b * b) * 0.5 * h, takes, is_first)
        mean = found * over
        found = select(is_first & (base == zero), ti.abs(x), ti.sqrt(ti.max(square * over - mean * mean, zero)))
        if kind == STD:
            found = select(is_first, zero, found)
    m.start.store(w, n, select(takes, start, m.start.load(w, n)))
    m.before.store(w, n, select(takes, x, before))
    m.value.store(w, n, select(takes, found, m.value.load(w, n)))
    m.time.store(w, n, select(takes, t, m.time.load(w, n)))


@ti.func
def grown(total: ti.template(), rest: ti.template(), w: ti.i32, n: ti.i32, x: ti.template(), takes: ti.template(),
          is_first: ti.template()):
    """A sum after a number is added, which keeps what rounding takes from it; it begins at 0 with the first step.

    Args:
        total, rest: slots of the sum and of what rounding took.
        takes: the worlds that add.  is_first: those that begin.
    """
    zero = x * 0.0
    old = select(is_first, zero, total.load(w, n))
    kept = select(is_first, zero, rest.load(w, n))
    more = select(is_first, zero, x)
    new = old + more
    lost = select(ti.abs(old) >= ti.abs(more), (old - new) + more, (more - new) + old)
    total.store(w, n, select(takes, new, total.load(w, n)))
    rest.store(w, n, select(takes, kept + lost, rest.load(w, n)))
    return new + (kept + lost)


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
