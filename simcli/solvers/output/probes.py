"""Quantities that a run probes, on the device: what a probe at the end of a step adds to each; see model/measures.py.

A measure takes what a frame of that step would show, so that it is what a file with every step would give. Where all that is
measured follows from coordinates, velocities and poses, a probe is a stage of the next step, which has just placed them,
or of the frame; else the steps of a run are frames of one step each, of which only some leave the device.
"""

from simcli.kernels.articulation.kinematics import quaternion_at, vector_at
from simcli.kernels.articulation.report import report_orientation, report_point, report_velocity, write_pack
from simcli.kernels.contact_queries import find_clearances
from simcli.kernels.device.stage_lists import take_all, when
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.language.expressions import any_lane
from simcli.model.measures import NORM
from simcli.solvers.base import needs
from simcli.solvers.base.clock import steps_before
from simcli.solvers.base.integrators import H
from simcli.solvers.base.world_ends import STOPPED
from simcli.solvers.output.contact_report import add_touches
from simcli.solvers.output.reductions import FIRST, KEEPS, SERIES, TERMS, close_sums, reduce_crossing
from simcli.solvers.output.sensor_noise import add_noise
from simcli.solvers.output.sensors import find_sensors, sense_range, sense_touch


@ti.func
def probe_step(c: ti.template(), w: ti.i32):
    """A stage: probe the step whose end was just placed, as the next one starts or as a frame ends.

    Reads:  c.{health, state, now}
    Writes: c.{accumulators, health, rows}
    """
    step = c.now.load(w, "step")
    if step > 0 or c.now.load(w, "steps") == 0:  # else the frame before was a probe
        place_seen(c, w)
        take_all(c.further, c, w)
        take_measures(c, w, steps_before(c, w) + step)


@needs.accumulators
@ti.func
def probe_frame(c: ti.template(), w: ti.i32, step: ti.i64, moves: ti.i32):
    """Probe a frame that was just made.

    Args:
        step: steps since the start of the run.
        moves: 0 for a frame of where worlds stand, which measures have probed before.

    Reads:  c.{health, state, rows}
    Writes: c.{accumulators, health, rows}
    """
    take_all(c.seeing, c, w)
    if moves != 0:
        _measure_frame(c, w, step)


@needs.late_probes
def _measure_frame(c, w, step):
    take_measures(c, w, step)


def seeing(c) -> tuple:
    """What finds the quantities of a frame that no frame shows."""
    has = c.accumulators.n and (not c.accumulators.within or c.accumulators.n_records)
    return when(has, *when(not c.reports["bodies"], place_seen), *further(c, "drives"))


def further(c, drives: str = "drives at steps") -> tuple:
    """What finds what places and velocities do not tell: efforts of drives, distances, sums of contact forces.

    Args:
        c: core of the run.
        drives: which of what the accumulators have: frames show drives that no step probes.
    """
    has = c.accumulators.has
    return (
        (
            *when(has[drives], c.engine.report_drives),
            *when(has["clearances"], _find_clearances),
            *when(has["touches"], add_touches),
            *when(has["sensors"], _find_sensed),
        )
        if c.accumulators.n
        else ()
    )


def sensing(g) -> tuple:
    """What finds what sensors show, that know poses, velocities, accelerations and wrenches of bodies.

    Args:
        g: accumulators; stages take them before the core.
    """
    has = g.has
    return (
        *when(has.get("sensors"), find_sensors),
        *when(has.get("touching"), sense_touch),
        *when(has.get("targets"), sense_range),
        *when(has.get("noise"), add_noise),
    )


def _find_sensed(c, w):
    take_all(sensing(c.accumulators), c.accumulators, c, w)


def _find_clearances(c, w):
    find_clearances(c.accumulators.clearances, c.tables, c.state, w)


def place_seen(c, w):
    """Places and velocities of the bodies and points that measures probe (inside kernels)."""
    place_quantities(c.accumulators, c, w)


@ti.func
def place_quantities(m: ti.template(), c: ti.template(), w: ti.i32):
    """Places and velocities of the bodies and points that accumulators probe.

    Reads:  c.state
    Writes: c.rows.{body_q, body_qd, points}
    """
    for k in range(m.n_positions):
        place_component(m, c, w, k)
    for k in range(m.n_orientations):
        report_orientation(c.tables, c.state, c.rows, w, m.orientations.at(k))
    for k in range(m.n_velocities):
        report_velocity(c.tables, c.state, c.rows, w, m.velocities.at(k))
    for k in range(m.n_points):
        report_point(c.tables, c.state, c.rows, w, m.points.at(k))


