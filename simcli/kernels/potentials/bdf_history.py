"""Coordinates from step to step: where a step begins, what its formula makes of the ones before, what acted."""

from simcli.kernels.algebra.elementary import FULL_TURN, select
from simcli.kernels.language import ti
from simcli.kernels.potentials.bounds import push_of
from simcli.kernels.potentials.potential_terms import carried_on
from simcli.model.tables.signal_tables import MotionKind


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
