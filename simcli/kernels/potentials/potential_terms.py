"""Energies of a coordinate with their derivatives, bounds, and what bdf1 and bdf2 make of the steps before.

Bounds (hard limits, velocity limits, prescribed motions) are held by forces that are raised until nothing gives. The
history of a coordinate says where a step begins, what its formula makes of the ones before, and what acted.

Source: augmented Lagrangian (Rockafellar). No deviation.
"""

from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import FULL_TURN, select
from simcli.kernels.rows.coordinate_laws import Response
from simcli.model.tables.signal_tables import MotionKind


def carried_on(now, before, weight):
    """What the formula of a step makes of a number [any] at its start and one step earlier: bdf1 (weight 0) the one at its
    start, bdf2 (weight 1/3) a third of the change before added.
    """
    return now + (now - before) * weight


def mean_force(now, before, w, row, weight):
    """Force that gives the work of a step: of its end in bdf1 (weight 0), the mean of both ends in bdf2."""
    end = local(now.load(w, row))
    return local(select(weight > 0.0, (end + before.load(w, row)) * 0.5, end))


class PotentialTerms:
    """An energy with its two derivatives."""

    _data_oriented = True

    def __init__(self, zero):
        self.energy, self.slope, self.bend = zero, zero, zero

    def add(self, energy, slope, bend):
        """Add another one."""
        self.energy, self.slope, self.bend = local(self.energy + energy), local(self.slope + slope), local(self.bend + bend)

    def store(self, law: Response):
        """Add what a law stores, of its response to a coordinate that rests."""
        self.add(law.energy, -law.force, law.stiffness)

    def spring(self, k, x):
        """K x^2 / 2."""
        self.add(k * x * x * 0.5, k * x, k)


def slopes_of_turn(c, s):
    """Derivatives of atan2(s, c) by c and by s, and 1 / (c^2 + s^2)."""
    square = local(1.0 / (c * c + s * s))
    return local(-s * square), local(c * square), square


def damper(c, rate, alpha):
    """Energy of a damper over a step, and its two derivatives."""
    return c * rate * rate * 0.5 / alpha, c * rate, c * alpha


def add_hard(terms: PotentialTerms, y, w, k, d, x, zero):
    """Hard limits at their present forces."""
    stiff = zero + y.hard.load(w, d)
    for side in range(2):
        force = y.push.load(w, 2 * k + side)
        push = push_of(y, w, k, x, force, side)
        sign = 2.0 * side - 1.0
        terms.add((push * push - force * force) * 0.5 / stiff, push * sign, select(push > 0.0, stiff, zero))


def add_motion(terms: PotentialTerms, y, w, k, d, x):
    """The force that holds a coordinate where its motion is, and a spring."""
    prescribed = x * 0.0 + ti.cast(y.motion.at(d), y.start.arena.device.real) > 0.0
    stiff, force = y.hard.load(w, d), y.pull.load(w, k)
    off, zero = local(x - y.goal.load(w, k)), local(x * 0.0)
    terms.add(
        select(prescribed, (off * stiff * 0.5 + force) * off, zero),
        select(prescribed, force + off * stiff, zero),
        select(prescribed, zero + stiff, zero),
    )


def way_to_limit(y, w, k, rate, tolerance):
    """Part of a move of coordinate k by `rate` until a hard limit that is free pushes, and a little more; else 1 or more."""
    d, x = y.dof.at(k), y.now.load(w, k)
    way = local(x * 0.0 + 1.0)
    for side in range(2):
        sign = 2.0 * side - 1.0
        bound = y.upper_now.load(w, k) if side else y.lower_now.load(w, k)
        slack = y.push.load(w, 2 * k + side) / y.hard.load(w, d)
        left = local((bound - x) * sign - slack)
        meets = (left > 0.0) & (rate * sign > left + tolerance)
        way = select(meets, ti.min(way, (left + tolerance) / select(meets, rate * sign, way)), way)
    return way


def push_of(y, w, k, x, force, side: int):
    """Force of a hard limit at x that had a force."""
    gap = x - y.upper_now.load(w, k) if side else y.lower_now.load(w, k) - x
    return local(ti.max(force + gap * y.hard.load(w, y.dof.at(k)), x * 0.0))


@ti.func
def excess_of(y: ti.template(), w: ti.i32, k: ti.i32):
    """By how much hard limits and motion of coordinate k give [m, rad]: what their forces lack, over their stiffness.

    Reads: y.{now, push, goal}
    """
    d = y.dof.at(k)
    x = y.now.load(w, k)
    worst = y.push.arena.zero()
    for side in ti.static(range(2)):
        force = y.push.load(w, 2 * k + side)
        worst = ti.max(worst, ti.abs(push_of(y, w, k, x, force, side) - force) / y.hard.load(w, d))
    if y.motion.at(d) != 0:
        worst = ti.max(worst, ti.abs(x - y.goal.load(w, k)))
    return worst


@ti.func
def raise_pushes(y: ti.template(), w: ti.i32, k: ti.i32, raised: ti.template()):
    """Forces of the hard limits and of the motion of coordinate k as they are now, where `raised`.

    Reads:  y.now
    Writes: y.{push, pull}
    """
    x = y.now.load(w, k)
    for side in ti.static(range(2)):
        force = y.push.load(w, 2 * k + side)
        push = push_of(y, w, k, x, force, side)
        y.push.store(w, 2 * k + side, select(raised, push, force))
    if y.motion.at(y.dof.at(k)) != 0:
        force = y.pull.load(w, k)
        gain = (x - y.goal.load(w, k)) * y.hard.load(w, y.dof.at(k))
        y.pull.store(w, k, select(raised, force + gain, force))


