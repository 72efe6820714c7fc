"""Signals on the device: their values with two rates at a time, and the way from there to what they drive.

A column that a signal drives is an array instead of a table; whoever reads it does not see the difference. Each number of it
is a base, the model's own value, plus gain times signal over its inputs, written anew before every evaluation.
"""

from dataclasses import dataclass

import numpy as np

from simcli.kernels.device.arena import Arena, is_pack, local
from simcli.kernels.device.model_tables import Tables
from simcli.kernels.forces.feedback import ORDERS, FeedbackLaws, hold_samples, take_samples
from simcli.kernels.forces.prescribed_target import columns_of_motion, turn_balls
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select, sincos
from simcli.kernels.language.expressions import get_lane, put_lane
from simcli.model.constraints.build import constraints_of
from simcli.model.joints.mechanism import reads
from simcli.model.joints.tree_kinematics import body_rotations
from simcli.model.tables.model import DriveMode, Model
from simcli.model.tables.signal_tables import Driven, SignalKind

SINE, _STEP, RAMP, CHIRP, _TABLE = (int(getattr(SignalKind, name)) for name in ("SINE", "STEP", "RAMP", "CHIRP", "TABLE"))
_PARAMETERS = 4
_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Route:
    """One way from a signal to a number of a device column.

    Attributes:
        column: name of the column, as in `Forces` or `Prescribed`.
        row: which of its numbers.
        source: which of the signals' numbers (3 * signal + order of the derivative).
        gain: [1], (W|1,).
    """

    column: str
    row: int
    source: int
    gain: np.ndarray


def routes(model: Model) -> list[Route]:
    """All ways of a model, rows of a column side by side."""
    inputs, found = model.inputs, []
    for n, column in enumerate(inputs.column):
        source, gain = ORDERS * int(inputs.signal[n]), inputs.gain[:, n]
        found += _ROUTES[Driven(column)](model, int(inputs.item[n]), source, gain)
    return sorted(found, key=lambda route: (route.column, route.row, route.source))


def _to_target(model: Model, dof: int, source: int, gain: np.ndarray) -> list[Route]:
    mode = model.dofs.drive_mode[dof]
    if mode == DriveMode.EFFORT:
        return [Route("driving", dof, source, gain)]
    return [Route("target", dof, source, gain)] if reads(mode, "target") else []


def _to_target_rate(model: Model, dof: int, source: int, gain: np.ndarray) -> list[Route]:
    return [Route("target_rate", dof, source, gain)] if reads(model.dofs.drive_mode[dof], "target_velocity") else []


def _to_wrench(column: str):
    """A wrench that follows its body is kept in link axes, so that one component drives three."""

    def to_wrench(model: Model, item: int, source: int, gain: np.ndarray) -> list[Route]:
        k, component = divmod(item, 3)
        if not model.wrenches.follows[k]:
            return [Route(column, item, source, gain)]
        turn = body_rotations(model.links, model.wrenches.body[k : k + 1])[:, 0, :, component]
        return [Route(column, 3 * k + i, source, gain * turn[:, i]) for i in range(3)]

    return to_wrench


def _to_surface(model: Model, item: int, source: int, gain: np.ndarray) -> list[Route]:
    """The velocity of a surface is kept in link axes."""
    s, component = divmod(item, 3)
    turn = body_rotations(model.links, model.shapes.body[s : s + 1])[:, 0, :, component]
    return [Route("surface_velocity", 3 * s + i, source, gain * turn[:, i]) for i in range(3)]


def _to_motion(model: Model, dof: int, source: int, gain: np.ndarray) -> list[Route]:
    return [Route(name, dof, source + order, gain) for order, name in enumerate(columns_of_motion(model, dof))]


_ROUTES = {
    Driven.DRIVE_TARGET: _to_target,
    Driven.DRIVE_TARGET_VELOCITY: _to_target_rate,
    Driven.JOINT_F: lambda model, dof, source, gain: [Route("constant", dof, source, gain)],
    Driven.WRENCH_FORCE: _to_wrench("wrench_force"),
    Driven.WRENCH_TORQUE: _to_wrench("wrench_torque"),
    Driven.MOTION: _to_motion,
    Driven.AIM: lambda model, dof, source, gain: [Route("aim", dof, source, gain)],
    Driven.ROPE_TENSION: lambda model, item, source, gain: [Route("rope_tension", item, source, gain)],
    Driven.MUSCLE: lambda model, item, source, gain: [Route("muscle_activation", item, source, gain)],
    Driven.HOLD_RATE: lambda model, item, source, gain: [Route("hold_rate", item, source, gain)],
    Driven.HOLD_SHIFT: lambda model, item, source, gain: [Route("hold_shift", item, source, gain)],
    Driven.SURFACE_VELOCITY: _to_surface,
    Driven.CONTACT_FRICTION: lambda model, item, source, gain: [Route("contact_friction", item, source, gain)],
    Driven.FRICTION: lambda model, dof, source, gain: [
        Route("law_friction", k, source, gain) for k in np.flatnonzero(constraints_of(model).laws.dof == dof).tolist()
    ],
}


