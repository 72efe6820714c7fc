"""The active set of bounded laws: on which piece of its graph each of them is, where that ends, and its line."""

from simcli.kernels.device.arena import local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import select
from simcli.kernels.rows.bounded_laws import AT_LOWER, AT_UPPER, FREE, STUCK, Laws
from simcli.kernels.rows.coordinate_laws import limits_of


@ti.func
def choose_linear_piece(
    law: ti.template(), w: ti.i32, k: ti.i32, aim: ti.template(), slack: ti.template(), may: ti.template()
):
    """Choose the linear piece of law k on which v - delta lambda(v) = aim, unless the one that is chosen gives that speed.

    Args:
        slack: difference of speeds that is rounding.
        may: lanes that may choose.

    Reads:  law.{graph, found, delta}, columns
    Writes: law.{lock, slide, full, speed} of law k, law.changed
    """
    one = law.changed.arena.zero() + 1.0
    lock, side, full, speed = linear_piece_at(law, w, k, aim)
    same = (side == law.slide.load(w, k)) & (full == law.full.load(w, k))
    same = (lock == law.lock.load(w, k)) & ((lock != FREE) | same)
    stays = ((ti.abs(speed - law.found.load(w, k)) <= slack) & ~same) | ~may
    law.changed.store(w, 0, select(same | stays, law.changed.load(w, 0), one))
    law.lock.store(w, k, select(stays, law.lock.load(w, k), lock))
    law.slide.store(w, k, select(stays, law.slide.load(w, k), side))
    law.full.store(w, k, select(stays, law.full.load(w, k), full))
    law.speed.store(w, k, select(stays, law.speed.load(w, k), speed))


@ti.func
def linear_piece_at(law: ti.template(), w: ti.i32, k: ti.i32, aim: ti.template()):
    """The linear piece of law k on which v - delta lambda(v) = aim: lock, sign of sliding, sign of a full drive, and v.

    Reads: law.{graph, delta}, columns
    """
    zero = law.changed.arena.zero()
    one = zero + 1.0
    delta = law.delta.load(w, k)
    c1 = law.drive.load(w, k)
    g1 = law.drive_gain.load(w, k)
    g2 = law.rest_gain.load(w, k)
    least, most = limits_of(law, w, k)
    friction = zero + law.friction.load(w, k)
    z = aim + law.rest.load(w, k) * delta
    drive = ti.max(ti.min(c1, most), least)
    pushed = z + drive * delta
    sticks = (friction > 0.0) & (ti.abs(pushed) <= friction * delta)
    side = select(friction > 0.0, select(pushed > 0.0, one, -one), zero)
    pushed = z - friction * side * delta
    speed = (pushed + c1 * delta) / (1.0 + delta * (g1 + g2))
    drive = c1 - g1 * speed
    full = select(drive > most, one, select(drive < least, -one, zero))
    held = select(full == 0.0, zero, select(full > 0.0, most, least))  # an infinite limit is never reached
    speed = select(full == 0.0, speed, (pushed + held * delta) / (1.0 + delta * g2))
    lock = select(sticks, one * STUCK, zero)
    speed = select(sticks, zero, speed)
    low = law.low.load(w, k)
    high = law.high.load(w, k)
    lock = select(speed < low, one * AT_LOWER, lock)
    speed = select(speed < low, low, speed)
    lock = select(speed > high, one * AT_UPPER, lock)
    speed = select(speed > high, high, speed)
    return lock, side, full, speed


@ti.func
def find_reach(law: ti.template(), w: ti.i32, k: ti.i32):
    """How far the aim of law k can go to its goal before its linear piece ends, and where it goes on from there.

    Reads:  law.{aim, goal, graph}, columns
    Writes: law.{reach, brink, beyond} of law k, law.least
    """
    goal = law.goal.load(w, k)
    way = goal - law.aim.load(w, k)
    first, brink, beyond = next_linear_pieces(law, w, k, law.aim.load(w, k), way)
    law.brink.store(w, k, brink)
    law.beyond.store(w, k, beyond)
    reach = select(way == 0.0, way + ti.math.inf, first / ti.abs(way))
    law.reach.store(w, k, reach)
    law.least.store(w, 0, ti.min(law.least.load(w, 0), reach))


def next_linear_pieces(law: Laws, w, k, start, way):
    """The way from an aim to the end of its linear piece, that end, and an aim on the linear piece behind it.

    Pieces end at the bounds, where sliding begins, and where the drive comes to its limit.
    """
    zero = law.changed.arena.zero()
    one, none = local(zero + 1.0), local(zero + ti.math.inf)
    low, high = local(law.low.load(w, k)), local(law.high.load(w, k))
    c1, g1 = local(law.drive.load(w, k)), local(law.drive_gain.load(w, k))
    least, most = limits_of(law, w, k)
    slope = select(g1 > 0.0, g1, one)
    sign = select(way > 0.0, one, -one)
    saturated = [local((c1 - end) / slope) for end in (most, least)]
    ends = [(low, select(low > 0.0, one, -one)), (high, select(high < 0.0, -one, one)), (zero, one), (zero, -one)]
    ends += [(speed, select(speed > 0.0, one, -one)) for speed in saturated]
    first, second, brink = none, none, zero
    ways = []
    for speed, side in ends:
        drive = ti.max(ti.min(c1 - g1 * speed, most), least)
        rest = law.rest.load(w, k) - law.rest_gain.load(w, k) * speed - law.friction.load(w, k) * side
        aim = local(speed - law.delta.load(w, k) * (drive + rest))
        there = select((speed >= low) & (speed <= high), (aim - start) * sign, none)
        ways.append(there)
        nearer = local((there > 0.0) & (there < first))
        first, brink = select(nearer, there, first), select(nearer, aim, brink)
    for there in ways:
        second = select((there > first) & (there < second), there, second)
    beyond = brink + sign * select(second < none, (second - first) * 0.5, ti.abs(brink) + 1.0)
    return first, brink, local(beyond)


@ti.func
def draw_line(law: ti.template(), w: ti.i32, k: ti.i32, h: ti.template()):
    """Put the line of the chosen linear piece of law k over the acceleration J qdd: lambda = push - gain J qdd.

    Reads:  law.{slide, full, graph}, columns
    Writes: law.{push, gain} of law k
    """
    full = law.full.load(w, k)
    linear = full == 0.0
    least, most = limits_of(law, w, k)
    held = select(linear, full, select(full > 0.0, most, least))  # an infinite limit is never reached
    speed = law.rate.load(w, k) + law.shift.load(w, k) * h
    gain = law.rest_gain.load(w, k) + select(linear, law.drive_gain.load(w, k), full * 0.0)
    push = law.rest.load(w, k) - law.friction.load(w, k) * law.slide.load(w, k)
    push = push + select(linear, law.drive.load(w, k), held)
    law.push.store(w, k, push - gain * speed)
    law.gain.store(w, k, gain * h)