@ti.func
def steepen(y: ti.template(), w: ti.i32, m: ti.i32, x: ti.template(), weight: ti.template(), raised: ti.template()):
    """Slope and bend at point m, where the coordinate is x, with the forces that `raise_pushes` is about to take.

    Reads:  y.{now, push}
    Writes: y.{slope, bend}
    """
    k = y.point_of.at(m)
    d = y.dof.at(k)
    zero = y.push.arena.zero()
    slope = y.slope.load(w, m)
    bend = y.bend.load(w, m)
    for side in ti.static(range(2)):
        force = y.push.load(w, 2 * k + side)
        old = push_of(y, w, k, x, force, side)
        new = push_of(y, w, k, x, push_of(y, w, k, y.now.load(w, k), force, side), side)
        stiff = zero + y.hard.load(w, d)
        slope = slope + (new - old) * weight * (2.0 * side - 1.0)
        bend = bend + (select(new > 0.0, stiff, zero) - select(old > 0.0, stiff, zero)) * weight
    if y.motion.at(d) != 0:
        slope = slope + (y.now.load(w, k) - y.goal.load(w, k)) * y.hard.load(w, d) * weight
    y.slope.store(w, m, select(raised, slope, y.slope.load(w, m)))
    y.bend.store(w, m, select(raised, bend, y.bend.load(w, m)))


@ti.func
def open_laws(y: ti.template(), w: ti.i32):
    """Where the coordinates begin a step; aims of drives that begin to act as locks.

    Reads:  y.now
    Writes: y.{start, before, latch, was_on}
    """
    for k in range(y.n):
        d = y.dof.at(k)
        x = y.now.load(w, k)
        y.before.store(w, k, y.start.load(w, k))
        y.start.store(w, k, x)
        on = y.start.arena.zero() + y.acts.load(w, d) * y.locked.load(w, d)
        begins = (on > 0.0) & (y.was_on.load(w, k) == 0.0)
        wraps = y.one_turn.load(w, d) * ti.cast(y.is_turn.at(k), y.start.arena.device.real)
        within = x - wraps * FULL_TURN * ti.round((x - y.init.load(w, d)) * (1.0 / FULL_TURN))
        y.latch.store(w, k, select(begins, within, y.latch.load(w, k)))
        y.was_on.store(w, k, on)


@ti.func
def extrapolate_laws(y: ti.template(), w: ti.i32, weight: ti.template(), alpha: ti.template(), lead: ti.template()):
    """X_h = x_n + weight (x_n - x_(n-1)) + lead x_n', and what follows from it: bounds, motions, flights.

    Args:
        weight, alpha: (B), of the formula of each body.

    Reads:  y.{start, before, rate, rate_before}, y.motions
    Writes: y.{past, lower_now, upper_now, goal, flight}
    """
    for k in range(y.n):
        d = y.dof.at(k)
        x = y.start.load(w, k)
        rate = y.rate.load(w, k)
        part = weight.load(w, y.body.at(k))
        pace = alpha.load(w, y.body.at(k))
        past = carried_on(x, y.before.load(w, k), part) + rate * lead
        way = y.velocity_limit.load(w, d) / pace
        y.past.store(w, k, past)
        y.lower_now.store(w, k, ti.max(past - way, past * 0.0 + y.hard_lower.load(w, d)))
        y.upper_now.store(w, k, ti.min(past + way, past * 0.0 + y.hard_upper.load(w, d)))
        if y.motion.at(d) == MotionKind.POSITION:
            y.goal.store(w, k, past * 0.0 + y.motions.motion_q.load(w, d))
        else:
            y.goal.store(w, k, past + y.motions.motion_qd.load(w, d) / pace)
        y.flight.store(w, k, past + carried_on(rate, y.rate_before.load(w, k), part) / pace)


@ti.func
def commit_laws(y: ti.template(), w: ti.i32, alpha: ti.template()):
    """Rates at the end of a step.

    Reads:  y.{now, past}
    Writes: y.{rate, rate_before}
    """
    for k in range(y.n):
        y.rate_before.store(w, k, y.rate.load(w, k))
        y.rate.store(w, k, (y.now.load(w, k) - y.past.load(w, k)) * alpha.load(w, y.body.at(k)))


@ti.func
def energy_of_armature(y: ti.template(), w: ti.i32):
    """[J], kinetic.

    Reads: y.rate
    """
    total = y.rate.arena.zero()
    for k in range(y.n):
        rate = y.rate.load(w, k)
        total = total + rate * rate * y.armature.load(w, y.dof.at(k)) * 0.5
    return total


@ti.func
def find_regimes(y: ti.template(), w: ti.i32):
    """Which limits act on each coordinate, and which way friction slides.

    A hard limit acts where it pushes, be it by the little that it gives without that its force was raised.

    Reads:  y.{now, push, lower_now, upper_now}
    Writes: y.regime
    """
    one = y.push.arena.zero() + 1.0
    for k in range(y.n):
        d = y.dof.at(k)
        x = y.now.load(w, k)
        below = (push_of(y, w, k, x, y.push.load(w, 2 * k), 0) > 0.0) | (x < y.forces.soft_lower.load(w, d))
        above = (push_of(y, w, k, x, y.push.load(w, 2 * k + 1), 1) > 0.0) | (x > y.forces.soft_upper.load(w, d))
        regime = select(above, one, one * 0.0) + select(below, one * 2.0, one * 0.0)
        slip = x - y.start.load(w, k)
        slides = (ti.abs(slip) >= y.creep) & (one * y.friction.load(w, d) > 0.0)
        regime = regime + select(slides, select(slip > 0.0, one * 4.0, one * 8.0), one * 0.0)
        y.regime.store(w, k, regime)
