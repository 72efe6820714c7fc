"""Quantities that a run looks at, on the device: what a look at the end of a step adds to each; see model/measures.py.

A measure takes what a frame of that step would show, so that it is what a file with every step would give. Where all that is
measured follows from coordinates, velocities and poses, a look is a stage of the next step, which has just placed them;
else the steps of a run are frames of one step each, of which only some leave the device.
"""

import numpy as np
import taichi as ti

from simcli.kernels.collision.clearance import Clearances, find_clearances
from simcli.kernels.elementary import select
from simcli.kernels.memory import Arena
from simcli.kernels.report import emit, report_orientation, report_point, report_position, report_velocity
from simcli.kernels.tables import Tables
from simcli.kernels.tree import quaternion_at, vector_at
from simcli.model.measures import LAST_STEP, NO_BODY, NORM, Measures, Reduction, Source
from simcli.model.tables import Model
from simcli.solvers.clock import first_of
from simcli.solvers.drives import Drives
from simcli.solvers.integrators import H
from simcli.solvers.reductions import (
    FINAL,
    INTEGRAL,
    MAX,
    MAX_ABS,
    MEAN,
    MIN,
    RANGE,
    RECORD,
    RMS,
    STD,
    STOP,
    keep_extreme,
    reduce_crossing,
    reduce_span,
    reduce_sum,
)
from simcli.solvers.touches import Touches, add_touches
from simcli.solvers.watch import STOPPED

# Known where a step has placed its bodies.
PLACED = {Source.Q, Source.QD, Source.POSE, Source.TWIST, Source.POINT, Source.DISTANCE}
DRIVEN = {Source.DRIVE_EFFORT, Source.DRIVE_POWER}  # likewise, if no motion prescribes them, while tables stay
MOST_PARTS = 7
# Where rows of a kind stand among the others.
OTHERS = 4
_PLACES = {STOP: 0, MAX: 1, MIN: 1, MAX_ABS: 1, FINAL: 2, MEAN: 3, STD: 3, RMS: 3, INTEGRAL: 3, RECORD: 5}
PLACES = np.array([_PLACES.get(int(kind), OTHERS) for kind in Reduction])


