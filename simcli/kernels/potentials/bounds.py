"""What is held by forces that are raised until nothing gives: hard limits, velocity limits, prescribed motions.

Source: augmented Lagrangian (Rockafellar). No deviation.
"""

from simcli.kernels.algebra.elementary import select
from simcli.kernels.language import ti
from simcli.kernels.memory.arena import local
from simcli.kernels.potentials.potential_terms import PotentialTerms


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
    terms.add(select(prescribed, (off * stiff * 0.5 + force) * off, zero), select(prescribed, force + off * stiff, zero),
              select(prescribed, zero + stiff, zero))  # fmt: skip


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