@ti.func
def place_component(m: ti.template(), c: ti.template(), w: ti.i32, k: ti.i32):
    """A component of a position, to the bits that `report_body` gives.

    Reads:  c.state
    Writes: c.rows.body_q
    """
    p = m.positions
    packs = m.arena.packs
    offset = c.tables.body_offset.load(w, p.link.at(k)).parts
    x = packs.load(w, p.origin.at(k)) + packs.load(w, p.o.at(k))
    R = [packs.part(w, p.R.at(k), i) for i in ti.static(range(3))]
    packs.store(w, p.x.at(k), x + (R[0] * offset[0] + R[1] * offset[1] + R[2] * offset[2]))


@ti.func
def take_measures(c: ti.template(), w: ti.i32, step: ti.i64):
    """Probe a step: the state that is reported now.

    Args:
        step: steps since the start of the run.

    Reads:  c.{state, rows}
    Writes: c.{accumulators, health}
    """
    m = c.accumulators
    zero = c.tables.arena.zero()
    begun = c.ages.have_begun(w, step)
    if any_lane(begun):
        for n in range(m.n_stops):
            _stop(c, w, quantity_now(m, c, w, n), n, begun)
    status = c.health.load(w, 0)
    t = (zero + c.constants.load(w, H)) * c.ages.pack(w, step)
    number = c.ages.number(w, step)
    takes = (m.alive.load(w, 0) != 0.0) & ((status == 0.0) | (status == STOPPED))
    m.alive.store(w, 0, select(status == 0.0, zero + 1.0, zero))
    m.last.store(w, 0, select(takes, t, m.last.load(w, 0)))
    for k in ti.static(range(len(SERIES))):
        for n in range(m.limits.at(k), m.limits.at(k + 1)):
            KEEPS[k](m, w, n, m.arena.packs.load(w, m.places.at(n)), t, takes, number == 0)
    for n in range(m.limits.at(len(SERIES)), m.n - m.n_records):
        counts = (number >= m.begin.at(n)) & (number <= m.end.at(n))
        if any_lane(counts):
            take_other(c, w, n, number, t, takes & counts)
    closes = c.ages.due(w, step, TERMS)
    if any_lane(closes):
        c.ages.take(closes, close_sums, m, w)


@ti.func
def take_other(c: ti.template(), w: ti.i32, n: ti.i32, number: ti.template(), t: ti.template(), takes: ti.template()):
    """A row of any kind, at a step that counts.

    Reads:  c.{state, rows}
    Writes: c.accumulators
    """
    m = c.accumulators
    kind = m.kind.at(n)
    x = quantity_now(m, c, w, n)
    for k in ti.static(range(len(SERIES))):
        if (kind == SERIES[k][0]) | (kind == SERIES[k][-1]):
            KEEPS[k](m, w, n, x, t, takes, number == m.begin.at(n))
    if kind >= FIRST:
        reduce_crossing(m, w, n, kind, x, t, t * 0.0 + c.constants.load(w, H), takes)


@ti.func
def quantity_now(m: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32):
    """The number of row n of accumulators now.

    Reads:  c.{state, rows}, m
    Writes: m.parts
    """
    x = m.arena.packs.load(w, m.places.at(n))
    if m.is_plain.at(n) == 0:
        _gather(m, c, w, n)
        x = component(m, w, m.part.at(n), m.width.at(n))
    return x


@ti.func
def _stop(c: ti.template(), w: ti.i32, x: ti.template(), n: ti.i32, begun: ti.template()):
    """End the worlds in which the number of row n is beyond its bounds.

    Reads:  c.{accumulators, count}
    Writes: c.health
    """
    m = c.accumulators
    zero = c.tables.arena.zero()
    status = c.health.load(w, 0)
    ends = begun & (status == 0.0) & ((x > zero + m.above.load(w, n)) | (x < zero + m.below.load(w, n)))
    c.health.store(w, 0, select(ends, zero + STOPPED, status))
    c.health.store(w, 1, select(ends, c.count.load(w, 0), c.health.load(w, 1)))
    c.health.store(w, 2, select(ends, zero - 1.0, c.health.load(w, 2)))


@ti.func
def unload_quantities(out: ti.template(), c: ti.template(), first: ti.i32, w: ti.i32, poison: ti.template()):
    """Copy the quantities that frames record to a flat buffer, as `report.unload_part`.

    Writes: out
    """
    m = c.accumulators
    for i in range(m.n_records):
        x = m.arena.packs.load(w, m.places.at(m.n - m.n_records + i))
        write_pack(out, c.lanes, first + i, m.n_records, x + poison)


@ti.func
def _gather(m: ti.template(), c: ti.template(), w: ti.i32, n: ti.i32):
    """The components of the quantity of row n, in the axes that it asks for.

    Reads:  c.{state, rows}
    Writes: m.parts
    """
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
