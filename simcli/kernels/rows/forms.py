"""What rows of each form measure, in the world, of the gap between two points and the turning of two links.

    ALONG  d.g      (d.g)' = d.g' + d'.g      (d.g)'' = d.g'' + 2 d'.g' + d''.g       g = x_B - x_A
    DOT    d_A.d_B  likewise; its couple is d_B x d_A
    APART  (g.g - c^2) / 2c;  LENGTH |g|;  TURN: angle, couple d;  PITCH: ALONG - p TURN
    SPIN   component of log(R_A^T R_B);  ROLL: rate d.w alone;  CARDAN, EULER: successive turns

What moves is given with its first and second derivative, (x, x', x''), the second one at qdd = 0; a and b, the sides of
parent and child, as (R, w, w'). Forms return residual, rate, bias, and the force or the couple of a unit multiplier. Gears
sum polynomials of one number without a constant, p(x) = sum of coefficient_n x^n, n from 1 on.

Successive turns of a joint outside the tree are functions of the poses of its two links. Two or three axes e_k, each
carried by the turns before it, give the relative angular velocity w = sum q_k' e_k, so that with their dual basis D_k

    q_k' = D_k . w,    q_k'' = D_k . (w' - sum q_i' e_i'),    and an effort along q_k is the couple D_k

The first axis rests in the parent, the last one in the child. Notation: F the anchor frames in the world; u the first axis
as the child carries it.

Source: kernels.articulation.projection, whose angles these are. Deviation: on the branch nearest to the angle before, and
with rates.
"""

import numpy as np

from simcli.kernels.articulation.projection import angle_about
from simcli.kernels.device.arena import Arena, local
from simcli.kernels.language import ti
from simcli.kernels.language.elementary import atan2, change_of_pull, nearest_turn, pulled_back, rotation_log, select
from simcli.kernels.language.values import Mat3, Vec3


class Powers:
    """Some polynomials, whose degrees are data.

    Args:
        start: (P + 1,) offsets into the coefficients.
        coefficient: (W|1, C), of each from n = 1 on.
        arena: receives everything.
    """

    _data_oriented = True

    def __init__(self, start: np.ndarray, coefficient: np.ndarray, arena: Arena):
        self.start = arena.ints(start)
        self.coefficient = arena.records(coefficient.shape[1]).column(coefficient)


@ti.func
def value_and_slopes(p: ti.template(), w: ti.i32, k: ti.i32, x: ti.template()):
    """p(x), p'(x) and p''(x) of polynomial k.

    Source: Horner's rule for p(x) / x and its derivatives. No deviation.

    Reads: p columns
    """
    zero = x * 0.0
    first, second = zero, zero
    last = p.start.at(k + 1) - 1
    s = zero + p.coefficient.load(w, last)
    for n in range(last - p.start.at(k)):
        second = second * x + first * 2.0
        first = first * x + s
        s = s * x + p.coefficient.load(w, last - 1 - n)
    return s * x, s + first * x, first * 2.0 + second * x


TINY_LENGTH = 1e-12  # [m] below, two points have no direction


def meet(d: Vec3, gap: tuple, constant):
    """The gap along a direction that rests."""
    return local(d.dot(gap[0]) - constant), d.dot(gap[1]), d.dot(gap[2]), d


def stay_apart(gap: tuple, constant):
    """The square of the gap, as a length near that which it shall have."""
    force = gap[0] * (1.0 / constant)
    residual = (gap[0].dot(gap[0]) / constant - constant) * 0.5
    return residual, force.dot(gap[1]), gap[1].dot(gap[1]) / constant + force.dot(gap[2]), force


def length_of(gap: tuple):
    """The length of the gap."""
    length, rate, along = length_along(*gap[:2])
    return length, rate, (gap[1].dot(gap[1]) - rate * rate) / ti.max(length, TINY_LENGTH) + along.dot(gap[2]), along


def length_along(gap: Vec3, change: Vec3):
    """Length of a gap, the rate of it, and the direction of the gap: none where it has no length.

    Args:
        change: rate of the gap.
    """
    length = local(ti.sqrt(gap.dot(gap)))
    along = gap * (1.0 / local(ti.max(length, TINY_LENGTH)))
    return length, along.dot(change), along


def component_along(d: Vec3, a: tuple, gap: tuple, constant):
    """The gap along a direction of A."""
    residual, rate, bias = _product(gap, _carried(d, a))
    return residual - constant, rate, bias, d


def product_of_directions(d_a: Vec3, a: tuple, d_b: Vec3, b: tuple, constant):
    """The scalar product of a direction of A and one of B."""
    residual, rate, bias = _product(_carried(d_a, a), _carried(d_b, b))
    return residual - constant, rate, bias, d_b.cross(d_a)


def _carried(d: Vec3, side: tuple) -> tuple[Vec3, Vec3, Vec3]:
    """A direction of a link, with its derivatives: d' = w x d,  d'' = w' x d + w x d'."""
    _R, spin, alpha = side
    rate = spin.cross(d)
    return d, rate, alpha.cross(d) + spin.cross(rate)