class Gauges:
    """The rows of all quantities that a run looks at, and what each world has found so far.

    Args:
        measures: of the run.
        model: host tables.
        tables: device tables.
        arena: of the core.
        rows_of_dof: `switches` and `leads` of `Drives`.
        is_alone: whether no event changes the tables.

    Attributes:
        order: rows of the table, in the order in which they stand here: those that end worlds, extremes, values at the last
            step, sums, the others, columns of frames.
        n_stops, n_extremes, n_finals, n_sums, n_records: how many of each.
        places: rows of the arena's packs in which the quantities begin.  apart: from one component to the next.
        is_plain: 1 for one component as it stands there.
        positions, orientations, velocities, points: bodies and points that are looked at.
        drives, clearances, touches: those that are asked for, else None; `has` tells which are.
        are_placed: whether something is done at every step, and needs no more than a step has placed.
        within: whether a look is a stage of the next step.
        fold, sign: of an extreme: the value is the larger of x and fold x, and the best has the largest sign x.
        value: of a row, NaN before its first step.  time: [s], of an extreme or a crossing.
        before: value at the step before, NaN at the first.
        area, square: integrals of the value, and of its square, with what rounding took from each in `.._rest`; for `std`
            both are about the value at the start, `base`.
        parts: components at this step.
        alive: 1 for worlds that had not ended at the step before.  last: [s], their last step.
    """

    _data_oriented = True

    def __init__(self, measures: Measures, model: Model, tables: Tables, arena: Arena, rows_of_dof: tuple,
                 is_alone: bool):
        self.n, self.measures, self.arena = measures.n, measures, arena
        self.n_stops, self.n_records = measures.stops, measures.records
        self.drives = self.clearances = self.touches = None
        self.within = self.are_placed = False
        self.has = {"motions": False}
        if not self.n:  # phases of a run are laid out by the thousand
            return
        items = arena.records(self.n)
        self.where, self.stride = np.zeros((2, self.n), np.int32)  # that `find` fills
        kind = np.array(measures.kind)
        self.order = np.argsort(PLACES[kind], kind="stable")
        self.n_extremes, self.n_finals, self.n_sums = (int((PLACES[kind] == place).sum()) for place in (1, 2, 3))
        is_plain = np.not_equal(measures.part, NORM) & np.equal(measures.turn, NO_BODY)
        self.places, self.apart = items.ints(self.where), items.ints(self.stride)
        columns = (measures.width, measures.part, measures.turn, measures.kind, measures.begin, measures.end, is_plain)
        self.width, self.part, self.turn, self.kind, self.begin, self.end, self.is_plain = (
            items.ints(np.asarray(column, np.int32)[self.order]) for column in columns)  # fmt: skip
        fold, sign = (np.where(kind == other, -1.0, 1.0) for other in (MAX_ABS, MIN))
        self.above, self.below, self.fold, self.sign = (
            items.shared(np.asarray(column, float)[self.order]) for column in (measures.above, measures.below, fold, sign))
        (self.value, self.time, self.before, self.base, self.area, self.area_rest, self.square,
         self.square_rest) = items.slots(8)  # fmt: skip
        self.parts, (self.alive, self.last) = arena.slot(MOST_PARTS), arena.single.slots(2)
        self._see(measures, model, tables, arena, rows_of_dof, is_alone)

    def _see(self, measures: Measures, model: Model, tables: Tables, arena: Arena, rows_of_dof: tuple, is_alone: bool):
        """What has to be found for the quantities."""
        seen = measures.seen()
        self.positions, self.orientations, self.velocities, self.points = (
            arena.ints(seen[name]) for name in ("positions", "orientations", "velocities", "points"))  # fmt: skip
        self.n_positions, self.n_orientations = len(seen["positions"]), len(seen["orientations"])
        self.n_velocities, self.n_points = len(seen["velocities"]), len(seen["points"])
        joints = {int(model.dofs.joint[dof]) for dof in seen["efforts"]} | set(seen["powers"])
        if joints:
            self.drives = Drives(model, tables, arena, sorted(joints), seen["powers"], *rows_of_dof)
        if measures.pairs[Source.DISTANCE]:
            self.clearances = Clearances(model, tables, arena, measures.pairs[Source.DISTANCE])
        if measures.pairs[Source.CONTACT]:
            self.touches = Touches(model, arena, measures.pairs[Source.CONTACT])
        self.has = {name: getattr(self, name) is not None for name in ("drives", "clearances", "touches")}
        self.has["motions"] = bool(self.drives and self.drives.has_motion)
        stays = is_alone and not self.has["motions"]
        steps = {source for source, kind in zip(measures.source, measures.kind, strict=True) if kind != Reduction.RECORD}
        self.are_placed = bool(steps) and steps <= (PLACED | DRIVEN if stays else PLACED)

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
        if self.drives:
            of |= {Source.DRIVE_EFFORT: self.drives.effort, Source.DRIVE_POWER: self.drives.power}
        if self.clearances:
            of[Source.DISTANCE] = self.clearances.distance
        if self.touches:
            of[Source.CONTACT] = self.touches.sums
        core.arena.lay_out()
        m = self.measures
        for at, n in enumerate(self.order.tolist()):
            part = max(m.part[n], 0) if m.part[n] != NORM and m.turn[n] == NO_BODY else 0
            rows = of[m.source[n]].rows[m.first[n] : m.first[n] + m.width[n]]
            self.where[at], self.stride[at] = rows[part], rows[-1] - rows[-2] if len(rows) > 1 else 0

    def clear(self):
        """Nothing is seen yet, and all worlds are alive."""
        if not self.n:
            return
        for slot in [own for own in (self.drives, self.touches) if own]:
            slot.clear()
        for slot in (self.value, self.time, self.before, self.base, self.area, self.square, self.last):
            slot.write(np.full((1, slot.n_items, slot.width), np.nan))
        self.alive.write(np.ones((1, 1, 1)))

    def forget(self, worlds: list[int]):
        """Let worlds that could not begin have measured nothing."""
        for slot in (self.value, self.time, self.before, self.last) if self.n else ():
            found = slot.read()
            found[worlds] = np.nan
            slot.write(found)

    def found(self, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Values of all rows up to now, and the times of them [s], (W, N); NaN where there is nothing yet.

        Args:
            dt: [s], step.
        """
        back = np.argsort(self.order)
        read = lambda slot: slot.read()[:, back, 0]  # noqa: E731
        value, time, before = map(read, (self.value, self.time, self.before))
        area, square = read(self.area) + read(self.area_rest), read(self.square) + read(self.square_rest)
        kind, real = np.array(self.measures.kind), value.dtype.type
        begin, end = (real(dt) * np.asarray(steps, real) for steps in (self.measures.begin, self.measures.end))
        last = self.last.read()[:, :, 0]
        last = np.where(last >= begin, np.minimum(last, end), np.nan)
        span = last - begin
        with np.errstate(divide="ignore", invalid="ignore"):
            mean, power = area / span, square / span
        still = span == 0  # one step
        sums = {
            MEAN: np.where(still, before, mean), INTEGRAL: area, RMS: np.where(still, np.abs(before), np.sqrt(power)),
            STD: np.where(still, 0.0, np.sqrt(np.maximum(power - mean * mean, 0.0))),
        }  # fmt: skip
        for reduction, numbers in sums.items():
            value = np.where(kind == reduction, np.where(np.isnan(before), np.nan, numbers), value)
        return value, np.where(np.isin(kind, [FINAL, *sums]) & ~np.isnan(value), last, time)


@ti.func
def look_at_start(c: ti.template(), w: ti.i32):
    """A stage of a step: look at the step before it, whose end was just placed, if no frame does.

    Reads:  c.{health, state, now}
    Writes: c.{gauges, rows}
    """
    step = c.now.load(w, "step")
    if step > 0:
        place_seen(c, w)
        look_further(c, w)
        take_measures(c, w, first_of(c, w) + step)


@ti.func
def look_at_frame(c: ti.template(), w: ti.i32, step: ti.i64):
    """Look at a frame that was just made.

    Args:
        step: steps since the start of the run.

    Reads:  c.{health, state, rows}
    Writes: c.{gauges, health, rows}
    """
    if ti.static(not c.reports["bodies"]):
        place_seen(c, w)
    look_further(c, w)
    take_measures(c, w, step)


@ti.func
def place_seen(c: ti.template(), w: ti.i32):
    """Places and velocities of the bodies and points that are looked at.

    Reads:  c.state
    Writes: c.rows.{body_q, body_qd, points}
    """
    m = c.gauges
    for k in range(m.n_positions):
        report_position(c.tables, c.state, c.rows, w, m.positions.at(k))
    for k in range(m.n_orientations):
        report_orientation(c.tables, c.state, c.rows, w, m.orientations.at(k))
    for k in range(m.n_velocities):
        report_velocity(c.tables, c.state, c.rows, w, m.velocities.at(k))
    for k in range(m.n_points):
        report_point(c.tables, c.state, c.rows, w, m.points.at(k))


@ti.func
def look_further(c: ti.template(), w: ti.i32):
    """Find what no frame shows: efforts of drives, distances, sums of contact forces.

    Reads:  c.{forces, state, rows, contacts}
    Writes: c.gauges
    """
    if ti.static(c.gauges.has["drives"]):
        c.engine.report_drives(c, w)
    if ti.static(c.gauges.has["clearances"]):
        find_clearances(c.gauges.clearances, c.tables, c.state, w)
    if ti.static(c.gauges.has["touches"]):
        add_touches(c, w)


@ti.func
def take_measures(c: ti.template(), w: ti.i32, step: ti.i64):
    """Look at a step: the state that is reported now.

    Args:
        step: steps since the start of the run.

    Reads:  c.{state, rows}
    Writes: c.{gauges, health}
    """
    m = c.gauges
    zero = c.tables.arena.zero()
    if step > 0:
        for n in range(m.n_stops):
            stop(c, w, seen(c, w, n), n)
    status = c.health.load(w, 0)
    takes = (m.alive.load(w, 0) != 0.0) & ((status == 0.0) | (status == STOPPED))
    m.alive.store(w, 0, select(status == 0.0, zero + 1.0, zero))
    h = zero + c.constants.load(w, H)
    t = h * ti.cast(step, c.tables.arena.device.real)
    m.last.store(w, 0, select(takes, t, m.last.load(w, 0)))
    number = ti.cast(ti.min(step, ti.cast(LAST_STEP, ti.i64)), ti.i32)
    first = m.n_stops
    for n in range(first, first + m.n_extremes):
        if m.begin.at(n) <= number and number <= m.end.at(n):
            x = seen(c, w, n)
            keep_extreme(m, w, n, x, t, takes)
    first += m.n_extremes
    for n in range(first, first + m.n_finals):
        if m.begin.at(n) <= number and number <= m.end.at(n):
            x = seen(c, w, n)
            m.value.store(w, n, select(takes, x, m.value.load(w, n)))
    take_others(c, w, first + m.n_finals, number, t, h, takes)


@ti.func
def take_others(c: ti.template(), w: ti.i32, first: ti.i32, number: ti.i32, t: ti.template(), h: ti.template(),
                takes: ti.template()):
    """The sums, which begin at a row, and all measures behind them.

    Reads:  c.{state, rows}
    Writes: c.gauges
    """
    m = c.gauges
    for n in range(first, first + m.n_sums):
        if m.begin.at(n) <= number and number <= m.end.at(n):
            x = seen(c, w, n)
            reduce_sum(m, w, n, m.kind.at(n), x, h, ti.cast(number == m.begin.at(n), ti.i32), takes)
    for n in range(first + m.n_sums, m.n - m.n_records):
        if m.begin.at(n) <= number and number <= m.end.at(n):
            x = seen(c, w, n)
            if m.kind.at(n) == RANGE:
                reduce_span(m, w, n, x, t, takes)
            else:
                reduce_crossing(m, w, n, m.kind.at(n), x, t, h, takes)


@ti.func
def seen(c: ti.template(), w: ti.i32, n: ti.i32):
    """The number of row n now.

    Reads:  c.{state, rows, gauges}
    Writes: c.gauges.parts
    """
    m = c.gauges
    x = m.arena.packs.load(w, m.places.at(n))
    if m.is_plain.at(n) == 0:
        gather(c, w, n)
        x = component(m, w, m.part.at(n), m.width.at(n))
    return x


@ti.func
def stop(c: ti.template(), w: ti.i32, x: ti.template(), n: ti.i32):
    """End the worlds in which the number of row n is beyond its bounds.

    Reads:  c.{gauges, count}
    Writes: c.health
    """
    m = c.gauges
    zero = c.tables.arena.zero()
    status = c.health.load(w, 0)
    ends = (status == 0.0) & ((x > zero + m.above.load(w, n)) | (x < zero + m.below.load(w, n)))
    c.health.store(w, 0, select(ends, zero + STOPPED, status))
    c.health.store(w, 1, select(ends, c.count.load(w, 0), c.health.load(w, 1)))
    c.health.store(w, 2, select(ends, zero - 1.0, c.health.load(w, 2)))


@ti.func
def unload_quantities(out: ti.template(), c: ti.template(), first: ti.i32, w: ti.i32, poison: ti.template()):
    """Copy the quantities that frames record to a flat buffer, as `report.unload`.

    Writes: out
    """
    m = c.gauges
    for i in range(m.n_records):
        x = m.arena.packs.load(w, m.places.at(m.n - m.n_records + i))
        emit(out, c.lanes, first + i, m.n_records, x + poison)


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