def driven_columns(model: Model) -> set[str]:
    """Names of the device columns that signals drive."""
    return {route.column for route in routes(model)}


class Signals:
    """Device columns of signals and routes.

    Args:
        model: host tables.
        tables: the device's.
        arena: receives the values.
        owners: objects that hold the driven columns as attributes; what others hold is left alone.

    Attributes:
        n: signals.
        values: per signal its value, first and second derivative.
        feedback: those that follow the motion.
        balls: `Prescribed` that signals turn balls by, if there are some.
    """

    _data_oriented = True

    def __init__(self, model: Model, tables: Tables, arena: Arena, owners: tuple):
        signals = model.signals
        ways = [way for way in routes(model) if any(hasattr(owner, way.column) for owner in owners)]
        self.arena, self.n, self.n_routes = arena, len(signals.name) if ways else 0, len(ways)
        self.kinds = frozenset(signals.kind.tolist())
        self.kind, self.parameter = arena.ints(signals.kind), tables.column(_flat(signals.parameter))
        self.piece_start, self.knot = arena.ints(signals.piece_start), arena.shared(signals.knot)
        self.cubic = tables.column(_flat(signals.cubic))
        self.values = arena.array(ORDERS * self.n)
        self.feedback = FeedbackLaws(model, tables, arena, bool(ways))
        arrays = [next(getattr(o, way.column) for o in owners if hasattr(o, way.column)) for way in ways]
        rows = [array.first + way.row for array, way in zip(arrays, ways, strict=True)]
        items = arena.records(len(ways))
        self.row, self.source = items.ints(rows), items.ints([way.source for way in ways])
        self.adds = items.ints([n > 0 and rows[n] == rows[n - 1] for n in range(len(rows))])
        self.gain = items.column(_stacked([way.gain for way in ways]))
        self.base = items.column(_stacked([array.base[:, way.row] for array, way in zip(arrays, ways, strict=True)]))
        self.rows = arena.by_rows  # which driven columns have
        self.balls = next((o for o in owners if getattr(o, "n_balls", 0)), None)
        self.has_balls = self.balls is not None


def _flat(values: np.ndarray) -> np.ndarray:
    """(W|1, n, 4) as (W|1, 4 n)."""
    return values.reshape(len(values), -1)


def _stacked(columns: list[np.ndarray]) -> np.ndarray:
    """Columns (W|1,) side by side, (W|1, n)."""
    return np.stack(np.broadcast_arrays(*columns), axis=-1) if columns else np.zeros((1, 0))


@ti.func
def drive(s: ti.template(), w: ti.i32, t: ti.template(), lean: ti.template()):
    """Write everything that signals drive for a time.

    Args:
        s: signals.
        w: block.
        t: [s].
        lean: [s], far below a step: on which side of t a jump at t is seen, before it if negative.

    Reads:  s
    Writes: s.values, the driven arrays
    """
    evaluate_signals(s, w, t, lean)
    hold_samples(s.feedback, s.values, w)
    for n in range(s.n_routes):
        value = s.arena.zero() + s.gain.load(w, n) * s.values.load(w, s.source.at(n))
        row = s.row.at(n)
        if s.adds.at(n) != 0:
            value = value + s.rows.load(w, row)
        else:
            value = value + s.base.load(w, n)
        s.rows.store(w, row, value)
    if ti.static(s.has_balls):
        turn_balls(s.balls, w)


@ti.func
def sample(s: ti.template(), w: ti.i32, number: ti.i64, t: ti.template(), lean: ti.template()):
    """Let the signals that follow the motion take what `s.feedback.seen` has, where a step begins.

    Args:
        s: signals.
        w: block.
        number: of the step.
        t, lean: [s], as of `drive`.

    Reads:  s
    Writes: s.{values, feedback}
    """
    evaluate_signals(s, w, t, lean)
    take_samples(s.feedback, s.values, w, number, t)