def _product(x: tuple, y: tuple):
    """The scalar product of two vectors that move, with its derivatives."""
    return x[0].dot(y[0]), x[1].dot(y[0]) + x[0].dot(y[1]), x[2].dot(y[0]) + x[1].dot(y[1]) * 2.0 + x[0].dot(y[2])


def turn_about(d: Vec3, a: tuple, b: tuple):
    """Rate and bias of the turn of B against A about a direction of A."""
    relative = b[1] - a[1]
    return d.dot(relative), d.dot(b[2] - a[2]) + relative.dot(a[1].cross(d))


def component_of_log(F_a: Mat3, F_b: Mat3, a: tuple, b: tuple, component: Vec3):
    """A component of the rotation vector from the frame of A to that of B."""
    log, factor = rotation_log(F_a.T * F_b)
    couple = F_a * pulled_back(log, factor, component)
    relative = b[1] - a[1]
    seen = F_a.T * relative
    bias = couple.dot(b[2] - a[2] - a[1].cross(relative))
    bias = bias + change_of_pull(log, factor, component, seen).dot(seen)
    return log.dot(component), couple.dot(relative), bias, couple


def angle_near(d: Vec3, across_a: Vec3, across_b: Vec3, near):
    """[rad], the turn about d that brings across_a over across_b, on the branch nearest to a known angle."""
    return nearest_turn(atan2(d.cross(across_a).dot(across_b), across_a.dot(across_b)), near)


def successive_turn(
    n: int,
    k,
    near,
    frames: tuple[Mat3, Mat3],
    axes: tuple[Vec3, Vec3, Vec3],
    spins: tuple[Vec3, Vec3],
    alphas: tuple[Vec3, Vec3],
):
    """Angle k of n successive turns, its rate, its acceleration at qdd = 0, and the couple of a unit effort along it.

    Args:
        n: 2, or 3 for axes at right angles.
        k: 0 to n - 1.
        near: [rad], the angle before.
        frames: anchor frames of both links, world.
        axes: in anchor axes; the third one is not read if n = 2.
        spins, alphas: angular velocities and accelerations of both links, world.
    """
    e, angles = _two_turns(*frames, axes) if n == 2 else _three_turns(*frames, axes)
    scale = local(1.0 / e[0].dot(e[1].cross(e[2])))
    dual = [e[1].cross(e[2]) * scale, e[2].cross(e[0]) * scale, e[0].cross(e[1]) * scale]
    spin = spins[1] - spins[0]
    rates = [local(d.dot(spin)) for d in dual]
    carried = spins[0].cross(e[0]) * rates[0] + spins[1].cross(e[n - 1]) * rates[n - 1]
    if n == 3:
        carried = carried + (spins[0] + e[0] * rates[0]).cross(e[1]) * rates[1]
    change = alphas[1] - alphas[0] - carried
    angle, rate, couple = angles[0], rates[0], dual[0]
    for i in range(1, n):
        here = local(k == float(i))
        angle, rate = select(here, angles[i], angle), select(here, rates[i], rate)
        couple = Vec3(*(select(here, x, y) for x, y in zip(dual[i].parts, couple.parts, strict=True)))
    return nearest_turn(angle, near), rate, couple.dot(change), couple


def _two_turns(F_a: Mat3, F_b: Mat3, axes: tuple[Vec3, Vec3, Vec3]):
    """Axes, the third at right angles to both, and angles."""
    first, second = F_a * axes[0], F_b * axes[1]
    angles = [angle_about(first, F_a * axes[1], second), angle_about(second, first, F_b * axes[0])]
    return [first, second, first.cross(second)], [local(x) for x in angles]


def _three_turns(F_a: Mat3, F_b: Mat3, axes: tuple[Vec3, Vec3, Vec3]):
    """Axes and angles; the second angle is between -90 and 90 degrees."""
    first, third, last = F_a * axes[0], F_b * axes[0].cross(axes[1]), F_b * axes[2]
    middle = third.cross(first)
    length = local(ti.sqrt(middle.dot(middle)))
    angles = [
        angle_about(first, first.cross(F_a * axes[1]), third),
        atan2(first.dot(third), length),
        angle_about(last, first, F_b * axes[0]),
    ]
    return [first, middle * (1.0 / length), last], [local(x) for x in angles]


@ti.func
def successive_angle(
    r: ti.template(), w: ti.i32, k: ti.i32, n: ti.i32, a: ti.template(), b: ti.template(), count: ti.template()
):
    """Row n of pair k, one of `count` successive turns.

    Reads:  r columns
    Writes: r.angle of row n
    """
    zero = r.items.arena.zero()
    none = Vec3(zero, zero, zero)
    axes = (none + r.on_a.load(w, n), none + r.across_a.load(w, n), none + r.on_b.load(w, n))
    frames = (a[0] * r.frame_a.load(w, k), b[0] * r.frame_b.load(w, k))
    angle, rate, bias, couple = successive_turn(
        count, zero + r.constant.load(w, n), r.angle.load(w, n), frames, axes, (a[1], b[1]), (a[2], b[2])
    )
    r.angle.store(w, n, angle)
    return angle, rate, bias, couple