@ti.func
def evaluate_signals(s: ti.template(), w: ti.i32, t: ti.template(), lean: ti.template()):
    """Values and rates of all signals (the forms of model.actuation.Signals); rates are 0 across jumps.

    Reads:  s columns
    Writes: s.values
    """
    zero = s.arena.zero()
    now = zero + t
    side = zero + (t + lean)
    for k in range(s.n):
        kind = s.kind.at(k)
        p0 = zero + s.parameter.load(w, _PARAMETERS * k)
        p1 = zero + s.parameter.load(w, _PARAMETERS * k + 1)
        p2 = zero + s.parameter.load(w, _PARAMETERS * k + 2)
        p3 = zero + s.parameter.load(w, _PARAMETERS * k + 3)
        value = zero + p0
        rate = zero + 0.0
        second = zero + 0.0
        if ti.static(SINE in s.kinds):
            if kind == SINE:
                value, rate, second = wave(p0, p1 * now + p2, p1, zero)
                value = value + p3
        if ti.static(CHIRP in s.kinds):
            if kind == CHIRP:
                value, rate, second = chirp(p0, p1, p2, p3, now, side, zero)
        if ti.static(_STEP in s.kinds):
            if kind == _STEP:
                value = select(side < p2, p0, p1)
        if ti.static(RAMP in s.kinds):
            if kind == RAMP:
                slope = (p1 - p0) / (p3 - p2)
                value = select(side < p3, p0 + slope * (ti.max(now, p2) - p2), p1)
                rate = select((side < p2) | (side >= p3), zero, slope)
        if ti.static(_TABLE in s.kinds):
            if kind == _TABLE:
                start, c0, c1, c2, c3 = piece_of(s, w, k, t + lean)
                value, rate, second = cubic(now - start, c0, c1, c2, c3)
        s.values.store(w, ORDERS * k, value)
        s.values.store(w, ORDERS * k + 1, rate)
        s.values.store(w, ORDERS * k + 2, second)


def wave(amplitude, phase, rate, acceleration):
    """A sine of a phase and its two derivatives, from those of the phase."""
    sine, cosine = sincos(phase)
    return amplitude * sine, amplitude * rate * cosine, amplitude * (acceleration * cosine - rate * rate * sine)


def chirp(amplitude, first, last, duration, now, side, zero):
    """A sine whose frequency goes from the first to the last one, and its two derivatives.

    Args:
        now, side: [s], the time, and one that is past a jump or before it.
        zero: what the frequency changes by when it has come to the last one.
    """
    sweep, before = local((last - first) / duration * _TURN), local(ti.min(now, duration))
    phase = local((first * before + last * (now - before)) * _TURN + sweep * before * before * 0.5)
    return wave(amplitude, phase, local(first * _TURN + sweep * before), select(side < duration, sweep, zero))


def cubic(x, c0, c1, c2, c3):
    """A polynomial and its two derivatives."""
    x = local(x)
    return x * (x * (x * c3 + c2) + c1) + c0, x * (x * (c3 * 3.0) + c2 * 2.0) + c1, x * (c3 * 6.0) + c2 * 2.0


@ti.func
def piece_of(s: ti.template(), w: ti.i32, k: ti.i32, t: ti.template()):
    """Where the piece of table k at t begins, and its four coefficients; lane by lane if each lane has a time of its own.

    Reads: s.{knot, cubic, piece_start}
    """
    found = [s.arena.zero() for _ in range(1 + _PARAMETERS)]
    if ti.static(is_pack(t)):
        for lane in ti.static(range(s.arena.device.lanes)):
            piece = _piece_at(s, w, k, get_lane(t, lane))
            put_lane(found[0], lane, get_lane(s.knot.load(w, piece), lane))
            for m in ti.static(range(_PARAMETERS)):
                put_lane(found[1 + m], lane, get_lane(s.cubic.load(w, _PARAMETERS * piece + m), lane))
    else:
        piece = _piece_at(s, w, k, t)
        found[0] = s.arena.zero() + s.knot.load(w, piece)
        for m in ti.static(range(_PARAMETERS)):
            found[1 + m] = s.arena.zero() + s.cubic.load(w, _PARAMETERS * piece + m)
    return found[0], found[1], found[2], found[3], found[4]


@ti.func
def _piece_at(s: ti.template(), w: ti.i32, k: ti.i32, t: ti.template()):
    """The last piece of table k that begins by t, the first one before: a search that all lanes share.

    Reads: s.{knot, piece_start}
    """
    low = s.piece_start.at(k) + 1  # the first piece begins where the second one does
    high = s.piece_start.at(k + 1)
    while low < high:
        middle = (low + high) // 2
        if s.knot.load(w, middle) <= t:
            low = middle + 1
        else:
            high = middle
    return low - 1
